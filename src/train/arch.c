/* SPDX-License-Identifier: MIT
 *
 * The paper's networks by name (its sections S2.1, S3.1, S3.5, S4.2, S4.7), and two for tables.
 *
 *     mnist-cnn  32 and 64 filters of 3x3, 2x2 max pooling, 128 units, 10 classes
 *     mnist-mlp  784 -> 250 -> 250 -> 10 classes
 *     dna-cnn    128 filters over 24 bases, maximum over positions, 32 units, a probability
 *     text-lstm  embeddings of 100, two LSTM layers of 200, a probability
 *     text-cnn   embeddings of 100, 128 filters over 3 words, maximum over time, a probability
 *     mlp        values of a table -> two layers of 64 -> outputs
 *     linear     values of a table -> outputs
 *
 * Each is built in two forms from one description, for inference and for training. The training
 * form has Dropout nodes, and its LSTM layers start from states that the trainer sets (see pad.c).
 * Parameters have the same names in both.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "train/train.h"

typedef struct {
    sis_net_builder *b;
    sis__rng r;
    const sis_arch *a;
    int training;
    int error; /* out of memory; the builder keeps its own error */
} maker;

/* ---- Weights --------------------------------------------------------------------------------- */

static size_t count_of(const sis_net_shape *s) {
    size_t n = 1;
    for (size_t d = 0; d < s->rank; d++)
        n *= s->dims[d];
    return n;
}

/* A parameter drawn uniformly from +-limit; 0: zeros. */
static void uniform(maker *m, const char *name, sis_net_shape shape, double limit) {
    size_t n = count_of(&shape);
    float *v = SIS_NEW(float, n);
    if (!v) {
        m->error = SIS_E_NOMEM;
        return;
    }
    for (size_t i = 0; limit > 0 && i < n; i++)
        v[i] = (float)((2 * sis__rng_uniform(&m->r) - 1) * limit);
    sis_net_add_param(m->b, name, &shape, v);
    free(v);
}

static void glorot(maker *m, const char *name, sis_net_shape shape, size_t in, size_t out) {
    uniform(m, name, shape, sqrt(6.0 / (double)(in + out)));
}

/* Turn v into n orthonormal vectors of `dim` >= n numbers: Gram-Schmidt, applied twice. */
static void orthogonalize(sis__rng *r, double *v, size_t n, size_t dim) {
    for (size_t i = 0; i < n; i++) {
        double *x = v + i * dim;
        for (size_t j = 0; j < dim; j++)
            x[j] = sis__rng_normal(r);
        for (size_t k = 0; k < 2 * i; k++) {
            const double *y = v + k % i * dim;
            double dot = 0;
            for (size_t j = 0; j < dim; j++)
                dot += x[j] * y[j];
            for (size_t j = 0; j < dim; j++)
                x[j] -= dot * y[j];
        }
        double norm = 0;
        for (size_t j = 0; j < dim; j++)
            norm += x[j] * x[j];
        for (size_t j = 0; j < dim; j++)
            x[j] /= sqrt(norm);
    }
}

/* Recurrent weights (1, 4*hidden, hidden) whose transpose has orthonormal rows. */
static void recurrent(maker *m, const char *name, size_t hidden) {
    size_t gh = 4 * hidden;
    double *q = SIS_NEW(double, hidden *gh);
    float *v = SIS_NEW(float, hidden *gh);
    if (q && v) {
        orthogonalize(&m->r, q, hidden, gh);
        for (size_t i = 0; i < gh * hidden; i++)
            v[i] = (float)q[i % hidden * gh + i / hidden];
        sis_net_add_param(m->b, name, &(sis_net_shape){3, {1, gh, hidden}}, v);
    } else {
        m->error = SIS_E_NOMEM;
    }
    free(q);
    free(v);
}

/* Zeros, except 1 for the forget gates (the third quarter of the input half). */
static void lstm_bias(maker *m, const char *name, size_t hidden) {
    float *v = SIS_NEW(float, 8 * hidden);
    if (!v) {
        m->error = SIS_E_NOMEM;
        return;
    }
    for (size_t i = 2 * hidden; i < 3 * hidden; i++)
        v[i] = 1;
    sis_net_add_param(m->b, name, &(sis_net_shape){2, {1, 8 * hidden}}, v);
    free(v);
}

