/* SPDX-License-Identifier: MIT
 *
 * Exports results as text formats. See sis/export.h. SQLite has its own file, because it is
 * optional.
 */
#include "results/export.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

/* ---- Cells ---------------------------------------------------------------------------------- */

const char *sis__export_class(const sis_record *r, char number[32]) {
    snprintf(number, 32, "%zu", r->question.target);
    return r->question.target_label ? r->question.target_label : number;
}

/* The value of a feature in a mask or in another example. */
static const char *put_other(const sis_record *r, const double *values, int feature,
                             const char *format, char number[SIS_NUMBER_SIZE]) {
    size_t count, first = sis_record_values(r, feature, &count);
    if (!values || count == 0)
        return "";
    const char *category = sis_record_category(r, values, feature);
    if (category || count > 1)
        return category ? category : "";
    if (isnan(values[first]))
        return "missing";
    sis__format(number, SIS_NUMBER_SIZE, format, values[first]);
    return number;
}

const char *sis__export_masked(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]) {
    return put_other(r, r->drawing.mask, feature, "%.6g", number);
}

const char *sis__export_becomes(const sis_record *r, size_t k, int feature,
                                char number[SIS_NUMBER_SIZE]) {
    const sis_guarantee *g = r->guarantee;
    return put_other(r, g && g->examples ? g->examples + k * r->drawing.n_values : NULL, feature,
                     "%.9g", number);
}

double sis__export_distance(const sis_record *r, size_t k) {
    return r->guarantee && r->guarantee->distances ? r->guarantee->distances[k] : NAN;
}

/* The value of a feature as text: its base or its value; "" if it has none. */
const char *sis__export_value(const sis_record *r, int feature, char number[SIS_NUMBER_SIZE]) {
    if (r->drawing.sequence && (size_t)feature < strlen(r->drawing.sequence)) {
        number[0] = r->drawing.sequence[feature];
        number[1] = '\0';
        return number;
    }
    const char *was = sis_record_was(r, feature, number);
    return was ? was : "";
}

/* ---- Coordinates ---------------------------------------------------------------------------- */

/* Parse an unsigned integer; NULL: none. */
static const char *take_number(const char *s, size_t *out) {
    size_t digits = strspn(s, "0123456789");
    if (digits == 0 || digits > 15)
        return NULL;
    *out = (size_t)strtoull(s, NULL, 10);
    return s + digits;
}

/* Find the bases of the record that are padding (--length). Cropping and padding are centred, as in
 * the reader. */
static void crop(sis__locus *l, size_t whole, size_t n) {
    size_t lost = whole > n ? whole - n : 0, added = n > whole ? n - whole : 0;
    l->start += l->reverse ? lost - lost / 2 : lost / 2;
    l->first = added / 2;
    l->bases = n - added;
}

/* Parse NAME:START-END, optionally followed by (-), at the end of an id. The name starts after the
 * last blank, ':' or '|' before it. */
int sis__export_locate(const sis_record *r, sis__locus *out) {
    size_t cropped = r->drawing.sequence ? strlen(r->drawing.sequence) : 0, start, end;
    size_t n = cropped && r->drawing.full_length ? r->drawing.full_length : cropped;
    const char *colon = n && r->id ? strrchr(r->id, ':') : NULL;
    *out = (sis__locus){0};
    if (!colon || colon == r->id)
        return 0;
    const char *at = take_number(colon + 1, &start);
    if (!at || *at != '-' || !(at = take_number(at + 1, &end)) || end < start)
        return 0;
    if (*at && strcmp(at, "(+)") != 0 && strcmp(at, "(-)") != 0 && strcmp(at, "(.)") != 0)
        return 0;
    const char *name = colon;
    while (name > r->id && !strchr(" \t\r\n:|>", name[-1]))
        name--;
    out->reverse = at[0] == '(' && at[1] == '-';
    out->strand = *at ? at[1] : '.';
    out->length = (size_t)(colon - name);
    out->chrom = name;
    if (end - start == n)
        out->start = start;
    else if (end - start + 1 == n && start > 0)
        out->start = start - 1;
    else
        return 0;
    crop(out, n, cropped);
    return out->length > 0;
}

