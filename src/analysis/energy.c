/* SPDX-License-Identifier: MIT
 *
 * Index for neighbours among sets of pixels, by energy distance.
 *
 * The square root of the energy distance is a distance in a Hilbert space: a set of pixels is a
 * vector. Its coordinates along a few directions give a lower bound of the distance. A pivoted
 * incomplete Cholesky decomposition chooses the directions: each passes through the set that the
 * previous ones approximate worst. The residual of a vector has a known length, and the difference
 * of two lengths is another lower bound:
 *
 *     D(u, v)  >=  sum over k of (c_k(u) - c_k(v))^2  +  (rest(u) - rest(v))^2
 *
 * A dozen multiplications exclude nearly all pairs. Sets are sorted by the first coordinate, so
 * that most are not visited.
 *
 * For the others, the sum of distances from a place to all pixels of u (a field) is cached for each
 * place used: the double sum over 25 x 25 pixels becomes a sum over 25. Sums within one set are
 * computed once. All sums have the order of the reference implementation, so they are equal to the
 * bit.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/space.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/platform.h"

enum {
    DIRECTIONS = 16,
    STRIDE = DIRECTIONS + 1, /* coordinates of a set: directions and residual */
    PLACES_MAX = 1 << 22,   /* of an image whose field is cached */
    PLACES_FEW = 1 << 12,    /* of an image whose field is computed completely */
};

typedef struct {
    size_t rows, columns;
    size_t width; /* 2 columns - 1 */
    /* (rows, width) distances of pixels, by rows between them and by columns from -(columns - 1) to
     * columns - 1; NULL if too large */
    double *gaps;
    uint32_t *at; /* as s->items: row * columns + column */
    double *own;  /* (n) sum over the pairs of its own pixels */
    int n_directions;
    double *coordinates; /* (n, STRIDE) */
    uint32_t *order;     /* (n) sets sorted by their first coordinates */
    double *along;       /* (n) these */
    double *ordered;     /* (n, STRIDE) coordinates in that order */
    double bound;        /* if the squared distance exceeds it, the distance exceeds eps */
} energy_index;

/* The field of one set: for each place the sum of distances to the set's pixels. */
typedef struct {
    size_t u;        /* its set; SIZE_MAX: none */
    double *sum;     /* (rows * columns); NULL: no cache */
    uint32_t *stamp; /* (rows * columns) marks sums that belong to u; NULL: all do */
    uint32_t now;
} field;

/* The sum of distances from place p to the pixels of u. */
static double sum_to(const energy_index *x, uint32_t p, const sis__row *u) {
    double sum = 0;
    int y = (int)(p >> 16);
    size_t column = (p & 0xFFFF) + x->columns - 1;
    for (size_t k = 0; k < u->n; k++) {
        uint32_t q = u->items[k];
        sum += x->gaps ? x->gaps[(size_t)abs(y - (int)(q >> 16)) * x->width + column - (q & 0xFFFF)]
                       : sis__pixel_gap(p, q);
    }
    return sum;
}

/* ---- Fields -------------------------------------------------------------------------------- */

static void scratch_free(void *scratch) {
    field *f = (field *)scratch;
    if (f) {
        free(f->stamp);
        free(f->sum);
        free(f);
    }
}

static int scratch_new(const sis__space *s, void **scratch) {
    const energy_index *x = (const energy_index *)s->index;
    size_t n = x->rows * x->columns;
    field *f = SIS_NEW(field, 1);
    *scratch = f;
    if (!f)
        return SIS_E_NOMEM;
    f->u = SIZE_MAX;
    if (n > PLACES_MAX)
        return SIS_OK;
    f->stamp = n > PLACES_FEW ? SIS_NEW(uint32_t, n) : NULL;
    f->sum = SIS_NEW(double, n);
    if (f->sum && (f->stamp || n <= PLACES_FEW))
        return SIS_OK;
    scratch_free(f);
    *scratch = NULL;
    return SIS_E_NOMEM;
}

