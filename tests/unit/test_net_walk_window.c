/* SPDX-License-Identifier: MIT
 *
 * Window walks against full passes: random networks of every family, inputs, masks, feature maps
 * and states.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "net/walk/walk.h"
#include "net/walk/window.h"
#include "support_net.h"
#include "support_nets.h"

static void draw_case(const window_family *f, unsigned seed, walk_case *c, sis__rng *r) {
    sis_net *net;
    sis__rng_init(r, seed);
    if (f->build(r, &net) != 0)
        fail_msg("%s %u: %s", f->name, seed, sis_error_detail());
    walk_case_init(c, net, f->embedded, r);
}

static void every_probe_agrees_with_full_passes(void **state) {
    (void)state;
    for (size_t i = 0; i < n_window_families; i++) {
        const window_family *f = &window_families[i];
        walk_seen seen = {0};
        size_t walks = 0, n = rounds(16);
        for (unsigned seed = 0; seed < n; seed++) {
            walk_case c;
            sis__rng r;
            sis_walk *w;
            draw_case(f, 1000 * (unsigned)i + seed, &c, &r);
            int error =
                sis_net_walk(c.net, &c.input, &(sis_net_walk_opt){.embedded = c.embedded}, &w);
            if (error == SIS_OK) {
                walks++;
                check_windows(&c, w, &r, 12, &seen);
                check_windows(&c, w, &r, 60, &seen);
                w->ops->free(w);
            } else {
                assert_int_equal(error, SIS_E_UNSUPPORTED);
            }
            walk_case_release(&c);
        }
        printf(
            "%-14s %2zu of %2zu walk, %6zu probes (%zu exact, %zu unchanged), error %.1e = %.2f of "
            "the tolerance\n",
            f->name, walks, n, seen.probes, seen.exact, seen.unchanged, seen.error, seen.portion);
        assert_true(3 * walks >= n && seen.exact == seen.probes);
    }
}

static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    size_t subsets = 0;
    for (size_t i = 0; i < n_window_families; i++)
        for (unsigned seed = 0; seed < rounds(3); seed++) {
            walk_case c;
            sis__rng r;
            draw_case(&window_families[i], 5000 + 1000 * (unsigned)i + seed, &c, &r);
            subsets += check_same_collection(&c, &r);
            walk_case_release(&c);
        }
    printf("%zu subsets\n", subsets);
    assert_true(subsets > rounds(30));
}

/* ---- Full passes instead --------------------------------------------------------------------- */

static int select_from(const walk_case *c, size_t probe, sis_trace *t, size_t *evaluations) {
    sis_model model = walk_case_model(c);
    sis_opt opt;
    sis_walk *w = NULL;
    sis_opt_init(&opt);
    opt.exact = probe == SIZE_MAX - 1;
    int error = sis_walk_new(&model, &c->input, &opt, &w);
    if (error == SIS_OK)
        sis__walk_full_from(w, probe);
    if (error == SIS_OK)
        error = sis_backselect(w, &opt, t);
    if (error == SIS_OK)
        *evaluations = w->evaluations;
    sis_walk_free(w);
    return error;
}

/* The rule alone, full passes from some probe on, and full passes of the core give the same
 * order, scores and number of copies. */
static void rule_and_full_passes_give_the_same_margins(void **state) {
    (void)state;
    static const size_t from[] = {SIZE_MAX, 0, 3, SIZE_MAX - 1};
    for (size_t i = 0; i < n_window_families; i++)
        for (unsigned seed = 0; seed < rounds(6); seed++) {
            walk_case c;
            sis__rng r;
            sis_trace t[4] = {{0}};
            size_t evaluations[4] = {0};
            draw_case(&window_families[i], 7000 + 1000 * (unsigned)i + seed, &c, &r);
            for (size_t k = 0; k < 4 && c.n_features <= 60; k++) {
                assert_int_equal(select_from(&c, from[k], &t[k], &evaluations[k]), SIS_OK);
                assert_int_equal(t[k].n, t[0].n);
                assert_memory_equal(t[k].order, t[0].order, t[0].n * sizeof *t[0].order);
                assert_memory_equal(t[k].scores, t[0].scores, t[0].n * sizeof *t[0].scores);
                if (k < 3)
                    assert_int_equal(evaluations[k], evaluations[0]);
            }
            for (size_t k = 0; k < 4; k++)
                sis_trace_release(&t[k]);
            walk_case_release(&c);
        }
}

/* Masks several features without a probe between them: cached margins of an earlier state must
 * not be used. */
