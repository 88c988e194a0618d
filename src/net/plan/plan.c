/* SPDX-License-Identifier: MIT
 *
 * Compile a graph for concrete shapes. In order:
 *
 *   1. mark the nodes between the fed and the wanted values;
 *   2. for each of them, let the operator check its inputs and set the shapes of its outputs; if
 *      all inputs are constant, compute the outputs now (constant folding), which removes the shape
 *      arithmetic that exporters put before Reshape;
 *   3. drop nodes whose results only folded nodes used;
 *   4. compute only slices that are read (slice_pushdown.c) and fuse operators (fuse.c);
 *   5. assign memory to each tensor (layout.c).
 *
 * Nothing depends on fed values. Only folded constants, which are limited, take memory in
 * proportion to a tensor.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"
#include "net/plan/net.h"

static const size_t max_folded = (size_t)64 << 20; /* bytes, in addition to the weights */
static const double max_fold_flops = 1e9;          /* spent while compiling */
static const size_t max_compiled = 100000;         /* nodes */

/* ---- Compilation --------------------------------------------------------------------------- */

typedef struct {
    sis__plan *plan;
    const sis__graph *g;
    const sis__plan_spec *spec;
    unsigned char *needed; /* (n_nodes) */
    sis__run fold;         /* data[] of constants, for folding */
    size_t weights;        /* bytes of the network's weights */
} compiler;

static void init_tensors(compiler *k) {
    for (size_t i = 0; i < k->g->n_values; i++) {
        const sis__value *v = &k->g->values[i];
        sis__tensor *t = &k->plan->tensors[i];
        t->node = t->alias = -1;
        if (!v->data)
            continue;
        t->dtype = v->dtype;
        t->elem = v->elem_type;
        t->rank = v->rank;
        t->count = 1;
        for (size_t d = 0; d < v->rank; d++) {
            t->dims[d] = (size_t)v->dims[d];
            t->count *= t->dims[d];
        }
        t->data = v->data;
        t->known = 1;
        t->depends = k->spec->gradients && v->dtype == SIS__F32 && !k->spec->params_fixed;
    }
}

static int init_feed(compiler *k, const sis__feed *f) {
    sis__tensor *t = &k->plan->tensors[f->value];
    const sis__value *v = &k->g->values[f->value];
    *t = (sis__tensor){.node = -1, .alias = -1, .rank = f->rank, .count = 1, .known = 1};
    t->dtype = v->producer < 0 ? v->dtype : SIS__F32;
    t->elem = v->producer < 0 ? v->elem_type : SIS__FLOAT;
    if (f->elem) {
        t->dtype = sis__elem_dtype(f->elem);
        t->elem = f->elem;
    }
    for (size_t d = 0; d < f->rank; d++) {
        if (f->dims[d] && t->count > SIS__MAX_COUNT / f->dims[d])
            return sis__fail(SIS_E_UNSUPPORTED, "input %s has more than 2^31 values", v->name);
        t->dims[d] = f->dims[d];
        t->count *= f->dims[d];
    }
    t->data = f->constant;
    t->shape_only = f->shape_only != 0;
    t->fed = f->constant == NULL && !f->shape_only;
    t->depends = t->fed && t->dtype == SIS__F32 && !k->spec->fed_fixed;
    return SIS_OK;
}

/* A plan that starts at embeddings knows the shape of the ids before them, because some exporters
 * use it. */
static void init_ids(compiler *k) {
    const sis_net *net = k->plan->net;
    if (k->g != &net->graph || net->embedded < 0 || !k->plan->tensors[net->embedded].fed)
        return;
    const sis__tensor *e = &k->plan->tensors[net->embedded];
    sis__tensor *t = &k->plan->tensors[net->input];
    *t = (sis__tensor){.dtype = net->graph.values[net->input].dtype, .node = -1, .alias = -1};
    t->elem = net->graph.values[net->input].elem_type;
    t->rank = e->rank - 1;
    t->count = 1;
    memcpy(t->dims, e->dims, t->rank * sizeof *t->dims);
    for (size_t d = 0; d < t->rank; d++)
        t->count *= t->dims[d];
    t->known = t->shape_only = 1;
}

