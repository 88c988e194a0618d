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
#include "report/page.h"

/* ---- Groups ---------------------------------------------------------------------------------- */

typedef enum { BY_NOTHING, BY_RUN, BY_OUTPUT } grouping;

typedef struct {
    grouping by;
    size_t n;
    size_t outputs[SIS__GROUPS_MAX]; /* BY_OUTPUT: the outputs, ascending */
} groups;

static int is_explained(const sis__report_example *e) {
    return e->record.collection.status == SIS_STATUS_EXPLAINED;
}

/* Insert the output in order; 0 if there is no room. */
static int note_output(groups *g, size_t output) {
    size_t at = 0;
    while (at < g->n && g->outputs[at] < output)
        at++;
    if (at < g->n && g->outputs[at] == output)
        return 1;
    if (g->n == SIS__GROUPS_MAX)
        return 0;
    memmove(g->outputs + at + 1, g->outputs + at, (g->n - at) * sizeof *g->outputs);
    g->outputs[at] = output;
    g->n++;
    return 1;
}

/* The outputs of all decisions, ascending; 0 if there are more than SIS__GROUPS_MAX. */
static size_t find_outputs(const sis_report *report, size_t outputs[SIS__GROUPS_MAX]) {
    groups g = {.by = BY_OUTPUT};
    for (size_t i = 0; i < report->n; i++)
        if (is_explained(&report->examples[i]) && report->examples[i].record.question.n_outputs != 1 &&
            !note_output(&g, report->examples[i].record.question.target))
            return 0;
    memcpy(outputs, g.outputs, g.n * sizeof *outputs);
    return g.n;
}

static groups find_groups(const sis_report *report) {
    groups g = {.by = BY_OUTPUT};
    if (report->n_runs > 1 && report->n_runs <= SIS__GROUPS_MAX)
        return (groups){.by = BY_RUN, .n = report->n_runs};
    g.n = find_outputs(report, g.outputs);
    return g.n > 1 ? g : (groups){.by = BY_NOTHING, .n = 1};
}

static size_t group_of(const groups *g, const sis__report_example *e) {
    if (g->by == BY_RUN)
        return e->run;
    for (size_t k = 0; g->by == BY_OUTPUT && k < g->n; k++)
        if (g->outputs[k] == e->record.question.target)
            return k;
    return 0;
}

/* Name the output as in its first example. */
static void name_output(const sis_report *report, size_t output, char name[SIS__NAME_SIZE]) {
    for (size_t i = 0; i < report->n; i++)
        if (report->examples[i].record.question.target == output) {
            sis__output_name(&report->examples[i].record, name, SIS__NAME_SIZE);
            return;
        }
}

/* Make series with the names of the groups. */
static int make_series(const sis_report *report, const groups *g, sis__drawing *d) {
    int code = sis__drawing_series(d, g->n, 0);
    for (size_t k = 0; code == SIS_OK && k < g->n; k++)
        if (g->by == BY_OUTPUT)
            name_output(report, g->outputs[k], d->names[k]);
        else
            snprintf(d->names[k], SIS__NAME_SIZE, "%s", sis__run_name(report, k));
    return code;
}

