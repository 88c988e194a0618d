/* SPDX-License-Identifier: MIT
 *
 * Sequences of tensors: SequenceConstruct, SequenceEmpty, SequenceInsert, SequenceErase, SequenceAt, SequenceLength,
 * SplitToSequence, ConcatFromSequence; and optional values, which are there or not when a plan is made.
 *
 * A sequence is one tensor whose memory holds its items back to back (sis__items of net/plan/plan.h). How many there are and
 * how large is known when the plan is made, so every operator here is a list of runs of values that are copied.
 */
#include <string.h>

#include "base/error.h"
#include "net/onnx/proto.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/ops/sequence.h"

enum { MAX_ITEMS = 2048 }; /* a loop that inserts keeps a list of each length */

/* n values of an input from one place go to another. */
typedef struct {
    size_t input, from, to, n;
} piece;

typedef struct {
    piece *pieces;
    size_t n, cap;
} pieces;

static pieces *new_pieces(sis__cx *c, size_t cap) {
    pieces *p = (pieces *)sis__cx_own(c, sizeof *p);
    if (p) {
        p->pieces = (piece *)sis__cx_list(c, cap + 1, sizeof *p->pieces);
        p->cap = cap;
    }
    return c->error ? NULL : p;
}

static void add_piece(pieces *p, size_t input, size_t from, size_t to, size_t n) {
    if (p->n < p->cap)
        p->pieces[p->n++] = (piece){input, from, to, n};
}

static int pieces_forward(const sis__step *s, sis__run *r) {
    const pieces *p = (const pieces *)s->p.own;
    size_t size = sis__dtype_size(sis__tout(s, r, 0)->dtype);
    for (size_t i = 0; i < p->n; i++) {
        const piece *k = &p->pieces[i];
        if (k->n)
            memcpy((char *)sis__out(s, r, 0) + k->to * size,
                   (const char *)sis__in(s, r, k->input) + k->from * size, k->n * size);
    }
    return SIS_OK;
}

static int pieces_backward(const sis__step *s, sis__run *r) {
    const pieces *p = (const pieces *)s->p.own;
    for (size_t i = 0; i < p->n; i++) {
        const piece *k = &p->pieces[i];
        float *dx = sis__din(s, r, k->input);
        for (size_t j = 0; dx && j < k->n; j++)
            dx[k->from + j] += sis__dout(s, r, 0)[k->to + j];
    }
    return SIS_OK;
}

/* ---- Items ------------------------------------------------------------------------------------ */

sis__items *sis__items_new(sis__cx *c, size_t n) {
    if (n > MAX_ITEMS)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "a sequence of %zu", n);
    sis__items *items = (sis__items *)sis__cx_alloc(c, 1, sizeof *items);
    sis__item *list = (sis__item *)sis__cx_alloc(c, n + 1, sizeof *list);
    if (c->error)
        return NULL;
    items->n = n;
    items->list = list;
    return items;
}

void sis__items_set(sis__items *items, size_t i, size_t rank, const size_t *dims) {
    sis__item *to = &items->list[i];
    to->rank = rank;
    to->count = 1;
    to->at = i ? items->list[i - 1].at + items->list[i - 1].count : 0;
    for (size_t d = 0; d < rank; d++)
        to->count *= to->dims[d] = dims[d];
}

int sis__items_give(sis__cx *c, size_t i, const sis__items *items, sis__dtype type, int elem) {
    size_t n = items->n ? items->list[items->n - 1].at + items->list[items->n - 1].count : 0;
    sis__cx_output(c, i, type, 1, &n);
    sis__cx_elem(c, i, elem);
    sis__cx_items(c, i, items);
    return c->error;
}

/* Output 0 is this sequence. */
static int give_items(sis__cx *c, const sis__items *items, sis__dtype type, int elem) {
    return sis__items_give(c, 0, items, type, elem);
}

static const sis__items *items_of(sis__cx *c) {
    const sis__tensor *t = sis__cx_input(c, 0);
    if (!t->items)
        sis__cx_fail(c, SIS_E_FORMAT, "input 0 is not a sequence");
    return c->error ? NULL : t->items;
}

/* The place that input i names among n, or `missing` if there is no such input. */
static size_t place_of(sis__cx *c, size_t i, size_t n, size_t missing) {
    size_t count;
    if (!sis__cx_input(c, i))
        return missing;
    const int64_t *v = sis__cx_ints(c, i, &count);
    size_t at = c->error || count != 1 ? SIZE_MAX : sis__index_in(v[0], n);
    if (at == SIZE_MAX)
        sis__cx_fail(c, SIS_E_ARGUMENT, "there is no such item among %zu", n);
    return c->error ? 0 : at;
}

/* ---- Making them -------------------------------------------------------------------------------- */

static int construct_shape(sis__cx *c) {
    size_t n = c->node->n_own;
    sis__items *items = sis__items_new(c, n);
    pieces *p = new_pieces(c, n);
    const sis__tensor *first = sis__cx_input(c, 0);
    for (size_t i = 0; i < n && !c->error; i++) {
        const sis__tensor *t = sis__cx_input(c, i);
        if (!t || t->items || t->dtype != first->dtype)
            return sis__cx_fail(c, SIS_E_FORMAT, "tensors of different types");
        sis__items_set(items, i, t->rank, t->dims);
        add_piece(p, i, 0, items->list[i].at, t->count);
    }
    return c->error ? c->error : give_items(c, items, first->dtype, first->elem);
}

