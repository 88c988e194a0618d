/* SPDX-License-Identifier: MIT
 *
 * Attention: scores of queries and keys, their softmax, and the sums of values with these weights.
 * Part of body.h, which includes it once for each instruction set.
 *
 * A panel of queries at a time, and queries are the lanes: scores lie as (keys, lanes), so keys and
 * values are read where they are, largest values and sums run down the lanes, and the weights are the
 * right side of the second product as they stand. What a panel needs stays in the nearest caches,
 * however many queries there are.
 */

/* c (rows, lanes) = a (rows, k) . b (k, lanes), a[i * below + p * next]. */
typedef struct {
    size_t k;
    const float *a;
    size_t below, next;
    const float *b;
    float *c;
} panel;

/* rows and vecs are constants where this is inlined. */
INLINE void panel_tile(const size_t rows, const size_t vecs, const panel *t) {
    const size_t lanes = vecs * LANES, below = t->below, next = t->next;
    const float *a = t->a, *b = t->b;
    vec s[MR][2];
    UNROLL for (size_t i = 0; i < rows; i++) s[i][0] = s[i][1] = all(0.0f);
    for (size_t p = 0; p < t->k; p++, a += next, b += lanes) {
        vec b0 = load(b), b1 = vecs > 1 ? load(b + LANES) : b0;
        UNROLL for (size_t i = 0; i < rows; i++) {
            vec x = all(a[i * below]);
            s[i][0] += x * b0;
            if (vecs > 1)
                s[i][1] += x * b1;
        }
    }
    UNROLL for (size_t i = 0; i < rows; i++) {
        store(t->c + i * lanes, s[i][0]);
        if (vecs > 1)
            store(t->c + i * lanes + LANES, s[i][1]);
    }
}

INLINE void panel_rows(size_t rows, const size_t vecs, const panel *t) {
    switch (rows) {
#define ROWS(n)                                                                                    \
    case n:                                                                                        \
        panel_tile(n, vecs, t);                                                                    \
        break;
        EACH_HEIGHT(ROWS)
#undef ROWS
    }
}

/* All m rows, in tiles of about the same height: low ones wait for their sums. */
INLINE void panel_product(size_t m, const size_t vecs, panel t) {
    for (size_t tiles = (m + MR - 1) / MR; tiles; tiles--) {
        size_t rows = (m + tiles - 1) / tiles;
        panel_rows(rows, vecs, &t);
        t.a += rows * t.below;
        t.c += rows * vecs * LANES;
        m -= rows;
    }
}

static void one_vector(size_t m, const panel *t) {
    panel_product(m, 1, *t);
}

static void two_vectors(size_t m, const panel *t) {
    panel_product(m, 2, *t);
}

/* ---- Scores -------------------------------------------------------------------------------- */

INLINE vec changed(const sis__score_step *t, vec x, vec y) {
    return t->how == SIS__SCORES_TIMES ? x * y : t->how == SIS__SCORES_OVER ? x / y : x + y;
}

/* By a number: all scores alike. */
INLINE void change_all(const sis__score_step *t, float *s, size_t n) {
    vec y = all(t->number);
    for (size_t i = 0; i < n; i += LANES)
        store(s + i, changed(t, load(s + i), y));
}

/* By a map that is the same for all queries. */
static void change_keys(const sis__score_step *t, size_t n, size_t lanes, float *s) {
    for (size_t j = 0; j < n; j++, s += lanes) {
        vec y = all(t->hidden ? t->number : t->map[j * t->col]);
        for (size_t v = 0; v < lanes && (!t->hidden || t->hidden[j * t->col]); v += LANES)
            store(s + v, t->hidden ? y : load(s + v) + y);
    }
}

static void change_each(const sis__score_step *t, size_t first, size_t queries, size_t n,
                        size_t lanes, float *s) {
    for (size_t j = 0; j < n; j++, s += lanes)
        for (size_t i = 0; i < queries; i++) {
            size_t at = (first + i) * t->row + j * t->col;
            if (t->map)
                s[i] += t->map[at];
            else if (t->hidden[at])
                s[i] = t->number;
        }
}

/* Scores (n, lanes) of the queries from `first` on as a step changes them. */
static void change_scores(const sis__attention *a, const sis__score_step *t, size_t first,
                          size_t lanes, float *s) {
    if (t->row)
        change_each(t, first, a->m - first < lanes ? a->m - first : lanes, a->n, lanes, s);
    else if (t->map || t->hidden)
        change_keys(t, a->n, lanes, s);
    else if (t->how == SIS__SCORES_TIMES)
        change_all(&(sis__score_step){.how = SIS__SCORES_TIMES, .number = t->number}, s,
                   a->n * lanes);
    else
        change_all(t, s, a->n * lanes);
}

/* As exponentials_of sums them up. */
INLINE vec sum_of_shares(const lane_sums *t) {
#if VBYTES == 64
    __m512i low = (__m512i)t->low, high = (__m512i)t->high;
    wide first = (wide)_mm512_cvtepi32_pd(_mm512_castsi512_si256(high)) * 65536.0 +
                 (wide)_mm512_cvtepi32_pd(_mm512_castsi512_si256(low));
    wide second = (wide)_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(high, 1)) * 65536.0 +
                  (wide)_mm512_cvtepi32_pd(_mm512_extracti64x4_epi64(low, 1));
    vec sum = joined(narrow(first * 0x1p-30), narrow(second * 0x1p-30));
