/* SPDX-License-Identifier: MIT
 *
 * Gradients against central differences: each operator with a gradient in its own small graph (the
 * test fails if an operator of the table is missing here), and whole networks of every family.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/plan/cache.h"
#include "support_net.h"

static unsigned char covered[SIS__OP_COUNT];

/* Whole networks have kinks (ReLU, maxima) between the two points of a difference. So four of
 * five values must agree, and the total error is limited. Single operators must always agree. */
static int kinks;
static double difference, size;
static size_t checked, off;

/* ---- Comparing ----------------------------------------------------------------------------- */

/* Sum of weights * scores over the batch. */
static double value_of(const sis_net *net, const sis_net_batch *b, const float *weights, size_t k) {
    float *scores = (float *)malloc(b->n_rows * k * sizeof *scores);
    double sum = 0;
    assert_int_equal(sis_net_forward(net, b, scores), 0);
    for (size_t i = 0; i < b->n_rows * k; i++)
        sum += (double)weights[i] * scores[i];
    free(scores);
    return sum;
}

static double margin_value(const sis_net *net, const sis_net_batch *b, const float *weights,
                           size_t k) {
    double *margins = (double *)malloc(b->n_rows * k * sizeof *margins), sum = 0;
    assert_int_equal(sis_net_margins(net, b, margins), 0);
    for (size_t i = 0; i < b->n_rows * k; i++)
        sum += (double)weights[i] * margins[i];
    free(margins);
    return sum;
}

static void expect_close(const char *name, const char *what, size_t i, double got, double want) {
    int close = fabs(got - want) <= 4e-3 * (1 + fabs(want));
    if (!close && !kinks)
        fail_msg("%s: d/d %s[%zu] is %g, differences say %g", name, what, i, got, want);
    checked++;
    off += !close;
    difference += fabs(got - want);
    size += fabs(want);
}

enum { STEPS = 40 }; /* values of a tensor that are checked, spread over it */

static void check_rows(const char *name, const sis_net *net, sis_net_batch b, const float *weights,
                       size_t k, int of_margins) {
    size_t n = b.n_rows * b.n_values, stride = n / STEPS + 1;
    float *x = (float *)malloc(n * sizeof *x), *dx = (float *)malloc(n * sizeof *dx);
    double (*value)(const sis_net *, const sis_net_batch *, const float *, size_t) =
        of_margins ? margin_value : value_of;
    memcpy(x, b.rows, n * sizeof *x);
    sis_net_grad grad = {.weights = weights, .of_margins = of_margins, .d_rows = dx};
    if (sis_net_gradient(net, &b, &grad) != 0)
        fail_msg("%s: %s", name, sis_error_detail());
    b.rows = x;
    for (size_t i = 0; i < n; i += stride) {
        const float h = 2e-3f, at = x[i];
        x[i] = at + h;
        double up = value(net, &b, weights, k);
        x[i] = at - h;
        double down = value(net, &b, weights, k);
        x[i] = at;
        expect_close(name, "rows", i, dx[i], (up - down) / (2 * (double)h));
    }
    free(x);
    free(dx);
}

static void check_param(const char *name, sis_net *net, const sis_net_batch *b,
                        const float *weights, size_t k, size_t which, const float *d) {
    sis_net_param p;
    assert_int_equal(sis_net_param_get(net, which, &p), 0);
    float *v = (float *)malloc(p.count * sizeof *v);
    memcpy(v, p.values, p.count * sizeof *v);
    for (size_t i = 0; i < p.count; i += p.count / 8 + 1) {
        const float h = 2e-3f, at = v[i];
        v[i] = at + h;
        assert_int_equal(sis_net_param_set(net, which, v), 0);
        double up = value_of(net, b, weights, k);
        v[i] = at - h;
        assert_int_equal(sis_net_param_set(net, which, v), 0);
        double down = value_of(net, b, weights, k);
        v[i] = at;
        assert_int_equal(sis_net_param_set(net, which, v), 0);
        expect_close(name, p.name, i, d[i], (up - down) / (2 * (double)h));
    }
    free(v);
}

static void check_params(const char *name, sis_net *net, const sis_net_batch *b,
                         const float *weights, size_t k) {
    size_t n = sis_net_params(net);
    float **d = (float **)calloc(n + 1, sizeof *d);
    for (size_t i = 0; i < n; i++) {
        sis_net_param p;
        assert_int_equal(sis_net_param_get(net, i, &p), 0);
        d[i] = (float *)calloc(p.count ? p.count : 1, sizeof **d);
    }
    sis_net_grad grad = {.weights = weights, .d_params = d};
    if (n && sis_net_gradient(net, b, &grad) != 0)
        fail_msg("%s: %s", name, sis_error_detail());
    for (size_t i = 0; i < n; i++) {
        check_param(name, net, b, weights, k, i, d[i]);
        free(d[i]);
    }
    free(d);
}

static void check_network(const char *name, sis_net *net, size_t n_rows, unsigned seed) {
    sis__rng r;
    sis__rng_init(&r, seed);
    size_t p, k = sis_net_outputs(net);
    float *x = random_rows(net, &r, n_rows, &p), *weights = random_floats(&r, n_rows * k, 1.0);
    sis_net_batch b = {x, n_rows, p, 0, 1, NULL};
    check_params(name, net, &b, weights, k);
    float *embedded = NULL;
    if (sis_net_is_token(net)) {
        const float *matrix;
        size_t words, dim;
        sis_net_embedding(net, &matrix, &words, &dim);
        embedded = (float *)malloc(n_rows * p * dim * sizeof *embedded);
        for (size_t i = 0; i < n_rows * p; i++)
            memcpy(embedded + i * dim, matrix + (size_t)x[i] * dim, dim * sizeof *embedded);
        b = (sis_net_batch){embedded, n_rows, p * dim, 1, 1, NULL};
    }
    check_rows(name, net, b, weights, k, 0);
    if (sis_net_has_link(net))
        check_rows(name, net, b, weights, k, 1);
    for (size_t i = 0; i < net->graph.n_nodes; i++)
        covered[net->graph.nodes[i].op_id] = 1;
    free(x);
    free(weights);
    free(embedded);
}

