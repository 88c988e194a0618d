/* SPDX-License-Identifier: MIT
 *
 * Adds clusters, comparisons and evaluations to a report. Their subsets are matched to examples by
 * id and by source file: the same path, or the same name in another folder. Subsets without a
 * match count only in the size of a cluster.
 *
 * Examples are sorted by id once per added file; each lookup is a binary search.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/ids.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "report/html.h"
#include "report/report.h"

/* ---- Files ----------------------------------------------------------------------------------- */

const char *sis__file_name(const char *path, int *stem) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (stem)
        *stem = (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
    return name;
}

void sis__html_stem(sis__buf *b, const char *path, size_t max) {
    int stem;
    const char *name = sis__file_name(path, &stem);
    char *copy = strndup(name, (size_t)stem);
    if (copy)
        sis__html_clip(b, copy, max);
    else
        b->error = SIS_E_NOMEM;
    free(copy);
}

/* 2: the same path, or none was given; 1: the same name; 0: another file. Results are UTF-8; file
 * names need not be. */
static int same_source(const char *found, const char *wanted) {
    if (!wanted || sis__utf8_same(found, wanted))
        return 2;
    return sis__utf8_same(sis__file_name(found, NULL), sis__file_name(wanted, NULL));
}

/* ---- Examples -------------------------------------------------------------------------------- */

static int sort_examples(const sis_report *report, sis__ids *ids) {
    const char **names = SIS_NEW(const char *, report->n);
    for (size_t i = 0; names && i < report->n; i++)
        names[i] = report->examples[i].record.id;
    int code = names ? sis__ids_init(ids, names, report->n) : SIS_E_NOMEM;
    free(names);
    return code;
}

/* The example of that id from that file, or from any file if NULL. SIZE_MAX: not found. */
static size_t find_example(const sis_report *report, const sis__ids *ids, const char *id,
                           const char *source) {
    size_t best = SIZE_MAX;
    int best_match = 0;
    for (size_t k = sis__ids_first(ids, id); k < ids->n && strcmp(ids->items[k].id, id) == 0; k++) {
        size_t i = ids->items[k].at;
        int match = same_source(report->runs[report->examples[i].run].source, source);
        if (match > best_match) {
            best_match = match;
            best = i;
        }
    }
    return best;
}

static sis__member find_member(const sis_report *report, const sis__ids *ids, const sis_member *m) {
    size_t i = m->id ? find_example(report, ids, m->id, m->source) : SIZE_MAX;
    if (i == SIZE_MAX || m->subset >= report->examples[i].record.collection.n_subsets)
        return (sis__member){SIZE_MAX, 0};
    return (sis__member){i, m->subset};
}

/* ---- Clusters -------------------------------------------------------------------------------- */

