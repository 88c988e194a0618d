/* SPDX-License-Identifier: MIT
 *
 * Speed of small encoders exported by PyTorch (bench/transformer.py): full passes, and walks whose
 * masked tokens stay in the sequence or leave it, compared with ONNX Runtime's best batch. One core
 * each, in processor seconds, alternating. --cores N gives N cores to each side: ONNX Runtime uses
 * them as threads of a session, we explain N texts at once, and seconds are those of the clock.
 *
 *     bench_transformer [--seconds S] [--cores N] [--folder MODELS] [NAME...]
 *
 * MODELS is a folder that transformer.py has written; without it, transformer.py is run first. For
 * each model, scores are compared with ONNX Runtime's, and the order of one selection with that of
 * full passes. Skipped without python3-torch. Without ONNX Runtime ($SIS_ORT, or the one that make
 * bench installs) there are no ratios.
 */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sis/model.h>
#include <sis/net.h>
#include <sis/walk.h>

#include "base/parallel.h"
#include "base/rng.h"

enum { BATCH = 64, WORDS = 500, PADDING = 0 }; /* BATCH: rows of a call at most */
enum { MAX_CORES = 64 };
static int cores = 1;

/* Processor time, so that other work does not count; for several cores, time by the clock. */
static double seconds_of_work(void) {
    struct timespec t;
    clock_gettime(cores > 1 ? CLOCK_MONOTONIC : CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct {
    const char *name;
    size_t length;
    double wanted[2]; /* walks over ONNX Runtime's batches: masks, removal */
} subject;

static const subject subjects[] = {
    {"encoder-2", 64, {1.5, 3}},       {"encoder-4", 64, {1.5, 3}},
    {"encoder-6", 64, {1.5, 3}},       {"encoder-4-narrow", 32, {1.5, 3}},
    {"encoder-2-wide", 128, {1.5, 3}},
};

typedef struct {
    sis_model model;
    size_t length;
    double *rows; /* (BATCH, length) */
    double *mask; /* (length) */
} bench;

/* ---- Measurements ------------------------------------------------------------------------------ */

/* Margins of n rows by a full pass of our network, from its embedded words. 0 or an error. */
static int net_margins(const sis_net *net, const bench *b, size_t n, double *margins) {
    const float *matrix;
    size_t words, dim;
    int error = sis_net_embedding(net, &matrix, &words, &dim);
    if (error != SIS_OK)
        return error;
    float *x = malloc(n * b->length * dim * sizeof *x);
    for (size_t i = 0; i < n * b->length; i++)
        memcpy(x + i * dim, matrix + (size_t)b->rows[i] * dim, dim * sizeof *x);
    sis_net_batch batch = {
        .rows = x, .n_rows = n, .n_values = b->length * dim, .embedded = 1, .jobs = cores};
    error = sis_net_margins(net, &batch, margins);
    free(x);
    return error;
}

/* Rows a second in one call with n rows. */
static double pass_rate(const bench *b, size_t n, double *scores) {
    double began = seconds_of_work();
    const sis_net *net = sis_model_net(&b->model);
    int error = net ? net_margins(net, b, n, scores)
                    : b->model.predict(b->model.ctx, b->rows, n, b->length, scores);
    for (size_t i = 0; i < n * b->model.n_outputs; i++)
        scores[i] = b->model.link ? b->model.link(scores[i]) : scores[i];
    return error == 0 ? (double)n / (seconds_of_work() - began) : NAN;
}

/* The best number of rows in a call. */
static size_t best_batch(const bench *b) {
    double scores[BATCH * 2], best = 0;
    size_t rows = 4;
    for (int round = 0; round < 3; round++)
        for (size_t n = 4; n <= BATCH; n *= 2) {
            double rate = pass_rate(b, n, scores);
            rows = rate > best ? n : rows;
            best = fmax(best, rate);
        }
    return rows;
}

/* Rows a second in repeated calls, for as long as a walk takes: the speed of a busy machine changes
 * within seconds, so the best of short calls would be too good. */
static double calls_rate(const bench *b, size_t rows, double seconds, double *scores) {
    double began = seconds_of_work();
    size_t n = 0;
    do
        n += isnan(pass_rate(b, rows, scores)) ? 0 : rows;
    while (seconds_of_work() - began < seconds);
    return (double)n / (seconds_of_work() - began);
}

/* One selection; 0 on success. */
static int select_all(const bench *b) {
    sis_input in = {.values = b->rows, .mask = b->mask, .n_values = b->length};
    sis_opt opt;
    sis_opt_init(&opt);
    sis_walk *w = NULL;
    sis_trace t = {0};
    int error = sis_walk_new(&b->model, &in, &opt, &w);
    if (error == 0)
        error = sis_backselect(w, &opt, &t);
    sis_trace_release(&t);
    sis_walk_free(w);
    return error;
}

static void *select_in_thread(void *ctx) {
    return select_all(ctx) == 0 ? ctx : NULL;
}

/* Masked copies a second of selections, one at a time on each core. */
static double walk_rate(bench *b) {
    double began = seconds_of_work(), p = (double)b->length;
    pthread_t threads[MAX_CORES];
    void *made = b;
    int started = 0;
    while (started + 1 < cores && pthread_create(&threads[started], NULL, select_in_thread, b) == 0)
        started++;
    int fine = select_all(b) == 0 && started + 1 == cores;
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], &made);
        fine &= made != NULL;
    }
    return fine ? cores * p * (p + 1) / 2 / (seconds_of_work() - began) : NAN;
}

