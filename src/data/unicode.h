/* SPDX-License-Identifier: MIT
 *
 * Character properties for tokenizers, by utf8proc, and texts as lists of characters that keep
 * their original positions when they are changed.
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

/* Was this build compiled with utf8proc? */
int sis__unicode_known(void);

/* General category by its first letter; 'M' for nonspacing marks, 'm' for others. */
char sis__unicode_class(uint32_t c);

int sis__unicode_is_space(uint32_t c);
int sis__unicode_is_letter(uint32_t c); /* L* */
int sis__unicode_is_number(uint32_t c); /* N* */
int sis__unicode_is_word(uint32_t c);   /* \w: letters, marks, digits, connectors */
uint32_t sis__unicode_lower(uint32_t c);

/* Convert the list to a normal form: composed or not, with or without compatibility. A character
 * composed of several stands for all their bytes. 0 or SIS_E_NOMEM. */
int sis__unicode_normalize(sis__chars *list, int compose, int compatible);

#endif
