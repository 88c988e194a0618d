/* SPDX-License-Identifier: MIT
 *
 * Where: each element comes from one of two inputs, as a third one selects, with broadcasting.
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/broadcast.h"
#include "net/ops/ops.h"

static int where_shape(sis__shape_ctx *c) {
    size_t rank, dims[SIS__MAX_RANK];
    if (sis__ctx_input(c, 0)->dtype != SIS__BOOL)
        return sis__ctx_fail(c, SIS_E_FORMAT, "a condition that is not bool");
    sis__ctx_same_types(c, 1, 3);
    sis__ctx_broadcast(c, 3, &rank, dims);
    return sis__ctx_output(c, 0, sis__ctx_input(c, 1)->dtype, rank, dims);
}

typedef struct {
    const sis__step *s;
    sis__run *r;
} where_ctx;

/* One loop for each pair of strides, so that compilers vectorise it. */
static void pick_floats(const where_ctx *w, const uint8_t *pick, const size_t *offset, float *y) {
    const sis__broadcast *b = &w->s->p.broadcast;
    const float *one = sis__in(w->s, w->r, 1) + offset[1],
                *two = sis__in(w->s, w->r, 2) + offset[2];
    size_t n = sis__broadcast_length(b), sp = sis__broadcast_step(b, 0);
    size_t s1 = sis__broadcast_step(b, 1), s2 = sis__broadcast_step(b, 2);
#define PICK(i1, i2)                                                                               \
    for (size_t i = 0; i < n; i++)                                                                 \
    y[i] = pick[i] ? one[i1] : two[i2]
    if (sp != 1 || s1 > 1 || s2 > 1)
        for (size_t i = 0; i < n; i++)
            y[i] = pick[i * sp] ? one[i * s1] : two[i * s2];
    else if (s1 && s2)
        PICK(i, i);
    else if (s1)
        PICK(i, 0);
    else if (s2)
        PICK(0, i);
    else
        PICK(0, 0);
#undef PICK
}

static void where_row(void *ctx, const size_t *offset, size_t out) {
    const where_ctx *w = (const where_ctx *)ctx;
    const sis__broadcast *b = &w->s->p.broadcast;
    const uint8_t *pick = (const uint8_t *)(const void *)sis__in(w->s, w->r, 0) + offset[0];
    size_t size = sis__dtype_size(sis__tout(w->s, w->r, 0)->dtype);
    if (size == sizeof(float)) {
        pick_floats(w, pick, offset, sis__out(w->s, w->r, 0) + out);
        return;
    }
    char *y = (char *)sis__out(w->s, w->r, 0) + out * size;
    for (size_t i = 0, n = sis__broadcast_length(b); i < n; i++) {
        size_t from = pick[i * sis__broadcast_step(b, 0)] ? 1 : 2;
        const char *x = (const char *)sis__in(w->s, w->r, from);
        memcpy(y + i * size, x + (offset[from] + i * sis__broadcast_step(b, from)) * size, size);
    }
}

static int where_forward(const sis__step *s, sis__run *r) {
    sis__broadcast_rows(&s->p.broadcast, where_row, &(where_ctx){s, r});
    return SIS_OK;
}

static void where_row_backward(void *ctx, const size_t *offset, size_t out) {
    const where_ctx *w = (const where_ctx *)ctx;
    const sis__broadcast *b = &w->s->p.broadcast;
    const uint8_t *pick = (const uint8_t *)(const void *)sis__in(w->s, w->r, 0) + offset[0];
    for (size_t i = 0, n = sis__broadcast_length(b); i < n; i++) {
        size_t from = pick[i * sis__broadcast_step(b, 0)] ? 1 : 2;
        float *dx = sis__din(w->s, w->r, from);
        if (dx)
            dx[offset[from] + i * sis__broadcast_step(b, from)] +=
                sis__dout(w->s, w->r, 0)[out + i];
    }
}

static int where_backward(const sis__step *s, sis__run *r) {
    sis__broadcast_rows(&s->p.broadcast, where_row_backward, &(where_ctx){s, r});
    return SIS_OK;
}

const sis__op sis__op_where = {
    3, 3, where_shape, where_forward, where_backward, .trait = SIS__MAPS_TEXTS};
