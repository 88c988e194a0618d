/* SPDX-License-Identifier: MIT
 *
 * Sufficient subsets with few evaluations: QuickXplain (Junker 2004) for the property "sufficient
 * with everything else masked". For slow or remote models: about 2k(1 + log2(p/k)) copies for a
 * subset of k of p features, where backward selection needs p^2/2.
 *
 *     order      most important first: by what masking each alone does (p copies, one batch), by the
 *                gradient (one), the input's order, or the caller's
 *     shorten    find the shortest sufficient prefix, by a search that tries WAYS sizes at a time; then
 *                order these by the effect of removing each and repeat, as long as that removes a
 *                good part of them
 *     divide     keep one half of the remaining features while the other is searched; keep what that half
 *                needs, search the first half with it, and so on, recursively
 *     minimize   dividing is exact for models that never lose a decision by seeing more features. For
 *                other models the set may be insufficient (features of the order are put back) or
 *                too large (the least needed one is dropped), until full passes show that it is
 *                sufficient and that no feature can be left out
 *
 * As in SIS, the features of a subset are then masked and the next subset is searched for, until
 * the remaining features are not sufficient.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "methods/methods.h"

enum { WAYS = 8 };

typedef struct {
    sis__masked_scorer *v;
    int *order; /* (n_order) all features that may be in a subset, most important first */
    size_t n_order;
    unsigned char *gone;    /* (n) in an earlier subset */
    unsigned char *present; /* (n) */
    unsigned char *needed;  /* (n) found by divide() */
    int *left;              /* (n_left) still searched, most important first */
    size_t n_left;
    double *loss;       /* (n) effect of removing a feature, larger is worse */
    double from, share; /* of all progress: the start and share of this subset */
    size_t divided;     /* features examined by divide() */
    size_t n_found;
} search;

/* ---- Progress ------------------------------------------------------------------------------ */

/* Progress on a subset after shortening (FOUND) and dividing (DIVIDED); the rest is minimizing. */
static const double FOUND = 0.5, DIVIDED = 0.8, ORDERED = 0.3;

/* Report the progress on this subset, now and after the next copies. */
static void tell(search *c, double part, double more) {
    double now = c->from + part * c->share;
    c->v->fraction = now > c->v->fraction ? now : c->v->fraction;
    c->v->stretch = c->from + (part + more) * c->share - c->v->fraction;
    c->v->stretch = c->v->stretch > 0 ? c->v->stretch : 0;
}

/* The next subset gets half of the remaining share, or an equal share if the number of subsets is
 * limited. */
static void tell_next(search *c, size_t found, size_t max) {
    c->from = c->v->fraction;
    c->share = (1 - c->from) / (max > found ? (double)(max - found) : 2);
}

/* ---- Questions ----------------------------------------------------------------------------- */

static void show_only(search *c, const int *features, size_t n) {
    memset(c->present, 0, c->v->features.n);
    for (size_t k = 0; k < n; k++)
        c->present[features[k]] = 1;
}

/* Are the present features sufficient? */
static int ask(search *c, int *enough, double *margin) {
    int error = sis__scorer_margin(c->v, c->present, margin);
    *enough = error == SIS_OK && sis__scorer_decided(c->v, *margin);
    return error;
}

/* Copies with a prefix of the remaining features. */
typedef struct {
    const search *c;
    size_t low, high, n; /* sizes in between, evenly spaced */
} cuts;

static size_t cut_at(const cuts *t, size_t i) {
    return t->low + (t->high - t->low) * (i + 1) / (t->n + 1);
}

static void choose_cut(void *ctx, size_t i, unsigned char *present) {
    const cuts *t = (const cuts *)ctx;
    memset(present, 0, t->c->v->features.n);
    for (size_t k = 0; k < cut_at(t, i); k++)
        present[t->c->left[k]] = 1;
}

/* Find the shortest sufficient prefix of the remaining features, which are sufficient together. */
static int shorten(search *c) {
    double margins[WAYS];
    size_t low = 0, high = c->n_left; /* insufficient, sufficient */
    while (high - low > 1) {
        cuts t = {c, low, high, high - low - 1 < WAYS ? high - low - 1 : WAYS};
        int error = sis__scorer_margins(
            c->v, &(sis__copies){.n = t.n, .choose = choose_cut, .ctx = &t}, margins);
        if (error != SIS_OK)
            return error;
        size_t k = 0;
        while (k < t.n && !sis__scorer_decided(c->v, margins[k]))
            k++;
        low = k ? cut_at(&t, k - 1) : low;
        high = k < t.n ? cut_at(&t, k) : high;
    }
    c->n_left = high;
    return SIS_OK;
}

/* Copies of the remaining features, each without one. */
static void choose_without(void *ctx, size_t i, unsigned char *present) {
    const search *c = (const search *)ctx;
    memset(present, 0, c->v->features.n);
    for (size_t k = 0; k < c->n_left; k++)
        present[c->left[k]] = k != i;
}

