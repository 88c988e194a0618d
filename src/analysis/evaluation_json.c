/* SPDX-License-Identifier: MIT
 *
 * An evaluation of several methods as one JSON object. See sis/analysis.h.
 */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/json.h"
#include "results/fields.h"

#define NAME(code, name) name,
static const char *const MEASURES[] = {SIS_MEASURES(NAME)};
static const char *const QUANTITIES[] = {SIS_QUANTITIES(NAME)};
static const char *const CURVES[] = {SIS_CURVES(NAME)};
#undef NAME

const char *sis_measure_name(sis_measure measure) {
    return (size_t)measure < SIS_N_MEASURES ? MEASURES[measure] : "unknown";
}

/* ---- Examples ------------------------------------------------------------------------------ */

static void pass_example(sis__fields *f, void *item) {
    static const char *const directions[] = {">=", "<=", NULL};
    sis_evaluated_example *x = item;
    sis__field_text(f, "id", &x->id, SIS__REQUIRED);
    int old = sis__reading(f) && !json_object_get(f->object, "target");
    sis__field_count(f, old ? "output" : "target", &x->target, 0);
    sis__field_choice(f, "direction", &x->below, directions, 0);
    sis__field_number(f, "threshold", &x->threshold, 0);
    sis__field_number(f, "score", &x->score, 0);
    sis__field_count(f, "n_features", &x->n_features, 0);
    sis__field_number(f, "human_score", &x->human_score, SIS__KNOWN);
    sis__field_number(f, "qhs", &x->qhs, SIS__KNOWN);
    sis__field_numbers(f, "importance", &x->importance, &x->n_features, "n_features");
}

/* ---- Rationales ---------------------------------------------------------------------------- */

static int is_share(int measure) {
    return measure == SIS_MEASURE_SUFFICIENT || measure == SIS_MEASURE_DECK_HOLDS ||
           measure == SIS_MEASURE_HALF_HOLDS || measure == SIS_MEASURE_STABLE ||
           measure == SIS_MEASURE_TOKEN_PRECISION || measure == SIS_MEASURE_TOKEN_RECALL ||
           measure == SIS_MEASURE_TOKEN_F1 || measure == SIS_MEASURE_IOU_F1 ||
           measure == SIS_MEASURE_SAME || measure == SIS_MEASURE_JACCARD;
}

static void pass_measure(sis__fields *f, int k, double *v) {
    if (f->out && k == SIS_MEASURE_SUFFICIENT && !isnan(*v))
        sis__json_flag(f->out, MEASURES[k], *v > 0);
    else if (is_share(k) && !f->out)
        sis__field_share(f, MEASURES[k], v);
    else
        sis__field_number(f, MEASURES[k], v, SIS__KNOWN);
}

/* The context of the functions below. */
typedef struct {
    const sis_evaluation *e;
    size_t at;      /* the example of the last rationale that was read */
    int importance; /* the quantity is the importance */
    int tested;     /* the method is tested against the first */
} passing;

/* The example of a rationale. Rationales mostly are in the order of the examples, so the search
 * starts where the last one ended. */
static size_t find_example(passing *p, const char *id) {
    const sis_evaluation *e = p->e;
    for (size_t tries = 0; id && tries < e->n_examples;
         tries++, p->at = (p->at + 1) % e->n_examples)
        if (strcmp(e->examples[p->at].id, id) == 0)
            return p->at;
    return SIZE_MAX;
}

static void pass_motif(sis__fields *f, sis_rated *r) {
    size_t start = f->out ? (size_t)r->motif_start : SIZE_MAX;
    const char *strand = f->out && r->reverse ? "-" : "+";
    if (f->out && r->motif_start < 0)
        return;
    sis__field_count(f, "motif_start", &start, 0);
    sis__field_text(f, "motif_strand", &strand, 0);
    if (f->out)
        return;
    r->motif_start = start <= LONG_MAX ? (long)start : -1;
    r->reverse = strcmp(strand, "-") == 0;
}

static void pass_rationale(sis__fields *f, void *item) {
    passing *p = f->ctx;
    sis_rated *r = item;
    const char *id = f->out && r->example < p->e->n_examples ? p->e->examples[r->example].id : NULL;
    sis__field_text(f, "id", &id, 0);
    if (!f->out)
        r->example = find_example(p, id);
    sis__field_count(f, "subset", &r->subset, 0);
    sis__field_ints(f, "features", &r->features, &r->n_features, NULL);
    for (int k = 0; k < SIS_N_MEASURES; k++)
        pass_measure(f, k, &r->measures[k]);
    pass_motif(f, r);
}

/* ---- Methods ------------------------------------------------------------------------------- */

