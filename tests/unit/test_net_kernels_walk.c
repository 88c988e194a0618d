/* SPDX-License-Identifier: MIT
 *
 * The kernels of walks and dense layers against their naive versions, for every instruction set of
 * this machine: sums to a few units in the last place; selections, comparisons and sums in double
 * to the bit.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "support_kernels.h"

enum { M = 7, N = 45, K = 60 };

static float *fill(sis__rng *r, size_t n) {
    float *v = (float *)malloc((n ? n : 1) * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)sis__rng_normal(r);
    return v;
}

static int same_bits(float a, float b) {
    return memcmp(&a, &b, sizeof a) == 0;
}

static void assert_near(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i])));
}

/* k terms by both; in double to the bit. */
static void check_dense(const sis__kernels *kn, sis__rng *r, size_t k) {
    float *a = fill(r, M * k), *b = fill(r, k * N), *c = fill(r, M * N);
    float *packed = fill(r, sis__packed_size(kn, k, N));
    float *plain = fill(r, sis__packed_size(&naive_kernels, k, N)), want[M * N], again[M * N];
    memcpy(want, c, sizeof want);
    sis__pack(kn, k, N, b, N, 1, packed);
    sis__pack(&naive_kernels, k, N, b, N, 1, plain);
    memcpy(again, c, sizeof again);
    kn->dense(M, N, k, a, k, 1, packed, c, N);
    naive_kernels.dense(M, N, k, a, k, 1, plain, want, N);
    assert_near(c, want, M * N);
    memcpy(want, again, sizeof want);
    kn->dense_wide(M, N, k, a, k, 1, packed, again, N);
    naive_kernels.dense_wide(M, N, k, a, k, 1, plain, want, N);
    assert_memory_equal(again, want, sizeof want);
    free(a);
    free(b);
    free(c);
    free(packed);
    free(plain);
}

static void dense_layers_agree_with_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 12);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++) {
        check_dense(*kn, &r, K);
        check_dense(*kn, &r, SIS__LONG);
        check_dense(*kn, &r, SIS__LONG + SIS__PIECE + 3);
    }
}

static void check_added_rows(const sis__kernels *kn, sis__rng *r, size_t n, size_t count) {
    float *w = fill(r, K * (n + 2));
    double d[K], y[N], want[N];
    int index[K];
    for (size_t t = 0; t < K; t++) {
        index[t] = (int)sis__rng_below(r, K);
        d[t] = sis__rng_normal(r);
    }
    for (size_t i = 0; i < n; i++)
        y[i] = want[i] = sis__rng_normal(r);
    sis__rows rows = {w, n + 2, index, d, count};
    kn->add_rows(&rows, y, n);
    naive_kernels.add_rows(&rows, want, n);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs(y[i] - want[i]) <= 1e-13 * (1 + fabs(want[i])));
    free(w);
}

static void sums_of_rows_agree_with_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 13);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= N; n++)
            check_added_rows(*kn, &r, n, n % 7 ? K - n : 0);
}

/* To the bit equal to products of one column. */
static void columns_agree_with_products(void **state) {
    (void)state;
    enum { COLUMNS = 150, TERMS = 5, ROWS = 7 };
    sis__rng r;
    sis__rng_init(&r, 16);
    float *a = fill(&r, ROWS * TERMS * COLUMNS), *b = fill(&r, TERMS * COLUMNS);
    float *start = fill(&r, COLUMNS), y[ROWS * COLUMNS], one, packed[TERMS * 64], *to[ROWS];
    const float *from[ROWS];
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t n = 1; n <= COLUMNS; n += 1 + n / 9) {
            for (size_t i = 0; i < ROWS; i++) {
                from[i] = a + i * TERMS * COLUMNS;
                to[i] = y + i * COLUMNS;
            }
            (*kn)->columns_placed(
                &(sis__column_product){ROWS, n, TERMS, COLUMNS, from, b, start, to});
            for (size_t j = 0; j < n; j++) {
                sis__pack(*kn, TERMS, 1, b + j, n, 1, packed);
                for (size_t i = 0; i < ROWS; i++) {
                    int offset[TERMS];
                    for (size_t t = 0; t < TERMS; t++)
                        offset[t] = (int)(t * COLUMNS + j);
                    (*kn)->gemm_placed(&(sis__placed_product){1, 1, TERMS, &from[i], offset, packed,
                                                              start + j, (float *[]){&one}});
                    assert_true(same_bits(one, to[i][j]));
                }
            }
        }
    free(a);
    free(b);
    free(start);
}