static int empty_shape(sis__cx *c) {
    int elem = (int)sis__attr_int(c, "dtype", SIS__FLOAT);
    sis__items *items = sis__items_new(c, 0);
    new_pieces(c, 0);
    if (sis__elem_dtype(elem) == SIS__OTHER)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "tensors of type %s", sis__elem_name(elem));
    return c->error ? c->error : give_items(c, items, sis__elem_dtype(elem), elem);
}

static int insert_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *t = sis__cx_input(c, 1);
    const sis__items *old = items_of(c);
    if (c->error)
        return c->error;
    size_t at = place_of(c, 2, old->n + 1, old->n);
    const sis__tensor *place = sis__cx_input(c, 2);
    if (place && !c->error &&
        *(const int64_t *)place->data < 0) /* counted from the last, not behind it */
        at = at ? at - 1 : 0;
    sis__items *items = sis__items_new(c, old->n + 1);
    pieces *p = new_pieces(c, old->n + 1);
    if (t->items || (old->n && t->dtype != x->dtype))
        sis__cx_fail(c, SIS_E_FORMAT, "an item of another type");
    for (size_t i = 0; i <= old->n && !c->error; i++) {
        const sis__item *from = i == at ? NULL : &old->list[i < at ? i : i - 1];
        sis__items_set(items, i, from ? from->rank : t->rank, from ? from->dims : t->dims);
        add_piece(p, from ? 0 : 1, from ? from->at : 0, items->list[i].at, items->list[i].count);
    }
    return c->error ? c->error : give_items(c, items, t->dtype, t->elem);
}

static int erase_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    const sis__items *old = items_of(c);
    if (c->error)
        return c->error;
    if (old->n == 0)
        return sis__cx_fail(c, SIS_E_ARGUMENT, "an empty sequence");
    size_t gone = place_of(c, 1, old->n, old->n - 1);
    sis__items *items = sis__items_new(c, old->n - 1);
    pieces *p = new_pieces(c, old->n);
    for (size_t i = 0; !c->error && i < items->n; i++) {
        const sis__item *from = &old->list[i < gone ? i : i + 1];
        sis__items_set(items, i, from->rank, from->dims);
        add_piece(p, 0, from->at, items->list[i].at, from->count);
    }
    return c->error ? c->error : give_items(c, items, x->dtype, x->elem);
}

/* ---- SplitToSequence ---------------------------------------------------------------------------- */

/* Length of part i of an axis; parts are given one by one, all alike, or 1 each. */
static size_t part_of(const int64_t *split, size_t n, int each, size_t size, size_t i) {
    size_t length = n == 0 ? 1 : each ? (size_t)split[0] : (size_t)split[i];
    return each && (i + 1) * length > size ? size - i * length : length;
}

static int split_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *given = sis__cx_input(c, 1);
    size_t axis = sis__cx_axis(c, sis__attr_int(c, "axis", 0), x->rank), n = 0, total = 0;
    int keep = sis__attr_int(c, "keepdims", 1) != 0 || given;
    const int64_t *split = given ? sis__cx_ints(c, 1, &n) : NULL;
    int each = n == 1 && given->rank == 0;
    if (x->rank == 0)
        sis__cx_fail(c, SIS_E_FORMAT, "a number cannot be split");
    for (size_t i = 0; i < n && !c->error; i++) {
        if (split[i] < (each ? 1 : 0) || split[i] > INT32_MAX)
            sis__cx_fail(c, SIS_E_FORMAT, "parts of %lld", (long long)split[i]);
        total += c->error ? 0 : (size_t)split[i];
    }
    if (c->error)
        return c->error;
    sis__axis a;
    sis__axis_around(x, axis, &a);
    size_t parts = n == 0 ? a.size : each ? (a.size + (size_t)split[0] - 1) / (size_t)split[0] : n;
    if (n && !each && total != a.size)
        return sis__cx_fail(c, SIS_E_FORMAT, "parts of %zu for an axis of %zu", total, a.size);
    sis__items *items = sis__items_new(c, parts);
    pieces *p = new_pieces(c, parts * a.outer);
    size_t at = 0;
    for (size_t i = 0; i < parts && !c->error; i++) {
        size_t dims[SIS__MAX_RANK], length = part_of(split, n, each, a.size, i), rank = x->rank;
        memcpy(dims, x->dims, sizeof dims);
        dims[axis] = length;
        if (!keep) {
            memmove(dims + axis, dims + axis + 1, (x->rank - axis - 1) * sizeof *dims);
            rank--;
        }
        sis__items_set(items, i, rank, dims);
        for (size_t o = 0; o < a.outer; o++)
            add_piece(p, 0, (o * a.size + at) * a.inner, items->list[i].at + o * length * a.inner,
                      length * a.inner);
        at += length;
    }
    return c->error ? c->error : give_items(c, items, x->dtype, x->elem);
}

