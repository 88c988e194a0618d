/* SPDX-License-Identifier: MIT
 *
 * Reading results files for commands.
 */
#include "records.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int cli_where_open(cli_where *w, const char *text) {
    return text ? cli_fail(sis_where_parse(text, &w->conditions)) : CLI_DONE;
}

int cli_where_holds(cli_where *w, const sis_record *r) {
    int holds = w->conditions ? sis_where_holds(w->conditions, r) : 1;
    w->asked++;
    w->held += holds > 0;
    return holds;
}

void cli_where_tell(const cli_where *w, int quiet) {
    if (w->asked && !w->held)
        cli_note(quiet, "--where: matches none of %zu record%s", w->asked,
                 w->asked == 1 ? "" : "s");
}

void cli_where_release(cli_where *w) {
    sis_where_free(w->conditions);
    *w = (cli_where){0};
}

int cli_records_each(const char *path, size_t max, cli_where *where, cli_visit *visit, void *ctx) {
    sis_results *file;
    sis_record r;
    size_t n = 0;
    int status = CLI_DONE, found = sis_results_open(path, &file);
    if (found != SIS_OK)
        return cli_fail(found);
    while (status == CLI_DONE && n < max && (found = sis_results_next(file, &r)) > 0) {
        int meant = where ? cli_where_holds(where, &r) : 1;
        status = meant < 0 ? cli_fail(meant) : meant ? visit(ctx, &r) : CLI_DONE;
        sis_record_release(&r);
        n++;
    }
    sis_results_close(file);
    if (status == CLI_DONE && found < 0)
        status = cli_fail(found);
    else if (n == 0 && max > 0 && !sis_results_once(path)) /* an empty pipe is no error */
        status = cli_error("%s: contains no records", path);
    return status;
}

static int keep_record(void *ctx, sis_record *r) {
    return cli_fail(sis_records_add(ctx, r));
}

int cli_records_read(const char *path, cli_where *where, sis_records *out) {
    out->name = path;
    int status = cli_records_each(path, SIZE_MAX, where, keep_record, out);
    if (status == CLI_DONE && out->n == 0 && where && where->conditions)
        status = cli_error("%s: --where holds of no record", path);
    return status == CLI_DONE ? cli_fail(sis_records_index(out, 0)) : status;
}
