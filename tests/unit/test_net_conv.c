/* SPDX-License-Identifier: MIT
 *
 * Convolutions and average pools of all geometries against plain loops: one to three axes, strides,
 * dilations, padding on either side, groups, maps that fill several blocks.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "support_net.h"

enum { AXES = 3, MAX = 4096, ROWS = 19 };

/* Unused axes come first and have size 1. */
typedef struct {
    int64_t channels, filters, groups, spatial; /* filters 0: an average pool */
    int64_t in[AXES], kernel[AXES], stride[AXES], dilation[AXES], before[AXES], after[AXES];
    int include_pad;
    int64_t out[AXES];
} geometry;

static void find_out(geometry *g) {
    for (int a = 0; a < AXES; a++) {
        int64_t room = g->in[a] + g->before[a] + g->after[a];
        g->out[a] = (room - (g->kernel[a] - 1) * g->dilation[a] - 1) / g->stride[a] + 1;
    }
}

static int64_t product(const int64_t *d) {
    return d[0] * d[1] * d[2];
}

/* The input value of output (filter f, o) at kernel position k of channel c; NULL: padding. */
static const float *seen(const geometry *g, const float *x, int64_t c, const int64_t *o,
                         const int64_t *k) {
    int64_t at = c;
    for (int a = 0; a < AXES; a++) {
        int64_t i = o[a] * g->stride[a] + k[a] * g->dilation[a] - g->before[a];
        if (i < 0 || i >= g->in[a])
            return NULL;
        at = at * g->in[a] + i;
    }
    return x + at;
}

static double naive(const geometry *g, const float *x, const float *w, int64_t f, int64_t p) {
    int64_t o[AXES] = {p / g->out[2] / g->out[1], p / g->out[2] % g->out[1], p % g->out[2]};
    int64_t places = product(g->kernel), per = g->filters ? g->channels / g->groups : 1;
    int64_t first = g->filters ? f / (g->filters / g->groups) * per : f;
    double sum = 0, count = 0;
    for (int64_t c = 0; c < per; c++)
        for (int64_t q = 0; q < places; q++) {
            int64_t k[AXES] = {q / g->kernel[2] / g->kernel[1], q / g->kernel[2] % g->kernel[1],
                               q % g->kernel[2]};
            const float *v = seen(g, x, first + c, o, k);
            count += v || g->include_pad;
            sum += !v ? 0 : g->filters ? (double)*v * w[(f * per + c) * places + q] : (double)*v;
        }
    return g->filters ? sum : count > 0 ? sum / count : 0;
}

static sis_net_shape shape_of(int64_t a, int64_t b, const int64_t *d, int64_t spatial) {
    sis_net_shape s = {.rank = 2 + (size_t)spatial, .dims = {(size_t)a, (size_t)b}};
    for (int64_t i = 0; i < spatial; i++)
        s.dims[2 + i] = (size_t)d[AXES - spatial + i];
    return s;
}

