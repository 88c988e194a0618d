/* SPDX-License-Identifier: MIT
 *
 * A chain: LSTM or GRU layers that run in one direction over the positions of a sequence, stacked.
 * A *state* holds all layers after a time: h of the first, its c if it is an LSTM, h of the second,
 * and so on; then the contribution of the last h to the gates of a layer above.
 *
 * Masking a feature changes no state before its first position (`from`). Masking another feature
 * for good changes no state of a candidate before that feature's `from`. So the states of each
 * candidate are kept and only later ones are recomputed, for all candidates together, in a batch
 * that grows with time. In this picture feature j was masked last:
 *
 *              time  0   .   j   .   T
 *     candidate 0    .   k   k   r   r        k: kept, r: recomputed
 *               .        .   k   r   r        candidates before j continue from j with their
 *               j            .   r   r        kept states; those after it start at their own
 *               .                .   r        time from the state of the base
 *
 * Layers run one after the other over blocks of a few times, so that the weights of one layer stay
 * in the cache and its projection is one product. Inputs of the first layer are projected once,
 * present and masked. If the values of a time belong to several features, the base's are projected
 * again whenever one of these is masked, and a candidate's when it gets there.
 *
 * If memory is short, candidates keep only every 2nd, 4th, ... state and start from the last one
 * kept; if even that does not fit, from their own time.
 *
 * The kernels and their order are those of a full pass, so states have the bits of a full pass.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk/recurrent.h"

enum { CHAIN_ROWS = 256 };          /* maximal rows times times of a block with several times */
enum { BLOCK_TIMES = 16 };          /* maximal times of a block */
enum { NOBODY = -1, SEVERAL = -2 }; /* owners of a time */

/* Constant data: the layers and their inputs. */
typedef struct {
    sis__rnn_cell cells[SIS__RNN_CELLS];
    size_t n_cells, length, features;
    size_t state, at[SIS__RNN_CELLS]; /* floats of a state; offset of each cell */
    const sis__rnn_cell *above[2];    /* see sis__rnn_chain_spec */
    size_t half, sums_at[2];          /* offsets in a state of the contributions to their gates */
    int all_times;                    /* states before the last are read */
    size_t input;                     /* number of values per time */
    int *owner;                       /* (length) feature of each time; NOBODY, SEVERAL */
    int *feature;                     /* (length, input) feature of each value */
    float *present, *absent;          /* (length, input) nothing masked, everything masked */
} chain_model;

/* The current masked input. */
typedef struct {
    unsigned char *masked; /* (features) */
    float *values;         /* (length, input) of times that several features own */
    float *projected[2];   /* (length, width) inputs of cell 0: present, masked. For times with
                          * several features, the first is the base's and the second is not used */
    size_t first;          /* nothing before this time is ever masked */
    size_t from;           /* first time with a stored state, minus one */
    float *states;         /* (length + 1 - from, state) */
} chain_base;

/* State of one candidate's computation. */
typedef struct {
    size_t from, to;            /* it changes inputs from time `from` to `to` - 1 */
    size_t kept_at;             /* offset of its states in `kept` */
    size_t stale;               /* first time whose state is out of date; length: none */
    unsigned char known, moved; /* was run since the last reset; see sis__rnn_chain_moved */
} candidate;

typedef struct {
    candidate *of; /* (features) */
    float *kept;   /* states, every `every` times */
    size_t every;  /* 0: none are kept */
    float *final;  /* (features, state) at the last time */
} chain_candidates;

/* Candidates that are computed together. Row 0 is the base while the base is computed. */
typedef struct {
    int *todo;      /* (features) in the order of joining */
    size_t *starts; /* (length + 1) for sorting them */
    int *rows;      /* (features) joined so far */
    size_t n_rows;
    float *h[SIS__RNN_CELLS], *c[SIS__RNN_CELLS]; /* (features, hidden) */
    float *own;      /* (input) values of a time with several features */
    const float **x; /* (features) projections at one time */
    float *gates, *outputs, *room;
    const float **from; /* (rows of a block) h, and where its contributions to the gates above go */
    float **to;
    float *zeros; /* (width of these) */
} chain_batch;

