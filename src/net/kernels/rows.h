/* SPDX-License-Identifier: MIT
 *
 * Kernels of transformers besides matrix products: arithmetic on rows, sums, softmax, GELU and
 * layer normalisation. Part of body.h, which includes it once for each instruction set.
 *
 * Compilers may fuse a product and a following sum into one rounding. A kernel that computes
 * several operators at once would then differ from the single operators; `rounded` prevents the
 * fusion.
 */
INLINE vec rounded(vec v) {
#if VBYTES == 64
    __asm__("" : "+v"(v));
#elif defined(__x86_64__)
    __asm__("" : "+x"(v));
#elif defined(__aarch64__)
    __asm__("" : "+w"(v));
#else
    volatile vec kept = v;
    v = kept;
#endif
    return v;
}

INLINE wide rounded_wide(wide v) {
    return (wide)rounded((vec)v);
}

/* ---- Arithmetic ---------------------------------------------------------------------------- */

#define PLUS(p, q) ((p) + (q))
#define MINUS(p, q) ((p) - (q))
#define TIMES(p, q) ((p) * (q))
#define OVER(p, q) ((p) / (q))
#define LARGER(p, q) pick(((p) > (q)) | ((p) != (p)), p, q)
#define SMALLER(p, q) pick(((p) < (q)) | ((p) != (p)), p, q)

#define ARITHMETIC(name, OPERATION)                                                                \
    static void name(const float *a, size_t sa, const float *b, size_t sb, float *y, size_t n) {   \
        const vec one = sa || !n ? (vec){0} : all(*a), other = sb || !n ? (vec){0} : all(*b);      \
        size_t i = 0;                                                                              \
        if (sa && sb)                                                                              \
            for (; i + LANES <= n; i += LANES)                                                     \
                store(y + i, OPERATION(load(a + i), load(b + i)));                                 \
        else if (sa)                                                                               \
            for (; i + LANES <= n; i += LANES)                                                     \
                store(y + i, OPERATION(load(a + i), other));                                       \
        else                                                                                       \
            for (; i + LANES <= n; i += LANES)                                                     \
                store(y + i, OPERATION(one, sb ? load(b + i) : other));                            \
        if (i < n) {                                                                               \
            vec p = sa ? load_some(a + i, n - i) : one, q = sb ? load_some(b + i, n - i) : other;  \
            store_some(y + i, OPERATION(p, q), n - i);                                             \
        }                                                                                          \
    }
ARITHMETIC(add, PLUS)
ARITHMETIC(sub, MINUS)
ARITHMETIC(mul, TIMES)
ARITHMETIC(div_by, OVER)
ARITHMETIC(larger_ones, LARGER)
ARITHMETIC(smaller_ones, SMALLER)
#undef ARITHMETIC
#undef PLUS
#undef MINUS
#undef TIMES
#undef OVER
#undef LARGER
#undef SMALLER

/* ---- Sums ---------------------------------------------------------------------------------- */

enum { SUMS = 16, SUM_VECS = SUMS / WIDE };

/* Add lanes pairwise: i and i + 8, then i + 4, i + 2 and i + 1. */
INLINE double add_lanes(wide *s) {
    double lanes[WIDE];
    UNROLL for (size_t v = 0; v < 4 && SUM_VECS > 4; v++) s[v] += s[v + 4];
    UNROLL for (size_t v = 0; v < 2 && SUM_VECS > 2; v++) s[v] += s[v + 2];
    store_wide(lanes, s[0] + s[1]);
    UNROLL for (size_t i = 0; i < 4 && WIDE > 4; i++) lanes[i] += lanes[i + 4];
    UNROLL for (size_t i = 0; i < 2 && WIDE > 2; i++) lanes[i] += lanes[i + 2];
    return lanes[0] + lanes[1];
}

/* Add n >= SUMS values to SUMS sums; or fewer values, with 0 for the others. */
INLINE void add_some(wide *s, const float *x, size_t n) {
    float copy[SUMS] = {0};
    if (n < SUMS)
        memcpy(copy, x, n * sizeof *x);
    UNROLL for (size_t v = 0; v < SUM_VECS; v++) s[v] += widen((n < SUMS ? copy : x) + v * WIDE);
}

