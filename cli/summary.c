/* SPDX-License-Identifier: MIT
 *
 * sis summary: counts the features in the subsets of a results file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>
#include <sis/export.h>
#include <sis/report.h>

#include "base/buf.h"
#include "base/number.h"
#include "output.h"
#include "records.h"

typedef struct {
    const char *where, *json, *figure, *by;
    size_t top;
    int force;
    cli_common common;
} summary_options;

static const cli_option options[] = {
    {"top", 0, "N", CLI_COUNT(summary_options, top), "print only the N most frequent features",
     .unset = "all"},
    {"json", 0, "FILE", CLI_STRING(summary_options, json),
     "also write JSON, one line for each feature", .writes = CLI_WRITES_FILE,
     .more = "A dash writes JSON to standard output instead of the table."},
    {"plot", 0, "FILE", CLI_STRING(summary_options, figure),
     "also draw a figure: .svg, .png or .pdf", .writes = CLI_WRITES_FILE,
     .more = "The figure is that of sis report: subsets by class, or by right and wrong if there "
             "is one class, and the values beside them; for pictures the positions of pixels. It "
             "has the 20 most frequent features, or N with --top, up to 200. All records are kept "
             "in memory."},
    {"by", 0, "COLUMN", CLI_STRING(summary_options, by), "compare groups of examples",
     .unset = "no groups",
     .more = "Prints for each group the share of decided examples, and the share of subsets that "
             "hold each feature, with 95 % intervals (Wilson). Groups are the values of a column, "
             "or ranges of numbers: age:30,50. With --json, one line for each group."},
    CLI_WHERE(summary_options, where),
    CLI_FORCE(summary_options, force),
    CLI_GROUP(summary_options, common, cli_common, cli_common_options),
    {0},
};

typedef struct {
    sis_summary *s;
    sis_groups *groups; /* NULL: no groups */
    cli_where where;
    sis_report *drawn; /* NULL: no figure */
    const char *path;
} counting;

static int add_record(void *ctx, sis_record *r) {
    counting *c = ctx;
    int code = sis_summary_add(c->s, r);
    if (code == SIS_OK && c->groups)
        code = sis_groups_add(c->groups, r);
    if (code == SIS_OK && c->drawn)
        code = sis_report_add(c->drawn, c->path, r);
    return cli_fail(code);
}

typedef const char *list_at(const sis_summary *s, size_t i, size_t k, size_t *n);

/* ---- Table ----------------------------------------------------------------------------------- */

/* Columns that have content. */
typedef struct {
    int wide, judged, classes, values;
} columns;

static columns columns_of(const sis_summary *s, size_t n) {
    enum { WIDEST = 40 };
    columns c = {.wide = 7};
    for (size_t i = 0; i < n; i++) {
        sis_summary_item x = sis_summary_at(s, i);
        size_t length = strlen(x.name), rows;
        c.wide = length > (size_t)c.wide ? (int)(length < WIDEST ? length : WIDEST) : c.wide;
        c.judged |= x.right + x.wrong > 0;
        c.values |= x.numbers + x.n_words > 0;
        c.classes |= x.n_classes > 1 || strcmp(sis_summary_class(s, i, 0, &rows), "0") != 0;
    }
    return c;
}

/* The most frequent values: "own 12, rent 3" for words, "1: 12, 0: 3" for classes. */
static void add_few(sis__buf *b, const sis_summary *s, size_t i, size_t n, list_at *at) {
    const char *between = at == sis_summary_class ? ": " : " ";
    enum { FEW = 5 };
    for (size_t k = 0; k < n && k < FEW; k++) {
        size_t rows;
        const char *text = at(s, i, k, &rows);
        sis__buf_printf(b, "%s%s%s%zu", k ? ", " : "", text, between, rows);
    }
    sis__buf_str(b, n > FEW ? ", ..." : "");
}

