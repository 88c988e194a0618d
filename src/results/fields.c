/* SPDX-License-Identifier: MIT
 *
 * Writes, reads and releases structs field by field. See fields.h.
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

/* ---- One value ----------------------------------------------------------------------------- */

static const char *describe(const json_t *v) {
    static const char *const names[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",  [JSON_STRING] = "text",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a number", [JSON_TRUE] = "true",
        [JSON_FALSE] = "false",      [JSON_NULL] = "null"};
    return names[json_typeof(v)];
}

void sis__field_wrong(sis__fields *f, const char *name, const char *expected, const json_t *found) {
    if (f->code != SIS_OK)
        return;
    f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": expected %s, found %s", f->prefix, name,
                        expected, found ? describe(found) : "nothing");
}

static double as_number(sis__fields *f, const char *name, const json_t *v) {
    if (f->nulls && json_is_null(v))
        return NAN;
    if (!json_is_number(v))
        sis__field_wrong(f, name, "a number", v);
    return json_number_value(v);
}

/* An integer from `min` to `max`. */
static json_int_t as_whole(sis__fields *f, const char *name, const json_t *v, json_int_t min,
                           json_int_t max) {
    json_int_t n = json_integer_value(v);
    if (!json_is_integer(v))
        sis__field_wrong(f, name, json_is_real(v) ? "a whole number" : "a number", v);
    else if (n < min || n > max)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": %lld is out of range", f->prefix, name,
                            (long long)n);
    return n;
}

static const char *as_text(sis__fields *f, const char *name, const json_t *v) {
    if (!json_is_string(v))
        sis__field_wrong(f, name, "text", v);
    return json_is_string(v) ? json_string_value(v) : "";
}

/* ---- Fields -------------------------------------------------------------------------------- */

const json_t *sis__field_find(sis__fields *f, const char *name, int required) {
    int asked = sis__reading(f) && f->code == SIS_OK;
    const json_t *v = asked ? json_object_get(f->object, name) : NULL;
    if (!v && required && asked)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": is missing", f->prefix, name);
    return v;
}

int sis__field_there(sis__fields *f, const char *name, int known) {
    return sis__reading(f) ? sis__field_find(f, name, 0) != NULL : known;
}

/* A text owned by the result, or a copy. */
static const char *keep_text(sis__fields *f, const char *text) {
    if (f->held || f->code != SIS_OK)
        return f->held ? text : NULL;
    const char *copy = sis__strdup(text);
    if (!copy)
        f->code = SIS_E_NOMEM;
    return copy;
}

/* Free a text or a list, and forget it. */
static void drop(void *at) {
    void *p;
    memcpy(&p, at, sizeof p);
    free(p);
    p = NULL;
    memcpy(at, &p, sizeof p);
}

void sis__field_text(sis__fields *f, const char *name, const char **text, int how) {
    const json_t *v = sis__field_find(f, name, how & SIS__REQUIRED);
    if (f->out)
        sis__json_text(f->out, name, *text);
    else if (f->releasing)
        drop(text);
    else if (v || how & SIS__EMPTY)
        *text = keep_text(f, v ? as_text(f, name, v) : "");
}

void sis__field_number(sis__fields *f, const char *name, double *v, int how) {
    const json_t *found = sis__field_find(f, name, how & SIS__REQUIRED);
    if (f->out && !(how & SIS__KNOWN && isnan(*v)))
        sis__json_number(f->out, name, *v);
    if (sis__reading(f))
        *v = found ? as_number(f, name, found) : NAN;
}

void sis__field_share(sis__fields *f, const char *name, double *v) {
    const json_t *found = sis__field_find(f, name, 0);
    if (f->out)
        sis__json_number(f->out, name, *v);
    if (!sis__reading(f))
        return;
    *v = json_is_boolean(found) ? json_is_true(found) : found ? as_number(f, name, found) : NAN;
    if (*v < 0 || *v > 1)
        sis__field_wrong(f, name, "a share from 0 to 1", found);
}

void sis__field_count(sis__fields *f, const char *name, size_t *v, int how) {
    const json_t *found = sis__field_find(f, name, how & SIS__REQUIRED);
    if (f->out && !(how & SIS__KNOWN && *v == 0))
        sis__json_count(f->out, name, *v);
    if (found)
        *v = (size_t)as_whole(f, name, found, how & SIS__KNOWN ? 1 : 0, PTRDIFF_MAX);
}

