/* SPDX-License-Identifier: MIT
 *
 * The kernels, written with vectors of VBYTES bytes and tiles of MR rows. avx2.c, avx512.c, base.c
 * and neon.c each include this file once and define VBYTES, MR and KERNELS_NAME. kernels.h says
 * what the kernels compute.
 *
 * Matrix product: c is cut into tiles of MR x 2 vectors that stay in registers while k runs. The
 * rows of a for one strip of tiles are first copied side by side: a strip of a fits into the L1
 * cache, and rows that are a multiple of 4096 bytes apart would evict each other. b is packed in
 * panels. k is cut into pieces so that a strip stays small. Between pieces the partial sum is kept
 * in c, which is exact, so every element is one sum from the first to the last k. For convolutions
 * each piece is summed separately and added to c. Rows that do not fill a tile use the same code
 * with fewer rows; columns that do not fill a tile are computed in a padded copy.
 *
 * Functions: exp is 2^n * polynomial; sigmoid and tanh use exp. The last vector of an array is
 * computed in a padded copy, so an element's result does not depend on its place.
 */
#ifdef __x86_64__
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif
#include <math.h>
#include <string.h>

#include "net/kernels/kernels.h"

typedef float vec __attribute__((vector_size(VBYTES)));
typedef int ivec __attribute__((vector_size(VBYTES)));
typedef float vec_at __attribute__((vector_size(VBYTES), aligned(4), may_alias));

enum { LANES = VBYTES / 4, NR = 2 * LANES, KC = SIS__PIECE };

#define INLINE static inline __attribute__((always_inline))
#ifdef __clang__
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

INLINE vec load(const float *p) {
    return *(const vec_at *)p;
}

INLINE void store(float *p, vec v) {
    *(vec_at *)p = v;
}

INLINE vec all(float x) {
    return x - (vec){0};
}

/* n <= LANES values at p, the other lanes are 0. No memory beyond them is read or written. */
#if VBYTES == 64
INLINE __mmask16 lanes_below(size_t n) {
    return (__mmask16)(n >= LANES ? 0xFFFF : (1u << n) - 1);
}

INLINE vec load_some(const float *p, size_t n) {
    return (vec)_mm512_maskz_loadu_ps(lanes_below(n), p);
}

INLINE void store_some(float *p, vec v, size_t n) {
    _mm512_mask_storeu_ps(p, lanes_below(n), (__m512)v);
}

/* The same with `other` in the remaining lanes. */
INLINE vec fill_some(const float *p, size_t n, float other) {
    return (vec)_mm512_mask_loadu_ps((__m512)all(other), lanes_below(n), p);
}
#elif VBYTES == 32
INLINE __m256i lanes_below(size_t n) {
    ivec count = (int)(n < LANES ? n : LANES) - (ivec){0}, lane = {0, 1, 2, 3, 4, 5, 6, 7};
    return (__m256i)(lane < count);
}

INLINE vec load_some(const float *p, size_t n) {
    return n >= LANES ? load(p) : (vec)_mm256_maskload_ps(p, lanes_below(n));
}

INLINE vec fill_some(const float *p, size_t n, float other) {
    __m256i there = lanes_below(n);
    return (vec)_mm256_blendv_ps((__m256)all(other), _mm256_maskload_ps(p, there), (__m256)there);
}

/* Stored in pieces, because masked stores are slow on some machines. */
INLINE void store_some(float *p, vec v, size_t n) {
    __m128 four = _mm256_castps256_ps128((__m256)v);
    if (n >= LANES) {
        store(p, v);
        return;
    }
    if (n & 4) {
        _mm_storeu_ps(p, four);
        four = _mm256_extractf128_ps((__m256)v, 1);
        p += 4;
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)p, four);
        four = _mm_movehl_ps(four, four);
        p += 2;
    }
    if (n & 1)
        _mm_store_ss(p, four);
}
#else
INLINE vec fill_some(const float *p, size_t n, float other) {
    float copy[LANES];
    if (n >= LANES)
        return load(p);
    for (size_t i = 0; i < LANES; i++)
        copy[i] = i < n ? p[i] : other;
    return load(copy);
}

INLINE vec load_some(const float *p, size_t n) {
    return fill_some(p, n, 0.0f);
}

INLINE void store_some(float *p, vec v, size_t n) {
    float copy[LANES];
    if (n >= LANES) {
        store(p, v);
        return;
    }
    store(copy, v);
    memcpy(p, copy, n * sizeof *p);
}
#endif

/* One bit for each lane that is set. */
INLINE unsigned lanes_of(ivec which) {
#if VBYTES == 64
    return (unsigned)_mm512_cmplt_epi32_mask((__m512i)which, _mm512_setzero_si512());
#elif VBYTES == 32
    return (unsigned)_mm256_movemask_ps((__m256)which);
#elif defined(__x86_64__)
    return (unsigned)_mm_movemask_ps((__m128)which);
#elif defined(__aarch64__)
    return vaddvq_u32((uint32x4_t)(which & (ivec){1, 2, 4, 8}));
#else
    unsigned bits = 0;
    for (unsigned i = 0; i < LANES; i++)
        bits |= (unsigned)(which[i] < 0) << i;
    return bits;
#endif
}

/* ---- Matrix product ------------------------------------------------------------------------ */

/* Where a tile finds the rows of its left side: packed as (k, MR), in place, or copied as (MR,
 * STEP), possibly only some of the terms. PLACED: packed, and rows of the right side can be
 * anywhere; the second vector of a row, or (HALVES) each second half of a vector, is `pitch`
 * further. */
typedef enum { PACKED, IN_PLACE, COPIED, LISTED, PLACED, LINES, HALVES } left_side;
enum { STEP = KC + LANES, MAX_VECS = 4 };

/* One tile: a (k, MR), (MR, STEP) or rows a_row apart, b (k, NR), c (rows, NR). Sums start from c
 * or from `start`; they replace c or are added to it. */
