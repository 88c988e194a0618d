/* SPDX-License-Identifier: MIT
 *
 * Tokens are numbered twice: token k as it is is *variant* k, masked it is variant n_tokens + k. Tables
 * hold rows for each head of all variants (what its value comes to behind the products), of all places of the
 * present state (what their sums come to), and of the row under way; `near` up to the normalisation,
 * `far` behind the dense layers, whose centred weights take off the mean on the way.
 */
#include "net/walk/attended.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/layer_norm.h"
#include "net/ops/ops.h"
#include "net/plan/fuse.h"

enum { UPS = 4, STEPS = 8 }; /* dense layers behind the normalisation; steps in all */
/* Scores of which the largest is below are those of hidden tokens alone, to which a large number was added: too
 * coarse for sums in another order. Full passes have the last word there, as for all that is NaN. */
static const float least_score = -1000;
static const double most_weight = 0.75; /* a token with more of it is not taken off a sum */

/* Rows of floats. */
typedef struct {
    float *at;
    size_t width, stride;
} table;

/* One of the rows that are made together, token by token: what a token has summed is near then. */
enum { GROUP = 4 };
typedef struct {
    const sis__exchange *c;
    float *fresh;    /* (exchanged, heads, n) weights of what comes in */
    size_t *key_who; /* (n) variants of its keys */
    size_t written;  /* tokens */
    float *const *to;
} candidate;

/* What happens to scores, key by key. */
typedef struct {
    sis__score_step step;
    float *of_key; /* (heads, variants) its map; NULL: the number */
} score_step;

struct sis__attended {
    /* What was found. */
    const sis__step *steps[STEPS + 1];
    size_t n_steps;
    sis__cut *cuts; /* where the head starts; those of the cuts in front first */
    int *axes;
    size_t n_cuts, n_ups;
    int sum_cut, norm_cut, up_cut[UPS]; /* among these; -1: not read */
    size_t *old_at, n_old;              /* (n_old) where cuts in front lie in a row of theirs */
    const float *x, *z;                 /* borrowed: such rows */

    size_t n_tokens, heads, k, v, d, f; /* k, v: of a head; f: columns of all dense layers */
    size_t up_width[UPS];
    float *q, *keys, *values; /* (variants, heads, k or v) */
    score_step score[SIS__SCORE_STEPS];
    size_t n_score;
    sis__layer_norm norm;
    float *scale, *shift;            /* (d) the normalisation's; zeros if it has no shift */
    float *self;                     /* (variants, d) the token itself, and the bias */
    float *self_far;                 /* (variants, f) */
    float *constant;                 /* (f) of the dense layers */
    table near_mix, far_mix;         /* (heads * v) products with values */
    float *near_packed, *far_packed; /* the same, head by head */
    table near, far;                 /* rows: see the top */

    /* The present state. */
    size_t n, *who;     /* (n) variants */
    float *gathered[3]; /* (n, heads, k or v) of them: queries, keys, values */
    float *weight;      /* (heads, n, n) */
    float *top;         /* (heads, n) the largest score */
    double *sum;        /* (heads, n) of weights */
    float *sums;        /* (n, heads, v) */

    /* Rows under way. */
    candidate group[GROUP];
    float *key_weight; /* (n) of one query */
    size_t *rows;      /* (n_rows) of the tables, to be added up */
    float *by;         /* (n_rows) */
    size_t n_rows;
    const float **parts; /* what is added up */
    float *part_by;
    float *joined; /* (v) */
    float *room;   /* (d + f) */
    float *packed;
};

static size_t variants(const sis__attended *t) {
    return 2 * t->n_tokens;
}

static float *row_of(const table *t, size_t i) {
    return t->at + i * t->stride;
}

/* Rows of tables. */
static size_t value_row(const sis__attended *t, size_t variant, size_t head) {
    return variant * t->heads + head;
}

static size_t sum_row(const sis__attended *t, size_t place, size_t head) {
    return (variants(t) + place) * t->heads + head;
}

static size_t spare_row(const sis__attended *t, size_t head) {
    return (variants(t) + t->n_tokens) * t->heads + head;
}

/* ---- What follows the cuts ------------------------------------------------------------------- */

typedef struct {
    const sis__attended_from *from;
    const sis__plan *p;
    sis__attended *t;
    const sis__fused_attention *a;
    const sis__step *attention, *join, *ups[UPS];
    sis__summed_norm norm;
    int norm_out, residual;
} finder;

static void take_step(finder *f, const sis__step *s) {
    f->t->steps[f->t->n_steps++] = s;
}

static int is_inside(const finder *f, const sis__step *s) {
    for (size_t i = 0; i < f->t->n_steps; i++)
        if (f->t->steps[i] == s)
            return 1;
    return 0;
}

/* Which of the cuts a tensor is; SIZE_MAX: none. */
static size_t cut_of(const finder *f, int tensor) {
    for (size_t c = 0; c < f->from->n_cuts; c++)
        if (f->from->cuts[c].value == tensor)
            return c;
    return SIZE_MAX;
}

