/* SPDX-License-Identifier: MIT
 *
 * Kernels against their naive versions, for every instruction set of this machine: products to the
 * bit for any shape; functions to a few units in the last place, and equal at every position of an
 * array.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "net/kernels/product.h"
#include "support_kernels.h"

static float *fill(sis__rng *r, size_t n) {
    float *v = (float *)malloc((n ? n : 1) * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)sis__rng_normal(r);
    return v;
}

/* One sum from the first to the last term, with fused multiply-add or with rounded products. */
static float sum_of(const float *a, size_t a_col, const float *b, size_t n, size_t k, float c,
                    int fused) {
    for (size_t p = 0; p < k; p++) {
        volatile float product = a[p * a_col] * b[p * n];
        c = fused ? fmaf(a[p * a_col], b[p * n], c) : c + product;
    }
    return c;
}

static int same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

typedef struct {
    size_t m, n, k;
} dims;

static void check_product(const sis__kernels *kn, const dims *d, int transposed, int *fused) {
    sis__rng r;
    sis__rng_init(&r, d->m * 31 + d->n * 7 + d->k);
    float *a = fill(&r, d->m * d->k), *b = fill(&r, d->k * d->n), *c = fill(&r, d->m * (d->n + 3));
    float *want = (float *)malloc(d->m * (d->n + 3) * sizeof *want);
    float *packed = (float *)malloc(sis__packed_size(kn, d->k, d->n) * sizeof *packed + 1);
    size_t row = transposed ? 1 : d->k, col = transposed ? d->m : 1;
    memcpy(want, c, d->m * (d->n + 3) * sizeof *c);
    sis__pack(kn, d->k, d->n, b, d->n, 1, packed);
    kn->gemm(d->m, d->n, d->k, a, row, col, packed, c, d->n + 3);
    for (size_t i = 0; i < d->m; i++)
        for (size_t j = 0; j < d->n + 3; j++) {
            size_t at = i * (d->n + 3) + j;
            if (j >= d->n) { /* gaps between rows are unchanged */
                assert_true(same_bits(c[at], want[at]));
                continue;
            }
            float one = sum_of(a + i * row, col, b + j, d->n, d->k, want[at], 1);
            float two = sum_of(a + i * row, col, b + j, d->n, d->k, want[at], 0);
            if (!same_bits(one, two) && *fused < 0)
                *fused = same_bits(c[at], one);
            if (!same_bits(c[at], *fused == 0 ? two : one))
                fail_msg("%s %zu x %zu x %zu: (%zu, %zu) is %.9g, not %.9g", kn->name, d->m, d->n,
                         d->k, i, j, (double)c[at], (double)(*fused == 0 ? two : one));
        }
    free(a);
    free(b);
    free(c);
    free(want);
    free(packed);
}

static void products_are_sums_in_order_to_the_bit(void **state) {
    (void)state;
    const dims shapes[] = {{1, 1, 1},    {1, 33, 5},   {2, 7, 300},  {5, 64, 17},
                           {6, 16, 256}, {7, 31, 257}, {12, 32, 9},  {13, 65, 600},
                           {25, 96, 1},  {3, 5, 0},    {11, 48, 33}, {24, 10, 513}};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        int fused = -1;
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (int t = 0; t < 2; t++)
                check_product(*kn, &shapes[i], t, &fused);
        printf("%s: %s\n", (*kn)->name, fused ? "fused" : "rounded products");
    }
}

/* Dense layers skip columns that are 0 in consecutive rows. */
static void omitted_zeros_change_nothing(void **state) {
    (void)state;
    const dims shapes[] = {{1, 40, 1}, {5, 70, 30}, {12, 64, 256}, {30, 100, 600}, {25, 33, 257}};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (unsigned share = 0; share <= 10; share += 2) {
                dims d = shapes[i];
                sis__rng r;
                sis__rng_init(&r, 100 * i + share);
                float *a = fill(&r, d.m * d.k), *b = fill(&r, d.k * d.n);
                float *right = fill(&r, sis__packed_size(*kn, d.k, d.n));
                float *want = fill(&r, d.m * d.n), *got = fill(&r, d.m * d.n);
                memcpy(got, want, d.m * d.n * sizeof *got);
                for (size_t p = 0; p < d.k; p++)
                    for (size_t k = 0, gone = sis__rng_below(&r, 10) < share; k < d.m; k++)
                        if (gone || sis__rng_below(&r, 5) == 0)
                            a[k * d.k + p] = k % 2 ? 0.0f : -0.0f;
                sis__pack(*kn, d.k, d.n, b, d.n, 1, right);
                (*kn)->gemm(d.m, d.n, d.k, a, d.k, 1, right, want, d.n);
                (*kn)->dense(d.m, d.n, d.k, a, d.k, 1, right, got, d.n);
                assert_memory_equal(got, want, d.m * d.n * sizeof *got);
                free(a);
                free(b);
                free(right);
                free(want);
                free(got);
            }
}

/* The other rows decide which zeros are skipped, but the sum of a row does not depend on them,
 * not even the sign of a zero: products that underflow leave -0 in sums that begin with 0. */
static void sums_do_not_depend_on_other_rows(void **state) {
    (void)state;
    enum { N = 70, K = 2 };
    const float a[2 * K] = {-1e-30f, 0, 1, 1};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        float b[K * N], alone[N] = {0}, beside[2 * N] = {0};
        float *right = (float *)malloc(sis__packed_size(*kn, K, N) * sizeof *right);
        for (size_t i = 0; i < K * N; i++)
            b[i] = i < N ? 1e-30f : 1;
        sis__pack(*kn, K, N, b, N, 1, right);
        (*kn)->dense(1, N, K, a, K, 1, right, alone, N);
        (*kn)->dense(2, N, K, a, K, 1, right, beside, N);
        assert_memory_equal(alone, beside, sizeof alone);
        free(right);
    }
}

