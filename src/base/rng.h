/* SPDX-License-Identifier: MIT
 *
 * Random numbers from a seed: xoshiro256** seeded by splitmix64. The same seed gives the same
 * numbers on every machine. The caller owns the state; there is no global one.
 */
#ifndef SIS_BASE_RNG_H
#define SIS_BASE_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct sis__rng {
    uint64_t s[4];
} sis__rng;

/* One step of splitmix64: mixes 64 bits. The k-th number of a seed is sis__mix(seed + k *
 * SIS__GOLDEN). */
#define SIS__GOLDEN 0x9E3779B97F4A7C15u
static inline uint64_t sis__mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

void sis__rng_init(sis__rng *r, uint64_t seed);
uint64_t sis__rng_next(sis__rng *r);          /* 64 random bits */
size_t sis__rng_below(sis__rng *r, size_t n); /* 0 <= result < n, without bias; n > 0 */
double sis__rng_uniform(sis__rng *r);         /* 0 <= result < 1 */
double sis__rng_normal(sis__rng *r);          /* mean 0, deviation 1 */

#endif
