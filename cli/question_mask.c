/* SPDX-License-Identifier: MIT
 *
 * What a missing feature looks like: --mask, for every kind of model and input.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/evaluate.h>

#include "task.h"

/* Columns are found by name. Those of ids and labels, which are no features, may be there or
 * not. */
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

/* The samples of the mask, for inputs like this one, from n rows of a data set. */
static int draw_masks(cli_task *t, const sis_input *like, const double *rows, size_t n,
                      uint64_t seed) {
    sis_input *donors = cli_grab(n, sizeof *donors);
    sis_deck *deck = NULL;
    if (!donors)
        return CLI_FAILED;
    for (size_t i = 0; i < n; i++) {
        donors[i] = *like;
        donors[i].values = rows + i * like->n_values;
    }
    int error = sis_deck_new(donors, n, 0, &deck);
    if (!error)
        error = sis_deck_draw(deck, &donors[0], t->n_samples, seed, t->mask);
    sis_deck_free(deck);
    free(donors);
    return cli_fail(error);
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
        status = draw_masks(t, &t->inputs[first], rows, n, q->seed);
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

int cli_task_mask(cli_task *t, const cli_question *q) {
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