int sis__locus_of(const sis__locus *l, size_t base, size_t *at) {
    if (base < l->first || base - l->first >= l->bases)
        return 0;
    base -= l->first;
    *at = l->start + (l->reverse ? l->bases - 1 - base : base);
    return 1;
}

/* The first base of a subset, and one past its last. 0: all bases are padding. */
static int span_of(const sis__locus *l, const sis_subset *s, size_t *from, size_t *to) {
    *from = SIZE_MAX;
    *to = 0;
    for (size_t i = 0, at; i < s->n; i++)
        if (sis__locus_of(l, (size_t)s->features[i], &at)) {
            *from = at < *from ? at : *from;
            *to = at + 1 > *to ? at + 1 : *to;
        }
    return *to > 0;
}

/* ---- Tables --------------------------------------------------------------------------------- */

/* Text without cell and line separators, for formats without quoting. */
static void put_plain(sis__buf *b, const char *text) {
    for (; *text; text++)
        sis__buf_char(b, strchr("\t\r\n", *text) ? ' ' : *text);
}

/* A cell, preceded by the separator. */
static void put(sis_export *e, const char *text) {
    sis__buf *b = &e->line;
    const char separator = e->tabs ? '\t' : ',';
    if (e->cells++)
        sis__buf_char(b, separator);
    int quote = text[strcspn(text, ",\"\r\n")] != '\0';
    if (e->tabs) {
        put_plain(b, text);
        return;
    }
    sis__buf_str(b, quote ? "\"" : "");
    for (; *text; text++) {
        if (*text == '"')
            sis__buf_char(b, '"');
        sis__buf_char(b, *text);
    }
    sis__buf_str(b, quote ? "\"" : "");
}

static void put_count(sis_export *e, size_t n) {
    char text[32];
    snprintf(text, sizeof text, "%zu", n);
    put(e, text);
}

static void put_number(sis_export *e, double v) {
    put(e, "");
    if (!isnan(v))
        sis__buf_double(&e->line, v);
}

static void end_row(sis_export *e) {
    sis__buf_char(&e->line, '\n');
    e->cells = 0;
}

static void put_record(sis_export *e, const sis_record *r) {
    char number[32];
    const sis_collection *c = &r->collection;
    put(e, r->id ? r->id : "");
    put(e, r->drawing.label ? r->drawing.label : "");
    put(e, r->model ? r->model : "");
    put(e, r->question.method ? r->question.method : "");
    put(e, sis__export_class(r, number));
    put(e, r->question.below ? "<=" : ">=");
    put_number(e, r->question.threshold);
    put_number(e, c->score);
    put(e, sis_status_name(c->status));
}

static void put_locus(sis_export *e, const sis__locus *l, size_t from, size_t to) {
    char name[256];
    snprintf(name, sizeof name, "%.*s", (int)(l->length < 255 ? l->length : 255), l->chrom);
    put(e, name);
    put_count(e, from);
    put_count(e, to);
}

static void put_empty(sis_export *e, size_t n) {
    while (n--)
        put(e, "");
}

/* Write a row for feature i of subset k. */
static void put_feature(sis_export *e, const sis_record *r, size_t k, size_t i) {
    const sis_subset *s = &r->collection.subsets[k];
    char text[512], number[SIS_NUMBER_SIZE];
    sis__locus l;
    size_t at;
    int feature = s->features[i];
    put_record(e, r);
    put_count(e, k + 1);
    put_count(e, s->n);
    put_number(e, s->score);
    put_count(e, i + 1);
    put_count(e, (size_t)feature);
    sis_record_name(r, feature, text, sizeof text);
    put(e, text);
    put(e, sis__export_value(r, feature, number));
    put(e, sis__export_masked(r, feature, number));
    if (sis__export_locate(r, &l) && sis__locus_of(&l, (size_t)feature, &at))
        put_locus(e, &l, at, at + 1);
    else
        put_empty(e, 3);
    put(e, sis__export_becomes(r, k, feature, number));
    put_number(e, sis__export_distance(r, k));
    end_row(e);
}

