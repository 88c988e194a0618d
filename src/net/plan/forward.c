/* SPDX-License-Identifier: MIT
 *
 * Compute scores or margins of rows. Rows are cut into pieces whose sizes are powers of two (there
 * is a plan for each size). Pieces are distributed over threads; each thread borrows a run from the
 * network.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/plan/forward.h"
#include "net/plan/row_layout.h"

/* ---- Pieces -------------------------------------------------------------------------------- */

/* Whole chunks first, then the rest as powers of two, largest first. If padding is allowed, the
 * next power of two is used for a rest that fills at least three quarters of it. */
static sis__piece next_piece(size_t chunk, size_t rest, int fill) {
    sis__piece p = {.log2_rows = 63 - __builtin_clzll(rest < chunk ? rest : chunk)};
    p.n = (size_t)1 << p.log2_rows;
    if (fill && p.n < chunk && rest < 2 * p.n && 2 * rest >= 3 * p.n) {
        p.n = rest;
        p.log2_rows++;
    }
    return p;
}

size_t sis__pieces(size_t chunk, size_t n_rows, int fill) {
    size_t count = n_rows / chunk, rest = n_rows % chunk;
    for (; rest > 0; count++)
        rest -= next_piece(chunk, rest, fill).n;
    return count;
}

sis__piece sis__piece_at(size_t chunk, size_t n_rows, int fill, size_t i) {
    size_t whole = n_rows / chunk, row = (i < whole ? i : whole) * chunk;
    sis__piece p = next_piece(chunk, n_rows - row, fill);
    for (; i > whole; i--) {
        row += p.n;
        p = next_piece(chunk, n_rows - row, fill);
    }
    p.row = row;
    return p;
}

/* ---- Margins ------------------------------------------------------------------------------- */

void sis__margins(const sis_net *net, const float *z, size_t m, size_t n, size_t c, double *y,
                  size_t step) {
    int softmax = sis__net_softmax(net);
    if (softmax)
        sis__kernels_best()->log_rest(z, m, n, c, y, step);
    for (size_t i = 0; i < m; i++)
        y[i * step] = (double)z[i * n + c] - (softmax ? y[i * step] : 0.0);
}

double sis_net_link(double margin) {
    return margin >= 0 ? 1 / (1 + exp(-margin)) : exp(margin) / (1 + exp(margin));
}

/* ---- Forward ------------------------------------------------------------------------------- */

typedef struct {
    const sis_net *net;
    const sis_net_batch *batch;
    sis__row_layout *g;
    sis__target target;
    float *scores;
    double *margins;
} job;

int sis__batch_check(const sis_net *net, const sis_net_batch *b, sis__row_layout **g) {
    if (b->embedded && net->embedding < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no embeddings to start from");
    if (b->n_values == 0)
        return sis__fail(SIS_E_ARGUMENT, "rows without values");
    return sis__row_layout_get(net, &(sis__row_form){b->embedded, b->n_values, b->shape}, g);
}

/* The margins of all outputs of m rows. */
static void all_margins(const sis_net *net, const float *z, size_t m, size_t k, double *y) {
    int softmax = sis__net_softmax(net);
    for (size_t c = 0; softmax && c < k; c++)
        sis__margins(net, z, m, k, c, y + c, k);
    for (size_t i = 0; !softmax && i < m * k; i++)
        y[i] = (double)z[i];
}

static void collect(const job *j, const sis__run *r, const sis__piece *p) {
    int from = j->scores ? j->net->output : j->net->pre_output;
    const sis__tensor *t = &r->plan->tensors[from];
    size_t k = j->g->n_outputs, at = p->row * k, n = p->n * k;
    if (t->dtype == SIS__F32 && j->scores)
        memcpy(j->scores + at, r->data[from], n * sizeof *j->scores);
    else if (t->dtype == SIS__F32)
        all_margins(j->net, (const float *)r->data[from], p->n, k, j->margins + at);
    else
        for (size_t i = 0; i < n; i++)
            if (j->scores)
                j->scores[at + i] = (float)sis__number_at(t, r->data[from], i);
            else
                j->margins[at + i] = sis__number_at(t, r->data[from], i);
}

/* One row of a network whose shapes depend on values. */
static int run_by_value(const job *j, size_t row) {
    size_t k = j->g->n_outputs;
    const float *values = j->batch->rows + row * j->g->n_values;
    if (j->scores)
        return sis__row_layout_evaluate(j->net, j->g, 0, values, j->scores + row * k);
    float *z = SIS_NEW(float, k);
    int error = z ? sis__row_layout_evaluate(j->net, j->g, 1, values, z) : SIS_E_NOMEM;
    if (!error)
        all_margins(j->net, z, 1, k, j->margins + row * k);
    free(z);
    return error;
}

static int run_piece(void *ctx, size_t item, int worker) {
    const job *j = (const job *)ctx;
    (void)worker;
    sis__piece p = sis__piece_at(j->g->chunk, j->batch->n_rows, 1, item);
    if (j->g->by_value)
        return run_by_value(j, p.row);
    sis__run *r;
    int error = sis__row_layout_take(j->net, j->g, j->target, p.log2_rows, &r);
    if (error)
        return error;
    for (size_t i = 0; i < (size_t)1 << p.log2_rows; i++) /* repeats the last row as padding */
        sis__row_layout_feed(j->g, r, i,
                             j->batch->rows + (p.row + (i < p.n ? i : p.n - 1)) * j->g->n_values);
    error = sis__run_forward(r);
    if (!error)
        collect(j, r, &p);
    sis__row_layout_give(j->net, j->g, j->target, p.log2_rows, r);
    return error;
}

static int run_job(job *j) {
    int error = sis__batch_check(j->net, j->batch, &j->g);
    if (error)
        return error;
    size_t pieces = sis__pieces(j->g->chunk, j->batch->n_rows, 1);
    error = sis__parallel(j->batch->jobs, pieces, run_piece, j);
    sis__row_layout_done(j->net, j->g);
    return error;
}

int sis_net_batch_outputs(const sis_net *net, const sis_net_batch *batch, size_t *n) {
    sis__row_layout *g;
    int error = sis__batch_check(net, batch, &g);
    if (error)
        return error;
    *n = g->n_outputs;
    sis__row_layout_done(net, g);
    return SIS_OK;
}

int sis_net_forward(const sis_net *net, const sis_net_batch *batch, float *scores) {
    job j = {.net = net, .batch = batch, .target = SIS__SCORES, .scores = scores};
    return run_job(&j);
}

int sis_net_margins(const sis_net *net, const sis_net_batch *batch, double *margins) {
    job j = {.net = net, .batch = batch, .target = SIS__MARGINS, .margins = margins};
    return run_job(&j);
}
