/* SPDX-License-Identifier: MIT
 *
 * What is asked of each example: which values are a feature, what a missing one looks like, which
 * output is meant.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

enum { DRAWS = 32 }; /* of a hot-deck mask, unless --samples says otherwise */

const cli_option cli_question_options[] = {
    {"mask", 0, "MASK", CLI_STRING(cli_question, mask), "what a missing feature is",
     .unset = "the model's own",
     .more = "mean:FILE, the feature means of a data set; zero; value:V; uniform, every value of a "
             "feature the same share of one (DNA: N); FILE.npy, an array of one example's shape; "
             "hotdeck:FILE, values drawn from a data set, the score being the mean over --samples "
             "draws. Columns of a table are found by their names. For models that take token ids "
             "also embedding-mean, the mean over the "
             "vocabulary; pad; token:ID or token:WORD; remove, which takes the token out and moves "
             "those before it up. Texts of a cmd: model: remove (the default) or token:WORD, which "
             "stands in the place of the missing one. Any other model that carries no mask needs "
             "one of these, unless the input is DNA: then it is uniform."},
    {"features", 0, "F", CLI_STRING(cli_question, features), "masked together: axis:A or FILE.npy",
     .more =
         "each: every value is a feature, of token models every token but padding, of a colour "
         "image every pixel, of DNA every base. axis:A: values that differ only along axis A of an "
         "example belong together (the channels of a pixel). FILE.npy: a whole number for each "
         "value, the feature it belongs to, or -1 for never masked; columns put together so are "
         "called by what their names share, housing for housing=own and housing=rent."},
    {"samples", 0, "N", CLI_COUNT(cli_question, samples), "draws of hotdeck: or lime", .min = 1,
     .max = 100000, .unset = "32; lime 5000"},
    CLI_SEED(cli_question, seed),
    CLI_MEMORY(cli_question, memory),
    {0},
};

const cli_option cli_output_options[] = {
    {"class", 'c', "OUTPUT", CLI_STRING(cli_question, output),
     "output to explain: number, label, top",
     .more = "A number from 0, a label the model knows, or top: the output with the highest score, "
             "example by example."},
    {0},
};

size_t cli_draws(const cli_question *q) {
    return q->samples ? q->samples : DRAWS;
}

void cli_question_init(cli_question *q) {
    sis_opt opt;
    sis_opt_init(&opt);
    q->features = "each";
    q->output = "top";
    q->seed = 1;
    q->memory = opt.memory >> 20;
}

