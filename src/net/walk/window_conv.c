/* SPDX-License-Identifier: MIT
 *
 * Convolutions of a prefix. As in a full pass, an output is the sum of one sum for each row (kz,
 * ky) of the kernel, and each of these depends on a single line of the input. If a convolution is
 * kept, its sums are kept separately, for the base and for each candidate. Masking a feature
 * changes a candidate's sums only where the lines that both change meet; the others are unchanged
 * or those of the base.
 *
 * Lines of inputs are queued with the outputs that read them, for many candidates together, and a
 * whole queue is multiplied at once. A line is copied with zeros for padding, so every output reads
 * its values at the same offsets. Terms are in the order of a full pass, so sums have the same
 * bits.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk/window.h"

/* ---- Weights ------------------------------------------------------------------------------- */

/* Number of terms of one row of the kernel. */
static size_t depth_of(const sis__window *w) {
    return w->channels / w->groups * w->kernel[2];
}

/* Number of positions of a line that n adjacent outputs read. */
static size_t seen_by(const sis__window *w, size_t n) {
    return (n - 1) * w->stride[2] + (w->kernel[2] - 1) * w->dilation[2] + 1;
}

int sis__conv_block(sis__layer *l) {
    const sis__window *w = &l->w;
    size_t left = SIS__BLOCK;
    for (size_t d = 3; d-- > 0;) {
        size_t max = d == 2 && w->out[1] > 1 ? 8 : left;
        max = w->out[d] < max ? w->out[d] : max;
        left /= max;
        l->conv.block[d] = (int)max;
    }
    return seen_by(w, (size_t)l->conv.block[2]) <= ((size_t)1 << 24) / w->channels;
}

size_t sis__conv_sees(const sis__layer *l) {
    return seen_by(&l->w, (size_t)l->conv.block[2]) * l->w.channels;
}

/* The offsets of an output's (channel, column) inputs in a line, from the first. */
static void find_offsets(const sis__window *w, int *offset) {
    for (size_t c = 0; c < w->channels / w->groups; c++)
        for (size_t k = 0; k < w->kernel[2]; k++)
            *offset++ = (int)(k * w->dilation[2] * w->channels + c);
}

/* Weights of one row of the kernel, (filters of the group, depth). */
static void copy_weights(const sis__window *v, const float *w, size_t row, float *to) {
    size_t rows = v->kernel[0] * v->kernel[1], run = v->kernel[2];
    for (size_t i = 0; i < v->filters / v->groups * (v->channels / v->groups); i++)
        memcpy(to + i * run, w + (i * rows + row) * run, run * sizeof *to);
}

/* Does every channel have its own kernel? Then weights are in the order (row, column, channel). */
static int depthwise(const sis__window *w) {
    return w->groups > 1 && w->groups == w->channels && w->groups == w->filters;
}

static int pack_columns(sis__layer *l, const float *w) {
    size_t taps = sis__conv_rows(l) * l->w.kernel[2], n = l->w.channels;
    for (size_t c = 0; c < n; c++)
        for (size_t t = 0; t < taps; t++)
            l->conv.packed[t * n + c] = w[c * taps + t];
    return SIS_OK;
}

static int pack_rows(sis__layer *l, const float *w, int transposed) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__window *v = &l->w;
    size_t depth = depth_of(v), per = v->filters / v->groups, rows = sis__conv_rows(l);
    float *one = SIS_NEW_RAW(float, depth *per), *to = l->conv.packed;
    if (!one)
        return SIS_E_NOMEM;
    for (size_t g = 0; g < v->groups; g++)
        for (size_t row = 0; row < rows; row++, to += l->conv.row_size) {
            if (!transposed)
                copy_weights(v, w + g * per * depth * rows, row, one);
            sis__pack(kn, depth, per, transposed ? w : one, transposed ? per : 1,
                      transposed ? 1 : depth, to);
        }
    free(one);
    return SIS_OK;
}

