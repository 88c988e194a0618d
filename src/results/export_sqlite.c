/* SPDX-License-Identifier: MIT
 *
 * Exports results as a SQLite file: tables of records, subsets and features, a view with all
 * columns, and an index by feature name. Without libsqlite3, it reports an error.
 */
#include "results/export.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/replace.h"

#ifdef SIS_SQLITE
#include <sqlite3.h>

static const char schema[] =
    "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN;"
    "CREATE TABLE records(record INTEGER PRIMARY KEY, example TEXT, label TEXT, model TEXT,"
    " method TEXT, class TEXT, direction TEXT, threshold REAL, score REAL, masked_score REAL,"
    " status TEXT, kind TEXT, n_features INTEGER);"
    "CREATE TABLE subsets(subset INTEGER PRIMARY KEY, record INTEGER, number INTEGER,"
    " size INTEGER, score REAL, distance REAL);"
    "CREATE TABLE features(subset INTEGER, place INTEGER, feature INTEGER, name TEXT, value,"
    " masked, chrom TEXT, start INTEGER, becomes);"
    "CREATE VIEW found AS SELECT r.example, r.label, r.model, r.method, r.class, r.direction,"
    " r.threshold, r.score, r.status, s.number AS subset, s.size, s.score AS subset_score,"
    " f.place, f.feature, f.name, f.value, f.masked, f.chrom, f.start,"
    " f.becomes, s.distance"
    " FROM features f JOIN subsets s ON s.subset = f.subset JOIN records r ON r.record = s.record;";

static const char indices[] = "CREATE INDEX features_by_name ON features(name, subset);"
                              "CREATE INDEX features_by_subset ON features(subset);"
                              "CREATE INDEX subsets_by_record ON subsets(record);"
                              "CREATE INDEX records_by_example ON records(example);"
                              "COMMIT; ANALYZE;";

enum { RECORD, SUBSET, FEATURE, STATEMENTS };
static const char *const inserts[] = {
    "INSERT INTO records VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?)",
    "INSERT INTO subsets VALUES(?,?,?,?,?,?)",
    "INSERT INTO features VALUES(?,?,?,?,?,?,?,?,?)",
};

struct sis__sqlite {
    sqlite3 *db;
    sqlite3_stmt *insert[STATEMENTS];
    char *path;
    sis__replacement file;
    sqlite3_int64 records, subsets;
};

static int failed(const sis__sqlite *s, int code) {
    return code == SQLITE_NOMEM
               ? sis__fail(SIS_E_NOMEM, "out of memory")
               : sis__fail(SIS_E_IO, "cannot write %s: %s", s->path, sqlite3_errmsg(s->db));
}

static int execute(const sis__sqlite *s, const char *statements) {
    int code = sqlite3_exec(s->db, statements, NULL, NULL, NULL);
    return code == SQLITE_OK ? SIS_OK : failed(s, code);
}

static int release(sis__sqlite *s, int error) {
    for (size_t k = 0; k < STATEMENTS; k++)
        sqlite3_finalize(s->insert[k]);
    int code = sqlite3_close(s->db);
    if (error == SIS_OK && code != SQLITE_OK)
        error = sis__fail(SIS_E_IO, "cannot close %s", s->path);
    error = sis__replace_end(&s->file, error);
    free(s->path);
    free(s);
    return error;
}

int sis__sqlite_open(const char *path, sis__sqlite **out) {
    sis__sqlite *s = SIS_NEW(sis__sqlite, 1);
    *out = NULL;
    if (!s || !(s->path = sis__strdup(path ? path : ""))) {
        free(s);
        return SIS_E_NOMEM;
    }
    int error = SIS_OK;
    if (!*s->path)
        error = sis__fail(SIS_E_OPTION, "--output: a SQLite file needs a name");
    if (error == SIS_OK)
        error = sis__replace_begin(&s->file, path);
    if (error == SIS_OK && !s->file.part)
        error = sis__fail(SIS_E_IO,
                          "%s is a device or a pipe; a SQLite file cannot be written to it", path);
    if (error == SIS_OK && sqlite3_open(s->file.part, &s->db) != SQLITE_OK)
        error = failed(s, SQLITE_ERROR);
    if (error == SIS_OK)
        error = execute(s, schema);
    for (size_t k = 0; error == SIS_OK && k < STATEMENTS; k++) {
        int code = sqlite3_prepare_v2(s->db, inserts[k], -1, &s->insert[k], NULL);
        error = code == SQLITE_OK ? SIS_OK : failed(s, code);
    }
    if (error != SIS_OK)
        return release(s, error);
    *out = s;
    return SIS_OK;
}

/* ---- Rows ----------------------------------------------------------------------------------- */

