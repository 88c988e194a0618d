/* SPDX-License-Identifier: MIT
 *
 * Networks built, written, read back and asked: files, metadata, masks, labels, tokens, margins,
 * lengths, refusals, descriptions, and all of it with failing allocations.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/cache.h"
#include "net/proto.h"
#include "support_net.h"

static const family *find_family(const char *name) {
    for (size_t i = 0; i < n_families; i++)
        if (strcmp(families[i].name, name) == 0)
            return &families[i];
    return NULL;
}

static sis_net *build(const char *name) {
    sis_net *net;
    if (find_family(name)->build(1, &net) != 0)
        fail_msg("%s: %s", name, sis_error_detail());
    return net;
}

/* ---- Files --------------------------------------------------------------------------------- */

static void what_is_written_reads_back_equal(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        sis_net *net = build(families[i].name), *again;
        void *bytes, *bytes_again;
        size_t n, n_again, p;
        sis__rng r;
        sis__rng_init(&r, 4);
        assert_int_equal(sis_net_pack(net, &bytes, &n), 0);
        assert_int_equal(sis_net_parse(bytes, n, &again), 0);
        assert_int_equal(sis_net_pack(again, &bytes_again, &n_again), 0);
        assert_int_equal(n, n_again);
        assert_memory_equal(bytes, bytes_again, n);
        size_t k = sis_net_outputs(net);
        float *x = random_rows(net, &r, 3, &p), y[2][3 * 16];
        assert_true(k <= 16);
        sis_net_batch b = {x, 3, p, 0, 1};
        assert_int_equal(sis_net_forward(net, &b, y[0]), 0);
        assert_int_equal(sis_net_forward(again, &b, y[1]), 0);
        assert_memory_equal(y[0], y[1], 3 * k * sizeof(float));
        free(x);
        free(bytes);
        free(bytes_again);
        sis_net_free(net);
        sis_net_free(again);
    }
}

static void files_are_written_and_read(void **state) {
    (void)state;
    sis_net *net = build("mlp"), *again;
    char path[] = "/tmp/sis-net-XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(sis_net_write(net, path), 0);
    assert_int_equal(sis_net_read(path, &again), 0);
    sis_net_free(again);
    assert_int_equal(truncate(path, 100), 0);
    assert_int_equal(sis_net_read(path, &again), SIS_E_FORMAT);
    assert_non_null(strstr(sis_error_detail(), path)); /* says which file */
    assert_null(again);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(sis_net_read(path, &again), SIS_E_FORMAT);
    unlink(path);
    assert_int_equal(sis_net_read(path, &again), SIS_E_IO);
    assert_int_equal(sis_net_read("/", &again), SIS_E_IO);
    assert_int_equal(sis_net_write(net, "/nowhere/at/all"), SIS_E_IO);
    sis_net_free(net);
}

/* ---- What a model carries ----------------------------------------------------------------------
 */

static sis_net *round_trip(sis_net *net) {
    void *bytes;
    size_t n;
    sis_net *again;
    assert_int_equal(sis_net_pack(net, &bytes, &n), 0);
    assert_int_equal(sis_net_parse(bytes, n, &again), 0);
    free(bytes);
    sis_net_free(net);
    return again;
}

