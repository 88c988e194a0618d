/* SPDX-License-Identifier: MIT
 *
 * What a model's document may hold beside its graph: values in files beside it, functions of its own,
 * graphs inside nodes.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/onnx/external.h"
#include "net/onnx/functions.h"
#include "net/onnx/proto.h"
#include "net/plan/net.h"
#include "net/plan/row_layout.h"
#include "support_net.h"

/* ---- Documents ------------------------------------------------------------------------------- */

static void *message(const ProtobufCMessageDescriptor *type) {
    ProtobufCMessage *m = (ProtobufCMessage *)calloc(1, type->sizeof_message);
    protobuf_c_message_init(type, m);
    return m;
}

static Sis__Onnx__Model *document_of(const sis_net *net) {
    void *bytes;
    size_t n;
    ProtobufCMessage *doc;
    assert_int_equal(sis_net_pack(net, &bytes, &n), 0);
    assert_int_equal(sis__proto_parse(&sis__onnx__model__descriptor, bytes, n, &doc), 0);
    free(bytes);
    return (Sis__Onnx__Model *)doc;
}

static sis_net *net_of(Sis__Onnx__Model *doc, int code) {
    uint8_t *bytes;
    size_t n;
    sis_net *net;
    assert_int_equal(sis__proto_pack(&doc->base, &bytes, &n), 0);
    int error = sis_net_parse(bytes, n, &net);
    if (error != code)
        fail_msg("%d: %s", error, sis_error_detail());
    free(bytes);
    return net;
}

static float score(const sis_net *net, const float *x, size_t n) {
    float y[8];
    sis_net_batch b = {x, 1, n, 0, 1, NULL};
    assert_int_equal(sis_net_forward(net, &b, y), 0);
    return y[0];
}

