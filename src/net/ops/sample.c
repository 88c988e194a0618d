/* SPDX-License-Identifier: MIT
 *
 * Values of images at places between pixels: GridSample, RoiAlign, MaxRoiPool, DeformConv, and AffineGrid, which makes grids.
 * Where the places are fixed the results are linear in the image, and gradients of images are given; those of
 * places are not.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/ops/sliding.h"

/* ---- GridSample: x (n, channels, in...), grid (n, out..., axes) -> (n, channels, out...) ------- */

enum { LINEAR, NEAREST, CUBIC };
enum { ZEROS, BORDER, REFLECTION };
enum { MOST_TAPS = 16 };

typedef struct {
    size_t n, channels, axes, in[3], plane, points;
    int mode, padding, corners;
} grid;

/* The pixels that a point is made of, and their weights. */
typedef struct {
    size_t n, at[MOST_TAPS];
    float weight[MOST_TAPS];
} taps;

static int grid_shape(sis__cx *c) {
    static const char *const modes[] = {"linear", "nearest", "cubic", "bilinear", "bicubic"};
    static const char *const pads[] = {"zeros", "border", "reflection"};
    const sis__tensor *x = sis__cx_input(c, 0), *g = sis__cx_input(c, 1);
    grid *p = (grid *)sis__cx_own(c, sizeof *p);
    int mode = sis__attr_choice(c, "mode", modes, 5),
        padding = sis__attr_choice(c, "padding_mode", pads, 3);
    int corners = sis__attr_int(c, "align_corners", 0) != 0;
    size_t dims[SIS__MAX_RANK];
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    mode = mode == 3 ? LINEAR : mode == 4 ? CUBIC : mode;
    if (x->rank < 4 || x->rank > 5 || g->rank != x->rank || g->dims[0] != x->dims[0] ||
        g->dims[g->rank - 1] != x->rank - 2 || x->count == 0 || (mode == CUBIC && x->rank != 4))
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "an image of %zu axes and a grid of %zu", x->rank,
                     g->rank);
    if (c->error)
        return c->error;
    *p = (grid){.n = x->dims[0],
                .channels = x->dims[1],
                .axes = x->rank - 2,
                .plane = 1,
                .points = 1,
                .mode = mode,
                .padding = padding,
                .corners = corners};
    memcpy(dims, x->dims, sizeof dims);
    for (size_t d = 0; d < p->axes; d++) {
        p->in[d] = x->dims[2 + d];
        p->plane *= p->in[d];
        dims[2 + d] = g->dims[1 + d];
        p->points *= dims[2 + d];
    }
    c->step->flops = (double)p->n * (double)p->points * (double)(p->channels + 16) * 16;
    return sis__cx_output(c, 0, SIS__F32, x->rank, dims);
}

/* -1 .. 1 -> pixels of an axis of n. */
static double pixels(const grid *p, float v, size_t n) {
    return p->corners ? ((double)v + 1) / 2 * (double)(n - 1)
                      : (((double)v + 1) * (double)n - 1) / 2;
}

static double reflect(double v, double low, double high) {
    double range = high - low;
    if (!isfinite(v) || range <= 0)
        return low < 0 ? 0 : low;
    if (v >= low && v <= high)
        return v;
    double over = v < low ? low - v : v - high, times = floor(over / range),
           rest = over - times * range;
    int even = fmod(times, 2) == 0;
    return v < low ? (even ? low + rest : high - rest) : (even ? high - rest : low + rest);
}

/* Where outside of the image a pixel is read from; -1: nowhere, it is 0. */
static ptrdiff_t pixel_of(const grid *p, double v, size_t n) {
    if (p->padding == ZEROS)
        return v >= 0 && v <= (double)(n - 1) ? (ptrdiff_t)v : -1;
    if (p->padding == REFLECTION)
        v = reflect(v, p->corners ? 0 : -0.5, (double)n - (p->corners ? 1 : 0.5));
    return v > 0 ? v < (double)(n - 1) ? (ptrdiff_t)v : (ptrdiff_t)n - 1 : 0;
}