/* Is it read outside? */
static int is_read(const finder *f, int tensor) {
    for (size_t k = 0; k < f->p->n_steps; k++)
        for (size_t i = 0; i < f->p->steps[k].n_inputs; i++)
            if (f->p->steps[k].inputs[i] == tensor && !is_inside(f, &f->p->steps[k]))
                return 1;
    return f->p->tensors[tensor].wanted;
}

/* A product of all tokens with constant weights, and maybe a bias. */
static int multiplies(const finder *f, const sis__step *s, int input) {
    const sis__tensor *w = s->op == SIS__OP_MATMUL ? &f->p->tensors[s->inputs[1]] : NULL;
    return w && s->p.gemm.tokens && !s->p.gemm.stacks && s->inputs[0] == input && w->data &&
           w->rank == 2 && w->dtype == SIS__F32 && s->p.gemm.m == f->from->n_tokens &&
           s->p.gemm.k == w->dims[0] && s->p.gemm.n == w->dims[1];
}

static const float *weights_of(const finder *f, const sis__step *s, size_t input) {
    return input < s->n_inputs && s->inputs[input] >= 0
               ? (const float *)f->p->tensors[s->inputs[input]].data
               : NULL;
}

/* The first attention, of all tokens to all tokens. */
static int find_attention(finder *f) {
    for (size_t k = 0; k < f->p->n_steps && !f->a; k++)
        if ((f->a = sis__fused_attention_of(&f->p->steps[k])) != NULL)
            f->attention = &f->p->steps[k];
    if (!f->a || f->a->m != f->from->n_tokens || f->a->n != f->from->n_tokens)
        return SIS_E_UNSUPPORTED;
    for (size_t i = 0; i < f->attention->n_inputs; i++)
        if (cut_of(f, f->attention->inputs[i]) == SIZE_MAX)
            return SIS_E_UNSUPPORTED;
    take_step(f, f->attention);
    return SIS_OK;
}

/* The product that joins heads, behind steps that only say otherwise what is where. */
static int find_join(finder *f) {
    int at = f->attention->outputs[0];
    const sis__step *s = sis__plan_reader(f->p, at);
    size_t d = f->a->total * f->a->v;
    for (; s && s->ops->trait == SIS__KEEPS && f->t->n_steps < STEPS / 2;
         s = sis__plan_reader(f->p, at)) {
        take_step(f, s);
        at = s->outputs[0];
    }
    if (!s || !multiplies(f, s, at) || s->p.gemm.k != d || f->a->y.row != d)
        return SIS_E_UNSUPPORTED;
    for (size_t h = 0; h < f->a->total; h++)
        if (f->a->y.at[h] + (f->a->v - 1) * f->a->y.col >= d)
            return SIS_E_UNSUPPORTED;
    f->join = s;
    take_step(f, s);
    return SIS_OK;
}

/* What a step normalises: one tensor or the sum of two. */
static int read_norm(finder *f, const sis__step *s) {
    const sis__layer_norm *l = sis__fused_norm_of(s);
    if (!l)
        return sis__summed_norm_of(f->p, s, &f->norm);
    f->norm = (sis__summed_norm){
        .in = {s->inputs[0], s->n_inputs > 1 ? s->inputs[1] : -1}, .norm = *l, .sum = -1};
    return 1;
}

/* The other one of two that are added; -1: `one` is none of them. */
static int other_of(const int *in, int one) {
    return in[0] == one ? in[1] : in[1] == one ? in[0] : -1;
}

/* The sum of the join and the token itself, normalised: at once, or behind an Add. */
static int find_norm(finder *f) {
    int joined = f->join->outputs[0], sum = joined;
    const sis__step *s = sis__plan_reader(f->p, joined);
    f->residual = -1;
    if (s && s->op == SIS__OP_ADD && s->n_inputs == 2) {
        f->residual = other_of(s->inputs, joined);
        take_step(f, s);
        sum = s->outputs[0];
        s = NULL;
    }
    for (size_t k = 0; k < f->p->n_steps && !s; k++)
        if (f->p->steps[k].n_inputs && f->p->steps[k].inputs[0] == sum &&
            read_norm(f, &f->p->steps[k]))
            s = &f->p->steps[k];
    if (!s || !read_norm(f, s))
        return SIS_E_UNSUPPORTED;
    if (f->residual < 0) {
        f->residual = other_of(f->norm.in, joined);
        sum = f->norm.sum;
    } else if (f->norm.in[1] >= 0) {
        return SIS_E_UNSUPPORTED;
    }
    f->norm.sum = sum;
    f->norm_out = s->outputs[0];
    take_step(f, s);
    return f->residual >= 0 && f->norm.norm.n == f->join->p.gemm.n ? SIS_OK : SIS_E_UNSUPPORTED;
}

/* Dense layers that read it. */
static int find_ups(finder *f) {
    for (size_t k = 0; k < f->p->n_steps && f->t->n_ups < UPS && f->t->n_steps < STEPS; k++)
        if (f->p->steps[k].n_inputs && multiplies(f, &f->p->steps[k], f->norm_out)) {
            f->ups[f->t->n_ups++] = &f->p->steps[k];
            take_step(f, &f->p->steps[k]);
        }
    return f->t->n_ups ? SIS_OK : SIS_E_UNSUPPORTED;
}

