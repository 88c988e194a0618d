/* SPDX-License-Identifier: MIT
 *
 * Networks in ONNX Runtime. The library itself checks that the slots of its function table are
 * those that ort.c uses. Skipped without the library (tools/install-ort.sh puts it into the build
 * folder).
 */
#include <glob.h>
#include <jansson.h>
#include <math.h>
#include <onnx/onnx.pb-c.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/handle.h>
#include <sis/model.h>
#include <sis/net.h>

#include "base/rng.h"
#include "support.h"
#include "support_net.h"
#include "support_transformer.h"

/* Uses the library in the build folder unless $SIS_ORT names another. */
static int no_library(void) {
    static const char built[] = SIS_BINARY_DIR "/ort/libonnxruntime.so.1";
    sis_model model;
    if (!getenv("SIS_ORT") && access(built, R_OK) == 0)
        setenv("SIS_ORT", built, 1);
    int error = sis_model_open("ort:/nowhere.onnx", NULL, &model);
    if (error == SIS_E_UNSUPPORTED)
        print_message("skipped: %s\n", sis_error_detail());
    return error == SIS_E_UNSUPPORTED;
}

static sis_model open_spec(const char *spec) {
    sis_model model;
    if (sis_model_open(spec, NULL, &model) != SIS_OK)
        fail_msg("%s: %s", spec, sis_error_detail());
    return model;
}

/* ---- Files made here ------------------------------------------------------------------------- */

/* With the process id, because the sanitized test may run at the same time. */
static const char *file_name(const char *name) {
    static char path[512];
    snprintf(path, sizeof path, "%s/tests/%ld_%s", SIS_BINARY_DIR, (long)getpid(), name);
    return path;
}

/* One operator from x to y, both of a type; rows: 0 if free. */
static const char *one_operator_of(int type, const char *op, int64_t rows, size_t rank,
                                   const int64_t *dims) {
    Sis__Onnx__Model model = SIS__ONNX__MODEL__INIT;
    Sis__Onnx__OperatorSetId opset = SIS__ONNX__OPERATOR_SET_ID__INIT, *opsets = &opset;
    Sis__Onnx__Graph graph = SIS__ONNX__GRAPH__INIT;
    Sis__Onnx__Node node = SIS__ONNX__NODE__INIT, *nodes = &node;
    Sis__Onnx__ValueInfo infos[2] = {SIS__ONNX__VALUE_INFO__INIT, SIS__ONNX__VALUE_INFO__INIT};
    Sis__Onnx__Type types[2] = {SIS__ONNX__TYPE__INIT, SIS__ONNX__TYPE__INIT};
    Sis__Onnx__Type__Tensor tensors[2] = {SIS__ONNX__TYPE__TENSOR__INIT,
                                          SIS__ONNX__TYPE__TENSOR__INIT};
    Sis__Onnx__TensorShape shape = SIS__ONNX__TENSOR_SHAPE__INIT;
    Sis__Onnx__TensorShape__Dimension axes[4], *axis_list[4];
    Sis__Onnx__ValueInfo *in = &infos[0], *out = &infos[1];
    char *x = (char *)"x", *y = (char *)"y";
    int own = strncmp(op, "ms.", 3) == 0; /* of com.microsoft */
    node.op_type = (char *)op + (own ? 3 : 0);
    node.domain = own ? (char *)"com.microsoft" : node.domain;
    node.n_input = node.n_output = 1;
    node.input = &x;
    node.output = &y;
    for (size_t i = 0; i < 2; i++) {
        infos[i].name = i ? y : x;
        infos[i].type = &types[i];
        types[i].value_case = SIS__ONNX__TYPE__VALUE_TENSOR_TYPE;
        types[i].tensor_type = &tensors[i];
        tensors[i].has_elem_type = 1;
        tensors[i].elem_type = type;
    }
    for (size_t d = 0; d <= rank; d++) {
        sis__onnx__tensor_shape__dimension__init(&axes[d]);
        axis_list[d] = &axes[d];
        axes[d].value_case = d || rows ? SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_VALUE
                                       : SIS__ONNX__TENSOR_SHAPE__DIMENSION__VALUE_DIM_PARAM;
        if (d || rows)
            axes[d].dim_value = d ? dims[d - 1] : rows;
        else
            axes[d].dim_param = (char *)"n";
    }
    shape.n_dim = rank + 1;
    shape.dim = axis_list;
    tensors[0].shape = &shape;
    graph.name = (char *)"g";
    graph.n_node = graph.n_input = graph.n_output = 1;
    graph.node = &nodes;
    graph.input = &in;
    graph.output = &out;
    opset.domain = own ? node.domain : (char *)"";
    opset.has_version = 1;
    opset.version = own ? 1 : 13;
    model.has_ir_version = 1;
    model.ir_version = 7;
    model.n_opset_import = 1;
    model.opset_import = &opsets;
    model.graph = &graph;
    uint8_t bytes[1024];
    size_t n = sis__onnx__model__get_packed_size(&model);
    assert_true(n <= sizeof bytes);
    sis__onnx__model__pack(&model, bytes);
    const char *path = file_name("ort_one.onnx");
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
    return path;
}

