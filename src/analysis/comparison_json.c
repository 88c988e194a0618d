/* SPDX-License-Identifier: MIT
 *
 * A comparison of two models as one JSON object. See sis/analysis.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "analysis/clustering.h"
#include "base/json.h"
#include "results/fields.h"

static const char *const SIDES[] = {"a", "b"}, *const CROSSES[] = {"a_by_b", "b_by_a"},
                         *const DIRECTIONS[] = {">=", "<="};

static const char *const DECISIONS[] = {
#define DECISION_NAME(code, name) name,
    SIS_DECISIONS(DECISION_NAME)
#undef DECISION_NAME
};

double sis_comparison_agreement(const sis_comparison *c) {
    size_t same = c->decisions[SIS_DECISION_SAME] + c->decisions[SIS_DECISION_NEITHER];
    return c->common ? (double)same / (double)c->common : NAN;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void put_side(sis__buf *b, const char *name, const sis_side *s) {
    sis__json_object(b, name);
    sis__json_text(b, "results", s->results);
    sis__json_text(b, "model", s->model);
    sis__json_count(b, "n", s->n);
    sis__json_count(b, "subsets", s->subsets);
    sis__json_number(b, "threshold", s->threshold);
    sis__json_text(b, "direction", DIRECTIONS[s->below != 0]);
    sis__buf_char(b, '}');
}

static void put_decisions(sis__buf *b, const sis_comparison *c) {
    sis__json_object(b, "decisions");
    sis__json_count(b, "common", c->common);
    for (int k = 0; k < SIS_N_DECISIONS; k++)
        sis__json_count(b, DECISIONS[k], c->decisions[k]);
    sis__json_number(b, "agreement", sis_comparison_agreement(c));
    sis__buf_char(b, '}');
}

static void put_cross(sis__buf *b, const char *name, const sis_cross *x) {
    static const double none;
    sis__json_object(b, name);
    sis__json_count(b, "n", x->n);
    sis__json_number(b, "sufficient", x->sufficient);
    sis__json_numbers(b, "quantiles", x->n_quantiles ? x->quantiles : &none, x->n_quantiles);
    sis__json_numbers(b, "scores", x->n ? x->scores : &none, x->n);
    sis__json_numbers(b, "own_quantiles", x->n_quantiles ? x->own_quantiles : &none,
                      x->n_quantiles);
    sis__buf_char(b, '}');
}

static void put_differences(sis__buf *b, const sis_comparison *c) {
    sis__json_list(b, "differ");
    for (size_t i = 0; i < c->n_differences; i++) {
        const sis_difference *d = &c->differences[i];
        sis__buf_str(b, i ? ",\n{" : "\n{");
        sis__json_text(b, "id", d->id);
        sis__json_number(b, "distance", d->distance);
        for (size_t k = 0; k < 2; k++)
            sis__json_texts(b, SIDES[k], d->patterns[k], d->n_patterns[k]);
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, ']');
}

int sis_comparison_format(const sis_comparison *c, char **text, size_t *n) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    for (size_t k = 0; k < 2; k++)
        put_side(&b, SIDES[k], &c->sides[k]);
    put_decisions(&b, c);
    sis__json_object(&b, "scores");
    for (size_t k = 0; k < 2; k++)
        put_cross(&b, CROSSES[k], &c->cross[k]);
    sis__buf_char(&b, '}');
    sis__json_name(&b, "joint");
    sis__clustering_put(&b, &c->joint);
    put_differences(&b, c);
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, text, n);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void take_side(sis__fields *f, const char *name, sis_side *s) {
    sis__fields in = sis__enter(f, name, SIS__REQUIRED);
    s->threshold = NAN;
    s->results = sis__take_text_or(&in, "results", "");
    s->model = sis__take_text_or(&in, "model", "");
    sis__take_count(&in, "n", SIS__OPTIONAL, &s->n);
    sis__take_count(&in, "subsets", SIS__OPTIONAL, &s->subsets);
    sis__take_number(&in, "threshold", SIS__OPTIONAL, &s->threshold);
    s->below = strcmp(sis__take_text_or(&in, "direction", ">="), "<=") == 0;
    sis__leave(f, &in);
}

static void take_decisions(sis__fields *f, sis_comparison *c) {
    sis__fields in = sis__enter(f, "decisions", SIS__REQUIRED);
    sis__take_count(&in, "common", SIS__OPTIONAL, &c->common);
    for (int k = 0; k < SIS_N_DECISIONS; k++) {
        sis__take_count(&in, DECISIONS[k], SIS__OPTIONAL, &c->decisions[k]);
        if (c->decisions[k] > c->common)
            sis__fields_wrong(&in, DECISIONS[k], "at most the number in common",
                              json_object_get(in.object, DECISIONS[k]));
    }
    sis__leave(f, &in);
}

static void take_cross(sis__fields *f, const char *name, sis_cross *x) {
    sis__fields in = sis__enter(f, name, SIS__OPTIONAL);
    size_t own;
    sis__take_share(&in, "sufficient", &x->sufficient);
    x->scores = sis__take_numbers(&in, "scores", &x->n);
    x->quantiles = sis__take_numbers(&in, "quantiles", &x->n_quantiles);
    x->own_quantiles = sis__take_numbers(&in, "own_quantiles", &own);
    if (x->quantiles)
        sis__fields_pair(&in, "own_quantiles", own, "quantiles", x->n_quantiles);
    x->n_quantiles = own;
    if (own != 0 && own != 5)
        sis__fields_wrong(&in, "own_quantiles", "five numbers",
                          json_object_get(in.object, "own_quantiles"));
    sis__leave(f, &in);
}

static void take_differences(sis__fields *f, sis_comparison *c) {
    const json_t *list = sis__find_list(f, "differ", SIS__OPTIONAL, &c->n_differences);
    sis_difference *all =
        (sis_difference *)sis__fields_room(f, list, c->n_differences, sizeof *all);
    for (size_t i = 0; all && i < c->n_differences && f->code == SIS_OK; i++) {
        sis__fields in = sis__enter_item(f, "differ", list, i);
        all[i].distance = NAN;
        all[i].id = sis__take_text(&in, "id", SIS__REQUIRED);
        sis__take_number(&in, "distance", SIS__OPTIONAL, &all[i].distance);
        for (size_t k = 0; k < 2; k++)
            all[i].patterns[k] = sis__take_texts(&in, SIDES[k], &all[i].n_patterns[k]);
        sis__leave(f, &in);
    }
    c->differences = all;
}

int sis_comparison_parse(const char *text, size_t n, sis_comparison *out) {
    sis__fields f;
    sis_comparison c = {.joint.eps = NAN};
    sis__finding_open(&f, text, n, "a comparison", "sis compare --output", "decisions");
    for (size_t k = 0; k < 2; k++)
        take_side(&f, SIDES[k], &c.sides[k]);
    take_decisions(&f, &c);
    sis__fields scores = sis__enter(&f, "scores", SIS__OPTIONAL);
    for (size_t k = 0; k < 2; k++)
        take_cross(&scores, CROSSES[k], &c.cross[k]);
    sis__leave(&f, &scores);
    if (sis__find_field(&f, "joint", SIS__OPTIONAL)) {
        sis__fields joint = sis__enter(&f, "joint", SIS__REQUIRED);
        sis__clustering_take(&joint, &c.joint);
        sis__leave(&f, &joint);
    }
    take_differences(&f, &c);
    int code = sis__finding_close(&f, &c.held);
    *out = code == SIS_OK ? c : (sis_comparison){0};
    return code;
}

void sis_comparison_release(sis_comparison *c) {
    sis__held_free(c->held);
    *c = (sis_comparison){0};
}