struct sis__rnn_chain {
    chain_model model;
    chain_base base;
    chain_candidates candidates;
    chain_batch batch;
    sis__arena memory;
};

/* ---- Layout ---------------------------------------------------------------------------------- */

int sis__rnn_chain_reaches(const sis__rnn_chain *s, int feature) {
    return s->candidates.of[feature].from < s->model.length;
}

/* Base state after time t; t = SIZE_MAX is before time 0. */
static float *base_at(const sis__rnn_chain *s, size_t t) {
    return s->base.states + (t + 1 - s->base.from) * s->model.state;
}

static int is_kept(const sis__rnn_chain *s, size_t t) {
    return s->candidates.every && (t + 1) % s->candidates.every == 0;
}

/* State of a candidate after a time that is kept. */
static float *kept_at(const sis__rnn_chain *s, int feature, size_t t) {
    const candidate *c = &s->candidates.of[feature];
    return s->candidates.kept +
           (c->kept_at + t / s->candidates.every - c->from / s->candidates.every) * s->model.state;
}

/* Projected input of a time with several features: the base's, or the candidate's own, computed in
 * `room`. */
static const float *own_input(const sis__rnn_chain *s, int feature, size_t t, float *room) {
    const int *owner = s->model.feature + t * s->model.input;
    const candidate *c = &s->candidates.of[feature < 0 ? 0 : feature];
    int differs = 0;
    if (feature < 0 || t < c->from || t >= c->to)
        return s->base.projected[0] + t * s->model.cells[0].width;
    memcpy(s->batch.own, s->base.values + t * s->model.input,
           s->model.input * sizeof *s->batch.own);
    for (size_t k = 0; k < s->model.input; k++)
        if (owner[k] == feature) {
            s->batch.own[k] = s->model.absent[t * s->model.input + k];
            differs = 1;
        }
    if (!differs)
        return s->base.projected[0] + t * s->model.cells[0].width;
    sis__rnn_cell_project(&s->model.cells[0], 1, s->batch.own, room);
    return room;
}

/* Projected input of time t with `feature` masked too; -1: the base. May use room (width). */
static const float *input_at(const sis__rnn_chain *s, int feature, size_t t, float *room) {
    int owner = s->model.owner[t];
    if (owner == SEVERAL)
        return own_input(s, feature, t, room);
    int masked = owner >= 0 && (owner == feature || s->base.masked[owner]);
    return s->base.projected[masked] + t * s->model.cells[0].width;
}

const float *sis__rnn_chain_at(const sis__rnn_chain *s, int feature, size_t time) {
    if (feature < 0 || time < s->candidates.of[feature].from)
        return base_at(s, time);
    if (time + 1 == s->model.length && !s->model.all_times)
        return s->candidates.final + (size_t)feature * s->model.state;
    return kept_at(s, feature, time);
}

int sis__rnn_chain_keeps_sums(const sis__rnn_chain *s, size_t d) {
    return s->model.above[d] != NULL;
}

const float *sis__rnn_chain_sums(const sis__rnn_chain *s, size_t d, const float *state) {
    return state + s->model.sums_at[d];
}

/* ---- The batch ------------------------------------------------------------------------------- */

/* Copy a row's state between the arrays of the batch and one contiguous state. */
static void load_row(sis__rnn_chain *s, size_t row, const float *state) {
    for (size_t k = 0; k < s->model.n_cells; k++) {
        size_t n = s->model.cells[k].hidden;
        memcpy(s->batch.h[k] + row * n, state + s->model.at[k], n * sizeof *state);
        if (s->model.cells[k].gates == 4)
            memcpy(s->batch.c[k] + row * n, state + s->model.at[k] + n, n * sizeof *state);
    }
}

static void store_cell(const sis__rnn_chain *s, size_t k, size_t row, float *state) {
    size_t n = s->model.cells[k].hidden;
    memcpy(state + s->model.at[k], s->batch.h[k] + row * n, n * sizeof *state);
    if (s->model.cells[k].gates == 4)
        memcpy(state + s->model.at[k] + n, s->batch.c[k] + row * n, n * sizeof *state);
}

