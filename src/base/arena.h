/* SPDX-License-Identifier: MIT
 *
 * Memory that is freed together, and one flag that tells whether all of it could be had: ask for everything,
 * then look at sis__arena_error. An arena starts as {0}.
 */
#ifndef SIS_BASE_ARENA_H
#define SIS_BASE_ARENA_H

#include "base/mem.h"

typedef struct sis__arena {
    void **at;
    size_t n, cap;
    int failed;
} sis__arena;

/* Let the arena free memory. Returns it; NULL, and it is freed at once, if that fails. NULL counts as a
 * failure, too. */
void *sis__arena_own(sis__arena *p, void *memory);
void sis__arena_release(sis__arena *p);
/* 0 or SIS_E_NOMEM. */
int sis__arena_error(const sis__arena *p);

#define SIS_ARENA(arena, type, n) ((type *)sis__arena_own(arena, SIS_NEW(type, n)))
#define SIS_ARENA_RAW(arena, type, n) ((type *)sis__arena_own(arena, SIS_NEW_RAW(type, n)))

#endif
