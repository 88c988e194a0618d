/* SPDX-License-Identifier: MIT
 *
 * The content of a JSON or UBJSON file as a tree of values. For files that are mostly long lists of
 * numbers: such a list is stored as an array of doubles. NaN, Infinity and -Infinity are accepted
 * as numbers, because XGBoost writes them; true and false are 1 and 0.
 *
 * UBJSON is a binary form of JSON where a letter before each value gives its type:
 *
 *     Z null   T F   i U I l L integers of 1 1 2 4 8 bytes   d D floats of 4 8 bytes   C char
 *     S length bytes     { key value key value ... }     [ value value ... ]
 *     [ #length ...      a counted list has no closing ], likewise {#
 *     [ $type #length ... and its values have no type letters
 *
 * A length is an integer with its letter, a key is a length and bytes, and numbers are big-endian.
 */
#ifndef SIS_TREES_DOCUMENT_H
#define SIS_TREES_DOCUMENT_H

#include <stddef.h>

typedef enum sis__doc_kind {
    SIS__DOC_NULL,
    SIS__DOC_NUMBER,
    SIS__DOC_TEXT,
    SIS__DOC_NUMBERS, /* a list of numbers, or an empty one */
    SIS__DOC_LIST,    /* any other list */
    SIS__DOC_OBJECT
} sis__doc_kind;

typedef struct sis__doc {
    const char *name; /* member name in an object, else NULL */
    sis__doc_kind kind;
    size_t n; /* bytes of a text; items of a list or object */
    union {
        double number;
        const char *text; /* NUL-terminated, with no NUL inside */
        const double *numbers;
        const struct sis__doc *items;
    };
} sis__doc;

/* A document and its memory, at most a few times the size of the file. */
typedef struct sis__document {
    sis__doc root;
    struct sis__doc_block *blocks;
} sis__document;

/* A NUL that is not counted follows `bytes`. Nesting depth is limited. */
int sis__json_parse(const char *bytes, size_t n, sis__document *out);
int sis__ubjson_parse(const char *bytes, size_t n, sis__document *out);
void sis__document_release(sis__document *d);

/* The member of an object, the last one of duplicates. NULL if there is none, or this is not an
 * object. */
const sis__doc *sis__doc_get(const sis__doc *object, const char *name);

#endif