/* ---- Taking them apart --------------------------------------------------------------------------- */

static int at_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    const sis__items *items = items_of(c);
    pieces *p = new_pieces(c, 1);
    size_t at = c->error ? 0 : place_of(c, 1, items->n, 0);
    if (c->error)
        return c->error;
    const sis__item *from = &items->list[at];
    add_piece(p, 0, from->at, 0, from->count);
    sis__cx_output(c, 0, x->dtype, from->rank, from->dims);
    sis__cx_elem(c, 0, x->elem);
    return c->error;
}

static int never_run(const sis__step *s, sis__run *r) {
    (void)s, (void)r;
    return SIS_OK;
}

static int length_shape(sis__cx *c) {
    const sis__items *items = items_of(c);
    int64_t *n = (int64_t *)sis__cx_alloc(c, 1, sizeof *n);
    if (c->error)
        return c->error;
    *n = (int64_t)items->n;
    sis__cx_output(c, 0, SIS__I64, 0, NULL);
    sis__cx_elem(c, 0, SIS__INT64);
    sis__cx_known(c, 0, n);
    return c->error;
}

/* Does an item fit to the first, all but along the axis (or all, for a new axis)? */
static int fits(const sis__item *a, const sis__item *b, size_t axis, int fresh) {
    int same = a->rank == b->rank;
    for (size_t d = 0; same && d < a->rank; d++)
        same = a->dims[d] == b->dims[d] || (!fresh && d == axis);
    return same;
}

static int concat_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    const sis__items *items = items_of(c);
    int fresh = sis__attr_int(c, "new_axis", 0) != 0;
    int64_t wanted = sis__attr_int(c, "axis", 0);
    if (!c->error && items->n == 0)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "an empty sequence");
    if (c->error)
        return c->error;
    const sis__item *first = &items->list[0];
    size_t rank = first->rank + (size_t)fresh, axis = sis__cx_axis(c, wanted, rank), total = 0;
    size_t dims[SIS__MAX_RANK + 1] = {0}, outer = 1, inner = 1, at = 0;
    for (size_t i = 0; i < items->n && !c->error; i++) {
        if (rank > SIS__MAX_RANK || rank == 0 || !fits(&items->list[i], first, axis, fresh))
            return sis__cx_fail(c, SIS_E_FORMAT, "items whose shapes do not fit");
        total += fresh ? 1 : items->list[i].dims[axis];
    }
    for (size_t d = 0; d < axis; d++)
        outer *= dims[d] = first->dims[d];
    for (size_t d = axis + 1; d < rank; d++)
        inner *= dims[d] = first->dims[d - (size_t)fresh];
    dims[axis] = total;
    pieces *p = new_pieces(c, items->n * outer);
    for (size_t i = 0; i < items->n && !c->error; i++) {
        size_t run = (fresh ? 1 : items->list[i].dims[axis]) * inner;
        for (size_t o = 0; o < outer; o++)
            add_piece(p, 0, items->list[i].at + o * run, o * total * inner + at, run);
        at += run;
    }
    sis__cx_output(c, 0, x->dtype, rank, dims);
    sis__cx_elem(c, 0, x->elem);
    return c->error;
}

const sis__op sis__op_sequence_construct = {
    1, SIZE_MAX, construct_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_sequence_insert = {
    2, 3, insert_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_sequence_erase = {
    1, 2, erase_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_sequence_at = {
    2, 2, at_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_split_to_sequence = {
    1, 2, split_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_concat_from_sequence = {
    1, 1, concat_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_sequence_empty = {0,    0, empty_shape,         pieces_forward,
                                        NULL, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_sequence_length = {1,    1, length_shape,        never_run,
                                         NULL, 0, SIS__MIXES_SEQUENCES};

/* ---- Optional values: there, or not, when the plan is made --------------------------------------- */

static int optional_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    sis__attr_find(c, "type");
    if (!x)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "a value that is not there");
    pieces *p = new_pieces(c, 1);
    if (c->error)
        return c->error;
    add_piece(p, 0, 0, 0, x->count);
    sis__cx_output(c, 0, x->dtype, x->rank, x->dims);
    sis__cx_elem(c, 0, x->elem);
    sis__cx_items(c, 0, x->items);
    return c->error;
}

static int has_shape(sis__cx *c) {
    uint8_t *truth = (uint8_t *)sis__cx_alloc(c, 8, 1);
    if (c->error)
        return c->error;
    *truth = sis__cx_input(c, 0) != NULL;
    sis__cx_output(c, 0, SIS__BOOL, 0, NULL);
    sis__cx_elem(c, 0, 9);
    sis__cx_known(c, 0, truth);
    return c->error;
}

const sis__op sis__op_optional = {
    0, 1, optional_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_optional_get_element = {
    1, 1, optional_shape, pieces_forward, pieces_backward, 0, SIS__MIXES_SEQUENCES};
const sis__op sis__op_optional_has_element = {0,    1, has_shape,           never_run,
                                              NULL, 0, SIS__MIXES_SEQUENCES};
