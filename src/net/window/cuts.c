/* SPDX-License-Identifier: MIT
 *
 * Steps that end the front: a dense layer, a sum, mean or maximum over all positions. What goes on
 * from there has no positions any more, and is the head's. Where the head reads a tensor of the
 * front as it is, that is a cut too.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/window/read.h"

static int cut_at(sis__reader *r, sis__site_kind kind, int from, int value, size_t width) {
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
static int read_dense(sis__reader *r, const sis__step *s) {
    const sis__gemm *g = &s->p.gemm;
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
    if (!v || g->m != 1 || g->trans_a || !g->packed || g->over.rank || g->k < SIS__LONG ||
        (bias && !sis__constant_of(r, s->inputs[2])))
        return 0;
    int taken = cut_at(r, SIS__SITE_DENSE, s->inputs[0], s->outputs[0], g->n);
    r->f->sites[r->f->n_sites - 1].step = s;
    return taken;
}

/* A step behind a dense cut that every row would have to go through: its bias, its Relu. */
static int read_after(sis__reader *r, const sis__step *s) {
    int in = s->inputs[0], other = -1;
    if (s->op == SIS__OP_ADD && r->of[in].cut < 0)
        in = s->inputs[1];
    if (s->op == SIS__OP_ADD)
        other = in == s->inputs[0] ? s->inputs[1] : s->inputs[0];
    sis__site *site = in >= 0 && r->of[in].cut >= 0 ? &r->f->sites[r->of[in].cut] : NULL;
    if (!site || site->kind != SIS__SITE_DENSE || site->value != in || site->relu ||
        sis__plan_reader(r->plan, in) != s || sis__tensor_of(r, in)->wanted)
        return 0;
    if (s->op == SIS__OP_ADD) {
        const sis__tensor *k = sis__tensor_of(r, other), *y = sis__tensor_of(r, s->outputs[0]);
        if (!sis__constant_of(r, other) || k->count != site->width ||
            k->dims[k->rank - 1] != site->width || y->count != site->width || site->plus)
            return 0;
        site->plus = sis__constant_of(r, other);
    } else {
        site->relu = 1;
    }
    r->of[s->outputs[0]].cut = r->of[in].cut;
    site->value = s->outputs[0];
    return 1;
}

/* A maximum, mean or sum over all positions. */
static int read_global(sis__reader *r, const sis__step *s, sis__site_kind kind, int mean) {
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    if (!v)
        return 0;
    const sis__map *m = &r->f->maps[v->map];
    cut_at(r, kind, s->inputs[0], s->outputs[0], m->channels);
    sis__site *site = &r->f->sites[r->f->n_sites - 1];
    if (mean)
        site->divisor = (double)sis__positions(m);
    if (kind == SIS__SITE_MAX && v->map > 0 &&
        r->f->layers[v->map - 1].kind == SIS__LAYER_RELU) { /* it may as well come after */
        site->map = r->f->layers[v->map - 1].in[0];
        site->relu = 1;
    }
    return 1;
}

static int read_reduce(sis__reader *r, const sis__step *s) {
    const sis__tensor *x = sis__tensor_of(r, s->inputs[0]);
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
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

static int read_max_pool(sis__reader *r, const sis__step *s) {
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    size_t slot[3];
    if (!v || !sees_all(&s->p.window) || (s->n_outputs > 1 && s->outputs[1] >= 0) ||
        s->p.window.n != 1 || !sis__find_slots(sis__tensor_of(r, s->inputs[0]), v, slot))
        return 0;
    return read_global(r, s, SIS__SITE_MAX, 0);
}

static int read_global_pool(sis__reader *r, const sis__step *s, sis__site_kind kind) {
    const sis__tensor *x = sis__tensor_of(r, s->inputs[0]);
    const sis__sight *v = sis__sight_of(r, s->inputs[0]);
    if (!v || x->rank < 2 || x->dims[0] != 1 || (x->dims[1] > 1 && v->role[1] != SIS__CHANNELS) ||
        r->f->maps[v->map].channels != x->dims[1])
        return 0;
    return read_global(r, s, kind, kind == SIS__SITE_MEAN);
}

void sis__cut_whole(sis__reader *r, int value) {
    if (value >= 0 && r->of[value].sight.map >= 0 && r->of[value].cut < 0)
        cut_at(r, SIS__SITE_WHOLE, value, value, sis__tensor_of(r, value)->count);
}

int sis__read_cut(sis__reader *r, const sis__step *s) {
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
        return read_global_pool(r, s, SIS__SITE_MAX);
    case SIS__OP_GLOBAL_AVERAGE_POOL:
        return read_global_pool(r, s, SIS__SITE_MEAN);
    case SIS__OP_REDUCE_MAX:
    case SIS__OP_REDUCE_MEAN:
    case SIS__OP_REDUCE_SUM:
        return read_reduce(r, s);
    default:
        return 0;
    }
}
