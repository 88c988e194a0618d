/* SPDX-License-Identifier: MIT
 *
 * Proofs about networks, compared with corners, random completions and the model itself.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>
#include <sis/prove.h>

#include "base/rng.h"
#include "prove/bounds.h"
#include "support_data.h"

enum { WIDTH = 16, HIDDEN = 12, CLASSES = 3 };

typedef struct {
    sis_model model;
    sis_prover *prover;
    double x[WIDTH], low[WIDTH], high[WIDTH];
    sis_input input;
    sis_prove_opt opt;
    size_t outputs;
    int linear;
} subject;

static void add_random(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                       sis__rng *r) {
    float values[WIDTH * HIDDEN * 8];
    size_t n = 1;
    for (size_t d = 0; d < shape->rank; d++)
        n *= shape->dims[d];
    for (size_t i = 0; i < n; i++)
        values[i] = (float)(sis__rng_normal(r) * 0.5);
    sis_net_add_param(b, name, shape, values);
}

/* Dense layers with and without ReLU, a convolution, maxima, sums of two layers. */
static void build(subject *s, uint64_t seed, sis__rng *r) {
    sis_net_builder *b = sis_net_builder_new("net");
    sis_net *net;
    const int64_t two[] = {1, 2};
    int conv = seed % 3 == 2, pool = conv && seed % 2;
    s->linear = seed % 3 == 0;
    s->outputs = seed % 2 ? CLASSES : 1;
    sis_net_add_input(b, "x", 0, &(sis_net_shape){4, {0, 1, 4, 4}});
    add_random(b, "c", &(sis_net_shape){4, {2, 1, 3, 3}}, r);
    add_random(b, "w1", &(sis_net_shape){2, {pool ? 4 : conv ? 8 : WIDTH, HIDDEN}}, r);
    add_random(b, "b1", &(sis_net_shape){1, {HIDDEN}}, r);
    add_random(b, "w2", &(sis_net_shape){2, {HIDDEN, HIDDEN}}, r);
    add_random(b, "w3", &(sis_net_shape){2, {HIDDEN, s->outputs}}, r);
    if (conv) {
        sis_net_add_node(b, "Conv", "x c", "k");
        sis_net_add_node(b, "Relu", "k", "l");
    }
    if (pool) {
        sis_net_add_node(b, "MaxPool", "l", "p");
        sis_net_attr_ints(b, "kernel_shape", two, 2);
    }
    sis_net_add_node(b, "Flatten", pool ? "p" : conv ? "l" : "x", "f");
    sis_net_add_node(b, "Gemm", "f w1 b1", "h1");
    sis_net_add_node(b, s->linear ? "Identity" : "Relu", "h1", "a1");
    sis_net_add_node(b, "MatMul", "a1 w2", "h2");
    sis_net_add_node(b, "Add", "h2 b1", "i2");
    sis_net_add_node(b, s->linear ? "Identity" : "Relu", "i2", "a2");
    sis_net_add_node(b, seed % 4 < 2 ? "Add" : "Sub", "a2 a1", "s2"); /* residual */
    sis_net_add_node(b, "MatMul", "s2 w3", "z");
    sis_net_add_node(b, s->outputs > 1 ? "Softmax" : "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    assert_int_equal(sis_net_write(net, folder_path("net.onnx")), SIS_OK);
    sis_net_free(net);
    assert_int_equal(sis_model_open(folder_path("net.onnx"), NULL, &s->model), SIS_OK);
}

static double score_of(const subject *s, const double *row) {
    double margins[CLASSES];
    sis_model lead;
    const sis_model *m = &s->model;
    sis_model_argmax(m, &lead);
    m = s->opt.keep_class ? &lead : m;
    assert_int_equal(m->predict(m->ctx, row, 1, WIDTH, margins), SIS_OK);
    return m->link ? m->link(margins[s->input.output]) : margins[s->input.output];
}

static int stays(const subject *s, const double *row) {
    return sis_decided(score_of(s, row), s->opt.keep_class ? 0 : s->opt.threshold, s->opt.below);
}

static void open_subject(subject *s, uint64_t seed) {
    sis__rng r;
    double margins[CLASSES], radius;
    sis__rng_init(&r, seed);
    *s = (subject){0};
    build(s, seed, &r);
    radius = seed % 4 == 3 ? 0.05 : 0.5;
    for (size_t j = 0; j < WIDTH; j++) {
        s->x[j] = (double)(float)sis__rng_normal(&r);
        s->low[j] = s->x[j] - radius;
        s->high[j] = s->x[j] + radius;
    }
    s->input = (sis_input){.values = s->x, .n_values = WIDTH};
    assert_int_equal(s->model.predict(s->model.ctx, s->x, 1, WIDTH, margins), SIS_OK);
    for (size_t k = 1; k < s->outputs; k++)
        s->input.output = margins[k] > margins[s->input.output] ? k : s->input.output;
    sis_prove_opt_init(&s->opt);
    s->opt.keep_class = s->outputs > 1 && seed % 5 != 1;
    s->opt.below = !s->opt.keep_class && seed % 7 == 3;
    s->opt.low = s->linear && seed % 4 == 0 ? NULL : s->low;
    s->opt.high = s->opt.low ? s->high : NULL;
    s->opt.tries = 64;
    double score = s->model.link(margins[s->input.output]);
    s->opt.threshold = s->opt.below ? score + (1 - score) * 0.5 : score * 0.7;
    assert_int_equal(sis_prover_new(&s->model, &s->prover), SIS_OK);
}

static void close_subject(subject *s) {
    sis_prover_free(s->prover);
    sis_model_close(&s->model);
}

/* Corners and values between them: none loses a proved decision. */
static void try_everything(const subject *s, const sis_subset *p, sis__rng *r) {
    for (int i = 0; i < 400; i++) {
        double row[WIDTH];
        for (size_t j = 0; j < WIDTH; j++) {
            double low = s->opt.low ? s->low[j] : s->x[j] - 1000;
            double high = s->opt.low ? s->high[j] : s->x[j] + 1000;
            row[j] = i % 2 ? low + (high - low) * sis__rng_uniform(r)
                           : (double)(float)(sis__rng_below(r, 2) ? low : high);
        }
        for (size_t k = 0; k < p->n; k++)
            row[p->features[k]] = s->x[p->features[k]];
        assert_true(stays(s, row));
    }
}

static void proofs_hold_and_linear_ones_are_complete(void **state) {
    (void)state;
    size_t smaller = 0, subsets = 0, linear = 0, minimal = 0, bent = 0;
    for (uint64_t seed = 0; seed < rounds(24); seed++) {
        subject s;
        sis__rng r;
        sis_collection c;
        sis_guarantee g;
        sis_audit a;
        open_subject(&s, seed);
        sis__rng_init(&r, seed);
        assert_int_equal(sis_prove_collect(s.prover, &s.input, &s.opt, &c, &g), SIS_OK);
        assert_true(g.proved && (!s.linear || s.outputs > 1 || g.minimal));
        minimal += g.minimal && !s.linear && s.opt.keep_class;
        bent += !s.linear && s.opt.keep_class;
        for (size_t k = 0; k < c.n_subsets; k++) {
            try_everything(&s, &c.subsets[k], &r);
            smaller += c.subsets[k].n < WIDTH;
            subsets++;
        }
        linear += s.linear && g.minimal && c.n_subsets > 0;
        assert_int_equal(sis_prove_audit(s.prover, &s.input, &s.opt, &c, &g, &a), SIS_OK);
        assert_string_equal(a.reason, "");
        sis_audit_release(&a);
        sis_collection_release(&c);
        sis_guarantee_release(&g);
        close_subject(&s);
    }
    assert_true(subsets > rounds(24) / 3 && smaller > subsets / 4 && linear > 0);
    assert_true(2 * minimal >= bent); /* branching decides most questions about small networks */
}

/* Closed form for linear models: a free value changes the margin by its weight times its change. */
static void refutations_come_with_examples(void **state) {
    (void)state;
    size_t held = 0, failed = 0;
    for (uint64_t seed = 0; seed < rounds(240); seed += 3) { /* linear networks */
        subject s;
        double row[WIDTH];
        int holds;
        open_subject(&s, seed);
        for (int n = 0; n < WIDTH; n += 3) {
            int features[WIDTH];
            for (int i = 0; i < n; i++)
                features[i] = i;
            assert_int_equal(
                sis_prove_check(s.prover, &s.input, &s.opt, features, (size_t)n, &holds, row),
                SIS_OK);
            assert_true(holds >= 0 || s.outputs > 1 || s.opt.threshold > 0.999);
            if (holds == 0) {
                assert_false(stays(&s, row));
                for (int i = 0; i < n; i++)
                    assert_true(row[i] == s.x[i]);
            }
            held += holds == 1;
            failed += holds == 0;
        }
        close_subject(&s);
    }
    assert_true(held > 0 && failed > 0);
}

/* A linear classifier of ai.onnx.ml with logistic scores: z0 = 2 a - b. */
static void linear_classifiers_are_decided(void **state) {
    (void)state;
    const float weights[] = {2, -1}, bias[] = {0};
    const int64_t labels[] = {0, 1};
    const double x[] = {1, 0.1}, low[] = {0, -1}, high[] = {2, 0.5};
    sis_net_builder *b = sis_net_builder_new("linear");
    sis_net *net;
    sis_model model;
    sis_prover *p;
    sis_prove_opt opt;
    int holds, first = 0;
    sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 2}});
    sis_net_add_node(b, "ml.LinearClassifier", "x", "label y");
    sis_net_attr_floats(b, "coefficients", weights, 2);
    sis_net_attr_floats(b, "intercepts", bias, 1);
    sis_net_attr_ints(b, "classlabels_ints", labels, 2);
    sis_net_attr_text(b, "post_transform", "LOGISTIC");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    assert_int_equal(sis_net_write(net, folder_path("linear.onnx")), SIS_OK);
    sis_net_free(net);
    assert_int_equal(sis_model_open(folder_path("linear.onnx"), NULL, &model), SIS_OK);
    assert_int_equal(sis_prover_new(&model, &p), SIS_OK);
    sis_prove_opt_init(&opt);
    opt.low = low;
    opt.high = high;
    const sis_input in = {.values = x, .n_values = 2, .output = 1};
    for (int i = 0; i < 2; i++) { /* the lowest margin is 2 - 0.5: a score of 0.8176 */
        opt.threshold = i ? 0.82 : 0.81;
        assert_int_equal(sis_prove_check(p, &in, &opt, &first, 1, &holds, NULL), SIS_OK);
        assert_int_equal(holds, !i);
    }
    sis_prover_free(p);
    sis_model_close(&model);
}

