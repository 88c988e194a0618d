/* SPDX-License-Identifier: MIT
 *
 * Attention as exporters write it becomes one step. It reads queries, keys and values in place, and
 * gives the bits of the operators that it replaces.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/ops/ops.h"
#include "net/plan/net.h"
#include "support_net.h"

enum { HEADS = 2, SIZE = 3, WIDTH = HEADS * SIZE };

/* Layouts of q, k and v in one product (rows, length, 3 * WIDTH). */
typedef enum { BY_SPLIT, BY_GATHER, BY_SLICE, LENGTH_FIRST, N_LAYOUTS } layout;
typedef enum { NO_MASK, ADDED, FOR_EACH_PAIR, HIDDEN, N_MASKS } masking;

static void ints(sis_net_builder *b, const char *name, const int64_t *v, size_t n) {
    sis_net_add_ints(b, name, &(sis_net_shape){1, {n}}, v);
}

static void turn(sis_net_builder *b, const char *from, const char *to, const int64_t *perm,
                 size_t n) {
    sis_net_add_node(b, "Transpose", from, to);
    sis_net_attr_ints(b, "perm", perm, n);
}

/* (rows, length, 3, heads, size), transposed to (3, rows, heads, length, size) and split. */
static void take_apart(sis_net_builder *b, layout l) {
    ints(b, "five", (int64_t[]){0, 0, 3, HEADS, SIZE}, 5);
    ints(b, "first", (int64_t[]){0}, 1);
    sis_net_add_node(b, "Reshape", "qkv five", "apart");
    turn(b, "apart", "turned", (int64_t[]){2, 0, 3, 1, 4}, 5);
    if (l == BY_SPLIT)
        sis_net_add_node(b, "Split", "turned", "q1 k1 v1");
    for (int64_t i = 0; i < 3; i++) {
        static const char *const one[] = {"q1 first", "k1 first", "v1 first"};
        static const char *const to[] = {"q", "kt", "v"};
        char index[8], from[24];
        snprintf(index, sizeof index, "i%d", (int)i);
        snprintf(from, sizeof from, "turned %s", index);
        sis_net_add_ints(b, index, &(sis_net_shape){0, {0}}, &i);
        sis_net_add_node(b, l == BY_SPLIT ? "Squeeze" : "Gather", l == BY_SPLIT ? one[i] : from,
                         to[i]);
        if (l == BY_GATHER)
            sis_net_attr_int(b, "axis", 0);
    }
    turn(b, "kt", "k", (int64_t[]){0, 1, 3, 2}, 4);
}

/* Slices of the last axis, each transposed separately. */
static void slice_apart(sis_net_builder *b) {
    ints(b, "four", (int64_t[]){0, 0, HEADS, SIZE}, 4);
    ints(b, "last", (int64_t[]){-1}, 1);
    for (int64_t i = 0; i < 3; i++) {
        static const char *const to[] = {"q", "k", "v"};
        char names[3][16], inputs[64];
        for (int k = 0; k < 3; k++)
            snprintf(names[k], sizeof names[k], "%s%d", k ? k > 1 ? "r" : "e" : "b", (int)i);
        ints(b, names[0], (int64_t[]){i * WIDTH}, 1);
        ints(b, names[1], (int64_t[]){(i + 1) * WIDTH}, 1);
        snprintf(inputs, sizeof inputs, "qkv %s %s last", names[0], names[1]);
        sis_net_add_node(b, "Slice", inputs, names[2]);
        snprintf(inputs, sizeof inputs, "%s four", names[2]);
        snprintf(names[0], sizeof names[0], "s%d", (int)i);
        sis_net_add_node(b, "Reshape", inputs, names[0]);
        turn(b, names[0], to[i], i == 1 ? (int64_t[]){0, 2, 3, 1} : (int64_t[]){0, 2, 1, 3}, 4);
    }
}

