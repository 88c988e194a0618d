/* SPDX-License-Identifier: MIT
 *
 * The standard's own test cases: a folder has a model, inputs and expected outputs. A case must run
 * and agree if our table has all its operators and we compute in the types of its tensors. Any
 * other case must be refused with a message that names an operator of it (or the tensor), and
 * nothing may crash. The table decides what is supported, except for `left_out` below.
 *
 * Then our own cases, tests/unit/ort_cases.txt, with ONNX Runtime's outputs: operators that the
 * standard's cases lack, mostly of com.microsoft (tests/ort_cases.py).
 */
#include "support.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/lower/lower.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"
#include "net/plan/context.h"
#include "net/plan/net.h"

enum { MAX_IO = 64 };

/* Refused cases whose operators are in the table, and why. */
static const struct {
    const char *name, *why;
} left_out[] = {
    {"test_batchnorm_epsilon_training_mode", "updates running statistics, as training does"},
    {"test_batchnorm_example_training_mode", "the same"},
    {"test_lstm_with_peepholes", "left to ONNX Runtime"},
    {"test_maxpool_with_argmax_2d_precomputed_pads", "Indices are left to ONNX Runtime"},
    {"test_maxpool_with_argmax_2d_precomputed_strides", "the same"},
    {"test_training_dropout", "expects the numbers of numpy's random generator"},
    {"test_training_dropout_default", "the same"},
    {"test_training_dropout_default_mask", "the same"},
    {"test_training_dropout_mask", "the same"},
};

static int is_left_out(const char *name) {
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (strcmp(left_out[i].name, name) == 0)
            return 1;
    return 0;
}

/* ---- Files --------------------------------------------------------------------------------- */

static char *read_file(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    fseek(f, 0, SEEK_END);
    *n = (size_t)ftell(f);
    rewind(f);
    char *bytes = (char *)malloc(*n + 1);
    assert_non_null(bytes);
    assert_int_equal(fread(bytes, 1, *n, f), *n);
    fclose(f);
    return bytes;
}

static ProtobufCMessage *parse_file(const ProtobufCMessageDescriptor *type, const char *path) {
    size_t n;
    ProtobufCMessage *m = NULL;
    char *bytes = read_file(path, &n);
    if (bytes)
        sis__proto_parse(type, bytes, n, &m);
    free(bytes);
    return m;
}

static Sis__Onnx__Tensor *read_tensor(const char *folder, int set, const char *kind, size_t i) {
    char path[8192];
    snprintf(path, sizeof path, "%s/test_data_set_%d/%s_%zu.pb", folder, set, kind, i);
    return (Sis__Onnx__Tensor *)parse_file(&sis__onnx__tensor__descriptor, path);
}

/* ---- One case ------------------------------------------------------------------------------ */

typedef struct {
    sis_net net;
    Sis__Onnx__Tensor *in[MAX_IO], *out[MAX_IO];
    sis__decoded x[MAX_IO], y[MAX_IO];
    size_t n_in, n_out;
    double within, min; /* tolerances: relative, absolute */
} fixture;

static void release(fixture *c) {
    for (size_t i = 0; i < MAX_IO; i++) {
        free(c->x[i].owned);
        free(c->y[i].owned);
        if (c->in[i])
            sis__proto_free(&c->in[i]->base);
        if (c->out[i])
            sis__proto_free(&c->out[i]->base);
    }
    sis__graph_release(&c->net.graph);
    if (c->net.doc)
        sis__proto_free(&c->net.doc->base);
}

static int known_operators(const sis__graph *g) {
    for (size_t i = 0; i < g->n_nodes; i++)
        if (!g->nodes[i].op)
            return 0;
    return 1;
}

/* Types we compute in. */
static int known_type(int elem_type) {
    return sis__elem_dtype(elem_type) != SIS__OTHER;
}

/* Some bfloat16 tensors are recorded as the uint16 of their bits. */
static Sis__Onnx__Tensor *as_declared(Sis__Onnx__Tensor *t, const sis__value *v) {
    if (t && t->data_type == SIS__UINT16 && v->elem_type == SIS__BFLOAT16)
        t->data_type = SIS__BFLOAT16;
    return t;
}

/* The messages of inputs and outputs, from the files of a case. */
static void read_data(fixture *c, const char *folder) {
    for (size_t i = 0; i < c->net.graph.n_inputs && i < MAX_IO; i++)
        c->in[i] = read_tensor(folder, 0, "input", i);
    for (size_t i = 0; i < c->net.graph.n_outputs && i < MAX_IO; i++)
        c->out[i] = read_tensor(folder, 0, "output", i);
}

