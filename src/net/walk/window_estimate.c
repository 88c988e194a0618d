/* SPDX-License-Identifier: MIT
 *
 * Estimated margins, for convolutions of the input itself under a maximum over all positions, in a
 * sequence or an image.
 *
 * Masking a feature changes the input by the same amounts whatever else is masked. The resulting
 * change of the convolution's outputs is summed once; features with the same change of the input
 * (the same base of a DNA sequence, the same word, pixels of one shade) share the sum. Base plus
 * change are the candidate's values up to rounding. An exact sum needs all terms of the kernel,
 * this one addition: for long kernels the estimates of all candidates cost less than a few exact
 * ones.
 *
 * The rounding error is bounded, not measured. With u = 2^-24, X the largest length of a position
 * of the input, masked or not, and W_f the sum of the lengths of a filter's weights over the
 * positions of the kernel, no sum of |x| |w| exceeds S = X W_f. The base's sum and the candidate's
 * of n terms and a bias b each have an error below (n + 2) u (|b| + S), the change, a sum of m
 * nonzero terms, below (m + 3) u 2 S, and adding it to the base u (|b| + 3 S). head_error() turns
 * this into an error of margins.
 *
 * So a candidate's margin is at most its estimate plus that error, and only candidates that could
 * be the best are computed exactly.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/platform.h"
#include "net/ops/ops.h"
#include "net/plan/source.h"
#include "net/walk/window.h"

static const double min_products = 64;           /* products saved per estimated value, to be
                                                  * worthwhile */
static const size_t row_bytes = (size_t)1 << 20; /* rows of the head computed together */

/* ---- Errors of margins of close rows --------------------------------------------------------- */

/* Two passes over the head: forward for the maximal size of each value, backward for the maximal
 * *slope* of the margin in it. Supported are dense layers, Relu, added constants, and operators
 * that only move values; for other heads there is no bound.
 *
 * A sum of k terms in single precision, in any order, has an error below (k + 2) 2^-24 times the
 * sum of the terms' sizes. Both margins are rounded, so this counts twice, weighted by the slope of
 * the rounded value. */

/* Of one value. */
typedef struct {
    double size, slope;
} extent;

typedef struct {
    const sis__plan *p;
    extent **of;  /* (n_tensors) NULL: not known */
    int backward; /* sizes are known, slopes are wanted */
    double rounding;
} follow;

static size_t count_of(const follow *f, int tensor) {
    return f->p->tensors[tensor].count;
}

static const float *constant(const follow *f, int i) {
    return f->p->tensors[i].dtype == SIS__F32 ? (const float *)f->p->tensors[i].data : NULL;
}

static void add_rounding(follow *f, const extent *e, size_t terms) {
    f->rounding += (double)(terms + 3) * 0x1p-23 * e->size * e->slope;
}

static int follow_dense(follow *f, const sis__step *s, extent *x, extent *y) {
    const sis__gemm *g = &s->p.gemm;
    size_t nr = sis__kernels_best()->nr;
    int added = s->op == SIS__OP_GEMM && s->n_inputs > 2 ? s->inputs[2] : -1;
    const float *bias = added >= 0 ? constant(f, added) : NULL;
    if (!g->packed || g->m != 1 || g->trans_a || g->over.rank || (added >= 0 && !bias) ||
        count_of(f, s->inputs[0]) != g->k)
        return 0;
    for (size_t i = 0; i < g->n; i++) {
        const float *w = g->packed + i / nr * g->k * nr + i % nr;
        if (f->backward) {
            add_rounding(f, &y[i], g->k);
            for (size_t k = 0; k < g->k; k++)
                x[k].slope += fabs((double)w[k * nr]) * y[i].slope;
            continue;
        }
        y[i].size = bias ? fabs((double)(g->beta * bias[i * g->c_col])) : 0;
        for (size_t k = 0; k < g->k; k++)
            y[i].size += fabs((double)w[k * nr]) * x[k].size;
    }
    return 1;
}