static double sum_of_row(const float *x, size_t n) {
    wide s[SUM_VECS] = {{0}};
    for (; n >= SUMS; x += SUMS, n -= SUMS)
        add_some(s, x, SUMS);
    if (n)
        add_some(s, x, n);
    return add_lanes(s);
}

/* Squares of distances from a mean, in double. */
static double squares_around(const float *x, double mean, size_t n) {
    wide s[SUM_VECS] = {{0}};
    double rest[SUMS] = {0};
    for (; n >= SUMS; x += SUMS, n -= SUMS)
        UNROLL for (size_t v = 0; v < SUM_VECS; v++) {
            wide d = widen(x + v * WIDE) - mean;
            s[v] += rounded_wide(d * d);
        }
    for (size_t i = 0; i < n; i++)
        rest[i] = ((double)x[i] - mean) * ((double)x[i] - mean);
    UNROLL for (size_t v = 0; v < SUM_VECS; v++) s[v] += load_wide(rest + v * WIDE);
    return add_lanes(s);
}

/* y = (x - mean) * rstd in double, then * scale + shift. */
static void standardize(const sis__standard *t, const float *x, float *y, size_t n) {
    size_t i = 0;
    for (; i + LANES <= n; i += LANES) {
        wide low = (widen(x + i) - t->mean) * t->rstd;
        wide high = (widen(x + i + WIDE) - t->mean) * t->rstd;
        store(y + i, rounded(joined(narrow(low), narrow(high)) * t->scale) + t->shift);
    }
    for (; i < n; i++) {
        vec v = all((float)(((double)x[i] - t->mean) * t->rstd));
        y[i] = (rounded(v * t->scale) + t->shift)[0];
    }
}

/* ---- Softmax ------------------------------------------------------------------------------- */

/* The maximum of n values, ignoring NaN. */
INLINE float top_of(const float *x, size_t n) {
    float lanes[LANES];
    vec max = all(-INFINITY);
    for (size_t i = 0; i < n; i += LANES) {
        max = larger_number(fill_some(x + i, n - i, -INFINITY), max);
    }
    store(lanes, max);
    UNROLL for (size_t i = 0; i < 8 && LANES > 8; i++) lanes[i] =
        lanes[i + 8] > lanes[i] ? lanes[i + 8] : lanes[i];
    UNROLL for (size_t i = 0; i < 4 && LANES > 4; i++) lanes[i] =
        lanes[i + 4] > lanes[i] ? lanes[i + 4] : lanes[i];
    UNROLL for (size_t i = 0; i < 2; i++) lanes[i] =
        lanes[i + 2] > lanes[i] ? lanes[i + 2] : lanes[i];
    return lanes[1] > lanes[0] ? lanes[1] : lanes[0];
}

/* Exact sums of up to SHARES values from 0 to 1, each truncated to a multiple of 2^-30: the order
 * does not matter. */
enum { SHARES = 4096 };

typedef struct {
    ivec low, high; /* of each lane: `low` holds the 16 bits below `high` */
    vec some;       /* NaN if a value was NaN */
} lane_sums;

INLINE void add_shares(lane_sums *t, vec e) {
    ivec whole = __builtin_convertvector(e * 0x1p30f, ivec);
    t->low += whole & 0xFFFF;
    t->high += whole >> 16;
    t->some += e;
}

/* e^d for d <= 0; 0 below e^-87. */
INLINE void exp_of_scores(const size_t count, vec *d) {
    vec e[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) e[i] = at_least(d[i], -87.0f);
    exp_at_once(count, e);
    UNROLL for (size_t i = 0; i < count; i++) d[i] = (vec)((ivec)e[i] & ~(d[i] < -87.0f));
}

/* e^(x - top) of up to `count` vectors of n values: stored in y and added to the sums. */
INLINE void exponentials(lane_sums *t, const size_t count, const float *x, float top, float *y,
                         size_t n) {
    vec e[AT_ONCE];
    UNROLL for (size_t k = 0; k < count; k++) {
        size_t at = k * LANES < n ? k * LANES : 0, left = k * LANES < n ? n - at : 0;
        e[k] = (left >= LANES ? load(x + at) : fill_some(x + at, left, -INFINITY)) - top;
    }
    exp_of_scores(count, e);
    UNROLL for (size_t k = 0; k < count; k++) {
        add_shares(t, e[k]);
        if (k * LANES < n)
            store_some(y + k * LANES, e[k], n - k * LANES);
    }
}