static void metadata_and_mask_travel_with_the_model(void **state) {
    (void)state;
    sis_net *net = build("cnn");
    size_t n, p = sis_net_values(net);
    float *mask = (float *)calloc(p, sizeof *mask);
    assert_null(sis_net_meta_get(net, SIS_NET_META_KIND));
    assert_null(sis_net_mask(net, &n));
    assert_int_equal(n, 0);
    mask[3] = 0.25f;
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    size_t params = sis_net_params(net);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_KIND, "image"), 0);
    assert_int_equal(sis_net_meta_set(net, "other", "1"), 0);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_LABELS, "[\"cat\",\"dog\"]"), 0);
    assert_int_equal(sis_net_mask_set(net, mask, &shape), 0);
    net = round_trip(net);
    assert_string_equal(sis_net_meta_get(net, SIS_NET_META_KIND), "image");
    assert_int_equal(sis_net_meta_count(net), 3);
    assert_string_equal(sis_net_meta_key(net, 1), "other");
    assert_null(sis_net_meta_key(net, 3));
    const float *kept = sis_net_mask(net, &n);
    assert_int_equal(n, p);
    assert_memory_equal(kept, mask, p * sizeof *mask);
    assert_int_equal(sis_net_params(net), params); /* the mask is none */
    mask[3] = 0.5f;
    assert_int_equal(sis_net_mask_set(net, mask, &shape), 0);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_KIND, "picture"), 0);
    assert_int_equal(sis_net_meta_set(net, "other", NULL), 0);
    assert_int_equal(sis_net_meta_set(net, "never there", NULL), 0);
    net = round_trip(net);
    assert_string_equal(sis_net_meta_get(net, SIS_NET_META_KIND), "picture");
    assert_null(sis_net_meta_get(net, "other"));
    assert_true(sis_net_mask(net, &n)[3] == 0.5f);
    char label[8];
    assert_int_equal(sis_net_label(net, 1, label, sizeof label), 0);
    assert_string_equal(label, "dog");
    assert_int_equal(sis_net_label(net, 2, label, sizeof label), SIS_E_ARGUMENT);
    free(mask);
    sis_net_free(net);
}

static void classifiers_know_their_labels(void **state) {
    (void)state;
    char label[16];
    sis_net *net = build("logistic");
    assert_int_equal(sis_net_label(net, 2, label, sizeof label), 0);
    assert_string_equal(label, "virginica");
    sis_net_free(net);
    net = build("trees");
    assert_int_equal(sis_net_label(net, 1, label, sizeof label), 0);
    assert_string_equal(label, "9");
    sis_net_free(net);
}

/* ---- Questions ----------------------------------------------------------------------------- */

static void token_models_start_at_ids_or_embeddings(void **state) {
    (void)state;
    const char *const names[] = {"text", "lstm", "bilstm", "gru"};
    for (size_t f = 0; f < 4; f++) {
        sis_net *net = build(names[f]);
        const float *matrix;
        size_t words, dim, p;
        sis__rng r;
        sis__rng_init(&r, 6);
        assert_true(sis_net_is_token(net) && sis_net_integers(net));
        assert_int_equal(sis_net_embedding(net, &matrix, &words, &dim), 0);
        float *ids = random_rows(net, &r, 9, &p), a[9], c[9];
        float *embedded = (float *)malloc(9 * p * dim * sizeof *embedded);
        for (size_t i = 0; i < 9 * p; i++)
            memcpy(embedded + i * dim, matrix + (size_t)ids[i] * dim, dim * sizeof *matrix);
        sis_net_batch b = {ids, 9, p, 0, 1}, e = {embedded, 9, p * dim, 1, 2};
        assert_int_equal(sis_net_forward(net, &b, a), 0);
        assert_int_equal(sis_net_forward(net, &e, c), 0);
        assert_memory_equal(a, c, sizeof a);
        ids[p] = (float)words; /* no such word, in row 1 */
        assert_int_equal(sis_net_forward(net, &b, a), SIS_E_ARGUMENT);
        ids[p] = NAN;
        assert_int_equal(sis_net_forward(net, &b, a), SIS_E_ARGUMENT);
        free(ids);
        free(embedded);
        sis_net_free(net);
    }
    sis_net *net = build("mlp");
    const float *matrix;
    size_t words, dim;
    float x[1] = {0}, y[16];
    sis_net_batch e = {x, 1, 1, 1, 1};
    assert_int_equal(sis_net_embedding(net, &matrix, &words, &dim), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_forward(net, &e, y), SIS_E_ARGUMENT);
    e.embedded = 0;
    assert_int_equal(sis_net_forward(net, &e, y), SIS_E_ARGUMENT); /* too few values */
    assert_non_null(strstr(sis_error_detail(), "values a row"));
    sis_net_free(net);
}