/* Mark the nodes from the wanted values back to fed or constant ones. */
static int mark_needed(compiler *k) {
    const sis__graph *g = k->g;
    unsigned char *want = SIS_NEW(unsigned char, g->n_values);
    if (!want)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < k->spec->n_outputs; i++)
        want[k->spec->outputs[i]] = 1;
    for (size_t i = g->n_nodes; i-- > 0;) {
        const sis__node *n = &g->nodes[i];
        for (size_t o = 0; o < n->n_outputs; o++)
            if (n->outputs[o] >= 0 && want[n->outputs[o]] && !k->plan->tensors[n->outputs[o]].known)
                k->needed[i] = 1;
        for (size_t j = 0; k->needed[i] && j < n->n_inputs; j++)
            if (n->inputs[j] >= 0)
                want[n->inputs[j]] = 1;
    }
    free(want);
    return SIS_OK;
}

static int takes_texts(const sis__op *op) {
    return op->trait == SIS__KEEPS || op->trait == SIS__MOVES || op->trait == SIS__MIXES_TEXTS ||
           op->trait == SIS__MAPS_TEXTS;
}

static int check_inputs(compiler *k, sis__shape_ctx *c) {
    const sis__node *n = c->node;
    size_t given = n->n_inputs;
    while (given && n->inputs[given - 1] < 0)
        given--;
    if (given < n->op->min_inputs || given > n->op->max_inputs)
        return sis__ctx_fail(c, SIS_E_FORMAT, "%zu inputs", given);
    for (size_t i = 0; i < given; i++) {
        if (n->inputs[i] < 0) {
            if (i < n->op->min_inputs)
                return sis__ctx_fail(c, SIS_E_FORMAT, "input %zu is missing", i);
            continue;
        }
        const sis__value *v = &k->g->values[n->inputs[i]];
        const sis__tensor *t = &k->plan->tensors[n->inputs[i]];
        if (!t->known || (t->shape_only && n->op_id != SIS__OP_SHAPE))
            return sis__ctx_fail(c, SIS_E_ARGUMENT, "its input %s was not given a shape", v->name);
        if (t->dtype == SIS__OTHER || (t->dtype == SIS__TEXT && !takes_texts(n->op)))
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED,
                                 "input %s is of type %s, which it cannot take", v->name,
                                 sis__elem_name(t->elem));
    }
    return SIS_OK;
}

static int check_attributes(sis__shape_ctx *c) {
    const Sis__Onnx__Node *p = c->node->proto;
    sis__attr_find(c, "consumed_inputs"); /* only in the first versions: storage hints */
    for (size_t i = 0; i < p->n_attribute; i++)
        if (i >= 64 || !(c->seen >> i & 1))
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED,
                                 "attribute %s is not supported; export the model without it",
                                 p->attribute[i]->name ? p->attribute[i]->name : "(unnamed)");
    return SIS_OK;
}

static int all_constant(const compiler *k, const sis__step *s) {
    for (size_t i = 0; i < s->n_inputs; i++) {
        if (s->inputs[i] < 0)
            continue;
        const sis__tensor *t = &k->plan->tensors[s->inputs[i]];
        if (!t->data || (k->spec->gradients && t->depends))
            return 0;
    }
    return 1;
}

size_t sis__tensor_bytes(const sis__tensor *t) {
    return t->count * sis__dtype_size(t->dtype);
}