/* ---- Where the head starts ----------------------------------------------------------------------- */

/* A cut behind the attention, one row a token; its number, or -1 if nobody asks for it. */
static int add_cut(finder *f, int tensor, size_t width, int *error) {
    sis__attended *t = f->t;
    if (tensor < 0 || !is_read(f, tensor))
        return -1;
    const sis__tensor *like = &f->from->shapes->tensors[tensor];
    if (!like->known || like->rank != 3 || like->dims[0] != 1 ||
        like->dims[1] != f->from->n_tokens || like->dims[2] != width || like->dtype != SIS__F32)
        *error = SIS_E_UNSUPPORTED;
    t->cuts[t->n_cuts] = (sis__cut){tensor, like};
    t->axes[t->n_cuts] = 1;
    return (int)t->n_cuts++;
}

/* Cuts in front that others read, too, and what follows. */
static int find_cuts(finder *f) {
    sis__attended *t = f->t;
    const sis__attended_from *from = f->from;
    size_t most = from->n_cuts + 2 + UPS, at = 0;
    int error = SIS_OK;
    t->cuts = SIS_NEW(sis__cut, most);
    t->axes = SIS_NEW(int, most);
    t->old_at = SIS_NEW(size_t, from->n_cuts);
    if (!t->cuts || !t->axes || !t->old_at)
        return SIS_E_NOMEM;
    for (size_t c = 0; c < from->n_cuts; at += from->cuts[c++].like->count)
        if (is_read(f, from->cuts[c].value)) {
            t->axes[t->n_cuts] = from->axes[c];
            t->old_at[t->n_cuts] = at;
            t->cuts[t->n_cuts++] = from->cuts[c];
        }
    t->n_old = t->n_cuts;
    t->sum_cut = add_cut(f, f->norm.sum, f->norm.norm.n, &error);
    t->norm_cut = add_cut(f, f->norm_out, f->norm.norm.n, &error);
    for (size_t u = 0; u < t->n_ups; u++) {
        t->up_width[u] = f->ups[u]->p.gemm.n;
        t->up_cut[u] = add_cut(f, f->ups[u]->outputs[0], t->up_width[u], &error);
        t->f += t->up_width[u];
    }
    return error;
}

/* ---- Tokens ------------------------------------------------------------------------------------- */

/* Where a cut lies in a row of all. */
static size_t place_of(const sis__attended_from *from, size_t cut) {
    size_t at = 0;
    for (size_t c = 0; c < cut; c++)
        at += from->cuts[c].like->count;
    return at;
}

/* (variants, heads, width) of one input of the attention, whose tokens and numbers lie so far apart. */
static int read_heads(const finder *f, size_t input, size_t token, size_t number, size_t width,
                      float **out) {
    const sis__attended *t = f->t;
    const size_t *at = f->a->stacks[input].at;
    size_t from = place_of(f->from, cut_of(f, f->attention->inputs[input]));
    float *to = *out = (float *)sis__alloc_raw(variants(t) * t->heads, width * sizeof *to);
    if (!to)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < variants(t); i++)
        for (size_t h = 0; h < t->heads; h++)
            for (size_t c = 0; c < width; c++)
                *to++ = (i < t->n_tokens
                             ? f->from->x
                             : f->from->z)[from + at[h] + i % t->n_tokens * token + c * number];
    return SIS_OK;
}

/* A step on scores that depends on the key alone. */
static int read_score_step(const finder *f, size_t s, size_t *input) {
    sis__attended *t = f->t;
    score_step *to = &t->score[t->n_score++];
    to->step = f->a->steps[s];
    if (!f->a->maps[s])
        return SIS_OK;
    size_t from = place_of(f->from, cut_of(f, f->attention->inputs[(*input)++]));
    if (to->step.row != 0)
        return SIS_E_UNSUPPORTED;
    to->of_key = (float *)sis__alloc_raw(t->heads, variants(t) * sizeof(float));
    for (size_t h = 0; to->of_key && h < t->heads; h++)
        for (size_t i = 0; i < variants(t); i++)
            to->of_key[h * variants(t) + i] =
                (i < t->n_tokens
                     ? f->from->x
                     : f->from->z)[from + f->a->maps[s][h] + i % t->n_tokens * to->step.col];
    return to->of_key ? SIS_OK : SIS_E_NOMEM;
}

static int read_tokens(finder *f) {
    sis__attended *t = f->t;
    const sis__stack *k = f->a->stacks;
    size_t input = SIS__FIRST_MAP;
    int error = read_heads(f, SIS__QUERIES, k[0].row, k[0].col, t->k, &t->q);
    if (error == SIS_OK)
        error = read_heads(f, SIS__KEYS, k[1].col, k[1].row, t->k, &t->keys);
    if (error == SIS_OK)
        error = read_heads(f, SIS__VALUES, k[2].row, k[2].col, t->v, &t->values);
    for (size_t s = 0; s < f->a->n_steps && error == SIS_OK; s++)
        error = read_score_step(f, s, &input);
    return error;
}

