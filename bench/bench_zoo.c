/* SPDX-License-Identifier: MIT
 *
 * Masked copies a second on published models: by a backward selection as `sis explain` makes it, by
 * our full passes in batches, and by ONNX Runtime in its best batch, which has no more rows than a
 * step asks about. One core each, in processor seconds, alternating.
 *
 *     bench_zoo [--seconds S] [--folder ZOO] [NAME...]
 *
 * ZOO holds index.tsv, NAME.onnx and NAME.json (one recorded input). Each side gets S seconds (1)
 * for a model. A selection that takes longer is stopped, and the rest is extrapolated from the rate
 * of the steps after the first one, which computes everything. NAME selects models whose name
 * contains it. ONNX Runtime is $SIS_ORT, or the one that `make bench` installed.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sis/net.h>
#include <sis/walk.h>

#include "base/clock.h"
#include "base/order.h"
#include "base/parallel.h"
#include "net/walk/walk.h"
#include "support_zoo.h"

/* Processor time, so that other work does not count. */
static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

enum { TURNS = 2, MODELS = 256, ROWS = 256 };

/* The expected median of a family. */
typedef enum { CONVOLUTIONS, RECURRENT, TREES, OTHERS, KINDS } kind;
static const struct {
    const char *name;
    size_t min;  /* minimum number of features of the models that count */
    double wanted; /* times ONNX Runtime */
} kinds[] = {{"convolutional", 500, 30}, {"recurrent", 1, 5}, {"trees", 50, 20}, {"others", 1, 1}};

typedef struct {
    double given;
    char **names;
    size_t n_names;
    double ratios[KINDS][MODELS];
    size_t n[KINDS], below, slower, models;
} bench;

/* Measurements of one model. */
typedef struct {
    double walk, plain, ort; /* masked copies a second; NaN: not measured */
    double selection;        /* seconds */
    int whole;               /* of a selection that was not stopped */
    char rule[32];
} rates;

/* ---- A selection ------------------------------------------------------------------------------ */

typedef struct {
    sis_walk *walk;
    double end;                /* when to stop */
    double looked;             /* when the clock was last read */
    double n_live;             /* features whose masking can change something */
    double first_at, first;    /* time at the end of the first step, and copies until then */
    double seen, last_at, all; /* the same now; of the whole selection */
} progress;

/* Reads the processor clock only now and then, because that takes as long as a step of some
 * selections. */
static int watch(void *ctx, const sis_progress *p) {
    progress *g = ctx;
    double seen =
        g->walk && sis_walk_is_own(g->walk) ? (double)g->walk->evaluations : (double)p->evaluations;
    int first = g->first == 0 && seen >= g->n_live;
    double now = sis__seconds();
    if (!first && now - g->looked < 1e-4)
        return 0;
    g->looked = now;
    g->seen = seen;
    g->last_at = seconds();
    if (first) {
        g->first = g->seen;
        g->first_at = g->last_at;
    }
    return g->last_at > g->end;
}

static double count_live(const zoo_model *m) {
    unsigned char *live = calloc(m->n_features, 1);
    double n = 0;
    for (size_t v = 0; live && v < m->input.n_values; v++)
        if (m->input.feature_of[v] >= 0 && m->input.values[v] != m->input.mask[v])
            live[m->input.feature_of[v]] = 1;
    for (size_t j = 0; live && j < m->n_features; j++)
        n += live[j];
    free(live);
    return n;
}

/* Estimated seconds of a whole selection that was stopped: the rest at the present rate. */
static double whole(const progress *g, double began) {
    if (g->seen > g->first && g->first > 0)
        return g->first_at - began +
               (g->all - g->first) / (g->seen - g->first) * (g->last_at - g->first_at);
    return (g->last_at - began) * g->all / fmax(g->seen, 1);
}