/* Compute a step whose inputs are constant; its outputs become constants. 1: too expensive. */
static int fold(compiler *k, const sis__step *s) {
    sis__plan *p = k->plan;
    size_t bytes = 0;
    for (size_t i = 0; i < s->n_outputs; i++)
        bytes += s->outputs[i] < 0 ? 0 : sis__tensor_bytes(&p->tensors[s->outputs[i]]);
    size_t limit = max_folded + 4 * k->weights;
    double cost = s->flops + 8 * (double)bytes; /* writing a value costs too */
    if (p->cost.folded > limit || bytes > limit - p->cost.folded ||
        p->cost.flops + cost > max_fold_flops)
        return 1;
    p->cost.folded += bytes;
    p->cost.flops += cost;
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i] >= 0) /* never written, despite the cast */
            k->fold.data[s->inputs[i]] = (void *)(uintptr_t)p->tensors[s->inputs[i]].data;
    for (size_t i = 0; i < s->n_outputs; i++) {
        if (s->outputs[i] < 0)
            continue;
        sis__tensor *t = &p->tensors[s->outputs[i]];
        if (t->data) /* the shape function set it */
            continue;
        k->fold.data[s->outputs[i]] =
            sis__arena_own(&p->memory, sis__alloc_raw(t->count, sis__dtype_size(t->dtype)));
        if (!k->fold.data[s->outputs[i]])
            return SIS_E_NOMEM;
        t->alias = -1;
    }
    k->fold.scratch = (char *)sis__alloc_raw(s->scratch, 1);
    if (!k->fold.scratch)
        return SIS_E_NOMEM;
    sis__step once = *s;
    once.tape = 0; /* no gradient flows through a constant */
    int error = s->ops->forward(&once, &k->fold);
    free(k->fold.scratch);
    for (size_t i = 0; i < s->n_outputs && !error; i++)
        if (s->outputs[i] >= 0 && !p->tensors[s->outputs[i]].data)
            p->tensors[s->outputs[i]].data = k->fold.data[s->outputs[i]];
    return error;
}

/* A gradient flows through a step's float outputs if it flows into one of its inputs. */
static void mark_depends(compiler *k, const sis__step *s) {
    int depends = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        depends |= s->inputs[i] >= 0 && k->plan->tensors[s->inputs[i]].depends;
    for (size_t i = 0; i < s->n_outputs; i++)
        if (s->outputs[i] >= 0 && k->plan->tensors[s->outputs[i]].dtype == SIS__F32 &&
            !k->plan->tensors[s->outputs[i]].fed)
            k->plan->tensors[s->outputs[i]].depends = depends && s->ops->backward != NULL;
}

/* Operators with random results. */
static int is_random(const char *type) {
    static const char *const names[] = {"RandomNormal",      "RandomNormalLike", "RandomUniform",
                                        "RandomUniformLike", "Multinomial",      "Bernoulli"};
    for (size_t i = 0; type && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], type) == 0)
            return 1;
    return 0;
}

static int unsupported(const sis__node *n) {
    const char *domain = n->proto->domain ? n->proto->domain : "";
    if (is_random(n->proto->op_type))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "operator %s (node %s) draws random numbers, so its scores "
                         "cannot be explained; export the model for inference",
                         n->proto->op_type, sis__node_name(n));
    return sis__fail(SIS_E_UNSUPPORTED,
                     "operator %s%s%s (node %s) is not supported by the engine; "
                     "use ONNX Runtime (ort:FILE.onnx) or a program (cmd:)",
                     n->proto->op_type ? n->proto->op_type : "(unnamed)", *domain ? " of " : "",
                     domain, sis__node_name(n));
}

static int outputs_known(sis__shape_ctx *c) {
    for (size_t i = 0; i < c->step->n_outputs; i++)
        if (c->step->outputs[i] >= 0 && !c->plan->tensors[c->step->outputs[i]].known)
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "output %zu is not supported", i);
    return SIS_OK;
}

/* Values read and written: the cost of an operator that does not set one. Views cost nothing. */
static double values_of(const sis__plan *p, const sis__step *s) {
    double n = 0;
    if (s->n_outputs && s->outputs[0] >= 0 && p->tensors[s->outputs[0]].alias >= 0)
        return 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        n += s->inputs[i] >= 0 ? (double)p->tensors[s->inputs[i]].count : 0;
    for (size_t i = 0; i < s->n_outputs; i++)
        n += s->outputs[i] >= 0 ? (double)p->tensors[s->outputs[i]].count : 0;
    return n;
}

