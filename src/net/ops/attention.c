/* SPDX-License-Identifier: MIT
 *
 * Attention: MultiHeadAttention and GroupQueryAttention of ONNX Runtime, Attention of its optimizer behind the product with its
 * weights (net/onnx/recipes.c), Attention of the standard (opset 23), and RotaryEmbedding. They differ in where rows of queries, keys and values lie, and
 * in what hides keys; one function computes them all. Scores run in double.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

static const size_t NONE = SIZE_MAX; /* an input, output or bias that is not there */

static const int64_t *whole(const sis__step *s, const sis__run *r, size_t i) {
    return (const int64_t *)(const void *)sis__in(s, r, i);
}

/* ---- One attention --------------------------------------------------------------------------- */

/* Where the rows of queries, keys, values or results lie. */
typedef struct {
    size_t input, offset, batch, head, row,
        size;                       /* distances from one to the next; size of a row */
    size_t past, past_offset;       /* input: rows before them, (batch, heads, past, size) */
    size_t present, present_offset; /* output: all rows, the same way */
    size_t bias;                    /* where theirs begins */
} side;

/* Something added to scores, or what hides keys where it is 0. */
typedef struct {
    size_t input, step[4]; /* over batch, heads, queries, all keys; 0: broadcast */
} term;

/* Angles that queries and keys are turned by. */
typedef struct {
    size_t cosine, at; /* inputs: cosines, sines behind them; positions */
    size_t angles;     /* of a row: half of what is turned */
    int interleaved;
} turns;

typedef struct {
    size_t batch, heads, shared, queries, keys, past; /* shared: heads of keys */
    side q, k, v, y;
    term terms[2];
    turns turns;
    size_t bias;
    size_t
        lengths; /* input: how many keys a batch has; twice as many values: where they begin, too */
    size_t counts;      /* input: one less than all keys of a batch, past ones among them */
    size_t sinks;       /* input: the score of nothing at all, for each head */
    size_t window;      /* a query sees so many keys up to its own; 0: all */
    float scale, cap;   /* scores beyond the cap flatten out; 0: none */
    float hidden;       /* added to the score of a key that is hidden */
    int causal, smooth; /* smooth: a sink of 0 */
} attention;

static attention *new_attention(sis__cx *c) {
    attention *p = (attention *)sis__cx_own(c, sizeof *p);
    if (!p)
        return NULL;
    side none = {.past = NONE, .present = NONE, .bias = NONE};
    p->q = p->k = p->v = p->y = none;
    p->terms[0].input = p->terms[1].input = p->turns.cosine = p->turns.at = NONE;
    p->bias = p->lengths = p->counts = p->sinks = NONE;
    p->hidden = -INFINITY;
    return p;
}

/* Rows of heads side by side, or head by head. */
static void lay(side *d, int flat, size_t heads, size_t rows, size_t size) {
    d->size = size;
    d->batch = heads * rows * size;
    d->head = flat ? size : rows * size;
    d->row = flat ? heads * size : size;
}

/* Half of x by the angles, the rest as it is. */
static void turn(const turns *t, const float *cosine, const float *sine, const float *x, float *y) {
    for (size_t i = 0; i < t->angles; i++) {
        size_t a = t->interleaved ? 2 * i : i, b = t->interleaved ? 2 * i + 1 : i + t->angles;
        float first = x[a], second = x[b];
        y[a] = first * cosine[i] - second * sine[i];
        y[b] = second * cosine[i] + first * sine[i];
    }
}

static int turn_at(const sis__step *s, const sis__run *r, const turns *t, int64_t place, float *x) {
    size_t most = sis__tin(s, r, t->cosine)->dims[0];
    if (place < 0 || (uint64_t)place >= most)
        return sis__fail(SIS_E_ARGUMENT, "position %lld of %zu", (long long)place, most);
    size_t at = (size_t)place * t->angles;
    turn(t, sis__in(s, r, t->cosine) + at, sis__in(s, r, t->cosine + 1) + at, x, x);
    return SIS_OK;
}

