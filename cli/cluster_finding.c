/* SPDX-License-Identifier: MIT
 *
 * Clusters as a finding, which the library writes.
 */
#include <stdlib.h>

#include "cluster.h"
#include "task.h"

static sis_member member_of(const cli_subsets *s, size_t item, int with_source) {
    const cli_subset *subset = &s->items[item];
    return (sis_member){
        .id = s->origins[subset->record].id,
        .subset = subset->subset,
        .source = with_source ? cli_source_name(s, cli_source_of(s, item)) : NULL,
    };
}

/* All members, cluster after cluster and then the noise. */
static int find_members(const cli_cluster_page *p, cli_cluster_found *f) {
    size_t n = p->members->start[p->members->n_clusters + 1];
    if (!(f->members = cli_grab(n, sizeof *f->members)))
        return CLI_FAILED;
    for (size_t k = 0; k < n; k++)
        f->members[k] = member_of(p->subsets, p->members->items[k], 1);
    return CLI_DONE;
}

/* The patterns of a cluster, behind those of the clusters before it. */
static int find_patterns(const cli_cluster_page *p, size_t cluster, cli_cluster_found *f) {
    size_t found;
    cli_pattern *top = cli_patterns_find(p, cluster, &found);
    sis_pattern *all = top ? realloc(f->patterns, (f->n_patterns + found + 1) * sizeof *all) : NULL;
    for (size_t k = 0; all && k < found; k++)
        all[f->n_patterns + k] = (sis_pattern){top[k].text, top[k].count};
    f->patterns = all ? all : f->patterns;
    f->n_patterns += all ? found : 0;
    f->clusters[cluster].n_patterns = found;
    int status = all ? CLI_DONE : top ? cli_error("out of memory") : CLI_FAILED;
    free(top);
    return status;
}

static void find_shares(const cli_cluster_page *p, size_t cluster, sis_share *shares, size_t n) {
    const cli_members *m = p->members;
    size_t from = m->start[cluster], to = m->start[cluster + 1];
    for (size_t source = 0; source < n; source++)
        shares[source] = (sis_share){cli_source_name(p->subsets, source), 0};
    for (size_t k = from; k < to; k++)
        shares[cli_source_of(p->subsets, m->items[k])].share++;
    for (size_t source = 0; source < n; source++)
        shares[source].share /= (double)(to - from);
}

static int find_cluster(const cli_cluster_page *p, size_t k, cli_cluster_found *f) {
    const cli_members *m = p->members;
    size_t sources = cli_source_count(p->subsets);
    sis_found_cluster *c = &f->clusters[k];
    *c = (sis_found_cluster){.number = k + 1,
                             .size = m->start[k + 1] - m->start[k],
                             .n_members = m->start[k + 1] - m->start[k],
                             .members = f->members + m->start[k],
                             .medoid = member_of(p->subsets, p->clusters->medoids[k], 0),
                             .n_shares = sources,
                             .shares = f->shares + k * sources};
    for (size_t i = m->start[k]; i < m->start[k + 1]; i++)
        c->core += p->clusters->core[m->items[i]];
    find_shares(p, k, f->shares + k * sources, sources);
    return find_patterns(p, k, f);
}

int cli_cluster_find(const cli_cluster_page *p, cli_cluster_found *f) {
    const cli_members *m = p->members;
    size_t n = m->n_clusters, at = 0;
    *f = (cli_cluster_found){0};
    int status = find_members(p, f);
    f->clusters = cli_grab(n, sizeof *f->clusters);
    f->shares = cli_grab(n, cli_source_count(p->subsets) * sizeof *f->shares);
    if (!f->clusters || !f->shares)
        status = CLI_FAILED;
    for (size_t k = 0; k < n && status == CLI_DONE; k++)
        status = find_cluster(p, k, f);
    for (size_t k = 0; k < n && status == CLI_DONE; k++) { /* now they stay where they are */
        f->clusters[k].patterns = f->patterns + at;
        at += f->clusters[k].n_patterns;
    }
    if (status == CLI_DONE)
        f->finding = (sis_clustering){.distance = p->distance,
                                      .eps = p->eps,
                                      .min_size = p->min_size,
                                      .n = p->clusters->n,
                                      .n_clusters = n,
                                      .clusters = f->clusters,
                                      .n_noise = m->start[n + 1] - m->start[n],
                                      .noise = f->members + m->start[n]};
    return status;
}

void cli_cluster_found_release(cli_cluster_found *f) {
    free(f->members);
    free(f->clusters);
    free(f->shares);
    free(f->patterns);
}
