/* SPDX-License-Identifier: MIT
 *
 * The trainer: checks its arguments, runs epochs, keeps the best weights, and builds the final
 * network from them. All randomness depends only on the seed and the number of the epoch or row,
 * not on a running generator, so that training can resume anywhere.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/rng.h"
#include "net/plan/net.h"
#include "train/train.h"

enum { JUDGED_AT_ONCE = 32 * SIS__SHARD_ROWS };

/* ---- Checks ---------------------------------------------------------------------------------- */

static size_t row_values(const sis_arch *a) {
    return strcmp(a->name, "dna-cnn") == 0 ? 4 * a->inputs : a->inputs;
}

static int check_row(const sis_trainer *t, const float *row, size_t i, const char *what) {
    for (size_t j = 0; j < row_values(&t->arch); j++) {
        float v = row[j];
        if (!isfinite(v))
            return sis__fail(SIS_E_ARGUMENT, "%s row %zu: value %zu is not finite", what, i, j);
        if (t->arch.words && (v < 0 || v >= (float)t->arch.words || v != floorf(v)))
            return sis__fail(SIS_E_ARGUMENT,
                             "%s row %zu: %g at position %zu is not a token of a "
                             "vocabulary of %zu",
                             what, i, (double)v, j, t->arch.words);
    }
    return SIS_OK;
}

static int check_target(const sis_trainer *t, float v, size_t i, const char *what) {
    if (t->opt.loss == SIS_LOSS_CROSS_ENTROPY) {
        if (!(v >= 0 && v < (float)t->arch.outputs && v == floorf(v)))
            return sis__fail(SIS_E_ARGUMENT, "%s row %zu: class %g, expected 0 to %zu", what, i,
                             (double)v, t->arch.outputs - 1);
    } else if (!isfinite(v) || (!t->arch.plain_output && !(v >= 0 && v <= 1))) {
        return sis__fail(SIS_E_ARGUMENT, "%s row %zu: target %g, expected a number%s", what, i,
                         (double)v, t->arch.plain_output ? "" : " between 0 and 1");
    }
    return SIS_OK;
}

static int check_examples(const sis_trainer *t, const sis_examples *e, const char *what) {
    size_t per = t->opt.loss == SIS_LOSS_CROSS_ENTROPY ? 1 : t->arch.outputs;
    int error = SIS_OK;
    if (e->n == 0)
        return sis__fail(SIS_E_ARGUMENT, "no %s rows", what);
    if (e->n_values != row_values(&t->arch))
        return sis__fail(SIS_E_ARGUMENT, "%s rows have %zu values, but %s takes %zu", what,
                         e->n_values, t->arch.name, row_values(&t->arch));
    for (size_t i = 0; i < e->n && !error; i++) {
        error = check_row(t, e->rows + i * e->n_values, i, what);
        for (size_t k = 0; k < per && !error; k++)
            error = check_target(t, e->targets[i * per + k], i, what);
    }
    return error;
}

static int check_loss(const sis_arch *a, sis_loss loss) {
    if (loss == SIS_LOSS_CROSS_ENTROPY && (a->outputs < 2 || a->plain_output))
        return sis__fail(SIS_E_ARGUMENT, "cross-entropy needs classes, at least two of them");
    if (loss == SIS_LOSS_BINARY && (a->outputs != 1 || a->plain_output))
        return sis__fail(SIS_E_ARGUMENT, "binary cross-entropy needs one probability");
    return SIS_OK;
}

/* ---- Making one ------------------------------------------------------------------------------ */

static int is_trained(const char *name) {
    return strncmp(name, SIS__DROP_PREFIX, strlen(SIS__DROP_PREFIX)) != 0 &&
           strncmp(name, SIS__STATE_PREFIX, strlen(SIS__STATE_PREFIX)) != 0;
}

static void place_param(sis_trainer *t, int value, size_t count) {
    sis__trained *p = &t->weights.params[t->weights.n_params++];
    *p = (sis__trained){.value = value, .at = t->weights.n_all, .count = count};
    p->w = (float *)(uintptr_t)t->weights.net->graph.values[value].data;
    t->weights.n_all += count;
}

/* Find the trained parameters, the embedding last. */
static int find_params(sis_trainer *t) {
    size_t n = sis_net_params(t->weights.net);
    t->weights.params = SIS_NEW(sis__trained, n);
    if (!t->weights.params)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++) {
        sis_net_param p;
        int value = sis__net_param(t->weights.net, i);
        sis_net_param_get(t->weights.net, i, &p);
        if (value != t->weights.net->embedding && is_trained(p.name))
            place_param(t, value, p.count);
    }
    t->weights.n_dense = t->weights.n_all;
    t->weights.embedding = -1;
    if (t->weights.net->embedding >= 0) {
        t->weights.embedding = (int)t->weights.n_params;
        place_param(t, t->weights.net->embedding, t->arch.words * t->arch.dim);
    }
    return SIS_OK;
}

