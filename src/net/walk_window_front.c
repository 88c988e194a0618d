/* SPDX-License-Identifier: MIT
 *
 * Reading a network into maps, layers and sites. The steps of a plan are gone through in order; a
 * step joins the front if there is a rule for it and all it reads is constant or in the front
 * already. A dense layer, a sum or a maximum over all positions ends the front where it stands. What
 * the steps outside read from inside are the cuts.
 *
 * A layer also stays outside when it would not pay: when masking one feature changes most of its
 * output anyway, or when keeping the changes of all features would take too much memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops.h"
#include "net/walk_window.h"

static const double most_of_map = 0.7; /* a mean box larger than that is no window */
static const double close_calls =
    0.5; /* expected a feature, if differences between them are usual */
static const double faint_share = 1e-3;    /* of the largest difference between value and mask */
static const size_t most_values = 1 << 24; /* of the input */

/* What a tensor of the plan is to the front. */
typedef struct {
    sis__sight sight; /* sight.map >= 0: shows a map */
    int cut;          /* >= 0: a site that cuts */
} standing;

typedef struct {
    sis__front *f;
    const sis__plan *plan;
    standing *of;         /* (n_tensors) */
    unsigned char *taken; /* (n_steps) joined the front */
    double taken_flops;   /* of those */
    double window_flops;  /* the same inside boxes of mean size */
    size_t kept;          /* floats kept for candidates */
    int lead;             /* tensor that map 0 is */
} reader;

void *sis__front_alloc(sis__front *f, size_t n, size_t size) {
    void *list = (void *)f->owned, *memory = sis__alloc(n, size);
    if (!memory || sis__reserve(&list, &f->cap_owned, f->n_owned + 1, sizeof *f->owned) != SIS_OK) {
        free(memory);
        return NULL;
    }
    f->owned = (void **)list;
    f->owned[f->n_owned++] = memory;
    return memory;
}

static const sis__tensor *tensor(const reader *r, int i) {
    return &r->plan->tensors[i];
}

static const float *constant(const reader *r, int i) {
    return i >= 0 && tensor(r, i)->dtype == SIS__F32 ? (const float *)tensor(r, i)->data : NULL;
}

static const sis__sight *sight(const reader *r, int i) {
    return i >= 0 && r->of[i].sight.map >= 0 ? &r->of[i].sight : NULL;
}

static size_t positions(const sis__map *m) {
    return sis__box_volume(&m->whole);
}

/* ---- The input ----------------------------------------------------------------------------- */

/* The values of a row on their way to map 0: what each is, what it becomes, and which value of the
 * input that comes from. */
typedef struct {
    size_t n;
    float *x, *z;
    size_t *owner;
} lead;

static void lead_release(lead *l) {
    free(l->x);
    free(l->z);
    free(l->owner);
    *l = (lead){0};
}

static int lead_init(lead *l, size_t n) {
    *l = (lead){.n = n,
                .x = SIS_NEW_RAW(float, n),
                .z = SIS_NEW_RAW(float, n),
                .owner = SIS_NEW_RAW(size_t, n)};
    if (l->x && l->z && l->owner)
        return SIS_OK;
    lead_release(l);
    return SIS_E_NOMEM;
}

static void lead_copy(const lead *from, size_t i, lead *to, size_t k) {
    to->x[k] = from->x[i];
    to->z[k] = from->z[i];
    to->owner[k] = from->owner[i];
}

static void lead_transpose(const lead *from, const sis__strided *p, lead *to) {
    size_t index[SIS__MAX_RANK] = {0};
    ptrdiff_t at = p->offset;
    for (size_t k = 0; k < to->n; k++) {
        lead_copy(from, (size_t)at, to, k);
        for (size_t d = p->rank; d-- > 0;) {
            at += p->stride[d];
            if (++index[d] < p->dims[d])
                break;
            at -= p->stride[d] * (ptrdiff_t)p->dims[d];
            index[d] = 0;
        }
    }
}

/* Row of the matrix for a token, or NULL. */
static const float *embedding(const sis__tensor *matrix, float token) {
    double words = (double)matrix->dims[0], id = token < 0 ? (double)token + words : (double)token;
    if (!(id >= 0 && id < words))
        return NULL;
    return (const float *)matrix->data + (size_t)id * matrix->dims[1];
}

