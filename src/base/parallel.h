/* SPDX-License-Identifier: MIT
 *
 * Threading in one function: run items 0..n-1 on `jobs` threads, each item whole on one of them.
 */
#ifndef SIS_BASE_PARALLEL_H
#define SIS_BASE_PARALLEL_H

#include <stddef.h>

#include "base/clock.h"    /* who shares work out mostly times it, too */
#include "base/platform.h" /* sis__cores */

/* One item; `worker` is 0..jobs-1 and stays the same on a thread, so it can index scratch memory.
 * A result other than 0 stops the run: no further item is started. */
typedef int (*sis__parallel_fn)(void *ctx, size_t item, int worker);

/* Items are started in order. Returns 0, or the result of the lowest item that failed, with that
 * item's error message in the calling thread. jobs <= 1, or no thread to be had: a plain loop. */
int sis__parallel(int jobs, size_t n, sis__parallel_fn fn, void *ctx);

#endif
