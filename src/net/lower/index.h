/* SPDX-License-Identifier: MIT
 *
 * For lowering: the producer and the readers of each value of a document's graph.
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

/* Call sis__index_release() after a failure too. */
int sis__index_graph(sis__index *x, const struct Sis__Onnx__Graph *g);
void sis__index_release(sis__index *x);

/* The entry of a name. All fields are NULL and 0 if the graph does not have it. */
const sis__index_entry *sis__index_of(const sis__index *x, const char *name);

/* ---- Nodes ----------------------------------------------------------------------------------- */

int sis__node_is(const struct Sis__Onnx__Node *n, const char *domain, const char *type);

/* The name of input i; "" if it is missing. */
const char *sis__node_input(const struct Sis__Onnx__Node *n, size_t i);

/* Turn a node into this standard operator with one input and no attributes. */
int sis__node_become(struct Sis__Onnx__Node *n, const char *type, const char *input);

#endif
