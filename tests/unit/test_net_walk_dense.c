/* SPDX-License-Identifier: MIT
 *
 * Walks over networks that begin with a dense layer, against full passes.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_kernels.h"
#include "support_net.h"
#include "support_nets_rnn.h"

/* ---- Random MLPs --------------------------------------------------------------------------- */

typedef struct {
    size_t in, depth, sizes[4]; /* outputs of each layer */
    const char *activation;     /* between layers; NULL: none */
    const char *last;           /* NULL: none */
    int style;                  /* how a layer is written */
    int front;                  /* operators before the first layer */
} shape;

static void random_shape(sis__rng *r, shape *s) {
    static const char *const between[] = {"Relu", "Relu", "Relu", "Tanh", "Sigmoid", "LeakyRelu"};
    static const char *const last[] = {"Softmax", "Softmax", "LogSoftmax", "Sigmoid"};
    size_t a = sis__rng_below(r, 7), b = sis__rng_below(r, 5);
    *s = (shape){.in = 3 + sis__rng_below(r, 40), .depth = 1 + sis__rng_below(r, 4)};
    for (size_t k = 0; k + 1 < s->depth; k++)
        s->sizes[k] = 1 + sis__rng_below(r, 60);
    s->last = b < 4 ? last[b] : NULL;
    s->sizes[s->depth - 1] = b < 3 ? 2 + sis__rng_below(r, 20) : 1 + sis__rng_below(r, 3);
    s->activation = a < 6 ? between[a] : NULL;
    s->style = (int)sis__rng_below(r, 4);
    s->front = (int)sis__rng_below(r, 4);
}

/* Adds the operators before the first layer; returns the name of their output. */
static const char *add_front(sis_net_builder *b, const shape *s, sis__rng *r) {
    if (s->front == 0) {
        sis_net_add_input(b, "x", 0, SHAPE(0, s->in));
        return "x";
    }
    if (s->front == 1) { /* an image, transposed as some exporters do */
        sis_net_add_input(b, "x", 0, SHAPE(0, s->in, 1, 1));
        sis_net_add_node(b, "Transpose", "x", "turned");
        sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 3, 1}, 4);
        sis_net_add_node(b, "Flatten", "turned", "flat");
        return "flat";
    }
    sis_net_add_input(b, "x", 0, SHAPE(0, s->in));
    if (s->front == 2) {
        add_random(b, "scale", SHAPE(s->in), r, 1);
        sis_net_add_node(b, "Mul", "x scale", "scaled");
        return "scaled";
    }
    sis_net_add_node(b, "ml.Scaler", "x", "scaled");
    sis_net_attr_floats(b, "offset", (float[]){0.25f}, 1);
    sis_net_attr_floats(b, "scale", (float[]){1.5f}, 1);
    sis_net_add_node(b, "Identity", "scaled", "same");
    return "same";
}

static void add_layer(sis_net_builder *b, const shape *s, size_t k, const char *from,
                      const char *to, sis__rng *r) {
    size_t in = k ? s->sizes[k - 1] : s->in, out = s->sizes[k];
    char w[32], bias[32], sum[32], names[128];
    snprintf(w, sizeof w, "w%zu", k);
    snprintf(bias, sizeof bias, "b%zu", k);
    snprintf(sum, sizeof sum, "s%zu", k);
    add_random(b, w, s->style == 1 ? SHAPE(out, in) : SHAPE(in, out), r, 1.2 / sqrt((double)in));
    add_random(b, bias, SHAPE(out), r, 0.3);
    snprintf(names, sizeof names, "%s %s %s", from, w, s->style < 2 ? bias : "");
    sis_net_add_node(b, s->style < 2 ? "Gemm" : "MatMul", names, s->style == 2 ? sum : to);
    if (s->style == 1) {
        sis_net_attr_int(b, "transB", 1);
        sis_net_attr_float(b, "alpha", 1.25f);
        sis_net_attr_float(b, "beta", 0.5f);
    }
    if (s->style == 2) {
        snprintf(names, sizeof names, "%s %s", bias, sum);
        sis_net_add_node(b, "Add", names, to);
    }
}

