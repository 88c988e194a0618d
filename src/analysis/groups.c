/* SPDX-License-Identifier: MIT
 *
 * Decisions and features by groups of examples: one summary (summary.c) for each value of a column,
 * and shares with Wilson intervals. See sis/analysis.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/record.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"

enum { MAX_CUTS = 20, MAX_GROUPS = 50 };

typedef struct {
    char *name;
    double place; /* sort key of groups of numbers; NaN: by name */
    size_t records, decided;
    sis_summary *reasons;
} group;

struct sis_groups {
    char *column;
    double cuts[MAX_CUTS]; /* ascending */
    size_t n_cuts;
    group *groups;
    size_t n, room, n_features;
    sis_summary *all;
};

/* ---- Shares -------------------------------------------------------------------------------- */

sis_proportion sis_proportion_of(size_t n, size_t of) {
    const double z = 1.959963984540054; /* 97.5 % quantile of the normal distribution */
    if (of == 0)
        return (sis_proportion){.share = NAN, .low = 0, .high = 1};
    double m = (double)of, p = (double)n / m, scale = 1 + z * z / m;
    double middle = (p + z * z / (2 * m)) / scale;
    double half = z / scale * sqrt(p * (1 - p) / m + z * z / (4 * m * m));
    return (sis_proportion){n, of, p, n ? fmax(0, middle - half) : 0,
                            n < of ? fmin(1, middle + half) : 1};
}

/* ---- Groups -------------------------------------------------------------------------------- */

/* Parse the cuts of "age:30,50": 1, or 0 if the text after the colon is something else. */
static int read_cuts(const char *text, sis_groups *g) {
    for (g->n_cuts = 0; *text && g->n_cuts < MAX_CUTS;) {
        char *end;
        double x = sis__number(text, &end);
        if (end == text || !isfinite(x) || (*end && *end != ',') ||
            (g->n_cuts && x <= g->cuts[g->n_cuts - 1]))
            break;
        g->cuts[g->n_cuts++] = x;
        if (!*end)
            return 1;
        text = end + 1;
    }
    g->n_cuts = 0;
    return 0;
}

int sis_groups_new(const char *by, sis_groups **out) {
    sis_groups *g = SIS_NEW(sis_groups, 1);
    *out = NULL;
    if (!g)
        return SIS_E_NOMEM;
    g->column = sis__strdup(by);
    char *colon = g->column ? strrchr(g->column, ':') : NULL;
    if (colon && read_cuts(colon + 1, g))
        *colon = '\0';
    int error = g->column ? sis_summary_new(&g->all) : SIS_E_NOMEM;
    if (error)
        sis_groups_free(g);
    else
        *out = g;
    return error;
}

void sis_groups_free(sis_groups *g) {
    for (size_t i = 0; g && i < g->n; i++) {
        free(g->groups[i].name);
        sis_summary_free(g->groups[i].reasons);
    }
    if (g) {
        free(g->groups);
        free(g->column);
        sis_summary_free(g->all);
    }
    free(g);
}

/* "30 to 50", "below 30", "50 and more"; the word of a missing value. */
static void name_cut(const sis_groups *g, double x, char *text, size_t size, double *place) {
    size_t k = 0;
    while (k < g->n_cuts && x >= g->cuts[k])
        k++;
    *place = (double)k;
    if (k == 0)
        sis__format(text, size, "below %.6g", g->cuts[0]);
    else if (k == g->n_cuts)
        sis__format(text, size, "%.6g and more", g->cuts[k - 1]);
    else
        sis__format(text, size, "%.6g to %.6g", g->cuts[k - 1], g->cuts[k]);
}

/* The group of a record. */
static int name_group(const sis_groups *g, const sis_record *r, char *text, size_t size,
                      double *place) {
    char number[SIS_NUMBER_SIZE], kept[200], *end;
    int f = sis_record_column(r, g->column);
    const char *was = f >= 0 ? sis_record_was(r, f, number) : NULL;
    if (f < 0 && sis_record_kept(r, g->column, kept, sizeof kept))
        was = kept;
    else if (f < 0 && strcmp(g->column, "label") == 0)
        was = r->drawing.label;
    if (!was)
        return sis__fail(SIS_E_OPTION, "--by: record \"%s\" has no column \"%s\"", r->id,
                         g->column);
    double x = sis__number(was, &end);
    *place = end == was || *end ? NAN : x;
    snprintf(text, size, "%s", was);
    if (g->n_cuts && isnan(*place) && strcmp(was, "missing") != 0)
        return sis__fail(SIS_E_OPTION, "--by: %s is not a number: record \"%s\" has \"%s\"",
                         g->column, r->id, was);
    if (g->n_cuts && !isnan(*place))
        name_cut(g, x, text, size, place);
    return SIS_OK;
}

