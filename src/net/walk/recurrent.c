/* SPDX-License-Identifier: MIT
 *
 * LSTM and GRU over positions that are features: words, bases, time steps. See recurrent.h.
 *
 * States are kept by strands; this file finds them in the network, reads from them what stands at
 * the cut behind the last recurrent layer, and lets the head make margins of it. Everything is
 * computed by the kernels of a full pass in the same order, so margins are those of a full pass to
 * the bit.
 *
 * Positions must belong to features whole. Layers may be stacked, all in one direction; one
 * bidirectional layer alone is two strands. Initial states and lengths must be constant.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/walk/element_source.h"
#include "net/walk/recurrent.h"

/* An element of the cut: part of the state of a strand after some time. */
typedef struct {
    size_t strand, time, at;
} element;

typedef struct {
    sis_walk walk;
    const sis__subject *s;
    sis__face face;
    sis__strand *strands[2];
    size_t n_strands;
    sis__head *head;
    element *elements; /* (width) */
    size_t width;      /* of a row at the cut */
    int all_times;     /* the cut looks at more than last states */
    size_t block;      /* rows the head is given at a time */
    float *rows;       /* (block, width) */
    double margin;     /* of the present state */
    double *margins;   /* (p) of candidates */
    int *changed;      /* (p) candidates whose margins are to be computed */
    double *fresh;     /* (p) their margins */
} recurrent_walk;

/* ---- The recurrent layers of a network ------------------------------------------------------- */

static int is_recurrent(const sis__step *s) {
    return s && (s->op == SIS__OP_LSTM || s->op == SIS__OP_GRU);
}

/* Does anybody want this output? */
static int is_read(const sis__plan *p, int tensor) {
    if (tensor < 0)
        return 0;
    if (p->tensors[tensor].wanted)
        return 1;
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t j = 0; j < p->steps[i].n_inputs; j++)
            if (p->steps[i].inputs[j] == tensor)
                return 1;
    return 0;
}

/* The only output of a layer that is read: 0 (all times), 1 (last h) or 2 (last c); 3: several. */
static size_t used_output(const sis__plan *p, const sis__step *s) {
    size_t used = 3;
    for (size_t i = 0; i < s->n_outputs; i++)
        if (is_read(p, s->outputs[i])) {
            if (used < 3)
                return 3;
            used = i;
        }
    return used;
}

/* The recurrent layer that reads h of every time as it is; NULL if there is none. */
static int find_next(sis__run *r, int tensor, const sis__step **next) {
    sis__origin o;
    int error = sis__origin_begin(&o, r, tensor), more = 1;
    size_t n = o.n;
    *next = NULL;
    while (error == SIS_OK && more > 0) {
        const sis__step *reader = sis__plan_reader(r->plan, o.tensor);
        if (is_recurrent(reader) && reader->inputs[0] == o.tensor) {
            size_t i = 0;
            while (i < o.n && o.n == n && o.from[i] == i)
                i++;
            *next = i == n ? reader : NULL;
            break;
        }
        more = sis__origin_step(&o, r, SIS__MOVED);
        error = more < 0 ? more : SIS_OK;
    }
    sis__origin_release(&o);
    return error;
}

/* What a network's recurrent part is made of. */
typedef struct {
    sis__strand_spec strands[2];
    size_t n;
    const sis__step *last;
    size_t output; /* of it that goes on */
} recurrence;

static void release_cells(recurrence *c) {
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->strands[i].n_cells; k++)
            sis__cell_release(&c->strands[i].cells[k]);
}

static int add_cell(recurrence *c, size_t strand, const sis__step *s, sis__run *r) {
    sis__strand_spec *to = &c->strands[strand];
    const sis__recurrent *p = &s->p.recurrent;
    if (to->n_cells == SIS__MOST_CELLS)
        return SIS_E_UNSUPPORTED;
    int reverse = p->reverse || strand == 1;
    if (to->n_cells && (reverse != to->reverse || p->seq != to->length))
        return SIS_E_UNSUPPORTED;
    to->reverse = reverse;
    to->length = p->seq;
    int error = sis__cell_init(&to->cells[to->n_cells], s, r, strand);
    to->n_cells += error == SIS_OK;
    return error;
}

/* One more layer on top; SIS_E_UNSUPPORTED leaves everything as it was. */
static int add_layer(recurrence *c, const sis__step *s, sis__run *r) {
    size_t used = used_output(r->plan, s);
    if (used == 3 || (c->last && s->p.recurrent.directions != 1))
        return SIS_E_UNSUPPORTED; /* both directions at once mix all times */
    int error = SIS_OK;
    for (size_t i = 0; i < c->n && error == SIS_OK; i++)
        error = add_cell(c, i, s, r);
    if (error == SIS_OK) {
        c->last = s;
        c->output = used;
    }
    return error;
}

