/* SPDX-License-Identifier: MIT
 *
 * See shapes.h.
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

int sis__shapes_add(sis__shapes *s, const sis_net_shape *shape) {
    size_t n_values = count_of(shape);
    uint32_t at;
    if (n_values == 0)
        return sis__fail(SIS_E_ARGUMENT, "a row without values");
    if (sis__shapes_has(s, shape))
        return SIS_OK;
    if (sis__shapes_find(s, n_values))
        return sis__fail(SIS_E_ARGUMENT, "rows of %zu values have another shape", n_values);
    int error = sis__reserve(&s->items, &s->room, s->counts.n + 1, sizeof *s->items);
    if (error == SIS_OK)
        error = sis__names_add(&s->counts, &n_values, sizeof n_values, &at);
    if (error == SIS_OK)
        s->items[at] = *shape;
    return error;
}

const sis_net_shape *sis__shapes_find(const sis__shapes *s, size_t n_values) {
    uint32_t at = sis__names_find(&s->counts, &n_values, sizeof n_values);
    return at == UINT32_MAX ? NULL : &s->items[at];
}

int sis__shapes_has(const sis__shapes *s, const sis_net_shape *shape) {
    const sis_net_shape *told = sis__shapes_find(s, count_of(shape));
    return told && told->rank == shape->rank &&
           memcmp(told->dims, shape->dims, shape->rank * sizeof *shape->dims) == 0;
}

void sis__shapes_release(sis__shapes *s) {
    sis__names_release(&s->counts);
    free(s->items);
    *s = (sis__shapes){0};
}
