/* SPDX-License-Identifier: MIT
 *
 * Significance of the match of a motif and a matrix. The null model is a motif of the same length
 * whose columns are drawn independently from all columns of the set and their reverse complements.
 * The distribution of divergences is computed exactly instead of sampled. At one place, the
 * divergence is a sum over columns: matrix columns under the motif, each from a drawn column; motif
 * columns beyond the matrix, uniform from a drawn column; matrix columns beyond the motif, which
 * are constant. The terms are independent, so the distribution of the sum is the convolution of
 * those of the columns. The columns under the motif are a run of the matrix. There are few runs,
 * and each is a shorter run convolved with one more column. Divergences are discretised in steps,
 * up to the largest value needed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/motif.h"
#include "base/error.h"
#include "base/mem.h"

static const double STEPS = 50; /* to a nat */

/* Discretised distributions of one column and of sums of several. */
typedef struct {
    const sis_motif *matrix;
    size_t bins;    /* relevant steps of a sum: 0 to bins - 1 */
    size_t longest; /* length of the longest motif of the set */
    double
        *columns; /* (length + 1, bins) of each column of the matrix, the last: of a uniform one */
    double *beyond;  /* (longest + 1, bins) cumulative, of sums of this number of uniform columns */
    double *run;     /* (bins) of a run of the matrix */
    double *folded;  /* (bins) */
    double *outside; /* (length + 1) divergence of the first columns from uniform */
} chances;

static void chances_release(chances *c) {
    free(c->columns);
    free(c->beyond);
    free(c->run);
    free(c->folded);
    free(c->outside);
}

/* The distribution (bins) of a drawn column's divergence from p; half a step rounds up. */
static void spread(const chances *c, const sis_motifs *set, const double *p, double *out) {
    size_t n = 0;
    for (size_t m = 0; m < set->n; m++)
        for (size_t k = 0; k < set->items[m].length; k++)
            for (int strand = 0; strand < 2; strand++, n++) {
                double turned[4];
                const double *q = sis__motif_column(&set->items[m], k, strand, turned);
                double steps = floor(sis__column_divergence(p, q) * STEPS + 0.5);
                if (steps < (double)c->bins)
                    out[steps > 0 ? (size_t)steps : 0]++;
            }
    for (size_t b = 0; b < c->bins; b++)
        out[b] /= (double)n;
}

/* Convolve a and b, dropping values beyond the last step. */
static void fold(const chances *c, const double *a, const double *b, double *out) {
    memset(out, 0, c->bins * sizeof *out);
    for (size_t i = 0; i < c->bins; i++) {
        double share = a[i];
        for (size_t k = 0; share > 0 && k < c->bins - i; k++)
            out[i + k] += share * b[k];
    }
}

static int chances_new(chances *c, const sis_motifs *set) {
    size_t n = c->matrix->length, bins = c->bins;
    c->columns = (double *)sis__alloc(n + 1, bins * sizeof *c->columns);
    c->beyond = (double *)sis__alloc(c->longest + 1, bins * sizeof *c->beyond);
    c->run = SIS_NEW(double, bins);
    c->folded = SIS_NEW(double, bins);
    c->outside = SIS_NEW(double, n + 1);
    if (!c->columns || !c->beyond || !c->run || !c->folded || !c->outside)
        return SIS_E_NOMEM;
    for (size_t k = 0; k <= n; k++)
        spread(c, set, k < n ? c->matrix->probabilities + 4 * k : sis__uniform_column,
               c->columns + k * bins);
    for (size_t k = 0; k < n; k++)
        c->outside[k + 1] = c->outside[k] + sis__column_divergence(c->matrix->probabilities + 4 * k,
                                                                   sis__uniform_column);
    c->beyond[0] = 1;
    for (size_t k = 1; k <= c->longest; k++)
        fold(c, c->beyond + (k - 1) * bins, c->columns + n * bins, c->beyond + k * bins);
    for (size_t k = 0; k <= c->longest; k++)
        for (size_t b = 1; b < bins; b++)
            c->beyond[k * bins + b] += c->beyond[k * bins + b - 1];
    return SIS_OK;
}

