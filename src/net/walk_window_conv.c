/* SPDX-License-Identifier: MIT
 *
 * Convolutions of a front, in two ways.
 *
 * Values: a block of outputs at a time. What the block sees is copied, with zeros where the padding
 * is, and multiplied from there without gathering patches: every output sees its values at the same
 * offsets from the first. The terms come in the order of a full pass, so the sums are the same to
 * the bit.
 *
 * Changes: a few channels of one position have changed; the outputs that see them are added to. With
 * stride and dilation 1 the outputs of a row lie side by side, and so do the weights when the last
 * kernel position comes first: one run of multiplications for the whole row.
 */
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk_window.h"

/* ---- Weights ------------------------------------------------------------------------------- */

static size_t taps_of(const sis__window *w) {
    return w->kernel[0] * w->kernel[1] * w->kernel[2];
}

static size_t depth_of(const sis__window *w) {
    return w->channels / w->groups * taps_of(w);
}

int sis__conv_block(sis__layer *l) {
    const sis__window *w = &l->w;
    size_t left = SIS__BLOCK, floats = w->channels;
    for (size_t d = 3; d-- > 0;) {
        size_t most = d == 2 && w->out[1] > 1 ? 8 : left;
        most = w->out[d] < most ? w->out[d] : most;
        left /= most;
        size_t field = (most - 1) * w->stride[d] + (w->kernel[d] - 1) * w->dilation[d] + 1;
        l->block[d] = (int)most;
        l->field[d] = (int)field;
        if (field > ((size_t)1 << 24) / floats)
            return 0;
        floats *= field;
    }
    return 1;
}

/* Where, counted from the first value an output sees, its (channel, kernel position) values lie. */
static void find_offsets(const sis__layer *l, int *offset) {
    const sis__window *w = &l->w;
    for (size_t c = 0; c < w->channels / w->groups; c++)
        for (size_t i = 0; i < w->kernel[0]; i++)
            for (size_t j = 0; j < w->kernel[1]; j++)
                for (size_t k = 0; k < w->kernel[2]; k++) {
                    size_t row = i * w->dilation[0] * (size_t)l->field[1] + j * w->dilation[1];
                    size_t at = row * (size_t)l->field[2] + k * w->dilation[2];
                    *offset++ = (int)(at * w->channels + c);
                }
}

/* Rows for changes. One group: (kz, ky, channel, kx from the last to the first, filter), so that
 * the outputs a changed input reaches in one row lie side by side. Several: (tap, channel, filter
 * of the group). */
static void order_taps(const sis__layer *l, const float *w, int transposed, float *taps) {
    const sis__window *v = &l->w;
    size_t n = taps_of(v), per = v->filters / v->groups, inside = v->channels / v->groups;
    for (size_t f = 0; f < v->filters; f++)
        for (size_t c = 0; c < inside; c++)
            for (size_t t = 0; t < n; t++) {
                float value = transposed ? w[c * v->filters + f] : w[(f * inside + c) * n + t];
                size_t kx = t % v->kernel[2], row = t / v->kernel[2];
                size_t at =
                    ((row * inside + c) * v->kernel[2] + v->kernel[2] - 1 - kx) * v->filters + f;
                if (v->groups > 1)
                    at = (t * v->channels + f / per * inside + c) * per + f % per;
                taps[at] = value;
            }
}

int sis__conv_init(sis__front *f, sis__layer *l, const float *w, int transposed) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__window *v = &l->w;
    size_t depth = depth_of(v), per = v->filters / v->groups;
    l->group_size = sis__packed_size(kn, depth, per);
    l->packed = (float *)sis__front_alloc(f, v->groups * l->group_size, sizeof *l->packed);
    l->offset = (int *)sis__front_alloc(f, depth, sizeof *l->offset);
    if (!l->packed || !l->offset)
        return SIS_E_NOMEM;
    find_offsets(l, l->offset);
    for (size_t g = 0; g < v->groups; g++)
        sis__pack(kn, depth, per, w + g * per * depth, transposed ? per : 1, transposed ? 1 : depth,
                  l->packed + g * l->group_size);
    if (f->exact)
        return SIS_OK;
    l->taps = (float *)sis__front_alloc(f, v->filters * depth, sizeof *l->taps);
    if (!l->taps)
        return SIS_E_NOMEM;
    order_taps(l, w, transposed, l->taps);
    return SIS_OK;
}

/* ---- Values -------------------------------------------------------------------------------- */

