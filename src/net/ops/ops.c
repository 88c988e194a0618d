/* SPDX-License-Identifier: MIT
 *
 * The table of operators, looked up by name.
 */
#include "net/ops/ops.h"

#include <string.h>

static const struct {
    const char *domain, *name;
    const sis__op *op;
} table[] = {
#define ROW(id, domain, name, op) {domain, name, &sis__op_##op},
    SIS__OPS(ROW)
#undef ROW
};

const sis__op *sis__op_find(const char *domain, const char *name, int *id) {
    const char *ours = strcmp(domain, "ai.onnx") == 0         ? ""
                       : strcmp(domain, "ai.onnx.ml") == 0    ? "ml"
                       : strcmp(domain, "com.microsoft") == 0 ? "ms"
                                                              : domain;
    for (int i = 0; i < SIS__OP_COUNT; i++)
        if (strcmp(table[i].name, name) == 0 && strcmp(table[i].domain, ours) == 0) {
            *id = i;
            return table[i].op;
        }
    *id = -1;
    return NULL;
}

const char *sis__op_name(int id) {
    return table[id].name;
}