/* "age = 34; housing = own", or the changed values. */
static int list_features(const sis_record *r, size_t k, int becomes, sis__buf *b) {
    const sis_subset *s = &r->collection.subsets[k];
    char text[512], number[SIS_NUMBER_SIZE];
    for (size_t i = 0; i < s->n; i++) {
        sis_record_name(r, s->features[i], text, sizeof text);
        const char *was = becomes ? sis__export_becomes(r, k, s->features[i], number)
                                  : sis__export_value(r, s->features[i], number);
        sis__buf_printf(b, "%s%s%s%s", i ? "; " : "", text, *was ? " = " : "", was);
    }
    sis__buf_str(b, "");
    return sis__buf_error(b);
}

static int put_subset(sis_export *e, const sis_record *r, size_t k) {
    const sis_subset *s = &r->collection.subsets[k];
    sis__locus l;
    size_t from, to;
    sis__buf names, becomes;
    sis__buf_init(&names);
    sis__buf_init(&becomes);
    put_record(e, r);
    put_count(e, k + 1);
    put_count(e, s->n);
    put_number(e, s->score);
    int error = list_features(r, k, 0, &names);
    if (error == SIS_OK && r->guarantee && r->guarantee->examples)
        error = list_features(r, k, 1, &becomes);
    put(e, error == SIS_OK && names.data ? names.data : "");
    sis__buf_release(&names);
    if (sis__export_locate(r, &l) && span_of(&l, s, &from, &to))
        put_locus(e, &l, from, to);
    else
        put_empty(e, 3);
    put(e, error == SIS_OK && becomes.data ? becomes.data : "");
    sis__buf_release(&becomes);
    put_number(e, sis__export_distance(r, k));
    end_row(e);
    return error;
}

static int add_rows(sis_export *e, const sis_record *r) {
    const sis_collection *c = &r->collection;
    int error = SIS_OK;
    if (c->n_subsets == 0) {
        put_record(e, r);
        put_empty(e, e->opt.subsets ? 9 : 13);
        end_row(e);
    }
    for (size_t k = 0; error == SIS_OK && k < c->n_subsets; k++) {
        if (e->opt.subsets)
            error = put_subset(e, r, k);
        for (size_t i = 0; !e->opt.subsets && i < c->subsets[k].n; i++)
            put_feature(e, r, k, i);
    }
    return error;
}

static void add_title(sis_export *e) {
    static const char *const all[] = {"example", "label",     "model",     "method",
                                      "class",   "direction", "threshold", "score",
                                      "status",  "subset",    "size",      "subset_score"};
    static const char *const of_feature[] = {"place", "feature", "name", "value", "masked"};
    for (size_t k = 0; k < sizeof all / sizeof *all; k++)
        put(e, all[k]);
    for (size_t k = 0; !e->opt.subsets && k < sizeof of_feature / sizeof *of_feature; k++)
        put(e, of_feature[k]);
    if (e->opt.subsets)
        put(e, "features");
    put(e, "chrom");
    put(e, "start");
    put(e, "end");
    put(e, "becomes");
    put(e, "distance");
    end_row(e);
}

/* ---- BED ------------------------------------------------------------------------------------ */

static int by_size(const void *a, const void *b) {
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return (x > y) - (x < y);
}

/* Runs of adjacent bases in a subset: their number, lengths and starts relative to the first. at
 * (n) is sorted. */
static size_t add_blocks(const size_t *at, size_t n, sis__buf *sizes, sis__buf *starts) {
    size_t runs = 0;
    for (size_t i = 0, to; i < n; i = to, runs++) {
        for (to = i + 1; to < n && at[to] == at[to - 1] + 1;)
            to++;
        sis__buf_printf(sizes, "%s%zu", runs ? "," : "", to - i);
        sis__buf_printf(starts, "%s%zu", runs ? "," : "", at[i] - at[0]);
    }
    return runs;
}

