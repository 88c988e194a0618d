/* SPDX-License-Identifier: MIT
 *
 * See paper_models.h. The architectures are the library's; weights are drawn here so that activations
 * keep their scale from layer to layer and scores spread, as they do after training.
 */
#include "paper_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/train.h>

#include "base/rng.h"

static const struct {
    const char *name, *arch;
    int tiny;
} models[] = {
    {"mnist-cnn", "mnist-cnn", 0}, {"mnist-mlp", "mnist-mlp", 0}, {"dna-cnn", "dna-cnn", 0},
    {"text-cnn", "text-cnn", 0},   {"text-lstm", "text-lstm", 0}, {"tiny-dna", "dna-cnn", 1},
    {"tiny-text", "text-cnn", 1},  {"tiny-lstm", "text-lstm", 1},
};

const char *const paper_models[] = {"mnist-cnn", "mnist-mlp", "dna-cnn",   "text-cnn", "text-lstm",
                                    "tiny-dna",  "tiny-text", "tiny-lstm", NULL};

static void resize(sis_arch *a, int tiny) {
    int dna = strcmp(a->name, "dna-cnn") == 0;
    a->words = a->words ? (tiny ? 50 : 1000) : 0;
    if (!tiny)
        return;
    a->inputs = 20;
    a->dim = a->dim ? 6 : 0;
    a->hidden = a->hidden ? 7 : 0;
    a->filters = a->filters ? 9 : 0;
    a->width = dna ? 5 : a->width;
    a->dense = a->dense ? 4 : 0;
}

static int ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

/* Variance of a parameter's values. */
static double variance(const sis_net_param *p) {
    double inputs = 1;
    if (ends_with(p->name, ".b"))
        return 0.01;
    if (strcmp(p->name, "e.w") == 0)
        return 1;
    if (p->name[0] == 'l') /* LSTM */
        return 1 / (double)p->shape.dims[2];
    for (size_t d = 1; d < p->shape.rank; d++)
        inputs *= (double)p->shape.dims[d];
    if (p->shape.rank == 3 && p->shape.dims[1] == 4) /* one base of four is there */
        inputs /= 4;
    return 2 / inputs;
}

static int draw(sis_net *net, uint64_t seed) {
    sis__rng r;
    int error = SIS_OK;
    sis__rng_init(&r, seed);
    for (size_t i = 0; i < sis_net_params(net) && !error; i++) {
        sis_net_param p;
        sis_net_param_get(net, i, &p);
        float *v = malloc(p.count * sizeof *v);
        if (!v)
            return SIS_E_NOMEM;
        for (size_t j = 0; j < p.count; j++)
            v[j] = (float)(sqrt(variance(&p)) * sis__rng_normal(&r));
        error = sis_net_param_set(net, i, v);
        free(v);
    }
    return error;
}

int paper_model(const char *name, uint64_t seed, sis_net **out) {
    *out = NULL;
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        sis_arch arch;
        if (strcmp(name, models[i].name) != 0)
            continue;
        int error = sis_arch_init(&arch, models[i].arch);
        resize(&arch, models[i].tiny);
        if (!error)
            error = sis_arch_build(&arch, seed, out);
        if (!error)
            error = draw(*out, seed);
        if (error) {
            sis_net_free(*out);
            *out = NULL;
        }
        return error;
    }
    return SIS_E_ARGUMENT;
}
