/* SPDX-License-Identifier: MIT
 *
 * Fused attention: scores = q . k^T, scaled and masked, softmax, . v as one step. The score
 * matrices of queries and keys are the largest tensors of a transformer and nothing else reads
 * them, so they are computed and consumed panel by panel (net/kernels/attention.h).
 */
#include <string.h>

#include "base/error.h"
#include "net/kernels/kernels.h"
#include "net/ops/axes.h"
#include "net/ops/ops.h"
#include "net/plan/fuse.h"

/* For each of `total` matrices y (m, v) = softmax(steps(q (m, k) . keys (k, n))) . values (n, v).
 * The inputs are q, keys and values, then the maps of the steps in order. */
enum { SCORE_STEPS = 4, QUERIES = 0, KEYS, VALUES, FIRST_MAP };
typedef struct {
    size_t total, m, n, k, v;
    sis__stack stacks[FIRST_MAP], y;
    sis__score_step steps[SCORE_STEPS]; /* maps are set for each matrix */
    const size_t *maps[SCORE_STEPS];    /* (total) offset of its map; NULL: a number */
    size_t n_steps;
} attention;

static sis__operand operand(const sis__step *s, const sis__run *r, size_t input, size_t i) {
    const sis__stack *k = &((const attention *)s->p.own)->stacks[input];
    return (sis__operand){sis__in(s, r, input) + k->at[i], k->row, k->col};
}

/* The maps of matrix i. */
static void point_steps(const sis__step *s, const sis__run *r, size_t i, sis__score_step *steps) {
    const attention *a = (const attention *)s->p.own;
    size_t input = FIRST_MAP;
    for (size_t t = 0; t < a->n_steps; t++) {
        if (!a->maps[t])
            continue;
        const float *map = sis__in(s, r, input++);
        if (steps[t].how == SIS__SCORES_HIDE)
            steps[t].hidden = (const unsigned char *)map + a->maps[t][i];
        else
            steps[t].map = map + a->maps[t][i];
    }
}

static int attention_forward(const sis__step *s, sis__run *r) {
    const attention *a = (const attention *)s->p.own;
    sis__score_step steps[SCORE_STEPS];
    memcpy(steps, a->steps, sizeof steps);
    for (size_t i = 0; i < a->total; i++) {
        sis__operand keys = operand(s, r, KEYS, i); /* (k, n) */
        point_steps(s, r, i, steps);
        sis__kernels_best()->attention(&(sis__attention){.m = a->m,
                                                         .n = a->n,
                                                         .k = a->k,
                                                         .v = a->v,
                                                         .q = operand(s, r, QUERIES, i),
                                                         .keys = {keys.at, keys.col, keys.row},
                                                         .values = operand(s, r, VALUES, i),
                                                         .steps = steps,
                                                         .n_steps = a->n_steps,
                                                         .y = sis__out(s, r, 0) + a->y.at[i],
                                                         .y_row = a->y.row,
                                                         .y_col = a->y.col,
                                                         .room = (float *)(void *)r->scratch});
    }
    return SIS_OK;
}

/* A file may contain this name, but only plans may create the operator. */
static int attention_shape(sis__shape_ctx *c) {
    return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "it is an internal operator");
}

const sis__op sis__op_fused_attention = {
    .shape = attention_shape, .forward = attention_forward, .trait = SIS__MIXES};

/* ---- Search ---------------------------------------------------------------------------------- */

/* Search state, from the last product back to the first. */
typedef struct {
    const sis__fuser *f;
    const sis__tensor *scores; /* their shape */
    attention a;
    int inputs[FIRST_MAP + SCORE_STEPS];
    size_t n_inputs;
} finder;

static const sis__tensor *tensor_of(const finder *w, int t) {
    return &w->f->p->tensors[t];
}

/* Is it a product of two stacks of matrices, neither of them broadcast? */
static int multiplies(const finder *w, const sis__step *s) {
    const sis__tensor *y = tensor_of(w, s->outputs[0]);
    int both = s->op == SIS__OP_MATMUL && !s->p.gemm.packed && s->n_inputs == 2 && y->rank >= 2 &&
               y->count > 0;
    for (size_t i = 0; i < 2 && both; i++) {
        const sis__tensor *x = tensor_of(w, s->inputs[i]);
        both = x->rank == y->rank && x->count > 0 &&
               memcmp(x->dims, y->dims, (y->rank - 2) * sizeof *y->dims) == 0;
    }
    return both;
}

/* The offset of each matrix in t, which is broadcast to the shape of the scores. */
static int add_map(finder *w, const sis__tensor *t, sis__score_step *step, const size_t **at) {
    const sis__tensor *y = w->scores;
    size_t stride[SIS__MAX_RANK], over[SIS__MAX_RANK] = {0}, missing = y->rank - t->rank;
    size_t *places = SIS_ARENA(&w->f->p->memory, size_t, w->a.total);
    if (!places)
        return SIS_E_NOMEM;
    sis__strides_of(t, stride);
    for (size_t d = 0; d < t->rank; d++)
        over[d + missing] = t->dims[d] == 1 ? 0 : stride[d];
    step->row = over[y->rank - 2];
    step->col = over[y->rank - 1];
    for (size_t i = 0; i < w->a.total; i++)
        for (size_t d = y->rank - 2, rest = i; d-- > 0; rest /= y->dims[d])
            places[i] += rest % y->dims[d] * over[d];
    *at = places;
    return SIS_OK;
}

/* The input with the scores of a step between the products; -1: none. */
static int scores_of(const finder *w, const sis__step *s) {
    for (size_t k = 0; k < 3 && k < s->n_inputs; k++) {
        int t = s->inputs[k];
        if (t >= 0 && w->f->reads[t] == 1 && w->f->maker[t] >= 0 && !tensor_of(w, t)->data &&
            sis__same_shape(tensor_of(w, t), w->scores))
            return t;
    }
    return -1;
}