/* Both sides packed, with initial values: the same sums. */
static void packed_products_are_the_same(void **state) {
    (void)state;
    const dims shapes[] = {{1, 1, 1},     {5, 70, 3},     {12, 32, 256},
                           {13, 33, 257}, {30, 100, 600}, {7, 9, 0}};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
            dims d = shapes[i];
            sis__rng r;
            sis__rng_init(&r, i);
            float *a = fill(&r, d.m * d.k), *b = fill(&r, d.k * d.n + 64), *start = fill(&r, d.m);
            float *right = fill(&r, sis__packed_size(*kn, d.k, d.n));
            int place[600];
            for (size_t p = 0; p < d.k; p++)
                place[p] = (int)(p * d.n);
            float *left = fill(&r, sis__packed_left_size(*kn, d.m, d.k));
            float *want = fill(&r, d.m * d.n), *got = fill(&r, d.m * d.n);
            sis__pack(*kn, d.k, d.n, b, d.n, 1, right);
            sis__pack_left(*kn, &(sis__filters){a, d.m, d.k, 1, 1}, left);
            for (int with = 0; with < 2; with++) {
                for (size_t j = 0; j < d.m * d.n; j++)
                    want[j] = with ? start[j / d.n] : 0;
                (*kn)->gemm(d.m, d.n, d.k, a, d.k, 1, right, want, d.n);
                sis__packed_product p = {d.m, d.n, d.k,  1, left, right, with ? start : NULL,
                                         got, d.n, NULL, 0, 0};
                (*kn)->gemm_packed(&p);
                assert_memory_equal(got, want, d.m * d.n * sizeof *got);
                memset(got, 0, d.m * d.n * sizeof *got);
                p.b = b; /* rows where they lie */
                p.place = place;
                (*kn)->gemm_packed(&p);
                assert_memory_equal(got, want, d.m * d.n * sizeof *got);
            }
            free(a);
            free(b);
            free(start);
            free(left);
            free(right);
            free(want);
            free(got);
        }
}

/* Weights (m, channels, rows, run) and patches (rows, channels, run; n): one sum for each row of
 * the kernel, added up in order. */
static void check_parts(const sis__kernels *kn, const sis__filters *shape, size_t n) {
    sis__rng r;
    sis__rng_init(&r, n);
    size_t m = shape->m, depth = shape->channels * shape->run, k = depth * shape->rows;
    float *w = fill(&r, m * k), *b = fill(&r, k * n), *start = fill(&r, m), *got = fill(&r, m * n);
    float *left = fill(&r, sis__packed_left_size(kn, m, k)), *turned = fill(&r, m * k);
    float *right = fill(&r, sis__packed_size(kn, k, n)), *part = fill(&r, m * n);
    float *want = fill(&r, m * n);
    sis__filters f = *shape;
    f.at = w;
    for (size_t i = 0; i < m * k; i++) {
        size_t run = i % f.run, row = i / f.run % f.rows, c = i / f.run / f.rows % f.channels;
        turned[i / k * k + (row * f.channels + c) * f.run + run] = w[i];
    }
    for (size_t row = 0; row < f.rows; row++) {
        for (size_t i = 0; i < m * n; i++)
            part[i] = row ? 0 : start[i / n];
        sis__pack(kn, depth, n, b + row * depth * n, n, 1, right);
        kn->gemm(m, n, depth, turned + row * depth, k, 1, right, part, n);
        for (size_t i = 0; i < m * n; i++)
            want[i] = row ? want[i] + part[i] : part[i];
    }
    sis__pack(kn, k, n, b, n, 1, right);
    sis__pack_left(kn, &f, left);
    kn->gemm_packed(
        &(sis__packed_product){m, n, k, f.rows, left, right, start, got, n, NULL, 0, 0});
    assert_memory_equal(got, want, m * n * sizeof *got);
    float *all[] = {w, b, start, got, left, turned, right, part, want};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void rows_of_kernels_have_separate_sums(void **state) {
    (void)state;
    const sis__filters shapes[] = {{NULL, 64, 32, 3, 3}, {NULL, 5, 1, 5, 5},
                                   {NULL, 13, 2, 9, 3},  {NULL, 1, 1, 2, 1},
                                   {NULL, 12, 90, 2, 3}, {NULL, 7, 3, 1, 100}};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
            for (size_t n = 1; n < 100; n += 31)
                check_parts(*kn, &shapes[i], n);
    check_parts(&naive_kernels, &shapes[0], 7);
}

/* Rows at arbitrary addresses, their terms at offsets, from initial values or from the present
 * output. */
static void placed_products_are_the_same(void **state) {
    (void)state;
    const dims shapes[] = {{1, 1, 1},   {12, 32, 9},  {13, 64, 96}, {40, 16, 3},  {7, 33, 300},
                           {25, 10, 5}, {100, 48, 7}, {3, 8, 1},    {50, 300, 48}};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++)
            for (int mode = 0; mode < 4; mode++) {
                dims d = shapes[s];
                sis__rng r;
                sis__rng_init(&r, s);
                float *a = fill(&r, d.m * d.k * 2), *b = fill(&r, d.k * d.n),
                      *start = fill(&r, d.n);
                float *right = fill(&r, sis__packed_size(*kn, d.k, d.n));
                float *got = fill(&r, d.m * d.n), *want = fill(&r, d.m * d.n), *to[100];
                const float *from[100];
                int offset[300];
                for (size_t i = 0; i < d.m; i++) {
                    from[i] = a + (d.m - 1 - i) * d.k * 2;
                    to[i] = got + i * d.n;
                    for (size_t j = 0; j < d.n; j++)
                        want[i * d.n + j] = mode & 1 ? start[j] : got[i * d.n + j];
                }
                for (size_t p = 0; p < d.k; p++)
                    offset[p] = (int)(2 * p);
                sis__pack(*kn, d.k, d.n, b, d.n, 1, right);
                for (size_t i = 0; i < d.m; i++)
                    (*kn)->gemm(1, d.n, d.k, from[i], 0, mode & 2 ? 2 : 1, right, want + i * d.n,
                                d.n);
                (*kn)->gemm_placed(&(sis__placed_product){d.m, d.n, d.k, from,
                                                          mode & 2 ? offset : NULL, right,
                                                          mode & 1 ? start : NULL, to});
                assert_memory_equal(got, want, d.m * d.n * sizeof *got);
                float *all[] = {a, b, start, right, got, want};
                for (size_t i = 0; i < sizeof all / sizeof *all; i++)
                    free(all[i]);
            }
}

