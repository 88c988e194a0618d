/* SPDX-License-Identifier: MIT
 *
 * UTF-8 and splitting text into words.
 */
#ifndef SIS_DATA_WORDS_H
#define SIS_DATA_WORDS_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/text.h>

/* Words given by the caller: n words of these lengths in the text, separated by blanks. */
int sis__words_given(const char *text, const int *lengths, size_t n, sis_words *words);

#endif
