/* SPDX-License-Identifier: MIT
 *
 * States of the base and of every candidate along one strand.
 *
 * Masking a feature changes no state before the first time it owns (its `from`), and none of a
 * candidate's before the `from` of whatever was masked since. So each candidate's states are kept,
 * and only those from there on computed again: all candidates together, as a batch that grows while
 * time goes on. With i down and time across, j the feature masked last:
 *
 *              time  0   .   j   .   T
 *     candidate 0    .   k   k   r   r        k: kept, r: computed again
 *               .        .   k   r   r        candidates in front of j go on from j with what they
 *               j            .   r   r        kept, those behind it begin at their own time with
 *               the .                .   r        state of the base
 *
 * A candidate whose state comes out as it was, or as the base's, to the bit, goes on as it was, or
 * as the base, as long as the inputs do: it leaves the batch.
 *
 * Layers run one after the other over blocks of a few times, so that the weights of one layer stay
 * in the cache and its projection is one product. Inputs of the first layer are projected once, as
 * they are and masked.
 */
#include <string.h>

#include "net/walk/recurrent_strand.h"

enum { BLOCK_TIMES = 16 }; /* of a block, at most */

/* ---- Where things lie ------------------------------------------------------------------------ */

int sis__strand_reaches(const sis__strand *s, int feature) {
    return s->candidates[feature].from < s->length;
}

/* Base state after time t; t = -1 as SIZE_MAX is before time 0. */
static float *base_at(const sis__strand *s, size_t t) {
    return s->base + (t + 1 - s->base_from) * s->state;
}

static int is_kept(const sis__strand *s, size_t t) {
    return s->every && (t + 1) % s->every == 0;
}

/* State of a candidate after a time that is kept. */
static float *kept_at(const sis__strand *s, int feature, size_t t) {
    const sis__candidate *c = &s->candidates[feature];
    return s->kept + (c->kept_at + t / s->every - c->from / s->every) * s->state;
}

/* Projected input of time t with `feature` masked on top; -1: the base. */
static const float *input_at(const sis__strand *s, int feature, size_t t) {
    int owner = s->owner[t];
    int masked = owner >= 0 && (owner == feature || s->masked[owner]);
    return s->inputs[masked] + t * s->cells[0].width;
}

const float *sis__strand_at(const sis__strand *s, int feature, size_t time) {
    if (feature < 0 || time < s->candidates[feature].from)
        return base_at(s, time);
    if (time + 1 == s->length)
        return s->final + (size_t)feature * s->state;
    return kept_at(s, feature, time);
}

/* ---- The batch ------------------------------------------------------------------------------- */

/* Copy a row's state between the arrays of the batch and one piece. */
static void load_row(sis__strand *s, size_t row, const float *state) {
    for (size_t k = 0; k < s->n_cells; k++) {
        size_t n = s->cells[k].hidden;
        memcpy(s->h[k] + row * n, state + s->part[k], n * sizeof *state);
        if (s->cells[k].gates == 4)
            memcpy(s->c[k] + row * n, state + s->part[k] + n, n * sizeof *state);
    }
}

static void store_cell(const sis__strand *s, size_t k, size_t row, float *state) {
    size_t n = s->cells[k].hidden;
    memcpy(state + s->part[k], s->h[k] + row * n, n * sizeof *state);
    if (s->cells[k].gates == 4)
        memcpy(state + s->part[k] + n, s->c[k] + row * n, n * sizeof *state);
}

static int equals_cell(const sis__strand *s, size_t k, size_t row, const float *state) {
    size_t n = s->cells[k].hidden;
    if (memcmp(state + s->part[k], s->h[k] + row * n, n * sizeof *state) != 0)
        return 0;
    return s->cells[k].gates != 4 ||
           memcmp(state + s->part[k] + n, s->c[k] + row * n, n * sizeof *state) == 0;
}

/* The time a candidate has to be computed from. */
static size_t start_of(const sis__strand *s, int feature) {
    const sis__candidate *c = &s->candidates[feature];
    size_t start = c->known && s->every ? c->stale / s->every * s->every : c->from;
    return start > c->from ? start : c->from;
}

static void join(sis__strand *s, int feature) {
    size_t start = start_of(s, feature);
    int own = start == s->candidates[feature].from;
    load_row(s, s->n_rows, own ? base_at(s, start - 1) : kept_at(s, feature, start - 1));
    s->rows[s->n_rows++] = feature;
}

