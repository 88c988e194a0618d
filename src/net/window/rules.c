/* SPDX-License-Identifier: MIT
 *
 * Steps that become layers of the front: convolution, pooling, functions of one value, operators of
 * two, normalization, concatenation of channels, a MatMul at every position. Each rule checks that
 * the operator means what the layer computes, in terms of the map: which axes are channels and
 * which positions, which inputs are constant.
 *
 * A layer stays outside when it would not pay: when masking one feature changes most of its output
 * anyway, or when keeping the changes of all features would take too much memory.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/window/read.h"

static const double most_of_map = 0.7; /* a mean box larger than that is no window */

/* The layer and map a step would make; nothing is kept before accept(). */
static sis__layer *propose(sis__reader *r, const sis__step *s, sis__layer_kind kind) {
    sis__layer *l = &r->f->layers[r->f->n_layers];
    *l = (sis__layer){.kind = kind,
                      .op = s->op,
                      .step = s,
                      .site = -1,
                      .n_in = 1,
                      .out = (int)r->f->n_layers + 1};
    r->f->maps[l->out] = (sis__map){0};
    return l;
}

static void find_boxes(const sis__front *f, const sis__layer *l) {
    sis__map *out = &f->maps[l->out];
    for (size_t j = 0; j < f->s->n_features; j++)
        for (size_t i = 0; i < l->n_in; i++) {
            sis__box b = sis__layer_reach(l, out, &f->maps[l->in[i]].box[j]);
            out->box[j] = sis__box_join(&out->box[j], &b);
        }
}

/* Does it pay to have the layer in the front? Then its output shows the new map. */
static int accept(sis__reader *r, sis__layer *l) {
    sis__front *f = r->f;
    sis__map *out = &f->maps[l->out];
    int error = sis__map_init(f, out);
    if (error)
        return error;
    find_boxes(f, l);
    double sum = sis__box_total(f, out),
           share = sum / (double)f->s->n_features / (double)sis__positions(out);
    double floats = sum * (double)out->channels +
                    sis__box_total(f, &f->maps[l->in[0]]) * (double)f->maps[l->in[0]].channels;
    int slides = l->kind <= SIS__LAYER_AVERAGE;
    if (slides && share > most_of_map)
        return 0;
    if (l->kind == SIS__LAYER_CONV) {
        if (floats > (double)(f->s->memory / sizeof(float) - r->kept))
            return 0;
        r->kept += (size_t)floats;
    }
    r->window_flops += l->step->flops * share * (4 * share < 1 ? 4 * share : 1);
    f->n_layers++;
    return 1;
}

/* The output shows the map through the shape of the input. */
static void show_same(sis__reader *r, const sis__step *s, int from, int map) {
    r->of[s->outputs[0]].sight = r->of[from].sight;
    r->of[s->outputs[0]].sight.map = map;
}

/* The output (1, channels, positions...) of a sliding window; slot[d] is the map's axis of its
 * spatial axis d. */
static void show_image(sis__reader *r, const sis__step *s, int map, const size_t *slot) {
    const sis__tensor *t = sis__tensor_of(r, s->outputs[0]);
    sis__sight *v = &r->of[s->outputs[0]].sight;
    size_t stride = 1;
    *v = (sis__sight){.map = map};
    for (size_t d = t->rank; d-- > 1; stride *= t->dims[d]) {
        size_t k = d == 1 ? 0 : 1 + slot[d - 2];
        if (t->dims[d] == 1)
            continue;
        v->role[d] = (unsigned char)(1 << k);
        v->stride[k] = stride;
    }
}

/* Which axis of the map each spatial axis of the operator is: those of size 1 take what is free. 0
 * if the tensor shows the map in another order. */
int sis__find_slots(const sis__tensor *t, const sis__sight *v, size_t *slot) {
    size_t spatial = t->rank - 2;
    unsigned used = 0;
    if (t->dims[0] != 1 || (t->dims[1] > 1 && v->role[1] != SIS__CHANNELS))
        return 0;
    for (size_t d = 0; d < spatial; d++) {
        unsigned char role = v->role[2 + d];
        slot[d] = 3;
        if (t->dims[2 + d] == 1)
            continue;
        for (size_t k = 0; k < 3; k++)
            if (role == SIS__SPATIAL << k)
                slot[d] = k;
        if (slot[d] == 3)
            return 0;
        used |= 1u << slot[d];
    }
    for (size_t d = spatial; d-- > 0;)
        for (size_t k = 3; k-- > 0 && slot[d] == 3;)
            if (!(used >> k & 1)) {
                slot[d] = k;
                used |= 1u << k;
            }
    for (size_t d = 1; d < spatial; d++)
        if (slot[d] < slot[d - 1])
            return 0;
    return 1;
}

