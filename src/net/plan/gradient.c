/* SPDX-License-Identifier: MIT
 *
 * Gradients of scores or margins with respect to rows and parameters.
 *
 * Pieces of the batch run on several threads, in waves of one piece per thread. After a wave, the
 * gradients of parameters are added piece by piece in the order of rows, so the sums are the same
 * for any number of threads.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "net/kernels/kernels.h"
#include "net/plan/forward.h"
#include "net/plan/net.h"
#include "net/plan/row_layout.h"

enum { MAX_ROWS = 32 };

typedef struct {
    const sis_net *net;
    const sis_net_batch *batch;
    const sis_net_grad *grad;
    sis__row_layout *g;
    sis__target target;
    int output; /* value where the gradient starts */
    size_t chunk;
    size_t first;    /* first piece of this wave */
    sis__run **runs; /* (jobs) of this wave */
} job;

static double seed(const job *j, size_t row, size_t output) {
    const float *w = j->grad->weights;
    return w ? w[row * j->g->n_outputs + output] : output == j->grad->output;
}

/* d(sum of seeds * margins) / dz of one row: for a softmax margin c, 1 at z_c and minus the softmax
 * over the others elsewhere. */
static void seed_margins(const job *j, size_t row, const float *z, float *dz) {
    size_t k = j->g->n_outputs;
    int softmax = sis__net_softmax(j->net);
    for (size_t i = 0; i < k; i++)
        dz[i] = (float)seed(j, row, i);
    for (size_t c = 0; softmax && c < k; c++) {
        double weight = seed(j, row, c), rest;
        sis__kernels_best()->log_rest(z, 1, k, c, &rest, 1);
        for (size_t i = 0; weight != 0 && i < k; i++)
            if (i != c)
                dz[i] -= (float)(weight * exp(z[i] - rest));
    }
}

static int run_piece(void *ctx, size_t item, int worker) {
    const job *j = (const job *)ctx;
    (void)worker;
    sis__piece p = sis__piece_at(j->chunk, j->batch->n_rows, 0, j->first + item);
    size_t k = j->g->n_outputs;
    int error = sis__row_layout_take(j->net, j->g, j->target, p.log2_rows, &j->runs[item]);
    if (error)
        return error;
    sis__run *r = j->runs[item];
    float *dy = r->grad[j->output], *dx = r->grad[j->g->start];
    if (!dy || (j->grad->d_rows && !dx))
        return sis__fail(SIS_E_UNSUPPORTED, "the model's scores have no gradient in its input%s",
                         j->net->embedding >= 0 ? "; take it in the embeddings" : "");
    for (size_t i = 0; i < p.n; i++)
        sis__row_layout_feed(j->g, r, i, j->batch->rows + (p.row + i) * j->g->n_values);
    if ((error = sis__run_forward(r)) != 0)
        return error;
    const float *y = (const float *)r->data[j->output];
    for (size_t i = 0; i < p.n; i++) {
        if (j->grad->of_margins)
            seed_margins(j, p.row + i, y + i * k, dy + i * k);
        for (size_t c = 0; !j->grad->of_margins && c < k; c++)
            dy[i * k + c] = (float)seed(j, p.row + i, c);
    }
    if (j->g->fixed) /* padding rows of a fixed batch */
        memset(dy + p.n * k, 0, (j->g->fixed - p.n) * k * sizeof *dy);
    if ((error = sis__run_backward(r)) == 0 && j->grad->d_rows)
        memcpy(j->grad->d_rows + p.row * j->g->n_values, dx, p.n * j->g->n_values * sizeof *dx);
    return error;
}

/* Add one run's gradients of parameters to the caller's. */
static void add_params(const job *j, const sis__run *r) {
    size_t n = j->grad->d_params ? sis_net_params(j->net) : 0;
    for (size_t i = 0; i < n; i++) {
        int id = sis__net_param(j->net, i);
        const float *from = r->grad[id];
        float *to = j->grad->d_params[i];
        for (size_t v = 0; from && to && v < r->plan->tensors[id].count; v++)
            to[v] += from[v];
    }
}

static int run_wave(job *j, size_t n) {
    int error = sis__parallel(j->batch->jobs, n, run_piece, j);
    for (size_t i = 0; i < n; i++) {
        if (!j->runs[i])
            continue;
        if (!error)
            add_params(j, j->runs[i]);
        int log2_rows = sis__piece_at(j->chunk, j->batch->n_rows, 0, j->first + i).log2_rows;
        sis__row_layout_give(j->net, j->g, j->target, log2_rows, j->runs[i]);
        j->runs[i] = NULL;
    }
    return error;
}

int sis_net_gradient(const sis_net *net, const sis_net_batch *batch, const sis_net_grad *grad) {
    job j = {.net = net, .batch = batch, .grad = grad};
    size_t jobs = batch->jobs > 1 ? (size_t)batch->jobs : 1;
    int error = sis__batch_check(net, batch, &j.g);
    if (error)
        return error;
    if (j.g->by_value)
        error = sis__fail(SIS_E_UNSUPPORTED, "the model's shapes depend on its input: no gradient");
    else if (j.g->whole)
        error = sis__fail(SIS_E_UNSUPPORTED, "the model's outputs are integers: no gradient");
    if (!error && !grad->weights && grad->output >= j.g->n_outputs)
        error = sis__fail(SIS_E_ARGUMENT, "output %zu of a model with %zu", grad->output,
                          j.g->n_outputs);
    if (grad->d_params)
        j.target = grad->of_margins ? SIS__MARGIN_GRADIENT : SIS__SCORE_GRADIENT;
    else
        j.target = grad->of_margins ? SIS__MARGIN_SLOPES : SIS__SCORE_SLOPES;
    j.output = grad->of_margins ? net->pre_output : net->output;
    j.chunk = j.g->chunk < MAX_ROWS ? j.g->chunk : MAX_ROWS;
    j.runs = SIS_NEW(sis__run *, jobs);
    if (!error && !j.runs)
        error = SIS_E_NOMEM;
    for (size_t total = sis__pieces(j.chunk, batch->n_rows, 0); j.first < total && !error;
         j.first += jobs)
        error = run_wave(&j, total - j.first < jobs ? total - j.first : jobs);
    free((void *)j.runs);
    sis__row_layout_done(net, j.g);
    return error;
}
