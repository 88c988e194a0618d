/* SPDX-License-Identifier: MIT
 *
 * See support_nets.h.
 */
#include "support_nets.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support.h"
#include "support_net.h"

/* ---- Networks ------------------------------------------------------------------------------ */

static size_t between(sis__rng *r, size_t low, size_t high) {
    return low + sis__rng_below(r, high - low + 1);
}

static int chance(sis__rng *r, double p) {
    return sis__rng_uniform(r) < p;
}

/* A network under construction: the name of the tensor that comes last, and its shape (channels
 * first, one to three spatial axes). */
typedef struct {
    sis_net_builder *b;
    sis__rng *r;
    char last[16];
    size_t channels, size[3], spatial;
    int n;
} sketch;

static sketch sketch_of(sis__rng *r, size_t channels, size_t spatial, const size_t *size) {
    sketch s = {.b = sis_net_builder_new("test"), .r = r, .channels = channels, .spatial = spatial};
    for (size_t d = 0; d < spatial; d++)
        s.size[d] = size[d];
    strcpy(s.last, "x");
    return s;
}

/* A new name, kept until the next call but three. */
static const char *fresh(sketch *s) {
    static char names[4][16];
    char *name = names[s->n % 4];
    snprintf(name, sizeof names[0], "t%d", s->n++);
    return name;
}

static void append(sketch *s, const char *op, const char *others) {
    char inputs[64];
    const char *out = fresh(s);
    snprintf(inputs, sizeof inputs, "%s %s", s->last, others);
    sis_net_add_node(s->b, op, inputs, out);
    strcpy(s->last, out);
}

static void add_activation(sketch *s) {
    static const char *const ops[] = {"Relu",    "Relu",        "Relu",     "LeakyRelu", "Elu",
                                      "Sigmoid", "HardSigmoid", "Softplus", "Tanh"};
    append(s, ops[sis__rng_below(s->r, sizeof ops / sizeof *ops)], "");
}

static void ints_attr(sketch *s, const char *name, const size_t *v, size_t n) {
    int64_t list[6];
    for (size_t i = 0; i < n; i++)
        list[i] = (int64_t)v[i];
    sis_net_attr_ints(s->b, name, list, n);
}

/* Spatial axes after a window of `reach` with pads and stride. */
static void slide(sketch *s, const size_t *kernel, const size_t *stride, const size_t *dilation,
                  const size_t *pads) {
    for (size_t d = 0; d < s->spatial; d++) {
        size_t reach = (kernel[d] - 1) * dilation[d] + 1;
        s->size[d] = (s->size[d] + pads[d] + pads[s->spatial + d] - reach) / stride[d] + 1;
    }
}

static void add_conv(sketch *s, size_t filters, int plain) {
    sis__rng *r = s->r;
    size_t kernel[3], stride[3], dilation[3], pads[6], groups = 1;
    for (size_t d = 0; d < s->spatial; d++) {
        kernel[d] = plain ? 3 : between(r, 1, 3);
        stride[d] = !plain && s->size[d] > 8 && chance(r, 0.2) ? 2 : 1;
        dilation[d] = !plain && s->size[d] > 8 && chance(r, 0.2) ? 2 : 1;
        pads[d] = plain ? 1 : between(r, 0, 1);
        pads[s->spatial + d] = plain ? 1 : between(r, 0, 1);
    }
    if (!plain && chance(r, 0.3) && s->channels % 2 == 0 && filters % 2 == 0)
        groups = chance(r, 0.5) && filters % s->channels == 0 ? s->channels : 2;
    sis_net_shape shape = {2 + s->spatial, {filters, s->channels / groups}};
    size_t inputs = s->channels / groups;
    for (size_t d = 0; d < s->spatial; d++) {
        shape.dims[2 + d] = kernel[d];
        inputs *= kernel[d];
    }
    char w[16], b[16], both[40];
    snprintf(w, sizeof w, "w%d", s->n);
    snprintf(b, sizeof b, "b%d", s->n);
    add_random(s->b, w, &shape, r, sqrt(2.0 / (double)inputs));
    int bias = chance(r, 0.8);
    if (bias)
        add_random(s->b, b, SHAPE(filters), r, 0.1);
    snprintf(both, sizeof both, "%s %s", w, bias ? b : "");
    append(s, "Conv", both);
    ints_attr(s, "strides", stride, s->spatial);
    ints_attr(s, "dilations", dilation, s->spatial);
    ints_attr(s, "pads", pads, 2 * s->spatial);
    sis_net_attr_int(s->b, "group", (int64_t)groups);
    slide(s, kernel, stride, dilation, pads);
    s->channels = filters;
}

