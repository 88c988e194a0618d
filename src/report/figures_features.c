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
#include "report/html.h"
#include "report/page.h"

enum { ROWS = 20, ROWS_MAX = 200, FEATURES_MAX = 10000 };

/* ---- Groups ---------------------------------------------------------------------------------- */

static int has_subsets(const sis__report_example *e) {
    return e->record.collection.n_subsets > 0;
}

static sis__groups find_groups(const sis_report *report, int by_right) {
    if (by_right)
        return (sis__groups){.by = SIS__BY_RIGHT, .n = 2};
    return sis__groups_find(report, SIS__COLOURS, has_subsets);
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
static int summarise(const sis_report *report, const sis__groups *g, size_t k, sis_summary **out,
                     size_t *n) {
    int code = sis_summary_new(out);
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        size_t group = is_wanted(e) ? sis__group_of(g, e) : SIZE_MAX;
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

static void count_group(const sis_report *report, const sis__groups *g, size_t k,
                        const sis_summary *all, sis__drawing *d) {
    sis_summary *s = NULL;
    size_t n = 0;
    d->error = summarise(report, g, k, &s, &n);
    for (size_t i = 0; !d->error && i < d->plot.n_bars; i++)
        sis__drawing_add(d, &d->plot.series[k].x, count_of(s, n, sis_summary_at(all, i).name));
    sis_summary_free(s);
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

/* The value of a feature with a single number, else NaN. Positions of words are no numbers. */
static double number_of(const sis_record *r, size_t feature) {
    size_t count, v = sis_record_values(r, (int)feature, &count);
    int word = count && r->drawing.categories && r->drawing.categories[v];
    return r->drawing.values && count == 1 && !word ? r->drawing.values[v] : NAN;
}

static void add_example(sis__drawing *d, const int *rows, size_t group, const sis_record *r) {
    for (size_t f = 0; f < r->collection.n_features; f++)
        if (rows[f] >= 0)
            sis__drawing_add(d, &d->values[rows[f]].all, number_of(r, f));
    for (size_t k = 0; group != SIZE_MAX && k < r->collection.n_subsets; k++) {
        const sis_subset *s = &r->collection.subsets[k];
        for (size_t i = 0; i < s->n; i++)
            if (rows[s->features[i]] >= 0)
                sis__drawing_add(d, &d->values[rows[s->features[i]]].held[group],
                                 number_of(r, (size_t)s->features[i]));
    }
}

static void add_values(const sis_report *report, const sis__groups *g, sis__drawing *d) {
    for (size_t run = 0; !d->error && run < report->n_runs; run++) {
        int *rows;
        size_t n;
        d->error = map_features(report, d, run, &rows, &n);
        for (size_t i = 0; rows && i < report->n; i++) {
            const sis__report_example *e = &report->examples[i];
            if (e->run == run && e->look == SIS__TABLE && e->record.collection.n_features == n)
                add_example(d, rows, is_wanted(e) ? sis__group_of(g, e) : SIZE_MAX, &e->record);
        }
        free(rows);
    }
    for (size_t i = 0; d->values && i < d->plot.n_bars; i++)
        sis__numbers_sort(&d->values[i].all);
}

/* ---- Features -------------------------------------------------------------------------------- */

static int draw_features(sis__pen *p, const sis__drawing *d) {
    return sis__plot_features(p, &d->plot, d->values);
}

static void make_rows(sis__drawing *d, const sis_report *report, const sis__groups *g,
                      const sis_summary *all, size_t rows) {
    sis__drawing_series(d, g->n, rows);
    if (!d->error && !(d->values = SIS_NEW(sis__value_row, rows)))
        d->error = SIS_E_NOMEM;
    for (size_t k = 0; k < d->plot.n; k++) {
        sis__group_name(report, g, k, d->names[k]);
        if (g->by == SIS__BY_RIGHT)
            d->plot.series[k].colour = SIS__FIRST + (k ? 1 : 2);
    }
    for (size_t i = 0; !d->error && i < rows; i++) {
        snprintf(d->names[g->n + i], SIS__NAME_SIZE, "%s", sis_summary_at(all, i).name);
        write_words(all, i, &d->values[i]);
        if (!(d->values[i].held = SIS_NEW(sis__numbers, g->n)))
            d->error = SIS_E_NOMEM;
    }
    for (size_t k = 0; !d->error && k < g->n; k++)
        count_group(report, g, k, all, d);
    add_values(report, g, d);
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
static int is_enough(const sis_report *report, const sis__groups *g) {
    return g->by != SIS__BY_RIGHT && g->n == 1 && has_both(report);
}

static int make_features(const sis_report *report, int by_right, sis__drawing *d) {
    sis__groups g = find_groups(report, by_right);
    size_t max = d->rows == 0 ? ROWS : d->rows < ROWS_MAX ? d->rows : ROWS_MAX, n = 0;
    sis_summary *all = NULL;
    if (is_enough(report, &g))
        return 0;
    d->error = summarise(report, &g, SIZE_MAX, &all, &n);
    if (!d->error && n > 0)
        make_rows(d, report, &g, all, n < max ? n : max);
    if (!d->error && n > 0) {
        describe(d, all, n);
        d->draw = draw_features;
        sis__plot_features_size(&d->plot, d->values, &d->width, &d->height);
    }
    sis_summary_free(all);
    return n > 0;
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
    return !d->rows && are_sentences(report) ? 0 : make_features(report, 0, d);
}

int sis__make_features_right(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return has_both(report) && make_features(report, 1, d);
}

/* ---- Positions ------------------------------------------------------------------------------- */

int sis__make_positions(const sis_report *report, size_t k, sis__drawing *d) {
    sis__groups g = find_groups(report, 0);
    size_t n = 0;
    (void)k;
    sis__drawing_series(d, g.n, 0);
    for (size_t s = 0; s < d->plot.n; s++)
        sis__group_name(report, &g, s, d->names[s]);
    for (size_t i = 0; d->plot.n && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        const sis_collection *c = &e->record.collection;
        if (e->look != SIS__DNA || !is_wanted(e))
            continue;
        n++;
        for (size_t s = 0; s < c->n_subsets; s++)
            for (size_t f = 0; f < c->subsets[s].n; f++)
                sis__drawing_add(d, &d->plot.series[sis__group_of(&g, e)].x,
                                 c->subsets[s].features[f] + 1);
    }
    sis__buf_printf(&d->caption, "Positions in all subsets of %zu sequence%s, counted from 1.", n,
                    sis__plural(n));
    d->plot.whole = 1;
    d->chart = sis__plot_histogram;
    return n >= 2;
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
static void add_group(const sis_report *report, const sis__groups *g, size_t k,
                      const sis__report_example *like, sis__drawing *d) {
    heat h = {.pixels = sis__pixels(like)};
    sis__pictures *a = &d->pictures;
    char name[SIS__NAME_SIZE] = "";
    d->error = (h.counts = SIS_NEW(double, h.pixels)) ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !d->error && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        if (e->look == SIS__IMAGE && has_subsets(e) && sis__group_of(g, e) == k &&
            e->at.rows == like->at.rows && e->at.columns == like->at.columns)
            d->error = add_heat(&h, e);
    }
    unsigned char *rgba = !d->error && h.n ? paint_heat(&h) : NULL;
    if (!d->error && h.n && !rgba)
        d->error = SIS_E_NOMEM;
    if (rgba) {
        sis__group_name(report, g, k, name);
        snprintf(d->names[a->rows], SIS__NAME_SIZE, "%.40s (%zu)", name, h.n);
        a->items[a->n++] = (sis__picture){a->rows++, 0, like->at.columns, like->at.rows, rgba};
        a->columns = 1;
    }
    free(h.counts);
}

static int make_places(const sis_report *report, int by_right, sis__drawing *d) {
    sis__groups g = find_groups(report, by_right);
    const sis__report_example *like = NULL;
    for (size_t i = 0; i < report->n && !like; i++)
        if (report->examples[i].look == SIS__IMAGE && has_subsets(&report->examples[i]))
            like = &report->examples[i];
    if (!like || is_enough(report, &g))
        return 0;
    sis__rows_make(d, g.n, 1);
    for (size_t k = 0; !d->error && k < g.n; k++)
        add_group(report, &g, k, like, d);
    d->pictures.cell = d->pictures.rows <= 4 ? 120 : 0;
    sis__pictures_size(&d->pictures, &d->width, &d->height);
    d->width = fmax(d->width, 480);
    sis__buf_str(
        &d->caption,
        "The stronger the colour, the more examples have the pixel in a subset; the number "
        "of examples is in brackets.");
    return d->pictures.rows > 0;
}

int sis__make_places(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return make_places(report, 0, d);
}

int sis__make_places_right(const sis_report *report, size_t k, sis__drawing *d) {
    (void)k;
    return has_both(report) && make_places(report, 1, d);
}
