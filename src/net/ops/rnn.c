/* SPDX-License-Identifier: MIT
 *
 * RNN: h = f(x . w^T + h . r^T + b) at each time. x (seq, batch, input), or (batch, seq, input) with
 * layout 1; w (directions, hidden, input), r (directions, hidden, hidden), b (directions, 2 hidden).
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/ops/recurrent.h"

enum { X, W, R, B, LENGTHS, H0 };

typedef struct {
    size_t seq, batch, input, hidden, directions;
    int reverse, batch_first;
    const sis__squash *squash; /* of each direction */
    float clip;
} rnn;

static void check_shapes(sis__cx *c, const rnn *p) {
    const sis__tensor *w = sis__cx_input(c, W), *r = sis__cx_input(c, R);
    const sis__tensor *b = sis__cx_input(c, B), *n = sis__cx_input(c, LENGTHS);
    const sis__tensor *h = sis__cx_input(c, H0);
    if (w->count != p->directions * p->hidden * p->input ||
        r->count != p->directions * p->hidden * p->hidden ||
        (b && (b->dtype != SIS__F32 || b->count != p->directions * 2 * p->hidden)) ||
        (n && (n->dtype != SIS__I64 || n->count != p->batch)) ||
        (h && (h->dtype != SIS__F32 || h->count != p->directions * p->batch * p->hidden)))
        sis__cx_fail(c, SIS_E_FORMAT, "weights or states that do not fit %zu inputs, %zu states",
                     p->input, p->hidden);
}

static int rnn_shape(sis__cx *c) {
    static const char *const names[] = {"forward", "reverse", "bidirectional"};
    const sis__tensor *x = sis__cx_input(c, X), *w = sis__cx_input(c, W);
    rnn *p = (rnn *)sis__cx_own(c, sizeof *p);
    int direction = sis__attr_choice(c, "direction", names, 3);
    int layout = sis__attr_int(c, "layout", 0) != 0;
    float clip = sis__attr_float(c, "clip", 0);
    sis__attr_find(c, "hidden_size");
    sis__attr_find(c, "output_sequence");
    for (size_t i = 0; i < 3; i++)
        sis__cx_float(c, i);
    if (x->rank != 3 || w->rank != 3)
        sis__cx_fail(c, SIS_E_FORMAT, "an input or weights without three axes");
    if (c->error)
        return c->error;
    *p = (rnn){.seq = x->dims[layout], .batch = x->dims[!layout], .input = x->dims[2]};
    p->hidden = w->dims[1];
    p->directions = direction == 2 ? 2 : 1;
    p->reverse = direction == 1;
    p->batch_first = layout;
    p->clip = clip;
    static const char *const usual[] = {"Tanh"};
    p->squash = sis__squash_read(c, usual, 1, p->directions);
    check_shapes(c, p);
    size_t y[4] = {p->seq, p->directions, p->batch, p->hidden};
    size_t y_first[4] = {p->batch, p->seq, p->directions, p->hidden};
    size_t h[3] = {p->directions, p->batch, p->hidden};
    size_t h_first[3] = {p->batch, p->directions, p->hidden};
    sis__cx_output(c, 0, SIS__F32, 4, layout ? y_first : y);
    sis__cx_output(c, 1, SIS__F32, 3, layout ? h_first : h);
    c->step->scratch = 2 * p->hidden * sizeof(float) + 64;
    c->step->flops = 2.0 * (double)(p->seq * p->batch * p->directions) * (double)p->hidden *
                     (double)(p->input + p->hidden);
    return c->error;
}

/* h of one row at one time from h before it. */
static void step(const sis__step *s, const sis__run *r, size_t d, const float *x,
                 const float *before, float *h) {
    const rnn *p = (const rnn *)s->p.own;
    const float *w = sis__in(s, r, W) + d * p->hidden * p->input;
    const float *u = sis__in(s, r, R) + d * p->hidden * p->hidden, *b = sis__in(s, r, B);
    b = b ? b + d * 2 * p->hidden : NULL;
    for (size_t j = 0; j < p->hidden; j++) {
        double sum = b ? (double)b[j] + (double)b[p->hidden + j] : 0;
        for (size_t i = 0; i < p->input; i++)
            sum += (double)x[i] * (double)w[j * p->input + i];
        for (size_t i = 0; i < p->hidden; i++)
            sum += (double)before[i] * (double)u[j * p->hidden + i];
        h[j] =
            sis__squash_at(p->squash ? &p->squash[d] : &sis__squash_usual[1], p->clip, (float)sum);
    }
}

/* Where the state of a row in one direction lies: at a time, or (SIZE_MAX) in the end. */
static size_t place(const rnn *p, size_t t, size_t d, size_t b) {
    if (t == SIZE_MAX)
        return (p->batch_first ? b * p->directions + d : d * p->batch + b) * p->hidden;
    return (p->batch_first ? (b * p->seq + t) * p->directions + d
                           : (t * p->directions + d) * p->batch + b) *
           p->hidden;
}

static void run_row(const sis__step *s, sis__run *r, size_t d, size_t b) {
    const rnn *p = (const rnn *)s->p.own;
    float *h = (float *)(void *)r->scratch, *next = h + p->hidden;
    const int64_t *lengths = (const int64_t *)(const void *)sis__in(s, r, LENGTHS);
    size_t n = lengths ? (lengths[b] < 0 ? 0 : (size_t)lengths[b]) : p->seq;
    int back = p->reverse || d == 1;
    n = n < p->seq ? n : p->seq;
    memset(h, 0, p->hidden * sizeof *h);
    if (sis__in(s, r, H0))
        memcpy(h, sis__in(s, r, H0) + place(p, SIZE_MAX, d, b), p->hidden * sizeof *h);
    for (size_t k = 0; k < n; k++) {
        size_t t = back ? n - 1 - k : k;
        size_t at = p->batch_first ? b * p->seq + t : t * p->batch + b;
        step(s, r, d, sis__in(s, r, X) + at * p->input, h, next);
        memcpy(h, next, p->hidden * sizeof *h);
        if (sis__out(s, r, 0))
            memcpy(sis__out(s, r, 0) + place(p, t, d, b), h, p->hidden * sizeof *h);
    }
    for (size_t t = n; sis__out(s, r, 0) && t < p->seq; t++)
        memset(sis__out(s, r, 0) + place(p, t, d, b), 0, p->hidden * sizeof *h);
    if (sis__out(s, r, 1))
        memcpy(sis__out(s, r, 1) + place(p, SIZE_MAX, d, b), h, p->hidden * sizeof *h);
}

static int rnn_forward(const sis__step *s, sis__run *r) {
    const rnn *p = (const rnn *)s->p.own;
    for (size_t d = 0; d < p->directions; d++)
        for (size_t b = 0; b < p->batch; b++)
            run_row(s, r, d, b);
    return SIS_OK;
}

const sis__op sis__op_rnn = {3, 6, rnn_shape, rnn_forward, sis__no_gradient, 0, SIS__MIXES};
