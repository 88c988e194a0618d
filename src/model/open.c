/* SPDX-License-Identifier: MIT
 *
 * From the text after --model to a model: the table of kinds, and the three calls of sis/model.h
 * that look into it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "model/kind.h"

static const sis__model_kind *const kinds[] = {
    &sis__model_command, /* by prefix, before those told by their end: cmd:run m.onnx */
    &sis__model_network,
};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

void sis_model_opt_init(sis_model_opt *opt) {
    *opt = (sis_model_opt){.timeout = 60};
}

static int is_of_kind(const char *spec, const sis__model_kind *kind) {
    size_t length = strlen(spec), suffix = kind->suffix ? strlen(kind->suffix) : 0;
    if (kind->prefix && strncmp(spec, kind->prefix, strlen(kind->prefix)) != 0)
        return 0;
    return length > suffix && (!suffix || strcmp(spec + length - suffix, kind->suffix) == 0);
}

static int unknown(const char *spec) {
    char list[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < N_KINDS && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%s (%s)", i ? " or " : "",
                                 kinds[i]->form, kinds[i]->meaning);
    return sis__fail(SIS_E_ARGUMENT, "model \"%.200s\": expected %s", spec, list);
}

int sis_model_open(const char *spec, const sis_model_opt *opt, sis_model *out) {
    sis_model_opt defaults;
    *out = (sis_model){0};
    sis_model_opt_init(&defaults);
    if (!opt)
        opt = &defaults;
    if (!(opt->timeout >= 0) || isinf(opt->timeout))
        return sis__fail(SIS_E_ARGUMENT, "timeout: expected seconds, 0 or more, found %g",
                         opt->timeout);
    for (size_t i = 0; i < N_KINDS; i++)
        if (is_of_kind(spec, kinds[i]))
            return kinds[i]->open(spec, opt, out);
    return unknown(spec);
}

int sis_model_measure(sis_model *model, const double *row, size_t n_values) {
    if (model->n_outputs > 0)
        return SIS_OK;
    const sis__opened *opened = model->ctx;
    return opened->kind->measure(model->ctx, row, n_values, &model->n_outputs);
}

void sis_model_close(sis_model *model) {
    if (!model)
        return;
    const sis__opened *opened = model->ctx;
    if (opened)
        opened->kind->close(model->ctx);
    *model = (sis_model){0};
}