static void margins_see_beyond_the_score(void **state) {
    (void)state;
    sis_net *net;
    float x[2][3] = {{50, 0, 0}, {70, 0, 0}}, scores[6];
    double margins[6];
    sis_net_builder *b = sis_net_builder_new("softmax");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3));
    sis_net_add_node(b, "Softmax", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    sis_net_batch batch = {x[0], 2, 3, 0, 1};
    assert_int_equal(sis_net_forward(net, &batch, scores), 0);
    assert_int_equal(sis_net_margins(net, &batch, margins), 0);
    assert_true(scores[0] == 1 && scores[3] == 1);
    assert_true(fabs(margins[0] - (50 - log(2))) < 1e-12);
    assert_true(fabs(margins[3] - (70 - log(2))) < 1e-12);
    assert_true(sis_net_link(0) == 0.5 && sis_net_link(-800) == 0 && sis_net_link(800) == 1);
    sis_net_free(net);
}

/* A softmax that is not over the scores of a row has no such margins. */
static void only_a_softmax_over_all_scores_is_a_link(void **state) {
    (void)state;
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("softmax");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3, 4));
    sis_net_add_node(b, "Softmax", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_false(sis_net_has_link(net));
    sis_net_free(net);
}

/* What PyTorch writes for x.view(x.size(0), -1), and Keras for the states of a recurrent layer. */
static void shape_arithmetic_is_folded(void **state) {
    (void)state;
    sis_net *net;
    sis__geometry *g;
    sis__rng r;
    sis__rng_init(&r, 1);
    sis_net_builder *b = sis_net_builder_new("shapes");
    sis_net_add_input(b, "x", 0, SHAPE(0, 6, 2, 2));
    sis_net_add_ints(b, "first", SHAPE(1), (int64_t[]){0});
    sis_net_add_ints(b, "rest", SHAPE(1), (int64_t[]){-1});
    sis_net_add_ints(b, "four", SHAPE(1), (int64_t[]){4});
    sis_net_add_ints(b, "one", SHAPE(1), (int64_t[]){1});
    sis_net_add_ints(b, "scalar", &(sis_net_shape){0, {0}}, (int64_t[]){0});
    add_random(b, "w", SHAPE(1, 12, 4), &r, 0.4);
    add_random(b, "r", SHAPE(1, 12, 3), &r, 0.4);
    sis_net_add_node(b, "Shape", "x", "s");
    sis_net_add_node(b, "Gather", "s scalar", "n");
    sis_net_add_node(b, "Unsqueeze", "n first", "nu");
    sis_net_add_node(b, "Cast", "nu", "nf");
    sis_net_attr_int(b, "to", 1);
    sis_net_add_node(b, "Cast", "nf", "ni");
    sis_net_attr_int(b, "to", 7);
    sis_net_add_node(b, "Concat", "ni rest four", "to");
    sis_net_attr_int(b, "axis", 0);
    sis_net_add_node(b, "Reshape", "x to", "seq");
    sis_net_add_node(b, "Transpose", "seq", "tm");
    sis_net_attr_ints(b, "perm", (int64_t[]){1, 0, 2}, 3);
    sis_net_add_node(b, "Shape", "tm", "ts");
    sis_net_add_node(b, "Slice", "ts one four", "bs");
    sis_net_add_ints(b, "three", SHAPE(1), (int64_t[]){3});
    sis_net_add_node(b, "Slice", "ts one three first one", "b2"); /* (batch, 4): 2 numbers */
    sis_net_add_node(b, "Gather", "b2 first", "b1");
    sis_net_add_node(b, "Concat", "one b1 three", "hs");
    sis_net_attr_int(b, "axis", 0);
    sis_net_add_node(b, "ConstantOfShape", "hs", "h0");
    sis_net_add_node(b, "LSTM", "tm w r - - h0 h0", "- h");
    sis_net_add_node(b, "Squeeze", "h first", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(sis_net_outputs(net), 3);
    assert_int_equal(sis__cache_geometry(net, 0, 24, &g), 0);
    assert_true(g->batched);
    assert_int_equal(g->plans[SIS__SCORES][0]->n_steps, 4); /* Reshape Transpose LSTM Squeeze */
    sis_net_free(net);
}

static void lengths_may_be_left_free(void **state) {
    (void)state;
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 1);
    sis_net_builder *b = sis_net_builder_new("free");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4, 0));
    add_random(b, "w", SHAPE(3, 4, 5), &r, 0.4);
    sis_net_add_node(b, "Conv", "x w", "c");
    sis_net_add_node(b, "GlobalMaxPool", "c", "g");
    sis_net_add_node(b, "Flatten", "g", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_values(net), 0);
    assert_int_equal(sis_net_outputs(net), 0);
    float *x = random_floats(&r, 4 * 300, 1.0), y[6];
    for (size_t length = 5; length <= 150; length += 29) {
        sis_net_batch batch = {x, 2, 4 * length, 0, 1};
        assert_int_equal(sis_net_forward(net, &batch, y), 0);
    }
    sis_net_batch odd = {x, 1, 31, 0, 1}, small = {x, 1, 16, 0, 1};
    assert_int_equal(sis_net_forward(net, &odd, y), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_forward(net, &small, y), SIS_E_FORMAT); /* shorter than the window */
    char *text;
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_non_null(strstr(text, "(4, any)"));
    free(text);
    free(x);
    sis_net_free(net);
}

