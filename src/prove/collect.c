/* SPDX-License-Identifier: MIT
 *
 * sis_prove_collect: find the subsets of an example, with proofs. Features are given up one by one,
 * as long as the decision is proved to stay; those left are a subset. The next subset is searched
 * among the other features, until these are not sufficient. If requested, sets.h finds subsets with
 * the fewest features, or contrasts, instead.
 */
#include "prove/query.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

typedef struct {
    sis__query *t;
    sis_collection *out;
    sis_guarantee *guarantee;
    int *order;          /* (n) order in which to give up features */
    unsigned char *kept; /* (n) */
    unsigned char *left; /* (n) not in a subset yet */
    double *nearest;     /* (n_values) */
    size_t cap;
} collecting;

/* A proved bound of the last subset, whose features are kept. */
static int add_bound(collecting *c, sis__proof proof, double *score) {
    sis_guarantee *g = c->guarantee;
    double bound = NAN;
    if (!c->t->p->trees || c->t->opt->keep_class)
        return SIS_OK;
    int error = proof == SIS__PROOF_HOLDS ? sis__query_bound(c->t, c->kept, score, &bound) : SIS_OK;
    if (error)
        return error;
    double *bounds = sis__realloc(g->bounds, g->n_bounds + 1, sizeof *bounds);
    if (!bounds)
        return SIS_E_NOMEM;
    g->bounds = bounds;
    g->bounds[g->n_bounds++] = bound;
    return SIS_OK;
}

/* List the kept features, from the end of the order. */
static int list_kept(const collecting *c, sis_subset *s) {
    s->features = SIS_NEW(int, c->t->n);
    for (size_t i = c->t->n; s->features && i-- > 0;)
        if (c->kept[c->order[i]])
            s->features[s->n++] = c->order[i];
    return s->features ? SIS_OK : SIS_E_NOMEM;
}

/* Append a subset with these features. */
static int push_subset(collecting *c, double score) {
    sis_collection *out = c->out;
    int error = sis__reserve(&out->subsets, &c->cap, out->n_subsets + 1, sizeof *out->subsets);
    if (error)
        return error;
    sis_subset *s = &out->subsets[out->n_subsets++];
    *s = (sis_subset){.trace.start = NAN, .score = score};
    return list_kept(c, s);
}

/* Append the kept features, which are sufficient. */
static int keep_subset(collecting *c, int minimal) {
    sis__proof proof;
    double score;
    int error = sis__query_examine(c->t, c->kept, &proof, &score);
    if (!error)
        error = add_bound(c, proof, &score);
    c->guarantee->minimal &= minimal;
    for (size_t i = 0; i < c->t->n; i++)
        c->left[i] &= !c->kept[i];
    return error ? error : push_subset(c, score);
}

/* Add a minimal subset of the remaining features, which are sufficient. */
static int add_subset(collecting *c) {
    int minimal;
    memcpy(c->kept, c->left, c->t->n);
    int error = sis__sets_minimal(&c->t->sets, c->order, c->kept, &minimal);
    return error ? error : keep_subset(c, minimal);
}

/* Add subsets with the fewest features, in turn: a set that meets all known contrasts is
 * sufficient, or yields another contrast. */
static int add_smallest(collecting *c, sis__family *enough, sis__family *contrasts, int *found) {
    int minimal;
    int error =
        sis__sets_smallest(&c->t->sets, c->order, enough, contrasts, c->kept, found, &minimal);
    if (error || *found == 0 ||
        (*found == -1 && enough->n)) /* given up: the first one is still sufficient */
        return error;
    error = keep_subset(c, minimal);
    return error ? error : sis__family_add(enough, c->kept);
}

static int find_smallest(collecting *c) {
    size_t max = c->t->opt->max_subsets ? c->t->opt->max_subsets : 1;
    sis__family enough = {.n_features = c->t->n}, contrasts = {.n_features = c->t->n};
    sis__proof rest = SIS__PROOF_NONE;
    int found = 1, error = sis__sets_order(&c->t->sets, c->order);
    memset(c->left, 1, c->t->n);
    while (!error && found == 1 && c->out->n_subsets < max)
        error = add_smallest(c, &enough, &contrasts, &found);
    c->guarantee->smallest = found != -1;
    if (!error)
        error = sis__query_examine(c->t, c->left, &rest, &c->out->rest_score);
    c->out->complete = !error && rest == SIS__PROOF_FAILS;
    sis__family_release(&enough);
    sis__family_release(&contrasts);
    return error;
}