static void add_norm(sketch *s) {
    char names[4][16], all[80];
    float var[64];
    for (size_t i = 0; i < s->channels; i++)
        var[i] = (float)(0.5 + sis__rng_uniform(s->r));
    for (int i = 0; i < 4; i++)
        snprintf(names[i], sizeof names[i], "n%d_%d", s->n, i);
    for (int i = 0; i < 3; i++)
        add_random(s->b, names[i], SHAPE(s->channels), s->r, i == 0 ? 1.0 : 0.1);
    sis_net_add_param(s->b, names[3], SHAPE(s->channels), var);
    snprintf(all, sizeof all, "%s %s %s %s", names[0], names[1], names[2], names[3]);
    append(s, "BatchNormalization", all);
}

static void add_pool(sketch *s) {
    size_t kernel[3], stride[3], ones[3] = {1, 1, 1}, pads[6] = {0};
    for (size_t d = 0; d < s->spatial; d++) {
        kernel[d] = s->size[d] < 2 ? 1 : between(s->r, 2, s->size[d] < 3 ? 2 : 3);
        stride[d] = s->size[d] < 2 ? 1 : 2;
        pads[d] = kernel[d] > 2 && chance(s->r, 0.3);
    }
    int average = chance(s->r, 0.3);
    append(s, average ? "AveragePool" : "MaxPool", "");
    ints_attr(s, "kernel_shape", kernel, s->spatial);
    ints_attr(s, "strides", stride, s->spatial);
    ints_attr(s, "pads", pads, 2 * s->spatial);
    if (average)
        sis_net_attr_int(s->b, "count_include_pad", chance(s->r, 0.5));
    slide(s, kernel, stride, ones, pads);
}

static size_t positions_of(const sketch *s) {
    size_t n = 1;
    for (size_t d = 0; d < s->spatial; d++)
        n *= s->size[d];
    return n;
}

/* Dense layer on (1, inputs). */
static void add_dense(sketch *s, size_t inputs, size_t outputs) {
    char w[16], b[16], both[40];
    snprintf(w, sizeof w, "w%d", s->n);
    snprintf(b, sizeof b, "b%d", s->n);
    double size = sqrt(2.0 / (double)inputs);
    int way = (int)sis__rng_below(s->r, 3);
    if (way == 0)
        add_random(s->b, w, SHAPE(outputs, inputs), s->r, size);
    else
        add_random(s->b, w, SHAPE(inputs, outputs), s->r, size);
    add_random(s->b, b, SHAPE(outputs), s->r, 0.1);
    snprintf(both, sizeof both, "%s %s", w, way == 2 ? "" : b);
    append(s, way == 2 ? "MatMul" : "Gemm", both);
    if (way == 0)
        sis_net_attr_int(s->b, "transB", 1);
    if (way == 1 && chance(s->r, 0.3)) {
        sis_net_attr_float(s->b, "alpha", 0.7f);
        sis_net_attr_float(s->b, "beta", 1.3f);
    }
    if (way == 2)
        append(s, "Add", b);
}

/* The end: scores of a few classes, or one. */
static int finish(sketch *s, size_t inputs, sis_net **out) {
    if (chance(s->r, 0.5)) {
        size_t hidden = between(s->r, 3, inputs > 1000 ? 8 : 20);
        add_dense(s, inputs, hidden);
        append(s, chance(s->r, 0.7) ? "Relu" : "Tanh", "");
        inputs = hidden;
    }
    size_t way = sis__rng_below(s->r, 4), outputs = way == 2 ? 1 : between(s->r, 2, 5);
    add_dense(s, inputs, outputs);
    if (way < 3)
        append(s, way == 0 ? "Softmax" : way == 1 ? "LogSoftmax" : "Sigmoid", "");
    sis_net_add_output(s->b, s->last);
    return sis_net_build(s->b, out);
}

static int finish_flat(sketch *s, sis_net **out) {
    size_t n = s->channels * positions_of(s);
    append(s, "Flatten", "");
    return finish(s, n, out);
}

