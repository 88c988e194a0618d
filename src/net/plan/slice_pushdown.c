/* SPDX-License-Identifier: MIT
 *
 * Compute only the slices that are read. A head that reads the first token of a sequence needs one
 * row of the last layer: of its queries, attention, dense layers and normalisations. Only keys and
 * values are needed for all tokens. So where a step picks slices of a tensor (Gather, Slice), the
 * slices are picked earlier, before every step that treats slices separately. The same holds for an
 * output with a score for each pixel or token if only one of them is wanted.
 *
 * A backward pass over the steps finds the results that are needed only at these slices, and the
 * axis. A forward pass compiles such steps again for fewer slices; a tensor that other steps need
 * in full gets a Gather. The remaining slices keep their bits. A recurrent layer runs only up to
 * the last time that is picked: a backward direction that is read at its start makes one step.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/plan/source.h"

enum { NOBODY = -1, ALL = -2, NOT_SO = -1 }; /* readers of a tensor; else the axis */

enum { AGAIN = 1, PICKS };

typedef struct {
    sis__plan *p;
    int64_t *slices;       /* (n) indices of the picked slices */
    size_t n, size;        /* n slices of an axis of this size */
    int *wants;            /* (tensors) NOBODY, ALL, or the axis along which only the slices are
                            * needed */
    unsigned char *action; /* (steps) AGAIN: compile it again; PICKS: it does the picking */
    sis__step *steps;      /* (n_steps) the new ones */
    size_t n_steps;
    int *along;            /* inputs of all steps: the axis along which they are picked, or ALL */
    unsigned char *shrunk; /* (tensors) holds only the slices */
    int *picked;           /* (tensors) the tensor with the slices last picked from it, or -1 */
    int *picked_along;     /* (tensors) the axis of these slices */
    int index;             /* the tensor with the indices of slices, or -1 */
    sis__arena memory;     /* of all of this except the steps */
    int asked;             /* only these slices of the first output are wanted, along this axis */
} pushdown;

static const sis__tensor *tensor_of(const pushdown *w, int t) {
    return &w->p->tensors[t];
}

/* ---- Steps that pick slices ------------------------------------------------------------------ */

/* The axis along which a step picks slices of input 0, and their indices; -1: another operation. */
static int picks(const sis__plan *p, const sis__step *s, int64_t *slices, size_t *n, size_t max) {
    sis__source from;
    if (s->n_inputs == 0 || s->n_outputs != 1 || !sis__source_of(p, s, 0, 0, &from) ||
        p->tensors[s->inputs[0]].data)
        return NOT_SO;
    return sis__source_picks(&from, &p->tensors[s->outputs[0]], &p->tensors[s->inputs[0]], max,
                             slices, n);
}

/* Find the last step that picks a few slices of a computed tensor. Its slices are the ones pushed
 * down. */
static int find_slices(pushdown *w) {
    enum { MAX = 64 };
    int64_t slices[MAX];
    for (size_t i = w->p->n_steps; i-- > 0;) {
        const sis__step *s = &w->p->steps[i];
        size_t n = 0;
        int axis = picks(w->p, s, slices, &n, MAX);
        if (axis < 1 || tensor_of(w, s->inputs[0])->node < 0)
            continue;
        w->size = tensor_of(w, s->inputs[0])->dims[axis];
        if (2 * n > w->size)
            continue;
        w->n = n;
        w->slices = (int64_t *)sis__arena_own(&w->memory, sis__copy(slices, n, sizeof *slices));
        return w->slices ? 1 : SIS_E_NOMEM;
    }
    return 0;
}

/* The slices of the first output that contain one number of each row: along the second axis, or
 * along the first if rows are stacked in it. */
static int asked_slices(pushdown *w, size_t asked) {
    const sis__tensor *y = tensor_of(w, w->p->outputs[0]);
    size_t rows = w->p->batch, inner = 1;
    if (y->rank < 2 || y->dims[0] == 0 || y->dims[0] % rows != 0)
        return 0;
    w->asked = y->dims[0] == rows;
    if (w->asked && y->rank < 3)
        return 0;
    for (size_t d = (size_t)w->asked + 1; d < y->rank; d++)
        inner *= y->dims[d];
    w->size = y->dims[w->asked];
    w->n = w->asked ? 1 : rows;
    if (2 * w->n > w->size || inner == 0)
        return 0;
    w->slices = SIS_ARENA(&w->memory, int64_t, w->n);
    for (size_t k = 0; w->slices && k < w->n; k++)
        w->slices[k] = (int64_t)(asked / inner + k * (w->size / w->n));
    return w->slices ? 1 : SIS_E_NOMEM;
}

