/* SPDX-License-Identifier: MIT
 *
 * What tokenizers need to know of characters, by utf8proc; and texts as lists of characters that
 * remember where they come from while they are changed.
 */
#ifndef SIS_DATA_UNICODE_H
#define SIS_DATA_UNICODE_H

#include <stddef.h>
#include <stdint.h>

/* A character, and the bytes of the original text that it stands for. */
typedef struct sis__char {
    uint32_t c;
    size_t start, end;
} sis__char;

typedef struct sis__chars {
    sis__char *items;
    size_t n, room;
} sis__chars;

/* 0 or SIS_E_NOMEM. */
int sis__chars_add(sis__chars *list, uint32_t c, size_t start, size_t end);

/* Is this build able to tell characters apart? */
int sis__unicode_known(void);

/* General categories, by their first letter; 'M' for marks that take no space, 'm' for others. */
char sis__unicode_class(uint32_t c);

int sis__unicode_is_space(uint32_t c);
int sis__unicode_is_letter(uint32_t c); /* L* */
int sis__unicode_is_number(uint32_t c); /* N* */
int sis__unicode_is_word(uint32_t c);   /* \w: letters, marks, digits, connectors */
uint32_t sis__unicode_lower(uint32_t c);

/* Change the list to a normal form: composed or not, with or without compatibility. What is
 * composed of several characters stands for all their bytes. 0 or SIS_E_NOMEM. */
int sis__unicode_normalize(sis__chars *list, int compose, int compatible);

#endif
