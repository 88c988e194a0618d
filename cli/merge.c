/* SPDX-License-Identifier: MIT
 *
 * sis merge: merges the shards of a run into one results file.
 */
#include <stdint.h>
#include <stdlib.h>

#include <sis/analysis.h>

#include "cli.h"
#include "output.h"

typedef struct {
    const char *output;
    int force;
    cli_common common;
} merge_options;

static const cli_option options[] = {
    {"output", 'o', "FILE", CLI_STRING(merge_options, output), "output file",
     .writes = CLI_WRITES_FILE, .unset = "standard output"},
    CLI_FORCE(merge_options, force),
    CLI_GROUP(merge_options, common, cli_common, cli_common_options),
    {0},
};

enum { NAMED = 10 };

/* Examples missing from all shards. */
typedef struct {
    size_t n, rows[NAMED];
} absent;

static void count_missing(void *ctx, size_t row) {
    absent *a = ctx;
    if (a->n < NAMED)
        a->rows[a->n] = row;
    a->n++;
}

static int tell_missing(const absent *a, const sis_lines *l) {
    char list[NAMED * 24] = "";
    size_t used = 0;
    for (size_t i = 0; i < a->n && i < NAMED; i++)
        used +=
            (size_t)snprintf(list + used, sizeof list - used, "%s%zu", i ? ", " : "", a->rows[i]);
    return cli_error("%zu of %zu examples are missing: %s%s; %scontinue their "
                     "parts with --resume and merge again",
                     a->n, a->n + l->n, list, a->n > NAMED ? ", ..." : "",
                     l->torn ? "a part ends in the middle of a record; " : "");
}

static int write_line(void *ctx, const char *bytes, size_t n) {
    return cli_output_add(ctx, bytes, n);
}

static int write_all(const merge_options *o, const sis_lines *l) {
    cli_output out = {0};
    int status = cli_output_open(&out, o->output);
    if (status == CLI_DONE)
        status = sis_lines_write(l, l->provenance_json, write_line, &out);
    status = status < 0 ? cli_fail(status) : status;
    return cli_output_close(&out, status);
}

static int run(const void *p, const cli_list *args) {
    const merge_options *o = (const merge_options *)p;
    sis_lines l = {0};
    absent missing = {0};
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = cli_fail(sis_lines_add(&l, args->items[i]));
    if (status == CLI_DONE && l.n == 0)
        status = cli_error("the parts contain no records");
    if (status == CLI_DONE)
        status = cli_fail(sis_lines_sort(&l, count_missing, &missing));
    if (status == CLI_DONE)
        status = write_all(o, &l);
    if (status == CLI_DONE)
        cli_note(o->common.quiet, "%zu records of %zu part%s", l.n, args->n,
                 args->n == 1 ? "" : "s");
    if (status == CLI_DONE && missing.n)
        status = tell_missing(&missing, &l);
    sis_lines_release(&l);
    return status;
}

const cli_command cli_merge = {
    .name = "merge",
    .summary = "merge the parts of a run",
    .options = options,
    .options_size = sizeof(merge_options),
    .args = "PART...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .run = run,
    .examples = (const cli_example[]){{"sis merge part-*.jsonl -o all.jsonl",
                                       "Merge the results of several machines into one file."},
                                      {0}},
    .description =
        "Merges the results files of sis explain --shard, in the order of the examples. The "
        "result has the same bytes as that of one run, except for the seconds. Parts may be "
        "given in any order. Parts of different runs are refused (the first record says how "
        "a part was made), and so are duplicate examples.\n\nExamples that are missing "
        "because a part is missing or incomplete are listed by their numbers from 0; the "
        "others are written. docs/scale.md says how to plan such runs.\n\nThe exit status is "
        "1 if an example is missing.",
};