/* Up to SHARES values; their sum in units of 2^-30. */
static double exponentials_of(const float *x, float top, float *y, size_t n) {
    lane_sums t = {{0}, {0}, {0}};
    long long low = 0, high = 0;
    float some = 0;
    size_t i = 0;
    for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES)
        exponentials(&t, AT_ONCE, x + i, top, y + i, AT_ONCE * LANES);
    for (; i < n; i += 2 * LANES)
        exponentials(&t, 2, x + i, top, y + i, n - i < 2 * LANES ? n - i : 2 * LANES);
    for (i = 0; i < LANES; i++) {
        low += t.low[i];
        high += t.high[i];
        some += t.some[i];
    }
    return some == some ? (double)(high * 65536 + low) : NAN;
}

static void softmax_row(const float *x, float *y, size_t n) {
    float top = top_of(x, n), share;
    double sum = 0;
    for (size_t i = 0; top == -INFINITY && i < n; i++)
        y[i] = x[i] != x[i] ? x[i] : 0.0f;
    if (top == -INFINITY)
        return;
    for (size_t i = 0; i < n; i += SHARES)
        sum += exponentials_of(x + i, top, y + i, n - i < SHARES ? n - i : SHARES);
    share = 1.0f / (float)(sum * 0x1p-30);
    mul(y, 1, &share, 0, y, n);
}

static void softmax_rows(const float *x, float *y, size_t m, size_t n) {
    for (; m; m--, x += n, y += n)
        softmax_row(x, y, n);
}

/* ---- Chains -------------------------------------------------------------------------------- */

/* The argument of erf: x * by, x / by, or x / by computed with the reciprocal. */
typedef enum { TIMES, OVER, BY_RECIPROCAL } gelu_scale;

/* Does x * (1 / by), corrected by its remainder, round like x / by? Yes for normal numbers whose
 * significand is not all ones (Markstein), if the machine has FMA. */
INLINE gelu_scale scale_of(const sis__gelu *g) {
    int bits;
    memcpy(&bits, &g->by, sizeof bits);
    if (g->times)
        return TIMES;
    return VBYTES >= 32 && g->by > 1e-3f && g->by < 1e3f && (bits & 0x7FFFFF) != 0x7FFFFF
               ? BY_RECIPROCAL
               : OVER;
}

/* Far above the point where erf is 1 the quotient may be inexact. NaN stays NaN. */
INLINE vec divided(vec x, float by) {
    const float part = 1.0f / by;
    x = within(x, all(-1e30f), all(1e30f));
    vec q = rounded(x * part);
    return fused(fused(-q, all(by), x), all(part), q);
}

/* scale and order are constants where this is inlined: branches inside the loop cost a tenth of
 * it. */
INLINE void gelu_at_once(const gelu_scale scale, const int order, const sis__gelu *g,
                         const size_t count, vec *x) {
    vec e[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) e[i] = scale == TIMES  ? rounded(x[i] * g->by)
                                                     : scale == OVER ? rounded(x[i] / g->by)
                                                                     : divided(x[i], g->by);
    erf_at_once(count, e);
    UNROLL for (size_t i = 0; i < count; i++) e[i] = rounded(e[i]) + g->one;
    UNROLL for (size_t i = 0; i < count; i++) x[i] =
        order == SIS__HALF_LAST   ? (x[i] * e[i]) * g->half
        : order == SIS__HALF_OF_X ? (x[i] * g->half) * e[i]
                                  : x[i] * (e[i] * g->half);
}

INLINE void gelu_row(const gelu_scale scale, const int order, const sis__gelu *g, const float *x,
                     float *y, size_t n) {
    vec v[AT_ONCE];
    size_t i = 0;
    for (; i + AT_ONCE * LANES <= n; i += AT_ONCE * LANES) {
        UNROLL for (size_t k = 0; k < AT_ONCE; k++) v[k] = load(x + i + k * LANES);
        gelu_at_once(scale, order, g, AT_ONCE, v);
        UNROLL for (size_t k = 0; k < AT_ONCE; k++) store(y + i + k * LANES, v[k]);
    }
    for (; i < n; i += LANES) {
        v[0] = load_some(x + i, n - i);
        gelu_at_once(scale, order, g, 1, v);
        store_some(y + i, v[0], n - i);
    }
}

