/* SPDX-License-Identifier: MIT
 *
 * From the cut to margins. Plans are compiled for a few batch sizes when they are first needed; n
 * rows are cut into pieces of these, largest first. Rows do not influence each other, so it does not matter how; a network
 * whose rows cannot be run together gets them one by one. Rows are counted along the first axis of a
 * cut, or, where positions stand in front, along another one; then they are copied into place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/plan/cache.h"
#include "net/plan/forward.h"
#include "net/plan/shared.h"
#include "net/walk/walk.h"

static const size_t sizes[] = {256, 64, 16, 8, 4, 1};
enum { N_SIZES = sizeof sizes / sizeof *sizes, LOG2_TRIAL = 2 };
static const size_t most_arena = (size_t)5 << 19; /* bytes of a run of several rows: what is near */

struct sis__head {
    const sis__net_input *s;
    sis__cut *cuts;
    size_t n_cuts, width; /* values in a row */
    sis__feed front;      /* the shape of what the network is fed; some heads ask for it */
    int counted;          /* its first axis counts rows */
    int *axes;            /* (n_cuts) that are `size` long; NULL: all are as they are */
    size_t *along;        /* (n_cuts) the axis that counts rows */
    size_t size;
    int lean;                         /* nobody asks for sis__head_size */
    int last;                         /* value that the margins are read from */
    sis__shared_plan *plans[N_SIZES]; /* NULL: not used, or not yet */
    sis__run *runs[N_SIZES];
    int together;             /* rows may be run together */
    int tried[N_SIZES];       /* whether plan and run can be had */
    size_t version[N_SIZES];  /* the base that all rows of a run hold; 0: something else */
    size_t *without[N_SIZES]; /* (rows) the token of that base that each lacks; NULL: none */
    int lacks[N_SIZES];       /* they do, instead of being near it */
    int *views;               /* (n_views) a single cut and what else shows its memory */
    size_t n_views;
};

/* Values of cut i in one row. */
static size_t count_of(const sis__head *h, size_t i) {
    const sis__tensor *t = h->cuts[i].like;
    return h->axes ? t->count / t->dims[h->axes[i]] * h->size : t->count;
}

/* A plan for `rows` rows. */
static int compile(sis__head *h, size_t rows, sis__shared_plan **plan) {
    size_t n = h->n_cuts;
    sis__feed *feeds = SIS_NEW(sis__feed, n + 1);
    int at_front = h->axes != NULL; /* then it is another length's */
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
                           .keep_all = rows == 1 && !h->lean}; /* see sis__head_size */
    int error = sis__shared_plan_get(h->s->net, &spec, plan);
    free(feeds);
    return error == SIS_OK || error == SIS_E_NOMEM ? error : SIS_E_UNSUPPORTED;
}

/* The axis along which a cut of n rows is n times that of one; SIZE_MAX: there is none. Asked of a
 * plan for whole rows that is known to be sound; it may compute some slices only (net/plan/narrow.c). */
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

/* The shape of what is fed, and: may rows be run together? */
static int check_batches(sis__head *h, int *together) {
    const sis__net_input *s = h->s;
    sis__geometry *g;
    sis__run *r;
    int error = sis__net_input_geometry(s, &g);
    *together = 0;
    if (error)
        return error;
    h->counted = g->counted;
    h->front =
        (sis__feed){.value = g->start, .rank = g->rank + (size_t)g->counted, .shape_only = 1};
    h->front.dims[0] = 1;
    memcpy(h->front.dims + g->counted, g->dims, g->rank * sizeof *g->dims);
    if (g->batched && (error = sis__cache_take(s->net, g, SIS__MARGINS, LOG2_TRIAL, &r)) == 0) {
        *together = 1;
        for (size_t i = 0; i < h->n_cuts && *together; i++) {
            size_t axis = stacked_along(r->plan, &h->cuts[i], (size_t)1 << LOG2_TRIAL);
            if (axis == SIZE_MAX && h->cuts[i].like->dims[0] != 1)
                error = SIS_E_UNSUPPORTED; /* rows are part of something else */
            *together = axis != SIZE_MAX;
            h->along[i] = *together ? axis : 0;
        }
        sis__cache_give(s->net, g, SIS__MARGINS, LOG2_TRIAL, r);
    }
    sis__cache_done(s->net, g);
    return error;
}

