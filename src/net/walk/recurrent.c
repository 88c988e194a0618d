/* SPDX-License-Identifier: MIT
 *
 * LSTM and GRU over positions that are features: words, bases, time steps.
 *
 * A *chain* is a stack of layers that run in one direction over the positions of a sequence; a
 * bidirectional layer is two chains side by side. Time along a chain counts in the direction it
 * runs: time 0 is the last position of a reverse layer. A *state* is what all layers of a chain hold
 * after a time: h of the first, its c if it is an LSTM, h of the second, and so on.
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
 * they are and masked; those of times whose values belong to several features for the base whenever
 * one of them is masked, and for a candidate when it gets there.
 *
 * Where memory is short, states of candidates are kept at every 2nd, 4th, ... time only and computed
 * from the last one kept; where even that does not fit, from the candidate's own time.
 *
 * Everything is computed by the kernels of a full pass in the same order, so margins are those of a
 * full pass to the bit.
 *
 * Layers may be stacked, all in one direction; a bidirectional layer is two chains, and may have another
 * one on top that reads both (upper_layer). Initial states and lengths must be constant.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"
#include "net/ops/recurrent.h"
#include "net/walk/element_source.h"
#include "net/walk/entry.h"

/* ---- One layer in one direction -------------------------------------------------------------- */

typedef struct {
    size_t gates, input, hidden; /* gates: 4 in an LSTM, 3 in a GRU */
    size_t width;                /* gates * hidden */
    size_t state;                /* floats: hidden, in an LSTM twice that */
    int linear_before_reset;
    const float *w, *w_late, *rz, *rh; /* packed, see sis__recurrent */
    float *bias;                       /* (width), and (hidden) for a candidate that is reset */
    float *reset_bias;
    float *start; /* (state) before time 0 */
} recurrent_cell;

/* Is an input left out or constant? */
static int is_fixed(const sis__step *s, const sis__run *r, size_t i) {
    const sis__tensor *t = sis__tin(s, r, i);
    return !t || t->data != NULL;
}

/* Does every row run to the end? */
static int is_whole(const sis__step *s, const sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, SIS__LENGTHS);
    return !t || (t->data && *(const int64_t *)t->data >= (int64_t)s->p.recurrent.seq);
}

static int is_plain(const sis__step *s, const sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    for (size_t i = SIS__W; i < s->n_inputs; i++)
        if (!is_fixed(s, r, i))
            return 0;
    return p->batch == 1 && p->w_packed[0] && p->r_packed[0] && p->clip == 0 && !p->input_forget &&
           !p->squash && !sis__tin(s, r, SIS__P) && is_whole(s, r);
}

static void cell_release(recurrent_cell *c) {
    free(c->bias);
    free(c->start);
    free(c->reset_bias);
    *c = (recurrent_cell){0};
}

/* From a step of the plan. SIS_E_UNSUPPORTED if it does more than the kernels do, or if anything
 * but x depends on the input. Weights, bias and initial states are what the operator itself would
 * start with. */
static int cell_init(recurrent_cell *c, const sis__step *s, sis__run *r, size_t direction) {
    *c = (recurrent_cell){0};
    if ((s->op != SIS__OP_LSTM && s->op != SIS__OP_GRU) || !is_plain(s, r))
        return SIS_E_UNSUPPORTED;
    const sis__recurrent *p = &s->p.recurrent;
    sis__pass a;
    sis__pass_begin(&a, s, r, direction);
    *c = (recurrent_cell){.gates = p->gates,
                          .input = p->input,
                          .hidden = p->hidden,
                          .width = p->gates * p->hidden,
                          .state = p->gates == 4 ? 2 * p->hidden : p->hidden,
                          .linear_before_reset = p->linear_before_reset,
                          .w = a.w,
                          .w_late = a.w_late,
                          .rz = a.rz,
                          .rh = a.rh};
    c->bias = (float *)sis__copy(a.bias, c->width, sizeof *c->bias);
    c->start = SIS_NEW_RAW(float, c->state);
    c->reset_bias = SIS_NEW(float, c->hidden);
    if (!c->bias || !c->start || !c->reset_bias) {
        cell_release(c);
        return SIS_E_NOMEM;
    }
    memcpy(c->start, a.h, c->hidden * sizeof *c->start);
    if (c->gates == 4)
        memcpy(c->start + c->hidden, a.c, c->hidden * sizeof *c->start);
    const float *b = sis__in(s, r, SIS__B);
    if (b && c->linear_before_reset)
        memcpy(c->reset_bias, b + (direction * 6 + 5) * c->hidden, c->hidden * sizeof *b);
    return SIS_OK;
}

static void fill_rows(size_t n, size_t width, const float *row, float *to) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * width, row, width * sizeof *to);
}

enum { PROJECTED = 96 }; /* rows at a time */

/* gates (n, width) = bias + x (n, input) . w^T */
static void cell_project(const recurrent_cell *c, size_t n, const float *x, float *gates) {
    const sis__kernels *kn = sis__kernels_best();
    const float *from[PROJECTED];
    float *to[PROJECTED];
    size_t k = c->w_late ? c->hidden : c->input;
    for (size_t i = 0; i < n; i += PROJECTED) {
        size_t rows = n - i < PROJECTED ? n - i : PROJECTED;
        for (size_t r = 0; r < rows; r++) {
            from[r] = x + (i + r) * c->input;
            to[r] = gates + (i + r) * c->width;
        }
        kn->gemm_placed(&(sis__placed_product){rows, c->width, k, from, NULL, c->w, c->bias, to});
    }
    if (c->w_late)
        kn->gemm_apart(n, c->width, k, x + k, c->input, c->w_late, gates, c->width);
}

/* What one half of the inputs, n rows of h of one direction below, adds to that; to where it is kept. The first
 * half begins with the bias, the second with `nothing`. */
static void cell_project_half(const recurrent_cell *c, size_t half, const float *nothing, size_t n,
                              const float *const *h, float *const *to) {
    sis__kernels_best()->gemm_placed(&(sis__placed_product){n, c->width, c->hidden, h, NULL,
                                                            half == 0 ? c->w : c->w_late,
                                                            half == 0 ? c->bias : nothing, to});
}

/* Of a GRU whose candidate is reset in front of the product. */
static void early_reset_step(const recurrent_cell *c, const sis__cell_step *s, float *gates) {
    sis__gru g = {c->hidden, 0, c->rz, c->rh, c->reset_bias, NULL, 0};
    for (size_t i = 0; i < s->n; i++) {
        float *row = gates + i * c->width;
        if (s->more)
            sis__kernels_best()->add(s->x[i], 1, s->more[i], 1, row, c->width);
        else if (s->x[i] != row)
            memcpy(row, s->x[i], c->width * sizeof *row);
    }
    sis__gru_gates(&g, s->n, s->h, gates, s->to);
    for (size_t i = 0; i < s->n; i++)
        sis__kernels_best()->gru(gates + i * c->width, gates + i * c->width + 2 * c->hidden,
                                 s->h + i * c->hidden, s->to + i * c->hidden, c->hidden);
}

