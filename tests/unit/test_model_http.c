/* SPDX-License-Identifier: MIT
 *
 * Models behind HTTP, against a server that follows the published protocols and, on request,
 * violates them.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/handle.h>
#include <sis/model.h>
#include <sis/net.h>

#include "base/clock.h"
#include "base/rng.h"
#include "model/inputs.h"
#include "support_command.h"
#include "support_server.h"

enum { ROWS = 40, COLUMNS = 8 };

static double rows[ROWS * COLUMNS]; /* for the credit model, as in examples/credit.csv */
static double truth[ROWS];          /* the model's own scores */

static sis_model_opt options(void) {
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.timeout = 20;
    return opt;
}

static sis_model open_at(const char *address) {
    sis_model_opt opt = options();
    sis_model model;
    if (sis_model_open(address, &opt, &model) != SIS_OK)
        fail_msg("%s: %s", address, sis_error_detail());
    return model;
}

static int no_server(void) {
    return server_start() == NULL;
}

/* Random applicants, and their scores by the model as a child process. */
static int set_up(void **state) {
    (void)state;
    static const double scale[COLUMNS] = {80, 90000, 30000, 40000, 6, 12, 40, 1};
    sis__rng r;
    sis__rng_init(&r, 5);
    for (size_t i = 0; i < ROWS * COLUMNS; i++)
        rows[i] = scale[i % COLUMNS] * sis__rng_uniform(&r);
    if (no_server())
        return 0;
    sis_model model;
    int bad = sis_model_open("cmd:python3 '" SIS_SOURCE_DIR "/examples/credit.py'", NULL, &model) ||
              sis_model_measure(&model, rows, COLUMNS) ||
              model.predict(model.ctx, rows, ROWS, COLUMNS, truth);
    sis_model_close(&model);
    return bad;
}

/* ---- Equality with the local model ----------------------------------------------------------- */

static void scores_are_those_of_the_model_itself(void **state) {
    (void)state;
    if (no_server())
        skip();
    const char *const paths[] = {"ok/v2/models/credit",        "binary/v2/models/credit",
                                 "ok/v2/models/untold",        "ok/v2/models/credit/versions/1",
                                 "ok/v2/models/two",           "ok/v2/models/two#score",
                                 "binary/v2/models/two",       "batch/v2/models/credit",
                                 "ok/v1/models/credit",        "tf/v1/models/credit",
                                 "unknown/v1/models/credit",   "named/v1/models/credit#score",
                                 "wrapped/v1/models/credit",   "ok/invocations",
                                 "ok/v2/models/credit/infer/", "ok/v1/models/credit:predict",
                                 "gzip/v2/models/credit",      "chunked/v2/models/credit",
                                 "close/v2/models/credit",     "large-2000/v2/models/credit",
                                 "gzip/invocations",           "every-3/v2/models/credit",
                                 "cutonce/v2/models/credit"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        double scores[ROWS];
        sis_model model = open_at(server_address("%s", paths[i]));
        assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_OK);
        assert_int_equal(model.n_outputs, 1);
        if (model.predict(model.ctx, rows, ROWS, COLUMNS, scores) != SIS_OK)
            fail_msg("%s: %s", paths[i], sis_error_detail());
        assert_memory_equal(scores, truth, sizeof scores);
        sis_model_close(&model);
    }
}

static void single_precision_is_the_same_in_text_and_binary(void **state) {
    (void)state;
    if (no_server())
        skip();
    double scores[2][ROWS];
    for (int binary = 0; binary < 2; binary++) {
        sis_model model =
            open_at(server_address("%s/v2/models/credit32", binary ? "binary" : "ok"));
        assert_int_equal(model.n_values, COLUMNS);
        assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_OK);
        assert_int_equal(model.predict(model.ctx, rows, ROWS, COLUMNS, scores[binary]), SIS_OK);
        sis_model_close(&model);
    }
    assert_memory_equal(scores[0], scores[1], sizeof scores[0]);
    assert_memory_not_equal(scores[0], truth, sizeof scores[0]);
}

static int is_wanted(void *ctx, size_t i, const sis_collection *c) {
    const sis_collection *wanted = ctx;
    assert_same_subsets(&wanted[i], c);
    return 0;
}