/* Sort the remaining features by the effect of removing each; *spare: the last one can be
 * removed. */
static int rank_left(search *c, int *spare) {
    double sign = c->v->opt->below ? -1 : 1, *margins = SIS_NEW_RAW(double, c->n_left);
    int error = margins ? SIS_OK : SIS_E_NOMEM;
    *spare = 0;
    if (error == SIS_OK)
        error = sis__scorer_margins(
            c->v, &(sis__copies){.n = c->n_left, .choose = choose_without, .ctx = c}, margins);
    for (size_t k = 0; error == SIS_OK && k < c->n_left; k++) {
        c->loss[c->left[k]] = -sign * margins[k];
        *spare |= sis__scorer_decided(c->v, margins[k]);
    }
    if (error == SIS_OK)
        sis__order_sort(c->left, c->n_left, c->loss);
    free(margins);
    return error;
}

/* ---- Dividing ------------------------------------------------------------------------------ */

/* Mark the features of part[0..n) that are needed in addition to the present ones. grown: features
 * have been added since the last evaluation. */
static int divide(search *c, int grown, const int *part, size_t n) {
    int enough = 0, some = 0, error = SIS_OK;
    double margin;
    if (grown)
        error = ask(c, &enough, &margin);
    if (enough || n == 1)
        tell(c, FOUND + (DIVIDED - FOUND) * (double)(c->divided += n) / (double)c->n_left, 0);
    if (error != SIS_OK || enough)
        return error;
    if (n == 1) {
        c->needed[part[0]] = 1;
        return SIS_OK;
    }
    size_t half = n / 2;
    for (size_t k = 0; k < half; k++)
        c->present[part[k]] = 1;
    error = divide(c, 1, part + half, n - half);
    for (size_t k = 0; k < n; k++) {
        c->present[part[k]] = k >= half && c->needed[part[k]];
        some |= c->present[part[k]];
    }
    if (error == SIS_OK)
        error = divide(c, some, part, half);
    for (size_t k = half; k < n; k++)
        c->present[part[k]] = 0;
    return error;
}

/* Keep only the needed features; the others are moved behind them, for minimize(). */
static int divide_left(search *c) {
    size_t n = c->n_left, kept = 0;
    memset(c->needed, 0, c->v->features.n);
    memset(c->present, 0, c->v->features.n);
    c->divided = 0;
    int error = divide(c, 0, c->left, n), *others = SIS_NEW_RAW(int, n);
    if (error == SIS_OK && !others)
        error = SIS_E_NOMEM;
    for (size_t k = 0, out = 0; error == SIS_OK && k < n; k++) {
        if (c->needed[c->left[k]])
            c->left[kept++] = c->left[k];
        else
            others[out++] = c->left[k];
    }
    if (error == SIS_OK) {
        memcpy(c->left + kept, others, (n - kept) * sizeof *others);
        c->n_left = kept;
    }
    free(others);
    return error;
}

/* ---- Settling ------------------------------------------------------------------------------ */

/* Put features back until the set is sufficient; all `max` features are. */
static int grow(search *c, size_t max, double *margin) {
    int enough = 0, error = SIS_OK;
    while (error == SIS_OK && !enough) {
        show_only(c, c->left, c->n_left);
        error = ask(c, &enough, margin);
        if (error == SIS_OK && !enough && c->n_left++ == max)
            return sis__fail_unstable(NAN, NAN);
    }
    return error;
}

/* Drop the least needed feature as long as one is not needed. */
static int minimize(search *c, size_t max, double *margin) {
    int spare = 1, error = grow(c, max, margin);
    for (double part = DIVIDED; error == SIS_OK && spare; part += (1 - part) / 2) {
        tell(c, part, (1 - part) / 2);
        error = rank_left(c, &spare);
        if (error == SIS_OK && spare && c->n_left == 1)
            return sis__fail_unstable(NAN, NAN); /* the mask alone was not sufficient before */
        if (error == SIS_OK && spare) {
            *margin = -c->loss[c->left[--c->n_left]];
            *margin = c->v->opt->below ? -*margin : *margin;
        }
    }
    return error;
}

/* Find a minimal sufficient subset of left[0..n_left), which is sufficient. */
static int find_inside(search *c, sis_subset *out) {
    int spare = 1, error;
    size_t before;
    double margin, part = 0;
    error = shorten(c);
    do {
        before = c->n_left;
        part += (FOUND - part) / 4;
        tell(c, part, (FOUND - part) / 4);
        if (error == SIS_OK)
            error = rank_left(c, &spare);
        if (error == SIS_OK && spare)
            error = shorten(c);
    } while (error == SIS_OK && spare && c->n_left < before - before / 4);
    before = c->n_left;
    if (error == SIS_OK && spare)
        error = divide_left(c);
    if (error == SIS_OK)
        error = minimize(c, before, &margin);
    if (error != SIS_OK)
        return error;
    out->n = c->n_left;
    out->score = sis__scorer_score(c->v, margin);
    out->features = (int *)sis__copy(c->left, c->n_left, sizeof *c->left);
    return out->features ? SIS_OK : SIS_E_NOMEM;
}

