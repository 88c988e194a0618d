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
 *               j            .   r   r        kept, those behind it begin at their own time with the
 *               .                .   r        state of the base
 *
 * A candidate whose state comes out as it was, or as the base's, to the bit, goes on as it was, or as
 * the base, as long as the inputs do: it leaves the batch.
 *
 * Layers run one after the other over blocks of a few times, so that the weights of one layer stay
 * in the cache and its projection is one product. Inputs of the first layer are projected once, as
 * they are and masked.
 *
 * Where memory is short, candidates' states are kept at every 2nd, 4th, ... time only and computed
 * from the last one kept; where even that does not fit, from the candidate's own time.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk_recurrent.h"

enum {
    BLOCK_TIMES = 16, /* at most */
    BLOCK_ROWS = 256  /* rows times times of a block, if it has several times */
};

/* Where a candidate stands. */
typedef struct {
    size_t from, to; /* times whose input it changes: none before from, none from `to` on */
    size_t kept_at;  /* where its states begin, in states */
    size_t stale;    /* first time whose state is not up to date; the length: none */
    size_t quiet;    /* inputs are what they were in its last run from this time on */
    unsigned char known, moved; /* was run since the last reset; see sis__strand_moved */
} candidate;

struct sis__strand {
    sis__cell cells[SIS__MOST_CELLS];
    size_t n_cells, length, features;
    size_t state, part[SIS__MOST_CELLS]; /* floats of a state; where each cell's begin */
    size_t first;                        /* time before which nothing is ever masked */
    size_t base_from;                    /* first time whose base state is kept, less one */
    int *owner;                          /* (length) feature of each time, -1: none */
    float *inputs[2];                    /* (length, width) projected: present, masked */
    unsigned char *masked;               /* (features) */
    candidate *candidates;               /* (features) */
    float *base;                         /* (length + 1 - base_from, state) */
    float *kept;
    size_t every;  /* times between kept states; 0: none is kept */
    int all_times; /* somebody looks at states before the last */
    float *final;  /* (features, state) at the last time */

    /* The batch under way. */
    int *todo;      /* (features) in the order they join */
    size_t *starts; /* (length + 1) for sorting them */
    int *rows;      /* (features) that have joined */
    size_t n_rows;
    float *h[SIS__MOST_CELLS], *c[SIS__MOST_CELLS]; /* (features, hidden) */
    unsigned char *as_it_was, *as_base;             /* (features) by row: at the end of a block */
    float *gates, *outputs, *spare;
};

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
    const candidate *c = &s->candidates[feature];
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
    const candidate *c = &s->candidates[feature];
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

/* As many times as the rows there will be allow; rows that join on the way join. `next` is the first
 * of `todo` that has not. */
static void begin_block(sis__strand *s, size_t from, size_t *next, size_t n_todo, block *b) {
    *b = (block){.from = from};
    while (b->n < BLOCK_TIMES && from + b->n < s->length) {
        size_t n = s->n_rows, ahead = *next;
        while (ahead < n_todo && start_of(s, s->todo[ahead]) <= from + b->n) {
            n++;
            ahead++;
        }
        if (b->n && b->total + n > BLOCK_ROWS)
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
        const candidate *c = &s->candidates[s->rows[i]];
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
    candidate *c = &s->candidates[feature];
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
        candidate *c = &s->candidates[i];
        c->known = c->moved = 0;
        c->stale = c->from; /* the length, if it reaches nothing */
    }
}

void sis__strand_mask(sis__strand *s, int feature) {
    const candidate *m = &s->candidates[feature];
    s->masked[feature] = 1;
    if (m->from == s->length)
        return;
    if (s->every == 1)
        for (size_t t = m->from; t < s->length; t++)
            memcpy(base_at(s, t), kept_at(s, feature, t), s->state * sizeof *s->base);
    else
        run_base(s, m->from);
    for (size_t i = 0; i < s->features; i++) {
        candidate *c = &s->candidates[i];
        if (c->from == s->length)
            continue;
        size_t at = m->from > c->from ? m->from : c->from;
        c->stale = at < c->stale ? at : c->stale;
        c->quiet = m->to > c->quiet ? m->to : c->quiet;
    }
}

/* ---- Making ---------------------------------------------------------------------------------- */

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

/* Which times each feature changes. */
static void find_spans(sis__strand *s) {
    size_t width = s->cells[0].width;
    for (size_t i = 0; i < s->features; i++)
        s->candidates[i].from = s->candidates[i].stale = s->length;
    s->first = s->length;
    for (size_t t = s->length; t-- > 0;) {
        if (s->owner[t] < 0 || memcmp(s->inputs[0] + t * width, s->inputs[1] + t * width,
                                      width * sizeof *s->inputs[0]) == 0)
            continue;
        candidate *c = &s->candidates[s->owner[t]];
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
        candidate *c = &s->candidates[i];
        c->kept_at = at;
        if (c->from < s->length)
            at += s->length / s->every - c->from / s->every;
    }
    s->kept = (float *)sis__alloc_raw(at, s->state * sizeof(float));
    return s->kept ? SIS_OK : SIS_E_NOMEM;
}

/* Base states from the time before the first feature on, or all of them. */
static int start_base(sis__strand *s, const sis__strand_spec *spec) {
    s->base_from = spec->all_times ? 0 : s->first;
    s->base = (float *)sis__alloc(s->length + 1 - s->base_from, s->state * sizeof(float));
    if (!s->base)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->n_cells; k++)
        memcpy(s->base + s->part[k], s->cells[k].start, s->cells[k].state * sizeof(float));
    load_row(s, 0, s->base);
    for (size_t t = 0; t < s->first; t++) {
        step_base(s, t);
        for (size_t k = 0; k < s->n_cells && (spec->all_times || t + 1 == s->first); k++)
            store_cell(s, k, 0, base_at(s, t));
    }
    return SIS_OK;
}

static int allocate_batch(sis__strand *s) {
    size_t width = 0, hidden = 0, p = s->features;
    size_t rows = p > BLOCK_ROWS ? p : BLOCK_ROWS;
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
        floats += (double)(s->features + BLOCK_ROWS) * (double)(s->cells[k].width * 2);
    return floats * sizeof(float) < (double)memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate(sis__strand *s) {
    size_t inputs = s->length * s->cells[0].width;
    s->owner = SIS_NEW(int, s->length);
    s->inputs[0] = SIS_NEW_RAW(float, inputs);
    s->inputs[1] = SIS_NEW_RAW(float, inputs);
    s->masked = SIS_NEW(unsigned char, s->features);
    s->candidates = SIS_NEW(candidate, s->features);
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
    find_spans(s);
    error = plan_kept(s, spec);
    return error == SIS_OK ? start_base(s, spec) : error;
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