int cli_ends_in(const char *text, const char *end) {
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

/* ---- Features -------------------------------------------------------------------------------- */

/* Values that differ only along `axis` of an example's shape belong together. */
static int features_by_axis(cli_task *t, const char *text) {
    size_t rank, after = 1, n = t->inputs[0].n_values;
    const size_t *shape = sis_data_shape(t->data, t->rows[0], &rank);
    long axis;
    if (!cli_whole(text, &axis) || axis < -(long)rank || axis >= (long)rank)
        return cli_error("--features axis:%s: an example has %zu ax%s, numbered from 0", text, rank,
                         rank == 1 ? "is" : "es");
    axis += axis < 0 ? (long)rank : 0;
    for (size_t d = (size_t)axis + 1; d < rank; d++)
        after *= shape[d];
    t->feature_of = cli_grab(n, sizeof *t->feature_of);
    if (!t->feature_of)
        return CLI_FAILED;
    for (size_t v = 0; v < n; v++)
        t->feature_of[v] = (int)(v / (after * shape[axis]) * after + v % after);
    return CLI_DONE;
}

/* The features that the data have by themselves, if they are more than one value each. */
static int features_by_data(cli_task *t) {
    int single = 1;
    t->by_default = 1;
    for (size_t i = 0; i < t->n; i++)
        single &= cli_encode_features(t, i, NULL) == t->inputs[i].n_values;
    if (single)
        return CLI_DONE;
    t->maps = cli_grab(t->n, sizeof *t->maps);
    for (size_t i = 0; t->maps && i < t->n; i++) {
        t->maps[i] = cli_grab(t->inputs[i].n_values, sizeof **t->maps);
        if (!t->maps[i])
            return CLI_FAILED;
        cli_encode_features(t, i, t->maps[i]);
    }
    return t->maps ? CLI_DONE : CLI_FAILED;
}

static int ask_features(cli_task *t, const char *text) {
    if (strcmp(text, "each") == 0)
        return cli_is_token(t) || t->pieces ? cli_token_features(t) : features_by_data(t);
    int status = cli_same_widths(t, "--features");
    if (status != CLI_DONE)
        return status;
    if (strncmp(text, "axis:", 5) == 0)
        return features_by_axis(t, text + 5);
    if (cli_ends_in(text, ".npy"))
        return cli_fail(sis_feature_map_read(text, t->inputs[0].n_values, &t->feature_of));
    return cli_usage("--features: expected each, axis:A or FILE.npy, found \"%s\"", text);
}

/* The feature of value v of every example; -1: none. */
static int feature_at(const cli_task *t, size_t v) {
    return t->inputs[0].feature_of ? t->inputs[0].feature_of[v] : (int)v;
}

/* For each feature its name as far as the names of all its values share it. */
static int share_names(const cli_task *t, const char *const *names, char **shared) {
    size_t *ends = cli_grab(t->n_features, sizeof *ends); /* 1 + length; 0: a single value */
    int status = ends ? CLI_DONE : CLI_FAILED;
    for (size_t v = 0; status == CLI_DONE && v < t->inputs[0].n_values; v++) {
        int f = feature_at(t, v);
        if (f < 0 || strcmp(t->names[f], names[v]) == 0)
            continue;
        size_t end = 1 + sis_name_stem(t->names[f], names[v]);
        ends[f] = ends[f] == 0 || end < ends[f] ? end : ends[f];
    }
    for (size_t f = 0; status == CLI_DONE && f < t->n_features; f++) {
        size_t n = ends[f] > 1 ? ends[f] - 1 : strlen(t->names[f]);
        if (!(shared[f] = strndup(t->names[f], n)))
            status = cli_error("out of memory");
    }
    free(ends);
    return status;
}

/* Call features what the names of their values share, "housing" for housing=own and housing=rent, unless
 * two would then have the same name. */
static int shorten_names(cli_task *t, const char *const *names) {
    char **shared = cli_grab(t->n_features, sizeof *shared);
    cli_ids ids = {0};
    int status = shared ? share_names(t, names, shared) : CLI_FAILED;
    if (status == CLI_DONE)
        status = cli_ids_make(&ids, shared, sizeof *shared, t->n_features);
    for (size_t i = 0; status == CLI_DONE && i < ids.n; i++) {
        const char *name = ids.items[i].id;
        size_t f = ids.items[i].at;
        int alone = (i == 0 || strcmp(ids.items[i - 1].id, name) != 0) &&
                    (i + 1 == ids.n || strcmp(ids.items[i + 1].id, name) != 0);
        if (alone)
            strcpy(t->names[f], name); /* never longer */
    }
    for (size_t f = 0; shared && f < t->n_features; f++)
        free(shared[f]);
    free(shared);
    free(ids.items);
    return status;
}

/* Names of features from names of values, which are kept too if they say more. */
static int name_features(cli_task *t) {
    const char *const *names = sis_data_names(t->data);
    const char *const *features = sis_data_feature_names(t->data);
    if (t->words)
        return CLI_DONE; /* every example has its own */
    long n = sis_input_features(&t->inputs[0]);
    if (n < 0)
        return cli_fail((int)n);
    t->n_features = (size_t)n;
    if (!names)
        return CLI_DONE;
    t->names = cli_grab(t->n_features, sizeof *t->names);
    if (!t->names)
        return CLI_FAILED;
    for (size_t v = 0; v < t->inputs[0].n_values; v++) {
        int f = feature_at(t, v);
        if (f < 0 || t->names[f])
            continue;
        t->names[f] = strdup(t->by_default ? features[f] : names[v]);
        if (!t->names[f])
            return cli_error("out of memory");
    }
    int status = t->by_default ? CLI_DONE : shorten_names(t, names);
    for (size_t v = 0; status == CLI_DONE && v < t->inputs[0].n_values; v++) {
        int f = feature_at(t, v);
        if (f >= 0 && strcmp(t->names[f], names[v]) != 0)
            t->value_names = names;
    }
    return status;
}

/* ---- Mask ------------------------------------------------------------------------------------ */

/* Columns are found by name. Those of ids and labels, which are no features, may be there or not. */
static int read_beside(const char *path, const sis_data_opt *wanted, sis_data **out) {
    int error = SIS_E_ARGUMENT;
    for (int without = 0; error == SIS_E_ARGUMENT && without < 4; without++) {
        sis_data_opt opt = *wanted;
        if (((without & 1) && !opt.id) || ((without & 2) && !opt.label))
            continue;
        opt.id = without & 1 ? NULL : opt.id;
        opt.label = without & 2 ? NULL : opt.label;
        error = sis_data_read(path, &opt, out);
    }
    return error;
}

/* Are the columns those of the input, in the same order? Yes if either has no names. */
static int same_columns(const cli_task *t, const sis_data *data) {
    const char *const *names = sis_data_names(t->data), *const *others = sis_data_names(data);
    size_t n = sis_data_width(t->data, 0);
    if (!names || !others)
        return 1;
    for (size_t v = 0; v < n; v++)
        if (v >= sis_data_width(data, 0) || strcmp(names[v], others[v]) != 0)
            return 0;
    return sis_data_width(data, 0) == n;
}

/* A data set with the columns of the input. Found by name where they are not simply the same. */
static int read_columns(const cli_task *t, const char *path, sis_data **out) {
    sis_data_opt opt = t->opt;
    int given = opt.names || strcmp(sis_data_kind(t->data), "table") != 0;
    int error = given || !opt.categorical ? read_beside(path, &opt, out) : SIS_E_FORMAT;
    if (given || (error != SIS_OK && error != SIS_E_FORMAT) || (!error && same_columns(t, *out)))
        return error ? cli_error("--mask: %s", sis_error_detail()) : CLI_DONE;
    if (!error)
        sis_data_free(*out);
    opt.names = sis_data_names(t->data);
    opt.n_names = sis_data_width(t->data, 0);
    opt.categorical = 1;
    error = read_beside(path, &opt, out);
    return error ? cli_error("--mask, with the columns of the input: %s", sis_error_detail())
                 : CLI_DONE;
}

/* A data set of examples as wide as those explained. */
static int read_donors(const cli_task *t, const char *path, sis_data **out) {
    int status = read_columns(t, path, out);
    if (status != CLI_DONE)
        return status;
    size_t width = 0, wanted = t->inputs[0].n_values;
    for (size_t i = 0; status == CLI_DONE && i < sis_data_count(*out); i++) {
        status = cli_encode_width(t, *out, i, &width);
        if (status == CLI_DONE && width != wanted)
            status = cli_error("--mask: example %zu of %s has %zu values, the input has %zu", i,
                               path, width, wanted);
    }
    if (status != CLI_DONE) {
        sis_data_free(*out);
        *out = NULL;
    }
    return status;
}

static int mask_mean(cli_task *t, const char *path) {
    sis_data *donors;
    int status = read_donors(t, path, &donors);
    if (status != CLI_DONE)
        return status;
    cli_row row = {.width = t->inputs[0].n_values};
    row.values = cli_grab(row.width, sizeof *row.values);
    status = row.values ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < sis_data_count(donors); i++) {
        status = cli_encode(t, donors, i, &row);
        if (status == CLI_DONE)
            sis_mean_add(t->mask, row.values, row.width, i + 1);
    }
    free(row.values);
    sis_data_free(donors);
    return status;
}

