/* SPDX-License-Identifier: MIT
 *
 * The five networks of the paper with random weights, for benchmarks and tests in which the values
 * do not matter.
 */
#ifndef SIS_BENCH_PAPER_MODELS_H
#define SIS_BENCH_PAPER_MODELS_H

#include <stdint.h>

#include <sis/net.h>

/* "mnist-cnn", "mnist-mlp", "dna-cnn", "text-cnn", "text-lstm", and small versions of them,
 * "tiny-dna", "tiny-text" and "tiny-lstm"; ended by NULL. */
extern const char *const paper_models[];

/* A network of that name; SIS_E_ARGUMENT if there is none. */
int paper_model(const char *name, uint64_t seed, sis_net **out);

#endif
