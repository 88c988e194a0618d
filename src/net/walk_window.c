/* SPDX-License-Identifier: MIT
 *
 * See walk.h.
 */
#include "net/walk.h"

int sis__walk_window_new(const sis__subject *s, sis_walk **out) {
    (void)s;
    *out = NULL;
    return SIS_E_UNSUPPORTED;
}
