/* SPDX-License-Identifier: MIT
 *
 * Pad: enlarge a tensor by a constant or by its own values (reflect, edge, wrap).
 */
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

static void pad_value(sis__shape_ctx *c, sis__pad *p) {
    const sis__tensor *t = sis__ctx_input(c, 2);
    if (!t)
        p->value = sis__attr_float(c, "value", 0.0f);
    else if (t->count != 1 || t->dtype != sis__ctx_input(c, 0)->dtype || !t->data)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "the fill value must be one constant number");
    else if (t->dtype == SIS__F32)
        p->value = *(const float *)t->data;
    else if (t->dtype == SIS__BOOL) /* the first byte, whatever the byte order */
        memset(&p->whole, *(const uint8_t *)t->data, sizeof p->whole);
    else
        p->whole = *(const int64_t *)t->data;
}

static void pad_mode(sis__shape_ctx *c, sis__pad *p) {
    static const char *const names[] = {"constant", "reflect", "edge", "wrap"};
    p->mode = (sis__pad_mode)sis__attr_choice(c, "mode", names, 4);
}

/* Expand the pads of the axes listed by input 3 to all axes (before, after); NULL: they are
 * complete. */
static void spread_pads(sis__shape_ctx *c, const int64_t *pads, size_t n, int64_t *all) {
    size_t rank = sis__ctx_input(c, 0)->rank, listed = rank;
    const int64_t *axes = sis__ctx_input(c, 3) ? sis__ctx_ints(c, 3, &listed) : NULL;
    memset(all, 0, 2 * SIS__MAX_RANK * sizeof *all);
    if (!c->error && (n != 2 * listed || listed > rank))
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "%zu pads for %zu axes", n, listed);
    for (size_t i = 0; i < listed && !c->error; i++) {
        size_t d = axes ? sis__ctx_axis(c, axes[i], rank) : i;
        all[d] = pads[i];
        all[rank + d] = pads[listed + i];
    }
}

static int pad_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    sis__pad *p = &c->step->p.pad;
    size_t n, dims[SIS__MAX_RANK];
    int64_t pads[2 * SIS__MAX_RANK];
    int some = 0;
    pad_mode(c, p);
    const int64_t *given =
        sis__ctx_input(c, 1) ? sis__ctx_ints(c, 1, &n) : sis__attr_ints(c, "pads", &n);
    pad_value(c, p);
    if (c->error)
        return c->error;
    spread_pads(c, given, n, pads);
    if (c->error)
        return c->error;
    for (size_t d = 0; d < x->rank; d++) {
        int64_t before = pads[d], after = pads[x->rank + d], size = (int64_t)x->dims[d];
        if (before < -size || after < -size || before > INT32_MAX || after > INT32_MAX ||
            size + before + after < 0)
            return sis__ctx_fail(c, SIS_E_FORMAT, "pads of %lld and %lld on an axis of %lld",
                                 (long long)before, (long long)after, (long long)size);
        if (p->mode == SIS__PAD_REFLECT && (before >= size || after >= size) && before + after > 0)
            return sis__ctx_fail(c, SIS_E_FORMAT, "reflects %lld and %lld of an axis of %lld",
                                 (long long)before, (long long)after, (long long)size);
        if ((p->mode == SIS__PAD_EDGE || p->mode == SIS__PAD_WRAP) && size == 0 &&
            before + after > 0)
            return sis__ctx_fail(c, SIS_E_FORMAT, "repeats the edge of an empty axis");
        p->begin[d] = before;
        dims[d] = (size_t)(size + before + after);
        some |= before != 0 || after != 0;
    }
    if (!some) /* PyTorch exports this with every AveragePool */
        sis__ctx_alias(c);
    return sis__ctx_output(c, 0, x->dtype, x->rank, dims);
}

/* The position in an axis of x of position i of y; -1: fill value. */
static int64_t pad_source(const sis__pad *p, size_t d, int64_t i, int64_t size) {
    i -= p->begin[d];
    if (i >= 0 && i < size)
        return i;
    if (p->mode == SIS__PAD_CONSTANT)
        return -1;
    if (p->mode == SIS__PAD_EDGE)
        return i < 0 ? 0 : size - 1;
    if (p->mode == SIS__PAD_WRAP)
        return (i % size + size) % size;
    return i < 0 ? -i : 2 * size - 2 - i;
}

/* The offset in x of offset `at` in y, over the first `rank` axes; SIZE_MAX: fill value. `stride`:
 * values of x per position of these axes. */
static size_t pad_offset(const sis__pad *p, const sis__tensor *x, const sis__tensor *y, size_t rank,
                         size_t stride, size_t at) {
    size_t offset = 0;
    for (size_t d = rank; d-- > 0;) {
        int64_t i = pad_source(p, d, (int64_t)(at % y->dims[d]), (int64_t)x->dims[d]);
        if (i < 0)
            return SIZE_MAX;
        offset += (size_t)i * stride;
        stride *= x->dims[d];
        at /= y->dims[d];
    }
    return offset;
}

/* One line; the inside is copied. from: the line of x; NULL: fill value. */
static void pad_line(const sis__pad *p, const sis__tensor *x, const sis__tensor *y,
                     const char *from, char *to) {
    const void *fill = x->dtype == SIS__F32 ? (const void *)&p->value : (const void *)&p->whole;
    size_t d = x->rank - 1, size = sis__dtype_size(x->dtype);
    int64_t n = (int64_t)y->dims[d], first = p->begin[d], end = first + (int64_t)x->dims[d];
    end = end < n ? end : n;
    for (int64_t i = 0; i < n;) {
        int64_t k = from ? pad_source(p, d, i, (int64_t)x->dims[d]) : -1;
        size_t count = from && i >= first && i < end ? (size_t)(end - i) : 1;
        memcpy(to + (size_t)i * size, k < 0 ? fill : from + (size_t)k * size, count * size);
        i += (int64_t)count;
    }
}

static int pad_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    size_t size = sis__dtype_size(x->dtype), line = y->rank ? y->dims[y->rank - 1] : 0;
    const char *in = (const char *)sis__in(s, r, 0);
    char *out = (char *)sis__out(s, r, 0);
    if (y->rank == 0 && in != out)
        memcpy(out, in, size);
    for (size_t i = 0; line && in != out && i < y->count; i += line) {
        size_t last = y->rank - 1;
        size_t from = pad_offset(&s->p.pad, x, y, last, x->dims[last], i / line);
        pad_line(&s->p.pad, x, y, from == SIZE_MAX ? NULL : in + from * size, out + i * size);
    }
    return SIS_OK;
}

static int pad_backward(const sis__step *s, sis__run *r) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    float *dx = sis__din(s, r, 0);
    for (size_t i = 0; dx && i < y->count; i++) {
        size_t from = pad_offset(&s->p.pad, x, y, x->rank, 1, i);
        if (from != SIZE_MAX)
            dx[from] += sis__dout(s, r, 0)[i];
    }
    return SIS_OK;
}

const sis__op sis__op_pad = {
    1, 4, pad_shape, pad_forward, pad_backward, .trait = SIS__MIXES, .family = SIS__PADDING};