static void pass_quantity(sis__fields *f, void *item) {
    const passing *p = f->ctx;
    sis_quantity *q = item;
    sis__field_number(f, p->importance ? "median_inside" : "median", &q->median, 0);
    if (!f->out || p->importance)
        sis__field_number(f, "median_outside", &q->outside, 0);
    if (!f->out || !p->importance) {
        sis__field_number(f, "mean", &q->mean, 0);
        sis__field_number(f, "lowest", &q->lowest, 0);
        sis__field_number(f, "highest", &q->highest, 0);
    }
    if (!f->out || p->tested) {
        sis__field_number(f, "rank_sum_p", &q->rank_sum_p, 0);
        sis__field_number(f, "signed_rank_p", &q->signed_rank_p, 0);
    }
}

static void pass_cuts(sis__fields *f, void *item) {
    sis_method_summary *s = item;
    for (int k = 0; k < SIS_N_CURVES; k++)
        sis__field_numbers(f, CURVES[k], &s->curves[k], &s->n_cuts, k ? CURVES[0] : NULL);
}

static void pass_summary(sis__fields *f, void *item) {
    passing *p = f->ctx;
    sis_method_summary *s = item;
    sis__field_number(f, "subsets_per_example", &s->subsets_per_example, 0);
    sis__field_number(f, "subsets_most", &s->subsets_max, 0);
    sis__field_number(f, "sufficient_examples", &s->sufficient_examples, 0);
    sis__field_number(f, "evaluations_per_example", &s->evaluations_per_example, SIS__KNOWN);
    for (int k = 0; k < SIS_N_QUANTITIES; k++) {
        p->importance = k == SIS_QUANTITY_IMPORTANCE;
        if (!f->out || !isnan(s->quantities[k].median))
            sis__field_object(f, QUANTITIES[k], &s->quantities[k], pass_quantity);
    }
    sis__field_number(f, "pearson_r", &s->pearson_r, SIS__KNOWN);
    sis__field_number(f, "pearson_p", &s->pearson_p, SIS__KNOWN);
    if (!f->out || s->n_cuts > 0)
        sis__field_object(f, "cuts", s, pass_cuts);
}

static void pass_method(sis__fields *f, void *item) {
    static const sis__entry rationale = {sizeof(sis_rated), pass_rationale, 0};
    passing *p = f->ctx;
    sis_evaluated_method *m = item;
    p->tested = m != p->e->methods;
    p->at = 0;
    sis__field_text(f, "name", &m->name, SIS__EMPTY);
    sis__field_text(f, "method", &m->method, 0);
    sis__field_text(f, "file", &m->file, 0);
    sis__field_object(f, "summary", &m->summary, pass_summary);
    sis__field_find(f, "rationales", SIS__REQUIRED);
    sis__field_entries(f, "rationales", &m->rationales, &m->n, &rationale);
}

/* ---- The evaluation ------------------------------------------------------------------------ */

static void pass_study(sis__fields *f, void *item) {
    sis_evaluation *e = item;
    sis__field_numbers(f, "by_mask", &e->by_mask, &e->n_draws, NULL);
    sis__field_find(f, "by_hotdeck", e->n_draws > 0);
    sis__field_numbers(f, "by_hotdeck", &e->by_hotdeck, &e->n_draws, "by_mask");
}

static void pass_evaluation(sis__fields *f, void *item) {
    static const sis__entry example = {sizeof(sis_evaluated_example), pass_example, 0};
    static const sis__entry method = {sizeof(sis_evaluated_method), pass_method, 0};
    sis_evaluation *e = item;
    f->ctx = &(passing){.e = e};
    sis__field_text(f, "model", &e->model, 0);
    sis__field_text(f, "motif", &e->motif, 0);
    sis__field_entries(f, "examples", &e->examples, &e->n_examples, &example);
    sis__field_find(f, "methods", SIS__REQUIRED);
    sis__field_entries(f, "methods", &e->methods, &e->n_methods, &method);
    if (!f->out || e->n_draws > 0)
        sis__field_object(f, "imputation", e, pass_study);
}

static const sis__finding kind = {.what = "an evaluation",
                                  .writer = "sis evaluate --json",
                                  .field = "methods",
                                  .size = sizeof(sis_evaluation),
                                  .held = offsetof(sis_evaluation, held),
                                  .pass = pass_evaluation};

int sis_evaluation_format(const sis_evaluation *e, char **text, size_t *n) {
    return sis__finding_format(&kind, e, text, n);
}

int sis_evaluation_parse(const char *text, size_t n, sis_evaluation *out) {
    return sis__finding_parse(&kind, text, n, out);
}

void sis_evaluation_release(sis_evaluation *e) {
    sis__held_free(e->held);
    *e = (sis_evaluation){0};
}
