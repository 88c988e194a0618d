/* SPDX-License-Identifier: MIT
 *
 * Allocation with overflow checks. A failure is already reported: when one of these functions
 * returns NULL, the thread's error message is set and the caller returns SIS_E_NOMEM.
 */
#ifndef SIS_BASE_MEM_H
#define SIS_BASE_MEM_H

#include <stddef.h>

/* n zeroed items of `size` bytes; never NULL for n = 0. Free with free(). */
void *sis__alloc(size_t n, size_t size);

/* The same without zeroing, for memory that is written before it is read. Blocks of a page or more
 * are aligned to a cache line. */
void *sis__alloc_raw(size_t n, size_t size);

/* Resize `p` to n items; if it returns NULL, `p` is unchanged. */
void *sis__realloc(void *p, size_t n, size_t size);

/* Ask for huge pages for n items at p that have not been touched yet: random access to many
 * megabytes is otherwise slowed by TLB misses. Returns p, which may be NULL. */
void *sis__large_pages(void *p, size_t n, size_t size);

void *sis__copy(const void *p, size_t n, size_t size);

/* A copy of a string; of its first n bytes. */
char *sis__strdup(const char *s);
char *sis__strndup(const char *s, size_t n);

/* p: address of a pointer to items of any type. Makes room for `need` items where *cap fit; grows
 * by half. 0 or SIS_E_NOMEM. */
int sis__reserve(void *p, size_t *cap, size_t need, size_t size);

#define SIS_NEW(type, n) ((type *)sis__alloc((n), sizeof(type)))
#define SIS_NEW_RAW(type, n) ((type *)sis__alloc_raw((n), sizeof(type)))

#endif
