/* SPDX-License-Identifier: MIT
 *
 * Clusters as one JSON object, one line per cluster. See sis/analysis.h.
 */
#include "analysis/clustering.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"

static void pass_member(sis__fields *f, void *item) {
    sis_member *m = item;
    sis__field_text(f, "id", &m->id, SIS__REQUIRED);
    sis__field_count(f, "subset", &m->subset, 0);
    sis__field_text(f, "source", &m->source, 0);
}

static void pass_pattern(sis__fields *f, void *item) {
    sis_pattern *p = item;
    sis__field_text(f, "pattern", &p->text, SIS__EMPTY);
    sis__field_count(f, "count", &p->count, 0);
}

/* Four nonnegative numbers per position. */
static void pass_matrix(sis__fields *f, const double **matrix, size_t *n) {
    sis__field_numbers(f, "matrix", matrix, n, NULL);
    for (size_t i = 0; sis__reading(f) && *matrix && i < *n && f->code == SIS_OK; i++)
        if (!((*matrix)[i] >= 0) || *n % 4 != 0)
            f->code = sis__fail(SIS_E_FORMAT,
                                "field \"%smatrix\": expected four numbers >= 0 for each "
                                "position",
                                f->prefix);
}

static void pass_match(sis__fields *f, void *item) {
    sis_found_match *m = item;
    sis__field_text(f, "id", &m->id, SIS__EMPTY);
    sis__field_text(f, "name", &m->name, SIS__EMPTY);
    sis__field_number(f, "divergence", &m->divergence, 0);
    sis__field_number(f, "p", &m->p, 0);
    sis__field_number(f, "q", &m->q, 0);
    sis__field_number(f, "offset", &m->offset, 0);
    sis__field_flag(f, "reverse", &m->reverse, 0);
    pass_matrix(f, &m->matrix, &m->n_matrix);
}

/* Names of sources with numbers. */
static void pass_shares(sis__fields *f, void *item) {
    sis_found_cluster *c = item;
    json_t *object = (json_t *)(uintptr_t)f->object, *value;
    const char *source;
    for (size_t i = 0; f->out && i < c->n_shares; i++)
        sis__json_number(f->out, c->shares[i].source, c->shares[i].share);
    if (!object)
        return;
    sis_share *shares = sis__held_room(f->held, json_object_size(object), sizeof *shares);
    f->code = shares ? SIS_OK : SIS_E_NOMEM;
    c->shares = shares;
    json_object_foreach(object, source, value) {
        if (!shares || f->code != SIS_OK)
            break;
        shares[c->n_shares].source = source;
        sis__field_number(f, source, &shares[c->n_shares++].share, SIS__REQUIRED);
    }
}

static void pass_cluster(sis__fields *f, void *item) {
    static const sis__entry member = {sizeof(sis_member), pass_member, 0};
    static const sis__entry pattern = {sizeof(sis_pattern), pass_pattern, 0};
    static const sis__entry match = {sizeof(sis_found_match), pass_match, 0};
    sis_found_cluster *c = item;
    sis__field_count(f, "id", &c->number, 0);
    sis__field_count(f, "size", &c->size, 0);
    sis__field_count(f, "core", &c->core, 0);
    sis__field_find(f, "members", SIS__REQUIRED);
    sis__field_entries(f, "members", &c->members, &c->n_members, &member);
    sis__field_entries(f, "top", &c->patterns, &c->n_patterns, &pattern);
    if (sis__field_there(f, "medoid", c->medoid.id != NULL))
        sis__field_object(f, "medoid", &c->medoid, pass_member);
    sis__field_object(f, "share", c, pass_shares);
    pass_matrix(f, &c->matrix, &c->n_matrix);
    if (!f->out || c->matches)
        sis__field_entries(f, "matches", &c->matches, &c->n_matches, &match);
}

void sis__clustering_pass(sis__fields *f, void *item) {
    static const sis__entry cluster = {sizeof(sis_found_cluster), pass_cluster, .lines = 1};
    static const sis__entry member = {sizeof(sis_member), pass_member, 0};
    sis_clustering *c = item;
    sis__field_text(f, "distance", &c->distance, 0);
    sis__field_text(f, "strands", &c->strands, 0);
    sis__field_flag(f, "counts", &c->counts, SIS__KNOWN);
    sis__field_number(f, "eps", &c->eps, 0);
    sis__field_count(f, "min_size", &c->min_size, 0);
    sis__field_count(f, "n", &c->n, 0);
    sis__field_find(f, "clusters", SIS__REQUIRED);
    sis__field_entries(f, "clusters", &c->clusters, &c->n_clusters, &cluster);
    sis__field_entries(f, "noise", &c->noise, &c->n_noise, &member);
}

static const sis__finding kind = {.what = "clusters",
                                  .writer = "sis cluster",
                                  .field = "clusters",
                                  .size = sizeof(sis_clustering),
                                  .held = offsetof(sis_clustering, held),
                                  .pass = sis__clustering_pass};

int sis_clustering_format(const sis_clustering *c, char **text, size_t *n) {
    return sis__finding_format(&kind, c, text, n);
}

int sis_clustering_parse(const char *text, size_t n, sis_clustering *out) {
    return sis__finding_parse(&kind, text, n, out);
}

void sis_clustering_release(sis_clustering *c) {
    sis__held_free(c->held);
    *c = (sis_clustering){0};
}
