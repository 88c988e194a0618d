/* SPDX-License-Identifier: MIT
 *
 * One recurrent layer for a walk. Weights, bias and initial states are what the operator itself
 * would start with (sis__pass_begin); steps call the same kernels in the same order, so that a
 * row's states are the operator's to the bit.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"
#include "net/ops/recurrent.h"
#include "net/walk/recurrent.h"

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
           !sis__tin(s, r, SIS__P) && is_whole(s, r);
}

int sis__cell_init(sis__cell *c, const sis__step *s, sis__run *r, size_t direction) {
    *c = (sis__cell){0};
    if ((s->op != SIS__OP_LSTM && s->op != SIS__OP_GRU) || !is_plain(s, r))
        return SIS_E_UNSUPPORTED;
    const sis__recurrent *p = &s->p.recurrent;
    sis__pass a;
    sis__pass_begin(&a, s, r, direction);
    *c = (sis__cell){.gates = p->gates,
                     .input = p->input,
                     .hidden = p->hidden,
                     .width = p->gates * p->hidden,
                     .state = p->gates == 4 ? 2 * p->hidden : p->hidden,
                     .linear_before_reset = p->linear_before_reset,
                     .w = a.w,
                     .rz = a.rz,
                     .rh = a.rh};
    c->bias = (float *)sis__copy(a.bias, c->width, sizeof *c->bias);
    c->start = SIS_NEW_RAW(float, c->state);
    c->reset_bias = SIS_NEW(float, c->hidden);
    if (!c->bias || !c->start || !c->reset_bias) {
        sis__cell_release(c);
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

void sis__cell_release(sis__cell *c) {
    free(c->bias);
    free(c->start);
    free(c->reset_bias);
    *c = (sis__cell){0};
}

void sis__cell_project(const sis__cell *c, size_t n, const float *x, float *gates) {
    for (size_t i = 0; i < n; i++)
        memcpy(gates + i * c->width, c->bias, c->width * sizeof *gates);
    sis__kernels_best()->gemm(n, c->width, c->input, x, c->input, 1, c->w, gates, c->width);
}

static void lstm_step(const sis__cell *c, size_t n, float *gates, float *h, float *state) {
    const sis__kernels *kn = sis__kernels_best();
    kn->gemm(n, c->width, c->hidden, h, c->hidden, 1, c->rz, gates, c->width);
    for (size_t i = 0; i < n; i++)
        kn->lstm(gates + i * c->width, state + i * c->hidden, h + i * c->hidden, c->hidden);
}

void sis__cell_step(const sis__cell *c, size_t n, float *gates, float *h, float *state,
                    float *spare) {
    if (c->gates == 4) {
        lstm_step(c, n, gates, h, state);
        return;
    }
    sis__gru g = {c->hidden, c->linear_before_reset, c->rz, c->rh, c->reset_bias};
    sis__gru_gates(&g, n, h, gates, spare);
    for (size_t i = 0; i < n; i++)
        sis__kernels_best()->gru(gates + i * c->width, gates + i * c->width + 2 * c->hidden,
                                 h + i * c->hidden, h + i * c->hidden, c->hidden);
}
