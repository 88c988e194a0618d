/* SPDX-License-Identifier: MIT
 *
 * The options that say what is to be explained, and how they become inputs of the library:
 *
 *     --model, --input, --rows      model, examples                   cli_task_open
 *     --features                    feature map, names of features  \
 *     --mask                        one mask, or hot-deck samples    > cli_task_ask
 *     --class                       output of each example          /
 */
#include "task.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

const cli_option cli_source_options[] = {
    {"model", 'm', "MODEL", CLI_STRING(cli_source, model),
     "the model: cmd:COMMAND, a program that reads inputs and writes scores", .required = 1,
     .more = "The command is run by sh, once for each job, and stays. For every line "
             "{\"inputs\":[[...],[...]]} on its standard input it writes one line "
             "{\"outputs\":[...]} with a score, or a list of scores, for each input."},
    {"input", 'i', "FILE", CLI_STRING(cli_source, input),
     "examples: .npy (first axis), .csv or .tsv (with a header)", .required = 1,
     .more = "A dash reads a .csv from standard input."},
    {"rows", 'r', "A:B", CLI_STRING(cli_source, rows), "only these examples: A:B, or a list 0,5,7",
     .unset = "all"},
    {"jobs", 'j', "N", CLI_COUNT(cli_source, jobs), "threads, and children of a cmd: model",
     .unset = "one per core", .max = 1024},
    {"timeout", 0, "SECONDS", CLI_NUMBER(cli_source, timeout),
     "longest wait for one answer of a cmd: model, 0 for ever", .max = 1e9},
    {0},
};

void cli_source_init(cli_source *s) {
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    s->timeout = opt.timeout;
}

const cli_option cli_question_options[] = {
    {"mask", 0, "MASK", CLI_STRING(cli_question, mask), "what a missing feature looks like",
     .unset = "the model's own",
     .more = "mean:FILE, the feature means of a data set; zero; value:V; uniform, every value of a "
             "feature the same share of one (DNA: N); FILE.npy, an array of one example's shape; "
             "hotdeck:FILE, values drawn from a data set, the score being the mean over --samples "
             "draws. A model that comes without a mask needs one of these."},
    {"features", 0, "F", CLI_STRING(cli_question, features), "what is masked together: each value",
     .more = "each: every value is a feature. axis:A: values that differ only along axis A of an "
             "example belong together (the channels of a pixel). FILE.npy: a whole number for each "
             "value, the feature it belongs to, or -1 for never masked."},
    {"class", 'c', "OUTPUT", CLI_STRING(cli_question, output), "output of the model to explain",
     .more = "A number from 0, or top: the output with the highest score, example by example."},
    {"samples", 0, "N", CLI_COUNT(cli_question, samples), "draws of a hotdeck: mask", .min = 1,
     .max = 100000},
    {"seed", 0, "N", CLI_COUNT(cli_question, seed), "start of the random numbers"},
    {"memory", 0, "MIB", CLI_COUNT(cli_question, memory), "memory for rows under way, in MiB",
     .min = 1, .max = 1 << 20},
    {0},
};

void cli_question_init(cli_question *q) {
    sis_opt opt;
    sis_opt_init(&opt);
    q->features = "each";
    q->output = "top";
    q->samples = 32;
    q->seed = 1;
    q->memory = opt.memory >> 20;
}

/* ---- Model and examples ---------------------------------------------------------------------- */

static void *grab(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size);
    if (!p)
        cli_error("out of memory");
    return p;
}

static int choose_rows(cli_task *t, const char *text) {
    size_t count = sis_data_count(t->data);
    if (text) {
        int error = sis_rows_parse(text, count, &t->rows, &t->n);
        return error ? cli_error("--rows: %s", sis_error_detail()) : CLI_DONE;
    }
    t->rows = grab(count, sizeof *t->rows);
    if (!t->rows)
        return CLI_FAILED;
    t->n = count;
    for (size_t i = 0; i < count; i++)
        t->rows[i] = i;
    return CLI_DONE;
}

static int load_rows(cli_task *t) {
    t->values = grab(t->n, sizeof *t->values);
    t->inputs = grab(t->n, sizeof *t->inputs);
    if (!t->values || !t->inputs)
        return CLI_FAILED;
    for (size_t i = 0; i < t->n; i++) {
        size_t width = sis_data_width(t->data, t->rows[i]);
        t->values[i] = grab(width, sizeof **t->values);
        if (!t->values[i])
            return CLI_FAILED;
        int error = sis_data_values(t->data, t->rows[i], t->values[i]);
        if (error)
            return cli_fail(error);
        t->inputs[i] = (sis_input){.values = t->values[i], .n_values = width};
    }
    return CLI_DONE;
}