static void explanations_are_those_of_the_model_itself(void **state) {
    (void)state;
    if (no_server())
        skip();
    enum { N = 6 };
    double mask[COLUMNS];
    sis_mean means[COLUMNS] = {{0}};
    sis_input inputs[N];
    sis_collection wanted[N];
    sis_opt opt = decision(0.7);
    for (size_t i = 0; i < ROWS; i++)
        sis_mean_add(means, rows + i * COLUMNS, COLUMNS);
    for (size_t v = 0; v < COLUMNS; v++)
        mask[v] = sis_mean_get(&means[v]);
    sis_model local = open_model("cmd:python3 '" SIS_SOURCE_DIR "/examples/credit.py'", 20);
    assert_int_equal(sis_model_measure(&local, rows, COLUMNS), SIS_OK);
    for (size_t i = 0; i < N; i++) {
        inputs[i] = (sis_input){.values = rows + i * COLUMNS, .mask = mask, .n_values = COLUMNS};
        assert_int_equal(sis_collect(&local, &inputs[i], &opt, &wanted[i]), SIS_OK);
    }
    sis_model_close(&local);
    const char *const paths[] = {"ok/v2/models/credit", "binary/v2/models/credit",
                                 "every-3/v1/models/credit", "batch/v2/models/credit"};
    opt.jobs = 3;
    sis_model_opt patient =
        options(); /* every third request fails, and a thread may hit it repeatedly */
    patient.retries = 20;
    for (size_t k = 0; k < sizeof paths / sizeof *paths; k++) {
        sis_model model;
        assert_int_equal(sis_model_open(server_address("%s", paths[k]), &patient, &model), SIS_OK);
        assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_OK);
        assert_int_equal(sis_collect_many(&model, inputs, N, &opt, is_wanted, wanted), SIS_OK);
        sis_model_close(&model);
    }
    for (size_t i = 0; i < N; i++)
        sis_collection_release(&wanted[i]);
}

/* ---- Types and shapes ------------------------------------------------------------------------ */

static void texts_are_strings(void **state) {
    (void)state;
    if (no_server())
        skip();
    const sis_piece pieces[] = {{"Good ", 5}, {"\"food\", ", 8}, {"caf\303\251 GOOD\n", 11}};
    const double texts[] = {0, 1, 2, NAN, 1, NAN};
    const char *const paths[] = {"ok/v2/models/mood", "binary/v2/models/mood",  "ok/v1/models/mood",
                                 "tf/v1/models/mood", "unknown/v1/models/mood", "ok/invocations"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        double scores[4];
        sis_model model = open_at(server_address("%s", paths[i]));
        assert_int_equal(sis_model_take_texts(&model, pieces, 3), SIS_OK);
        if (sis_model_measure(&model, texts, 3) != SIS_OK)
            fail_msg("%s: %s", paths[i], sis_error_detail());
        assert_int_equal(model.n_outputs, 2);
        assert_int_equal(model.predict(model.ctx, texts, 2, 3, scores), SIS_OK);
        assert_true(fabs(scores[0] - (1 - exp(-2))) < 1e-7 && scores[2] == 0 && scores[3] == 0);
        sis_model_close(&model);
    }
    sis_model model = open_at(server_address("ok/v2/models/mood"));
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_E_ARGUMENT);
    assert_message_has("the model takes texts (BYTES), not rows of numbers");
    sis_model_close(&model);
    model = open_at(server_address("ok/v2/models/credit"));
    assert_int_equal(sis_model_take_texts(&model, pieces, 3), SIS_E_UNSUPPORTED);
    assert_message_has("takes FP64, not texts");
    sis_model_close(&model);
}