/* Find the members that are among the examples. */
static int find_members(const sis_report *report, const sis__ids *ids, sis__cluster *c) {
    if (!(c->members = SIS_NEW(sis__member, c->found.n_members)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < c->found.n_members; i++) {
        sis__member m = find_member(report, ids, &c->found.members[i]);
        if (m.example != SIZE_MAX)
            c->members[c->n_members++] = m;
    }
    c->medoid = find_member(report, ids, &c->found.medoid);
    return SIS_OK;
}

/* Subsets outside of all clusters form one more cluster. */
static int find_clusters(const sis_report *report, const sis__ids *ids, sis__clusters *set) {
    const sis_clustering *found = &set->found;
    int code = SIS_OK;
    if (!(set->clusters = SIS_NEW(sis__cluster, found->n_clusters + 1)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < found->n_clusters && code == SIS_OK; i++) {
        set->clusters[set->n_clusters].found = found->clusters[i];
        code = find_members(report, ids, &set->clusters[set->n_clusters++]);
    }
    if (found->n_noise > 0 && code == SIS_OK) {
        set->clusters[set->n_clusters].found = (sis_found_cluster){
            .size = found->n_noise, .n_members = found->n_noise, .members = found->noise};
        code = find_members(report, ids, &set->clusters[set->n_clusters++]);
    }
    return code;
}

void sis__clusters_release(sis__clusters *set) {
    for (size_t i = 0; i < set->n_clusters; i++)
        free(set->clusters[i].members);
    free(set->clusters);
    free(set->name);
    sis_clustering_release(&set->found);
}

int sis_report_add_clusters(sis_report *report, const char *name, const char *json, size_t n) {
    sis__clusters set = {0};
    sis__ids ids = {0};
    int code = sis_clustering_parse(json, n, &set.found);
    if (code != SIS_OK)
        return sis__fail_in(code, "%s", name);
    if (!(set.name = sis__strdup(name)))
        code = SIS_E_NOMEM;
    if (code == SIS_OK)
        code = sort_examples(report, &ids);
    if (code == SIS_OK)
        code = find_clusters(report, &ids, &set);
    if (code == SIS_OK)
        code = sis__reserve(&report->sets, &report->cap_sets, report->n_sets + 1, sizeof set);
    if (code == SIS_OK)
        report->sets[report->n_sets++] = set;
    else
        sis__clusters_release(&set);
    sis__ids_release(&ids);
    return code;
}

/* ---- Comparisons ----------------------------------------------------------------------------- */

void sis__compared_release(sis__compared *c) {
    sis__clusters_release(&c->joint);
    free(c->examples);
    sis_comparison_release(&c->found);
}

static int find_differences(const sis_report *report, const sis__ids *ids, sis__compared *c) {
    c->examples = (size_t(*)[2])sis__alloc(c->found.n_differences, sizeof *c->examples);
    for (size_t i = 0; c->examples && i < c->found.n_differences; i++)
        for (size_t k = 0; k < 2; k++)
            c->examples[i][k] =
                find_example(report, ids, c->found.differences[i].id, c->found.sides[k].results);
    return c->examples ? SIS_OK : SIS_E_NOMEM;
}

int sis_report_add_comparison(sis_report *report, const char *name, const char *json, size_t n) {
    sis__compared c = {0};
    sis__ids ids = {0};
    int code = sis_comparison_parse(json, n, &c.found);
    if (code != SIS_OK)
        return sis__fail_in(code, "%s", name);
    c.joint.found = c.found.joint;
    code = sort_examples(report, &ids);
    if (code == SIS_OK)
        code = find_clusters(report, &ids, &c.joint);
    if (code == SIS_OK)
        code = find_differences(report, &ids, &c);
    if (code == SIS_OK)
        code = sis__reserve(&report->comparisons, &report->cap_comparisons,
                            report->n_comparisons + 1, sizeof c);
    if (code == SIS_OK)
        report->comparisons[report->n_comparisons++] = c;
    else
        sis__compared_release(&c);
    sis__ids_release(&ids);
    return code;
}

double sis__side_share(const sis__compared *c, const sis__cluster *cluster, size_t side) {
    for (size_t i = 0; i < cluster->found.n_shares; i++)
        if (strcmp(cluster->found.shares[i].source, c->found.sides[side].results) == 0)
            return fmax(0, fmin(1, cluster->found.shares[i].share));
    return 0;
}

size_t sis__side_run(const sis_report *report, const sis_side *side) {
    size_t best = SIZE_MAX;
    int best_match = 0;
    for (size_t i = 0; i < report->n_runs; i++) {
        int match = same_source(report->runs[i].source, side->results);
        if (match > best_match) {
            best_match = match;
            best = i;
        }
    }
    return best;
}

/* The stem of the name that distinguishes the sides: the models, else the results. */
void sis__side_name(const sis__compared *c, size_t side, char *text, size_t size) {
    const sis_side *s = c->found.sides;
    const char *stems[2];
    int n[2];
    for (int by_results = 0; by_results < 2; by_results++) {
        for (size_t k = 0; k < 2; k++)
            stems[k] = sis__file_name(by_results ? s[k].results : s[k].model, &n[k]);
        if (n[0] != n[1] || memcmp(stems[0], stems[1], (size_t)n[0]) != 0) {
            snprintf(text, size, "%.*s", n[side] < 200 ? n[side] : 200, stems[side]);
            return;
        }
    }
    snprintf(text, size, "%c", side ? 'B' : 'A');
}

/* ---- Evaluations ----------------------------------------------------------------------------- */

int sis_report_add_evaluation(sis_report *report, const char *name, const char *json, size_t n) {
    sis_evaluation e;
    int code = sis_evaluation_parse(json, n, &e);
    if (code != SIS_OK)
        return sis__fail_in(code, "%s", name);
    code = sis__reserve(&report->evaluations, &report->cap_evaluations, report->n_evaluations + 1,
                        sizeof e);
    if (code == SIS_OK)
        report->evaluations[report->n_evaluations++] = e;
    else
        sis_evaluation_release(&e);
    return code;
}
