/* SPDX-License-Identifier: MIT
 *
 * Size and time of minimal subsets that hold for every value of all other features, for each
 * instance of the models of a published benchmark of formal explanations, next to the published
 * sizes and times.
 *
 *     bench_prove [--smallest SECONDS [INSTANCES]] [FOLDER] [NAME...]
 *
 * The default is the folder beside the checkout and all its models. --smallest looks for subsets of
 * the fewest features instead, for at most SECONDS an instance and INSTANCES of each model
 * (default: all).
 *
 * FOLDER holds NAME.json (XGBoost), NAME.csv (instances) and NAME.xreason.tsv (size, seconds).
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/error.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/parallel.h"
#include "prove/sets.h"
#include "prove/trees.h"

static const char *const all_names[] = {"ann-thyroid", "appendicitis",     "divorce", "glass2",
                                        "promoters",   "shuttle",          "sonar",   "spambase",
                                        "texture",     "threeOf9",         "twonorm", "vowel",
                                        "wdbc",        "wine-recognition", "zoo"};

static double smallest_seconds; /* 0: any minimal one */
static size_t max_instances = SIZE_MAX;

typedef struct {
    sis__booster b;
    sis__prover *prover;
    sis_data *rows;
    size_t n;
    size_t *sizes;         /* (n) */
    double *seconds;       /* (n) */
    unsigned char *proved; /* (n) */
} model;

static void fail(const char *name) {
    fprintf(stderr, "%s: %s\n", name, sis_error_detail());
    exit(1);
}

/* The decision of a row: the highest output, or the sign of a single output. */
static sis__prove_question decision_of(const model *m, double *row) {
    const sis__forest *f = &m->b.forest;
    double sums[64];
    unsigned char seen[64];
    sis__prove_question q = {.row = row, .n_features = f->width, .what = SIS__PROVE_CLASS};
    for (size_t j = 0; j < f->width; j++)
        row[j] = (double)(float)row[j];
    sis__forest_sums(f, row, sums, seen);
    for (size_t k = 1; k < f->n_sums; k++)
        if (sums[k] > sums[q.output])
            q.output = k;
    if (f->n_sums == 1)
        q.what = sums[0] >= 0 ? SIS__PROVE_AT_LEAST : SIS__PROVE_AT_MOST;
    return q;
}

/* A subset of the fewest features; *proved: no subset has fewer. */
static int find_smallest(sis__sets *sets, const int *order, unsigned char *kept, int *proved) {
    sis__family none = {.n_features = sets->o->n_features}, contrasts = none;
    int found, minimal;
    sets->o->deadline = sis__seconds() + smallest_seconds;
    int error = sis__sets_smallest(sets, order, &none, &contrasts, kept, &found, &minimal);
    *proved = found == 1;
    sis__family_release(&contrasts);
    return error;
}

static int prove_one(void *ctx, size_t i, int worker) {
    model *m = (model *)ctx;
    size_t width = m->b.forest.width;
    double *row = calloc(width, sizeof *row), began = sis__seconds();
    int *order = calloc(width, sizeof *order), proved = 0;
    unsigned char *kept = calloc(width, 1);
    (void)worker;
    sis__oracle *o = NULL;
    sis__sets sets = {0};
    int error = row && order && kept ? sis_data_values(m->rows, i, row) : SIS_E_NOMEM;
    sis__prove_question q = error ? (sis__prove_question){0} : decision_of(m, row);
    if (!error)
        error = sis__trees_oracle(m->prover, &q, &o);
    if (!error)
        error = sis__sets_init(&sets, o);
    if (!error)
        error = sis__sets_order(&sets, order);
    if (!error) {
        memset(kept, 1, width);
        error = smallest_seconds > 0 ? find_smallest(&sets, order, kept, &proved)
                                     : sis__sets_minimal(&sets, order, kept, &proved);
    }
    sis__sets_release(&sets);
    sis__oracle_free(o);
    for (size_t j = 0; !error && j < width; j++)
        m->sizes[i] += kept[j];
    m->proved[i] = (unsigned char)proved;
    m->seconds[i] = sis__seconds() - began;
    free(row);
    free(order);
    free(kept);
    return error;
}