/* Replace the input that shows a contrast by the nearest one, in whole steps if possible. */
static int find_nearest(collecting *c, double *distance) {
    const sis_prove_opt *opt = c->t->opt;
    sis__oracle *o = c->t->o;
    int error = SIS_OK, proved = 0;
    *distance = NAN;
    sis__oracle_keep(o, c->kept, c->t->sets.kept);
    for (int whole = opt->step != NULL; !error && o->nearest && whole >= 0; whole--) {
        const sis__steps steps = {opt->scale, whole ? opt->step : NULL};
        double found;
        error = o->nearest(o, c->t->sets.kept, &steps, c->nearest, &found, &proved);
        if (!error && isfinite(found)) {
            *distance = found;
            memcpy(c->t->sets.example, c->nearest, o->width * sizeof *c->nearest);
            break;
        }
    }
    c->guarantee->nearest &= proved && !isnan(*distance);
    return error;
}

/* Append the example that shows a contrast. */
static int push_example(collecting *c, double distance) {
    sis_guarantee *g = c->guarantee;
    size_t width = c->t->input->n_values, n = g->n_examples + 1;
    double *more = (double *)sis__realloc(g->examples, n, width * sizeof *more);
    g->examples = more ? more : g->examples;
    double *distances =
        c->t->o->nearest ? (double *)sis__realloc(g->distances, n, sizeof *distances) : NULL;
    g->distances = distances ? distances : g->distances;
    if (!more || (c->t->o->nearest && !distances))
        return SIS_E_NOMEM;
    if (distances)
        distances[g->n_examples] = distance;
    memcpy(more + g->n_examples++ * width, c->t->sets.example, width * sizeof *more);
    return SIS_OK;
}

/* A minimal contrast claims a proof for each of its features: with that feature at its original
 * value, every input that keeps the others has the decision. */
static int attack_contrast(collecting *c) {
    int error = SIS_OK;
    double score;
    for (size_t f = 0; !error && f < c->t->n; f++) {
        if (c->kept[f])
            continue;
        c->kept[f] = 1;
        error = sis__query_attack(c->t, c->kept, &score);
        c->kept[f] = 0;
        if (!error)
            error = sis__query_check(c->t, score);
    }
    return error;
}

static int add_contrast(collecting *c, sis__family *enough, sis__family *contrasts, int *found) {
    double score, distance = NAN;
    int minimal = 1;
    int error =
        sis__sets_next_contrast(&c->t->sets, c->order, enough, contrasts, c->kept, found, &minimal);
    if (!error && *found == -1 && c->out->n_subsets == 0) { /* any contrast, if there is one */
        memset(c->kept, 0, c->t->n);
        error = sis__sets_contrast(&c->t->sets, c->order, c->kept, &minimal);
        *found = -2;
    }
    if (error || *found == 0 || *found == -1)
        return error;
    error = find_nearest(c, &distance);
    if (!error)
        error = sis__query_score(c->t, c->t->sets.example, &score);
    if (!error && sis__query_decided(c->t, score))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "no input without the decision was found within %zu "
                         "branches",
                         c->t->opt->branches);
    if (!error && minimal)
        error = attack_contrast(c);
    for (size_t i = 0; i < c->t->n; i++)
        c->kept[i] = !c->kept[i];
    c->guarantee->minimal &= minimal;
    if (!error)
        error = push_example(c, distance);
    if (!error)
        error = sis__family_add(contrasts, c->kept);
    return error ? error : push_subset(c, score);
}

/* Does one distance come before another? NaN comes last. */
static int is_nearer(double a, double b) {
    return isnan(b) ? !isnan(a) : a < b;
}

/* Sort contrasts by distance; keep at most `max`. */
static void sort_contrasts(collecting *c, size_t max) {
    sis_guarantee *g = c->guarantee;
    sis_collection *out = c->out;
    size_t width = c->t->input->n_values;
    for (size_t i = 0; i < out->n_subsets; i++)
        for (size_t k = i; k > 0 && is_nearer(g->distances[k], g->distances[k - 1]); k--) {
            double distance = g->distances[k], *row = g->examples + k * width;
            sis_subset subset = out->subsets[k];
            memcpy(c->nearest, row, width * sizeof *row);
            memcpy(row, row - width, width * sizeof *row);
            memcpy(row - width, c->nearest, width * sizeof *row);
            g->distances[k] = g->distances[k - 1];
            g->distances[k - 1] = distance;
            out->subsets[k] = out->subsets[k - 1];
            out->subsets[k - 1] = subset;
        }
    while (out->n_subsets > max)
        free(out->subsets[--out->n_subsets].features);
    g->n_examples = out->n_subsets;
}

