/* SPDX-License-Identifier: MIT
 *
 * JSON, read and written. See json.h.
 */
#include "base/json.h"

#include <string.h>

#include "base/number.h"

json_t *sis__json_load(const char *text, size_t n, size_t flags, json_error_t *why) {
    locale_t before = sis__plain_enter();
    const char *nul = n ? memchr(text, 0, n) : NULL; /* json_loadb() would skip some of them */
    json_t *json = json_loadb(text, nul ? (size_t)(nul - text) : n, flags, why);
    uselocale(before);
    if (!json || !nul)
        return json;
    json_decref(json);
    return json_loadb("", 0, 0, why); /* NULL and an error */
}

char *sis__json_dump(const json_t *json, size_t flags) {
    locale_t before = sis__plain_enter();
    char *text = json_dumps(json, flags);
    uselocale(before);
    return text;
}

void sis__json_name(sis__buf *b, const char *name) {
    if (b->len > 0 && b->data[b->len - 1] != '{')
        sis__buf_char(b, ',');
    sis__buf_json(b, name);
    sis__buf_char(b, ':');
}

void sis__json_text(sis__buf *b, const char *name, const char *text) {
    if (!text)
        return;
    sis__json_name(b, name);
    sis__buf_json(b, text);
}

void sis__json_number(sis__buf *b, const char *name, double v) {
    sis__json_name(b, name);
    sis__buf_double(b, v);
}

void sis__json_count(sis__buf *b, const char *name, size_t n) {
    sis__json_name(b, name);
    sis__buf_printf(b, "%zu", n);
}

void sis__json_flag(sis__buf *b, const char *name, int v) {
    sis__json_name(b, name);
    sis__buf_str(b, v ? "true" : "false");
}

/* Begin a list; write the comma before its i-th entry; end it. */
void sis__json_list(sis__buf *b, const char *name) {
    sis__json_name(b, name);
    sis__buf_char(b, '[');
}

void sis__json_object(sis__buf *b, const char *name) {
    sis__json_name(b, name);
    sis__buf_char(b, '{');
}

void sis__json_comma(sis__buf *b, size_t i) {
    if (i > 0)
        sis__buf_char(b, ',');
}

void sis__json_ints(sis__buf *b, const char *name, const int *v, size_t n) {
    if (!v)
        return;
    sis__json_list(b, name);
    for (size_t i = 0; i < n; i++) {
        sis__json_comma(b, i);
        sis__buf_double(b, v[i]);
    }
    sis__buf_char(b, ']');
}

void sis__json_counts(sis__buf *b, const char *name, const size_t *v, size_t n) {
    if (!v)
        return;
    sis__json_list(b, name);
    for (size_t i = 0; i < n; i++)
        sis__buf_printf(b, i ? ",%zu" : "%zu", v[i]);
    sis__buf_char(b, ']');
}

void sis__json_numbers(sis__buf *b, const char *name, const double *v, size_t n) {
    if (!v)
        return;
    sis__json_list(b, name);
    for (size_t i = 0; i < n; i++) {
        sis__json_comma(b, i);
        sis__buf_double(b, v[i]);
    }
    sis__buf_char(b, ']');
}

void sis__json_texts(sis__buf *b, const char *name, const char *const *v, size_t n) {
    if (!v)
        return;
    sis__json_list(b, name);
    for (size_t i = 0; i < n; i++) {
        sis__json_comma(b, i);
        sis__buf_json(b, v[i]);
    }
    sis__buf_char(b, ']');
}
