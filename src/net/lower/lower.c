/* SPDX-License-Identifier: MIT
 *
 * See lower.h.
 */
#include "net/lower/lower.h"

#include "base/error.h"
#include "net/lower/functions.h"
#include "net/lower/recipes.h"

int sis__lower(struct Sis__Onnx__Model *doc) {
    int error = sis__functions_expand(doc);
    if (!error)
        error = sis__lower_branches(doc);
    return error ? error : sis__recipes_apply(doc);
}
