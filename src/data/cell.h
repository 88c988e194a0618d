/* SPDX-License-Identifier: MIT
 *
 * Pieces of text from a file: parsing as a number, excerpts for messages, and lists of strings.
 */
#ifndef SIS_DATA_CELL_H
#define SIS_DATA_CELL_H

#include <stddef.h>

#include "base/buf.h"

/* A decimal number surrounded only by blanks: [+-] digits [. digits] [e [+-] digits], in every
 * locale. Returns 1 (±infinity if it overflows a double), or 0 if it is not one: hexadecimal, "nan"
 * and "inf" are not. */
int sis__cell_number(const char *text, double *out);

/* Empty, or only blanks? */
int sis__cell_blank(const char *text);

/* Is the cell a missing value: empty, NA, NaN, N/A, null? In a numeric column also "none", which
 * may be a word elsewhere. */
int sis__cell_missing(const char *text);
int sis__cell_missing_word(const char *text);

/* 1: true, 0: false, in any case; -1: neither. */
int sis__cell_truth(const char *text);
#define SIS__SAY_MISSING                                                                           \
    "; say with --missing what an absent value is: nan (the model knows them), mean, median or "   \
    "drop (the row)"

/* The text as one short line for a message: control characters become '?', long text ends in "...".
 * Returns `out`. */
enum { SIS__EXCERPT_SIZE = 64 };
const char *sis__cell_excerpt(const char *text, char out[SIS__EXCERPT_SIZE]);

/* Is it a number with a comma where the decimal point should be? */
int sis__cell_decimal_comma(const char *text);
#define SIS__DECIMAL_POINT "; write numbers with a decimal point"

/* A list of strings being built, in one block of memory. */
typedef struct sis__strings {
    sis__buf text; /* each with its NUL */
    size_t n;
} sis__strings;

void sis__strings_add(sis__strings *list, const char *text);
void sis__strings_release(sis__strings *list);

/* The n pointers and their strings as one allocation, which the caller must free(); `list` is empty
 * afterwards. NULL if memory ran out, now or earlier. */
const char **sis__strings_finish(sis__strings *list);

#endif
