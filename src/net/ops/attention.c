/* SPDX-License-Identifier: MIT
 *
 * Fused operators of transformers, as ONNX Runtime's optimizer writes them: Attention,
 * MultiHeadAttention, EmbedLayerNormalization, BiasGelu, FastGelu, RotaryEmbedding; and Attention of the standard (opset 23). Queries, keys and
 * values are (batch, length, heads * head size); scores run in double.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* ---- One attention --------------------------------------------------------------------------- */

typedef struct {
    size_t batch, queries, keys, heads, size, value_size, width;
    float scale, hidden; /* of scores; what a masked one gets */
    int causal;
    size_t projection;        /* Attention: length of x, whose weights and bias give q, k and v */
    size_t mask, bias, added; /* inputs, SIZE_MAX: none */
    size_t mask_rank;
} attention;

/* May query i see key j of batch b? The mask is (batch, keys), (batch, queries, keys), lengths
 * (batch), or none. */
static int sees(const sis__step *s, const sis__run *r, const attention *p, size_t b, size_t i,
                size_t j) {
    if (p->causal && j > i + (p->keys - p->queries))
        return 0;
    if (p->mask == SIZE_MAX)
        return 1;
    const int64_t *m = (const int64_t *)(const void *)sis__in(s, r, p->mask);
    return p->mask_rank == 1   ? (int64_t)j < m[b]
           : p->mask_rank == 2 ? m[b * p->keys + j] != 0
                               : m[(b * p->queries + i) * p->keys + j] != 0;
}

/* added (batch or 1, heads or 1, queries, keys) */
static double added_at(const sis__step *s, const sis__run *r, const attention *p, size_t b,
                       size_t h, size_t i, size_t j) {
    if (p->added == SIZE_MAX)
        return 0;
    const sis__tensor *t = sis__tin(s, r, p->added);
    size_t at =
        ((t->dims[0] == 1 ? 0 : b) * t->dims[1] + (t->dims[1] == 1 ? 0 : h)) * p->queries + i;
    return (double)sis__in(s, r, p->added)[at * p->keys + j];
}

/* Rows of q, k and v: start and distance from row to row. */
typedef struct {
    const float *q, *k, *v;
    size_t q_step, k_step, v_step;
} operands;

static void attend(const sis__step *s, const sis__run *r, const attention *p, const operands *o,
                   size_t b, size_t h, double *score, float *y) {
    for (size_t i = 0; i < p->queries; i++) {
        const float *q = o->q + i * o->q_step;
        double top = -(double)INFINITY, sum = 0;
        for (size_t j = 0; j < p->keys; j++) {
            const float *k = o->k + j * o->k_step;
            double dot = 0;
            for (size_t d = 0; d < p->size; d++)
                dot += (double)q[d] * (double)k[d];
            score[j] = dot * (double)p->scale + added_at(s, r, p, b, h, i, j);
            score[j] += sees(s, r, p, b, i, j) ? 0 : (double)p->hidden;
            top = score[j] > top ? score[j] : top;
        }
        for (size_t j = 0; j < p->keys; j++)
            sum += score[j] = exp(score[j] - top);
        for (size_t d = 0; d < p->value_size; d++) {
            double v = 0;
            for (size_t j = 0; j < p->keys; j++)
                v += score[j] * (double)o->v[j * o->v_step + d];
            y[i * p->heads * p->value_size + d] = (float)(v / sum);
        }
    }
}

static void read_heads(sis__cx *c, attention *p, size_t width) {
    int64_t heads = sis__attr_int(c, "num_heads", 0);
    float scale = sis__attr_float(c, "scale", 0),
          hidden = sis__attr_float(c, "mask_filter_value", -10000);
    p->causal = sis__attr_int(c, "unidirectional", 0) != 0;
    if (heads < 1 || heads > INT32_MAX || width % (size_t)(heads > 0 ? heads : 1)) {
        sis__cx_fail(c, SIS_E_FORMAT, "%lld heads for a width of %zu", (long long)heads, width);
        return;
    }
    p->heads = (size_t)heads;
    p->width = width;
    p->size = p->value_size = width / p->heads;
    p->scale = scale != 0 ? scale : 1 / sqrtf((float)p->size);
    p->hidden = hidden;
}