/* Columns in separate lines, as in maps with padding, give the same results as contiguous ones. */
static void check_lines(const sis__kernels *kn, size_t line, size_t lines, size_t pitch) {
    enum { M = 17, K = 12, PARTS = 3 };
    size_t n = line * lines, row = lines * pitch;
    sis__rng r;
    sis__rng_init(&r, n);
    float *w = fill(&r, M * K), *apart = fill(&r, K * row), *b = fill(&r, K * n);
    float *left = fill(&r, sis__packed_left_size(kn, M, K)), *start = fill(&r, M);
    float *got = fill(&r, M * n), *want = fill(&r, M * n);
    int place[K], places_apart[K];
    for (size_t k = 0; k < K; k++) {
        place[k] = (int)(k * n);
        places_apart[k] = (int)(k * row);
        for (size_t j = 0; j < n; j++)
            b[k * n + j] = apart[k * row + j / line * pitch + j % line];
    }
    sis__pack_left(kn, &(sis__filters){w, M, K / PARTS, PARTS, 1}, left);
    sis__packed_product p = {M, n, K, PARTS, left, b, start, want, n, place, 0, 0};
    for (size_t j = 0; j < n; j += kn->nr) { /* whole panels: nothing follows the last */
        sis__packed_product panel = p;
        panel.n = kn->nr;
        panel.b = b + j;
        panel.c = want + j;
        kn->gemm_packed(&panel);
    }
    p.b = apart;
    p.c = got;
    p.place = places_apart;
    p.line = line;
    p.pitch = pitch;
    kn->gemm_packed(&p);
    assert_memory_equal(got, want, M * n * sizeof *got);
    float *all[] = {w, apart, b, left, start, got, want};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void lines_are_read_in_place(void **state) {
    (void)state;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        size_t nr = (*kn)->nr, lanes = nr / 2;
        const size_t fill[] = {lanes / 2, lanes, nr, 3 * lanes, 2 * nr};
        for (size_t i = 0; i < sizeof fill / sizeof *fill; i++) {
            assert_true(sis__takes_lines(nr, fill[i]));
            check_lines(*kn, fill[i], 8, fill[i] + i);
        }
        assert_false(sis__takes_lines(nr, 0) || sis__takes_lines(nr, lanes + 1));
    }
}

static void naive_products_agree(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 1);
    float *a = fill(&r, 9 * 20), *b = fill(&r, 20 * 11), *packed = fill(&r, 20 * 64);
    float want[99] = {0}, got[99] = {0};
    sis__pack(&naive_kernels, 20, 11, b, 11, 1, packed);
    naive_kernels.gemm(9, 11, 20, a, 20, 1, packed, want, 11);
    void *scratch = malloc(sis__product_scratch(20, 11));
    float left[180], again[99];
    sis__pack_left(&naive_kernels, &(sis__filters){a, 9, 20, 1, 1}, left);
    naive_kernels.gemm_packed(
        &(sis__packed_product){9, 11, 20, 1, left, packed, NULL, again, 11, NULL, 0, 0});
    assert_memory_equal(again, want, sizeof want);
    sis__product_add(&(sis__product){9, 11, 20, {a, 20, 1}, {b, 11, 1}, 2.0f, got, 11}, scratch);
    for (size_t i = 0; i < 99; i++)
        assert_true(fabsf(got[i] - 2 * want[i]) < 1e-5f);
    free(scratch);
    free(a);
    free(b);
    free(packed);
}

/* ---- Functions ----------------------------------------------------------------------------- */

typedef void (*map)(const float *x, float *y, size_t n);

static double exact(int which, double x) {
    return which == 0 ? exp(x) : which == 1 ? 1 / (1 + exp(-x)) : tanh(x);
}

static map pick(const sis__kernels *kn, int which) {
    return which == 0 ? kn->exp : which == 1 ? kn->sigmoid : kn->tanh;
}

static void functions_are_accurate(void **state) {
    (void)state;
    static const char *const names[] = {"exp", "sigmoid", "tanh"};
    enum { N = 400000 };
    float *x = (float *)malloc(N * sizeof *x), *y = (float *)malloc(N * sizeof *y);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (int which = 0; which < 3; which++) {
            double worst = 0;
            for (size_t i = 0; i < N; i++)
                x[i] = (float)((double)i / N * 174 - 86.5);
            pick(*kn, which)(x, y, N);
            for (size_t i = 0; i < N; i++) {
                double want = exact(which, x[i]), error = fabs(y[i] - want) / fabs(want);
                worst = error > worst ? error : worst;
            }
            printf("%s %s: relative error %.2g\n", (*kn)->name, names[which], worst);
            assert_true(worst < 3e-7);
        }
    free(x);
    free(y);
}

static void functions_handle_extreme_arguments(void **state) {
    (void)state;
    const float x[] = {0.0f,  -0.0f,  INFINITY, -INFINITY, NAN,
                       1e30f, -1e30f, 89.0f,    -110.0f,   1e-30f};
    float y[10];
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        (*kn)->exp(x, y, 10);
        assert_true(y[0] == 1 && y[1] == 1 && isinf(y[2]) && y[3] == 0 && isnan(y[4]));
        assert_true(isinf(y[5]) && y[6] == 0 && isinf(y[7]) && y[8] == 0 && y[9] == 1);
        (*kn)->sigmoid(x, y, 10);
        assert_true(y[0] == 0.5f && y[2] == 1 && y[3] == 0 && isnan(y[4]) && y[5] == 1);
        assert_true(y[6] == 0 && y[9] == 0.5f);
        (*kn)->tanh(x, y, 10);
        assert_true(y[0] == 0 && y[2] == 1 && y[3] == -1 && isnan(y[4]) && y[5] == 1);
        assert_true(y[6] == -1 && y[9] == 1e-30f);
    }
}

/* The same bits at every position of an array of any length. */
static void functions_do_not_depend_on_the_position(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 5);
    float *x = fill(&r, 100), y[100], one;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (int which = 0; which < 3; which++)
            for (size_t n = 1; n <= 100; n++) {
                pick(*kn, which)(x, y, n);
                for (size_t i = 0; i < n; i++) {
                    pick(*kn, which)(x + i, &one, 1);
                    assert_true(same_bits(one, y[i]));
                }
            }
    free(x);
}

