/* SPDX-License-Identifier: MIT
 *
 * Token ids to embeddings, for predictions (every row) and for walks (one input and its mask,
 * once).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/network.h"

int sis__tokens_init(sis__tokens *t, const sis_net *net) {
    size_t n;
    int error = sis_net_embedding(net, &t->matrix, &t->vocabulary, &t->dim);
    if (error != SIS_OK)
        return error;
    t->mask = SIS_NEW(float, t->dim);
    double *mean = SIS_NEW(double, t->dim);
    if (!t->mask || !mean) {
        free(mean);
        return SIS_E_NOMEM;
    }
    for (size_t i = 0; i < t->vocabulary; i++)
        for (size_t k = 0; k < t->dim; k++)
            mean[k] += ((double)t->matrix[i * t->dim + k] - mean[k]) / (double)(i + 1);
    const float *own = sis_net_mask(net, &n);
    for (size_t k = 0; k < t->dim; k++)
        t->mask[k] = own && n == t->dim ? own[k] : (float)mean[k];
    free(mean);
    return SIS_OK;
}

/* The embedding of one id; NULL if there is no such token. */
static const float *embedding_of(const sis__tokens *t, double id) {
    if (id == SIS_TOKEN_MASK)
        return t->mask;
    if (!(id >= 0) || id >= (double)t->vocabulary || id != floor(id))
        return NULL;
    return t->matrix + (size_t)id * t->dim;
}

int sis__tokens_embed(const sis__tokens *t, const double *ids, size_t n, float *out) {
    size_t to = n;
    for (size_t i = n; i-- > 0;) {
        if (isnan(ids[i]))
            continue;
        const float *e = embedding_of(t, ids[i]);
        if (!e)
            return sis__fail(
                SIS_E_ARGUMENT,
                "token %g at position %zu: the model knows whole numbers from 0 to %zu", ids[i], i,
                t->vocabulary - 1);
        memcpy(out + --to * t->dim, e, t->dim * sizeof *out);
    }
    while (to-- > 0)
        memcpy(out + to * t->dim, t->matrix, t->dim * sizeof *out);
    return SIS_OK;
}

/* ---- Walk ---------------------------------------------------------------------------------- */

/* The input in embeddings, and the network's walk over it. */
typedef struct {
    sis_walk walk;
    sis_input embedded;
    double *values, *mask;
    int *feature_of;
    sis_walk *inner;
} token_walk;

/* What a walk says of itself may change with its state. */
static void follow(sis_walk *w, const sis_walk *inner) {
    w->evaluations = inner->evaluations;
    w->tolerance = inner->tolerance;
}

static int token_reset(sis_walk *w, const unsigned char *masked, double *margin) {
    sis_walk *inner = ((token_walk *)w)->inner;
    int error = inner->ops->reset(inner, masked, margin);
    follow(w, inner);
    return error;
}

static int token_probe(sis_walk *w, const int *features, size_t n, double *margins) {
    sis_walk *inner = ((token_walk *)w)->inner;
    inner->wants = w->wants;
    int error = inner->ops->probe(inner, features, n, margins);
    follow(w, inner);
    return error;
}

static int token_mask(sis_walk *w, int feature, double *margin) {
    sis_walk *inner = ((token_walk *)w)->inner;
    int error = inner->ops->mask(inner, feature, margin);
    follow(w, inner);
    return error;
}

static void token_free(sis_walk *w) {
    token_walk *t = (token_walk *)w;
    if (t->inner)
        t->inner->ops->free(t->inner);
    free(t->values);
    free(t->mask);
    free(t->feature_of);
    free(t);
}

/* ids (n) -> embeddings in double precision. */
static int embed_double(const sis__tokens *t, const double *ids, size_t n, double *out) {
    float *row = SIS_NEW_RAW(float, n * t->dim);
    if (!row)
        return SIS_E_NOMEM;
    int error = sis__tokens_embed(t, ids, n, row);
    for (size_t i = 0; error == SIS_OK && i < n * t->dim; i++)
        out[i] = row[i];
    free(row);
    return error;
}

static int fill(token_walk *w, const sis__tokens *t, const sis_input *input) {
    size_t n = input->n_values, width = n * t->dim;
    w->values = SIS_NEW_RAW(double, width);
    w->mask = SIS_NEW_RAW(double, width);
    w->feature_of = SIS_NEW_RAW(int, width);
    if (!w->values || !w->mask || !w->feature_of)
        return SIS_E_NOMEM;
    for (size_t v = 0; v < width; v++)
        w->feature_of[v] = input->feature_of ? input->feature_of[v / t->dim] : (int)(v / t->dim);
    int error = embed_double(t, input->values, n, w->values);
    if (error == SIS_OK)
        error = embed_double(t, input->mask, n, w->mask);
    w->embedded = (sis_input){.values = w->values,
                              .mask = w->mask,
                              .n_values = width,
                              .feature_of = w->feature_of,
                              .absent = input->absent,
                              .output = input->output};
    return error;
}

int sis__tokens_walk(const sis__tokens *t, const sis_net *net, const sis_input *input,
                     size_t memory, sis_walk **out) {
    static const sis_walk_ops ops = {token_reset, token_probe, token_mask, token_free};
    for (size_t v = 0; v < input->n_values; v++)
        if (isnan(input->mask[v]) || isnan(input->values[v]))
            return SIS_E_UNSUPPORTED; /* removal moves whole positions, which no walk expects */
    token_walk *w = SIS_NEW(token_walk, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    int error = fill(w, t, input);
    sis_net_walk_opt opt = {.embedded = 1, .memory = memory};
    if (error == SIS_OK)
        error = sis_net_walk(net, &w->embedded, &opt, &w->inner);
    if (error != SIS_OK) {
        w->inner = NULL;
        token_free(&w->walk);
        return error;
    }
    follow(&w->walk, w->inner);
    w->walk.inner = w->inner;
    *out = &w->walk;
    return SIS_OK;
}
