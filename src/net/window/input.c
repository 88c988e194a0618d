/* SPDX-License-Identifier: MIT
 *
 * From a row of values to map 0. Exports often begin by folding flat rows into an image, turning
 * axes round, or looking tokens up in a matrix of embeddings. All of that happens before the front:
 * each value is followed through, and map 0 is what comes out. A feature owns the elements its
 * values end up in; the smallest box around them is where masking it begins.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/window/read.h"

static const size_t most_values = 1 << 24; /* of the input */

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

/* May the front begin behind this step, which reads tensor t? */
static int leads(const sis__plan *p, const sis__step *s, int t) {
    if (!s || s->outputs[0] < 0 || p->tensors[s->outputs[0]].wanted)
        return 0;
    if (s->op == SIS__OP_TRANSPOSE || s->ops->trait == SIS__KEEPS)
        return s->inputs[0] == t;
    const sis__tensor *m = &p->tensors[s->inputs[0]];
    return s->op == SIS__OP_GATHER && s->inputs[1] == t && m->data && m->dtype == SIS__F32 &&
           m->rank == 2 && s->p.axis.axis == 0;
}

/* Follow the row through one such step. */
static int lead_step(const sis__reader *r, const sis__step *s, lead *l) {
    lead next;
    if (s->op != SIS__OP_TRANSPOSE && s->op != SIS__OP_GATHER)
        return SIS_OK;
    int error = lead_init(&next, sis__tensor_of(r, s->outputs[0])->count);
    if (error)
        return error;
    if (s->op == SIS__OP_TRANSPOSE)
        lead_transpose(l, &s->p.strided, &next);
    else
        error = lead_gather(l, sis__tensor_of(r, s->inputs[0]), &next);
    lead_release(l);
    *l = next;
    return error;
}

static int find_lead(sis__reader *r, lead *l, int *last) {
    const sis__subject *s = r->f->s;
    int error = lead_init(l, s->n_values);
    if (error)
        return error;
    memcpy(l->x, s->x, l->n * sizeof *l->x);
    memcpy(l->z, s->z, l->n * sizeof *l->z);
    for (size_t i = 0; i < l->n; i++)
        l->owner[i] = i;
    *last = s->fed;
    for (const sis__step *step; leads(r->plan, step = sis__plan_reader(r->plan, *last), *last);) {
        if ((error = lead_step(r, step, l)) != 0)
            return error;
        r->taken[step - r->plan->steps] = 1;
        *last = step->outputs[0];
    }
    const sis__tensor *t = sis__tensor_of(r, *last);
    return t->dtype == SIS__F32 && t->count == l->n && l->n < most_values ? SIS_OK
                                                                          : SIS_E_UNSUPPORTED;
}

/* Elements of a tensor in order, and where they lie in the map that it shows. */
typedef struct {
    size_t rank, dims[SIS__MAX_RANK], at[SIS__MAX_RANK];
    int axis[SIS__MAX_RANK]; /* of the map: 0 channels, 1 to 3 positions, 4 none */
    int place[5];
} tour;

static tour tour_of(const sis__tensor *t, const sis__sight *v) {
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

static int feature_of(const sis__subject *s, size_t value) {
    return s->input->feature_of ? s->input->feature_of[value] : (int)value;
}

/* Elements sorted by feature, and the box of each feature. */
static void sort_elements(sis__front *f, const lead *l, const sis__tensor *t, const sis__sight *v) {
    sis__map *m = &f->maps[0];
    size_t n = f->s->n_features;
    tour r = tour_of(t, v);
    for (size_t i = 0; i < l->n; i++) {
        int j = feature_of(f->s, l->owner[i]);
        if (j >= 0)
            f->start[j + 1]++;
    }
    for (size_t j = 0; j < n; j++)
        f->start[j + 1] += f->start[j];
    for (size_t i = 0; i < l->n; i++, tour_next(&r)) {
        sis__element e = {.c = r.place[0], .z = r.place[1], .y = r.place[2], .x = r.place[3]};
        int j = feature_of(f->s, l->owner[i]);
        f->input[sis__box_at(&m->whole, e.z, e.y, e.x) * m->channels + (size_t)e.c] = l->x[i];
        if (j < 0)
            continue;
        e.masked = l->z[i];
        f->elements[f->start[j]++] = e;
        sis__box one = {{e.z, e.y, e.x}, {e.z + 1, e.y + 1, e.x + 1}};
        m->box[j] = sis__box_join(&m->box[j], &one);
    }
    /* start[j] now holds where j ends. */
    memmove(f->start + 1, f->start, n * sizeof *f->start);
    f->start[0] = 0;
}

int sis__read_input(sis__reader *r) {
    sis__front *f = r->f;
    lead l = {0};
    sis__sight v;
    int last = r->f->s->fed, error = find_lead(r, &l, &last);
    const sis__tensor *t = sis__tensor_of(r, last);
    if (!error) {
        int found = sis__sight_first(r->plan, last, &v);
        error = found > 0 ? SIS_OK : found < 0 ? found : SIS_E_UNSUPPORTED;
    }
    if (!error) {
        sis__map *m = &f->maps[0];
        input_size(t, &v, m);
        error = sis__map_init(f, m);
        f->input = (float *)sis__front_alloc(f, l.n, sizeof *f->input);
        f->elements = (sis__element *)sis__front_alloc(f, l.n, sizeof *f->elements);
        f->start = (size_t *)sis__front_alloc(f, f->s->n_features + 1, sizeof *f->start);
        if (!f->input || !f->elements || !f->start)
            error = SIS_E_NOMEM;
    }
    if (!error) {
        sort_elements(f, &l, t, &v);
        r->of[last].sight = v;
    }
    lead_release(&l);
    return error;
}