/* Add a step between the products; 0: not supported. */
static int take(finder *w, const sis__step *s, int from) {
    size_t t = w->a.n_steps;
    if (t == SCORE_STEPS)
        return 0;
    sis__score_step *step = &w->a.steps[t];
    int other = s->inputs[0] == from ? s->inputs[1] : s->inputs[0], map = -1;
    *step = (sis__score_step){.how = SIS__SCORES_TIMES};
    if (s->op == SIS__OP_WHERE) {
        step->how = SIS__SCORES_HIDE;
        if (s->inputs[2] != from || !sis__fuser_number(w->f, s->inputs[1], &step->number))
            return 0;
        map = s->inputs[0];
    } else if (s->op == SIS__OP_ADD) {
        step->how = SIS__SCORES_PLUS;
        map = other;
    } else if (s->op == SIS__OP_DIV && s->inputs[0] == from) {
        step->how = SIS__SCORES_OVER;
    } else if (s->op != SIS__OP_MUL) {
        return 0;
    }
    if (map < 0 && !sis__fuser_number(w->f, other, &step->number))
        return 0;
    w->a.n_steps++;
    w->a.maps[t] = NULL;
    if (map < 0)
        return 1;
    w->inputs[w->n_inputs++] = map;
    int error = add_map(w, tensor_of(w, map), step, &w->a.maps[t]);
    return !error ? 1 : error;
}

/* Steps are found from the last to the first. */
static void reverse(finder *w) {
    attention *a = &w->a;
    for (size_t i = 0, j = a->n_steps; i + 1 < j--; i++) {
        sis__score_step step = a->steps[i];
        const size_t *map = a->maps[i];
        a->steps[i] = a->steps[j];
        a->maps[i] = a->maps[j];
        a->steps[j] = step;
        a->maps[j] = map;
    }
    for (size_t i = FIRST_MAP, j = w->n_inputs; i + 1 < j--; i++) {
        int input = w->inputs[i];
        w->inputs[i] = w->inputs[j];
        w->inputs[j] = input;
    }
}

/* The product that computes the scores, found through the steps after it; NULL: none, or *error. */
static const sis__step *find_first(finder *w, int tensor, int *error) {
    for (;;) {
        const sis__step *s = w->f->maker[tensor] >= 0 ? &w->f->p->steps[w->f->maker[tensor]] : NULL;
        if (!s || s->done || w->f->reads[tensor] != 1 || s->n_outputs != 1)
            return NULL;
        if (multiplies(w, s))
            return s;
        int from = scores_of(w, s);
        int taken = from >= 0 ? take(w, s, from) : 0;
        if (taken <= 0) {
            *error = taken;
            return NULL;
        }
        tensor = from;
    }
}

static const sis__step *softmax_of(const finder *w, const sis__step *product) {
    const sis__step *s = sis__fuser_maker(w->f, product->inputs[0], SIS__OP_SOFTMAX);
    const sis__tensor *x = s ? tensor_of(w, s->inputs[0]) : NULL;
    return s && w->f->reads[product->inputs[0]] == 1 && s->p.axis.inner == 1 &&
                   s->p.axis.size == x->dims[x->rank - 1] && x->dtype == SIS__F32
               ? s
               : NULL;
}

static int place_all(finder *w, const sis__step *first, const sis__step *last, sis__step **turn) {
    const int from[] = {first->inputs[0], first->inputs[1], last->inputs[1]};
    int error = sis__fuser_result(w->f, last, turn, &w->a.y);
    for (size_t i = 0; i < FIRST_MAP && !error; i++)
        error = sis__fuser_stack(w->f, from[i], &w->inputs[i], &w->a.stacks[i]);
    return error;
}

/* `at` is the last step of the chain, or the Transpose after it. */
static int put(finder *w, const sis__step *last, sis__step *at) {
    attention *kept = SIS_ARENA(&w->f->p->memory, attention, 1);
    if (!kept)
        return SIS_E_NOMEM;
    *kept = w->a;
    const int *outputs = at->outputs;
    *at = *last;
    at->outputs = outputs;
    at->op = SIS__OP_FUSED_ATTENTION;
    at->ops = &sis__op_fused_attention;
    at->p.own = kept;
    at->scratch =
        sis__attention_room(sis__kernels_best(), kept->n, kept->k, kept->v) * sizeof(float);
    return sis__fuser_set_inputs(w->f, at, w->inputs, w->n_inputs);
}

int sis__fuse_attention(const sis__fuser *f, sis__step *product) {
    finder w = {.f = f, .n_inputs = FIRST_MAP};
    int error = SIS_OK;
    const sis__step *softmax = multiplies(&w, product) ? softmax_of(&w, product) : NULL;
    if (!softmax || product->p.gemm.k > SIS__ATTENTION_KEYS)
        return SIS_OK;
    w.scores = tensor_of(&w, softmax->outputs[0]);
    w.a.total = w.scores->count / (product->p.gemm.m * product->p.gemm.k);
    const sis__step *first = find_first(&w, softmax->inputs[0], &error);
    if (!first)
        return error;
    w.a.m = product->p.gemm.m;
    w.a.n = product->p.gemm.k;
    w.a.v = product->p.gemm.n;
    w.a.k = first->p.gemm.k;
    sis__step *turn = NULL;
    double flops = product->flops + first->flops + softmax->flops;
    reverse(&w);
    error = place_all(&w, first, product, &turn);
    if (!error)
        error = put(&w, product, turn ? turn : product);
    (turn ? turn : product)->flops = flops;
    return error;
}