static sis_net *build(const geometry *g, const float *w) {
    size_t n = (size_t)g->spatial, skip = AXES - n;
    int64_t pads[2 * AXES];
    sis_net *net = NULL;
    sis_net_builder *b = sis_net_builder_new("conv");
    sis_net_shape in = shape_of(0, g->channels, g->in, g->spatial);
    sis_net_shape of = shape_of(g->filters, g->channels / g->groups, g->kernel, g->spatial);
    for (size_t i = 0; i < n; i++) {
        pads[i] = g->before[skip + i];
        pads[n + i] = g->after[skip + i];
    }
    sis_net_add_input(b, "x", 0, &in);
    if (g->filters)
        sis_net_add_param(b, "w", &of, w);
    sis_net_add_node(b, g->filters ? "Conv" : "AveragePool", g->filters ? "x w" : "x", "y");
    sis_net_attr_ints(b, "kernel_shape", g->kernel + skip, n);
    sis_net_attr_ints(b, "strides", g->stride + skip, n);
    sis_net_attr_ints(b, "pads", pads, 2 * n);
    if (g->filters) {
        sis_net_attr_ints(b, "dilations", g->dilation + skip, n);
        sis_net_attr_int(b, "group", g->groups);
    } else {
        sis_net_attr_int(b, "count_include_pad", g->include_pad);
    }
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* The first and the last row alone give the same outputs, to the bit. */
static void check_alone(const sis_net *net, const sis_net_batch *all, const float *y,
                        size_t outputs) {
    float *alone = calloc(outputs, sizeof *alone);
    sis_net_batch b = *all;
    for (size_t row = 0; row < all->n_rows; row += all->n_rows - 1) {
        b.rows = all->rows + row * all->n_values;
        b.n_rows = 1;
        assert_int_equal(sis_net_forward(net, &b, alone), SIS_OK);
        assert_memory_equal(alone, y + row * outputs, outputs * sizeof *y);
    }
    free(alone);
}

/* Some rows: a batch that fills vectors, and some that do not. Compares some outputs of each, or
 * all if they are few. */
static void check(geometry *g, sis__rng *r) {
    find_out(g);
    int64_t row = g->channels * product(g->in), maps = g->filters ? g->filters : g->channels;
    int64_t outputs = maps * product(g->out), weights = maps * g->channels * product(g->kernel);
    float *x = random_floats(r, (size_t)(ROWS * row), 1), *w = random_floats(r, (size_t)weights, 1);
    float *y = calloc((size_t)outputs, ROWS * sizeof *y);
    sis_net *net = build(g, w);
    sis_net_batch b = {.rows = x, .n_rows = ROWS, .n_values = (size_t)row, .jobs = 1};
    assert_int_equal(sis_net_outputs(net), (size_t)outputs);
    assert_int_equal(sis_net_forward(net, &b, y), SIS_OK);
    for (int64_t i = 0; i < ROWS * outputs; i += 1 + ROWS * outputs / MAX) {
        const float *of = x + i / outputs * row;
        int64_t at = i % outputs;
        double want = naive(g, of, w, at / product(g->out), at % product(g->out));
        if (!(fabs(y[i] - want) <= 1e-4 * (1 + fabs(want))))
            fail_msg("output %lld: %.9g instead of %.9g", (long long)i, (double)y[i], want);
    }
    check_alone(net, &b, y, (size_t)outputs);
    sis_net_free(net);
    free(x);
    free(w);
    free(y);
}

static void random_convolutions_equal_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 5);
    for (size_t i = 0; i < rounds(300); i++) {
        geometry g = {.groups = 1 + (int64_t)sis__rng_below(&r, 3),
                      .spatial = 1 + (int64_t)(i % 3)};
        g.channels = g.groups * (1 + (int64_t)sis__rng_below(&r, 5));
        if (i % 5 == 0) /* enough channels for examples as lanes */
            g.channels = g.groups * (20 + (int64_t)sis__rng_below(&r, 30));
        g.filters = i % 5 == 0   ? g.groups * (30 + (int64_t)sis__rng_below(&r, 10))
                    : i % 4 == 3 ? 0
                                 : g.groups * (1 + (int64_t)sis__rng_below(&r, 20));
        g.include_pad = i % 8 == 3;
        for (int a = 0; a < AXES; a++) {
            int used = a >= AXES - g.spatial;
            g.kernel[a] = used ? 1 + (int64_t)sis__rng_below(&r, 4) : 1;
            g.stride[a] = used ? 1 + (int64_t)sis__rng_below(&r, 5) * (i % 2 == 0) : 1;
            g.dilation[a] = used && g.filters ? 1 + (int64_t)sis__rng_below(&r, 3) : 1;
            g.before[a] = used ? (int64_t)sis__rng_below(&r, (size_t)g.kernel[a]) : 0;
            g.after[a] = used ? (int64_t)sis__rng_below(&r, (size_t)g.kernel[a]) : 0;
            g.in[a] =
                used ? (g.kernel[a] - 1) * g.dilation[a] + 1 + (int64_t)sis__rng_below(&r, 12) : 1;
        }
        check(&g, &r);
    }
}

/* Maps larger than one block: rows of an image, parts of a line, planes of a volume. */
static void convolutions_of_large_maps_equal_naive_ones(void **state) {
    (void)state;
    geometry all[] = {
        {96, 5, 1, 2, {1, 32, 32}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0, {0}},
        {96, 4, 1, 2, {1, 40, 33}, {1, 5, 3}, {1, 2, 2}, {1, 1, 2}, {0, 2, 0}, {0, 1, 3}, 0, {0}},
        {128,
         3,
         1,
         1,
         {1, 1, 1500},
         {1, 1, 7},
         {1, 1, 1},
         {1, 1, 4},
         {0, 0, 24},
         {0, 0, 0},
         0,
         {0}},
        {128, 3, 1, 1, {1, 1, 3000}, {1, 1, 5}, {1, 1, 3}, {1, 1, 1}, {0, 0, 2}, {0, 0, 2}, 0, {0}},
        {64, 6, 1, 3, {6, 20, 20}, {3, 3, 3}, {2, 1, 1}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, 0, {0}},
        {40, 70, 1, 2, {1, 21, 19}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}, 0, {0}},
        {64, 64, 64, 2, {1, 30, 31}, {1, 3, 3}, {1, 2, 2}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0, {0}},
        {300, 300, 1, 2, {1, 8, 8}, {1, 3, 3}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}, {0, 1, 1}, 0, {0}},
    };
    sis__rng r;
    sis__rng_init(&r, 6);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check(&all[i], &r);
}

