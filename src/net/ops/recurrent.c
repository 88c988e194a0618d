/* SPDX-License-Identifier: MIT
 *
 * The common part of LSTM and GRU. See recurrent.h.
 */
#include "net/ops/recurrent.h"

#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/kernels/product.h"
#include "net/onnx/proto.h"
#include "net/ops/ops.h"

/* ---- Attributes ---------------------------------------------------------------------------- */

/* Accept only the default activations; others run in ONNX Runtime. */
static void check_activations(sis__shape_ctx *c, const sis__recurrent *p) {
    static const char *const usual[] = {"Sigmoid", "Tanh", "Tanh"};
    const Sis__Onnx__Attribute *list = sis__attr_find(c, "activations");
    size_t each = p->gates == 4 ? 3 : 2, n;
    sis__attr_floats(c, "activation_alpha", &n); /* the default activations have no parameters */
    sis__attr_floats(c, "activation_beta", &n);
    for (size_t i = 0; list && i < list->n_strings; i++) {
        const char *name = (const char *)list->strings[i].data, *own = usual[i % each];
        size_t length = list->strings[i].len;
        if (strlen(own) != length || !sis__same_start(own, name, length))
            sis__ctx_fail(c, SIS_E_UNSUPPORTED, "activation %.*s", (int)(length < 40 ? length : 40),
                          name);
    }
}

static void read_direction(sis__shape_ctx *c, sis__recurrent *p) {
    static const char *const names[] = {"forward", "reverse", "bidirectional"};
    int direction = sis__attr_choice(c, "direction", names, 3);
    p->directions = direction == 2 ? 2 : 1;
    p->reverse = direction == 1;
}

static int read_attributes(sis__shape_ctx *c, sis__recurrent *p) {
    int64_t hidden = 0, layout = 0, linear = 0;
    read_direction(c, p);
    hidden = sis__attr_int(c, "hidden_size", 0);
    layout = sis__attr_int(c, "layout", 0);
    if (sis__attr_float(c, "clip", 0.0f) != 0)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "clipped gates");
    if (p->gates == 3)
        linear = sis__attr_int(c, "linear_before_reset", 0);
    if (p->gates == 4 && sis__attr_int(c, "input_forget", 0))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "coupled gates");
    sis__attr_find(c, "output_sequence"); /* old versions; an output is computed if it has a name */
    check_activations(c, p);
    p->batch_first = layout != 0;
    p->linear_before_reset = linear != 0;
    if (hidden && (hidden < 0 || (size_t)hidden != p->hidden))
        sis__ctx_fail(c, SIS_E_FORMAT, "hidden_size %lld, but weights for %zu", (long long)hidden,
                      p->hidden);
    return c->error;
}

/* ---- Shapes -------------------------------------------------------------------------------- */

static int has_shape(const sis__tensor *t, size_t a, size_t b, size_t d) {
    return t->rank == 3 && t->dims[0] == a && t->dims[1] == b && t->dims[2] == d;
}

/* An initial state of `rows` rows: as many as the batch, or one for all. */
static int check_state(sis__shape_ctx *c, size_t i, const sis__recurrent *p, size_t *rows) {
    const sis__tensor *t = sis__ctx_input(c, i);
    *rows = p->batch;
    if (!t)
        return c->error;
    if (t->dtype != SIS__F32 || t->rank != 3)
        return sis__ctx_fail(c, SIS_E_FORMAT,
                             "an initial state that is not (directions, batch, "
                             "hidden) floats");
    *rows = t->dims[p->batch_first ? 0 : 1];
    if ((*rows != p->batch && *rows != 1) || t->dims[2] != p->hidden ||
        t->dims[p->batch_first ? 1 : 0] != p->directions)
        return sis__ctx_fail(c, SIS_E_FORMAT, "an initial state of another shape");
    return c->error;
}