/* 1 if a selection masks features in the order of full passes. */
static int same_order(const bench *b) {
    sis_input in = {.values = b->rows, .mask = b->mask, .n_values = b->length};
    sis_trace t[2] = {{0}, {0}};
    int same = 1;
    for (int exact = 0; exact < 2 && same; exact++) {
        sis_opt opt;
        sis_walk *w = NULL;
        sis_opt_init(&opt);
        opt.exact = exact;
        same =
            sis_walk_new(&b->model, &in, &opt, &w) == 0 && sis_backselect(w, &opt, &t[exact]) == 0;
        sis_walk_free(w);
    }
    same = same && t[0].n == t[1].n && memcmp(t[0].order, t[1].order, t[0].n * sizeof(int)) == 0;
    sis_trace_release(&t[0]);
    sis_trace_release(&t[1]);
    return same;
}

/* ---- One model --------------------------------------------------------------------------------- */

typedef struct {
    double plain, ort, masks, removal;
} rates;

static void set_mask(bench *b, int removes) {
    for (size_t i = 0; i < b->length; i++)
        b->mask[i] = removes ? PADDING : SIS_TOKEN_MASK;
}

/* The best of several rounds; all sides take turns in each. */
static int measure(bench *own, bench *ort, double seconds, rates *best) {
    double scores[2][BATCH * 2] = {{0}}, end = seconds_of_work() + seconds;
    size_t rows[2] = {best_batch(own), ort ? best_batch(ort) : 0};
    size_t both = rows[0] < rows[1] ? rows[0] : rows[1];
    int agree = 1;
    for (int round = 0; round < 2 || seconds_of_work() < end; round++) {
        double began = seconds_of_work();
        set_mask(own, 0);
        best->masks = fmax(best->masks, walk_rate(own));
        double took = seconds_of_work() - began;
        best->plain = fmax(best->plain, calls_rate(own, rows[0], took / 2, scores[0]));
        if (ort)
            best->ort = fmax(best->ort, calls_rate(ort, rows[1], took, scores[1]));
        for (size_t i = 0; ort && i < both * 2; i++)
            agree &= fabs(scores[0][i] - scores[1][i]) < 1e-4;
        set_mask(own, 1);
        best->removal = fmax(best->removal, walk_rate(own));
    }
    return agree;
}

static int open_bench(const char *spec, const subject *s, bench *b) {
    sis_model_opt opt;
    sis__rng r;
    sis_model_opt_init(&opt);
    opt.jobs = cores > 1 ? 1 : sis__cores(); /* users of ONNX Runtime's threads; 1: one has all */
    sis__rng_init(&r, 3);
    *b = (bench){.length = s->length};
    b->rows = malloc(BATCH * s->length * sizeof *b->rows);
    b->mask = malloc(s->length * sizeof *b->mask);
    for (size_t i = 0; i < BATCH * s->length; i++)
        b->rows[i] = (double)(1 + sis__rng_below(&r, WORDS - 1));
    int error = sis_model_open(spec, &opt, &b->model);
    return error == 0 ? sis_model_measure(&b->model, b->rows, s->length) : error;
}

