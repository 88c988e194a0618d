/* SPDX-License-Identifier: MIT
 *
 * The inside of a network, layer by layer:
 *
 *     ONNX file <-> document (protobuf-c messages; the only copy of names, attributes and weights)
 *                      |  sis__graph_load
 *                   graph: values and nodes by number, in topological order     (struct sis_net)
 *                      |  sis__plan_new: concrete shapes, folded constants, live nodes only
 *                   plan: tensors with their shapes, nodes with typed parameters; immutable
 *                      |  sis__run_new
 *                   run: the memory one thread needs to execute a plan
 *
 * A plan has one tensor for every value of the graph, under the same number, so an initializer, its
 * gradient and a tensor of any plan are found by one index. A plan starts at any set of values (the
 * network's input, or the embeddings in the middle of a text model) and ends at any set (the
 * scores, or what goes into the last Softmax): only what lies between is compiled.
 *
 * A walk that keeps activations compiles with `keep_all`, runs, and reads
 * `run->data[plan->steps[i].outputs[0]]`.
 *
 * Adding an operator: one line in SIS__OPS (ops.h) and one `const sis__op` in an op_*.c file.
 */
#ifndef SIS_NET_GRAPH_H
#define SIS_NET_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <sis/net.h>

struct Onnx__ModelProto;
struct Onnx__NodeProto;
struct Onnx__TensorProto;
struct Onnx__AttributeProto;

enum { SIS__MAX_RANK = 8 };

/* Everything is computed in one of three types. float16 and double become float when read,
 * int32 becomes int64. OTHER stands for strings, small and unsigned integers and complex numbers:
 * allowed in a file (labels), refused where a live node would compute with them. */
typedef enum sis__dtype { SIS__F32, SIS__I64, SIS__BOOL, SIS__OTHER } sis__dtype;

size_t sis__dtype_size(sis__dtype t); /* 4, 8, 1, 0 */
const char *sis__dtype_name(sis__dtype t);

/* TensorProto.DataType -> what we compute it in, and its name in the standard. */
sis__dtype sis__elem_dtype(int elem_type);
const char *sis__elem_name(int elem_type);

/* ---- Graph --------------------------------------------------------------------------------- */

typedef struct sis__value {
    const char *name; /* of the document */
    int elem_type;    /* TensorProto.DataType as the file says it, 0 if it does not */
    sis__dtype dtype; /* what we compute it in; for inputs and initializers only */
    int shaped;       /* dims are known (initializer, or declared input) */
    size_t rank;
    int64_t dims[SIS__MAX_RANK]; /* -1: any size */
    const void *data;            /* initializer: its values in `dtype`, else NULL */
    void *owned;  /* data that had to be converted; NULL if data lies in the document */
    int producer; /* node that computes it, -1: input, initializer */
    struct Onnx__TensorProto *tensor; /* initializer: its message */
} sis__value;

typedef struct sis__node {
    const struct Onnx__NodeProto *proto; /* name, op_type, attributes */
    const struct sis__op *op; /* NULL: not supported (fine as long as it is not needed) */
    int op_id;                /* enum sis__op_id, -1 likewise */
    int opset;                /* version of its domain */
    size_t n_inputs, n_outputs;
    int *inputs, *outputs; /* values; -1: optional one left out */
} sis__node;

typedef struct sis__graph {
    size_t n_values, n_nodes, n_inputs, n_outputs;
    sis__value *values;
    sis__node *nodes; /* every node comes after those it reads from */
    int *inputs;      /* values that are fed: declared inputs without an initializer */
    int *outputs;     /* declared outputs */
    int *slots;       /* the memory of all nodes' inputs and outputs */
} sis__graph;

/* Read the document's graph. The document must outlive it. Checks names, order and cycles;
 * operators that are not supported are left to the plan that needs them. */
int sis__graph_load(sis__graph *g, const struct Onnx__ModelProto *doc);
void sis__graph_release(sis__graph *g);

/* Values of a TensorProto in one of our types. *owned is what the caller frees, NULL if *data
 * points into the message. */
typedef struct sis__decoded {
    sis__dtype dtype;
    size_t rank;
    int64_t dims[SIS__MAX_RANK];
    size_t count;
    const void *data;
    void *owned;
} sis__decoded;
int sis__tensor_decode(const struct Onnx__TensorProto *t, sis__decoded *out);

