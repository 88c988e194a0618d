/* SPDX-License-Identifier: MIT
 *
 * The kernels of what transformers do between their products: arithmetic on rows, sums, softmax,
 * GELU and layer normalisation. Part of body.h, which includes it once for each instruction set.
 *
 * Compilers may join a product and a sum that follows it into one rounding. Where several operators
 * are done at once that would not be what they give one by one: `rounded` keeps them apart.
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

#define ARITHMETIC(name, operation)                                                                \
    static void name(const float *a, size_t sa, const float *b, size_t sb, float *y, size_t n) {   \
        size_t i = 0;                                                                              \
        if (sa && sb)                                                                              \
            for (; i + LANES <= n; i += LANES)                                                     \
                store(y + i, load(a + i) operation load(b + i));                                   \
        else if (sa)                                                                               \
            for (vec x = all(*b); i + LANES <= n; i += LANES)                                      \
                store(y + i, load(a + i) operation x);                                             \
        else if (sb)                                                                               \
            for (vec x = all(*a); i + LANES <= n; i += LANES)                                      \
                store(y + i, x operation load(b + i));                                             \
        if (i < n && (sa || sb)) {                                                                 \
            vec p = sa ? load_some(a + i, n - i) : all(*a),                                        \
                q = sb ? load_some(b + i, n - i) : all(*b);                                        \
            store_some(y + i, p operation q, n - i);                                               \
        }                                                                                          \
        for (; i < n && !sa && !sb; i++)                                                           \
            y[i] = *a operation * b;                                                               \
    }
ARITHMETIC(add, +)
ARITHMETIC(sub, -)
ARITHMETIC(mul, *)
ARITHMETIC(div_by, /)
#undef ARITHMETIC

/* ---- Sums ---------------------------------------------------------------------------------- */

enum { SUMS = 16, SUM_VECS = SUMS / WIDE };

/* Lane i and lane i + 8, then i + 4, i + 2 and i + 1. */
INLINE double add_lanes(wide *s) {
    double lanes[WIDE];
    UNROLL for (size_t v = 0; v < 4 && SUM_VECS > 4; v++) s[v] += s[v + 4];
    UNROLL for (size_t v = 0; v < 2 && SUM_VECS > 2; v++) s[v] += s[v + 2];
    store_wide(lanes, s[0] + s[1]);
    UNROLL for (size_t i = 0; i < 4 && WIDE > 4; i++) lanes[i] += lanes[i + 4];
    UNROLL for (size_t i = 0; i < 2 && WIDE > 2; i++) lanes[i] += lanes[i + 2];
    return lanes[0] + lanes[1];
}

/* n >= SUMS values, or fewer and the rest 0, onto SUMS sums. */
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

/* The largest of n values, NaN left aside. */
INLINE float top_of(const float *x, size_t n) {
    float lanes[LANES];
    vec most = all(-INFINITY);
    for (size_t i = 0; i < n; i += LANES) {
        most = larger_number(fill_some(x + i, n - i, -INFINITY), most);
    }
    store(lanes, most);
    UNROLL for (size_t i = 0; i < 8 && LANES > 8; i++) lanes[i] =
        lanes[i + 8] > lanes[i] ? lanes[i + 8] : lanes[i];
    UNROLL for (size_t i = 0; i < 4 && LANES > 4; i++) lanes[i] =
        lanes[i + 4] > lanes[i] ? lanes[i + 4] : lanes[i];
    UNROLL for (size_t i = 0; i < 2; i++) lanes[i] =
        lanes[i + 2] > lanes[i] ? lanes[i + 2] : lanes[i];
    return lanes[1] > lanes[0] ? lanes[1] : lanes[0];
}

/* Sums of up to SHARES values of 0 to 1, each cut to a multiple of 2^-30: exact, so in any order. */
enum { SHARES = 4096 };

typedef struct {
    ivec low, high; /* of each lane: 16 bits below those of `high` */
    vec some;       /* NaN if one of them was */
} lane_sums;

