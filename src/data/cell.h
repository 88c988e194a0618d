/* SPDX-License-Identifier: MIT
 *
 * What a piece of text from a file means: is it a number, how to show it to a person, and lists of
 * such pieces.
 */
#ifndef SIS_DATA_CELL_H
#define SIS_DATA_CELL_H

#include <stddef.h>

#include "base/buf.h"

/* A decimal number with nothing around it but blanks: [+-] digits [. digits] [e [+-] digits], the
 * same in every locale. 1 if it is one (±infinity if a double cannot hold it), 0 if not:
 * hexadecimal, "nan" and "inf" are not. */
int sis__cell_number(const char *text, double *out);

/* Nothing, or only blanks? */
int sis__cell_blank(const char *text);

/* Does the cell stand for a value that is absent: nothing, NA, NaN, N/A, null; in a column of
 * numbers also none, which may be a word elsewhere? */
int sis__cell_missing(const char *text);
int sis__cell_missing_word(const char *text);

/* 1: true, 0: false, in any case of letters; -1: neither. */
int sis__cell_truth(const char *text);
#define SIS__SAY_MISSING                                                                           \
    "; say with --missing what an absent value is: nan (the model knows them), mean, median or "   \
    "drop (the row)"

/* The text as one short line for a message: control characters become '?', the end of a long one
 * "...". Returns `out`. */
enum { SIS__EXCERPT_SIZE = 64 };
const char *sis__cell_excerpt(const char *text, char out[SIS__EXCERPT_SIZE]);

/* Is it a number with a comma where the decimal point should be? */
int sis__cell_decimal_comma(const char *text);
#define SIS__DECIMAL_POINT "; write numbers with a decimal point"

/* A list of strings under way, in one piece of memory. */
typedef struct sis__strings {
    sis__buf text; /* each with its NUL */
    size_t n;
} sis__strings;

void sis__strings_add(sis__strings *list, const char *text);
void sis__strings_release(sis__strings *list);

/* The n pointers and what they point to as one allocation, the caller's to free(); `list` is empty
 * after that. NULL if memory ran out, now or on the way. */
const char **sis__strings_finish(sis__strings *list);

#endif
