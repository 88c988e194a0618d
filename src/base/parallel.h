/* SPDX-License-Identifier: MIT
 *
 * Threads in one function: run items 0..n-1 on `jobs` threads, each item entirely on one thread.
 */
#ifndef SIS_BASE_PARALLEL_H
#define SIS_BASE_PARALLEL_H

#include <stddef.h>

#include "base/clock.h"    /* callers usually time the work, too */
#include "base/platform.h" /* sis__cores */

/* One item. `worker` is 0..jobs-1 and constant within a thread, so it can index scratch memory. A
 * nonzero result stops the run: no further item is started. */
typedef int (*sis__parallel_fn)(void *ctx, size_t item, int worker);

/* Items are started in order. Returns 0, or the result of the lowest item that failed, with its
 * error message in the calling thread. A plain loop if jobs <= 1 or no thread can be started. */
int sis__parallel(int jobs, size_t n, sis__parallel_fn fn, void *ctx);

#endif
