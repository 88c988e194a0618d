/* SPDX-License-Identifier: MIT
 *
 * What does one model make of the evidence that is enough for the other? Each subset becomes an
 * input of the model that scores it, as that model takes inputs: its own token ids, its own mask,
 * its own order of axes. Everything comes from the records; the data set is not needed: words and
 * sequences of records are a data set themselves, and a task encodes them for the model.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "compare.h"
#include "task.h"

enum { BATCH = 256 }; /* subsets scored at a time */

/* ---- Models ---------------------------------------------------------------------------------- */

int cli_side_open(cli_side *s, const cli_opening *open) {
    sis_model_opt opt = cli_opening_opt(open);
    int status = cli_fail(sis_model_open(s->spec, &opt, &s->model));
    if (status != CLI_DONE)
        return status;
    s->net = sis_model_net(&s->model);
    return CLI_DONE;
}

/* Which output of `by` is the one that the record is about: by label, else by number. */
static int find_output(const cli_side *by, size_t n_outputs, const sis_record *r, size_t *output) {
    char label[256];
    for (size_t k = 0; r->output_label && k < n_outputs; k++)
        if (sis_model_label(&by->model, k, label, sizeof label) == SIS_OK &&
            strcmp(label, r->output_label) == 0) {
            *output = k;
            return CLI_DONE;
        }
    *output = r->output;
    return r->output < n_outputs ? CLI_DONE
                                 : cli_error("record \"%s\" is about output %zu, %s has %zu", r->id,
                                             r->output, by->spec, n_outputs);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* The mask that the results of the model have for inputs of n values, or NULL. */
static const double *own_mask(const cli_side *by, size_t n) {
    for (size_t i = 0; i < by->results.n; i++)
        if (by->results.records[i].mask && by->results.records[i].n_values == n)
            return by->results.records[i].mask;
    return NULL;
}

/* The mask of a model for inputs of n values: that of its own results, else the one it carries. */
typedef struct {
    const double *values;
    const float *own;
} mask;

static int find_mask(const cli_side *by, const sis_record *r, mask *m) {
    size_t n = 0;
    *m = (mask){0};
    m->values = own_mask(by, r->n_values);
    if (m->values)
        return CLI_DONE;
    m->own = by->net ? sis_net_mask(by->net, &n) : NULL;
    if (m->own && n == r->n_values)
        return CLI_DONE;
    m->own = NULL;
    m->values = r->mask;
    return m->values
               ? CLI_DONE
               : cli_error("record \"%s\": neither %s nor %s say what a missing feature looks "
                           "like to %s",
                           r->id, by->results.path, by->spec, by->spec);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int contains(const int *sorted, size_t n, int feature) {
    return bsearch(&feature, sorted, n, sizeof *sorted, cli_by_number) != NULL;
}

/* Does the model read texts: by a vocabulary of its own, or by itself, as its results show? */
static int reads_texts(const cli_side *by) {
    const sis_record *own = by->results.n ? &by->results.records[0] : NULL;
    if (by->net)
        return sis_net_is_token(by->net) && sis_net_meta_get(by->net, SIS_NET_META_VOCABULARY);
    return own && own->words && !own->values;
}

/* All records have this, by a place in them. */
static int all_have(const cli_side *of, size_t offset) {
    int all = of->results.n > 0;
    for (size_t i = 0; all && i < of->results.n; i++) {
        const void *what;
        memcpy(&what, (const char *)&of->results.records[i] + offset, sizeof what);
        all = what != NULL;
    }
    return all;
}

/* The words of all records as texts. */
static int words_of(const cli_side *of, sis_data_with *with, sis_data **out) {
    size_t n = of->results.n, all = 0, at = 0;
    for (size_t i = 0; i < n; i++)
        all += of->results.records[i].n_words;
    const char **words = cli_grab(all, sizeof *words);
    size_t *n_words = cli_grab(n, sizeof *n_words);
    int status = words && n_words ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < n; i++) {
        const sis_record *r = &of->results.records[i];
        n_words[i] = r->n_words;
        for (size_t k = 0; k < r->n_words; k++)
            words[at++] = r->words[k];
    }
    if (status == CLI_DONE)
        status = cli_fail(sis_data_from_words(words, n_words, n, with, out));
    free(words);
    free(n_words);
    return status;
}

static int sequences_of(const cli_side *of, sis_data_with *with, sis_data **out) {
    const char **letters = cli_grab(of->results.n, sizeof *letters);
    if (!letters)
        return CLI_FAILED;
    for (size_t i = 0; i < of->results.n; i++)
        letters[i] = of->results.records[i].sequence;
    int status = cli_fail(sis_data_from_sequences(letters, of->results.n, with, out));
    free(letters);
    return status;
}

/* What the records are of, for the model that scores; NULL where their values are all there is. */
typedef struct {
    sis_data *data;
    sis_task *task;
} evidence;

static int open_evidence(const cli_side *of, const cli_side *by, size_t jobs, evidence *e) {
    const char **ids = cli_grab(of->results.n, sizeof *ids);
    sis_data_with with = {.name = of->results.path, .ids = ids};
    int status = ids ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; ids && i < of->results.n; i++)
        ids[i] = of->results.records[i].id;
    if (status == CLI_DONE && reads_texts(by) && all_have(of, offsetof(sis_record, words)))
        status = words_of(of, &with, &e->data);
    else if (status == CLI_DONE && all_have(of, offsetof(sis_record, sequence)))
        status = sequences_of(of, &with, &e->data);
    free(ids);
    if (status != CLI_DONE || !e->data)
        return status;
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.opened = &by->model;
    o.data = e->data;
    o.target = NULL; /* as the record says */
    o.search.jobs = (int)jobs;
    return cli_fail(sis_task_open(&o, &e->task));
}

