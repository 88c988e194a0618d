/* SPDX-License-Identifier: MIT
 *
 * ONNX files as models: token ids with masked tokens as embeddings, by walks and on several
 * threads; and errors in inputs and masks.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/handle.h>
#include <sis/model.h>
#include <sis/net.h>
#include <sis/walk.h>

#include "base/rng.h"
#include "model/network.h"
#include "support_net.h"

enum { INPUTS = 5 };

/* A network of a family as a model, opened from a file, and rows for it. */
typedef struct {
    sis_model model;
    size_t n; /* values of a row */
    double *rows, *mask;
    sis_input inputs[INPUTS];
    sis_opt opt;
} subject;

static void subject_open(subject *s, const char *name) {
    char path[512];
    sis_net *net = NULL;
    sis__rng r;
    sis__rng_init(&r, 11);
    for (size_t k = 0; k < n_families; k++)
        if (strcmp(families[k].name, name) == 0)
            assert_int_equal(families[k].build(3, &net), SIS_OK);
    assert_non_null(net);
    float *rows = random_rows(net, &r, INPUTS, &s->n);
    snprintf(path, sizeof path, "%s/tests/network_%ld.onnx", SIS_BINARY_DIR, (long)getpid());
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    assert_int_equal(sis_model_open(path, NULL, &s->model), SIS_OK);
    remove(path);
    sis_net_free(net);
    ((network_model *)s->model.ctx)->always_walk = 1;
    s->rows = (double *)calloc(INPUTS * s->n, sizeof *s->rows);
    s->mask = (double *)calloc(s->n, sizeof *s->mask);
    for (size_t i = 0; i < INPUTS * s->n; i++)
        s->rows[i] = rows[i];
    for (size_t v = 0; v < s->n; v++)
        s->mask[v] = SIS_TOKEN_MASK;
    for (size_t i = 0; i < INPUTS; i++)
        s->inputs[i] = (sis_input){.values = s->rows + i * s->n, .mask = s->mask, .n_values = s->n};
    free(rows);
}

static void subject_close(subject *s) {
    sis_model_close(&s->model);
    free(s->rows);
    free(s->mask);
}

/* The midpoint between the scores of an input and of its mask, in the direction of the decision. */
static sis_opt between(const subject *s, const sis_input *in) {
    sis_opt opt;
    double score, masked;
    sis_opt_init(&opt);
    assert_int_equal(s->model.n_outputs, 1);
    sis_input all = {.values = s->mask, .n_values = s->n};
    assert_int_equal(sis_predict(&s->model, in, 1, &opt, &score), SIS_OK);
    assert_int_equal(sis_predict(&s->model, &all, 1, &opt, &masked), SIS_OK);
    opt.threshold = (score + masked) / 2;
    opt.below = score < masked;
    return opt;
}

static void token_walks_equal_full_passes(void **state) {
    (void)state;
    static const char *const names[] = {"text", "lstm"};
    size_t found = 0;
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        subject s;
        subject_open(&s, names[k]);
        for (size_t i = 0; i < INPUTS; i++) {
            sis_opt opt = between(&s, &s.inputs[i]);
            sis_collection walked, passed;
            sis_walk *w = NULL;
            assert_int_equal(s.model.walk_new(s.model.ctx, &s.inputs[i], opt.memory, &w), SIS_OK);
            assert_non_null(w); /* the network's own, behind the embedding */
            w->ops->free(w);
            assert_int_equal(sis_collect(&s.model, &s.inputs[i], &opt, &walked), SIS_OK);
            opt.exact = 1;
            assert_int_equal(sis_collect(&s.model, &s.inputs[i], &opt, &passed), SIS_OK);
            assert_same_subsets(&walked, &passed);
            assert_int_equal(walked.verified, 1);
            found += walked.n_subsets;
            sis_collection_release(&walked);
            sis_collection_release(&passed);
        }
        subject_close(&s);
    }
    assert_true(found >= 4);
}

static void removed_tokens_are_predicted_without_a_walk(void **state) {
    (void)state;
    subject s;
    sis_walk *w = NULL;
    sis_collection c;
    subject_open(&s, "text");
    for (size_t v = 0; v < s.n; v++)
        s.mask[v] = NAN;
    sis_opt opt = between(&s, &s.inputs[0]);
    assert_int_equal(s.model.walk_new(s.model.ctx, &s.inputs[0], opt.memory, &w),
                     SIS_E_UNSUPPORTED);
    assert_int_equal(sis_collect(&s.model, &s.inputs[0], &opt, &c), SIS_OK);
    assert_int_equal(c.verified, 1);
    sis_collection_release(&c);
    subject_close(&s);
}

