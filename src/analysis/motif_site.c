/* SPDX-License-Identifier: MIT
 *
 * Find the whole binding site from the subsets of a cluster. A subset has only the bases that
 * sufficed for one decision, often half of a site; the sequences around many subsets show the rest.
 *
 * The *string* of a subset is the sequence from its first to its last base, with N where a base is
 * not in the subset. Its *window* extends `flank` bases further on both sides, with all bases.
 *
 *   1. Align the strings (motif.c).
 *   2. Count the bases of the windows in each column. A column is informative if its counts differ
 *      from the background; other columns get the counts of the strings.
 *   3. The site is the columns that at least half of the strings cover, extended by informative
 *      columns on both sides.
 *   4. Align every window with the site again, on either strand. Repeat from 2 until none moves.
 *
 * Subsets may be different parts of one site, and aligning all of them at once could superimpose
 * two sites. So the first round uses only the strings that agree with the first string, if there
 * are enough.
 *
 * Time per round: (windows) x (columns of the site) x (places within `flank`); at most ROUNDS
 * rounds.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/motif.h"
#include "base/error.h"
#include "base/mem.h"

enum { ROUNDS = 10, FIRST_MIN = 10 /* windows of the first site */ };
enum { GAP = 3 /* uninformative columns in a row that an extension may cross */ };
static const double G_MIN = 11.345;  /* G statistic with 3 degrees of freedom: p = 0.01 */
static const double NATS_MIN = 0.07; /* information of a column: 0.1 bit */

typedef struct {
    const sis_sites *sites;
    sis__laid laid;        /* the first column of each window; the columns of the site */
    double *counts;        /* (width, 4) bases of the windows; in columns that are not informative,
                               bases of the strings */
    double *string_counts; /* (width, 4) bases of the strings */
    double *scores;        /* (width, 4) log-odds of the bases; only in the site */
    size_t *covered;       /* (width) number of strings that cover a column */
    unsigned char *used;   /* (strings) 1: used in this round */
    size_t n;              /* number of strings used in this round */
    unsigned char *informative; /* (width) 1: the windows' bases differ from the background */
    unsigned char *turned;      /* (strings) 1: reverse-complemented; NULL: never */
} alignment;

/* Letter k of a text on a strand as one of A C G T; -1: unknown. */
static int base_at(const char *text, size_t length, size_t k, int turned) {
    static const char bases[] = "ACGT";
    char c = text[turned ? length - 1 - k : k];
    const char *at = strchr(bases, c);
    return !c || !at ? -1 : turned ? 3 - (int)(at - bases) : (int)(at - bases);
}

static int is_turned(const alignment *x, size_t i) {
    return x->turned && x->turned[i];
}

static void count_text(const char *text, size_t offset, int turned, double *counts) {
    size_t length = strlen(text);
    for (size_t k = 0; k < length; k++) {
        int base = base_at(text, length, k, turned);
        if (base >= 0)
            counts[4 * (offset + k) + (size_t)base]++;
    }
}

static void count_bases(alignment *x) {
    const sis_sites *s = x->sites;
    x->n = 0;
    memset(x->counts, 0, 4 * x->laid.width * sizeof *x->counts);
    memset(x->string_counts, 0, 4 * x->laid.width * sizeof *x->string_counts);
    memset(x->covered, 0, x->laid.width * sizeof *x->covered);
    for (size_t i = 0; i < s->n; i++) {
        size_t at = x->laid.offset[i], begin = at + s->flank, length = strlen(s->strings[i]);
        if (!x->used[i])
            continue;
        x->n++;
        count_text(s->windows[i], at, is_turned(x, i), x->counts);
        count_text(s->strings[i], begin, is_turned(x, i), x->string_counts);
        for (size_t k = 0; k < length; k++)
            x->covered[begin + k]++;
    }
}

/* Find informative columns: enough windows cover them, and their bases differ from the background.
 * Other columns use the bases of the strings. */
