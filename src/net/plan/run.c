/* SPDX-License-Identifier: MIT
 *
 * Execute a plan: one block of memory for all tensors, one for scratch, and in gradient plans one
 * for gradients. A run belongs to one thread at a time; any number of runs may share a plan.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/plan/context.h"

static char *new_block(size_t bytes) {
    /* Align to a cache line for vector loads. */
    if (bytes > SIZE_MAX - 128)
        return NULL;
    char *p = SIS_NEW_RAW(char, bytes + 64);
    return p;
}

static char *aligned(char *p) {
    return p + (64 - (uintptr_t)p % 64) % 64;
}

static void point_data(sis__run *r, char *base) {
    const sis__plan *p = r->plan;
    r->base = base;
    for (size_t i = 0; i < p->n_tensors; i++) {
        const sis__tensor *t = &p->tensors[i];
        if (!t->known)
            continue;
        int root = (int)i;
        while (p->tensors[root].alias >= 0)
            root = p->tensors[root].alias;
        const sis__tensor *at = &p->tensors[root];
        r->data[i] = t->data    ? (void *)(uintptr_t)t->data
                     : at->data ? (void *)(uintptr_t)at->data
                                : base + at->offset;
    }
}

/* The size of a tensor in floats, rounded up to 16. */
static size_t padded(const sis__tensor *t) {
    return (t->count + 15) / 16 * 16;
}

/* Does the run itself own the gradient of tensor i? */
static int holds_gradient(const sis__run *r, size_t i) {
    const sis__tensor *t = &r->plan->tensors[i];
    return t->known && t->depends && !(r->borrowed && t->data);
}

static size_t gradient_bytes(const sis__run *r) {
    size_t total = 0;
    for (size_t i = 0; i < r->plan->n_tensors; i++)
        if (holds_gradient(r, i))
            total += padded(&r->plan->tensors[i]);
    return total * sizeof(float);
}

/* Gradients of all tensors that depend on a parameter or a fed value, one after the other. */
static void point_gradients(sis__run *r, char *block) {
    float *at = (float *)aligned(block);
    for (size_t i = 0; i < r->plan->n_tensors; i++)
        if (holds_gradient(r, i)) {
            r->grad[i] = at;
            if (!r->borrowed) /* else sis__run_backward does it */
                memset(at, 0, r->plan->tensors[i].count * sizeof *at);
            at += padded(&r->plan->tensors[i]);
        }
}

/* Block i, with at least this size. Its content is lost. */
static char *block_of(sis__memory *m, size_t i, size_t bytes) {
    if (bytes > m->sizes[i] || !m->blocks[i]) {
        free(m->blocks[i]);
        m->blocks[i] = new_block(bytes);
        m->sizes[i] = m->blocks[i] ? bytes : 0;
    }
    return m->blocks[i];
}

/* m: NULL: the run's own memory. */
static int new_run(const sis__plan *p, sis__memory *m, sis__run **out) {
    sis__run *r = *out = SIS_NEW(sis__run, 1);
    if (!r)
        return SIS_E_NOMEM;
    r->plan = p;
    r->borrowed = m != NULL;
    m = m ? m : &r->own;
    r->data = SIS_NEW(void *, p->n_tensors);
    r->grad = SIS_NEW(float *, p->n_tensors);
    char *arena = block_of(m, 0, p->arena), *scratch = block_of(m, 1, p->scratch);
    char *block = p->gradients ? block_of(m, 2, gradient_bytes(r)) : NULL;
    if (!r->data || !r->grad || !arena || !scratch || (p->gradients && !block)) {
        sis__run_free(r);
        *out = NULL;
        return SIS_E_NOMEM;
    }
    r->scratch = aligned(scratch);
    point_data(r, aligned(arena));
    if (p->gradients)
        point_gradients(r, block);
    return SIS_OK;
}

int sis__run_new(const sis__plan *p, sis__run **out) {
    return new_run(p, NULL, out);
}

int sis__run_new_in(const sis__plan *p, sis__memory *m, float *const *grads, sis__run **out) {
    int error = new_run(p, m, out);
    for (size_t i = 0; !error && i < p->n_tensors; i++)
        if (p->tensors[i].data && p->tensors[i].depends)
            (*out)->grad[i] = grads[i];
    return error;
}

void sis__memory_release(sis__memory *m) {
    for (size_t i = 0; i < 3; i++)
        free(m->blocks[i]);
    *m = (sis__memory){0};
}

void sis__run_free(sis__run *r) {
    if (!r)
        return;
    free((void *)r->data);
    free((void *)r->grad);
    sis__memory_release(&r->own);
    for (size_t i = 0; r->kept && i < r->plan->n_steps; i++)
        free(r->kept[i]);
    free((void *)r->kept);
    free(r);
}

void *sis__run_keep(sis__run *r, const sis__step *s, size_t bytes) {
    size_t i = 0;
    while (i < r->plan->n_steps && s != &r->plan->steps[i])
        i++;
    if (i == r->plan->n_steps) /* a copied step, used for constant folding */
        return NULL;
    if (!r->kept)
        r->kept = SIS_NEW(void *, r->plan->n_steps);
    if (r->kept && !r->kept[i])
        r->kept[i] = SIS_NEW(char, bytes);
    return r->kept ? r->kept[i] : NULL;
}

int sis__run_forward(sis__run *r) {
    for (size_t i = 0; i < r->plan->n_steps; i++) {
        const sis__step *s = &r->plan->steps[i];
        int error = s->done ? SIS_OK : s->ops->forward(s, r);
        if (error)
            return sis__fail_in(error, "operator %s", sis__op_name(s->op));
    }
    return SIS_OK;
}

static int is_output(const sis__plan *p, size_t tensor) {
    for (size_t i = 0; i < p->n_outputs; i++)
        if ((size_t)p->outputs[i] == tensor)
            return 1;
    return 0;
}

int sis__run_backward(sis__run *r) {
    const sis__plan *p = r->plan;
    for (size_t i = 0; i < p->n_tensors; i++)
        if (r->grad[i] && !is_output(p, i) && holds_gradient(r, i))
            memset(r->grad[i], 0, p->tensors[i].count * sizeof(float));
    for (size_t i = p->n_steps; i-- > 0;) {
        const sis__step *s = &p->steps[i];
        int flows = 0;
        for (size_t o = 0; o < s->n_outputs; o++)
            flows |= s->outputs[o] >= 0 && r->grad[s->outputs[o]] != NULL;
        if (!flows || !s->ops->backward)
            continue;
        int error = s->ops->backward(s, r);
        if (error)
            return sis__fail_in(error, "gradient of operator %s", sis__op_name(s->op));
    }
    return SIS_OK;
}
