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

/* ---- Writing ------------------------------------------------------------------------------- */

static void put_member(sis__buf *b, const sis_member *m) {
    sis__buf_char(b, '{');
    sis__json_text(b, "id", m->id);
    sis__json_count(b, "subset", m->subset);
    sis__json_text(b, "source", m->source);
    sis__buf_char(b, '}');
}

static void put_members(sis__buf *b, const char *name, const sis_member *members, size_t n) {
    sis__json_list(b, name);
    for (size_t i = 0; i < n; i++) {
        sis__json_comma(b, i);
        put_member(b, &members[i]);
    }
    sis__buf_char(b, ']');
}

static void put_patterns(sis__buf *b, const sis_found_cluster *c) {
    sis__json_list(b, "top");
    for (size_t i = 0; i < c->n_patterns; i++) {
        sis__json_comma(b, i);
        sis__buf_char(b, '{');
        sis__json_text(b, "pattern", c->patterns[i].text);
        sis__json_count(b, "count", c->patterns[i].count);
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, ']');
}

static void put_matches(sis__buf *b, const sis_found_cluster *c) {
    sis__json_list(b, "matches");
    for (size_t i = 0; i < c->n_matches; i++) {
        const sis_found_match *m = &c->matches[i];
        sis__json_comma(b, i);
        sis__buf_char(b, '{');
        sis__json_text(b, "id", m->id);
        sis__json_text(b, "name", m->name);
        sis__json_number(b, "divergence", m->divergence);
        sis__json_number(b, "p", m->p);
        sis__json_number(b, "q", m->q);
        sis__json_number(b, "offset", m->offset);
        sis__json_flag(b, "reverse", m->reverse);
        sis__json_numbers(b, "matrix", m->matrix, m->n_matrix);
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, ']');
}

static void put_cluster(sis__buf *b, const sis_found_cluster *c) {
    sis__buf_char(b, '{');
    sis__json_count(b, "id", c->number);
    sis__json_count(b, "size", c->size);
    sis__json_count(b, "core", c->core);
    put_members(b, "members", c->members, c->n_members);
    put_patterns(b, c);
    if (c->medoid.id) {
        sis__json_name(b, "medoid");
        put_member(b, &c->medoid);
    }
    sis__json_object(b, "share");
    for (size_t i = 0; i < c->n_shares; i++)
        sis__json_number(b, c->shares[i].source, c->shares[i].share);
    sis__buf_char(b, '}');
    sis__json_numbers(b, "matrix", c->matrix, c->n_matrix);
    if (c->matches)
        put_matches(b, c);
    sis__buf_char(b, '}');
}

void sis__clustering_put(sis__buf *b, const sis_clustering *c) {
    sis__buf_char(b, '{');
    sis__json_text(b, "distance", c->distance);
    sis__json_text(b, "strands", c->strands);
    if (c->counts)
        sis__json_flag(b, "counts", 1);
    sis__json_number(b, "eps", c->eps);
    sis__json_count(b, "min_size", c->min_size);
    sis__json_count(b, "n", c->n);
    sis__json_list(b, "clusters");
    for (size_t i = 0; i < c->n_clusters; i++) {
        sis__buf_str(b, i ? ",\n" : "\n");
        put_cluster(b, &c->clusters[i]);
    }
    sis__buf_char(b, ']');
    put_members(b, "noise", c->noise, c->n_noise);
    sis__buf_char(b, '}');
}

int sis_clustering_format(const sis_clustering *c, char **text, size_t *n) {
    sis__buf b;
    sis__buf_init(&b);
    sis__clustering_put(&b, c);
    sis__buf_char(&b, '\n');
    return sis__buf_give(&b, text, n);
}

/* ---- Reading ------------------------------------------------------------------------------- */

static void take_member(sis__fields *f, sis_member *m) {
    m->id = sis__take_text(f, "id", SIS__REQUIRED);
    sis__take_count(f, "subset", SIS__OPTIONAL, &m->subset);
    m->source = sis__take_text(f, "source", SIS__OPTIONAL);
}

static const sis_member *take_members(sis__fields *f, const char *name, int required, size_t *n) {
    const json_t *list = sis__find_list(f, name, required, n);
    sis_member *members = (sis_member *)sis__fields_room(f, list, *n, sizeof *members);
    for (size_t i = 0; members && i < *n && f->code == SIS_OK; i++) {
        sis__fields item = sis__enter_item(f, name, list, i);
        take_member(&item, &members[i]);
        sis__leave(f, &item);
    }
    return members;
}

static void take_patterns(sis__fields *f, sis_found_cluster *c) {
    const json_t *list = sis__find_list(f, "top", SIS__OPTIONAL, &c->n_patterns);
    sis_pattern *patterns =
        (sis_pattern *)sis__fields_room(f, list, c->n_patterns, sizeof *patterns);
    for (size_t i = 0; patterns && i < c->n_patterns && f->code == SIS_OK; i++) {
        sis__fields item = sis__enter_item(f, "top", list, i);
        patterns[i].text = sis__take_text_or(&item, "pattern", "");
        sis__take_count(&item, "count", SIS__OPTIONAL, &patterns[i].count);
        sis__leave(f, &item);
    }
    c->patterns = patterns;
}

