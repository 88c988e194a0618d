/* SPDX-License-Identifier: MIT
 *
 * Computes the entry (entry.h). The two values of each element come from two runs of the layers
 * before it, on the input and on the mask, so they have the bits of a full pass.
 */
#include "net/walk/entry.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/plan/row_layout.h"
#include "net/walk/element_source.h"

int sis__entry_run(sis__entry *f, int tensor) {
    sis__row_layout_feed(f->layout, f->run, 0, f->values);
    for (int i = 0; i <= f->plan->tensors[tensor].node; i++) {
        const sis__step *step = &f->plan->steps[i];
        int error = step->ops->forward(step, f->run);
        if (error)
            return error;
    }
    return SIS_OK;
}

/* The elements that the layer reads for the current input, as floats. */
static int read_elements(sis__entry *f, float *to) {
    int error = sis__entry_run(f, f->tensor);
    const void *data = f->run->data[f->tensor];
    int floats = f->plan->tensors[f->tensor].dtype == SIS__F32;
    for (size_t i = 0; !error && i < f->n; i++)
        to[i] = floats ? ((const float *)data)[i] : (float)((const int64_t *)data)[i];
    return error;
}

static void set_features(sis__entry *f, const sis__origin *o) {
    for (size_t i = 0; i < f->n; i++)
        f->feature[i] = o->from[i] == SIZE_MAX ? -1 : f->s->in.feature_of[o->from[i]];
}

static int find_layer(sis__entry *f) {
    sis__origin o;
    int error = sis__origin_begin(&o, f->plan, f->s->fed);
    if (!error)
        error = sis__origin_follow(&o, f->plan, SIS__MAPPED);
    if (!error && f->plan->tensors[o.tensor].dtype == SIS__BOOL)
        error = SIS_E_UNSUPPORTED;
    if (!error) {
        f->tensor = o.tensor;
        f->n = o.n;
        f->feature = SIS_ARENA_RAW(&f->memory, int, f->n);
        f->x = SIS_ARENA_RAW(&f->memory, float, f->n);
        f->z = SIS_ARENA_RAW(&f->memory, float, f->n);
        error = sis__arena_error(&f->memory);
    }
    if (!error)
        set_features(f, &o);
    sis__origin_release(&o);
    return error;
}

static int entry_init(sis__entry *f, const sis__net_input *s) {
    sis__row_layout *g = NULL;
    int error = sis__net_input_plan(s, -1, &f->plan);
    if (!error)
        error = sis__run_new(f->plan, &f->run);
    if (!error)
        error = sis__net_input_layout(s, &g);
    f->layout = g;
    if (!error && s->output >= f->plan->tensors[s->net->pre_output].count)
        error = sis__fail(SIS_E_ARGUMENT, "no output %zu: the network has %zu, numbered from 0",
                          s->output, f->plan->tensors[s->net->pre_output].count);
    if (!error)
        error = find_layer(f);
    if (!error) {
        f->values = (float *)sis__arena_own(&f->memory,
                                            sis__copy(s->in.x, s->in.n_values, sizeof *s->in.x));
        error = f->values ? read_elements(f, f->x) : SIS_E_NOMEM;
    }
    for (size_t i = 0; !error && i < s->in.n; i++)
        sis__entry_mask(f, (int)i);
    return !error ? read_elements(f, f->z) : error;
}

int sis__entry_new(const sis__net_input *s, sis__entry **out) {
    *out = NULL;
    sis__entry *f = SIS_NEW(sis__entry, 1);
    if (!f)
        return SIS_E_NOMEM;
    f->s = s;
    int error = entry_init(f, s);
    if (error)
        sis__entry_free(f);
    else
        *out = f;
    return error;
}

void sis__entry_free(sis__entry *f) {
    if (!f)
        return;
    if (f->layout)
        sis__row_layout_done(f->s->net, f->layout);
    sis__run_free(f->run);
    sis__plan_free(f->plan);
    sis__arena_release(&f->memory);
    free(f);
}

void sis__entry_note(const sis__entry *f) {
    for (int i = 0; i <= f->plan->tensors[f->tensor].node; i++)
        sis__net_input_note(f->s, &f->plan->steps[i], "each value by itself");
}

const sis__step *sis__entry_reader(const sis__entry *f) {
    return sis__plan_reader(f->plan, f->tensor);
}

void sis__entry_reset(sis__entry *f, const unsigned char *masked) {
    sis__prepared_input_row(&f->s->in, masked, f->values);
}

void sis__entry_mask(sis__entry *f, int feature) {
    sis__prepared_input_mask(&f->s->in, feature, f->values);
}
