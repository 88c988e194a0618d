/* SPDX-License-Identifier: MIT
 *
 * The driver of walks, tested with rules made for this test: they know the input of the first layer
 * and leave the rest of the network to the head. All answers that a rule may give (nothing changes,
 * as before, approximate, not the best) must lead to the margins of full passes.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/walk/entry.h"
#include "support_net.h"
#include "support_nets.h"

/* ---- Rules --------------------------------------------------------------------------------- */

typedef struct {
    sis__rule_instance instance;
    const sis__net_input *s;
    unsigned char *masked, *asked; /* (n_features) asked: since the last mask */
    sis__plan *plan;               /* for a rule without an entry: its head points into it */
} toy;

static int open_toy(sis__rule_instance *r) {
    toy *t = (toy *)r;
    const sis__net_input *s = t->s = r->s;
    if (!s->entry)
        return SIS_E_UNSUPPORTED;
    t->masked = SIS_ARENA(&r->memory, unsigned char, s->in.n);
    t->asked = SIS_ARENA(&r->memory, unsigned char, s->in.n);
    t->instance.width = s->entry->n;
    t->instance.block = 3; /* so that there are several blocks and a partial one */
    t->instance.exact = 1;
    if (sis__arena_error(&r->memory))
        return SIS_E_NOMEM;
    sis__cut cut = {s->entry->tensor, &s->entry->plan->tensors[s->entry->tensor]};
    return sis__head_new(s, &(sis__head_spec){.cuts = &cut, .n_cuts = 1}, &t->instance.head);
}

static int open_rough(sis__rule_instance *r) {
    int error = open_toy(r);
    r->exact = 0;
    return error;
}

static void close_toy(sis__rule_instance *r) {
    sis__plan_free(((toy *)r)->plan);
}

static int reset_toy(sis__rule_instance *r, const unsigned char *masked) {
    toy *t = (toy *)r;
    memcpy(t->masked, masked, t->s->in.n);
    memset(t->asked, 0, t->s->in.n);
    return SIS_OK;
}

static int mask_toy(sis__rule_instance *r, int feature) {
    toy *t = (toy *)r;
    t->masked[feature] = 1;
    memset(t->asked, 0, t->s->in.n);
    return SIS_OK;
}

static sis__change row_toy(sis__rule_instance *r, int feature, float *row) {
    toy *t = (toy *)r;
    const sis__entry *e = t->s->entry;
    int changes = feature < 0;
    for (size_t i = 0; i < e->n; i++) {
        int j = e->feature[i], masked = j >= 0 && (j == feature || t->masked[j]);
        changes |= j == feature && e->x[i] != e->z[i];
        row[i] = masked ? e->z[i] : e->x[i];
    }
    if (feature < 0)
        return SIS__CHANGED;
    if (!changes)
        return SIS__NOTHING;
    if (t->asked[feature])
        return SIS__AS_BEFORE;
    t->asked[feature] = 1;
    return SIS__CHANGED;
}

/* Margins with a different small error each. */
static int rough_margins(sis__rule_instance *r, const int *features, float *rows, size_t n,
                         double *margins) {
    (void)features;
    int error = sis__head_margins_rows(r->head, rows, n, margins);
    for (size_t k = 0; k < n; k++)
        margins[k] += 1e-6 * sin(1e4 * margins[k]);
    return error;
}

static double rough_size(const sis__rule_instance *r, double margin) {
    (void)r;
    return fabs(margin);
}

/* Correct margins, but some are NaN. */
static int lost_margins(sis__rule_instance *r, const int *features, float *rows, size_t n,
                        double *margins) {
    (void)features;
    int error = sis__head_margins_rows(r->head, rows, n, margins);
    for (size_t k = 0; k < n; k += 2)
        margins[k] = NAN;
    return error;
}

/* Upper bounds above the margins, so that the highest bound is not always the best; every fourth
 * is unknown. */
static void toy_bounds(sis__rule_instance *r, int wants, const int *features, size_t n,
                       double *max) {
    toy *t = (toy *)r;
    assert_int_equal(sis__net_input_margins(t->s, t->masked, features, n, max), SIS_OK);
    for (size_t k = 0; k < n; k++)
        max[k] = features[k] % 4 ? wants * max[k] + 0.02 * (features[k] % 3) : INFINITY;
}

#define TOY                                                                                        \
    .bytes = sizeof(toy), .keeps_entry = 1, .open = open_toy, .close = close_toy,                  \
    .reset = reset_toy, .mask = mask_toy, .row = row_toy

static const sis__rule plain = {.name = "plain", TOY};
static const sis__rule lost = {.name = "lost", TOY, .margins = lost_margins};
static const sis__rule bounded = {.name = "bounded", TOY, .bounds = toy_bounds};
static const sis__rule rough = {.name = "rough",
                                .bytes = sizeof(toy),
                                .keeps_entry = 1,
                                .open = open_rough,
                                .close = close_toy,
                                .reset = reset_toy,
                                .mask = mask_toy,
                                .row = row_toy,
                                .margins = rough_margins,
                                .size = rough_size};