static int cut_parts(sis_trainer *t) {
    size_t n = 0;
    for (size_t i = 0; i < t->weights.n_params; i++)
        n += (t->weights.params[i].count + SIS__PART_SIZE - 1) / SIS__PART_SIZE;
    t->weights.parts = SIS_NEW(sis__param_part, n);
    if (!t->weights.parts)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < t->weights.n_params; i++)
        for (size_t from = 0; from < t->weights.params[i].count; from += SIS__PART_SIZE) {
            size_t rest = t->weights.params[i].count - from;
            t->weights.parts[t->weights.n_parts++] =
                (sis__param_part){i, from, rest < SIS__PART_SIZE ? rest : SIS__PART_SIZE};
        }
    return SIS_OK;
}

/* Mean and 1 / standard deviation of every column; 1 where a column is constant. */
static int measure_columns(sis_trainer *t) {
    size_t k = t->train->n_values, n = t->train->n;
    t->weights.mean = SIS_NEW(float, k);
    t->weights.scale = SIS_NEW(float, k);
    if (!t->weights.mean || !t->weights.scale)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < k; j++) {
        double mean = 0, square = 0;
        for (size_t i = 0; i < n; i++)
            mean += t->train->rows[i * k + j] / (double)n;
        for (size_t i = 0; i < n; i++) {
            double off = t->train->rows[i * k + j] - mean;
            square += off * off / (double)n;
        }
        t->weights.mean[j] = (float)mean;
        t->weights.scale[j] = square > 1e-12 * (1 + mean * mean) ? (float)(1 / sqrt(square)) : 1.0f;
    }
    return SIS_OK;
}

static int allocate(sis_trainer *t) {
    for (size_t i = 0; i < sis__optimizer_slots(&t->opt); i++)
        if (!(t->weights.slots[i] = SIS_NEW(float, t->weights.n_all)))
            return SIS_E_NOMEM;
    size_t batch = t->opt.batch > JUDGED_AT_ONCE ? t->opt.batch : JUDGED_AT_ONCE;
    t->weights.best = SIS_NEW(float, t->weights.n_all);
    t->pass.memory = SIS_NEW(sis__memory, (size_t)t->jobs);
    t->pass.order = SIS_NEW(size_t, t->train->n);
    t->pass.batch = SIS_NEW(size_t, batch);
    if (t->weights.embedding >= 0)
        t->weights.d_embedding = SIS_NEW(float, t->arch.words * t->arch.dim);
    return t->weights.best && t->pass.memory && t->pass.order && t->pass.batch &&
                   (t->weights.embedding < 0 || t->weights.d_embedding)
               ? SIS_OK
               : SIS_E_NOMEM;
}

static int build(sis_trainer *t) {
    int error = check_loss(&t->arch, t->opt.loss);
    if (!error)
        error = sis__arch_build(&t->arch, t->opt.seed, 1, &t->weights.net);
    if (!error)
        error = check_examples(t, t->train, "training");
    if (!error && t->valid)
        error = check_examples(t, t->valid, "validation");
    if (!error)
        error = find_params(t);
    if (!error)
        error = cut_parts(t);
    if (!error && t->arch.standardize)
        error = measure_columns(t);
    if (!error)
        error = allocate(t);
    return error ? error : sis__padding_new(t);
}

int sis_trainer_new(const sis_arch *arch, const sis_train_opt *opt, const sis_examples *train,
                    const sis_examples *valid, sis_trainer **out) {
    const char *wrong = sis_arch_check(arch);
    *out = NULL;
    wrong = wrong ? wrong : sis_train_opt_check(opt);
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s", wrong);
    sis_trainer *t = SIS_NEW(sis_trainer, 1);
    if (!t)
        return SIS_E_NOMEM;
    t->arch = *arch;
    t->opt = *opt;
    t->jobs = opt->jobs > 0 ? opt->jobs : sis__cores();
    t->train_copy = *train;
    t->train = &t->train_copy;
    if (valid) {
        t->valid_copy = *valid;
        t->valid = &t->valid_copy;
    }
    t->at.best_epoch = SIZE_MAX;
    int error = build(t);
    if (error) {
        sis_trainer_free(t);
        return error;
    }
    *out = t;
    return SIS_OK;
}