static int lead_gather(const lead *from, const sis__tensor *matrix, lead *to) {
    size_t dim = matrix->dims[1];
    for (size_t i = 0; i < from->n; i++) {
        const float *x = embedding(matrix, from->x[i]), *z = embedding(matrix, from->z[i]);
        if (!x || !z)
            return SIS_E_UNSUPPORTED;
        for (size_t c = 0; c < dim; c++) {
            to->x[i * dim + c] = x[c];
            to->z[i * dim + c] = z[c];
            to->owner[i * dim + c] = from->owner[i];
        }
    }
    return SIS_OK;
}

/* The only step that reads a tensor, or NULL. */
static const sis__step *only_reader(const sis__plan *p, int t) {
    const sis__step *found = NULL;
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; k < p->steps[i].n_inputs; k++)
            if (p->steps[i].inputs[k] == t) {
                if (found)
                    return NULL;
                found = &p->steps[i];
            }
    return found;
}

/* May the front begin behind this step, which reads tensor t? */
static int leads(const sis__plan *p, const sis__step *s, int t) {
    if (!s || p->tensors[s->outputs[0]].wanted)
        return 0;
    switch (s->op) {
    case SIS__OP_TRANSPOSE:
    case SIS__OP_RESHAPE:
    case SIS__OP_FLATTEN:
    case SIS__OP_SQUEEZE:
    case SIS__OP_UNSQUEEZE:
    case SIS__OP_IDENTITY:
        return s->inputs[0] == t;
    case SIS__OP_GATHER: {
        const sis__tensor *m = &p->tensors[s->inputs[0]];
        return s->inputs[1] == t && m->data && m->dtype == SIS__F32 && m->rank == 2 &&
               s->p.axis.axis == 0;
    }
    default:
        return 0;
    }
}

/* Follow the row through one such step. */
static int lead_step(const reader *r, const sis__step *s, lead *l) {
    lead next;
    if (s->op != SIS__OP_TRANSPOSE && s->op != SIS__OP_GATHER)
        return SIS_OK;
    int error = lead_init(&next, tensor(r, s->outputs[0])->count);
    if (error)
        return error;
    if (s->op == SIS__OP_TRANSPOSE)
        lead_transpose(l, &s->p.strided, &next);
    else
        error = lead_gather(l, tensor(r, s->inputs[0]), &next);
    lead_release(l);
    *l = next;
    return error;
}

static int find_lead(reader *r, lead *l) {
    const sis__subject *s = r->f->s;
    int error = lead_init(l, s->n_values);
    if (error)
        return error;
    memcpy(l->x, s->x, l->n * sizeof *l->x);
    memcpy(l->z, s->z, l->n * sizeof *l->z);
    for (size_t i = 0; i < l->n; i++)
        l->owner[i] = i;
    r->lead = s->fed;
    for (const sis__step *step; leads(r->plan, step = only_reader(r->plan, r->lead), r->lead);) {
        if ((error = lead_step(r, step, l)) != 0)
            return error;
        r->taken[step - r->plan->steps] = 1;
        r->lead = step->outputs[0];
    }
    const sis__tensor *t = tensor(r, r->lead);
    return t->dtype == SIS__F32 && t->count == l->n && l->n < most_values ? SIS_OK
                                                                          : SIS_E_UNSUPPORTED;
}

/* Where element i of the tensor lies in the map it shows. */
static sis__element element_at(const sis__tensor *t, const sis__sight *v, size_t i) {
    int at[4] = {0};
    for (size_t d = t->rank; d-- > 0; i /= t->dims[d])
        for (size_t k = 0; k < 4; k++)
            if (v->role[d] == 1 << k)
                at[k] = (int)(i % t->dims[d]);
    return (sis__element){.c = at[0], .z = at[1], .y = at[2], .x = at[3]};
}

