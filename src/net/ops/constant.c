/* SPDX-License-Identifier: MIT
 *
 * Operators whose result follows from shapes alone: Constant, Shape, Range.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/axes.h"
#include "net/ops/encode.h"
#include "net/ops/ops.h"
#include "net/plan/plan.h"

/* ---- Constant ------------------------------------------------------------------------------ */

static int known_output(sis__shape_ctx *c, sis__dtype t, size_t rank, const size_t *dims,
                        const void *data) {
    if (sis__ctx_output(c, 0, t, rank, dims) == SIS_OK)
        sis__ctx_known(c, 0, data);
    return c->error;
}

/* A tensor attribute as a constant; the plan owns converted data. */
static int tensor_constant(sis__shape_ctx *c, const sis__decoded *d) {
    size_t dims[SIS__MAX_RANK];
    for (size_t i = 0; i < d->rank; i++)
        dims[i] = (size_t)d->dims[i];
    known_output(c, d->dtype, d->rank, dims, d->data);
    sis__ctx_elem(c, 0, d->elem);
    return c->error;
}

static int text_constant(sis__shape_ctx *c, const Sis__Onnx__Attribute *a) {
    int64_t *id = (int64_t *)sis__ctx_alloc(c, 1, sizeof *id);
    if (!c->error)
        c->error = sis__words_put(c->plan->graph->words, a->s.data, a->s.len, id);
    return c->error ? c->error : known_output(c, SIS__TEXT, 0, NULL, id);
}

static int constant_shape(sis__shape_ctx *c) {
    const Sis__Onnx__Attribute *a;
    sis__decoded d;
    size_t n;
    if (sis__attr_tensor(c, "value", &d) || c->error)
        return c->error ? c->error : tensor_constant(c, &d);
    if ((a = sis__attr_find(c, "value_float")))
        return known_output(c, SIS__F32, 0, NULL, &a->f);
    if ((a = sis__attr_find(c, "value_int")))
        return known_output(c, SIS__I64, 0, NULL, &a->i);
    const int64_t *ints = sis__attr_ints(c, "value_ints", &n);
    if (ints)
        return known_output(c, SIS__I64, 1, &n, ints);
    const float *floats = sis__attr_floats(c, "value_floats", &n);
    if (floats)
        return known_output(c, SIS__F32, 1, &n, floats);
    const int64_t *texts = sis__attr_words(c, "value_strings", &n);
    if (texts)
        return known_output(c, SIS__TEXT, 1, &n, texts);
    if ((a = sis__attr_find(c, "value_string")))
        return text_constant(c, a);
    return c->error ? c->error : sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a value of another kind");
}

const sis__op sis__op_constant = {0, 0, constant_shape, sis__never_run, NULL, .trait = SIS__MIXES};

/* ---- Shape --------------------------------------------------------------------------------- */

static int clip_end(int64_t v, size_t rank) {
    int64_t n = (int64_t)rank;
    v = v < 0 ? v + n : v;
    return (int)(v < 0 ? 0 : v > n ? n : v);
}

static int shape_shape(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    int64_t start = sis__attr_int(c, "start", 0);
    int64_t end = sis__attr_int(c, "end", (int64_t)x->rank);
    if (c->error)
        return c->error;
    int from = clip_end(start, x->rank), to = clip_end(end, x->rank);
    size_t n = to > from ? (size_t)(to - from) : 0;
    int64_t *dims = (int64_t *)sis__ctx_alloc(c, n, sizeof *dims);
    if (!dims)
        return SIS_E_NOMEM;
    for (size_t d = 0; d < n; d++)
        dims[d] = (int64_t)x->dims[(size_t)from + d];
    known_output(c, SIS__I64, 1, &n, dims);
    sis__ctx_elem(c, 0, SIS__INT64);
    return c->error;
}

const sis__op sis__op_shape = {1, 1, shape_shape, sis__never_run, NULL, .trait = SIS__MIXES_TEXTS};

/* ---- Range: computed in a run (or folded, which the plan limits) ----------------------------- */

static int range_shape(sis__shape_ctx *c) {
    double v[3];
    sis__dtype t = sis__ctx_input(c, 0)->dtype;
    for (size_t i = 0; i < 3; i++) {
        const sis__tensor *x = sis__ctx_input(c, i);
        if (x->dtype != t || x->count != 1 || x->dtype == SIS__BOOL)
            return sis__ctx_fail(c, SIS_E_FORMAT, "input %zu must be one number", i);
        if (!x->data)
            return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "input %zu must be constant", i);
        v[i] = t == SIS__F32 ? (double)*(const float *)x->data : (double)*(const int64_t *)x->data;
    }
    double steps = ceil((v[1] - v[0]) / v[2]);
    if (!(steps < 2147483648.0))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "a range of more than 2^31 values");
    size_t n = steps > 0 ? (size_t)steps : 0;
    return sis__ctx_output(c, 0, t, 1, &n);
}

static int range_forward(const sis__step *s, sis__run *r) {
    const void *start = sis__in(s, r, 0), *step = sis__in(s, r, 2);
    void *y = sis__out(s, r, 0);
    for (size_t i = 0, n = sis__tout(s, r, 0)->count; i < n; i++) {
        if (sis__tout(s, r, 0)->dtype == SIS__F32)
            ((float *)y)[i] = *(const float *)start + (float)i * *(const float *)step;
        else
            ((int64_t *)y)[i] = (int64_t)((uint64_t) * (const int64_t *)start +
                                          (uint64_t)i * (uint64_t) * (const int64_t *)step);
    }
    return SIS_OK;
}

const sis__op sis__op_range = {3, 3, range_shape, range_forward, NULL, .trait = SIS__MIXES};