/* Settings of one handle do not affect the others. */
static void handles_for_texts_and_numbers_are_independent(void **state) {
    (void)state;
    if (no_server())
        skip();
    const sis_piece piece = {"good", 4};
    double scores[ROWS], zero = 0;
    sis_model model = open_at(server_address("ok/v2/models/untold")), other;
    assert_int_equal(sis_model_share(&model, &other), SIS_OK);
    assert_int_equal(sis_model_take_texts(&other, &piece, 1), SIS_OK);
    assert_int_equal(sis_model_measure(&other, &zero, 1), SIS_E_MODEL);
    assert_message_has("expected FP64, found BYTES");
    if (sis_model_measure(&model, rows, COLUMNS) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(model.predict(model.ctx, rows, ROWS, COLUMNS, scores), SIS_OK);
    assert_memory_equal(scores, truth, sizeof scores);
    sis_model_close(&other);
    sis_model_close(&model);
}

static void integers_are_checked_before_they_are_sent(void **state) {
    (void)state;
    if (no_server())
        skip();
    const double good[] = {127, -128, 3, 1, 2, 3}, half[] = {1, 2.5, 3}, large[] = {1, 2, 128};
    const double nan[] = {1, 2, NAN}, bits[] = {0, 1, 0, 0};
    for (int binary = 0; binary < 2; binary++) {
        double scores[2];
        sis_model model = open_at(server_address("%s/v2/models/sum8", binary ? "binary" : "ok"));
        assert_int_equal(sis_model_measure(&model, good, 3), SIS_OK);
        assert_int_equal(model.predict(model.ctx, good, 2, 3, scores), SIS_OK);
        assert_true(scores[0] == 2 && scores[1] == 6);
        assert_int_equal(model.predict(model.ctx, half, 1, 3, scores), SIS_E_ARGUMENT);
        assert_message_has(
            "value 1 of a row is 2.5; the model takes INT8, whole numbers from -128");
        assert_int_equal(model.predict(model.ctx, large, 1, 3, scores), SIS_E_ARGUMENT);
        assert_int_equal(model.predict(model.ctx, nan, 1, 3, scores), SIS_E_ARGUMENT);
        sis_model_close(&model);
        model = open_at(server_address("%s/v2/models/any", binary ? "binary" : "ok"));
        assert_int_equal(sis_model_measure(&model, bits, 2), SIS_OK);
        assert_int_equal(model.predict(model.ctx, bits, 2, 2, scores), SIS_OK);
        assert_true(scores[0] == 1 && scores[1] == 0);
        sis_model_close(&model);
    }
}

static void shapes_without_a_batch_axis_are_filled(void **state) {
    (void)state;
    if (no_server())
        skip();
    const double fifteen[15] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    double scores[5];
    for (int binary = 0; binary < 2; binary++) {
        const char *kind = binary ? "binary" : "ok";
        sis_model model = open_at(server_address("%s/v2/models/endless", kind));
        assert_int_equal(sis_model_measure(&model, fifteen, 4), SIS_E_UNSUPPORTED);
        assert_message_has("a tensor of shape (100000000000000, 4) with 100000000000000 rows");
        sis_model_close(&model);
        model = open_at(server_address("%s/v2/models/fixed", kind));
        assert_int_equal(sis_model_measure(&model, fifteen, 3), SIS_OK); /* always four rows */
        assert_int_equal(model.predict(model.ctx, fifteen, 5, 3, scores), SIS_OK);
        assert_true(scores[0] == 6 && scores[3] == 33 && scores[4] == 42);
        sis_model_close(&model);
        model = open_at(server_address("%s/v2/models/single", kind));
        assert_int_equal(sis_model_measure(&model, fifteen, 5), SIS_OK); /* one row, no axis */
        assert_int_equal(model.predict(model.ctx, fifteen, 3, 5, scores), SIS_OK);
        assert_true(scores[0] == 15 && scores[1] == 40 && scores[2] == 65);
        sis_model_close(&model);
    }
    sis_model model = open_at(server_address("ok/v2/models/credit"));
    assert_int_equal(sis_model_measure(&model, rows, 7), SIS_E_ARGUMENT);
    assert_message_has("a tensor of shape (any, 8), whose first axis counts rows; rows of 7 "
                       "values do not fit");
    sis_model_close(&model);
}

/* Rows of few values may be long as text, and constant inputs are sent with each row. */
static void requests_too_long_to_be_written_are_refused(void **state) {
    (void)state;
    if (no_server())
        skip();
    static char long_text[2048];
    memset(long_text, 'x', sizeof long_text);
    const sis_piece piece = {long_text, sizeof long_text};
    const double zeros[4] = {0};
    const float one = 1;
    const sis_net_tensor with[] = {{.name = "w", .type = SIS_NET_FLOATS, .data = &one}};
    for (int binary = 0; binary < 2; binary++) {
        const char *kind = binary ? "binary" : "ok";
        sis_model_opt opt = options();
        sis_model model = open_at(server_address("%s/v2/models/shelf", kind));
        assert_int_equal(sis_model_take_texts(&model, &piece, 1), SIS_OK);
        assert_int_equal(sis_model_measure(&model, zeros, 1), SIS_E_UNSUPPORTED);
        assert_message_has("takes batches of 1048576 rows, more than 1024 MiB");
        sis_model_close(&model);
        opt.with = with;
        opt.n_with = 1;
        assert_int_equal(sis_model_open(server_address("%s/v2/models/wide", kind), &opt, &model),
                         SIS_OK);
        assert_int_equal(sis_model_measure(&model, zeros, 4), SIS_E_UNSUPPORTED);
        assert_message_has("input w: 4096 values for each of 1048576 rows");
        sis_model_close(&model);
    }
}

static void rows_fit_a_shape_in_one_way(void **state) {
    (void)state;
    enum { LARGE = -1 };
    const struct {
        sis__shape shape;
        size_t values, rows, rank, first;
        int fits, batched;
    } cases[] = {
        {{2, {-1, 784}}, 784, 0, 1, 784, 1, 1},
        {{2, {-1, -1}}, 5, 0, 1, 5, 1, 1},
        {{4, {-1, 1, 28, 28}}, 784, 0, 3, 1, 1, 1},
        {{3, {-1, -1, 4}}, 12, 0, 2, 3, 1, 1},
        {{1, {-1}}, 1, 0, 0, 0, 1, 1},
        {{1, {-1}}, 7, 1, 1, 7, 1, 0},
        {{1, {7}}, 7, 1, 1, 7, 1, 0},
        {{2, {1, 7}}, 7, 1, 1, 7, 1, 1},
        {{2, {36, 13}}, 13, 36, 1, 13, 1, 1},
        {{2, {36, 13}}, 468, 1, 2, 36, 1, 0},
        {{2, {4, -1}}, 8, 1, 2, 4, 1, 0},
        {{3, {5, -1, 3}}, 15, 1, 3, 5, 1, 0}, /* the number of rows is another axis */
        {{2, {4, -1}}, 6, 4, 1, 6, 1, 1},
        {{0, {0}}, 1, 1, 0, 0, 1, 0},
        {{2, {-1, 784}}, 783, 0, 0, 0, 0, 0},
        {{3, {-1, -1, -1}}, 12, 0, 0, 0, 0, 0},
        {{4, {-1, -1, -1, 3}}, 243, 0, 3, 9, 1, 1},
        {{2, {-1, 0}}, 1, 0, 0, 0, 0, 0},
        {{3, {2, 1LL << 40, 1LL << 40}}, 1, 0, 0, 0, 0, 0},
        {{2, {0, 3}}, 3, 0, 0, 0, 0, 0},
        {{2, {1LL << 26, 4}}, 4, 1 << 26, 1, 4, 1, 1},
        {{2, {(1LL << 26) + 1, 4}}, 4, 0, 0, 0, LARGE, 0},
        {{2, {(1LL << 62) + 1, 4}}, 4, 0, 0, 0, LARGE, 0},
        {{1, {1LL << 62}}, 1, 0, 0, 0, LARGE, 0},
        {{2, {1, 1LL << 30}}, 1 << 30, 1, 1, 1 << 30, 1, 1}, /* the caller has that many values */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis__fit fit;
        int code = sis__shape_fit(&cases[i].shape, NULL, cases[i].values, &fit);
        assert_int_equal(code, cases[i].fits == LARGE ? SIS_E_UNSUPPORTED
                               : cases[i].fits        ? SIS_OK
                                                      : SIS_E_ARGUMENT);
        if (code != SIS_OK)
            continue;
        assert_int_equal(fit.rows, cases[i].rows);
        assert_int_equal(fit.rank, cases[i].rank);
        assert_int_equal(fit.batched, cases[i].batched);
        if (fit.rank)
            assert_int_equal(fit.dims[0], cases[i].first);
    }
    assert_int_equal(sis__shape_values(&(sis__shape){3, {-1, 4, 5}}), 20);
    assert_int_equal(sis__shape_values(&(sis__shape){2, {1, 4}}), 4);
    assert_int_equal(sis__shape_values(&(sis__shape){2, {-1, -1}}), 0);
    assert_int_equal(sis__shape_values(&(sis__shape){2, {36, 13}}), 0);
}

/* The model finds the brightest row of an image, so its score depends on height and width. */
static void declared_shapes_fix_free_sizes(void **state) {
    (void)state;
    if (no_server())
        skip();
    const double image[] = {1, 2, 3, 10, 20, 30};
    const char *const paths[] = {"ok/v2/models/lines", "binary/v2/models/lines",
                                 "tf/v1/models/lines"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        double wide, high;
        sis_net_shape row;
        void *worker;
        sis_model model = open_at(server_address("%s", paths[i])), other;
        sis_model_row_shape(&model, &row);
        assert_int_equal(row.rank, 3);
        assert_memory_equal(row.dims, ((size_t[]){1, 0, 0}), 3 * sizeof *row.dims);
        assert_int_equal(sis_model_measure(&model, image, 6), SIS_E_ARGUMENT); /* not a square */
        assert_int_equal(sis_model_take_shape(&model, (size_t[]){2, 3}, 2), SIS_OK);
        assert_int_equal(sis_model_take_shape(&model, (size_t[]){3, 2}, 2), SIS_E_ARGUMENT);
        assert_int_equal(sis_model_measure(&model, image, 6), SIS_OK);
        assert_int_equal(sis_model_share(&model, &other), SIS_OK);
        assert_false(sis_model_takes_shape(&other, (size_t[]){2, 3}, 2));
        assert_int_equal(sis_model_take_shape(&other, (size_t[]){3, 2}, 2), SIS_OK);
        assert_int_equal(model.predict(model.ctx, image, 1, 6, &wide), SIS_OK);
        assert_int_equal(other.worker_new(other.ctx, &worker), SIS_OK);
        assert_int_equal(other.predict(worker, image, 1, 6, &high), SIS_OK);
        assert_float_equal(wide, 20, 0);
        assert_float_equal(high, 25, 0);
        other.worker_free(worker);
        sis_model_close(&other);
        sis_model_close(&model);
    }
    sis_model untold = open_at(server_address("ok/v2/models/untold"));
    assert_int_equal(sis_model_take_shape(&untold, (size_t[]){2, 4}, 2), SIS_E_UNSUPPORTED);
    sis_model_close(&untold);
}

/* ---- Connections ----------------------------------------------------------------------------- */

static void connections_are_reused(void **state) {
    (void)state;
    if (no_server())
        skip();
    double first[3], second[3], third[3];
    void *twin;
    sis_model model = open_at(server_address("ok/v2/models/connection"));
    assert_int_equal(sis_model_measure(&model, rows, 1), SIS_OK);
    assert_int_equal(model.n_outputs, 3);
    assert_int_equal(model.predict(model.ctx, rows, 1, 1, first), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 1, 1, second), SIS_OK);
    assert_int_equal(model.worker_new(model.ctx, &twin), SIS_OK);
    assert_int_equal(model.predict(twin, rows, 1, 1, third), SIS_OK);
    assert_true(first[0] == second[0] && second[1] == first[1] + 1);
    assert_true(third[0] != first[0] && third[1] == 1);
    model.worker_free(twin);
    sis_model_close(&model);
    model = open_at(server_address("close/v2/models/connection"));
    assert_int_equal(sis_model_measure(&model, rows, 1), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 1, 1, first), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 1, 1, second), SIS_OK);
    assert_true(first[0] != second[0] && second[1] == 1);
    sis_model_close(&model);
}

