/* SPDX-License-Identifier: MIT
 *
 * sis report: writes results as one HTML page, or as figure files.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sis/record.h>
#include <sis/report.h>

#include "base/file.h"
#include "cli.h"
#include "cluster.h"
#include "output.h"
#include "records.h"

typedef struct {
    const char *output, *title, *figures, *format, *where, *by, *template;
    cli_list clusters, comparisons, evaluations, chosen;
    cli_target target;
    size_t examples;
    int mistaken, letter;
    int force;
    cli_common common;
} report_options;

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_TARGET(report_options, target),
    CLI_WHERE(report_options, where),
    {"clusters", 0, "FILE", CLI_LIST(report_options, clusters),
     "show the clusters in FILE, as sis cluster wrote them",
     .more = "May be given several times. Members are drawn if their results files are among "
             "RESULTS."},
    {"comparison", 0, "FILE", CLI_LIST(report_options, comparisons),
     "show the comparison of two models in FILE, as sis compare --output wrote it",
     .more = "May be given several times. Subsets are drawn if their results files are among "
             "RESULTS."},
    {"evaluation", 0, "FILE", CLI_LIST(report_options, evaluations),
     "show the comparison of methods in FILE, as sis evaluate --json wrote it",
     .more = "May be given several times."},
    {"mistaken", 0, NULL, CLI_FLAG(report_options, mistaken),
     "only decisions that differ from the label of the example"},
    CLI_HEADING("Output"),
    {"output", 'o', "FILE", CLI_STRING(report_options, output), "file for the page",
     .writes = CLI_WRITES_FILE, .unset = "report.html"},
    {"title", 0, "TEXT", CLI_STRING(report_options, title), "title of the page",
     .unset = "the model's name"},
    {"by", 0, "COLUMN", CLI_STRING(report_options, by),
     "compare groups of examples, as sis summary --by does", .unset = "no groups"},
    {"letter", 0, NULL, CLI_FLAG(report_options, letter),
     "write letters instead of the report: a page of text for each example",
     .more = "A letter states the decision, its reasons, what is proved and what that means, and "
             "what would change the decision. Give two results files: one with reasons and one of "
             "--method contrast. Records with the same id make one letter."},
    {"template", 0, "FILE", CLI_STRING(report_options, template),
     "HTML template of letters; print prints the default", .unset = "that of sis",
     .more = "print writes the template of sis to standard output; edit a copy of it. Fields: "
             "{{title}}, and between {{#letters}} and {{/letters}} {{id}}, {{label}}, {{model}}, "
             "{{score}}, {{threshold}}, {{decision}}, {{reasons_are}}, {{reasons}}, {{proof}}, "
             "{{changes_are}}, {{changes}}, {{nearest}} and {{column:NAME}}. {{#field}} ... "
             "{{/field}} is left out if the field is empty."},
    {"examples", 0, "N", CLI_COUNT(report_options, examples), "draw at most N examples",
     .unset = "all",
     .more = "They are spread evenly over the results. Counts, distributions and clusters still "
             "cover all examples."},
    {"figures", 0, "DIR", CLI_STRING(report_options, figures), "also write each figure into DIR",
     .writes = CLI_WRITES_FOLDER, .more = "The folder is created if it does not exist."},
    {"figure", 0, "NAME=FILE", CLI_LIST(report_options, chosen),
     "write one figure to FILE, and no page unless --output is given", .writes = CLI_WRITES_NAMED,
     .more = "May be given several times. NAME is a name from the list above; the extension of "
             "FILE sets the format: svg, png or pdf."},
    {"format", 0, "F", CLI_CHOICE(report_options, format), "format of the figures",
     .choices = "svg png pdf"},
    CLI_FORCE(report_options, force),
    CLI_GROUP(report_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *o) {
    ((report_options *)o)->format = "svg";
}

/* ---- Input ----------------------------------------------------------------------------------- */

/* Does the decision differ from the label? 1 or 0, -1 after an error message. */
static int is_mistaken(const sis_record *r) {
    if (!r->drawing.label || r->collection.status != SIS_STATUS_EXPLAINED)
        return 0;
    int right = sis_record_is_right(r);
    if (right < 0)
        cli_error("--mistaken: record \"%s\" has no label for its output; use "
                  "a model with labels (sis.labels)",
                  r->id);
    return right < 0 ? -1 : !right;
}

