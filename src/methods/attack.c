/* SPDX-License-Identifier: MIT
 *
 * Carlini and Wagner's L2 attack. Rows are attacked in batches, because a network runs many rows
 * faster than one at a time. Each row has its own constant and state, and each batch runs on one
 * thread; a row's result depends neither on other rows nor on the number of threads.
 *
 * A step costs a forward pass for every row that still moves, and a gradient for those where the
 * target does not yet lead by the confidence. The other rows are only pulled back to the input.
 *
 * Networks return margins, log(p / (1 - p)). Differences of logits z are differences of log p,
 * computed as -log(1 + exp(-margin)), which stays accurate for p close to 1.
 */
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <sis/attack.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"

enum { BATCH = 16, CHECKS = 10 }; /* rows per batch; progress checks per search */
static const double CONSTANT_MAX = 1e10, EDGE = 0.999999;

void sis_attack_opt_init(sis_attack_opt *opt) {
    *opt = (sis_attack_opt){
        .high = 1, .rate = 0.05, .constant = 1, .searches = 6, .steps = 300, .jobs = 1};
}

static int positive(double v) {
    return v > 0 && isfinite(v);
}

const char *sis_attack_opt_check(const sis_attack_opt *opt) {
    if (!(opt->confidence >= 0) || isinf(opt->confidence))
        return "the confidence must be 0 or more";
    if (!isfinite(opt->low) || !isfinite(opt->high) || !(opt->low < opt->high))
        return "the box needs a low end below its high end";
    if (!positive(opt->rate) || !positive(opt->constant))
        return "rate and constant must be above 0";
    if (opt->searches < 1 || opt->searches > 1000 || opt->steps < 1 || opt->steps > 10000000)
        return "an attack needs 1 to 1000 searches of 1 to 10,000,000 steps";
    if (opt->jobs < 0 || opt->jobs > 1024)
        return "jobs must be between 0 (one per core) and 1024";
    return NULL;
}

void sis_attack_result_release(sis_attack_result *r) {
    if (!r)
        return;
    free(r->values);
    *r = (sis_attack_result){0};
}

/* State of one row. */
typedef struct {
    const double *x;
    size_t target;
    sis_attack_result *out;
    double constant, low, high; /* of the binary search */
    double *w, *mean, *square;  /* (n) Adam's variable and moments */
    float *now;                 /* (n) the current point */
    double best;                /* squared distance of the best point so far */
    double lead, squared;       /* of the current point */
    size_t rival;               /* the largest other output */
    double last_loss;
    int moving, led; /* in this search: still improving; target reached */
} row;

/* Shared by the threads. */
typedef struct {
    const sis_net *net;
    const sis_attack_opt *opt;
    const double *rows; /* (n, values) */
    const size_t *targets;
    size_t n;
    sis_attack_result *out; /* (n) */
    struct attack *workers;
    sis_progress reported;
    double when; /* of the last progress report */
    pthread_mutex_t lock;
} campaign;

/* A batch, on one thread. */
typedef struct attack {
    campaign *all;
    const sis_net *net;
    const sis_attack_opt *opt;
    size_t n, outputs; /* values, outputs */
    row rows[BATCH];
    size_t count;
    size_t moving[BATCH], n_moving;
    float *points;      /* (BATCH, n) */
    float *slopes;      /* (BATCH, n) */
    double *margins;    /* (BATCH, outputs) */
    float *weights;     /* (BATCH, outputs) */
    double *memory;     /* of the rows */
    float *floats;      /* likewise */
    size_t evaluations; /* not reported yet */
} attack;

/* ---- The loss ------------------------------------------------------------------------------ */

/* log p, or the score itself if the network has no link. */
static double log_score(const attack *a, double margin) {
    if (!sis_net_has_link(a->net))
        return margin;
    return margin > 0 ? -log1p(exp(-margin)) : margin - log1p(exp(margin));
}

/* d log_score / d margin */
static double log_slope(const attack *a, double margin) {
    return sis_net_has_link(a->net) ? sis_net_link(-margin) : 1;
}

/* By how much the target leads, and over which output. */
static void measure_lead(const attack *a, row *r, const double *margins) {
    if (a->outputs == 1) {
        r->lead = r->target ? margins[0] : -margins[0];
        return;
    }
    double best = -INFINITY;
    for (size_t k = 0; k < a->outputs; k++) {
        double v = log_score(a, margins[k]);
        if (k != r->target && v > best) {
            best = v;
            r->rival = k;
        }
    }
    r->lead = log_score(a, margins[r->target]) - best;
}

