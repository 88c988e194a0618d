/* SPDX-License-Identifier: MIT
 *
 * Window walks on random networks of each family: two convolutions and pooling, 1-D convolutions
 * with global pooling, a text CNN over embeddings, residual blocks, batch norm, and graphs with an
 * operator that has no rule. Compares every margin of whole sweeps, and whole collections, with
 * full passes.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/walk/walk.h"
#include "support_nets_rnn.h"

/* A network under construction over images (channels, height, width); 1-D ones have height 0. */
typedef struct {
    sis_net_builder *b;
    sis__rng *r;
    size_t c, h, w; /* shape of the tensor added last */
    int n;          /* its number: tensor "t<n>" */
} canvas;

static void param(canvas *k, const char *name, sis_net_shape shape, double size, double shift) {
    size_t n = 1;
    for (size_t d = 0; d < shape.rank; d++)
        n *= shape.dims[d];
    float *v = malloc(n * sizeof *v);
    assert_non_null(v);
    for (size_t i = 0; i < n; i++)
        v[i] = (float)(shift + size * sis__rng_normal(k->r));
    sis_net_add_param(k->b, name, &shape, v);
    free(v);
}

/* A node that reads tensor `from` and those in `more`, and makes the next tensor. */
static void node(canvas *k, const char *op, int from, const char *more) {
    char in[96], out[16];
    snprintf(in, sizeof in, "t%d %s", from, more);
    snprintf(out, sizeof out, "t%d", ++k->n);
    sis_net_add_node(k->b, op, in, out);
}

static void start(canvas *k, sis__rng *r, size_t c, size_t h, size_t w) {
    *k = (canvas){.b = sis_net_builder_new("test"), .r = r, .c = c, .h = h, .w = w};
    sis_net_shape two = {4, {0, c, h, w}}, one = {3, {0, c, w}};
    sis_net_add_input(k->b, "t0", 0, h ? &two : &one);
}

/* If `plain`, stride, pad and dilation are 1, 0 and 1. */
static void conv(canvas *k, size_t filters, size_t size, size_t groups, int plain) {
    char w[16], b[16], more[40];
    int64_t stride = plain ? 1 : 1 + (int64_t)sis__rng_below(k->r, 2);
    int64_t pad = plain ? 0 : (int64_t)sis__rng_below(k->r, 2);
    int64_t dilation = plain ? 1 : 1 + (int64_t)sis__rng_below(k->r, 2);
    size_t axes = k->h ? 2 : 1, reach = (size_t)dilation * (size - 1) + 1;
    if (k->w + 2 * (size_t)pad < reach + 2 || (k->h && k->h + 2 * (size_t)pad < reach + 2)) {
        dilation = stride = 1;
        reach = size;
    }
    while (k->w + 2 * (size_t)pad < reach || (k->h && k->h + 2 * (size_t)pad < reach))
        pad++;
    snprintf(w, sizeof w, "w%d", k->n);
    snprintf(b, sizeof b, "b%d", k->n);
    snprintf(more, sizeof more, "%s %s", w, b);
    sis_net_shape shape = {2 + axes, {filters, k->c / groups, size, size}};
    param(k, w, shape, 0.6, 0);
    param(k, b, (sis_net_shape){1, {filters}}, 0.3, 0);
    node(k, "Conv", k->n, more);
    sis_net_attr_ints(k->b, "strides", (int64_t[]){stride, stride}, axes);
    sis_net_attr_ints(k->b, "dilations", (int64_t[]){dilation, dilation}, axes);
    sis_net_attr_ints(k->b, "pads", (int64_t[]){pad, pad, pad, pad}, 2 * axes);
    sis_net_attr_int(k->b, "group", (int64_t)groups);
    k->c = filters;
    k->w = (k->w + 2 * (size_t)pad - reach) / (size_t)stride + 1;
    if (k->h)
        k->h = (k->h + 2 * (size_t)pad - reach) / (size_t)stride + 1;
}

static void pool(canvas *k, const char *op) {
    size_t axes = k->h ? 2 : 1;
    if (k->w < 2 || (k->h && k->h < 2))
        return;
    node(k, op, k->n, "");
    sis_net_attr_ints(k->b, "kernel_shape", (int64_t[]){2, 2}, axes);
    sis_net_attr_ints(k->b, "strides", (int64_t[]){2, 2}, axes);
    k->w /= 2;
    k->h /= 2;
}