/* ---- Tiles (net/ops/conv_tiles.c) ------------------------------------------------------------ */

/* Convolution of 3 x 3, bias and Relu, over a map that every value of the input reaches: a
 * convolution of 21 x 21 that changes nothing comes first. */
static sis_net *build_deep(const geometry *g, const float *w, const float *bias) {
    enum { WIDE = 21 };
    size_t n = (size_t)g->channels * WIDE * WIDE;
    float *same = calloc(n, sizeof *same);
    for (size_t i = WIDE * WIDE / 2; i < n; i += WIDE * WIDE)
        same[i] = 1;
    sis_net *net = NULL;
    sis_net_builder *b = sis_net_builder_new("deep");
    sis_net_shape in = shape_of(0, g->channels, g->in, 2);
    sis_net_shape of = shape_of(g->filters, g->channels, g->kernel, 2);
    sis_net_add_input(b, "x", 0, &in);
    sis_net_add_param(b, "s", SHAPE((size_t)g->channels, 1, WIDE, WIDE), same);
    sis_net_add_param(b, "w", &of, w);
    sis_net_add_param(b, "b", SHAPE((size_t)g->filters), bias);
    sis_net_add_node(b, "Conv", "x s", "p");
    sis_net_attr_int(b, "group", g->channels);
    sis_net_attr_ints(b, "pads", (int64_t[]){10, 10, 10, 10}, 4);
    sis_net_add_node(b, "Conv", "p w b", "c");
    sis_net_attr_ints(b, "pads", (int64_t[]){g->before[1], g->before[2], g->after[1], g->after[2]},
                      4);
    sis_net_add_node(b, "Relu", "c", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    free(same);
    return net;
}

static void round_all(float *x, size_t n) {
    for (size_t i = 0; i < n; i++)
        x[i] = rintf(9 * x[i]);
}

/* `whole`: all numbers are whole, and so are the sums. */
static void check_deep(const geometry *g, sis__rng *r, int whole) {
    size_t row = (size_t)(g->channels * product(g->in)), maps = (size_t)g->filters;
    size_t pixels = (size_t)product(g->out), weights = maps * (size_t)g->channels * 9;
    float *x = random_floats(r, ROWS * row, 1), *w = random_floats(r, weights, 1);
    float *bias = random_floats(r, maps, 1), *y = calloc(ROWS * maps, pixels * sizeof *y);
    for (int i = 0; whole && i < 3; i++)
        round_all(i == 0 ? x : i == 1 ? w : bias, i == 0 ? ROWS * row : i == 1 ? weights : maps);
    sis_net *net = build_deep(g, w, bias);
    sis_net_batch b = {.rows = x, .n_rows = ROWS, .n_values = row, .jobs = 1};
    assert_int_equal(sis_net_forward(net, &b, y), SIS_OK);
    for (size_t i = 0; i < ROWS * maps * pixels; i += 1 + ROWS * maps * pixels / MAX) {
        size_t f = i / pixels % maps;
        double sum = naive(g, x + i / pixels / maps * row, w, (int64_t)f, (int64_t)(i % pixels));
        double want = fmax(sum + (double)bias[f], 0), max = whole ? 0 : 1e-4 * (1 + fabs(want));
        if (!(fabs(y[i] - want) <= max))
            fail_msg("output %zu: %.9g instead of %.9g", i, (double)y[i], want);
    }
    check_alone(net, &b, y, maps * pixels);
    sis_net_free(net);
    free(x);
    free(w);
    free(bias);
    free(y);
}

static void convolutions_in_tiles_equal_naive_ones(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 7);
    for (size_t i = 0; i < rounds(25); i++) {
        geometry g = {.channels = 48 + (int64_t)sis__rng_below(&r, 20),
                      .filters = 48 + (int64_t)sis__rng_below(&r, 20),
                      .groups = 1,
                      .spatial = 2};
        for (int a = 0; a < AXES; a++) {
            g.kernel[a] = a ? 3 : 1;
            g.stride[a] = g.dilation[a] = 1;
            g.before[a] = a ? (int64_t)sis__rng_below(&r, 3) : 0;
            g.after[a] = a ? (int64_t)sis__rng_below(&r, 3) : 0;
            g.in[a] = a ? 3 + (int64_t)sis__rng_below(&r, 10) : 1;
        }
        find_out(&g);
        check_deep(&g, &r, i % 5 == 4);
    }
}