/* Write the bases of subset k, except padding. *written: there are any. */
static int add_bed(sis_export *e, const sis_record *r, const sis__locus *l, size_t k,
                   int *written) {
    const sis_subset *s = &r->collection.subsets[k];
    size_t *at = SIS_NEW_RAW(size_t, s->n), n = 0;
    sis__buf sizes, starts;
    if (!at)
        return SIS_E_NOMEM;
    sis__buf_init(&sizes);
    sis__buf_init(&starts);
    for (size_t i = 0; i < s->n; i++)
        n += (size_t)sis__locus_of(l, (size_t)s->features[i], &at[n]);
    qsort(at, n, sizeof *at, by_size);
    size_t runs = add_blocks(at, n, &sizes, &starts);
    double score = s->score < 0 ? 0 : s->score > 1 ? 1 : s->score;
    int error = sis__buf_error(&sizes) ? SIS_E_NOMEM : sis__buf_error(&starts);
    if (error == SIS_OK && n > 0) {
        size_t from = at[0], to = at[n - 1] + 1;
        sis__buf_printf(&e->line, "%.*s\t%zu\t%zu\t", (int)l->length, l->chrom, from, to);
        put_plain(&e->line, r->id);
        sis__buf_printf(&e->line, "/%zu\t%.0f\t%c\t%zu\t%zu\t0\t%zu\t%s\t%s\n", k + 1, score * 1000,
                        l->strand, from, to, runs, sizes.data, starts.data);
        *written = 1;
    }
    sis__buf_release(&sizes);
    sis__buf_release(&starts);
    free(at);
    return error;
}

static int add_beds(sis_export *e, const sis_record *r) {
    sis__locus l;
    int error = SIS_OK, written = 0;
    if (sis__export_locate(r, &l))
        for (size_t k = 0; error == SIS_OK && k < r->collection.n_subsets; k++)
            error = add_bed(e, r, &l, k, &written);
    e->left_out += !written;
    return error;
}

/* ---- Entry points --------------------------------------------------------------------------- */

static int flush(sis_export *e, int error) {
    if (error == SIS_OK)
        error = sis__buf_error(&e->line);
    if (error == SIS_OK && e->line.len && e->opt.write)
        error = e->opt.write(e->opt.ctx, e->line.data, e->line.len);
    sis__buf_clear(&e->line);
    return error;
}

int sis_export_open(const sis_export_opt *opt, sis_export **out) {
    const char *format = opt->format ? opt->format : "";
    sis_export *e = SIS_NEW(sis_export, 1);
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    e->opt = *opt;
    sis__buf_init(&e->line);
    e->tabs = strcmp(format, "tsv") == 0;
    e->bed = strcmp(format, "bed") == 0;
    int error = SIS_OK;
    if (strcmp(format, "sqlite") == 0)
        error = sis__sqlite_open(opt->path, &e->sqlite);
    else if (!e->tabs && !e->bed && strcmp(format, "csv") != 0)
        error =
            sis__fail(SIS_E_OPTION, "--to: expected csv, tsv, bed or sqlite, found \"%s\"", format);
    else if (!e->bed)
        add_title(e);
    error = flush(e, error);
    if (error == SIS_OK)
        *out = e;
    else
        sis_export_cancel(e);
    return error;
}

int sis_export_add(sis_export *e, const sis_record *r) {
    int error = e->sqlite ? sis__sqlite_add(e->sqlite, r)
                          : flush(e, e->bed ? add_beds(e, r) : add_rows(e, r));
    e->error = e->error ? e->error : error;
    return error;
}

size_t sis_export_left_out(const sis_export *e) {
    return e->left_out;
}

static int end(sis_export *e, int error) {
    if (!e)
        return SIS_OK;
    if (e->sqlite)
        error = sis__sqlite_close(e->sqlite, error);
    sis__buf_release(&e->line);
    free(e);
    return error;
}

int sis_export_close(sis_export *e) {
    return end(e, e ? e->error : SIS_OK);
}

void sis_export_cancel(sis_export *e) {
    end(e, SIS_E_CANCELLED);
}
