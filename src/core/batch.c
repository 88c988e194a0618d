/* SPDX-License-Identifier: MIT
 *
 * The batch walk: probes any model by predicting masked copies of the input.
 *
 * A probe of n features needs n rows that each differ from the current state in one feature.
 * Writing them from scratch costs n * n_values writes, more than the passes of many models. So
 * there is a fixed set of row *slots* within the memory budget, and a slot is only updated: restore
 * the feature that was masked in it temporarily, mask the features that were masked permanently
 * since its last use (from a log), mask its new feature.
 *
 *     base   x x z x z x      the current state (one per mask sample)
 *     slot   x x z z z x      = base + feature 3 masked on top
 *                  ^-- next use: restore 3, mask 5 instead: two writes
 *
 * Scores are cached by the set of masked features (a 128-bit hash: the exclusive or of one random
 * key per feature) in a table of bounded size where new entries overwrite old ones. In practice the
 * states asked for again are the most recent ones: those around the subset, when it is verified.
 *
 * Cost of a probe: n predictions, a few writes each. Memory: the slots, at most opt->memory, plus
 * the table, at most 1.5 MiB.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "base/sum.h"
#include "core/core.h"

enum { NOTHING = -1, MEMO_LARGEST = 1 << 16, ROWS_MIN = 64 };

/* More slots than fit the cache do not help a model that states no preference. */
static const size_t ROWS_BYTES = (size_t)4 << 20;

typedef struct {
    uint64_t a, b;
} key;

typedef struct {
    key key;
    double margin; /* NaN: empty */
} memo;

typedef struct {
    size_t seen;   /* how much of the log is applied to its values */
    size_t sample; /* mask sample */
    int top;       /* feature masked temporarily, or NOTHING */
} slot;

/* Features of a probe whose scores are not cached. */
typedef struct {
    int *todo;     /* (n) */
    size_t *place; /* (n) where their margins go */
    double *sums;  /* (n) */
    double *low;   /* (n) the low parts of sums over mask samples */
} probe;

typedef struct {
    sis_walk walk;
    sis_walk_state *state;
    const sis__prepared_input *f;
    const sis_input *in;
    size_t n_samples;
    key *keys;    /* (n) one per feature */
    key now;      /* of the current state */
    double *base; /* (n_samples, n_values) */
    int *log;     /* features masked since the last reset */
    size_t n_log, n_masked;
    slot *slots;    /* (n_slots) */
    double *rows;   /* (n_slots, n_values) */
    double *scores; /* (n_slots, n_outputs) */
    size_t n_slots, max_slots;
    probe asked;
    memo *memos;
    size_t n_memos; /* a power of two */
} batch;

/* ---- Remembered scores --------------------------------------------------------------------- */

static key with(key k, key other) {
    return (key){k.a ^ other.a, k.b ^ other.b};
}

/* The key of the set of masked features plus `top`. A feature equal to its mask has key 0. */
static key state_key(const batch *b, int top) {
    return top == NOTHING ? b->now : with(b->now, b->keys[top]);
}

static memo *memo_of(const batch *b, key k) {
    return &b->memos[k.a & (b->n_memos - 1)];
}

static double recall(const batch *b, key k) {
    const memo *m = memo_of(b, k);
    return m->key.a == k.a && m->key.b == k.b ? m->margin : NAN;
}

static int memo_init(batch *b) {
    size_t n = 64, wish = b->f->n < 1024 ? b->f->n * b->f->n : MEMO_LARGEST;
    while (n < wish && n < MEMO_LARGEST)
        n *= 2;
    b->n_memos = n;
    b->memos = SIS_NEW_RAW(memo, n);
    b->keys = SIS_NEW(key, b->f->n);
    if (!b->memos || !b->keys)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        b->memos[i] = (memo){.margin = NAN};
    sis__rng r;
    sis__rng_init(&r, 0x515);
    for (size_t i = 0; i < b->f->n; i++) {
        key k = {sis__rng_next(&r), sis__rng_next(&r)};
        if (!b->f->same[i])
            b->keys[i] = k;
    }
    return SIS_OK;
}

/* ---- Slots --------------------------------------------------------------------------------- */

static size_t max_slots(const batch *b) {
    size_t row = (b->in->n_values + b->state->model->n_outputs) * sizeof(double) + sizeof(slot);
    size_t max = b->state->opt.memory / row, wish = b->state->model->max_rows;
    if (wish == 0) {
        wish = ROWS_BYTES / row;
        wish = wish < ROWS_MIN ? ROWS_MIN : wish;
    }
    max = max < wish ? max : wish;
    if (max > b->n_samples)
        max -= max % b->n_samples; /* so that a slot always serves the same sample */
    return max ? max : 1;
}