/* The probability that the sum of the run and of `beyond` columns is at most d nats. */
static double at_most(const chances *c, size_t beyond, double d) {
    double sum = 0, steps = floor(d * STEPS + 0.5);
    const double *rest = c->beyond + beyond * c->bins;
    if (steps < 0)
        return 0;
    size_t max = steps < (double)c->bins ? (size_t)steps : c->bins - 1;
    for (size_t b = 0; b <= max; b++)
        sum += c->run[b] * rest[max - b];
    return sum < 1 ? sum : 1;
}

/* For every motif that can cover columns first to end of the matrix: the log probability that it is
 * not as near there. */
static void add_run(chances *c, const sis_motifs *set, const sis_motif_match *all, size_t first,
                    size_t end, double *log_not) {
    size_t n = c->matrix->length, over = end - first;
    double outside = c->outside[first] + c->outside[n] - c->outside[end];
    for (size_t k = 0; k < set->n; k++) {
        size_t w = set->items[all[k].motif].length;
        /* Number of placements with this run: inside the matrix the whole motif, at an end a part
         * of it, over the whole matrix several. */
        size_t ways = w < over                 ? 0
                      : over == n              ? w - n + 1
                      : w == over              ? 1
                      : first == 0 || end == n ? 1
                                               : 0;
        if (ways == 0)
            continue;
        double p = at_most(c, w - over, all[k].divergence - outside);
        log_not[k] += 2 * (double)ways * log1p(p < 1 ? -p : -1 + 1e-16); /* both strands */
    }
}

/* Runs that begin at `first`, of increasing length. */
static void add_runs(chances *c, const sis_motifs *set, const sis_motif_match *all, size_t first,
                     double *log_not) {
    memset(c->run, 0, c->bins * sizeof *c->run);
    c->run[0] = 1;
    for (size_t end = first + 1; end <= c->matrix->length; end++) {
        fold(c, c->run, c->columns + (end - 1) * c->bins, c->folded);
        double *run = c->run;
        c->run = c->folded;
        c->folded = run;
        add_run(c, set, all, first, end, log_not);
    }
}

static int by_p(const void *a, const void *b) {
    const sis_motif_match *x = (const sis_motif_match *)a, *y = (const sis_motif_match *)b;
    if (x->p != y->p)
        return x->p < y->p ? -1 : 1;
    if (x->divergence != y->divergence)
        return x->divergence < y->divergence ? -1 : 1;
    return (x->motif > y->motif) - (x->motif < y->motif);
}

/* Benjamini and Hochberg, from the largest p down; the matches are sorted by p. */
static void find_q(sis_motif_match *all, size_t n) {
    double min = 1;
    for (size_t k = n; k-- > 0;) {
        double q = all[k].p * (double)n / (double)(k + 1);
        min = q < min ? q : min;
        all[k].q = min;
    }
}

static int find_p(const sis_motif *matrix, const sis_motifs *set, sis_motif_match *all) {
    chances c = {.matrix = matrix};
    double *log_not = SIS_NEW(double, set->n), max = 0;
    for (size_t k = 0; k < set->n; k++) {
        max = all[k].divergence > max ? all[k].divergence : max;
        c.longest = set->items[k].length > c.longest ? set->items[k].length : c.longest;
    }
    c.bins = (size_t)(fmin(max, 200) * STEPS) + 2;
    int code = log_not ? chances_new(&c, set) : SIS_E_NOMEM;
    for (size_t first = 0; code == SIS_OK && first < matrix->length; first++)
        add_runs(&c, set, all, first, log_not);
    for (size_t k = 0; code == SIS_OK && k < set->n; k++)
        all[k].p = -expm1(log_not[k]);
    free(log_not);
    chances_release(&c);
    return code;
}

long sis_motif_test(const sis_motif *matrix, const sis_motifs *motifs, size_t max,
                    sis_motif_match **matches) {
    long n = sis_motif_search(matrix, motifs, motifs->n, matches);
    if (n <= 0)
        return n;
    int code = find_p(matrix, motifs, *matches);
    if (code != SIS_OK) {
        free(*matches);
        *matches = NULL;
        return code;
    }
    qsort(*matches, motifs->n, sizeof **matches, by_p);
    find_q(*matches, motifs->n);
    return (long)(max < motifs->n ? max : motifs->n);
}
