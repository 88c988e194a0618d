/* SPDX-License-Identifier: MIT
 *
 * Attention in which one token asks, as in the last layer of a network that reads its first token. Keys and
 * values of all tokens are made for it alone, by products; but a score is q . (W x) = (q W) . x, and
 * a sum of values is W times a sum of x. So the query is multiplied instead, and what was
 * seen: per head, not per token. All heads of a row ask at once, as queries of one attention over x.
 *
 * It rounds otherwise than the operators do, so only plans that may (`loose`) have it.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/ops.h"
#include "net/plan/fuse.h"

typedef struct {
    sis__fused_attention a;
    size_t rows, heads, d; /* a.total is rows * heads; x is (rows, a.n, d) */
    float *keys;           /* (heads, k, d) */
    float *values;         /* (heads, d, v) */
    float *bias;           /* (heads, v) of values; that of keys changes no weight */
} query;

enum { X = 1, FIRST_MAP }; /* inputs: queries, x, then maps */

/* Floats of a run: queries, what they see, a result, and the attention's own. */
static size_t room_of(const query *e) {
    return 2 * e->heads * e->d + e->a.v + e->a.k +
           sis__attention_room(sis__kernels_best(), e->a.n, e->d, e->d);
}

/* y (n) = sum of by[i] * row i of w (count, n). */
static void add_up(const float **list, const float *w, const float *by, size_t count, size_t n,
                   float *y) {
    for (size_t i = 0; i < count; i++)
        list[i] = w + i * n;
    sis__kernels_best()->blend(list, by, count, n, y);
}

/* Steps on scores of a row; 0: no token can be seen. */
static int point_steps(const query *e, const sis__step *s, const sis__run *r, size_t row,
                       sis__score_step *steps) {
    size_t input = FIRST_MAP;
    int seen = 1;
    memcpy(steps, e->a.steps, sizeof e->a.steps);
    for (size_t t = 0; t < e->a.n_steps; t++) {
        steps[t].row = 0;
        if (!e->a.maps[t])
            continue;
        steps[t].map = sis__in(s, r, input++) + e->a.maps[t][row * e->heads];
        int some = 0;
        for (size_t k = 0; k < e->a.n; k++)
            some |= steps[t].map[k * steps[t].col] > -INFINITY;
        seen &= some;
    }
    return seen;
}

/* Queries of all heads of a row, times the weights of keys. */
static void turn_queries(const query *e, const float *q, size_t row, const float **list, float *one,
                         float *to) {
    for (size_t h = 0; h < e->heads; h++) {
        const float *from = q + e->a.stacks[SIS__QUERIES].at[row * e->heads + h];
        for (size_t c = 0; c < e->a.k; c++)
            one[c] = from[c * e->a.stacks[SIS__QUERIES].col];
        add_up(list, e->keys + h * e->a.k * e->d, one, e->a.k, e->d, to + h * e->d);
    }
}

/* What heads have seen of x, times the weights of values. */
static void turn_sums(const query *e, const float *sums, int seen, size_t row, const float **list,
                      float *one, float *y) {
    for (size_t h = 0; h < e->heads; h++) {
        float *to = y + e->a.y.at[row * e->heads + h];
        add_up(list, e->values + h * e->d * e->a.v, sums + h * e->d, e->d, e->a.v, one);
        for (size_t c = 0; c < e->a.v; c++)
            to[c * e->a.y.col] = one[c] + (seen ? e->bias[h * e->a.v + c] : 0);
    }
}

static int query_forward(const sis__step *s, sis__run *r) {
    const query *e = (const query *)s->p.own;
    float *queries = (float *)(void *)r->scratch, *sums = queries + e->heads * e->d;
    float *one = sums + e->heads * e->d, *room = one + e->a.v + e->a.k;
    const float **list =
        (const float **)(void *)(r->scratch + (room_of(e) * sizeof(float) + 63) / 64 * 64);
    for (size_t row = 0; row < e->rows; row++) {
        sis__score_step steps[SIS__SCORE_STEPS];
        const float *x = sis__in(s, r, X) + row * e->a.n * e->d;
        int seen = point_steps(e, s, r, row, steps);
        turn_queries(e, sis__in(s, r, 0), row, list, one, queries);
        sis__kernels_best()->attention(&(sis__attention){.m = e->heads,
                                                         .n = e->a.n,
                                                         .k = e->d,
                                                         .v = e->d,
                                                         .q = {queries, e->d, 1},
                                                         .keys = {x, e->d, 1},
                                                         .values = {x, e->d, 1},
                                                         .steps = steps,
                                                         .n_steps = e->a.n_steps,
                                                         .y = sums,
                                                         .y_row = e->d,
                                                         .y_col = 1,
                                                         .room = room});
        turn_sums(e, sums, seen, row, list, one, sis__out(s, r, 0));
    }
    return SIS_OK;
}

static const sis__op query_op = {.forward = query_forward, .trait = SIS__MIXES};

/* ---- Finding it -------------------------------------------------------------------------------- */

/* The product of all tokens with constant weights that makes keys or values, for nobody else. */
static const sis__step *maker_of(const sis__fuser *f, const sis__step *s, size_t input) {
    int t = s->inputs[input];
    const sis__step *m = sis__fuser_maker(f, t, SIS__OP_MATMUL);
    const sis__tensor *w = m ? &f->p->tensors[m->inputs[1]] : NULL;
    int uses = s->inputs[SIS__KEYS] == s->inputs[SIS__VALUES] ? 2 : 1;
    return m && m->p.gemm.tokens && !m->p.gemm.stacks && f->reads[t] == uses && w->data &&
                   w->rank == 2 && w->dtype == SIS__F32 && m->p.gemm.k == w->dims[0] &&
                   m->p.gemm.n == w->dims[1]
               ? m
               : NULL;
}

