/* SPDX-License-Identifier: MIT
 *
 * A hash table with open addressing over entry numbers, at most half full. The bytes of all strings
 * are stored in one block.
 */
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { TABLE_FIRST = 64 };

uint64_t sis__bytes_hash(const void *bytes, size_t n, uint64_t seed) {
    const unsigned char *b = (const unsigned char *)bytes;
    uint64_t h = seed ^ (0x9E3779B97F4A7C15u * (n + 1));
    for (; n >= 8; b += 8, n -= 8) {
        uint64_t word;
        memcpy(&word, b, 8);
        h = (h ^ word) * 0xFF51AFD7ED558CCDu;
        h ^= h >> 32;
    }
    for (; n > 0; b++, n--)
        h = (h ^ *b) * 0x100000001B3u;
    h ^= h >> 29;
    h *= 0xC4CEB9FE1A85EC53u;
    return h ^ (h >> 32);
}

/* Double the table, with the same entries. */
static int grow(sis__names *names) {
    size_t size = names->table ? 2 * (names->mask + 1) : TABLE_FIRST;
    uint32_t *table = SIS_NEW(uint32_t, size);
    if (!table)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < names->n; k++) {
        size_t at = names->entries[k].hash & (size - 1);
        while (table[at])
            at = (at + 1) & (size - 1);
        table[at] = (uint32_t)k + 1;
    }
    free(names->table);
    names->table = table;
    names->mask = size - 1;
    return SIS_OK;
}

static int append(sis__names *names, const void *bytes, size_t n, uint64_t hash) {
    if (names->n >= UINT32_MAX - 1)
        return sis__fail(SIS_E_UNSUPPORTED, "more than 2^32 different words");
    int code =
        sis__reserve(&names->entries, &names->entries_room, names->n + 1, sizeof *names->entries);
    if (code == SIS_OK)
        code = sis__reserve(&names->bytes, &names->bytes_room, names->n_bytes + n + 1, 1);
    if (code != SIS_OK)
        return code;
    if (n > 0)
        memcpy(names->bytes + names->n_bytes, bytes, n);
    names->bytes[names->n_bytes + n] = '\0';
    names->entries[names->n++] = (sis__name){hash, names->n_bytes, n};
    names->n_bytes += n + 1;
    return SIS_OK;
}

/* The slot of these bytes, or the free slot where they belong. */
static size_t place_of(const sis__names *names, const void *bytes, size_t n, uint64_t hash) {
    size_t at = hash & names->mask;
    for (; names->table[at]; at = (at + 1) & names->mask) {
        const sis__name *e = &names->entries[names->table[at] - 1];
        if (e->hash == hash && e->n == n && memcmp(names->bytes + e->start, bytes, n) == 0)
            break;
    }
    return at;
}

int sis__names_add(sis__names *names, const void *bytes, size_t n, uint32_t *number) {
    uint64_t hash = sis__bytes_hash(bytes, n, 0);
    int code = SIS_OK;
    if (!names->table || 2 * (names->n + 1) > names->mask + 1)
        code = grow(names);
    if (code != SIS_OK)
        return code;
    size_t at = place_of(names, bytes, n, hash);
    if (!names->table[at]) {
        if ((code = append(names, bytes, n, hash)) != SIS_OK)
            return code;
        names->table[at] = (uint32_t)names->n;
    }
    *number = names->table[at] - 1;
    return SIS_OK;
}

uint32_t sis__names_find(const sis__names *names, const void *bytes, size_t n) {
    if (names->n == 0)
        return UINT32_MAX;
    return names->table[place_of(names, bytes, n, sis__bytes_hash(bytes, n, 0))] - 1;
}

const char *sis__names_text(const sis__names *names, uint32_t number) {
    return names->bytes + names->entries[number].start;
}

void sis__names_release(sis__names *names) {
    free(names->entries);
    free(names->bytes);
    free(names->table);
    *names = (sis__names){0};
}
