/* SPDX-License-Identifier: MIT
 *
 * Reads fields of JSON objects. See fields.h.
 */
#include "results/fields.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "data/cell.h"

/* ---- Memory -------------------------------------------------------------------------------- */

/* Keep `room` as long as the result; frees it on failure. */
static int keep(sis__held *held, void *room) {
    int code = sis__reserve(&held->rooms, &held->cap, held->n + 1, sizeof *held->rooms);
    if (code == SIS_OK)
        held->rooms[held->n++] = room;
    else
        free(room);
    return code;
}

void *sis__held_room(sis__held *held, size_t n, size_t size) {
    void *room = sis__alloc(n, size);
    return room && keep(held, room) == SIS_OK ? room : NULL;
}

char *sis__held_text(sis__held *held, const char *text) {
    char *copy = (char *)sis__held_room(held, strlen(text) + 1, 1);
    if (copy)
        strcpy(copy, text);
    return copy;
}

void sis__held_free(void *p) {
    sis__held *held = (sis__held *)p;
    if (!held)
        return;
    for (size_t i = 0; i < held->n; i++)
        free(held->rooms[i]);
    free(held->rooms);
    json_decref(held->root);
    free(held);
}

/* ---- Opening ------------------------------------------------------------------------------- */

static int not_json(const json_error_t *error, const char *what) {
    char text[SIS__EXCERPT_SIZE];
    if (json_error_code(error) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    if (json_error_code(error) == json_error_null_character)
        return sis__fail(SIS_E_FORMAT, "not %s: a text contains \\u0000 (byte %d)", what,
                         error->position);
    return sis__fail(SIS_E_FORMAT, "not %s: %s (byte %d)", what,
                     sis__cell_excerpt(error->text, text), error->position);
}

int sis__json_read(const char *text, size_t n, const char *what, json_t **root) {
    json_error_t error;
    *root = NULL;
    if (memchr(text, '\0', n)) /* jansson would ignore it */
        return sis__fail(SIS_E_FORMAT, "not %s: it contains a NUL byte", what);
    if (!(*root = sis__json_load(text, n, JSON_REJECT_DUPLICATES, &error)))
        return not_json(&error, what);
    return SIS_OK;
}

void sis__finding_open(sis__fields *f, const char *text, size_t n, const char *what,
                       const char *writer, const char *field) {
    *f = (sis__fields){.held = SIS_NEW(sis__held, 1), .nulls = 1};
    f->code = f->held ? sis__json_read(text, n, what, &f->held->root) : SIS_E_NOMEM;
    if (f->code != SIS_OK)
        return;
    f->object = f->held->root;
    if (!json_is_object(f->object) || !json_object_get(f->object, field))
        f->code = sis__fail(SIS_E_FORMAT, "not %s: expected the JSON object that %s writes", what,
                            writer);
}

int sis__finding_close(sis__fields *f, void **held) {
    *held = f->code == SIS_OK ? f->held : NULL;
    if (f->code != SIS_OK)
        sis__held_free(f->held);
    return f->code;
}

/* ---- One value ----------------------------------------------------------------------------- */

static const char *describe(const json_t *v) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return names[json_typeof(v)];
}

void sis__fields_wrong(sis__fields *f, const char *name, const char *expected,
                       const json_t *found) {
    if (f->code != SIS_OK)
        return;
    f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": expected %s, found %s", f->prefix, name,
                        expected, found ? describe(found) : "nothing");
}

static double as_number(sis__fields *f, const char *name, const json_t *v) {
    if (f->nulls && json_is_null(v))
        return NAN;
    if (!json_is_number(v))
        sis__fields_wrong(f, name, "a number", v);
    return json_number_value(v);
}

/* An integer from `min` to `max`. */
static json_int_t as_whole(sis__fields *f, const char *name, const json_t *v, json_int_t min,
                           json_int_t max) {
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v))
        sis__fields_wrong(f, name, json_is_real(v) ? "a whole number" : "a number", v);
    else if (n < min || n > max)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": %lld is out of range", f->prefix, name,
                            (long long)n);
    return n;
}

static const char *as_text(sis__fields *f, const char *name, const json_t *v) {
    if (!json_is_string(v))
        sis__fields_wrong(f, name, "text", v);
    return json_is_string(v) ? json_string_value(v) : "";
}

/* ---- Fields -------------------------------------------------------------------------------- */

const json_t *sis__find_field(sis__fields *f, const char *name, int required) {
    const json_t *v = f->code == SIS_OK ? json_object_get(f->object, name) : NULL;
    if (!v && required && f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": is missing", f->prefix, name);
    return v;
}

void sis__take_number(sis__fields *f, const char *name, int required, double *out) {
    const json_t *v = sis__find_field(f, name, required);
    if (v)
        *out = as_number(f, name, v);
}

void sis__take_count(sis__fields *f, const char *name, int required, size_t *out) {
    const json_t *v = sis__find_field(f, name, required);
    if (v)
        *out = (size_t)as_whole(f, name, v, 0, PTRDIFF_MAX);
}

void sis__take_some(sis__fields *f, const char *name, size_t *out) {
    const json_t *v = sis__find_field(f, name, SIS__OPTIONAL);
    if (v)
        *out = (size_t)as_whole(f, name, v, 1, PTRDIFF_MAX);
}

void sis__take_flag(sis__fields *f, const char *name, int *out) {
    const json_t *v = sis__find_field(f, name, SIS__OPTIONAL);
    if (v && !json_is_boolean(v))
        sis__fields_wrong(f, name, "true or false", v);
    else if (v)
        *out = json_is_true(v);
}

