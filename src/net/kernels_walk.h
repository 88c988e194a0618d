/* SPDX-License-Identifier: MIT
 *
 * The kernels of walks, and the long sums they rely on. Part of kernels_body.h, which includes it
 * once for each instruction set.
 *
 * Long sums in double: c is cut into tiles of WIDE_ROWS x 2 vectors of floats, kept as twice as many
 * vectors of doubles; otherwise as gemm does it.
 */
#ifdef __AVX512F__
#include <immintrin.h>
#endif

typedef double wide __attribute__((vector_size(VBYTES)));
typedef float half __attribute__((vector_size(VBYTES / 2)));
typedef int half_mask __attribute__((vector_size(VBYTES / 2)));
typedef float half_at __attribute__((vector_size(VBYTES / 2), aligned(4), may_alias));
typedef double wide_at __attribute__((vector_size(VBYTES), aligned(8), may_alias));

enum { WIDE = VBYTES / 8, WIDE_ROWS = MR > 6 ? 6 : 2 };

INLINE wide load_wide(const double *p) {
    return *(const wide_at *)p;
}

INLINE void store_wide(double *p, wide v) {
    *(wide_at *)p = v;
}

/* WIDE floats. */
INLINE wide widen(const float *p) {
    return __builtin_convertvector(*(const half_at *)p, wide);
}

INLINE wide all_wide(double x) {
    return x - (wide){0};
}

/* ---- Long sums ----------------------------------------------------------------------------- */

/* a (k, WIDE_ROWS), b (k, NR), s (rows, NR) += a^T . b; rows and vecs are constants where this is
 * inlined. */
INLINE void wide_tile(const size_t rows, const size_t vecs, size_t k, const double *a,
                      const float *b, double *s) {
    wide t[WIDE_ROWS][4];
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) t[i][v] =
        load_wide(s + i * NR + v * WIDE);
    for (size_t p = 0; p < k; p++, a += WIDE_ROWS, b += NR) {
        wide w[4];
        UNROLL for (size_t v = 0; v < vecs; v++) w[v] = widen(b + v * WIDE);
        UNROLL for (size_t i = 0; i < rows; i++) {
            wide x = all_wide(a[i]);
            UNROLL for (size_t v = 0; v < vecs; v++) t[i][v] += x * w[v];
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++)
        store_wide(s + i * NR + v * WIDE, t[i][v]);
}

static void wide_rows(size_t rows, int narrow, size_t k, const double *a, const float *b,
                      double *s) {
    switch (rows * 2 + (narrow != 0)) {
#define ROWS(n)                                                                                    \
    case n * 2:                                                                                    \
        wide_tile(n, 4, k, a, b, s);                                                               \
        break;                                                                                     \
    case n * 2 + 1:                                                                                \
        wide_tile(n, 2, k, a, b, s);                                                               \
        break;
        ROWS(1)
        ROWS(2)
#if MR > 6
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
#endif
#undef ROWS
    }
}

/* One strip of rows against one panel. */
static void wide_panel(size_t rows, size_t cols, size_t k, const float *a, size_t a_row,
                       size_t a_col, const float *b, float *c, size_t ldc) {
    double strip[WIDE_ROWS * KC], s[WIDE_ROWS * NR] = {0};
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            s[i * NR + j] = (double)c[i * ldc + j];
    for (size_t from = 0; from < k; from += KC) {
        size_t depth = k - from < KC ? k - from : KC;
        for (size_t i = 0; i < rows; i++)
            for (size_t p = 0; p < depth; p++)
                strip[p * WIDE_ROWS + i] = (double)a[i * a_row + (from + p) * a_col];
        wide_rows(rows, cols <= LANES, depth, strip, b + from * NR, s);
    }
    for (size_t i = 0; i < rows; i++)
        for (size_t j = 0; j < cols; j++)
            c[i * ldc + j] = (float)s[i * NR + j];
}

static void dense(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                  const float *b, float *c, size_t ldc) {
    if (k < SIS__LONG) {
        gemm(m, n, k, a, a_row, a_col, b, c, ldc);
        return;
    }
    for (size_t j = 0; j < n; j += NR)
        for (size_t i = 0; i < m; i += WIDE_ROWS)
            wide_panel(m - i < WIDE_ROWS ? m - i : WIDE_ROWS, n - j < NR ? n - j : NR, k,
                       a + i * a_row, a_row, a_col, b + j * k, c + i * ldc + j, ldc);
}