static void long_batches_are_split(void **state) {
    (void)state;
    if (no_server())
        skip();
    enum { N = 1600, WIDTH = 300 };
    double *many = malloc(sizeof(double) * N * WIDTH), *scores = malloc(sizeof(double) * N * 3);
    assert_non_null(many);
    assert_non_null(scores);
    for (size_t i = 0; i < N * WIDTH; i++)
        many[i] = (double)(i / WIDTH) + 1.0 / 3;
    const struct {
        const char *path;
        double max;
    } cases[] = {{"ok/v2/models/connection", 4 << 20},
                 {"binary/v2/models/connection", (4 << 20) / 8 / WIDTH},
                 {"batch/v2/models/connection", 4},
                 {"slow-0.3/v2/models/connection", 30}};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sis_model_opt opt = options();
        sis_model model;
        size_t n = k < 2 ? N : 60;
        opt.timeout = k == 3 ? 1 : 20;
        assert_int_equal(sis_model_open(server_address("%s", cases[k].path), &opt, &model), SIS_OK);
        assert_int_equal(sis_model_measure(&model, many, WIDTH), SIS_OK);
        for (int again = 0; again < 2; again++) /* may adapt the request size */
            assert_int_equal(model.predict(model.ctx, many, n, WIDTH, scores), SIS_OK);
        double largest = scores[3 * n - 1]; /* of the last request */
        assert_true(largest <= cases[k].max);
        if (k < 2)
            assert_true(scores[2] > 100);
        sis_model_close(&model);
    }
    free(many);
    free(scores);
}