/* The operator's window along the axes of the map. */
static void turn_window(const sis__window *from, size_t spatial, const size_t *slot,
                        sis__window *to) {
    *to = *from;
    for (size_t d = 0; d < 3; d++) {
        to->in[d] = to->out[d] = to->kernel[d] = to->stride[d] = to->dilation[d] = 1;
        to->pad[d] = 0;
        to->pad_end[d] = 0;
    }
    for (size_t d = 0; d < spatial; d++) {
        size_t a = 3 - spatial + d, k = slot[d];
        to->in[k] = from->in[a];
        to->out[k] = from->out[a];
        to->kernel[k] = from->kernel[a];
        to->stride[k] = from->stride[a];
        to->dilation[k] = from->dilation[a];
        to->pad[k] = from->pad[a];
        to->pad_end[k] = from->pad_end[a];
    }
}

/* Sizes that positions can be computed with in int. */
static int sane(const sis__window *w) {
    for (size_t d = 0; d < 3; d++)
        if (w->in[d] < 1 || w->in[d] > 1 << 24 || w->out[d] < 1 || w->out[d] > 1 << 24 ||
            w->stride[d] > 1 << 24 || w->pad[d] > 1 << 24 || w->kernel[d] > 1 << 12 ||
            w->dilation[d] > 1 << 12)
            return 0;
    return 1;
}

/* Convolution and pooling. 1: in the front, 0: not. */
static int read_window(sis__reader *r, const sis__step *s, sis__layer_kind kind) {
    const sis__tensor *x = sis__tensor_of(r, s->inputs[0]);
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    size_t slot[3], spatial = x->rank - 2;
    if (!v || !sis__find_slots(x, v, slot) || s->p.window.n != 1 || !sane(&s->p.window))
        return 0;
    sis__layer *l = propose(r, s, kind);
    sis__map *out = &r->f->maps[l->out];
    l->in[0] = v->map;
    turn_window(&s->p.window, spatial, slot, &l->w);
    out->channels = l->w.filters;
    for (size_t d = 0; d < 3; d++)
        out->whole.hi[d] = (int)l->w.out[d];
    if (kind == SIS__LAYER_CONV) {
        const float *w = sis__constant_of(r, s->inputs[1]);
        int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
        l->bias = bias ? sis__constant_of(r, s->inputs[2]) : NULL;
        /* The rows of the kernel must be those of a full pass. */
        if (!w || (bias && !l->bias) || l->w.kernel[2] != s->p.window.kernel[2] ||
            !sis__conv_block(l))
            return 0;
    }
    int taken = accept(r, l);
    if (taken > 0)
        show_image(r, s, l->out, slot);
    return taken;
}

static int read_pool(sis__reader *r, const sis__step *s, sis__layer_kind kind) {
    if (s->n_outputs > 1 && s->outputs[1] >= 0)
        return 0;
    return read_window(r, s, kind);
}

/* A MatMul of the channels at every position: a convolution of size 1. */
static int read_pointwise(sis__reader *r, const sis__step *s) {
    const sis__tensor *x = sis__tensor_of(r, s->inputs[0]), *b = sis__tensor_of(r, s->inputs[1]);
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    if (!v || x->rank < 3 || b->rank != 2 || b->dims[0] >= SIS__LONG ||
        !sis__constant_of(r, s->inputs[1]) || x->dims[0] != 1 ||
        (v->role[x->rank - 1] | SIS__CHANNELS) != SIS__CHANNELS)
        return 0;
    for (size_t d = 0; d + 1 < x->rank; d++)
        if (v->role[d] & SIS__CHANNELS)
            return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_CONV);
    sis__map *in = &r->f->maps[v->map], *out = &r->f->maps[l->out];
    if (in->channels != x->dims[x->rank - 1])
        return 0;
    out->channels = b->dims[1];
    out->whole = in->whole;
    l->in[0] = v->map;
    l->w = (sis__window){
        .n = 1, .channels = in->channels, .filters = out->channels, .groups = 1, .pad = {0}};
    for (size_t d = 0; d < 3; d++) {
        l->w.in[d] = l->w.out[d] = (size_t)in->whole.hi[d];
        l->w.kernel[d] = l->w.stride[d] = l->w.dilation[d] = 1;
    }
    int taken = sis__conv_block(l) ? accept(r, l) : 0;
    if (taken <= 0)
        return taken;
    /* The same axes, with another number of channels on the last. */
    sis__sight *to = &r->of[s->outputs[0]].sight;
    *to = *v;
    to->map = l->out;
    to->role[x->rank - 1] = out->channels > 1 ? SIS__CHANNELS : 0;
    for (size_t k = 1; k < 4; k++)
        to->stride[k] = in->channels ? v->stride[k] / in->channels * out->channels : 0;
    to->stride[0] = 1;
    return 1;
}