/* Weights on margins whose gradient is that of (rival's z - target's z). */
static void weigh(const attack *a, const row *r, const double *margins, float *weights) {
    memset(weights, 0, a->outputs * sizeof *weights);
    if (a->outputs == 1) {
        weights[0] = r->target ? -1.0F : 1.0F;
        return;
    }
    weights[r->target] = -(float)log_slope(a, margins[r->target]);
    weights[r->rival] = (float)log_slope(a, margins[r->rival]);
}

static double loss_of(const attack *a, const row *r) {
    double behind = -r->lead, min = -a->opt->confidence;
    return r->squared + r->constant * (behind > min ? behind : min);
}

/* ---- One step ------------------------------------------------------------------------------ */

/* From w to the point in the box, and its distance. */
static void place(const attack *a, row *r) {
    double middle = (a->opt->high + a->opt->low) / 2, half = (a->opt->high - a->opt->low) / 2;
    r->squared = 0;
    for (size_t i = 0; i < a->n; i++) {
        r->now[i] = (float)(middle + half * tanh(r->w[i]));
        double d = r->now[i] - r->x[i];
        r->squared += d * d;
    }
}

static sis_net_batch batch_of(const attack *a, size_t n) {
    return (sis_net_batch){.rows = a->points, .n_rows = n, .n_values = a->n, .jobs = 1};
}

/* Evaluate the moving rows and keep the best points. */
static int look(attack *a) {
    for (size_t k = 0; k < a->n_moving; k++) {
        row *r = &a->rows[a->moving[k]];
        place(a, r);
        memcpy(a->points + k * a->n, r->now, a->n * sizeof *r->now);
    }
    sis_net_batch batch = batch_of(a, a->n_moving);
    int error = sis_net_margins(a->net, &batch, a->margins);
    a->evaluations += a->n_moving;
    for (size_t k = 0; error == SIS_OK && k < a->n_moving; k++) {
        row *r = &a->rows[a->moving[k]];
        measure_lead(a, r, a->margins + k * a->outputs);
        if (isnan(r->lead))
            return sis__fail(SIS_E_NAN, "the network returned NaN");
        if (r->lead < a->opt->confidence)
            continue;
        r->led = 1;
        if (r->squared < r->best) {
            r->best = r->squared;
            memcpy(r->out->values, r->now, a->n * sizeof *r->now);
            r->out->reached = 1;
            r->out->lead = r->lead;
            r->out->constant = r->constant;
        }
    }
    return error;
}

/* Gradients of the second term for the rows where the target does not lead, in the order of
 * `moving`; zeros for the others. */
static int slope(attack *a) {
    size_t behind[BATCH], n = 0;
    memset(a->slopes, 0, BATCH * a->n * sizeof *a->slopes);
    for (size_t k = 0; k < a->n_moving; k++) {
        const row *r = &a->rows[a->moving[k]];
        if (r->lead >= a->opt->confidence)
            continue;
        weigh(a, r, a->margins + k * a->outputs, a->weights + n * a->outputs);
        memmove(a->points + n * a->n, a->points + k * a->n, a->n * sizeof *a->points);
        behind[n++] = k;
    }
    if (n == 0)
        return SIS_OK;
    sis_net_batch batch = batch_of(a, n);
    sis_net_grad grad = {.weights = a->weights, .of_margins = 1, .d_rows = a->slopes};
    int error = sis_net_gradient(a->net, &batch, &grad);
    a->evaluations += n;
    for (size_t i = n; error == SIS_OK && i-- > 0;) /* move to their places, last first */
        if (behind[i] != i) {
            memcpy(a->slopes + behind[i] * a->n, a->slopes + i * a->n, a->n * sizeof *a->slopes);
            memset(a->slopes + i * a->n, 0, a->n * sizeof *a->slopes);
        }
    return error;
}

/* Adam on w: step number t, from 1. */
static void descend(const attack *a, row *r, const float *slopes, size_t t) {
    const double b1 = 0.9, b2 = 0.999, half = (a->opt->high - a->opt->low) / 2;
    double c1 = 1 - pow(b1, (double)t), c2 = 1 - pow(b2, (double)t);
    for (size_t i = 0; i < a->n; i++) {
        double flat = tanh(r->w[i]);
        double dx = 2 * (r->now[i] - r->x[i]) + r->constant * slopes[i];
        double dw = dx * half * (1 - flat * flat);
        r->mean[i] = b1 * r->mean[i] + (1 - b1) * dw;
        r->square[i] = b2 * r->square[i] + (1 - b2) * dw * dw;
        r->w[i] -= a->opt->rate * (r->mean[i] / c1) / (sqrt(r->square[i] / c2) + 1e-8);
    }
}

/* ---- One search ---------------------------------------------------------------------------- */

