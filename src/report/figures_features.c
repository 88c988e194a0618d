/* SPDX-License-Identifier: MIT
 *
 * The content of subsets over all examples: how many subsets contain each feature, word or piece of
 * sequence, and with which values; and the positions in an image or a sequence. Grouped by results
 * file or class, and by right and wrong decisions.
 *
 * The counts are those of `sis summary`.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/export.h>
#include <sis/record.h>

#include "base/mem.h"
#include "report/figures.h"
#include "report/page.h"

enum { ROWS = 20, ROWS_MAX = 200, FEATURES_MAX = 10000 };

/* ---- Groups ---------------------------------------------------------------------------------- */

typedef enum { BY_CLASS, BY_RIGHT } division;

/* Maps an example to its series; SIZE_MAX: none. */
typedef struct {
    int by_run, by_right;
    size_t n, outputs[SIS__COLOURS]; /* the last also stands for all others */
    int others;
} groups;

static void note_output(groups *g, size_t output) {
    for (size_t k = 0; k < g->n; k++)
        if (g->outputs[k] == output)
            return;
    if (g->n < SIS__COLOURS)
        g->outputs[g->n++] = output;
    else
        g->others = 1;
}

static int by_output(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

static groups find_groups(const sis_report *report, division by) {
    groups g = {.by_right = by == BY_RIGHT, .n = by == BY_RIGHT ? 2 : 0};
    if (g.by_right)
        return g;
    g.by_run = report->n_runs > 1 && report->n_runs <= SIS__COLOURS;
    for (size_t i = 0; !g.by_run && i < report->n; i++)
        if (report->examples[i].record.collection.n_subsets)
            note_output(&g, report->examples[i].record.question.target);
    qsort(g.outputs, g.n, sizeof *g.outputs, by_output);
    g.n = g.by_run ? report->n_runs : g.n;
    return g;
}

static size_t group_of(const groups *g, const sis__report_example *e) {
    int right = sis_record_is_right(&e->record);
    if (g->by_right)
        return right < 0 ? SIZE_MAX : (size_t)!right;
    if (g->by_run)
        return e->run;
    for (size_t k = 0; k < g->n; k++)
        if (g->outputs[k] == e->record.question.target)
            return k;
    return g->n - 1;
}

static void name_group(const sis_report *report, const groups *g, size_t k, char *name) {
    if (g->by_right) {
        snprintf(name, SIS__NAME_SIZE, "decided %s", k ? "wrong" : "right");
        return;
    }
    if (g->by_run) {
        snprintf(name, SIS__NAME_SIZE, "%s", sis__run_name(report, k));
        return;
    }
    for (size_t i = 0; i < report->n; i++)
        if (report->examples[i].record.question.target == g->outputs[k]) {
            int n = snprintf(name, SIS__NAME_SIZE, "%s",
                             report->examples[i].record.question.below ? "not " : "");
            sis__output_name(&report->examples[i].record, name + n,
                             (size_t)(SIS__NAME_SIZE - 16 - n));
            break;
        }
    if (g->others && k + 1 == g->n)
        strcat(name, " and others");
}

/* Are there decisions of both kinds? */
static int has_both(const sis_report *report) {
    int seen[2] = {0};
    for (size_t i = 0; i < report->n; i++) {
        const sis_record *r = &report->examples[i].record;
        int right = r->collection.n_subsets ? sis_record_is_right(r) : -1;
        if (right >= 0)
            seen[right] = 1;
    }
    return seen[0] && seen[1];
}

/* ---- Counts ---------------------------------------------------------------------------------- */

static int is_wanted(const sis__report_example *e) {
    return e->look != SIS__IMAGE && e->record.collection.n_subsets > 0 &&
           e->record.collection.n_features > 0;
}

/* Summarise group k, or all groups for SIZE_MAX. */
static int summarise(const sis_report *report, const groups *g, size_t k, sis_summary **out,
                     size_t *n) {
    int code = sis_summary_new(out);
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        size_t group = is_wanted(e) ? group_of(g, e) : SIZE_MAX;
        if (group != SIZE_MAX && (k == SIZE_MAX || group == k))
            code = sis_summary_add(*out, &e->record);
    }
    return code == SIS_OK ? sis_summary_sort(*out, n) : code;
}

static double count_of(const sis_summary *s, size_t n, const char *name) {
    for (size_t i = 0; i < n; i++) {
        sis_summary_item item = sis_summary_at(s, i);
        if (strcmp(item.name, name) == 0)
            return (double)item.subsets;
    }
    return 0;
}

