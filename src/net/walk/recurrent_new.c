/* SPDX-License-Identifier: MIT
 *
 * Making a strand: which feature owns each time, its inputs projected as they are and masked, and
 * how many states of candidates fit into memory. Where it is short, they are kept at every 2nd,
 * 4th, ... time only and computed from the last one kept; where even that does not fit, from the
 * candidate's own time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk/recurrent_strand.h"

/* Features of times: each belongs whole to one, or to none. */
static int find_owners(sis__strand *s, const sis__face *f, int reverse) {
    size_t width = s->cells[0].input;
    for (size_t t = 0; t < s->length; t++) {
        const int *at = f->feature + (reverse ? s->length - 1 - t : t) * width;
        for (size_t k = 1; k < width; k++)
            if (at[k] != at[0])
                return SIS_E_UNSUPPORTED;
        s->owner[t] = at[0];
    }
    return SIS_OK;
}

/* Project what the first layer reads, in the order of time. */
static void project_inputs(sis__strand *s, const sis__face *f, int reverse) {
    const sis__cell *cell = &s->cells[0];
    if (!reverse) {
        sis__cell_project(cell, s->length, f->x, s->inputs[0]);
        sis__cell_project(cell, s->length, f->z, s->inputs[1]);
        return;
    }
    for (size_t t = 0; t < s->length; t++) {
        size_t at = (s->length - 1 - t) * cell->input;
        sis__cell_project(cell, 1, f->x + at, s->inputs[0] + t * cell->width);
        sis__cell_project(cell, 1, f->z + at, s->inputs[1] + t * cell->width);
    }
}

/* Which times each feature changes: what is read there differs, be it seen by this strand or only by
 * the other, so that both reach the same features. */
static void find_spans(sis__strand *s, const sis__face *f, int reverse) {
    size_t width = s->cells[0].input;
    for (size_t i = 0; i < s->features; i++)
        s->candidates[i].from = s->candidates[i].stale = s->length;
    s->first = s->length;
    for (size_t t = s->length; t-- > 0;) {
        size_t at = (reverse ? s->length - 1 - t : t) * width;
        if (s->owner[t] < 0 || memcmp(f->x + at, f->z + at, width * sizeof *f->x) == 0)
            continue;
        sis__candidate *c = &s->candidates[s->owner[t]];
        c->to = c->from == s->length ? t + 1 : c->to;
        c->from = s->first = t;
    }
}

/* States to keep of all candidates at every so many times. */
static double kept_states(const sis__strand *s, size_t every) {
    double n = 0;
    for (size_t i = 0; i < s->features; i++)
        if (s->candidates[i].from < s->length)
            n += (double)(s->length / every - s->candidates[i].from / every);
    return n;
}

/* How many fit, and where each candidate's begin. */
static int plan_kept(sis__strand *s, const sis__strand_spec *spec) {
    size_t every = 1, at = 0;
    while (every <= s->length &&
           kept_states(s, every) * (double)(s->state * sizeof(float)) > (double)spec->memory)
        every *= 2;
    s->every = every <= s->length ? every : 0;
    if (spec->all_times && s->every != 1)
        return SIS_E_UNSUPPORTED;
    for (size_t i = 0; s->every && i < s->features; i++) {
        sis__candidate *c = &s->candidates[i];
        c->kept_at = at;
        if (c->from < s->length)
            at += s->length / s->every - c->from / s->every;
    }
    s->kept = (float *)sis__alloc_raw(at, s->state * sizeof(float));
    return s->kept ? SIS_OK : SIS_E_NOMEM;
}

/* Base states from the time before the first feature on, or all of them. */
static int start_base(sis__strand *s) {
    s->base_from = s->all_times ? 0 : s->first;
    s->base = (float *)sis__alloc(s->length + 1 - s->base_from, s->state * sizeof(float));
    if (!s->base)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->n_cells; k++)
        memcpy(s->base + s->part[k], s->cells[k].start, s->cells[k].state * sizeof(float));
    sis__strand_begin(s);
    return SIS_OK;
}