int cli_task_open(cli_task *t, const cli_source *s) {
    *t = (cli_task){0};
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.timeout = s->timeout;
    int error = sis_data_read(s->input, &t->data);
    if (error)
        return cli_fail(error);
    int status = choose_rows(t, s->rows);
    if (status == CLI_DONE)
        status = load_rows(t);
    if (status == CLI_DONE)
        status = cli_fail(sis_model_open(s->model, &opt, &t->model));
    if (status == CLI_DONE)
        status = cli_fail(sis_model_measure(&t->model, t->values[0], t->inputs[0].n_values));
    return status;
}

void cli_task_close(cli_task *t) {
    sis_model_close(&t->model);
    for (size_t i = 0; t->values && i < t->n; i++)
        free(t->values[i]);
    for (size_t i = 0; t->names && i < t->n_features; i++)
        free(t->names[i]);
    free(t->values);
    free(t->inputs);
    free(t->names);
    free(t->mask);
    free(t->feature_of);
    free(t->rows);
    sis_data_free(t->data);
    *t = (cli_task){0};
}

/* ---- Features -------------------------------------------------------------------------------- */

/* A whole number and nothing else. */
static int read_whole(const char *text, long *value) {
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return end != text && !*end && errno == 0;
}

/* Values that differ only along `axis` of an example's shape belong together. */
static int features_by_axis(cli_task *t, const char *text) {
    size_t rank, after = 1, n = t->inputs[0].n_values;
    const size_t *shape = sis_data_shape(t->data, t->rows[0], &rank);
    long axis;
    if (!read_whole(text, &axis) || axis < -(long)rank || axis >= (long)rank)
        return cli_error("--features axis:%s: an example has %zu axes; expected 0 to %zu", text,
                         rank, rank - 1);
    axis += axis < 0 ? (long)rank : 0;
    for (size_t d = (size_t)axis + 1; d < rank; d++)
        after *= shape[d];
    t->feature_of = grab(n, sizeof *t->feature_of);
    if (!t->feature_of)
        return CLI_FAILED;
    for (size_t v = 0; v < n; v++)
        t->feature_of[v] = (int)(v / (after * shape[axis]) * after + v % after);
    return CLI_DONE;
}

static int same_widths(const cli_task *t, const char *option) {
    for (size_t i = 1; i < t->n; i++)
        if (t->inputs[i].n_values != t->inputs[0].n_values)
            return cli_error("%s: examples %zu and %zu have %zu and %zu values; it needs equally "
                             "many",
                             option, t->rows[0], t->rows[i], t->inputs[0].n_values,
                             t->inputs[i].n_values);
    return CLI_DONE;
}

static int ask_features(cli_task *t, const char *text) {
    int status = CLI_DONE;
    if (strcmp(text, "each") == 0)
        return CLI_DONE;
    if ((status = same_widths(t, "--features")) != CLI_DONE)
        return status;
    if (strncmp(text, "axis:", 5) == 0)
        return features_by_axis(t, text + 5);
    size_t length = strlen(text);
    if (length > 4 && strcmp(text + length - 4, ".npy") == 0)
        return cli_fail(sis_feature_map_read(text, t->inputs[0].n_values, &t->feature_of));
    return cli_usage("--features: expected each, axis:A or FILE.npy, found \"%s\"", text);
}

/* Names of features from names of values: a feature of several is called after its first. */
static int name_features(cli_task *t) {
    const char *const *names = sis_data_names(t->data);
    long n = sis_input_features(&t->inputs[0]);
    if (n < 0)
        return cli_fail((int)n);
    t->n_features = (size_t)n;
    if (!names)
        return CLI_DONE;
    t->names = grab(t->n_features, sizeof *t->names);
    if (!t->names)
        return CLI_FAILED;
    for (size_t v = 0; v < t->inputs[0].n_values; v++) {
        int f = t->feature_of ? t->feature_of[v] : (int)v;
        if (f < 0 || t->names[f])
            continue;
        t->names[f] = strdup(names[v]);
        if (!t->names[f])
            return cli_error("out of memory");
    }
    return CLI_DONE;
}

/* ---- Mask ------------------------------------------------------------------------------------ */

