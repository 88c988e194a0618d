/* SPDX-License-Identifier: MIT
 *
 * Memory layout of a run. Each tensor gets the first gap that is large enough between the tensors
 * alive at its step. A tensor dies after the last step that reads it; fed and wanted tensors never
 * die. A step that may overwrite its input does so if nothing reads the input later. Plans with
 * keep_all do none of this.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/ops/ops.h"
#include "net/plan/plan.h"

static const size_t max_arena = (size_t)1 << 32; /* maximal bytes of a run, and of its scratch */

enum { ALIGN = 64 };

typedef struct {
    size_t offset, size;
    size_t last; /* last step that reads it; then its memory is free */
    int tensor;
} place;

/* The tensor that owns the memory of t. */
static int root_of(const sis__plan *p, int t) {
    while (p->tensors[t].alias >= 0)
        t = p->tensors[t].alias;
    return t;
}

/* The last step that reads each root tensor; SIZE_MAX for wanted and fed ones. */
static void find_last_uses(const sis__plan *p, size_t *last) {
    for (size_t i = 0; i < p->n_steps; i++) {
        const sis__step *s = &p->steps[i];
        for (size_t o = 0; o < s->n_outputs; o++)
            if (s->outputs[o] >= 0)
                last[root_of(p, s->outputs[o])] = i;
        for (size_t j = 0; j < s->n_inputs; j++)
            if (s->inputs[j] >= 0)
                last[root_of(p, s->inputs[j])] = i;
    }
    for (size_t t = 0; t < p->n_tensors; t++)
        if (p->tensors[t].wanted || p->tensors[t].fed)
            last[root_of(p, (int)t)] = SIZE_MAX;
}

/* May step i overwrite its first input? Only if nothing reads the input later. */
static int fits_in_place(const sis__plan *p, size_t i, const size_t *last) {
    const sis__step *s = &p->steps[i];
    if (!s->ops->in_place || s->n_inputs == 0 || s->inputs[0] < 0 || s->outputs[0] < 0)
        return 0;
    int in = root_of(p, s->inputs[0]);
    const sis__tensor *a = &p->tensors[in], *b = &p->tensors[s->outputs[0]];
    for (size_t j = 1; j < s->n_inputs; j++)
        if (s->inputs[j] >= 0 && root_of(p, s->inputs[j]) == in)
            return 0;
    return b->alias < 0 && last[in] == i && !a->data && a->node >= 0 &&
           sis__tensor_bytes(&p->tensors[s->inputs[0]]) == sis__tensor_bytes(b) &&
           sis__tensor_bytes(a) == sis__tensor_bytes(b);
}

/* The first gap of at least `size` between the used places, which are sorted by offset. */
static size_t find_gap(const place *used, size_t n, size_t size, size_t *index) {
    size_t at = 0;
    for (*index = 0; *index < n; (*index)++) {
        if (used[*index].offset - at >= size)
            break;
        at = used[*index].offset + used[*index].size;
    }
    return at;
}

typedef struct {
    place *used;
    size_t n;
    size_t *last; /* (n_tensors) see find_last_uses */
} layout;

/* Output 0 of step i takes the memory of its input 0 and keeps it alive. */
static void take_over(sis__plan *p, layout *l, size_t i) {
    int in = root_of(p, p->steps[i].inputs[0]), out = p->steps[i].outputs[0];
    p->tensors[out].alias = in;
    l->last[in] = l->last[out];
    for (size_t u = 0; u < l->n; u++)
        if (l->used[u].tensor == in)
            l->used[u].last = l->last[in];
}

static int too_large(const sis__plan *p) {
    return sis__fail(SIS_E_UNSUPPORTED, "running the network on %zu rows takes over %zu GiB",
                     p->batch, max_arena >> 30);
}

static int put(sis__plan *p, layout *l, int tensor) {
    sis__tensor *t = &p->tensors[tensor];
    if (t->data || t->alias >= 0)
        return SIS_OK;
    size_t size = (sis__tensor_bytes(t) + ALIGN - 1) / ALIGN * ALIGN, index = l->n, at = p->arena;
    if (!p->keep_all) /* else there are no gaps */
        at = find_gap(l->used, l->n, size, &index);
    if (size > max_arena || at > max_arena - size)
        return too_large(p);
    memmove(l->used + index + 1, l->used + index, (l->n - index) * sizeof *l->used);
    l->used[index] = (place){.offset = at, .size = size, .last = l->last[tensor], .tensor = tensor};
    l->n++;
    t->offset = at;
    if (p->arena < at + size)
        p->arena = at + size;
    return SIS_OK;
}

static void expire(layout *l, size_t step) {
    size_t kept = 0;
    for (size_t i = 0; i < l->n; i++)
        if (l->used[i].last > step)
            l->used[kept++] = l->used[i];
    l->n = kept;
}

/* ---- Main function --------------------------------------------------------------------------- */

int sis__plan_lay_out(sis__plan *p) {
    size_t *last = SIS_NEW(size_t, p->n_tensors);
    layout l = {.used = SIS_NEW(place, p->n_tensors + 1), .last = last};
    int error = last && l.used ? SIS_OK : SIS_E_NOMEM;
    if (!error)
        find_last_uses(p, last);
    for (size_t t = 0; t < p->n_tensors && !error; t++)
        if (p->tensors[t].fed)
            error = put(p, &l, (int)t);
    for (size_t i = 0; i < p->n_steps && !error; i++) {
        const sis__step *s = &p->steps[i];
        if (!p->keep_all && fits_in_place(p, i, last))
            take_over(p, &l, i);
        for (size_t o = 0; o < s->n_outputs && !error; o++)
            if (s->outputs[o] >= 0 && !p->tensors[s->outputs[o]].fed)
                error = put(p, &l, s->outputs[o]);
        if (!p->keep_all)
            expire(&l, i);
        if (s->scratch > max_arena)
            error = too_large(p);
        if (p->scratch < s->scratch)
            p->scratch = s->scratch;
    }
    for (size_t i = 0; i < p->n_steps && !error; i++) { /* after all tensors */
        sis__step *s = &p->steps[i];
        s->tape_at = (p->arena + 63) / 64 * 64;
        if (s->tape > (size_t)1 << 34)
            error = sis__fail(SIS_E_UNSUPPORTED, "a gradient too large for memory");
        else if (s->tape)
            p->arena = s->tape_at + s->tape;
    }
    free(last);
    free(l.used);
    return error;
}