static void free_rows(batch *b) {
    const sis_model *m = b->state->model;
    if (m->rows_new && b->rows)
        m->rows_free(m->ctx, b->rows);
    else
        free(b->rows);
    b->rows = NULL;
}

/* Get writable rows: the ones we have, unless they belong to the model and it wants others. */
static int renew_rows(batch *b) {
    const sis_model *m = b->state->model;
    double *rows = m->rows_new ? m->rows_new(m->ctx, b->rows, b->n_slots * b->in->n_values)
                   : b->rows   ? b->rows
                             : (double *)sis__alloc_raw(b->n_slots, b->in->n_values * sizeof *rows);
    if (!rows)
        return SIS_E_NOMEM;
    for (size_t i = 0; rows != b->rows && i < b->n_slots; i++)
        b->slots[i] = (slot){.seen = SIZE_MAX};
    b->rows = rows;
    return SIS_OK;
}

static int grow_slots(batch *b, size_t need) {
    need = need < b->max_slots ? need : b->max_slots;
    if (need <= b->n_slots)
        return SIS_OK;
    free(b->slots);
    free_rows(b);
    free(b->scores);
    b->n_slots = 0;
    b->slots = SIS_NEW_RAW(slot, need);
    b->scores = (double *)sis__alloc_raw(need, b->state->model->n_outputs * sizeof(double));
    if (!b->slots || !b->scores)
        return SIS_E_NOMEM;
    b->n_slots = need;
    return SIS_OK;
}

static void put(const batch *b, double *row, int feature, const double *from) {
    for (size_t k = b->f->start[feature]; k < b->f->start[feature + 1]; k++)
        row[b->f->value[k]] = from[b->f->value[k]];
}

/* Set slot i to the current state with `top` masked as well. */
static void fill_slot(batch *b, size_t i, size_t sample, int top) {
    slot *s = &b->slots[i];
    size_t width = b->in->n_values;
    double *row = b->rows + i * width;
    const double *base = b->base + sample * width;
    if (s->seen == SIZE_MAX || s->sample != sample) {
        memcpy(row, base, width * sizeof *row);
    } else {
        if (s->top != NOTHING)
            put(b, row, s->top, base);
        for (; s->seen < b->n_log; s->seen++)
            put(b, row, b->log[s->seen], base);
    }
    if (top != NOTHING)
        put(b, row, top, b->in->mask + sample * width);
    *s = (slot){.seen = b->n_log, .sample = sample, .top = top};
}

/* ---- Predictions --------------------------------------------------------------------------- */

static int predict(batch *b, size_t n) {
    int error = sis__model_predict(b->state->model, b->rows, n, b->in->n_values, b->scores);
    b->walk.evaluations += n;
    return error == SIS_OK ? sis__tick(b->state) : error;
}

static int nan_found(const batch *b, int top) {
    size_t masked = b->n_masked + (top != NOTHING);
    if (masked == 0)
        return sis__fail(SIS_E_NAN, "the model returned NaN for output %zu", b->in->output);
    return sis__fail(SIS_E_NAN,
                     "the model returned NaN for output %zu with %zu of %zu "
                     "features masked",
                     b->in->output, masked, b->f->n);
}

/* Margins of the current state with each of tops[0..n) masked as well, by full passes. */
static int evaluate(batch *b, const int *tops, size_t n, double *margins) {
    size_t n_rows = n * b->n_samples, outputs = b->state->model->n_outputs;
    int average = b->n_samples > 1; /* average scores, not margins, because links are not linear */
    double (*link)(double) = b->state->model->link;
    int error = grow_slots(b, n_rows);
    for (size_t k = 0; k < n; k++)
        margins[k] = b->asked.low[k] = 0;
    for (size_t first = 0, count; error == SIS_OK && first < n_rows; first += count) {
        count = n_rows - first < b->n_slots ? n_rows - first : b->n_slots;
        if ((error = renew_rows(b)) != SIS_OK)
            break;
        for (size_t i = 0; i < count; i++)
            fill_slot(b, i, (first + i) % b->n_samples, tops[(first + i) / b->n_samples]);
        error = predict(b, count);
        for (size_t i = 0; error == SIS_OK && i < count; i++) {
            size_t k = (first + i) / b->n_samples, s = (first + i) % b->n_samples;
            double m = b->scores[i * outputs + b->in->output], score = link ? link(m) : m;
            if (average) {
                sis__sum_add(&margins[k], &b->asked.low[k], score);
                if (s + 1 == b->n_samples)
                    margins[k] = sis__sum_mean(margins[k], b->asked.low[k], b->n_samples);
                m = margins[k];
            }
            if (isnan(m) || isnan(score))
                return nan_found(b, tops[k]);
            margins[k] = m;
        }
    }
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        key at = state_key(b, tops[k]);
        *memo_of(b, at) = (memo){at, margins[k]};
    }
    return error;
}

