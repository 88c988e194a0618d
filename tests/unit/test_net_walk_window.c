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
            int error = sis_net_walk(c.net, &c.input, &(sis_net_walk_opt){c.embedded, 0}, &w);
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

static void only_what_is_not_the_best_is_left_out(void **state) {
    (void)state;
    static const unsigned seeds[] = {0, 1, 2, 26, 28, 33}; /* most leave some out */
    size_t left_out = 0, leaving = 0;
    for (size_t i = 0; i < 2; i++) /* images: those that end in two dense layers may */
        for (size_t k = 0; k < sizeof seeds / sizeof *seeds; k++) {
            unsigned seed = seeds[k];
            walk_case c;
            sis__rng r;
            sis_walk *w[2];
            draw_case(&window_families[i], 9000 + 1000 * (unsigned)i + seed, &c, &r);
            sis_net_walk_opt opt = {c.embedded, 0};
            if (sis_net_walk(c.net, &c.input, &opt, &w[0]) == SIS_OK) {
                assert_int_equal(sis_net_walk(c.net, &c.input, &opt, &w[1]), SIS_OK);
                size_t more = check_left_out(&c, w[0], w[1], seed % 2 ? 1 : -1);
                left_out += more;
                leaving += more > 0;
                w[0]->ops->free(w[0]);
                w[1]->ops->free(w[1]);
            }
            walk_case_release(&c);
        }
    printf("%zu networks left %zu out\n", leaving, left_out);
    assert_true(leaving >= 3);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static int walk_a_little(void *ctx) {
    const walk_case *c = (const walk_case *)ctx;
    sis_walk *w;
    double margin, margins[3];
    unsigned char masked[4096] = {0};
    int error = sis_net_walk(c->net, &c->input, &(sis_net_walk_opt){c->embedded, 0}, &w);
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_probe_agrees_with_full_passes),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(only_what_is_not_the_best_is_left_out),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