/* The axis along which a step picks exactly these slices. */
static int picks_these(const pushdown *w, const sis__step *s) {
    int64_t slices[64];
    size_t n = 0;
    int axis = picks(w->p, s, slices, &n, sizeof slices / sizeof *slices);
    return axis >= 1 && n == w->n && tensor_of(w, s->inputs[0])->dims[axis] == w->size &&
                   memcmp(slices, w->slices, n * sizeof *slices) == 0
               ? axis
               : NOT_SO;
}

/* ---- Through a step -------------------------------------------------------------------------- */

/* The axis of input i whose slices alone determine the slices along `axis` of the result. ALL:
 * every slice needs all of the input. NOBODY: the step does not treat slices separately. */
static int through(const pushdown *w, const sis__step *s, size_t i, int axis) {
    sis__source from;
    int all;
    if (!sis__source_of(w->p, s, 0, i, &from))
        return NOBODY;
    int found = sis__source_axis(&from, tensor_of(w, s->outputs[0]), (size_t)axis,
                                 tensor_of(w, s->inputs[i]), &all);
    if (all) /* a first input that is summed or normalised along the axis keeps its length */
        return i > 0 || sis__source_single(&from) ? ALL : NOBODY;
    return found < 0 ? NOBODY : found;
}

/* ---- Which slices are needed ----------------------------------------------------------------- */

static void want(pushdown *w, int tensor, int axis) {
    int *v = &w->wants[tensor];
    *v = *v == NOBODY || *v == axis ? axis : ALL;
}

/* Is it a step of the file, not one that picks for another? */
static int is_of_node(const pushdown *w, const sis__step *s) {
    return s->outputs == w->p->graph->nodes[s->node].outputs;
}

/* May the step be compiled for some slices only? */
static int divides(const pushdown *w, const sis__step *s, int axis) {
    if (!is_of_node(w, s))
        return 0;
    for (size_t o = 1; o < s->n_outputs; o++)
        if (s->outputs[o] >= 0 && w->wants[s->outputs[o]] != NOBODY)
            return 0;
    if (axis < 0 || tensor_of(w, s->outputs[0])->dims[axis] != w->size)
        return 0;
    int fewer = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i] >= 0) {
            int along = through(w, s, i, axis);
            if (along == NOBODY)
                return 0;
            fewer |= along >= 0;
        }
    return fewer;
}

/* May a recurrent layer stop early? */
static int stops(const pushdown *w, const sis__step *s) {
    if (!sis__is(s, SIS__RECURRENT))
        return 0;
    for (size_t o = 1; o < s->n_outputs; o++)
        if (s->outputs[o] >= 0 && w->wants[s->outputs[o]] != NOBODY)
            return 0;
    return s->outputs[0] >= 0 && w->wants[s->outputs[0]] == s->p.recurrent.batch_first &&
           s->p.recurrent.seq == w->size;
}

/* Set the number of times of each direction; returns the remaining fraction. */
static double set_times(const pushdown *w, sis__recurrent *p) {
    size_t first = w->size, last = 0, sum = 0;
    for (size_t i = 0; i < w->n; i++) {
        size_t t = (size_t)w->slices[i];
        first = t < first ? t : first;
        last = t > last ? t : last;
    }
    for (size_t d = 0; d < p->directions; d++)
        sum += p->times[d] = p->reverse || d == 1 ? w->size - first : last + 1;
    return (double)sum / (double)(p->directions * w->size);
}

/* Is it a product with weights, or of two computed tensors? Only these are worth saving. */
static int is_product(const sis__plan *p, const sis__step *s) {
    sis__source from;
    return s->ops->linear && sis__source_of(p, s, 0, 0, &from) && !sis__source_single(&from);
}

/* Fill wants, narrow and along while the shapes are the old ones; returns the number of saved
 * products. */