static int mask_hotdeck(cli_task *t, const char *path, const cli_question *q) {
    size_t width = t->inputs[0].n_values;
    sis_data *donors;
    int status = read_donors(t, path, &donors);
    if (status != CLI_DONE)
        return status;
    size_t n = sis_data_count(donors), first = 0;
    while (first + 1 < t->n && cli_task_excuse(t, first))
        first++;
    double *rows = cli_grab(n, width * sizeof *rows);
    free(t->mask);
    t->n_samples = cli_draws(q);
    t->mask = cli_grab(t->n_samples, width * sizeof *t->mask);
    status = rows && t->mask ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < n; i++)
        status = cli_encode(t, donors, i, &(cli_row){width, rows + i * width, NULL});
    if (status == CLI_DONE)
        status =
            cli_fail(sis_mask_hotdeck(rows, n, &t->inputs[first], t->n_samples, q->seed, t->mask));
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
    size_t *sizes = cli_grab(n, sizeof *sizes);
    const int *feature_of = t->inputs[0].feature_of;
    if (!sizes)
        return CLI_FAILED;
    if (!feature_of) {
        free(sizes);
        return cli_error("--mask uniform: features have one value each; say with --features which "
                         "values belong together");
    }
    for (size_t v = 0; v < n; v++)
        if (feature_of[v] >= 0)
            sizes[feature_of[v]]++;
    for (size_t v = 0; v < n; v++)
        if (feature_of[v] >= 0)
            t->mask[v] = 1.0 / (double)sizes[feature_of[v]];
    free(sizes);
    return CLI_DONE;
}