static void masking_without_a_probe_works(void **state) {
    (void)state;
    size_t walks = 0;
    for (unsigned seed = 0; seed < 12; seed++) {
        walk_case c;
        sis__rng r;
        sis_walk *w;
        double now, margins[3], two[2];
        unsigned char nothing[4096] = {0};
        draw_case(&window_families[0], 9000 + seed, &c, &r);
        int error = sis_net_walk(c.net, &c.input, &(sis_net_walk_opt){.embedded = c.embedded}, &w);
        for (size_t k = 0; error == SIS_OK && k < 2; k++) {
            sis__walk_full_from(w, k ? 0 : SIZE_MAX);
            assert_int_equal(w->ops->reset(w, nothing, &now), SIS_OK);
            assert_int_equal(w->ops->probe(w, (int[]){0, 1, 2}, 3, margins), SIS_OK);
            assert_int_equal(w->ops->mask(w, 0, &now), SIS_OK);
            assert_int_equal(w->ops->mask(w, 2, &two[k]), SIS_OK);
        }
        if (error == SIS_OK) {
            walks++;
            assert_true(two[0] == two[1]);
            w->ops->free(w);
        }
        walk_case_release(&c);
    }
    assert_true(walks > 2);
}

/* Chosen by cost: an input with many features has a walk, one with few has none. */
static void walks_are_chosen_by_cost(void **state) {
    (void)state;
    walk_case c;
    sis__rng r;
    sis_walk *w;
    for (unsigned seed = 0; seed < rounds(40); seed++) {
        draw_case(&window_families[0], 7000 + seed, &c, &r);
        int few = c.n_features < 20;
        int walks = sis_net_walk(c.net, &c.input, NULL, &w) == SIS_OK;
        if (walks)
            w->ops->free(w);
        int error = sis_net_walk(c.net, &c.input, &(sis_net_walk_opt){.by_cost = 1}, &w);
        if (few)
            assert_int_equal(error, SIS_E_UNSUPPORTED);
        if (error == SIS_OK) {
            walk_seen seen = {0};
            assert_true(walks);
            check_windows(&c, w, &r, 20, &seen);
            w->ops->free(w);
        }
        walk_case_release(&c);
    }
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static int walk_a_little(void *ctx) {
    const walk_case *c = (const walk_case *)ctx;
    sis_walk *w;
    double margin, margins[3];
    unsigned char masked[4096] = {0};
    int error = sis_net_walk(c->net, &c->input, &(sis_net_walk_opt){.embedded = c->embedded}, &w);
    if (error != SIS_OK)
        return error;
    masked[1] = 1;
    error = w->ops->reset(w, masked, &margin);
    if (error == SIS_OK)
        error = w->ops->probe(w, (int[]){0, 2, 3}, 3, margins);
    if (error == SIS_OK)
        error = w->ops->mask(w, 2, &margin);
    if (error == SIS_OK)
        error = w->ops->probe(w, (int[]){0, 3}, 2, margins);
    sis__walk_full_from(w, 0);
    if (error == SIS_OK)
        error = w->ops->probe(w, (int[]){0, 3}, 2, margins);
    if (error == SIS_OK)
        error = w->ops->mask(w, 3, &margin);
    w->ops->free(w);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    for (size_t i = 0; i < n_window_families; i++) {
        walk_case c;
        sis__rng r;
        draw_case(&window_families[i], 3, &c, &r);
        if (walk_a_little(&c) == SIS_OK)
            assert_true(with_failing_allocations(walk_a_little, &c) > 10);
        walk_case_release(&c);
    }
}

/* ---- Rounding --------------------------------------------------------------------------------- */

/* Maps of 262,144 values whose sums, of one sign or both, are computed by a dense layer or are a
 * mean. The maps are the input itself, so that a full pass can be repeated here. */
enum {
    WIDE = 512,
    VALUES = WIDE * WIDE,
    PATCH = 64,
    PATCHES = VALUES / PATCH / PATCH,
    OUTPUTS = 3
};

typedef enum { ONE_SIGN, BOTH_SIGNS, CONSTANT, N_SIGNS } signs;

static struct {
    float *x, *z, *w, *map, bias[OUTPUTS]; /* x, z, map (VALUES), w (VALUES, OUTPUTS) */
    int *feature_of;
    int mean;
    unsigned char masked[PATCHES];
    size_t seen;
    double worst; /* error of a sum over its slack */
} large;

/* The beginning of the struct in window.c. */
typedef struct {
    sis__rule_instance instance;
    sis__prefix *f;
} window_start;

static double full_sum(size_t i) {
    double sum = (double)large.bias[i];
    if (large.mean)
        return sis__kernels_best()->sum(large.map, VALUES);
    for (size_t k = 0; k < VALUES; k += SIS__PIECE) {
        double piece = 0;
        for (size_t p = k; p < k + SIS__PIECE; p++)
            piece += (double)large.map[p] * (double)large.w[p * OUTPUTS + i];
        sum += piece;
    }
    return sum;
}

/* The error of sums against a full pass must not exceed slack. */
static sis__change spy_row(sis__rule_instance *r, int feature, float *row) {
    sis__change said = sis__rule_window.row(r, feature, row);
    sis__prefix *f = ((window_start *)r)->f;
    const sis__keep_point *s = &f->points[f->n_points - 1];
    const double *change = feature < 0 ? NULL : f->store.wide + s->kept[feature].out;
    for (size_t v = 0; v < VALUES; v++) {
        int j = large.feature_of[v];
        large.map[v] = j == feature || large.masked[j] ? large.z[v] : large.x[v];
    }
    assert_int_equal(s->kind, large.mean ? SIS__KEEP_MEAN : SIS__KEEP_DENSE);
    for (size_t i = 0; i < s->cut.width; i++) {
        double off = fabs(s->linear.sums[i] + (change ? change[i] : 0) - full_sum(i));
        large.worst = fmax(large.worst, off / s->linear.slack[i]);
        large.seen++;
    }
    return said;
}

static sis_net *build_large(sis__rng *r, signs kind) {
    sis_net_builder *b = sis_net_builder_new("large");
    sis_net *net;
    const float one = 1;
    sis_net_add_input(b, "x", 0, SHAPE(0, 1, WIDE, WIDE));
    sis_net_add_param(b, "k", SHAPE(1, 1, 1, 1), &one);
    sis_net_add_node(b, "Conv", "x k", "c");
    for (size_t i = 0; i < (size_t)VALUES * OUTPUTS; i++)
        large.w[i] =
            kind == CONSTANT ? 0.1f : (float)(sis__rng_uniform(r) - (kind == BOTH_SIGNS) * 0.5);
    for (size_t i = 0; i < OUTPUTS; i++)
        large.bias[i] = kind == BOTH_SIGNS ? 100.0f : 0.3f;
    if (large.mean) {
        sis_net_add_node(b, "GlobalAveragePool", "c", "m");
        sis_net_add_node(b, "Flatten", "m", "y");
    } else {
        sis_net_add_node(b, "Flatten", "c", "d");
        sis_net_add_param(b, "w", SHAPE(VALUES, OUTPUTS), large.w);
        sis_net_add_param(b, "b", SHAPE(OUTPUTS), large.bias);
        sis_net_add_node(b, "Gemm", "d w b", "y");
    }
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

static void walk_large(unsigned seed, signs kind, int mean) {
    sis__rng r;
    sis_walk *w;
    double *x = malloc(VALUES * sizeof *x), *z = malloc(VALUES * sizeof *z), margins[4], now;
    sis__rule rule = sis__rule_window;
    assert_true(x && z);
    sis__rng_init(&r, seed);
    large.mean = mean;
    memset(large.masked, 0, sizeof large.masked);
    for (size_t v = 0; v < VALUES; v++) {
        double low = kind == BOTH_SIGNS && mean ? -0.5 : 0;
        large.x[v] = kind == CONSTANT ? 0.7f : (float)(low + sis__rng_uniform(&r));
        large.z[v] = kind == CONSTANT ? 0.1f : (float)(low + sis__rng_uniform(&r));
        x[v] = (double)large.x[v];
        z[v] = (double)large.z[v];
        large.feature_of[v] = (int)(v / WIDE / PATCH * (WIDE / PATCH) + v % WIDE / PATCH);
    }
    sis_net *net = build_large(&r, kind);
    sis_input input = {.values = x, .mask = z, .n_values = VALUES};
    input.feature_of = large.feature_of;
    rule.row = spy_row;
    if (sis__walk_by(&rule, net, &input, &(sis_net_walk_opt){0}, &w) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(w->ops->reset(w, large.masked, &now), SIS_OK);
    assert_true(w->tolerance == 0);
    for (int step = 0; step < 3; step++) {
        int asked[4] = {step, 17 + step, 40 + step, 60 + step};
        assert_int_equal(w->ops->probe(w, asked, 4, margins), SIS_OK);
        assert_int_equal(w->ops->mask(w, asked[1], &now), SIS_OK);
        large.masked[asked[1]] = 1;
    }
    w->ops->free(w);
    sis_net_free(net);
    free(x);
    free(z);
}

static void slack_bounds_sums_of_large_maps(void **state) {
    (void)state;
    const char *const names[] = {"one sign", "both signs", "constant"};
    large.x = malloc(VALUES * sizeof *large.x);
    large.z = malloc(VALUES * sizeof *large.z);
    large.map = malloc(VALUES * sizeof *large.map);
    large.w = malloc(sizeof *large.w * VALUES * OUTPUTS);
    large.feature_of = malloc(VALUES * sizeof *large.feature_of);
    assert_true(large.x && large.z && large.map && large.w && large.feature_of);
    for (int mean = 0; mean < 2; mean++)
        for (signs kind = 0; kind < N_SIGNS; kind++) {
            large.worst = 0;
            large.seen = 0;
            for (unsigned seed = 0; seed < rounds(4); seed++)
                walk_large(seed, kind, mean);
            printf("%s, %s: %zu sums, off by at most %.3f of what is allowed for\n",
                   mean ? "means" : "dense layers", names[kind], large.seen, large.worst);
            assert_true(large.seen > 10 && large.worst < 1);
        }
    free(large.x);
    free(large.z);
    free(large.map);
    free(large.w);
    free(large.feature_of);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_probe_agrees_with_full_passes),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(rule_and_full_passes_give_the_same_margins),
        cmocka_unit_test(masking_without_a_probe_works),
        cmocka_unit_test(walks_are_chosen_by_cost),
        cmocka_unit_test(slack_bounds_sums_of_large_maps),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