static int is_wanted(const report_options *o, const sis_record *r) {
    if (!sis_record_is_target(r, o->target.label, o->target.index))
        return 0;
    return o->mistaken ? is_mistaken(r) : 1;
}

/* Destination of the records of a file. */
typedef struct {
    sis_report *report;
    const report_options *o;
    const char *path;
} intake;

static int add_record(void *ctx, sis_record *r) {
    const intake *to = (const intake *)ctx;
    int wanted = is_wanted(to->o, r);
    if (wanted <= 0)
        return wanted < 0 ? CLI_FAILED : CLI_DONE;
    return cli_fail(sis_report_add(to->report, to->path, r));
}

static int add_results(sis_report *report, const report_options *o, const cli_list *paths) {
    intake to = {report, o, NULL};
    sis_parts parts = {0};
    cli_where where = {0};
    int status = cli_where_open(&where, o->where);
    for (size_t i = 0; status == CLI_DONE && i < paths->n; i++) {
        status = cli_fail(sis_parts_add(&parts, paths->items[i], &to.path));
        if (status == CLI_DONE)
            status = cli_records_each(paths->items[i], SIZE_MAX, &where, add_record, &to);
    }
    if (status == CLI_DONE)
        cli_where_tell(&where, o->common.quiet);
    cli_where_release(&where);
    sis_parts_release(&parts);
    return status;
}

typedef int (*adder)(sis_report *report, const char *name, const char *json, size_t n);

static int add_file(sis_report *report, const char *path, adder add) {
    char *bytes;
    size_t n;
    int status = cli_fail(sis__file_read(path, &bytes, &n));
    if (status == CLI_DONE)
        status = cli_fail(add(report, path, bytes, n));
    free(bytes);
    return status;
}

static int add_files(sis_report *report, const cli_list *paths, adder add) {
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < paths->n; i++)
        status = add_file(report, paths->items[i], add);
    return status;
}

/* ---- Output ---------------------------------------------------------------------------------- */

static int write_page(const sis_report *report, const report_options *o) {
    char *html;
    size_t n;
    sis_page_opt opt = {.title = o->title, .examples = o->examples};
    int error = sis_report_page(report, &opt, &html, &n);
    int status = cli_output_made(o->output, error, html, n);
    if (status == CLI_DONE && strcmp(o->output, "-") != 0)
        cli_note(o->common.quiet, "wrote %s, %.*f %s", o->output, n < 1000000 ? 0 : 1,
                 (double)n / (n < 1000000 ? 1e3 : 1e6), n < 1000000 ? "kB" : "MB");
    return status;
}

static int write_letters(const sis_report *report, const report_options *o) {
    sis_letter_opt opt = {.title = o->title};
    char *text = NULL, *html;
    size_t n;
    int error = o->template ? sis__file_read(o->template, &text, &opt.n_template) : SIS_OK;
    int status = cli_fail(error);
    opt.template_text = text;
    if (status == CLI_DONE)
        error = sis_report_letters(report, &opt, &html, &n);
    if (status == CLI_DONE && !error && text && !strstr(text, "{{#letters}}")) {
        free(html);
        status = cli_usage("--template: %s has no {{#letters}} ... {{/letters}}, the part that is "
                           "written for each letter",
                           o->template);
    } else if (status == CLI_DONE)
        status = cli_output_made(o->output, error, html, n);
    if (status == CLI_DONE && strcmp(o->output, "-") != 0)
        cli_note(o->common.quiet, "wrote %s", o->output);
    free(text);
    return status;
}

static int print_template(void) {
    size_t n;
    const char *text = sis_letter_template(&n);
    fwrite(text, 1, n, stdout);
    return CLI_DONE;
}

typedef struct {
    const report_options *o;
    size_t n;
} figure_folder;

