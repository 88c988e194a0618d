/* SPDX-License-Identifier: MIT
 *
 * Parts of images as features: cells of a grid, or superpixels (SLIC, Achanta et al. 2012), and
 * their refinement to pixels.
 *
 * SLIC is k-means over place and colour in which each centre considers only nearby pixels.
 * Disconnected or tiny parts are then merged into a neighbour. The result is deterministic.
 *
 * Refinement splits the parts of a subset into quarters and searches a minimal sufficient set of
 * these (quick), with everything else masked, until the parts are pixels. An image of 224 x 224
 * takes a few thousand evaluations.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

/* ---- Options --------------------------------------------------------------------------------- */

int sis__task_parts_read(const char *text, sis__task_features *f) {
    const char *number;
    long n;
    if (!sis__text_is(text, "grid", &number) && !sis__text_is(text, "superpixel", &number))
        return SIS_OK;
    if (!sis__text_whole(number, &n) || n < 1 || n > 1000000)
        return sis__fail(SIS_E_OPTION, "--features %.20s: expected a number of parts, found \"%s\"",
                         text, number);
    f->parts = (size_t)n;
    f->superpixels = text[0] == 's';
    return SIS_OK;
}

/* ---- Images -------------------------------------------------------------------------------- */

/* An example as an image. */
typedef struct {
    sis_raster at;
    const double *values;
    int *part; /* (pixels) */
} picture;

static size_t pixels_of(const picture *p) {
    return p->at.rows * p->at.columns;
}

static double value_at(const picture *p, size_t pixel, size_t channel) {
    return p->values[pixel / p->at.columns * p->at.row_step +
                     pixel % p->at.columns * p->at.column_step + channel * p->at.channel_step];
}

int sis__task_raster(const sis_task *t, sis_example *e, const char *option, sis_raster *out) {
    int *own = SIS_NEW_RAW(int, e->input.n_values);
    sis_record r = {.drawing.n_values = e->input.n_values,
                    .drawing.values = e->input.values,
                    .drawing.feature_map = own};
    if (!own)
        return SIS_E_NOMEM;
    r.collection.n_features = sis__task_own_features(t, e->row, own);
    r.drawing.shape = sis__task_shape(t, e->row, e->own->dims, &r.drawing.rank);
    int is =
        sis_record_raster(&r, out) && out->rows * out->columns * out->channels == e->input.n_values;
    free(own);
    return is ? SIS_OK
              : sis__fail(SIS_E_ARGUMENT, "%s: example %s is not an image", option,
                          e->id ? e->id : "0");
}

static int open_picture(const sis_task *t, sis_example *e, picture *p) {
    char option[64];
    snprintf(option, sizeof option, "--features %.40s", t->opt.question.features);
    *p = (picture){.values = e->input.values};
    int error = sis__task_raster(t, e, option, &p->at);
    if (!error && !(p->part = SIS_NEW(int, pixels_of(p))))
        error = SIS_E_NOMEM;
    return error;
}

/* Expand a map of pixels to a map of values. */
static void spread(const picture *p, int *map) {
    for (size_t i = 0; i < pixels_of(p); i++)
        for (size_t c = 0; c < p->at.channels; c++)
            map[i / p->at.columns * p->at.row_step + i % p->at.columns * p->at.column_step +
                c * p->at.channel_step] = p->part[i];
}

/* About n parts in rows and columns, as square as possible. */
static void grid_of(const picture *p, size_t n, size_t *rows, size_t *columns) {
    double h = (double)p->at.rows, w = (double)p->at.columns;
    double side = sqrt((double)n * h / w);
    *rows = side < 1 ? 1 : (size_t)(side + 0.5);
    *rows = *rows > p->at.rows ? p->at.rows : *rows;
    *columns = (n + *rows - 1) / *rows;
    *columns = *columns > p->at.columns ? p->at.columns : *columns;
}

static void make_grid(const picture *p, size_t n) {
    size_t rows, columns;
    grid_of(p, n, &rows, &columns);
    for (size_t i = 0; i < pixels_of(p); i++) {
        size_t y = i / p->at.columns, x = i % p->at.columns;
        p->part[i] = (int)(y * rows / p->at.rows * columns + x * columns / p->at.columns);
    }
}