/* y = x . w, w (4, 1) = 1 2 3 4 */
static sis_net *product(void) {
    sis_net *net;
    float w[4] = {1, 2, 3, 4};
    sis_net_builder *b = sis_net_builder_new("product");
    sis_net_add_input(b, "x", 0, SHAPE(0, 4));
    sis_net_add_param(b, "w", SHAPE(4, 1), w);
    sis_net_add_node(b, "MatMul", "x w", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    return net;
}

/* ---- Values beside the model ------------------------------------------------------------------ */

static void add_entry(Sis__Onnx__Tensor *t, const char *key, const char *value) {
    Sis__Onnx__StringStringEntry *e =
        (Sis__Onnx__StringStringEntry *)message(&sis__onnx__string_string_entry__descriptor);
    e->key = strdup(key);
    e->value = strdup(value);
    assert_int_equal(sis__proto_append(&t->external_data, &t->n_external_data, e), 0);
}

/* The product's weights, said to lie at `offset` of a file. */
static Sis__Onnx__Model *outside(const char *file, const char *offset, const char *length) {
    sis_net *net = product();
    Sis__Onnx__Model *doc = document_of(net);
    Sis__Onnx__Tensor *w = doc->graph->initializer[0];
    sis_net_free(net);
    free(w->raw_data.data);
    w->raw_data.data = NULL;
    w->raw_data.len = 0;
    w->has_raw_data = 0;
    free(w->float_data);
    w->float_data = NULL;
    w->n_float_data = 0;
    w->has_data_location = 1;
    w->data_location = SIS__ONNX__TENSOR__DATA_LOCATION__EXTERNAL;
    add_entry(w, "location", file);
    add_entry(w, "offset", offset);
    add_entry(w, "length", length);
    return doc;
}

static void write_bytes(const char *path, const void *bytes, size_t n) {
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

/* Write the document as DIR/m.onnx and read it. */
static int read_outside(const char *dir, Sis__Onnx__Model *doc, sis_net **net) {
    char path[4096];
    uint8_t *bytes;
    size_t n;
    snprintf(path, sizeof path, "%s/m.onnx", dir);
    assert_int_equal(sis__proto_pack(&doc->base, &bytes, &n), 0);
    write_bytes(path, bytes, n);
    free(bytes);
    sis__proto_free(&doc->base);
    int error = sis_net_read(path, net);
    unlink(path);
    return error;
}

static void values_may_lie_beside_the_model(void **state) {
    (void)state;
    char dir[] = "/tmp/sis-external-XXXXXX", path[4096];
    float w[6] = {9, 9, 1, 2, 3, 4}, x[4] = {1, 1, 1, 2};
    sis_net *net;
    assert_non_null(mkdtemp(dir));
    snprintf(path, sizeof path, "%s/values.bin", dir);
    write_bytes(path, w, sizeof w);
    assert_int_equal(read_outside(dir, outside("values.bin", "8", "16"), &net), 0);
    assert_true(score(net, x, 4) == 14);
    sis_net_free(net);
    assert_int_equal(read_outside(dir, outside("values.bin", "8", "0"), &net), 0);
    sis_net_free(net);
    static const char *const bad[][3] = {
        {"values.bin", "9", "16"},
        {"values.bin", "8", "17"},
        {"values.bin", "-1", "16"},
        {"values.bin", "8", "12"},
        {"/etc/hostname", "0", "1"},
        {"../values.bin", "8", "16"},
        {"a/../../values.bin", "0", "1"},
        {"nothing.bin", "0", "16"},
        {"", "0", "16"},
        {".", "0", "16"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        int error = read_outside(dir, outside(bad[i][0], bad[i][1], bad[i][2]), &net);
        assert_true(error == SIS_E_FORMAT || error == SIS_E_IO);
        assert_message_has("tensor w");
    }
    Sis__Onnx__Model *doc = outside("values.bin", "8", "16"); /* in memory there is no beside */
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    sis__proto_free(&doc->base);
    unlink(path);
    rmdir(dir);
}

/* ---- Sparse values ----------------------------------------------------------------------------- */

/* A network with sparse weights is one for ONNX Runtime. */
static void sparse_values_are_refused(void **state) {
    (void)state;
    sis_net *net = product();
    Sis__Onnx__Model *doc = document_of(net);
    sis_net_free(net);
    assert_int_equal(sis__proto_append(&doc->graph->sparse_initializer,
                                       &doc->graph->n_sparse_initializer,
                                       message(&sis__onnx__sparse_tensor__descriptor)),
                     0);
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    assert_message_has("sparse tensors are not in the engine");
    sis__proto_free(&doc->base);
}

/* ---- Functions -------------------------------------------------------------------------------- */

static Sis__Onnx__Node *node(const char *domain, const char *op, const char *in, const char *out) {
    Sis__Onnx__Node *n = (Sis__Onnx__Node *)message(&sis__onnx__node__descriptor);
    n->domain = strdup(domain);
    n->op_type = strdup(op);
    assert_int_equal(sis__proto_append(&n->input, &n->n_input, strdup(in)), 0);
    assert_int_equal(sis__proto_append(&n->output, &n->n_output, strdup(out)), 0);
    return n;
}

static Sis__Onnx__Attribute *attribute(Sis__Onnx__Node *n, const char *name) {
    Sis__Onnx__Attribute *a = (Sis__Onnx__Attribute *)message(&sis__onnx__attribute__descriptor);
    a->name = strdup(name);
    a->has_type = 1;
    a->type = SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__FLOAT;
    assert_int_equal(sis__proto_append(&n->attribute, &n->n_attribute, a), 0);
    return a;
}

static Sis__Onnx__Function *function(Sis__Onnx__Model *doc, const char *name) {
    Sis__Onnx__Function *f = (Sis__Onnx__Function *)message(&sis__onnx__function__descriptor);
    f->name = strdup(name);
    f->domain = strdup("own");
    assert_int_equal(sis__proto_append(&f->input, &f->n_input, strdup("a")), 0);
    assert_int_equal(sis__proto_append(&f->output, &f->n_output, strdup("b")), 0);
    assert_int_equal(sis__proto_append(&doc->functions, &doc->n_functions, f), 0);
    return f;
}

static void add_node(Sis__Onnx__Function *f, Sis__Onnx__Node *n) {
    assert_int_equal(sis__proto_append(&f->node, &f->n_node, n), 0);
}

/* y = Twice(Twice(x)); Twice(a) = Leaky(Leaky(a)); Leaky has a slope that the call gives. */
static Sis__Onnx__Model *calls(void) {
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("calls");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1));
    sis_net_add_node(b, "Relu", "x", "m");
    sis_net_add_node(b, "Relu", "m", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    Sis__Onnx__Model *doc = document_of(net);
    sis_net_free(net);
    for (size_t i = 0; i < 2; i++) {
        free(doc->graph->node[i]->op_type);
        if (doc->graph->node[i]->domain != protobuf_c_empty_string)
            free(doc->graph->node[i]->domain);
        doc->graph->node[i]->op_type = strdup("Twice");
        doc->graph->node[i]->domain = strdup("own");
    }
    Sis__Onnx__Function *twice = function(doc, "Twice"), *leaky = function(doc, "Leaky");
    for (int i = 0; i < 2; i++) {
        Sis__Onnx__Node *n = node("own", "Leaky", i ? "t" : "a", i ? "b" : "t");
        Sis__Onnx__Attribute *a = attribute(n, "slope");
        a->has_f = 1;
        a->f = 0.5f;
        add_node(twice, n);
    }
    Sis__Onnx__Node *n = node("", "LeakyRelu", "a", "b");
    attribute(n, "alpha")->ref_attr_name = strdup("slope");
    add_node(leaky, n);
    return doc;
}

static void functions_take_the_place_of_their_calls(void **state) {
    (void)state;
    Sis__Onnx__Model *doc = calls();
    float x = -16;
    sis_net *net = net_of(doc, 0);
    assert_true(score(net, &x, 1) == -1);
    sis_net_free(net);
    add_node(doc->functions[1], node("own", "Twice", "b", "c")); /* without an end */
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    sis__proto_free(&doc->base);
}

/* ---- Graphs inside nodes ---------------------------------------------------------------------- */

static Sis__Onnx__ValueInfo *value(const char *name, int type) {
    Sis__Onnx__ValueInfo *v = (Sis__Onnx__ValueInfo *)message(&sis__onnx__value_info__descriptor);
    v->name = strdup(name);
    v->type = (Sis__Onnx__Type *)message(&sis__onnx__type__descriptor);
    v->type->value_case = SIS__ONNX__TYPE__VALUE_TENSOR_TYPE;
    v->type->tensor_type = (Sis__Onnx__Type__Tensor *)message(&sis__onnx__type__tensor__descriptor);
    v->type->tensor_type->has_elem_type = 1;
    v->type->tensor_type->elem_type = type;
    return v;
}

/* An Identity of a document becomes Loop(rounds, -, what it read), whose body is returned: it has number,
 * condition and state, and gives the condition. */
static Sis__Onnx__Graph *make_loop(Sis__Onnx__Node *loop) {
    free(loop->op_type);
    loop->op_type = strdup("Loop");
    char *state = loop->input[0];
    loop->input[0] = strdup("rounds");
    assert_int_equal(sis__proto_append(&loop->input, &loop->n_input, strdup("")), 0);
    assert_int_equal(sis__proto_append(&loop->input, &loop->n_input, state), 0);
    Sis__Onnx__Graph *g = (Sis__Onnx__Graph *)message(&sis__onnx__graph__descriptor);
    static const char *const names[] = {"i", "more", "v"};
    static const int types[] = {7, 9, 1};
    for (int i = 0; i < 3; i++)
        assert_int_equal(sis__proto_append(&g->input, &g->n_input, value(names[i], types[i])), 0);
    Sis__Onnx__Node *go = node("", "Identity", "more", "go");
    assert_int_equal(sis__proto_append(&g->node, &g->n_node, go), 0);
    assert_int_equal(sis__proto_append(&g->output, &g->n_output, value("go", 9)), 0);
    Sis__Onnx__Attribute *a = attribute(loop, "body");
    a->type = SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__GRAPH;
    a->g = g;
    return g;
}

/* The state of a body: itself plus another value. */
static void add_to_state(Sis__Onnx__Graph *g, const char *other) {
    Sis__Onnx__Node *add = node("", "Add", "v", "next");
    assert_int_equal(sis__proto_append(&add->input, &add->n_input, strdup(other)), 0);
    assert_int_equal(sis__proto_append(&g->node, &g->n_node, add), 0);
    assert_int_equal(sis__proto_append(&g->output, &g->n_output, value("next", 1)), 0);
}

static Sis__Onnx__Model *document_built(sis_net_builder *b) {
    sis_net *net;
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    Sis__Onnx__Model *doc = document_of(net);
    sis_net_free(net);
    return doc;
}

/* y = x doubled `rounds` times: Loop(rounds, -, x) with a body that adds its state to itself. */
static Sis__Onnx__Model *doublings(int64_t rounds) {
    sis_net_builder *b = sis_net_builder_new("loop");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1));
    sis_net_add_ints(b, "rounds", SHAPE(1), &rounds);
    sis_net_add_node(b, "Identity", "x", "y");
    Sis__Onnx__Model *doc = document_built(b);
    add_to_state(make_loop(doc->graph->node[0]), "v");
    return doc;
}

