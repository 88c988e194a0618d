/* SPDX-License-Identifier: MIT
 *
 * The k-distance curve: the distance at which each point of a sample becomes core, and the knee of
 * the curve. Ester et al. choose eps there: outliers are left of the knee, clusters right of it.
 *
 *     far  |*
 *          | *
 *          |  **            knee: farthest below the line
 *          |    ****v        from the first to the last
 *     near |         *****************
 *
 * Each point of the sample is compared with all others once: sample x n distances, no matrix.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/space.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"

enum { CHUNK = 1024 }; /* distances per call */

/* A near point and its weight. */
typedef struct {
    double d;
    size_t weight;
} neighbour;

/* Per thread: the nearest points so far, nearest first, no more than needed for their weights to
 * reach min_size. */
typedef struct {
    neighbour *near; /* (min_size + 1) */
    size_t n, weight;
} nearest;

typedef struct {
    const sis__space *s;
    size_t min_size;
    void **scratches;
    nearest *nearest;    /* (jobs) */
    uint32_t *different; /* (n_different) distinct points of the sample */
    size_t *times;       /* (s->n) multiplicity in the sample */
    double *found;       /* (s->n) */
} curve;

/* Keep a point if it is near enough: the others, without the last, are too few. */
static void meet(nearest *best, size_t min_size, double d, size_t weight) {
    size_t at = best->n;
    if (best->weight >= min_size && d >= best->near[at - 1].d)
        return;
    while (at > 0 && best->near[at - 1].d > d)
        at--;
    memmove(best->near + at + 1, best->near + at, (best->n - at) * sizeof *best->near);
    best->near[at] = (neighbour){d, weight};
    best->weight += weight;
    for (best->n++; best->weight - best->near[best->n - 1].weight >= min_size; best->n--)
        best->weight -= best->near[best->n - 1].weight;
}

static int look(void *ctx, size_t item, int worker) {
    curve *c = (curve *)ctx;
    const sis__space *s = c->s;
    nearest *best = &c->nearest[worker];
    size_t u = c->different[item];
    best->n = best->weight = 0;
    for (size_t from = 0; from < s->n; from += CHUNK) {
        uint32_t v[CHUNK];
        double d[CHUNK];
        size_t n = s->n - from < CHUNK ? s->n - from : CHUNK;
        for (size_t k = 0; k < n; k++)
            v[k] = (uint32_t)(from + k);
        int code = s->metric->distances(s, c->scratches[worker], u, v, n, d);
        if (code != SIS_OK)
            return code;
        for (size_t k = 0; k < n; k++)
            meet(best, c->min_size, d[k], s->weight[v[k]]);
    }
    c->found[u] = best->weight >= c->min_size ? best->near[best->n - 1].d : INFINITY;
    return SIS_OK;
}

/* Choose points evenly spread over all, and the distinct ones among them. */
static size_t choose(curve *c, size_t sample) {
    size_t n = c->s->points->n, count = 0;
    sample = sample && sample < n ? sample : n;
    for (size_t k = 0; k < sample; k++) {
        size_t i = (size_t)(((double)k + 0.5) * (double)n / (double)sample);
        uint32_t u = c->s->of[i < n ? i : n - 1];
        if (c->times[u]++ == 0)
            c->different[count++] = u;
    }
    return count;
}

static int farthest_first(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Where the curve is farthest below the line between its ends; the middle if it never is. Points
 * that are core at eps 0 carry no information, and a few outliers would stretch the curve: zeros
 * and the farthest twentieth are ignored. */
static size_t find_knee(const double *values, size_t n) {
    while (n > 1 && values[n - 1] == 0)
        n--;
    size_t from = n / 20, left = n - from;
    const double *v = values + from;
    double best = 0, height = v[0] - v[left - 1];
    size_t knee = left / 2;
    for (size_t i = 0; height > 0 && i < left; i++) {
        double line = 1 - (double)i / (double)(left - 1);
        double below = line - (v[i] - v[left - 1]) / height;
        if (below > best) {
            best = below;
            knee = i;
        }
    }
    return from + knee;
}

static int finish(const curve *c, size_t n_different, sis_kdistances *out) {
    size_t n = 0;
    for (size_t k = 0; k < n_different; k++)
        n += c->times[c->different[k]];
    out->values = SIS_NEW(double, n);
    if (!out->values)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < n_different; k++) {
        size_t u = c->different[k];
        for (size_t t = 0; c->found[u] < c->s->metric->useless && t < c->times[u]; t++)
            out->values[out->n++] = c->found[u];
    }
    if (out->n == 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "cannot choose eps: none of the %zu points examined has %zu "
                         "neighbours with anything in common",
                         n, c->min_size - 1);
    qsort(out->values, out->n, sizeof *out->values, farthest_first);
    out->knee = find_knee(out->values, out->n);
    return SIS_OK;
}

static int nearest_new(curve *c, int jobs) {
    c->nearest = SIS_NEW(nearest, (size_t)jobs);
    for (int j = 0; c->nearest && j < jobs; j++)
        if (!(c->nearest[j].near = SIS_NEW(neighbour, c->min_size + 1)))
            return SIS_E_NOMEM;
    return c->nearest ? SIS_OK : SIS_E_NOMEM;
}

static void curve_free(curve *c, int jobs) {
    for (int j = 0; c->nearest && j < jobs; j++)
        free(c->nearest[j].near);
    sis__scratches_free(c->s, c->scratches, jobs);
    free(c->nearest);
    free(c->different);
    free(c->times);
    free(c->found);
}

static int find_curve(const sis__space *s, const sis_cluster_opt *opt, sis_kdistances *out) {
    int jobs = sis__jobs(opt->jobs);
    curve c = {.s = s, .min_size = opt->min_size};
    c.scratches = sis__scratches_new(s, jobs);
    c.different = SIS_NEW(uint32_t, s->n);
    c.times = SIS_NEW(size_t, s->n);
    c.found = SIS_NEW(double, s->n);
    int code =
        c.scratches && c.different && c.times && c.found ? nearest_new(&c, jobs) : SIS_E_NOMEM;
    if (code == SIS_OK) {
        size_t n = choose(&c, opt->sample);
        code = sis__parallel(jobs, n, look, &c);
        if (code == SIS_OK)
            code = finish(&c, n, out);
    }
    curve_free(&c, jobs);
    return code;
}

int sis_kdistances_find(const sis_points *points, const sis_cluster_opt *opt, sis_kdistances *out) {
    sis_cluster_opt any = *opt;
    sis__space s;
    any.eps = 0;
    *out = (sis_kdistances){0};
    const char *wrong = sis__cluster_opt_check(&any);
    if (wrong)
        return sis__fail(SIS_E_ARGUMENT, "%s", wrong);
    if (points->n == 0 || opt->min_size > points->n)
        return sis__fail(SIS_E_ARGUMENT,
                         "cannot choose eps: a core point needs %zu neighbours, "
                         "itself included, but there are only %zu points",
                         opt->min_size, points->n);
    int code = sis__space_new(points, NAN, &s);
    if (code != SIS_OK)
        return code;
    code = find_curve(&s, opt, out);
    if (code != SIS_OK)
        sis_kdistances_release(out);
    sis__space_release(&s);
    return code;
}

void sis_kdistances_release(sis_kdistances *k) {
    free(k->values);
    *k = (sis_kdistances){0};
}