/* A constant: one number, or one per value. */
static int follow_add(follow *f, const sis__step *s, extent *x, extent *y) {
    int in = x == f->of[s->inputs[0]] ? 0 : 1, other = s->inputs[1 - in];
    const float *k = constant(f, other);
    size_t n = count_of(f, s->outputs[0]), many = count_of(f, other);
    if (!k || (many != 1 && many != n) || count_of(f, s->inputs[in]) != n)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (f->backward) {
            add_rounding(f, &y[i], 1);
            x[i].slope += y[i].slope;
        } else {
            y[i].size = x[i].size + fabs((double)k[many == 1 ? 0 : i]);
        }
    return 1;
}

/* Values of input `in` that are copied or become 0. Returns their number. */
static size_t follow_moved(const follow *f, const sis__step *s, size_t in, extent *y) {
    extent *x = f->of[s->inputs[in]];
    sis__source from;
    size_t n = 0;
    if (!x || !sis__source_of(f->p, s, 0, in, &from) || !(from.same || sis__is(s, SIS__RECTIFIER)))
        return 0;
    for (size_t i = 0; i < count_of(f, s->outputs[0]); i++) {
        size_t at = sis__source_at(&from, i);
        if (at == SIZE_MAX)
            continue;
        if (f->backward)
            x[at].slope += y[i].slope;
        else
            y[i].size = x[at].size;
        n++;
    }
    return n;
}

/* 1: the step is supported, 0: it is not. */
static int follow_step(follow *f, const sis__step *s, extent *y) {
    extent *x = NULL;
    for (size_t i = s->n_inputs; i-- > 0;) {
        if (s->inputs[i] < 0)
            return 0;
        x = f->of[s->inputs[i]] ? f->of[s->inputs[i]] : x;
    }
    if (s->op == SIS__OP_ADD)
        return x && follow_add(f, s, x, y);
    if (x && x == f->of[s->inputs[0]] && sis__is(s, SIS__DENSE))
        return follow_dense(f, s, x, y);
    size_t n = 0;
    for (size_t i = 0; i < s->n_inputs; i++)
        n += follow_moved(f, s, i, y);
    return n == count_of(f, s->outputs[0]);
}

/* Set the sizes of the cuts. */
static int set_cut_sizes(follow *f, const sis__prefix *prefix, const float *size) {
    for (size_t i = 0; i < prefix->n_points; i++) {
        const sis__cut_place *c = &prefix->points[i].cut;
        if (prefix->points[i].kind == SIS__KEEP_CONV)
            continue;
        extent *x = f->of[c->value] = SIS_NEW(extent, c->width);
        if (!x)
            return SIS_E_NOMEM;
        for (size_t k = 0; k < c->width; k++)
            x[k].size = (double)size[c->at + k];
    }
    return 1;
}

/* All steps; 1: supported, 0: not, negative: an error. */
static int forwards(follow *f) {
    int known = 1;
    for (size_t i = 0; known > 0 && i < f->p->n_steps; i++) {
        const sis__step *s = &f->p->steps[i];
        if (s->n_inputs == 0 || s->outputs[0] < 0 || (s->n_outputs > 1 && s->outputs[1] >= 0))
            return 0;
        extent *y = f->of[s->outputs[0]] = SIS_NEW(extent, count_of(f, s->outputs[0]));
        known = y ? follow_step(f, s, y) : SIS_E_NOMEM;
    }
    return known;
}

/* The slope of a margin is 1 in its own output and, with a softmax, at most 1 in the others. */
static void backwards(follow *f, const sis__net_input *s, extent *last, size_t n) {
    int softmax = sis__net_softmax(s->net);
    for (size_t k = 0; k < n; k++) {
        last[k].slope = k == s->output || softmax;
        f->rounding += 0x1p-40 * last[k].size * last[k].slope;
    }
    f->backward = 1;
    for (size_t i = f->p->n_steps; i-- > 0;)
        follow_step(f, &f->p->steps[i], f->of[f->p->steps[i].outputs[0]]);
}

static void find_slopes(const follow *f, const sis__prefix *prefix, float *slope) {
    for (size_t i = 0; i < prefix->n_points; i++) {
        const sis__cut_place *c = &prefix->points[i].cut;
        for (size_t k = 0; prefix->points[i].kind != SIS__KEEP_CONV && k < c->width; k++)
            slope[c->at + k] = (float)f->of[c->value][k].slope;
    }
}