int sis__conv_init(sis__prefix *f, sis__layer *l, const float *w, int transposed) {
    const sis__window *v = &l->w;
    size_t rows = sis__conv_rows(l);
    l->conv.row_size = sis__packed_size(sis__kernels_best(), depth_of(v), v->filters / v->groups);
    l->conv.packed = SIS_ARENA(&f->memory, float, v->groups *rows * l->conv.row_size);
    l->conv.offset = SIS_ARENA(&f->memory, int, depth_of(v));
    l->conv.zeros = SIS_ARENA(&f->memory, float, v->filters);
    if (!l->conv.packed || !l->conv.offset || !l->conv.zeros)
        return SIS_E_NOMEM;
    find_offsets(v, l->conv.offset);
    if (l->conv.point >= 0)
        l->conv.sums = (float *)sis__arena_own(
            &f->memory,
            sis__alloc(sis__positions(&f->maps[l->out]), rows * v->filters * sizeof *l->conv.sums));
    if (l->conv.point >= 0 && !l->conv.sums)
        return SIS_E_NOMEM;
    return depthwise(v) ? pack_columns(l, w) : pack_rows(l, w, transposed);
}

/* ---- Lines ---------------------------------------------------------------------------------- */

/* Number of floats of the sums of a row of the kernel for a line of outputs. */
static size_t line_size(const sis__layer *l, const sis__box *b) {
    return (size_t)(b->hi[2] - b->lo[2]) * l->w.filters;
}

/* The first input position of output o along an axis. */
static int first_seen(const sis__window *w, size_t d, int o) {
    return o * (int)w->stride[d] - (int)w->pad[d];
}

/* The first row of the kernel along an axis with which output o reads these lines, or later
 * ones. */
static size_t first_row(const sis__window *w, size_t d, int o, const sis__box *lines) {
    int missing = lines->lo[d] - first_seen(w, d, o), step = (int)w->dilation[d];
    return missing <= 0 ? 0 : (size_t)(step == 1 ? missing : (missing + step - 1) / step);
}

/* The address of the first sum for outputs (z, y, x ...). */
static float *sums_of(const sis__layer *l, const sis__row_sums *s, int z, int y, int x) {
    const sis__box *b = &s->box;
    size_t ny = (size_t)(b->hi[1] - b->lo[1]);
    size_t place = (size_t)(z - b->lo[0]) * ny + (size_t)(y - b->lo[1]);
    return s->at + place * s->rows[0] * s->rows[1] * line_size(l, b) +
           (size_t)(x - b->lo[2]) * l->w.filters;
}

/* The address of the sums of one row. */
static float *sums_at(const sis__layer *l, const sis__row_sums *s, int z, int y, size_t row,
                      int x) {
    size_t kz = row / l->w.kernel[1] - first_row(&l->w, 0, z, &s->lines);
    size_t ky = row % l->w.kernel[1] - first_row(&l->w, 1, y, &s->lines);
    return sums_of(l, s, z, y, x) + (kz * s->rows[1] + ky) * line_size(l, &s->box);
}

/* The sums of all rows for the outputs of a box. */
static sis__row_sums all_sums(const sis__layer *l, float *at, const sis__box *box) {
    const sis__box all = {{INT_MIN / 2, INT_MIN / 2, 0}, {INT_MAX, INT_MAX, 0}};
    return (sis__row_sums){at, *box, all, {l->w.kernel[0], l->w.kernel[1]}};
}

sis__row_sums sis__conv_own(const sis__prefix *f, const sis__layer *l, size_t j) {
    sis__row_sums own = {.box = f->maps[l->out].box[j], .lines = f->maps[l->in[0]].box[j]};
    if (f->store.single)
        own.at = f->store.single + f->points[l->conv.point].kept[j].in;
    for (size_t d = 0; d < 2; d++) {
        size_t step = l->w.dilation[d];
        size_t rows = ((size_t)(own.lines.hi[d] - own.lines.lo[d]) + step - 1) / step;
        own.rows[d] = rows < l->w.kernel[d] ? rows : l->w.kernel[d];
    }
    return own;
}