/* The time from which a candidate must be computed. */
static size_t start_of(const sis__rnn_chain *s, int feature) {
    const candidate *c = &s->candidates.of[feature];
    size_t start = c->known && s->candidates.every
                       ? c->stale / s->candidates.every * s->candidates.every
                       : c->from;
    return start > c->from ? start : c->from;
}

static void join(sis__rnn_chain *s, int feature) {
    size_t start = start_of(s, feature);
    int own = start == s->candidates.of[feature].from;
    load_row(s, s->batch.n_rows, own ? base_at(s, start - 1) : kept_at(s, feature, start - 1));
    s->batch.rows[s->batch.n_rows++] = feature;
}

/* Sort the features that are out of date by their starting time. Returns their number. */
static size_t sort_todo(sis__rnn_chain *s, const int *features, size_t n) {
    size_t count = 0;
    memset(s->batch.starts, 0, (s->model.length + 1) * sizeof *s->batch.starts);
    for (size_t i = 0; i < n; i++)
        if (s->candidates.of[features[i]].stale < s->model.length) {
            s->batch.starts[start_of(s, features[i]) + 1]++;
            count++;
        }
    for (size_t t = 0; t < s->model.length; t++)
        s->batch.starts[t + 1] += s->batch.starts[t];
    for (size_t i = 0; i < n; i++)
        if (s->candidates.of[features[i]].stale < s->model.length)
            s->batch.todo[s->batch.starts[start_of(s, features[i])]++] = features[i];
    return count;
}

/* ---- A block of times ------------------------------------------------------------------------ */

typedef struct {
    size_t from, n;           /* times */
    size_t rows[BLOCK_TIMES]; /* of each time; they only grow */
    size_t total;             /* of all times */
} block;

/* Choose as many times as the number of rows allows; rows that start on the way join. `next` is the
 * first of `todo` that has not joined. */
static void begin_block(sis__rnn_chain *s, size_t from, size_t *next, size_t n_todo, block *b) {
    *b = (block){.from = from};
    while (b->n < BLOCK_TIMES && from + b->n < s->model.length) {
        size_t n = s->batch.n_rows, ahead = *next;
        while (ahead < n_todo && start_of(s, s->batch.todo[ahead]) <= from + b->n) {
            n++;
            ahead++;
        }
        if (b->n && b->total + n > CHAIN_ROWS)
            break;
        while (*next < ahead)
            join(s, s->batch.todo[(*next)++]);
        b->rows[b->n++] = n;
        b->total += n;
    }
}

/* Prefetch the memory in which a row will be kept. */
static void fetch_kept(const sis__rnn_chain *s, size_t k, size_t row, size_t t) {
    const float *to = kept_at(s, s->batch.rows[row], t) + s->model.at[k];
    for (size_t i = 0; i < s->model.cells[k].state; i += 64 / sizeof *to)
        __builtin_prefetch(to + i, 1);
}

/* After cell k of the first n rows at time t. */
static void keep(sis__rnn_chain *s, size_t k, size_t n, size_t t) {
    for (size_t i = 0; i < n && is_kept(s, t); i++) {
        if (i + 1 < n)
            fetch_kept(s, k, i + 1, t);
        store_cell(s, k, i, kept_at(s, s->batch.rows[i], t));
    }
}

/* One time step of cell k for the first n rows, with projections s->batch.x; h is also copied to
 * `out`. */
static void step_rows(sis__rnn_chain *s, size_t k, size_t n, float *gates, float *out) {
    sis__cell_step step = {
        .n = n, .h = s->batch.h[k], .x = s->batch.x, .c = s->batch.c[k], .to = out};
    step.room = s->batch.room;
    sis__rnn_cell_step(&s->model.cells[k], &step, gates);
    memcpy(s->batch.h[k], out, n * s->model.cells[k].hidden * sizeof *out);
}

