/* SPDX-License-Identifier: MIT
 *
 * Kinds of inputs and their names.
 */
#include <string.h>

#include <sis/kind.h>

static const char *const names[SIS_N_KINDS] = {[SIS_KIND_NONE] = "",
#define KIND_NAME(code, name) [SIS_KIND_##code] = name,
                                               SIS_KINDS(KIND_NAME)
#undef KIND_NAME
};

sis_kind sis_kind_of(const char *name) {
    for (int k = SIS_KIND_NONE + 1; name && k < SIS_N_KINDS; k++)
        if (strcmp(names[k], name) == 0)
            return (sis_kind)k;
    return SIS_KIND_NONE;
}

const char *sis_kind_name(sis_kind kind) {
    return (unsigned)kind < SIS_N_KINDS ? names[kind] : "";
}