/* ---- Layers ---------------------------------------------------------------------------------- */

/* y = W x + b, W (out, in). */
static void dense(maker *m, const char *x, const char *name, size_t in, size_t out) {
    char w[32], b[32], inputs[96];
    snprintf(w, sizeof w, "%s.w", name);
    snprintf(b, sizeof b, "%s.b", name);
    snprintf(inputs, sizeof inputs, "%s %s %s", x, w, b);
    glorot(m, w, (sis_net_shape){2, {out, in}}, in, out);
    uniform(m, b, (sis_net_shape){1, {out}}, 0);
    sis_net_add_node(m->b, "Gemm", inputs, name);
    sis_net_attr_int(m->b, "transB", 1);
}

/* The name of x after dropout: x itself where nothing is dropped. */
static const char *dropped(maker *m, const char *x, const char *name, double share) {
    char ratio[40], inputs[80];
    if (!m->training || share <= 0)
        return x;
    snprintf(ratio, sizeof ratio, "%s%s", SIS__DROP_PREFIX, name);
    snprintf(inputs, sizeof inputs, "%s %s", x, ratio);
    sis_net_add_param(m->b, ratio, &(sis_net_shape){0, {0}}, (const float[]){(float)share});
    sis_net_add_node(m->b, "Dropout", inputs, name);
    return name;
}

/* From z, the outputs before the activation, to y. */
static void finish(maker *m, const char *z) {
    const char *op = m->a->plain_output ? "Identity" : m->a->outputs > 1 ? "Softmax" : "Sigmoid";
    sis_net_add_node(m->b, op, z, "y");
}

static void mnist_cnn(maker *m) {
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){4, {0, 1, 28, 28}});
    glorot(m, "c1.w", (sis_net_shape){4, {32, 1, 3, 3}}, 9, 288);
    uniform(m, "c1.b", (sis_net_shape){1, {32}}, 0);
    glorot(m, "c2.w", (sis_net_shape){4, {64, 32, 3, 3}}, 288, 576);
    uniform(m, "c2.b", (sis_net_shape){1, {64}}, 0);
    sis_net_add_node(m->b, "Conv", "x c1.w c1.b", "c1");
    sis_net_add_node(m->b, "Relu", "c1", "r1");
    sis_net_add_node(m->b, "Conv", "r1 c2.w c2.b", "c2");
    sis_net_add_node(m->b, "Relu", "c2", "r2");
    sis_net_add_node(m->b, "MaxPool", "r2", "p");
    sis_net_attr_ints(m->b, "kernel_shape", (const int64_t[]){2, 2}, 2);
    sis_net_attr_ints(m->b, "strides", (const int64_t[]){2, 2}, 2);
    sis_net_add_node(m->b, "Flatten", dropped(m, "p", "drop1", m->a->dropout[0]), "f");
    dense(m, "f", "d1", 9216, m->a->dense);
    sis_net_add_node(m->b, "Relu", "d1", "r3");
    dense(m, dropped(m, "r3", "drop2", m->a->dropout[1]), "d2", m->a->dense, m->a->outputs);
    finish(m, "d2");
}

static void mlp(maker *m) {
    size_t hidden = m->a->hidden;
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){2, {0, m->a->inputs}});
    dense(m, "x", "d1", m->a->inputs, hidden);
    sis_net_add_node(m->b, "Relu", "d1", "r1");
    dense(m, dropped(m, "r1", "drop1", m->a->dropout[0]), "d2", hidden, hidden);
    sis_net_add_node(m->b, "Relu", "d2", "r2");
    dense(m, dropped(m, "r2", "drop2", m->a->dropout[1]), "d3", hidden, m->a->outputs);
    finish(m, "d3");
}

static void linear(maker *m) {
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){2, {0, m->a->inputs}});
    dense(m, "x", "d1", m->a->inputs, m->a->outputs);
    finish(m, "d1");
}

