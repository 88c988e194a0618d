/* SPDX-License-Identifier: MIT
 *
 * Lines of results files, moved as they are: only the first of a file, which says how it was made, is
 * written anew where it becomes another one. See lines.h.
 */
#include "lines.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "records.h"
#include "task.h"

/* ---- How it was made ------------------------------------------------------------------------- */

/* As text without the shard. NULL after an error line. */
static char *whole_run(const char *path, const char *json, sis_provenance *provenance) {
    char *text = NULL;
    int status = cli_fail(sis_provenance_parse(json, provenance));
    if (status != CLI_DONE) {
        cli_error("%s: cannot be read", path);
        return NULL;
    }
    provenance->shard = 0;
    provenance->shards = 1;
    cli_fail(sis_provenance_format(provenance, &text));
    return text;
}

/* Which part of how two files were made differs, in words. */
static const char *difference(const sis_provenance *a, const sis_provenance *b) {
    const struct {
        const char *what, *x, *y;
    } parts[] = {{"another model file", a->model_sha256, b->model_sha256},
                 {"another input file", a->input_sha256, b->input_sha256},
                 {"another mask file", a->mask_sha256, b->mask_sha256},
                 {"another feature map", a->features_sha256, b->features_sha256},
                 {"another file of --domain", a->domain_sha256, b->domain_sha256},
                 {"other rows", a->rows, b->rows},
                 {"another mask", a->mask, b->mask}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strcmp(parts[i].x ? parts[i].x : "", parts[i].y ? parts[i].y : "") != 0)
            return parts[i].what;
    return "other options";
}

/* Machines and versions may differ between the parts of a run, nothing else may. */
static int is_same_run(sis_provenance *a, sis_provenance *b) {
    sis_provenance x = *a, y = *b;
    char *one = NULL, *two = NULL;
    x.version = y.version = x.kernels = y.kernels = x.machine = y.machine = NULL;
    x.engine = y.engine = NULL;
    int failed = sis_provenance_format(&x, &one) || sis_provenance_format(&y, &two);
    int same = !failed && strcmp(one, two) == 0;
    free(one);
    free(two);
    return same;
}

static int take_provenance(cli_lines *l, const char *path, const char *json) {
    sis_provenance provenance = {0};
    char *text = whole_run(path, json, &provenance);
    int status = text ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE && !l->provenance_json) {
        l->provenance = provenance;
        l->provenance_json = text;
        l->provenance_by = path;
        l->provenance_part = strdup(json);
        return l->provenance_part ? CLI_DONE : cli_error("out of memory");
    }
    if (status == CLI_DONE && !is_same_run(&l->provenance, &provenance))
        status = cli_error("%s and %s are not parts of one run: made with %s", l->provenance_by,
                           path, difference(&l->provenance, &provenance));
    sis_provenance_release(&provenance);
    free(text);
    return status;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* Which example a record is of: it says so, or is called by it. */
static int find_row(const sis_record *r, const char *path, size_t *row) {
    long number;
    if (r->has_row) {
        *row = r->row;
        return CLI_DONE;
    }
    if (!cli_whole(r->id, &number) || number < 0)
        return cli_error("%s: record \"%s\" does not say which example it is of", path, r->id);
    *row = (size_t)number;
    return CLI_DONE;
}

int cli_lines_note(cli_lines *l, const cli_line *line) {
    int status = cli_grow(&l->items, &l->room, l->n, sizeof *l->items);
    if (status == CLI_DONE)
        l->items[l->n++] = *line;
    return status;
}

static int add_record(cli_lines *l, const sis_record *r, cli_line line) {
    const char *path = l->paths[line.file];
    int status = r->provenance ? take_provenance(l, path, r->provenance) : CLI_DONE;
    if (status == CLI_DONE && !l->provenance_json)
        return cli_error("%s: does not say how it was made, as files of older versions do not; its "
                         "order is not known",
                         path);
    if (status == CLI_DONE)
        status = find_row(r, path, &line.row);
    line.first = r->provenance != NULL;
    line.poor = r->collection.status == SIS_STATUS_ERROR || r->collection.status == SIS_STATUS_CUT;
    return status == CLI_DONE ? cli_lines_note(l, &line) : status;
}