static void image_input(sketch *s) {
    sis_net_shape shape = {2 + s->spatial, {chance(s->r, 0.5) ? 0 : 1, s->channels}};
    for (size_t d = 0; d < s->spatial; d++)
        shape.dims[2 + d] = s->size[d];
    sis_net_add_input(s->b, "x", 0, &shape);
}

/* Convolutions, normalization, pooling, a dense layer. */
static int build_image(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 9, 14), between(r, 9, 14)};
    sketch s = sketch_of(r, between(r, 1, 2), 2, size);
    image_input(&s);
    add_conv(&s, 2 * between(r, 2, 5), 0);
    if (chance(r, 0.4))
        add_norm(&s);
    add_activation(&s);
    add_conv(&s, 2 * between(r, 2, 8), 0);
    add_activation(&s);
    if (chance(r, 0.7))
        add_pool(&s);
    return finish_flat(&s, out);
}

/* Enough positions that the dense layer is a long sum. */
static int build_wide_image(sis__rng *r, sis_net **out) {
    size_t size[2] = {16, between(r, 14, 18)};
    sketch s = sketch_of(r, 1, 2, size);
    image_input(&s);
    add_conv(&s, 6, 1);
    add_activation(&s);
    add_conv(&s, 10, 1);
    append(&s, "Relu", "");
    if (chance(r, 0.3))
        add_pool(&s);
    return finish_flat(&s, out);
}

/* Sequences (channels, length) with a maximum, mean or sum over positions. */
static void add_global(sketch *s) {
    static const char *const ops[] = {"GlobalMaxPool", "GlobalAveragePool", "ReduceMax",
                                      "ReduceMean",    "ReduceSum",         "MaxPool"};
    size_t way = sis__rng_below(s->r, 6);
    int64_t axes[3] = {2, 3, 4};
    char name[16] = "";
    if (way == 4) { /* ReduceSum takes its axes as an input since opset 13 */
        snprintf(name, sizeof name, "axes%d", s->n);
        sis_net_add_ints(s->b, name, SHAPE(s->spatial), axes);
    }
    append(s, ops[way], name);
    if (way == 5)
        ints_attr(s, "kernel_shape", s->size, s->spatial);
    if (way == 2 || way == 3)
        sis_net_attr_ints(s->b, "axes", axes, s->spatial);
    append(s, "Flatten", "");
}

static int build_sequence(sis__rng *r, sis_net **out) {
    size_t length = between(r, 20, 40);
    sketch s = sketch_of(r, between(r, 2, 5), 1, &length);
    if (chance(r, 0.5)) {
        sis_net_add_input(s.b, "x", 0, SHAPE(0, length, s.channels));
        append(&s, "Transpose", "");
        sis_net_attr_ints(s.b, "perm", (int64_t[]){0, 2, 1}, 3);
    } else {
        image_input(&s);
    }
    add_conv(&s, between(r, 4, 20), 0);
    add_activation(&s);
    if (chance(r, 0.4)) {
        add_conv(&s, between(r, 4, 20), 0);
        add_activation(&s);
    }
    add_global(&s);
    return finish(&s, s.channels, out);
}

/* The same over an image. */
static int build_pooled_image(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 8, 12), between(r, 8, 12)};
    sketch s = sketch_of(r, between(r, 1, 3), 2, size);
    image_input(&s);
    add_conv(&s, between(r, 4, 12), 0);
    add_activation(&s);
    if (chance(r, 0.4))
        add_pool(&s);
    add_global(&s);
    return finish(&s, s.channels, out);
}