/* ---- Products of gathered rows -------------------------------------------------------------- */

INLINE void gathered_tile(const size_t rows, const size_t vecs, const sis__gathered *g,
                          const float *const *a, const float *b, float *c, size_t ldc) {
    vec s[MR][2];
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] =
        load(c + i * ldc + v * LANES);
    for (size_t p = 0; p < g->k; p++, b += NR) {
        const int at = g->offset[p];
        vec w[2];
        UNROLL for (size_t v = 0; v < vecs; v++) w[v] = load(b + v * LANES);
        UNROLL for (size_t i = 0; i < rows; i++) {
            vec x = all(a[i][at]);
            UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] += x * w[v];
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++)
        store(c + i * ldc + v * LANES, s[i][v]);
}

static void gathered_rows(size_t rows, int narrow, const sis__gathered *g, const float *const *a,
                          const float *b, float *c, size_t ldc) {
    switch (rows * 2 + (narrow != 0)) {
#define ROWS(n)                                                                                    \
    case n * 2:                                                                                    \
        gathered_tile(n, 2, g, a, b, c, ldc);                                                      \
        break;                                                                                     \
    case n * 2 + 1:                                                                                \
        gathered_tile(n, 1, g, a, b, c, ldc);                                                      \
        break;
        ROWS(1)
        ROWS(2)
        ROWS(3)
        ROWS(4)
        ROWS(5)
        ROWS(6)
#if MR > 6
        ROWS(7)
        ROWS(8)
        ROWS(9)
        ROWS(10)
        ROWS(11)
        ROWS(12)
#endif
#undef ROWS
    }
}

/* A tile with columns that do not fill it: through a copy. */
static void gathered_edge(size_t rows, size_t cols, const sis__gathered *g, const float *const *a,
                          const float *b, float *c, size_t ldc) {
    float copy[MR * NR];
    memset(copy, 0, sizeof copy);
    for (size_t i = 0; i < rows; i++)
        memcpy(copy + i * NR, c + i * ldc, cols * sizeof *c);
    gathered_rows(rows, cols <= LANES, g, a, b, copy, NR);
    for (size_t i = 0; i < rows; i++)
        memcpy(c + i * ldc, copy + i * NR, cols * sizeof *c);
}

static void gemm_at(const sis__gathered *g, size_t n, const float *b, float *c, size_t ldc) {
    for (size_t i = 0; i < g->m; i += MR) {
        size_t rows = g->m - i < MR ? g->m - i : MR;
        for (size_t j = 0; j < n; j += NR) {
            if (n - j >= NR)
                gathered_rows(rows, 0, g, g->a + i, b + j * g->k, c + i * ldc + j, ldc);
            else
                gathered_edge(rows, n - j, g, g->a + i, b + j * g->k, c + i * ldc + j, ldc);
        }
    }
}

/* ---- Some rows of a matrix ------------------------------------------------------------------ */

/* vecs vectors of y stay in registers while the rows run; vecs is a constant where inlined. */
INLINE void rows_block(const size_t vecs, const sis__rows *r, size_t from, float *y) {
    vec s[8];
    UNROLL for (size_t i = 0; i < vecs; i++) s[i] = load(y + i * LANES);
    for (size_t t = 0; t < r->count; t++) {
        const float *w = r->w + (size_t)r->index[t] * r->ldw + from;
        vec d = all(r->d[t]);
        UNROLL for (size_t i = 0; i < vecs; i++) s[i] += d * load(w + i * LANES);
    }
    UNROLL for (size_t i = 0; i < vecs; i++) store(y + i * LANES, s[i]);
}

/* Fewer than a vector: through padded copies. */
static void rows_edge(const sis__rows *r, size_t from, float *y, size_t n) {
    vec s = load_some(y, n);
    for (size_t t = 0; t < r->count; t++)
        s += all(r->d[t]) * load_some(r->w + (size_t)r->index[t] * r->ldw + from, n);
    store_some(y, s, n);
}

static void add_rows(const sis__rows *r, float *y, size_t n) {
    size_t i = 0;
    for (; i + 8 * LANES <= n; i += 8 * LANES)
        rows_block(8, r, i, y + i);
    if (i + 4 * LANES <= n) {
        rows_block(4, r, i, y + i);
        i += 4 * LANES;
    }
    if (i + 2 * LANES <= n) {
        rows_block(2, r, i, y + i);
        i += 2 * LANES;
    }
    if (i + LANES <= n) {
        rows_block(1, r, i, y + i);
        i += LANES;
    }
    if (i < n)
        rows_edge(r, i, y + i, n - i);
}

