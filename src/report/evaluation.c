/* SPDX-License-Identifier: MIT
 *
 * An evaluation of several methods comes in, as JSON in the format of sis evaluate: of each method
 * the numbers of its rationales, and what was tested.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/intake.h"

static const char *const MEASURES[SIS__MEASURES] = {"length",     "score",      "inside",
                                                    "outside",    "marked",     "divergence",
                                                    "sufficient", "deck_holds", "half_holds"};

static double take_measure(sis__intake *in, const json_t *rationale, int k) {
    const json_t *v = json_object_get(rationale, MEASURES[k]);
    if (json_is_boolean(v))
        return json_is_true(v);
    double x = sis__take_number(in, rationale, MEASURES[k]);
    if (k >= SIS__SUFFICIENT && (x < 0 || x > 1))
        sis__intake_wrong(in, MEASURES[k], "a share from 0 to 1");
    return x;
}

/* The QHS of the example a rationale is of; NaN: it has none. Rationales mostly come in the order
 * of the examples, so the search begins where the last one ended. */
static double find_qhs(sis__intake *in, const json_t *rationale, size_t *at) {
    const json_t *examples = json_object_get(in->root, "examples");
    const char *id = json_string_value(json_object_get(rationale, "id"));
    size_t n = json_array_size(examples);
    for (size_t tries = 0; id && tries < n; tries++, *at = (*at + 1) % n) {
        const json_t *e = json_array_get(examples, *at);
        const char *other = json_string_value(json_object_get(e, "id"));
        if (other && strcmp(other, id) == 0)
            return sis__take_number(in, e, "qhs");
    }
    return NAN;
}

static void take_rationales(sis__intake *in, const json_t *method, sis__rated *m) {
    const json_t *list = sis__take_list(in, method, "rationales", 1);
    size_t at = 0;
    m->n = json_array_size(list);
    for (size_t i = 0; i < m->n && in->code == SIS_OK; i++) {
        const json_t *o = json_array_get(list, i);
        if (!json_is_object(o))
            sis__intake_wrong(in, "rationales", "objects");
        for (int k = 0; k < SIS__MEASURES && in->code == SIS_OK; k++) {
            double x = take_measure(in, o, k);
            if (in->code == SIS_OK)
                in->code = sis__numbers_add(&m->measures[k], x);
        }
        double qhs = find_qhs(in, o, &at);
        if (in->code == SIS_OK)
            in->code = sis__numbers_add(&m->qhs, qhs);
    }
}

static void take_summary(sis__intake *in, const json_t *method, sis__rated *m) {
    static const char *const tests[SIS__TESTS] = {"length", "score", "importance", "marked",
                                                  "divergence"};
    const json_t *o = sis__take_object(in, method, "summary");
    m->pearson_r = sis__take_number(in, o, "pearson_r");
    m->pearson_p = sis__take_number(in, o, "pearson_p");
    for (int k = 0; k < SIS__TESTS; k++) {
        const json_t *q = sis__take_object(in, o, tests[k]);
        m->medians[k] = sis__take_number(in, q, k == 2 ? "median_inside" : "median");
        m->rank_sum[k] = sis__take_number(in, q, "rank_sum_p");
        m->signed_rank[k] = sis__take_number(in, q, "signed_rank_p");
    }
}

static void take_evaluation(sis__intake *in, void *item) {
    sis__evaluation *e = (sis__evaluation *)item;
    const json_t *list = sis__take_list(in, in->root, "methods", 1);
    size_t n = json_array_size(list);
    e->model = sis__take_text(in, json_object_get(in->root, "model"));
    e->motif = sis__take_text(in, json_object_get(in->root, "motif"));
    e->n_examples = json_array_size(sis__take_list(in, in->root, "examples", 0));
    const json_t *study = sis__take_object(in, in->root, "imputation");
    sis__take_numbers(in, study, "by_mask", &e->imputation[0]);
    sis__take_numbers(in, study, "by_hotdeck", &e->imputation[1]);
    e->methods = (sis__rated *)sis__take_room(in, n, sizeof *e->methods);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++) {
        const json_t *o = json_array_get(list, i);
        sis__rated *m = &e->methods[e->n_methods++];
        if (!json_is_object(o))
            sis__intake_wrong(in, "methods", "objects");
        m->name = sis__take_text(in, json_object_get(o, "name"));
        take_summary(in, o, m);
        take_rationales(in, o, m);
    }
}

static void release_evaluation(void *item) {
    sis__evaluation *e = (sis__evaluation *)item;
    for (size_t i = 0; i < e->n_methods; i++) {
        for (int k = 0; k < SIS__MEASURES; k++)
            sis__numbers_release(&e->methods[i].measures[k]);
        sis__numbers_release(&e->methods[i].qhs);
        free(e->methods[i].name);
    }
    for (int k = 0; k < 2; k++)
        sis__numbers_release(&e->imputation[k]);
    free(e->methods);
    free(e->model);
    free(e->motif);
}

const sis__kind sis__kind_evaluation = {
    "an evaluation",         "sis evaluate --json", "methods",
    sizeof(sis__evaluation), take_evaluation,       release_evaluation,
};

int sis_report_add_evaluation(sis_report *report, const char *name, const char *json, size_t n) {
    sis__intake in = {.report = report, .name = name, .json = json, .n_json = n};
    void *list = report->evaluations;
    int code = sis__intake_add(&in, &sis__kind_evaluation, &list, &report->n_evaluations);
    report->evaluations = (sis__evaluation *)list;
    return code;
}
