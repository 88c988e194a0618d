/* SPDX-License-Identifier: MIT
 *
 * Speed of the paper's five trained networks (models/): our full passes, walks over masked copies,
 * and ONNX Runtime, all on the same cores in the same run.
 *
 *     bench_net [--jobs N] [--seconds S] [NAME...]
 *
 * For each model, full passes first audit the collections of several inputs. Then three things run
 * on all cores: backward selections of several inputs (including set-up and the full passes that
 * decide between close candidates), full passes in batches, and ONNX Runtime, if node finds
 * onnxruntime-node (make bench installs it into the build folder).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>
#include <sis/net.h>
#include <sis/walk.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/rng.h"

enum { INPUTS = 64, AUDITED = 2, WORDS = 120, SIDE = 28, BASES = 101 };

/* A model with its input and the target of the design. */
typedef struct {
    const char *name, *file;
    size_t n_values, n_features;
    size_t batch; /* rows of one call of plain passes and of ONNX Runtime */
    double times; /* walk evaluations per second over ONNX Runtime's, at least */
    int slow;     /* if set, a whole selection by full passes takes minutes */
} subject;

static const subject subjects[] = {
    {"mnist-cnn", "mnist-cnn", SIDE *SIDE, SIDE *SIDE, 256, 400, 1},
    {"mnist-mlp", "mnist-mlp", SIDE *SIDE, SIDE *SIDE, 784, 10, 0},
    {"dna-cnn", "dna-ctcf", 4 * BASES, BASES, 512, 60, 0},
    {"text-cnn", "imdb-cnn", 500, WORDS, 120, 500, 0},
    {"text-lstm", "imdb-lstm", 400, WORDS, 120, 10, 1},
};

typedef struct {
    const subject *s;
    sis_model model;
    double *values; /* (INPUTS, n_values) */
    double *mask;
    int *feature_of;
    double evaluations[INPUTS];
} bench;

/* ---- Inputs -------------------------------------------------------------------------------- */

/* Nines: a ring and a stem, a pen of four pixels. */
static void draw_digit(sis__rng *r, double *x) {
    double left = 12 + 2 * sis__rng_uniform(r), top = 9 + 2 * sis__rng_uniform(r);
    double radius = 3.5 + 1.5 * sis__rng_uniform(r), lean = 4 * sis__rng_uniform(r);
    for (size_t v = 0; v < SIDE * SIDE; v++) {
        double px = (double)(v % SIDE), py = (double)(v / SIDE);
        double ring = fabs(hypot(px - left, py - top) - radius), t = (py - top) / 12;
        double stem = t < 0 || t > 1 ? SIDE : fabs(px - (left + radius - lean * t));
        double light = 2.1 - fmin(ring, stem);
        x[v] = light < 0 ? 0 : light > 1 ? 1 : light;
    }
}

static void draw_bases(sis__rng *r, double *x) {
    for (size_t p = 0; p < BASES; p++)
        x[sis__rng_below(r, 4) * BASES + p] = 1;
}

/* Words behind padding. */
static void draw_words(sis__rng *r, double *x, size_t n) {
    for (size_t v = n - WORDS; v < n; v++)
        x[v] = (double)(1 + sis__rng_below(r, 999));
}

/* Makes the mask and the feature map, then the inputs. */
static void fill(bench *b, sis__rng *r) {
    size_t n = b->s->n_values, carried;
    const float *mask = sis_net_mask(sis_model_net(&b->model), &carried);
    int dna = strncmp(b->s->name, "dna", 3) == 0, text = strncmp(b->s->name, "text", 4) == 0;
    for (size_t v = 0; v < n; v++) {
        b->mask[v] = text ? SIS_TOKEN_MASK : carried == n ? (double)mask[v] : dna ? 0.25 : 0;
        b->feature_of[v] = dna    ? (int)(v % BASES)
                           : text ? (v < n - WORDS ? -1 : (int)(v - (n - WORDS)))
                                  : (int)v;
    }
    for (size_t i = 0; i < INPUTS; i++) {
        double *x = b->values + i * n;
        if (dna)
            draw_bases(r, x);
        else if (text)
            draw_words(r, x, n);
        else
            draw_digit(r, x);
    }
}

static sis_input input_of(const bench *b, size_t i) {
    return (sis_input){.values = b->values + i * b->s->n_values,
                       .mask = b->mask,
                       .n_values = b->s->n_values,
                       .feature_of = b->feature_of};
}