/* The token itself, with all that is added to every one. */
static int read_self(const finder *f) {
    sis__attended *t = f->t;
    size_t cut = cut_of(f, f->residual);
    const sis__tensor *like = cut < f->from->n_cuts ? f->from->cuts[cut].like : NULL;
    if (!like || like->rank != 3 || like->dims[1] != t->n_tokens || like->dims[2] != t->d ||
        f->from->axes[cut] != 1 || like->dtype != SIS__F32)
        return SIS_E_UNSUPPORTED;
    const float *bias = weights_of(f, f->join, 2);
    size_t at = place_of(f->from, cut);
    t->self = (float *)sis__alloc_raw(variants(t), t->d * sizeof *t->self);
    for (size_t i = 0; t->self && i < variants(t); i++)
        for (size_t c = 0; c < t->d; c++)
            t->self[i * t->d + c] =
                (i < t->n_tokens ? f->from->x : f->from->z)[at + i % t->n_tokens * t->d + c] +
                (bias ? bias[c] : 0) + (f->norm.extra ? f->norm.extra[c] : 0);
    return t->self ? SIS_OK : SIS_E_NOMEM;
}

/* ---- Tables -------------------------------------------------------------------------------------- */

static int table_new(table *t, size_t rows, size_t width) {
    size_t stride = width + 16; /* not a power of two: rows are read side by side */
    *t = (table){(float *)sis__alloc(rows, stride * sizeof(float)), width, stride};
    return t->at ? SIS_OK : SIS_E_NOMEM;
}

/* c (m, n) = a (m, k), rows lda apart, . packed; rows of c ldc apart. */
typedef struct {
    size_t m, n, k;
    const float *a;
    size_t lda;
    const float *packed;
    float *c;
    size_t ldc;
} product;

static void multiply(const product *p) {
    for (size_t i = 0; i < p->m; i++)
        memset(p->c + i * p->ldc, 0, p->n * sizeof *p->c);
    sis__kernels_best()->gemm(p->m, p->n, p->k, p->a, p->lda, 1, p->packed, p->c, p->ldc);
}

static float *pack(size_t k, size_t n, const float *b) {
    const sis__kernels *kn = sis__kernels_best();
    float *packed = SIS_NEW_RAW(float, sis__packed_size(kn, k, n));
    if (packed)
        sis__pack(kn, k, n, b, n, 1, packed);
    return packed;
}

/* Column j of dense layer u, whose weights are times the normalisation's scale and centred, into column
 * `to` of w (d, f); and what does not depend on the token. */
static void centre_column(const finder *f, size_t u, size_t j, size_t to, float *w) {
    const sis__attended *t = f->t;
    const float *from = weights_of(f, f->ups[u], 1), *bias = weights_of(f, f->ups[u], 2);
    size_t n = t->up_width[u];
    double mean = 0, constant = bias ? bias[j] : 0;
    for (size_t i = 0; i < t->d; i++) {
        mean += (double)t->norm.scale[i] * from[i * n + j] / (double)t->d;
        constant += (double)t->norm.shift[i] * from[i * n + j];
    }
    for (size_t i = 0; i < t->d; i++)
        w[i * t->f + to] = (float)((double)t->norm.scale[i] * from[i * n + j] - mean);
    t->constant[to] = (float)constant;
}

/* What values and tokens are multiplied with. */
static int make_mixes(const finder *f) {
    sis__attended *t = f->t;
    size_t d = t->d, inner = t->heads * t->v, column = 0;
    const float *join = weights_of(f, f->join, 1);
    float *w = (float *)sis__alloc_raw(d, t->f * sizeof *w), *packed = NULL;
    t->constant = SIS_NEW(float, t->f);
    t->self_far = (float *)sis__alloc_raw(variants(t), t->f * sizeof(float));
    int error = w && t->constant && t->self_far ? table_new(&t->near_mix, inner, d) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = table_new(&t->far_mix, inner, t->f);
    for (size_t h = 0; error == SIS_OK && h < t->heads; h++)
        for (size_t c = 0; c < t->v; c++)
            memcpy(row_of(&t->near_mix, h * t->v + c), join + (f->a->y.at[h] + c * f->a->y.col) * d,
                   d * sizeof *join);
    for (size_t u = 0; error == SIS_OK && u < t->n_ups; u++)
        for (size_t j = 0; j < t->up_width[u]; j++)
            centre_column(f, u, j, column++, w);
    if (error == SIS_OK && !(packed = pack(d, t->f, w)))
        error = SIS_E_NOMEM;
    if (error == SIS_OK) {
        multiply(&(product){inner, t->f, d, t->near_mix.at, t->near_mix.stride, packed,
                            t->far_mix.at, t->far_mix.stride});
        multiply(&(product){variants(t), t->f, d, t->self, d, packed, t->self_far, t->f});
    }
    free(w);
    free(packed);
    return error;
}

