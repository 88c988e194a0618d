/* SPDX-License-Identifier: MIT
 *
 * See exact_quant.h.
 */
#include "net/lower/exact_quant.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/lower/index.h"
#include "net/onnx/graph.h"
#include "net/onnx/proto.h"

/* ---- Constants ------------------------------------------------------------------------------- */

/* Decode a constant; free d->owned. */
static int decode_plain(sis__index *g, const char *name, sis__decoded *d) {
    const Sis__Onnx__Tensor *t = sis__index_of(g, name)->constant;
    *d = (sis__decoded){0};
    int error = t ? sis__tensor_decode(t, NULL, d) : SIS_E_FORMAT;
    if (!error)
        return 1;
    if (error == SIS_E_NOMEM)
        g->error = error;
    *d = (sis__decoded){0};
    return 0;
}

/* Apply a Reshape with a constant shape to a constant. */
static int reshape(sis__index *g, const Sis__Onnx__Node *n, sis__decoded *d) {
    sis__decoded shape;
    size_t count = 1, known = 0;
    if (decode_plain(g, sis__node_input(n, 1), &shape) && shape.dtype == SIS__I64 &&
        shape.count <= SIS__MAX_RANK)
        for (; known < shape.count; known++) {
            int64_t dim = ((const int64_t *)shape.data)[known];
            if (dim <= 0 || (uint64_t)dim > d->count / count) /* more than there are values */
                break;
            d->dims[known] = dim;
            count *= (size_t)dim;
        }
    d->rank = known;
    int fits = shape.count && known == shape.count && count == d->count;
    free(shape.owned);
    return fits;
}

static int is_byte(int elem) {
    return elem == SIS__UINT8 || elem == SIS__INT8;
}

static int decode_any(sis__index *g, const char *name, int depth, sis__decoded *d);

/* Apply QuantizeLinear to constant floats. */
static int quantize(sis__index *g, const Sis__Onnx__Node *n, sis__decoded *d) {
    sis__decoded scale = {0}, zero = {0};
    int fits = decode_any(g, sis__node_input(n, 1), 0, &scale) && scale.dtype == SIS__F32 &&
               scale.count == 1 && decode_any(g, sis__node_input(n, 2), 0, &zero) &&
               is_byte(zero.elem) && zero.count == 1 && d->dtype == SIS__F32 && n->n_attribute == 0;
    int64_t *levels = fits ? SIS_NEW(int64_t, d->count) : NULL, low, high;
    if (fits && !levels)
        g->error = SIS_E_NOMEM;
    sis__elem_range(zero.elem, &low, &high);
    for (size_t i = 0; levels && i < d->count; i++) {
        float v = rintf(((const float *)d->data)[i] / *(const float *)scale.data) +
                  (float)*(const int64_t *)zero.data;
        levels[i] = !(v > (float)low) ? low : v > (float)high ? high : (int64_t)v;
    }
    if (levels) {
        free(d->owned);
        d->data = d->owned = levels;
        d->dtype = SIS__I64;
        d->elem = zero.elem;
    }
    free(scale.owned);
    free(zero.owned);
    return levels != NULL;
}

/* Decode a constant, possibly through Reshape or QuantizeLinear. */
static int decode_any(sis__index *g, const char *name, int depth, sis__decoded *d) {
    if (decode_plain(g, name, d))
        return 1;
    const Sis__Onnx__Node *from = depth > 0 ? sis__index_of(g, name)->producer : NULL;
    int shapes = from && sis__node_is(from, "", "Reshape"),
        rounds = from && sis__node_is(from, "", "QuantizeLinear");
    int found = (shapes || rounds) && decode_any(g, sis__node_input(from, 0), depth - 1, d) &&
                (shapes ? reshape(g, from, d) : quantize(g, from, d));
    if (!found) {
        free(d->owned);
        *d = (sis__decoded){0};
    }
    return found;
}

/* Decode input i as a constant of that type; free d->owned. */
static int decode(sis__index *g, const Sis__Onnx__Node *n, size_t i, sis__dtype type,
                  sis__decoded *d) {
    if (decode_any(g, sis__node_input(n, i), 2, d) && d->dtype == type && d->count > 0)
        return 1;
    free(d->owned);
    *d = (sis__decoded){0};
    return 0;
}

