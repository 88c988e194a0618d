/* SPDX-License-Identifier: MIT
 *
 * Kernels for walks, and the long sums they rely on. Part of body.h, which includes it once for
 * each instruction set.
 *
 * Long sums are in double: c is cut into tiles of WIDE_ROWS x 2 vectors of floats, held as twice as
 * many vectors of doubles; otherwise as in gemm. Each piece of k is summed separately.
 */
typedef double wide __attribute__((vector_size(VBYTES)));
typedef float half __attribute__((vector_size(VBYTES / 2)));
typedef long long wide_mask __attribute__((vector_size(VBYTES)));
typedef int half_mask __attribute__((vector_size(VBYTES / 2)));
typedef float half_at __attribute__((vector_size(VBYTES / 2), aligned(4), may_alias));
typedef double wide_at __attribute__((vector_size(VBYTES), aligned(8), may_alias));

enum { WIDE = VBYTES / 8, WIDE_ROWS = MR > 6 ? 6 : 2, WIDE_AHEAD = 32 };

INLINE wide load_wide(const double *p) {
    return *(const wide_at *)p;
}

INLINE void store_wide(double *p, wide v) {
    *(wide_at *)p = v;
}

/* Load WIDE floats as doubles. Compilers split conversions of whole vectors unless intrinsics are
 * used. */
INLINE wide widen(const float *p) {
#if defined(__AVX512F__)
    return (wide)_mm512_cvtps_pd(_mm256_loadu_ps(p));
#elif defined(__AVX__)
    return (wide)_mm256_cvtps_pd(_mm_loadu_ps(p));
#elif defined(__aarch64__)
    return (wide)vcvt_f64_f32(vld1_f32(p));
#else
    return __builtin_convertvector(*(const half_at *)p, wide);
#endif
}

/* The first WIDE floats of a vector, and the rest. */
INLINE wide low_half(vec v) {
#if defined(__AVX512F__)
    return (wide)_mm512_cvtps_pd(_mm512_castps512_ps256((__m512)v));
#elif defined(__AVX__)
    return (wide)_mm256_cvtps_pd(_mm256_castps256_ps128((__m256)v));
#elif defined(__aarch64__)
    return (wide)vcvt_f64_f32(vget_low_f32((float32x4_t)v));
#else
    float both[LANES];
    store(both, v);
    return widen(both);
#endif
}

INLINE wide high_half(vec v) {
#if defined(__AVX512F__)
    return (wide)_mm512_cvtps_pd((__m256)_mm512_extractf64x4_pd((__m512d)v, 1));
#elif defined(__AVX__)
    return (wide)_mm256_cvtps_pd(_mm256_extractf128_ps((__m256)v, 1));
#elif defined(__aarch64__)
    return (wide)vcvt_high_f64_f32((float32x4_t)v);
#else
    float both[LANES];
    store(both, v);
    return widen(both + WIDE);
#endif
}

INLINE half narrow(wide v) {
#if defined(__AVX512F__)
    return (half)_mm512_cvtpd_ps((__m512d)v);
#elif defined(__AVX__)
    return (half)_mm256_cvtpd_ps((__m256d)v);
#else
    return __builtin_convertvector(v, half);
#endif
}