static sis_net *build(const shape *s, sis__rng *r) {
    sis_net_builder *b = sis_net_builder_new("perceptron");
    char from[32], sum[32], on[32];
    snprintf(from, sizeof from, "%s", add_front(b, s, r));
    for (size_t k = 0; k < s->depth; k++) {
        int end = k + 1 == s->depth;
        snprintf(sum, sizeof sum, end ? "z" : "a%zu", k);
        snprintf(on, sizeof on, "h%zu", k);
        add_layer(b, s, k, from, sum, r);
        if (!end && s->activation)
            sis_net_add_node(b, s->activation, sum, on);
        snprintf(from, sizeof from, "%s", !end && s->activation ? on : sum);
        if (!end && k == 0 && s->style == 0) {
            sis_net_add_node(b, "Dropout", from, "dropped");
            snprintf(from, sizeof from, "dropped");
        }
    }
    if (s->last)
        sis_net_add_node(b, s->last, "z", "y");
    sis_net_add_output(b, s->last ? "y" : "z");
    sis_net *net;
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

static void random_subject(sis__rng *r, subject *s) {
    shape p;
    random_shape(r, &p);
    double size = exp(2 * sis__rng_normal(r)) < 1 ? 1 : 3, *x = random_doubles(r, p.in, size);
    subject_init(s, build(&p, r), 0, p.in, x, random_mask(r, x, p.in, size));
    subject_map(s, r, sis__rng_below(r, 2) ? EACH : GROUPS, 1);
    s->input.output = sis__rng_below(r, s->n_outputs);
}

/* ---- Tests --------------------------------------------------------------------------------- */

/* The share of the tolerance that errors may reach. They reach a third if products are rounded
 * before they are added. */
static double margin_for_error(void) {
    return strcmp(sis__kernels_best()->name, "base") == 0 ? 0.5 : 0.25;
}

static void margins_agree_with_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 1);
    deviation d = {0};
    for (size_t k = 0; k < rounds(600); k++) {
        subject s;
        random_subject(&r, &s);
        check_walk(&s, &r, 2, 1, &d);
        subject_release(&s);
    }
    print_message("%zu margins, %zu unchanged: error at most %.2g, %.2f of the tolerance\n",
                  d.margins, d.unchanged, d.error, d.worst);
    assert_true(d.error < 1e-5);
    assert_true(d.worst < margin_for_error());
    assert_true(d.unchanged > rounds(100));
}

static void wide_networks_agree_with_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 2);
    deviation d = {0};
    for (int k = 0; k < 6; k++) {
        shape p = {.in = 180,
                   .depth = 2 + (size_t)k % 3,
                   .sizes = {120, 100, 70, 40},
                   .activation = "Relu",
                   .last = "Softmax"};
        p.sizes[p.depth - 1] = 10;
        double *x = random_doubles(&r, p.in, 1);
        subject s;
        subject_init(&s, build(&p, &r), 0, p.in, x, random_mask(&r, x, p.in, 1));
        check_walk(&s, &r, 2, 16, &d);
        subject_release(&s);
    }
    print_message("%zu margins: error at most %.2g, %.2f of the tolerance\n", d.margins, d.error,
                  d.worst);
    assert_true(d.error < 1e-5);
    assert_true(d.worst < margin_for_error());
}

/* A saturated Tanh hides errors in the states in which they are measured. */
static void saturated_scores_stay_within_the_tolerance(void **state) {
    (void)state;
    static const char *const between[] = {"LeakyRelu", "Elu", "Tanh"};
    sis__rng r;
    sis__rng_init(&r, 7);
    deviation d = {0};
    for (size_t k = 0; k < rounds(300); k++) {
        shape p = {.in = 20, .depth = 2, .sizes = {12, 3}, .activation = between[k % 3]};
        double *x = random_doubles(&r, p.in, 300);
        subject s;
        p.last = "Tanh";
        subject_init(&s, build(&p, &r), 0, p.in, x, random_mask(&r, x, p.in, 100));
        check_walk(&s, &r, 2, 1, &d);
        subject_release(&s);
    }
    print_message("%zu margins: error at most %.2g, %.2f of the tolerance\n", d.margins, d.error,
                  d.worst);
    assert_true(d.worst < 1);
}

