/* SPDX-License-Identifier: MIT
 *
 * From an ONNX file to a run:
 *
 *     ONNX file <-> document (protobuf-c messages; the only copy of names, attributes and weights)
 *                      |  sis__graph_load
 *                   graph: values and nodes by number, in topological order     (net/onnx/graph.h)
 *                      |  sis__plan_new: concrete shapes, folded constants, live nodes only
 *                   plan: tensors with their shapes, steps with typed parameters; immutable
 *                      |  sis__run_new
 *                   run: the memory in which one thread executes a plan
 *
 * A plan has one tensor for every value of the graph, with the same number (and possibly some
 * more), so the same index finds an initializer, its gradient and its tensor in any plan. A plan
 * starts at any set of values (the network's input, or the embeddings of a text model) and ends at
 * any set (the scores, or the input of the last Softmax); only the nodes between them are compiled.
 *
 * A walk that keeps activations compiles with `keep_all`, runs, and reads
 * `run->data[plan->steps[i].outputs[0]]`.
 */
#ifndef SIS_NET_PLAN_PLAN_H
#define SIS_NET_PLAN_PLAN_H

#include "base/arena.h"
#include "net/plan/params.h"

/* Maximal number of elements of a tensor. */
#define SIS__MAX_COUNT ((size_t)1 << 31)

/* ---- Plan ---------------------------------------------------------------------------------- */

typedef struct sis__tensor {
    sis__dtype dtype;
    int elem; /* TensorProto.DataType: the type in the standard */
    size_t rank, dims[SIS__MAX_RANK];
    size_t count;            /* product of dims */
    const void *data;        /* its values if it is constant in this plan, else NULL */
    size_t offset;           /* in a run's memory, if computed or fed */
    int node;                /* step that computes it; -1: fed or constant */
    unsigned known : 1;      /* the shape is known: fed, constant or output of a live node */
    unsigned fed : 1;        /* an input of the plan */
    unsigned wanted : 1;     /* an output of the plan */
    unsigned shape_only : 1; /* before the start of the plan: only its shape is known */
    unsigned depends : 1;    /* gradient plans: depends on a fed float or a float initializer */
    int alias; /* shares the memory of this tensor (Reshape, Identity ...); -1: owns its memory */
} sis__tensor;

typedef struct sis__step { /* a node of a plan */
    int op;                /* enum sis__op_id */
    int node;              /* of the graph */
    const struct sis__op *ops;
    size_t n_inputs, n_outputs;
    const int *inputs, *outputs; /* tensors; -1: omitted */
    sis__params p;
    size_t scratch; /* bytes of scratch memory that forward (and backward) may use */
    size_t tape;    /* gradient plans: bytes that forward keeps for backward; 0: none */
    size_t tape_at; /* their offset in a run's memory */
    double flops;   /* approximate multiply-adds of one run */
    /* The next two are not used in plans with keep_all. */
    int relu; /* Conv, Gemm: also applies the Relu that follows */
    int done; /* that Relu: does nothing */
} sis__step;

typedef struct sis__feed {
    int value;
    size_t rank, dims[SIS__MAX_RANK];
    int elem; /* its type if it is not an input of the graph; 0: float */
    const void
        *constant;  /* its values if the plan may fold them (borrowed); NULL: fed in each run */
    int shape_only; /* only its shape is known: it lies before the fed values */
} sis__feed;

typedef struct sis__plan_spec {
    const sis__graph *graph; /* NULL: the network's */
    const sis__feed *feeds;
    size_t n_feeds;
    const int *outputs; /* values to compute */
    size_t n_outputs;
    int one;       /* only value `asked` of each row of the first output is wanted; other slices */
    size_t asked;  /* may be left out (slice_pushdown.c) */
    size_t batch;  /* > 1: a leading constant 1 of a Reshape may become this (see reshape) */
    int keep_all;  /* every tensor has its own memory until the next run */
    int gradients; /* implies keep_all; parameters are not folded or packed unless params_fixed */
    int training;  /* Dropout is active */
    int fed_fixed; /* gradient plans: no gradient for fed values */
    int params_fixed; /* gradient plans: no gradient for initializers */
} sis__plan_spec;

/* The cost of compiling a plan so far, which is limited. Includes bodies. */
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
    size_t scratch;       /* bytes of a run for scratch: the maximum over steps */
    size_t batch;
    int gradients, keep_all, training;
    int widened; /* a Reshape made for one row was changed to `batch` rows */
    double flops;
    const int *outputs; /* copied from the spec */
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

/* Let steps compute only the slices that later steps read (slice_pushdown.c); with `one`, only the
 * slices of the first output that contain value `asked` of each row. Leaves dead steps for
 * drop_dead(). */
int sis__plan_push_slices(sis__plan *p, int one, size_t asked);

/* Fuse operators where that gives the same bits (fuse.c). Leaves dead steps for drop_dead(). Does
 * nothing for plans with keep_all. */
int sis__plan_fuse(sis__plan *p);

/* Assign memory: sets offset and alias of tensors, arena and scratch. */
int sis__plan_lay_out(sis__plan *p);

/* Bytes of all initializers; limits of derived memory are relative to this. */
size_t sis__net_bytes(const sis_net *net);

/* ---- Run ----------------------------------------------------------------------------------- */

/* Memory that runs of different plans use in turn; zeroed at first. */
typedef struct sis__memory {
    char *blocks[3]; /* arena, scratch, gradients */
    size_t sizes[3];
} sis__memory;

typedef struct sis__run {
    const sis__plan *plan;
    void **data;     /* (n_tensors) address of each tensor; constants point into plan or document */
    float **grad;    /* (n_tensors) gradient plans: address of its gradient, NULL if it has none */
    char *scratch;   /* (plan->scratch) for the current step, aligned to 64 */
    char *base;      /* start of the arena, aligned to 64; tapes are at base + step->tape_at */
    sis__memory own; /* empty if `borrowed` */
    int borrowed;    /* another object owns the blocks and the initializers' gradients */
    void **kept;     /* (n_steps) see sis__run_keep; NULL: nothing yet */
    /* Training plans: Dropout. Which units of a row are dropped depends on `dropout` (0: none) and
     * on the row's number first_row + i, not on the other rows. */
    uint64_t dropout;
    size_t first_row;
} sis__run;

int sis__run_new(const sis__plan *p, sis__run **out);
void sis__run_free(sis__run *r);

/* Memory that a step keeps from one forward to the next, always requested with the same size;
 * zeroed at first. NULL: not available, so results must not depend on it. */
void *sis__run_keep(sis__run *r, const sis__step *s, size_t bytes);

/* A run in such memory. grads (n_tensors), for gradient plans: where gradients of initializers go,
 * NULL: not wanted. The run does not own them, and sis__run_backward() does not zero them. */
int sis__run_new_in(const sis__plan *p, sis__memory *m, float *const *grads, sis__run **out);
void sis__memory_release(sis__memory *m);

/* Execute all steps, after the caller has written the fed tensors through data[]. */
int sis__run_forward(sis__run *r);

/* After forward of a gradient plan: the caller puts d(loss)/d(output) into grad[] of the outputs;
 * this zeroes the rest and fills grad[] of fed tensors and float initializers. */
int sis__run_backward(sis__run *r);

#endif
