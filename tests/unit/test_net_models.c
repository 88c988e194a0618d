/* SPDX-License-Identifier: MIT
 *
 * Models written by other tools, if they are available.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "net/onnx/proto.h"
#include "net/plan/row_layout.h"

static Sis__Onnx__Tensor *read_tensor(const char *name, sis__decoded *d) {
    const char *path = shared_data(name);
    if (!path)
        return NULL;
    static char bytes[1 << 16];
    ProtobufCMessage *m;
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    assert_int_equal(sis__proto_parse(&sis__onnx__tensor__descriptor, bytes, n, &m), 0);
    assert_int_equal(sis__tensor_decode((Sis__Onnx__Tensor *)m, NULL, d), 0);
    return (Sis__Onnx__Tensor *)m;
}

static sis_net *read_model(const char *name) {
    sis_net *net;
    const char *path = shared_data(name);
    if (!path)
        skip();
    if (sis_net_read(path, &net) != 0)
        fail_msg("%s", sis_error_detail());
    return net;
}

/* Three inputs with recorded outputs, one by one and together: the file says Reshape to (1, 256).
 */
static void mnist_8_gives_its_recorded_outputs(void **state) {
    (void)state;
    sis_net *net = read_model("onnx/mnist-8/model.onnx");
    float rows[3 * 784], want[3 * 10], got[3 * 10];
    for (int i = 0; i < 3; i++) {
        char name[64];
        sis__decoded d;
        snprintf(name, sizeof name, "onnx/mnist-8/test_data_set_%d/input_0.pb", i);
        Sis__Onnx__Tensor *x = read_tensor(name, &d);
        assert_int_equal(d.count, 784);
        memcpy(rows + i * 784, d.data, 784 * sizeof(float));
        snprintf(name, sizeof name, "onnx/mnist-8/test_data_set_%d/output_0.pb", i);
        Sis__Onnx__Tensor *y = read_tensor(name, &d);
        assert_int_equal(d.count, 10);
        memcpy(want + i * 10, d.data, 10 * sizeof(float));
        sis__proto_free(&x->base);
        sis__proto_free(&y->base);
    }
    assert_int_equal(sis_net_values(net), 784);
    assert_int_equal(sis_net_outputs(net), 10);
    sis_net_batch all = {rows, 3, 784, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &all, got), 0);
    for (size_t i = 0; i < 30; i++)
        assert_true(fabs(got[i] - want[i]) <= 1e-3 * fabs(want[i]) + 1e-2);
    for (size_t i = 0; i < 3; i++) {
        float alone[10];
        sis_net_batch one = {rows + i * 784, 1, 784, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &one, alone), 0);
        assert_memory_equal(alone, got + i * 10, sizeof alone);
    }
    sis__row_layout *g;
    assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = 784}, &g), 0);
    assert_true(g->batched);
    sis_net_free(net);
}

static void other_exports_load_and_run(void **state) {
    (void)state;
    static const struct {
        const char *name;
        size_t values, outputs;
        int link;
    } models[] = {{"onnx/cnn_mnist_pytorch.onnx", 784, 10, 1},
                  {"onnx/mnist_pytorch_onnx2c.onnx", 784, 10, 0},
                  {"onnx/treeensembleclassifier.onnx", 25, 3, 0}};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        sis_net *net = read_model(models[i].name);
        float x[784] = {0}, y[10];
        char *text;
        assert_int_equal(sis_net_values(net), models[i].values);
        assert_int_equal(sis_net_outputs(net), models[i].outputs);
        assert_int_equal(sis_net_has_link(net), models[i].link);
        sis_net_batch b = {x, 1, models[i].values, 0, 1, NULL};
        assert_int_equal(sis_net_forward(net, &b, y), 0);
        for (size_t k = 0; k < models[i].outputs; k++)
            assert_true(isfinite(y[k]));
        assert_int_equal(sis_net_describe(net, NULL, &text), 0);
        free(text);
        sis_net_free(net);
    }
}

static int read_again(void *ctx) {
    sis_net *net;
    int error = sis_net_read((const char *)ctx, &net);
    sis_net_free(net);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    const char *path = shared_data("onnx/treeensembleclassifier.onnx");
    if (!path)
        skip();
    char copy[4096];
    snprintf(copy, sizeof copy, "%s", path);
    assert_true(with_failing_allocations(read_again, copy) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(mnist_8_gives_its_recorded_outputs),
        cmocka_unit_test(other_exports_load_and_run),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
