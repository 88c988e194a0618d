/* SPDX-License-Identifier: MIT
 *
 * The head: the part of a network from the cuts to the margins. Plans for a few batch sizes are
 * compiled on first use; n rows are divided into batches of these sizes, largest first. Rows are
 * independent, so the division does not affect results. If a network cannot run several rows
 * together, they are run one by one.
 *
 * A writer puts rows into the plan's input. Whole rows of a single cut are read in place, others
 * are copied. A batch keeps its rows from call to call. So for rows that equal a base except for a
 * few values, or for one token less, only the differences are written. The batch axis of a cut is
 * the first one, or another one if positions come before it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/plan/forward.h"
#include "net/plan/row_layout.h"
#include "net/plan/shared.h"
#include "net/walk/walk.h"

static const size_t sizes[] = {256, 64, 16, 8, 4, 1};
enum { N_SIZES = sizeof sizes / sizeof *sizes, LOG2_TRIAL = 2 };
static const size_t max_arena = (size_t)5 << 19; /* maximal bytes of a run of several rows, for the
                                                   * cache */

/* Rows that are run together. */
typedef struct {
    sis__shared_plan *plan; /* NULL: not used, or not yet */
    sis__run *run;
    int tried;       /* plan and run have been requested */
    size_t version;  /* version of the base that all rows hold; 0: other rows */
    int lacks;       /* rows are the base without a token, not close to it */
    size_t *without; /* (rows) the missing token; NULL: tokens cannot be removed */
} head_batch;

struct sis__head {
    const sis__net_input *s;
    sis__cut *cuts;
    size_t n_cuts, width; /* values of a row */
    sis__feed front;      /* shape of the network's input; some heads use it */
    int counted;          /* its first axis is the batch */
    int *axes;            /* (n_cuts) axes with size `size`; NULL: all sizes as declared */
    size_t *along;        /* (n_cuts) the batch axis */
    size_t size;
    int fused;                 /* see sis__head_spec */
    int last;                  /* value that margins are computed from */
    int together;              /* several rows may be run together */
    head_batch batch[N_SIZES]; /* by size */
    int *views;                /* (n_views) a single cut and all tensors that share its memory */
    size_t n_views;
};

struct sis__row_slots {
    sis__head *h;
    size_t i, n;                   /* batch, and number of its rows that are used */
    const float *base;             /* sis__slots_near: restores the rows to this */
    const sis__row_change *change; /* (n) NULL: nothing is restored */
};

/* Number of values of cut i in one row. */
static size_t count_of(const sis__head *h, size_t i) {
    const sis__tensor *t = h->cuts[i].like;
    return h->axes ? t->count / t->dims[h->axes[i]] * h->size : t->count;
}

/* A plan for `rows` rows. */
static int compile(sis__head *h, size_t rows, sis__shared_plan **plan) {
    size_t n = h->n_cuts;
    sis__feed *feeds = SIS_NEW(sis__feed, n + 1);
    int at_front = h->axes != NULL; /* it belongs to another length */
    if (!feeds)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < h->n_cuts; i++) {
        const sis__tensor *like = h->cuts[i].like;
        feeds[i] = (sis__feed){.value = h->cuts[i].value, .rank = like->rank, .elem = like->elem};
        memcpy(feeds[i].dims, like->dims, sizeof feeds[i].dims);
        if (rows > 1)
            feeds[i].dims[h->along[i]] = rows;
        if (h->axes)
            feeds[i].dims[h->axes[i]] = h->size;
        at_front |= feeds[i].value == h->front.value;
    }
    if (!at_front) {
        feeds[n] = h->front;
        if (h->counted)
            feeds[n].dims[0] = rows;
        n++;
    }
    sis__plan_spec spec = {.feeds = feeds,
                           .n_feeds = n,
                           .outputs = &h->last,
                           .n_outputs = 1,
                           .one = !h->axes,
                           .asked = h->s->output,
                           .batch = rows,
                           .keep_all = rows == 1 && !h->fused}; /* see sis__head_size */
    int error = sis__shared_plan_get(h->s->net, &spec, plan);
    free(feeds);
    return !error || error == SIS_E_NOMEM ? error : SIS_E_UNSUPPORTED;
}