/* A rarely active unit with large outgoing weights leaves its rounding error in the effects of
 * all features when it switches off. The states in which errors are measured hardly ever include
 * it. */
static sis_net *build_rarely_on(sis__rng *r, int deep) {
    enum { IN = 120, UNITS = 8, OUT = 4 };
    float first[IN * UNITS], bias[UNITS] = {0}, second[UNITS * OUT];
    for (size_t i = 0; i < IN * UNITS; i++)
        first[i] = (float)sis__rng_normal(r) / 8;
    for (size_t i = 0; i < IN; i++)
        first[i * UNITS] = sis__rng_uniform(r) < 0.5 ? -1 : 1;
    bias[0] = -15.5f;
    for (size_t i = 0; i < UNITS * OUT; i++)
        second[i] = (float)sis__rng_normal(r) * (i < OUT ? 300.0f : 1);
    sis_net_builder *b = sis_net_builder_new("rarely on");
    sis_net *net;
    sis_net_add_input(b, "x", 0, SHAPE(0, IN));
    sis_net_add_param(b, "w", SHAPE(IN, UNITS), first);
    sis_net_add_param(b, "b", SHAPE(UNITS), bias);
    sis_net_add_param(b, "v", SHAPE(UNITS, OUT), second);
    sis_net_add_node(b, "Gemm", "x w b", "a");
    sis_net_add_node(b, "Relu", "a", "h");
    sis_net_add_node(b, "MatMul", "h v", deep ? "c" : "y");
    if (deep) {
        sis_net_add_node(b, "Relu", "c", "g");
        add_random(b, "u", SHAPE(OUT, OUT), r, 1);
        sis_net_add_node(b, "MatMul", "g u", "d");
        sis_net_add_node(b, "Relu", "d", "e");
        add_random(b, "t", SHAPE(OUT, OUT), r, 1);
        sis_net_add_node(b, "MatMul", "e t", "y");
    }
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

/* With integers, the unit itself is not rounded, only the remaining error. */
static void check_rarely_on(int deep, int whole) {
    sis__rng r;
    sis__rng_init(&r, 11);
    deviation d = {0};
    for (size_t k = 0; k < rounds(200); k++) {
        sis_net *net = build_rarely_on(&r, deep);
        double *x = random_doubles(&r, 120, 1), *z = random_doubles(&r, 120, 1);
        for (size_t i = 0; whole && i < 120; i++) {
            x[i] = 1;
            z[i] = 0;
        }
        subject s;
        subject_init(&s, net, 0, 120, x, z);
        sis_walk *w;
        if (sis_net_walk(s.net, &s.input, NULL, &w) ==
            SIS_OK) { /* otherwise the measured errors are too large */
            check_sweep(&s, w, &r, 1, &d);
            check_sweep(&s, w, &r, 1, &d);
            w->ops->free(w);
        }
        subject_release(&s);
    }
    print_message("%zu margins: error at most %.2g, %.2f of the tolerance\n", d.margins, d.error,
                  d.worst);
    assert_true(d.margins > 1000 && d.worst < 1);
}

static void effects_do_not_drift(void **state) {
    (void)state;
    check_rarely_on(1, 1);
    check_rarely_on(1, 0);
    check_rarely_on(0, 0);
}

/* 64 small units, randomly on or off after each mask in order, and a large one that the first
 * mask switches on and the second off for good. */
static sis_net *build_often_switched(sis__rng *r, size_t in) {
    enum { UNITS = 65, OUT = 4 };
    float *first = random_floats(r, in * UNITS, 1), bias[UNITS], second[UNITS * OUT];
    for (size_t j = 1; j < UNITS; j++) { /* each mask moves the unit to the next sign */
        float size = 1 + (float)sis__rng_uniform(r), from = size;
        for (size_t i = 0; i < in; i++) {
            float to = sis__rng_below(r, 2) ? size : -size;
            first[i * UNITS + j] = from - to;
            from = to;
        }
        bias[j] = from;
    }
    first[0] = -1000;
    first[UNITS] = 1000;
    bias[0] = -10;
    for (size_t i = 2; i < in; i++) {
        first[i * UNITS] = fabsf(first[i * UNITS]);
        bias[0] -= first[i * UNITS];
    }
    for (size_t i = 0; i < UNITS * OUT; i++)
        second[i] = (float)sis__rng_normal(r) * (i < OUT ? 1e5f : 0.1f);
    sis_net_builder *b = sis_net_builder_new("often switched");
    sis_net *net;
    sis_net_add_input(b, "x", 0, SHAPE(0, in));
    sis_net_add_param(b, "w", SHAPE(in, UNITS), first);
    sis_net_add_param(b, "b", SHAPE(UNITS), bias);
    sis_net_add_param(b, "v", SHAPE(UNITS, OUT), second);
    sis_net_add_node(b, "Gemm", "x w b", "a");
    sis_net_add_node(b, "Relu", "a", "h");
    sis_net_add_node(b, "MatMul", "h v", "c");
    sis_net_add_node(b, "Tanh", "c", "g");
    add_random(b, "u", SHAPE(OUT, 1), r, 1);
    sis_net_add_node(b, "MatMul", "g u", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    free(first);
    return net;
}

/* The rounding error that a unit leaves in the effects is gone after enough other switches. */
static void effects_are_recomputed_after_many_switches(void **state) {
    (void)state;
    enum { IN = 200, MASKED = 150 };
    sis__rng r;
    sis__rng_init(&r, 12);
    double *x = random_doubles(&r, IN, 1), *z = random_doubles(&r, IN, 1), now, margins[IN],
           worst = 0;
    for (size_t i = 0; i < IN; i++) {
        x[i] = 1;
        z[i] = 0;
    }
    subject s;
    subject_init(&s, build_often_switched(&r, IN), 0, IN, x, z);
    sis_walk *w = subject_walk(&s);
    unsigned char masked[IN] = {0};
    int left[IN - MASKED];
    assert_int_equal(w->ops->reset(w, masked, &now), SIS_OK);
    for (int i = 0; i < MASKED; i++) {
        assert_int_equal(w->ops->mask(w, i, &now), SIS_OK);
        masked[i] = 1;
    }
    for (int i = MASKED; i < IN; i++)
        left[i - MASKED] = i;
    assert_int_equal(w->ops->probe(w, left, IN - MASKED, margins), SIS_OK);
    for (int i = MASKED; i < IN; i++)
        worst = fmax(worst, fabs(margins[i - MASKED] - full_margin(&s, masked, i)));
    print_message("error at most %.2g\n", worst);
    assert_true(worst < 1e-4);
    w->ops->free(w);
    subject_release(&s);
}

static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 3);
    for (size_t k = 0; k < rounds(120); k++) {
        subject s;
        random_subject(&r, &s);
        check_collections(&s, &r, 3);
        subject_release(&s);
    }
}

