/* SPDX-License-Identifier: MIT
 *
 * Matrix products of operands that are not packed in advance: gradients, and MatMul of two computed
 * matrices.
 */
#ifndef SIS_NET_KERNELS_PRODUCT_H
#define SIS_NET_KERNELS_PRODUCT_H

#include <stddef.h>

/* A matrix anywhere in memory: element (i, j) is at[i * row + j * col]. */
typedef struct sis__operand {
    const float *at;
    size_t row, col;
} sis__operand;

/* c (m, n), rows ldc apart, += alpha * a (m, k) . b (k, n). */
typedef struct sis__product {
    size_t m, n, k;
    sis__operand a, b;
    float alpha;
    float *c;
    size_t ldc;
} sis__product;

/* scratch: sis__product_scratch(k, n) bytes. */
void sis__product_add(const sis__product *p, void *scratch);
size_t sis__product_scratch(size_t k, size_t n);

#endif
