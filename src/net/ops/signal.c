/* SPDX-License-Identifier: MIT
 *
 * Signals: DFT, STFT, the windows of Hann, Hamming and Blackman, MelWeightMatrix. Transforms are products with a
 * table of sines and cosines, in double: exact, and quadratic in the length, which front ends of audio models bear.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

static const double turn = 6.283185307179586476925;

/* ---- DFT and STFT ----------------------------------------------------------------------------- */

/* From `parts` numbers (1: real, 2: complex) at each of `length` places, missing ones 0, to `bins` complex ones. */
typedef struct {
    sis__axis axis; /* of the input */
    size_t parts, length, bins;
    double *cosine; /* (length) cosines, then sines, of the circle */
    int inverse;
    size_t frames, hop, from; /* STFT: frames, their distance; 0 windows: none */
} transform;

static void make_circle(sis__cx *c, transform *p) {
    p->cosine = (double *)sis__cx_list(c, 2 * p->length, sizeof *p->cosine);
    for (size_t i = 0; p->cosine && i < p->length; i++) {
        p->cosine[i] = cos(turn * (double)i / (double)p->length);
        p->cosine[p->length + i] = sin(turn * (double)i / (double)p->length);
    }
}

/* A length that an input gives, or `missing`. */
static size_t length_from(sis__cx *c, size_t input, size_t missing) {
    size_t n;
    if (!sis__cx_input(c, input))
        return missing;
    const int64_t *v = sis__cx_ints(c, input, &n);
    if (!c->error && (n != 1 || v[0] < 1 || v[0] > 1 << 24))
        sis__cx_fail(c, SIS_E_FORMAT, "a length that is not one number of at least 1");
    return c->error ? 1 : (size_t)v[0];
}

static int64_t dft_axis(sis__cx *c) {
    size_t n = 0;
    if (c->node->opset < 20)
        return sis__attr_int(c, "axis", 1);
    const int64_t *v = sis__cx_input(c, 2) ? sis__cx_ints(c, 2, &n) : NULL;
    return n == 1 ? v[0] : -2;
}

static int dft_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    transform *p = (transform *)sis__cx_own(c, sizeof *p);
    int onesided = sis__attr_int(c, "onesided", 0) != 0,
        inverse = sis__attr_int(c, "inverse", 0) != 0;
    int64_t wanted = dft_axis(c);
    size_t dims[SIS__MAX_RANK];
    sis__cx_float(c, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] < 1 || x->dims[x->rank - 1] > 2)
        sis__cx_fail(c, SIS_E_FORMAT, "numbers that are neither real nor complex");
    if (onesided && (inverse || (!c->error && x->dims[x->rank - 1] == 2)))
        sis__cx_fail(c, SIS_E_UNSUPPORTED,
                     "one side of an inverse transform, or of complex numbers");
    size_t axis = sis__cx_axis(c, wanted, x->rank);
    if (!c->error && axis + 1 == x->rank)
        sis__cx_fail(c, SIS_E_FORMAT, "the axis of real and imaginary parts");
    if (c->error)
        return c->error;
    sis__axis_around(x, axis, &p->axis);
    p->parts = x->dims[x->rank - 1];
    p->axis.inner /= p->parts;
    p->length = length_from(c, 1, p->axis.size);
    p->bins = onesided ? p->length / 2 + 1 : p->length;
    p->inverse = inverse;
    if (p->length == 0)
        return sis__cx_fail(c, SIS_E_FORMAT, "a transform of nothing");
    make_circle(c, p);
    memcpy(dims, x->dims, sizeof dims);
    dims[axis] = p->bins;
    dims[x->rank - 1] = 2;
    c->step->flops =
        4.0 * (double)(p->axis.outer * p->axis.inner) * (double)p->length * (double)p->bins;
    return sis__cx_output(c, 0, SIS__F32, x->rank, dims);
}