static int open_one(model *m, const char *folder, const char *name) {
    char path[4096], *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/%s.json", folder, name);
    int error = sis__file_read(path, &bytes, &n);
    if (!error)
        error = sis__xgboost_parse(bytes, n, &m->b);
    free(bytes);
    snprintf(path, sizeof path, "%s/%s.csv", folder, name);
    if (!error)
        error = sis__prover_new(&m->b, &m->prover);
    return error ? error : sis_data_read(path, NULL, &m->rows);
}

/* Sums of the sizes and seconds of the published explanations. */
static void read_published(const char *folder, const char *name, size_t n, double *size,
                           double *seconds) {
    char path[4096], line[256];
    double a, b;
    *size = *seconds = 0;
    snprintf(path, sizeof path, "%s/%s.xreason.tsv", folder, name);
    FILE *f = fopen(path, "r");
    while (f && n > 0 && fgets(line, sizeof line, f))
        if (sscanf(line, "%lf %lf", &a, &b) == 2) {
            n--;
            *size += a;
            *seconds += b;
        }
    if (f)
        fclose(f);
}

/* Adds {instances, size, published size} to `all`. */
static void run_one(const char *folder, const char *name, double all[3]) {
    model m = {0};
    double size = 0, worst = 0, cpu = 0, published, published_seconds;
    size_t open = 0;
    if (open_one(&m, folder, name))
        fail(name);
    m.n = sis_data_count(m.rows);
    m.n = m.n < max_instances ? m.n : max_instances;
    m.sizes = calloc(m.n, sizeof *m.sizes);
    m.seconds = calloc(m.n, sizeof *m.seconds);
    m.proved = calloc(m.n, 1);
    if (!m.sizes || !m.seconds || !m.proved || m.b.forest.n_sums > 64 ||
        sis__parallel(sis__cores(), m.n, prove_one, &m))
        fail(name);
    for (size_t i = 0; i < m.n; i++) {
        size += (double)m.sizes[i];
        cpu += m.seconds[i];
        worst = fmax(worst, m.seconds[i]);
        open += !m.proved[i];
    }
    read_published(folder, name, m.n, &published, &published_seconds);
    double n = (double)m.n;
    printf("%-17s %4zu instances  size %5.2f (published %5.2f)  s each %.4f (published %6.3f)  "
           "slowest %.3f",
           name, m.n, size / n, published / n, cpu / n, published_seconds / n, worst);
    if (open)
        printf("  %zu NOT PROVED", open);
    printf("\n");
    fflush(stdout);
    all[0] += n;
    all[1] += size;
    all[2] += published;
    sis_data_free(m.rows);
    sis__prover_free(m.prover);
    sis__booster_release(&m.b);
    free(m.sizes);
    free(m.seconds);
    free(m.proved);
}

int main(int argc, char **argv) {
    if (argc > 2 && strcmp(argv[1], "--smallest") == 0) {
        int counted = argc > 3 && strspn(argv[3], "0123456789") == strlen(argv[3]);
        smallest_seconds = atof(argv[2]);
        max_instances = counted ? strtoul(argv[3], NULL, 10) : SIZE_MAX;
        argc -= 2 + counted;
        argv += 2 + counted;
    }
    const char *folder = argc > 1 ? argv[1] : SIS_SOURCE_DIR "/../shared/data/trees/xreason";
    char path[4096], head[8];
    double all[3] = {0}, began = sis__seconds();
    snprintf(path, sizeof path, "%s/zoo.json", folder);
    if (sis__file_head(path, head, sizeof head) == 0) {
        printf("skipped: no models in %s\n", folder);
        return 0;
    }
    size_t n = argc > 2 ? (size_t)argc - 2 : sizeof all_names / sizeof *all_names;
    for (size_t i = 0; i < n; i++)
        run_one(folder, argc > 2 ? argv[i + 2] : all_names[i], all);
    printf("%.0f instances in %.1f s on %d threads: mean size %.3f, published %.3f\n", all[0],
           sis__seconds() - began, sis__cores(), all[1] / all[0], all[2] / all[0]);
    return 0;
}