/* Weights of pixels first, first + 1 .. along one axis. */
static size_t weights_of(const grid *p, double v, double *first, double *w) {
    const double a = -0.75;
    if (p->mode == NEAREST) {
        *first = rint(v);
        w[0] = 1;
        return 1;
    }
    *first = floor(v);
    double t = v - *first;
    if (p->mode == LINEAR) {
        w[0] = 1 - t;
        w[1] = t;
        return 2;
    }
    *first -= 1;
    w[0] = ((a * (t + 1) - 5 * a) * (t + 1) + 8 * a) * (t + 1) - 4 * a;
    w[1] = ((a + 2) * t - (a + 3)) * t * t + 1;
    w[2] = ((a + 2) * (1 - t) - (a + 3)) * (1 - t) * (1 - t) + 1;
    w[3] = ((a * (2 - t) - 5 * a) * (2 - t) + 8 * a) * (2 - t) - 4 * a;
    return 4;
}

/* A place outside is reflected before the pixels around it are taken. */
static double place_of(const grid *p, float v, size_t n) {
    double at = pixels(p, v, n), low = p->corners ? 0 : -0.5, high = (double)n - 1 - low;
    if (!isfinite(at))
        return at > 0 ? (double)n + 4 : -4; /* NaN: outside, too */
    if (p->mode == NEAREST)
        at = rint(at);
    return p->padding == REFLECTION ? reflect(at, low, high) : at;
}

static void find_taps(const grid *p, const float *at, taps *t) {
    double first[3], w[3][4];
    size_t n[3] = {1, 1, 1}, k[3];
    ptrdiff_t index[3];
    for (size_t d = 0; d < p->axes; d++) /* the last number is along the first axis */
        n[d] = weights_of(p, place_of(p, at[p->axes - 1 - d], p->in[d]), &first[d], w[d]);
    t->n = 0;
    for (k[0] = 0; k[0] < n[0]; k[0]++)
        for (k[1] = 0; k[1] < n[1]; k[1]++)
            for (k[2] = 0; k[2] < n[2]; k[2]++) {
                double weight = 1;
                size_t to = 0;
                int inside = 1;
                for (size_t d = 0; d < p->axes; d++) {
                    index[d] = pixel_of(p, first[d] + (double)k[d], p->in[d]);
                    inside &= index[d] >= 0;
                    weight *= w[d][k[d]];
                    to = to * p->in[d] + (size_t)(inside ? index[d] : 0);
                }
                if (inside) {
                    t->at[t->n] = to;
                    t->weight[t->n++] = (float)weight;
                }
            }
}

static int grid_forward(const sis__step *s, sis__run *r) {
    const grid *p = (const grid *)s->p.own;
    taps t;
    for (size_t n = 0; n < p->n; n++)
        for (size_t i = 0; i < p->points; i++) {
            find_taps(p, sis__in(s, r, 1) + (n * p->points + i) * p->axes, &t);
            for (size_t c = 0; c < p->channels; c++) {
                const float *x = sis__in(s, r, 0) + (n * p->channels + c) * p->plane;
                double sum = 0;
                for (size_t k = 0; k < t.n; k++)
                    sum += (double)t.weight[k] * (double)x[t.at[k]];
                sis__out(s, r, 0)[(n * p->channels + c) * p->points + i] = (float)sum;
            }
        }
    return SIS_OK;
}

static int grid_backward(const sis__step *s, sis__run *r) {
    const grid *p = (const grid *)s->p.own;
    taps t;
    if (sis__din(s, r, 1))
        return sis__no_gradient(s, r);
    for (size_t n = 0; n < p->n && sis__din(s, r, 0); n++)
        for (size_t i = 0; i < p->points; i++) {
            find_taps(p, sis__in(s, r, 1) + (n * p->points + i) * p->axes, &t);
            for (size_t c = 0; c < p->channels; c++)
                for (size_t k = 0; k < t.n; k++)
                    sis__din(s, r, 0)[(n * p->channels + c) * p->plane + t.at[k]] +=
                        t.weight[k] * sis__dout(s, r, 0)[(n * p->channels + c) * p->points + i];
        }
    return SIS_OK;
}

const sis__op sis__op_grid_sample = {2, 2, grid_shape, grid_forward, grid_backward, 0, SIS__MIXES};

