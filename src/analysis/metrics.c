/* SPDX-License-Identifier: MIT
 *
 * Metrics from the literature: faithfulness of a ranking at cuts, stability of a subset when other
 * features are put back, and agreement of two sets of features.
 *
 * All evaluations for one ranking or subset are made in one call.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"
#include "base/rng.h"

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

/* The parts of a ranking: at each cut those kept and masked; then for each draw the same with
 * values of the deck instead of the mask; the whole input last. */
typedef struct {
    sis_part *parts;
    double *scores, *masks; /* masks (samples, n_values) */
    sis_input *drawn;       /* (samples) */
    size_t n;
} questions;

static void release(questions *q) {
    free(q->parts);
    free(q->scores);
    free(q->masks);
    free(q->drawn);
}

static size_t draws_of(const sis_ranking *r) {
    return r->deck ? r->samples : 0;
}

static int draw(questions *q, const sis_ranking *r) {
    const sis_input *in = r->input;
    if (draws_of(r) == 0)
        return SIS_OK;
    q->drawn = SIS_NEW(sis_input, r->samples);
    q->masks = (double *)sis__alloc_raw(r->samples, in->n_values * sizeof *q->masks);
    if (!q->drawn || !q->masks)
        return SIS_E_NOMEM;
    for (size_t s = 0; s < r->samples; s++) {
        q->drawn[s] = *in;
        q->drawn[s].mask = q->masks + s * in->n_values;
        q->drawn[s].n_samples = 1;
    }
    return sis_deck_draw(r->deck, in, r->samples, r->seed, q->masks);
}

static void ask(questions *q, const sis_ranking *r, size_t n_features) {
    for (size_t k = 0; k < SIS_N_CUTS; k++) {
        size_t cut = r->by_count ? sis_cut_count(k) : sis_cut_features(k, n_features);
        sis_part part = {.input = r->input, .features = r->order, .n = cut < r->n ? cut : r->n};
        for (int without = 0; without < 2; without++) {
            part.input = r->input;
            part.without = without;
            q->parts[q->n++] = part;
            for (size_t s = 0; s < draws_of(r); s++) {
                part.input = &q->drawn[s];
                q->parts[q->n++] = part;
            }
        }
    }
    q->parts[q->n++] = (sis_part){.input = r->input, .without = 1};
}

/* The mean absolute change from `whole`. */
static double mean_gap(const double *scores, size_t n, double whole) {
    double sum = 0;
    for (size_t i = 0; i < n; i++)
        sum += fabs(whole - scores[i]);
    return n ? sum / (double)n : NAN;
}

static void conclude(const questions *q, size_t draws, int below, sis_faithfulness *out) {
    double whole = q->scores[q->n - 1], sign = below ? -1 : 1;
    const double *left = q->scores;
    for (size_t k = 0; k < SIS_N_CUTS; k++, left += 2 * (draws + 1)) {
        const double *masked = left + draws + 1;
        out->sufficiency[k] = sign * (whole - left[0]);
        out->comprehensiveness[k] = sign * (whole - masked[0]);
        out->pgu[k] = mean_gap(left + 1, draws, whole);
        out->pgi[k] = mean_gap(masked + 1, draws, whole);
    }
}

int sis_faithfulness_measure(const sis_model *model, const sis_ranking *ranking, const sis_opt *opt,
                             sis_faithfulness *out) {
    long n_features = sis_input_features(ranking->input);
    if (n_features < 0)
        return (int)n_features;
    size_t draws = draws_of(ranking);
    questions q = {0};
    size_t max = 2 * SIS_N_CUTS * (draws + 1) + 1;
    q.parts = SIS_NEW(sis_part, max);
    q.scores = SIS_NEW(double, max);
    int code = q.parts && q.scores ? draw(&q, ranking) : SIS_E_NOMEM;
    if (code == SIS_OK) {
        ask(&q, ranking, (size_t)n_features);
        code = sis_part_scores(model, q.parts, q.n, opt, q.scores);
    }
    if (code == SIS_OK)
        conclude(&q, draws, opt->below, out);
    release(&q);
    return code;
}

/* ---- Stability ----------------------------------------------------------------------------- */

/* The rationale first, then all others: all (n_features); returns the size of the rationale. */
static int others_last(const sis_part *part, size_t n_features, int *all, size_t *own) {
    unsigned char *inside = SIS_NEW(unsigned char, n_features);
    size_t n = 0;
    if (!inside)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < part->n; i++) {
        int f = part->features[i];
        if (f < 0 || (size_t)f >= n_features) {
            free(inside);
            return sis__fail(SIS_E_ARGUMENT, "feature %d is not one of the %zu of the input", f,
                             n_features);
        }
        inside[f] = 1;
    }
    for (size_t f = 0; f < n_features; f++)
        if (inside[f])
            all[n++] = (int)f;
    *own = n;
    for (size_t f = 0; f < n_features; f++)
        if (!inside[f])
            all[n++] = (int)f;
    free(inside);
    return SIS_OK;
}

