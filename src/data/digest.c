/* SPDX-License-Identifier: MIT
 *
 * SHA-256 (FIPS 180-4) of what a file holds, to tell whether it is the file it should be. Taken
 * after unpacking, so that a copy compressed by another program has the same digest.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <sis/data.h>

#include "base/error.h"
#include "data/source.h"

enum { BLOCK = 64 };

typedef struct {
    uint32_t h[8];
    unsigned char block[BLOCK];
    size_t used;    /* bytes in the block */
    uint64_t bytes; /* in all */
} sha256;

static uint32_t rotate(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

/* The fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void expand(const unsigned char *block, uint32_t w[64]) {
    for (int t = 0; t < 16; t++)
        w[t] = (uint32_t)block[4 * t] << 24 | (uint32_t)block[4 * t + 1] << 16 |
               (uint32_t)block[4 * t + 2] << 8 | block[4 * t + 3];
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[t - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
}

static void digest_block(sha256 *s) {
    uint32_t w[64], v[8];
    expand(s->block, w);
    memcpy(v, s->h, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t one = v[7] + (rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25)) +
                       ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[t] + w[t];
        uint32_t two = (rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22)) +
                       ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        s->h[i] += v[i];
    s->used = 0;
}

static void add(sha256 *s, const unsigned char *bytes, size_t n) {
    s->bytes += n;
    while (n > 0) {
        size_t part = BLOCK - s->used < n ? BLOCK - s->used : n;
        memcpy(s->block + s->used, bytes, part);
        s->used += part;
        bytes += part;
        n -= part;
        if (s->used == BLOCK)
            digest_block(s);
    }
}

/* A one bit, zeros, and the length in bits. */
static void finish(sha256 *s) {
    static const unsigned char padding[BLOCK] = {0x80};
    uint64_t bits = s->bytes * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    add(s, padding, s->used < 56 ? 56 - s->used : 120 - s->used);
    add(s, length, 8);
}

int sis_file_digest(const char *path, char hex[SIS_DIGEST_SIZE]) {
    sha256 s = {.h = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
                      0x1f83d9ab, 0x5be0cd19}};
    sis__source from;
    hex[0] = '\0';
    int code = sis__source_open(&from, path);
    while (code == SIS_OK && sis__source_peek(&from) != SIS__SOURCE_END) {
        add(&s, from.chunk + from.next, from.filled - from.next);
        from.next = from.filled;
    }
    code = code == SIS_OK ? from.error : code;
    sis__source_close(&from);
    if (code != SIS_OK)
        return code;
    finish(&s);
    for (size_t i = 0; i < 8; i++)
        snprintf(hex + 8 * i, 9, "%08x", (unsigned)s.h[i]);
    return SIS_OK;
}
