/* SPDX-License-Identifier: MIT
 *
 * The interface of an operator (sis__op) and of its shape function: inputs, outputs, constants,
 * attributes, failures, packing.
 *
 * To add an operator, add one line to SIS__OPS (net/ops/ops.h) and one `const sis__op` to a file of
 * net/ops.
 */
#ifndef SIS_NET_PLAN_CONTEXT_H
#define SIS_NET_PLAN_CONTEXT_H

#include "net/plan/source.h"

/* Compilation of one node. Errors are sticky: after the first one every call does nothing and
 * returns defaults, so a shape function is a list of statements that ends with `return c->error`.
 * Check the error earlier only where a refused value would be used as an index. */
typedef struct sis__shape_ctx {
    sis__plan *plan;
    sis__step *step;
    const sis__node *node;
    uint64_t seen; /* attributes read so far; all others are refused */
    int error;     /* the first one */
} sis__shape_ctx;

/* What an operator does to values if all inputs but one are constant. Walks use it. */
typedef enum sis__trait {
    SIS__MIXES, /* no simple relation */
    SIS__KEEPS, /* output 0 has the values of input 0 in the same order */
    SIS__MOVES, /* each value of output 0 is a value of input 0; `source` says which */
    SIS__MAPS,  /* each value of output 0 is a function of the values of the inputs at its position,
                 * the same at all positions; several inputs are broadcast by p.broadcast or by
                 * their shapes */
    SIS__MAPS_PLACES, /* the same, but with a different function at each position */
    SIS__MIXES_TEXTS, /* like MIXES, and accepts texts (operators that keep or move values always
                       * do) */
    SIS__MAPS_TEXTS   /* like MAPS, and accepts texts */
} sis__trait;

/* The kind of layer, for walks and proofs that treat a family in one way, with the parameters it
 * uses. */
typedef enum sis__family {
    SIS__NO_FAMILY,
    SIS__DENSE,       /* p.gemm */
    SIS__CONVOLUTION, /* p.window */
    SIS__POOL,        /* p.window */
    SIS__GLOBAL_POOL, /* over all positions of an image; p.window */
    SIS__REDUCTION,   /* p.reduce */
    SIS__CHANNEL_NORM,
    SIS__PADDING,
    SIS__RECTIFIER,    /* max(x, 0) */
    SIS__RECURRENT,    /* p.recurrent */
    SIS__LINEAR_MODEL, /* p.linear */
    SIS__TREES,        /* p.trees */
    SIS__SCALES,       /* each column separately, monotone with the sign of its scale; p.norm */
    SIS__IMPUTES       /* replaces missing values of a column */
} sis__family;

/* How pools and reductions combine values. */
typedef enum sis__takes {
    SIS__TAKES_OTHER,
    SIS__TAKES_MAX,
    SIS__TAKES_MEAN,
    SIS__TAKES_SUM
} sis__takes;

typedef struct sis__op {
    size_t min_inputs, max_inputs; /* SIZE_MAX: any number */
    /* Check inputs and attributes, fill step->p, set the shape of every output; returns
     * c->error. */
    int (*shape)(sis__shape_ctx *c);
    int (*forward)(const sis__step *s, sis__run *r);
    /* Add to grad[] of every input that has one. NULL: gradient is 0 almost everywhere, or
     * integers. */
    int (*backward)(const sis__step *s, sis__run *r);
    int in_place; /* output 0 may overwrite input 0 */
    sis__trait trait;
    unsigned linear; /* bit i: output 0 is affine in input i if the others are constant */
    /* The values of input `in` that each value of output `out` depends on (source.h); 0: not known.
     * NULL: follows from the trait. */
    int (*source)(const sis__plan *p, const sis__step *s, size_t out, size_t in, sis__source *from);
    sis__family family;
    sis__takes takes; /* only for pools and reductions */
} sis__op;

static inline int sis__is(const sis__step *s, sis__family family) {
    return s->ops->family == family;
}

