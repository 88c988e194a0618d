/* SPDX-License-Identifier: MIT
 *
 * Changes that stay: convolutions that read the input itself, in walks that add up changes.
 *
 * Masking a feature changes the input by the same amounts whatever else is masked. What that does
 * to the outputs of a convolution is summed once and kept for good. Features that change the input
 * alike (the same base of a DNA sequence, the same word, pixels of one shade) share it: it then
 * covers all outputs that would see the feature if the input went on for ever, of which those are
 * read that the map has. With strides this depends on where the feature lies, and each has its own;
 * so it has where that takes less memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/window/read.h"

static float change_of(const sis__front *f, const sis__element *e) {
    const sis__map *m = &f->maps[0];
    return e->masked -
           f->input[sis__box_at(&m->whole, e->z, e->y, e->x) * m->channels + (size_t)e->c];
}

/* ---- Which are alike ------------------------------------------------------------------------- */

/* An element as seen from the first corner of its feature's box. */
typedef struct {
    int at[4];
    float change;
} relative;

static relative relative_to(const sis__front *f, const sis__element *e, const sis__box *b) {
    return (relative){{e->z - b->lo[0], e->y - b->lo[1], e->x - b->lo[2], e->c}, change_of(f, e)};
}

/* Any order that puts features side by side that change the input alike. */
static int by_change(const void *a, const void *b, void *ctx) {
    const sis__front *f = (const sis__front *)ctx;
    size_t i = *(const size_t *)a, j = *(const size_t *)b;
    size_t n = f->start[i + 1] - f->start[i], m = f->start[j + 1] - f->start[j];
    int order = n < m ? -1 : n > m;
    for (size_t k = 0; order == 0 && k < n; k++) {
        relative x = relative_to(f, &f->elements[f->start[i] + k], &f->maps[0].box[i]);
        relative y = relative_to(f, &f->elements[f->start[j] + k], &f->maps[0].box[j]);
        order = memcmp(&x, &y, sizeof x);
    }
    return order;
}

/* Order features so, and number those that are alike by one of them (in `in` of their spots). */
static int find_alike(sis__front *f, sis__site *s) {
    size_t n = f->s->n_features;
    size_t *order = SIS_NEW_RAW(size_t, n);
    if (!order)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < n; j++)
        order[j] = j;
    qsort_r(order, n, sizeof *order, by_change, f);
    for (size_t k = 0; k < n; k++) {
        int alike = k > 0 && by_change(&order[k - 1], &order[k], f) == 0;
        s->spots[order[k]].in = alike ? s->spots[order[k - 1]].in : order[k];
    }
    free(order);
    return SIS_OK;
}

/* ---- Room ----------------------------------------------------------------------------------- */

/* All outputs that would see box b, with strides of 1. */
static sis__box endless_reach(const sis__window *w, const sis__box *b) {
    sis__box r = *b;
    for (size_t d = 0; d < 3 && !sis__box_empty(b); d++) {
        r.lo[d] = b->lo[d] + (int)w->pad[d] - (int)((w->kernel[d] - 1) * w->dilation[d]);
        r.hi[d] = b->hi[d] + (int)w->pad[d];
    }
    return r;
}

/* Let those that are alike share, if that takes less than one each. */
static int share(sis__front *f, sis__site *s, sis__box *over) {
    const sis__window *w = &f->layers[s->layer].w;
    double apart = sis__box_total(f, &f->maps[f->layers[s->layer].out]), together = 0;
    if (w->stride[0] > 1 || w->stride[1] > 1 || w->stride[2] > 1)
        return 0;
    for (size_t j = 0; j < f->s->n_features; j++) {
        over[j] = endless_reach(w, &f->maps[0].box[j]);
        together += s->spots[j].in == j ? (double)sis__box_volume(&over[j]) : 0;
    }
    return together < apart;
}

int sis__fixed_init(sis__front *f, sis__site *s) {
    size_t n = f->s->n_features, filters = f->layers[s->layer].w.filters;
    sis__box *over = (sis__box *)sis__front_alloc(f, n, sizeof *over);
    int error = over ? find_alike(f, s) : SIS_E_NOMEM;
    if (error)
        return error;
    if (share(f, s, over))
        s->over = over;
    else
        for (size_t j = 0; j < n; j++)
            s->spots[j].in = j;
    for (size_t j = 0; j < n; j++)
        if (s->spots[j].in == j)
            s->spots[j].out = sis__keep_room(&f->n_store, sis__box_volume(&s->over[j]) * filters);
    for (size_t j = 0; j < n; j++)
        s->spots[j].out = s->spots[s->spots[j].in].out;
    return SIS_OK;
}

/* ---- Sums ------------------------------------------------------------------------------------ */

/* Add what `count` changes at a position of the input do. Boxes that begin outside the map are
 * moved to 0, and with them the position. */
static void add_position(const sis__front *f, const sis__site *s, size_t j, const sis__element *e,
                         size_t count) {
    const sis__layer *l = &f->layers[s->layer];
    sis__box box = s->over[j];
    int at[3] = {e->z, e->y, e->x};
    for (size_t d = 0; d < 3 && s->over != f->maps[l->out].box; d++) {
        at[d] -= box.lo[d];
        box.hi[d] -= box.lo[d];
        box.lo[d] = 0;
    }
    sis__conv_add(f, l, &box, at, count, f->store + s->spots[j].out);
}

static int same_position(const sis__element *a, const sis__element *b) {
    return a->z == b->z && a->y == b->y && a->x == b->x;
}

static void sum_feature(sis__front *f, sis__site *s, size_t j) {
    size_t count = 0;
    for (size_t i = f->start[j]; i < f->start[j + 1]; i++) {
        const sis__element *e = &f->elements[i];
        float change = change_of(f, e);
        f->index[count] = e->c;
        f->change[count] = change;
        count += change != 0.0f;
        s->spots[j].changed += change != 0.0f;
        if (i + 1 < f->start[j + 1] && same_position(e, e + 1))
            continue;
        if (count > 0)
            add_position(f, s, j, e, count);
        count = 0;
    }
}

/* Values that are finite may differ by more than any number is: their changes tell nothing. */
static int is_finite(const sis__front *f, const sis__site *s, size_t j) {
    size_t n = sis__box_volume(&s->over[j]) * f->layers[s->layer].w.filters;
    const float *sums = f->store + s->spots[j].out;
    int bad = 0;
    for (size_t i = 0; i < n; i++)
        bad |= !isfinite(sums[i]);
    return !bad;
}

int sis__fixed_sum(sis__front *f, sis__site *s) {
    size_t n = f->s->n_features;
    for (size_t j = 0; j < n; j++) {
        if (s->spots[j].in != j)
            continue;
        sum_feature(f, s, j);
        if (!is_finite(f, s, j))
            return SIS_E_UNSUPPORTED;
    }
    for (size_t j = 0; j < n; j++)
        s->spots[j].changed = s->spots[s->spots[j].in].changed;
    return SIS_OK;
}
