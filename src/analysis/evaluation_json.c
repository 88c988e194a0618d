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

static const char *const DIRECTIONS[] = {">=", "<="};

#define NAME(code, name) name,
static const char *const MEASURES[] = {SIS_MEASURES(NAME)};
static const char *const QUANTITIES[] = {SIS_QUANTITIES(NAME)};
static const char *const CURVES[] = {SIS_CURVES(NAME)};
#undef NAME

const char *sis_measure_name(sis_measure measure) {
    return (size_t)measure < SIS_N_MEASURES ? MEASURES[measure] : "unknown";
}

/* ---- Writing ------------------------------------------------------------------------------- */

/* Omits values that were not measured. */
static void put_measured(sis__buf *b, const char *name, double v) {
    if (!isnan(v))
        sis__json_number(b, name, v);
}

static void put_rationale(sis__buf *b, const sis_evaluation *e, const sis_rated *r) {
    sis__buf_char(b, '{');
    if (r->example < e->n_examples)
        sis__json_text(b, "id", e->examples[r->example].id);
    sis__json_count(b, "subset", r->subset);
    sis__json_ints(b, "features", r->features, r->n_features);
    for (int k = 0; k < SIS_N_MEASURES; k++)
        if (k == SIS_MEASURE_SUFFICIENT && !isnan(r->measures[k]))
            sis__json_flag(b, MEASURES[k], r->measures[k] > 0);
        else
            put_measured(b, MEASURES[k], r->measures[k]);
    if (r->motif_start >= 0) {
        sis__json_count(b, "motif_start", (size_t)r->motif_start);
        sis__json_text(b, "motif_strand", r->reverse ? "-" : "+");
    }
    sis__buf_char(b, '}');
}

static void put_quantity(sis__buf *b, int k, const sis_quantity *q, int tested) {
    if (isnan(q->median))
        return;
    sis__json_object(b, QUANTITIES[k]);
    if (k == SIS_QUANTITY_IMPORTANCE) {
        sis__json_number(b, "median_inside", q->median);
        sis__json_number(b, "median_outside", q->outside);
    } else {
        sis__json_number(b, "median", q->median);
        sis__json_number(b, "mean", q->mean);
        sis__json_number(b, "lowest", q->lowest);
        sis__json_number(b, "highest", q->highest);
    }
    if (tested) {
        sis__json_number(b, "rank_sum_p", q->rank_sum_p);
        sis__json_number(b, "signed_rank_p", q->signed_rank_p);
    }
    sis__buf_char(b, '}');
}

static void put_summary(sis__buf *b, const sis_method_summary *s, int tested) {
    sis__json_object(b, "summary");
    sis__json_number(b, "subsets_per_example", s->subsets_per_example);
    sis__json_number(b, "subsets_most", s->subsets_max);
    sis__json_number(b, "sufficient_examples", s->sufficient_examples);
    put_measured(b, "evaluations_per_example", s->evaluations_per_example);
    for (int k = 0; k < SIS_N_QUANTITIES; k++)
        put_quantity(b, k, &s->quantities[k], tested);
    put_measured(b, "pearson_r", s->pearson_r);
    put_measured(b, "pearson_p", s->pearson_p);
    if (s->n_cuts > 0) {
        sis__json_object(b, "cuts");
        for (int k = 0; k < SIS_N_CURVES; k++)
            sis__json_numbers(b, CURVES[k], s->curves[k], s->n_cuts);
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, '}');
}

static void put_method(sis__buf *b, const sis_evaluation *e, const sis_evaluated_method *m) {
    sis__buf_char(b, '{');
    sis__json_text(b, "name", m->name);
    sis__json_text(b, "method", m->method);
    sis__json_text(b, "file", m->file);
    put_summary(b, &m->summary, m != e->methods);
    sis__json_list(b, "rationales");
    for (size_t i = 0; i < m->n; i++) {
        sis__json_comma(b, i);
        put_rationale(b, e, &m->rationales[i]);
    }
    sis__buf_str(b, "]}");
}

static void put_example(sis__buf *b, const sis_evaluated_example *x) {
    sis__buf_char(b, '{');
    sis__json_text(b, "id", x->id);
    sis__json_count(b, "target", x->target);
    sis__json_text(b, "direction", DIRECTIONS[x->below != 0]);
    sis__json_number(b, "threshold", x->threshold);
    sis__json_number(b, "score", x->score);
    sis__json_count(b, "n_features", x->n_features);
    put_measured(b, "human_score", x->human_score);
    put_measured(b, "qhs", x->qhs);
    sis__json_numbers(b, "importance", x->importance, x->n_features);
    sis__buf_char(b, '}');
}

