/* SPDX-License-Identifier: MIT
 *
 * Overhead of the core, measured with a model that costs almost nothing: a sum over 1,024 features.
 * It is compared with a plain version like the published numpy code, which rebuilds the whole batch
 * of masked copies at every step. Both run one backward selection over the same input in the same
 * run. The model's own time is subtracted from both.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/sis.h>
#include <sis/walk.h>

#include "base/clock.h"
#include "base/rng.h"

enum { N = 1024, REPEATS = 3 };

static double model_seconds;

static int sum(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    double began = sis__seconds();
    for (size_t i = 0; i < n; i++) {
        double a[8] = {0};
        for (size_t k = 0; k < width; k += 8)
            for (size_t j = 0; j < 8; j++)
                a[j] += rows[i * width + k + j];
        scores[i] = ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
    }
    model_seconds += sis__seconds() - began;
    return 0;
}

/* Rebuild the batch at every step: one copy of the input for each remaining feature, masks applied.
 */
static void plain_backselect(const double *x, const double *z, int *order) {
    double *batch = malloc(sizeof(double) * N * N), *scores = malloc(sizeof(double) * N);
    unsigned char masked[N] = {0};
    for (size_t step = 0; step < N; step++) {
        size_t rows = 0, of[N];
        for (size_t i = 0; i < N; i++) {
            if (masked[i])
                continue;
            double *row = batch + rows * N;
            for (size_t k = 0; k < N; k++)
                row[k] = masked[k] || k == i ? z[k] : x[k];
            of[rows++] = i;
        }
        sum(NULL, batch, rows, N, scores);
        size_t best = 0;
        for (size_t i = 1; i < rows; i++)
            if (scores[i] > scores[best])
                best = i;
        masked[of[best]] = 1;
        order[step] = (int)of[best];
    }
    free(batch);
    free(scores);
}

static int ours(const double *x, const double *z, int *order) {
    sis_model m = {.size = sizeof m, .predict = sum, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = N};
    sis_opt opt;
    sis_opt_init(&opt);
    sis_walk *w;
    sis_trace t;
    int error = sis_walk_new(&m, &in, &opt, &w);
    if (error == 0)
        error = sis_backselect(w, &opt, &t);
    if (error == 0)
        memcpy(order, t.order, sizeof(int) * N);
    sis_trace_release(&t);
    sis_walk_free(w);
    return error;
}

int main(void) {
    static double x[N], z[N];
    static int order[N], expected[N];
    sis__rng r;
    sis__rng_init(&r, 1);
    for (size_t i = 0; i < N; i++)
        x[i] = sis__rng_uniform(&r);
    double plain = INFINITY, core = INFINITY, whole_plain = INFINITY, whole_core = INFINITY;
    for (int k = 0; k < REPEATS; k++) {
        model_seconds = 0;
        double began = sis__seconds();
        plain_backselect(x, z, expected);
        double all = sis__seconds() - began;
        plain = fmin(plain, all - model_seconds);
        whole_plain = fmin(whole_plain, all);
        model_seconds = 0;
        began = sis__seconds();
        if (ours(x, z, order) != 0)
            return fprintf(stderr, "%s\n", sis_error_detail()), 1;
        all = sis__seconds() - began;
        core = fmin(core, all - model_seconds);
        whole_core = fmin(whole_core, all);
    }
    if (memcmp(order, expected, sizeof order) != 0)
        return fprintf(stderr, "the orders differ\n"), 1;
    printf("one backward selection over %d features, model: a sum; same order\n", N);
    printf("  rebuilding the batch   %8.3f s, without the model %8.3f s\n", whole_plain, plain);
    printf("  sis                    %8.3f s, without the model %8.3f s\n", whole_core, core);
    printf("  overhead: %.1f %% of rebuilding (wanted: under 10 %%)\n", 100 * core / plain);
    return core < 0.1 * plain ? 0 : 1;
}
