/* SPDX-License-Identifier: MIT
 *
 * Who makes and who reads each value of a document's graph, for lowering.
 */
#ifndef SIS_NET_LOWER_INDEX_H
#define SIS_NET_LOWER_INDEX_H

#include "base/names.h"

struct Sis__Onnx__Graph;
struct Sis__Onnx__Node;
struct Sis__Onnx__Tensor;

typedef struct sis__index_entry {
    const struct Sis__Onnx__Tensor *constant; /* its initializer, or the tensor of Constant */
    struct Sis__Onnx__Node *producer;         /* NULL: none */
    struct Sis__Onnx__Node *reader;           /* the last one */
    size_t reads;                             /* outputs of the graph count twice */
} sis__index_entry;

typedef struct sis__index {
    sis__names names;
    sis__index_entry *entries;
    int error; /* SIS_E_NOMEM: a constant could not be read */
} sis__index;

/* Release it after a failure, too. */
int sis__index_graph(sis__index *x, const struct Sis__Onnx__Graph *g);
void sis__index_release(sis__index *x);

/* What is known of a name. All is NULL and 0 for one that the graph does not have. */
const sis__index_entry *sis__index_of(const sis__index *x, const char *name);

/* ---- Nodes ----------------------------------------------------------------------------------- */

int sis__node_is(const struct Sis__Onnx__Node *n, const char *domain, const char *type);

/* The name of input i; "": it is not there. */
const char *sis__node_input(const struct Sis__Onnx__Node *n, size_t i);

/* Let a node be this standard operator of one input, without attributes. */
int sis__node_become(struct Sis__Onnx__Node *n, const char *type, const char *input);

#endif