/* A network whose units are all off at the end: nothing changes any more, and the walk detects
 * it. */
static void features_of_dead_units_change_nothing(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("dead");
    float w[12], bias[3] = {-1, -1, -1}, v[6] = {1, -1, 2, 1, 0.5f, -0.25f};
    for (int i = 0; i < 12; i++)
        w[i] = 0.1f * (float)(i % 5);
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    sis_net_add_param(b, "w", SHAPE(4, 3), w);
    sis_net_add_param(b, "b", SHAPE(3), bias);
    sis_net_add_param(b, "v", SHAPE(3, 2), v);
    sis_net_add_node(b, "Gemm", "x w b", "a");
    sis_net_add_node(b, "Relu", "a", "h");
    sis_net_add_node(b, "MatMul", "h v", "z");
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    double x[] = {4, 4, 0.1, 0.1}, z[4] = {0}, now, margins[3];
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_walk *walk;
    assert_int_equal(sis_net_walk(net, &in, NULL, &walk), SIS_OK);
    unsigned char masked[4] = {1, 0, 0, 0};
    assert_int_equal(walk->ops->reset(walk, masked, &now), SIS_OK);
    assert_int_equal(walk->ops->mask(walk, 1, &now), SIS_OK);
    assert_int_equal(walk->ops->probe(walk, (int[]){2, 3}, 2, margins), SIS_OK);
    assert_true(margins[0] == now && margins[1] == now);
    walk->ops->free(walk);
    sis_net_free(net);
}

