/* SPDX-License-Identifier: MIT
 *
 * See shorten.h. All floats are kept in 32 bits, so that a value of 16 bits has to be rounded
 * somewhere. The rule is the one by which ONNX Runtime runs such files on processors:
 *
 *   - what computes has no arithmetic of 16 bits. It takes what it is given, computes in 32 and
 *     hands all digits on to others that compute; so does a Cast to 16 bits.
 *   - what moves values, and a few more (the lists below), are done in 16 bits: what they read is
 *     rounded, and so is what they compute. One of them between others that compute is done in 32
 *     bits with these.
 *   - of bfloat16, which only moves there, each result is rounded, as the standard has it.
 *
 * Results of the network keep their digits: margins are ranked by them, and who wants the file's
 * outputs rounds them at the end (evaluate.c), which is the same through all that moves. Those of
 * bodies are rounded.
 *
 * Nodes that round are part of the graph, so plans that begin or end anywhere agree.
 */
#include "net/onnx/shorten.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"

enum {            /* how a value is made */
       EXACT = 0, /* it has 16 bits as it is, or is none of these floats */
       LOOSE,     /* with more digits, which those see that compute */
       ROUGH      /* with more digits, which nobody may see */
};

enum {               /* by whom a value is read */
       BY_SHORT = 1, /* what is done in 16 bits */
       BY_CAST = 2,
       BY_TAIL = 4,  /* what only moves it towards an output */
       BY_INNER = 8, /* anything else */
       LEAVES = 16   /* an output of the graph */
};

typedef struct {
    sis__graph *g;
    size_t n_values;         /* before any was added */
    int *elem;               /* (n_values) TensorProto.DataType of floats; 0: anything else */
    int *origin;             /* (n_values) what it is, without nodes that pass it on */
    int *rounded;            /* (n_values) the value it is rounded to; -1: none */
    unsigned char *constant; /* (n_values) */
    unsigned char *made, *read;
    unsigned char *wide, *tail; /* (n_nodes) done in 32 bits; see mark_tails */
    size_t n_rounded;
} shortener;

struct sis__shortened {
    Sis__Onnx__Node proto;
    Sis__Onnx__Attribute to, *attributes[1];
    int inputs[1], outputs[1];
};

static int is_short(int elem) {
    return elem == SIS__FLOAT16 || elem == SIS__BFLOAT16;
}

/* ---- Operators ------------------------------------------------------------------------------- */

static int is_one_of(int id, const int *list, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (list[i] == id)
            return 1;
    return 0;
}
#define IS_ONE_OF(id, list) is_one_of(id, list, sizeof list / sizeof *list)

/* Done in 16 bits, and each result is one of the values read. */
static int moves(const sis__node *n) {
    static const int list[] = {SIS__OP_CONCAT,    SIS__OP_SPLIT,
                               SIS__OP_EXPAND,    SIS__OP_FLATTEN,
                               SIS__OP_GATHER,    SIS__OP_GATHER_ELEMENTS,
                               SIS__OP_GATHER_ND, SIS__OP_RESHAPE,
                               SIS__OP_SQUEEZE,   SIS__OP_UNSQUEEZE,
                               SIS__OP_SLICE,     SIS__OP_TRANSPOSE,
                               SIS__OP_SCATTER,   SIS__OP_REVERSE_SEQUENCE,
                               SIS__OP_COMPRESS,  SIS__OP_SCATTER_ND,
                               SIS__OP_MAX,       SIS__OP_MIN,
                               SIS__OP_CLIP,      SIS__OP_SCATTER_ELEMENTS};
    return IS_ONE_OF(n->op_id, list);
}

/* Done in 16 bits otherwise: computed with more digits, rounded at once. */
static int rounds(const sis__node *n) {
    static const int list[] = {SIS__OP_LAYER_NORMALIZATION,
                               SIS__OP_RMS_NORMALIZATION,
                               SIS__OP_SIMPLIFIED_LAYER_NORMALIZATION,
                               SIS__OP_SKIP_LAYER_NORMALIZATION,
                               SIS__OP_SKIP_SIMPLIFIED_LAYER_NORMALIZATION,
                               SIS__OP_ROTARY_EMBEDDING,
                               SIS__OP_STANDARD_ROTARY,
                               SIS__OP_STANDARD_ATTENTION,
                               SIS__OP_MOD,
                               SIS__OP_ROUND,
                               SIS__OP_SHRINK,
                               SIS__OP_SIGN};
    return IS_ONE_OF(n->op_id, list);
}