/* Rows of both tables for n tokens, whose heads lie in `values`, from that row on. */
static void multiply_heads(sis__attended *t, const float *values, size_t n, size_t row) {
    const sis__kernels *kn = sis__kernels_best();
    size_t near = sis__packed_size(kn, t->v, t->d), far = sis__packed_size(kn, t->v, t->f);
    for (size_t h = 0; h < t->heads; h++) {
        const float *a = values + h * t->v;
        size_t lda = t->heads * t->v;
        multiply(&(product){n, t->d, t->v, a, lda, t->near_packed + h * near,
                            row_of(&t->near, row + h), t->heads * t->near.stride});
        multiply(&(product){n, t->f, t->v, a, lda, t->far_packed + h * far,
                            row_of(&t->far, row + h), t->heads * t->far.stride});
    }
}

static int make_tables(sis__attended *t) {
    const sis__kernels *kn = sis__kernels_best();
    size_t rows = spare_row(t, t->heads);
    size_t near = sis__packed_size(kn, t->v, t->d), far = sis__packed_size(kn, t->v, t->f);
    t->near_packed = (float *)sis__alloc_raw(t->heads, near * sizeof(float));
    t->far_packed = (float *)sis__alloc_raw(t->heads, far * sizeof(float));
    int error = t->near_packed && t->far_packed ? table_new(&t->near, rows, t->d) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = table_new(&t->far, rows, t->f);
    for (size_t h = 0; error == SIS_OK && h < t->heads; h++) {
        sis__pack(kn, t->v, t->d, row_of(&t->near_mix, h * t->v), t->near_mix.stride, 1,
                  t->near_packed + h * near);
        sis__pack(kn, t->v, t->f, row_of(&t->far_mix, h * t->v), t->far_mix.stride, 1,
                  t->far_packed + h * far);
    }
    if (error == SIS_OK)
        multiply_heads(t, t->values, variants(t), 0);
    return error;
}

size_t sis__attended_most(const sis__attended *t) {
    return t->d / (4 * t->heads);
}

/* Memory of the present state. */
static int make_state(sis__attended *t) {
    const sis__kernels *kn = sis__kernels_best();
    size_t n = t->n_tokens, wide = t->k > t->v ? t->k : t->v;
    size_t keys = sis__packed_size(kn, t->k, n), values = sis__packed_size(kn, n, t->v);
    t->who = SIS_NEW(size_t, n);
    for (int i = 0; i < 3; i++)
        t->gathered[i] = (float *)sis__alloc_raw(n * t->heads, wide * sizeof(float));
    t->weight = (float *)sis__alloc_raw(t->heads * n, n * sizeof(float));
    t->top = SIS_NEW_RAW(float, t->heads *n);
    t->sum = SIS_NEW_RAW(double, t->heads *n);
    t->sums = (float *)sis__alloc_raw(n * t->heads, t->v * sizeof(float));
    t->packed = SIS_NEW_RAW(float, keys > values ? keys : values);
    return t->who && t->gathered[0] && t->gathered[1] && t->gathered[2] && t->weight && t->top &&
                   t->sum && t->sums && t->packed
               ? SIS_OK
               : SIS_E_NOMEM;
}

/* Memory of a row. */
static int make_room(sis__attended *t) {
    size_t n = t->n_tokens, most = sis__attended_most(t), rows = t->heads * (1 + 2 * most);
    size_t parts = 2 + rows + n + t->v; /* more than are added up at once */
    int there = 1;
    for (int g = 0; g < GROUP; g++) {
        t->group[g].fresh = (float *)sis__alloc_raw(most * t->heads, n * sizeof(float));
        t->group[g].key_who = SIS_NEW(size_t, n);
        there &= t->group[g].fresh && t->group[g].key_who;
    }
    t->key_weight = SIS_NEW(float, n);
    t->rows = SIS_NEW(size_t, rows);
    t->by = SIS_NEW(float, rows);
    t->parts = (const float **)sis__alloc(parts, sizeof *t->parts);
    t->part_by = SIS_NEW(float, parts);
    t->joined = SIS_NEW(float, t->v);
    t->room = SIS_NEW(float, t->d + t->f);
    return there && t->key_weight && t->rows && t->by && t->parts && t->part_by && t->joined &&
                   t->room
               ? SIS_OK
               : SIS_E_NOMEM;
}

/* ---- Making ----------------------------------------------------------------------------------------- */

/* Products saved must be more than rows added, and tables have their place. */
static int pays(const sis__attended *t, size_t memory) {
    double rows = (double)(3 * t->n_tokens + 1) * (double)t->heads;
    return sis__attended_most(t) >= 1 && rows * (double)(t->d + t->f) * 4 < (double)memory / 4;
}

static int find_all(finder *f) {
    int error = find_attention(f);
    if (error == SIS_OK)
        error = find_join(f);
    if (error == SIS_OK)
        error = find_norm(f);
    if (error == SIS_OK)
        error = find_ups(f);
    return error == SIS_OK ? find_cuts(f) : error;
}

