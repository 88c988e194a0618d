/* SPDX-License-Identifier: MIT
 *
 * Names of enumeration values, where one list defines both: the list takes a macro of name and
 * text, and the enumeration counts from 0 in the same order.
 */
#ifndef SIS_BASE_TEXTS_H
#define SIS_BASE_TEXTS_H

#include <stddef.h>

#define SIS__TEXT(name, text) text,

/* The text of a value of the list; "unknown" if it is out of range. */
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
