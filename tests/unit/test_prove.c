/* SPDX-License-Identifier: MIT
 *
 * sis/prove.h: subsets of open models that hold for every value of the rest.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static sis_prove_opt ask(subject *s, uint64_t seed) {
    static const unsigned char all[MADE_COLUMNS] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    sis_prove_opt opt;
    double score = score_of(s, s->x, &s->input.output);
    sis_prove_opt_init(&opt);
    opt.keep_class = forest.classes;
    opt.below = seed / 2 % 2;
    opt.missing = seed / 4 % 2 ? all : NULL;
    opt.threshold = seed % 3 ? score + (opt.below ? 0.05 : -0.05) : score; /* ties */
    if (!forest.classes)
        s->input.output = 0;
    return opt;
}

static int stays(const subject *s, const sis_prove_opt *opt, const double *row) {
    size_t found;
    double margins[8], score = score_of(s, row, &found);
    s->model.predict(s->model.ctx, row, 1, forest.columns, margins);
    return opt->keep_class ? margins[found] <= margins[s->input.output] + 1e-9
                           : sis_decided(score, opt->threshold, opt->below);
}

/* Random values of the other features never change the decision, and never score worse than the
 * bound. */
static void check_random(const subject *s, const sis_prove_opt *opt, const sis_subset *p,
                         double bound, sis__rng *r) {
    size_t top;
    double row[MADE_COLUMNS];
    for (int i = 0; i < 100; i++) {
        for (size_t j = 0; j < forest.columns; j++)
            do
                row[j] = made_value(&forest, r);
            while (isnan(row[j]) && !opt->missing);
        for (size_t k = 0; k < p->n; k++)
            row[p->features[k]] = s->x[p->features[k]];
        assert_true(stays(s, opt, row));
        if (!isnan(bound))
            assert_true(opt->below ? score_of(s, row, &top) <= bound : score_of(s, row, &top) >= bound);
    }
}

/* For each feature there is an example that loses the decision without it. */
static void check_needed(const subject *s, const sis_prover *prover, const sis_prove_opt *opt,
                         const sis_subset *p) {
    double row[MADE_COLUMNS];
    int holds;
    assert_int_equal(sis_prove_check(prover, &s->input, opt, p->features, p->n, &holds, NULL),
                     SIS_OK);
    assert_int_equal(holds, 1);
    for (size_t k = 0; k < p->n; k++) {
        int without[MADE_COLUMNS], n = 0;
        for (size_t i = 0; i < p->n; i++)
            if (i != k)
                without[n++] = p->features[i];
        assert_int_equal(sis_prove_check(prover, &s->input, opt, without, (size_t)n, &holds, row),
                         SIS_OK);
        assert_int_equal(holds, 0);
        assert_false(stays(s, opt, row));
    }
}

/* The audit accepts the claim, and rejects changed claims. */
static void check_audits(const subject *s, const sis_prover *prover, const sis_prove_opt *opt,
                         sis_collection *c, const sis_guarantee *g) {
    sis_audit a;
    assert_int_equal(sis_prove_audit(prover, &s->input, opt, c, g, &a), SIS_OK);
    assert_string_equal(a.reason, "");
    assert_true(a.holds);
    sis_audit_release(&a);
    if (c->status != SIS_STATUS_EXPLAINED)
        return;
    c->subsets[0].n--; /* without a feature that it needs */
    assert_int_equal(sis_prove_audit(prover, &s->input, opt, c, g, &a), SIS_OK);
    assert_false(a.holds);
    sis_audit_release(&a);
    c->subsets[0].n++;
    if (!g->bounds || isnan(g->bounds[0]))
        return;
    double was = g->bounds[0]; /* better than the score of a known input */
    g->bounds[0] = c->subsets[0].score + (opt->below ? -0.001 : 0.001);
    assert_int_equal(sis_prove_audit(prover, &s->input, opt, c, g, &a), SIS_OK);
    assert_false(a.holds);
    sis_audit_release(&a);
    g->bounds[0] = was;
}

