/* SPDX-License-Identifier: MIT
 *
 * See sha256.h. Names follow the standard.
 */
#include "base/sha256.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t K[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t turn(uint32_t x, int n) {
    return x >> n | x << (32 - n);
}

/* The block as sixteen big-endian words, expanded to 64. */
static void schedule(const unsigned char *block, uint32_t w[64]) {
    for (int t = 0; t < 16; t++, block += 4)
        w[t] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 |
               (uint32_t)block[3];
    for (int t = 16; t < 64; t++) {
        uint32_t a = w[t - 15], b = w[t - 2];
        w[t] = w[t - 16] + w[t - 7] + (turn(a, 7) ^ turn(a, 18) ^ a >> 3) +
               (turn(b, 17) ^ turn(b, 19) ^ b >> 10);
    }
}

static void compress(uint32_t state[8], const unsigned char *block) {
    uint32_t w[64], v[8];
    schedule(block, w);
    memcpy(v, state, sizeof v);
    for (int t = 0; t < 64; t++) {
        uint32_t a = v[0], e = v[4];
        uint32_t one = v[7] + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) +
                       ((e & v[5]) ^ (~e & v[6])) + K[t] + w[t];
        uint32_t two =
            (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & v[1]) ^ (a & v[2]) ^ (v[1] & v[2]));
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += one;
        v[0] = one + two;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void sis__sha256_init(sis__sha256 *s) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    *s = (sis__sha256){0};
    memcpy(s->state, start, sizeof start);
}

void sis__sha256_add(sis__sha256 *s, const void *bytes, size_t n) {
    const unsigned char *at = (const unsigned char *)bytes;
    size_t used = s->length % sizeof s->block;
    s->length += n;
    while (n > 0) {
        size_t part = sizeof s->block - used < n ? sizeof s->block - used : n;
        memcpy(s->block + used, at, part);
        at += part;
        n -= part;
        used += part;
        if (used == sizeof s->block) {
            compress(s->state, s->block);
            used = 0;
        }
    }
}

void sis__sha256_text(sis__sha256 *s, char text[SIS__SHA256_TEXT]) {
    uint64_t bits = s->length * 8;
    unsigned char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (unsigned char)(bits >> (56 - 8 * i));
    sis__sha256_add(s, "\x80", 1);
    while (s->length % sizeof s->block != sizeof s->block - sizeof length)
        sis__sha256_add(s, "", 1);
    sis__sha256_add(s, length, sizeof length);
    for (int i = 0; i < 8; i++)
        snprintf(text + 8 * i, 9, "%08x", (unsigned)s->state[i]);
}

int sis__sha256_file(const char *path, char text[SIS__SHA256_TEXT]) {
    char bytes[16384];
    struct stat st;
    sis__sha256 s;
    size_t n;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) /* opening a pipe would block forever */
        return 0;
    FILE *f = fopen(path, "rb");
    if (!f)
        return 0;
    int good = fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
    sis__sha256_init(&s);
    while (good && (n = fread(bytes, 1, sizeof bytes, f)) > 0)
        sis__sha256_add(&s, bytes, n);
    good = good && !ferror(f);
    fclose(f);
    sis__sha256_text(&s, text);
    return good;
}