/* Compute a small field completely, pixel by pixel of u, which keeps the order of sums. */
static void fill_field(const energy_index *x, double *sum, const sis__row *u) {
    memset(sum, 0, x->rows * x->columns * sizeof *sum);
    for (size_t k = 0; k < u->n; k++) {
        int y = (int)(u->items[k] >> 16);
        size_t first = x->columns - 1 - (u->items[k] & 0xFFFF);
        for (size_t row = 0; row < x->rows; row++) {
            const double *gaps = x->gaps + (size_t)abs((int)row - y) * x->width + first;
            double *to = sum + row * x->columns;
            for (size_t c = 0; c < x->columns; c++)
                to[c] += gaps[c];
        }
    }
}

static void field_begin(const sis__space *s, field *f, size_t u) {
    const energy_index *x = (const energy_index *)s->index;
    sis__row row = sis__space_row(s, u);
    if (f->u == u)
        return;
    f->u = u;
    if (f->sum && !f->stamp)
        fill_field(x, f->sum, &row);
    if (f->stamp && ++f->now == 0) {
        memset(f->stamp, 0, x->rows * x->columns * sizeof *f->stamp);
        f->now = 1;
    }
}

/* The sum of distances between the pixels of set v and those of the field's set. */
static double field_sum(const sis__space *s, field *f, const sis__row *u, size_t v) {
    const energy_index *x = (const energy_index *)s->index;
    double all = 0;
    for (size_t k = s->start[v]; k < s->start[v + 1]; k++) {
        size_t at = x->at[k];
        if (f->stamp && f->stamp[at] != f->now) {
            f->stamp[at] = f->now;
            f->sum[at] = sum_to(x, s->items[k], u);
        }
        all += f->sum ? f->sum[at] : sum_to(x, s->items[k], u);
    }
    return all;
}

/* ---- Distances ----------------------------------------------------------------------------- */

/* The reference sums over the pixels of the point that comes first. Points are in that order, so
 * the field is that of the second. */
static double energy_of(const sis__space *s, field *f, size_t u, size_t v) {
    const energy_index *x = (const energy_index *)s->index;
    if (u == v)
        return 0;
    sis__row low = sis__space_row(s, u < v ? u : v), high = sis__space_row(s, u < v ? v : u);
    double between = 0;
    if (v < u) {
        field_begin(s, f, u);
        between = field_sum(s, f, &high, v);
    } else {
        for (size_t k = 0; k < low.n; k++)
            between += sum_to(x, low.items[k], &high);
    }
    return sis__energy_of_sums(between, x->own[u], x->own[v], s->start[u + 1] - s->start[u],
                               s->start[v + 1] - s->start[v]);
}

static double as_asked(const sis__space *s, double energy) {
    return s->points->distance == SIS_DISTANCE_ENERGY_SQRT ? sqrt(energy) : energy;
}

static int distances(const sis__space *s, void *scratch, size_t u, const uint32_t *v, size_t n,
                     double *out) {
    for (size_t k = 0; k < n; k++)
        out[k] = as_asked(s, energy_of(s, (field *)scratch, u, v[k]));
    return SIS_OK;
}

/* ---- Coordinates --------------------------------------------------------------------------- */

/* Distances of all sets to set `to`, up to rounding. */
static void energies_to(const sis__space *s, field *f, size_t to, double *out) {
    const energy_index *x = (const energy_index *)s->index;
    sis__row t = sis__space_row(s, to);
    field_begin(s, f, to);
    for (size_t u = 0; u < s->n; u++) {
        sis__row row = sis__space_row(s, u);
        out[u] = u == to ? 0
                         : sis__energy_of_sums(field_sum(s, f, &t, u), x->own[u], x->own[to], row.n,
                                               t.n);
    }
}

static size_t largest(const double *v, size_t n) {
    size_t at = 0;
    for (size_t k = 1; k < n; k++)
        if (v[k] > v[at])
            at = k;
    return at;
}

/* Add a direction through `pivot`. Vectors start at set 0: the product of u and p is (D(u, 0) +
 * D(p, 0) - D(u, p)) / 2, and `rest` is the squared residual of each. */