/* The margin with one more feature masked (or none), cached or evaluated. */
static int margin_with(batch *b, int top, double *margin) {
    *margin = recall(b, state_key(b, top));
    return isnan(*margin) ? evaluate(b, &top, 1, margin) : SIS_OK;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static int batch_probe(sis_walk *w, const int *features, size_t n, double *margins) {
    batch *b = (batch *)w;
    size_t left = 0;
    for (size_t i = 0; i < n; i++) {
        margins[i] = recall(b, state_key(b, features[i]));
        if (isnan(margins[i])) {
            b->asked.todo[left] = features[i];
            b->asked.place[left++] = i;
        }
    }
    int error = left ? evaluate(b, b->asked.todo, left, b->asked.sums) : SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < left; k++)
        margins[b->asked.place[k]] = b->asked.sums[k];
    return error;
}

void sis__batch_follow(sis_walk *w, int feature) {
    batch *b = (batch *)w;
    size_t width = b->in->n_values;
    b->now = with(b->now, b->keys[feature]);
    for (size_t s = 0; s < b->n_samples; s++)
        put(b, b->base + s * width, feature, b->in->mask + s * width);
    b->log[b->n_log++] = feature;
    b->n_masked++;
}

void sis__batch_follow_reset(sis_walk *w, const unsigned char *masked) {
    batch *b = (batch *)w;
    size_t width = b->in->n_values;
    for (size_t s = 0; s < b->n_samples; s++)
        memcpy(b->base + s * width, b->in->values, width * sizeof *b->base);
    for (size_t i = 0; i < b->n_slots; i++)
        b->slots[i].seen = SIZE_MAX;
    b->now = (key){0, 0};
    b->n_log = b->n_masked = 0;
    for (size_t i = 0; i < b->f->n; i++)
        if (masked[i])
            sis__batch_follow(w, (int)i);
    b->n_log = 0;
}

int sis__batch_margin(sis_walk *w, double *margin) {
    return margin_with((batch *)w, NOTHING, margin);
}

static int batch_reset(sis_walk *w, const unsigned char *masked, double *margin) {
    sis__batch_follow_reset(w, masked);
    return sis__batch_margin(w, margin);
}

static int batch_mask(sis_walk *w, int feature, double *margin) {
    int error = margin_with((batch *)w, feature, margin);
    if (error == SIS_OK)
        sis__batch_follow(w, feature);
    return error;
}

static void batch_free(sis_walk *w) {
    batch *b = (batch *)w;
    free(b->keys);
    free(b->base);
    free(b->log);
    free(b->slots);
    free_rows(b);
    free(b->scores);
    free(b->asked.todo);
    free(b->asked.place);
    free(b->asked.sums);
    free(b->asked.low);
    free(b->memos);
    free(b);
}

int sis__batch_new(sis_walk_state *state, sis_walk **out) {
    static const sis_walk_ops ops = {batch_reset, batch_probe, batch_mask, batch_free};
    *out = NULL;
    batch *b = SIS_NEW(batch, 1);
    if (!b)
        return SIS_E_NOMEM;
    b->walk.ops = &ops;
    b->state = state;
    b->f = &state->features;
    b->in = state->input;
    b->n_samples = b->in->n_samples ? b->in->n_samples : 1;
    b->max_slots = max_slots(b);
    b->base = (double *)sis__alloc_raw(b->n_samples, b->in->n_values * sizeof(double));
    b->log = SIS_NEW_RAW(int, b->f->n);
    b->asked.todo = SIS_NEW_RAW(int, b->f->n);
    b->asked.place = SIS_NEW_RAW(size_t, b->f->n);
    b->asked.sums = SIS_NEW_RAW(double, b->f->n);
    b->asked.low = SIS_NEW_RAW(double, b->f->n ? b->f->n : 1);
    if (!b->base || !b->log || !b->asked.todo || !b->asked.place || !b->asked.sums ||
        !b->asked.low || memo_init(b) != SIS_OK) {
        batch_free(&b->walk);
        return SIS_E_NOMEM;
    }
    *out = &b->walk;
    return SIS_OK;
}