enum { TIMES = 128, WIDE = 256 };

/* y = the sum of the rows of x (TIMES, WIDE), and the first once more. */
static Sis__Onnx__Model *sum_over_time(void) {
    sis_net_builder *b = sis_net_builder_new("loop");
    sis_net_add_input(b, "x", 0, SHAPE(0, TIMES, WIDE));
    sis_net_add_ints(b, "rounds", SHAPE(1), (int64_t[]){TIMES});
    sis_net_add_ints(b, "zero", &(sis_net_shape){0}, (int64_t[]){0});
    sis_net_add_node(b, "Gather", "x zero", "first");
    sis_net_attr_int(b, "axis", 1);
    sis_net_add_node(b, "Identity", "first", "y");
    Sis__Onnx__Model *doc = document_built(b);
    Sis__Onnx__Graph *g = make_loop(doc->graph->node[1]);
    Sis__Onnx__Node *now = node("", "Gather", "x", "now");
    assert_int_equal(sis__proto_append(&now->input, &now->n_input, strdup("i")), 0);
    Sis__Onnx__Attribute *a = attribute(now, "axis");
    a->type = SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__INT;
    a->has_i = 1;
    a->i = 1;
    assert_int_equal(sis__proto_append(&g->node, &g->n_node, now), 0);
    add_to_state(g, "now");
    return doc;
}

