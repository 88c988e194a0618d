/* SPDX-License-Identifier: MIT
 *
 * See paper_models.h. Weights are drawn so that activations keep their scale from layer to layer.
 */
#include "paper_models.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"

/* Sizes of the networks that come in two. */
typedef struct {
    size_t words, length, dim, hidden; /* vocabulary, positions, embedding, LSTM */
    size_t filters, width, dense;      /* of the convolution, and behind it */
} sizes;

static const sizes full_size = {1000, 500, 100, 200, 128, 24, 32};
static const sizes tiny_size = {50, 20, 6, 7, 9, 5, 4};

typedef struct {
    sis_net_builder *b;
    sis__rng r;
    const sizes *s;
} maker;

/* Normal values with deviation sqrt(gain / inputs). */
static void param(maker *m, const char *name, sis_net_shape shape, double inputs, double gain) {
    size_t n = 1;
    for (size_t d = 0; d < shape.rank; d++)
        n *= shape.dims[d];
    float *v = malloc(n * sizeof *v);
    for (size_t i = 0; v && i < n; i++)
        v[i] = (float)(sqrt(gain / inputs) * sis__rng_normal(&m->r));
    if (v)
        sis_net_add_param(m->b, name, &shape, v);
    free(v);
}

/* y = W x + b, W (out, in). */
static void dense(maker *m, const char *x, const char *name, size_t in, size_t out) {
    char w[32], b[32], inputs[96];
    snprintf(w, sizeof w, "%s.w", name);
    snprintf(b, sizeof b, "%s.b", name);
    snprintf(inputs, sizeof inputs, "%s %s %s", x, w, b);
    param(m, w, (sis_net_shape){2, {out, in}}, (double)in, 2);
    param(m, b, (sis_net_shape){1, {out}}, 100, 1);
    sis_net_add_node(m->b, "Gemm", inputs, name);
    sis_net_attr_int(m->b, "transB", 1);
}

static void mnist_cnn(maker *m) {
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){4, {0, 1, 28, 28}});
    param(m, "c1.w", (sis_net_shape){4, {32, 1, 3, 3}}, 9, 2);
    param(m, "c1.b", (sis_net_shape){1, {32}}, 100, 1);
    param(m, "c2.w", (sis_net_shape){4, {64, 32, 3, 3}}, 288, 2);
    param(m, "c2.b", (sis_net_shape){1, {64}}, 100, 1);
    sis_net_add_node(m->b, "Conv", "x c1.w c1.b", "c1");
    sis_net_add_node(m->b, "Relu", "c1", "r1");
    sis_net_add_node(m->b, "Conv", "r1 c2.w c2.b", "c2");
    sis_net_add_node(m->b, "Relu", "c2", "r2");
    sis_net_add_node(m->b, "MaxPool", "r2", "p");
    sis_net_attr_ints(m->b, "kernel_shape", (const int64_t[]){2, 2}, 2);
    sis_net_attr_ints(m->b, "strides", (const int64_t[]){2, 2}, 2);
    sis_net_add_node(m->b, "Flatten", "p", "f");
    dense(m, "f", "d1", 9216, 128);
    sis_net_add_node(m->b, "Relu", "d1", "r3");
    dense(m, "r3", "d2", 128, 10);
    sis_net_add_node(m->b, "Softmax", "d2", "y");
}

static void mnist_mlp(maker *m) {
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){2, {0, 784}});
    dense(m, "x", "d1", 784, 250);
    sis_net_add_node(m->b, "Relu", "d1", "r1");
    dense(m, "r1", "d2", 250, 250);
    sis_net_add_node(m->b, "Relu", "d2", "r2");
    dense(m, "r2", "d3", 250, 10);
    sis_net_add_node(m->b, "Softmax", "d3", "y");
}

/* From the bases (4, length) in `x` on. */
static void dna_layers(maker *m, const char *x) {
    size_t filters = m->s->filters, width = m->s->width;
    char inputs[32];
    snprintf(inputs, sizeof inputs, "%s c.w c.b", x);
    param(m, "c.w", (sis_net_shape){3, {filters, 4, width}}, (double)width, 2);
    param(m, "c.b", (sis_net_shape){1, {filters}}, 100, 1);
    sis_net_add_node(m->b, "Conv", inputs, "c");
    sis_net_add_node(m->b, "Relu", "c", "r1");
    sis_net_add_node(m->b, "GlobalMaxPool", "r1", "p");
    sis_net_add_node(m->b, "Flatten", "p", "f");
    dense(m, "f", "d1", filters, m->s->dense);
    sis_net_add_node(m->b, "Relu", "d1", "r2");
    dense(m, "r2", "d2", m->s->dense, 1);
    sis_net_add_node(m->b, "Sigmoid", "d2", "y");
}

static void dna_cnn(maker *m) {
    size_t length = m->s == &full_size ? 101 : 20;
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){3, {0, 4, length}});
    dna_layers(m, "x");
}

/* The same network over (length, 4), as Keras has it. */
static void dna_last(maker *m) {
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){3, {0, 20, 4}});
    sis_net_add_node(m->b, "Transpose", "x", "t");
    sis_net_attr_ints(m->b, "perm", (const int64_t[]){0, 2, 1}, 3);
    dna_layers(m, "t");
}