typedef struct {
    size_t k;
    left_side left;
    const float *a, *b;
    size_t a_row;       /* IN_PLACE */
    const int *index;   /* (k) LISTED: indices of the rows of b; PLACED ...: their offsets */
    size_t line, pitch; /* LINES, HALVES: of the right side; for pitch see left_side */
    size_t beside[2];   /* two panels: offsets of the second panel's vectors */
    const float *start; /* (rows) or NULL */
    int add;
    const float *bias; /* (NR) added to the final sums, or NULL */
    float *c;
    size_t ldc;
} tile;

/* Half a vector from each of two places. */
INLINE vec two_halves(const float *a, const float *b) {
#if VBYTES == 64
    __m512d low = _mm512_castpd256_pd512((__m256d)_mm256_loadu_ps(a));
    return (vec)_mm512_insertf64x4(low, (__m256d)_mm256_loadu_ps(b), 1);
#elif VBYTES == 32
    return (vec)_mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(a)), _mm_loadu_ps(b), 1);
#else
    float both[LANES];
    memcpy(both, a, sizeof both / 2);
    memcpy(both + LANES / 2, b, sizeof both / 2);
    return load(both);
#endif
}

/* Vector v of a row of the right side. With two panels, the vectors of the second are at
 * `beside`. */
INLINE vec right_vector(const left_side left, const float *b, size_t pitch, const size_t *beside,
                        const size_t v) {
    if (left == HALVES)
        return two_halves(b + 2 * v * pitch, b + (2 * v + 1) * pitch);
    return load(b + (v > 1 ? beside[v - 2] : v == 0 ? 0 : left == LINES ? pitch : LANES));
}

/* rows, vecs and left are constants where this is inlined. */
INLINE void run_tile(const size_t rows, const size_t vecs, const left_side left, const tile *t) {
    const float *a = t->a;
    const int placed = left == PLACED || left == LINES || left == HALVES;
    const int packed = left == PACKED || placed;
    const size_t next = packed ? MR : 1;
    const size_t below = packed ? 1 : left == IN_PLACE ? t->a_row : STEP;
    float *c = t->c;
    const size_t ldc = t->ldc, k = t->k, pitch = t->pitch;
    const size_t second = t->beside[0],
                 beside[] = {second, left == LINES ? t->beside[1] : second + LANES};
    vec s[MR][MAX_VECS], x[MAX_VECS];
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] =
        t->start ? all(t->start[i]) : load(c + i * ldc + v * LANES);
    for (size_t p = 0; p < k; p++, a += next) {
        const float *b = t->b + (placed           ? (size_t)t->index[p]
                                 : left == LISTED ? (size_t)t->index[p] * NR
                                                  : p * NR);
        UNROLL for (size_t v = 0; v < vecs; v++) x[v] = right_vector(left, b, pitch, beside, v);
        UNROLL for (size_t i = 0; i < rows; i++) {
            vec y = all(a[i * below]);
            UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] += y * x[v];
        }
    }
    if (t->add) {
        UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] =
            load(c + i * ldc + v * LANES) + s[i][v];
    }
    if (t->bias) {
        UNROLL for (size_t v = 0; v < vecs; v++) x[v] = load(t->bias + v * LANES);
        UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] =
            s[i][v] + x[v];
    }
    if (left == LISTED) { /* omitted terms could have turned a -0 into 0 */
        UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++) s[i][v] +=
            0.0f;
    }
    UNROLL for (size_t i = 0; i < rows; i++) UNROLL for (size_t v = 0; v < vecs; v++)
        store(c + i * ldc + v * LANES, s[i][v]);
}

/* One case for each possible number of rows of a tile. */
#define EACH_LOW_HEIGHT(X) X(1) X(2) X(3) X(4) X(5) X(6)
#if MR > 6
#define EACH_HEIGHT(X) EACH_LOW_HEIGHT(X) X(7) X(8) X(9) X(10) X(11) X(12)
#else
#define EACH_HEIGHT(X) EACH_LOW_HEIGHT(X)
#endif

INLINE void run_vecs(const size_t rows, const size_t vecs, const tile *t) {
    if (t->left == PACKED)
        run_tile(rows, vecs, PACKED, t);
    else if (t->left == IN_PLACE)
        run_tile(rows, vecs, IN_PLACE, t);
    else if (t->left == COPIED)
        run_tile(rows, vecs, COPIED, t);
    else if (t->left == PLACED)
        run_tile(rows, vecs, PLACED, t);
    else if (t->left == LINES)
        run_tile(rows, vecs, LINES, t);
    else if (t->left == LISTED)
        run_tile(rows, vecs, LISTED, t);
    else if (vecs == 2)
        run_tile(rows, vecs, HALVES, t);
}

static void run_rows(size_t rows, const tile *t) {
    switch (rows) {
#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        run_vecs(n, 2, t);                                                                         \
        break;
        EACH_HEIGHT(ROWS)
#undef ROWS
    }
}

#if MR > 6
/* Two panels at a time. A tile of half the height and twice the width has the same number of sums
 * but loads less: 10 values and vectors for 24 products instead of 14. */
static void run_low_rows(size_t rows, const tile *t) {
    switch (rows) {
#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        run_vecs(n, 4, t);                                                                         \
        break;
        EACH_LOW_HEIGHT(ROWS)
#undef ROWS
    }
}

static void run_two_panels(size_t rows, tile *t) {
    size_t first = rows > MR / 2 ? (rows + 1) / 2 : rows;
    size_t below = t->left == IN_PLACE                      ? t->a_row
                   : t->left == COPIED || t->left == LISTED ? STEP
                                                            : 1;
    run_low_rows(first, t);
    if (first < rows) {
        const float *a = t->a, *start = t->start;
        t->a += first * below;
        t->c += first * t->ldc;
        if (start)
            t->start += first;
        run_low_rows(rows - first, t);
        t->a = a;
        t->start = start;
    }
}
#endif

