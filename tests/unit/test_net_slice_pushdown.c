/* SPDX-License-Identifier: MIT
 *
 * Plans that compute only the slices that are read give the bits of plans that compute everything,
 * for any operators between a product and the selection, and for any axis.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/ops/ops.h"
#include "net/plan/net.h"
#include "support_net.h"

enum { ROWS = 2, TOKENS = 8, WIDTH = 8 };

static void numbers(sis_net_builder *b, const char *name, const int64_t *v, size_t n) {
    sis_net_add_ints(b, name, &(sis_net_shape){1, {n}}, v);
}

static void number(sis_net_builder *b, const char *name, float v) {
    sis_net_add_param(b, name, &(sis_net_shape){0, {0}}, &v);
}

/* Operators between the first product, h, and the second. */
static void nothing(sis_net_builder *b, sis__rng *r) {
    (void)r;
    sis_net_add_node(b, "Identity", "h", "m");
}

static void bounds(sis_net_builder *b, sis__rng *r) {
    (void)r;
    number(b, "low", -0.3f);
    number(b, "high", 0.2f);
    sis_net_add_node(b, "Clip", "h low high", "m");
}

static void another_type(sis_net_builder *b, sis__rng *r) {
    (void)r;
    number(b, "like", 0);
    sis_net_add_node(b, "CastLike", "h like", "m");
}

static void norm_of_width(sis_net_builder *b, sis__rng *r) {
    add_random(b, "scale", SHAPE(WIDTH), r, 1);
    sis_net_add_node(b, "LayerNormalization", "h scale", "m");
}

static void norm_of_all(sis_net_builder *b, sis__rng *r) {
    add_random(b, "scale", SHAPE(1, TOKENS, WIDTH), r, 1);
    sis_net_add_node(b, "LayerNormalization", "h scale", "m");
    sis_net_attr_int(b, "axis", 1);
}

/* Selections from the second product, y. */
static void first_token(sis_net_builder *b) {
    numbers(b, "first", (int64_t[]){0}, 1);
    sis_net_add_node(b, "Gather", "y first", "z");
    sis_net_attr_int(b, "axis", 1);
}

static void slice(sis_net_builder *b, const int64_t *from, const int64_t *to, const int64_t *by) {
    numbers(b, "from", from, 2);
    numbers(b, "to", to, 2);
    numbers(b, "axes", (int64_t[]){1, 2}, 2);
    numbers(b, "by", by, 2);
    sis_net_add_node(b, "Slice", "y from to axes by", "z");
}

static void two_tokens(sis_net_builder *b) {
    slice(b, (int64_t[]){6, 0}, (int64_t[]){-99, 99}, (int64_t[]){-4, 1});
}

static void a_token_backwards(sis_net_builder *b) {
    slice(b, (int64_t[]){1, -1}, (int64_t[]){2, -99}, (int64_t[]){1, -1});
}

static void a_column_upside_down(sis_net_builder *b) {
    slice(b, (int64_t[]){-1, 3}, (int64_t[]){-99, 4}, (int64_t[]){-1, 1});
}

/* Also the same index of h along another axis. */
static void both_ways(sis_net_builder *b) {
    numbers(b, "first", (int64_t[]){0}, 1);
    sis_net_add_node(b, "Gather", "y first", "t");
    sis_net_attr_int(b, "axis", 1);
    sis_net_add_node(b, "Gather", "h first", "c");
    sis_net_attr_int(b, "axis", 2);
    numbers(b, "as", (int64_t[]){0, 1, -1}, 3);
    sis_net_add_node(b, "Reshape", "c as", "d");
    sis_net_add_node(b, "Add", "t d", "z");
}

static sis_net *build(sis__rng *r, void (*between)(sis_net_builder *, sis__rng *),
                      void (*pick)(sis_net_builder *)) {
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("slices");
    sis_net_add_input(b, "x", 0, SHAPE(0, TOKENS, WIDTH));
    add_random(b, "w", SHAPE(WIDTH, WIDTH), r, 0.5);
    add_random(b, "v", SHAPE(WIDTH, WIDTH), r, 0.5);
    sis_net_add_node(b, "MatMul", "x w", "h");
    between(b, r);
    sis_net_add_node(b, "MatMul", "m v", "y");
    pick(b);
    sis_net_add_node(b, "Flatten", "z", "out");
    sis_net_add_output(b, "out");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* The output, to be freed; *n values; *products of the plan. */
static float *run(const sis_net *net, const float *x, int all, size_t *n, double *products) {
    const size_t count = (size_t)ROWS * TOKENS * WIDTH;
    sis__feed feed = {.value = net->input, .rank = 3, .dims = {ROWS, TOKENS, WIDTH}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->output,
                           .n_outputs = 1,
                           .batch = ROWS,
                           .keep_all = all};
    sis__plan *plan;
    sis__run *r;
    assert_int_equal(sis__plan_new(net, &spec, &plan), SIS_OK);
    assert_int_equal(sis__run_new(plan, &r), SIS_OK);
    memcpy(r->data[net->input], x, count * sizeof *x);
    assert_int_equal(sis__run_forward(r), SIS_OK);
    *n = plan->tensors[net->output].count;
    *products = 0;
    for (size_t i = 0; i < plan->n_steps; i++)
        *products += plan->steps[i].op == SIS__OP_MATMUL ? plan->steps[i].flops : 0;
    float *y = malloc(*n * sizeof *y);
    assert_non_null(y);
    memcpy(y, r->data[net->output], *n * sizeof *y);
    sis__run_free(r);
    sis__plan_free(plan);
    return y;
}

static void computed_slices_equal_those_of_full_results(void **state) {
    static void (*const between[])(sis_net_builder *, sis__rng *) = {nothing, bounds, another_type,
                                                                     norm_of_width, norm_of_all};
    static void (*const pick[])(sis_net_builder *) = {first_token, two_tokens, a_token_backwards,
                                                      a_column_upside_down, both_ways};
    sis__rng r;
    (void)state;
    sis__rng_init(&r, 5);
    size_t smaller = 0;
    for (size_t i = 0; i < sizeof between / sizeof *between; i++)
        for (size_t k = 0; k < sizeof pick / sizeof *pick; k++) {
            sis_net *net = build(&r, between[i], pick[k]);
            float *x = random_floats(&r, (size_t)ROWS * TOKENS * WIDTH, 1);
            size_t n, m;
            double all, some;
            float *whole = run(net, x, 1, &n, &all), *part = run(net, x, 0, &m, &some);
            assert_int_equal(n, m);
            assert_memory_equal(whole, part, n * sizeof *whole);
            smaller += some < all;
            free(whole);
            free(part);
            free(x);
            sis_net_free(net);
        }
    assert_true(smaller >= 3 * 4); /* token selections, except for operators that mix tokens */
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(computed_slices_equal_those_of_full_results)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
