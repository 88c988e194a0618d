/* SPDX-License-Identifier: MIT
 *
 * Which of many things has which name: a sorted list of names, looked up by halving it. It needs no
 * hash, takes 16 bytes a name, and shows at once which names are there twice.
 */
#ifndef SIS_BASE_IDS_H
#define SIS_BASE_IDS_H

#include <stddef.h>

typedef struct sis__id {
    const char *id; /* borrowed */
    size_t at;
} sis__id;

typedef struct sis__ids {
    sis__id *items; /* (n) by id, equal ones by place */
    size_t n;
} sis__ids;

/* Of n ids. 0 or SIS_E_NOMEM. */
int sis__ids_init(sis__ids *x, const char *const *ids, size_t n);
void sis__ids_release(sis__ids *x);

/* Where those that are called so begin in the list, or would. */
size_t sis__ids_first(const sis__ids *x, const char *id);

/* The place of the first that is called so, or SIZE_MAX. */
size_t sis__ids_find(const sis__ids *x, const char *id);

/* One that two things have, or NULL. */
const char *sis__ids_twice(const sis__ids *x);

#endif