INLINE void wide_block(const size_t vecs, const sis__rows *r, size_t from, double *y) {
    wide s[8];
    UNROLL for (size_t i = 0; i < vecs; i++) s[i] = load_wide(y + i * WIDE);
    for (size_t t = 0; t < r->count; t++) {
        const float *w = r->w + (size_t)r->index[t] * r->ldw + from;
        wide d = all_wide(r->wide_d[t]);
        UNROLL for (size_t i = 0; i < vecs; i++) s[i] += d * widen(w + i * WIDE);
    }
    UNROLL for (size_t i = 0; i < vecs; i++) store_wide(y + i * WIDE, s[i]);
}

static void add_rows_wide(const sis__rows *r, double *y, size_t n) {
    size_t i = 0;
    for (; i + 8 * WIDE <= n; i += 8 * WIDE)
        wide_block(8, r, i, y + i);
    for (; i + 2 * WIDE <= n; i += 2 * WIDE)
        wide_block(2, r, i, y + i);
    for (; i < n; i++)
        for (size_t t = 0; t < r->count; t++)
            y[i] += r->wide_d[t] * (double)r->w[(size_t)r->index[t] * r->ldw + i];
}

/* ---- Element by element --------------------------------------------------------------------- */

INLINE vec relu_of(vec x) {
    return pick(x < 0.0f, all(0.0f), x);
}

static void add_relu(const float *a, const float *b, float *y, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, relu_of(load(a + i) + load(b + i)));
    if (i < n)
        store_some(y + i, relu_of(load_some(a + i, n - i) + load_some(b + i, n - i)), n - i);
}

static size_t changes(sis__compared *c) {
    size_t found = 0, i = 0;
    c->more_nonzero = 0;
#ifdef __AVX512F__
    const __m512d zero = _mm512_setzero_pd();
    for (; i + 8 <= c->n; i += 8) {
        __m512d d = _mm512_sub_pd(_mm512_cvtps_pd(_mm256_loadu_ps(c->now + i)),
                                  _mm512_cvtps_pd(_mm256_loadu_ps(c->base + i)));
        __m512d kept = _mm512_loadu_pd(c->kept + i), step = _mm512_sub_pd(d, kept);
        __mmask8 differ = _mm512_cmp_pd_mask(step, zero, _CMP_NEQ_UQ);
        if (!differ)
            continue;
        __m512i number = _mm512_add_epi32(
            _mm512_set1_epi32(c->first + (int)i),
            _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0));
        c->more_nonzero += __builtin_popcount(_mm512_cmp_pd_mask(d, zero, _CMP_NEQ_UQ)) -
                           __builtin_popcount(_mm512_cmp_pd_mask(kept, zero, _CMP_NEQ_UQ));
        _mm512_storeu_pd(c->kept + i, d);
        _mm512_storeu_si512(c->index + found, _mm512_maskz_compress_epi32(differ, number));
        _mm512_storeu_pd(c->change + found, _mm512_maskz_compress_pd(differ, step));
        found += (size_t)__builtin_popcount(differ);
    }
#endif
    for (; i < c->n; i++) {
        double d = (double)c->now[i] - (double)c->base[i], kept = c->kept[i], step = d - kept;
        c->more_nonzero += (d != 0) - (kept != 0);
        c->kept[i] = d;
        c->index[found] = c->first + (int)i;
        c->change[found] = step;
        found += step != 0;
    }
    return found;
}

static int round_sums(const double *sum, const double *change, const double *slack, float *y,
                      size_t n) {
    half_mask close = {0};
    int any = 0;
    size_t i = 0;
    for (; i + WIDE <= n; i += WIDE) {
        wide v = load_wide(sum + i), e = load_wide(slack + i);
        if (change)
            v += load_wide(change + i);
        close |= __builtin_convertvector(v - e, half) != __builtin_convertvector(v + e, half);
        *(half_at *)(y + i) = __builtin_convertvector(v, half);
    }
    for (size_t k = 0; k < WIDE; k++)
        any |= close[k];
    for (; i < n; i++) {
        double v = sum[i] + (change ? change[i] : 0.0);
        y[i] = (float)v;
        any |= (float)(v - slack[i]) != (float)(v + slack[i]);
    }
    return any;
}