/* ---- Small weights next to large numbers ------------------------------------------------------ */

enum { COLUMNS = 4 };

static sis_model open_built(sis_net_builder *b, const char *name) {
    sis_net *net;
    sis_model model;
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(sis_net_write(net, folder_path(name)), SIS_OK);
    sis_net_free(net);
    assert_int_equal(sis_model_open(folder_path(name), NULL, &model), SIS_OK);
    return model;
}

/* One operator on a row and a constant for each value. */
static sis_model open_columns(const char *op, const float constant[COLUMNS],
                              const float scale[COLUMNS]) {
    sis_net_builder *b = sis_net_builder_new("columns");
    sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, COLUMNS}});
    if (scale) {
        sis_net_add_node(b, op, "x", "y");
        sis_net_attr_floats(b, "offset", constant, COLUMNS);
        sis_net_attr_floats(b, "scale", scale, COLUMNS);
    } else {
        sis_net_add_param(b, "c", &(sis_net_shape){1, {COLUMNS}}, constant);
        sis_net_add_node(b, op, "x c", "y");
    }
    return open_built(b, "columns.onnx");
}

static void assert_weights(const sis_model *m, const double expected[COLUMNS]) {
    sis__circuit *c;
    assert_int_equal(sis__circuit_of_net(m, &c), SIS_OK);
    const sis__circuit_node *n = &c->nodes[c->n - 1];
    assert_int_equal(n->start[COLUMNS], COLUMNS);
    for (size_t j = 0; j < COLUMNS; j++) {
        assert_int_equal(n->read[j], j);
        assert_true(fabs(n->weights[j] - expected[j]) <= 0x1p-23 * fabs(expected[j]));
    }
    sis__circuit_free(c);
}