/* Neither: what has bodies or makes sequences, and what looks at shapes alone. */
static int keeps_types(const sis__node *n) {
    static const int list[] = {
        SIS__OP_SHAPE,          SIS__OP_SEQUENCE_CONSTRUCT, SIS__OP_SEQUENCE_INSERT,
        SIS__OP_SEQUENCE_AT,    SIS__OP_SPLIT_TO_SEQUENCE,  SIS__OP_CONCAT_FROM_SEQUENCE,
        SIS__OP_SEQUENCE_ERASE, SIS__OP_OPTIONAL,           SIS__OP_OPTIONAL_GET_ELEMENT};
    return n->n_bodies || IS_ONE_OF(n->op_id, list);
}

static int passes_on(const sis__node *n) {
    return n->op_id == SIS__OP_IDENTITY || n->op_id == SIS__OP_DROPOUT;
}

static int gives_no_floats(const sis__node *n) {
    static const int list[] = {SIS__OP_SHAPE,
                               SIS__OP_SIZE,
                               SIS__OP_ARG_MAX,
                               SIS__OP_ARG_MIN,
                               SIS__OP_NON_ZERO,
                               SIS__OP_EQUAL,
                               SIS__OP_GREATER,
                               SIS__OP_LESS,
                               SIS__OP_GREATER_OR_EQUAL,
                               SIS__OP_LESS_OR_EQUAL,
                               SIS__OP_IS_NAN,
                               SIS__OP_IS_INF,
                               SIS__OP_QUANTIZE_LINEAR,
                               SIS__OP_SEQUENCE_LENGTH,
                               SIS__OP_NON_MAX_SUPPRESSION,
                               SIS__OP_SETTLE,
                               SIS__OP_OPTIONAL_HAS_ELEMENT};
    return IS_ONE_OF(n->op_id, list);
}

/* Places and counts come second. */
static int gives_floats_first(const sis__node *n) {
    return n->op_id == SIS__OP_TOP_K || n->op_id == SIS__OP_MAX_POOL ||
           n->op_id == SIS__OP_UNIQUE || n->op_id == SIS__OP_DROPOUT;
}

/* ---- Types ----------------------------------------------------------------------------------- */

static const Sis__Onnx__Attribute *attribute(const sis__node *n, const char *name) {
    for (size_t i = 0; i < n->proto->n_attribute; i++)
        if (n->proto->attribute[i]->name && strcmp(n->proto->attribute[i]->name, name) == 0)
            return n->proto->attribute[i];
    return NULL;
}

/* A type that an attribute names, or that of the tensor it is. */
static int type_by(const sis__node *n, const char *name, int missing) {
    const Sis__Onnx__Attribute *a = attribute(n, name);
    return !a ? missing : a->t ? a->t->data_type : (int)a->i;
}

static int first_float(const shortener *s, const sis__node *n) {
    for (size_t i = 0; i < n->n_own; i++)
        if (n->inputs[i] >= 0 && s->elem[n->inputs[i]])
            return s->elem[n->inputs[i]];
    return 0;
}

static int type_of(const shortener *s, const sis__node *n) {
    switch (n->op_id) {
    case SIS__OP_CAST:
        return type_by(n, "to", 0);
    case SIS__OP_CAST_LIKE:
        return n->n_own > 1 && n->inputs[1] >= 0 ? s->elem[n->inputs[1]] : 0;
    case SIS__OP_CONSTANT:
        return type_by(n, "value", SIS__FLOAT);
    case SIS__OP_CONSTANT_OF_SHAPE:
        return type_by(n, "value", SIS__FLOAT);
    case SIS__OP_EYE_LIKE:
        return type_by(n, "dtype", first_float(s, n));
    default:
        return gives_no_floats(n) ? 0 : first_float(s, n);
    }
}

static int float_type(int elem) {
    return elem == SIS__FLOAT || elem == SIS__DOUBLE || is_short(elem) ? elem : 0;
}

static int shorten(sis__graph *g, const sis__body *body, const int *captured, int *outputs);

/* Types of what bodies give; they are shortened on the way. Loop's have a condition in front. */
static int type_bodies(shortener *s, const sis__node *n) {
    size_t skip = n->op_id == SIS__OP_LOOP ? 1 : 0;
    int error = SIS_OK;
    for (size_t b = 0; b < n->n_bodies && !error; b++) {
        const sis__body *body = &n->bodies[b];
        int *captured = SIS_NEW(int, body->n_captured + 1);
        int *outputs = SIS_NEW(int, body->graph->n_outputs + 1);
        for (size_t i = 0; captured && i < body->n_captured; i++)
            captured[i] = s->elem[n->inputs[body->first + i]];
        error = captured && outputs ? shorten(body->graph, body, captured, outputs) : SIS_E_NOMEM;
        for (size_t i = 0; !error && i < n->n_outputs && i + skip < body->graph->n_outputs; i++)
            if (n->outputs[i] >= 0)
                s->elem[n->outputs[i]] = outputs[i + skip];
        free(captured);
        free(outputs);
    }
    return error;
}