/* The same for fewer than NR columns, through a copy of the tile. */
static void run_edge(size_t rows, size_t cols, const tile *t) {
    float copy[MR * NR], bias[NR] = {0};
    tile inside = *t;
    if (t->bias) {
        memcpy(bias, t->bias, cols * sizeof *bias);
        inside.bias = bias;
    }
    inside.c = copy;
    inside.ldc = NR;
    memset(copy, 0, sizeof copy);
    for (size_t i = 0; (!t->start || t->add) && i < rows; i++)
        memcpy(copy + i * NR, t->c + i * t->ldc, cols * sizeof *copy);
    run_rows(rows, &inside);
    for (size_t i = 0; i < rows; i++)
        memcpy(t->c + i * t->ldc, copy + i * NR, cols * sizeof *copy);
}

/* The offset of column j of a right side in lines. */
INLINE size_t column_at(const tile *t, size_t pitch, size_t j) {
    return j / t->line * pitch + j % t->line;
}

/* All panels of b (k, n), from row `from` on, times one strip. k, a, start, c and ldc of t are
 * set. */
static void run_strip(size_t rows, size_t n, const float *b, size_t b_depth, tile *t) {
    float *c = t->c;
    const float *bias = t->bias;
    const size_t pitch = t->pitch;
    for (size_t j = 0; j < n; j += NR) {
        size_t at = t->left == PLACED ? j : t->line ? column_at(t, pitch, j) : j * b_depth;
        t->b = b + at;
        if (t->left == LINES) /* of this panel */
            t->pitch = column_at(t, pitch, j + LANES) - at;
        t->c = c + j;
        t->bias = bias ? bias + j : NULL;
#if MR > 6
        if (n - j >= 2 * NR && t->left != HALVES) {
            t->beside[0] = t->left == PLACED ? NR : NR * b_depth;
            for (size_t v = 0; t->left == LINES && v < 2; v++)
                t->beside[v] = column_at(t, pitch, j + NR + v * LANES) - at;
            run_two_panels(rows, t);
            j += NR;
            continue;
        }
#endif
        if (n - j >= NR)
            run_rows(rows, t);
        else
            run_edge(rows, n - j, t);
    }
}

/* Number of rows of the next strip. A tile of fewer than 4 rows waits for its own sums, so if few
 * rows remain, the strip before leaves some of its rows to the last one. */
INLINE size_t strip_height(size_t left) {
    return left > MR && left < MR + 4 ? (left + 1) / 2 : left < MR ? left : MR;
}

/* Copy a strip of rows of a. */
static void copy_strip(size_t rows, size_t k, const float *a, size_t a_row, size_t a_col,
                       float *strip) {
    for (size_t i = 0; i < rows; i++)
        if (a_col == 1)
            memcpy(strip + i * STEP, a + i * a_row, k * sizeof *a);
        else
            for (size_t p = 0; p < k; p++)
                strip[i * STEP + p] = a[i * a_row + p * a_col];
}

/* apart: sums of k <= KC terms start from zero and are added to c at the end. */
INLINE void any_gemm(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                     const float *b, float *c, size_t ldc, const int apart) {
    static const float zeros[MR];
    float strip[MR * STEP];
    for (size_t from = 0; from < k; from += KC) {
        size_t depth = k - from < KC ? k - from : KC;
        for (size_t i = 0, rows; i < m; i += rows) {
            rows = strip_height(m - i);
            tile t = {.k = depth, .left = COPIED, .a = strip, .c = c + i * ldc, .ldc = ldc};
            t.start = apart ? zeros : NULL;
            t.add = apart;
            copy_strip(rows, depth, a + i * a_row + from * a_col, a_row, a_col, strip);
            run_strip(rows, n, b + from * NR, k, &t);
        }
    }
}

static void gemm(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                 const float *b, float *c, size_t ldc) {
    any_gemm(m, n, k, a, a_row, a_col, b, c, ldc, 0);
}

static void gemm_apart(size_t m, size_t n, size_t k, const float *a, size_t a_row, const float *b,
                       float *c, size_t ldc) {
    any_gemm(m, n, k, a, a_row, 1, b, c, ldc, 1);
}

/* Would rows with this stride evict each other from the L1 cache? Then they are copied. */
INLINE int in_the_way(size_t a_row) {
    return a_row % 1024 == 0;
}

static void linear(const sis__linear_product *p) {
    static const float zeros[MR];
    float strip[MR * STEP];
    int copy = in_the_way(p->k);
    for (size_t from = 0; from == 0 || from < p->k; from += KC) {
        size_t depth = p->k - from < KC ? p->k - from : KC;
        for (size_t i = 0, rows; i < p->m; i += rows) {
            rows = strip_height(p->m - i);
            const float *a = p->a + i * p->k + from;
            tile t = {.k = depth, .left = copy ? COPIED : IN_PLACE, .a = copy ? strip : a};
            t.a_row = p->k;
            t.c = p->c + i * p->n;
            t.ldc = p->n;
            t.start = from == 0 ? zeros : NULL;
            t.bias = from + depth == p->k ? p->bias : NULL;
            if (copy)
                copy_strip(rows, depth, a, p->k, 1, strip);
            run_strip(rows, p->n, p->b + from * NR, p->k, &t);
        }
    }
}

/* List up to LANES columns of a, from k0 on, that are not 0 in all of these rows. */
INLINE size_t filled(size_t rows, size_t n, const float *a, size_t a_row, int k0, int *index) {
    ivec some = {0};
    size_t count = 0;
    for (size_t i = 0; i < rows; i++)
        some |= load_some(a + i * a_row, n) != 0.0f;
    for (unsigned bits = lanes_of(some); bits; bits &= bits - 1)
        index[count++] = k0 + __builtin_ctz(bits);
    return count;
}

