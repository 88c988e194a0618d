/* SPDX-License-Identifier: MIT
 *
 * What the fuzzers of boosted trees share: any bytes as a model; what loads predicts and walks.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "trees/booster.h"
#include "trees/walk.h"

int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n);

enum { FUZZ_SMALL = 64 };

/* A walk to the end of a row; at each step its sums are those of a full pass. */
static void fuzz_walk(const sis__forest *f, const double *x, const double *z) {
    double row[FUZZ_SMALL], full[FUZZ_SMALL], sums[FUZZ_SMALL];
    unsigned char masked[FUZZ_SMALL] = {0}, seen[FUZZ_SMALL];
    sis__forest_walk *w;
    if (sis__forest_walk_new(f, &(sis__forest_input){x, z, NULL, f->width}, &w) != 0)
        return;
    memcpy(row, x, f->width * sizeof *row);
    sis__forest_walk_reset(w, masked);
    for (size_t j = 0; j < f->width; j++) {
        int feature = (int)j;
        row[j] = z[j];
        sis__forest_sums(f, row, full, seen);
        sis__forest_walk_sums(w, &feature, 1, sums);
        for (size_t k = 0; k < f->n_sums; k++)
            if (sums[k] != full[k] && !(isnan(sums[k]) && isnan(full[k])))
                abort();
        sis__forest_walk_mask(w, feature);
    }
    sis__forest_walk_free(w);
}

static void fuzz_use(const sis__booster *b) {
    const sis__forest *f = &b->forest;
    double x[FUZZ_SMALL], z[FUZZ_SMALL], sums[FUZZ_SMALL], rest[FUZZ_SMALL], margins[FUZZ_SMALL];
    unsigned char seen[FUZZ_SMALL];
    char *text;
    if (sis__booster_describe(b, &text) == 0)
        free(text);
    if (f->width > FUZZ_SMALL || f->n_sums > FUZZ_SMALL)
        return;
    for (size_t j = 0; j < f->width; j++) {
        x[j] = (double)(j % 5) - 1;
        z[j] = j % 3 ? 0.5 : NAN;
    }
    sis__forest_sums(f, x, sums, seen);
    sis__booster_margins(b, sums, rest, 0, f->n_sums, margins);
    fuzz_walk(f, x, z);
}

/* The fuzzer of one parser; its bytes end in a NUL that does not count. */
#define FUZZ_TREES(parse)                                                                          \
    int LLVMFuzzerTestOneInput(const unsigned char *bytes, size_t n) {                             \
        char *copy = (char *)malloc(n + 1);                                                        \
        sis__booster b;                                                                            \
        memcpy(copy, bytes, n);                                                                    \
        copy[n] = '\0';                                                                            \
        if (parse(copy, n, &b) == 0) {                                                             \
            fuzz_use(&b);                                                                          \
            sis__booster_release(&b);                                                              \
        }                                                                                          \
        free(copy);                                                                                \
        return 0;                                                                                  \
    }