/* ---- Superpixels ----------------------------------------------------------------------------- */

enum { STEPS = 10, CHANNELS = 4 };

typedef struct {
    double y, x, colour[CHANNELS];
} centre;

typedef struct {
    const picture *p;
    centre *centres; /* (n) */
    size_t n;
    double side;  /* of a square part */
    double scale; /* of colours: 1 / range */
    double *near; /* (pixels) distance to its centre */
} slic;

static double distance(const slic *s, const centre *c, size_t pixel) {
    double dy = (double)(pixel / s->p->at.columns) - c->y;
    double dx = (double)(pixel % s->p->at.columns) - c->x, d = 0;
    for (size_t k = 0; k < s->p->at.channels; k++) {
        double dc = (value_at(s->p, pixel, k) - c->colour[k]) * s->scale;
        d += dc * dc;
    }
    return d / (double)s->p->at.channels + 0.02 * (dy * dy + dx * dx) / (s->side * s->side);
}

/* Assign each pixel to the nearest centre around it. */
static void assign(slic *s) {
    const sis_raster *at = &s->p->at;
    for (size_t i = 0; i < at->rows * at->columns; i++)
        s->near[i] = INFINITY;
    for (size_t k = 0; k < s->n; k++) {
        const centre *c = &s->centres[k];
        size_t top = c->y > 2 * s->side ? (size_t)(c->y - 2 * s->side) : 0;
        size_t left = c->x > 2 * s->side ? (size_t)(c->x - 2 * s->side) : 0;
        for (size_t y = top; y < at->rows && (double)y <= c->y + 2 * s->side; y++)
            for (size_t x = left; x < at->columns && (double)x <= c->x + 2 * s->side; x++) {
                size_t pixel = y * at->columns + x;
                double d = distance(s, c, pixel);
                if (d < s->near[pixel]) {
                    s->near[pixel] = d;
                    s->p->part[pixel] = (int)k;
                }
            }
    }
}

/* Move centres to the mean of their pixels. */
static int move_centres(slic *s) {
    size_t *count = SIS_NEW(size_t, s->n);
    centre *sum = SIS_NEW(centre, s->n);
    for (size_t i = 0; count && sum && i < pixels_of(s->p); i++) {
        centre *c = &sum[s->p->part[i]];
        count[s->p->part[i]]++;
        c->y += (double)(i / s->p->at.columns);
        c->x += (double)(i % s->p->at.columns);
        for (size_t k = 0; k < s->p->at.channels; k++)
            c->colour[k] += value_at(s->p, i, k);
    }
    for (size_t k = 0; count && sum && k < s->n; k++) {
        double n = (double)count[k];
        if (count[k] == 0)
            continue;
        s->centres[k] = (centre){.y = sum[k].y / n, .x = sum[k].x / n};
        for (size_t c = 0; c < CHANNELS; c++)
            s->centres[k].colour[c] = sum[k].colour[c] / n;
    }
    int error = count && sum ? SIS_OK : SIS_E_NOMEM;
    free(count);
    free(sum);
    return error;
}

/* List the connected pixels of the same part in `list`, with a new number in `piece`. */
static size_t flood(const picture *p, size_t from, int *piece, int number, size_t *list) {
    size_t n = 1, columns = p->at.columns;
    list[0] = from;
    piece[from] = number;
    for (size_t done = 0; done < n; done++) {
        size_t i = list[done];
        const size_t next[] = {i % columns ? i - 1 : i, (i + 1) % columns ? i + 1 : i,
                               i >= columns ? i - columns : i,
                               i + columns < pixels_of(p) ? i + columns : i};
        for (size_t k = 0; k < 4; k++)
            if (piece[next[k]] < 0 && p->part[next[k]] == p->part[i]) {
                piece[next[k]] = number;
                list[n++] = next[k];
            }
    }
    return n;
}

