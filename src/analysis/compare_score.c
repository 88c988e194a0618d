/* SPDX-License-Identifier: MIT
 *
 * Scores the subsets of one model by another. Each subset becomes an input of the scoring model,
 * with its token ids, mask and order of axes. Everything comes from the records, without the data
 * set: words and sequences of records form a data set, which a task encodes for the model.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/handle.h>

#include "analysis/compare.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"

enum { BATCH = 256 }; /* subsets scored at a time */

/* ---- Outputs ---------------------------------------------------------------------------- */

/* The output of `by` that corresponds to the record's: by label, else by number. */
static int find_output(const sis__side *by, size_t n_outputs, const sis_record *r, size_t *output) {
    char label[256];
    for (size_t k = 0; r->question.target_label && k < n_outputs; k++)
        if (sis_model_label(&by->model, k, label, sizeof label) == SIS_OK &&
            strcmp(label, r->question.target_label) == 0) {
            *output = k;
            return SIS_OK;
        }
    *output = r->question.target;
    return r->question.target < n_outputs
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT, "record \"%s\" is about output %zu, but %s has %zu",
                           r->id, r->question.target, by->model_name, n_outputs);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* The mask in the model's own results for inputs of n values, or NULL. */
static const double *own_mask(const sis__side *by, size_t n) {
    for (size_t i = 0; i < by->of.n; i++)
        if (by->of.items[i].drawing.mask && by->of.items[i].drawing.n_values == n)
            return by->of.items[i].drawing.mask;
    return NULL;
}

/* The mask of a model for inputs of n values: from its own results, else from its file. */
typedef struct {
    const double *values;
    const float *own;
} mask;

static int find_mask(const sis__side *by, const sis_record *r, mask *m) {
    size_t n = 0;
    *m = (mask){0};
    m->values = own_mask(by, r->drawing.n_values);
    if (m->values)
        return SIS_OK;
    m->own = by->net ? sis_net_mask(by->net, &n) : NULL;
    if (m->own && n == r->drawing.n_values)
        return SIS_OK;
    m->own = NULL;
    m->values = r->drawing.mask;
    return m->values
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT, "record \"%s\": neither %s nor %s gives a mask for %s",
                           r->id, by->of.name, by->model_name, by->model_name);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int contains(const int *sorted, size_t n, int feature) {
    return bsearch(&feature, sorted, n, sizeof *sorted, sis__by_int) != NULL;
}

/* 1 if the model reads texts, by its vocabulary or its own tokenizer, as its results show. */
static int reads_texts(const sis__side *by) {
    const sis_record *own = by->of.n ? &by->of.items[0] : NULL;
    if (by->net)
        return sis_net_is_token(by->net) && sis_net_meta_get(by->net, SIS_NET_META_VOCABULARY);
    return own && own->drawing.words && !own->drawing.values;
}

/* 1 if all records have the field at this offset. */
static int all_have(const sis__side *of, size_t offset) {
    int all = of->of.n > 0;
    for (size_t i = 0; all && i < of->of.n; i++) {
        const void *what;
        memcpy(&what, (const char *)&of->of.items[i] + offset, sizeof what);
        all = what != NULL;
    }
    return all;
}

/* The words of all records as texts. */
static int words_of(const sis__side *of, sis_data_with *with, sis_data **out) {
    size_t n = of->of.n, all = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        all += of->of.items[i].drawing.n_words;
    const char **words = SIS_NEW(const char *, all);
    size_t *n_words = SIS_NEW(size_t, n);
    int error = words && n_words ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        const sis_record *r = &of->of.items[i];
        n_words[i] = r->drawing.n_words;
        for (size_t k = 0; k < r->drawing.n_words; k++)
            words[at++] = r->drawing.words[k];
    }
    if (error == SIS_OK)
        error = sis_data_from_words(words, n_words, n, with, out);
    free(words);
    free(n_words);
    return error;
}

static int sequences_of(const sis__side *of, sis_data_with *with, sis_data **out) {
    const char **letters = SIS_NEW(const char *, of->of.n);
    if (!letters)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < of->of.n; i++)
        letters[i] = of->of.items[i].drawing.sequence;
    int error = sis_data_from_sequences(letters, of->of.n, with, out);
    free(letters);
    return error;
}

