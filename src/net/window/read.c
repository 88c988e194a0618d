/* SPDX-License-Identifier: MIT
 *
 * Reading a network into maps, layers and cuts. The steps of a plan are gone through in order; a
 * step joins the prefix if there is a rule for it and all it reads is constant or in the prefix
 * already. What the steps outside read from inside are the cuts.
 *
 * Input. Exports often begin by folding flat rows into an image, turning axes round, or looking
 * tokens up in a matrix of embeddings. All of that happens before the prefix: each value is
 * followed through, and map 0 is what comes out. A feature owns the elements its values end up in;
 * the smallest box around them is where masking it begins.
 *
 * Layers. Convolution, pooling, whatever does the same to each value by itself, normalization,
 * concatenation of channels, a MatMul at every position. Each rule checks that the operator means
 * what the layer computes, in terms of the map: which axes are channels and which positions, which
 * inputs are constant. A layer stays outside when it would not pay: when masking one feature
 * changes most of its output anyway, or when that would take too much memory.
 *
 * Cuts. A dense layer, a sum, mean or maximum over all positions. What goes on from there has no
 * positions any more, and is the head's. Where the head reads a tensor of the prefix as it is, that
 * is a cut too.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"
#include "net/walk/entry.h"
#include "net/window/window.h"

static const double most_of_map = 0.7;     /* a mean box larger than that is no window */
static const size_t most_values = 1 << 24; /* of the input */

/* What a tensor of the plan is to the prefix. */
typedef struct {
    sis__axis_map axes; /* axes.map >= 0: shows a map */
    int cut;            /* >= 0: a keep point that cuts */
} tensor_role;

typedef struct {
    sis__prefix *f;
    const sis__plan *plan;
    tensor_role *of;      /* (n_tensors) */
    unsigned char *taken; /* (n_steps) joined the prefix */
    double taken_flops;   /* of those */
    double window_flops;  /* the same inside boxes of mean size */
} reader;

static const sis__tensor *tensor_of(const reader *r, int i) {
    return &r->plan->tensors[i];
}

/* Values of a constant float tensor, or NULL. */
static const float *constant_of(const reader *r, int i) {
    return i >= 0 && tensor_of(r, i)->dtype == SIS__F32 ? (const float *)tensor_of(r, i)->data
                                                        : NULL;
}

/* How a tensor shows a map, or NULL. */
static const sis__axis_map *axes_of(const reader *r, int i) {
    return i >= 0 && r->of[i].axes.map >= 0 ? &r->of[i].axes : NULL;
}

void *sis__prefix_own(sis__prefix *f, void *memory) {
    void *list = (void *)f->owned.at;
    if (!memory ||
        sis__reserve(&list, &f->owned.cap, f->owned.n + 1, sizeof *f->owned.at) != SIS_OK) {
        free(memory);
        return NULL;
    }
    f->owned.at = (void **)list;
    f->owned.at[f->owned.n++] = memory;
    return memory;
}

void *sis__prefix_alloc(sis__prefix *f, size_t n, size_t size) {
    return sis__prefix_own(f, sis__alloc(n, size));
}

static int map_init(sis__prefix *f, sis__map *m) {
    m->base = (float *)sis__prefix_alloc(f, sis__positions(m) * m->channels, sizeof *m->base);
    m->box = (sis__box *)sis__prefix_alloc(f, f->s->in.n, sizeof *m->box);
    return m->base && m->box ? SIS_OK : SIS_E_NOMEM;
}

double sis__box_total(const sis__prefix *f, const sis__map *m) {
    double sum = 0;
    for (size_t j = 0; j < f->s->in.n; j++)
        sum += (double)sis__box_volume(&m->box[j]);
    return sum;
}

/* ---- Input ---------------------------------------------------------------------------------- */

/* Elements of a tensor in order, and where they lie in the map that it shows. */
typedef struct {
    size_t rank, dims[SIS__MAX_RANK], at[SIS__MAX_RANK];
    int axis[SIS__MAX_RANK]; /* of the map: 0 channels, 1 to 3 positions, 4 none */
    int place[5];
} tour;

