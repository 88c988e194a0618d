/* SPDX-License-Identifier: MIT
 *
 * The seeds of fuzz_onnx: one network of every family, written into the folder given.
 */
#include <stdio.h>

#include <sis/net.h>

#include "support_net.h"

int main(int argc, char **argv) {
    for (size_t i = 0; argc == 2 && i < n_families; i++) {
        char path[4096];
        sis_net *net;
        snprintf(path, sizeof path, "%s/%s.onnx", argv[1], families[i].name);
        if (families[i].build(1, &net) != 0 || sis_net_write(net, path) != 0) {
            fprintf(stderr, "%s: %s\n", path, sis_error_detail());
            return 1;
        }
        sis_net_free(net);
    }
    return argc == 2 ? 0 : 2;
}
