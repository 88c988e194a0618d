/* SPDX-License-Identifier: MIT
 *
 * Small random networks of every family, for the tests of the network engine.
 */
#ifndef SIS_TEST_SUPPORT_NET_H
#define SIS_TEST_SUPPORT_NET_H

#include <stddef.h>

#include <sis/net.h>
#include <sis/sis.h>

#include "base/rng.h"

#define SHAPE(...)                                                                                 \
    (&(sis_net_shape){sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), {__VA_ARGS__}})

/* n numbers around 0 of about that size, to be freed. */
float *random_floats(sis__rng *r, size_t n, double size);

/* An initializer of random numbers. */
void add_random(sis_net_builder *b, const char *name, const sis_net_shape *shape, sis__rng *r,
                double size);

/* A network of a family; `seed` decides the weights and, within the family, some sizes. */
typedef struct family {
    const char *name;
    int (*build)(unsigned seed, sis_net **out);
    int trains; /* has parameters and gradients */
} family;

extern const family families[];
extern const size_t n_families;

/* A graph around one operator or a few: x, and parameters of its own, to y. */
typedef struct operator_case {
    const char *name;
    sis_net_shape x; /* first axis 0: counts rows; else the whole input is one row */
    void (*add)(sis_net_builder *b);
} operator_case;

extern const operator_case operator_cases[];
extern const size_t n_operator_cases;
int build_operator(const operator_case *c, sis_net **out);

/* The network of that name, of seed 1. */
sis_net *build_family(const char *name);

/* The network as a model, through a file as a user has it. Frees the network. */
void open_network(sis_net *net, sis_model *model);

/* The model of a case recorded in tests/unit/ort_cases.txt, by its name. */
struct Sis__Onnx__Model;
struct Sis__Onnx__Model *recorded_model(const char *name);

/* Rows that suit the network: whole numbers for token models. n rows of *n_values; free it. */
float *random_rows(const sis_net *net, sis__rng *r, size_t n, size_t *n_values);

#endif