/* PyTorch's own encoder: (length, rows, 3 * width) to (rows * heads, length, size). */
static void stand_up(sis_net_builder *b, size_t length) {
    ints(b, "three", (int64_t[]){(int64_t)length, -1, SIZE}, 3);
    ints(b, "last", (int64_t[]){-1}, 1);
    for (int64_t i = 0; i < 3; i++) {
        static const char *const to[] = {"q", "k", "v"};
        char begin[16], end[16], cut[16], shaped[16], inputs[64];
        snprintf(begin, sizeof begin, "b%d", (int)i);
        snprintf(end, sizeof end, "e%d", (int)i);
        snprintf(cut, sizeof cut, "c%d", (int)i);
        snprintf(shaped, sizeof shaped, "s%d", (int)i);
        ints(b, begin, (int64_t[]){i * WIDTH}, 1);
        ints(b, end, (int64_t[]){(i + 1) * WIDTH}, 1);
        snprintf(inputs, sizeof inputs, "qkv %s %s last", begin, end);
        sis_net_add_node(b, "Slice", inputs, cut);
        snprintf(inputs, sizeof inputs, "%s three", cut);
        sis_net_add_node(b, "Reshape", inputs, shaped);
        turn(b, shaped, to[i], i == 1 ? (int64_t[]){1, 2, 0} : (int64_t[]){1, 0, 2}, 3);
    }
}

static const char *add_mask(sis_net_builder *b, masking m, size_t length, sis__rng *r) {
    float number = -1e9f;
    sis_net_add_param(b, "far", &(sis_net_shape){0, {0}}, &number);
    if (m == NO_MASK)
        return "scaled";
    if (m == ADDED || m == FOR_EACH_PAIR) {
        add_random(b, "mask", m == ADDED ? SHAPE(1, length) : SHAPE(length, length), r, 2);
        sis_net_add_node(b, "Add", m == ADDED ? "mask scaled" : "scaled mask", "masked");
        return "masked";
    }
    int64_t *hidden = calloc(length, sizeof *hidden), zero = 0;
    for (size_t i = 0; i < length; i++)
        hidden[i] = i > 0 && sis__rng_below(r, 3) == 0;
    sis_net_add_ints(b, "numbers", SHAPE(1, length), hidden);
    sis_net_add_ints(b, "zero", &(sis_net_shape){0, {0}}, &zero);
    free(hidden);
    sis_net_add_node(b, "Greater", "numbers zero", "hidden");
    sis_net_add_node(b, "Where", "hidden far scaled", "masked");
    return "masked";
}