int sis_evaluation_format(const sis_evaluation *e, char **text, size_t *n) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    sis__json_text(&b, "model", e->model);
    sis__json_text(&b, "motif", e->motif);
    sis__json_list(&b, "examples");
    for (size_t i = 0; i < e->n_examples; i++) {
        sis__json_comma(&b, i);
        put_example(&b, &e->examples[i]);
    }
    sis__buf_char(&b, ']');
    sis__json_list(&b, "methods");
    for (size_t i = 0; i < e->n_methods; i++) {
        sis__json_comma(&b, i);
        put_method(&b, e, &e->methods[i]);
    }
    sis__buf_char(&b, ']');
    if (e->n_draws > 0) {
        sis__json_object(&b, "imputation");
        sis__json_numbers(&b, "by_mask", e->by_mask, e->n_draws);
        sis__json_numbers(&b, "by_hotdeck", e->by_hotdeck, e->n_draws);
        sis__buf_char(&b, '}');
    }
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, text, n);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void take_example(sis__fields *f, sis_evaluated_example *x) {
    size_t n = 0;
    x->threshold = x->score = x->human_score = x->qhs = NAN;
    x->id = sis__take_text(f, "id", SIS__REQUIRED);
    sis__take_count(f, json_object_get(f->object, "target") ? "target" : "output", SIS__OPTIONAL,
                    &x->target);
    x->below = strcmp(sis__take_text_or(f, "direction", ">="), "<=") == 0;
    sis__take_number(f, "threshold", SIS__OPTIONAL, &x->threshold);
    sis__take_number(f, "score", SIS__OPTIONAL, &x->score);
    sis__take_number(f, "human_score", SIS__OPTIONAL, &x->human_score);
    sis__take_number(f, "qhs", SIS__OPTIONAL, &x->qhs);
    x->importance = sis__take_numbers(f, "importance", &n);
    sis__take_count(f, "n_features", SIS__OPTIONAL, &x->n_features);
    if (x->importance)
        sis__fields_pair(f, "importance", n, "n_features", x->n_features);
}

static void take_examples(sis__fields *f, sis_evaluation *e) {
    const json_t *list = sis__find_list(f, "examples", SIS__OPTIONAL, &e->n_examples);
    sis_evaluated_example *all =
        (sis_evaluated_example *)sis__fields_room(f, list, e->n_examples, sizeof *all);
    for (size_t i = 0; all && i < e->n_examples && f->code == SIS_OK; i++) {
        sis__fields in = sis__enter_item(f, "examples", list, i);
        take_example(&in, &all[i]);
        sis__leave(f, &in);
    }
    e->examples = all;
}

/* The example of a rationale. Rationales mostly are in the order of the examples, so the search
 * starts where the last one ended. */
static size_t find_example(const sis_evaluation *e, const char *id, size_t *at) {
    for (size_t tries = 0; id && tries < e->n_examples; tries++, *at = (*at + 1) % e->n_examples)
        if (strcmp(e->examples[*at].id, id) == 0)
            return *at;
    return SIZE_MAX;
}

static int is_share(int measure) {
    return measure == SIS_MEASURE_SUFFICIENT || measure == SIS_MEASURE_DECK_HOLDS ||
           measure == SIS_MEASURE_HALF_HOLDS || measure == SIS_MEASURE_STABLE ||
           measure == SIS_MEASURE_TOKEN_PRECISION || measure == SIS_MEASURE_TOKEN_RECALL ||
           measure == SIS_MEASURE_TOKEN_F1 || measure == SIS_MEASURE_IOU_F1 ||
           measure == SIS_MEASURE_SAME || measure == SIS_MEASURE_JACCARD;
}

static void take_rationale(sis__fields *f, sis_rated *r) {
    size_t start = SIZE_MAX;
    sis__take_count(f, "subset", SIS__OPTIONAL, &r->subset);
    r->features = sis__take_ints(f, "features", SIS__OPTIONAL, &r->n_features);
    for (int k = 0; k < SIS_N_MEASURES; k++) {
        r->measures[k] = NAN;
        if (is_share(k))
            sis__take_share(f, MEASURES[k], &r->measures[k]);
        else
            sis__take_number(f, MEASURES[k], SIS__OPTIONAL, &r->measures[k]);
    }
    sis__take_count(f, "motif_start", SIS__OPTIONAL, &start);
    r->motif_start = start <= LONG_MAX ? (long)start : -1;
    const char *strand = sis__take_text(f, "motif_strand", SIS__OPTIONAL);
    r->reverse = strand && strcmp(strand, "-") == 0;
}

static void take_rationales(sis__fields *f, const sis_evaluation *e, sis_evaluated_method *m) {
    const json_t *list = sis__find_list(f, "rationales", SIS__REQUIRED, &m->n);
    sis_rated *all = (sis_rated *)sis__fields_room(f, list, m->n, sizeof *all);
    size_t at = 0;
    for (size_t i = 0; all && i < m->n && f->code == SIS_OK; i++) {
        sis__fields in = sis__enter_item(f, "rationales", list, i);
        const char *id = sis__take_text(&in, "id", SIS__OPTIONAL);
        take_rationale(&in, &all[i]);
        sis__leave(f, &in);
        if (f->code == SIS_OK)
            all[i].example = find_example(e, id, &at);
    }
    m->rationales = all;
}

