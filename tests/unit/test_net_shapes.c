/* SPDX-License-Identifier: MIT
 *
 * Networks with several free sizes in a row: the given shape of a row fixes them. The oracle is the
 * same network with fixed sizes. Also networks with a fixed number of rows.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sis/data.h>
#include <sis/example.h>
#include <sis/files.h>
#include <sis/handle.h>
#include <sis/model.h>
#include <sis/net.h>
#include <sis/task.h>

#include "base/dims.h"
#include "model/shapes.h"
#include "net/onnx/proto.h"
#include "support_data.h"
#include "support_net.h"

enum { CHANNELS = 3, MAX = 3 * 9 * 9 };

/* Convolution, 2 x 2 maximum, mean over all positions, two scores. 0: a free size. */
static sis_net *build(size_t channels, size_t height, size_t width) {
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 8);
    sis_net_builder *b = sis_net_builder_new("shapes");
    sis_net_add_input(b, "x", 0, SHAPE(0, channels, height, width));
    add_random(b, "w1", SHAPE(5, CHANNELS, 3, 3), &r, 0.6);
    add_random(b, "b1", SHAPE(5), &r, 0.1);
    add_random(b, "w2", SHAPE(5, 2), &r, 0.9);
    sis_net_add_node(b, "Conv", "x w1 b1", "c");
    sis_net_attr_ints(b, "pads", (int64_t[]){1, 1, 1, 1}, 4);
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "MaxPool", "r", "m");
    sis_net_attr_ints(b, "kernel_shape", (int64_t[]){2, 2}, 2);
    sis_net_add_node(b, "GlobalAveragePool", "m", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "Gemm", "f w2", "z");
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

static const size_t sides[][2] = {{4, 9}, {9, 4}, {6, 6}, {2, 7}};
enum { N_SIDES = sizeof sides / sizeof *sides };

static void fill(double *x, double *z, size_t n, unsigned seed) {
    sis__rng r;
    sis__rng_init(&r, seed);
    for (size_t i = 0; i < n; i++) {
        x[i] = sis__rng_uniform(&r);
        z[i] = 0;
    }
}

/* ---- Arrays as rows ------------------------------------------------------------------------ */

static void arrays_fit_up_to_axes_of_one(void **state) {
    (void)state;
    static const struct {
        size_t net[3], rank, dims[5], fits, as[3];
    } cases[] = {
        {{3, 0, 0}, 3, {3, 4, 9}, 1, {3, 4, 9}},
        {{3, 0, 0}, 3, {1, 4, 9}, 0, {0}},
        {{3, 0, 0}, 2, {4, 9}, 0, {0}},
        {{1, 0, 0}, 2, {4, 9}, 1, {1, 4, 9}},
        {{0, 0, 1}, 2, {4, 9}, 1, {4, 9, 1}},
        {{0, 0, 1}, 3, {4, 9, 1}, 1, {4, 9, 1}},
        {{0, 0, 0}, 2, {4, 9}, 1, {1, 4, 9}},
        {{0, 0, 0}, 1, {9}, 1, {1, 1, 9}},
        {{1, 0, 0}, 4, {1, 1, 4, 9}, 1, {1, 4, 9}},
        {{3, 0, 0}, 5, {1, 1, 3, 4, 9}, 1, {3, 4, 9}},
        {{0, 0, 3}, 3, {4, 9, 3}, 1, {4, 9, 3}},
        {{0, 0, 3}, 3, {3, 4, 9}, 0, {0}},
        {{0, 0, 0}, 4, {2, 3, 4, 5}, 0, {0}},
        {{1, 0, 0}, 3, {4, 9, 1}, 0, {0}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t got[3];
        int error = sis__dims_fit(cases[k].dims, cases[k].rank, cases[k].net, 3, got);
        assert_int_equal(error, cases[k].fits ? SIS_OK : SIS_E_ARGUMENT);
        if (!error)
            assert_memory_equal(got, cases[k].as, sizeof cases[k].as);
    }
    sis_model model;
    sis_net_shape row;
    open_network(build(CHANNELS, 0, 0), &model);
    assert_int_equal(sis_model_row_shape(&model, &row), 2);
    assert_int_equal(row.rank, 3);
    assert_memory_equal(row.dims, ((size_t[]){CHANNELS, 0, 0}), 3 * sizeof *row.dims);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){4, 9, 3}, 3), SIS_E_ARGUMENT);
    assert_message_has("(4, 9, 3), but the model takes (3, any, any)");
    sis_model_close(&model);
    sis_model_row_shape(&(sis_model){.size = sizeof(sis_model), .predict = sum_values}, &row);
    assert_int_equal(row.rank, 0);
}

