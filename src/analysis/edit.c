/* SPDX-License-Identifier: MIT
 *
 * Index for neighbours among strings, by edit distance.
 *
 * Strings are sorted by length, then by letter counts, and split into blocks of 32 of the same
 * length, which are compared with a text at once (lanes.h). A block is skipped if one of three
 * lower bounds exceeds eps:
 *
 *     length     every additional letter must be inserted
 *     letters    one edit removes at most one letter and adds at most one: the number of surplus
 *                (or missing) letters is a lower bound. Counts in a block have narrow ranges
 *     pairs      one edit changes at most two pairs of adjacent letters: pairs of the text that no
 *                string of the block has, or pairs that all have and the text lacks, divided by two
 *
 * With both strands, a string is looked up twice, the second time as its reverse complement.
 *
 * Strings of more than 64 letters, or of more than 8 different letters, are compared one at a time
 * by the multi-word recurrence.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lanes.h"
#include "analysis/space.h"
#include "base/error.h"
#include "base/mem.h"

enum { LETTERS_MAX = 8, LANE_LONGEST = 64, CODES = 256 };

/* Strings `first` to first + n of the same length. */
typedef struct {
    uint32_t first;
    uint16_t n, length;
    uint8_t fewest[LETTERS_MAX], max[LETTERS_MAX]; /* of each letter */
    uint64_t some, all; /* pairs (letter * 8 + letter) that some strings have and that all have */
    size_t masks;       /* offset of its masks, in bytes */
} block;

typedef struct {
    const sis__lanes *lanes;
    size_t reach;        /* eps in whole edits */
    size_t n_letters;    /* number of different letters */
    uint8_t code[CODES]; /* number of each letter, in the order of their bytes */
    size_t n_lane;       /* number of strings in blocks, which come first */
    size_t n_blocks;
    block *blocks;
    unsigned char *masks;
} edit_index;

/* Per thread: the codes of the query string, and masks for long strings. */
typedef struct {
    uint8_t *text;   /* (longest) */
    uint64_t *masks; /* (n_letters, words) */
    uint64_t *up, *down;
    size_t counts[CODES];
    size_t u;   /* the query of these masks; SIZE_MAX: none */
    int turned; /* of its reverse complement */
} edit_scratch;

/* ---- Order --------------------------------------------------------------------------------- */

/* By length, then by counts of letters. */
static int by_counts(const sis__row *a, const sis__row *b) {
    int difference[CODES] = {0};
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    for (size_t k = 0; k < a->n; k++) {
        difference[a->items[k]]++;
        difference[b->items[k]]--;
    }
    for (size_t c = 0; c < CODES; c++)
        if (difference[c] != 0)
            return difference[c] < 0 ? -1 : 1;
    return 0;
}

/* ---- Blocks -------------------------------------------------------------------------------- */

static void number_letters(const sis__space *s, edit_index *x) {
    unsigned char seen[CODES] = {0};
    for (size_t k = 0; k < s->start[s->n]; k++) {
        seen[s->items[k]] = 1;
        if (s->points->both)
            seen[sis__opposite(s->items[k])] = 1;
    }
    for (size_t c = 0; c < CODES; c++)
        if (seen[c])
            x->code[c] = (uint8_t)x->n_letters++;
}

static size_t lane_bytes(size_t length) {
    return length <= 16 ? 2 : length <= 32 ? 4 : 8;
}

static uint64_t pairs_of(const uint8_t *text, size_t n) {
    uint64_t pairs = 0;
    for (size_t k = 1; k < n; k++)
        pairs |= (uint64_t)1 << (text[k - 1] * LETTERS_MAX + text[k]);
    return pairs;
}