static void weights_are_read_beside_large_and_small_numbers(void **state) {
    (void)state;
    const float large[COLUMNS] = {1.6e12f, -2e30f, 1, 0};
    const float offset[COLUMNS] = {1.2345e8f, 3e20f, -1e-20f, 7};
    const float scale[COLUMNS] = {1.3e-8f, 1e-30f, 1e30f, -5};
    const float factor[COLUMNS] = {1e-38f, 0.1f, 7, 3e38f};
    double expected[COLUMNS];
    sis_model m = open_columns("Sub", large, NULL);
    assert_weights(&m, (const double[]){1, 1, 1, 1});
    sis_model_close(&m);
    m = open_columns("ml.Scaler", offset, scale);
    for (size_t j = 0; j < COLUMNS; j++)
        expected[j] = (double)scale[j];
    assert_weights(&m, expected);
    sis_model_close(&m);
    m = open_columns("Mul", factor, NULL);
    for (size_t j = 0; j < COLUMNS; j++)
        expected[j] = (double)factor[j];
    assert_weights(&m, expected);
    sis_model_close(&m);
    m = open_columns("Div", factor, NULL);
    for (size_t j = 0; j < COLUMNS; j++)
        expected[j] = 1 / (double)factor[j];
    assert_weights(&m, expected);
    sis_model_close(&m);
}

