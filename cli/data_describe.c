/* SPDX-License-Identifier: MIT
 *
 * sis data describe: summarizes a file of examples, by column if it has columns.
 */
#include <stdio.h>
#include <string.h>

#include <sis/data.h>
#include <sis/files.h>

#include "data.h"
#include "output.h"
#include "task.h"

/* ---- Columns --------------------------------------------------------------------------------- */

static int only_json(const cli_data_options *o) {
    return o->json && strcmp(o->json, "-") == 0;
}

static int print_columns(const cli_data_options *o, const sis_columns *columns) {
    char *text;
    size_t n;
    int error = o->json ? sis_columns_json(columns, &text, &n) : SIS_OK;
    int status = o->json ? cli_output_made(o->json, error, text, n) : CLI_DONE;
    if (status != CLI_DONE || only_json(o))
        return status;
    error = sis_columns_format(columns, &text);
    status = cli_print_made(error, text);
    if (status == CLI_DONE)
        cli_note(o->common.quiet, "%zu row%s, %zu column%s%s", columns->rows,
                 columns->rows == 1 ? "" : "s", columns->n, columns->n == 1 ? "" : "s",
                 columns->has_header ? "" : ", no header");
    return status;
}

/* ---- Examples without columns ---------------------------------------------------------------- */

static int write_kind(const cli_data_options *o, const sis_data *data, int labelled) {
    char text[128];
    int n = snprintf(text, sizeof text, "{\"kind\":\"%s\",\"examples\":%zu,\"labelled\":%s}\n",
                     sis_data_kind(data), sis_data_count(data), labelled ? "true" : "false");
    return cli_output_all(o->json, text, (size_t)n);
}

/* "text, 5 examples", "image, 60000 examples (28, 28), labelled" */
static int print_kind(const cli_data_options *o, const sis_data *data) {
    size_t rank, n = sis_data_count(data);
    const size_t *shape = sis_data_shape(data, 0, &rank);
    int labelled = sis_data_label(data, 0) != NULL;
    int status = o->json ? write_kind(o, data, labelled) : CLI_DONE;
    if (status != CLI_DONE || only_json(o))
        return status;
    printf("%s, %zu example%s", sis_data_kind(data), n, n == 1 ? "" : "s");
    for (size_t d = 0; !sis_data_text(data, 0) && d < rank; d++)
        printf("%s%zu%s", d ? ", " : " of (", shape[d], d + 1 < rank ? "" : ")");
    printf("%s\n", labelled ? ", labelled" : "");
    return CLI_DONE;
}

static int describe_kind(const cli_data_options *o, const char *path, const sis_data_opt *opt) {
    sis_data *data;
    sis_data_opt plain;
    sis_data_opt_init(&plain);
    plain.label = opt->label;
    plain.id = opt->id;
    plain.missing = SIS_MISSING_NAN;
    int status = cli_fail(sis_data_read(path, &plain, &data));
    if (status == CLI_DONE)
        status = print_kind(o, data);
    sis_data_free(data);
    return status;
}

int cli_data_describe(const cli_data_options *o, const char *path) {
    sis_data_opt opt;
    sis_columns columns;
    sis_data_opt_init(&opt);
    opt.label = o->label;
    opt.id = o->id;
    cli_categorical(o->categorical, &opt);
    opt.types = o->types;
    opt.no_header = o->no_header;
    int error = sis_columns_read(path, &opt, &columns);
    if (error == SIS_E_UNSUPPORTED)
        return describe_kind(o, path, &opt);
    int status = cli_fail(error);
    if (status == CLI_DONE)
        status = print_columns(o, &columns);
    sis_columns_release(&columns);
    return status;
}
