/* SPDX-License-Identifier: MIT
 *
 * Proofs about tree ensembles in ONNX files, compared with an exhaustive search over all inputs
 * that matter.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include <sis/model.h>
#include <sis/net.h>
#include <sis/prove.h>

#include "base/rng.h"
#include "support_ensemble.h"
#include "support_net.h"

enum { COLUMNS = 4, OUTPUTS = 3, GRID = 3, VALUES = 6 * GRID + 4 };

typedef struct {
    size_t outputs;
    int classifier, single, coarse, base, scaled;
    const char *post, *aggregate;
    sis_model model;
    sis_prover *prover;
    sis_prove_opt opt;
    sis_input input;
    double x[COLUMNS], low[COLUMNS], high[COLUMNS];
    unsigned char missing[COLUMNS];
} subject;

static ensemble g;
static const float grid[GRID] = {-0.1f, 0.3f, 1};
static const float offset[COLUMNS] = {0.25f, -1, 3, 0}, scale[COLUMNS] = {2, 0.5f, 0.3f, 1};

static float threshold_of(const void *ctx, size_t column, sis__rng *r) {
    (void)ctx;
    (void)column;
    return grid[sis__rng_below(r, GRID)];
}

static void build(subject *s, sis__rng *r) {
    const int64_t labels[OUTPUTS] = {0, 1, 2};
    const float base[OUTPUTS] = {0.25f, -0.5f, 0.1f};
    sis_net_builder *b = sis_net_builder_new("forest");
    sis_net *net;
    const ensemble_shape like = {.columns = COLUMNS,
                                 .n_weights = s->single ? 1 : s->outputs,
                                 .modes = s->scaled ? 4 : 6,
                                 .steps = s->coarse ? 2 : 0,
                                 .threshold = threshold_of};
    g.n = g.n_weights = 0;
    for (int64_t t = 0; t < 5; t++)
        ensemble_grow(&g, &like, t, 1 + sis__rng_below(r, 3), r);
    sis_net_add_input(b, "x", 0, SHAPE(0, COLUMNS));
    if (s->scaled) {
        sis_net_add_node(b, "ml.Scaler", s->scaled == 2 ? "whole" : "x", "scaled");
        sis_net_attr_floats(b, "offset", offset, COLUMNS);
        sis_net_attr_floats(b, "scale", scale, COLUMNS);
    }
    if (s->scaled == 2) {
        sis_net_add_node(b, "ml.Imputer", "x", "whole");
        sis_net_attr_floats(b, "imputed_value_floats", grid, 1);
        sis_net_attr_float(b, "replaced_value_float", NAN);
    }
    sis_net_add_node(b, s->classifier ? "ml.TreeEnsembleClassifier" : "ml.TreeEnsembleRegressor",
                     s->scaled ? "scaled" : "x", s->classifier ? "label y" : "y");
    if (s->classifier) {
        sis_net_attr_ints(b, "classlabels_int64s", labels, s->outputs);
    } else {
        sis_net_attr_int(b, "n_targets", (int64_t)s->outputs);
        sis_net_attr_text(b, "aggregate_function", s->aggregate);
    }
    ensemble_add(&g, b, s->classifier ? "class" : "target");
    if (s->base)
        sis_net_attr_floats(b, "base_values", base, s->single ? 1 : s->outputs);
    sis_net_attr_text(b, "post_transform", s->post);
    sis_net_add_node(b, "Identity", "y", "named");
    sis_net_add_output(b, "named");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    open_network(net, &s->model);
}

static void scores_of(const subject *s, const double *row, double *scores) {
    assert_int_equal(s->model.predict(s->model.ctx, row, 1, COLUMNS, scores), SIS_OK);
    for (size_t k = 0; s->model.link && k < s->outputs; k++)
        scores[k] = s->model.link(scores[k]);
}

static int stays(const subject *s, const double *row) {
    double scores[OUTPUTS];
    scores_of(s, row, scores);
    for (size_t k = 0; s->opt.keep_class && k < s->outputs; k++)
        if (scores[k] > scores[s->input.output])
            return 0;
    return s->opt.keep_class ||
           sis_decided(scores[s->input.output], s->opt.threshold, s->opt.below);
}

static void draw_subject(subject *s, uint64_t seed, sis__rng *r) {
    static const char *const posts[] = {"NONE", "LOGISTIC", "SOFTMAX"};
    static const char *const aggregates[] = {"SUM", "AVERAGE"};
    double scores[OUTPUTS];
    *s = (subject){.classifier = seed % 3 != 0, .coarse = seed % 2, .base = seed % 5 < 2};
    s->outputs = s->classifier ? 2 + seed / 3 % 2 : 1 + seed % 2;
    s->scaled = seed % 4 == 3 ? 1 + seed / 4 % 2 : 0;
    s->single = s->classifier && s->outputs == 2 && seed % 4 < 2;
    s->opt.keep_class = s->outputs > 1 && sis__rng_below(r, 3) > 0;
    s->post = posts[sis__rng_below(r, s->opt.keep_class ? 3 : 2)];
    s->aggregate = aggregates[sis__rng_below(r, 2)];
    int keep_class = s->opt.keep_class, domain = (int)sis__rng_below(r, 3);
    build(s, r);
    sis_prove_opt_init(&s->opt);
    for (size_t j = 0; j < COLUMNS; j++) {
        s->x[j] = sis__rng_below(r, 2) ? (double)grid[sis__rng_below(r, GRID)] : sis__rng_normal(r);
        s->low[j] = domain == 1 ? fmin(s->x[j], 0) : s->x[j] - 0.5;
        s->high[j] = domain == 1 ? fmax(s->x[j], 1) : s->x[j] + 0.5;
        s->missing[j] = sis__rng_below(r, 3) == 0;
    }
    s->input = (sis_input){.values = s->x, .n_values = COLUMNS};
    scores_of(s, s->x, scores);
    for (size_t k = 1; k < s->outputs; k++)
        s->input.output = scores[k] > scores[s->input.output] ? k : s->input.output;
    s->opt.keep_class = keep_class;
    s->opt.below = (int)sis__rng_below(r, 2);
    s->opt.threshold =
        scores[s->input.output] + (s->opt.below ? 1 : -1) * (double)sis__rng_below(r, 3) * 0.25;
    s->opt.low = domain ? s->low : NULL;
    s->opt.high = domain ? s->high : NULL;
    s->opt.missing = seed % 3 == 1 ? s->missing : NULL;
    s->opt.tries = 32;
    if (sis_prover_new(&s->model, &s->prover) != SIS_OK)
        fail_msg("%s", sis_error_detail());
}

/* ---- Exhaustive search ----------------------------------------------------------------------- */

