/* SPDX-License-Identifier: MIT
 *
 * Map 0 of a prefix. Exported networks often begin by reshaping flat rows into an image,
 * transposing, or looking tokens up in an embedding matrix. The entry (entry.h) has followed each
 * value through these steps; map 0 is the result. A feature owns the elements that its values end
 * up in. Masking it changes the smallest box around them.
 */
#include <string.h>

#include "base/error.h"
#include "net/walk/entry.h"
#include "net/walk/window_read.h"

static const size_t max_values = 1 << 24; /* of the input */

/* Iterates over the elements of a tensor in order, with their positions in the map. */
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

/* Sort elements by feature, and find the box of each feature. */
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
    /* start[j] is now the end of j. */
    memmove(f->input.start + 1, f->input.start, n * sizeof *f->input.start);
    f->input.start[0] = 0;
}

/* Map 0 is the input of the first layer that mixes values; earlier steps belong to the entry. */
static int find_map(sis__reader *r, sis__axis_map *v) {
    const sis__entry *from = r->f->s->entry;
    if (!from || from->n >= max_values || sis__reader_tensor(r, from->tensor)->dtype != SIS__F32)
        return SIS_E_UNSUPPORTED;
    for (int i = 0; i <= sis__reader_tensor(r, from->tensor)->node; i++)
        r->taken[i] = 1;
    int found = sis__axis_map_first(r->plan, from->tensor, v);
    return found > 0 ? SIS_OK : found < 0 ? found : SIS_E_UNSUPPORTED;
}

int sis__read_input(sis__reader *r) {
    sis__prefix *f = r->f;
    sis__axis_map v;
    int error = find_map(r, &v);
    if (error)
        return error;
    size_t n = f->s->entry->n;
    input_size(sis__reader_tensor(r, f->s->entry->tensor), &v, &f->maps[0]);
    error = sis__map_init(f, &f->maps[0]);
    f->input.values = SIS_ARENA(&f->memory, float, n);
    f->input.elements = SIS_ARENA(&f->memory, sis__element, n);
    f->input.start = SIS_ARENA(&f->memory, size_t, f->s->in.n + 1);
    if (error || sis__arena_error(&f->memory))
        return SIS_E_NOMEM;
    sort_elements(f, &v);
    r->of[f->s->entry->tensor].axes = v;
    return SIS_OK;
}
