/* SPDX-License-Identifier: MIT
 *
 * One backward selection, read at several thresholds: the trace answers them all, the model is
 * asked for none of them again.
 *
 *     ./05_trace
 */
#include <stdint.h>
#include <stdio.h>

#include <sis/sis.h>
#include <sis/walk.h>

static int sum(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    size_t *asked = ctx;
    *asked += n;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t k = 0; k < width; k++)
            scores[i] += rows[i * width + k];
    }
    return 0;
}

int main(void) {
    const double x[6] = {3, 1, 4, 1, 5, 9}, zero[6] = {0};
    size_t asked = 0;
    sis_model model = {.size = sizeof model, .predict = sum, .ctx = &asked, .n_outputs = 1};
    sis_input input = {.values = x, .mask = zero, .n_values = 6};
    sis_opt opt;
    sis_opt_init(&opt);

    sis_walk *walk;
    sis_trace trace;
    if (sis_walk_new(&model, &input, &opt, &walk) != 0 || sis_backselect(walk, &opt, &trace) != 0) {
        fprintf(stderr, "%s\n", sis_error_detail());
        return 1;
    }
    printf("masked first to last:");
    for (size_t i = 0; i < trace.n; i++)
        printf(" %d (%g left)", trace.order[i], trace.scores[i]);
    printf("\n%zu rows were scored\n", asked);
    for (double threshold = 8; threshold <= 24; threshold += 4) {
        size_t n = sis_trace_find(&trace, threshold, 0);
        if (n == SIZE_MAX)
            printf("threshold %g: out of reach\n", threshold);
        else
            printf("threshold %g: the last %zu\n", threshold, n);
    }
    printf("still %zu rows\n", asked);
    sis_trace_release(&trace);
    sis_walk_free(walk);
    return 0;
}
