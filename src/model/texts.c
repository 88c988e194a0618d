/* SPDX-License-Identifier: MIT
 *
 * Texts for a network whose only input is a string, as scikit-learn pipelines with a vectorizer are
 * exported: a row is the concatenation of the remaining pieces of a text.
 *
 * A network keeps every text it has seen, because its tensors hold numbers of texts. A search needs
 * thousands of texts, so it uses a copy of the network, which is reopened after MAX_TEXTS bytes.
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/network.h"
#include "model/request.h"

enum { ROWS = 16 };
static const size_t MAX_TEXTS = (size_t)64 << 20; /* bytes */

struct sis__texts {
    sis_net *net;
    void *bytes; /* (n_bytes) the network's file */
    size_t n_bytes;
    const sis_piece *pieces;
    size_t n_pieces;
    pthread_rwlock_t lock; /* protects net; held for reading while it runs */
};

void sis__texts_free(sis__texts *t) {
    if (!t)
        return;
    sis_net_free(t->net);
    free(t->bytes);
    pthread_rwlock_destroy(&t->lock);
    free(t);
}

int sis__texts_new(const sis_net *net, const sis_piece *pieces, size_t n, sis__texts **out) {
    *out = NULL;
    if (!sis_net_takes_words(net) || sis_net_values(net) != 1)
        return sis__fail(SIS_E_UNSUPPORTED, "this network does not take one text for each row; "
                                            "give a table with a column for each input");
    sis__texts *t = SIS_NEW(sis__texts, 1);
    if (!t)
        return SIS_E_NOMEM;
    pthread_rwlock_init(&t->lock, NULL);
    t->pieces = pieces;
    t->n_pieces = n;
    int error = sis_net_pack(net, &t->bytes, &t->n_bytes);
    if (error == SIS_OK)
        error = sis_net_parse(t->bytes, t->n_bytes, &t->net);
    if (error == SIS_OK)
        *out = t;
    else
        sis__texts_free(t);
    return error;
}

/* Replace the network by a new copy that has seen no text. */
static int renew(sis__texts *t) {
    int error = SIS_OK;
    sis_net *next = NULL;
    pthread_rwlock_wrlock(&t->lock);
    if (sis_net_words_size(t->net) > MAX_TEXTS)
        error = sis_net_parse(t->bytes, t->n_bytes, &next);
    if (next) {
        sis_net_free(t->net);
        t->net = next;
    }
    pthread_rwlock_unlock(&t->lock);
    return error;
}

/* The value for the text of a row. */
static int read_row(const sis__texts *t, const double *row, size_t n, float *value) {
    char *text;
    int error = sis__request_join(t->pieces, t->n_pieces, row, n, &text);
    if (error == SIS_OK)
        error = sis_net_word(t->net, text, value);
    free(text);
    return error;
}

int sis__texts_margins(sis__texts *t, const double *rows, size_t n, size_t n_values,
                       size_t n_outputs, double *margins) {
    int error = SIS_OK;
    for (size_t first = 0, count; error == SIS_OK && first < n; first += count) {
        float values[ROWS];
        count = n - first < ROWS ? n - first : ROWS;
        pthread_rwlock_rdlock(&t->lock);
        int full = sis_net_words_size(t->net) > MAX_TEXTS;
        for (size_t i = 0; error == SIS_OK && i < count; i++)
            error = read_row(t, rows + (first + i) * n_values, n_values, &values[i]);
        const sis_net_batch b = {.rows = values, .n_rows = count, .n_values = 1, .jobs = 1};
        if (error == SIS_OK)
            error = sis_net_margins(t->net, &b, margins + first * n_outputs);
        pthread_rwlock_unlock(&t->lock);
        if (error == SIS_OK && full)
            error = renew(t);
    }
    return error;
}
