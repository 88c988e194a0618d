/* SPDX-License-Identifier: MIT
 *
 * make_model NAME FILE.onnx [SEED]: write one of the paper's networks with random weights.
 */
#include <stdio.h>
#include <stdlib.h>

#include "paper_models.h"

int main(int argc, char **argv) {
    sis_net *net;
    if (argc < 3) {
        fprintf(stderr, "usage: make_model NAME FILE.onnx [SEED]; names:");
        for (size_t i = 0; paper_models[i]; i++)
            fprintf(stderr, " %s", paper_models[i]);
        fprintf(stderr, "\n");
        return 2;
    }
    int error = paper_model(argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) : 1, &net);
    if (error == 0)
        error = sis_net_write(net, argv[2]);
    if (error != 0)
        fprintf(stderr, "make_model: %s\n", sis_error_detail());
    sis_net_free(net);
    return error == 0 ? 0 : 1;
}