INLINE void gelu_order(const gelu_scale scale, const sis__gelu *g, const float *x, float *y,
                       size_t n) {
    if (g->order == SIS__HALF_LAST)
        gelu_row(scale, SIS__HALF_LAST, g, x, y, n);
    else if (g->order == SIS__HALF_OF_X)
        gelu_row(scale, SIS__HALF_OF_X, g, x, y, n);
    else
        gelu_row(scale, SIS__HALF_OF_E, g, x, y, n);
}

static void gelu(const sis__gelu *g, const float *x, float *y, size_t n) {
    gelu_scale scale = scale_of(g);
    if (scale == TIMES)
        gelu_order(TIMES, g, x, y, n);
    else if (scale == OVER)
        gelu_order(OVER, g, x, y, n);
    else
        gelu_order(BY_RECIPROCAL, g, x, y, n);
}

/* y = x + more; returns the sum as sum_of_row() does. */
static double sum_of_two(const float *x, const float *more, float *y, size_t n) {
    wide s[SUM_VECS] = {{0}};
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        UNROLL for (size_t k = 0; k < SUMS / LANES; k++) {
            vec v = load(x + i + k * LANES) + load(more + i + k * LANES);
            store(y + i + k * LANES, v);
            s[2 * k] += low_half(v);
            s[2 * k + 1] += high_half(v);
        }
    for (size_t k = 0; i + k * LANES < n; k++) {
        size_t at = i + k * LANES;
        vec v = load_some(x + at, n - at) + load_some(more + at, n - at);
        store_some(y + at, v, n - at);
        s[2 * k] += low_half(v);
        s[2 * k + 1] += high_half(v);
    }
    return add_lanes(s);
}

/* Add the squares of LANES values to the two sums they belong to. */
INLINE void add_squares(wide *s, vec d) {
    vec square = rounded(d * d);
    s[0] += low_half(square);
    s[1] += high_half(square);
}

/* y = x - mean; returns the sum of squares of y. */
static double centre(const float *x, float mean, float *y, size_t n) {
    wide s[SUM_VECS] = {{0}};
    size_t i = 0;
    for (; i + SUMS <= n; i += SUMS)
        UNROLL for (size_t k = 0; k < SUMS / LANES; k++) {
            vec d = load(x + i + k * LANES) - mean;
            store(y + i + k * LANES, d);
            add_squares(s + 2 * k, d);
        }
    for (size_t k = 0; i + k * LANES < n; k++) {
        size_t left = n - i - k * LANES;
        vec d = fill_some(x + i + k * LANES, left, mean) - mean;
        store_some(y + i + k * LANES, d, left);
        add_squares(s + 2 * k, d);
    }
    return add_lanes(s);
}

static void scale_and_shift(const sis__layer_norm *l, float deviation, float *y) {
    size_t i = 0;
    for (; i + LANES <= l->n; i += LANES) {
        vec v = rounded(load(y + i) / deviation * load(l->scale + i));
        store(y + i, v + load(l->shift + i));
    }
    if (i < l->n) {
        size_t n = l->n - i;
        vec v = rounded(load_some(y + i, n) / deviation * load_some(l->scale + i, n));
        store_some(y + i, v + load_some(l->shift + i, n), n);
    }
}

/* Each step runs for several rows, because the next step needs a complete row. */
static void layer_norm(const sis__layer_norm *l, const float *x, const float *more, float *y,
                       size_t m) {
    enum { ROWS = 4 };
    float mean[ROWS], deviation[ROWS];
    for (size_t rows, at = 0; m; m -= rows, at += rows * l->n) {
        float *to = y + at;
        const float *from = more ? to : x + at;
        rows = m < ROWS ? m : ROWS;
        for (size_t i = 0; i < rows; i++) {
            size_t row = at + i * l->n;
            double sum =
                more ? sum_of_two(x + row, more + row, y + row, l->n) : sum_of_row(x + row, l->n);
            mean[i] = (float)(sum / (double)l->n);
        }
        for (size_t i = 0; i < rows; i++) {
            double squares = centre(from + i * l->n, mean[i], to + i * l->n, l->n);
            deviation[i] = sqrtf((float)(squares / (double)l->n) + l->epsilon);
        }
        for (size_t i = 0; i < rows; i++)
            scale_and_shift(l, deviation[i], to + i * l->n);
    }
}
