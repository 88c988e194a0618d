/* SPDX-License-Identifier: MIT
 *
 * The declared shapes of a handle's rows: one shape for each number of values. A hash table by that
 * number, so a lookup takes constant time however many image sizes there are.
 */
#ifndef SIS_MODEL_SHAPES_H
#define SIS_MODEL_SHAPES_H

#include <sis/net.h>

typedef struct sis__declared_shape {
    size_t n_values; /* 0: free entry */
    sis_net_shape shape;
} sis__declared_shape;

typedef struct sis__shapes {
    sis__declared_shape *items; /* (room) */
    size_t n, room;             /* room: a power of two, or 0 */
} sis__shapes;

/* SIS_E_ARGUMENT: rows with this number of values have another shape. */
int sis__shapes_add(sis__shapes *s, const sis_net_shape *shape);

/* The shape of rows with this number of values; NULL: none. */
const sis_net_shape *sis__shapes_find(const sis__shapes *s, size_t n_values);

/* Was this shape declared? */
int sis__shapes_has(const sis__shapes *s, const sis_net_shape *shape);
void sis__shapes_release(sis__shapes *s);

#endif
