/* SPDX-License-Identifier: MIT
 *
 * Nodes that are not in the file. They compute inputs of the graph from the input that takes rows,
 * so that the rest of the engine sees a network with one input. Their operators (domain "sis") are
 * in net/ops/graft.c.
 */
#ifndef SIS_NET_ONNX_GRAFT_H
#define SIS_NET_ONNX_GRAFT_H

#include "net/onnx/graph.h"

typedef enum sis__graft_kind {
    SIS__GRAFT_PART,      /* values of each row from `offset` on, in the shape and type of the
                           * input */
    SIS__GRAFT_PRESENT,   /* 1 for a token, 0 for the padding token */
    SIS__GRAFT_ZEROS,     /* 0 for each token */
    SIS__GRAFT_POSITIONS, /* 0, 1, 2 ... */
    SIS__GRAFT_LENGTHS    /* number of tokens of a row */
} sis__graft_kind;

typedef struct sis__graft {
    sis__graft_kind kind;
    int from, to;     /* values: the one it reads, the input it computes */
    size_t offset;    /* PART: offset in a row */
    int embedded;     /* other kinds: `from` holds embeddings, else ids */
    const float *pad; /* embeddings: the row of the padding token */
    size_t dim;       /* and its length */
    int64_t pad_id;
    int counted; /* PART: the first axis is the batch */
} sis__graft;

/* Insert nodes before all others; the values they compute are no longer inputs. */
int sis__graph_graft(sis__graph *g, const sis__graft *grafts, size_t n);

/* Add a float value that takes rows of n values and make it the graph's only input. Returns its
 * number, or -1: out of memory. At most one call. */
int sis__graph_row_input(sis__graph *g, size_t n, int counted);

#endif
