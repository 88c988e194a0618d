/* SPDX-License-Identifier: MIT
 *
 * BatchNormalization (inference), and from ai.onnx.ml Scaler and Normalizer.
 */
#include <math.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* ---- BatchNormalization: x, scale, bias, mean, variance -------------------------------------- */

static int batch_norm_attributes(sis__shape_ctx *c, sis__norm *m) {
    sis__attr_find(c, "momentum");
    m->epsilon = sis__attr_float(c, "epsilon", 1e-5f);
    int64_t training = sis__attr_int(c, "training_mode", 0);
    int64_t spatial = sis__attr_int(c, "spatial", 1);
    int64_t is_test = sis__attr_int(c, "is_test", 1); /* before opset 7 */
    if (training || !is_test)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "training mode; export the model for inference");
    if (!spatial)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "attribute spatial = 0");
    return c->error;
}

static void fold_statistics(const float *const *v, size_t n, float epsilon, float *scale,
                            float *shift) {
    for (size_t i = 0; i < n; i++) {
        double k = (double)v[0][i] / sqrt((double)v[3][i] + (double)epsilon);
        scale[i] = (float)k;
        shift[i] = (float)((double)v[1][i] - (double)v[2][i] * k);
    }
}

/* Find the channels and the sizes before and after them; the four vectors have one number per
 * channel. */
static int find_channels(sis__shape_ctx *c, sis__norm *m) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    m->channels = x->rank > 1 ? x->dims[1] : 1;
    m->outer = x->rank ? x->dims[0] : 1;
    m->inner = 1;
    for (size_t d = 2; d < x->rank; d++)
        m->inner *= x->dims[d];
    for (size_t i = 1; i < 5 && !c->error; i++)
        if (sis__ctx_input(c, i)->count != m->channels)
            sis__ctx_fail(c, SIS_E_FORMAT, "input %zu has %zu values for %zu channels", i,
                          sis__ctx_input(c, i)->count, m->channels);
    return c->error;
}

static int batch_norm_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__norm *m = &c->step->p.norm;
    const float *constant[4];
    int all = 1;
    batch_norm_attributes(c, m);
    for (size_t i = 0; i < 5; i++)
        sis__ctx_float(c, i);
    if (c->error || find_channels(c, m))
        return c->error;
    for (size_t i = 0; i < 4; i++) {
        constant[i] = (const float *)sis__ctx_constant(c, i + 1);
        all &= constant[i] != NULL;
    }
    c->step->scratch = 2 * m->channels * sizeof(float);
    c->step->flops = 2.0 * (double)x->count;
    if (all) {
        float *both = (float *)sis__ctx_alloc(c, 2 * m->channels, sizeof *both);
        if (!both)
            return SIS_E_NOMEM;
        fold_statistics(constant, m->channels, m->epsilon, both, both + m->channels);
        m->scale = both;
        m->shift = both + m->channels;
    }
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

/* scale and shift of each channel; computed here unless they are constant. */
static void current_statistics(const sis__step *s, sis__run *r, const float **scale,
                               const float **shift) {
    const sis__norm *m = &s->p.norm;
    float *both = (float *)r->scratch;
    const float *v[4];
    *scale = m->scale;
    *shift = m->shift;
    if (m->scale)
        return;
    for (size_t i = 0; i < 4; i++)
        v[i] = sis__in(s, r, i + 1);
    fold_statistics(v, m->channels, m->epsilon, both, both + m->channels);
    *scale = both;
    *shift = both + m->channels;
}

static int batch_norm_forward(const sis__step *s, sis__run *r) {
    const sis__norm *m = &s->p.norm;
    const float *x = sis__in(s, r, 0), *scale, *shift;
    float *y = sis__out(s, r, 0);
    current_statistics(s, r, &scale, &shift);
    for (size_t i = 0; i < m->outer * m->channels; i++)
        for (size_t j = i * m->inner; j < (i + 1) * m->inner; j++)
            y[j] = x[j] * scale[i % m->channels] + shift[i % m->channels];
    return SIS_OK;
}

/* With k = scale / sqrt(var + eps): dx = k dy, dscale = sum dy (x - mean) / sqrt(.), dbias = sum
 * dy, dmean = -k sum dy, dvar = -k / (2 (var + eps)) sum dy (x - mean). */
static int batch_norm_backward(const sis__step *s, sis__run *r) {
    const sis__norm *m = &s->p.norm;
    const float *x = sis__in(s, r, 0), *dy = sis__dout(s, r, 0);
    float *d[5];
    for (size_t i = 0; i < 5; i++)
        d[i] = sis__din(s, r, i);
    for (size_t c = 0; c < m->channels; c++) {
        double scale = sis__in(s, r, 1)[c], mean = sis__in(s, r, 3)[c];
        double var = (double)sis__in(s, r, 4)[c] + (double)m->epsilon, k = scale / sqrt(var);
        double sum = 0, product = 0;
        for (size_t o = 0; o < m->outer; o++)
            for (size_t i = 0; i < m->inner; i++) {
                size_t at = (o * m->channels + c) * m->inner + i;
                sum += dy[at];
                product += dy[at] * (x[at] - mean);
                if (d[0])
                    d[0][at] += (float)(k * dy[at]);
            }
        double to[5] = {0, product / sqrt(var), sum, -k * sum, -0.5 * k / var * product};
        for (size_t i = 1; i < 5; i++)
            if (d[i])
                d[i][c] += (float)to[i];
    }
    return SIS_OK;
}

