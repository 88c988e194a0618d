/* SPDX-License-Identifier: MIT
 *
 * Is the model a function of its input? Before a collection is reported, the model is asked again
 * about what it claims: the input, everything masked, each subset alone, the rest. A model with
 * dropout left on, one that samples, or a server with noise answers differently, and then nothing
 * that was found can be relied on.
 *
 *   - Each is asked alone. The input and the fully masked input were asked alone before: their
 *     answers must be equal, except for rounding (SLACK). Subsets and the rest may have been asked in
 *     a larger batch, and some runtimes round differently then (BATCH_SLACK, as in an audit). The
 *     decision must be the same.
 *   - If there are subsets, all are then asked in one batch, with the subsets without each one of
 *     their features. If there are few questions, they are repeated until the batch has ROWS_MIN
 *     rows. This finds models whose answer depends on other rows, and noise that gave the same
 *     answer twice by chance.
 *   - If an answer differs, even in its last digit, every claim must hold by more than the largest
 *     difference. A model that repeats its answers exactly may round differently in the batch.
 *
 *   - A model that says it is noisy (language models behind an address) may differ by any amount that every claim
 *     survives.
 *
 * Models with a walk of their own (networks and trees that the library runs) are functions by
 * construction and are not asked again. Cost for others: 3 calls, one for each subset, and one for
 * all.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "core/core.h"

/* Differences below these are rounding, relative to the largest score. */
static const double SLACK = 1e-6, BATCH_SLACK = 1e-4;

enum { ROWS_MIN = 16, ROWS_MAX = 256 };

typedef struct {
    enum { INPUT, MASKED, SUBSET, LESS, REST } about;
    const sis_subset *subset; /* SUBSET; LESS: without its feature at index `lost` */
    size_t lost;
    double score; /* the score in the collection; NaN: not asked yet (LESS) */
    int claimed;  /* its decision is part of the claim */
} question;

typedef struct {
    const sis_opt *opt;
    const sis_collection *c;
    sis_walk_state *s;
    question *q; /* (n) */
    size_t n;
    unsigned char *masked; /* (features) */
    double scale, noise;   /* the largest score and the largest difference so far */
    size_t before;         /* evaluations of the search */
} asker;

static int decided(const asker *a, double score) {
    return sis_decided(score, a->opt->threshold, a->opt->below);
}

/* Continue the count of evaluations of the search. */
static int report(void *ctx, const sis_progress *p) {
    const asker *a = (const asker *)ctx;
    sis_progress now = *p;
    now.evaluations += a->before;
    now.walk = 1;
    return a->opt->progress(a->opt->progress_ctx, &now);
}

/* ---- Questions ----------------------------------------------------------------------------- */

static void add(asker *a, question q) {
    a->q[a->n++] = q;
}

static int list_questions(asker *a) {
    const sis_collection *c = a->c;
    size_t max = 4 + c->n_subsets;
    for (size_t k = 0; k < c->n_subsets; k++)
        max += c->subsets[k].n;
    a->q = SIS_NEW(question, max);
    if (!a->q)
        return SIS_E_NOMEM;
    add(a, (question){.about = INPUT, .score = c->score, .claimed = 1});
    add(a, (question){.about = MASKED, .score = c->masked_score, .claimed = 1});
    for (size_t k = 0; k < c->n_subsets; k++) {
        const sis_subset *s = &c->subsets[k];
        add(a, (question){SUBSET, s, 0, s->score, c->claim != SIS_CLAIM_NOTHING});
        for (size_t i = 0; i < s->n && c->claim == SIS_CLAIM_MINIMAL; i++)
            add(a, (question){LESS, s, i, NAN, 1});
    }
    if (c->bound.n)
        add(a, (question){SUBSET, &c->bound, 0, c->bound.score, 1});
    if (c->n_subsets)
        add(a, (question){.about = REST, .score = c->rest_score, .claimed = c->complete});
    return SIS_OK;
}

/* Set a->masked to the features that the question masks. */
static void mask_for(asker *a, const question *q) {
    const sis__prepared_input *f = &a->s->features;
    if (q->about == INPUT || q->about == REST)
        memcpy(a->masked, f->absent, f->n);
    else
        memset(a->masked, 1, f->n);
    for (size_t i = 0; q->subset && i < q->subset->n; i++)
        a->masked[q->subset->features[i]] = q->about == LESS && i == q->lost;
    for (size_t k = 0; q->about == REST && k < a->c->n_subsets; k++)
        for (size_t i = 0; i < a->c->subsets[k].n; i++)
            a->masked[a->c->subsets[k].features[i]] = 1;
}

/* Accept another answer if it is within `slack` of the score, or the model is noisy, and it gives the same decision. */
static int compare(asker *a, const question *q, double again, double slack) {
    double difference = again == q->score ? 0 : fabs(again - q->score);
    a->scale = fmax(a->scale, fmax(fabs(q->score), fabs(again)));
    a->noise = fmax(a->noise, difference);
    int close = a->s->model->noisy || difference <= slack * a->scale;
    return close && decided(a, again) == decided(a, q->score) ? SIS_OK
                                                              : sis__fail_unstable(q->score, again);
}

static int ask_alone(asker *a, const question *q) {
    double margin;
    mask_for(a, q);
    int error = sis__judge_reset(a->s, a->masked, &margin);
    if (error != SIS_OK)
        return error;
    return compare(a, q, sis__score(a->s, margin),
                   q->about == INPUT || q->about == MASKED ? SLACK : BATCH_SLACK);
}

