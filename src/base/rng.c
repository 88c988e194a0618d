/* SPDX-License-Identifier: MIT
 *
 * Random numbers. See rng.h. xoshiro256** and splitmix64 are by Blackman and Vigna (public domain
 * algorithms), written here from their description.
 */
#include "base/rng.h"

#include <math.h>

static uint64_t rotate(uint64_t x, int k) {
    return (x << k) | (x >> (64 - k));
}

void sis__rng_init(sis__rng *r, uint64_t seed) {
    for (unsigned i = 0; i < 4; i++)
        r->s[i] = sis__mix(seed + (i + 1) * SIS__GOLDEN);
}

uint64_t sis__rng_next(sis__rng *r) {
    uint64_t *s = r->s, result = rotate(s[1] * 5, 7) * 9, t = s[1] << 17;
    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate(s[3], 45);
    return result;
}

size_t sis__rng_below(sis__rng *r, size_t n) {
    uint64_t limit = UINT64_MAX - UINT64_MAX % n, x;
    do
        x = sis__rng_next(r);
    while (x >= limit);
    return (size_t)(x % n);
}

double sis__rng_uniform(sis__rng *r) {
    return (double)(sis__rng_next(r) >> 11) * 0x1p-53;
}

double sis__rng_normal(sis__rng *r) {
    double u = 1.0 - sis__rng_uniform(r), v = sis__rng_uniform(r);
    return sqrt(-2.0 * log(u)) * cos(6.283185307179586 * v);
}