/* What a round does not work on does not count: rows of 128 KiB run by hundreds. */
static void loops_take_as_many_rows_as_a_round_can(void **state) {
    (void)state;
    enum { ROWS = 70, N = TIMES * WIDE };
    Sis__Onnx__Model *doc = sum_over_time();
    sis_net *net = net_of(doc, 0);
    sis__row_layout *g;
    float *x = malloc((size_t)ROWS * N * sizeof *x), *y = malloc((size_t)ROWS * WIDE * sizeof *y);
    for (size_t i = 0; i < (size_t)ROWS * N; i++)
        x[i] = (float)(i % 13) - (float)(i / N);
    assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = N}, &g), 0);
    assert_true(g->chunk >= 64);
    sis__row_layout_done(net, g);
    sis_net_batch batch = {.rows = x, .n_rows = ROWS, .n_values = N, .jobs = 1};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    for (size_t k = 0; k < (size_t)ROWS * WIDE; k++) {
        const float *row = x + k / WIDE * N + k % WIDE;
        float sum = row[0];
        for (size_t t = 0; t < TIMES; t++)
            sum += row[t * WIDE];
        assert_true(y[k] == sum);
    }
    free(x);
    free(y);
    sis_net_free(net);
    sis__proto_free(&doc->base);
}

static void loops_go_round_as_often_as_they_say(void **state) {
    (void)state;
    float x = 3;
    for (int64_t rounds = 0; rounds < 6; rounds++) {
        Sis__Onnx__Model *doc = doublings(rounds);
        sis_net *net = net_of(doc, 0);
        assert_true(score(net, &x, 1) == 3 * (float)(1 << rounds));
        sis_net_free(net);
        sis__proto_free(&doc->base);
    }
    Sis__Onnx__Model *doc = doublings(INT64_MAX); /* ends soon all the same */
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    assert_message_has("Loop");
    sis__proto_free(&doc->base);
}

static int try_functions(void *ctx) {
    sis_net *net;
    uint8_t *bytes;
    size_t n;
    const Sis__Onnx__Model *doc = (const Sis__Onnx__Model *)ctx;
    int error = sis__proto_pack(&doc->base, &bytes, &n);
    if (error)
        return error;
    error = sis_net_parse(bytes, n, &net);
    free(bytes);
    sis_net_free(error ? NULL : net);
    return error;
}

static void functions_survive_failing_allocations(void **state) {
    (void)state;
    Sis__Onnx__Model *doc = calls();
    assert_true(with_failing_allocations(try_functions, doc) > 20);
    sis__proto_free(&doc->base);
}

static void loops_survive_failing_allocations(void **state) {
    (void)state;
    Sis__Onnx__Model *doc = doublings(3);
    assert_true(with_failing_allocations(try_functions, doc) > 20);
    sis__proto_free(&doc->base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_may_lie_beside_the_model),
        cmocka_unit_test(sparse_values_are_refused),
        cmocka_unit_test(functions_take_the_place_of_their_calls),
        cmocka_unit_test(functions_survive_failing_allocations),
        cmocka_unit_test(loops_go_round_as_often_as_they_say),
        cmocka_unit_test(loops_take_as_many_rows_as_a_round_can),
        cmocka_unit_test(loops_survive_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
