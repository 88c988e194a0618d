/* SPDX-License-Identifier: MIT
 *
 * The result of a row does not depend, to the bit, on the number of rows in the batch, its position
 * or the number of threads, for random networks of every family. It does not depend on earlier
 * calls either: recurrent layers continue from states of rows with the same beginning.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "net/plan/row_layout.h"
#include "support_net.h"

enum { ROWS = 75 };

static void check_network(const family *f, unsigned seed) {
    sis_net *net;
    sis__rng r;
    size_t p, k;
    if (f->build(seed, &net) != 0)
        fail_msg("%s: %s", f->name, sis_error_detail());
    sis__rng_init(&r, seed + 1000);
    k = sis_net_outputs(net);
    assert_true(k > 0);
    float *x = random_rows(net, &r, ROWS, &p);
    float *alone = (float *)malloc(ROWS * k * sizeof *alone);
    float *scores = (float *)malloc(ROWS * k * sizeof *scores);
    double *margin = (double *)malloc(ROWS * k * sizeof *margin);
    double *margins = (double *)malloc(ROWS * k * sizeof *margins);
    for (size_t i = 0; i < ROWS; i++) {
        sis_net_batch one = {.rows = x + i * p, .n_rows = 1, .n_values = p};
        assert_int_equal(sis_net_forward(net, &one, alone + i * k), 0);
        assert_int_equal(sis_net_margins(net, &one, margin + i * k), 0);
    }
    const size_t counts[] = {1, 2, 3, 5, 8, 13, 31, 64, 75};
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
        for (int jobs = 1; jobs <= 3; jobs++) {
            size_t from = (ROWS - counts[c]) / 2;
            sis_net_batch many = {x + from * p, counts[c], p, 0, jobs, NULL};
            assert_int_equal(sis_net_forward(net, &many, scores), 0);
            assert_memory_equal(scores, alone + from * k, counts[c] * k * sizeof *scores);
            assert_int_equal(sis_net_margins(net, &many, margins), 0);
            assert_memory_equal(margins, margin + from * k, counts[c] * k * sizeof *margins);
        }
    free(x);
    free(alone);
    free(scores);
    free(margin);
    free(margins);
    sis_net_free(net);
}

static void rows_do_not_depend_on_their_neighbours(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++)
        for (unsigned seed = 0; seed < 4; seed++)
            check_network(&families[i], seed);
}

/* The check above would also pass if rows were run one by one, so check that they are not. */
static void rows_run_together_if_results_are_identical(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net;
        sis__row_layout *g;
        assert_int_equal(families[i].build(1, &net), 0);
        assert_int_equal(
            sis__row_layout_get(net, &(sis__row_form){.n_values = sis_net_values(net)}, &g), 0);
        if (strcmp(families[i].name, "mixing") == 0)
            assert_false(g->batched);
        else if (!g->batched)
            fail_msg("%s is not batched", families[i].name);
        sis_net_free(net);
    }
}

/* ---- Rows with equal beginnings or ends, in recurrent layers ------------------------------- */

enum { ALIKE = 9 };

static int build_named(const char *name, sis_net **net) {
    for (size_t i = 0; i < n_families; i++)
        if (strcmp(families[i].name, name) == 0)
            return families[i].build(3, net);
    for (size_t i = 0; i < n_operator_cases; i++)
        if (strcmp(operator_cases[i].name, name) == 0)
            return build_operator(&operator_cases[i], net);
    return -1;
}

/* The scores of one row by a new network. */
static void score_afresh(const char *name, const float *row, size_t p, float *scores) {
    sis_net *net;
    assert_int_equal(build_named(name, &net), 0);
    assert_int_equal(sis_net_forward(net, &(sis_net_batch){row, 1, p, 0, 1, NULL}, scores), 0);
    sis_net_free(net);
}

/* Rows that share a beginning or an end with `base`, except for some values. */
static void make_alike(sis__rng *r, const float *base, float *x, size_t n, size_t p) {
    size_t same = sis__rng_below(r, p + 1), behind = sis__rng_below(r, 2);
    for (size_t i = 0; i < n; i++)
        memcpy(x + i * p + (behind ? p - same : 0), base + (behind ? p - same : 0),
               same * sizeof *x);
    if (sis__rng_below(r, 3) == 0)
        x[sis__rng_below(r, n) * p + sis__rng_below(r, p)] = base[0];
}

