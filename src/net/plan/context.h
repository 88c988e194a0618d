/* SPDX-License-Identifier: MIT
 *
 * What an operator is, and what its shape function works with: inputs, outputs, constants,
 * attributes, failures, packing.
 *
 * Adding an operator: one line in SIS__OPS (net/ops/ops.h) and one `const sis__op` in a file of
 * net/ops.
 */
#ifndef SIS_NET_PLAN_CONTEXT_H
#define SIS_NET_PLAN_CONTEXT_H

#include "net/plan/source.h"

/* Compilation of one node: what shape functions work with. The first failure stays: everything
 * that follows does nothing and gives defaults, so a shape function is a list of statements that
 * ends with the error. Look at it earlier only where what was refused would be an index. */
typedef struct sis__cx {
    sis__plan *plan;
    sis__step *step;
    const sis__node *node;
    uint64_t seen; /* attributes read so far; any other is refused */
    int error;     /* the first one */
} sis__cx;

/* What an operator does to values, all inputs but one being constant; walks ask for it. */
typedef enum sis__trait {
    SIS__MIXES, /* anything */
    SIS__KEEPS, /* output 0 has the values of input 0 in the same order */
    SIS__MOVES, /* each value of output 0 is one of input 0; `source` says which */
    SIS__MAPS,  /* each value of output 0 is one function of the one of each input at its place;
                   several inputs are broadcast by p.broadcast or by their tensors' shapes */
    SIS__MAPS_PLACES, /* the same, but another function at each place */
    SIS__MIXES_TEXTS, /* anything, and takes texts; those that keep or move values do so anyway */
    SIS__MAPS_TEXTS   /* maps, and takes texts */
} sis__trait;

/* Which layer an operator is, for walks and proofs that treat layers of one family in the same way; its
 * parameters are those named here. */
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
    SIS__SCALES, /* each column by itself, increasing or not by the sign of its scale; p.norm */
    SIS__IMPUTES /* missing values of a column */
} sis__family;

/* What pools and reductions make of the values that they look at. */
typedef enum sis__takes {
    SIS__TAKES_OTHER,
    SIS__TAKES_MAX,
    SIS__TAKES_MEAN,
    SIS__TAKES_SUM
} sis__takes;

typedef struct sis__op {
    size_t min_inputs, max_inputs; /* SIZE_MAX: any number */
    /* Check inputs and attributes, fill step->p, set the shape of every output; returns c->error. */
    int (*shape)(sis__cx *c);
    int (*forward)(const sis__step *s, sis__run *r);
    /* Add to grad[] of every input that has one. NULL: constant almost everywhere, or integers. */
    int (*backward)(const sis__step *s, sis__run *r);
    int in_place; /* output 0 may overwrite input 0 */
    sis__trait trait;
    unsigned
        linear; /* bit i: output 0 is linear in input i, and a constant, the others being constant */
    /* What each value of output `out` takes from input `in` (source.h); 0: not known. NULL: what the
     * trait says. */
    int (*source)(const sis__plan *p, const sis__step *s, size_t out, size_t in, sis__source *from);
    sis__family family;
    sis__takes takes; /* of pools and reductions */
} sis__op;

static inline int sis__is(const sis__step *s, sis__family family) {
    return s->ops->family == family;
}

/* Inputs of the node under compilation; NULL if left out. */
const sis__tensor *sis__cx_input(const sis__cx *c, size_t i);
/* Set output i (ignored if nobody named it). Refuses tensors that are too large. */
int sis__cx_output(sis__cx *c, size_t i, sis__dtype t, size_t rank, const size_t *dims);
/* The standard's type of output i, set before, where it is not that of the first input that is kept
 * the same way. */
void sis__cx_elem(sis__cx *c, size_t i, int elem);
/* Output 0 shares memory and values with input 0 (a view). */
void sis__cx_alias(sis__cx *c);
/* Is output i asked for? */
int sis__cx_has_output(const sis__cx *c, size_t i);
/* Output i is a constant known already (Shape): data lives as long as the plan. */
void sis__cx_known(sis__cx *c, size_t i, const void *data);
/* Memory that lives as long as the plan; zeroed. NULL: the error is SIS_E_NOMEM. */
void *sis__cx_alloc(sis__cx *c, size_t n, size_t size);
/* Parameters of the operator's own (step->p.own), zeroed; NULL as above. */
void *sis__cx_own(sis__cx *c, size_t size);
/* Failure of this node: "operator Conv (node conv1): ..."; returns the first one there was. */
int sis__cx_fail(sis__cx *c, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Input i must be a constant of integers: its values, and how many; NULL and 0 if it is not. */
const int64_t *sis__cx_ints(sis__cx *c, size_t i, size_t *n);
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
    size_t row;              /* transposed: from one row to the next; 0: k */
} sis__matrix;
const float *sis__cx_pack(sis__cx *c, const sis__matrix *b);
/* The same into new memory. */
float *sis__matrix_pack(const sis__matrix *b);

/* Attributes; the default, or NULL and 0, if absent or of another type, which is an error. */
int64_t sis__attr_int(sis__cx *c, const char *name, int64_t missing);
float sis__attr_float(sis__cx *c, const char *name, float missing);
void sis__attr_text(sis__cx *c, const char *name, const char *missing, char *v, size_t size);
const int64_t *sis__attr_ints(sis__cx *c, const char *name, size_t *n);
const float *sis__attr_floats(sis__cx *c, const char *name, size_t *n);
/* A tensor, kept as long as the plan; 1, or 0 if it is absent or an error is set. */
int sis__attr_tensor(sis__cx *c, const char *name, sis__decoded *out);
const struct Sis__Onnx__Attribute *sis__attr_find(sis__cx *c, const char *name);
/* The number in `names` of an attribute that names one of n choices; the first if absent. */
int sis__attr_choice(sis__cx *c, const char *name, const char *const *names, int n);

/* -rank..rank-1 -> 0..rank-1; 0 if it is neither. */
size_t sis__cx_axis(sis__cx *c, int64_t axis, size_t rank);

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
