/* SPDX-License-Identifier: MIT
 *
 * Small networks that bytes decide: the kind, its layers, their sizes and the look of their weights.
 * Where the bytes end a random number goes on that the first of them seeded, so that a few bytes
 * are a whole network and every byte more decides something by itself.
 *
 * Weights are meant to hurt: whole numbers and repetitions make candidates that are equal, large
 * ones saturate what follows, zeros cut features off.
 */
#ifndef SIS_FUZZ_NETS_H
#define SIS_FUZZ_NETS_H

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/rng.h"

/* ---- What decides -------------------------------------------------------------------------- */

typedef struct fuzz_source {
    const unsigned char *bytes;
    size_t n;
    sis__rng rng;
} fuzz_source;

static fuzz_source fuzz_source_of(const unsigned char *bytes, size_t n) {
    uint64_t seed = 0;
    size_t head = n < 4 ? n : 4;
    memcpy(&seed, bytes, head);
    fuzz_source s = {.bytes = bytes + head, .n = n - head};
    sis__rng_init(&s.rng, seed);
    return s;
}

/* The same, from the midst of it: the state of the random numbers, and what decides from there. */
static fuzz_source fuzz_source_from(const unsigned char *bytes, size_t n) {
    fuzz_source s = fuzz_source_of(bytes, n);
    if (n < sizeof s.rng)
        return s;
    memcpy(&s.rng, bytes, sizeof s.rng);
    if (!(s.rng.s[0] | s.rng.s[1] | s.rng.s[2] | s.rng.s[3]))
        s.rng.s[0] = 1; /* from zeros nothing but zeros would follow */
    s.bytes = bytes + sizeof s.rng;
    s.n = n - sizeof s.rng;
    return s;
}

/* 0..n-1 */
static size_t pick(fuzz_source *s, size_t n) {
    if (s->n == 0)
        return sis__rng_below(&s->rng, n);
    s->n--;
    return *s->bytes++ % n;
}

static size_t from_to(fuzz_source *s, size_t low, size_t high) {
    return low + pick(s, high - low + 1);
}

/* How numbers look. */
typedef enum { NORMAL, WHOLE, QUARTERS, UNIT, LARGE, SMALL, SPARSE, EQUAL, N_LOOKS } fuzz_look;

static double fuzz_number(fuzz_source *s, fuzz_look look) {
    double v = sis__rng_normal(&s->rng);
    switch (look) {
    case WHOLE:
        return rint(v);
    case QUARTERS:
        return rint(4 * v) / 4;
    case UNIT:
        return sis__rng_uniform(&s->rng);
    case LARGE:
        return 30 * v;
    case SMALL:
        return 1e-3 * v;
    case SPARSE:
        return sis__rng_below(&s->rng, 3) ? 0 : v;
    case EQUAL:
        return 0.3;
    default:
        return v;
    }
}

/* ---- Drafts -------------------------------------------------------------------------------- */

/* A network under way: its last tensor, of shape (rows, dims[0], dims[1] ...). */
typedef struct fuzz_draft {
    sis_net_builder *b;
    fuzz_source *s;
    char last[16];
    size_t rank, dims[4];
    int n;
} fuzz_draft;

static void name_next(fuzz_draft *d, char kind, char name[16]) {
    snprintf(name, 16, "%c%d", kind, d->n++);
}

/* A node that reads the last tensor, and others. */
static void then(fuzz_draft *d, const char *op, const char *others) {
    char inputs[96], out[16];
    name_next(d, 't', out);
    snprintf(inputs, sizeof inputs, "%s %s", d->last, others);
    sis_net_add_node(d->b, op, inputs, out);
    memcpy(d->last, out, sizeof out);
}

/* A parameter; its numbers are about as large as suits a sum of `fan`. */
static void param(fuzz_draft *d, const sis_net_shape *shape, size_t fan, char name[16]) {
    size_t n = 1;
    for (size_t i = 0; i < shape->rank; i++)
        n *= shape->dims[i];
    float *v = (float *)malloc(n * sizeof *v);
    fuzz_look look = (fuzz_look)pick(d->s, N_LOOKS);
    double size = look == WHOLE || look == QUARTERS ? 1 : sqrt(2.0 / (double)fan);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(size * fuzz_number(d->s, look));
    if (n > 1 && pick(d->s, 4) == 0) /* the second half is the first once more */
        memcpy(v + n / 2, v, n / 2 * sizeof *v);
    name_next(d, 'p', name);
    sis_net_add_param(d->b, name, shape, v);
    free(v);
}