/* Is input i a constant scale, one number or n? */
static int is_scale(sis__index *g, const Sis__Onnx__Node *n, size_t i, size_t max) {
    sis__decoded d;
    int fits = decode(g, n, i, SIS__F32, &d) && (d.count == 1 || d.count == max);
    free(d.owned);
    return fits;
}

/* Is it a constant zero point of 8 bits, or missing if that is allowed? */
static int is_zero(sis__index *g, const Sis__Onnx__Node *n, size_t i, int missing) {
    sis__decoded d;
    if (!*sis__node_input(n, i))
        return missing;
    int fits = decode(g, n, i, SIS__I64, &d) && is_byte(d.elem) && d.count == 1;
    free(d.owned);
    return fits;
}

/* ---- Exact sums ------------------------------------------------------------------------------ */

/* Weights (outputs, terms), or (terms, outputs) if `columns`, the addends of their sums, and the
 * range of the levels they are multiplied by. */
typedef struct {
    sis__decoded w, zero, bias;
    size_t outputs, terms;
    int columns;
    double low, high;
} layer;

/* Do all partial sums of one output stay below 2^24, in any order? */
static int is_exact(const layer *l, size_t j) {
    const int64_t *w = (const int64_t *)l->w.data, *zero = (const int64_t *)l->zero.data;
    double bias = l->bias.data ? (double)llabs(((const int64_t *)l->bias.data)[j]) : 0;
    double sum[2] = {0}; /* of positive and of negative weights */
    int64_t z = zero ? zero[l->zero.count > 1 ? j : 0] : 0;
    for (size_t k = 0; k < l->terms; k++) {
        int64_t v = w[l->columns ? k * l->outputs + j : j * l->terms + k] - z;
        sum[v < 0] += (double)llabs(v);
    }
    double max = l->high * sum[0] - l->low * sum[1], min = l->high * sum[1] - l->low * sum[0];
    return (max > min ? max : min) + bias < 0x1p24;
}

static const char *const computed = "with weights, scales or zero points that are not constants";
static const char *const inexact = "with sums of 2^24 or more";

/* Set the range of levels from the zero point, input i. */
static void set_range(sis__index *g, const Sis__Onnx__Node *n, size_t i, layer *l) {
    sis__decoded d;
    l->low = -255;
    l->high = 255;
    if (*sis__node_input(n, i) && decode(g, n, i, SIS__I64, &d)) {
        int64_t min = d.elem == SIS__INT8 ? -128 : 0, zero = *(const int64_t *)d.data;
        if (d.count == 1 && is_byte(d.elem)) {
            l->low = (double)(min - zero);
            l->high = (double)(min + 255 - zero);
        }
        free(d.owned);
    }
}

/* Why the sums of a product are not exact; NULL: they are. `at`: indices of its inputs weights,
 * their zero points, bias (SIZE_MAX: none), zero points of the other factor. */
static const char *refused_layer(sis__index *g, const Sis__Onnx__Node *n, layer *l,
                                 const size_t *at) {
    int fits = decode(g, n, at[0], SIS__I64, &l->w) && is_byte(l->w.elem) && l->w.rank >= 2;
    if (fits) {
        l->outputs = (size_t)l->w.dims[l->columns ? l->w.rank - 1 : 0];
        l->terms = l->outputs ? l->w.count / l->outputs : 0;
        fits = l->outputs > 0 && (!l->columns || l->w.rank == 2);
    }
    if (fits && *sis__node_input(n, at[1]))
        fits = decode(g, n, at[1], SIS__I64, &l->zero) && is_byte(l->zero.elem) &&
               (l->zero.count == 1 || l->zero.count == l->outputs);
    if (fits && *sis__node_input(n, at[2]))
        fits = decode(g, n, at[2], SIS__I64, &l->bias) && l->bias.elem == SIS__INT32 &&
               l->bias.count == l->outputs;
    set_range(g, n, at[3], l);
    int exact = fits;
    for (size_t j = 0; exact && j < l->outputs; j++)
        exact = is_exact(l, j);
    free(l->w.owned);
    free(l->zero.owned);
    free(l->bias.owned);
    return !fits ? computed : exact ? NULL : inexact;
}

/* ---- Operators ------------------------------------------------------------------------------- */