/* Row j of batch b and head h, with its bias, turned. Values are not turned. */
static int take_row(const sis__step *s, const sis__run *r, const attention *p, const side *d,
                    const size_t *at, float *to) {
    size_t b = at[0], h = at[1], j = at[2], past = at[3];
    const float *from =
        sis__in(s, r, d->input) + d->offset + b * d->batch + h * d->head + j * d->row;
    memcpy(to, from, d->size * sizeof *to);
    for (size_t i = 0; d->bias != NONE && i < d->size; i++)
        to[i] += sis__in(s, r, p->bias)[d->bias + h * d->size + i];
    if (p->turns.cosine == NONE || d == &p->v)
        return SIS_OK;
    const int64_t *places = p->turns.at != NONE ? whole(s, r, p->turns.at) : NULL;
    return turn_at(s, r, &p->turns, places ? places[b * p->queries + j] : (int64_t)(past + j), to);
}

/* All keys or values of a head, `past` of them from before; they go to `to` and the output for them. */
static int gather(const sis__step *s, const sis__run *r, const attention *p, const side *d,
                  const size_t *at, float *to) {
    size_t b = at[0], h = at[1], past = at[3], all = p->past + p->keys, head = b * p->shared + h;
    int error = SIS_OK;
    if (past)
        memcpy(to, sis__in(s, r, d->past) + d->past_offset + head * p->past * d->size,
               past * d->size * sizeof *to);
    for (size_t j = 0; j < p->keys && !error; j++)
        error = take_row(s, r, p, d, (size_t[]){b, h, j, past}, to + (past + j) * d->size);
    memset(to + (past + p->keys) * d->size, 0, (p->past - past) * d->size * sizeof *to);
    if (d->present != NONE && sis__out(s, r, d->present))
        memcpy(sis__out(s, r, d->present) + d->present_offset + head * all * d->size, to,
               all * d->size * sizeof *to);
    return error;
}

/* What a term adds to a score: its value, or what hides a key. */
static double term_at(const sis__step *s, const sis__run *r, const attention *p, const term *t,
                      const size_t *at) {
    if (t->input == NONE)
        return 0;
    size_t place =
        at[0] * t->step[0] + at[1] * t->step[1] + at[2] * t->step[2] + at[3] * t->step[3];
    sis__dtype type = sis__tin(s, r, t->input)->dtype;
    if (type == SIS__F32)
        return (double)sis__in(s, r, t->input)[place];
    int seen = type == SIS__BOOL
                   ? ((const uint8_t *)(const void *)sis__in(s, r, t->input))[place] != 0
                   : whole(s, r, t->input)[place] != 0;
    return seen ? 0 : (double)p->hidden;
}

/* Does batch b have key j? */
static int is_there(const sis__step *s, const sis__run *r, const attention *p, size_t b, size_t j) {
    if (p->lengths == NONE)
        return 1;
    const int64_t *m = whole(s, r, p->lengths);
    int begins = sis__tin(s, r, p->lengths)->count == 2 * p->batch;
    return (int64_t)j < m[b] && (!begins || (int64_t)j >= m[p->batch + b]);
}

/* The score of key j for query i; at is (batch, head, i, j), past how many keys stand before the first query's. */
static double score_of(const sis__step *s, const sis__run *r, const attention *p, const size_t *at,
                       size_t past, double dot) {
    size_t own = at[2] + past, j = at[3];
    if ((p->causal && j > own) || (p->window && j + p->window <= own))
        return -(double)INFINITY;
    double score = dot * (double)p->scale;
    if (p->cap > 0)
        score = (double)p->cap * tanh(score / (double)p->cap);
    score += term_at(s, r, p, &p->terms[0], at) + term_at(s, r, p, &p->terms[1], at);
    return is_there(s, r, p, at[0], j) ? score : score + (double)p->hidden;
}

typedef struct {
    double *score;    /* (all keys) */
    float *q, *k, *v; /* a query; all keys and values of a head */
    size_t past;      /* of this batch */
} desk;