/* ---- AffineGrid: theta (n, axes, axes + 1), size (n, channels, in...) -> (n, in..., axes) ------ */

static int affine_shape(sis__cx *c) {
    const sis__tensor *t = sis__cx_input(c, 0);
    size_t n, dims[SIS__MAX_RANK];
    c->step->p.unary.to = (int)sis__attr_int(c, "align_corners", 0);
    const int64_t *size = sis__cx_ints(c, 1, &n);
    sis__cx_float(c, 0);
    if (c->error)
        return c->error;
    if (n < 4 || n > 5 || t->rank != 3 || t->dims[1] != n - 2 || t->dims[2] != n - 1 ||
        size[0] < 0 || (size_t)size[0] != t->dims[0])
        return sis__cx_fail(c, SIS_E_FORMAT, "angles that do not fit %zu axes", n);
    dims[0] = t->dims[0];
    for (size_t d = 2; d < n; d++) {
        if (size[d] < 1 || size[d] > INT32_MAX)
            return sis__cx_fail(c, SIS_E_FORMAT, "an axis of %lld", (long long)size[d]);
        dims[d - 1] = (size_t)size[d];
    }
    dims[n - 1] = n - 2;
    return sis__cx_output(c, 0, SIS__F32, n, dims);
}

static int affine_forward(const sis__step *s, sis__run *r) {
    const sis__tensor *y = sis__tout(s, r, 0);
    size_t axes = y->rank - 2, points = axes ? y->count / y->dims[0] / axes : 0;
    for (size_t i = 0; i < y->dims[0] * points; i++) {
        const float *theta = sis__in(s, r, 0) + i / points * axes * (axes + 1);
        double at[4];
        for (size_t d = axes, rest = i % points; d-- > 0; rest /= y->dims[1 + d]) {
            double n = (double)y->dims[1 + d], k = (double)(rest % y->dims[1 + d]);
            at[axes - 1 - d] =
                s->p.unary.to ? (n > 1 ? 2 * k / (n - 1) - 1 : -1) : (2 * k + 1) / n - 1;
        }
        at[axes] = 1;
        for (size_t a = 0; a < axes; a++) {
            double sum = 0;
            for (size_t b = 0; b <= axes; b++)
                sum += (double)theta[a * (axes + 1) + b] * at[b];
            sis__out(s, r, 0)[i * axes + a] = (float)sum;
        }
    }
    return SIS_OK;
}

const sis__op sis__op_affine_grid = {2, 2,         affine_shape, affine_forward, sis__no_gradient,
                                     0, SIS__MIXES};

/* ---- CropAndResize: x (n, channels, height, width), regions, image of each, (height, width) ---------- */

typedef struct {
    size_t out[2];
    int nearest;
    float outside;
} crops;

static int crop_and_resize_shape(sis__cx *c) {
    static const char *const modes[] = {"bilinear", "nearest"};
    const sis__tensor *x = sis__cx_input(c, 0), *b = sis__cx_input(c, 1), *i = sis__cx_input(c, 2);
    crops *p = (crops *)sis__cx_own(c, sizeof *p);
    int nearest = sis__attr_choice(c, "mode", modes, 2);
    float outside = sis__attr_float(c, "extrapolation_value", 0);
    size_t n;
    const int64_t *size = sis__cx_ints(c, 3, &n);
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    if (!c->error && (x->rank != 4 || b->rank != 2 || b->dims[1] != 4 || i->dtype != SIS__I64 ||
                      i->count != b->dims[0] || n != 2 || size[0] < 1 || size[1] < 1 ||
                      size[0] > 1 << 16 || size[1] > 1 << 16 || x->count == 0))
        sis__cx_fail(c, SIS_E_FORMAT, "regions that do not fit");
    if (c->error)
        return c->error;
    *p = (crops){{(size_t)size[0], (size_t)size[1]}, nearest, outside};
    return sis__cx_output(c, 0, SIS__F32, 4,
                          (size_t[]){b->dims[0], x->dims[1], p->out[0], p->out[1]});
}