static int fill(finder *f) {
    sis__attended *t = f->t;
    t->n_tokens = f->from->n_tokens;
    t->heads = f->a->total;
    t->k = f->a->k;
    t->v = f->a->v;
    t->norm = f->norm.norm;
    t->d = t->norm.n;
    if (!pays(t, f->from->memory))
        return SIS_E_UNSUPPORTED;
    t->shift = t->norm.shift ? (float *)sis__copy(t->norm.shift, t->d, sizeof *t->shift)
                             : SIS_NEW(float, t->d);
    t->scale = (float *)sis__copy(t->norm.scale, t->d, sizeof *t->scale);
    t->norm.scale = t->scale;
    t->norm.shift = t->shift;
    int error = t->scale && t->shift ? read_tokens(f) : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = read_self(f);
    if (error == SIS_OK)
        error = make_mixes(f);
    if (error == SIS_OK)
        error = make_tables(t);
    if (error == SIS_OK)
        error = make_state(t);
    return error == SIS_OK ? make_room(t) : error;
}

int sis__attended_new(const sis__attended_from *from, sis__attended **out) {
    sis__attended *t = SIS_NEW(sis__attended, 1);
    finder f = {.from = from, .p = from->head, .t = t};
    int error = t ? SIS_OK : SIS_E_NOMEM;
    if (t) {
        t->x = from->x;
        t->z = from->z;
        error = find_all(&f);
    }
    if (error == SIS_OK)
        error = fill(&f);
    if (error != SIS_OK) {
        sis__attended_free(t);
        t = NULL;
    }
    *out = t;
    return error;
}

void sis__attended_free(sis__attended *t) {
    if (!t)
        return;
    for (size_t i = 0; i < t->n_score; i++)
        free(t->score[i].of_key);
    for (int i = 0; i < 3; i++)
        free(t->gathered[i]);
    free(t->cuts);
    free(t->axes);
    free(t->old_at);
    free(t->q);
    free(t->keys);
    free(t->values);
    free(t->self);
    free(t->self_far);
    free(t->constant);
    free(t->near_mix.at);
    free(t->far_mix.at);
    free(t->near_packed);
    free(t->far_packed);
    free(t->near.at);
    free(t->far.at);
    free(t->who);
    free(t->weight);
    free(t->top);
    free(t->sum);
    free(t->sums);
    for (int g = 0; g < GROUP; g++) {
        free(t->group[g].fresh);
        free(t->group[g].key_who);
    }
    free(t->room);
    free(t->packed);
    free(t->scale);
    free(t->shift);
    free(t->key_weight);
    free(t->rows);
    free(t->by);
    free((void *)t->parts);
    free(t->part_by);
    free(t->joined);
    free(t);
}

size_t sis__attended_cuts(const sis__attended *t, const sis__cut **cuts, const int **axes) {
    *cuts = t->cuts;
    *axes = t->axes;
    return t->n_cuts;
}

const sis__step *sis__attended_step(const sis__attended *t, size_t i) {
    return t->steps[i];
}

/* ---- The present state --------------------------------------------------------------------------- */

/* A score of a key, of that variant, as the softmax sees it. */
static float score_of(const sis__attended *t, size_t head, size_t variant, float s) {
    for (size_t i = 0; i < t->n_score; i++) {
        const score_step *e = &t->score[i];
        float by = e->of_key ? e->of_key[head * variants(t) + variant] : e->step.number;
        switch (e->step.how) {
        case SIS__SCORES_TIMES:
            s *= by;
            break;
        case SIS__SCORES_OVER:
            s /= by;
            break;
        case SIS__SCORES_PLUS:
            s += by;
            break;
        case SIS__SCORES_HIDE:
            s = by != 0 ? e->step.number : s;
        }
    }
    return s;
}

/* Scores of n keys become weights: e^(score - the largest). Their sum; 0 if nothing is seen. */
static double weigh(float *s, size_t n, float *top) {
    double sum = 0;
    *top = sis__kernels_best()->max_of(s, n);
    for (size_t k = 0; k < n; k++)
        s[k] = isinf(*top) && *top < 0 ? -INFINITY : s[k] - *top;
    sis__kernels_best()->exp(s, s, n);
    for (size_t k = 0; k < n; k++)
        sum += (double)s[k];
    return sum;
}

static void gather(sis__attended *t) {
    const float *from[] = {t->q, t->keys, t->values};
    const size_t width[] = {t->heads * t->k, t->heads * t->k, t->heads * t->v};
    for (int a = 0; a < 3; a++)
        for (size_t i = 0; i < t->n; i++)
            memcpy(t->gathered[a] + i * width[a], from[a] + t->who[i] * width[a],
                   width[a] * sizeof(float));
}