/* The axis along which a cut of n rows is n times that of one; SIZE_MAX: none. Uses a valid plan
 * for whole rows; the head's plan may compute some slices only (net/plan/slice_pushdown.c). */
static size_t stacked_along(const sis__plan *p, const sis__cut *cut, size_t n) {
    const sis__tensor *t = &p->tensors[cut->value], *one = cut->like;
    size_t axis = 0;
    if (!t->known || t->rank != one->rank)
        return SIZE_MAX;
    while (axis < t->rank && !(one->dims[axis] == 1 && t->dims[axis] == n))
        axis++;
    for (size_t d = 0; d < t->rank; d++)
        if (d != axis && t->dims[d] > one->dims[d])
            return SIZE_MAX;
    return axis < t->rank ? axis : SIZE_MAX;
}

/* Find the input's shape, and whether rows may be run together. */
static int check_batches(sis__head *h, int *together) {
    const sis__net_input *s = h->s;
    sis__row_layout *g;
    sis__run *r;
    int error = sis__net_input_layout(s, &g);
    *together = 0;
    if (error)
        return error;
    h->counted = g->counted;
    h->front = sis__row_layout_rows(g, 1);
    h->front.shape_only = 1;
    if (g->batched &&
        (error = sis__row_layout_take(s->net, g, SIS__MARGINS, LOG2_TRIAL, &r)) == 0) {
        *together = 1;
        for (size_t i = 0; i < h->n_cuts && *together; i++) {
            size_t axis = stacked_along(r->plan, &h->cuts[i], (size_t)1 << LOG2_TRIAL);
            if (axis == SIZE_MAX && h->cuts[i].like->dims[0] != 1)
                error = SIS_E_UNSUPPORTED; /* rows are not separate */
            *together = axis != SIZE_MAX;
            h->along[i] = *together ? axis : 0;
        }
        sis__row_layout_give(s->net, g, SIS__MARGINS, LOG2_TRIAL, r);
    }
    sis__row_layout_done(s->net, g);
    return error;
}

int sis__head_leaves_out(const sis__head *h) {
    for (size_t c = 0; c < h->n_cuts; c++)
        if (h->along[c] != 0)
            return 0;
    return h->axes != NULL;
}

/* Make plan and run of one size on first use. If a run of several rows is too large, there is
 * none. */
static int get_batch(sis__head *h, size_t i) {
    head_batch *b = &h->batch[i];
    if (b->tried || (sizes[i] > 1 && !h->together))
        return SIS_OK;
    b->tried = 1;
    if (sis__head_leaves_out(h)) {
        b->without = SIS_NEW(size_t, sizes[i]);
        if (!b->without)
            return SIS_E_NOMEM;
    }
    int error = compile(h, sizes[i], &b->plan);
    if (!error && (sizes[i] == 1 || b->plan->plan->arena <= max_arena))
        return sis__run_new(b->plan->plan, &b->run);
    if (!error) {
        sis__shared_plan_done(b->plan);
        b->plan = NULL;
    }
    return error == SIS_E_UNSUPPORTED && sizes[i] > 1 ? SIS_OK : error;
}

static int init_plans(sis__head *h) {
    int error = check_batches(h, &h->together);
    return !error ? get_batch(h, N_SIZES - 1) : error;
}

/* A single cut is read in the caller's memory: find all tensors that share it. */
static int find_views(sis__head *h) {
    const sis__plan *p = sis__head_plan(h);
    h->views = SIS_NEW(int, p->n_tensors);
    if (!h->views)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < p->n_tensors && h->n_cuts == 1; i++) {
        int root = (int)i;
        while (p->tensors[root].known && p->tensors[root].alias >= 0)
            root = p->tensors[root].alias;
        if (root == h->cuts[0].value)
            h->views[h->n_views++] = (int)i;
    }
    return SIS_OK;
}