/* Plan and run of one size, when it is first asked for. Runs of several rows may turn out too large,
 * and are done without. */
static int get_run(sis__head *h, size_t i) {
    if (h->tried[i] || (sizes[i] > 1 && !h->together))
        return SIS_OK;
    h->tried[i] = 1;
    int error = compile(h, sizes[i], &h->plans[i]);
    if (error == SIS_OK && (sizes[i] == 1 || h->plans[i]->plan->arena <= most_arena))
        return sis__run_new(h->plans[i]->plan, &h->runs[i]);
    if (error == SIS_OK) {
        sis__shared_plan_done(h->plans[i]);
        h->plans[i] = NULL;
    }
    return error == SIS_E_UNSUPPORTED && sizes[i] > 1 ? SIS_OK : error;
}

static int init_plans(sis__head *h) {
    int error = check_batches(h, &h->together);
    return error == SIS_OK ? get_run(h, N_SIZES - 1) : error;
}

/* A single cut is read where the caller has it: find all tensors that lie in its memory. */
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

/* As the two below say. */
static int new_head(const sis__net_input *s, const sis__cut *cuts, size_t n,
                    const sis__head_form *form, int lean, sis__head **out) {
    const int *axes = form->axes;
    *out = NULL;
    sis__head *h = SIS_NEW(sis__head, 1);
    if (!h)
        return SIS_E_NOMEM;
    *h = (sis__head){
        .s = s, .n_cuts = n, .size = form->size, .lean = lean, .last = s->net->pre_output};
    h->cuts = (sis__cut *)sis__copy(cuts, n, sizeof *cuts);
    h->axes = axes ? (int *)sis__copy(axes, n, sizeof *axes) : NULL;
    h->along = SIS_NEW(size_t, n);
    int error = h->cuts && h->along && (h->axes || !axes) ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < n; i++) {
        const sis__tensor *like = cuts[i].like;
        if (like->rank == 0 || like->dtype > SIS__BOOL || (like->dtype != SIS__F32 && n == 1))
            error = SIS_E_UNSUPPORTED;
        h->width += count_of(h, i);
    }
    if (error == SIS_OK)
        error = init_plans(h);
    if (error == SIS_OK)
        error = find_views(h);
    if (error != SIS_OK) {
        sis__head_free(h);
        return error;
    }
    *out = h;
    return SIS_OK;
}

int sis__head_new_cuts(const sis__net_input *s, const sis__cut *cuts, size_t n, sis__head **out) {
    return new_head(s, cuts, n, &(sis__head_form){.size = 0}, 0, out);
}

int sis__head_new_form(const sis__net_input *s, const sis__cut *cuts, size_t n,
                       const sis__head_form *form, sis__head **out) {
    return new_head(s, cuts, n, form, 1, out);
}

int sis__head_new(const sis__net_input *s, int cut, const sis__tensor *like, sis__head **out) {
    return sis__head_new_cuts(s, &(sis__cut){cut, like}, 1, out);
}

void sis__head_free(sis__head *h) {
    for (size_t i = 0; h && i < N_SIZES; i++) {
        sis__run_free(h->runs[i]);
        sis__shared_plan_done(h->plans[i]);
        free(h->without[i]);
    }
    if (h) {
        free(h->cuts);
        free(h->axes);
        free(h->along);
        free(h->views);
    }
    free(h);
}

/* n floats in the type of a tensor. */
static void put_values(sis__dtype t, const float *from, size_t n, void *to, size_t at) {
    if (t == SIS__F32)
        memcpy((float *)to + at, from, n * sizeof *from);
    for (size_t i = 0; t == SIS__I64 && i < n; i++)
        ((int64_t *)to)[at + i] = (int64_t)from[i];
    for (size_t i = 0; t == SIS__BOOL && i < n; i++)
        ((uint8_t *)to)[at + i] = from[i] != 0;
}

/* Values of cut i that lie one behind the other in a row and in several. */
static size_t part_of(const sis__head *h, size_t i) {
    size_t outer = 1;
    for (size_t d = 0; d < h->along[i]; d++)
        outer *= h->cuts[i].like->dims[d];
    return count_of(h, i) / outer;
}

/* Row k of n of cut i into its place. */
static void put_row(const sis__head *h, sis__run *r, size_t i, size_t k, size_t n,
                    const float *row) {
    size_t part = part_of(h, i), outer = count_of(h, i) / part;
    for (size_t o = 0; o < outer; o++)
        put_values(h->cuts[i].like->dtype, row + o * part, part, r->data[h->cuts[i].value],
                   (o * n + k) * part);
}