static int count_group(const sis_report *report, const groups *g, size_t k, const sis_summary *all,
                       sis__drawing *d) {
    sis_summary *s = NULL;
    size_t n = 0;
    int code = summarise(report, g, k, &s, &n);
    for (size_t i = 0; code == SIS_OK && i < d->plot.n_bars; i++)
        code = sis__numbers_add(&d->plot.series[k].x, count_of(s, n, sis_summary_at(all, i).name));
    sis_summary_free(s);
    return code;
}

/* "partime 16, freelance 2", most frequent first. */
static void write_words(const sis_summary *s, size_t i, sis__value_row *row) {
    sis_summary_item item = sis_summary_at(s, i);
    size_t used = 0, last = SIZE_MAX, before = SIZE_MAX;
    for (size_t shown = 0; shown < item.n_words && used + 1 < sizeof row->words; shown++) {
        size_t best = SIZE_MAX, max = 0, n;
        for (size_t k = 0; k < item.n_words; k++) { /* the next most frequent */
            sis_summary_word(s, i, k, &n);
            if ((n < last || (n == last && before != SIZE_MAX && k > before)) && n > max) {
                best = k;
                max = n;
            }
        }
        if (best == SIZE_MAX)
            return;
        const char *word = sis_summary_word(s, i, best, &n);
        int wrote = snprintf(row->words + used, sizeof row->words - used, "%s%s %zu",
                             shown ? ", " : "", word, n);
        used += wrote > 0 ? (size_t)wrote : 0;
        last = n;
        before = best;
    }
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Map each feature of a run to its row, by its name in the run's first table. */
static int map_features(const sis_report *report, const sis__drawing *d, size_t run, int **rows,
                        size_t *n) {
    char name[512];
    *rows = NULL;
    *n = 0;
    for (size_t i = report->runs[run].first; i < report->n && !*rows; i++) {
        const sis__report_example *e = &report->examples[i];
        if (e->run != run || e->look != SIS__TABLE ||
            e->record.collection.n_features > FEATURES_MAX)
            continue;
        *n = e->record.collection.n_features;
        if (!(*rows = SIS_NEW(int, *n)))
            return SIS_E_NOMEM;
        for (size_t f = 0; f < *n; f++) {
            (*rows)[f] = -1;
            sis_record_name(&e->record, (int)f, name, sizeof name);
            for (size_t k = 0; k < d->plot.n_bars; k++)
                if (strncmp(d->plot.bar_names[k], name, SIS__NAME_SIZE - 1) == 0)
                    (*rows)[f] = (int)k;
        }
    }
    return SIS_OK;
}

/* The value of a feature with a single number, else NaN. */
static double number_of(const sis_record *r, size_t feature) {
    size_t count, v = sis_record_values(r, (int)feature, &count);
    return r->drawing.values && count == 1 ? r->drawing.values[v] : NAN;
}

static int add_finite(sis__numbers *v, double x) {
    return isfinite(x) ? sis__numbers_add(v, x) : SIS_OK;
}

static int add_example(sis__drawing *d, const int *rows, size_t group, const sis_record *r) {
    int code = SIS_OK;
    for (size_t f = 0; code == SIS_OK && f < r->collection.n_features; f++)
        if (rows[f] >= 0)
            code = add_finite(&d->values[rows[f]].all, number_of(r, f));
    for (size_t k = 0; group != SIZE_MAX && k < r->collection.n_subsets; k++) {
        const sis_subset *s = &r->collection.subsets[k];
        for (size_t i = 0; code == SIS_OK && i < s->n; i++) {
            int row = rows[s->features[i]];
            if (row >= 0)
                code =
                    add_finite(&d->values[row].held[group], number_of(r, (size_t)s->features[i]));
        }
    }
    return code;
}

static int add_values(const sis_report *report, const groups *g, sis__drawing *d) {
    int code = SIS_OK;
    for (size_t run = 0; code == SIS_OK && run < report->n_runs; run++) {
        int *rows;
        size_t n;
        code = map_features(report, d, run, &rows, &n);
        for (size_t i = 0; code == SIS_OK && rows && i < report->n; i++) {
            const sis__report_example *e = &report->examples[i];
            if (e->run == run && e->look == SIS__TABLE && e->record.collection.n_features == n)
                code = add_example(d, rows, is_wanted(e) ? group_of(g, e) : SIZE_MAX, &e->record);
        }
        free(rows);
    }
    for (size_t i = 0; i < d->plot.n_bars; i++)
        sis__numbers_sort(&d->values[i].all);
    return code;
}

/* ---- Features -------------------------------------------------------------------------------- */

static int draw_features(sis__pen *p, const sis__drawing *d) {
    return sis__plot_features(p, &d->plot, d->values);
}

static int make_rows(sis__drawing *d, const sis_report *report, const groups *g,
                     const sis_summary *all, size_t rows) {
    int code = sis__drawing_series(d, g->n, rows);
    if (code == SIS_OK && !(d->values = SIS_NEW(sis__value_row, rows)))
        code = SIS_E_NOMEM;
    for (size_t k = 0; code == SIS_OK && k < g->n; k++) {
        name_group(report, g, k, d->names[k]);
        if (g->by_right)
            d->plot.series[k].colour = SIS__FIRST + (k ? 1 : 2);
    }
    for (size_t i = 0; code == SIS_OK && i < rows; i++) {
        snprintf(d->names[g->n + i], SIS__NAME_SIZE, "%s", sis_summary_at(all, i).name);
        write_words(all, i, &d->values[i]);
        if (!(d->values[i].held = SIS_NEW(sis__numbers, g->n)))
            code = SIS_E_NOMEM;
    }
    for (size_t k = 0; code == SIS_OK && k < g->n; k++)
        code = count_group(report, g, k, all, d);
    return code == SIS_OK ? add_values(report, g, d) : code;
}

static void describe(sis__drawing *d, const sis_summary *all, size_t n) {
    size_t records, subsets;
    int values = 0;
    sis_summary_totals(all, &records, &subsets);
    for (size_t i = 0; i < d->plot.n_bars; i++)
        values |= d->values[i].all.n > 0;
    sis__buf_printf(&d->caption, "%zu subset%s of %zu example%s", subsets, sis__plural(subsets),
                    records, sis__plural(records));
    if (d->plot.n_bars < n)
        sis__buf_printf(&d->caption, "; the %zu most frequent of %zu features", d->plot.n_bars, n);
    sis__buf_char(&d->caption, '.');
    if (values)
        sis__buf_str(
            &d->caption,
            " Beside them: their values in subsets, above the values of all examples (line from "
            "minimum to maximum, box with the middle half).");
}

/* With one class, the figure by right and wrong shows everything. */
static int is_enough(const sis_report *report, const groups *g) {
    return !g->by_right && g->n == 1 && has_both(report);
}

static int make_features(const sis_report *report, division by, const char *name, size_t rows,
                         sis__drawing *d) {
    groups g = find_groups(report, by);
    if (is_enough(report, &g))
        return 0;
    sis_summary *all = NULL;
    size_t n = 0;
    int code = summarise(report, &g, SIZE_MAX, &all, &n);
    if (code == SIS_OK && n > 0) {
        sis__drawing_begin(d, name,
                           g.by_right ? "Features in the subsets of right and wrong decisions."
                                      : "Features in subsets.",
                           "subsets with this feature", "values");
        code = make_rows(d, report, &g, all, n < rows ? n : rows);
    }
    if (code == SIS_OK && n > 0) {
        describe(d, all, n);
        d->draw = draw_features;
        sis__plot_features_size(&d->plot, d->values, &d->width, &d->height);
    }
    sis_summary_free(all);
    return code == SIS_OK ? n > 0 : code;
}

/* Sentences of prompts rarely repeat. */
static int are_sentences(const sis_report *report) {
    for (size_t i = 0; i < report->n; i++)
        if (!report->examples[i].record.prompted)
            return 0;
    return 1;
}

int sis__make_features(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return are_sentences(report) ? 0 : make_features(report, BY_CLASS, "features", ROWS, d);
}

int sis__make_features_right(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return has_both(report) ? make_features(report, BY_RIGHT, "features-by-right", ROWS, d) : 0;
}

/* ---- Positions ------------------------------------------------------------------------------- */

/* Sequences: the positions of chosen bases. */
static int add_positions(sis__series *s, const sis_collection *c) {
    int code = SIS_OK;
    for (size_t k = 0; k < c->n_subsets; k++)
        for (size_t i = 0; code == SIS_OK && i < c->subsets[k].n; i++)
            code = sis__numbers_add(&s->x, c->subsets[k].features[i] + 1);
    return code;
}

int sis__make_positions(const sis_report *report, size_t k, sis__drawing *d) {
    groups g = find_groups(report, BY_CLASS);
    size_t n = 0;
    (void)k;
    for (size_t i = 0; i < report->n; i++)
        n += report->examples[i].look == SIS__DNA && is_wanted(&report->examples[i]);
    if (n < 2)
        return 0;
    sis__drawing_begin(d, "positions", "Where chosen bases lie.", "position in the sequence",
                       "chosen bases");
    int code = sis__drawing_series(d, g.n, 0);
    for (size_t s = 0; code == SIS_OK && s < g.n; s++)
        name_group(report, &g, s, d->names[s]);
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        if (e->look == SIS__DNA && is_wanted(e))
            code = add_positions(&d->plot.series[group_of(&g, e)], &e->record.collection);
    }
    sis__buf_printf(&d->caption, "Positions in all subsets of %zu sequence%s, counted from 1.", n,
                    sis__plural(n));
    d->plot.whole = 1;
    d->chart = sis__plot_histogram;
    return code == SIS_OK ? 1 : code;
}