/* Functions of one value. */
static int read_unary(sis__reader *r, const sis__step *s) {
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    if (!v)
        return 0;
    sis__layer *l = propose(r, s, s->op == SIS__OP_RELU ? SIS__LAYER_RELU : SIS__LAYER_UNARY);
    l->in[0] = v->map;
    r->f->maps[l->out].channels = r->f->maps[v->map].channels;
    r->f->maps[l->out].whole = r->f->maps[v->map].whole;
    int taken = accept(r, l);
    if (taken > 0)
        show_same(r, s, s->inputs[0], l->out);
    return taken;
}

static int read_norm(sis__reader *r, const sis__step *s) {
    const sis__tensor *x = sis__tensor_of(r, s->inputs[0]);
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    if (!v || x->rank < 2 || !s->p.norm.scale || x->dims[0] != 1 ||
        s->p.norm.channels != r->f->maps[v->map].channels ||
        (x->dims[1] > 1 && v->role[1] != SIS__CHANNELS))
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_AFFINE);
    l->in[0] = v->map;
    l->a = s->p.norm.scale;
    l->b = s->p.norm.shift;
    r->f->maps[l->out].channels = r->f->maps[v->map].channels;
    r->f->maps[l->out].whole = r->f->maps[v->map].whole;
    int taken = accept(r, l);
    if (taken > 0)
        show_same(r, s, s->inputs[0], l->out);
    return taken;
}

/* A constant operand as the map sees it: strides of a copy (positions, channels), or of one number
 * a channel, or of one number. */
static int spread_constant(sis__reader *r, sis__layer *l, int operand, int other) {
    const sis__tensor *k = sis__tensor_of(r, operand), *x = sis__tensor_of(r, other);
    const sis__sight *v = sis__sight_of(r, other);
    const sis__map *m = &r->f->maps[v->map];
    const float *values = sis__constant_of(r, operand);
    size_t stride[4] = {0}, at = 1;
    if (k->rank > x->rank)
        return 0;
    for (size_t d = k->rank; d-- > 0; at *= k->dims[d]) {
        size_t axis = d + x->rank - k->rank;
        unsigned char role = v->role[axis];
        if (k->dims[d] == 1)
            continue;
        if (k->dims[d] != x->dims[axis] || !role || (role & (role - 1)))
            return 0;
        for (size_t i = 0; i < 4; i++)
            if (role == 1 << i)
                stride[i] = at;
    }
    l->a = values;
    l->a_channel = stride[0];
    if (!stride[1] && !stride[2] && !stride[3])
        return 1;
    float *copy = (float *)sis__front_alloc(r->f, sis__positions(m) * m->channels, sizeof *copy);
    if (!copy)
        return SIS_E_NOMEM;
    l->a = copy;
    l->a_channel = 1;
    l->a_position = m->channels;
    SIS__EACH_ROW(&m->whole, z, y)
    for (int p = 0; p < m->whole.hi[2]; p++)
        for (size_t c = 0; c < m->channels; c++)
            *copy++ = values[(size_t)z * stride[1] + (size_t)y * stride[2] + (size_t)p * stride[3] +
                             c * stride[0]];
    return 1;
}

static int same_sight(const sis__reader *r, int a, int b) {
    const sis__tensor *x = sis__tensor_of(r, a), *y = sis__tensor_of(r, b);
    const sis__sight *v = sis__sight_of(r, a), *u = sis__sight_of(r, b);
    return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0 &&
           memcmp(v->role, u->role, x->rank) == 0 &&
           memcmp(v->stride, u->stride, sizeof v->stride) == 0;
}