void sis_trainer_free(sis_trainer *t) {
    if (!t)
        return;
    sis__shards_free(t);
    sis__padding_free(&t->pass.padding);
    for (int i = 0; t->pass.memory && i < t->jobs; i++)
        sis__memory_release(&t->pass.memory[i]);
    free(t->pass.memory);
    free(t->weights.slots[0]);
    free(t->weights.slots[1]);
    free(t->weights.best);
    free(t->weights.d_embedding);
    free(t->weights.mean);
    free(t->weights.scale);
    free(t->pass.order);
    free(t->pass.batch);
    free(t->weights.parts);
    free(t->weights.params);
    free(t->at.curve);
    sis_net_free(t->weights.net);
    free(t);
}

/* ---- Judging --------------------------------------------------------------------------------- */

/* Copy the shards' results to the places of their rows. */
static void collect(const sis_trainer *t, double *scores, double *losses) {
    size_t k = t->arch.outputs;
    for (size_t i = 0; i < t->pass.used_shards; i++) {
        const sis__shard *s = &t->pass.shards[i];
        for (size_t j = 0; j < s->n; j++) {
            losses[s->rows[j]] = s->losses[j];
            memcpy(scores + s->rows[j] * k, s->scores + j * k, k * sizeof *scores);
        }
    }
}

/* Evaluate the current weights. */
static int judge(sis_trainer *t, const sis_examples *e, sis_fit *fit) {
    size_t k = t->arch.outputs;
    double *scores = SIS_NEW(double, e->n *k), *losses = SIS_NEW(double, e->n);
    int error = scores && losses ? SIS_OK : SIS_E_NOMEM;
    t->pass.now = e;
    t->pass.learning = 0;
    for (size_t from = 0; from < e->n && !error; from += JUDGED_AT_ONCE) {
        size_t n = e->n - from < JUDGED_AT_ONCE ? e->n - from : JUDGED_AT_ONCE;
        for (size_t i = 0; i < n; i++)
            t->pass.batch[i] = from + i;
        error = sis__train_forward(t, t->pass.batch, n, from);
        if (!error)
            collect(t, scores, losses);
    }
    if (!error)
        error = sis__fit_measure(&(sis__judged){e, scores, losses, k, t->opt.loss}, fit);
    free(scores);
    free(losses);
    return error;
}

/* Swap the weights with those of the best epoch. */
static void swap_best(sis_trainer *t) {
    for (size_t i = 0; i < t->weights.n_params; i++) {
        float *w = t->weights.params[i].w, *best = t->weights.best + t->weights.params[i].at;
        for (size_t j = 0; j < t->weights.params[i].count; j++) {
            float kept = w[j];
            w[j] = best[j];
            best[j] = kept;
        }
    }
}

int sis_trainer_evaluate(sis_trainer *t, const sis_examples *e, sis_fit *fit) {
    int error = check_examples(t, e, "test");
    if (error)
        return error;
    int swap = t->at.best_epoch != SIZE_MAX;
    if (swap)
        swap_best(t);
    error = judge(t, e, fit);
    if (swap)
        swap_best(t);
    return error;
}

/* ---- Epochs ---------------------------------------------------------------------------------- */

/* The order of rows in this epoch, from the seed and the epoch's number. */
static void shuffle(sis_trainer *t) {
    sis__rng r;
    sis__rng_init(&r, t->opt.seed * 0x9e3779b97f4a7c15u + t->at.epoch + 1);
    for (size_t i = 0; i < t->train->n; i++)
        t->pass.order[i] = i;
    for (size_t i = t->train->n; i > 1; i--) {
        size_t j = sis__rng_below(&r, i), kept = t->pass.order[i - 1];
        t->pass.order[i - 1] = t->pass.order[j];
        t->pass.order[j] = kept;
    }
}

static int one_batch(sis_trainer *t) {
    size_t rest = t->train->n - t->at.done, n = rest < t->opt.batch ? rest : t->opt.batch;
    memcpy(t->pass.batch, t->pass.order + t->at.done, n * sizeof *t->pass.batch);
    t->pass.now = t->train;
    t->pass.learning = 1;
    int error = sis__train_update(t, t->pass.batch, n, t->at.done);
    if (error)
        return error;
    double sum = 0;
    for (size_t i = 0; i < t->pass.used_shards; i++)
        for (size_t j = 0; j < t->pass.shards[i].n; j++)
            sum += t->pass.shards[i].losses[j];
    if (!isfinite(sum))
        return sis__fail(SIS_E_NAN,
                         "the loss is not finite after %zu updates; use a learning "
                         "rate below %g, or remove extreme values from the data",
                         t->at.step, t->opt.rate);
    t->at.loss_sum += sum;
    t->at.done += n;
    return SIS_OK;
}