/* Smallest subsets and contrasts of the same decision, and their audits. */
static void check_others(const subject *s, const sis_prover *prover, const sis_prove_opt *asked,
                         size_t size) {
    sis_prove_opt opt = *asked;
    sis_collection c;
    sis_guarantee g;
    opt.smallest = 1;
    assert_int_equal(sis_prove_collect(prover, &s->input, &opt, &c, &g), SIS_OK);
    assert_true(g.smallest && c.n_subsets == 1 && c.subsets[0].n <= size);
    check_audits(s, prover, &opt, &c, &g);
    sis_collection_release(&c);
    sis_guarantee_release(&g);
    opt.smallest = 0;
    opt.contrast = 1;
    opt.max_subsets = 2;
    assert_int_equal(sis_prove_collect(prover, &s->input, &opt, &c, &g), SIS_OK);
    assert_true(g.minimal && c.n_subsets == g.n_examples && c.n_subsets >= 1);
    assert_false(stays(s, &opt, g.examples));
    check_audits(s, prover, &opt, &c, &g);
    sis_guarantee bare = g; /* examples that are not in the record are found again */
    bare.examples = NULL;
    bare.n_examples = 0;
    check_audits(s, prover, &opt, &c, &bare);
    sis_collection_release(&c);
    sis_guarantee_release(&g);
}

static void subsets_hold_for_all_values_of_the_rest(void **state) {
    (void)state;
    size_t several = 0, fixed = 0, bounded = 0;
    for (uint64_t seed = 0; seed < 60; seed++) {
        subject s;
        sis__rng r;
        sis_prover *prover;
        sis_collection c;
        sis_guarantee g;
        subject_open(&s, seed);
        sis__rng_init(&r, seed);
        sis_prove_opt opt = ask(&s, seed);
        assert_int_equal(sis_prover_new(&s.model, &prover), SIS_OK);
        assert_int_equal(sis_prove_collect(prover, &s.input, &opt, &c, &g), SIS_OK);
        assert_true(g.kind == SIS_GUARANTEE_ALL && g.proved && g.minimal);
        assert_true(c.complete || c.status == SIS_STATUS_DEFAULT_DECISION);
        for (size_t k = 0; k < c.n_subsets; k++) {
            assert_int_equal(g.n_bounds, opt.keep_class ? 0 : c.n_subsets);
            double bound = g.n_bounds ? g.bounds[k] : NAN;
            check_random(&s, &opt, &c.subsets[k], bound, &r);
            bounded += (size_t)!isnan(bound);
            check_needed(&s, prover, &opt, &c.subsets[k]);
        }
        check_audits(&s, prover, &opt, &c, &g);
        if (c.n_subsets)
            check_others(&s, prover, &opt, c.subsets[0].n);
        several += c.n_subsets > 1;
        fixed += c.status == SIS_STATUS_DEFAULT_DECISION;
        sis_collection_release(&c);
        sis_guarantee_release(&g);
        sis_prover_free(prover);
        sis_model_close(&s.model);
    }
    assert_true(several > 0 && fixed > 0 && fixed < 30 && bounded > 10);
}

static int predict_nothing(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx, (void)rows, (void)width;
    for (size_t i = 0; i < n; i++)
        scores[i] = 0;
    return 0;
}

