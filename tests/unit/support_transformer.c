/* SPDX-License-Identifier: MIT
 *
 * See support_transformer.h.
 */
#include "support_transformer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support.h"
#include "support_net.h"
#include "support_nets.h"

/* Names contain the number of the current layer. */
typedef struct {
    const encoder *e;
    sis_net_builder *b;
    sis__rng *r;
    size_t layer;
    char x[24]; /* the tensor that was added last */
    int made;
} draft;

static void name_next(draft *d) {
    snprintf(d->x, sizeof d->x, "t%d", ++d->made);
}

/* Add a node whose other inputs are in `format`; %s is the last tensor. */
static void node(draft *d, const char *op, const char *format) {
    char inputs[96];
    snprintf(inputs, sizeof inputs, format, d->x);
    name_next(d);
    sis_net_add_node(d->b, op, inputs, d->x);
}

static void param(draft *d, const char *name, sis_net_shape shape, double size) {
    add_random(d->b, name, &shape, d->r, size);
}

static void number(draft *d, const char *name, float v) {
    sis_net_add_param(d->b, name, &(sis_net_shape){0, {0}}, &v);
}

static void ints(draft *d, const char *name, const int64_t *v, size_t n) {
    sis_net_add_ints(d->b, name, &(sis_net_shape){1, {n}}, v);
}

/* x . w + b */
static void linear(draft *d, const char *what, size_t in, size_t out) {
    char w[24], b[24], more[64];
    snprintf(w, sizeof w, "w%s%zu", what, d->layer);
    snprintf(b, sizeof b, "b%s%zu", what, d->layer);
    param(d, w, (sis_net_shape){2, {in, out}}, 1.5 / sqrt((double)in));
    param(d, b, (sis_net_shape){1, {out}}, 0.3);
    snprintf(more, sizeof more, "%%s %s", w);
    node(d, "MatMul", more);
    snprintf(more, sizeof more, "%s %%s", b);
    node(d, "Add", more);
}

static void normalise(draft *d, const char *what) {
    char g[24], s[24], more[96], x[24], centred[24];
    snprintf(g, sizeof g, "g%s%zu", what, d->layer);
    snprintf(s, sizeof s, "s%s%zu", what, d->layer);
    param(d, g, (sis_net_shape){1, {d->e->width}}, 1);
    param(d, s, (sis_net_shape){1, {d->e->width}}, 0.3);
    if (d->e->norm) {
        snprintf(more, sizeof more, "%%s %s %s", g, s);
        node(d, "LayerNormalization", more);
        return;
    }
    snprintf(x, sizeof x, "%s", d->x);
    node(d, "ReduceMean", "%s");
    sis_net_attr_ints(d->b, "axes", (int64_t[]){-1}, 1);
    snprintf(more, sizeof more, "%s %%s", x);
    node(d, "Sub", more);
    snprintf(centred, sizeof centred, "%s", d->x);
    if (d->layer % 2) {
        node(d, "Pow", "%s two");
    } else {
        snprintf(more, sizeof more, "%s %s", centred, centred);
        node(d, "Mul", more);
    }
    node(d, "ReduceMean", "%s");
    sis_net_attr_ints(d->b, "axes", (int64_t[]){-1}, 1);
    node(d, "Add", "%s tiny");
    node(d, "Sqrt", "%s");
    snprintf(more, sizeof more, "%s %%s", centred);
    node(d, "Div", more);
    snprintf(more, sizeof more, "%%s %s", g);
    node(d, "Mul", more);
    snprintf(more, sizeof more, "%%s %s", s);
    node(d, "Add", more);
}

/* Normalise the sum with `before`, as one operator of ONNX Runtime. */
static void normalise_sum(draft *d, const char *before, const char *what) {
    char g[24], s[24], more[96];
    snprintf(g, sizeof g, "g%s%zu", what, d->layer);
    snprintf(s, sizeof s, "s%s%zu", what, d->layer);
    param(d, g, (sis_net_shape){1, {d->e->width}}, 1);
    param(d, s, (sis_net_shape){1, {d->e->width}}, 0.3);
    snprintf(more, sizeof more, "%%s %s %s %s", before, g, s);
    node(d, "ms.SkipLayerNormalization", more);
}