/* For rows in which no value is above size (row), find the slope of the margin in each value, slope
 * (row), and the largest difference of two margins by rounding alone; INFINITY: unknown. */
static int head_error(const sis__prefix *prefix, const sis__head *head, const float *size,
                      float *slope, double *rounding) {
    const sis__plan *p = sis__head_plan(head);
    follow f = {.p = p, .of = SIS_NEW(extent *, p->n_tensors)};
    int last = prefix->s->net->pre_output;
    *rounding = INFINITY;
    if (!f.of)
        return SIS_E_NOMEM;
    int known = set_cut_sizes(&f, prefix, size);
    if (known > 0)
        known = forwards(&f);
    if (known > 0 && f.of[last]) {
        backwards(&f, prefix->s, f.of[last], count_of(&f, last));
        find_slopes(&f, prefix, slope);
        *rounding = f.rounding;
    }
    for (size_t i = 0; i < p->n_tensors; i++)
        free(f.of[i]);
    free((void *)f.of);
    return known < 0 ? known : SIS_OK;
}

/* ---- Estimates ------------------------------------------------------------------------------- */

/* For one cut. */
typedef struct {
    const sis__keep_point *point;
    const sis__layer *conv;
    size_t *at;     /* (n_features) offset of the output's change in `changes` */
    sis__box *over; /* (n_features) its box, which contains the feature's box in the output */
    float *changes;
    float *inside; /* (n_features, channels) estimated maxima inside the box */
    float *lowest; /* (channels) -INFINITY */
} cut_changes;

struct sis__estimate {
    sis__prefix *f;
    sis__head *head;
    cut_changes *cuts;
    size_t n_cuts;
    unsigned char *stale; /* (n_features) its maxima are out of date */
    float *error;         /* (row) error bound of values */
    float *change;        /* (row) maximal difference of a candidate's values from the base's */
    float *size;          /* (row) upper bound of values so far; the bound on rounding for it: */
    double rounding;
    float *weight;  /* (row) errors of values, in units of margins */
    float *rows;    /* (n_rows, row) */
    double *errors; /* (n_rows) error bounds of their margins */
    size_t n_rows;
    sis__arena memory;
};

/* ---- Equal features -------------------------------------------------------------------------- */

static float change_of(const sis__prefix *f, const sis__element *e) {
    const sis__map *m = &f->maps[0];
    return e->masked -
           f->input.values[sis__box_at(&m->whole, e->z, e->y, e->x) * m->channels + (size_t)e->c];
}

/* An element relative to the first corner of its feature's box. */
typedef struct {
    int at[4];
    float change;
} relative;

static relative relative_to(const sis__prefix *f, const sis__element *e, const sis__box *b) {
    return (relative){{e->z - b->lo[0], e->y - b->lo[1], e->x - b->lo[2], e->c}, change_of(f, e)};
}

/* An order in which features with the same change of the input are adjacent. */
static int by_change(const void *a, const void *b, void *ctx) {
    const sis__prefix *f = (const sis__prefix *)ctx;
    const size_t *start = f->input.start, i = *(const size_t *)a, j = *(const size_t *)b;
    size_t n = start[i + 1] - start[i], m = start[j + 1] - start[j];
    int order = n < m ? -1 : n > m;
    for (size_t k = 0; order == 0 && k < n; k++) {
        relative x = relative_to(f, &f->input.elements[start[i] + k], &f->maps[0].box[i]);
        relative y = relative_to(f, &f->input.elements[start[j] + k], &f->maps[0].box[j]);
        order = memcmp(&x, &y, sizeof x);
    }
    return order;
}

/* Box b shifted by the distance from feature i to feature j. */
static sis__box moved(const sis__prefix *f, const sis__box *b, size_t i, size_t j) {
    sis__box r = *b;
    for (size_t d = 0; d < 3; d++) {
        int by = f->maps[0].box[j].lo[d] - f->maps[0].box[i].lo[d];
        r.lo[d] += by;
        r.hi[d] += by;
    }
    return r;
}