/* The examples of the records for the scoring model; NULL if there are only values. */
typedef struct {
    sis_data *data;
    sis_task *task;
} evidence;

static int open_evidence(const sis__side *of, const sis__side *by, int jobs, evidence *e) {
    const char **ids = SIS_NEW(const char *, of->of.n);
    sis_data_with with = {.name = of->of.name, .ids = ids};
    int error = ids ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; ids && i < of->of.n; i++)
        ids[i] = of->of.items[i].id;
    if (error == SIS_OK && reads_texts(by) && all_have(of, offsetof(sis_record, drawing.words)))
        error = words_of(of, &with, &e->data);
    else if (error == SIS_OK && all_have(of, offsetof(sis_record, drawing.sequence)))
        error = sequences_of(of, &with, &e->data);
    free(ids);
    if (error != SIS_OK || !e->data)
        return error;
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.opened = &by->model;
    o.examples.data = e->data;
    o.question.target = NULL; /* from the record */
    o.answer.search.jobs = jobs;
    return sis_task_open(&o, &e->task);
}

static void close_evidence(evidence *e) {
    sis_task_free(e->task);
    sis_data_free(e->data);
}

/* Encode an example of the task with all but the subset masked. */
static int encode_example(const sis__side *by, const evidence *e, size_t i, const int *kept,
                          size_t n_kept, double **row, size_t *n) {
    sis_example x;
    int error = sis_task_load(e->task, i, &x);
    if (error != SIS_OK)
        return error;
    *n = x.input.n_values;
    *row = SIS_NEW(double, *n);
    const double *own = own_mask(by, *n), *missing = own ? own : x.input.mask;
    for (size_t v = 0; *row && v < *n; v++) {
        int word =
            x.word_at ? x.word_at[v] == SIZE_MAX ? -1 : (int)x.word_at[v] : x.input.feature_of[v];
        (*row)[v] = word < 0 || contains(kept, n_kept, word) ? x.input.values[v] : missing[v];
    }
    sis_example_release(&x);
    return *row ? SIS_OK : SIS_E_NOMEM;
}

/* 1 if the model takes the shape from records. */
static int leaves_shapes(const sis__side *by) {
    sis_net_shape s;
    return sis_model_row_shape(&by->model, &s) > 1;
}

static int same_shape(const sis_record *a, const sis_record *b) {
    return a->drawing.rank == b->drawing.rank &&
           (a->drawing.rank == 0 || memcmp(a->drawing.shape, b->drawing.shape,
                                           a->drawing.rank * sizeof *a->drawing.shape) == 0);
}

/* 1 if the scoring model swaps the two axes, as its own results show. */
static int is_turned(const sis__side *by, const sis_record *r) {
    const sis_record *own = by->of.n ? &by->of.items[0] : NULL;
    return own && !leaves_shapes(by) && own->drawing.rank == 2 && r->drawing.rank == 2 &&
           own->drawing.shape[0] == r->drawing.shape[1] &&
           own->drawing.shape[1] == r->drawing.shape[0] &&
           own->drawing.shape[0] != own->drawing.shape[1];
}

static int encode_values(const sis__side *by, const sis_record *r, const int *kept, size_t n_kept,
                         double **row, size_t *n) {
    mask m = {0};
    int token = by->net && sis_net_is_token(by->net), turned = is_turned(by, r);
    size_t wanted = by->net ? sis_net_values(by->net) : 0;
    if (!r->drawing.values)
        return sis__fail(SIS_E_ARGUMENT, "record \"%s\" has no values, so it cannot be scored",
                         r->id);
    if (wanted && wanted != r->drawing.n_values)
        return sis__fail(SIS_E_ARGUMENT, "record \"%s\" has %zu values, but %s takes %zu", r->id,
                         r->drawing.n_values, by->model_name, wanted);
    int error = token ? SIS_OK : find_mask(by, r, &m);
    if (error != SIS_OK)
        return error;
    *n = r->drawing.n_values;
    *row = SIS_NEW(double, *n);
    for (size_t v = 0; *row && v < *n; v++) {
        int f = r->drawing.feature_map ? r->drawing.feature_map[v] : (int)v;
        size_t at =
            turned ? v % r->drawing.shape[1] * r->drawing.shape[0] + v / r->drawing.shape[1] : v;
        double missing = token ? SIS_TOKEN_MASK : m.own ? (double)m.own[at] : m.values[at];
        (*row)[at] = f < 0 || contains(kept, n_kept, f) ? r->drawing.values[v] : missing;
    }
    return *row ? SIS_OK : SIS_E_NOMEM;
}

