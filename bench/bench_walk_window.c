/* SPDX-License-Identifier: MIT
 *
 * One whole backward selection over the paper's convolutional networks, on one thread, with the
 * window walk; beside it what the same number of full passes would take, measured on a few hundred
 * of them in the same run. Weights are random, so the times are those of the arithmetic, and close
 * calls are as rare or as frequent as chance makes them.
 *
 * Before anything is timed the margins of the walk are compared with full passes at states along
 * the order it finds.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/parallel.h"
#include "base/rng.h"

enum { REPEATS = 5, STATES = 8, ASKED = 12 };

/* ---- Networks ------------------------------------------------------------------------------ */

static void add_random(sis_net_builder *b, const char *name, sis__rng *r, const sis_net_shape *s,
                       double size) {
    size_t n = 1;
    for (size_t d = 0; d < s->rank; d++)
        n *= s->dims[d];
    float *v = malloc(n * sizeof *v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(size * sis__rng_normal(r));
    sis_net_add_param(b, name, s, v);
    free(v);
}

#define SHAPE(...)                                                                                 \
    (&(sis_net_shape){sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), {__VA_ARGS__}})

/* Weights for n inputs that keep the size of what they are given. */
static void add_weights(sis_net_builder *b, const char *name, sis__rng *r, const sis_net_shape *s,
                        size_t inputs) {
    add_random(b, name, r, s, sqrt(2.0 / (double)inputs));
}

