/* SPDX-License-Identifier: MIT
 *
 * See ort_session.h.
 */
#include "model/ort_session.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/network.h"
#include "model/ort_library.h"

static const size_t max_bytes = INT32_MAX; /* limit of files that ONNX Runtime reads from memory */

void sis__ort_network_free(sis__ort_network *net) {
    if (!net)
        return;
    sis__inputs_release(&net->inputs);
    if (net->output)
        sis__ort_check(sis__ort.free_memory(sis__ort.allocator, net->output));
    if (net->session)
        sis__ort.release_session(net->session);
    free(net->cut.bytes);
    sis_net_free(net->document);
    free(net->path);
    free(net);
}

/* ---- Inputs --------------------------------------------------------------------------------- */

/* The type of an input or output; *info is set for tensors, else NULL. */
static int read_type(const ort_type_info *type, int *kind, const ort_tensor_info **info,
                     int *number) {
    int code = sis__ort_check(sis__ort.kind_of_type(type, kind));
    if (code == SIS_OK && *kind == SIS__ORT_TENSOR)
        code = sis__ort_check(sis__ort.tensor_of_type(type, info));
    if (code == SIS_OK && *info)
        code = sis__ort_check(sis__ort.element_type(*info, number));
    return code;
}

static int read_input(sis__ort_network *net, size_t i, const char *name) {
    ort_type_info *type = NULL;
    const ort_tensor_info *info = NULL;
    sis__shape shape = {0};
    int64_t dims[SIS__RANK];
    int number = 0, kind = 0;
    int code = sis__ort_check(sis__ort.input_type(net->session, i, &type));
    if (code == SIS_OK)
        code = read_type(type, &kind, &info, &number);
    if (code == SIS_OK && info)
        code = sis__ort_check(sis__ort.rank(info, &shape.rank));
    if (code == SIS_OK && info && shape.rank <= SIS__RANK)
        code = sis__ort_check(sis__ort.dims(info, dims, shape.rank));
    sis__value_type t = sis__value_numbered(number);
    if (code == SIS_OK && (t == SIS__VALUE_UNKNOWN || shape.rank > SIS__RANK))
        code = sis__fail(SIS_E_UNSUPPORTED,
                         "input \"%.60s\" is not a tensor of numbers or texts (ONNX "
                         "type %d)",
                         name, number);
    for (size_t d = 0; code == SIS_OK && d < shape.rank; d++)
        shape.dims[d] = dims[d];
    if (type)
        sis__ort.release_type(type);
    if (code == SIS_OK && net->cut.embedded && strcmp(name, net->cut.embedded) == 0) {
        net->embedding = t;
        return SIS_OK;
    }
    return code == SIS_OK ? sis__inputs_add(&net->inputs, name, t, &shape) : code;
}

static int read_inputs(sis__ort_network *net, const sis_model_opt *opt) {
    size_t n = 0;
    int code = sis__ort_check(sis__ort.input_count(net->session, &n));
    if (code == SIS_OK && (n == 0 || n > SIS__ORT_MAX_INPUTS))
        code = sis__fail(SIS_E_UNSUPPORTED, "it takes %zu inputs; 1 to %d are supported", n,
                         SIS__ORT_MAX_INPUTS);
    for (size_t i = 0; i < n && code == SIS_OK; i++) {
        char *name = NULL;
        code = sis__ort_check(sis__ort.input_name(net->session, i, sis__ort.allocator, &name));
        if (code == SIS_OK)
            code = read_input(net, i, name);
        if (name)
            sis__ort_check(sis__ort.free_memory(sis__ort.allocator, name));
    }
    return code == SIS_OK ? sis__inputs_assign(&net->inputs, opt) : code;
}

/* ---- The output ------------------------------------------------------------------------------ */

/* 2: floating point numbers, or dictionaries of them; 1: other numbers; 0: neither. */
static int rank_output(const sis__ort_network *net, size_t i, int *rank) {
    ort_type_info *type = NULL;
    const ort_tensor_info *info = NULL;
    int kind = 0, number = 0;
    int code = sis__ort_check(sis__ort.output_type(net->session, i, &type));
    if (code == SIS_OK)
        code = read_type(type, &kind, &info, &number);
    sis__value_type t = sis__value_numbered(number);
    *rank = kind == SIS__ORT_SEQUENCE || sis__value_is_float(t) ? 2
            : t != SIS__VALUE_UNKNOWN && t != SIS__VALUE_BYTES  ? 1
                                                                : 0;
    if (type)
        sis__ort.release_type(type);
    return code;
}