static void run_cell(sis__rnn_chain *s, size_t k, const block *b) {
    const sis__rnn_cell *cell = &s->model.cells[k];
    float *gates = s->batch.gates, *out = s->batch.outputs;
    if (k > 0)
        sis__rnn_cell_project(cell, b->total, s->batch.outputs, s->batch.gates);
    for (size_t i = 0; i < b->n; i++) {
        size_t n = b->rows[i], t = b->from + i;
        for (size_t r = 0; r < n; r++) {
            float *row = gates + r * cell->width;
            s->batch.x[r] = k > 0 ? row : input_at(s, s->batch.rows[r], t, row);
        }
        step_rows(s, k, n, gates, out);
        keep(s, k, n, t);
        gates += n * cell->width;
        out += n * cell->hidden;
    }
}

/* Contributions to the cells above for the times of a block, whose h are in s->batch.outputs. */
static void run_above(sis__rnn_chain *s, const block *b) {
    for (size_t d = 0; d < 2; d++) {
        size_t n = 0, hidden = s->model.cells[s->model.n_cells - 1].hidden;
        for (size_t i = 0; s->model.above[d] && i < b->n; i++)
            for (size_t r = 0; r < b->rows[i]; r++, n++) {
                s->batch.from[n] = s->batch.outputs + n * hidden;
                s->batch.to[n] = kept_at(s, s->batch.rows[r], b->from + i) + s->model.sums_at[d];
            }
        if (n)
            sis__rnn_cell_project_half(s->model.above[d], s->model.half, s->batch.zeros, n,
                                       s->batch.from, s->batch.to);
    }
}

/* ---- Candidates ------------------------------------------------------------------------------ */

/* The batch has reached the last time. */
static void end_rows(sis__rnn_chain *s) {
    for (size_t i = 0; i < s->batch.n_rows; i++) {
        int feature = s->batch.rows[i];
        candidate *c = &s->candidates.of[feature];
        for (size_t k = 0; k < s->model.n_cells; k++)
            store_cell(s, k, i, s->candidates.final + (size_t)feature * s->model.state);
        c->stale = s->model.length;
        c->known = c->moved = 1;
    }
}

void sis__rnn_chain_run(sis__rnn_chain *s, const int *features, size_t n) {
    size_t n_todo = sort_todo(s, features, n), next = 0;
    s->batch.n_rows = 0;
    for (size_t t = n_todo ? start_of(s, s->batch.todo[0]) : s->model.length;
         t < s->model.length;) {
        block b;
        begin_block(s, t, &next, n_todo, &b);
        for (size_t k = 0; k < s->model.n_cells; k++)
            run_cell(s, k, &b);
        run_above(s, &b);
        t += b.n;
    }
    end_rows(s);
}

int sis__rnn_chain_moved(const sis__rnn_chain *s, int feature) {
    return s->candidates.of[feature].moved;
}

void sis__rnn_chain_seen(sis__rnn_chain *s, int feature) {
    s->candidates.of[feature].moved = 0;
}

/* ---- The base -------------------------------------------------------------------------------- */

/* One time step of the base, which is row 0 of the batch. */
static void step_base(sis__rnn_chain *s, size_t t) {
    for (size_t k = 0; k < s->model.n_cells; k++) {
        const sis__rnn_cell *cell = &s->model.cells[k];
        s->batch.x[0] = k > 0 ? s->batch.gates : input_at(s, -1, t, s->batch.gates);
        if (k > 0)
            sis__rnn_cell_project(cell, 1, s->batch.h[k - 1], s->batch.gates);
        step_rows(s, k, 1, s->batch.gates, s->batch.outputs);
    }
}

/* Store row 0 of the batch as the base after time t. */
static void store_base(sis__rnn_chain *s, size_t t) {
    for (size_t k = 0; k < s->model.n_cells; k++)
        store_cell(s, k, 0, base_at(s, t));
    for (size_t d = 0; d < 2; d++) {
        const float *from = s->batch.h[s->model.n_cells - 1];
        float *to = base_at(s, t) + s->model.sums_at[d];
        if (s->model.above[d])
            sis__rnn_cell_project_half(s->model.above[d], s->model.half, s->batch.zeros, 1, &from,
                                       &to);
    }
}

