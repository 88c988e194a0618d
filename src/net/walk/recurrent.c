/* SPDX-License-Identifier: MIT
 *
 * Walks over LSTM and GRU layers whose positions are features (words, bases, time steps).
 *
 * Layers stacked in one direction form a chain (recurrent_chain.c). A bidirectional layer is two
 * chains, and may have one more bidirectional layer on top (recurrent_upper.c). Layers above these
 * belong to the head. Initial states and lengths must be constant.
 *
 * Masking a feature changes no state before its position, so states are kept for each candidate and
 * only later ones are recomputed. Margins have the bits of a full pass.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/walk/element_source.h"
#include "net/walk/recurrent.h"

/* Contiguous elements of the cut: part of a chain's state after some time. Chains 2 and 3 are the
 * directions of the upper layer. */
typedef struct {
    size_t chain, time, at, n;
} stretch;

enum { UPPER = 2 };

typedef struct {
    sis__rule_instance instance;
    const sis__net_input *s;
    sis__entry *entry;
    sis__rnn_chain *chains[2];
    size_t n_chains;
    sis__rnn_upper *upper; /* NULL: none */
    stretch *stretches;    /* (n_stretches) the cut consists of these, in order */
    size_t n_stretches;
    int all_times; /* the cut reads more than the last states */
} recurrent_walk;

/* ---- The recurrent layers of a network ------------------------------------------------------- */

static int is_recurrent(const sis__step *s) {
    return s && sis__is(s, SIS__RECURRENT);
}

/* Is this output read? */
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

/* The recurrent layer that directly reads h of all times; NULL: none. */
static int find_next(const sis__plan *p, int tensor, const sis__step **next) {
    sis__origin o;
    int error = sis__origin_begin(&o, p, tensor), more = 1;
    size_t n = o.n;
    *next = NULL;
    while (!error && more > 0) {
        const sis__step *reader = sis__plan_reader(p, o.tensor);
        if (is_recurrent(reader) && reader->inputs[0] == o.tensor) {
            size_t i = 0;
            while (i < o.n && o.n == n && o.from[i] == i)
                i++;
            *next = i == n ? reader : NULL;
            break;
        }
        more = sis__origin_step(&o, p, SIS__MOVED);
        error = more < 0 ? more : SIS_OK;
    }
    sis__origin_release(&o);
    return error;
}

/* An output that other steps than the next layer read: 0 (h of all times), 1 (last h) or 2 (last
 * c). */
typedef struct {
    const sis__step *step;
    size_t cell; /* index in its chains */
    int upper;   /* of the upper layer */
    size_t output;
    size_t first; /* index of its first element; elements are numbered over all taps */
} tap;

/* The recurrent layers of a network. */
typedef struct {
    sis__rnn_chain_spec chains[2];
    size_t n;
    sis__rnn_upper *upper; /* NULL: none */
    const sis__step *last;
    tap taps[3 * SIS__RNN_CELLS];
    size_t n_taps, elements;
} recurrence;

static void release_cells(recurrence *c) {
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->chains[i].n_cells; k++)
            sis__rnn_cell_release(&c->chains[i].cells[k]);
    sis__rnn_upper_free(c->upper);
}

static int add_cell(recurrence *c, size_t which, const sis__step *s, sis__run *r) {
    sis__rnn_chain_spec *to = &c->chains[which];
    const sis__recurrent *p = &s->p.recurrent;
    if (to->n_cells == SIS__RNN_CELLS)
        return SIS_E_UNSUPPORTED;
    int reverse = p->reverse || which == 1;
    if (to->n_cells && (reverse != to->reverse || p->seq != to->length))
        return SIS_E_UNSUPPORTED;
    to->reverse = reverse;
    to->length = p->seq;
    int error = sis__rnn_cell_init(&to->cells[to->n_cells], s, r, which);
    to->n_cells += !error;
    return error;
}