/* Cut the strings of up to 64 letters into blocks. */
static int cut_blocks(const sis__space *s, edit_index *x) {
    size_t bytes = 0, room = 0;
    while (x->n_lane < s->n && s->start[x->n_lane + 1] - s->start[x->n_lane] <= LANE_LONGEST &&
           x->n_letters <= LETTERS_MAX)
        x->n_lane++;
    for (size_t u = 0; u < x->n_lane;) {
        size_t length = s->start[u + 1] - s->start[u], n = 1;
        while (n < SIS__LANES && u + n < x->n_lane &&
               s->start[u + n + 1] - s->start[u + n] == length)
            n++;
        int code = sis__reserve(&x->blocks, &room, x->n_blocks + 1, sizeof *x->blocks);
        if (code != SIS_OK)
            return code;
        x->blocks[x->n_blocks++] = (block){
            .first = (uint32_t)u, .n = (uint16_t)n, .length = (uint16_t)length, .masks = bytes};
        bytes += x->n_letters * SIS__LANES * lane_bytes(length);
        u += n;
    }
    x->masks = (unsigned char *)sis__alloc(bytes, 1);
    return x->masks ? SIS_OK : SIS_E_NOMEM;
}

/* Set the masks of string k of a block, and update the block's bounds. */
static void fill_lane(const sis__space *s, edit_index *x, block *b, size_t k) {
    sis__row row = sis__space_row(s, b->first + k);
    uint8_t counts[LETTERS_MAX] = {0}, text[LANE_LONGEST];
    uint64_t masks[LETTERS_MAX] = {0};
    for (size_t i = 0; i < row.n; i++) {
        text[i] = x->code[row.items[i]];
        counts[text[i]]++;
        masks[text[i]] |= (uint64_t)1 << i;
    }
    size_t width = lane_bytes(row.n);
    for (size_t c = 0; c < x->n_letters; c++) {
        unsigned char *to = x->masks + b->masks + (c * SIS__LANES + k) * width;
        uint16_t low = (uint16_t)masks[c];
        uint32_t middle = (uint32_t)masks[c];
        memcpy(to,
               width == 2   ? (void *)&low
               : width == 4 ? (void *)&middle
                            : (void *)&masks[c],
               width);
        b->fewest[c] = k == 0 || counts[c] < b->fewest[c] ? counts[c] : b->fewest[c];
        b->max[c] = k == 0 || counts[c] > b->max[c] ? counts[c] : b->max[c];
    }
    uint64_t pairs = pairs_of(text, row.n);
    b->some = k == 0 ? pairs : b->some | pairs;
    b->all = k == 0 ? pairs : b->all & pairs;
}

static void index_free(sis__space *s) {
    edit_index *x = (edit_index *)s->index;
    free(x->blocks);
    free(x->masks);
    free(x);
    s->index = NULL;
}

static int index_new(sis__space *s) {
    edit_index *x = SIS_NEW(edit_index, 1);
    if (!x)
        return SIS_E_NOMEM;
    s->index = x;
    x->lanes = sis__lanes_best();
    x->reach = !(s->eps >= 0) ? 0 : s->eps > 65535 ? 65535 : (size_t)s->eps;
    number_letters(s, x);
    if (isnan(s->eps))
        return SIS_OK;
    int code = cut_blocks(s, x);
    for (size_t i = 0; code == SIS_OK && i < x->n_blocks; i++)
        for (size_t k = 0; k < x->blocks[i].n; k++)
            fill_lane(s, x, &x->blocks[i], k);
    return code;
}

/* ---- Queries --------------------------------------------------------------------------------- */

static void scratch_free(void *scratch) {
    edit_scratch *t = (edit_scratch *)scratch;
    if (t) {
        free(t->text);
        free(t->masks);
        free(t->up);
        free(t->down);
        free(t);
    }
}

static size_t words_of(size_t letters) {
    return (letters + 63) / 64;
}

static int scratch_new(const sis__space *s, void **scratch) {
    const edit_index *x = (const edit_index *)s->index;
    size_t longest = s->n ? s->start[s->n] - s->start[s->n - 1] : 0, words = words_of(longest);
    edit_scratch *t = SIS_NEW(edit_scratch, 1);
    *scratch = NULL;
    if (!t)
        return SIS_E_NOMEM;
    t->u = SIZE_MAX;
    t->text = SIS_NEW(uint8_t, longest);
    t->masks = SIS_NEW(uint64_t, x->n_letters * words);
    t->up = SIS_NEW(uint64_t, words);
    t->down = SIS_NEW(uint64_t, words);
    if (!t->text || !t->masks || !t->up || !t->down) {
        scratch_free(t);
        return SIS_E_NOMEM;
    }
    *scratch = t;
    return SIS_OK;
}