static int mask_value(cli_task *t, const char *text) {
    double v;
    if (!cli_number(text, &v))
        return cli_usage("--mask value:V: expected a number, found \"%s\"", text);
    for (size_t i = 0; i < t->inputs[0].n_values; i++)
        t->mask[i] = v;
    return CLI_DONE;
}

/* The mask that the model carries. */
static int mask_own(cli_task *t, const cli_question *q) {
    size_t n = 0;
    const float *own = t->net ? sis_net_mask(t->net, &n) : NULL;
    if (!own)
        return cli_usage("--mask: this model has no mask of its own; %s: mean:FILE, zero, value:V, "
                         "uniform, FILE.npy or hotdeck:FILE",
                         q->output ? "say what a missing feature looks like"
                                   : "give the --mask the results were made with");
    if (n != t->inputs[0].n_values)
        return cli_error("--mask: the model's own mask has %zu values, an example has %zu", n,
                         t->inputs[0].n_values);
    for (size_t i = 0; i < n; i++)
        t->mask[i] = own[i];
    return CLI_DONE;
}

/* A base that may be any: what DNA looks like when it is missing, whatever its length. */
static int is_unknown_base(const cli_task *t, const char *text) {
    size_t n;
    if (strcmp(sis_data_kind(t->data), "dna") != 0 || !t->by_default)
        return 0;
    return strcmp(text, "uniform") == 0 || (!*text && !(t->net && sis_net_mask(t->net, &n)));
}

static int ask_mask(cli_task *t, const cli_question *q) {
    const char *text = q->mask ? q->mask : "";
    size_t width = 0;
    if (q->mask && !*q->mask)
        return cli_usage("--mask: expected a mask, found nothing; leave the option out for the "
                         "model's own");
    for (size_t i = 0; i < t->n; i++)
        width = t->inputs[i].n_values > width ? t->inputs[i].n_values : width;
    t->n_samples = 1;
    t->mask = cli_grab(width, sizeof *t->mask);
    if (!t->mask)
        return CLI_FAILED;
    int status = t->pieces         ? cli_pieces_mask(t, text)
                 : cli_is_token(t) ? cli_token_mask(t, text)
                                   : 0;
    if (status != 0)
        return status > 0 ? CLI_DONE : CLI_FAILED;
    if (is_unknown_base(t, text)) {
        for (size_t v = 0; v < width; v++)
            t->mask[v] = 0.25;
        return CLI_DONE;
    }
    status = cli_same_widths(t, "--mask");
    if (status != CLI_DONE)
        return status;
    if (!*text)
        return mask_own(t, q);
    if (strcmp(text, "zero") == 0)
        return CLI_DONE;
    if (strcmp(text, "uniform") == 0)
        return mask_uniform(t);
    if (strncmp(text, "mean:", 5) == 0 && text[5])
        return mask_mean(t, text + 5);
    if (strncmp(text, "value:", 6) == 0)
        return mask_value(t, text + 6);
    if (strncmp(text, "hotdeck:", 8) == 0 && text[8])
        return mask_hotdeck(t, text + 8, q);
    if (cli_ends_in(text, ".npy"))
        return mask_file(t, text);
    return cli_usage("--mask: expected mean:FILE, zero, value:V, uniform, FILE.npy or "
                     "hotdeck:FILE, found \"%s\"",
                     text);
}