/* Bin k of numbers that lie `step` apart, weighted if there is a window. */
static void transform_bin(const transform *p, const float *x, size_t step, const float *window,
                          size_t k, float *y) {
    double real = 0, imaginary = 0;
    size_t n = p->axis.size < p->length ? p->axis.size : p->length, at = 0;
    for (size_t i = 0; i < n; i++, at = (at + k) % p->length) {
        double c = p->cosine[at],
               s = p->inverse ? p->cosine[p->length + at] : -p->cosine[p->length + at];
        double w = window ? (double)window[i] : 1, a = w * (double)x[i * step * p->parts];
        double b = p->parts == 2 ? w * (double)x[i * step * 2 + 1] : 0;
        real += a * c - b * s;
        imaginary += a * s + b * c;
    }
    double by = p->inverse ? 1 / (double)p->length : 1;
    y[0] = (float)(real * by);
    y[1] = (float)(imaginary * by);
}

static int dft_forward(const sis__step *s, sis__run *r) {
    const transform *p = (const transform *)s->p.own;
    for (size_t o = 0; o < p->axis.outer; o++)
        for (size_t k = 0; k < p->bins; k++)
            for (size_t i = 0; i < p->axis.inner; i++)
                transform_bin(p,
                              sis__in(s, r, 0) + (o * p->axis.size * p->axis.inner + i) * p->parts,
                              p->axis.inner, NULL, k,
                              sis__out(s, r, 0) + 2 * ((o * p->bins + k) * p->axis.inner + i));
    return SIS_OK;
}

const sis__op sis__op_dft = {1, 3, dft_shape, dft_forward, sis__no_gradient, 0, SIS__MIXES};

/* signal (n, length, parts), hop, window, length of a frame -> (n, frames, bins, 2) */
static int stft_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *w = sis__cx_input(c, 2);
    transform *p = (transform *)sis__cx_own(c, sizeof *p);
    int onesided = sis__attr_int(c, "onesided", 1) != 0;
    sis__cx_float(c, 0);
    if (w)
        sis__cx_float(c, 2);
    size_t hop = length_from(c, 1, 1), length = length_from(c, 3, w ? w->count : 0);
    size_t wide = x->rank == 3 ? x->dims[2] : 1;
    if (x->rank < 2 || x->rank > 3 || length == 0 || length > x->dims[1] ||
        (w && w->count != length) || wide < 1 || wide > 2 || (onesided && wide == 2))
        sis__cx_fail(c, SIS_E_FORMAT, "frames of %zu that do not fit the signal", length);
    if (c->error)
        return c->error;
    *p = (transform){.parts = wide, .length = length, .hop = hop, .from = x->dims[1]};
    p->axis = (sis__axis){.outer = x->dims[0], .size = length, .inner = 1};
    p->bins = onesided ? length / 2 + 1 : length;
    p->frames = (x->dims[1] - length) / hop + 1;
    make_circle(c, p);
    c->step->flops = 4.0 * (double)(x->dims[0] * p->frames) * (double)length * (double)p->bins;
    return sis__cx_output(c, 0, SIS__F32, 4, (size_t[]){x->dims[0], p->frames, p->bins, 2});
}

static int stft_forward(const sis__step *s, sis__run *r) {
    const transform *p = (const transform *)s->p.own;
    for (size_t i = 0; i < p->axis.outer * p->frames; i++)
        for (size_t k = 0; k < p->bins; k++)
            transform_bin(
                p, sis__in(s, r, 0) + (i / p->frames * p->from + i % p->frames * p->hop) * p->parts,
                1, sis__in(s, r, 2), k, sis__out(s, r, 0) + 2 * (i * p->bins + k));
    return SIS_OK;
}

const sis__op sis__op_stft = {2, 4, stft_shape, stft_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- Windows ---------------------------------------------------------------------------------- */

/* Results of types other than float are not made. */
static void need_float_result(sis__cx *c, const char *attribute) {
    int64_t type = sis__attr_int(c, attribute, SIS__FLOAT);
    if (sis__elem_dtype((int)type) != SIS__F32)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "results of type %s", sis__elem_name((int)type));
}

