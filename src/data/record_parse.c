/* SPDX-License-Identifier: MIT
 *
 * Text to records. jansson reads the JSON (depth, UTF-8 and number ranges are its job); here each
 * known field is taken with its type, into memory that grows with the text and nothing else, and
 * the rules of record_check.c then hold it against the others.
 *
 * Errors stick: the first field that is wrong leaves its message and its code in `fields`, and
 * taking any other does nothing after that. What is absent and may be leaves its place as it was.
 */
#include "data/record.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"

/* An object of the text. */
typedef struct {
    const json_t *object;
    char prefix[40]; /* of its fields' names in messages: "", "subsets[3]." */
    int code;
} fields;

enum { OPTIONAL, REQUIRED };

/* ---- One value ----------------------------------------------------------------------------- */

static const char *describe(const json_t *v) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return names[json_typeof(v)];
}

static void wrong(fields *f, const char *name, const char *expected, const json_t *found) {
    f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": expected %s, found %s", f->prefix, name,
                        expected, describe(found));
}

static double as_number(fields *f, const char *name, const json_t *v) {
    if (!json_is_number(v))
        wrong(f, name, "a number", v);
    return json_number_value(v);
}

/* A whole number from `least` to `most`. */
static json_int_t as_whole(fields *f, const char *name, const json_t *v, json_int_t least,
                           json_int_t most) {
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v))
        wrong(f, name, json_is_real(v) ? "a whole number" : "a number", v);
    else if (n < least || n > most)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": %lld is out of range", f->prefix, name,
                            (long long)n);
    return n;
}

static const char *as_text(fields *f, const char *name, const json_t *v) {
    if (!json_is_string(v))
        wrong(f, name, "text", v);
    return json_is_string(v) ? json_string_value(v) : "";
}

/* ---- Fields -------------------------------------------------------------------------------- */

/* The field's value; NULL if it is absent or something has gone wrong. */
static const json_t *find(fields *f, const char *name, int required) {
    const json_t *v = f->code == SIS_OK ? json_object_get(f->object, name) : NULL;
    if (!v && required && f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": is missing", f->prefix, name);
    return v;
}

static void take_number(fields *f, const char *name, int required, double *out) {
    const json_t *v = find(f, name, required);
    if (v)
        *out = as_number(f, name, v);
}

static void take_count(fields *f, const char *name, int required, size_t *out) {
    const json_t *v = find(f, name, required);
    if (v)
        *out = (size_t)as_whole(f, name, v, 0, PTRDIFF_MAX);
}

/* A count of what there is at least one of. */
static void take_some(fields *f, const char *name, size_t *out) {
    const json_t *v = find(f, name, OPTIONAL);
    if (v)
        *out = (size_t)as_whole(f, name, v, 1, PTRDIFF_MAX);
}

static void take_flag(fields *f, const char *name, int *out) {
    const json_t *v = find(f, name, OPTIONAL);
    if (v && !json_is_boolean(v))
        wrong(f, name, "true or false", v);
    else if (v)
        *out = json_is_true(v);
}

/* A copy of the text; NULL if it is absent. */
static char *take_text(fields *f, const char *name, int required) {
    const json_t *v = find(f, name, required);
    const char *text = v ? as_text(f, name, v) : NULL;
    char *copy = v && f->code == SIS_OK ? sis__strdup(text) : NULL;
    if (v && f->code == SIS_OK && !copy)
        f->code = SIS_E_NOMEM;
    return copy;
}

/* ---- Lists --------------------------------------------------------------------------------- */

/* A list of *n entries, or NULL like find(). */
static const json_t *find_list(fields *f, const char *name, int required, size_t *n) {
    const json_t *v = find(f, name, required);
    *n = v ? json_array_size(v) : 0;
    if (v && !json_is_array(v)) {
        wrong(f, name, "a list", v);
        return NULL;
    }
    return v;
}

/* Memory for the n entries of a list; NULL if there is no list, or no memory for it. */
static void *list_room(fields *f, const json_t *list, size_t n, size_t size) {
    void *room = list ? sis__alloc_raw(n, size) : NULL;
    if (list && !room)
        f->code = SIS_E_NOMEM;
    return room;
}

static double *take_numbers(fields *f, const char *name, size_t *n) {
    const json_t *list = find_list(f, name, OPTIONAL, n);
    double *out = (double *)list_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++)
        out[i] = as_number(f, name, json_array_get(list, i));
    return out;
}

/* Numbers among which null is a missing one, NaN. */
static double *take_values(fields *f, const char *name, size_t *n) {
    const json_t *list = find_list(f, name, OPTIONAL, n);
    double *out = (double *)list_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++) {
        const json_t *v = json_array_get(list, i);
        out[i] = json_is_null(v) ? NAN : as_number(f, name, v);
    }
    return out;
}