static const char *one_operator(const char *op, size_t rank, const int64_t *dims) {
    return one_operator_of(SIS__ONNX__TENSOR__DATA_TYPE__FLOAT, op, 0, rank, dims);
}

/* ---- Scores ---------------------------------------------------------------------------------- */

static void margins_are_those_of_our_engine(void **state) {
    (void)state;
    if (no_library())
        skip();
    enum { N = 70 };
    size_t compared = 0;
    for (size_t k = 0; k < n_families; k++) {
        sis_net *net;
        sis__rng r;
        char spec[600];
        size_t width;
        if (strcmp(families[k].name, "trees") == 0)
            continue; /* two classes with one score follow another rule */
        sis__rng_init(&r, k);
        assert_int_equal(families[k].build(3, &net), SIS_OK);
        const char *path = file_name("ort_family.onnx");
        assert_int_equal(sis_net_write(net, path), SIS_OK);
        float *some = random_rows(net, &r, N, &width);
        sis_net_free(net);
        snprintf(spec, sizeof spec, "ort:%s", path);
        sis_model ours = open_spec(path), theirs;
        if (sis_model_open(spec, NULL, &theirs) != SIS_OK) { /* our writer omits a type */
            assert_message_has("does not match expected type");
            sis_model_close(&ours);
            free(some);
            continue;
        }
        compared++;
        double *rows = malloc(sizeof(double) * N * width);
        assert_non_null(rows);
        for (size_t i = 0; i < N * width; i++)
            rows[i] = some[i];
        if (sis_model_measure(&theirs, rows, width) != SIS_OK)
            fail_msg("%s: %s", families[k].name, sis_error_detail());
        assert_int_equal(theirs.n_outputs, ours.n_outputs);
        size_t n = N * ours.n_outputs;
        double *a = malloc(sizeof(double) * n), *b = malloc(sizeof(double) * n);
        assert_true(a && b);
        assert_int_equal(ours.predict(ours.ctx, rows, N, width, a), SIS_OK);
        assert_int_equal(theirs.predict(theirs.ctx, rows, N, width, b), SIS_OK);
        assert_true(ours.link == theirs.link); /* the same activation is cut */
        for (size_t i = 0; i < n; i++)
            if (fabs(a[i] - b[i]) > 1e-4 * fmax(1, fabs(a[i])))
                fail_msg("%s: %g and %g", families[k].name, a[i], b[i]);
        sis_model_close(&ours);
        sis_model_close(&theirs);
        free(some);
        free(rows);
        free(a);
        free(b);
    }
    assert_true(compared + 2 >= n_families);
}

static int compare_with(void *ctx, size_t i, const sis_collection *c) {
    const sis_collection *wanted = ctx;
    assert_same_subsets(&wanted[i], c);
    return 0;
}