/* Fills the cells of a row in order; "" becomes NULL. */
typedef struct {
    sqlite3_stmt *row;
    int cell;
} filler;

static void put_text(filler *f, const char *text) {
    f->cell++;
    if (text && *text)
        sqlite3_bind_text(f->row, f->cell, text, -1, SQLITE_TRANSIENT);
    else
        sqlite3_bind_null(f->row, f->cell);
}

static void put_number(filler *f, double v) {
    sqlite3_bind_double(f->row, ++f->cell, v); /* NaN is NULL */
}

static void put_whole(filler *f, sqlite3_int64 v) {
    sqlite3_bind_int64(f->row, ++f->cell, v);
}

/* Store a number as a number, so that it can be compared. */
static void put_value(filler *f, const char *text, const char *number) {
    char *end;
    double v = sis__number(text, &end);
    if (text == number && !*end && isfinite(v))
        put_number(f, v);
    else
        put_text(f, text);
}

static int finish(const sis__sqlite *s, const filler *f) {
    int code = sqlite3_step(f->row);
    sqlite3_reset(f->row);
    return code == SQLITE_DONE ? SIS_OK : failed(s, code);
}

static int add_feature(sis__sqlite *s, const sis_record *r, size_t k, size_t i) {
    const sis_subset *subset = &r->collection.subsets[k];
    filler f = {s->insert[FEATURE], 0};
    char name[512], number[SIS_NUMBER_SIZE];
    int feature = subset->features[i];
    sis__locus l;
    size_t at;
    put_whole(&f, s->subsets);
    put_whole(&f, (sqlite3_int64)i + 1);
    put_whole(&f, feature);
    sis_record_name(r, feature, name, sizeof name);
    put_text(&f, name);
    put_value(&f, sis__export_value(r, feature, number), number);
    put_value(&f, sis__export_masked(r, feature, number), number);
    if (sis__export_locate(r, &l) && sis__locus_of(&l, (size_t)feature, &at)) {
        snprintf(name, sizeof name, "%.*s", (int)l.length, l.chrom);
        put_text(&f, name);
        put_whole(&f, (sqlite3_int64)at);
    } else {
        put_text(&f, NULL);
        put_text(&f, NULL);
    }
    put_value(&f, sis__export_becomes(r, k, feature, number), number);
    return finish(s, &f);
}

static int add_subset(sis__sqlite *s, const sis_record *r, size_t k) {
    const sis_subset *subset = &r->collection.subsets[k];
    filler f = {s->insert[SUBSET], 0};
    put_whole(&f, ++s->subsets);
    put_whole(&f, s->records);
    put_whole(&f, (sqlite3_int64)k + 1);
    put_whole(&f, (sqlite3_int64)subset->n);
    put_number(&f, subset->score);
    put_number(&f, sis__export_distance(r, k));
    int error = finish(s, &f);
    for (size_t i = 0; error == SIS_OK && i < subset->n; i++)
        error = add_feature(s, r, k, i);
    return error;
}

int sis__sqlite_add(sis__sqlite *s, const sis_record *r) {
    filler f = {s->insert[RECORD], 0};
    const sis_collection *c = &r->collection;
    char number[32];
    put_whole(&f, ++s->records);
    put_text(&f, r->id);
    put_text(&f, r->drawing.label);
    put_text(&f, r->model);
    put_text(&f, r->question.method);
    put_text(&f, sis__export_class(r, number));
    put_text(&f, r->question.below ? "<=" : ">=");
    put_number(&f, r->question.threshold);
    put_number(&f, c->score);
    put_number(&f, c->masked_score);
    put_text(&f, sis_status_name(c->status));
    put_text(&f, r->drawing.kind);
    put_whole(&f, (sqlite3_int64)c->n_features);
    int error = finish(s, &f);
    for (size_t k = 0; error == SIS_OK && k < c->n_subsets; k++)
        error = add_subset(s, r, k);
    return error;
}

int sis__sqlite_close(sis__sqlite *s, int error) {
    return release(s, error == SIS_OK ? execute(s, indices) : error);
}

#else

int sis__sqlite_open(const char *path, sis__sqlite **out) {
    (void)path;
    *out = NULL;
    return sis__fail(SIS_E_UNSUPPORTED, "this build has no SQLite; install it (Debian: "
                                        "libsqlite3-dev) and build again, or use csv, tsv or bed");
}

int sis__sqlite_add(sis__sqlite *s, const sis_record *r) {
    (void)s, (void)r;
    return SIS_E_UNSUPPORTED;
}

int sis__sqlite_close(sis__sqlite *s, int error) {
    (void)s;
    return error;
}

#endif