int sis__head_new(const sis__net_input *s, const sis__head_spec *spec, sis__head **out) {
    size_t n = spec->n_cuts;
    *out = NULL;
    sis__head *h = SIS_NEW(sis__head, 1);
    if (!h)
        return SIS_E_NOMEM;
    *h = (sis__head){
        .s = s, .n_cuts = n, .size = spec->size, .fused = spec->fused, .last = s->net->pre_output};
    h->cuts = (sis__cut *)sis__copy(spec->cuts, n, sizeof *spec->cuts);
    h->axes = spec->axes ? (int *)sis__copy(spec->axes, n, sizeof *spec->axes) : NULL;
    h->along = SIS_NEW(size_t, n);
    int error = h->cuts && h->along && (h->axes || !spec->axes) ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++) {
        const sis__tensor *like = spec->cuts[i].like;
        if (like->rank == 0 || like->dtype > SIS__BOOL || (like->dtype != SIS__F32 && n == 1))
            error = SIS_E_UNSUPPORTED;
        h->width += count_of(h, i);
    }
    if (!error)
        error = init_plans(h);
    if (!error)
        error = find_views(h);
    if (error) {
        sis__head_free(h);
        return error;
    }
    *out = h;
    return SIS_OK;
}

void sis__head_free(sis__head *h) {
    for (size_t i = 0; h && i < N_SIZES; i++) {
        sis__run_free(h->batch[i].run);
        sis__shared_plan_done(h->batch[i].plan);
        free(h->batch[i].without);
    }
    if (h) {
        free(h->cuts);
        free(h->axes);
        free(h->along);
        free(h->views);
    }
    free(h);
}

/* Convert n floats to the type of a tensor. */
static void put_values(sis__dtype t, const float *from, size_t n, void *to, size_t at) {
    if (t == SIS__F32)
        memcpy((float *)to + at, from, n * sizeof *from);
    for (size_t i = 0; t == SIS__I64 && i < n; i++)
        ((int64_t *)to)[at + i] = (int64_t)from[i];
    for (size_t i = 0; t == SIS__BOOL && i < n; i++)
        ((uint8_t *)to)[at + i] = from[i] != 0;
}

/* Number of contiguous values of cut i, both in one row and in a batch. */
static size_t part_of(const sis__head *h, size_t i) {
    size_t outer = 1;
    for (size_t d = 0; d < h->along[i]; d++)
        outer *= h->cuts[i].like->dims[d];
    return count_of(h, i) / outer;
}

/* Copy row k of n of cut i into its place. */
static void put_row(const sis__head *h, sis__run *r, size_t i, size_t k, size_t n,
                    const float *row) {
    size_t part = part_of(h, i), outer = count_of(h, i) / part;
    for (size_t o = 0; o < outer; o++)
        put_values(h->cuts[i].like->dtype, row + o * part, part, r->data[h->cuts[i].value],
                   (o * n + k) * part);
}

/* Are rows read in place? Yes if there is one cut and its rows are contiguous. */
static int in_place(const sis__head *h, size_t size) {
    return h->n_cuts == 1 && (size == 1 || h->along[0] == 0);
}

void sis__slots_rows(sis__row_slots *to, const float *rows) {
    sis__head *h = to->h;
    size_t size = sizes[to->i];
    sis__run *r = h->batch[to->i].run;
    h->batch[to->i].version = 0;
    if (in_place(h, size)) {
        for (size_t i = 0; i < h->n_views; i++)
            r->data[h->views[i]] = (void *)(uintptr_t)rows; /* never written, despite the cast */
        return;
    }
    for (size_t i = 0, at = 0; i < h->n_cuts; at += count_of(h, i++))
        for (size_t k = 0; k < size; k++) /* repeats the last as padding */
            put_row(h, r, i, k, size, rows + (k < to->n ? k : to->n - 1) * h->width + at);
}

