/* SPDX-License-Identifier: MIT
 *
 * How functions fail: they return a negative code and leave a one-line message in a buffer of the
 * thread. `return sis__fail(SIS_E_FORMAT, "%s, row %zu: expected a number", ...)` does both.
 */
#ifndef SIS_BASE_ERROR_H
#define SIS_BASE_ERROR_H

#include <sis/error.h>

#include "base/platform.h" /* refuses systems that sis cannot run on */

/* Record the message and return `code`. */
int sis__fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prefix the current message with "text: " and return `code`. Callers add what they know (a file,
 * an example) to the callee's message. */
int sis__fail_in(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* SIS_E_UNSTABLE: a model gave two different scores for the same input. NaN: scores not known. */
int sis__fail_unstable(double first, double again);

#endif
