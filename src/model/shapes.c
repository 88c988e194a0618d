/* SPDX-License-Identifier: MIT
 *
 * See shapes.h. A hash table with linear probing; at most half of it is used.
 */
#include "model/shapes.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static size_t count_of(const sis_net_shape *s) {
    size_t n = 1;
    for (size_t d = 0; d < s->rank; d++)
        n *= s->dims[d];
    return n;
}

/* Its entry, or the free one where it belongs. */
static sis__declared_shape *place_of(const sis__shapes *s, size_t n_values) {
    size_t at = (size_t)((n_values * UINT64_C(0x9e3779b97f4a7c15)) >> 32);
    while (s->items[at & (s->room - 1)].n_values &&
           s->items[at & (s->room - 1)].n_values != n_values)
        at++;
    return &s->items[at & (s->room - 1)];
}

static int grow(sis__shapes *s) {
    sis__shapes larger = {.n = s->n, .room = s->room ? 2 * s->room : 8};
    larger.items = SIS_NEW(sis__declared_shape, larger.room);
    if (!larger.items)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < s->room; i++)
        if (s->items[i].n_values)
            *place_of(&larger, s->items[i].n_values) = s->items[i];
    free(s->items);
    *s = larger;
    return SIS_OK;
}

int sis__shapes_add(sis__shapes *s, const sis_net_shape *shape) {
    size_t n_values = count_of(shape);
    if (n_values == 0)
        return sis__fail(SIS_E_ARGUMENT, "a row without values");
    if (sis__shapes_has(s, shape))
        return SIS_OK;
    if (sis__shapes_find(s, n_values))
        return sis__fail(SIS_E_ARGUMENT, "rows of %zu values have another shape", n_values);
    if (2 * (s->n + 1) > s->room && grow(s) != SIS_OK)
        return SIS_E_NOMEM;
    *place_of(s, n_values) = (sis__declared_shape){.n_values = n_values, .shape = *shape};
    s->n++;
    return SIS_OK;
}

const sis_net_shape *sis__shapes_find(const sis__shapes *s, size_t n_values) {
    const sis__declared_shape *t = s->room ? place_of(s, n_values) : NULL;
    return t && t->n_values ? &t->shape : NULL;
}

int sis__shapes_has(const sis__shapes *s, const sis_net_shape *shape) {
    const sis_net_shape *told = sis__shapes_find(s, count_of(shape));
    return told && told->rank == shape->rank &&
           memcmp(told->dims, shape->dims, shape->rank * sizeof *shape->dims) == 0;
}

void sis__shapes_release(sis__shapes *s) {
    free(s->items);
    *s = (sis__shapes){0};
}
