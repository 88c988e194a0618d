/* SPDX-License-Identifier: MIT
 *
 * Pack the right side, then multiply. See product.h.
 */
#include "net/kernels/product.h"

#include <stdint.h>

#include "net/kernels/kernels.h"

size_t sis__product_scratch(size_t k, size_t n) {
    size_t size = sis__packed_size(sis__kernels_best(), k, n);
    return size > SIZE_MAX / sizeof(float) ? SIZE_MAX : size * sizeof(float);
}

void sis__product_add(const sis__product *p, void *scratch) {
    const sis__kernels *kn = sis__kernels_best();
    float *packed = (float *)scratch;
    sis__pack(kn, p->k, p->n, p->b.at, p->b.row, p->b.col, packed);
    if (p->alpha != 1.0f)
        for (size_t i = 0, n = sis__packed_size(kn, p->k, p->n); i < n; i++)
            packed[i] *= p->alpha;
    kn->gemm(p->m, p->n, p->k, p->a.at, p->a.row, p->a.col, packed, p->c, p->ldc);
}
