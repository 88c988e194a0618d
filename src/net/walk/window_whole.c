/* SPDX-License-Identifier: MIT
 *
 * Cuts that are a whole map: the head reads every position. For each candidate, all values inside
 * its box are kept.
 */
#include <string.h>

#include "net/walk/window.h"

static void whole_update(sis__prefix *f, sis__keep_point *s, size_t j) {
    const sis__kept *p = &s->kept[j];
    size_t channels = f->maps[s->map].channels, n = (size_t)(p->dirty.hi[2] - p->dirty.lo[2]);
    const float *from = sis__prefix_evaluate(f, j, s->map, &p->dirty).at;
    SIS__EACH_ROW(&p->dirty, z, y) {
        memcpy(f->store.single + p->in + sis__box_at(&s->box[j], z, y, p->dirty.lo[2]) * channels,
               from, n * channels * sizeof *from);
        from += n * channels;
    }
}

/* Copy a box of the map, from a part that contains it, to the tensor's order. Returns whether
 * anything changed. */
static int place_box(const sis__prefix *f, const sis__keep_point *s, const sis__part *p,
                     float *row) {
    size_t channels = f->maps[s->map].channels, step = s->cut.axes.stride[0];
    const float *from = p->at;
    int differs = 0;
    SIS__EACH_ROW(&p->box, z, y)
    for (int x = p->box.lo[2]; x < p->box.hi[2]; x++, from += channels) {
        float *to = row + sis__axes_at(&s->cut.axes, z, y, x);
        for (size_t c = 0; c < channels; c++) {
            differs |= memcmp(&from[c], &to[c * step], sizeof *from) != 0;
            to[c * step] = from[c];
        }
    }
    return differs;
}

static void whole_row(sis__prefix *f, sis__keep_point *s, float *row) {
    const sis__map *m = &f->maps[s->map];
    place_box(f, s, &(sis__part){m->base, m->whole}, row);
}

static int whole_row_without(sis__prefix *f, sis__keep_point *s, size_t j, const float *base,
                             float *row) {
    memcpy(row, base, s->cut.width * sizeof *row);
    return !sis__box_empty(&s->box[j]) &&
           place_box(f, s, &(sis__part){f->store.single + s->kept[j].in, s->box[j]}, row);
}

/* The values of feature j's box that differ from the base: positions and values. place NULL: 1 if
 * there is any. */
static size_t whole_changes(const sis__prefix *f, const sis__keep_point *s, size_t j,
                            const float *base, size_t *place, float *value) {
    size_t channels = f->maps[s->map].channels, step = s->cut.axes.stride[0], n = 0;
    const float *from = f->store.single + s->kept[j].in;
    const sis__box *b = &s->box[j];
    SIS__EACH_ROW(b, z, y)
    for (int x = b->lo[2]; x < b->hi[2]; x++, from += channels) {
        size_t at = sis__axes_at(&s->cut.axes, z, y, x);
        for (size_t c = 0; c < channels; c++, at += step) {
            int differs = memcmp(&from[c], &base[at], sizeof *from) != 0;
            if (differs && !place)
                return 1;
            if (place) {
                place[n] = s->cut.at + at;
                value[n] = from[c];
            }
            n += (size_t)differs;
        }
    }
    return n;
}

const sis__keep_ops sis__keep_whole = {.update = whole_update,
                                       .row = whole_row,
                                       .row_without = whole_row_without,
                                       .changes = whole_changes};
