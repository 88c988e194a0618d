/* SPDX-License-Identifier: MIT
 *
 * Structs that a program fills and that may grow. Each begins with its own size as the program was compiled, and new
 * fields are only added at its end, so that they make it larger. Structs of this kind may be embedded in each other:
 * if an inner one grows, all that follows it lies elsewhere, and sis__sized_copy finds it by the sizes.
 */
#ifndef SIS_BASE_SIZED_H
#define SIS_BASE_SIZED_H

#include <stddef.h>

enum { SIS__SIZED_INNER = 5 };

/* What this library knows of such a struct. */
typedef struct sis__sized {
    const char *name, *init; /* of the struct, of the function that fills it */
    size_t size;
    struct {
        size_t at; /* ascending */
        const struct sis__sized *type;
    } inner[SIS__SIZED_INNER]; /* those embedded in it; type NULL: no more */
} sis__sized;

/* Copy the fields that both structs have. Both sizes must be set, those of embedded structs too, and they stay. A size
 * that is not set, or is that of a newer library, is SIS_E_ARGUMENT. */
int sis__sized_copy(const sis__sized *type, void *to, const void *from);

/* Make `to` (`room` bytes, without embedded structs) equal to `from`, which may be shorter: its size stays, and fields
 * behind it are 0. */
void sis__sized_extend(void *to, size_t room, const void *from);

#endif
