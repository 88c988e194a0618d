/* SPDX-License-Identifier: MIT
 *
 * Several operators at once. Exporters write a GELU as five operators and a layer normalisation as
 * nine, turn queries, keys and values before they multiply them, and add biases to products. Each
 * such chain becomes one step, which takes the place of the chain's last one; the others are left
 * to sis__plan_new to drop. What it computes is rounded as the chain's operators round, so plans
 * that keep everything, where nothing of this is done, give the same bits.
 *
 * A chain is only taken where nobody else reads what lies inside it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/kernels/kernels.h"
#include "net/ops/ops.h"
#include "net/plan/plan.h"

/* Who reads what. */
typedef struct {
    sis__plan *p;
    unsigned char *reads; /* (n_tensors) inputs of steps that are it; 2: several */
    int *reader;          /* (n_tensors) the last step that reads it, or -1 */
    int *maker;           /* (n_tensors) the step that computes it, or -1 */
} fuser;

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

static sis__step *maker_of(const fuser *f, int tensor, int op) {
    int i = tensor >= 0 ? f->maker[tensor] : -1;
    return i >= 0 && f->p->steps[i].op == op && !f->p->steps[i].done ? &f->p->steps[i] : NULL;
}

/* The step of that operator that alone reads the only result of s; NULL: there is none. */
static sis__step *next_of(const fuser *f, const sis__step *s, int op) {
    int t = s && s->n_outputs ? s->outputs[0] : -1;
    if (t < 0 || f->reads[t] != 1)
        return NULL;
    sis__step *next = &f->p->steps[f->reader[t]];
    return next->op == op && !next->done ? next : NULL;
}

static const sis__tensor *tensor_of(const fuser *f, int t) {
    return t >= 0 ? &f->p->tensors[t] : NULL;
}

/* The other input of a step of two. */
static int other_of(const sis__step *s, int tensor) {
    return s->inputs[0] == tensor ? s->inputs[1] : s->inputs[0];
}

/* Is it one constant float? */
static int number(const fuser *f, int tensor, float *v) {
    const sis__tensor *t = tensor_of(f, tensor);
    if (!t || !t->data || t->dtype != SIS__F32 || t->count != 1)
        return 0;
    *v = *(const float *)t->data;
    return 1;
}

/* Is it n constant floats along the last axis? */
static const float *vector(const fuser *f, int tensor, size_t n) {
    const sis__tensor *t = tensor_of(f, tensor);
    return t && t->data && t->dtype == SIS__F32 && t->rank && t->count == n &&
                   t->dims[t->rank - 1] == n
               ? (const float *)t->data
               : NULL;
}

static int same_shape(const sis__tensor *a, const sis__tensor *b) {
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dims, b->dims, a->rank * sizeof *a->dims) == 0;
}

/* Memory of the plan. */
static void *own(sis__plan *p, size_t size) {
    void *memory = sis__alloc(1, size);
    return sis__plan_own(p, memory) == SIS_OK ? memory : NULL;
}