/* Are rows read where they lie? If there is one cut that has them one behind the other. */
static int in_place(const sis__head *h, size_t size) {
    return h->n_cuts == 1 && (size == 1 || h->along[0] == 0);
}

/* Let the run read `size` rows: n, and the last again to fill it up where they are copied. */
static void feed(const sis__head *h, sis__run *r, const float *rows, size_t n, size_t size) {
    if (in_place(h, size)) {
        for (size_t i = 0; i < h->n_views; i++)
            r->data[h->views[i]] = (void *)(uintptr_t)rows; /* never written through */
        return;
    }
    for (size_t i = 0, at = 0; i < h->n_cuts; at += count_of(h, i++))
        for (size_t k = 0; k < size; k++)
            put_row(h, r, i, k, size, rows + (k < n ? k : n - 1) * h->width + at);
}

/* Run plan i, which has been fed; margins of the first n rows. */
static int run_fed(sis__head *h, size_t i, size_t n, double *margins) {
    sis__run *r = h->runs[i];
    int error = sis__run_forward(r);
    const float *z = (const float *)r->data[h->last];
    size_t outputs = r->plan->tensors[h->last].count / sizes[i]; /* all, or a slice of them */
    if (error == SIS_OK)
        sis__margins(h->s->net, z, n, outputs, h->s->output % outputs, margins, 1);
    return error;
}

/* Run n rows by plan i. */
static int run_piece(sis__head *h, size_t i, const float *rows, size_t n, double *margins) {
    feed(h, h->runs[i], rows, n, sizes[i]);
    h->version[i] = 0;
    return run_fed(h, i, n, margins);
}

/* ---- Rows near a base --------------------------------------------------------------------------- */

/* Rows of run i lie in memory of its own. */
static void own_rows(sis__head *h, size_t i) {
    sis__run *r = h->runs[i];
    for (size_t k = 0; k < h->n_views; k++)
        r->data[h->views[k]] = r->base + r->plan->tensors[h->cuts[0].value].offset;
}

/* All rows of run i become the base. */
static void feed_base(sis__head *h, size_t i, const float *base) {
    sis__run *r = h->runs[i];
    own_rows(h, i);
    for (size_t c = 0, at = 0; c < h->n_cuts; at += count_of(h, c++))
        for (size_t k = 0; k < sizes[i]; k++)
            put_row(h, r, c, k, sizes[i], base + at);
}

/* The values of a row of run i that a change speaks of: as it says, or those of the base again. */
static void change_row(const sis__head *h, size_t i, size_t row, const sis__row_change *change,
                       const float *base) {
    size_t k = 0;
    for (size_t c = 0, at = 0; c < h->n_cuts; at += count_of(h, c++)) {
        size_t count = count_of(h, c), part = part_of(h, c);
        void *to = h->runs[i]->data[h->cuts[c].value];
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

int sis__head_margins_near(sis__head *h, const float *base, size_t version,
                           const sis__row_change *changes, size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t i = 0; i < N_SIZES && error == SIS_OK; i++) {
        if (n >= sizes[i])
            error = get_run(h, i);
        for (; h->runs[i] && error == SIS_OK && n >= sizes[i]; n -= sizes[i]) {
            if (h->version[i] != version || h->lacks[i])
                feed_base(h, i, base);
            h->version[i] = version;
            h->lacks[i] = 0;
            for (size_t k = 0; k < sizes[i]; k++)
                change_row(h, i, k, &changes[k], NULL);
            error = run_fed(h, i, sizes[i], margins);
            for (size_t k = 0; k < sizes[i]; k++)
                change_row(h, i, k, &changes[k], base);
            changes += sizes[i];
            margins += sizes[i];
        }
    }
    return error;
}

/* ---- Rows that lack a token of a base ----------------------------------------------------------- */

int sis__head_leaves_out(const sis__head *h) {
    for (size_t c = 0; c < h->n_cuts; c++)
        if (h->along[c] != 0)
            return 0;
    return h->axes != NULL;
}

/* Tokens of the base from `token` on into those of a row of run i from `to` on. */
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
                       h->runs[i]->data[h->cuts[c].value],
                       row * count + (o * h->size + to) * inner);
        at += outer * (h->size + 1) * inner;
    }
}

