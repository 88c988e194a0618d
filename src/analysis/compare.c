/* SPDX-License-Identifier: MIT
 *
 * Compares two results files and their models: decisions, scores of subsets, clusters, differences.
 */
#include "analysis/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>
#include <sis/record.h>

#include "analysis/clustering.h"
#include "base/error.h"
#include "base/mem.h"

void sis_compare_opt_init(sis_compare_opt *opt) {
    *opt = (sis_compare_opt){.differ = 5};
    sis_model_opt_init(&opt->open);
    sis_clustering_opt_init(&opt->clustering);
}

typedef struct {
    const sis_compare_opt *o;
    sis__side sides[2];
    sis_clusterer *clusterer; /* the subsets of the first side, then those of the second */
    size_t *first[2];         /* (records) index of its first subset */
    sis_comparison *out;
} comparison;

/* ---- Records ------------------------------------------------------------------------------- */

static int check_record(const sis__side *s, const sis_record *r) {
    if (r->question.keep || sis_record_is_contrast(r))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: record \"%s\" was made with %s; sis compare needs a "
                         "threshold",
                         s->of.name, r->id,
                         r->question.keep ? "--keep class, which has no threshold"
                                          : "--method contrast, whose subsets change the decision");
    if (s->of.n > 0 && (r->question.threshold != s->threshold || r->question.below != s->below))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: record \"%s\" has the decision %s %g, earlier ones %s "
                         "%g; compare one decision at a time",
                         s->of.name, r->id, r->question.below ? "<=" : ">=", r->question.threshold,
                         s->below ? "<=" : ">=", s->threshold);
    return SIS_OK;
}

static int add_record(comparison *c, size_t side, const sis_record *r) {
    sis__side *s = &c->sides[side];
    int error = check_record(s, r);
    s->threshold = r->question.threshold;
    s->below = r->question.below;
    s->n_subsets += r->collection.n_subsets;
    c->first[side][s->of.n] = c->clusterer->n;
    s->of.items[s->of.n++] = *r;
    return error == SIS_OK ? sis_clusterer_add(c->clusterer, s->of.name, r) : error;
}

/* Select the records of the requested output without errors. */
static int choose_records(comparison *c, size_t side, const sis_records *from) {
    const sis_clustering_opt *o = &c->o->clustering;
    sis__side *s = &c->sides[side];
    s->of.name = from->name;
    s->model_name = c->o->models[side];
    s->of.items = SIS_NEW(sis_record, from->n);
    c->first[side] = SIS_NEW(size_t, from->n);
    int error = s->of.items && c->first[side] ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < from->n; i++)
        if (from->items[i].collection.status != SIS_STATUS_ERROR &&
            sis_record_is_target(&from->items[i], o->target, o->target_index))
            error = add_record(c, side, &from->items[i]);
    if (error == SIS_OK && s->of.n == 0)
        return sis__fail(SIS_E_ARGUMENT, "%s: cannot compare: no records%s%s%s", s->of.name,
                         o->target         ? " of --target "
                         : o->target_index ? " of --target-index "
                                           : "",
                         o->target         ? o->target
                         : o->target_index ? o->target_index
                                           : "",
                         o->target ? "; for a position use --target-index N" : "");
    return error == SIS_OK ? sis_records_index(&s->of, 1) : error;
}

static int choose_all(comparison *c, const sis_records sides[2]) {
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < 2; k++)
        error = choose_records(c, k, &sides[k]);
    if (error == SIS_OK && c->sides[0].below != c->sides[1].below)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s has decisions %s, %s has decisions %s; compare the same "
                         "decisions",
                         c->sides[0].of.name, c->sides[0].below ? "<=" : ">=", c->sides[1].of.name,
                         c->sides[1].below ? "<=" : ">=");
    return error == SIS_OK ? sis__clusterer_check(c->clusterer, "compare") : error;
}