static void dna_cnn(maker *m) {
    size_t filters = m->a->filters, width = m->a->width;
    sis_net_add_input(m->b, "x", 0, &(sis_net_shape){3, {0, 4, m->a->inputs}});
    glorot(m, "c.w", (sis_net_shape){3, {filters, 4, width}}, 4 * width, filters * width);
    uniform(m, "c.b", (sis_net_shape){1, {filters}}, 0);
    sis_net_add_node(m->b, "Conv", "x c.w c.b", "c");
    sis_net_add_node(m->b, "Relu", "c", "r1");
    sis_net_add_node(m->b, "GlobalMaxPool", "r1", "p");
    sis_net_add_node(m->b, "Flatten", dropped(m, "p", "drop1", m->a->dropout[0]), "f");
    dense(m, "f", "d1", filters, m->a->dense);
    sis_net_add_node(m->b, "Relu", "d1", "r2");
    dense(m, dropped(m, "r2", "drop2", m->a->dropout[1]), "d2", m->a->dense, m->a->outputs);
    finish(m, "d2");
}

static void embedding(maker *m) {
    sis_net_add_input(m->b, "x", 1, &(sis_net_shape){2, {0, m->a->inputs}});
    uniform(m, "e.w", (sis_net_shape){2, {m->a->words, m->a->dim}}, 0.05);
    sis_net_add_node(m->b, "Gather", "e.w x", "e");
}

static void text_cnn(maker *m) {
    size_t filters = m->a->filters, dim = m->a->dim, width = m->a->width;
    embedding(m);
    sis_net_add_node(m->b, "Transpose", dropped(m, "e", "drop1", m->a->dropout[0]), "t");
    sis_net_attr_ints(m->b, "perm", (const int64_t[]){0, 2, 1}, 3);
    glorot(m, "c.w", (sis_net_shape){3, {filters, dim, width}}, dim * width, filters * width);
    uniform(m, "c.b", (sis_net_shape){1, {filters}}, 0);
    sis_net_add_node(m->b, "Conv", "t c.w c.b", "c");
    sis_net_add_node(m->b, "Relu", "c", "r");
    sis_net_add_node(m->b, "GlobalMaxPool", "r", "p");
    sis_net_add_node(m->b, "Flatten", "p", "f");
    dense(m, dropped(m, "f", "drop2", m->a->dropout[1]), "d", filters, m->a->outputs);
    finish(m, "d");
}

/* One LSTM over (time, rows, input); layer 1 or 2. In training its initial and final states are
 * inputs and outputs. */
static void lstm(maker *m, const char *x, int layer, size_t in) {
    size_t hidden = m->a->hidden;
    char w[16], r[16], b[16], inputs[160], outputs[64], states[64] = "";
    snprintf(w, sizeof w, "l%d.w", layer);
    snprintf(r, sizeof r, "l%d.r", layer);
    snprintf(b, sizeof b, "l%d.b", layer);
    glorot(m, w, (sis_net_shape){3, {1, 4 * hidden, in}}, in, 4 * hidden);
    recurrent(m, r, hidden);
    lstm_bias(m, b, hidden);
    for (int i = 0; m->training && i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, SIS__STATE_PREFIX "%c%d", "hc"[i], layer);
        uniform(m, name, (sis_net_shape){3, {1, 1, hidden}}, 0);
    }
    if (m->training)
        snprintf(states, sizeof states, " - " SIS__STATE_PREFIX "h%d " SIS__STATE_PREFIX "c%d",
                 layer, layer);
    snprintf(inputs, sizeof inputs, "%s %s %s %s%s", x, w, r, b, states);
    snprintf(outputs, sizeof outputs,
             m->training  ? "%s h%d c%d"
             : layer == 1 ? "%s"
                          : "%s h%d",
             layer == 1    ? "l1"
             : m->training ? "l2"
                           : "-",
             layer, layer);
    sis_net_add_node(m->b, "LSTM", inputs, outputs);
    sis_net_attr_int(m->b, "hidden_size", (int64_t)hidden);
}

static void text_lstm(maker *m) {
    size_t hidden = m->a->hidden;
    embedding(m);
    sis_net_add_node(m->b, "Transpose", "e", "t");
    sis_net_attr_ints(m->b, "perm", (const int64_t[]){1, 0, 2}, 3);
    sis_net_add_ints(m->b, "axis1", &(sis_net_shape){1, {1}}, (const int64_t[]){1});
    sis_net_add_ints(m->b, "axis0", &(sis_net_shape){1, {1}}, (const int64_t[]){0});
    lstm(m, "t", 1, m->a->dim);
    sis_net_add_node(m->b, "Squeeze", "l1 axis1", "s1");
    lstm(m, "s1", 2, hidden);
    sis_net_add_node(m->b, "Squeeze", "h2 axis0", "s2");
    dense(m, dropped(m, "s2", "drop2", m->a->dropout[1]), "d", hidden, m->a->outputs);
    finish(m, "d");
}

