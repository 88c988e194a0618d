/* SPDX-License-Identifier: MIT
 *
 * See source.h. For operators that keep or map values the trait alone gives the answer.
 */
#include "net/plan/source.h"

#include <string.h>

#include "net/ops/axes.h"
#include "net/plan/context.h"

int sis__source_same(sis__source *from, size_t n) {
    *from = (sis__source){.same = 1, .rank = 1, .at = {{n, 1}}};
    return 1;
}

int sis__source_all(sis__source *from, size_t n, size_t of) {
    *from = (sis__source){.rank = 1, .at = {{n, 0}}, .n_over = 1, .over = {{of, 1}}};
    return 1;
}

void sis__source_digit(sis__source *from, size_t size, ptrdiff_t step) {
    from->at[from->rank++] = (sis__digit){size, step};
}

/* x is broadcast to the shape of y. */
static int source_of_map(const sis__tensor *x, const sis__tensor *y, sis__source *from) {
    size_t stride[SIS__MAX_RANK], missing = y->rank - x->rank;
    if (x->rank > y->rank)
        return 0;
    sis__strides_of(x, stride);
    for (size_t d = 0; d < y->rank; d++)
        sis__source_digit(
            from, y->dims[d],
            d < missing || x->dims[d - missing] == 1 ? 0 : (ptrdiff_t)stride[d - missing]);
    return 1;
}

int sis__source_of(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                   sis__source *from) {
    *from = (sis__source){0};
    if (in >= s->n_inputs || s->inputs[in] < 0 || out >= s->n_outputs || s->outputs[out] < 0)
        return 0;
    const sis__tensor *x = &p->tensors[s->inputs[in]], *y = &p->tensors[s->outputs[out]];
    if (s->ops->source)
        return s->ops->source(p, s, out, in, from);
    switch (out == 0 ? s->ops->trait : SIS__MIXES) {
    case SIS__KEEPS:
        return in == 0 ? sis__source_same(from, y->count)
                       : sis__source_all(from, y->count, x->count);
    case SIS__MAPS:
    case SIS__MAPS_TEXTS:
        return source_of_map(x, y, from);
    case SIS__MAPS_PLACES:
        return in == 0 && x->count == y->count ? source_of_map(x, y, from) : 0;
    default:
        return 0;
    }
}

size_t sis__source_at(const sis__source *from, size_t i) {
    ptrdiff_t at = from->offset;
    for (size_t d = from->rank; d-- > 0;) {
        size_t k = i % from->at[d].size;
        i /= from->at[d].size;
        if (from->high && d == from->part && (k < from->low || k >= from->high))
            return SIZE_MAX;
        if (from->picks && d == from->picked)
            k = sis__index_in(from->picks[k], from->pick_size);
        at += (ptrdiff_t)k * from->at[d].step;
    }
    return (size_t)at;
}

int sis__source_single(const sis__source *from) {
    size_t n = 1;
    for (size_t d = 0; d < from->n_over; d++)
        n *= from->over[d].size;
    return n == 1;
}

/* Flag the values that are read, starting at `at`. */
static void read_over(const sis__source *from, size_t at, unsigned char *read) {
    size_t n = 1;
    for (size_t d = 0; d < from->n_over; d++)
        n *= from->over[d].size;
    for (size_t i = 0; i < n; i++) {
        size_t rest = i, to = at;
        for (size_t d = from->n_over; d-- > 0; rest /= from->over[d].size)
            to += rest % from->over[d].size * (size_t)from->over[d].step;
        read[to] |= 1;
    }
}

void sis__source_read(const sis__source *from, const sis__tensor *y, size_t n,
                      unsigned char *read) {
    for (size_t i = 0; i < y->count; i++) {
        size_t at = sis__source_at(from, i);
        if (at < n)
            read[at] = 2;
    }
    for (size_t i = 0; i < n; i++)
        if (read[i] & 2)
            read_over(from, i, read);
    for (size_t i = 0; i < n; i++)
        read[i] &= 1;
}

/* ---- Along axes ------------------------------------------------------------------------------ */

int sis__source_along(const sis__source *from, const sis__tensor *y, size_t axis, ptrdiff_t *step,
                      sis__source *rest) {
    sis__axis a;
    size_t covered = 1, d = from->rank;
    sis__axis_around(y, axis, &a);
    if (y->count == 0)
        return 0;
    while (d-- > 0 && covered * from->at[d].size <= a.inner)
        covered *= from->at[d].size;
    if (d >= from->rank || a.inner % covered || from->at[d].size % (a.inner / covered * a.size))
        return 0;
    if ((from->picks && d == from->picked) || (from->high && d == from->part))
        return 0;
    size_t inner = a.inner / covered, outer = from->at[d].size / inner / a.size;
    ptrdiff_t by = from->at[d].step;
    *step = by * (ptrdiff_t)inner;
    if (rest) {
        *rest = *from;
        rest->at[d] = (sis__digit){inner, by};
        if (outer > 1 && rest->rank == SIS__DIGITS)
            return 0;
        if (outer > 1)
            sis__source_digit(rest, outer, *step * (ptrdiff_t)a.size);
    }
    return 1;
}