static int type_node(shortener *s, const sis__node *n) {
    int elem = float_type(type_of(s, n)), constant = !n->n_bodies, from = -1;
    for (size_t i = 0; i < n->n_inputs; i++)
        constant &= n->inputs[i] < 0 || s->constant[n->inputs[i]];
    constant &= moves(n) || passes_on(n) || n->op_id == SIS__OP_CONSTANT;
    if (passes_on(n) && n->n_inputs && n->inputs[0] >= 0)
        from = s->origin[n->inputs[0]];
    for (size_t i = 0; i < n->n_outputs; i++) {
        int v = n->outputs[i];
        if (v < 0)
            continue;
        s->elem[v] = i && gives_floats_first(n) ? 0 : elem;
        s->constant[v] = (unsigned char)constant;
        s->origin[v] = i == 0 && from >= 0 ? from : v;
    }
    return n->n_bodies ? type_bodies(s, n) : SIS_OK;
}

static int type_values(shortener *s, const sis__body *body, const int *captured) {
    sis__graph *g = s->g;
    int error = SIS_OK;
    for (size_t v = 0; v < s->n_values; v++) {
        s->elem[v] = g->values[v].producer < 0 ? float_type(g->values[v].elem_type) : 0;
        s->constant[v] = g->values[v].data != NULL;
        s->origin[v] = (int)v;
        s->rounded[v] = -1;
    }
    for (size_t i = 0; body && i < body->n_captured; i++)
        s->elem[g->inputs[body->n_declared + i]] = captured[i];
    for (size_t i = 0; i < g->n_nodes && !error; i++)
        error = type_node(s, &g->nodes[i]);
    return error;
}

static int any_short(const shortener *s) {
    for (size_t v = 0; v < s->n_values; v++)
        if (is_short(s->elem[v]))
            return 1;
    return 0;
}

/* ---- Who computes ---------------------------------------------------------------------------- */

static int reads_type(const shortener *s, const sis__node *n, int elem) {
    for (size_t i = 0; i < n->n_own; i++)
        if (n->inputs[i] >= 0 && s->elem[n->inputs[i]] == elem)
            return 1;
    return 0;
}

static void find_computing(shortener *s) {
    for (size_t i = 0; i < s->g->n_nodes; i++) {
        const sis__node *n = &s->g->nodes[i];
        int other = moves(n) || rounds(n) || keeps_types(n) || passes_on(n);
        s->wide[i] = !other && n->op_id != SIS__OP_CAST && reads_type(s, n, SIS__FLOAT16);
    }
}

static void mark_reads(shortener *s) {
    memset(s->read, 0, s->n_values);
    for (size_t i = 0; i < s->g->n_nodes; i++) {
        const sis__node *n = &s->g->nodes[i];
        for (size_t j = 0; j < n->n_inputs && !passes_on(n); j++)
            if (n->inputs[j] >= 0 && !s->wide[i])
                s->read[s->origin[n->inputs[j]]] |= n->op_id == SIS__OP_CAST ? BY_CAST : BY_SHORT;
    }
    for (size_t i = 0; i < s->g->n_outputs; i++)
        s->read[s->origin[s->g->outputs[i]]] |= LEAVES;
}

/* Do all short inputs come from nodes that compute? Of several of one kind the first stands for
 * all. */
static int reads_wide(const shortener *s, const sis__node *n) {
    int several = n->op_id == SIS__OP_CONCAT || n->op_id == SIS__OP_MAX || n->op_id == SIS__OP_MIN;
    int edges = 0;
    for (size_t i = 0; i < n->n_own; i++) {
        int v = n->inputs[i] < 0 ? -1 : s->origin[n->inputs[i]];
        int from = v < 0 || s->constant[v] ? -1 : s->g->values[v].producer;
        edges += from >= 0;
        if (from >= 0 && s->elem[v] == SIS__FLOAT16 && !s->wide[from] && !(several && i))
            return 0;
    }
    return edges > 0 && reads_type(s, n, SIS__FLOAT16);
}