/* Do heads of every row lie in the columns of a product of `width`, at the same ones, token after token? */
static int in_columns(const query *e, const sis__stack *k, size_t token, size_t number, size_t last,
                      size_t width) {
    int fits = token == width;
    for (size_t i = 0; i < e->a.total && fits; i++) {
        size_t row = i / e->heads, column = k->at[i] % width;
        fits = k->at[i] / width == row * e->a.n && column + last * number < width &&
               column == k->at[i % e->heads] % width;
    }
    return fits;
}

/* Are there no maps but of keys, the same for all heads, that are added? */
static int same_for_heads(const query *e) {
    for (size_t t = 0; t < e->a.n_steps; t++) {
        if (e->a.steps[t].how == SIS__SCORES_HIDE)
            return 0;
        for (size_t i = 0; e->a.maps[t] && i < e->a.total; i++)
            if (e->a.maps[t][i] != e->a.maps[t][i / e->heads * e->heads])
                return 0;
    }
    return 1;
}

/* Weights (d, width) of the heads' columns. */
static int take_weights(const sis__fuser *f, query *e, const sis__step *k, const sis__step *v) {
    const sis__stack *keys = &e->a.stacks[SIS__KEYS], *values = &e->a.stacks[SIS__VALUES];
    const float *wk = (const float *)f->p->tensors[k->inputs[1]].data;
    const float *wv = (const float *)f->p->tensors[v->inputs[1]].data;
    const float *bias = v->n_inputs > 2 ? (const float *)f->p->tensors[v->inputs[2]].data : NULL;
    size_t nk = k->p.gemm.n, nv = v->p.gemm.n, d = e->d;
    e->keys = (float *)sis__fuser_own(f, e->heads * e->a.k, d * sizeof *e->keys);
    e->values = (float *)sis__fuser_own(f, e->heads * d, e->a.v * sizeof *e->values);
    e->bias = (float *)sis__fuser_own(f, e->heads, e->a.v * sizeof *e->bias);
    if (!e->keys || !e->values || !e->bias)
        return SIS_E_NOMEM;
    for (size_t h = 0; h < e->heads; h++) {
        for (size_t c = 0; c < e->a.k; c++)
            for (size_t i = 0; i < d; i++)
                e->keys[(h * e->a.k + c) * d + i] = wk[i * nk + keys->at[h] % nk + c * keys->row];
        for (size_t c = 0; c < e->a.v; c++) {
            size_t column = values->at[h] % nv + c * values->col;
            for (size_t i = 0; i < d; i++)
                e->values[(h * d + i) * e->a.v + c] = wv[i * nv + column];
            e->bias[h * e->a.v + c] = bias ? bias[column] : 0;
        }
    }
    return SIS_OK;
}

/* Products of all tokens against those of heads. */
static int pays(const query *e) {
    return e->a.n > 1 && 4 * e->heads <= e->d && e->d <= e->a.n * (e->a.k + e->a.v);
}

static int put(const sis__fuser *f, sis__step *s, const query *e, int x) {
    query *kept = (query *)sis__fuser_own(f, 1, sizeof *kept);
    int inputs[FIRST_MAP + SIS__SCORE_STEPS] = {s->inputs[SIS__QUERIES], x};
    size_t n = FIRST_MAP, longest = e->d > e->a.k ? e->d : e->a.k;
    if (!kept)
        return SIS_E_NOMEM;
    *kept = *e;
    for (size_t i = SIS__FIRST_MAP; i < s->n_inputs; i++)
        inputs[n++] = s->inputs[i];
    s->ops = &query_op;
    s->p.own = kept;
    s->scratch = room_of(e) * sizeof(float) + 64 + longest * sizeof(float *);
    s->flops = 4.0 * (double)(e->a.total * e->d) * (double)(e->a.n + e->a.k + e->a.v);
    return sis__fuser_set_inputs(f, s, inputs, n);
}

int sis__fuse_query(const sis__fuser *f, sis__step *s) {
    const sis__fused_attention *a = sis__fused_attention_of(s);
    const sis__step *k = a && a->m == 1 ? maker_of(f, s, SIS__KEYS) : NULL;
    const sis__step *v = k ? maker_of(f, s, SIS__VALUES) : NULL;
    if (!v || k->inputs[0] != v->inputs[0])
        return SIS_OK;
    const sis__stack *keys = &a->stacks[SIS__KEYS], *values = &a->stacks[SIS__VALUES];
    query e = {.a = *a, .d = k->p.gemm.k};
    e.rows = f->p->tensors[k->inputs[0]].count / (a->n * e.d);
    e.heads = e.rows ? a->total / e.rows : 0;
    if (e.heads == 0 || e.heads * e.rows != a->total || !pays(&e) || !same_for_heads(&e) ||
        !in_columns(&e, keys, keys->col, keys->row, a->k - 1, k->p.gemm.n) ||
        !in_columns(&e, values, values->row, values->col, a->v - 1, v->p.gemm.n))
        return SIS_OK;
    int error = take_weights(f, &e, k, v);
    return error == SIS_OK ? put(f, s, &e, k->inputs[0]) : error;
}