/* Run batch i after its rows are written; margins of the first n. */
static int run_batch(sis__head *h, size_t i, size_t n, double *margins) {
    sis__run *r = h->batch[i].run;
    int error = sis__run_forward(r);
    const float *z = (const float *)r->data[h->last];
    size_t outputs = r->plan->tensors[h->last].count / sizes[i]; /* all, or a slice of them */
    if (!error)
        sis__margins(h->s->net, z, n, outputs, h->s->output % outputs, margins, 1);
    return error;
}

/* ---- Rows near a base ------------------------------------------------------------------------ */

/* Let batch i use its own memory for rows. */
static void own_rows(sis__head *h, size_t i) {
    sis__run *r = h->batch[i].run;
    for (size_t k = 0; k < h->n_views; k++)
        r->data[h->views[k]] = r->base + r->plan->tensors[h->cuts[0].value].offset;
}

/* Set all rows of batch i to the base. */
static void feed_base(sis__head *h, size_t i, const float *base) {
    sis__run *r = h->batch[i].run;
    own_rows(h, i);
    for (size_t c = 0, at = 0; c < h->n_cuts; at += count_of(h, c++))
        for (size_t k = 0; k < sizes[i]; k++)
            put_row(h, r, c, k, sizes[i], base + at);
}

/* Write the changed values of a row of batch i; or, with a base, restore them. */
static void change_row(const sis__head *h, size_t i, size_t row, const sis__row_change *change,
                       const float *base) {
    size_t k = 0;
    for (size_t c = 0, at = 0; c < h->n_cuts; at += count_of(h, c++)) {
        size_t count = count_of(h, c), part = part_of(h, c);
        void *to = h->batch[i].run->data[h->cuts[c].value];
        for (; k < change->n && change->place[k] < at + count; k++) {
            size_t in = change->place[k] - at;
            size_t place =
                part == count ? row * count + in : (in / part * sizes[i] + row) * part + in % part;
            float v = base ? base[change->place[k]] : change->value[k];
            if (h->cuts[c].like->dtype == SIS__F32)
                ((float *)to)[place] = v;
            else
                put_values(h->cuts[c].like->dtype, &v, 1, to, place);
        }
    }
}

void sis__slots_near(sis__row_slots *to, const float *base, size_t version,
                     const sis__row_change *changes) {
    head_batch *b = &to->h->batch[to->i];
    if (b->version != version || b->lacks)
        feed_base(to->h, to->i, base);
    b->version = version;
    b->lacks = 0;
    for (size_t k = 0; k < to->n; k++)
        change_row(to->h, to->i, k, &changes[k], NULL);
    to->base = base;
    to->change = changes;
}

/* ---- Rows without a token of the base -------------------------------------------------------- */

/* Copy n tokens of the base from `token` on to a row of batch i from `to` on. */
static void put_tokens(const sis__head *h, size_t i, size_t row, const float *base, size_t token,
                       size_t to, size_t n) {
    for (size_t c = 0, at = 0; c < h->n_cuts && n; c++) {
        const sis__tensor *like = h->cuts[c].like;
        size_t count = count_of(h, c), inner = 1;
        for (size_t d = (size_t)h->axes[c] + 1; d < like->rank; d++)
            inner *= like->dims[d];
        size_t outer = count / inner / h->size;
        for (size_t o = 0; o < outer; o++)
            put_values(like->dtype, base + at + (o * (h->size + 1) + token) * inner, n * inner,
                       h->batch[i].run->data[h->cuts[c].value],
                       row * count + (o * h->size + to) * inner);
        at += outer * (h->size + 1) * inner;
    }
}