/* ---- Output ---------------------------------------------------------------------------------- */

/* `, the label "good"`, or `, a label ("cat", "dog")`, or "": the model names none. */
static void labels_text(const cli_task *t, char *text, size_t size) {
    enum { MOST = 10 };
    size_t n = t->model.n_outputs, used = 0;
    char label[256];
    text[0] = '\0';
    for (size_t k = 0; t->net && k < n && k < MOST && used < size; k++) {
        if (sis_net_label(t->net, k, label, sizeof label) != SIS_OK)
            break;
        used += (size_t)snprintf(text + used, size - used, "%s\"%.40s\"",
                                 k       ? ", "
                                 : n > 1 ? ", a label ("
                                         : ", the label ",
                                 label);
    }
    if (used && n > 1 && used < size)
        snprintf(text + used, size - used, n > MOST ? ", ...)" : ")");
}

static size_t no_such_output(const cli_task *t, const char *found) {
    size_t n = t->model.n_outputs;
    char labels[1024], last[32] = "";
    labels_text(t, labels, sizeof labels);
    if (n > 1)
        snprintf(last, sizeof last, " to %zu", n - 1);
    cli_error("--class: the model has %zu output%s; expected 0%s%s or top, found \"%s\"", n,
              n > 1 ? "s" : "", last, labels, found);
    return SIZE_MAX;
}

size_t cli_output_of(const cli_task *t, const char *text, const double *scores) {
    size_t n = t->model.n_outputs, best = 0;
    char label[256];
    long number;
    if (strcmp(text, "top") == 0) {
        for (size_t k = 1; k < n; k++)
            if (scores[k] > scores[best])
                best = k;
        return best;
    }
    for (size_t k = 0; t->net && k < n; k++)
        if (sis_net_label(t->net, k, label, sizeof label) == SIS_OK && strcmp(label, text) == 0)
            return k;
    if (cli_whole(text, &number) && number >= 0 && (size_t)number < n)
        return (size_t)number;
    return no_such_output(t, text);
}

static int ask_output(cli_task *t, const cli_source *s, const char *text) {
    double *scores = NULL;
    if (!text)
        return CLI_DONE;
    int needed = t->model.n_outputs > 1 && strcmp(text, "top") == 0;
    int status = needed ? cli_task_predict(t, t->inputs, t->n, s->jobs, &scores) : CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++) {
        size_t at = needed ? i * t->model.n_outputs : 0;
        t->inputs[i].output = cli_output_of(t, text, needed ? scores + at : NULL);
        if (t->inputs[i].output == SIZE_MAX)
            status = CLI_FAILED;
    }
    free(scores);
    return status;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Records are found again by the id of their example, so two of one name would be confused. */
static int check_ids(const cli_task *t) {
    cli_ids ids;
    int status = cli_ids_make(&ids, t->ids, sizeof *t->ids, t->n);
    const char *twice = status == CLI_DONE ? cli_ids_twice(&ids) : NULL;
    if (twice)
        status = cli_error("--input: two examples are called \"%s\"; give each a name of its own, "
                           "or choose one of them with --rows",
                           twice);
    free(ids.items);
    return status;
}

int cli_task_ask(cli_task *t, const cli_source *s, const cli_question *q) {
    int status = check_ids(t);
    if (status == CLI_DONE)
        status = ask_features(t, q->features);
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++)
        t->inputs[i].feature_of = t->maps ? t->maps[i] : t->feature_of;
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
