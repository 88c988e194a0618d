/* SPDX-License-Identifier: MIT
 *
 * Steps that become layers of a prefix: convolution, pooling, padding, normalisation, concatenation
 * of channels, a MatMul at every position, and element-wise operators. Each function checks that
 * the operator matches the layer on the map: which axes are channels, which are positions, and
 * which inputs are constant.
 *
 * A layer is left out if it is not worthwhile: if masking one feature changes most of its output,
 * or if it would take too much memory.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"
#include "net/walk/window_read.h"

static const double max_part_of_map = 0.7; /* larger boxes (mean, as a fraction of the map) are not
                                        * worthwhile */

/* The layer and map that a step would make; nothing is final before accept(). */
static sis__layer *propose(sis__reader *r, const sis__step *s, sis__layer_kind kind) {
    sis__layer *l = &r->f->layers[r->f->n_layers];
    *l = (sis__layer){.kind = kind,
                      .op = s->op,
                      .step = s,
                      .conv = {.point = -1},
                      .n_in = 1,
                      .out = (int)r->f->n_layers + 1};
    r->f->maps[l->out] = (sis__map){0};
    return l;
}

static void find_boxes(const sis__prefix *f, const sis__layer *l) {
    sis__map *out = &f->maps[l->out];
    for (size_t j = 0; j < f->s->in.n; j++)
        for (size_t i = 0; i < l->n_in; i++) {
            sis__box b = sis__layer_reach(l, out, &f->maps[l->in[i]].box[j]);
            out->box[j] = sis__box_join(&out->box[j], &b);
        }
}

/* Is the layer worthwhile? Then its output represents the new map. */
static int accept(sis__reader *r, sis__layer *l) {
    sis__prefix *f = r->f;
    sis__map *out = &f->maps[l->out];
    int error = sis__map_init(f, out);
    if (error)
        return error;
    find_boxes(f, l);
    double sum = sis__box_total(f, out),
           share = sum / (double)f->s->in.n / (double)sis__positions(out);
    int slides = l->kind <= SIS__LAYER_AVERAGE;
    /* A cut there would keep as much. */
    if (slides && (share > max_part_of_map ||
                   sum * (double)out->channels > (double)(f->s->memory / sizeof(double))))
        return 0;
    r->window_flops += l->step->flops * share * (4 * share < 1 ? 4 * share : 1);
    f->n_layers++;
    return 1;
}

/* The output has the axes of the input. */
static void show_same(sis__reader *r, const sis__step *s, int from, int map) {
    r->of[s->outputs[0]].axes = r->of[from].axes;
    r->of[s->outputs[0]].axes.map = map;
}

/* The output (1, channels, positions...) of a sliding window; slot[d] is the map's axis of its
 * spatial axis d. */
static void show_image(sis__reader *r, const sis__step *s, int map, const size_t *slot) {
    const sis__tensor *t = sis__reader_tensor(r, s->outputs[0]);
    sis__axis_map *v = &r->of[s->outputs[0]].axes;
    size_t stride = 1;
    *v = (sis__axis_map){.map = map};
    for (size_t d = t->rank; d-- > 1; stride *= t->dims[d]) {
        size_t k = d == 1 ? 0 : 1 + slot[d - 2];
        if (t->dims[d] == 1)
            continue;
        v->role[d] = (unsigned char)(1 << k);
        v->stride[k] = stride;
    }
}