static void erf_is_accurate_also_at_extremes(void **state) {
    (void)state;
    enum { N = 200000 };
    float *x = (float *)malloc(N * sizeof *x), *y = (float *)malloc(N * sizeof *y), one;
    const float odd[] = {0.0f, -0.0f, INFINITY, -INFINITY, NAN, 1e30f, -1e30f, 1e-30f};
    for (size_t i = 0; i < N; i++)
        x[i] = (float)((double)i / N * 12 - 6);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        (*kn)->erf(x, y, N);
        for (size_t i = 0; i < N; i++)
            assert_true(fabs(y[i] - erf((double)x[i])) <= 2e-7 * fmin(1, fabs(1.2 * x[i]) + 1e-30));
        for (size_t i = 0; i < 100; i++) {
            (*kn)->erf(x + i * 999, &one, 1);
            assert_true(same_bits(one, y[i * 999]));
        }
        (*kn)->erf(odd, y, 8);
        assert_true(y[0] == 0 && y[1] == 0 && y[2] == 1 && y[3] == -1 && isnan(y[4]));
        assert_true(y[5] == 1 && y[6] == -1 && y[7] > 1.1e-30f && y[7] < 1.2e-30f);
    }
    free(x);
    free(y);
}

/* Operations of the machine: the bits of the naive ones, at every position. */
static void rows_are_computed_like_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 21);
    float *a = fill(&r, 100), *b = fill(&r, 100), y[100], want[100];
    const sis__kernels *naive = &naive_kernels;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= 100; n++)
            for (size_t k = 0; k < 24; k++) {
                size_t sa = k & 1, sb = k >> 1 & 1;
                sis__arithmetic *const fast[] = {(*kn)->add, (*kn)->sub, (*kn)->mul,
                                                 (*kn)->div, (*kn)->max, (*kn)->min};
                sis__arithmetic *const slow[] = {naive->add, naive->sub, naive->mul,
                                                 naive->div, naive->max, naive->min};
                a[17] = k < 16 ? a[16] : NAN;
                b[33] = k < 16 ? b[16] : NAN;
                fast[k / 4](a, sa, b, sb, y, n);
                slow[k / 4](a, sa, b, sb, want, n);
                assert_memory_equal(y, want, n * sizeof *y);
                assert_true(k >= 16 || (*kn)->sum(a, n) == naive->sum(a, n));
            }
    free(a);
    free(b);
}

/* Within rounding of the naive one; a row does not depend on other rows, nor on values whose
 * exponential is 0. */
static void softmax_ignores_other_rows_and_zeros(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 22);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= 70; n += 3) {
            float *x = fill(&r, 11 * n), y[11 * 70], want[11 * 70], one[70], wide[140], sparse[140];
            for (size_t i = 0; i < n; i++)
                x[3 * n + i] = -INFINITY;
            (*kn)->softmax(x, y, 11, n);
            naive_kernels.softmax(x, want, 11, n);
            for (size_t i = 0; i < 11 * n; i++)
                assert_true(fabsf(y[i] - want[i]) <= 5e-7f);
            for (size_t row = 0; row < 11; row++) {
                (*kn)->softmax(x + row * n, one, 1, n);
                assert_memory_equal(one, y + row * n, n * sizeof *one);
                for (size_t i = 0; i < n; i++) {
                    wide[2 * i] = x[row * n + i];
                    wide[2 * i + 1] = x[row * n + i] - 10000;
                }
                (*kn)->softmax(wide, sparse, 1, 2 * n);
                for (size_t i = 0; row != 3 && i < n; i++)
                    assert_true(same_bits(sparse[2 * i], one[i]) && sparse[2 * i + 1] == 0);
            }
            free(x);
        }
}

/* Moments and normalised values: to the bit on any machine. */
static void standardised_rows_equal_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 24);
    const sis__kernels *naive = &naive_kernels;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= 70; n++) {
            float *x = fill(&r, n), y[70], want[70];
            double mean = naive->sum(x, n) / (double)n;
            assert_true((*kn)->sum(x, n) == naive->sum(x, n));
            assert_true((*kn)->squares(x, mean, n) == naive->squares(x, mean, n));
            sis__standard t = {mean, 1.7, x[0], x[n - 1]};
            (*kn)->standardize(&t, x, y, n);
            naive->standardize(&t, x, want, n);
            assert_memory_equal(y, want, n * sizeof *y);
            free(x);
        }
}

/* Random planes, strides, dilations, paddings: within rounding of the naive version; to the bit
 * if it also fuses products. */
static void check_depthwise(const sis__kernels *kn, sis__rng *r) {
    sis__depthwise p = {.channels = 1 + sis__rng_below(r, 3), .times = 1 + sis__rng_below(r, 2)};
    p.planes = p.channels * (1 + sis__rng_below(r, 2));
    p.relu = (int)sis__rng_below(r, 2);
    size_t usual = sis__rng_below(r, 2), step = 1 + sis__rng_below(r, 2); /* three by three */
    size_t wide = sis__rng_below(r, 2) ? 50 : 9;
    for (size_t a = 0; a < 2; a++) {
        p.kernel[a] = usual ? 3 : 1 + sis__rng_below(r, 5);
        p.stride[a] = usual ? step : 1 + sis__rng_below(r, 3);
        p.dilation[a] = usual ? 1 : 1 + sis__rng_below(r, 2);
        p.pad[a] = (ptrdiff_t)sis__rng_below(r, 4) - 1;
        p.out[a] = 1 + sis__rng_below(r, a ? wide : 9);
        size_t seen = (p.out[a] - 1) * p.stride[a] + (p.kernel[a] - 1) * p.dilation[a] + 1;
        p.in[a] = seen > 3 ? seen - sis__rng_below(r, 3) : seen + 1;
    }
    size_t n = p.planes * p.times * p.out[0] * p.out[1];
    p.x = fill(r, p.planes * p.in[0] * p.in[1]);
    p.w = fill(r, p.channels * p.times * p.kernel[0] * p.kernel[1]);
    p.start = sis__rng_below(r, 2) ? fill(r, p.channels * p.times) : NULL;
    p.room = fill(r, sis__depthwise_room(&p));
    float *y = p.y = fill(r, n), *want = fill(r, n);
    kn->depthwise(&p);
    p.y = want;
    naive_kernels.depthwise(&p);
    for (size_t i = 0; i < n; i++)
        assert_true(strcmp(kn->name, "base") == 0 ? fabsf(y[i] - want[i]) <= 1e-5f
                                                  : same_bits(y[i], want[i]));
    free((void *)(uintptr_t)p.x);
    free((void *)(uintptr_t)p.w);
    free((void *)(uintptr_t)p.start);
    free(p.room);
    free(y);
    free(want);
}

