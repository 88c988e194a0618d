/* SPDX-License-Identifier: MIT
 *
 * LSTM. Per step: gates i o f g = activation(x . w^T + h . r^T + b); c = f c + i g; h = o tanh(c).
 * Peepholes, clipping and coupled gates take a plain loop; everything else the kernel.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels.h"
#include "net/ops.h"
#include "net/product.h"
#include "net/recurrent.h"

static int lstm_shape(sis__cx *c) {
    const sis__tensor *p = sis__cx_input(c, SIS__P);
    int error = sis__recurrent_shape(c, 4);
    if (!error && p &&
        (p->dtype != SIS__F32 ||
         p->count != 3 * c->step->p.recurrent.directions * c->step->p.recurrent.hidden))
        error = sis__cx_fail(c, SIS_E_FORMAT, "peephole weights that do not fit");
    return error;
}

/* ---- Cells --------------------------------------------------------------------------------- */

static int is_plain(const sis__pass *a) {
    return !sis__in(a->s, a->r, SIS__P) && a->p->clip == 0 && !a->p->input_forget;
}

static float bounded(float v, float clip) {
    return clip > 0 ? (v > clip ? clip : v < -clip ? -clip : v) : v;
}

static float squash(float v, int hyperbolic) {
    const sis__kernels *kn = sis__kernels_best();
    (hyperbolic ? kn->tanh : kn->sigmoid)(&v, &v, 1);
    return v;
}

static void slow_cell(const sis__pass *a, float *gates, float *c, float *h) {
    const sis__recurrent *p = a->p;
    const float *peep = sis__in(a->s, a->r, SIS__P);
    peep = peep ? peep + a->d * 3 * p->hidden : NULL;
    for (size_t j = 0; j < p->hidden; j++) {
        float *i = gates + j, *o = i + p->hidden, *f = o + p->hidden, *g = f + p->hidden;
        *i += peep ? peep[j] * c[j] : 0;
        *f += peep ? peep[2 * p->hidden + j] * c[j] : 0;
        *i = squash(bounded(*i, p->clip), 0);
        *f = p->input_forget ? 1 - *i : squash(bounded(*f, p->clip), 0);
        *g = squash(bounded(*g, p->clip), 1);
        c[j] = *f * c[j] + *i * *g;
        *o = squash(bounded(*o + (peep ? peep[p->hidden + j] * c[j] : 0), p->clip), 0);
        h[j] = *o * squash(c[j], 1);
    }
}

