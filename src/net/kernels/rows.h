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

INLINE double add_lanes(const wide *s) {
    double sum = 0, lanes[SUMS];
    UNROLL for (size_t v = 0; v < SUM_VECS; v++) store_wide(lanes + v * WIDE, s[v]);
    for (size_t i = 0; i < SUMS; i++)
        sum += lanes[i];
    return sum;
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

/* ---- Softmax ------------------------------------------------------------------------------- */

/* e^(x - largest), or 0 below e^-87. Answers 0 if there is nothing to compare: rows of -infinity (or NaN, which stays). */
static int exponentials(const float *x, float *y, size_t n) {
    float top = -INFINITY, lanes[LANES];
    size_t i = 0;
    vec most = all(-INFINITY);
    for (; i + LANES <= n; i += LANES) {
        vec v = load(x + i);
        most = pick(v > most, v, most);
    }
    if (i < n && i > 0) { /* the last ones once more */
        vec v = load(x + n - LANES);
        most = pick(v > most, v, most);
        i = n;
    }
    store(lanes, most);
    for (size_t k = 0; k < LANES; k++)
        top = lanes[k] > top ? lanes[k] : top;
    for (; i < n; i++)
        top = x[i] > top ? x[i] : top;
    if (top == -INFINITY) {
        for (i = 0; i < n; i++)
            y[i] = x[i] != x[i] ? x[i] : 0.0f;
        return 0;
    }
    for (i = 0; i < n; i += LANES) { /* what would not be a normal number is slow, and nothing */
        vec d = load_some(x + i, n - i) - top;
        ivec tiny = d < -87.0f;
        store_some(y + i, pick(tiny, all(0.0f), exp_of(pick(tiny, all(0.0f), d))), n - i);
    }
    return 1;
}

enum { TOGETHER = 8 }; /* rows whose sums run side by side */

INLINE void sum_in_order(const size_t rows, const float *y, size_t n, double *sums) {
    double s[TOGETHER] = {0};
    for (size_t i = 0; i < n; i++)
        UNROLL for (size_t r = 0; r < rows; r++) s[r] += (double)y[r * n + i];
    memcpy(sums, s, rows * sizeof *s);
}

static void softmax_rows(const float *x, float *y, size_t m, size_t n) {
    for (size_t rows; m; m -= rows, x += rows * n, y += rows * n) {
        double sums[TOGETHER];
        int some[TOGETHER];
        rows = m >= TOGETHER ? TOGETHER : 1;
        for (size_t r = 0; r < rows; r++)
            some[r] = exponentials(x + r * n, y + r * n, n);
        if (rows == TOGETHER)
            sum_in_order(TOGETHER, y, n, sums);
        else
            sum_in_order(1, y, n, sums);
        for (size_t r = 0; r < rows; r++) {
            float sum = (float)sums[r];
            if (some[r])
                div_by(y + r * n, 1, &sum, 0, y + r * n, n);
        }
    }
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