/* One time of n rows. s: n, h, x, c, to, room are set; gates (n, width) are overwritten. */
static void cell_step(const recurrent_cell *c, sis__cell_step *s, float *gates) {
    s->hidden = c->hidden;
    s->r = c->rz;
    s->r_reset = c->rh;
    s->reset_bias = c->reset_bias;
    if (c->gates == 4)
        sis__kernels_best()->lstm(s);
    else if (c->linear_before_reset)
        sis__kernels_best()->gru_reset(s);
    else
        early_reset_step(c, s, gates);
}

/* ---- A chain ------------------------------------------------------------------------------- */

enum { MOST_CELLS = 8 };

typedef struct {
    recurrent_cell cells[MOST_CELLS]; /* taken over */
    size_t n_cells;
    int reverse;
    size_t length;
    size_t memory; /* bytes for the states of candidates */
    int all_times; /* states of every time will be asked for, not only of the last */
    const recurrent_cell
        *above[2]; /* cells that read a half of their inputs here, and will ask for */
    size_t half;   /* what that adds to their sums; NULL: none */
} chain_spec;

enum { CHAIN_ROWS = 256 }; /* rows times times of a block, if it has several times */

/* Where a candidate stands. */
typedef struct {
    size_t from, to; /* times whose input it changes: none before from, none from `to` on */
    size_t kept_at;  /* where its states begin, in states */
    size_t stale;    /* first time whose state is not up to date; the length: none */
    size_t quiet;    /* inputs are what they were in its last run from this time on */
    unsigned char known, moved; /* was run since the last reset; see chain_moved */
} candidate;

typedef struct {
    recurrent_cell cells[MOST_CELLS];
    size_t n_cells, length, features;
    size_t state, part[MOST_CELLS]; /* floats of a state; where each cell's begin */
    const recurrent_cell *above[2]; /* cells that read the last one's h as a half of their inputs */
    size_t half, sums[2];           /* which; where in a state its sums for them are */
    size_t first;                   /* time before which nothing is ever masked */
    size_t base_from;               /* first time whose base state is kept, less one */
    int *owner;                     /* (length) feature of each time; NOBODY, SEVERAL */
    float *inputs[2]; /* (length, width) projected: present, masked; SEVERAL: the base's, nothing */
    size_t input;     /* values of a time */
    float *whole, *absent, *present; /* (length, input) nothing masked, all of it; the base */
    int *part_of;                    /* (length, input) whose value each is */
    float *own;                      /* (input) of a candidate at a time of several */
    unsigned char *masked;           /* (features) */
    candidate *candidates;           /* (features) */
    float *base;                     /* (length + 1 - base_from, state) */
    float *kept;
    size_t every;  /* times between kept states; 0: none is kept */
    int all_times; /* somebody looks at states before the last */
    float *final;  /* (features, state) at the last time */

    /* The batch under way. */
    int *todo;      /* (features) in the order they join */
    size_t *starts; /* (length + 1) for sorting them */
    int *rows;      /* (features) that have joined */
    size_t n_rows;
    float *h[MOST_CELLS], *c[MOST_CELLS]; /* (features, hidden) */
    unsigned char *as_it_was, *as_base;   /* (features) by row: at the end of a block */
    const float **x;                      /* (features) projections of a time */
    float *gates, *outputs, *room;
    const float **from; /* (rows of a block) h, and where sums of the cells above go */
    float **to;
    float *nothing; /* (width of these) zeros */
} recurrent_chain;

enum { BLOCK_TIMES = 16 };          /* of a block, at most */
enum { NOBODY = -1, SEVERAL = -2 }; /* owners of a time */

/* ---- Where things lie ------------------------------------------------------------------------ */

/* Does masking this feature change any input of the chain? */
static int chain_reaches(const recurrent_chain *s, int feature) {
    return s->candidates[feature].from < s->length;
}

/* Base state after time t; t = -1 as SIZE_MAX is before time 0. */
static float *base_at(const recurrent_chain *s, size_t t) {
    return s->base + (t + 1 - s->base_from) * s->state;
}

static int is_kept(const recurrent_chain *s, size_t t) {
    return s->every && (t + 1) % s->every == 0;
}

/* State of a candidate after a time that is kept. */
static float *kept_at(const recurrent_chain *s, int feature, size_t t) {
    const candidate *c = &s->candidates[feature];
    return s->kept + (c->kept_at + t / s->every - c->from / s->every) * s->state;
}

/* The same where the time is of several: the base's, or its own in `room`. */
static const float *own_input(const recurrent_chain *s, int feature, size_t t, float *room) {
    const int *part_of = s->part_of + t * s->input;
    const candidate *c = &s->candidates[feature < 0 ? 0 : feature];
    int differs = 0;
    if (feature < 0 || t < c->from || t >= c->to)
        return s->inputs[0] + t * s->cells[0].width;
    memcpy(s->own, s->present + t * s->input, s->input * sizeof *s->own);
    for (size_t k = 0; k < s->input; k++)
        if (part_of[k] == feature) {
            s->own[k] = s->absent[t * s->input + k];
            differs = 1;
        }
    if (!differs)
        return s->inputs[0] + t * s->cells[0].width;
    cell_project(&s->cells[0], 1, s->own, room);
    return room;
}

/* Projected input of time t with `feature` masked on top; -1: the base. It may be put into room
 * (width). */
static const float *input_at(const recurrent_chain *s, int feature, size_t t, float *room) {
    int owner = s->owner[t];
    if (owner == SEVERAL)
        return own_input(s, feature, t, room);
    int masked = owner >= 0 && (owner == feature || s->masked[owner]);
    return s->inputs[masked] + t * s->cells[0].width;
}

/* State after a time with this feature masked too (-1: the base), up to date. Only the last time
 * unless the chain was made for all. */
static const float *chain_at(const recurrent_chain *s, int feature, size_t time) {
    if (feature < 0 || time < s->candidates[feature].from)
        return base_at(s, time);
    if (time + 1 == s->length && !s->all_times)
        return s->final + (size_t)feature * s->state;
    return kept_at(s, feature, time);
}

/* ---- The batch ------------------------------------------------------------------------------- */

/* Copy a row's state between the arrays of the batch and one piece. */
static void load_row(recurrent_chain *s, size_t row, const float *state) {
    for (size_t k = 0; k < s->n_cells; k++) {
        size_t n = s->cells[k].hidden;
        memcpy(s->h[k] + row * n, state + s->part[k], n * sizeof *state);
        if (s->cells[k].gates == 4)
            memcpy(s->c[k] + row * n, state + s->part[k] + n, n * sizeof *state);
    }
}

