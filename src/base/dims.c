/* SPDX-License-Identifier: MIT
 *
 * See dims.h.
 */
#include "base/dims.h"

#include <stdio.h>

void sis__dims_text(const size_t *dims, size_t rank, char text[SIS__DIMS_TEXT]) {
    size_t used = (size_t)snprintf(text, SIS__DIMS_TEXT, "(");
    for (size_t d = 0; d < rank && used < SIS__DIMS_TEXT; d++) {
        const char *comma = d ? ", " : "";
        size_t room = SIS__DIMS_TEXT - used;
        used += (size_t)(dims[d] ? snprintf(text + used, room, "%s%zu", comma, dims[d])
                                 : snprintf(text + used, room, "%sany", comma));
    }
    if (used < SIS__DIMS_TEXT)
        snprintf(text + used, SIS__DIMS_TEXT - used, ")");
}
