/* SPDX-License-Identifier: MIT
 *
 * Clusters come in, as JSON in the format of sis cluster. Members are found among the examples by id
 * and by the file they are from: the same path, or the same name in another folder. Those that are
 * not there, and subsets that an example does not have, are counted in the cluster's size only.
 *
 * Costs a sort of the examples by id, then a binary search a member.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "report/report.h"

/* What is read, and the first thing that was wrong. */
typedef struct {
    const sis_report *report;
    const size_t *by_id; /* (report->n) examples sorted by id */
    const char *name;
    int code;
} reader;

static const char *example_id(const sis_report *report, size_t i) {
    return report->examples[i].record.id;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static void wrong(reader *in, const char *field, const char *expected) {
    if (in->code == SIS_OK)
        in->code =
            sis__fail(SIS_E_FORMAT, "%s: field \"%s\": expected %s", in->name, field, expected);
}

static size_t take_count(reader *in, const json_t *object, const char *field) {
    const json_t *v = json_object_get(object, field);
    if (!v)
        return 0;
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        wrong(in, field, "a count");
    return json_is_integer(v) && json_integer_value(v) > 0 ? (size_t)json_integer_value(v) : 0;
}

static double take_number(reader *in, const json_t *object, const char *field) {
    const json_t *v = json_object_get(object, field);
    if (v && !json_is_number(v))
        wrong(in, field, "a number");
    return v ? json_number_value(v) : NAN;
}

/* A list; NULL, with a message unless it may be absent, if there is none. */
static const json_t *take_list(reader *in, const json_t *object, const char *field, int required) {
    const json_t *v = json_object_get(object, field);
    if ((v || required) && !json_is_array(v))
        wrong(in, field, "a list");
    return json_is_array(v) ? v : NULL;
}

static char *take_text(reader *in, const json_t *v) {
    const char *text = json_string_value(v);
    char *copy = in->code == SIS_OK ? sis__strdup(text ? text : "") : NULL;
    if (!copy && in->code == SIS_OK)
        in->code = SIS_E_NOMEM;
    return copy;
}

static void *take_room(reader *in, size_t n, size_t size) {
    void *room = in->code == SIS_OK ? sis__alloc(n, size) : NULL;
    if (!room && in->code == SIS_OK)
        in->code = SIS_E_NOMEM;
    return room;
}

/* ---- Members --------------------------------------------------------------------------------- */

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* 2: the same path, or none was given; 1: the same name; 0: another file. */
static int same_source(const char *found, const char *wanted) {
    if (!wanted || strcmp(found, wanted) == 0)
        return 2;
    return strcmp(base_name(found), base_name(wanted)) == 0;
}

static size_t find_example(const reader *in, const char *id, const char *source) {
    const sis_report *report = in->report;
    size_t low = 0, high = report->n, best = SIZE_MAX;
    int best_match = 0;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (strcmp(example_id(report, in->by_id[middle]), id) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < report->n && strcmp(example_id(report, in->by_id[low]), id) == 0; low++) {
        size_t i = in->by_id[low];
        int match = same_source(report->runs[report->examples[i].run].source, source);
        if (match > best_match) {
            best_match = match;
            best = i;
        }
    }
    return best;
}

static sis__member take_member(reader *in, const json_t *object) {
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *source = json_string_value(json_object_get(object, "source"));
    size_t subset = take_count(in, object, "subset");
    if (!id) {
        wrong(in, "members", "objects with an id");
        return (sis__member){SIZE_MAX, 0};
    }
    size_t i = find_example(in, id, source);
    if (i == SIZE_MAX || subset >= in->report->examples[i].record.collection.n_subsets)
        return (sis__member){SIZE_MAX, 0};
    return (sis__member){i, subset};
}

/* The members of the list that are among the examples. */
static void take_members(reader *in, const json_t *list, sis__cluster *c) {
    size_t n = json_array_size(list);
    c->members = (sis__member *)take_room(in, n, sizeof *c->members);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++) {
        sis__member m = take_member(in, json_array_get(list, i));
        if (m.example != SIZE_MAX)
            c->members[c->n_members++] = m;
    }
}

/* ---- One cluster ----------------------------------------------------------------------------- */

static void take_patterns(reader *in, const json_t *object, sis__cluster *c) {
    const json_t *list = take_list(in, object, "top", 0);
    size_t n = json_array_size(list);
    c->patterns = (sis__pattern *)take_room(in, n, sizeof *c->patterns);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++) {
        const json_t *top = json_array_get(list, i);
        sis__pattern *p = &c->patterns[c->n_patterns];
        p->count = take_count(in, top, "count");
        p->text = take_text(in, json_object_get(top, "pattern"));
        c->n_patterns += p->text != NULL;
    }
}

static void take_shares(reader *in, const json_t *object, sis__cluster *c) {
    json_t *share = json_object_get(object, "share"), *value;
    const char *source;
    size_t n = json_object_size(share);
    c->sources = (char **)take_room(in, n, sizeof *c->sources);
    c->shares = (double *)take_room(in, n, sizeof *c->shares);
    json_object_foreach(share, source, value) {
        char *copy = in->code == SIS_OK ? sis__strdup(source) : NULL;
        if (!copy) {
            in->code = in->code == SIS_OK ? SIS_E_NOMEM : in->code;
            return;
        }
        c->sources[c->n_shares] = copy;
        c->shares[c->n_shares++] = json_number_value(value);
    }
}