/* Features that are not up to date, by the time they start from. Returns how many. */
static size_t sort_todo(sis__strand *s, const int *features, size_t n) {
    size_t count = 0;
    memset(s->starts, 0, (s->length + 1) * sizeof *s->starts);
    for (size_t i = 0; i < n; i++)
        if (s->candidates[features[i]].stale < s->length) {
            s->starts[start_of(s, features[i]) + 1]++;
            count++;
        }
    for (size_t t = 0; t < s->length; t++)
        s->starts[t + 1] += s->starts[t];
    for (size_t i = 0; i < n; i++)
        if (s->candidates[features[i]].stale < s->length)
            s->todo[s->starts[start_of(s, features[i])]++] = features[i];
    return count;
}

/* ---- A block of times ------------------------------------------------------------------------ */

typedef struct {
    size_t from, n;           /* times */
    size_t rows[BLOCK_TIMES]; /* of each: a row once in stays in */
    size_t total;             /* of all times */
} block;

/* As many times as the rows there will be allow; rows that join on the way join. `next` is the
 * first of `todo` that has not. */
static void begin_block(sis__strand *s, size_t from, size_t *next, size_t n_todo, block *b) {
    *b = (block){.from = from};
    while (b->n < BLOCK_TIMES && from + b->n < s->length) {
        size_t n = s->n_rows, ahead = *next;
        while (ahead < n_todo && start_of(s, s->todo[ahead]) <= from + b->n) {
            n++;
            ahead++;
        }
        if (b->n && b->total + n > SIS__STRAND_ROWS)
            break;
        while (*next < ahead)
            join(s, s->todo[(*next)++]);
        b->rows[b->n++] = n;
        b->total += n;
    }
}

/* At the end of a block: may the row at hand be left to itself from here on? */
static void begin_comparing(sis__strand *s, size_t t) {
    for (size_t i = 0; i < s->n_rows; i++) {
        const sis__candidate *c = &s->candidates[s->rows[i]];
        s->as_it_was[i] = c->known && c->quiet <= t + 1 && is_kept(s, t);
        s->as_base[i] = c->to <= t + 1;
    }
}

/* Cell k of the first n rows is at time t: compare if it is the block's last, and keep. */
static void keep(sis__strand *s, size_t k, size_t n, size_t t, int compare) {
    int kept = is_kept(s, t);
    for (size_t i = 0; i < n && (kept || compare); i++) {
        float *to = kept ? kept_at(s, s->rows[i], t) : NULL;
        if (compare) {
            s->as_it_was[i] = s->as_it_was[i] && equals_cell(s, k, i, to);
            s->as_base[i] = s->as_base[i] && equals_cell(s, k, i, base_at(s, t));
        }
        if (kept)
            store_cell(s, k, i, to);
    }
}