static void note_layer(const recurrent_walk *w, const recurrence *c, int error) {
    if (error == SIS_OK)
        sis__subject_note(w->s, c->last, "states kept; from the feature on");
}

/* The stack of layers in front, as high as it goes; whatever is above is the head's. */
static int find_recurrence(recurrent_walk *w, recurrence *c) {
    sis__run *r = w->face.run;
    const sis__step *s = sis__face_reader(&w->face);
    if (!is_recurrent(s) || s->inputs[0] != w->face.tensor || s->p.recurrent.seq == 0)
        return SIS_E_UNSUPPORTED;
    c->n = s->p.recurrent.directions;
    int error = add_layer(c, s, r);
    note_layer(w, c, error);
    while (error == SIS_OK && c->n == 1 && c->output == 0) {
        error = find_next(r, c->last->outputs[0], &s);
        if (error == SIS_OK && !s)
            break;
        if (error == SIS_OK)
            error = add_layer(c, s, r);
        if (error == SIS_E_UNSUPPORTED)
            return SIS_OK;
        note_layer(w, c, error);
    }
    return error;
}

/* ---- The cut ------------------------------------------------------------------------------- */

/* Where element q of the last layer's output that goes on is found. */
static element locate(const recurrence *c, size_t q) {
    const sis__recurrent *p = &c->last->p.recurrent;
    const sis__strand_spec *first = &c->strands[0];
    size_t h = q % p->hidden, direction = q / p->hidden % p->directions;
    size_t t = q / p->hidden / p->directions, at = 0;
    for (size_t k = 0; k + 1 < first->n_cells; k++)
        at += first->cells[k].state;
    element e = {direction, p->seq - 1, at + h};
    if (c->output == 0)
        e.time = c->strands[direction].reverse ? p->seq - 1 - t : t;
    if (c->output == 2)
        e.at += p->hidden;
    return e;
}

static int set_elements(recurrent_walk *w, const recurrence *c, const sis__origin *o) {
    free(w->elements);
    w->elements = SIS_NEW(element, o->n);
    w->width = o->n;
    w->all_times = 0;
    for (size_t i = 0; w->elements && i < o->n; i++) {
        w->elements[i] = locate(c, o->from[i]);
        w->all_times |= w->elements[i].time + 1 < c->last->p.recurrent.seq;
    }
    return w->elements ? SIS_OK : SIS_E_NOMEM;
}

/* Follow what comes out of the last layer by n steps that only move values, and cut there. */
static int cut_after(recurrent_walk *w, const recurrence *c, size_t n) {
    sis__origin o;
    int error = sis__origin_begin(&o, w->face.run, c->last->outputs[c->output]), more = 1;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        more = sis__origin_step(&o, w->face.run, SIS__MOVED);
        error = more < 0 ? more : more == 0 ? SIS_E_UNSUPPORTED : SIS_OK;
    }
    if (error == SIS_OK)
        error = sis__head_new(w->s, o.tensor, &w->face.plan->tensors[o.tensor], &w->head);
    if (error == SIS_OK)
        error = set_elements(w, c, &o);
    sis__origin_release(&o);
    return error;
}

/* As far behind the last layer as possible: there is least to copy, and rows are in front. */
static int find_cut(recurrent_walk *w, const recurrence *c) {
    sis__origin o;
    size_t most = 0;
    int more, error = sis__origin_begin(&o, w->face.run, c->last->outputs[c->output]);
    while (error == SIS_OK && (more = sis__origin_step(&o, w->face.run, SIS__MOVED)) != 0) {
        error = more < 0 ? more : SIS_OK;
        most++;
    }
    sis__origin_release(&o);
    if (error != SIS_OK)
        return error;
    do
        error = cut_after(w, c, most);
    while (error == SIS_E_UNSUPPORTED && most-- > 0);
    return error;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* What stands at the cut with this feature masked too; -1: the base. */
static void fill_row(const recurrent_walk *w, int feature, float *row) {
    const float *last[2] = {NULL, NULL};
    for (size_t i = 0; i < w->width; i++) {
        const element *e = &w->elements[i];
        const float *state = last[e->strand];
        if (!state || w->all_times)
            state = last[e->strand] = sis__strand_at(w->strands[e->strand], feature, e->time);
        row[i] = state[e->at];
    }
}

/* Margins of n candidates that are up to date; -1 is the base. */
static int compute_margins(recurrent_walk *w, const int *features, size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t i = 0; i < n && error == SIS_OK; i += w->block) {
        size_t some = n - i < w->block ? n - i : w->block;
        for (size_t k = 0; k < some; k++)
            fill_row(w, features[i + k], w->rows + k * w->width);
        error = sis__head_margins(w->head, w->rows, some, margins + i);
    }
    return error;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static int recurrent_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    recurrent_walk *w = (recurrent_walk *)walk;
    for (size_t i = 0; i < w->n_strands; i++)
        sis__strand_reset(w->strands[i], masked);
    int error = compute_margins(w, (int[]){-1}, 1, &w->margin);
    *margin = w->margin;
    return error;
}

