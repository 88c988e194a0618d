/* SPDX-License-Identifier: MIT
 *
 * The declared shapes of a handle's rows: one shape for each number of values. A lookup takes
 * constant time however many image sizes there are.
 */
#ifndef SIS_MODEL_SHAPES_H
#define SIS_MODEL_SHAPES_H

#include <sis/net.h>

#include "base/names.h"

typedef struct sis__shapes {
    sis__names counts;    /* numbers of values */
    sis_net_shape *items; /* (counts.n) */
    size_t room;
} sis__shapes;

/* SIS_E_ARGUMENT: rows with this number of values have another shape. */
int sis__shapes_add(sis__shapes *s, const sis_net_shape *shape);

/* The shape of rows with this number of values; NULL: none. */
const sis_net_shape *sis__shapes_find(const sis__shapes *s, size_t n_values);

/* Was this shape declared? */
int sis__shapes_has(const sis__shapes *s, const sis_net_shape *shape);
void sis__shapes_release(sis__shapes *s);

#endif
