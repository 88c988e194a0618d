/* SPDX-License-Identifier: MIT
 *
 * GRU. Per step: z, r = sigmoid(x . w^T + h . r^T + b); candidate n = tanh(xn + (r h) . rn^T + b),
 * or with linear_before_reset tanh(xn + r (h . rn^T + rb)); h = z h + (1 - z) n.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/ops/ops.h"
#include "net/ops/recurrent.h"

static int gru_shape(sis__shape_ctx *c) {
    return sis__recurrent_shape(c, 3);
}

/* Recurrent bias of the candidate if it is reset together with h, else NULL. */
static const float *reset_bias(const sis__pass *a) {
    const float *b = sis__in(a->s, a->r, SIS__B);
    return b && a->p->linear_before_reset ? b + (a->d * 6 + 5) * a->p->hidden : NULL;
}

void sis__gru_gates(const sis__gru *g, size_t rows, const float *h, float *gates, float *term) {
    const sis__kernels *kn = sis__kernels_best();
    size_t hidden = g->hidden, gh = 3 * hidden;
    kn->gemm(rows, 2 * hidden, hidden, h, hidden, 1, g->rz, gates, gh);
    for (size_t b = 0; b < rows; b++) {
        const float *r = gates + b * gh + hidden, *before = h + b * hidden;
        float *to = term + b * hidden;
        kn->gates(gates + b * gh, 2 * hidden);
        for (size_t j = 0; j < hidden; j++)
            to[j] = g->linear_before_reset ? (g->rb ? g->rb[j] : 0) : r[j] * before[j];
    }
    if (!g->linear_before_reset) {
        kn->gemm(rows, hidden, hidden, term, hidden, 1, g->rh, gates + 2 * hidden, gh);
        return;
    }
    kn->gemm(rows, hidden, hidden, h, hidden, 1, g->rh, term, hidden);
    for (size_t b = 0; b < rows; b++) {
        float *row = gates + b * gh;
        for (size_t j = 0; j < hidden; j++)
            row[2 * hidden + j] += row[hidden + j] * term[b * hidden + j];
    }
}

/* All rows at time t. gates (rows, 3*hidden): projection in; z, r and candidate (before tanh) out.
 * term (rows, hidden): with linear_before_reset h . rn^T + rb, else r h; h is updated. */
static void record_step(const sis__pass *a, size_t t, float *gates, float *term) {
    const sis__recurrent *p = a->p;
    const sis__kernels *kn = sis__kernels_best();
    size_t hidden = p->hidden, gh = 3 * hidden;
    sis__gru g = {hidden, p->linear_before_reset, a->rz, a->rh, reset_bias(a)};
    sis__gru_gates(&g, a->rows, a->h, gates, term);
    for (size_t b = 0; b < a->rows; b++)
        if (sis__pass_alive(a, t, b))
            kn->gru(gates + b * gh, gates + b * gh + 2 * hidden, a->h + b * hidden,
                    a->h + b * hidden, hidden);
}

static void step(const sis__pass *a, size_t t, float *gates) {
    if (a->p->linear_before_reset) {
        sis__cell_step c = {.h = a->h, .reset_bias = reset_bias(a)};
        sis__pass_cells(a, t, gates, &c, sis__kernels_best()->gru_reset);
    } else
        record_step(a, t, gates, a->spare);
}

static int gru_forward(const sis__step *s, sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    float *final = sis__out(s, r, 1);
    for (size_t d = 0; d < p->directions; d++) {
        sis__pass a;
        sis__pass_begin(&a, s, r, d);
        sis__pass_run(&a, step);
        for (size_t b = 0; final && b < p->batch; b++)
            memcpy(final + sis__row_state(p, d, b) * p->hidden, a.h + b * p->hidden,
                   p->hidden * sizeof *final);
    }
    return SIS_OK;
}

/* ---- Gradient: forward again with a record, then backpropagation through time ------------------ */

/* gates: z, r, candidate before tanh. more: see record_step(), then the gradient of the factor of
 * rn. */
