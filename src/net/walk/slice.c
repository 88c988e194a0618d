/* SPDX-License-Identifier: MIT
 *
 * Walks over networks that return a score for each pixel, token or part of the input. Only one
 * score is explained, so a head that starts at the input computes only what this score depends on
 * (net/plan/slice_pushdown.c). Masking features that the head does not read changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/source.h"
#include "net/walk/walk.h"

static const double max_fraction = 0.8; /* maximal fraction of a full pass that is still a gain */

typedef struct {
    sis__rule_instance instance;
    const sis__net_input *s;
    sis__tensor like;    /* the fed tensor, for one row */
    unsigned char *read; /* (features) */
    float *now;          /* (values) the current state */
} slice_walk;

/* Find the shape of the fed tensor and the operations of a full pass. */
static int find_pass(slice_walk *w, double *flops) {
    sis__plan *plan;
    int error = sis__net_input_plan(w->s, -1, &plan);
    if (error)
        return error == SIS_E_NOMEM ? error : SIS_E_UNSUPPORTED;
    w->like = plan->tensors[w->s->fed];
    *flops = plan->flops;
    sis__plan_free(plan);
    return SIS_OK;
}

/* Does a tensor hold the fed values one by one? */
static int shows_input(const slice_walk *w, const sis__plan *p, int tensor) {
    while (tensor >= 0 && tensor != w->s->fed)
        tensor = p->tensors[tensor].known ? p->tensors[tensor].alias : -1;
    return tensor >= 0;
}

/* Mark the features that a step reads through input k; all of them if unknown. */
static void mark_step(slice_walk *w, const sis__plan *p, const sis__step *s, size_t k) {
    size_t n = p->tensors[s->inputs[k]].count;
    sis__source from;
    int said = s->n_outputs == 1 && sis__source_of(p, s, 0, k, &from);
    unsigned char *read = said ? SIS_NEW(unsigned char, n) : NULL;
    if (read)
        sis__source_read(&from, &p->tensors[s->outputs[0]], n, read);
    for (size_t v = 0; v < n; v++) {
        int feature = w->s->in.feature_of[v % w->like.count];
        if (feature >= 0 && (!read || read[v]))
            w->read[feature] = 1;
    }
    free(read);
}

static void find_read(slice_walk *w) {
    const sis__plan *p = sis__head_plan(w->instance.head);
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; k < p->steps[i].n_inputs; k++)
            if (shows_input(w, p, p->steps[i].inputs[k]) &&
                !(p->steps[i].outputs[0] >= 0 && shows_input(w, p, p->steps[i].outputs[0])))
                mark_step(w, p, &p->steps[i], k);
    for (size_t i = 0; i < p->n_outputs; i++)
        if (shows_input(w, p, p->outputs[i]))
            memset(w->read, 1, w->s->in.n);
}

static int slice_open(sis__rule_instance *r) {
    slice_walk *w = (slice_walk *)r;
    const sis__net_input *s = w->s = r->s;
    double flops = 0;
    r->exact = 1;
    w->read = SIS_ARENA(&r->memory, unsigned char, s->in.n);
    w->now = SIS_ARENA(&r->memory, float, s->in.n_values);
    int error = w->read && w->now ? find_pass(w, &flops) : SIS_E_NOMEM;
    if (!error)
        error = sis__head_new(
            s, &(sis__head_spec){.cuts = &(sis__cut){s->fed, &w->like}, .n_cuts = 1, .fused = 1},
            &w->instance.head);
    if (error || sis__head_plan(w->instance.head)->flops > max_fraction * flops)
        return error ? error : SIS_E_UNSUPPORTED;
    w->instance.width = w->like.count;
    find_read(w);
    return SIS_OK;
}

static int slice_reset(sis__rule_instance *r, const unsigned char *masked) {
    slice_walk *w = (slice_walk *)r;
    sis__prepared_input_row(&w->s->in, masked, w->now);
    return SIS_OK;
}

static int slice_mask(sis__rule_instance *r, int feature) {
    slice_walk *w = (slice_walk *)r;
    sis__prepared_input_mask(&w->s->in, feature, w->now);
    return SIS_OK;
}

static sis__change slice_row(sis__rule_instance *r, int feature, float *row) {
    slice_walk *w = (slice_walk *)r;
    if (feature >= 0 && !w->read[feature])
        return SIS__NOTHING;
    memcpy(row, w->now, w->instance.width * sizeof *row);
    if (feature >= 0)
        sis__prepared_input_mask(&w->s->in, feature, row);
    return SIS__CHANGED;
}

const sis__rule sis__rule_slice = {
    .name = "slice",
    .bytes = sizeof(slice_walk),
    .min_copies = 300,
    .open = slice_open,
    .reset = slice_reset,
    .mask = slice_mask,
    .row = slice_row,
};