static double mark(pushdown *w, size_t n_inputs) {
    double saved = 0;
    int *along = w->along + n_inputs;
    for (size_t t = 0; t < w->p->n_tensors; t++)
        w->wants[t] = tensor_of(w, (int)t)->wanted ? ALL : NOBODY;
    if (w->asked != ALL && w->p->n_outputs == 1)
        w->wants[w->p->outputs[0]] = w->asked;
    for (size_t k = w->p->n_steps; k-- > 0;) {
        const sis__step *s = &w->p->steps[k];
        int picked = picks_these(w, s), axis = s->outputs[0] >= 0 ? w->wants[s->outputs[0]] : ALL;
        w->action[k] = picked != NOT_SO ? PICKS : divides(w, s, axis) ? AGAIN : 0;
        if (w->action[k] && is_product(w->p, s))
            saved += s->flops * (1 - (double)w->n / (double)w->size);
        if (stops(w, s)) {
            sis__recurrent shorter = s->p.recurrent;
            saved += s->flops * (1 - set_times(w, &shorter));
        }
        for (size_t i = s->n_inputs; i-- > 0;) {
            *--along = s->inputs[i] < 0 || !w->action[k] ? ALL
                       : picked == NOT_SO                ? through(w, s, i, axis)
                       : i == 0                          ? picked
                                                         : ALL;
            if (s->inputs[i] >= 0)
                want(w, s->inputs[i], *along);
        }
    }
    return saved;
}

/* ---- The new steps --------------------------------------------------------------------------- */

/* Add a tensor; returns its number, or a negative error code. */
static int add_tensor(sis__plan *p, const sis__tensor *like) {
    sis__tensor *more = (sis__tensor *)sis__alloc(p->n_tensors + 1, sizeof *more);
    if (!more)
        return SIS_E_NOMEM;
    memcpy(more, p->tensors, p->n_tensors * sizeof *more);
    more[p->n_tensors] = *like;
    free(p->tensors);
    p->tensors = more;
    return (int)p->n_tensors++;
}

/* Copy to memory that belongs to the plan. */
static void *keep(sis__plan *p, const void *from, size_t n, size_t size) {
    return sis__arena_own(&p->memory, sis__copy(from, n, size));
}

static int add_index(pushdown *w) {
    sis__tensor t = {.dtype = SIS__I64, .elem = SIS__INT64, .rank = 1, .node = -1, .alias = -1};
    t.dims[0] = t.count = w->n;
    t.known = 1;
    t.data = keep(w->p, w->slices, w->n, sizeof *w->slices);
    w->index = t.data ? add_tensor(w->p, &t) : SIS_E_NOMEM;
    return w->index < 0 ? SIS_E_NOMEM : SIS_OK;
}

/* Pick slices of a tensor that other steps need in full: a new tensor, and a Gather that fills
 * it. */
static int pick(pushdown *w, int tensor, int axis, int node) {
    sis__tensor t = *tensor_of(w, tensor);
    if (w->picked[tensor] >= 0 && w->picked_along[tensor] == axis)
        return w->picked[tensor];
    t.count = t.count / t.dims[axis] * w->n;
    t.dims[axis] = w->n;
    t.data = NULL;
    t.fed = t.wanted = t.shape_only = 0;
    t.node = t.alias = -1;
    int made = add_tensor(w->p, &t);
    if (made < 0)
        return made;
    int *inputs = (int *)keep(w->p, (int[]){tensor, w->index}, 2, sizeof *inputs);
    int *outputs = (int *)keep(w->p, &made, 1, sizeof *outputs);
    if (!inputs || !outputs)
        return SIS_E_NOMEM;
    sis__step *s = &w->steps[w->n_steps++];
    *s = (sis__step){.op = SIS__OP_GATHER,
                     .node = node,
                     .ops = &sis__op_gather,
                     .n_inputs = 2,
                     .n_outputs = 1,
                     .inputs = inputs,
                     .outputs = outputs,
                     .flops = (double)t.count};
    sis__axis_around(tensor_of(w, tensor), (size_t)axis, &s->p.axis);
    w->picked[tensor] = made;
    w->picked_along[tensor] = axis;
    return made;
}

/* Compute shape and parameters of a step for its new inputs. */
static int compile_again(pushdown *w, sis__step *s, int axis) {
    sis__shape_ctx c = {.plan = w->p, .step = s, .node = &w->p->graph->nodes[s->node]};
    sis__tensor *y = &w->p->tensors[s->outputs[0]];
    if (s->ops->trait == SIS__KEEPS) {
        y->count = y->count / y->dims[axis] * w->n;
        y->dims[axis] = w->n;
        sis__ctx_alias(&c);
        return SIS_OK;
    }
    int tokens = s->op == SIS__OP_MATMUL && s->p.gemm.tokens;
    s->n_inputs = c.node->n_inputs;
    memset(&s->p, 0, sizeof s->p);
    s->scratch = 0;
    s->flops = 0;
    int error = s->ops->shape(&c);
    if (!error)
        error = c.error;
    if (tokens)
        s->p.gemm.tokens = 1; /* the same arithmetic, however few tokens remain */
    s->flops = s->flops > 0 ? s->flops : (double)w->p->tensors[s->outputs[0]].count;
    return error;
}

