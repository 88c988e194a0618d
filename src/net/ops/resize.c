/* SPDX-License-Identifier: MIT
 *
 * Resize and its old form Upsample. Along each axis every result is a weighted sum of a few values
 * (one, two or four, or with antialias as many as a filter covers that is as wide as the image shrinks); those and their weights are listed when the plan is made, and a result is
 * the sum over the products of the lists of all axes.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"

enum { TAPS = 4, MAX_LIST = 1 << 20, MAX_TAPS = 1 << 12 };

typedef enum { NEAREST, LINEAR, CUBIC } method;
typedef enum {
    HALF_PIXEL,
    PYTORCH_HALF_PIXEL,
    ALIGN_CORNERS,
    ASYMMETRIC,
    CROP_AND_RESIZE,
    HALF_PIXEL_SYMMETRIC,
    HALF_PIXEL_FOR_NEAREST
} grid;

typedef struct {
    size_t n;                     /* values that go into a result along this axis */
    const uint32_t *from;         /* (size of the result, n) */
    const float *weight;          /* the same */
    const unsigned char *outside; /* (size of the result) crop: what lies outside; or NULL */
} taps;

typedef struct {
    taps axis[SIS__MAX_RANK];
    float fill; /* of what lies outside */
} resize;

typedef struct {
    method how;
    grid where;
    int nearest; /* 0: round prefer floor, 1: round prefer ceil, 2: floor, 3: ceil; 4: floor, or
                    ceil where an axis shrinks */
    int exclude_outside, antialias;
    double cubic;
    double scale[SIS__MAX_RANK], start[SIS__MAX_RANK], end[SIS__MAX_RANK];
} options;

/* Where in x, along an axis of `in` values, result i of `out` lies. In single precision, as ONNX Runtime computes it: which
 * value is the nearest of two that are equally far depends on how that is rounded. */
static float source_of(const options *o, size_t d, size_t i, float in, float out) {
    float scale = (float)o->scale[d], at = (float)i;
    switch (o->where) {
    case ALIGN_CORNERS:
        /* Ends stay ends, as PyTorch has it; shrinking, the standard has them before the size is rounded. */
        return out > 1 ? at * (in - 1) / ((scale < 1 ? scale * in : out) - 1) : 0;
    case ASYMMETRIC:
        return at / scale;
    case HALF_PIXEL_FOR_NEAREST:
        return (at + 0.5f) / scale;
    case PYTORCH_HALF_PIXEL:
        return out > 1 ? (at + 0.5f) / scale - 0.5f : 0;
    case HALF_PIXEL_SYMMETRIC: { /* only this sum in double, then rounded */
        float adjustment = out / (scale * in), centre = in / 2;
        double offset = (double)(centre * (1 - adjustment));
        return (float)(offset + ((double)at + 0.5) / (double)scale - 0.5);
    }
    case CROP_AND_RESIZE: {
        float start = (float)o->start[d], end = (float)o->end[d];
        return out > 1 ? start * (in - 1) + at * (end - start) * (in - 1) / (out - 1)
                       : (float)(0.5 * (double)(start + end) * (double)(in - 1));
    }
    default:
        return (at + 0.5f) / scale - 0.5f;
    }
}