enum { UNSEEN = 15 };

/* List the columns of a strip that are not all 0. If most are not, all are listed and the next
 * UNSEEN strips are not searched. */
INLINE size_t list_filled(size_t rows, size_t depth, const float *a, size_t a_row, size_t *unseen,
                          int *index) {
    size_t count = 0;
    if (*unseen > 0) { /* the list still holds all columns */
        --*unseen;
        return depth;
    }
    for (size_t p = 0; p < depth; p += LANES)
        count += filled(rows, depth - p, a + p, a_row, (int)p, index + count);
    if (8 * count < 7 * depth)
        return count;
    *unseen = UNSEEN;
    for (size_t p = 0; p < depth; p++)
        index[p] = (int)p;
    return depth;
}

/* gemm for contiguous rows of a and a finite b. Columns of a that are 0 in a whole strip add
 * nothing and are left out. */
static void gemm_filled(size_t m, size_t n, size_t k, const float *a, size_t a_row, const float *b,
                        float *c, size_t ldc) {
    float strip[MR * STEP];
    int index[KC];
    for (size_t from = 0; from < k; from += KC) {
        size_t depth = k - from < KC ? k - from : KC, unseen = 0;
        for (size_t i = 0; i < m; i += MR) {
            size_t rows = m - i < MR ? m - i : MR;
            const float *at = a + i * a_row + from;
            size_t count = list_filled(rows, depth, at, a_row, &unseen, index);
            if (count == depth)
                copy_strip(rows, depth, at, a_row, 1, strip);
            for (size_t r = 0; count < depth && r < rows; r++)
                for (size_t p = 0; p < count; p++)
                    strip[r * STEP + p] = at[r * a_row + (size_t)index[p]];
            tile t = {.k = count, .left = LISTED, .a = strip, .index = index, .ldc = ldc};
            t.c = c + i * ldc;
            run_strip(rows, n, b + from * NR, k, &t);
        }
    }
}

static void gemm_packed(const sis__packed_product *p) {
    static const float zeros[MR];
    size_t wide = (p->m + MR - 1) / MR * MR, piece = sis__piece_of(p->k, p->parts);
    for (size_t from = 0; from == 0 || from < p->k; from += piece) {
        size_t depth = p->k - from < piece ? p->k - from : piece;
        for (size_t strip = 0; strip * MR < p->m; strip++) {
            size_t i = sis__strip_start(p->m, MR, strip);
            size_t rows = sis__strip_start(p->m, MR, strip + 1) - i;
            const float *first = p->row_start ? p->row_start + i : zeros;
            tile t = {.k = depth,
                      .left = !p->place              ? PACKED
                              : p->line == 0         ? PLACED
                              : p->line == LANES / 2 ? HALVES
                                                     : LINES,
                      .line = p->line,
                      .pitch = p->pitch,
                      .a = p->a + from * wide + strip * MR * depth,
                      .index = p->place ? p->place + from : NULL,
                      .start = from == 0      ? first
                               : p->parts > 1 ? zeros
                                              : NULL,
                      .add = from > 0 && p->parts > 1,
                      .c = p->c + i * p->ldc,
                      .ldc = p->ldc};
            run_strip(rows, p->n, p->place ? p->b : p->b + from * NR, p->k, &t);
        }
    }
}

/* ---- Functions of one value ---------------------------------------------------------------- */

INLINE vec pick(ivec which, vec yes, vec no) {
    return (vec)(((ivec)yes & which) | ((ivec)no & ~which));
}

/* x clamped to low..high; NaN stays NaN. */
INLINE vec within(vec x, vec low, vec high) {
#if VBYTES == 64
    return (vec)_mm512_min_ps((__m512)high, _mm512_max_ps((__m512)low, (__m512)x));
#elif VBYTES == 32
    return (vec)_mm256_min_ps((__m256)high, _mm256_max_ps((__m256)low, (__m256)x));
#else
    return pick(x > high, high, pick(x < low, low, x));
#endif
}

/* max(x, low); NaN stays NaN. */
INLINE vec at_least(vec x, float low) {
#if VBYTES == 64
    return (vec)_mm512_max_ps((__m512)all(low), (__m512)x);
#elif VBYTES == 32
    return (vec)_mm256_max_ps((__m256)all(low), (__m256)x);
#else
    return pick(x < low, all(low), x);
#endif
}

/* The larger of the two; y if x is NaN. */
INLINE vec larger_number(vec x, vec y) {
#if VBYTES == 64
    return (vec)_mm512_max_ps((__m512)x, (__m512)y);
#elif VBYTES == 32
    return (vec)_mm256_max_ps((__m256)x, (__m256)y);
#else
    return pick(x > y, x, y);
#endif
}

/* p * 2^n for p around 1 and integer n, including results that are denormal, 0 or infinite. */
INLINE vec scale(vec p, vec n) {
#if VBYTES == 64
    return (vec)_mm512_scalef_ps((__m512)p, (__m512)n);
#else
    ivec whole = __builtin_convertvector(n, ivec), half = whole >> 1; /* two factors */
    return (vec)((half + 127) << 23) * p * (vec)((whole - half + 127) << 23);
#endif
}

/* Number of vectors that go through each step of a function together, so that the processor finds
 * independent instructions. Even, because panels are two vectors wide. */
enum { AT_ONCE = 6 };

/* p = p * x + factor, for each of n factors and `count` vectors. */
INLINE void polynomials(const size_t count, const size_t n, const float *factors, const vec *x,
                        vec *p) {
    UNROLL for (size_t k = 0; k < n; k++) UNROLL for (size_t i = 0; i < count; i++) p[i] =
        p[i] * x[i] + factors[k];
}

/* e^x; 0 below -104, infinity above 88.73. Relative error below 2e-7 (denormals excepted). count <=
 * AT_ONCE is a constant where this is inlined. */
