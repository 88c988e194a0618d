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

/* Seconds that this thread has been at work: what others do on the machine does not count. */
static inline double sis__work_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Have `every` seconds passed since *last? Then *last is now. */
static inline int sis__is_due(double *last, double every) {
    double now = sis__seconds();
    if (now - *last < every)
        return 0;
    *last = now;
    return 1;
}

#endif
