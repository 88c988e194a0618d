/* SPDX-License-Identifier: MIT
 *
 * Normalisation within one example: LayerNormalization, RMSNormalization, InstanceNormalization,
 * GroupNormalization.
 *
 * All are one computation on x seen as groups of `size` values: y = (x - mean) * rstd * scale +
 * bias. scale and bias change every `inner` values and repeat after `params` of them. Sums are in
 * double.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

typedef struct {
    size_t groups, size;  /* x is (groups, size) */
    size_t inner, params; /* value j of x has parameter j / inner % params */
    float epsilon;
    int centred;           /* the mean is subtracted */
    int scale_at, bias_at; /* inputs; -1: none */
    int mean_out, rstd_out;
} normal;

static void split_groups(normal *p, const sis__tensor *x, size_t axis) {
    p->groups = p->size = 1;
    for (size_t d = 0; d < x->rank; d++)
        *(d < axis ? &p->groups : &p->size) *= x->dims[d];
}

/* Check that parameter i is absent or has n floats. */
static void check_param(sis__shape_ctx *c, int i, size_t n) {
    const sis__tensor *t = i < 0 ? NULL : sis__ctx_input(c, (size_t)i);
    if (t && (t->dtype != SIS__F32 || t->count != n))
        sis__ctx_fail(c, SIS_E_FORMAT, "input %d has %zu values instead of %zu", i, t->count, n);
}

static int set_output(sis__shape_ctx *c, normal *p) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__ctx_float(c, 0);
    check_param(c, p->scale_at, p->params);
    check_param(c, p->bias_at, p->params);
    c->step->flops = 8.0 * (double)x->count;
    c->step->scratch = p->size * sizeof(float) + 64;
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

static int input_or_none(const sis__shape_ctx *c, int i) {
    return sis__ctx_input(c, (size_t)i) ? i : -1;
}

/* Outputs for mean and 1 / deviation of each group, if they are used. */
static void statistics(sis__shape_ctx *c, normal *p, size_t axis) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    size_t dims[SIS__MAX_RANK];
    for (size_t d = 0; d < x->rank; d++)
        dims[d] = d < axis ? x->dims[d] : 1;
    if (p->mean_out >= 0)
        sis__ctx_output(c, (size_t)p->mean_out, SIS__F32, x->rank, dims);
    if (p->rstd_out >= 0)
        sis__ctx_output(c, (size_t)p->rstd_out, SIS__F32, x->rank, dims);
}

static int layer_norm(sis__shape_ctx *c, int centred, int has_axis) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    normal *p = (normal *)sis__ctx_own(c, sizeof *p);
    float epsilon = sis__attr_float(c, "epsilon", 1e-5f);
    sis__attr_find(c, "stash_type");
    size_t axis = sis__ctx_axis(c, has_axis ? sis__attr_int(c, "axis", -1) : -1, x->rank);
    if (c->error)
        return c->error;
    *p = (normal){.inner = 1, .epsilon = epsilon, .centred = centred};
    split_groups(p, x, axis);
    p->params = p->size;
    p->scale_at = input_or_none(c, 1);
    p->bias_at = centred ? input_or_none(c, 2) : -1;
    p->mean_out = centred ? 1 : -1;
    p->rstd_out = centred ? 2 : 1;
    statistics(c, p, axis);
    return set_output(c, p);
}

static int layer_normalization_shape(sis__shape_ctx *c) {
    return layer_norm(c, 1, 1);
}

static int rms_normalization_shape(sis__shape_ctx *c) {
    return layer_norm(c, 0, 1);
}

/* groups of channels; with one channel each it is InstanceNormalization */
static int channel_norm(sis__shape_ctx *c, size_t groups, size_t params, int scale, int bias) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    normal *p = (normal *)sis__ctx_own(c, sizeof *p);
    float epsilon = sis__attr_float(c, "epsilon", 1e-5f);
    if (x->rank < 2 || groups == 0 || x->dims[1] % groups || params == 0 || x->dims[1] % params)
        sis__ctx_fail(c, SIS_E_FORMAT, "%zu groups of channels", groups);
    if (c->error)
        return c->error;
    *p = (normal){.groups = x->dims[0] * groups, .epsilon = epsilon, .centred = 1};
    p->size = p->groups ? x->count / p->groups : 0;
    p->params = params;
    p->inner = x->dims[0] ? x->count / x->dims[0] / params : 1;
    p->scale_at = scale;
    p->bias_at = bias;
    p->mean_out = p->rstd_out = -1;
    return set_output(c, p);
}

static int instance_normalization_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    size_t channels = x->rank > 1 ? x->dims[1] : 0;
    return channel_norm(c, channels, channels, 1, 2);
}

/* One scale per group before opset 21, one per channel since. */
static int group_normalization_shape(sis__shape_ctx *c) {
    int64_t groups = sis__attr_int(c, "num_groups", 0);
    sis__attr_find(c, "stash_type");
    if (groups < 1 || groups > INT32_MAX)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%lld groups", (long long)groups);
    return channel_norm(c, (size_t)groups, sis__ctx_input(c, 1)->count, 1, 2);
}

typedef struct {
    double mean, rstd;
} moments;

static moments moments_of(const normal *p, const float *x) {
    const sis__kernels *kn = sis__kernels_best();
    double mean = p->centred ? kn->sum(x, p->size) / (double)p->size : 0;
    double variance = kn->squares(x, mean, p->size) / (double)p->size;
    return (moments){mean, 1 / sqrt(variance + (double)p->epsilon)};
}