static int holds(const sis__box *a, const sis__box *b) {
    sis__box both = sis__box_meet(a, b);
    return sis__box_empty(b) || memcmp(&both, b, sizeof both) == 0;
}

/* ---- Changes --------------------------------------------------------------------------------- */

/* The change of a convolution's outputs when a feature is masked, over its box. */
static void sum_change(sis__prefix *f, const sis__layer *l, size_t j, float *to) {
    const sis__box *b = &f->maps[l->out].box[j];
    sis__part in = {f->maps[0].window, sis__layer_field(l, &f->maps[0], b)};
    size_t channels = f->maps[0].channels;
    sis__layer alone = *l; /* without bias and without the base's sums */
    alone.conv.bias = NULL;
    alone.conv.sums = NULL;
    memset(in.at, 0, sis__box_volume(&in.box) * channels * sizeof *in.at);
    for (size_t i = f->input.start[j]; i < f->input.start[j + 1]; i++) {
        const sis__element *e = &f->input.elements[i];
        sis__box one = {{e->z, e->y, e->x}, {e->z + 1, e->y + 1, e->x + 1}};
        if (holds(&in.box, &one))
            sis__part_at(&in, channels, e->z, e->y, e->x)[e->c] = change_of(f, e);
    }
    sis__conv_run(f, &alone, &in, &(sis__part){to, *b}, b);
}

/* Let equal features share the change of the one with the largest box, if outputs are arranged like
 * inputs. owner[j]: the feature whose change is used for j. */
static void share(const cut_changes *c, const sis__prefix *f, const size_t *order, size_t *owner) {
    const sis__window *w = &c->conv->w;
    const sis__box *box = f->maps[c->conv->out].box;
    int strides = w->stride[0] > 1 || w->stride[1] > 1 || w->stride[2] > 1;
    size_t n = f->s->in.n;
    for (size_t first = 0, end; first < n; first = end) {
        size_t max = order[first];
        for (end = first + 1;
             end < n && !by_change(&order[first], &order[end], (void *)(uintptr_t)f); end++)
            if (sis__box_volume(&box[order[end]]) > sis__box_volume(&box[max]))
                max = order[end];
        for (size_t k = first; k < end; k++) {
            size_t j = order[k];
            sis__box over = moved(f, &box[max], max, j);
            owner[j] = !strides && holds(&over, &box[j]) ? max : j;
        }
    }
}

/* Assign offsets to all changes; returns the number of floats. */
static size_t place_changes(cut_changes *c, const sis__prefix *f, const size_t *owner) {
    const sis__map *out = &f->maps[c->conv->out];
    size_t used = 0;
    for (size_t j = 0; j < f->s->in.n; j++)
        if (owner[j] == j) {
            c->at[j] = used;
            used += (sis__box_volume(&out->box[j]) * out->channels + 15) / 16 * 16;
        }
    for (size_t j = 0; j < f->s->in.n; j++) {
        c->at[j] = c->at[owner[j]];
        c->over[j] = moved(f, &out->box[owner[j]], owner[j], j);
    }
    return used;
}

/* Update the largest change of each filter at n positions; 0 if one is not finite. */
static int see_changes(const float *x, size_t n, size_t channels, float *largest) {
    int finite = 1;
    for (size_t i = 0; i < n; i++, x += channels)
        for (size_t k = 0; k < channels; k++) {
            float size = fabsf(x[k]);
            largest[k] = size > largest[k] ? size : largest[k];
            finite &= size <= FLT_MAX;
        }
    return finite;
}

/* Sum all changes, and find the largest of each filter; 0: the difference of finite values
 * overflows. */
static int sum_changes(cut_changes *c, sis__prefix *f, const size_t *owner, float *largest) {
    const sis__map *out = &f->maps[c->conv->out];
    int finite = 1;
    for (size_t j = 0; j < f->s->in.n; j++) {
        float *to = c->changes + c->at[j];
        size_t n = sis__box_volume(&out->box[j]);
        if (owner[j] != j || n == 0)
            continue;
        sum_change(f, c->conv, j, to);
        finite &= see_changes(to, n, out->channels, largest);
    }
    return finite;
}