static void check_alike(const char *name) {
    sis_net *net;
    sis__rng r;
    size_t p;
    sis__rng_init(&r, 31);
    assert_int_equal(build_named(name, &net), 0);
    size_t k = sis_net_outputs(net);
    float *base = random_rows(net, &r, 1, &p);
    float *scores = (float *)malloc(ALIKE * k * sizeof *scores), *alone = scores + (ALIKE - 1) * k;
    for (size_t round = 0; round < 30; round++) {
        size_t n = 1 + sis__rng_below(&r, ALIKE - 1);
        float *x = random_rows(net, &r, n, &p);
        make_alike(&r, base, x, n, p);
        assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, n, p, 0, 1, NULL}, scores), 0);
        for (size_t i = 0; i < n; i++) {
            score_afresh(name, x + i * p, p, alone);
            assert_memory_equal(scores + i * k, alone, k * sizeof *alone);
        }
        free(x);
    }
    free(base);
    free(scores);
    sis_net_free(net);
}

static void rows_with_a_common_prefix_equal_single_runs(void **state) {
    (void)state;
    check_alike("lstm");
    check_alike("bilstm");
    check_alike("gru");
    check_alike("LSTM, batch first");
}

/* Too expensive to compare with single rows. But a mean mixes all rows, so they must not run as
 * a batch. */
static void rows_mixed_by_a_mean_run_one_by_one(void **state) {
    (void)state;
    enum { N = 448 };
    sis_net_builder *b = sis_net_builder_new("mean over rows");
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 3);
    float *w = (float *)malloc(sizeof(float) * N * N),
          *x = (float *)malloc(sizeof(float) * 2 * N * N);
    float alone[2 * N], both[2 * N];
    for (size_t i = 0; i < 2 * N * N; i++)
        x[i] = (float)sis__rng_uniform(&r);
    memcpy(w, x, sizeof(float) * N * N);
    sis_net_add_input(b, "x", 0, &(sis_net_shape){3, {0, N, N}});
    sis_net_add_param(b, "w", &(sis_net_shape){2, {N, N}}, w);
    sis_net_add_node(b, "MatMul", "x w", "a");
    sis_net_add_node(b, "ReduceMean", "a", "m");
    sis_net_attr_ints(b, "axes", (int64_t[]){0}, 1);
    sis_net_add_node(b, "Sub", "a m", "s");
    sis_net_add_node(b, "ReduceMax", "s", "y");
    sis_net_attr_ints(b, "axes", (int64_t[]){2}, 1);
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    for (size_t i = 0; i < 2; i++) {
        sis_net_batch one = {.rows = x + i * N * N, .n_rows = 1, .n_values = (size_t)N * N};
        assert_int_equal(sis_net_forward(net, &one, alone + i * N), 0);
    }
    sis_net_batch two = {.rows = x, .n_rows = 2, .n_values = (size_t)N * N};
    assert_int_equal(sis_net_forward(net, &two, both), 0);
    assert_memory_equal(both, alone, sizeof both);
    sis_net_free(net);
    free(w);
    free(x);
}

/* Networks that mix rows in hidden ways: sums of integers, sums that matter only for large
 * values, rows after the second. And one that only seems to: a mean over time steps on the first
 * axis. */
typedef enum { OF_INTEGERS, OF_LARGE_VALUES, OF_LATER_ROWS, OVER_TIMES, N_MIXTURES } mixture;

