/* SPDX-License-Identifier: MIT
 *
 * The network object: its graph, what it is, and the plans that are kept for it.
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
    int input, output; /* values: what rows are fed to, what scores are read from */
    int pre_output;    /* value the final activation reads; = output if there is none */
    sis__final final;
    int embedding; /* token models: value of the embedding matrix; else -1 */
    int embedded;  /* token models: value that the embedding Gather computes; else -1 */
    int counted;   /* the first axis of the input counts rows */
    size_t rows;   /* of a batch that the file fixes, if its rows are told apart; else 0 */
    int whole;     /* then: only batches of so many can be run */
    struct sis__cache *cache; /* plans, runs and packed weights, shared by threads */
    struct sis__words *words; /* texts */
    struct sis__given *given; /* inputs that are constants */
    char *explained;          /* the input that rows are fed to, if the caller named it */
    char *chosen;             /* the output that gives the scores, likewise */
    int64_t pad;              /* the token that stands for none */
    int document_only;        /* another engine runs it (sis_net_read_document) */
    char *refusal;            /* why no rows can be fed yet; NULL: they can */
};

/* Does a softmax over all scores of a row come last? */
static inline int sis__net_softmax(const sis_net *net) {
    return net->final == SIS__FINAL_SOFTMAX || net->final == SIS__FINAL_LOG_SOFTMAX;
}

/* Make one input of all that the graph has (net/inputs.c). */
int sis__net_prepare_inputs(sis_net *net, sis__graph *g);
/* Free what the caller said about inputs. */
void sis__net_forget(sis_net *net);
/* Where the values of an input are looked up in a matrix: the matrix and the result, or -1. */
void sis__net_find_embedding(const sis__graph *g, int value, int *embedding, int *embedded);

/* Make a network of a document, which belongs to it (or is freed) afterwards. */
int sis__net_adopt(struct Sis__Onnx__Model *doc, sis_net **out);

/* Read the graph again after the document has changed; on failure nothing has happened. */
int sis__net_reload(sis_net *net);

/* Value of parameter i, or -1. */
int sis__net_param(const sis_net *net, size_t i);

/* A plan for one row of a network whose rows have one length, each result kept apart. */
int sis__net_plan_row(const sis_net *net, struct sis__plan **plan);

/* Append an initializer. elem_type 1: float, 7: int64. */
int sis__document_add_tensor(struct Sis__Onnx__Graph *g, const char *name, int elem_type,
                             const sis_net_shape *shape, const void *values);

/* A node behind the others; names as sis_net_add_node takes them. */
struct Sis__Onnx__Model;
struct Sis__Onnx__Node;
int sis__document_add_node(struct Sis__Onnx__Model *doc, const char *op, const char *inputs,
                           const char *outputs, struct Sis__Onnx__Node **out);

#endif