/* Turn connected pieces into parts; pieces smaller than a quarter of a square join the part before
 * them, or the one above. */
static int join_pieces(const picture *p, double side) {
    size_t n = pixels_of(p), *list = SIS_NEW(size_t, n);
    int *piece = SIS_NEW_RAW(int, n), number = 0;
    int error = list && piece ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < n; i++)
        piece[i] = -1;
    for (size_t i = 0; !error && i < n; i++) {
        if (piece[i] >= 0)
            continue;
        size_t size = flood(p, i, piece, number, list);
        int into = i % p->at.columns    ? piece[i - 1]
                   : i >= p->at.columns ? piece[i - p->at.columns]
                                        : -1;
        if (into >= 0 && (double)size < side * side / 4)
            for (size_t k = 0; k < size; k++)
                piece[list[k]] = into;
        else
            number++;
    }
    if (!error)
        memcpy(p->part, piece, n * sizeof *piece);
    free(list);
    free(piece);
    return error;
}

static void place_centres(slic *s, size_t rows, size_t columns) {
    const sis_raster *at = &s->p->at;
    for (size_t k = 0; k < s->n; k++) {
        size_t y = (2 * (k / columns) + 1) * at->rows / (2 * rows);
        size_t x = (2 * (k % columns) + 1) * at->columns / (2 * columns);
        s->centres[k] = (centre){.y = (double)y, .x = (double)x};
        for (size_t c = 0; c < at->channels; c++)
            s->centres[k].colour[c] = value_at(s->p, y * at->columns + x, c);
    }
}

static double range_of(const picture *p) {
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < pixels_of(p); i++)
        for (size_t c = 0; c < p->at.channels; c++) {
            low = fmin(low, value_at(p, i, c));
            high = fmax(high, value_at(p, i, c));
        }
    return high > low ? high - low : 1;
}

static int make_superpixels(const picture *p, size_t n) {
    size_t rows, columns;
    grid_of(p, n, &rows, &columns);
    slic s = {.p = p, .n = rows * columns, .scale = 1 / range_of(p)};
    s.side = sqrt((double)pixels_of(p) / (double)s.n);
    s.centres = SIS_NEW(centre, s.n);
    s.near = SIS_NEW(double, pixels_of(p));
    int error = s.centres && s.near ? SIS_OK : SIS_E_NOMEM;
    if (!error) {
        make_grid(p, n);
        place_centres(&s, rows, columns);
    }
    for (int step = 0; !error && step < STEPS; step++) {
        assign(&s);
        error = move_centres(&s);
    }
    free(s.centres);
    free(s.near);
    return error ? error : join_pieces(p, s.side);
}

int sis__task_parts_load(const sis_task *t, sis_example *e, int pixels, int *map) {
    picture p = {0};
    int error = open_picture(t, e, &p);
    for (size_t i = 0; !error && pixels && i < pixels_of(&p); i++)
        p.part[i] = (int)i;
    if (pixels && !error)
        spread(&p, map);
    if (pixels || error) {
        free(p.part);
        return error;
    }
    if (t->features.superpixels)
        error = make_superpixels(&p, t->features.parts);
    else
        make_grid(&p, t->features.parts);
    if (!error)
        spread(&p, map);
    free(p.part);
    return error;
}

/* ---- Refining -------------------------------------------------------------------------------- */

/* An example whose features are pixels, grouped into parts that become smaller. */
typedef struct {
    const sis_task *t;
    const sis_model *model;
    const sis_opt *opt;
    const sis_input *in; /* by pixels */
    const picture *p;
    size_t n;              /* pixels */
    int *whole;            /* (n_values) the initial parts */
    int *map;              /* (n_values) the current parts */
    unsigned char *absent; /* (n + 1) masked parts */
    unsigned char *kept;   /* (n) pixels of sufficient parts */
    int *part;             /* (n) the part of each kept pixel */
    size_t evaluations;
} refining;

typedef struct {
    size_t top, bottom, left, right, n;
} box;

