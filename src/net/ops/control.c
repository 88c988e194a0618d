/* SPDX-License-Identifier: MIT
 *
 * If, Loop, Scan and SequenceMap. Their bodies are graphs of their own (net/onnx/graph.h), compiled
 * to plans when the node is: which branch is taken and how often a loop goes round must be known by
 * then. A plan of each round is kept, since shapes and constants may change from one to the next; a
 * run of the node goes through them in turn. What a body takes from around it is fed like its inputs.
 *
 * Everything that a body computes from constants is folded as anywhere else, so a loop that only
 * does shape arithmetic leaves nothing to run.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/ops/sequence.h"

enum { MAX_SCANS = 16 };

/* A value that goes into a body or comes out of it: a tensor's type and shape, and its values if
 * they are known. */
typedef struct {
    sis__tensor t;
} item;

typedef struct {
    sis__plan *plan;
} round_of;

typedef struct {
    const sis__body *body;
    round_of *rounds;
    size_t n_rounds, cap;
    size_t n_state; /* values that go from round to round, in front: Loop without its two */
    size_t n_scanned_in, n_scanned; /* Scan: inputs taken slice by slice; stacked results */
    size_t lead;         /* inputs of the body in front of the state: Loop's number and condition */
    int back[MAX_SCANS]; /* Scan: input i from its end */
    int back_out[MAX_SCANS];                        /* results stacked from the end */
    int64_t along[MAX_SCANS], along_out[MAX_SCANS]; /* Scan: the axis of each */
    size_t batch, length;  /* Scan of version 8: examples, and rounds of one at most */
    const int64_t *counts; /* (batch) rounds of each; NULL: all have `length` */
} control;

static const sis__body *body_of(sis__cx *c, const char *attribute) {
    sis__attr_find(c, attribute);
    for (size_t i = 0; i < c->node->n_bodies; i++)
        if (strcmp(c->node->bodies[i].attribute, attribute) == 0)
            return &c->node->bodies[i];
    sis__cx_fail(c, SIS_E_FORMAT, "attribute %s is missing", attribute);
    return NULL;
}

static sis__feed feed_of(int value, const sis__tensor *t) {
    sis__feed f = {
        .value = value, .rank = t->rank, .elem = t->elem, .items = t->items, .constant = t->data};
    memcpy(f.dims, t->dims, sizeof f.dims);
    return f;
}

/* Compile a body whose declared inputs are `in`; NULL: the error says why. */
static sis__plan *compile(sis__cx *c, const sis__body *b, const item *in) {
    const sis__graph *g = b->graph;
    sis__feed *feeds = SIS_NEW(sis__feed, g->n_inputs + 1);
    sis__plan *plan = NULL;
    int known = 1;
    for (size_t i = 0; feeds && i < g->n_inputs; i++) {
        const sis__tensor *t =
            i < b->n_declared ? &in[i].t : sis__cx_input(c, b->first + i - b->n_declared);
        if (!t || !t->known) {
            sis__cx_fail(c, SIS_E_ARGUMENT, "its input %s was not given a shape",
                         g->values[g->inputs[i]].name);
            break;
        }
        feeds[i] = feed_of(g->inputs[i], t);
        known &= t->data != NULL;
    }
    sis__plan_spec spec = {.graph = g,
                           .around = c->plan,
                           .feeds = feeds,
                           .n_feeds = g->n_inputs,
                           .outputs = g->outputs,
                           .n_outputs = g->n_outputs,
                           .batch = c->plan->batch,
                           .values_known = known && c->plan->values_known,
                           .max_flops = c->plan->max_flops,
                           .exceeded = c->plan->exceeded};
    if (!feeds)
        c->error = SIS_E_NOMEM;
    if (!c->error && (c->error = sis__plan_new(c->plan->net, &spec, &plan)) != SIS_OK)
        sis__fail_in(c->error, "operator %s (node %s)", c->node->proto->op_type,
                     sis__node_name(c->node));
    free(feeds);
    if (plan) {
        plan->next = c->plan->children;
        c->plan->children = plan;
    }
    return plan;
}

static const sis__tensor *result(const sis__plan *p, const sis__body *b, size_t i) {
    return &p->tensors[b->graph->outputs[i]];
}

/* Output i of the node is like t; known if it is. */
static void give(sis__cx *c, size_t i, const sis__tensor *t) {
    sis__cx_output(c, i, t->dtype, t->rank, t->dims);
    sis__cx_elem(c, i, t->elem);
    sis__cx_items(c, i, t->items);
    if (t->data && !c->error)
        sis__cx_known(c, i, t->data);
}

/* ---- Running bodies -------------------------------------------------------------------------- */

