/* SPDX-License-Identifier: MIT
 *
 * Clusters come in, as JSON in the format of sis cluster. Members are found among the examples by
 * id and by the file they are from: the same path, or the same name in another folder. Those that
 * are not there, and subsets that an example does not have, are counted in the cluster's size only.
 */
#include <stdint.h>
#include <stdlib.h>

#include "report/intake.h"

/* ---- Members --------------------------------------------------------------------------------- */

static sis__member take_member(sis__intake *in, const json_t *object) {
    const char *id = json_string_value(json_object_get(object, "id"));
    const char *source = json_string_value(json_object_get(object, "source"));
    size_t subset = sis__take_count(in, object, "subset");
    if (!id) {
        sis__intake_wrong(in, "members", "objects with an id");
        return (sis__member){SIZE_MAX, 0};
    }
    size_t i = sis__find_example(in, id, source);
    if (i == SIZE_MAX || subset >= in->report->examples[i].record.collection.n_subsets)
        return (sis__member){SIZE_MAX, 0};
    return (sis__member){i, subset};
}

/* The members of the list that are among the examples. */
static void take_members(sis__intake *in, const json_t *list, sis__cluster *c) {
    size_t n = json_array_size(list);
    c->members = (sis__member *)sis__take_room(in, n, sizeof *c->members);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++) {
        sis__member m = take_member(in, json_array_get(list, i));
        if (m.example != SIZE_MAX)
            c->members[c->n_members++] = m;
    }
}

/* ---- One cluster ----------------------------------------------------------------------------- */

static void take_patterns(sis__intake *in, const json_t *object, sis__cluster *c) {
    const json_t *list = sis__take_list(in, object, "top", 0);
    size_t n = json_array_size(list);
    c->patterns = (sis__pattern *)sis__take_room(in, n, sizeof *c->patterns);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++) {
        const json_t *top = json_array_get(list, i);
        sis__pattern *p = &c->patterns[c->n_patterns];
        p->count = sis__take_count(in, top, "count");
        p->text = sis__take_text(in, json_object_get(top, "pattern"));
        c->n_patterns += p->text != NULL;
    }
}

static void take_shares(sis__intake *in, const json_t *object, sis__cluster *c) {
    json_t *share = json_object_get(object, "share"), *value;
    const char *source;
    size_t n = json_object_size(share);
    c->sources = (char **)sis__take_room(in, n, sizeof *c->sources);
    c->shares = (double *)sis__take_room(in, n, sizeof *c->shares);
    json_object_foreach(share, source, value) {
        char *copy = sis__take_copy(in, source);
        if (!copy)
            return;
        c->sources[c->n_shares] = copy;
        c->shares[c->n_shares++] = json_number_value(value);
    }
}

static char *take_name(sis__intake *in, const json_t *id) {
    char text[32];
    if (json_is_string(id))
        return sis__take_text(in, id);
    snprintf(text, sizeof text, "%lld", (long long)json_integer_value(id));
    return sis__take_copy(in, text);
}

static void take_cluster(sis__intake *in, const json_t *object, sis__cluster *c) {
    const json_t *medoid = json_object_get(object, "medoid");
    if (!json_is_object(object))
        sis__intake_wrong(in, "clusters", "objects");
    c->name = take_name(in, json_object_get(object, "id"));
    c->size = sis__take_count(in, object, "size");
    take_members(in, sis__take_list(in, object, "members", 1), c);
    c->medoid = medoid ? take_member(in, medoid) : (sis__member){SIZE_MAX, 0};
    take_patterns(in, object, c);
    take_shares(in, object, c);
}

/* What belongs to no cluster, as one more. */
static void take_noise(sis__intake *in, const json_t *root, sis__clusters *set) {
    const json_t *list = sis__take_list(in, root, "noise", 0);
    set->noise = json_array_size(list);
    if (set->noise == 0 || in->code != SIS_OK)
        return;
    sis__cluster *c = &set->clusters[set->n_clusters++];
    c->medoid = (sis__member){SIZE_MAX, 0};
    c->size = set->noise;
    c->name = sis__take_copy(in, "none");
    take_members(in, list, c);
}

void sis__take_clusters(sis__intake *in, const json_t *root, sis__clusters *set) {
    const json_t *list = sis__take_list(in, root, "clusters", 1);
    size_t n = json_array_size(list);
    set->name = sis__take_copy(in, in->name);
    set->distance = sis__take_text(in, json_object_get(root, "distance"));
    set->eps = sis__take_number(in, root, "eps");
    set->n = sis__take_count(in, root, "n");
    set->clusters = (sis__cluster *)sis__take_room(in, n + 1, sizeof *set->clusters);
    for (size_t i = 0; i < n && in->code == SIS_OK; i++)
        take_cluster(in, json_array_get(list, i), &set->clusters[set->n_clusters++]);
    take_noise(in, root, set);
}

/* ---- All of them ----------------------------------------------------------------------------- */

static void take_set(sis__intake *in, void *item) {
    sis__take_clusters(in, in->root, (sis__clusters *)item);
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

static void release_set(void *item) {
    sis__clusters *set = (sis__clusters *)item;
    for (size_t i = 0; i < set->n_clusters; i++)
        release_cluster(&set->clusters[i]);
    free(set->clusters);
    free(set->distance);
    free(set->name);
}

const sis__kind sis__kind_clusters = {
    "clusters", "sis cluster", "clusters", sizeof(sis__clusters), take_set, release_set,
};

int sis_report_add_clusters(sis_report *report, const char *name, const char *json, size_t n) {
    sis__intake in = {.report = report, .name = name, .json = json, .n_json = n};
    void *list = report->sets;
    int code = sis__intake_add(&in, &sis__kind_clusters, &list, &report->n_sets);
    report->sets = (sis__clusters *)list;
    return code;
}