/* ---- Added constants ------------------------------------------------------------------------- */

enum { SIDE = 4, FILTERS = 4, MAP = FILTERS * SIDE * SIDE };

/* Scores of a row: Conv, with `how` added by nodes of their own; "": as its bias. */
static void scores_with(const char *how, const sis_net_shape *shape, float *y) {
    sis__rng r;
    sis__rng_init(&r, 12);
    float *x = random_floats(&r, SIDE * SIDE, 1), *w = random_floats(&r, FILTERS * 9, 1);
    float *c = random_floats(&r, FILTERS, 1);
    sis_net_builder *b = sis_net_builder_new("bias");
    sis_net *net = NULL;
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, SIDE, SIDE));
    sis_net_add_param(b, "w", SHAPE(FILTERS, 1, 3, 3), w);
    sis_net_add_param(b, "c", shape, c);
    sis_net_add_node(b, "Conv", *how ? "x w" : "x w c", *how ? "s" : "y");
    sis_net_attr_ints(b, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    if (*how)
        sis_net_add_node(b, "Add", how, "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    sis_net_batch batch = {.rows = x, .n_rows = 1, .n_values = SIDE * SIDE, .jobs = 1};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    sis_net_free(net);
    free(x);
    free(w);
    free(c);
}

/* Two filters of one place over two pixels: s, t = s + c, and if asked for y = s t. */
static int build_small(int also_times, sis_net **out) {
    float w[2] = {1, 1}, c[2] = {10, 20};
    sis_net_builder *b = sis_net_builder_new("bias");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 1, 2));
    sis_net_add_param(b, "w", SHAPE(2, 1, 1, 1), w);
    sis_net_add_param(b, "c", SHAPE(2, 1, 1), c);
    sis_net_add_node(b, "Conv", "x w", "s");
    sis_net_add_node(b, "Add", "s c", "t");
    if (also_times)
        sis_net_add_node(b, "Mul", "s t", "y");
    sis_net_add_output(b, also_times ? "y" : "t");
    return sis_net_build(b, out);
}

/* Sums that are also read elsewhere keep their value. */
static void sums_with_other_readers_keep_their_value(void **state) {
    (void)state;
    float y[4];
    sis_net *net = NULL;
    if (build_small(1, &net) != 0)
        fail_msg("%s", sis_error_detail());
    sis_net_batch batch = {.rows = (float[]){1, 2}, .n_rows = 1, .n_values = 2, .jobs = 1};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 11 && y[1] == 24 && y[2] == 21 && y[3] == 44);
    sis_net_free(net);
}

/* A constant for each filter is the bias, to the bit, on either side. A constant for each column
 * is not, even if there are as many. */
static void a_constant_per_filter_becomes_the_bias(void **state) {
    (void)state;
    float bias[MAP], y[MAP], columns[MAP];
    scores_with("", SHAPE(FILTERS), bias);
    scores_with("s c", SHAPE(FILTERS, 1, 1), y);
    assert_memory_equal(y, bias, sizeof y);
    scores_with("c s", SHAPE(1, FILTERS, 1, 1), y);
    assert_memory_equal(y, bias, sizeof y);
    scores_with("s c", SHAPE(1, 1, SIDE), columns);
    for (size_t i = 0; i < MAP; i++) /* the same if filter and column have the same number */
        assert_true((fabsf(columns[i] - bias[i]) < 1e-6f) == (i / (SIDE * SIDE) == i % SIDE));
}

static int build_and_release(void *ctx) {
    sis_net *net = NULL;
    int error = build_small(0, &net);
    (void)ctx;
    sis_net_free(net);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(build_and_release, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(a_constant_per_filter_becomes_the_bias),
        cmocka_unit_test(sums_with_other_readers_keep_their_value),
        cmocka_unit_test(random_convolutions_equal_naive_ones),
        cmocka_unit_test(convolutions_of_large_maps_equal_naive_ones),
        cmocka_unit_test(convolutions_in_tiles_equal_naive_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