/* Encode subset s of record i for the model of `by`. */
static int encode(const sis__side *by, const evidence *e, const sis_record *r, size_t i,
                  const sis_subset *s, double **row, size_t *n) {
    int *kept = SIS_NEW(int, s->n);
    if (!kept)
        return SIS_E_NOMEM;
    memcpy(kept, s->features, s->n * sizeof *kept);
    qsort(kept, s->n, sizeof *kept, sis__by_int);
    int error = e->task ? encode_example(by, e, i, kept, s->n, row, n)
                        : encode_values(by, r, kept, s->n, row, n);
    free(kept);
    return error;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* A batch of inputs to score. */
typedef struct {
    const sis__side *by;
    evidence evidence;
    int jobs;
    size_t n;
    sis_input inputs[BATCH];
    double *rows[BATCH];
    const sis_record *of[BATCH];
    double *scores; /* of all batches so far */
    size_t n_scores;
} batch;

/* The scoring model, with its number of outputs; *shaped: a handle with the shape of the records,
 * which the caller closes. */
static int find_model(const batch *b, sis_model *model, int *shaped) {
    const sis_record *r = b->of[0];
    int error = SIS_OK;
    *model = b->evidence.task ? *sis_task_model(b->evidence.task) : b->by->model;
    *shaped = !b->evidence.task && r->drawing.rank > 1 && leaves_shapes(b->by);
    if (*shaped) {
        error = sis_model_share(&b->by->model, model);
        if (error == SIS_OK)
            error = sis_model_take_shape(model, r->drawing.shape, r->drawing.rank);
    }
    return error == SIS_OK ? sis_model_measure(model, b->rows[0], b->inputs[0].n_values) : error;
}

static int score_batch(batch *b) {
    size_t n = b->n;
    int shaped;
    sis_model model;
    sis_opt opt;
    if (n == 0)
        return SIS_OK;
    sis_opt_init(&opt);
    opt.jobs = b->jobs;
    int error = find_model(b, &model, &shaped);
    double *scores = error == SIS_OK ? SIS_NEW(double, n *model.n_outputs) : NULL;
    if (error == SIS_OK)
        error = scores ? sis_predict(&model, b->inputs, n, &opt, scores) : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        size_t output;
        error = find_output(b->by, model.n_outputs, b->of[i], &output);
        if (error == SIS_OK)
            b->scores[b->n_scores++] = scores[i * model.n_outputs + output];
    }
    free(scores);
    if (shaped)
        sis_model_close(&model);
    while (b->n > 0)
        free(b->rows[--b->n]);
    return error;
}

/* Score the subsets of record i. */
static int score_record(const sis__side *of, size_t i, batch *b) {
    const sis_record *r = &of->of.items[i];
    int other = b->n && leaves_shapes(b->by) && !same_shape(b->of[0], r);
    int error = other ? score_batch(b) : SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < r->collection.n_subsets; k++) {
        double *row = NULL;
        size_t n = 0;
        error = encode(b->by, &b->evidence, r, i, &r->collection.subsets[k], &row, &n);
        b->rows[b->n] = row;
        b->of[b->n] = r;
        b->inputs[b->n++] = (sis_input){.values = row, .n_values = n, .name = r->id};
        if (error == SIS_OK && b->n == BATCH)
            error = score_batch(b);
    }
    return error;
}

int sis__cross_score(const sis__side *of, const sis__side *by, int jobs, double *scores) {
    batch *b = SIS_NEW(batch, 1);
    if (!b)
        return SIS_E_NOMEM;
    *b = (batch){.by = by, .jobs = jobs, .scores = scores};
    int error = of->n_subsets ? open_evidence(of, by, jobs, &b->evidence) : SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < of->of.n; i++)
        error = score_record(of, i, b);
    if (error == SIS_OK)
        error = score_batch(b);
    while (b->n > 0)
        free(b->rows[--b->n]);
    close_evidence(&b->evidence);
    free(b);
    return error;
}
