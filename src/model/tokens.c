/* SPDX-License-Identifier: MIT
 *
 * From token ids to embeddings, for predictions (every row) and for walks (the input and its mask,
 * once).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/sum.h"
#include "model/network.h"

void sis__tokens_mean(const sis__tokens *t) {
    for (size_t k = 0; k < t->dim; k++) {
        double high = 0, low = 0;
        for (size_t i = 0; i < t->vocabulary; i++)
            sis__sum_add(&high, &low, t->matrix[i * t->dim + k]);
        t->mask[k] = (float)sis__sum_mean(high, low, t->vocabulary);
    }
}

int sis__tokens_init(sis__tokens *t, const sis_net *net) {
    size_t n;
    int error = sis_net_embedding(net, &t->matrix, &t->vocabulary, &t->dim);
    if (error != SIS_OK)
        return error;
    t->mask = SIS_NEW(float, t->dim);
    if (!t->mask)
        return SIS_E_NOMEM;
    const float *own = sis_net_mask(net, &n);
    if (own && n == t->dim)
        memcpy(t->mask, own, n * sizeof *own);
    else
        sis__tokens_mean(t);
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
    size_t left = 0, to;
    for (size_t i = 0; i < n; i++)
        left += isnan(ids[i]) ? 0 : 1;
    to = t->behind ? 0 : n - left;
    for (size_t i = 0; i < n; i++) {
        if (isnan(ids[i]))
            continue;
        const float *e = embedding_of(t, ids[i]);
        if (!e)
            return sis__fail(
                SIS_E_ARGUMENT,
                "token %g at position %zu: the model takes whole numbers from 0 to %zu", ids[i], i,
                t->vocabulary - 1);
        memcpy(out + to++ * t->dim, e, t->dim * sizeof *out);
    }
    for (size_t k = 0; k < n - left; k++)
        memcpy(out + (t->behind ? left + k : k) * t->dim, t->matrix + t->pad * t->dim,
               t->dim * sizeof *out);
    return SIS_OK;
}

/* ---- Walk ---------------------------------------------------------------------------------- */

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

/* The input as embeddings; `values`, `mask` and `feature_of` have room for them. */
static int embed_input(const sis__tokens *t, const sis_input *input, double *values, double *mask,
                       int *feature_of, sis_input *out) {
    size_t n = input->n_values, width = n * t->dim;
    for (size_t v = 0; v < width; v++)
        feature_of[v] = input->feature_of ? input->feature_of[v / t->dim] : (int)(v / t->dim);
    int error = embed_double(t, input->values, n, values);
    if (error == SIS_OK)
        error = embed_double(t, input->mask, n, mask);
    *out = *input;
    out->values = values;
    out->mask = mask;
    out->feature_of = feature_of;
    out->n_values = width;
    return error;
}

int sis__tokens_walk(const sis__tokens *t, const sis_net *net, const sis_input *input,
                     const sis_net_walk_opt *opt, sis_walk **out) {
    for (size_t v = 0; v < input->n_values; v++)
        if (isnan(input->mask[v]) || isnan(input->values[v]))
            return SIS_E_UNSUPPORTED; /* removal shifts positions, which walks do not support */
    size_t width = input->n_values * t->dim;
    double *values = SIS_NEW_RAW(double, width), *mask = SIS_NEW_RAW(double, width);
    int *feature_of = SIS_NEW_RAW(int, width);
    sis_input embedded;
    int error = values && mask && feature_of ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = embed_input(t, input, values, mask, feature_of, &embedded);
    sis_net_walk_opt behind = *opt;
    behind.embedded = 1;
    if (error == SIS_OK)
        error = sis_net_walk(net, &embedded, &behind, out);
    free(values);
    free(mask);
    free(feature_of);
    return error;
}