/* Word vectors, convolutions of several widths, the maximum of each. */
static int build_text(sis__rng *r, sis_net **out) {
    size_t length = between(r, 15, 30), dim = between(r, 3, 8), filters = between(r, 3, 9);
    int image = chance(r, 0.5);
    sketch s = sketch_of(r, dim, 1, &length);
    char names[3][16], all[64] = "";
    size_t branches = between(r, 1, 3);
    sis_net_add_input(s.b, "ids", 1, SHAPE(0, length));
    add_random(s.b, "e", SHAPE(40, dim), r, 0.7);
    sis_net_add_node(s.b, "Gather", "e ids", "v");
    strcpy(s.last, "v");
    if (image) { /* (1, length, dim): a window as wide as the vectors */
        sis_net_add_ints(s.b, "one", SHAPE(1), (int64_t[]){1});
        append(&s, "Unsqueeze", "one");
    } else {
        append(&s, "Transpose", "");
        sis_net_attr_ints(s.b, "perm", (int64_t[]){0, 2, 1}, 3);
    }
    char first[16];
    strcpy(first, s.last);
    for (size_t i = 0; i < branches; i++) {
        char w[16];
        size_t width = 2 + i;
        snprintf(w, sizeof w, "k%d", (int)i);
        strcpy(s.last, first);
        if (image)
            add_random(s.b, w, SHAPE(filters, 1, width, dim), r, 0.4);
        else
            add_random(s.b, w, SHAPE(filters, dim, width), r, 0.4);
        append(&s, "Conv", w);
        if (image) {
            sis_net_add_ints(s.b,
                             i == 0   ? "three0"
                             : i == 1 ? "three1"
                                      : "three2",
                             SHAPE(1), (int64_t[]){3});
            append(&s, "Squeeze", i == 0 ? "three0" : i == 1 ? "three1" : "three2");
        }
        append(&s, "Relu", "");
        append(&s, "ReduceMax", "");
        sis_net_attr_ints(s.b, "axes", (int64_t[]){2}, 1);
        sis_net_attr_int(s.b, "keepdims", 0);
        snprintf(names[i], sizeof names[i], "%s", s.last);
    }
    if (branches > 1) {
        snprintf(all, sizeof all, "%s %s", names[1], branches > 2 ? names[2] : "");
        strcpy(s.last, names[0]);
        append(&s, "Concat", all);
        sis_net_attr_int(s.b, "axis", 1);
    }
    return finish(&s, branches * filters, out);
}

/* A residual block, or two branches side by side. */
static int build_branches(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 9, 12), between(r, 9, 12)};
    sketch s = sketch_of(r, 2, 2, size), side;
    int concat = chance(r, 0.5);
    image_input(&s);
    add_conv(&s, 6, 1);
    append(&s, "Relu", "");
    side = s;
    add_conv(&s, 6, 1);
    if (chance(r, 0.5))
        add_norm(&s);
    if (concat) {
        side.n = s.n;
        add_activation(&side);
        s.n = side.n;
    }
    append(&s, concat ? "Concat" : chance(r, 0.5) ? "Add" : "Sub", side.last);
    if (concat) {
        sis_net_attr_int(s.b, "axis", 1);
        s.channels = 12;
    }
    append(&s, "Relu", "");
    if (chance(r, 0.5)) {
        add_global(&s);
        return finish(&s, s.channels, out);
    }
    add_pool(&s);
    return finish_flat(&s, out);
}

/* An operator without a rule in the middle: the front ends there. */
static int build_middle(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 9, 12), between(r, 9, 12)};
    sketch s = sketch_of(r, 1, 2, size);
    image_input(&s);
    add_conv(&s, 12, 1);
    append(&s, "Relu", "");
    add_conv(&s, 6, 1);
    append(&s, "Relu", "");
    size_t way = sis__rng_below(r, 3);
    if (way == 0) {
        append(&s, "Softmax", "");
        sis_net_attr_int(s.b, "axis", 1);
    } else if (way == 1) {
        sis_net_add_param(s.b, "two", SHAPE(1), (float[]){2});
        append(&s, "Pow", "two");
    } else {
        append(&s, "ReduceMax", ""); /* over one of two axes */
        sis_net_attr_ints(s.b, "axes", (int64_t[]){3}, 1);
        s.size[1] = 1;
    }
    return finish_flat(&s, out);
}

/* Flat rows that a Reshape folds into an image; scaled; channels last and back again. */
static int build_exported(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 9, 12), between(r, 9, 12)};
    sketch s = sketch_of(r, 1, 2, size);
    sis_net_add_input(s.b, "x", 0, SHAPE(0, size[0] * size[1]));
    sis_net_add_ints(s.b, "image", SHAPE(4),
                     (int64_t[]){-1, (int64_t)size[0], (int64_t)size[1], 1});
    append(&s, "Reshape", "image");
    if (chance(r, 0.5)) {
        sis_net_add_param(s.b, "mean", SHAPE(1), (float[]){0.3f});
        append(&s, "Sub", "mean");
        add_random(s.b, "scale", SHAPE(size[0], size[1], 1), r, 1.0);
        append(&s, "Mul", "scale");
    }
    append(&s, "Transpose", "");
    sis_net_attr_ints(s.b, "perm", (int64_t[]){0, 3, 1, 2}, 4);
    add_conv(&s, 8, 0);
    append(&s, "Transpose", "");
    sis_net_attr_ints(s.b, "perm", (int64_t[]){0, 2, 3, 1}, 4);
    add_random(s.b, "more", SHAPE(8), r, 0.1);
    append(&s, "Add", "more");
    append(&s, "Relu", "");
    append(&s, "Transpose", "");
    sis_net_attr_ints(s.b, "perm", (int64_t[]){0, 3, 1, 2}, 4);
    if (chance(r, 0.5))
        add_pool(&s);
    append(&s, "Transpose", "");
    sis_net_attr_ints(s.b, "perm", (int64_t[]){0, 2, 3, 1}, 4);
    return finish_flat(&s, out);
}