INLINE vec joined(half low, half high) {
#if defined(__AVX512F__)
    __m512d wide_low = _mm512_castpd256_pd512((__m256d)low);
    return (vec)_mm512_insertf64x4(wide_low, (__m256d)high, 1);
#elif defined(__AVX__)
    return (vec)_mm256_insertf128_ps(_mm256_castps128_ps256((__m128)low), (__m128)high, 1);
#elif defined(__aarch64__)
    return (vec)vcombine_f32((float32x2_t)low, (float32x2_t)high);
#else
    float both[LANES];
    memcpy(both, &low, sizeof low);
    memcpy(both + WIDE, &high, sizeof high);
    return load(both);
#endif
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
        (wide){0};
    for (size_t p = 0; p < k; p++, a += WIDE_ROWS, b += NR) {
        wide w[4];
        for (size_t at = 0; at < NR; at += 16) /* prefetch: large matrices come from far memory */
            __builtin_prefetch(b + WIDE_AHEAD * NR + at);
        UNROLL for (size_t v = 0; v < vecs; v++) w[v] = widen(b + v * WIDE);
        UNROLL for (size_t i = 0; i < rows; i++) {
            wide x = all_wide(a[i]);
            UNROLL for (size_t v = 0; v < vecs; v++) t[i][v] += x * w[v];
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) {
        double *at = s + i * NR + v * WIDE;
        store_wide(at, load_wide(at) + t[i][v]);
    }
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

/* A block of strips times some panels. For each piece of k, a panel is read once for all strips,
 * and a strip is converted to double once. */
enum { WIDE_BLOCK = 18, WIDE_STRIPS = WIDE_BLOCK / WIDE_ROWS, WIDE_PANELS = 4 };

typedef struct {
    size_t rows, cols; /* at most WIDE_BLOCK, and WIDE_PANELS panels */
    double strips[WIDE_STRIPS][WIDE_ROWS * KC];
    double sums[WIDE_STRIPS][WIDE_PANELS][WIDE_ROWS * NR];
} wide_sums;

/* The sum of element (i, j) of the block. */
INLINE double *wide_sum(wide_sums *w, size_t i, size_t j) {
    return &w->sums[i / WIDE_ROWS][j / NR][i % WIDE_ROWS * NR + j % NR];
}

static void wide_piece(wide_sums *w, size_t depth, const float *b, size_t panel) {
    for (size_t j = 0; j < w->cols; j += NR, b += panel)
        for (size_t i = 0; i < w->rows; i += WIDE_ROWS) {
            size_t rows = w->rows - i < WIDE_ROWS ? w->rows - i : WIDE_ROWS;
            wide_rows(rows, w->cols - j <= LANES, depth, w->strips[i / WIDE_ROWS], b,
                      w->sums[i / WIDE_ROWS][j / NR]);
        }
}

static void wide_panels(wide_sums *w, size_t k, const float *a, size_t a_row, size_t a_col,
                        const float *b, float *c, size_t ldc) {
    memset(w->sums, 0, sizeof w->sums);
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < w->cols; j++)
            *wide_sum(w, i, j) = (double)c[i * ldc + j];
    for (size_t from = 0; from < k; from += KC) {
        size_t depth = k - from < KC ? k - from : KC;
        for (size_t i = 0; i < w->rows; i++)
            for (size_t p = 0; p < depth; p++)
                w->strips[i / WIDE_ROWS][p * WIDE_ROWS + i % WIDE_ROWS] =
                    (double)a[i * a_row + (from + p) * a_col];
        wide_piece(w, depth, b + from * NR, k * NR);
    }
    for (size_t i = 0; i < w->rows; i++)
        for (size_t j = 0; j < w->cols; j++)
            c[i * ldc + j] = (float)*wide_sum(w, i, j);
}

/* ---- Products of rows in place --------------------------------------------------------------- */

/* One tile: (rows, vecs) sums, from `start` or (NULL) what c holds. */
INLINE void placed_tile(const size_t rows, const size_t vecs, const int direct,
                        const sis__placed_product *t) {
    const float *b = t->b;
    const size_t last = (vecs - 1) * LANES, some = t->n - last;
    vec s[MR][2];
    UNROLL for (size_t i = 0; i < rows; i++) {
        const float *from = t->start ? t->start : t->c[i];
        s[i][0] = load_some(from, vecs > 1 ? LANES : some);
        if (vecs > 1)
            s[i][1] = load_some(from + last, some);
    }
    for (size_t p = 0; p < t->k; p++, b += NR) {
        const size_t at = direct ? p : (size_t)t->offset[p];
        vec w[2];
        UNROLL for (size_t v = 0; v < vecs; v++) w[v] = load(b + v * LANES);
        UNROLL for (size_t i = 0; i < rows; i++) {
            vec x = all(t->a[i][at]);
            UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] += x * w[v];
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) {
        store_some(t->c[i], s[i][0], vecs > 1 ? LANES : some);
        if (vecs > 1)
            store_some(t->c[i] + last, s[i][1], some);
    }
}

INLINE void placed_any(const size_t rows, const size_t vecs, const sis__placed_product *t) {
    if (t->offset)
        placed_tile(rows, vecs, 0, t);
    else
        placed_tile(rows, vecs, 1, t);
}

static void placed_rows(const sis__placed_product *t) {
    switch (t->m * 2 + (t->n <= LANES)) {
#define ROWS(rows)                                                                                 \
    case rows * 2:                                                                                 \
        placed_any(rows, 2, t);                                                                    \
        break;                                                                                     \
    case rows * 2 + 1:                                                                             \
        placed_any(rows, 1, t);                                                                    \
        break;
        EACH_HEIGHT(ROWS)
#undef ROWS
    }
}

static void gemm_placed(const sis__placed_product *p) {
    float *c[MR];
    for (size_t i = 0, rows; i < p->m; i += rows) {
        rows = strip_height(p->m - i);
        for (size_t j = 0; j < p->n; j += NR) {
            sis__placed_product t = *p;
            t.m = rows;
            t.n = p->n - j < NR ? p->n - j : NR;
            t.a = p->a + i;
            t.b = p->b + j * p->k;
            t.start = p->start ? p->start + j : NULL;
            t.c = c;
            for (size_t r = 0; r < t.m; r++)
                c[r] = p->c[i + r] + j;
            placed_rows(&t);
        }
    }
}

/* vecs vectors of columns from j on, of one row; vecs is a constant where inlined. */
INLINE void columns_block(const size_t vecs, const sis__column_product *p, size_t i, size_t j) {
    vec s[4];
    UNROLL for (size_t v = 0; v < vecs; v++) s[v] = load(p->start + j + v * LANES);
    for (size_t t = 0; t < p->k; t++)
        UNROLL for (size_t v = 0; v < vecs; v++) s[v] +=
            load(p->a[i] + t * p->step + j + v * LANES) * load(p->b + t * p->n + j + v * LANES);
    UNROLL for (size_t v = 0; v < vecs; v++) store(p->c[i] + j + v * LANES, s[v]);
}

static void columns_placed(const sis__column_product *p) {
    for (size_t i = 0; i < p->m; i++) {
        size_t j = 0;
        for (; j + 4 * LANES <= p->n; j += 4 * LANES)
            columns_block(4, p, i, j);
        for (; j + LANES <= p->n; j += LANES)
            columns_block(1, p, i, j);
        if (j == p->n)
            continue;
        vec s = load_some(p->start + j, p->n - j);
        for (size_t t = 0; t < p->k; t++)
            s += load_some(p->a[i] + t * p->step + j, p->n - j) *
                 load_some(p->b + t * p->n + j, p->n - j);
        store_some(p->c[i] + j, s, p->n - j);
    }
}

/* Few columns of short rows: packing the left side would gain nothing. */
static void dense_short(size_t m, size_t n, size_t k, const float *a, size_t a_row, const float *b,
                        float *c, size_t ldc) {
    for (size_t i = 0; i < m; i += MR) {
        const float *from[MR];
        float *to[MR];
        sis__placed_product p = {.m = m - i < MR ? m - i : MR, .n = n, .k = k, .a = from, .b = b};
        p.c = to;
        for (size_t r = 0; r < p.m; r++) {
            from[r] = a + (i + r) * a_row;
            to[r] = c + (i + r) * ldc;
        }
        gemm_placed(&p);
    }
}

static void dense(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                  const float *b, float *c, size_t ldc) {
    if (a_col != 1)
        gemm(m, n, k, a, a_row, a_col, b, c, ldc);
    else if (n <= NR)
        dense_short(m, n, k, a, a_row, b, c, ldc);
    else
        gemm_filled(m, n, k, a, a_row, b, c, ldc);
}

static void dense_wide(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                       const float *b, float *c, size_t ldc) {
    const size_t wide_cols = WIDE_PANELS * NR;
    wide_sums w;
    for (size_t i = 0; i < m; i += WIDE_BLOCK)
        for (size_t j = 0; j < n; j += wide_cols) {
            w.rows = m - i < WIDE_BLOCK ? m - i : WIDE_BLOCK;
            w.cols = n - j < wide_cols ? n - j : wide_cols;
            wide_panels(&w, k, a + i * a_row, a_row, a_col, b + j * k, c + i * ldc + j, ldc);
        }
}

/* ---- Some rows of a matrix ------------------------------------------------------------------ */

/* Prefetch the row after the next one, which can be anywhere in the matrix. */
INLINE void fetch_ahead(const sis__rows *r, size_t t, size_t from, size_t floats) {
    if (t + 2 < r->count)
        for (size_t i = 0; i < floats; i += 16)
            __builtin_prefetch(r->w + (size_t)r->index[t + 2] * r->ldw + from + i);
}

INLINE void wide_block(const size_t vecs, const sis__rows *r, size_t from, double *y) {
    wide s[16];
    UNROLL for (size_t i = 0; i < vecs; i++) s[i] = (wide){0};
    for (size_t t = 0; t < r->count; t++) {
        const float *w = r->w + (size_t)r->index[t] * r->ldw + from;
        wide d = all_wide(r->d[t]);
        fetch_ahead(r, t, from, vecs * WIDE);
        UNROLL for (size_t i = 0; i < vecs; i++) s[i] += d * widen(w + i * WIDE);
    }
    UNROLL for (size_t i = 0; i < vecs; i++)
        store_wide(y + i * WIDE, load_wide(y + i * WIDE) + s[i]);
}

static void add_rows(const sis__rows *r, double *y, size_t n) {
    size_t i = 0;
#if MR > 6
    for (; i + 16 * WIDE <= n; i += 16 * WIDE)
        wide_block(16, r, i, y + i);
#endif
    for (; i + 8 * WIDE <= n; i += 8 * WIDE)
        wide_block(8, r, i, y + i);
    for (; i + 2 * WIDE <= n; i += 2 * WIDE)
        wide_block(2, r, i, y + i);
    for (; i < n; i++) {
        double s = 0;
        for (size_t t = 0; t < r->count; t++)
            s += r->d[t] * (double)r->w[(size_t)r->index[t] * r->ldw + i];
        y[i] += s;
    }
}

/* ---- Element by element --------------------------------------------------------------------- */

INLINE vec relu_of(vec x) {
    return pick(x < 0.0f, all(0.0f), x);
}

/* vecs vectors, from element i on; the last one has `some` elements. vecs is a constant where this
 * is inlined. */
INLINE void add_up_block(const size_t vecs, const float *const *x, size_t count, size_t i,
                         size_t some, int relu, float *y) {
    const size_t last = (vecs - 1) * LANES;
    vec sum[4];
    UNROLL for (size_t v = 0; v + 1 < vecs; v++) sum[v] = load(x[0] + i + v * LANES);
    sum[vecs - 1] = load_some(x[0] + i + last, some);
    for (size_t k = 1; k < count; k++) {
        UNROLL for (size_t v = 0; v + 1 < vecs; v++) sum[v] += load(x[k] + i + v * LANES);
        sum[vecs - 1] += load_some(x[k] + i + last, some);
    }
    if (relu) {
        UNROLL for (size_t v = 0; v < vecs; v++) sum[v] = relu_of(sum[v]);
    }
    UNROLL for (size_t v = 0; v + 1 < vecs; v++) store(y + i + v * LANES, sum[v]);
    store_some(y + i + last, sum[vecs - 1], some);
}

static void add_up(const float *const *x, size_t count, size_t n, int relu, float *y) {
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        add_up_block(4, x, count, i, LANES, relu, y);
    if (n - i > 3 * LANES)
        add_up_block(4, x, count, i, n - i - 3 * LANES, relu, y);
    else if (n - i > 2 * LANES)
        add_up_block(3, x, count, i, n - i - 2 * LANES, relu, y);
    else if (n - i > LANES)
        add_up_block(2, x, count, i, n - i - LANES, relu, y);
    else if (n > i)
        add_up_block(1, x, count, i, n - i, relu, y);
}

/* vecs vectors of y stay in registers while the rows of a and b run; vecs is a constant where
 * inlined. */
INLINE void add_max_block(const size_t vecs, const float *a, const float *b, size_t count, float *y,
                          size_t n) {
    vec top[8];
    UNROLL for (size_t i = 0; i < vecs; i++) top[i] = load(y + i * LANES);
    for (size_t k = 0; k < count; k++, a += n, b += n)
        UNROLL for (size_t i = 0; i < vecs; i++) top[i] =
            larger_of(load(a + i * LANES) + load(b + i * LANES), top[i]);
    UNROLL for (size_t i = 0; i < vecs; i++) store(y + i * LANES, top[i]);
}

static void add_max(const float *a, const float *b, size_t count, float *y, size_t n) {
    size_t i = 0, rest = n % LANES;
    for (; i + 8 * LANES <= n; i += 8 * LANES)
        add_max_block(8, a + i, b + i, count, y + i, n);
    for (; i + LANES <= n; i += LANES)
        add_max_block(1, a + i, b + i, count, y + i, n);
    if (rest == 0)
        return;
    vec top = load_some(y + i, rest);
    for (size_t k = 0; k < count; k++)
        top = larger_of(load_some(a + k * n + i, rest) + load_some(b + k * n + i, rest), top);
    store_some(y + i, top, rest);
}

INLINE void max_up_block(const size_t vecs, const float *const *x, size_t count, size_t i,
                         float *y) {
    vec top[4];
    UNROLL for (size_t v = 0; v < vecs; v++) top[v] = load(x[0] + i + v * LANES);
    for (size_t k = 1; k < count; k++)
        UNROLL for (size_t v = 0; v < vecs; v++) top[v] =
            larger_of(load(x[k] + i + v * LANES), top[v]);
    UNROLL for (size_t v = 0; v < vecs; v++) store(y + i + v * LANES, top[v]);
}

static void max_up(const float *const *x, size_t count, size_t n, float *y) {
    size_t i = 0;
    for (; i + 4 * LANES <= n; i += 4 * LANES)
        max_up_block(4, x, count, i, y);
    for (; i + LANES <= n; i += LANES)
        max_up_block(1, x, count, i, y);
    if (i == n)
        return;
    vec top = load_some(x[0] + i, n - i);
    for (size_t k = 1; k < count; k++)
        top = larger_of(load_some(x[k] + i, n - i), top);
    store_some(y + i, top, n - i);
}

/* vecs vectors of channels from c on, of window i. */
INLINE void window_block(const size_t vecs, const sis__window_maxima *m, size_t at, float *y) {
    vec top[4];
    UNROLL for (size_t v = 0; v < vecs; v++) top[v] = load(m->x[0] + at + v * LANES);
    for (size_t k = 1; k < m->count; k++)
        UNROLL for (size_t v = 0; v < vecs; v++) top[v] =
            larger_of(load(m->x[k] + at + v * LANES), top[v]);
    UNROLL for (size_t v = 0; v < vecs; v++) store(y + v * LANES, top[v]);
}

static void window_maxima(const sis__window_maxima *m, float *y) {
    for (size_t i = 0; i < m->n; i++, y += m->channels) {
        size_t at = i * m->step, c = 0, n = m->channels;
        for (; c + 4 * LANES <= n; c += 4 * LANES)
            window_block(4, m, at + c, y + c);
        for (; c + LANES <= n; c += LANES)
            window_block(1, m, at + c, y + c);
        if (c == n)
            continue;
        vec top = load_some(m->x[0] + at + c, n - c);
        for (size_t k = 1; k < m->count; k++)
            top = larger_of(load_some(m->x[k] + at + c, n - c), top);
        store_some(y + c, top, n - c);
    }
}

/* One vector of join_maxima: y, and which elements may have changed. */
INLINE vec join_maxima_at(const sis__maxima *t, size_t i, size_t n, ivec *changed) {
    vec top = load_some(t->inside + i, n), base = load_some(t->base + i, n);
    vec out = larger_of(load_some(t->outside[0] + i, n), load_some(t->outside[1] + i, n));
    vec y = larger_of(top, out);
    if (t->relu)
        y = relu_of(y);
    *changed |= y != base;
    return y;
}

static int join_maxima(const sis__maxima *t, float *y) {
    ivec changed = {0}, last = {0};
    size_t i = 0, rest = t->n % LANES;
    int any = 0;
    for (; i + LANES <= t->n; i += LANES)
        store(y + i, join_maxima_at(t, i, LANES, &changed));
    if (rest)
        store_some(y + i, join_maxima_at(t, i, rest, &last), rest);
    for (size_t k = 0; k < LANES; k++)
        any |= changed[k] | (k < rest ? last[k] : 0);
    return any != 0;
}

INLINE vec near_at(const sis__near *t, size_t i, size_t n) {
    vec x = load_some(t->x + i, n) + load_some(t->error + i, n);
    return pick(x < load_some(t->y + i, n), all(0.0f), load_some(t->weight + i, n));
}

static float near(const sis__near *t) {
    vec sum = {0};
    float total = 0;
    size_t i = 0;
    for (; i + LANES <= t->n; i += LANES)
        sum += near_at(t, i, LANES);
    if (i < t->n)
        sum += near_at(t, i, t->n - i);
    for (size_t k = 0; k < LANES; k++)
        total += sum[k];
    return total;
}

/* Are the differences of LANES values unchanged? Most are. */
INLINE int unchanged(const sis__compared *c, size_t i) {
    wide low = widen(c->now + i) - widen(c->base + i) - load_wide(c->kept + i);
    i += WIDE;
    wide high = widen(c->now + i) - widen(c->base + i) - load_wide(c->kept + i);
    return !lanes_of((ivec)((low != 0.0) | (high != 0.0)));
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
#elif defined(__AVX__)
    const __m256d zero = _mm256_setzero_pd();
    for (; i + 4 <= c->n; i += 4) {
        __m256d d = _mm256_sub_pd(_mm256_cvtps_pd(_mm_loadu_ps(c->now + i)),
                                  _mm256_cvtps_pd(_mm_loadu_ps(c->base + i)));
        __m256d kept = _mm256_loadu_pd(c->kept + i), step = _mm256_sub_pd(d, kept);
        int differ = _mm256_movemask_pd(_mm256_cmp_pd(step, zero, _CMP_NEQ_UQ));
        if (!differ)
            continue;
        c->more_nonzero +=
            __builtin_popcount((unsigned)_mm256_movemask_pd(_mm256_cmp_pd(d, zero, _CMP_NEQ_UQ))) -
            __builtin_popcount(
                (unsigned)_mm256_movemask_pd(_mm256_cmp_pd(kept, zero, _CMP_NEQ_UQ)));
        _mm256_storeu_pd(c->kept + i, d);
        for (int lane = 0; lane < 4; lane++) {
            c->index[found] = c->first + (int)i + lane;
            c->change[found] = step[lane];
            found += (size_t)(differ >> lane & 1);
        }
    }
#endif
    for (size_t to; i < c->n; i = to) {
        to = c->n - i < LANES ? c->n : i + LANES;
        if (to - i == LANES && unchanged(c, i))
            continue;
        for (; i < to; i++) {
            double d = (double)c->now[i] - (double)c->base[i], kept = c->kept[i], step = d - kept;
            c->more_nonzero += (d != 0) - (kept != 0);
            c->kept[i] = d;
            c->index[found] = c->first + (int)i;
            c->change[found] = step;
            found += step != 0;
        }
    }
    return found;
}

static int round_sums(const sis__sums *s, float *y) {
    half_mask close = {0};
    int any = 0;
    size_t i = 0;
    for (; i + WIDE <= s->n; i += WIDE) {
        wide v = load_wide(s->sum + i), e = load_wide(s->slack + i);
        if (s->change)
            v += load_wide(s->change + i);
        wide low = v - e, high = v + e;
        if (s->divisor != 1) {
            low /= s->divisor;
            high /= s->divisor;
        }
        half rounded = narrow(low); /* if v rounds differently, it is too close to the midpoint */
        close |= rounded != narrow(high);
        if (s->relu)
            rounded = (half)((half_mask)rounded & ~(rounded < 0.0f));
        *(half_at *)(y + i) = rounded;
    }
    for (size_t k = 0; k < WIDE; k++)
        any |= close[k];
    for (; i < s->n; i++) {
        double v = s->sum[i] + (s->change ? s->change[i] : 0.0);
        float rounded = (float)((v - s->slack[i]) / s->divisor);
        y[i] = s->relu && rounded < 0 ? 0 : rounded;
        any |= rounded != (float)((v + s->slack[i]) / s->divisor);
    }
    return any;
}
