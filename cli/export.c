/* SPDX-License-Identifier: MIT
 *
 * sis export: writes results in formats of spreadsheets, genome browsers and databases.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/export.h>

#include "output.h"
#include "records.h"

typedef struct {
    const char *to, *output, *where, *rows;
    int force;
    cli_common common;
} export_options;

static const cli_option options[] = {
    {"to", 0, "FORMAT", CLI_CHOICE(export_options, to), "format", .choices = SIS_EXPORTS,
     .required = 1},
    {"output", 'o', "FILE", CLI_STRING(export_options, output), "output file",
     .writes = CLI_WRITES_FILE, .unset = "standard output", .more = "sqlite needs a file."},
    {"each", 0, "WHAT", CLI_CHOICE(export_options, rows), "csv, tsv: a row for each",
     .choices = "feature subset"},
    CLI_WHERE(export_options, where),
    CLI_FORCE(export_options, force),
    CLI_GROUP(export_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    ((export_options *)p)->rows = "feature";
}

typedef struct {
    const export_options *o;
    sis_export *e; /* NULL before the first record, so that an empty file writes nothing */
    cli_where where;
    cli_output out;
    size_t n;
} exporting;

static int write_rows(void *ctx, const char *bytes, size_t n) {
    return cli_output_write((cli_output *)ctx, bytes, n) == CLI_DONE ? SIS_OK : SIS_E_CANCELLED;
}

static int begin(exporting *x) {
    const export_options *o = x->o;
    sis_export_opt opt = {.format = o->to,
                          .subsets = strcmp(o->rows, "subset") == 0,
                          .path = o->output,
                          .write = write_rows,
                          .ctx = &x->out};
    int status = strcmp(o->to, "sqlite") ? cli_output_open(&x->out, o->output) : CLI_DONE;
    return status == CLI_DONE ? cli_fail(sis_export_open(&opt, &x->e)) : status;
}

static int add_record(void *ctx, sis_record *r) {
    exporting *x = ctx;
    int status = x->e ? CLI_DONE : begin(x);
    if (status != CLI_DONE)
        return status;
    x->n++;
    int error = sis_export_add(x->e, r);
    return error == SIS_E_CANCELLED ? CLI_FAILED : cli_fail(error); /* already reported */
}

static void tell(const export_options *o, const exporting *x, size_t left_out) {
    cli_where_tell(&x->where, o->common.quiet);
    if (left_out)
        cli_note(o->common.quiet,
                 "%zu record%s left out: no subsets, no coordinates, or padding alone", left_out,
                 left_out == 1 ? " was" : "s were");
    size_t n = x->n - left_out;
    if (o->output)
        cli_note(o->common.quiet, "%zu record%s exported to %s", n, n == 1 ? "" : "s", o->output);
}

static int run(const void *p, const cli_list *args) {
    const export_options *o = (const export_options *)p;
    exporting x = {.o = o};
    int status = cli_where_open(&x.where, o->where);
    if (status == CLI_DONE)
        status = cli_records_each(args->items[0], SIZE_MAX, &x.where, add_record, &x);
    if (status == CLI_DONE && !x.e) /* an empty pipe, or --where selects nothing */
        status = begin(&x);
    size_t left_out = status == CLI_DONE ? sis_export_left_out(x.e) : 0;
    if (status == CLI_DONE)
        status = cli_fail(sis_export_close(x.e));
    else
        sis_export_cancel(x.e);
    if (status == CLI_DONE && strcmp(o->to, "bed") == 0 && left_out == x.n)
        status = cli_error("no record of DNA has subsets and an id with coordinates, "
                           "such as chr1:100-200");
    status = cli_output_close(&x.out, status);
    if (status == CLI_DONE)
        tell(o, &x, left_out);
    cli_where_release(&x.where);
    return status;
}

const cli_command cli_export = {
    .name = "export",
    .summary = "convert results to CSV, TSV, BED or SQLite",
    .options = options,
    .options_size = sizeof(export_options),
    .init = init,
    .args = "RESULTS",
    .min_args = 1,
    .max_args = 1,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis export granted.jsonl --to csv --output granted.csv",
             "Write a row for each feature of each subset."},
            {"sis export granted.jsonl --to sqlite --output granted.db",
             "Write a database for sqlite3."},
            {"sis export granted.jsonl --to tsv --each subset --where 'feature=debt and size<3'",
             "Write small subsets that have the feature debt."},
            {"sis export peaks.jsonl --to bed --output subsets.bed",
             "Write the positions of subsets on a genome."},
            {0}},
    .description =
        "Writes results for other programs. csv and tsv have a row for each feature of each "
        "subset (with --each subset, for each subset): the example, its label, class, "
        "threshold, score and status; number, size and score of the subset; position, "
        "number, name, value and masked value of the feature. An example without subsets has "
        "one row.\n\nsqlite is a database with the tables records, subsets and features, a "
        "view found with the columns of csv, and an index on feature names. To find all "
        "examples that have a subset with a feature:\n\n  SELECT DISTINCT example FROM found "
        "WHERE name = 'late_payments';\n\nbed has a line for each DNA subset (BED12, one "
        "block for each run of adjacent bases), if the ids of the sequences have "
        "coordinates: chr1:100-200 or peak::chr1:100-200(-). The length of the sequence "
        "shows whether they count from 0 (bedtools) or from 1. Coordinates are also right if "
        "--length cropped or padded the sequences; padding is left out. csv and tsv have "
        "coordinates in the columns chrom, start and end.",
};
