/* SPDX-License-Identifier: MIT
 *
 * A shard: up to 32 rows of a batch that run together on one thread, with their own gradients.
 *
 * Rows of text are sorted by length before they are divided into shards, and a shard computes only
 * the positions from `start` on; before it all its rows are padding:
 *
 *     . . . . . . . . . . . . . . . w w w w w
 *     . . . . . . . . . . . w w w w w w w w w
 *     . . . . . . . . . . . . w w w w w w w w
 *                ^ start, a whole number of segments
 *
 * An LSTM begins there with the states after the padding (pad.c). A convolution under a maximum
 * needs one window of pure padding: all others give the same values.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "train/train.h"

/* ---- Plans ----------------------------------------------------------------------------------- */

static int make_plan(const sis_trainer *t, size_t rows, size_t length, sis__plan **out) {
    const sis_net *net = t->weights.net;
    sis__feed feed = {.value = net->input, .rank = 1, .dims = {rows}};
    const sis__value *v = &net->graph.values[net->input];
    if (t->weights.embedding >= 0)
        feed = (sis__feed){.value = net->embedded, .rank = 3, .dims = {rows, length, t->arch.dim}};
    else
        for (size_t d = 1; d < v->rank; d++)
            feed.dims[feed.rank++] = (size_t)v->dims[d];
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->pre_output,
                           .n_outputs = 1,
                           .batch = rows,
                           .gradients = 1,
                           .training = 1,
                           .fed_fixed = t->weights.embedding < 0};
    return sis__plan_new(net, &spec, out);
}

/* The plan for this many rows of a length (0 if not text). Built on first use. */
static int plan_for(sis_trainer *t, size_t rows, size_t length, const sis__plan **plan) {
    sis__shape_plan *p = t->pass.plans;
    while (p && (p->rows != rows || p->length != length))
        p = p->next;
    if (!p) {
        p = SIS_NEW(sis__shape_plan, 1);
        if (!p)
            return SIS_E_NOMEM;
        *p = (sis__shape_plan){.rows = rows, .length = length, .next = t->pass.plans};
        int error = make_plan(t, rows, length, &p->plan);
        if (error) {
            free(p);
            return error;
        }
        t->pass.plans = p;
    }
    *plan = p->plan;
    return SIS_OK;
}

/* ---- Memory ---------------------------------------------------------------------------------- */

void sis__point_grads(const sis_trainer *t, float *d, float **grads) {
    size_t hidden = t->weights.n_state / SIS__STATES;
    for (size_t i = 0; i < t->weights.n_params; i++)
        grads[t->weights.params[i].value] =
            (int)i == t->weights.embedding ? NULL : d + t->weights.params[i].at;
    for (size_t i = 0; t->weights.n_state && i < SIS__STATES; i++)
        grads[t->pass.padding.states[i]] = d + t->weights.n_dense + i * hidden;
}

static int shard_init(const sis_trainer *t, sis__shard *s) {
    s->d = SIS_NEW(float, t->weights.n_dense + t->weights.n_state);
    s->grads = SIS_NEW(float *, t->weights.net->graph.n_values);
    s->losses = SIS_NEW(double, SIS__SHARD_ROWS);
    s->scores = SIS_NEW(double, SIS__SHARD_ROWS * t->arch.outputs);
    if (!s->d || !s->grads || !s->losses || !s->scores)
        return SIS_E_NOMEM;
    sis__point_grads(t, s->d, s->grads);
    return SIS_OK;
}

static void shard_release(sis__shard *s) {
    free(s->d);
    free((void *)s->grads);
    free(s->d_embedded);
    free(s->losses);
    free(s->scores);
}

static int reserve_shards(sis_trainer *t, size_t n) {
    if (n <= t->pass.n_shards)
        return SIS_OK;
    sis__shard *more = (sis__shard *)sis__realloc(t->pass.shards, n, sizeof *more);
    if (!more)
        return SIS_E_NOMEM;
    t->pass.shards = more;
    while (t->pass.n_shards < n) {
        sis__shard *s = &t->pass.shards[t->pass.n_shards];
        *s = (sis__shard){0};
        int error = shard_init(t, s);
        if (error) {
            shard_release(s);
            return error;
        }
        t->pass.n_shards++;
    }
    return SIS_OK;
}

void sis__shards_free(sis_trainer *t) {
    for (size_t i = 0; i < t->pass.n_shards; i++)
        shard_release(&t->pass.shards[i]);
    free(t->pass.shards);
    for (sis__shape_plan *p = t->pass.plans, *next; p; p = next) {
        next = p->next;
        sis__plan_free(p->plan);
        free(p);
    }
}

/* ---- Cutting --------------------------------------------------------------------------------- */

/* Words of a text row: the positions from the first that is not padding. */
static size_t row_words(const float *row, size_t n) {
    size_t i = 0;
    while (i < n && row[i] == 0)
        i++;
    return n - i;
}

typedef struct {
    size_t words, place, row;
} sized;