static double cubic_weight(double a, double x) {
    x = fabs(x);
    if (x <= 1)
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Of two values that are equally far but for 1e-6, as ONNX Runtime has it, the one that is preferred. */
static double round_to(int nearest, double x) {
    switch (nearest) {
    case 0:
        return ceil(x - 0.5 - 1e-6);
    case 1:
        return floor(x + 0.5 + 1e-6);
    case 2:
        return floor(x);
    default:
        return ceil(x);
    }
}

static uint32_t inside(double at, size_t in) {
    return at < 0 ? 0 : at > (double)(in - 1) ? (uint32_t)(in - 1) : (uint32_t)at;
}

/* How far a filter reaches that is stretched against aliases: only where an axis shrinks. */
static double reach_of(const options *o, size_t d) {
    return o->antialias && o->how != NEAREST && o->scale[d] < 1
               ? (o->how == CUBIC ? 2 : 1) / o->scale[d]
               : 0;
}

/* All values below the stretched filter, in proportion. */
static void fill_stretched(const options *o, size_t d, double x, size_t in, size_t n,
                           uint32_t *from, float *w) {
    double first = ceil(x - reach_of(o, d)), sum = 0;
    for (size_t k = 0; k < 2 * n; k++) { /* twice: the sum first */
        double at = first + (double)(k % n), far = fabs(at - x) * o->scale[d];
        double weight = o->how == CUBIC ? cubic_weight(o->cubic, far) : fmax(1 - far, 0);
        if (o->exclude_outside && (at < 0 || at > (double)(in - 1)))
            weight = 0;
        sum += k < n ? weight : 0;
        from[k % n] = inside(at, in);
        w[k % n] = sum != 0 ? (float)(weight / sum) : 0;
    }
}

/* The values that result i is made of. */
static void fill_taps(const options *o, size_t d, double x, size_t in, size_t n, uint32_t *from,
                      float *w) {
    double low = floor(x), sum = 0;
    if (reach_of(o, d) > 0) {
        fill_stretched(o, d, x, in, n, from, w);
        return;
    }
    if (o->how == NEAREST) {
        int simple = o->scale[d] < 1 ? 3 : 2;
        from[0] = inside(round_to(o->nearest == 4 ? simple : o->nearest, x), in);
        w[0] = 1;
        return;
    }
    for (size_t k = 0; k < n; k++) {
        double at = low + (double)k - (o->how == CUBIC ? 1 : 0);
        double weight =
            o->how == CUBIC ? cubic_weight(o->cubic, x - at) : (k == 0 ? 1 - (x - low) : x - low);
        if (o->exclude_outside && (at < 0 || at > (double)(in - 1)))
            weight = 0;
        from[k] = inside(at, in);
        w[k] = (float)weight;
        sum += weight;
    }
    for (size_t k = 0; o->exclude_outside && sum != 0 && k < n; k++)
        w[k] = (float)(w[k] / sum);
}

/* As ONNX Runtime: an axis whose scale is 1 is not cropped either, and a filter against aliases leaves one alone that keeps
 * its size. */
static void list_axis(sis__cx *c, const options *o, size_t d, size_t in, size_t out, taps *t) {
    int same = in == out && (o->scale[d] == 1 || (o->antialias && o->how != NEAREST));
    t->n = same || o->how == NEAREST ? 1 : o->how == LINEAR ? 2 : TAPS;
    if (!same && reach_of(o, d) > 0)
        t->n = reach_of(o, d) < MAX_TAPS ? (size_t)(2 * reach_of(o, d)) + 1 : MAX_LIST;
    if (out > MAX_LIST || t->n > MAX_LIST / (out + 1) || (in == 0 && out)) {
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "an axis of %zu", out);
        return;
    }
    uint32_t *from = (uint32_t *)sis__cx_list(c, out * t->n, sizeof *from);
    float *weight = (float *)sis__cx_list(c, out * t->n, sizeof *weight);
    unsigned char *outside = (unsigned char *)sis__cx_list(c, out, 1);
    for (size_t i = 0; !c->error && i < out; i++) {
        double x = (double)source_of(o, d, i, (float)in, (float)out);
        outside[i] = !same && o->where == CROP_AND_RESIZE && (x < 0 || x > (double)(in - 1));
        if (same) {
            from[i] = (uint32_t)i;
            weight[i] = 1;
        } else {
            fill_taps(o, d, x, in, t->n, from + i * t->n, weight + i * t->n);
        }
    }
    t->from = from;
    t->weight = weight;
    t->outside = outside;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static void read_options(sis__cx *c, options *o) {
    static const char *const modes[] = {"nearest", "linear", "cubic", "bilinear"};
    static const char *const grids[] = {
        "half_pixel",         "pytorch_half_pixel",   "align_corners",       "asymmetric",
        "tf_crop_and_resize", "half_pixel_symmetric", "tf_half_pixel_for_nn"};
    static const char *const roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor",
                                            "ceil"};
    int mode = sis__attr_choice(c, "mode", modes, 4);
    o->how = mode == 3 ? LINEAR : (method)mode;
    o->cubic = (double)sis__attr_float(c, "cubic_coeff_a", -0.75f);
    o->exclude_outside = sis__attr_int(c, "exclude_outside", 0) != 0;
    o->antialias = sis__attr_int(c, "antialias", 0) != 0;
    if (c->step->op == SIS__OP_UPSAMPLE || c->node->opset < 11) {
        o->where = ASYMMETRIC;
        o->nearest = 4;
    } else {
        o->where = (grid)sis__attr_choice(c, "coordinate_transformation_mode", grids, 7);
        o->nearest = sis__attr_choice(c, "nearest_mode", roundings, 4);
    }
}