const sis__op sis__op_batch_normalization = {5,
                                             5,
                                             batch_norm_shape,
                                             batch_norm_forward,
                                             batch_norm_backward,
                                             .in_place = 1,
                                             .trait = SIS__MAPS_PLACES,
                                             .linear = 1,
                                             .family = SIS__CHANNEL_NORM};

/* ---- Scaler: (x - offset) * scale ------------------------------------------------------------ */

static int scaler_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__norm *m = &c->step->p.norm;
    size_t n[2];
    m->shift = sis__attr_floats(c, "offset", &n[0]);
    m->scale = sis__attr_floats(c, "scale", &n[1]);
    if (c->error)
        return c->error;
    if (x->dtype == SIS__BOOL || x->rank == 0)
        return sis__ctx_fail(c, SIS_E_FORMAT, "an input that is not a table of numbers");
    m->channels = x->dims[x->rank - 1];
    m->outer = m->channels ? x->count / m->channels : 0;
    for (size_t i = 0; i < 2; i++)
        if (n[i] != 1 && n[i] != m->channels)
            return sis__ctx_fail(c, SIS_E_FORMAT, "%zu numbers for %zu columns", n[i], m->channels);
    m->shift_step = n[0] > 1;
    m->scale_step = n[1] > 1;
    return sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
}

static int scaler_forward(const sis__step *s, sis__run *r) {
    const sis__norm *m = &s->p.norm;
    float *y = sis__out(s, r, 0);
    for (size_t i = 0; i < m->outer * m->channels; i++) {
        size_t c = i % m->channels;
        float v = (float)sis__number_at(sis__tin(s, r, 0), sis__in(s, r, 0), i);
        y[i] = (v - m->shift[c * m->shift_step]) * m->scale[c * m->scale_step];
    }
    return SIS_OK;
}

static int scaler_backward(const sis__step *s, sis__run *r) {
    const sis__norm *m = &s->p.norm;
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0; dx && i < m->outer * m->channels; i++)
        dx[i] += sis__dout(s, r, 0)[i] * m->scale[i % m->channels * m->scale_step];
    return SIS_OK;
}

const sis__op sis__op_scaler = {1,
                                1,
                                scaler_shape,
                                scaler_forward,
                                scaler_backward,
                                .trait = SIS__MAPS_PLACES,
                                .linear = 1,
                                .family = SIS__SCALES};

/* ---- Normalizer: each row divided by its largest value, L1 or L2 norm ------------------------ */

static int normalizer_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__norm *m = &c->step->p.norm;
    char kind[8];
    if (x->dtype > SIS__I64)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "norms of %s", sis__dtype_name(x->dtype));
    sis__attr_text(c, "norm", "MAX", kind, sizeof kind);
    m->kind = kind[0] == 'M'                     ? SIS__NORM_MAX
              : kind[0] == 'L' && kind[1] == '1' ? SIS__NORM_L1
                                                 : SIS__NORM_L2;
    if (x->rank == 0 || (m->kind == SIS__NORM_L2 && kind[0] != 'L'))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "norm %s", kind);
    m->channels = x->dims[x->rank - 1];
    m->outer = m->channels ? x->count / m->channels : 0;
    sis__ctx_output(c, 0, SIS__F32, x->rank, x->dims);
    sis__ctx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static double norm_of(const sis__norm *m, const float *x) {
    double v = m->kind == SIS__NORM_MAX ? -INFINITY : 0;
    for (size_t i = 0; i < m->channels; i++)
        v = m->kind == SIS__NORM_MAX  ? (x[i] > v ? x[i] : v) /* fmax crashes gcc 12 on arm64 */
            : m->kind == SIS__NORM_L1 ? v + fabs(x[i])
                                      : v + (double)x[i] * x[i];
    return m->kind == SIS__NORM_L2 ? sqrt(v) : v;
}

static int normalizer_forward(const sis__step *s, sis__run *r) {
    const sis__norm *m = &s->p.norm;
    for (size_t o = 0; o < m->outer; o++) {
        float *y = sis__out(s, r, 0) + o * m->channels;
        for (size_t i = 0, at = o * m->channels; i < m->channels; i++, at++)
            y[i] = (float)sis__number_at(sis__tin(s, r, 0), sis__in(s, r, 0), at);
        double norm = norm_of(m, y);
        for (size_t i = 0; i < m->channels; i++)
            y[i] = norm != 0 ? (float)(y[i] / norm) : y[i];
    }
    return SIS_OK;
}

/* y = x / |x|: dx = (dy - (sum dy x) d|x|/dx / |x|) / |x| */
static int normalizer_backward(const sis__step *s, sis__run *r) {
    const sis__norm *m = &s->p.norm;
    for (size_t o = 0; sis__din(s, r, 0) && o < m->outer; o++) {
        const float *x = sis__in(s, r, 0) + o * m->channels,
                    *dy = sis__dout(s, r, 0) + o * m->channels;
        float *dx = sis__din(s, r, 0) + o * m->channels;
        double norm = norm_of(m, x), dot = 0;
        for (size_t i = 0; i < m->channels; i++)
            dot += (double)dy[i] * x[i];
        for (size_t i = 0; i < m->channels; i++) {
            double slope = m->kind == SIS__NORM_L2   ? x[i] / norm
                           : m->kind == SIS__NORM_L1 ? (x[i] > 0) - (x[i] < 0)
                                                     : x[i] == (float)norm;
            dx[i] += norm != 0 ? (float)((dy[i] - dot * slope / norm) / norm) : dy[i];
        }
    }
    return SIS_OK;
}

const sis__op sis__op_normalizer = {
    1, 1, normalizer_shape, normalizer_forward, normalizer_backward, .trait = SIS__MIXES};
