/* SPDX-License-Identifier: MIT
 *
 * sis show: results as a person wants to read them.
 */
#include "show.h"

#include <stdio.h>

typedef struct {
    size_t subsets;
    cli_common common;
} show_options;

static const cli_option options[] = {
    {"subsets", 0, "N", CLI_COUNT(show_options, subsets), "show at most N subsets of an example",
     .unset = "all"},
    CLI_GROUP(show_options, common, cli_common, cli_common_options),
    {0},
};

static int show_file(const show_options *o, const char *path) {
    sis_results *file;
    sis_record r;
    int found = sis_results_open(path, &file);
    if (found != SIS_OK)
        return cli_fail(found);
    while ((found = sis_results_next(file, &r)) > 0) {
        cli_show_record(stdout, &r, o->subsets);
        sis_record_release(&r);
    }
    sis_results_close(file);
    return cli_fail(found);
}

static int run(const void *p, const cli_list *args) {
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = show_file((const show_options *)p, args->items[i]);
    return status;
}

const cli_command cli_show = {
    .name = "show",
    .summary = "print results as a person wants to read them",
    .options = options,
    .options_size = sizeof(show_options),
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
    .examples = (const cli_example[]){{"sis show results.jsonl", "Print every decision."},
                                      {"sis explain -m 'cmd:./score.py' -i cases.csv --mask zero "
                                       "-t 0.8 | sis show -",
                                       "Explain and read at once."},
                                      {0}},
    .description =
        "For each example: what was decided, how sure the model was, and each subset with its "
        "features by name and value, the most important first, against what they look like when "
        "masked. Where nothing was found, why. A dash reads results from standard input.\n\n"
        "Colours are used on a terminal, unless NO_COLOR is set.",
};
