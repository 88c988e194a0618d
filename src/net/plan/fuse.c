/* SPDX-License-Identifier: MIT
 *
 * Operator fusion. Exporters write a GELU as five operators, a SiLU as two and a layer
 * normalisation as nine, after a sum; they add biases after products; attention is two products
 * around a softmax, of queries, keys and values that were transposed (fuse_attention.c). Each such
 * chain becomes one step in the place of the chain's last step; the other steps are dead and
 * sis__plan_new() removes them. The fused step rounds like the operators of the chain, so plans
 * that keep all tensors, which are not fused, give the same bits.
 *
 * A chain is fused only if nothing else reads its inner results.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"
#include "net/plan/fuse.h"

typedef sis__fuser fuser;

static void look_around(fuser *f) {
    const sis__plan *p = f->p;
    for (size_t t = 0; t < p->n_tensors; t++) {
        f->reads[t] = p->tensors[t].wanted ? 3 : 0;
        f->reader[t] = f->maker[t] = -1;
    }
    for (size_t i = 0; i < p->n_steps; i++) {
        const sis__step *s = &p->steps[i];
        for (size_t j = 0; j < s->n_inputs; j++)
            if (s->inputs[j] >= 0) {
                f->reads[s->inputs[j]] =
                    (unsigned char)(f->reads[s->inputs[j]] < 3 ? f->reads[s->inputs[j]] + 1 : 3);
                f->reader[s->inputs[j]] = (int)i;
            }
        for (size_t o = 0; o < s->n_outputs; o++)
            if (s->outputs[o] >= 0)
                f->maker[s->outputs[o]] = (int)i;
    }
}

sis__step *sis__fuser_maker(const fuser *f, int tensor, int op) {
    int i = tensor >= 0 ? f->maker[tensor] : -1;
    return i >= 0 && f->p->steps[i].op == op && !f->p->steps[i].done ? &f->p->steps[i] : NULL;
}

sis__step *sis__fuser_next(const fuser *f, const sis__step *s, int op) {
    int t = s && s->n_outputs ? s->outputs[0] : -1;
    if (t < 0 || f->reads[t] != 1)
        return NULL;
    sis__step *next = &f->p->steps[f->reader[t]];
    return next->op == op && !next->done ? next : NULL;
}

static const sis__tensor *tensor_of(const fuser *f, int t) {
    return t >= 0 ? &f->p->tensors[t] : NULL;
}

/* The other input of a step with two inputs. */
static int other_of(const sis__step *s, int tensor) {
    return s->inputs[0] == tensor ? s->inputs[1] : s->inputs[0];
}

int sis__fuser_number(const fuser *f, int tensor, float *v) {
    const sis__tensor *t = tensor_of(f, tensor);
    if (!t || !t->data || t->dtype != SIS__F32 || t->count != 1)
        return 0;
    *v = *(const float *)t->data;
    return 1;
}

/* n constant floats along the last axis, or NULL. */
static const float *vector(const fuser *f, int tensor, size_t n) {
    const sis__tensor *t = tensor_of(f, tensor);
    return t && t->data && t->dtype == SIS__F32 && t->rank && t->count == n &&
                   t->dims[t->rank - 1] == n
               ? (const float *)t->data
               : NULL;
}