static void depthwise_convolutions_equal_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 25);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (int i = 0; i < 400; i++)
            check_depthwise(*kn, &r);
}

/* Random windows up to the end of the planes: to the bit, and nothing outside is written or
 * (sanitized) read. */
static void check_pooled(const sis__kernels *kn, sis__rng *r, int average) {
    sis__pooled p = {.divisor = 7};
    size_t in[3], out = 1;
    for (size_t a = 0; a < 3; a++) {
        p.kernel[a] = 1 + sis__rng_below(r, a ? 4 : 2);
        p.stride[a] = 1 + sis__rng_below(r, a == 2 ? 20 : 3);
        p.stride[a] = sis__rng_below(r, 2) ? 1 + p.stride[a] % 4 : p.stride[a];
        p.dilation[a] = 1 + sis__rng_below(r, 2);
        p.out[a] = 1 + sis__rng_below(r, a == 2 ? 40 : 3);
        in[a] = (p.out[a] - 1) * p.stride[a] + (p.kernel[a] - 1) * p.dilation[a] + 1;
    }
    p.line = in[2];
    p.slice = in[1] * in[2];
    p.y_line = p.out[2] + sis__rng_below(r, 2);
    p.y_slice = p.out[1] * p.y_line + sis__rng_below(r, 2);
    out = p.out[0] * p.y_slice;
    float *x = fill(r, in[0] * p.slice), *y = fill(r, out), *want = malloc(out * sizeof *want);
    memcpy(want, y, out * sizeof *want);
    if (sis__rng_below(r, 4) == 0)
        x[sis__rng_below(r, in[0] * p.slice)] = average ? INFINITY : NAN;
    p.x = x;
    p.y = y;
    (average ? kn->pool_average : kn->pool_max)(&p);
    p.y = want;
    (average ? naive_kernels.pool_average : naive_kernels.pool_max)(&p);
    assert_memory_equal(y, want, out * sizeof *y);
    free(x);
    free(y);
    free(want);
}

static void pooled_windows_equal_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 26);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t i = 0; i < rounds(2000); i++)
            check_pooled(*kn, &r, (int)(i % 2));
}

/* Scores (m, n) by separate products, steps and softmax. */
static void attend_by_parts(const sis__kernels *kn, const sis__attention *a, float *scores) {
    float *packed = malloc(sis__packed_size(kn, a->n + a->k, a->n + a->v) * sizeof *packed);
    float *y = calloc(a->m * a->v, sizeof *y);
    memset(scores, 0, a->m * a->n * sizeof *scores);
    sis__pack(kn, a->k, a->n, a->keys.at, a->keys.col, a->keys.row, packed);
    kn->gemm(a->m, a->n, a->k, a->q.at, a->q.row, a->q.col, packed, scores, a->n);
    for (size_t t = 0; t < a->n_steps; t++)
        for (size_t i = 0; i < a->m * a->n; i++) {
            const sis__score_step *step = &a->steps[t];
            size_t at = i / a->n * step->row + i % a->n * step->col;
            if (step->how == SIS__SCORES_TIMES)
                scores[i] *= step->number;
            else if (step->how == SIS__SCORES_OVER)
                scores[i] /= step->number;
            else if (step->how == SIS__SCORES_PLUS)
                scores[i] += step->map ? step->map[at] : step->number;
            else if (step->hidden[at])
                scores[i] = step->number;
        }
    kn->softmax(scores, scores, a->m, a->n);
    sis__pack(kn, a->n, a->v, a->values.at, a->values.row, a->values.col, packed);
    kn->gemm(a->m, a->v, a->n, scores, a->n, 1, packed, y, a->v);
    for (size_t i = 0; i < a->m * a->v; i++)
        assert_true(same_bits(y[i], a->y[i / a->v * a->y_row + i % a->v * a->y_col]));
    free(packed);
    free(y);
}

static void check_attention(const sis__kernels *kn, sis__rng *r) {
    size_t m = 1 + sis__rng_below(r, 40), n = 1 + sis__rng_below(r, 40);
    size_t k = 1 + sis__rng_below(r, 20), v = 1 + sis__rng_below(r, 20), gap = sis__rng_below(r, 3);
    float *q = fill(r, m * (k + gap)), *keys = fill(r, n * k), *values = fill(r, n * (v + gap));
    float *maps = fill(r, m * n), *y = fill(r, m * v), *scores = fill(r, m * n);
    unsigned char *hidden = calloc(m * n, 1);
    for (size_t i = 0; i < m * n; i++)
        hidden[i] = sis__rng_below(r, 3) == 0;
    int each = (int)sis__rng_below(r, 2), turned = (int)sis__rng_below(r, 2);
    sis__score_step steps[] = {
        {.how = SIS__SCORES_OVER, .number = 1.7f},
        {.how = SIS__SCORES_HIDE, .number = -INFINITY, .hidden = hidden},
        {.how = SIS__SCORES_PLUS, .map = maps},
        {.how = SIS__SCORES_TIMES, .number = 3.0f},
        {.how = SIS__SCORES_PLUS, .number = 0.5f},
    };
    steps[1].col = steps[2].col = 1;
    steps[1].row = steps[2].row = each ? n : 0;
    sis__attention a = {.m = m, .n = n, .k = k, .v = v, .steps = steps, .y = y};
    a.q = (sis__operand){q, k + gap, 1};
    a.keys = turned ? (sis__operand){keys, 1, n} : (sis__operand){keys, k, 1};
    a.values = (sis__operand){values, v + gap, 1};
    a.n_steps = sis__rng_below(r, 6);
    a.y_row = turned ? 1 : v;
    a.y_col = turned ? m : 1;
    a.room = malloc(sis__attention_room(kn, n, k, v) * sizeof *a.room);
    kn->attention(&a);
    attend_by_parts(kn, &a, scores);
    free(q);
    free(keys);
    free(values);
    free(maps);
    free(y);
    free(scores);
    free(hidden);
    free(a.room);
}