static void begin(const sis__space *s, edit_scratch *t, size_t u, int turned) {
    const edit_index *x = (const edit_index *)s->index;
    sis__row row = sis__space_row(s, u);
    size_t words = words_of(row.n);
    if (t->u == u && t->turned == turned)
        return;
    t->u = u;
    t->turned = turned;
    memset(t->masks, 0, x->n_letters * words * sizeof *t->masks);
    memset(t->counts, 0, x->n_letters * sizeof *t->counts);
    for (size_t i = 0; i < row.n; i++) {
        uint32_t letter = turned ? sis__opposite(row.items[row.n - 1 - i]) : row.items[i];
        size_t c = t->text[i] = x->code[letter];
        t->masks[c * words + i / 64] |= (uint64_t)1 << (i % 64);
        t->counts[c]++;
    }
}

/* ---- One string at a time ------------------------------------------------------------------- */

/* The recurrence on one word of the column. `in` and the result are the carries from above and to
 * below, -1, 0 or 1; `last` is the bit of the last row, if it is in this word. */
static int advance(uint64_t same, uint64_t *up, uint64_t *down, int in, uint64_t last) {
    uint64_t p = *up, m = *down, x = same | m;
    same |= in < 0;
    uint64_t level = (((same & p) + p) ^ p) | same;
    uint64_t rise = m | ~(level | p), fall = p & level;
    int out = (rise & last) ? 1 : (fall & last) ? -1 : 0;
    rise = (rise << 1) | (in > 0);
    fall = (fall << 1) | (in < 0);
    *up = fall | ~(x | rise);
    *down = rise & x;
    return out;
}

/* The distance of the query string, of n letters, and `other`. */
static size_t edits(const edit_index *x, edit_scratch *t, size_t n, const sis__row *other) {
    size_t words = words_of(n);
    long score = (long)n;
    memset(t->up, 0xFF, words * sizeof *t->up);
    memset(t->down, 0, words * sizeof *t->down);
    for (size_t j = 0; j < other->n; j++) {
        const uint64_t *masks = t->masks + x->code[other->items[j]] * words;
        int carry = 1; /* the row above the first increases by one per letter */
        for (size_t w = 0; w < words; w++) {
            uint64_t last = w + 1 < words ? (uint64_t)1 << 63 : (uint64_t)1 << ((n - 1) % 64);
            carry = advance(masks[w], &t->up[w], &t->down[w], carry, last);
        }
        score += carry;
    }
    return (size_t)score;
}

static int distances(const sis__space *s, void *scratch, size_t u, const uint32_t *v, size_t n,
                     double *out) {
    const edit_index *x = (const edit_index *)s->index;
    edit_scratch *t = (edit_scratch *)scratch;
    for (int turned = 0; turned <= s->points->both; turned++) {
        begin(s, t, u, turned);
        for (size_t k = 0; k < n; k++) {
            sis__row other = sis__space_row(s, v[k]);
            double d = (double)edits(x, t, s->start[u + 1] - s->start[u], &other);
            out[k] = turned && out[k] < d ? out[k] : d;
        }
    }
    return SIS_OK;
}

/* ---- Bounds -------------------------------------------------------------------------------- */

static int count_bits(uint64_t v) {
    return __builtin_popcountll(v);
}

static int block_too_far(const edit_index *x, const block *b, const edit_scratch *t,
                         uint64_t pairs) {
    size_t more = 0, fewer = 0;
    for (size_t c = 0; c < x->n_letters; c++) {
        more += t->counts[c] > b->max[c] ? t->counts[c] - b->max[c] : 0;
        fewer += t->counts[c] < b->fewest[c] ? b->fewest[c] - t->counts[c] : 0;
    }
    return more > x->reach || fewer > x->reach ||
           (size_t)count_bits(pairs & ~b->some) > 2 * x->reach ||
           (size_t)count_bits(b->all & ~pairs) > 2 * x->reach;
}

