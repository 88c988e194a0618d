/* SPDX-License-Identifier: MIT
 *
 * Writing JSON: each function adds one member, "name":value, to the object at the end of the
 * buffer, with a comma where needed. NULL text and NULL arrays are left out. The caller writes the
 * braces. Jansson reads JSON; it depends on the locale unless called through these functions.
 */
#ifndef SIS_BASE_JSON_H
#define SIS_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"

/* json_loadb() and json_dumps(), independent of the locale. A NUL byte is an error. */
json_t *sis__json_load(const char *text, size_t n, size_t flags, json_error_t *why);
char *sis__json_dump(const json_t *json, size_t flags);

void sis__json_name(sis__buf *b, const char *name);
void sis__json_text(sis__buf *b, const char *name, const char *text);
void sis__json_number(sis__buf *b, const char *name, double v);
void sis__json_count(sis__buf *b, const char *name, size_t n);
void sis__json_flag(sis__buf *b, const char *name, int v);
void sis__json_list(sis__buf *b, const char *name);   /* starts a list: add entries and "]" */
void sis__json_object(sis__buf *b, const char *name); /* starts an object: add members and "}" */
void sis__json_comma(sis__buf *b, size_t i);
void sis__json_ints(sis__buf *b, const char *name, const int *v, size_t n);
void sis__json_counts(sis__buf *b, const char *name, const size_t *v, size_t n);
void sis__json_numbers(sis__buf *b, const char *name, const double *v, size_t n);
void sis__json_texts(sis__buf *b, const char *name, const char *const *v, size_t n);

#endif