/* ---- Errors ---------------------------------------------------------------------------------- */

/* The largest length of a position of the input, each value present or masked, whichever is
 * larger. */
static double longest_position(sis__prefix *f) {
    const sis__map *m = &f->maps[0];
    size_t n = sis__positions(m), channels = m->channels;
    double max = 0;
    float *x = m->base; /* empty before the first reset */
    memcpy(x, f->input.values, n * channels * sizeof *x);
    for (size_t i = 0; i < f->input.start[f->s->in.n]; i++) {
        const sis__element *e = &f->input.elements[i];
        float *at = &x[sis__box_at(&m->whole, e->z, e->y, e->x) * channels + (size_t)e->c];
        *at = fmaxf(fabsf(*at), fabsf(e->masked));
    }
    for (size_t p = 0; p < n; p++) {
        double sum = 0;
        for (size_t c = 0; c < channels; c++)
            sum += (double)x[p * channels + c] * (double)x[p * channels + c];
        max = fmax(max, sum);
    }
    return sqrt(max);
}

/* Sum of the lengths of a filter's weights over the positions of the kernel. */
static double filter_length(const sis__layer *l, const float *w, size_t filter) {
    size_t taps = sis__conv_rows(l) * l->w.kernel[2], inside = l->w.channels / l->w.groups;
    int transposed = l->op == SIS__OP_MATMUL;
    double length = 0;
    for (size_t t = 0; t < taps; t++) {
        double sum = 0;
        for (size_t c = 0; c < inside; c++) {
            double v = (double)(transposed ? w[c * l->w.filters + filter]
                                           : w[(filter * inside + c) * taps + t]);
            sum += v * v;
        }
        length += sqrt(sum);
    }
    return length;
}

/* Error bounds of estimated values: the cut's part of e->error. */
static void find_errors(sis__estimate *e, const cut_changes *c, double position) {
    const sis__prefix *f = e->f;
    const sis__layer *l = c->conv;
    const float *w = (const float *)f->plan->tensors[l->step->inputs[1]].data;
    size_t n = sis__conv_rows(l) * l->w.kernel[2] * l->w.channels / l->w.groups, max = 0;
    for (size_t j = 0; j < f->s->in.n; j++) {
        size_t own = f->input.start[j + 1] - f->input.start[j];
        max = own > max ? own : max;
    }
    double m = (double)(max < n ? max : n), terms = (double)(n + sis__conv_rows(l));
    for (size_t k = 0; k < c->point->cut.width; k++) {
        double s = position * filter_length(l, w, k);
        double b = l->conv.bias ? fabs((double)l->conv.bias[k]) : 0;
        double error = 2 * (terms + 2) * (b + s) + (m + 3) * 2 * s + b + 3 * s;
        e->error[c->point->cut.at + k] = (float)(error * 0x1.1p-24);
    }
}

/* ---- New ------------------------------------------------------------------------------------- */

void sis__estimate_free(sis__estimate *e) {
    if (e)
        sis__arena_release(&e->memory);
    free(e);
}

/* Number of products that masking a feature makes out of date, per value to be estimated. */
static double products_for_each(const sis__prefix *f, const sis__layer *l) {
    size_t n = f->s->in.n, step = n / 32 + 1, asked = 0;
    double met = 0;
    for (size_t i = 0; i < n; i += step, asked++) {
        sis__box a = sis__conv_lines(f, l, i);
        for (size_t j = 0; j < n; j++) {
            sis__box b = sis__conv_lines(f, l, j);
            b = sis__box_meet(&a, &b);
            met += (double)sis__box_volume(&b);
        }
    }
    size_t terms = sis__conv_rows(l) * l->w.kernel[2] * l->w.channels / l->w.groups;
    return met * (double)terms / (double)(asked * n);
}