/* ---- Decisions ----------------------------------------------------------------------------- */

static int is_decided(const sis_record *r) {
    return r->collection.status == SIS_STATUS_EXPLAINED || r->collection.status == SIS_STATUS_CUT ||
           r->collection.status == SIS_STATUS_DEFAULT_DECISION;
}

static int same_output(const sis_record *a, const sis_record *b) {
    return a->question.target_label && b->question.target_label
               ? strcmp(a->question.target_label, b->question.target_label) == 0
               : a->question.target == b->question.target;
}

static void count_decisions(const comparison *c) {
    size_t *counts = c->out->decisions;
    for (size_t i = 0; i < c->sides[0].of.n; i++) {
        const sis_record *a = &c->sides[0].of.items[i], *b;
        if (!(b = sis_records_find(&c->sides[1].of, a->id)))
            continue;
        c->out->common++;
        if (is_decided(a) && is_decided(b))
            counts[same_output(a, b) ? SIS_DECISION_SAME : SIS_DECISION_OTHER_OUTPUT]++;
        else
            counts[is_decided(a)   ? SIS_DECISION_ONLY_A
                   : is_decided(b) ? SIS_DECISION_ONLY_B
                                   : SIS_DECISION_NEITHER]++;
    }
}

static int describe_side(const comparison *c, size_t k) {
    const sis__side *s = &c->sides[k];
    size_t features = 0, decided = 0;
    for (size_t i = 0; i < s->of.n; i++) {
        decided += (size_t)is_decided(&s->of.items[i]);
        for (size_t j = 0; j < s->of.items[i].collection.n_subsets; j++)
            features += s->of.items[i].collection.subsets[j].n;
    }
    c->out->sides[k] =
        (sis_side){.results = sis__held_text(c->clusterer->held, s->of.name),
                   .model = sis__held_text(c->clusterer->held, s->model_name),
                   .n = s->of.n,
                   .subsets = s->n_subsets,
                   .threshold = s->threshold,
                   .below = s->below,
                   .decided = decided,
                   .features = s->n_subsets ? (double)features / (double)s->n_subsets : NAN};
    return c->out->sides[k].results && c->out->sides[k].model ? SIS_OK : SIS_E_NOMEM;
}

/* ---- Scores -------------------------------------------------------------------------------- */

/* Quantiles 0, 1/4, 1/2, 3/4 and 1 of n values. */
static int find_quantiles(const double *values, size_t n, double out[5]) {
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < 5; k++)
        error = sis_sample_percentile(values, n, 25 * (double)k, &out[k]);
    return error;
}

/* The scores of a side's subsets by the other model, and by its own from the records. */
static int find_scores(const comparison *c, size_t k) {
    const sis__side *of = &c->sides[k], *by = &c->sides[!k];
    size_t n = of->n_subsets, sufficient = 0, at = 0;
    double *scores = (double *)sis__held_room(c->clusterer->held, n, sizeof *scores);
    double *quantiles = (double *)sis__held_room(c->clusterer->held, 10, sizeof *quantiles);
    double *own = SIS_NEW(double, n);
    int error = scores && quantiles && own ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis__cross_score(of, by, c->o->clustering.jobs, scores);
    for (size_t i = 0; error == SIS_OK && i < of->of.n; i++)
        for (size_t j = 0; j < of->of.items[i].collection.n_subsets; j++)
            own[at++] = of->of.items[i].collection.subsets[j].score;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        sufficient += (size_t)sis_decided(scores[i], by->threshold, by->below);
    if (error == SIS_OK && n > 0)
        error = find_quantiles(scores, n, quantiles);
    if (error == SIS_OK && n > 0)
        error = find_quantiles(own, n, quantiles + 5);
    c->out->cross[k] = (sis_cross){.sufficient = n ? (double)sufficient / (double)n : 0,
                                   .n = n,
                                   .scores = scores,
                                   .n_quantiles = n ? 5 : 0,
                                   .quantiles = quantiles,
                                   .own_quantiles = quantiles ? quantiles + 5 : NULL};
    free(own);
    return error;
}