static int check_weights(sis__shape_ctx *c, const sis__recurrent *p) {
    const sis__tensor *w = sis__ctx_input(c, SIS__W), *r = sis__ctx_input(c, SIS__R);
    const sis__tensor *b = sis__ctx_input(c, SIS__B), *n = sis__ctx_input(c, SIS__LENGTHS);
    size_t gh = p->gates * p->hidden;
    if (!has_shape(w, p->directions, gh, p->input) || !has_shape(r, p->directions, gh, p->hidden))
        return sis__ctx_fail(c, SIS_E_FORMAT, "weights that do not fit %zu inputs, %zu states",
                             p->input, p->hidden);
    if (b && (b->dtype != SIS__F32 || b->count != p->directions * 2 * gh))
        return sis__ctx_fail(c, SIS_E_FORMAT, "a bias that does not fit");
    if (n && (n->dtype != SIS__I64 || n->count != p->batch))
        return sis__ctx_fail(c, SIS_E_FORMAT, "sequence_lens must be %zu integers", p->batch);
    return c->error;
}

static int set_outputs(sis__shape_ctx *c, const sis__recurrent *p) {
    size_t y[4] = {p->seq, p->directions, p->batch, p->hidden};
    size_t y_first[4] = {p->batch, p->seq, p->directions, p->hidden};
    size_t state[3] = {p->directions, p->batch, p->hidden};
    size_t state_first[3] = {p->batch, p->directions, p->hidden};
    sis__ctx_output(c, 0, SIS__F32, 4, p->batch_first ? y_first : y);
    for (size_t i = 1; i < p->gates - 1; i++) /* LSTM has two states */
        sis__ctx_output(c, i, SIS__F32, 3, p->batch_first ? state_first : state);
    return c->error;
}

/* Pack a transposed (n, k) matrix with rows `row` apart. */
static const float *pack_part(sis__shape_ctx *c, const float *at, size_t n, size_t k, size_t row) {
    return sis__ctx_pack(
        c, &(sis__matrix){.at = at, .k = k, .n = n, .row = row, .transposed = 1, .alpha = 1.0f});
}

static int pack_weights(sis__shape_ctx *c, sis__recurrent *p) {
    const float *w = (const float *)sis__ctx_constant(c, SIS__W);
    const float *r = (const float *)sis__ctx_constant(c, SIS__R);
    size_t gh = p->gates * p->hidden, early = p->gates == 4 ? gh : 2 * p->hidden;
    int halves = p->directions == 2 && p->input == 2 * p->hidden && p->hidden <= SIS__PIECE;
    for (size_t d = 0; d < p->directions; d++) {
        const float *rd = r ? r + d * gh * p->hidden : NULL;
        const float *wd = w ? w + d * gh * p->input : NULL;
        if (wd)
            p->w_packed[d] = pack_part(c, wd, gh, halves ? p->hidden : p->input, p->input);
        if (wd && halves)
            p->w_late[d] = pack_part(c, wd + p->hidden, gh, p->hidden, p->input);
        if (rd)
            p->r_packed[d] = pack_part(c, rd, early, p->hidden, p->hidden);
        if (rd && early < gh)
            p->rh_packed[d] =
                pack_part(c, rd + early * p->hidden, gh - early, p->hidden, p->hidden);
    }
    return c->error;
}

/* Number of times in a block. */
static size_t pass_block(const sis__recurrent *p) {
    size_t n = p->batch ? 256 / p->batch : 1;
    n = n < 1 ? 1 : n;
    return n < p->seq ? n : p->seq;
}

static size_t round_up(size_t floats) {
    return (floats + 15) / 16 * 16 * sizeof(float);
}

enum { POINTER = sizeof(void *) / 4 }; /* floats */

