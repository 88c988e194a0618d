/* SPDX-License-Identifier: MIT
 *
 * Match the axes of tensors with the axes of maps (z, y, x, channels). Exporters wrap convolutions
 * in Transpose, Reshape, Squeeze and the like, which only give the same map another shape. This
 * file tracks which axis of a tensor is which axis of its map, as a set of bits per axis (several
 * if axes were merged, none if its size is 1), and the strides of the map in the tensor.
 *
 * The roles of the input's axes are derived from the first layer that determines them: axis 1 holds
 * channels for a convolution, the remaining axis for a reduction, the last one for a MatMul.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/plan/source.h"
#include "net/walk/window.h"

static void strides_of(const sis__tensor *t, size_t *stride) {
    size_t at = 1;
    for (size_t d = t->rank; d-- > 0;) {
        stride[d] = at;
        at *= t->dims[d];
    }
}

static int single(unsigned char role) {
    return role && !(role & (role - 1));
}

/* ---- One step ------------------------------------------------------------------------------ */

/* The same values in another order: axes may be permuted or, in the same order, merged; not
 * split. */
int sis__axis_map_through(const sis__plan *p, const sis__step *s, const sis__axis_map *in,
                          sis__axis_map *out) {
    const sis__tensor *x = &p->tensors[s->inputs[0]], *y = &p->tensors[s->outputs[0]];
    size_t from[SIS__MAX_RANK], to[SIS__MAX_RANK];
    sis__source source;
    *out = (sis__axis_map){.map = in->map};
    if ((s->n_outputs > 1 && s->outputs[1] >= 0) || x->count != y->count ||
        !sis__source_of(p, s, 0, 0, &source) || !source.same)
        return 0;
    int turned = source.rank > 1;
    strides_of(x, from);
    strides_of(y, to);
    if (!turned)
        memcpy(out->stride, in->stride, sizeof out->stride);
    for (size_t d = 0; d < y->rank; d++) {
        size_t covered = 1;
        ptrdiff_t step;
        if (y->dims[d] == 1)
            continue;
        if (!sis__source_along(&source, y, d, &step, NULL) || step <= 0)
            return 0;
        for (size_t i = 0; i < x->rank; i++)
            if (x->dims[i] > 1 && from[i] >= (size_t)step && from[i] < (size_t)step * y->dims[d]) {
                covered *= x->dims[i];
                out->role[d] |= in->role[i];
            }
        if (covered != y->dims[d] || (turned && !single(out->role[d])))
            return 0;
        for (size_t r = 0; turned && r < 4; r++)
            if (out->role[d] == 1 << r)
                out->stride[r] = to[d];
    }
    return 1;
}

void sis__reduced_axes(const sis__tensor *x, const sis__reduce *r, unsigned char *reduced) {
    size_t stride[SIS__MAX_RANK];
    strides_of(x, stride);
    for (size_t d = 0; d < x->rank; d++) {
        reduced[d] = 0;
        for (size_t i = 0; x->dims[d] > 1 && i < r->n_reduced; i++)
            reduced[d] |= r->reduced[i] > 1 && r->reduced_stride[i] == stride[d];
    }
}

/* ---- Roles of the input -------------------------------------------------------------------- */

/* Names the axes of a tensor with size above 1 by those of the first tensor: bit d is its axis
 * d. */
typedef struct {
    const sis__plan *p;
    int first;
    sis__axis_map *seen;             /* (n_tensors) */
    unsigned char of[SIS__MAX_RANK]; /* role found for each axis of the first tensor */
} search;

/* Channels on `axis`; the other flagged axes are positions, in order. */
static int assign(search *k, int tensor, size_t axis, const unsigned char *spatial) {
    const sis__tensor *t = &k->p->tensors[tensor];
    const sis__axis_map *v = &k->seen[tensor];
    size_t n = 0, at;
    for (size_t d = 0; d < t->rank; d++)
        n += spatial[d] != 0;
    if (n > 3)
        return 0;
    at = 4 - n;
    for (size_t d = 0; d < t->rank; d++) {
        unsigned role = d == axis ? SIS__CHANNELS : spatial[d] ? 1u << at : 0;
        at += spatial[d] != 0;
        if (v->role[d] == 0)
            continue;
        if (!single(v->role[d]) || role == 0)
            return 0;
        for (size_t i = 0; i < SIS__MAX_RANK; i++)
            if (v->role[d] == 1 << i)
                k->of[i] = (unsigned char)role;
    }
    return 1;
}

