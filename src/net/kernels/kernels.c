/* SPDX-License-Identifier: MIT
 *
 * Selection of the kernels for this machine, and packing of matrices.
 */
#include "net/kernels/kernels.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/mem.h"

extern const sis__kernels sis__kernels_base, sis__kernels_neon;
#ifdef __x86_64__
extern const sis__kernels sis__kernels_avx2, sis__kernels_avx512;
#endif

static const sis__kernels *const choice[] = {
#ifdef __aarch64__
    &sis__kernels_neon,
#else
    &sis__kernels_base,
#endif
#ifdef __x86_64__
    &sis__kernels_avx2,
    &sis__kernels_avx512,
#endif
    NULL,
};

/* The number of entries of `choice` that run on this machine. */
static size_t usable(void) {
#ifdef __x86_64__
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
        return 1;
    return __builtin_cpu_supports("avx512f") ? 3 : 2;
#else
    return 1;
#endif
}

const sis__kernels *sis__kernels_best(void) {
    return choice[usable() - 1];
}

const sis__kernels *const *sis__kernels_all(void) {
#ifdef __x86_64__
    static const sis__kernels *const one[] = {&sis__kernels_base, NULL};
    static const sis__kernels *const two[] = {&sis__kernels_base, &sis__kernels_avx2, NULL};
    return usable() == 1 ? one : usable() == 2 ? two : choice;
#else
    return choice;
#endif
}

size_t sis__packed_size(const sis__kernels *kn, size_t k, size_t n) {
    if (n > SIZE_MAX - kn->nr)
        return SIZE_MAX;
    size_t wide = (n + kn->nr - 1) / kn->nr * kn->nr;
    return wide && k > SIZE_MAX / sizeof(float) / wide ? SIZE_MAX : k * wide;
}

/* Pack one panel: `cols` columns, from `b` on. Reads follow the contiguous side of b. A transposed
 * b is read in blocks, so that the strided writes stay in the L1 cache. */
static void pack_panel(size_t nr, size_t cols, size_t k, const float *b, size_t b_row, size_t b_col,
                       float *packed) {
    enum { BLOCK = 64 };
    if (cols < nr)
        memset(packed, 0, k * nr * sizeof *packed);
    if (b_col == 1) {
        for (size_t p = 0; p < k; p++)
            memcpy(packed + p * nr, b + p * b_row, cols * sizeof *packed);
        return;
    }
    for (size_t from = 0; from < k; from += BLOCK) {
        size_t to = k - from < BLOCK ? k : from + BLOCK;
        for (size_t q = 0; q < cols; q++)
            for (size_t p = from; p < to; p++)
                packed[p * nr + q] = b[p * b_row + q * b_col];
    }
}

void sis__pack(const sis__kernels *kn, size_t k, size_t n, const float *b, size_t b_row,
               size_t b_col, float *packed) {
    for (size_t j = 0; j < n; j += kn->nr, packed += k * kn->nr)
        pack_panel(kn->nr, n - j < kn->nr ? n - j : kn->nr, k, b + j * b_col, b_row, b_col, packed);
}

size_t sis__packed_left_size(const sis__kernels *kn, size_t m, size_t k) {
    if (m > SIZE_MAX - kn->mr)
        return SIZE_MAX;
    size_t tall = (m + kn->mr - 1) / kn->mr * kn->mr;
    return tall && k > SIZE_MAX / sizeof(float) / tall ? SIZE_MAX : k * tall;
}

/* The index of term p of a product in the weights of a filter. */
static size_t term_at(const sis__filters *w, size_t p) {
    size_t depth = w->channels * w->run, row = p / depth, channel = p % depth / w->run;
    return (channel * w->rows + row) * w->run + p % w->run;
}

void sis__pack_left(const sis__kernels *kn, const sis__filters *w, float *packed) {
    size_t k = w->channels * w->rows * w->run, piece = sis__piece_of(k, w->rows);
    for (size_t from = 0; from < k; from += piece) {
        size_t depth = k - from < piece ? k - from : piece;
        for (size_t i = 0; i * kn->mr < w->m; i++) {
            size_t first = sis__strip_start(w->m, kn->mr, i);
            size_t last = sis__strip_start(w->m, kn->mr, i + 1);
            for (size_t p = from; p < from + depth; p++) {
                const float *a = w->at + term_at(w, p);
                for (size_t r = first; r < first + kn->mr; r++)
                    *packed++ = r < last ? a[r * k] : 0.0f;
            }
        }
    }
}

/* G (a, b, c), for G = (1, 0, 0), (1, 1, 1) / 2, (1, -1, 1) / 2, (0, 0, 1). */
static void tile_three(const double *x, size_t step, double *y, size_t to) {
    double a = x[0], b = x[step], c = x[2 * step];
    y[0] = a;
    y[to] = 0.5 * (a + b + c);
    y[2 * to] = 0.5 * (a - b + c);
    y[3 * to] = c;
}

float *sis__tile_weights(const float *g, size_t n) {
    float *to = SIS_NEW_RAW(float, SIS__TILE_SUMS *n);
    for (size_t k = 0; to && k < n; k++, g += SIS__TILE_KERNEL) {
        double wide[SIS__TILE_KERNEL], half[12], all[16];
        for (size_t i = 0; i < SIS__TILE_KERNEL; i++)
            wide[i] = (double)g[i];
        for (size_t i = 0; i < 3; i++)
            tile_three(wide + i, 3, half + i, 3);
        for (size_t i = 0; i < 4; i++)
            tile_three(half + 3 * i, 1, all + 4 * i, 1);
        for (size_t i = 0; i < SIS__TILE_SUMS; i++)
            to[i * n + k] = (float)all[i];
    }
    return to;
}

size_t sis__cell_room(const sis__kernels *kn, size_t gates, size_t hidden) {
    size_t units = hidden % kn->nr == 0 ? kn->nr : hidden, late = gates == 3 ? units : 0;
    size_t early = gates * units - late, nr = kn->nr;
    return kn->mr * ((early + nr - 1) / nr + (late + nr - 1) / nr) * nr;
}

size_t sis__attention_room(const sis__kernels *kn, size_t n, size_t k, size_t v) {
    return (n + (k > v ? k : v)) * kn->nr;
}

size_t sis__depthwise_room(sis__depthwise *p) {
    size_t seen[2];
    for (size_t a = 0; a < 2; a++)
        seen[a] = (p->out[a] - 1) * p->stride[a] + (p->kernel[a] - 1) * p->dilation[a] + 1;
    p->lines = seen[0];
    p->line = seen[1];
    p->ahead = p->lines * p->line < 512 ? 8 : 1;
    return (p->ahead + 1) * p->lines * p->line + 2 * 64; /* up to 4 vectors beyond the end are read
                                                          * or written */
}
