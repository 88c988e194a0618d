/* SPDX-License-Identifier: MIT
 *
 * Parts of a model's document besides its graph: values in other files, functions, and graphs
 * inside nodes.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "net/onnx/external.h"
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

/* ---- External values -------------------------------------------------------------------------- */

static void add_entry(Sis__Onnx__Tensor *t, const char *key, const char *value) {
    Sis__Onnx__StringStringEntry *e =
        (Sis__Onnx__StringStringEntry *)message(&sis__onnx__string_string_entry__descriptor);
    e->key = strdup(key);
    e->value = strdup(value);
    assert_int_equal(sis__proto_append(&t->external_data, &t->n_external_data, e), 0);
}

/* The weights of the product, declared at `offset` of a file. */
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

static void values_may_be_in_external_files(void **state) {
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
    Sis__Onnx__Model *doc = outside("values.bin", "8", "16"); /* a model in memory has no folder */
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    sis__proto_free(&doc->base);
    unlink(path);
    rmdir(dir);
}

/* ---- Sparse values ----------------------------------------------------------------------------- */

/* Networks with sparse weights are left to ONNX Runtime. */
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
    assert_message_has("does not support sparse tensors");
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

static void functions_of_the_file_are_refused(void **state) {
    (void)state;
    sis_net *net = NULL;
    sis_net_builder *b = sis_net_builder_new("calls");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1));
    sis_net_add_node(b, "Relu", "x", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    Sis__Onnx__Model *doc = document_of(net);
    sis_net_free(net);
    Sis__Onnx__Function *f = (Sis__Onnx__Function *)message(&sis__onnx__function__descriptor);
    f->name = strdup("Relu"); /* it would replace a standard operator */
    assert_int_equal(sis__proto_append(&doc->functions, &doc->n_functions, f), 0);
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    assert_message_has("operator Relu is a function of the file");
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

/* A branch: one node op(x, c) with a constant of its own. */
static Sis__Onnx__Graph *branch(const char *op, float constant) {
    Sis__Onnx__Graph *g = (Sis__Onnx__Graph *)message(&sis__onnx__graph__descriptor);
    Sis__Onnx__Node *n = node("", op, "x", "inside");
    Sis__Onnx__Tensor *t = (Sis__Onnx__Tensor *)message(&sis__onnx__tensor__descriptor);
    t->name = strdup("c");
    t->has_data_type = 1;
    t->data_type = 1;
    t->n_float_data = 1;
    t->float_data = (float *)malloc(sizeof *t->float_data);
    t->float_data[0] = constant;
    assert_int_equal(sis__proto_append(&n->input, &n->n_input, strdup("c")), 0);
    assert_int_equal(sis__proto_append(&g->node, &g->n_node, n), 0);
    assert_int_equal(sis__proto_append(&g->initializer, &g->n_initializer, t), 0);
    assert_int_equal(sis__proto_append(&g->output, &g->n_output, value("inside", 1)), 0);
    return g;
}

static void add_branch(Sis__Onnx__Node *n, const char *name, Sis__Onnx__Graph *g) {
    Sis__Onnx__Attribute *a = attribute(n, name);
    a->type = SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__GRAPH;
    a->g = g;
}

/* Turns n into If(condition): x + 2, else x * 10. */
static void make_if(Sis__Onnx__Node *n, const char *condition) {
    free(n->op_type);
    n->op_type = strdup("If");
    free(n->input[0]);
    n->input[0] = strdup(condition);
    add_branch(n, "then_branch", branch("Add", 2));
    add_branch(n, "else_branch", branch("Mul", 10));
}

static Sis__Onnx__Model *document_built(sis_net_builder *b) {
    sis_net *net;
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), 0);
    Sis__Onnx__Model *doc = document_of(net);
    sis_net_free(net);
    return doc;
}

/* y = If(the width of x is `wide`; with `by_value`: x[0] > 0). declared: 0 if the width is free. */
static Sis__Onnx__Model *widths(size_t declared, int64_t wide, int by_value) {
    sis_net_builder *b = sis_net_builder_new("if");
    sis_net_add_input(b, "x", 0, SHAPE(0, declared));
    sis_net_add_ints(b, "wide", SHAPE(1), &wide);
    sis_net_add_ints(b, "one", SHAPE(1), (int64_t[]){1});
    sis_net_add_node(b, "Shape", "x", "shape");
    sis_net_add_node(b, "Gather", "shape one", "width");
    if (by_value) {
        sis_net_add_node(b, "ReduceMax", "x", "top");
        sis_net_attr_int(b, "keepdims", 0);
        sis_net_add_node(b, "Cast", "top", "is");
        sis_net_attr_int(b, "to", 9);
    } else {
        sis_net_add_node(b, "Equal", "width wide", "is");
    }
    sis_net_add_node(b, "Identity", "x", "y");
    Sis__Onnx__Model *doc = document_built(b);
    make_if(doc->graph->node[doc->graph->n_node - 1], "is");
    return doc;
}