static const float *param_of(const sis__step *s, const sis__run *r, int at) {
    return at < 0 ? NULL : sis__in(s, r, (size_t)at);
}

/* One group, starting at value `from` of the input. Runs of values share a parameter, or each value
 * has its own. */
static void apply(const normal *p, const moments *m, const float *const *params, const float *x,
                  size_t from, float *y) {
    const sis__kernels *kn = sis__kernels_best();
    const float *scale = params[0], *bias = params[1];
    sis__standard t = {.mean = m->mean, .rstd = m->rstd, .scale = 1};
    if (p->inner == 1 && p->params == p->size) {
        kn->standardize(&t, x, y, p->size);
        if (scale)
            kn->mul(y, 1, scale, 1, y, p->size);
        if (bias)
            kn->add(y, 1, bias, 1, y, p->size);
        return;
    }
    for (size_t i = 0, n; i < p->size; i += n) {
        size_t k = (from + i) / p->inner % p->params, left = p->inner - (from + i) % p->inner;
        n = left < p->size - i ? left : p->size - i;
        t.scale = scale ? scale[k] : 1;
        t.shift = bias ? bias[k] : 0;
        kn->standardize(&t, x + i, y + i, n);
    }
}

static int normal_forward(const sis__step *s, sis__run *r) {
    const normal *p = (const normal *)s->p.own;
    const float *params[2] = {param_of(s, r, p->scale_at), param_of(s, r, p->bias_at)};
    float *mean = p->mean_out < 0 ? NULL : sis__out(s, r, (size_t)p->mean_out);
    float *rstd = p->rstd_out < 0 ? NULL : sis__out(s, r, (size_t)p->rstd_out);
    for (size_t g = 0; g < p->groups; g++) {
        const float *x = sis__in(s, r, 0) + g * p->size;
        moments m = moments_of(p, x);
        apply(p, &m, params, x, g * p->size, sis__out(s, r, 0) + g * p->size);
        if (mean)
            mean[g] = (float)m.mean;
        if (rstd)
            rstd[g] = (float)m.rstd;
    }
    return SIS_OK;
}

/* With v = (x - mean) rstd and d = dy scale: dx = rstd (d - mean(d) - v mean(d v)). Without
 * centring the term mean(d) is missing. */
static void group_backward(const sis__step *s, sis__run *r, size_t g) {
    const normal *p = (const normal *)s->p.own;
    const float *x = sis__in(s, r, 0) + g * p->size, *dy = sis__dout(s, r, 0) + g * p->size;
    const float *scale = param_of(s, r, p->scale_at);
    float *dx = sis__din(s, r, 0);
    float *dscale = p->scale_at < 0 ? NULL : sis__din(s, r, (size_t)p->scale_at);
    float *dbias = p->bias_at < 0 ? NULL : sis__din(s, r, (size_t)p->bias_at);
    moments m = moments_of(p, x);
    double sum = 0, dot = 0, n = (double)p->size;
    for (size_t i = 0; i < p->size; i++) {
        size_t k = (g * p->size + i) / p->inner % p->params;
        double v = (x[i] - m.mean) * m.rstd, d = dy[i] * (scale ? (double)scale[k] : 1);
        sum += d;
        dot += d * v;
        if (dscale)
            dscale[k] += (float)(dy[i] * v);
        if (dbias)
            dbias[k] += dy[i];
    }
    for (size_t i = 0; dx && i < p->size; i++) {
        size_t k = (g * p->size + i) / p->inner % p->params;
        double v = (x[i] - m.mean) * m.rstd, d = dy[i] * (scale ? (double)scale[k] : 1);
        dx[g * p->size + i] += (float)(m.rstd * (d - (p->centred ? sum / n : 0) - v * dot / n));
    }
}

static int normal_backward(const sis__step *s, sis__run *r) {
    const normal *p = (const normal *)s->p.own;
    for (size_t g = 0; sis__dout(s, r, 0) && g < p->groups; g++)
        group_backward(s, r, g);
    return SIS_OK;
}

static int normal_source(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                         sis__source *from) {
    const normal *n = (const normal *)s->p.own;
    size_t count = p->tensors[s->outputs[out]].count, round = n->inner * n->params;
    if (out > 0 || count == 0)
        return 0;
    if (in == 0) {
        sis__source_digit(from, n->groups, (ptrdiff_t)n->size);
        sis__source_digit(from, n->size, 0);
        from->over[from->n_over++] = (sis__digit){n->size, 1};
        return 1;
    }
    sis__source_digit(from, count / round, 0);
    sis__source_digit(from, n->params, 1);
    sis__source_digit(from, n->inner, 0);
    return 1;
}

#define NORMALIZATION(name, min, max, shape)                                                       \
    const sis__op sis__op_##name = {                                                               \
        min, max, shape, normal_forward, normal_backward, .source = normal_source};
NORMALIZATION(layer_normalization, 1, 3, layer_normalization_shape)
NORMALIZATION(rms_normalization, 1, 2, rms_normalization_shape)
NORMALIZATION(instance_normalization, 3, 3, instance_normalization_shape)
NORMALIZATION(group_normalization, 3, 3, group_normalization_shape)
#undef NORMALIZATION