static void find_informative(alignment *x) {
    for (size_t at = 0; at < x->laid.width; at++) {
        double *c = x->counts + 4 * at, n = c[0] + c[1] + c[2] + c[3], nats = 0;
        for (size_t b = 0; b < 4; b++)
            nats += c[b] > 0 ? c[b] / n * log(c[b] / n / x->sites->background[b]) : 0;
        x->informative[at] = 2 * n >= (double)x->n && 2 * n * nats >= G_MIN && nats >= NATS_MIN;
        if (!x->informative[at])
            memcpy(c, x->string_counts + 4 * at, 4 * sizeof *c);
    }
}

/* The columns that at least half of the strings cover, and informative columns beyond them. */
static void find_site(alignment *x) {
    sis__laid *l = &x->laid;
    sis__motif_trim(x->covered, l->width, x->n, l);
    for (size_t at = l->first; at-- > 0 && l->first - at <= GAP + 1;)
        l->first = x->informative[at] ? at : l->first;
    for (size_t at = l->last + 1; at < l->width && at - l->last <= GAP + 1; at++)
        l->last = x->informative[at] ? at : l->last;
}

/* Log-odds of the bases in each column of the site, with a pseudocount of one. The pseudocount and
 * strings without a base in the column are counted as background. */
static void set_scores(alignment *x) {
    const double *q = x->sites->background, n = (double)x->n;
    for (size_t at = x->laid.first; at <= x->laid.last; at++) {
        const double *c = x->counts + 4 * at;
        double unknown = n - (c[0] + c[1] + c[2] + c[3]) + 1;
        for (size_t b = 0; b < 4; b++)
            x->scores[4 * at + b] = log((c[b] + unknown * q[b]) / (n + 1) / q[b]);
    }
}

/* The log-odds score of window i at a place: the sum over the columns of the site. */
static double score_window(const alignment *x, size_t i, size_t length, size_t offset, int turned) {
    double sum = 0;
    size_t from = offset > x->laid.first ? offset : x->laid.first;
    for (size_t at = from; at <= x->laid.last && at < offset + length; at++) {
        int base = base_at(x->sites->windows[i], length, at - offset, turned);
        sum += base >= 0 ? x->scores[4 * at + (size_t)base] : 0;
    }
    return sum;
}

/* 1 if at least half of the subset is inside the site, or half of the site inside the subset. */
static int overlaps_site(const alignment *x, size_t length, size_t offset) {
    size_t from = offset + x->sites->flank, end = offset + length - x->sites->flank;
    size_t site = x->laid.last + 1 - x->laid.first, subset = end - from;
    from = from > x->laid.first ? from : x->laid.first;
    end = end <= x->laid.last ? end : x->laid.last + 1;
    return end > from && 2 * (end - from) >= (site < subset ? site : subset);
}

/* Move window i to the best place within `flank` of `middle` on a strand, if its score exceeds
 * *best. */
static void try_around(alignment *x, size_t i, long middle, int turned, double *best) {
    size_t length = strlen(x->sites->windows[i]);
    long reach = (long)x->sites->flank, last = (long)(x->laid.width - length);
    for (long offset = middle - reach; offset <= middle + reach; offset++) {
        if (offset < 0 || offset > last || !overlaps_site(x, length, (size_t)offset))
            continue;
        double found = score_window(x, i, length, (size_t)offset, turned);
        if (found <= *best + 1e-9)
            continue;
        *best = found;
        x->laid.offset[i] = (size_t)offset;
        if (x->turned)
            x->turned[i] = (unsigned char)turned;
    }
}

/* Move window i to the place with the highest score. Returns 1 if it moved. */
static int align_window(alignment *x, size_t i) {
    size_t length = strlen(x->sites->windows[i]), before = x->laid.offset[i];
    int turned = is_turned(x, i);
    double best = score_window(x, i, length, before, turned);
    try_around(x, i, (long)before, turned, &best);
    if (x->turned) /* the other strand, mirrored at the middle of the site */
        try_around(x, i, (long)(x->laid.first + x->laid.last) - (long)before - (long)length + 1,
                   !turned, &best);
    return x->laid.offset[i] != before || is_turned(x, i) != turned;
}