/* Dense layers at every position, then a mean over positions. */
static int build_positions(sis__rng *r, sis_net **out) {
    size_t length = between(r, 12, 24), dim = between(r, 3, 8);
    sketch s = sketch_of(r, 16, 1, &length);
    sis_net_add_input(s.b, "x", 0, SHAPE(0, length, dim));
    add_random(s.b, "p", SHAPE(dim, 16), r, 0.4);
    add_random(s.b, "q", SHAPE(16), r, 0.1);
    append(&s, "MatMul", "p");
    append(&s, "Add", "q");
    add_activation(&s);
    append(&s, chance(r, 0.5) ? "ReduceMean" : "ReduceMax", "");
    sis_net_attr_ints(s.b, "axes", (int64_t[]){1}, 1);
    sis_net_attr_int(s.b, "keepdims", 0);
    return finish(&s, 16, out);
}

/* Three spatial axes. */
static int build_volume(sis__rng *r, sis_net **out) {
    size_t size[3] = {between(r, 4, 6), between(r, 5, 7), between(r, 5, 7)};
    sketch s = sketch_of(r, 1, 3, size);
    image_input(&s);
    add_conv(&s, 6, 0);
    add_activation(&s);
    if (chance(r, 0.5)) {
        add_global(&s);
        return finish(&s, s.channels, out);
    }
    add_pool(&s);
    return finish_flat(&s, out);
}

const window_family window_families[] = {
    {"image", build_image, 0},       {"wide image", build_wide_image, 0},
    {"sequence", build_sequence, 0}, {"pooled image", build_pooled_image, 0},
    {"text", build_text, 0},         {"embedded text", build_text, 1},
    {"branches", build_branches, 0}, {"middle", build_middle, 0},
    {"exported", build_exported, 0}, {"positions", build_positions, 0},
    {"volume", build_volume, 0},
};
const size_t n_window_families = sizeof window_families / sizeof *window_families;

/* ---- Cases --------------------------------------------------------------------------------- */

/* Features: each value; runs of neighbours; at random. Some values belong to none. */
static size_t draw_features(int *of, size_t n, sis__rng *r) {
    size_t way = sis__rng_below(r, 4), run = between(r, 2, 6), used = 0;
    for (size_t i = 0; i < n; i++)
        of[i] = way == 3 ? (int)sis__rng_below(r, n / 3 + 1) : (int)(way == 2 ? i / run : i);
    for (size_t i = 0; i < n && way > 0; i++)
        if (chance(r, 0.1))
            of[i] = -1;
    /* Every number up to the largest must be used: renumber. */
    int *number = (int *)malloc(n * sizeof *number);
    for (size_t i = 0; i < n; i++)
        number[i] = -1;
    for (size_t i = 0; i < n; i++)
        if (of[i] >= 0) {
            if (number[of[i]] < 0)
                number[of[i]] = (int)used++;
            of[i] = number[of[i]];
        }
    free(number);
    return used;
}

/* Words are features, with all of their vector. */
static size_t draw_words(int *of, size_t n, size_t dim, sis__rng *r) {
    int used = 0;
    for (size_t i = 0; i < n; i += dim) {
        int word = chance(r, 0.1) ? -1 : used++;
        for (size_t c = 0; c < dim; c++)
            of[i + c] = word;
    }
    return (size_t)used;
}

