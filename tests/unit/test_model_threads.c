/* SPDX-License-Identifier: MIT
 *
 * One open model and many threads: each explains a decision and must find what a single thread
 * finds. Also built with ThreadSanitizer, so it uses only the public API.
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>

enum { MAX_THREADS = 64 };

/* Input and result of a thread. */
typedef struct {
    const sis_model *model;
    const sis_input *input;
    double threshold;
    int below, exact;
    pthread_barrier_t *start;
    int error;
    double scores[3];
    sis_collection found;
} explanation;

static void *explain(void *ctx) {
    explanation *e = (explanation *)ctx;
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = e->threshold;
    opt.below = e->below;
    opt.exact = e->exact;
    opt.max_subsets = 1;
    opt.memory = (size_t)16 << 20;
    if (e->start)
        pthread_barrier_wait(e->start);
    e->error = sis_predict(e->model, e->input, 1, &opt, e->scores);
    if (e->error == SIS_OK)
        e->error = sis_collect(e->model, e->input, &opt, &e->found);
    return NULL;
}

static void assert_same(const explanation *a, const explanation *b) {
    assert_int_equal(a->error, SIS_OK);
    assert_memory_equal(a->scores, b->scores, sizeof a->scores);
    assert_int_equal(a->found.n_subsets, b->found.n_subsets);
    for (size_t k = 0; k < a->found.n_subsets; k++) {
        assert_int_equal(a->found.subsets[k].n, b->found.subsets[k].n);
        assert_memory_equal(a->found.subsets[k].features, b->found.subsets[k].features,
                            a->found.subsets[k].n * sizeof(int));
    }
}

/* Halfway between the score of the input and that of its mask. */
static explanation between(const sis_model *model, const sis_input *input) {
    sis_opt opt;
    double scores[2][3] = {{0}};
    sis_input both[] = {*input, *input};
    both[1].values = input->mask;
    sis_opt_init(&opt);
    assert_in_range(model->n_outputs, 1, 3);
    for (int i = 0; i < 2; i++)
        assert_int_equal(sis_predict(model, &both[i], 1, &opt, scores[i]), SIS_OK);
    return (explanation){.model = model,
                         .input = input,
                         .threshold = (scores[0][0] + scores[1][0]) / 2,
                         .below = scores[0][0] < scores[1][0]};
}

/* The same explanation by n threads at once; if `mixed`, every eighth by full passes. */
static void explain_together(const sis_model *model, const sis_input *input, size_t n, int mixed) {
    pthread_t threads[MAX_THREADS];
    pthread_barrier_t start;
    explanation alone = between(model, input), *all = (explanation *)calloc(n, sizeof *all);
    assert_non_null(all);
    assert_int_equal(pthread_barrier_init(&start, NULL, (unsigned)n), 0);
    for (size_t i = 0; i < n; i++) {
        all[i] = alone;
        all[i].start = &start;
        all[i].exact = mixed && i % 8 == 1;
        assert_int_equal(pthread_create(&threads[i], NULL, explain, &all[i]), 0);
    }
    for (size_t i = 0; i < n; i++)
        pthread_join(threads[i], NULL);
    explain(&alone);
    assert_int_equal(alone.found.n_subsets, 1);
    for (size_t i = 0; i < n; i++) {
        assert_same(&all[i], &alone);
        sis_collection_release(&all[i].found);
    }
    sis_collection_release(&alone.found);
    pthread_barrier_destroy(&start);
    free(all);
}

static void open_shipped(const char *name, sis_model *model) {
    char path[4096];
    snprintf(path, sizeof path, "%s/models/%s", SIS_SOURCE_DIR, name);
    assert_int_equal(sis_model_open(path, NULL, model), SIS_OK);
}

static void one_dna_network_serves_64_threads(void **state) {
    sis_model model;
    (void)state;
    open_shipped("dna-ctcf.onnx", &model);
    size_t n = model.n_values, length = n / 4;
    double *x = (double *)calloc(n, sizeof *x), *mask = (double *)calloc(n, sizeof *mask);
    int *feature_of = (int *)calloc(n, sizeof *feature_of);
    assert_true(x && mask && feature_of);
    for (size_t v = 0; v < n; v++) {
        size_t base = (v % length * 7 + v % length / 3) % 4;
        x[v] = base == v / length;
        mask[v] = 0.25;
        feature_of[v] = (int)(v % length / 4); /* four bases each: few features, short walks */
    }
    sis_input input = {.values = x, .mask = mask, .n_values = n, .feature_of = feature_of};
    explain_together(&model, &input, MAX_THREADS, 1);
    free(x);
    free(mask);
    free(feature_of);
    sis_model_close(&model);
}

static void one_network_of_tokens_serves_many_threads(void **state) {
    enum { WORDS = 8 };
    sis_model model;
    (void)state;
    open_shipped("imdb-cnn.onnx", &model);
    size_t n = model.n_values ? model.n_values : 64;
    double *ids = (double *)calloc(n, sizeof *ids), *mask = (double *)calloc(n, sizeof *mask);
    int *feature_of = (int *)calloc(n, sizeof *feature_of);
    assert_true(ids && mask && feature_of);
    for (size_t v = 0; v < n; v++) {
        int word = (int)v - (int)(n - WORDS);
        feature_of[v] = word >= 0 ? word : -1;
        ids[v] = word >= 0 ? 10 + 3 * word : 0;
        mask[v] = word >= 0 ? SIS_TOKEN_MASK : 0;
    }
    assert_int_equal(sis_model_measure(&model, ids, n), SIS_OK);
    sis_input input = {.values = ids, .mask = mask, .n_values = n, .feature_of = feature_of};
    explain_together(&model, &input, 8, 1);
    free(ids);
    free(mask);
    free(feature_of);
    sis_model_close(&model);
}

static void one_forest_serves_many_threads(void **state) {
    static const double x[] = {40, 16000, 18000, 100, 5, 3, 0, 0.95};
    static const double mask[] = {40, 80000, 500, 20000, 0, 3, 15, 0.05};
    const sis_input input = {.values = x, .mask = mask, .n_values = 8};
    sis_model model;
    (void)state;
    assert_int_equal(sis_model_open(SIS_SOURCE_DIR "/examples/credit-trees.json", NULL, &model),
                     SIS_OK);
    explain_together(&model, &input, 16, 1);
    sis_model_close(&model);
}

static void one_child_serves_many_threads(void **state) {
    static const double x[] = {1, 2, 3}, mask[] = {0, 0, 0};
    const sis_input input = {.values = x, .mask = mask, .n_values = 3};
    sis_model model;
    (void)state;
    /* Answers from the rows: three scores each. */
    assert_int_equal(sis_model_open("cmd:while IFS= read -r line; do printf '%s\\n' "
                                    "\"{\\\"outputs\\\"${line#*inputs\\\"}\"; done",
                                    NULL, &model),
                     SIS_OK);
    assert_int_equal(sis_model_measure(&model, x, 3), SIS_OK);
    explain_together(&model, &input, 16, 0);
    sis_model_close(&model);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_dna_network_serves_64_threads),
        cmocka_unit_test(one_network_of_tokens_serves_many_threads),
        cmocka_unit_test(one_forest_serves_many_threads),
        cmocka_unit_test(one_child_serves_many_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
