/* SPDX-License-Identifier: MIT
 *
 * See support_plain.h.
 */
#include "support_plain.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "net/onnx/words.h"
#include "net/ops/ops.h"

/* Texts as the numbers that stand for them. */
static int number_texts(plain_pass *p, size_t i, const char *const *texts, size_t n) {
    int64_t *ids = calloc(n + 1, sizeof *ids);
    int error = ids ? SIS_OK : SIS_E_NOMEM;
    p->owned[i] = ids;
    for (size_t k = 0; k < n && !error; k++)
        error = sis__words_put(p->graph.words, texts[k], strlen(texts[k]), &ids[k]);
    return error;
}

static int feed(plain_pass *p, size_t i, const sis_net_tensor *t, sis__feed *to) {
    static const int64_t nothing[2] = {0};
    size_t count = 1;
    *to = (sis__feed){.value = p->graph.inputs[i], .rank = t->shape.rank};
    for (size_t d = 0; d < t->shape.rank; d++)
        count *= to->dims[d] = t->shape.dims[d];
    int error =
        t->type == SIS_NET_TEXTS ? number_texts(p, i, (const char *const *)t->data, count) : SIS_OK;
    to->constant = count == 0 ? nothing : p->owned[i] ? p->owned[i] : t->data;
    return error;
}

static const sis_net_tensor *find(const sis_net_tensor *t, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++)
        if (strcmp(t[i].name, name) == 0)
            return &t[i];
    return NULL;
}

int plain_run(const sis_net *net, const sis_net_tensor *inputs, size_t n, plain_pass *p) {
    *p = (plain_pass){0};
    int error = sis__graph_load(&p->graph, net->doc, net->graph.words, sis__op_find);
    if (error)
        return error;
    sis__feed *feeds = calloc(p->graph.n_inputs + 1, sizeof *feeds);
    p->owned = calloc(p->graph.n_inputs + 1, sizeof *p->owned);
    if (!feeds || !p->owned)
        error = SIS_E_NOMEM;
    for (size_t i = 0; i < p->graph.n_inputs && !error; i++) {
        const char *name = p->graph.values[p->graph.inputs[i]].name;
        const sis_net_tensor *t = find(inputs, n, name);
        error =
            t ? feed(p, i, t, &feeds[i]) : sis__fail(SIS_E_ARGUMENT, "input %s is missing", name);
    }
    if (!error)
        error = sis__plan_new(net,
                              &(sis__plan_spec){.graph = &p->graph,
                                                .feeds = feeds,
                                                .n_feeds = p->graph.n_inputs,
                                                .outputs = p->graph.outputs,
                                                .n_outputs = p->graph.n_outputs},
                              &p->plan);
    if (!error)
        error = sis__run_new(p->plan, &p->run);
    if (!error)
        error = sis__run_forward(p->run);
    for (size_t i = 0; i < p->graph.n_outputs && !error; i++)
        p->plan->tensors[p->graph.outputs[i]].data = p->run->data[p->graph.outputs[i]];
    free(feeds);
    if (error)
        plain_release(p);
    return error;
}

void plain_release(plain_pass *p) {
    sis__run_free(p->run);
    sis__plan_free(p->plan);
    for (size_t i = 0; p->owned && i < p->graph.n_inputs; i++)
        free(p->owned[i]);
    free((void *)p->owned);
    sis__graph_release(&p->graph);
    *p = (plain_pass){0};
}

const sis__tensor *plain_output(const plain_pass *p, const char *name) {
    for (size_t i = 0; i < p->graph.n_outputs; i++) {
        const sis__tensor *t = &p->plan->tensors[p->graph.outputs[i]];
        if (strcmp(p->graph.values[p->graph.outputs[i]].name, name) == 0 && t->data)
            return t;
    }
    return NULL;
}