/* (rows, length, width) -> (rows, heads, length, size), or with the last two axes swapped. */
static void split_heads(draft *d, int turned) {
    node(d, "Reshape", "%s split");
    node(d, "Transpose", "%s");
    sis_net_attr_ints(d->b, "perm", turned ? (int64_t[]){0, 2, 3, 1} : (int64_t[]){0, 2, 1, 3}, 4);
}

static void attend(draft *d) {
    char x[24], q[24], k[24], v[24], more[64];
    const char *what[] = {"q", "k", "v"};
    char *to[] = {q, k, v};
    snprintf(x, sizeof x, "%s", d->x);
    for (size_t i = 0; i < 3; i++) {
        snprintf(d->x, sizeof d->x, "%s", x);
        linear(d, what[i], d->e->width, d->e->width);
        split_heads(d, i == 1);
        snprintf(to[i], sizeof q, "%s", d->x);
    }
    snprintf(more, sizeof more, "%s %s", q, k);
    node(d, "MatMul", more);
    node(d, "Div", "%s root");
    if (d->e->masked)
        node(d, "Add", "%s hidden");
    node(d, "Softmax", "%s");
    sis_net_attr_int(d->b, "axis", -1);
    snprintf(more, sizeof more, "%%s %s", v);
    node(d, "MatMul", more);
    node(d, "Transpose", "%s");
    sis_net_attr_ints(d->b, "perm", (int64_t[]){0, 2, 1, 3}, 4);
    node(d, "Reshape", "%s joined");
    linear(d, "o", d->e->width, d->e->width);
}

static void gelu(draft *d) {
    char x[24], more[64], half[24];
    snprintf(x, sizeof x, "%s", d->x);
    if (d->e->spelling == 1) {
        node(d, "Mul", "%s half");
        snprintf(half, sizeof half, "%s", d->x);
        snprintf(d->x, sizeof d->x, "%s", x);
    }
    node(d, d->e->spelling ? "Mul" : "Div", d->e->spelling ? "%s root_half" : "%s root_two");
    node(d, "Erf", "%s");
    node(d, "Add", "%s one");
    if (d->e->spelling == 2)
        node(d, "Mul", "half %s");
    snprintf(more, sizeof more, "%s %%s", d->e->spelling == 1 ? half : x);
    node(d, "Mul", more);
    if (d->e->spelling == 0)
        node(d, "Mul", "%s half");
}

/* Add the tensor `before`, as a residual connection does. */
static void add_to(draft *d, const char *before) {
    char more[64];
    snprintf(more, sizeof more, "%%s %s", before);
    node(d, "Add", more);
}

static void add_layer(draft *d) {
    char x[24];
    d->layer++;
    for (int part = 0; part < 2; part++) {
        snprintf(x, sizeof x, "%s", d->x);
        if (d->e->before)
            normalise(d, part ? "n" : "m");
        if (part == 0)
            attend(d);
        if (part == 1) {
            linear(d, "u", d->e->width, 2 * d->e->width);
            gelu(d);
            linear(d, "d", 2 * d->e->width, d->e->width);
        }
        if (d->e->norm == 2 && !d->e->before) {
            normalise_sum(d, x, part ? "n" : "m");
            continue;
        }
        add_to(d, x);
        if (!d->e->before)
            normalise(d, part ? "n" : "m");
    }
}

