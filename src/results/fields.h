/* SPDX-License-Identifier: MIT
 *
 * Reads fields of JSON objects with type checks. Memory grows only with the text. jansson parses
 * the JSON and checks depth, UTF-8 and number ranges. Errors are sticky: the first wrong field sets
 * message and code, and later calls do nothing. An absent optional field leaves its variable
 * unchanged.
 */
#ifndef SIS_RESULTS_FIELDS_H
#define SIS_RESULTS_FIELDS_H

#include <jansson.h>
#include <stddef.h>

/* The memory that a record points into: the JSON that it was read from, if any, and lists. */
typedef struct sis__held {
    json_t *root;
    void **rooms; /* (n) */
    size_t n, cap;
} sis__held;

/* Memory that lives as long as the result: n zeroed items, or a copy of a text. NULL: out of
 * memory. */
void *sis__held_room(sis__held *held, size_t n, size_t size);
char *sis__held_text(sis__held *held, const char *text);
void sis__held_free(void *held);

/* A JSON object being read. */
typedef struct sis__fields {
    const json_t *object;
    char prefix[64]; /* prefix of its field names in messages: "", "subsets[3]." */
    int code;
    /* owner of texts and lists; NULL: they are copies, which the caller must free() */
    sis__held *held;
    int nulls; /* null is NaN where a number is expected */
} sis__fields;

enum { SIS__OPTIONAL, SIS__REQUIRED };

/* ---- Opening --------------------------------------------------------------------------------- */

/* Parse the object in n bytes of text; call json_decref(*root) in any case. `what` is the expected
 * kind, such as "record". */
int sis__json_read(const char *text, size_t n, const char *what, json_t **root);

/* Open a result that was written by a command and is recognized by one of its fields. *held owns
 * all data read, until sis__held_free(). */
void sis__finding_open(sis__fields *f, const char *text, size_t n, const char *what,
                       const char *writer, const char *field);

/* End a _parse function: the result keeps *held, or an error frees it. */
int sis__finding_close(sis__fields *f, void **held);

/* ---- One field ------------------------------------------------------------------------------- */

void sis__fields_wrong(sis__fields *f, const char *name, const char *expected, const json_t *found);

/* The field's value; NULL if it is absent or after an error. */
const json_t *sis__find_field(sis__fields *f, const char *name, int required);

void sis__take_number(sis__fields *f, const char *name, int required, double *out);
void sis__take_count(sis__fields *f, const char *name, int required, size_t *out);
void sis__take_some(sis__fields *f, const char *name, size_t *out); /* at least one */
void sis__take_flag(sis__fields *f, const char *name, int *out);
char *sis__take_text(sis__fields *f, const char *name, int required); /* NULL if absent */

/* The text, or a default if it is absent. Only for results, which own it. */
const char *sis__take_text_or(sis__fields *f, const char *name, const char *other);

/* A share from 0 to 1, or NaN. */
void sis__take_share(sis__fields *f, const char *name, double *out);

/* Index of the field's text among n names. */
size_t sis__take_choice(sis__fields *f, const char *name, const char *const *names, size_t n);

/* ---- Nested objects -------------------------------------------------------------------------- */

/* The object in a field (empty if absent), and entry i of the list in a field. Call sis__leave() to
 * pass the error code back. */
sis__fields sis__enter(sis__fields *f, const char *name, int required);
sis__fields sis__enter_item(sis__fields *f, const char *name, const json_t *list, size_t i);
void sis__leave(sis__fields *f, const sis__fields *inner);

/* ---- Lists ----------------------------------------------------------------------------------- */

/* A list of *n entries, or NULL like sis__find_field(). */
const json_t *sis__find_list(sis__fields *f, const char *name, int required, size_t *n);

/* Memory for the n entries of a list, zeroed if `held` owns it; NULL if there is no list or no
 * memory. */
void *sis__fields_room(sis__fields *f, const json_t *list, size_t n, size_t size);

double *sis__take_numbers(sis__fields *f, const char *name, size_t *n);
int *sis__take_ints(sis__fields *f, const char *name, int required, size_t *n);
size_t *sis__take_counts(sis__fields *f, const char *name, size_t *n);
const char **sis__take_texts(sis__fields *f, const char *name, size_t *n);

/* The list in `name` has `found` entries; it must have as many as `other`. */
void sis__fields_pair(sis__fields *f, const char *name, size_t found, const char *other, size_t n);

#endif
