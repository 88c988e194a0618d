/* SPDX-License-Identifier: MIT
 *
 * Medoids by all pairs within a cluster. Because of the quadratic cost, only the MOST most frequent
 * distinct members of large clusters are used.
 */
#include "analysis/space.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/parallel.h"
#include "base/platform.h"

enum { MAX = 256 };

typedef struct {
    const sis__space *s;
    void **scratches;
    uint32_t *members; /* distinct points by cluster, most frequent first */
    size_t *start;     /* (n_clusters + 1) */
    size_t *medoids;
} finder;

typedef struct {
    const sis__space *s;
    const int *labels;
} order;

static int by_cluster(const void *a, const void *b, void *ctx) {
    const order *o = (const order *)ctx;
    uint32_t u = *(const uint32_t *)a, v = *(const uint32_t *)b;
    if (o->labels[u] != o->labels[v])
        return o->labels[u] < o->labels[v] ? -1 : 1;
    if (o->s->weight[u] != o->s->weight[v])
        return o->s->weight[u] > o->s->weight[v] ? -1 : 1;
    return o->s->first[u] < o->s->first[v] ? -1 : 1;
}

/* Members of clusters, without noise. */
static int list_members(finder *f, const int *labels, size_t n_clusters) {
    const sis__space *s = f->s;
    size_t n = 0;
    f->members = SIS_NEW(uint32_t, s->n);
    f->start = SIS_NEW(size_t, n_clusters + 1);
    if (!f->members || !f->start)
        return SIS_E_NOMEM;
    for (size_t u = 0; u < s->n; u++)
        if (labels[u] >= 0) {
            f->members[n++] = (uint32_t)u;
            f->start[labels[u] + 1]++;
        }
    for (size_t c = 0; c < n_clusters; c++)
        f->start[c + 1] += f->start[c];
    order o = {s, labels};
    sis__sort(f->members, n, sizeof *f->members, by_cluster, &o);
    return SIS_OK;
}

static int find_medoid(void *ctx, size_t cluster, int worker) {
    finder *f = (finder *)ctx;
    const sis__space *s = f->s;
    const uint32_t *members = f->members + f->start[cluster];
    size_t n = f->start[cluster + 1] - f->start[cluster];
    double d[MAX], best = INFINITY;
    n = n < MAX ? n : MAX;
    for (size_t k = 0; k < n; k++) {
        double sum = 0;
        int code = s->metric->distances(s, f->scratches[worker], members[k], members, n, d);
        if (code != SIS_OK)
            return code;
        for (size_t j = 0; j < n; j++)
            sum += (double)s->weight[members[j]] * d[j];
        size_t first = s->first[members[k]];
        if (sum < best || (sum == best && first < f->medoids[cluster])) {
            best = sum;
            f->medoids[cluster] = first;
        }
    }
    return SIS_OK;
}

int sis__medoids_find(const sis__space *s, const int *labels, int jobs, sis_clusters *out) {
    finder f = {.s = s};
    out->medoids = f.medoids = SIS_NEW(size_t, out->n_clusters);
    f.scratches = sis__scratches_new(s, jobs);
    int code = f.medoids && f.scratches ? list_members(&f, labels, out->n_clusters) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = sis__parallel(jobs, out->n_clusters, find_medoid, &f);
    sis__scratches_free(s, f.scratches, jobs);
    free(f.members);
    free(f.start);
    return code;
}