/* Channels on axis 1, positions after it. */
static int assign_image(search *k, int tensor) {
    unsigned char spatial[SIS__MAX_RANK] = {0};
    size_t rank = k->p->tensors[tensor].rank;
    for (size_t d = 2; d < rank; d++)
        spatial[d] = 1;
    return rank >= 3 && assign(k, tensor, 1, spatial);
}

static int assign_reduced(search *k, const sis__step *s) {
    const sis__tensor *x = &k->p->tensors[s->inputs[0]];
    unsigned char spatial[SIS__MAX_RANK] = {0};
    size_t kept = SIZE_MAX, n = 0;
    sis__reduced_axes(x, &s->p.reduce, spatial);
    for (size_t d = 0; d < x->rank; d++)
        if (x->dims[d] > 1 && !spatial[d]) {
            kept = d;
            n++;
        }
    return n <= 1 && assign(k, s->inputs[0], kept, spatial);
}

static int assign_matmul(search *k, const sis__step *s) {
    const sis__tensor *x = &k->p->tensors[s->inputs[0]];
    unsigned char spatial[SIS__MAX_RANK] = {0};
    for (size_t d = 1; d + 1 < x->rank; d++)
        spatial[d] = 1;
    return x->rank >= 3 && k->p->tensors[s->inputs[1]].rank == 2 &&
           assign(k, s->inputs[0], x->rank - 1, spatial);
}

static int same_shape(const sis__tensor *a, const sis__tensor *b) {
    return a->rank == b->rank && memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* A step: 1 if roles were found, else 0. */
static int find_roles(search *k, const sis__step *s) {
    int in = s->inputs[0], out = s->outputs[0];
    for (size_t i = 1; i < s->n_inputs && (in < 0 || k->seen[in].map < 0); i++)
        in = s->inputs[i]; /* constant op x */
    if (in < 0 || out < 0 || k->seen[in].map < 0)
        return 0;
    if (s->op == SIS__OP_MATMUL)
        return in == s->inputs[0] && assign_matmul(k, s);
    switch (s->ops->family) {
    case SIS__CONVOLUTION:
    case SIS__POOL:
    case SIS__GLOBAL_POOL:
    case SIS__CHANNEL_NORM:
        return in == s->inputs[0] && assign_image(k, in);
    case SIS__REDUCTION:
        if (s->ops->takes != SIS__TAKES_OTHER)
            return in == s->inputs[0] && assign_reduced(k, s);
        break;
    default:
        break;
    }
    if (!sis__axis_map_through(k->p, s, &k->seen[in], &k->seen[out])) {
        k->seen[out].map = -1;
        if (sis__is(s, SIS__PADDING) || same_shape(&k->p->tensors[in], &k->p->tensors[out]))
            k->seen[out] = k->seen[in]; /* element-wise, otherwise it will not be a layer */
    }
    return 0;
}

int sis__axis_map_first(const sis__plan *p, int first, sis__axis_map *out) {
    const sis__tensor *t = &p->tensors[first];
    search k = {.p = p, .first = first, .seen = SIS_NEW(sis__axis_map, p->n_tensors)};
    int found = 0;
    *out = (sis__axis_map){.map = -1};
    if (!k.seen)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < p->n_tensors; i++)
        k.seen[i].map = -1;
    k.seen[first].map = 0;
    for (size_t d = 0; d < t->rank; d++)
        k.seen[first].role[d] = (unsigned char)(t->dims[d] > 1 ? 1 << d : 0);
    for (size_t i = 0; i < p->n_steps && !found; i++)
        found = find_roles(&k, &p->steps[i]);
    free(k.seen);
    size_t stride[SIS__MAX_RANK];
    strides_of(t, stride);
    for (size_t d = 0; d < t->rank && found; d++) {
        if (t->dims[d] > 1)
            out->role[d] = k.of[d];
        if (t->dims[d] > 1 && k.of[d] == 0)
            return 0;
        for (size_t r = 0; r < 4; r++)
            if (out->role[d] == 1 << r)
                out->stride[r] = stride[d];
    }
    out->map = found ? 0 : -1;
    return found;
}
