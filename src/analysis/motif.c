/* SPDX-License-Identifier: MIT
 *
 * The motif of a cluster of DNA subsets: aligns its members and finds the most similar known motif.
 *
 * The paper's likelihood criterion and its divergence choose the same place: the divergence is the
 * entropy of the matrix, which is constant, minus the mean log-likelihood. So the least divergence
 * over all places and both strands satisfies both.
 */
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/motif.h"
#include "analysis/points.h"
#include "base/error.h"
#include "base/mem.h"

enum { ROUNDS = 3, LETTERS_MAX = 65535 };

/* ---- Alignment of strings ------------------------------------------------------------------ */

/* A base of a string: position, and which of A C G T. */
typedef struct {
    uint32_t at, base;
} site;

typedef struct {
    const char *const *strings;
    size_t n, longest;
    size_t width;          /* columns: the first string begins at column `longest` */
    size_t *start;         /* (n + 1) */
    site *sites;           /* of all strings */
    size_t *offset;        /* (n) column where each begins */
    double *scores;        /* (width, 4) score of a base in each column */
    double *counts;        /* (width, 4) */
    size_t *covered;       /* (width) number of strings that cover it */
    unsigned char *turned; /* (n) reverse-complemented; NULL: never */
} pile;

static int base_number(char c) {
    static const char bases[] = "ACGT";
    const char *at = c ? strchr(bases, c) : NULL;
    return at ? (int)(at - bases) : -1;
}

static int find_sites(pile *p) {
    size_t total = 0;
    for (size_t i = 0; i < p->n; i++) {
        size_t n = strlen(p->strings[i]);
        if (n == 0 || n > LETTERS_MAX)
            return sis__fail(SIS_E_ARGUMENT, "string %zu has %zu letters; expected 1 to %d", i, n,
                             LETTERS_MAX);
        p->longest = n > p->longest ? n : p->longest;
        for (const char *c = p->strings[i]; *c; c++)
            total += base_number(*c) >= 0;
    }
    p->start = SIS_NEW(size_t, p->n + 1);
    p->sites = SIS_NEW(site, total);
    if (!p->start || !p->sites)
        return SIS_E_NOMEM;
    for (size_t i = 0, k = 0; i < p->n; i++) {
        for (size_t at = 0; p->strings[i][at]; at++)
            if (base_number(p->strings[i][at]) >= 0)
                p->sites[k++] = (site){(uint32_t)at, (uint32_t)base_number(p->strings[i][at])};
        p->start[i + 1] = k;
    }
    return SIS_OK;
}

static int pile_new(pile *p) {
    int code = find_sites(p);
    if (code != SIS_OK)
        return code;
    p->width = 3 * p->longest;
    p->offset = SIS_NEW(size_t, p->n);
    p->scores = SIS_NEW(double, 4 * p->width);
    p->counts = SIS_NEW(double, 4 * p->width);
    p->covered = SIS_NEW(size_t, p->width);
    return p->offset && p->scores && p->counts && p->covered ? SIS_OK : SIS_E_NOMEM;
}

static void pile_free(pile *p) {
    free(p->start);
    free(p->sites);
    free(p->offset);
    free(p->scores);
    free(p->counts);
    free(p->covered);
}

/* Count the bases of the first n strings at their current places. */
static void count(pile *p, size_t n) {
    memset(p->counts, 0, 4 * p->width * sizeof *p->counts);
    memset(p->covered, 0, p->width * sizeof *p->covered);
    for (size_t i = 0; i < n; i++) {
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++)
            p->counts[4 * (p->offset[i] + p->sites[k].at) + p->sites[k].base]++;
        for (size_t at = 0; p->strings[i][at]; at++)
            p->covered[p->offset[i] + at]++;
    }
}

/* Log-odds of the bases counted so far, with a pseudocount of one uniform base per column. Strings
 * without a base in a column leave it unknown. */
static void weigh(pile *p, size_t n) {
    for (size_t column = 0; column < p->width; column++) {
        const double *c = p->counts + 4 * column;
        double unknown = ((double)n - (c[0] + c[1] + c[2] + c[3]) + 1) / 4;
        for (size_t b = 0; b < 4; b++)
            p->scores[4 * column + b] = log(4 * (c[b] + unknown) / ((double)n + 1));
    }
}