static int allocate_batch(sis__strand *s) {
    size_t width = 0, hidden = 0, p = s->features;
    size_t rows = p > SIS__STRAND_ROWS ? p : SIS__STRAND_ROWS;
    int fine = 1;
    for (size_t k = 0; k < s->n_cells; k++) {
        const sis__cell *c = &s->cells[k];
        width = c->width > width ? c->width : width;
        hidden = c->hidden > hidden ? c->hidden : hidden;
        s->h[k] = SIS_NEW(float, p * c->hidden);
        s->c[k] = SIS_NEW(float, p * c->hidden);
        fine = fine && s->h[k] && s->c[k];
    }
    s->todo = SIS_NEW(int, p);
    s->starts = SIS_NEW(size_t, s->length + 1);
    s->rows = SIS_NEW(int, p);
    s->as_it_was = SIS_NEW(unsigned char, p);
    s->as_base = SIS_NEW(unsigned char, p);
    s->gates = SIS_NEW(float, rows *width);
    s->outputs = SIS_NEW(float, rows *hidden);
    s->spare = SIS_NEW(float, p *hidden);
    return fine && s->todo && s->starts && s->rows && s->as_it_was && s->as_base && s->gates &&
                   s->outputs && s->spare
               ? SIS_OK
               : SIS_E_NOMEM;
}

/* Everything but candidates' states: too much of it, and predicting copies is no worse. */
static int check_size(const sis__strand *s, size_t memory) {
    double floats = (double)s->length * (double)(2 * s->cells[0].width + s->state);
    for (size_t k = 0; k < s->n_cells; k++)
        floats += (double)(s->features + SIS__STRAND_ROWS) * (double)(s->cells[k].width * 2);
    return floats * sizeof(float) < (double)memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate(sis__strand *s) {
    size_t inputs = s->length * s->cells[0].width;
    s->owner = SIS_NEW(int, s->length);
    s->inputs[0] = SIS_NEW_RAW(float, inputs);
    s->inputs[1] = SIS_NEW_RAW(float, inputs);
    s->masked = SIS_NEW(unsigned char, s->features);
    s->candidates = SIS_NEW(sis__candidate, s->features);
    s->final = SIS_NEW(float, s->features * s->state);
    return s->owner && s->inputs[0] && s->inputs[1] && s->masked && s->candidates && s->final
               ? allocate_batch(s)
               : SIS_E_NOMEM;
}

static int strand_init(sis__strand *s, const sis__face *f, const sis__strand_spec *spec) {
    s->n_cells = spec->n_cells;
    s->length = spec->length;
    s->features = f->s->n_features;
    s->all_times = spec->all_times;
    for (size_t k = 0; k < s->n_cells; k++) {
        s->cells[k] = spec->cells[k];
        s->part[k] = s->state;
        s->state += s->cells[k].state;
    }
    int error = check_size(s, spec->memory);
    if (error == SIS_OK)
        error = allocate(s);
    if (error == SIS_OK)
        error = find_owners(s, f, spec->reverse);
    if (error != SIS_OK)
        return error;
    project_inputs(s, f, spec->reverse);
    find_spans(s, f, spec->reverse);
    error = plan_kept(s, spec);
    return error == SIS_OK ? start_base(s) : error;
}

int sis__strand_new(const sis__face *f, sis__strand_spec *spec, sis__strand **out) {
    *out = NULL;
    sis__strand *s = SIS_NEW(sis__strand, 1);
    if (!s) {
        for (size_t k = 0; k < spec->n_cells; k++)
            sis__cell_release(&spec->cells[k]);
        return SIS_E_NOMEM;
    }
    int error = strand_init(s, f, spec);
    if (error != SIS_OK) {
        sis__strand_free(s);
        return error;
    }
    *out = s;
    return SIS_OK;
}

void sis__strand_free(sis__strand *s) {
    if (!s)
        return;
    for (size_t k = 0; k < s->n_cells; k++) {
        sis__cell_release(&s->cells[k]);
        free(s->h[k]);
        free(s->c[k]);
    }
    free(s->owner);
    free(s->inputs[0]);
    free(s->inputs[1]);
    free(s->masked);
    free(s->candidates);
    free(s->base);
    free(s->kept);
    free(s->final);
    free(s->todo);
    free(s->starts);
    free(s->rows);
    free(s->as_it_was);
    free(s->as_base);
    free(s->gates);
    free(s->outputs);
    free(s->spare);
    free(s);
}
