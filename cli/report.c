/* SPDX-License-Identifier: MIT
 *
 * sis report: results as one HTML page, and as figures in files.
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <sis/report.h>

#include "cli.h"
#include "output.h"

static const size_t FILE_MOST = (size_t)1 << 30; /* bytes */

typedef struct {
    const char *output, *title, *figures, *format;
    cli_list clusters, comparisons, evaluations;
    size_t examples;
    cli_common common;
} report_options;

static const cli_option options[] = {
    {"output", 'o', "FILE", CLI_STRING(report_options, output), "where the page goes"},
    {"title", 0, "TEXT", CLI_STRING(report_options, title), "what the page is called",
     .unset = "the model's name"},
    {"clusters", 0, "FILE", CLI_LIST(report_options, clusters),
     "show the clusters in FILE, as sis cluster wrote them",
     .more = "May be given several times. Members are drawn if the results they are of are among "
             "RESULTS."},
    {"comparison", 0, "FILE", CLI_LIST(report_options, comparisons),
     "show the comparison of two models in FILE, as sis compare --output wrote it",
     .more = "May be given several times. Subsets are drawn if the results compared are among "
             "RESULTS."},
    {"evaluation", 0, "FILE", CLI_LIST(report_options, evaluations),
     "show the comparison of methods in FILE, as sis evaluate --json wrote it",
     .more = "May be given several times."},
    {"examples", 0, "N", CLI_COUNT(report_options, examples), "draw at most N examples",
     .unset = "all",
     .more = "Spread evenly over the results. Counts, distributions and clusters are of all."},
    {"figures", 0, "DIR", CLI_STRING(report_options, figures), "also write each figure into DIR",
     .more = "The folder is made if it is not there; files of the same names are overwritten."},
    {"format", 0, "F", CLI_CHOICE(report_options, format), "of the figures",
     .choices = "svg png pdf"},
    CLI_GROUP(report_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *o) {
    ((report_options *)o)->output = "report.html";
    ((report_options *)o)->format = "svg";
}

/* ---- In -------------------------------------------------------------------------------------- */

static int add_results(sis_report *report, const char *path) {
    sis_results *file;
    sis_record r;
    int found = sis_results_open(path, &file);
    if (found != SIS_OK)
        return cli_fail(found);
    while ((found = sis_results_next(file, &r)) > 0)
        if ((found = sis_report_add(report, path, &r)) != SIS_OK)
            break;
    sis_results_close(file);
    return cli_fail(found);
}

/* The bytes of an open file: *bytes is free()d by the caller. */
static int read_all(FILE *file, const char *path, char **bytes, size_t *n) {
    size_t room = 0, got = 1;
    *bytes = NULL;
    *n = 0;
    while (got > 0) {
        if (*n == room) {
            char *more = room < FILE_MOST ? realloc(*bytes, room = room ? 2 * room : 65536) : NULL;
            if (!more)
                return cli_error("%s: too large to read", path);
            *bytes = more;
        }
        got = fread(*bytes + *n, 1, room - *n, file);
        *n += got;
    }
    return ferror(file) ? cli_error("cannot read %s: %s", path, strerror(errno)) : CLI_DONE;
}

typedef int (*adder)(sis_report *report, const char *name, const char *json, size_t n);

static int add_file(sis_report *report, const char *path, adder add) {
    char *bytes;
    size_t n;
    FILE *file = fopen(path, "r");
    if (!file)
        return cli_error("cannot open %s: %s", path, strerror(errno));
    int status = read_all(file, path, &bytes, &n);
    fclose(file);
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

/* ---- Out ------------------------------------------------------------------------------------- */

static int write_file(const char *path, const char *bytes, size_t n) {
    cli_output out;
    int status = cli_output_open(&out, path, -1);
    if (status != CLI_DONE)
        return status;
    status = cli_output_write(&out, bytes, n);
    int closed = cli_output_close(&out);
    return status == CLI_DONE ? closed : status;
}

static int write_page(const sis_report *report, const report_options *o) {
    char *html;
    size_t n;
    sis_page_opt opt = {.title = o->title, .examples = o->examples};
    int status = cli_fail(sis_report_page(report, &opt, &html, &n));
    if (status == CLI_DONE)
        status = write_file(o->output, html, n);
    free(html);
    if (status == CLI_DONE && strcmp(o->output, "-") != 0)
        cli_note(o->common.quiet, "wrote %s, %.3g MB", o->output, (double)n / 1e6);
    return status;
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
    int status = write_file(path, figure->bytes, figure->n);
    folder->n += status == CLI_DONE;
    free(path);
    return status;
}

static int write_figures(const sis_report *report, const report_options *o) {
    static const char *const formats[] = {
#define FORMAT(name, text) [SIS_FIGURE_##name] = text,
        SIS_FIGURE_FORMATS(FORMAT)
#undef FORMAT
    };
    figure_folder folder = {.o = o};
    int format = 0;
    if (mkdir(o->figures, 0777) != 0 && errno != EEXIST)
        return cli_error("--figures: cannot make %s: %s", o->figures, strerror(errno));
    while (strcmp(formats[format], o->format) != 0)
        format++;
    int status = sis_report_figures(report, (sis_figure_format)format, write_figure, &folder);
    if (status < 0)
        return cli_fail(status);
    if (status == CLI_DONE)
        cli_note(o->common.quiet, "wrote %zu figures to %s", folder.n, o->figures);
    return status;
}

/* ---- The command ----------------------------------------------------------------------------- */

static int check_paths(const report_options *o, const cli_list *args) {
    const cli_list *const inputs[] = {args, &o->clusters, &o->comparisons, &o->evaluations};
    int status = CLI_DONE;
    for (size_t k = 0; k < sizeof inputs / sizeof *inputs; k++)
        for (size_t i = 0; status == CLI_DONE && i < inputs[k]->n; i++)
            status = cli_output_spares(o->output, inputs[k]->items[i]);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const report_options *o = (const report_options *)p;
    sis_report *report;
    int status = check_paths(o, args);
    if (status != CLI_DONE || (status = cli_fail(sis_report_new(&report))) != CLI_DONE)
        return status;
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = add_results(report, args->items[i]);
    if (status == CLI_DONE)
        status = add_files(report, &o->clusters, sis_report_add_clusters);
    if (status == CLI_DONE)
        status = add_files(report, &o->comparisons, sis_report_add_comparison);
    if (status == CLI_DONE)
        status = add_files(report, &o->evaluations, sis_report_add_evaluation);
    if (status == CLI_DONE)
        status = write_page(report, o);
    if (status == CLI_DONE && o->figures)
        status = write_figures(report, o);
    sis_report_free(report);
    return status;
}

const cli_command cli_report = {
    .name = "report",
    .summary = "results as one HTML page, figures as files",
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
             "Make a page to open in a browser, or to send to someone."},
            {"sis report a.jsonl b.jsonl --clusters both.json --figures plots --format pdf",
             "Two results files in one page, with clusters; the plots as PDF files too."},
            {0}},
    .description =
        "One self-contained file: a summary, every example with its subsets drawn as what it is "
        "(pictures, words, sequences, tables), distributions, score histories and clusters. It "
        "needs no network and holds no script but its own, can be printed and read on a phone.\n\n"
        "Where the results hold traces (sis explain --trace), a control shows the first subset at "
        "any other threshold: one backward selection has the answer for all of them.\n\n"
        "With --figures the plots are also written as files: scores, sizes, numbers, "
        "sizes-by-group, numbers-by-group, score-size, histories, history-ends, thresholds, "
        "examples, clusters and logo-N; of a comparison decisions, cross-scores, joint-shares, "
        "joint-clusters and differences; of an evaluation lengths, score-length, importance, "
        "sufficient, marked and divergence; those there is something to show of. Each says below "
        "what is shown and of how many examples.",
};