/* Weights and sums of one head. */
static void attend(sis__attended *t, size_t h) {
    const sis__kernels *kn = sis__kernels_best();
    size_t n = t->n, wide = t->heads * t->k, all = t->heads * t->v;
    float *weight = t->weight + h * n * n;
    sis__pack(kn, t->k, n, t->gathered[1] + h * t->k, 1, wide, t->packed);
    multiply(&(product){n, n, t->k, t->gathered[0] + h * t->k, wide, t->packed, weight, n});
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < n; k++)
            weight[i * n + k] = score_of(t, h, t->who[k], weight[i * n + k]);
        t->sum[h * n + i] = weigh(weight + i * n, n, &t->top[h * n + i]);
    }
    sis__pack(kn, n, t->v, t->gathered[2] + h * t->v, all, 1, t->packed);
    multiply(&(product){n, t->v, n, weight, n, t->packed, t->sums + h * t->v, all});
}

void sis__attended_enter(sis__attended *t, const size_t *tokens, size_t n,
                         const unsigned char *masked) {
    t->n = n;
    for (size_t i = 0; i < n; i++)
        t->who[i] = tokens[i] + (masked[tokens[i]] ? t->n_tokens : 0);
    gather(t);
    for (size_t h = 0; h < t->heads; h++)
        attend(t, h);
    multiply_heads(t, t->sums, n, sum_row(t, 0, 0));
}

/* ---- A candidate ----------------------------------------------------------------------------------- */

/* The variant of a place that is masked. */
static size_t masked_variant(const sis__attended *t, size_t place) {
    return t->who[place] % t->n_tokens + t->n_tokens;
}

static size_t find_place(const sis__exchange *c, size_t place) {
    size_t i = 0;
    while (i < c->n && c->places[i] != place)
        i++;
    return i;
}

