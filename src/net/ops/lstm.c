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

typedef struct {
    sis__pass a;
    float *gates;     /* (seq, batch, 4*hidden) activations, then gradients of pre-activations */
    float *h, *c;     /* (seq, batch, hidden) states before each time */
    float *dh, *dc;   /* (batch, hidden) */
    const float *rec; /* r packed for dh += gates . r */
    char *scratch;
} tape;

static float *take(char **free, size_t floats) {
    float *p = (float *)(void *)*free;
    *free += (floats + 15) / 16 * 16 * sizeof(float);
    return p;
}

static size_t time_at(const sis__pass *a, size_t k) {
    return a->backwards ? a->p->seq - 1 - k : k;
}

static void tape_find(tape *t) {
    const sis__recurrent *p = t->a.p;
    size_t state = p->seq * p->batch * p->hidden;
    t->gates = (float *)(void *)(t->a.r->base + t->a.s->tape_at + t->a.d * tape_bytes(p));
    t->h = t->gates + 4 * state;
    t->c = t->h + state;
}

static void record_direction(tape *t) {
    const sis__recurrent *p = t->a.p;
    size_t state = p->batch * p->hidden;
    tape_find(t);
    sis__pass_project(&t->a, 0, p->seq, t->gates);
    for (size_t k = 0; k < p->seq; k++) {
        size_t at = time_at(&t->a, k);
        memcpy(t->h + at * state, t->a.h, state * sizeof(float));
        memcpy(t->c + at * state, t->a.c, state * sizeof(float));
        step(&t->a, at, t->gates + at * 4 * state);
        sis__pass_emit(&t->a, at);
    }
}

static int lstm_forward(const sis__step *s, sis__run *r) {
    for (size_t d = 0; d < s->p.recurrent.directions; d++) {
        tape t;
        sis__pass_begin(&t.a, s, r, d);
        if (s->tape)
            record_direction(&t);
        else
            sis__pass_run(&t.a, step);
        put_states(&t.a);
    }
    return SIS_OK;
}

/* ---- Gradient: backpropagation through time -------------------------------------------------- */

static void tape_begin(tape *t, const sis__step *s, sis__run *r, size_t d) {
    const sis__recurrent *p = &s->p.recurrent;
    const sis__kernels *kn = sis__kernels_best();
    size_t state = p->batch * p->hidden, gh = 4 * p->hidden;
    sis__pass_begin(&t->a, s, r, d);
    tape_find(t);
    char *free = t->a.free;
    t->dh = take(&free, state);
    t->dc = take(&free, state);
    float *packed = take(&free, sis__packed_size(kn, gh, p->hidden));
    sis__pack(kn, gh, p->hidden, sis__in(s, r, SIS__R) + d * gh * p->hidden, p->hidden, 1, packed);
    t->rec = packed;
    t->scratch = free;
}

/* Add the gradients of the final states, then that of y at each time. */
static void receive_final(tape *t) {
    const sis__recurrent *p = t->a.p;
    const float *dh = sis__dout(t->a.s, t->a.r, 1), *dc = sis__dout(t->a.s, t->a.r, 2);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t j = 0; j < p->hidden; j++) {
            size_t from = sis__row_state(p, t->a.d, b) * p->hidden + j, to = b * p->hidden + j;
            t->dh[to] = dh ? dh[from] : 0;
            t->dc[to] = dc ? dc[from] : 0;
        }
}

/* One cell backwards: from dh, dc of the new state to dc of the old state and the gates'
 * gradients. */
static void cell_backward(const tape *t, size_t at, size_t b) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, row = at * p->batch + b;
    float *restrict i = t->gates + row * 4 * hidden, *restrict o = i + hidden;
    float *restrict f = o + hidden, *restrict g = f + hidden, *restrict tc = t->a.spare;
    float *restrict dh = t->dh + b * hidden, *restrict dc = t->dc + b * hidden;
    const float *restrict before = t->c + row * hidden;
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

static void step_backward(tape *t, size_t at) {
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
    sis__kernels_best()->gemm(p->batch, hidden, gh, gates, gh, 1, t->rec, t->dh, hidden);
}

/* dst (gh, width) += gates^T . rows, dx += gates . w: one product each over all times. */
static void weights_backward(tape *t) {
    const sis__recurrent *p = t->a.p;
    size_t gh = 4 * p->hidden, rows = p->seq * p->batch;
    const sis__step *s = t->a.s;
    sis__run *r = t->a.r;
    float *dw = sis__din(s, r, SIS__W), *dr = sis__din(s, r, SIS__R), *db = sis__din(s, r, SIS__B);
    if (dr)
        sis__product_add(&(sis__product){gh,
                                         p->hidden,
                                         rows,
                                         {t->gates, 1, gh},
                                         {t->h, p->hidden, 1},
                                         1.0f,
                                         dr + t->a.d * gh * p->hidden,
                                         p->hidden},
                         t->scratch);
    float *one = db ? db + t->a.d * 2 * gh : NULL, *other = db ? one + gh : NULL;
    for (size_t i = 0; db && i < rows; i++)
        for (size_t j = 0; j < gh; j++) {
            one[j] += t->gates[i * gh + j];
            other[j] += t->gates[i * gh + j];
        }
    sis__pass_inputs_backward(&t->a, t->gates, dw, sis__din(s, r, SIS__X), t->scratch);
}

static void start_backward(tape *t) {
    sis__pass_start_backward(&t->a, SIS__H0, t->a.p->h_batch, t->dh);
    sis__pass_start_backward(&t->a, SIS__C0, t->a.p->c_batch, t->dc);
}

static int lstm_backward(const sis__step *s, sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    for (size_t d = 0; d < p->directions; d++) {
        tape t;
        tape_begin(&t, s, r, d);
        receive_final(&t);
        for (size_t k = p->seq; k-- > 0;)
            step_backward(&t, time_at(&t.a, k));
        weights_backward(&t);
        start_backward(&t);
    }
    return SIS_OK;
}

const sis__op sis__op_lstm = {
    3, 8, lstm_shape, lstm_forward, lstm_backward, .family = SIS__RECURRENT};
