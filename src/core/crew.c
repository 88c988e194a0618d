/* SPDX-License-Identifier: MIT
 *
 * One copy of a model for each thread. The first is the model itself, the others have a context of
 * their own, which the model must offer.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "core/core.h"

int sis__crew_new(const sis_model *model, int jobs, size_t items, sis__crew *out) {
    *out = (sis__crew){.n = jobs > 0 ? jobs : sis__cores()};
    if (!model->worker_new)
        out->n = 1;
    if ((size_t)out->n > items)
        out->n = items ? (int)items : 1;
    out->models = SIS_NEW(sis_model, (size_t)out->n);
    if (!out->models)
        return SIS_E_NOMEM;
    out->models[0] = *model;
    out->hired = 1;
    int error = SIS_OK;
    for (int i = 1; error == SIS_OK && i < out->n; i++) {
        out->models[i] = *model;
        error = model->worker_new(model->ctx, &out->models[i].ctx);
        if (error == SIS_OK)
            out->hired++;
    }
    if (error != SIS_OK)
        sis__crew_release(out);
    return error;
}

void sis__crew_release(sis__crew *c) {
    for (int i = 1; i < c->hired; i++)
        if (c->models[i].worker_free)
            c->models[i].worker_free(c->models[i].ctx);
    free(c->models);
    *c = (sis__crew){0};
}
