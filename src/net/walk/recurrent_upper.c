/* SPDX-License-Identifier: MIT
 *
 * A bidirectional layer on top of another one. At every time it reads both directions of the layer
 * below. Masking a feature changes the forward direction after it and the reverse direction before
 * it, so at each time one of the two is unchanged. What this one adds to the gates is kept with the
 * states of the chains below. All times of the upper layer are recomputed, because even its first
 * input changes, for all candidates together.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk/recurrent.h"

enum { UPPER_ROWS = 96 };

static void fill_rows(size_t n, size_t width, const float *row, float *to) {
    for (size_t i = 0; i < n; i++)
        memcpy(to + i * width, row, width * sizeof *to);
}

void sis__rnn_upper_free(sis__rnn_upper *u) {
    if (!u)
        return;
    for (size_t d = 0; d < 2; d++)
        sis__rnn_cell_release(&u->cells[d]);
    sis__arena_release(&u->memory);
    free(u);
}

float *sis__rnn_upper_at(const sis__rnn_upper *u, size_t d, int feature, size_t time) {
    size_t row = feature < 0 ? u->features : (size_t)feature;
    size_t times = u->all_times ? u->upto[d] : 1;
    return u->states[d] + (row * times + (u->all_times ? time : 0)) * u->cells[d].state;
}

/* State of one direction below at a time of direction d. */
static const float *state_below(const sis__rnn_upper *u, size_t d, size_t half, int feature,
                                size_t time) {
    return sis__rnn_chain_at(u->below[half], feature, half == d ? time : u->length - 1 - time);
}

/* Projections of n rows: two kept addends, or else a product. */
static void read_below(sis__rnn_upper *u, size_t d, const int *rows, size_t n, size_t time) {
    const sis__rnn_cell *c = &u->cells[d];
    int kept = sis__rnn_chain_keeps_sums(u->below[0], d); /* then both do */
    for (size_t i = 0; i < n; i++) {
        const float *one = state_below(u, d, 0, rows[i], time);
        const float *other = state_below(u, d, 1, rows[i], time);
        float *to = u->batch.inputs + i * c->input;
        if (kept) {
            u->batch.x[i] = sis__rnn_chain_sums(u->below[0], d, one);
            u->batch.more[i] = sis__rnn_chain_sums(u->below[1], d, other);
        } else {
            u->batch.x[i] = u->batch.gates + i * c->width;
            memcpy(to, one, c->hidden * sizeof *to);
            memcpy(to + c->hidden, other, c->hidden * sizeof *to);
        }
    }
    if (!kept)
        sis__rnn_cell_project(c, n, u->batch.inputs, u->batch.gates);
}

static void store_states(const sis__rnn_upper *u, size_t d, const int *rows, size_t n,
                         size_t time) {
    size_t hidden = u->cells[d].hidden;
    for (size_t i = 0; i < n; i++) {
        float *to = sis__rnn_upper_at(u, d, rows[i], time);
        memcpy(to, u->batch.h + i * hidden, hidden * sizeof *to);
        if (u->cells[d].gates == 4)
            memcpy(to + hidden, u->batch.c + i * hidden, hidden * sizeof *to);
    }
}

/* Direction d of at most UPPER_ROWS rows. */
static void run_direction(sis__rnn_upper *u, size_t d, const int *rows, size_t n) {
    const sis__rnn_cell *c = &u->cells[d];
    fill_rows(n, c->hidden, c->start, u->batch.h);
    if (c->gates == 4)
        fill_rows(n, c->hidden, c->start + c->hidden, u->batch.c);
    for (size_t t = 0; t < u->upto[d]; t++) {
        sis__cell_step step = {
            .n = n, .h = u->batch.h, .x = u->batch.x, .c = u->batch.c, .to = u->batch.to};
        step.more = sis__rnn_chain_keeps_sums(u->below[0], d) ? u->batch.more : NULL;
        step.room = u->batch.room;
        read_below(u, d, rows, n, t);
        sis__rnn_cell_step(c, &step, u->batch.gates);
        float *last = u->batch.h;
        u->batch.h = u->batch.to;
        u->batch.to = last;
        if (u->all_times || t + 1 == u->upto[d])
            store_states(u, d, rows, n, t);
    }
}

static void run_rows(sis__rnn_upper *u, size_t n_rows) {
    for (size_t d = 0; d < 2; d++)
        for (size_t i = 0; i < n_rows; i += UPPER_ROWS)
            run_direction(u, d, u->batch.rows + i,
                          n_rows - i < UPPER_ROWS ? n_rows - i : UPPER_ROWS);
}

void sis__rnn_upper_update(sis__rnn_upper *u, const int *features, size_t n) {
    size_t n_rows = 0;
    for (size_t i = 0; i < n; i++)
        if (sis__rnn_chain_moved(u->below[0], features[i]) ||
            sis__rnn_chain_moved(u->below[1], features[i]))
            u->batch.rows[n_rows++] = features[i];
    run_rows(u, n_rows);
}

void sis__rnn_upper_reset(sis__rnn_upper *u) {
    u->batch.rows[0] = -1;
    run_rows(u, 1);
}

int sis__rnn_upper_allocate(sis__rnn_upper *u, size_t memory) {
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
    for (size_t d = 0; d < 2; d++)
        u->states[d] =
            SIS_ARENA(&u->memory, float, rows *(u->all_times ? u->upto[d] : 1) * u->cells[d].state);
    u->batch.rows = SIS_ARENA(&u->memory, int, rows);
    u->batch.x = SIS_ARENA(&u->memory, const float *, n);
    u->batch.more = SIS_ARENA(&u->memory, const float *, n);
    u->batch.h = SIS_ARENA(&u->memory, float, n *hidden);
    u->batch.c = SIS_ARENA(&u->memory, float, n *hidden);
    u->batch.to = SIS_ARENA(&u->memory, float, n *hidden);
    u->batch.gates = SIS_ARENA(&u->memory, float, n *width);
    u->batch.inputs = SIS_ARENA(&u->memory, float, n *input);
    u->batch.room = SIS_ARENA(&u->memory, float, room);
    return sis__arena_error(&u->memory);
}
