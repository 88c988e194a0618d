/* SPDX-License-Identifier: MIT
 *
 * What a handle of a model was told about the shape of its rows: one shape for each number of values.
 * A table that is looked up by that number, in constant time however many images differ in size.
 */
#ifndef SIS_MODEL_SHAPES_H
#define SIS_MODEL_SHAPES_H

#include <sis/net.h>

typedef struct sis__told_shape {
    size_t n_values; /* 0: this place is free */
    sis_net_shape shape;
} sis__told_shape;

typedef struct sis__shapes {
    sis__told_shape *items; /* (room) */
    size_t n, room;         /* room: a power of two, or 0 */
} sis__shapes;

/* SIS_E_ARGUMENT: rows of as many values have another shape. */
int sis__shapes_add(sis__shapes *s, const sis_net_shape *shape);

/* That of rows of so many values; NULL: nothing was told. */
const sis_net_shape *sis__shapes_find(const sis__shapes *s, size_t n_values);

/* Was it told this one? */
int sis__shapes_has(const sis__shapes *s, const sis_net_shape *shape);
void sis__shapes_release(sis__shapes *s);

#endif