/* Scratch memory of a pass; in gradient plans including all that backward needs (lstm.c, gru.c). */
static size_t scratch_of(const sis__recurrent *p, int gradients) {
    size_t gh = p->gates * p->hidden, rows = p->seq * p->batch;
    size_t n = round_up(gh) + round_up(pass_block(p) * p->batch * gh) +
               5 * round_up(p->batch * p->hidden) + round_up(POINTER * p->batch) +
               round_up(sis__cell_room(sis__kernels_best(), p->gates, p->hidden));
    if (!p->w_packed[0])
        n += sis__product_scratch(p->input, gh) + 64;
    if (!p->r_packed[0])
        n += 2 * sis__product_scratch(p->hidden, gh) + 128;
    if (gradients && p->gates == 4)
        n += 2 * round_up(p->batch * p->hidden) + sis__product_scratch(gh, p->hidden) + 64 +
             sis__product_scratch(rows > gh ? rows : gh,
                                  p->input > p->hidden ? p->input : p->hidden);
    else if (gradients)
        n += 2 * sis__product_scratch(gh, p->hidden) + 128 + round_up(rows * gh) +
             3 * round_up(rows * p->hidden) + 4 * round_up(p->batch * gh) +
             sis__product_scratch(rows > gh ? rows : gh,
                                  p->input > p->hidden ? p->input : p->hidden);
    return n;
}

int sis__recurrent_shape(sis__shape_ctx *c, size_t gates) {
    const sis__tensor *x = sis__ctx_input(c, SIS__X), *r = sis__ctx_input(c, SIS__R);
    sis__recurrent *p = &c->step->p.recurrent;
    for (size_t i = 0; i < 3; i++)
        sis__ctx_float(c, i);
    if (c->error)
        return c->error;
    if (x->rank != 3 || r->rank != 3)
        return sis__ctx_fail(c, SIS_E_FORMAT, "an input or weights without three axes");
    p->gates = gates;
    p->hidden = r->dims[2];
    read_attributes(c, p);
    p->seq = p->times[0] = p->times[1] = x->dims[p->batch_first ? 1 : 0];
    p->batch = x->dims[p->batch_first ? 0 : 1];
    p->input = x->dims[2];
    check_weights(c, p);
    check_state(c, SIS__H0, p, &p->h_batch);
    if (gates == 4)
        check_state(c, SIS__C0, p, &p->c_batch);
    set_outputs(c, p);
    pack_weights(c, p);
    c->step->flops = 2.0 * (double)p->seq * (double)p->batch * (double)p->directions *
                     (double)(gates * p->hidden) * (double)(p->input + p->hidden);
    double rows = (double)p->batch * (double)(c->plan->gradients ? p->seq + 8 : 8);
    if (rows * (double)(gates * p->hidden + p->input) > 0x1p30)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a sequence too long for memory");
    if (!c->error)
        c->step->scratch = scratch_of(p, c->plan->gradients);
    return c->error;
}

/* ---- Layout ---------------------------------------------------------------------------------- */

static size_t row_x(const sis__recurrent *p, size_t t, size_t b) {
    return p->batch_first ? b * p->seq + t : t * p->batch + b;
}

size_t sis__row_y(const sis__recurrent *p, size_t t, size_t d, size_t b) {
    return p->batch_first ? (b * p->seq + t) * p->directions + d
                          : (t * p->directions + d) * p->batch + b;
}

size_t sis__row_state(const sis__recurrent *p, size_t d, size_t b) {
    return p->batch_first ? b * p->directions + d : d * p->batch + b;
}

/* ---- One direction --------------------------------------------------------------------------- */

float *sis__pass_take(char **free, size_t floats) {
    float *p = (float *)(void *)*free;
    *free += round_up(floats);
    return p;
}

static const float *pack_now(char **free, const float *b, size_t k, size_t n) {
    const sis__kernels *kn = sis__kernels_best();
    float *to = sis__pass_take(free, sis__packed_size(kn, k, n));
    sis__pack(kn, k, n, b, 1, k, to);
    return to;
}

/* Add both halves of the bias; a GRU's recurrent bias of the candidate stays separate if it is
 * reset. */
static void join_bias(sis__pass *a) {
    const sis__recurrent *p = a->p;
    const float *b = sis__in(a->s, a->r, SIS__B);
    size_t gh = p->gates * p->hidden;
    for (size_t j = 0; j < gh; j++) {
        int apart = p->gates == 3 && p->linear_before_reset && j >= 2 * p->hidden;
        a->bias[j] = b ? b[a->d * 2 * gh + j] + (apart ? 0.0f : b[a->d * 2 * gh + gh + j]) : 0.0f;
    }
}