/* Turn a row of batch i, which is the base without one token, into the base without this token. */
static void leave_out(const sis__head *h, size_t i, size_t row, const float *base, size_t token) {
    size_t before = h->batch[i].without[row];
    if (before < token)
        put_tokens(h, i, row, base, before, before, token - before);
    else
        put_tokens(h, i, row, base, token + 1, token, before - token);
    h->batch[i].without[row] = token;
}

/* Set all rows of batch i to the base without its last token. */
static void feed_without(sis__head *h, size_t i, const float *base) {
    own_rows(h, i);
    for (size_t k = 0; k < sizes[i]; k++) {
        put_tokens(h, i, k, base, 0, 0, h->size);
        h->batch[i].without[k] = h->size;
    }
}

void sis__slots_without(sis__row_slots *to, const float *base, size_t version,
                        const size_t *tokens) {
    head_batch *b = &to->h->batch[to->i];
    if (b->version != version || !b->lacks)
        feed_without(to->h, to->i, base);
    b->version = version;
    b->lacks = 1;
    for (size_t k = 0; k < to->n; k++)
        leave_out(to->h, to->i, k, base, tokens[k]);
}

/* ---- Margins --------------------------------------------------------------------------------- */

/* How many of n rows a batch takes: its size, or, with padding, at least three quarters of it. */
static size_t piece_of(const sis__head *h, size_t i, size_t n, int pads) {
    if (n >= sizes[i])
        return sizes[i];
    return pads && !in_place(h, sizes[i]) && 4 * n >= 3 * sizes[i] ? n : 0;
}

int sis__head_margins(sis__head *h, const sis__row_writer *w, size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t i = 0, row = 0, piece; i < N_SIZES && !error && row < n; i++) {
        if (piece_of(h, i, n - row, w->pads) > 0)
            error = get_batch(h, i);
        while (h->batch[i].run && !error && (piece = piece_of(h, i, n - row, w->pads)) > 0) {
            sis__row_slots to = {.h = h, .i = i, .n = piece};
            w->write(w->ctx, row, piece, &to);
            error = run_batch(h, i, piece, margins + row);
            for (size_t k = 0; k < piece && to.change; k++)
                change_row(h, i, k, &to.change[k], to.base);
            row += piece;
        }
    }
    return error;
}

/* Write whole contiguous rows. */
typedef struct {
    const float *rows;
    size_t width;
} plain_rows;

static void write_plain(void *ctx, size_t first, size_t n, sis__row_slots *to) {
    const plain_rows *p = (const plain_rows *)ctx;
    (void)n;
    sis__slots_rows(to, p->rows + first * p->width);
}

int sis__head_margins_rows(sis__head *h, const float *rows, size_t n, double *margins) {
    plain_rows p = {rows, h->width};
    return sis__head_margins(h, &(sis__row_writer){write_plain, &p, 1}, n, margins);
}

/* ---- Queries --------------------------------------------------------------------------------- */

const sis__plan *sis__head_plan(const sis__head *h) {
    return h->batch[N_SIZES - 1].plan->plan;
}

static double largest(const sis__run *r, int value) {
    const sis__tensor *t = &r->plan->tensors[value];
    const float *v = (const float *)r->data[value];
    double max = 0;
    for (size_t k = 0; v && t->dtype == SIS__F32 && k < t->count; k++)
        max = fmax(max, fabs((double)v[k]));
    return max;
}

double sis__head_size(const sis__head *h) {
    const sis__run *r = h->batch[N_SIZES - 1].run;
    double max = largest(r, h->last);
    for (size_t i = 0; i < h->n_cuts; i++)
        max = fmax(max, largest(r, h->cuts[i].value));
    for (size_t i = 0; i < r->plan->n_steps; i++)
        for (size_t k = 0; k < r->plan->steps[i].n_outputs; k++)
            if (r->plan->steps[i].outputs[k] >= 0)
                max = fmax(max, largest(r, r->plan->steps[i].outputs[k]));
    return max;
}
