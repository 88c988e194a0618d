/* SPDX-License-Identifier: MIT
 *
 * Figures of distributions and score histories: collects numbers of examples as series.
 *
 * Examples are grouped by results file if there are several, else by decision if decisions differ,
 * else all in one group. If there are more groups than a plot can hold, they become one.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/number.h"
#include "report/figures.h"
#include "report/html.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

static int is_explained(const sis__report_example *e) {
    return e->record.collection.status == SIS_STATUS_EXPLAINED;
}

static int is_choice(const sis__report_example *e) {
    return is_explained(e) && e->record.question.n_outputs != 1;
}

static sis__groups find_groups(const sis_report *report) {
    sis__groups g = sis__groups_find(report, SIS__GROUPS_MAX, is_choice);
    return g.n > 1 && !g.others ? g : (sis__groups){.by = SIS__BY_NOTHING, .n = 1};
}

/* One group, or one per file: more colours make a histogram unreadable. */
static sis__groups few_groups(const sis_report *report) {
    sis__groups g = find_groups(report);
    return g.by == SIS__BY_RUN && g.n <= SIS__COLOURS
               ? g
               : (sis__groups){.by = SIS__BY_NOTHING, .n = 1};
}

/* ---- Shared ---------------------------------------------------------------------------------- */

/* Mark each distinct threshold of the runs. */
static void mark_thresholds(const sis_report *report, sis__drawing *d) {
    int several = 0;
    for (size_t i = 1; i < report->n_runs; i++)
        several |= report->runs[i].threshold_low != report->runs[0].threshold_low;
    for (size_t i = 0; i < report->n_runs && d->plot.n_marks < SIS__MARKS_MAX; i++) {
        double at = report->runs[i].threshold_low;
        size_t k = 0;
        while (k < d->plot.n_marks && d->marks[k].at != at)
            k++;
        if (k < d->plot.n_marks)
            continue;
        sis__format(d->mark_texts[k], sizeof d->mark_texts[k], "%s%.4g",
                    several ? "" : "threshold ", at);
        d->marks[k] = (sis__mark){.at = at, .text = d->mark_texts[k]};
        d->plot.n_marks++;
    }
    d->plot.marks = d->marks;
}

typedef struct {
    size_t explained, subsets;
} counts;

static counts count(const sis_report *report) {
    counts c = {0};
    for (size_t i = 0; i < report->n_runs; i++) {
        c.explained += report->runs[i].status[SIS_STATUS_EXPLAINED];
        c.subsets += report->runs[i].subsets;
    }
    return c;
}

static void add_number(sis__buf *b, double v) {
    sis__buf_printf(b, "%s%.4g", v < 0 ? "\xE2\x88\x92" : "", fabs(v));
}

/* "Median 21, from 3 to 140." over all series. A plot of equal values would show nothing. */
static void describe(sis__drawing *d) {
    sis__numbers all = {0};
    for (size_t k = 0; k < d->plot.n; k++)
        for (size_t i = 0; i < d->plot.series[k].x.n; i++)
            sis__drawing_add(d, &all, d->plot.series[k].x.items[i]);
    sis__numbers_sort(&all);
    if (!d->error && all.n) {
        sis__buf_str(&d->caption, " Median ");
        add_number(&d->caption, sis__numbers_quantile(&all, 0.5));
        sis__buf_str(&d->caption, ", from ");
        add_number(&d->caption, all.items[0]);
        sis__buf_str(&d->caption, " to ");
        add_number(&d->caption, all.items[all.n - 1]);
        sis__buf_str(&d->caption, ".");
        d->dull = d->plot.whole && all.items[0] == all.items[all.n - 1];
    }
    sis__numbers_release(&all);
}

/* ---- Numbers of an example ------------------------------------------------------------------- */

typedef void adder(sis__drawing *d, sis__series *s, const sis__report_example *e);

static void add_sizes(sis__drawing *d, sis__series *s, const sis__report_example *e) {
    for (size_t k = 0; k < e->record.collection.n_subsets; k++)
        sis__drawing_add(d, &s->x, (double)e->record.collection.subsets[k].n);
}

static void add_subsets(sis__drawing *d, sis__series *s, const sis__report_example *e) {
    if (is_explained(e))
        sis__drawing_add(d, &s->x, (double)e->record.collection.n_subsets);
}

static void add_score(sis__drawing *d, sis__series *s, const sis__report_example *e) {
    sis__drawing_add(d, &s->x, e->record.collection.score);
}

/* The scores of the first file represent all files. */
static void add_first_score(sis__drawing *d, sis__series *s, const sis__report_example *e) {
    if (e->run == 0)
        add_score(d, s, e);
}