static void record(sis__tape *t) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, state = p->batch * hidden;
    const float *r = sis__in(t->a.s, t->a.r, SIS__R) + t->a.d * 3 * hidden * hidden;
    t->gates = sis__pass_take(&t->scratch, p->seq * 3 * state);
    t->h = sis__pass_take(&t->scratch, p->seq * state);
    t->more = sis__pass_take(&t->scratch, p->seq * state);
    t->back = sis__pass_pack_back(&t->scratch, r, 2 * hidden, hidden);
    t->back_n = sis__pass_pack_back(&t->scratch, r + 2 * hidden * hidden, hidden, hidden);
    sis__pass_project(&t->a, 0, p->seq, t->gates);
    for (size_t k = 0; k < p->seq; k++) {
        size_t at = sis__pass_time(&t->a, k);
        memcpy(t->h + at * state, t->a.h, state * sizeof(float));
        record_step(&t->a, at, t->gates + at * 3 * state, t->more + at * state);
    }
}

/* From dh of the new state: gradients of z and of the candidate before activation, and part of the
 * old dh. */
static void cell_backward(sis__tape *t, size_t at, size_t b) {
    size_t hidden = t->a.p->hidden, row = at * t->a.p->batch + b;
    float *g = t->gates + row * 3 * hidden, *dh = t->dh + b * hidden, *dn = t->dc + b * hidden;
    for (size_t j = 0; j < hidden; j++) {
        float z = g[j], n = tanhf(g[2 * hidden + j]), h = t->h[row * hidden + j];
        dn[j] = dh[j] * (1 - z) * (1 - n * n);
        g[j] = dh[j] * (h - n) * z * (1 - z);
        dh[j] *= z;
    }
}

static void step_backward(sis__tape *t, size_t at) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, gh = 3 * hidden, n = p->batch;
    const float *dy = sis__dout(t->a.s, t->a.r, 0);
    const sis__kernels *kn = sis__kernels_best();
    float *gates = t->gates + at * n * gh, *h = t->h + at * n * hidden;
    float *term = t->more + at * n * hidden, *back = t->a.spare;
    for (size_t b = 0; b < n; b++) {
        if (!sis__pass_alive(&t->a, at, b)) {
            memset(gates + b * gh, 0, gh * sizeof *gates);
            memset(t->dc + b * hidden, 0, hidden * sizeof *t->dc);
            continue;
        }
        for (size_t j = 0; dy && j < hidden; j++)
            t->dh[b * hidden + j] += dy[sis__row_y(p, at, t->a.d, b) * hidden + j];
        cell_backward(t, at, b);
    }
    memset(back, 0, n * hidden * sizeof *back);
    if (!p->linear_before_reset) /* back = gradient of r h */
        kn->gemm(n, hidden, hidden, t->dc, hidden, 1, t->back_n, back, hidden);
    for (size_t i = 0; i < n * hidden; i++) {
        float *g = gates + i / hidden * gh + i % hidden, r = g[hidden], dn = t->dc[i];
        float dr = p->linear_before_reset ? dn * term[i] : back[i] * h[i];
        if (!sis__pass_alive(&t->a, at, i / hidden))
            continue;
        if (!p->linear_before_reset)
            t->dh[i] += back[i] * r;
        back[i] = dn * r; /* with linear_before_reset: gradient of h . rn^T + rb */
        g[hidden] = dr * r * (1 - r);
        g[2 * hidden] = dn;
    }
    if (p->linear_before_reset) {
        memcpy(term, back, n * hidden * sizeof *term);
        kn->gemm(n, hidden, hidden, back, hidden, 1, t->back_n, t->dh, hidden);
    }
    kn->gemm(n, hidden, 2 * hidden, gates, gh, 1, t->back, t->dh, hidden);
}

static void recurrence_backward(sis__tape *t, float *dr) {
    const sis__recurrent *p = t->a.p;
    size_t hidden = p->hidden, gh = 3 * hidden, rows = p->seq * p->batch;
    sis__operand early = {t->gates, 1, gh}, late = {t->gates + 2 * hidden, 1, gh};
    sis__operand before = {t->h, hidden, 1}, term = {t->more, hidden, 1};
    sis__product_add(&(sis__product){2 * hidden, hidden, rows, early, before, 1.0f, dr, hidden},
                     t->scratch);
    if (p->linear_before_reset) { /* more holds the gradient, h the other factor */
        late = (sis__operand){t->more, 1, hidden};
        term = before;
    }
    sis__product_add(
        &(sis__product){hidden, hidden, rows, late, term, 1.0f, dr + 2 * hidden * hidden, hidden},
        t->scratch);
}

static int gru_backward(const sis__step *s, sis__run *r) {
    static const sis__cell_gradient cell = {record, step_backward, recurrence_backward};
    return sis__recurrent_backward(s, r, &cell);
}

const sis__op sis__op_gru = {3, 6, gru_shape, gru_forward, gru_backward, .family = SIS__RECURRENT};
