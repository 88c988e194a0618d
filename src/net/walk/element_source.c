/* SPDX-License-Identifier: MIT
 *
 * See element_source.h. An operator that moves values moves numbers of elements just as well: they are
 * written where its input lies, the operator is run, and what comes out is read back.
 */
#include "net/walk/element_source.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"

static const size_t most = (size_t)1 << 24; /* whole numbers that a float can hold */

int sis__origin_begin(sis__origin *o, const sis__run *r, int tensor) {
    *o = (sis__origin){.tensor = tensor, .n = r->plan->tensors[tensor].count};
    if (o->n > most)
        return SIS_E_UNSUPPORTED;
    o->from = SIS_NEW_RAW(size_t, o->n);
    for (size_t i = 0; o->from && i < o->n; i++)
        o->from[i] = i;
    return o->from ? SIS_OK : SIS_E_NOMEM;
}

void sis__origin_release(sis__origin *o) {
    free(o->from);
    *o = (sis__origin){0};
}

/* ---- What a step does ------------------------------------------------------------------------ */

typedef enum { MIXES, MOVES, MAPS, LOOKS_UP } effect;

/* Are all inputs but the one followed constant? */
static int others_constant(const sis__plan *p, const sis__step *s, int tensor) {
    for (size_t i = 0; i < s->n_inputs; i++)
        if (s->inputs[i] >= 0 && s->inputs[i] != tensor && !p->tensors[s->inputs[i]].data)
            return 0;
    return 1;
}

static effect effect_of(const sis__plan *p, const sis__step *s, int tensor) {
    const sis__tensor *x = &p->tensors[tensor];
    if (s->outputs[0] < 0 || !others_constant(p, s, tensor))
        return MIXES;
    const sis__tensor *y = &p->tensors[s->outputs[0]];
    switch (s->ops->trait) {
    case SIS__KEEPS:
    case SIS__MOVES:
        return s->inputs[0] == tensor ? MOVES : s->op == SIS__OP_GATHER ? LOOKS_UP : MIXES;
    case SIS__MAPS:
    case SIS__MAPS_PLACES:
    case SIS__MAPS_TEXTS:
        return y->count == x->count ? MAPS : MIXES; /* the same count: nothing was repeated */
    default:
        return MIXES;
    }
}

/* ---- Moving numbers of elements -------------------------------------------------------------- */

/* 0..n-1 into a tensor. */
static void put_numbers(sis__run *r, int tensor, size_t n) {
    float *f = (float *)r->data[tensor];
    int64_t *whole = (int64_t *)r->data[tensor];
    int floats = r->plan->tensors[tensor].dtype == SIS__F32;
    for (size_t i = 0; i < n; i++)
        if (floats)
            f[i] = (float)i;
        else
            whole[i] = (int64_t)i;
}

static size_t get_number(const sis__run *r, int tensor, size_t i) {
    if (r->plan->tensors[tensor].dtype == SIS__F32)
        return (size_t)((const float *)r->data[tensor])[i];
    return (size_t)((const int64_t *)r->data[tensor])[i];
}

/* from of the step's output, of n elements. */
static int move(const sis__origin *o, const sis__step *s, sis__run *r, size_t *from, size_t n) {
    put_numbers(r, o->tensor, o->n);
    int error = s->ops->forward(s, r);
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        from[i] = o->from[get_number(r, s->outputs[0], i)];
    return error;
}

/* A Gather from a constant: every element of a slice comes from the index that chose it. */
static void look_up(const sis__origin *o, const sis__axis *a, size_t *from) {
    for (size_t out = 0; out < a->outer; out++)
        for (size_t i = 0; i < o->n; i++)
            for (size_t k = 0; k < a->inner; k++)
                *from++ = o->from[i];
}

int sis__origin_step(sis__origin *o, sis__run *r, sis__passing how) {
    const sis__step *s = sis__plan_reader(r->plan, o->tensor);
    effect e = s ? effect_of(r->plan, s, o->tensor) : MIXES;
    if (e == MIXES || (e != MOVES && how == SIS__MOVED))
        return 0;
    size_t n = r->plan->tensors[s->outputs[0]].count;
    sis__dtype x = r->plan->tensors[o->tensor].dtype, y = r->plan->tensors[s->outputs[0]].dtype;
    if (n > most || (e == MOVES && (x == SIS__BOOL || y != x)))
        return 0;
    if (e != MAPS) {
        size_t *from = SIS_NEW_RAW(size_t, n);
        int error = from ? SIS_OK : SIS_E_NOMEM;
        if (error == SIS_OK && e == MOVES)
            error = move(o, s, r, from, n);
        if (error == SIS_OK && e == LOOKS_UP)
            look_up(o, &s->p.axis, from);
        if (error != SIS_OK) {
            free(from);
            return error;
        }
        free(o->from);
        o->from = from;
    }
    o->n = n;
    o->tensor = s->outputs[0];
    return 1;
}

int sis__origin_follow(sis__origin *o, sis__run *r, sis__passing how) {
    int more;
    while ((more = sis__origin_step(o, r, how)) > 0)
        ;
    return more;
}