static void attend(const sis__step *s, sis__run *r, const attention *p, const desk *d,
                   const size_t *at) {
    size_t b = at[0], h = at[1], i = at[2], all = d->past + p->keys, size = p->v.size;
    double top = -(double)INFINITY, sum = 0, *score = d->score;
    float *y = sis__out(s, r, 0) + b * p->y.batch + h * p->y.head + i * p->y.row;
    for (size_t j = 0; j < all; j++) {
        double dot = 0;
        for (size_t e = 0; e < p->q.size; e++)
            dot += (double)d->q[e] * (double)d->k[j * p->q.size + e];
        score[j] = score_of(s, r, p, (size_t[]){b, h, i, j}, d->past, dot);
        top = score[j] > top ? score[j] : top;
    }
    if (p->smooth || p->sinks != NONE) {
        double sink = p->sinks != NONE ? (double)sis__in(s, r, p->sinks)[h] : 0;
        top = sink > top ? sink : top;
        sum = exp(sink - top);
    }
    for (size_t j = 0; j < all; j++)
        sum += score[j] = isinf(top) ? 0 : exp(score[j] - top);
    for (size_t e = 0; e < size; e++) {
        double v = 0;
        for (size_t j = 0; j < all && sum > 0; j++)
            v += score[j] * (double)d->v[j * size + e];
        y[e] = sum > 0 ? (float)(v / sum) : 0;
    }
}

/* How many keys of a batch are from before. */
static int find_past(const sis__step *s, const sis__run *r, const attention *p, size_t b,
                     size_t *past) {
    *past = p->past;
    if (p->counts == NONE || p->past == 0)
        return SIS_OK;
    int64_t n = whole(s, r, p->counts)[b];
    if (n < (int64_t)p->queries - 1 || (uint64_t)n >= p->past + p->queries)
        return sis__fail(SIS_E_ARGUMENT, "%lld keys and one of batch %zu, of at most %zu",
                         (long long)n, b, p->past + p->queries);
    *past = (size_t)n + 1 - p->queries;
    return SIS_OK;
}

static int attention_forward(const sis__step *s, sis__run *r) {
    const attention *p = (const attention *)s->p.own;
    size_t all = p->past + p->keys, group = p->heads / p->shared;
    desk d = {.score = (double *)(void *)r->scratch};
    d.k = (float *)(void *)(d.score + all);
    d.v = d.k + all * p->k.size;
    d.q = d.v + all * p->v.size;
    int error = SIS_OK;
    for (size_t n = 0; n < p->batch * p->shared && !error; n++) {
        size_t b = n / p->shared, g = n % p->shared;
        error = find_past(s, r, p, b, &d.past);
        if (!error)
            error = gather(s, r, p, &p->k, (size_t[]){b, g, 0, d.past}, d.k);
        if (!error)
            error = gather(s, r, p, &p->v, (size_t[]){b, g, 0, d.past}, d.v);
        for (size_t i = 0; i < group * p->queries && sis__out(s, r, 0) && !error; i++) {
            size_t h = g * group + i / p->queries, at[4] = {b, h, i % p->queries, d.past};
            error = take_row(s, r, p, &p->q, at, d.q);
            if (!error)
                attend(s, r, p, &d, at);
        }
    }
    return error;
}

/* ---- What they have in common ------------------------------------------------------------------ */

/* Past keys or values of a side: the input's number, whose rows begin at `parts` of it. */
static void read_past(sis__cx *c, attention *p, side *d, size_t input, size_t part, size_t parts) {
    const sis__tensor *t = sis__cx_input(c, input);
    if (!t || c->error)
        return;
    size_t at = parts > 1, heads = p->batch * p->shared;
    p->past = t->rank == 4 + at ? t->dims[2 + at] : 0;
    if (t->dtype != SIS__F32 || t->rank != 4 + at || t->dims[at] != p->batch ||
        t->dims[1 + at] != p->shared || t->dims[3 + at] != d->size || (at && t->dims[0] != parts))
        sis__cx_fail(c, SIS_E_FORMAT, "past keys or values that do not fit");
    d->past = input;
    d->past_offset = part * heads * p->past * d->size;
}

/* A term of rank up to 4 whose axes are these of (batch, heads, queries, all keys). */
static void read_term(sis__cx *c, const attention *p, term *t, size_t input, const size_t *axes) {
    const sis__tensor *m = sis__cx_input(c, input);
    size_t dims[4] = {p->batch, p->heads, p->queries, p->past + p->keys}, step = 1;
    if (!m || c->error)
        return;
    t->input = input;
    for (size_t i = m->rank; i-- > 0; step *= m->dims[i]) {
        if (m->dims[i] != dims[axes[i]] && m->dims[i] != 1)
            sis__cx_fail(c, SIS_E_FORMAT, "a mask or bias that does not fit");
        t->step[axes[i]] = m->dims[i] == 1 ? 0 : step;
    }
}

