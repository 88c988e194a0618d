/* SPDX-License-Identifier: MIT
 *
 * Selects the lanes implementation for this machine.
 */
#include "analysis/lanes.h"

extern const sis__lanes sis__lanes_base, sis__lanes_avx2;

static int has_avx2(void) {
#ifdef __x86_64__
    return __builtin_cpu_supports("avx2");
#else
    return 0;
#endif
}

const sis__lanes *const *sis__lanes_all(void) {
    static const sis__lanes *const two[] = {&sis__lanes_base, &sis__lanes_avx2, NULL};
    static const sis__lanes *const one[] = {&sis__lanes_base, NULL};
    return has_avx2() ? two : one;
}

const sis__lanes *sis__lanes_best(void) {
    return has_avx2() ? &sis__lanes_avx2 : &sis__lanes_base;
}