int sis__find_slots(const sis__tensor *t, const sis__axis_map *v, size_t *slot) {
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

/* The operator's window with the axes of the map. */
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

/* Do positions fit into int? */
static int sane(const sis__window *w) {
    for (size_t d = 0; d < 3; d++)
        if (w->in[d] < 1 || w->in[d] > 1 << 24 || w->out[d] < 1 || w->out[d] > 1 << 24 ||
            w->stride[d] > 1 << 24 || w->pad[d] > 1 << 24 || w->kernel[d] > 1 << 12 ||
            w->dilation[d] > 1 << 12)
            return 0;
    return 1;
}

/* Convolution and pooling. 1: in the prefix, 0: not. */
static int read_window(sis__reader *r, const sis__step *s, sis__layer_kind kind) {
    const sis__tensor *x = sis__reader_tensor(r, s->inputs[0]);
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    size_t slot[3], spatial = x->rank - 2;
    int tiles = kind == SIS__LAYER_CONV && s->p.window.tiles; /* no sums of rows of the kernel */
    if (!v || tiles || !sis__find_slots(x, v, slot) || s->p.window.n != 1 || !sane(&s->p.window))
        return 0;
    sis__layer *l = propose(r, s, kind);
    sis__map *out = &r->f->maps[l->out];
    l->in[0] = v->map;
    turn_window(&s->p.window, spatial, slot, &l->w);
    out->channels = l->w.filters;
    for (size_t d = 0; d < 3; d++)
        out->whole.hi[d] = (int)l->w.out[d];
    if (kind == SIS__LAYER_CONV) {
        const float *w = sis__reader_constant(r, s->inputs[1]);
        int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
        l->conv.bias = bias ? sis__reader_constant(r, s->inputs[2]) : NULL;
        /* The rows of the kernel must be those of a full pass. */
        if (!w || (bias && !l->conv.bias) || l->w.kernel[2] != s->p.window.kernel[2] ||
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
    const sis__tensor *x = sis__reader_tensor(r, s->inputs[0]),
                      *b = sis__reader_tensor(r, s->inputs[1]);
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    if (!v || x->rank < 3 || b->rank != 2 || b->dims[0] >= SIS__LONG ||
        !sis__reader_constant(r, s->inputs[1]) || x->dims[0] != 1 ||
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
    sis__axis_map *to = &r->of[s->outputs[0]].axes;
    *to = *v;
    to->map = l->out;
    to->role[x->rank - 1] = out->channels > 1 ? SIS__CHANNELS : 0;
    for (size_t k = 1; k < 4; k++)
        to->stride[k] = in->channels ? v->stride[k] / in->channels * out->channels : 0;
    to->stride[0] = 1;
    return 1;
}

static int read_norm(sis__reader *r, const sis__step *s) {
    const sis__tensor *x = sis__reader_tensor(r, s->inputs[0]);
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    if (!v || x->rank < 2 || !s->p.norm.scale || x->dims[0] != 1 ||
        s->p.norm.channels != r->f->maps[v->map].channels ||
        (x->dims[1] > 1 && v->role[1] != SIS__CHANNELS))
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_AFFINE);
    l->in[0] = v->map;
    l->scale = s->p.norm.scale;
    l->shift = s->p.norm.shift;
    r->f->maps[l->out].channels = r->f->maps[v->map].channels;
    r->f->maps[l->out].whole = r->f->maps[v->map].whole;
    int taken = accept(r, l);
    if (taken > 0)
        show_same(r, s, s->inputs[0], l->out);
    return taken;
}

/* ---- Element-wise steps ---------------------------------------------------------------------- */

/* A constant operand in the layout of the map: strides of a copy (positions, channels), of one
 * number per channel, or of one number. */
static int spread_constant(sis__reader *r, sis__map_operand *o, int operand, int other) {
    const sis__tensor *k = sis__reader_tensor(r, operand), *x = sis__reader_tensor(r, other);
    const sis__axis_map *v = sis__reader_axes(r, other);
    const sis__map *m = &r->f->maps[v->map];
    const char *values = (const char *)k->data;
    size_t stride[4] = {0}, at = 1, size = sis__dtype_size(k->dtype);
    if (!values || k->rank > x->rank)
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
    *o = (sis__map_operand){.map = -1, .at = values, .channel = stride[0] > 0};
    if (!stride[1] && !stride[2] && !stride[3])
        return 1;
    char *copy =
        (char *)sis__arena_own(&r->f->memory, sis__alloc(sis__positions(m) * m->channels, size));
    if (!copy)
        return SIS_E_NOMEM;
    *o = (sis__map_operand){.map = -1, .at = copy, .channel = 1, .position = m->channels};
    SIS__EACH_ROW(&m->whole, z, y)
    for (int p = 0; p < m->whole.hi[2]; p++)
        for (size_t c = 0; c < m->channels; c++, copy += size)
            memcpy(copy,
                   values + size * ((size_t)z * stride[1] + (size_t)y * stride[2] +
                                    (size_t)p * stride[3] + c * stride[0]),
                   size);
    return 1;
}

static int same_axes(const sis__reader *r, int a, int b) {
    const sis__tensor *x = sis__reader_tensor(r, a), *y = sis__reader_tensor(r, b);
    const sis__axis_map *v = sis__reader_axes(r, a), *u = sis__reader_axes(r, b);
    return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0 &&
           memcmp(v->role, u->role, x->rank) == 0 &&
           memcmp(v->stride, u->stride, sizeof v->stride) == 0;
}

/* In old files the slopes of a PRelu may be aligned with the channels instead of the last axis. */
static int old_slopes(const sis__reader *r, const sis__step *s) {
    const sis__broadcast *b = &s->p.broadcast;
    return s->op == SIS__OP_PRELU && sis__reader_tensor(r, s->inputs[1])->count > 1 &&
           sis__reader_tensor(r, s->inputs[1])->rank == 1 && sis__broadcast_step(b, 1) == 0;
}

/* Input i of a step: a map with the axes of `main`, or a constant. */
static int read_operand(sis__reader *r, sis__layer *l, size_t i, int main) {
    int in = l->step->inputs[i];
    const sis__axis_map *v = sis__reader_axes(r, in);
    if (!v)
        return in >= 0 ? spread_constant(r, &l->operands[i], in, main) : 0;
    if (!same_axes(r, in, main))
        return 0;
    l->operands[i].map = (int)l->n_in;
    l->in[l->n_in++] = v->map;
    return 1;
}

/* Any element-wise operator. */
static int read_elements(sis__reader *r, const sis__step *s) {
    const sis__tensor *y = sis__reader_tensor(r, s->outputs[0]);
    size_t first = 0;
    while (first < s->n_inputs && !sis__reader_axes(r, s->inputs[first]))
        first++;
    if ((s->ops->trait != SIS__MAPS && s->ops->trait != SIS__MAPS_TEXTS) || y->dtype != SIS__F32 ||
        s->n_inputs > SIS__LAYER_INPUTS || first == s->n_inputs || old_slopes(r, s))
        return 0;
    int main = s->inputs[first], fits = 1;
    const sis__tensor *x = sis__reader_tensor(r, main);
    if (x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) != 0)
        return 0;
    sis__layer *l =
        propose(r, s, sis__is(s, SIS__RECTIFIER) ? SIS__LAYER_RELU : SIS__LAYER_ELEMENTS);
    l->n_in = 0;
    for (size_t i = 0; i < s->n_inputs && fits > 0; i++)
        fits = read_operand(r, l, i, main);
    if (fits <= 0)
        return fits;
    r->f->maps[l->out].channels = r->f->maps[l->in[0]].channels;
    r->f->maps[l->out].whole = r->f->maps[l->in[0]].whole;
    int taken = accept(r, l);
    if (taken > 0)
        show_same(r, s, main, l->out);
    return taken;
}

/* Strides of a tensor whose axes have these roles; 0: an axis has several roles. */
static int find_strides(const sis__tensor *t, sis__axis_map *v) {
    size_t stride = 1;
    memset(v->stride, 0, sizeof v->stride);
    for (size_t d = t->rank; d-- > 0; stride *= t->dims[d])
        for (size_t k = 0; k < 4; k++) {
            if (v->role[d] & (v->role[d] - 1))
                return 0;
            if (v->role[d] == 1 << k)
                v->stride[k] = stride;
        }
    return 1;
}

/* Accept a layer whose result has these axes. */
static int accept_axes(sis__reader *r, const sis__step *s, sis__layer *l, sis__axis_map *to) {
    int taken = find_strides(sis__reader_tensor(r, s->outputs[0]), to) ? accept(r, l) : 0;
    if (taken > 0)
        r->of[s->outputs[0]].axes = *to;
    return taken;
}

/* Padding of positions with a constant. */
static int read_pad(sis__reader *r, const sis__step *s) {
    const sis__tensor *x = sis__reader_tensor(r, s->inputs[0]),
                      *y = sis__reader_tensor(r, s->outputs[0]);
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    if (!v || s->p.pad.mode != SIS__PAD_CONSTANT)
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_PAD);
    sis__map *out = &r->f->maps[l->out];
    sis__axis_map to = *v;
    to.map = l->out;
    l->in[0] = v->map;
    l->scale = &s->p.pad.value;
    out->channels = r->f->maps[v->map].channels;
    out->whole = r->f->maps[v->map].whole;
    for (size_t k = 0; k < 3; k++)
        l->w.kernel[k] = l->w.stride[k] = l->w.dilation[k] = 1;
    for (size_t d = 0; d < x->rank; d++) {
        int64_t begin = s->p.pad.begin[d];
        if (begin == 0 && x->dims[d] == y->dims[d])
            continue;
        if (begin < 0 || y->dims[d] < x->dims[d] + (size_t)begin || y->dims[d] > 1 << 24)
            return 0;
        size_t k = 0;
        while (k < 3 && v->role[d] != SIS__SPATIAL << k)
            k++;
        if (k == 3)
            return 0;
        l->w.pad[k] = (ptrdiff_t)begin;
        out->whole.hi[k] = (int)y->dims[d];
    }
    return accept_axes(r, s, l, &to);
}

/* Concatenation of channels only. */
static int read_concat(sis__reader *r, const sis__step *s) {
    const sis__tensor *y = sis__reader_tensor(r, s->outputs[0]);
    size_t axis = s->p.axis.axis, channels = 0;
    if (s->n_inputs > SIS__LAYER_INPUTS)
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_CONCAT);
    const sis__axis_map *first = sis__reader_axes(r, s->inputs[0]);
    for (size_t i = 0; i < s->n_inputs; i++) {
        const sis__axis_map *v = sis__reader_axes(r, s->inputs[i]);
        if (!v || (v->role[axis] | SIS__CHANNELS) != SIS__CHANNELS)
            return 0;
        const sis__map *m = &r->f->maps[v->map];
        if (m->channels != sis__reader_tensor(r, s->inputs[i])->dims[axis] ||
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
    sis__axis_map to = *first;
    to.map = l->out;
    to.role[axis] = channels > 1 ? SIS__CHANNELS : 0;
    return accept_axes(r, s, l, &to);
}

int sis__read_layer(sis__reader *r, const sis__step *s) {
    if (s->op == SIS__OP_MATMUL)
        return read_pointwise(r, s);
    if (s->op == SIS__OP_CONCAT)
        return read_concat(r, s);
    switch (s->ops->family) {
    case SIS__CONVOLUTION:
        return read_window(r, s, SIS__LAYER_CONV);
    case SIS__POOL:
        return read_pool(r, s,
                         s->ops->takes == SIS__TAKES_MAX ? SIS__LAYER_MAX : SIS__LAYER_AVERAGE);
    case SIS__CHANNEL_NORM:
        return read_norm(r, s);
    case SIS__PADDING:
        return read_pad(r, s);
    default:
        return read_elements(r, s);
    }
}