static void weights_hidden_by_large_biases_are_refused(void **state) {
    (void)state;
    const float huge[COLUMNS] = {3e38f, 0, 0, 0};
    sis_model m = open_columns("Add", huge, NULL);
    sis_prover *p;
    assert_int_equal(sis_prover_new(&m, &p), SIS_E_UNSUPPORTED);
    assert_message_has("too small beside");
    sis_model_close(&m);
}

/* x - 1.6e12 <= 0 holds for this x, but not for the whole domain. */
static void decisions_lost_far_away_are_not_proved(void **state) {
    (void)state;
    const float large[COLUMNS] = {1.6e12f, 0, 0, 0};
    const double x[COLUMNS] = {1.55e12}, low[COLUMNS] = {1.55e12}, high[COLUMNS] = {1.65e12};
    const sis_input in = {.values = x, .n_values = COLUMNS};
    sis_model m = open_columns("Sub", large, NULL);
    double row[COLUMNS], y[COLUMNS];
    sis_prove_opt opt;
    sis_prover *p;
    int holds;
    assert_int_equal(sis_prover_new(&m, &p), SIS_OK);
    sis_prove_opt_init(&opt);
    opt.low = low;
    opt.high = high;
    opt.below = 1;
    for (int i = 0; i < 2; i++) { /* at most 5e10 */
        opt.threshold = i ? 5.1e10 : 0;
        assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, row), SIS_OK);
        assert_int_equal(holds, i);
        if (!holds)
            assert_int_equal(m.predict(m.ctx, row, 1, COLUMNS, y), SIS_OK);
        assert_true(holds || y[0] > 0);
    }
    sis_prover_free(p);
    sis_model_close(&m);
}

/* The ends of the domain are not floats: 0.7f is less than 0.7, 1.1f more than 1.1. */
static void contrasts_at_domain_bounds_are_accepted(void **state) {
    (void)state;
    const float two[COLUMNS] = {2, 0, 0, 0};
    const double x[COLUMNS] = {1}, low[COLUMNS] = {0.7}, high[COLUMNS] = {1.1};
    const sis_input in = {.values = x, .n_values = COLUMNS};
    sis_model m = open_columns("Mul", two, NULL);
    sis_prover *p;
    assert_int_equal(sis_prover_new(&m, &p), SIS_OK);
    for (int below = 0; below < 2; below++) {
        sis_prove_opt opt;
        sis_collection c;
        sis_guarantee g;
        sis_audit a;
        sis_prove_opt_init(&opt);
        opt.low = low;
        opt.high = high;
        opt.below = below;
        opt.threshold = below ? 2.15 : 1.5;
        opt.contrast = 1;
        assert_int_equal(sis_prove_collect(p, &in, &opt, &c, &g), SIS_OK);
        assert_int_equal(g.n_examples, 1);
        assert_true(g.examples[0] == (below ? (double)1.1f : (double)0.7f));
        assert_int_equal(sis_prove_audit(p, &in, &opt, &c, &g, &a), SIS_OK);
        assert_string_equal(a.reason, "");
        sis_audit_release(&a);
        g.examples[0] = below ? 1.1001 : 0.6999; /* beyond */
        assert_int_equal(sis_prove_audit(p, &in, &opt, &c, &g, &a), SIS_OK);
        assert_false(a.holds);
        sis_audit_release(&a);
        sis_collection_release(&c);
        sis_guarantee_release(&g);
    }
    sis_prover_free(p);
    sis_model_close(&m);
}