/* ---- By name --------------------------------------------------------------------------------- */

static const struct {
    sis_arch arch;
    void (*make)(maker *m);
} makers[] = {
    {{.name = "mnist-cnn", .inputs = 784, .outputs = 10, .dense = 128, .dropout = {0.25, 0.5}},
     mnist_cnn},
    {{.name = "mnist-mlp", .inputs = 784, .outputs = 10, .hidden = 250, .dropout = {0.2, 0.2}},
     mlp},
    {{.name = "dna-cnn",
      .inputs = 101,
      .outputs = 1,
      .filters = 128,
      .width = 24,
      .dense = 32,
      .dropout = {0, 0.5}},
     dna_cnn},
    {{.name = "text-lstm", .inputs = 500, .outputs = 1, .words = 10000, .dim = 100, .hidden = 200},
     text_lstm},
    {{.name = "text-cnn",
      .inputs = 500,
      .outputs = 1,
      .words = 10000,
      .dim = 100,
      .filters = 128,
      .width = 3},
     text_cnn},
    {{.name = "mlp", .inputs = 1, .outputs = 1, .hidden = 64, .standardize = 1}, mlp},
    {{.name = "linear", .inputs = 1, .outputs = 1, .standardize = 1}, linear},
};

enum { N_MAKERS = sizeof makers / sizeof *makers };

static size_t find(const char *name) {
    size_t i = 0;
    while (i < N_MAKERS && strcmp(makers[i].arch.name, name) != 0)
        i++;
    return i;
}

int sis_arch_init(sis_arch *arch, const char *name) {
    size_t i = find(name);
    if (i == N_MAKERS)
        return sis__fail(SIS_E_ARGUMENT,
                         "unknown architecture \"%s\"; expected mnist-cnn, mnist-mlp, "
                         "dna-cnn, text-lstm, text-cnn, mlp or linear",
                         name);
    *arch = makers[i].arch;
    return SIS_OK;
}

const char *sis_arch_check(const sis_arch *a) {
    size_t i = a->name ? find(a->name) : N_MAKERS;
    if (i == N_MAKERS)
        return "no such architecture";
    const sis_arch *d = &makers[i].arch;
    const size_t sizes[] = {a->inputs, a->outputs, a->words, a->dim,
                            a->hidden, a->filters, a->width, a->dense};
    const size_t needed[] = {d->inputs, d->outputs, d->words, d->dim,
                             d->hidden, d->filters, d->width, d->dense};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++)
        if ((needed[k] && !sizes[k]) || sizes[k] > (size_t)1 << 24)
            return "a size is 0 or over 2^24";
    if (a->words && a->words < 2)
        return "a vocabulary needs padding and at least one word";
    if (a->width && a->width > a->inputs)
        return "filters are wider than the input";
    if (strncmp(a->name, "mnist", 5) == 0 && a->inputs != 784)
        return "the MNIST networks take images of 28 x 28";
    for (size_t k = 0; k < 2; k++)
        if (!(a->dropout[k] >= 0 && a->dropout[k] < 1))
            return "dropout lies between 0 and 1";
    return NULL;
}

int sis__arch_build(const sis_arch *arch, uint64_t seed, int training, sis_net **out) {
    const char *wrong = sis_arch_check(arch);
    *out = NULL;
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s: %s", arch->name ? arch->name : "architecture", wrong);
    maker m = {.b = sis_net_builder_new(arch->name), .a = arch, .training = training};
    if (!m.b)
        return SIS_E_NOMEM;
    sis__rng_init(&m.r, seed);
    makers[find(arch->name)].make(&m);
    sis_net_add_output(m.b, "y");
    if (m.error) {
        sis_net_builder_free(m.b);
        return m.error;
    }
    return sis_net_build(m.b, out);
}

int sis_arch_build(const sis_arch *arch, uint64_t seed, sis_net **out) {
    return sis__arch_build(arch, seed, 0, out);
}