static int letters_too_far(const edit_index *x, const edit_scratch *t, const sis__row *other) {
    size_t counts[CODES], more = 0, fewer = 0;
    memcpy(counts, t->counts, x->n_letters * sizeof *counts);
    for (size_t i = 0; i < other->n; i++) {
        size_t c = x->code[other->items[i]];
        if (counts[c] > 0)
            counts[c]--;
        else
            fewer++;
    }
    for (size_t c = 0; c < x->n_letters; c++)
        more += counts[c];
    return more > x->reach || fewer > x->reach;
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

/* The strings of a block, before u, that are near the query. */
static int near_in_block(const edit_index *x, const block *b, const edit_scratch *t, size_t n,
                         sis__near *near) {
    union {
        uint16_t d16[SIS__LANES];
        uint32_t d32[SIS__LANES];
        uint64_t d64[SIS__LANES];
    } d;
    const void *masks = x->masks + b->masks;
    size_t width = lane_bytes(b->length);
    int code = SIS_OK;
    if (width == 2)
        x->lanes->run16((const uint16_t *)masks, b->length, t->text, n, d.d16);
    else if (width == 4)
        x->lanes->run32((const uint32_t *)masks, b->length, t->text, n, d.d32);
    else
        x->lanes->run64((const uint64_t *)masks, b->length, t->text, n, d.d64);
    for (size_t k = 0; k < b->n && b->first + k < t->u && code == SIS_OK; k++) {
        uint64_t edit = width == 2 ? d.d16[k] : width == 4 ? d.d32[k] : d.d64[k];
        if (edit <= x->reach)
            code = sis__near_add(near, b->first + k);
    }
    return code;
}

/* The first block of strings of at least `length` letters. */
static size_t first_block(const edit_index *x, size_t length) {
    size_t low = 0, high = x->n_blocks;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (x->blocks[middle].length < length)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The neighbours of one strand of u. */
static int near_strand(const sis__space *s, edit_scratch *t, size_t u, int turned,
                       sis__near *near) {
    const edit_index *x = (const edit_index *)s->index;
    size_t n = s->start[u + 1] - s->start[u], shortest = n > x->reach ? n - x->reach : 0;
    int code = SIS_OK;
    begin(s, t, u, turned);
    uint64_t pairs = x->n_letters <= LETTERS_MAX ? pairs_of(t->text, n) : 0;
    for (size_t i = first_block(x, shortest); i < x->n_blocks && code == SIS_OK; i++) {
        const block *b = &x->blocks[i];
        if (b->first >= u)
            break;
        if (!block_too_far(x, b, t, pairs))
            code = near_in_block(x, b, t, n, near);
    }
    for (size_t v = u; v > x->n_lane && code == SIS_OK; v--) {
        sis__row other = sis__space_row(s, v - 1);
        if (other.n < shortest)
            break;
        if (!letters_too_far(x, t, &other) && edits(x, t, n, &other) <= x->reach)
            code = sis__near_add(near, v - 1);
    }
    return code;
}

static int near_strings(const sis__space *s, void *scratch, size_t u, sis__near *near) {
    edit_scratch *t = (edit_scratch *)scratch;
    size_t from = near->n;
    int code = near_strand(s, t, u, 0, near);
    if (code == SIS_OK && s->points->both) {
        code = near_strand(s, t, u, 1, near); /* near on both strands: keep it once */
        near->n = from + sis__items_sort(near->items + from, near->n - from);
    }
    return code;
}

const sis__metric sis__metric_edit = {.order = by_counts,
                                      .index_new = index_new,
                                      .index_free = index_free,
                                      .scratch_new = scratch_new,
                                      .scratch_free = scratch_free,
                                      .near = near_strings,
                                      .distances = distances,
                                      .useless = INFINITY};
