/* SPDX-License-Identifier: MIT
 *
 * Walks over tree ensembles and linear models equal full passes to the bit.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_ensemble.h"
#include "support_net.h"
#include "support_nets_rnn.h"

/* ---- Random forests -------------------------------------------------------------------------- */

enum { MAX_COLUMNS = 24, MAX_OUTPUTS = 5 };

typedef struct {
    size_t columns, outputs, trees, depth;
    int classifier, single, base, coarse, nan;
    const char *post, *aggregate;
    int front, zip_map;
    double x[MAX_COLUMNS], z[MAX_COLUMNS];
} shape;

static ensemble g;

/* Thresholds often equal values of the input or the mask. */
static float random_threshold(const void *ctx, size_t column, sis__rng *r) {
    const shape *s = (const shape *)ctx;
    size_t pick = sis__rng_below(r, 4);
    double v = pick == 0 ? s->x[column] : pick == 1 ? s->z[column] : sis__rng_normal(r);
    return isnan(v) ? 0 : (float)v;
}

static void random_shape(sis__rng *r, shape *s) {
    static const char *const posts[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO"};
    static const char *const aggregates[] = {"SUM", "SUM", "AVERAGE", "MIN", "MAX"};
    *s = (shape){.columns = 2 + sis__rng_below(r, MAX_COLUMNS - 2),
                 .outputs = 1 + sis__rng_below(r, MAX_OUTPUTS),
                 .trees = 1 + sis__rng_below(r, 40),
                 .depth = 1 + sis__rng_below(r, 5),
                 .classifier = (int)sis__rng_below(r, 2),
                 .base = (int)sis__rng_below(r, 2),
                 .coarse = (int)sis__rng_below(r, 2),
                 .nan = sis__rng_below(r, 3) == 0,
                 .post = posts[sis__rng_below(r, 4)],
                 .aggregate = aggregates[sis__rng_below(r, 5)],
                 .front = (int)sis__rng_below(r, 3),
                 .zip_map = (int)sis__rng_below(r, 2)};
    if (s->classifier && s->outputs == 1)
        s->outputs = 2;
    s->single = s->classifier && s->outputs == 2 && sis__rng_below(r, 2);
    int whole = sis__rng_below(r, 2) == 0; /* many equal values */
    for (size_t k = 0; k < s->columns; k++) {
        s->x[k] = whole ? (double)sis__rng_below(r, 4) : sis__rng_normal(r);
        s->z[k] = whole ? (double)sis__rng_below(r, 4) : sis__rng_normal(r);
        if (s->nan && sis__rng_below(r, 4) == 0)
            s->x[k] = NAN;
        if (s->nan && sis__rng_below(r, 4) == 0)
            s->z[k] = NAN;
    }
}

static const char *add_front(sis_net_builder *b, const shape *s) {
    sis_net_add_input(b, "x", 0, SHAPE(0, s->columns));
    if (s->front == 0)
        return "x";
    if (s->front == 1) {
        sis_net_add_node(b, "Identity", "x", "same");
        return "same";
    }
    sis_net_add_node(b, "ml.Scaler", "x", "scaled");
    sis_net_attr_floats(b, "offset", (float[]){0.5f}, 1);
    sis_net_attr_floats(b, "scale", (float[]){2}, 1);
    return "scaled";
}

static void add_labels(sis_net_builder *b, size_t n) {
    int64_t labels[MAX_OUTPUTS];
    for (size_t k = 0; k < n; k++)
        labels[k] = (int64_t)k;
    sis_net_attr_ints(b, "classlabels_int64s", labels, n);
}

static sis_net *finish(sis_net_builder *b, const shape *s) {
    if (s->zip_map && s->classifier) {
        sis_net_add_node(b, "ml.ZipMap", "scores", "named");
        add_labels(b, s->outputs);
    } else if (s->zip_map) {
        sis_net_add_node(b, "Identity", "scores", "named");
    }
    sis_net_add_output(b, s->zip_map ? "named" : "scores");
    sis_net *net;
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

static sis_net *build_forest(const shape *s, sis__rng *r) {
    const ensemble_shape like = {.columns = s->columns,
                                 .n_weights = s->single ? 1 : s->outputs,
                                 .sparse = !s->single,
                                 .modes = 6,
                                 .steps = s->coarse ? 4 : 0,
                                 .threshold = random_threshold,
                                 .ctx = s};
    g.n = g.n_weights = 0;
    for (size_t k = 0; k < s->trees; k++)
        ensemble_grow(&g, &like, (int64_t)k, s->depth, r);
    float base[MAX_OUTPUTS];
    for (size_t k = 0; k < MAX_OUTPUTS; k++)
        base[k] = (float)sis__rng_normal(r);
    sis_net_builder *b = sis_net_builder_new("forest");
    const char *from = add_front(b, s);
    if (s->classifier) {
        sis_net_add_node(b, "ml.TreeEnsembleClassifier", from, "label scores");
        add_labels(b, s->outputs);
    } else {
        sis_net_add_node(b, "ml.TreeEnsembleRegressor", from, "scores");
        sis_net_attr_int(b, "n_targets", (int64_t)s->outputs);
        sis_net_attr_text(b, "aggregate_function", s->aggregate);
    }
    ensemble_add(&g, b, s->classifier ? "class" : "target");
    if (s->base)
        sis_net_attr_floats(b, "base_values", base, s->single ? 1 : s->outputs);
    sis_net_attr_text(b, "post_transform", s->post);
    return finish(b, s);
}

static sis_net *build_linear(const shape *s, sis__rng *r) {
    float w[MAX_COLUMNS * MAX_OUTPUTS], bias[MAX_OUTPUTS];
    size_t rows = s->single ? 1 : s->outputs;
    for (size_t k = 0; k < s->columns * rows; k++)
        w[k] = (float)(s->coarse ? round(4 * sis__rng_normal(r)) / 4 : sis__rng_normal(r));
    for (size_t k = 0; k < rows; k++)
        bias[k] = (float)sis__rng_normal(r);
    sis_net_builder *b = sis_net_builder_new("linear");
    const char *from = add_front(b, s);
    sis_net_add_node(b, s->classifier ? "ml.LinearClassifier" : "ml.LinearRegressor", from,
                     s->classifier ? "label scores" : "scores");
    if (s->classifier)
        add_labels(b, s->outputs);
    else
        sis_net_attr_int(b, "targets", (int64_t)s->outputs);
    sis_net_attr_floats(b, "coefficients", w, s->columns * rows);
    sis_net_attr_floats(b, "intercepts", bias, rows);
    sis_net_attr_text(b, "post_transform", s->post);
    return finish(b, s);
}

static double *copied(const double *v, size_t n) {
    double *to = (double *)malloc(n * sizeof *to);
    assert_non_null(to);
    memcpy(to, v, n * sizeof *to);
    return to;
}

static void random_subject(sis__rng *r, int linear, shape *p, subject *s) {
    random_shape(r, p);
    if (linear && p->single)
        p->post = "LOGISTIC"; /* implied by one row of weights for two classes */
    for (size_t k = 0; linear && k < p->columns; k++) {
        p->x[k] = isnan(p->x[k]) ? 1 : p->x[k];
        p->z[k] = isnan(p->z[k]) ? 0 : p->z[k];
    }
    sis_net *net = linear ? build_linear(p, r) : build_forest(p, r);
    subject_init(s, net, 0, p->columns, copied(p->x, p->columns), copied(p->z, p->columns));
    subject_map(s, r, sis__rng_below(r, 2) ? EACH : GROUPS, 1);
    s->input.output = sis__rng_below(r, s->n_outputs);
}

/* ---- Tests --------------------------------------------------------------------------------- */

static void check_exact(int linear, unsigned seed, int n) {
    sis__rng r;
    sis__rng_init(&r, seed);
    deviation d = {0};
    for (int k = 0; k < n; k++) {
        shape p;
        subject s;
        random_subject(&r, linear, &p, &s);
        sis_walk *w = subject_walk(&s);
        assert_true(w->tolerance == 0);
        check_sweep(&s, w, &r, 1, &d);
        check_sweep(&s, w, &r, 1, &d);
        w->ops->free(w);
        subject_release(&s);
        if (d.worst != 0)
            fail_msg("case %d: %s of %s, post %s, %zu outputs", k,
                     linear ? "a linear model" : p.aggregate,
                     p.classifier ? "a classifier" : "a regressor", p.post, p.outputs);
    }
    print_message("%zu margins\n", d.margins);
    assert_true(d.margins > rounds(10000));
}

static void forests_are_full_passes_to_the_bit(void **state) {
    (void)state;
    check_exact(0, 1, (int)rounds(500));
}

static void linear_models_are_full_passes_to_the_bit(void **state) {
    (void)state;
    check_exact(1, 2, (int)rounds(500));
}

static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 3);
    for (size_t k = 0; k < rounds(300); k++) {
        shape p;
        subject s;
        random_subject(&r, k % 4 == 0, &p, &s);
        check_collections(&s, &r, 2);
        subject_release(&s);
    }
}