static int *take_ints(fields *f, const char *name, int required, size_t *n) {
    const json_t *list = find_list(f, name, required, n);
    int *out = (int *)list_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++)
        out[i] = (int)as_whole(f, name, json_array_get(list, i), INT_MIN, INT_MAX);
    return out;
}

static size_t *take_counts(fields *f, const char *name, size_t *n) {
    const json_t *list = find_list(f, name, OPTIONAL, n);
    size_t *out = (size_t *)list_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++)
        out[i] = (size_t)as_whole(f, name, json_array_get(list, i), 1, PTRDIFF_MAX);
    return out;
}

static const char **take_texts(fields *f, const char *name, size_t *n) {
    const json_t *list = find_list(f, name, OPTIONAL, n);
    sis__strings texts = {0};
    const char **out = NULL;
    for (size_t i = 0; list && i < *n && f->code == SIS_OK; i++)
        sis__strings_add(&texts, as_text(f, name, json_array_get(list, i)));
    if (list && f->code == SIS_OK && !(out = sis__strings_finish(&texts)))
        f->code = SIS_E_NOMEM;
    sis__strings_release(&texts);
    return out;
}

/* The list in `name` has `found` entries; it must have as many as `other`. */
static void check_pair(fields *f, const char *name, size_t found, const char *other, size_t n) {
    if (f->code == SIS_OK && found != n)
        f->code =
            sis__fail(SIS_E_FORMAT, "field \"%s%s\": expected %zu entries as in \"%s\", found %zu",
                      f->prefix, name, n, other, found);
}

/* ---- The record ---------------------------------------------------------------------------- */

static void take_version(fields *f) {
    size_t version = 1;
    take_count(f, "sis", REQUIRED, &version);
    if (f->code == SIS_OK && version != 1)
        f->code = sis__fail(SIS_E_FORMAT, "field \"sis\": version %zu of the format; expected 1",
                            version);
}

/* The number of the field's text among n names. */
static size_t take_choice(fields *f, const char *name, const char *const *names, size_t n) {
    const json_t *v = find(f, name, REQUIRED);
    const char *text = v ? as_text(f, name, v) : "";
    char excerpt[SIS__EXCERPT_SIZE];
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    if (f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s\": \"%s\" is none of its values", name,
                            sis__cell_excerpt(text, excerpt));
    return 0;
}

static void take_decision(fields *f, sis_record *r) {
    static const char *const directions[] = {">=", "<="};
    take_version(f);
    r->id = take_text(f, "id", REQUIRED);
    r->model = take_text(f, "model", REQUIRED);
    r->method = take_text(f, "method", REQUIRED);
    r->constraint = take_text(f, "constraint", OPTIONAL);
    take_count(f, "output", REQUIRED, &r->output);
    take_some(f, "n_outputs", &r->n_outputs);
    r->output_label = take_text(f, "output_label", OPTIONAL);
    r->below = (int)take_choice(f, "direction", directions, 2);
    take_number(f, "threshold", REQUIRED, &r->threshold);
}

/* A score that is null if the model failed. */
static void take_score(fields *f, const char *name, sis_status status, double *out) {
    *out = NAN;
    if (status != SIS_STATUS_ERROR || !json_is_null(json_object_get(f->object, name)))
        take_number(f, name, REQUIRED, out);
}

static void take_subset(fields *f, sis_subset *s) {
    size_t scores;
    s->features = take_ints(f, "features", REQUIRED, &s->n);
    take_number(f, "score", REQUIRED, &s->score);
    s->trace.start = NAN;
    take_number(f, "start", OPTIONAL, &s->trace.start);
    s->trace.order = take_ints(f, "order", OPTIONAL, &s->trace.n);
    s->trace.scores = take_numbers(f, "trace", &scores);
    check_pair(f, "trace", scores, "order", s->trace.n);
}

static void take_subsets(fields *f, sis_collection *c) {
    size_t n;
    const json_t *list = find_list(f, "subsets", REQUIRED, &n);
    if (n == 0 || f->code != SIS_OK)
        return;
    if (!(c->subsets = SIS_NEW(sis_subset, n))) {
        f->code = SIS_E_NOMEM;
        return;
    }
    c->n_subsets = n;
    for (size_t k = 0; k < n && f->code == SIS_OK; k++) {
        fields subset = {.object = json_array_get(list, k)};
        snprintf(subset.prefix, sizeof subset.prefix, "subsets[%zu].", k);
        if (json_is_object(subset.object))
            take_subset(&subset, &c->subsets[k]);
        else
            wrong(&subset, "features", "an object around it", subset.object);
        f->code = subset.code;
    }
    if (isnan(c->subsets[0].trace.start))
        c->subsets[0].trace.start = c->score;
}