/* y = 0.25 - (a triangle from 0.5 to 1.5). */
static sis_model open_tent(void) {
    const float ones[] = {1, 1, 1}, starts[] = {-0.5f, -1, -1.5f}, tent[] = {-1, 2, -1}, up = 0.25f;
    sis_net_builder *b = sis_net_builder_new("tent");
    sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 1}});
    sis_net_add_param(b, "ones", &(sis_net_shape){2, {1, 3}}, ones);
    sis_net_add_param(b, "starts", &(sis_net_shape){1, {3}}, starts);
    sis_net_add_param(b, "tent", &(sis_net_shape){2, {3, 1}}, tent);
    sis_net_add_param(b, "up", &(sis_net_shape){1, {1}}, &up);
    sis_net_add_node(b, "Gemm", "x ones starts", "h");
    sis_net_add_node(b, "Relu", "h", "a");
    sis_net_add_node(b, "Gemm", "a tent up", "y");
    return open_built(b, "tent.onnx");
}

/* The example is at 0 and the domain from 2 to 3. Values between them lose the decision, but
 * neither the example nor any value of the domain does. */
static void examples_lie_within_the_domain(void **state) {
    (void)state;
    const double x = 0, low = 2, high = 3, within = 0.5;
    const sis_input in = {.values = &x, .n_values = 1};
    sis_model m = open_tent();
    sis_prove_opt opt;
    sis_prover *p;
    double found;
    int holds;
    assert_int_equal(sis_prover_new(&m, &p), SIS_OK);
    sis_prove_opt_init(&opt);
    opt.threshold = 0;
    opt.low = &low;
    opt.high = &high;
    assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, &found), SIS_OK);
    assert_int_not_equal(holds, 0);
    opt.low = &within;
    assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, &found), SIS_OK);
    assert_int_equal(holds, 0);
    assert_true(found >= within && found <= high);
    sis_prover_free(p);
    sis_model_close(&m);
}

/* A network has no score for missing values; an invalid range has no values. */
static void domains_without_scores_are_refused(void **state) {
    (void)state;
    const double x = 0, none = NAN, low = -0.1, high = 0.1;
    const unsigned char missing = 1;
    const sis_input in = {.values = &x, .n_values = 1};
    sis_model m = open_tent();
    sis_prove_opt opt;
    sis_prover *p;
    int holds;
    assert_int_equal(sis_prover_new(&m, &p), SIS_OK);
    sis_prove_opt_init(&opt);
    opt.threshold = 0;
    opt.low = &low;
    opt.high = &high;
    assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, NULL), SIS_OK);
    assert_int_equal(holds, 1);
    opt.missing = &missing;
    assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, NULL), SIS_E_ARGUMENT);
    assert_non_null(strstr(sis_error_detail(), "may be missing"));
    opt = (sis_prove_opt){.threshold = 0, .low = &none, .tries = 1};
    assert_int_equal(sis_prove_check(p, &in, &opt, NULL, 0, &holds, NULL), SIS_E_ARGUMENT);
    assert_non_null(strstr(sis_error_detail(), "is empty"));
    sis_prover_free(p);
    sis_model_close(&m);
}

/* y = 1e38 x - 0.9e38 x is NaN except near 0; where it is a number, it is positive for x above
 * 0. */