INLINE void exp_any(const size_t count, vec *x) {
    static const float factors[] = {1.39819994e-3f, 8.33345205e-3f, 4.16657962e-2f, 1.66666657e-1f,
                                    0.5f};
    const vec magic = all(12582912.0f); /* 1.5 * 2^23: adding it rounds to an integer */
    vec n[AT_ONCE], p[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) x[i] = within(x[i], all(-105.0f), all(89.0f));
    UNROLL for (size_t i = 0; i < count; i++) n[i] = (x[i] * 1.44269504f + magic) - magic;
    UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] - n[i] * 0.693145752f;
    UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] - n[i] * 1.42860677e-6f;
    UNROLL for (size_t i = 0; i < count; i++) p[i] = all(1.98756912e-4f);
    polynomials(count, sizeof factors / sizeof *factors, factors, x, p);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = p[i] * x[i] * x[i] + x[i];
    UNROLL for (size_t i = 0; i < count; i++) x[i] = scale(p[i] + 1.0f, n[i]);
}

/* scale() for normal results: one factor is enough. */
INLINE vec times_power(vec p, vec n) {
#if VBYTES == 64
    return scale(p, n);
#else
    return p * (vec)((__builtin_convertvector(n, ivec) + 127) << 23);
#endif
}

/* e^x for x of -87 to 88, infinite at 89; count <= AT_ONCE is a constant where this is inlined. */
INLINE void exp_at_once(const size_t count, vec *x) {
    const vec magic = all(12582912.0f);
    vec n[AT_ONCE], p[AT_ONCE], q[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) n[i] = (x[i] * 1.44269504f + magic) - magic;
    UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] - n[i] * 0.693145752f;
    UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] - n[i] * 1.42860677e-6f;
    UNROLL for (size_t i = 0; i < count; i++) q[i] = x[i] * x[i];
    UNROLL for (size_t i = 0; i < count; i++) p[i] =
        (1.98756912e-4f * x[i] + 1.39819994e-3f) * q[i] + (8.33345205e-3f * x[i] + 4.16657962e-2f);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = p[i] * q[i] + (1.66666657e-1f * x[i] + 0.5f);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = p[i] * q[i] + (x[i] + 1.0f);
    UNROLL for (size_t i = 0; i < count; i++) x[i] = times_power(p[i], n[i]);
}

INLINE vec exp_normal(vec x) {
    exp_at_once(1, &x);
    return x;
}

INLINE vec magnitude(vec x) {
    return (vec)((ivec)x & 0x7FFFFFFF);
}

/* 1 / (1 + e^-x): relative error below 3e-7; 0 if the result would be below 4e-39. */
INLINE void sigmoid_at_once(const size_t count, vec *x) {
    UNROLL for (size_t i = 0; i < count; i++) x[i] = within(-x[i], all(-87.0f), all(89.0f));
    exp_at_once(count, x);
    UNROLL for (size_t i = 0; i < count; i++) x[i] = 1.0f / (1.0f + x[i]);
}

/* Odd polynomial for small |x|, else 1 - 2 / (e^2|x| + 1). */
INLINE vec tanh_of(vec x) {
    vec a = magnitude(x), q = x * x;
    vec p = all(-5.70498872e-3f);
    p = p * q + 2.06390887e-2f;
    p = p * q - 5.37397155e-2f;
    p = p * q + 1.33314422e-1f;
    p = p * q - 3.33332819e-1f;
    vec near = p * q * x + x;
    vec far = 1.0f - 2.0f / (exp_normal(within(a + a, all(0.0f), all(88.0f))) + 1.0f);
    far = (vec)((ivec)far | ((ivec)x & (int)0x80000000));
    return pick(a < 0.625f, near, far);
}

/* 2^x for x of -125 to 0: relative error below 2e-7. */
INLINE void power_of_two(const size_t count, vec *x) {
    static const float factors[] = {9.67554133e-3f, 5.55071327e-2f, 2.40221197e-1f, 6.93146967e-1f,
                                    1.00000007f};
    const vec magic = all(12582912.0f);
    vec shifted[AT_ONCE], p[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) shifted[i] = x[i] + magic;
    UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] - (shifted[i] - magic);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = all(1.32764719e-3f);
    polynomials(count, sizeof factors / sizeof *factors, factors, x, p);
    UNROLL for (size_t i = 0; i < count; i++) x[i] = (vec)((ivec)p[i] + ((ivec)shifted[i] << 23));
}

#include "net/kernels/erf.h"

INLINE void tanh_at_once(const size_t count, vec *x) {
    UNROLL for (size_t i = 0; i < count; i++) x[i] = tanh_of(x[i]);
}

/* x * sigmoid(x), rounded after each of the two operations. */
INLINE void silu_at_once(const size_t count, vec *x) {
    vec y[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) y[i] = x[i];
    sigmoid_at_once(count, y);
    UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] * y[i];
}

/* Apply f, which takes a number of vectors, to n values; the last few one vector at a time. */
#define MAP(name, f)                                                                               \
    static void name(const float *x, float *y, size_t n) {                                         \
        vec v[AT_ONCE];                                                                            \
        size_t i = 0;                                                                              \
        for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES) {                                   \
            UNROLL for (size_t k = 0; k < AT_ONCE; k++) v[k] = load(x + i + k * LANES);            \
            f(AT_ONCE, v);                                                                         \
            UNROLL for (size_t k = 0; k < AT_ONCE; k++) store(y + i + k * LANES, v[k]);            \
        }                                                                                          \
        for (; i < n; i += LANES) {                                                                \
            v[0] = load_some(x + i, n - i);                                                        \
            f(1, v);                                                                               \
            store_some(y + i, v[0], n - i);                                                        \
        }                                                                                          \
    }
