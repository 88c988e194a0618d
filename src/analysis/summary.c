/* SPDX-License-Identifier: MIT
 *
 * Counts features in the subsets of many records: features by name, words in lower case, pixels by
 * place, adjacent letters of DNA; how many subsets and examples contain each, by class and by right
 * and wrong decisions, and their values. See sis/analysis.h.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/record.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/names.h"
#include "base/number.h"
#include "base/order.h"
#include "base/platform.h"
#include "base/sum.h"
#include "results/export.h"

enum { NAME = 512 };

/* Counts of distinct texts. */
typedef struct {
    sis__names names;
    size_t *counts;
    size_t room;
} tally;

typedef struct {
    sis_summary_item seen;
    double high, low;                /* the sum of its numbers */
    size_t last_record, last_subset; /* the last that contained it, from 1, so that each counts
                                        once */
    tally classes, words;
} entry;

struct sis_summary {
    sis__names names;
    entry *entries; /* (names.n) */
    size_t room, records, subsets;
    size_t *order; /* (names.n) after sis_summary_sort */
};

/* ---- Counting ------------------------------------------------------------------------------ */

static int tally_add(tally *t, const char *text) {
    uint32_t number;
    size_t before = t->names.n;
    int error = sis__reserve(&t->counts, &t->room, before + 1, sizeof *t->counts);
    if (error == SIS_OK)
        error = sis__names_add(&t->names, text, strlen(text), &number);
    if (error != SIS_OK)
        return error;
    if (t->names.n > before)
        t->counts[number] = 0;
    t->counts[number]++;
    return SIS_OK;
}

static void tally_release(tally *t) {
    sis__names_release(&t->names);
    free(t->counts);
}

static int find_entry(sis_summary *s, const char *name, entry **out) {
    uint32_t number;
    size_t before = s->names.n;
    int error = sis__reserve(&s->entries, &s->room, before + 1, sizeof *s->entries);
    if (error == SIS_OK)
        error = sis__names_add(&s->names, name, strlen(name), &number);
    if (error != SIS_OK)
        return error;
    if (s->names.n > before)
        s->entries[number] = (entry){.seen = {.min = INFINITY, .max = -INFINITY}};
    *out = &s->entries[number];
    return SIS_OK;
}

/* Count a value of the feature, a number or a word; a category that looks like a number is a
 * word. */
static int add_value(entry *e, const char *text, int word) {
    char *end;
    double v = sis__number(text, &end);
    if (!*text)
        return SIS_OK;
    if (word || *end || !isfinite(v))
        return tally_add(&e->words, text);
    e->seen.numbers++;
    e->seen.min = fmin(e->seen.min, v);
    e->seen.max = fmax(e->seen.max, v);
    sis__sum_add(&e->high, &e->low, v);
    e->seen.mean = sis__sum_mean(e->high, e->low, e->seen.numbers);
    return SIS_OK;
}

/* Count an item in one subset of a record. */
static int count(sis_summary *s, const sis_record *r, const char *name, const char *value,
                 int word) {
    char number[32], class[NAME];
    entry *e;
    int error = find_entry(s, name, &e);
    if (error != SIS_OK)
        return error;
    if (e->last_subset == s->subsets) /* a repeated word */
        return add_value(e, value, word);
    int right = sis_record_is_right(r);
    e->last_subset = s->subsets;
    e->seen.subsets++;
    e->seen.examples += e->last_record != s->records;
    e->last_record = s->records;
    e->seen.right += right == 1;
    e->seen.wrong += right == 0;
    snprintf(class, sizeof class, "%s%s", r->question.below ? "not " : "",
             sis__export_class(r, number));
    error = tally_add(&e->classes, class);
    return error == SIS_OK ? add_value(e, value, word) : error;
}

/* ---- Records ------------------------------------------------------------------------------- */

static void name_feature(const sis_record *r, int feature, char name[NAME]) {
    sis_raster g;
    size_t values;
    if (sis_kind_of(r->drawing.kind) == SIS_KIND_IMAGE && sis_record_raster(r, &g)) {
        size_t v = sis_record_values(r, feature, &values);
        v = v == SIZE_MAX ? (size_t)feature : v;
        snprintf(name, NAME, "row %zu, column %zu", v / g.row_step % g.rows,
                 v / g.column_step % g.columns);
        return;
    }
    sis_record_name(r, feature, name, NAME);
    for (char *c = name; r->drawing.words && *c; c++)
        *c = sis__lower(*c);
}

/* Adjacent letters of DNA. */
static int add_runs(sis_summary *s, const sis_record *r, const sis_subset *subset) {
    size_t length = strlen(r->drawing.sequence);
    int *at = (int *)sis__copy(subset->features, subset->n, sizeof *at), error = SIS_OK;
    if (!at)
        return SIS_E_NOMEM;
    qsort(at, subset->n, sizeof *at, sis__by_int);
    for (size_t i = 0, to; error == SIS_OK && i < subset->n; i = to) {
        char name[NAME];
        size_t n = 0;
        for (to = i; to < subset->n && at[to] == at[i] + (int)(to - i); to++)
            if ((size_t)at[to] < length && n + 1 < sizeof name)
                name[n++] = r->drawing.sequence[at[to]];
        name[n] = '\0';
        error = count(s, r, name, "", 1);
    }
    free(at);
    return error;
}

