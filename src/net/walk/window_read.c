/* SPDX-License-Identifier: MIT
 *
 * Read a plan into maps, layers and cuts. Steps are visited in order. A step joins the prefix if it
 * can be a layer or a cut and everything it reads is constant or already in the prefix. Tensors of
 * the prefix that other steps read are cuts.
 */
#include "net/walk/window_read.h"

#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"

/* ---- Memory -------------------------------------------------------------------------------- */

int sis__map_init(sis__prefix *f, sis__map *m) {
    m->base = SIS_ARENA(&f->memory, float, sis__positions(m) * m->channels);
    m->box = SIS_ARENA(&f->memory, sis__box, f->s->in.n);
    return sis__arena_error(&f->memory);
}

double sis__box_total(const sis__prefix *f, const sis__map *m) {
    double sum = 0;
    for (size_t j = 0; j < f->s->in.n; j++)
        sum += (double)sis__box_volume(&m->box[j]);
    return sum;
}

/* ---- Steps --------------------------------------------------------------------------------- */

/* 1: joined the prefix, 0: not, negative: an error. */
static int read_step(sis__reader *r, const sis__step *s) {
    if (s->n_inputs == 0 || s->outputs[0] < 0)
        return 0;
    sis__axis_map *out = &r->of[s->outputs[0]].axes;
    const sis__axis_map *v = sis__reader_axes(r, s->inputs[0]);
    if (v && sis__axis_map_through(r->plan, s, v, out))
        return 1;
    out->map = -1;
    int taken = sis__read_cut(r, s);
    return taken ? taken : sis__read_layer(r, s);
}

static int read_steps(sis__reader *r) {
    const sis__plan *p = r->plan;
    for (size_t i = 0; i < p->n_steps; i++) {
        if (r->taken[i])
            continue;
        int taken = read_step(r, &p->steps[i]);
        if (taken < 0)
            return taken;
        r->taken[i] = taken > 0;
        r->taken_flops += taken > 0 ? p->steps[i].flops : 0;
    }
    for (size_t i = 0; i < p->n_steps; i++)
        for (size_t k = 0; !r->taken[i] && k < p->steps[i].n_inputs; k++)
            sis__cut_whole(r, p->steps[i].inputs[k]);
    for (size_t i = 0; i < p->n_outputs; i++)
        sis__cut_whole(r, p->outputs[i]);
    return SIS_OK;
}

/* ---- Description ----------------------------------------------------------------------------- */

/* The largest box of a feature in the output of a layer. */
static void note_layer(const sis__prefix *f, const sis__layer *l) {
    const sis__map *m = &f->maps[l->out];
    int max[3] = {0, 0, 0};
    for (size_t j = 0; j < f->s->in.n; j++)
        for (size_t d = 0; d < 3; d++) {
            int n = m->box[j].hi[d] - m->box[j].lo[d];
            max[d] = n > max[d] ? n : max[d];
        }
    const char *kept = l->kind == SIS__LAYER_CONV && l->conv.point >= 0 ? ", kept" : "";
    if (m->whole.hi[0] > 1)
        sis__net_input_note(f->s, l->step, "window %d x %d x %d%s", max[0], max[1], max[2], kept);
    else if (m->whole.hi[1] > 1)
        sis__net_input_note(f->s, l->step, "window %d x %d%s", max[1], max[2], kept);
    else
        sis__net_input_note(f->s, l->step, "window %d%s", max[2], kept);
}

static void note_steps(const sis__reader *r) {
    static const char *const cuts[] = {[SIS__KEEP_DENSE] = "change kept, added",
                                       [SIS__KEEP_MEAN] = "change kept, added",
                                       [SIS__KEEP_MAX] = "maxima of the window and the rest"};
    const sis__prefix *f = r->f;
    for (size_t i = 0; i < r->plan->n_steps; i++) {
        const sis__step *s = &r->plan->steps[i];
        int cut = r->taken[i] && s->outputs[0] >= 0 ? r->of[s->outputs[0]].cut : -1;
        if (cut >= 0 && f->points[cut].kind != SIS__KEEP_WHOLE)
            sis__net_input_note(f->s, s, "%s", cuts[f->points[cut].kind]);
        else if (r->taken[i])
            sis__net_input_note(f->s, s, "each value by itself");
    }
}

/* ---- Main function --------------------------------------------------------------------------- */

/* Not worthwhile if most of the work is left to the head, or windows are most of the work. */
static int is_worthwhile(const sis__reader *r) {
    double all = r->plan->flops, left = all - r->taken_flops, moved = (double)r->f->row;
    return r->f->n_points > 0 && left + 2 * r->window_flops + 2 * moved < 0.95 * all;
}

static int build(sis__reader *r) {
    int error = sis__read_input(r);
    if (!error)
        error = read_steps(r);
    if (!error && !is_worthwhile(r))
        error = SIS_E_UNSUPPORTED;
    if (error)
        return error;
    note_steps(r);
    error = sis__keep_init(r->f);
    for (size_t i = 0; !error && i < r->f->n_layers; i++)
        note_layer(r->f, &r->f->layers[i]);
    return error;
}

static int allocate(sis__reader *r) {
    sis__prefix *f = r->f;
    size_t steps = r->plan->n_steps, n = r->plan->n_tensors;
    r->of = SIS_NEW(sis__tensor_role, n);
    r->taken = SIS_NEW(unsigned char, steps);
    f->maps = SIS_ARENA(&f->memory, sis__map, steps + 1);
    f->layers = SIS_ARENA(&f->memory, sis__layer, steps);
    f->points = SIS_ARENA(&f->memory, sis__keep_point,
                          2 * steps + n); /* convolutions, cuts at layers, whole tensors */
    for (size_t i = 0; r->of && i < n; i++)
        r->of[i] = (sis__tensor_role){.axes = {.map = -1}, .cut = -1};
    return r->of && r->taken ? sis__arena_error(&f->memory) : SIS_E_NOMEM;
}

int sis__prefix_new(const sis__net_input *s, sis__prefix **out) {
    sis__prefix *f = *out = SIS_NEW(sis__prefix, 1);
    if (!f)
        return SIS_E_NOMEM;
    sis__reader r = {.f = f};
    f->s = s;
    f->kernels = sis__kernels_best();
    int error = sis__net_input_plan(s, -1, &f->plan);
    if (!error) {
        r.plan = f->plan;
        error = allocate(&r);
    }
    if (!error)
        error = build(&r);
    free(r.of);
    free(r.taken);
    if (error) {
        sis__prefix_free(f);
        *out = NULL;
    }
    return error;
}

void sis__prefix_free(sis__prefix *f) {
    if (!f)
        return;
    sis__arena_release(&f->memory);
    sis__plan_free(f->plan);
    free(f);
}
