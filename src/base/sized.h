/* SPDX-License-Identifier: MIT
 *
 * Structs that a program fills and that may grow in later versions. Each begins with its size at
 * compile time, and new fields are added only at the end. Such structs may be nested: if an inner
 * one grows, the fields after it move, and sis__sized_copy finds them by the sizes.
 */
#ifndef SIS_BASE_SIZED_H
#define SIS_BASE_SIZED_H

#include <stddef.h>

enum { SIS__SIZED_INNER = 5 };

/* The layout of such a struct in this library. */
typedef struct sis__sized {
    const char *name, *init; /* names of the struct and of the function that initializes it */
    size_t size;
    struct {
        size_t at; /* offset, ascending */
        const struct sis__sized *type;
    } inner[SIS__SIZED_INNER]; /* nested structs, up to type NULL */
} sis__sized;

/* Copy the fields that both structs have. All sizes must be set, also those of nested structs, and
 * they are kept. A size that is not set, or larger than this library knows, is SIS_E_ARGUMENT. */
int sis__sized_copy(const sis__sized *type, void *to, const void *from);

/* `reserved` (`size` bytes) of a struct that a program fills has to be zero: later versions read fields there.
 * SIS_E_ARGUMENT if it is not. */
int sis__reserved_check(const char *name, const void *reserved, size_t size);
#define SIS__RESERVED_CHECK(type, s) sis__reserved_check(#type, (s)->reserved, sizeof(s)->reserved)

/* Set `to` (`room` bytes, no nested structs) to `from`, which may be shorter: keeps the size of
 * `to` and zeroes the fields that `from` does not have. */
void sis__sized_extend(void *to, size_t room, const void *from);

#endif
