/* SPDX-License-Identifier: MIT
 *
 * Clocks.
 */
#ifndef SIS_BASE_CLOCK_H
#define SIS_BASE_CLOCK_H

#include <time.h>

/* Seconds on a monotonic clock. */
static inline double sis__seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* CPU seconds of this thread; other programs on the machine do not count. */
static inline double sis__work_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Have `every` seconds passed since *last? If so, *last becomes now. */
static inline int sis__is_due(double *last, double every) {
    double now = sis__seconds();
    if (now - *last < every)
        return 0;
    *last = now;
    return 1;
}

#endif
