/* SPDX-License-Identifier: MIT
 *
 * See arena.h.
 */
#include "base/arena.h"

#include <stdlib.h>

#include "base/error.h"

void *sis__arena_own(sis__arena *p, void *memory) {
    if (!memory || sis__reserve(&p->at, &p->cap, p->n + 1, sizeof *p->at) != SIS_OK) {
        free(memory);
        p->failed = 1;
        return NULL;
    }
    p->at[p->n++] = memory;
    return memory;
}

void sis__arena_release(sis__arena *p) {
    for (size_t i = 0; i < p->n; i++)
        free(p->at[i]);
    free((void *)p->at);
    *p = (sis__arena){0};
}

int sis__arena_error(const sis__arena *p) {
    return p->failed ? SIS_E_NOMEM : SIS_OK;
}