/* Find a sufficient subset of the features that are not gone. */
static int find_subset(search *c, sis_subset *out) {
    c->n_left = 0;
    for (size_t k = 0; k < c->n_order; k++)
        if (!c->gone[c->order[k]])
            c->left[c->n_left++] = c->order[k];
    return find_inside(c, out);
}

/* ---- Orders -------------------------------------------------------------------------------- */

static int rank_by_gradient(sis__masked_scorer *v, double *importance) {
    sis__gradient_points at;
    double score, sign = v->opt->below ? -1 : 1;
    int error = sis__gradient_points_init(&at, v, "quick");
    if (error != SIS_OK)
        return error;
    double *d = SIS_NEW(double, at.width);
    sis_slopes slopes = {.points = at.input, .n = 1, .scores = &score, .d_points = d};
    error = d ? sis__gradient_points_slopes(v, &at, &slopes) : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < at.width; i++) {
        int f = v->features.feature_of[i / at.dim];
        if (f >= 0)
            importance[f] += sign * (at.input[i] - at.mask[i]) * d[i];
    }
    free(d);
    sis__gradient_points_release(&at);
    return error;
}

static int find_order(search *c, sis_preference prefer) {
    sis__masked_scorer *v = c->v;
    sis__ranking r = {.attributions = SIS_NEW(double, v->features.n),
                      .importance = SIS_NEW(double, v->features.n)};
    int error = r.attributions && r.importance ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK && prefer == SIS_PREFER_PERTURB)
        error = sis__perturb(v, &r);
    if (error == SIS_OK && prefer == SIS_PREFER_GRADIENT)
        error = rank_by_gradient(v, r.importance);
    for (size_t f = 0; error == SIS_OK && prefer == SIS_PREFER_NONE && f < v->features.n; f++)
        r.importance[f] = -(double)f;
    for (size_t f = 0; error == SIS_OK && f < v->features.n; f++)
        if (isnan(r.importance[f]))
            error =
                sis__fail(SIS_E_NAN, "the gradient of output %zu is not a number", v->in->output);
    if (error == SIS_OK)
        sis__order(v, r.importance, c->order, &c->n_order);
    free(r.attributions);
    free(r.importance);
    return error;
}

/* ---- Collection ---------------------------------------------------------------------------- */

static int search_init(search *c, sis__masked_scorer *v) {
    size_t n = v->features.n;
    *c = (search){.v = v};
    c->order = SIS_NEW(int, n);
    c->gone = SIS_NEW(unsigned char, n);
    c->present = SIS_NEW(unsigned char, n);
    c->needed = SIS_NEW(unsigned char, n);
    c->left = SIS_NEW(int, n);
    c->loss = SIS_NEW(double, n);
    if (!c->order || !c->gone || !c->present || !c->needed || !c->left || !c->loss)
        return SIS_E_NOMEM;
    for (size_t f = 0; f < n; f++)
        c->gone[f] = v->features.absent[f] || v->features.same[f];
    return SIS_OK;
}

static void search_release(search *c) {
    free(c->order);
    free(c->gone);
    free(c->present);
    free(c->needed);
    free(c->left);
    free(c->loss);
}

static int find_next(void *ctx, sis_subset *out) {
    search *c = (search *)ctx;
    tell_next(c, c->n_found++, c->v->opt->max_subsets);
    return find_subset(c, out);
}

int sis__quick_inside(sis__masked_scorer *v, const int *left, size_t n, double share,
                      sis_subset *out) {
    search c;
    int error = search_init(&c, v);
    if (error == SIS_OK) {
        memcpy(c.left, left, n * sizeof *left);
        c.n_left = n;
        c.from = v->fraction;
        c.share = share;
        error = find_inside(&c, out);
    }
    search_release(&c);
    return error;
}

int sis__quick(sis__masked_scorer *v, const sis_method_opt *how, sis_collection *out) {
    search c;
    int error = search_init(&c, v);
    v->stretch = ORDERED;
    if (error == SIS_OK)
        error = how->order ? sis__order_given(v, how, c.order, &c.n_order)
                           : find_order(&c, how->prefer);
    if (error == SIS_OK)
        error = sis__disjoint(
            v, &(sis__finder_of_subsets){find_next, &c, c.gone, v->opt->max_subsets}, out);
    if (error == SIS_OK && how->trace)
        error = sis__order_trace_first(v, c.order, c.n_order, &out->subsets[0]);
    search_release(&c);
    return error;
}