#define FUZZ_SHAPE(...)                                                                            \
    (&(sis_net_shape){sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), {__VA_ARGS__}})

static void ints_list(fuzz_draft *d, const char *name, const size_t *v, size_t n) {
    int64_t list[6] = {0};
    for (size_t i = 0; i < n; i++)
        list[i] = (int64_t)v[i];
    sis_net_attr_ints(d->b, name, list, n);
}

/* ---- Layers -------------------------------------------------------------------------------- */

static void activation(fuzz_draft *d) {
    static const char *const ops[] = {"Relu", "Tanh",        "Sigmoid",  "LeakyRelu",
                                      "Elu",  "HardSigmoid", "Softplus", "Identity"};
    then(d, ops[pick(d->s, sizeof ops / sizeof *ops)], "");
}

/* A window that slides along the axes behind the first. */
static void slide(fuzz_draft *d, const size_t *kernel, const size_t *pads) {
    size_t stride[3], axes = d->rank - 1;
    for (size_t i = 0; i < axes; i++) {
        size_t room = d->dims[1 + i] + pads[i] + pads[axes + i] - kernel[i];
        stride[i] = from_to(d->s, 1, 2);
        d->dims[1 + i] = room / stride[i] + 1;
    }
    ints_list(d, "strides", stride, axes);
    ints_list(d, "pads", pads, 2 * axes);
}

static void convolution(fuzz_draft *d) {
    size_t axes = d->rank - 1, kernel[3], pads[6], filters = from_to(d->s, 1, 6), fan = d->dims[0];
    sis_net_shape shape = {1 + d->rank, {filters, d->dims[0]}};
    char w[16], b[16] = "", both[40];
    for (size_t i = 0; i < axes; i++) {
        kernel[i] = from_to(d->s, 1, d->dims[1 + i] < 3 ? d->dims[1 + i] : 3);
        pads[i] = pick(d->s, 2);
        pads[axes + i] = pick(d->s, 2);
        shape.dims[2 + i] = kernel[i];
        fan *= kernel[i];
    }
    param(d, &shape, fan, w);
    if (pick(d->s, 4))
        param(d, FUZZ_SHAPE(filters), 100, b);
    snprintf(both, sizeof both, "%s %s", w, b);
    then(d, "Conv", both);
    d->dims[0] = filters;
    slide(d, kernel, pads);
}

static void pooling(fuzz_draft *d) {
    size_t axes = d->rank - 1, kernel[3], pads[6] = {0};
    int average = pick(d->s, 2) == 0;
    for (size_t i = 0; i < axes; i++)
        kernel[i] = from_to(d->s, 1, d->dims[1 + i] < 3 ? d->dims[1 + i] : 3);
    then(d, average ? "AveragePool" : "MaxPool", "");
    ints_list(d, "kernel_shape", kernel, axes);
    slide(d, kernel, pads);
}

static void normalization(fuzz_draft *d) {
    char names[4][16], all[80];
    float var[64];
    for (size_t i = 0; i < d->dims[0] && i < 64; i++)
        var[i] = (float)(0.01 + sis__rng_uniform(&d->s->rng));
    for (int i = 0; i < 3; i++)
        param(d, FUZZ_SHAPE(d->dims[0]), 2, names[i]);
    name_next(d, 'p', names[3]);
    sis_net_add_param(d->b, names[3], FUZZ_SHAPE(d->dims[0]), var);
    snprintf(all, sizeof all, "%s %s %s %s", names[0], names[1], names[2], names[3]);
    then(d, "BatchNormalization", all);
}

/* A constant for each channel, or a branch of its own. */
static void joined(fuzz_draft *d) {
    static const char *const ops[] = {"Add", "Sub", "Mul", "Max"};
    sis_net_shape shape = {d->rank, {d->dims[0], 1, 1, 1}};
    const char *op = ops[pick(d->s, 4)];
    char other[16];
    if (pick(d->s, 2)) {
        param(d, &shape, 2, other);
        then(d, op, other);
        return;
    }
    memcpy(other, d->last, sizeof other);
    activation(d);
    then(d, op, other);
}

static void reduction(fuzz_draft *d) {
    static const char *const ops[] = {"GlobalAveragePool", "GlobalMaxPool", "ReduceMean",
                                      "ReduceMax", "ReduceSum"};
    static const int64_t axes[] = {2, 3, 4};
    size_t way = pick(d->s, 5);
    char name[16] = "";
    if (way == 4) { /* takes its axes as an input since opset 13 */
        name_next(d, 'i', name);
        sis_net_add_ints(d->b, name, FUZZ_SHAPE(d->rank - 1), axes);
    }
    then(d, ops[way], name);
    if (way == 2 || way == 3)
        sis_net_attr_ints(d->b, "axes", axes, d->rank - 1);
    for (size_t i = 1; i < d->rank; i++)
        d->dims[i] = 1;
}