static void parameters_can_be_replaced(void **state) {
    (void)state;
    sis_net *net = build("mlp");
    sis_net_param p;
    size_t n = sis_net_values(net);
    float *x = (float *)calloc(n, sizeof *x), y[7], zero[7] = {0};
    for (size_t i = 0; i < sis_net_params(net); i++) {
        assert_int_equal(sis_net_param_get(net, i, &p), 0);
        float *v = (float *)calloc(p.count, sizeof *v);
        assert_int_equal(sis_net_param_set(net, i, v), 0);
        free(v);
    }
    sis_net_batch b = {x, 1, n, 0, 1};
    assert_int_equal(sis_net_forward(net, &b, y), 0);
    for (size_t i = 0; i < 7; i++)
        assert_true(fabs(y[i] - 1.0 / 7) < 1e-6);
    assert_int_equal(sis_net_param_get(net, 99, &p), SIS_E_ARGUMENT);
    assert_int_equal(sis_net_param_set(net, 99, zero), SIS_E_ARGUMENT);
    free(x);
    sis_net_free(net);
}

/* Names come from files: what would steer a terminal or begin a line of its own does not get out. */
static void a_description_keeps_names_on_their_line(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("test");
    sis_net *net;
    char *text;
    sis_net_add_input(b, "x\033[31m\x7f", 0, SHAPE(0, 3));
    sis_net_add_node(b, "Relu", "x\033[31m\x7f", "y\033]0;");
    sis_net_add_output(b, "y\033]0;");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_string_equal(text, "input x?[31m?: float (3)\n"
                              "  operator               result of one row    parameters  node\n"
                              "  Relu                   (3)                           0  y?]0;\n"
                              "output y?]0;: (3)\n"
                              "0 parameters in use, about 3 operations a row\n");
    free(text);
    sis_net_free(net);
}

static void a_description_shows_nodes_and_parameters(void **state) {
    (void)state;
    sis_net *net = build("dna");
    char *text;
    assert_int_equal(sis_net_describe(net, NULL, &text), 0);
    assert_string_equal(text, "input x: float (4, 31)\n"
                              "  operator               result of one row    parameters  node\n"
                              "  Conv                   (12, 24)                    396  c\n"
                              "  Relu                   (12, 24)                      0  r\n"
                              "  GlobalMaxPool          (12, 1)                       0  g\n"
                              "  Flatten                (12)                          0  f\n"
                              "  Gemm                   (5)                          65  d\n"
                              "  Tanh                   (5)                           0  t\n"
                              "  Gemm                   (1)                           6  z\n"
                              "  Sigmoid                (1)                           0  y\n"
                              "output y: (1)\n"
                              "467 parameters in use, about 1.91e+04 operations a row\n");
    free(text);
    sis_net_free(net);
}

/* ---- Refusals ------------------------------------------------------------------------------ */