static int recurrent_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    recurrent_walk *w = (recurrent_walk *)walk;
    size_t n_changed = 0;
    for (size_t i = 0; i < w->n_strands; i++)
        sis__strand_run(w->strands[i], features, n);
    for (size_t i = 0; i < n; i++) {
        int moved = 0;
        for (size_t k = 0; k < w->n_strands; k++)
            moved |= sis__strand_moved(w->strands[k], features[i]);
        if (moved)
            w->changed[n_changed++] = features[i];
    }
    int error = compute_margins(w, w->changed, n_changed, w->fresh);
    for (size_t i = 0; error == SIS_OK && i < n_changed; i++)
        w->margins[w->changed[i]] = w->fresh[i];
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        margins[i] =
            sis__strand_reaches(w->strands[0], features[i]) ? w->margins[features[i]] : w->margin;
    return error;
}

static int recurrent_mask(sis_walk *walk, int feature, double *margin) {
    recurrent_walk *w = (recurrent_walk *)walk;
    int error = recurrent_probe(walk, &feature, 1, margin);
    if (error != SIS_OK)
        return error;
    for (size_t i = 0; i < w->n_strands; i++)
        sis__strand_mask(w->strands[i], feature);
    w->margin = *margin;
    return SIS_OK;
}

static void recurrent_free(sis_walk *walk) {
    recurrent_walk *w = (recurrent_walk *)walk;
    for (size_t i = 0; i < 2; i++)
        sis__strand_free(w->strands[i]);
    sis__head_free(w->head);
    sis__face_release(&w->face);
    free(w->elements);
    free(w->rows);
    free(w->margins);
    free(w->changed);
    free(w->fresh);
    free(w);
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int allocate(recurrent_walk *w) {
    size_t p = w->s->n_features;
    w->block = ((size_t)4 << 20) / sizeof(float) / w->width;
    w->block = w->block < 1 ? 1 : w->block > 256 ? 256 : w->block;
    w->rows = SIS_NEW(float, w->block * w->width);
    w->margins = SIS_NEW(double, p);
    w->changed = SIS_NEW(int, p);
    w->fresh = SIS_NEW(double, p);
    return w->rows && w->margins && w->changed && w->fresh ? SIS_OK : SIS_E_NOMEM;
}

static int make_strands(recurrent_walk *w, recurrence *c) {
    int error = SIS_OK;
    for (size_t i = 0; i < c->n && error == SIS_OK; i++) {
        c->strands[i].memory = w->s->memory / 4 * 3 / c->n;
        c->strands[i].all_times = w->all_times;
        error = sis__strand_new(&w->face, &c->strands[i], &w->strands[i]);
        c->strands[i].n_cells = 0; /* taken over */
    }
    w->n_strands = c->n;
    return error;
}

static int recurrent_init(recurrent_walk *w) {
    recurrence c = {.n = 0};
    int error = sis__face_init(&w->face, w->s);
    if (error == SIS_OK)
        error = find_recurrence(w, &c);
    if (error == SIS_OK)
        error = find_cut(w, &c);
    if (error == SIS_OK)
        error = w->width ? allocate(w) : SIS_E_UNSUPPORTED;
    if (error == SIS_OK)
        error = make_strands(w, &c);
    release_cells(&c);
    return error;
}

int sis__walk_recurrent_new(const sis__subject *s, sis_walk **out) {
    static const sis_walk_ops ops = {recurrent_reset, recurrent_probe, recurrent_mask,
                                     recurrent_free};
    *out = NULL;
    recurrent_walk *w = SIS_NEW(recurrent_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    w->s = s;
    int error = recurrent_init(w);
    if (error != SIS_OK) {
        recurrent_free(&w->walk);
        return error;
    }
    *out = &w->walk;
    return SIS_OK;
}