static void slow_servers_time_out(void **state) {
    (void)state;
    if (no_server())
        skip();
    sis_model_opt opt = options();
    sis_model model;
    double before = sis__seconds(), score;
    opt.timeout = 0.3;
    opt.retries = 0;
    assert_int_equal(sis_model_open(server_address("slow-20/v2/models/credit"), &opt, &model),
                     SIS_OK);
    assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_E_MODEL);
    assert_message_has("request 1: no answer within 0.3 s (--timeout)");
    sis_model_close(&model);
    assert_true(sis__seconds() - before < 10);
    opt.timeout = 2;
    opt.retries = 1;
    assert_int_equal(sis_model_open(server_address("slowonce-3/v2/models/credit"), &opt, &model),
                     SIS_OK);
    assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_E_MODEL);
    assert_message_has("(tried 2 times)");
    opt.timeout = 20;
    assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 1, COLUMNS, &score), SIS_OK);
    assert_true(score == truth[0]);
    sis_model_close(&model);
}

static void refused_connections_are_reported(void **state) {
    (void)state;
    if (no_server())
        skip();
    sis_model_opt opt = options();
    sis_model model;
    opt.retries = 1;
    assert_int_equal(sis_model_open("http://127.0.0.1:1/v2/models/m", &opt, &model), SIS_E_MODEL);
    assert_message_has("model http://127.0.0.1:1/v2/models/m: Failed to connect");
    assert_message_has("(tried 2 times)");
    opt.retries = 0;
    assert_int_equal(sis_model_open("http://no.such.host.invalid/v1/models/m", &opt, &model),
                     SIS_E_MODEL);
}

/* ---- Errors ---------------------------------------------------------------------------------- */