/* ---- Measurements -------------------------------------------------------------------------- */

static int select_one(void *ctx, size_t item, int worker) {
    bench *b = (bench *)ctx;
    (void)worker;
    sis_input in = input_of(b, item);
    sis_model m = b->model;
    sis_opt opt;
    sis_opt_init(&opt);
    sis_walk *w = NULL;
    sis_trace t = {0};
    int error = m.worker_new(b->model.ctx, &m.ctx);
    if (error)
        return error;
    error = sis_walk_new(&m, &in, &opt, &w);
    if (error == 0)
        error = sis_backselect(w, &opt, &t);
    if (error == 0)
        b->evaluations[item] = (double)t.n * (double)(t.n + 1) / 2;
    sis_trace_release(&t);
    sis_walk_free(w);
    if (m.worker_free) /* NULL: shared by all threads */
        m.worker_free(m.ctx);
    return error;
}

/* Evaluations per second of backward selections on all cores, one each at a time: the best of
 * several rounds, because other work may disturb some. *each is the seconds of one selection on one
 * core. */
static double walk_rate(bench *b, int jobs, double seconds, double *each) {
    double best = 0, end = sis__seconds() + seconds;
    for (int round = 0; round < 3 || sis__seconds() < end; round++) {
        double began = sis__seconds(), done = 0;
        if (sis__parallel(jobs, (size_t)jobs, select_one, b) != 0)
            return NAN;
        for (int i = 0; i < jobs; i++)
            done += b->evaluations[i];
        best = fmax(best, done / (sis__seconds() - began));
    }
    *each = b->evaluations[0] / best * jobs;
    return best;
}

/* Full passes of our own engine: rows per second on all cores. */
static double plain_rate(const bench *b, int jobs, double seconds) {
    size_t rows = b->s->batch, n = b->s->n_values;
    float *x = malloc(rows * n * sizeof *x);
    double *margins = malloc(rows * b->model.n_outputs * sizeof *margins), best = 0;
    for (size_t i = 0; i < rows * n; i++)
        x[i] = (float)b->values[i % (INPUTS * n)];
    sis_net_batch batch = {.rows = x, .n_rows = rows, .n_values = n, .jobs = jobs};
    double end = sis__seconds() + seconds;
    do {
        double began = sis__seconds();
        if (sis_net_margins(sis_model_net(&b->model), &batch, margins) != 0)
            break;
        best = fmax(best, (double)rows / (sis__seconds() - began));
    } while (sis__seconds() < end);
    free(x);
    free(margins);
    return best;
}

/* Rows per second of ONNX Runtime; NaN if it is not installed. */
static double ort_rate(const subject *s, const char *path, int jobs, double seconds) {
    char command[4096];
    double rate = NAN;
    snprintf(command, sizeof command, "node '%s/bench/ort.js' '%s' %zu %d %g 2>/dev/null",
             SIS_SOURCE_DIR, path, s->batch, jobs, seconds);
    FILE *f = popen(command, "r");
    if (f && fscanf(f, "%lf", &rate) != 1)
        rate = NAN;
    if (f)
        pclose(f);
    return rate;
}

/* ---- Correctness of walks ---------------------------------------------------------------------
 */

/* The first subsets of input i at the score halfway between input and mask. Walks decide the order;
 * reported scores are those of full passes. */
static int collect_halfway(const bench *b, size_t i, sis_opt *opt, sis_collection *out) {
    sis_input in = input_of(b, i);
    sis_opt_init(opt);
    opt->threshold = 0; /* reached by every input: only the two scores are needed */
    if (sis_collect(&b->model, &in, opt, out) != 0)
        return 0;
    opt->threshold = (out->score + out->masked_score) / 2;
    opt->below = out->score < out->masked_score;
    opt->max_subsets = 2; /* one selection each, some take seconds */
    sis_collection_release(out);
    return sis_collect(&b->model, &in, opt, out) == 0 && out->status == SIS_STATUS_EXPLAINED;
}

/* 1 if full passes confirm every claim of the collection. */
static int holds(const bench *b, size_t i, const sis_opt *opt, const sis_collection *c) {
    sis_input in = input_of(b, i);
    sis_audit audit;
    int held = sis_verify(&b->model, &in, opt, c, &audit) == 0 && audit.holds;
    sis_audit_release(&audit);
    return held;
}