/* One row of what a block sees: x from `lo` on, zeros outside the map. */
static void copy_row(const sis__map *m, const sis__part *in, const int *at, int lo, int n,
                     float *to) {
    size_t channels = m->channels;
    int from = lo < 0 ? 0 : lo, end = lo + n < m->whole.hi[2] ? lo + n : m->whole.hi[2];
    int there = at[0] >= 0 && at[0] < m->whole.hi[0] && at[1] >= 0 && at[1] < m->whole.hi[1];
    if (!there || from >= end) {
        memset(to, 0, (size_t)n * channels * sizeof *to);
        return;
    }
    memset(to, 0, (size_t)(from - lo) * channels * sizeof *to);
    memcpy(to + (size_t)(from - lo) * channels, sis__part_at(in, channels, at[0], at[1], from),
           (size_t)(end - from) * channels * sizeof *to);
    memset(to + (size_t)(end - lo) * channels, 0, (size_t)(lo + n - end) * channels * sizeof *to);
}

/* Copy what block b sees into the field, and point to where each of its outputs begins. */
static size_t see_block(sis__front *f, const sis__layer *l, const sis__part *in,
                        const sis__box *b) {
    const sis__map *m = &f->maps[l->in[0]];
    const sis__window *w = &l->w;
    size_t row = (size_t)l->field[2] * m->channels, n = 0;
    int lo[3], size[3];
    for (size_t d = 0; d < 3; d++) {
        lo[d] = b->lo[d] * (int)w->stride[d] - (int)w->pad[d];
        size[d] = (b->hi[d] - b->lo[d] - 1) * (int)w->stride[d] +
                  (int)((w->kernel[d] - 1) * w->dilation[d]) + 1;
    }
    for (int z = 0; z < size[0]; z++)
        for (int y = 0; y < size[1]; y++)
            copy_row(m, in, (int[2]){lo[0] + z, lo[1] + y}, lo[2], size[2],
                     f->field + (size_t)(z * l->field[1] + y) * row);
    SIS__EACH_ROW(b, z, y) {
        size_t at = (size_t)(z - b->lo[0]) * w->stride[0] * (size_t)l->field[1] +
                    (size_t)(y - b->lo[1]) * w->stride[1];
        for (int x = b->lo[2]; x < b->hi[2]; x++)
            f->origin[n++] =
                f->field + at * row + (size_t)(x - b->lo[2]) * w->stride[2] * m->channels;
    }
    return n;
}

/* Outputs of the n that were seen: products (n, filters). */
static void multiply(sis__front *f, const sis__layer *l, size_t n) {
    const sis__kernels *kn = sis__kernels_best();
    size_t filters = l->w.filters, per = filters / l->w.groups;
    sis__gathered g = {.m = n, .k = depth_of(&l->w), .a = f->origin, .offset = l->offset};
    for (size_t i = 0; i < n; i++) {
        if (l->bias)
            memcpy(f->products + i * filters, l->bias, filters * sizeof *l->bias);
        else
            memset(f->products + i * filters, 0, filters * sizeof *l->bias);
    }
    for (size_t i = 0; i < l->w.groups; i++) {
        kn->gemm_at(&g, per, l->packed + i * l->group_size, f->products + i * per, filters);
        for (size_t k = 0; k < n; k++)
            f->origin[k] += l->w.channels / l->w.groups;
    }
}