/* All rows at time t; gates (batch, 4*hidden) hold the projection and receive the activations. */
static void step(const sis__pass *a, size_t t, float *gates) {
    const sis__recurrent *p = a->p;
    const sis__kernels *kn = sis__kernels_best();
    size_t gh = 4 * p->hidden;
    kn->gemm(p->batch, gh, p->hidden, a->h, p->hidden, 1, a->rz, gates, gh);
    for (size_t b = 0; b < p->batch; b++) {
        if (!sis__pass_alive(a, t, b))
            continue;
        if (is_plain(a))
            kn->lstm(gates + b * gh, a->c + b * p->hidden, a->h + b * p->hidden, p->hidden);
        else
            slow_cell(a, gates + b * gh, a->c + b * p->hidden, a->h + b * p->hidden);
    }
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

static int lstm_forward(const sis__step *s, sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    size_t block = sis__pass_block(p), gh = 4 * p->hidden;
    for (size_t d = 0; d < p->directions; d++) {
        sis__pass a;
        sis__pass_begin(&a, s, r, d);
        for (size_t done = 0; done < p->seq; done += block) {
            size_t n = p->seq - done < block ? p->seq - done : block;
            size_t from = a.backwards ? p->seq - done - n : done;
            sis__pass_project(&a, from, n, a.gates);
            for (size_t k = 0; k < n; k++) {
                size_t i = a.backwards ? n - 1 - k : k;
                step(&a, from + i, a.gates + i * p->batch * gh);
                sis__pass_emit(&a, from + i);
            }
        }
        put_states(&a);
    }
    return SIS_OK;
}

/* ---- Gradient: forward again keeping everything, then back through time ------------------------
 */

typedef struct {
    sis__pass a;
    float *gates;   /* (seq, batch, 4*hidden) activations, then gradients of pre-activations */
    float *h, *c;   /* (seq, batch, hidden) states before each time */
    float *dh, *dc; /* (batch, hidden) */
    float *back;    /* r packed: dh += dgates . r */
    char *scratch;
} tape;

static float *take(char **free, size_t floats) {
    float *p = (float *)(void *)*free;
    *free += (floats + 15) / 16 * 16 * sizeof(float);
    return p;
}

static size_t time_at(const tape *t, size_t k) {
    return t->a.backwards ? t->a.p->seq - 1 - k : k;
}

static void record(tape *t, const sis__step *s, sis__run *r, size_t d) {
    const sis__recurrent *p = &s->p.recurrent;
    const sis__kernels *kn = sis__kernels_best();
    size_t state = p->batch * p->hidden;
    sis__pass_begin(&t->a, s, r, d);
    char *free = t->a.free;
    t->gates = take(&free, p->seq * 4 * state);
    t->h = take(&free, p->seq * state);
    t->c = take(&free, p->seq * state);
    t->dh = take(&free, state);
    t->dc = take(&free, state);
    t->back = take(&free, sis__packed_size(kn, 4 * p->hidden, p->hidden));
    t->scratch = free;
    sis__pack(kn, 4 * p->hidden, p->hidden, sis__in(s, r, SIS__R) + d * 4 * p->hidden * p->hidden,
              p->hidden, 1, t->back);
    sis__pass_project(&t->a, 0, p->seq, t->gates);
    for (size_t k = 0; k < p->seq; k++) {
        size_t at = time_at(t, k);
        memcpy(t->h + at * state, t->a.h, state * sizeof(float));
        memcpy(t->c + at * state, t->a.c, state * sizeof(float));
        step(&t->a, at, t->gates + at * 4 * state);
    }
}

/* Gradients that arrive from outside: final states first, then y at each time. */
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

/* One cell backwards: dh, dc of the new state -> dc of the old one and gates' gradients. */
static void cell_backward(const tape *t, size_t at, size_t b, float *dh, float *dc) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, row = at * p->batch + b;
    float *g = t->gates + row * 4 * hidden;
    const float *before = t->c + row * hidden;
    for (size_t j = 0; j < hidden; j++) {
        float i = g[j], o = g[hidden + j], f = g[2 * hidden + j], n = g[3 * hidden + j];
        float tc = tanhf(f * before[j] + i * n), d = dc[j] + dh[j] * o * (1 - tc * tc);
        g[j] = d * n * i * (1 - i);
        g[hidden + j] = dh[j] * tc * o * (1 - o);
        g[2 * hidden + j] = d * before[j] * f * (1 - f);
        g[3 * hidden + j] = d * i * (1 - n * n);
        dc[j] = d * f;
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
        if (!sis__pass_alive(&t->a, at, b)) { /* the state went through unchanged */
            memset(gates + b * gh, 0, gh * sizeof *gates);
            continue;
        }
        for (size_t j = 0; dy && j < hidden; j++)
            dh[j] += dy[sis__row_y(p, at, t->a.d, b) * hidden + j];
        cell_backward(t, at, b, dh, t->dc + b * hidden);
    }
    sis__kernels_best()->gemm(p->batch, hidden, gh, gates, gh, 1, t->back, t->dh, hidden);
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
    for (size_t i = 0; db && i < rows * gh; i++) {
        db[t->a.d * 2 * gh + i % gh] += t->gates[i];
        db[t->a.d * 2 * gh + gh + i % gh] += t->gates[i];
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
        record(&t, s, r, d);
        if (!is_plain(&t.a))
            return sis__fail(SIS_E_UNSUPPORTED, "with peepholes, clipping or coupled gates");
        receive_final(&t);
        for (size_t k = p->seq; k-- > 0;)
            step_backward(&t, time_at(&t, k));
        weights_backward(&t);
        start_backward(&t);
    }
    return SIS_OK;
}

const sis__op sis__op_lstm = {3, 8, lstm_shape, lstm_forward, lstm_backward, 0};