static void refused(sis_net_builder *b, int code, const char *words) {
    sis_net *net;
    int error = sis_net_build(b, &net);
    if (error != code || !strstr(sis_error_detail(), words))
        fail_msg("expected %d and \"%s\", got %d and \"%s\"", code, words, error,
                 sis_error_detail());
    assert_null(net);
}

static sis_net_builder *begin(void) {
    sis_net_builder *b = sis_net_builder_new("refused");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    return b;
}

static void what_cannot_run_is_refused_by_name(void **state) {
    (void)state;
    sis_net_builder *b = begin();
    sis_net_add_node(b, "Einsum", "x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "operator Einsum (node y)");
    b = begin();
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_attr_int(b, "speed", 2);
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "attribute speed");
    b = begin();
    sis_net_add_node(b, "LeakyRelu", "x", "y");
    sis_net_attr_int(b, "alpha", 2);
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "wrong type");
    b = begin();
    sis_net_add_input(b, "z", 0, SHAPE(0, 4));
    sis_net_add_node(b, "Add", "x z", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "2 inputs");
    b = begin();
    sis_net_add_node(b, "Add", "x nothing", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "reads nothing, which nothing computes");
    b = begin();
    sis_net_add_node(b, "Add", "x b", "a");
    sis_net_add_node(b, "Relu", "a", "b");
    sis_net_add_output(b, "b");
    refused(b, SIS_E_FORMAT, "cycle");
    b = begin();
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_add_node(b, "Tanh", "x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "computed twice");
    b = begin();
    sis_net_add_output(b, "q");
    refused(b, SIS_E_FORMAT, "output q");
    b = begin();
    sis_net_add_param(b, "w", SHAPE(5, 2), (float[10]){0});
    sis_net_add_node(b, "MatMul", "x w", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "4 columns on the left, 5 rows");
    b = begin();
    sis_net_attr_int(b, "alpha", 2);
    refused(b, SIS_E_ARGUMENT, "before any node");
    b = sis_net_builder_new("nothing");
    refused(b, SIS_E_FORMAT, "no input");
    b = sis_net_builder_new("wide");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1 << 20, 1 << 20));
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "2^31");
}

/* y = op(x, c). */
static sis_net_builder *begin_binary(const char *op, const sis_net_shape *shape, const float *c) {
    sis_net_builder *b = begin();
    sis_net_add_param(b, "c", shape, c);
    sis_net_add_node(b, op, "x c", "y");
    sis_net_add_output(b, "y");
    return b;
}

static void operands_that_do_not_fit_are_refused(void **state) {
    (void)state;
    static const float c[6] = {0};
    refused(begin_binary("Add", SHAPE(3), c), SIS_E_FORMAT, "inputs whose shapes do not fit");
    refused(begin_binary("Max", SHAPE(3), c), SIS_E_FORMAT, "inputs whose shapes do not fit");
    refused(begin_binary("And", SHAPE(4), c), SIS_E_FORMAT, "inputs that are not bool");
    refused(begin_binary("PRelu", SHAPE(3), c), SIS_E_FORMAT, "a slope that does not fit");
    sis_net_builder *b = begin();
    sis_net_add_ints(b, "i", SHAPE(4), (int64_t[]){1, 2, 3, 4});
    sis_net_add_node(b, "Add", "x i", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "inputs of different types");
    b = begin();
    sis_net_add_node(b, "Where", "x x x", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_FORMAT, "a condition that is not bool");
    b = begin();
    sis_net_add_node(b, "Greater", "x x", "g");
    sis_net_add_node(b, "Add", "g g", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "arithmetic of bool");
    b = begin();
    sis_net_add_node(b, "Constant", "", "c");
    sis_net_attr_text(b, "value_string", "no");
    sis_net_add_node(b, "Add", "x c", "y");
    sis_net_add_output(b, "y");
    refused(b, SIS_E_UNSUPPORTED, "value");
}

