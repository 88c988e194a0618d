/* SPDX-License-Identifier: MIT
 *
 * Metrics from the literature: how faithful a ranking of features is to the model (sufficiency,
 * comprehensiveness, PGI and PGU, at five cuts), and how well two sets of features agree
 * (precision, recall, F1, IOU F1, Jaccard). All masked copies for one ranking are scored in one
 * call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"

/* Cuts of a ranking: shares of all features, or with by_count, numbers of features. */
static const double PERCENT[SIS_N_CUTS] = {1, 5, 10, 20, 50};
static const size_t COUNT[SIS_N_CUTS] = {1, 2, 3, 5, 10};

double sis_cut_percent(size_t cut) {
    return cut < SIS_N_CUTS ? PERCENT[cut] : NAN;
}

size_t sis_cut_features(size_t cut, size_t all) {
    size_t percent = cut < SIS_N_CUTS ? (size_t)PERCENT[cut] : 100;
    return all / 100 * percent + (all % 100 * percent + 99) / 100;
}

size_t sis_cut_count(size_t cut) {
    return cut < SIS_N_CUTS ? COUNT[cut] : 0;
}

/* ---- Rankings ------------------------------------------------------------------------------ */

/* The masked copies for a ranking. At each cut: the features before the cut kept and the others
 * replaced, first by the mask, then by each hot-deck draw; then the same with the features before
 * the cut replaced. The last part is the whole input. */
static size_t list_parts(const sis_ranking *r, size_t n_features, const sis_input *drawn,
                         size_t draws, sis_part *parts) {
    size_t n = 0;
    for (size_t k = 0; k < SIS_N_CUTS; k++) {
        size_t cut = r->by_count ? sis_cut_count(k) : sis_cut_features(k, n_features);
        for (int without = 0; without < 2; without++)
            for (size_t s = 0; s <= draws; s++)
                parts[n++] = (sis_part){.input = s ? &drawn[s - 1] : r->input,
                                        .features = r->order,
                                        .n = cut < r->n ? cut : r->n,
                                        .without = without};
    }
    parts[n++] = (sis_part){.input = r->input, .without = 1};
    return n;
}

/* The mean absolute change from `whole`. */
static double mean_gap(const double *scores, size_t n, double whole) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(whole - scores[i]);
    return n ? sum / (double)n : NAN;
}

static void score_cuts(const double *scores, size_t n, size_t draws, int below,
                       sis_faithfulness *out) {
    double whole = scores[n - 1], sign = below ? -1 : 1;
    for (size_t k = 0; k < SIS_N_CUTS; k++, scores += 2 * (draws + 1)) {
        const double *masked = scores + draws + 1;
        out->sufficiency[k] = sign * (whole - scores[0]);
        out->comprehensiveness[k] = sign * (whole - masked[0]);
        out->pgu[k] = mean_gap(scores + 1, draws, whole);
        out->pgi[k] = mean_gap(masked + 1, draws, whole);
    }
}

int sis_faithfulness_measure(const sis_model *model, const sis_ranking *ranking, const sis_opt *opt,
                             sis_faithfulness *out) {
    long n_features = sis_input_features(ranking->input);
    if (n_features < 0)
        return (int)n_features;
    size_t draws = ranking->deck ? ranking->samples : 0, n = 2 * SIS_N_CUTS * (draws + 1) + 1;
    sis_input *drawn = NULL;
    sis_part *parts = SIS_NEW(sis_part, n);
    double *scores = SIS_NEW(double, n);
    int code = parts && scores ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK && draws > 0)
        code = sis_deck_copies(ranking->deck, ranking->input, draws, ranking->seed, &drawn);
    if (code == SIS_OK) {
        n = list_parts(ranking, (size_t)n_features, drawn, draws, parts);
        code = sis_part_scores(model, parts, n, opt, scores);
    }
    if (code == SIS_OK)
        score_cuts(scores, n, draws, opt->below, out);
    free(parts);
    free(scores);
    sis_deck_copies_free(drawn);
    return code;
}

/* ---- Agreement ----------------------------------------------------------------------------- */

/* Sort and remove duplicates; returns the number left. */
static size_t sort_unique(int *x, size_t n) {
    size_t kept = 0;
    qsort(x, n, sizeof *x, sis__by_int);
    for (size_t i = 0; i < n; i++)
        if (kept == 0 || x[kept - 1] != x[i])
            x[kept++] = x[i];
    return kept;
}

static size_t count_both(const int *a, size_t na, const int *b, size_t nb) {
    size_t both = 0;
    for (size_t i = 0, k = 0; i < na && k < nb;) {
        both += a[i] == b[k];
        int low = a[i] < b[k] ? a[i] : b[k];
        i += a[i] == low;
        k += b[k] == low;
    }
    return both;
}

/* The end of the run of consecutive numbers that begins at x[from]. */
static size_t run_end(const int *x, size_t n, size_t from) {
    size_t to = from + 1;
    while (to < n && x[to] == x[to - 1] + 1)
        to++;
    return to;
}

static size_t count_runs(const int *x, size_t n) {
    size_t runs = 0;
    for (size_t i = 0; i < n; i = run_end(x, n, i))
        runs++;
    return runs;
}

/* 1 if the intersection over union (IOU) of the runs from..to and other..end is at least 0.5. */
static int is_match(int from, int to, int other, int end) {
    int first = from > other ? from : other, last = to < end ? to : end;
    int low = from < other ? from : other, high = to > end ? to : end;
    return last >= first && 2 * (last - first + 1) >= high - low + 1;
}

/* The number of runs of a that match a run of b. */
static size_t count_matches(const int *a, size_t na, const int *b, size_t nb) {
    size_t matches = 0;
    for (size_t i = 0, end; i < na; i = end) {
        int found = 0;
        end = run_end(a, na, i);
        for (size_t k = 0, last; k < nb && !found; k = last) {
            last = run_end(b, nb, k);
            found = is_match(a[i], a[end - 1], b[k], b[last - 1]);
        }
        matches += (size_t)found;
    }
    return matches;
}

/* F1: the harmonic mean of the precision, correct / found, and the recall, correct / expected. */
static double f1_of(size_t correct, size_t found, size_t expected) {
    return 2.0 * (double)correct / (double)(found + expected);
}

int sis_overlap_measure(const int *a, size_t na, const int *b, size_t nb, sis_overlap *out) {
    *out = (sis_overlap){0};
    if (na == 0 || nb == 0)
        return SIS_OK;
    int *x = SIS_NEW_RAW(int, na), *y = SIS_NEW_RAW(int, nb);
    if (x && y) {
        memcpy(x, a, na * sizeof *x);
        memcpy(y, b, nb * sizeof *y);
        na = sort_unique(x, na);
        nb = sort_unique(y, nb);
        size_t both = count_both(x, na, y, nb);
        out->precision = (double)both / (double)na;
        out->recall = (double)both / (double)nb;
        out->f1 = f1_of(both, na, nb);
        out->iou_f1 = f1_of(count_matches(x, na, y, nb), count_runs(x, na), count_runs(y, nb));
        out->jaccard = (double)both / (double)(na + nb - both);
    }
    int code = x && y ? SIS_OK : SIS_E_NOMEM;
    free(x);
    free(y);
    return code;
}
