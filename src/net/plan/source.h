/* SPDX-License-Identifier: MIT
 *
 * The dependency of a result's values on an input's values. An operator describes it for each of
 * its inputs; plans and walks use it and need not know operators.
 *
 * The index of a value in the result is written in digits (one per axis, or coarser or finer ones).
 * Each digit has a step in the input. The digits together lead to one value of the input; the
 * result depends on that value, or on several values starting there, `over` some axes:
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
    int same; /* the result is a copy of that value, not a function of it */
    size_t rank;
    sis__digit at[SIS__DIGITS]; /* the slowest first */
    ptrdiff_t offset;
    size_t n_over;
    sis__digit over[SIS__MAX_RANK]; /* size 0: depends on no value */
    /* NULL, or: digit `picked` selects these slices of an axis of pick_size; its step counts
     * slices. */
    const int64_t *picks;
    size_t picked, pick_size;
    /* high > 0: only the values whose digit `part` is in low..high-1 come from this input. */
    size_t part, low, high;
} sis__source;

/* How output `out` of a step depends on input `in`. 0: unknown; then each value may depend on all
 * of the input, or the input controls the computation (a shape, bounds). */
int sis__source_of(const sis__plan *p, const sis__step *s, size_t out, size_t in,
                   sis__source *from);

/* For operators: the same n values in the same order; each of n values depends on all `of`
 * values. */
int sis__source_same(sis__source *from, size_t n);
int sis__source_all(sis__source *from, size_t n, size_t of);
/* Append a digit, faster than those before. */
void sis__source_digit(sis__source *from, size_t size, ptrdiff_t step);

/* The first value of the input that value i of the result depends on; SIZE_MAX: none. */
size_t sis__source_at(const sis__source *from, size_t i);

/* Does each value depend on one value of the input at most? */
int sis__source_single(const sis__source *from);

/* Flag the values of the input that are read (x->count flags, zeroed before). */
void sis__source_read(const sis__source *from, const sis__tensor *y, size_t n, unsigned char *read);

/* The distance in the input of one step along an axis of the result. 0: not constant. The other
 * digits go into *rest if it is not NULL. */
int sis__source_along(const sis__source *from, const sis__tensor *y, size_t axis, ptrdiff_t *step,
                      sis__source *rest);

/* The axis of the input of which slice i determines slice i along `axis` of the result; both have
 * the same size. -1: none; then *all says whether each slice reads the same values. */
int sis__source_axis(const sis__source *from, const sis__tensor *y, size_t axis,
                     const sis__tensor *x, int *all);

/* The axis of the input of which some slices are copied (fewer than all, at most `max`) with
 * everything else unchanged; their indices and number. -1: another operation. */
int sis__source_picks(const sis__source *from, const sis__tensor *y, const sis__tensor *x,
                      size_t max, int64_t *slices, size_t *n);

#endif
