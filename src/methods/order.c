/* SPDX-License-Identifier: MIT
 *
 * From importances to an order, and from an order to a rationale, which is a prefix of it. FindSIS
 * adds features in order until the threshold is reached; the scores of the next BLOCK prefixes are
 * evaluated together, because a model scores many rows faster than one at a time.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/platform.h"
#include "methods/methods.h"

enum { BLOCK = 32 };

/* The largest first; among equals, the higher feature first. */
static int by_importance(const void *a, const void *b, void *importance) {
    const double *of = (const double *)importance;
    int x = *(const int *)a, y = *(const int *)b;
    if (of[x] != of[y])
        return of[x] > of[y] ? -1 : 1;
    return (x < y) - (x > y);
}

void sis__order_sort(int *features, size_t n, const double *importance) {
    sis__sort(features, n, sizeof *features, by_importance, (void *)(uintptr_t)importance);
}

void sis__order(const sis__masked_scorer *v, const double *importance, int *order, size_t *n) {
    *n = 0;
    for (size_t f = 0; f < v->features.n; f++)
        if (!v->features.absent[f])
            order[(*n)++] = (int)f;
    sis__order_sort(order, *n, importance);
}

/* Copies with the first `from`, `from` + `by`, ... features of an order. */
typedef struct {
    const int *order;
    size_t n;
    long from, by;
} prefixes;

static void choose_prefix(void *ctx, size_t i, unsigned char *present) {
    const prefixes *p = (const prefixes *)ctx;
    long size = p->from + p->by * (long)i;
    memset(present, 0, p->n);
    for (long k = 0; k < size; k++)
        present[p->order[k]] = 1;
}

int sis__order_find(sis__masked_scorer *v, const int *order, size_t n, size_t *size) {
    double margins[BLOCK];
    for (size_t done = 0; done < n; done += BLOCK) {
        size_t count = n - done < BLOCK ? n - done : BLOCK;
        prefixes p = {order, v->features.n, (long)done + 1, 1};
        v->fraction = (double)done / (double)n;
        int error = sis__scorer_margins(
            v, &(sis__copies){.n = count, .choose = choose_prefix, .ctx = &p}, margins);
        for (size_t k = 0; error == SIS_OK && k < count; k++)
            if (sis__scorer_decided(v, margins[k])) {
                *size = done + k + 1;
                return SIS_OK;
            }
        if (error != SIS_OK)
            return error;
    }
    return sis__fail_unstable(NAN, NAN);
}

int sis__order_trace(sis__masked_scorer *v, const int *order, size_t n, sis_trace *out) {
    *out = (sis_trace){.n = n, .start = NAN};
    out->order = SIS_NEW_RAW(int, n);
    out->scores = SIS_NEW_RAW(double, n + 1);
    prefixes p = {order, v->features.n, (long)n, -1};
    int error = out->order && out->scores ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis__scorer_margins(
            v, &(sis__copies){.n = n + 1, .choose = choose_prefix, .ctx = &p}, out->scores);
    if (error != SIS_OK) {
        sis_trace_release(out);
        return error;
    }
    out->start = sis__scorer_score(v, out->scores[0]);
    for (size_t k = 0; k < n; k++) {
        out->order[k] = order[n - 1 - k];
        out->scores[k] = sis__scorer_score(v, out->scores[k + 1]);
    }
    return SIS_OK;
}

int sis__order_trace_first(sis__masked_scorer *v, const int *order, size_t n, sis_subset *s) {
    size_t all = v->features.n, m = 0;
    int *whole = SIS_NEW_RAW(int, all);
    unsigned char *taken = (unsigned char *)sis__copy(v->features.absent, all, 1);
    int error = whole && taken ? SIS_OK : SIS_E_NOMEM;
    for (size_t pass = 0; error == SIS_OK && pass < 3; pass++) {
        size_t count = pass == 0 ? s->n : pass == 1 ? n : all;
        for (size_t k = 0; k < count; k++) {
            int f = pass == 0 ? s->features[k] : pass == 1 ? order[k] : (int)k;
            if (!taken[f])
                whole[m++] = f;
            taken[f] = 1;
        }
    }
    if (error == SIS_OK)
        error = sis__order_trace(v, whole, m, &s->trace);
    free(whole);
    free(taken);
    return error;
}

int sis__order_subset(sis__masked_scorer *v, const int *order, size_t size, sis_collection *out) {
    unsigned char *present = SIS_NEW(unsigned char, v->features.n);
    double alone, rest;
    sis_subset *s = out->subsets = SIS_NEW(sis_subset, 1);
    if (s) {
        out->n_subsets = 1;
        s->features = (int *)sis__copy(order, size, sizeof *order);
    }
    int error = present && s && s->features ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; error == SIS_OK && k < size; k++)
        present[order[k]] = 1;
    if (error == SIS_OK)
        error = sis__scorer_margin(v, present, &alone);
    for (size_t f = 0; error == SIS_OK && f < v->features.n; f++)
        present[f] = !present[f];
    if (error == SIS_OK)
        error = sis__scorer_margin(v, present, &rest);
    if (error == SIS_OK) {
        s->n = size;
        s->score = sis__scorer_score(v, alone);
        out->rest_score = sis__scorer_score(v, rest);
        out->complete = !sis__scorer_decided(v, rest);
    }
    free(present);
    return error;
}

/* seen (v->features.n) is zeroed. */
static int take_order(const sis__masked_scorer *v, const sis_method_opt *how, unsigned char *seen,
                      int *order) {
    size_t present = 0;
    for (size_t f = 0; f < v->features.n; f++)
        present += !v->features.absent[f];
    if (how->n_order != present)
        return sis__fail(SIS_E_ARGUMENT, "the order has %zu features, but the input has %zu",
                         how->n_order, present);
    for (size_t k = 0; k < present; k++) {
        int f = how->order[k];
        int there = f >= 0 && (size_t)f < v->features.n && !v->features.absent[f];
        if (!there || seen[f])
            return sis__fail(SIS_E_ARGUMENT, "feature %d of the order is %s", f,
                             there ? "in the order twice" : "not in the input");
        seen[f] = 1;
        order[k] = f;
    }
    return SIS_OK;
}

int sis__order_given(const sis__masked_scorer *v, const sis_method_opt *how, int *order,
                     size_t *n) {
    unsigned char *seen = SIS_NEW(unsigned char, v->features.n);
    int error = seen ? take_order(v, how, seen, order) : SIS_E_NOMEM;
    *n = error ? 0 : how->n_order;
    free(seen);
    return error;
}