/* Compute the base from time t on. */
static void run_base(sis__rnn_chain *s, size_t t) {
    load_row(s, 0, base_at(s, t - 1));
    for (; t < s->model.length; t++) {
        step_base(s, t);
        store_base(s, t);
    }
}

/* Project a time with several features again. x (input): its values; those of masked features are
 * replaced. */
static void project_base(sis__rnn_chain *s, size_t t, const float *x) {
    size_t at = t * s->model.input;
    if (s->model.owner[t] != SEVERAL)
        return;
    for (size_t k = 0; k < s->model.input; k++) {
        int feature = s->model.feature[at + k];
        int masked = feature >= 0 && s->base.masked[feature];
        s->base.values[at + k] = masked ? s->model.absent[at + k] : x[k];
    }
    sis__rnn_cell_project(&s->model.cells[0], 1, s->base.values + at,
                          s->base.projected[0] + t * s->model.cells[0].width);
}

void sis__rnn_chain_reset(sis__rnn_chain *s, const unsigned char *masked) {
    memcpy(s->base.masked, masked, s->model.features);
    for (size_t t = 0; t < s->model.length; t++)
        project_base(s, t, s->model.present + t * s->model.input);
    run_base(s, s->base.first);
    for (size_t i = 0; i < s->model.features; i++) {
        candidate *c = &s->candidates.of[i];
        c->known = c->moved = 0;
        c->stale = c->from; /* the length, if it changes nothing */
    }
}

void sis__rnn_chain_mask(sis__rnn_chain *s, int feature) {
    const candidate *m = &s->candidates.of[feature];
    s->base.masked[feature] = 1;
    if (m->from == s->model.length)
        return;
    for (size_t t = m->from; t < m->to; t++)
        project_base(s, t, s->base.values + t * s->model.input);
    if (s->candidates.every == 1)
        for (size_t t = m->from; t < s->model.length; t++)
            memcpy(base_at(s, t), kept_at(s, feature, t), s->model.state * sizeof *s->base.states);
    else
        run_base(s, m->from);
    for (size_t i = 0; i < s->model.features; i++) {
        candidate *c = &s->candidates.of[i];
        if (c->from == s->model.length)
            continue;
        size_t at = m->from > c->from ? m->from : c->from;
        c->stale = at < c->stale ? at : c->stale;
    }
}

/* Compute the base up to the time before the first feature. base.states starts with the initial
 * state. */
static void chain_begin(sis__rnn_chain *s) {
    load_row(s, 0, s->base.states);
    for (size_t t = 0; t < s->base.first; t++) {
        step_base(s, t);
        if (s->model.all_times || t + 1 == s->base.first)
            store_base(s, t);
    }
}

/* ---- Making a chain ------------------------------------------------------------------------ */

/* The inputs of the first layer in order of time, and the owner of each time. */
static void read_inputs(sis__rnn_chain *s, const sis__entry *f, int reverse) {
    for (size_t t = 0; t < s->model.length; t++) {
        size_t at = (reverse ? s->model.length - 1 - t : t) * s->model.input,
               to = t * s->model.input;
        memcpy(s->model.present + to, f->x + at, s->model.input * sizeof *s->model.present);
        memcpy(s->model.absent + to, f->z + at, s->model.input * sizeof *s->model.absent);
        memcpy(s->model.feature + to, f->feature + at, s->model.input * sizeof *s->model.feature);
        s->model.owner[t] = s->model.input ? s->model.feature[to] : NOBODY;
        for (size_t k = 1; k < s->model.input; k++)
            if (s->model.feature[to + k] != s->model.owner[t])
                s->model.owner[t] = SEVERAL;
    }
    memcpy(s->base.values, s->model.present,
           s->model.length * s->model.input * sizeof *s->base.values);
    sis__rnn_cell_project(&s->model.cells[0], s->model.length, s->model.present,
                          s->base.projected[0]);
    sis__rnn_cell_project(&s->model.cells[0], s->model.length, s->model.absent,
                          s->base.projected[1]);
}