/* Does output i have this name? NULL: any name. */
static int is_called(const sis__ort_network *net, size_t i, const char *wanted, int *called) {
    char *name = NULL;
    int code = sis__ort_check(sis__ort.output_name(net->session, i, sis__ort.allocator, &name));
    *called = code == SIS_OK && (!wanted || strcmp(name, wanted) == 0);
    if (name)
        sis__ort_check(sis__ort.free_memory(sis__ort.allocator, name));
    return code;
}

static int no_output(const char *wanted, size_t n) {
    return wanted ? sis__fail(SIS_E_ARGUMENT,
                              "none of its %zu outputs is numeric and named \"%.60s\"", n, wanted)
                  : sis__fail(SIS_E_UNSUPPORTED, "none of its %zu outputs is numeric", n);
}

/* The output with this name; NULL: the first of floating point, because probabilities often come
 * with labels, else the first of numbers. */
static int choose_output(sis__ort_network *net, const char *wanted) {
    size_t n = 0, chosen = 0;
    int best = 0, rank = 0, called = 0;
    int code = sis__ort_check(sis__ort.output_count(net->session, &n));
    n -= code == SIS_OK && net->cut.adds_output; /* after those of the file */
    for (size_t i = 0; code == SIS_OK && i < n; i++) {
        code = is_called(net, i, wanted, &called);
        if (code == SIS_OK)
            code = rank_output(net, i, &rank);
        if (called && rank > best) {
            best = rank;
            chosen = i;
        }
    }
    if (code == SIS_OK && best == 0)
        code = no_output(wanted, n);
    if (code == SIS_OK)
        code = sis__ort_check(
            sis__ort.output_name(net->session, chosen, sis__ort.allocator, &net->output));
    if (code == SIS_OK && net->cut.before && strcmp(net->output, net->cut.output) != 0)
        net->cut.before = NULL; /* it belongs to another output */
    return code;
}

/* ---- Main function --------------------------------------------------------------------------- */

/* One thread computes a pass, so that sums have a fixed order. */
static int start_session(sis__ort_network *net) {
    ort_session_options *options = NULL;
    int code = sis__ort_check(sis__ort.create_options(&options));
    if (code == SIS_OK)
        code = sis__ort_check(sis__ort.set_threads_inside(options, 1));
    if (code == SIS_OK)
        code = sis__ort_check(sis__ort.set_threads_between(options, 1));
    if (code == SIS_OK)
        code = sis__ort_check(
            net->cut.bytes
                ? sis__ort.create_session_from(sis__ort.env, net->cut.bytes, net->cut.n, options,
                                               &net->session)
                : sis__ort.create_session(sis__ort.env, net->path, options, &net->session));
    if (options)
        sis__ort.release_options(options);
    free(net->cut.bytes);
    net->cut.bytes = NULL;
    return code;
}

static void forget_document(sis__ort_network *net) {
    sis_net_free(net->document);
    free(net->cut.bytes);
    net->document = NULL;
    net->cut = (sis_net_cut){0};
}

/* Read the document and cut the file. A file that cannot be read here, or is too long for memory,
 * goes to ONNX Runtime by its path; it then has no labels, margins or embeddings. */
static int cut_file(sis__ort_network *net, const char *output, const sis_model_opt *opt) {
    int code = sis_net_read_document(net->path, &net->document);
    if (code != SIS_OK)
        return code == SIS_E_NOMEM || opt->normalize ? code : SIS_OK;
    for (size_t i = 0; i < opt->n_with && code == SIS_OK; i++)
        code = sis_net_set_input(net->document, opt->with[i].name, &opt->with[i]);
    if (code == SIS_OK && opt->explain)
        code = sis_net_explain_input(net->document, opt->explain);
    if (code == SIS_OK && output)
        code = sis_net_choose_output(net->document, output);
    if (code == SIS_OK && opt->normalize)
        code = sis__network_normalize(net->document, opt->normalize);
    if (code == SIS_OK)
        code = sis_net_cut_ends(net->document, &net->cut);
    if (code == SIS_OK && net->cut.n > max_bytes && !opt->normalize)
        forget_document(net);
    return code;
}

static int open_network(sis__ort_network *net, const char *output, const sis_model_opt *opt) {
    int code = cut_file(net, output, opt);
    if (code == SIS_OK)
        code = start_session(net);
    if (code == SIS_OK)
        code = read_inputs(net, opt);
    return code == SIS_OK ? choose_output(net, output) : code;
}

int sis__ort_network_open(const char *path, const char *output, const sis_model_opt *opt,
                          sis__ort_network **out) {
    sis__ort_network *net = *out = SIS_NEW(sis__ort_network, 1);
    int code =
        net && (net->path = sis__strdup(path)) ? open_network(net, output, opt) : SIS_E_NOMEM;
    if (code != SIS_OK) {
        sis__ort_network_free(net);
        *out = NULL;
    }
    return code;
}
