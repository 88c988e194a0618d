/* SPDX-License-Identifier: MIT
 *
 * Half-precision networks are computed in single precision. A network gives the same bits after its
 * weights and casts are converted to float, unless a normalisation is folded into float weights
 * only. unit.net_onnx_cases compares the same networks with ONNX Runtime, within half precision.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/onnx/graph.h"
#include "net/onnx/proto.h"
#include "net/plan/net.h"
#include "support_net.h"

/* Changes the type of weights and casts; returns how many there were. */
static size_t retype(Sis__Onnx__Graph *g, int from, int to) {
    size_t found = 0;
    for (size_t i = 0; i < g->n_initializer; i++) {
        Sis__Onnx__Tensor *t = g->initializer[i];
        sis__decoded d;
        if (t->data_type != from)
            continue;
        if (to == SIS__FLOAT) {
            assert_int_equal(sis__tensor_decode(t, NULL, &d), 0);
            free(t->raw_data.data);
            t->raw_data.data = (uint8_t *)d.owned;
            t->raw_data.len = d.count * sizeof(float);
        }
        t->data_type = to;
        found++;
    }
    for (size_t i = 0; i < g->n_node; i++)
        for (size_t k = 0; k < g->node[i]->n_attribute; k++)
            if (strcmp(g->node[i]->op_type, "Cast") == 0 && g->node[i]->attribute[k]->i == from) {
                g->node[i]->attribute[k]->i = to;
                found++;
            }
    return found;
}

/* Scores of a row of numbers that 16 bits cannot represent. */
static size_t score(Sis__Onnx__Model *m, float *y) {
    sis_net *net;
    float x[72];
    assert_int_equal(sis__net_adopt(m, &net), 0);
    size_t n = sis_net_values(net), outputs = sis_net_outputs(net);
    assert_true(n <= 72 && outputs <= 4);
    for (size_t i = 0; i < n; i++)
        x[i] = 1.0003f / (float)(i % 7 + 1) - 0.3f;
    assert_int_equal(sis_net_forward(net, &(sis_net_batch){x, 1, n, 0, 1, NULL}, y), 0);
    sis_net_free(net);
    return outputs;
}

/* As bfloat16, the same bits are other weights. */
static void compare(const char *name, int type, double tolerance) {
    float half[4], single[4];
    Sis__Onnx__Model *m = recorded_model(name), *converted = recorded_model(name);
    assert_true(retype(m->graph, SIS__FLOAT16, type) > 4);
    assert_true(retype(converted->graph, SIS__FLOAT16, type) > 4);
    assert_true(retype(converted->graph, type, SIS__FLOAT) > 4);
    size_t n = score(m, half);
    assert_int_equal(score(converted, single), n);
    for (size_t i = 0; i < n; i++)
        assert_true(fabs((double)half[i] - (double)single[i]) <= tolerance);
}

static void half_precision_is_computed_in_single_precision(void **state) {
    (void)state;
    compare("half_cnn", SIS__FLOAT16, 1e-6);
    compare("half_cnn", SIS__BFLOAT16, 1e-6);
    compare("half_attention", SIS__FLOAT16, 0);
    compare("half_attention", SIS__BFLOAT16, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(half_precision_is_computed_in_single_precision),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
