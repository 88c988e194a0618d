/* SPDX-License-Identifier: MIT
 *
 * One LSTM or GRU layer in one direction: reads its weights from a step of the plan, and computes
 * one time step for many rows, with the kernels of a full pass.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/ops/recurrent.h"
#include "net/walk/recurrent.h"

/* Is an input omitted or constant? */
static int is_fixed(const sis__step *s, const sis__run *r, size_t i) {
    const sis__tensor *t = sis__tin(s, r, i);
    return !t || t->data != NULL;
}

/* Do all rows have the full length? */
static int is_whole(const sis__step *s, const sis__run *r) {
    const sis__tensor *t = sis__tin(s, r, SIS__LENGTHS);
    return !t || (t->data && *(const int64_t *)t->data >= (int64_t)s->p.recurrent.seq);
}

static int is_plain(const sis__step *s, const sis__run *r) {
    const sis__recurrent *p = &s->p.recurrent;
    for (size_t i = SIS__W; i < s->n_inputs; i++)
        if (!is_fixed(s, r, i))
            return 0;
    return p->batch == 1 && p->w_packed[0] && p->r_packed[0] && is_whole(s, r);
}

void sis__rnn_cell_release(sis__rnn_cell *c) {
    free(c->bias);
    free(c->start);
    free(c->reset_bias);
    *c = (sis__rnn_cell){0};
}

int sis__rnn_cell_init(sis__rnn_cell *c, const sis__step *s, sis__run *r, size_t direction) {
    *c = (sis__rnn_cell){0};
    if (!sis__is(s, SIS__RECURRENT) || !is_plain(s, r))
        return SIS_E_UNSUPPORTED;
    const sis__recurrent *p = &s->p.recurrent;
    sis__pass a;
    sis__pass_begin(&a, s, r, direction);
    *c = (sis__rnn_cell){.gates = p->gates,
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
        sis__rnn_cell_release(c);
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

enum { PROJECTED = 96 }; /* rows at a time */

void sis__rnn_cell_project(const sis__rnn_cell *c, size_t n, const float *x, float *gates) {
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

void sis__rnn_cell_project_half(const sis__rnn_cell *c, size_t half, const float *zeros, size_t n,
                                const float *const *h, float *const *to) {
    sis__kernels_best()->gemm_placed(&(sis__placed_product){n, c->width, c->hidden, h, NULL,
                                                            half == 0 ? c->w : c->w_late,
                                                            half == 0 ? c->bias : zeros, to});
}

/* One time step of a GRU that resets before the product. */
static void early_reset_step(const sis__rnn_cell *c, const sis__cell_step *s, float *gates) {
    sis__gru g = {c->hidden, 0, c->rz, c->rh, c->reset_bias};
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

void sis__rnn_cell_step(const sis__rnn_cell *c, sis__cell_step *s, float *gates) {
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