static void explanations_do_not_depend_on_threads(void **state) {
    (void)state;
    if (no_library())
        skip();
    enum { N = 4 };
    sis_net *net = build_family("dense");
    sis__rng r;
    size_t width;
    sis__rng_init(&r, 1);
    float *some = random_rows(net, &r, N + 1, &width);
    char spec[600];
    const char *path = file_name("ort_threads.onnx");
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    snprintf(spec, sizeof spec, "ort:%s", path);
    double *rows = malloc(sizeof(double) * (N + 1) * width);
    assert_non_null(rows);
    for (size_t i = 0; i < (N + 1) * width; i++)
        rows[i] = some[i];
    sis_model model = open_spec(spec);
    assert_int_equal(sis_model_measure(&model, rows, width), SIS_OK);
    sis_input inputs[N];
    sis_collection found[N];
    double scores[N * 64];
    assert_true(model.n_outputs <= 64);
    assert_int_equal(model.predict(model.ctx, rows, N, width, scores), SIS_OK);
    sis_opt opt = decision(scores[0] - 1e-3);
    for (size_t i = 0; i < N; i++) {
        inputs[i] =
            (sis_input){.values = rows + i * width, .mask = rows + N * width, .n_values = width};
        assert_int_equal(sis_collect(&model, &inputs[i], &opt, &found[i]), SIS_OK);
    }
    opt.jobs = 3;
    assert_int_equal(sis_collect_many(&model, inputs, N, &opt, compare_with, found), SIS_OK);
    for (size_t i = 0; i < N; i++)
        sis_collection_release(&found[i]);
    sis_model_close(&model);
    free(some);
    free(rows);
}

/* ---- Operators that the engine lacks --------------------------------------------------------- */

static void files_with_other_operators_run_in_onnx_runtime_with_a_note(void **state) {
    (void)state;
    if (no_library())
        skip();
    const double rows[] = {1, 2, 3, 4, 2, 0, 0, 5};
    double scores[8];
    sis_model model = open_spec(one_operator("ms.SampleOp", 2, (const int64_t[]){2, 2}));
    assert_null(sis_model_net(&model));
    assert_int_equal(model.n_values, 4);
    assert_non_null(sis_model_note(&model));
    assert_non_null(strstr(sis_model_note(&model), "operator SampleOp"));
    assert_non_null(strstr(sis_model_note(&model), "ONNX Runtime runs it"));
    assert_int_equal(sis_model_measure(&model, rows, 4), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 2, 4, scores), SIS_OK);
    assert_memory_equal(scores, rows, sizeof rows);
    sis_model_close(&model);
    char spec[600];
    snprintf(spec, sizeof spec, "ort:%s", one_operator("Relu", 1, (const int64_t[]){3}));
    model = open_spec(spec);
    assert_null(sis_model_note(&model));
    assert_null(sis_model_net(&model));
    sis_model_close(&model);
}

static void files_that_neither_engine_runs_are_reported(void **state) {
    (void)state;
    if (no_library())
        skip();
    sis_model model;
    assert_int_equal(
        sis_model_open(one_operator("Nonsense", 1, (const int64_t[]){2}), NULL, &model),
        SIS_E_UNSUPPORTED);
    assert_message_has("operator Nonsense (node ");
    assert_message_has("ONNX Runtime: ");
    assert_int_equal(sis_model_open("ort:/nowhere.onnx", NULL, &model), SIS_E_MODEL);
    assert_message_has("model ort:/nowhere.onnx: ONNX Runtime: ");
    const double row[] = {1, 2, 3};
    char spec[600];
    snprintf(spec, sizeof spec, "ort:%s", one_operator("Relu", 1, (const int64_t[]){2}));
    model = open_spec(spec);
    assert_int_equal(sis_model_measure(&model, row, 3), SIS_E_ARGUMENT);
    assert_message_has("a tensor of shape (any, 2)");
    assert_int_equal(sis_model_take_texts(&model, NULL, 0), SIS_E_UNSUPPORTED);
    sis_model_close(&model);
}

