/* SPDX-License-Identifier: MIT
 *
 * Networks with several inputs: side by side in a row, constant, or derived from tokens; texts;
 * shapes that depend on values.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/files.h>
#include <sis/net.h>
#include <sis/task.h>

#include "base/signature.h"
#include "model/inputs.h"
#include "net/plan/net.h"
#include "support_net.h"

/* y = a . w + b, a (n, 3) floats, b (n, 2) integers */
static sis_net *two_inputs(void) {
    sis_net *net;
    float w[6] = {1, 2, 3, 4, 5, 6};
    sis_net_builder *b = sis_net_builder_new("two");
    sis_net_add_input(b, "a", 0, SHAPE(0, 3));
    sis_net_add_input(b, "b", 1, SHAPE(0, 2));
    sis_net_add_param(b, "w", SHAPE(3, 2), w);
    sis_net_add_node(b, "MatMul", "a w", "p");
    sis_net_add_node(b, "Cast", "b", "c");
    sis_net_attr_int(b, "to", 1);
    sis_net_add_node(b, "Add", "p c", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    return net;
}

static void inputs_are_concatenated_in_a_row(void **state) {
    (void)state;
    sis_net *net = two_inputs();
    float rows[2][5] = {{1, 0, 0, 7, 8}, {0, 1, 1, -1, 2}}, y[4];
    float slopes[10];
    assert_int_equal(sis_net_values(net), 5);
    assert_int_equal(sis_net_inputs(net), 2);
    sis_net_batch batch = {rows[0], 2, 5, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 8 && y[1] == 10 && y[2] == 7 && y[3] == 12);
    sis_net_grad grad = {.output = 1, .d_rows = slopes};
    assert_int_equal(sis_net_gradient(net, &batch, &grad), 0);
    assert_true(slopes[0] == 2 && slopes[1] == 4 && slopes[2] == 6 && slopes[3] == 0);
    sis_net_free(net);
}

static void inputs_can_be_constant(void **state) {
    (void)state;
    sis_net *net = two_inputs();
    float row[3] = {1, 1, 1}, y[2], given[2] = {10, 20}, short_one[1] = {1};
    sis_net_tensor t = {.type = SIS_NET_FLOATS, .shape = {2, {1, 2}}, .data = given};
    assert_int_equal(sis_net_set_input(net, "nothing", &t), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_values(net), 5);
    assert_int_equal(sis_net_set_input(net, "b", &t), 0);
    assert_int_equal(sis_net_values(net), 3);
    sis_net_batch batch = {row, 1, 3, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 19 && y[1] == 32);
    sis_net_tensor list = {.type = SIS_NET_FLOATS, .shape = {1, {2}}, .data = given};
    assert_int_equal(sis_net_set_input(net, "b", &list), 0); /* on the axis of its size */
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 19 && y[1] == 32);
    sis_net_tensor turned = {.type = SIS_NET_FLOATS, .shape = {2, {2, 1}}, .data = given};
    assert_int_equal(sis_net_set_input(net, "b", &turned), SIS_E_ARGUMENT);
    assert_message_has("input b: the array has shape (2, 1), but the model takes (");
    sis_net_tensor bad = {.type = SIS_NET_FLOATS, .shape = {2, {1, 5}}, .data = (float[5]){0}};
    assert_int_not_equal(sis_net_set_input(net, "b", &bad), 0); /* stays as it was */
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 19);
    assert_int_equal(sis_net_explain_input(net, "b"), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_set_input(net, "b", NULL), 0);
    assert_int_equal(sis_net_values(net), 5);
    assert_int_equal(sis_net_explain_input(net, "b"), SIS_E_UNSUPPORTED);
    assert_message_has("--with a=");
    (void)short_one;
    sis_net_free(net);
}

