/* SPDX-License-Identifier: MIT
 *
 * One pass through a network as its file describes it: all inputs by name, all outputs. Plain: one
 * plan for these very inputs, without rows, batches or walks.
 */
#ifndef SIS_TEST_SUPPORT_PLAIN_H
#define SIS_TEST_SUPPORT_PLAIN_H

#include "net/plan/net.h"

typedef struct plain_pass {
    sis__graph graph;
    sis__plan *plan;
    sis__run *run;
    void **owned; /* (n_inputs) numbers of texts */
} plain_pass;

/* 0, or an error code, and then nothing is to be released. The inputs must outlive it. */
int plain_run(const sis_net *net, const sis_net_tensor *inputs, size_t n, plain_pass *p);
void plain_release(plain_pass *p);

/* An output by its name in the file; NULL: there is none, or it was not computed. */
const sis__tensor *plain_output(const plain_pass *p, const char *name);

#endif