static int build_mnist(sis__rng *r, sis_net **out) {
    sis_net_builder *b = sis_net_builder_new("mnist");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 28, 28));
    add_weights(b, "w1", r, SHAPE(32, 1, 3, 3), 9);
    add_random(b, "b1", r, SHAPE(32), 0.1);
    add_weights(b, "w2", r, SHAPE(64, 32, 3, 3), 288);
    add_random(b, "b2", r, SHAPE(64), 0.1);
    add_weights(b, "w3", r, SHAPE(128, 9216), 9216);
    add_random(b, "b3", r, SHAPE(128), 0.1);
    add_weights(b, "w4", r, SHAPE(10, 128), 128);
    add_random(b, "b4", r, SHAPE(10), 0.1);
    sis_net_add_node(b, "Conv", "x w1 b1", "c1");
    sis_net_add_node(b, "Relu", "c1", "r1");
    sis_net_add_node(b, "Conv", "r1 w2 b2", "c2");
    sis_net_add_node(b, "Relu", "c2", "r2");
    sis_net_add_node(b, "MaxPool", "r2", "p");
    sis_net_attr_ints(b, "kernel_shape", (int64_t[]){2, 2}, 2);
    sis_net_attr_ints(b, "strides", (int64_t[]){2, 2}, 2);
    sis_net_add_node(b, "Flatten", "p", "f");
    sis_net_add_node(b, "Gemm", "f w3 b3", "d");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Relu", "d", "e");
    sis_net_add_node(b, "Gemm", "e w4 b4", "z");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static int build_dna(sis__rng *r, sis_net **out) {
    sis_net_builder *b = sis_net_builder_new("dna");
    sis_net_add_input(b, "x", 0, SHAPE(0, 101, 4));
    add_weights(b, "w1", r, SHAPE(128, 4, 24), 24);
    add_random(b, "b1", r, SHAPE(128), 0.1);
    add_weights(b, "w2", r, SHAPE(128, 32), 128);
    add_random(b, "b2", r, SHAPE(32), 0.1);
    add_weights(b, "w3", r, SHAPE(32, 1), 32);
    add_random(b, "b3", r, SHAPE(1), 0.1);
    sis_net_add_node(b, "Transpose", "x", "t");
    sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1}, 3);
    sis_net_add_node(b, "Conv", "t w1 b1", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "GlobalMaxPool", "r", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "Gemm", "f w2 b2", "d");
    sis_net_add_node(b, "Relu", "d", "e");
    sis_net_add_node(b, "Gemm", "e w3 b3", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static int build_text(sis__rng *r, sis_net **out) {
    sis_net_builder *b = sis_net_builder_new("text");
    sis_net_add_input(b, "x", 0, SHAPE(0, 500, 100));
    add_weights(b, "w1", r, SHAPE(128, 100, 3), 300);
    add_random(b, "b1", r, SHAPE(128), 0.1);
    add_weights(b, "w2", r, SHAPE(128, 1), 128);
    add_random(b, "b2", r, SHAPE(1), 0.1);
    sis_net_add_node(b, "Transpose", "x", "t");
    sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1}, 3);
    sis_net_add_node(b, "Conv", "t w1 b1", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "GlobalMaxPool", "r", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "Gemm", "f w2 b2", "z");
    sis_net_add_node(b, "Sigmoid", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

/* ---- Inputs -------------------------------------------------------------------------------- */

typedef struct {
    double *x, *z;
    int *feature_of;
} example;

/* A bright ring on black, a little noise; the mask is the ring's blurred shape. */
static void fill_mnist(sis__rng *r, example *e, size_t n) {
    for (size_t i = 0; i < n; i++) {
        double dy = (double)(i / 28) - 13.5, dx = (double)(i % 28) - 13.5;
        double off = sqrt(dx * dx + dy * dy) - 7;
        e->x[i] = fabs(off) < 1.6 ? 0.8 + 0.2 * sis__rng_uniform(r) : 0;
        e->z[i] = 0.4 * exp(-off * off / 20) + 1e-4 * sis__rng_uniform(r);
        e->feature_of[i] = (int)i;
    }
}

static void fill_dna(sis__rng *r, example *e, size_t n) {
    for (size_t i = 0; i < n; i += 4) {
        e->x[i + sis__rng_below(r, 4)] = 1;
        for (size_t k = 0; k < 4; k++) {
            e->z[i + k] = 0.25;
            e->feature_of[i + k] = (int)(i / 4);
        }
    }
}

/* 120 words behind padding. */
static void fill_text(sis__rng *r, example *e, size_t n) {
    for (size_t i = 0; i < n; i++) {
        int word = (int)(i / 100) - 380;
        e->x[i] = word >= 0 ? 0.3 * sis__rng_normal(r) : 0;
        e->z[i] = 0.01 * (double)(i % 100) / 100;
        e->feature_of[i] = word >= 0 ? word : -1;
    }
}

/* ---- The network as a model ------------------------------------------------------------------ */

static size_t passes;

static int predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    float *x = malloc(n * width * sizeof *x);
    for (size_t i = 0; i < n * width; i++)
        x[i] = (float)rows[i];
    sis_net_batch b = {.rows = x, .n_rows = n, .n_values = width};
    int error = sis_net_margins((const sis_net *)ctx, &b, scores);
    passes += n;
    free(x);
    return error;
}

static int walk_new(void *ctx, const sis_input *input, size_t memory, sis_walk **walk) {
    return sis_net_walk((const sis_net *)ctx, input, &(sis_net_walk_opt){0, memory}, walk);
}

static sis_model model_of(sis_net *net) {
    return (sis_model){.predict = predict,
                       .ctx = net,
                       .n_outputs = sis_net_outputs(net),
                       .n_values = sis_net_values(net),
                       .link = sis_net_link,
                       .walk_new = walk_new};
}

