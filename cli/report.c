/* SPDX-License-Identifier: MIT
 *
 * sis report: results as one HTML page.
 */
#include <stdint.h>
#include <stdlib.h>

#include <sis/report.h>

#include "cli.h"
#include "output.h"

typedef struct {
    const char *output, *title;
    cli_common common;
} report_options;

static const cli_option options[] = {
    {"output", 'o', "FILE", CLI_STRING(report_options, output), "write the page to FILE"},
    {"title", 0, "TEXT", CLI_STRING(report_options, title), "what the page is called",
     .unset = "the name of the results file"},
    CLI_GROUP(report_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *o) {
    ((report_options *)o)->output = "report.html";
}

static int add_file(sis_report *report, const char *path) {
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

static int write_page(const sis_report *report, const report_options *o) {
    char *html;
    size_t n;
    cli_output out;
    int status = cli_fail(sis_report_page(report, o->title, &html, &n));
    if (status != CLI_DONE)
        return status;
    status = cli_output_open(&out, o->output, -1);
    if (status == CLI_DONE) {
        status = cli_output_write(&out, html, n);
        int closed = cli_output_close(&out);
        status = status == CLI_DONE ? closed : status;
    }
    free(html);
    if (status == CLI_DONE && out.path)
        cli_note(o->common.quiet, "wrote %s, %.3g MB", o->output, (double)n / 1e6);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const report_options *o = (const report_options *)p;
    sis_report *report;
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = cli_output_spares(o->output, args->items[i]);
    if (status != CLI_DONE || (status = cli_fail(sis_report_new(&report))) != CLI_DONE)
        return status;
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = add_file(report, args->items[i]);
    if (status == CLI_DONE)
        status = write_page(report, o);
    sis_report_free(report);
    return status;
}

const cli_command cli_report = {
    .name = "report",
    .summary = "results as one HTML page",
    .options = options,
    .options_size = sizeof(report_options),
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .init = init,
    .run = run,
    .examples = (const cli_example[]){{"sis report results.jsonl --output report.html",
                                       "Make a page to open in a browser, or to send to someone."},
                                      {0}},
    .description =
        "One self-contained file: a summary, and every example with its subsets drawn as what it "
        "is "
        "(pictures, words, sequences, tables). It needs no network and holds no other person's "
        "script, can be printed and read on a phone.\n\n"
        "Where the results hold traces (sis explain --trace), a control shows the first subset at "
        "any "
        "other threshold: one backward selection has the answer for all of them.",
};