static void read_mask(sis__cx *c, attention *p, size_t input) {
    const sis__tensor *m = sis__cx_input(c, input);
    p->mask = SIZE_MAX;
    if (!m)
        return;
    p->mask = input;
    p->mask_rank = m->rank;
    size_t want = m->rank == 1   ? p->batch
                  : m->rank == 2 ? p->batch * p->keys
                                 : p->batch * p->queries * p->keys;
    if (m->dtype != SIS__I64 || m->rank < 1 || m->rank > 3 || m->count != want)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a mask of %zu axes, %zu values", m->rank, m->count);
}

static void read_added(sis__cx *c, attention *p, size_t input) {
    const sis__tensor *t = sis__cx_input(c, input);
    p->added = t ? input : SIZE_MAX;
    if (t && (t->dtype != SIS__F32 || t->rank != 4 || t->dims[2] != p->queries ||
              t->dims[3] != p->keys || (t->dims[0] != 1 && t->dims[0] != p->batch) ||
              (t->dims[1] != 1 && t->dims[1] != p->heads)))
        sis__cx_fail(c, SIS_E_FORMAT, "an attention bias that does not fit");
}

static void refuse_input(sis__cx *c, size_t i, const char *what) {
    if (sis__cx_input(c, i))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "%s", what);
}

/* ---- Attention: x, weights (width, 3 hidden), bias, mask, past, added ------------------------- */

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

static int attention_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *w = sis__cx_input(c, 1), *b = sis__cx_input(c, 2);
    attention *p = (attention *)sis__cx_own(c, sizeof *p);
    size_t width = 0;
    size_t n;
    const int64_t *sizes = sis__attr_ints(c, "qkv_hidden_sizes", &n);
    sis__attr_find(c, "do_rotary");
    sis__attr_find(c, "past_present_share_buffer");
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    refuse_input(c, 4, "past states");
    if (x->rank != 3 || w->rank != 2 || w->dims[0] != x->dims[2] ||
        !find_width(sizes, n, w->dims[1], &width) || (b && b->count != w->dims[1]))
        sis__cx_fail(c, SIS_E_FORMAT, "weights that do not fit the input");
    if (c->error)
        return c->error;
    p->batch = x->dims[0];
    p->queries = p->keys = x->dims[1];
    p->projection = x->dims[2];
    p->bias = b ? 2 : SIZE_MAX;
    read_heads(c, p, width);
    if (c->error)
        return c->error;
    p->value_size = (w->dims[1] - 2 * width) / p->heads;
    if (p->value_size * p->heads != w->dims[1] - 2 * width)
        return sis__cx_fail(c, SIS_E_FORMAT, "values that do not fit the heads");
    read_mask(c, p, 3);
    read_added(c, p, 5);
    size_t floats = p->queries * w->dims[1];
    c->step->scratch = p->keys * sizeof(double) + floats * sizeof(float) + 64;
    c->step->flops = 2.0 * (double)x->count * (double)w->dims[1];
    return sis__cx_output(c, 0, SIS__F32, 3,
                          (size_t[]){p->batch, p->queries, p->heads * p->value_size});
}