/* Where pixel i of n between two edges (0 to 1) lies in a line of `size`. */
static float cropped_at(float from, float to, size_t i, size_t n, size_t size) {
    float last = (float)(size - 1);
    return n > 1 ? from * last + (float)i * ((to - from) * last / (float)(n - 1))
                 : 0.5f * (from + to) * last;
}

static float crop_value(const crops *p, const float *x, const size_t *in, float y, float left) {
    if (!(y >= 0 && y <= (float)(in[0] - 1) && left >= 0 && left <= (float)(in[1] - 1)))
        return p->outside;
    if (p->nearest)
        return x[(size_t)roundf(y) * in[1] + (size_t)roundf(left)];
    const float *above = x + (size_t)floorf(y) * in[1], *below = x + (size_t)ceilf(y) * in[1];
    size_t a = (size_t)floorf(left), b = (size_t)ceilf(left);
    float right = left - floorf(left);
    float top = above[a] + (above[b] - above[a]) * right;
    float bottom = below[a] + (below[b] - below[a]) * right;
    return top + (bottom - top) * (y - floorf(y));
}

static int crop_and_resize_forward(const sis__step *s, sis__run *r) {
    const crops *p = (const crops *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0), *y = sis__tout(s, r, 0);
    size_t pixels = p->out[0] * p->out[1], planes = x->dims[1];
    for (size_t i = 0; i < y->count; i++) {
        size_t region = i / pixels / planes, row = i % pixels / p->out[1], column = i % p->out[1];
        const float *b = sis__in(s, r, 1) + 4 * region;
        size_t image =
            sis__index_in(((const int64_t *)(const void *)sis__in(s, r, 2))[region], x->dims[0]);
        if (image == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "a region of an image that is not there");
        const float *plane =
            sis__in(s, r, 0) + (image * planes + i / pixels % planes) * x->dims[2] * x->dims[3];
        sis__out(s, r, 0)[i] =
            crop_value(p, plane, x->dims + 2, cropped_at(b[0], b[2], row, p->out[0], x->dims[2]),
                       cropped_at(b[1], b[3], column, p->out[1], x->dims[3]));
    }
    return SIS_OK;
}

