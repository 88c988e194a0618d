/* SPDX-License-Identifier: MIT
 *
 * One update. Shards run on all threads. Then the gradient of each parameter is summed over shards
 * in a fixed order, whichever thread computed them, and the optimizer updates the parameter.
 *
 * The embedding's gradient is added up for the words that occur; threads divide the words by
 * number. The optimizer updates all rows, as if the gradient were dense.
 */
#include <string.h>

#include "base/error.h"
#include "base/parallel.h"
#include "train/train.h"

enum { EMBEDDING_PARTS = 16 };

int sis__train_forward(sis_trainer *t, size_t *rows, size_t n, size_t first_row) {
    int error = sis__shards_cut(t, rows, n, first_row);
    if (!error)
        error = sis__padding_forward(t);
    return error ? error : sis__parallel(t->jobs, t->pass.used_shards, sis__shard_run, t);
}

/* ---- The embedding --------------------------------------------------------------------------- */

/* For each word of each row, in order, whose number is `item` modulo EMBEDDING_PARTS: add its
 * gradient, or with `clear` set the word's row to zero. */
static void scatter(sis_trainer *t, size_t item, int clear) {
    size_t dim = t->arch.dim, width = t->pass.now->n_values;
    for (size_t i = 0; i < t->pass.used_shards; i++) {
        const sis__shard *s = &t->pass.shards[i];
        const float *from = s->d_embedded;
        for (size_t k = 0; k < s->n; k++) {
            const float *row = t->pass.now->rows + s->rows[k] * width;
            for (size_t j = s->start; j < width; j++, from += dim) {
                size_t word = (size_t)row[j];
                float *to = t->weights.d_embedding + word * dim;
                if (word % EMBEDDING_PARTS != item)
                    continue;
                if (clear)
                    memset(to, 0, dim * sizeof *to);
                for (size_t v = 0; !clear && v < dim; v++)
                    to[v] += from[v];
            }
        }
    }
    for (size_t v = 0; t->weights.n_state && item == 0 && v < dim; v++)
        t->weights.d_embedding[v] =
            clear ? 0 : t->weights.d_embedding[v] + t->pass.padding.d_pad[v];
}

static int add_words(void *trainer, size_t item, int worker) {
    (void)worker;
    scatter((sis_trainer *)trainer, item, 0);
    return SIS_OK;
}

static int clear_words(void *trainer, size_t item, int worker) {
    (void)worker;
    scatter((sis_trainer *)trainer, item, 1);
    return SIS_OK;
}

/* ---- Parameters ------------------------------------------------------------------------------ */

/* Sum the gradients of a part over shards (and padding) into those of the first shard. */
static float *sum_part(const sis_trainer *t, size_t at, size_t n) {
    float *restrict to = t->pass.shards[0].d + at;
    for (size_t i = 1; i < t->pass.used_shards + (t->weights.n_state > 0); i++) {
        const float *restrict from =
            i < t->pass.used_shards ? t->pass.shards[i].d + at : t->pass.padding.d + at;
        for (size_t j = 0; j < n; j++)
            to[j] += from[j];
    }
    return to;
}

static int update_part(void *trainer, size_t item, int worker) {
    sis_trainer *t = (sis_trainer *)trainer;
    const sis__param_part *part = &t->weights.parts[item];
    const sis__trained *p = &t->weights.params[part->param];
    size_t at = p->at + part->from;
    int words = (int)part->param == t->weights.embedding;
    (void)worker;
    sis__update u = {.opt = &t->opt, .step = t->at.step + 1, .n = part->count};
    u.w = p->w + part->from;
    u.d = words ? t->weights.d_embedding + part->from : sum_part(t, at, part->count);
    for (size_t i = 0; i < sis__optimizer_slots(&t->opt); i++)
        u.slots[i] = t->weights.slots[i] + at;
    sis__optimizer_update(&u);
    return SIS_OK;
}

int sis__train_update(sis_trainer *t, size_t *rows, size_t n, size_t first_row) {
    int words = t->weights.embedding >= 0;
    t->pass.loss_scale = 1 / (double)n;
    int error = sis__train_forward(t, rows, n, first_row);
    if (!error)
        error = sis__padding_backward(t);
    if (!error && words)
        error = sis__parallel(t->jobs, EMBEDDING_PARTS, add_words, t);
    if (!error)
        error = sis__parallel(t->jobs, t->weights.n_parts, update_part, t);
    if (!error && words)
        error = sis__parallel(t->jobs, EMBEDDING_PARTS, clear_words, t);
    if (!error)
        t->at.step++;
    return error;
}
