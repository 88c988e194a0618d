/* SPDX-License-Identifier: MIT
 *
 * Inline If nodes whose condition is known. Exporters write If around a Squeeze whose axis may have
 * another size, so conditions depend on shapes only. A plan computes the condition from the
 * declared shapes of inputs; free sizes get a number. The nodes of the chosen branch move into the
 * graph. Their names get the number of the If as a prefix, because both branches may use the same
 * names.
 *
 * If the condition looks at shapes, the results go through Then or Else (net/ops/view.c). These
 * refuse a plan for other sizes in which the condition has another value.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "net/lower/lower.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"

enum { MAX_ROUNDS = 16, MAX_BRANCHES = 1000, FREE_SIZE = 64 };

typedef enum { UNKNOWN, FROM_CONSTANTS, FROM_SHAPES } knowledge;

/* One If. */
typedef struct {
    knowledge known;
    int truth;
    size_t number;
} decision;

static int is_if(const Sis__Onnx__Node *n) {
    return n->op_type && strcmp(n->op_type, "If") == 0 &&
           (!n->domain || !*n->domain || strcmp(n->domain, "ai.onnx") == 0) && n->n_input == 1;
}

/* ---- Conditions ------------------------------------------------------------------------------ */

/* Feed all inputs with their declared shapes; 0: one has no shape. */
static size_t feed_inputs(const sis__graph *g, sis__feed *feeds) {
    for (size_t i = 0; i < g->n_inputs; i++) {
        const sis__value *v = &g->values[g->inputs[i]];
        if (!v->shaped || v->dtype == SIS__OTHER)
            return 0;
        feeds[i] = (sis__feed){.value = g->inputs[i], .rank = v->rank};
        for (size_t d = 0; d < v->rank; d++)
            feeds[i].dims[d] = v->dims[d] >= 0 ? (size_t)v->dims[d] : d == 0 ? 1 : FREE_SIZE;
    }
    return g->n_inputs;
}

/* Compute a condition from these feeds, if they suffice. Only lack of memory is an error. */
static int compute(const sis_net *net, int value, const sis__feed *feeds, size_t n, knowledge from,
                   decision *d) {
    sis__plan *plan;
    sis__plan_spec spec = {.feeds = feeds, .n_feeds = n, .outputs = &value, .n_outputs = 1};
    int error = sis__plan_new(net, &spec, &plan);
    if (error)
        return error == SIS_E_NOMEM ? error : SIS_OK;
    const sis__tensor *t = &plan->tensors[value];
    if (t->data && t->dtype == SIS__BOOL && t->count == 1)
        *d = (decision){.known = from, .truth = *(const uint8_t *)t->data != 0};
    sis__plan_free(plan);
    return SIS_OK;
}

static int decide(const sis_net *net, const sis__feed *feeds, size_t n_feeds,
                  const Sis__Onnx__Node *n, decision *d) {
    int value = sis__graph_find(&net->graph, n->input[0]);
    int error = value < 0 ? SIS_OK : compute(net, value, NULL, 0, FROM_CONSTANTS, d);
    return error || value < 0 || d->known || !n_feeds
               ? error
               : compute(net, value, feeds, n_feeds, FROM_SHAPES, d);
}

/* Decide all nodes; *found is the number of known conditions. */
static int decide_all(Sis__Onnx__Model *doc, decision *all, size_t *found) {
    sis_net net = {.doc = doc, .embedding = -1, .embedded = -1};
    int error = sis__graph_load(&net.graph, doc, NULL, sis__op_find);
    if (error) /* a damaged file is refused when it is loaded */
        return error == SIS_E_NOMEM ? error : SIS_OK;
    sis__feed *feeds = SIS_NEW(sis__feed, net.graph.n_inputs + 1);
    size_t n = feeds ? feed_inputs(&net.graph, feeds) : 0, seen = 0;
    error = feeds ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < doc->graph->n_node && seen < MAX_BRANCHES; i++)
        if (is_if(doc->graph->node[i])) {
            error = decide(&net, feeds, n, doc->graph->node[i], &all[i]);
            *found += all[i].known != UNKNOWN;
            seen++;
        }
    free(feeds);
    sis__graph_release(&net.graph);
    return error;
}

/* ---- Names ----------------------------------------------------------------------------------- */

typedef struct {
    sis__names own; /* names that the branch defines */
    size_t number;
} scope;

static int add_own_name(scope *s, const char *name) {
    uint32_t number;
    return name && *name ? sis__names_add(&s->own, name, strlen(name), &number) : SIS_OK;
}

static int add_branch_names(scope *s, const Sis__Onnx__Graph *b) {
    int error = SIS_OK;
    for (size_t i = 0; i < b->n_initializer && !error; i++)
        error = add_own_name(s, b->initializer[i]->name);
    for (size_t i = 0; i < b->n_node && !error; i++)
        for (size_t k = 0; k < b->node[i]->n_output && !error; k++)
            error = add_own_name(s, b->node[i]->output[k]);
    return error;
}

static int rename_one(const scope *s, char **name) {
    if (!*name || !**name || sis__names_find(&s->own, *name, strlen(*name)) == UINT32_MAX)
        return SIS_OK;
    size_t room = strlen(*name) + 32;
    char *to = SIS_NEW_RAW(char, room);
    if (!to)
        return SIS_E_NOMEM;
    snprintf(to, room, "if%zu/%s", s->number, *name);
    free(*name);
    *name = to;
    return SIS_OK;
}

