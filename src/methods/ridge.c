/* SPDX-License-Identifier: MIT
 *
 * Weighted ridge regression on rows of zeros and ones, with an intercept that is not penalised:
 *
 *     minimise  sum over s of w_s (y_s - b - x_s . c)^2  +  penalty * |c|^2
 *
 * Centring by the weighted means removes the intercept and leaves the normal equations of the q
 * columns, symmetric and positive definite, solved by Cholesky decomposition. Cost: n * k^2 / 2
 * additions for rows with k ones (no products: they are ones), q^3 / 6 multiply-adds; memory: q^2.
 *
 * The decomposition proceeds by blocks of columns, so that the rows of a block stay in the cache
 * while all rows below are updated. For the usual few hundred columns it takes milliseconds and
 * gives the same bits on every machine, which LAPACK does not.
 */
#include "methods/ridge.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { BLOCK = 48 };

/* Four sums at a time: the compiler may not reorder one. */
static double dot(const double *a, const double *b, size_t n) {
    double s[4] = {0};
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (size_t k = 0; k < 4; k++)
            s[k] += a[i + k] * b[i + k];
    for (; i < n; i++)
        s[0] += a[i] * b[i];
    return (s[0] + s[1]) + (s[2] + s[3]);
}

/* a (q, q), lower half, to its factor L in place: a = L L'. */
static int factorise(double *a, size_t q) {
    for (size_t first = 0; first < q; first += BLOCK) {
        size_t end = first + BLOCK < q ? first + BLOCK : q;
        for (size_t i = first; i < q; i++)
            for (size_t j = first; j < end && j <= i; j++) {
                double rest = a[i * q + j] - dot(a + i * q, a + j * q, j);
                if (i > j)
                    a[i * q + j] = rest / a[j * q + j];
                else if (!(rest > 0) || isinf(rest))
                    return sis__fail(SIS_E_MODEL, "the scores of the random masks cannot be "
                                                  "fitted: they are not finite or too large");
                else
                    a[i * q + j] = sqrt(rest);
            }
    }
    return SIS_OK;
}

/* Solve L L' x = b in place. */
static void substitute(const double *l, size_t q, double *b) {
    for (size_t i = 0; i < q; i++)
        b[i] = (b[i] - dot(l + i * q, b, i)) / l[i * q + i];
    for (size_t i = q; i-- > 0;) {
        b[i] /= l[i * q + i];
        for (size_t j = 0; j < i; j++)
            b[j] -= l[i * q + j] * b[i];
    }
}

/* a += w x x' and b += w y x and mean += w x, for one row of zeros and ones. */
static void add_row(const sis__ridge *p, size_t s, double *a, size_t *ones, double *mean) {
    const unsigned char *x = p->x + s * p->q;
    double w = p->weights[s];
    size_t n = 0;
    for (size_t j = 0; j < p->q; j++)
        if (x[j])
            ones[n++] = j;
    for (size_t i = 0; i < n; i++) {
        double *row = a + ones[i] * p->q;
        for (size_t j = 0; j <= i; j++)
            row[ones[j]] += w;
        mean[ones[i]] += w;
        p->coefficients[ones[i]] += w * p->y[s];
    }
}

/* Normal equations of the centred problem: a (q, q) lower half, right side to the coefficients. */
static void assemble(const sis__ridge *p, double *a, size_t *ones, double *mean) {
    double total = 0, y = 0;
    memset(p->coefficients, 0, p->q * sizeof *p->coefficients);
    for (size_t s = 0; s < p->n; s++) {
        add_row(p, s, a, ones, mean);
        total += p->weights[s];
        y += p->weights[s] * p->y[s];
    }
    for (size_t j = 0; j < p->q; j++) {
        p->coefficients[j] -= mean[j] * y / total;
        mean[j] /= sqrt(total);
    }
    for (size_t i = 0; i < p->q; i++) {
        for (size_t j = 0; j <= i; j++)
            a[i * p->q + j] -= mean[i] * mean[j];
        a[i * p->q + i] += p->penalty;
    }
}

int sis__ridge_fit(const sis__ridge *p) {
    double *a = (double *)sis__alloc(p->q, p->q * sizeof *a), *mean = SIS_NEW(double, p->q);
    size_t *ones = SIS_NEW(size_t, p->q);
    int error = a && mean && ones ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK) {
        assemble(p, a, ones, mean);
        error = factorise(a, p->q);
    }
    if (error == SIS_OK)
        substitute(a, p->q, p->coefficients);
    free(a);
    free(mean);
    free(ones);
    return error;
}