static void known_branches_replace_if(void **state) {
    (void)state;
    const float x[] = {3, 4};
    for (int64_t wide = 2; wide < 4; wide++) {
        Sis__Onnx__Model *doc = widths(2, wide, 0);
        sis_net *net = net_of(doc, 0);
        float y[2];
        sis_net_batch batch = {.rows = x, .n_rows = 1, .n_values = 2, .jobs = 1};
        assert_int_equal(sis_net_forward(net, &batch, y), 0);
        assert_true(y[0] == (wide == 2 ? 5 : 30) && y[1] == (wide == 2 ? 6 : 40));
        float slopes[2];
        sis_net_grad grad = {.d_rows = slopes};
        assert_int_equal(sis_net_gradient(net, &batch, &grad), 0);
        assert_true(slopes[0] == (wide == 2 ? 1 : 10) && slopes[1] == 0);
        sis_net_free(net);
        sis__proto_free(&doc->base);
    }
}

/* Two branches with the same names, one inside the other. */
static void nested_branches_are_inlined(void **state) {
    (void)state;
    const float x[] = {3, 4};
    float y[2];
    Sis__Onnx__Model *doc = widths(2, 2, 0);
    Sis__Onnx__Node *outer = doc->graph->node[doc->graph->n_node - 1];
    Sis__Onnx__Graph *then = outer->attribute[0]->g;
    Sis__Onnx__Node *inner = node("", "Identity", "x", "within");
    make_if(inner, "is");
    assert_int_equal(sis__proto_append(&then->node, &then->n_node, inner), 0);
    free(then->output[0]->name);
    then->output[0]->name = strdup("within");
    sis_net *net = net_of(doc, 0);
    sis_net_batch batch = {.rows = x, .n_rows = 1, .n_values = 2, .jobs = 1};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 5 && y[1] == 6);
    sis_net_free(net);
    sis__proto_free(&doc->base);
}

/* A branch is chosen for one size. Rows of a size that needs the other branch are refused. */
static void branches_refuse_sizes_with_another_condition(void **state) {
    (void)state;
    float x[64] = {1}, y[64];
    Sis__Onnx__Model *doc = widths(0, 64, 0);
    sis_net *net = net_of(doc, 0);
    sis_net_batch batch = {.rows = x, .n_rows = 1, .n_values = 64, .jobs = 1};
    assert_int_equal(sis_net_forward(net, &batch, y), 0);
    assert_true(y[0] == 3 && y[1] == 2);
    batch.n_values = 5;
    assert_int_equal(sis_net_forward(net, &batch, y), SIS_E_UNSUPPORTED);
    assert_message_has("which branch is taken depends on the input's size");
    sis_net_free(net);
    sis__proto_free(&doc->base);
}

static void conditions_that_depend_on_values_are_refused(void **state) {
    (void)state;
    Sis__Onnx__Model *doc = widths(2, 2, 1);
    assert_null(net_of(doc, SIS_E_UNSUPPORTED));
    assert_message_has("operator If");
    sis__proto_free(&doc->base);
}

static int try_branches(void *ctx) {
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

static void branches_survive_failing_allocations(void **state) {
    (void)state;
    Sis__Onnx__Model *doc = widths(2, 2, 0);
    assert_true(with_failing_allocations(try_branches, doc) > 20);
    sis__proto_free(&doc->base);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_may_be_in_external_files),
        cmocka_unit_test(sparse_values_are_refused),
        cmocka_unit_test(functions_of_the_file_are_refused),
        cmocka_unit_test(known_branches_replace_if),
        cmocka_unit_test(nested_branches_are_inlined),
        cmocka_unit_test(branches_refuse_sizes_with_another_condition),
        cmocka_unit_test(conditions_that_depend_on_values_are_refused),
        cmocka_unit_test(branches_survive_failing_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
