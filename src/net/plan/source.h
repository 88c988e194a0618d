/* SPDX-License-Identifier: MIT
 *
 * Where the values of a result come from. An operator says for each of its inputs which values of it
 * stand behind each value of a result; plans and walks ask here and know no operators.
 *
 * The number of a value in the result is written in digits (those of its index along the axes, or
 * coarser or finer ones). Each digit goes through the input in steps of one length. From where they
 * lead, the value is computed from the values `over` some axes, or from that one alone:
 *
 *     Transpose  x (2, 3)              y digits (3, step 1) (2, step 3)
 *     MatMul     a (4, 5), b (5, 6)    a: (4, step 5) (6, step 0), over (5, step 1)
 *                                      b: (4, step 0) (6, step 1), over (5, step 6)
 */
#ifndef SIS_NET_PLAN_SOURCE_H
#define SIS_NET_PLAN_SOURCE_H

#include "net/plan/plan.h"

enum { SIS__DIGITS = 2 * SIS__MAX_RANK };

typedef struct sis__digit {
    size_t size;
    ptrdiff_t step;
} sis__digit;

typedef struct sis__source {
    int same; /* the result is that value, not a function of it */
    size_t rank;
    sis__digit at[SIS__DIGITS]; /* the slowest first */
    ptrdiff_t offset;
    size_t n_over;
    sis__digit over[SIS__MAX_RANK]; /* of size 0: it depends on no value */
    /* NULL, or: digit `picked` goes to these slices of an axis of pick_size, in steps of slices. */
    const int64_t *picks;
    size_t picked, pick_size;
    /* high > 0: only the values whose digit `part` is in low..high-1 come from this input. */
    size_t part, low, high;
} sis__source;

/* What output `out` of a step takes from input `in`. 0: the operator does not say; then each value may
 * depend on all of the input, or the input says what is computed (a shape, bounds). */
int sis__source_of(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                   sis__source *from);

/* For operators that describe themselves: the same n values in the same order; each of n values
 * depends on all `of` values. */
int sis__source_same(sis__source *from, size_t n);
int sis__source_all(sis__source *from, size_t n, size_t of);
/* One more digit, faster than those before. */
void sis__source_digit(sis__source *from, size_t size, ptrdiff_t step);

/* Where value i of the result begins to look in the input; SIZE_MAX: it does not look there. */
size_t sis__source_at(const sis__source *from, size_t i);

/* Does each value depend on one value of the input at most? */
int sis__source_single(const sis__source *from);

/* Flag the values of the input that are read: (x->count), zeroed before. */
void sis__source_read(const sis__source *from, const sis__tensor *y, size_t n, unsigned char *read);

/* How far one step along an axis of the result is in the input. 0: not the same everywhere. The other
 * digits go into *rest if it is not NULL. */
int sis__source_along(const sis__source *from, const sis__tensor *y, size_t axis, ptrdiff_t *step,
                      sis__source *rest);

/* The axis of the input whose slices alone are read for those along `axis` of the result, which is as long; *all: there is
 * none because each slice reads the same. -1: neither. */
int sis__source_axis(const sis__source *from, const sis__tensor *y, size_t axis,
                     const sis__tensor *x, int *all);

/* The axis of the input of which slices are picked, fewer than there are and at most `most`, all else being as it
 * was; which and how many. -1: it is something else. */
int sis__source_picks(const sis__source *from, const sis__tensor *y, const sis__tensor *x,
                      size_t most, int64_t *slices, size_t *n);

#endif