/* Sums exactly between two floats, where the order of terms decides. */
static void sums_halfway_between_floats_are_added_in_order(void **state) {
    (void)state;
    const float w[] = {1, 0x1p-24f, 0x1p-60f, -0x1p-60f, 0x1p-24f, 0x1p-50f};
    sis_net_builder *b = sis_net_builder_new("halfway");
    sis_net_add_input(b, "x", 0, SHAPE(0, 6));
    sis_net_add_node(b, "ml.LinearRegressor", "x", "y");
    sis_net_attr_floats(b, "coefficients", w, 6);
    sis_net_add_output(b, "y");
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    const double ones[] = {1, 1, 1, 1, 1, 1}, zeros[6] = {0};
    subject s;
    subject_init(&s, net, 0, 6, copied(ones, 6), copied(zeros, 6));
    sis__rng r;
    sis__rng_init(&r, 4);
    deviation d = {0};
    check_walk(&s, &r, 40, 1, &d);
    assert_true(d.worst == 0 && d.margins > 500);
    subject_release(&s);
}

/* Infinity in a column: NaN if it meets its opposite is an error, not a guess. */
static void infinite_terms_are_added_in_order(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 5);
    shape p;
    do
        random_shape(&r, &p);
    while (p.nan || p.columns < 4 || p.classifier);
    p.post = "NONE";
    p.front = 0;
    p.x[0] = INFINITY;
    p.z[1] = -INFINITY;
    subject s;
    subject_init(&s, build_linear(&p, &r), 0, p.columns, copied(p.x, p.columns),
                 copied(p.z, p.columns));
    unsigned char masked[MAX_COLUMNS] = {0};
    double margin, probed;
    sis_walk *w = subject_walk(&s);
    assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
    assert_true(isinf(margin));
    assert_int_equal(w->ops->probe(w, (int[]){0}, 1, &probed), SIS_OK);
    assert_true(probed == full_margin(&s, masked, 0) && isfinite(probed));
    int both = w->ops->probe(w, (int[]){1}, 1, &probed);
    assert_true(both == SIS_E_NAN || isinf(probed));
    w->ops->free(w);
    subject_release(&s);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 6);
    for (int k = 0; k < 4; k++) {
        shape p;
        subject s;
        for (;;) {
            random_subject(&r, k % 2, &p, &s);
            if (s.n_features >= 2)
                break;
            subject_release(&s);
        }
        assert_true(with_failing_allocations(try_walk, &s) > 5);
        subject_release(&s);
    }
}

/* A file exported by another tool. */
static void a_published_forest_is_walked(void **state) {
    (void)state;
    const char *path = shared_data("onnx/treeensembleclassifier.onnx");
    if (!path)
        skip();
    sis_net *net;
    if (sis_net_read(path, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    size_t n = sis_net_values(net);
    sis__rng r;
    sis__rng_init(&r, 7);
    deviation d = {0};
    double *x = random_doubles(&r, n, 2);
    subject s;
    subject_init(&s, net, 0, n, x, random_mask(&r, x, n, 2));
    check_walk(&s, &r, 5, 1, &d);
    check_collections(&s, &r, 5);
    assert_true(d.worst == 0);
    subject_release(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forests_are_full_passes_to_the_bit),
        cmocka_unit_test(linear_models_are_full_passes_to_the_bit),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(sums_halfway_between_floats_are_added_in_order),
        cmocka_unit_test(infinite_terms_are_added_in_order),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(a_published_forest_is_walked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
