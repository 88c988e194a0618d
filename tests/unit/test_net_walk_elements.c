/* SPDX-License-Identifier: MIT
 *
 * Window walks pass through every operator whose traits say that it maps each value separately.
 * Each operator is put between a small convolution and a large one, where a walk exists only if the
 * operator is followed, and every probe is compared with full passes.
 */
#include "support.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/ops/ops.h"
#include "support_net.h"
#include "support_nets.h"

/* The inputs of an operator: "v" is the map; constants are one number, one a channel, one a row
 * of the map, or one for each value; "t" is another map. */
static const char *const operands[] = {"v one",    "one v",       "v channels", "rows v",
                                       "v all",    "all v",       "v t",        "t v t",
                                       "v rows t", "where v all", "where t v"};

/* x (2 channels of 12 x 12) to v and t, in (0, 1), or above 1 if the operator needs that. */
static void add_front(sis_net_builder *b, sis__rng *r, int above_one) {
    add_random(b, "w1", SHAPE(2, 2, 1, 1), r, 1);
    sis_net_add_input(b, "x", 0, SHAPE(0, 2, 12, 12));
    sis_net_add_node(b, "Conv", "x w1", "c");
    sis_net_add_node(b, "Sigmoid", "c", above_one ? "low" : "v");
    if (above_one)
        sis_net_add_node(b, "Reciprocal", "low", "v");
    sis_net_add_node(b, "Sqrt", "v", "t");
}

/* In (0.1, 1.1). */
static void add_constant(sis_net_builder *b, const char *name, const sis_net_shape *shape,
                         sis__rng *r) {
    float v[2 * 12 * 12];
    for (size_t i = 0; i < 2 * 12 * 12; i++)
        v[i] = (float)(0.1 + sis__rng_uniform(r));
    sis_net_add_param(b, name, shape, v);
}

static void add_constants(sis_net_builder *b, sis__rng *r) {
    add_constant(b, "one", SHAPE(1), r);
    add_constant(b, "channels", SHAPE(2, 1, 1), r);
    add_constant(b, "rows", SHAPE(1, 12, 1), r);
    add_constant(b, "all", SHAPE(1, 2, 12, 12), r);
    sis_net_add_node(b, "Greater", "all channels", "where");
}

static sis_net *build(const char *op, const char *inputs, sis__rng *r) {
    sis_net_builder *b = sis_net_builder_new("test");
    sis_net *net = NULL;
    add_front(b, r, strcmp(op, "Acosh") == 0);
    add_constants(b, r);
    sis_net_add_node(b, op, inputs, "y");
    if (strcmp(op, "Cast") == 0)
        sis_net_attr_int(b, "to", 10); /* half precision: rounds */
    if (strcmp(op, "Mod") == 0)
        sis_net_attr_int(b, "fmod", 1);
    add_random(b, "w2", SHAPE(8, 2, 3, 3), r, 0.3);
    sis_net_add_node(b, "Conv", "y w2", "d");
    sis_net_add_node(b, "Relu", "d", "e");
    sis_net_add_node(b, "Flatten", "e", "f");
    add_random(b, "w3", SHAPE(800, 2), r, 0.05);
    sis_net_add_node(b, "Gemm", "f w3", "scores");
    sis_net_add_output(b, "scores");
    return sis_net_build(b, &net) == SIS_OK ? net : NULL;
}

/* 1: the network exists, and its walk agrees with full passes. */
static int walks(const char *domain, const char *name, const char *inputs, unsigned seed) {
    char op[64];
    sis__rng r;
    walk_case c;
    sis_walk *w;
    walk_seen seen = {0};
    sis__rng_init(&r, seed);
    snprintf(op, sizeof op, "%s%s%s", domain, *domain ? "." : "", name);
    sis_net *net = build(op, inputs, &r);
    if (!net)
        return 0;
    walk_case_init(&c, net, 0, &r);
    for (size_t i = 0; i < c.n_values; i++) /* small windows, so that a walk pays off */
        c.feature_of[i] = (int)i;
    c.n_features = c.n_values;
    if (sis_net_walk(net, &c.input, &(sis_net_walk_opt){0}, &w) != SIS_OK)
        fail_msg("%s(%s): %s", op, inputs, sis_error_detail());
    check_windows(&c, w, &r, 4, &seen);
    assert_true(seen.exact == seen.probes);
    w->ops->free(w);
    walk_case_release(&c);
    return 1;
}

/* With every arrangement of inputs that the operator accepts. */
static size_t arrangements(const char *domain, const char *name, const sis__op *op, unsigned seed) {
    size_t n = op->min_inputs == 1 ? (size_t)walks(domain, name, "v", seed) : 0;
    for (size_t i = 0; i < sizeof operands / sizeof *operands; i++) {
        const char *in = operands[i];
        size_t inputs = 1;
        for (const char *s = in; (s = strchr(s, ' ')) != NULL; s++)
            inputs++;
        int like = strcmp(name, "CastLike") == 0 && *in != 'v'; /* only its type is read */
        if (inputs < op->min_inputs || inputs > op->max_inputs || like)
            continue;
        n += (size_t)walks(domain, name, in, seed);
    }
    return n;
}

static void walks_follow_element_wise_operators(void **state) {
    (void)state;
    static const struct {
        const char *domain, *name;
        const sis__op *op;
    } all[] = {
#define ROW(id, domain, name, op) {domain, name, &sis__op_##op},
        SIS__OPS(ROW)
#undef ROW
    };
    size_t operators = 0, cases = 0, step = rounds(6) < 6 ? 3 : 1;
    for (size_t i = 0; i < sizeof all / sizeof *all; i += step) {
        if (all[i].op->trait != SIS__MAPS && all[i].op->trait != SIS__MAPS_TEXTS)
            continue;
        size_t n = arrangements(all[i].domain, all[i].name, all[i].op, (unsigned)i);
        if (n)
            printf("%s: %zu\n", all[i].name, n);
        operators += n > 0;
        cases += n;
    }
    printf("%zu operators, %zu networks\n", operators, cases);
    assert_true(step > 1 || (operators >= 45 && cases >= 100));
}

/* One after the other, on random networks, to whole collections. */
static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    static const char *const names[] = {"Gelu", "Erf", "HardSwish", "Mish", "Selu", "ms.QuickGelu"};
    for (size_t i = 0; i < rounds(sizeof names / sizeof *names); i++) {
        sis__rng r;
        walk_case c;
        sis__rng_init(&r, 100 + (unsigned)i);
        walk_case_init(&c, build(names[i], "v", &r), 0, &r);
        check_same_collection(&c, &r);
        walk_case_release(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walks_follow_element_wise_operators),
        cmocka_unit_test(collections_are_those_of_full_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