/* The n floats of a constant input or attribute; NULL if it is absent or empty. */
static const float *floats_of(sis__cx *c, int input, const char *name, size_t *n) {
    const sis__tensor *t = input < 0 ? NULL : sis__cx_input(c, (size_t)input);
    *n = 0;
    if (!t)
        return name ? sis__attr_floats(c, name, n) : NULL;
    if (t->count == 0)
        return NULL;
    if (t->dtype != SIS__F32 || !t->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "input %d must be constant floats", input);
    *n = t->count;
    return c->error ? NULL : (const float *)t->data;
}

/* Which axes scales and sizes speak of: all, or those listed since opset 18. */
static size_t read_axes(sis__cx *c, size_t rank, size_t *axes) {
    size_t n;
    const int64_t *list = sis__attr_ints(c, "axes", &n);
    if (!list || n > rank)
        n = rank;
    for (size_t i = 0; i < n; i++)
        axes[i] = list ? sis__cx_axis(c, list[i], rank) : i;
    return n;
}

/* Sizes given as such, kept in proportion if a policy says so. */
static void read_sizes(sis__cx *c, const size_t *axes, size_t n, options *o, size_t *dims) {
    static const char *const policies[] = {"stretch", "not_larger", "not_smaller"};
    const sis__tensor *x = sis__cx_input(c, 0);
    int policy = sis__attr_choice(c, "keep_aspect_ratio_policy", policies, 3);
    size_t given;
    const int64_t *sizes = sis__cx_ints(c, 3, &given);
    if (given != n && !c->error)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu sizes for %zu axes", given, n);
    double scale = 0;
    for (size_t i = 0; !c->error && i < n; i++) {
        double s = (double)sizes[i] / (double)x->dims[axes[i]];
        if (sizes[i] < 0 || sizes[i] > INT32_MAX || x->dims[axes[i]] == 0)
            sis__cx_fail(c, SIS_E_FORMAT, "a size of %lld", (long long)sizes[i]);
        scale = i == 0 || (policy == 1 ? s < scale : s > scale) ? s : scale;
    }
    for (size_t i = 0; !c->error && i < n; i++) {
        size_t d = axes[i];
        dims[d] = policy ? (size_t)floor(scale * (double)x->dims[d] + 0.5) : (size_t)sizes[i];
        o->scale[d] = policy ? scale : (double)sizes[i] / (double)x->dims[d];
    }
}

static void read_scales(sis__cx *c, const size_t *axes, size_t n, options *o, size_t *dims) {
    const sis__tensor *x = sis__cx_input(c, 0);
    int at = c->step->op == SIS__OP_UPSAMPLE || c->node->opset < 11 ? 1 : 2;
    size_t given;
    const float *scales = floats_of(c, at, "scales", &given);
    if (given != n)
        sis__cx_fail(c, SIS_E_FORMAT, "%zu scales for %zu axes", given, n);
    for (size_t i = 0; !c->error && i < n; i++) {
        double size = floor((double)((float)x->dims[axes[i]] * scales[i])); /* 10 * 0.7f is 7 */
        if (!(scales[i] > 0) || size > INT32_MAX)
            sis__cx_fail(c, SIS_E_FORMAT, "a scale of %g", (double)scales[i]);
        dims[axes[i]] = c->error ? 0 : (size_t)size;
        o->scale[axes[i]] = (double)scales[i];
    }
}

static void read_region(sis__cx *c, const size_t *axes, size_t n, options *o) {
    size_t given;
    const float *roi = floats_of(c, 1, NULL, &given);
    if (o->where != CROP_AND_RESIZE)
        return;
    if (given != 2 * n)
        sis__cx_fail(c, SIS_E_FORMAT, "a region of %zu numbers for %zu axes", given, n);
    for (size_t i = 0; !c->error && i < n; i++) {
        o->start[axes[i]] = (double)roi[i];
        o->end[axes[i]] = (double)roi[n + i];
    }
}

