/* SPDX-License-Identifier: MIT
 *
 * Writing JSON: each function adds one member, "name":value, to the object that the buffer ends in,
 * with a comma where one is needed. Text and arrays that are NULL are left out. The braces are the
 * caller's. Reading JSON is jansson's; it follows the locale unless it is called from here.
 */
#ifndef SIS_BASE_JSON_H
#define SIS_BASE_JSON_H

#include <jansson.h>

#include "base/buf.h"

/* json_loadb() and json_dumps(), the same in every locale. A NUL byte is no JSON. */
json_t *sis__json_load(const char *text, size_t n, size_t flags, json_error_t *why);
char *sis__json_dump(const json_t *json, size_t flags);

void sis__json_name(sis__buf *b, const char *name);
void sis__json_text(sis__buf *b, const char *name, const char *text);
void sis__json_number(sis__buf *b, const char *name, double v);
void sis__json_count(sis__buf *b, const char *name, size_t n);
void sis__json_flag(sis__buf *b, const char *name, int v);
void sis__json_list(sis__buf *b, const char *name);   /* begins one: add entries and "]" */
void sis__json_object(sis__buf *b, const char *name); /* the same with "}" */
void sis__json_comma(sis__buf *b, size_t i);
void sis__json_ints(sis__buf *b, const char *name, const int *v, size_t n);
void sis__json_counts(sis__buf *b, const char *name, const size_t *v, size_t n);
void sis__json_numbers(sis__buf *b, const char *name, const double *v, size_t n);
void sis__json_texts(sis__buf *b, const char *name, const char *const *v, size_t n);

#endif
