/* SPDX-License-Identifier: MIT
 *
 * A comparison of two models comes in, as JSON in the format of sis compare. Its joint clusters are
 * read as any clusters are, and examples whose subsets differ are found among those of the report,
 * by id and file.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/intake.h"

static const char *const SIDES[] = {"a", "b"};

/* ---- Parts ----------------------------------------------------------------------------------- */

static void take_side(sis__intake *in, const char *name, sis__side *s) {
    const json_t *o = sis__take_object(in, in->root, name);
    const char *direction = json_string_value(json_object_get(o, "direction"));
    if (!o)
        sis__intake_wrong(in, name, "an object");
    s->results = sis__take_text(in, json_object_get(o, "results"));
    s->model = sis__take_text(in, json_object_get(o, "model"));
    s->n = sis__take_count(in, o, "n");
    s->subsets = sis__take_count(in, o, "subsets");
    s->threshold = sis__take_number(in, o, "threshold");
    s->below = direction && strcmp(direction, "<=") == 0;
}

static void take_decisions(sis__intake *in, sis__comparison *c) {
    static const char *const names[SIS__DECISIONS] = {"same", "other_output", "only_a", "only_b",
                                                      "neither"};
    const json_t *o = sis__take_object(in, in->root, "decisions");
    c->common = sis__take_count(in, o, "common");
    for (int k = 0; k < SIS__DECISIONS; k++) {
        c->decisions[k] = sis__take_count(in, o, names[k]);
        if (c->decisions[k] > c->common)
            sis__intake_wrong(in, names[k], "no more than are common");
    }
}

static void take_cross(sis__intake *in, const json_t *scores, const char *name, sis__cross *x) {
    const json_t *o = sis__take_object(in, scores, name);
    x->sufficient = sis__take_number(in, o, "sufficient");
    if (x->sufficient < 0 || x->sufficient > 1)
        sis__intake_wrong(in, "sufficient", "a share from 0 to 1");
    sis__take_numbers(in, o, "scores", &x->scores);
    sis__take_numbers(in, o, "own_quantiles", &x->own_quantiles);
    if (x->own_quantiles.n != 0 && x->own_quantiles.n != 5)
        sis__intake_wrong(in, "own_quantiles", "five numbers");
}

static void take_patterns(sis__intake *in, const json_t *o, size_t side, sis__difference *d) {
    const json_t *list = sis__take_list(in, o, SIDES[side], 0);
    size_t n = json_array_size(list);
    d->patterns[side] = (char **)sis__take_room(in, n, sizeof *d->patterns[side]);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++)
        if ((d->patterns[side][i] = sis__take_text(in, json_array_get(list, i))))
            d->n_patterns[side]++;
}

static void take_difference(sis__intake *in, const sis__comparison *c, const json_t *o,
                            sis__difference *d) {
    const char *id = json_string_value(json_object_get(o, "id"));
    if (!id) {
        sis__intake_wrong(in, "differ", "objects with an id");
        return;
    }
    d->id = sis__take_copy(in, id);
    d->distance = sis__take_number(in, o, "distance");
    for (size_t k = 0; k < 2; k++) {
        d->examples[k] =
            in->code == SIS_OK ? sis__find_example(in, id, c->sides[k].results) : SIZE_MAX;
        take_patterns(in, o, k, d);
    }
}

static void take_differences(sis__intake *in, sis__comparison *c) {
    const json_t *list = sis__take_list(in, in->root, "differ", 0);
    size_t n = json_array_size(list);
    c->differences = (sis__difference *)sis__take_room(in, n, sizeof *c->differences);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++)
        take_difference(in, c, json_array_get(list, i), &c->differences[c->n_differences++]);
}

static void take_comparison(sis__intake *in, void *item) {
    sis__comparison *c = (sis__comparison *)item;
    const json_t *scores = sis__take_object(in, in->root, "scores");
    const json_t *joint = sis__take_object(in, in->root, "joint");
    for (size_t k = 0; k < 2; k++)
        take_side(in, SIDES[k], &c->sides[k]);
    take_decisions(in, c);
    take_cross(in, scores, "a_by_b", &c->cross[0]);
    take_cross(in, scores, "b_by_a", &c->cross[1]);
    if (joint)
        sis__take_clusters(in, joint, &c->joint);
    take_differences(in, c);
}

/* ---- In and out ------------------------------------------------------------------------------ */

static void release_difference(sis__difference *d) {
    for (size_t k = 0; k < 2; k++) {
        for (size_t i = 0; i < d->n_patterns[k]; i++)
            free(d->patterns[k][i]);
        free(d->patterns[k]);
    }
    free(d->id);
}

static void release_comparison(void *item) {
    sis__comparison *c = (sis__comparison *)item;
    for (size_t k = 0; k < 2; k++) {
        free(c->sides[k].results);
        free(c->sides[k].model);
        sis__numbers_release(&c->cross[k].scores);
        sis__numbers_release(&c->cross[k].own_quantiles);
    }
    for (size_t i = 0; i < c->n_differences; i++)
        release_difference(&c->differences[i]);
    sis__kind_clusters.release(&c->joint);
    free(c->differences);
}

const sis__kind sis__kind_comparison = {
    "a comparison",          "sis compare --output", "decisions",
    sizeof(sis__comparison), take_comparison,        release_comparison,
};

int sis_report_add_comparison(sis_report *report, const char *name, const char *json, size_t n) {
    sis__intake in = {.report = report, .name = name, .json = json, .n_json = n};
    void *list = report->comparisons;
    int code = sis__intake_add(&in, &sis__kind_comparison, &list, &report->n_comparisons);
    report->comparisons = (sis__comparison *)list;
    return code;
}

/* ---- Sides ----------------------------------------------------------------------------------- */

double sis__side_share(const sis__comparison *c, const sis__cluster *cluster, size_t side) {
    for (size_t i = 0; i < cluster->n_shares; i++)
        if (strcmp(cluster->sources[i], c->sides[side].results) == 0)
            return fmax(0, fmin(1, cluster->shares[i]));
    return 0;
}

size_t sis__side_run(const sis_report *report, const sis__side *side) {
    size_t best = SIZE_MAX;
    int best_match = 0;
    for (size_t i = 0; i < report->n_runs; i++) {
        int match = sis__same_source(report->runs[i].source, side->results);
        if (match > best_match) {
            best_match = match;
            best = i;
        }
    }
    return best;
}

/* The stem of what tells both sides apart: their models, otherwise their results. */
void sis__side_name(const sis__comparison *c, size_t side, char *text, size_t size) {
    const sis__side *s = c->sides;
    const char *stems[2];
    int n[2];
    for (int by_results = 0; by_results < 2; by_results++) {
        for (size_t k = 0; k < 2; k++)
            stems[k] = sis__file_name(by_results ? s[k].results : s[k].model, &n[k]);
        if (n[0] != n[1] || memcmp(stems[0], stems[1], (size_t)n[0]) != 0) {
            snprintf(text, size, "%.*s", n[side] < 200 ? n[side] : 200, stems[side]);
            return;
        }
    }
    snprintf(text, size, "%c", side ? 'B' : 'A');
}