static const char *group_label(const groups *g) {
    return g->by == BY_RUN ? "results" : "decided to be";
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

/* "Median 21, from 3 to 140." over all series. */
static int describe(sis__drawing *d) {
    sis__numbers all = {0};
    int code = SIS_OK;
    for (size_t k = 0; k < d->plot.n; k++)
        for (size_t i = 0; code == SIS_OK && i < d->plot.series[k].x.n; i++)
            code = sis__numbers_add(&all, d->plot.series[k].x.items[i]);
    sis__numbers_sort(&all);
    if (code == SIS_OK && all.n) {
        sis__buf_str(&d->caption, " Median ");
        add_number(&d->caption, sis__numbers_quantile(&all, 0.5));
        sis__buf_str(&d->caption, ", from ");
        add_number(&d->caption, all.items[0]);
        sis__buf_str(&d->caption, " to ");
        add_number(&d->caption, all.items[all.n - 1]);
        sis__buf_str(&d->caption, ".");
    }
    sis__numbers_release(&all);
    return code;
}

/* ---- Numbers of an example ------------------------------------------------------------------- */

static int add_sizes(sis__series *s, const sis__report_example *e) {
    const sis_collection *c = &e->record.collection;
    int code = SIS_OK;
    for (size_t k = 0; code == SIS_OK && k < c->n_subsets; k++)
        code = sis__numbers_add(&s->x, (double)c->subsets[k].n);
    return code;
}

static int add_subsets(sis__series *s, const sis__report_example *e) {
    return is_explained(e) ? sis__numbers_add(&s->x, (double)e->record.collection.n_subsets)
                           : SIS_OK;
}

static int add_score(sis__series *s, const sis__report_example *e) {
    double score = e->record.collection.score;
    return isfinite(score) ? sis__numbers_add(&s->x, score) : SIS_OK;
}

/* The scores of the first file represent all files. */
static int add_first_score(sis__series *s, const sis__report_example *e) {
    return e->run == 0 ? add_score(s, e) : SIS_OK;
}

static int add_points(sis__series *s, const sis__report_example *e) {
    const sis_collection *c = &e->record.collection;
    int code = SIS_OK;
    for (size_t k = 0; code == SIS_OK && k < c->n_subsets; k++) {
        code = sis__numbers_add(&s->x, (double)c->subsets[k].n);
        if (code == SIS_OK)
            code = sis__numbers_add(&s->y, c->subsets[k].score);
    }
    return code;
}

static int collect(const sis_report *report, const groups *g, sis__drawing *d,
                   int (*take)(sis__series *, const sis__report_example *)) {
    int code = make_series(report, g, d);
    for (size_t i = 0; code == SIS_OK && i < report->n; i++)
        code = take(&d->plot.series[group_of(g, &report->examples[i])], &report->examples[i]);
    return code;
}

/* One group, or one per file: more colours make a histogram unreadable. */
static groups few_groups(const sis_report *report) {
    groups g = find_groups(report);
    return g.by == BY_RUN && g.n <= SIS__COLOURS ? g : (groups){.by = BY_NOTHING, .n = 1};
}

/* Are all numbers of all series equal? A plot would show nothing. */
static int is_one_value(const sis__drawing *d) {
    const sis__numbers *first = NULL;
    for (size_t k = 0; k < d->plot.n; k++)
        for (size_t i = 0; i < d->plot.series[k].x.n; i++) {
            first = first ? first : &d->plot.series[k].x;
            if (d->plot.series[k].x.items[i] != first->items[0])
                return 0;
        }
    return 1;
}

static int finish(sis__drawing *d, int code, int (*chart)(sis__pen *, const sis__plot *)) {
    d->chart = chart;
    if (code == SIS_OK)
        code = describe(d);
    d->dull = d->plot.whole && is_one_value(d);
    return code == SIS_OK ? 1 : code;
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
    groups g = same ? (groups){.by = BY_NOTHING, .n = 1} : few_groups(report);
    (void)k;
    sis__drawing_begin(d, "scores", "Scores of the inputs.", "score of the input", "examples");
    mark_thresholds(report, d);
    size_t n = same ? report->runs[0].n : report->n;
    if (n == 1)
        sis__buf_str(&d->caption, "One example");
    else
        sis__buf_printf(&d->caption, "All %zu examples", n);
    sis__buf_str(&d->caption, ", decided or not. Dashed: the threshold.");
    return finish(d, collect(report, &g, d, same ? add_first_score : add_score),
                  sis__plot_histogram);
}

int sis__make_sizes(const sis_report *report, size_t k, sis__drawing *d) {
    groups g = few_groups(report);
    counts c = count(report);
    (void)k;
    if (c.subsets == 0)
        return 0;
    sis__drawing_begin(d, "sizes", "Sizes of subsets.", "features in a subset", "subsets");
    d->plot.whole = 1;
    sis__buf_printf(&d->caption, "%zu %s%s of %zu explained example%s.", c.subsets,
                    sis__subset_word(report), sis__plural(c.subsets), c.explained,
                    sis__plural(c.explained));
    return finish(d, collect(report, &g, d, add_sizes), sis__plot_histogram);
}

int sis__make_numbers(const sis_report *report, size_t k, sis__drawing *d) {
    groups g = few_groups(report);
    counts c = count(report);
    (void)k;
    if (c.explained == 0)
        return 0;
    sis__drawing_begin(d, "numbers", "Subsets per example.", "subsets of an example", "examples");
    d->plot.whole = 1;
    if (c.explained == 1)
        sis__buf_printf(&d->caption, "Number of %ss of the explained example.",
                        sis__subset_word(report));
    else
        sis__buf_printf(&d->caption, "Number of %ss of each of %zu explained examples.",
                        sis__subset_word(report), c.explained);
    return finish(d, collect(report, &g, d, add_subsets), sis__plot_histogram);
}

int sis__make_size_boxes(const sis_report *report, size_t k, sis__drawing *d) {
    groups g = find_groups(report);
    counts c = count(report);
    (void)k;
    if (g.n < 2 || c.subsets == 0)
        return 0;
    sis__drawing_begin(d, "sizes-by-group", "Sizes of subsets, side by side.", group_label(&g),
                       "features in a subset");
    d->plot.whole = d->plot.violin = 1;
    sis__buf_printf(
        &d->caption,
        "%zu subset%s of %zu example%s. Boxes reach from quartile to quartile; the line is "
        "the median, the shade the density. A bar means that half or more are equal.",
        c.subsets, sis__plural(c.subsets), c.explained, sis__plural(c.explained));
    return finish(d, collect(report, &g, d, add_sizes), sis__plot_boxes);
}

int sis__make_number_boxes(const sis_report *report, size_t k, sis__drawing *d) {
    groups g = find_groups(report);
    counts c = count(report);
    (void)k;
    if (g.n < 2 || c.explained == 0)
        return 0;
    sis__drawing_begin(d, "numbers-by-group", "Subsets per example, side by side.", group_label(&g),
                       "subsets of an example");
    d->plot.whole = 1;
    sis__buf_printf(
        &d->caption,
        "%zu explained example%s. Boxes reach from quartile to quartile; the line is the "
        "median, dots are outliers. A bar means that half or more are equal.",
        c.explained, sis__plural(c.explained));
    return finish(d, collect(report, &g, d, add_subsets), sis__plot_boxes);
}

int sis__make_score_size(const sis_report *report, size_t k, sis__drawing *d) {
    groups g = few_groups(report);
    counts c = count(report);
    (void)k;
    if (c.subsets == 0)
        return 0;
    sis__drawing_begin(d, "score-size", "Score of a subset alone against its size.",
                       "features in a subset", "score of the subset alone");
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
    int code = collect(report, &g, d, add_points);
    d->chart = sis__plot_scatter;
    return code == SIS_OK ? 1 : code;
}

/* Are there decisions for high and for low scores? */
static int goes_both_ways(const sis_report *report) {
    for (size_t i = 1; i < report->n; i++)
        if (!report->examples[i].record.question.below !=
            !report->examples[0].record.question.below)
            return 1;
    return 0;
}

/* Collect one line from each stored walk. */
static int make_lines(const sis_report *report, sis__drawing *d, size_t n, int tail) {
    if (!(d->plot.series = SIS_NEW(sis__series, n)))
        return SIS_E_NOMEM;
    d->chart = sis__plot_lines;
    d->plot.mixed = goes_both_ways(report);
    mark_thresholds(report, d);
    for (size_t i = 0; i < report->n; i++) {
        const sis__trace_summary *w = &report->examples[i].traced;
        const double *line = tail ? w->tail : w->history;
        size_t points = tail ? SIS__TAIL + 1 : w->n_history;
        if (!line)
            continue;
        sis__numbers *y = &d->plot.series[d->plot.n++].y;
        if (!(y->items = (double *)sis__copy(line, points, sizeof *line)))
            return SIS_E_NOMEM;
        y->n = y->cap = points;
    }
    return 1;
}

static size_t count_walks(const sis_report *report, int tail) {
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++) {
        const sis__trace_summary *w = &report->examples[i].traced;
        n += (tail ? w->tail : w->history) != NULL;
    }
    return n;
}