const sis__op sis__op_crop_and_resize = {
    4, 4, crop_and_resize_shape, crop_and_resize_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- RoiAlign, MaxRoiPool: x (n, channels, height, width), regions -> (regions, channels, h, w) -- */

typedef struct {
    size_t regions, channels, in[2], out[2];
    double scale, offset;
    int64_t samples; /* along an axis of a bin; 0: as many as pixels */
    int max, aligned;
} regions;

static int region_output(sis__cx *c, regions *p, int64_t height, int64_t width) {
    const sis__tensor *x = sis__cx_input(c, 0), *b = sis__cx_input(c, 1);
    size_t wide = c->step->op == SIS__OP_ROI_ALIGN ? 4 : 5;
    sis__cx_float(c, 0);
    sis__cx_float(c, 1);
    if (x->rank != 4 || b->rank != 2 || b->dims[1] != wide || height < 1 || width < 1 ||
        height > 1 << 16 || width > 1 << 16 || x->count == 0)
        sis__cx_fail(c, SIS_E_FORMAT, "regions of %lld by %lld that do not fit", (long long)height,
                     (long long)width);
    if (c->error)
        return c->error;
    p->regions = b->dims[0];
    p->channels = x->dims[1];
    memcpy(p->in, x->dims + 2, sizeof p->in);
    p->out[0] = (size_t)height;
    p->out[1] = (size_t)width;
    return sis__cx_output(c, 0, SIS__F32, 4,
                          (size_t[]){p->regions, p->channels, p->out[0], p->out[1]});
}

static int roi_align_shape(sis__cx *c) {
    static const char *const modes[] = {"avg", "max"};
    static const char *const places[] = {"half_pixel", "output_half_pixel"};
    const sis__tensor *i = sis__cx_input(c, 2);
    regions *p = (regions *)sis__cx_own(c, sizeof *p);
    int max = sis__attr_choice(c, "mode", modes, 2);
    int whole = sis__attr_choice(c, "coordinate_transformation_mode", places, 2);
    int64_t height = sis__attr_int(c, "output_height", 1),
            width = sis__attr_int(c, "output_width", 1);
    int64_t samples = sis__attr_int(c, "sampling_ratio", 0);
    float scale = sis__attr_float(c, "spatial_scale", 1.0f);
    if (i->dtype != SIS__I64 || i->count != sis__cx_input(c, 1)->dims[0] || samples < 0 ||
        samples > 64)
        sis__cx_fail(c, SIS_E_FORMAT, "images of regions that do not fit");
    if (c->error)
        return c->error;
    p->max = max;
    p->aligned = c->node->opset >= 16 && !whole;
    p->offset = p->aligned ? 0.5 : 0;
    p->scale = (double)scale;
    p->samples = samples;
    return region_output(c, p, height, width);
}

/* Weights of the four pixels around a place. */
static void around(const regions *p, double y, double x, taps *t) {
    double at[2] = {y, x};
    size_t low[2], high[2];
    double part[2];
    t->n = 0;
    for (size_t d = 0; d < 2; d++) {
        double n = (double)p->in[d];
        if (!(at[d] >= -1 && at[d] <= n))
            return;
        at[d] = at[d] < 0 ? 0 : at[d];
        low[d] = (size_t)at[d];
        high[d] = low[d] + 1;
        if (low[d] + 1 >= p->in[d]) {
            low[d] = high[d] = p->in[d] - 1;
            at[d] = (double)low[d];
        }
        part[d] = at[d] - (double)low[d];
    }
    for (size_t k = 0; k < 4; k++) {
        t->at[k] = (k & 2 ? high[0] : low[0]) * p->in[1] + (k & 1 ? high[1] : low[1]);
        t->weight[k] = (float)((k & 2 ? part[0] : 1 - part[0]) * (k & 1 ? part[1] : 1 - part[1]));
    }
    t->n = 4;
}

/* One bin of one channel: box is its corner (y, x) and size. */
static float align_bin(const regions *p, const float *x, const double *box, const size_t *samples) {
    double sum = 0;
    int any = 0;
    taps t;
    for (size_t i = 0; i < samples[0]; i++)
        for (size_t j = 0; j < samples[1]; j++) {
            around(p, box[0] + ((double)i + 0.5) * box[2] / (double)samples[0],
                   box[1] + ((double)j + 0.5) * box[3] / (double)samples[1], &t);
            double v = 0, best = 0;
            for (size_t k = 0; k < t.n; k++) {
                double one = (double)t.weight[k] * (double)x[t.at[k]];
                v += one;
                best = k == 0 || one > best ? one : best;
            }
            sum = !p->max ? sum + v : !any || best > sum ? best : sum;
            any = 1;
        }
    size_t count = samples[0] * samples[1];
    return (float)(p->max || count == 0 ? sum : sum / (double)count);
}

static int roi_align_forward(const sis__step *s, sis__run *r) {
    const regions *p = (const regions *)s->p.own;
    const sis__tensor *x = sis__tin(s, r, 0);
    size_t bins = p->out[0] * p->out[1];
    for (size_t i = 0; i < p->regions; i++) {
        const float *b = sis__in(s, r, 1) + 4 * i;
        size_t image =
            sis__index_in(((const int64_t *)(const void *)sis__in(s, r, 2))[i], x->dims[0]);
        double start[2], size[2];
        size_t samples[2];
        for (size_t d = 0; d < 2; d++) { /* boxes are x, y */
            start[d] = (double)b[1 - d] * p->scale - p->offset;
            size[d] = (double)b[3 - d] * p->scale - p->offset - start[d];
            size[d] = p->aligned || size[d] > 1 ? size[d] : 1;
            double whole = ceil(size[d] / (double)p->out[d]);
            samples[d] = p->samples                   ? (size_t)p->samples
                         : whole > 0 && whole <= 1024 ? (size_t)whole
                                                      : 0;
        }
        if (image == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "region %zu is of an image that is not there", i);
        for (size_t k = 0; k < p->channels * bins; k++) {
            size_t h = k % bins / p->out[1], w = k % p->out[1];
            double bin[2] = {size[0] / (double)p->out[0], size[1] / (double)p->out[1]};
            double box[4] = {start[0] + (double)h * bin[0], start[1] + (double)w * bin[1], bin[0],
                             bin[1]};
            sis__out(s, r, 0)[i * p->channels * bins + k] = align_bin(
                p, sis__in(s, r, 0) + (image * p->channels + k / bins) * p->in[0] * p->in[1], box,
                samples);
        }
    }
    return SIS_OK;
}

const sis__op sis__op_roi_align = {
    3, 3, roi_align_shape, roi_align_forward, sis__no_gradient, 0, SIS__MIXES};

static int max_roi_shape(sis__cx *c) {
    regions *p = (regions *)sis__cx_own(c, sizeof *p);
    size_t n;
    const int64_t *size = sis__attr_ints(c, "pooled_shape", &n);
    float scale = sis__attr_float(c, "spatial_scale", 1.0f);
    if (n != 2)
        sis__cx_fail(c, SIS_E_FORMAT, "pooled_shape of %zu numbers", n);
    if (c->error)
        return c->error;
    p->scale = (double)scale;
    return region_output(c, p, size[0], size[1]);
}

/* The largest value of rows and columns span[0] .. span[1] - 1, 0 if there are none. */
static float largest_in(const regions *p, const float *x, double span[2][2]) {
    float best = 0;
    int any = 0;
    for (size_t i = (size_t)span[0][0]; i < (size_t)span[0][1]; i++)
        for (size_t j = (size_t)span[1][0]; j < (size_t)span[1][1]; j++, any = 1)
            best = any && best >= x[i * p->in[1] + j] ? best : x[i * p->in[1] + j];
    return best;
}

static int max_roi_forward(const sis__step *s, sis__run *r) {
    const regions *p = (const regions *)s->p.own;
    size_t bins = p->out[0] * p->out[1];
    for (size_t k = 0; k < p->regions * p->channels * bins; k++) {
        const float *b = sis__in(s, r, 1) + 5 * (k / bins / p->channels);
        size_t image =
            isfinite(b[0]) ? sis__index_in((int64_t)b[0], sis__tin(s, r, 0)->dims[0]) : SIZE_MAX;
        size_t at[2] = {k % bins / p->out[1], k % p->out[1]};
        double span[2][2];
        if (image == SIZE_MAX)
            return sis__fail(SIS_E_ARGUMENT, "a region of an image that is not there");
        for (size_t d = 0; d < 2; d++) {
            double from = round((double)b[2 - d] * p->scale),
                   to = round((double)b[4 - d] * p->scale);
            double bin = fmax(to - from + 1, 1) / (double)p->out[d], n = (double)p->in[d];
            span[d][0] = fmin(fmax(floor((double)at[d] * bin) + from, 0), n);
            span[d][1] = fmin(fmax(ceil((double)(at[d] + 1) * bin) + from, 0), n);
        }
        sis__out(s, r, 0)[k] = largest_in(
            p,
            sis__in(s, r, 0) + (image * p->channels + k / bins % p->channels) * p->in[0] * p->in[1],
            span);
    }
    return SIS_OK;
}

const sis__op sis__op_max_roi_pool = {
    2, 2, max_roi_shape, max_roi_forward, sis__no_gradient, 0, SIS__MIXES};

/* ---- DeformConv: x, weights, offsets, bias, mask ----------------------------------------------- */

typedef struct {
    sis__window w;
    size_t parts; /* groups of channels with offsets of their own */
} deformed;

static int deform_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0), *f = sis__cx_input(c, 1), *o = sis__cx_input(c, 2);
    const sis__tensor *b = sis__cx_input(c, 3), *m = sis__cx_input(c, 4);
    deformed *p = (deformed *)sis__cx_own(c, sizeof *p);
    int64_t groups = sis__attr_int(c, "group", 1), parts = sis__attr_int(c, "offset_group", 1);
    for (size_t i = 0; i < 5; i++)
        if (sis__cx_input(c, i))
            sis__cx_float(c, i);
    if (x->rank != 4 || f->rank != 4)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "an input of %zu axes; 4 are supported", x->rank);
    if (c->error || sis__window_read(c, &p->w, f->dims + 2, 0) != SIS_OK)
        return c->error;
    sis__window *w = &p->w;
    w->filters = f->dims[0];
    w->groups = (size_t)(groups > 0 ? groups : 1);
    p->parts = (size_t)(parts > 0 ? parts : 1);
    size_t taps_each = w->kernel[1] * w->kernel[2], plane = w->out[1] * w->out[2];
    if (groups < 1 || parts < 1 || w->channels % w->groups || w->filters % w->groups ||
        w->channels % p->parts || f->dims[1] * w->groups != w->channels ||
        o->count != w->n * p->parts * 2 * taps_each * plane || (b && b->count != w->filters) ||
        (m && m->count != w->n * p->parts * taps_each * plane))
        return sis__cx_fail(c, SIS_E_FORMAT, "offsets or weights that do not fit");
    c->step->flops = 8.0 * (double)(w->n * w->filters * plane) * (double)(taps_each * f->dims[1]);
    return sis__window_output(c, w, 0, SIS__F32);
}