/* A rule that needs no entry: its rows are the network's. */
static int open_whole(sis__rule_instance *r) {
    toy *t = (toy *)r;
    const sis__net_input *s = t->s = r->s;
    sis__plan *p = NULL;
    assert_null(s->entry);
    int error = sis__net_input_plan(s, -1, &p);
    if (error != SIS_OK)
        return error;
    t->plan = p;
    t->masked = SIS_ARENA(&r->memory, unsigned char, s->in.n);
    t->asked = SIS_ARENA(&r->memory, unsigned char, s->in.n);
    t->instance.width = s->in.n_values;
    sis__cut cut = {s->fed, &p->tensors[s->fed]};
    error = sis__head_new(s, &(sis__head_spec){.cuts = &cut, .n_cuts = 1}, &t->instance.head);
    return error == SIS_OK ? sis__arena_error(&r->memory) : error;
}

static sis__change row_whole(sis__rule_instance *r, int feature, float *row) {
    toy *t = (toy *)r;
    sis__prepared_input_row(&t->s->in, t->masked, row);
    if (feature >= 0)
        sis__prepared_input_mask(&t->s->in, feature, row);
    return SIS__CHANGED;
}

static const sis__rule whole = {.name = "whole",
                                .bytes = sizeof(toy),
                                .open = open_whole,
                                .close = close_toy,
                                .reset = reset_toy,
                                .mask = mask_toy,
                                .row = row_whole};

/* ---- Tests --------------------------------------------------------------------------------- */

static void draw_case(unsigned seed, walk_case *c, sis__rng *r) {
    static const char *const names[] = {"mlp", "dna", "cnn", "logistic"};
    sis_net *net = NULL;
    sis__rng_init(r, seed);
    for (size_t k = 0; k < n_families; k++)
        if (strcmp(families[k].name, names[seed % 4]) == 0)
            assert_int_equal(families[k].build(seed, &net), SIS_OK);
    if (!net)
        net = build_family("mlp");
    walk_case_init(c, net, 0, r);
}

static void rows_become_margins_of_full_passes(void **state) {
    walk_seen seen = {0};
    (void)state;
    for (unsigned seed = 0; seed < 24; seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w;
        draw_case(seed, &c, &r);
        const sis__rule *rule = seed % 3 ? &plain : &lost;
        assert_int_equal(sis__walk_by(rule, c.net, &c.input, NULL, &w), SIS_OK);
        for (int k = 0; k < 3; k++)
            check_windows(&c, w, &r, 8, &seen);
        assert_true(w->tolerance == 0);
        w->ops->free(w);
        walk_case_release(&c);
    }
    assert_true(seen.exact == seen.probes && seen.probes > 2000);
}

static void errors_of_inexact_rules_are_measured(void **state) {
    walk_seen seen = {0};
    (void)state;
    for (unsigned seed = 0; seed < 24; seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w;
        draw_case(seed, &c, &r);
        assert_int_equal(sis__walk_by(&rough, c.net, &c.input, NULL, &w), SIS_OK);
        assert_true(w->tolerance > 0);
        for (int k = 0; k < 3; k++)
            check_windows(&c, w, &r, 8, &seen);
        w->ops->free(w);
        walk_case_release(&c);
    }
    assert_true(seen.exact == 0 && seen.unchanged > 0);
}

/* Values are read only in comparisons, so there is no entry. */
static void errors_are_measured_without_an_entry(void **state) {
    enum { N = 12 };
    (void)state;
    const float nil = 0;
    sis__rng r;
    sis_net *net;
    walk_case c;
    sis_walk *w;
    walk_seen seen = {0};
    sis_net_builder *b = sis_net_builder_new("signs");
    sis__rng_init(&r, 5);
    sis_net_add_input(b, "x", 0, SHAPE(0, N));
    sis_net_add_param(b, "nil", SHAPE(1), &nil);
    for (const char *const *name = (const char *const[]){"p", "q", "s", "t", NULL}; *name; name++)
        add_random(b, *name, SHAPE(N), &r, 1);
    sis_net_add_node(b, "Less", "x nil", "negative");
    sis_net_add_node(b, "Where", "negative p q", "a");
    sis_net_add_node(b, "Where", "negative s t", "b");
    sis_net_add_node(b, "Mul", "a b", "c");
    add_random(b, "w", SHAPE(N, 2), &r, 1);
    sis_net_add_node(b, "MatMul", "c w", "y");
    sis_net_add_output(b, "y");
    assert_int_equal(sis_net_build(b, &net), SIS_OK);
    walk_case_init(&c, net, 0, &r);
    assert_int_equal(sis__walk_by(&whole, c.net, &c.input, NULL, &w), SIS_OK);
    assert_true(w->tolerance > 0);
    check_windows(&c, w, &r, 8, &seen);
    w->ops->free(w);
    walk_case_release(&c);
}