static int resize_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    resize *p = (resize *)sis__cx_own(c, sizeof *p);
    options o = {0};
    size_t dims[SIS__MAX_RANK], axes[SIS__MAX_RANK];
    if (x->dtype > SIS__I64)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "resizing of %s", sis__dtype_name(x->dtype));
    read_options(c, &o);
    float fill = sis__attr_float(c, "extrapolation_value", 0);
    size_t n = read_axes(c, x->rank, axes);
    memcpy(dims, x->dims, sizeof dims);
    for (size_t d = 0; d < SIS__MAX_RANK; d++) {
        o.scale[d] = 1;
        o.end[d] = 1;
    }
    if (c->step->op == SIS__OP_RESIZE && c->node->opset >= 11)
        read_region(c, axes, n, &o);
    if (sis__cx_input(c, 3) && sis__cx_input(c, 3)->count)
        read_sizes(c, axes, n, &o, dims);
    else
        read_scales(c, axes, n, &o, dims);
    int unchanged = memcmp(dims, x->dims, x->rank * sizeof *dims) == 0; /* then values are copied */
    for (size_t d = 0; d < x->rank && unchanged; d++)
        o.scale[d] = 1;
    for (size_t d = 0; d < x->rank && !c->error; d++)
        list_axis(c, &o, d, x->dims[d], dims[d], &p->axis[d]);
    if (c->error)
        return c->error;
    p->fill = fill;
    double places = 1, each = 1;
    for (size_t d = 0; d < x->rank; d++) {
        places *= (double)dims[d];
        each *= (double)p->axis[d].n;
    }
    c->step->flops = places * 20 * ((double)x->rank + each); /* the way to a place costs the most */
    return sis__cx_output(c, 0, x->dtype, x->rank, dims);
}

/* ---- Running --------------------------------------------------------------------------------- */

/* The result at one place, or with dy its gradient into dx. */
typedef struct {
    const resize *p;
    const sis__tensor *x;
    const void *in;
    float *dx;
    float dy;
    const size_t *index;
    size_t stride[SIS__MAX_RANK];
} place;

static double gather(const place *at, size_t d, size_t offset, double weight) {
    if (d == at->x->rank) {
        if (at->dx)
            at->dx[offset] += (float)(weight * at->dy);
        return at->dx ? 0 : weight * sis__number_at(at->x, at->in, offset);
    }
    const taps *t = &at->p->axis[d];
    double sum = 0;
    for (size_t k = 0; k < t->n; k++) {
        size_t i = at->index[d] * t->n + k;
        if (t->weight[i] != 0)
            sum += gather(at, d + 1, offset + t->from[i] * at->stride[d], weight * t->weight[i]);
    }
    return sum;
}

static int is_outside(const resize *p, size_t rank, const size_t *index) {
    for (size_t d = 0; d < rank; d++)
        if (p->axis[d].outside[index[d]])
            return 1;
    return 0;
}

static void sweep(const sis__step *s, sis__run *r, float *dx) {
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    size_t index[SIS__MAX_RANK] = {0}, none[SIS__MAX_RANK] = {0}, zero = 0, i = 0;
    place at = {.p = (const resize *)s->p.own, .x = x, .in = sis__in(s, r, 0), .dx = dx};
    at.index = index;
    sis__strides_of(x, at.stride);
    if (y->count == 0)
        return;
    do {
        int out = is_outside(at.p, x->rank, index);
        at.dy = dx ? sis__dout(s, r, 0)[i] : 0;
        double v = out && dx ? 0 : out ? (double)at.p->fill : gather(&at, 0, 0, 1);
        if (!dx)
            sis__number_set(y, sis__out(s, r, 0), i, v);
        i++;
    } while (sis__index_next(y->rank, y->dims, none, index, &zero));
}

static int resize_forward(const sis__step *s, sis__run *r) {
    sweep(s, r, NULL);
    return SIS_OK;
}

static int resize_backward(const sis__step *s, sis__run *r) {
    if (sis__din(s, r, 0))
        sweep(s, r, sis__din(s, r, 0));
    return SIS_OK;
}

const sis__op sis__op_resize = {1, 4, resize_shape, resize_forward, resize_backward, 0, SIS__MIXES};
const sis__op sis__op_upsample = {1, 2,         resize_shape, resize_forward, resize_backward,
                                  0, SIS__MIXES};