static int write_figure(void *ctx, const sis_figure *figure) {
    figure_folder *folder = (figure_folder *)ctx;
    const report_options *o = folder->o;
    size_t size = strlen(o->figures) + strlen(figure->name) + strlen(o->format) + 3;
    char *path = malloc(size);
    if (!path)
        return cli_error("out of memory");
    snprintf(path, size, "%s/%s.%s", o->figures, figure->name, o->format);
    int status = cli_refuse_output(path);
    if (status == CLI_DONE)
        status = cli_output_all(path, figure->bytes, figure->n);
    folder->n += status == CLI_DONE;
    free(path);
    return status;
}

static int draw(const sis_report *report, sis_figure_format format,
                int (*done)(void *, const sis_figure *), void *ctx) {
    int status = sis_report_figures(report, format, done, ctx);
    return status < 0 ? cli_fail(status) : status;
}

static int write_figures(const sis_report *report, const report_options *o) {
    figure_folder folder = {.o = o};
    if (mkdir(o->figures, 0777) != 0 && errno != EEXIST)
        return cli_error("--figures: cannot create %s: %s", o->figures, strerror(errno));
    int status =
        draw(report, (sis_figure_format)cli_figure_format(o->format), write_figure, &folder);
    if (status == CLI_DONE)
        cli_note(o->common.quiet, "wrote %zu figure%s to %s", folder.n, folder.n == 1 ? "" : "s",
                 o->figures);
    return status;
}

/* ---- Selected figures ------------------------------------------------------------------------ */

/* A parsed NAME=FILE. */
typedef struct {
    const char *text, *path;
    int name_length, format;
    int found;
} chosen_figure;

/* All selected figures, and the available names. */
typedef struct {
    chosen_figure *items; /* (n) */
    size_t n;
    int format;       /* format being drawn */
    char names[1024]; /* available figures, as many as fit */
    size_t used;
} selection;

static int choose(const char *text, chosen_figure *out) {
    const char *equals = strchr(text, '='), *dot = equals ? strrchr(equals, '.') : NULL;
    if (!dot || equals == text || cli_figure_format(dot) < 0)
        return cli_usage(
            "--figure: expected NAME=FILE with a FILE that ends in .svg, .png or .pdf, "
            "found \"%s\"",
            text);
    *out = (chosen_figure){.text = text,
                           .path = equals + 1,
                           .name_length = (int)(equals - text),
                           .format = cli_figure_format(dot)};
    return CLI_DONE;
}

static void add_name(selection *s, const char *name) {
    if (s->used + strlen(name) + 3 < sizeof s->names)
        s->used += (size_t)snprintf(s->names + s->used, sizeof s->names - s->used, "%s%s",
                                    s->used ? ", " : "", name);
}

static int write_chosen(void *ctx, const sis_figure *figure) {
    selection *s = (selection *)ctx;
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < s->n; i++) {
        chosen_figure *c = &s->items[i];
        if (c->format != s->format || strlen(figure->name) != (size_t)c->name_length ||
            strncmp(figure->name, c->text, strlen(figure->name)) != 0)
            continue;
        c->found = 1;
        status = cli_output_all(c->path, figure->bytes, figure->n);
    }
    add_name(s, figure->name);
    return status;
}

/* Draw all figures once for each requested format. */
static int write_selection(const sis_report *report, selection *s) {
    int status = CLI_DONE;
    for (s->format = 0; status == CLI_DONE && s->format <= SIS_FIGURE_PDF; s->format++) {
        int wanted = 0;
        for (size_t i = 0; i < s->n; i++)
            wanted |= s->items[i].format == s->format;
        s->used = 0;
        if (wanted)
            status = draw(report, (sis_figure_format)s->format, write_chosen, s);
        for (size_t i = 0; wanted && status == CLI_DONE && i < s->n; i++)
            if (s->items[i].format == s->format && !s->items[i].found)
                status = cli_error("--figure: these results have no figure \"%.*s\"; they have "
                                   "%s",
                                   s->items[i].name_length, s->items[i].text,
                                   s->used ? s->names : "no figures");
    }
    return status;
}