/* Images of one size: how often each pixel was chosen. */
typedef struct {
    size_t n, pixels;
    double *counts;
} heat;

static int add_heat(heat *h, const sis__report_example *e) {
    sis__choices chosen;
    const sis_collection *c = &e->record.collection;
    int code = sis__choices_make(c, 0, c->n_subsets, &chosen);
    for (size_t p = 0; code == SIS_OK && p < h->pixels; p++)
        h->counts[p] += sis__choices_find(&chosen, sis__pixel_feature(e, p)) != NULL;
    h->n += code == SIS_OK;
    free(chosen.items);
    return code;
}

/* Stronger if more frequent; light grey if never chosen. */
static unsigned char *paint_heat(const heat *h) {
    unsigned char *rgba = (unsigned char *)sis__alloc_raw(h->pixels, 4);
    double max = 1e-9;
    for (size_t p = 0; p < h->pixels; p++)
        max = fmax(max, h->counts[p]);
    for (size_t p = 0; rgba && p < h->pixels; p++) {
        double v = sqrt(h->counts[p] / max);
        const unsigned char hot[4] = {213, 94, 0, (unsigned char)(17 * lrint(2 + 13 * v))};
        const unsigned char cold[4] = {128, 128, 128, 34};
        memcpy(rgba + 4 * p, h->counts[p] > 0 ? hot : cold, 4);
    }
    return rgba;
}