void walk_case_init(walk_case *c, sis_net *net, int embedded, sis__rng *r) {
    const float *matrix;
    size_t words = 0, dim = 1, n = sis_net_values(net);
    *c = (walk_case){.net = net, .embedded = embedded};
    if (sis_net_is_token(net))
        sis_net_embedding(net, &matrix, &words, &dim);
    n *= embedded ? dim : 1;
    c->n_values = n;
    c->x = (double *)malloc(n * sizeof *c->x);
    c->z = (double *)malloc(n * sizeof *c->z);
    c->feature_of = (int *)malloc(n * sizeof *c->feature_of);
    double faint = chance(r, 0.3) ? 0.3 : 0.0;
    for (size_t i = 0; i < n; i++) {
        int ids = words && !embedded;
        c->x[i] = ids ? (double)sis__rng_below(r, words) : sis__rng_normal(r);
        c->z[i] = ids ? (double)(chance(r, 0.9) ? 0 : sis__rng_below(r, words)) : 0.3;
        if (chance(r, 0.05))
            c->z[i] = c->x[i];
        if (!ids && chance(r, faint))
            c->x[i] = c->z[i] + 1e-6 * sis__rng_normal(r);
        if (!ids && chance(r, 0.2))
            c->x[i] = 0;
    }
    c->n_features =
        embedded ? draw_words(c->feature_of, n, dim, r) : draw_features(c->feature_of, n, r);
    c->input =
        (sis_input){.values = c->x, .mask = c->z, .n_values = n, .feature_of = c->feature_of};
    c->input.output = sis__rng_below(r, sis_net_outputs(net));
}

void walk_case_release(walk_case *c) {
    sis_net_free(c->net);
    free(c->x);
    free(c->z);
    free(c->feature_of);
}

/* ---- Full passes ---------------------------------------------------------------------------- */

static int pass(const walk_case *c, const float *rows, size_t n, double *margins) {
    sis_net_batch b = {.rows = rows, .n_rows = n, .n_values = c->n_values, .embedded = c->embedded};
    return sis_net_margins(c->net, &b, margins);
}

void full_margins(const walk_case *c, const unsigned char *masked, const int *features, size_t n,
                  double *margins) {
    size_t outputs = sis_net_outputs(c->net);
    float *rows = (float *)malloc((n + 1) * c->n_values * sizeof *rows);
    double *all = (double *)malloc((n + 1) * outputs * sizeof *all);
    for (size_t k = 0; k < n; k++)
        for (size_t v = 0; v < c->n_values; v++) {
            int j = c->feature_of[v];
            int gone = j >= 0 && (masked[j] || j == features[k]);
            rows[k * c->n_values + v] = (float)(gone ? c->z[v] : c->x[v]);
        }
    assert_int_equal(pass(c, rows, n, all), 0);
    for (size_t k = 0; k < n; k++)
        margins[k] = all[k * outputs + c->input.output];
    free(rows);
    free(all);
}

static int predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    float *x = (float *)malloc(n * width * sizeof *x);
    if (!x)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n * width; i++)
        x[i] = (float)rows[i];
    int error = pass((const walk_case *)ctx, x, n, scores);
    free(x);
    return error;
}

static int walk_new(void *ctx, const sis_input *input, size_t memory, sis_walk **walk) {
    const walk_case *c = (const walk_case *)ctx;
    sis_net_walk_opt opt = {.embedded = c->embedded, .memory = memory};
    return sis_net_walk(c->net, input, &opt, walk);
}

sis_model walk_case_model(const walk_case *c) {
    return (sis_model){.predict = predict,
                       .ctx = (void *)(uintptr_t)c,
                       .n_outputs = sis_net_outputs(c->net),
                       .n_values = c->n_values,
                       .link = sis_net_has_link(c->net) ? sis_net_link : NULL,
                       .walk_new = walk_new};
}

/* ---- Checks -------------------------------------------------------------------------------- */

/* One margin of the walk against that of a full pass. */
static void compare(const sis_walk *w, double walked, double full, walk_seen *seen) {
    double error = fabs(walked - full) / (1 + fabs(full));
    if (!(error <= 1e-5))
        fail_msg("the walk says %.9g, a full pass %.9g", walked, full);
    if (w->tolerance == 0 && walked != full)
        fail_msg("an exact walk says %.17g, a full pass %.17g", walked, full);
    if (w->tolerance > 0 && error > w->tolerance)
        fail_msg("off by %.3g, tolerance %.3g", error, w->tolerance);
    seen->error = fmax(seen->error, error);
    if (w->tolerance > 0)
        seen->portion = fmax(seen->portion, error / w->tolerance);
    seen->exact += w->tolerance == 0;
    seen->probes++;
}