static void activation(canvas *k) {
    static const char *const names[] = {"Relu",    "Relu", "Relu",      "Tanh", "LeakyRelu",
                                        "Sigmoid", "Gelu", "HardSwish", "Erf",  "Mish"};
    node(k, names[sis__rng_below(k->r, sizeof names / sizeof *names)], k->n, "");
}

static void batch_norm(canvas *k) {
    static const char *const names[] = {"scale", "shift", "mean", "var"};
    char list[96] = "";
    for (int i = 0; i < 4; i++) {
        char name[24];
        snprintf(name, sizeof name, "%s%d", names[i], k->n);
        strcat(strcat(list, i ? " " : ""), name);
        float v[8];
        for (size_t c = 0; c < k->c; c++)
            v[c] = (float)(i == 3 ? 0.5 + sis__rng_uniform(k->r) : sis__rng_normal(k->r));
        sis_net_add_param(k->b, name, &(sis_net_shape){1, {k->c}}, v);
    }
    node(k, "BatchNormalization", k->n, list);
}

/* t + conv(relu(conv(t))) of the same shape. */
static void residual(canvas *k) {
    int from = k->n;
    char other[16];
    for (int i = 0; i < 2; i++) {
        char w[16];
        snprintf(w, sizeof w, "w%d", k->n);
        param(k, w, (sis_net_shape){4, {k->c, k->c, 3, 3}}, 0.4, 0);
        node(k, "Conv", k->n, w);
        sis_net_attr_ints(k->b, "pads", (int64_t[]){1, 1, 1, 1}, 4);
        if (i == 0)
            node(k, "Relu", k->n, "");
    }
    snprintf(other, sizeof other, "t%d", from);
    node(k, "Add", k->n, other);
    node(k, "Relu", k->n, "");
}

static void dense(canvas *k, size_t in, size_t out) {
    char w[16], b[16], more[40];
    snprintf(w, sizeof w, "w%d", k->n);
    snprintf(b, sizeof b, "b%d", k->n);
    snprintf(more, sizeof more, "%s %s", w, b);
    param(k, w, (sis_net_shape){2, {out, in}}, 0.5, 0);
    param(k, b, (sis_net_shape){1, {out}}, 0.2, 0);
    node(k, "Gemm", k->n, more);
    sis_net_attr_int(k->b, "transB", 1);
}