/* Number of the value of that name, or -1. */
int sis__graph_find(const sis__graph *g, const char *name);

/* ---- Typed parameters of a plan's nodes ----------------------------------------------------- */

/* Convolution and pooling. Always three spatial axes, the last is the fastest; missing leading ones
 * have size 1 (a 1-D convolution is (1, 1, L)). x (n, channels, in...) -> y (n, filters, out...).
 * Output o looks at inputs o*stride - pad + k*dilation for k in 0..kernel-1 of each axis. */
typedef struct sis__window {
    size_t n, channels, filters, groups;
    size_t in[3], out[3], kernel[3], stride[3], dilation[3];
    ptrdiff_t pad[3];  /* in front; what lies behind follows from `out` */
    size_t pad_end[3]; /* declared padding behind (average pooling counts it) */
    int include_pad;   /* AveragePool: divide by the whole window */
    int column_major;  /* MaxPool: order of Indices */
    const float
        *packed; /* Conv: weights packed for the kernel, group by group; NULL: not constant */
} sis__window;

/* Element-wise with broadcasting: collapsed output axes and the stride of each input along them. */
typedef struct sis__broadcast {
    size_t rank;
    size_t dims[SIS__MAX_RANK];
    size_t stride[3][SIS__MAX_RANK]; /* 0: broadcast */
} sis__broadcast;

/* y (m, n) = alpha * op(a) . op(b) + beta * c, once for each of `over` (the leading axes of a
 * MatMul, rank 0 for Gemm; strides count matrices). A MatMul whose right side has two axes is one
 * product with all rows of the left in m. */
typedef struct sis__gemm {
    size_t m, n, k;
    int trans_a, trans_b;
    float alpha, beta;
    sis__broadcast over;
    size_t c_row, c_col; /* Gemm: strides of c, 0 where it is broadcast */
    const float *packed; /* alpha * op(b) packed for the kernel; NULL if b is not constant */
    int finite;          /* what is packed is known to be: see sis__kernels.dense */
    const float *back;   /* in gradient plans also alpha * op(b)^T; NULL if b is not constant */
} sis__gemm;

/* A tensor seen as (outer, size, inner) around one axis or a run of neighbouring ones. */
typedef struct sis__axis {
    size_t axis, outer, size, inner;
    int last; /* ArgMax: of equal values the last */
} sis__axis;

/* Element-wise functions of one input and their constants. */
typedef struct sis__unary {
    float alpha, beta;
    int to;     /* Cast: target dtype */
    int narrow; /* Cast: to int32 */
} sis__unary;

/* Which axes a reduction removes: r kept axes then s reduced ones, each with size and stride. */
typedef struct sis__reduce {
    size_t n_kept, n_reduced;
    size_t kept[SIS__MAX_RANK], kept_stride[SIS__MAX_RANK];
    size_t reduced[SIS__MAX_RANK], reduced_stride[SIS__MAX_RANK];
    size_t count; /* values that go into one result */
} sis__reduce;

/* Transpose, Slice, Expand and the like: y[i0..] = x[offset + sum i_d * stride_d]. */
typedef struct sis__strided {
    size_t rank;
    size_t dims[SIS__MAX_RANK];      /* of y */
    ptrdiff_t stride[SIS__MAX_RANK]; /* in x, may be negative or 0 */
    ptrdiff_t offset;
} sis__strided;

typedef enum sis__pad_mode { SIS__PAD_CONSTANT, SIS__PAD_REFLECT, SIS__PAD_EDGE } sis__pad_mode;

typedef struct sis__pad {
    sis__pad_mode mode;
    float value;                  /* what the padding holds */
    int64_t whole;                /* the same where integers are padded */
    int64_t begin[SIS__MAX_RANK]; /* may be negative: cuts */
} sis__pad;

/* BatchNormalization: y = x * scale[c] + shift[c] over x (outer, channels, inner).
 * Scaler: y = (x - shift[c]) * scale[c] over (outer, channels). Normalizer: rows of `channels`. */
typedef struct sis__norm {
    size_t outer, channels, inner;
    float epsilon;
    const float *scale, *shift;    /* BatchNormalization: NULL if the statistics are not constant */
    size_t scale_step, shift_step; /* Scaler: 0 if one number serves all columns */
    int kind;                      /* Normalizer */
} sis__norm;