static int read_binary(sis__reader *r, const sis__step *s) {
    if (s->n_inputs != 2 || s->inputs[0] < 0 || s->inputs[1] < 0)
        return 0;
    int a = s->inputs[0], b = s->inputs[1];
    const sis__sight *v = sis__sight_of(r, a), *u = sis__sight_of(r, b);
    if (!(v && u) && !(v && sis__constant_of(r, b)) &&
        !(u && sis__constant_of(r, a) && s->op != SIS__OP_PRELU))
        return 0;
    int main = v ? a : b;
    const sis__tensor *x = sis__tensor_of(r, main), *y = sis__tensor_of(r, s->outputs[0]);
    if (x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) != 0)
        return 0;
    if (v && u && !same_sight(r, a, b))
        return 0;
    sis__layer *l = propose(r, s, v && u ? SIS__LAYER_JOIN : SIS__LAYER_WITH);
    sis__map *m = &r->f->maps[r->of[main].sight.map];
    l->in[0] = r->of[main].sight.map;
    if (v && u) {
        l->n_in = 2;
        l->in[1] = u->map;
    } else {
        int fits = spread_constant(r, l, v ? b : a, main);
        if (fits <= 0)
            return fits;
        l->left = !v;
    }
    r->f->maps[l->out].channels = m->channels;
    r->f->maps[l->out].whole = m->whole;
    int taken = accept(r, l);
    if (taken > 0)
        show_same(r, s, main, l->out);
    return taken;
}

/* Of channels only. */
static int read_concat(sis__reader *r, const sis__step *s) {
    const sis__tensor *y = sis__tensor_of(r, s->outputs[0]);
    size_t axis = s->p.axis.axis, channels = 0, stride = 1;
    if (s->n_inputs > SIS__LAYER_INPUTS)
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_CONCAT);
    const sis__sight *first = sis__sight_of(r, s->inputs[0]);
    for (size_t i = 0; i < s->n_inputs; i++) {
        const sis__sight *v = sis__sight_of(r, s->inputs[i]);
        if (!v || (v->role[axis] | SIS__CHANNELS) != SIS__CHANNELS)
            return 0;
        const sis__map *m = &r->f->maps[v->map];
        if (m->channels != sis__tensor_of(r, s->inputs[i])->dims[axis] ||
            memcmp(&m->whole, &r->f->maps[first->map].whole, sizeof m->whole) != 0)
            return 0;
        for (size_t d = 0; d < y->rank; d++)
            if (d != axis && v->role[d] != first->role[d])
                return 0;
        l->in[i] = v->map;
        channels += m->channels;
    }
    l->n_in = s->n_inputs;
    r->f->maps[l->out].channels = channels;
    r->f->maps[l->out].whole = r->f->maps[first->map].whole;
    sis__sight to = *first;
    to.map = l->out;
    to.role[axis] = channels > 1 ? SIS__CHANNELS : 0;
    memset(to.stride, 0, sizeof to.stride);
    for (size_t d = y->rank; d-- > 0; stride *= y->dims[d])
        for (size_t k = 0; k < 4; k++) {
            if (to.role[d] & (to.role[d] - 1))
                return 0;
            if (to.role[d] == 1 << k)
                to.stride[k] = stride;
        }
    int taken = accept(r, l);
    if (taken > 0)
        r->of[s->outputs[0]].sight = to;
    return taken;
}

/* ---- All of them --------------------------------------------------------------------------- */

int sis__read_layer(sis__reader *r, const sis__step *s) {
    switch (s->op) {
    case SIS__OP_CONV:
        return read_window(r, s, SIS__LAYER_CONV);
    case SIS__OP_MAX_POOL:
        return read_pool(r, s, SIS__LAYER_MAX);
    case SIS__OP_AVERAGE_POOL:
        return read_pool(r, s, SIS__LAYER_AVERAGE);
    case SIS__OP_MATMUL:
        return read_pointwise(r, s);
    case SIS__OP_BATCH_NORMALIZATION:
        return read_norm(r, s);
    case SIS__OP_ADD:
    case SIS__OP_SUB:
    case SIS__OP_MUL:
    case SIS__OP_DIV:
    case SIS__OP_MAX:
    case SIS__OP_MIN:
    case SIS__OP_SUM:
    case SIS__OP_PRELU:
        return read_binary(r, s);
    case SIS__OP_RELU:
    case SIS__OP_LEAKY_RELU:
    case SIS__OP_ELU:
    case SIS__OP_EXP:
    case SIS__OP_LOG:
    case SIS__OP_SQRT:
    case SIS__OP_RECIPROCAL:
    case SIS__OP_SIGMOID:
    case SIS__OP_TANH:
    case SIS__OP_SOFTPLUS:
    case SIS__OP_HARD_SIGMOID:
    case SIS__OP_CLIP:
    case SIS__OP_NEG:
    case SIS__OP_ABS:
        return read_unary(r, s);
    case SIS__OP_CONCAT:
        return read_concat(r, s);
    default:
        return 0;
    }
}
