/* SPDX-License-Identifier: MIT
 *
 * Numbers as text, the same in every locale. A host program may have called setlocale(): then
 * strtod() and printf() expect and write a decimal comma. These functions always use the "C"
 * locale. They are thread-safe and do not change the host's locale.
 *
 * All code in src/ that reads a number, or prints one with %e, %f or %g, calls these functions
 * directly or through sis__buf_printf() and sis__fail(). JSON is read by sis__json_load().
 * tools/check-deps.sh refuses anything else.
 */
#ifndef SIS_BASE_NUMBER_H
#define SIS_BASE_NUMBER_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

/* strtod() and strtof(). */
double sis__number(const char *text, char **end);
float sis__number_float(const char *text, char **end);

/* snprintf() and vsnprintf(). */
int sis__format(char *text, size_t size, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int sis__vformat(char *text, size_t size, const char *format, va_list args)
    __attribute__((format(printf, 3, 0)));

/* For libraries that read or print numbers themselves: the thread uses the "C" locale until
 * uselocale() restores the returned one. */
locale_t sis__plain_enter(void);

#endif