static void take_collection(fields *f, sis_collection *c) {
    static const char *const statuses[] = {
#define STATUS_NAME(code, text) [SIS_STATUS_##code] = text,
        SIS_STATUSES(STATUS_NAME)
#undef STATUS_NAME
    };
    c->status = (sis_status)take_choice(f, "status", statuses, sizeof statuses / sizeof *statuses);
    c->message = take_text(f, "message", OPTIONAL);
    take_score(f, "score", c->status, &c->score);
    take_score(f, "masked_score", c->status, &c->masked_score);
    take_count(f, "n_features", REQUIRED, &c->n_features);
    take_subsets(f, c);
    c->rest_score = c->score; /* without subsets the rest is everything */
    if (c->n_subsets > 0)
        take_number(f, "rest_score", REQUIRED, &c->rest_score);
    take_flag(f, "verified", &c->verified);
    take_flag(f, "complete", &c->complete);
    take_count(f, "evaluations", OPTIONAL, &c->evaluations);
    take_number(f, "seconds", OPTIONAL, &c->seconds);
}

/* What the method says of its own subsets. */
static sis_claim claim_of(const sis_record *r) {
    if (!r->constraint || strcmp(r->method, "gradient") == 0)
        return SIS_CLAIM_MINIMAL;
    return strcmp(r->constraint, "sufficient") == 0 ? SIS_CLAIM_SUFFICIENT : SIS_CLAIM_NOTHING;
}

static void take_attributions(fields *f, sis_record *r) {
    r->attributions = take_numbers(f, "attributions", &r->n_attributions);
    const json_t *v = find(f, "completeness", OPTIONAL);
    double *pair = v ? SIS_NEW(double, 2) : NULL;
    if (!v)
        return;
    if (!pair)
        f->code = SIS_E_NOMEM;
    else if (!json_is_object(v))
        wrong(f, "completeness", "an object", v);
    r->completeness = pair;
    fields inner = {.object = v, .prefix = "completeness.", .code = f->code};
    if (f->code == SIS_OK) {
        take_number(&inner, "sum", REQUIRED, &pair[0]);
        take_number(&inner, "difference", REQUIRED, &pair[1]);
    }
    f->code = inner.code;
}

static void take_drawing(fields *f, sis_record *r) {
    size_t n;
    r->kind = take_text(f, "kind", OPTIONAL);
    r->shape = take_counts(f, "shape", &r->rank);
    r->values = take_values(f, "values", &r->n_values);
    r->mask = take_values(f, "mask", &n);
    if (r->mask)
        check_pair(f, "mask", n, "values", r->n_values);
    r->masking = take_text(f, "masking", OPTIONAL);
    r->names = take_texts(f, "names", &r->n_names);
    r->value_names = take_texts(f, "value_names", &n);
    if (r->value_names)
        check_pair(f, "value_names", n, "values", r->n_values);
    r->feature_map = take_ints(f, "feature_map", OPTIONAL, &n);
    if (r->feature_map)
        check_pair(f, "feature_map", n, "values", r->n_values);
    r->label = take_text(f, "label", OPTIONAL);
    r->words = take_texts(f, "words", &r->n_words);
    r->sequence = take_text(f, "sequence", OPTIONAL);
    r->human = take_ints(f, "human", OPTIONAL, &r->n_human);
}

static int not_json(const json_error_t *error) {
    char text[SIS__EXCERPT_SIZE];
    if (json_error_code(error) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    if (json_error_code(error) == json_error_null_character)
        return sis__fail(SIS_E_FORMAT, "not a record: a text holds \\u0000 (byte %d)",
                         error->position);
    return sis__fail(SIS_E_FORMAT, "not a record: %s (byte %d)",
                     sis__cell_excerpt(error->text, text), error->position);
}

int sis_record_parse(const char *line, size_t n, sis_record *out) {
    json_error_t error;
    *out = (sis_record){0};
    if (memchr(line, '\0', n)) /* which jansson would pass over */
        return sis__fail(SIS_E_FORMAT, "not a record: it holds a NUL byte");
    json_t *root = json_loadb(line, n, JSON_REJECT_DUPLICATES, &error);
    if (!root)
        return not_json(&error);
    fields f = {.object = root};
    if (!json_is_object(root))
        f.code = sis__fail(SIS_E_FORMAT, "not a record: expected a JSON object, found a list");
    take_decision(&f, out);
    take_collection(&f, &out->collection);
    take_attributions(&f, out);
    take_drawing(&f, out);
    if (f.code == SIS_OK) {
        out->collection.claim = claim_of(out);
        f.code = sis__record_check(out, SIS_E_FORMAT);
    }
    if (f.code == SIS_OK && out->feature_map)
        f.code = sis__record_index(out);
    if (f.code != SIS_OK)
        sis_record_release(out);
    json_decref(root);
    return f.code;
}
