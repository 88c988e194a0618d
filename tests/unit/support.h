/* SPDX-License-Identifier: MIT
 *
 * What unit tests share: cmocka with its includes, and an allocator that fails on request.
 */
#ifndef SIS_TEST_SUPPORT_H
#define SIS_TEST_SUPPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sis/explain.h>
#include <sis/net.h>
#include <sis/sis.h>
#include <sis/walk.h>

/* Every default, and the decision score >= threshold. */
sis_opt decision(double threshold);

/* Every default of that method. */
sis_method_opt method_opt(sis_method method);

/* Fail unless the last error message has `part` in it, and is one line. */
void assert_message_has(const char *part);

/* The same status and the same subsets, feature by feature. */
void assert_same_subsets(const sis_collection *a, const sis_collection *b);

/* Fail the n-th allocation from now on made by the library or the test (1 = the next), and every
 * one after it if `forever`; 0 = never again. */
void fail_allocation(long n, int forever);

/* Did an allocation fail since the last fail_allocation()? */
int allocation_failed(void);

/* Run fn(ctx) with one allocation failing, or all from it on, for every chain of calls that leads to
 * an allocation: its 1st, 2nd, 3rd, 4th, 8th, 16th ... one in this program. fn returns 0 or a negative code; a run
 * whose allocation failed must return SIS_E_NOMEM (or SIS_OK where it can do without) and leak
 * nothing, which the sanitized twin checks. Returns one more than the allocations of a whole run. */
long with_failing_allocations(int (*fn)(void *ctx), void *ctx);

/* A model's predict: the sum of a row's values. */
int sum_values(void *ctx, const double *rows, size_t n, size_t width, double *scores);

/* How many of n random cases to go through: all; in a sanitized twin, which is ten times slower and
 * looks for what few cases show, every sixth; under an emulator every 24th. At least one. */
size_t rounds(size_t n);

/* A file of the data folder beside the repository, or NULL (with a line that says so) if it is not
 * there; static storage. */
const char *shared_data(const char *name);

#endif