/* ---- Networks ------------------------------------------------------------------------------ */

/* Compares margins and gradients of a row in both networks. */
static void assert_same_rows(const sis_net *open, const sis_net *fixed,
                             const sis_net_shape *shape) {
    float x[MAX], slopes[2][MAX];
    double margins[2][2];
    size_t n = shape->dims[0] * shape->dims[1] * shape->dims[2];
    for (size_t i = 0; i < n; i++)
        x[i] = (float)(i * 37 % 101) / 101;
    for (int k = 0; k < 2; k++) {
        sis_net_batch b = {.rows = x, .n_rows = 1, .n_values = n, .shape = k ? NULL : shape};
        sis_net_grad g = {.output = 1, .of_margins = 1, .d_rows = slopes[k]};
        assert_int_equal(sis_net_margins(k ? fixed : open, &b, margins[k]), SIS_OK);
        assert_int_equal(sis_net_gradient(k ? fixed : open, &b, &g), SIS_OK);
    }
    assert_memory_equal(margins[0], margins[1], sizeof margins[0]);
    assert_memory_equal(slopes[0], slopes[1], n * sizeof *slopes[0]);
}

static void rows_of_any_shape_are_those_of_fixed_networks(void **state) {
    (void)state;
    for (size_t channels = 0; channels <= CHANNELS; channels += CHANNELS) {
        sis_net *open = build(channels, 0, 0);
        for (size_t round = 0; round < 2; round++)
            for (size_t k = 0; k < N_SIDES; k++) {
                sis_net *fixed = build(CHANNELS, sides[k][0], sides[k][1]);
                assert_same_rows(open, fixed, SHAPE(CHANNELS, sides[k][0], sides[k][1]));
                sis_net_free(fixed);
            }
        sis_net_free(open);
    }
}

static void shapes_that_do_not_fit_are_refused(void **state) {
    sis_net *net = build(CHANNELS, 0, 0);
    float x[MAX] = {0};
    double margins[2];
    (void)state;
    sis_net_batch b = {.rows = x, .n_rows = 1, .n_values = 108, .shape = SHAPE(CHANNELS, 4, 8)};
    assert_int_equal(sis_net_margins(net, &b, margins), SIS_E_ARGUMENT);
    b.shape = SHAPE(4, 27);
    assert_int_equal(sis_net_margins(net, &b, margins), SIS_E_ARGUMENT);
    b.shape = SHAPE(CHANNELS, (size_t)1 << 40, (size_t)1 << 40);
    assert_int_equal(sis_net_margins(net, &b, margins), SIS_E_ARGUMENT);
    b.shape = NULL;
    assert_int_equal(sis_net_margins(net, &b, margins), SIS_OK); /* a square */
    b.n_values = 42;
    assert_int_equal(sis_net_margins(net, &b, margins), SIS_E_UNSUPPORTED);
    assert_message_has("has 2 free sizes");
    sis_net_free(net);
}

/* ---- Models -------------------------------------------------------------------------------- */

/* The collections, by walks and by full passes, equal those of the fixed network. */
static void assert_same_explained(const sis_model *model, size_t height, size_t width) {
    double x[MAX], z[MAX], score[2], masked[2];
    sis_model fixed;
    sis_collection c[3];
    size_t n = CHANNELS * height * width;
    open_network(build(CHANNELS, height, width), &fixed);
    fill(x, z, n, (unsigned)height);
    sis_input in = {.values = x, .mask = z, .n_values = n}, mask = {.values = z, .n_values = n};
    sis_opt opt = decision(0);
    assert_int_equal(sis_predict(&fixed, &in, 1, &opt, score), SIS_OK);
    assert_int_equal(sis_predict(&fixed, &mask, 1, &opt, masked), SIS_OK);
    opt.threshold = (score[0] + masked[0]) / 2;
    opt.below = score[0] < masked[0];
    assert_int_equal(sis_collect(&fixed, &in, &opt, &c[0]), SIS_OK);
    assert_int_equal(sis_collect(model, &in, &opt, &c[1]), SIS_OK);
    opt.exact = 1;
    assert_int_equal(sis_collect(model, &in, &opt, &c[2]), SIS_OK);
    assert_true(c[0].n_subsets > 0);
    assert_same_subsets(&c[0], &c[1]);
    assert_same_subsets(&c[0], &c[2]);
    for (size_t k = 0; k < 3; k++)
        sis_collection_release(&c[k]);
    sis_model_close(&fixed);
}