/* 1 if most bases of string i agree with the overlapping bases of the first string. */
static int agrees(const alignment *x, size_t i) {
    const char *first = x->sites->strings[0], *own = x->sites->strings[i];
    size_t n = strlen(first), length = strlen(own), same = 0, all = 0;
    for (size_t k = 0; k < length; k++) {
        int base = base_at(own, length, k, is_turned(x, i));
        size_t at = x->laid.offset[i] + k;
        all += base >= 0;
        if (base >= 0 && at >= x->laid.offset[0] && at - x->laid.offset[0] < n)
            same += base_at(first, n, at - x->laid.offset[0], is_turned(x, 0)) == base;
    }
    return 2 * same > all;
}

/* The strings of the first round. */
static void choose_first_round(alignment *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->sites->n; i++)
        n += x->used[i] = (unsigned char)agrees(x, i);
    if (n < FIRST_MIN)
        memset(x->used, 1, x->sites->n);
}

static void align_all(alignment *x) {
    choose_first_round(x);
    for (int round = 0, moved = 1; moved; round++) {
        count_bases(x);
        find_informative(x);
        find_site(x);
        set_scores(x);
        moved = 0;
        for (size_t i = 0; round < ROUNDS && i < x->sites->n; i++)
            moved |= align_window(x, i) || !x->used[i];
        if (moved)
            memset(x->used, 1, x->sites->n);
    }
}

static int check_sites(const sis_sites *s) {
    for (size_t i = 0; i < s->n; i++)
        if (strlen(s->windows[i]) != strlen(s->strings[i]) + 2 * s->flank)
            return sis__fail(SIS_E_ARGUMENT, "window %zu has %zu letters; expected %zu", i,
                             strlen(s->windows[i]), strlen(s->strings[i]) + 2 * s->flank);
    for (size_t b = 0; b < 4; b++)
        if (!(s->background[b] > 0))
            return sis__fail(SIS_E_ARGUMENT, "base %zu of the background has share %g", b,
                             s->background[b]);
    return SIS_OK;
}

/* Columns are added on both sides: `flank` for the windows, and as many for their moves. */
static int alignment_new(alignment *x) {
    x->laid.width += 4 * x->sites->flank;
    for (size_t i = 0; i < x->sites->n; i++)
        x->laid.offset[i] += x->sites->flank;
    x->counts = SIS_NEW(double, 4 * x->laid.width);
    x->string_counts = SIS_NEW(double, 4 * x->laid.width);
    x->scores = SIS_NEW(double, 4 * x->laid.width);
    x->covered = SIS_NEW(size_t, x->laid.width);
    x->informative = SIS_NEW(unsigned char, x->laid.width);
    x->used = SIS_NEW(unsigned char, x->sites->n);
    return x->used && x->counts && x->string_counts && x->scores && x->covered && x->informative
               ? SIS_OK
               : SIS_E_NOMEM;
}

int sis_motif_learn_sites(const sis_sites *sites, const char *name, unsigned char *turned,
                          sis_motif *out, double **numbers) {
    alignment x = {.sites = sites, .turned = turned};
    *out = (sis_motif){0};
    *numbers = NULL;
    int code = check_sites(sites);
    if (code == SIS_OK)
        code = sis__motif_lay(sites->strings, sites->n, turned, &x.laid);
    if (code == SIS_OK)
        code = alignment_new(&x);
    if (code == SIS_OK) {
        align_all(&x);
        code = sis__motif_of(x.counts, &x.laid, sites->n, name, out, numbers);
    }
    free(x.laid.offset);
    free(x.counts);
    free(x.string_counts);
    free(x.scores);
    free(x.covered);
    free(x.informative);
    free(x.used);
    return code;
}