/* Are all cuts maxima of convolutions of the input, and is it worthwhile? */
static int fits(const sis__prefix *f) {
    for (size_t i = 0; i < f->n_points; i++) {
        const sis__keep_point *s = &f->points[i];
        if (s->kind == SIS__KEEP_CONV)
            continue;
        const sis__layer *l = s->map > 0 ? &f->layers[s->map - 1] : NULL;
        if (s->kind != SIS__KEEP_MAX || !l || l->kind != SIS__LAYER_CONV || l->in[0] != 0 ||
            products_for_each(f, l) < min_products)
            return 0;
    }
    return 1;
}

static int changes_init(cut_changes *c, sis__prefix *f, const size_t *order, size_t *owner,
                        float *largest, sis__arena *memory) {
    size_t n = f->s->in.n, channels = f->maps[c->conv->out].channels;
    c->at = SIS_ARENA(memory, size_t, n);
    c->over = SIS_ARENA(memory, sis__box, n);
    c->inside = SIS_ARENA_RAW(memory, float, n *channels);
    c->lowest = SIS_ARENA_RAW(memory, float, channels);
    if (sis__arena_error(memory))
        return SIS_E_NOMEM;
    for (size_t k = 0; k < channels; k++)
        c->lowest[k] = -INFINITY;
    share(c, f, order, owner);
    size_t floats = place_changes(c, f, owner);
    if (floats > f->s->memory / sizeof *c->changes)
        return SIS_E_UNSUPPORTED;
    c->changes = SIS_ARENA(memory, float, floats);
    if (!c->changes)
        return SIS_E_NOMEM;
    return sum_changes(c, f, owner, largest) ? SIS_OK : SIS_E_UNSUPPORTED;
}

/* Turn errors of values and rounding of the head into errors of margins, for rows of this size. */
static int weigh_errors(sis__estimate *e) {
    int error = head_error(e->f, e->head, e->size, e->weight, &e->rounding);
    for (size_t i = 0; i < e->f->row; i++)
        e->weight[i] *= e->error[i] * 1.0001f; /* they are added in single precision */
    return error || isfinite(e->rounding) ? error : SIS_E_UNSUPPORTED;
}

static int cuts_init(sis__estimate *e) {
    sis__prefix *f = e->f;
    size_t n = f->s->in.n, *order = SIS_NEW_RAW(size_t, n), *owner = SIS_NEW_RAW(size_t, n);
    int error = order && owner ? SIS_OK : SIS_E_NOMEM;
    for (size_t j = 0; !error && j < n; j++)
        order[j] = j;
    if (!error)
        sis__sort(order, n, sizeof *order, by_change, f);
    double position = longest_position(f);
    for (size_t i = 0; !error && i < f->n_points; i++) {
        const sis__keep_point *s = &f->points[i];
        if (s->kind == SIS__KEEP_CONV)
            continue;
        cut_changes *c = &e->cuts[e->n_cuts++];
        *c = (cut_changes){.point = s, .conv = &f->layers[s->map - 1]};
        error = changes_init(c, f, order, owner, e->change + s->cut.at, &e->memory);
        if (!error)
            find_errors(e, c, position);
    }
    free(order);
    free(owner);
    return error;
}

static int estimate_init(sis__estimate *e) {
    sis__prefix *f = e->f;
    sis__arena *memory = &e->memory;
    size_t n = f->s->in.n, max = row_bytes / sizeof(float) / (f->row + 1);
    e->n_rows = max < 16 ? 16 : max < n ? max : n;
    e->cuts = SIS_ARENA(memory, cut_changes, f->n_points);
    e->stale = SIS_ARENA(memory, unsigned char, n);
    e->error = SIS_ARENA(memory, float, f->row);
    e->change = SIS_ARENA(memory, float, f->row);
    e->size = SIS_ARENA(memory, float, f->row);
    e->weight = SIS_ARENA(memory, float, f->row);
    e->rows = SIS_ARENA_RAW(memory, float, e->n_rows * f->row);
    e->errors = SIS_ARENA(memory, double, e->n_rows);
    if (sis__arena_error(memory))
        return SIS_E_NOMEM;
    int error = cuts_init(e);
    return error ? error : weigh_errors(e);
}

