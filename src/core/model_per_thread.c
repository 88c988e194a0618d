/* SPDX-License-Identifier: MIT
 *
 * One copy of a model for each thread. The first is the model itself; the others have their own
 * context, which the model must support.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/parallel.h"
#include "base/sized.h"
#include "core/core.h"

int sis__model_per_thread_init(const sis_model *model, int jobs, size_t items,
                               sis__model_per_thread *out) {
    *out = (sis__model_per_thread){.n = jobs > 0 ? jobs : sis__cores()};
    int error = sis__model_check(model);
    if (error != SIS_OK)
        return error;
    if (!model->worker_new)
        out->n = 1;
    if ((size_t)out->n > items)
        out->n = items ? (int)items : 1;
    out->models = SIS_NEW(sis_model, (size_t)out->n);
    if (!out->models)
        return SIS_E_NOMEM;
    sis__sized_extend(&out->models[0], sizeof *out->models, model);
    out->n_models = 1;
    for (int i = 1; error == SIS_OK && i < out->n; i++) {
        out->models[i] = out->models[0];
        error = model->worker_new(model->ctx, &out->models[i].ctx);
        if (error == SIS_OK)
            out->n_models++;
    }
    if (error != SIS_OK)
        sis__model_per_thread_release(out);
    return error;
}

void sis__model_per_thread_release(sis__model_per_thread *c) {
    for (int i = 1; i < c->n_models; i++)
        if (c->models[i].worker_free)
            c->models[i].worker_free(c->models[i].ctx);
    free(c->models);
    *c = (sis__model_per_thread){0};
}