/* 1 if full passes alone find the same first subset. */
static int found_again(const bench *b, size_t i, const sis_opt *opt, const sis_collection *c) {
    sis_input in = input_of(b, i);
    sis_opt exact = *opt;
    sis_collection again;
    exact.exact = 1;
    exact.max_subsets = 1;
    int same = sis_collect(&b->model, &in, &exact, &again) == 0 && again.n_subsets == 1 &&
               again.subsets[0].n == c->subsets[0].n &&
               memcmp(again.subsets[0].features, c->subsets[0].features,
                      c->subsets[0].n * sizeof(int)) == 0;
    sis_collection_release(&again);
    return same;
}

/* Audits the collections of several inputs. If a selection by full passes takes seconds, not
 * minutes, it also compares the first subset of one input with that of full passes. */
static int walks_agree(const bench *b) {
    int same = 1;
    for (size_t i = 0; same && i < AUDITED; i++) {
        sis_opt opt;
        sis_collection c;
        same = collect_halfway(b, i, &opt, &c) && holds(b, i, &opt, &c) &&
               (i > 0 || b->s->slow || found_again(b, i, &opt, &c));
        sis_collection_release(&c);
    }
    return same;
}

/* ---- One model ------------------------------------------------------------------------------- */

static int run(const subject *s, int jobs, double seconds) {
    bench b = {.s = s};
    sis__rng r;
    char path[2048];
    int agree = 0;
    snprintf(path, sizeof path, "%s/models/%s.onnx", SIS_SOURCE_DIR, s->file);
    b.values = calloc(INPUTS * s->n_values, sizeof *b.values);
    b.mask = calloc(s->n_values, sizeof *b.mask);
    b.feature_of = calloc(s->n_values, sizeof *b.feature_of);
    int error = sis_model_open(path, NULL, &b.model);
    if (error == 0 && b.values && b.mask && b.feature_of) {
        double each = 0;
        sis__rng_init(&r, 7);
        fill(&b, &r);
        agree = walks_agree(&b);
        double walk = walk_rate(&b, jobs, seconds, &each), plain = plain_rate(&b, jobs, seconds);
        double ort = ort_rate(s, path, jobs, seconds);
        printf("%-10s %5zu %10.0f %12.0f %10.4f %9.1f", s->name, s->n_features, plain, walk, each,
               walk / plain);
        int missed = walk / ort < s->times || plain / ort < 0.5;
        if (isnan(ort))
            printf("  %10s %9s %9s", "-", "-", "-");
        else
            printf("  %10.0f %8.1fx %9.2f", ort, walk / ort, plain / ort);
        printf("   %s%s\n", agree ? "" : "WALK AND FULL PASSES DIFFER",
               missed && agree ? "below" : "");
        fflush(stdout);
    } else {
        fprintf(stderr, "%s: %s\n", s->name, sis_error_detail());
    }
    sis_model_close(&b.model);
    free(b.values);
    free(b.mask);
    free(b.feature_of);
    return !agree;
}

int main(int argc, char **argv) {
    int jobs = sis__cores(), differ = 0;
    double seconds = 4;
    for (int i = 1; i + 1 < argc; i++) {
        if (strcmp(argv[i], "--jobs") == 0)
            jobs = atoi(argv[i + 1]);
        if (strcmp(argv[i], "--seconds") == 0)
            seconds = atof(argv[i + 1]);
    }
    printf("%d cores; masked copies per second; ORT: ONNX Runtime\n", jobs);
    printf("%-10s %5s %10s %12s %10s %9s  %10s %9s %9s\n", "model", "p", "plain/s", "walk/s",
           "selection", "walk/pl.", "ORT/s", "walk/ORT", "plain/ORT");
    for (size_t k = 0; k < sizeof subjects / sizeof *subjects; k++) {
        int wanted = 0, named = 0;
        for (int i = 1; i < argc; i++) {
            named |= strncmp(argv[i], "mnist", 5) == 0 || strncmp(argv[i], "dna", 3) == 0 ||
                     strncmp(argv[i], "text", 4) == 0;
            wanted |= strcmp(argv[i], subjects[k].name) == 0;
        }
        if (named && !wanted)
            continue;
        differ |= run(&subjects[k], jobs, seconds);
    }
    return differ;
}
