/* SPDX-License-Identifier: MIT
 *
 * Floats of 16 bits: what computes hands all digits on, what moves values moves 16 bits. ONNX Runtime's
 * own results for such graphs are among the cases of unit.net_onnx_cases (half_...).
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "net/onnx/graph.h"
#include "support_net.h"

/* x, in 16 bits, times 1; `moved`: how many operators move that before it is y. */
static int build(int type, int moved, sis_net **out) {
    static const char *const names[] = {"c", "r", "s", "t"};
    float one = 1;
    sis_net_builder *b = sis_net_builder_new("short");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    sis_net_add_param(b, "one", SHAPE(1), &one);
    sis_net_add_ints(b, "shape", SHAPE(3), (int64_t[]){0, 2, 2});
    sis_net_add_node(b, "Cast", "x", "h");
    sis_net_attr_int(b, "to", type);
    sis_net_add_node(b, "Mul", "h one", "c");
    for (int i = 0; i < moved; i++) {
        char in[16];
        snprintf(in, sizeof in, i ? "%s" : "%s shape", names[i]);
        sis_net_add_node(b, i ? "Transpose" : "Reshape", in, names[i + 1]);
        if (i)
            sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1}, 3);
    }
    char in[16];
    snprintf(in, sizeof in, "%s one", names[moved]);
    sis_net_add_node(b, "Mul", in, "m");
    sis_net_add_node(b, "Cast", "m", "y");
    sis_net_attr_int(b, "to", 1);
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

static float first_of(int type, int moved) {
    sis_net *net;
    float x[4] = {1.0003f, 2, 3, 4}, y[4];
    assert_int_equal(build(type, moved, &net), 0);
    assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 1, 4, 0, 1, NULL}, y), 0);
    sis_net_free(net);
    return y[0];
}

static void what_moves_values_rounds_them(void **state) {
    (void)state;
    assert_true(first_of(SIS__FLOAT16, 0) == 1.0003f);
    assert_true(first_of(SIS__FLOAT16, 1) == 1.0003f); /* alone between what computes */
    assert_true(first_of(SIS__FLOAT16, 2) == 1);
    assert_true(first_of(SIS__FLOAT16, 3) == 1);
    assert_true(first_of(SIS__BFLOAT16, 0) == 1);
    assert_true(first_of(SIS__FLOAT, 3) == 1.0003f);
}

/* The slow and obvious way: in steps of the last of 11 bits. */
static float round_slowly(float v) {
    int exponent;
    if (!isfinite(v) || v == 0)
        return v;
    frexpf(v, &exponent);
    int step = (exponent < -13 ? -13 : exponent) - 11;
    float rounded = ldexpf(rintf(ldexpf(v, -step)), step);
    return fabsf(rounded) >= 65520.0f ? copysignf(INFINITY, v) : rounded;
}

static void rounding_is_to_the_nearest_of_11_bits(void **state) {
    (void)state;
    for (uint64_t u = 0; u < (uint64_t)1 << 32; u += u & 0x3f000 ? 4093 : 65) {
        uint32_t bits = (uint32_t)u;
        float v, fast, slow;
        memcpy(&v, &bits, sizeof v);
        if (isnan(v))
            continue;
        fast = sis__elem_round(SIS__FLOAT16, v);
        slow = round_slowly(v);
        assert_memory_equal(&fast, &slow, sizeof fast);
    }
}

static int build_and_run(void *ctx) {
    sis_net *net = NULL;
    float x[4] = {1, 2, 3, 4}, y[4];
    int error = build(SIS__FLOAT16, 3, &net);
    (void)ctx;
    if (!error)
        error = sis_net_forward(net, &(sis_net_batch){x, 1, 4, 0, 1, NULL}, y);
    sis_net_free(net);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(build_and_run, NULL) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_moves_values_rounds_them),
        cmocka_unit_test(rounding_is_to_the_nearest_of_11_bits),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