static void input_size(const sis__tensor *t, const sis__sight *v, sis__map *m) {
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

/* Memory for the base and the boxes of a map. */
static int map_init(sis__front *f, sis__map *m) {
    m->base = (float *)sis__front_alloc(f, positions(m) * m->channels, sizeof *m->base);
    m->box = (sis__box *)sis__front_alloc(f, f->s->n_features, sizeof *m->box);
    return m->base && m->box ? SIS_OK : SIS_E_NOMEM;
}

static int feature_of(const sis__subject *s, size_t value) {
    return s->input->feature_of ? s->input->feature_of[value] : (int)value;
}

/* Elements sorted by feature, and the box of each feature. */
static void sort_elements(sis__front *f, const lead *l, const sis__tensor *t, const sis__sight *v) {
    sis__map *m = &f->maps[0];
    for (size_t i = 0; i < l->n; i++) {
        int j = feature_of(f->s, l->owner[i]);
        if (j >= 0)
            f->start[j + 1]++;
    }
    for (size_t j = 0; j < f->s->n_features; j++)
        f->start[j + 1] += f->start[j];
    for (size_t i = l->n; i-- > 0;) {
        sis__element e = element_at(t, v, i);
        int j = feature_of(f->s, l->owner[i]);
        f->input[sis__box_at(&m->whole, e.z, e.y, e.x) * m->channels + (size_t)e.c] = l->x[i];
        if (j < 0)
            continue;
        e.masked = l->z[i];
        f->elements[--f->start[j + 1]] = e;
        sis__box one = {{e.z, e.y, e.x}, {e.z + 1, e.y + 1, e.x + 1}};
        m->box[j] = sis__box_join(&m->box[j], &one);
    }
    /* start[j + 1] now holds where j begins: move down, and put the end back. */
    for (size_t j = 0; j < f->s->n_features; j++)
        f->start[j] = f->start[j + 1];
    size_t total = 0;
    for (size_t i = 0; i < l->n; i++)
        total += feature_of(f->s, l->owner[i]) >= 0;
    f->start[f->s->n_features] = total;
}

static int read_input(reader *r) {
    sis__front *f = r->f;
    lead l = {0};
    sis__sight v;
    int error = find_lead(r, &l);
    const sis__tensor *t = tensor(r, r->lead);
    if (!error) {
        int found = sis__sight_first(r->plan, r->lead, &v);
        error = found > 0 ? SIS_OK : found < 0 ? found : SIS_E_UNSUPPORTED;
    }
    if (!error) {
        sis__map *m = &f->maps[0];
        input_size(t, &v, m);
        error = map_init(f, m);
        f->input = (float *)sis__front_alloc(f, l.n, sizeof *f->input);
        f->elements = (sis__element *)sis__front_alloc(f, l.n, sizeof *f->elements);
        f->start = (size_t *)sis__front_alloc(f, f->s->n_features + 1, sizeof *f->start);
        if (!f->input || !f->elements || !f->start)
            error = SIS_E_NOMEM;
    }
    if (!error) {
        sort_elements(f, &l, t, &v);
        r->of[r->lead].sight = v;
    }
    lead_release(&l);
    return error;
}

/* ---- Layers -------------------------------------------------------------------------------- */

/* The layer and map a step would make; nothing is kept before accept(). */
static sis__layer *propose(reader *r, const sis__step *s, sis__layer_kind kind) {
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

/* Positions in the boxes of all features. */
static double windows(const sis__front *f, const sis__map *m) {
    double sum = 0;
    for (size_t j = 0; j < f->s->n_features; j++)
        sum += (double)sis__box_volume(&m->box[j]);
    return sum;
}

/* Does it pay to have the layer in the front? Then its output shows the new map. */
static int accept(reader *r, sis__layer *l) {
    sis__front *f = r->f;
    sis__map *out = &f->maps[l->out];
    int error = map_init(f, out);
    if (error)
        return error;
    find_boxes(f, l);
    double sum = windows(f, out), share = sum / (double)f->s->n_features / (double)positions(out);
    double floats = sum * (double)out->channels +
                    windows(f, &f->maps[l->in[0]]) * (double)f->maps[l->in[0]].channels;
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
static void show_same(reader *r, const sis__step *s, int from, int map) {
    r->of[s->outputs[0]].sight = r->of[from].sight;
    r->of[s->outputs[0]].sight.map = map;
}

/* The output (1, channels, positions...) of a sliding window; slot[d] is the map's axis of its
 * spatial axis d. */
static void show_image(reader *r, const sis__step *s, int map, const size_t *slot) {
    const sis__tensor *t = tensor(r, s->outputs[0]);
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
static int find_slots(const sis__tensor *t, const sis__sight *v, size_t *slot) {
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
static int read_window(reader *r, const sis__step *s, sis__layer_kind kind) {
    const sis__tensor *x = tensor(r, s->inputs[0]);
    const sis__sight *v = sight(r, s->inputs[0]);
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
        const float *w = constant(r, s->inputs[1]);
        int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
        l->bias = bias ? constant(r, s->inputs[2]) : NULL;
        if (!w || (bias && !l->bias) || !sis__layer_block(l))
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
    const sis__tensor *x = tensor(r, s->inputs[0]), *b = tensor(r, s->inputs[1]);
    const sis__sight *v = sight(r, s->inputs[0]);
    if (!v || x->rank < 3 || b->rank != 2 || b->dims[0] >= SIS__LONG ||
        !constant(r, s->inputs[1]) || x->dims[0] != 1 ||
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
    int taken = sis__layer_block(l) ? accept(r, l) : 0;
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
static int read_unary(reader *r, const sis__step *s) {
    const sis__sight *v = sight(r, s->inputs[0]);
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

static int read_norm(reader *r, const sis__step *s) {
    const sis__tensor *x = tensor(r, s->inputs[0]);
    const sis__sight *v = sight(r, s->inputs[0]);
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
static int spread_constant(reader *r, sis__layer *l, int operand, int other) {
    const sis__tensor *k = tensor(r, operand), *x = tensor(r, other);
    const sis__sight *v = sight(r, other);
    const sis__map *m = &r->f->maps[v->map];
    const float *values = constant(r, operand);
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
    float *copy = (float *)sis__front_alloc(r->f, positions(m) * m->channels, sizeof *copy);
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

static int same_sight(const reader *r, int a, int b) {
    const sis__tensor *x = tensor(r, a), *y = tensor(r, b);
    const sis__sight *v = sight(r, a), *u = sight(r, b);
    return x->rank == y->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0 &&
           memcmp(v->role, u->role, x->rank) == 0 &&
           memcmp(v->stride, u->stride, sizeof v->stride) == 0;
}

static int read_binary(reader *r, const sis__step *s) {
    if (s->n_inputs != 2 || s->inputs[0] < 0 || s->inputs[1] < 0)
        return 0;
    int a = s->inputs[0], b = s->inputs[1];
    const sis__sight *v = sight(r, a), *u = sight(r, b);
    if (!(v && u) && !(v && constant(r, b)) && !(u && constant(r, a) && s->op != SIS__OP_PRELU))
        return 0;
    int main = v ? a : b;
    const sis__tensor *x = tensor(r, main), *y = tensor(r, s->outputs[0]);
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
static int read_concat(reader *r, const sis__step *s) {
    const sis__tensor *y = tensor(r, s->outputs[0]);
    size_t axis = s->p.axis.axis, channels = 0, stride = 1;
    if (s->n_inputs > SIS__LAYER_INPUTS)
        return 0;
    sis__layer *l = propose(r, s, SIS__LAYER_CONCAT);
    const sis__sight *first = sight(r, s->inputs[0]);
    for (size_t i = 0; i < s->n_inputs; i++) {
        const sis__sight *v = sight(r, s->inputs[i]);
        if (!v || (v->role[axis] | SIS__CHANNELS) != SIS__CHANNELS)
            return 0;
        const sis__map *m = &r->f->maps[v->map];
        if (m->channels != tensor(r, s->inputs[i])->dims[axis] ||
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

/* ---- Sites --------------------------------------------------------------------------------- */

static int cut_at(reader *r, sis__site_kind kind, int from, int value, size_t width) {
    sis__front *f = r->f;
    sis__site *s = &f->sites[f->n_sites];
    *s = (sis__site){.kind = kind,
                     .map = r->of[from].sight.map,
                     .value = value,
                     .width = width,
                     .at = f->row,
                     .sight = r->of[from].sight,
                     .divisor = 1};
    f->row += width;
    r->of[value].cut = (int)f->n_sites++;
    return 1;
}

/* Gemm, or MatMul with a row on the left. */
static int read_dense(reader *r, const sis__step *s) {
    const sis__gemm *g = &s->p.gemm;
    const sis__sight *v = sight(r, s->inputs[0]);
    int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
    if (!v || g->m != 1 || g->trans_a || !g->packed || g->over.rank || g->k < SIS__LONG ||
        (bias && !constant(r, s->inputs[2])))
        return 0;
    int taken = cut_at(r, SIS__SITE_DENSE, s->inputs[0], s->outputs[0], g->n);
    r->f->sites[r->f->n_sites - 1].step = s;
    return taken;
}

/* A step behind a dense cut that every row would have to go through: its bias, its Relu. */
static int read_after(reader *r, const sis__step *s) {
    int in = s->inputs[0], other = -1;
    if (s->op == SIS__OP_ADD && r->of[in].cut < 0)
        in = s->inputs[1];
    if (s->op == SIS__OP_ADD)
        other = in == s->inputs[0] ? s->inputs[1] : s->inputs[0];
    sis__site *site = in >= 0 && r->of[in].cut >= 0 ? &r->f->sites[r->of[in].cut] : NULL;
    if (!site || site->kind != SIS__SITE_DENSE || site->value != in || site->relu ||
        only_reader(r->plan, in) != s || tensor(r, in)->wanted)
        return 0;
    if (s->op == SIS__OP_ADD) {
        const sis__tensor *k = tensor(r, other), *y = tensor(r, s->outputs[0]);
        if (!constant(r, other) || k->count != site->width || k->dims[k->rank - 1] != site->width ||
            y->count != site->width || site->plus)
            return 0;
        site->plus = constant(r, other);
    } else {
        site->relu = 1;
    }
    r->of[s->outputs[0]].cut = r->of[in].cut;
    site->value = s->outputs[0];
    return 1;
}

/* A maximum, mean or sum over all positions. */
static int read_global(reader *r, const sis__step *s, sis__site_kind kind, int mean) {
    const sis__sight *v = sight(r, s->inputs[0]);
    if (!v)
        return 0;
    const sis__map *m = &r->f->maps[v->map];
    cut_at(r, kind, s->inputs[0], s->outputs[0], m->channels);
    if (mean)
        r->f->sites[r->f->n_sites - 1].divisor = (double)positions(m);
    return 1;
}

static int read_reduce(reader *r, const sis__step *s) {
    const sis__tensor *x = tensor(r, s->inputs[0]);
    const sis__sight *v = sight(r, s->inputs[0]);
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
    return read_global(r, s, s->op == SIS__OP_REDUCE_MAX ? SIS__SITE_MAX : SIS__SITE_MEAN,
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
    const sis__sight *v = sight(r, s->inputs[0]);
    size_t slot[3];
    if (v && sees_all(&s->p.window) && (s->n_outputs < 2 || s->outputs[1] < 0) &&
        s->p.window.n == 1 && find_slots(tensor(r, s->inputs[0]), v, slot))
        return read_global(r, s, SIS__SITE_MAX, 0);
    return read_pool(r, s, SIS__LAYER_MAX);
}

static int read_global_pool(reader *r, const sis__step *s, sis__site_kind kind) {
    const sis__tensor *x = tensor(r, s->inputs[0]);
    const sis__sight *v = sight(r, s->inputs[0]);
    if (!v || x->rank < 2 || x->dims[0] != 1 || (x->dims[1] > 1 && v->role[1] != SIS__CHANNELS) ||
        r->f->maps[v->map].channels != x->dims[1])
        return 0;
    return read_global(r, s, kind, kind == SIS__SITE_MEAN);
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* 1: in the front, 0: not, negative: an error. */
static int read_step(reader *r, const sis__step *s) {
    const sis__sight *v = s->n_inputs ? sight(r, s->inputs[0]) : NULL;
    if (s->n_inputs == 0 || s->outputs[0] < 0)
        return 0;
    if (v && sis__sight_through(r->plan, s, v, &r->of[s->outputs[0]].sight))
        return 1;
    r->of[s->outputs[0]].sight.map = -1;
    if ((s->op == SIS__OP_RELU || s->op == SIS__OP_ADD) && read_after(r, s))
        return 1;
    switch (s->op) {
    case SIS__OP_CONV:
        return read_window(r, s, SIS__LAYER_CONV);
    case SIS__OP_MAX_POOL:
        return read_max_pool(r, s);
    case SIS__OP_AVERAGE_POOL:
        return read_pool(r, s, SIS__LAYER_AVERAGE);
    case SIS__OP_GLOBAL_MAX_POOL:
        return read_global_pool(r, s, SIS__SITE_MAX);
    case SIS__OP_GLOBAL_AVERAGE_POOL:
        return read_global_pool(r, s, SIS__SITE_MEAN);
    case SIS__OP_REDUCE_MAX:
    case SIS__OP_REDUCE_MEAN:
    case SIS__OP_REDUCE_SUM:
        return read_reduce(r, s);
    case SIS__OP_MATMUL: {
        int taken = read_pointwise(r, s);
        return taken ? taken : read_dense(r, s);
    }
    case SIS__OP_GEMM:
        return read_dense(r, s);
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

/* A tensor inside the front that is read outside becomes a cut. */
static void cut_whole(reader *r, int value) {
    if (value >= 0 && r->of[value].sight.map >= 0 && r->of[value].cut < 0)
        cut_at(r, SIS__SITE_WHOLE, value, value, tensor(r, value)->count);
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

/* ---- What is kept -------------------------------------------------------------------------- */

/* Positions of the box of a feature that others' boxes meet, summed over the others: the mean over
 * some features. */
static double overlap(const sis__front *f, const sis__map *m) {
    size_t n = f->s->n_features, step = n / 32 + 1, asked = 0, met = 0;
    for (size_t i = 0; i < n; i += step, asked++)
        for (size_t j = 0; j < n; j++) {
            sis__box b = sis__box_meet(&m->box[i], &m->box[j]);
            met += sis__box_volume(&b);
        }
    return asked ? (double)met / (double)asked : 0;
}

/* Features whose values are all but their mask: candidates that differ by less than rounding does
 * until they are all masked. */
static double faint_features(const sis__front *f) {
    size_t n = f->s->n_features, faint = 0;
    double top = 0;
    for (int pass = 0; pass < 2; pass++)
        for (size_t j = 0; j < n; j++) {
            double most = 0;
            for (size_t k = f->s->start[j]; k < f->s->start[j + 1]; k++) {
                size_t v = f->s->value[k];
                most = fmax(most, fabs((double)f->s->z[v] - (double)f->s->x[v]));
            }
            top = pass == 0 ? fmax(top, most) : top;
            faint += pass == 1 && most > 0 && most < faint_share * top;
        }
    return (double)faint;
}

/* Is computing candidates as a full pass does cheaper than asking for full passes where they are too
 * close? Close calls are few, except between faint features: each of them against all others. */
static int prefers_exact(const reader *r) {
    const sis__front *f = r->f;
    double n = (double)f->s->n_features, faint = faint_features(f), flops = 0;
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__map *out = &f->maps[f->layers[i].out];
        if (f->layers[i].kind == SIS__LAYER_CONV)
            flops += f->layers[i].step->flops / (double)positions(out) *
                     (2 * windows(f, out) + n / 2 * overlap(f, out));
    }
    return flops <= (close_calls * n + faint * faint / 2) * r->plan->flops;
}

/* A site at every convolution, ahead of the cuts. */
static void site_convolutions(sis__front *f) {
    size_t n = 0;
    for (size_t i = 0; i < f->n_layers; i++)
        n += f->layers[i].kind == SIS__LAYER_CONV;
    memmove(f->sites + n, f->sites, f->n_sites * sizeof *f->sites);
    f->n_sites += n;
    n = 0;
    for (size_t i = 0; i < f->n_layers; i++) {
        sis__layer *l = &f->layers[i];
        if (l->kind != SIS__LAYER_CONV)
            continue;
        l->site = (int)n;
        f->sites[n++] = (sis__site){.kind = f->exact ? SIS__SITE_KEEP : SIS__SITE_CONV,
                                    .map = f->exact ? l->out : l->in[0],
                                    .layer = (int)i,
                                    .value = -1,
                                    .divisor = 1};
    }
}

/* A Relu reads what is kept for the convolution in front of it. */
static void fuse(sis__front *f) {

    for (size_t i = 0; i < f->n_layers; i++) {
        sis__layer *l = &f->layers[i];
        int from = l->in[0] - 1;
        l->fused = l->kind == SIS__LAYER_RELU && from >= 0 && f->layers[from].site >= 0;
    }
}

/* Rows of the dense layer's weights in the order of the map. */
static int dense_weights(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    const sis__gemm *g = &s->step->p.gemm;
    size_t nr = sis__kernels_best()->nr, panels = (g->n + nr - 1) / nr;
    s->padded = panels * nr;
    s->weights = (float *)sis__front_alloc(f, g->k, s->padded * sizeof *s->weights);
    s->length = (double *)sis__front_alloc(f, s->padded, sizeof *s->length);
    if (!s->weights || !s->length)
        return SIS_E_NOMEM;
    float *to = s->weights;
    SIS__EACH_ROW(&m->whole, z, y)
    for (int x = 0; x < m->whole.hi[2]; x++)
        for (size_t c = 0; c < m->channels; c++) {
            size_t k = (size_t)z * s->sight.stride[1] + (size_t)y * s->sight.stride[2] +
                       (size_t)x * s->sight.stride[3] + c * s->sight.stride[0];
            for (size_t i = 0; i < panels; i++, to += nr)
                memcpy(to, g->packed + (i * g->k + k) * nr, nr * sizeof *to);
        }
    for (size_t i = 0; i < g->k * s->padded; i++)
        s->length[i % s->padded] += (double)s->weights[i] * (double)s->weights[i];
    for (size_t i = 0; i < s->padded; i++)
        s->length[i] = sqrt(s->length[i]);
    return SIS_OK;
}

static size_t take(size_t *used, size_t n) {
    size_t at = *used;
    *used += (n + 15) / 16 * 16;
    return at;
}

/* Places in the stores for what a site keeps. */
static void place_spots(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    int wide = s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN;
    size_t n = f->s->n_features, *used = wide ? &f->n_wide : &f->n_store;
    for (size_t j = 0; j < n && s->kind != SIS__SITE_MAX; j++)
        s->spots[j].in = take(used, sis__box_volume(&m->box[j]) * m->channels);
    /* What cuts read at every step lies together. */
    for (size_t j = 0; j < n; j++) {
        size_t out = wide ? s->padded : s->kind == SIS__SITE_MAX ? m->channels : 0;
        if (s->kind == SIS__SITE_CONV) {
            const sis__map *to = &f->maps[f->layers[s->layer].out];
            out = sis__box_volume(&to->box[j]) * to->channels;
        }
        s->spots[j].out = take(used, out);
    }
}

static int site_init(sis__front *f, sis__site *s) {
    const sis__map *m = &f->maps[s->map];
    s->spots = (sis__spot *)sis__front_alloc(f, f->s->n_features, sizeof *s->spots);
    int error = s->spots ? SIS_OK : SIS_E_NOMEM;
    if (!error && s->kind == SIS__SITE_DENSE)
        error = dense_weights(f, s);
    if (!error && s->kind == SIS__SITE_MAX)
        error = sis__top_init(f, &s->top, m, f->s->n_features);
    if (!error && s->kind == SIS__SITE_MEAN)
        s->padded = m->channels;
    if (!error && (s->kind == SIS__SITE_DENSE || s->kind == SIS__SITE_MEAN)) {
        s->sums = (double *)sis__front_alloc(f, s->padded, sizeof *s->sums);
        s->slack = (double *)sis__front_alloc(f, s->padded, sizeof *s->slack);
        if (f->exact)
            s->flat = (float *)sis__front_alloc(f, positions(m) * m->channels, sizeof *s->flat);
        error = s->sums && s->slack && (s->flat || !f->exact) ? SIS_OK : SIS_E_NOMEM;
    }
    if (!error)
        place_spots(f, s);
    return error;
}

/* ---- Scratch ------------------------------------------------------------------------------- */

/* The largest box of each map that computing a candidate can ask for. */
static int windows_init(sis__front *f) {
    size_t n = f->s->n_features;
    for (size_t m = 0; m <= f->n_layers; m++) {
        size_t most = 1;
        for (size_t j = 0; j < n; j++) {
            sis__box b = f->maps[m].box[j];
            for (size_t i = 0; i < f->n_layers; i++)
                for (size_t k = 0; k < f->layers[i].n_in; k++)
                    if (f->layers[i].in[k] == (int)m) {
                        const sis__layer *l = &f->layers[i];
                        sis__box see = sis__layer_field(l, &f->maps[m], &f->maps[l->out].box[j]);
                        b = sis__box_join(&b, &see);
                    }
            size_t volume = sis__box_volume(&b);
            most = volume > most ? volume : most;
        }
        f->maps[m].window =
            (float *)sis__front_alloc(f, most * f->maps[m].channels, sizeof *f->maps[m].window);
        if (!f->maps[m].window)
            return SIS_E_NOMEM;
    }
    return SIS_OK;
}

static size_t larger(size_t a, size_t b) {
    return a > b ? a : b;
}

static int scratch_init(sis__front *f) {
    size_t field = 1, filters = 1, channels = 1, row = 1;
    for (size_t i = 0; i < f->n_layers; i++) {
        const sis__layer *l = &f->layers[i];
        if (l->kind != SIS__LAYER_CONV)
            continue;
        field = larger(field, (size_t)l->field[0] * (size_t)l->field[1] * (size_t)l->field[2] *
                                  l->w.channels);
        filters = larger(filters, l->w.filters);
    }

    for (size_t i = 0; i <= f->n_layers; i++) {
        channels = larger(channels, f->maps[i].channels);
        row = larger(row, (size_t)f->maps[i].whole.hi[2] * f->maps[i].channels);
    }
    f->field = (float *)sis__front_alloc(f, field, sizeof *f->field);
    f->origin = (const float **)sis__front_alloc(f, SIS__BLOCK, sizeof *f->origin);
    f->products = (float *)sis__front_alloc(f, SIS__BLOCK * filters, sizeof *f->products);

    f->totals = (double *)sis__front_alloc(f, channels, sizeof *f->totals);
    f->index = (int *)sis__front_alloc(f, row + 16, sizeof *f->index);
    f->change = (float *)sis__front_alloc(f, channels + 16, sizeof *f->change);
    f->wide_change = (double *)sis__front_alloc(f, row + 16, sizeof *f->wide_change);
    f->need = (sis__box *)sis__front_alloc(f, f->n_layers + 1, sizeof *f->need);
    f->work = (sis__box *)sis__front_alloc(f, f->n_layers + 1, sizeof *f->work);
    f->store = (float *)sis__front_alloc(f, f->n_store, sizeof *f->store);
    f->wide = (double *)sis__front_alloc(f, f->n_wide, sizeof *f->wide);
    return f->field && f->origin && f->products && f->totals && f->index && f->change &&
                   f->wide_change && f->need && f->work && f->store && f->wide
               ? windows_init(f)
               : SIS_E_NOMEM;
}

/* ---- The whole ----------------------------------------------------------------------------- */

/* Nothing is gained if most of the work is left to the head, or windows are most of the work. */
static int pays(const reader *r) {
    double all = r->plan->flops, left = all - r->taken_flops;
    return r->f->n_sites > 0 && left + 2 * r->window_flops < 0.8 * all;
}

static int build(reader *r) {
    sis__front *f = r->f;
    int error = read_input(r);
    if (!error)
        error = read_steps(r);
    if (!error && !pays(r))
        error = SIS_E_UNSUPPORTED;
    if (error)
        return error;
    f->exact = prefers_exact(r);
    site_convolutions(f);
    fuse(f);
    for (size_t i = 0; i < f->n_layers && !error; i++)
        if (f->layers[i].kind == SIS__LAYER_CONV)
            error = sis__layer_weights(f, &f->layers[i], constant(r, f->layers[i].step->inputs[1]),
                                       f->layers[i].op == SIS__OP_MATMUL);
    for (size_t i = 0; i < f->n_sites && !error; i++)
        error = site_init(f, &f->sites[i]);
    if (!error && f->n_store + 2 * f->n_wide > f->s->memory / sizeof(float))
        error = SIS_E_UNSUPPORTED;
    return error ? error : scratch_init(f);
}

static int allocate(reader *r) {
    sis__front *f = r->f;
    size_t steps = r->plan->n_steps, n = r->plan->n_tensors;
    r->of = SIS_NEW(standing, n);
    r->taken = SIS_NEW(unsigned char, steps);
    f->maps = SIS_NEW(sis__map, steps + 1);
    f->layers = SIS_NEW(sis__layer, steps);
    f->sites = SIS_NEW(sis__site, 2 * steps + n); /* convolutions, cuts by layers, whole tensors */
    if (!r->of || !r->taken || !f->maps || !f->layers || !f->sites)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        r->of[i] = (standing){.sight = {.map = -1}, .cut = -1};
    return SIS_OK;
}

int sis__front_new(const sis__subject *s, sis__front **out) {
    sis__front *f = *out = SIS_NEW(sis__front, 1);
    if (!f)
        return SIS_E_NOMEM;
    reader r = {.f = f};
    f->s = s;
    int error = sis__subject_plan(s, -1, &f->plan);
    if (!error) {
        r.plan = f->plan;
        error = allocate(&r);
    }
    if (!error)
        error = build(&r);
    free(r.of);
    free(r.taken);
    if (error) {
        sis__front_free(f);
        *out = NULL;
    }
    return error;
}

void sis__front_free(sis__front *f) {
    if (!f)
        return;
    for (size_t i = 0; i < f->n_owned; i++)
        free(f->owned[i]);
    free((void *)f->owned);
    free(f->maps);
    free(f->layers);
    free(f->sites);
    sis__plan_free(f->plan);
    free(f);
}
