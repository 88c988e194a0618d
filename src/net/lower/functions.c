/* SPDX-License-Identifier: MIT
 *
 * See functions.h. A call becomes copies of the function's nodes: formal names become those of the
 * call, all others get the call's number in front, attributes that refer to the call's take its
 * values. Calls inside functions are expanded in the next round. Functions that call themselves are
 * refused before anything is copied; rounds, nodes and bytes are limited for the others.
 */
#include "net/lower/functions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/names.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"

enum { MAX_ROUNDS = 32 };
static const size_t max_nodes = 1 << 17, max_bytes = (size_t)512 << 20;

typedef struct {
    Sis__Onnx__Model *doc;
    sis__names words, pairs; /* domains and names of functions; both numbers of each */
    size_t *first;           /* (pairs) the function of that name */
    int *depth;              /* (n_functions) how deep calls go inside it */
    size_t calls;            /* so far */
    size_t nodes;            /* in all graphs */
    size_t bytes;            /* of all copies */
    int expanded;            /* anything in this round? */
} expander;

/* One call: what names of the function become. */
typedef struct {
    const Sis__Onnx__Function *f;
    const Sis__Onnx__Node *call;
    size_t number;
} call;

static const char *text(const char *s) {
    return s ? s : "";
}

/* ---- Which function a node calls -------------------------------------------------------------- */

static int list_functions(expander *e) {
    const Sis__Onnx__Model *doc = e->doc;
    int error = SIS_OK;
    e->first = SIS_NEW(size_t, doc->n_functions);
    e->depth = SIS_NEW(int, doc->n_functions);
    if (!e->first || !e->depth)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < doc->n_functions && !error; i++) {
        const char *domain = text(doc->functions[i]->domain), *name = text(doc->functions[i]->name);
        uint32_t both[2], number;
        size_t before = e->pairs.n;
        error = sis__names_add(&e->words, domain, strlen(domain), &both[0]);
        if (!error)
            error = sis__names_add(&e->words, name, strlen(name), &both[1]);
        if (!error)
            error = sis__names_add(&e->pairs, both, sizeof both, &number);
        if (!error && number == before)
            e->first[number] = i;
    }
    return error;
}

/* The function that a node calls, or -1. */
static long called_by(const expander *e, const Sis__Onnx__Node *n) {
    const char *domain = text(n->domain), *name = text(n->op_type);
    int id;
    uint32_t both[2] = {sis__names_find(&e->words, domain, strlen(domain)),
                        sis__names_find(&e->words, name, strlen(name))};
    uint32_t number = sis__names_find(&e->pairs, both, sizeof both);
    return number == UINT32_MAX || sis__op_find(domain, name, &id) ? -1 : (long)e->first[number];
}

/* How deep calls go inside these nodes, as far as it is known. */
static int depth_of(const expander *e, Sis__Onnx__Node *const *nodes, size_t n) {
    int most = 0;
    for (size_t i = 0; i < n; i++) {
        long f = called_by(e, nodes[i]);
        int depth = f >= 0 ? e->depth[f] + 1 : 0;
        most = depth > most ? depth : most;
        for (size_t k = 0; k < nodes[i]->n_attribute; k++) {
            const Sis__Onnx__Graph *g = nodes[i]->attribute[k]->g;
            depth = g ? depth_of(e, g->node, g->n_node) : 0;
            most = depth > most ? depth : most;
        }
    }
    return most;
}

