/* SPDX-License-Identifier: MIT
 *
 * LSTM. Per step: gates i o f g = activation(x . w^T + h . r^T + b); c = f c + i g; h = o tanh(c).
 * Peepholes, clipping, coupled gates and other activations are left to ONNX Runtime.
 */
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/ops/recurrent.h"

/* Kept for backward, per direction: gates, and the states before each time. */
static size_t tape_bytes(const sis__recurrent *p) {
    size_t state = p->batch * p->hidden, floats = p->seq * 6 * state;
    return (floats + 15) / 16 * 16 * sizeof(float);
}

static int lstm_shape(sis__shape_ctx *c) {
    sis__recurrent_shape(c, 4);
    const sis__recurrent *q = &c->step->p.recurrent;
    if (c->plan->gradients)
        c->step->tape = q->directions * tape_bytes(q);
    if (sis__ctx_input(c, SIS__C0 + 1))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "peepholes");
    return c->error;
}

/* ---- Cells --------------------------------------------------------------------------------- */

/* All rows at time t. gates (rows, 4*hidden) hold the projection; with a tape they receive the
 * activations. */
static void step(const sis__pass *a, size_t t, float *gates) {
    sis__cell_step c = {.h = a->h, .gates = a->s->tape ? gates : NULL};
    sis__pass_cells(a, t, gates, &c, sis__kernels_best()->lstm);
}

/* ---- Forward ------------------------------------------------------------------------------- */

static void put_states(const sis__pass *a) {
    const sis__recurrent *p = a->p;
    const float *state[2] = {a->h, a->c};
    for (size_t i = 0; i < 2; i++)
        for (size_t b = 0; sis__out(a->s, a->r, i + 1) && b < p->batch; b++)
            memcpy(sis__out(a->s, a->r, i + 1) + sis__row_state(p, a->d, b) * p->hidden,
                   state[i] + b * p->hidden, p->hidden * sizeof(float));
}

/* ---- Tape: data for backpropagation through time --------------------------------------------- */

static void tape_find(sis__tape *t) {
    const sis__recurrent *p = t->a.p;
    size_t state = p->seq * p->batch * p->hidden;
    t->gates = (float *)(void *)(t->a.r->base + t->a.s->tape_at + t->a.d * tape_bytes(p));
    t->h = t->gates + 4 * state;
    t->more = t->h + state;
}

static void record_direction(sis__tape *t) {
    const sis__recurrent *p = t->a.p;
    size_t state = p->batch * p->hidden;
    tape_find(t);
    sis__pass_project(&t->a, 0, p->seq, t->gates);
    for (size_t k = 0; k < p->seq; k++) {
        size_t at = sis__pass_time(&t->a, k);
        memcpy(t->h + at * state, t->a.h, state * sizeof(float));
        memcpy(t->more + at * state, t->a.c, state * sizeof(float));
        step(&t->a, at, t->gates + at * 4 * state);
        sis__pass_emit(&t->a, at);
    }
}

static int lstm_forward(const sis__step *s, sis__run *r) {
    for (size_t d = 0; d < s->p.recurrent.directions; d++) {
        sis__tape t;
        sis__pass_begin(&t.a, s, r, d);
        if (s->tape)
            record_direction(&t);
        else
            sis__pass_run(&t.a, step);
        put_states(&t.a);
    }
    return SIS_OK;
}

/* ---- Gradient -------------------------------------------------------------------------------- */

static void find_tape(sis__tape *t) {
    const sis__recurrent *p = t->a.p;
    const float *r = sis__in(t->a.s, t->a.r, SIS__R) + t->a.d * 4 * p->hidden * p->hidden;
    tape_find(t);
    t->back = sis__pass_pack_back(&t->scratch, r, 4 * p->hidden, p->hidden);
}

/* One cell backwards: from dh, dc of the new state to dc of the old state and the gates'
 * gradients. */
static void cell_backward(const sis__tape *t, size_t at, size_t b) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, row = at * p->batch + b;
    float *restrict i = t->gates + row * 4 * hidden, *restrict o = i + hidden;
    float *restrict f = o + hidden, *restrict g = f + hidden, *restrict tc = t->a.spare;
    float *restrict dh = t->dh + b * hidden, *restrict dc = t->dc + b * hidden;
    const float *restrict before = t->more + row * hidden;
    for (size_t j = 0; j < hidden; j++)
        tc[j] = f[j] * before[j] + i[j] * g[j];
    sis__kernels_best()->tanh(tc, tc, hidden);
    for (size_t j = 0; j < hidden; j++) {
        float d = dc[j] + dh[j] * o[j] * (1 - tc[j] * tc[j]), in = i[j];
        i[j] = d * g[j] * in * (1 - in);
        o[j] = dh[j] * tc[j] * o[j] * (1 - o[j]);
        dc[j] = d * f[j];
        f[j] = d * before[j] * f[j] * (1 - f[j]);
        g[j] = d * in * (1 - g[j] * g[j]);
        dh[j] = 0;
    }
}

static void step_backward(sis__tape *t, size_t at) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, gh = 4 * hidden;
    const float *dy = sis__dout(t->a.s, t->a.r, 0);
    float *gates = t->gates + at * p->batch * gh;
    for (size_t b = 0; b < p->batch; b++) {
        float *dh = t->dh + b * hidden;
        if (!sis__pass_alive(&t->a, at, b)) { /* the state did not change */
            memset(gates + b * gh, 0, gh * sizeof *gates);
            continue;
        }
        const float *from = dy ? dy + sis__row_y(p, at, t->a.d, b) * hidden : NULL;
        for (size_t j = 0; from && j < hidden; j++)
            dh[j] += from[j];
        cell_backward(t, at, b);
    }
    sis__kernels_best()->gemm(p->batch, hidden, gh, gates, gh, 1, t->back, t->dh, hidden);
}

/* dr += gates^T . h: one product over all times. */
static void recurrence_backward(sis__tape *t, float *dr) {
    const sis__recurrent *p = t->a.p;
    size_t gh = 4 * p->hidden, rows = p->seq * p->batch;
    sis__operand gates = {t->gates, 1, gh}, before = {t->h, p->hidden, 1};
    sis__product_add(&(sis__product){gh, p->hidden, rows, gates, before, 1.0f, dr, p->hidden},
                     t->scratch);
}

static int lstm_backward(const sis__step *s, sis__run *r) {
    static const sis__cell_gradient cell = {find_tape, step_backward, recurrence_backward};
    return sis__recurrent_backward(s, r, &cell);
}

const sis__op sis__op_lstm = {
    3, 8, lstm_shape, lstm_forward, lstm_backward, .family = SIS__RECURRENT};