static void read_added(sis__cx *c, attention *p, size_t input) {
    const sis__tensor *m = sis__cx_input(c, input);
    if (m && (m->rank != 4 || m->dtype != SIS__F32))
        sis__cx_fail(c, SIS_E_FORMAT, "an attention bias that does not fit");
    read_term(c, p, &p->terms[1], input, (const size_t[]){0, 1, 2, 3});
}

/* The mask of ONNX Runtime's operators: lengths, (batch, keys), or (batch, queries, keys). */
static void read_mask(sis__cx *c, attention *p, size_t input) {
    static const size_t axes[][4] = {{0}, {0}, {0, 3}, {0, 2, 3}, {0, 1, 2, 3}};
    const sis__tensor *m = sis__cx_input(c, input);
    if (!m || c->error)
        return;
    if (m->dtype != SIS__I64 || m->rank < 1 || m->rank > 4 ||
        (m->rank == 1 && m->count != p->batch && m->count != 2 * p->batch))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a mask of %zu axes, %zu values", m->rank, m->count);
    else if (m->rank == 1)
        p->lengths = input;
    else
        read_term(c, p, &p->terms[0], input, axes[m->rank]);
}

/* Heads of queries and of keys; with `width` numbers for all those of queries. */
static void set_heads(sis__cx *c, attention *p, int64_t heads, int64_t shared) {
    if (heads < 1 || heads > INT32_MAX || shared < 1 || heads % shared) {
        sis__cx_fail(c, SIS_E_FORMAT, "%lld heads that share %lld", (long long)heads,
                     (long long)shared);
        heads = shared = 1;
    }
    p->heads = (size_t)heads;
    p->shared = (size_t)shared;
}

/* The size of heads that take up so much together. */
static size_t size_of(sis__cx *c, size_t width, size_t heads) {
    if (width % heads)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu heads for a width of %zu", heads, width);
    return width / heads;
}

static void read_scale(sis__cx *c, attention *p) {
    float scale = sis__attr_float(c, "scale", 0);
    p->scale = scale != 0 ? scale : 1 / sqrtf((float)p->q.size);
}

/* Numbers that ONNX Runtime's own two have. */
static void read_hidden(sis__cx *c, attention *p) {
    p->hidden = sis__attr_float(c, "mask_filter_value", -10000);
    p->causal = sis__attr_int(c, "unidirectional", 0) != 0;
}

/* Results, and memory for a run. flat: heads of results side by side. */
static int finish(sis__cx *c, attention *p, int flat) {
    size_t all = p->past + p->keys;
    if (c->error)
        return c->error;
    if ((p->k.past == NONE) != (p->v.past == NONE) || p->k.size != p->q.size)
        return sis__cx_fail(c, SIS_E_FORMAT, "queries, keys and values that do not fit");
    lay(&p->y, flat, p->heads, p->queries, p->v.size);
    c->step->scratch =
        all * sizeof(double) + (all * (p->k.size + p->v.size) + p->q.size) * sizeof(float) + 64;
    c->step->flops = 4.0 * (double)(p->batch * p->heads * p->queries) * (double)(all * p->q.size);
    size_t rows[3] = {p->batch, p->queries, p->heads * p->v.size};
    size_t full[4] = {p->batch, p->heads, p->queries, p->v.size};
    return sis__cx_output(c, 0, SIS__F32, flat ? 3 : 4, flat ? rows : full);
}

/* Outputs 1 and 2: all keys and all values. */
static int finish_present(sis__cx *c, attention *p) {
    size_t all = p->past + p->keys;
    p->k.present = 1;
    p->v.present = 2;
    sis__cx_output(c, 1, SIS__F32, 4, (size_t[]){p->batch, p->shared, all, p->k.size});
    return sis__cx_output(c, 2, SIS__F32, 4, (size_t[]){p->batch, p->shared, all, p->v.size});
}

/* ---- Attention of ONNX Runtime: products with weights, mask, past, added ------------------------- */