static void add_constants(draft *d) {
    size_t size = d->e->width / d->e->heads;
    int64_t first = 0;
    number(d, "two", 2);
    number(d, "half", 0.5f);
    number(d, "one", 1);
    number(d, "tiny", 1e-5f);
    number(d, "root_two", 1.41421356f);
    number(d, "root_half", 0.70710678f);
    number(d, "root", sqrtf((float)size) / (d->e->sharp ? 4 : 1));
    ints(d, "split",
         (int64_t[]){0, d->e->rigid ? (int64_t)d->e->length : -1, (int64_t)d->e->heads,
                     (int64_t)size},
         4);
    ints(d, "joined",
         (int64_t[]){0, d->e->rigid ? (int64_t)d->e->length : -1, (int64_t)d->e->width}, 3);
    sis_net_add_ints(d->b, "first", &(sis_net_shape){0, {0}}, &first);
}

/* 0 at tokens, -10000 at padding, (rows, 1, 1, length). */
static void add_mask(draft *d) {
    const int64_t axes[] = {1, 2};
    size_t length = d->e->fixed ? d->e->length : 0;
    sis_net_add_input(d->b, "attention_mask", 1, &(sis_net_shape){2, {0, length}});
    ints(d, "axes", axes, 2);
    number(d, "far", -10000);
    sis_net_add_node(d->b, "Unsqueeze", "attention_mask axes", "m1");
    sis_net_add_node(d->b, "Cast", "m1", "m2");
    sis_net_attr_int(d->b, "to", 1);
    sis_net_add_node(d->b, "Sub", "one m2", "m3");
    sis_net_add_node(d->b, "Mul", "m3 far", "hidden");
}

static void add_words(draft *d) {
    const encoder *e = d->e;
    const int64_t zero[] = {0}, second[] = {1};
    param(d, "words", (sis_net_shape){2, {ENCODER_WORDS, e->width}}, 1);
    param(d, "places", (sis_net_shape){2, {e->length, e->width}}, 0.5);
    sis_net_add_node(d->b, "Gather", "words input_ids", "embedded");
    ints(d, "zero", zero, 1);
    ints(d, "second", second, 1);
    sis_net_add_node(d->b, "Shape", "input_ids", "shape");
    sis_net_add_node(d->b, "Gather", "shape second", "count");
    sis_net_add_node(d->b, "Slice", "places zero count zero", "taken");
    sis_net_add_node(d->b, "Add", "embedded taken", "placed");
    snprintf(d->x, sizeof d->x, "placed");
}

void build_encoder(const encoder *e, sis__rng *r, sis_net **out) {
    draft d = {.e = e, .b = sis_net_builder_new("encoder"), .r = r};
    sis_net_add_input(d.b, "input_ids", 1, &(sis_net_shape){2, {0, e->fixed ? e->length : 0}});
    add_constants(&d);
    if (e->masked)
        add_mask(&d);
    add_words(&d);
    normalise(&d, "e");
    for (size_t i = 0; i < e->layers; i++)
        add_layer(&d);
    if (e->mean) {
        node(&d, "ReduceMean", "%s");
        sis_net_attr_ints(d.b, "axes", (int64_t[]){1}, 1);
        sis_net_attr_int(d.b, "keepdims", 0);
    } else {
        node(&d, "Gather", "%s first");
        sis_net_attr_int(d.b, "axis", 1);
    }
    d.layer++;
    linear(&d, "p", e->width, e->width);
    node(&d, "Tanh", "%s");
    linear(&d, "h", e->width, 2);
    node(&d, "Softmax", "%s");
    sis_net_attr_int(d.b, "axis", -1);
    sis_net_add_output(d.b, d.x);
    assert_int_equal(sis_net_build(d.b, out), SIS_OK);
}

encoder draw_encoder(sis__rng *r) {
    size_t heads = between(r, 1, 3);
    int fixed = chance(r, 0.4);
    return (encoder){.layers = between(r, 1, 3),
                     .width = heads * between(r, 3, 12),
                     .heads = heads,
                     .length = between(r, 3, 20),
                     .masked = chance(r, 0.7),
                     .spelling = (int)sis__rng_below(r, 3),
                     .before = chance(r, 0.3),
                     .mean = chance(r, 0.2),
                     .fixed = fixed,
                     .rigid = fixed && chance(r, 0.5)};
}
