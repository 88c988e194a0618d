/* SPDX-License-Identifier: MIT
 *
 * Window walks with an unusual first convolution: one to three axes, padding wider than the kernel,
 * strides and dilations that skip values, groups, features spread over the whole input; values near
 * the limits of single precision; and little memory.
 */
#include "support.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support_net.h"
#include "support_nets.h"

/* ---- Networks ------------------------------------------------------------------------------ */

typedef struct {
    size_t spatial, channels, filters, groups;
    size_t size[3], kernel[3], stride[3], dilation[3], pads[6];
} geometry;

/* Outputs along an axis; 0: the kernel does not fit. */
static size_t outputs_of(const geometry *g, size_t d) {
    size_t reach = (g->kernel[d] - 1) * g->dilation[d] + 1;
    size_t room = g->size[d] + g->pads[d] + g->pads[g->spatial + d];
    return reach > room ? 0 : (room - reach) / g->stride[d] + 1;
}

static geometry draw_geometry(sis__rng *r) {
    static const size_t max[] = {0, 60, 14, 7};
    geometry g = {.spatial = between(r, 1, 3), .groups = between(r, 1, 3)};
    g.channels = g.groups * between(r, 1, 2);
    g.filters = g.groups * between(r, 1, 9);
    for (size_t d = 0; d < g.spatial; d++) {
        g.size[d] = between(r, 3, max[g.spatial]);
        g.kernel[d] = between(r, 1, 4);
        g.stride[d] = chance(r, 0.3) ? between(r, 2, 4) : 1;
        g.dilation[d] = chance(r, 0.3) ? between(r, 2, 4) : 1;
        for (size_t k = 0; k < 2; k++)
            g.pads[k * g.spatial + d] = chance(r, 0.3) ? between(r, 2, 7) : 0;
        if (outputs_of(&g, d) == 0)
            g.kernel[d] = g.dilation[d] = 1;
    }
    return g;
}

static void set_ints(sis_net_builder *b, const char *name, const size_t *v, size_t n) {
    int64_t list[6];
    for (size_t i = 0; i < n; i++)
        list[i] = (int64_t)v[i];
    sis_net_attr_ints(b, name, list, n);
}