/* Add a layer on top; SIS_E_UNSUPPORTED changes nothing. */
static int add_layer(recurrence *c, const sis__step *s, sis__run *r) {
    if (c->last && s->p.recurrent.directions != 1)
        return SIS_E_UNSUPPORTED; /* a bidirectional layer mixes all times */
    int error = SIS_OK;
    for (size_t i = 0; i < c->n && !error; i++)
        error = add_cell(c, i, s, r);
    c->last = !error ? s : c->last;
    return error;
}

/* Add a layer on top of a bidirectional one; SIS_E_UNSUPPORTED changes nothing. */
static int add_upper(recurrence *c, const sis__step *s, sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    if (c->upper || p->directions != 2 || !p->w_late[0] || p->seq != c->chains[0].length ||
        p->hidden != c->chains[0].cells[0].hidden)
        return SIS_E_UNSUPPORTED;
    sis__rnn_upper *u = SIS_NEW(sis__rnn_upper, 1);
    int error = u ? SIS_OK : SIS_E_NOMEM;
    for (size_t d = 0; d < 2 && !error; d++)
        error = sis__rnn_cell_init(&u->cells[d], s, r, d);
    if (error) {
        sis__rnn_upper_free(u);
        return error;
    }
    u->length = p->seq;
    c->upper = u;
    c->last = s;
    return SIS_OK;
}

/* Add the outputs of a layer, from this one on, that are read. */
static void add_taps(recurrence *c, const sis__plan *p, const sis__step *s, size_t cell,
                     size_t output) {
    for (; output < s->n_outputs && output < 3; output++)
        if (is_read(p, s->outputs[output])) {
            c->taps[c->n_taps++] = (tap){s, cell, c->upper && s == c->last, output, c->elements};
            c->elements += p->tensors[s->outputs[output]].count;
        }
}

static void note_layer(const recurrent_walk *w, const recurrence *c, int error) {
    if (!error && !c->upper)
        sis__net_input_note(w->s, c->last, "states kept; from the feature on");
}

/* Find the recurrent layers at the start, as many as possible; everything above belongs to the
 * head. */
static int find_recurrence(recurrent_walk *w, recurrence *c, int upper) {
    if (!w->entry)
        return SIS_E_UNSUPPORTED;
    sis__run *r = w->entry->run;
    const sis__step *s = sis__entry_reader(w->entry);
    if (!is_recurrent(s) || s->inputs[0] != w->entry->tensor || s->p.recurrent.seq == 0)
        return SIS_E_UNSUPPORTED;
    c->n = s->p.recurrent.directions;
    sis__entry_note(w->entry);
    int error = add_layer(c, s, r), more = !error;
    note_layer(w, c, error);
    while (more && !error) {
        const sis__step *below = c->last;
        size_t cell = c->chains[0].n_cells - 1;
        s = NULL;
        if ((c->n == 1 || (upper && !c->upper)) && is_read(r->plan, below->outputs[0]))
            error = find_next(r->plan, below->outputs[0], &s);
        int added = !s || error ? SIS_E_UNSUPPORTED
                    : c->n == 1 ? add_layer(c, s, r)
                                : add_upper(c, s, r);
        more = added == SIS_OK;
        error = added == SIS_E_UNSUPPORTED ? error : added;
        add_taps(c, r->plan, below, cell, (size_t)more);
        if (more)
            note_layer(w, c, error);
    }
    return error;
}

/* ---- The cut ------------------------------------------------------------------------------- */

/* The position of element q of all taps. */
static stretch locate(const recurrence *c, size_t q) {
    const tap *t = &c->taps[c->n_taps - 1];
    while (q < t->first)
        t--;
    q -= t->first;
    const sis__recurrent *p = &t->step->p.recurrent;
    size_t h = q % p->hidden, direction = q / p->hidden % p->directions;
    size_t time = q / p->hidden / p->directions, at = t->output == 2 ? p->hidden : 0;
    for (size_t k = 0; k < t->cell && !t->upper; k++)
        at += c->chains[0].cells[k].state;
    stretch e = {direction + (t->upper ? UPPER : 0), p->seq - 1, at + h, 1};
    if (t->output == 0)
        e.time = c->chains[direction].reverse ? p->seq - 1 - time : time;
    return e;
}