static void start_state(const sis__pass *a, size_t input, size_t rows, float *state) {
    const sis__recurrent *p = a->p;
    const float *from = sis__in(a->s, a->r, input);
    sis__recurrent one = *p;
    one.batch = rows;
    for (size_t b = 0; b < p->batch; b++) {
        if (from)
            memcpy(state + b * p->hidden,
                   from + sis__row_state(&one, a->d, rows == 1 ? 0 : b) * p->hidden,
                   p->hidden * sizeof *state);
        else
            memset(state + b * p->hidden, 0, p->hidden * sizeof *state);
    }
}

void sis__pass_begin(sis__pass *a, const sis__step *s, sis__run *r, size_t d) {
    const sis__recurrent *p = &s->p.recurrent;
    size_t gh = p->gates * p->hidden, early = p->gates == 4 ? gh : 2 * p->hidden;
    char *free = r->scratch;
    *a = (sis__pass){
        .s = s, .r = r, .p = p, .d = d, .backwards = p->reverse || d == 1, .rows = p->batch};
    a->bias = sis__pass_take(&free, gh);
    a->gates = sis__pass_take(&free, pass_block(p) * p->batch * gh);
    a->h = sis__pass_take(&free, p->batch * p->hidden);
    a->c = sis__pass_take(&free, p->batch * p->hidden);
    a->spare = sis__pass_take(&free, 3 * p->batch * p->hidden);
    a->x = (const float **)(void *)sis__pass_take(&free, POINTER * p->batch);
    a->room = sis__pass_take(&free, sis__cell_room(sis__kernels_best(), p->gates, p->hidden));
    const float *w = sis__in(s, r, SIS__W) + d * gh * p->input;
    const float *rec = sis__in(s, r, SIS__R) + d * gh * p->hidden;
    a->w = p->w_packed[d] ? p->w_packed[d] : pack_now(&free, w, p->input, gh);
    a->w_late = p->w_late[d];
    a->rz = p->r_packed[d] ? p->r_packed[d] : pack_now(&free, rec, p->hidden, early);
    if (early < gh)
        a->rh = p->rh_packed[d] ? p->rh_packed[d]
                                : pack_now(&free, rec + early * p->hidden, p->hidden, gh - early);
    a->free = free;
    join_bias(a);
    start_state(a, SIS__H0, p->h_batch, a->h);
    if (p->gates == 4)
        start_state(a, SIS__C0, p->c_batch, a->c);
    else
        memset(a->c, 0, p->batch * p->hidden * sizeof *a->c);
}

void sis__pass_project(const sis__pass *a, size_t from, size_t n, float *gates) {
    const sis__recurrent *p = a->p;
    const sis__kernels *kn = sis__kernels_best();
    const float *x = sis__in(a->s, a->r, SIS__X);
    size_t gh = p->gates * p->hidden, next = p->batch_first ? p->input : p->batch * p->input;
    size_t k = a->w_late ? p->hidden : p->input;
    int together = !p->batch_first && a->rows == p->batch;
    size_t parts = together ? 1 : a->rows, rows = together ? n * p->batch : n;
    for (size_t i = 0; i < n * a->rows; i++)
        memcpy(gates + i * gh, a->bias, gh * sizeof *gates);
    next = together ? p->input : next;
    for (size_t b = 0; b < parts; b++) {
        const float *at = x + row_x(p, from, b) * p->input;
        kn->gemm(rows, gh, k, at, next, 1, a->w, gates + b * gh, parts * gh);
        if (a->w_late)
            kn->gemm_apart(rows, gh, k, at + k, next, a->w_late, gates + b * gh, parts * gh);
    }
}

int sis__pass_alive(const sis__pass *a, size_t t, size_t b) {
    const int64_t *n = (const int64_t *)(const void *)sis__in(a->s, a->r, SIS__LENGTHS);
    return !n || (int64_t)t < n[b];
}

static int all_alive(const sis__pass *a, size_t t) {
    size_t b = 0;
    while (sis__in(a->s, a->r, SIS__LENGTHS) && b < a->rows && sis__pass_alive(a, t, b))
        b++;
    return b == a->rows || !sis__in(a->s, a->r, SIS__LENGTHS);
}