static int compile_node(compiler *k, int index) {
    const sis__node *n = &k->g->nodes[index];
    sis__plan *p = k->plan;
    if (!n->op)
        return unsupported(n);
    if (++p->cost.steps > max_compiled)
        return sis__fail(SIS_E_UNSUPPORTED, "more than %zu steps", max_compiled);
    sis__step *s = &p->steps[p->n_steps];
    *s = (sis__step){.op = n->op_id,
                     .node = index,
                     .ops = n->op,
                     .n_inputs = n->n_inputs,
                     .n_outputs = n->n_outputs,
                     .inputs = n->inputs,
                     .outputs = n->outputs};
    sis__shape_ctx c = {.plan = p, .step = s, .node = n};
    int error = check_inputs(k, &c);
    if (!error)
        error = n->op->shape(&c);
    if (!error)
        error = c.error;
    if (!error)
        error = check_attributes(&c);
    if (!error)
        error = outputs_known(&c);
    if (error)
        return error;
    s->flops = s->flops > 0 ? s->flops : values_of(p, s);
    mark_depends(k, s);
    int constant = 1;
    for (size_t i = 0; i < s->n_outputs; i++)
        constant &= s->outputs[i] < 0 || p->tensors[s->outputs[i]].data != NULL;
    if (constant)
        return SIS_OK;
    if (all_constant(k, s)) {
        int result = fold(k, s);
        if (result <= 0)
            return result < 0 ? sis__fail_in(result, "operator %s (node %s)", sis__op_name(s->op),
                                             sis__node_name(n))
                              : SIS_OK;
    }
    for (size_t i = 0; i < s->n_outputs; i++)
        if (s->outputs[i] >= 0)
            p->tensors[s->outputs[i]].node = (int)p->n_steps;
    p->flops += s->flops;
    p->n_steps++;
    return SIS_OK;
}

/* Drop nodes that became unused through folding, such as inputs of a Shape. */
static int drop_dead(compiler *k) {
    sis__plan *p = k->plan;
    unsigned char *want = SIS_NEW(unsigned char, p->n_tensors);
    if (!want)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < p->n_outputs; i++)
        want[p->outputs[i]] = 1;
    size_t at = p->n_steps;
    p->flops = 0;
    for (size_t i = p->n_steps; i-- > 0;) {
        const sis__step *s = &p->steps[i];
        int live = 0;
        for (size_t o = 0; o < s->n_outputs; o++)
            live |= s->outputs[o] >= 0 && want[s->outputs[o]] &&
                    p->tensors[s->outputs[o]].data == NULL && !p->tensors[s->outputs[o]].fed;
        for (size_t o = 0; !live && o < s->n_outputs; o++)
            if (s->outputs[o] >= 0 && p->tensors[s->outputs[o]].node == (int)i)
                p->tensors[s->outputs[o]].node = -1;
        if (!live)
            continue;
        for (size_t j = 0; j < s->n_inputs; j++)
            if (s->inputs[j] >= 0)
                want[s->inputs[j]] = 1;
        p->flops += s->flops;
        p->steps[--at] = *s;
    }
    p->n_steps -= at;
    memmove(p->steps, p->steps + at, p->n_steps * sizeof *p->steps);
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t o = 0; o < p->steps[i].n_outputs; o++)
            if (p->steps[i].outputs[o] >= 0)
                p->tensors[p->steps[i].outputs[o]].node = (int)i;
    free(want);
    return SIS_OK;
}

/* Find the readers of all tensors, when the steps are final. */
static int find_readers(sis__plan *p) {
    enum { NONE = -1, SEVERAL = -2 };
    p->reader = SIS_NEW(int, p->n_tensors);
    if (!p->reader)
        return SIS_E_NOMEM;
    for (size_t t = 0; t < p->n_tensors; t++)
        p->reader[t] = NONE;
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t j = 0; j < p->steps[i].n_inputs; j++) {
            int *r = p->steps[i].inputs[j] < 0 ? NULL : &p->reader[p->steps[i].inputs[j]];
            if (r)
                *r = *r == NONE ? (int)i : SEVERAL;
        }
    return SIS_OK;
}

