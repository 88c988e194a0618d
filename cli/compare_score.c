/* SPDX-License-Identifier: MIT
 *
 * What does one model make of the evidence that is enough for the other? Each subset becomes an
 * input of the model that scores it, as that model takes inputs: its own token ids, its own mask,
 * its own order of axes. Everything comes from the records; the data set is not needed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/evaluate.h>

#include "compare.h"
#include "task.h"

enum { BATCH = 256 }; /* subsets scored at a time */

/* ---- Models ---------------------------------------------------------------------------------- */

int cli_side_open(cli_side *s, double timeout) {
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.timeout = timeout;
    int status = cli_fail(sis_model_open(s->spec, &opt, &s->model));
    if (status != CLI_DONE)
        return status;
    s->net = sis_model_net(&s->model);
    const char *json = s->net && sis_net_is_token(s->net)
                           ? sis_net_meta_get(s->net, SIS_NET_META_VOCABULARY)
                           : NULL;
    return json ? cli_fail(sis_vocabulary_parse(json, &s->vocabulary)) : CLI_DONE;
}

/* Which output of `by` is the one that the record is about: by label, else by number. */
static int find_output(const cli_side *by, const sis_record *r, size_t *output) {
    char label[256];
    for (size_t k = 0; by->net && r->output_label && k < by->model.n_outputs; k++)
        if (sis_net_label(by->net, k, label, sizeof label) == SIS_OK &&
            strcmp(label, r->output_label) == 0) {
            *output = k;
            return CLI_DONE;
        }
    *output = r->output;
    return r->output < by->model.n_outputs
               ? CLI_DONE
               : cli_error("record \"%s\" is about output %zu, %s has %zu", r->id, r->output,
                           by->spec, by->model.n_outputs);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* The mask of a model for inputs of n values: that of its own results, else the one it carries. */
typedef struct {
    const double *values;
    const float *own;
} mask;

static int find_mask(const cli_side *by, const sis_record *r, mask *m) {
    size_t n = 0;
    *m = (mask){0};
    for (size_t i = 0; i < by->shelf.n && !m->values; i++)
        if (by->shelf.records[i].mask && by->shelf.records[i].n_values == r->n_values)
            m->values = by->shelf.records[i].mask;
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
                           r->id, by->shelf.path, by->spec, by->spec);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int contains(const int *sorted, size_t n, int feature) {
    return bsearch(&feature, sorted, n, sizeof *sorted, cli_by_number) != NULL;
}

/* The words of a record as the tokenizer has them, which must be one for one. */
static int split_words(const sis_record *r, sis_words *words) {
    size_t n = 1;
    for (size_t k = 0; k < r->n_words; k++)
        n += strlen(r->words[k]) + 1;
    char *text = cli_grab(n, 1), *at = text;
    for (size_t k = 0; text && k < r->n_words; k++) {
        at = stpcpy(at, r->words[k]);
        *at++ = ' ';
    }
    int status = text ? cli_fail(sis_words_split(text, words)) : CLI_FAILED;
    if (status == CLI_DONE && words->n != r->n_words)
        status = cli_error("record \"%s\": its words are not those of this tokenizer", r->id);
    free(text);
    return status;
}

/* Token ids that a row of the network has; 0: as many as there are words. */
static size_t token_length(const sis_net *net) {
    size_t n = sis_net_values(net);
    const char *text = sis_net_meta_get(net, SIS_NET_META_LENGTH);
    long length;
    return n == 0 && text && cli_whole(text, &length) && length > 0 ? (size_t)length : n;
}

/* Token ids of the model that scores; what is not in the subset is a masked token. */
static int encode_text(const cli_side *by, const sis_record *r, const int *kept, size_t n_kept,
                       double **row, size_t *n) {
    sis_words words = {0};
    size_t *word_at = NULL;
    int status = split_words(r, &words);
    if (status == CLI_DONE) {
        *n = token_length(by->net);
        *n = *n ? *n : words.n;
        *row = cli_grab(*n, sizeof **row);
        word_at = cli_grab(*n, sizeof *word_at);
        status = *row && word_at ? CLI_DONE : CLI_FAILED;
    }
    if (status == CLI_DONE)
        sis_vocabulary_encode(by->vocabulary, &words, *n, *row, word_at);
    for (size_t v = 0; status == CLI_DONE && v < *n; v++)
        if (word_at[v] != SIZE_MAX && !contains(kept, n_kept, (int)word_at[v]))
            (*row)[v] = SIS_TOKEN_MASK;
    free(word_at);
    sis_words_release(&words);
    return status;
}

/* Does the model that scores take the two axes the other way round? As its own results show. */
static int is_turned(const cli_side *by, const sis_record *r) {
    const sis_record *own = by->shelf.n ? &by->shelf.records[0] : NULL;
    return own && own->rank == 2 && r->rank == 2 && own->shape[0] == r->shape[1] &&
           own->shape[1] == r->shape[0] && own->shape[0] != own->shape[1];
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

/* Subset s of record r for the model of `by`. */
static int encode(const cli_side *by, const sis_record *r, const sis_subset *s, double **row,
                  size_t *n) {
    int *kept = cli_grab(s->n, sizeof *kept);
    if (!kept)
        return CLI_FAILED;
    memcpy(kept, s->features, s->n * sizeof *kept);
    qsort(kept, s->n, sizeof *kept, cli_by_number);
    int status = by->vocabulary && r->words ? encode_text(by, r, kept, s->n, row, n)
                                            : encode_values(by, r, kept, s->n, row, n);
    free(kept);
    return status;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* Inputs that wait to be scored together. */
typedef struct {
    const cli_side *by;
    size_t jobs, n;
    sis_input inputs[BATCH];
    double *rows[BATCH];
    const sis_record *of[BATCH];
    cli_cross *out;
} batch;

static int score_batch(batch *b) {
    sis_model *model = (sis_model *)&b->by->model;
    size_t n = b->n;
    sis_opt opt;
    sis_opt_init(&opt);
    opt.jobs = (int)b->jobs;
    int status =
        n ? cli_fail(sis_model_measure(model, b->rows[0], b->inputs[0].n_values)) : CLI_DONE;
    double *scores = cli_grab(n, model->n_outputs * sizeof *scores);
    if (status == CLI_DONE && scores && n)
        status = cli_fail(sis_predict(model, b->inputs, n, &opt, scores));
    for (size_t i = 0; status == CLI_DONE && scores && i < n; i++) {
        size_t output;
        status = find_output(b->by, b->of[i], &output);
        if (status == CLI_DONE)
            b->out->scores[b->out->n++] = scores[i * model->n_outputs + output];
    }
    status = status == CLI_DONE && !scores ? CLI_FAILED : status;
    free(scores);
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

int cli_cross_score(const cli_side *of, const cli_side *by, size_t jobs, cli_cross *out) {
    size_t total = 0;
    batch *b = cli_grab(1, sizeof *b);
    *out = (cli_cross){0};
    for (size_t i = 0; i < of->shelf.n; i++)
        total += of->shelf.records[i].collection.n_subsets;
    out->scores = cli_grab(total, sizeof *out->scores);
    int status = b && out->scores ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE)
        *b = (batch){.by = by, .jobs = jobs, .out = out};
    for (size_t i = 0; i < of->shelf.n && status == CLI_DONE; i++)
        for (size_t k = 0; k < of->shelf.records[i].collection.n_subsets && status == CLI_DONE;
             k++) {
            const sis_record *r = &of->shelf.records[i];
            double *row = NULL;
            size_t n = 0;
            status = encode(by, r, &r->collection.subsets[k], &row, &n);
            b->rows[b->n] = row;
            b->of[b->n] = r;
            b->inputs[b->n++] = (sis_input){.values = row, .n_values = n, .name = r->id};
            if (status == CLI_DONE && b->n == BATCH)
                status = score_batch(b);
        }
    if (status == CLI_DONE)
        status = score_batch(b);
    while (b && b->n > 0)
        free(b->rows[--b->n]);
    free(b);
    return status == CLI_DONE ? count_sufficient(by, out) : status;
}
