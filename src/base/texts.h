/* SPDX-License-Identifier: MIT
 *
 * What the values of an enumeration are called, where one list makes both: the list takes a macro of
 * a name and a text, and the enumeration counts from 0 in its order.
 */
#ifndef SIS_BASE_TEXTS_H
#define SIS_BASE_TEXTS_H

#include <stddef.h>

#define SIS__TEXT(name, text) text,

/* The text of a value of the list, "unknown" for a number that is none. */
#define SIS__TEXT_OF(list, value)                                                                  \
    sis__text_of((const char *const[]){list(SIS__TEXT) NULL}, (size_t)(value))

static inline const char *sis__text_of(const char *const *texts, size_t value) {
    while (*texts && value > 0) {
        texts++;
        value--;
    }
    return *texts ? *texts : "unknown";
}

#endif