static void nan_is_not_a_counterexample(void **state) {
    (void)state;
    const float up[] = {1e38f, 0.9e38f}, down[] = {1, -1};
    const double x = 1;
    const sis_input in = {.values = &x, .n_values = 1};
    sis_net_builder *b = sis_net_builder_new("overflow");
    sis_prove_opt opt;
    sis_collection c;
    sis_guarantee g;
    sis_prover *p;
    sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 1}});
    sis_net_add_param(b, "up", &(sis_net_shape){2, {1, 2}}, up);
    sis_net_add_param(b, "down", &(sis_net_shape){2, {2, 1}}, down);
    sis_net_add_node(b, "MatMul", "x up", "z");
    sis_net_add_node(b, "MatMul", "z down", "y");
    sis_model m = open_built(b, "overflow.onnx");
    assert_int_equal(sis_prover_new(&m, &p), SIS_OK);
    sis_prove_opt_init(&opt);
    opt.threshold = 0;
    assert_int_equal(sis_prove_collect(p, &in, &opt, &c, &g), SIS_OK);
    assert_int_equal(c.status, SIS_STATUS_EXPLAINED);
    assert_true(c.n_subsets == 1 && c.subsets[0].n == 1 && !g.minimal);
    sis_collection_release(&c);
    sis_guarantee_release(&g);
    sis_prover_free(p);
    sis_model_close(&m);
}

static int collect_once(void *ctx) {
    subject *s = (subject *)ctx;
    sis_prover *p;
    sis_collection c;
    sis_guarantee g;
    int error = sis_prover_new(&s->model, &p);
    if (!error)
        error = sis_prove_collect(p, &s->input, &s->opt, &c, &g);
    if (!error) {
        sis_collection_release(&c);
        sis_guarantee_release(&g);
    }
    sis_prover_free(p);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    subject s;
    open_subject(&s, 1);
    s.opt.tries = 4;
    assert_true(with_failing_allocations(collect_once, &s) > 30);
    close_subject(&s);
}

static void other_networks_are_refused(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("tanh");
    sis_net *net;
    sis_model model;
    sis_prover *p;
    sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 3}});
    sis_net_add_node(b, "Tanh", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    assert_int_equal(sis_net_write(net, folder_path("tanh.onnx")), SIS_OK);
    sis_net_free(net);
    assert_int_equal(sis_model_open(folder_path("tanh.onnx"), NULL, &model), SIS_OK);
    assert_int_equal(sis_prover_new(&model, &p), SIS_E_UNSUPPORTED);
    assert_message_has("does not support the node");
    sis_model_close(&model);
}

/* ---- Layers ----------------------------------------------------------------------------------- */

enum { SIDE = 7, PLANES = 4, FILTERS = 4, READ = 2 * SIDE * SIDE };

/* Windows with strides, dilations, padding and groups, on one axis or two. */
static void add_windows(sis_net_builder *b, int planes, sis__rng *r) {
    int64_t step[2], gap[2], pads[4];
    size_t axes = 2;
    for (size_t a = 0; a < axes; a++) {
        step[a] = 1 + (int64_t)sis__rng_below(r, 2);
        gap[a] = 1 + (int64_t)sis__rng_below(r, 2);
        pads[a] = (int64_t)sis__rng_below(r, 2);
        pads[a + axes] = (int64_t)sis__rng_below(r, 2);
    }
    sis_net_attr_ints(b, "strides", step, axes);
    sis_net_attr_ints(b, "pads", pads, 2 * axes);
    if (planes)
        sis_net_attr_ints(b, "dilations", gap, axes);
}