/* LSTM and GRU. x (seq, batch, input), or (batch, seq, input) with batch_first. Gates in ONNX order
 * (LSTM i o f c, GRU z r h); w (directions, gates*hidden, input), r (directions, gates*hidden,
 * hidden), b (directions, 2*gates*hidden). */
typedef struct sis__recurrent {
    size_t seq, batch, input, hidden, directions, gates;
    int reverse;             /* the only direction runs backwards */
    int batch_first;         /* layout = 1 */
    int linear_before_reset; /* GRU */
    int input_forget;        /* LSTM: forget gate = 1 - input gate */
    float clip;              /* of gates before activation; 0: none */
    size_t h_batch, c_batch; /* rows of the initial states: batch, or 1 to be repeated */
    /* Per direction, packed for the kernel as (k, n): w^T (input, gates*hidden), r^T (hidden,
     * gates*hidden) for an LSTM; for a GRU r of z and r (hidden, 2*hidden) and r of h (hidden,
     * hidden). NULL if not constant. */
    const float *w_packed[2], *r_packed[2], *rh_packed[2];
} sis__recurrent;

typedef struct sis__fill { /* ConstantOfShape */
    sis__dtype dtype;
    unsigned char value[8];
} sis__fill;

/* Trees as arrays; see op_trees.c. */
typedef struct sis__trees sis__trees;

/* What the ai.onnx.ml models do to raw scores. */
typedef enum sis__post {
    SIS__POST_NONE,
    SIS__POST_SOFTMAX,
    SIS__POST_LOGISTIC,
    SIS__POST_SOFTMAX_ZERO
} sis__post;

/* LinearClassifier, LinearRegressor: x (n, width) -> scores (n, outputs). */
typedef struct sis__linear {
    size_t n, width, outputs;
    size_t rows;                 /* of coefficients: outputs, or 1 for both classes of a pair */
    const float *weights, *bias; /* of the document: (rows, width), (rows) or NULL */
    sis__post post;
    int scores_at;         /* which output the scores are: 1 behind labels, else 0 */
    const int64_t *labels; /* (outputs) for the label output; NULL if they are strings */
} sis__linear;

typedef union sis__params {
    sis__window window;       /* Conv, MaxPool, AveragePool, Global*Pool */
    sis__gemm gemm;           /* Gemm, MatMul */
    sis__axis axis;           /* Softmax, LogSoftmax, Concat, Gather, Split, ArgMax */
    sis__broadcast broadcast; /* Add, Sub, Mul, Div, Pow, Max, Min, comparisons, Where */
    sis__unary unary;         /* Relu, LeakyRelu, Clip, Cast ... */
    sis__reduce reduce;       /* ReduceMax, ReduceMean, ReduceSum ... */
    sis__strided strided;     /* Transpose, Slice, Expand */
    sis__pad pad;
    sis__norm norm;
    sis__recurrent recurrent; /* LSTM, GRU */
    sis__fill fill;           /* ConstantOfShape */
    sis__linear linear;       /* LinearClassifier, LinearRegressor */
    sis__trees *trees;
} sis__params;

/* ---- Plan ---------------------------------------------------------------------------------- */

typedef struct sis__tensor {
    sis__dtype dtype;
    size_t rank, dims[SIS__MAX_RANK];
    size_t count;         /* product of dims */
    const void *data;     /* its values if they are constant in this plan, else NULL */
    size_t offset;        /* in a run's memory, if computed or fed */
    int node;             /* plan node that computes it; -1 for fed and constant ones */
    unsigned known : 1;   /* shape is known: fed, constant or output of a live node */
    unsigned fed : 1;     /* an input of the plan */
    unsigned wanted : 1;  /* an output of the plan */
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
    const void
        *constant; /* its values, if the plan may rely on them: borrowed. NULL: fed per run */
} sis__feed;

typedef struct sis__plan_spec {
    const sis__feed *feeds;
    size_t n_feeds;
    const int *outputs; /* values to compute */
    size_t n_outputs;
    size_t batch;  /* > 1: leading constant 1s of Reshape targets may become this (see reshape) */
    int keep_all;  /* every tensor keeps its own memory until the next run */
    int gradients; /* implies keep_all; parameters stay computed from, not folded or packed, unless
                      they are fixed */
    int training;  /* Dropout drops */
    int fed_fixed; /* gradient plans: none of what is fed is wanted */
    int params_fixed; /* gradient plans: none of the initializers is */
} sis__plan_spec;