/* Copy n positions of a line of the input from x = lo on, zeros outside the map. */
static void copy_line(const sis__map *m, const sis__part *in, const int *at, int lo, int n,
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

/* The output along one axis that reads input i at kernel position k, or -1. */
static int output_of(const sis__window *w, size_t d, int i, size_t k, const sis__box *box) {
    int at = i + (int)w->pad[d] - (int)(k * w->dilation[d]), stride = (int)w->stride[d];
    if (at < 0 || at % stride)
        return -1;
    at /= stride;
    return at >= box->lo[d] && at < box->hi[d] ? at : -1;
}

/* Depthwise: each channel separately. Returns the operations. */
static double flush_columns(sis__queue *q, const sis__layer *l) {
    const sis__window *w = &l->w;
    double work = 0;
    for (size_t row = 0; row < sis__conv_rows(l); row++) {
        sis__column_product p = {.m = q->count[row],
                                 .n = w->channels,
                                 .k = w->kernel[2],
                                 .step = w->dilation[2] * w->channels,
                                 .a = q->from + row * SIS__QUEUE,
                                 .b = l->conv.packed + row * w->kernel[2] * w->channels,
                                 .start = row == 0 && l->conv.bias ? l->conv.bias : l->conv.zeros,
                                 .c = q->to + row * SIS__QUEUE};
        sis__kernels_best()->columns_placed(&p);
        work += 2 * (double)p.m * (double)p.n * (double)p.k;
    }
    return work;
}

/* The filters of each group together. Returns the operations. */
static double flush_groups(sis__queue *q, const sis__layer *l) {
    const sis__window *w = &l->w;
    double work = 0;
    size_t per = w->filters / w->groups, rows = sis__conv_rows(l);
    for (size_t row = 0; row < rows; row++) {
        sis__placed_product p = {.m = q->count[row],
                                 .n = per,
                                 .k = depth_of(w),
                                 .a = q->from + row * SIS__QUEUE,
                                 .offset = l->conv.offset,
                                 .c = q->to + row * SIS__QUEUE};
        for (size_t g = 0; g < w->groups; g++) {
            p.b = l->conv.packed + (g * rows + row) * l->conv.row_size;
            p.start = (row == 0 && l->conv.bias ? l->conv.bias : l->conv.zeros) + g * per;
            sis__kernels_best()->gemm_placed(&p);
            work += 2 * (double)p.m * (double)p.n * (double)p.k;
            for (size_t i = row * SIS__QUEUE; i < row * SIS__QUEUE + p.m && w->groups > 1; i++) {
                q->from[i] += w->channels / w->groups;
                q->to[i] += per;
            }
        }
    }
    return work;
}

static void flush(sis__prefix *f) {
    sis__queue *q = &f->scratch.queue;
    const sis__layer *l = q->layer;
    if (!l)
        return;
    f->work += depthwise(&l->w) ? flush_columns(q, l) : flush_groups(q, l);
    memset(q->count, 0, sis__conv_rows(l) * sizeof *q->count);
    q->used = q->outputs = 0;
    q->layer = NULL;
}

/* Does any output of box r read line (z, y) of the input? */
static int is_seen(const sis__window *w, const int *at, const sis__box *r) {
    for (size_t d = 0; d < 2; d++) {
        size_t k = 0;
        while (k < w->kernel[d] && output_of(w, d, at[d], k, r) < 0)
            k++;
        if (k == w->kernel[d])
            return 0;
    }
    return 1;
}

/* Queue the contribution of line (z, y) of the input to the outputs of box r that read it, at most
 * a block of them. */
static void queue_line(sis__prefix *f, const sis__layer *l, const sis__part *in, const int *at,
                       const sis__box *r, const sis__row_sums *to) {
    const sis__window *w = &l->w;
    sis__queue *q = &f->scratch.queue;
    size_t n = (size_t)(r->hi[2] - r->lo[2]), width = seen_by(w, n);
    if (!is_seen(w, at, r))
        return;
    if (q->layer != l || q->outputs + n > SIS__QUEUE || q->used + width * w->channels > q->room)
        flush(f);
    q->layer = l;
    float *seen = q->seen + q->used;
    copy_line(&f->maps[l->in[0]], in, at, r->lo[2] * (int)w->stride[2] - (int)w->pad[2], (int)width,
              seen);
    q->used += width * w->channels;
    q->outputs += n;
    for (size_t row = 0; row < sis__conv_rows(l); row++) {
        int z = output_of(w, 0, at[0], row / w->kernel[1], r);
        int y = output_of(w, 1, at[1], row % w->kernel[1], r);
        if (z < 0 || y < 0)
            continue;
        float *sums = sums_at(l, to, z, y, row, r->lo[2]);
        for (size_t i = 0; i < n; i++) {
            size_t slot = row * SIS__QUEUE + q->count[row]++;
            q->from[slot] = seen + i * w->stride[2] * w->channels;
            q->to[slot] = sums + i * w->filters;
        }
    }
}

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* Queue the contributions of `lines` of the input to the outputs of box r, from a part that
 * contains their inputs. The sums are complete after the queue is flushed. Lines of another
 * convolution flush it first. */
static void queue_lines(sis__prefix *f, const sis__layer *l, const sis__part *in,
                        const sis__box *lines, const sis__box *r, const sis__row_sums *to) {
    sis__box b = *r;
    for (b.lo[2] = r->lo[2]; b.lo[2] < r->hi[2]; b.lo[2] = b.hi[2]) {
        b.hi[2] = smaller(b.lo[2] + l->conv.block[2], r->hi[2]);
        SIS__EACH_ROW(lines, z, y)
        queue_line(f, l, in, (int[2]){z, y}, &b, to);
    }
}

/* ---- The base -------------------------------------------------------------------------------- */

/* Output box b, at most a block. */
static void run_block(sis__prefix *f, const sis__layer *l, const sis__part *in,
                      const sis__part *out, const sis__box *b) {
    const sis__kernels *kn = sis__kernels_best();
    const sis__row_sums sums = l->conv.sums ? all_sums(l, l->conv.sums, &f->maps[l->out].whole)
                                            : all_sums(l, f->scratch.products, b);
    size_t n = (size_t)(b->hi[2] - b->lo[2]) * l->w.filters, rows = sis__conv_rows(l);
    sis__box lines = sis__layer_sees(l, b);
    queue_lines(f, l, in, &lines, b, &sums);
    flush(f);
    SIS__EACH_ROW(b, z, y) {
        for (size_t row = 0; row < rows; row++)
            f->scratch.lines[row] = sums_at(l, &sums, z, y, row, b->lo[2]);
        kn->add_up(f->scratch.lines, rows, n, 0, sis__part_at(out, l->w.filters, z, y, b->lo[2]));
    }
}

void sis__conv_run(sis__prefix *f, const sis__layer *l, const sis__part *in, const sis__part *out,
                   const sis__box *r) {
    sis__box b;
    for (b.lo[0] = r->lo[0]; b.lo[0] < r->hi[0]; b.lo[0] = b.hi[0]) {
        b.hi[0] = smaller(b.lo[0] + l->conv.block[0], r->hi[0]);
        for (b.lo[1] = r->lo[1]; b.lo[1] < r->hi[1]; b.lo[1] = b.hi[1]) {
            b.hi[1] = smaller(b.lo[1] + l->conv.block[1], r->hi[1]);
            for (b.lo[2] = r->lo[2]; b.lo[2] < r->hi[2]; b.lo[2] = b.hi[2]) {
                b.hi[2] = smaller(b.lo[2] + l->conv.block[2], r->hi[2]);
                run_block(f, l, in, out, &b);
            }
        }
    }
}

/* ---- Candidates ----------------------------------------------------------------------------- */

sis__box sis__conv_lines(const sis__prefix *f, const sis__layer *l, size_t j) {
    sis__box b = f->maps[l->in[0]].box[j];
    const sis__box *out = &f->maps[l->out].box[j];
    b.lo[2] = out->lo[2];
    b.hi[2] = out->hi[2];
    return sis__box_empty(out) ? *out : b;
}

/* f->scratch.lines: the sums of each row of the kernel for outputs (z, y, x ...) with feature j
 * masked too. Rows that read none of its lines are the base's. */
static void find_lines(const sis__prefix *f, const sis__layer *l, size_t j, int z, int y, int x) {
    const sis__window *w = &l->w;
    const sis__row_sums base = all_sums(l, l->conv.sums, &f->maps[l->out].whole),
                        own = sis__conv_own(f, l, j);
    const sis__box *lines = &own.lines;
    const float *theirs = sums_of(l, &base, z, y, x), *mine = sums_of(l, &own, z, y, x);
    size_t their_line = line_size(l, &base.box), my_line = line_size(l, &own.box), row = 0;
    int at_z = first_seen(w, 0, z), from = first_seen(w, 1, y);
    for (size_t kz = 0; kz < w->kernel[0]; kz++, at_z += (int)w->dilation[0]) {
        int plane = at_z >= lines->lo[0] && at_z < lines->hi[0], at_y = from;
        const float *next = mine;
        for (size_t ky = 0; ky < w->kernel[1]; ky++, row++, at_y += (int)w->dilation[1]) {
            int sees = plane && at_y >= lines->lo[1] && at_y < lines->hi[1];
            f->scratch.lines[row] = sees ? next : theirs;
            next += sees ? my_line : 0;
            theirs += their_line;
        }
        mine += plane ? own.rows[1] * my_line : 0;
    }
}

void sis__conv_kept(const sis__prefix *f, const sis__layer *l, size_t j, const int *at, size_t n,
                    int relu, float *y) {
    find_lines(f, l, j, at[0], at[1], at[2]);
    f->kernels->add_up(f->scratch.lines, sis__conv_rows(l), n * l->w.filters, relu, y);
}

void sis__conv_adopt(sis__prefix *f, const sis__layer *l, size_t j) {
    const sis__map *m = &f->maps[l->out];
    const sis__row_sums base = all_sums(l, l->conv.sums, &m->whole);
    const sis__box *b = &m->box[j];
    size_t n = (size_t)(b->hi[2] - b->lo[2]);
    SIS__EACH_ROW(b, z, y) {
        float *to = m->base + sis__box_at(&m->whole, z, y, b->lo[2]) * m->channels;
        sis__conv_kept(f, l, j, (int[3]){z, y, b->lo[2]}, n, 0, to);
        for (size_t row = 0; row < sis__conv_rows(l); row++) {
            float *sums = sums_at(l, &base, z, y, row, b->lo[2]);
            if (f->scratch.lines[row] != sums)
                memcpy(sums, f->scratch.lines[row], n * m->channels * sizeof *sums);
        }
    }
}

/* ---- Candidates ------------------------------------------------------------------------------ */

static void conv_update(sis__prefix *f, sis__keep_point *s, size_t j) {
    const sis__kept *p = &s->kept[j];
    const sis__layer *l = &f->layers[s->layer];
    const sis__row_sums to = sis__conv_own(f, l, j);
    sis__box r = to.box;
    r.lo[2] = p->dirty.lo[2];
    r.hi[2] = p->dirty.hi[2];
    sis__box see = sis__layer_field(l, &f->maps[l->in[0]], &r);
    for (size_t d = 0; d < 2; d++) {
        see.lo[d] = p->dirty.lo[d];
        see.hi[d] = p->dirty.hi[d];
    }
    sis__part in = sis__prefix_evaluate(f, j, l->in[0], &see);
    queue_lines(f, l, &in, &p->dirty, &r, &to);
}

const sis__keep_ops sis__keep_conv = {.update = conv_update, .flush = flush};
