/* SPDX-License-Identifier: MIT
 *
 * The binding site under the subsets of a cluster. A subset has the bases that sufficed for one
 * decision, often half of a site; the sequences around many subsets show the rest.
 *
 * First the strings of the subsets are aligned (motif.c). The window of a string is the sequence
 * from `flank` bases before it to `flank` bases after it. If the bases of the windows in a column
 * differ from the background, the column uses their counts, otherwise those of the strings. The
 * site is the columns that at least half of the strings cover, and beyond them the columns that
 * differ from the background. Every window is aligned again with the site, on either strand, until
 * none moves. The first site uses the strings that agree with the first string, if there are
 * enough: subsets may be different parts of one site, and all together would superimpose two sites.
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
enum { GAP = 3 /* background-like columns that a site may span */ };
static const double G_MIN = 11.345;  /* of a G test with 3 degrees of freedom: p = 0.01 */
static const double NATS_MIN = 0.07; /* of a column: 0.1 bit */

typedef struct {
    const sis_sites *sites;
    sis__laid laid;         /* first columns of the windows, and those of the site */
    double *counts;         /* (width, 4) of the windows; of the strings in background-like
                               columns */
    double *chosen;         /* (width, 4) of the strings */
    double *scores;         /* (width, 4) log-odds of the bases; only in the site */
    size_t *covered;        /* (width) number of strings that cover it */
    unsigned char *counted; /* (n) is it counted? */
    size_t n;               /* how many are */
    unsigned char *tells;   /* (width) the bases of the windows differ from the background */
    unsigned char *turned;  /* (n) reverse-complemented; NULL: never */
} stack;

/* Letter k of a text on a strand as one of A C G T; -1: unknown. */
static int base_at(const char *text, size_t length, size_t k, int turned) {
    static const char bases[] = "ACGT";
    char c = text[turned ? length - 1 - k : k];
    const char *at = strchr(bases, c);
    return !c || !at ? -1 : turned ? 3 - (int)(at - bases) : (int)(at - bases);
}

