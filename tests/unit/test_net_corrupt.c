/* SPDX-License-Identifier: MIT
 *
 * Damaged and hostile models: every truncation and every flipped bit of small files, documents with
 * contradictions, nesting and sizes meant to exhaust memory. Each must give an error or a network
 * that runs; the sanitized build of this test finds memory errors.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "net/onnx/proto.h"
#include "net/plan/net.h"
#include "support_net.h"

/* Processor time: limits must hold on a busy machine and in the sanitized build. */
static double cpu_seconds(void) {
    return (double)clock() / CLOCKS_PER_SEC;
}

enum { LONG = 40 }; /* time limit in seconds; quadratic costs would take far more */

/* ---- Damage -------------------------------------------------------------------------------- */

/* Parse; if that works, run a row and everything else that reads the network. */
static int try_bytes(const void *bytes, size_t n) {
    sis_net *net;
    char *text;
    int error = sis_net_parse(bytes, n, &net);
    if (error) {
        assert_true(*sis_error_detail() != '\0');
        assert_null(net);
        return error;
    }
    size_t p = sis_net_values(net), k = sis_net_outputs(net);
    if (p && k && p * k < 1 << 20 && sis_net_flops(net) < 1e6) {
        float *x = (float *)calloc(p, sizeof *x), *y = (float *)calloc(k, sizeof *y);
        float *dx = (float *)calloc(p, sizeof *dx);
        sis_net_batch b = {x, 1, p, 0, 1, NULL};
        sis_net_grad g = {.d_rows = dx};
        sis_net_forward(net, &b, y);
        sis_net_gradient(net, &b, &g);
        free(x);
        free(y);
        free(dx);
    }
    if (sis_net_describe(net, NULL, &text) == 0)
        free(text);
    sis_net_free(net);
    return SIS_OK;
}

/* Models of a few hundred bytes. */
static int build_tiny(unsigned which, sis_net **out) {
    sis__rng r;
    sis__rng_init(&r, which);
    sis_net_builder *b = sis_net_builder_new("t");
    if (which == 0) {
        sis_net_add_input(b, "x", 0, SHAPE(0, 1, 5));
        add_random(b, "w", SHAPE(2, 1, 3), &r, 1);
        add_random(b, "v", SHAPE(6, 2), &r, 1);
        sis_net_add_node(b, "Conv", "x w", "c");
        sis_net_attr_ints(b, "strides", (int64_t[]){1}, 1);
        sis_net_add_node(b, "Relu", "c", "r");
        sis_net_add_node(b, "Flatten", "r", "f");
        sis_net_add_node(b, "MatMul", "f v", "z");
        sis_net_add_node(b, "Softmax", "z", "y");
        sis_net_add_output(b, "y");
    } else if (which == 1) {
        sis_net_add_input(b, "x", 1, SHAPE(0, 3));
        add_random(b, "e", SHAPE(4, 2), &r, 1);
        add_random(b, "w", SHAPE(1, 4, 2), &r, 1);
        add_random(b, "r", SHAPE(1, 4, 1), &r, 1);
        sis_net_add_node(b, "Gather", "e x", "v");
        sis_net_add_node(b, "LSTM", "v w r", "- h");
        sis_net_attr_int(b, "hidden_size", 1);
        sis_net_attr_int(b, "layout", 1);
        sis_net_add_node(b, "Flatten", "h", "y");
        sis_net_add_output(b, "y");
    } else if (which == 2) {
        sis_net_builder_free(b);
        return families[9].build(1, out);
    } else {
        sis_net_add_input(b, "x", 0, SHAPE(1, 4));
        sis_net_add_ints(b, "s", SHAPE(3), (int64_t[]){1, 2, 2});
        sis_net_add_ints(b, "p", SHAPE(6), (int64_t[]){0, 1, 1, 0, 0, 1});
        sis_net_add_ints(b, "a", SHAPE(1), (int64_t[]){1});
        sis_net_add_node(b, "Reshape", "x s", "c");
        sis_net_add_node(b, "Pad", "c p", "d");
        sis_net_add_node(b, "Slice", "d a a", "q");
        sis_net_add_node(b, "Tile", "d s", "t");
        sis_net_add_node(b, "ReduceSum", "t a", "y");
        sis_net_add_output(b, "y");
    }
    return sis_net_build(b, out);
}

enum { TINY = 4 };

static char *tiny_bytes(unsigned which, size_t *n) {
    sis_net *net;
    void *bytes;
    if (build_tiny(which, &net) != 0)
        fail_msg("model %u: %s", which, sis_error_detail());
    assert_int_equal(sis_net_pack(net, &bytes, n), 0);
    sis_net_free(net);
    return (char *)bytes;
}