MAP(map_exp, exp_any)
MAP(map_sigmoid, sigmoid_at_once)
MAP(map_tanh, tanh_at_once)
MAP(map_erf, erf_at_once)
MAP(map_silu, silu_at_once)
#undef MAP

/* ---- Maxima -------------------------------------------------------------------------------- */

static void relu(const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i++)
        y[i] = x[i] < 0.0f ? 0.0f : x[i];
}

INLINE float larger(float a, float b) {
    return b > a || b != b ? b : a;
}

/* x if it is larger than y or NaN, else y. The machine's max instructions return y if either is
 * NaN. */
INLINE vec larger_of(vec x, vec y) {
#if VBYTES == 64
    __m512 a = (__m512)x, top = _mm512_max_ps(a, (__m512)y);
    return (vec)_mm512_mask_mov_ps(top, _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), a);
#elif VBYTES == 32
    __m256 a = (__m256)x, top = _mm256_max_ps(a, (__m256)y);
    return (vec)_mm256_blendv_ps(top, a, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
#else
    return pick((x > y) | (x != x), x, y);
#endif
}

static void max_row(float *y, const float *x, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES)
        store(y + i, larger_of(load(x + i), load(y + i)));
    if (i < n)
        store_some(y + i, larger_of(load_some(x + i, n - i), load_some(y + i, n - i)), n - i);
}

static float max_of(const float *x, size_t n) {
    float lanes[LANES];
    vec top = fill_some(x, n, x[0]);
    for (size_t i = LANES; i < n; i += LANES)
        top = larger_of(fill_some(x + i, n - i, x[0]), top);
    store(lanes, top);
    UNROLL for (size_t half = LANES / 2; half > 0; half /= 2)
        UNROLL for (size_t i = 0; i < half; i++) lanes[i] = larger(lanes[i], lanes[i + half]);
    return lanes[0];
}

/* ---- Recurrent cells ----------------------------------------------------------------------- */

/* tanh as a quotient n / d of polynomials, fitted for the smallest maximal relative error up to
 * 9.04, from where a float is 1: 3e-8 for the quotient, 3e-7 with rounding. This is enough for a
 * cell and costs half as much. Above 9.04 the quotient exceeds 1 by more than rounding removes, so
 * n is clamped to -d .. d and the result is 1 to the bit. Results of several quotients are divided
 * once. */
typedef struct {
    vec n, d;
} quotient;

/* min(x, limit); NaN stays NaN. */
INLINE vec at_most(vec x, float limit) {
#if VBYTES == 64
    return (vec)_mm512_min_ps((__m512)all(limit), (__m512)x);
#elif VBYTES == 32
    return (vec)_mm256_min_ps((__m256)all(limit), (__m256)x);
#else
    return pick(x > limit, all(limit), x);
#endif
}

#define POLYNOMIAL(x, a, b, c, d, e) (((((x) * (e) + (d)) * (x) + (c)) * (x) + (b)) * (x) + (a))

INLINE quotient tanh_parts(vec x) {
    vec q = at_most(x * x, 94.09f);
    vec n = POLYNOMIAL(q, 1.0f, 0.133813933f, 3.49591812e-3f, 2.06103905e-5f, 1.33488358e-8f);
    vec d = POLYNOMIAL(q, 1.0f, 0.467147142f, 2.58785095e-2f, 3.28599563e-4f, 7.77578521e-7f);
    return (quotient){within(x * n, -d, d), d};
}

/* sigmoid with an error below 2e-7: (d + n) / 2d of x / 2; the powers of two are in the factors. */
INLINE quotient gate_parts(vec x) {
    vec q = at_most(x * x, 4 * 94.09f);
    vec n = POLYNOMIAL(q, 0.5f, 0.133813933f / 8, 3.49591812e-3f / 32, 2.06103905e-5f / 128,
                       1.33488358e-8f / 512);
    vec d = POLYNOMIAL(q, 1.0f, 0.467147142f / 4, 2.58785095e-2f / 16, 3.28599563e-4f / 64,
                       7.77578521e-7f / 256);
    return (quotient){within(x * n + d, all(0.0f), d + d), d + d};
}
#undef POLYNOMIAL

INLINE vec over(quotient x) {
    return x.n / x.d;
}

/* a * b + c, rounded once if the machine can. Explicit, because c may be a product too and the
 * compiler could choose the other one. */
INLINE vec fused(vec a, vec b, vec c) {
#if VBYTES == 64
    return (vec)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif VBYTES == 32
    return (vec)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#elif defined(__aarch64__)
    return (vec)vfmaq_f32((float32x4_t)c, (float32x4_t)a, (float32x4_t)b);
#else
    return a * b + c;
#endif
}

static void gates_of(float *gates, size_t n) {
    for (size_t j = 0; j < n; j += LANES)
        store_some(gates + j, over(gate_parts(load_some(gates + j, n - j))), n - j);
}

/* h . r^T for a strip of rows: n panels of r, `step` apart, side by side in c, starting from zero
 * or (on) from c. Two panels at a time if there are enough registers for their sums: few rows would
 * wait for their own sums; see run_two_panels(). rows is a constant where this is inlined.
 *
 * The arguments are not in a struct as for other tiles: compilers copy structs in pieces larger
 * than they were written, and such a load waits for all earlier stores, here those of the cells of
 * the last strip. These products are short, so that matters. */
INLINE void run_panels(const size_t rows, size_t k, const float *h, size_t h_row, const float *r,
                       size_t n, size_t step, float *c, size_t ldc, int on) {
    static const float zeros[MR];
    const size_t first = MR > 6 && rows > MR / 2 ? (rows + 1) / 2 : rows;
    const size_t max = first <= MR / 2 ? 2 : 1;
    for (size_t some; n > 0; n -= some, r += some * step, c += some * NR) {
        tile t = {.k = k, .a = h, .a_row = h_row, .b = r, .beside = {step}, .c = c, .ldc = ldc};
        t.start = on ? NULL : zeros;
        some = n < max ? n : max;
        if (some == 1) {
            run_tile(rows, 2, IN_PLACE, &t);
            continue;
        }
        run_tile(first, 4, IN_PLACE, &t);
        t.a += first * h_row;
        t.c += first * ldc;
        if (first < rows)
            run_tile(rows - first, 4, IN_PLACE, &t);
    }
}