/* ---- Published models ------------------------------------------------------------------------ */

static double number_at(const json_t *list, size_t i) {
    const json_t *v = json_array_get(list, i);
    return json_is_boolean(v) ? json_is_true(v) : json_number_value(v);
}

/* Scores are probabilities; recorded values may be their logarithms. */
static int is_recorded(const json_t *wanted, const double *scores, size_t n) {
    int same = json_array_size(wanted) == n, logarithms = same;
    for (size_t i = 0; (same || logarithms) && i < n; i++) {
        double w = number_at(wanted, i), max = 1e-4 * fmax(1, fabs(w));
        same &= fabs(w - scores[i]) <= max;
        logarithms &= fabs(w - log(scores[i])) <= max;
    }
    return same || logarithms;
}

/* Without VNNI, processors cut sums of two 8-bit products to 16 bits; the recorded sums were not
 * cut. */
static int saturates(void) {
#ifdef __x86_64__
    return !__builtin_cpu_supports("avx512vnni");
#else
    return 0;
#endif
}

/* 1 if one of the recorded floating-point outputs equals the scores (they have no order), or if
 * there is none: lists of dictionaries could not be recorded. */
static int was_recorded(const json_t *run, const double *scores, size_t n) {
    const char *name;
    json_t *output;
    int any = 0;
    json_object_foreach(json_object_get(run, "outputs"), name, output) {
        if (strncmp(json_string_value(json_object_get(output, "type")), "float", 5) != 0)
            continue;
        any = 1;
        if (is_recorded(json_object_get(output, "data"), scores, n))
            return 1;
    }
    return !any;
}

/* 1 if the model has one input and gives the recorded outputs; 0 if it has several inputs. */
static int try_model(const char *path, const json_t *run) {
    json_t *inputs = json_object_get(run, "inputs");
    if (json_object_size(inputs) != 1)
        return 0;
    const json_t *input = json_object_iter_value(json_object_iter(inputs));
    const json_t *dims = json_object_get(input, "dims"), *data = json_object_get(input, "data");
    size_t values = json_array_size(data), n = (size_t)number_at(dims, 0), width = values / n;
    char spec[4200];
    snprintf(spec, sizeof spec, "ort:%s", path);
    sis_model model = open_spec(spec);
    double *rows = malloc(sizeof(double) * values);
    assert_non_null(rows);
    for (size_t i = 0; i < values; i++)
        rows[i] = number_at(data, i);
    int error = sis_model_measure(&model, rows, width);
    if (error == SIS_E_MODEL) { /* the first axis is not rows: all values are one row */
        sis_model_close(&model);
        model = open_spec(spec);
        n = 1;
        width = values;
        error = sis_model_measure(&model, rows, width);
    }
    if (error != SIS_OK)
        fail_msg("%s: %s", path, sis_error_detail());
    double *scores = malloc(sizeof(double) * n * model.n_outputs);
    assert_non_null(scores);
    if (model.predict(model.ctx, rows, n, width, scores) != SIS_OK)
        fail_msg("%s: %s", path, sis_error_detail());
    double *again = malloc(sizeof(double) * n * model.n_outputs);
    assert_non_null(again);
    assert_int_equal(model.predict(model.ctx, rows, n, width, again), SIS_OK);
    int same = memcmp(scores, again, sizeof(double) * n * model.n_outputs) == 0;
    for (size_t i = 0; model.link && i < n * model.n_outputs; i++)
        scores[i] = model.link(scores[i]);
    free(
        again); /* one model draws random numbers, one scales by the largest value of the batch, and
                    ONNX Runtime saturates pairs of 8-bit products on some processors */
    if (same && !strstr(path, "model_quant") && !(strstr(path, "model_int8") && saturates()) &&
        !was_recorded(run, scores, n * model.n_outputs))
        fail_msg("%s: other scores than recorded, the first %g", path, scores[0]);
    free(rows);
    free(scores);
    sis_model_close(&model);
    return 1;
}