/* Mean of the embeddings of the tokens that the mask shows. */
static sis_net *masked_mean(void) {
    sis_net *net;
    float matrix[10] = {0, 0, 1, 10, 2, 20, 3, 30, 4, 40};
    sis_net_builder *b = sis_net_builder_new("mean");
    sis_net_add_input(b, "input_ids", 1, SHAPE(0, 0));
    sis_net_add_input(b, "attention_mask", 1, SHAPE(0, 0));
    sis_net_add_input(b, "token_type_ids", 1, SHAPE(0, 0));
    sis_net_add_param(b, "m", SHAPE(5, 2), matrix);
    sis_net_add_ints(b, "last", SHAPE(1), (int64_t[]){2});
    sis_net_add_ints(b, "middle", SHAPE(1), (int64_t[]){1});
    sis_net_add_node(b, "Gather", "m input_ids", "e");
    sis_net_add_node(b, "Add", "attention_mask token_type_ids", "k");
    sis_net_add_node(b, "Cast", "k", "f");
    sis_net_attr_int(b, "to", 1);
    sis_net_add_node(b, "Unsqueeze", "f last", "u");
    sis_net_add_node(b, "Mul", "e u", "p");
    sis_net_add_node(b, "ReduceSum", "p middle", "s");
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_node(b, "ReduceSum", "u middle", "n");
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_node(b, "Div", "s n", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    return net;
}

static void attention_masks_are_derived_from_tokens_and_embeddings(void **state) {
    (void)state;
    sis_net *net = masked_mean();
    float ids[2][4] = {{1, 2, 3, 0}, {4, 0, 0, 0}}, y[4], embedded[16], z[4];
    const float *matrix;
    size_t words, dim;
    assert_true(sis_net_is_token(net));
    assert_int_equal(sis_net_values(net), 0); /* any length */
    sis_net_batch batch = {ids[0], 2, 4, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 2 && y[1] == 20 && y[2] == 4 && y[3] == 40);
    assert_int_equal(sis_net_embedding(net, &matrix, &words, &dim), 0);
    for (size_t i = 0; i < 8; i++)
        memcpy(embedded + 2 * i, matrix + 2 * (size_t)ids[i / 4][i % 4], 2 * sizeof *embedded);
    batch = (sis_net_batch){embedded, 2, 8, 1, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, z), 0);
    assert_memory_equal(y, z, sizeof y);
    assert_int_equal(sis_net_set_padding(net, 3), 0);
    batch = (sis_net_batch){ids[0], 1, 3, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 1.5f && y[1] == 15);
    sis_net_free(net);
}

static void names_determine_derived_inputs(void **state) {
    (void)state;
    static const char *const counts[] = {"len", "seq_len", "SeqLen", "input_lengths", "x.len"};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        assert_int_equal(sis__follow_named(counts[i]), SIS__FOLLOWS_COUNT);
    assert_int_equal(sis__follow_named("attention_mask"), SIS__FOLLOWS_MASK);
    assert_int_equal(sis__follow_named("pollen"), SIS__FOLLOWS_NOT);
    assert_int_equal(sis__follow_named("en"), SIS__FOLLOWS_NOT);
}

static sis_net *parse_hex(const char *hex) {
    unsigned char bytes[256];
    size_t n = strlen(hex) / 2;
    sis_net *net = NULL;
    assert_true(n <= sizeof bytes);
    for (size_t i = 0; i < n; i++) {
        unsigned v;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
        bytes[i] = (unsigned char)v;
    }
    assert_int_equal(sis_net_parse(bytes, n, &net), 0);
    return net;
}

