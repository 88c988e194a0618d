/* SPDX-License-Identifier: MIT
 *
 * The graph of a network: values and nodes by number, in topological order. It points into the
 * document (protobuf-c messages), which holds the only copy of names, attributes and weights.
 */
#ifndef SIS_NET_ONNX_GRAPH_H
#define SIS_NET_ONNX_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include <sis/net.h>

struct Sis__Onnx__Model;
struct Sis__Onnx__Node;
struct Sis__Onnx__Tensor;
struct Sis__Onnx__Attribute;

enum { SIS__MAX_RANK = 8 };

/* Values are computed in one of four types: floats of 16, 32 and 64 bits as float, integers as
 * int64, bool, and texts as numbers (net/onnx/words.h). The declared type is kept
 * (sis__tensor.elem), and integer results wrap to its width. OTHER is everything else (uint64,
 * integers of 4 bits, complex numbers, float8, sequences): allowed in a file, refused where a live
 * node would compute with it. */
typedef enum sis__dtype { SIS__F32, SIS__I64, SIS__BOOL, SIS__TEXT, SIS__OTHER } sis__dtype;

size_t sis__dtype_size(sis__dtype t); /* 4, 8, 1, 8, 0 */
const char *sis__dtype_name(sis__dtype t);

/* TensorProto.DataType -> the type we compute in, and its name in the standard. */
sis__dtype sis__elem_dtype(int elem_type);
const char *sis__elem_name(int elem_type);

/* The values of TensorProto.DataType that the code uses. */
enum {
    SIS__FLOAT = 1,
    SIS__UINT8 = 2,
    SIS__INT8 = 3,
    SIS__UINT16 = 4,
    SIS__INT16 = 5,
    SIS__INT32 = 6,
    SIS__INT64 = 7,
    SIS__STRING = 8,
    SIS__FLOAT16 = 10,
    SIS__DOUBLE = 11,
    SIS__UINT32 = 12,
    SIS__BFLOAT16 = 16
};

/* Wrap an integer to the width of a type (two's complement); the smallest and largest value of a
 * type. */
int64_t sis__elem_wrap(int elem_type, int64_t v);
void sis__elem_range(int elem_type, int64_t *low, int64_t *high);
/* A value of a row as an integer of that type, clamped to its range; NaN becomes the lowest. */
int64_t sis__elem_whole(int elem_type, float v);
/* Are all values in the range of the type? SIS_E_ARGUMENT names the first that is not, and the
 * input. */
int sis__elem_check(int elem_type, const char *input, const int64_t *values, size_t n);

/* ---- Graph --------------------------------------------------------------------------------- */

typedef struct sis__value {
    const char *name; /* points into the document */
    int elem_type;    /* TensorProto.DataType in the file, 0: not declared */
    sis__dtype dtype; /* type we compute in; only for inputs and initializers */
    int shaped;       /* dims are known (initializer, or declared input) */
    size_t rank;
    int64_t dims[SIS__MAX_RANK];      /* -1: any size */
    const void *data;                 /* initializer: values in `dtype`, else NULL */
    void *owned;                      /* converted data; NULL if data points into the document */
    int producer;                     /* node that computes it; -1: input or initializer */
    struct Sis__Onnx__Tensor *tensor; /* initializer: its message */
} sis__value;

typedef struct sis__node {
    const struct Sis__Onnx__Node *proto; /* name, op_type, attributes */
    const struct sis__op *op; /* NULL: not supported (an error only if the node is needed) */
    int op_id;                /* enum sis__op_id; -1: not supported */
    int opset;                /* version of its domain */
    size_t n_inputs, n_outputs;
    int *inputs, *outputs;          /* values; -1: omitted optional one */
    const struct sis__graft *graft; /* a node that is not in the file (graft.h); else NULL */
} sis__node;

/* The operator with that name, and its number; NULL and -1: none. domain as in the file. */
typedef const struct sis__op *(*sis__op_lookup)(const char *domain, const char *name, int *id);

typedef struct sis__graph {
    size_t n_values, n_nodes, n_inputs, n_outputs;
    sis__value *values;
    sis__node *nodes; /* topologically sorted */
    int *inputs;      /* values that are fed: declared inputs without an initializer */
    int *outputs;     /* declared outputs */
    int *slots;       /* storage of all nodes' inputs and outputs */
    struct sis__words *words;
    int borrowed_words;
    sis__op_lookup find;
    struct sis__grafted *grafted; /* nodes that are not in the file */
} sis__graph;

/* Load the document's graph. The document must outlive it. Checks names, order and cycles; a plan
 * that needs an unsupported operator refuses it. words: the table of texts; NULL: a new one. */
int sis__graph_load(sis__graph *g, const struct Sis__Onnx__Model *doc, struct sis__words *words,
                    sis__op_lookup find);
void sis__graph_release(sis__graph *g);

/* Values of a TensorProto in one of our types. The caller frees *owned, which is NULL if *data
 * points into the message. */
typedef struct sis__decoded {
    sis__dtype dtype;
    int elem; /* TensorProto.DataType */
    size_t rank;
    int64_t dims[SIS__MAX_RANK];
    size_t count;
    const void *data;
    void *owned;
} sis__decoded;
int sis__tensor_decode(const struct Sis__Onnx__Tensor *t, struct sis__words *words,
                       sis__decoded *out);

/* Number of the value of that name, or -1. */
int sis__graph_find(const sis__graph *g, const char *name);

#endif