static void close_evidence(evidence *e) {
    sis_task_free(e->task);
    sis_data_free(e->data);
}

/* An example of the task with all but the subset masked. */
static int encode_example(const cli_side *by, const evidence *e, size_t i, const int *kept,
                          size_t n_kept, double **row, size_t *n) {
    sis_example x;
    int status = cli_fail(sis_task_load(e->task, i, &x));
    if (status != CLI_DONE)
        return status;
    *n = x.input.n_values;
    *row = cli_grab(*n, sizeof **row);
    const double *own = own_mask(by, *n), *missing = own ? own : x.input.mask;
    for (size_t v = 0; *row && v < *n; v++) {
        int word =
            x.word_at ? x.word_at[v] == SIZE_MAX ? -1 : (int)x.word_at[v] : x.input.feature_of[v];
        (*row)[v] = word < 0 || contains(kept, n_kept, word) ? x.input.values[v] : missing[v];
    }
    sis_example_release(&x);
    return *row ? CLI_DONE : CLI_FAILED;
}

/* Does the model leave it to records what shape they have? */
static int leaves_shapes(const cli_side *by) {
    sis_net_shape s;
    return sis_model_row_shape(&by->model, &s) > 1;
}

static int same_shape(const sis_record *a, const sis_record *b) {
    return a->rank == b->rank &&
           (a->rank == 0 || memcmp(a->shape, b->shape, a->rank * sizeof *a->shape) == 0);
}

/* Does the model that scores take the two axes the other way round? As its own results show. */
static int is_turned(const cli_side *by, const sis_record *r) {
    const sis_record *own = by->results.n ? &by->results.records[0] : NULL;
    return own && !leaves_shapes(by) && own->rank == 2 && r->rank == 2 &&
           own->shape[0] == r->shape[1] && own->shape[1] == r->shape[0] &&
           own->shape[0] != own->shape[1];
}

static int encode_values(const cli_side *by, const sis_record *r, const int *kept, size_t n_kept,
                         double **row, size_t *n) {
    mask m = {0};
    int token = by->net && sis_net_is_token(by->net), turned = is_turned(by, r);
    size_t wanted = by->net ? sis_net_values(by->net) : 0;
    if (!r->values)
        return cli_error("record \"%s\" has no values, so it cannot be scored", r->id);
    if (wanted && wanted != r->n_values)
        return cli_error("record \"%s\" has %zu values, %s takes %zu", r->id, r->n_values, by->spec,
                         wanted);
    if (!token && find_mask(by, r, &m) != CLI_DONE)
        return CLI_FAILED;
    *n = r->n_values;
    *row = cli_grab(*n, sizeof **row);
    for (size_t v = 0; *row && v < *n; v++) {
        int f = r->feature_map ? r->feature_map[v] : (int)v;
        size_t at = turned ? v % r->shape[1] * r->shape[0] + v / r->shape[1] : v;
        double missing = token ? SIS_TOKEN_MASK : m.own ? (double)m.own[at] : m.values[at];
        (*row)[at] = f < 0 || contains(kept, n_kept, f) ? r->values[v] : missing;
    }
    return *row ? CLI_DONE : CLI_FAILED;
}