/* Conv - Relu - pool - Conv in groups - batch norm - Relu - global mean and maximum - difference. */
static sis_model build_windows(uint64_t seed, sis__rng *r) {
    static const char *const pools[] = {"MaxPool", "AveragePool"};
    const int64_t kernel[] = {2, 2};
    sis_net_builder *b = sis_net_builder_new("windows");
    const float shift[FILTERS] = {0.1f, -0.2f, 0, 0.3f}, wide[FILTERS] = {1, 2, 0.5f, 1};
    sis_net *net;
    sis_model model;
    sis_net_add_input(b, "x", 0, &(sis_net_shape){4, {0, 2, SIDE, SIDE}});
    add_random(b, "w1", &(sis_net_shape){4, {PLANES, 2, 2, 3}}, r);
    add_random(b, "b1", &(sis_net_shape){1, {PLANES}}, r);
    add_random(b, "w2", &(sis_net_shape){4, {FILTERS, PLANES / 2, 2, 2}}, r);
    sis_net_add_param(b, "m", &(sis_net_shape){1, {FILTERS}}, shift);
    sis_net_add_param(b, "v", &(sis_net_shape){1, {FILTERS}}, wide);
    sis_net_add_node(b, "Conv", "x w1 b1", "c1");
    add_windows(b, 1, r);
    sis_net_add_node(b, "Relu", "c1", "r1");
    sis_net_add_node(b, pools[seed % 2], "r1", "p1");
    sis_net_attr_ints(b, "kernel_shape", kernel, 2);
    add_windows(b, 0, r);
    sis_net_add_node(b, "Conv", "p1 w2", "c2");
    sis_net_attr_int(b, "group", 2);
    sis_net_attr_text(b, "auto_pad", seed % 3 ? "SAME_UPPER" : "SAME_LOWER");
    sis_net_add_node(b, "BatchNormalization", "c2 v m m v", "n2");
    sis_net_add_node(b, "Relu", "n2", "r2");
    sis_net_add_node(b, "GlobalAveragePool", "r2", "g1");
    sis_net_add_node(b, "GlobalMaxPool", "c2", "g2");
    sis_net_add_node(b, "Sub", "g1 g2", "d");
    sis_net_add_node(b, "Flatten", "d", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(sis_net_write(net, folder_path("windows.onnx")), SIS_OK);
    sis_net_free(net);
    assert_int_equal(sis_model_open(folder_path("windows.onnx"), NULL, &model), SIS_OK);
    return model;
}

/* All values of all nodes at a point, by the definition of each, into b->point. */
static void evaluate(sis__bounds *b) {
    for (size_t k = 1; k < b->c->n; k++) {
        const sis__circuit_node *n = &b->c->nodes[k];
        const double *x = b->point[n->from[0]];
        for (size_t i = 0; i < n->n; i++) {
            double v = n->kind == SIS__CIRCUIT_AFFINE ? n->bias[i] : -INFINITY;
            for (size_t w = n->start ? n->start[i] : 0; n->start && w < n->start[i + 1]; w++)
                v = n->kind == SIS__CIRCUIT_AFFINE ? v + n->weights[w] * x[n->read[w]]
                                                   : fmax(v, x[n->read[w]]);
            v = n->kind == SIS__CIRCUIT_RELU ? fmax(0, x[i]) : v;
            v = n->kind == SIS__CIRCUIT_SUM ? x[i] + n->sign * b->point[n->from[1]][i] : v;
            b->point[k][i] = v;
        }
    }
}

static void assert_inside(const sis__bounds *b) {
    for (size_t k = 1; k < b->c->n; k++)
        for (size_t i = 0; i < b->c->nodes[k].n; i++)
            assert_true(b->point[k][i] >= b->low[k][i] && b->point[k][i] <= b->high[k][i]);
}

/* The minimum of a random function of the outputs, by the bounds. */
static double draw_goal(sis__bounds *b, sis__rng *r) {
    double bound;
    for (size_t i = 0; i < b->c->outputs; i++)
        b->coef[b->c->n - 1][i] = b->goal[i] = sis__rng_normal(r);
    sis__bounds_back(b, b->c->n - 1, 1, &bound);
    return bound;
}

/* Boxes that grow from round to round in some places, so that the bounds of others are reused. */
static void check_boxes(sis__bounds *b, const sis_model *model, sis__rng *r) {
    double x[READ], margins[FILTERS];
    for (size_t j = 0; j < READ; j++)
        b->low[0][j] = b->high[0][j] = (double)(float)sis__rng_normal(r);
    for (int round = 0; round < 4; round++) {
        for (size_t j = 0; j < READ; j++)
            b->high[0][j] += sis__rng_below(r, 6) ? 0 : 0.3;
        sis__bounds_reset(b);
        assert_true(sis__bounds_forward(b, round % 4 ? 2 : 0));
        double min = draw_goal(b, r);
        for (int i = 0; i < 30; i++) {
            double sum = 0;
            for (size_t j = 0; j < READ; j++) {
                double share = i % 2 ? sis__rng_uniform(r) : (double)sis__rng_below(r, 2);
                x[j] = (double)(float)(b->low[0][j] + (b->high[0][j] - b->low[0][j]) * share);
                x[j] = fmin(b->high[0][j], fmax(b->low[0][j], x[j]));
                b->point[0][j] = x[j];
            }
            evaluate(b);
            assert_inside(b);
            assert_int_equal(model->predict(model->ctx, x, 1, READ, margins), SIS_OK);
            for (size_t k = 0; k < FILTERS; k++) {
                assert_true(fabs(margins[k] - b->point[b->c->n - 1][k]) < 1e-4);
                sum += b->goal[k] * margins[k];
            }
            assert_true(sum > min - 1e-6);
        }
    }
}

static void windows_are_read_as_they_are_and_bounds_hold(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < rounds(40); seed++) {
        sis__rng r;
        sis__circuit *c;
        sis__bounds b;
        sis__rng_init(&r, seed);
        sis_model model = build_windows(seed, &r);
        assert_int_equal(sis__circuit_of_net(&model, &c), SIS_OK);
        assert_int_equal(sis__bounds_init(&b, c), SIS_OK);
        check_boxes(&b, &model, &r);
        sis__bounds_release(&b);
        sis__circuit_free(c);
        sis_model_close(&model);
    }
}