/* Two values of a feature cancel in the sum. Full passes may round them differently, so this
 * does not prove that nothing changes, in either order. */
static void cancelling_values_do_not_prove_that_nothing_changes(void **state) {
    (void)state;
    for (int sign = -1; sign <= 1; sign += 2) {
        sis_net_builder *b = sis_net_builder_new("cancel");
        float one = (float)sign, w[6] = {one, 0, 1, 1, -one, 0}, v[2] = {1, 1};
        sis_net_add_input(b, "x", 0, SHAPE(0, 3));
        sis_net_add_param(b, "w", SHAPE(3, 2), w);
        sis_net_add_param(b, "v", SHAPE(2, 1), v);
        sis_net_add_node(b, "MatMul", "x w", "a");
        sis_net_add_node(b, "Relu", "a", "h");
        sis_net_add_node(b, "MatMul", "h v", "y");
        sis_net_add_output(b, "y");
        sis_net *net;
        assert_int_equal(sis_net_build(b, &net), SIS_OK);
        double x[] = {0.3, 1, 0.3}, z[3] = {0}, now, margin;
        sis_input in = {.values = x, .mask = z, .n_values = 3, .feature_of = (int[]){0, 1, 0}};
        sis_walk *walk;
        assert_int_equal(sis_net_walk(net, &in, NULL, &walk), SIS_OK);
        assert_int_equal(walk->ops->reset(walk, (unsigned char[]){0, 0}, &now), SIS_OK);
        assert_int_equal(walk->ops->probe(walk, (int[]){0}, 1, &margin), SIS_OK);
        assert_true(margin != now);
        walk->ops->free(walk);
        sis_net_free(net);
    }
}

/* Weights and inputs of very different sizes: the tolerance adapts, or there is no walk. */
static void badly_scaled_networks_are_still_explained(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 4);
    for (int k = 0; k < 30; k++) {
        shape p = {.in = 20, .depth = 3, .sizes = {30, 20, 4}, .activation = "Relu"};
        p.last = k % 2 ? "Softmax" : NULL;
        double size = pow(10, k % 10), *x = random_doubles(&r, p.in, size);
        subject s;
        subject_init(&s, build(&p, &r), 0, p.in, x, random_mask(&r, x, p.in, size));
        s.input.output = (size_t)k % 4;
        check_collections(&s, &r, 1);
        subject_release(&s);
    }
}

static void infinite_values_have_no_walk(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 5);
    const double bad[] = {NAN, INFINITY, -INFINITY, 1e39};
    for (size_t k = 0; k < 8; k++) {
        shape p = {.in = 6, .depth = 2, .sizes = {5, 3}, .activation = "Relu", .last = "Softmax"};
        double *x = random_doubles(&r, p.in, 1);
        subject s;
        subject_init(&s, build(&p, &r), 0, p.in, x, random_doubles(&r, p.in, 1));
        (k % 2 ? s.x : s.z)[2] = bad[k / 2];
        sis_walk *w;
        assert_int_equal(sis_net_walk(s.net, &s.input, NULL, &w), SIS_E_UNSUPPORTED);
        assert_null(w);
        subject_release(&s);
    }
}

