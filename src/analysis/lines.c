/* SPDX-License-Identifier: MIT
 *
 * Merges and sorts lines of results files. Lines are copied unchanged, except a first line whose
 * provenance changes. See sis/analysis.h.
 */
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <sis/analysis.h>
#include <sis/data.h>
#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"

/* ---- Provenance ------------------------------------------------------------------------------ */

/* The provenance as text without the shard. */
static int whole_run(const char *path, const char *json, sis_provenance *provenance, char **text) {
    int error = sis_provenance_parse(json, provenance);
    *text = NULL;
    if (error != SIS_OK)
        return sis__fail_in(error, "%s", path);
    provenance->shard = 0;
    provenance->shards = 1;
    return sis_provenance_format(provenance, text);
}

/* The first difference between two provenances, in words. */
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

/* Only machines and versions may differ between the parts of a run. */
static int compare_runs(const sis_provenance *a, const sis_provenance *b, int *same) {
    sis_provenance x = *a, y = *b;
    char *one = NULL, *two = NULL;
    x.version = y.version = x.kernels = y.kernels = x.machine = y.machine = NULL;
    x.engine = y.engine = NULL;
    int error = sis_provenance_format(&x, &one);
    if (error == SIS_OK)
        error = sis_provenance_format(&y, &two);
    *same = error == SIS_OK && strcmp(one, two) == 0;
    free(one);
    free(two);
    return error;
}