INLINE void add_shares(lane_sums *t, vec e) {
    ivec whole = __builtin_convertvector(e * 0x1p30f, ivec);
    t->low += whole & 0xFFFF;
    t->high += whole >> 16;
    t->some += e;
}

/* e^d of vectors of d <= 0, below e^-87 0; count <= AT_ONCE is a constant where this is inlined. All go
 * through each step of it before the next: a processor looks only so far ahead for something that
 * need not wait. */
enum { AT_ONCE = 4 };

INLINE void exp_of_scores(const size_t count, vec *d) {
    const vec magic = all(12582912.0f);
    vec r[AT_ONCE], n[AT_ONCE], p[AT_ONCE], q[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) r[i] = at_least(d[i], -87.0f);
    UNROLL for (size_t i = 0; i < count; i++) n[i] = (r[i] * 1.44269504f + magic) - magic;
    UNROLL for (size_t i = 0; i < count; i++) r[i] = r[i] - n[i] * 0.693145752f;
    UNROLL for (size_t i = 0; i < count; i++) r[i] = r[i] - n[i] * 1.42860677e-6f;
    UNROLL for (size_t i = 0; i < count; i++) q[i] = r[i] * r[i];
    UNROLL for (size_t i = 0; i < count; i++) p[i] =
        (1.98756912e-4f * r[i] + 1.39819994e-3f) * q[i] + (8.33345205e-3f * r[i] + 4.16657962e-2f);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = p[i] * q[i] + (1.66666657e-1f * r[i] + 0.5f);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = p[i] * q[i] + (r[i] + 1.0f);
    UNROLL for (size_t i = 0; i < count; i++) p[i] = times_power(p[i], n[i]);
    UNROLL for (size_t i = 0; i < count; i++) d[i] = (vec)((ivec)p[i] & ~(d[i] < -87.0f));
}

/* e^(x - top) of up to `count` vectors of n values into y, and onto the sums. */
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

INLINE vec gelu_of(const sis__gelu *g, vec x) {
    vec t = rounded(g->times ? x * g->by : x / g->by);
    vec e = rounded(erf_of(t)) + g->one;
    return g->order == SIS__HALF_LAST   ? (x * e) * g->half
           : g->order == SIS__HALF_OF_X ? (x * g->half) * e
                                        : x * (e * g->half);
}

static void gelu(const sis__gelu *g, const float *x, float *y, size_t n) {
    for (size_t i = 0; i < n; i += LANES)
        store_some(y + i, gelu_of(g, load_some(x + i, n - i)), n - i);
}

/* d = x - mean into y; the sum of its squares. */
static double centre(const float *x, float mean, float *y, size_t n) {
    wide s[SUM_VECS] = {{0}};
    float squares[SUMS];
    for (size_t i = 0; i < n; i += SUMS) {
        size_t some = n - i < SUMS ? n - i : SUMS;
        for (size_t k = 0; k < SUMS; k += LANES) {
            size_t left = k < some ? some - k : 0;
            vec d = load_some(x + i + (left ? k : 0), left) - mean;
            if (left)
                store_some(y + i + k, d, left);
            store(squares + k, d * d);
        }
        add_some(s, squares, some);
    }
    return add_lanes(s);
}

static void layer_norm(const sis__layer_norm *l, const float *x, float *y, size_t m) {
    for (size_t r = 0; r < m; r++, x += l->n, y += l->n) {
        float mean = (float)(sum_of_row(x, l->n) / (double)l->n);
        float variance = (float)(centre(x, mean, y, l->n) / (double)l->n);
        float deviation = sqrtf(variance + l->epsilon);
        for (size_t i = 0; i < l->n; i += LANES) {
            size_t n = l->n - i;
            vec v = rounded(load_some(y + i, n) / deviation * load_some(l->scale + i, n));
            store_some(y + i, v + load_some(l->shift + i, n), n);
        }
    }
}