static int is_turned(const stack *x, size_t i) {
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

static void count(stack *x) {
    const sis_sites *s = x->sites;
    x->n = 0;
    memset(x->counts, 0, 4 * x->laid.width * sizeof *x->counts);
    memset(x->chosen, 0, 4 * x->laid.width * sizeof *x->chosen);
    memset(x->covered, 0, x->laid.width * sizeof *x->covered);
    for (size_t i = 0; i < s->n; i++) {
        size_t at = x->laid.offset[i], begin = at + s->flank, length = strlen(s->strings[i]);
        if (!x->counted[i])
            continue;
        x->n++;
        count_text(s->windows[i], at, is_turned(x, i), x->counts);
        count_text(s->strings[i], begin, is_turned(x, i), x->chosen);
        for (size_t k = 0; k < length; k++)
            x->covered[begin + k]++;
    }
}

/* Find informative columns: enough windows cover them, and their bases differ from the background.
 * Other columns use the bases of the strings. */
static void judge_columns(stack *x) {
    for (size_t at = 0; at < x->laid.width; at++) {
        double *c = x->counts + 4 * at, n = c[0] + c[1] + c[2] + c[3], nats = 0;
        for (size_t b = 0; b < 4; b++)
            nats += c[b] > 0 ? c[b] / n * log(c[b] / n / x->sites->background[b]) : 0;
        x->tells[at] = 2 * n >= (double)x->n && 2 * n * nats >= G_MIN && nats >= NATS_MIN;
        if (!x->tells[at])
            memcpy(c, x->chosen + 4 * at, 4 * sizeof *c);
    }
}

/* The columns that at least half of the strings cover, and informative columns beyond them. */
static void find_site(stack *x) {
    sis__laid *l = &x->laid;
    sis__motif_trim(x->covered, l->width, x->n, l);
    for (size_t at = l->first; at-- > 0 && l->first - at <= GAP + 1;)
        l->first = x->tells[at] ? at : l->first;
    for (size_t at = l->last + 1; at < l->width && at - l->last <= GAP + 1; at++)
        l->last = x->tells[at] ? at : l->last;
}

/* Log-odds of the bases, with a pseudocount of one background base. Strings without a base in a
 * column leave it unknown. */
static void weigh(stack *x) {
    const double *q = x->sites->background, n = (double)x->n;
    for (size_t at = x->laid.first; at <= x->laid.last; at++) {
        const double *c = x->counts + 4 * at;
        double unknown = n - (c[0] + c[1] + c[2] + c[3]) + 1;
        for (size_t b = 0; b < 4; b++)
            x->scores[4 * at + b] = log((c[b] + unknown * q[b]) / (n + 1) / q[b]);
    }
}

static double agreement(const stack *x, size_t i, size_t length, size_t offset, int turned) {
    double sum = 0;
    size_t from = offset > x->laid.first ? offset : x->laid.first;
    for (size_t at = from; at <= x->laid.last && at < offset + length; at++) {
        int base = base_at(x->sites->windows[i], length, at - offset, turned);
        sum += base >= 0 ? x->scores[4 * at + (size_t)base] : 0;
    }
    return sum;
}

/* 1 if at least half of the subset is inside the site, or half of the site inside the subset. */
static int is_over(const stack *x, size_t length, size_t offset) {
    size_t from = offset + x->sites->flank, end = offset + length - x->sites->flank;
    size_t site = x->laid.last + 1 - x->laid.first, subset = end - from;
    from = from > x->laid.first ? from : x->laid.first;
    end = end <= x->laid.last ? end : x->laid.last + 1;
    return end > from && 2 * (end - from) >= (site < subset ? site : subset);
}

/* Try the places of window i within `flank` of `middle` on a strand. */
static void try_around(stack *x, size_t i, long middle, int turned, double *best) {
    size_t length = strlen(x->sites->windows[i]);
    long reach = (long)x->sites->flank, last = (long)(x->laid.width - length);
    for (long offset = middle - reach; offset <= middle + reach; offset++) {
        if (offset < 0 || offset > last || !is_over(x, length, (size_t)offset))
            continue;
        double found = agreement(x, i, length, (size_t)offset, turned);
        if (found <= *best + 1e-9)
            continue;
        *best = found;
        x->laid.offset[i] = (size_t)offset;
        if (x->turned)
            x->turned[i] = (unsigned char)turned;
    }
}

/* Align window i; unchanged if nothing is better. 1: it moved. */
static int lay(stack *x, size_t i) {
    size_t length = strlen(x->sites->windows[i]), before = x->laid.offset[i];
    int turned = is_turned(x, i);
    double best = agreement(x, i, length, before, turned);
    try_around(x, i, (long)before, turned, &best);
    if (x->turned) /* the other strand, mirrored at the middle of the site */
        try_around(x, i, (long)(x->laid.first + x->laid.last) - (long)before - (long)length + 1,
                   !turned, &best);
    return x->laid.offset[i] != before || is_turned(x, i) != turned;
}

/* 1 if most bases of string i agree with the overlapping bases of the first string. */
static int agrees(const stack *x, size_t i) {
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

static void choose_first(stack *x) {
    size_t n = 0;
    for (size_t i = 0; i < x->sites->n; i++)
        n += x->counted[i] = (unsigned char)agrees(x, i);
    if (n < FIRST_MIN)
        memset(x->counted, 1, x->sites->n);
}

static void lay_all(stack *x) {
    choose_first(x);
    for (int round = 0, moved = 1; moved; round++) {
        count(x);
        judge_columns(x);
        find_site(x);
        weigh(x);
        moved = 0;
        for (size_t i = 0; round < ROUNDS && i < x->sites->n; i++)
            moved |= lay(x, i) || !x->counted[i];
        if (moved)
            memset(x->counted, 1, x->sites->n);
    }
}

static int check(const sis_sites *s) {
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

/* Windows extend `flank` columns beyond the strings and may move by as many. */
static int stack_new(stack *x) {
    x->laid.width += 4 * x->sites->flank;
    for (size_t i = 0; i < x->sites->n; i++)
        x->laid.offset[i] += x->sites->flank;
    x->counts = SIS_NEW(double, 4 * x->laid.width);
    x->chosen = SIS_NEW(double, 4 * x->laid.width);
    x->scores = SIS_NEW(double, 4 * x->laid.width);
    x->covered = SIS_NEW(size_t, x->laid.width);
    x->tells = SIS_NEW(unsigned char, x->laid.width);
    x->counted = SIS_NEW(unsigned char, x->sites->n);
    return x->counted && x->counts && x->chosen && x->scores && x->covered && x->tells
               ? SIS_OK
               : SIS_E_NOMEM;
}

int sis_motif_learn_sites(const sis_sites *sites, const char *name, unsigned char *turned,
                          sis_motif *out, double **numbers) {
    stack x = {.sites = sites, .turned = turned};
    *out = (sis_motif){0};
    *numbers = NULL;
    int code = check(sites);
    if (code == SIS_OK)
        code = sis__motif_lay(sites->strings, sites->n, turned, &x.laid);
    if (code == SIS_OK)
        code = stack_new(&x);
    if (code == SIS_OK) {
        lay_all(&x);
        code = sis__motif_of(x.counts, &x.laid, sites->n, name, out, numbers);
    }
    free(x.laid.offset);
    free(x.counts);
    free(x.chosen);
    free(x.scores);
    free(x.covered);
    free(x.tells);
    free(x.counted);
    return code;
}