char *sis__take_text(sis__fields *f, const char *name, int required) {
    const json_t *v = sis__find_field(f, name, required);
    const char *text = v ? as_text(f, name, v) : NULL;
    if (f->held)
        return (char *)(uintptr_t)text;
    char *copy = v && f->code == SIS_OK ? sis__strdup(text) : NULL;
    if (v && f->code == SIS_OK && !copy)
        f->code = SIS_E_NOMEM;
    return copy;
}

const char *sis__take_text_or(sis__fields *f, const char *name, const char *other) {
    const char *text = sis__take_text(f, name, SIS__OPTIONAL);
    return text ? text : other;
}

void sis__take_share(sis__fields *f, const char *name, double *out) {
    const json_t *v = sis__find_field(f, name, SIS__OPTIONAL);
    double share = json_is_boolean(v) ? json_is_true(v) : v ? as_number(f, name, v) : NAN;
    if (share < 0 || share > 1)
        sis__fields_wrong(f, name, "a share from 0 to 1", v);
    *out = share;
}

/* ---- Objects ------------------------------------------------------------------------------- */

sis__fields sis__enter(sis__fields *f, const char *name, int required) {
    sis__fields inner = *f;
    inner.object = sis__find_field(f, name, required);
    if (inner.object && !json_is_object(inner.object))
        sis__fields_wrong(f, name, "an object", inner.object);
    inner.code = f->code;
    snprintf(inner.prefix, sizeof inner.prefix, "%.40s%.20s.", f->prefix, name);
    return inner;
}

sis__fields sis__enter_item(sis__fields *f, const char *name, const json_t *list, size_t i) {
    sis__fields inner = *f;
    inner.object = json_array_get(list, i);
    if (!json_is_object(inner.object))
        sis__fields_wrong(f, name, "objects", inner.object);
    inner.code = f->code;
    snprintf(inner.prefix, sizeof inner.prefix, "%.40s%.12s[%zu].", f->prefix, name, i % 1000000);
    return inner;
}

void sis__leave(sis__fields *f, const sis__fields *inner) {
    f->code = inner->code;
}

/* ---- Lists --------------------------------------------------------------------------------- */

const json_t *sis__find_list(sis__fields *f, const char *name, int required, size_t *n) {
    const json_t *v = sis__find_field(f, name, required);
    *n = v ? json_array_size(v) : 0;
    if (v && !json_is_array(v)) {
        sis__fields_wrong(f, name, "a list", v);
        return NULL;
    }
    return v;
}

void *sis__fields_room(sis__fields *f, const json_t *list, size_t n, size_t size) {
    void *room = !list     ? NULL
                 : f->held ? sis__held_room(f->held, n, size)
                           : sis__alloc_raw(n, size);
    if (list && !room)
        f->code = SIS_E_NOMEM;
    return room;
}

double *sis__take_numbers(sis__fields *f, const char *name, size_t *n) {
    const json_t *list = sis__find_list(f, name, SIS__OPTIONAL, n);
    double *out = (double *)sis__fields_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++)
        out[i] = as_number(f, name, json_array_get(list, i));
    return out;
}

int *sis__take_ints(sis__fields *f, const char *name, int required, size_t *n) {
    const json_t *list = sis__find_list(f, name, required, n);
    int *out = (int *)sis__fields_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++)
        out[i] = (int)as_whole(f, name, json_array_get(list, i), INT_MIN, INT_MAX);
    return out;
}

size_t *sis__take_counts(sis__fields *f, const char *name, size_t *n) {
    const json_t *list = sis__find_list(f, name, SIS__OPTIONAL, n);
    size_t *out = (size_t *)sis__fields_room(f, list, *n, sizeof *out);
    for (size_t i = 0; out && i < *n && f->code == SIS_OK; i++)
        out[i] = (size_t)as_whole(f, name, json_array_get(list, i), 1, PTRDIFF_MAX);
    return out;
}

const char **sis__take_texts(sis__fields *f, const char *name, size_t *n) {
    const json_t *list = sis__find_list(f, name, SIS__OPTIONAL, n);
    sis__strings texts = {0};
    const char **out = NULL;
    if (f->held) {
        out = (const char **)sis__fields_room(f, list, *n, sizeof *out);
        for (size_t i = 0; out && i < *n; i++)
            out[i] = as_text(f, name, json_array_get(list, i));
        return out;
    }
    for (size_t i = 0; list && i < *n && f->code == SIS_OK; i++)
        sis__strings_add(&texts, as_text(f, name, json_array_get(list, i)));
    if (list && f->code == SIS_OK && !(out = sis__strings_finish(&texts)))
        f->code = SIS_E_NOMEM;
    sis__strings_release(&texts);
    return out;
}

void sis__fields_pair(sis__fields *f, const char *name, size_t found, const char *other, size_t n) {
    if (f->code == SIS_OK && found != n)
        f->code =
            sis__fail(SIS_E_FORMAT, "field \"%s%s\": expected %zu entries as in \"%s\", found %zu",
                      f->prefix, name, n, other, found);
}

size_t sis__take_choice(sis__fields *f, const char *name, const char *const *names, size_t n) {
    const json_t *v = sis__find_field(f, name, SIS__REQUIRED);
    const char *text = v ? as_text(f, name, v) : "";
    char excerpt[SIS__EXCERPT_SIZE];
    for (size_t i = 0; i < n; i++)
        if (strcmp(names[i], text) == 0)
            return i;
    if (f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s\": unknown value \"%s\"", name,
                            sis__cell_excerpt(text, excerpt));
    return 0;
}
