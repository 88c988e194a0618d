/* SPDX-License-Identifier: MIT
 *
 * Chooses eps for a clustering from the k-distance curve.
 *
 * For sets and strings it is the knee of the curve. Distances between images have no clear knee:
 * similar images form chains, along which clusters merge long before the knee. For images eps is
 * the value at or below the knee with the most subsets in clusters other than the largest. That
 * number falls when clusters merge, and also when they dissolve into noise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/clustering.h"
#include "base/error.h"
#include "base/mem.h"

/* Maximum number of distances, and the least sample; values of the curve to try. */
enum { LOOKS_MAX = 200000000, SAMPLE_MIN = 100, TRIES = 16 };

/* The number of points in clusters other than the largest. */
static int count_beside(const sis_clusters *c, size_t *out) {
    size_t *sizes = SIS_NEW(size_t, c->n_clusters), largest = 0;
    *out = 0;
    if (!sizes)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < c->n; i++)
        if (c->labels[i] >= 0) {
            size_t size = ++sizes[c->labels[i]];
            largest = size > largest ? size : largest;
            ++*out;
        }
    *out -= largest;
    free(sizes);
    return SIS_OK;
}

static int try_eps(const sis_points *points, sis_cluster_opt opt, double eps, size_t *beside) {
    sis_clusters c;
    opt.eps = eps;
    int error = sis_cluster(points, &opt, &c);
    if (error != SIS_OK)
        return error;
    error = count_beside(&c, beside);
    sis_clusters_release(&c);
    return error;
}

/* The value at or below the knee with the most points in clusters other than the largest; the knee
 * if no value has any. */
static int separate_clusters(const sis_points *points, const sis_kdistances *k,
                             sis_cluster_opt *opt) {
    size_t max = 0, left = k->n - k->knee, beside;
    double last = NAN, best = k->values[k->knee];
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < TRIES; i++) {
        double value = k->values[k->knee + i * left / TRIES];
        if (value == last || value == 0)
            continue;
        last = value;
        error = try_eps(points, *opt, value, &beside);
        if (error == SIS_OK && beside > max) {
            max = beside;
            best = value;
        }
    }
    opt->eps = best;
    return error;
}

static int keep_curve(const sis_clusterer *c, const sis_kdistances *k, sis_clustering *out) {
    double *curve = (double *)sis__held_room(c->held, k->n, sizeof *curve);
    if (!curve)
        return SIS_E_NOMEM;
    memcpy(curve, k->values, k->n * sizeof *curve);
    out->curve = curve;
    out->n_curve = k->n;
    return SIS_OK;
}

int sis__clustering_eps(const sis_clusterer *c, sis_cluster_opt *opt, sis_clustering *out) {
    int found = isnan(c->opt.eps);
    sis_kdistances k;
    opt->eps = c->opt.eps;
    if (c->n > LOOKS_MAX / opt->sample)
        opt->sample = LOOKS_MAX / c->n > SAMPLE_MIN ? LOOKS_MAX / c->n : SAMPLE_MIN;
    if (!found && !c->opt.curve)
        return SIS_OK;
    int error = sis_kdistances_find(c->points, opt, &k);
    if (error == SIS_E_ARGUMENT && found && c->opt.identical && !c->opt.curve) {
        opt->eps = 0;
        out->no_eps = sis__held_text(c->held, sis_error_detail());
        return out->no_eps ? SIS_OK : SIS_E_NOMEM;
    }
    if (error != SIS_OK)
        return sis__fail(error, "--%s: %s; %s", found ? "eps auto" : "curve", sis_error_detail(),
                         found ? "give a number, or a smaller --min-size" : "leave out --curve");
    if (c->opt.curve)
        error = keep_curve(c, &k, out);
    if (found)
        opt->eps = k.values[k.knee];
    if (error == SIS_OK && found && sis__is_energy(sis_points_distance_kind(c->points)))
        error = separate_clusters(c->points, &k, opt);
    out->found_eps = found;
    sis_kdistances_release(&k);
    return error;
}