static int add_features(sis_summary *s, const sis_record *r, const sis_subset *subset) {
    char name[NAME], number[SIS_NUMBER_SIZE];
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < subset->n; i++) {
        name_feature(r, subset->features[i], name);
        const char *value =
            r->drawing.words ? "" : sis__export_value(r, subset->features[i], number);
        error = count(s, r, name, value, value != number);
    }
    return error;
}

int sis_summary_new(sis_summary **out) {
    *out = SIS_NEW(sis_summary, 1);
    return *out ? SIS_OK : SIS_E_NOMEM;
}

int sis_summary_add(sis_summary *s, const sis_record *r) {
    int error = SIS_OK;
    s->records++;
    for (size_t k = 0; error == SIS_OK && k < r->collection.n_subsets; k++) {
        const sis_subset *subset = &r->collection.subsets[k];
        s->subsets++;
        error = r->drawing.sequence ? add_runs(s, r, subset) : add_features(s, r, subset);
    }
    return error;
}

void sis_summary_free(sis_summary *s) {
    for (size_t k = 0; s && k < s->names.n; k++) {
        tally_release(&s->entries[k].classes);
        tally_release(&s->entries[k].words);
    }
    if (s) {
        sis__names_release(&s->names);
        free(s->entries);
        free(s->order);
    }
    free(s);
}

/* ---- Sorting --------------------------------------------------------------------------------- */

static int by_subsets(const void *a, const void *b, void *ctx) {
    const sis_summary *s = (const sis_summary *)ctx;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    size_t p = s->entries[x].seen.subsets, q = s->entries[y].seen.subsets;
    return p != q ? (p < q) - (p > q)
                  : strcmp(sis__names_text(&s->names, (uint32_t)x),
                           sis__names_text(&s->names, (uint32_t)y));
}

int sis_summary_sort(sis_summary *s, size_t *n) {
    free(s->order);
    s->order = SIS_NEW(size_t, s->names.n);
    *n = s->order ? s->names.n : 0;
    for (size_t k = 0; k < *n; k++)
        s->order[k] = k;
    if (s->order)
        sis__sort(s->order, *n, sizeof *s->order, by_subsets, s);
    return s->order ? SIS_OK : SIS_E_NOMEM;
}

sis_summary_item sis_summary_at(const sis_summary *s, size_t i) {
    const entry *e = &s->entries[s->order[i]];
    sis_summary_item item = e->seen;
    item.name = sis__names_text(&s->names, (uint32_t)s->order[i]);
    item.n_classes = e->classes.names.n;
    item.n_words = e->words.names.n;
    return item;
}

static const char *tally_at(const tally *t, size_t k, size_t *n) {
    *n = t->counts[k];
    return sis__names_text(&t->names, (uint32_t)k);
}

const char *sis_summary_class(const sis_summary *s, size_t i, size_t k, size_t *n) {
    return tally_at(&s->entries[s->order[i]].classes, k, n);
}

const char *sis_summary_word(const sis_summary *s, size_t i, size_t k, size_t *n) {
    return tally_at(&s->entries[s->order[i]].words, k, n);
}

size_t sis_summary_holds(const sis_summary *s, const char *name) {
    uint32_t number = sis__names_find(&s->names, name, strlen(name));
    return number == UINT32_MAX ? 0 : s->entries[number].seen.subsets;
}

void sis_summary_totals(const sis_summary *s, size_t *records, size_t *subsets) {
    *records = s->records;
    *subsets = s->subsets;
}

/* ---- JSON ---------------------------------------------------------------------------------- */

static void add_tally(sis__buf *b, const char *name, const tally *t) {
    if (t->names.n == 0)
        return;
    sis__json_object(b, name);
    for (size_t k = 0; k < t->names.n; k++)
        sis__json_count(b, sis__names_text(&t->names, (uint32_t)k), t->counts[k]);
    sis__buf_char(b, '}');
}

int sis_summary_format(const sis_summary *s, size_t n, char **json, size_t *bytes) {
    sis__buf b = {0};
    for (size_t i = 0; i < n; i++) {
        const entry *e = &s->entries[s->order[i]];
        const sis_summary_item *x = &e->seen;
        sis__buf_char(&b, '{');
        sis__json_text(&b, "name", sis__names_text(&s->names, (uint32_t)s->order[i]));
        sis__json_count(&b, "subsets", x->subsets);
        sis__json_count(&b, "examples", x->examples);
        add_tally(&b, "classes", &e->classes);
        if (x->right + x->wrong) {
            sis__json_count(&b, "right", x->right);
            sis__json_count(&b, "wrong", x->wrong);
        }
        if (x->numbers) {
            sis__json_count(&b, "numbers", x->numbers);
            sis__json_number(&b, "least", x->min);
            sis__json_number(&b, "most", x->max);
            sis__json_number(&b, "mean", x->mean);
        }
        add_tally(&b, "words", &e->words);
        sis__buf_str(&b, "}\n");
    }
    return sis__buf_give(&b, json, bytes);
}