static void dense(fuzz_draft *d, size_t outputs) {
    char w[16], b[16] = "", both[40];
    size_t in = d->dims[0];
    int turned = pick(d->s, 2) == 0, gemm = pick(d->s, 3) > 0;
    param(d, gemm && turned ? FUZZ_SHAPE(outputs, in) : FUZZ_SHAPE(in, outputs), in, w);
    if (pick(d->s, 4))
        param(d, FUZZ_SHAPE(outputs), 50, b);
    snprintf(both, sizeof both, "%s %s", w, gemm ? b : "");
    then(d, gemm ? "Gemm" : "MatMul", both);
    if (gemm && turned)
        sis_net_attr_int(d->b, "transB", 1);
    if (!gemm && *b)
        then(d, "Add", b);
    d->dims[0] = outputs;
}

static void flat(fuzz_draft *d) {
    for (size_t i = 1; i < d->rank; i++)
        d->dims[0] *= d->dims[i];
    d->rank = 1;
    then(d, "Flatten", "");
}

/* Dense layers and an output. */
static void ending(fuzz_draft *d) {
    static const char *const last[] = {"Sigmoid", "Softmax", "LogSoftmax", "Tanh", "Relu", ""};
    for (size_t more = pick(d->s, 3); more > 0; more--) {
        dense(d, from_to(d->s, 1, 12));
        activation(d);
    }
    const char *op = last[pick(d->s, 6)];
    if (pick(d->s, 8))
        dense(d, *op == 'S' && op[1] == 'i' ? 1 : from_to(d->s, 1, 4));
    if (*op)
        then(d, op, "");
}

/* ---- Kinds ---------------------------------------------------------------------------------- */

static void input(fuzz_draft *d, size_t rank, const size_t *dims) {
    sis_net_shape shape = {1 + rank, {pick(d->s, 4) ? 0 : 1}};
    for (size_t i = 0; i < rank; i++)
        shape.dims[1 + i] = d->dims[i] = dims[i];
    d->rank = rank;
    sis_net_add_input(d->b, "x", 0, &shape);
    memcpy(d->last, "x", 2);
}

/* Words, looked up: (length, dim). */
static void words(fuzz_draft *d, size_t length, size_t dim) {
    char e[16];
    sis_net_add_input(d->b, "x", 1, FUZZ_SHAPE(0, length));
    param(d, FUZZ_SHAPE(12, dim), 2, e);
    memcpy(d->last, e, sizeof e);
    then(d, "Gather", "x");
    d->rank = 2;
    d->dims[0] = length;
    d->dims[1] = dim;
}

static void turn(fuzz_draft *d, const int64_t *perm, size_t n) {
    then(d, "Transpose", "");
    sis_net_attr_ints(d->b, "perm", perm, n);
}

static void windows(fuzz_draft *d) {
    size_t axes = from_to(d->s, 1, 2), few = axes == 1 ? 14 : 5;
    few *= pick(d->s, 8) ? 1 : 3; /* now and then long sums */
    if (axes == 1 && pick(d->s, 3) == 0) {
        words(d, from_to(d->s, 3, 10), from_to(d->s, 1, 4));
        turn(d, (int64_t[]){0, 2, 1}, 3);
        size_t length = d->dims[0];
        d->dims[0] = d->dims[1];
        d->dims[1] = length;
    } else {
        size_t dims[3] = {from_to(d->s, 1, 3)};
        for (size_t i = 0; i < axes; i++)
            dims[1 + i] = from_to(d->s, 2, few);
        input(d, 1 + axes, dims);
    }
    convolution(d);
    for (size_t more = from_to(d->s, 0, 4); more > 0; more--)
        switch (pick(d->s, 6)) {
        case 0:
            convolution(d);
            break;
        case 1:
            pooling(d);
            break;
        case 2:
            normalization(d);
            break;
        case 3:
            joined(d);
            break;
        default:
            activation(d);
        }
    if (pick(d->s, 2))
        reduction(d);
    flat(d);
    ending(d);
}

static void perceptron(fuzz_draft *d) {
    input(d, 1, (size_t[]){pick(d->s, 8) ? from_to(d->s, 2, 24) : from_to(d->s, 25, 200)});
    dense(d, from_to(d->s, 1, 20));
    activation(d);
    ending(d);
}