static void close_bench(bench *b) {
    sis_model_close(&b->model);
    free(b->rows);
    free(b->mask);
}

static int run(const subject *s, const char *folder, double seconds) {
    char path[1024], spec[1040];
    bench own, ort;
    rates best = {0};
    snprintf(path, sizeof path, "%s/%s.onnx", folder, s->name);
    snprintf(spec, sizeof spec, "ort:%s", path);
    int error = open_bench(path, s, &own), there = open_bench(spec, s, &ort) == 0;
    if (error != 0) {
        fprintf(stderr, "%s: %s\n", s->name, sis_error_detail());
        return 1;
    }
    set_mask(&own, 1);
    int agree = s->length > 64 || same_order(&own);
    agree &= measure(&own, there ? &ort : NULL, seconds, &best);
    printf("%-18s %6zu %9.0f %9.0f %9.0f", s->name, s->length, best.plain, best.masks,
           best.removal);
    if (there)
        printf(" %9.0f %9.2f %9.2f %9.2f  %s", best.ort, best.plain / best.ort,
               best.masks / best.ort, best.removal / best.ort,
               best.masks / best.ort < s->wanted[0] || best.removal / best.ort < s->wanted[1]
                   ? "below"
                   : "");
    printf("%s\n", agree ? "" : "  DIFFERENT");
    fflush(stdout);
    close_bench(&own);
    close_bench(&ort);
    return !agree;
}

/* Makes the models in a new folder; 0: they cannot be made. */
static int make_models(char *folder) {
    char command[4096];
    if (!mkdtemp(folder))
        return 0;
    snprintf(command, sizeof command, "/usr/bin/python3 '%s/bench/transformer.py' '%s' 2>&1",
             SIS_SOURCE_DIR, folder);
    FILE *f = popen(command, "r");
    while (f && fgets(command, sizeof command, f))
        continue;
    return f && pclose(f) == 0;
}

static void remove_models(const char *folder) {
    char path[1024];
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        snprintf(path, sizeof path, "%s/%s.onnx", folder, subjects[k].name);
        unlink(path);
    }
    rmdir(folder);
}

int main(int argc, char **argv) {
    int differ = 0, named = 0;
    double seconds = 4;
    char made[] = "/tmp/sis-transformer-XXXXXX";
    const char *folder = NULL;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            seconds = atof(argv[i + 1]);
        if (strcmp(argv[i], "--cores") == 0 && i + 1 < argc)
            cores = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc)
            folder = argv[i + 1];
        named |= strncmp(argv[i], "encoder", 7) == 0;
    }
    if (cores < 1 || cores > sis__cores() || cores > MAX_CORES) {
        fprintf(stderr, "bench_transformer: --cores is 1 to %d here\n", sis__cores());
        return 2;
    }
    if (!getenv("SIS_ORT"))
        setenv("SIS_ORT", SIS_SOURCE_DIR "/build/ort/libonnxruntime.so.1", 0);
    if (!folder && !make_models(made)) {
        printf("skipped: the models are made by python3-torch and python3-onnx\n");
        remove_models(made);
        return 0;
    }
    printf("%d core%s; rows and masked copies a second of %s; ORT: ONNX Runtime\n", cores,
           cores > 1 ? "s" : "", cores > 1 ? "the clock" : "processor time");
    printf("%-18s %6s %9s %9s %9s %9s %9s %9s %9s\n", "model", "tokens", "plain", "masks",
           "removal", "ORT", "plain/ORT", "masks/ORT", "rem./ORT");
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        int wanted = !named;
        for (int i = 1; i < argc; i++)
            wanted |= strcmp(argv[i], subjects[k].name) == 0;
        differ |= wanted && run(&subjects[k], folder ? folder : made, seconds);
    }
    if (!folder)
        remove_models(made);
    return differ;
}
