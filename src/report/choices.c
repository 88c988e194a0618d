/* SPDX-License-Identifier: MIT
 *
 * Looks up the subset of a feature. Memory is proportional to the size of the subsets, not to the
 * number of features that a record claims.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "report/page.h"

static int by_feature(const void *a, const void *b) {
    const sis__choice *x = (const sis__choice *)a, *y = (const sis__choice *)b;
    if (x->feature != y->feature)
        return x->feature < y->feature ? -1 : 1;
    return (x->subset > y->subset) - (x->subset < y->subset);
}

int sis__choices_make(const sis_collection *c, size_t first, size_t n, sis__choices *out) {
    size_t total = 0;
    *out = (sis__choices){0};
    for (size_t k = first; k < first + n; k++)
        total += c->subsets[k].n;
    if (!(out->items = SIS_NEW_RAW(sis__choice, total)))
        return SIS_E_NOMEM;
    for (size_t k = first; k < first + n; k++)
        for (size_t i = 0; i < c->subsets[k].n; i++)
            out->items[out->n++] = (sis__choice){c->subsets[k].features[i], k, i, c->subsets[k].n};
    qsort(out->items, out->n, sizeof *out->items, by_feature);
    size_t kept = 0;
    for (size_t i = 0; i < out->n; i++)
        if (kept == 0 || out->items[kept - 1].feature != out->items[i].feature)
            out->items[kept++] = out->items[i];
    out->n = kept;
    return SIS_OK;
}

const sis__choice *sis__choices_find(const sis__choices *choices, int feature) {
    size_t low = 0, high = choices->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (choices->items[middle].feature < feature)
            low = middle + 1;
        else
            high = middle;
    }
    int found = low < choices->n && choices->items[low].feature == feature;
    return found ? &choices->items[low] : NULL;
}

void sis__choice_class(sis__buf *b, const sis__choice *choice, int human, const char *more) {
    if (choice)
        sis__buf_printf(b, " class=\"s%zu r%zu%s%s%s\"", choice->subset % SIS__SUBSET_COLOURS,
                        choice->rank * 4 / choice->of, human ? " h" : "", *more ? " " : "", more);
    else if (human || *more)
        sis__buf_printf(b, " class=\"%s%s%s\"", human ? "h" : "", human && *more ? " " : "", more);
}