/* Reverse-complement string i. */
static void turn(pile *p, size_t i) {
    size_t length = strlen(p->strings[i]), n = p->start[i + 1] - p->start[i];
    site *s = p->sites + p->start[i];
    for (size_t k = 0; k < n / 2; k++) {
        site other = s[k];
        s[k] = s[n - 1 - k];
        s[n - 1 - k] = other;
    }
    for (size_t k = 0; k < n; k++)
        s[k] = (site){(uint32_t)(length - 1 - s[k].at), 3 - s[k].base};
    p->turned[i] = !p->turned[i];
}

/* Align string i at the best place; of equal places the nearest to the first string's start.
 * Returns the score. */
static double lay_strand(pile *p, size_t i) {
    double best = -INFINITY;
    size_t length = strlen(p->strings[i]), nearest = SIZE_MAX;
    for (size_t offset = 0; offset + length <= p->width; offset++) {
        double sum = 0;
        size_t away = offset > p->longest ? offset - p->longest : p->longest - offset;
        for (size_t k = p->start[i]; k < p->start[i + 1]; k++)
            sum += p->scores[4 * (offset + p->sites[k].at) + p->sites[k].base];
        if (sum > best + 1e-9 || (sum > best - 1e-9 && away < nearest)) {
            best = sum > best ? sum : best;
            nearest = away;
            p->offset[i] = offset;
        }
    }
    return best;
}

/* The same on the better strand; unchanged if both are equal. */
static void lay(pile *p, size_t i) {
    double now = lay_strand(p, i);
    size_t offset = p->offset[i];
    if (!p->turned)
        return;
    turn(p, i);
    if (lay_strand(p, i) > now + 1e-9)
        return;
    turn(p, i);
    p->offset[i] = offset;
}

static void lay_all(pile *p) {
    p->offset[0] = p->longest;
    count(p, 1);
    weigh(p, 1);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = round == 0 ? 1 : 0; i < p->n; i++)
            lay(p, i);
        count(p, p->n);
        weigh(p, p->n);
    }
}

void sis__motif_trim(const size_t *covered, size_t width, size_t n, sis__laid *laid) {
    size_t max = 0, enough;
    for (size_t k = 0; k < width; k++)
        max = covered[k] > max ? covered[k] : max;
    enough = (n + 1) / 2 < max ? (n + 1) / 2 : max;
    for (laid->first = 0; covered[laid->first] < enough;)
        laid->first++;
    for (laid->last = width - 1; covered[laid->last] < enough;)
        laid->last--;
}

void sis_dna_turn(char *letters, size_t n) {
    for (size_t i = 0; i < n - i; i++) {
        char first = (char)sis__opposite((unsigned char)letters[i]);
        letters[i] = (char)sis__opposite((unsigned char)letters[n - 1 - i]);
        letters[n - 1 - i] = first;
    }
}

int sis__motif_of(const double *counts, const sis__laid *laid, size_t n, const char *name,
                  sis_motif *out, double **numbers) {
    size_t length = laid->last - laid->first + 1;
    double *made = *numbers = SIS_NEW(double, 8 * length);
    *out = (sis_motif){0};
    if (!made)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < length; k++) {
        const double *c = counts + 4 * (laid->first + k);
        double unknown = ((double)n - (c[0] + c[1] + c[2] + c[3])) / 4;
        for (size_t b = 0; b < 4; b++) {
            made[4 * k + b] = c[b] + unknown;
            made[4 * (length + k) + b] = made[4 * k + b] / (double)n;
        }
    }
    *out = (sis_motif){.id = name,
                       .name = name,
                       .length = length,
                       .counts = made,
                       .probabilities = made + 4 * length};
    return SIS_OK;
}

/* Align the strings of *p. */
static int lay_strings(pile *p) {
    if (p->n == 0)
        return sis__fail(SIS_E_ARGUMENT, "no strings to align");
    if (p->turned)
        memset(p->turned, 0, p->n);
    int code = pile_new(p);
    if (code == SIS_OK)
        lay_all(p);
    return code;
}