/* Largest difference between the walk and full passes, in parts of 1 + |margin|, along an order. */
static double compare(const sis_model *m, const sis_input *in, const sis_opt *opt,
                      const sis_trace *t, sis__rng *r) {
    sis_walk *walk, *full;
    sis_opt exact = *opt;
    double worst = 0;
    exact.exact = 1;
    sis_model plain = *m;
    plain.link = NULL; /* compare margins */
    if (sis_walk_new(&plain, in, opt, &walk) || sis_walk_new(&plain, in, &exact, &full))
        return INFINITY;
    for (size_t i = 0; i + 1 < t->n; i++) {
        if (i % (t->n / STATES + 1) == 0)
            for (size_t k = 0; k < ASKED; k++) {
                int j = t->order[i + sis__rng_below(r, t->n - i)];
                double a, b;
                sis_walk_probe(walk, &j, 1, &a);
                sis_walk_probe(full, &j, 1, &b);
                worst = fmax(worst, fabs(a - b) / (1 + fabs(b)));
            }
        sis_walk_mask(walk, t->order[i], NULL);
        sis_walk_mask(full, t->order[i], NULL);
    }
    sis_walk_free(walk);
    sis_walk_free(full);
    return worst;
}

static double seconds_a_pass(const sis_model *m, const sis_input *in) {
    enum { ROWS = 64 };
    double *rows = malloc(ROWS * in->n_values * sizeof *rows);
    double *scores = malloc(ROWS * m->n_outputs * sizeof *scores), best = INFINITY;
    for (size_t i = 0; i < ROWS; i++)
        memcpy(rows + i * in->n_values, in->values, in->n_values * sizeof *rows);
    for (size_t k = 0; k < REPEATS; k++) {
        double began = sis__seconds();
        m->predict(m->ctx, rows, ROWS, in->n_values, scores);
        best = fmin(best, (sis__seconds() - began) / ROWS);
    }
    free(rows);
    free(scores);
    return best;
}

typedef struct {
    const char *name;
    int (*build)(sis__rng *r, sis_net **out);
    void (*fill)(sis__rng *r, example *e, size_t n);
} subject;

static int run(const subject *s) {
    sis__rng r;
    sis_net *net;
    sis__rng_init(&r, 7);
    if (s->build(&r, &net) != 0) {
        fprintf(stderr, "%s: %s\n", s->name, sis_error_detail());
        return 1;
    }
    size_t n = sis_net_values(net);
    example e = {calloc(n, sizeof(double)), calloc(n, sizeof(double)), calloc(n, sizeof(int))};
    s->fill(&r, &e, n);
    sis_model m = model_of(net);
    sis_input in = {.values = e.x, .mask = e.z, .n_values = n, .feature_of = e.feature_of};
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = 0.5;
    double best = INFINITY, tolerance = 0, began;
    size_t evaluations = 0, full = 0;
    sis_trace t = {0};
    for (size_t k = 0; k < REPEATS; k++) {
        sis_walk *w;
        sis_trace_release(&t);
        passes = 0;
        began = sis__seconds();
        if (sis_walk_new(&m, &in, &opt, &w) != 0 || sis_backselect(w, &opt, &t) != 0) {
            fprintf(stderr, "%s: %s\n", s->name, sis_error_detail());
            return 1;
        }
        best = fmin(best, sis__seconds() - began);
        evaluations = w->evaluations;
        tolerance = w->tolerance;
        full = passes;
        sis_walk_free(w);
    }
    double worst = compare(&m, &in, &opt, &t, &r), pass = seconds_a_pass(&m, &in);
    printf(
        "%-6s %4zu features %7zu evaluations %8.2f ms (%zu full passes), %8.0f ms plain: %5.0f x\n",
        s->name, t.n, evaluations, 1e3 * best, full, 1e3 * pass * (double)evaluations,
        pass * (double)evaluations / best);
    printf("       largest difference %.1e, tolerance %.1e\n", worst, tolerance);
    sis_trace_release(&t);
    sis_net_free(net);
    free(e.x);
    free(e.z);
    free(e.feature_of);
    return !(worst <= tolerance);
}

int main(int argc, char **argv) {
    static const subject subjects[] = {{"mnist", build_mnist, fill_mnist},
                                       {"dna", build_dna, fill_dna},
                                       {"text", build_text, fill_text}};
    int bad = 0;
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (argc < 2 || strcmp(argv[1], subjects[i].name) == 0)
            bad |= run(&subjects[i]);
    return bad;
}