static int note_fixed(collecting *c) {
    sis_guarantee *g = c->guarantee;
    g->fixed = SIS_NEW(int, c->t->n);
    for (size_t f = 0; g->fixed && f < c->t->n; f++)
        if (c->t->fixed[f])
            g->fixed[g->n_fixed++] = (int)f;
    return g->fixed ? SIS_OK : SIS_E_NOMEM;
}

enum { MAX_CONTRASTS = 1000 }; /* number of candidates for the nearest */

static int find_contrasts(collecting *c) {
    size_t wanted = c->t->opt->max_subsets ? c->t->opt->max_subsets : 1;
    size_t max = c->t->opt->cheapest ? MAX_CONTRASTS : wanted;
    sis__family enough = {.n_features = c->t->n}, contrasts = {.n_features = c->t->n};
    int found = 1, error = sis__sets_order(&c->t->sets, c->order);
    while (!error && found == 1 && c->out->n_subsets < max)
        error = add_contrast(c, &enough, &contrasts, &found);
    c->guarantee->smallest = found >= 0 && !c->t->opt->cheapest;
    c->out->rest_score = c->out->score;
    c->out->complete = !error && found == 0 && c->out->n_subsets <= wanted;
    if (!error && c->t->opt->cheapest) {
        sort_contrasts(c, wanted);
        c->guarantee->cheapest = found == 0 && c->guarantee->nearest;
    }
    sis__family_release(&enough);
    sis__family_release(&contrasts);
    return error;
}

static int find_subsets(collecting *c) {
    sis_collection *out = c->out;
    sis__proof rest;
    int error = sis__sets_order(&c->t->sets, c->order);
    memset(c->left, 1, c->t->n);
    do {
        if (!error)
            error = add_subset(c);
        if (!error)
            error = sis__query_examine(c->t, c->left, &rest, &out->rest_score);
    } while (!error && rest == SIS__PROOF_HOLDS && out->n_subsets != c->t->opt->max_subsets);
    out->complete = !error && rest == SIS__PROOF_FAILS;
    return error;
}

/* If every input has the decision, no subset causes it. */
static int start_collecting(collecting *c) {
    sis_collection *out = c->out;
    sis__proof proof = SIS__PROOF_NONE;
    int error = sis__query_score(c->t, c->t->input->values, &out->score);
    if (!error && c->t->fixed)
        error = note_fixed(c);
    out->rest_score = out->masked_score = out->score;
    out->complete = !error && !sis__query_decided(c->t, out->score);
    out->status = out->complete ? SIS_STATUS_NOT_DECIDED : SIS_STATUS_EXPLAINED;
    if (error || out->complete)
        return error;
    error = sis__query_open(c->t);
    if (!error)
        error = sis__query_examine(c->t, c->kept, &proof, &out->masked_score);
    if (proof == SIS__PROOF_HOLDS)
        out->status = SIS_STATUS_DEFAULT_DECISION;
    if (error || proof == SIS__PROOF_HOLDS)
        return error;
    c->guarantee->nearest = c->t->opt->contrast;
    return c->t->opt->contrast   ? find_contrasts(c)
           : c->t->opt->smallest ? find_smallest(c)
                                 : find_subsets(c);
}

int sis_prove_collect(const sis_prover *p, const sis_input *input, const sis_prove_opt *opt,
                      sis_collection *out, sis_guarantee *guarantee) {
    sis__query t;
    *out = (sis_collection){0};
    *guarantee = (sis_guarantee){.kind = SIS_GUARANTEE_ALL, .proved = 1, .minimal = 1};
    int error = sis__query_init(&t, p, input, opt);
    collecting c = {.t = &t, .out = out, .guarantee = guarantee};
    c.order = SIS_NEW(int, t.n);
    c.kept = SIS_NEW(unsigned char, t.n);
    c.left = SIS_NEW(unsigned char, t.n);
    c.nearest = SIS_NEW(double, input->n_values);
    if (!error && opt->cheapest && !p->trees)
        error = sis__fail(SIS_E_UNSUPPORTED, "nearest contrasts need trees");
    if (!error)
        error = c.order && c.kept && c.left && c.nearest ? start_collecting(&c) : SIS_E_NOMEM;
    out->n_features = t.n;
    out->verified = 1;
    out->evaluations = t.evaluations;
    out->seconds = sis__seconds() - t.began;
    free(c.order);
    free(c.kept);
    free(c.left);
    free(c.nearest);
    sis__query_release(&t);
    if (error) {
        sis_collection_release(out);
        sis_guarantee_release(guarantee);
    }
    return error;
}