static void other_models_and_missing_thresholds_are_refused(void **state) {
    (void)state;
    double own[4] = {0};
    sis_model model = {.size = sizeof model,
                       .predict = predict_nothing,
                       .ctx = own,
                       .n_outputs = 1,
                       .n_values = 1};
    sis_prove_opt opt;
    sis_prover *prover;
    sis_collection c;
    sis_guarantee g;
    subject s;
    int holds;
    sis_prove_opt_init(&opt);
    assert_int_equal(sis_prover_new(&model, &prover), SIS_E_UNSUPPORTED);
    assert_message_has("XGBoost");
    subject_open(&s, 1);
    assert_int_equal(sis_prover_new(&s.model, &prover), SIS_OK);
    assert_int_equal(sis_prove_collect(prover, &s.input, &opt, &c, &g), SIS_E_ARGUMENT);
    assert_message_has("no threshold");
    opt = ask(&s, 1);
    assert_int_equal(sis_prove_check(prover, &s.input, &opt, (int[]){99}, 1, &holds, NULL),
                     SIS_E_ARGUMENT);
    assert_int_equal(holds, -1);
    double low[64], high[64]; /* an empty domain: everything holds */
    assert_in_range(s.input.n_values, 1, 64);
    for (size_t j = 0; j < s.input.n_values; j++) {
        low[j] = s.input.values[j] + 1;
        high[j] = s.input.values[j] - 1;
    }
    sis_prove_opt empty = opt;
    empty.low = low;
    empty.high = high;
    assert_int_equal(sis_prove_collect(prover, &s.input, &empty, &c, &g), SIS_E_ARGUMENT);
    assert_message_has("the range of value 0 is empty");
    s.input.n_values--;
    assert_int_equal(sis_prove_collect(prover, &s.input, &opt, &c, &g), SIS_E_ARGUMENT);
    sis_prover_free(prover);
    sis_model_close(&s.model);
}

/* A foreign record may claim an empty list: it is audited like any other. */
static void an_empty_list_of_smallest_subsets_is_audited(void **state) {
    (void)state;
    size_t refuted = 0, believed = 0;
    for (uint64_t seed = 0; seed < 20; seed++) {
        subject s;
        sis_prover *prover;
        sis_collection c, claim;
        sis_guarantee g;
        sis_audit a;
        subject_open(&s, seed);
        sis_prove_opt opt = ask(&s, seed);
        assert_int_equal(sis_prover_new(&s.model, &prover), SIS_OK);
        assert_int_equal(sis_prove_collect(prover, &s.input, &opt, &c, &g), SIS_OK);
        claim = c;
        claim.n_subsets = 0;
        claim.subsets = NULL;
        claim.complete = 0;
        g.smallest = 1;
        assert_int_equal(sis_prove_audit(prover, &s.input, &opt, &claim, &g, &a), SIS_OK);
        assert_int_equal(a.holds, c.status == SIS_STATUS_DEFAULT_DECISION);
        refuted += !a.holds;
        believed += a.holds != 0;
        sis_audit_release(&a);
        sis_collection_release(&c);
        sis_guarantee_release(&g);
        sis_prover_free(prover);
        sis_model_close(&s.model);
    }
    assert_true(refuted > 0 && believed > 0);
}

/* One tree: a < at -> yes, else no; near 0.3 and 0.7, which are not floats (0.3f is larger, 0.7f
 * smaller). */
static sis_model open_stump(const char *at, double yes, double no, const char *objective) {
    char text[1024];
    sis_model model;
    int n = snprintf(
        text, sizeof text,
        "{\"learner\":{\"attributes\":{},\"feature_names\":[],\"feature_types\":[],"
        "\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"gbtree_model_param\":"
        "{\"num_trees\":\"1\",\"num_parallel_tree\":\"1\"},\"tree_info\":[0],\"trees\":[{"
        "\"tree_param\":{\"num_nodes\":\"3\",\"num_feature\":\"1\",\"size_leaf_vector\":\"1\"},"
        "\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"split_indices\":[0,0,0],"
        "\"split_conditions\":[%s,%g,%g],\"default_left\":[0,0,0],\"split_type\":[0,0,0],"
        "\"categories\":[],\"categories_nodes\":[],\"categories_segments\":[],"
        "\"categories_sizes\":[]}]}},\"learner_model_param\":{\"base_score\":\"%s\","
        "\"num_class\":\"0\",\"num_feature\":\"1\",\"num_target\":\"1\"},"
        "\"objective\":{\"name\":\"%s\"}},\"version\":[2,0,0]}",
        at, yes, no, strncmp(objective, "binary", 6) == 0 ? "0.5" : "0", objective);
    assert_int_equal(sis_model_open(folder_write("stump.json", text, (size_t)n), NULL, &model),
                     SIS_OK);
    return model;
}

