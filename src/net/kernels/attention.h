/* SPDX-License-Identifier: MIT
 *
 * Attention: scores of queries and keys, their softmax, and the sums of values weighted by it. Part
 * of body.h, which includes it once for each instruction set.
 *
 * One panel of queries is computed at a time. Queries are the lanes: scores are stored as (keys,
 * lanes), so keys and values are read in place, maxima and sums are taken per lane, and the weights
 * are already the right operand of the second product. A panel stays in the L1 and L2 caches,
 * whatever the number of queries.
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

/* All m rows, in tiles of about equal height. Low tiles would wait for their own sums. */
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

/* Apply a step that is the same for all queries to `count` vectors of scores from key j on, `vecs`
 * per key. */
INLINE void change_alike(const size_t vecs, const size_t count, const sis__score_step *t, size_t j,
                         vec *x) {
    vec y[AT_ONCE];
    if (t->how == SIS__SCORES_HIDE) {
        UNROLL for (size_t i = 0; i < count; i++) x[i] =
            t->hidden[(j + i / vecs) * t->col] ? all(t->number) : x[i];
        return;
    }
    UNROLL for (size_t i = 0; i < count; i++) y[i] =
        all(t->map ? t->map[(j + i / vecs) * t->col] : t->number);
    if (t->how == SIS__SCORES_TIMES) {
        UNROLL for (size_t i = 0; i < count; i++) x[i] = rounded(x[i] * y[i]);
    } else if (t->how == SIS__SCORES_OVER) {
        UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] / y[i];
    } else {
        UNROLL for (size_t i = 0; i < count; i++) x[i] = x[i] + y[i];
    }
}

/* Apply several steps to scores in memory, and update the maximum of each lane. */
INLINE void change_some(const size_t vecs, const size_t count, const sis__attention *a, size_t from,
                        size_t j, float *s, vec *top) {
    vec x[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) x[i] = load(s + i * LANES);
    for (size_t t = from; t < a->n_steps; t++)
        change_alike(vecs, count, &a->steps[t], j, x);
    UNROLL for (size_t i = 0; i < count; i++) {
        store(s + i * LANES, x[i]);
        top[i % vecs] = larger_number(x[i], top[i % vecs]);
    }
}

/* Apply the steps from `from` on to all scores (n, lanes). */
INLINE void change_keys(const size_t vecs, const sis__attention *a, size_t from, float *s,
                        vec *top) {
    const size_t keys = AT_ONCE / vecs;
    size_t j = 0;
    for (; j + keys <= a->n; j += keys)
        change_some(vecs, AT_ONCE, a, from, j, s + j * vecs * LANES, top);
    for (; j < a->n; j++)
        change_some(vecs, vecs, a, from, j, s + j * vecs * LANES, top);
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

/* Apply the steps for the queries from `first` on, up to the last step that differs between
 * queries. Returns the number of steps applied. */
static size_t change_first(const sis__attention *a, size_t first, size_t lanes, float *s) {
    size_t queries = a->m - first < lanes ? a->m - first : lanes, done = a->n_steps;
    while (done > 0 && !a->steps[done - 1].row)
        done--;
    for (size_t t = 0; t < done; t++)
        if (a->steps[t].row)
            change_each(&a->steps[t], first, queries, a->n, lanes, s);
        else
            for (size_t i = 0; i < a->n * lanes; i += LANES) {
                vec x = load(s + i);
                change_alike(1, 1, &a->steps[t], i / lanes, &x);
                store(s + i, x);
            }
    return done;
}

/* Add up the shares in the order of exponentials_of(). */
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

/* The exponentials of `count` vectors of scores, starting at a row of the panel. */
INLINE void weigh(const size_t vecs, const size_t count, float *s, const vec *top, lane_sums *t) {
    vec e[AT_ONCE];
    UNROLL for (size_t i = 0; i < count; i++) e[i] = load(s + i * LANES) - top[i % vecs];
    exp_of_scores(count, e);
    UNROLL for (size_t i = 0; i < count; i++) {
        store(s + i * LANES, e[i]);
        add_shares(&t[i % vecs], e[i]);
    }
}

/* The softmax of each lane over all n <= SHARES scores, after the steps from `from` on. Same bits
 * as softmax_rows(). */
INLINE void softmax_down(const size_t vecs, const sis__attention *a, size_t from, float *s) {
    vec top[2] = {all(-INFINITY), all(-INFINITY)}, share[2];
    ivec none[2];
    lane_sums t[2] = {{{0}, {0}, {0}}, {{0}, {0}, {0}}};
    size_t i = 0, n = a->n, total = n * vecs;
    change_keys(vecs, a, from, s, top);
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

#if VBYTES >= 32
/* y (8, 8) = transpose of x (8, 8); the arguments are the row strides. */
INLINE void turn_block(const float *x, size_t x_row, float *y, size_t y_row) {
    __m256 r[8], t[8];
    UNROLL for (size_t i = 0; i < 8; i++) r[i] = _mm256_loadu_ps(x + i * x_row);
    UNROLL for (size_t i = 0; i < 8; i += 2) {
        t[i] = _mm256_unpacklo_ps(r[i], r[i + 1]);
        t[i + 1] = _mm256_unpackhi_ps(r[i], r[i + 1]);
    }
    UNROLL for (size_t i = 0; i < 8; i += 4) {
        r[i] = _mm256_shuffle_ps(t[i], t[i + 2], 0x44);
        r[i + 1] = _mm256_shuffle_ps(t[i], t[i + 2], 0xEE);
        r[i + 2] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0x44);
        r[i + 3] = _mm256_shuffle_ps(t[i + 1], t[i + 3], 0xEE);
    }
    UNROLL for (size_t i = 0; i < 4; i++) {
        _mm256_storeu_ps(y + i * y_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x20));
        _mm256_storeu_ps(y + (i + 4) * y_row, _mm256_permute2f128_ps(r[i], r[i + 4], 0x31));
    }
}
#else
INLINE void turn_four(const float *x, size_t x_row, float *y, size_t y_row) {
    vec a = load(x), b = load(x + x_row), c = load(x + 2 * x_row), d = load(x + 3 * x_row);
    vec ab = {a[0], b[0], a[1], b[1]}, cd = {c[0], d[0], c[1], d[1]};
    vec ab_high = {a[2], b[2], a[3], b[3]}, cd_high = {c[2], d[2], c[3], d[3]};
    store(y, (vec){ab[0], ab[1], cd[0], cd[1]});
    store(y + y_row, (vec){ab[2], ab[3], cd[2], cd[3]});
    store(y + 2 * y_row, (vec){ab_high[0], ab_high[1], cd_high[0], cd_high[1]});
    store(y + 3 * y_row, (vec){ab_high[2], ab_high[3], cd_high[2], cd_high[3]});
}