/* Draw r of the others without replacement and move them to the front of the list. */
static void shuffle_front(int *others, size_t n, size_t r, sis__rng *rng) {
    for (size_t i = 0; i < r; i++) {
        size_t k = i + sis__rng_below(rng, n - i);
        int f = others[i];
        others[i] = others[k];
        others[k] = f;
    }
}

/* Parts (SIS_N_CUTS * samples), each with a list of its own in `lists`. */
static void put_back(const sis_part *part, size_t own, size_t samples, uint64_t seed, int *lists,
                     size_t n_features, sis_part *parts) {
    sis__rng rng;
    sis__rng_init(&rng, seed);
    for (size_t i = 0; i < SIS_N_CUTS * samples; i++) {
        int *list = lists + i * n_features;
        size_t back = sis_cut_features(i / samples, n_features - own);
        if (i > 0)
            memcpy(list, lists, n_features * sizeof *list);
        shuffle_front(list + own, n_features - own, back, &rng);
        parts[i] = (sis_part){.input = part->input, .features = list, .n = own + back};
    }
}

int sis_stability_measure(const sis_model *model, const sis_part *part, const sis_opt *opt,
                          size_t samples, uint64_t seed, size_t held[SIS_N_CUTS]) {
    long n_features = sis_input_features(part->input);
    size_t n = SIS_N_CUTS * samples, own = 0;
    if (n_features < 0)
        return (int)n_features;
    if (part->without)
        return sis__fail(SIS_E_ARGUMENT, "a rationale must not contain masked features");
    memset(held, 0, SIS_N_CUTS * sizeof *held);
    int *lists = (int *)sis__alloc_raw(n + 1, (size_t)n_features * sizeof *lists);
    sis_part *parts = SIS_NEW(sis_part, n);
    double *scores = SIS_NEW(double, n);
    int code =
        lists && parts && scores ? others_last(part, (size_t)n_features, lists, &own) : SIS_E_NOMEM;
    if (code == SIS_OK) {
        put_back(part, own, samples, seed, lists, (size_t)n_features, parts);
        code = sis_part_scores(model, parts, n, opt, scores);
    }
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        held[i / samples] += (size_t)sis_decided(scores[i], opt->threshold, opt->below);
    free(lists);
    free(parts);
    free(scores);
    return code;
}

/* ---- Agreement ----------------------------------------------------------------------------- */

/* Sort and remove duplicates; returns the number left. */
static size_t tidy(int *x, size_t n) {
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

/* The end of the run of neighbours that begins at x[from]. */
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

/* 1 if the intersection over union of runs from..to and other..end is at least half. */
static int share_half(int from, int to, int other, int end) {
    int first = from > other ? from : other, last = to < end ? to : end;
    int low = from < other ? from : other, high = to > end ? to : end;
    return last >= first && 2 * (last - first + 1) >= high - low + 1;
}

/* The number of runs of a with such an overlap with a run of b. */
static size_t count_right(const int *a, size_t na, const int *b, size_t nb) {
    size_t right = 0;
    for (size_t i = 0, end; i < na; i = end) {
        int found = 0;
        end = run_end(a, na, i);
        for (size_t k = 0, last; k < nb && !found; k = last) {
            last = run_end(b, nb, k);
            found = share_half(a[i], a[end - 1], b[k], b[last - 1]);
        }
        right += (size_t)found;
    }
    return right;
}

/* The harmonic mean of right / judged and right / there. */
static double f1_of(size_t right, size_t judged, size_t there) {
    return 2.0 * (double)right / (double)(judged + there);
}

int sis_overlap_measure(const int *a, size_t na, const int *b, size_t nb, sis_overlap *out) {
    *out = (sis_overlap){0};
    if (na == 0 || nb == 0)
        return SIS_OK;
    int *x = SIS_NEW_RAW(int, na), *y = SIS_NEW_RAW(int, nb);
    if (x && y) {
        memcpy(x, a, na * sizeof *x);
        memcpy(y, b, nb * sizeof *y);
        na = tidy(x, na);
        nb = tidy(y, nb);
        size_t both = count_both(x, na, y, nb);
        out->precision = (double)both / (double)na;
        out->recall = (double)both / (double)nb;
        out->f1 = f1_of(both, na, nb);
        out->iou_f1 = f1_of(count_right(x, na, y, nb), count_runs(x, na), count_runs(y, nb));
        out->jaccard = (double)both / (double)(na + nb - both);
    }
    int code = x && y ? SIS_OK : SIS_E_NOMEM;
    free(x);
    free(y);
    return code;
}