/* The width of queries, which is that of keys; values have what is left of `all`. */
static int find_width(const int64_t *sizes, size_t n, size_t all, size_t *width) {
    *width = all / 3;
    if (!sizes)
        return all % 3 == 0;
    if (n != 3 || sizes[0] < 1 || sizes[0] != sizes[1] || sizes[2] < 1 ||
        (uint64_t)sizes[0] > all / 2 || (uint64_t)sizes[2] != all - 2 * (uint64_t)sizes[0])
        return 0;
    *width = (size_t)sizes[0];
    return 1;
}

/* Queries, keys and values lie side by side in input 0; this many numbers are queries. */
static void unpack(attention *p, const sis__tensor *x, size_t width) {
    side *sides[3] = {&p->q, &p->k, &p->v};
    for (size_t i = 0; i < 3; i++) {
        size_t size = sides[i]->size;
        sides[i]->input = 0;
        sides[i]->batch = x->dims[1] * x->dims[2];
        sides[i]->head = size;
        sides[i]->row = x->dims[2];
    }
    p->k.offset = width;
    p->v.offset = width + p->shared * p->k.size;
}

static int packed_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    attention *p = new_attention(c);
    size_t n, width = 0;
    const int64_t *sizes = sis__attr_ints(c, "qkv_hidden_sizes", &n);
    int64_t heads = sis__attr_int(c, "num_heads", 0);
    sis__attr_find(c, "past_present_share_buffer");
    sis__cx_float(c, 0);
    if (sis__attr_int(c, "do_rotary", 0))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "attribute do_rotary");
    if (x->rank != 3 || !find_width(sizes, n, x->rank == 3 ? x->dims[2] : 0, &width))
        sis__cx_fail(c, SIS_E_FORMAT, "weights that do not fit the input");
    if (c->error)
        return c->error;
    p->batch = x->dims[0];
    p->queries = p->keys = x->dims[1];
    set_heads(c, p, heads, heads);
    p->q.size = p->k.size = size_of(c, width, p->heads);
    p->v.size = size_of(c, x->dims[2] - 2 * width, p->heads);
    unpack(p, x, width);
    read_scale(c, p);
    read_hidden(c, p);
    read_past(c, p, &p->k, 2, 0, 2);
    read_past(c, p, &p->v, 2, 1, 2);
    read_mask(c, p, 1);
    read_added(c, p, 3);
    size_t all = p->past + p->keys;
    if (p->k.size == p->v.size) {
        p->k.present = p->v.present = 1;
        p->v.present_offset = p->batch * p->heads * all * p->k.size;
        sis__cx_output(c, 1, SIS__F32, 5, (size_t[]){2, p->batch, p->heads, all, p->k.size});
    }
    return finish(c, p, 1);
}

const sis__op sis__op_packed_attention = {
    1, 5, packed_shape, attention_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- MultiHeadAttention: q, k, v, bias, key padding mask, added, past keys, past values ----------- */

/* Keys or values: (batch, length, heads * size), or from elsewhere (batch, heads, length, size). */
static void read_side(sis__cx *c, attention *p, side *d, size_t input, size_t heads) {
    const sis__tensor *t = sis__cx_input(c, input);
    if (!t || t->dtype != SIS__F32 || t->rank < 3 || t->rank > 4 || t->dims[0] != p->batch ||
        (t->rank == 4 && t->dims[1] != heads)) {
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "queries, keys and values that are not of three axes");
        return;
    }
    size_t rows = t->dims[t->rank - 2];
    d->input = input;
    lay(d, t->rank == 3, heads, rows, t->rank == 3 ? size_of(c, t->dims[2], heads) : t->dims[3]);
}

