/* SPDX-License-Identifier: MIT
 *
 * Names in a sorted array. See ids.h.
 */
#include "base/ids.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static int by_id(const void *a, const void *b) {
    const sis__id *x = (const sis__id *)a, *y = (const sis__id *)b;
    int order = strcmp(x->id, y->id);
    return order ? order : (x->at > y->at) - (x->at < y->at);
}

int sis__ids_init(sis__ids *x, const char *const *ids, size_t n) {
    *x = (sis__ids){.items = SIS_NEW_RAW(sis__id, n)};
    if (!x->items)
        return SIS_E_NOMEM;
    x->n = n;
    for (size_t i = 0; i < n; i++)
        x->items[i] = (sis__id){ids[i], i};
    qsort(x->items, n, sizeof *x->items, by_id);
    return SIS_OK;
}

void sis__ids_release(sis__ids *x) {
    free(x->items);
    *x = (sis__ids){0};
}

size_t sis__ids_first(const sis__ids *x, const char *id) {
    size_t low = 0, high = x->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(x->items[middle].id, id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

size_t sis__ids_find(const sis__ids *x, const char *id) {
    size_t k = sis__ids_first(x, id);
    return k < x->n && strcmp(x->items[k].id, id) == 0 ? x->items[k].at : SIZE_MAX;
}

const char *sis__ids_twice(const sis__ids *x) {
    for (size_t i = 1; i < x->n; i++)
        if (strcmp(x->items[i].id, x->items[i - 1].id) == 0)
            return x->items[i].id;
    return NULL;
}
