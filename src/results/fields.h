/* SPDX-License-Identifier: MIT
 *
 * Structs as JSON objects. For each struct one function passes over its fields, and the same calls
 * write them, read them with type checks, or release them:
 *
 *     static void pass_pattern(sis__fields *f, void *item) {
 *         sis_pattern *p = item;
 *         sis__field_text(f, "pattern", &p->text, SIS__EMPTY);
 *         sis__field_count(f, "count", &p->count, 0);
 *     }
 *
 * So writer and reader cannot disagree, and a new field is one line. Writing changes nothing in the
 * struct: its owner may have it in constant memory.
 *
 * Reading: memory grows only with the text. jansson parses the JSON and checks depth, UTF-8 and
 * number ranges. Errors are sticky: the first wrong field sets message and code, and later calls do
 * nothing. A number whose field is absent becomes NaN; anything else keeps its value, so zero the
 * struct first.
 */
#ifndef SIS_RESULTS_FIELDS_H
#define SIS_RESULTS_FIELDS_H

#include <jansson.h>
#include <stddef.h>

#include "base/buf.h"

/* The memory that a result points into: the JSON that it was read from, if any, and lists. */
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

/* A JSON object that is written or read, or a struct that is released. */
typedef struct sis__fields {
    sis__buf *out;        /* writing: its text so far; else NULL */
    int releasing;        /* free texts and lists, which were read without `held` */
    const json_t *object; /* reading; NULL: absent, like all of its fields */
    char prefix[64];      /* prefix of its field names in messages: "", "subsets[3]." */
    int code;             /* of reading */
    /* owner of the texts and lists that are read; NULL: each is a copy of its own */
    sis__held *held;
    int nulls; /* null is NaN where a number is expected */
    void *ctx; /* of the functions that pass over the fields */
} sis__fields;

static inline int sis__reading(const sis__fields *f) {
    return !f->out && !f->releasing;
}

/* Passes over the fields of a struct. */
typedef void sis__pass(sis__fields *f, void *item);

/* ---- One field ------------------------------------------------------------------------------- */

enum {
    SIS__REQUIRED = 1, /* reading: absence is an error */
    SIS__KNOWN = 2,    /* left out if it is NaN, 0 or false; when read, a count is at least 1 */
    SIS__EMPTY = 4     /* a text that is absent is "" */
};

void sis__field_text(sis__fields *f, const char *name, const char **text, int how);
void sis__field_number(sis__fields *f, const char *name, double *v, int how);
void sis__field_share(sis__fields *f, const char *name, double *v); /* 0 to 1, or NaN */
void sis__field_count(sis__fields *f, const char *name, size_t *v, int how);
void sis__field_flag(sis__fields *f, const char *name, int *v, int how);

/* A position in `names`, which end with NULL, written as that name. */
void sis__field_choice(sis__fields *f, const char *name, void *v, const char *const *names,
                       int how);

/* An object as JSON text. */
void sis__field_json(sis__fields *f, const char *name, const char **text);

/* ---- Lists and structs ----------------------------------------------------------------------- */

/* A list of *n entries at *list; NULL is left out. `as`: the name of an earlier list of *n entries,
 * which this one must match; NULL: reading sets *n. */
void sis__field_numbers(sis__fields *f, const char *name, void *list, size_t *n, const char *as);
void sis__field_ints(sis__fields *f, const char *name, void *list, size_t *n, const char *as);
void sis__field_counts(sis__fields *f, const char *name, void *list, size_t *n); /* at least 1 */
void sis__field_texts(sis__fields *f, const char *name, void *list, size_t *n, const char *as);

/* A struct in a list of structs. */
typedef struct sis__entry {
    size_t size;
    sis__pass *pass;
    int lines; /* each is written on a line of its own */
} sis__entry;

/* A list of *n structs at *list; an empty list is written even if it is NULL. */
void sis__field_entries(sis__fields *f, const char *name, void *list, size_t *n,
                        const sis__entry *entry);

/* A struct as an object. If the object is absent, all of its fields are. */
void sis__field_object(sis__fields *f, const char *name, void *item, sis__pass *pass);

/* ---- Reading --------------------------------------------------------------------------------- */

/* The field's value; NULL if it is absent or after an error, and always unless reading. */
const json_t *sis__field_find(sis__fields *f, const char *name, int required);

/* Is the field of an optional struct there? Unless reading: `known`. */
int sis__field_there(sis__fields *f, const char *name, int known);

void sis__field_wrong(sis__fields *f, const char *name, const char *expected, const json_t *found);

/* Parse the object in n bytes of text; call json_decref(*root) in any case. `what` is the expected
 * kind, such as "record". */
int sis__json_read(const char *text, size_t n, const char *what, json_t **root);

/* ---- Findings: what cluster, compare and evaluate write -------------------------------------- */

typedef struct sis__finding {
    const char *what, *writer; /* for messages: "clusters", "sis cluster" */
    const char *field;         /* a field by which it is recognized */
    size_t size, held;         /* of the struct; offset of its `void *held` */
    sis__pass *pass;
} sis__finding;

/* One JSON object and a newline. */
int sis__finding_format(const sis__finding *kind, const void *finding, char **text, size_t *n);

/* *out is zeroed after an error; otherwise its `held` owns all data, until sis__held_free(). */
int sis__finding_parse(const sis__finding *kind, const char *text, size_t n, void *out);

#endif
