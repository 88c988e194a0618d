/* SPDX-License-Identifier: MIT
 *
 * The plan cache of a network: hits, different keys, eviction, several threads.
 */
#include "support.h"

#include <pthread.h>
#include <stdlib.h>

#include "net/plan/cache.h"
#include "net/plan/net.h"
#include "net/plan/row_layout.h"
#include "net/plan/shared.h"
#include "support_net.h"

enum { LENGTHS = 700 }; /* more than are kept */

static sis_net *build(void) {
    sis_net *net;
    sis__rng r;
    sis__rng_init(&r, 8);
    sis_net_builder *b = sis_net_builder_new("free");
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, 0));
    add_random(b, "w", SHAPE(4, 1, 1), &r, 0.8);
    sis_net_add_node(b, "Conv", "x w", "c");
    sis_net_add_node(b, "GlobalAveragePool", "c", "g");
    sis_net_add_node(b, "Flatten", "g", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    return net;
}

static sis__shared_plan *ask(const sis_net *net, size_t rows, size_t length, int keep,
                             size_t asked) {
    sis__feed feed = {.value = net->input, .rank = 3, .dims = {rows, 1, length}};
    sis__plan_spec spec = {.feeds = &feed,
                           .n_feeds = 1,
                           .outputs = &net->output,
                           .n_outputs = 1,
                           .one = 1,
                           .asked = asked,
                           .batch = rows,
                           .keep_all = keep};
    sis__shared_plan *p;
    return sis__shared_plan_get(net, &spec, &p) == SIS_OK ? p : NULL;
}

static void the_same_question_gets_the_same_plan(void **state) {
    (void)state;
    sis_net *net = build();
    sis__shared_plan *first = ask(net, 1, 9, 0, 0), *again = ask(net, 1, 9, 0, 0);
    sis__shared_plan *others[] = {ask(net, 2, 9, 0, 0), ask(net, 1, 10, 0, 0), ask(net, 1, 9, 1, 0),
                                  ask(net, 1, 9, 0, 3)};
    assert_non_null(first);
    assert_ptr_equal(first->plan, again->plan);
    sis__shared_plan_done(again);
    for (size_t i = 0; i < 4; i++) {
        assert_non_null(others[i]);
        assert_ptr_not_equal(first->plan, others[i]->plan);
        sis__shared_plan_done(others[i]);
    }
    const sis__plan *plan = first->plan;
    sis__shared_plan_done(first); /* not in use, but kept */
    again = ask(net, 1, 9, 0, 0);
    assert_ptr_equal(again->plan, plan);
    sis__shared_plan_done(again);
    sis__shared_plan_done(NULL);
    assert_null(ask(net, 0, 0, 0, 0)); /* no such shape */
    sis_net_free(net);
}

static void full_passes_share_plans_with_walks(void **state) {
    (void)state;
    sis_net *net = build();
    sis__row_layout *g;
    sis__shared_plan *p;
    sis__feed feed = {.value = net->input, .rank = 3, .dims = {1, 1, 9}};
    sis__plan_spec spec = {
        .feeds = &feed, .n_feeds = 1, .outputs = &net->output, .n_outputs = 1, .batch = 1};
    assert_int_equal(sis__row_layout_get(net, &(sis__row_form){.n_values = 9}, &g), SIS_OK);
    assert_int_equal(sis__shared_plan_get(net, &spec, &p), SIS_OK);
    assert_ptr_equal(p->plan, g->plans[SIS__SCORES][0]->plan);
    sis__shared_plan_done(p);
    spec.gradients = 1;
    assert_int_equal(sis__shared_plan_get(net, &spec, &p), SIS_OK);
    assert_ptr_not_equal(p->plan, g->plans[SIS__SCORES][0]->plan);
    sis__shared_plan_done(p);
    sis__row_layout_done(net, g);
    sis_net_free(net);
}

/* Old plans are evicted, but never one in use. */
static void plans_in_use_stay_valid(void **state) {
    (void)state;
    sis_net *net = build();
    sis__shared_plan *held = ask(net, 1, 5, 0, 0);
    for (size_t length = 6; length < LENGTHS; length++)
        sis__shared_plan_done(ask(net, 1, length, 0, 0));
    sis__shared_plan *again = ask(net, 1, 5, 0, 0);
    assert_ptr_equal(again->plan, held->plan);
    sis__shared_plan_done(again);

    sis__cache_clear(net->cache); /* a plan in use stays valid */
    again = ask(net, 1, 5, 0, 0);
    assert_ptr_not_equal(again->plan, held->plan);
    sis__shared_plan_done(held);
    sis__shared_plan_done(again);
    sis_net_free(net);
}

typedef struct {
    const sis_net *net;
    uint64_t seed;
    int wrong;
} asker;

static void *ask_often(void *ctx) {
    asker *a = ctx;
    sis__rng r;
    sis__rng_init(&r, a->seed);
    for (int i = 0; i < 400; i++) {
        size_t length = 1 + sis__rng_below(&r, 20);
        sis__shared_plan *p = ask(a->net, 1, length, 0, 0);
        a->wrong |= !p || p->plan->tensors[a->net->input].dims[2] != length;
        sis__shared_plan_done(p);
    }
    return NULL;
}

static void threads_share_plans(void **state) {
    (void)state;
    sis_net *net = build();
    asker askers[3];
    pthread_t threads[3];
    for (size_t i = 0; i < 3; i++) {
        askers[i] = (asker){.net = net, .seed = i};
        assert_int_equal(pthread_create(&threads[i], NULL, ask_often, &askers[i]), 0);
    }
    for (size_t i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_false(askers[i].wrong);
    }
    sis_net_free(net);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_same_question_gets_the_same_plan),
        cmocka_unit_test(full_passes_share_plans_with_walks),
        cmocka_unit_test(plans_in_use_stay_valid),
        cmocka_unit_test(threads_share_plans),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
