/* SPDX-License-Identifier: MIT
 *
 * What a JSON or UBJSON file says, as a tree of values. Made for files that are mostly long lists of
 * numbers: such a list is an array of doubles. NaN, Infinity and -Infinity are numbers, which
 * XGBoost writes and JSON proper does not know; true and false are 1 and 0.
 *
 * UBJSON is the same in binary, every value behind a letter that says what it is:
 *
 *     Z null   T F   i U I l L integers of 1 1 2 4 8 bytes   d D floats of 4 8 bytes   C char
 *     S length bytes     { key value key value ... }     [ value value ... ]
 *     [ #length ...      no closing ] behind a counted list, {# likewise
 *     [ $type #length ... and no letters in front of its values
 *
 * where a length is an integer with its letter, a key a length and bytes, and bytes of numbers come
 * most significant first.
 */
#ifndef SIS_TREES_DOCUMENT_H
#define SIS_TREES_DOCUMENT_H

#include <stddef.h>

typedef enum sis__doc_kind {
    SIS__DOC_NULL,
    SIS__DOC_NUMBER,
    SIS__DOC_TEXT,
    SIS__DOC_NUMBERS, /* a list of numbers, or an empty one */
    SIS__DOC_LIST,    /* any other */
    SIS__DOC_OBJECT
} sis__doc_kind;

typedef struct sis__doc {
    const char *name; /* of a member of an object, else NULL */
    sis__doc_kind kind;
    size_t n; /* bytes of a text, items of lists and objects */
    union {
        double number;
        const char *text; /* ends in NUL, has none inside */
        const double *numbers;
        const struct sis__doc *items;
    };
} sis__doc;

/* A document and its memory, a few times that of the file at most. */
typedef struct sis__document {
    sis__doc root;
    struct sis__doc_block *blocks;
} sis__document;

/* `bytes` end in a NUL that does not count. Nesting is bounded. */
int sis__json_parse(const char *bytes, size_t n, sis__document *out);
int sis__ubjson_parse(const char *bytes, size_t n, sis__document *out);
void sis__document_release(sis__document *d);

/* The member of an object; NULL if there is none, or it is no object. The last of several. */
const sis__doc *sis__doc_get(const sis__doc *object, const char *name);

#endif