/* Seconds of one selection, NaN if it fails; *ended: it was not stopped. */
static double select_once(const zoo_model *m, double end, char rule[32], int *ended) {
    double live = count_live(m), began = seconds();
    progress g = {.end = end,
                  .looked = sis__seconds(),
                  .n_live = live,
                  .all = fmax(live * (live + 1) / 2, 1)};
    sis_opt opt;
    sis_trace t = {0};
    sis_opt_init(&opt);
    opt.progress = watch;
    opt.progress_ctx = &g;
    int error = sis_walk_new(&m->model, &m->input, &opt, &g.walk);
    if (error == 0)
        error = sis_backselect(g.walk, &opt, &t);
    double now = seconds();
    if (g.walk)
        snprintf(rule, 32, "%s", sis__walk_rule(g.walk));
    sis_trace_release(&t);
    sis_walk_free(g.walk);
    *ended = error == 0;
    return error == 0 ? now - began : error == SIS_E_CANCELLED ? whole(&g, began) : (double)NAN;
}

/* The best of as many selections as there is time for, because other work may disturb some. A
 * stopped selection counts only if none ended: its first steps may differ from the rest. */
static void time_walk(const zoo_model *m, double given, rates *r) {
    double end = seconds() + given, live = count_live(m);
    for (int i = 0; i == 0 || (i < 1000 && seconds() < end); i++) {
        int ended;
        double took = select_once(m, end, r->rule, &ended);
        if (ended > r->whole || (ended == r->whole && !(r->selection <= took)))
            r->selection = took;
        r->whole |= ended;
    }
    r->walk = live * (live + 1) / 2 / r->selection;
}

/* ---- Full passes -------------------------------------------------------------------------------- */

/* Masked copies, one for each feature in turn. */
static double *make_rows(const zoo_model *m) {
    size_t n = m->input.n_values;
    double *rows = calloc(ROWS * n, sizeof *rows);
    for (size_t i = 0; rows && i < ROWS; i++)
        for (size_t v = 0; v < n; v++)
            rows[i * n + v] = m->input.feature_of[v] == (int)(i % m->n_features)
                                  ? m->input.mask[v]
                                  : m->input.values[v];
    return rows;
}

/* Seconds of calls with n rows; if a whole selection is wanted, also with n - 1, n - 2 and so on.
 */
static double time_calls(const sis_model *model, const zoo_model *m, const double *rows, size_t n,
                         int whole_selection, double *scores) {
    double began = seconds();
    for (; n > 0; n = whole_selection ? n - 1 : 0)
        if (model->predict(model->ctx, rows, n, m->input.n_values, scores) != 0)
            return INFINITY;
    return seconds() - began;
}

/* Rows a second, with as many rows in a call as a step of a selection asks about, at most ROWS. The
 * best of several rounds; each round makes calls for as long as a selection takes (`round`),
 * because short calls would pick the best moment of a busy machine. */
static double time_rows(const sis_model *model, const zoo_model *m, const double *rows,
                        double given, double round) {
    double *scores = calloc(ROWS * model->n_outputs, sizeof *scores), best = 0;
    double end = seconds() + given, done = 0, spent = 0;
    int rounds = 0;
    size_t p = (size_t)count_live(m), max = p < ROWS ? p : ROWS, n = 1;
    for (int i = 0; scores && n && (i < 3 || seconds() < end); i++) {
        int small = n == p; /* the calls of all steps */
        double took = time_calls(model, m, rows, n, small, scores);
        done += small ? (double)(n * (n + 1)) / 2 : (double)n;
        spent += took;
        if (i < 3 || spent >= round || (rounds == 0 && seconds() >= end)) {
            best = fmax(rounds > 0 ? best : 0, done / spent); /* the first calls do extra work */
            rounds += i >= 3;
            done = spent = 0;
        }
        for (; n < max && took * 4 < given; took *= 2)
            n = 2 * n < max ? 2 * n : max;
        if (seconds() > end + given)
            break;
    }
    free(scores);
    return best;
}

static void time_ort(const zoo_model *m, const double *rows, double given, rates *r) {
    char spec[4200];
    sis_model ort;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.jobs = sis__cores(); /* one thread for this user */
    snprintf(spec, sizeof spec, "ort:%s", m->path);
    if (sis_model_open(spec, &opt, &ort) != 0)
        return;
    if (sis_model_measure(&ort, rows, m->input.n_values) == 0) {
        double rate = time_rows(&ort, m, rows, given, fmin(r->selection, given));
        if (!(r->ort >= rate))
            r->ort = rate;
    }
    sis_model_close(&ort);
}

/* ---- One model ---------------------------------------------------------------------------------- */