static void models_with_one_input_give_recorded_outputs(void **state) {
    (void)state;
    const char *folder = no_library() ? NULL : shared_data("zoo");
    if (!folder)
        skip();
    char pattern[4200];
    glob_t found;
    size_t tried = 0, several = 0;
    snprintf(pattern, sizeof pattern, "%s/*.onnx", folder);
    assert_int_equal(glob(pattern, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        char json_path[4200];
        snprintf(json_path, sizeof json_path, "%.*s.json",
                 (int)(strlen(found.gl_pathv[i]) - strlen(".onnx")), found.gl_pathv[i]);
        json_t *run = json_load_file(json_path, JSON_DECODE_INT_AS_REAL, NULL);
        assert_non_null(run);
        if (try_model(found.gl_pathv[i], run))
            tried++;
        else
            several++;
        json_decref(run);
    }
    print_message("%zu models of one input, %zu of several left out\n", tried, several);
    assert_true(tried >= 90);
    globfree(&found);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int use_model(void *ctx) {
    const double rows[] = {1, 2, 3, 4, 2, 0, 0, 5};
    double scores[8];
    void *twin = NULL;
    sis_model model;
    int code = sis_model_open(ctx, NULL, &model);
    if (code == SIS_OK)
        code = sis_model_measure(&model, rows, 4);
    if (code == SIS_OK)
        code = model.worker_new(model.ctx, &twin);
    if (code == SIS_OK)
        code = model.predict(twin, rows, 2, 4, scores);
    if (twin)
        model.worker_free(twin);
    sis_model_close(&model);
    return code;
}

static void failing_allocations_do_no_harm(void **state) {
    (void)state;
    if (no_library())
        skip();
    char spec[600];
    snprintf(spec, sizeof spec, "ort:%s", one_operator("ms.SampleOp", 2, (const int64_t[]){2, 2}));
    assert_true(with_failing_allocations(use_model, spec) > 4);
    assert_true(with_failing_allocations(use_model, spec + 4) > 4); /* the engine of sis first */
}

/* ---- Several inputs -------------------------------------------------------------------------- */

static void attention_masks_are_derived_from_ids(void **state) {
    (void)state;
    if (no_library())
        skip();
    enum { N = 6, LENGTH = 7 };
    sis__rng r;
    sis__rng_init(&r, 5);
    encoder e = {.layers = 2, .width = 12, .heads = 2, .length = 9, .masked = 1};
    sis_net *net;
    build_encoder(&e, &r, &net);
    char path[512], spec[520];
    snprintf(path, sizeof path, "%s", file_name("ort_encoder.onnx"));
    snprintf(spec, sizeof spec, "ort:%s", path);
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    sis_model own = open_spec(path), other = open_spec(spec);
    double rows[N * LENGTH], margins[N * 2], scores[N * 2];
    for (size_t i = 0; i < N * LENGTH; i++)
        rows[i] = i % 5 == 4 ? 0 : (double)(1 + sis__rng_below(&r, ENCODER_WORDS - 1));
    assert_int_equal(sis_model_measure(&own, rows, LENGTH), SIS_OK);
    assert_int_equal(sis_model_measure(&other, rows, LENGTH), SIS_OK);
    assert_int_equal(own.predict(own.ctx, rows, N, LENGTH, margins), SIS_OK);
    assert_int_equal(other.predict(other.ctx, rows, N, LENGTH, scores), SIS_OK);
    assert_non_null(other.link); /* the engine tries lengths that are too long for ONNX Runtime */
    for (size_t i = 0; i < N * 2; i++)
        assert_true(fabs((own.link ? own.link(margins[i]) : margins[i]) - other.link(scores[i])) <
                    1e-5);
    sis_model_close(&own);
    sis_model_close(&other);
}

/* Two tables side by side, or one that is explained and one that is given. */
static void rows_are_split_or_other_inputs_are_constant(void **state) {
    (void)state;
    if (no_library())
        skip();
    sis_net_builder *b = sis_net_builder_new("two");
    sis_net_add_input(b, "left", 0, SHAPE(0, 2));
    sis_net_add_input(b, "right", 0, SHAPE(0, 3));
    sis_net_add_node(b, "Concat", "left right", "both");
    sis_net_attr_int(b, "axis", 1);
    sis_net_add_output(b, "both");
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    char path[512], spec[520];
    snprintf(path, sizeof path, "%s", file_name("ort_two.onnx"));
    snprintf(spec, sizeof spec, "ort:%s", path);
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    const double rows[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
    double scores[10];
    sis_model model = open_spec(spec);
    assert_int_equal(model.n_values, 5);
    assert_int_equal(sis_model_measure(&model, rows, 5), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 2, 5, scores), SIS_OK);
    assert_memory_equal(scores, rows, sizeof rows);
    sis_model_close(&model);
    const float given[] = {7, 8};
    const sis_net_tensor with[] = {
        {.name = "left", .type = SIS_NET_FLOATS, .shape = *SHAPE(1, 2), .data = given}};
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.with = with;
    opt.n_with = 1;
    assert_int_equal(sis_model_open(spec, &opt, &model), SIS_OK);
    assert_int_equal(model.n_values, 3);
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 2, 3, scores), SIS_OK);
    const double wanted[] = {7, 8, 1, 2, 3, 7, 8, 4, 5, 6};
    assert_memory_equal(scores, wanted, sizeof wanted);
    sis_model_close(&model);
    opt.explain = "middle";
    assert_int_equal(sis_model_open(spec, &opt, &model), SIS_E_ARGUMENT);
    assert_message_has("no input middle");
    const sis_net_tensor both[] = {with[0],
                                   {.name = "right", .type = SIS_NET_FLOATS, .data = given}};
    opt.explain = NULL;
    opt.with = both;
    opt.n_with = 2;
    assert_int_equal(sis_model_open(spec, &opt, &model), SIS_E_ARGUMENT);
    assert_message_has("--with gives a value to every input");
}