/* A data set of examples as wide as those explained. */
static int read_donors(const cli_task *t, const char *path, sis_data **out) {
    int error = sis_data_read(path, out);
    if (error)
        return cli_error("--mask: %s", sis_error_detail());
    size_t width = sis_data_width(*out, 0);
    if (width == t->inputs[0].n_values)
        return CLI_DONE;
    sis_data_free(*out);
    *out = NULL;
    return cli_error("--mask: an example of %s has %zu values, the input has %zu", path, width,
                     t->inputs[0].n_values);
}

static int mask_mean(cli_task *t, const char *path) {
    sis_data *donors;
    int status = read_donors(t, path, &donors);
    if (status != CLI_DONE)
        return status;
    status = cli_fail(sis_data_mean(donors, t->mask));
    sis_data_free(donors);
    return status;
}

static int mask_hotdeck(cli_task *t, const char *path, const cli_question *q) {
    size_t width = t->inputs[0].n_values;
    sis_data *donors;
    int status = read_donors(t, path, &donors);
    if (status != CLI_DONE)
        return status;
    size_t n = sis_data_count(donors);
    double *rows = grab(n, width * sizeof *rows);
    free(t->mask);
    t->mask = grab(q->samples, width * sizeof *t->mask);
    t->n_samples = q->samples;
    status = rows && t->mask ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < n; i++)
        status = cli_fail(sis_data_values(donors, i, rows + i * width));
    if (status == CLI_DONE)
        status = cli_fail(sis_mask_hotdeck(rows, n, &t->inputs[0], q->samples, q->seed, t->mask));
    free(rows);
    sis_data_free(donors);
    return status;
}

static int mask_file(cli_task *t, const char *path) {
    sis_array a;
    int error = sis_array_read(path, &a);
    if (error)
        return cli_error("--mask: %s", sis_error_detail());
    int fits = a.n == t->inputs[0].n_values;
    if (fits)
        memcpy(t->mask, a.values, a.n * sizeof *t->mask);
    size_t found = a.n;
    sis_array_release(&a);
    return fits ? CLI_DONE
                : cli_error("--mask: %s has %zu values, an example has %zu", path, found,
                            t->inputs[0].n_values);
}

/* Each value of a feature the same share of one: a base that may be any. */
static int mask_uniform(cli_task *t) {
    size_t n = t->inputs[0].n_values;
    size_t *sizes = grab(n, sizeof *sizes);
    if (!sizes)
        return CLI_FAILED;
    if (!t->feature_of) {
        free(sizes);
        return cli_error("--mask uniform: features have one value each; say with --features which "
                         "values belong together");
    }
    for (size_t v = 0; v < n; v++)
        if (t->feature_of[v] >= 0)
            sizes[t->feature_of[v]]++;
    for (size_t v = 0; v < n; v++)
        if (t->feature_of[v] >= 0)
            t->mask[v] = 1.0 / (double)sizes[t->feature_of[v]];
    free(sizes);
    return CLI_DONE;
}

static int mask_value(cli_task *t, const char *text) {
    char *end;
    double v = strtod(text, &end);
    if (end == text || *end || !isfinite(v))
        return cli_usage("--mask value:V: expected a number, found \"%s\"", text);
    for (size_t i = 0; i < t->inputs[0].n_values; i++)
        t->mask[i] = v;
    return CLI_DONE;
}

static int ask_mask(cli_task *t, const cli_question *q) {
    const char *text = q->mask;
    size_t length = text ? strlen(text) : 0;
    if (!text)
        return cli_usage("--mask: this model has no mask of its own; say what a missing feature "
                         "looks like: mean:FILE, zero, value:V, uniform, FILE.npy or hotdeck:FILE");
    int status = same_widths(t, "--mask");
    if (status != CLI_DONE)
        return status;
    t->n_samples = 1;
    t->mask = grab(t->inputs[0].n_values, sizeof *t->mask);
    if (!t->mask)
        return CLI_FAILED;
    if (strcmp(text, "zero") == 0)
        return CLI_DONE;
    if (strcmp(text, "uniform") == 0)
        return mask_uniform(t);
    if (strncmp(text, "mean:", 5) == 0)
        return mask_mean(t, text + 5);
    if (strncmp(text, "value:", 6) == 0)
        return mask_value(t, text + 6);
    if (strncmp(text, "hotdeck:", 8) == 0)
        return mask_hotdeck(t, text + 8, q);
    if (length > 4 && strcmp(text + length - 4, ".npy") == 0)
        return mask_file(t, text);
    return cli_usage("--mask: expected mean:FILE, zero, value:V, uniform, FILE.npy or "
                     "hotdeck:FILE, found \"%s\"",
                     text);
}

/* ---- Output and scores ----------------------------------------------------------------------- */