/* Bounding boxes of n parts. */
static void find_boxes(const refining *r, box *boxes, size_t n) {
    for (size_t k = 0; k < n; k++)
        boxes[k] = (box){.top = SIZE_MAX, .left = SIZE_MAX};
    for (size_t i = 0; i < r->n; i++) {
        size_t y = i / r->p->at.columns, x = i % r->p->at.columns;
        if (!r->kept[i])
            continue;
        box *b = &boxes[r->part[i]];
        b->top = y < b->top ? y : b->top;
        b->bottom = y > b->bottom ? y : b->bottom;
        b->left = x < b->left ? x : b->left;
        b->right = x > b->right ? x : b->right;
        b->n++;
    }
}

/* Split the n kept parts into quarters: *count of them. 1 if each is already a pixel. */
static int quarter(refining *r, size_t n, size_t *count, int *done) {
    box *boxes = SIS_NEW(box, n);
    int *number = SIS_NEW_RAW(int, 4 * n);
    int error = boxes && number ? SIS_OK : SIS_E_NOMEM;
    *count = 0;
    *done = 1;
    if (!error)
        find_boxes(r, boxes, n);
    for (size_t k = 0; !error && k < 4 * n; k++)
        number[k] = -1;
    for (size_t i = 0; !error && i < r->n; i++) {
        if (!r->kept[i])
            continue;
        const box *b = &boxes[r->part[i]];
        size_t y = i / r->p->at.columns, x = i % r->p->at.columns;
        size_t down = 2 * y > b->top + b->bottom, across = 2 * x > b->left + b->right;
        int *at = &number[4 * (size_t)r->part[i] + 2 * down + across];
        *at = *at < 0 ? (int)(*count)++ : *at;
        *done &= b->n == 1;
        r->part[i] = *at;
    }
    free(boxes);
    free(number);
    return error;
}

/* Feature of each value: its part, or the last feature, which is masked. */
static void map_parts(refining *r, size_t n) {
    for (size_t i = 0; i < r->n; i++)
        r->p->part[i] = r->kept[i] ? r->part[i] : (int)n;
    spread(r->p, r->map);
    memset(r->absent, 0, n);
    r->absent[n] = 1;
}

static int search(refining *r, const sis_input *in, sis_rationale *out) {
    sis_method_opt how;
    sis_opt opt = *r->opt;
    sis_method_opt_init(&how);
    how.method = SIS_METHOD_QUICK;
    opt.max_subsets = 1;
    int error = sis_explain(r->model, in, &opt, &how, out);
    if (error)
        return error;
    r->evaluations += out->collection.evaluations;
    if (out->collection.n_subsets == 1)
        return SIS_OK;
    sis_rationale_release(out);
    return sis__fail_unstable(NAN, NAN);
}

/* Keep only the parts of the subset. */
static int keep_parts(refining *r, const sis_subset *s, size_t n) {
    int *number = SIS_NEW_RAW(int, n + 1);
    if (!number)
        return SIS_E_NOMEM;
    for (size_t k = 0; k <= n; k++)
        number[k] = -1;
    for (size_t k = 0; k < s->n; k++)
        number[s->features[k]] = (int)k;
    for (size_t i = 0; i < r->n; i++) {
        r->part[i] = r->kept[i] ? number[r->part[i]] : -1;
        r->kept[i] = r->part[i] >= 0;
    }
    free(number);
    return SIS_OK;
}

/* Refine the pixels of `n` sufficient parts to a minimal set of pixels. */
static int refine_subset(refining *r, size_t n, sis_subset *out) {
    for (;;) {
        size_t count;
        int done, error = quarter(r, n, &count, &done);
        if (error)
            return error;
        map_parts(r, count);
        sis_input in = *r->in;
        sis_rationale found;
        in.feature_of = r->map;
        in.absent = r->absent;
        for (size_t i = 0; i < r->n && r->kept[i]; i++)
            if (i + 1 == r->n)
                in.absent = NULL; /* there is no masked feature */
        error = search(r, &in, &found);
        if (error)
            return error;
        sis_subset *s = &found.collection.subsets[0];
        error = keep_parts(r, s, count);
        n = s->n;
        out->score = s->score;
        sis_rationale_release(&found);
        if (error || done)
            return error;
    }
}