static void every_wrong_answer_is_reported(void **state) {
    (void)state;
    if (no_server())
        skip();
    const struct {
        const char *path;
        int code;
        const char *says;
    } cases[] = {
        {"html/v2/models/credit", SIS_E_MODEL,
         "/html/v2/models/credit, request 1 (HTTP 200): expected JSON, found \"<html>It works!"},
        {"html/v1/models/credit", SIS_E_MODEL, "expected JSON, found \"<html>It works!</html>\""},
        {"html/invocations", SIS_E_MODEL, "expected JSON, found \"<html>It works!</html>\""},
        {"nul/v1/models/credit", SIS_E_MODEL, "expected JSON, found \"{\"note\": "},
        {"nul/v2/models/credit", SIS_E_MODEL, "expected JSON, found \"{\"note\": "},
        {"malformed/v2/models/credit", SIS_E_MODEL, "expected JSON, found \"{\"model_name\": "},
        {"nothing/v2/models/credit", SIS_E_MODEL, "expected JSON, found \"\""},
        {"error/v2/models/credit", SIS_E_MODEL, "the server reports: weights are missing"},
        {"error/invocations", SIS_E_MODEL, "the server reports: weights are missing"},
        {"nan/v2/models/credit", SIS_E_NAN, "row 1 of 1: expected a score, found NaN"},
        {"nan/v1/models/credit", SIS_E_NAN, "row 1 of 1: expected a score, found NaN"},
        {"inf/v2/models/credit", SIS_E_NAN, "expected a score, found -Infinity"},
        {"shape/v2/models/credit", SIS_E_MODEL, "expected 2 values, as the shape says, found 1"},
        {"count/v2/models/credit", SIS_E_MODEL, "expected 1 values, as the shape says, found 2"},
        {"count/v1/models/credit", SIS_E_MODEL, "expected 1 prediction, one for each row, found 2"},
        {"id/v2/models/credit", SIS_E_MODEL,
         "expected the response to request 1, found the one to ano"},
        {"type/v2/models/credit", SIS_E_MODEL, "expected an output of numbers, found datatype BYT"},
        {"text/v2/models/credit", SIS_E_MODEL, "row 1 of 1: expected a number, found a string"},
        {"unnamed/v2/models/credit", SIS_E_MODEL,
         "expected an output named \"score\", found \"els"},
        {"named/v1/models/credit", SIS_E_MODEL,
         "expected one output, found an object of 2, the fi"},
        {"long/v2/models/credit", SIS_E_MODEL, "10 bytes remaining to read (tried 2 times)"},
        {"short/v2/models/credit", SIS_E_MODEL, "expected JSON, found \"{\"model_name\": "},
        {"cut/v2/models/credit", SIS_E_MODEL, "988 bytes remaining to read (tried 2 times)"},
        {"drop/v2/models/credit", SIS_E_MODEL, "Empty reply from server (tried 2 times)"},
        {"huge/v2/models/credit", SIS_E_MODEL, "an answer of more than 256 MiB"},
        {"bomb/v2/models/credit", SIS_E_MODEL, "an answer of more than 256 MiB"},
        {"status-418/v2/models/credit", SIS_E_MODEL,
         "HTTP 418, expected 200 with {\"outputs\":[...]}: the server reports: as you wish"},
        {"status-404/v1/models/credit", SIS_E_MODEL,
         "HTTP 404 (is the model's name right?), expected 200 with {\"predictions\":[...]}"},
        {"busy-429/v2/models/credit", SIS_E_MODEL, "HTTP 429, 2 times, expected 200"},
        {"busy-503/invocations", SIS_E_MODEL, "HTTP 503, 2 times, expected 200"},
        {"large-10/v2/models/credit", SIS_E_MODEL, "HTTP 413, expected 200"},
        {"binaryshort/v2/models/credit", SIS_E_MODEL, "an output of 8 bytes in 7 bytes of binary"},
        {"binarylong/v2/models/credit", SIS_E_MODEL, "bytes of JSON, found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_model_opt opt = options();
        sis_model model;
        opt.retries = 1;
        if (sis_model_open(server_address("%s", cases[i].path), &opt, &model) != SIS_OK)
            fail_msg("%s: %s", cases[i].path, sis_error_detail());
        int code = sis_model_measure(&model, rows, COLUMNS);
        if (code != cases[i].code)
            fail_msg("%s: %d, %s", cases[i].path, code, sis_error_detail());
        assert_message_has(cases[i].says);
        assert_int_equal(model.n_outputs, 0);
        sis_model_close(&model);
    }
}

/* Rows go into the ids, the mask is derived from them, the rest is given. */
static void other_inputs_are_derived_or_constant(void **state) {
    (void)state;
    if (no_server())
        skip();
    const double ids[] = {5, 0, 7, 1, 2, 3};
    const float two = 2;
    const float three[] = {1, 2, 3};
    sis_net_tensor with[] = {{.name = "scale", .type = SIS_NET_FLOATS, .data = &two}};
    const char *const faults[] = {"ok", "binary"};
    for (size_t k = 0; k < 4; k++) { /* a number, then an array with extra axes */
        sis_model_opt opt = options();
        sis_model model;
        double scores[2];
        opt.with = with;
        opt.n_with = 1;
        with->shape = (sis_net_shape){k < 2 ? 0 : 2, {1, 1}};
        if (sis_model_open(server_address("%s/v2/models/pair", faults[k % 2]), &opt, &model) !=
            SIS_OK)
            fail_msg("%s", sis_error_detail());
        assert_int_equal(sis_model_measure(&model, ids, 3), SIS_OK);
        if (model.predict(model.ctx, ids, 2, 3, scores) != SIS_OK)
            fail_msg("%s", sis_error_detail());
        assert_true(fabs(scores[0] - 0.024) < 1e-9 && fabs(scores[1] - 0.012) < 1e-9);
        sis_model_close(&model);
    }
    const sis_net_tensor only[] = {{.name = "row", .type = SIS_NET_FLOATS, .data = &two}};
    sis_model_opt opt = options();
    sis_model model;
    opt.with = only;
    opt.n_with = 1;
    assert_int_equal(sis_model_open(server_address("ok/v2/models/credit"), &opt, &model),
                     SIS_E_ARGUMENT);
    assert_message_has("--with gives a value to every input");
    *with = (sis_net_tensor){"scale", SIS_NET_FLOATS, {1, {3}}, three};
    opt.with = with;
    assert_int_equal(sis_model_open(server_address("ok/v2/models/pair"), &opt, &model),
                     SIS_E_ARGUMENT);
    assert_message_has("input scale: the array has shape (3), but the model takes (1)");
}

static void models_that_cannot_be_opened_are_reported(void **state) {
    (void)state;
    if (no_server())
        skip();
    const struct {
        const char *path;
        int code;
        const char *says;
    } cases[] = {
        {"ok/v2/models/none", SIS_E_MODEL,
         "expected 200 with the metadata of a model: the server "},
        {"ok/v2/models/pair", SIS_E_UNSUPPORTED, "the model has 3 inputs, and ids leaves a size"},
        {"several/v1/models/credit", SIS_E_UNSUPPORTED, "the model takes 2 inputs (row, mask)"},
        {"axes/v1/models/credit", SIS_E_UNSUPPORTED, "its input has 100 axes; at most 16 are"},
        {"ok/v2/models/odd", SIS_E_UNSUPPORTED, "input \"x\" has the unknown type FP8"},
        {"ok/v2/models/credit#else", SIS_E_ARGUMENT, "the model has no output named \"else\""},
        {"ok/v2/models/shapeless", SIS_E_MODEL,
         "expected metadata with the name and shape of its input, found "
         "\"{\"name\":\"x\",\"shape\":\"8\"}\""},
        {"ok/v2/models/nameless", SIS_E_MODEL,
         "expected metadata with the name of its output, found \"{\"shape\":[-1"},
        {"ok/v3", SIS_E_ARGUMENT, "expected an address that ends in /v2/models/NAME, "},
        {"ok/v2/models/", SIS_E_ARGUMENT, "expected an address that ends in /v2/models/NAME, "},
        {"ok/v2/models/credit?key=s3cret", SIS_E_ARGUMENT, "expected an address without \"?\""},
        {"redirect/v2/models/credit", SIS_E_MODEL, "HTTP 307, a redirection to http://127.0.0.1:"},
        {"away/v2/models/credit", SIS_E_MODEL, "a redirection to localhost:1/v2/models/credit; g"},
        {"auth/v2/models/credit", SIS_E_MODEL,
         "HTTP 401 (give what it asks for by --token or --header), expected 200 with the metadata "
         "of a model: the server reports: who are you?"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_model_opt opt = options();
        sis_model model;
        int code = sis_model_open(server_address("%s", cases[i].path), &opt, &model);
        if (code != cases[i].code)
            fail_msg("%s: %d, %s", cases[i].path, code, sis_error_detail());
        assert_message_has(cases[i].says);
        assert_null(strstr(sis_error_detail(), "s3cret"));
        assert_null(strstr(sis_error_detail(), "l0vel"));
        assert_null(model.ctx);
    }
}

static void redirections_are_followed_on_the_same_host_if_asked(void **state) {
    (void)state;
    if (no_server())
        skip();
    sis_model_opt opt = options();
    sis_model model;
    double score;
    opt.redirects = 1;
    assert_int_equal(sis_model_open(server_address("redirect/v2/models/credit"), &opt, &model),
                     SIS_OK);
    assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 1, COLUMNS, &score), SIS_OK);
    assert_true(score == truth[0]);
    sis_model_close(&model);
    assert_int_equal(sis_model_open(server_address("away/v2/models/credit"), &opt, &model),
                     SIS_E_MODEL);
    assert_message_has("a redirection to another host, localhost:1/v2/models/credit, which must");
    assert_int_equal(sis_model_open(server_address("circle/v2/models/credit"), &opt, &model),
                     SIS_E_MODEL);
    assert_message_has("more than 5 redirections");
}

