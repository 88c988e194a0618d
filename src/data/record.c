/* SPDX-License-Identifier: MIT
 *
 * Records to text, and their end. The fields and their order are those of results.h.
 */
#include "data/record.h"

#include <math.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/error.h"

/* ---- Fields -------------------------------------------------------------------------------- */

static void put_name(sis__buf *b, const char *name) {
    if (b->len > 0 && b->data[b->len - 1] != '{')
        sis__buf_char(b, ',');
    sis__buf_json(b, name);
    sis__buf_char(b, ':');
}

static void put_text(sis__buf *b, const char *name, const char *text) {
    if (!text)
        return;
    put_name(b, name);
    sis__buf_json(b, text);
}

static void put_number(sis__buf *b, const char *name, double v) {
    put_name(b, name);
    sis__buf_double(b, v);
}

static void put_count(sis__buf *b, const char *name, size_t n) {
    put_name(b, name);
    sis__buf_printf(b, "%zu", n);
}

static void put_flag(sis__buf *b, const char *name, int v) {
    put_name(b, name);
    sis__buf_str(b, v ? "true" : "false");
}

/* Begin a list; the comma before its i-th entry; its end. */
static void put_list(sis__buf *b, const char *name) {
    put_name(b, name);
    sis__buf_char(b, '[');
}

static void put_comma(sis__buf *b, size_t i) {
    if (i > 0)
        sis__buf_char(b, ',');
}

static void put_ints(sis__buf *b, const char *name, const int *v, size_t n) {
    if (!v)
        return;
    put_list(b, name);
    for (size_t i = 0; i < n; i++)
        sis__buf_printf(b, i ? ",%d" : "%d", v[i]);
    sis__buf_char(b, ']');
}

static void put_counts(sis__buf *b, const char *name, const size_t *v, size_t n) {
    if (!v)
        return;
    put_list(b, name);
    for (size_t i = 0; i < n; i++)
        sis__buf_printf(b, i ? ",%zu" : "%zu", v[i]);
    sis__buf_char(b, ']');
}

static void put_numbers(sis__buf *b, const char *name, const double *v, size_t n) {
    if (!v)
        return;
    put_list(b, name);
    for (size_t i = 0; i < n; i++) {
        put_comma(b, i);
        sis__buf_double(b, v[i]);
    }
    sis__buf_char(b, ']');
}

static void put_texts(sis__buf *b, const char *name, const char *const *v, size_t n) {
    if (!v)
        return;
    put_list(b, name);
    for (size_t i = 0; i < n; i++) {
        put_comma(b, i);
        sis__buf_json(b, v[i]);
    }
    sis__buf_char(b, ']');
}

/* ---- The record ---------------------------------------------------------------------------- */

static const char *status_name(sis_status status) {
    static const char *const names[] = {
#define STATUS_NAME(code, text) [SIS_STATUS_##code] = text,
        SIS_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    };
    return names[status];
}

static void put_subset(sis__buf *b, const sis_subset *s, int with_trace) {
    sis__buf_char(b, '{');
    put_ints(b, "features", s->features, s->n);
    put_number(b, "score", s->score);
    if (with_trace && s->trace.n > 0) {
        if (!isnan(s->trace.start))
            put_number(b, "start", s->trace.start);
        put_ints(b, "order", s->trace.order, s->trace.n);
        put_numbers(b, "trace", s->trace.scores, s->trace.n);
    }
    sis__buf_char(b, '}');
}

static void put_decision(sis__buf *b, const sis_record *r) {
    put_count(b, "sis", 1);
    put_text(b, "id", r->id);
    put_text(b, "model", r->model);
    put_text(b, "method", r->method);
    put_count(b, "output", r->output);
    put_text(b, "output_label", r->output_label);
    put_text(b, "direction", r->below ? "<=" : ">=");
    put_number(b, "threshold", r->threshold);
}

static void put_collection(sis__buf *b, const sis_collection *c, int with_trace) {
    put_number(b, "score", c->score);
    put_number(b, "masked_score", c->masked_score);
    put_text(b, "status", status_name(c->status));
    put_text(b, "message", c->message);
    put_count(b, "n_features", c->n_features);
    put_list(b, "subsets");
    for (size_t k = 0; k < c->n_subsets; k++) {
        put_comma(b, k);
        put_subset(b, &c->subsets[k], with_trace);
    }
    sis__buf_char(b, ']');
    if (c->n_subsets > 0)
        put_number(b, "rest_score", c->rest_score);
    put_flag(b, "verified", c->verified);
    put_flag(b, "complete", c->complete);
    put_count(b, "evaluations", c->evaluations);
    put_number(b, "seconds", c->seconds < 1e9 ? round(c->seconds * 1e6) / 1e6 : c->seconds);
}

static void put_drawing(sis__buf *b, const sis_record *r) {
    put_text(b, "kind", r->kind);
    put_counts(b, "shape", r->shape, r->rank);
    put_numbers(b, "values", r->values, r->n_values);
    put_numbers(b, "mask", r->mask, r->n_values);
    put_texts(b, "names", r->names, r->n_names);
    put_ints(b, "feature_map", r->feature_map, r->n_values);
    put_text(b, "label", r->label);
    put_texts(b, "words", r->words, r->n_words);
    put_text(b, "sequence", r->sequence);
    put_ints(b, "human", r->human, r->n_human);
}

int sis_record_format(const sis_record *record, int with_trace, char **line, size_t *n) {
    *line = NULL;
    *n = 0;
    int code = sis__record_check(record, SIS_E_ARGUMENT);
    if (code != SIS_OK)
        return code;
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    put_decision(&b, record);
    put_collection(&b, &record->collection, with_trace);
    put_drawing(&b, record);
    sis__buf_str(&b, "}\n");
    if (sis__buf_error(&b) != SIS_OK) {
        sis__buf_release(&b);
        return SIS_E_NOMEM;
    }
    *line = b.data;
    *n = b.len;
    return SIS_OK;
}

/* ---- Release ------------------------------------------------------------------------------- */

/* A parsed record owns what its pointers to const show to everybody else. */
static void drop(const void *p) {
    free((void *)p);
}

static void release_collection(sis_collection *c) {
    for (size_t k = 0; k < c->n_subsets; k++) {
        free(c->subsets[k].features);
        free(c->subsets[k].trace.order);
        free(c->subsets[k].trace.scores);
    }
    free(c->subsets);
    free(c->message);
}

void sis_record_release(sis_record *record) {
    const void *const owned[] = {
        record->id,    record->model,  record->method,   record->output_label, record->kind,
        record->shape, record->values, record->mask,     record->names,        record->feature_map,
        record->label, record->words,  record->sequence, record->human};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        drop(owned[i]);
    release_collection(&record->collection);
    *record = (sis_record){0};
}