/* A colour image of 4 x 5 pixels, channels first. */
static void colours(maker *m) {
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){4, {0, 3, 4, 5}});
    sis_net_add_node(m->b, "Flatten", "x", "f");
    dense(m, "f", "d", 60, 1);
    sis_net_add_node(m->b, "Sigmoid", "d", "y");
}

static void embedding(maker *m) {
    sis_net_add_input(m->b, "x", 1, &(sis_net_shape){2, {0, m->s->length}});
    param(m, "e.w", (sis_net_shape){2, {m->s->words, m->s->dim}}, 1, 1);
    sis_net_add_node(m->b, "Gather", "e.w x", "e");
}

static void text_cnn(maker *m) {
    size_t filters = m->s->filters, dim = m->s->dim;
    embedding(m);
    sis_net_add_node(m->b, "Transpose", "e", "t");
    sis_net_attr_ints(m->b, "perm", (const int64_t[]){0, 2, 1}, 3);
    param(m, "c.w", (sis_net_shape){3, {filters, dim, 3}}, (double)(3 * dim), 2);
    param(m, "c.b", (sis_net_shape){1, {filters}}, 100, 1);
    sis_net_add_node(m->b, "Conv", "t c.w c.b", "c");
    sis_net_add_node(m->b, "Relu", "c", "r");
    sis_net_add_node(m->b, "GlobalMaxPool", "r", "p");
    sis_net_add_node(m->b, "Flatten", "p", "f");
    dense(m, "f", "d", filters, 1);
    sis_net_add_node(m->b, "Sigmoid", "d", "y");
}

/* One LSTM over (time, rows, input). */
static void lstm(maker *m, const char *x, const char *name, size_t in, const char *outputs) {
    size_t hidden = m->s->hidden;
    char w[32], r[32], b[32], inputs[128];
    snprintf(w, sizeof w, "%s.w", name);
    snprintf(r, sizeof r, "%s.r", name);
    snprintf(b, sizeof b, "%s.b", name);
    snprintf(inputs, sizeof inputs, "%s %s %s %s", x, w, r, b);
    param(m, w, (sis_net_shape){3, {1, 4 * hidden, in}}, (double)in, 1);
    param(m, r, (sis_net_shape){3, {1, 4 * hidden, hidden}}, (double)hidden, 1);
    param(m, b, (sis_net_shape){2, {1, 8 * hidden}}, 100, 1);
    sis_net_add_node(m->b, "LSTM", inputs, outputs);
    sis_net_attr_int(m->b, "hidden_size", (int64_t)hidden);
}

static void text_lstm(maker *m) {
    embedding(m);
    sis_net_add_node(m->b, "Transpose", "e", "t");
    sis_net_attr_ints(m->b, "perm", (const int64_t[]){1, 0, 2}, 3);
    sis_net_add_ints(m->b, "axis1", &(sis_net_shape){1, {1}}, (const int64_t[]){1});
    sis_net_add_ints(m->b, "axis0", &(sis_net_shape){1, {1}}, (const int64_t[]){0});
    lstm(m, "t", "l1", m->s->dim, "l1");
    sis_net_add_node(m->b, "Squeeze", "l1 axis1", "s1");
    lstm(m, "s1", "l2", m->s->hidden, "- h2");
    sis_net_add_node(m->b, "Squeeze", "h2 axis0", "s2");
    dense(m, "s2", "d", m->s->hidden, 1);
    sis_net_add_node(m->b, "Sigmoid", "d", "y");
}

static const struct {
    const char *name;
    const sizes *s;
    void (*make)(maker *m);
} makers[] = {
    {"mnist-cnn", &full_size, mnist_cnn},    {"mnist-mlp", &full_size, mnist_mlp},
    {"dna-cnn", &full_size, dna_cnn},        {"text-cnn", &full_size, text_cnn},
    {"text-lstm", &full_size, text_lstm},    {"tiny-dna", &tiny_size, dna_cnn},
    {"tiny-text", &tiny_size, text_cnn},     {"tiny-lstm", &tiny_size, text_lstm},
    {"tiny-dna-last", &tiny_size, dna_last}, {"tiny-colours", &tiny_size, colours},
};

const char *const paper_models[] = {"mnist-cnn",     "mnist-mlp",    "dna-cnn",   "text-cnn",
                                    "text-lstm",     "tiny-dna",     "tiny-text", "tiny-lstm",
                                    "tiny-dna-last", "tiny-colours", NULL};

int paper_model(const char *name, uint64_t seed, sis_net **out) {
    *out = NULL;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        if (strcmp(name, makers[i].name) != 0)
            continue;
        maker m = {.b = sis_net_builder_new(name), .s = makers[i].s};
        if (!m.b)
            return SIS_E_NOMEM;
        sis__rng_init(&m.r, seed);
        makers[i].make(&m);
        sis_net_add_output(m.b, "y");
        return sis_net_build(m.b, out);
    }
    return SIS_E_ARGUMENT;
}