/* The elements of taps that each tensor consists of. */
typedef struct {
    const sis__plan *p;
    size_t **elements; /* (tensors) element numbers; NULL: other values */
    size_t steps;      /* number of steps that moved elements */
} tapped;

static int list_taps(const tapped *m, const recurrence *c) {
    for (size_t i = 0; i < c->n_taps; i++) {
        int tensor = c->taps[i].step->outputs[c->taps[i].output];
        size_t n = m->p->tensors[tensor].count, *list = SIS_NEW_RAW(size_t, n);
        if (!list)
            return SIS_E_NOMEM;
        for (size_t q = 0; q < n; q++)
            list[q] = c->taps[i].first + q;
        m->elements[tensor] = list;
    }
    return SIS_OK;
}

/* Follow a step that only moves or joins elements of taps: 1, 0 for other steps, or a negative
 * error code. */
static int move_on(const tapped *m, const sis__step *s) {
    size_t *list;
    for (size_t o = 1; o < s->n_outputs; o++)
        if (is_read(m->p, s->outputs[o]))
            return 0;
    int done = sis__origin_pass(m->p, s, m->elements, SIS__MOVED, &list);
    size_t n = done > 0 ? m->p->tensors[s->outputs[0]].count : 0, i = 0;
    while (i < n && list[i] != SIZE_MAX)
        i++;
    if (i < n) { /* next to constants */
        free(list);
        return 0;
    }
    if (done > 0)
        m->elements[s->outputs[0]] = list;
    return done;
}

/* Is a tensor read by a step that does not just move it? */
static int goes_on(const tapped *m, int tensor) {
    const sis__plan *p = m->p;
    int found = p->tensors[tensor].wanted;
    for (size_t i = 0; i < p->n_steps && !found; i++)
        for (size_t k = 0; k < p->steps[i].n_inputs; k++)
            found |= p->steps[i].inputs[k] == tensor &&
                     (p->steps[i].outputs[0] < 0 || !m->elements[p->steps[i].outputs[0]]);
    return found;
}

/* Follow the outputs of the layers through at most `max` steps that only move values. *tensor: the
 * tensor that is read after them, or -1. */
static int follow(tapped *m, const recurrence *c, size_t max, int *tensor) {
    const sis__plan *p = m->p;
    int error = list_taps(m, c), found = 0;
    for (size_t i = 0; i < p->n_steps && m->steps < max && error >= 0; i++) {
        error = move_on(m, &p->steps[i]);
        m->steps += error > 0;
    }
    for (size_t i = 0; i < p->n_tensors; i++)
        if (m->elements[i] && goes_on(m, (int)i)) {
            *tensor = (int)i;
            found++;
        }
    *tensor = found == 1 ? *tensor : -1;
    return error < 0 ? error : SIS_OK;
}

static int continues(const stretch *s, const stretch *e) {
    return s->chain == e->chain && s->time == e->time && s->at + s->n == e->at;
}

/* elements: (width) those at the cut. */
static int set_stretches(recurrent_walk *w, const recurrence *c, int tensor,
                         const size_t *elements) {
    free(w->stretches);
    w->instance.width = w->entry->plan->tensors[tensor].count;
    w->stretches = SIS_NEW(stretch, w->instance.width);
    w->n_stretches = 0;
    w->all_times = c->upper != NULL;
    for (size_t i = 0; w->stretches && i < w->instance.width; i++) {
        stretch e = locate(c, elements[i]);
        w->all_times |= e.chain < UPPER && e.time + 1 < c->last->p.recurrent.seq;
        if (w->n_stretches > 0 && continues(&w->stretches[w->n_stretches - 1], &e))
            w->stretches[w->n_stretches - 1].n++;
        else
            w->stretches[w->n_stretches++] = e;
    }
    return w->stretches ? SIS_OK : SIS_E_NOMEM;
}