static void any_panels(size_t rows, size_t k, const float *h, size_t h_row, const float *r,
                       size_t n, size_t step, float *c, size_t ldc, int on) {
    switch (rows) {
#define ROWS(count)                                                                                \
    case count:                                                                                    \
        run_panels(count, k, h, h_row, r, n, step, c, ldc, on);                                    \
        break;
        EACH_HEIGHT(ROWS)
#undef ROWS
    }
}

/* The same for rows of h that would evict each other. */
static void copied_panels(size_t rows, size_t k, const float *h, const float *r, size_t n,
                          size_t step, float *c, size_t ldc) {
    float strip[MR * STEP];
    for (size_t from = 0; from < k; from += KC) {
        size_t depth = k - from < KC ? k - from : KC;
        copy_strip(rows, depth, h + from, k, 1, strip);
        any_panels(rows, depth, strip, STEP, r + from * NR, n, step, c, ldc, from > 0);
    }
}

/* Number of units whose sums are computed together, so that their weights stay in the L1 cache:
 * those of one panel, or all if a panel holds units of two gates. */
INLINE size_t units_of(size_t hidden) {
    return hidden % NR == 0 ? NR : hidden;
}

/* Number of columns rounded up to whole panels. */
INLINE size_t panels_for(size_t columns) {
    return (columns + NR - 1) / NR * NR;
}

/* Units of one or several rows, from `unit` on. */
typedef struct {
    const sis__cell_step *s;
    size_t row, unit, units;
    float *sums;        /* of the first gate; the gates are `units` apart */
    size_t late, width; /* offset of the sums of a candidate that is reset; width of a row */
    const float *x, *more;
} cell_place;

/* Compute the sums of `gates` gates with weights r, into `at` of each row's sums. */
INLINE void place_sums(const cell_place *p, size_t rows, const float *r, size_t gates, size_t at) {
    size_t k = p->s->hidden, n = p->units == k ? panels_for(gates * k) / NR : gates;
    size_t step = p->units == k ? k * NR : k * k;
    if (in_the_way(k))
        copied_panels(rows, k, p->s->h + p->row * k, r + p->unit * k, n, step, p->sums + at,
                      p->width);
    else
        any_panels(rows, k, p->s->h + p->row * k, k, r + p->unit * k, n, step, p->sums + at,
                   p->width, 0);
}

/* The projected input of a gate. n units: a whole vector or the remainder. */
INLINE vec projected(const cell_place *p, const size_t gate, size_t n) {
    size_t at = gate * p->s->hidden + p->unit;
    vec x = load_some(p->x + at, n);
    return p->more ? x + load_some(p->more + at, n) : x;
}

/* The sums of a gate: projected input plus recurrent product. */
INLINE vec gate_sums(const cell_place *p, const size_t gate, size_t n) {
    return projected(p, gate, n) + load_some(p->sums + gate * p->units, n);
}

INLINE void put_gate(const cell_place *p, const size_t gate, vec v, size_t n) {
    size_t hidden = p->s->hidden;
    store_some(p->s->gates + (p->row * 4 + gate) * hidden + p->unit, v, n);
}

/* A cell is computed in short parts, each for all rows of a strip before the next, so that
 * instructions wait less. A part leaves its result in place of the sums. LSTM: the addend of the
 * state, the state, h. */
INLINE void lstm_added(const cell_place *p, size_t n) {
    quotient in = gate_parts(gate_sums(p, 0, n)), g = tanh_parts(gate_sums(p, 3, n));
    if (p->s->gates) {
        put_gate(p, 0, over(in), n);
        put_gate(p, 3, over(g), n);
    }
    store_some(p->sums, in.n * g.n / (in.d * g.d), n);
}

INLINE void lstm_state(const cell_place *p, size_t n) {
    float *c = p->s->c + p->row * p->s->hidden + p->unit;
    vec f = over(gate_parts(gate_sums(p, 2, n)));
    if (p->s->gates)
        put_gate(p, 2, f, n);
    store_some(c, fused(f, load_some(c, n), load_some(p->sums, n)), n);
}

INLINE void lstm_out(const cell_place *p, size_t n) {
    size_t at = p->row * p->s->hidden + p->unit;
    quotient out = gate_parts(gate_sums(p, 1, n)), h = tanh_parts(load_some(p->s->c + at, n));
    if (p->s->gates)
        put_gate(p, 1, over(out), n);
    store_some(p->s->to + at, out.n * h.n / (out.d * h.d), n);
}

/* GRU: the candidate before tanh, h. */
INLINE void gru_candidate(const cell_place *p, size_t n) {
    vec term = load_some(p->sums + p->late, n);
    if (p->s->reset_bias)
        term = term + load_some(p->s->reset_bias + p->unit, n);
    vec r = over(gate_parts(gate_sums(p, 1, n)));
    store_some(p->sums + p->late, fused(r, term, projected(p, 2, n)), n);
}

INLINE void gru_out(const cell_place *p, size_t n) {
    size_t at = p->row * p->s->hidden + p->unit;
    quotient z = gate_parts(gate_sums(p, 0, n));
    quotient g = tanh_parts(load_some(p->sums + p->late, n));
    vec kept = z.n * g.d * load_some(p->s->h + at, n);
    store_some(p->s->to + at, fused(z.d - z.n, g.n, kept) / (z.d * g.d), n);
}

/* Run a part for all units of these rows. The struct is copied so that the compiler knows that no
 * store changes it. */
