/* SPDX-License-Identifier: MIT
 *
 * Numbers for strings of bytes: the first new one is 0, the next 1, and so on. A word that comes
 * again has the number it had. Constant time; nothing is ever taken out.
 */
#ifndef SIS_BASE_NAMES_H
#define SIS_BASE_NAMES_H

#include <stddef.h>
#include <stdint.h>

typedef struct sis__name {
    uint64_t hash;
    size_t start, n;
} sis__name;

typedef struct sis__names {
    sis__name *entries;
    size_t n, entries_room;
    char *bytes;
    size_t n_bytes, bytes_room;
    uint32_t *table; /* (mask + 1) number + 1 of an entry, 0: free */
    size_t mask;
} sis__names;

/* The number of these bytes. A zeroed sis__names is empty and ready. */
int sis__names_add(sis__names *names, const void *bytes, size_t n, uint32_t *number);

/* Their number if they are there, else UINT32_MAX. */
uint32_t sis__names_find(const sis__names *names, const void *bytes, size_t n);

/* The bytes of a number, and a NUL behind them. Good until the next one is added. */
const char *sis__names_text(const sis__names *names, uint32_t number);
void sis__names_release(sis__names *names);

/* Mixes n bytes into 64 bits. */
uint64_t sis__bytes_hash(const void *bytes, size_t n, uint64_t seed);

#endif
