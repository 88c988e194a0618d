/* SPDX-License-Identifier: MIT
 *
 * See lower.h.
 */
#include "net/lower/lower.h"

#include "base/error.h"
#include "net/lower/operators.h"
#include "net/onnx/proto.h"

int sis__lower(struct Sis__Onnx__Model *doc) {
    if (doc->n_functions)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "operator %s is a function of the file; export the model "
                         "with inlined functions, or use ONNX Runtime (ort:FILE.onnx)",
                         doc->functions[0]->name ? doc->functions[0]->name : "(unnamed)");
    int error = sis__lower_operators(doc); /* conditions of branches may need them */
    if (!error)
        error = sis__lower_branches(doc);
    return error ? error : sis__lower_levels(doc);
}
