/* SPDX-License-Identifier: MIT
 *
 * States of LSTM layers over padding. Before the first word all rows are the same, so these states
 * are computed once per update, for one row, in segments. A shard starts from the states before the
 * segment that its longest row needs:
 *
 *     states[0] = 0 --segment--> states[1] --segment--> states[2] --segment--> ...
 *                                              |
 *                                          shards that start there
 *
 * In the backward pass a state receives the gradients of the shards that started from it, then of
 * the segment after it; segments run from last to first and add to one gradient of the parameters.
 * The result equals that of full rows, except for rounding.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "train/train.h"

static size_t state_size(const sis_trainer *t) {
    return t->weights.n_state;
}

static int find_states(sis_trainer *t) {
    static const char *const names[SIS__STATES] = {"h1", "c1", "h2", "c2"};
    for (size_t i = 0; i < SIS__STATES; i++) {
        char name[32];
        snprintf(name, sizeof name, SIS__STATE_PREFIX "%s", names[i]);
        t->pass.padding.states[i] = sis__graph_find(&t->weights.net->graph, name);
        t->pass.padding.outputs[i] = sis__graph_find(&t->weights.net->graph, names[i]);
        if (t->pass.padding.states[i] < 0 || t->pass.padding.outputs[i] < 0)
            return 0;
    }
    return 1;
}

static int make_plan(sis_trainer *t) {
    sis__feed feed = {
        .value = t->weights.net->embedded, .rank = 3, .dims = {1, SIS__SEGMENT, t->arch.dim}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = t->pass.padding.outputs,
                           .n_outputs = SIS__STATES,
                           .batch = 1,
                           .gradients = 1,
                           .training = 1};
    return sis__plan_new(t->weights.net, &spec, &t->pass.padding.plan);
}

int sis__padding_new(sis_trainer *t) {
    sis__padding *p = &t->pass.padding;
    if (!find_states(t))
        return SIS_OK;
    t->weights.n_state = SIS__STATES * t->arch.hidden;
    p->n = t->opt.full_rows ? 0 : t->arch.inputs / SIS__SEGMENT;
    p->segments = SIS_NEW(sis__segment, p->n);
    p->at = SIS_NEW(float, (p->n + 1) * state_size(t));
    p->d_at = SIS_NEW(float, (p->n + 1) * state_size(t));
    p->d = SIS_NEW(float, t->weights.n_dense + t->weights.n_state);
    p->grads = SIS_NEW(float *, t->weights.net->graph.n_values);
    p->d_pad = SIS_NEW(float, t->arch.dim);
    if (!p->segments || !p->at || !p->d_at || !p->d || !p->grads || !p->d_pad)
        return SIS_E_NOMEM;
    sis__point_grads(t, p->d, p->grads);
    return p->n ? make_plan(t) : SIS_OK;
}

void sis__padding_free(sis__padding *p) {
    for (size_t i = 0; p->segments && i < p->n; i++) {
        sis__run_free(p->segments[i].run);
        sis__memory_release(&p->segments[i].memory);
    }
    free(p->segments);
    free(p->at);
    free(p->d_at);
    free(p->d);
    free((void *)p->grads);
    free(p->d_pad);
    sis__plan_free(p->plan);
}

static int forward_one(sis_trainer *t, size_t k) {
    sis__padding *p = &t->pass.padding;
    sis__segment *g = &p->segments[k];
    size_t hidden = t->arch.hidden;
    int error = g->run ? SIS_OK : sis__run_new_in(p->plan, &g->memory, p->grads, &g->run);
    if (error)
        return error;
    float *x = (float *)g->run->data[t->weights.net->embedded];
    for (size_t j = 0; j < SIS__SEGMENT; j++) /* token 0 */
        memcpy(x + j * t->arch.dim, t->weights.params[t->weights.embedding].w,
               t->arch.dim * sizeof *x);
    for (size_t i = 0; i < SIS__STATES; i++)
        g->run->data[p->states[i]] = p->at + k * state_size(t) + i * hidden;
    if ((error = sis__run_forward(g->run)) != 0)
        return error;
    for (size_t i = 0; i < SIS__STATES; i++)
        memcpy(p->at + (k + 1) * state_size(t) + i * hidden, g->run->data[p->outputs[i]],
               hidden * sizeof(float));
    return SIS_OK;
}

int sis__padding_forward(sis_trainer *t) {
    int error = SIS_OK;
    t->pass.padding.used = 0;
    for (size_t i = 0; t->weights.n_state && i < t->pass.used_shards; i++) {
        size_t need = t->pass.shards[i].start / SIS__SEGMENT;
        t->pass.padding.used = need > t->pass.padding.used ? need : t->pass.padding.used;
    }
    for (size_t k = 0; k < t->pass.padding.used && !error; k++)
        error = forward_one(t, k);
    return error;
}

/* Add the gradients of shards to the states they started from. */
static void receive(sis_trainer *t) {
    sis__padding *p = &t->pass.padding;
    size_t n = state_size(t);
    memset(p->d_at, 0, (p->n + 1) * n * sizeof *p->d_at);
    for (size_t i = 0; i < t->pass.used_shards; i++) {
        const float *from = t->pass.shards[i].d + t->weights.n_dense;
        float *to = p->d_at + t->pass.shards[i].start / SIS__SEGMENT * n;
        for (size_t j = 0; j < n; j++)
            to[j] += from[j];
    }
}

static int backward_one(sis_trainer *t, size_t k) {
    sis__padding *p = &t->pass.padding;
    sis__run *r = p->segments[k].run;
    size_t n = state_size(t), hidden = t->arch.hidden, dim = t->arch.dim;
    float *state = p->d + t->weights.n_dense, *before = p->d_at + k * n;
    for (size_t i = 0; i < SIS__STATES; i++)
        memcpy(r->grad[p->outputs[i]], before + n + i * hidden, hidden * sizeof(float));
    memset(state, 0, n * sizeof *state);
    int error = sis__run_backward(r);
    for (size_t j = 0; !error && j < n; j++)
        before[j] += state[j];
    const float *dx = r->grad[t->weights.net->embedded];
    for (size_t j = 0; !error && j < SIS__SEGMENT * dim; j++)
        p->d_pad[j % dim] += dx[j];
    return error;
}

int sis__padding_backward(sis_trainer *t) {
    sis__padding *p = &t->pass.padding;
    int error = SIS_OK;
    if (!t->weights.n_state)
        return SIS_OK;
    receive(t);
    memset(p->d, 0, (t->weights.n_dense + t->weights.n_state) * sizeof *p->d);
    memset(p->d_pad, 0, t->arch.dim * sizeof *p->d_pad);
    for (size_t k = p->used; k-- > 0 && !error;)
        error = backward_one(t, k);
    return error;
}
