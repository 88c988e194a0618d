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

/* Motifs like the cluster's matrix, each on the strand that is meant. */
static int find_matches(const cli_cluster_page *p, cli_cluster_found *f) {
    const cli_matrices *x = p->matrices;
    size_t n = 0, numbers = 0, at = 0;
    for (size_t k = 0; k < x->n; k++)
        for (long i = 0; i < x->n_matches[k]; i++, n++)
            numbers += 4 * x->motifs.items[x->matches[k][i].motif].length;
    f->matches = cli_grab(n + 1, sizeof *f->matches);
    f->match_numbers = cli_grab(numbers + 1, sizeof *f->match_numbers);
    if (!f->matches || !f->match_numbers)
        return CLI_FAILED;
    n = 0;
    for (size_t k = 0; k < x->n; k++) {
        f->clusters[k].matches = x->motifs.n ? f->matches + n : NULL;
        f->clusters[k].n_matches = (size_t)x->n_matches[k];
        for (long i = 0; i < x->n_matches[k]; i++) {
            const sis_motif_match *m = &x->matches[k][i];
            const sis_motif *motif = &x->motifs.items[m->motif];
            size_t cells = 4 * motif->length;
            for (size_t c = 0; c < cells; c++) /* backwards it is the other strand */
                f->match_numbers[at + c] = motif->probabilities[m->reverse ? cells - 1 - c : c];
            f->matches[n++] = (sis_found_match){.id = motif->id,
                                                .name = motif->name,
                                                .divergence = m->divergence,
                                                .p = m->p,
                                                .q = m->q,
                                                .offset = (double)m->offset,
                                                .reverse = m->reverse,
                                                .n_matrix = cells,
                                                .matrix = f->match_numbers + at};
            at += cells;
        }
    }
    return CLI_DONE;
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
    if (p->matrices) {
        c->matrix = p->matrices->items[k].counts;
        c->n_matrix = 4 * p->matrices->items[k].length;
    }
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
    if (status == CLI_DONE && p->matrices)
        status = find_matches(p, f);
    if (status == CLI_DONE)
        f->finding = (sis_clustering){.distance = p->distance,
                                      .strands = !p->matrices        ? NULL
                                                 : p->matrices->both ? "both"
                                                                     : "forward",
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
    free(f->matches);
    free(f->match_numbers);
}