/* Decode inputs and outputs; 0 if they are all tensors of types we know. */
static int decode_data(fixture *c) {
    const sis__graph *g = &c->net.graph;
    for (c->n_in = 0; c->n_in < g->n_inputs && c->n_in < MAX_IO; c->n_in++) {
        size_t i = c->n_in;
        c->in[i] = as_declared(c->in[i], &g->values[g->inputs[i]]);
        if (!c->in[i] || !known_type(c->in[i]->data_type) ||
            c->in[i]->data_type != g->values[g->inputs[i]].elem_type ||
            sis__tensor_decode(c->in[i], c->net.graph.words, &c->x[i]) != 0)
            return -1;
    }
    for (c->n_out = 0; c->n_out < g->n_outputs && c->n_out < MAX_IO; c->n_out++) {
        size_t i = c->n_out;
        c->out[i] = as_declared(c->out[i], &g->values[g->outputs[i]]);
        if (!c->out[i] || !known_type(c->out[i]->data_type) ||
            sis__tensor_decode(c->out[i], c->net.graph.words, &c->y[i]) != 0)
            return -1;
    }
    return 0;
}

/* Inputs that are constant when the plan is made. */
typedef enum { NOTHING, INTEGERS, EVERYTHING } knowledge;

static int compile(fixture *c, knowledge known, sis__plan **plan) {
    sis__feed feeds[MAX_IO] = {0};
    for (size_t i = 0; i < c->net.graph.n_inputs && i < MAX_IO; i++) {
        feeds[i].value = c->net.graph.inputs[i];
        feeds[i].rank = c->x[i].rank;
        for (size_t d = 0; d < c->x[i].rank; d++)
            feeds[i].dims[d] = (size_t)c->x[i].dims[d];
        /* a small input may be a bound or an axis */
        int small = c->x[i].dtype != SIS__F32 || c->x[i].count == 1;
        if (c->x[i].data && (known == EVERYTHING || (known == INTEGERS && small)))
            feeds[i].constant = c->x[i].data;
    }
    sis__plan_spec spec = {.feeds = feeds,
                           .n_feeds = c->net.graph.n_inputs,
                           .outputs = c->net.graph.outputs,
                           .n_outputs = c->net.graph.n_outputs};
    return sis__plan_new(&c->net, &spec, plan);
}

static double value_at(sis__dtype t, const void *p, size_t i) {
    return t == SIS__F32    ? (double)((const float *)p)[i]
           : t == SIS__BOOL ? (double)((const uint8_t *)p)[i]
                            : (double)((const int64_t *)p)[i];
}

/* NULL, or the difference. */
static const char *compare(const fixture *c, const sis__run *r, size_t k) {
    static char text[256];
    const sis__tensor *t = &r->plan->tensors[c->net.graph.outputs[k]];
    const sis__decoded *y = &c->y[k];
    if (t->dtype != y->dtype || t->elem != y->elem || t->rank != y->rank || t->count != y->count)
        return "type or shape";
    for (size_t d = 0; d < t->rank; d++)
        if (t->dims[d] != (size_t)y->dims[d])
            return "shape";
    /* computed in single precision; recorded bfloat16 were truncated, not rounded */
    double within = t->elem == SIS__BFLOAT16 ? 0x1p-7 : c->within;
    for (size_t i = 0; i < t->count; i++) {
        double got = value_at(t->dtype, r->data[c->net.graph.outputs[k]], i);
        double want = value_at(t->dtype, y->data, i);
        const int64_t *whole = (const int64_t *)r->data[c->net.graph.outputs[k]];
        if (t->dtype == SIS__I64 && fabs(want) > 0x1p53 &&
            whole[i] != ((const int64_t *)y->data)[i])
            return "a whole number above 2^53";
        if (isnan(got) && isnan(want))
            continue;
        if (got != want && !(fabs(got - want) <= c->min + within * fabs(want))) {
            snprintf(text, sizeof text, "output %zu, value %zu: %.9g instead of %.9g", k, i, got,
                     want);
            return text;
        }
    }
    return NULL;
}

static const char *run(fixture *c, const sis__plan *plan) {
    sis__run *r;
    const char *wrong = NULL;
    if (sis__run_new(plan, &r) != 0)
        return "no memory";
    for (size_t i = 0; i < c->n_in; i++)
        if (plan->tensors[c->net.graph.inputs[i]].fed)
            memcpy(r->data[c->net.graph.inputs[i]], c->x[i].data,
                   c->x[i].count * sis__dtype_size(c->x[i].dtype));
    if (sis__run_forward(r) != 0)
        wrong = sis_error_detail();
    for (size_t k = 0; k < c->n_out && !wrong; k++)
        wrong = compare(c, r, k);
    sis__run_free(r);
    return wrong;
}