int sis__make_histories(const sis_report *report, size_t k, sis__drawing *d) {
    size_t n = count_walks(report, 0);
    (void)k;
    if (n == 0)
        return 0;
    sis__drawing_begin(d, "histories", "Score as features are masked.", "features masked (%)",
                       "score of the remaining features");
    d->plot.to = 100;
    sis__buf_printf(&d->caption, "The first backward selection of %zu example%s%s%s%s.", n,
                    sis__plural(n), n == 1 ? "" : ", a line each",
                    n > 150 ? "(about 150 are drawn)" : "",
                    n < 3 || goes_both_ways(report) ? "" : "; the thick line is their median");
    return make_lines(report, d, n, 0);
}

int sis__make_history_ends(const sis_report *report, size_t k, sis__drawing *d) {
    size_t n = count_walks(report, 1);
    (void)k;
    if (n == 0)
        return 0;
    sis__drawing_begin(d, "history-ends", "The last features.", "features left",
                       "score of the remaining features");
    d->plot.from = SIS__TAIL;
    sis__buf_printf(
        &d->caption,
        "The same for the last %d features of %zu example%s many more. The first subset "
        "ends where a line no longer meets the threshold.",
        SIS__TAIL, n, n == 1 ? " that has" : "s that have");
    return make_lines(report, d, n, 1);
}