static int write_each(const sis_report *report, const cli_list *chosen) {
    selection s = {.items = cli_grab(chosen->n, sizeof *s.items), .n = chosen->n};
    int status = s.items ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < s.n; i++)
        status = choose(chosen->items[i], &s.items[i]);
    if (status == CLI_DONE)
        status = write_selection(report, &s);
    free(s.items);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int check_letter(const report_options *o) {
    if (o->template && !o->letter)
        return cli_usage("--template is for --letter");
    if (o->letter &&
        (o->by || o->clusters.n || o->comparisons.n || o->evaluations.n || o->examples))
        return cli_usage("--letter: %s is for the report; leave it out",
                         o->by              ? "--by"
                         : o->clusters.n    ? "--clusters"
                         : o->comparisons.n ? "--comparison"
                         : o->evaluations.n ? "--evaluation"
                                            : "--examples");
    return CLI_DONE;
}

static int check_paths(const report_options *o, const cli_list *args) {
    static const char *const figures[] = {".pdf", ".png", ".svg"};
    int status = CLI_DONE;
    chosen_figure c;
    for (size_t k = 0; o->output && k < sizeof figures / sizeof *figures; k++)
        if (cli_ends_in(o->output, figures[k]))
            return cli_usage("--output: expected FILE.html, found \"%s\"; for %s figures "
                             "use --figures DIR --format %s",
                             o->output, figures[k], figures[k] + 1);
    for (size_t i = 0; status == CLI_DONE && i < o->chosen.n; i++)
        status = choose(o->chosen.items[i], &c);
    return status == CLI_DONE ? cli_outputs_check(&cli_report, o, args) : status;
}

static int run(const void *p, const cli_list *args) {
    report_options all = *(const report_options *)p, *o = &all;
    sis_report *report;
    int status = check_letter(o);
    if (status != CLI_DONE)
        return status;
    if (o->template && strcmp(o->template, "print") == 0)
        return print_template();
    if (!o->output && o->chosen.n == 0)
        o->output = o->letter ? "letters.html" : "report.html";
    status = check_paths(o, args);
    if (status != CLI_DONE || (status = cli_fail(sis_report_new(&report))) != CLI_DONE)
        return status;
    status = add_results(report, o, args);
    if (status == CLI_DONE)
        status = add_files(report, &o->clusters, sis_report_add_clusters);
    if (status == CLI_DONE)
        status = add_files(report, &o->comparisons, sis_report_add_comparison);
    if (status == CLI_DONE)
        status = add_files(report, &o->evaluations, sis_report_add_evaluation);
    if (status == CLI_DONE && o->by)
        status = cli_fail(sis_report_by(report, o->by));
    if (status == CLI_DONE && o->output)
        status = o->letter ? write_letters(report, o) : write_page(report, o);
    if (status == CLI_DONE)
        status = write_each(report, &o->chosen);
    if (status == CLI_DONE && o->figures)
        status = write_figures(report, o);
    sis_report_free(report);
    return status;
}

const cli_command cli_report = {
    .name = "report",
    .summary = "write results as an HTML page and figures",
    .options = options,
    .options_size = sizeof(report_options),
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis report results.jsonl --output report.html",
             "Write a page to open in a browser or to send."},
            {"sis report reasons.jsonl contrasts.jsonl --letter --where 'id=17' -o letter.html",
             "Write a letter to one applicant, to print or to save as PDF with a browser."},
            {"sis report a.jsonl b.jsonl --clusters both.json --figures plots --format pdf",
             "Show two results files with clusters on one page; also write the figures as PDF."},
            {0}},
    .description =
        "The page is one self-contained file: a summary, every example with its subsets "
        "(pictures, words, sequences or tables), distributions, score histories and "
        "clusters. It needs no network, can be printed, and can be read on a phone.\n\nIf "
        "the results have traces (sis explain --trace), a slider shows the first subset at "
        "any other threshold.\n\n--figures also writes the figures as files: scores, "
        "decided, sizes, numbers, sizes-by-group, numbers-by-group, score-size, histories, "
        "history-ends, examples, passages, clusters and logo-N; for a comparison "
        "decisions, cross-scores, joint-clusters and differences; for an "
        "evaluation lengths, score-length, importance, sufficient, aopc-sufficiency, "
        "aopc-comprehensiveness, stability, token-f1, marked, quality, divergence and "
        "imputation. Figures without data are left out. The caption says what is shown and "
        "for how many examples. --figure writes one figure to a file.",
};