static void truncated_files_are_errors(void **state) {
    (void)state;
    for (unsigned w = 0; w < TINY; w++) {
        size_t n;
        char *bytes = tiny_bytes(w, &n);
        for (size_t cut = 0; cut < n; cut += n / rounds(n)) {
            char *copy = (char *)malloc(cut + 1); /* its own block, to detect overreads */
            memcpy(copy, bytes, cut);
            try_bytes(copy, cut);
            free(copy);
        }
        assert_int_equal(try_bytes(bytes, n), 0);
        free(bytes);
    }
}

static void flipped_bits_do_no_harm(void **state) {
    (void)state;
    size_t survived = 0, flips = 0;
    double start = cpu_seconds();
    for (unsigned w = 0; w < TINY; w++) {
        size_t n;
        char *bytes = tiny_bytes(w, &n);
        size_t step = 8 * n / rounds(8 * n) | 1; /* odd: reaches every bit of a byte */
        for (size_t bit = 0; bit < 8 * n; bit += step, flips++) {
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
            survived += try_bytes(bytes, n) == 0;
            bytes[bit / 8] = (char)(bytes[bit / 8] ^ (1 << bit % 8));
        }
        free(bytes);
    }
    printf("%zu of %zu flips still load, %.1f s\n", survived, flips, cpu_seconds() - start);
}

static void random_damage_does_no_harm(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 11);
    for (size_t i = 0; i < rounds(4000); i++) {
        size_t n, hits = 1 + sis__rng_below(&r, 6);
        char *bytes = tiny_bytes((unsigned)(i % TINY), &n);
        for (size_t h = 0; h < hits; h++) {
            size_t at = sis__rng_below(&r, n), from = sis__rng_below(&r, n);
            switch (sis__rng_below(&r, 4)) {
            case 0:
                bytes[at] = (char)sis__rng_next(&r);
                break;
            case 1: /* a varint without end */
                memset(bytes + at, 0xFF, n - at < 9 ? n - at : 9);
                break;
            case 2: /* a piece from elsewhere */
                memmove(bytes + at, bytes + from, n - (at > from ? at : from));
                break;
            default:
                bytes[at] = 0;
            }
        }
        try_bytes(bytes, n);
        free(bytes);
    }
}

/* ---- Contradictions -------------------------------------------------------------------------- */

