/* SPDX-License-Identifier: MIT
 *
 * Results files as commands want them.
 */
#include "records.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int cli_records_once(const char *path) {
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}

int cli_records_each(const char *path, size_t most, cli_visit *visit, void *ctx) {
    sis_results *file;
    sis_record r;
    size_t n = 0;
    int status = CLI_DONE, found = sis_results_open(path, &file);
    if (found != SIS_OK)
        return cli_fail(found);
    while (status == CLI_DONE && n < most && (found = sis_results_next(file, &r)) > 0) {
        status = visit(ctx, &r);
        sis_record_release(&r);
        n++;
    }
    sis_results_close(file);
    if (status == CLI_DONE && found < 0)
        status = cli_fail(found);
    else if (n == 0 && most > 0 &&
             !cli_records_once(path)) /* what fills a pipe speaks for itself */
        status = cli_error("%s: holds no records", path);
    return status;
}

int cli_where_open(cli_where *w, const char *text) {
    return text ? cli_fail(sis_where_parse(text, &w->conditions)) : CLI_DONE;
}

int cli_where_holds(cli_where *w, const sis_record *r) {
    int holds = !w->conditions || sis_where_holds(w->conditions, r);
    w->asked++;
    w->held += (size_t)holds;
    return holds;
}

void cli_where_tell(const cli_where *w, int quiet) {
    if (w->asked && !w->held)
        cli_note(quiet, "--where: holds of none of %zu record%s", w->asked,
                 w->asked == 1 ? "" : "s");
}

void cli_where_release(cli_where *w) {
    sis_where_free(w->conditions);
    *w = (cli_where){0};
}

/* ---- By id ----------------------------------------------------------------------------------- */

int cli_results_add(void *results, sis_record *r) {
    cli_results *s = results;
    int status = cli_grow(&s->records, &s->room, s->n, sizeof *s->records);
    if (status != CLI_DONE)
        return status;
    s->records[s->n++] = *r;
    *r = (sis_record){0};
    return CLI_DONE;
}

int cli_results_sort(cli_results *s, int once) {
    const char **ids = s->n ? cli_grab(s->n, sizeof *ids) : NULL;
    if (s->n && !ids)
        return CLI_FAILED;
    for (size_t i = 0; i < s->n; i++)
        ids[i] = s->records[i].id;
    int error = s->n ? sis__ids_init(&s->ids, ids, s->n) : SIS_OK;
    free(ids);
    if (error != SIS_OK)
        return cli_fail(error);
    const char *twice = once ? sis__ids_twice(&s->ids) : NULL;
    return twice ? cli_error("%s: holds two records \"%s\"; an example may be there once", s->path,
                             twice)
                 : CLI_DONE;
}

int cli_results_read(cli_results *s, int once) {
    int status = cli_records_each(s->path, SIZE_MAX, cli_results_add, s);
    return status == CLI_DONE ? cli_results_sort(s, once) : status;
}

const sis_record *cli_results_find(const cli_results *s, const char *id) {
    size_t at = sis__ids_find(&s->ids, id);
    return at == SIZE_MAX ? NULL : &s->records[at];
}

const sis_record *cli_results_at(const cli_results *s, size_t i) {
    return &s->records[s->ids.items[i].at];
}

void cli_results_release(cli_results *s) {
    for (size_t i = 0; i < s->n; i++)
        sis_record_release(&s->records[i]);
    free(s->records);
    sis__ids_release(&s->ids);
    *s = (cli_results){0};
}

/* ---- Against the task ------------------------------------------------------------------------ */

int cli_same_numbers(const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return 0;
    return 1;
}

const sis_input *cli_record_input(const cli_task *t, const char *path, const sis_record *r) {
    size_t at = sis_task_find(t->task, r->id);
    if (at == SIZE_MAX)
        cli_error(
            "%s: record \"%s\" is of no example that was asked for; give the --input, --id and "
            "--rows it was made with",
            path, r->id);
    else if (sis_task_match(t->task, &t->examples[at], r) != SIS_OK)
        cli_error("%s: %s", path, sis_error_detail());
    else
        return &t->inputs[at];
    return NULL;
}