/* Restart at the input. */
static void restart(const attack *a, row *r) {
    double middle = (a->opt->high + a->opt->low) / 2, half = (a->opt->high - a->opt->low) / 2;
    for (size_t i = 0; i < a->n; i++)
        r->w[i] = atanh((r->x[i] - middle) / half * EDGE);
    memset(r->mean, 0, a->n * sizeof *r->mean);
    memset(r->square, 0, a->n * sizeof *r->square);
    r->moving = 1;
    r->led = 0;
    r->last_loss = INFINITY;
}

/* Stop the rows whose loss has not fallen since the last check. */
static void drop_stuck(attack *a) {
    size_t kept = 0;
    for (size_t k = 0; k < a->n_moving; k++) {
        row *r = &a->rows[a->moving[k]];
        double loss = loss_of(a, r);
        r->moving = loss <= 0.9999 * r->last_loss;
        r->last_loss = loss;
        if (r->moving)
            a->moving[kept++] = a->moving[k];
    }
    a->n_moving = kept;
}

static const double EVERY = 0.05; /* seconds between reports of progress */

static int tell(attack *a, double part, size_t done) {
    campaign *c = a->all;
    int stop = 0;
    pthread_mutex_lock(&c->lock);
    c->reported.evaluations += a->evaluations;
    c->reported.inputs_done += done;
    c->reported.walk = c->reported.inputs_done == c->n ? 1 : part;
    if (a->opt->progress && (c->reported.inputs_done == c->n || sis__is_due(&c->when, EVERY)))
        stop = a->opt->progress(a->opt->progress_ctx, &c->reported);
    pthread_mutex_unlock(&c->lock);
    a->evaluations = 0;
    return stop ? sis__fail(SIS_E_CANCELLED, "cancelled") : SIS_OK;
}

/* Run one search for every row with its current constant. */
static int search(attack *a, size_t number) {
    size_t steps = a->opt->steps, often = steps / CHECKS ? steps / CHECKS : 1;
    a->n_moving = a->count;
    for (size_t k = 0; k < a->count; k++) {
        a->moving[k] = k;
        restart(a, &a->rows[k]);
    }
    int error = SIS_OK;
    for (size_t t = 1; error == SIS_OK && t <= steps + 1 && a->n_moving > 0; t++) {
        error = look(a);
        if (error != SIS_OK || t > steps)
            break; /* the last step has been evaluated */
        error = slope(a);
        for (size_t k = 0; error == SIS_OK && k < a->n_moving; k++)
            descend(a, &a->rows[a->moving[k]], a->slopes + k * a->n, t);
        if (error == SIS_OK && t % often == 0) {
            drop_stuck(a);
            error =
                tell(a, ((double)number + (double)t / (double)steps) / (double)a->opt->searches, 0);
        }
    }
    return error;
}

/* Decrease the constant if the target was reached, increase it otherwise. */
static void adjust(row *r) {
    if (r->led && r->constant < r->high)
        r->high = r->constant;
    else if (!r->led && r->constant > r->low)
        r->low = r->constant;
    r->constant = r->high < CONSTANT_MAX ? (r->low + r->high) / 2 : r->constant * 10;
}

/* ---- Batches ------------------------------------------------------------------------------- */

/* Give row k of the batch its memory and its input. */
static int begin_row(attack *a, size_t k, const double *x, size_t target, sis_attack_result *out) {
    row *r = &a->rows[k];
    *r = (row){.x = x,
               .target = target,
               .out = out,
               .constant = a->opt->constant,
               .high = CONSTANT_MAX,
               .best = INFINITY,
               .w = a->memory + k * 3 * a->n,
               .now = a->floats + k * a->n};
    r->mean = r->w + a->n;
    r->square = r->mean + a->n;
    out->values = SIS_NEW_RAW(float, a->n);
    for (size_t i = 0; out->values && i < a->n; i++)
        out->values[i] = (float)x[i];
    return out->values ? SIS_OK : SIS_E_NOMEM;
}

/* Return the input itself if nothing better was found. */
static int finish_row(attack *a, row *r) {
    if (r->out->reached) {
        r->out->distance = sqrt(r->best);
        return SIS_OK;
    }
    memcpy(a->points, r->out->values, a->n * sizeof *a->points);
    sis_net_batch batch = batch_of(a, 1);
    int error = sis_net_margins(a->net, &batch, a->margins);
    if (error == SIS_OK)
        measure_lead(a, r, a->margins);
    r->out->lead = r->lead;
    r->out->constant = r->constant;
    return error;
}