/* Who answers the present margin must leave it as it is in full passes too. */
static void compare_unchanged(double walked, double full, double now, double full_now,
                              walk_seen *seen) {
    if (walked != now)
        return;
    seen->unchanged++;
    if (full != full_now)
        fail_msg("said to change nothing, but %.17g became %.17g", full_now, full);
}

/* Some of what is left, ascending; at least one. */
static size_t draw_left(const walk_case *c, const unsigned char *masked, sis__rng *r, double part,
                        int *list) {
    size_t n = 0;
    for (size_t j = 0; j < c->n_features; j++)
        if (!masked[j] && chance(r, part))
            list[n++] = (int)j;
    for (size_t j = 0; j < c->n_features && n == 0; j++)
        if (!masked[j])
            list[n++] = (int)j;
    return n;
}

void check_windows(const walk_case *c, sis_walk *w, sis__rng *r, size_t steps, walk_seen *seen) {
    size_t n = c->n_features;
    unsigned char *masked = (unsigned char *)calloc(n + 1, 1);
    int *list = (int *)malloc((n + 1) * sizeof *list), nothing = -1;
    double *walked = (double *)malloc((n + 1) * sizeof *walked);
    double *full = (double *)malloc((n + 1) * sizeof *full), now, full_now;
    double gone = chance(r, 0.5) ? 0 : sis__rng_uniform(r), part = chance(r, 0.5) ? 1 : 0.2;
    for (size_t j = 0; j < n; j++)
        masked[j] = (unsigned char)chance(r, gone);
    assert_int_equal(w->ops->reset(w, masked, &now), 0);
    for (size_t step = 0;; step++) {
        full_margins(c, masked, &nothing, 1, &full_now);
        compare(w, now, full_now, seen);
        size_t left = draw_left(c, masked, r, part, list);
        if (left == 0 || step == steps)
            break;
        assert_int_equal(w->ops->probe(w, list, left, walked), 0);
        full_margins(c, masked, list, left, full);
        for (size_t k = 0; k < left; k++) {
            compare(w, walked[k], full[k], seen);
            if (w->tolerance > 0)
                compare_unchanged(walked[k], full[k], now, full_now, seen);
        }
        size_t take = sis__rng_below(r, left);
        for (size_t k = 0; k < left && chance(r, 0.5); k++)
            take = walked[k] > walked[take] ? k : take;
        assert_int_equal(w->ops->mask(w, list[take], &now), 0);
        masked[list[take]] = 1;
    }
    free(masked);
    free(list);
    free(walked);
    free(full);
}

size_t check_same_collection(const walk_case *c, sis__rng *r) {
    sis_model m = walk_case_model(c);
    sis_opt opt;
    sis_collection fast, plain;
    int nothing = -1;
    double margins[2];
    unsigned char *all = (unsigned char *)malloc(c->n_features);
    memset(all, 0, c->n_features);
    full_margins(c, all, &nothing, 1, &margins[0]);
    memset(all, 1, c->n_features);
    full_margins(c, all, &nothing, 1, &margins[1]);
    free(all);
    double part = 0.2 + 0.7 * sis__rng_uniform(r);
    double margin = margins[1] + part * (margins[0] - margins[1]);
    sis_opt_init(&opt);
    opt.threshold = m.link ? m.link(margin) : margin;
    opt.below = margins[0] < margins[1];
    opt.max_subsets = 3;
    assert_int_equal(sis_collect(&m, &c->input, &opt, &fast), 0);
    opt.exact = 1;
    assert_int_equal(sis_collect(&m, &c->input, &opt, &plain), 0);
    assert_int_equal(fast.status, plain.status);
    assert_int_equal(fast.n_subsets, plain.n_subsets);
    for (size_t k = 0; k < fast.n_subsets; k++) {
        assert_int_equal(fast.subsets[k].n, plain.subsets[k].n);
        assert_memory_equal(fast.subsets[k].features, plain.subsets[k].features,
                            fast.subsets[k].n * sizeof(int));
        assert_true(fast.subsets[k].score == plain.subsets[k].score);
    }
    size_t n = fast.n_subsets;
    sis_collection_release(&fast);
    sis_collection_release(&plain);
    return n;
}