static kind kind_of(const zoo_model *m) {
    char *text = NULL;
    kind k = OTHERS;
    if (sis_net_describe(sis_model_net(&m->model), NULL, &text) != 0)
        return k;
    if (strstr(text, "TreeEnsemble"))
        k = TREES;
    else if (strstr(text, "LSTM") || strstr(text, "GRU") || strstr(text, "RNN"))
        k = RECURRENT;
    else if (strstr(text, "Conv"))
        k = CONVOLUTIONS;
    free(text);
    return k;
}

static void show(bench *b, const zoo_model *m, const rates *r) {
    kind k = kind_of(m);
    double ratio = r->walk / r->ort;
    printf("%-32.32s %-13s %6zu %-10s %11.0f %11.0f %11.0f %8.2f %8.2f %9.3g%s%s\n", m->name,
           kinds[k].name, m->n_features, r->rule, r->walk, r->plain, r->ort, ratio,
           r->walk / r->plain, r->selection, ratio < 1 ? "  below ORT" : "",
           r->walk < 0.9 * r->plain ? "  below full passes" : "");
    fflush(stdout);
    b->models++;
    b->below += ratio < 1;
    b->slower += r->walk < 0.9 * r->plain;
    if (m->n_features >= kinds[k].min && b->n[k] < MODELS && !isnan(ratio))
        b->ratios[k][b->n[k]++] = ratio;
}

static int run(void *ctx, zoo_model *m) {
    bench *b = ctx;
    rates r = {.ort = NAN, .selection = NAN};
    int wanted = b->n_names == 0;
    for (size_t i = 0; i < b->n_names; i++)
        wanted |= strstr(m->name, b->names[i]) != NULL;
    if (!wanted)
        return 0;
    double *rows = m->why ? NULL : make_rows(m);
    for (int turn = 0; rows && turn < TURNS; turn++) {
        time_walk(m, b->given / TURNS, &r);
        double part = b->given / TURNS / 2;
        r.plain = fmax(r.plain, time_rows(&m->model, m, rows, part, fmin(r.selection, part)));
        time_ort(m, rows, b->given / TURNS, &r);
    }
    if (rows)
        show(b, m, &r);
    else
        printf("%-32.32s left out: %.80s\n", m->name, m->why ? m->why : "out of memory");
    free(rows);
    return 0;
}

/* ---- All of them -------------------------------------------------------------------------------- */

static void show_medians(bench *b) {
    for (size_t k = 0; k < KINDS; k++) {
        double *r = b->ratios[k];
        size_t n = b->n[k];
        qsort(r, n, sizeof *r, sis__by_double);
        if (n)
            printf("%-13s of %3zu features or more: %3zu models, median %.1f times ONNX Runtime "
                   "(wanted: %g), least %.2f\n",
                   kinds[k].name, kinds[k].min, n, sis__quantile(r, n, 0.5), kinds[k].wanted,
                   r[0]);
    }
    printf("%zu of %zu models below ONNX Runtime, %zu below our own full passes\n", b->below,
           b->models, b->slower);
}

int main(int argc, char **argv) {
    static bench b;
    const char *folder = SIS_SOURCE_DIR "/../shared/data/zoo";
    const char *built = SIS_BINARY_DIR
        "/ort/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1";
    b.given = 1;
    b.names = calloc((size_t)argc, sizeof *b.names);
    for (int i = 1; b.names && i < argc; i++) {
        if (strcmp(argv[i], "--seconds") == 0 && i + 1 < argc)
            b.given = atof(argv[++i]);
        else if (strcmp(argv[i], "--folder") == 0 && i + 1 < argc)
            folder = argv[++i];
        else
            b.names[b.n_names++] = argv[i];
    }
    if (!getenv("SIS_ORT") && access(built, R_OK) == 0)
        setenv("SIS_ORT", built, 1);
    printf("one core each; masked copies a second; ORT: ONNX Runtime; selection in seconds\n");
    printf("%-32s %-13s %6s %-10s %11s %11s %11s %8s %8s %9s\n", "model", "kind", "p", "walk",
           "selection/s", "batches/s", "ORT/s", "/ORT", "/batches", "selection");
    if (zoo_each(folder, run, &b) < 0)
        printf("skipped: there is no zoo of models beside the checkout\n");
    else
        show_medians(&b);
    free(b.names);
    return 0;
}