/* A document to be damaged: Gemm over x (rows, 4) with w (4, 2), reshaped by s. */
static Sis__Onnx__Model *sound_document(void) {
    sis_net *net;
    void *bytes;
    size_t n;
    ProtobufCMessage *doc;
    sis_net_builder *b = sis_net_builder_new("t");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    sis_net_add_param(b, "w", SHAPE(4, 2), (float[8]){1, 2, 3});
    sis_net_add_ints(b, "s", SHAPE(2), (int64_t[]){-1, 2});
    sis_net_add_node(b, "Gemm", "x w", "g");
    sis_net_add_node(b, "Reshape", "g s", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    assert_int_equal(sis_net_pack(net, &bytes, &n), 0);
    assert_int_equal(sis__proto_parse(&sis__onnx__model__descriptor, bytes, n, &doc), 0);
    free(bytes);
    sis_net_free(net);
    return (Sis__Onnx__Model *)doc;
}

static void rename_to(char **name, const char *to) {
    free(*name);
    *name = strdup(to);
}

static void set_ints(Sis__Onnx__Tensor *t, int64_t a, int64_t b) {
    int64_t v[2] = {a, b};
    memcpy(t->raw_data.data, v, sizeof v);
}

static void add_byte(Sis__Onnx__Tensor *t) {
    uint8_t *longer = (uint8_t *)realloc(t->raw_data.data, t->raw_data.len + 1);
    assert_non_null(longer);
    longer[t->raw_data.len++] = 0;
    t->raw_data.data = longer;
}

/* Contradictions: g is the graph, w and s its tensors, n its first node. */
#define WAYS(X)                                                                                    \
    X(w->dims[0] = 5)                                                                              \
    X(w->dims[0] = -4)                                                                             \
    X(w->dims[0] = INT64_MAX)                                                                      \
    X(w->dims[0] = w->dims[1] = (int64_t)1 << 31)                                                  \
    X(w->n_dims = 0)                                                                               \
    X(w->raw_data.len = 31)                                                                        \
    X(add_byte(w))                                                                                 \
    X(w->has_raw_data = 0)                                                                         \
    X(w->has_data_location = w->data_location = SIS__ONNX__TENSOR__DATA_LOCATION__EXTERNAL)        \
    X(w->data_type = 8) /* strings */                                                              \
    X(w->data_type = 99)                                                                           \
    X(rename_to(&w->name, "s"))                                                                    \
    X(rename_to(&w->name, "other"))                                                                \
    X(rename_to(&n->input[0], "y")) /* a cycle */                                                  \
    X(rename_to(&n->input[0], "g")) /* a short one */                                              \
    X(rename_to(&n->output[0], "x"))                                                               \
    X(rename_to(&n->output[0], ""))                                                                \
    X(rename_to(&n->op_type, "Conv"))                                                              \
    X(rename_to(&n->op_type, ""))                                                                  \
    X(n->n_input = 1)                                                                              \
    X(set_ints(s, -1, -1))                                                                         \
    X(set_ints(s, (int64_t)1 << 40, (int64_t)1 << 40))                                             \
    X(set_ints(s, INT64_MIN, 2))                                                                   \
    X(set_ints(s, 0, 3))                                                                           \
    X(g->input[0]->type->tensor_type->shape->dim[1]->dim_value = (int64_t)1 << 40)                 \
    X(g->input[0]->type->tensor_type->shape->dim[1]->dim_value = 0)                                \
    X(g->input[0]->type->tensor_type->elem_type = 8)                                               \
    X(rename_to(&g->input[0]->name, "w")) /* then there is no input */                             \
    X(rename_to(&g->output[0]->name, "nothing"))

#define COUNT_WAY(change) +1
enum { N_WAYS = 0 WAYS(COUNT_WAY) };

/* Apply one change to the document and return its text. */
static const char *spoil(Sis__Onnx__Model *d, int way) {
    Sis__Onnx__Graph *g = d->graph;
    Sis__Onnx__Tensor *w = g->initializer[0], *s = g->initializer[1];
    Sis__Onnx__Node *n = g->node[0];
    int k = 0;
#define TRY_WAY(change)                                                                            \
    if (way == k++) {                                                                              \
        change;                                                                                    \
        return #change;                                                                            \
    }
    WAYS(TRY_WAY)
    return NULL;
}

static void contradictions_are_refused(void **state) {
    (void)state;
    for (int way = 0; way < N_WAYS; way++) {
        Sis__Onnx__Model *doc = sound_document();
        uint8_t *bytes;
        size_t n;
        size_t inputs = doc->graph->node[0]->n_input, dims = doc->graph->initializer[0]->n_dims;
        const char *how = spoil(doc, way);
        assert_int_equal(sis__proto_pack(&doc->base, &bytes, &n), 0);
        int error = try_bytes(bytes, n);
        if (error != SIS_E_FORMAT && error != SIS_E_UNSUPPORTED)
            fail_msg("%s: %d %s", how, error, sis_error_detail());
        free(bytes);
        doc->graph->node[0]->n_input = inputs; /* so that everything is freed */
        doc->graph->initializer[0]->n_dims = dims;
        sis__proto_free(&doc->base);
    }
}

/* ---- Exhaustion ---------------------------------------------------------------------------- */

/* Nested attribute graphs, far deeper than any stack. */
static void deep_nesting_is_refused(void **state) {
    (void)state;
    enum { LEVELS = 20000 };
    uint8_t *bytes = NULL;
    size_t n = 0;
    for (int level = 0; level < LEVELS; level++) {
        /* field 7 (graph), 1 (node), 5 (attribute), 6 (graph), 1 (node) ... around what is there */
        static const uint8_t tags[3] = {1 << 3 | 2, 5 << 3 | 2, 6 << 3 | 2};
        uint8_t head[12], *wider;
        size_t length = 0, rest = n;
        head[length++] = level + 1 == LEVELS ? (7 << 3 | 2) : tags[level % 3];
        do {
            head[length++] = (uint8_t)(rest % 128 | (rest >= 128 ? 0x80 : 0));
            rest /= 128;
        } while (rest);
        wider = (uint8_t *)malloc(n + length);
        memcpy(wider, head, length);
        if (n)
            memcpy(wider + length, bytes, n);
        free(bytes);
        bytes = wider;
        n += length;
    }
    assert_int_equal(try_bytes(bytes, n), SIS_E_FORMAT);
    free(bytes);
}

/* Empty nodes take two bytes each in the file and a hundred times that in memory. */
static void many_empty_nodes_are_bounded(void **state) {
    (void)state;
    enum { NODES = 200000 };
    uint8_t *bytes = (uint8_t *)malloc(2 * NODES + 8);
    size_t n = 0, inside = 2 * NODES;
    bytes[n++] = 7 << 3 | 2;
    bytes[n++] = (uint8_t)(inside % 128 | 0x80);
    bytes[n++] = (uint8_t)(inside / 128 % 128 | 0x80);
    bytes[n++] = (uint8_t)(inside / 128 / 128);
    for (size_t i = 0; i < NODES; i++) {
        bytes[n++] = 1 << 3 | 2;
        bytes[n++] = 0;
    }
    double start = cpu_seconds();
    assert_int_equal(try_bytes(bytes, n), SIS_E_FORMAT);
    assert_true(cpu_seconds() - start < LONG);
    free(bytes);
}

/* Long chains of views and other operators compile in linear time. */
static void long_chains_load_quickly(void **state) {
    (void)state;
    double start = cpu_seconds();
    sis_net_builder *b = sis_net_builder_new("chain");
    sis_net *net;
    char in[32] = "x", out[32];
    float x[4] = {1, -2, 3, -4}, y[4];
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    size_t length = 2 * rounds(10000);
    for (size_t i = 0; i < length; i++) {
        snprintf(out, sizeof out, "v%zu", i);
        sis_net_add_node(b, i % 2 ? "Relu" : "Identity", in, out);
        memcpy(in, out, sizeof in);
    }
    sis_net_add_output(b, in);
    assert_int_equal(sis_net_build(b, &net), 0);
    sis_net_batch batch = {x, 1, 4, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 1 && y[1] == 0 && y[2] == 3 && y[3] == 0);
    sis_net_free(net);
    printf("a chain of %zu nodes: %.2f s\n", length, cpu_seconds() - start);
    assert_true(cpu_seconds() - start < LONG);
}

/* A window that lies in the padding has the lowest float. */
static void windows_of_padding_are_the_lowest_integer(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("padding");
    sis_net *net;
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8}, y[64];
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 2, 4));
    sis_net_add_node(b, "Cast", "x", "i");
    sis_net_attr_int(b, "to", 3);
    sis_net_add_node(b, "MaxPool", "i", "m");
    sis_net_attr_ints(b, "kernel_shape", (int64_t[]){1, 2}, 2);
    sis_net_attr_ints(b, "pads", (int64_t[]){0, 4, 0, 0}, 4);
    sis_net_add_node(b, "Cast", "m", "f");
    sis_net_attr_int(b, "to", 1);
    sis_net_add_node(b, "Flatten", "f", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != 0)
        fail_msg("%s", sis_error_detail());
    sis_net_batch batch = {x, 1, 8, 0, 1, NULL};
    assert_int_equal(sis_net_outputs(net), 14);
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[2] == -128 && y[3] == 1 && y[6] == 4 && y[9] == -128 && y[13] == 8);
    sis_net_free(net);
}

