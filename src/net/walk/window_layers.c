/* SPDX-License-Identifier: MIT
 *
 * Layers over boxes. A layer computes any box of its output from parts of its inputs that contain
 * the needed values; the same code serves the base (parts are whole maps) and candidates (parts are
 * windows around the change). Results have the bits of a full pass: a convolution adds its terms in
 * the operator's order with the same kernel, averages are summed in double, everything else is one
 * operation per element.
 *
 * A candidate's values are requested by map and box. The request is passed back from layer to layer
 * until it reaches the input or a convolution with kept sums; then the layers run forward, each
 * only inside the candidate's own box. Outside it the values are those of the base.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"
#include "net/ops/sliding.h"
#include "net/walk/window.h"

/* ---- Shapes ---------------------------------------------------------------------------------- */

static int slides(const sis__layer *l) {
    return l->kind <= SIS__LAYER_PAD;
}

static int divide_up(int a, int b) {
    return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static int divide_down(int a, int b) {
    return a >= 0 ? a / b : -((-a + b - 1) / b);
}

sis__box sis__layer_reach(const sis__layer *l, const sis__map *out, const sis__box *b) {
    if (!slides(l))
        return *b;
    sis__box r;
    for (size_t d = 0; d < 3; d++) {
        int stride = (int)l->w.stride[d], pad = (int)l->w.pad[d];
        int span = (int)((l->w.kernel[d] - 1) * l->w.dilation[d]);
        r.lo[d] = divide_up(b->lo[d] + pad - span, stride);
        r.hi[d] = divide_down(b->hi[d] - 1 + pad, stride) + 1;
    }
    return sis__box_empty(b) ? *b : sis__box_meet(&r, &out->whole);
}

sis__box sis__layer_sees(const sis__layer *l, const sis__box *b) {
    sis__box r;
    for (size_t d = 0; d < 3; d++) {
        int stride = (int)l->w.stride[d], pad = (int)l->w.pad[d];
        int span = (int)((l->w.kernel[d] - 1) * l->w.dilation[d]);
        r.lo[d] = b->lo[d] * stride - pad;
        r.hi[d] = (b->hi[d] - 1) * stride - pad + span + 1;
    }
    return r;
}

sis__box sis__layer_field(const sis__layer *l, const sis__map *in, const sis__box *b) {
    if (!slides(l) || sis__box_empty(b))
        return *b;
    sis__box r = sis__layer_sees(l, b);
    return sis__box_meet(&r, &in->whole);
}

/* ---- Pooling ------------------------------------------------------------------------------- */

/* The part of the window of output o that lies inside the input. */
typedef struct {
    size_t from[3], to[3];
} span;

static span span_of(const sis__window *w, const int *o) {
    span s;
    for (size_t d = 0; d < 3; d++)
        sis__window_span(w, d, (size_t)o[d], &s.from[d], &s.to[d]);
    return s;
}

static const float *seen(const sis__layer *l, const sis__part *in, const int *o, const size_t *k) {
    int at[3];
    for (size_t d = 0; d < 3; d++)
        at[d] = o[d] * (int)l->w.stride[d] - (int)l->w.pad[d] + (int)(k[d] * l->w.dilation[d]);
    return sis__part_at(in, l->w.channels, at[0], at[1], at[2]);
}

/* Maxima of n adjacent outputs, from output o on, whose windows have the same shape. */
static void pool_max(const sis__prefix *f, const sis__layer *l, const sis__part *in, const int *o,
                     const span *s, size_t n, float *y) {
    size_t k[3], channels = l->w.channels, step = l->w.dilation[2] * channels;
    sis__window_maxima m = {
        .x = f->scratch.lines, .n = n, .step = l->w.stride[2] * channels, .channels = channels};
    for (k[0] = s->from[0]; k[0] < s->to[0]; k[0]++)
        for (k[1] = s->from[1]; k[1] < s->to[1]; k[1]++) {
            k[2] = s->from[2];
            if (k[2] == s->to[2])
                continue;
            const float *x = seen(l, in, o, k);
            for (; k[2] < s->to[2]; k[2]++, x += step)
                f->scratch.lines[m.count++] = x;
        }
    if (m.count)
        f->kernels->window_maxima(&m, y);
    for (size_t c = 0; !m.count && c < n * channels; c++)
        y[c] = -INFINITY;
}

/* A row of outputs; windows at the edges are smaller. */
static void pool_max_row(const sis__prefix *f, const sis__layer *l, const sis__part *in, int *o,
                         int end, float *y) {
    span s = span_of(&l->w, o);
    while (o[2] < end) {
        span next = s;
        int x = o[2] + 1;
        for (; x < end; x++) {
            sis__window_span(&l->w, 2, (size_t)x, &next.from[2], &next.to[2]);
            if (next.from[2] != s.from[2] || next.to[2] != s.to[2])
                break;
        }
        pool_max(f, l, in, o, &s, (size_t)(x - o[2]), y);
        y += (size_t)(x - o[2]) * l->w.channels;
        o[2] = x;
        s = next;
    }
}

/* The divisor as in net/ops/pool.c. */
static size_t divisor(const sis__window *w, const span *s, const int *o) {
    size_t n = 1;
    for (size_t d = 0; d < 3; d++) {
        size_t start = (size_t)o[d] * w->stride[d];
        size_t end = w->in[d] + (size_t)w->pad[d] + w->pad_end[d];
        size_t there = (end - start + w->dilation[d] - 1) / w->dilation[d];
        n *= !w->include_pad ? s->to[d] - s->from[d] : there < w->kernel[d] ? there : w->kernel[d];
    }
    return n;
}

static void pool_average(const sis__prefix *f, const sis__layer *l, const sis__part *in,
                         const int *o, float *y) {
    span s = span_of(&l->w, o);
    size_t k[3], n = l->w.channels, count = divisor(&l->w, &s, o);
    memset(f->scratch.totals, 0, n * sizeof *f->scratch.totals);
    for (k[0] = s.from[0]; k[0] < s.to[0]; k[0]++)
        for (k[1] = s.from[1]; k[1] < s.to[1]; k[1]++)
            for (k[2] = s.from[2]; k[2] < s.to[2]; k[2]++) {
                const float *x = seen(l, in, o, k);
                for (size_t c = 0; c < n; c++)
                    f->scratch.totals[c] += x[c];
            }
    for (size_t c = 0; c < n; c++)
        y[c] = count ? (float)(f->scratch.totals[c] / (double)count) : 0.0f;
}

static void run_pool(sis__prefix *f, const sis__layer *l, const sis__part *in, const sis__part *out,
                     const sis__box *r) {
    SIS__EACH_ROW(r, z, y) {
        int o[3] = {z, y, r->lo[2]};
        float *to = sis__part_at(out, l->w.channels, z, y, o[2]);
        if (l->kind == SIS__LAYER_MAX)
            pool_max_row(f, l, in, o, r->hi[2], to);
        for (; o[2] < r->hi[2]; o[2]++, to += l->w.channels)
            pool_average(f, l, in, o, to);
    }
}

/* The input, shifted, with the constant around it. */
static void run_pad(const sis__prefix *f, const sis__layer *l, const sis__part *in,
                    const sis__part *out, const sis__box *r) {
    const sis__box *inner = &f->maps[l->in[0]].whole;
    size_t channels = f->maps[l->out].channels;
    SIS__EACH_ROW(r, z, y)
    for (int x = r->lo[2]; x < r->hi[2]; x++) {
        float *to = sis__part_at(out, channels, z, y, x);
        int at[3] = {z - (int)l->w.pad[0], y - (int)l->w.pad[1], x - (int)l->w.pad[2]};
        sis__box one = {{at[0], at[1], at[2]}, {at[0] + 1, at[1] + 1, at[2] + 1}};
        if (sis__box_meets(inner, &one))
            memcpy(to, sis__part_at(in, channels, at[0], at[1], at[2]), channels * sizeof *to);
        else
            for (size_t c = 0; c < channels; c++)
                to[c] = *l->scale;
    }
}

/* ---- Element by element --------------------------------------------------------------------- */

/* The operator's own code on a row of positions: the tensors of its step. */
typedef struct {
    sis__tensor tensors[SIS__LAYER_INPUTS + 1];
    void *data[SIS__LAYER_INPUTS + 1];
    int numbers[SIS__LAYER_INPUTS + 1];
    sis__plan plan;
    sis__run run;
    sis__step step;
} stage;

static sis__tensor row_of(const sis__tensor *like, size_t positions, size_t channels) {
    sis__tensor t = *like;
    t.rank = 2;
    t.dims[0] = positions;
    t.dims[1] = channels;
    t.count = positions * channels;
    return t;
}

/* For rows of n positions. */
static void stage_init(stage *g, const sis__prefix *f, const sis__layer *l, size_t n) {
    const sis__step *s = l->step;
    const sis__tensor *t[3] = {g->tensors, g->tensors + 1, g->tensors + 2}, *all = f->plan->tensors;
    size_t channels = f->maps[l->out].channels, inputs = s->n_inputs;
    for (size_t i = 0; i < inputs; i++) {
        const sis__map_operand *o = &l->operands[i];
        int map = o->map >= 0;
        g->tensors[i] = row_of(&all[s->inputs[i]], map || o->position ? n : 1,
                               map || o->channel ? channels : 1);
        g->numbers[i] = (int)i;
    }
    g->tensors[inputs] = row_of(&all[s->outputs[0]], n, channels);
    g->numbers[inputs] = (int)inputs;
    g->plan = (sis__plan){.graph = f->plan->graph, .n_tensors = inputs + 1, .tensors = g->tensors};
    g->run = (sis__run){.plan = &g->plan, .data = g->data};
    g->step = *s;
    g->step.n_outputs = 1;
    g->step.inputs = g->numbers;
    g->step.outputs = g->numbers + inputs;
    if (inputs > 1 && inputs <= 3) { /* several inputs are broadcast */
        sis__broadcast_init(&g->step.p.broadcast, 2, g->tensors[inputs].dims, t, inputs);
        g->step.p.broadcast.choice = s->p.broadcast.choice;
    }
}

/* The row whose first position has index `at` in the whole map and is at p. */
static void stage_run(stage *g, const sis__layer *l, const sis__part *in, size_t channels,
                      const int *p, size_t at, float *to) {
    size_t inputs = l->step->n_inputs;
    for (size_t i = 0; i < inputs; i++) {
        const sis__map_operand *o = &l->operands[i];
        const void *from =
            o->map >= 0
                ? (const void *)sis__part_at(&in[o->map], channels, p[0], p[1], p[2])
                : (const char *)o->at + at * o->position * sis__dtype_size(g->tensors[i].dtype);
        g->data[i] = (void *)(uintptr_t)from;
    }
    g->data[inputs] = to;
    g->step.ops->forward(&g->step, &g->run);
}

static void affine_row(const sis__layer *l, const float *x, float *y, size_t n, size_t channels) {
    for (size_t i = 0; i < n; i++, x += channels, y += channels)
        for (size_t c = 0; c < channels; c++)
            y[c] = x[c] * l->scale[c] + l->shift[c];
}

/* Is it a sum of two maps, or of a map and one number per channel, such as a bias? Both are so
 * common that the operator's general code costs more than the sums. */
static int adds_plainly(const sis__prefix *f, const sis__layer *l) {
    int maps = 0;
    if (l->kind != SIS__LAYER_ELEMENTS || l->op != SIS__OP_ADD ||
        f->plan->tensors[l->step->outputs[0]].elem != SIS__FLOAT)
        return 0; /* narrower types are rounded */
    for (size_t i = 0; i < 2; i++) {
        const sis__map_operand *o = &l->operands[i];
        if (f->plan->tensors[l->step->inputs[i]].dtype != SIS__F32 ||
            (o->map < 0 && (o->position != 0 || o->channel != 1)))
            return 0;
        maps += o->map >= 0;
    }
    return maps > 0;
}

static void add_row(const sis__prefix *f, const sis__layer *l, const sis__part *in, const int *p,
                    size_t n, size_t channels, float *y) {
    const float *x[2];
    size_t step[2];
    for (size_t i = 0; i < 2; i++) {
        const sis__map_operand *o = &l->operands[i];
        x[i] = o->map >= 0 ? sis__part_at(&in[o->map], channels, p[0], p[1], p[2])
                           : (const float *)o->at;
        step[i] = o->map >= 0 ? channels : 0;
    }
    size_t together = step[0] == step[1] ? n : 1;
    for (size_t i = 0; i < n; i += together) {
        f->kernels->add_up(x, 2, together * channels, 0, y + i * channels);
        x[0] += step[0];
        x[1] += step[1];
    }
}

static void run_elements(sis__prefix *f, const sis__layer *l, const sis__part *in,
                         const sis__part *out, const sis__box *r) {
    const sis__map *m = &f->maps[l->out];
    size_t channels = m->channels, n = (size_t)(r->hi[2] - r->lo[2]);
    int plain = adds_plainly(f, l);
    stage g;
    if (l->kind == SIS__LAYER_ELEMENTS && !plain)
        stage_init(&g, f, l, n);
    SIS__EACH_ROW(r, z, y) {
        float *to = sis__part_at(out, channels, z, y, r->lo[2]);
        const float *x = sis__part_at(&in[0], channels, z, y, r->lo[2]);
        if (l->kind == SIS__LAYER_RELU)
            f->kernels->relu(x, to, n * channels);
        else if (l->kind == SIS__LAYER_AFFINE)
            affine_row(l, x, to, n, channels);
        else if (plain)
            add_row(f, l, in, (int[]){z, y, r->lo[2]}, n, channels, to);
        else
            stage_run(&g, l, in, channels, (int[]){z, y, r->lo[2]},
                      sis__box_at(&m->whole, z, y, r->lo[2]), to);
    }
}

static void run_concat(sis__prefix *f, const sis__layer *l, const sis__part *in,
                       const sis__part *out, const sis__box *r) {
    size_t channels = f->maps[l->out].channels;
    SIS__EACH_ROW(r, z, y)
    for (int x = r->lo[2]; x < r->hi[2]; x++) {
        float *to = sis__part_at(out, channels, z, y, x);
        for (size_t i = 0; i < l->n_in; i++) {
            size_t n = f->maps[l->in[i]].channels;
            memcpy(to, sis__part_at(&in[i], n, z, y, x), n * sizeof *to);
            to += n;
        }
    }
}

static void run_layer(sis__prefix *f, const sis__layer *l, const sis__part *in,
                      const sis__part *out, const sis__box *r) {
    switch (l->kind) {
    case SIS__LAYER_CONV:
        sis__conv_run(f, l, in, out, r);
        break;
    case SIS__LAYER_MAX:
    case SIS__LAYER_AVERAGE:
        run_pool(f, l, in, out, r);
        break;
    case SIS__LAYER_PAD:
        run_pad(f, l, in, out, r);
        break;
    case SIS__LAYER_CONCAT:
        run_concat(f, l, in, out, r);
        break;
    default:
        run_elements(f, l, in, out, r);
    }
}

/* ---- Base ---------------------------------------------------------------------------------- */

void sis__layer_base(sis__prefix *f, size_t layer, const sis__box *r) {
    const sis__layer *l = &f->layers[layer];
    sis__part in[SIS__LAYER_INPUTS];
    if (sis__box_empty(r) || !f->maps[l->out].needed)
        return;
    for (size_t i = 0; i < l->n_in; i++)
        in[i] = (sis__part){f->maps[l->in[i]].base, f->maps[l->in[i]].whole};
    run_layer(f, l, in, &(sis__part){f->maps[l->out].base, f->maps[l->out].whole}, r);
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* Find the box of each map that need[map] depends on, and the part that the candidate changes. */
static void request(sis__prefix *f, size_t j, int map) {
    for (int m = map; m >= 1 && m >= f->maps[map].first; m--) {
        const sis__layer *l = &f->layers[m - 1];
        if (sis__box_empty(&f->scratch.need[m]))
            continue;
        f->scratch.work[m] = sis__box_meet(&f->scratch.need[m], &f->maps[m].box[j]);
        if (sis__box_empty(&f->scratch.work[m]) || sis__layer_kept(l))
            continue;
        for (size_t i = 0; i < l->n_in; i++) {
            sis__box field = sis__layer_field(l, &f->maps[l->in[i]], &f->scratch.work[m]);
            f->scratch.need[l->in[i]] = sis__box_join(&f->scratch.need[l->in[i]], &field);
        }
    }
}

/* Copy the base wherever p is outside r. */
static void fill_around(const sis__map *m, const sis__part *p, const sis__box *r) {
    const sis__part base = {m->base, m->whole};
    size_t channels = m->channels;
    int none = sis__box_empty(r);
    if (!none && memcmp(&p->box, r, sizeof *r) == 0)
        return;
    SIS__EACH_ROW(&p->box, z, y) {
        int from = p->box.lo[2], to = p->box.hi[2];
        if (none || z < r->lo[0] || z >= r->hi[0] || y < r->lo[1] || y >= r->hi[1]) {
            memcpy(sis__part_at(p, channels, z, y, from), sis__part_at(&base, channels, z, y, from),
                   (size_t)(to - from) * channels * sizeof(float));
            continue;
        }
        memcpy(sis__part_at(p, channels, z, y, from), sis__part_at(&base, channels, z, y, from),
               (size_t)(r->lo[2] - from) * channels * sizeof(float));
        if (r->hi[2] < to)
            memcpy(sis__part_at(p, channels, z, y, r->hi[2]),
                   sis__part_at(&base, channels, z, y, r->hi[2]),
                   (size_t)(to - r->hi[2]) * channels * sizeof(float));
    }
}

/* The input with the feature's values masked. */
static void mask_input(const sis__prefix *f, size_t j, const sis__part *p) {
    size_t channels = f->maps[0].channels;
    const sis__box *b = &p->box;
    fill_around(&f->maps[0], p, &(sis__box){{0}, {0}});
    for (size_t i = f->input.start[j]; i < f->input.start[j + 1]; i++) {
        const sis__element *e = &f->input.elements[i];
        if (e->z >= b->lo[0] && e->z < b->hi[0] && e->y >= b->lo[1] && e->y < b->hi[1] &&
            e->x >= b->lo[2] && e->x < b->hi[2])
            sis__part_at(p, channels, e->z, e->y, e->x)[e->c] = e->masked;
    }
}

/* Box r of a convolution, after the Relu if one follows, from the kept sums. */
static void copy_kept(const sis__prefix *f, size_t j, const sis__layer *conv, int relu,
                      const sis__part *out, const sis__box *r) {
    SIS__EACH_ROW(r, z, y)
    sis__conv_kept(f, conv, j, (int[3]){z, y, r->lo[2]}, (size_t)(r->hi[2] - r->lo[2]), relu,
                   sis__part_at(out, f->maps[conv->out].channels, z, y, r->lo[2]));
}

static void run_candidate(sis__prefix *f, size_t j, int map) {
    const sis__layer *l = &f->layers[map - 1];
    const sis__part out = {f->maps[map].window, f->scratch.need[map]};
    const sis__box *r = &f->scratch.work[map];
    sis__part in[SIS__LAYER_INPUTS];
    for (size_t i = 0; i < l->n_in; i++)
        in[i] = (sis__part){f->maps[l->in[i]].window, f->scratch.need[l->in[i]]};
    if (!sis__box_empty(r) && !sis__layer_kept(l))
        run_layer(f, l, in, &out, r);
    else if (!sis__box_empty(r))
        copy_kept(f, j, l->fused ? &f->layers[l->in[0] - 1] : l, l->fused, &out, r);
    fill_around(&f->maps[map], &out, r);
}

/* Operations equivalent to writing a value of a map, and to starting a map. */
static const double per_value = 16, per_map = 4000;

sis__part sis__prefix_evaluate(sis__prefix *f, size_t j, int map, const sis__box *r) {
    int first = f->maps[map].first;
    for (int m = first; m < map; m++)
        f->scratch.need[m] = (sis__box){{0}, {0}};
    f->scratch.need[map] = *r;
    request(f, j, map);
    if (first == 0 && !sis__box_empty(&f->scratch.need[0]))
        mask_input(f, j, &(sis__part){f->maps[0].window, f->scratch.need[0]});
    for (int m = first > 0 ? first : 1; m <= map; m++)
        if (!sis__box_empty(&f->scratch.need[m])) {
            run_candidate(f, j, m);
            f->work += per_map + per_value * (double)(sis__box_volume(&f->scratch.need[m]) *
                                                      f->maps[m].channels);
        }
    return (sis__part){f->maps[map].window, *r};
}