static void take_shares(sis__fields *f, sis_found_cluster *c) {
    sis__fields inner = sis__enter(f, "share", SIS__OPTIONAL);
    json_t *object = (json_t *)(uintptr_t)inner.object, *value;
    const char *source;
    size_t n = json_object_size(object);
    sis_share *shares = (sis_share *)sis__fields_room(&inner, object, n, sizeof *shares);
    c->shares = shares;
    if (shares && inner.code == SIS_OK) {
        json_object_foreach(object, source, value) {
            sis_share *s = &shares[c->n_shares++];
            *s = (sis_share){source, NAN};
            sis__take_number(&inner, source, SIS__REQUIRED, &s->share);
        }
    }
    sis__leave(f, &inner);
}

/* Four nonnegative numbers per position. */
static const double *take_matrix(sis__fields *f, size_t *n) {
    const double *v = sis__take_numbers(f, "matrix", n);
    for (size_t i = 0; v && i < *n && f->code == SIS_OK; i++)
        if (!(v[i] >= 0) || *n % 4 != 0)
            f->code = sis__fail(SIS_E_FORMAT,
                                "field \"%smatrix\": expected four numbers >= 0 for each "
                                "position",
                                f->prefix);
    return v;
}

static void take_matches(sis__fields *f, sis_found_cluster *c) {
    const json_t *list = sis__find_list(f, "matches", SIS__OPTIONAL, &c->n_matches);
    sis_found_match *matches =
        (sis_found_match *)sis__fields_room(f, list, c->n_matches, sizeof *matches);
    for (size_t i = 0; matches && i < c->n_matches && f->code == SIS_OK; i++) {
        sis__fields item = sis__enter_item(f, "matches", list, i);
        sis_found_match *m = &matches[i];
        m->p = m->q = m->divergence = NAN;
        m->id = sis__take_text_or(&item, "id", "");
        m->name = sis__take_text_or(&item, "name", m->id);
        sis__take_number(&item, "divergence", SIS__OPTIONAL, &m->divergence);
        sis__take_number(&item, "p", SIS__OPTIONAL, &m->p);
        sis__take_number(&item, "q", SIS__OPTIONAL, &m->q);
        sis__take_number(&item, "offset", SIS__OPTIONAL, &m->offset);
        sis__take_flag(&item, "reverse", &m->reverse);
        m->matrix = take_matrix(&item, &m->n_matrix);
        sis__leave(f, &item);
    }
    c->matches = matches;
}

static void take_cluster(sis__fields *f, sis_found_cluster *c) {
    sis__take_count(f, "id", SIS__OPTIONAL, &c->number);
    sis__take_count(f, "size", SIS__OPTIONAL, &c->size);
    sis__take_count(f, "core", SIS__OPTIONAL, &c->core);
    c->members = take_members(f, "members", SIS__REQUIRED, &c->n_members);
    if (sis__find_field(f, "medoid", SIS__OPTIONAL)) {
        sis__fields medoid = sis__enter(f, "medoid", SIS__REQUIRED);
        take_member(&medoid, &c->medoid);
        sis__leave(f, &medoid);
    }
    take_patterns(f, c);
    take_shares(f, c);
    c->matrix = take_matrix(f, &c->n_matrix);
    take_matches(f, c);
}

void sis__clustering_take(sis__fields *f, sis_clustering *out) {
    const json_t *list = sis__find_list(f, "clusters", SIS__REQUIRED, &out->n_clusters);
    sis_found_cluster *clusters =
        (sis_found_cluster *)sis__fields_room(f, list, out->n_clusters, sizeof *clusters);
    out->eps = NAN;
    out->clusters = clusters;
    out->distance = sis__take_text(f, "distance", SIS__OPTIONAL);
    out->strands = sis__take_text(f, "strands", SIS__OPTIONAL);
    sis__take_flag(f, "counts", &out->counts);
    sis__take_number(f, "eps", SIS__OPTIONAL, &out->eps);
    sis__take_count(f, "min_size", SIS__OPTIONAL, &out->min_size);
    sis__take_count(f, "n", SIS__OPTIONAL, &out->n);
    for (size_t i = 0; clusters && i < out->n_clusters && f->code == SIS_OK; i++) {
        sis__fields item = sis__enter_item(f, "clusters", list, i);
        take_cluster(&item, &clusters[i]);
        sis__leave(f, &item);
    }
    out->noise = take_members(f, "noise", SIS__OPTIONAL, &out->n_noise);
}

int sis_clustering_parse(const char *text, size_t n, sis_clustering *out) {
    sis__fields f;
    sis_clustering c = {0};
    sis__finding_open(&f, text, n, "clusters", "sis cluster", "clusters");
    sis__clustering_take(&f, &c);
    int code = sis__finding_close(&f, &c.held);
    *out = code == SIS_OK ? c : (sis_clustering){0};
    return code;
}

void sis_clustering_release(sis_clustering *c) {
    sis__held_free(c->held);
    *c = (sis_clustering){0};
}
