/* SPDX-License-Identifier: MIT
 *
 * Executing a plan: one block of memory for all tensors, one for scratch, and in gradient plans one
 * for gradients. A run belongs to one thread at a time; any number of runs may share a plan.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/graph.h"
#include "net/ops.h"

static char *new_block(size_t bytes) {
    /* Vectors load from here: start on a cache line. */
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

/* Gradients of everything that depends on a parameter or a fed value, back to back. */
static int point_gradients(sis__run *r) {
    const sis__plan *p = r->plan;
    size_t total = 0;
    for (size_t i = 0; i < p->n_tensors; i++)
        if (p->tensors[i].known && p->tensors[i].depends)
            total += (p->tensors[i].count + 15) / 16 * 16;
    r->grads = new_block(total * sizeof(float));
    if (!r->grads)
        return SIS_E_NOMEM;
    float *at = (float *)aligned(r->grads);
    for (size_t i = 0; i < p->n_tensors; i++)
        if (p->tensors[i].known && p->tensors[i].depends) {
            r->grad[i] = at;
            memset(at, 0, p->tensors[i].count * sizeof *at);
            at += (p->tensors[i].count + 15) / 16 * 16;
        }
    return SIS_OK;
}

int sis__run_new(const sis__plan *p, sis__run **out) {
    sis__run *r = *out = SIS_NEW(sis__run, 1);
    if (!r)
        return SIS_E_NOMEM;
    r->plan = p;
    r->data = SIS_NEW(void *, p->n_tensors);
    r->grad = SIS_NEW(float *, p->n_tensors);
    r->arena = new_block(p->arena);
    r->scratch_block = new_block(p->scratch);
    int error = r->data && r->grad && r->arena && r->scratch_block ? SIS_OK : SIS_E_NOMEM;
    if (!error) {
        r->scratch = aligned(r->scratch_block);
        point_data(r, aligned(r->arena));
        if (p->gradients)
            error = point_gradients(r);
    }
    if (error) {
        sis__run_free(r);
        *out = NULL;
    }
    return error;
}

void sis__run_free(sis__run *r) {
    if (!r)
        return;
    free((void *)r->data);
    free((void *)r->grad);
    free(r->arena);
    free(r->scratch_block);
    free(r->grads);
    free(r);
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
        if (r->grad[i] && !is_output(p, i))
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
