/* SPDX-License-Identifier: MIT
 *
 * Scores of parts of inputs, and of inputs without one feature. A part becomes one row for each
 * mask of its input; rows are predicted in blocks that take half of the memory budget (prediction
 * takes the other half). Leaving out one feature after the other is what a walk's probe does, so
 * importance costs as much as one step of backward selection.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>
#include <sis/walk.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"

enum { BLOCK_ROWS = 4096 };

static size_t samples_of(const sis_input *in) {
    return in->n_samples ? in->n_samples : 1;
}

/* Flags of the features that remain in a part. */
static int flag_left(const sis_part *part, unsigned char **out) {
    const sis_input *in = part->input;
    long n = sis_input_features(in);
    *out = NULL;
    if (n < 0)
        return (int)n;
    unsigned char *left = SIS_NEW(unsigned char, (size_t)n);
    if (!left)
        return SIS_E_NOMEM;
    memset(left, part->without, (size_t)n);
    for (size_t i = 0; i < part->n; i++) {
        int f = part->features[i];
        if (f < 0 || f >= n) {
            free(left);
            return sis__fail(SIS_E_ARGUMENT, "feature %d is not one of the %ld of the input", f, n);
        }
        left[f] = !part->without;
    }
    for (long f = 0; in->absent && f < n; f++)
        left[f] = left[f] && !in->absent[f];
    *out = left;
    return SIS_OK;
}

/* The rows of a part, one for each mask: rows (n_samples, n_values). */
static int build_rows(const sis_part *part, double *rows) {
    const sis_input *in = part->input;
    unsigned char *left;
    int code = flag_left(part, &left);
    if (code != SIS_OK)
        return code;
    for (size_t s = 0; s < samples_of(in); s++)
        for (size_t v = 0; v < in->n_values; v++) {
            int f = in->feature_of ? in->feature_of[v] : (int)v;
            size_t at = s * in->n_values + v;
            rows[at] = f < 0 || left[f] ? in->values[v] : in->mask[at];
        }
    free(left);
    return SIS_OK;
}

/* Parts whose rows are predicted together. */
typedef struct {
    const sis_model *model;
    const sis_opt *opt;
    size_t n_parts, n_rows, n_values;
    double *values, *scores;
    sis_input *rows;
} block;

/* The number of parts that fit into a block, at least one. */
static void measure(block *b, const sis_part *parts, size_t n) {
    b->n_parts = b->n_rows = b->n_values = 0;
    for (; b->n_parts < n; b->n_parts++) {
        const sis_input *in = parts[b->n_parts].input;
        size_t rows = b->n_rows + samples_of(in);
        size_t values = b->n_values + samples_of(in) * in->n_values;
        if (b->n_parts > 0 && (rows > BLOCK_ROWS || values > b->opt->memory / 2 / sizeof(double)))
            break;
        b->n_rows = rows;
        b->n_values = values;
    }
}

static int fill(block *b, const sis_part *parts) {
    size_t row = 0;
    double *values = b->values;
    for (size_t i = 0; i < b->n_parts; i++) {
        const sis_input *in = parts[i].input;
        int code = build_rows(&parts[i], values);
        if (code != SIS_OK)
            return code;
        for (size_t s = 0; s < samples_of(in); s++, values += in->n_values) {
            b->rows[row] = *in;
            b->rows[row++].values = values;
        }
    }
    return SIS_OK;
}

/* The mean over the rows of each part. */
static void average(const block *b, const sis_part *parts, double *scores) {
    const double *from = b->scores;
    for (size_t i = 0; i < b->n_parts; i++) {
        size_t n = samples_of(parts[i].input);
        double high = 0, low = 0;
        for (size_t s = 0; s < n; s++, from += b->model->n_outputs)
            sis__sum_add(&high, &low, from[parts[i].input->output]);
        scores[i] = sis__sum_mean(high, low, n);
    }
}

static int score_block(block *b, const sis_part *parts, double *scores) {
    b->values = SIS_NEW_RAW(double, b->n_values);
    b->rows = SIS_NEW(sis_input, b->n_rows);
    b->scores = (double *)sis__alloc_raw(b->n_rows, b->model->n_outputs * sizeof *b->scores);
    int code = b->values && b->rows && b->scores ? fill(b, parts) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = sis_predict(b->model, b->rows, b->n_rows, b->opt, b->scores);
    if (code == SIS_OK)
        average(b, parts, scores);
    free(b->values);
    free(b->rows);
    free(b->scores);
    return code;
}

int sis_part_scores(const sis_model *model, const sis_part *parts, size_t n, const sis_opt *opt,
                    double *scores) {
    block b = {.model = model, .opt = opt};
    int code = SIS_OK;
    for (size_t i = 0; i < n; i++)
        if (parts[i].input->output >= model->n_outputs)
            return sis__fail(SIS_E_ARGUMENT, "part %zu is about output %zu, but the model has %zu",
                             i, parts[i].input->output, model->n_outputs);
    for (size_t first = 0; code == SIS_OK && first < n; first += b.n_parts) {
        measure(&b, parts + first, n - first);
        code = score_block(&b, parts + first, scores + first);
    }
    return code;
}

int sis_importance(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   double *importance) {
    sis_walk *walk = NULL;
    int *every = NULL;
    int code = sis_walk_new(model, input, opt, &walk);
    size_t n = code == SIS_OK ? sis_walk_features(walk) : 0;
    if (code == SIS_OK && !(every = SIS_NEW_RAW(int, n)))
        code = SIS_E_NOMEM;
    for (size_t f = 0; code == SIS_OK && f < n; f++)
        every[f] = (int)f;
    if (code == SIS_OK)
        code = sis_walk_probe(walk, every, n, importance);
    for (size_t f = 0; code == SIS_OK && f < n; f++) {
        double fall = sis_walk_score(walk) - importance[f];
        importance[f] = opt->below ? -fall : fall;
    }
    free(every);
    sis_walk_free(walk);
    return code;
}