/* Find the times that each feature changes: where a value of it differs from its mask. This does
 * not depend on the direction, so both chains of a layer reach the same features. */
static void find_spans(sis__rnn_chain *s) {
    for (size_t i = 0; i < s->model.features; i++)
        s->candidates.of[i].from = s->candidates.of[i].stale = s->model.length;
    s->base.first = s->model.length;
    for (size_t i = s->model.length * s->model.input; i-- > 0;) {
        size_t t = i / s->model.input;
        if (s->model.feature[i] < 0 ||
            memcmp(&s->model.present[i], &s->model.absent[i], sizeof *s->model.present) == 0)
            continue;
        candidate *c = &s->candidates.of[s->model.feature[i]];
        c->to = c->from == s->model.length ? t + 1 : c->to;
        c->from = s->base.first = t;
    }
}

/* Number of states of all candidates at every `every` times. */
static double kept_states(const sis__rnn_chain *s, size_t every) {
    double n = 0;
    for (size_t i = 0; i < s->model.features; i++)
        if (s->candidates.of[i].from < s->model.length)
            n += (double)(s->model.length / every - s->candidates.of[i].from / every);
    return n;
}

/* Choose how many are kept, and the offset of each candidate. */
static int plan_kept(sis__rnn_chain *s, const sis__rnn_chain_spec *spec) {
    size_t every = 1, at = 0;
    while (every <= s->model.length &&
           kept_states(s, every) * (double)(s->model.state * sizeof(float)) > (double)spec->memory)
        every *= 2;
    s->candidates.every = every <= s->model.length ? every : 0;
    if (spec->all_times && s->candidates.every != 1)
        return SIS_E_UNSUPPORTED;
    for (size_t i = 0; s->candidates.every && i < s->model.features; i++) {
        candidate *c = &s->candidates.of[i];
        c->kept_at = at;
        if (c->from < s->model.length)
            at += s->model.length / s->candidates.every - c->from / s->candidates.every;
    }
    s->candidates.kept =
        (float *)sis__arena_own(&s->memory, sis__alloc_raw(at, s->model.state * sizeof(float)));
    return sis__arena_error(&s->memory);
}

/* Allocate base states from the time before the first feature on, or all. */
static int start_base(sis__rnn_chain *s) {
    s->base.from = s->model.all_times ? 0 : s->base.first;
    s->base.states =
        SIS_ARENA(&s->memory, float, (s->model.length + 1 - s->base.from) * s->model.state);
    if (!s->base.states)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->model.n_cells; k++)
        memcpy(s->base.states + s->model.at[k], s->model.cells[k].start,
               s->model.cells[k].state * sizeof(float));
    chain_begin(s);
    return SIS_OK;
}

static int allocate_batch(sis__rnn_chain *s) {
    size_t width = 0, hidden = 0, room = 0, p = s->model.features;
    size_t rows = p > CHAIN_ROWS ? p : CHAIN_ROWS;
    for (size_t d = 0; d < 2; d++)
        width = s->model.above[d] && s->model.above[d]->width > width ? s->model.above[d]->width
                                                                      : width;
    for (size_t k = 0; k < s->model.n_cells; k++) {
        const sis__rnn_cell *c = &s->model.cells[k];
        width = c->width > width ? c->width : width;
        hidden = c->hidden > hidden ? c->hidden : hidden;
        size_t more = sis__cell_room(sis__kernels_best(), c->gates, c->hidden);
        room = more > room ? more : room;
        s->batch.h[k] = SIS_ARENA(&s->memory, float, p * c->hidden);
        s->batch.c[k] = SIS_ARENA(&s->memory, float, p * c->hidden);
    }
    s->batch.todo = SIS_ARENA(&s->memory, int, p);
    s->batch.starts = SIS_ARENA(&s->memory, size_t, s->model.length + 1);
    s->batch.rows = SIS_ARENA(&s->memory, int, p);
    s->batch.gates = SIS_ARENA(&s->memory, float, rows *width);
    s->batch.outputs = SIS_ARENA(&s->memory, float, rows *hidden);
    s->batch.x = SIS_ARENA(&s->memory, const float *, p);
    s->batch.room = SIS_ARENA(&s->memory, float, room);
    s->batch.from = SIS_ARENA(&s->memory, const float *, rows);
    s->batch.to = SIS_ARENA(&s->memory, float *, rows);
    s->batch.zeros = SIS_ARENA(&s->memory, float, width);
    return sis__arena_error(&s->memory);
}