static sis_net *build_mixture(mixture m) {
    const float three = 3;
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("mixture");
    sis_net_add_input(b, "in", m == OF_INTEGERS, SHAPE(0, 6));
    sis_net_add_param(b, "three", &(sis_net_shape){0, {0}}, &three);
    sis_net_add_ints(b, "zero", SHAPE(1), (int64_t[]){0});
    sis_net_add_ints(b, "two", SHAPE(1), (int64_t[]){2});
    sis_net_add_ints(b, "end", SHAPE(1), (int64_t[]){INT32_MAX});
    sis_net_add_ints(b, "times", SHAPE(3), (int64_t[]){0, 3, 2});
    sis_net_add_node(b, "Cast", "in", "x");
    sis_net_attr_int(b, "to", 1);
    if (m == OF_LATER_ROWS)
        sis_net_add_node(b, "Slice", "x two end zero", "rows");
    else if (m == OVER_TIMES) {
        sis_net_add_node(b, "Reshape", "x times", "apart");
        sis_net_add_node(b, "Transpose", "apart", "rows");
        sis_net_attr_ints(b, "perm", (int64_t[]){1, 0, 2}, 3);
    } else
        sis_net_add_node(b, "Identity", "x", "rows");
    sis_net_add_node(b, m == OF_LATER_ROWS ? "ReduceSum" : "ReduceMax",
                     m == OF_LATER_ROWS ? "rows zero" : "rows", "most");
    if (m != OF_LATER_ROWS)
        sis_net_attr_ints(b, "axes", (int64_t[]){0}, 1);
    sis_net_attr_int(b, "keepdims", m != OVER_TIMES);
    sis_net_add_node(b, "Sub", m == OF_LARGE_VALUES ? "most three" : "most most", "less");
    sis_net_add_node(b, "Relu", m == OF_LARGE_VALUES ? "less" : "most", "added");
    sis_net_add_node(b, "Add", m == OVER_TIMES ? "added three" : "x added", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%d: %s", (int)m, sis_error_detail());
    return net;
}

static void rows_that_are_mixed_sometimes_run_one_by_one(void **state) {
    (void)state;
    enum { N = 5, WIDTH = 6 };
    float x[N * WIDTH], alone[N * WIDTH], all[N * WIDTH];
    for (size_t i = 0; i < N * WIDTH; i++)
        x[i] = (float)(i * 7 % 31) - 10;
    for (mixture m = OF_INTEGERS; m < N_MIXTURES; m++) {
        sis_net *net = build_mixture(m);
        sis__row_layout *g;
        size_t k = sis_net_outputs(net);
        for (size_t i = 0; i < N; i++) {
            sis_net_batch one = {.rows = x + i * WIDTH, .n_rows = 1, .n_values = WIDTH};
            assert_int_equal(sis_net_forward(net, &one, alone + i * k), 0);
        }
        sis_net_batch many = {.rows = x, .n_rows = N, .n_values = WIDTH};
        assert_int_equal(sis_net_forward(net, &many, all), 0);
        assert_memory_equal(all, alone, N * k * sizeof *all);
        assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = WIDTH}, &g), 0);
        assert_int_equal(g->batched, m == OVER_TIMES);
        sis_net_free(net);
    }
}

/* A plan that keeps every tensor, and one that reuses memory, overwrites inputs and fuses steps,
 * give the same results. */
static void reusing_memory_changes_nothing(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net;
        sis__rng r;
        sis__row_layout *g;
        size_t p;
        assert_int_equal(families[i].build(1, &net), 0);
        sis__rng_init(&r, 12);
        float *x = random_rows(net, &r, 1, &p), scores[64];
        sis_net_batch one = {x, 1, p, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &one, scores), 0);
        assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = p}, &g), 0);
        sis__feed feed = {.value = net->input, .rank = 1, .dims = {1}};
        for (size_t d = 0; d < g->rank; d++)
            feed.dims[feed.rank++] = g->dims[d];
        sis__plan_spec spec = {.feeds = &feed,
                               .n_feeds = 1,
                               .outputs = &net->output,
                               .n_outputs = 1,
                               .batch = 1,
                               .keep_all = 1};
        sis__plan *plan;
        sis__run *run;
        assert_int_equal(sis__plan_new(net, &spec, &plan), 0);
        assert_int_equal(sis__run_new(plan, &run), 0);
        sis__row_layout_feed(g, run, 0, x);
        assert_int_equal(sis__run_forward(run), 0);
        if (memcmp(run->data[net->output], scores, g->n_outputs * sizeof *scores) != 0)
            fail_msg("%s differs when everything is kept", families[i].name);
        sis__run_free(run);
        sis__plan_free(plan);
        sis__row_layout_done(net, g);
        free(x);
        sis_net_free(net);
    }
}

/* Several threads call at once, with rows of more lengths than the cache holds plans. */
typedef struct {
    const sis_net *net;
    const float *x;
    float scores[2][60];
    int second;
} shared;

