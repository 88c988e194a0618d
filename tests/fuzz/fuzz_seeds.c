/* SPDX-License-Identifier: MIT
 *
 * The seeds of fuzz_onnx: one network of every family and one around every operator,
 * written into the folder given.
 */
#include <stdio.h>

#include <sis/net.h>

#include "support_net.h"

static int save(int error, sis_net *net, const char *folder, const char *name) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    if (!error)
        error = sis_net_write(net, path);
    if (error)
        fprintf(stderr, "%s: %s\n", path, sis_error_detail());
    sis_net_free(net);
    return error;
}

int main(int argc, char **argv) {
    sis_net *net;
    int failed = argc != 2;
    for (size_t i = 0; !failed && i < n_families; i++) {
        int error = families[i].build(1, &net);
        failed = save(error, net, argv[1], families[i].name) != 0;
    }
    for (size_t i = 0; !failed && i < n_operator_cases; i++) {
        int error = build_operator(&operator_cases[i], &net);
        failed = save(error, net, argv[1], operator_cases[i].name) != 0;
    }
    return failed;
}