static int rename_branch(const scope *s, Sis__Onnx__Graph *b) {
    int error = SIS_OK;
    for (size_t i = 0; i < b->n_initializer && !error; i++)
        error = rename_one(s, &b->initializer[i]->name);
    for (size_t i = 0; i < b->n_node && !error; i++) {
        Sis__Onnx__Node *n = b->node[i];
        for (size_t k = 0; k < n->n_input && !error; k++)
            error = rename_one(s, &n->input[k]);
        for (size_t k = 0; k < n->n_output && !error; k++)
            error = rename_one(s, &n->output[k]);
        for (size_t k = 0; k < n->n_attribute && !error; k++)
            if (n->attribute[k]->g)
                error = rename_branch(s, n->attribute[k]->g);
    }
    for (size_t i = 0; i < b->n_output && !error; i++)
        error = rename_one(s, &b->output[i]->name);
    return error;
}

/* ---- Moving a branch ------------------------------------------------------------------------- */

typedef struct {
    Sis__Onnx__Node **list;
    size_t n;
} nodes;

static Sis__Onnx__Graph *branch_of(const Sis__Onnx__Node *n, int truth) {
    const Sis__Onnx__Attribute *a = sis__proto_attribute(n, truth ? "then_branch" : "else_branch");
    return a ? a->g : NULL;
}

/* A node that copies `from` to output `to` of an If. */
static int hand_on(const Sis__Onnx__Node *n, const decision *d, const char *from, const char *to,
                   nodes *out) {
    Sis__Onnx__Node *one = (Sis__Onnx__Node *)sis__proto_new(&sis__onnx__node__descriptor);
    if (!one)
        return SIS_E_NOMEM;
    int checked = d->known == FROM_SHAPES;
    one->op_type = sis__strdup(!checked ? "Identity" : d->truth ? "Then" : "Else");
    one->domain = sis__strdup(checked ? "sis" : "");
    one->name = sis__strdup(n->name ? n->name : "");
    int error = one->op_type && one->domain && one->name ? SIS_OK : SIS_E_NOMEM;
    if (!error)
        error = sis__proto_add_text(&one->input, &one->n_input, from, strlen(from));
    if (!error && checked)
        error = sis__proto_add_text(&one->input, &one->n_input, n->input[0], strlen(n->input[0]));
    if (!error)
        error = sis__proto_add_text(&one->output, &one->n_output, to, strlen(to));
    if (!error)
        error = sis__proto_append(&out->list, &out->n, one);
    if (error)
        sis__proto_free(&one->base);
    return error;
}

/* Append the nodes of the chosen branch of n to a list. */
static int put_branch(Sis__Onnx__Graph *g, Sis__Onnx__Node *n, const decision *d, nodes *to) {
    Sis__Onnx__Graph *b = branch_of(n, d->truth);
    scope s = {.number = d->number};
    if (!b || b->n_input || b->n_output != n->n_output || b->n_sparse_initializer)
        return sis__fail(SIS_E_FORMAT,
                         "operator If (node %s): a branch has the wrong inputs or "
                         "outputs",
                         n->name && *n->name ? n->name : "(unnamed)");
    int error = add_branch_names(&s, b);
    if (!error)
        error = rename_branch(&s, b);
    for (size_t i = 0; i < b->n_initializer && !error; i++)
        if (!(error = sis__proto_append(&g->initializer, &g->n_initializer, b->initializer[i])))
            b->initializer[i] = NULL;
    for (size_t i = 0; i < b->n_node && !error; i++)
        if (!(error = sis__proto_append(&to->list, &to->n, b->node[i])))
            b->node[i] = NULL;
    for (size_t i = 0; i < n->n_output && !error; i++)
        if (*n->output[i])
            error = hand_on(n, d, b->output[i]->name ? b->output[i]->name : "", n->output[i], to);
    sis__names_release(&s.own);
    return error;
}

static int put_all(Sis__Onnx__Graph *g, const decision *all) {
    nodes to = {0};
    int error = SIS_OK;
    for (size_t i = 0; i < g->n_node && !error; i++) {
        Sis__Onnx__Node *n = g->node[i];
        error =
            all[i].known ? put_branch(g, n, &all[i], &to) : sis__proto_append(&to.list, &to.n, n);
        if (!error && all[i].known)
            sis__proto_free(&n->base);
        if (!error)
            g->node[i] = NULL;
    }
    for (size_t i = 0; i < g->n_node; i++) /* after a failure: the document frees the rest */
        if (g->node[i] && sis__proto_append(&to.list, &to.n, g->node[i]) != SIS_OK)
            sis__proto_free(&g->node[i]->base);
    free((void *)g->node);
    g->node = to.list;
    g->n_node = to.n;
    return error;
}

int sis__lower_branches(Sis__Onnx__Model *doc) {
    Sis__Onnx__Graph *g = doc->graph;
    size_t found = 1, number = 0;
    int error = SIS_OK;
    for (int round = 0; g && round < MAX_ROUNDS && found && !error; round++) {
        size_t any = 0;
        for (size_t i = 0; i < g->n_node; i++)
            any += is_if(g->node[i]) != 0;
        if (!any)
            return SIS_OK;
        decision *all = SIS_NEW(decision, g->n_node);
        found = 0;
        error = all ? decide_all(doc, all, &found) : SIS_E_NOMEM;
        for (size_t i = 0; !error && i < g->n_node; i++)
            all[i].number = number += all[i].known != UNKNOWN;
        if (!error && found)
            error = put_all(g, all);
        free(all);
    }
    return error;
}