static float dot(const float *a, const float *b, size_t n) {
    float sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Weights that all tokens give to what comes in. */
static void weigh_fresh(const sis__attended *t, const candidate *g) {
    size_t n = t->n, wide = t->heads * t->k;
    for (size_t s = 0; s < g->c->n && !g->c->leaves; s++)
        for (size_t h = 0; h < t->heads; h++) {
            size_t variant = masked_variant(t, g->c->places[s]);
            float *to = g->fresh + (s * t->heads + h) * n;
            for (size_t i = 0; i < n; i++)
                to[i] = score_of(t, h, variant,
                                 dot(t->gathered[0] + i * wide + h * t->k,
                                     t->keys + variant * wide + h * t->k, t->k)) -
                        t->top[h * n + i];
            sis__kernels_best()->exp(to, to, n);
        }
}

static void add_row(sis__attended *t, size_t row, double by) {
    t->rows[t->n_rows] = row;
    t->by[t->n_rows++] = (float)by;
}

/* y (n) = sum of by[i] times row i of those at `parts`. */
static void add_parts(sis__attended *t, size_t count, size_t n, float *y) {
    sis__kernels_best()->blend(t->parts, t->part_by, count, n, y);
}

/* All keys anew, with these weights: what they come to is the spare row of a head, which is added. */
static void add_anew(sis__attended *t, const candidate *g, size_t h, double total) {
    table *tables[] = {&t->near, &t->far}, *mixes[] = {&t->near_mix, &t->far_mix};
    for (size_t k = 0; k < t->n; k++) {
        t->parts[k] = t->values + (g->key_who[k] * t->heads + h) * t->v;
        t->part_by[k] = t->key_weight[k];
    }
    add_parts(t, t->n, t->v, t->joined);
    for (int i = 0; i < 2; i++) {
        for (size_t c = 0; c < t->v; c++) {
            t->parts[c] = row_of(mixes[i], h * t->v + c);
            t->part_by[c] = t->joined[c];
        }
        add_parts(t, t->v, tables[i]->width, row_of(tables[i], spare_row(t, h)));
    }
    add_row(t, spare_row(t, h), 1 / total);
}

/* Weight of what comes in at exchange s, for place i in head h. */
static float fresh_of(const sis__attended *t, const candidate *g, size_t s, size_t h, size_t i) {
    return g->c->leaves ? 0 : g->fresh[(s * t->heads + h) * t->n + i];
}

/* Head h of a query with nothing taken from the present state: its weights for the candidate's keys, and what they
 * come to. */
static void add_head_anew(sis__attended *t, const candidate *g, size_t h, size_t query) {
    size_t wide = t->heads * t->k;
    float top;
    for (size_t k = 0; k < t->n; k++)
        t->key_weight[k] = score_of(
            t, h, g->key_who[k],
            dot(t->q + query * wide + h * t->k, t->keys + g->key_who[k] * wide + h * t->k, t->k));
    if (g->c->leaves)
        t->key_weight[g->c->places[0]] = -INFINITY;
    double total = weigh(t->key_weight, t->n, &top);
    add_anew(t, g, h, top > least_score ? total : NAN);
}

/* Head h of place i, which stays as it is: what goes is taken off, what comes is added. */
static void add_head(sis__attended *t, const candidate *g, size_t h, size_t i) {
    const float *weight = t->weight + (h * t->n + i) * t->n;
    const sis__exchange *c = g->c;
    double sum = t->sum[h * t->n + i], total = sum;
    for (size_t s = 0; s < c->n; s++)
        total += (double)fresh_of(t, g, s, h, i) - (double)weight[c->places[s]];
    if (!(total >= (1 - most_weight) * sum) || !(t->top[h * t->n + i] > least_score)) {
        add_head_anew(t, g, h, t->who[i]);
        return;
    }
    add_row(t, sum_row(t, i, h), 1 / total);
    for (size_t s = 0; s < c->n; s++) {
        size_t place = c->places[s];
        add_row(t, value_row(t, t->who[place], h), -(double)weight[place] / total);
        if (!c->leaves)
            add_row(t, value_row(t, masked_variant(t, place), h),
                    (double)fresh_of(t, g, s, h, i) / total);
    }
}

/* The rows that were gathered, times a factor, behind those that stand at `parts` already. */
static void put_rows(sis__attended *t, const table *from, size_t first, double by, float *y) {
    for (size_t i = 0; i < t->n_rows; i++) {
        t->parts[first + i] = row_of(from, t->rows[i]);
        t->part_by[first + i] = (float)(by * (double)t->by[i]);
    }
    add_parts(t, first + t->n_rows, from->width, y);
}

/* Dense layers side by side into the cuts of each. */
static void put_ups(const sis__attended *t, const float *u, size_t place, float *const *to) {
    for (size_t i = 0; i < t->n_ups; u += t->up_width[i++])
        if (t->up_cut[i] >= 0)
            memcpy(to[t->up_cut[i]] + place * t->up_width[i], u, t->up_width[i] * sizeof *u);
}

/* What was gathered for a token of that variant, written as number `place` of the row. */
static void finish(sis__attended *t, size_t variant, size_t place, float *const *to) {
    const sis__kernels *kn = sis__kernels_best();
    float *y = t->sum_cut >= 0 ? to[t->sum_cut] + place * t->d : t->room;
    int direct = t->n_ups == 1 && t->up_cut[0] >= 0;
    float *u = direct ? to[t->up_cut[0]] + place * t->f : t->room + t->d;
    t->parts[0] = t->self + variant * t->d;
    t->part_by[0] = 1;
    put_rows(t, &t->near, 1, 1, y);
    double mean = kn->sum(y, t->d) / (double)t->d;
    double rstd = 1 / sqrt(kn->squares(y, mean, t->d) / (double)t->d + (double)t->norm.epsilon);
    if (t->norm_cut >= 0)
        kn->layer_norm(&t->norm, y, NULL, to[t->norm_cut] + place * t->d, 1);
    t->parts[0] = t->constant;
    t->parts[1] = t->self_far + variant * t->f;
    t->part_by[1] = (float)rstd;
    put_rows(t, &t->far, 2, rstd, u);
    if (!direct)
        put_ups(t, u, place, to);
}

/* Cuts in front that the head reads itself. */
static void put_old(const sis__attended *t, const sis__exchange *c, size_t cut, float *to) {
    const sis__tensor *like = t->cuts[cut].like;
    sis__axis around;
    sis__axis_around(like, (size_t)t->axes[cut], &around);
    for (size_t o = 0; o < around.outer; o++)
        for (size_t k = 0; k < t->n; k++) {
            size_t at = t->old_at[cut] + (o * around.size + t->who[k] % t->n_tokens) * around.inner;
            int exchanged = find_place(c, k) < c->n;
            if (exchanged && c->leaves)
                continue;
            const float *from = t->who[k] >= t->n_tokens || exchanged ? t->z : t->x;
            memcpy(to, from + at, around.inner * sizeof *to);
            to += around.inner;
        }
}

static void begin(sis__attended *t, candidate *g, const sis__exchange *c, float *const *to) {
    g->c = c;
    g->to = to;
    g->written = 0;
    memcpy(g->key_who, t->who, t->n * sizeof *g->key_who);
    for (size_t s = 0; s < c->n; s++)
        g->key_who[c->places[s]] = masked_variant(t, c->places[s]);
    weigh_fresh(t, g);
    for (size_t cut = 0; cut < t->n_old; cut++)
        put_old(t, c, cut, to[cut]);
}

/* Place i of a candidate. */
static void write_place(sis__attended *t, candidate *g, size_t i) {
    int exchanged = find_place(g->c, i) < g->c->n;
    if (exchanged && g->c->leaves)
        return;
    t->n_rows = 0;
    for (size_t h = 0; h < t->heads; h++)
        if (exchanged)
            add_head_anew(t, g, h, g->key_who[i]);
        else
            add_head(t, g, h, i);
    finish(t, g->key_who[i], g->written++, g->to);
}

void sis__attended_rows(sis__attended *t, const sis__exchange *c, size_t n, float *const *to) {
    for (size_t first = 0; first < n; first += GROUP) {
        size_t some = n - first < GROUP ? n - first : GROUP;
        for (size_t g = 0; g < some; g++)
            begin(t, &t->group[g], &c[first + g], to + (first + g) * t->n_cuts);
        for (size_t i = 0; i < t->n; i++)
            for (size_t g = 0; g < some; g++)
                write_place(t, &t->group[g], i);
    }
}