/* ---- Secrets --------------------------------------------------------------------------------- */

static const char *secret_file(const char *text) {
    static char path[256];
    snprintf(path, sizeof path, "%s/tests/http_token_%ld.txt", SIS_BINARY_DIR, (long)getpid());
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

static void secrets_are_sent_but_not_printed(void **state) {
    (void)state;
    if (no_server())
        skip();
    const char *const key[] = {"X-Other: 1", "X-Key: k3y"}, *const wrong[] = {"X-Key: wr0ng"};
    const struct {
        const char *fault, *token;
        const char *const *headers;
        size_t n;
        int good;
    } cases[] = {{"auth", "s3cret\n", NULL, 0, 1},
                 {"auth", "wr0ng", NULL, 0, 0},
                 {"login", "ada:l0vel\n", NULL, 0, 1},
                 {"login", "ada:wr0ng\n", NULL, 0, 0},
                 {"key", NULL, key, 2, 1},
                 {"key", NULL, wrong, 1, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_model_opt opt = options();
        sis_model model;
        void *twin;
        double score;
        opt.token = cases[i].token ? secret_file(cases[i].token) : NULL;
        opt.headers = cases[i].headers;
        opt.n_headers = cases[i].n;
        const char *address = server_address("%s/v2/models/credit", cases[i].fault);
        assert_int_equal(sis_model_open(address, &opt, &model),
                         cases[i].good ? SIS_OK : SIS_E_MODEL);
        if (cases[i].good) {
            assert_int_equal(sis_model_measure(&model, rows, COLUMNS), SIS_OK);
            assert_int_equal(model.worker_new(model.ctx, &twin), SIS_OK);
            assert_int_equal(model.predict(twin, rows, 1, COLUMNS, &score), SIS_OK);
            model.worker_free(twin);
            sis_model_close(&model);
        } else {
            assert_message_has("who are you?");
            assert_null(strstr(sis_error_detail(), "wr0ng"));
        }
    }
    remove(secret_file(""));
}

static void malformed_secrets_are_refused_without_printing_them(void **state) {
    (void)state;
    if (no_server())
        skip();
    const char *const headers[] = {"no colon s3cret", ": s3cret", "A B: s3cret",
                                   "A: s3\r\nB: cret"};
    const char *const tokens[] = {"", "two s3cret\n", "s3cret\nanother\n", "s3\001cret"};
    sis_model model;
    const char *address = server_address("ok/v2/models/credit");
    for (size_t i = 0; i < 4; i++) {
        sis_model_opt opt = options();
        opt.headers = &headers[i];
        opt.n_headers = 1;
        assert_int_equal(sis_model_open(address, &opt, &model), SIS_E_ARGUMENT);
        assert_message_has("header 1: expected \"Name: value\" on one line");
        assert_null(strstr(sis_error_detail(), "cret"));
        opt = options();
        opt.token = secret_file(tokens[i]);
        assert_int_equal(sis_model_open(address, &opt, &model), SIS_E_FORMAT);
        assert_message_has("expected one line with a token or user:password");
        assert_null(strstr(sis_error_detail(), "cret"));
        remove(opt.token);
        assert_int_equal(sis_model_open(address, &opt, &model), SIS_E_IO);
    }
    assert_int_equal(sis_model_open("http://ada:l0vel@127.0.0.1/v2/models/m", NULL, &model),
                     SIS_E_ARGUMENT);
    assert_message_has("remove the login");
    assert_null(strstr(sis_error_detail(), "l0vel"));
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int use_model(void *ctx) {
    const char *address = ctx;
    const sis_piece piece = {"good", 4};
    sis_model_opt opt = options();
    sis_model model;
    void *twin = NULL;
    double scores[8], zero[2] = {0};
    int texts = strstr(address, "mood") != NULL;
    int code = sis_model_open(address, &opt, &model);
    if (code == SIS_OK && texts)
        code = sis_model_take_texts(&model, &piece, 1);
    const double *row = texts ? zero : rows;
    size_t width = texts ? 1 : COLUMNS;
    if (code == SIS_OK)
        code = sis_model_measure(&model, row, width);
    if (code == SIS_OK)
        code = model.predict(model.ctx, row, 2, width, scores);
    if (code == SIS_OK)
        code = model.worker_new(model.ctx, &twin);
    if (code == SIS_OK)
        code = model.predict(twin, row, 2, width, scores);
    if (twin)
        model.worker_free(twin);
    sis_model_close(&model);
    return code;
}

static void failing_allocations_do_no_harm(void **state) {
    (void)state;
    if (no_server())
        skip();
    const char *const paths[] = {"ok/v2/models/credit", "binary/v2/models/mood",
                                 "tf/v1/models/credit", "ok/invocations", "batch/v2/models/two"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        char address[256];
        snprintf(address, sizeof address, "%s", server_address("%s", paths[i]));
        assert_true(with_failing_allocations(use_model, address) > 10);
    }
}

int main(void) {
    setenv("no_proxy", "127.0.0.1", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_are_those_of_the_model_itself),
        cmocka_unit_test(single_precision_is_the_same_in_text_and_binary),
        cmocka_unit_test(explanations_are_those_of_the_model_itself),
        cmocka_unit_test(texts_are_strings),
        cmocka_unit_test(handles_for_texts_and_numbers_are_independent),
        cmocka_unit_test(integers_are_checked_before_they_are_sent),
        cmocka_unit_test(shapes_without_a_batch_axis_are_filled),
        cmocka_unit_test(requests_too_long_to_be_written_are_refused),
        cmocka_unit_test(rows_fit_a_shape_in_one_way),
        cmocka_unit_test(declared_shapes_fix_free_sizes),
        cmocka_unit_test(connections_are_reused),
        cmocka_unit_test(long_batches_are_split),
        cmocka_unit_test(slow_servers_time_out),
        cmocka_unit_test(refused_connections_are_reported),
        cmocka_unit_test(every_wrong_answer_is_reported),
        cmocka_unit_test(other_inputs_are_derived_or_constant),
        cmocka_unit_test(models_that_cannot_be_opened_are_reported),
        cmocka_unit_test(redirections_are_followed_on_the_same_host_if_asked),
        cmocka_unit_test(secrets_are_sent_but_not_printed),
        cmocka_unit_test(malformed_secrets_are_refused_without_printing_them),
        cmocka_unit_test(failing_allocations_do_no_harm),
    };
    return cmocka_run_group_tests(tests, set_up, NULL);
}