/* Many equal values, some NaN. */
static void draw_alike(sis__rng *r, float *x, size_t n, int nan) {
    for (size_t i = 0; i < n; i++)
        x[i] = nan && sis__rng_below(r, 20) == 0 ? NAN : (float)sis__rng_below(r, 7) / 2 - 1;
}

static void assert_same(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_true(same_bits(a[i], b[i]) || (isnan(a[i]) && isnan(b[i])));
}

static void maxima_agree_with_naive_ones(void **state) {
    (void)state;
    enum { COUNT = 3, MAX = 150 };
    float a[COUNT * MAX], b[COUNT * MAX], base[MAX], y[MAX], want[MAX];
    sis__rng r;
    sis__rng_init(&r, 14);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t trial = 0; trial < 400; trial++) {
            size_t n = 1 + sis__rng_below(&r, MAX), count = sis__rng_below(&r, COUNT + 1);
            draw_alike(&r, a, COUNT * n, 0);
            draw_alike(&r, b, COUNT * n, trial % 5 == 0);
            draw_alike(&r, y, n, trial % 2);
            memcpy(want, y, sizeof y);
            (*kn)->add_max(a, b, count, y, n);
            naive_kernels.add_max(a, b, count, want, n);
            assert_same(y, want, n);
            sis__maxima t = {.inside = a, .outside = {b, b + n}, .base = base, .n = n};
            t.relu = trial % 3 == 0;
            for (size_t i = 0; i < n; i++) { /* mostly unchanged */
                float far = b[i] > b[n + i] ? b[i] : b[n + i], top = a[i] > far ? a[i] : far;
                base[i] = sis__rng_below(&r, 40) == 0 ? 3 : t.relu && top < 0 ? 0 : top;
            }
            int changed = naive_kernels.join_maxima(&t, want);
            assert_int_equal((*kn)->join_maxima(&t, y) != 0, changed != 0);
            assert_same(y, want, n);
            sis__near near = {a, base, b, b + n, n};
            float sum = naive_kernels.near(&near);
            assert_true(fabsf((*kn)->near(&near) - sum) <= 1e-4f || isnan(sum));
        }
}

static void differences_and_roundings_agree_with_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 15);
    size_t close = 0, clear = 0;
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (size_t trial = 0; trial < 400; trial++) {
            size_t n = 1 + sis__rng_below(&r, N);
            float now[N], base[N], y[2][N];
            double kept[2][N], change[2][N + 16], sum[N], slack[N];
            int index[2][N + 16];
            draw_alike(&r, now, n, 0);
            draw_alike(&r, base, n, 0);
            for (size_t i = 0; i < n; i++) {
                kept[0][i] = kept[1][i] = sis__rng_below(&r, 2) ? now[i] - base[i] : 0.5;
                sum[i] = sis__rng_normal(&r);
                slack[i] = sis__rng_below(&r, 60) == 0 ? 1e-8 : 1e-12;
            }
            size_t found[2];
            long more[2];
            for (int k = 0; k < 2; k++) {
                sis__compared c = {now, base, kept[k], n, 5, index[k], change[k], 0};
                found[k] = (k ? *kn : &naive_kernels)->changes(&c);
                more[k] = c.more_nonzero;
            }
            assert_int_equal(found[0], found[1]);
            assert_int_equal(more[0], more[1]);
            assert_memory_equal(kept[0], kept[1], n * sizeof(double));
            assert_memory_equal(index[0], index[1], found[0] * sizeof(int));
            assert_memory_equal(change[0], change[1], found[0] * sizeof(double));
            sis__sums s = {.sum = sum,
                           .change = trial % 2 ? kept[0] : NULL,
                           .slack = slack,
                           .divisor = trial % 5 ? 1 : 49,
                           .n = n,
                           .relu = trial % 3 == 0};
            int unsure = naive_kernels.round_sums(&s, y[0]);
            assert_int_equal((*kn)->round_sums(&s, y[1]) != 0, unsure != 0);
            assert_memory_equal(y[0], y[1], n * sizeof(float));
            close += unsure != 0;
            clear += unsure == 0;
        }
    assert_true(close > 20 && clear > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dense_layers_agree_with_naive_ones),
        cmocka_unit_test(sums_of_rows_agree_with_naive_ones),
        cmocka_unit_test(columns_agree_with_products),
        cmocka_unit_test(maxima_agree_with_naive_ones),
        cmocka_unit_test(differences_and_roundings_agree_with_naive_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