static void outputs_that_do_not_exist_are_refused(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 6);
    shape p = {.in = 6, .depth = 1, .sizes = {3}};
    double *x = random_doubles(&r, p.in, 1);
    subject s;
    subject_init(&s, build(&p, &r), 0, p.in, x, random_doubles(&r, p.in, 1));
    s.input.output = 3;
    sis_walk *w;
    assert_int_equal(sis_net_walk(s.net, &s.input, NULL, &w), SIS_E_ARGUMENT);
    subject_release(&s);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 7);
    for (size_t depth = 1; depth <= 4; depth++) {
        shape p = {.in = 12, .depth = depth, .activation = "Relu", .last = "Softmax"};
        for (size_t k = 0; k < depth; k++)
            p.sizes[k] = 5;
        double *x = random_doubles(&r, p.in, 1);
        subject s;
        subject_init(&s, build(&p, &r), 0, p.in, x, random_doubles(&r, p.in, 1));
        assert_true(with_failing_allocations(try_walk, &s) > 10);
        subject_release(&s);
    }
}

/* ---- Kernels ------------------------------------------------------------------------------- */

enum { WIDE = 64, ROWS = 30 };

static void assert_near(const float *a, const float *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        assert_true(fabsf(a[i] - b[i]) <= 1e-5f * (1 + fabsf(b[i])));
}

static void kernels_agree_with_naive_ones(void **state) {
    (void)state;
    const sis__kernels *naive = &naive_kernels;
    sis__rng r;
    sis__rng_init(&r, 8);
    for (const sis__kernels *const *kn = sis__kernels_all(); *kn; kn++)
        for (int trial = 0; trial < 20; trial++) {
            float *a = random_floats(&r, WIDE, 1), *b = random_floats(&r, WIDE, 1);
            float *rows = random_floats(&r, ROWS * WIDE, 1), *w = random_floats(&r, WIDE * 16, 1);
            int on[WIDE], units[2][WIDE];
            float sizes[2][WIDE], y[2][WIDE], z[2][ROWS * 16];
            for (size_t j = 0; j < WIDE; j++)
                on[j] = -(int)sis__rng_below(&r, 2);
            size_t n = naive->switched(a, b, on, WIDE, units[0], sizes[0]);
            assert_int_equal((*kn)->switched(a, b, on, WIDE, units[1], sizes[1]), n);
            assert_memory_equal(units[0], units[1], n * sizeof(int));
            assert_memory_equal(sizes[0], sizes[1], n * sizeof(float));
            for (size_t k = 0; k < 5; k++)
                units[0][k] = (int)sis__rng_below(&r, ROWS);
            sis__patch p = {a, b, rows, 5, units[0], sizes[0]};
            float low = trial % 2 ? 0 : -INFINITY;
            naive->patch(&p, low, y[0], WIDE);
            (*kn)->patch(&p, low, y[1], WIDE);
            assert_near(y[1], y[0], WIDE);
            for (size_t i = 0; i < ROWS * WIDE; i++)
                rows[i] = sis__rng_below(&r, 4) ? 0 : fabsf(rows[i]);
            memset(z, 0, sizeof z);
            naive->narrow(ROWS, WIDE, rows, w, z[0]);
            (*kn)->narrow(ROWS, WIDE, rows, w, z[1]);
            assert_near(z[1], z[0], ROWS * 16);
            memset(z[0], 0, sizeof z[0]); /* a row alone gives the same to the bit */
            for (size_t i = 0; i < ROWS; i++)
                (*kn)->narrow(1, WIDE, rows + i * WIDE, w, z[0] + i * 16);
            assert_memory_equal(z[0], z[1], sizeof z[0]);
            free(a);
            free(b);
            free(rows);
            free(w);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins_agree_with_full_passes),
        cmocka_unit_test(wide_networks_agree_with_full_passes),
        cmocka_unit_test(saturated_scores_stay_within_the_tolerance),
        cmocka_unit_test(effects_do_not_drift),
        cmocka_unit_test(effects_are_recomputed_after_many_switches),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(features_of_dead_units_change_nothing),
        cmocka_unit_test(cancelling_values_do_not_prove_that_nothing_changes),
        cmocka_unit_test(badly_scaled_networks_are_still_explained),
        cmocka_unit_test(infinite_values_have_no_walk),
        cmocka_unit_test(outputs_that_do_not_exist_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(kernels_agree_with_naive_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