/* One that is done in 16 bits, but between others that compute. */
static int is_isolated(const shortener *s, const sis__node *n) {
    if ((!moves(n) && !rounds(n)) || !reads_wide(s, n))
        return 0;
    for (size_t i = 0; i < n->n_outputs; i++)
        if (n->outputs[i] >= 0 && is_short(s->elem[n->outputs[i]]) && s->read[n->outputs[i]])
            return 0;
    return 1;
}

/* One of several that cut a value into pieces. ONNX Runtime makes one Split of them. */
static int is_piece(const shortener *s, const sis__node *n) {
    for (size_t i = 0; n->op_id == SIS__OP_SLICE && i < s->g->n_nodes; i++) {
        const sis__node *other = &s->g->nodes[i];
        if (other != n && other->op_id == SIS__OP_SLICE && other->inputs[0] == n->inputs[0])
            return 1;
    }
    return 0;
}

/* That Split comes last, when it is known of its readers whether they compute. */
static void find_isolated(shortener *s) {
    for (int pieces = 0; pieces < 2; pieces++) {
        mark_reads(s);
        for (size_t i = 0; i < s->g->n_nodes; i++)
            if (!s->wide[i] && is_isolated(s, &s->g->nodes[i]) &&
                is_piece(s, &s->g->nodes[i]) == pieces)
                s->wide[i] = 1;
    }
}

/* Nodes that only move values towards outputs of the graph. */
static void mark_tails(shortener *s) {
    const sis__graph *g = s->g;
    for (size_t i = g->n_nodes; i-- > 0;) {
        const sis__node *n = &g->nodes[i];
        unsigned read = 0;
        for (size_t j = 0; j < n->n_outputs; j++)
            read |= n->outputs[j] < 0 ? 0u : s->read[n->outputs[j]];
        s->tail[i] = !g->is_body && moves(n) && !(read & BY_INNER) && (read & (BY_TAIL | LEAVES));
        for (size_t j = 0; j < n->n_inputs && !passes_on(n); j++)
            if (n->inputs[j] >= 0)
                s->read[s->origin[n->inputs[j]]] |= s->tail[i] ? BY_TAIL : BY_INNER;
    }
}

/* ---- How values are made --------------------------------------------------------------------- */

/* A Cast to 16 bits keeps the digits unless another one reads its result. */
static int made_by_cast(const shortener *s, sis__node *n, int v) {
    int from = n->n_inputs && n->inputs[0] >= 0 ? s->elem[n->inputs[0]] : 0;
    n->keeps_digits = s->elem[v] == SIS__FLOAT16 && (from == SIS__FLOAT || from == SIS__DOUBLE) &&
                      !(s->read[v] & BY_CAST);
    return n->keeps_digits ? LOOSE : EXACT;
}

static int made(const shortener *s, int v) {
    int from = s->g->values[v].producer;
    sis__node *n = from < 0 ? NULL : &s->g->nodes[from];
    if (!is_short(s->elem[v]) || s->constant[v])
        return EXACT;
    if (!n) /* rows hold anything, bodies are fed what was made around them */
        return s->g->is_body ? EXACT : ROUGH;
    if (n->op_id == SIS__OP_CAST)
        return made_by_cast(s, n, v);
    if (s->wide[from])
        return LOOSE;
    if (moves(n) || keeps_types(n) || !reads_type(s, n, s->elem[v]))
        return EXACT;
    return ROUGH;
}