static int add_value(const subject *s, size_t j, double x, double *v, size_t n) {
    if (!s->opt.low || (x >= s->low[j] && x <= s->high[j]))
        v[n++] = x;
    return (int)n;
}

/* Values on both sides of each threshold of a column's scaled value, found by testing all floats
 * nearby. */
static size_t list_turns(const subject *s, size_t j, float at, double *v, size_t n) {
    float x = at / scale[j] + offset[j];
    int before = -2;
    for (int i = 0; i < 200; i++)
        x = nextafterf(x, -9);
    for (int i = 0; i < 400; i++, x = nextafterf(x, 9)) {
        float z = (x - offset[j]) * scale[j];
        int side = (z > at) - (z < at);
        if (before != -2 && side != before) {
            n = (size_t)add_value(s, j, (double)nextafterf(x, -9), v, n);
            n = (size_t)add_value(s, j, (double)x, v, n);
        }
        before = side;
    }
    return n;
}

/* The values that are tried for a free column: thresholds, the adjacent floats, ends of the
 * domain. */
static size_t list_values(const subject *s, size_t j, double *v) {
    size_t n = 0;
    v[n++] = s->x[j];
    for (size_t i = 0; s->scaled && i < GRID; i++)
        n = list_turns(s, j, grid[i], v, n);
    for (size_t i = s->scaled ? 3 * GRID : 0; i < 3 * GRID + 2; i++) {
        float at = grid[i / 3 % GRID];
        double x = i % 3 == 0 ? at : (double)nextafterf(at, i % 3 == 1 ? -9 : 9);
        if (i >= 3 * GRID)
            x = s->opt.low ? (i == 3 * GRID ? s->low[j] : s->high[j]) : i == 3 * GRID ? -9 : 9;
        n = (size_t)add_value(s, j, x, v, n);
    }
    if (s->opt.missing && s->missing[j])
        v[n++] = NAN;
    return n;
}

static int stays_for_all(const subject *s, unsigned kept) {
    double values[COLUMNS][VALUES], row[COLUMNS];
    size_t n[COLUMNS], at[COLUMNS] = {0}, j = 0;
    for (size_t i = 0; i < COLUMNS; i++) {
        n[i] = kept >> i & 1 ? 1 : list_values(s, i, values[i]);
        values[i][0] = s->x[i];
    }
    while (j < COLUMNS) {
        for (size_t i = 0; i < COLUMNS; i++)
            row[i] = values[i][at[i]];
        if (!stays(s, row))
            return 0;
        for (j = 0; j < COLUMNS && ++at[j] == n[j]; j++)
            at[j] = 0;
    }
    return 1;
}

static void check_example(const subject *s, unsigned kept, const double *row) {
    assert_false(stays(s, row));
    for (size_t j = 0; j < COLUMNS; j++) {
        if (kept >> j & 1)
            assert_true((float)row[j] == (float)s->x[j]);
        else if (isnan(row[j]))
            assert_true(s->opt.missing && s->missing[j]);
        else if (s->opt.low)
            assert_true((float)row[j] >= (float)s->low[j] && (float)row[j] <= (float)s->high[j]);
    }
}

