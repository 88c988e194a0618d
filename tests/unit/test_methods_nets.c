/* SPDX-License-Identifier: MIT
 *
 * Attributions of integrated gradients add up on every shipped network, and on networks with
 * embeddings.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/explain.h>
#include <sis/model.h>
#include <sis/net.h>
#include <sis/text.h>

#include "base/rng.h"
#include "support_net.h"

#ifdef __SANITIZE_ADDRESS__
enum { EXAMPLES = 1 }; /* ten times slower */
#else
enum { EXAMPLES = 3 };
#endif

/* A network of models/ and an input to it. */
typedef struct {
    sis_model model;
    const sis_net *net;
    sis_input input;
    double *x, *z;
    int *map;
} shipped;

static void open_shipped(shipped *s, const char *name) {
    char path[512];
    *s = (shipped){0};
    snprintf(path, sizeof path, "%s/models/%s", SIS_SOURCE_DIR, name);
    if (sis_model_open(path, NULL, &s->model) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    s->net = sis_model_net(&s->model);
    size_t n = s->model.n_values, given;
    const float *mask = sis_net_mask(s->net, &given);
    assert_true(n > 0);
    s->x = calloc(n, sizeof *s->x);
    s->z = calloc(n, sizeof *s->z);
    s->map = calloc(n, sizeof *s->map);
    for (size_t i = 0; i < n; i++) {
        s->z[i] = s->model.embed ? SIS_TOKEN_MASK : mask && given == n ? mask[i] : 0;
        s->map[i] = (int)i;
    }
    s->input = (sis_input){.values = s->x, .mask = s->z, .n_values = n, .feature_of = s->map};
}

static void close_shipped(shipped *s) {
    sis_model_close(&s->model);
    free(s->x);
    free(s->z);
    free(s->map);
}

/* Explain the model's own choice by ig and compare the sum with the scores. */
static void assert_complete(shipped *s, const char *what) {
    double scores[16], best = 0;
    sis_opt opt = decision(0);
    assert_int_equal(sis_predict(&s->model, &s->input, 1, &opt, scores), SIS_OK);
    for (size_t k = 0; k < s->model.n_outputs; k++)
        if (scores[k] > best) {
            best = scores[k];
            s->input.output = k;
        }
    opt.threshold = best * 0.95;
    sis_rationale r;
    sis_method_opt how = method_opt(SIS_METHOD_IG);
    if (rounds(6) < 6 && (s->model.embed || s->model.n_outputs > 2))
        how.steps = 100; /* texts and digits are slow */
    if (sis_explain(&s->model, &s->input, &opt, &how, &r) != SIS_OK)
        fail_msg("%s: %s", what, sis_error_detail());
    assert_int_equal(r.collection.status, SIS_STATUS_EXPLAINED);
    double difference = r.collection.score - r.collection.masked_score;
    print_message("%s: score %.4f, masked %.4f, ig off by %.3f %%\n", what, r.collection.score,
                  r.collection.masked_score, 100 * sis_rationale_error(&r));
    assert_true(fabs(difference) > 0.1);
    assert_true(fabs(r.difference - difference) < 1e-5);
    assert_true(sis_rationale_error(&r) < 0.01);
    double sum = 0;
    for (size_t f = 0; f < r.collection.n_features; f++)
        sum += r.attributions[f];
    assert_true(fabs(sum - r.sum) < 1e-9);
    sis_rationale_release(&r);
}

/* Strokes of a digit on 28 x 28: "10,4 17,4 17,22" goes from point to point, x,y. */
static void draw(double *image, const char *strokes) {
    double x0, y0, x1, y1;
    int used;
    memset(image, 0, 784 * sizeof *image);
    assert_int_equal(sscanf(strokes, "%lf,%lf%n", &x0, &y0, &used), 2);
    for (strokes += used; sscanf(strokes, " %lf,%lf%n", &x1, &y1, &used) == 2; strokes += used) {
        for (int k = 0; k <= 60; k++) {
            double x = x0 + (x1 - x0) * k / 60, y = y0 + (y1 - y0) * k / 60;
            for (int row = 0; row < 28; row++)
                for (int col = 0; col < 28; col++) {
                    double d = hypot(col - x, row - y), ink = d < 1 ? 1 : d < 2 ? 2 - d : 0;
                    double *at = &image[row * 28 + col];
                    *at = ink > *at ? ink : *at;
                }
        }
        x0 = x1, y0 = y1;
    }
}

static void ig_adds_up_on_digits(void **state) {
    (void)state;
    static const char *const digits[] = {"14,4 14,23", "8,6 20,6 12,23", "9,6 19,6 10,22 20,22",
                                         "9,5 9,13 19,13 19,5 19,23",
                                         "14,5 9,9 9,18 14,22 19,18 19,9 14,5"};
    static const char *const models[] = {"mnist-mlp.onnx", "mnist-cnn.onnx"};
    for (size_t m = 0; m < 2; m++) {
        shipped s;
        open_shipped(&s, models[m]);
        for (size_t d = 0; d < (m ? EXAMPLES : rounds(sizeof digits / sizeof *digits)); d++) {
            char what[64];
            snprintf(what, sizeof what, "%s, drawing %zu", models[m], d);
            draw(s.x, digits[d]);
            assert_complete(&s, what);
        }
        close_shipped(&s);
    }
}

static void ig_adds_up_on_dna(void **state) {
    (void)state;
    shipped s;
    sis__rng r;
    sis__rng_init(&r, 3);
    open_shipped(&s, "dna-ctcf.onnx");
    sis_net_shape shape;
    sis_net_input_shape(s.net, &shape);
    size_t n = s.model.n_values / 4;
    int bases_first = shape.dims[0] == 4;
    for (size_t round = 0; round < rounds(12); round++) {
        const char *motif = "TGGCCACCAGGGGGCGCTA";
        memset(s.x, 0, s.model.n_values * sizeof *s.x);
        for (size_t p = 0; p < n; p++) {
            size_t base = sis__rng_below(&r, 4), start = 40;
            if (p >= start && p < start + strlen(motif))
                base = (size_t)(strchr("ACGT", motif[p - start]) - "ACGT");
            for (size_t b = 0; b < 4; b++) {
                size_t at = bases_first ? b * n + p : p * 4 + b;
                s.x[at] = b == base;
                s.z[at] = 0.25;
                s.map[at] = (int)p;
            }
        }
        assert_complete(&s, "dna-ctcf.onnx");
    }
    close_shipped(&s);
}

static void ig_adds_up_on_texts(void **state) {
    (void)state;
    static const char *const texts[] = {
        "an excellent film the best i have seen with wonderful acting",
        "great fun and beautifully made i loved it",
        "it has some dull moments but it is a superb and touching story that i enjoyed"};
    shipped s;
    open_shipped(&s, "imdb-cnn.onnx");
    sis_vocabulary *v;
    const char *json = sis_net_meta_get(s.net, SIS_NET_META_VOCABULARY);
    assert_int_equal(sis_vocabulary_parse(json, &v), SIS_OK);
    for (size_t i = 0; i < EXAMPLES; i++) {
        sis_words words = {0};
        int feature = 0;
        assert_int_equal(sis_words_split(texts[i], &words), SIS_OK);
        sis_vocabulary_encode(v, &words, s.model.n_values, s.x, NULL);
        for (size_t k = 0; k < s.model.n_values; k++)
            s.map[k] = s.x[k] == 0 ? -1 : feature++;
        assert_complete(&s, "imdb-cnn.onnx");
        sis_words_release(&words);
    }
    sis_vocabulary_free(v);
    close_shipped(&s);
}

static void ig_adds_up_on_tables(void **state) {
    (void)state;
    static const double rows[][8] = {{34, 52000, 4000, 12000, 0, 3, 8, 0.15},
                                     {51, 30000, 2500, 61000, 0, 4, 27, 0.05}};
    shipped s;
    open_shipped(&s, "credit.onnx");
    assert_int_equal(s.model.n_values, 8);
    size_t n;
    assert_non_null(sis_net_mask(s.net, &n));
    for (size_t i = 0; i < 2; i++) {
        memcpy(s.x, rows[i], sizeof rows[i]);
        double score;
        sis_opt opt = decision(0);
        assert_int_equal(sis_predict(&s.model, &s.input, 1, &opt, &score), SIS_OK);
        print_message("credit row %zu: %.4f\n", i, score);
        assert_complete(&s, "credit.onnx");
    }
    close_shipped(&s);
}

/* ---- Tokens ---------------------------------------------------------------------------------- */

typedef struct {
    const sis_model *model;
    double *x, *z;
} token_case;

static int explain_tokens(void *ctx) {
    const token_case *t = (const token_case *)ctx;
    sis_input input = {.values = t->x, .mask = t->z, .n_values = t->model->n_values};
    sis_opt opt = decision(0);
    sis_method_opt how = method_opt(SIS_METHOD_IG);
    how.steps = 2;
    sis_rationale r;
    opt.threshold = 0;
    opt.below = 1;
    int error = sis_explain(t->model, &input, &opt, &how, &r);
    sis_rationale_release(&r);
    return error;
}

static void token_models_take_slopes_in_embeddings(void **state) {
    (void)state;
    size_t tried = 0;
    for (size_t k = 0; k < n_families; k++) {
        if (strcmp(families[k].name, "text") != 0 && strcmp(families[k].name, "lstm") != 0)
            continue;
        sis_net *net;
        sis_model model;
        assert_int_equal(families[k].build(2, &net), SIS_OK);
        size_t n_values;
        sis__rng r;
        sis__rng_init(&r, 5);
        float *row = random_rows(net, &r, 1, &n_values);
        int tokens = sis_net_is_token(net);
        open_network(net, &model);
        double *x = calloc(2 * n_values, sizeof *x), score, masked;
        for (size_t v = 0; v < n_values; v++) {
            x[v] = row[v];
            x[n_values + v] = SIS_TOKEN_MASK;
        }
        free(row);
        sis_input input = {.values = x, .mask = x + n_values, .n_values = n_values};
        sis_input all = {.values = x + n_values, .n_values = n_values};
        sis_opt opt = decision(0);
        if (tokens && model.n_outputs == 1) {
            tried++;
            assert_int_equal(sis_predict(&model, &input, 1, &opt, &score), SIS_OK);
            assert_int_equal(sis_predict(&model, &all, 1, &opt, &masked), SIS_OK);
            opt.below = score < masked;
            opt.threshold = (score + masked) / 2;
            sis_method_opt how = method_opt(SIS_METHOD_IG);
            sis_rationale found;
            assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
            assert_true(fabs(found.difference - (score - masked)) < 1e-6);
            assert_true(sis_rationale_error(&found) < 0.01);
            sis_rationale_release(&found);
            token_case t = {&model, x, x + n_values};
            with_failing_allocations(explain_tokens, &t);
            for (size_t v = 0; v < n_values; v++)
                x[n_values + v] = NAN; /* removed */
            assert_int_equal(sis_predict(&model, &all, 1, &opt, &masked), SIS_OK);
            opt.below = score < masked;
            opt.threshold = (score + masked) / 2;
            assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_E_UNSUPPORTED);
            assert_message_has("cannot remove features");
        }
        sis_model_close(&model);
        free(x);
    }
    assert_true(tried > 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ig_adds_up_on_digits),
        cmocka_unit_test(ig_adds_up_on_dna),
        cmocka_unit_test(ig_adds_up_on_texts),
        cmocka_unit_test(ig_adds_up_on_tables),
        cmocka_unit_test(token_models_take_slopes_in_embeddings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