#define EACH_UNIT(name)                                                                            \
    static void name##_of_rows(cell_place p, size_t rows) {                                        \
        const sis__cell_step s = *p.s;                                                             \
        p.s = &s;                                                                                  \
        for (; rows > 0; rows--, p.row++, p.sums += p.width) {                                     \
            cell_place at = p;                                                                     \
            size_t left = p.units;                                                                 \
            at.x = s.x[p.row];                                                                     \
            at.more = s.more ? s.more[p.row] : NULL;                                               \
            for (; left >= LANES; left -= LANES, at.unit += LANES, at.sums += LANES)               \
                name(&at, LANES);                                                                  \
            if (left > 0)                                                                          \
                name(&at, left);                                                                   \
        }                                                                                          \
    }
EACH_UNIT(lstm_added)
EACH_UNIT(lstm_state)
EACH_UNIT(lstm_out)
EACH_UNIT(gru_candidate)
EACH_UNIT(gru_out)
#undef EACH_UNIT

/* One line of each gate. */
INLINE void fetch_gates(const float *x, size_t gates, size_t hidden) {
    for (size_t g = 0; g < gates; g++)
        __builtin_prefetch(x + g * hidden);
}

/* Prefetch the projected inputs of a strip's units, which several rows may share. They are read
 * after the products, which take longer than the load. */
INLINE void fetch_projected(const cell_place *p, size_t rows, const size_t gates) {
    const sis__cell_step *s = p->s;
    const float *x = NULL, *more = NULL;
    for (size_t row = p->row; row < p->row + rows; row++) {
        if (s->x[row] != x)
            fetch_gates((x = s->x[row]) + p->unit, gates, s->hidden);
        if (s->more && s->more[row] != more)
            fetch_gates((more = s->more[row]) + p->unit, gates, s->hidden);
    }
}

static void lstm(const sis__cell_step *s) {
    size_t units = units_of(s->hidden);
    cell_place p = {.s = s, .units = units, .sums = s->room, .width = panels_for(4 * units)};
    for (; p.unit < s->hidden; p.unit += units)
        for (size_t rows = p.row = 0; p.row < s->n; p.row += rows) {
            rows = strip_height(s->n - p.row);
            fetch_projected(&p, rows, 4);
            place_sums(&p, rows, s->r, 4, 0);
            lstm_added_of_rows(p, rows);
            lstm_state_of_rows(p, rows);
            lstm_out_of_rows(p, rows);
        }
}

static void gru_reset(const sis__cell_step *s) {
    size_t units = units_of(s->hidden), late = panels_for(2 * units);
    cell_place p = {.s = s, .units = units, .sums = s->room, .late = late};
    p.width = late + panels_for(units);
    for (; p.unit < s->hidden; p.unit += units)
        for (size_t rows = p.row = 0; p.row < s->n; p.row += rows) {
            rows = strip_height(s->n - p.row);
            fetch_projected(&p, rows, 3);
            place_sums(&p, rows, s->r, 2, 0);
            place_sums(&p, rows, s->r_reset, 1, late);
            gru_candidate_of_rows(p, rows);
            gru_out_of_rows(p, rows);
        }
}

INLINE void gru_part(const float *z, const float *candidate, const float *h_before, float *h,
                     size_t n) {
    vec u = load_some(z, n), kept = u * load_some(h_before, n);
    store_some(h, fused(1.0f - u, over(tanh_parts(load_some(candidate, n))), kept), n);
}

static void gru(const float *z, const float *candidate, const float *h_before, float *h,
                size_t hidden) {
    size_t j = 0;
    for (; j + LANES <= hidden; j += LANES)
        gru_part(z + j, candidate + j, h_before + j, h + j, LANES);
    if (j < hidden)
        gru_part(z + j, candidate + j, h_before + j, h + j, hidden - j);
}

#include "net/kernels/walk.h"

#include "net/kernels/softmax.h"

#include "net/kernels/units.h"

#include "net/kernels/rows.h"

#include "net/kernels/attention.h"

#include "net/kernels/strided.h"

#include "net/kernels/slide.h"

#include "net/kernels/pool.h"

#include "net/kernels/tiles.h"

const sis__kernels KERNELS_NAME(sis__kernels_) = {
    .name = KERNELS_TEXT,
    .nr = NR,
    .mr = MR,
    .gemm = gemm,
    .gemm_apart = gemm_apart,
    .gemm_packed = gemm_packed,
    .linear = linear,
    .turn = turn,
    .depthwise = depthwise,
    .tiles_in = tiles_in,
    .tiles_out = tiles_out,
    .exp = map_exp,
    .sigmoid = map_sigmoid,
    .tanh = map_tanh,
    .silu = map_silu,
    .erf = map_erf,
    .add = add,
    .sub = sub,
    .mul = mul,
    .div = div_by,
    .max = larger_ones,
    .min = smaller_ones,
    .sum = sum_of_row,
    .squares = squares_around,
    .standardize = standardize,
    .softmax = softmax_rows,
    .attention = attention,
    .gelu = gelu,
    .layer_norm = layer_norm,
    .relu = relu,
    .log_rest = log_rest,
    .max_row = max_row,
    .max_of = max_of,
    .pool_max = pool_max,
    .pool_average = pool_average,
    .lstm = lstm,
    .gates = gates_of,
    .gru = gru,
    .gru_reset = gru_reset,
    .gemm_placed = gemm_placed,
    .columns_placed = columns_placed,
    .max_up = max_up,
    .window_maxima = window_maxima,
    .add_up = add_up,
    .dense = dense,
    .dense_wide = dense_wide,
    .add_rows = add_rows,
    .add_max = add_max,
    .join_maxima = join_maxima,
    .near = near,
    .changes = changes,
    .round_sums = round_sums,
    .switched = switched,
    .patch = patch,
    .narrow = narrow_product,
};