#elif VBYTES == 32
    __m256i low = (__m256i)t->low, high = (__m256i)t->high;
    wide first = (wide)_mm256_cvtepi32_pd(_mm256_castsi256_si128(high)) * 65536.0 +
                 (wide)_mm256_cvtepi32_pd(_mm256_castsi256_si128(low));
    wide second = (wide)_mm256_cvtepi32_pd(_mm256_extracti128_si256(high, 1)) * 65536.0 +
                  (wide)_mm256_cvtepi32_pd(_mm256_extracti128_si256(low, 1));
    vec sum = joined(narrow(first * 0x1p-30), narrow(second * 0x1p-30));
#else
    vec sum = {0};
    for (size_t i = 0; i < LANES; i++)
        sum[i] = (float)(((double)t->high[i] * 65536.0 + (double)t->low[i]) * 0x1p-30);
#endif
    return pick(t->some != t->some, all(NAN), sum);
}

/* The exponentials of `count` vectors of scores, from a whole row of a panel on. */
INLINE void weigh(const size_t vecs, const size_t count, float *s, const vec *top, lane_sums *t) {
    vec e[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) e[i] = load(s + i * LANES) - top[i % vecs];
    exp_of_scores(count, e);
    UNROLL for (size_t i = 0; i < count; i++) {
        store(s + i * LANES, e[i]);
        add_shares(&t[i % vecs], e[i]);
    }
}

/* The softmax of each lane over n <= SHARES scores: the bits of softmax_rows. */
INLINE void softmax_down(const size_t vecs, float *s, size_t n) {
    vec top[2] = {all(-INFINITY), all(-INFINITY)}, share[2];
    ivec none[2];
    lane_sums t[2] = {{{0}, {0}, {0}}, {{0}, {0}, {0}}};
    size_t i = 0, total = n * vecs;
    for (size_t j = 0; j < n; j++)
        UNROLL for (size_t v = 0; v < vecs; v++) top[v] =
            larger_number(load(s + (j * vecs + v) * LANES), top[v]);
    UNROLL for (size_t v = 0; v < vecs; v++) {
        none[v] = top[v] == -INFINITY;
        top[v] = pick(none[v], all(0.0f), top[v]);
    }
    for (; i + AT_ONCE <= total; i += AT_ONCE)
        weigh(vecs, AT_ONCE, s + i * LANES, top, t);
    for (; i < total; i += vecs)
        weigh(vecs, vecs, s + i * LANES, top, t);
    UNROLL for (size_t v = 0; v < vecs; v++) share[v] =
        pick(none[v], all(1.0f), 1.0f / sum_of_shares(&t[v]));
    for (size_t j = 0; j < n; j++)
        UNROLL for (size_t v = 0; v < vecs; v++) {
            float *at = s + (j * vecs + v) * LANES;
            store(at, load(at) * share[v]);
        }
}

/* ---- Panels -------------------------------------------------------------------------------- */

/* The queries from `first` on side by side, missing ones as 0: (k, lanes). */
static void gather_queries(const sis__attention *a, size_t first, size_t lanes, float *to) {
    const float *q = a->q.at + first * a->q.row;
    size_t queries = a->m - first < lanes ? a->m - first : lanes;
    for (size_t p = 0; p < a->k; p++, to += lanes)
        for (size_t i = 0; i < lanes; i++)
            to[i] = i < queries ? q[i * a->q.row + p * a->q.col] : 0.0f;
}

/* Sums (v, lanes) to where results lie. */
static void spread_sums(const sis__attention *a, size_t first, size_t lanes, const float *from) {
    float *y = a->y + first * a->y_row;
    size_t queries = a->m - first < lanes ? a->m - first : lanes;
    for (size_t i = 0; i < queries; i++)
        for (size_t d = 0; d < a->v; d++)
            y[i * a->y_row + d * a->y_col] = from[d * lanes + i];
}

static void attend(const sis__attention *a, size_t first, size_t lanes) {
    float *scores = a->room, *small = scores + a->n * lanes;
    void (*product)(size_t, const panel *) = lanes > LANES ? two_vectors : one_vector;
    gather_queries(a, first, lanes, small);
    product(a->n, &(panel){a->k, a->keys.at, a->keys.row, a->keys.col, small, scores});
    for (size_t t = 0; t < a->n_steps; t++)
        change_scores(a, &a->steps[t], first, lanes, scores);
    if (lanes > LANES)
        softmax_down(2, scores, a->n);
    else
        softmax_down(1, scores, a->n);
    product(a->v, &(panel){a->n, a->values.at, a->values.col, a->values.row, scores, small});
    spread_sums(a, first, lanes, small);
}

static void attention(const sis__attention *a) {
    for (size_t i = 0, lanes; i < a->m; i += lanes) {
        lanes = a->m - i > LANES ? NR : LANES;
        attend(a, i, lanes);
    }
}