static int take_provenance(sis_lines *l, const char *path, const char *json) {
    sis_provenance provenance = {0};
    char *text;
    int same = 0, error = whole_run(path, json, &provenance, &text);
    if (error == SIS_OK && !l->provenance_json) {
        l->provenance = provenance;
        l->provenance_json = text;
        l->provenance_by = path;
        l->provenance_part = sis__strdup(json);
        return l->provenance_part ? SIS_OK : SIS_E_NOMEM;
    }
    if (error == SIS_OK)
        error = compare_runs(&l->provenance, &provenance, &same);
    if (error == SIS_OK && !same)
        error = sis__fail(SIS_E_FORMAT, "%s and %s are not parts of one run: they differ in %s",
                          l->provenance_by, path, difference(&l->provenance, &provenance));
    sis_provenance_release(&provenance);
    free(text);
    return error;
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The example of a record: from its row, or from its id. */
static int find_row(const sis_record *r, const char *path, size_t *row) {
    char *end;
    if (r->has_row) {
        *row = r->row;
        return SIS_OK;
    }
    errno = 0;
    *row = strtoul(r->id, &end, 10);
    if (errno || *end || strchr("+- ", *r->id))
        return sis__fail(SIS_E_FORMAT, "%s: record \"%s\" does not say which example it explains",
                         path, r->id);
    return SIS_OK;
}

int sis_lines_note(sis_lines *l, const sis_line *line) {
    int error = sis__reserve(&l->items, &l->room, l->n + 1, sizeof *l->items);
    if (error == SIS_OK)
        l->items[l->n++] = *line;
    return error;
}

static int add_record(sis_lines *l, const sis_record *r, sis_line line) {
    const char *path = l->paths[line.file];
    int error = r->provenance ? take_provenance(l, path, r->provenance) : SIS_OK;
    if (error == SIS_OK && !l->provenance_json)
        return sis__fail(SIS_E_FORMAT,
                         "%s: has no provenance, so its order is unknown; it was "
                         "written by an older version",
                         path);
    if (error == SIS_OK)
        error = find_row(r, path, &line.row);
    line.first = r->provenance != NULL;
    line.retryable =
        r->collection.status == SIS_STATUS_ERROR || r->collection.status == SIS_STATUS_CUT;
    return error == SIS_OK ? sis_lines_note(l, &line) : error;
}

static int read_lines(sis_lines *l, FILE *file, const char *path) {
    sis_line line = {.file = l->n_files - 1};
    char *text = NULL;
    size_t room = 0, number = 0;
    int error = SIS_OK;
    sis_record r;
    for (ssize_t n; error == SIS_OK && (n = getline(&text, &room, file)) > 0; line.at += n) {
        number++;
        if (strspn(text, " \t\r\n") == (size_t)n)
            continue;
        if (text[n - 1] != '\n') {
            l->torn++;
            break;
        }
        line.length = (size_t)n;
        error = sis_record_parse(text, (size_t)n, &r);
        if (error != SIS_OK)
            sis__fail_in(error, "%s, line %zu", path, number);
        else
            error = add_record(l, &r, line);
        sis_record_release(&r);
    }
    if (error == SIS_OK && ferror(file))
        error = sis__fail(SIS_E_IO, "cannot read %s: %s", path, strerror(errno));
    free(text);
    return error;
}

static int add_path(sis_lines *l, const char *path) {
    const char **paths = sis__realloc(l->paths, l->n_files + 1, sizeof *paths);
    if (!paths)
        return SIS_E_NOMEM;
    l->paths = paths;
    l->paths[l->n_files++] = path;
    return SIS_OK;
}

int sis_lines_add(sis_lines *l, const char *path) {
    if (add_path(l, path) != SIS_OK)
        return SIS_E_NOMEM;
    FILE *file = fopen(path, "r");
    if (!file)
        return sis__fail(SIS_E_IO, "cannot open %s: %s", path, strerror(errno));
    int error = read_lines(l, file, path);
    fclose(file);
    return error;
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* The rows of the run, in order. */
static int find_order(const sis_lines *l, size_t **rows, size_t *n) {
    const sis_provenance *m = &l->provenance;
    if (m->rows) {
        int error = sis_rows_parse(m->rows, m->examples, rows, n);
        return error == SIS_OK ? SIS_OK : sis__fail_in(error, "--rows");
    }
    *n = m->examples;
    *rows = SIS_NEW(size_t, *n);
    for (size_t i = 0; *rows && i < *n; i++)
        (*rows)[i] = i;
    return *rows ? SIS_OK : SIS_E_NOMEM;
}

/* Put line i into its slot; slots (examples) hold line numbers + 1. */
static int place_line(const sis_lines *l, size_t i, size_t *slots) {
    const sis_line *line = &l->items[i];
    if (line->row >= l->provenance.examples)
        return sis__fail(SIS_E_FORMAT, "%s: has example %zu, but the input has only %zu",
                         l->paths[line->file], line->row, l->provenance.examples);
    size_t *slot = &slots[line->row];
    const sis_line *before = *slot ? &l->items[*slot - 1] : NULL;
    if (before && (!before->retryable || before->file != line->file))
        return sis__fail(SIS_E_FORMAT, "example %zu is in %s and in %s; remove one of them",
                         line->row, l->paths[before->file], l->paths[line->file]);
    *slot = i + 1;
    return SIS_OK;
}

/* Sort the items by row. */
static int arrange(sis_lines *l, const size_t *rows, size_t n_rows, size_t *slots,
                   void (*missing)(void *ctx, size_t row), void *ctx) {
    sis_line *items = SIS_NEW(sis_line, l->n);
    size_t n = 0;
    if (!items)
        return SIS_E_NOMEM;
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
            return sis__fail(SIS_E_FORMAT, "example %zu is not selected by --rows %s", row,
                             l->provenance.rows);
    return SIS_OK;
}

int sis_lines_sort(sis_lines *l, void (*missing)(void *ctx, size_t row), void *ctx) {
    size_t n = 0, *rows = NULL, *slots = SIS_NEW(size_t, l->provenance.examples);
    int error = slots ? find_order(l, &rows, &n) : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < l->n; i++)
        error = place_line(l, i, slots);
    if (error == SIS_OK)
        error = arrange(l, rows, n, slots, missing, ctx);
    free(rows);
    free(slots);
    return error;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* The record of a line with another provenance (NULL: none); free(*out). */
static int remake(const char *line, size_t n, const char *provenance, char **out, size_t *n_out) {
    sis_record r;
    int error = sis_record_parse(line, n, &r);
    *out = NULL;
    if (error != SIS_OK)
        return error;
    const char *own = r.provenance;
    int trace = 0;
    for (size_t k = 0; k < r.collection.n_subsets; k++)
        trace |= r.collection.subsets[k].trace.n > 0;
    r.provenance = provenance;
    error = sis_record_format(&r, trace, out, n_out);
    r.provenance = own;
    sis_record_release(&r);
    return error;
}

static int write_line(const sis_lines *l, size_t i, const char *provenance, FILE *file,
                      sis_lines_out *write, void *ctx) {
    const sis_line *line = &l->items[i];
    char *text = SIS_NEW(char, line->length + 1), *remade = NULL;
    size_t n = line->length;
    int error = text ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK && pread(fileno(file), text, n, (off_t)line->at) != (ssize_t)n)
        error = sis__fail(SIS_E_IO, "cannot read %s again", l->paths[line->file]);
    if (error == SIS_OK && (i == 0 || line->first))
        error = remake(text, n, i == 0 ? provenance : NULL, &remade, &n);
    if (error == SIS_OK)
        error = write(ctx, remade ? remade : text, n);
    free(text);
    free(remade);
    return error;
}

int sis_lines_write(const sis_lines *l, const char *provenance, sis_lines_out *write, void *ctx) {
    FILE **files = SIS_NEW(FILE *, l->n_files);
    int error = files ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < l->n_files; i++)
        if (!(files[i] = fopen(l->paths[i], "r")))
            error = sis__fail(SIS_E_IO, "cannot open %s: %s", l->paths[i], strerror(errno));
    for (size_t i = 0; error == SIS_OK && i < l->n; i++)
        error = write_line(l, i, provenance, files[l->items[i].file], write, ctx);
    for (size_t i = 0; files && i < l->n_files; i++)
        if (files[i])
            fclose(files[i]);
    free(files);
    return error;
}