/* Cut after this many moving steps; *most: their number. */
static int cut_after(recurrent_walk *w, const recurrence *c, size_t *max) {
    const sis__plan *p = w->entry->plan;
    tapped m = {.p = p, .elements = SIS_NEW(size_t *, p->n_tensors)};
    int tensor = -1, error = m.elements ? follow(&m, c, *max, &tensor) : SIS_E_NOMEM;
    if (!error && tensor < 0)
        error = SIS_E_UNSUPPORTED;
    *max = m.steps;
    if (!error)
        error = sis__head_new(
            w->s, &(sis__head_spec){.cuts = &(sis__cut){tensor, &p->tensors[tensor]}, .n_cuts = 1},
            &w->instance.head);
    if (!error)
        error = set_stretches(w, c, tensor, m.elements[tensor]);
    for (size_t i = 0; m.elements && i < p->n_tensors; i++)
        free(m.elements[i]);
    free((void *)m.elements);
    return error;
}

/* Cut as far from the last layer as possible, where there is least to copy. */
static int find_cut(recurrent_walk *w, const recurrence *c) {
    size_t max = SIZE_MAX;
    int error;
    if (c->n_taps == 0 || c->elements >= (size_t)1 << 24)
        return SIS_E_UNSUPPORTED;
    do
        error = cut_after(w, c, &max);
    while (error == SIS_E_UNSUPPORTED && max-- > 0);
    return error;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* The values at the cut with this feature masked too; -1: the base. */
static void fill_row(const recurrent_walk *w, int feature, float *row) {
    for (size_t i = 0; i < w->n_stretches; i++) {
        const stretch *e = &w->stretches[i];
        const float *state = e->chain < UPPER
                                 ? sis__rnn_chain_at(w->chains[e->chain], feature, e->time)
                                 : sis__rnn_upper_at(w->upper, e->chain - UPPER, feature, e->time);
        memcpy(row, state + e->at, e->n * sizeof *row);
        row += e->n;
    }
}

/* ---- The rule ------------------------------------------------------------------------------ */

static int recurrent_reset(sis__rule_instance *r, const unsigned char *masked) {
    recurrent_walk *w = (recurrent_walk *)r;
    for (size_t i = 0; i < w->n_chains; i++)
        sis__rnn_chain_reset(w->chains[i], masked);
    if (w->upper)
        sis__rnn_upper_reset(w->upper);
    return SIS_OK;
}

static void recurrent_update(sis__rule_instance *r, const int *features, size_t n) {
    recurrent_walk *w = (recurrent_walk *)r;
    for (size_t i = 0; i < w->n_chains; i++)
        sis__rnn_chain_run(w->chains[i], features, n);
    if (w->upper)
        sis__rnn_upper_update(w->upper, features, n);
}

static sis__change recurrent_row(sis__rule_instance *r, int feature, float *row) {
    recurrent_walk *w = (recurrent_walk *)r;
    int moved = feature < 0;
    if (feature >= 0 && !sis__rnn_chain_reaches(w->chains[0], feature))
        return SIS__NOTHING;
    for (size_t i = 0; feature >= 0 && i < w->n_chains; i++) {
        moved |= sis__rnn_chain_moved(w->chains[i], feature);
        sis__rnn_chain_seen(w->chains[i], feature);
    }
    if (!moved)
        return SIS__AS_BEFORE;
    fill_row(w, feature, row);
    return SIS__CHANGED;
}

static int recurrent_mask(sis__rule_instance *r, int feature) {
    recurrent_walk *w = (recurrent_walk *)r;
    for (size_t i = 0; i < w->n_chains; i++)
        sis__rnn_chain_mask(w->chains[i], feature);
    return SIS_OK;
}

static void release_layers(recurrent_walk *w) {
    for (size_t i = 0; i < 2; i++) {
        sis__rnn_chain_free(w->chains[i]);
        w->chains[i] = NULL;
    }
    sis__rnn_upper_free(w->upper);
    w->upper = NULL;
    free(w->stretches);
    w->stretches = NULL;
}

static void recurrent_close(sis__rule_instance *r) {
    release_layers((recurrent_walk *)r);
}

/* Set how many times of the upper layer are needed, and whether the lower chains keep sums for it
 * (not for a few times). */
static int plan_upper(recurrent_walk *w, recurrence *c) {
    sis__rnn_upper *u = c->upper;
    u->features = w->s->in.n;
    for (size_t i = 0; i < w->n_stretches; i++) {
        const stretch *e = &w->stretches[i];
        size_t *upto = e->chain < UPPER ? NULL : &u->upto[e->chain - UPPER];
        if (upto && e->time + 1 > *upto)
            *upto = e->time + 1;
    }
    for (size_t i = 0; i < w->n_stretches; i++) {
        const stretch *e = &w->stretches[i];
        u->all_times |= e->chain >= UPPER && e->time + 1 < u->upto[e->chain - UPPER];
    }
    for (size_t i = 0; i < 2; i++)
        for (size_t d = 0; d < 2; d++) {
            c->chains[i].half = i;
            c->chains[i].above[d] = 4 * u->upto[d] > u->length ? &u->cells[d] : NULL;
        }
    return sis__rnn_upper_allocate(u, w->s->memory / 8);
}

static int make_chains(recurrent_walk *w, recurrence *c) {
    int error = SIS_OK;
    for (size_t i = 0; i < c->n && !error; i++) {
        c->chains[i].memory = w->s->memory / 4 * 3 / c->n;
        c->chains[i].all_times = w->all_times;
        error = sis__rnn_chain_new(w->entry, &c->chains[i], &w->chains[i]);
        c->chains[i].n_cells = 0; /* now owned by the chain */
    }
    w->n_chains = c->n;
    w->upper = c->upper;
    c->upper = NULL; /* now owned by the walk */
    for (size_t i = 0; w->upper && i < 2; i++)
        w->upper->below[i] = w->chains[i];
    return error;
}

/* upper: include an upper layer, if there is one. */
static int open_layers(recurrent_walk *w, int upper) {
    recurrence c = {.n = 0};
    int error = find_recurrence(w, &c, upper);
    if (!error)
        error = find_cut(w, &c);
    if (!error && c.upper)
        error = plan_upper(w, &c);
    if (!error)
        error = w->instance.width ? make_chains(w, &c) : SIS_E_UNSUPPORTED;
    if (!error && w->upper)
        sis__net_input_note(w->s, c.last, "half of its sums kept; all times");
    release_cells(&c);
    return error;
}

static int recurrent_open(sis__rule_instance *r) {
    recurrent_walk *w = (recurrent_walk *)r;
    w->s = r->s;
    w->entry = r->s->entry;
    r->exact = 1;
    int error = open_layers(w, 1);
    if (error != SIS_E_UNSUPPORTED)
        return error;
    release_layers(w); /* possibly too large: leave the upper layer to the head */
    sis__head_free(w->instance.head);
    w->instance.head = NULL;
    return open_layers(w, 0);
}

const sis__rule sis__rule_recurrent = {
    .name = "recurrent",
    .bytes = sizeof(recurrent_walk),
    .min_copies = 300,
    .keeps_entry = 1,
    .open = recurrent_open,
    .close = recurrent_close,
    .reset = recurrent_reset,
    .mask = recurrent_mask,
    .row = recurrent_row,
    .update = recurrent_update,
};