static int attention_forward(const sis__step *s, sis__run *r) {
    const attention *p = (const attention *)s->p.own;
    double *score = (double *)(void *)r->scratch;
    float *qkv = (float *)(void *)(score + p->keys);
    size_t out = p->heads * p->value_size, width = 2 * p->width + out;
    const float *w = sis__in(s, r, 1), *bias = sis__in(s, r, 2);
    for (size_t b = 0; b < p->batch; b++) {
        const float *x = sis__in(s, r, 0) + b * p->queries * p->projection;
        for (size_t i = 0; i < p->queries; i++)
            for (size_t j = 0; j < width; j++) {
                double sum = bias ? (double)bias[j] : 0;
                for (size_t k = 0; k < p->projection; k++)
                    sum += (double)x[i * p->projection + k] * (double)w[k * width + j];
                qkv[i * width + j] = (float)sum;
            }
        for (size_t h = 0; h < p->heads; h++) {
            const float *at = qkv + h * p->size;
            const float *v = qkv + 2 * p->width + h * p->value_size;
            operands o = {at, at + p->width, v, width, width, width};
            attend(s, r, p, &o, b, h, score,
                   sis__out(s, r, 0) + b * p->queries * out + h * p->value_size);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_attention = {
    2, 7, attention_shape, attention_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- MultiHeadAttention: q, k, v, bias, key padding mask, added ------------------------------- */

static int multi_head_shape(sis__cx *c) {
    const sis__tensor *q = sis__cx_input(c, 0), *k = sis__cx_input(c, 1), *v = sis__cx_input(c, 2);
    attention *p = (attention *)sis__cx_own(c, sizeof *p);
    sis__cx_float(c, 0);
    refuse_input(c, 6, "past states");
    if (!k || !v || q->rank != 3 || k->rank != 3 || v->rank != 3 || k->dims[1] != v->dims[1] ||
        q->dims[2] != k->dims[2] || q->dims[0] != k->dims[0] || k->dims[0] != v->dims[0])
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "queries, keys and values that are not of three axes");
    if (c->error)
        return c->error;
    p->batch = q->dims[0];
    p->queries = q->dims[1];
    p->keys = k->dims[1];
    read_heads(c, p, q->dims[2]);
    p->bias = sis__cx_input(c, 3) ? 3 : SIZE_MAX;
    if (p->bias != SIZE_MAX && sis__cx_input(c, 3)->count != 2 * q->dims[2] + v->dims[2])
        sis__cx_fail(c, SIS_E_FORMAT, "a bias that does not fit");
    if (p->heads && v->dims[2] % p->heads)
        sis__cx_fail(c, SIS_E_FORMAT, "values of %zu for %zu heads", v->dims[2], p->heads);
    p->value_size = p->heads ? v->dims[2] / p->heads : 0;
    read_mask(c, p, 4);
    read_added(c, p, 5);
    c->step->scratch = p->keys * sizeof(double) +
                       (p->queries * p->width + p->keys * (p->width + v->dims[2])) * sizeof(float) +
                       64;
    c->step->flops =
        4.0 * (double)p->batch * (double)p->queries * (double)p->keys * (double)p->width;
    return sis__cx_output(c, 0, SIS__F32, 3, (size_t[]){p->batch, p->queries, v->dims[2]});
}

/* Rows of an input of one batch with their bias. */
static const float *with_bias(const sis__step *s, const sis__run *r, size_t input, size_t b,
                              size_t first, float *to) {
    const attention *p = (const attention *)s->p.own;
    const sis__tensor *t = sis__tin(s, r, input);
    size_t n = t->dims[1] * t->dims[2];
    const float *from = sis__in(s, r, input) + b * n;
    const float *bias = p->bias == SIZE_MAX ? NULL : sis__in(s, r, p->bias) + first;
    for (size_t i = 0; i < n; i++)
        to[i] = from[i] + (bias ? bias[i % t->dims[2]] : 0);
    return to;
}

static int multi_head_forward(const sis__step *s, sis__run *r) {
    const attention *p = (const attention *)s->p.own;
    double *score = (double *)(void *)r->scratch;
    float *memory = (float *)(void *)(score + p->keys);
    size_t out = p->heads * p->value_size;
    for (size_t b = 0; b < p->batch; b++) {
        const float *q = with_bias(s, r, 0, b, 0, memory);
        const float *k = with_bias(s, r, 1, b, p->width, memory + p->queries * p->width);
        const float *v =
            with_bias(s, r, 2, b, 2 * p->width, memory + (p->queries + p->keys) * p->width);
        for (size_t h = 0; h < p->heads; h++) {
            operands o = {q + h * p->size, k + h * p->size, v + h * p->value_size,
                          p->width,        p->width,        out};
            attend(s, r, p, &o, b, h, score,
                   sis__out(s, r, 0) + b * p->queries * out + h * p->value_size);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_multi_head_attention = {
    1, 8, multi_head_shape, multi_head_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- EmbedLayerNormalization ----------------------------------------------------------------- */

/* ids, segments, word, position and segment embeddings, gamma, beta, mask, positions
 * -> y, lengths of the mask, sum of embeddings */
enum { IDS, SEGMENTS, WORDS, POSITIONS, TYPES, GAMMA, BETA, MASK, PLACES };

static int embed_shape(sis__cx *c) {
    const sis__tensor *ids = sis__cx_input(c, IDS), *words = sis__cx_input(c, WORDS);
    const sis__tensor *positions = sis__cx_input(c, POSITIONS);
    c->step->p.unary.alpha = sis__attr_float(c, "epsilon", 1e-12f);
    sis__attr_find(c, "mask_index_type");
    for (size_t i = WORDS; i <= BETA; i++)
        if (i != TYPES && !sis__cx_input(c, i))
            return sis__cx_fail(c, SIS_E_FORMAT, "input %zu is missing", i);
    size_t hidden = words->rank == 2 ? words->dims[1] : 0;
    if (ids->dtype != SIS__I64 || ids->rank != 2 || words->rank != 2 || positions->rank != 2 ||
        positions->dims[1] != hidden || sis__cx_input(c, GAMMA)->count != hidden ||
        sis__cx_input(c, BETA)->count != hidden)
        sis__cx_fail(c, SIS_E_FORMAT, "embeddings that do not fit");
    for (size_t i = WORDS; i <= BETA; i++)
        if (sis__cx_input(c, i))
            sis__cx_float(c, i);
    if (!c->error && (sis__cx_input(c, SEGMENTS) != NULL) != (sis__cx_input(c, TYPES) != NULL))
        sis__cx_fail(c, SIS_E_FORMAT, "segments without their embeddings");
    if (c->error)
        return c->error;
    size_t dims[3] = {ids->dims[0], ids->dims[1], hidden};
    sis__cx_output(c, 0, SIS__F32, 3, dims);
    sis__cx_elem(c, 0, SIS__FLOAT);
    sis__cx_output(c, 1, SIS__I64, 1, dims);
    sis__cx_elem(c, 1, SIS__INT32);
    sis__cx_output(c, 2, SIS__F32, 3, dims);
    sis__cx_elem(c, 2, SIS__FLOAT);
    c->step->scratch = hidden * sizeof(double) + 64;
    return c->error;
}

/* Row `id` of an embedding matrix, or NULL. */
static const float *row_of(const sis__step *s, const sis__run *r, size_t matrix, int64_t id) {
    const sis__tensor *t = sis__tin(s, r, matrix);
    return id >= 0 && (uint64_t)id < t->dims[0] ? sis__in(s, r, matrix) + (size_t)id * t->dims[1]
                                                : NULL;
}

static const int64_t *whole(const sis__step *s, const sis__run *r, size_t i) {
    return (const int64_t *)(const void *)sis__in(s, r, i);
}

static int embed_token(const sis__step *s, sis__run *r, size_t at, size_t hidden) {
    size_t length = sis__tin(s, r, IDS)->dims[1];
    const float *gamma = sis__in(s, r, GAMMA), *beta = sis__in(s, r, BETA);
    int64_t place = sis__in(s, r, PLACES) ? whole(s, r, PLACES)[at] : (int64_t)(at % length);
    const float *word = row_of(s, r, WORDS, whole(s, r, IDS)[at]);
    const float *position = row_of(s, r, POSITIONS, place), *type = NULL;
    if (sis__in(s, r, SEGMENTS))
        type = row_of(s, r, TYPES, whole(s, r, SEGMENTS)[at]);
    if (!word || !position || (sis__in(s, r, SEGMENTS) && !type))
        return sis__fail(SIS_E_ARGUMENT, "token %lld is not in the vocabulary",
                         (long long)whole(s, r, IDS)[at]);
    double *sum = (double *)(void *)r->scratch, mean = 0, variance = 0;
    for (size_t i = 0; i < hidden; i++) {
        sum[i] = (double)word[i] + (double)position[i] + (type ? (double)type[i] : 0);
        mean += sum[i] / (double)hidden;
    }
    for (size_t i = 0; i < hidden; i++)
        variance += (sum[i] - mean) * (sum[i] - mean) / (double)hidden;
    double rstd = 1 / sqrt(variance + (double)s->p.unary.alpha);
    for (size_t i = 0; i < hidden; i++) {
        sis__out(s, r, 0)[at * hidden + i] =
            (float)((sum[i] - mean) * rstd * (double)gamma[i] + (double)beta[i]);
        if (sis__out(s, r, 2))
            sis__out(s, r, 2)[at * hidden + i] = (float)sum[i];
    }
    return SIS_OK;
}

static int embed_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *ids = sis__tin(s, r, IDS);
    int error = SIS_OK;
    for (size_t i = 0; i < ids->count && !error; i++)
        error = embed_token(s, r, i, sis__tout(s, r, 0)->dims[2]);
    for (size_t b = 0; sis__out(s, r, 1) && b < ids->dims[0]; b++) {
        int64_t n = 0;
        for (size_t i = 0; sis__in(s, r, MASK) && i < ids->dims[1]; i++)
            n += whole(s, r, MASK)[b * ids->dims[1] + i] != 0;
        ((int64_t *)(void *)sis__out(s, r, 1))[b] = n;
    }
    return error;
}

/* Segments may be left out in the middle, so the first input alone is always there. */
const sis__op sis__op_embed_layer_normalization = {
    1, 9, embed_shape, embed_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- BiasGelu, FastGelu: x, bias -------------------------------------------------------------- */

static int bias_gelu_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *b = sis__cx_input(c, 1);
    sis__cx_float(c, 0);
    if (b &&
        (b->dtype != SIS__F32 || b->rank != 1 || x->rank == 0 || b->count != x->dims[x->rank - 1]))
        sis__cx_fail(c, SIS_E_FORMAT, "a bias that does not fit");
    return sis__cx_output(c, 0, SIS__F32, x->rank, x->dims);
}

static double inner(double x) {
    return 0.7978845608028654 * (x + 0.044715 * x * x * x);
}

static double gelu(int fast, double x) {
    return fast ? 0.5 * x * (1 + tanh(inner(x))) : 0.5 * x * (1 + erf(x * 0.7071067811865476));
}

static double gelu_slope(int fast, double x) {
    if (!fast)
        return 0.5 * (1 + erf(x * 0.7071067811865476)) + x * 0.3989422804014327 * exp(-0.5 * x * x);
    double t = tanh(inner(x));
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + 0.134145 * x * x);
}

static int bias_gelu_forward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0), *b = sis__in(s, r, 1);
    size_t n = b ? sis__tin(s, r, 1)->count : 1;
    for (size_t i = 0; i < sis__tin(s, r, 0)->count; i++)
        sis__out(s, r, 0)[i] =
            (float)gelu(s->op == SIS__OP_FAST_GELU, (double)(x[i] + (b ? b[i % n] : 0)));
    return SIS_OK;
}

static int bias_gelu_backward(const sis__step *s, sis__run *r) {
    const float *x = sis__in(s, r, 0), *b = sis__in(s, r, 1), *dy = sis__dout(s, r, 0);
    size_t n = b ? sis__tin(s, r, 1)->count : 1;
    for (size_t i = 0; i < sis__tin(s, r, 0)->count; i++) {
        double v = (double)(x[i] + (b ? b[i % n] : 0));
        float d = (float)(dy[i] * gelu_slope(s->op == SIS__OP_FAST_GELU, v));
        if (sis__din(s, r, 0))
            sis__din(s, r, 0)[i] += d;
        if (b && sis__din(s, r, 1))
            sis__din(s, r, 1)[i % n] += d;
    }
    return SIS_OK;
}

const sis__op sis__op_bias_gelu = {
    1, 2, bias_gelu_shape, bias_gelu_forward, bias_gelu_backward, 0, SIS__MIXES};
const sis__op sis__op_fast_gelu = {
    1, 2, bias_gelu_shape, bias_gelu_forward, bias_gelu_backward, 0, SIS__MIXES};

/* ---- RotaryEmbedding: x, positions, cosines, sines; of the standard x, cosines, sines, positions -- */

/* x is (batch, length, heads * size) or (batch, heads, length, size). Angles are those of positions, or without these
 * (batch, length, angles). */
typedef struct {
    size_t batch, length, heads, size, turned; /* turned: how much of each head */
    size_t at, cosine, angles; /* inputs, at SIZE_MAX: no positions; angles of a token */
    int interleaved, by_heads;
} rotary;

static void read_turns(sis__cx *c, rotary *p) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int64_t heads = sis__attr_int(c, "num_heads", 0);
    int64_t turned = sis__attr_int(c, "rotary_embedding_dim", 0);
    p->interleaved = sis__attr_int(c, "interleaved", 0) != 0;
    p->batch = x->dims[0];
    p->by_heads = x->rank == 4;
    p->length = x->dims[p->by_heads ? 2 : 1];
    p->turned = turned > 0 ? (size_t)turned : 2 * p->angles;
    size_t width = p->by_heads ? x->dims[1] * x->dims[3] : x->dims[2];
    p->heads = p->by_heads ? x->dims[1]
               : heads > 0 ? (size_t)heads
               : p->turned ? width / p->turned
                           : 0;
    p->size = p->heads ? width / p->heads : 0;
    if (p->heads == 0 || p->size * p->heads != width || p->turned > p->size ||
        p->turned != 2 * p->angles)
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
    p->at = at ? position : SIZE_MAX;
    p->cosine = cosine;
    p->angles = t->dims[t->rank - 1];
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

static void turn(const rotary *p, const float *cosine, const float *sine, const float *x,
                 float *y) {
    size_t half = p->turned / 2;
    memcpy(y, x, p->size * sizeof *y);
    for (size_t i = 0; i < half; i++) {
        size_t a = p->interleaved ? 2 * i : i, b = p->interleaved ? 2 * i + 1 : i + half;
        y[a] = x[a] * cosine[i] - x[b] * sine[i];
        y[b] = x[b] * cosine[i] + x[a] * sine[i];
    }
}

/* The row of angles of token i of all. */
static int find_angles(const sis__step *s, const sis__run *r, const rotary *p, size_t i,
                       size_t *angle) {
    const sis__tensor *t = sis__tin(s, r, p->cosine);
    int64_t place = (int64_t)i;
    if (p->at != SIZE_MAX) {
        const int64_t *at = whole(s, r, p->at);
        place = sis__tin(s, r, p->at)->count == 1 ? at[0] + (int64_t)(i % p->length) : at[i];
        if (place < 0 || (uint64_t)place >= t->dims[0])
            return sis__fail(SIS_E_ARGUMENT, "position %lld of %zu", (long long)place, t->dims[0]);
    }
    *angle = (size_t)place * p->angles;
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
            turn(p, sis__in(s, r, p->cosine) + angle, sis__in(s, r, p->cosine + 1) + angle,
                 sis__in(s, r, 0) + row * p->size, sis__out(s, r, 0) + row * p->size);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_rotary_embedding = {
    4, 4, rotary_shape, rotary_forward, sis__no_gradient, 0, SIS__MIXES};
const sis__op sis__op_standard_rotary = {
    3, 4, standard_rotary_shape, rotary_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- Attention of the standard: q, k, v, mask, past keys, past values ---------------------------- */

/* Three axes are (batch, length, heads * size), four (batch, heads, length, size). Heads of queries share those of keys. */
typedef struct {
    size_t batch, heads, shared, queries, keys, past, size, value_size; /* shared: heads of keys */
    int flat, causal;
    float scale, cap;
    size_t mask_step[4]; /* over batch, heads, queries, keys; 0: broadcast */
} standard;

enum { Q, K, V, SEEN, PAST_K, PAST_V };

/* How far apart values of the mask lie along each axis of (batch, heads, queries, all keys). */
static void read_standard_mask(sis__cx *c, standard *p) {
    const sis__tensor *m = sis__cx_input(c, SEEN);
    size_t dims[4] = {p->batch, p->heads, p->queries, p->past + p->keys}, step = 1;
    if (!m)
        return;
    if (m->rank < 1 || m->rank > 4 || m->dtype == SIS__I64)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a mask of %zu axes", m->rank);
    for (size_t d = 4, i = m->rank; !c->error && i-- > 0; step *= m->dims[i]) {
        d--;
        if (m->dims[i] != dims[d] && m->dims[i] != 1)
            sis__cx_fail(c, SIS_E_FORMAT, "a mask that does not fit");
        p->mask_step[d] = m->dims[i] == 1 ? 0 : step;
    }
}

static void read_standard_heads(sis__cx *c, standard *p) {
    const sis__tensor *q = sis__cx_input(c, Q), *k = sis__cx_input(c, K), *v = sis__cx_input(c, V);
    int64_t heads = sis__attr_int(c, "q_num_heads", 0),
            shared = sis__attr_int(c, "kv_num_heads", 0);
    size_t at = p->flat ? 1 : 2;
    p->heads = p->flat ? (size_t)(heads > 0 ? heads : 0) : q->dims[1];
    p->shared = p->flat ? (size_t)(shared > 0 ? shared : 0) : k->dims[1];
    p->queries = q->dims[at];
    p->keys = k->dims[at];
    size_t wide[3] = {q->dims[at + 1], k->dims[at + 1], v->dims[at + 1]};
    if (p->heads == 0 || p->shared == 0 || p->heads % p->shared ||
        (p->flat && (wide[0] % p->heads || wide[1] % p->shared || wide[2] % p->shared))) {
        sis__cx_fail(c, SIS_E_FORMAT, "%zu heads that share %zu", p->heads, p->shared);
        return;
    }
    p->size = p->flat ? wide[0] / p->heads : wide[0];
    p->value_size = p->flat ? wide[2] / p->shared : wide[2];
    if ((p->flat ? wide[1] / p->shared : wide[1]) != p->size || v->dims[at] != p->keys ||
        k->dims[0] != p->batch || v->dims[0] != p->batch || (!p->flat && v->dims[1] != p->shared))
        sis__cx_fail(c, SIS_E_FORMAT, "queries, keys and values that do not fit");
}

static int standard_shape(sis__cx *c) {
    const sis__tensor *q = sis__cx_input(c, Q), *past = sis__cx_input(c, PAST_K),
                      *old = sis__cx_input(c, PAST_V);
    standard *p = (standard *)sis__cx_own(c, sizeof *p);
    float scale = sis__attr_float(c, "scale", 0), cap = sis__attr_float(c, "softcap", 0);
    int causal = sis__attr_int(c, "is_causal", 0) != 0;
    sis__attr_find(c, "softmax_precision");
    sis__attr_find(c, "qk_matmul_output_mode");
    for (size_t i = Q; i <= V; i++)
        if (sis__cx_float(c, i) == SIS_OK && sis__cx_input(c, i)->rank != q->rank)
            sis__cx_fail(c, SIS_E_FORMAT, "queries, keys and values of different axes");
    if (q->rank < 3 || q->rank > 4 || (past != NULL) != (old != NULL))
        sis__cx_fail(c, SIS_E_FORMAT, "queries of %zu axes", q->rank);
    if (c->error)
        return c->error;
    *p = (standard){.batch = q->dims[0], .flat = q->rank == 3, .causal = causal, .cap = cap};
    read_standard_heads(c, p);
    if (!c->error && past &&
        (past->rank != 4 || old->rank != 4 || past->dims[0] != p->batch ||
         past->dims[1] != p->shared || past->dims[3] != p->size ||
         old->count != p->batch * p->shared * past->dims[2] * p->value_size))
        sis__cx_fail(c, SIS_E_FORMAT, "past keys and values that do not fit");
    if (c->error)
        return c->error;
    p->past = past ? past->dims[2] : 0;
    p->scale = scale != 0 ? scale : 1 / sqrtf((float)p->size);
    read_standard_mask(c, p);
    size_t all = p->past + p->keys;
    c->step->scratch = all * sizeof(double) + 64;
    c->step->flops = 4.0 * (double)(p->batch * p->heads * p->queries) * (double)(all * p->size);
    size_t flat[3] = {p->batch, p->queries, p->heads * p->value_size};
    size_t full[4] = {p->batch, p->heads, p->queries, p->value_size};
    sis__cx_output(c, 0, SIS__F32, q->rank, p->flat ? flat : full);
    sis__cx_output(c, 1, SIS__F32, 4, (size_t[]){p->batch, p->shared, all, p->size});
    sis__cx_output(c, 2, SIS__F32, 4, (size_t[]){p->batch, p->shared, all, p->value_size});
    return c->error;
}

/* Row j of head g of the keys or values of a batch, past ones first. */
static const float *row_at(const sis__step *s, const sis__run *r, const standard *p, size_t input,
                           const size_t *at) {
    size_t size = input == K ? p->size : p->value_size, b = at[0], g = at[1], j = at[2];
    if (j < p->past)
        return sis__in(s, r, input == K ? PAST_K : PAST_V) +
               ((b * p->shared + g) * p->past + j) * size;
    j -= p->past;
    return sis__in(s, r, input) +
           (p->flat ? (b * p->keys + j) * p->shared + g : (b * p->shared + g) * p->keys + j) * size;
}

/* The score of a key, -infinity if it is hidden. */
static double score_of(const sis__step *s, const sis__run *r, const standard *p, const size_t *at,
                       size_t j) {
    size_t b = at[0], h = at[1], i = at[2], g = h / (p->heads / p->shared);
    const float *q = sis__in(s, r, Q) + (p->flat ? (b * p->queries + i) * p->heads + h
                                                 : (b * p->heads + h) * p->queries + i) *
                                            p->size;
    const float *k = row_at(s, r, p, K, (size_t[]){b, g, j});
    const sis__tensor *m = sis__tin(s, r, SEEN);
    size_t place =
        b * p->mask_step[0] + h * p->mask_step[1] + i * p->mask_step[2] + j * p->mask_step[3];
    double dot = 0;
    if ((p->causal && j > i + p->past) ||
        (m && m->dtype == SIS__BOOL &&
         !((const uint8_t *)(const void *)sis__in(s, r, SEEN))[place]))
        return -(double)INFINITY;
    for (size_t d = 0; d < p->size; d++)
        dot += (double)q[d] * (double)k[d];
    dot = dot * (double)p->scale +
          (m && m->dtype == SIS__F32 ? (double)sis__in(s, r, SEEN)[place] : 0);
    return p->cap > 0 ? (double)p->cap * tanh(dot / (double)p->cap) : dot;
}

static void standard_query(const sis__step *s, sis__run *r, const standard *p, const size_t *at) {
    double *score = (double *)(void *)r->scratch, top = -(double)INFINITY, sum = 0;
    size_t b = at[0], h = at[1], i = at[2], all = p->past + p->keys, g = h / (p->heads / p->shared);
    float *y = sis__out(s, r, 0) + (p->flat ? (b * p->queries + i) * p->heads + h
                                            : (b * p->heads + h) * p->queries + i) *
                                       p->value_size;
    for (size_t j = 0; j < all; j++)
        top = (score[j] = score_of(s, r, p, at, j)) > top ? score[j] : top;
    for (size_t j = 0; j < all; j++)
        sum += score[j] = isinf(top) ? 0 : exp(score[j] - top);
    for (size_t d = 0; d < p->value_size; d++) {
        double v = 0;
        for (size_t j = 0; j < all && sum > 0; j++)
            v += score[j] * (double)row_at(s, r, p, V, (size_t[]){b, g, j})[d];
        y[d] = sum > 0 ? (float)(v / sum) : 0;
    }
}

static int standard_forward(const sis__step *s, sis__run *r) {
    const standard *p = (const standard *)s->p.own;
    size_t all = p->past + p->keys, n = p->heads * p->queries;
    for (size_t i = 0; sis__out(s, r, 0) && i < p->batch * n; i++)
        standard_query(s, r, p, (size_t[]){i / n, i % n / p->queries, i % p->queries});
    for (size_t o = 1; o < 3; o++)
        for (size_t i = 0, size = o == 1 ? p->size : p->value_size;
             sis__out(s, r, o) && i < p->batch * p->shared * all; i++)
            memcpy(sis__out(s, r, o) + i * size,
                   row_at(s, r, p, o == 1 ? K : V,
                          (size_t[]){i / all / p->shared, i / all % p->shared, i % all}),
                   size * sizeof(float));
    return SIS_OK;
}

const sis__op sis__op_standard_attention = {
    3, 6, standard_shape, standard_forward, sis__no_gradient, 0, SIS__MIXES};