/* Flatten, one or two dense layers, softmax or sigmoid or nothing. */
static sis_net *finish(canvas *k) {
    size_t width = k->c * (k->h ? k->h : 1) * k->w, kind = sis__rng_below(k->r, 3);
    char last[16];
    sis_net *net;
    node(k, "Flatten", k->n, "");
    if (sis__rng_below(k->r, 2)) {
        dense(k, width, 6);
        node(k, "Relu", k->n, "");
        width = 6;
    }
    dense(k, width, kind == 0 ? 3 : 1);
    if (kind < 2)
        node(k, kind == 0 ? "Softmax" : "Sigmoid", k->n, "");
    snprintf(last, sizeof last, "t%d", k->n);
    sis_net_add_output(k->b, last);
    if (sis_net_build(k->b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

static void subject_of(subject *s, sis__rng *r, sis_net *net, size_t n, int embedded) {
    double *x = random_doubles(r, n, 1);
    subject_init(s, net, embedded, n, x, random_mask(r, x, n, 0.5));
}

/* ---- Families -------------------------------------------------------------------------------- */

static void two_convolutions(subject *s, sis__rng *r) {
    canvas k;
    size_t c = 1 + sis__rng_below(r, 3), h = 7 + sis__rng_below(r, 4), w = 7 + sis__rng_below(r, 4);
    start(&k, r, c, h, w);
    conv(&k, 4, 3, 1, sis__rng_below(r, 2) == 0);
    activation(&k);
    conv(&k, 4, 2 + sis__rng_below(r, 2), sis__rng_below(r, 2) ? 2 : 1, sis__rng_below(r, 2) == 0);
    activation(&k);
    pool(&k, sis__rng_below(r, 3) ? "MaxPool" : "AveragePool");
    subject_of(s, r, finish(&k), c * h * w, 0);
    subject_map(s, r, sis__rng_below(r, 3) ? EACH : GROUPS, 1);
}

static void under_a_global_pooling(subject *s, sis__rng *r) {
    static const char *const pools[] = {"GlobalMaxPool", "GlobalMaxPool", "GlobalAveragePool"};
    canvas k;
    size_t length = 14 + sis__rng_below(r, 10);
    start(&k, r, 4, 0, length);
    conv(&k, 6, 3 + sis__rng_below(r, 4), 1, sis__rng_below(r, 2) == 0);
    node(&k, "Relu", k.n, "");
    node(&k, pools[sis__rng_below(r, 3)], k.n, "");
    k.w = 1;
    subject_of(s, r, finish(&k), 4 * length, 0);
    if (sis__rng_below(r, 2)) { /* a column of four values is a feature */
        s->map = malloc(4 * length * sizeof *s->map);
        assert_non_null(s->map);
        for (size_t v = 0; v < 4 * length; v++)
            s->map[v] = (int)(v % length);
        s->input.feature_of = s->map;
        s->n_features = length;
    }
}

static void text_over_embeddings(subject *s, sis__rng *r) {
    enum { LENGTH = 16, DIM = 5, WORDS = 20 };
    canvas k = {.b = sis_net_builder_new("text"), .r = r};
    sis_net_add_input(k.b, "ids", 1, &(sis_net_shape){2, {0, LENGTH}});
    param(&k, "e", (sis_net_shape){2, {WORDS, DIM}}, 1, 0);
    sis_net_add_node(k.b, "Gather", "e ids", "t0");
    node(&k, "Transpose", 0, "");
    sis_net_attr_ints(k.b, "perm", (int64_t[]){0, 2, 1}, 3);
    k.c = DIM;
    k.w = LENGTH;
    conv(&k, 6, 3, 1, 1);
    node(&k, "Relu", k.n, "");
    node(&k, "GlobalMaxPool", k.n, "");
    k.w = 1;
    subject_of(s, r, finish(&k), LENGTH * DIM, 1);
    subject_map(s, r, STEPS, DIM);
}

static void with_a_residual_block(subject *s, sis__rng *r) {
    canvas k;
    start(&k, r, 1, 15, 15); /* larger than the window, so that a walk pays off */
    conv(&k, 3, 3, 1, 1);
    node(&k, "Relu", k.n, "");
    residual(&k);
    if (sis__rng_below(r, 2))
        pool(&k, "MaxPool");
    subject_of(s, r, finish(&k), 15 * 15, 0);
}

static void with_batch_norm(subject *s, sis__rng *r) {
    canvas k;
    start(&k, r, 1, 15, 15);
    conv(&k, 4, 3, 1, 0);
    batch_norm(&k);
    activation(&k);
    pool(&k, "MaxPool");
    subject_of(s, r, finish(&k), 15 * 15, 0);
}

/* A constant border; sometimes before everything, sometimes empty. */
static void border(canvas *k) {
    int64_t p[4];
    for (int i = 0; i < 4; i++)
        p[i] = (int64_t)sis__rng_below(k->r, 3);
    node(k, "Pad", k->n, "");
    sis_net_attr_ints(k->b, "pads", (int64_t[]){0, 0, p[0], p[1], 0, 0, p[2], p[3]}, 8);
    sis_net_attr_float(k->b, "value", (float)sis__rng_below(k->r, 2));
    k->h += (size_t)(p[0] + p[2]);
    k->w += (size_t)(p[1] + p[3]);
}

/* A depthwise convolution, then a 1 x 1 convolution. */
static void with_depthwise_layers(subject *s, sis__rng *r) {
    canvas k;
    size_t c = 1 + sis__rng_below(r, 2), channels = 3 + sis__rng_below(r, 20);
    start(&k, r, c, 11, 11);
    if (sis__rng_below(r, 2))
        border(&k);
    conv(&k, channels, 3, 1, 1);
    activation(&k);
    border(&k);
    conv(&k, channels, 3, channels, sis__rng_below(r, 2) == 0);
    activation(&k);
    conv(&k, 4, 1, 1, 1);
    activation(&k);
    pool(&k, sis__rng_below(r, 2) ? "MaxPool" : "AveragePool");
    subject_of(s, r, finish(&k), c * 11 * 11, 0);
}

/* Softmax over channels: the head begins there. */
static void with_something_in_the_way(subject *s, sis__rng *r) {
    canvas k;
    start(&k, r, 1, 12, 12);
    conv(&k, 4, 3, 1, 1);
    node(&k, "Softmax", k.n, "");
    sis_net_attr_int(k.b, "axis", 1);
    conv(&k, 3, 2, 1, 1);
    node(&k, "Relu", k.n, "");
    subject_of(s, r, finish(&k), 12 * 12, 0);
}

/* Tensor `from` times weights. */
static void times(canvas *k, int from, size_t in, size_t out) {
    char w[16];
    snprintf(w, sizeof w, "w%d", k->n);
    param(k, w, (sis_net_shape){2, {in, out}}, 0.5, 0);
    node(k, "MatMul", from, w);
}

/* Attention between patches. */
static void look_around(canvas *k, int stacked) {
    char other[16];
    int from = k->n;
    node(k, "Transpose", from, "");
    sis_net_attr_ints(k->b, "perm", stacked ? (int64_t[]){1, 0} : (int64_t[]){0, 2, 1},
                      stacked ? 2 : 3);
    snprintf(other, sizeof other, "t%d", k->n);
    node(k, "MatMul", from, other);
    node(k, "Softmax", k->n, "");
    sis_net_attr_int(k->b, "axis", -1);
    snprintf(other, sizeof other, "t%d", from);
    node(k, "MatMul", k->n, other);
}

/* Scores for each patch of an image, one of which is explained. Patches are an axis next to the
 * rows, or stacked with them. */
static void of_each_piece(subject *s, sis__rng *r) {
    canvas k;
    size_t piece = sis__rng_below(r, 2) ? 2 : 4;
    int stacked = (int)sis__rng_below(r, 2);
    start(&k, r, 1, 6, 8);
    sis_net_add_ints(k.b, "pieces", &(sis_net_shape){1, {stacked ? 2 : 3}},
                     stacked ? (int64_t[]){-1, (int64_t)piece}
                             : (int64_t[]){0, -1, (int64_t)piece});
    node(&k, "Reshape", 0, "pieces");
    if (stacked)
        dense(&k, piece, 5);
    else
        times(&k, k.n, piece, 5);
    activation(&k);
    if (sis__rng_below(r, 2))
        look_around(&k, stacked);
    times(&k, k.n, 5, 3);
    if (sis__rng_below(r, 2)) {
        node(&k, "Softmax", k.n, "");
        sis_net_attr_int(k.b, "axis", -1);
    }
    char last[16];
    sis_net *net;
    snprintf(last, sizeof last, "t%d", k.n);
    sis_net_add_output(k.b, last);
    if (sis_net_build(k.b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    subject_of(s, r, net, 48, 0);
    s->input.output = sis__rng_below(r, s->n_outputs);
}

/* Half precision: channels shuffled, the input concatenated with a layer. */
static void of_16_bits(subject *s, sis__rng *r) {
    canvas k;
    char other[16];
    start(&k, r, 2, 10, 10);
    node(&k, "Cast", 0, "");
    sis_net_attr_int(k.b, "to", 10);
    param(&k, "w", (sis_net_shape){4, {4, 2, 3, 3}}, 0.6, 0);
    node(&k, "Conv", 1, "w");
    sis_net_attr_ints(k.b, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    k.c = 4;
    activation(&k);
    sis_net_add_ints(k.b, "groups", &(sis_net_shape){1, {5}}, (int64_t[]){0, 2, 2, 10, 10});
    sis_net_add_ints(k.b, "channels", &(sis_net_shape){1, {4}}, (int64_t[]){0, 4, 10, 10});
    node(&k, "Reshape", k.n, "groups");
    node(&k, "Transpose", k.n, "");
    sis_net_attr_ints(k.b, "perm", (int64_t[]){0, 2, 1, 3, 4}, 5);
    node(&k, "Reshape", k.n, "channels");
    snprintf(other, sizeof other, "t%d", k.n);
    node(&k, "Concat", 1, other);
    sis_net_attr_int(k.b, "axis", 1);
    k.c = 6;
    conv(&k, 4, 3, 1, 1);
    pool(&k, "MaxPool");
    subject_of(s, r, finish(&k), 2 * 10 * 10, 0);
}

static const struct {
    const char *name;
    void (*make)(subject *s, sis__rng *r);
    int times;
} families[] = {
    {"two convolutions", two_convolutions, 25},
    {"global pooling", under_a_global_pooling, 25},
    {"text over embeddings", text_over_embeddings, 25},
    {"residual block", with_a_residual_block, 4},
    {"batch norm", with_batch_norm, 6},
    {"depthwise", with_depthwise_layers, 6},
    {"no rule in the middle", with_something_in_the_way, 6},
    {"scores of each piece", of_each_piece, 24},
    {"16 bits", of_16_bits, 6},
};
enum { FAMILIES = sizeof families / sizeof *families };

/* Collections by full passes are slow, and fuzz.walk compares thousands: a third of the
 * networks. */

/* If a walk gains nothing, there is none, and the core predicts every copy. */
static int has_walk(const subject *s) {
    sis_walk *w;
    int error = sis_net_walk(s->net, &s->input, &(sis_net_walk_opt){.embedded = s->embedded}, &w);
    if (error == SIS_OK)
        w->ops->free(w);
    else
        assert_int_equal(error, SIS_E_UNSUPPORTED);
    return error == SIS_OK;
}

static void margins_agree_with_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 31);
    for (size_t f = 0; f < FAMILIES; f++) {
        deviation d = {0};
        for (int k = 0; k < (int)rounds((size_t)families[f].times); k++) {
            subject s;
            families[f].make(&s, &r);
            if (has_walk(&s))
                check_walk(&s, &r, 1, 3, &d);
            subject_release(&s);
        }
        print_message("%s: %zu margins, %zu unchanged, error at most %.2g, %.2f of the tolerance\n",
                      families[f].name, d.margins, d.unchanged, d.error, d.worst);
        assert_true(d.margins > rounds(300));
        assert_true(d.error == 0);
        assert_true(d.worst < 0.5);
    }
}

static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 32);
    for (size_t f = 0; f < FAMILIES; f++)
        for (size_t k = 0; k < rounds(((size_t)families[f].times + 2) / 3); k++) {
            subject s;
            families[f].make(&s, &r);
            check_collections(&s, &r, 2);
            subject_release(&s);
        }
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 33);
    for (size_t f = 0; f < FAMILIES; f++) {
        subject s;
        families[f].make(&s, &r);
        if (has_walk(&s))
            assert_true(with_failing_allocations(try_walk, &s) > 5);
        subject_release(&s);
    }
}

/* Other patches are not read, unless attention reads them. */
static void only_the_explained_piece_is_computed(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 34);
    for (int k = 0; k < 12; k++) {
        subject s;
        sis_walk *w;
        unsigned char masked[48] = {0};
        double margin, margins[48], same = 0;
        int all[48];
        of_each_piece(&s, &r);
        sis_net_walk_opt opt = {0};
        assert_int_equal(sis__walk_by(&sis__rule_slice, s.net, &s.input, &opt, &w), SIS_OK);
        assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
        for (int j = 0; j < 48; j++)
            all[j] = j;
        assert_int_equal(w->ops->probe(w, all, 48, margins), SIS_OK);
        for (int j = 0; j < 48; j++)
            same += margins[j] == margin;
        char *text;
        assert_int_equal(sis_net_describe(s.net, NULL, &text), SIS_OK);
        size_t outputs = s.n_outputs; /* 3 of each patch */
        assert_true(strstr(text, "Transpose") ? same < 40
                                              : same >= 48 - 48.0 / ((double)outputs / 3));
        free(text);
        w->ops->free(w);
        subject_release(&s);
    }
}

/* The output is a value of the input: no other feature changes anything. */
static void an_output_may_be_the_input(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 34);
    for (int shaped = 0; shaped < 2; shaped++) {
        subject s;
        sis_net *net;
        deviation d = {0};
        sis_net_builder *b = sis_net_builder_new("itself");
        sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 90}});
        sis_net_add_ints(b, "shape", &(sis_net_shape){1, {3}}, (int64_t[]){0, 5, 18});
        sis_net_add_node(b, shaped ? "Reshape" : "Identity", shaped ? "x shape" : "x", "y");
        sis_net_add_output(b, "y");
        assert_int_equal(sis_net_build(b, &net), SIS_OK);
        subject_of(&s, &r, net, 90, 0);
        s.input.output = 3;
        assert_true(has_walk(&s));
        check_walk(&s, &r, 1, 1, &d);
        assert_true(d.error == 0);
        subject_release(&s);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins_agree_with_full_passes),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(only_the_explained_piece_is_computed),
        cmocka_unit_test(an_output_may_be_the_input),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
