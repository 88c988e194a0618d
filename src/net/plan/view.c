/* SPDX-License-Identifier: MIT
 *
 * Tensors that need not be copied. Exporters transpose queries, keys and values, cut them out of
 * one product and reshape them before they are multiplied. All this only changes where a value is
 * stored: a step along an axis is a fixed distance in the original tensor. Such an axis is a digit;
 * if the original axis wraps around in the middle of it, it becomes two digits.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/plan/fuse.h"
#include "net/plan/source.h"

enum { DIGITS = 16 };

typedef struct {
    size_t size, stride, axis; /* axis: of the viewed tensor */
} digit;

typedef struct {
    int tensor; /* owner of the memory */
    size_t offset, n;
    digit digits[DIGITS]; /* the slowest first */
} view;

static const sis__tensor *tensor_of(const sis__fuser *f, int t) {
    return &f->p->tensors[t];
}

static view whole_of(const sis__fuser *f, int tensor) {
    const sis__tensor *t = tensor_of(f, tensor);
    view v = {.tensor = tensor};
    size_t stride[SIS__MAX_RANK];
    sis__strides_of(t, stride);
    for (size_t d = 0; d < t->rank; d++)
        if (t->dims[d] != 1)
            v.digits[v.n++] = (digit){t->dims[d], stride[d], d};
    return v;
}

/* How a step moves values of its first input, as steps along axes; 0: another operation. */
static int moves(const sis__fuser *f, const sis__step *s, int out, sis__source *m) {
    size_t o = 0;
    while (s->outputs[o] != out)
        o++;
    return sis__source_of(f->p, s, o, 0, m) && m->same && !m->picks && !m->high;
}

/* ---- Through a step -------------------------------------------------------------------------- */

/* Split a digit of the moved tensor into digits of the tensor it comes from, the fastest first;
 * `used` counts the steps along each axis. 0: it does not follow the axes. */
static size_t divide(const sis__source *m, digit d, digit *parts, size_t *used) {
    size_t n = 0, inner = 1, e = m->rank;
    if (d.stride == 0) {
        parts[n++] = d;
        return n;
    }
    while (e-- > 0 && d.size > 1 && n < DIGITS) {
        size_t by = d.stride / inner, steps = d.size, size = m->at[e].size;
        if (by == 0 || d.stride % inner != 0)
            return 0;
        if (by >= size) { /* not along this axis */
            inner *= size;
            continue;
        }
        if (steps * by > size) { /* continues on the next one */
            steps = size / by;
            if (size % by != 0 || d.size % steps != 0)
                return 0;
        }
        parts[n++] = (digit){steps, by * (size_t)m->at[e].step, d.axis};
        used[e] += (steps - 1) * by;
        d.size /= steps;
        d.stride *= steps;
        inner *= size;
    }
    return d.size == 1 ? n : 0;
}

/* Append a digit; merge it with the last one if their steps match. */
static void push(view *v, digit d) {
    digit *last = v->n ? &v->digits[v->n - 1] : NULL;
    if (last && last->axis == d.axis && last->stride == d.size * d.stride) {
        last->size *= d.size;
        last->stride = d.stride;
        return;
    }
    v->digits[v->n++] = d;
}

/* Express the view in the tensor that the values come from. 0: not by steps along axes. */
static int back_through(const sis__source *m, view *v) {
    size_t used[SIS__DIGITS] = {0}, inner = 1, offset = v->offset;
    ptrdiff_t at = m->offset;
    view to = {.tensor = v->tensor};
    for (size_t d = 0; d < m->rank; d++)
        if (m->at[d].step < 0)
            return 0;
    for (size_t i = 0; i < v->n; i++) {
        digit parts[DIGITS];
        size_t n = divide(m, v->digits[i], parts, used);
        if (n == 0 || to.n + n > DIGITS)
            return 0;
        while (n > 0)
            push(&to, parts[--n]);
    }
    for (size_t e = m->rank; e-- > 0; inner *= m->at[e].size) {
        size_t start = offset / inner % m->at[e].size;
        if (start + used[e] >= m->at[e].size)
            return 0;
        at += (ptrdiff_t)start * m->at[e].step;
    }
    if (at < 0)
        return 0;
    to.offset = (size_t)at;
    *v = to;
    return 1;
}