static int call(void *ctx, size_t item, int worker) {
    shared *s = (shared *)ctx;
    (void)worker;
    size_t length = 6 + item * 7 % 20;
    sis_net_batch b = {s->x, 1, 3 * length, 0, 1, NULL};
    return sis_net_forward(s->net, &b, &s->scores[s->second][item]);
}

static void callers_may_share_a_network(void **state) {
    (void)state;
    sis__rng r;
    sis_net *net;
    shared s = {0};
    sis__rng_init(&r, 21);
    sis_net_builder *b = sis_net_builder_new("free");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3, 0));
    add_random(b, "w", SHAPE(5, 3, 4), &r, 0.4);
    add_random(b, "v", SHAPE(5, 1), &r, 0.4);
    sis_net_add_node(b, "Conv", "x w", "c");
    sis_net_add_node(b, "GlobalMaxPool", "c", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "MatMul", "f v", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    float *x = random_floats(&r, 3 * 30, 1.0);
    s.net = net;
    s.x = x;
    assert_int_equal(sis__parallel(1, 60, call, &s), 0);
    s.second = 1;
    assert_int_equal(sis__parallel(4, 60, call, &s), 0);
    assert_memory_equal(s.scores[0], s.scores[1], sizeof s.scores[0]);
    free(x);
    sis_net_free(net);
}

/* Scores computed from margins equal the scores. */
static void margins_and_scores_agree(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net;
        sis__rng r;
        size_t p;
        assert_int_equal(families[i].build(2, &net), 0);
        sis__rng_init(&r, 9);
        size_t k = sis_net_outputs(net);
        float *x = random_rows(net, &r, 6, &p), scores[6 * 64];
        double margins[6 * 64];
        assert_true(6 * k <= sizeof scores / sizeof *scores);
        sis_net_batch batch = {x, 6, p, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &batch, scores), 0);
        assert_int_equal(sis_net_margins(net, &batch, margins), 0);
        int logarithm = strcmp(families[i].name, "cnn") == 0;
        for (size_t j = 0; j < 6 * k; j++) {
            double score = sis_net_has_link(net) ? sis_net_link(margins[j]) : margins[j];
            double expected = logarithm ? exp(scores[j]) : scores[j];
            assert_true(fabs(score - expected) < 2e-6);
        }
        free(x);
        sis_net_free(net);
    }
}

/* Terms with a factor 0 are left out of sums, unless the other factor is infinite or NaN. */
static void zero_times_an_infinite_weight_is_not_a_number(void **state) {
    (void)state;
    enum { IN = 70, OUT = 40 };
    for (int infinite = 0; infinite < 2; infinite++) {
        static float w[IN * OUT], x[3 * IN], y[3 * OUT];
        sis_net_builder *b = sis_net_builder_new("one layer");
        sis_net *net;
        for (size_t i = 0; i < IN * OUT; i++)
            w[i] = 1;
        w[5 * OUT + 7] = infinite ? INFINITY : 1;
        sis_net_add_input(b, "x", 0, SHAPE(0, IN));
        sis_net_add_param(b, "w", SHAPE(IN, OUT), w);
        sis_net_add_node(b, "Gemm", "x w", "y");
        sis_net_add_output(b, "y");
        assert_int_equal(sis_net_build(b, &net), 0);
        assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 3, IN, 0, 1, NULL}, y), 0);
        for (size_t i = 0; i < 3 * OUT; i++)
            assert_true(infinite && i % OUT == 7 ? isnan(y[i]) : y[i] == 0);
        sis_net_free(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_do_not_depend_on_their_neighbours),
        cmocka_unit_test(rows_run_together_if_results_are_identical),
        cmocka_unit_test(rows_with_a_common_prefix_equal_single_runs),
        cmocka_unit_test(rows_mixed_by_a_mean_run_one_by_one),
        cmocka_unit_test(rows_that_are_mixed_sometimes_run_one_by_one),
        cmocka_unit_test(reusing_memory_changes_nothing),
        cmocka_unit_test(callers_may_share_a_network),
        cmocka_unit_test(margins_and_scores_agree),
        cmocka_unit_test(zero_times_an_infinite_weight_is_not_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