/* The kept pixels in the order of their parts. */
static int list_pixels(const refining *r, sis_subset *out) {
    out->features = SIS_NEW(int, r->n);
    if (!out->features)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < r->n; i++)
        if (r->kept[i]) {
            out->features[r->part[i]] = (int)i;
            out->n++;
        }
    return SIS_OK;
}

static int refine_all(refining *r, sis_collection *c) {
    int error = SIS_OK;
    for (size_t k = 0; !error && k < c->n_subsets; k++) {
        sis_subset *s = &c->subsets[k], fine = {.trace.start = NAN};
        int *number = SIS_NEW_RAW(int, c->n_features);
        error = number ? SIS_OK : SIS_E_NOMEM;
        for (size_t f = 0; !error && f < c->n_features; f++)
            number[f] = -1;
        for (size_t i = 0; !error && i < s->n; i++)
            number[s->features[i]] = (int)i;
        for (size_t i = 0; !error && i < r->n; i++) {
            size_t v = i / r->p->at.columns * r->p->at.row_step +
                       i % r->p->at.columns * r->p->at.column_step;
            r->part[i] = number[r->whole[v]];
            r->kept[i] = r->part[i] >= 0;
        }
        free(number);
        if (!error)
            error = refine_subset(r, s->n, &fine);
        if (!error)
            error = list_pixels(r, &fine);
        free(s->features);
        sis_trace_release(&s->trace);
        *s = fine;
    }
    return error;
}

/* The score with all subsets masked. */
static int judge_rest(refining *r, sis_collection *c) {
    size_t outputs = r->model->n_outputs, samples = r->in->n_samples ? r->in->n_samples : 1;
    double *row = SIS_NEW(double, r->in->n_values), *margins = SIS_NEW(double, outputs), rest = 0;
    unsigned char *gone = SIS_NEW(unsigned char, c->n_features);
    int error = row && margins && gone ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; !error && k < c->n_subsets; k++)
        for (size_t i = 0; i < c->subsets[k].n; i++)
            gone[c->subsets[k].features[i]] = 1;
    for (size_t s = 0; !error && s < samples; s++) {
        for (size_t v = 0; v < r->in->n_values; v++) {
            int f = r->in->feature_of ? r->in->feature_of[v] : (int)v;
            row[v] = f >= 0 && gone[f] ? r->in->mask[s * r->in->n_values + v] : r->in->values[v];
        }
        error = r->model->predict(r->model->ctx, row, 1, r->in->n_values, margins);
        double m = error ? 0 : margins[r->in->output];
        rest += (r->model->link ? r->model->link(m) : m) / (double)samples;
    }
    c->rest_score = rest;
    c->complete = !error && !sis_decided(rest, r->opt->threshold, r->opt->below);
    free(row);
    free(margins);
    free(gone);
    return error;
}

static int refine(refining *r, sis_rationale *out) {
    sis_collection *c = &out->collection;
    r->n = pixels_of(r->p);
    r->map = SIS_NEW(int, r->in->n_values);
    r->absent = SIS_NEW(unsigned char, r->n + 1);
    r->kept = SIS_NEW(unsigned char, r->n);
    r->part = SIS_NEW(int, r->n);
    int error = r->map && r->absent && r->kept && r->part ? refine_all(r, c) : SIS_E_NOMEM;
    c->n_features = r->n;
    if (!error)
        error = judge_rest(r, c);
    c->evaluations += r->evaluations;
    free(r->map);
    free(r->absent);
    free(r->kept);
    free(r->part);
    return error;
}

int sis__task_refine(const sis_task *t, sis_example *e, const sis_model *model, const sis_opt *opt,
                     int *whole, sis_rationale *out) {
    picture p = {0};
    int error = open_picture(t, e, &p);
    refining r = {.t = t, .model = model, .opt = opt, .in = &e->input, .p = &p, .whole = whole};
    if (!error)
        error = refine(&r, out);
    free(p.part);
    if (error)
        sis_rationale_release(out);
    return error;
}
