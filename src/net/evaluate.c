/* SPDX-License-Identifier: MIT
 *
 * One evaluation of a network as its file describes it: any inputs by name, all outputs. The graph
 * is computed while it is compiled (all that is fed is constant), so shapes may depend on values.
 * For many rows use sis_net_forward.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/plan/net.h"

typedef struct {
    const sis_net *net;
    sis__graph graph; /* as in the file, without what the network puts in front of it */
    sis__feed *feeds;
    void **owned; /* (n_inputs) converted values */
} evaluation;

static const sis_net_tensor *find_tensor(const sis_net_tensor *t, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (t[i].name && strcmp(t[i].name, name) == 0)
            return &t[i];
    return NULL;
}

static sis__dtype dtype_of(sis_net_type type) {
    static const sis__dtype types[] = {SIS__F32, SIS__I64, SIS__BOOL, SIS__TEXT};
    return types[type];
}

/* Values as the graph keeps them: texts become numbers, the rest is borrowed. */
static int take_values(evaluation *e, size_t i, const sis_net_tensor *t, size_t count) {
    static const int64_t nothing[2] = {0};
    const sis__value *v = &e->graph.values[e->graph.inputs[i]];
    e->feeds[i].constant = count ? t->data : nothing;
    if (t->type == SIS_NET_INTS)
        return sis__elem_check(v->elem_type, v->name, (const int64_t *)t->data, count);
    if (t->type != SIS_NET_TEXTS || count == 0)
        return SIS_OK;
    int64_t *ids = SIS_NEW(int64_t, count);
    int error = ids ? SIS_OK : SIS_E_NOMEM;
    e->owned[i] = ids;
    for (size_t k = 0; k < count && !error; k++) {
        const char *text = ((const char *const *)t->data)[k];
        error = sis__words_put(e->graph.words, text, strlen(text), &ids[k]);
    }
    e->feeds[i].constant = ids;
    return error;
}

static int feed_input(evaluation *e, size_t i, const sis_net_tensor *inputs, size_t n) {
    const sis__value *v = &e->graph.values[e->graph.inputs[i]];
    const sis_net_tensor *t = find_tensor(inputs, n, v->name);
    size_t count = 1;
    if (!t)
        return sis__fail(SIS_E_ARGUMENT, "input %s is missing", v->name);
    if (v->dtype != SIS__OTHER && dtype_of(t->type) != v->dtype)
        return sis__fail(SIS_E_ARGUMENT, "input %s holds %s, not %s", v->name,
                         sis__dtype_name(v->dtype), sis__dtype_name(dtype_of(t->type)));
    if (t->shape.rank > SIS__MAX_RANK || (v->shaped && t->shape.rank != v->rank))
        return sis__fail(SIS_E_ARGUMENT, "input %s has %zu axes, not %zu", v->name, v->rank,
                         t->shape.rank);
    e->feeds[i] = (sis__feed){.value = e->graph.inputs[i], .rank = t->shape.rank};
    for (size_t d = 0; d < t->shape.rank; d++) {
        e->feeds[i].dims[d] = t->shape.dims[d];
        if (t->shape.dims[d] && count > SIS__MAX_COUNT / t->shape.dims[d])
            return sis__fail(SIS_E_ARGUMENT, "input %s has too many values", v->name);
        count *= t->shape.dims[d];
    }
    return take_values(e, i, t, count);
}

static int copy_texts(const evaluation *e, const int64_t *ids, size_t n, void **out) {
    const char **texts = SIS_NEW(const char *, n + 1);
    *out = (void *)texts;
    for (size_t i = 0, length; texts && i < n; i++) /* they live as long as the network */
        texts[i] = sis__words_get(e->graph.words, ids[i], &length);
    return texts ? SIS_OK : SIS_E_NOMEM;
}

static int copy_output(const evaluation *e, const sis__plan *p, size_t i, sis_net_tensor *to) {
    const sis__tensor *t = &p->tensors[e->graph.outputs[i]];
    static const sis_net_type types[] = {SIS_NET_FLOATS, SIS_NET_INTS, SIS_NET_BOOLS,
                                         SIS_NET_TEXTS};
    to->name = e->net->doc->graph->output[i]->name;
    to->type = types[t->dtype];
    to->shape.rank = t->rank;
    memcpy(to->shape.dims, t->dims, t->rank * sizeof *t->dims);
    void *data;
    int error = SIS_OK;
    if (t->dtype == SIS__TEXT) {
        error = copy_texts(e, (const int64_t *)t->data, t->count, &data);
    } else {
        data = sis__copy(t->data, t->count + 0, sis__dtype_size(t->dtype));
        error = data ? SIS_OK : SIS_E_NOMEM;
    }
    to->data = data;
    return error;
}

static int compute(evaluation *e, sis_net_tensor **outputs, size_t *n_outputs) {
    sis__plan *plan = NULL;
    sis__plan_spec spec = {.graph = &e->graph,
                           .feeds = e->feeds,
                           .n_feeds = e->graph.n_inputs,
                           .outputs = e->graph.outputs,
                           .n_outputs = e->graph.n_outputs,
                           .values_known = 1};
    int error = sis__plan_new(e->net, &spec, &plan);
    if (error)
        return error;
    *outputs = SIS_NEW(sis_net_tensor, e->graph.n_outputs + 1);
    error = *outputs ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < e->graph.n_outputs && !error; i++) {
        *n_outputs = i + 1;
        if (!plan->tensors[e->graph.outputs[i]].data || plan->tensors[e->graph.outputs[i]].items)
            error = sis__fail(SIS_E_UNSUPPORTED, "output %s cannot be computed",
                              e->net->doc->graph->output[i]->name);
        else
            error = copy_output(e, plan, i, &(*outputs)[i]);
    }
    sis__plan_free(plan);
    return error;
}

int sis_net_evaluate(const sis_net *net, const sis_net_tensor *inputs, size_t n,
                     sis_net_tensor **outputs, size_t *n_outputs) {
    evaluation e = {.net = net};
    *outputs = NULL;
    *n_outputs = 0;
    int error = sis__graph_load(&e.graph, net->doc, net->graph.words);
    if (error)
        return error;
    e.feeds = SIS_NEW(sis__feed, e.graph.n_inputs + 1);
    e.owned = SIS_NEW(void *, e.graph.n_inputs + 1);
    error = e.feeds && e.owned ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < e.graph.n_inputs && !error; i++)
        error = feed_input(&e, i, inputs, n);
    if (!error)
        error = compute(&e, outputs, n_outputs);
    if (error) {
        sis_net_tensors_free(*outputs, *n_outputs);
        *outputs = NULL;
        *n_outputs = 0;
    }
    for (size_t i = 0; e.owned && i < e.graph.n_inputs; i++)
        free(e.owned[i]);
    free((void *)e.owned);
    free(e.feeds);
    sis__graph_release(&e.graph);
    return error;
}

void sis_net_tensors_free(sis_net_tensor *t, size_t n) {
    for (size_t i = 0; t && i < n; i++)
        free((void *)(uintptr_t)t[i].data);
    free(t);
}