/* y = the largest of each half of (x + {1, 2, 3, 4}) * 0.5. */
static void constants_are_whatever_exporters_write(void **state) {
    (void)state;
    const float x[4] = {1, -2, 3, 0.5f};
    float y[2];
    sis_net *net;
    sis_net_builder *b = begin();
    sis_net_add_node(b, "Constant", "", "c");
    sis_net_attr_floats(b, "value_floats", (float[]){1, 2, 3, 4}, 4);
    sis_net_add_node(b, "Constant", "", "half");
    sis_net_attr_float(b, "value_float", 0.5f);
    sis_net_add_node(b, "Constant", "", "shape");
    sis_net_attr_ints(b, "value_ints", (int64_t[]){-1, 2, 2}, 3);
    sis_net_add_node(b, "Add", "x c", "a");
    sis_net_add_node(b, "Mul", "a half", "m");
    sis_net_add_node(b, "Reshape", "m shape", "r");
    sis_net_add_node(b, "ReduceMax", "r", "y");
    sis_net_attr_ints(b, "axes", (int64_t[]){2}, 1);
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    sis_net_batch batch = {.rows = x, .n_rows = 1, .n_values = 4};
    assert_int_equal(sis_net_forward(net, &batch, y), SIS_OK);
    assert_true(y[0] == 1 && y[1] == 3);
    sis_net_free(net);
}

/* ---- Failing allocations ------------------------------------------------------------------------
 */

static int build_all(void *ctx) {
    sis_net *net;
    int error = ((const family *)ctx)->build(1, &net);
    sis_net_free(net);
    return error;
}

typedef struct {
    void *bytes;
    size_t n;
    float *rows;
    size_t n_values;
} packed;

static int parse_and_use(void *ctx) {
    const packed *p = (const packed *)ctx;
    sis_net *net;
    void *bytes = NULL;
    char *text = NULL;
    float scores[64];
    size_t n;
    int error = sis_net_parse(p->bytes, p->n, &net);
    sis_net_batch b = {p->rows, 3, p->n_values, 0, 2};
    if (!error)
        error = sis_net_forward(net, &b, scores);
    if (!error)
        error = sis_net_meta_set(net, "a", "b");
    if (!error)
        error = sis_net_meta_set(net, "a", "c");
    if (!error)
        error = sis_net_mask_set(net, p->rows, SHAPE(p->n_values));
    if (!error)
        error = sis_net_mask_set(net, p->rows, SHAPE(p->n_values));
    if (!error)
        error = sis_net_forward(net, &b, scores);
    if (!error)
        error = sis_net_describe(net, NULL, &text);
    if (!error)
        error = sis_net_pack(net, &bytes, &n);
    free(bytes);
    free(text);
    sis_net_free(net);
    return error;
}

static void allocations_may_fail_anywhere(void **state) {
    (void)state;
    for (size_t i = 0; i < n_families; i++) {
        packed p;
        sis_net *net = build(families[i].name);
        sis__rng r;
        sis__rng_init(&r, 2);
        assert_int_equal(sis_net_pack(net, &p.bytes, &p.n), 0);
        p.rows = random_rows(net, &r, 3, &p.n_values);
        sis_net_free(net);
        assert_true(with_failing_allocations(build_all, (void *)&families[i]) > 20);
        assert_true(with_failing_allocations(parse_and_use, &p) > 20);
        free(p.rows);
        free(p.bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_reads_back_equal),
        cmocka_unit_test(files_are_written_and_read),
        cmocka_unit_test(metadata_and_mask_travel_with_the_model),
        cmocka_unit_test(classifiers_know_their_labels),
        cmocka_unit_test(token_models_start_at_ids_or_embeddings),
        cmocka_unit_test(margins_see_beyond_the_score),
        cmocka_unit_test(only_a_softmax_over_all_scores_is_a_link),
        cmocka_unit_test(shape_arithmetic_is_folded),
        cmocka_unit_test(lengths_may_be_left_free),
        cmocka_unit_test(parameters_can_be_replaced),
        cmocka_unit_test(a_description_shows_nodes_and_parameters),
        cmocka_unit_test(a_description_keeps_names_on_their_line),
        cmocka_unit_test(what_cannot_run_is_refused_by_name),
        cmocka_unit_test(operands_that_do_not_fit_are_refused),
        cmocka_unit_test(constants_are_whatever_exporters_write),
        cmocka_unit_test(allocations_may_fail_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