/* Rows b.. b + n - 1. */
static void some_cells(const sis__pass *a, size_t b, size_t n, const sis__cell_step *c,
                       sis__pass_kernel kernel) {
    size_t hidden = a->p->hidden, at = b * hidden;
    sis__cell_step some = *c;
    some.n = n;
    some.h += at;
    some.x += b;
    some.c += at;
    some.to += at;
    if (some.gates)
        some.gates += a->p->gates * at;
    kernel(&some);
    memcpy(a->h + at, some.to, n * hidden * sizeof *a->h);
}

void sis__pass_cells(const sis__pass *a, size_t t, const float *gates, sis__cell_step *c,
                     sis__pass_kernel kernel) {
    const sis__recurrent *p = a->p;
    c->hidden = p->hidden;
    c->r = a->rz;
    c->r_reset = a->rh;
    c->x = a->x;
    c->c = a->c;
    c->to = a->spare + p->batch * p->hidden;
    c->room = a->room;
    for (size_t b = 0; b < a->rows; b++)
        a->x[b] = gates + b * p->gates * p->hidden;
    if (all_alive(a, t))
        some_cells(a, 0, a->rows, c, kernel);
    else
        for (size_t b = 0; b < a->rows; b++)
            if (sis__pass_alive(a, t, b))
                some_cells(a, b, 1, c, kernel);
}

void sis__pass_emit(const sis__pass *a, size_t t) {
    const sis__recurrent *p = a->p;
    float *y = sis__out(a->s, a->r, 0);
    for (size_t b = 0; y && b < p->batch; b++) {
        float *to = y + sis__row_y(p, t, a->d, b) * p->hidden;
        if (sis__pass_alive(a, t, b))
            memcpy(to, a->h + (b < a->rows ? b : 0) * p->hidden, p->hidden * sizeof *y);
        else
            memset(to, 0, p->hidden * sizeof *y);
    }
}

/* ---- All times ----------------------------------------------------------------------------- */

static int alike_at(const sis__pass *a, size_t t) {
    const sis__recurrent *p = a->p;
    const float *x = sis__in(a->s, a->r, SIS__X), *first = x + row_x(p, t, 0) * p->input;
    for (size_t b = 1; b < p->batch; b++)
        if (memcmp(first, x + row_x(p, t, b) * p->input, p->input * sizeof *x) != 0 ||
            sis__pass_alive(a, t, b) != sis__pass_alive(a, t, 0))
            return 0;
    return 1;
}

static int states_alike(const sis__pass *a) {
    size_t hidden = a->p->hidden, rest = (a->p->batch - 1) * hidden * sizeof(float);
    return memcmp(a->h, a->h + hidden, rest) == 0 && memcmp(a->c, a->c + hidden, rest) == 0;
}

size_t sis__pass_time(const sis__pass *a, size_t k) {
    return a->backwards ? a->p->seq - 1 - k : k;
}

/* The number of times, in the order of this direction, after which all rows have the same state. */
static size_t common_times(const sis__pass *a) {
    size_t n = 0;
    if (!states_alike(a))
        return 0;
    while (n < a->p->times[a->d] && alike_at(a, sis__pass_time(a, n)))
        n++;
    return n;
}

/* The common prefix of the rows of the last run, in the order of this direction, and its states:
 * the next rows often start with the same padding. */
typedef struct {
    size_t *n;        /* number of times */
    float *start;     /* (2, hidden) states before them */
    float *x, *h, *c; /* (seq, input), (seq, hidden) */
} head;

static int is_constant(const sis__pass *a, size_t input) {
    return !sis__in(a->s, a->r, input) || a->r->plan->tensors[a->s->inputs[input]].data;
}

