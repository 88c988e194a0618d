/* SPDX-License-Identifier: MIT
 *
 * Allocation whose sizes cannot overflow and whose failure is already reported: a NULL from here
 * means the thread's error message is set and the caller returns SIS_E_NOMEM.
 */
#ifndef SIS_BASE_MEM_H
#define SIS_BASE_MEM_H

#include <stddef.h>

/* n zeroed items of `size` bytes; never NULL for n = 0. Free with free(). */
void *sis__alloc(size_t n, size_t size);

/* The same without the zeros, for memory that is written before it is read. What takes a page or more
 * begins with a line of the cache. */
void *sis__alloc_raw(size_t n, size_t size);

/* `p` grown or shrunk to n items; NULL leaves `p` as it was. */
void *sis__realloc(void *p, size_t n, size_t size);

/* Ask the system for large pages where n items at p are still untouched: what is read here and there in
 * many megabytes spends its time on finding pages otherwise. Returns p, which may be NULL. */
void *sis__large_pages(void *p, size_t n, size_t size);

/* A copy of n items. */
void *sis__copy(const void *p, size_t n, size_t size);

/* A copy of a string. */
char *sis__strdup(const char *s);

/* p: the address of a pointer to items, of any type. Room for `need` of them where there is room for
 * *cap: grows it by half again. 0 or SIS_E_NOMEM. */
int sis__reserve(void *p, size_t *cap, size_t need, size_t size);

#define SIS_NEW(type, n) ((type *)sis__alloc((n), sizeof(type)))
#define SIS_NEW_RAW(type, n) ((type *)sis__alloc_raw((n), sizeof(type)))

#endif