static void domain_bounds_are_rounded_like_tree_inputs(void **state) {
    (void)state;
    const double x = 0.5, from[] = {0.1, 0.7}, to[] = {0.3, 0.9}, within[] = {0.2, 0.8};
    for (int i = 0; i < 4; i++) { /* 0.3 as upper end, 0.7 as lower end, then inside of them */
        int side = i % 2, holds;
        double low = from[side], high = to[side], y, row;
        sis_model model = side ? open_stump("0.70000005", -2, 2, "reg:squarederror")
                               : open_stump("0.3", 2, -2, "reg:squarederror");
        if (i >= 2 && side)
            low = 0.7000001;
        else if (i >= 2)
            high = 0.2999999;
        sis_prove_opt opt;
        sis_prover *p;
        sis_prove_opt_init(&opt);
        opt.threshold = 0;
        opt.low = &low;
        opt.high = &high;
        const sis_input in = {.values = &within[side], .mask = &x, .n_values = 1};
        assert_int_equal(sis_prover_new(&model, &p), SIS_OK);
        assert_int_equal(model.predict(model.ctx, side ? &low : &high, 1, 1, &y), SIS_OK);
        assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, &row), SIS_OK);
        assert_true(holds == (y >= 0) && holds == (i >= 2));
        sis_prover_free(p);
        sis_model_close(&model);
    }
}

/* A score that equals the threshold in single precision has the decision; one between the two
 * does not. */
static void thresholds_are_met_in_single_precision(void **state) {
    (void)state;
    static const struct {
        double yes, no, threshold;
        int below;
        const char *objective;
    } cases[] = {{0.7, 0.2, 0.7, 0, "reg:squarederror"},        /* 0.7f is smaller */
                 {0.3, 0.8, 0.3, 1, "reg:squarederror"},        /* 0.3f is larger */
                 {-1, 25, 0.9999999999, 1, "binary:logistic"}}; /* 1 is decided, 1 - 1e-11 not */
    const double x = 0;
    const int all[] = {0};
    const sis_input in = {.values = &x, .mask = &x, .n_values = 1};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_model model = open_stump("0.5", cases[i].yes, cases[i].no, cases[i].objective);
        sis_prove_opt opt;
        sis_prover *p;
        int holds;
        sis_prove_opt_init(&opt);
        opt.threshold = cases[i].threshold;
        opt.below = cases[i].below;
        assert_int_equal(sis_prover_new(&model, &p), SIS_OK);
        assert_int_equal(sis_prove_check(p, &in, &opt, all, 1, &holds, NULL), SIS_OK);
        assert_int_equal(holds, 1);
        assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, NULL), SIS_OK);
        assert_int_equal(holds, 0);
        sis_prover_free(p);
        sis_model_close(&model);
    }
}

typedef struct {
    subject s;
    sis_prove_opt opt;
} case_of;

static int collect_once(void *ctx) {
    const case_of *t = (const case_of *)ctx;
    sis_prover *prover;
    sis_collection c;
    sis_guarantee g;
    sis_audit a;
    int error = sis_prover_new(&t->s.model, &prover);
    if (!error)
        error = sis_prove_collect(prover, &t->s.input, &t->opt, &c, &g);
    if (!error) {
        error = sis_prove_audit(prover, &t->s.input, &t->opt, &c, &g, &a);
        if (!error)
            sis_audit_release(&a);
        sis_collection_release(&c);
        sis_guarantee_release(&g);
    }
    sis_prover_free(prover);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    case_of t;
    subject_open(&t.s, 3);
    t.s.input.values = t.s.input.mask = t.s.x;
    t.opt = ask(&t.s, 3);
    t.opt.tries = 8;
    assert_true(with_failing_allocations(collect_once, &t) > 30);
    sis_model_close(&t.s.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(subsets_hold_for_all_values_of_the_rest),
        cmocka_unit_test(an_empty_list_of_smallest_subsets_is_audited),
        cmocka_unit_test(domain_bounds_are_rounded_like_tree_inputs),
        cmocka_unit_test(thresholds_are_met_in_single_precision),
        cmocka_unit_test(other_models_and_missing_thresholds_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