/* Subset s of record i for the model of `by`. */
static int encode(const cli_side *by, const evidence *e, const sis_record *r, size_t i,
                  const sis_subset *s, double **row, size_t *n) {
    int *kept = cli_grab(s->n, sizeof *kept);
    if (!kept)
        return CLI_FAILED;
    memcpy(kept, s->features, s->n * sizeof *kept);
    qsort(kept, s->n, sizeof *kept, cli_by_number);
    int status = e->task ? encode_example(by, e, i, kept, s->n, row, n)
                         : encode_values(by, r, kept, s->n, row, n);
    free(kept);
    return status;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* Inputs that wait to be scored together. */
typedef struct {
    const cli_side *by;
    evidence evidence;
    size_t jobs, n;
    sis_input inputs[BATCH];
    double *rows[BATCH];
    const sis_record *of[BATCH];
    cli_cross *out;
} batch;

/* The model that scores, which says how many scores it gives; *shaped: a handle of its own that knows the shape of
 * the records, to be closed. */
static int find_model(const batch *b, sis_model *model, int *shaped) {
    const sis_record *r = b->of[0];
    int error = SIS_OK;
    *model = b->evidence.task ? *sis_task_model(b->evidence.task) : b->by->model;
    *shaped = !b->evidence.task && r->rank > 1 && leaves_shapes(b->by);
    if (*shaped) {
        error = sis_model_share(&b->by->model, model);
        if (error == SIS_OK)
            error = sis_model_take_shape(model, r->shape, r->rank);
    }
    return cli_fail(error == SIS_OK ? sis_model_measure(model, b->rows[0], b->inputs[0].n_values)
                                    : error);
}

static int score_batch(batch *b) {
    size_t n = b->n;
    int shaped;
    sis_model model;
    sis_opt opt;
    if (n == 0)
        return CLI_DONE;
    sis_opt_init(&opt);
    opt.jobs = (int)b->jobs;
    int status = find_model(b, &model, &shaped);
    double *scores = status == CLI_DONE ? cli_grab(n, model.n_outputs * sizeof *scores) : NULL;
    status = scores ? cli_fail(sis_predict(&model, b->inputs, n, &opt, scores)) : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < n; i++) {
        size_t output;
        status = find_output(b->by, model.n_outputs, b->of[i], &output);
        if (status == CLI_DONE)
            b->out->scores[b->out->n++] = scores[i * model.n_outputs + output];
    }
    free(scores);
    if (shaped)
        sis_model_close(&model);
    while (b->n > 0)
        free(b->rows[--b->n]);
    return status;
}

int cli_quantiles(const double *values, size_t n, double out[5]) {
    int status = CLI_DONE;
    for (size_t k = 0; status == CLI_DONE && k < 5; k++)
        status = cli_fail(sis_sample_percentile(values, n, 25 * (double)k, &out[k]));
    return status;
}

static int count_sufficient(const cli_side *by, cli_cross *out) {
    for (size_t i = 0; i < out->n; i++)
        out->sufficient += (size_t)sis_decided(out->scores[i], by->threshold, by->below);
    return out->n ? cli_quantiles(out->scores, out->n, out->quantiles) : CLI_DONE;
}

/* The subsets of record i. */
static int score_record(const cli_side *of, size_t i, batch *b) {
    const sis_record *r = &of->results.records[i];
    int other = b->n && leaves_shapes(b->by) && !same_shape(b->of[0], r);
    int status = other ? score_batch(b) : CLI_DONE;
    for (size_t k = 0; status == CLI_DONE && k < r->collection.n_subsets; k++) {
        double *row = NULL;
        size_t n = 0;
        status = encode(b->by, &b->evidence, r, i, &r->collection.subsets[k], &row, &n);
        b->rows[b->n] = row;
        b->of[b->n] = r;
        b->inputs[b->n++] = (sis_input){.values = row, .n_values = n, .name = r->id};
        if (status == CLI_DONE && b->n == BATCH)
            status = score_batch(b);
    }
    return status;
}

int cli_cross_score(const cli_side *of, const cli_side *by, size_t jobs, cli_cross *out) {
    size_t total = 0;
    batch *b = cli_grab(1, sizeof *b);
    *out = (cli_cross){0};
    for (size_t i = 0; i < of->results.n; i++)
        total += of->results.records[i].collection.n_subsets;
    out->scores = cli_grab(total, sizeof *out->scores);
    if (!b || !out->scores) {
        free(b);
        return CLI_FAILED;
    }
    *b = (batch){.by = by, .jobs = jobs, .out = out};
    int status = total ? open_evidence(of, by, jobs, &b->evidence) : CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < of->results.n; i++)
        status = score_record(of, i, b);
    if (status == CLI_DONE)
        status = score_batch(b);
    while (b->n > 0)
        free(b->rows[--b->n]);
    close_evidence(&b->evidence);
    free(b);
    return status == CLI_DONE ? count_sufficient(by, out) : status;
}
