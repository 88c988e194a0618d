/* SPDX-License-Identifier: MIT
 *
 * What is asked of each example: which values are a feature, what a missing one looks like, which
 * output is meant.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/evaluate.h>

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

/* Of names sorted by name, those at the front that are alike. */
static size_t count_alike(const cli_ids *ids, size_t from) {
    size_t n = 1;
    while (from + n < ids->n && strcmp(ids->items[from].id, ids->items[from + n].id) == 0)
        n++;
    return n;
}

/* Call features what the names of their values share, "housing" for housing=own and housing=rent,
 * unless another is or would be called that. */
static int shorten_names(cli_task *t, const char *const *names) {
    size_t n = t->n_features;
    char **all = cli_grab(2 * n, sizeof *all); /* what they share, and what they are called */
    cli_ids ids = {0};
    int status = all ? share_names(t, names, all) : CLI_FAILED;
    for (size_t f = 0; status == CLI_DONE && f < n; f++)
        all[n + f] = t->names[f];
    if (status == CLI_DONE)
        status = cli_ids_make(&ids, all, sizeof *all, 2 * n);
    for (size_t i = 0, more; status == CLI_DONE && i < ids.n; i += more) {
        size_t f = ids.items[i].at % n, others = 0;
        more = count_alike(&ids, i);
        for (size_t k = i; k < i + more; k++)
            others += ids.items[k].at % n != f;
        for (size_t k = i; k < i + more && others == 0; k++)
            if (ids.items[k].at < n)
                all[n + f] = NULL; /* it may have the short one */
    }
    for (size_t f = 0; all && f < n; f++) {
        if (status == CLI_DONE && !all[n + f])
            strcpy(t->names[f], all[f]); /* never longer */
        free(all[f]);
    }
    free(all);
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
        status = cli_task_mask(t, q);
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++) {
        t->inputs[i].mask = t->mask;
        t->inputs[i].n_samples = t->n_samples;
    }
    return status == CLI_DONE ? ask_output(t, s, q->output) : status;
}