static int window_shape(sis__cx *c) {
    int periodic = sis__attr_int(c, "periodic", 1) != 0;
    size_t n = length_from(c, 0, 1);
    need_float_result(c, "output_datatype");
    c->step->p.unary.to = (int)n - !periodic;
    sis__cx_output(c, 0, SIS__F32, 1, &n);
    sis__cx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static int window_forward(const sis__step *s, sis__run *r) {
    for (size_t i = 0, n = sis__tout(s, r, 0)->count; i < n; i++) {
        double a = s->p.unary.to > 0 ? turn * (double)i / s->p.unary.to : 0;
        double v = s->op == SIS__OP_HANN_WINDOW      ? 0.5 - 0.5 * cos(a)
                   : s->op == SIS__OP_HAMMING_WINDOW ? 25.0 / 46 - 21.0 / 46 * cos(a)
                                                     : 0.42 - 0.5 * cos(a) + 0.08 * cos(2 * a);
        sis__out(s, r, 0)[i] = (float)v;
    }
    return SIS_OK;
}

const sis__op sis__op_hann_window = {1, 1, window_shape, window_forward, NULL, 0, SIS__MIXES};
const sis__op sis__op_hamming_window = {1, 1, window_shape, window_forward, NULL, 0, SIS__MIXES};
const sis__op sis__op_blackman_window = {1, 1, window_shape, window_forward, NULL, 0, SIS__MIXES};

/* ---- MelWeightMatrix: bins, length of the transform, rate, lower and upper edge ------------------ */

static double scalar_of(sis__cx *c, size_t i) {
    const sis__tensor *t = sis__cx_input(c, i);
    if (t->count != 1 || !t->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "input %zu must be one constant number", i);
    return c->error ? 0 : sis__number_at(t, t->data, 0);
}

static int mel_shape(sis__cx *c) {
    size_t dims[2];
    double bins = scalar_of(c, 0), length = scalar_of(c, 1);
    for (size_t i = 2; i < 5; i++)
        scalar_of(c, i);
    need_float_result(c, "output_datatype");
    if (!(bins >= 1 && bins <= 65536 && length >= 1 && length <= 1 << 24))
        sis__cx_fail(c, SIS_E_FORMAT, "%g bins of %g frequencies", bins, length);
    if (c->error)
        return c->error;
    dims[0] = (size_t)length / 2 + 1;
    dims[1] = (size_t)bins;
    sis__cx_output(c, 0, SIS__F32, 2, dims);
    sis__cx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

static double number_in(const sis__step *s, const sis__run *r, size_t i) {
    return sis__number_at(sis__tin(s, r, i), sis__in(s, r, i), 0);
}

/* The bin of the transform at which edge k of the triangles lies. */
static double edge_at(const sis__step *s, const sis__run *r, double k) {
    double low = 2595 * log10(1 + number_in(s, r, 3) / 700),
           high = 2595 * log10(1 + number_in(s, r, 4) / 700);
    double mel = low + k * (high - low) / (number_in(s, r, 0) + 2);
    double hertz = 700 * (pow(10, mel / 2595) - 1);
    return floor((number_in(s, r, 1) + 1) * hertz / number_in(s, r, 2));
}

static int mel_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *y = sis__tout(s, r, 0);
    memset(sis__out(s, r, 0), 0, y->count * sizeof(float));
    for (size_t j = 0; j < y->dims[1]; j++) {
        double low = edge_at(s, r, (double)j), mid = edge_at(s, r, (double)j + 1),
               high = edge_at(s, r, (double)j + 2);
        for (size_t i = 0; i < y->dims[0]; i++) {
            double v = (double)i, w = 0;
            if (low == mid && v == mid)
                w = 1;
            else if (v >= low && v <= mid && mid > low)
                w = (v - low) / (mid - low);
            else if (v > mid && v < high)
                w = (high - v) / (high - mid);
            sis__out(s, r, 0)[i * y->dims[1] + j] = (float)w;
        }
    }
    return SIS_OK;
}

const sis__op sis__op_mel_weight_matrix = {5, 5, mel_shape, mel_forward, NULL, 0, SIS__MIXES};
