/* SPDX-License-Identifier: MIT
 *
 * What stands around attention in transformers that ONNX Runtime's optimizer has fused: EmbedLayerNormalization, BiasGelu,
 * FastGelu.
 */
#include <math.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

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
