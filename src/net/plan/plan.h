/* SPDX-License-Identifier: MIT
 *
 * The inside of a network, layer by layer:
 *
 *     ONNX file <-> document (protobuf-c messages; the only copy of names, attributes and weights)
 *                      |  sis__graph_load
 *                   graph: values and nodes by number, in topological order     (net/onnx/graph.h)
 *                      |  sis__plan_new: concrete shapes, folded constants, live nodes only
 *                   plan: tensors with their shapes, nodes with typed parameters; immutable
 *                      |  sis__run_new
 *                   run: the memory one thread needs to execute a plan
 *
 * A plan has one tensor for every value of the graph, under the same number (and maybe some more), so an initializer, its
 * gradient and a tensor of any plan are found by one index. A plan starts at any set of values (the
 * network's input, or the embeddings in the middle of a text model) and ends at any set (the
 * scores, or what goes into the last Softmax): only what lies between is compiled.
 *
 * A walk that keeps activations compiles with `keep_all`, runs, and reads
 * `run->data[plan->steps[i].outputs[0]]`.
 */
#ifndef SIS_NET_PLAN_PLAN_H
#define SIS_NET_PLAN_PLAN_H

#include "base/arena.h"
#include "net/plan/params.h"

/* Elements of a tensor at most. */
#define SIS__MAX_COUNT ((size_t)1 << 31)

/* ---- Plan ---------------------------------------------------------------------------------- */

typedef struct sis__tensor {
    sis__dtype dtype;
    int elem; /* TensorProto.DataType: what the standard calls it */
    size_t rank, dims[SIS__MAX_RANK];
    size_t count;        /* product of dims */
    const void *data;    /* its values if they are constant in this plan, else NULL */
    size_t offset;       /* in a run's memory, if computed or fed */
    int node;            /* plan node that computes it; -1 for fed and constant ones */
    unsigned known : 1;  /* shape is known: fed, constant or output of a live node */
    unsigned fed : 1;    /* an input of the plan */
    unsigned wanted : 1; /* an output of the plan */
    unsigned
        shape_only : 1;   /* in front of where the plan starts: only its shape may be asked for */
    unsigned depends : 1; /* gradient plans: a fed float or a float initializer lies behind it */
    int alias; /* shares the memory of this tensor (Reshape, Identity ...); -1: its own */
} sis__tensor;

typedef struct sis__step { /* a node of a plan */
    int op;                /* enum sis__op_id */
    int node;              /* of the graph */
    const struct sis__op *ops;
    size_t n_inputs, n_outputs;
    const int *inputs, *outputs; /* tensors; -1: left out */
    sis__params p;
    size_t scratch; /* bytes of scratch memory that forward (and backward) may use */
    size_t tape;    /* gradient plans: bytes that forward leaves for backward, zero: none */
    size_t tape_at; /* where they lie in a run's memory */
    double flops;   /* multiply-adds and the like, for one run; rough */
    /* Never in plans that keep everything: */
    int relu; /* Conv, Gemm: the Relu that follows is applied to the result at once */
    int done; /* that Relu: nothing left to do */
} sis__step;

typedef struct sis__feed {
    int value;
    size_t rank, dims[SIS__MAX_RANK];
    int elem; /* its type, if it is not an input of the graph; 0: float */
    const void
        *constant;  /* its values, if the plan may rely on them: borrowed. NULL: fed per run */
    int shape_only; /* neither: it lies in front of what is fed, and only its shape is asked for */
} sis__feed;

typedef struct sis__plan_spec {
    const sis__graph *graph; /* NULL: the network's */
    const sis__feed *feeds;
    size_t n_feeds;
    const int *outputs; /* values to compute */
    size_t n_outputs;
    int one;      /* of the first output, a number of each row is asked for: `asked`. What stands */
    size_t asked; /* beside it in other slices may be left out (slice_pushdown.c) */
    size_t batch; /* > 1: leading constant 1s of Reshape targets may become this (see reshape) */
    int keep_all; /* every tensor keeps its own memory until the next run */
    int gradients; /* implies keep_all; parameters stay computed from, not folded or packed, unless
                      they are fixed */
    int training;  /* Dropout drops */
    int fed_fixed; /* gradient plans: none of what is fed is wanted */
    int params_fixed; /* gradient plans: none of the initializers is */
} sis__plan_spec;