/* Let `last` read these instead. */
static int set_inputs(sis__plan *p, sis__step *last, const int *inputs, size_t n) {
    int *copy = (int *)own(p, n * sizeof *copy);
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

/* Behind e = erf(...) + 1: how it is multiplied with x and a half. The last step, or NULL. */
static sis__step *find_products(const fuser *f, sis__step *e, int x, sis__gelu *g) {
    sis__step *first = next_of(f, e, SIS__OP_MUL), *second;
    if (!first)
        return NULL;
    int other = other_of(first, e->outputs[0]);
    if (other == x) {
        second = next_of(f, first, SIS__OP_MUL);
        g->order = SIS__HALF_LAST;
        return second && number(f, other_of(second, first->outputs[0]), &g->half) ? second : NULL;
    }
    if (number(f, other, &g->half)) {
        second = next_of(f, first, SIS__OP_MUL);
        g->order = SIS__HALF_OF_E;
        return second && other_of(second, first->outputs[0]) == x ? second : NULL;
    }
    sis__step *half = maker_of(f, other, SIS__OP_MUL);
    g->order = SIS__HALF_OF_X;
    return half && f->reads[other] == 1 && (half->inputs[0] == x || half->inputs[1] == x) &&
                   number(f, other_of(half, x), &g->half)
               ? first
               : NULL;
}

static int fuse_gelu(const fuser *f, const sis__step *erf) {
    sis__gelu g = {0};
    int t = erf->inputs[0], x;
    sis__step *inside = maker_of(f, t, SIS__OP_DIV);
    if (!inside) {
        inside = maker_of(f, t, SIS__OP_MUL);
        g.times = 1;
    }
    if (!inside || f->reads[t] != 1)
        return SIS_OK;
    x = g.times && number(f, inside->inputs[0], &g.by) ? inside->inputs[1] : inside->inputs[0];
    sis__step *add = next_of(f, erf, SIS__OP_ADD);
    if (!number(f, other_of(inside, x), &g.by) || !add ||
        !number(f, other_of(add, erf->outputs[0]), &g.one))
        return SIS_OK;
    sis__step *last = find_products(f, add, x, &g);
    if (!last || !same_shape(tensor_of(f, x), tensor_of(f, last->outputs[0])))
        return SIS_OK;
    sis__gelu *kept = (sis__gelu *)own(f->p, sizeof g);
    if (!kept)
        return SIS_E_NOMEM;
    *kept = g;
    last->op = SIS__OP_GELU;
    last->ops = &gelu_op;
    last->p.own = kept;
    last->flops += 20.0 * (double)tensor_of(f, x)->count;
    return set_inputs(f->p, last, &x, 1);
}

/* ---- Layer normalisation ------------------------------------------------------------------- */

static int layer_norm_forward(const sis__step *s, sis__run *r) {
    const sis__layer_norm *l = (const sis__layer_norm *)s->p.own;
    sis__kernels_best()->layer_norm(l, sis__in(s, r, 0), sis__out(s, r, 0),
                                    sis__tin(s, r, 0)->count / l->n);
    return SIS_OK;
}

static const sis__op layer_norm_op = {
    .forward = layer_norm_forward, .in_place = 1, .trait = SIS__MIXES};

/* The mean of tensor x over its last axis, which stays as 1? */
static int is_mean(const fuser *f, const sis__step *mean, int x) {
    const sis__tensor *t = tensor_of(f, x);
    const sis__reduce *e = mean ? &mean->p.reduce : NULL;
    return e && mean->inputs[0] == x && t->rank && e->n_reduced == 1 && e->reduced_stride[0] == 1 &&
           e->reduced[0] == t->dims[t->rank - 1] &&
           tensor_of(f, mean->outputs[0])->rank == t->rank && t->dtype == SIS__F32;
}

/* d * d, which is read once and is one of the two that read d; the other is *divided. */
static sis__step *find_square(const fuser *f, int d, sis__step **divided) {
    sis__step *square = NULL;
    *divided = NULL;
    for (size_t i = (size_t)f->maker[d] + 1; i < f->p->n_steps; i++) {
        sis__step *s = &f->p->steps[i];
        float two = 0;
        int reads = s->n_inputs > 0 && s->inputs[0] == d;
        if (reads && s->op == SIS__OP_POW && number(f, s->inputs[1], &two) && two == 2.0f)
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

static int fuse_layer_norm(const fuser *f, const sis__step *sub) {
    int x = sub->inputs[0], d = sub->outputs[0];
    sis__step *mean = maker_of(f, sub->inputs[1], SIS__OP_REDUCE_MEAN), *divided;
    if (!is_mean(f, mean, x) || f->reads[sub->inputs[1]] != 1 || f->reads[d] < 2)
        return SIS_OK;
    sis__step *square = find_square(f, d, &divided);
    int reads = square && square->op == SIS__OP_MUL ? 3 : 2;
    sis__step *variance = square ? next_of(f, square, SIS__OP_REDUCE_MEAN) : NULL;
    sis__step *sum = next_of(f, variance, SIS__OP_ADD), *root = next_of(f, sum, SIS__OP_SQRT);
    sis__step *scale = next_of(f, divided, SIS__OP_MUL), *last = next_of(f, scale, SIS__OP_ADD);
    size_t n = tensor_of(f, x)->rank ? tensor_of(f, x)->dims[tensor_of(f, x)->rank - 1] : 0;
    sis__layer_norm l = {.n = n};
    if (!last || !root || f->reads[d] != reads || tensor_of(f, d)->wanted ||
        !is_mean(f, variance, square->outputs[0]) || next_of(f, root, SIS__OP_DIV) != divided ||
        divided->inputs[1] != root->outputs[0] ||
        !number(f, other_of(sum, variance->outputs[0]), &l.epsilon))
        return SIS_OK;
    l.scale = vector(f, other_of(scale, divided->outputs[0]), n);
    l.shift = vector(f, other_of(last, scale->outputs[0]), n);
    if (n == 0 || !l.scale || !l.shift ||
        !same_shape(tensor_of(f, x), tensor_of(f, last->outputs[0])))
        return SIS_OK;
    sis__layer_norm *kept = (sis__layer_norm *)own(f->p, sizeof l);
    if (!kept)
        return SIS_E_NOMEM;
    *kept = l;
    last->op = SIS__OP_LAYER_NORMALIZATION;
    last->ops = &layer_norm_op;
    last->p.own = kept;
    last->flops += 8.0 * (double)tensor_of(f, x)->count;
    return set_inputs(f->p, last, &x, 1);
}

/* ---- Products that a bias is added to -------------------------------------------------------- */

static int fuse_bias(const fuser *f, const sis__step *product) {
    const sis__gemm *g = &product->p.gemm;
    sis__step *add = next_of(f, product, SIS__OP_ADD);
    if (!add || !g->tokens || product->n_inputs != 2)
        return SIS_OK;
    int bias = other_of(add, product->outputs[0]);
    if (!vector(f, bias, g->n) ||
        !same_shape(tensor_of(f, product->outputs[0]), tensor_of(f, add->outputs[0])))
        return SIS_OK;
    const int *outputs = add->outputs;
    int inputs[] = {product->inputs[0], product->inputs[1], bias};
    double flops = add->flops;
    *add = *product;
    add->outputs = outputs;
    add->flops += flops;
    return set_inputs(f->p, add, inputs, 3);
}

/* ---- Products of turned matrices ------------------------------------------------------------- */

/* Of a tensor as it lies, seen as a stack of matrices. */
static sis__stack stack_of(const sis__tensor *t) {
    sis__stack k = {.col = 1, .row = t->dims[t->rank - 1]};
    size_t at = k.row * t->dims[t->rank - 2];
    for (size_t d = t->rank - 2; d-- > 0; at *= t->dims[d])
        k.over[d] = at;
    return k;
}

/* What input i of the product would be without the Transpose in front of it. */
static int turn_input(const fuser *f, const sis__step *product, size_t i, sis__stack *k,
                      int *input) {
    const sis__step *turn = maker_of(f, product->inputs[i], SIS__OP_TRANSPOSE);
    if (!turn || f->reads[product->inputs[i]] != 1)
        return 0;
    const sis__strided *p = &turn->p.strided;
    if (p->offset != 0 || p->rank != tensor_of(f, product->inputs[i])->rank)
        return 0;
    k->col = (size_t)p->stride[p->rank - 1];
    k->row = (size_t)p->stride[p->rank - 2];
    for (size_t d = 0; d + 2 < p->rank; d++)
        k->over[d] = (size_t)p->stride[d];
    *input = turn->inputs[0];
    return 1;
}

/* Where the result has to go so that no Transpose is needed behind it. */
static sis__step *turn_output(const fuser *f, const sis__step *product, sis__stack *k) {
    sis__step *turn = next_of(f, product, SIS__OP_TRANSPOSE);
    const sis__tensor *y = tensor_of(f, product->outputs[0]);
    if (!turn || turn->p.strided.rank != y->rank)
        return NULL;
    const sis__strided *p = &turn->p.strided;
    sis__stack from = stack_of(y), to = {0};
    size_t at = 1;
    for (size_t d = p->rank; d-- > 0; at *= p->dims[d]) { /* axis d of the result is axis e of y */
        size_t stride = (size_t)p->stride[d];
        if (p->dims[d] == 1)
            continue;
        if (stride == from.col && y->dims[y->rank - 1] == p->dims[d])
            to.col = at;
        else if (stride == from.row && y->dims[y->rank - 2] == p->dims[d])
            to.row = at;
        else
            for (size_t e = 0; e + 2 < y->rank; e++)
                if (from.over[e] == stride && y->dims[e] == p->dims[d])
                    to.over[e] = at;
    }
    if (to.col != 1) /* rows are written in one go */
        return NULL;
    *k = to;
    return turn;
}

static int fuse_turns(const fuser *f, sis__step *product) {
    const sis__tensor *y = tensor_of(f, product->outputs[0]);
    const sis__tensor *a = tensor_of(f, product->inputs[0]), *b = tensor_of(f, product->inputs[1]);
    sis__gemm *g = &product->p.gemm;
    if (g->packed || g->stacks || product->n_inputs != 2 || y->rank < 3 || a->rank != y->rank ||
        b->rank != y->rank || memcmp(a->dims, y->dims, (y->rank - 2) * sizeof *y->dims) != 0 ||
        memcmp(b->dims, y->dims, (y->rank - 2) * sizeof *y->dims) != 0 || y->count == 0)
        return SIS_OK;
    int inputs[] = {product->inputs[0], product->inputs[1]};
    sis__stack k[3] = {stack_of(a), stack_of(b), stack_of(y)};
    int turned = turn_input(f, product, 0, &k[0], &inputs[0]);
    turned |= turn_input(f, product, 1, &k[1], &inputs[1]);
    sis__step *last = turn_output(f, product, &k[2]);
    if (!turned && !last)
        return SIS_OK;
    sis__stack *kept = (sis__stack *)own(f->p, sizeof k);
    if (!kept)
        return SIS_E_NOMEM;
    memcpy(kept, k, sizeof k);
    g->stacks = kept;
    g->over.rank = y->rank - 2;
    memcpy(g->over.dims, y->dims, g->over.rank * sizeof *y->dims);
    if (last) {
        const int *outputs = last->outputs;
        *last = *product;
        last->outputs = outputs;
        product = last;
    }
    return set_inputs(f->p, product, inputs, 2);
}

/* ---- Relu inside the product in front of it ------------------------------------------------- */

/* The Relu's result then is a view of the product's, and its step has nothing left to do. */
static int fuse_relu(const fuser *f, sis__step *relu) {
    int in = relu->inputs[0];
    sis__step *product = maker_of(f, in, SIS__OP_CONV);
    if (!product)
        product = maker_of(f, in, SIS__OP_GEMM);
    if (!product || f->reads[in] != 1)
        return SIS_OK;
    product->relu = 1;
    relu->done = 1;
    f->p->tensors[relu->outputs[0]].alias = in;
    return SIS_OK;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static int fuse_step(const fuser *f, sis__step *s, int pass) {
    if (pass == 0 && s->op == SIS__OP_ERF)
        return fuse_gelu(f, s);
    if (pass == 0 && s->op == SIS__OP_SUB)
        return fuse_layer_norm(f, s);
    if (pass == 0 && s->op == SIS__OP_RELU)
        return fuse_relu(f, s);
    if (pass == 1 && s->op == SIS__OP_MATMUL)
        return s->p.gemm.tokens ? fuse_bias(f, s) : fuse_turns(f, s);
    return SIS_OK;
}

int sis__plan_fuse(sis__plan *p) {
    fuser f = {.p = p,
               .reads = SIS_NEW(unsigned char, p->n_tensors),
               .reader = SIS_NEW(int, p->n_tensors),
               .maker = SIS_NEW(int, p->n_tensors)};
    int error = f.reads && f.reader && f.maker ? SIS_OK : SIS_E_NOMEM;
    for (int pass = 0; pass < 2 && error == SIS_OK; pass++) {
        look_around(&f);
        for (size_t i = 0; i < p->n_steps && error == SIS_OK; i++)
            error = fuse_step(&f, &p->steps[i], pass);
    }
    free(f.reads);
    free(f.reader);
    free(f.maker);
    return error;
}