static int score_all(comparison *c) {
    int error = SIS_OK;
    for (size_t k = 0; k < 2 && error == SIS_OK; k++) {
        sis__side *s = &c->sides[k];
        error = sis_model_open(s->model_name, &c->o->open, &s->model);
        s->net = error == SIS_OK ? sis_model_document(&s->model) : NULL;
    }
    for (size_t k = 0; k < 2 && error == SIS_OK; k++)
        error = find_scores(c, k);
    return error;
}

/* ---- Differences --------------------------------------------------------------------------- */

/* An example that both models explain. */
typedef struct {
    size_t records[2];
    double distance;
} difference;

/* The mean, over the subsets of both, of the distance to the nearest subset of the other. */
static int distance_of(const comparison *c, difference *d) {
    size_t first[2], n[2];
    double sum = 0;
    for (size_t k = 0; k < 2; k++) {
        first[k] = c->first[k][d->records[k]];
        n[k] = c->sides[k].of.items[d->records[k]].collection.n_subsets;
    }
    for (size_t k = 0; k < 2; k++)
        for (size_t i = 0; i < n[k]; i++) {
            double nearest = INFINITY, one;
            for (size_t j = 0; j < n[!k]; j++) {
                int error =
                    sis_points_distance(c->clusterer->points, first[k] + i, first[!k] + j, &one);
                if (error)
                    return error;
                nearest = fmin(nearest, one);
            }
            sum += nearest;
        }
    d->distance = sum / (double)(n[0] + n[1]);
    return SIS_OK;
}

static int farthest_first(const void *a, const void *b) {
    const difference *x = (const difference *)a, *y = (const difference *)b;
    if (x->distance != y->distance)
        return x->distance > y->distance ? -1 : 1;
    return (x->records[0] > y->records[0]) - (x->records[0] < y->records[0]);
}

static int describe_difference(const comparison *c, const difference *d, sis_difference *out) {
    out->id = sis__held_text(c->clusterer->held, c->sides[0].of.items[d->records[0]].id);
    out->distance = d->distance;
    for (size_t k = 0; k < 2; k++) {
        size_t n = c->sides[k].of.items[d->records[k]].collection.n_subsets;
        const char **patterns =
            (const char **)sis__held_room(c->clusterer->held, n, sizeof *patterns);
        if (!out->id || !patterns)
            return SIS_E_NOMEM;
        for (size_t i = 0; i < n; i++)
            patterns[i] = c->clusterer->items[c->first[k][d->records[k]] + i].pattern;
        out->n_patterns[k] = n;
        out->patterns[k] = patterns;
    }
    return SIS_OK;
}

static int find_differences(const comparison *c) {
    const sis__side *a = &c->sides[0], *b = &c->sides[1];
    sis_comparison *out = c->out;
    difference *all = SIS_NEW(difference, a->of.n);
    int error = all ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < a->of.n; i++) {
        const sis_record *other = sis_records_find(&b->of, a->of.items[i].id);
        if (!other || !a->of.items[i].collection.n_subsets || !other->collection.n_subsets)
            continue;
        difference *d = &all[out->n_explained++];
        *d = (difference){{i, (size_t)(other - b->of.items)}, 0};
        error = distance_of(c, d);
    }
    if (error == SIS_OK)
        qsort(all, out->n_explained, sizeof *all, farthest_first);
    out->farthest = error == SIS_OK && out->n_explained ? all[0].distance : 0;
    size_t n = out->n_explained < c->o->differ ? out->n_explained : c->o->differ;
    sis_difference *kept = (sis_difference *)sis__held_room(c->clusterer->held, n, sizeof *kept);
    error = error != SIS_OK ? error : kept ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        error = describe_difference(c, &all[i], &kept[i]);
    out->differences = kept;
    out->n_differences = n;
    free(all);
    return error;
}