/* The outputs of the file are of INT32; builders declare floats. */
static void declare_integers(const char *path) {
    uint8_t bytes[4096];
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n = fread(bytes, 1, sizeof bytes, f);
    fclose(f);
    Sis__Onnx__Model *model = sis__onnx__model__unpack(NULL, n, bytes);
    assert_non_null(model);
    for (size_t i = 0; i < model->graph->n_output; i++)
        model->graph->output[i]->type->tensor_type->elem_type = SIS__ONNX__TENSOR__DATA_TYPE__INT32;
    n = sis__onnx__model__pack(model, bytes);
    sis__onnx__model__free_unpacked(model, NULL);
    f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(bytes, 1, n, f), n);
    fclose(f);
}

static void assert_scores(const char *spec, const double want[2]) {
    const double row[] = {5, 6};
    double got[2];
    sis_model model = open_spec(spec);
    assert_int_equal(sis_model_measure(&model, row, 2), SIS_OK);
    assert_int_equal(model.n_outputs, 2);
    assert_int_equal(model.predict(model.ctx, row, 1, 2, got), SIS_OK);
    assert_memory_equal(got, want, sizeof got);
    sis_model_close(&model);
}

static void the_first_of_integer_outputs_is_explained(void **state) {
    (void)state;
    sis_net_builder *b = sis_net_builder_new("integers");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_node(b, "Neg", "x", "n");
    sis_net_add_node(b, "Cast", "x", "first");
    sis_net_attr_int(b, "to", SIS__ONNX__TENSOR__DATA_TYPE__INT32);
    sis_net_add_node(b, "Cast", "n", "second");
    sis_net_attr_int(b, "to", SIS__ONNX__TENSOR__DATA_TYPE__INT32);
    sis_net_add_output(b, "first");
    sis_net_add_output(b, "second");
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    char path[512], spec[540];
    snprintf(path, sizeof path, "%s", file_name("ort_integers.onnx"));
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    declare_integers(path);
    for (int library = 0; library < 2; library++) {
        if (library && no_library())
            skip();
        snprintf(spec, sizeof spec, "%s%s", library ? "ort:" : "", path);
        assert_scores(spec, (const double[]){5, 6});
        snprintf(spec, sizeof spec, "%s%s#second", library ? "ort:" : "", path);
        assert_scores(spec, (const double[]){-5, -6});
    }
}