static int head_find(const sis__pass *a, head *m) {
    const sis__recurrent *p = a->p;
    enum { COUNT = 16, MAX = 1 << 22 };
    size_t floats = COUNT + 2 * p->hidden + p->seq * (p->input + 2 * p->hidden);
    floats = (floats + 15) / 16 * 16;
    if (floats > MAX || !p->w_packed[a->d] || !p->r_packed[a->d] || !is_constant(a, SIS__B) ||
        sis__in(a->s, a->r, SIS__LENGTHS))
        return 0;
    float *at = (float *)sis__run_keep(a->r, a->s, p->directions * floats * sizeof(float));
    if (!at)
        return 0;
    at += a->d * floats;
    m->n = (size_t *)(void *)at;
    m->start = at + COUNT;
    m->x = m->start + 2 * p->hidden;
    m->h = m->x + p->seq * p->input;
    m->c = m->h + p->seq * p->hidden;
    return 1;
}

static const float *first_row(const sis__pass *a, size_t k) {
    return sis__in(a->s, a->r, SIS__X) + row_x(a->p, sis__pass_time(a, k), 0) * a->p->input;
}

/* How many of the first `max` times are the same as in the last run; restores the state after
 * them, and y. */
static size_t recall(const sis__pass *a, const head *m, size_t max) {
    const sis__recurrent *p = a->p;
    size_t n = 0, row = p->input * sizeof(float), state = p->hidden * sizeof(float);
    if (memcmp(m->start, a->h, state) != 0 || memcmp(m->start + p->hidden, a->c, state) != 0)
        *m->n = 0;
    memcpy(m->start, a->h, state);
    memcpy(m->start + p->hidden, a->c, state);
    for (; n < max && n < *m->n && memcmp(m->x + n * p->input, first_row(a, n), row) == 0; n++) {
        memcpy(a->h, m->h + n * p->hidden, state);
        sis__pass_emit(a, sis__pass_time(a, n));
    }
    if (n > 0)
        memcpy(a->c, m->c + (n - 1) * p->hidden, state);
    return n;
}

static void remember(const sis__pass *a, const head *m, size_t k) {
    const sis__recurrent *p = a->p;
    memcpy(m->x + k * p->input, first_row(a, k), p->input * sizeof(float));
    memcpy(m->h + k * p->hidden, a->h, p->hidden * sizeof(float));
    memcpy(m->c + k * p->hidden, a->c, p->hidden * sizeof(float));
    *m->n = k + 1;
}

static void run_times(const sis__pass *a, sis__pass_step step, const head *m, size_t k,
                      size_t end) {
    const sis__recurrent *p = a->p;
    size_t block = pass_block(p), gh = p->gates * p->hidden;
    while (k < end) {
        size_t n = end - k < block ? end - k : block;
        size_t from = a->backwards ? p->seq - k - n : k;
        sis__pass_project(a, from, n, a->gates);
        for (size_t last = k + n; k < last; k++) {
            size_t t = sis__pass_time(a, k);
            step(a, t, a->gates + (t - from) * a->rows * gh);
            sis__pass_emit(a, t);
            if (m->n)
                remember(a, m, k);
        }
    }
}

static void spread_state(const sis__pass *a, float *state) {
    for (size_t b = 1; b < a->p->batch; b++)
        memcpy(state + b * a->p->hidden, state, a->p->hidden * sizeof *state);
}

void sis__pass_run(sis__pass *a, sis__pass_step step) {
    head m = {0};
    if (a->p->batch == 0)
        return;
    size_t common = common_times(a), known = 0;
    a->rows = 1;
    if (common > 0 && head_find(a, &m))
        known = recall(a, &m, common);
    run_times(a, step, &m, known, common);
    a->rows = a->p->batch;
    if (common > 0) {
        spread_state(a, a->h);
        spread_state(a, a->c);
    }
    run_times(a, step, &(head){0}, common, a->p->times[a->d]);
}

/* ---- Gradient ------------------------------------------------------------------------------ */

const float *sis__pass_pack_back(char **free, const float *r, size_t n, size_t k) {
    const sis__kernels *kn = sis__kernels_best();
    float *to = sis__pass_take(free, sis__packed_size(kn, n, k));
    sis__pack(kn, n, k, r, k, 1, to);
    return to;
}