/* ---- Main function --------------------------------------------------------------------------- */

static int allocate(compiler *k) {
    sis__plan *p = k->plan;
    p->n_tensors = k->g->n_values;
    p->tensors = SIS_NEW(sis__tensor, p->n_tensors);
    p->steps = SIS_NEW(sis__step, k->g->n_nodes);
    int *outputs = (int *)sis__copy(k->spec->outputs, k->spec->n_outputs, sizeof *outputs);
    p->outputs = outputs;
    k->needed = SIS_NEW(unsigned char, k->g->n_nodes);
    k->fold.plan = p;
    k->fold.data = SIS_NEW(void *, p->n_tensors);
    if (!p->tensors || !p->steps || !outputs || !k->needed || !k->fold.data)
        return SIS_E_NOMEM;
    p->n_outputs = k->spec->n_outputs;
    return SIS_OK;
}

static int check_output(compiler *k, int value) {
    sis__tensor *t = &k->plan->tensors[value];
    const char *name = k->g->values[value].name;
    t->wanted = 1;
    if (!t->known)
        return sis__fail(SIS_E_ARGUMENT, "input %s was not given a shape", name);
    if (t->dtype == SIS__OTHER)
        return sis__fail(SIS_E_UNSUPPORTED, "output %s is not numeric", name);
    return SIS_OK;
}

static int compile(compiler *k) {
    int error = allocate(k);
    if (error)
        return error;
    init_tensors(k);
    for (size_t i = 0; i < k->spec->n_feeds && !error; i++)
        error = init_feed(k, &k->spec->feeds[i]);
    init_ids(k);
    if (!error)
        error = mark_needed(k);
    for (size_t i = 0; i < k->g->n_nodes && !error; i++)
        if (k->needed[i])
            error = compile_node(k, (int)i);
    for (size_t i = 0; i < k->spec->n_outputs && !error; i++)
        error = check_output(k, k->spec->outputs[i]);
    if (!error)
        error = drop_dead(k);
    if (!error && !k->plan->keep_all)
        error = sis__plan_push_slices(k->plan, k->spec->one, k->spec->asked);
    if (!error && !k->plan->keep_all)
        error = sis__plan_fuse(k->plan);
    if (!error && !k->plan->keep_all)
        error = drop_dead(k);
    if (!error)
        error = find_readers(k->plan);
    return error ? error : sis__plan_lay_out(k->plan);
}

int sis__plan_new(const sis_net *net, const sis__plan_spec *spec, sis__plan **out) {
    *out = SIS_NEW(sis__plan, 1);
    if (!*out)
        return SIS_E_NOMEM;
    sis__plan *p = *out;
    p->net = net;
    p->graph = spec->graph ? spec->graph : &net->graph;
    p->batch = spec->batch ? spec->batch : 1;
    p->gradients = spec->gradients;
    p->training = spec->training;
    p->keep_all = spec->keep_all || spec->gradients;
    compiler k = {.plan = p, .g = p->graph, .spec = spec, .weights = sis__net_bytes(net)};
    int error = compile(&k);
    free(k.needed);
    free(k.fold.data);
    if (error) {
        sis__plan_free(p);
        *out = NULL;
    }
    return error;
}

void sis__plan_free(sis__plan *p) {
    if (!p)
        return;
    sis__arena_release(&p->memory);
    free(p->tensors);
    free(p->steps);
    free(p->reader);
    free((void *)(uintptr_t)p->outputs);
    free(p);
}

const sis__step *sis__plan_reader(const sis__plan *p, int tensor) {
    int step = tensor < 0 ? -1 : p->reader[tensor];
    return step < 0 ? NULL : &p->steps[step];
}