static void a_handle_knows_one_shape_for_each_number_of_values(void **state) {
    sis_model model, other;
    double x[MAX] = {0};
    (void)state;
    open_network(build(CHANNELS, 0, 0), &model);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){CHANNELS, 4, 9}, 3), SIS_OK);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){CHANNELS, 2, 7}, 3), SIS_OK);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){CHANNELS, 4, 9}, 3), SIS_OK);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){CHANNELS, 9, 4}, 3), SIS_E_ARGUMENT);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){4, 9}, 2), SIS_E_ARGUMENT);
    assert_true(sis_model_takes_shape(&model, (size_t[]){CHANNELS, 4, 9}, 3));
    assert_false(sis_model_takes_shape(&model, (size_t[]){CHANNELS, 9, 4}, 3));
    assert_int_equal(sis_model_measure(&model, x, CHANNELS * 36), SIS_OK);
    assert_int_equal(sis_model_share(&model, &other), SIS_OK);
    assert_false(sis_model_takes_shape(&other, (size_t[]){CHANNELS, 4, 9}, 3));
    assert_int_equal(sis_model_take_shape(&other, (size_t[]){CHANNELS, 9, 4}, 3), SIS_OK);
    assert_same_explained(&model, 4, 9);
    assert_same_explained(&model, 2, 7);
    assert_same_explained(&other, 9, 4);
    assert_same_explained(&other, 5, 5); /* no shape given: a square */
    sis_model_close(&other);
    sis_model_close(&model);
    assert_int_equal(
        sis_model_take_shape(&(sis_model){.size = sizeof(sis_model), .predict = sum_values},
                             (size_t[]){2, 2}, 2),
        SIS_E_UNSUPPORTED);
}

static void thousands_of_shapes_are_found(void **state) {
    sis__shapes s = {0};
    (void)state;
    assert_null(sis__shapes_find(&s, 7));
    for (size_t k = 1; k <= 1000; k++)
        assert_int_equal(sis__shapes_add(&s, SHAPE(k, 3)), SIS_OK);
    for (size_t k = 1; k <= 1000; k++) {
        assert_int_equal(sis__shapes_find(&s, 3 * k)->dims[0], k);
        assert_null(sis__shapes_find(&s, 3 * k + 1));
    }
    assert_int_equal(sis__shapes_add(&s, SHAPE(3, 1000)), SIS_E_ARGUMENT);
    assert_int_equal(sis__shapes_add(&s, SHAPE(3, 0)), SIS_E_ARGUMENT);
    sis__shapes_release(&s);
}

/* ---- Batches of a fixed size ----------------------------------------------------------------- */

enum { ROWS = 6, STEPS = 4, WIDE = 3, UNITS = 5 };

/* The network above for this many rows, with the number in a Reshape; 0: any. */
static sis_net *build_batch(size_t rows) {
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 9);
    sis_net_builder *b = sis_net_builder_new("batch");
    sis_net_add_input(b, "x", 0, SHAPE(rows, CHANNELS, 8, 8));
    add_random(b, "w1", SHAPE(4, CHANNELS, 3, 3), &r, 0.6);
    add_random(b, "w2", SHAPE(144, 3), &r, 0.4);
    sis_net_add_ints(b, "s", SHAPE(2), (int64_t[]){rows ? (int64_t)rows : -1, 144});
    sis_net_add_node(b, "Conv", "x w1", "c");
    sis_net_add_node(b, "Relu", "c", "r");
    sis_net_add_node(b, "Reshape", "r s", "f");
    sis_net_add_node(b, "MatMul", "f w2", "z");
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