/* Convolution, Relu, and a maximum or a dense layer over everything. */
static sis_net *build(const geometry *g, sis__rng *r, double size) {
    sis_net_builder *b = sis_net_builder_new("test");
    sis_net_shape in = {2 + g->spatial, {1, g->channels}};
    sis_net_shape w = {2 + g->spatial, {g->filters, g->channels / g->groups}};
    size_t flat = g->filters, terms = g->channels / g->groups;
    for (size_t d = 0; d < g->spatial; d++) {
        in.dims[2 + d] = g->size[d];
        w.dims[2 + d] = g->kernel[d];
        terms *= g->kernel[d];
        flat *= outputs_of(g, d);
    }
    int dense = flat < 3000 && chance(r, 0.4);
    sis_net_add_input(b, "x", 0, &in);
    add_random(b, "w", &w, r, size * sqrt(2.0 / (double)terms));
    add_random(b, "b", SHAPE(g->filters), r, 0.1);
    sis_net_add_node(b, "Conv", "x w b", "c");
    set_ints(b, "strides", g->stride, g->spatial);
    set_ints(b, "dilations", g->dilation, g->spatial);
    set_ints(b, "pads", g->pads, 2 * g->spatial);
    sis_net_attr_int(b, "group", (int64_t)g->groups);
    sis_net_add_node(b, "Relu", "c", "h");
    sis_net_add_node(b, dense ? "Identity" : "GlobalMaxPool", "h", "m");
    sis_net_add_node(b, "Flatten", "m", "f");
    size_t n = dense ? flat : g->filters;
    add_random(b, "v", SHAPE(n, 3), r, 1 / sqrt((double)n));
    sis_net_add_node(b, "MatMul", "f v", "y");
    sis_net_add_output(b, "y");
    sis_net *net = NULL;
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* ---- Checks ------------------------------------------------------------------------------- */

static void probes_agree_with_full_passes(void **state) {
    (void)state;
    walk_seen seen = {0};
    size_t walks = 0, n = rounds(100);
    for (unsigned seed = 0; seed < n; seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w;
        sis__rng_init(&r, seed);
        geometry g = draw_geometry(&r);
        walk_case_init(&c, build(&g, &r, 1), 0, &r);
        int error = sis_net_walk(c.net, &c.input, NULL, &w);
        if (error == SIS_OK) {
            walks++;
            check_windows(&c, w, &r, 40, &seen);
            check_windows(&c, w, &r, 40, &seen);
            w->ops->free(w);
        } else {
            assert_int_equal(error, SIS_E_UNSUPPORTED);
        }
        walk_case_release(&c);
    }
    printf("%zu of %zu walk, %zu probes, %zu exact\n", walks, n, seen.probes, seen.exact);
    assert_true(3 * walks >= n && seen.exact == seen.probes);
}

/* A long kernel over a sequence followed by a maximum, and a head of one or two layers. */
static sis_net *build_long(sis__rng *r, double size) {
    static const char *const ends[] = {"Identity", "Sigmoid", "Softmax"};
    sis_net_builder *b = sis_net_builder_new("test");
    size_t length = between(r, 60, 100), kernel = between(r, 10, 24), filters = between(r, 3, 40);
    size_t end = sis__rng_below(r, 3), outputs = end == 2 ? 3 : 1, width = filters;
    sis_net_add_input(b, "x", 0, SHAPE(1, 4, length));
    add_random(b, "w", SHAPE(filters, 4, kernel), r, size / sqrt((double)kernel));
    add_random(b, "b", SHAPE(filters), r, 0.3);
    sis_net_add_node(b, "Conv", "x w b", "c");
    sis_net_attr_ints(b, "pads", (int64_t[]){(int64_t)sis__rng_below(r, 3), 1}, 2);
    sis_net_attr_ints(b, "strides", (int64_t[]){chance(r, 0.2) ? 2 : 1}, 1);
    sis_net_add_node(b, chance(r, 0.7) ? "Relu" : "Identity", "c", "h");
    sis_net_add_node(b, "GlobalMaxPool", "h", "m");
    sis_net_add_node(b, "Flatten", "m", "f0");
    if (chance(r, 0.6)) {
        add_random(b, "v0", SHAPE(width, 8), r, 1 / sqrt((double)width));
        add_random(b, "b0", SHAPE(8), r, 0.3);
        sis_net_add_node(b, "MatMul", "f0 v0", "g");
        sis_net_add_node(b, "Add", "g b0", "g1");
        sis_net_add_node(b, "Relu", "g1", "f");
        width = 8;
    } else {
        sis_net_add_node(b, "Identity", "f0", "f");
    }
    add_random(b, "v", SHAPE(width, outputs), r, 1 / sqrt((double)width));
    add_random(b, "b1", SHAPE(outputs), r, 0.3);
    sis_net_add_node(b, "Gemm", "f v b1", "z");
    sis_net_add_node(b, ends[end], "z", "y");
    sis_net_add_output(b, "y");
    sis_net *net = NULL;
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* Estimates of maxima exclude candidates that cannot be the best. */
static void estimates_skip_only_worse_candidates(void **state) {
    (void)state;
    size_t left_out = 0, leaving = 0, n = rounds(100);
    for (unsigned seed = 0; seed < n; seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w[2];
        sis__rng_init(&r, 7000 + seed);
        walk_case_init(&c, build_long(&r, chance(&r, 0.8) ? 1 : 1e4), 0, &r);
        if (sis_net_walk(c.net, &c.input, NULL, &w[0]) == SIS_OK) {
            assert_int_equal(sis_net_walk(c.net, &c.input, NULL, &w[1]), SIS_OK);
            size_t more = check_left_out(&c, w[0], w[1], seed % 2 ? 1 : -1);
            left_out += more;
            leaving += more > 0;
            w[0]->ops->free(w[0]);
            w[1]->ops->free(w[1]);
        }
        walk_case_release(&c);
    }
    printf("%zu of %zu networks left %zu out\n", leaving, n, left_out);
    assert_true(3 * leaving >= n);
}

static int select_a_little(void *ctx) {
    const walk_case *c = (const walk_case *)ctx;
    sis_walk *w;
    double margin, margins[3];
    unsigned char masked[4096] = {0};
    int error = sis_net_walk(c->net, &c->input, NULL, &w);
    if (error != SIS_OK)
        return error;
    error = w->ops->reset(w, masked, &margin);
    w->wants = 1;
    if (error == SIS_OK)
        error = w->ops->probe(w, (int[]){0, 2, 3}, 3, margins);
    if (error == SIS_OK)
        error = w->ops->mask(w, 2, &margin);
    if (error == SIS_OK)
        error = w->ops->probe(w, (int[]){0, 3}, 2, margins);
    w->ops->free(w);
    return error;
}

static void failing_allocations_do_no_harm(void **state) {
    (void)state;
    size_t walks = 0;
    for (unsigned seed = 0; seed < 8; seed++) {
        walk_case c;
        sis__rng r;
        sis__rng_init(&r, seed);
        walk_case_init(&c, build_long(&r, 1), 0, &r);
        if (select_a_little(&c) == SIS_OK) {
            walks++;
            assert_true(with_failing_allocations(select_a_little, &c) > 10);
        }
        walk_case_release(&c);
    }
    assert_true(walks > 2);
}

/* The difference of two finite values may be infinite. */
static void extreme_values_are_handled(void **state) {
    (void)state;
    walk_seen seen = {0};
    size_t walks = 0;
    for (unsigned seed = 0; seed < rounds(60); seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w;
        sis__rng_init(&r, seed);
        geometry g = draw_geometry(&r);
        walk_case_init(&c, build(&g, &r, 1e-38), 0, &r);
        for (size_t v = 0; v < c.n_values; v++) {
            c.x[v] = chance(&r, 0.2) ? 3e38 : 1e36 * c.x[v];
            c.z[v] = chance(&r, 0.2) ? -3e38 : 0;
        }
        if (sis_net_walk(c.net, &c.input, NULL, &w) == SIS_OK) {
            walks++;
            check_windows(&c, w, &r, 20, &seen);
            w->ops->free(w);
        }
        walk_case_release(&c);
    }
    printf("%zu walks, %zu probes\n", walks, seen.probes);
    assert_true(walks > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(probes_agree_with_full_passes),
        cmocka_unit_test(estimates_skip_only_worse_candidates),
        cmocka_unit_test(failing_allocations_do_no_harm),
        cmocka_unit_test(extreme_values_are_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
