/* SPDX-License-Identifier: MIT
 *
 * sis data describe: what is in a file of examples, column by column where it has columns.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>

#include "base/buf.h"
#include "data.h"
#include "output.h"
#include "task.h"

/* ---- Columns --------------------------------------------------------------------------------- */

static void add_column(sis__buf *b, const sis_column *c) {
    sis__buf_str(b, "{\"name\":");
    sis__buf_json(b, c->name);
    sis__buf_printf(b, ",\"type\":\"%s\",\"missing\":%zu,\"distinct\":%zu", c->type, c->missing,
                    c->distinct);
    if (!isnan(c->least)) {
        sis__buf_str(b, ",\"least\":");
        sis__buf_double(b, c->least);
        sis__buf_str(b, ",\"most\":");
        sis__buf_double(b, c->most);
    }
    for (size_t k = 0; k < c->n_categories; k++) {
        sis__buf_str(b, k ? "," : ",\"categories\":{");
        sis__buf_json(b, c->categories[k]);
        sis__buf_printf(b, ":%zu", c->counts[k]);
    }
    sis__buf_str(b, c->n_categories ? "}}" : "}");
}

static int only_json(const cli_data_options *o) {
    return o->json && strcmp(o->json, "-") == 0;
}

static int write_json(const cli_data_options *o, sis__buf *b) {
    int status = cli_fail(sis__buf_error(b));
    if (status == CLI_DONE)
        status = cli_output_all(o->json, b->data, b->len);
    sis__buf_release(b);
    return status;
}

/* {"rows":1000,"header":true,"columns":[...]} */
static int write_columns(const cli_data_options *o, const sis_columns *columns) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_printf(&b, "{\"rows\":%zu,\"header\":%s,\"columns\":[", columns->rows,
                    columns->has_header ? "true" : "false");
    for (size_t k = 0; k < columns->n; k++) {
        sis__buf_str(&b, k ? "," : "");
        add_column(&b, &columns->items[k]);
    }
    sis__buf_str(&b, "]}\n");
    return write_json(o, &b);
}

static int print_columns(const cli_data_options *o, const sis_columns *columns) {
    char *text = NULL;
    int status = o->json ? write_columns(o, columns) : CLI_DONE;
    if (status != CLI_DONE || only_json(o))
        return status;
    status = cli_fail(sis_columns_format(columns, &text));
    for (char *line = text, *end; status == CLI_DONE && *line; line = end + 1) {
        end = strchr(line, '\n');
        *end = '\0';
        cli_print_safe(stdout, line);
        putchar('\n');
    }
    free(text);
    if (status == CLI_DONE)
        cli_note(o->common.quiet, "%zu row%s, %zu column%s%s", columns->rows,
                 columns->rows == 1 ? "" : "s", columns->n, columns->n == 1 ? "" : "s",
                 columns->has_header ? "" : ", no header");
    return status;
}

/* ---- Examples without columns ---------------------------------------------------------------- */

static int write_kind(const cli_data_options *o, const sis_data *data, int labelled) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_printf(&b, "{\"kind\":\"%s\",\"examples\":%zu,\"labelled\":%s}\n", sis_data_kind(data),
                    sis_data_count(data), labelled ? "true" : "false");
    return write_json(o, &b);
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
    cli_read_options(o->categorical, o->types, o->no_header, &opt);
    int error = sis_columns_read(path, &opt, &columns);
    if (error == SIS_E_UNSUPPORTED)
        return describe_kind(o, path, &opt);
    int status = cli_fail(error);
    if (status == CLI_DONE)
        status = print_columns(o, &columns);
    sis_columns_release(&columns);
    return status;
}
