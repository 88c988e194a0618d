/* SPDX-License-Identifier: MIT
 *
 * A comparison of two models as one JSON object. See sis/analysis.h.
 */
#include <math.h>
#include <stdlib.h>

#include <sis/analysis.h>

#include "analysis/clustering.h"
#include "base/json.h"
#include "results/fields.h"

double sis_comparison_agreement(const sis_comparison *c) {
    size_t same = c->decisions[SIS_DECISION_SAME] + c->decisions[SIS_DECISION_NEITHER];
    return c->common ? (double)same / (double)c->common : NAN;
}

static void pass_side(sis__fields *f, void *item) {
    static const char *const directions[] = {">=", "<=", NULL};
    sis_side *s = item;
    sis__field_text(f, "results", &s->results, SIS__EMPTY);
    sis__field_text(f, "model", &s->model, SIS__EMPTY);
    sis__field_count(f, "n", &s->n, 0);
    sis__field_count(f, "subsets", &s->subsets, 0);
    sis__field_number(f, "threshold", &s->threshold, 0);
    sis__field_choice(f, "direction", &s->below, directions, 0);
}

static void pass_decisions(sis__fields *f, void *item) {
    static const char *const names[] = {
#define NAME(code, name) name,
        SIS_DECISIONS(NAME)
#undef NAME
    };
    sis_comparison *c = item;
    sis__field_count(f, "common", &c->common, 0);
    for (int k = 0; k < SIS_N_DECISIONS; k++) {
        sis__field_count(f, names[k], &c->decisions[k], 0);
        if (sis__reading(f) && c->decisions[k] > c->common)
            sis__field_wrong(f, names[k], "at most the number in common",
                             json_object_get(f->object, names[k]));
    }
    if (f->out)
        sis__json_number(f->out, "agreement", sis_comparison_agreement(c));
}

static void pass_cross(sis__fields *f, void *item) {
    static const double none;
    sis_cross x = *(const sis_cross *)item;
    size_t own = x.n_quantiles;
    if (f->out) { /* lists are written even if they are empty */
        x.scores = x.n ? x.scores : &none;
        x.quantiles = own ? x.quantiles : &none;
        x.own_quantiles = own ? x.own_quantiles : &none;
        sis__json_count(f->out, "n", x.n);
        sis__json_number(f->out, "sufficient", x.sufficient);
    } else {
        sis__field_share(f, "sufficient", &x.sufficient);
    }
    sis__field_numbers(f, "quantiles", &x.quantiles, &x.n_quantiles, NULL);
    sis__field_numbers(f, "scores", &x.scores, &x.n, NULL);
    if (x.quantiles)
        own = x.n_quantiles;
    sis__field_find(f, "own_quantiles", own > 0);
    sis__field_numbers(f, "own_quantiles", &x.own_quantiles, &own,
                       x.quantiles ? "quantiles" : NULL);
    if (f->out)
        return;
    x.n_quantiles = x.own_quantiles ? own : 0;
    if (x.n_quantiles != 0 && x.n_quantiles != 5)
        sis__field_wrong(f, "own_quantiles", "five numbers",
                         json_object_get(f->object, "own_quantiles"));
    *(sis_cross *)item = x;
}

static void pass_scores(sis__fields *f, void *item) {
    sis_comparison *c = item;
    sis__field_object(f, "a_by_b", &c->cross[0], pass_cross);
    sis__field_object(f, "b_by_a", &c->cross[1], pass_cross);
}

static void pass_difference(sis__fields *f, void *item) {
    sis_difference *d = item;
    sis__field_text(f, "id", &d->id, SIS__REQUIRED);
    sis__field_number(f, "distance", &d->distance, 0);
    sis__field_texts(f, "a", &d->patterns[0], &d->n_patterns[0], NULL);
    sis__field_texts(f, "b", &d->patterns[1], &d->n_patterns[1], NULL);
}

static void pass_comparison(sis__fields *f, void *item) {
    static const sis__entry difference = {sizeof(sis_difference), pass_difference, .lines = 1};
    static const char *const required[] = {"a", "b", "decisions"};
    sis_comparison *c = item;
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        sis__field_find(f, required[i], SIS__REQUIRED);
    sis__field_object(f, "a", &c->sides[0], pass_side);
    sis__field_object(f, "b", &c->sides[1], pass_side);
    sis__field_object(f, "decisions", c, pass_decisions);
    sis__field_object(f, "scores", c, pass_scores);
    if (sis__reading(f))
        c->joint.eps = NAN;
    if (sis__field_there(f, "joint", 1))
        sis__field_object(f, "joint", &c->joint, sis__clustering_pass);
    sis__field_entries(f, "differ", &c->differences, &c->n_differences, &difference);
}

static const sis__finding kind = {.what = "a comparison",
                                  .writer = "sis compare --output",
                                  .field = "decisions",
                                  .size = sizeof(sis_comparison),
                                  .held = offsetof(sis_comparison, held),
                                  .pass = pass_comparison};

int sis_comparison_format(const sis_comparison *c, char **text, size_t *n) {
    return sis__finding_format(&kind, c, text, n);
}

int sis_comparison_parse(const char *text, size_t n, sis_comparison *out) {
    return sis__finding_parse(&kind, text, n, out);
}

void sis_comparison_release(sis_comparison *c) {
    sis__held_free(c->held);
    *c = (sis_comparison){0};
}
