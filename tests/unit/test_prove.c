/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h: subsets of opened models that hold for every value of the rest.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>

#include <sis/model.h>
#include <sis/prove.h>

#include "support_data.h"
#include "support_trees.h"

static made_forest forest;

typedef struct {
    sis_model model;
    double x[MADE_COLUMNS];
    sis_input input;
} subject;

static void subject_open(subject *s, uint64_t seed) {
    sis__rng r;
    size_t n;
    sis__rng_init(&r, seed);
    do
        made_forest_init(&forest, 1, &r);
    while (forest.linear || forest.columns < 4);
    if (!forest.classes)
        forest.objective = seed % 2 ? "binary:logistic" : "reg:squarederror";
    char *bytes = made_xgboost(&forest, 0, &n);
    assert_int_equal(sis_model_open(folder_write("m.json", bytes, n), NULL, &s->model), SIS_OK);
    free(bytes);
    for (size_t j = 0; j < forest.columns; j++)
        s->x[j] = made_value(&forest, &r);
    s->input = (sis_input){.values = s->x, .mask = s->x, .n_values = forest.columns};
}

static double score_of(const subject *s, const double *row, size_t *top) {
    double margins[8], best = -INFINITY;
    assert_int_equal(s->model.predict(s->model.ctx, row, 1, forest.columns, margins), SIS_OK);
    for (size_t k = 0; k < forest.outputs; k++)
        if (margins[k] > best) {
            best = margins[k];
            *top = k;
        }
    return s->model.link ? s->model.link(margins[0]) : margins[0];
}

static sis_prove_opt ask(const subject *s, uint64_t seed, size_t *top) {
    sis_prove_opt opt;
    double score = score_of(s, s->x, top);
    sis_prove_opt_init(&opt);
    opt.keep_class = forest.classes;
    opt.below = seed / 2 % 2;
    opt.missing = seed / 4 % 2;
    opt.threshold = seed % 3 ? score + (opt.below ? 0.05 : -0.05) : score; /* ties */
    return opt;
}

static int stays(const subject *s, const sis_prove_opt *opt, size_t top, const double *row) {
    size_t found;
    double score = score_of(s, row, &found);
    return opt->keep_class ? found == top : sis_decided(score, opt->threshold, opt->below);
}

/* Random values for what is not kept never change the decision; giving up any feature is answered
 * by an example that does. */
static void subsets_hold_whatever_the_rest_is(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 60; seed++) {
        subject s;
        sis__rng r;
        sis_proven p;
        size_t top;
        double row[MADE_COLUMNS];
        int holds;
        subject_open(&s, seed);
        sis__rng_init(&r, seed);
        sis_prove_opt opt = ask(&s, seed, &top);
        assert_int_equal(sis_prove_subset(&s.model, &s.input, &opt, &p), SIS_OK);
        assert_true(p.proved);
        for (int i = 0; i < 300; i++) {
            for (size_t j = 0; j < forest.columns; j++)
                do
                    row[j] = made_value(&forest, &r);
                while (isnan(row[j]) && !opt.missing);
            for (size_t k = 0; k < p.n; k++)
                row[p.features[k]] = s.x[p.features[k]];
            assert_true(stays(&s, &opt, top, row));
        }
        assert_int_equal(sis_prove_check(&s.model, &s.input, &opt, p.features, p.n, &holds, NULL),
                         SIS_OK);
        assert_int_equal(holds, 1);
        for (size_t k = 0; k < p.n; k++) {
            int without[MADE_COLUMNS], n = 0;
            for (size_t i = 0; i < p.n; i++)
                if (i != k)
                    without[n++] = p.features[i];
            assert_int_equal(
                sis_prove_check(&s.model, &s.input, &opt, without, (size_t)n, &holds, row), SIS_OK);
            assert_int_equal(holds, 0);
            assert_false(stays(&s, &opt, top, row));
        }
        sis_proven_release(&p);
        sis_model_close(&s.model);
    }
}

static int predict_nothing(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx, (void)rows, (void)width;
    for (size_t i = 0; i < n; i++)
        scores[i] = 0;
    return 0;
}

static void other_models_and_missing_thresholds_are_refused(void **state) {
    (void)state;
    double x = 0, own[4] = {0};
    sis_model model = {.predict = predict_nothing, .ctx = own, .n_outputs = 1, .n_values = 1};
    sis_input input = {.values = &x, .mask = &x, .n_values = 1};
    sis_prove_opt opt;
    sis_proven p;
    subject s;
    int holds;
    sis_prove_opt_init(&opt);
    assert_int_equal(sis_prove_subset(&model, &input, &opt, &p), SIS_E_UNSUPPORTED);
    subject_open(&s, 1);
    assert_int_equal(sis_prove_subset(&s.model, &s.input, &opt, &p), SIS_E_ARGUMENT);
    assert_message_has("no threshold");
    opt.keep_class = forest.classes;
    opt.threshold = 0;
    opt.below = !forest.classes && score_of(&s, s.x, &(size_t){0}) <= 0;
    assert_int_equal(sis_prove_check(&s.model, &s.input, &opt, (int[]){99}, 1, &holds, NULL),
                     SIS_E_ARGUMENT);
    assert_int_equal(holds, -1);
    s.input.n_values--;
    assert_int_equal(sis_prove_subset(&s.model, &s.input, &opt, &p), SIS_E_ARGUMENT);
    sis_model_close(&s.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subsets_hold_whatever_the_rest_is),
        cmocka_unit_test(other_models_and_missing_thresholds_are_refused),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
