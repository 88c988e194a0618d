/* SPDX-License-Identifier: MIT
 *
 * Index for neighbours among sets of words or cells.
 *
 * Prefix filtering: two sets within eps < 1 must share words. With the words of each set ordered
 * from rarest to most common, sets of sizes a >= b that share at least k words share one of their
 * first a - k + 1 and b - k + 1 words. So an inverted index of these first words (the prefix) finds
 * every neighbour, and its lists are short because the words are rare:
 *
 *     set 7    zebra  mango | nice  aroma          in the index: zebra, mango
 *     set 9    mango  peach   smell | very  nice   asks for:     mango, peach, smell  -> set 7
 *
 * Sets are sorted by size. The query is the larger set, so the index needs only the prefix for
 * queries of at least its own size, which is shorter. For cells the words are the names: their
 * distance is a lower bound.
 *
 * Memory: one word per word of every prefix. Time: the lengths of the lists visited. From eps = 1
 * on all sets are neighbours, and the index is not used (dbscan.c).
 */
#include <stdlib.h>
#include <string.h>

#include "analysis/space.h"
#include "base/error.h"
#include "base/mem.h"

enum { SIZES = 64, PLACE_LAST = 255 };

typedef struct {
    size_t longest;      /* size of the largest set */
    size_t *shared_any;  /* (longest + 1) words that a set of this size shares with any neighbour,
                            at least */
    size_t *shared_same; /* (longest + 1) and with one of at least its size */
    size_t *size_start;  /* (longest + 2) the first set of at least this size */
    size_t *list_start;  /* (words + 1) */
    uint32_t *lists;     /* sets with a word in their prefix, ascending */
    uint8_t *places;     /* for each, the position of the word in its set; 255: there or later */
    uint8_t shared[SIZES][SIZES]; /* words that neighbours of these sizes share, at least; 1 for
                                     larger sizes, which is always true */
} set_index;

/* ---- Words by rarity ------------------------------------------------------------------------- */

typedef struct {
    uint32_t count, word;
} frequency;

static int by_count(const void *a, const void *b) {
    const frequency *x = (const frequency *)a, *y = (const frequency *)b;
    if (x->count != y->count)
        return x->count < y->count ? -1 : 1;
    return (x->word > y->word) - (x->word < y->word);
}

/* Sort the items of a row, with the values beside them. Rows are short, and large ones nearly
 * sorted. */
static void sort_row(uint32_t *items, uint32_t *values, size_t n) {
    for (size_t k = 1; k < n; k++) {
        uint32_t item = items[k], value = values ? values[k] : 0;
        size_t at = k;
        for (; at > 0 && items[at - 1] > item; at--) {
            items[at] = items[at - 1];
            if (values)
                values[at] = values[at - 1];
        }
        items[at] = item;
        if (values)
            values[at] = value;
    }
}

static size_t count_words(const sis__space *s) {
    size_t n = 0;
    for (size_t k = 0; k < s->start[s->n]; k++)
        n = s->items[k] >= n ? (size_t)s->items[k] + 1 : n;
    return n;
}

/* Renumber the words so that the rarest is 0. */
static int rank_words(sis__space *s, size_t n_words) {
    frequency *f = SIS_NEW(frequency, n_words);
    uint32_t *rank = SIS_NEW(uint32_t, n_words);
    if (!f || !rank) {
        free(f);
        free(rank);
        return SIS_E_NOMEM;
    }
    for (size_t w = 0; w < n_words; w++)
        f[w].word = (uint32_t)w;
    for (size_t k = 0; k < s->start[s->n]; k++)
        f[s->items[k]].count++;
    qsort(f, n_words, sizeof *f, by_count);
    for (size_t w = 0; w < n_words; w++)
        rank[f[w].word] = (uint32_t)w;
    for (size_t k = 0; k < s->start[s->n]; k++)
        s->items[k] = rank[s->items[k]];
    for (size_t u = 0; u < s->n; u++) {
        size_t at = s->start[u];
        sort_row(s->items + at, s->values ? s->values + at : NULL, s->start[u + 1] - at);
    }
    free(f);
    free(rank);
    return SIS_OK;
}