static int all_batches(sis_trainer *t) {
    int error = SIS_OK;
    while (t->at.done < t->train->n && !error) {
        double began = sis__seconds();
        error = one_batch(t);
        t->at.seconds += sis__seconds() - began;
        if (!error && t->opt.progress &&
            t->opt.progress(t->opt.progress_ctx, t->at.done, t->train->n,
                            t->at.loss_sum / (double)t->at.done) != 0)
            error = sis__fail(SIS_E_CANCELLED, "the training was stopped");
    }
    return error;
}

void sis__keep_weights(sis_trainer *t, size_t epoch) {
    for (size_t i = 0; i < t->weights.n_params; i++)
        memcpy(t->weights.best + t->weights.params[i].at, t->weights.params[i].w,
               t->weights.params[i].count * sizeof(float));
    t->at.best_epoch = epoch;
}

int sis_trainer_epoch(sis_trainer *t) {
    int error = sis__reserve(&t->at.curve, &t->at.cap_curve, t->at.epoch + 1, sizeof *t->at.curve);
    if (error)
        return error;
    shuffle(t);
    if ((error = all_batches(t)) != 0)
        return error;
    sis_epoch *e = &t->at.curve[t->at.epoch];
    double began = sis__seconds();
    *e = (sis_epoch){.loss = t->at.loss_sum / (double)t->train->n};
    if (t->valid && (error = judge(t, t->valid, &e->valid)) != 0)
        return error;
    e->seconds = t->at.seconds + sis__seconds() - began;
    if (!t->valid || t->opt.keep_last || t->at.best_epoch == SIZE_MAX ||
        e->valid.loss < t->at.curve[t->at.best_epoch].valid.loss)
        sis__keep_weights(t, t->at.epoch);
    t->at.epoch++;
    t->at.done = 0;
    t->at.loss_sum = t->at.seconds = 0;
    return SIS_OK;
}

int sis_trainer_done(const sis_trainer *t) {
    return t->at.epoch >= t->opt.epochs ||
           (t->valid && t->at.best_epoch != SIZE_MAX && t->opt.patience &&
            t->at.epoch > t->at.best_epoch + t->opt.patience);
}

const sis_epoch *sis_trainer_curve(const sis_trainer *t, size_t *n) {
    if (n)
        *n = t->at.epoch;
    return t->at.curve;
}

size_t sis_trainer_best(const sis_trainer *t) {
    return t->at.best_epoch;
}

/* ---- The network at the end ------------------------------------------------------------------ */

static const sis__trained *trained_of(const sis_trainer *t, const char *name) {
    for (size_t i = 0; i < t->weights.n_params; i++)
        if (strcmp(t->weights.net->graph.values[t->weights.params[i].value].name, name) == 0)
            return &t->weights.params[i];
    return NULL;
}

/* Fold standardization into the first layer: w (x - mean) scale + b = (w scale) x + (b - (w scale)
 * mean). `first`: its weights or bias of the best epoch, changed here. */
static void fold_columns(const sis_trainer *t, const char *name, float *values, size_t count) {
    size_t k = t->arch.inputs;
    const sis__trained *w = trained_of(t, "d1.w");
    const float *weights = t->weights.best + w->at;
    if (strcmp(name, "d1.w") == 0)
        for (size_t i = 0; i < count; i++)
            values[i] *= t->weights.scale[i % k];
    if (strcmp(name, "d1.b") == 0)
        for (size_t o = 0; o < count; o++) {
            double b = values[o];
            for (size_t i = 0; i < k; i++)
                b -= (double)weights[o * k + i] * t->weights.scale[i] * t->weights.mean[i];
            values[o] = (float)b;
        }
}

static int copy_param(const sis_trainer *t, sis_net *net, size_t i) {
    sis_net_param p;
    int error = sis_net_param_get(net, i, &p);
    const sis__trained *from = error ? NULL : trained_of(t, p.name);
    if (!from)
        return error ? error : sis__fail(SIS_E_ARGUMENT, "unknown parameter %s", p.name);
    float *values = (float *)sis__copy(t->weights.best + from->at, p.count, sizeof *values);
    if (!values)
        return SIS_E_NOMEM;
    if (t->weights.mean)
        fold_columns(t, p.name, values, p.count);
    error = sis_net_param_set(net, i, values);
    free(values);
    return error;
}

int sis_trainer_finish(sis_trainer *t, sis_net **net) {
    *net = NULL;
    if (t->at.best_epoch == SIZE_MAX)
        return sis__fail(SIS_E_ARGUMENT, "no epoch is complete yet");
    int error = sis__arch_build(&t->arch, t->opt.seed, 0, net);
    for (size_t i = 0; !error && i < sis_net_params(*net); i++)
        error = copy_param(t, *net, i);
    if (error) {
        sis_net_free(*net);
        *net = NULL;
    }
    return error;
}
