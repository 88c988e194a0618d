/* SPDX-License-Identifier: MIT
 *
 * make_model NAME FILE.onnx [SEED [KEY=VALUE...]]: write one of the paper's networks with random
 * weights and the given metadata.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "paper_models.h"

/* Set the metadata "KEY=VALUE". */
static int set_meta(sis_net *net, char *text) {
    char *value = strchr(text, '=');
    if (!value)
        return SIS_E_ARGUMENT;
    *value++ = '\0';
    return sis_net_meta_set(net, text, value);
}

int main(int argc, char **argv) {
    sis_net *net;
    if (argc < 3) {
        fprintf(stderr, "usage: make_model NAME FILE.onnx [SEED [KEY=VALUE...]]; names:");
        for (size_t i = 0; paper_models[i]; i++)
            fprintf(stderr, " %s", paper_models[i]);
        fprintf(stderr, "\n");
        return 2;
    }
    int error = paper_model(argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) : 1, &net);
    for (int i = 4; error == 0 && i < argc; i++)
        error = set_meta(net, argv[i]);
    if (error == 0)
        error = sis_net_write(net, argv[2]);
    if (error != 0)
        fprintf(stderr, "make_model: %s\n", sis_error_detail());
    sis_net_free(net);
    return error == 0 ? 0 : 1;
}
