/* SPDX-License-Identifier: MIT
 *
 * --eps: a number, or auto, which looks at the k-distance curve (sis_kdistances_find).
 *
 * For sets and strings auto is the knee of the curve. Distances between pictures have no such
 * steps: what is written alike forms chains, along which everything is one cluster long before the
 * knee. Of the values of the curve from the knee down, auto then takes the one with which the most
 * subsets are in clusters beside the largest: fewer of them are if clusters run into each other,
 * and fewer if they fall apart into noise.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "output.h"
#include "task.h"

/* Distances that auto may look at, and subsets that it must; values of the curve it tries. */
enum { LOOKS_MOST = 200000000, LEAST_SAMPLE = 100, TRIES = 16 };

static int write_curve(const char *path, const sis_kdistances *k) {
    cli_output out = {0};
    int status = cli_output_open(&out, path);
    if (status == CLI_DONE)
        fputs("rank\tdistance\n", out.file);
    for (size_t i = 0; status == CLI_DONE && i < k->n; i++)
        fprintf(out.file, "%zu\t%.9g\n", i + 1, k->values[i]);
    return cli_output_close(&out, status);
}

/* How many points are in clusters beside the largest. */
static int count_beside(const sis_clusters *c, size_t *out) {
    size_t *sizes = cli_grab(c->n_clusters, sizeof *sizes), largest = 0;
    *out = 0;
    if (!sizes)
        return CLI_FAILED;
    for (size_t i = 0; i < c->n; i++)
        if (c->labels[i] >= 0) {
            size_t size = ++sizes[c->labels[i]];
            largest = size > largest ? size : largest;
            ++*out;
        }
    *out -= largest;
    free(sizes);
    return CLI_DONE;
}

/* The same with that eps. */
static int try_eps(const cli_subsets *s, const sis_cluster_opt *opt, double eps, size_t *beside) {
    sis_cluster_opt one = *opt;
    sis_clusters c;
    one.eps = eps;
    int status = cli_fail(sis_cluster(s->points, &one, &c));
    if (status != CLI_DONE)
        return status;
    status = count_beside(&c, beside);
    sis_clusters_release(&c);
    return status;
}

/* The value from the knee down with the most points in clusters beside the largest; the knee if
 * there are none with any. */
static int part_clusters(const cli_subsets *s, const sis_cluster_opt *opt, const sis_kdistances *k,
                         double *eps) {
    size_t most = 0, left = k->n - k->knee, beside;
    double last = NAN;
    int status = CLI_DONE;
    *eps = k->values[k->knee];
    for (size_t i = 0; status == CLI_DONE && i < TRIES; i++) {
        double value = k->values[k->knee + i * left / TRIES];
        if (value == last || value == 0)
            continue;
        last = value;
        status = try_eps(s, opt, value, &beside);
        if (status == CLI_DONE && beside > most) {
            most = beside;
            *eps = value;
        }
    }
    return status;
}

static int is_energy(const cli_subsets *s) {
    sis_distance d = sis_points_distance_kind(s->points);
    return d == SIS_DISTANCE_ENERGY || d == SIS_DISTANCE_ENERGY_SQRT;
}

static int find_eps(const cli_subsets *s, const cli_clustering *c, const sis_cluster_opt *opt,
                    double *eps) {
    sis_kdistances k;
    int automatic = strcmp(c->eps, "auto") == 0;
    if (!automatic && (!cli_number(c->eps, eps) || *eps < 0))
        return cli_usage("--eps: expected a number from 0 up or auto, found \"%s\"", c->eps);
    if (!automatic && !c->curve)
        return CLI_DONE;
    int error = sis_kdistances_find(s->points, opt, &k);
    if (error == SIS_E_ARGUMENT && automatic && c->optional && !c->curve) {
        *eps = NAN;
        return CLI_DONE;
    }
    if (error)
        return cli_error("--%s: %s; %s", automatic ? "eps auto" : "curve", sis_error_detail(),
                         automatic ? "give a number, or a smaller --min-size"
                                   : "leave out --curve");
    int status = c->curve ? write_curve(c->curve, &k) : CLI_DONE;
    if (automatic)
        *eps = k.values[k.knee];
    if (status == CLI_DONE && automatic && is_energy(s))
        status = part_clusters(s, opt, &k, eps);
    sis_kdistances_release(&k);
    return status;
}

int cli_cluster_subsets(const cli_subsets *s, const cli_clustering *c, double *eps,
                        sis_clusters *out) {
    sis_cluster_opt opt;
    *out = (sis_clusters){0};
    sis_cluster_opt_init(&opt);
    opt.min_size = c->min_size;
    opt.jobs = (int)c->jobs;
    if (s->n > LOOKS_MOST / opt.sample)
        opt.sample = LOOKS_MOST / s->n > LEAST_SAMPLE ? LOOKS_MOST / s->n : LEAST_SAMPLE;
    *eps = 0;
    int status = find_eps(s, c, &opt, eps);
    opt.eps = isnan(*eps) ? 0 : *eps;
    return status == CLI_DONE ? cli_fail(sis_cluster(s->points, &opt, out)) : status;
}