int sis__estimate_new(sis__prefix *f, sis__head *head, sis__estimate **out) {
    *out = NULL;
    if (!fits(f))
        return SIS_OK;
    sis__estimate *e = SIS_NEW(sis__estimate, 1);
    if (!e)
        return SIS_E_NOMEM;
    *e = (sis__estimate){.f = f, .head = head};
    int error = estimate_init(e);
    if (error)
        sis__estimate_free(e);
    *out = error ? NULL : e;
    return error == SIS_E_UNSUPPORTED ? SIS_OK : error;
}

/* ---- Estimates ------------------------------------------------------------------------------- */

void sis__estimate_reset(sis__estimate *e) {
    memset(e->stale, 1, e->f->s->in.n);
}

void sis__estimate_mark_stale(sis__estimate *e, size_t j) {
    e->stale[j] = 1;
}

/* Update the maxima inside the boxes. */
static void update(sis__estimate *e, size_t j) {
    const sis__kernels *kn = sis__kernels_best();
    for (size_t i = 0; i < e->n_cuts; i++) {
        const cut_changes *c = &e->cuts[i];
        const sis__map *m = &e->f->maps[c->conv->out];
        const sis__box *b = &m->box[j];
        const sis__part base = {m->base, m->whole}, change = {c->changes + c->at[j], c->over[j]};
        float *top = c->inside + j * m->channels;
        memcpy(top, c->lowest, m->channels * sizeof *top);
        SIS__EACH_ROW(b, z, y)
        kn->add_max(sis__part_at(&base, m->channels, z, y, b->lo[2]),
                    sis__part_at(&change, m->channels, z, y, b->lo[2]),
                    (size_t)(b->hi[2] - b->lo[2]), top, m->channels);
    }
    e->stale[j] = 0;
}

/* Make a row; returns the error bound of its margin, from values that come, or may come, from
 * inside the box. */
static double make_row(sis__estimate *e, size_t j, const float *base, float *row) {
    double error = e->rounding;
    if (e->stale[j])
        update(e, j);
    for (size_t i = 0; i < e->n_cuts; i++) {
        const sis__keep_point *s = e->cuts[i].point;
        const float *inside = e->cuts[i].inside + j * s->cut.width;
        size_t at = s->cut.at, n = s->cut.width;
        if (sis__box_empty(&s->box[j])) {
            memcpy(row + at, base + at, n * sizeof *row);
            continue;
        }
        sis__keep_join(e->f, s, j, inside, base + at, row + at);
        const sis__near near = {inside, e->error + at, row + at, e->weight + at, n};
        error += (double)sis__kernels_best()->near(&near);
    }
    return error;
}

/* A candidate's value differs from the base's by at most the largest change. If that exceeds all
 * earlier values, the bound on rounding grows. */
static int see_base(sis__estimate *e, const float *base) {
    size_t n = e->f->row, below = 0;
    float largest = 0;
    while (below < n && fabsf(base[below]) + e->change[below] <= e->size[below])
        below++;
    if (below == n)
        return SIS_OK;
    for (size_t i = 0; i < n; i++)
        largest = fabsf(base[i]) > largest ? fabsf(base[i]) : largest;
    for (size_t i = 0; i < n; i++) /* with room for a few steps */
        e->size[i] = fmaxf(e->size[i], fabsf(base[i]) + 0.5f * largest + e->change[i]);
    int error = weigh_errors(e);
    return error == SIS_E_UNSUPPORTED ? SIS_OK : error; /* no bound */
}

int sis__estimate_max(sis__estimate *e, const int *features, size_t n, int wants, const float *base,
                      double *max) {
    int error = see_base(e, base);
    for (size_t from = 0; !error && from < n; from += e->n_rows) {
        size_t count = n - from < e->n_rows ? n - from : e->n_rows;
        for (size_t k = 0; k < count; k++)
            e->errors[k] = make_row(e, (size_t)features[from + k], base, e->rows + k * e->f->row);
        error = sis__head_margins_rows(e->head, e->rows, count, max + from);
        for (size_t k = from; !error && k < from + count; k++) {
            max[k] = wants * max[k] + e->errors[k - from];
            if (isnan(max[k]))
                max[k] = INFINITY;
        }
    }
    return error;
}