static void add_row(sis__buf *b, const sis_summary *s, size_t i, const columns *c) {
    sis_summary_item x = sis_summary_at(s, i);
    sis__buf_printf(b, "%-*s %8zu  %8zu", c->wide, x.name, x.subsets, x.examples);
    if (c->judged)
        sis__buf_printf(b, "  %5zu  %5zu", x.right, x.wrong);
    if (c->classes) {
        sis__buf_str(b, "  ");
        add_few(b, s, i, x.n_classes, sis_summary_class);
    }
    if (c->values)
        sis__buf_str(b, c->classes ? "; " : "  ");
    if (x.numbers && x.min == x.max)
        sis__buf_printf(b, "%.6g", x.min);
    else if (x.numbers)
        sis__buf_printf(b, "%.6g to %.6g, mean %.4g", x.min, x.max, x.mean);
    sis__buf_str(b, x.numbers && x.n_words ? ", " : "");
    add_few(b, s, i, x.n_words, sis_summary_word);
    sis__buf_char(b, '\n');
}

/* ---- Figure ---------------------------------------------------------------------------------- */

typedef struct {
    const char *path;
    int drawn;
} figure_file;

static int write_figure(void *ctx, const sis_figure *figure) {
    figure_file *f = (figure_file *)ctx;
    f->drawn = 1;
    return cli_output_all(f->path, figure->bytes, figure->n);
}

static int draw(const summary_options *o, const sis_report *report) {
    figure_file f = {.path = o->figure};
    int status = sis_report_summary(report, o->top, (sis_figure_format)cli_figure_format(o->figure),
                                    write_figure, &f);
    if (status != CLI_DONE)
        return status < 0 ? cli_fail(status) : status;
    return f.drawn ? CLI_DONE : cli_error("--plot: the records have no subsets");
}