/* Each round follows calls one deeper: what still grows after all of them has no end. */
static int refuse_recursion(expander *e) {
    int growing = 1;
    for (int round = 0; round < MAX_ROUNDS && growing; round++) {
        growing = 0;
        for (size_t i = 0; i < e->doc->n_functions; i++) {
            const Sis__Onnx__Function *f = e->doc->functions[i];
            int depth = depth_of(e, f->node, f->n_node);
            growing |= depth > e->depth[i];
            e->depth[i] = depth < MAX_ROUNDS ? depth : MAX_ROUNDS;
        }
    }
    return growing ? sis__fail(SIS_E_UNSUPPORTED, "functions that call each other without an end")
                   : SIS_OK;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* Is this name one of the function's own: computed by one of its nodes? */
static int is_local(const Sis__Onnx__Function *f, const char *name) {
    for (size_t i = 0; i < f->n_node; i++)
        for (size_t k = 0; k < f->node[i]->n_output; k++)
            if (strcmp(f->node[i]->output[k], name) == 0)
                return 1;
    return 0;
}

/* The call's name for a name of the function, new memory. */
static char *rename_one(const call *c, const char *name) {
    char number[32];
    if (!*name)
        return sis__strdup("");
    for (size_t i = 0; i < c->f->n_input; i++)
        if (strcmp(c->f->input[i], name) == 0)
            return sis__strdup(i < c->call->n_input ? c->call->input[i] : "");
    for (size_t i = 0; i < c->f->n_output; i++)
        if (strcmp(c->f->output[i], name) == 0 && i < c->call->n_output && *c->call->output[i])
            return sis__strdup(c->call->output[i]);
    if (!is_local(c->f, name))
        return sis__strdup(name);
    int n = snprintf(number, sizeof number, "call%zu/", c->number);
    char *to = SIS_NEW_RAW(char, (size_t)n + strlen(name) + 1);
    if (to) {
        memcpy(to, number, (size_t)n);
        memcpy(to + n, name, strlen(name) + 1);
    }
    return to;
}

static int rename_names(const call *c, char **names, size_t n) {
    for (size_t i = 0; i < n; i++) {
        char *to = rename_one(c, names[i]);
        if (!to)
            return SIS_E_NOMEM;
        free(names[i]);
        names[i] = to;
    }
    return SIS_OK;
}

static int rename_node(const call *c, Sis__Onnx__Node *n);

/* What a body takes from the function around it is renamed too; its own names stay. */
static int rename_graph(const call *c, Sis__Onnx__Graph *g) {
    int error = SIS_OK;
    for (size_t i = 0; i < g->n_node && !error; i++)
        error = rename_node(c, g->node[i]);
    for (size_t i = 0; i < g->n_output && !error; i++)
        error = rename_names(c, &g->output[i]->name, 1);
    return error;
}

/* ---- Attributes ------------------------------------------------------------------------------ */

static const Sis__Onnx__Attribute *find_attribute(Sis__Onnx__Attribute *const *list, size_t n,
                                                  const char *name) {
    for (size_t i = 0; i < n; i++)
        if (list[i]->name && strcmp(list[i]->name, name) == 0)
            return list[i];
    return NULL;
}

/* A copy of a message, as protobuf-c would have read it. */
static int copy_message(const ProtobufCMessage *m, ProtobufCMessage **out) {
    uint8_t *bytes;
    size_t n;
    int error = sis__proto_pack(m, &bytes, &n);
    if (error)
        return error;
    *out = protobuf_c_message_unpack(m->descriptor, NULL, n, bytes);
    free(bytes);
    return *out ? SIS_OK : SIS_E_NOMEM;
}

/* The value of the attribute that a refers to, under a's own name; *out NULL: there is none. */
static int resolve(const call *c, const Sis__Onnx__Attribute *a, Sis__Onnx__Attribute **out) {
    ProtobufCMessage *copy;
    const Sis__Onnx__Attribute *from =
        find_attribute(c->call->attribute, c->call->n_attribute, a->ref_attr_name);
    if (!from)
        from = find_attribute(c->f->attribute_proto, c->f->n_attribute_proto, a->ref_attr_name);
    *out = NULL;
    if (!from)
        return SIS_OK;
    int error = copy_message(&from->base, &copy);
    if (error)
        return error;
    *out = (Sis__Onnx__Attribute *)copy;
    char *name = sis__strdup(text(a->name));
    if (!name) {
        sis__proto_free(copy);
        *out = NULL;
        return SIS_E_NOMEM;
    }
    free((*out)->name);
    (*out)->name = name;
    return SIS_OK;
}

static int rename_attributes(const call *c, Sis__Onnx__Node *n) {
    size_t kept = 0;
    int error = SIS_OK;
    for (size_t i = 0; i < n->n_attribute; i++) {
        Sis__Onnx__Attribute *a = n->attribute[i], *value = a;
        if (!error && a->ref_attr_name && *a->ref_attr_name) {
            error = resolve(c, a, &value);
            sis__proto_free(&a->base);
            if (error)
                value = NULL;
        }
        if (value)
            n->attribute[kept++] = value;
        if (!error && value && value->g)
            error = rename_graph(c, value->g);
    }
    n->n_attribute = kept;
    return error;
}

static int rename_node(const call *c, Sis__Onnx__Node *n) {
    int error = rename_names(c, n->input, n->n_input);
    if (!error)
        error = rename_names(c, n->output, n->n_output);
    return error ? error : rename_attributes(c, n);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Versions of operators that only a function declares. */
static int add_versions(Sis__Onnx__Model *doc, const Sis__Onnx__Function *f) {
    for (size_t i = 0; i < f->n_opset_import; i++) {
        int known = 0;
        for (size_t k = 0; k < doc->n_opset_import; k++)
            known |=
                strcmp(text(doc->opset_import[k]->domain), text(f->opset_import[i]->domain)) == 0;
        ProtobufCMessage *copy;
        if (known)
            continue;
        int error = copy_message(&f->opset_import[i]->base, &copy);
        if (!error && (error = sis__proto_append(&doc->opset_import, &doc->n_opset_import, copy)))
            sis__proto_free(copy);
        if (error)
            return error;
    }
    return SIS_OK;
}

/* The nodes of one call, appended to a list. */
static int add_call(expander *e, size_t number, const Sis__Onnx__Node *n, Sis__Onnx__Node ***list,
                    size_t *count) {
    const Sis__Onnx__Function *f = e->doc->functions[number];
    call c = {.f = f, .call = n, .number = ++e->calls};
    int error = add_versions(e->doc, f);
    e->expanded = 1;
    e->nodes += f->n_node;
    if (e->nodes > max_nodes)
        return sis__fail(SIS_E_UNSUPPORTED, "functions of more than %zu nodes", max_nodes);
    for (size_t i = 0; i < f->n_node && !error; i++) {
        ProtobufCMessage *copy;
        e->bytes += protobuf_c_message_get_packed_size(&f->node[i]->base);
        if (e->bytes > max_bytes)
            return sis__fail(SIS_E_UNSUPPORTED, "functions that copy over %zu MB", max_bytes >> 20);
        error = copy_message(&f->node[i]->base, &copy);
        if (error)
            break;
        error = rename_node(&c, (Sis__Onnx__Node *)copy);
        if (!error)
            error = sis__proto_append(list, count, copy);
        if (error)
            sis__proto_free(copy);
    }
    return error;
}

static int expand_graph(expander *e, Sis__Onnx__Graph *g) {
    int error = SIS_OK, calls = 0;
    for (size_t i = 0; i < g->n_node && !error; i++) {
        Sis__Onnx__Node *n = g->node[i];
        calls += called_by(e, n) >= 0;
        for (size_t k = 0; k < n->n_attribute && !error; k++)
            if (n->attribute[k]->g)
                error = expand_graph(e, n->attribute[k]->g);
    }
    if (error || !calls)
        return error;
    Sis__Onnx__Node **list = NULL;
    size_t count = 0, done = 0;
    for (; done < g->n_node && !error; done++) {
        Sis__Onnx__Node *n = g->node[done];
        long called = called_by(e, n);
        error = called >= 0 ? add_call(e, (size_t)called, n, &list, &count)
                            : sis__proto_append(&list, &count, n);
        if (!error && called >= 0)
            sis__proto_free(&n->base);
    }
    if (error) /* what was not taken over goes with the rest of the document */
        for (size_t i = done - 1; i < g->n_node; i++)
            if (sis__proto_append(&list, &count, g->node[i]) != SIS_OK)
                sis__proto_free(&g->node[i]->base);
    free((void *)g->node);
    g->node = list;
    g->n_node = count;
    return error;
}

static int expand(expander *e) {
    int error = list_functions(e);
    if (!error)
        error = refuse_recursion(e);
    for (e->expanded = 1; e->expanded && !error;) {
        e->expanded = 0;
        error = expand_graph(e, e->doc->graph);
    }
    return error;
}

int sis__functions_expand(Sis__Onnx__Model *doc) {
    expander e = {.doc = doc};
    if (doc->n_functions == 0 || !doc->graph)
        return SIS_OK;
    int error = expand(&e);
    sis__names_release(&e.words);
    sis__names_release(&e.pairs);
    free(e.first);
    free(e.depth);
    return error;
}