static void proofs_agree_with_exhaustive_search(void **state) {
    (void)state;
    size_t held = 0, failed = 0, of_class = 0;
    for (size_t seed = 0; seed < rounds(400); seed++) {
        subject s;
        sis__rng r;
        sis__rng_init(&r, seed);
        draw_subject(&s, seed, &r);
        for (int i = 0; i < 4; i++) { /* one, two or three are free */
            unsigned kept = 1 + (unsigned)sis__rng_below(&r, (1u << COLUMNS) - 2);
            int features[COLUMNS], n = 0, holds;
            double row[COLUMNS];
            for (int j = 0; j < COLUMNS; j++)
                if (kept >> j & 1)
                    features[n++] = j;
            if (sis_prove_check(s.prover, &s.input, &s.opt, features, (size_t)n, &holds, row))
                fail_msg("%s", sis_error_detail());
            if (holds != stays_for_all(&s, kept))
                fail_msg("seed %zu, kept %u: %d", seed, kept, holds);
            if (!holds)
                check_example(&s, kept, row);
            held += holds == 1;
            failed += holds == 0;
            of_class += s.opt.keep_class != 0;
        }
        sis_prover_free(s.prover);
        sis_model_close(&s.model);
    }
    print_message("%zu proved, %zu refuted, %zu of classes\n", held, failed, of_class);
    assert_true(held > rounds(100) && failed > rounds(100) && of_class > rounds(100));
}

/* ---- Collections ----------------------------------------------------------------------------- */

static int collect_once(void *ctx) {
    subject *s = (subject *)ctx;
    sis_prover *p;
    sis_collection c;
    sis_guarantee guarantee;
    sis_audit a;
    int error = sis_prover_new(&s->model, &p);
    if (!error)
        error = sis_prove_collect(p, &s->input, &s->opt, &c, &guarantee);
    if (!error) {
        error = sis_prove_audit(p, &s->input, &s->opt, &c, &guarantee, &a);
        if (!error) {
            assert_string_equal(a.reason, "");
            assert_true(guarantee.proved && guarantee.minimal);
            sis_audit_release(&a);
        }
        sis_collection_release(&c);
        sis_guarantee_release(&guarantee);
    }
    sis_prover_free(p);
    return error;
}

static void subsets_pass_the_audit_and_failing_allocations_are_reported(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 24; seed++) {
        subject s;
        sis__rng r;
        sis__rng_init(&r, seed);
        draw_subject(&s, seed, &r);
        if (collect_once(&s) != SIS_OK)
            fail_msg("%s", sis_error_detail());
        if (seed == 1)
            assert_true(with_failing_allocations(collect_once, &s) > 5);
        sis_prover_free(s.prover);
        sis_model_close(&s.model);
    }
}

/* ---- What cannot be proved -------------------------------------------------------------------- */

static void assert_refused(subject *s, const char *words) {
    sis__rng r;
    sis__rng_init(&r, 7);
    build(s, &r);
    assert_int_equal(sis_prover_new(&s->model, &s->prover), SIS_E_UNSUPPORTED);
    assert_message_has(words);
    sis_model_close(&s->model);
}

static void unsupported_ensembles_are_refused_with_a_reason(void **state) {
    (void)state;
    subject min = {.outputs = 1, .post = "NONE", .aggregate = "MIN"};
    subject largest = {.outputs = 1, .post = "NONE", .aggregate = "MAX"};
    subject zero = {.outputs = 3, .classifier = 1, .post = "SOFTMAX_ZERO"};
    assert_refused(&min, "not by MIN or MAX");
    assert_refused(&largest, "not by MIN or MAX");
    assert_refused(&zero, "SOFTMAX_ZERO");
    sis__rng r;
    int holds, first = 0;
    sis__rng_init(&r, 4);
    subject s = {.outputs = 3, .classifier = 1, .post = "SOFTMAX"};
    build(&s, &r); /* a probability of several classes */
    sis_prove_opt_init(&s.opt);
    s.opt.threshold = 0;
    s.input = (sis_input){.values = s.x, .n_values = COLUMNS};
    assert_int_equal(sis_prover_new(&s.model, &s.prover), SIS_OK);
    assert_int_equal(sis_prove_check(s.prover, &s.input, &s.opt, &first, 1, &holds, NULL),
                     SIS_E_UNSUPPORTED);
    assert_message_has("--keep class");
    sis_prover_free(s.prover);
    sis_model_close(&s.model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_agree_with_exhaustive_search),
        cmocka_unit_test(unsupported_ensembles_are_refused_with_a_reason),
        cmocka_unit_test(subsets_pass_the_audit_and_failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
