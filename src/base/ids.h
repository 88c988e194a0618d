/* SPDX-License-Identifier: MIT
 *
 * Find an item by name: a sorted array of names with binary search. It needs no hash, takes 16
 * bytes per name, and finds duplicate names.
 */
#ifndef SIS_BASE_IDS_H
#define SIS_BASE_IDS_H

#include <stddef.h>

typedef struct sis__id {
    const char *id; /* borrowed */
    size_t at;      /* its position in the list that was indexed */
} sis__id;

typedef struct sis__ids {
    sis__id *items; /* (n) sorted by id, equal ids by position */
    size_t n;
} sis__ids;

/* Index n ids. 0 or SIS_E_NOMEM. */
int sis__ids_init(sis__ids *x, const char *const *ids, size_t n);
void sis__ids_release(sis__ids *x);

/* Index in `items` of the first entry of this name, or where it would be inserted. */
size_t sis__ids_first(const sis__ids *x, const char *id);

/* The position in the indexed list of the first item of this name, or SIZE_MAX. */
size_t sis__ids_find(const sis__ids *x, const char *id);

/* A name that occurs twice, or NULL. */
const char *sis__ids_twice(const sis__ids *x);

#endif
