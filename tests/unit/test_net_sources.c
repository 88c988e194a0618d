/* SPDX-License-Identifier: MIT
 *
 * The sources that operators declare, compared with their behaviour: if an input value changes,
 * only results that depend on it may change. Every operator with a source must be among the cases.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "net/ops/ops.h"
#include "net/plan/net.h"
#include "support_net.h"

static unsigned char covered[SIS__OP_COUNT];

/* 1 if result i is declared to depend on value `of` of the input. */
static int reads(const sis__source *from, size_t i, size_t of) {
    size_t start = sis__source_at(from, i), n = 1;
    for (size_t d = 0; d < from->n_over; d++)
        n *= from->over[d].size;
    for (size_t k = 0; start != SIZE_MAX && k < n; k++) {
        size_t rest = k, at = start;
        for (size_t d = from->n_over; d-- > 0; rest /= from->over[d].size)
            at += rest % from->over[d].size * (size_t)from->over[d].step;
        if (at == of)
            return 1;
    }
    return 0;
}

static void check_values(const char *name, const sis__run *r, const sis__step *s, size_t in,
                         const sis__source *from) {
    const float *x = (const float *)r->data[s->inputs[in]];
    const float *y = (const float *)r->data[s->outputs[0]];
    for (size_t i = 0; from->same && i < r->plan->tensors[s->outputs[0]].count; i++) {
        size_t at = sis__source_at(from, i);
        if (at != SIZE_MAX && memcmp(&y[i], &x[at], sizeof *y) != 0)
            fail_msg("%s, %s: value %zu is not value %zu of its input", name, sis__op_name(s->op),
                     i, at);
    }
}

/* Change each value of one input in turn. If the output shares the input's memory, only compare. */
static void check_input(const char *name, sis__run *r, const sis__step *s, size_t in) {
    const sis__tensor *x = &r->plan->tensors[s->inputs[in]];
    const sis__tensor *y = &r->plan->tensors[s->outputs[0]];
    float *was = (float *)r->data[s->inputs[in]], *now = (float *)r->data[s->outputs[0]];
    sis__source from;
    if (!sis__source_of(r->plan, s, 0, in, &from) || x->dtype != SIS__F32 || y->dtype != SIS__F32)
        return;
    covered[s->op] = 1;
    check_values(name, r, s, in, &from);
    float *changed = (float *)malloc((x->count + 1) * sizeof *changed);
    float *before = (float *)malloc((y->count + 1) * sizeof *before);
    memcpy(changed, was, x->count * sizeof *changed);
    memcpy(before, now, y->count * sizeof *before);
    r->data[s->inputs[in]] = changed;
    for (size_t k = 0; now != was && k < x->count; k++) {
        changed[k] += 0.25f;
        assert_int_equal(s->ops->forward(s, r), 0);
        changed[k] = was[k];
        for (size_t i = 0; i < y->count; i++)
            if (memcmp(&now[i], &before[i], sizeof *now) != 0 && !reads(&from, i, k))
                fail_msg("%s, %s: value %zu depends on value %zu of input %zu", name,
                         sis__op_name(s->op), i, k, in);
    }
    r->data[s->inputs[in]] = was;
    assert_int_equal(s->ops->forward(s, r), 0);
    free(changed);
    free(before);
}

/* If a result is linear in an input, twice the change must change it twice as much. */
static void check_linear(const char *name, sis__run *r, const sis__step *s, size_t in) {
    const sis__tensor *x = &r->plan->tensors[s->inputs[in]];
    const sis__tensor *y = &r->plan->tensors[s->outputs[0]];
    float *was = (float *)r->data[s->inputs[in]], *now = (float *)r->data[s->outputs[0]];
    if (!(s->ops->linear >> in & 1) || x->dtype != SIS__F32 || y->dtype != SIS__F32)
        return;
    for (size_t i = 0; i < s->n_inputs; i++)
        if (i != in && s->inputs[i] == s->inputs[in])
            return; /* a square */
    float *changed = (float *)malloc((x->count + 1) * sizeof *changed);
    float *values[3];
    r->data[s->inputs[in]] = changed;
    for (size_t k = 0; k < 3; k++) {
        for (size_t i = 0; i < x->count; i++)
            changed[i] = was[i] + 0.5f * (float)k * (float)(1 + i % 3);
        assert_int_equal(s->ops->forward(s, r), 0);
        values[k] = (float *)malloc((y->count + 1) * sizeof **values);
        memcpy(values[k], now, y->count * sizeof *now);
    }
    for (size_t i = 0; i < y->count; i++) {
        float once = values[1][i] - values[0][i], twice = values[2][i] - values[0][i];
        if (fabsf(twice - 2 * once) > 1e-3f * (1 + fabsf(twice)))
            fail_msg("%s, %s: value %zu is not linear in input %zu", name, sis__op_name(s->op), i,
                     in);
    }
    r->data[s->inputs[in]] = was;
    assert_int_equal(s->ops->forward(s, r), 0);
    for (size_t k = 0; k < 3; k++)
        free(values[k]);
    free(changed);
}

static void check_network(const char *name, const sis_net *net, const sis_net_shape *shape) {
    size_t rows = shape->dims[0] == 0 ? 2 : 1;
    sis__feed feed = {.value = net->input, .rank = shape->rank};
    for (size_t d = 0; d < shape->rank; d++)
        feed.dims[d] = shape->dims[d] == 0 ? rows : shape->dims[d];
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->output,
                           .n_outputs = 1,
                           .batch = rows,
                           .gradients = 1}; /* so that weights are read unpacked */
    sis__plan *plan;
    sis__run *r;
    sis__rng rng;
    if (sis__plan_new(net, &spec, &plan) != 0)
        fail_msg("%s: %s", name, sis_error_detail());
    assert_int_equal(sis__run_new(plan, &r), 0);
    sis__rng_init(&rng, 7);
    float *x = random_floats(&rng, plan->tensors[net->input].count, 1.0);
    memcpy(r->data[net->input], x, plan->tensors[net->input].count * sizeof *x);
    assert_int_equal(sis__run_forward(r), 0);
    for (size_t k = 0; k < plan->n_steps; k++) {
        const sis__step *s = &plan->steps[k];
        for (size_t i = 0; i < s->n_inputs && s->outputs[0] >= 0; i++)
            if (s->inputs[i] >= 0) {
                check_input(name, r, s, i);
                check_linear(name, r, s, i);
            }
    }
    free(x);
    sis__run_free(r);
    sis__plan_free(plan);
}

static void sources_describe_all_dependencies(void **state) {
    (void)state;
    for (size_t i = 0; i < n_operator_cases; i++) {
        const operator_case *c = &operator_cases[i];
        sis_net *net;
        if (build_operator(c, &net) != 0)
            fail_msg("%s: %s", c->name, sis_error_detail());
        check_network(c->name, net, &c->x);
        sis_net_free(net);
    }
#define CHECK(id, domain, name, op)                                                                \
    if (sis__op_##op.source && strcmp(domain, "sis") != 0 && sis__op_##op.backward &&              \
        !covered[SIS__OP_##id])                                                                    \
        fail_msg("no case of %s", name);
    SIS__OPS(CHECK)
#undef CHECK
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(sources_describe_all_dependencies)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