/* y = x, x (n, 3) of uint8 */
static void values_out_of_range_are_refused_or_clamped(void **state) {
    (void)state;
    sis_net *net =
        parse_hex("080712003a480a170a01781201792204436173742a090a02746f1801a001021201675a140a017812"
                  "0f0a0d080212090a0312014e0a02080362140a0179120f0a0d080112090a0312014e0a0208034204"
                  "0a00100d");
    float rows[6] = {-1, 255, 256, NAN, INFINITY, 7.5f}, y[6];
    float want[6] = {0, 255, 255, 0, 255, 7};
    sis_net_batch batch = {rows, 2, 3, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_memory_equal(y, want, sizeof y);
    int64_t v[3] = {0, 300, 1};
    sis_net_tensor in = {"x", SIS_NET_INTS, {2, {1, 3}}, v};
    assert_int_equal(sis_net_set_input(net, "x", &in), SIS_E_ARGUMENT);
    assert_message_has("input x takes uint8, and value 1 is 300");
    sis_net_free(net);
}

/* y = ids + position_ids, the latter of int8 */
static void positions_that_do_not_fit_are_refused(void **state) {
    (void)state;
    sis_net *net =
        parse_hex("080712003aa4010a190a036964731201612204436173742a090a02746f1801a001020a220a0c706f"
                  "736974696f6e5f6964731201622204436173742a090a02746f1801a001020a0e0a01610a01621201"
                  "7922034164641201675a170a0369647312100a0e0807120a0a0312014e0a031201545a200a0c706f"
                  "736974696f6e5f69647312100a0e0803120a0a0312014e0a0312015462150a017912100a0e080112"
                  "0a0a0312014e0a0312015442040a00100d");
    float ids[129] = {0}, y[129];
    sis_net_batch batch = {ids, 1, 128, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[127] == 127);
    batch.n_values = 129;
    assert_int_equal(sis_net_forward(net, &batch, y), SIS_E_ARGUMENT);
    assert_message_has("input position_ids takes int8, too small a type for 129 tokens");
    sis_net_free(net);
    /* the same in ONNX Runtime and behind servers */
    sis__model_inputs inputs = {0};
    sis__shape shape = {2, {-1, -1}};
    sis__fit fit;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    assert_int_equal(sis__inputs_add(&inputs, "ids", SIS__VALUE_INT64, &shape), 0);
    assert_int_equal(sis__inputs_add(&inputs, "position_ids", SIS__VALUE_INT8, &shape), 0);
    assert_int_equal(sis__inputs_assign(&inputs, &opt), 0);
    assert_int_equal(sis__inputs_fit(&inputs, 1, NULL, 128, &fit), 0);
    assert_int_equal(sis__inputs_fit(&inputs, 1, NULL, 129, &fit), SIS_E_ARGUMENT);
    assert_message_has("input position_ids takes INT8, too small a type for 129 tokens");
    sis__inputs_release(&inputs);
}

/* An input with one number for each row is part of the row; one number for all rows is not. */
static void numbers_are_parts_of_rows(void **state) {
    (void)state;
    sis__model_inputs inputs = {0};
    sis__fit fit;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    sis__inputs_add(&inputs, "x", SIS__VALUE_FP32, &(sis__shape){2, {-1, 4}});
    sis__inputs_add(&inputs, "k", SIS__VALUE_INT64, &(sis__shape){1, {-1}});
    assert_int_equal(sis__inputs_assign(&inputs, &opt), 0);
    assert_int_equal(sis__inputs_values(&inputs), 5);
    assert_int_equal(sis__inputs_fit(&inputs, 1, NULL, 5, &fit), 0);
    assert_true(fit.batched && fit.rank == 0);
    sis__inputs_add(&inputs, "t", SIS__VALUE_FP32, &(sis__shape){0});
    assert_int_equal(sis__inputs_assign(&inputs, &opt), SIS_E_UNSUPPORTED);
    assert_message_has(
        "the model has 3 inputs, and t has no axis for rows; choose one with --explain");
    float one = 1;
    opt.with = &(sis_net_tensor){.name = "x", .data = &one};
    opt.n_with = 1;
    opt.explain = "x";
    assert_int_equal(sis__inputs_assign(&inputs, &opt), SIS_E_ARGUMENT);
    assert_message_has("input x: give it to --explain or to --with, not both");
    sis__inputs_release(&inputs);
}

/* The same text has the same number, also after the graph is loaded again. */
static void texts_are_stored_as_numbers(void **state) {
    (void)state;
    sis_net *net = two_inputs();
    float a, b, c;
    assert_int_equal(sis_net_word(net, "red", &a), 0);
    assert_int_equal(sis_net_word(net, "blue", &b), 0);
    assert_int_equal(sis_net_set_padding(net, 2), 0);
    assert_int_equal(sis_net_word(net, "red", &c), 0);
    assert_true(a == c && a != b);
    for (int i = 0; i < 2000; i++) {
        char text[16];
        snprintf(text, sizeof text, "w%d", i);
        assert_int_equal(sis_net_word(net, text, &c), 0);
    }
    assert_int_equal(sis_net_word(net, "w0", &a), 0);
    assert_int_equal(sis_net_word(net, "w1999", &b), 0);
    assert_true(b - a == 1999);
    sis_net_free(net);
}

static int open_once(void *ctx) {
    sis_task *task;
    int error = sis_task_open((const sis_task_opt *)ctx, &task);
    sis_task_free(task);
    return error;
}

/* The effect of --with and --explain on a model. */
static void opened_models_take_constant_inputs(void **state) {
    (void)state;
    char path[] = "/tmp/sis-inputs-XXXXXX.onnx";
    sis_net *net = two_inputs();
    int file = mkstemps(path, 5);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(sis_net_write(net, path), 0);
    sis_net_free(net);
    float seven = 7;
    sis_net_tensor with = {.name = "b", .type = SIS_NET_FLOATS, .data = &seven}; /* fills b */
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.with = &with;
    opt.n_with = 1;
    opt.explain = "a";
    sis_model model;
    double row[3] = {1, 0, 0}, y[2];
    assert_int_equal(sis_model_open(path, &opt, &model), 0);
    assert_int_equal(model.n_values, 3);
    assert_int_equal(model.predict(model.ctx, row, 1, 3, y), 0);
    assert_true(y[0] == 8 && y[1] == 9);
    sis_model_close(&model);
    opt.explain = "b";
    assert_int_equal(sis_model_open(path, &opt, &model), SIS_E_ARGUMENT);
    assert_message_has("no input b");
    /* Two values for one input are an error. */
    float eight = 8;
    sis_net_tensor twice[2] = {with, with};
    twice[1].data = &eight;
    opt.explain = "a";
    opt.with = twice;
    opt.n_with = 2;
    assert_int_equal(sis_model_open(path, &opt, &model), SIS_E_ARGUMENT);
    assert_message_has("input b is given twice");
    /* The same through a task, from texts. */
    double rows[6] = {1, 0, 0, 0, 1, 0};
    size_t dims[2] = {2, 3};
    const char *texts[1] = {"b=7"}, *wrong[1] = {"b"};
    sis_data *data;
    sis_task *task;
    sis_task_opt how;
    assert_int_equal(sis_data_from_values(rows, 2, dims, NULL, &data), 0);
    sis_task_opt_init(&how);
    how.model.spec = path;
    how.examples.data = data;
    how.question.plain = 1;
    how.model.with = wrong;
    how.model.n_with = 1;
    assert_int_equal(sis_task_open(&how, &task), SIS_E_ARGUMENT);
    assert_message_has("NAME=FILE or NAME=NUMBER");
    how.model.with = texts;
    assert_int_equal(sis_task_open(&how, &task), 0);
    assert_int_equal(sis_task_model(task)->n_values, 3);
    sis_task_free(task);
    char file_name[] = "/tmp/sis-inputs-XXXXXX.npy", file_text[64];
    file = mkstemps(file_name, 4);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(sis_npy_write(file_name, (double[]){7, 7}, 1, (size_t[]){2}), 0);
    snprintf(file_text, sizeof file_text, "b=%s", file_name);
    *texts = file_text;
    assert_true(with_failing_allocations(open_once, &how) > 10);
    sis_data_free(data);
    unlink(file_name);
    unlink(path);
}

static int try_inputs(void *ctx) {
    sis_net *net = (sis_net *)ctx;
    float given[2] = {1, 2}, v;
    sis_net_tensor t = {.type = SIS_NET_FLOATS, .shape = {2, {1, 2}}, .data = given};
    int error = sis_net_set_input(net, "b", &t);
    if (!error)
        error = sis_net_set_input(net, "b", NULL);
    if (!error)
        error = sis_net_word(net, "a text", &v);
    return error;
}

static void inputs_survive_failing_allocations(void **state) {
    (void)state;
    sis_net *net = two_inputs();
    assert_true(with_failing_allocations(try_inputs, net) > 10);
    sis_net_free(net);
}

/* Two outputs: one of sums, one of products. */
static sis_net *build_heads(void) {
    const float w[] = {1, 2, 3, 4};
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("heads");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_param(b, "w", SHAPE(2, 2), w);
    sis_net_add_node(b, "MatMul", "x w", "first");
    sis_net_add_node(b, "Mul", "x x", "second");
    sis_net_add_output(b, "first");
    sis_net_add_output(b, "second");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

static void assert_margins(const sis_net *net, double a, double b) {
    const float row[] = {5, 6};
    double got[2];
    sis_net_batch batch = {.rows = row, .n_rows = 1, .n_values = 2, .jobs = 1};
    assert_int_equal(sis_net_margins(net, &batch, got), SIS_OK);
    assert_true(got[0] == a && got[1] == b);
}

static void outputs_are_chosen_by_name(void **state) {
    (void)state;
    sis_net *net = build_heads();
    assert_margins(net, 23, 34);
    assert_int_equal(sis_net_choose_output(net, "second"), SIS_OK);
    assert_margins(net, 25, 36);
    assert_int_equal(sis_net_choose_output(net, "w"), SIS_E_ARGUMENT);
    assert_non_null(strstr(sis_error_detail(), "first"));
    assert_margins(net, 25, 36); /* as it was */
    assert_int_equal(sis_net_choose_output(net, NULL), SIS_OK);
    assert_margins(net, 23, 34);
    sis_net_free(net);
}

static int choose_or_run_out(void *net) {
    return sis_net_choose_output(net, "second");
}

static void choosing_without_memory_is_an_error(void **state) {
    (void)state;
    sis_net *net = build_heads();
    with_failing_allocations(choose_or_run_out, net);
    assert_margins(net, 25, 36);
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(outputs_are_chosen_by_name),
        cmocka_unit_test(choosing_without_memory_is_an_error),
        cmocka_unit_test(inputs_are_concatenated_in_a_row),
        cmocka_unit_test(inputs_can_be_constant),
        cmocka_unit_test(attention_masks_are_derived_from_tokens_and_embeddings),
        cmocka_unit_test(names_determine_derived_inputs),
        cmocka_unit_test(values_out_of_range_are_refused_or_clamped),
        cmocka_unit_test(positions_that_do_not_fit_are_refused),
        cmocka_unit_test(numbers_are_parts_of_rows),
        cmocka_unit_test(texts_are_stored_as_numbers),
        cmocka_unit_test(opened_models_take_constant_inputs),
        cmocka_unit_test(inputs_survive_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