static int check_figure(const summary_options *o) {
    if (o->figure && cli_figure_format(o->figure) < 0)
        return cli_usage("--plot: expected a file that ends in .svg, .png or .pdf, found \"%s\"",
                         o->figure);
    return CLI_DONE;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int print_table(const sis_summary *s, size_t n) {
    sis__buf b = {0};
    char *text;
    size_t bytes;
    columns c = columns_of(s, n);
    sis__buf_printf(&b, "%-*s  subsets  examples%s%s%s\n", c.wide, "feature",
                    c.judged ? "  right  wrong" : "", c.classes ? "  classes" : "",
                    !c.values   ? ""
                    : c.classes ? "; values"
                                : "  values");
    for (size_t i = 0; i < n; i++)
        add_row(&b, s, i, &c);
    int error = sis__buf_give(&b, &text, &bytes);
    return cli_print_made(error, text);
}

static int print_all(const summary_options *o, sis_summary *s) {
    size_t n, records, subsets, bytes;
    char *json;
    int status = cli_fail(sis_summary_sort(s, &n));
    if (status != CLI_DONE)
        return status;
    size_t shown = o->top && o->top < n ? o->top : n;
    if (!o->json || strcmp(o->json, "-") != 0)
        status = print_table(s, shown);
    if (status == CLI_DONE && o->json) {
        int error = sis_summary_format(s, shown, &json, &bytes);
        status = cli_output_made(o->json, error, json, bytes);
    }
    if (status != CLI_DONE)
        return status;
    sis_summary_totals(s, &records, &subsets);
    cli_note(o->common.quiet, "%zu records, %zu subsets, %zu different features", records, subsets,
             n);
    return status;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static void add_share(sis__buf *b, sis_proportion s) {
    char text[64];
    if (s.of)
        sis__format(text, sizeof text, "%.1f %% (%.1f to %.1f)", 100 * s.share, 100 * s.low,
                    100 * s.high);
    else
        snprintf(text, sizeof text, "-");
    sis__buf_printf(b, "  %-24s", text);
}

static void end_line(sis__buf *b) {
    while (b->len && b->data[b->len - 1] == ' ')
        b->len--;
    sis__buf_char(b, '\n');
}

static void add_groups(sis__buf *b, const sis_groups *g, size_t n) {
    int wide = (int)strlen(sis_groups_column(g));
    for (size_t i = 0; i < n; i++) {
        int length = (int)strlen(sis_groups_at(g, i).name);
        wide = length > wide ? length : wide;
    }
    sis__buf_printf(b, "%-*s  examples  %-24s  subsets\n", wide, sis_groups_column(g),
                    "decided (95 %)");
    for (size_t i = 0; i < n; i++) {
        sis_group of = sis_groups_at(g, i);
        sis__buf_printf(b, "%-*s  %8zu", wide, of.name, of.examples);
        add_share(b, of.decided);
        sis__buf_printf(b, "  %7zu\n", of.subsets);
    }
}

/* One line per feature, one column per group. */
static void add_reasons(sis__buf *b, const sis_groups *g, size_t n, size_t features) {
    int wide = 7;
    for (size_t f = 0; f < features; f++) {
        int length = (int)strlen(sis_groups_feature(g, f));
        wide = length > wide ? length : wide;
    }
    sis__buf_printf(b, "\nsubsets that hold a feature\n%-*s", wide, "feature");
    for (size_t i = 0; i < n; i++)
        sis__buf_printf(b, "  %-24s", sis_groups_at(g, i).name);
    end_line(b);
    for (size_t f = 0; f < features; f++) {
        sis__buf_printf(b, "%-*s", wide, sis_groups_feature(g, f));
        for (size_t i = 0; i < n; i++)
            add_share(b, sis_groups_holds(g, i, f));
        end_line(b);
    }
}

static int print_groups(const summary_options *o, sis_groups *g) {
    size_t n, features, bytes;
    char *text;
    sis__buf b = {0};
    int status = cli_fail(sis_groups_sort(g, &n, &features));
    if (status != CLI_DONE)
        return status;
    features = o->top && o->top < features ? o->top : features;
    if (o->json) {
        int error = sis_groups_format(g, features, &text, &bytes);
        status = cli_output_made(o->json, error, text, bytes);
    }
    if (status != CLI_DONE || (o->json && strcmp(o->json, "-") == 0))
        return status;
    add_groups(&b, g, n);
    if (features)
        add_reasons(&b, g, n, features);
    int error = sis__buf_give(&b, &text, &bytes);
    return cli_print_made(error, text);
}

static int count_all(const cli_list *paths, counting *c) {
    sis_parts parts = {0};
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < paths->n; i++) {
        status = cli_fail(sis_parts_add(&parts, paths->items[i], &c->path));
        if (status == CLI_DONE)
            status = cli_records_each(paths->items[i], SIZE_MAX, &c->where, add_record, c);
    }
    sis_parts_release(&parts);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const summary_options *o = (const summary_options *)p;
    counting c = {0};
    int status = check_figure(o);
    if (status == CLI_DONE)
        status = cli_where_open(&c.where, o->where);
    if (status == CLI_DONE)
        status = cli_fail(sis_summary_new(&c.s));
    if (status == CLI_DONE && o->by)
        status = cli_fail(sis_groups_new(o->by, &c.groups));
    if (status == CLI_DONE && o->figure)
        status = cli_fail(sis_report_new(&c.drawn));
    if (status == CLI_DONE)
        status = count_all(args, &c);
    if (status == CLI_DONE)
        cli_where_tell(&c.where, o->common.quiet);
    if (status == CLI_DONE)
        status = c.groups ? print_groups(o, c.groups) : print_all(o, c.s);
    if (status == CLI_DONE && o->figure)
        status = draw(o, c.drawn);
    sis_report_free(c.drawn);
    sis_summary_free(c.s);
    sis_groups_free(c.groups);
    cli_where_release(&c.where);
    return status;
}

const cli_command cli_summary = {
    .name = "summary",
    .summary = "count the features in the subsets of many decisions",
    .options = options,
    .options_size = sizeof(summary_options),
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis summary granted.jsonl", "Count features."},
            {"sis summary reviews.jsonl --top 20 --where class=1",
             "Print the most frequent words in subsets of class 1."},
            {"sis summary loans.jsonl --by sex",
             "Compare women and men: how often the loan is granted, and for which reasons."},
            {"sis summary granted.jsonl --plot granted.svg", "Also draw the figure."},
            {0}},
    .description =
        "Counts in how many subsets and in how many examples each feature occurs, by class, "
        "and with which values. If examples have labels, it also counts the subsets of right "
        "and of wrong decisions. Features are columns by name, words in lower case, pixels "
        "by row and column; for DNA, adjacent bases of a subset are one piece. The JSON of "
        "--json has name, subsets, examples, classes (subsets of each), right, wrong, "
        "numbers with least, most and mean, and words (subsets of each).",
};