static int find_group(sis_groups *g, const char *name, double place, group **out) {
    for (size_t i = 0; i < g->n; i++)
        if (strcmp(g->groups[i].name, name) == 0) {
            *out = &g->groups[i];
            return SIS_OK;
        }
    if (g->n == MAX_GROUPS)
        return sis__fail(SIS_E_OPTION,
                         "--by: %s has more than %d different values; cut numbers into ranges, as "
                         "in %s:30,50",
                         g->column, MAX_GROUPS, g->column);
    int error = sis__reserve(&g->groups, &g->room, g->n + 1, sizeof *g->groups);
    if (error)
        return error;
    group made = {.name = sis__strdup(name), .place = place};
    error = made.name ? sis_summary_new(&made.reasons) : SIS_E_NOMEM;
    if (error) {
        free(made.name);
        return error;
    }
    g->groups[g->n++] = made;
    *out = &g->groups[g->n - 1];
    return SIS_OK;
}

int sis_groups_add(sis_groups *g, const sis_record *r) {
    char name[256];
    double place = NAN;
    group *of = NULL;
    if (r->collection.status == SIS_STATUS_ERROR)
        return SIS_OK;
    int error = name_group(g, r, name, sizeof name, &place);
    if (!error)
        error = find_group(g, name, place, &of);
    if (error)
        return error;
    of->records++;
    of->decided += r->collection.status != SIS_STATUS_NOT_DECIDED;
    error = sis_summary_add(of->reasons, r);
    return error ? error : sis_summary_add(g->all, r);
}

/* Numbers ascending, then words. */
static int by_name(const void *a, const void *b) {
    const group *x = (const group *)a, *y = (const group *)b;
    int numbers = !isnan(x->place), others = !isnan(y->place);
    if (numbers != others)
        return others - numbers;
    if (numbers && x->place != y->place)
        return x->place < y->place ? -1 : 1;
    return strcmp(x->name, y->name);
}

int sis_groups_sort(sis_groups *g, size_t *groups, size_t *features) {
    int error = sis_summary_sort(g->all, &g->n_features);
    if (g->n)
        qsort(g->groups, g->n, sizeof *g->groups, by_name);
    *groups = g->n;
    *features = g->n_features;
    return error;
}

sis_group sis_groups_at(const sis_groups *g, size_t i) {
    const group *of = &g->groups[i];
    sis_group out = {.name = of->name, .examples = of->records};
    size_t records;
    sis_summary_totals(of->reasons, &records, &out.subsets);
    out.decided = sis_proportion_of(of->decided, of->records);
    return out;
}

const char *sis_groups_column(const sis_groups *g) {
    return g->column;
}

const char *sis_groups_feature(const sis_groups *g, size_t f) {
    return sis_summary_at(g->all, f).name;
}

sis_proportion sis_groups_holds(const sis_groups *g, size_t i, size_t f) {
    size_t records, subsets;
    sis_summary_totals(g->groups[i].reasons, &records, &subsets);
    return sis_proportion_of(sis_summary_holds(g->groups[i].reasons, sis_groups_feature(g, f)),
                             subsets);
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_share(sis__buf *b, const char *name, sis_proportion s) {
    sis__json_object(b, name);
    sis__json_count(b, "n", s.n);
    sis__json_count(b, "of", s.of);
    if (s.of)
        sis__json_number(b, "share", s.share);
    sis__json_number(b, "low", s.low);
    sis__json_number(b, "high", s.high);
    sis__buf_char(b, '}');
}

int sis_groups_format(const sis_groups *g, size_t features, char **json, size_t *n) {
    sis__buf b = {0};
    for (size_t i = 0; i < g->n; i++) {
        sis_group of = sis_groups_at(g, i);
        sis__buf_char(&b, '{');
        sis__json_text(&b, "by", g->column);
        sis__json_text(&b, "group", of.name);
        sis__json_count(&b, "examples", of.examples);
        add_share(&b, "decided", of.decided);
        sis__json_count(&b, "subsets", of.subsets);
        sis__json_object(&b, "features");
        for (size_t f = 0; f < features && f < g->n_features; f++)
            add_share(&b, sis_groups_feature(g, f), sis_groups_holds(g, i, f));
        sis__buf_str(&b, "}}\n");
    }
    return sis__buf_give(&b, json, n);
}