int sis_compare(const sis_records sides[2], const sis_compare_opt *opt, sis_comparison *out) {
    comparison c = {.o = opt, .out = out};
    sis_clustering_opt joint = opt->clustering;
    *out = (sis_comparison){0};
    joint.identical = 1;
    int error = sis_clusterer_new(&joint, &c.clusterer);
    if (error == SIS_OK)
        error = choose_all(&c, sides);
    if (error == SIS_OK)
        error = score_all(&c);
    for (size_t k = 0; error == SIS_OK && k < 2; k++)
        error = describe_side(&c, k);
    if (error == SIS_OK)
        error = sis__clusterer_find(c.clusterer, &out->joint);
    if (error == SIS_OK) {
        count_decisions(&c);
        error = find_differences(&c);
    }
    if (error == SIS_OK) {
        out->held = c.clusterer->held;
        c.clusterer->held = NULL;
    } else {
        *out = (sis_comparison){0};
    }
    for (size_t k = 0; k < 2; k++) {
        c.sides[k].of.n = 0; /* the caller owns the records */
        sis_records_release(&c.sides[k].of);
        sis_model_close(&c.sides[k].model);
        free(c.first[k]);
    }
    sis_clusterer_free(c.clusterer);
    return error;
}

/* ---- Pairs --------------------------------------------------------------------------------- */

/* All features of all subsets, sorted; *n of them. */
static int *list_features(const sis_collection *c, size_t *n) {
    size_t all = 0;
    for (size_t k = 0; k < c->n_subsets; k++)
        all += c->subsets[k].n;
    int *out = SIS_NEW(int, all);
    *n = 0;
    for (size_t k = 0; out && k < c->n_subsets; k++)
        for (size_t i = 0; i < c->subsets[k].n; i++)
            out[(*n)++] = c->subsets[k].features[i];
    return out;
}

static int is_shared(const sis_subset *s, const sis_collection *c, int *shared) {
    for (size_t k = 0; k < c->n_subsets; k++) {
        sis_overlap o;
        int error =
            sis_overlap_measure(s->features, s->n, c->subsets[k].features, c->subsets[k].n, &o);
        if (error != SIS_OK)
            return error;
        if (o.jaccard >= 1) {
            *shared = 1;
            return SIS_OK;
        }
    }
    *shared = 0;
    return SIS_OK;
}

static int compare_pair(const sis_collection *a, const sis_collection *b, sis_pair *p) {
    size_t na, nb;
    int *x = list_features(a, &na), *y = list_features(b, &nb), shared = 0;
    sis_overlap o = {0};
    int error = x && y ? sis_overlap_measure(x, na, y, nb, &o) : SIS_E_NOMEM;
    p->overlap = na + nb ? o.jaccard : a->status == b->status;
    for (size_t k = 0; error == SIS_OK && k < a->n_subsets; k++) {
        error = is_shared(&a->subsets[k], b, &shared);
        p->shared += (size_t)shared;
    }
    p->same = p->shared == a->n_subsets && a->n_subsets == b->n_subsets && a->status == b->status;
    free(x);
    free(y);
    return error;
}

int sis_pairs_find(const sis_records *a, const sis_records *b, sis_pair **pairs, size_t *n) {
    int error = SIS_OK;
    *n = 0;
    *pairs = SIS_NEW(sis_pair, a->n);
    for (size_t i = 0; *pairs && error == SIS_OK && i < a->n; i++) {
        const sis_record *other = sis_records_find(b, a->items[i].id);
        if (!other)
            continue;
        sis_pair *p = &(*pairs)[(*n)++];
        *p = (sis_pair){.records = {i, (size_t)(other - b->items)}};
        error = compare_pair(&a->items[i].collection, &other->collection, p);
    }
    return *pairs ? error : SIS_E_NOMEM;
}