typedef struct sis__plan {
    const sis_net *net;
    size_t n_tensors, n_steps;
    sis__tensor *tensors; /* one for every value of the graph */
    sis__step *steps;     /* live nodes in topological order */
    size_t arena;         /* bytes of a run for tensors */
    size_t scratch;       /* bytes of a run for the neediest step */
    size_t batch;
    int gradients, keep_all, training;
    int widened; /* a Reshape made for one row was stretched to `batch` */
    double flops;
    const int *outputs; /* the spec's, copied */
    size_t n_outputs;
    void **owned; /* folded constants, packed weights, tables: freed with the plan */
    size_t n_owned, cap_owned;
    size_t folded; /* bytes of folded constants */
} sis__plan;

int sis__plan_new(const sis_net *net, const sis__plan_spec *spec, sis__plan **out);

/* The only step that reads a tensor; NULL if there are several, or none. */
const sis__step *sis__plan_reader(const sis__plan *p, int tensor);
void sis__plan_free(sis__plan *p);

/* ---- Run ----------------------------------------------------------------------------------- */

typedef struct sis__run {
    const sis__plan *plan;
    void **data;   /* (n_tensors) where each tensor lies; constants point into plan or document */
    float **grad;  /* (n_tensors) gradient plans: where its gradient lies, NULL if none flows */
    char *scratch; /* (plan->scratch) for the step under way, aligned to 64 */
    char *base;    /* start of the arena, aligned to 64; tapes lie at base + step->tape_at */
    char *arena, *scratch_block, *grads; /* the memory behind all that */
    int borrowed; /* that memory, and initializers' gradients, are another's */
    /* Training plans: which units Dropout drops. A row's choice depends on `dropout` (0: none) and
     * its number first_row + i, not on the rows beside it. */
    uint64_t dropout;
    size_t first_row;
} sis__run;

int sis__run_new(const sis__plan *p, sis__run **out);
void sis__run_free(sis__run *r);

/* Memory that runs of different plans use one after the other; zeroed at first. */
typedef struct sis__memory {
    char *blocks[3]; /* arena, scratch, gradients */
    size_t sizes[3];
} sis__memory;

/* A run of a gradient plan in such memory. grads (n_tensors) says where gradients of initializers
 * go, NULL: not wanted. Not freed with the run, and not zeroed by sis__run_backward. */
int sis__run_new_in(const sis__plan *p, sis__memory *m, float *const *grads, sis__run **out);
void sis__memory_release(sis__memory *m);

/* Write the fed tensors through data[], then execute every step. */
int sis__run_forward(sis__run *r);

/* After forward of a gradient plan: put d(loss)/d(output) into grad[] of the outputs (the rest is
 * zeroed here), then this fills grad[] of fed tensors and float initializers. */
int sis__run_backward(sis__run *r);

/* ---- What an operator is ------------------------------------------------------------------- */

/* Compilation of one node: what shape functions work with. */
typedef struct sis__cx {
    sis__plan *plan;
    sis__step *step;
    const sis__node *node;
    uint64_t seen; /* attributes read so far; any other is refused */
} sis__cx;

typedef struct sis__op {
    size_t min_inputs, max_inputs; /* SIZE_MAX: any number */
    /* Check inputs and attributes, fill step->p, set the shape of every output. */
    int (*shape)(sis__cx *c);
    int (*forward)(const sis__step *s, sis__run *r);
    /* Add to grad[] of every input that has one. NULL: constant almost everywhere, or integers. */
    int (*backward)(const sis__step *s, sis__run *r);
    int in_place; /* output 0 may overwrite input 0 */
} sis__op;