static void run_cell(sis__strand *s, size_t k, const block *b) {
    const sis__cell *cell = &s->cells[k];
    float *gates = s->gates, *out = s->outputs;
    if (k > 0)
        sis__cell_project(cell, b->total, s->outputs, s->gates);
    for (size_t i = 0; i < b->n; i++) {
        size_t n = b->rows[i], t = b->from + i;
        for (size_t r = 0; k == 0 && r < n; r++)
            memcpy(gates + r * cell->width, input_at(s, s->rows[r], t),
                   cell->width * sizeof *gates);
        sis__cell_step(cell, n, gates, s->h[k], s->c[k], s->spare);
        if (k + 1 < s->n_cells)
            memcpy(out, s->h[k], n * cell->hidden * sizeof *out);
        keep(s, k, n, t, i + 1 == b->n);
        gates += n * cell->width;
        out += n * cell->hidden;
    }
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void set_up_to_date(sis__strand *s, int feature, int moved) {
    sis__candidate *c = &s->candidates[feature];
    c->stale = s->length;
    c->quiet = 0;
    c->known = 1;
    c->moved |= (unsigned char)moved;
}

/* From time t on the candidate is the base. */
static void end_as_base(sis__strand *s, int feature, size_t t) {
    for (; t < s->length; t++)
        if (is_kept(s, t))
            memcpy(kept_at(s, feature, t), base_at(s, t), s->state * sizeof *s->base);
    memcpy(s->final + (size_t)feature * s->state, base_at(s, s->length - 1),
           s->state * sizeof *s->base);
    set_up_to_date(s, feature, 1);
}

static void end_computed(sis__strand *s, size_t row) {
    int feature = s->rows[row];
    for (size_t k = 0; k < s->n_cells; k++)
        store_cell(s, k, row, s->final + (size_t)feature * s->state);
    set_up_to_date(s, feature, 1);
}

static void move_row(sis__strand *s, size_t from, size_t to) {
    for (size_t k = 0; k < s->n_cells; k++) {
        size_t n = s->cells[k].hidden;
        memcpy(s->h[k] + to * n, s->h[k] + from * n, n * sizeof *s->h[k]);
        if (s->cells[k].gates == 4)
            memcpy(s->c[k] + to * n, s->c[k] + from * n, n * sizeof *s->c[k]);
    }
    s->rows[to] = s->rows[from];
}

/* Rows whose way is known leave the batch, which stands in front of time t. */
static void end_block(sis__strand *s, size_t t) {
    size_t left = 0;
    for (size_t i = 0; i < s->n_rows; i++) {
        if (s->as_it_was[i])
            set_up_to_date(s, s->rows[i], s->all_times);
        else if (s->as_base[i])
            end_as_base(s, s->rows[i], t);
        else if (t == s->length)
            end_computed(s, i);
        else {
            if (left != i)
                move_row(s, i, left);
            left++;
        }
    }
    s->n_rows = left;
}

void sis__strand_run(sis__strand *s, const int *features, size_t n) {
    size_t n_todo = sort_todo(s, features, n), next = 0;
    s->n_rows = 0;
    for (size_t t = 0; s->n_rows || next < n_todo;) {
        block b;
        if (s->n_rows == 0)
            t = start_of(s, s->todo[next]);
        begin_block(s, t, &next, n_todo, &b);
        t += b.n;
        begin_comparing(s, t - 1);
        for (size_t k = 0; k < s->n_cells; k++)
            run_cell(s, k, &b);
        end_block(s, t);
    }
}

int sis__strand_moved(sis__strand *s, int feature) {
    int moved = s->candidates[feature].moved;
    s->candidates[feature].moved = 0;
    return moved;
}

/* ---- The base -------------------------------------------------------------------------------- */

/* One time of the base, which is row 0 of the batch. */
static void step_base(sis__strand *s, size_t t) {
    for (size_t k = 0; k < s->n_cells; k++) {
        const sis__cell *cell = &s->cells[k];
        if (k == 0)
            memcpy(s->gates, input_at(s, -1, t), cell->width * sizeof *s->gates);
        else
            sis__cell_project(cell, 1, s->h[k - 1], s->gates);
        sis__cell_step(cell, 1, s->gates, s->h[k], s->c[k], s->spare);
    }
}

/* States of the base from time t on, from the one before it. */
static void run_base(sis__strand *s, size_t t) {
    load_row(s, 0, base_at(s, t - 1));
    for (; t < s->length; t++) {
        step_base(s, t);
        for (size_t k = 0; k < s->n_cells; k++)
            store_cell(s, k, 0, base_at(s, t));
    }
}

void sis__strand_reset(sis__strand *s, const unsigned char *masked) {
    memcpy(s->masked, masked, s->features);
    run_base(s, s->first);
    for (size_t i = 0; i < s->features; i++) {
        sis__candidate *c = &s->candidates[i];
        c->known = c->moved = 0;
        c->stale = c->from; /* the length, if it reaches nothing */
    }
}

void sis__strand_mask(sis__strand *s, int feature) {
    const sis__candidate *m = &s->candidates[feature];
    s->masked[feature] = 1;
    if (m->from == s->length)
        return;
    if (s->every == 1)
        for (size_t t = m->from; t < s->length; t++)
            memcpy(base_at(s, t), kept_at(s, feature, t), s->state * sizeof *s->base);
    else
        run_base(s, m->from);
    for (size_t i = 0; i < s->features; i++) {
        sis__candidate *c = &s->candidates[i];
        if (c->from == s->length)
            continue;
        size_t at = m->from > c->from ? m->from : c->from;
        c->stale = at < c->stale ? at : c->stale;
        c->quiet = m->to > c->quiet ? m->to : c->quiet;
    }
}

void sis__strand_begin(sis__strand *s) {
    load_row(s, 0, s->base);
    for (size_t t = 0; t < s->first; t++) {
        step_base(s, t);
        for (size_t k = 0; k < s->n_cells && (s->all_times || t + 1 == s->first); k++)
            store_cell(s, k, 0, base_at(s, t));
    }
}