/* The value of a plane at (y, x): 0 outside. */
static double between(const sis__window *w, const float *x, double y, double at) {
    double sum = 0;
    if (!(y > -1 && at > -1 && y < (double)w->in[1] && at < (double)w->in[2]))
        return 0;
    ptrdiff_t top = (ptrdiff_t)floor(y), left = (ptrdiff_t)floor(at);
    for (ptrdiff_t i = 0; i < 2; i++)
        for (ptrdiff_t j = 0; j < 2; j++) {
            ptrdiff_t row = top + i, col = left + j;
            double weight = (i ? y - (double)top : 1 - y + (double)top) *
                            (j ? at - (double)left : 1 - at + (double)left);
            if (row >= 0 && col >= 0 && row < (ptrdiff_t)w->in[1] && col < (ptrdiff_t)w->in[2])
                sum += weight * (double)x[row * (ptrdiff_t)w->in[2] + col];
        }
    return sum;
}

static double deform_one(const sis__step *s, const sis__run *r, const deformed *p,
                         const size_t *at) {
    const sis__window *w = &p->w;
    size_t n = at[0], f = at[1], per = w->channels / w->groups, plane = w->out[1] * w->out[2];
    size_t taps_each = w->kernel[1] * w->kernel[2], place = at[2] * w->out[2] + at[3];
    const float *offset = sis__in(s, r, 2), *mask = sis__in(s, r, 4);
    double sum = sis__in(s, r, 3) ? (double)sis__in(s, r, 3)[f] : 0;
    for (size_t c = 0; c < per; c++) {
        size_t channel = f / (w->filters / w->groups) * per + c;
        size_t part = n * p->parts + channel / (w->channels / p->parts);
        const float *x = sis__in(s, r, 0) + (n * w->channels + channel) * w->in[1] * w->in[2];
        for (size_t k = 0; k < taps_each; k++) {
            const float *o = offset + (part * taps_each + k) * 2 * plane + place;
            double y = (double)(at[2] * w->stride[1] + k / w->kernel[2] * w->dilation[1]) -
                       (double)w->pad[1];
            double z = (double)(at[3] * w->stride[2] + k % w->kernel[2] * w->dilation[2]) -
                       (double)w->pad[2];
            double v = between(w, x, y + (double)o[0], z + (double)o[plane]);
            v *= mask ? (double)mask[(part * taps_each + k) * plane + place] : 1;
            sum += v * (double)sis__in(s, r, 1)[(f * per + c) * taps_each + k];
        }
    }
    return sum;
}

static int deform_forward(const sis__step *s, sis__run *r) {
    const deformed *p = (const deformed *)s->p.own;
    size_t at[4], k = 0;
    for (at[0] = 0; at[0] < p->w.n; at[0]++)
        for (at[1] = 0; at[1] < p->w.filters; at[1]++)
            for (at[2] = 0; at[2] < p->w.out[1]; at[2]++)
                for (at[3] = 0; at[3] < p->w.out[2]; at[3]++)
                    sis__out(s, r, 0)[k++] = (float)deform_one(s, r, p, at);
    return SIS_OK;
}

const sis__op sis__op_deform_conv = {3, 5,         deform_shape, deform_forward, sis__no_gradient,
                                     0, SIS__MIXES};