static void add_direction(const sis__space *s, size_t pivot, const double *from0,
                          const double *from_pivot, double *rest) {
    energy_index *x = (energy_index *)s->index;
    int k = x->n_directions++;
    const double *p = x->coordinates + pivot * STRIDE;
    double length = sqrt(rest[pivot]);
    double at_pivot[DIRECTIONS];
    memcpy(at_pivot, p, sizeof at_pivot);
    for (size_t u = 0; u < s->n; u++) {
        double *c = x->coordinates + u * STRIDE;
        double product = (from0[u] + from0[pivot] - from_pivot[u]) / 2;
        for (int j = 0; j < k; j++)
            product -= c[j] * at_pivot[j];
        c[k] = product / length;
        rest[u] -= c[k] * c[k];
    }
}

/* Rounding errors of coordinates are about 1e-13 of the largest distance unless residuals are
 * small. Directions through small residuals are not used, and the bound has a much larger
 * margin. */
static int find_coordinates(sis__space *s, field *f) {
    energy_index *x = (energy_index *)s->index;
    double *from0 = SIS_NEW(double, s->n), *from_pivot = SIS_NEW(double, s->n);
    double *rest = SIS_NEW(double, s->n);
    int code = from0 && from_pivot && rest ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK) {
        energies_to(s, f, 0, from0);
        memcpy(rest, from0, s->n * sizeof *rest);
        double scale = rest[largest(rest, s->n)];
        while (x->n_directions < DIRECTIONS) {
            size_t pivot = largest(rest, s->n);
            if (!(rest[pivot] > 1e-3 * scale))
                break;
            energies_to(s, f, pivot, from_pivot);
            add_direction(s, pivot, from0, from_pivot, rest);
        }
        for (size_t u = 0; u < s->n; u++)
            x->coordinates[u * STRIDE + DIRECTIONS] = rest[u] > 0 ? sqrt(rest[u]) : 0;
        double eps = s->points->distance == SIS_DISTANCE_ENERGY_SQRT ? s->eps * s->eps : s->eps;
        x->bound = eps * (1 + 1e-9) + 1e-6 * scale;
    }
    free(from0);
    free(from_pivot);
    free(rest);
    return code;
}

/* ---- The index ----------------------------------------------------------------------------- */

static int by_first_coordinate(const void *a, const void *b, void *ctx) {
    const energy_index *x = (const energy_index *)ctx;
    uint32_t u = *(const uint32_t *)a, v = *(const uint32_t *)b;
    double p = x->coordinates[u * (size_t)STRIDE], q = x->coordinates[v * (size_t)STRIDE];
    return p != q ? (p > q) - (p < q) : (u > v) - (u < v);
}

static int sort_along(sis__space *s, energy_index *x) {
    x->order = SIS_NEW(uint32_t, s->n);
    x->along = SIS_NEW(double, s->n);
    x->ordered = (double *)sis__alloc(s->n, STRIDE * sizeof(double));
    if (!x->order || !x->along || !x->ordered)
        return SIS_E_NOMEM;
    for (size_t u = 0; u < s->n; u++)
        x->order[u] = (uint32_t)u;
    sis__sort(x->order, s->n, sizeof *x->order, by_first_coordinate, x);
    for (size_t k = 0; k < s->n; k++) {
        const double *from = x->coordinates + x->order[k] * (size_t)STRIDE;
        x->along[k] = from[0];
        memcpy(x->ordered + k * STRIDE, from, STRIDE * sizeof *from);
    }
    return SIS_OK;
}

static void index_free(sis__space *s) {
    energy_index *x = (energy_index *)s->index;
    free(x->gaps);
    free(x->at);
    free(x->own);
    free(x->coordinates);
    free(x->along);
    free(x->ordered);
    free(x->order);
    free(x);
    s->index = NULL;
}

