/* SPDX-License-Identifier: MIT
 *
 * See dims.h.
 */
#include "base/dims.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"

/* Match axes in order. Where the array has too many, axes of size 1 are dropped; where it has too
 * few, axes of size 1 are inserted, first where 1 is wanted, then in front. */
static int fit(const size_t *dims, size_t rank, const size_t *wanted, size_t n, size_t *out) {
    size_t at = 0, ones = 0;
    for (size_t d = 0; d < n; d++)
        ones += wanted[d] == 1;
    for (size_t d = 0; d < n; d++) {
        size_t left = n - d;
        ones -= wanted[d] == 1;
        while (rank - at > left && dims[at] == 1)
            at++;
        int missing = rank - at < left;
        if (missing && (wanted[d] == 1 || (wanted[d] == 0 && rank - at + ones < left)))
            out[d] = 1;
        else if (at < rank && (wanted[d] == 0 || wanted[d] == dims[at]))
            out[d] = dims[at++];
        else
            return 0;
    }
    while (at < rank && dims[at] == 1)
        at++;
    return at == rank;
}

int sis__dims_fit(const size_t *dims, size_t rank, const size_t *wanted, size_t n, size_t *out) {
    char found[SIS__DIMS_TEXT], taken[SIS__DIMS_TEXT];
    if (fit(dims, rank, wanted, n, out))
        return SIS_OK;
    sis__dims_text(dims, rank, found);
    sis__dims_text(wanted, n, taken);
    return sis__fail(SIS_E_ARGUMENT, "the array has shape %s, but the model takes %s", found,
                     taken);
}

int sis__dims_row(const long long *declared, size_t rank, size_t n, size_t *out) {
    size_t open = 0;
    for (size_t d = 0; d < rank; d++) {
        if (declared[d] == 0 || (declared[d] > 0 && n % (size_t)declared[d] != 0))
            return SIS_E_ARGUMENT;
        n /= declared[d] > 0 ? (size_t)declared[d] : 1;
        open += declared[d] < 0;
    }
    size_t side = (size_t)(sqrt((double)n) + 0.5), length = open == 1 ? n : side;
    if (n == 0 || (open == 0 && n != 1))
        return SIS_E_ARGUMENT;
    if (open > 2 || (open == 2 && side * side != n))
        return SIS_E_UNSUPPORTED;
    for (size_t d = 0; d < rank; d++)
        out[d] = declared[d] < 0 ? length : (size_t)declared[d];
    return SIS_OK;
}

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