void sis__field_flag(sis__fields *f, const char *name, int *v, int how) {
    const json_t *found = sis__field_find(f, name, how & SIS__REQUIRED);
    if (f->out && !(how & SIS__KNOWN && !*v))
        sis__json_flag(f->out, name, *v);
    if (found && !json_is_boolean(found))
        sis__field_wrong(f, name, "true or false", found);
    else if (found)
        *v = json_is_true(found);
}

void sis__field_choice(sis__fields *f, const char *name, void *v, const char *const *names,
                       int how) {
    unsigned *at = v, k = 0;
    char excerpt[SIS__EXCERPT_SIZE];
    const json_t *found = sis__field_find(f, name, how & SIS__REQUIRED);
    if (f->out)
        sis__json_text(f->out, name, names[*at]);
    if (!found)
        return;
    const char *text = as_text(f, name, found);
    while (names[k] && strcmp(names[k], text) != 0)
        k++;
    if (names[k])
        *at = k;
    else if (f->code == SIS_OK)
        f->code = sis__fail(SIS_E_FORMAT, "field \"%s%s\": unknown value \"%s\"", f->prefix, name,
                            sis__cell_excerpt(text, excerpt));
}

void sis__field_json(sis__fields *f, const char *name, const char **text) {
    const json_t *object = sis__field_find(f, name, 0);
    if (f->out && *text) {
        sis__json_name(f->out, name);
        sis__buf_str(f->out, *text);
    }
    if (f->releasing)
        drop(text);
    if (object && !json_is_object(object))
        sis__field_wrong(f, name, "an object", object);
    else if (object && !(*text = sis__json_dump(object, JSON_COMPACT)))
        f->code = SIS_E_NOMEM;
}

/* ---- Lists --------------------------------------------------------------------------------- */

/* The list in a field, with room for its entries at *list: NULL if there is none, or no memory. */
static const json_t *take_list(sis__fields *f, const char *name, void *list, size_t *n, size_t size,
                               const char *as) {
    const json_t *v = sis__field_find(f, name, 0);
    size_t found = v ? json_array_size(v) : 0;
    if (f->releasing)
        drop(list);
    if (v && !json_is_array(v))
        sis__field_wrong(f, name, "a list", v);
    else if (v && as && found != *n)
        f->code =
            sis__fail(SIS_E_FORMAT, "field \"%s%s\": expected %zu entries as in \"%s\", found %zu",
                      f->prefix, name, *n, as, found);
    if (sis__reading(f) && !as)
        *n = f->code == SIS_OK ? found : 0;
    if (!v || f->code != SIS_OK)
        return NULL;
    void *room = !size     ? NULL
                 : f->held ? sis__held_room(f->held, found, size)
                           : sis__alloc(found, size);
    if (size && !room) {
        *n = as ? *n : 0;
        f->code = SIS_E_NOMEM;
    }
    if (size)
        memcpy(list, &room, sizeof room);
    return !size || room ? v : NULL;
}

/* The list at this place. */
static void *at(const void *list) {
    void *p;
    memcpy(&p, list, sizeof p);
    return p;
}

void sis__field_numbers(sis__fields *f, const char *name, void *list, size_t *n, const char *as) {
    const json_t *found = take_list(f, name, list, n, sizeof(double), as);
    if (f->out)
        sis__json_numbers(f->out, name, at(list), *n);
    for (size_t i = 0; found && i < *n && f->code == SIS_OK; i++)
        ((double *)at(list))[i] = as_number(f, name, json_array_get(found, i));
}

void sis__field_ints(sis__fields *f, const char *name, void *list, size_t *n, const char *as) {
    const json_t *found = take_list(f, name, list, n, sizeof(int), as);
    if (f->out)
        sis__json_ints(f->out, name, at(list), *n);
    for (size_t i = 0; found && i < *n && f->code == SIS_OK; i++)
        ((int *)at(list))[i] = (int)as_whole(f, name, json_array_get(found, i), INT_MIN, INT_MAX);
}

void sis__field_counts(sis__fields *f, const char *name, void *list, size_t *n) {
    const json_t *found = take_list(f, name, list, n, sizeof(size_t), NULL);
    if (f->out)
        sis__json_counts(f->out, name, at(list), *n);
    for (size_t i = 0; found && i < *n && f->code == SIS_OK; i++)
        ((size_t *)at(list))[i] =
            (size_t)as_whole(f, name, json_array_get(found, i), 1, PTRDIFF_MAX);
}

