/* SPDX-License-Identifier: MIT
 *
 * Random networks. See support_nets.h.
 */
#include "support_nets.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support.h"
#include "support_net.h"

/* ---- Networks ------------------------------------------------------------------------------ */

size_t between(sis__rng *r, size_t low, size_t high) {
    return low + sis__rng_below(r, high - low + 1);
}

int chance(sis__rng *r, double p) {
    return sis__rng_uniform(r) < p;
}

/* A network under construction: the name of its last tensor, and its shape (channels first, one
 * to three spatial axes). */
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

/* A new name, valid for the next three calls. */
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

/* Spatial axes after a window of size `reach` with pads and stride. */
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

/* The last layers: scores of a few classes, or one score. */
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

/* Many positions, so that the dense layer is a long sum. */
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

/* A map of about 4 x 4 that every pixel reaches, so that convolutions are computed in tiles. */
static int build_deep_image(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 14, 17), between(r, 14, 17)};
    sketch s = sketch_of(r, 1, 2, size);
    image_input(&s);
    add_conv(&s, 4, 1);
    add_activation(&s);
    add_pool(&s);
    add_conv(&s, 6, 1);
    add_pool(&s);
    add_conv(&s, 48, 1);
    add_activation(&s);
    add_conv(&s, 48, 1);
    append(&s, "Relu", "");
    if (chance(r, 0.5))
        add_conv(&s, 50, 1);
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

/* An operator without a rule in the middle: the walk ends there. */
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

/* Flat rows that a Reshape turns into an image; scaled; channels moved last and back. */
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

/* Convolutions between quantised values, as quantisation tools write them. */
static int build_quantised(sis__rng *r, sis_net **out) {
    size_t size[2] = {between(r, 9, 12), between(r, 9, 12)};
    sketch s = sketch_of(r, 1, 2, size);
    image_input(&s);
    sis_net_add_param(s.b, "step", SHAPE(1), (float[]){0.02f});
    for (int k = 0; k < 2; k++) {
        append(&s, "QuantizeLinear", "step");
        append(&s, "DequantizeLinear", "step");
        add_conv(&s, k ? 6 : 12, 1);
        append(&s, "Relu", "");
        if (chance(r, 0.3))
            add_pool(&s);
    }
    append(&s, "QuantizeLinear", "step");
    append(&s, "DequantizeLinear", "step");
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
    {"volume", build_volume, 0},     {"quantised", build_quantised, 0},
    {"deep image", build_deep_image, 0},
};
const size_t n_window_families = sizeof window_families / sizeof *window_families;