static size_t bytes_of(const sis__tensor *t) {
    return t->count * sis__dtype_size(t->dtype);
}

/* Let the body see what it takes from around it, then run; the caller has fed the rest. */
static int run_body(const sis__step *s, sis__run *r, const sis__body *b, sis__run *inner) {
    for (size_t i = b->n_declared; i < b->graph->n_inputs; i++) {
        int value = b->graph->inputs[i];
        if (inner->plan->tensors[value].fed)
            sis__run_point(inner, value, r->data[s->inputs[b->first + i - b->n_declared]]);
    }
    return sis__run_forward(inner);
}

/* ---- If -------------------------------------------------------------------------------------- */

static int if_shape(sis__cx *c) {
    const sis__tensor *condition = sis__cx_input(c, 0);
    control *p = (control *)sis__cx_own(c, sizeof *p);
    const sis__body *then = body_of(c, "then_branch"), *other = body_of(c, "else_branch");
    if (condition->dtype != SIS__BOOL || condition->count != 1)
        sis__cx_fail(c, SIS_E_FORMAT, "a condition that is not one bool");
    else if (!condition->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED,
                     "the condition must be constant, but it depends on the network's input");
    if (c->error)
        return c->error;
    p->body = *(const uint8_t *)condition->data ? then : other;
    p->rounds = (round_of *)sis__cx_alloc(c, 1, sizeof *p->rounds);
    sis__plan *plan = compile(c, p->body, NULL);
    if (p->body->n_declared || p->body->graph->n_outputs != c->step->n_outputs)
        sis__cx_fail(c, SIS_E_FORMAT, "a branch with %zu results for %zu",
                     p->body->graph->n_outputs, c->step->n_outputs);
    if (c->error)
        return c->error;
    p->rounds[0].plan = plan;
    c->step->flops = plan->flops;
    for (size_t i = 0; i < c->step->n_outputs; i++)
        give(c, i, result(plan, p->body, i));
    return c->error;
}

static int if_forward(const sis__step *s, sis__run *r) {
    const control *p = (const control *)s->p.own;
    sis__run *inner;
    int error = sis__run_new(p->rounds[0].plan, &inner);
    if (error)
        return error;
    error = run_body(s, r, p->body, inner);
    for (size_t i = 0; i < s->n_outputs && !error; i++)
        if (s->outputs[i] >= 0 && !r->plan->tensors[s->outputs[i]].data)
            memcpy(r->data[s->outputs[i]], inner->data[p->body->graph->outputs[i]],
                   bytes_of(result(p->rounds[0].plan, p->body, i)));
    sis__run_free(inner);
    return error;
}

const sis__op sis__op_if = {1, 1, if_shape, if_forward, sis__no_gradient, 0, SIS__MIXES_SEQUENCES};

/* ---- Rounds ---------------------------------------------------------------------------------- */

/* Keep the plan of one more round. */
static void add_round(sis__cx *c, control *p, sis__plan *plan) {
    if (!c->error && p->n_rounds == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 16;
        round_of *more = (round_of *)sis__cx_alloc(c, cap, sizeof *more);
        if (more && p->n_rounds)
            memcpy(more, p->rounds, p->n_rounds * sizeof *more);
        p->rounds = more;
        p->cap = cap;
    }
    if (!c->error) {
        p->rounds[p->n_rounds++].plan = plan;
        c->step->flops += plan->flops;
    }
}

/* The axis that stacked result i has for its rounds; Loop's have the first. */
static int64_t stacked_along(const control *p, size_t i) {
    return p->lead || i >= MAX_SCANS ? 0 : p->along_out[i];
}

