/* SPDX-License-Identifier: MIT
 *
 * Steps that become cuts of a prefix: a dense layer, or a sum, mean or maximum over all positions.
 * After them there are no positions, and the head starts. A tensor of the prefix that the head
 * reads directly becomes a cut too.
 */
#include "net/ops/ops.h"
#include "net/walk/window_read.h"

static int cut_at(sis__reader *r, sis__keep_kind kind, int from, int value, size_t width) {
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
static int read_dense(sis__reader *r, const sis__step *s) {
    const sis__gemm *g = &s->p.gemm;
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    int bias = s->n_inputs > 2 && s->inputs[2] >= 0;
    if (!v || g->m != 1 || g->trans_a || !g->packed || g->over.rank || !g->wide ||
        (bias && !sis__reader_constant(r, s->inputs[2])))
        return 0;
    int taken = cut_at(r, SIS__KEEP_DENSE, s->inputs[0], s->outputs[0], g->n);
    r->f->points[r->f->n_points - 1].linear.step = s;
    return taken;
}

/* A step after a dense cut that can be part of it: its bias, its Relu. */
static int read_after(sis__reader *r, const sis__step *s) {
    int in = s->inputs[0], other = -1, relu = sis__is(s, SIS__RECTIFIER);
    if (!relu && r->of[in].cut < 0)
        in = s->inputs[1];
    if (!relu)
        other = in == s->inputs[0] ? s->inputs[1] : s->inputs[0];
    sis__keep_point *point = in >= 0 && r->of[in].cut >= 0 ? &r->f->points[r->of[in].cut] : NULL;
    if (!point || point->kind != SIS__KEEP_DENSE || point->cut.value != in || point->cut.relu ||
        sis__plan_reader(r->plan, in) != s || sis__reader_tensor(r, in)->wanted)
        return 0;
    if (!relu) {
        const sis__tensor *k = sis__reader_tensor(r, other),
                          *y = sis__reader_tensor(r, s->outputs[0]);
        if (!sis__reader_constant(r, other) || k->count != point->cut.width ||
            (k->rank && k->dims[k->rank - 1] != point->cut.width) || y->count != point->cut.width ||
            point->linear.plus)
            return 0;
        point->linear.plus = sis__reader_constant(r, other);
    } else {
        point->cut.relu = 1;
    }
    r->of[s->outputs[0]].cut = r->of[in].cut;
    point->cut.value = s->outputs[0];
    return 1;
}

/* A maximum, mean or sum over all positions. */
static int read_global(sis__reader *r, const sis__step *s, sis__keep_kind kind, int mean) {
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    if (!v)
        return 0;
    const sis__map *m = &r->f->maps[v->map];
    cut_at(r, kind, s->inputs[0], s->outputs[0], m->channels);
    sis__keep_point *point = &r->f->points[r->f->n_points - 1];
    if (mean)
        point->linear.divisor = (double)sis__positions(m);
    if (kind == SIS__KEEP_MAX && v->map > 0 &&
        r->f->layers[v->map - 1].kind == SIS__LAYER_RELU) { /* it can also be applied after */
        point->map = r->f->layers[v->map - 1].in[0];
        point->cut.relu = 1;
    }
    return 1;
}

static int read_reduce(sis__reader *r, const sis__step *s) {
    const sis__tensor *x = sis__reader_tensor(r, s->inputs[0]);
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
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
    return read_global(r, s, s->ops->takes == SIS__TAKES_MAX ? SIS__KEEP_MAX : SIS__KEEP_MEAN,
                       s->ops->takes == SIS__TAKES_MEAN);
}

/* Does one window of the pool cover every position once? */
static int sees_all(const sis__window *w) {
    for (size_t d = 0; d < 3; d++)
        if (w->out[d] != 1 || w->pad[d] > 0 ||
            (w->in[d] > 1 && (w->dilation[d] != 1 || w->kernel[d] < w->in[d])))
            return 0;
    return 1;
}

static int read_max_pool(sis__reader *r, const sis__step *s) {
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    size_t slot[3];
    if (!v || !sees_all(&s->p.window) || (s->n_outputs > 1 && s->outputs[1] >= 0) ||
        s->p.window.n != 1 || !sis__find_slots(sis__reader_tensor(r, s->inputs[0]), v, slot))
        return 0;
    return read_global(r, s, SIS__KEEP_MAX, 0);
}

static int read_global_pool(sis__reader *r, const sis__step *s, sis__keep_kind kind) {
    const sis__tensor *x = sis__reader_tensor(r, s->inputs[0]);
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    if (!v || x->rank < 2 || x->dims[0] != 1 || (x->dims[1] > 1 && v->role[1] != SIS__CHANNELS) ||
        r->f->maps[v->map].channels != x->dims[1])
        return 0;
    return read_global(r, s, kind, kind == SIS__KEEP_MEAN);
}

void sis__cut_whole(sis__reader *r, int value) {
    if (value >= 0 && r->of[value].axes.map >= 0 && r->of[value].cut < 0)
        cut_at(r, SIS__KEEP_WHOLE, value, value, sis__reader_tensor(r, value)->count);
}

int sis__read_cut(sis__reader *r, const sis__step *s) {
    switch (s->ops->family) {
    case SIS__DENSE:
        return read_dense(r, s);
    case SIS__POOL:
        return s->ops->takes == SIS__TAKES_MAX ? read_max_pool(r, s) : 0;
    case SIS__GLOBAL_POOL:
        return read_global_pool(r, s,
                                s->ops->takes == SIS__TAKES_MAX ? SIS__KEEP_MAX : SIS__KEEP_MEAN);
    case SIS__REDUCTION:
        return s->ops->takes != SIS__TAKES_OTHER ? read_reduce(r, s) : 0;
    case SIS__RECTIFIER:
        return read_after(r, s);
    default:
        return s->op == SIS__OP_ADD ? read_after(r, s) : 0;
    }
}