static void attention_gives_the_bits_of_its_parts(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 26);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (int i = 0; i < 300; i++)
            check_attention(*kn, &r);
    for (int i = 0; i < 50; i++)
        check_attention(&naive_kernels, &r);
}

/* GELU and layer normalisation round after each operator: the bits of the single kernels. */
static void check_chains(const sis__kernels *kn, sis__rng *r, size_t n) {
    float *x = fill(r, 2 * n), *scale = fill(r, n), *shift = fill(r, n), *y = fill(r, 2 * n);
    float *t = fill(r, n), *want = fill(r, n);
    const float one = 1, half = 0.5f, by = 1.41421356f;
    for (int order = SIS__HALF_LAST; order <= SIS__HALF_OF_E; order++) {
        sis__gelu g = {.by = by, .one = one, .half = half, .times = order % 2};
        g.order = order == SIS__HALF_LAST   ? SIS__HALF_LAST
                  : order == SIS__HALF_OF_X ? SIS__HALF_OF_X
                                            : SIS__HALF_OF_E;
        kn->gelu(&g, x, y, n);
        (g.times ? kn->mul : kn->div)(x, 1, &by, 0, t, n);
        kn->erf(t, t, n);
        kn->add(t, 1, &one, 0, t, n);
        kn->mul(order == SIS__HALF_OF_X ? x : t, 1, order == SIS__HALF_LAST ? x : &half,
                order == SIS__HALF_LAST, want, n);
        kn->mul(order == SIS__HALF_OF_X ? t : want, 1,
                order == SIS__HALF_LAST   ? &half
                : order == SIS__HALF_OF_X ? want
                                          : x,
                order != SIS__HALF_LAST, want, n);
        assert_memory_equal(y, want, n * sizeof *y);
    }
    sis__layer_norm l = {.n = n, .epsilon = 1e-5f, .scale = scale, .shift = shift};
    kn->layer_norm(&l, x, NULL, y, 2);
    for (size_t row = 0; row < 2; row++) {
        float mean = (float)(kn->sum(x + row * n, n) / (double)n), deviation;
        kn->sub(x + row * n, 1, &mean, 0, want, n);
        kn->mul(want, 1, want, 1, t, n);
        deviation = sqrtf((float)(kn->sum(t, n) / (double)n) + 1e-5f);
        kn->div(want, 1, &deviation, 0, want, n);
        kn->mul(want, 1, scale, 1, want, n);
        kn->add(want, 1, shift, 1, want, n);
        assert_memory_equal(y + row * n, want, n * sizeof *y);
    }
    kn->add(x, 1, scale, 1, want, n); /* of a sum, in place of either term */
    kn->layer_norm(&l, want, NULL, want, 1);
    kn->layer_norm(&l, x, scale, y, 1);
    assert_memory_equal(y, want, n * sizeof *y);
    kn->layer_norm(&l, x, scale, x, 1);
    assert_memory_equal(x, want, n * sizeof *y);
    free(x);
    free(scale);
    free(shift);
    free(y);
    free(t);
    free(want);
}

static void chains_round_after_each_operator(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 23);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= 150; n++)
            check_chains(*kn, &r, n);
}

/* linear = gemm from 0, then the bias. */
static void linear_products_are_products_and_a_bias(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 24);
    const dims shapes[] = {{1, 1, 1}, {13, 33, 5}, {5, 64, 300}, {25, 31, 1100}, {3, 5, 0}};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t s = 0; s < sizeof shapes / sizeof *shapes; s++) {
            size_t m = shapes[s].m, n = shapes[s].n, k = shapes[s].k;
            float *a = fill(&r, m * k), *b = fill(&r, k * n), *bias = fill(&r, n);
            float *c = fill(&r, m * n), *want = (float *)calloc(m * n, sizeof *want);
            float *packed = (float *)malloc(sis__packed_size(*kn, k, n) * sizeof *packed + 1);
            sis__pack(*kn, k, n, b, n, 1, packed);
            (*kn)->gemm(m, n, k, a, k, 1, packed, want, n);
            (*kn)->linear(&(sis__linear_product){m, n, k, a, packed, NULL, c});
            assert_memory_equal(c, want, m * n * sizeof *c);
            (*kn)->linear(&(sis__linear_product){m, n, k, a, packed, bias, c});
            for (size_t i = 0; i < m * n; i++)
                assert_true(same_bits(c[i], want[i] + bias[i % n]));
            free(a);
            free(b);
            free(bias);
            free(c);
            free(want);
            free(packed);
        }
}

static void lines_are_added_in_order_and_their_maxima_found(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 3);
    float *x = fill(&r, 5 * 100), y[2][100];
    const float *lines[] = {x, x + 100, x + 200, x + 300, x + 400};
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= 100; n++)
            for (size_t count = 1; count <= 5; count++)
                for (int relu = 0; relu < 2; relu++) {
                    memset(y, 0, sizeof y);
                    (*kn)->add_up(lines, count, n, relu, y[0]);
                    naive_kernels.add_up(lines, count, n, relu, y[1]);
                    assert_memory_equal(y[0], y[1], sizeof y[0]);
                    x[333] = relu ? NAN : 0.25f;
                    (*kn)->max_up(lines, count, n, y[0]);
                    naive_kernels.max_up(lines, count, n, y[1]);
                    assert_memory_equal(y[0], y[1], sizeof y[0]);
                    x[333] = 0.25f;
                }
    free(x);
}

/* Windows of several places, overlapping, of any number of channels. */
static void maxima_of_windows_are_those_of_lines(void **state) {
    (void)state;
    enum { PLACES = 4, WINDOWS = 3, MAX = 70 };
    sis__rng r;
    sis__rng_init(&r, 5);
    float *x = fill(&r, 2 * (PLACES + WINDOWS) * MAX), y[2][WINDOWS * MAX];
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= MAX; n++)
            for (size_t count = 1; count <= PLACES; count++) {
                const float *first[PLACES];
                for (size_t k = 0; k < count; k++)
                    first[k] = x + (k / 2 * (PLACES + WINDOWS) + k % 2) * n;
                sis__window_maxima m = {
                    .x = first, .count = count, .n = WINDOWS, .step = 2 * n, .channels = n};
                x[n] = n % 3 ? 0.25f : NAN;
                (*kn)->window_maxima(&m, y[0]);
                naive_kernels.window_maxima(&m, y[1]);
                assert_memory_equal(y[0], y[1], WINDOWS * n * sizeof *x);
                x[n] = 0.25f;
            }
    free(x);
}