static tour tour_of(const sis__tensor *t, const sis__axis_map *v) {
    tour r = {.rank = t->rank};
    for (size_t d = 0; d < t->rank; d++) {
        r.dims[d] = t->dims[d];
        r.axis[d] = 4;
        for (int k = 0; k < 4; k++)
            if (v->role[d] == 1 << k)
                r.axis[d] = k;
    }
    return r;
}

static void tour_next(tour *r) {
    for (size_t d = r->rank; d-- > 0;) {
        r->place[r->axis[d]]++;
        if (++r->at[d] < r->dims[d])
            return;
        r->at[d] = 0;
        r->place[r->axis[d]] = 0;
    }
}

static void input_size(const sis__tensor *t, const sis__axis_map *v, sis__map *m) {
    m->channels = 1;
    m->whole = (sis__box){{0, 0, 0}, {1, 1, 1}};
    for (size_t d = 0; d < t->rank; d++) {
        if (v->role[d] == SIS__CHANNELS)
            m->channels = t->dims[d];
        for (size_t k = 0; k < 3; k++)
            if (v->role[d] == SIS__SPATIAL << k)
                m->whole.hi[k] = (int)t->dims[d];
    }
}

/* Elements sorted by feature, and the box of each feature. */
static void sort_elements(sis__prefix *f, const sis__axis_map *v) {
    const sis__entry *from = f->s->entry;
    sis__map *m = &f->maps[0];
    size_t n = f->s->in.n;
    tour r = tour_of(&f->plan->tensors[from->tensor], v);
    for (size_t i = 0; i < from->n; i++)
        if (from->feature[i] >= 0)
            f->input.start[from->feature[i] + 1]++;
    for (size_t j = 0; j < n; j++)
        f->input.start[j + 1] += f->input.start[j];
    for (size_t i = 0; i < from->n; i++, tour_next(&r)) {
        sis__element e = {.c = r.place[0], .z = r.place[1], .y = r.place[2], .x = r.place[3]};
        int j = from->feature[i];
        f->input.values[sis__box_at(&m->whole, e.z, e.y, e.x) * m->channels + (size_t)e.c] =
            from->x[i];
        if (j < 0)
            continue;
        e.masked = from->z[i];
        f->input.elements[f->input.start[j]++] = e;
        sis__box one = {{e.z, e.y, e.x}, {e.z + 1, e.y + 1, e.x + 1}};
        m->box[j] = sis__box_join(&m->box[j], &one);
    }
    /* start[j] now holds where j ends. */
    memmove(f->input.start + 1, f->input.start, n * sizeof *f->input.start);
    f->input.start[0] = 0;
}

/* Map 0 is what the first layer that mixes values sees: steps in front of it are the entry's. */
static int find_map(reader *r, sis__axis_map *v) {
    const sis__entry *from = r->f->s->entry;
    if (!from || from->n >= most_values || tensor_of(r, from->tensor)->dtype != SIS__F32)
        return SIS_E_UNSUPPORTED;
    for (int i = 0; i <= tensor_of(r, from->tensor)->node; i++)
        r->taken[i] = 1;
    int found = sis__axis_map_first(r->plan, from->tensor, v);
    return found > 0 ? SIS_OK : found < 0 ? found : SIS_E_UNSUPPORTED;
}

static int read_input(reader *r) {
    sis__prefix *f = r->f;
    sis__axis_map v;
    int error = find_map(r, &v);
    if (error)
        return error;
    size_t n = f->s->entry->n;
    input_size(tensor_of(r, f->s->entry->tensor), &v, &f->maps[0]);
    error = map_init(f, &f->maps[0]);
    f->input.values = (float *)sis__prefix_alloc(f, n, sizeof *f->input.values);
    f->input.elements = (sis__element *)sis__prefix_alloc(f, n, sizeof *f->input.elements);
    f->input.start = (size_t *)sis__prefix_alloc(f, f->s->in.n + 1, sizeof *f->input.start);
    if (!f->input.values || !f->input.elements || !f->input.start)
        error = SIS_E_NOMEM;
    if (error)
        return error;
    sort_elements(f, &v);
    r->of[f->s->entry->tensor].axes = v;
    return SIS_OK;
}

