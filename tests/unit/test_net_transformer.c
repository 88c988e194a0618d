/* SPDX-License-Identifier: MIT
 *
 * Encoders: steps that fuse several operators, and steps that compute only what is read, give the
 * bits of the single operators.
 */
#include "support.h"

#include <stdlib.h>
#include <string.h>

#include "net/ops/ops.h"
#include "net/plan/net.h"
#include "support_net.h"
#include "support_nets.h"
#include "support_transformer.h"

/* The value before the last activation, for rows of `length` tokens; its steps. */
static float *run_plan(const sis_net *net, size_t rows, size_t length, const float *x, int keep,
                       size_t *steps) {
    size_t dim = (size_t)net->graph.values[net->embedding].dims[1];
    sis__feed feed = {.value = net->embedded, .rank = 3, .dims = {rows, length, dim}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->pre_output,
                           .n_outputs = 1,
                           .batch = rows,
                           .keep_all = keep};
    sis__plan *plan;
    sis__run *run;
    assert_int_equal(sis__plan_new(net, &spec, &plan), SIS_OK);
    assert_int_equal(sis__run_new(plan, &run), SIS_OK);
    memcpy(run->data[net->embedded], x, rows * length * dim * sizeof *x);
    assert_int_equal(sis__run_forward(run), SIS_OK);
    size_t n = plan->tensors[net->pre_output].count;
    float *y = malloc(n * sizeof *y);
    memcpy(y, run->data[net->pre_output], n * sizeof *y);
    *steps = plan->n_steps;
    sis__run_free(run);
    sis__plan_free(plan);
    return y;
}

/* Some tokens are padding, which attention ignores. */
static float *draw_rows(const sis_net *net, sis__rng *r, size_t n) {
    const sis__value *m = &net->graph.values[net->embedding];
    size_t dim = (size_t)m->dims[1];
    float *x = malloc(n * dim * sizeof *x);
    for (size_t i = 0; i < n; i++) {
        size_t id = chance(r, 0.2) ? 0 : sis__rng_below(r, ENCODER_WORDS);
        memcpy(x + i * dim, (const float *)m->data + id * dim, dim * sizeof *x);
    }
    return x;
}

static void chains_give_the_bits_of_single_operators(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 11);
    for (size_t k = 0; k < rounds(60); k++) {
        sis_net *net;
        encoder e = draw_encoder(&r);
        build_encoder(&e, &r, &net);
        size_t rows = between(&r, 1, 3), length = e.fixed ? e.length : between(&r, 2, e.length);
        size_t plain, fused;
        float *x = draw_rows(net, &r, rows * length);
        float *a = run_plan(net, rows, length, x, 1, &plain);
        float *b = run_plan(net, rows, length, x, 0, &fused);
        assert_memory_equal(a, b, rows * 2 * sizeof *a);
        /* layers have 2 norms of 9, a GELU of 5, 6 biases and 4 transposes */
        assert_true(fused + e.layers * (2 * 8 + 4 + 6 + 4) <= plain);
        free(a);
        free(b);
        free(x);
        sis_net_free(net);
    }
}

static double products_of(const sis_net *net, size_t length, int keep) {
    size_t dim = (size_t)net->graph.values[net->embedding].dims[1];
    sis__feed feed = {.value = net->embedded, .rank = 3, .dims = {1, length, dim}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->pre_output,
                           .n_outputs = 1,
                           .batch = 1,
                           .keep_all = keep};
    sis__plan *plan;
    double products = 0;
    assert_int_equal(sis__plan_new(net, &spec, &plan), SIS_OK);
    for (size_t i = 0; i < plan->n_steps; i++)
        if (plan->steps[i].op == SIS__OP_MATMUL || plan->steps[i].op == SIS__OP_FUSED_ATTENTION)
            products += plan->steps[i].flops / 2;
    sis__plan_free(plan);
    return products;
}