int sis__motif_lay(const char *const *strings, size_t n, unsigned char *turned, sis__laid *laid) {
    pile p = {.strings = strings, .n = n, .turned = turned};
    int code = lay_strings(&p);
    *laid = (sis__laid){0};
    if (code == SIS_OK) {
        *laid = (sis__laid){.offset = p.offset, .width = p.width};
        p.offset = NULL;
    }
    pile_free(&p);
    return code;
}

int sis_motif_learn(const char *const *strings, size_t n, const char *name, unsigned char *turned,
                    sis_motif *out, double **numbers) {
    pile p = {.strings = strings, .n = n, .turned = turned};
    sis__laid columns = {0};
    *out = (sis_motif){0};
    *numbers = NULL;
    int code = lay_strings(&p);
    if (code == SIS_OK) {
        sis__motif_trim(p.covered, p.width, n, &columns);
        code = sis__motif_of(p.counts, &columns, n, name, out, numbers);
    }
    pile_free(&p);
    return code;
}

/* ---- Comparing with a known motif ------------------------------------------------------------ */

const double sis__uniform_column[4] = {0.25, 0.25, 0.25, 0.25};

double sis__column_divergence(const double *p, const double *q) {
    double sum = 0;
    for (size_t b = 0; b < 4; b++)
        if (p[b] > 0)
            sum += p[b] * log(p[b] / (0.99 * q[b] + 0.0025));
    return sum;
}

const double *sis__motif_column(const sis_motif *m, size_t k, int reverse, double turned[4]) {
    const double *c = m->probabilities + 4 * (reverse ? m->length - 1 - k : k);
    for (size_t b = 0; reverse && b < 4; b++)
        turned[b] = c[3 - b];
    return reverse ? turned : c;
}

/* The divergence with the motif at `offset`. */
static double laid_at(const sis_motif *r, const sis_motif *m, long offset, int reverse) {
    long first = offset < 0 ? offset : 0, end = (long)r->length,
         motif_end = offset + (long)m->length;
    double sum = 0, turned[4];
    end = motif_end > end ? motif_end : end;
    for (long at = first; at < end; at++) {
        int in_r = at >= 0 && at < (long)r->length, in_m = at >= offset && at < motif_end;
        const double *p = in_r ? r->probabilities + 4 * at : sis__uniform_column;
        const double *q = in_m ? sis__motif_column(m, (size_t)(at - offset), reverse, turned)
                               : sis__uniform_column;
        sum += sis__column_divergence(p, q);
    }
    return sum;
}

void sis_motif_compare(const sis_motif *matrix, const sis_motif *motif, sis_motif_match *out) {
    size_t number = out->motif;
    *out = (sis_motif_match){.motif = number, .divergence = INFINITY, .p = NAN, .q = NAN};
    for (int reverse = 0; reverse < 2; reverse++)
        for (long offset = 1 - (long)motif->length; offset < (long)matrix->length; offset++) {
            double d = laid_at(matrix, motif, offset, reverse);
            if (d < out->divergence) {
                out->divergence = d;
                out->offset = offset;
                out->reverse = reverse;
            }
        }
}

static int by_divergence(const void *a, const void *b) {
    const sis_motif_match *x = (const sis_motif_match *)a, *y = (const sis_motif_match *)b;
    if (x->divergence != y->divergence)
        return x->divergence < y->divergence ? -1 : 1;
    return (x->motif > y->motif) - (x->motif < y->motif);
}

long sis_motif_search(const sis_motif *matrix, const sis_motifs *motifs, size_t max,
                      sis_motif_match **matches) {
    sis_motif_match *all = SIS_NEW(sis_motif_match, motifs->n);
    *matches = all;
    if (!all)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < motifs->n; k++) {
        all[k].motif = k;
        sis_motif_compare(matrix, &motifs->items[k], &all[k]);
    }
    qsort(all, motifs->n, sizeof *all, by_divergence);
    return (long)(max < motifs->n ? max : motifs->n);
}