static void add_points(sis__drawing *d, sis__series *s, const sis__report_example *e) {
    const sis_collection *c = &e->record.collection;
    for (size_t k = 0; k < c->n_subsets; k++)
        sis__drawing_point(d, s, (double)c->subsets[k].n, c->subsets[k].score);
}

/* A series for each group, drawn by `chart`. */
static void collect(const sis_report *report, const sis__groups *g, sis__drawing *d, adder *add,
                    int (*chart)(sis__pen *, const sis__plot *)) {
    sis__drawing_series(d, g->n, 0);
    d->chart = chart;
    for (size_t k = 0; k < d->plot.n; k++)
        sis__group_name(report, g, k, d->names[k]);
    for (size_t i = 0; d->plot.n && i < report->n; i++)
        add(d, &d->plot.series[sis__group_of(g, &report->examples[i])], &report->examples[i]);
}

/* ---- Makers ---------------------------------------------------------------------------------- */

/* Do all results files have the same scores of the same examples (for example, with other
 * thresholds)? */
static int are_same_scores(const sis_report *report) {
    size_t n = report->n_runs ? report->n / report->n_runs : 0;
    for (size_t i = n; i < report->n; i++) {
        const sis__report_example *a = &report->examples[i - n], *b = &report->examples[i];
        if (report->runs[b->run].n != n || a->record.question.target != b->record.question.target ||
            strcmp(a->record.id, b->record.id) != 0 ||
            !(a->record.collection.score == b->record.collection.score))
            return 0;
    }
    return report->n_runs > 1;
}

int sis__make_scores(const sis_report *report, size_t k, sis__drawing *d) {
    int same = are_same_scores(report);
    sis__groups g = same ? (sis__groups){.by = SIS__BY_NOTHING, .n = 1} : few_groups(report);
    (void)k;
    mark_thresholds(report, d);
    size_t n = same ? report->runs[0].n : report->n;
    if (n == 1)
        sis__buf_str(&d->caption, "One example");
    else
        sis__buf_printf(&d->caption, "All %zu examples", n);
    sis__buf_str(&d->caption, ", decided or not. Dashed: the threshold.");
    collect(report, &g, d, same ? add_first_score : add_score, sis__plot_histogram);
    describe(d);
    return 1;
}

int sis__make_sizes(const sis_report *report, size_t k, sis__drawing *d) {
    sis__groups g = few_groups(report);
    counts c = count(report);
    (void)k;
    d->plot.whole = 1;
    sis__buf_printf(&d->caption, "%zu %s%s of %zu explained example%s.", c.subsets,
                    sis__subset_word(report), sis__plural(c.subsets), c.explained,
                    sis__plural(c.explained));
    collect(report, &g, d, add_sizes, sis__plot_histogram);
    describe(d);
    return c.subsets > 0;
}

int sis__make_numbers(const sis_report *report, size_t k, sis__drawing *d) {
    sis__groups g = few_groups(report);
    counts c = count(report);
    (void)k;
    d->plot.whole = 1;
    if (c.explained == 1)
        sis__buf_printf(&d->caption, "Number of %ss of the explained example.",
                        sis__subset_word(report));
    else
        sis__buf_printf(&d->caption, "Number of %ss of each of %zu explained examples.",
                        sis__subset_word(report), c.explained);
    collect(report, &g, d, add_subsets, sis__plot_histogram);
    describe(d);
    return c.explained > 0;
}

/* A box for each group. */
static int make_boxes(const sis_report *report, sis__drawing *d, adder *add) {
    sis__groups g = find_groups(report);
    d->plot.x_label = g.by == SIS__BY_RUN ? "results" : "decided to be";
    d->plot.whole = 1;
    collect(report, &g, d, add, sis__plot_boxes);
    describe(d);
    return g.n > 1;
}

int sis__make_size_boxes(const sis_report *report, size_t k, sis__drawing *d) {
    counts c = count(report);
    (void)k;
    d->plot.violin = 1;
    sis__buf_printf(
        &d->caption,
        "%zu subset%s of %zu example%s. Boxes reach from quartile to quartile; the line is "
        "the median, the shade the density. A bar means that half or more are equal.",
        c.subsets, sis__plural(c.subsets), c.explained, sis__plural(c.explained));
    return make_boxes(report, d, add_sizes) && c.subsets > 0;
}

int sis__make_number_boxes(const sis_report *report, size_t k, sis__drawing *d) {
    counts c = count(report);
    (void)k;
    sis__buf_printf(
        &d->caption,
        "%zu explained example%s. Boxes reach from quartile to quartile; the line is the "
        "median, dots are outliers. A bar means that half or more are equal.",
        c.explained, sis__plural(c.explained));
    return make_boxes(report, d, add_subsets) && c.explained > 0;
}

