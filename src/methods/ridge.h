/* SPDX-License-Identifier: MIT
 *
 * Weighted ridge regression; see ridge.c.
 */
#ifndef SIS_METHODS_RIDGE_H
#define SIS_METHODS_RIDGE_H

#include <stddef.h>

typedef struct sis__ridge {
    size_t n, q;            /* rows, columns */
    const unsigned char *x; /* (n, q) zeros and ones */
    const double *y;        /* (n) */
    const double *weights;  /* (n) not negative, not all zero */
    double penalty;         /* above 0 */
    double *coefficients;   /* (q) result */
} sis__ridge;

int sis__ridge_fit(const sis__ridge *p);

#endif