/* ---- Numbers of shared words ----------------------------------------------------------------- */

/* The least number of shared words with which sets of sizes a and b are within eps, by the same
 * comparison that decides neighbours. `all` is the size of the union if no shared word counts. */
static size_t min_shared(size_t a, size_t b, int inside, double eps) {
    size_t low = 0, high = a < b ? a : b; /* `inside`: b is a subset of a */
    while (low < high) {
        size_t k = low + (high - low) / 2, all = inside ? a : a + b - k;
        if ((double)(all - k) / (double)all <= eps)
            high = k;
        else
            low = k + 1;
    }
    return low;
}

static int find_sizes(const sis__space *s, set_index *x) {
    for (size_t u = 0; u < s->n; u++)
        x->longest = s->start[u + 1] - s->start[u];
    x->shared_any = SIS_NEW(size_t, x->longest + 1);
    x->shared_same = SIS_NEW(size_t, x->longest + 1);
    x->size_start = SIS_NEW(size_t, x->longest + 2);
    if (!x->shared_any || !x->shared_same || !x->size_start)
        return SIS_E_NOMEM;
    for (size_t a = 1; a <= x->longest; a++) {
        x->shared_any[a] = min_shared(a, a, 1, s->eps);
        x->shared_same[a] = min_shared(a, a, 0, s->eps);
    }
    for (size_t a = 0; a < SIZES; a++)
        for (size_t b = 0; b < SIZES; b++)
            x->shared[a][b] = (uint8_t)(a && b ? min_shared(a, b, 0, s->eps) : 1);
    for (size_t a = 0, u = 0; a < x->longest + 2; a++) {
        while (u < s->n && s->start[u + 1] - s->start[u] < a)
            u++;
        x->size_start[a] = u;
    }
    return SIS_OK;
}

/* ---- The index ------------------------------------------------------------------------------- */

/* The number of words of set u in the index. */
static size_t indexed(const sis__space *s, const set_index *x, size_t u) {
    size_t n = s->start[u + 1] - s->start[u];
    return n - x->shared_same[n] + 1;
}

static int fill_lists(const sis__space *s, set_index *x, size_t n_words) {
    x->list_start = SIS_NEW(size_t, n_words + 2);
    if (!x->list_start)
        return SIS_E_NOMEM;
    size_t *at = x->list_start + 1; /* ends, shifted by one; after filling they are starts */
    for (size_t u = 0; u < s->n; u++)
        for (size_t k = 0; k < indexed(s, x, u); k++)
            at[s->items[s->start[u] + k] + 1]++;
    for (size_t w = 0; w < n_words; w++)
        at[w + 1] += at[w];
    x->lists = SIS_NEW_RAW(uint32_t, at[n_words]);
    x->places = SIS_NEW_RAW(uint8_t, at[n_words]);
    if (!x->lists || !x->places)
        return SIS_E_NOMEM;
    for (size_t u = 0; u < s->n; u++)
        for (size_t k = 0; k < indexed(s, x, u); k++) {
            size_t i = at[s->items[s->start[u] + k]]++;
            x->lists[i] = (uint32_t)u;
            x->places[i] = (uint8_t)(k < PLACE_LAST ? k : PLACE_LAST);
        }
    return SIS_OK;
}

static void index_free(sis__space *s) {
    set_index *x = (set_index *)s->index;
    free(x->shared_any);
    free(x->shared_same);
    free(x->size_start);
    free(x->list_start);
    free(x->lists);
    free(x->places);
    free(x);
    s->index = NULL;
}