/* A recurrent network with an initial state for each of its rows; 0: without. */
static sis_net *build_recurrent(size_t rows) {
    static const float zeros[ROWS * UNITS];
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 10);
    sis_net_builder *b = sis_net_builder_new("recurrent");
    sis_net_add_input(b, "x", 0, SHAPE(rows, STEPS, WIDE));
    add_random(b, "w", SHAPE(1, 4 * UNITS, WIDE), &r, 0.6);
    add_random(b, "u", SHAPE(1, 4 * UNITS, UNITS), &r, 0.6);
    add_random(b, "v", SHAPE(UNITS, 2), &r, 0.8);
    if (rows)
        sis_net_add_param(b, "h", SHAPE(1, rows, UNITS), zeros);
    sis_net_add_node(b, "Transpose", "x", "t");
    sis_net_attr_ints(b, "perm", (int64_t[]){1, 0, 2}, 3);
    sis_net_add_node(b, "LSTM", rows ? "t w u - - h" : "t w u", "all last");
    sis_net_attr_int(b, "hidden_size", UNITS);
    sis_net_add_ints(b, "a", SHAPE(1), (int64_t[]){0});
    sis_net_add_node(b, "Squeeze", "last a", "q");
    sis_net_add_node(b, "MatMul", "q v", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

/* Any number of rows has the scores and gradients of the network for any number of rows. */
static void assert_rows_told_apart(sis_net *net, sis_net *any, size_t width) {
    float x[11 * MAX], scores[2][11 * 3], slopes[2][11 * MAX];
    assert_int_equal(sis_net_count_rows(net), SIS_OK);
    assert_int_equal(sis_net_values(net), width);
    for (size_t i = 0; i < 11 * width; i++)
        x[i] = (float)(i * 29 % 83) / 83 - 0.3f;
    for (size_t n = 11; n > 0; n -= n > 5 ? 5 : 1) {
        sis_net_batch b = {.rows = x, .n_rows = n, .n_values = width, .jobs = 2};
        for (int k = 0; k < 2; k++) {
            sis_net_grad g = {.output = 1, .of_margins = 1, .d_rows = slopes[k]};
            assert_int_equal(sis_net_forward(k ? any : net, &b, scores[k]), SIS_OK);
            assert_int_equal(sis_net_gradient(k ? any : net, &b, &g), SIS_OK);
        }
        assert_memory_equal(scores[0], scores[1], n * sis_net_outputs(any) * sizeof(float));
        assert_memory_equal(slopes[0], slopes[1], n * width * sizeof(float));
    }
    assert_int_equal(sis_net_count_rows(net), SIS_E_ARGUMENT); /* rows are already separate */
}

static void rows_of_a_fixed_batch_are_separated(void **state) {
    (void)state;
    sis_net *net = build_batch(ROWS), *any = build_batch(0);
    assert_rows_told_apart(net, any, CHANNELS * 64);
    double x[CHANNELS * 64], z[CHANNELS * 64];
    fill(x, z, CHANNELS * 64, 2);
    sis_input in = {.values = x, .mask = z, .n_values = CHANNELS * 64};
    sis_walk *w; /* a single row has walks */
    assert_int_equal(sis_net_walk(net, &in, NULL, &w), SIS_OK);
    w->ops->free(w);
    sis_net_free(net);
    sis_net_free(any);
}

static void whole_batches_are_run_whole(void **state) {
    double x[STEPS * WIDE], z[STEPS * WIDE];
    sis_walk *w;
    (void)state;
    sis_net *net = build_recurrent(ROWS), *any = build_recurrent(0);
    assert_rows_told_apart(net, any, STEPS * WIDE);
    fill(x, z, STEPS * WIDE, 2);
    sis_input in = {.values = x, .mask = z, .n_values = STEPS * WIDE};
    assert_int_equal(sis_net_walk(net, &in, NULL, &w), SIS_E_UNSUPPORTED);
    sis_net_free(net);
    sis_net_free(any);
}

static void dependent_rows_stay_in_one_batch(void **state) {
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[8];
    sis_net *net;
    (void)state;
    sis_net_builder *b = sis_net_builder_new("mean");
    sis_net_add_input(b, "x", 0, SHAPE(4, 2));
    sis_net_add_node(b, "ReduceMean", "x", "m");
    sis_net_attr_ints(b, "axes", (int64_t[]){0}, 1);
    sis_net_add_node(b, "Sub", "x m", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    assert_int_equal(sis_net_count_rows(net), SIS_E_UNSUPPORTED);
    assert_int_equal(sis_net_values(net), 8);
    assert_int_equal(
        sis_net_forward(net, &(sis_net_batch){.rows = x, .n_rows = 1, .n_values = 8}, y), SIS_OK);
    assert_true(y[0] == -3 && y[7] == 3);
    sis_net_free(net);
}

static int count_once(void *ctx) {
    sis_net *net;
    const ProtobufCBinaryData *from = (const ProtobufCBinaryData *)ctx;
    int error = sis_net_parse(from->data, from->len, &net);
    if (error == SIS_OK)
        error = sis_net_count_rows(net);
    if (error == SIS_OK)
        assert_int_equal(sis_net_values(net), STEPS * WIDE);
    sis_net_free(net);
    return error;
}

static void batches_survive_failing_allocations(void **state) {
    ProtobufCBinaryData from;
    void *bytes;
    (void)state;
    sis_net *net = build_recurrent(ROWS);
    assert_int_equal(sis_net_pack(net, &bytes, &from.len), SIS_OK);
    sis_net_free(net);
    from.data = (uint8_t *)bytes;
    assert_true(with_failing_allocations(count_once, &from) > 10);
    free(bytes);
}

/* ---- Tasks --------------------------------------------------------------------------------- */

/* A folder of images of these sides, all of them with three channels. */
static const char *picture_folder(void) {
    static char folder[2048];
    char path[2200];
    double pixels[MAX];
    snprintf(folder, sizeof folder, "%s", folder_path("pictures"));
    mkdir(folder, 0700);
    for (size_t k = 0; k < N_SIDES; k++) {
        size_t n = CHANNELS * sides[k][0] * sides[k][1];
        for (size_t i = 0; i < n; i++)
            pixels[i] = (double)((i * 31 + k) % 97) / 97;
        snprintf(path, sizeof path, "%s/%zu.png", folder, k);
        assert_int_equal(
            sis_png_write(path, pixels, (size_t[]){sides[k][0], sides[k][1], CHANNELS}), SIS_OK);
    }
    return folder;
}

/* 1 if the task's record of its only example equals that of the network with these sizes. */
static void assert_scores_of(sis_task *t, size_t i, const double *scores) {
    sis_example e;
    sis_model fixed;
    double own[2];
    sis_opt opt = decision(0);
    assert_int_equal(sis_task_load(t, i, &e), SIS_OK);
    open_network(build(CHANNELS, sides[i][0], sides[i][1]), &fixed);
    assert_int_equal(sis_predict(&fixed, &e.input, 1, &opt, own), SIS_OK);
    assert_memory_equal(own, scores, sizeof own);
    assert_int_equal(sis_predict(sis_task_model_of(t, &e), &e.input, 1, &opt, own), SIS_OK);
    assert_memory_equal(own, scores, sizeof own);
    sis_model_close(&fixed);
    sis_example_release(&e);
}

static int check_scores(void *ctx, size_t i, const double *scores) {
    assert_scores_of((sis_task *)ctx, i, scores);
    return 0;
}

static sis_task_opt options(const sis_model *model, const char *input) {
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.opened = model;
    o.examples.input = input;
    o.question.mask = "zero";
    o.question.threshold = "p50";
    return o;
}

/* Explain all examples of a task; returns the number of records. */
static size_t explain_all(sis_task *t) {
    sis_record r;
    size_t n = 0;
    for (; sis_task_next(t, &r) == 1; n++) {
        assert_int_equal(r.drawing.shape[1] * r.drawing.shape[2] * CHANNELS, r.drawing.n_values);
        assert_int_not_equal(r.collection.status, SIS_STATUS_ERROR);
    }
    return n;
}

static void images_of_all_sizes_share_one_task(void **state) {
    sis_model model;
    sis_task *t;
    sis_example wide, high;
    (void)state;
    open_network(build(CHANNELS, 0, 0), &model);
    sis_task_opt o = options(&model, picture_folder());
    for (int jobs = 1; jobs <= 2; jobs++) {
        o.answer.search.jobs = jobs;
        if (sis_task_open(&o, &t) != SIS_OK)
            fail_msg("%s", sis_error_detail());
        assert_int_equal(sis_task_predict(t, NULL, N_SIDES, check_scores, t), SIS_OK);
        assert_int_equal(explain_all(t), N_SIDES);
        assert_int_equal(sis_task_load(t, 0, &wide), SIS_OK);
        assert_int_equal(sis_task_load(t, 1, &high), SIS_OK);
        assert_ptr_equal(sis_task_model_of(t, &wide), sis_task_model(t));
        assert_ptr_not_equal(sis_task_model_of(t, &high), sis_task_model(t));
        sis_example_release(&wide);
        sis_example_release(&high);
        sis_task_free(t);
    }
    assert_false(sis_model_takes_shape(&model, (size_t[]){CHANNELS, 4, 9}, 3)); /* of another row */
    sis_model_close(&model);
}

static void their_records_are_verified(void **state) {
    sis_model model;
    sis_task *t, *about;
    sis_record r;
    (void)state;
    open_network(build(CHANNELS, 0, 0), &model);
    sis_task_opt o = options(&model, picture_folder());
    assert_int_equal(sis_task_open(&o, &t), SIS_OK);
    for (size_t i = 0; i < N_SIDES; i++) {
        sis_audit a = {0};
        assert_int_equal(sis_task_explain(t, i, &r), SIS_OK);
        assert_int_equal(sis_task_verify(t, &r, 1, &a), SIS_OK);
        assert_true(a.holds);
        sis_audit_release(&a);
    }
    for (size_t k = 0; k < 2; k++) { /* requests that come one at a time */
        double x[MAX] = {0.5}, z[MAX];
        sis_data *data;
        size_t dims[] = {1, CHANNELS, sides[k][0], sides[k][1]};
        fill(x, z, CHANNELS * 36, 3);
        assert_int_equal(sis_data_from_values(x, 4, dims, NULL, &data), SIS_OK);
        assert_int_equal(sis_task_derive(t, data, &about), SIS_OK);
        assert_int_equal(explain_all(about), 1);
        sis_task_free(about);
        sis_data_free(data);
    }
    sis_task_free(t);
    sis_model_close(&model);
}

static void options_that_need_equal_sizes_say_so(void **state) {
    sis_model model;
    sis_task *t;
    (void)state;
    open_network(build(CHANNELS, 0, 0), &model);
    sis_task_opt o = options(&model, picture_folder());
    o.examples.rows = "0,1";
    o.question.mask = "mean";
    assert_int_equal(sis_task_open(&o, &t), SIS_E_ARGUMENT);
    assert_message_has("different sizes");
    o.question.mask = "zero";
    o.question.features = "grid:4"; /* each image has its own shape */
    assert_int_equal(sis_task_open(&o, &t), SIS_OK);
    sis_task_free(t);
    o.question.features = "axis:0";
    assert_int_equal(sis_task_open(&o, &t), SIS_E_ARGUMENT);
    sis_model_close(&model);
}

static int open_once(void *ctx) {
    sis_task *t;
    const char *const *from = (const char *const *)ctx;
    sis_task_opt o = options(NULL, from[1]);
    o.model.spec = from[0];
    o.question.threshold = "0.5";
    o.examples.rows = "0,1";
    int error = sis_task_open(&o, &t);
    sis_task_free(t);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    char path[2048];
    (void)state;
    snprintf(path, sizeof path, "%s", folder_path("open.onnx"));
    sis_net *net = build(CHANNELS, 0, 0);
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    const char *from[] = {path, picture_folder()};
    assert_true(with_failing_allocations(open_once, (void *)from) > 10);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arrays_fit_up_to_axes_of_one),
        cmocka_unit_test(rows_of_any_shape_are_those_of_fixed_networks),
        cmocka_unit_test(shapes_that_do_not_fit_are_refused),
        cmocka_unit_test(a_handle_knows_one_shape_for_each_number_of_values),
        cmocka_unit_test(thousands_of_shapes_are_found),
        cmocka_unit_test(rows_of_a_fixed_batch_are_separated),
        cmocka_unit_test(whole_batches_are_run_whole),
        cmocka_unit_test(dependent_rows_stay_in_one_batch),
        cmocka_unit_test(batches_survive_failing_allocations),
        cmocka_unit_test(images_of_all_sizes_share_one_task),
        cmocka_unit_test(their_records_are_verified),
        cmocka_unit_test(options_that_need_equal_sizes_say_so),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
