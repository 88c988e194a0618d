/* SPDX-License-Identifier: MIT
 *
 * UTF-8, character by character. Each invalid byte (truncated or overlong sequence, surrogate,
 * stray byte) counts as one U+FFFD, so a loop over any bytes terminates.
 */
#ifndef SIS_BASE_UTF8_H
#define SIS_BASE_UTF8_H

#include <stddef.h>
#include <stdint.h>

enum { SIS__UTF8_BAD = 0xFFFD };

/* Decode the character at s, where n > 0 bytes are readable, and return its length. Invalid UTF-8:
 * length 1 and SIS__UTF8_BAD; a real U+FFFD has length 3. */
size_t sis__utf8_next(const char *s, size_t n, uint32_t *c);

/* The same for a NUL-terminated text that is not at its end. */
size_t sis__utf8_step(const char *s, uint32_t *c);

/* Encode a character; returns its length. */
size_t sis__utf8_put(uint32_t c, char text[4]);

/* Is it valid UTF-8 without NUL? Returns n if so, else the offset of the first invalid byte. */
size_t sis__utf8_check(const char *text, size_t n);

/* Are two texts equal after invalid bytes are replaced by U+FFFD? */
int sis__utf8_same(const char *a, const char *b);

#endif
