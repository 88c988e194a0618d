/* SPDX-License-Identifier: MIT
 *
 * Samples of an evaluation and the tests between them: any number of rationales as a list, as one
 * number an example, importance inside and outside, and what they say of a method against the
 * first.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

/* ---- Samples --------------------------------------------------------------------------------- */

double eval_median(const double *x, size_t n) {
    double median = NAN;
    return sis_sample_percentile(x, n, 50, &median) == SIS_OK ? median : NAN;
}

static double number_at(const eval_rationale *x, size_t offset) {
    double v;
    memcpy(&v, (const char *)x + offset, sizeof v);
    return v;
}

double *eval_column(const eval_method *m, size_t offset, size_t *n) {
    double *out = cli_grab(m->n_items, sizeof *out);
    *n = 0;
    for (size_t i = 0; out && i < m->n_items; i++) {
        double v = number_at(&m->items[i], offset);
        if (!isnan(v))
            out[(*n)++] = v;
    }
    return out;
}

/* The same with one number an example: the median over those of its rationales that have one, NaN
 * if none has. */
static double *by_example(const evaluation *ev, const eval_method *m, size_t offset) {
    double *out = cli_grab(ev->n_examples, sizeof *out);
    double *some = cli_grab(m->n_items, sizeof *some);
    for (size_t e = 0; out && some && e < ev->n_examples; e++) {
        size_t n = 0;
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++) {
            double v = number_at(&m->items[i], offset);
            if (!isnan(v))
                some[n++] = v;
        }
        out[e] = eval_median(some, n);
    }
    if (!some) {
        free(out);
        out = NULL;
    }
    free(some);
    return out;
}

double *eval_importance(const evaluation *ev, const eval_method *m, int inside, size_t *n,
                        double *medians) {
    size_t all = 0, most = 0;
    for (size_t e = 0; e < ev->n_examples; e++) {
        size_t features = ev->examples[e].record->collection.n_features;
        all += features;
        most = features > most ? features : most;
    }
    double *out = cli_grab(all, sizeof *out);
    unsigned char *is_inside = cli_grab(most, 1);
    *n = 0;
    for (size_t e = 0; out && is_inside && e < ev->n_examples; e++) {
        size_t features = ev->examples[e].record->collection.n_features, from = *n;
        memset(is_inside, 0, features);
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++)
            for (size_t k = 0; k < (size_t)m->items[i].length; k++)
                is_inside[m->items[i].features[k]] = 1;
        for (size_t f = 0; f < features; f++)
            if (is_inside[f] == inside)
                out[(*n)++] = ev->examples[e].importance[f];
        if (medians)
            medians[e] = eval_median(out + from, *n - from);
    }
    if (!is_inside) {
        free(out);
        out = NULL;
    }
    free(is_inside);
    return out;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* Pairs with a number on both sides. */
static int test_pairs(const double *x, const double *y, size_t n, sis_test *out) {
    double *a = cli_grab(n, sizeof *a), *b = cli_grab(n, sizeof *b);
    size_t kept = 0;
    for (size_t i = 0; a && b && i < n; i++)
        if (!isnan(x[i]) && !isnan(y[i])) {
            a[kept] = x[i];
            b[kept++] = y[i];
        }
    int status = a && b ? cli_fail(sis_test_signed_rank(a, b, kept, out)) : CLI_FAILED;
    free(a);
    free(b);
    return status;
}

/* Both tests, of n and n_first numbers and of one for each example; frees all four lists. */
static int test_both(const evaluation *ev, double *lists[4], size_t n, size_t n_first,
                     eval_against *out) {
    int status = lists[0] && lists[1] && lists[2] && lists[3]
                     ? cli_fail(sis_test_rank_sum(lists[0], n, lists[1], n_first, &out->sum))
                     : CLI_FAILED;
    if (status == CLI_DONE)
        status = test_pairs(lists[2], lists[3], ev->n_examples, &out->pairs);
    for (size_t k = 0; k < 4; k++)
        free(lists[k]);
    return status;
}

int eval_compare(const evaluation *ev, const eval_method *m, size_t offset, eval_against *out) {
    const eval_method *first = &ev->methods[0];
    size_t n = 0, n_first = 0;
    double *lists[] = {eval_column(m, offset, &n), eval_column(first, offset, &n_first),
                       by_example(ev, m, offset), by_example(ev, first, offset)};
    return test_both(ev, lists, n, n_first, out);
}

int eval_compare_importance(const evaluation *ev, const eval_method *m, eval_against *out) {
    size_t n = 0, n_first = 0;
    double *by_m = cli_grab(ev->n_examples, sizeof *by_m);
    double *by_first = cli_grab(ev->n_examples, sizeof *by_first);
    double *lists[] = {by_m ? eval_importance(ev, m, 1, &n, by_m) : NULL,
                       by_first ? eval_importance(ev, &ev->methods[0], 1, &n_first, by_first)
                                : NULL,
                       by_m, by_first};
    return test_both(ev, lists, n, n_first, out);
}

/* QHS and the share marked of every rationale that has both: *n pairs. */
static void pair_up(const evaluation *ev, const eval_method *m, double *qhs, double *marked,
                    size_t *n) {
    *n = 0;
    for (size_t i = 0; i < m->n_items; i++) {
        const eval_rationale *x = &m->items[i];
        if (isnan(x->marked) || isnan(ev->examples[x->example].qhs))
            continue;
        qhs[*n] = ev->examples[x->example].qhs;
        marked[(*n)++] = x->marked;
    }
}

int eval_correlate(const evaluation *ev, const eval_method *m, sis_test *out) {
    double *qhs = cli_grab(m->n_items, sizeof *qhs);
    double *marked = cli_grab(m->n_items, sizeof *marked);
    size_t n;
    int status = qhs && marked ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE) {
        pair_up(ev, m, qhs, marked, &n);
        status = cli_fail(sis_test_pearson(qhs, marked, n, out));
    }
    free(qhs);
    free(marked);
    return status;
}

double eval_sufficient(const evaluation *ev, const eval_method *m) {
    size_t all = 0;
    for (size_t e = 0; e < ev->n_examples; e++) {
        size_t enough = 0;
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++)
            enough += m->items[i].sufficient > 0;
        all += enough == m->first[e + 1] - m->first[e];
    }
    return (double)all / (double)ev->n_examples;
}

void eval_count(const evaluation *ev, const eval_method *m, size_t *all, size_t *most) {
    *all = *most = 0;
    for (size_t e = 0; e < ev->n_examples; e++) {
        size_t n = m->of[e]->collection.n_subsets;
        *all += n;
        *most = n > *most ? n : *most;
    }
}