/* The last layer computes keys and values of all tokens, everything else for one. */
static void the_last_layer_computes_only_what_is_read(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 14);
    for (int k = 0; k < 4; k++) {
        encoder e = {.layers = 2, .width = 32, .heads = 2, .length = 10, .masked = 1};
        sis_net *net;
        e.before = k & 1;
        e.rigid = e.fixed = k >> 1;
        build_encoder(&e, &r, &net);
        double w = 32, t = 10, layer = t * 8 * w * w + 2 * t * t * w, head = w * w + 2 * w;
        double last = 2 * t * w * w + 6 * w * w + 2 * t * w;
        assert_true(products_of(net, 10, 1) == 2 * layer + head);
        double narrow = products_of(net, 10, 0); /* and biases added to them, and softmax */
        assert_true(narrow >= layer + last + head && narrow < 1.06 * (layer + last + head));
        sis_net_free(net);
    }
}

/* A value in the middle of a chain that is read elsewhere is kept. */
static void chains_with_other_readers_are_not_fused(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 12);
    encoder e = {.layers = 1, .width = 8, .heads = 2, .length = 5, .masked = 1};
    sis_net *net;
    build_encoder(&e, &r, &net);
    size_t dim = 8, n_outputs = 0;
    float *x = draw_rows(net, &r, 5);
    int outputs[200];
    for (size_t i = 0; i < net->graph.n_nodes && n_outputs < 200; i++) {
        int op = net->graph.nodes[i].op_id;
        if (op == SIS__OP_SUB || op == SIS__OP_ERF || op == SIS__OP_MATMUL ||
            op == SIS__OP_TRANSPOSE)
            outputs[n_outputs++] = net->graph.nodes[i].outputs[0];
    }
    sis__feed feed = {.value = net->embedded, .rank = 3, .dims = {1, 5, dim}};
    sis__run *runs[2];
    sis__plan *plans[2];
    for (int keep = 0; keep < 2; keep++) {
        sis__plan_spec spec = {.feeds = &feed,
                               .n_feeds = 1,
                               .outputs = outputs,
                               .n_outputs = n_outputs,
                               .batch = 1,
                               .keep_all = keep};
        assert_int_equal(sis__plan_new(net, &spec, &plans[keep]), SIS_OK);
        assert_int_equal(sis__run_new(plans[keep], &runs[keep]), SIS_OK);
        memcpy(runs[keep]->data[net->embedded], x, 5 * dim * sizeof *x);
        assert_int_equal(sis__run_forward(runs[keep]), SIS_OK);
    }
    for (size_t i = 0; i < n_outputs; i++)
        assert_memory_equal(runs[0]->data[outputs[i]], runs[1]->data[outputs[i]],
                            plans[0]->tensors[outputs[i]].count * sizeof(float));
    for (int keep = 0; keep < 2; keep++) {
        sis__run_free(runs[keep]);
        sis__plan_free(plans[keep]);
    }
    free(x);
    sis_net_free(net);
}

static int compile_or_run_out(void *ctx) {
    const sis_net *net = (const sis_net *)ctx;
    sis__feed feed = {.value = net->embedded, .rank = 3, .dims = {1, 4, 8}};
    sis__plan_spec spec = {
        .feeds = &feed, .n_feeds = 1, .outputs = &net->pre_output, .n_outputs = 1, .batch = 1};
    sis__plan *plan = NULL;
    int error = sis__plan_new(net, &spec, &plan);
    sis__plan_free(plan);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 13);
    encoder e = {.layers = 1, .width = 8, .heads = 2, .length = 5, .masked = 1};
    sis_net *net;
    build_encoder(&e, &r, &net);
    with_failing_allocations(compile_or_run_out, net);
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chains_give_the_bits_of_single_operators),
        cmocka_unit_test(the_last_layer_computes_only_what_is_read),
        cmocka_unit_test(chains_with_other_readers_are_not_fused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
