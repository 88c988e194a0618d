/* SPDX-License-Identifier: MIT
 *
 * Broadcasting. Adjacent axes are merged if every input is either contiguous over both or repeated
 * along both, so the usual cases (same shape, a number, a bias) are one or two loops.
 */
#include "net/ops/broadcast.h"

#include <string.h>

/* Size of the axis of t that is aligned with axis d of `rank`. */
static size_t size_at(const sis__tensor *t, size_t rank, size_t d) {
    return d + t->rank < rank ? 1 : t->dims[d + t->rank - rank];
}

int sis__broadcast_dims(const sis__tensor *const *t, size_t n, size_t *rank, size_t *dims) {
    *rank = 0;
    for (size_t i = 0; i < n; i++)
        *rank = t[i]->rank > *rank ? t[i]->rank : *rank;
    for (size_t d = 0; d < *rank; d++) {
        dims[d] = 1;
        for (size_t i = 0; i < n; i++) {
            size_t size = size_at(t[i], *rank, d);
            if (size != 1 && dims[d] != 1 && size != dims[d])
                return -1;
            dims[d] = size != 1 ? size : dims[d];
        }
    }
    return 0;
}

/* Can axis d be merged into the last one of b? */
static int merges(const sis__broadcast *b, size_t size, const size_t *stride, size_t n) {
    if (b->rank == 0)
        return 0;
    for (size_t i = 0; i < n; i++)
        if (b->stride[i][b->rank - 1] != stride[i] * size)
            return 0;
    return 1;
}

void sis__broadcast_init(sis__broadcast *b, size_t rank, const size_t *dims,
                         const sis__tensor *const *t, size_t n) {
    size_t full[3][SIS__MAX_RANK];
    *b = (sis__broadcast){0};
    for (size_t i = 0; i < n; i++) {
        size_t stride = 1;
        for (size_t d = rank; d-- > 0;) {
            size_t size = size_at(t[i], rank, d);
            full[i][d] = size == 1 ? 0 : stride;
            stride *= size;
        }
    }
    for (size_t d = 0; d < rank; d++) {
        size_t stride[3] = {0};
        if (dims[d] == 1)
            continue;
        for (size_t i = 0; i < n; i++)
            stride[i] = full[i][d];
        if (merges(b, dims[d], stride, n))
            b->dims[b->rank - 1] *= dims[d];
        else
            b->dims[b->rank++] = dims[d];
        for (size_t i = 0; i < n; i++)
            b->stride[i][b->rank - 1] = stride[i];
    }
}

size_t sis__broadcast_length(const sis__broadcast *b) {
    return b->rank ? b->dims[b->rank - 1] : 1;
}

size_t sis__broadcast_step(const sis__broadcast *b, size_t input) {
    return b->rank ? b->stride[input][b->rank - 1] : 0;
}

void sis__broadcast_rows(const sis__broadcast *b, sis__row_fn fn, void *ctx) {
    size_t at[SIS__MAX_RANK] = {0}, offset[3] = {0}, rows = 1, length = sis__broadcast_length(b);
    size_t axes = b->rank ? b->rank - 1 : 0;
    for (size_t d = 0; d < axes; d++)
        rows *= b->dims[d];
    for (size_t row = 0; length && row < rows; row++) {
        fn(ctx, offset, row * length);
        for (size_t d = axes; d-- > 0;) {
            for (size_t i = 0; i < 3; i++)
                offset[i] += b->stride[i][d];
            if (++at[d] < b->dims[d])
                break;
            for (size_t i = 0; i < 3; i++)
                offset[i] -= b->stride[i][d] * b->dims[d];
            at[d] = 0;
        }
    }
}

/* ---- In shape functions ---------------------------------------------------------------------- */

int sis__ctx_broadcast(sis__shape_ctx *c, size_t n, size_t *rank, size_t *dims) {
    const sis__tensor *t[3];
    *rank = 0;
    if (c->error)
        return c->error;
    if (n <= 3) {
        for (size_t i = 0; i < n; i++)
            t[i] = sis__ctx_input(c, i);
        if (sis__broadcast_dims(t, n, rank, dims) != 0)
            return sis__ctx_fail(c, SIS_E_FORMAT, "inputs whose shapes do not fit");
        sis__broadcast_init(&c->step->p.broadcast, *rank, dims, t, n);
        return c->error;
    }
    sis__tensor sum = *sis__ctx_input(c, 0);
    for (size_t i = 1; i < n; i++) {
        t[0] = &sum;
        t[1] = sis__ctx_input(c, i);
        if (!t[1] || sis__broadcast_dims(t, 2, rank, dims) != 0)
            return sis__ctx_fail(c, SIS_E_FORMAT, "inputs whose shapes do not fit");
        sum.rank = *rank;
        memcpy(sum.dims, dims, *rank * sizeof *dims);
    }
    return c->error;
}

int sis__ctx_same_types(sis__shape_ctx *c, size_t from, size_t to) {
    for (size_t i = from; i < to; i++)
        if (!sis__ctx_input(c, i) || sis__ctx_input(c, i)->dtype != sis__ctx_input(c, from)->dtype)
            return sis__ctx_fail(c, SIS_E_FORMAT, "inputs of different types");
    return c->error;
}