static int multi_head_shape(sis__cx *c) {
    const sis__tensor *q = sis__cx_input(c, 0), *k = sis__cx_input(c, 1), *v = sis__cx_input(c, 2);
    const sis__tensor *bias = sis__cx_input(c, 3);
    attention *p = new_attention(c);
    int64_t heads = sis__attr_int(c, "num_heads", 0);
    sis__cx_float(c, 0);
    if (q->rank != 3 || !k || !v || k->rank < 3 || v->rank != k->rank ||
        k->dims[k->rank - 2] != v->dims[k->rank - 2])
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "queries, keys and values that are not of three axes");
    if (c->error)
        return c->error;
    p->batch = q->dims[0];
    p->queries = q->dims[1];
    p->keys = k->dims[k->rank - 2];
    set_heads(c, p, heads, heads);
    read_side(c, p, &p->q, 0, p->heads);
    read_side(c, p, &p->k, 1, p->heads);
    read_side(c, p, &p->v, 2, p->heads);
    read_scale(c, p);
    read_hidden(c, p);
    read_past(c, p, &p->k, 6, 0, 1);
    read_past(c, p, &p->v, 7, 0, 1);
    if (bias &&
        (bias->dtype != SIS__F32 || bias->count != p->heads * (p->q.size + p->k.size + p->v.size)))
        sis__cx_fail(c, SIS_E_FORMAT, "a bias that does not fit");
    p->bias = bias ? 3 : NONE;
    p->q.bias = bias ? 0 : NONE;
    p->k.bias = bias && k->rank == 3 ? p->heads * p->q.size : NONE;
    p->v.bias = bias && k->rank == 3 ? p->heads * (p->q.size + p->k.size) : NONE;
    read_mask(c, p, 4);
    read_added(c, p, 5);
    finish_present(c, p);
    return finish(c, p, 1);
}