typedef struct {
    size_t n;
    const sis_collection *expected;
} seen;

static int look(void *ctx, size_t i, const sis_collection *c) {
    seen *s = (seen *)ctx;
    assert_int_equal(i, s->n++);
    assert_same_subsets(c, &s->expected[i]);
    return 0;
}

static void threads_have_separate_rows(void **state) {
    (void)state;
    subject s;
    sis_collection alone[INPUTS];
    subject_open(&s, "lstm");
    sis_opt opt = between(&s, &s.inputs[0]);
    for (size_t i = 0; i < INPUTS; i++)
        assert_int_equal(sis_collect(&s.model, &s.inputs[i], &opt, &alone[i]), SIS_OK);
    for (opt.jobs = 1; opt.jobs <= 3; opt.jobs++) {
        seen t = {.expected = alone};
        assert_int_equal(sis_collect_many(&s.model, s.inputs, INPUTS, &opt, look, &t), SIS_OK);
        assert_int_equal(t.n, INPUTS);
    }
    for (size_t i = 0; i < INPUTS; i++)
        sis_collection_release(&alone[i]);
    subject_close(&s);
}

static void the_embedding_of_a_masked_token_can_be_set(void **state) {
    (void)state;
    subject s;
    const float *matrix;
    size_t words, dim;
    double as_opened, as_word, other;
    subject_open(&s, "text");
    assert_int_equal(sis_net_embedding(sis_model_net(&s.model), &matrix, &words, &dim), SIS_OK);
    sis_opt opt = between(&s, &s.inputs[0]);
    sis_input masked = {.values = s.mask, .n_values = s.n}, same = masked;
    assert_int_equal(sis_predict(&s.model, &masked, 1, &opt, &as_opened), SIS_OK);

    double *embedding = (double *)calloc(dim + 1, sizeof *embedding);
    for (size_t i = 0; i < dim; i++)
        embedding[i] = matrix[2 * dim + i];
    assert_int_equal(sis_model_mask_token(&s.model, embedding, dim + 1), SIS_E_ARGUMENT);
    assert_int_equal(sis_model_mask_token(&s.model, embedding, dim), SIS_OK);
    assert_int_equal(sis_predict(&s.model, &masked, 1, &opt, &as_word), SIS_OK);
    for (size_t v = 0; v < s.n; v++)
        s.rows[v] = 2;
    same.values = s.rows;
    assert_int_equal(sis_predict(&s.model, &same, 1, &opt, &other), SIS_OK);
    assert_true(as_word == other && as_word != as_opened);
    free(embedding);
    subject_close(&s);

    double one = 1;
    subject_open(&s, "mlp");
    assert_int_equal(sis_model_mask_token(&s.model, &one, 1), SIS_E_ARGUMENT);
    assert_string_equal(sis_error_detail(),
                        "only token models have an embedding for masked tokens");
    subject_close(&s);
}

static void ids_outside_the_vocabulary_are_refused(void **state) {
    (void)state;
    static const double wrong[] = {-2, 0.5, 1e9, INFINITY};
    subject s;
    sis_opt opt;
    double score;
    sis_opt_init(&opt);
    subject_open(&s, "text");
    for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
        s.rows[1] = wrong[k];
        assert_int_equal(sis_predict(&s.model, &s.inputs[0], 1, &opt, &score), SIS_E_ARGUMENT);
        assert_message_has("at position 1: the model takes whole numbers");
    }
    subject_close(&s);
}

static void files_that_are_not_models_are_refused(void **state) {
    (void)state;
    sis_model model;
    assert_int_equal(sis_model_open("/nowhere/absent.onnx", NULL, &model), SIS_E_IO);
    assert_null(model.predict);
    sis_model_close(&model);
}

static int walk_tokens(void *ctx) {
    subject *s = (subject *)ctx;
    sis_walk *w = NULL;
    int error = sis_walk_new(&s->model, &s->inputs[0], &s->opt, &w);
    sis_walk_free(w);
    return error;
}

static void walks_without_memory_are_refused(void **state) {
    (void)state;
    subject s;
    subject_open(&s, "text");
    s.opt = between(&s, &s.inputs[0]);
    assert_true(with_failing_allocations(walk_tokens, &s) > 10);
    subject_close(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(token_walks_equal_full_passes),
        cmocka_unit_test(removed_tokens_are_predicted_without_a_walk),
        cmocka_unit_test(threads_have_separate_rows),
        cmocka_unit_test(the_embedding_of_a_masked_token_can_be_set),
        cmocka_unit_test(ids_outside_the_vocabulary_are_refused),
        cmocka_unit_test(files_that_are_not_models_are_refused),
        cmocka_unit_test(walks_without_memory_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