/* Memory of everything except the states of candidates. A walk that needs more than allowed is not
 * worthwhile. */
static int check_size(const sis__rnn_chain *s, size_t memory) {
    double floats = (double)s->model.length *
                    (double)(2 * s->model.cells[0].width + s->model.state + 4 * s->model.input);
    for (size_t k = 0; k < s->model.n_cells; k++)
        floats += (double)(s->model.features + CHAIN_ROWS) * (double)(s->model.cells[k].width * 2);
    return floats * sizeof(float) < (double)memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate_chain(sis__rnn_chain *s) {
    size_t inputs = s->model.length * s->model.cells[0].width;
    size_t values = s->model.length * s->model.input;
    s->model.owner = SIS_ARENA(&s->memory, int, s->model.length);
    s->base.projected[0] = SIS_ARENA_RAW(&s->memory, float, inputs);
    s->base.projected[1] = SIS_ARENA_RAW(&s->memory, float, inputs);
    s->model.present = SIS_ARENA_RAW(&s->memory, float, values);
    s->model.absent = SIS_ARENA_RAW(&s->memory, float, values);
    s->base.values = SIS_ARENA_RAW(&s->memory, float, values);
    s->model.feature = SIS_ARENA_RAW(&s->memory, int, values);
    s->batch.own = SIS_ARENA_RAW(&s->memory, float, s->model.input);
    s->base.masked = SIS_ARENA(&s->memory, unsigned char, s->model.features);
    s->candidates.of = SIS_ARENA(&s->memory, candidate, s->model.features);
    s->candidates.final = SIS_ARENA(&s->memory, float, s->model.features * s->model.state);
    return allocate_batch(s);
}

static int chain_init(sis__rnn_chain *s, const sis__entry *f, const sis__rnn_chain_spec *spec) {
    s->model.n_cells = spec->n_cells;
    s->model.length = spec->length;
    s->model.features = f->s->in.n;
    s->model.input = spec->cells[0].input;
    s->model.all_times = spec->all_times;
    for (size_t k = 0; k < s->model.n_cells; k++) {
        s->model.cells[k] = spec->cells[k];
        s->model.at[k] = s->model.state;
        s->model.state += s->model.cells[k].state;
    }
    s->model.half = spec->half;
    for (size_t d = 0; d < 2; d++) {
        s->model.above[d] = spec->above[d];
        s->model.sums_at[d] = s->model.state;
        s->model.state += s->model.above[d] ? s->model.above[d]->width : 0;
    }
    int error = check_size(s, spec->memory);
    if (!error)
        error = allocate_chain(s);
    if (error)
        return error;
    read_inputs(s, f, spec->reverse);
    find_spans(s);
    error = plan_kept(s, spec);
    return !error ? start_base(s) : error;
}

void sis__rnn_chain_free(sis__rnn_chain *s) {
    if (!s)
        return;
    for (size_t k = 0; k < s->model.n_cells; k++)
        sis__rnn_cell_release(&s->model.cells[k]);
    sis__arena_release(&s->memory);
    free(s);
}

int sis__rnn_chain_new(const sis__entry *f, sis__rnn_chain_spec *spec, sis__rnn_chain **out) {
    *out = NULL;
    sis__rnn_chain *s = SIS_NEW(sis__rnn_chain, 1);
    if (!s) {
        for (size_t k = 0; k < spec->n_cells; k++)
            sis__rnn_cell_release(&spec->cells[k]);
        return SIS_E_NOMEM;
    }
    int error = chain_init(s, f, spec);
    if (error) {
        sis__rnn_chain_free(s);
        return error;
    }
    *out = s;
    return SIS_OK;
}
