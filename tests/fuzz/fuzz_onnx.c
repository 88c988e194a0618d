/* SPDX-License-Identifier: MIT
 *
 * Any bytes as an ONNX file: libFuzzer looks for those that crash, hang or take gigabytes. What
 * loads is run, differentiated, described and written again. tests/fuzz/run.sh starts it for a
 * while.
 */
#include <stdlib.h>

#include <sis/net.h>

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);

static void use(const sis_net *net) {
    size_t p = sis_net_values(net), k = sis_net_outputs(net), rows = 3;
    if (!p || !k || p > 10000 || k > 10000 || sis_net_flops(net) > 1e7)
        return;
    float *x = (float *)calloc(rows * p, sizeof *x), *y = (float *)calloc(rows * k, sizeof *y);
    float *dx = (float *)calloc(rows * p, sizeof *dx);
    double *m = (double *)calloc(rows * k, sizeof *m);
    if (x && y && m && dx) {
        for (size_t i = 0; i < rows * p; i++)
            x[i] = (float)(i % 7) - 2;
        sis_net_batch batch = {x, rows, p, 0, 1, NULL};
        sis_net_grad grad = {.d_rows = dx};
        sis_net_forward(net, &batch, y);
        sis_net_margins(net, &batch, m);
        sis_net_gradient(net, &batch, &grad);
    }
    free(x);
    free(y);
    free(dx);
    free(m);
}

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {
    sis_net *net;
    char *text, label[16];
    void *packed;
    size_t size;
    if (sis_net_parse(bytes, n, &net) != 0)
        return 0;
    use(net);
    sis_net_label(net, 0, label, sizeof label);
    if (sis_net_describe(net, NULL, &text) == 0)
        free(text);
    if (sis_net_pack(net, &packed, &size) == 0)
        free(packed);
    sis_net_free(net);
    return 0;
}