/* Tabulate distances by rows and columns, and the place of every pixel. */
static int tabulate(const sis__space *s, energy_index *x) {
    size_t n = s->start[s->n];
    x->width = 2 * x->columns - 1;
    x->at = SIS_NEW(uint32_t, n);
    if (!x->at)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < n && x->rows * x->columns <= PLACES_MAX; k++)
        x->at[k] = (uint32_t)((s->items[k] >> 16) * x->columns + (s->items[k] & 0xFFFF));
    if (x->rows * x->columns > PLACES_MAX)
        return SIS_OK;
    x->gaps = SIS_NEW(double, x->rows * x->width);
    if (!x->gaps)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < x->rows * x->width; k++) {
        size_t dy = k / x->width, dx = k % x->width;
        dx = dx < x->columns - 1 ? x->columns - 1 - dx : dx - (x->columns - 1);
        x->gaps[k] = sis__pixel_gap(0, (uint32_t)dy << 16 | (uint32_t)dx);
    }
    return SIS_OK;
}

static int measure(sis__space *s, energy_index *x) {
    x->own = SIS_NEW(double, s->n);
    if (!x->own)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < s->start[s->n]; k++) {
        size_t y = s->items[k] >> 16, column = s->items[k] & 0xFFFF;
        x->rows = y >= x->rows ? y + 1 : x->rows;
        x->columns = column >= x->columns ? column + 1 : x->columns;
    }
    int code = tabulate(s, x);
    if (code != SIS_OK)
        return code;
    for (size_t u = 0; u < s->n; u++) {
        sis__row row = sis__space_row(s, u);
        for (size_t k = 0; k < row.n; k++)
            x->own[u] += sum_to(x, row.items[k], &row);
    }
    return SIS_OK;
}

static int index_new(sis__space *s) {
    void *scratch = NULL;
    energy_index *x = SIS_NEW(energy_index, 1);
    if (!x)
        return SIS_E_NOMEM;
    s->index = x;
    int code = measure(s, x);
    if (code != SIS_OK || isnan(s->eps) || s->n == 0)
        return code;
    x->coordinates = (double *)sis__alloc(s->n, STRIDE * sizeof(double));
    code = x->coordinates ? scratch_new(s, &scratch) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = find_coordinates(s, (field *)scratch);
    if (code == SIS_OK)
        code = sort_along(s, x);
    scratch_free(scratch);
    return code;
}

/* ---- Neighbours ------------------------------------------------------------------------------ */

/* 1 if D(u, v) certainly exceeds eps. */
static int too_far(const energy_index *x, const double *u, const double *v) {
    double rest = u[DIRECTIONS] - v[DIRECTIONS], sum = rest * rest;
    for (int k = 0; k < DIRECTIONS; k += 4) {
        double a = u[k] - v[k], b = u[k + 1] - v[k + 1];
        double c = u[k + 2] - v[k + 2], d = u[k + 3] - v[k + 3];
        sum += (a * a + b * b) + (c * c + d * d);
        if (sum > x->bound)
            return 1;
    }
    return 0;
}

static size_t seek(const double *along, size_t n, double value) {
    size_t low = 0;
    while (low < n) {
        size_t middle = low + (n - low) / 2;
        if (along[middle] < value)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

static int near_pixels(const sis__space *s, void *scratch, size_t u, sis__near *near) {
    const energy_index *x = (const energy_index *)s->index;
    const double *own = x->coordinates + u * STRIDE;
    double reach = sqrt(x->bound);
    int code = SIS_OK;
    for (size_t k = seek(x->along, s->n, own[0] - reach);
         k < s->n && x->along[k] <= own[0] + reach && code == SIS_OK; k++) {
        size_t v = x->order[k];
        if (v >= u || too_far(x, own, x->ordered + k * STRIDE))
            continue;
        if (as_asked(s, energy_of(s, (field *)scratch, u, v)) <= s->eps)
            code = sis__near_add(near, v);
    }
    return code;
}

const sis__metric sis__metric_energy = {.index_new = index_new,
                                        .index_free = index_free,
                                        .scratch_new = scratch_new,
                                        .scratch_free = scratch_free,
                                        .near = near_pixels,
                                        .distances = distances,
                                        .useless = INFINITY};