/* x (rows, length, WIDTH) to y of the same size, or only the output of the first token. */
static sis_net *build(layout l, masking m, size_t length, int first_alone, sis__rng *r) {
    sis_net_builder *b = sis_net_builder_new("attention");
    sis_net *net;
    float root = 1.7f;
    sis_net_add_input(b, "x", 0, SHAPE(0, length, WIDTH));
    add_random(b, "w", SHAPE(WIDTH, 3 * WIDTH), r, 1);
    sis_net_add_param(b, "root", &(sis_net_shape){0, {0}}, &root);
    if (l == LENGTH_FIRST)
        turn(b, "x", "up", (int64_t[]){1, 0, 2}, 3);
    sis_net_add_node(b, "MatMul", l == LENGTH_FIRST ? "up w" : "x w", "qkv");
    if (l == BY_SLICE)
        slice_apart(b);
    else if (l == LENGTH_FIRST)
        stand_up(b, length);
    else
        take_apart(b, l);
    sis_net_add_node(b, "MatMul", "q k", "scores");
    sis_net_add_node(b, m % 2 ? "Div" : "Mul", m % 2 ? "scores root" : "root scores", "scaled");
    sis_net_add_node(b, "Softmax", add_mask(b, m, length, r), "weights");
    sis_net_attr_int(b, "axis", -1);
    sis_net_add_node(b, "MatMul", "weights v", "seen");
    if (l == LENGTH_FIRST)
        turn(b, "seen", "y", (int64_t[]){1, 0, 2}, 3);
    else
        turn(b, "seen", "y", (int64_t[]){0, 2, 1, 3}, 4);
    if (first_alone) {
        int64_t zero = 0;
        sis_net_add_ints(b, "none", &(sis_net_shape){0, {0}}, &zero);
        sis_net_add_node(b, "Gather", "y none", "z");
        sis_net_attr_int(b, "axis", 1);
    }
    sis_net_add_output(b, first_alone ? "z" : "y");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* The output, and the number of steps of each kind in the plan. */
typedef struct {
    float *y;
    size_t n, attentions, products, movers;
    size_t largest; /* values that a step writes */
} outcome;

static outcome run(const sis_net *net, size_t rows, size_t length, const float *x, int keep) {
    sis__feed feed = {.value = net->input, .rank = 3, .dims = {rows, length, WIDTH}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->output,
                           .n_outputs = 1,
                           .batch = rows,
                           .keep_all = keep};
    sis__plan *plan;
    sis__run *r;
    outcome o = {0};
    assert_int_equal(sis__plan_new(net, &spec, &plan), SIS_OK);
    assert_int_equal(sis__run_new(plan, &r), SIS_OK);
    memcpy(r->data[net->input], x, rows * length * WIDTH * sizeof *x);
    assert_int_equal(sis__run_forward(r), SIS_OK);
    for (size_t i = 0; i < plan->n_steps; i++) {
        int op = plan->steps[i].op;
        size_t count = plan->tensors[plan->steps[i].outputs[0]].count;
        o.largest = count > o.largest ? count : o.largest;
        o.attentions += op == SIS__OP_FUSED_ATTENTION;
        o.products += op == SIS__OP_MATMUL;
        o.movers += op == SIS__OP_TRANSPOSE || op == SIS__OP_SLICE || op == SIS__OP_SPLIT ||
                    op == SIS__OP_GATHER;
    }
    o.n = plan->tensors[net->output].count;
    o.y = malloc(o.n * sizeof *o.y);
    memcpy(o.y, r->data[net->output], o.n * sizeof *o.y);
    sis__run_free(r);
    sis__plan_free(plan);
    return o;
}

static void attention_is_fused_for_all_inputs(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 41);
    for (int l = 0; l < N_LAYOUTS; l++)
        for (int m = 0; m < N_MASKS; m++)
            for (size_t k = 0; k < rounds(4); k++) {
                size_t rows = 1 + sis__rng_below(&r, 3), length = 2 + sis__rng_below(&r, 40);
                sis_net *net = build((layout)l, (masking)m, length, 0, &r);
                float *x = random_floats(&r, rows * length * WIDTH, 1);
                outcome plain = run(net, rows, length, x, 1), one = run(net, rows, length, x, 0);
                assert_int_equal(plain.attentions, 0);
                assert_int_equal(plain.products, 3);
                assert_int_equal(one.attentions, 1);
                assert_int_equal(one.products, 1);
                assert_int_equal(one.movers, l == LENGTH_FIRST); /* transposes the input */
                assert_int_equal(plain.n, one.n);
                assert_memory_equal(plain.y, one.y, one.n * sizeof *one.y);
                free(plain.y);
                free(one.y);
                free(x);
                sis_net_free(net);
            }
}

/* If one query is read, the steps between the products are computed for that query only. */
static void masks_are_computed_only_for_slices_that_are_read(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 42);
    for (int m = 0; m < N_MASKS; m++) {
        size_t length = 20;
        sis_net *net = build(BY_SLICE, (masking)m, length, 1, &r);
        float *x = random_floats(&r, 2 * length * WIDTH, 1);
        outcome plain = run(net, 2, length, x, 1), narrow = run(net, 2, length, x, 0);
        assert_int_equal(narrow.attentions, 1);
        assert_true(narrow.largest < HEADS * 2 * length * length);
        assert_int_equal(plain.largest, HEADS * 2 * length * length);
        assert_memory_equal(plain.y, narrow.y, narrow.n * sizeof *narrow.y);
        free(plain.y);
        free(narrow.y);
        free(x);
        sis_net_free(net);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(masks_are_computed_only_for_slices_that_are_read),
        cmocka_unit_test(attention_is_fused_for_all_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
