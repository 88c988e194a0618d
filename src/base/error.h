/* SPDX-License-Identifier: MIT
 *
 * How a function fails: it returns a negative code and leaves one line for a person in a buffer of
 * its thread. `return sis__fail(SIS_E_FORMAT, "%s, row %zu: expected a number", ...)` does both.
 */
#ifndef SIS_BASE_ERROR_H
#define SIS_BASE_ERROR_H

#include <sis/error.h>

#include "base/platform.h" /* refuses systems that sis cannot run on */

/* Record the message and return `code`. */
int sis__fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Put "text: " in front of the message that is there and return `code`: callers add what they know
 * (a file, an example) to what the callee said. */
int sis__fail_in(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* SIS_E_UNSTABLE: a model gave two answers to the same question (NaN: which is not said). */
int sis__fail_unstable(double first, double again);

#endif