/* ---- Operators ----------------------------------------------------------------------------- */

static void operators_match_differences(void **state) {
    (void)state;
    for (size_t i = 0; i < n_operator_cases; i++) {
        const operator_case *c = &operator_cases[i];
        sis_net *net;
        if (build_operator(c, &net) != 0)
            fail_msg("%s: %s", c->name, sis_error_detail());
        check_network(c->name, net, c->x.dims[0] == 0 ? 3 : 1, 5);
        sis_net_free(net);
    }
#define CHECK(id, domain, name, op)                                                                \
    if (sis__op_##op.backward && strcmp(name, "Part") != 0 && strcmp(name, "Then") != 0 &&         \
        strcmp(name, "Else") != 0 &&                                                               \
        !covered[SIS__OP_##id]) /* those three: test_net_inputs.c, test_net_document.c */          \
        fail_msg("no gradient test of %s", name);
    SIS__OPS(CHECK)
#undef CHECK
}

static void networks_match_differences(void **state) {
    (void)state;
    kinks = 1;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net;
        if (!families[i].trains)
            continue;
        assert_int_equal(families[i].build(3, &net), 0);
        checked = off = 0;
        difference = size = 0;
        check_network(families[i].name, net, 3, 8);
        if (off > checked / 5 || difference > 0.05 * size)
            fail_msg("%s: %zu of %zu gradients are off, by %g of %g", families[i].name, off,
                     checked, difference, size);
        sis_net_free(net);
    }
}

/* ---- Beyond the numbers ---------------------------------------------------------------------- */

static void sums_do_not_depend_on_threads(void **state) {
    (void)state;
    sis_net *net;
    sis__rng r;
    size_t p;
    float *sums[3][8] = {{0}};
    float *rows[3];
    assert_int_equal(families[1].build(1, &net), 0);
    sis__rng_init(&r, 3);
    float *x = random_rows(net, &r, 150, &p);
    for (int jobs = 1; jobs <= 3; jobs++) {
        for (size_t i = 0; i < sis_net_params(net); i++) {
            sis_net_param q;
            sis_net_param_get(net, i, &q);
            sums[jobs - 1][i] = (float *)calloc(q.count, sizeof(float));
        }
        rows[jobs - 1] = (float *)calloc(150 * p, sizeof(float));
        sis_net_batch b = {x, 150, p, 0, jobs, NULL};
        sis_net_grad g = {.output = 2, .d_rows = rows[jobs - 1], .d_params = sums[jobs - 1]};
        assert_int_equal(sis_net_gradient(net, &b, &g), 0);
    }
    for (int jobs = 1; jobs <= 3; jobs++) {
        assert_memory_equal(rows[jobs - 1], rows[0], 150 * p * sizeof(float));
        for (size_t i = 0; i < sis_net_params(net); i++) {
            sis_net_param q;
            sis_net_param_get(net, i, &q);
            assert_memory_equal(sums[jobs - 1][i], sums[0][i], q.count * sizeof(float));
        }
    }
    for (int j = 0; j < 3; j++) {
        free(rows[j]);
        for (size_t i = 0; i < 8; i++)
            free(sums[j][i]);
    }
    free(x);
    sis_net_free(net);
}

static void operators_without_gradient_are_refused(void **state) {
    (void)state;
    sis_net *net;
    float x[3] = {0}, dx[3];
    for (size_t i = 0; i < n_families; i++) {
        if (strcmp(families[i].name, "trees") != 0)
            continue;
        assert_int_equal(families[i].build(1, &net), 0);
        sis_net_batch b = {x, 1, 3, 0, 1, NULL};
        sis_net_grad g = {.output = 0, .d_rows = dx};
        assert_int_equal(sis_net_gradient(net, &b, &g), SIS_E_UNSUPPORTED);
        g.output = 2;
        assert_int_equal(sis_net_gradient(net, &b, &g), SIS_E_ARGUMENT);
        sis_net_free(net);
    }
    assert_int_equal(families[4].build(1, &net), 0); /* token ids */
    float ids[20] = {0}, d[20];
    sis_net_batch b = {ids, 1, 20, 0, 1, NULL};
    sis_net_grad g = {.d_rows = d};
    assert_int_equal(sis_net_gradient(net, &b, &g), SIS_E_UNSUPPORTED);
    assert_message_has("embeddings");
    sis_net_free(net);
}

static int gradient_again(void *ctx) {
    const sis_net *net = (const sis_net *)ctx;
    size_t p = sis_net_values(net);
    float *x = (float *)calloc(p, sizeof *x), *dx = (float *)calloc(p, sizeof *dx);
    int error = SIS_E_NOMEM;
    if (x && dx) {
        sis_net_batch b = {x, 1, p, 0, 1, NULL};
        sis_net_grad g = {.d_rows = dx};
        sis__cache_clear(net->cache);
        error = sis_net_gradient(net, &b, &g);
    }
    free(x);
    free(dx);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis_net *net;
    assert_int_equal(families[2].build(1, &net), 0);
    assert_true(with_failing_allocations(gradient_again, net) > 5);
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operators_match_differences),
        cmocka_unit_test(networks_match_differences),
        cmocka_unit_test(sums_do_not_depend_on_threads),
        cmocka_unit_test(operators_without_gradient_are_refused),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
