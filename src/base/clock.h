/* SPDX-License-Identifier: MIT
 *
 * Time that passes.
 */
#ifndef SIS_BASE_CLOCK_H
#define SIS_BASE_CLOCK_H

#include <time.h>

/* Seconds on a clock that only goes forward. */
static inline double sis__seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

#endif