/* Operators whose output size is a number in the file. */
static void sizes_from_constants_are_bounded(void **state) {
    (void)state;
    const int64_t huge[] = {(int64_t)1 << 20, (int64_t)1 << 33, INT64_MAX, INT64_MIN, -7};
    static const char *const ops[] = {"ConstantOfShape", "Expand", "Tile", "Pad",
                                      "Range",           "Reshape"};
    double start = cpu_seconds();
    for (size_t h = 0; h < sizeof huge / sizeof *huge; h++)
        for (size_t o = 0; o < sizeof ops / sizeof *ops; o++) {
            sis_net *net;
            sis_net_builder *b = sis_net_builder_new("huge");
            int64_t v[4] = {huge[h], huge[h], huge[h], huge[h]};
            sis_net_add_input(b, "x", 0, SHAPE(0, 4));
            sis_net_add_ints(b, "v", SHAPE(o == 3 ? 4 : 2), v);
            sis_net_add_ints(b, "n", &(sis_net_shape){0, {0}}, v);
            sis_net_add_ints(b, "one", &(sis_net_shape){0, {0}}, (int64_t[]){1});
            sis_net_add_node(b, ops[o], o == 0 ? "v" : o == 4 ? "one n one" : "x v", "c");
            sis_net_add_node(b, "Cast", "c", "f");
            sis_net_attr_int(b, "to", 1);
            sis_net_add_node(b, "ReduceMean", "f", "m");
            sis_net_add_node(b, "Add", "x m", "y");
            sis_net_add_output(b, "y");
            if (sis_net_build(b, &net) == 0)
                sis_net_free(net);
        }
    printf("huge constants: %.2f s\n", cpu_seconds() - start);
    assert_true(cpu_seconds() - start < LONG);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(truncated_files_are_errors),
        cmocka_unit_test(flipped_bits_do_no_harm),
        cmocka_unit_test(random_damage_does_no_harm),
        cmocka_unit_test(contradictions_are_refused),
        cmocka_unit_test(deep_nesting_is_refused),
        cmocka_unit_test(many_empty_nodes_are_bounded),
        cmocka_unit_test(long_chains_load_quickly),
        cmocka_unit_test(windows_of_padding_are_the_lowest_integer),
        cmocka_unit_test(sizes_from_constants_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