static int read_lines(cli_lines *l, FILE *file, const char *path) {
    cli_line line = {.file = l->n_files - 1};
    char *text = NULL;
    size_t room = 0, number = 0;
    int status = CLI_DONE;
    sis_record r;
    for (ssize_t n; status == CLI_DONE && (n = getline(&text, &room, file)) > 0; line.at += n) {
        number++;
        if (strspn(text, " \t\r\n") == (size_t)n)
            continue;
        if (text[n - 1] != '\n') {
            l->torn++;
            break;
        }
        line.length = (size_t)n;
        if (sis_record_parse(text, (size_t)n, &r) != SIS_OK)
            status = cli_error("%s, line %zu: %s", path, number, sis_error_detail());
        else
            status = add_record(l, &r, line);
        sis_record_release(&r);
    }
    if (status == CLI_DONE && ferror(file))
        status = cli_error("cannot read %s: %s", path, strerror(errno));
    free(text);
    return status;
}

static int add_path(cli_lines *l, const char *path) {
    const char **paths = realloc(l->paths, (l->n_files + 1) * sizeof *paths);
    if (!paths)
        return cli_error("out of memory");
    l->paths = paths;
    l->paths[l->n_files++] = path;
    return CLI_DONE;
}

int cli_lines_add(cli_lines *l, const char *path) {
    if (add_path(l, path) != CLI_DONE)
        return CLI_FAILED;
    FILE *file = fopen(path, "r");
    if (!file)
        return cli_error("cannot open %s: %s", path, strerror(errno));
    int status = read_lines(l, file, path);
    fclose(file);
    return status;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* The rows of the run, in its order. */
static int find_order(const cli_lines *l, size_t **rows, size_t *n) {
    const sis_provenance *m = &l->provenance;
    if (m->rows)
        return cli_rows(m->rows, m->examples, rows, n);
    *n = m->examples;
    *rows = cli_grab(*n, sizeof **rows);
    for (size_t i = 0; *rows && i < *n; i++)
        (*rows)[i] = i;
    return *rows ? CLI_DONE : CLI_FAILED;
}

/* Put line i in its place; slots (examples) hold numbers of lines + 1. */
static int place_line(const cli_lines *l, size_t i, size_t *slots) {
    const cli_line *line = &l->items[i];
    if (line->row >= l->provenance.examples)
        return cli_error("%s: holds example %zu, but the input had %zu", l->paths[line->file],
                         line->row, l->provenance.examples);
    size_t *slot = &slots[line->row];
    const cli_line *before = *slot ? &l->items[*slot - 1] : NULL;
    if (before && (!before->poor || before->file != line->file))
        return cli_error("example %zu is in %s and in %s; take one of them out", line->row,
                         l->paths[before->file], l->paths[line->file]);
    *slot = i + 1;
    return CLI_DONE;
}

/* Items in the order of the rows. */
static int arrange(cli_lines *l, const size_t *rows, size_t n_rows, size_t *slots,
                   void (*missing)(void *ctx, size_t row), void *ctx) {
    cli_line *items = cli_grab(l->n, sizeof *items);
    size_t n = 0;
    if (!items)
        return CLI_FAILED;
    for (size_t i = 0; i < n_rows; i++) {
        if (slots[rows[i]])
            items[n++] = l->items[slots[rows[i]] - 1];
        else
            missing(ctx, rows[i]);
        slots[rows[i]] = 0;
    }
    free(l->items);
    l->items = items;
    l->n = l->room = n;
    for (size_t row = 0; row < l->provenance.examples; row++)
        if (slots[row])
            return cli_error("example %zu was not asked for by --rows %s", row, l->provenance.rows);
    return CLI_DONE;
}

int cli_lines_sort(cli_lines *l, void (*missing)(void *ctx, size_t row), void *ctx) {
    size_t n = 0, *rows = NULL, *slots = cli_grab(l->provenance.examples, sizeof *slots);
    int status = slots ? find_order(l, &rows, &n) : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < l->n; i++)
        status = place_line(l, i, slots);
    if (status == CLI_DONE)
        status = arrange(l, rows, n, slots, missing, ctx);
    free(rows);
    free(slots);
    return status;
}

/* ---- Writing --------------------------------------------------------------------------------- */

int cli_line_remake(const char *line, size_t n, const char *provenance, char **out, size_t *n_out) {
    sis_record r;
    int status = cli_fail(sis_record_parse(line, n, &r));
    *out = NULL;
    if (status != CLI_DONE)
        return status;
    const char *own = r.provenance;
    int trace = 0;
    for (size_t k = 0; k < r.collection.n_subsets; k++)
        trace |= r.collection.subsets[k].trace.n > 0;
    r.provenance = provenance;
    status = cli_fail(sis_record_format(&r, trace, out, n_out));
    r.provenance = own;
    sis_record_release(&r);
    return status;
}

static int write_anew(const char *text, size_t n, const char *provenance, cli_output *out) {
    char *line;
    int status = cli_line_remake(text, n, provenance, &line, &n);
    if (status == CLI_DONE)
        status = cli_output_add(out, line, n);
    free(line);
    return status;
}