static int says(const char *message, const char *what, const char *name) {
    char text[512];
    snprintf(text, sizeof text, "%s %s", what, name);
    return name && *name && strstr(message, text) != NULL;
}

/* 1 if the message names an operator of the graph or one of its tensors. */
static int names_fault(const Sis__Onnx__Graph *p, const char *message) {
    for (size_t i = 0; i < p->n_node; i++)
        if (says(message, "operator", p->node[i]->op_type))
            return 1;
    for (size_t i = 0; i < p->n_input; i++)
        if (says(message, "input", p->input[i]->name))
            return 1;
    for (size_t i = 0; i < p->n_output; i++)
        if (says(message, "output", p->output[i]->name))
            return 1;
    for (size_t i = 0; i < p->n_initializer; i++)
        if (says(message, "tensor", p->initializer[i]->name))
            return 1;
    return strstr(message, "sparse tensor") != NULL;
}

typedef struct {
    size_t passed, refused, failed;
    size_t unchecked; /* compiled, but the expected outputs are not tensors of our types */
} tally;

static void fail_case(tally *t, const char *name, const char *why) {
    printf("  FAILED %s: %s\n", name, why);
    t->failed++;
}

static void refuse_case(tally *t, const fixture *c, const char *name, int error) {
    if (error != SIS_E_UNSUPPORTED && error != SIS_E_FORMAT && error != SIS_E_ARGUMENT)
        fail_case(t, name, sis_error_name(error));
    else if (!names_fault(c->net.doc->graph, sis_error_detail()))
        fail_case(t, name, sis_error_detail());
    else
        t->refused++;
    if (getenv("SIS_TELL"))
        printf("  refused %s: %s\n", name, sis_error_detail());
}

/* The graph of the lowered document. */
static int load(fixture *c) {
    int error = sis__lower(c->net.doc);
    return error ? error : sis__graph_load(&c->net.graph, c->net.doc, NULL, sis__op_find);
}

/* A case with its document, graph and messages. */
static void try_case(fixture *c, const char *name, tally *t) {
    sis__plan *plan = NULL;
    int types = decode_data(c);
    int supported = types == 0 && known_operators(&c->net.graph) && !is_left_out(name);
    int error = compile(c, INTEGERS, &plan);
    if (error && !types)
        error = compile(c, EVERYTHING, &plan);
    const char *wrong = error || types ? NULL : run(c, plan);
    if (error && supported)
        fail_case(t, name, sis_error_detail());
    else if (error)
        refuse_case(t, c, name, error);
    else if (types)
        t->unchecked++;
    else if (wrong)
        fail_case(t, name, wrong);
    else
        t->passed++;
    sis__plan_free(plan);
    /* Again without constant inputs, if that compiles. */
    if (!error && !types && compile(c, NOTHING, &plan) == 0) {
        if ((wrong = run(c, plan)) != NULL)
            fail_case(t, name, wrong);
        sis__plan_free(plan);
    }
}

static void run_case(const char *folder, const char *name, tally *t) {
    fixture c = {.net = {.embedding = -1, .embedded = -1}, .within = 1e-3, .min = 1e-7};
    char path[8192];
    snprintf(path, sizeof path, "%s/model.onnx", folder);
    c.net.doc = (Sis__Onnx__Model *)parse_file(&sis__onnx__model__descriptor, path);
    if (!c.net.doc)
        return; /* a folder without a model */
    int error = load(&c);
    if (error) {
        refuse_case(t, &c, name, error);
    } else {
        read_data(&c, folder);
        try_case(&c, name, t);
    }
    release(&c);
}

/* ---- Our own cases: NAME MODEL INPUTS OUTPUTS, messages in hexadecimal --------------------- */

static unsigned char *bytes_of_hex(const char *hex, size_t *n) {
    unsigned char *bytes = (unsigned char *)malloc(strlen(hex) / 2 + 1);
    *n = strlen(hex) / 2;
    for (size_t i = 0; i < *n; i++) {
        unsigned v;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &v), 1);
        bytes[i] = (unsigned char)v;
    }
    return bytes;
}

/* Open it like users do: with a cache and folded constants. Some models have no rows. */
static void open_model(const char *hex) {
    size_t n;
    unsigned char *bytes = bytes_of_hex(hex, &n);
    sis_net *net = NULL;
    if (sis_net_parse(bytes, n, &net) == SIS_OK)
        sis_net_free(net);
    free(bytes);
}