/* ---- Layers --------------------------------------------------------------------------------- */

/* The layer and map a step would make; nothing is kept before accept(). */
static sis__layer *propose(reader *r, const sis__step *s, sis__layer_kind kind) {
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

/* Does it pay to have the layer in the prefix? Then its output shows the new map. */
static int accept(reader *r, sis__layer *l) {
    sis__prefix *f = r->f;
    sis__map *out = &f->maps[l->out];
    int error = map_init(f, out);
    if (error)
        return error;
    find_boxes(f, l);
    double sum = sis__box_total(f, out),
           share = sum / (double)f->s->in.n / (double)sis__positions(out);
    int slides = l->kind <= SIS__LAYER_AVERAGE;
    /* Where it is cut, as much is kept. */
    if (slides && (share > most_of_map ||
                   sum * (double)out->channels > (double)(f->s->memory / sizeof(double))))
        return 0;
    r->window_flops += l->step->flops * share * (4 * share < 1 ? 4 * share : 1);
    f->n_layers++;
    return 1;
}

/* The output shows the map through the shape of the input. */
static void show_same(reader *r, const sis__step *s, int from, int map) {
    r->of[s->outputs[0]].axes = r->of[from].axes;
    r->of[s->outputs[0]].axes.map = map;
}

/* The output (1, channels, positions...) of a sliding window; slot[d] is the map's axis of its
 * spatial axis d. */
static void show_image(reader *r, const sis__step *s, int map, const size_t *slot) {
    const sis__tensor *t = tensor_of(r, s->outputs[0]);
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

/* Which axis of the map each spatial axis of the operator is: those of size 1 take what is free. 0
 * if the tensor shows the map in another order. */
static int find_slots(const sis__tensor *t, const sis__axis_map *v, size_t *slot) {
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

/* Convolution and pooling. 1: in the prefix, 0: not. */
static int read_window(reader *r, const sis__step *s, sis__layer_kind kind) {
    const sis__tensor *x = tensor_of(r, s->inputs[0]);
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    size_t slot[3], spatial = x->rank - 2;
    if (!v || !find_slots(x, v, slot) || s->p.window.n != 1 || !sane(&s->p.window))
        return 0;
    sis__layer *l = propose(r, s, kind);
    sis__map *out = &r->f->maps[l->out];
    l->in[0] = v->map;
    turn_window(&s->p.window, spatial, slot, &l->w);
    out->channels = l->w.filters;
    for (size_t d = 0; d < 3; d++)
        out->whole.hi[d] = (int)l->w.out[d];
    if (kind == SIS__LAYER_CONV) {
        const float *w = constant_of(r, s->inputs[1]);
        int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
        l->conv.bias = bias ? constant_of(r, s->inputs[2]) : NULL;
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

static int read_pool(reader *r, const sis__step *s, sis__layer_kind kind) {
    if (s->n_outputs > 1 && s->outputs[1] >= 0)
        return 0;
    return read_window(r, s, kind);
}

/* A MatMul of the channels at every position: a convolution of size 1. */
static int read_pointwise(reader *r, const sis__step *s) {
    const sis__tensor *x = tensor_of(r, s->inputs[0]), *b = tensor_of(r, s->inputs[1]);
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    if (!v || x->rank < 3 || b->rank != 2 || b->dims[0] >= SIS__LONG ||
        !constant_of(r, s->inputs[1]) || x->dims[0] != 1 ||
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

static int read_norm(reader *r, const sis__step *s) {
    const sis__tensor *x = tensor_of(r, s->inputs[0]);
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
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

/* ---- Each value by itself ------------------------------------------------------------------- */

/* A constant operand as the map sees it: strides of a copy (positions, channels), or of one number
 * a channel, or of one number. */
static int spread_constant(reader *r, sis__map_operand *o, int operand, int other) {
    const sis__tensor *k = tensor_of(r, operand), *x = tensor_of(r, other);
    const sis__axis_map *v = axes_of(r, other);
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
    char *copy = (char *)sis__prefix_alloc(r->f, sis__positions(m) * m->channels, size);
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

static int same_axes(const reader *r, int a, int b) {
    const sis__tensor *x = tensor_of(r, a), *y = tensor_of(r, b);
    const sis__axis_map *v = axes_of(r, a), *u = axes_of(r, b);
    return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0 &&
           memcmp(v->role, u->role, x->rank) == 0 &&
           memcmp(v->stride, u->stride, sizeof v->stride) == 0;
}

/* Slopes of a PRelu may have been aligned with the channels, not at the end, by an old file. */
static int old_slopes(const reader *r, const sis__step *s) {
    const sis__broadcast *b = &s->p.broadcast;
    return s->op == SIS__OP_PRELU && tensor_of(r, s->inputs[1])->count > 1 &&
           tensor_of(r, s->inputs[1])->rank == 1 && sis__broadcast_step(b, 1) == 0;
}

/* Input i of a step: a map seen along the axes of `main`, or a constant. */
static int read_operand(reader *r, sis__layer *l, size_t i, int main) {
    int in = l->step->inputs[i];
    const sis__axis_map *v = axes_of(r, in);
    if (!v)
        return in >= 0 ? spread_constant(r, &l->operands[i], in, main) : 0;
    if (!same_axes(r, in, main))
        return 0;
    l->operands[i].map = (int)l->n_in;
    l->in[l->n_in++] = v->map;
    return 1;
}

/* Any operator that does the same to each value. */
static int read_elements(reader *r, const sis__step *s) {
    const sis__tensor *y = tensor_of(r, s->outputs[0]);
    size_t first = 0;
    while (first < s->n_inputs && !axes_of(r, s->inputs[first]))
        first++;
    if ((s->ops->trait != SIS__MAPS && s->ops->trait != SIS__MAPS_TEXTS) || y->dtype != SIS__F32 ||
        s->n_inputs > SIS__LAYER_INPUTS || first == s->n_inputs || old_slopes(r, s))
        return 0;
    int main = s->inputs[first], fits = 1;
    const sis__tensor *x = tensor_of(r, main);
    if (x->rank != y->rank || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) != 0)
        return 0;
    sis__layer *l = propose(r, s, s->op == SIS__OP_RELU ? SIS__LAYER_RELU : SIS__LAYER_ELEMENTS);
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

/* Strides of a tensor whose axes have these roles; 0: some have several. */
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
static int accept_axes(reader *r, const sis__step *s, sis__layer *l, sis__axis_map *to) {
    int taken = find_strides(tensor_of(r, s->outputs[0]), to) ? accept(r, l) : 0;
    if (taken > 0)
        r->of[s->outputs[0]].axes = *to;
    return taken;
}

/* Of positions, by a constant. */
static int read_pad(reader *r, const sis__step *s) {
    const sis__tensor *x = tensor_of(r, s->inputs[0]), *y = tensor_of(r, s->outputs[0]);
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
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

/* Of channels only. */
static int read_concat(reader *r, const sis__step *s) {
    const sis__tensor *y = tensor_of(r, s->outputs[0]);
    size_t axis = s->p.axis.axis, channels = 0;
    if (s->n_inputs > SIS__LAYER_INPUTS)
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_CONCAT);
    const sis__axis_map *first = axes_of(r, s->inputs[0]);
    for (size_t i = 0; i < s->n_inputs; i++) {
        const sis__axis_map *v = axes_of(r, s->inputs[i]);
        if (!v || (v->role[axis] | SIS__CHANNELS) != SIS__CHANNELS)
            return 0;
        const sis__map *m = &r->f->maps[v->map];
        if (m->channels != tensor_of(r, s->inputs[i])->dims[axis] ||
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

static int read_layer(reader *r, const sis__step *s) {
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
    case SIS__OP_PAD:
        return read_pad(r, s);
    case SIS__OP_CONCAT:
        return read_concat(r, s);
    default:
        return read_elements(r, s);
    }
}

/* ---- Cuts ----------------------------------------------------------------------------------- */

static int cut_at(reader *r, sis__keep_kind kind, int from, int value, size_t width) {
    sis__prefix *f = r->f;
    sis__keep_point *s = &f->points[f->n_points];
    *s = (sis__keep_point){.kind = kind,
                           .map = r->of[from].axes.map,
                           .cut = {value, width, f->row, r->of[from].axes, 0},
                           .linear = {.divisor = 1}};
    f->row += width;
    r->of[value].cut = (int)f->n_points++;
    return 1;
}

/* Gemm, or MatMul with a row on the left. */
static int read_dense(reader *r, const sis__step *s) {
    const sis__gemm *g = &s->p.gemm;
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
    if (!v || g->m != 1 || g->trans_a || !g->packed || g->over.rank || !g->wide ||
        (bias && !constant_of(r, s->inputs[2])))
        return 0;
    int taken = cut_at(r, SIS__KEEP_DENSE, s->inputs[0], s->outputs[0], g->n);
    r->f->points[r->f->n_points - 1].linear.step = s;
    return taken;
}

/* A step behind a dense cut that every row would have to go through: its bias, its Relu. */
static int read_after(reader *r, const sis__step *s) {
    int in = s->inputs[0], other = -1;
    if (s->op == SIS__OP_ADD && r->of[in].cut < 0)
        in = s->inputs[1];
    if (s->op == SIS__OP_ADD)
        other = in == s->inputs[0] ? s->inputs[1] : s->inputs[0];
    sis__keep_point *point = in >= 0 && r->of[in].cut >= 0 ? &r->f->points[r->of[in].cut] : NULL;
    if (!point || point->kind != SIS__KEEP_DENSE || point->cut.value != in || point->cut.relu ||
        sis__plan_reader(r->plan, in) != s || tensor_of(r, in)->wanted)
        return 0;
    if (s->op == SIS__OP_ADD) {
        const sis__tensor *k = tensor_of(r, other), *y = tensor_of(r, s->outputs[0]);
        if (!constant_of(r, other) || k->count != point->cut.width ||
            (k->rank && k->dims[k->rank - 1] != point->cut.width) || y->count != point->cut.width ||
            point->linear.plus)
            return 0;
        point->linear.plus = constant_of(r, other);
    } else {
        point->cut.relu = 1;
    }
    r->of[s->outputs[0]].cut = r->of[in].cut;
    point->cut.value = s->outputs[0];
    return 1;
}

/* A maximum, mean or sum over all positions. */
static int read_global(reader *r, const sis__step *s, sis__keep_kind kind, int mean) {
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    if (!v)
        return 0;
    const sis__map *m = &r->f->maps[v->map];
    cut_at(r, kind, s->inputs[0], s->outputs[0], m->channels);
    sis__keep_point *point = &r->f->points[r->f->n_points - 1];
    if (mean)
        point->linear.divisor = (double)sis__positions(m);
    if (kind == SIS__KEEP_MAX && v->map > 0 &&
        r->f->layers[v->map - 1].kind == SIS__LAYER_RELU) { /* it may as well come after */
        point->map = r->f->layers[v->map - 1].in[0];
        point->cut.relu = 1;
    }
    return 1;
}

static int read_reduce(reader *r, const sis__step *s) {
    const sis__tensor *x = tensor_of(r, s->inputs[0]);
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    unsigned char reduced[SIS__MAX_RANK];
    if (!v)
        return 0;
    sis__reduced_axes(x, &s->p.reduce, reduced);
    for (size_t d = 0; d < x->rank; d++) {
        if (x->dims[d] == 1)
            continue;
        if (reduced[d] ? (v->role[d] & SIS__CHANNELS) : v->role[d] != SIS__CHANNELS)
            return 0;
    }
    return read_global(r, s, s->op == SIS__OP_REDUCE_MAX ? SIS__KEEP_MAX : SIS__KEEP_MEAN,
                       s->op == SIS__OP_REDUCE_MEAN);
}

/* Does one window of the pool see every position, once? */
static int sees_all(const sis__window *w) {
    for (size_t d = 0; d < 3; d++)
        if (w->out[d] != 1 || w->pad[d] > 0 ||
            (w->in[d] > 1 && (w->dilation[d] != 1 || w->kernel[d] < w->in[d])))
            return 0;
    return 1;
}

static int read_max_pool(reader *r, const sis__step *s) {
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    size_t slot[3];
    if (!v || !sees_all(&s->p.window) || (s->n_outputs > 1 && s->outputs[1] >= 0) ||
        s->p.window.n != 1 || !find_slots(tensor_of(r, s->inputs[0]), v, slot))
        return 0;
    return read_global(r, s, SIS__KEEP_MAX, 0);
}

static int read_global_pool(reader *r, const sis__step *s, sis__keep_kind kind) {
    const sis__tensor *x = tensor_of(r, s->inputs[0]);
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    if (!v || x->rank < 2 || x->dims[0] != 1 || (x->dims[1] > 1 && v->role[1] != SIS__CHANNELS) ||
        r->f->maps[v->map].channels != x->dims[1])
        return 0;
    return read_global(r, s, kind, kind == SIS__KEEP_MEAN);
}

static void cut_whole(reader *r, int value) {
    if (value >= 0 && r->of[value].axes.map >= 0 && r->of[value].cut < 0)
        cut_at(r, SIS__KEEP_WHOLE, value, value, tensor_of(r, value)->count);
}

static int read_cut(reader *r, const sis__step *s) {
    switch (s->op) {
    case SIS__OP_GEMM:
    case SIS__OP_MATMUL:
        return read_dense(r, s);
    case SIS__OP_ADD:
    case SIS__OP_RELU:
        return read_after(r, s);
    case SIS__OP_MAX_POOL:
        return read_max_pool(r, s);
    case SIS__OP_GLOBAL_MAX_POOL:
        return read_global_pool(r, s, SIS__KEEP_MAX);
    case SIS__OP_GLOBAL_AVERAGE_POOL:
        return read_global_pool(r, s, SIS__KEEP_MEAN);
    case SIS__OP_REDUCE_MAX:
    case SIS__OP_REDUCE_MEAN:
    case SIS__OP_REDUCE_SUM:
        return read_reduce(r, s);
    default:
        return 0;
    }
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* 1: in the prefix, 0: not, negative: an error. */
static int read_step(reader *r, const sis__step *s) {
    if (s->n_inputs == 0 || s->outputs[0] < 0)
        return 0;
    sis__axis_map *out = &r->of[s->outputs[0]].axes;
    const sis__axis_map *v = axes_of(r, s->inputs[0]);
    if (v && sis__axis_map_through(r->plan, s, v, out))
        return 1;
    out->map = -1;
    int taken = read_cut(r, s);
    return taken ? taken : read_layer(r, s);
}

static int read_steps(reader *r) {
    const sis__plan *p = r->plan;
    for (size_t i = 0; i < p->n_steps; i++) {
        if (r->taken[i])
            continue;
        int taken = read_step(r, &p->steps[i]);
        if (taken < 0)
            return taken;
        r->taken[i] = taken > 0;
        r->taken_flops += taken > 0 ? p->steps[i].flops : 0;
    }
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; !r->taken[i] && k < p->steps[i].n_inputs; k++)
            cut_whole(r, p->steps[i].inputs[k]);
    for (size_t i = 0; i < p->n_outputs; i++)
        cut_whole(r, p->outputs[i]);
    return SIS_OK;
}

/* ---- In words ------------------------------------------------------------------------------ */

/* The largest box of a feature in the output of a layer. */
static void note_layer(const sis__prefix *f, const sis__layer *l) {
    const sis__map *m = &f->maps[l->out];
    int most[3] = {0, 0, 0};
    for (size_t j = 0; j < f->s->in.n; j++)
        for (size_t d = 0; d < 3; d++) {
            int n = m->box[j].hi[d] - m->box[j].lo[d];
            most[d] = n > most[d] ? n : most[d];
        }
    const char *kept = l->kind == SIS__LAYER_CONV && l->conv.point >= 0 ? ", kept" : "";
    if (m->whole.hi[0] > 1)
        sis__net_input_note(f->s, l->step, "window %d x %d x %d%s", most[0], most[1], most[2],
                            kept);
    else if (m->whole.hi[1] > 1)
        sis__net_input_note(f->s, l->step, "window %d x %d%s", most[1], most[2], kept);
    else
        sis__net_input_note(f->s, l->step, "window %d%s", most[2], kept);
}

static void note_steps(const reader *r) {
    static const char *const cuts[] = {[SIS__KEEP_DENSE] = "change kept, added",
                                       [SIS__KEEP_MEAN] = "change kept, added",
                                       [SIS__KEEP_MAX] = "maxima of the window and the rest"};
    const sis__prefix *f = r->f;
    for (size_t i = 0; i < r->plan->n_steps; i++) {
        const sis__step *s = &r->plan->steps[i];
        int cut = r->taken[i] && s->outputs[0] >= 0 ? r->of[s->outputs[0]].cut : -1;
        if (cut >= 0 && f->points[cut].kind != SIS__KEEP_WHOLE)
            sis__net_input_note(f->s, s, "%s", cuts[f->points[cut].kind]);
        else if (r->taken[i])
            sis__net_input_note(f->s, s, "each value by itself");
    }
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* Nothing is gained if most of the work is left to the head, or windows are most of the work. */
static int pays(const reader *r) {
    double all = r->plan->flops, left = all - r->taken_flops, moved = (double)r->f->row;
    return r->f->n_points > 0 && left + 2 * r->window_flops + 2 * moved < 0.8 * all;
}

static int build(reader *r) {
    int error = read_input(r);
    if (!error)
        error = read_steps(r);
    if (!error && !pays(r))
        error = SIS_E_UNSUPPORTED;
    if (error)
        return error;
    note_steps(r);
    error = sis__keep_init(r->f);
    for (size_t i = 0; !error && i < r->f->n_layers; i++)
        note_layer(r->f, &r->f->layers[i]);
    return error;
}

static int allocate(reader *r) {
    sis__prefix *f = r->f;
    size_t steps = r->plan->n_steps, n = r->plan->n_tensors;
    r->of = SIS_NEW(tensor_role, n);
    r->taken = SIS_NEW(unsigned char, steps);
    f->maps = SIS_NEW(sis__map, steps + 1);
    f->layers = SIS_NEW(sis__layer, steps);
    f->points =
        SIS_NEW(sis__keep_point, 2 * steps + n); /* convolutions, cuts by layers, whole tensors */
    if (!r->of || !r->taken || !f->maps || !f->layers || !f->points)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        r->of[i] = (tensor_role){.axes = {.map = -1}, .cut = -1};
    return SIS_OK;
}

int sis__prefix_new(const sis__net_input *s, sis__prefix **out) {
    sis__prefix *f = *out = SIS_NEW(sis__prefix, 1);
    if (!f)
        return SIS_E_NOMEM;
    reader r = {.f = f};
    f->s = s;
    f->kernels = sis__kernels_best();
    int error = sis__net_input_plan(s, -1, &f->plan);
    if (!error) {
        r.plan = f->plan;
        error = allocate(&r);
    }
    if (!error)
        error = build(&r);
    free(r.of);
    free(r.taken);
    if (error) {
        sis__prefix_free(f);
        *out = NULL;
    }
    return error;
}

void sis__prefix_free(sis__prefix *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->owned.n; i++)
        free(f->owned.at[i]);
    free((void *)f->owned.at);
    free(f->maps);
    free(f->layers);
    free(f->points);
    sis__plan_free(f->plan);
    free(f);
}