/* A dense layer at every position, and something over positions. */
static void positions(fuzz_draft *d) {
    size_t length = from_to(d->s, 2, 10), dim = from_to(d->s, 1, 4), out = from_to(d->s, 1, 6);
    char w[16];
    input(d, 2, (size_t[]){length, dim});
    param(d, FUZZ_SHAPE(dim, out), dim, w);
    then(d, "MatMul", w);
    activation(d);
    turn(d, (int64_t[]){0, 2, 1}, 3);
    d->dims[0] = out;
    d->dims[1] = length;
    reduction(d);
    flat(d);
    ending(d);
}

/* One recurrent layer over (steps, rows, d->dims[1]); its states stand last. */
static void cells(fuzz_draft *d, int lstm, int last_only) {
    static const char *const ways[] = {"forward", "reverse", "bidirectional"};
    size_t gates = lstm ? 4 : 3, hidden = from_to(d->s, 1, 5), way = pick(d->s, 3);
    size_t both = way == 2 ? 2 : 1, steps = d->dims[0], in = d->dims[1];
    char w[16], r[16], b[16] = "", all[80], out[16], outputs[24];
    param(d, FUZZ_SHAPE(both, gates * hidden, in), in, w);
    param(d, FUZZ_SHAPE(both, gates * hidden, hidden), hidden, r);
    if (pick(d->s, 2))
        param(d, FUZZ_SHAPE(both, 2 * gates * hidden), 100, b);
    snprintf(all, sizeof all, "%s %s %s %s", d->last, w, r, b);
    name_next(d, 't', out);
    snprintf(outputs, sizeof outputs, "%s%s", last_only ? "- " : "", out);
    sis_net_add_node(d->b, lstm ? "LSTM" : "GRU", all, outputs);
    sis_net_attr_int(d->b, "hidden_size", (int64_t)hidden);
    sis_net_attr_text(d->b, "direction", ways[way]);
    if (!lstm && pick(d->s, 2))
        sis_net_attr_int(d->b, "linear_before_reset", 1);
    memcpy(d->last, out, sizeof out);
    if (!last_only) { /* (steps, both, rows, hidden) -> (steps, rows, both * hidden) */
        char name[16];
        turn(d, (int64_t[]){0, 2, 1, 3}, 4);
        name_next(d, 'i', name);
        sis_net_add_ints(d->b, name, FUZZ_SHAPE(3),
                         (int64_t[]){(int64_t)steps, -1, (int64_t)(both * hidden)});
        then(d, "Reshape", name);
        d->dims[1] = both * hidden;
        return;
    }
    turn(d, (int64_t[]){1, 0, 2}, 3); /* (both, rows, hidden) -> (rows, both, hidden) */
    d->dims[0] = both;
    d->dims[1] = hidden;
}

static void recurrent(fuzz_draft *d) {
    size_t length = from_to(d->s, 2, 10), dim = from_to(d->s, 1, 4);
    int lstm = pick(d->s, 2) == 0, more = pick(d->s, 3) == 0, whole = pick(d->s, 4) == 0;
    if (pick(d->s, 2))
        words(d, length, dim);
    else
        input(d, 2, (size_t[]){length, dim});
    turn(d, (int64_t[]){1, 0, 2}, 3);
    if (more)
        cells(d, lstm, 0);
    cells(d, lstm, !whole);
    if (whole) { /* (steps, rows, states) -> something over steps */
        turn(d, (int64_t[]){1, 2, 0}, 3);
        size_t steps = d->dims[0];
        d->dims[0] = d->dims[1];
        d->dims[1] = steps;
        reduction(d);
    }
    flat(d);
    ending(d);
}

/* ---- Tables ---------------------------------------------------------------------------------- */

enum { FUZZ_NODES = 64 };

/* A forest as the file lists it. */
typedef struct {
    int64_t tree[FUZZ_NODES], id[FUZZ_NODES], feature[FUZZ_NODES], yes[FUZZ_NODES], no[FUZZ_NODES];
    const char *mode[FUZZ_NODES];
    float value[FUZZ_NODES];
    int64_t leaf_tree[FUZZ_NODES], leaf[FUZZ_NODES], target[FUZZ_NODES];
    float weight[FUZZ_NODES];
    size_t n, n_leaves;
} fuzz_forest;