static int alike(const sis__tensor *a, const sis__tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Results that are stacked: the shape of one round, with the rounds as another axis. */
static void give_stacked(sis__cx *c, const control *p, size_t output, size_t result_at) {
    size_t dims[SIS__MAX_RANK + 1] = {0};
    if (p->n_rounds == 0) {
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a loop that never goes round, with stacked results");
        return;
    }
    const sis__tensor *one = result(p->rounds[0].plan, p->body, result_at);
    for (size_t i = 1; i < p->n_rounds; i++)
        if (!alike(result(p->rounds[i].plan, p->body, result_at), one))
            sis__cx_fail(c, SIS_E_UNSUPPORTED,
                         "results of different shapes or types that are stacked");
    size_t axis = output < p->n_state
                      ? 0
                      : sis__cx_axis(c, stacked_along(p, output - p->n_state), one->rank + 1);
    if (c->error)
        return;
    memcpy(dims, one->dims, axis * sizeof *dims);
    dims[axis] = p->n_rounds;
    memcpy(dims + axis + 1, one->dims + axis, (one->rank - axis) * sizeof *dims);
    sis__cx_output(c, output, one->dtype, one->rank + 1, dims);
    sis__cx_elem(c, output, one->elem);
}

/* A constant of the plan: one number or bool. */
static sis__tensor constant_of(sis__cx *c, sis__dtype type, int elem, int64_t v) {
    sis__tensor t = {.dtype = type, .elem = elem, .count = 1, .known = 1, .node = -1, .alias = -1};
    int64_t *data = (int64_t *)sis__cx_alloc(c, 1, sizeof *data);
    if (data && type == SIS__BOOL)
        *(uint8_t *)data = v != 0;
    else if (data)
        *data = v;
    t.data = data;
    return t;
}

/* Is this result of a round true, false, or (-1) not known yet? */
static int truth_of(const sis__tensor *t) {
    return t->dtype != SIS__BOOL || t->count != 1 || !t->data ? -1 : *(const uint8_t *)t->data;
}

/* ---- Loop ------------------------------------------------------------------------------------ */

static int64_t most_rounds(sis__cx *c) {
    const sis__tensor *m = sis__cx_input(c, 0);
    if (!m)
        return INT64_MAX;
    if (m->dtype != SIS__I64 || m->count != 1)
        sis__cx_fail(c, SIS_E_FORMAT, "a number of rounds that is not one integer");
    else if (!m->data)
        sis__cx_fail(
            c, SIS_E_UNSUPPORTED,
            "the number of rounds must be constant, but it depends on the network's input");
    return c->error ? 0 : *(const int64_t *)m->data;
}

static int starts(sis__cx *c) {
    const sis__tensor *t = sis__cx_input(c, 1);
    int truth = t ? truth_of(t) : 1;
    if (truth < 0)
        sis__cx_fail(c, SIS_E_UNSUPPORTED,
                     "the condition must be constant, but it depends on the network's input");
    return truth > 0;
}

/* Round after round, each with what the last one left. */
static void unroll(sis__cx *c, control *p, item *in, int64_t most) {
    int more = starts(c);
    for (int64_t i = 0; !c->error && more && i < most; i++) {
        in[0].t = constant_of(c, SIS__I64, SIS__INT64, i);
        in[1].t = constant_of(c, SIS__BOOL, 9, 1);
        sis__plan *plan = c->error ? NULL : compile(c, p->body, in);
        add_round(c, p, plan);
        if (c->error)
            return;
        more = truth_of(result(plan, p->body, 0));
        if (more < 0)
            sis__cx_fail(c, SIS_E_UNSUPPORTED,
                         "the end of the loop depends on the network's input");
        for (size_t k = 0; k < p->n_state; k++)
            in[2 + k].t = *result(plan, p->body, 1 + k);
    }
}

static int loop_shape(sis__cx *c) {
    control *p = (control *)sis__cx_own(c, sizeof *p);
    const sis__body *b = body_of(c, "body");
    if (c->error)
        return c->error;
    p->body = b;
    p->lead = 2;
    p->n_state = c->node->n_own > 2 ? c->node->n_own - 2 : 0;
    p->n_scanned = c->step->n_outputs > p->n_state ? c->step->n_outputs - p->n_state : 0;
    if (b->n_declared != 2 + p->n_state || b->graph->n_outputs < 1 + p->n_state + p->n_scanned)
        return sis__cx_fail(c, SIS_E_FORMAT, "a body of %zu inputs and %zu results", b->n_declared,
                            b->graph->n_outputs);
    item *in = (item *)sis__cx_alloc(c, b->n_declared, sizeof *in);
    for (size_t i = 0; in && i < p->n_state; i++) {
        const sis__tensor *t = sis__cx_input(c, 2 + i);
        if (!t)
            return sis__cx_fail(c, SIS_E_FORMAT, "input %zu is missing", 2 + i);
        in[2 + i].t = *t;
    }
    unroll(c, p, in, most_rounds(c));
    for (size_t i = 0; !c->error && i < p->n_state; i++)
        give(c, i, &in[2 + i].t);
    for (size_t i = 0; !c->error && i < p->n_scanned; i++)
        give_stacked(c, p, p->n_state + i, 1 + p->n_state + i);
    return c->error;
}

/* Where the state comes from at first: the node's inputs. */
typedef struct {
    const control *p;
    const sis__step *s;
    sis__run *r;
    sis__run *last;        /* the round before */
    sis__memory memory[2]; /* of rounds, by turns */
} going;

static const void *state_at(const going *g, size_t i) {
    size_t results = g->p->lead ? 1 : 0;
    return g->last ? g->last->data[g->p->body->graph->outputs[results + i]]
                   : g->r->data[g->s->inputs[g->p->lead + i]];
}

/* Slice `at` of all `n` along an axis of the whole, and what it lies in. */
typedef struct {
    size_t outer, n, inner; /* inner: bytes */
    size_t at;
} cut;

static cut cut_of(const sis__tensor *slice, int64_t axis, size_t n, size_t at) {
    cut c = {.outer = 1, .n = n, .inner = sis__dtype_size(slice->dtype), .at = at};
    size_t first = axis < 0 ? (size_t)(axis + (int64_t)slice->rank + 1) : (size_t)axis;
    for (size_t d = 0; d < slice->rank; d++)
        *(d < first ? &c.outer : &c.inner) *= slice->dims[d];
    return c;
}

static void cut_out(const cut *c, const void *whole, void *slice) {
    for (size_t o = 0; o < c->outer; o++)
        memcpy((char *)slice + o * c->inner, (const char *)whole + (o * c->n + c->at) * c->inner,
               c->inner);
}

static void cut_in(const cut *c, const void *slice, void *whole) {
    for (size_t o = 0; o < c->outer; o++)
        memcpy((char *)whole + (o * c->n + c->at) * c->inner, (const char *)slice + o * c->inner,
               c->inner);
}

static void copy_stacked(const going *g, sis__run *inner, size_t round, size_t i) {
    const control *p = g->p;
    size_t output = p->n_state + i, result_at = (p->lead ? 1 : 0) + p->n_state + i;
    size_t at = i < MAX_SCANS && p->back_out[i] ? p->n_rounds - 1 - round : round;
    const sis__tensor *t = result(inner->plan, p->body, result_at);
    cut c = cut_of(t, stacked_along(p, i), p->n_rounds, at);
    int value = output < g->s->n_outputs ? g->s->outputs[output] : -1;
    if (value >= 0)
        cut_in(&c, inner->data[p->body->graph->outputs[result_at]], g->r->data[value]);
}

/* The slice of a scanned input that a round takes. */
static void feed_slice(const going *g, sis__run *inner, size_t round, size_t i) {
    int value = g->p->body->graph->inputs[g->p->n_state + i];
    const sis__tensor *t = &inner->plan->tensors[value];
    size_t at = g->p->back[i] ? g->p->n_rounds - 1 - round : round;
    cut c = cut_of(t, g->p->along[i], g->p->n_rounds, at);
    int from = g->s->inputs[g->p->n_state + i];
    if (t->fed)
        cut_out(&c, g->r->data[from], inner->data[value]);
}

static int go_round(going *g, size_t round) {
    const control *p = g->p;
    sis__run *inner;
    int error = sis__run_new_in(p->rounds[round].plan, &g->memory[round % 2], NULL, &inner);
    if (error)
        return error;
    for (size_t i = 0; i < p->n_state; i++) {
        int value = p->body->graph->inputs[p->lead + i];
        if (inner->plan->tensors[value].fed)
            memcpy(inner->data[value], state_at(g, i), bytes_of(&inner->plan->tensors[value]));
    }
    for (size_t i = 0; i < p->n_scanned_in; i++)
        feed_slice(g, inner, round, i);
    error = run_body(g->s, g->r, p->body, inner);
    for (size_t i = 0; i < p->n_scanned && !error; i++)
        copy_stacked(g, inner, round, i);
    sis__run_free(g->last);
    g->last = inner;
    return error;
}

static int rounds_forward(const sis__step *s, sis__run *r) {
    going g = {.p = (const control *)s->p.own, .s = s, .r = r};
    int error = SIS_OK;
    for (size_t i = 0; i < g.p->n_rounds && !error; i++)
        error = go_round(&g, i);
    for (size_t i = 0; i < g.p->n_state && i < s->n_outputs && !error; i++)
        if (s->outputs[i] >= 0 && !r->plan->tensors[s->outputs[i]].data)
            memcpy(r->data[s->outputs[i]], state_at(&g, i),
                   bytes_of(&r->plan->tensors[s->outputs[i]]));
    sis__run_free(g.last);
    sis__memory_release(&g.memory[0]);
    sis__memory_release(&g.memory[1]);
    return error;
}

size_t sis__round_bytes(const sis__step *s) {
    const control *p =
        s->op == SIS__OP_LOOP || s->op == SIS__OP_SCAN ? (const control *)s->p.own : NULL;
    size_t most = 0;
    for (size_t i = 0; p && i < p->n_rounds; i++) {
        const sis__plan *round = p->rounds[i].plan;
        size_t bytes = round->arena;
        for (size_t k = p->body->n_declared; k < p->body->graph->n_inputs; k++)
            if (round->tensors[p->body->graph->inputs[k]].fed) /* it is read where it lies */
                bytes -= bytes_of(&round->tensors[p->body->graph->inputs[k]]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

const sis__op sis__op_loop = {
    0, SIZE_MAX, loop_shape, rounds_forward, sis__no_gradient, 0, SIS__MIXES_SEQUENCES};

/* ---- Scan ------------------------------------------------------------------------------------ */

static void read_directions(sis__cx *c, const char *name, size_t n, int *back) {
    size_t given;
    const int64_t *v = sis__attr_ints(c, name, &given);
    for (size_t i = 0; v && i < n && i < given; i++)
        back[i] = v[i] != 0;
}

static void read_along(sis__cx *c, const char *name, size_t n, int64_t *along) {
    size_t given;
    const int64_t *v = sis__attr_ints(c, name, &given);
    for (size_t i = 0; v && i < n && i < given; i++)
        along[i] = v[i];
}

/* Slices are taken along this axis of a tensor of so many. */
static size_t rounds_of(sis__cx *c, const sis__tensor *t, int64_t axis) {
    size_t at = sis__cx_axis(c, axis, t->rank);
    return c->error ? 0 : t->dims[at];
}

/* One slice of a scanned input, known if the whole is. */
static sis__tensor slice_of(sis__cx *c, const sis__tensor *t, int64_t along, size_t at) {
    sis__tensor one = *t;
    size_t axis = sis__cx_axis(c, along, t->rank), n = t->dims[axis];
    one.rank = t->rank - 1;
    memmove(one.dims + axis, t->dims + axis + 1, (one.rank - axis) * sizeof *one.dims);
    one.count = n ? t->count / n : 0;
    if (t->data && axis == 0)
        one.data = (const char *)t->data + at * one.count * sis__dtype_size(t->dtype);
    else if (t->data) {
        void *copy = sis__cx_list(c, one.count + 1, sis__dtype_size(t->dtype));
        cut k = cut_of(&one, (int64_t)axis, n, at);
        if (copy)
            cut_out(&k, t->data, copy);
        one.data = copy;
    }
    return one;
}

/* ---- Scan of version 8 ----------------------------------------------------------------------- */

/* Each example of a batch goes through its rounds by itself. Inputs: lengths of the examples, or
 * none; states (batch, ...); what is scanned (batch, time, ...). Rounds are kept example after
 * example. */
static size_t rounds_in(const control *p, size_t example) {
    return p->counts ? (size_t)p->counts[example] : p->length;
}

/* What is read here: the lengths, which must be known, and that all inputs are for one batch. */
static void read_batch(sis__cx *c, control *p) {
    size_t n;
    for (size_t i = 1; i < c->node->n_own; i++) {
        const sis__tensor *t = sis__cx_input(c, i);
        size_t least = i > p->n_state ? 2 : 1;
        if (!t || t->rank < least || t->items)
            sis__cx_fail(c, SIS_E_FORMAT, "input %zu is missing or has too few axes", i);
        if (c->error)
            return;
        if (i == 1)
            p->batch = t->dims[0];
        if (i == p->n_state + 1)
            p->length = t->dims[1];
        if (t->dims[0] != p->batch || (least == 2 && t->dims[1] != p->length))
            sis__cx_fail(c, SIS_E_FORMAT, "inputs of different lengths");
    }
    if (!sis__cx_input(c, 0))
        return;
    p->counts = sis__cx_ints(c, 0, &n);
    if (!c->error && n != p->batch)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu lengths for %zu examples", n, p->batch);
    for (size_t i = 0; !c->error && i < n; i++)
        if (p->counts[i] < 0 || (uint64_t)p->counts[i] > p->length)
            sis__cx_fail(c, SIS_E_FORMAT, "a length of %lld among %zu", (long long)p->counts[i],
                         p->length);
}

/* The rounds of one example; its last states are left in `in`. */
static void unroll_example(sis__cx *c, control *p, item *in, size_t example) {
    size_t rounds = rounds_in(p, example);
    for (size_t i = 0; i < p->n_state && !c->error; i++)
        in[i].t = slice_of(c, sis__cx_input(c, 1 + i), 0, example);
    for (size_t k = 0; k < rounds && !c->error; k++) {
        for (size_t i = 0; i < p->n_scanned_in; i++) {
            sis__tensor all = slice_of(c, sis__cx_input(c, 1 + p->n_state + i), 0, example);
            in[p->n_state + i].t = slice_of(c, &all, 0, p->back[i] ? rounds - 1 - k : k);
        }
        sis__plan *plan = c->error ? NULL : compile(c, p->body, in);
        add_round(c, p, plan);
        for (size_t i = 0; !c->error && i < p->n_state; i++)
            in[i].t = *result(plan, p->body, i);
    }
}

/* Output i: t for each example, with `length` of them in a row where it is stacked. */
static void give_batch(sis__cx *c, const control *p, size_t i, const sis__tensor *t) {
    size_t dims[SIS__MAX_RANK + 2] = {p->batch, p->length}, lead = i < p->n_state ? 1 : 2;
    memcpy(dims + lead, t->dims, t->rank * sizeof *dims);
    sis__cx_output(c, i, t->dtype, lead + t->rank, dims);
    sis__cx_elem(c, i, t->elem);
}

/* Every round gives the same shapes, and states keep theirs. */
static void check_batch(sis__cx *c, const control *p) {
    int same = 1;
    for (size_t i = 0; i < p->body->graph->n_outputs; i++) {
        const sis__tensor *one = result(p->rounds[0].plan, p->body, i);
        for (size_t k = 1; k < p->n_rounds; k++)
            same &= alike(result(p->rounds[k].plan, p->body, i), one);
        if (i < p->n_state) {
            sis__tensor first = slice_of(c, sis__cx_input(c, 1 + i), 0, 0);
            same &= alike(&first, one);
        }
    }
    if (!same)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "results of different shapes or types");
}

static int batched_shape(sis__cx *c, control *p, const sis__body *b, int64_t n_in) {
    size_t own = c->node->n_own;
    if (own < 2 || n_in < 1 || (uint64_t)n_in > own - 1 || n_in > MAX_SCANS)
        sis__cx_fail(c, SIS_E_FORMAT, "%lld scanned inputs", (long long)n_in);
    if (c->error)
        return c->error;
    p->body = b;
    p->n_scanned_in = (size_t)n_in;
    p->n_state = own - 1 - p->n_scanned_in;
    read_directions(c, "directions", p->n_scanned_in, p->back);
    if (b->n_declared != own - 1 || b->graph->n_outputs < p->n_state ||
        c->step->n_outputs > b->graph->n_outputs)
        sis__cx_fail(c, SIS_E_FORMAT, "a body of %zu inputs and %zu results", b->n_declared,
                     b->graph->n_outputs);
    item *in = (item *)sis__cx_alloc(c, own, sizeof *in);
    if (!c->error)
        read_batch(c, p);
    for (size_t i = 0; i < p->batch && !c->error; i++)
        unroll_example(c, p, in, i);
    if (!c->error && p->n_rounds == 0)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "no rounds");
    if (!c->error)
        check_batch(c, p);
    for (size_t i = 0; i < c->step->n_outputs && !c->error; i++)
        give_batch(c, p, i, result(p->rounds[0].plan, b, i));
    return c->error;
}

/* Place `at` of the tensors that a value holds one after the other, each as large as t. */
static char *nth(const sis__run *r, int value, const sis__tensor *t, size_t at) {
    return (char *)r->data[value] + at * bytes_of(t);
}

/* Round k of an example. *last is the round before, then this one. */
static int go_example(const sis__step *s, sis__run *r, size_t example, size_t k, size_t round,
                      sis__run **last) {
    const control *p = (const control *)s->p.own;
    const sis__graph *g = p->body->graph;
    sis__run *inner;
    int error = sis__run_new(p->rounds[round].plan, &inner);
    if (error)
        return error;
    for (size_t i = 0; i < p->body->n_declared; i++) {
        const sis__tensor *t = &inner->plan->tensors[g->inputs[i]];
        size_t at = i < p->n_state            ? 0
                    : p->back[i - p->n_state] ? rounds_in(p, example) - 1 - k
                                              : k;
        const void *from = i >= p->n_state ? nth(r, s->inputs[1 + i], t, example * p->length + at)
                           : *last         ? (*last)->data[g->outputs[i]]
                                           : nth(r, s->inputs[1 + i], t, example);
        if (t->fed && t->count)
            memcpy(inner->data[g->inputs[i]], from, bytes_of(t));
    }
    error = run_body(s, r, p->body, inner);
    for (size_t i = p->n_state; i < s->n_outputs && !error; i++) {
        const sis__tensor *t = result(inner->plan, p->body, i);
        if (s->outputs[i] >= 0 && t->count)
            memcpy(nth(r, s->outputs[i], t, example * p->length + k), inner->data[g->outputs[i]],
                   bytes_of(t));
    }
    sis__run_free(*last);
    *last = inner;
    return error;
}

/* What is behind the end of a short example is 0. */
static int batched_forward(const sis__step *s, sis__run *r) {
    const control *p = (const control *)s->p.own;
    size_t round = 0;
    int error = SIS_OK;
    for (size_t i = p->n_state; i < s->n_outputs; i++)
        if (s->outputs[i] >= 0)
            memset(r->data[s->outputs[i]], 0, bytes_of(&r->plan->tensors[s->outputs[i]]));
    for (size_t e = 0; e < p->batch && !error; e++) {
        sis__run *last = NULL;
        for (size_t k = 0; k < rounds_in(p, e) && !error; k++)
            error = go_example(s, r, e, k, round++, &last);
        for (size_t i = 0; i < p->n_state && i < s->n_outputs && !error; i++) {
            const sis__tensor *t = result(p->rounds[0].plan, p->body, i);
            if (s->outputs[i] >= 0 && t->count)
                memcpy(nth(r, s->outputs[i], t, e),
                       last ? last->data[p->body->graph->outputs[i]]
                            : nth(r, s->inputs[1 + i], t, e),
                       bytes_of(t));
        }
        sis__run_free(last);
    }
    return error;
}

/* ---- Scan since version 9 -------------------------------------------------------------------- */

static int scan_shape(sis__cx *c) {
    control *p = (control *)sis__cx_own(c, sizeof *p);
    const sis__body *b = body_of(c, "body");
    int64_t n_in = sis__attr_int(c, "num_scan_inputs", 0);
    size_t own = c->node->n_own;
    if (c->node->opset < 9)
        return batched_shape(c, p, b, n_in);
    if (n_in < 1 || (uint64_t)n_in > own || n_in > MAX_SCANS)
        sis__cx_fail(c, SIS_E_FORMAT, "%lld scanned inputs", (long long)n_in);
    if (c->error)
        return c->error;
    p->body = b;
    p->n_scanned_in = (size_t)n_in;
    p->n_state = own - p->n_scanned_in;
    p->n_scanned = b->graph->n_outputs - p->n_state;
    if (b->n_declared != own || b->graph->n_outputs < p->n_state || p->n_scanned > MAX_SCANS ||
        c->step->n_outputs > b->graph->n_outputs)
        return sis__cx_fail(c, SIS_E_FORMAT, "a body of %zu inputs and %zu results", b->n_declared,
                            b->graph->n_outputs);
    read_directions(c, "scan_input_directions", p->n_scanned_in, p->back);
    read_directions(c, "scan_output_directions", p->n_scanned, p->back_out);
    read_along(c, "scan_input_axes", p->n_scanned_in, p->along);
    read_along(c, "scan_output_axes", p->n_scanned, p->along_out);
    item *in = (item *)sis__cx_alloc(c, own, sizeof *in);
    for (size_t i = 0; in && i < own; i++)
        if (!sis__cx_input(c, i))
            return sis__cx_fail(c, SIS_E_FORMAT, "input %zu is missing", i);
    for (size_t i = 0; in && i < p->n_state; i++)
        in[i].t = *sis__cx_input(c, i);
    size_t rounds = rounds_of(c, sis__cx_input(c, p->n_state), p->along[0]);
    for (size_t i = 0; i < p->n_scanned_in; i++)
        if (rounds_of(c, sis__cx_input(c, p->n_state + i), p->along[i]) != rounds)
            sis__cx_fail(c, SIS_E_FORMAT, "scanned inputs of different lengths");
    for (size_t k = 0; !c->error && k < rounds; k++) {
        for (size_t i = 0; i < p->n_scanned_in; i++)
            in[p->n_state + i].t = slice_of(c, sis__cx_input(c, p->n_state + i), p->along[i],
                                            p->back[i] ? rounds - 1 - k : k);
        if (c->error)
            break;
        sis__plan *plan = compile(c, b, in);
        add_round(c, p, plan);
        for (size_t i = 0; !c->error && i < p->n_state; i++)
            in[i].t = *result(plan, b, i);
    }
    for (size_t i = 0; !c->error && i < p->n_state; i++)
        give(c, i, &in[i].t);
    for (size_t i = 0; !c->error && p->n_state + i < c->step->n_outputs; i++)
        give_stacked(c, p, p->n_state + i, p->n_state + i);
    return c->error;
}

static int scan_forward(const sis__step *s, sis__run *r) {
    return ((const control *)s->p.own)->batch ? batched_forward(s, r) : rounds_forward(s, r);
}

const sis__op sis__op_scan = {
    0, SIZE_MAX, scan_shape, scan_forward, sis__no_gradient, 0, SIS__MIXES_SEQUENCES};

/* ---- SequenceMap ----------------------------------------------------------------------------- */

/* What round `at` takes of an input: an item of a sequence, or a tensor as it is. */
static sis__tensor item_of(const sis__tensor *t, size_t at) {
    sis__tensor one = *t;
    if (!t->items)
        return one;
    const sis__item *i = &t->items->list[at];
    one.items = NULL;
    one.rank = i->rank;
    one.count = i->count;
    memcpy(one.dims, i->dims, sizeof one.dims);
    if (t->data)
        one.data = (const char *)t->data + i->at * sis__dtype_size(t->dtype);
    return one;
}

/* Result i of all rounds as a sequence. */
static void give_sequence(sis__cx *c, const control *p, size_t i) {
    const sis__value *declared = &p->body->graph->values[p->body->graph->outputs[i]];
    sis__items *items = sis__items_new(c, p->n_rounds);
    int elem = declared->elem_type ? declared->elem_type : SIS__FLOAT;
    for (size_t k = 0; items && k < p->n_rounds; k++) {
        const sis__tensor *t = result(p->rounds[k].plan, p->body, i);
        elem = k ? elem : t->elem;
        if (t->items || t->elem != elem)
            sis__cx_fail(c, SIS_E_FORMAT, "results of different types");
        sis__items_set(items, k, t->rank, t->dims);
    }
    if (!c->error)
        sis__items_give(c, i, items, sis__elem_dtype(elem), elem);
}

/* Inputs are there, and sequences among them as long as the first. */
static size_t count_items(sis__cx *c, size_t n_inputs) {
    const sis__tensor *first = sis__cx_input(c, 0);
    if (!first->items)
        sis__cx_fail(c, SIS_E_FORMAT, "input 0 is not a sequence");
    for (size_t i = 1; i < n_inputs && !c->error; i++) {
        const sis__tensor *t = sis__cx_input(c, i);
        if (!t)
            sis__cx_fail(c, SIS_E_FORMAT, "input %zu is missing", i);
        else if (t->items && t->items->n != first->items->n)
            sis__cx_fail(c, SIS_E_FORMAT, "sequences of %zu and %zu items", first->items->n,
                         t->items->n);
    }
    return c->error ? 0 : first->items->n;
}

static int map_shape(sis__cx *c) {
    control *p = (control *)sis__cx_own(c, sizeof *p);
    const sis__body *b = body_of(c, "body");
    size_t own = c->node->n_own, rounds = count_items(c, own);
    item *in = (item *)sis__cx_alloc(c, own, sizeof *in);
    if (c->error)
        return c->error;
    p->body = b;
    if (b->n_declared != own || c->step->n_outputs > b->graph->n_outputs)
        return sis__cx_fail(c, SIS_E_FORMAT, "a body of %zu inputs and %zu results", b->n_declared,
                            b->graph->n_outputs);
    for (size_t k = 0; k < rounds && !c->error; k++) {
        for (size_t i = 0; i < own; i++)
            in[i].t = item_of(sis__cx_input(c, i), k);
        add_round(c, p, compile(c, b, in));
    }
    for (size_t i = 0; i < c->step->n_outputs && !c->error; i++)
        if (sis__cx_has_output(c, i))
            give_sequence(c, p, i);
    return c->error;
}

/* Where item `at` of a tensor lies, or the tensor itself. */
static char *place_of(const sis__run *r, int value, size_t at) {
    const sis__tensor *t = &r->plan->tensors[value];
    size_t first = t->items ? t->items->list[at].at : 0;
    return (char *)r->data[value] + first * sis__dtype_size(t->dtype);
}

static int map_round(const sis__step *s, sis__run *r, size_t k) {
    const control *p = (const control *)s->p.own;
    const sis__graph *g = p->body->graph;
    sis__run *inner;
    int error = sis__run_new(p->rounds[k].plan, &inner);
    if (error)
        return error;
    for (size_t i = 0; i < p->body->n_declared; i++)
        if (inner->plan->tensors[g->inputs[i]].fed && inner->plan->tensors[g->inputs[i]].count)
            memcpy(inner->data[g->inputs[i]], place_of(r, s->inputs[i], k),
                   bytes_of(&inner->plan->tensors[g->inputs[i]]));
    error = run_body(s, r, p->body, inner);
    for (size_t i = 0; i < s->n_outputs && !error; i++)
        if (s->outputs[i] >= 0 && bytes_of(result(inner->plan, p->body, i)))
            memcpy(place_of(r, s->outputs[i], k), inner->data[g->outputs[i]],
                   bytes_of(result(inner->plan, p->body, i)));
    sis__run_free(inner);
    return error;
}

static int map_forward(const sis__step *s, sis__run *r) {
    int error = SIS_OK;
    for (size_t k = 0; k < ((const control *)s->p.own)->n_rounds && !error; k++)
        error = map_round(s, r, k);
    return error;
}

const sis__op sis__op_sequence_map = {
    1, SIZE_MAX, map_shape, map_forward, sis__no_gradient, 0, SIS__MIXES_SEQUENCES};