static ProtobufCMessage *parse_hex(const ProtobufCMessageDescriptor *type, const char *hex) {
    size_t n;
    unsigned char *bytes = bytes_of_hex(hex, &n);
    ProtobufCMessage *m = NULL;
    sis__proto_parse(type, bytes, n, &m);
    free(bytes);
    return m;
}

/* Messages between commas; "-": none. */
static void parse_list(char *list, Sis__Onnx__Tensor **to) {
    char *rest = NULL;
    size_t n = 0;
    for (char *at = strtok_r(list, ",", &rest); at && *at != '-'; at = strtok_r(NULL, ",", &rest))
        to[n++] = (Sis__Onnx__Tensor *)parse_hex(&sis__onnx__tensor__descriptor, at);
}

static void run_line(char *line, tally *t) {
    fixture c = {.net = {.embedding = -1, .embedded = -1}, .within = 1e-4, .min = 1e-5};
    char *rest = NULL, *name = strtok_r(line, " \n", &rest), *model = strtok_r(NULL, " \n", &rest);
    if (strncmp(name, "half_", 5) == 0) /* ONNX Runtime rounds to 11 bits in some places */
        c.within = c.min = 0x1p-9;
    char *in = strtok_r(NULL, " \n", &rest), *out = strtok_r(NULL, " \n", &rest);
    assert_non_null(out);
    c.net.doc = (Sis__Onnx__Model *)parse_hex(&sis__onnx__model__descriptor, model);
    assert_non_null(c.net.doc);
    open_model(model);
    parse_list(in, c.in);
    parse_list(out, c.out);
    if (load(&c) != 0)
        fail_case(t, name, sis_error_detail());
    else
        try_case(&c, name, t);
    release(&c);
}

static void own_cases_equal_onnx_runtime(void **state) {
    (void)state;
    const char *path =
        getenv("SIS_CASES") ? getenv("SIS_CASES") : SIS_SOURCE_DIR "/tests/unit/ort_cases.txt";
    FILE *f = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;
    tally t = {0};
    assert_non_null(f);
    while (getline(&line, &size, f) > 0)
        run_line(line, &t);
    free(line);
    fclose(f);
    printf("%-18s %4zu passed, %4zu refused, %zu failed, %zu unchecked\n", "own", t.passed,
           t.refused, t.failed, t.unchecked);
    assert_int_equal(t.failed + t.refused + t.unchecked, 0);
    assert_true(t.passed > 200);
}

/* ---- All of them --------------------------------------------------------------------------- */

static const char *find_data(void) {
    static char path[4096];
    const char *at = SIS_ONNX_CASES; /* candidates, separated by colons */
    while (*at) {
        size_t n = strcspn(at, ":");
        snprintf(path, sizeof path, "%.*s/node", (int)n, at);
        if (access(path, R_OK) == 0) {
            path[n] = '\0';
            return path;
        }
        at += n + (at[n] == ':');
    }
    return NULL;
}

static int by_name(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void run_folder(const char *root, const char *folder, size_t at_least) {
    char path[4096];
    char **names = NULL;
    size_t n = 0;
    tally t = {0};
    snprintf(path, sizeof path, "%s/%s", root, folder);
    DIR *dir = opendir(path);
    assert_non_null(dir);
    for (struct dirent *e; (e = readdir(dir));) {
        if (strncmp(e->d_name, "test_", 5) != 0)
            continue;
        names = (char **)realloc(names, (n + 1) * sizeof *names);
        names[n++] = strdup(e->d_name);
    }
    closedir(dir);
    qsort(names, n, sizeof *names, by_name);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s/%s", root, folder, names[i]);
        run_case(path, names[i], &t);
        free(names[i]);
    }
    free(names);
    printf("%-18s %4zu passed, %4zu refused, %zu failed, %zu unchecked\n", folder, t.passed,
           t.refused, t.failed, t.unchecked);
    assert_int_equal(t.failed, 0);
    assert_true(t.passed >= at_least);
}

static void standard_cases_pass_or_are_refused_by_name(void **state) {
    (void)state;
    const char *root = find_data();
    if (!root) {
        printf("skipped: the ONNX test cases (libonnx-testdata) are not installed\n");
        skip();
    }
    run_folder(root, "node", 584);
    run_folder(root, "simple", 13);
    run_folder(root, "pytorch-converted", 79);
    run_folder(root, "pytorch-operator", 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(standard_cases_pass_or_are_refused_by_name),
        cmocka_unit_test(own_cases_equal_onnx_runtime),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
