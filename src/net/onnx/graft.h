/* SPDX-License-Identifier: MIT
 *
 * Nodes that are not in the file: they compute inputs of the graph from the one that rows are fed
 * to, so that what follows sees a network of one input. Their operators (domain "sis") are in
 * net/ops/graft.c.
 */
#ifndef SIS_NET_ONNX_GRAFT_H
#define SIS_NET_ONNX_GRAFT_H

#include "net/onnx/graph.h"

typedef enum sis__graft_kind {
    SIS__GRAFT_PART,      /* values offset .. of each row, in the shape and type of the input */
    SIS__GRAFT_PRESENT,   /* 1 where a token is, 0 where the padding token is */
    SIS__GRAFT_ZEROS,     /* 0 for each token */
    SIS__GRAFT_POSITIONS, /* 0, 1, 2 ... */
    SIS__GRAFT_LENGTHS    /* how many tokens a row has */
} sis__graft_kind;

typedef struct sis__graft {
    sis__graft_kind kind;
    int from, to;     /* values: what it reads, the input it computes */
    size_t offset;    /* PART: where in a row it begins */
    int embedded;     /* the others: `from` are embeddings, else ids */
    const float *pad; /* embeddings: the row of the padding token */
    size_t dim;       /* and its length */
    int64_t pad_id;
    int counted; /* PART: the first axis counts rows */
} sis__graft;

/* Put nodes in front of all others; the values they compute are no inputs any more. */
int sis__graph_graft(sis__graph *g, const sis__graft *grafts, size_t n);

/* A further value of floats that rows of n values are fed to, the graph's only input from now on;
 * its number, or -1: out of memory. At most one. */
int sis__graph_row_input(sis__graph *g, size_t n, int counted);

#endif