/* Does a digit stay inside slices of x along an axis, or step over whole sets of slices? */
static int stays(const sis__axis *x, size_t size, ptrdiff_t step, size_t *span) {
    size_t by = (size_t)step;
    if (size <= 1 || step == 0 || (step > 0 && by % (x->size * x->inner) == 0))
        return 1;
    if (step < 0 || by >= x->inner)
        return 0;
    *span += (size - 1) * by;
    return 1;
}

static int stays_apart(const sis__source *rest, const sis__axis *x) {
    size_t span = 0, offset = (size_t)rest->offset;
    int apart = rest->offset >= 0 || rest->high > 0;
    for (size_t d = 0; d < rest->rank && apart; d++)
        if (rest->high && d == rest->part) /* from the offset on, which is before it */
            apart = stays(x, rest->high - rest->low, rest->at[d].step, &span);
        else
            apart = stays(x, rest->picks && d == rest->picked ? rest->pick_size : rest->at[d].size,
                          rest->at[d].step, &span);
    for (size_t d = 0; d < rest->n_over && apart; d++)
        apart = stays(x, rest->over[d].size, rest->over[d].step, &span);
    offset = rest->high ? 0 : offset;
    return apart && offset / x->inner % x->size == 0 && offset % x->inner + span < x->inner;
}

int sis__source_axis(const sis__source *from, const sis__tensor *y, size_t axis,
                     const sis__tensor *x, int *all) {
    ptrdiff_t step;
    sis__source rest;
    *all = 0;
    if (!sis__source_along(from, y, axis, &step, &rest))
        return -1;
    *all = step == 0;
    for (size_t d = 0; d < x->rank && step > 0; d++) {
        sis__axis a;
        sis__axis_around(x, d, &a);
        if (a.size == y->dims[axis] && a.inner == (size_t)step && stays_apart(&rest, &a))
            return (int)d;
    }
    return -1;
}

/* Do the digits from *d on, the fastest first, pass through `size` values of x in order, starting
 * at `at`? *d becomes the next digit. */
static int in_order(const sis__source *from, size_t *d, size_t size, size_t at) {
    size_t covered = 1;
    while (*d > 0 && (covered < size || from->at[*d - 1].size == 1)) {
        const sis__digit *g = &from->at[--*d];
        if (g->size > 1 && g->step != (ptrdiff_t)(at * covered))
            return 0;
        covered *= g->size;
    }
    return covered == size;
}

static int picks_along(const sis__source *from, const sis__axis *a, size_t n, int64_t *slices) {
    size_t d = from->rank, before = 0;
    if (!in_order(from, &d, a->inner, 1) || from->offset < 0 ||
        (size_t)from->offset % a->inner != 0)
        return 0;
    before = (size_t)from->offset / a->inner;
    ptrdiff_t step = 0;
    const int64_t *picks = NULL;
    if (n > 1) {
        if (d == 0 || from->at[--d].size != n || from->at[d].step % (ptrdiff_t)a->inner != 0)
            return 0;
        step = from->at[d].step / (ptrdiff_t)a->inner;
        picks = from->picks && from->picked == d ? from->picks : NULL;
    }
    if ((from->picks && !picks) || !in_order(from, &d, a->outer, a->size * a->inner) || d > 0)
        return 0;
    for (size_t k = 0; k < n; k++) {
        size_t at = picks ? sis__index_in(picks[k], a->size) : k;
        slices[k] = (int64_t)before + (int64_t)at * step;
        if (slices[k] < 0 || slices[k] >= (int64_t)a->size)
            return 0;
    }
    return 1;
}

int sis__source_picks(const sis__source *from, const sis__tensor *y, const sis__tensor *x,
                      size_t max, int64_t *slices, size_t *n) {
    if (!from->same || from->high || x->count == 0)
        return -1;
    for (size_t d = 0; d < x->rank; d++) {
        sis__axis a;
        sis__axis_around(x, d, &a);
        *n = y->count / (a.outer * a.inner);
        if (*n > 0 && *n < a.size && *n <= max && y->count == *n * a.outer * a.inner &&
            picks_along(from, &a, *n, slices))
            return (int)d;
    }
    return -1;
}