/* ---- One batch ----------------------------------------------------------------------------- */

/* The question of row i: all questions in order, then backwards, and so on. */
static question *at(const asker *a, size_t i) {
    i /= a->s->features.n_samples;
    return &a->q[i / a->n % 2 ? a->n - 1 - i % a->n : i % a->n];
}

static void fill_row(asker *a, size_t i, double *row) {
    const sis__prepared_input *f = &a->s->features;
    const sis_input *in = a->s->input;
    const double *mask = in->mask + i % f->n_samples * f->n_values;
    mask_for(a, at(a, i));
    for (size_t v = 0; v < f->n_values; v++)
        row[v] = f->feature_of[v] >= 0 && a->masked[f->feature_of[v]] ? mask[v] : in->values[v];
}

/* A model that repeats its answers exactly may round differently here. A score that is the float
 * nearest to the threshold but on its other side (sis_decided) was already judged by the search. */
static int take_answer(asker *a, question *q, double score, int repeats_exactly) {
    double threshold = a->opt->threshold;
    int enough = a->opt->below ? score <= threshold : score >= threshold;
    if (isnan(q->score) && !enough) { /* LESS, asked for the first time */
        q->score = score;
        return SIS_OK;
    }
    if (repeats_exactly && fabs(score - q->score) <= SLACK * a->scale)
        return SIS_OK;
    return compare(a, q, score, BATCH_SLACK);
}

static int ask_together(asker *a) {
    const sis__prepared_input *f = &a->s->features;
    const sis_model *m = a->s->model;
    size_t repeats = (ROWS_MIN + a->n - 1) / a->n;
    size_t total = repeats * a->n * f->n_samples, max = m->max_rows ? m->max_rows : ROWS_MAX;
    size_t fit = a->opt->memory / ((f->n_values + m->n_outputs) * sizeof(double));
    max = fit && fit < max ? fit : max;
    max = total < max ? total : max;
    double *rows = (double *)sis__alloc_raw(max, f->n_values * sizeof *rows);
    double *scores = (double *)sis__alloc_raw(max, m->n_outputs * sizeof *scores);
    int error = rows && scores ? SIS_OK : SIS_E_NOMEM, repeats_exactly = a->noise == 0;
    double high = 0, low = 0; /* the sum over mask samples */
    for (size_t first = 0, n; error == SIS_OK && first < total; first += n) {
        n = total - first < max ? total - first : max;
        for (size_t i = 0; i < n; i++)
            fill_row(a, first + i, rows + i * f->n_values);
        error = sis__model_predict(m, rows, n, f->n_values, scores);
        a->s->judge->evaluations += n;
        if (error == SIS_OK)
            error = sis__tick(a->s);
        for (size_t i = first; error == SIS_OK && i < first + n; i++) {
            double score =
                sis__score(a->s, scores[(i - first) * m->n_outputs + a->s->input->output]);
            if (f->n_samples > 1) {
                sis__sum_add(&high, &low, m->link ? m->link(score) : score);
                score = sis__sum_mean(high, low, f->n_samples);
            }
            if ((i + 1) % f->n_samples != 0)
                continue;
            error = take_answer(a, at(a, i), score, repeats_exactly);
            high = low = 0;
        }
    }
    free(rows);
    free(scores);
    return error;
}

/* ---- All of it ----------------------------------------------------------------------------- */

/* Fails if a difference as large as the noise would change the decision. */
static int check_clear(const asker *a, double score) {
    if (decided(a, score - a->noise) == decided(a, score + a->noise))
        return SIS_OK;
    return sis__fail(SIS_E_UNSTABLE,
                     "the model's scores for the same row differ by up to %.2g: "
                     "too much for a score of %.9g at the threshold %.9g",
                     a->noise, score, a->opt->threshold);
}

static int ask_all(asker *a) {
    int error = list_questions(a);
    for (size_t i = 0; error == SIS_OK && i < a->n; i++)
        if (a->q[i].about != LESS)
            error = ask_alone(a, &a->q[i]);
    if (error == SIS_OK && a->c->n_subsets > 0) /* without subsets there is little to check */
        error = ask_together(a);
    for (size_t i = 0; error == SIS_OK && a->noise > 0 && i < a->n; i++)
        if (a->q[i].claimed)
            error = check_clear(a, a->q[i].score);
    return error;
}

int sis__ask_again(const sis_model *model, const sis_input *input, const sis_opt *opt,
                   sis_collection *c) {
    if (model->walk_new && !opt->exact)
        return SIS_OK;
    asker a = {.opt = opt, .c = c, .before = c->evaluations, .scale = fabs(opt->threshold)};
    sis_opt full = *opt;
    full.progress = opt->progress ? report : NULL;
    full.progress_ctx = &a;
    sis_walk *walk;
    int error = sis_walk_new(model, input, &full, &walk);
    if (error != SIS_OK)
        return error;
    a.s = walk->state;
    a.s->last_report = sis__seconds(); /* the search has just reported progress */
    a.masked = SIS_NEW(unsigned char, a.s->features.n);
    error = a.masked ? ask_all(&a) : SIS_E_NOMEM;
    c->evaluations += sis__evaluations(a.s);
    c->noise = a.noise;
    free(a.q);
    free(a.masked);
    sis_walk_free(walk);
    return error;
}