static void labels_are_those_of_the_file(void **state) {
    (void)state;
    if (no_library())
        skip();
    sis_net_builder *b = sis_net_builder_new("labels");
    sis_net_add_input(b, "x", 0, SHAPE(0, 2));
    sis_net_add_node(b, "Neg", "x", "y");
    sis_net_add_output(b, "y");
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    assert_int_equal(sis_net_meta_set(net, SIS_NET_META_LABELS, "[\"1\",\"2\"]"), SIS_OK);
    char path[512], spec[520], label[8];
    snprintf(path, sizeof path, "%s", file_name("ort_labels.onnx"));
    snprintf(spec, sizeof spec, "ort:%s", path);
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    for (int own = 0; own < 2; own++) {
        sis_model model = open_spec(own ? path : spec), other;
        assert_int_equal(sis_model_measure(&model, (const double[]){1, 2}, 2), SIS_OK);
        assert_int_equal(sis_model_share(&model, &other), SIS_OK);
        assert_int_equal(sis_model_label(&model, 0, label, sizeof label), SIS_OK);
        assert_string_equal(label, "1");
        assert_int_equal(sis_model_label(&other, 1, label, sizeof label), SIS_OK);
        assert_string_equal(label, "2");
        assert_int_equal(sis_model_label(&other, 2, label, sizeof label), SIS_E_ARGUMENT);
        sis_model_close(&other);
        sis_model_close(&model);
    }
}

/* The model finds the brightest row of an image, so its score depends on height and width. */
static void declared_shapes_fix_free_sizes(void **state) {
    (void)state;
    if (no_library())
        skip();
    sis_net_builder *b = sis_net_builder_new("lines");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 0, 0));
    sis_net_add_node(b, "ReduceMean", "x", "m");
    sis_net_attr_ints(b, "axes", (int64_t[]){1, 3}, 2);
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_node(b, "ReduceMax", "m", "y");
    sis_net_attr_ints(b, "axes", (int64_t[]){1}, 1);
    sis_net_add_output(b, "y");
    sis_net *net;
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    char path[512], spec[520];
    snprintf(path, sizeof path, "%s", file_name("ort_lines.onnx"));
    snprintf(spec, sizeof spec, "ort:%s", path);
    assert_int_equal(sis_net_write(net, path), SIS_OK);
    sis_net_free(net);
    const double image[] = {1, 2, 3, 10, 20, 30};
    double wide, high;
    void *worker;
    sis_model model = open_spec(spec), other;
    assert_int_equal(sis_model_measure(&model, image, 6), SIS_E_ARGUMENT); /* not a square */
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){2, 3}, 2), SIS_OK);
    assert_int_equal(sis_model_take_shape(&model, (size_t[]){3, 2}, 2), SIS_E_ARGUMENT);
    assert_int_equal(sis_model_measure(&model, image, 6), SIS_OK);
    assert_int_equal(sis_model_share(&model, &other), SIS_OK);
    assert_false(sis_model_takes_shape(&other, (size_t[]){2, 3}, 2));
    assert_int_equal(sis_model_take_shape(&other, (size_t[]){3, 2}, 2), SIS_OK);
    assert_int_equal(model.predict(model.ctx, image, 1, 6, &wide), SIS_OK);
    assert_int_equal(other.worker_new(other.ctx, &worker), SIS_OK);
    assert_int_equal(other.predict(worker, image, 1, 6, &high), SIS_OK);
    assert_float_equal(wide, 20, 0);
    assert_float_equal(high, 25, 0);
    other.worker_free(worker);
    sis_model_close(&other);
    sis_model_close(&model);
}