/* The best candidate is found, and no skipped candidate is the best. */
static void candidates_that_cannot_be_best_are_skipped(void **state) {
    size_t left_out = 0, all = 0;
    (void)state;
    for (unsigned seed = 0; seed < 16; seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w;
        double now;
        draw_case(seed, &c, &r);
        size_t n = c.n_features;
        unsigned char *masked = (unsigned char *)calloc(n, 1);
        int *list = (int *)malloc(n * sizeof *list);
        double *some = (double *)malloc(2 * n * sizeof *some), *full = some + n;
        for (size_t j = 0; j < n; j++)
            list[j] = (int)j;
        assert_int_equal(sis__walk_by(&bounded, c.net, &c.input, NULL, &w), SIS_OK);
        assert_int_equal(w->ops->reset(w, masked, &now), SIS_OK);
        w->wants = seed % 2 ? 1 : -1;
        assert_int_equal(w->ops->probe(w, list, n, some), SIS_OK);
        full_margins(&c, masked, list, n, full);
        double best = -INFINITY;
        for (size_t j = 0; j < n; j++)
            best = fmax(best, w->wants * full[j]);
        for (size_t j = 0; j < n; j++) {
            if (isinf(some[j]))
                assert_true(w->wants * some[j] < 0 && w->wants * full[j] < best);
            else
                assert_true(some[j] == full[j]);
            left_out += isinf(some[j]) != 0;
        }
        all += n;
        assert_int_equal(w->ops->mask(w, 1, &now), SIS_OK); /* whatever is known about it */
        assert_true(now == full[1]);
        w->ops->free(w);
        free(masked);
        free(list);
        free(some);
        walk_case_release(&c);
    }
    assert_true(left_out > all / 4 && left_out < all);
}

/* Rows that take time but count no work, and rows that count as two full passes each. */
static sis__change slow_row(sis__rule_instance *r, int feature, float *row) {
    volatile double sum = 0;
    for (int i = 0; i < 100000; i++)
        sum = sum + i;
    return row_toy(r, feature, row);
}

static sis__change hard_row(sis__rule_instance *r, int feature, float *row) {
    r->work += 2 * sis_net_flops(((toy *)r)->s->net);
    return row_toy(r, feature, row);
}

static const sis__rule slow = {.name = "slow",
                               .bytes = sizeof(toy),
                               .keeps_entry = 1,
                               .open = open_toy,
                               .close = close_toy,
                               .reset = reset_toy,
                               .mask = mask_toy,
                               .row = slow_row};
static const sis__rule hard = {.name = "hard",
                               .bytes = sizeof(toy),
                               .keeps_entry = 1,
                               .open = open_toy,
                               .close = close_toy,
                               .reset = reset_toy,
                               .mask = mask_toy,
                               .row = hard_row};

/* The choice between walk and full passes depends on counted work, not on a clock. The first
 * probe after a reset does not count, because it computes everything. */
static void work_is_counted_not_timed(void **state) {
    (void)state;
    size_t walks = 0;
    for (unsigned seed = 0; seed < 12; seed++) {
        walk_case c;
        sis__rng r;
        unsigned char masked[1024] = {0};
        int features[] = {0, 1, 2};
        double margin, margins[3];
        draw_case(seed, &c, &r);
        for (int kind = 0; kind < 2 && c.n_features >= 12 && c.n_features <= 1024; kind++) {
            sis_walk *w;
            if (sis__walk_by(kind ? &hard : &slow, c.net, &c.input,
                             &(sis_net_walk_opt){.embedded = c.embedded, .by_cost = 1},
                             &w) != SIS_OK)
                continue;
            walks++;
            assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
            for (int probe = 0; probe < 3; probe++) {
                assert_int_equal(w->ops->probe(w, features, 3, margins), SIS_OK);
                assert_string_equal(sis__walk_rule(w), !kind ? "slow" : probe ? "batch" : "hard");
                assert_int_equal(w->ops->mask(w, 3 + probe, &margin), SIS_OK);
            }
            w->ops->free(w);
        }
        walk_case_release(&c);
    }
    assert_true(walks >= 4);
}

static int make_and_probe(void *ctx) {
    const walk_case *c = (const walk_case *)ctx;
    unsigned char masked[1024] = {0};
    double margin;
    sis_walk *w;
    int feature = 0, error = sis__walk_by(&rough, c->net, &c->input, NULL, &w);
    if (error != SIS_OK) {
        assert_null(w);
        return error;
    }
    error = w->ops->reset(w, masked, &margin);
    if (error == SIS_OK)
        error = w->ops->probe(w, &feature, 1, &margin);
    if (error == SIS_OK)
        error = w->ops->mask(w, feature, &margin);
    w->ops->free(w);
    return error;
}

static void failing_allocations_do_no_harm(void **state) {
    walk_case c;
    sis__rng r;
    (void)state;
    draw_case(0, &c, &r);
    assert_true(c.n_features <= 1024);
    assert_true(with_failing_allocations(make_and_probe, &c) > 10);
    walk_case_release(&c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_margins_of_full_passes),
        cmocka_unit_test(errors_of_inexact_rules_are_measured),
        cmocka_unit_test(errors_are_measured_without_an_entry),
        cmocka_unit_test(candidates_that_cannot_be_best_are_skipped),
        cmocka_unit_test(work_is_counted_not_timed),
        cmocka_unit_test(failing_allocations_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