/* A node and what is below it; its number in the tree. */
static int64_t grow(fuzz_source *s, fuzz_forest *f, int64_t tree, int64_t *next, size_t depth,
                    size_t features, size_t targets) {
    static const char *const modes[] = {"BRANCH_LEQ", "BRANCH_LT", "BRANCH_GT", "BRANCH_GTE"};
    size_t at = f->n++;
    int64_t id = (*next)++;
    f->tree[at] = tree;
    f->id[at] = id;
    f->mode[at] = "LEAF";
    f->feature[at] = f->yes[at] = f->no[at] = 0;
    f->value[at] = 0;
    if (depth > 0 && pick(s, 4) && f->n + 2 < FUZZ_NODES) {
        f->mode[at] = modes[pick(s, 4)];
        f->feature[at] = (int64_t)pick(s, features);
        f->value[at] = (float)fuzz_number(s, QUARTERS);
        f->yes[at] = grow(s, f, tree, next, depth - 1, features, targets);
        f->no[at] = grow(s, f, tree, next, depth - 1, features, targets);
        return id;
    }
    f->leaf_tree[f->n_leaves] = tree;
    f->leaf[f->n_leaves] = id;
    f->target[f->n_leaves] = (int64_t)pick(s, targets);
    f->weight[f->n_leaves++] = (float)fuzz_number(s, (fuzz_look)pick(s, N_LOOKS));
    return id;
}

static void forest(fuzz_draft *d) {
    static const char *const after[] = {"NONE", "LOGISTIC", "SOFTMAX"};
    fuzz_forest f = {.n = 0};
    size_t features = from_to(d->s, 1, 10), targets = from_to(d->s, 1, 3), trees = 0;
    input(d, 1, &features);
    do {
        int64_t next = 0;
        grow(d->s, &f, (int64_t)trees++, &next, 3, features, targets);
    } while (trees < 8 && f.n + 16 < FUZZ_NODES && pick(d->s, 6));
    then(d, "ml.TreeEnsembleRegressor", "");
    sis_net_attr_ints(d->b, "nodes_treeids", f.tree, f.n);
    sis_net_attr_ints(d->b, "nodes_nodeids", f.id, f.n);
    sis_net_attr_ints(d->b, "nodes_featureids", f.feature, f.n);
    sis_net_attr_ints(d->b, "nodes_truenodeids", f.yes, f.n);
    sis_net_attr_ints(d->b, "nodes_falsenodeids", f.no, f.n);
    sis_net_attr_texts(d->b, "nodes_modes", f.mode, f.n);
    sis_net_attr_floats(d->b, "nodes_values", f.value, f.n);
    sis_net_attr_ints(d->b, "target_treeids", f.leaf_tree, f.n_leaves);
    sis_net_attr_ints(d->b, "target_nodeids", f.leaf, f.n_leaves);
    sis_net_attr_ints(d->b, "target_ids", f.target, f.n_leaves);
    sis_net_attr_floats(d->b, "target_weights", f.weight, f.n_leaves);
    sis_net_attr_int(d->b, "n_targets", (int64_t)targets);
    sis_net_attr_text(d->b, "post_transform", after[pick(d->s, 3)]);
}

static void linear(fuzz_draft *d) {
    static const char *const after[] = {"NONE", "LOGISTIC", "SOFTMAX"};
    size_t features = from_to(d->s, 1, 20), targets = from_to(d->s, 1, 3);
    float w[60], bias[3];
    fuzz_look look = (fuzz_look)pick(d->s, N_LOOKS);
    for (size_t i = 0; i < features * targets; i++)
        w[i] = (float)fuzz_number(d->s, look);
    for (size_t i = 0; i < targets; i++)
        bias[i] = (float)fuzz_number(d->s, look);
    input(d, 1, &features);
    then(d, "ml.LinearRegressor", "");
    sis_net_attr_floats(d->b, "coefficients", w, features * targets);
    sis_net_attr_floats(d->b, "intercepts", bias, targets);
    sis_net_attr_int(d->b, "targets", (int64_t)targets);
    sis_net_attr_text(d->b, "post_transform", after[pick(d->s, 3)]);
}

/* The network that the source decides. */
static int fuzz_net(fuzz_source *s, sis_net **out) {
    static void (*const kinds[])(fuzz_draft *) = {windows,   windows,   perceptron, perceptron,
                                                  positions, recurrent, forest,     linear};
    fuzz_draft d = {.b = sis_net_builder_new("fuzz"), .s = s};
    kinds[pick(s, sizeof kinds / sizeof *kinds)](&d);
    sis_net_add_output(d.b, d.last);
    return sis_net_build(d.b, out);
}

#endif