/* Are these constant: the scales of x, of weights and of the result (`optional`: may be missing),
 * and the zero points of x and of the result? */
static int are_scaled(sis__index *g, const Sis__Onnx__Node *n, const layer *l, size_t to,
                      int optional) {
    int none = optional && !*sis__node_input(n, to);
    return is_scale(g, n, 1, 1) && is_zero(g, n, 2, 0) && is_scale(g, n, 4, l->outputs) &&
           (none || (is_scale(g, n, to, 1) && is_zero(g, n, to + 1, 0)));
}

static const char *refused_product(sis__index *g, const Sis__Onnx__Node *n) {
    layer l = {.columns = !sis__node_is(n, "", "QLinearConv") && !sis__proto_int(n, "transB", 0)};
    int gemm = sis__node_is(n, "com.microsoft", "QGemm"), conv = sis__node_is(n, "", "QLinearConv");
    const size_t at[4] = {3, 5, conv ? 8 : gemm ? 6 : SIZE_MAX, 2};
    const char *refused = refused_layer(g, n, &l, at);
    if (refused)
        return refused;
    return are_scaled(g, n, &l, gemm ? 7 : 6, gemm) ? NULL : computed;
}

const char *sis__exact_quant_refused(sis__index *g, const Sis__Onnx__Node *n) {
    int fits = 0;
    if (sis__node_is(n, "", "QuantizeLinear"))
        fits = is_scale(g, n, 1, 1) && is_zero(g, n, 2, 1) &&
               !sis__proto_attribute(n, "output_dtype") && !sis__proto_attribute(n, "block_size");
    else if (sis__node_is(n, "", "DequantizeLinear"))
        fits = is_scale(g, n, 1, 1) && is_zero(g, n, 2, 1) &&
               !sis__index_of(g, sis__node_input(n, 0))->constant;
    else if (sis__node_is(n, "", "QLinearConv") || sis__node_is(n, "", "QLinearMatMul") ||
             sis__node_is(n, "com.microsoft", "QGemm"))
        return refused_product(g, n);
    else if (sis__node_is(n, "", "ConvInteger") || sis__node_is(n, "", "MatMulInteger"))
        return refused_layer(g, n, &(layer){.columns = sis__node_is(n, "", "MatMulInteger")},
                             (const size_t[]){1, 3, SIZE_MAX, 2});
    else if (sis__node_is(n, "com.microsoft", "QLinearAdd"))
        fits = is_scale(g, n, 1, 1) && is_zero(g, n, 2, 0) && is_scale(g, n, 4, 1) &&
               is_zero(g, n, 5, 0) && is_scale(g, n, 6, 1) && is_zero(g, n, 7, 0);
    return fits ? NULL : computed;
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

/* Are two zero points the same? */
static int same_zero(sis__index *g, const Sis__Onnx__Node *a, const Sis__Onnx__Node *b) {
    sis__decoded d[2];
    if (strcmp(sis__node_input(a, 1), sis__node_input(b, 1)) == 0)
        return 1;
    int one = decode(g, a, 1, SIS__I64, &d[0]), two = decode(g, b, 1, SIS__I64, &d[1]);
    int same = one && two && d[0].count == 1 && d[1].count == 1 &&
               *(const int64_t *)d[0].data == *(const int64_t *)d[1].data;
    free(d[0].owned);
    free(d[1].owned);
    return same;
}

int sis__exact_quant_join(Sis__Onnx__Graph *g) {
    sis__index l;
    int error = sis__index_graph(&l, g);
    for (size_t i = 0; i < g->n_node && !error; i++) {
        Sis__Onnx__Node *n = g->node[i];
        int lifts = sis__node_is(n, "sis", "Lift"),
            casts = sis__node_is(n, "", "Cast") && sis__proto_int(n, "to", 0) == SIS__FLOAT;
        const Sis__Onnx__Node *from =
            lifts || casts ? sis__index_of(&l, sis__node_input(n, 0))->producer : NULL;
        if (!from || !sis__node_is(from, "sis", "Settle"))
            continue;
        if (lifts ? same_zero(&l, n, from) : !*sis__node_input(from, 1))
            error = sis__node_become(n, "Identity", sis__node_input(from, 0));
    }
    sis__index_release(&l);
    return error;
}