int cli_task_predict(const cli_task *t, const sis_input *inputs, size_t n, size_t jobs,
                     double **scores) {
    sis_opt opt;
    sis_opt_init(&opt);
    opt.jobs = (int)jobs;
    *scores = grab(n, t->model.n_outputs * sizeof **scores);
    return *scores ? cli_fail(sis_predict(&t->model, inputs, n, &opt, *scores)) : CLI_FAILED;
}

/* The output meant by `text` for an example with these scores; SIZE_MAX: there is none. */
static size_t output_of(const cli_task *t, const char *text, const double *scores) {
    size_t best = 0;
    long number;
    if (strcmp(text, "top") == 0) {
        for (size_t k = 1; k < t->model.n_outputs; k++)
            if (scores[k] > scores[best])
                best = k;
        return best;
    }
    if (read_whole(text, &number) && number >= 0 && (size_t)number < t->model.n_outputs)
        return (size_t)number;
    return SIZE_MAX;
}

static int wrong_output(const cli_task *t, const char *text) {
    return cli_error("--class: the model has %zu output%s; expected 0 to %zu or top, found \"%s\"",
                     t->model.n_outputs, t->model.n_outputs > 1 ? "s" : "", t->model.n_outputs - 1,
                     text);
}

static int ask_output(cli_task *t, const cli_source *s, const char *text) {
    double *scores = NULL;
    int needed = t->model.n_outputs > 1 && strcmp(text, "top") == 0;
    int status = needed ? cli_task_predict(t, t->inputs, t->n, s->jobs, &scores) : CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++) {
        size_t output = output_of(t, text, needed ? scores + i * t->model.n_outputs : NULL);
        if (output == SIZE_MAX)
            status = wrong_output(t, text);
        t->inputs[i].output = output;
    }
    free(scores);
    return status;
}

int cli_task_ask(cli_task *t, const cli_source *s, const cli_question *q) {
    int status = ask_features(t, q->features);
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++)
        t->inputs[i].feature_of = t->feature_of;
    if (status == CLI_DONE)
        status = name_features(t);
    if (status == CLI_DONE)
        status = ask_mask(t, q);
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++) {
        t->inputs[i].mask = t->mask;
        t->inputs[i].n_samples = t->n_samples;
    }
    return status == CLI_DONE ? ask_output(t, s, q->output) : status;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Between the two nearest of the sorted scores, as numpy does it. */
static double percentile(double *scores, size_t n, double percent) {
    qsort(scores, n, sizeof *scores, ascending);
    double at = percent / 100 * (double)(n - 1);
    size_t low = (size_t)at, high = low + 1 < n ? low + 1 : low;
    return scores[low] + (at - (double)low) * (scores[high] - scores[low]);
}

/* The percentile of the scores that would be explained, over every example of the file. */
static int score_percentile(const cli_task *t, double percent, const cli_source *s,
                            const cli_question *q, double *threshold) {
    cli_task all = {.model = t->model, .data = t->data};
    double *scores = NULL;
    int status = choose_rows(&all, NULL);
    if (status == CLI_DONE)
        status = load_rows(&all);
    if (status == CLI_DONE)
        status = cli_task_predict(t, all.inputs, all.n, s->jobs, &scores);
    for (size_t i = 0; status == CLI_DONE && i < all.n; i++) {
        const double *row = scores + i * t->model.n_outputs;
        size_t output = output_of(t, q->output, row);
        if (output == SIZE_MAX)
            status = wrong_output(t, q->output);
        else
            scores[i] = row[output]; /* never behind what is still to be read */
    }
    if (status == CLI_DONE)
        *threshold = percentile(scores, all.n, percent);
    free(scores);
    all.data = NULL; /* both borrowed */
    all.model = (sis_model){0};
    cli_task_close(&all);
    return status;
}

int cli_task_threshold(const cli_task *t, const char *text, const cli_source *s,
                       const cli_question *q, double *threshold) {
    int is_percentile = text[0] == 'p';
    const char *number = text + is_percentile;
    char *end;
    double v = strtod(number, &end);
    if (end == number || *end || !isfinite(v) || number[0] == ' ')
        return cli_usage("--threshold: expected a number or pNN (a percentile), found \"%s\"",
                         text);
    if (!is_percentile) {
        *threshold = v;
        return CLI_DONE;
    }
    if (v < 0 || v > 100)
        return cli_usage("--threshold: a percentile lies between p0 and p100, found \"%s\"", text);
    return score_percentile(t, v, s, q, threshold);
}
