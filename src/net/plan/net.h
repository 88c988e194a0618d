/* SPDX-License-Identifier: MIT
 *
 * The network object: its document, graph, input and output, and its cache.
 */
#ifndef SIS_NET_PLAN_NET_H
#define SIS_NET_PLAN_NET_H

#include "net/plan/plan.h"

struct Sis__Onnx__Graph;

typedef enum sis__final {
    SIS__FINAL_NONE,
    SIS__FINAL_SOFTMAX,
    SIS__FINAL_LOG_SOFTMAX,
    SIS__FINAL_SIGMOID
} sis__final;

struct sis_net {
    struct Sis__Onnx__Model *doc;
    sis__graph graph;
    int input, output; /* values: takes the rows, gives the scores */
    int pre_output;    /* value that the final activation reads; output if there is no activation */
    sis__final final;
    int embedding; /* token models: value of the embedding matrix; else -1 */
    int embedded;  /* token models: value that the embedding Gather computes; else -1 */
    int counted;   /* the first axis of the input is the batch */
    size_t rows;   /* fixed batch size of a file whose rows are treated separately; else 0 */
    int whole;     /* then: only whole batches can be run */
    struct sis__cache *cache;       /* plans, runs and packed weights, shared by threads */
    struct sis__words *words;       /* table of texts */
    struct sis__extra_input *extra; /* constant inputs */
    char *explained;                /* name of the input that takes rows, if the caller chose it */
    char *chosen;                   /* name of the output, if the caller chose it */
    int64_t pad;                    /* id of the padding token */
    int document_only;              /* another engine runs it (sis_net_read_document) */
    char *refusal;                  /* why rows cannot be fed yet; NULL: they can */
};

/* Is the last operator a softmax over all scores of a row? */
static inline int sis__net_softmax(const sis_net *net) {
    return net->final == SIS__FINAL_SOFTMAX || net->final == SIS__FINAL_LOG_SOFTMAX;
}

/* Combine all inputs of the graph into one (net/inputs.c). */
int sis__net_prepare_inputs(sis_net *net, sis__graph *g);
/* Free the caller's choices of inputs and outputs. */
void sis__net_free_choices(sis_net *net);
/* Find the embedding lookup of an input: the matrix and the result, or -1. */
void sis__net_find_embedding(const sis__graph *g, int value, int *embedding, int *embedded);

/* Make a network from a document; takes ownership of it, even on failure. */
int sis__net_adopt(struct Sis__Onnx__Model *doc, sis_net **out);

/* Load the graph again after the document changed; a failure changes nothing. */
int sis__net_reload(sis_net *net);

/* Value of parameter i, or -1. */
int sis__net_param(const sis_net *net, size_t i);

/* A keep_all plan for one row, for networks whose rows have a fixed length. */
int sis__net_plan_row(const sis_net *net, struct sis__plan **plan);

/* Append an initializer. elem_type 1: float, 7: int64. */
int sis__document_add_tensor(struct Sis__Onnx__Graph *g, const char *name, int elem_type,
                             const sis_net_shape *shape, const void *values);

/* Append a node; names as in sis_net_add_node. */
struct Sis__Onnx__Model;
struct Sis__Onnx__Node;
int sis__document_add_node(struct Sis__Onnx__Model *doc, const char *op, const char *inputs,
                           const char *outputs, struct Sis__Onnx__Node **out);

#endif