static void forget_provenance(sis_lines *l) {
    sis_provenance_release(&l->provenance);
    free(l->provenance_json);
    free(l->provenance_part);
    l->provenance_json = l->provenance_part = NULL;
}

void sis_lines_release(sis_lines *l) {
    forget_provenance(l);
    free(l->items);
    free((void *)l->paths);
    *l = (sis_lines){0};
}

/* ---- Sources --------------------------------------------------------------------------------- */

int sis_results_once(const char *path) {
    struct stat st;
    return strcmp(path, "-") == 0 || (stat(path, &st) == 0 && S_ISFIFO(st.st_mode));
}

/* The provenance of the run of which a results file is a part; NULL: none. */
static char *run_of(const char *path) {
    sis_results *file;
    sis_record r;
    sis_provenance provenance = {0};
    char *text = NULL;
    if (sis_results_once(path) || sis_results_open(path, &file) != SIS_OK)
        return NULL; /* reading it reports the error */
    if (sis_results_next(file, &r) > 0 && r.provenance &&
        sis_provenance_parse(r.provenance, &provenance) == SIS_OK && provenance.shards > 1) {
        sis_provenance run = provenance;
        run.shards = 1;
        run.shard = 0;
        run.version = run.kernels = run.engine = run.machine = NULL;
        sis_provenance_format(&run, &text);
    }
    sis_provenance_release(&provenance);
    sis_record_release(&r);
    sis_results_close(file);
    return text;
}

int sis_parts_add(sis_parts *p, const char *path, const char **source) {
    int error = sis__reserve(&p->items, &p->room, p->n + 1, sizeof *p->items);
    if (error != SIS_OK)
        return error;
    char *run = run_of(path);
    *source = path;
    for (size_t i = 0; run && i < p->n; i++)
        if (p->items[i].run && strcmp(p->items[i].run, run) == 0) {
            *source = p->items[i].source;
            break;
        }
    p->items[p->n++] = (sis_part_file){path, *source, run};
    return SIS_OK;
}

void sis_parts_release(sis_parts *p) {
    for (size_t i = 0; i < p->n; i++)
        free(p->items[i].run);
    free(p->items);
    *p = (sis_parts){0};
}

/* ---- Sorting in place ------------------------------------------------------------------------ */

static void ignore(void *ctx, size_t row) {
    (void)ctx;
    (void)row;
}

/* Errors are checked at the end of the replacement. */
static int put_line(void *ctx, const char *bytes, size_t n) {
    fwrite(bytes, 1, n, ctx);
    return SIS_OK;
}

static int replace_file(const sis_lines *l, const char *path) {
    sis__replacement r;
    int error = sis__replace_begin(&r, path);
    if (error == SIS_OK)
        error = sis_lines_write(l, l->provenance_part, put_line, r.file);
    return sis__replace_end(&r, error);
}

static int sort_and_replace(sis_lines *l, const char *path) {
    int error = l->n ? sis_lines_sort(l, ignore, NULL) : SIS_OK;
    return error == SIS_OK && l->n ? replace_file(l, path) : error;
}

int sis_lines_sort_file(const char *path, const char *provenance) {
    sis_lines l = {0};
    int error = sis_lines_add(&l, path);
    if (error == SIS_OK && provenance) {
        forget_provenance(&l);
        error = take_provenance(&l, path, provenance);
    }
    if (error == SIS_OK)
        error = sort_and_replace(&l, path);
    sis_lines_release(&l);
    return error;
}

int sis_lines_sort_in_place(sis_lines *l, const char *path, const char *provenance) {
    int error = add_path(l, path);
    if (error == SIS_OK)
        error = take_provenance(l, path, provenance);
    return error == SIS_OK ? sort_and_replace(l, path) : error;
}