/* ---- Linear boosters -------------------------------------------------------------------------- */

/* z = 2 a - b + 0.5, with score 1 / (1 + exp(-z)); missing values count as 0. */
static void linear_boosters_are_decided(void **state) {
    (void)state;
    const char *text =
        "{\"learner\":{\"attributes\":{},\"feature_names\":[],\"feature_types\":[],"
        "\"gradient_booster\":{\"model\":{\"weights\":[2,-1,0.5]},\"name\":\"gblinear\"},"
        "\"learner_model_param\":{\"base_score\":\"5E-1\",\"num_class\":\"0\","
        "\"num_feature\":\"2\"},\"objective\":{\"name\":\"binary:logistic\"}},"
        "\"version\":[1,7,4]}";
    const double x[] = {1, 0.1}, low[] = {0, -1}, high[] = {2, 0.5};
    const unsigned char missing[] = {0, 1};
    sis_model model;
    sis_prover *p;
    sis_prove_opt opt;
    int holds, first = 0, second = 1;
    double row[2];
    folder_text("linear.json", text);
    assert_int_equal(sis_model_open(folder_path("linear.json"), NULL, &model), SIS_OK);
    assert_int_equal(sis_prover_new(&model, &p), SIS_OK);
    sis_prove_opt_init(&opt);
    opt.low = low;
    opt.high = high;
    opt.missing = missing;
    const sis_input in = {.values = x, .n_values = 2};
    for (int i = 0; i < 2; i++) { /* the lowest margin is 2.5 - 0.5: a score of 0.8808 */
        opt.threshold = i ? 0.882 : 0.88;
        assert_int_equal(sis_prove_check(p, &in, &opt, &first, 1, &holds, row), SIS_OK);
        assert_int_equal(holds, !i);
    }
    opt.threshold = 0.6; /* without a, 0.5 - 0.1 is left */
    assert_int_equal(sis_prove_check(p, &in, &opt, &second, 1, &holds, row), SIS_OK);
    assert_int_equal(holds, 0);
    assert_true((float)row[1] == 0.1f && row[0] >= 0 && row[0] < 0.1);
    sis_prover_free(p);
    sis_model_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_hold_and_linear_ones_are_complete),
        cmocka_unit_test(refutations_come_with_examples),
        cmocka_unit_test(linear_classifiers_are_decided),
        cmocka_unit_test(linear_boosters_are_decided),
        cmocka_unit_test(windows_are_read_as_they_are_and_bounds_hold),
        cmocka_unit_test(weights_are_read_beside_large_and_small_numbers),
        cmocka_unit_test(weights_hidden_by_large_biases_are_refused),
        cmocka_unit_test(decisions_lost_far_away_are_not_proved),
        cmocka_unit_test(contrasts_at_domain_bounds_are_accepted),
        cmocka_unit_test(examples_lie_within_the_domain),
        cmocka_unit_test(domains_without_scores_are_refused),
        cmocka_unit_test(nan_is_not_a_counterexample),
        cmocka_unit_test(other_networks_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
