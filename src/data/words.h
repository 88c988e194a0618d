/* SPDX-License-Identifier: MIT
 *
 * UTF-8 and words.
 */
#ifndef SIS_DATA_WORDS_H
#define SIS_DATA_WORDS_H

#include <stddef.h>

#include <sis/data.h>

/* Words that were given: n of these lengths in the text, a blank between them. */
int sis__words_given(const char *text, const int *lengths, size_t n, sis_words *words);

#endif