/* Longest first; among equals in their original order. */
static int by_length(const void *a, const void *b) {
    const sized *x = (const sized *)a, *y = (const sized *)b;
    if (x->words != y->words)
        return x->words > y->words ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

static int sort_rows(const sis_trainer *t, size_t *rows, size_t n) {
    sized *s = SIS_NEW(sized, n);
    if (!s)
        return SIS_E_NOMEM;
    size_t width = t->pass.now->n_values;
    for (size_t i = 0; i < n; i++)
        s[i] = (sized){row_words(t->pass.now->rows + rows[i] * width, width), i, rows[i]};
    qsort(s, n, sizeof *s, by_length);
    for (size_t i = 0; i < n; i++)
        rows[i] = s[i].row;
    free(s);
    return SIS_OK;
}

/* First position to compute if the longest row of the shard has this many words. */
static size_t start_of(const sis_trainer *t, size_t words) {
    size_t need = (words ? words : 1) + t->arch.width, all = t->arch.inputs;
    return need < all ? (all - need) / SIS__SEGMENT * SIS__SEGMENT : 0;
}

static int cut_one(sis_trainer *t, sis__shard *s) {
    size_t width = t->pass.now->n_values;
    s->start = 0;
    if (t->weights.embedding < 0)
        return plan_for(t, s->n, 0, &s->plan);
    if (!t->opt.full_rows) /* the first row is the longest */
        s->start = start_of(t, row_words(t->pass.now->rows + s->rows[0] * width, width));
    return plan_for(t, s->n, width - s->start, &s->plan);
}

int sis__shards_cut(sis_trainer *t, size_t *rows, size_t n, size_t first_row) {
    size_t count = (n + SIS__SHARD_ROWS - 1) / SIS__SHARD_ROWS;
    int error = reserve_shards(t, count);
    if (!error && t->weights.embedding >= 0)
        error = sort_rows(t, rows, n);
    for (size_t i = 0; i < count && !error; i++) {
        sis__shard *s = &t->pass.shards[i];
        size_t from = i * SIS__SHARD_ROWS, rest = n - from;
        s->rows = rows + from;
        s->n = rest < SIS__SHARD_ROWS ? rest : SIS__SHARD_ROWS;
        s->first_row = first_row + from;
        error = cut_one(t, s);
    }
    t->pass.used_shards = error ? 0 : count;
    return error;
}

/* ---- Running --------------------------------------------------------------------------------- */

/* Write the embeddings of the words of one row. */
static void embed(const sis_trainer *t, const sis__shard *s, const float *row, float *to) {
    size_t dim = t->arch.dim;
    const float *matrix = t->weights.params[t->weights.embedding].w;
    for (size_t j = s->start; j < t->pass.now->n_values; j++, to += dim)
        memcpy(to, matrix + (size_t)row[j] * dim, dim * sizeof *to);
}

static void feed(const sis_trainer *t, const sis__shard *s, sis__run *r) {
    size_t width = t->pass.now->n_values, cut = width - s->start;
    float *to =
        (float *)
            r->data[t->weights.embedding >= 0 ? t->weights.net->embedded : t->weights.net->input];
    for (size_t i = 0; i < s->n; i++) {
        const float *row = t->pass.now->rows + s->rows[i] * width;
        if (t->weights.embedding >= 0)
            embed(t, s, row, to + i * cut * t->arch.dim);
        for (size_t j = 0; t->weights.embedding < 0 && j < width; j++)
            to[i * width + j] =
                t->weights.mean ? (row[j] - t->weights.mean[j]) * t->weights.scale[j] : row[j];
    }
    for (size_t i = 0; t->weights.n_state && i < SIS__STATES; i++) {
        size_t hidden = t->weights.n_state / SIS__STATES, segment = s->start / SIS__SEGMENT;
        r->data[t->pass.padding.states[i]] =
            t->pass.padding.at + (segment * SIS__STATES + i) * hidden;
    }
}

/* Compute the loss and scores of every row, and the gradient of the output. */
static void judge(const sis_trainer *t, sis__shard *s, sis__run *r) {
    size_t k = t->arch.outputs, per = t->opt.loss == SIS_LOSS_CROSS_ENTROPY ? 1 : k;
    const float *z = (const float *)r->data[t->weights.net->pre_output];
    float *dz = r->grad[t->weights.net->pre_output];
    for (size_t i = 0; i < s->n; i++) {
        sis__row_loss l = {t->opt.loss, t->arch.plain_output, k, z + i * k,
                           t->pass.now->targets + s->rows[i] * per};
        s->losses[i] = sis__loss(&l, t->pass.loss_scale, t->pass.learning ? dz + i * k : NULL);
        sis__scores(&l, s->scores + i * k);
    }
}

/* Copy the gradient of the embeddings, whose memory the next shard reuses. */
static int keep_embedded(const sis_trainer *t, sis__shard *s, const sis__run *r) {
    size_t n = s->n * (t->pass.now->n_values - s->start) * t->arch.dim;
    if (n > s->cap_embedded) {
        free(s->d_embedded);
        s->d_embedded = SIS_NEW_RAW(float, n);
        s->cap_embedded = s->d_embedded ? n : 0;
        if (!s->d_embedded)
            return SIS_E_NOMEM;
    }
    memcpy(s->d_embedded, r->grad[t->weights.net->embedded], n * sizeof(float));
    return SIS_OK;
}

int sis__shard_run(void *trainer, size_t item, int worker) {
    sis_trainer *t = (sis_trainer *)trainer;
    sis__shard *s = &t->pass.shards[item];
    sis__run *r;
    int error = sis__run_new_in(s->plan, &t->pass.memory[worker], s->grads, &r);
    if (error)
        return error;
    r->dropout = t->pass.learning ? (t->opt.seed + 1) * 0x9e3779b97f4a7c15u + t->at.epoch : 0;
    r->first_row = s->first_row;
    feed(t, s, r);
    error = sis__run_forward(r);
    if (!error)
        judge(t, s, r);
    if (!error && t->pass.learning) {
        memset(s->d, 0, (t->weights.n_dense + t->weights.n_state) * sizeof *s->d);
        error = sis__run_backward(r);
        if (!error && t->weights.embedding >= 0)
            error = keep_embedded(t, s, r);
    }
    sis__run_free(r);
    return error;
}