static int write_line(const cli_lines *l, size_t i, const char *provenance, FILE *file,
                      cli_output *out) {
    const cli_line *line = &l->items[i];
    char *text = cli_grab(line->length + 1, 1);
    int status = text ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE &&
        pread(fileno(file), text, line->length, (off_t)line->at) != (ssize_t)line->length)
        status = cli_error("cannot read %s again", l->paths[line->file]);
    if (status == CLI_DONE)
        status = i == 0 || line->first
                     ? write_anew(text, line->length, i == 0 ? provenance : NULL, out)
                     : cli_output_add(out, text, line->length);
    free(text);
    return status;
}

int cli_lines_write(const cli_lines *l, const char *provenance, cli_output *out) {
    FILE **files = cli_grab(l->n_files, sizeof *files);
    int status = files ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < l->n_files; i++)
        if (!(files[i] = fopen(l->paths[i], "r")))
            status = cli_error("cannot open %s: %s", l->paths[i], strerror(errno));
    for (size_t i = 0; status == CLI_DONE && i < l->n; i++)
        status = write_line(l, i, provenance, files[l->items[i].file], out);
    for (size_t i = 0; files && i < l->n_files; i++)
        if (files[i])
            fclose(files[i]);
    free(files);
    return status;
}

static void forget_provenance(cli_lines *l) {
    sis_provenance_release(&l->provenance);
    free(l->provenance_json);
    free(l->provenance_part);
    l->provenance_json = l->provenance_part = NULL;
}

void cli_lines_release(cli_lines *l) {
    forget_provenance(l);
    free(l->items);
    free((void *)l->paths);
    *l = (cli_lines){0};
}

/* ---- Sources --------------------------------------------------------------------------------- */

/* How the run was made that a results file is a part of; NULL: it is none. */
static char *run_of(const char *path) {
    sis_results *file;
    sis_record r;
    sis_provenance provenance = {0};
    char *text = NULL;
    if (cli_records_once(path) || sis_results_open(path, &file) != SIS_OK)
        return NULL; /* reading it will say what is wrong */
    if (sis_results_next(file, &r) > 0 && r.provenance &&
        sis_provenance_parse(r.provenance, &provenance) == SIS_OK && provenance.shards > 1) {
        provenance.shards = 1;
        provenance.shard = 0;
        provenance.version = provenance.kernels = provenance.engine = provenance.machine = NULL;
        sis_provenance_format(&provenance, &text);
    }
    sis_provenance_release(&provenance);
    sis_record_release(&r);
    sis_results_close(file);
    return text;
}

int cli_parts_add(cli_parts *p, const char *path, const char **source) {
    int status = cli_grow(&p->items, &p->room, p->n, sizeof *p->items);
    if (status != CLI_DONE)
        return status;
    char *run = run_of(path);
    *source = path;
    for (size_t i = 0; run && i < p->n; i++)
        if (p->items[i].run && strcmp(p->items[i].run, run) == 0) {
            *source = p->items[i].source;
            break;
        }
    p->items[p->n++] = (struct cli_part){path, *source, run};
    return CLI_DONE;
}

void cli_parts_release(cli_parts *p) {
    for (size_t i = 0; i < p->n; i++)
        free(p->items[i].run);
    free(p->items);
    *p = (cli_parts){0};
}

/* ---- In its place ---------------------------------------------------------------------------- */

static void ignore(void *ctx, size_t row) {
    (void)ctx;
    (void)row;
}

static int replace_file(const cli_lines *l, const char *path) {
    cli_output out;
    int status = cli_output_rewrite(&out, path);
    if (status == CLI_DONE)
        status = cli_lines_write(l, l->provenance_part, &out);
    return cli_output_close(&out, status);
}

static int settle(cli_lines *l, const char *path) {
    int status = l->n ? cli_lines_sort(l, ignore, NULL) : CLI_DONE;
    return status == CLI_DONE && l->n ? replace_file(l, path) : status;
}

int cli_lines_settle(const char *path, const char *provenance) {
    cli_lines l = {0};
    int status = cli_lines_add(&l, path);
    if (status == CLI_DONE && provenance) {
        forget_provenance(&l);
        status = take_provenance(&l, path, provenance);
    }
    if (status == CLI_DONE)
        status = settle(&l, path);
    cli_lines_release(&l);
    return status;
}

int cli_lines_settle_noted(cli_lines *l, const char *path, const char *provenance) {
    int status = add_path(l, path);
    if (status == CLI_DONE)
        status = take_provenance(l, path, provenance);
    return status == CLI_DONE ? settle(l, path) : status;
}
