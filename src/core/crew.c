/* SPDX-License-Identifier: MIT
 *
 * One copy of a model for each thread, with a context of its own where the model offers that.
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
    int error = SIS_OK;
    for (int i = 0; error == SIS_OK && i < out->n; i++) {
        out->models[i] = *model;
        if (model->worker_new)
            error = model->worker_new(model->ctx, &out->models[i].ctx);
        if (error == SIS_OK)
            out->hired++;
    }
    if (error != SIS_OK)
        sis__crew_release(out);
    return error;
}

void sis__crew_release(sis__crew *c) {
    for (int i = 0; i < c->hired; i++)
        if (c->models[i].worker_new && c->models[i].worker_free)
            c->models[i].worker_free(c->models[i].ctx);
    free(c->models);
    *c = (sis__crew){0};
}