/* log_rest is as exact as double allows, and the same for a row alone or with others. */
static void log_sums_are_exact_and_independent(void **state) {
    (void)state;
    enum { M = 21, N = 10 };
    sis__rng r;
    sis__rng_init(&r, 4);
    float *z = fill(&r, M * N);
    double got[M], want[M], one;
    for (size_t i = 0; i < M * N; i++)
        z[i] *= (float)(i / N * i / N); /* from equal values to very different ones */
    z[3 * N + 1] = INFINITY;
    z[4 * N + 2] = -INFINITY;
    z[5 * N + 4] = NAN;
    for (size_t j = 0; j < N; j++)
        z[6 * N + j] = j == 7 ? 1.0f : -INFINITY;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t c = 0; c < N; c++) {
            (*kn)->log_rest(z, M, N, c, got, 1);
            naive_kernels.log_rest(z, M, N, c, want, 1);
            for (size_t i = 0; i < M; i++) {
                (*kn)->log_rest(z + i * N, 1, N, c, &one, 1);
                assert_memory_equal(&one, &got[i], sizeof one);
                if (!(got[i] == want[i] || (isnan(got[i]) && isnan(want[i])) ||
                      fabs(got[i] - want[i]) < 1e-14 * (1 + fabs(want[i]))))
                    fail_msg("%s: row %zu without %zu: %.17g, not %.17g", (*kn)->name, i, c, got[i],
                             want[i]);
            }
        }
    free(z);
}

static void maxima_agree_with_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 2);
    float *x = fill(&r, 300), y[2][100];
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (int nan = 0; nan < 2; nan++)
            for (size_t n = 1; n <= 100; n++) {
                x[57] = nan ? NAN : 0.5f;
                for (size_t i = 0; i < 100; i++)
                    y[0][i] = y[1][i] = i % 9 == 8 && nan ? NAN : -0.1f;
                (*kn)->max_row(y[0], x, n);
                naive_kernels.max_row(y[1], x, n);
                assert_memory_equal(y[0], y[1], sizeof y[0]);
                float a = (*kn)->max_of(x, n), b = naive_kernels.max_of(x, n);
                assert_true(same_bits(a, b) || (isnan(a) && isnan(b)));
                (*kn)->relu(x, y[0], n);
                naive_kernels.relu(x, y[1], n);
                assert_memory_equal(y[0], y[1], n * sizeof(float));
            }
    free(x);
}

static void separate_products_are_added_at_the_end(void **state) {
    (void)state;
    enum { M = 29, N = 37, K = 41 };
    sis__rng r;
    sis__rng_init(&r, 31);
    float *a = fill(&r, M * (K + 3)), *b = fill(&r, K * N), *c = fill(&r, M * N);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t m = 1; m <= M; m++) {
            float sums[M * N] = {0}, y[M * N];
            float *packed = (float *)malloc(sis__packed_size(*kn, K, N) * sizeof *packed);
            sis__pack(*kn, K, N, b, N, 1, packed);
            memcpy(y, c, sizeof y);
            (*kn)->gemm(m, N, K, a, K + 3, 1, packed, sums, N);
            (*kn)->gemm_apart(m, N, K, a, K + 3, packed, y, N);
            for (size_t i = 0; i < M * N; i++)
                assert_true(same_bits(y[i], i < m * N ? c[i] + sums[i] : c[i]));
            free(packed);
        }
    free(a);
    free(b);
    free(c);
}

/* A step of random rows, for kernels that pack differently. */
enum { CELL_ROWS = 14 };
typedef struct {
    sis__cell_step s;
    float *values, *r[2], *h, *c, *packed[2];
    const float *x[CELL_ROWS];
} cell_case;

static void cell_case_init(cell_case *k, const sis__kernels *kn, size_t hidden, size_t gates) {
    sis__rng r;
    size_t early = gates == 4 ? 4 : 2, n = CELL_ROWS;
    sis__rng_init(&r, hidden);
    *k = (cell_case){.s = {.n = n, .hidden = hidden}};
    k->values = fill(&r, n * gates * hidden);
    k->r[0] = fill(&r, early * hidden * hidden);
    k->r[1] = fill(&r, hidden * hidden);
    k->h = fill(&r, n * hidden);
    k->c = fill(&r, n * hidden);
    for (size_t i = 0; i < 2; i++) {
        size_t wide = i == 0 ? early * hidden : hidden;
        k->packed[i] = (float *)malloc(sis__packed_size(kn, hidden, wide) * sizeof(float));
        sis__pack(kn, hidden, wide, k->r[i], 1, hidden, k->packed[i]);
    }
    for (size_t i = 0; i < n; i++)
        k->x[i] = k->values + i * gates * hidden;
    k->s.r = k->packed[0];
    k->s.r_reset = k->packed[1];
    k->s.reset_bias = gates == 3 ? k->r[0] : NULL;
    k->s.h = k->h;
    k->s.x = k->x;
    k->s.c = k->c;
    k->s.to = (float *)calloc(n * hidden, sizeof(float));
    k->s.gates = (float *)calloc(n * 4 * hidden, sizeof(float));
    k->s.room = (float *)malloc(sis__cell_room(kn, gates, hidden) * sizeof(float));
}

static void cell_case_release(cell_case *k) {
    float *const all[] = {k->values,    k->r[0], k->r[1],    k->h,      k->c,
                          k->packed[0], k->s.to, k->s.gates, k->s.room, k->packed[1]};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]);
}

static void run_cells(const sis__kernels *kn, const cell_case *k, size_t gates) {
    (gates == 4 ? kn->lstm : kn->gru_reset)(&k->s);
}

static void assert_close(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(a[i] - b[i]) < 4e-6f);
}