/* The texts of a list and their pointers in one block. */
static void take_texts(sis__fields *f, const char *name, const json_t *found, void *list) {
    sis__strings texts = {0};
    for (size_t i = 0; i < json_array_size(found) && f->code == SIS_OK; i++)
        sis__strings_add(&texts, as_text(f, name, json_array_get(found, i)));
    const char **all = f->code == SIS_OK ? sis__strings_finish(&texts) : NULL;
    if (f->code == SIS_OK && !all)
        f->code = SIS_E_NOMEM;
    memcpy(list, &all, sizeof all);
    sis__strings_release(&texts);
}

void sis__field_texts(sis__fields *f, const char *name, void *list, size_t *n, const char *as) {
    const json_t *found = take_list(f, name, list, n, f->held ? sizeof(char *) : 0, as);
    if (f->out)
        sis__json_texts(f->out, name, at(list), *n);
    if (found && !f->held)
        take_texts(f, name, found, list);
    for (size_t i = 0; found && f->held && i < *n; i++)
        ((const char **)at(list))[i] = as_text(f, name, json_array_get(found, i));
}

/* ---- Structs ------------------------------------------------------------------------------- */

/* Pass over one struct, which is `object` when it is read; `place` is its name in messages. */
static void pass_item(sis__fields *f, const json_t *object, const char *place, void *item,
                      sis__pass *pass) {
    sis__fields inner = *f;
    inner.object = object;
    snprintf(inner.prefix, sizeof inner.prefix, "%.40s%.20s.", f->prefix, place);
    if (f->out)
        sis__buf_char(f->out, '{');
    if (f->code == SIS_OK)
        pass(&inner, item);
    if (f->out)
        sis__buf_char(f->out, '}');
    f->code = f->code == SIS_OK ? inner.code : f->code;
}

void sis__field_object(sis__fields *f, const char *name, void *item, sis__pass *pass) {
    const json_t *object = sis__field_find(f, name, 0);
    if (object && !json_is_object(object))
        sis__field_wrong(f, name, "an object", object);
    if (f->out)
        sis__json_name(f->out, name);
    pass_item(f, object, name, item, pass);
}

void sis__field_entries(sis__fields *f, const char *name, void *list, size_t *n,
                        const sis__entry *entry) {
    const json_t *found = f->releasing ? NULL : take_list(f, name, list, n, entry->size, NULL);
    if (f->out)
        sis__json_list(f->out, name);
    for (size_t i = 0; (f->out || found) && i < *n && f->code == SIS_OK; i++) {
        const json_t *object = found ? json_array_get(found, i) : NULL;
        char place[24];
        snprintf(place, sizeof place, "%.12s[%zu]", name, i % 1000000);
        if (f->out)
            sis__buf_str(f->out, entry->lines ? i ? ",\n" : "\n" : i ? "," : "");
        if (found && !json_is_object(object))
            sis__field_wrong(f, name, "objects", object);
        pass_item(f, object, place, (char *)at(list) + i * entry->size, entry->pass);
    }
    if (f->out)
        sis__buf_char(f->out, ']');
}

/* ---- Findings ------------------------------------------------------------------------------ */

int sis__finding_format(const sis__finding *kind, const void *finding, char **text, size_t *n) {
    sis__buf b;
    sis__buf_init(&b);
    sis__fields f = {.out = &b};
    sis__buf_char(&b, '{');
    kind->pass(&f, (void *)(uintptr_t)finding);
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, text, n);
}

int sis__finding_parse(const sis__finding *kind, const char *text, size_t n, void *out) {
    sis__fields f = {.held = SIS_NEW(sis__held, 1), .nulls = 1};
    memset(out, 0, kind->size);
    f.code = f.held ? sis__json_read(text, n, kind->what, &f.held->root) : SIS_E_NOMEM;
    f.object = f.code == SIS_OK ? f.held->root : NULL;
    if (f.code == SIS_OK && (!json_is_object(f.object) || !json_object_get(f.object, kind->field)))
        f.code = sis__fail(SIS_E_FORMAT, "not %s: expected the JSON object that %s writes",
                           kind->what, kind->writer);
    if (f.code == SIS_OK)
        kind->pass(&f, out);
    if (f.code != SIS_OK) {
        memset(out, 0, kind->size);
        sis__held_free(f.held);
        return f.code;
    }
    memcpy((char *)out + kind->held, &f.held, sizeof f.held);
    return SIS_OK;
}