/* Inputs of the node under compilation; NULL if left out. */
const sis__tensor *sis__cx_input(const sis__cx *c, size_t i);
/* Set output i (ignored if nobody named it). Refuses tensors that are too large. */
int sis__cx_output(sis__cx *c, size_t i, sis__dtype t, size_t rank, const size_t *dims);
/* Output 0 shares memory and values with input 0 (a view). */
void sis__cx_alias(sis__cx *c);
/* Is output i asked for? */
int sis__cx_has_output(const sis__cx *c, size_t i);
/* Output i is a constant known already (Shape): data lives as long as the plan. */
void sis__cx_known(sis__cx *c, size_t i, const void *data);
/* Memory that lives as long as the plan; zeroed. NULL: SIS_E_NOMEM. */
void *sis__cx_alloc(sis__cx *c, size_t n, size_t size);
/* Failure of this node: "operator Conv (node conv1): ..." */
int sis__cx_fail(const sis__cx *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Input i must be a constant of integers: its values, and how many. */
int sis__cx_ints(sis__cx *c, size_t i, const int64_t **v, size_t *n);
/* Input i must be float (type of a fed integer is refused with a message). */
int sis__cx_float(sis__cx *c, size_t i);
/* Is this input a constant that may be packed or pre-computed with? */
const void *sis__cx_constant(const sis__cx *c, size_t i);
/* alpha * b packed for the kernel as the right side of a product, kept with the plan or the
 * network. b is (k, n) or, transposed, (n, k). With `lefts` these are the weights of so many groups
 * of a convolution, back to back, each of n filters, to become left sides; alpha is 1. */
typedef struct sis__matrix {
    const float *at;
    size_t k, n;
    int transposed;
    float alpha;
    size_t lefts, rows, run; /* rows of the kernel, and their length */
} sis__matrix;
int sis__cx_pack(sis__cx *c, const sis__matrix *b, const float **packed);
/* The same into new memory. */
float *sis__matrix_pack(const sis__matrix *b);

/* Attributes; the default if absent. Wrong type: SIS_E_FORMAT. */
int sis__attr_int(sis__cx *c, const char *name, int64_t missing, int64_t *v);
int sis__attr_float(sis__cx *c, const char *name, float missing, float *v);
int sis__attr_text(sis__cx *c, const char *name, const char *missing, char *v, size_t size);
int sis__attr_ints(sis__cx *c, const char *name, const int64_t **v, size_t *n);
int sis__attr_floats(sis__cx *c, const char *name, const float **v, size_t *n);
int sis__attr_texts(sis__cx *c, const char *name, size_t *n); /* only how many there are */
const struct Onnx__AttributeProto *sis__attr_find(sis__cx *c, const char *name);

/* -rank..rank-1 -> 0..rank-1 */
int sis__cx_axis(sis__cx *c, int64_t axis, size_t rank, size_t *out);

static inline const float *sis__in(const sis__step *s, const sis__run *r, size_t i) {
    return i < s->n_inputs && s->inputs[i] >= 0 ? (const float *)r->data[s->inputs[i]] : NULL;
}
static inline float *sis__out(const sis__step *s, const sis__run *r, size_t i) {
    return i < s->n_outputs && s->outputs[i] >= 0 ? (float *)r->data[s->outputs[i]] : NULL;
}
static inline float *sis__din(const sis__step *s, const sis__run *r, size_t i) {
    return i < s->n_inputs && s->inputs[i] >= 0 ? r->grad[s->inputs[i]] : NULL;
}
static inline const float *sis__dout(const sis__step *s, const sis__run *r, size_t i) {
    return i < s->n_outputs && s->outputs[i] >= 0 ? r->grad[s->outputs[i]] : NULL;
}
static inline const sis__tensor *sis__tin(const sis__step *s, const sis__run *r, size_t i) {
    return i < s->n_inputs && s->inputs[i] >= 0 ? &r->plan->tensors[s->inputs[i]] : NULL;
}
static inline const sis__tensor *sis__tout(const sis__step *s, const sis__run *r, size_t i) {
    return i < s->n_outputs && s->outputs[i] >= 0 ? &r->plan->tensors[s->outputs[i]] : NULL;
}

/* ---- Network ------------------------------------------------------------------------------- */

typedef enum sis__final {
    SIS__FINAL_NONE,
    SIS__FINAL_SOFTMAX,
    SIS__FINAL_LOG_SOFTMAX,
    SIS__FINAL_SIGMOID
} sis__final;

struct sis_net {
    struct Onnx__ModelProto *doc;
    sis__graph graph;
    int input, output; /* values: what rows are fed to, what scores are read from */
    int pre_output;    /* value the final activation reads; = output if there is none */
    sis__final final;
    int embedding;            /* token models: value of the embedding matrix; else -1 */
    int embedded;             /* token models: value that the embedding Gather computes; else -1 */
    int counted;              /* the first axis of the input counts rows */
    struct sis__cache *cache; /* plans, runs and packed weights, shared by threads */
};

#endif