static void cells_agree_with_naive_ones(void **state) {
    (void)state;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t hidden = 1; hidden < 70; hidden += hidden % 16 == 0 ? 1 : 3)
            for (size_t gates = 3; gates <= 4; gates++) {
                cell_case a, b;
                cell_case_init(&a, *kn, hidden, gates);
                cell_case_init(&b, &naive_kernels, hidden, gates);
                run_cells(*kn, &a, gates);
                run_cells(&naive_kernels, &b, gates);
                assert_close(a.s.to, b.s.to, CELL_ROWS * hidden);
                assert_close(a.c, b.c, CELL_ROWS * hidden);
                assert_close(a.s.gates, b.s.gates, CELL_ROWS * 4 * hidden);
                float h[70], z[70];
                (*kn)->gru(a.s.gates, a.values, a.h, h, hidden);
                naive_kernels.gru(a.s.gates, a.values, a.h, z, hidden);
                assert_close(h, z, hidden);
                cell_case_release(&a);
                cell_case_release(&b);
            }
}

static void scale_weights(const sis__kernels *kn, cell_case *k, size_t gates, float factor) {
    size_t hidden = k->s.hidden;
    for (size_t i = 0; i < 2; i++) {
        size_t wide = i == 1 ? hidden : gates == 4 ? 4 * hidden : 2 * hidden;
        for (size_t j = 0; j < sis__packed_size(kn, hidden, wide); j++)
            k->packed[i][j] *= factor;
    }
}

/* Rows whose addresses conflict in the L1 cache are copied in parts. */
static void cells_with_conflicting_strides_agree_with_naive_ones(void **state) {
    (void)state;
    enum { HIDDEN = 1024 };
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        cell_case a, b;
        cell_case_init(&a, *kn, HIDDEN, 3);
        cell_case_init(&b, &naive_kernels, HIDDEN, 3);
        scale_weights(*kn, &a, 3, 1.0f / 32);
        scale_weights(&naive_kernels, &b, 3, 1.0f / 32);
        a.s.n = b.s.n = 2;
        run_cells(*kn, &a, 3);
        run_cells(&naive_kernels, &b, 3);
        assert_close(a.s.to, b.s.to, 2 * HIDDEN);
        cell_case_release(&a);
        cell_case_release(&b);
    }
}

/* To the bit, with or without gates. */
static void cells_do_not_depend_on_other_rows(void **state) {
    (void)state;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t hidden = 5; hidden < 60 + rounds(240); hidden += hidden < 60 ? 9 : 83)
            for (size_t gates = 3; gates <= 4; gates++)
                for (size_t n = 1; n < CELL_ROWS; n++) {
                    cell_case a, b;
                    cell_case_init(&a, *kn, hidden, gates);
                    cell_case_init(&b, *kn, hidden, gates);
                    run_cells(*kn, &a, gates);
                    float *unasked = b.s.gates;
                    b.s.n = n;
                    b.s.gates = NULL;
                    run_cells(*kn, &b, gates);
                    b.s.gates = unasked;
                    assert_memory_equal(a.s.to, b.s.to, n * hidden * sizeof(float));
                    assert_memory_equal(a.c, b.c, n * hidden * sizeof(float));
                    cell_case_release(&a);
                    cell_case_release(&b);
                }
}

/* Gates and states stay within their limits for any sum, and close to the true value. */
static void cells_are_accurate_everywhere(void **state) {
    (void)state;
    enum { N = 40000 };
    static float x[N], z[N], h[N], gates[N];
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        double worst = 0;
        for (size_t i = 0; i < N; i++)
            gates[i] = x[i] = (float)((double)i / N * 60 - 30);
        x[0] = gates[0] = -INFINITY;
        x[1] = gates[1] = INFINITY;
        (*kn)->gates(gates, N);
        (*kn)->gru(z, x, z, h, N); /* h is the tanh of the candidate */
        for (size_t i = 0; i < N; i++) {
            assert_true(gates[i] >= 0 && gates[i] <= 1 && fabsf(h[i]) <= 1);
            worst = fmax(worst, fabs(gates[i] - 1 / (1 + exp(-(double)x[i]))));
            worst = fmax(worst, fabs(h[i] - tanh(x[i])));
        }
        printf("%s cells: error %.2g\n", (*kn)->name, worst);
        assert_true(worst < 4e-7 && h[0] == -1 && h[1] == 1 && gates[0] == 0 && gates[1] == 1);
        x[0] = gates[0] = NAN;
        (*kn)->gates(gates, 1);
        (*kn)->gru(z, x, z, h, 1);
        assert_true(isnan(gates[0]) && isnan(h[0]));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_sums_in_order_to_the_bit),
        cmocka_unit_test(omitted_zeros_change_nothing),
        cmocka_unit_test(sums_do_not_depend_on_other_rows),
        cmocka_unit_test(packed_products_are_the_same),
        cmocka_unit_test(rows_of_kernels_have_separate_sums),
        cmocka_unit_test(placed_products_are_the_same),
        cmocka_unit_test(lines_are_read_in_place),
        cmocka_unit_test(naive_products_agree),
        cmocka_unit_test(functions_are_accurate),
        cmocka_unit_test(functions_handle_extreme_arguments),
        cmocka_unit_test(functions_do_not_depend_on_the_position),
        cmocka_unit_test(erf_is_accurate_also_at_extremes),
        cmocka_unit_test(rows_are_computed_like_naive_ones),
        cmocka_unit_test(softmax_ignores_other_rows_and_zeros),
        cmocka_unit_test(attention_gives_the_bits_of_its_parts),
        cmocka_unit_test(standardised_rows_equal_naive_ones),
        cmocka_unit_test(depthwise_convolutions_equal_naive_ones),
        cmocka_unit_test(pooled_windows_equal_naive_ones),
        cmocka_unit_test(chains_round_after_each_operator),
        cmocka_unit_test(linear_products_are_products_and_a_bias),
        cmocka_unit_test(lines_are_added_in_order_and_their_maxima_found),
        cmocka_unit_test(maxima_of_windows_are_those_of_lines),
        cmocka_unit_test(log_sums_are_exact_and_independent),
        cmocka_unit_test(maxima_agree_with_naive_ones),
        cmocka_unit_test(separate_products_are_added_at_the_end),
        cmocka_unit_test(cells_agree_with_naive_ones),
        cmocka_unit_test(cells_with_conflicting_strides_agree_with_naive_ones),
        cmocka_unit_test(cells_do_not_depend_on_other_rows),
        cmocka_unit_test(cells_are_accurate_everywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