static char *take_name(reader *in, const json_t *id) {
    char text[32];
    if (json_is_string(id))
        return take_text(in, id);
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(id));
    char *copy = in->code == SIS_OK ? sis__strdup(text) : NULL;
    if (!copy && in->code == SIS_OK)
        in->code = SIS_E_NOMEM;
    return copy;
}

static void take_cluster(reader *in, const json_t *object, sis__cluster *c) {
    const json_t *medoid = json_object_get(object, "medoid");
    if (!json_is_object(object))
        wrong(in, "clusters", "objects");
    c->name = take_name(in, json_object_get(object, "id"));
    c->size = take_count(in, object, "size");
    c->core = take_count(in, object, "core");
    take_members(in, take_list(in, object, "members", 1), c);
    c->medoid = medoid ? take_member(in, medoid) : (sis__member){SIZE_MAX, 0};
    take_patterns(in, object, c);
    take_shares(in, object, c);
}

/* What belongs to no cluster, as one more. */
static void take_noise(reader *in, const json_t *root, sis__clusters *set) {
    const json_t *list = take_list(in, root, "noise", 0);
    set->noise = json_array_size(list);
    if (set->noise == 0 || in->code != SIS_OK)
        return;
    sis__cluster *c = &set->clusters[set->n_clusters++];
    c->medoid = (sis__member){SIZE_MAX, 0};
    c->size = set->noise;
    c->name = sis__strdup("none");
    in->code = c->name ? SIS_OK : SIS_E_NOMEM;
    take_members(in, list, c);
}

static void take_set(reader *in, const json_t *root, sis__clusters *set) {
    const json_t *list = take_list(in, root, "clusters", 1);
    size_t n = json_array_size(list);
    set->name = in->code == SIS_OK ? sis__strdup(in->name) : NULL;
    if (in->code == SIS_OK && !set->name)
        in->code = SIS_E_NOMEM;
    set->distance = take_text(in, json_object_get(root, "distance"));
    set->eps = take_number(in, root, "eps");
    set->min_size = take_count(in, root, "min_size");
    set->n = take_count(in, root, "n");
    set->clusters = (sis__cluster *)take_room(in, n + 1, sizeof *set->clusters);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++)
        take_cluster(in, json_array_get(list, i), &set->clusters[set->n_clusters++]);
    take_noise(in, root, set);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int by_id(const void *a, const void *b, void *ctx) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = strcmp(example_id(ctx, x), example_id(ctx, y));
    return order ? order : (x > y) - (x < y);
}

static size_t *sort_examples(sis_report *report) {
    size_t *sorted = SIS_NEW_RAW(size_t, report->n);
    for (size_t i = 0; sorted && i < report->n; i++)
        sorted[i] = i;
    if (sorted)
        qsort_r(sorted, report->n, sizeof *sorted, by_id, report);
    return sorted;
}

int sis_report_add_clusters(sis_report *report, const char *name, const char *json, size_t n) {
    json_error_t error;
    sis__clusters set = {0};
    size_t *sorted = NULL;
    json_t *root =
        memchr(json, '\0', n) ? NULL : json_loadb(json, n, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return memchr(json, '\0', n)
                   ? sis__fail(SIS_E_FORMAT, "%s: not clusters: it holds a NUL byte", name)
                   : sis__fail(SIS_E_FORMAT, "%s, line %d: not clusters: %s", name, error.line,
                               error.text);
    reader in = {.report = report, .name = name};
    if (!json_is_object(root) || !json_object_get(root, "clusters"))
        in.code =
            sis__fail(SIS_E_FORMAT,
                      "%s: not clusters: expected the JSON object that sis cluster writes", name);
    if (in.code == SIS_OK && !(in.by_id = sorted = sort_examples(report)))
        in.code = SIS_E_NOMEM;
    if (in.code == SIS_OK)
        take_set(&in, root, &set);
    json_decref(root);
    free(sorted);
    sis__clusters *sets = NULL;
    if (in.code == SIS_OK) {
        sets = (sis__clusters *)sis__realloc(report->sets, report->n_sets + 1, sizeof *sets);
        in.code = sets ? SIS_OK : SIS_E_NOMEM;
    }
    if (in.code != SIS_OK) {
        sis__clusters_release(&set);
        return in.code;
    }
    report->sets = sets;
    report->sets[report->n_sets++] = set;
    return SIS_OK;
}

static void release_cluster(sis__cluster *c) {
    for (size_t i = 0; i < c->n_patterns; i++)
        free(c->patterns[i].text);
    for (size_t i = 0; i < c->n_shares; i++)
        free(c->sources[i]);
    free(c->name);
    free(c->members);
    free(c->patterns);
    free(c->sources);
    free(c->shares);
}

void sis__clusters_release(sis__clusters *c) {
    for (size_t i = 0; i < c->n_clusters; i++)
        release_cluster(&c->clusters[i]);
    free(c->clusters);
    free(c->distance);
    free(c->name);
    *c = (sis__clusters){0};
}
