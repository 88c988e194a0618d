/* SPDX-License-Identifier: MIT
 *
 * A program that fills every struct with a size; abi.sh compiles it with the headers and with shorter ones.
 *   abi MODEL DATA
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/task.h>

enum { GUARD = 64, N = 6 };

/* A struct, and bytes behind it that nobody may write to. */
#define GUARDED(type, name)                                                                        \
    struct {                                                                                       \
        type it;                                                                                   \
        unsigned char guard[GUARD];                                                                \
    } name;                                                                                        \
    memset(&name, 0xA5, sizeof name)
#define CHECK(name) check(name.guard, #name)

static void check(const unsigned char *guard, const char *name) {
    for (size_t i = 0; i < GUARD; i++)
        if (guard[i] != 0xA5) {
            printf("the library wrote behind %s\n", name);
            exit(1);
        }
}

static void must(int error) {
    if (error < 0) {
        printf("%s\n", sis_error_detail());
        exit(1);
    }
}

static int sum(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t v = 0; v < width; v++)
            scores[i] += rows[i * width + v] * (double)(1 + v % 3);
    }
    return 0;
}

static const double VALUES[2 * N] = {1, 2, 0, 1, 3, 1, 2, 2, 2, 1, 0, 1}, ZEROS[N] = {0};

/* Options and model are copied, as a program may. */
static int find(void *ctx, size_t i, const sis_model *model, const sis_opt *opt,
                sis_collection *out) {
    GUARDED(sis_model, m);
    GUARDED(sis_opt, o);
    m.it = *model;
    o.it = *opt;
    o.it.max_subsets = 2;
    int error = sis_collect(&m.it, &((const sis_input *)ctx)[i], &o.it, out);
    CHECK(m);
    CHECK(o);
    return error;
}

static int print(void *ctx, size_t i, const sis_collection *c) {
    (void)ctx;
    printf("%zu: %g of %zu features, %zu subsets:", i, c->score, c->n_features, c->n_subsets);
    for (size_t k = 0; k < c->n_subsets; k++)
        for (size_t f = 0; f < c->subsets[k].n; f++)
            printf("%s%d", f ? " " : k ? ", " : " ", c->subsets[k].features[f]);
    printf("\n");
    return 0;
}

static void collect(void) {
    GUARDED(sis_model, m);
    GUARDED(sis_opt, o);
    const sis_input inputs[2] = {{.values = VALUES, .mask = ZEROS, .n_values = N},
                                 {.values = VALUES + N, .mask = ZEROS, .n_values = N}};
    sis_model_init(&m.it);
    m.it.predict = sum;
    m.it.n_outputs = 1;
    m.it.worker_new = sis_worker_share;
    sis_opt_init(&o.it);
    o.it.threshold = 5;
    o.it.jobs = 2;
    must(sis_find_many(&m.it, inputs, 2, &o.it, &(sis_finder){find, print, (void *)inputs}));
    o.it.max_subsets = 1;
    must(sis_collect_many(&m.it, inputs, 2, &o.it, print, NULL));
    double scores[2];
    must(sis_predict(&m.it, inputs, 2, &o.it, scores));
    printf("scores %g %g\n", scores[0], scores[1]);
    CHECK(m);
    CHECK(o);
}

static void explain(const sis_task_opt *o) {
    sis_task *task;
    sis_record r;
    must(sis_task_open(o, &task));
    int got;
    while ((got = sis_task_next(task, &r)) == 1) {
        char *line;
        size_t n;
        r.collection.seconds = 0;
        must(sis_record_format(&r, 1, &line, &n));
        fputs(line, stdout);
        free(line);
    }
    must(got);
    sis_task_free(task);
}

static void tasks(const char *model, const char *input) {
    GUARDED(sis_task_opt, o);
    GUARDED(sis_model, m);
    GUARDED(sis_data_opt, d);
    GUARDED(sis_model_opt, open);
    sis_task_opt_init(&o.it);
    o.it.model.spec = model;
    o.it.model.open.timeout = 7;
    o.it.examples.input = input;
    o.it.examples.rows = "0:3";
    o.it.examples.read.categorical = 1;
    o.it.question.mask = "mean";
    o.it.question.threshold = "0.6";
    o.it.answer.search.max_subsets = 2;
    o.it.answer.search.jobs = 2;
    o.it.answer.keep_going = 1;
    sis_data *data;
    sis_data_opt_init(&d.it);
    d.it.categorical = 1;
    must(sis_data_read(input, &d.it, &data));
    o.it.question.background = data;
    explain(&o.it);
    sis_model_opt_init(&open.it);
    open.it.jobs = 2;
    must(sis_model_open(model, &open.it, &m.it));
    o.it.model.opened = &m.it;
    o.it.answer.method = "quick";
    explain(&o.it);
    sis_model_close(&m.it);
    must(sis_task_open_model(&o.it, &m.it));
    sis_model_close(&m.it);
    sis_data_free(data);
    CHECK(o);
    CHECK(m);
    CHECK(d);
    CHECK(open);
}

/* Structs whose size nobody set. */
static void refused(void) {
    const sis_opt none = {.threshold = 1};
    const sis_data_opt columns = {.categorical = 1};
    const sis_model without = {.predict = sum, .n_outputs = 1};
    const sis_input input = {.values = VALUES, .mask = ZEROS, .n_values = N};
    sis_model m;
    sis_opt o;
    sis_task_opt t;
    sis_collection c;
    sis_data *data;
    sis_task *task;
    sis_model_init(&m);
    m.predict = sum;
    m.n_outputs = 1;
    sis_opt_init(&o);
    o.threshold = 1;
    sis_task_opt_init(&t);
    memset(&t.answer.search, 0, sizeof t.answer.search);
#define REFUSED(call) printf("%d: %s\n", call, sis_error_detail())
    REFUSED(sis_collect(&m, &input, &none, &c));
    REFUSED(sis_collect(&without, &input, &o, &c));
    REFUSED(sis_data_read("none.csv", &columns, &data));
    REFUSED(sis_task_open(&t, &task));
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    fprintf(stderr, "%zu %zu %zu %zu %zu\n", sizeof(sis_opt), sizeof(sis_data_opt),
            sizeof(sis_model), sizeof(sis_task_question_opt), sizeof(sis_model_opt));
    collect();
    tasks(argv[1], argv[2]);
    refused();
    return 0;
}