static void store_cell(const recurrent_chain *s, size_t k, size_t row, float *state) {
    size_t n = s->cells[k].hidden;
    memcpy(state + s->part[k], s->h[k] + row * n, n * sizeof *state);
    if (s->cells[k].gates == 4)
        memcpy(state + s->part[k] + n, s->c[k] + row * n, n * sizeof *state);
}

static int equals_cell(const recurrent_chain *s, size_t k, size_t row, const float *state) {
    size_t n = s->cells[k].hidden;
    if (memcmp(state + s->part[k], s->h[k] + row * n, n * sizeof *state) != 0)
        return 0;
    return s->cells[k].gates != 4 ||
           memcmp(state + s->part[k] + n, s->c[k] + row * n, n * sizeof *state) == 0;
}

/* The time a candidate has to be computed from. */
static size_t start_of(const recurrent_chain *s, int feature) {
    const candidate *c = &s->candidates[feature];
    size_t start = c->known && s->every ? c->stale / s->every * s->every : c->from;
    return start > c->from ? start : c->from;
}

static void join(recurrent_chain *s, int feature) {
    size_t start = start_of(s, feature);
    int own = start == s->candidates[feature].from;
    load_row(s, s->n_rows, own ? base_at(s, start - 1) : kept_at(s, feature, start - 1));
    s->rows[s->n_rows++] = feature;
}

