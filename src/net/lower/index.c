/* SPDX-License-Identifier: MIT
 *
 * See index.h.
 */
#include "net/lower/index.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"

/* ---- Nodes ----------------------------------------------------------------------------------- */

int sis__node_is(const Sis__Onnx__Node *n, const char *domain, const char *type) {
    return n->op_type && strcmp(n->op_type, type) == 0 &&
           strcmp(n->domain ? n->domain : "", domain) == 0;
}

const char *sis__node_input(const Sis__Onnx__Node *n, size_t i) {
    return i < n->n_input && n->input[i] ? n->input[i] : "";
}

int sis__node_become(Sis__Onnx__Node *n, const char *type, const char *input) {
    char *type_copy = sis__strdup(type), *domain = sis__strdup(""), *name = sis__strdup(input);
    if (!type_copy || !domain || !name) {
        free(type_copy);
        free(domain);
        free(name);
        return SIS_E_NOMEM;
    }
    free(n->op_type);
    free(n->domain);
    n->op_type = type_copy;
    n->domain = domain;
    for (size_t i = 0; i < n->n_attribute; i++)
        sis__proto_free(&n->attribute[i]->base);
    n->n_attribute = 0;
    for (size_t i = 0; i < n->n_input; i++)
        free(n->input[i]);
    n->n_input = 1;
    n->input[0] = name;
    return SIS_OK;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* The entry of a name, a new one if it is not there yet; NULL after an error. */
static sis__index_entry *entry_of(sis__index *x, const char *name, int *error) {
    uint32_t k;
    if (!*error)
        *error = sis__names_add(&x->names, name ? name : "", name ? strlen(name) : 0, &k);
    return *error ? NULL : &x->entries[k];
}

static int add_node(sis__index *x, Sis__Onnx__Node *n) {
    sis__index_entry *e;
    int error = SIS_OK;
    for (size_t i = 0; i < n->n_input; i++)
        if ((e = entry_of(x, n->input[i], &error))) {
            e->reads++;
            e->reader = n;
        }
    for (size_t i = 0; i < n->n_output; i++)
        if ((e = entry_of(x, n->output[i], &error)) && !e->producer)
            e->producer = n;
    for (size_t i = 0; sis__node_is(n, "", "Constant") && n->n_output && i < n->n_attribute; i++)
        if ((e = entry_of(x, n->output[0], &error)) && e->producer == n && n->attribute[i]->t)
            e->constant = n->attribute[i]->t;
    return error;
}

int sis__index_graph(sis__index *x, const Sis__Onnx__Graph *g) {
    size_t max = g->n_initializer + g->n_output + 1;
    sis__index_entry *e;
    int error = SIS_OK;
    *x = (sis__index){0};
    for (size_t i = 0; i < g->n_node; i++)
        max += g->node[i]->n_input + g->node[i]->n_output;
    x->entries = SIS_NEW(sis__index_entry, max);
    if (!x->entries)
        return SIS_E_NOMEM;
    for (size_t i = g->n_initializer; i-- > 0;) /* the first of duplicates wins */
        if ((e = entry_of(x, g->initializer[i]->name, &error)))
            e->constant = g->initializer[i];
    for (size_t i = 0; i < g->n_node && !error; i++)
        error = add_node(x, g->node[i]);
    for (size_t i = 0; i < g->n_output; i++)
        if ((e = entry_of(x, g->output[i]->name, &error)))
            e->reads += 2;
    return error;
}

void sis__index_release(sis__index *x) {
    sis__names_release(&x->names);
    free(x->entries);
    *x = (sis__index){0};
}

const sis__index_entry *sis__index_of(const sis__index *x, const char *name) {
    static const sis__index_entry nothing;
    uint32_t k = *name ? sis__names_find(&x->names, name, strlen(name)) : UINT32_MAX;
    return k == UINT32_MAX ? &nothing : &x->entries[k];
}