static void take_quantity(sis__fields *f, int k, sis_quantity *q) {
    sis__fields in = sis__enter(f, QUANTITIES[k], SIS__OPTIONAL);
    int importance = k == SIS_QUANTITY_IMPORTANCE;
    *q = (sis_quantity){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
    sis__take_number(&in, importance ? "median_inside" : "median", SIS__OPTIONAL, &q->median);
    sis__take_number(&in, "median_outside", SIS__OPTIONAL, &q->outside);
    sis__take_number(&in, "mean", SIS__OPTIONAL, &q->mean);
    sis__take_number(&in, "lowest", SIS__OPTIONAL, &q->lowest);
    sis__take_number(&in, "highest", SIS__OPTIONAL, &q->highest);
    sis__take_number(&in, "rank_sum_p", SIS__OPTIONAL, &q->rank_sum_p);
    sis__take_number(&in, "signed_rank_p", SIS__OPTIONAL, &q->signed_rank_p);
    sis__leave(f, &in);
}

static void take_cuts(sis__fields *f, sis_method_summary *s) {
    sis__fields in = sis__enter(f, "cuts", SIS__OPTIONAL);
    s->curves[0] = sis__take_numbers(&in, CURVES[0], &s->n_cuts);
    for (int k = 1; k < SIS_N_CURVES; k++) {
        size_t n = 0;
        s->curves[k] = sis__take_numbers(&in, CURVES[k], &n);
        if (s->curves[k])
            sis__fields_pair(&in, CURVES[k], n, CURVES[0], s->n_cuts);
    }
    sis__leave(f, &in);
}

static void take_summary(sis__fields *f, sis_method_summary *s) {
    sis__fields in = sis__enter(f, "summary", SIS__OPTIONAL);
    s->subsets_per_example = s->subsets_max = s->sufficient_examples = NAN;
    s->evaluations_per_example = NAN;
    s->pearson_r = s->pearson_p = NAN;
    sis__take_number(&in, "subsets_per_example", SIS__OPTIONAL, &s->subsets_per_example);
    sis__take_number(&in, "subsets_most", SIS__OPTIONAL, &s->subsets_max);
    sis__take_number(&in, "sufficient_examples", SIS__OPTIONAL, &s->sufficient_examples);
    sis__take_number(&in, "evaluations_per_example", SIS__OPTIONAL, &s->evaluations_per_example);
    for (int k = 0; k < SIS_N_QUANTITIES; k++)
        take_quantity(&in, k, &s->quantities[k]);
    sis__take_number(&in, "pearson_r", SIS__OPTIONAL, &s->pearson_r);
    sis__take_number(&in, "pearson_p", SIS__OPTIONAL, &s->pearson_p);
    take_cuts(&in, s);
    sis__leave(f, &in);
}

static void take_methods(sis__fields *f, sis_evaluation *e) {
    const json_t *list = sis__find_list(f, "methods", SIS__REQUIRED, &e->n_methods);
    sis_evaluated_method *all =
        (sis_evaluated_method *)sis__fields_room(f, list, e->n_methods, sizeof *all);
    for (size_t i = 0; all && i < e->n_methods && f->code == SIS_OK; i++) {
        sis__fields in = sis__enter_item(f, "methods", list, i);
        all[i].name = sis__take_text_or(&in, "name", "");
        all[i].method = sis__take_text(&in, "method", SIS__OPTIONAL);
        all[i].file = sis__take_text(&in, "file", SIS__OPTIONAL);
        take_summary(&in, &all[i].summary);
        take_rationales(&in, e, &all[i]);
        sis__leave(f, &in);
    }
    e->methods = all;
}

static void take_study(sis__fields *f, sis_evaluation *e) {
    sis__fields in = sis__enter(f, "imputation", SIS__OPTIONAL);
    size_t n;
    e->by_mask = sis__take_numbers(&in, "by_mask", &e->n_draws);
    e->by_hotdeck = sis__take_numbers(&in, "by_hotdeck", &n);
    sis__fields_pair(&in, "by_hotdeck", n, "by_mask", e->n_draws);
    sis__leave(f, &in);
}

int sis_evaluation_parse(const char *text, size_t n, sis_evaluation *out) {
    sis__fields f;
    sis_evaluation e = {0};
    sis__finding_open(&f, text, n, "an evaluation", "sis evaluate --json", "methods");
    e.model = sis__take_text(&f, "model", SIS__OPTIONAL);
    e.motif = sis__take_text(&f, "motif", SIS__OPTIONAL);
    take_examples(&f, &e);
    take_methods(&f, &e);
    take_study(&f, &e);
    int code = sis__finding_close(&f, &e.held);
    *out = code == SIS_OK ? e : (sis_evaluation){0};
    return code;
}

void sis_evaluation_release(sis_evaluation *e) {
    sis__held_free(e->held);
    *e = (sis_evaluation){0};
}
