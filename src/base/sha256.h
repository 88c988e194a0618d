/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4), to detect whether a file has changed since results were computed from it.
 */
#ifndef SIS_BASE_SHA256_H
#define SIS_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

enum { SIS__SHA256_TEXT = 65 }; /* 64 digits and a NUL */

typedef struct sis__sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
} sis__sha256;

void sis__sha256_init(sis__sha256 *s);
void sis__sha256_add(sis__sha256 *s, const void *bytes, size_t n);
void sis__sha256_text(sis__sha256 *s, char text[SIS__SHA256_TEXT]); /* the digest */

/* Digest of a regular file. 1, or 0 if there is none or it cannot be read. */
int sis__sha256_file(const char *path, char text[SIS__SHA256_TEXT]);

#endif
