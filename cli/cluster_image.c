/* SPDX-License-Identifier: MIT
 *
 * The mean image of each cluster: how often a pixel is chosen, and the mean of what is chosen.
 */
#include <stdlib.h>

#include "cluster.h"
#include "task.h"

enum { NUMBERS_MOST = 1 << 28 }; /* of all images together: 2 GiB */

static void measure(const cli_subsets *s, cli_means *x) {
    for (size_t i = 0; i < s->n; i++)
        for (size_t k = 0; k < s->items[i].n_pixels; k++) {
            size_t y = (size_t)s->items[i].places[2 * k], c = (size_t)s->items[i].places[2 * k + 1];
            x->height = y >= x->height ? y + 1 : x->height;
            x->width = c >= x->width ? c + 1 : x->width;
        }
}

static void add(const cli_subset *item, double share, const cli_means *x, double *often,
                double *mean) {
    for (size_t k = 0; k < item->n_pixels; k++) {
        size_t at = (size_t)item->places[2 * k] * x->width + (size_t)item->places[2 * k + 1];
        often[at] += share;
        mean[at] += share * item->values[k];
    }
}

int cli_means_find(const cli_subsets *s, const cli_members *m, cli_means *out) {
    *out = (cli_means){.n = m->n_clusters};
    measure(s, out);
    size_t plane = out->height * out->width;
    if (plane > NUMBERS_MOST / 2 || (plane && out->n > NUMBERS_MOST / 2 / plane))
        return cli_error("the mean images of %zu clusters of %zu by %zu pixels are too large",
                         out->n, out->height, out->width);
    out->values = cli_grab(2 * out->n * plane, sizeof *out->values);
    if (!out->values)
        return CLI_FAILED;
    for (size_t c = 0; c < out->n; c++) {
        double *often = out->values + 2 * c * plane;
        double share = 1 / (double)(m->start[c + 1] - m->start[c]);
        for (size_t k = m->start[c]; k < m->start[c + 1]; k++)
            add(&s->items[m->items[k]], share, out, often, often + plane);
    }
    return CLI_DONE;
}