/* A row of run i becomes the base without this token, from the base without another one. */
static void leave_out(const sis__head *h, size_t i, size_t row, const float *base, size_t token) {
    size_t before = h->without[i][row];
    if (before < token)
        put_tokens(h, i, row, base, before, before, token - before);
    else
        put_tokens(h, i, row, base, token + 1, token, before - token);
    h->without[i][row] = token;
}

/* All rows of run i become the base without its last token. */
static int feed_without(sis__head *h, size_t i, const float *base) {
    if (!h->without[i])
        h->without[i] = SIS_NEW(size_t, sizes[i]);
    if (!h->without[i])
        return SIS_E_NOMEM;
    own_rows(h, i);
    for (size_t k = 0; k < sizes[i]; k++) {
        put_tokens(h, i, k, base, 0, 0, h->size);
        h->without[i][k] = h->size;
    }
    return SIS_OK;
}

int sis__head_margins_without(sis__head *h, const float *base, size_t version, const size_t *token,
                              size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t i = 0; i < N_SIZES && error == SIS_OK; i++) {
        if (n >= sizes[i])
            error = get_run(h, i);
        for (; h->runs[i] && error == SIS_OK && n >= sizes[i]; n -= sizes[i]) {
            if (h->version[i] != version || !h->lacks[i])
                error = feed_without(h, i, base);
            if (error != SIS_OK)
                break;
            h->version[i] = version;
            h->lacks[i] = 1;
            for (size_t k = 0; k < sizes[i]; k++)
                leave_out(h, i, k, base, token[k]);
            error = run_fed(h, i, sizes[i], margins);
            token += sizes[i];
            margins += sizes[i];
        }
    }
    return error;
}

const sis__plan *sis__head_plan(const sis__head *h) {
    return h->plans[N_SIZES - 1]->plan;
}

const sis__gemm *sis__head_gemm(const sis__head *h, const float **bias) {
    const sis__plan *p = sis__head_plan(h);
    const sis__step *s = p->n_steps == 1 ? &p->steps[0] : NULL;
    if (!s || s->op != SIS__OP_GEMM || s->relu || !s->p.gemm.packed || s->outputs[0] != h->last)
        return NULL;
    int added = s->n_inputs > 2 ? s->inputs[2] : -1;
    *bias = added >= 0 ? (const float *)p->tensors[added].data : NULL;
    if (added >= 0 && !*bias)
        return NULL; /* it is not constant */
    for (size_t i = 0; i < h->n_views; i++)
        if (s->inputs[0] == h->views[i])
            return &s->p.gemm;
    return NULL;
}

static double largest(const sis__run *r, int value) {
    const sis__tensor *t = &r->plan->tensors[value];
    const float *v = (const float *)r->data[value];
    double most = 0;
    for (size_t k = 0; v && t->dtype == SIS__F32 && k < t->count; k++)
        most = fmax(most, fabs((double)v[k]));
    return most;
}

double sis__head_size(const sis__head *h) {
    const sis__run *r = h->runs[N_SIZES - 1];
    double most = largest(r, h->last);
    for (size_t i = 0; i < h->n_cuts; i++)
        most = fmax(most, largest(r, h->cuts[i].value));
    for (size_t i = 0; i < r->plan->n_steps; i++)
        for (size_t k = 0; k < r->plan->steps[i].n_outputs; k++)
            if (r->plan->steps[i].outputs[k] >= 0)
                most = fmax(most, largest(r, r->plan->steps[i].outputs[k]));
    return most;
}

/* How many of n rows a plan takes: as many as it is for, or, where it may be filled up, three quarters
 * of them at least. */
static size_t piece_of(const sis__head *h, size_t i, size_t n) {
    if (n >= sizes[i])
        return sizes[i];
    return !in_place(h, sizes[i]) && 4 * n >= 3 * sizes[i] ? n : 0;
}

int sis__head_margins(sis__head *h, const float *rows, size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t i = 0, piece; i < N_SIZES && error == SIS_OK && n > 0; i++) {
        if (piece_of(h, i, n) > 0)
            error = get_run(h, i);
        while (h->runs[i] && error == SIS_OK && (piece = piece_of(h, i, n)) > 0) {
            error = run_piece(h, i, rows, piece, margins);
            rows += piece * h->width;
            margins += piece;
            n -= piece;
        }
    }
    return error;
}
