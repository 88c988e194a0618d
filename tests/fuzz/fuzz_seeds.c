/* SPDX-License-Identifier: MIT
 *
 * The seeds of fuzz_onnx and fuzz_walk: one network of every family and one around every operator,
 * written into the folder given. Those of fuzz_walk (a second argument says so) begin with what
 * decides about the input. With "xgboost" or "lightgbm" as the second argument: random models of
 * that library.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "support_net.h"
#include "support_trees.h"

static int write_seed(const char *path, int walk, const void *packed, size_t size) {
    static const unsigned char head[] = {1, 8, 's', 'e', 'e', 'd', 1, 2, 3, 4};
    FILE *f = fopen(path, "wb");
    if (!f)
        return 1;
    int failed = walk && fwrite(head, sizeof head, 1, f) != 1;
    failed |= fwrite(packed, size, 1, f) != 1;
    return fclose(f) != 0 || failed;
}

static int save(int error, sis_net *net, const char *folder, const char *name, int walk) {
    char path[4096];
    void *packed = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/%s.onnx", folder, name);
    if (!error)
        error = sis_net_pack(net, &packed, &size);
    if (error)
        fprintf(stderr, "%s: %s\n", path, sis_error_detail());
    else
        error = write_seed(path, walk, packed, size);
    free(packed);
    sis_net_free(net);
    return error;
}

static int save_trees(const char *folder, int text) {
    static made_forest forest;
    int failed = 0;
    for (uint64_t seed = 0; !failed && seed < 30; seed++) {
        char path[4096];
        size_t n;
        sis__rng r;
        sis__rng_init(&r, seed);
        made_forest_init(&forest, !text, &r);
        char *bytes = text ? made_lightgbm(&forest, &n) : made_xgboost(&forest, seed % 2, &n);
        snprintf(path, sizeof path, "%s/%d", folder, (int)seed);
        failed = write_seed(path, 0, bytes, n);
        free(bytes);
    }
    return failed;
}

int main(int argc, char **argv) {
    sis_net *net;
    int failed = argc<2, walk = argc> 2;
    if (walk && strcmp(argv[2], "walk") != 0)
        return save_trees(argv[1], strcmp(argv[2], "lightgbm") == 0);
    for (size_t i = 0; !failed && i < n_families; i++) {
        int error = families[i].build(1, &net);
        failed = save(error, net, argv[1], families[i].name, walk) != 0;
    }
    for (size_t i = 0; !failed && i < n_operator_cases; i++) {
        int error = build_operator(&operator_cases[i], &net);
        failed = save(error, net, argv[1], operator_cases[i].name, walk) != 0;
    }
    return failed;
}
