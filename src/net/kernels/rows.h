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
        vec v = fill_some(x + i, n - i, -INFINITY);
        most = pick(v > most, v, most);
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

/* Values up to 1 on a grid of 2^-40: sums of up to GRID_SUMS are exact. */
enum { GRID_SUMS = 4096 };

INLINE void add_on_grid(wide *s, const float *e) {
    const wide grid = all_wide(0x1.8p12); /* adding it leaves no finer bits */
    UNROLL for (size_t v = 0; v < SUM_VECS; v++) s[v] += (widen(e + v * WIDE) + grid) - grid;
}

/* e^(x - top) of n <= SUMS values into y, below e^-87 0, and onto the sums. */
INLINE void exponentials(wide *s, const float *x, float top, float *y, size_t n) {
    float e[SUMS];
    UNROLL for (size_t k = 0; k < SUMS; k += LANES) {
        size_t left = k < n ? n - k : 0, at = k < n ? k : 0;
        vec d = (left >= LANES ? load(x + at) : fill_some(x + at, left, -INFINITY)) - top;
        vec v = exp_normal(within(d, all(-87.0f), all(0.0f)));
        v = (vec)((ivec)v & ~(d < -87.0f));
        store(e + k, v);
        if (left)
            store_some(y + at, v, left);
    }
    add_on_grid(s, e);
}

/* Up to GRID_SUMS values; the sum. */
static double exponentials_of(const float *x, float top, float *y, size_t n) {
    wide s[SUM_VECS] = {{0}};
    for (; n >= SUMS; x += SUMS, y += SUMS, n -= SUMS)
        exponentials(s, x, top, y, SUMS);
    if (n)
        exponentials(s, x, top, y, n);
    return add_lanes(s);
}

static void softmax_row(const float *x, float *y, size_t n) {
    float top = top_of(x, n), over;
    double sum = 0;
    long long whole = 0; /* in units of the grid */
    for (size_t i = 0; top == -INFINITY && i < n; i++)
        y[i] = x[i] != x[i] ? x[i] : 0.0f;
    if (top == -INFINITY)
        return;
    for (size_t i = 0; i < n; i += GRID_SUMS) {
        double some = exponentials_of(x + i, top, y + i, n - i < GRID_SUMS ? n - i : GRID_SUMS);
        whole += some == some ? (long long)(some * 0x1p40) : 0;
        sum += some; /* to keep NaN */
    }
    over = sum == sum ? (float)((double)whole * 0x1p-40) : NAN;
    div_by(y, 1, &over, 0, y, n);
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
