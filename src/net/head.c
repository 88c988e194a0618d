/* SPDX-License-Identifier: MIT
 *
 * From the cut to margins. Plans are compiled for three batch sizes; n rows are cut into pieces of
 * these, largest first. Rows do not influence each other, so it does not matter how.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/forward.h"
#include "net/walk.h"

static const size_t sizes[] = {64, 8, 1};
enum { N_SIZES = sizeof sizes / sizeof *sizes };

struct sis__head {
    const sis__subject *s;
    int cut, last; /* values: where it starts, what the margins are read from */
    size_t width, outputs;
    sis__plan *plans[N_SIZES];
    sis__run *runs[N_SIZES];
};

/* A plan for `rows` rows; the first axis of the cut counts them. */
static int compile(sis__head *h, const sis__tensor *like, size_t rows, sis__plan **plan) {
    sis__feed feed = {.value = h->cut, .rank = like->rank};
    memcpy(feed.dims, like->dims, sizeof feed.dims);
    feed.dims[0] = rows;
    sis__plan_spec spec = {
        .feeds = &feed, .n_feeds = 1, .outputs = &h->last, .n_outputs = 1, .batch = rows};
    int error = sis__plan_new(h->s->net, &spec, plan);
    return error == SIS_OK || error == SIS_E_NOMEM ? error : SIS_E_UNSUPPORTED;
}

int sis__head_new(const sis__subject *s, int cut, const sis__tensor *like, sis__head **out) {
    *out = NULL;
    if (like->rank == 0 || like->dims[0] != 1 || like->dtype != SIS__F32)
        return SIS_E_UNSUPPORTED;
    sis__head *h = SIS_NEW(sis__head, 1);
    if (!h)
        return SIS_E_NOMEM;
    *h = (sis__head){.s = s, .cut = cut, .last = s->net->pre_output, .width = like->count};
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < N_SIZES; i++) {
        error = compile(h, like, sizes[i], &h->plans[i]);
        if (error == SIS_OK)
            error = sis__run_new(h->plans[i], &h->runs[i]);
    }
    if (error != SIS_OK) {
        sis__head_free(h);
        return error;
    }
    h->outputs = h->plans[N_SIZES - 1]->tensors[h->last].count;
    *out = h;
    return SIS_OK;
}

void sis__head_free(sis__head *h) {
    for (size_t i = 0; h && i < N_SIZES; i++) {
        sis__run_free(h->runs[i]);
        sis__plan_free(h->plans[i]);
    }
    free(h);
}

/* Run as many rows as plan i takes. */
static int run_piece(sis__head *h, size_t i, const float *rows, double *margins) {
    sis__run *r = h->runs[i];
    memcpy(r->data[h->cut], rows, sizes[i] * h->width * sizeof *rows);
    int error = sis__run_forward(r);
    const float *z = (const float *)r->data[h->last];
    for (size_t k = 0; error == SIS_OK && k < sizes[i]; k++)
        margins[k] = sis__margin(h->s->net, z + k * h->outputs, h->outputs, h->s->output);
    return error;
}

int sis__head_margins(sis__head *h, const float *rows, size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t i = 0; i < N_SIZES; i++)
        for (; error == SIS_OK && n >= sizes[i]; n -= sizes[i]) {
            error = run_piece(h, i, rows, margins);
            rows += sizes[i] * h->width;
            margins += sizes[i];
        }
    return error;
}