/* The gradients of the final states; that of y is added at each time. */
static void receive_final(sis__tape *t) {
    const sis__recurrent *p = t->a.p;
    const float *dh = sis__dout(t->a.s, t->a.r, 1), *dc = sis__dout(t->a.s, t->a.r, 2);
    for (size_t b = 0; b < p->batch; b++)
        for (size_t j = 0; j < p->hidden; j++) {
            size_t from = sis__row_state(p, t->a.d, b) * p->hidden + j, to = b * p->hidden + j;
            t->dh[to] = dh ? dh[from] : 0;
            t->dc[to] = dc ? dc[from] : 0;
        }
}

/* Both halves of the bias have the same gradient, except where a GRU resets the recurrent one. */
static void bias_backward(const sis__tape *t, float *db) {
    const sis__recurrent *p = t->a.p;
    size_t gh = p->gates * p->hidden;
    float *one = db + t->a.d * 2 * gh, *other = one + gh;
    for (size_t i = 0; i < p->seq * p->batch; i++)
        for (size_t j = 0; j < gh; j++) {
            int reset = p->linear_before_reset && j >= 2 * p->hidden;
            one[j] += t->gates[i * gh + j];
            other[j] += reset ? t->more[i * p->hidden + j - 2 * p->hidden] : t->gates[i * gh + j];
        }
}

/* Of the input projection. */
static void inputs_backward(const sis__tape *t, float *dw, float *dx) {
    const sis__recurrent *p = t->a.p;
    const float *x = sis__in(t->a.s, t->a.r, SIS__X), *w = sis__in(t->a.s, t->a.r, SIS__W);
    size_t gh = p->gates * p->hidden, in = p->input, at_w = t->a.d * gh * in;
    size_t parts = p->batch_first ? p->batch : 1, rows = p->seq * p->batch / (parts ? parts : 1);
    for (size_t i = 0; i < parts; i++) { /* batch_first: one example at a time */
        const float *g = t->gates + i * gh;
        size_t step = p->batch_first ? p->batch * gh : gh, at = i * rows * in;
        if (dw)
            sis__product_add(
                &(sis__product){gh, in, rows, {g, 1, step}, {x + at, in, 1}, 1.0f, dw + at_w, in},
                t->scratch);
        if (dx)
            sis__product_add(
                &(sis__product){rows, in, gh, {g, step, 1}, {w + at_w, in, 1}, 1.0f, dx + at, in},
                t->scratch);
    }
}

/* Of an initial state: rows that were repeated are summed. */
static void start_backward(const sis__pass *a, size_t input, size_t rows, const float *d) {
    const sis__recurrent *p = a->p;
    float *to = sis__din(a->s, a->r, input);
    sis__recurrent one = *p;
    one.batch = rows;
    for (size_t b = 0; to && b < p->batch; b++)
        for (size_t j = 0; j < p->hidden; j++)
            to[sis__row_state(&one, a->d, rows == 1 ? 0 : b) * p->hidden + j] +=
                d[b * p->hidden + j];
}

int sis__recurrent_backward(const sis__step *s, sis__run *r, const sis__cell_gradient *cell) {
    const sis__recurrent *p = &s->p.recurrent;
    float *dr = sis__din(s, r, SIS__R), *db = sis__din(s, r, SIS__B);
    for (size_t d = 0; d < p->directions; d++) {
        sis__tape t = {0};
        sis__pass_begin(&t.a, s, r, d);
        t.scratch = t.a.free;
        t.dh = sis__pass_take(&t.scratch, p->batch * p->hidden);
        t.dc = sis__pass_take(&t.scratch, p->batch * p->hidden);
        cell->begin(&t);
        receive_final(&t);
        for (size_t k = p->seq; k-- > 0;)
            cell->step(&t, sis__pass_time(&t.a, k));
        if (dr)
            cell->recurrence(&t, dr + d * p->gates * p->hidden * p->hidden);
        if (db)
            bias_backward(&t, db);
        inputs_backward(&t, sis__din(s, r, SIS__W), sis__din(s, r, SIS__X));
        start_backward(&t.a, SIS__H0, p->h_batch, t.dh);
        if (p->gates == 4)
            start_backward(&t.a, SIS__C0, p->c_batch, t.dc);
    }
    return SIS_OK;
}