/* Add one image for the group, unless it has no member of that size. */
static int add_group(const sis_report *report, const groups *g, size_t k,
                     const sis__report_example *like, sis__drawing *d) {
    heat h = {.pixels = sis__pixels(like)};
    int code = (h.counts = SIS_NEW(double, h.pixels)) ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        if (e->look == SIS__IMAGE && e->record.collection.n_subsets && group_of(g, e) == k &&
            e->at.rows == like->at.rows && e->at.columns == like->at.columns)
            code = add_heat(&h, e);
    }
    if (code == SIS_OK && h.n) {
        char name[SIS__NAME_SIZE] = "";
        unsigned char *rgba = paint_heat(&h);
        sis__pictures *a = &d->pictures;
        name_group(report, g, k, name);
        snprintf(d->names[a->rows], SIS__NAME_SIZE, "%.40s (%zu)", name, h.n);
        if (rgba)
            a->items[a->n++] = (sis__picture){a->rows, 0, like->at.columns, like->at.rows, rgba};
        else
            code = SIS_E_NOMEM;
        a->rows++;
        a->columns = 1;
    }
    free(h.counts);
    return code;
}

static int make_places(const sis_report *report, division by, const char *name, sis__drawing *d) {
    groups g = find_groups(report, by);
    const sis__report_example *like = NULL;
    if (is_enough(report, &g))
        return 0;
    for (size_t i = 0; i < report->n && !like; i++)
        if (report->examples[i].look == SIS__IMAGE &&
            report->examples[i].record.collection.n_subsets)
            like = &report->examples[i];
    if (!like)
        return 0;
    int code = sis__rows_make(d, g.n, 1);
    for (size_t k = 0; code == SIS_OK && k < g.n; k++)
        code = add_group(report, &g, k, like, d);
    snprintf(d->name, sizeof d->name, "%s", name);
    snprintf(d->title, sizeof d->title, "Where chosen pixels lie.");
    d->pictures.cell = d->pictures.rows <= 4 ? 120 : 0;
    sis__pictures_size(&d->pictures, &d->width, &d->height);
    d->width = fmax(d->width, 480);
    sis__buf_str(
        &d->caption,
        "The stronger the colour, the more examples have the pixel in a subset; the number "
        "of examples is in brackets.");
    return code == SIS_OK ? d->pictures.rows > 0 : code;
}

int sis__make_places(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return make_places(report, BY_CLASS, "places", d);
}

int sis__make_places_right(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return has_both(report) ? make_places(report, BY_RIGHT, "places-by-right", d) : 0;
}

/* ---- Summary figure -------------------------------------------------------------------------- */

int sis__make_summary(const sis_report *report, size_t rows, sis__drawing *d) {
    size_t max = rows == 0 ? ROWS : rows < ROWS_MAX ? rows : ROWS_MAX;
    int made = make_features(report, BY_CLASS, "features", max, d);
    if (made == 0)
        made = make_features(report, BY_RIGHT, "features-by-right", max, d);
    if (made == 0)
        made = sis__make_places(report, 0, d);
    return made == 0 ? sis__make_places_right(report, 0, d) : made;
}
