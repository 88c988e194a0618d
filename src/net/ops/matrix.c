/* SPDX-License-Identifier: MIT
 *
 * Operators on whole matrices: Det, and ONNX Runtime's Inverse and CDist (distances of rows, by which converters
 * write nearest neighbours and kernels).
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

/* ---- Det, Inverse: elimination with pivots, in double ------------------------------------------ */

static int square_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int inverse = c->step->op == SIS__OP_INVERSE;
    sis__cx_float(c, 0);
    if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
        sis__cx_fail(c, SIS_E_FORMAT, "matrices that are not square");
    if (c->error)
        return c->error;
    size_t n = x->dims[x->rank - 1];
    if (n > 4096)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "matrices of %zu rows", n);
    c->step->scratch = 2 * n * n * sizeof(double) + 64;
    c->step->flops = (double)x->count * (double)n;
    return sis__cx_output(c, 0, SIS__F32, inverse ? x->rank : x->rank - 2, x->dims);
}

static void swap_rows(double *a, size_t i, size_t j, size_t n) {
    for (size_t k = 0; k < n; k++) {
        double v = a[i * n + k];
        a[i * n + k] = a[j * n + k];
        a[j * n + k] = v;
    }
}

/* Reduces a (n, n) to the unit matrix, does the same to b if there is one; returns the determinant. */
static double eliminate(double *a, double *b, size_t n) {
    double det = 1;
    for (size_t col = 0; col < n; col++) {
        size_t top = col;
        for (size_t i = col + 1; i < n; i++)
            top = fabs(a[i * n + col]) > fabs(a[top * n + col]) ? i : top;
        double pivot = a[top * n + col];
        if (pivot == 0)
            return 0;
        if (top != col) {
            swap_rows(a, top, col, n);
            if (b)
                swap_rows(b, top, col, n);
            det = -det;
        }
        det *= pivot;
        for (size_t k = 0; k < n; k++) {
            a[col * n + k] /= pivot;
            if (b)
                b[col * n + k] /= pivot;
        }
        for (size_t i = b ? 0 : col + 1; i < n; i++) {
            double by = i == col ? 0 : a[i * n + col];
            for (size_t k = 0; by != 0 && k < n; k++) {
                a[i * n + k] -= by * a[col * n + k];
                if (b)
                    b[i * n + k] -= by * b[col * n + k];
            }
        }
    }
    return det;
}

static int square_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0);
    size_t n = x->dims[x->rank - 1], size = n * n;
    int inverse = s->op == SIS__OP_INVERSE;
    double *a = (double *)(void *)r->scratch, *b = inverse ? a + size : NULL;
    for (size_t m = 0; m < (size ? x->count / size : sis__tout(s, r, 0)->count); m++) {
        for (size_t i = 0; i < size; i++)
            a[i] = (double)sis__in(s, r, 0)[m * size + i];
        for (size_t i = 0; b && i < size; i++)
            b[i] = i % (n + 1) == 0;
        double det = eliminate(a, b, n);
        if (!inverse)
            sis__out(s, r, 0)[m] = (float)det;
        for (size_t i = 0; b && i < size; i++)
            sis__out(s, r, 0)[m * size + i] = det != 0 ? (float)b[i] : NAN;
    }
    return SIS_OK;
}

const sis__op sis__op_det = {1, 1, square_shape, square_forward, sis__no_gradient, 0, SIS__MIXES};
const sis__op sis__op_inverse = {1, 1,         square_shape, square_forward, sis__no_gradient,
                                 0, SIS__MIXES};

/* ---- CDist: a (m, k), b (n, k) -> distances (m, n) ---------------------------------------------- */

enum { SQUARES, EUCLIDEAN };

static int cdist_shape(sis__cx *c) {
    static const char *const metrics[] = {"sqeuclidean", "euclidean"};
    const sis__tensor *a = sis__cx_input(c, 0), *b = sis__cx_input(c, 1);
    c->step->p.unary.to = sis__attr_choice(c, "metric", metrics, 2);
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    if (a->rank != 2 || b->rank != 2 || a->dims[1] != b->dims[1])
        sis__cx_fail(c, SIS_E_FORMAT, "rows that do not fit");
    if (c->error)
        return c->error;
    c->step->flops = 3.0 * (double)a->count * (double)b->dims[0];
    return sis__cx_output(c, 0, SIS__F32, 2, (size_t[]){a->dims[0], b->dims[0]});
}

static int cdist_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *a = sis__tin(s, r, 0), *b = sis__tin(s, r, 1);
    size_t n = b->dims[0], width = a->dims[1];
    for (size_t i = 0; i < a->dims[0] * n; i++) {
        const float *x = sis__in(s, r, 0) + i / n * width, *z = sis__in(s, r, 1) + i % n * width;
        double sum = 0;
        for (size_t k = 0; k < width; k++)
            sum += ((double)x[k] - (double)z[k]) * ((double)x[k] - (double)z[k]);
        sis__out(s, r, 0)[i] = (float)(s->p.unary.to == EUCLIDEAN ? sqrt(sum) : sum);
    }
    return SIS_OK;
}

/* d |x - z| = (x - z) / |x - z|, of squares twice the difference */
static int cdist_backward(const sis__step *s, sis__run *r) {
    const sis__tensor *a = sis__tin(s, r, 0), *b = sis__tin(s, r, 1);
    size_t n = b->dims[0], width = a->dims[1];
    for (size_t i = 0; i < a->dims[0] * n; i++) {
        const float *x = sis__in(s, r, 0) + i / n * width, *z = sis__in(s, r, 1) + i % n * width;
        float y = sis__out(s, r, 0)[i], by = sis__dout(s, r, 0)[i];
        by *= s->p.unary.to == SQUARES ? 2 : y > 0 ? 1 / y : 0;
        for (size_t k = 0; k < width; k++) {
            if (sis__din(s, r, 0))
                sis__din(s, r, 0)[i / n * width + k] += by * (x[k] - z[k]);
            if (sis__din(s, r, 1))
                sis__din(s, r, 1)[i % n * width + k] += by * (z[k] - x[k]);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_cdist = {2, 2, cdist_shape, cdist_forward, cdist_backward, 0, SIS__MIXES};