INLINE void turn_block(const float *x, size_t x_row, float *y, size_t y_row) {
    for (size_t i = 0; i < 8; i += 4)
        for (size_t j = 0; j < 8; j += 4)
            turn_four(x + i * x_row + j, x_row, y + j * y_row + i, y_row);
}
#endif

/* y (n, m) = transpose of x (m, n). x_col and y_col are the strides within rows. */
static void turn(size_t m, size_t n, const sis__operand *x, float *y, size_t y_row, size_t y_col) {
    size_t whole_m = x->col == 1 && y_col == 1 ? m / 8 * 8 : 0, whole_n = whole_m ? n / 8 * 8 : 0;
    for (size_t i = 0; i < whole_m; i += 8)
        for (size_t j = 0; j < whole_n; j += 8)
            turn_block(x->at + i * x->row + j, x->row, y + j * y_row + i, y_row);
    for (size_t i = 0; i < m; i++)
        for (size_t j = i < whole_m ? whole_n : 0; j < n; j++)
            y[j * y_row + i * y_col] = x->at[i * x->row + j * x->col];
}

/* Copy the queries from `first` on as columns (k, lanes); missing ones are 0. */
static void gather_queries(const sis__attention *a, size_t first, size_t lanes, float *to) {
    sis__operand q = {a->q.at + first * a->q.row, a->q.row, a->q.col};
    size_t queries = a->m - first < lanes ? a->m - first : lanes;
    for (size_t p = 0; queries < lanes && p < a->k; p++)
        memset(to + p * lanes + queries, 0, (lanes - queries) * sizeof *to);
    turn(queries, a->k, &q, to, lanes, 1);
}

/* Copy sums (v, lanes) to the result. */
static void spread_sums(const sis__attention *a, size_t first, size_t lanes, const float *from) {
    size_t queries = a->m - first < lanes ? a->m - first : lanes;
    turn(a->v, queries, &(sis__operand){from, lanes, 1}, a->y + first * a->y_row, a->y_row,
         a->y_col);
}

static void attend(const sis__attention *a, size_t first, size_t lanes) {
    float *scores = a->room, *small = scores + a->n * lanes;
    void (*product)(size_t, const panel *) = lanes > LANES ? two_vectors : one_vector;
    gather_queries(a, first, lanes, small);
    product(a->n, &(panel){a->k, a->keys.at, a->keys.row, a->keys.col, small, scores});
    size_t done = change_first(a, first, lanes, scores);
    if (lanes > LANES)
        softmax_down(2, a, done, scores);
    else
        softmax_down(1, a, done, scores);
    product(a->v, &(panel){a->n, a->values.at, a->values.col, a->values.row, scores, small});
    spread_sums(a, first, lanes, small);
}

static void attention(const sis__attention *a) {
    for (size_t i = 0, lanes; i < a->m; i += lanes) {
        lanes = a->m - i > LANES ? NR : LANES;
        attend(a, i, lanes);
    }
}