/* ---- Decisions ------------------------------------------------------------------------------- */

/* Count the explained examples of that output, in one run or (SIZE_MAX) in all. */
static size_t count_decided(const sis_report *report, size_t output, size_t run) {
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        n += e->record.collection.status == SIS_STATUS_EXPLAINED && e->record.question.n_outputs != 1 &&
             e->record.question.target == output && (run == SIZE_MAX || e->run == run);
    }
    return n;
}

int sis__make_decided(const sis_report *report, size_t k, sis__drawing *d) {
    size_t outputs[SIS__GROUPS_MAX], n = find_outputs(report, outputs), all = 0;
    size_t runs = report->n_runs <= SIS__COLOURS ? report->n_runs : 1;
    (void)k;
    if (n < 2)
        return 0;
    sis__drawing_begin(d, "decided", "Decisions for each output.", "decided to be", "examples");
    d->plot.whole = 1;
    d->chart = sis__plot_bars;
    int code = sis__drawing_series(d, runs, n);
    for (size_t r = 0; code == SIS_OK && r < runs; r++) {
        snprintf(d->names[r], SIS__NAME_SIZE, "%.60s", sis__run_name(report, r));
        for (size_t i = 0; code == SIS_OK && i < n; i++) {
            size_t count = count_decided(report, outputs[i], runs > 1 ? r : SIZE_MAX);
            all += count;
            code = sis__numbers_add(&d->plot.series[r].x, (double)count);
        }
    }
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        name_output(report, outputs[i], d->names[runs + i]);
    sis__buf_printf(&d->caption,
                    "Number of examples decided for each output, of %zu explained examples.", all);
    return code == SIS_OK ? 1 : code;
}

/* ---- Thresholds ------------------------------------------------------------------------------ */

/* Sizes of first subsets at a threshold, for the examples that have one there. */
static int sizes_at(const sis_report *report, double threshold, sis__numbers *out) {
    int code = SIS_OK;
    out->n = 0;
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        size_t size = sis__trace_summary_find(&e->traced, threshold, e->record.question.below);
        if (size != 0 && size != SIZE_MAX)
            code = sis__numbers_add(out, (double)size);
    }
    sis__numbers_sort(out);
    return code;
}

/* Add the quartiles at each threshold of the grid where half of the walks have a subset. */
static int add_quartiles(const sis_report *report, const double *grid, size_t n_grid, size_t walks,
                         sis__drawing *d) {
    static const double quantiles[] = {0.25, 0.5, 0.75};
    sis__numbers sizes = {0};
    int code = SIS_OK;
    for (size_t g = 0; code == SIS_OK && g < n_grid; g++) {
        code = sizes_at(report, grid[g], &sizes);
        for (int q = 0; code == SIS_OK && q < 3 && 2 * sizes.n >= walks; q++) {
            sis__series *s = &d->plot.series[q];
            code = sis__numbers_add(&s->x, grid[g]);
            if (code == SIS_OK)
                code = sis__numbers_add(&s->y, sis__numbers_quantile(&sizes, quantiles[q]));
        }
    }
    sis__numbers_release(&sizes);
    return code;
}

int sis__make_thresholds(const sis_report *report, size_t k, sis__drawing *d) {
    size_t n = count_walks(report, 0), n_grid;
    double *grid;
    (void)k;
    if (n == 0)
        return 0;
    sis__drawing_begin(d, "thresholds", "First subsets at other thresholds.", "threshold",
                       "features in the first subset");
    if (n == 1)
        sis__buf_str(
            &d->caption,
            "Size for 1 example with a trace, where the example meets the threshold and the "
            "fully masked input does not.");
    else
        sis__buf_printf(
            &d->caption,
            "Median and quartiles of the size for %zu examples with a trace, over those that "
            "meet the threshold while the fully masked input does not; shown where at least half "
            "of them do.",
            n);
    d->plot.whole = 1;
    mark_thresholds(report, d);
    d->chart = sis__plot_band;
    int code = sis__picker_grid(report, &grid, &n_grid);
    if (code == SIS_OK && !(d->plot.series = SIS_NEW(sis__series, 3)))
        code = SIS_E_NOMEM;
    if (code == SIS_OK) {
        d->plot.n = 3;
        code = add_quartiles(report, grid, n_grid, n, d);
    }
    free(grid);
    return code != SIS_OK ? code : d->plot.series[1].x.n > 1;
}
