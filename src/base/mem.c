/* SPDX-License-Identifier: MIT
 *
 * Checked allocation. See mem.h.
 */
#include "base/mem.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

static void *refuse(size_t n, size_t size) {
    sis__fail(SIS_E_NOMEM, "out of memory: %zu items of %zu bytes", n, size);
    return NULL;
}

static int overflows(size_t n, size_t size) {
    return size != 0 && n > (size_t)PTRDIFF_MAX / size;
}

/* At least one byte, so that NULL always means failure. */
static size_t bytes(size_t n, size_t size) {
    size_t total = n * size;
    return total > 0 ? total : 1;
}

void *sis__alloc(size_t n, size_t size) {
    if (overflows(n, size))
        return refuse(n, size);
    void *p = calloc(bytes(n, size), 1);
    return p ? p : refuse(n, size);
}

void *sis__alloc_raw(size_t n, size_t size) {
    const size_t line = 64, page = 4096;
    if (overflows(n, size))
        return refuse(n, size);
    size_t total = bytes(n, size);
    void *p = total < page ? malloc(total) : aligned_alloc(line, (total + line - 1) / line * line);
    return p ? p : refuse(n, size);
}

void *sis__realloc(void *p, size_t n, size_t size) {
    if (overflows(n, size))
        return refuse(n, size);
    void *q = realloc(p, bytes(n, size));
    return q ? q : refuse(n, size);
}

void *sis__large_pages(void *p, size_t n, size_t size) {
#ifdef MADV_HUGEPAGE
    const uintptr_t page = 4096, min_bytes = (uintptr_t)4 << 20;
    uintptr_t from = ((uintptr_t)p + page - 1) / page * page;
    uintptr_t to = ((uintptr_t)p + n * size) / page * page;
    if (p && to > from && to - from >= min_bytes)
        (void)madvise((char *)p + (from - (uintptr_t)p), to - from, MADV_HUGEPAGE);
#else
    (void)n;
    (void)size;
#endif
    return p;
}

void *sis__copy(const void *p, size_t n, size_t size) {
    void *q = sis__alloc_raw(n, size);
    if (q && n > 0 && size > 0)
        memcpy(q, p, n * size);
    return q;
}

char *sis__strdup(const char *s) {
    return (char *)sis__copy(s, strlen(s) + 1, 1);
}

char *sis__strndup(const char *s, size_t n) {
    char *copy = (char *)sis__alloc(n + 1, 1);
    return copy ? (char *)memcpy(copy, s, n) : NULL;
}

int sis__reserve(void *p, size_t *cap, size_t need, size_t size) {
    void *items;
    if (need <= *cap)
        return SIS_OK;
    memcpy(&items, p, sizeof items); /* a void ** must not read a pointer of another type */
    size_t n = *cap + *cap / 2;
    if (n < need)
        n = need;
    if (n < 16)
        n = 16;
    items = sis__realloc(items, n, size);
    if (!items)
        return SIS_E_NOMEM;
    memcpy(p, &items, sizeof items);
    *cap = n;
    return SIS_OK;
}