/* Features that are not up to date, by the time they start from. Returns how many. */
static size_t sort_todo(recurrent_chain *s, const int *features, size_t n) {
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
static void begin_block(recurrent_chain *s, size_t from, size_t *next, size_t n_todo, block *b) {
    *b = (block){.from = from};
    while (b->n < BLOCK_TIMES && from + b->n < s->length) {
        size_t n = s->n_rows, ahead = *next;
        while (ahead < n_todo && start_of(s, s->todo[ahead]) <= from + b->n) {
            n++;
            ahead++;
        }
        if (b->n && b->total + n > CHAIN_ROWS)
            break;
        while (*next < ahead)
            join(s, s->todo[(*next)++]);
        b->rows[b->n++] = n;
        b->total += n;
    }
}

/* At the end of a block: may the row at hand be left to itself from here on? */
static void begin_comparing(recurrent_chain *s, size_t t) {
    for (size_t i = 0; i < s->n_rows; i++) {
        const candidate *c = &s->candidates[s->rows[i]];
        s->as_it_was[i] = c->known && c->quiet <= t + 1 && is_kept(s, t);
        s->as_base[i] = c->to <= t + 1;
    }
}

/* Ask for where a row will be kept. */
static void fetch_kept(const recurrent_chain *s, size_t k, size_t row, size_t t) {
    const float *to = kept_at(s, s->rows[row], t) + s->part[k];
    for (size_t i = 0; i < s->cells[k].state; i += 64 / sizeof *to)
        __builtin_prefetch(to + i, 1);
}

/* Cell k of the first n rows is at time t: compare if it is the block's last, and keep. */
static void keep(recurrent_chain *s, size_t k, size_t n, size_t t, int compare) {
    int kept = is_kept(s, t);
    for (size_t i = 0; i < n && (kept || compare); i++) {
        float *to = kept ? kept_at(s, s->rows[i], t) : NULL;
        if (kept && i + 1 < n)
            fetch_kept(s, k, i + 1, t);
        if (compare) {
            s->as_it_was[i] = s->as_it_was[i] && equals_cell(s, k, i, to);
            s->as_base[i] = s->as_base[i] && equals_cell(s, k, i, base_at(s, t));
        }
        if (kept)
            store_cell(s, k, i, to);
    }
}

/* One time of cell k of the first n rows, whose projections s->x shows; h goes to `out`, too. */
static void step_rows(recurrent_chain *s, size_t k, size_t n, float *gates, float *out) {
    sis__cell_step step = {.n = n, .h = s->h[k], .x = s->x, .c = s->c[k], .to = out};
    step.room = s->room;
    cell_step(&s->cells[k], &step, gates);
    memcpy(s->h[k], out, n * s->cells[k].hidden * sizeof *out);
}

static void run_cell(recurrent_chain *s, size_t k, const block *b) {
    const recurrent_cell *cell = &s->cells[k];
    float *gates = s->gates, *out = s->outputs;
    if (k > 0)
        cell_project(cell, b->total, s->outputs, s->gates);
    for (size_t i = 0; i < b->n; i++) {
        size_t n = b->rows[i], t = b->from + i;
        for (size_t r = 0; r < n; r++) {
            float *row = gates + r * cell->width;
            s->x[r] = k > 0 ? row : input_at(s, s->rows[r], t, row);
        }
        step_rows(s, k, n, gates, out);
        keep(s, k, n, t, i + 1 == b->n);
        gates += n * cell->width;
        out += n * cell->hidden;
    }
}

/* Sums of the cells above for the times of a block, whose h are in s->outputs. */
static void run_above(recurrent_chain *s, const block *b) {
    for (size_t d = 0; d < 2; d++) {
        size_t n = 0, hidden = s->cells[s->n_cells - 1].hidden;
        for (size_t i = 0; s->above[d] && i < b->n; i++)
            for (size_t r = 0; r < b->rows[i]; r++, n++) {
                s->from[n] = s->outputs + n * hidden;
                s->to[n] = kept_at(s, s->rows[r], b->from + i) + s->sums[d];
            }
        if (n)
            cell_project_half(s->above[d], s->half, s->nothing, n, s->from, s->to);
    }
}

/* ---- Ends ---------------------------------------------------------------------------------- */

static void set_up_to_date(recurrent_chain *s, int feature, int moved) {
    candidate *c = &s->candidates[feature];
    c->stale = s->length;
    c->quiet = 0;
    c->known = 1;
    c->moved |= (unsigned char)moved;
}

/* From time t on the candidate is the base. */
static void end_as_base(recurrent_chain *s, int feature, size_t t) {
    for (; t < s->length; t++)
        if (is_kept(s, t))
            memcpy(kept_at(s, feature, t), base_at(s, t), s->state * sizeof *s->base);
    memcpy(s->final + (size_t)feature * s->state, base_at(s, s->length - 1),
           s->state * sizeof *s->base);
    set_up_to_date(s, feature, 1);
}

static void end_computed(recurrent_chain *s, size_t row) {
    int feature = s->rows[row];
    for (size_t k = 0; k < s->n_cells; k++)
        store_cell(s, k, row, s->final + (size_t)feature * s->state);
    set_up_to_date(s, feature, 1);
}

static void move_row(recurrent_chain *s, size_t from, size_t to) {
    for (size_t k = 0; k < s->n_cells; k++) {
        size_t n = s->cells[k].hidden;
        memcpy(s->h[k] + to * n, s->h[k] + from * n, n * sizeof *s->h[k]);
        if (s->cells[k].gates == 4)
            memcpy(s->c[k] + to * n, s->c[k] + from * n, n * sizeof *s->c[k]);
    }
    s->rows[to] = s->rows[from];
}

/* Rows whose way is known leave the batch, which stands in front of time t. */
static void end_block(recurrent_chain *s, size_t t) {
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

/* Bring candidates up to date. */
static void chain_run(recurrent_chain *s, const int *features, size_t n) {
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
        run_above(s, &b);
        end_block(s, t);
    }
}

/* Has the state of this candidate at the last time been computed anew since this was last asked? */
static int chain_moved(recurrent_chain *s, int feature) {
    int moved = s->candidates[feature].moved;
    s->candidates[feature].moved = 0;
    return moved;
}

/* ---- The base -------------------------------------------------------------------------------- */

/* One time of the base, which is row 0 of the batch. */
static void step_base(recurrent_chain *s, size_t t) {
    for (size_t k = 0; k < s->n_cells; k++) {
        const recurrent_cell *cell = &s->cells[k];
        s->x[0] = k > 0 ? s->gates : input_at(s, -1, t, s->gates);
        if (k > 0)
            cell_project(cell, 1, s->h[k - 1], s->gates);
        step_rows(s, k, 1, s->gates, s->outputs);
    }
}

/* The batch's row 0 is the base's state after time t. */
static void store_base(recurrent_chain *s, size_t t) {
    for (size_t k = 0; k < s->n_cells; k++)
        store_cell(s, k, 0, base_at(s, t));
    for (size_t d = 0; d < 2; d++) {
        const float *from = s->h[s->n_cells - 1];
        float *to = base_at(s, t) + s->sums[d];
        if (s->above[d])
            cell_project_half(s->above[d], s->half, s->nothing, 1, &from, &to);
    }
}

/* States of the base from time t on, from the one before it. */
static void run_base(recurrent_chain *s, size_t t) {
    load_row(s, 0, base_at(s, t - 1));
    for (; t < s->length; t++) {
        step_base(s, t);
        store_base(s, t);
    }
}

/* A time of several as the base has it by now: `x` is what it reads with everything present. */
static void project_base(recurrent_chain *s, size_t t, const float *x) {
    size_t at = t * s->input;
    if (s->owner[t] != SEVERAL)
        return;
    for (size_t k = 0; k < s->input; k++) {
        int feature = s->part_of[at + k];
        int masked = feature >= 0 && s->masked[feature];
        s->present[at + k] = masked ? s->absent[at + k] : x[k];
    }
    cell_project(&s->cells[0], 1, s->present + at, s->inputs[0] + t * s->cells[0].width);
}

/* The base with these features masked. */
static void chain_reset(recurrent_chain *s, const unsigned char *masked) {
    memcpy(s->masked, masked, s->features);
    for (size_t t = 0; t < s->length; t++)
        project_base(s, t, s->whole + t * s->input);
    run_base(s, s->first);
    for (size_t i = 0; i < s->features; i++) {
        candidate *c = &s->candidates[i];
        c->known = c->moved = 0;
        c->stale = c->from; /* the length, if it reaches nothing */
    }
}

/* Mask a candidate that is up to date. */
static void chain_mask(recurrent_chain *s, int feature) {
    const candidate *m = &s->candidates[feature];
    s->masked[feature] = 1;
    if (m->from == s->length)
        return;
    for (size_t t = m->from; t < m->to; t++)
        project_base(s, t, s->present + t * s->input);
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

/* States of the base up to the time before the first feature, from where they start (s->base). */
static void chain_begin(recurrent_chain *s) {
    load_row(s, 0, s->base);
    for (size_t t = 0; t < s->first; t++) {
        step_base(s, t);
        if (s->all_times || t + 1 == s->first)
            store_base(s, t);
    }
}

/* ---- Making a chain ------------------------------------------------------------------------ */

/* What the first layer reads, in the order of time, and whose each time is. */
static void read_inputs(recurrent_chain *s, const sis__entry *f, int reverse) {
    for (size_t t = 0; t < s->length; t++) {
        size_t at = (reverse ? s->length - 1 - t : t) * s->input, to = t * s->input;
        memcpy(s->whole + to, f->x + at, s->input * sizeof *s->whole);
        memcpy(s->absent + to, f->z + at, s->input * sizeof *s->absent);
        memcpy(s->part_of + to, f->feature + at, s->input * sizeof *s->part_of);
        s->owner[t] = s->input ? s->part_of[to] : NOBODY;
        for (size_t k = 1; k < s->input; k++)
            if (s->part_of[to + k] != s->owner[t])
                s->owner[t] = SEVERAL;
    }
    memcpy(s->present, s->whole, s->length * s->input * sizeof *s->present);
    cell_project(&s->cells[0], s->length, s->whole, s->inputs[0]);
    cell_project(&s->cells[0], s->length, s->absent, s->inputs[1]);
}

/* Which times each feature changes: what is read there differs, be it seen by this chain or only by
 * the other, so that both reach the same features. */
static void find_spans(recurrent_chain *s) {
    for (size_t i = 0; i < s->features; i++)
        s->candidates[i].from = s->candidates[i].stale = s->length;
    s->first = s->length;
    for (size_t i = s->length * s->input; i-- > 0;) {
        size_t t = i / s->input;
        if (s->part_of[i] < 0 || memcmp(&s->whole[i], &s->absent[i], sizeof *s->whole) == 0)
            continue;
        candidate *c = &s->candidates[s->part_of[i]];
        c->to = c->from == s->length ? t + 1 : c->to;
        c->from = s->first = t;
    }
}

/* States to keep of all candidates at every so many times. */
static double kept_states(const recurrent_chain *s, size_t every) {
    double n = 0;
    for (size_t i = 0; i < s->features; i++)
        if (s->candidates[i].from < s->length)
            n += (double)(s->length / every - s->candidates[i].from / every);
    return n;
}

/* How many fit, and where each candidate's begin. */
static int plan_kept(recurrent_chain *s, const chain_spec *spec) {
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
static int start_base(recurrent_chain *s) {
    s->base_from = s->all_times ? 0 : s->first;
    s->base = (float *)sis__alloc(s->length + 1 - s->base_from, s->state * sizeof(float));
    if (!s->base)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->n_cells; k++)
        memcpy(s->base + s->part[k], s->cells[k].start, s->cells[k].state * sizeof(float));
    chain_begin(s);
    return SIS_OK;
}

static int allocate_batch(recurrent_chain *s) {
    size_t width = 0, hidden = 0, room = 0, p = s->features;
    size_t rows = p > CHAIN_ROWS ? p : CHAIN_ROWS;
    int fine = 1;
    for (size_t d = 0; d < 2; d++)
        width = s->above[d] && s->above[d]->width > width ? s->above[d]->width : width;
    for (size_t k = 0; k < s->n_cells; k++) {
        const recurrent_cell *c = &s->cells[k];
        width = c->width > width ? c->width : width;
        hidden = c->hidden > hidden ? c->hidden : hidden;
        size_t more = sis__cell_room(sis__kernels_best(), c->gates, c->hidden);
        room = more > room ? more : room;
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
    s->x = SIS_NEW(const float *, p);
    s->room = SIS_NEW(float, room);
    s->from = SIS_NEW(const float *, rows);
    s->to = SIS_NEW(float *, rows);
    s->nothing = SIS_NEW(float, width);
    return fine && s->todo && s->starts && s->rows && s->as_it_was && s->as_base && s->gates &&
                   s->outputs && s->x && s->room && s->from && s->to && s->nothing
               ? SIS_OK
               : SIS_E_NOMEM;
}

/* Everything but candidates' states: too much of it, and predicting copies is no worse. */
static int check_size(const recurrent_chain *s, size_t memory) {
    double floats = (double)s->length * (double)(2 * s->cells[0].width + s->state + 4 * s->input);
    for (size_t k = 0; k < s->n_cells; k++)
        floats += (double)(s->features + CHAIN_ROWS) * (double)(s->cells[k].width * 2);
    return floats * sizeof(float) < (double)memory ? SIS_OK : SIS_E_UNSUPPORTED;
}

static int allocate_chain(recurrent_chain *s) {
    size_t inputs = s->length * s->cells[0].width;
    size_t values = s->length * s->input;
    s->owner = SIS_NEW(int, s->length);
    s->inputs[0] = SIS_NEW_RAW(float, inputs);
    s->inputs[1] = SIS_NEW_RAW(float, inputs);
    s->whole = SIS_NEW_RAW(float, values);
    s->absent = SIS_NEW_RAW(float, values);
    s->present = SIS_NEW_RAW(float, values);
    s->part_of = SIS_NEW_RAW(int, values);
    s->own = SIS_NEW_RAW(float, s->input);
    s->masked = SIS_NEW(unsigned char, s->features);
    s->candidates = SIS_NEW(candidate, s->features);
    s->final = SIS_NEW(float, s->features * s->state);
    return s->owner && s->inputs[0] && s->inputs[1] && s->whole && s->absent && s->present &&
                   s->part_of && s->own && s->masked && s->candidates && s->final
               ? allocate_batch(s)
               : SIS_E_NOMEM;
}

static int chain_init(recurrent_chain *s, const sis__entry *f, const chain_spec *spec) {
    s->n_cells = spec->n_cells;
    s->length = spec->length;
    s->features = f->s->in.n;
    s->input = spec->cells[0].input;
    s->all_times = spec->all_times;
    for (size_t k = 0; k < s->n_cells; k++) {
        s->cells[k] = spec->cells[k];
        s->part[k] = s->state;
        s->state += s->cells[k].state;
    }
    s->half = spec->half;
    for (size_t d = 0; d < 2; d++) {
        s->above[d] = spec->above[d];
        s->sums[d] = s->state;
        s->state += s->above[d] ? s->above[d]->width : 0;
    }
    int error = check_size(s, spec->memory);
    if (error == SIS_OK)
        error = allocate_chain(s);
    if (error != SIS_OK)
        return error;
    read_inputs(s, f, spec->reverse);
    find_spans(s);
    error = plan_kept(s, spec);
    return error == SIS_OK ? start_base(s) : error;
}

static void chain_free(recurrent_chain *s) {
    if (!s)
        return;
    for (size_t k = 0; k < s->n_cells; k++) {
        cell_release(&s->cells[k]);
        free(s->h[k]);
        free(s->c[k]);
    }
    free(s->owner);
    free(s->inputs[0]);
    free(s->inputs[1]);
    free(s->whole);
    free(s->absent);
    free(s->present);
    free(s->part_of);
    free(s->own);
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
    free(s->x);
    free(s->room);
    free(s->from);
    free(s->to);
    free(s->nothing);
    free(s);
}

/* Over what the first layer reads. Starts with nothing masked and no base: reset it. Takes the cells
 * over even if it fails. */
static int chain_new(const sis__entry *f, chain_spec *spec, recurrent_chain **out) {
    *out = NULL;
    recurrent_chain *s = SIS_NEW(recurrent_chain, 1);
    if (!s) {
        for (size_t k = 0; k < spec->n_cells; k++)
            cell_release(&spec->cells[k]);
        return SIS_E_NOMEM;
    }
    int error = chain_init(s, f, spec);
    if (error != SIS_OK) {
        chain_free(s);
        return error;
    }
    *out = s;
    return SIS_OK;
}

/* ---- A layer both ways on top of another one ------------------------------------------------- */

/* It reads both halves of the layer below at every time. Masking changes what one direction says in front
 * of a feature and what the other says behind it; what the rest adds to the sums of the gates is kept
 * with the states of the chains below. All times are gone through again, since the first one changes,
 * too: all candidates side by side. */
typedef struct {
    recurrent_cell cells[2]; /* of each direction */
    size_t length, features;
    size_t upto[2];   /* times that are gone through; 0: nobody reads this direction */
    int all_times;    /* states of all times are kept, not only of the last of these */
    float *states[2]; /* (features + 1, times, state); last those of the base */
    recurrent_chain *below[2];

    /* The batch under way. */
    int *rows; /* (features + 1) */
    const float **x, **more;
    float *h, *c, *to, *gates, *inputs, *room; /* of UPPER_ROWS rows */
} upper_layer;

enum { UPPER_ROWS = 96 };

static void upper_free(upper_layer *u) {
    if (!u)
        return;
    for (size_t d = 0; d < 2; d++) {
        cell_release(&u->cells[d]);
        free(u->states[d]);
    }
    free(u->rows);
    free(u->x);
    free(u->more);
    free(u->h);
    free(u->c);
    free(u->to);
    free(u->gates);
    free(u->inputs);
    free(u->room);
    free(u);
}

/* State of direction d after a time of it with this feature masked; -1: the base. */
static float *upper_at(const upper_layer *u, size_t d, int feature, size_t time) {
    size_t row = feature < 0 ? u->features : (size_t)feature;
    size_t times = u->all_times ? u->upto[d] : 1;
    return u->states[d] + (row * times + (u->all_times ? time : 0)) * u->cells[d].state;
}

/* State of one direction below at a time of direction d. */
static const float *state_below(const upper_layer *u, size_t d, size_t half, int feature,
                                size_t time) {
    return chain_at(u->below[half], feature, half == d ? time : u->length - 1 - time);
}

/* Projections of n rows in two parts, which are kept, or, where that does not pay, by products. */
static void upper_inputs(upper_layer *u, size_t d, const int *rows, size_t n, size_t time) {
    const recurrent_cell *c = &u->cells[d];
    int kept = u->below[0]->above[d] != NULL;
    for (size_t i = 0; i < n; i++) {
        const float *one = state_below(u, d, 0, rows[i], time);
        const float *other = state_below(u, d, 1, rows[i], time);
        float *to = u->inputs + i * c->input;
        u->x[i] = kept ? one + u->below[0]->sums[d] : u->gates + i * c->width;
        u->more[i] = other + u->below[1]->sums[d];
        if (!kept) {
            memcpy(to, one, c->hidden * sizeof *to);
            memcpy(to + c->hidden, other, c->hidden * sizeof *to);
        }
    }
    if (!kept)
        cell_project(c, n, u->inputs, u->gates);
}

static void upper_store(const upper_layer *u, size_t d, const int *rows, size_t n, size_t time) {
    size_t hidden = u->cells[d].hidden;
    for (size_t i = 0; i < n; i++) {
        float *to = upper_at(u, d, rows[i], time);
        memcpy(to, u->h + i * hidden, hidden * sizeof *to);
        if (u->cells[d].gates == 4)
            memcpy(to + hidden, u->c + i * hidden, hidden * sizeof *to);
    }
}

/* Direction d of at most UPPER_ROWS rows. */
static void upper_run_some(upper_layer *u, size_t d, const int *rows, size_t n) {
    const recurrent_cell *c = &u->cells[d];
    fill_rows(n, c->hidden, c->start, u->h);
    if (c->gates == 4)
        fill_rows(n, c->hidden, c->start + c->hidden, u->c);
    for (size_t t = 0; t < u->upto[d]; t++) {
        sis__cell_step step = {.n = n, .h = u->h, .x = u->x, .c = u->c, .to = u->to};
        step.more = u->below[0]->above[d] ? u->more : NULL;
        step.room = u->room;
        upper_inputs(u, d, rows, n, t);
        cell_step(c, &step, u->gates);
        float *last = u->h;
        u->h = u->to;
        u->to = last;
        if (u->all_times || t + 1 == u->upto[d])
            upper_store(u, d, rows, n, t);
    }
}

static void upper_run(upper_layer *u, size_t n_rows) {
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < n_rows; i += UPPER_ROWS)
            upper_run_some(u, d, u->rows + i, n_rows - i < UPPER_ROWS ? n_rows - i : UPPER_ROWS);
}

/* Candidates of which something below was computed anew. */
static void upper_update(upper_layer *u, const int *features, size_t n) {
    size_t n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (u->below[0]->candidates[features[i]].moved ||
            u->below[1]->candidates[features[i]].moved)
            u->rows[n_rows++] = features[i];
    upper_run(u, n_rows);
}

static void upper_reset(upper_layer *u) {
    u->rows[0] = -1;
    upper_run(u, 1);
}

static int upper_allocate(upper_layer *u, size_t memory) {
    const sis__kernels *kn = sis__kernels_best();
    size_t width = 0, room = 0, rows = u->features + 1, n = UPPER_ROWS;
    size_t hidden = u->cells[0].hidden, input = u->cells[0].input;
    double floats = 0;
    for (size_t d = 0; d < 2; d++) {
        size_t more = sis__cell_room(kn, u->cells[d].gates, hidden);
        room = more > room ? more : room;
        width = u->cells[d].width > width ? u->cells[d].width : width;
        floats +=
            (double)rows * (double)(u->all_times ? u->upto[d] : 1) * (double)u->cells[d].state;
    }
    if (floats * sizeof(float) > (double)memory)
        return SIS_E_UNSUPPORTED;
    for (size_t d = 0; d < 2; d++) {
        u->states[d] = (float *)sis__alloc(rows * (u->all_times ? u->upto[d] : 1),
                                           u->cells[d].state * sizeof(float));
        if (!u->states[d])
            return SIS_E_NOMEM;
    }
    u->rows = SIS_NEW(int, rows);
    u->x = SIS_NEW(const float *, n);
    u->more = SIS_NEW(const float *, n);
    u->h = SIS_NEW(float, n *hidden);
    u->c = SIS_NEW(float, n *hidden);
    u->to = SIS_NEW(float, n *hidden);
    u->gates = SIS_NEW(float, n *width);
    u->inputs = SIS_NEW(float, n *input);
    u->room = SIS_NEW(float, room);
    return u->rows && u->x && u->more && u->h && u->c && u->to && u->gates && u->inputs && u->room
               ? SIS_OK
               : SIS_E_NOMEM;
}

/* Elements of the cut that lie side by side: part of the state of a chain after some time. Chain 2 and 3
 * are the directions of the layer above. */
typedef struct {
    size_t chain, time, at, n;
} stretch;

enum { UPPER = 2 };

typedef struct {
    sis__ruled ruled;
    const sis__net_input *s;
    sis__entry *entry;
    recurrent_chain *chains[2];
    size_t n_chains;
    upper_layer *upper; /* NULL: none */
    stretch *stretches; /* (n_stretches) that the cut is made of, in order */
    size_t n_stretches;
    int all_times; /* the cut looks at more than last states */
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

/* An output of a layer that others than the next layer read: 0 (h of all times), 1 (last h) or 2
 * (last c). */
typedef struct {
    const sis__step *step;
    size_t cell; /* of its chains */
    int upper;   /* of the layer above */
    size_t output;
    size_t first; /* number of its first element; those of all taps are counted on */
} tap;

/* What a network's recurrent part is made of. */
typedef struct {
    chain_spec chains[2];
    size_t n;
    upper_layer *upper; /* NULL: none */
    const sis__step *last;
    tap taps[3 * MOST_CELLS];
    size_t n_taps, elements;
} recurrence;

static void release_cells(recurrence *c) {
    for (size_t i = 0; i < c->n; i++)
        for (size_t k = 0; k < c->chains[i].n_cells; k++)
            cell_release(&c->chains[i].cells[k]);
    upper_free(c->upper);
}

static int add_cell(recurrence *c, size_t which, const sis__step *s, sis__run *r) {
    chain_spec *to = &c->chains[which];
    const sis__recurrent *p = &s->p.recurrent;
    if (to->n_cells == MOST_CELLS)
        return SIS_E_UNSUPPORTED;
    int reverse = p->reverse || which == 1;
    if (to->n_cells && (reverse != to->reverse || p->seq != to->length))
        return SIS_E_UNSUPPORTED;
    to->reverse = reverse;
    to->length = p->seq;
    int error = cell_init(&to->cells[to->n_cells], s, r, which);
    to->n_cells += error == SIS_OK;
    return error;
}

/* One more layer on top; SIS_E_UNSUPPORTED leaves everything as it was. */
static int add_layer(recurrence *c, const sis__step *s, sis__run *r) {
    if (c->last && s->p.recurrent.directions != 1)
        return SIS_E_UNSUPPORTED; /* both directions at once mix all times */
    int error = SIS_OK;
    for (size_t i = 0; i < c->n && error == SIS_OK; i++)
        error = add_cell(c, i, s, r);
    c->last = error == SIS_OK ? s : c->last;
    return error;
}

/* A layer on top of one that runs both ways; SIS_E_UNSUPPORTED leaves everything as it was. */
static int add_upper(recurrence *c, const sis__step *s, sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    if (c->upper || p->directions != 2 || !p->w_late[0] || p->seq != c->chains[0].length ||
        p->hidden != c->chains[0].cells[0].hidden)
        return SIS_E_UNSUPPORTED;
    upper_layer *u = SIS_NEW(upper_layer, 1);
    int error = u ? SIS_OK : SIS_E_NOMEM;
    for (size_t d = 0; d < 2 && error == SIS_OK; d++)
        error = cell_init(&u->cells[d], s, r, d);
    if (error != SIS_OK) {
        upper_free(u);
        return error;
    }
    u->length = p->seq;
    c->upper = u;
    c->last = s;
    return SIS_OK;
}

/* Outputs of a layer from this one on, where they are read. */
static void add_taps(recurrence *c, const sis__plan *p, const sis__step *s, size_t cell,
                     size_t output) {
    for (; output < s->n_outputs && output < 3; output++)
        if (is_read(p, s->outputs[output])) {
            c->taps[c->n_taps++] = (tap){s, cell, c->upper && s == c->last, output, c->elements};
            c->elements += p->tensors[s->outputs[output]].count;
        }
}

static void note_layer(const recurrent_walk *w, const recurrence *c, int error) {
    if (error == SIS_OK && !c->upper)
        sis__net_input_note(w->s, c->last, "states kept; from the feature on");
}

/* The stack of layers in front, as high as it goes; whatever is above is the head's. */
static int find_recurrence(recurrent_walk *w, recurrence *c, int upper) {
    if (!w->entry)
        return SIS_E_UNSUPPORTED;
    sis__run *r = w->entry->run;
    const sis__step *s = sis__entry_reader(w->entry);
    if (!is_recurrent(s) || s->inputs[0] != w->entry->tensor || s->p.recurrent.seq == 0)
        return SIS_E_UNSUPPORTED;
    c->n = s->p.recurrent.directions;
    sis__entry_note(w->entry);
    int error = add_layer(c, s, r), more = error == SIS_OK;
    note_layer(w, c, error);
    while (more && error == SIS_OK) {
        const sis__step *below = c->last;
        size_t cell = c->chains[0].n_cells - 1;
        s = NULL;
        if ((c->n == 1 || (upper && !c->upper)) && is_read(r->plan, below->outputs[0]))
            error = find_next(r, below->outputs[0], &s);
        int added = !s || error != SIS_OK ? SIS_E_UNSUPPORTED
                    : c->n == 1           ? add_layer(c, s, r)
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

/* Where element number q of all taps is found. */
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

/* Numbers of elements of taps, moved as the network moves values: behind each value of a tensor. */
typedef struct {
    sis__run *r;
    unsigned char *holds; /* (tensors) numbers */
    size_t steps;         /* that moved some */
} numbers;

static void put_numbers(numbers *m, const recurrence *c) {
    for (size_t i = 0; i < c->n_taps; i++) {
        int tensor = c->taps[i].step->outputs[c->taps[i].output];
        float *to = (float *)m->r->data[tensor];
        for (size_t q = 0; q < m->r->plan->tensors[tensor].count; q++)
            to[q] = (float)(c->taps[i].first + q);
        m->holds[tensor] = 1;
    }
}

/* Does a step only move or join what is numbered? */
static int moves(const numbers *m, const sis__step *s) {
    int join = s->op == SIS__OP_CONCAT;
    if ((!join && s->ops->trait != SIS__KEEPS && s->ops->trait != SIS__MOVES) ||
        s->outputs[0] < 0 || (s->n_outputs > 1 && is_read(m->r->plan, s->outputs[1])) ||
        m->r->plan->tensors[s->outputs[0]].dtype != SIS__F32)
        return 0;
    for (size_t i = 0; i < s->n_inputs; i++) {
        int numbered = s->inputs[i] >= 0 && m->holds[s->inputs[i]];
        int constant = s->inputs[i] < 0 || m->r->plan->tensors[s->inputs[i]].data;
        if (join || i == 0 ? !numbered : !constant)
            return 0;
    }
    return s->n_inputs > 0;
}

/* Is a tensor read by a step that does not move it on? */
static int goes_on(const numbers *m, int tensor) {
    const sis__plan *p = m->r->plan;
    int found = p->tensors[tensor].wanted;
    for (size_t i = 0; i < p->n_steps && !found; i++)
        for (size_t k = 0; k < p->steps[i].n_inputs; k++)
            found |= p->steps[i].inputs[k] == tensor &&
                     (p->steps[i].outputs[0] < 0 || !m->holds[p->steps[i].outputs[0]]);
    return found;
}

/* Follow what comes out of the layers by at most so many steps that only move values. The one tensor
 * that is read from there on, or -1. */
static int follow(numbers *m, const recurrence *c, size_t most) {
    const sis__plan *p = m->r->plan;
    int tensor = -1;
    put_numbers(m, c);
    for (size_t i = 0; i < p->n_steps && m->steps < most; i++)
        if (moves(m, &p->steps[i]) && p->steps[i].ops->forward(&p->steps[i], m->r) == SIS_OK) {
            m->holds[p->steps[i].outputs[0]] = 1;
            m->steps++;
        }
    for (size_t i = 0; i < p->n_tensors; i++)
        if (m->holds[i] && goes_on(m, (int)i)) {
            if (tensor >= 0)
                return -1;
            tensor = (int)i;
        }
    return tensor;
}

static int continues(const stretch *s, const stretch *e) {
    return s->chain == e->chain && s->time == e->time && s->at + s->n == e->at;
}

static int set_stretches(recurrent_walk *w, const recurrence *c, int tensor) {
    const float *number = (const float *)w->entry->run->data[tensor];
    free(w->stretches);
    w->ruled.width = w->entry->plan->tensors[tensor].count;
    w->stretches = SIS_NEW(stretch, w->ruled.width);
    w->n_stretches = 0;
    w->all_times = c->upper != NULL;
    for (size_t i = 0; w->stretches && i < w->ruled.width; i++) {
        stretch e = locate(c, (size_t)number[i]);
        w->all_times |= e.chain < UPPER && e.time + 1 < c->last->p.recurrent.seq;
        if (w->n_stretches > 0 && continues(&w->stretches[w->n_stretches - 1], &e))
            w->stretches[w->n_stretches - 1].n++;
        else
            w->stretches[w->n_stretches++] = e;
    }
    return w->stretches ? SIS_OK : SIS_E_NOMEM;
}

/* Cut behind so many steps that move values; *most: those there are. */
static int cut_after(recurrent_walk *w, const recurrence *c, size_t *most) {
    const sis__plan *p = w->entry->plan;
    numbers m = {w->entry->run, SIS_NEW(unsigned char, p->n_tensors), 0};
    int tensor = m.holds ? follow(&m, c, *most) : -1;
    int error = !m.holds ? SIS_E_NOMEM : tensor < 0 ? SIS_E_UNSUPPORTED : SIS_OK;
    *most = m.steps;
    if (error == SIS_OK)
        error = sis__head_new(w->s, tensor, &p->tensors[tensor], &w->ruled.head);
    if (error == SIS_OK)
        error = set_stretches(w, c, tensor);
    free(m.holds);
    return error;
}

/* As far behind the last layer as possible: there is least to copy. */
static int find_cut(recurrent_walk *w, const recurrence *c) {
    size_t most = SIZE_MAX;
    int error;
    if (c->n_taps == 0 || c->elements >= (size_t)1 << 24) /* a float holds no more numbers */
        return SIS_E_UNSUPPORTED;
    do
        error = cut_after(w, c, &most);
    while (error == SIS_E_UNSUPPORTED && most-- > 0);
    return error;
}

/* ---- Candidates ---------------------------------------------------------------------------- */

/* What stands at the cut with this feature masked too; -1: the base. */
static void fill_row(const recurrent_walk *w, int feature, float *row) {
    for (size_t i = 0; i < w->n_stretches; i++) {
        const stretch *e = &w->stretches[i];
        const float *state = e->chain < UPPER
                                 ? chain_at(w->chains[e->chain], feature, e->time)
                                 : upper_at(w->upper, e->chain - UPPER, feature, e->time);
        memcpy(row, state + e->at, e->n * sizeof *row);
        row += e->n;
    }
}

/* ---- The rule ------------------------------------------------------------------------------ */

static int recurrent_reset(sis__ruled *r, const unsigned char *masked) {
    recurrent_walk *w = (recurrent_walk *)r;
    for (size_t i = 0; i < w->n_chains; i++)
        chain_reset(w->chains[i], masked);
    if (w->upper)
        upper_reset(w->upper);
    return SIS_OK;
}

static void recurrent_update(sis__ruled *r, const int *features, size_t n) {
    recurrent_walk *w = (recurrent_walk *)r;
    for (size_t i = 0; i < w->n_chains; i++)
        chain_run(w->chains[i], features, n);
    if (w->upper)
        upper_update(w->upper, features, n);
}

static sis__change recurrent_row(sis__ruled *r, int feature, float *row) {
    recurrent_walk *w = (recurrent_walk *)r;
    int moved = feature < 0;
    if (feature >= 0 && !chain_reaches(w->chains[0], feature))
        return SIS__NOTHING;
    for (size_t i = 0; feature >= 0 && i < w->n_chains; i++)
        moved |= chain_moved(w->chains[i], feature);
    if (!moved)
        return SIS__AS_BEFORE;
    fill_row(w, feature, row);
    return SIS__CHANGED;
}

static int recurrent_mask(sis__ruled *r, int feature) {
    recurrent_walk *w = (recurrent_walk *)r;
    for (size_t i = 0; i < w->n_chains; i++)
        chain_mask(w->chains[i], feature);
    return SIS_OK;
}

static void release_layers(recurrent_walk *w) {
    for (size_t i = 0; i < 2; i++) {
        chain_free(w->chains[i]);
        w->chains[i] = NULL;
    }
    upper_free(w->upper);
    w->upper = NULL;
    free(w->stretches);
    w->stretches = NULL;
}

static void recurrent_close(sis__ruled *r) {
    recurrent_walk *w = (recurrent_walk *)r;
    release_layers(w);
    free(w);
}

/* How far the layer above is read, and what the chains below keep for it: not for a few times. */
static int plan_upper(recurrent_walk *w, recurrence *c) {
    upper_layer *u = c->upper;
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
    return upper_allocate(u, w->s->memory / 8);
}

static int make_chains(recurrent_walk *w, recurrence *c) {
    int error = SIS_OK;
    for (size_t i = 0; i < c->n && error == SIS_OK; i++) {
        c->chains[i].memory = w->s->memory / 4 * 3 / c->n;
        c->chains[i].all_times = w->all_times;
        error = chain_new(w->entry, &c->chains[i], &w->chains[i]);
        c->chains[i].n_cells = 0; /* taken over */
    }
    w->n_chains = c->n;
    w->upper = c->upper;
    c->upper = NULL; /* taken over */
    for (size_t i = 0; w->upper && i < 2; i++)
        w->upper->below[i] = w->chains[i];
    return error;
}

/* upper: with a layer above, if there is one. */
static int open_layers(recurrent_walk *w, int upper) {
    recurrence c = {.n = 0};
    int error = find_recurrence(w, &c, upper);
    if (error == SIS_OK)
        error = find_cut(w, &c);
    if (error == SIS_OK && c.upper)
        error = plan_upper(w, &c);
    if (error == SIS_OK)
        error = w->ruled.width ? make_chains(w, &c) : SIS_E_UNSUPPORTED;
    if (error == SIS_OK && w->upper)
        sis__net_input_note(w->s, c.last, "half of its sums kept; all times");
    release_cells(&c);
    return error;
}

static int recurrent_open(const sis__net_input *s, sis__ruled **out) {
    recurrent_walk *w = SIS_NEW(recurrent_walk, 1);
    *out = w ? &w->ruled : NULL;
    if (!w)
        return SIS_E_NOMEM;
    w->s = s;
    w->entry = s->entry;
    w->ruled.exact = 1;
    int error = open_layers(w, 1);
    if (error != SIS_E_UNSUPPORTED)
        return error;
    release_layers(w); /* it may have been too much: the layer above is the head's */
    sis__head_free(w->ruled.head);
    w->ruled.head = NULL;
    return open_layers(w, 0);
}

const sis__rule sis__rule_recurrent = {
    .name = "recurrent",
    .pays_from = 300,
    .keeps_entry = 1,
    .open = recurrent_open,
    .close = recurrent_close,
    .reset = recurrent_reset,
    .mask = recurrent_mask,
    .row = recurrent_row,
    .update = recurrent_update,
};