static void run_block(sis__front *f, const sis__layer *l, const sis__part *in, const sis__part *out,
                      const sis__box *b) {
    size_t filters = l->w.filters, n = (size_t)(b->hi[2] - b->lo[2]) * filters;
    const float *from = f->products;
    multiply(f, l, see_block(f, l, in, b));
    SIS__EACH_ROW(b, z, y) {
        memcpy(sis__part_at(out, filters, z, y, b->lo[2]), from, n * sizeof *from);
        from += n;
    }
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

void sis__conv_run(sis__front *f, const sis__layer *l, const sis__part *in, const sis__part *out,
                   const sis__box *r) {
    sis__box b;
    for (b.lo[0] = r->lo[0]; b.lo[0] < r->hi[0]; b.lo[0] = b.hi[0]) {
        b.hi[0] = smaller(b.lo[0] + l->block[0], r->hi[0]);
        for (b.lo[1] = r->lo[1]; b.lo[1] < r->hi[1]; b.lo[1] = b.hi[1]) {
            b.hi[1] = smaller(b.lo[1] + l->block[1], r->hi[1]);
            for (b.lo[2] = r->lo[2]; b.lo[2] < r->hi[2]; b.lo[2] = b.hi[2]) {
                b.hi[2] = smaller(b.lo[2] + l->block[2], r->hi[2]);
                run_block(f, l, in, out, &b);
            }
        }
    }
}

/* ---- Changes ------------------------------------------------------------------------------- */

/* The output along one axis that sees input i at kernel position k, or -1. */
static int output_of(const sis__window *w, size_t d, int i, size_t k, const sis__box *box) {
    int at = i + (int)w->pad[d] - (int)(k * w->dilation[d]), stride = (int)w->stride[d];
    if (at < 0 || at % stride)
        return -1;
    at /= stride;
    return at >= box->lo[d] && at < box->hi[d] ? at : -1;
}

/* One row of the output, one run of kernel positions along x. */
typedef struct {
    const sis__layer *l;
    const sis__kernels *kn;
    sis__rows rows;
    size_t tap_row; /* kz * kernel[1] + ky */
    const sis__box *box;
    float *out; /* kept change of the output */
    int z, y;   /* of the output */
} reach;

/* Neighbouring outputs see x at neighbouring kernel positions: one run. */
static void reach_run(reach *r, int x) {
    const sis__window *w = &r->l->w;
    int pad = (int)w->pad[2], last = (int)w->kernel[2] - 1;
    int lo = x + pad - last > r->box->lo[2] ? x + pad - last : r->box->lo[2];
    int hi = x + pad < r->box->hi[2] - 1 ? x + pad : r->box->hi[2] - 1;
    if (lo > hi)
        return;
    size_t tap = (size_t)(lo - (x + pad - last)); /* reversed: the last kernel position first */
    r->rows.ldw = w->kernel[2] * w->filters;
    r->rows.w = r->l->taps + r->tap_row * w->channels * r->rows.ldw + tap * w->filters;
    r->kn->add_rows(&r->rows, r->out + sis__box_at(r->box, r->z, r->y, lo) * w->filters,
                    (size_t)(hi - lo + 1) * w->filters);
}

/* Strided or dilated: one kernel position at a time. */
static void reach_each(reach *r, int x) {
    const sis__window *w = &r->l->w;
    for (size_t k = 0; k < w->kernel[2]; k++) {
        int o = output_of(w, 2, x, k, r->box);
        if (o < 0)
            continue;
        r->rows.ldw = w->kernel[2] * w->filters;
        r->rows.w = r->l->taps + r->tap_row * w->channels * r->rows.ldw +
                    (w->kernel[2] - 1 - k) * w->filters;
        r->kn->add_rows(&r->rows, r->out + sis__box_at(r->box, r->z, r->y, o) * w->filters,
                        w->filters);
    }
}

/* Groups: each channel has its own few filters. */
static void reach_groups(reach *r, int x) {
    const sis__window *w = &r->l->w;
    size_t per = w->filters / w->groups, inside = w->channels / w->groups;
    for (size_t k = 0; k < w->kernel[2]; k++) {
        int o = output_of(w, 2, x, k, r->box);
        if (o < 0)
            continue;
        float *to = r->out + sis__box_at(r->box, r->z, r->y, o) * w->filters;
        for (size_t t = 0; t < r->rows.count; t++) {
            size_t c = (size_t)r->rows.index[t];
            const float *from =
                r->l->taps + ((r->tap_row * w->kernel[2] + k) * w->channels + c) * per;
            for (size_t i = 0; i < per; i++)
                to[c / inside * per + i] += r->rows.d[t] * from[i];
        }
    }
}

/* Add what `count` changed channels at a position do to the output. */
void sis__conv_add(const sis__front *f, const sis__layer *l, const sis__box *box, const int *at,
                   size_t count, float *out) {
    const sis__window *w = &l->w;
    reach r = {.l = l, .kn = sis__kernels_best(), .box = box, .out = out};
    r.rows = (sis__rows){.index = f->index, .d = f->change, .count = count};
    for (size_t i = 0; i < w->kernel[0]; i++) {
        r.z = output_of(w, 0, at[0], i, box);
        for (size_t k = 0; r.z >= 0 && k < w->kernel[1]; k++) {
            r.y = output_of(w, 1, at[1], k, box);
            if (r.y < 0)
                continue;
            r.tap_row = i * w->kernel[1] + k;
            if (w->groups > 1)
                reach_groups(&r, at[2]);
            else if (w->stride[2] == 1 && w->dilation[2] == 1)
                reach_run(&r, at[2]);
            else
                reach_each(&r, at[2]);
        }
    }
}