/* Rows are rounded to the input's type. */
static void half_precision_inputs_and_outputs_work(void **state) {
    static const int types[] = {SIS__ONNX__TENSOR__DATA_TYPE__FLOAT16,
                                SIS__ONNX__TENSOR__DATA_TYPE__BFLOAT16};
    static const double x[] = {0.1, -1000.3, 3e-6}, want[2][3] = {{0x1.998p-4, -1000.5, 0x1.9p-19},
                                                                  {0x1.9ap-4, -1000, 0x1.92p-19}};
    (void)state;
    if (no_library())
        skip();
    for (size_t t = 0; t < 2; t++) {
        const char *path = one_operator_of(types[t], "Identity", 0, 1, (const int64_t[]){3});
        char spec[600];
        double y[3];
        snprintf(spec, sizeof spec, "ort:%s", path);
        sis_model model = open_spec(spec);
        assert_int_equal(sis_model_measure(&model, x, 3), SIS_OK);
        assert_int_equal(model.predict(model.ctx, x, 1, 3, y), SIS_OK);
        for (size_t i = 0; i < 3; i++)
            assert_float_equal(y[i], want[t][i], 0);
        sis_model_close(&model);
    }
}

/* 2^62 + 1 rows of 4 values: the number of values overflows to 4. */
static void fixed_batches_that_are_too_large_are_refused(void **state) {
    static const int64_t counts[] = {((int64_t)1 << 62) + 1, INT64_MAX, (int64_t)1 << 27};
    const double x[] = {1, -2, 3, -4};
    double y[4];
    char spec[600];
    (void)state;
    if (no_library())
        skip();
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        snprintf(spec, sizeof spec, "ort:%s",
                 one_operator_of(SIS__ONNX__TENSOR__DATA_TYPE__FLOAT, "Relu", counts[i], 1,
                                 (const int64_t[]){4}));
        sis_model model = open_spec(spec);
        assert_int_equal(sis_model_measure(&model, x, 4), SIS_E_UNSUPPORTED);
        assert_message_has("4) with ");
        sis_model_close(&model);
    }
    snprintf(
        spec, sizeof spec, "ort:%s",
        one_operator_of(SIS__ONNX__TENSOR__DATA_TYPE__FLOAT, "Relu", 3, 1, (const int64_t[]){4}));
    sis_model model = open_spec(spec);
    assert_int_equal(sis_model_measure(&model, x, 4), SIS_OK);
    assert_int_equal(model.predict(model.ctx, x, 1, 4, y), SIS_OK);
    assert_memory_equal(y, ((double[]){1, 0, 3, 0}), sizeof y);
    sis_model_close(&model);
}

static int remove_files(void **state) {
    (void)state;
    glob_t found;
    int any = glob(file_name("*"), 0, NULL, &found) == 0;
    for (size_t i = 0; any && i < found.gl_pathc; i++)
        remove(found.gl_pathv[i]);
    globfree(&found);
    return 0;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attention_masks_are_derived_from_ids),
        cmocka_unit_test(rows_are_split_or_other_inputs_are_constant),
        cmocka_unit_test(the_first_of_integer_outputs_is_explained),
        cmocka_unit_test(labels_are_those_of_the_file),
        cmocka_unit_test(margins_are_those_of_our_engine),
        cmocka_unit_test(explanations_do_not_depend_on_threads),
        cmocka_unit_test(files_with_other_operators_run_in_onnx_runtime_with_a_note),
        cmocka_unit_test(files_that_neither_engine_runs_are_reported),
        cmocka_unit_test(models_with_one_input_give_recorded_outputs),
        cmocka_unit_test(declared_shapes_fix_free_sizes),
        cmocka_unit_test(half_precision_inputs_and_outputs_work),
        cmocka_unit_test(fixed_batches_that_are_too_large_are_refused),
        cmocka_unit_test(failing_allocations_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, remove_files);
}
