/* SPDX-License-Identifier: MIT
 *
 * UTF-8 and words.
 */
#ifndef SIS_DATA_WORDS_H
#define SIS_DATA_WORDS_H

#include <stddef.h>

#include <sis/data.h>

/* Is it UTF-8 without NUL? n if so, else the offset of the first byte that is not. */
size_t sis__utf8_check(const char *text, size_t n);

/* Words that were given: n of these lengths in the text, a blank between them. */
int sis__words_given(const char *text, const int *lengths, size_t n, sis_words *words);

#endif