/* Input i of the node; NULL if omitted. */
const sis__tensor *sis__ctx_input(const sis__shape_ctx *c, size_t i);
/* Set output i (ignored if the node does not name it). Refuses tensors that are too large. */
int sis__ctx_output(sis__shape_ctx *c, size_t i, sis__dtype t, size_t rank, const size_t *dims);
/* Set the standard's type of output i, if it differs from that of the first input with the same
 * dtype. Call after sis__ctx_output(). */
void sis__ctx_elem(sis__shape_ctx *c, size_t i, int elem);
/* Output 0 shares memory and values with input 0 (a view). */
void sis__ctx_alias(sis__shape_ctx *c);
/* Does the node have output i? */
int sis__ctx_has_output(const sis__shape_ctx *c, size_t i);
/* Output i is a constant (Shape, for example); data must live as long as the plan. */
void sis__ctx_known(sis__shape_ctx *c, size_t i, const void *data);
/* Zeroed memory that lives as long as the plan. NULL: the error is SIS_E_NOMEM. */
void *sis__ctx_alloc(sis__shape_ctx *c, size_t n, size_t size);
/* The operator's private parameters (step->p.own), zeroed; NULL as above. */
void *sis__ctx_own(sis__shape_ctx *c, size_t size);
/* Set the error "operator Conv (node conv1): ..."; returns the first error. */
int sis__ctx_fail(sis__shape_ctx *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Input i must be a constant of integers: returns its values and their number; NULL and 0 if
 * not. */
const int64_t *sis__ctx_ints(sis__shape_ctx *c, size_t i, size_t *n);
/* Input i must be float; another type is refused with a message. */
int sis__ctx_float(sis__shape_ctx *c, size_t i);
/* The values of input i if it is a constant that may be packed or folded, else NULL. */
const void *sis__ctx_constant(const sis__shape_ctx *c, size_t i);
/* alpha * b packed as the right side of a product; the plan or the network owns the result. b is
 * (k, n) or, transposed, (n, k). With `lefts` b holds the weights of that many groups of a
 * convolution, each of n filters, packed as left sides; alpha is 1. */
typedef struct sis__matrix {
    const float *at;
    size_t k, n;
    int transposed;
    float alpha;
    size_t lefts, rows, run; /* number of rows of the kernel, and their length */
    size_t row;              /* transposed: distance of rows; 0: k */
    int tiles; /* left sides are those of tiles (ops/conv_tiles.c) of b (n, k, 3, 3) */
} sis__matrix;
const float *sis__ctx_pack(sis__shape_ctx *c, const sis__matrix *b);
/* The same into new memory. */
float *sis__matrix_pack(const sis__matrix *b);

/* Attributes. Absent: the default, or NULL and 0. Wrong type: an error. */
int64_t sis__attr_int(sis__shape_ctx *c, const char *name, int64_t missing);
float sis__attr_float(sis__shape_ctx *c, const char *name, float missing);
void sis__attr_text(sis__shape_ctx *c, const char *name, const char *missing, char *v, size_t size);
const int64_t *sis__attr_ints(sis__shape_ctx *c, const char *name, size_t *n);
const float *sis__attr_floats(sis__shape_ctx *c, const char *name, size_t *n);
/* A tensor that lives as long as the plan; 1, or 0 if it is absent or an error is set. */
int sis__attr_tensor(sis__shape_ctx *c, const char *name, sis__decoded *out);
const struct Sis__Onnx__Attribute *sis__attr_find(sis__shape_ctx *c, const char *name);
/* The index in `names` of an attribute that names one of n choices; 0 if absent. */
int sis__attr_choice(sis__shape_ctx *c, const char *name, const char *const *names, int n);

/* Map -rank..rank-1 to 0..rank-1; out of range: 0 and an error. */
size_t sis__ctx_axis(sis__shape_ctx *c, int64_t axis, size_t rank);

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

#endif