int sis__same_shape(const sis__tensor *a, const sis__tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

int sis__fuser_set_inputs(const fuser *f, sis__step *last, const int *inputs, size_t n) {
    int *copy = SIS_ARENA(&f->p->memory, int, n);
    if (!copy)
        return SIS_E_NOMEM;
    memcpy(copy, inputs, n * sizeof *copy);
    last->inputs = copy;
    last->n_inputs = n;
    return SIS_OK;
}

/* ---- GELU ---------------------------------------------------------------------------------- */

static int gelu_forward(const sis__step *s, sis__run *r) {
    sis__kernels_best()->gelu((const sis__gelu *)s->p.own, sis__in(s, r, 0), sis__out(s, r, 0),
                              sis__tin(s, r, 0)->count);
    return SIS_OK;
}

static const sis__op gelu_op = {.forward = gelu_forward, .in_place = 1, .trait = SIS__MAPS};

/* After e = erf(...) + 1: the products of e, x and 0.5 in any order. Returns the last step, or
 * NULL. */
static sis__step *find_products(const fuser *f, sis__step *e, int x, sis__gelu *g) {
    sis__step *first = sis__fuser_next(f, e, SIS__OP_MUL), *second;
    if (!first)
        return NULL;
    int other = other_of(first, e->outputs[0]);
    if (other == x) {
        second = sis__fuser_next(f, first, SIS__OP_MUL);
        g->order = SIS__HALF_LAST;
        return second && sis__fuser_number(f, other_of(second, first->outputs[0]), &g->half)
                   ? second
                   : NULL;
    }
    if (sis__fuser_number(f, other, &g->half)) {
        second = sis__fuser_next(f, first, SIS__OP_MUL);
        g->order = SIS__HALF_OF_E;
        return second && other_of(second, first->outputs[0]) == x ? second : NULL;
    }
    sis__step *half = sis__fuser_maker(f, other, SIS__OP_MUL);
    g->order = SIS__HALF_OF_X;
    return half && f->reads[other] == 1 && (half->inputs[0] == x || half->inputs[1] == x) &&
                   sis__fuser_number(f, other_of(half, x), &g->half)
               ? first
               : NULL;
}

static int fuse_gelu(const fuser *f, const sis__step *erf) {
    sis__gelu g = {0};
    int t = erf->inputs[0], x;
    sis__step *inside = sis__fuser_maker(f, t, SIS__OP_DIV);
    if (!inside) {
        inside = sis__fuser_maker(f, t, SIS__OP_MUL);
        g.times = 1;
    }
    if (!inside || f->reads[t] != 1)
        return SIS_OK;
    x = g.times && sis__fuser_number(f, inside->inputs[0], &g.by) ? inside->inputs[1]
                                                                  : inside->inputs[0];
    sis__step *add = sis__fuser_next(f, erf, SIS__OP_ADD);
    if (!sis__fuser_number(f, other_of(inside, x), &g.by) || !add ||
        !sis__fuser_number(f, other_of(add, erf->outputs[0]), &g.one))
        return SIS_OK;
    sis__step *last = find_products(f, add, x, &g);
    if (!last || !sis__same_shape(tensor_of(f, x), tensor_of(f, last->outputs[0])))
        return SIS_OK;
    sis__gelu *kept = SIS_ARENA(&f->p->memory, sis__gelu, 1);
    if (!kept)
        return SIS_E_NOMEM;
    *kept = g;
    last->op = SIS__OP_GELU;
    last->ops = &gelu_op;
    last->p.own = kept;
    last->flops += 20.0 * (double)tensor_of(f, x)->count;
    return sis__fuser_set_inputs(f, last, &x, 1);
}

/* ---- x times its sigmoid --------------------------------------------------------------------- */

static int silu_forward(const sis__step *s, sis__run *r) {
    sis__kernels_best()->silu(sis__in(s, r, 0), sis__out(s, r, 0), sis__tin(s, r, 0)->count);
    return SIS_OK;
}

static const sis__op silu_op = {.forward = silu_forward, .in_place = 1, .trait = SIS__MAPS};

static int fuse_silu(const fuser *f, const sis__step *sigmoid) {
    int x = sigmoid->inputs[0];
    sis__step *last = sis__fuser_next(f, sigmoid, SIS__OP_MUL);
    if (!last || other_of(last, sigmoid->outputs[0]) != x || tensor_of(f, x)->elem != SIS__FLOAT ||
        tensor_of(f, x)->dtype != SIS__F32)
        return SIS_OK;
    last->op = SIS__OP_SWISH;
    last->ops = &silu_op;
    last->flops += sigmoid->flops;
    return sis__fuser_set_inputs(f, last, &x, 1);
}

/* ---- Layer normalisation ------------------------------------------------------------------- */

static int layer_norm_forward(const sis__step *s, sis__run *r) {
    const sis__layer_norm *l = (const sis__layer_norm *)s->p.own;
    sis__kernels_best()->layer_norm(l, sis__in(s, r, 0), s->n_inputs > 1 ? sis__in(s, r, 1) : NULL,
                                    sis__out(s, r, 0), sis__tin(s, r, 0)->count / l->n);
    return SIS_OK;
}

static const sis__op layer_norm_op = {
    .forward = layer_norm_forward, .in_place = 1, .trait = SIS__MIXES};

/* Is it the mean of tensor x over its last axis, kept as size 1? */
static int is_mean(const fuser *f, const sis__step *mean, int x) {
    const sis__tensor *t = tensor_of(f, x);
    const sis__reduce *e = mean ? &mean->p.reduce : NULL;
    return e && mean->inputs[0] == x && t->rank && e->n_reduced == 1 && e->reduced_stride[0] == 1 &&
           e->reduced[0] == t->dims[t->rank - 1] &&
           tensor_of(f, mean->outputs[0])->rank == t->rank && t->dtype == SIS__F32;
}

/* The step d * d, with one reader, that is one of two readers of d; the other one is *divided. */
static sis__step *find_square(const fuser *f, int d, sis__step **divided) {
    sis__step *square = NULL;
    *divided = NULL;
    for (size_t i = (size_t)f->maker[d] + 1; i < f->p->n_steps; i++) {
        sis__step *s = &f->p->steps[i];
        float two = 0;
        int reads = s->n_inputs > 0 && s->inputs[0] == d;
        if (reads && s->op == SIS__OP_POW && sis__fuser_number(f, s->inputs[1], &two) &&
            two == 2.0f)
            square = s;
        else if (reads && s->op == SIS__OP_MUL && s->inputs[1] == d)
            square = s;
        else if (reads && s->op == SIS__OP_DIV)
            *divided = s;
        if (square && *divided)
            return square;
    }
    return NULL;
}

/* The inputs of a normalisation of x: x, or the two addends if x is a sum that nothing else reads.
 * Returns their number. */
static size_t inputs_of_norm(const fuser *f, int x, int *inputs) {
    const sis__step *sum = sis__fuser_maker(f, x, SIS__OP_ADD);
    int alone = sum && f->reads[x] == 2; /* read by the mean and by the subtraction */
    for (size_t i = 0; i < 2 && alone; i++)
        alone = sis__same_shape(tensor_of(f, sum->inputs[i]), tensor_of(f, x));
    inputs[0] = alone ? sum->inputs[0] : x;
    inputs[1] = alone ? sum->inputs[1] : -1;
    return alone ? 2 : 1;
}

static int fuse_layer_norm(const fuser *f, const sis__step *sub) {
    int x = sub->inputs[0], d = sub->outputs[0];
    sis__step *mean = sis__fuser_maker(f, sub->inputs[1], SIS__OP_REDUCE_MEAN), *divided;
    if (!is_mean(f, mean, x) || f->reads[sub->inputs[1]] != 1 || f->reads[d] < 2)
        return SIS_OK;
    sis__step *square = find_square(f, d, &divided);
    int reads = square && square->op == SIS__OP_MUL ? 3 : 2;
    sis__step *variance = square ? sis__fuser_next(f, square, SIS__OP_REDUCE_MEAN) : NULL;
    sis__step *sum = sis__fuser_next(f, variance, SIS__OP_ADD),
              *root = sis__fuser_next(f, sum, SIS__OP_SQRT);
    sis__step *scale = sis__fuser_next(f, divided, SIS__OP_MUL),
              *last = sis__fuser_next(f, scale, SIS__OP_ADD);
    size_t n = tensor_of(f, x)->rank ? tensor_of(f, x)->dims[tensor_of(f, x)->rank - 1] : 0;
    sis__layer_norm l = {.n = n};
    if (!last || !root || f->reads[d] != reads || tensor_of(f, d)->wanted ||
        !is_mean(f, variance, square->outputs[0]) ||
        sis__fuser_next(f, root, SIS__OP_DIV) != divided ||
        divided->inputs[1] != root->outputs[0] ||
        !sis__fuser_number(f, other_of(sum, variance->outputs[0]), &l.epsilon))
        return SIS_OK;
    l.scale = vector(f, other_of(scale, divided->outputs[0]), n);
    l.shift = vector(f, other_of(last, scale->outputs[0]), n);
    if (n == 0 || !l.scale || !l.shift ||
        !sis__same_shape(tensor_of(f, x), tensor_of(f, last->outputs[0])))
        return SIS_OK;
    sis__layer_norm *kept = SIS_ARENA(&f->p->memory, sis__layer_norm, 1);
    if (!kept)
        return SIS_E_NOMEM;
    *kept = l;
    last->op = SIS__OP_LAYER_NORMALIZATION;
    last->ops = &layer_norm_op;
    last->p.own = kept;
    last->flops += 8.0 * (double)tensor_of(f, x)->count;
    int inputs[2];
    size_t n_inputs = inputs_of_norm(f, x, inputs);
    return sis__fuser_set_inputs(f, last, inputs, n_inputs);
}

/* ---- Products that a bias is added to -------------------------------------------------------- */

static int fuse_bias(const fuser *f, const sis__step *product) {
    const sis__gemm *g = &product->p.gemm;
    sis__step *add = sis__fuser_next(f, product, SIS__OP_ADD);
    if (!add || !g->tokens || product->n_inputs != 2)
        return SIS_OK;
    int bias = other_of(add, product->outputs[0]);
    if (!vector(f, bias, g->n) ||
        !sis__same_shape(tensor_of(f, product->outputs[0]), tensor_of(f, add->outputs[0])))
        return SIS_OK;
    const int *outputs = add->outputs;
    int inputs[] = {product->inputs[0], product->inputs[1], bias};
    double flops = add->flops;
    *add = *product;
    add->outputs = outputs;
    add->flops += flops;
    return sis__fuser_set_inputs(f, add, inputs, 3);
}

/* ---- Relu fused into the product before it --------------------------------------------------- */

/* The Relu's result becomes a view of the product's, and its step does nothing. */
static int fuse_relu(const fuser *f, sis__step *relu) {
    int in = relu->inputs[0];
    sis__step *product = sis__fuser_maker(f, in, SIS__OP_CONV);
    if (!product)
        product = sis__fuser_maker(f, in, SIS__OP_GEMM);
    if (!product || f->reads[in] != 1)
        return SIS_OK;
    product->relu = 1;
    relu->done = 1;
    f->p->tensors[relu->outputs[0]].alias = in;
    return SIS_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

enum { N_PASSES = 3 };

static int fuse_step(const fuser *f, sis__step *s, int pass) {
    if (pass == 0 && s->op == SIS__OP_ERF)
        return fuse_gelu(f, s);
    if (pass == 0 && s->op == SIS__OP_SIGMOID)
        return fuse_silu(f, s);
    if (pass == 0 && s->op == SIS__OP_SUB)
        return fuse_layer_norm(f, s);
    if (pass == 0 && s->op == SIS__OP_RELU)
        return fuse_relu(f, s);
    if (pass == 1 && s->op == SIS__OP_MATMUL)
        return sis__fuse_attention(f, s);
    if (pass == 2 && s->op == SIS__OP_MATMUL)
        return fuse_bias(f, s);
    return SIS_OK;
}

int sis__plan_fuse(sis__plan *p) {
    fuser f = {.p = p,
               .reads = SIS_NEW(unsigned char, p->n_tensors),
               .reader = SIS_NEW(int, p->n_tensors),
               .maker = SIS_NEW(int, p->n_tensors)};
    int error = f.reads && f.reader && f.maker ? SIS_OK : SIS_E_NOMEM;
    for (int pass = 0; pass < N_PASSES && !error; pass++) {
        look_around(&f);
        for (size_t i = 0; i < p->n_steps && !error; i++)
            error = fuse_step(&f, &p->steps[i], pass);
    }
    free(f.reads);
    free(f.reader);
    free(f.maker);
    return error;
}