static int must_round(const shortener *s, size_t reader, int v) {
    const sis__node *n = &s->g->nodes[reader];
    int how = s->made[s->origin[v]];
    if (how == EXACT || passes_on(n) || s->tail[reader] || n->op_id == SIS__OP_SHAPE)
        return 0;
    return how == ROUGH || !(s->wide[reader] || n->op_id == SIS__OP_CAST);
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

/* The value that v is rounded to: a new one. */
static int round_value(shortener *s, int v) {
    if (s->rounded[v] < 0)
        s->rounded[v] = (int)(s->n_values + s->n_rounded++);
    return s->rounded[v];
}

static void redirect_reads(shortener *s) {
    sis__graph *g = s->g;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (size_t j = 0; j < g->nodes[i].n_inputs; j++)
            if (g->nodes[i].inputs[j] >= 0 && must_round(s, i, g->nodes[i].inputs[j]))
                g->nodes[i].inputs[j] = round_value(s, g->nodes[i].inputs[j]);
    for (size_t i = 0; g->is_body && i < g->n_outputs; i++)
        if (s->made[s->origin[g->outputs[i]]] != EXACT)
            g->outputs[i] = round_value(s, g->outputs[i]);
}

static void fill_node(const shortener *s, struct sis__shortened *at, int from, sis__node *n) {
    sis__onnx__node__init(&at->proto);
    sis__onnx__attribute__init(&at->to);
    at->to.name = (char *)(uintptr_t) "to";
    at->to.has_type = at->to.has_i = 1;
    at->to.type = SIS__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__INT;
    at->to.i = s->elem[from];
    at->attributes[0] = &at->to;
    at->proto.op_type = (char *)(uintptr_t) "Shorten";
    at->proto.name = (char *)(uintptr_t)s->g->values[from].name;
    at->proto.attribute = at->attributes;
    at->proto.n_attribute = 1;
    at->inputs[0] = from;
    at->outputs[0] = s->rounded[from];
    *n = (sis__node){.proto = &at->proto,
                     .opset = 1,
                     .n_inputs = 1,
                     .n_outputs = 1,
                     .n_own = 1,
                     .inputs = at->inputs,
                     .outputs = at->outputs};
    n->op = sis__op_find("sis", "Shorten", &n->op_id);
}

static void add_node(shortener *s, int from, struct sis__shortened **next, sis__node *to) {
    if (s->rounded[from] < 0)
        return;
    s->g->values[s->rounded[from]] = (sis__value){.name = s->g->values[from].name};
    fill_node(s, (*next)++, from, to + s->g->n_nodes++);
}

/* All nodes in order, those that round behind what makes the value. */
static int insert_nodes(shortener *s) {
    sis__graph *g = s->g;
    size_t n = g->n_nodes;
    struct sis__shortened *next = g->shortened = SIS_NEW(struct sis__shortened, s->n_rounded);
    sis__node *nodes = SIS_NEW(sis__node, n + s->n_rounded);
    sis__value *values = SIS_NEW(sis__value, s->n_values + s->n_rounded + 1); /* one for grafts */
    if (!next || !nodes || !values) {
        free(nodes);
        free(values);
        return SIS_E_NOMEM;
    }
    memcpy(values, g->values, s->n_values * sizeof *values);
    free(g->values);
    g->values = values;
    g->n_nodes = 0;
    for (size_t v = 0; v < s->n_values; v++)
        if (values[v].producer < 0)
            add_node(s, (int)v, &next, nodes);
    for (size_t i = 0; i < n; i++) {
        nodes[g->n_nodes++] = g->nodes[i];
        for (size_t j = 0; j < g->nodes[i].n_outputs; j++)
            if (g->nodes[i].outputs[j] >= 0)
                add_node(s, g->nodes[i].outputs[j], &next, nodes);
    }
    free(g->nodes);
    g->nodes = nodes;
    g->n_values += s->n_rounded;
    for (size_t i = 0; i < g->n_nodes; i++)
        for (size_t j = 0; j < nodes[i].n_outputs; j++)
            if (nodes[i].outputs[j] >= 0)
                values[nodes[i].outputs[j]].producer = (int)i;
    return SIS_OK;
}

/* ---- All of it ------------------------------------------------------------------------------- */

static int round_where_needed(shortener *s) {
    find_computing(s);
    find_isolated(s);
    for (size_t v = 0; v < s->n_values; v++)
        s->made[v] = (unsigned char)made(s, (int)v);
    mark_tails(s);
    redirect_reads(s);
    return s->n_rounded ? insert_nodes(s) : SIS_OK;
}

/* body: what the graph is of a node, with the types of what it takes from around it. outputs: where
 * types of outputs go. All are NULL for the network's own graph. */
static int shorten(sis__graph *g, const sis__body *body, const int *captured, int *outputs) {
    size_t n = g->n_values + 1;
    shortener s = {.g = g, .n_values = g->n_values};
    int *ints = SIS_NEW(int, 3 * n);
    unsigned char *bytes = SIS_NEW(unsigned char, 3 * n + 2 * g->n_nodes);
    int error = ints && bytes ? SIS_OK : SIS_E_NOMEM;
    if (!error) {
        s.elem = ints;
        s.origin = ints + n;
        s.rounded = ints + 2 * n;
        s.constant = bytes;
        s.made = bytes + n;
        s.read = bytes + 2 * n;
        s.wide = bytes + 3 * n;
        s.tail = s.wide + g->n_nodes;
        error = type_values(&s, body, captured);
    }
    for (size_t i = 0; !error && outputs && i < g->n_outputs; i++)
        outputs[i] = s.elem[g->outputs[i]];
    if (!error && any_short(&s))
        error = round_where_needed(&s);
    free(ints);
    free(bytes);
    return error;
}

int sis__graph_shorten(sis__graph *g) {
    return shorten(g, NULL, NULL, NULL);
}