static int attack_batch(attack *a) {
    int error = SIS_OK;
    for (size_t s = 0; error == SIS_OK && s < a->opt->searches; s++) {
        error = search(a, s);
        for (size_t k = 0; k < a->count && s + 1 < a->opt->searches; k++)
            adjust(&a->rows[k]);
    }
    for (size_t k = 0; error == SIS_OK && k < a->count; k++)
        error = finish_row(a, &a->rows[k]);
    return error == SIS_OK ? tell(a, 0, a->count) : error;
}

static int run_batch(void *ctx, size_t item, int worker) {
    campaign *c = (campaign *)ctx;
    attack *a = &c->workers[worker];
    size_t first = item * BATCH;
    int error = SIS_OK;
    a->count = c->n - first < BATCH ? c->n - first : BATCH;
    for (size_t k = 0; error == SIS_OK && k < a->count; k++)
        error = begin_row(a, k, c->rows + (first + k) * a->n, c->targets[first + k],
                          &c->out[first + k]);
    return error == SIS_OK ? attack_batch(a) : error;
}

static int check(const sis_net *net, const double *rows, size_t n, const size_t *targets,
                 const sis_attack_opt *opt) {
    size_t width = sis_net_values(net), outputs = sis_net_outputs(net);
    const char *wrong = sis_attack_opt_check(opt);
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s", wrong);
    if (width == 0 || outputs == 0 || sis_net_integers(net) || sis_net_is_token(net))
        return sis__fail(SIS_E_UNSUPPORTED,
                         "an attack needs a network that takes a fixed number of "
                         "real values, such as an image");
    for (size_t i = 0; i < n; i++) {
        if (targets[i] >= (outputs == 1 ? 2 : outputs))
            return sis__fail(SIS_E_ARGUMENT,
                             "example %zu: no target %zu; the network has %zu outputs", i,
                             targets[i], outputs == 1 ? 2 : outputs);
        for (size_t v = i * width; v < (i + 1) * width; v++)
            if (!(rows[v] >= opt->low && rows[v] <= opt->high))
                return sis__fail(SIS_E_ARGUMENT,
                                 "example %zu: value %zu is %g, outside the box from %g to %g", i,
                                 v - i * width, rows[v], opt->low, opt->high);
    }
    return SIS_OK;
}

static int attack_init(attack *a, campaign *c) {
    *a = (attack){.all = c, .net = c->net, .opt = c->opt};
    a->n = sis_net_values(a->net);
    a->outputs = sis_net_outputs(a->net);
    a->points = (float *)sis__alloc(BATCH, a->n * sizeof(float));
    a->slopes = (float *)sis__alloc(BATCH, a->n * sizeof(float));
    a->floats = (float *)sis__alloc(BATCH, a->n * sizeof(float));
    a->memory = (double *)sis__alloc(BATCH, 3 * a->n * sizeof(double));
    a->margins = (double *)sis__alloc(BATCH, a->outputs * sizeof(double));
    a->weights = (float *)sis__alloc(BATCH, a->outputs * sizeof(float));
    return a->points && a->slopes && a->floats && a->memory && a->margins && a->weights
               ? SIS_OK
               : SIS_E_NOMEM;
}

static void attack_release(attack *a) {
    free(a->points);
    free(a->slopes);
    free(a->floats);
    free(a->memory);
    free(a->margins);
    free(a->weights);
}

int sis_attack(const sis_net *net, const double *rows, size_t n, const size_t *targets,
               const sis_attack_opt *opt, sis_attack_result *out) {
    memset(out, 0, n * sizeof *out);
    int error = check(net, rows, n, targets, opt);
    if (error != SIS_OK)
        return error;
    size_t batches = (n + BATCH - 1) / BATCH, jobs = (size_t)(opt->jobs ? opt->jobs : sis__cores());
    jobs = jobs < batches ? jobs : batches;
    campaign c = {.net = net, .opt = opt, .rows = rows, .targets = targets, .n = n, .out = out};
    c.reported.inputs = n;
    c.workers = SIS_NEW(attack, jobs);
    error = c.workers ? SIS_OK : SIS_E_NOMEM;
    pthread_mutex_init(&c.lock, NULL);
    for (size_t k = 0; error == SIS_OK && k < jobs; k++)
        error = attack_init(&c.workers[k], &c);
    if (error == SIS_OK)
        error = sis__parallel((int)jobs, batches, run_batch, &c);
    pthread_mutex_destroy(&c.lock);
    for (size_t k = 0; c.workers && k < jobs; k++)
        attack_release(&c.workers[k]);
    free(c.workers);
    for (size_t i = 0; error != SIS_OK && i < n; i++)
        sis_attack_result_release(&out[i]);
    return error;
}
