/* SPDX-License-Identifier: MIT
 *
 * See paper_models.h. The architectures are the library's. Weights are drawn so that activations
 * keep their scale from layer to layer and scores spread, as after training.
 */
#include "paper_models.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/train.h>

#include "base/rng.h"

/* ---- Two networks that are not architectures of the library --------------------------------- */

static float zeros[256];

/* Two inputs: sigmoid(sum of x * w). */
static void two(sis_net_builder *b) {
    sis_net_add_input(b, "x", 0, &(sis_net_shape){2, {0, 2}});
    sis_net_add_input(b, "w", 0, &(sis_net_shape){2, {0, 2}});
    sis_net_add_ints(b, "axis", &(sis_net_shape){1, {1}}, (const int64_t[]){1});
    sis_net_add_node(b, "Mul", "x w", "m");
    sis_net_add_node(b, "ReduceSum", "m axis", "s");
    sis_net_add_node(b, "Sigmoid", "s", "y");
}

/* The layers of tiny-dna over (length, 4), as Keras writes them. */
static void dna_last(sis_net_builder *b) {
    sis_net_add_input(b, "x", 0, &(sis_net_shape){3, {0, 20, 4}});
    sis_net_add_node(b, "Transpose", "x", "t");
    sis_net_attr_ints(b, "perm", (const int64_t[]){0, 2, 1}, 3);
    sis_net_add_param(b, "c.w", &(sis_net_shape){3, {9, 4, 5}}, zeros);
    sis_net_add_param(b, "c.b", &(sis_net_shape){1, {9}}, zeros);
    sis_net_add_node(b, "Conv", "t c.w c.b", "c");
    sis_net_add_node(b, "Relu", "c", "r1");
    sis_net_add_node(b, "GlobalMaxPool", "r1", "p");
    sis_net_add_node(b, "Flatten", "p", "f");
    sis_net_add_param(b, "d1.w", &(sis_net_shape){2, {4, 9}}, zeros);
    sis_net_add_param(b, "d1.b", &(sis_net_shape){1, {4}}, zeros);
    sis_net_add_node(b, "Gemm", "f d1.w d1.b", "d1");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Relu", "d1", "r2");
    sis_net_add_param(b, "d2.w", &(sis_net_shape){2, {1, 4}}, zeros);
    sis_net_add_param(b, "d2.b", &(sis_net_shape){1, {1}}, zeros);
    sis_net_add_node(b, "Gemm", "r2 d2.w d2.b", "d2");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Sigmoid", "d2", "y");
}

/* A colour image of 4 x 5 pixels, channels first. */
static void colours(sis_net_builder *b) {
    sis_net_add_input(b, "x", 0, &(sis_net_shape){4, {0, 3, 4, 5}});
    sis_net_add_node(b, "Flatten", "x", "f");
    sis_net_add_param(b, "d.w", &(sis_net_shape){2, {1, 60}}, zeros);
    sis_net_add_param(b, "d.b", &(sis_net_shape){1, {1}}, zeros);
    sis_net_add_node(b, "Gemm", "f d.w d.b", "d");
    sis_net_attr_int(b, "transB", 1);
    sis_net_add_node(b, "Sigmoid", "d", "y");
}

/* ---- All of them ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    const char *arch; /* NULL: made by `make` */
    int tiny;
    void (*make)(sis_net_builder *b);
} models[] = {
    {"mnist-cnn", "mnist-cnn", 0, NULL},  {"mnist-mlp", "mnist-mlp", 0, NULL},
    {"dna-cnn", "dna-cnn", 0, NULL},      {"text-cnn", "text-cnn", 0, NULL},
    {"text-lstm", "text-lstm", 0, NULL},  {"tiny-dna", "dna-cnn", 1, NULL},
    {"tiny-text", "text-cnn", 1, NULL},   {"tiny-lstm", "text-lstm", 1, NULL},
    {"tiny-dna-last", NULL, 0, dna_last}, {"tiny-colours", NULL, 0, colours},
    {"tiny-two", NULL, 0, two},
};

const char *const paper_models[] = {"mnist-cnn",     "mnist-mlp",    "dna-cnn",   "text-cnn",
                                    "text-lstm",     "tiny-dna",     "tiny-text", "tiny-lstm",
                                    "tiny-dna-last", "tiny-colours", "tiny-two",  NULL};

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
    if (p->shape.rank == 3 && p->shape.dims[1] == 4) /* one base of four is present */
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

static int build_arch(const char *name, int tiny, uint64_t seed, sis_net **out) {
    sis_arch arch;
    int error = sis_arch_init(&arch, name);
    if (error)
        return error;
    resize(&arch, tiny);
    return sis_arch_build(&arch, seed, out);
}

static int build_other(const char *name, void (*make)(sis_net_builder *), sis_net **out) {
    sis_net_builder *b = sis_net_builder_new(name);
    if (!b)
        return SIS_E_NOMEM;
    make(b);
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

int paper_model(const char *name, uint64_t seed, sis_net **out) {
    size_t i = 0, n = sizeof models / sizeof *models;
    *out = NULL;
    while (i < n && strcmp(name, models[i].name) != 0)
        i++;
    if (i == n)
        return SIS_E_ARGUMENT;
    int error = models[i].arch ? build_arch(models[i].arch, models[i].tiny, seed, out)
                               : build_other(name, models[i].make, out);
    if (!error)
        error = draw(*out, seed);
    if (error) {
        sis_net_free(*out);
        *out = NULL;
    }
    return error;
}
