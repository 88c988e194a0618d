/* SPDX-License-Identifier: MIT
 *
 * How well scores fit targets: loss, accuracy, area under the ROC curve, mean squared error,
 * correlation.
 */
#include <math.h>
#include <stdlib.h>

#include "base/mem.h"
#include "train/train.h"

static double accuracy(const sis__judged *j) {
    const sis_examples *e = j->examples;
    size_t right = 0, k = j->outputs;
    for (size_t i = 0; i < e->n; i++) {
        const double *s = j->scores + i * k;
        size_t best = 0;
        for (size_t c = 1; c < k; c++)
            best = s[c] > s[best] ? c : best;
        if (j->loss == SIS_LOSS_CROSS_ENTROPY)
            right += best == (size_t)e->targets[i];
        else
            right += (s[0] >= 0.5) == (e->targets[i] >= 0.5f);
    }
    return (double)right / (double)e->n;
}

typedef struct {
    double score;
    int positive;
} ranked;

static int by_score(const void *a, const void *b) {
    double x = ((const ranked *)a)->score, y = ((const ranked *)b)->score;
    return (x > y) - (x < y);
}

/* Share of (positive, negative) pairs in the right order; ties count half. */
static int area(const sis__judged *j, double *auc) {
    size_t n = j->examples->n;
    ranked *r = SIS_NEW(ranked, n);
    if (!r)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        r[i] = (ranked){j->scores[i], j->examples->targets[i] >= 0.5f};
    qsort(r, n, sizeof *r, by_score);
    double pairs = 0, below = 0, positives = 0;
    for (size_t i = 0, end; i < n; i = end) {
        double up = 0, down = 0;
        for (end = i; end < n && r[end].score == r[i].score; end++) {
            up += r[end].positive;
            down += !r[end].positive;
        }
        pairs += up * (below + down / 2);
        below += down;
        positives += up;
    }
    *auc = positives > 0 && below > 0 ? pairs / positives / below : NAN;
    free(r);
    return SIS_OK;
}

static double mean_square(const sis__judged *j) {
    double sum = 0;
    size_t n = j->examples->n * j->outputs;
    for (size_t i = 0; i < n; i++) {
        double off = j->scores[i] - j->examples->targets[i];
        sum += off * off;
    }
    return sum / (double)n;
}

static double correlation(const sis__judged *j) {
    size_t n = j->examples->n;
    double ms = 0, mt = 0, ss = 0, tt = 0, st = 0;
    for (size_t i = 0; i < n; i++) {
        ms += j->scores[i] / (double)n;
        mt += j->examples->targets[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        double s = j->scores[i] - ms, t = j->examples->targets[i] - mt;
        ss += s * s;
        tt += t * t;
        st += s * t;
    }
    return ss > 0 && tt > 0 ? st / sqrt(ss * tt) : NAN;
}

int sis__fit_measure(const sis__judged *j, sis_fit *fit) {
    int classes = j->loss == SIS_LOSS_CROSS_ENTROPY, one = j->outputs == 1 && !classes;
    *fit = (sis_fit){.n = j->examples->n,
                     .accuracy = NAN,
                     .auc = NAN,
                     .mse = classes ? NAN : mean_square(j),
                     .correlation = one ? correlation(j) : NAN};
    for (size_t i = 0; i < fit->n; i++)
        fit->loss += j->losses[i];
    fit->loss /= (double)fit->n;
    if (classes || one)
        fit->accuracy = accuracy(j);
    return one ? area(j, &fit->auc) : SIS_OK;
}