/* What compiling a plan has cost so far, which is limited. Bodies are included. */
typedef struct sis__plan_cost {
    size_t steps;  /* compiled */
    double flops;  /* of folding */
    size_t folded; /* bytes of folded constants */
} sis__plan_cost;

typedef struct sis__plan {
    const sis_net *net;
    const sis__graph *graph;
    size_t n_tensors, n_steps;
    sis__tensor *tensors; /* one for every value of the graph, then those of slice_pushdown.c */
    sis__step *steps;     /* live nodes in topological order */
    int *reader;          /* (n_tensors) the only step that reads it; negative: several or none */
    size_t arena;         /* bytes of a run for tensors */
    size_t scratch;       /* bytes of a run for the neediest step */
    size_t batch;
    int gradients, keep_all, training;
    int widened; /* a Reshape made for one row was stretched to `batch` */
    double flops;
    const int *outputs; /* the spec's, copied */
    size_t n_outputs;
    sis__arena memory; /* folded constants, packed weights, tables */
    sis__plan_cost cost;
} sis__plan;

int sis__plan_new(const sis_net *net, const sis__plan_spec *spec, sis__plan **out);

/* The only step that reads a tensor; NULL if there are several, or none. */
const sis__step *sis__plan_reader(const sis__plan *p, int tensor);
void sis__plan_free(sis__plan *p);

size_t sis__tensor_bytes(const sis__tensor *t);

/* The node's name for messages. */
const char *sis__node_name(const sis__node *n);

/* Let steps compute only the slices that are read of their results in the end (slice_pushdown.c); of the
 * first output, if `one` number of each row is asked for, those that it stands in. What nobody
 * needs any more stays until it is dropped. */
int sis__plan_push_slices(sis__plan *p, int one, size_t asked);

/* Do several operators at once where that gives the same bits (fuse.c). What nobody needs any more
 * stays until it is dropped. Nothing happens to plans that keep everything. */
int sis__plan_fuse(sis__plan *p);

/* Give every tensor its place; fills offset and alias of tensors, arena and scratch. */
int sis__plan_lay_out(sis__plan *p);

/* Bytes of all initializers: what limits on derived memory are measured against. */
size_t sis__net_bytes(const sis_net *net);

/* ---- Run ----------------------------------------------------------------------------------- */

typedef struct sis__run {
    const sis__plan *plan;
    void **data;   /* (n_tensors) where each tensor lies; constants point into plan or document */
    float **grad;  /* (n_tensors) gradient plans: where its gradient lies, NULL if none flows */
    char *scratch; /* (plan->scratch) for the step under way, aligned to 64 */
    char *base;    /* start of the arena, aligned to 64; tapes lie at base + step->tape_at */
    char *arena, *scratch_block, *grads; /* the memory behind all that */
    int borrowed; /* that memory, and initializers' gradients, are another's */
    void **kept;  /* (n_steps) see sis__run_keep; NULL: nothing so far */
    /* Training plans: which units Dropout drops. A row's choice depends on `dropout` (0: none) and
     * its number first_row + i, not on the rows beside it. */
    uint64_t dropout;
    size_t first_row;
} sis__run;

int sis__run_new(const sis__plan *p, sis__run **out);
void sis__run_free(sis__run *r);

/* Memory that a step keeps from one forward to the next, always asked for with the same size; zeroed
 * at first. NULL: there is none, so nothing may depend on it. */
void *sis__run_keep(sis__run *r, const sis__step *s, size_t bytes);

/* Memory that runs of different plans use one after the other; zeroed at first. */
typedef struct sis__memory {
    char *blocks[3]; /* arena, scratch, gradients */
    size_t sizes[3];
} sis__memory;

/* A run in such memory. grads: of gradient plans, (n_tensors) says where gradients of initializers
 * go, NULL: not wanted. Not freed with the run, and not zeroed by sis__run_backward. */
int sis__run_new_in(const sis__plan *p, sis__memory *m, float *const *grads, sis__run **out);
void sis__memory_release(sis__memory *m);

/* Write the fed tensors through data[], then execute every step. */
int sis__run_forward(sis__run *r);

/* After forward of a gradient plan: put d(loss)/d(output) into grad[] of the outputs (the rest is
 * zeroed here), then this fills grad[] of fed tensors and float initializers. */
int sis__run_backward(sis__run *r);

#endif