/* A step that picks what is already picked becomes a view. */
static void become_view(pushdown *w, sis__step *s) {
    sis__shape_ctx c = {.plan = w->p, .step = s, .node = &w->p->graph->nodes[s->node]};
    s->op = SIS__OP_IDENTITY;
    s->ops = &sis__op_identity;
    s->n_inputs = 1;
    s->flops = 0;
    sis__ctx_alias(&c);
}

/* The current inputs of a step, then those that it needed only for compilation, such as bounds,
 * because it will be compiled again. */
static int *all_inputs(pushdown *w, const sis__step *s) {
    const sis__node *node = &w->p->graph->nodes[s->node];
    size_t n = is_of_node(w, s) && node->n_inputs > s->n_inputs ? node->n_inputs : s->n_inputs;
    int *inputs = SIS_ARENA(&w->p->memory, int, n);
    for (size_t i = 0; inputs && i < n; i++)
        inputs[i] = i < s->n_inputs ? s->inputs[i] : node->inputs[i];
    return inputs;
}

static int rebuild_step(pushdown *w, const sis__step *from, const int *along, int picks_them) {
    int *inputs = all_inputs(w, from);
    if (!inputs)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < from->n_inputs; i++) {
        if (along[i] >= 0 && !w->shrunk[inputs[i]])
            inputs[i] = pick(w, inputs[i], along[i], from->node);
        if (along[i] >= 0 && inputs[i] < 0)
            return inputs[i];
    }
    sis__step *s = &w->steps[w->n_steps++];
    *s = *from;
    s->inputs = inputs;
    if (picks_them) {
        become_view(w, s);
        return SIS_OK;
    }
    w->shrunk[s->outputs[0]] = 1;
    return compile_again(w, s, w->wants[s->outputs[0]]);
}

static int rebuild(pushdown *w) {
    sis__plan *p = w->p;
    const int *along = w->along;
    int error = add_index(w);
    for (size_t k = 0; k < p->n_steps && !error; along += p->steps[k++].n_inputs)
        if (w->action[k])
            error = rebuild_step(w, &p->steps[k], along, w->action[k] == PICKS);
        else {
            sis__step *s = &w->steps[w->n_steps++];
            *s = p->steps[k];
            if (stops(w, s))
                s->flops *= set_times(w, &s->p.recurrent);
        }
    if (!error) {
        free(p->steps);
        p->steps = w->steps;
        p->n_steps = w->n_steps;
        w->steps = NULL;
    }
    return error;
}

static int allocate(pushdown *w, size_t n_inputs) {
    size_t n = w->p->n_steps;
    w->wants = SIS_ARENA(&w->memory, int, w->p->n_tensors);
    w->picked = SIS_ARENA(&w->memory, int, w->p->n_tensors);
    w->picked_along = SIS_ARENA(&w->memory, int, w->p->n_tensors);
    w->shrunk = SIS_ARENA(&w->memory, unsigned char, w->p->n_tensors);
    w->action = SIS_ARENA(&w->memory, unsigned char, n);
    w->along = SIS_ARENA(&w->memory, int, n_inputs);
    w->steps = SIS_NEW(sis__step, n + n_inputs);
    for (size_t t = 0; w->picked && t < w->p->n_tensors; t++)
        w->picked[t] = -1;
    return w->steps ? sis__arena_error(&w->memory) : SIS_E_NOMEM;
}

/* found: whether there are slices to push down, or a negative error code. Releases everything. */
static int push_down(pushdown *w, int found) {
    size_t n_inputs = 0;
    int error = found < 0 ? found : SIS_OK;
    for (size_t k = 0; k < w->p->n_steps; k++)
        n_inputs += w->p->steps[k].n_inputs;
    if (found > 0)
        error = allocate(w, n_inputs);
    if (found > 0 && !error && mark(w, n_inputs) > 0)
        error = rebuild(w);
    free(w->steps);
    sis__arena_release(&w->memory);
    return error;
}

int sis__plan_push_slices(sis__plan *p, int one, size_t asked) {
    pushdown w = {.p = p, .index = -1};
    int error = one ? push_down(&w, asked_slices(&w, asked)) : SIS_OK;
    w = (pushdown){.p = p, .index = -1, .asked = ALL};
    return !error ? push_down(&w, find_slices(&w)) : error;
}