int sis__make_score_size(const sis_report *report, size_t k, sis__drawing *d) {
    sis__groups g = few_groups(report);
    counts c = count(report);
    (void)k;
    d->plot.whole = 1;
    mark_thresholds(report, d);
    int kinds = sis__kinds_of(report) & ~SIS__NOT_MINIMAL;
    sis__buf_printf(&d->caption, "%zu subset%s of %zu example%s%s.", c.subsets,
                    sis__plural(c.subsets), c.explained, sis__plural(c.explained),
                    kinds == SIS__DRAWN
                        ? "; everything else is drawn at random, and the score is the mean"
                    : kinds == SIS__CONTRAST ? "; the score is that of the changed input"
                    : kinds == SIS__PROVED   ? "; the score is the worst that was met"
                    : kinds & ~(SIS__ENOUGH | SIS__RATIONALE) ? ""
                                                              : "; everything else is masked");
    collect(report, &g, d, add_points, sis__plot_scatter);
    return c.subsets > 0;
}

/* ---- Histories ------------------------------------------------------------------------------- */

/* Are there decisions for high and for low scores? */
static int goes_both_ways(const sis_report *report) {
    for (size_t i = 1; i < report->n; i++)
        if (!report->examples[i].record.question.below !=
            !report->examples[0].record.question.below)
            return 1;
    return 0;
}

/* The stored history, or its end. */
static const double *line_of(const sis__trace_summary *w, int tail, size_t *points) {
    *points = tail ? SIS__TAIL + 1 : w->n_history;
    return tail ? w->tail : w->history;
}

/* One line from each stored walk; returns their number. */
static size_t make_lines(const sis_report *report, sis__drawing *d, int tail) {
    size_t points;
    d->plot.series = SIS_NEW(sis__series, report->n);
    d->error = d->plot.series ? SIS_OK : SIS_E_NOMEM;
    d->chart = sis__plot_lines;
    d->plot.mixed = goes_both_ways(report);
    mark_thresholds(report, d);
    for (size_t i = 0; !d->error && i < report->n; i++) {
        const double *line = line_of(&report->examples[i].traced, tail, &points);
        if (!line)
            continue;
        sis__numbers *y = &d->plot.series[d->plot.n++].y;
        y->items = (double *)sis__copy(line, points, sizeof *line);
        y->n = y->cap = y->items ? points : 0;
        d->error = y->items ? SIS_OK : SIS_E_NOMEM;
    }
    return d->plot.n;
}

int sis__make_histories(const sis_report *report, size_t k, sis__drawing *d) {
    size_t n = make_lines(report, d, 0);
    (void)k;
    d->plot.to = 100;
    sis__buf_printf(&d->caption, "The first backward selection of %zu example%s%s%s%s.", n,
                    sis__plural(n), n == 1 ? "" : ", a line each",
                    n > 150 ? "(about 150 are drawn)" : "",
                    n < 3 || goes_both_ways(report) ? "" : "; the thick line is their median");
    return n > 0;
}

int sis__make_history_ends(const sis_report *report, size_t k, sis__drawing *d) {
    size_t n = make_lines(report, d, 1);
    (void)k;
    d->plot.from = SIS__TAIL;
    sis__buf_printf(
        &d->caption,
        "The same for the last %d features of %zu example%s many more. The first subset "
        "ends where a line no longer meets the threshold.",
        SIS__TAIL, n, n == 1 ? " that has" : "s that have");
    return n > 0;
}

/* ---- Decisions ------------------------------------------------------------------------------- */

/* Count the explained examples of that output, in one run or (SIZE_MAX) in all. */
static size_t count_decided(const sis_report *report, size_t output, size_t run) {
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        n += is_choice(e) && e->record.question.target == output &&
             (run == SIZE_MAX || e->run == run);
    }
    return n;
}

int sis__make_decided(const sis_report *report, size_t k, sis__drawing *d) {
    sis__groups g = sis__outputs_find(report, SIS__GROUPS_MAX, is_choice);
    size_t runs = report->n_runs <= SIS__COLOURS ? report->n_runs : 1, all = 0;
    (void)k;
    if (g.n < 2 || g.others)
        return 0;
    d->plot.whole = 1;
    d->chart = sis__plot_bars;
    sis__drawing_series(d, runs, g.n);
    for (size_t r = 0; r < d->plot.n; r++) {
        snprintf(d->names[r], SIS__NAME_SIZE, "%.60s", sis__run_name(report, r));
        for (size_t i = 0; i < g.n; i++) {
            size_t count = count_decided(report, g.outputs[i], runs > 1 ? r : SIZE_MAX);
            all += count;
            sis__drawing_add(d, &d->plot.series[r].x, (double)count);
        }
    }
    for (size_t i = 0; i < d->plot.n_bars; i++)
        sis__group_name(report, &g, i, d->names[runs + i]);
    sis__buf_printf(&d->caption,
                    "Number of examples decided for each output, of %zu explained examples.", all);
    return 1;
}