static int index_new(sis__space *s) {
    if (!(s->eps < 1)) /* also NaN: no queries will be made */
        return SIS_OK;
    set_index *x = SIS_NEW(set_index, 1);
    if (!x)
        return SIS_E_NOMEM;
    s->index = x;
    size_t n_words = count_words(s);
    int code = rank_words(s, n_words);
    if (code == SIS_OK)
        code = find_sizes(s, x);
    if (code == SIS_OK)
        code = fill_lists(s, x, n_words);
    return code;
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

/* Sets already visited by the current query are marked with its number. Scratch holds the marks,
 * then the number. */
static int scratch_new(const sis__space *s, void **scratch) {
    *scratch = SIS_NEW(uint32_t, s->n + 1);
    return *scratch ? SIS_OK : SIS_E_NOMEM;
}

static void next_question(uint32_t *met, size_t n) {
    if (++met[n] == 0) {
        memset(met, 0, n * sizeof *met);
        met[n] = 1;
    }
}

/* The first index in list[0..n) whose entry is at least v. */
static size_t seek(const uint32_t *list, size_t n, size_t v) {
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (list[middle] < v)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

/* 1 if sets a and b can share k words; stops as soon as too many words of either are unmatched. */
static int can_share(const sis__row *a, const sis__row *b, size_t k) {
    size_t spare_a = a->n - k, spare_b = b->n - k;
    for (size_t i = 0, j = 0; i < a->n && j < b->n;) {
        if (a->items[i] == b->items[j]) {
            i++, j++;
        } else if (a->items[i] < b->items[j]) {
            if (spare_a-- == 0)
                return 0;
            i++;
        } else {
            if (spare_b-- == 0)
                return 0;
            j++;
        }
    }
    return 1;
}

/* Possible neighbours of u in the list of its k-th word. If this is the first word that both sets
 * have, only words after it in either can be shared too; mostly these are too few. Sizes ascend
 * along the list, so they are not looked up. */
static int near_by_word(const sis__space *s, uint32_t *met, size_t u, size_t k, sis__near *near) {
    const set_index *x = (const set_index *)s->index;
    sis__row row = sis__space_row(s, u);
    size_t begin = x->list_start[row.items[k]], end = x->list_start[row.items[k] + 1];
    size_t size = x->shared_any[row.n], behind = row.n - k;
    begin += seek(x->lists + begin, end - begin, x->size_start[size]);
    for (size_t i = begin; i < end && x->lists[i] < u; i++) {
        size_t v = x->lists[i];
        while (x->size_start[size + 1] <= v)
            size++;
        size_t max = size - x->places[i] < behind ? size - x->places[i] : behind;
        size_t shared = row.n < SIZES ? x->shared[row.n][size] : 1; /* size <= row.n */
        if (max < shared)
            continue;
        if (met[v] == met[s->n])
            continue;
        met[v] = met[s->n];
        sis__row other = sis__space_row(s, v);
        if (!can_share(&row, &other, shared) || sis__set_distance(&row, &other) > s->eps)
            continue;
        int code = sis__near_add(near, v);
        if (code != SIS_OK)
            return code;
    }
    return SIS_OK;
}

static int near_sets(const sis__space *s, void *scratch, size_t u, sis__near *near) {
    const set_index *x = (const set_index *)s->index;
    size_t n = s->start[u + 1] - s->start[u];
    int code = SIS_OK;
    next_question((uint32_t *)scratch, s->n);
    for (size_t k = 0; k < n - x->shared_any[n] + 1 && k < n && code == SIS_OK; k++)
        code = near_by_word(s, (uint32_t *)scratch, u, k, near);
    return code;
}

static int distances(const sis__space *s, void *scratch, size_t u, const uint32_t *v, size_t n,
                     double *out) {
    sis__row row = sis__space_row(s, u);
    (void)scratch;
    for (size_t k = 0; k < n; k++) {
        sis__row other = sis__space_row(s, v[k]);
        out[k] = sis__set_distance(&row, &other);
    }
    return SIS_OK;
}

const sis__metric sis__metric_sets = {.index_new = index_new,
                                      .index_free = index_free,
                                      .scratch_new = scratch_new,
                                      .scratch_free = free,
                                      .near = near_sets,
                                      .distances = distances,
                                      .useless = 1};