const sis__op sis__op_multi_head_attention = {
    1, 10, multi_head_shape, attention_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- GroupQueryAttention ------------------------------------------------------------------------- */

/* q, k, v, past keys, past values, keys of each batch less one, most keys, cosines, sines, positions, added, sinks. Without k and v
 * these lie behind q in its rows. */
enum { PAST_KEYS = 3, PAST_VALUES, COUNTS, MOST, COSINES, SINES, PLACED, ADDED, SINKS };

static void read_group_turns(sis__cx *c, attention *p) {
    const sis__tensor *t = sis__cx_input(c, COSINES), *u = sis__cx_input(c, SINES),
                      *at = sis__cx_input(c, PLACED);
    p->turns.interleaved = sis__attr_int(c, "rotary_interleaved", 0) != 0;
    if (!sis__attr_int(c, "do_rotary", 0) || c->error)
        return;
    if (!t || !u || t->dtype != SIS__F32 || t->rank != 2 || u->count != t->count ||
        u->dtype != SIS__F32 || 2 * t->dims[1] > p->q.size ||
        (at && (at->dtype != SIS__I64 || at->count != p->batch * p->queries)))
        sis__cx_fail(c, SIS_E_FORMAT, "angles that do not fit the heads");
    p->turns.cosine = COSINES;
    p->turns.at = at ? PLACED : NONE;
    p->turns.angles = t && t->rank == 2 ? t->dims[1] : 0;
}

static void read_group_sides(sis__cx *c, attention *p) {
    const sis__tensor *q = sis__cx_input(c, 0), *k = sis__cx_input(c, 1);
    size_t packed = k ? 0 : 2 * p->shared;
    p->q.size = p->k.size = p->v.size = size_of(c, q->dims[2], p->heads + packed);
    if (!k) {
        unpack(p, q, p->heads * p->q.size);
        return;
    }
    read_side(c, p, &p->q, 0, p->heads);
    read_side(c, p, &p->k, 1, p->shared);
    read_side(c, p, &p->v, 2, p->shared);
    if (k->rank != 3 || !sis__cx_input(c, 2) || k->dims[1] != p->keys ||
        sis__cx_input(c, 2)->count != k->count)
        sis__cx_fail(c, SIS_E_FORMAT, "queries, keys and values that do not fit");
}

static int group_shape(sis__cx *c) {
    const sis__tensor *q = sis__cx_input(c, 0), *counts = sis__cx_input(c, COUNTS),
                      *sinks = sis__cx_input(c, SINKS);
    attention *p = new_attention(c);
    int64_t heads = sis__attr_int(c, "num_heads", 0), shared = sis__attr_int(c, "kv_num_heads", 0);
    int64_t window = sis__attr_int(c, "local_window_size", -1);
    sis__cx_float(c, 0);
    if (q->rank != 3)
        sis__cx_fail(c, SIS_E_FORMAT, "queries of %zu axes", q->rank);
    if (c->error)
        return c->error;
    p->batch = q->dims[0];
    p->queries = p->keys = q->dims[1];
    p->causal = 1;
    p->window = window > 0 ? (size_t)window : 0;
    p->cap = sis__attr_float(c, "softcap", 0);
    p->smooth = sis__attr_int(c, "smooth_softmax", 0) == 1;
    set_heads(c, p, heads, shared);
    read_group_sides(c, p);
    read_scale(c, p);
    read_past(c, p, &p->k, PAST_KEYS, 0, 1);
    read_past(c, p, &p->v, PAST_VALUES, 0, 1);
    read_group_turns(c, p);
    read_added(c, p, ADDED);
    if (!counts || counts->dtype != SIS__I64 || counts->count != p->batch ||
        (sinks && (sinks->dtype != SIS__F32 || sinks->count != p->heads)))
        sis__cx_fail(c, SIS_E_FORMAT, "lengths that do not fit the batch");
    p->counts = COUNTS;
    p->sinks = sinks ? SINKS : NONE;
    finish_present(c, p);
    return finish(c, p, 1);
}

/* Keys may lie in the middle of what is left out, so the first input alone is always there. */
const sis__op sis__op_group_query_attention = {
    1, 12, group_shape, attention_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- Attention of the standard: q, k, v, mask, past keys, past values, lengths -------------------- */

/* Three axes are (batch, length, heads * size), four (batch, heads, length, size). */
static int standard_shape(sis__cx *c) {
    const sis__tensor *q = sis__cx_input(c, 0), *k = sis__cx_input(c, 1), *v = sis__cx_input(c, 2),
                      *mask = sis__cx_input(c, 3), *lengths = sis__cx_input(c, 6);
    attention *p = new_attention(c);
    int64_t heads = sis__attr_int(c, "q_num_heads", 0),
            shared = sis__attr_int(c, "kv_num_heads", 0);
    float cap = sis__attr_float(c, "softcap", 0);
    int causal = sis__attr_int(c, "is_causal", 0) != 0;
    sis__attr_find(c, "softmax_precision");
    sis__attr_find(c, "qk_matmul_output_mode");
    if (sis__cx_float(c, 0) == SIS_OK &&
        (q->rank < 3 || q->rank > 4 || k->rank != q->rank || v->rank != q->rank ||
         k->dims[k->rank - 2] != v->dims[k->rank - 2]))
        sis__cx_fail(c, SIS_E_FORMAT, "queries, keys and values that do not fit");
    if (c->error)
        return c->error;
    int flat = q->rank == 3;
    p->batch = q->dims[0];
    p->queries = q->dims[q->rank - 2];
    p->keys = k->dims[k->rank - 2];
    p->cap = cap;
    p->causal = causal;
    set_heads(c, p, flat ? heads : (int64_t)q->dims[1], flat ? shared : (int64_t)k->dims[1]);
    read_side(c, p, &p->q, 0, p->heads);
    read_side(c, p, &p->k, 1, p->shared);
    read_side(c, p, &p->v, 2, p->shared);
    read_scale(c, p);
    read_past(c, p, &p->k, 4, 0, 1);
    read_past(c, p, &p->v, 5, 0, 1);
    if (mask && (mask->rank < 1 || mask->rank > 4 || mask->dtype == SIS__I64))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a mask of %zu axes", mask->rank);
    read_term(c, p, &p->terms[0], 3,
              (const size_t[]){0, 1, 2, 3} + (mask && mask->rank <= 4 ? 4 - mask->rank : 0));
    if (lengths && (lengths->dtype != SIS__I64 || lengths->count != p->batch))
        sis__cx_fail(c, SIS_E_FORMAT, "lengths that do not fit the batch");
    p->lengths = lengths ? 6 : NONE;
    finish_present(c, p);
    return finish(c, p, flat);
}

const sis__op sis__op_standard_attention = {
    3, 7, standard_shape, attention_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- RotaryEmbedding: x, positions, cosines, sines; of the standard x, cosines, sines, positions -- */

/* x is (batch, length, heads * size) or (batch, heads, length, size). Angles are those of positions, or without these
 * (batch, length, angles). */
typedef struct {
    size_t batch, length, heads, size;
    turns turns;
    int by_heads;
} rotary;

static void read_turns(sis__cx *c, rotary *p) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int64_t heads = sis__attr_int(c, "num_heads", 0);
    int64_t told = sis__attr_int(c, "rotary_embedding_dim", 0);
    size_t turned = 2 * p->turns.angles;
    p->turns.interleaved = sis__attr_int(c, "interleaved", 0) != 0;
    p->batch = x->dims[0];
    p->by_heads = x->rank == 4;
    p->length = x->dims[p->by_heads ? 2 : 1];
    size_t width = p->by_heads ? x->dims[1] * x->dims[3] : x->dims[2];
    p->heads = p->by_heads ? x->dims[1] : heads > 0 ? (size_t)heads : turned ? width / turned : 0;
    p->size = p->heads ? width / p->heads : 0;
    if (p->heads == 0 || p->size * p->heads != width || turned > p->size ||
        (told > 0 && (size_t)told != turned))
        sis__cx_fail(c, SIS_E_FORMAT, "angles that do not fit the heads");
}

static int turning_shape(sis__cx *c, size_t position, size_t cosine) {
    const sis__tensor *x = sis__cx_input(c, 0), *at = sis__cx_input(c, position);
    const sis__tensor *t = sis__cx_input(c, cosine), *sine = sis__cx_input(c, cosine + 1);
    rotary *p = (rotary *)sis__cx_own(c, sizeof *p);
    sis__cx_float(c, 0);
    size_t tokens = x->rank == 3   ? x->dims[0] * x->dims[1]
                    : x->rank == 4 ? x->dims[0] * x->dims[2]
                                   : 0;
    if (tokens == 0 || !t || !sine || t->dtype != SIS__F32 || sine->dtype != SIS__F32 ||
        sine->count != t->count || t->rank != (at ? 2 : 3) ||
        (at && (at->dtype != SIS__I64 || (at->count != 1 && at->count != tokens))) ||
        (!at && t->dims[0] * t->dims[1] != tokens))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "inputs that do not fit");
    if (c->error)
        return c->error;
    p->turns.at = at ? position : NONE;
    p->turns.cosine = cosine;
    p->turns.angles = t->dims[t->rank - 1];
    read_turns(c, p);
    return sis__cx_output(c, 0, SIS__F32, x->rank, x->dims);
}

static int rotary_shape(sis__cx *c) {
    sis__attr_find(c, "is_packed_batching");
    sis__attr_find(c, "scale");
    return turning_shape(c, 1, 2);
}

static int standard_rotary_shape(sis__cx *c) {
    return turning_shape(c, 3, 1);
}

/* The row of angles of token i of all. */
static int find_angles(const sis__step *s, const sis__run *r, const rotary *p, size_t i,
                       size_t *angle) {
    const sis__tensor *t = sis__tin(s, r, p->turns.cosine);
    int64_t place = (int64_t)i;
    if (p->turns.at != NONE) {
        const int64_t *at = whole(s, r, p->turns.at);
        place = sis__tin(s, r, p->turns.at)->count == 1 ? at[0] + (int64_t)(i % p->length) : at[i];
        if (place < 0 || (uint64_t)place >= t->dims[0])
            return sis__fail(SIS_E_ARGUMENT, "position %lld of %zu", (long long)place, t->dims[0]);
    }
    *angle = (size_t)place * p->turns.angles;
    return SIS_OK;
}

static int rotary_forward(const sis__step *s, sis__run *r) {
    const rotary *p = (const rotary *)s->p.own;
    size_t angle = 0;
    for (size_t i = 0; i < p->batch * p->length; i++) {
        int error = find_angles(s, r, p, i, &angle);
        if (error)
            return error;
        for (size_t h = 0; h < p->heads; h++) {
            size_t row = p->by_heads ? (i / p->length * p->heads + h) * p->length + i % p->length
                                     : i * p->heads + h;
            const float *x = sis__in(s, r, 0) + row * p->size;
            float *y = sis__out(s, r, 0) + row * p->size;
            memcpy(y, x, p->size * sizeof *y);
            turn(&p->turns, sis__in(s, r, p->turns.cosine) + angle,
                 sis__in(s, r, p->turns.cosine + 1) + angle, x, y);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_rotary_embedding = {
    4, 4, rotary_shape, rotary_forward, sis__no_gradient, 0, SIS__MIXES};
const sis__op sis__op_standard_rotary = {
    3, 4, standard_rotary_shape, rotary_forward, sis__no_gradient, 0, SIS__MIXES};
