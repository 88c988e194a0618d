/* SPDX-License-Identifier: MIT
 *
 * UTF-8, character by character. Whatever is none (cut off, longer than it need be, half of a
 * pair, a lone byte) is one byte that stands for U+FFFD, so a loop over any bytes ends and mends.
 */
#ifndef SIS_BASE_UTF8_H
#define SIS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { SIS__UTF8_BAD = 0xFFFD };

/* The bytes of the character at s, of which n > 0 are there, and the character. Bytes that are no
 * UTF-8 are 1 and SIS__UTF8_BAD, as opposed to 3 for the real one. */
size_t sis__utf8_next(const char *s, size_t n, uint32_t *c);

/* The same of a text that ends in NUL, and is not at its end. */
size_t sis__utf8_step(const char *s, uint32_t *c);

/* Is it UTF-8 without NUL? n if so, else the offset of the first byte that is not. */
size_t sis__utf8_check(const char *text, size_t n);

/* Are two texts the same once they are mended? */
int sis__utf8_same(const char *a, const char *b);

#endif
