/* SPDX-License-Identifier: MIT
 *
 * Numbers for byte strings, in order of first appearance: 0, 1, 2 ... Constant time; entries are
 * never removed.
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
    uint32_t *table; /* (mask + 1) entry number + 1; 0: free */
    size_t mask;
} sis__names;

/* The number of these bytes, which are added if new. A zeroed sis__names is empty and ready to
 * use. */
int sis__names_add(sis__names *names, const void *bytes, size_t n, uint32_t *number);

/* The number of these bytes, or UINT32_MAX. */
uint32_t sis__names_find(const sis__names *names, const void *bytes, size_t n);

/* The bytes with this number, followed by a NUL. Valid until the next string is added. */
const char *sis__names_text(const sis__names *names, uint32_t number);
void sis__names_release(sis__names *names);

/* Hash n bytes to 64 bits. */
uint64_t sis__bytes_hash(const void *bytes, size_t n, uint64_t seed);

#endif