/* Does each of the last two axes have one constant stride? */
static int has_matrices(const view *v, size_t rank) {
    size_t rows = 0, cols = 0;
    for (size_t i = 0; i < v->n; i++) {
        rows += v->digits[i].axis + 2 == rank;
        cols += v->digits[i].axis + 1 == rank;
    }
    return rows <= 1 && cols <= 1;
}

/* Follow the tensor back as long as its matrices have constant strides. */
static view far_view(const sis__fuser *f, int tensor) {
    view v = whole_of(f, tensor), best = v;
    size_t rank = tensor_of(f, tensor)->rank;
    for (int at = f->maker[v.tensor]; at >= 0; at = f->maker[v.tensor]) {
        const sis__step *s = &f->p->steps[at];
        sis__source m;
        if (s->done || s->n_inputs == 0 || s->inputs[0] < 0 ||
            tensor_of(f, s->inputs[0])->dtype != SIS__F32 ||
            tensor_of(f, s->inputs[0])->count == 0 || !moves(f, s, v.tensor, &m) ||
            !back_through(&m, &v))
            break;
        v.tensor = s->inputs[0];
        if (has_matrices(&v, rank))
            best = v;
    }
    return best;
}

/* ---- Stacks ---------------------------------------------------------------------------------- */

/* List the offset of each matrix. */
static int list_places(const sis__fuser *f, const view *v, const sis__tensor *t, sis__stack *k) {
    size_t total = 1;
    for (size_t d = 0; d + 2 < t->rank; d++)
        total *= t->dims[d];
    size_t *at = SIS_ARENA(&f->p->memory, size_t, total);
    if (!at)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < total; i++) {
        size_t rest = i;
        at[i] = v->offset;
        for (size_t d = v->n; d-- > 0;) {
            if (v->digits[d].axis + 2 >= t->rank)
                continue;
            at[i] += rest % v->digits[d].size * v->digits[d].stride;
            rest /= v->digits[d].size;
        }
    }
    k->at = at;
    return SIS_OK;
}

static int stack_of(const sis__fuser *f, const view *v, const sis__tensor *t, sis__stack *k) {
    *k = (sis__stack){.row = t->dims[t->rank - 1], .col = 1};
    for (size_t i = 0; i < v->n; i++) {
        if (v->digits[i].axis + 2 == t->rank)
            k->row = v->digits[i].stride;
        if (v->digits[i].axis + 1 == t->rank)
            k->col = v->digits[i].stride;
    }
    return list_places(f, v, t, k);
}

int sis__fuser_stack(const sis__fuser *f, int tensor, int *source, sis__stack *k) {
    view v = far_view(f, tensor);
    *source = v.tensor;
    return stack_of(f, &v, tensor_of(f, tensor), k);
}

/* The axes of y in the layout of its Transpose. */
static int turned_view(const sis__fuser *f, const sis__strided *p, int y, view *v) {
    view from = whole_of(f, y);
    size_t at = 1, found = 0;
    *v = from;
    for (size_t d = p->rank; d-- > 0; at *= p->dims[d])
        for (size_t i = 0; p->dims[d] != 1 && i < from.n; i++)
            if (from.digits[i].stride == (size_t)p->stride[d]) {
                v->digits[i].stride = at;
                found++;
            }
    return found == from.n;
}

int sis__fuser_result(const sis__fuser *f, const sis__step *product, sis__step **turn,
                      sis__stack *k) {
    int y = product->outputs[0];
    view v = whole_of(f, y), turned;
    *turn = sis__fuser_next(f, product, SIS__OP_TRANSPOSE);
    if (*turn && !turned_view(f, &(*turn)->p.strided, y, &turned))
        *turn = NULL;
    return stack_of(f, *turn ? &turned : &v, tensor_of(f, y), k);
}
