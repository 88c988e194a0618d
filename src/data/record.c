/* SPDX-License-Identifier: MIT
 *
 * Records to text, and their end. The fields and their order are those of results.h.
 */
#include "data/record.h"

#include <math.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/json.h"

/* ---- The record ---------------------------------------------------------------------------- */

static void put_subset(sis__buf *b, const sis_record *r, const sis_subset *s, int with_trace) {
    sis__buf_char(b, '{');
    sis__json_ints(b, "features", s->features, s->n);
    sis__json_number(b, "score", s->score);
    if (r->constraint)
        sis__json_flag(b, "sufficient", sis_decided(s->score, r->threshold, r->below));
    if (with_trace && s->trace.n > 0) {
        if (!isnan(s->trace.start))
            sis__json_number(b, "start", s->trace.start);
        sis__json_ints(b, "order", s->trace.order, s->trace.n);
        sis__json_numbers(b, "trace", s->trace.scores, s->trace.n);
    }
    sis__buf_char(b, '}');
}

static void put_decision(sis__buf *b, const sis_record *r) {
    sis__json_count(b, "sis", 1);
    sis__json_text(b, "id", r->id);
    sis__json_text(b, "model", r->model);
    sis__json_text(b, "method", r->method);
    sis__json_text(b, "constraint", r->constraint);
    sis__json_count(b, "output", r->output);
    if (r->n_outputs)
        sis__json_count(b, "n_outputs", r->n_outputs);
    sis__json_text(b, "output_label", r->output_label);
    sis__json_text(b, "direction", r->below ? "<=" : ">=");
    sis__json_number(b, "threshold", r->threshold);
}

static void put_attributions(sis__buf *b, const sis_record *r) {
    sis__json_numbers(b, "attributions", r->attributions, r->n_attributions);
    if (!r->completeness)
        return;
    double sum = r->completeness[0], difference = r->completeness[1];
    sis__json_name(b, "completeness");
    sis__buf_char(b, '{');
    sis__json_number(b, "sum", sum);
    sis__json_number(b, "difference", difference);
    sis__json_number(b, "error", fabs(sum - difference) / fabs(difference));
    sis__buf_char(b, '}');
}

static void put_collection(sis__buf *b, const sis_record *r, int with_trace) {
    const sis_collection *c = &r->collection;
    sis__json_number(b, "score", c->score);
    sis__json_number(b, "masked_score", c->masked_score);
    sis__json_text(b, "status", sis_status_name(c->status));
    sis__json_text(b, "message", c->message);
    sis__json_count(b, "n_features", c->n_features);
    sis__json_list(b, "subsets");
    for (size_t k = 0; k < c->n_subsets; k++) {
        sis__json_comma(b, k);
        put_subset(b, r, &c->subsets[k], with_trace);
    }
    sis__buf_char(b, ']');
    if (c->n_subsets > 0)
        sis__json_number(b, "rest_score", c->rest_score);
    put_attributions(b, r);
    sis__json_flag(b, "verified", c->verified);
    sis__json_flag(b, "complete", c->complete);
    sis__json_count(b, "evaluations", c->evaluations);
    sis__json_number(b, "seconds", c->seconds < 1e9 ? round(c->seconds * 1e6) / 1e6 : c->seconds);
}

static void put_drawing(sis__buf *b, const sis_record *r) {
    sis__json_text(b, "kind", r->kind);
    sis__json_counts(b, "shape", r->shape, r->rank);
    sis__json_numbers(b, "values", r->values, r->n_values);
    sis__json_numbers(b, "mask", r->mask, r->n_values);
    sis__json_text(b, "masking", r->masking);
    sis__json_texts(b, "names", r->names, r->n_names);
    sis__json_texts(b, "value_names", r->value_names, r->n_values);
    sis__json_ints(b, "feature_map", r->feature_map, r->n_values);
    sis__json_text(b, "label", r->label);
    sis__json_texts(b, "words", r->words, r->n_words);
    sis__json_text(b, "sequence", r->sequence);
    sis__json_ints(b, "human", r->human, r->n_human);
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
    put_collection(&b, record, with_trace);
    put_drawing(&b, record);
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, line, n);
}

/* ---- Release ------------------------------------------------------------------------------- */

/* A parsed record owns what its pointers to const show to everybody else. */
static void drop(const void *p) {
    free((void *)p);
}

void sis_record_release(sis_record *record) {
    if (!record)
        return;
    const void *const owned[] = {
        record->id,           record->model,       record->method,     record->output_label,
        record->kind,         record->shape,       record->values,     record->mask,
        record->names,        record->feature_map, record->label,      record->words,
        record->sequence,     record->human,       record->constraint, record->attributions,
        record->completeness, record->value_names, record->by_feature, record->masking};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++)
        drop(owned[i]);
    sis_collection_release(&record->collection);
    *record = (sis_record){0};
}
