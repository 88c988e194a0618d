/* SPDX-License-Identifier: MIT
 *
 * The whole library in one call: a model that is a C function, one input, its subsets.
 *
 *     cc 01_callback.c $(pkg-config --cflags --libs sis) -o 01_callback
 *     ./01_callback
 */
#include <stdio.h>

#include <sis/sis.h>

/* Fires when 0 and 1 are both high, or 3 is very high; 2 does not matter. */
static int predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        const double *x = rows + i * width;
        double both = x[0] * x[1], single = x[3] * x[3] / 2;
        scores[i] = both > single ? both : single;
    }
    return 0;
}

int main(void) {
    const double x[4] = {0.9, 0.9, 0.3, 1.2}, mean[4] = {0.1, 0.1, 0.1, 0.1};
    sis_model model = {.size = sizeof model, .predict = predict, .n_outputs = 1};
    sis_input input = {.values = x, .mask = mean, .n_values = 4};
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = 0.7;

    sis_collection c;
    if (sis_collect(&model, &input, &opt, &c) != 0) {
        fprintf(stderr, "%s\n", sis_error_detail());
        return 1;
    }
    printf("%s, score %.3g\n", sis_status_name(c.status), c.score);
    for (size_t k = 0; k < c.n_subsets; k++) {
        printf("subset %zu, score %.3g:", k + 1, c.subsets[k].score);
        for (size_t i = 0; i < c.subsets[k].n; i++)
            printf(" %d", c.subsets[k].features[i]);
        printf("\n");
    }
    sis_collection_release(&c);
    return 0;
}
