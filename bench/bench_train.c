/* SPDX-License-Identifier: MIT
 *
 * Seconds of an epoch and examples a second for the paper's five networks, on random data.
 *
 *     bench_train [--jobs N] [--seconds S] [NAME...]
 *
 * Trains each network on batches of 128 rows for S seconds (5), with the paper's loss and
 * optimiser. An epoch is 60,000 images, 50,000 sequences, or 25,000 texts of 60 to 500 words, 220
 * on average. Prints seconds by the clock, and processor seconds divided by threads: the time of an
 * epoch on idle cores.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sis/train.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/rng.h"

enum { ROWS = 2048, NAMES = 5 };

typedef struct {
    const char *name;
    size_t epoch; /* rows of an epoch */
    double
        reference; /* seconds of one in PyTorch 1.13 on two cores of an AMD EPYC; 0: not measured */
} subject;

static const subject subjects[NAMES] = {{"mnist-cnn", 60000, 70},
                                        {"mnist-mlp", 60000, 5},
                                        {"dna-cnn", 50000, 0},
                                        {"text-cnn", 25000, 0},
                                        {"text-lstm", 25000, 0}};

/* Lengths of reviews: many short ones, and a tail that is cut at 500. */
static size_t words_of(sis__rng *r) {
    double u = sis__rng_uniform(r);
    size_t n = 60 + (size_t)(140 * u / (1.02 - u));
    return n < 500 ? n : 500;
}

static void fill(const sis_arch *a, sis__rng *r, float *row, size_t width) {
    size_t words = a->words ? words_of(r) : 0;
    for (size_t v = 0; v < width; v++)
        row[v] = a->words ? (v < width - words ? 0 : (float)(1 + sis__rng_below(r, a->words - 1)))
                 : width == 784 ? (sis__rng_below(r, 5) ? 0 : (float)sis__rng_uniform(r))
                                : 0;
    for (size_t p = 0; width == 404 && p < 101; p++)
        row[sis__rng_below(r, 4) * 101 + p] = 1;
}

typedef struct {
    double began, limit;
    size_t rows;
} clock_of;

static int stop_in_time(void *ctx, size_t done, size_t rows, double loss) {
    clock_of *c = (clock_of *)ctx;
    (void)loss, (void)rows;
    c->rows = done;
    return sis__seconds() - c->began > c->limit;
}

static int measure(const subject *s, int jobs, double seconds) {
    sis_arch arch;
    sis_train_opt opt;
    sis_trainer *t = NULL;
    sis__rng r;
    sis__rng_init(&r, 3);
    if (sis_arch_init(&arch, s->name) != 0)
        return 1;
    sis_train_opt_init(&opt, &arch);
    size_t width = strcmp(s->name, "dna-cnn") == 0 ? 404 : arch.inputs, done = 0;
    clock_of c = {.limit = seconds};
    opt.jobs = jobs;
    opt.progress = stop_in_time;
    opt.progress_ctx = &c;
    float *rows = malloc(ROWS * width * sizeof *rows), *targets = malloc(ROWS * sizeof *targets);
    if (!rows || !targets)
        return 1;
    for (size_t i = 0; i < ROWS; i++) {
        fill(&arch, &r, rows + i * width, width);
        targets[i] = (float)sis__rng_below(&r, arch.outputs > 1 ? arch.outputs : 2);
    }
    sis_examples train = {rows, targets, ROWS, width};
    int error = sis_trainer_new(&arch, &opt, &train, NULL, &t);
    c.began = sis__seconds();
    clock_t ticks = clock();
    while (!error && (error = sis_trainer_epoch(t)) == 0)
        done += ROWS;
    double rate = (double)(done + c.rows) / (sis__seconds() - c.began);
    double cpu = (double)(clock() - ticks) / CLOCKS_PER_SEC / jobs / (double)(done + c.rows);
    if (error == SIS_E_CANCELLED) {
        printf("%-10s %7.0f examples/s, an epoch of %zu: %.1f s, undisturbed %.1f s", s->name, rate,
               s->epoch, (double)s->epoch / rate, cpu * (double)s->epoch);
        if (s->reference > 0)
            printf("  (PyTorch 1.13: %g s)", s->reference);
        printf("\n");
        error = 0;
    } else {
        fprintf(stderr, "bench_train: %s\n", sis_error_detail());
    }
    sis_trainer_free(t);
    free(rows);
    free(targets);
    return error != 0;
}

int main(int argc, char **argv) {
    int jobs = sis__cores(), named = 0, failed = 0;
    double seconds = 5;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--jobs") == 0 && i + 1 < argc)
            jobs = atoi(argv[++i]);
        else if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = atof(argv[++i]);
        else
            named = 1;
    }
    printf("training on %d threads\n", jobs);
    for (size_t i = 0; i < NAMES; i++) {
        int wanted = !named;
        for (int k = 1; k < argc; k++)
            wanted |= strcmp(argv[k], subjects[i].name) == 0;
        if (wanted)
            failed |= measure(&subjects[i], jobs, seconds);
    }
    return failed;
}
