/* SPDX-License-Identifier: MIT
 *
 * Walks over encoders give the margins of full passes to the bit, whether masked tokens stay in the
 * sequence or leave it, and the same collections.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/walk/walk.h"
#include "support_net.h"
#include "support_nets.h"
#include "support_transformer.h"

enum { PADDING = 0 };

/* Texts of words. Features are tokens, or sometimes two tokens; some are never masked. A masked
 * token is the padding token, which attention ignores, or another one. */
static void start_case(walk_case *c, const encoder *e, sis__rng *r, int hides) {
    sis_net *net;
    const float *matrix;
    size_t words, dim, used = 0;
    size_t length = e->length;
    encoder fixed = *e;
    fixed.fixed = 1;
    build_encoder(&fixed, r, &net);
    sis_net_embedding(net, &matrix, &words, &dim);
    *c = (walk_case){.net = net, .embedded = 1, .n_values = length * dim};
    c->x = malloc(c->n_values * sizeof *c->x);
    c->z = malloc(c->n_values * sizeof *c->z);
    c->feature_of = malloc(c->n_values * sizeof *c->feature_of);
    int special = chance(r, 0.5), paired = chance(r, 0.3);
    for (size_t t = 0; t < length; t++) {
        size_t id = chance(r, 0.15) && t > 0 ? PADDING : 1 + sis__rng_below(r, words - 1);
        int f = id == PADDING || (special && t == 0)   ? -1
                : paired && used > 0 && chance(r, 0.3) ? (int)used - 1
                                                       : (int)used++;
        for (size_t d = 0; d < dim; d++) {
            c->x[t * dim + d] = (double)matrix[id * dim + d];
            c->z[t * dim + d] = (double)matrix[(hides ? PADDING : 1) * dim + d];
            c->feature_of[t * dim + d] = f;
        }
    }
    c->n_features = used;
    c->input = (sis_input){
        .values = c->x, .mask = c->z, .n_values = c->n_values, .feature_of = c->feature_of};
    c->input.output = sis__rng_below(r, 2);
}

static int open_walk(const walk_case *c, sis_walk **w) {
    sis_net_walk_opt opt = {.embedded = 1};
    return sis__walk_by(&sis__rule_attention, c->net, &c->input, &opt, w);
}

/* 1 if the rule says that masked tokens leave the sequence. */
static int tokens_leave(const walk_case *c, const sis_walk *w) {
    const sis__note *notes = sis__walk_notes(w, c->net);
    for (size_t i = 0; i < c->net->graph.n_nodes; i++)
        if (strstr(notes[i].text, "leave when masked"))
            return 1;
    return 0;
}

static void margins_are_those_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 31);
    walk_seen seen = {0};
    for (size_t k = 0; k < rounds(60); k++) {
        walk_case c;
        sis_walk *w;
        encoder e = draw_encoder(&r);
        e.norm = (int)(k / 2 % 3);
        e.sharp = k % 5 == 0;
        start_case(&c, &e, &r, k % 2 == 0);
        if (c.n_features > 0) {
            assert_int_equal(open_walk(&c, &w), SIS_OK);
            check_windows(&c, w, &r, 8, &seen);
            w->ops->free(w);
        }
        walk_case_release(&c);
    }
    printf("%zu margins, error %g\n", seen.probes, seen.error);
    assert_true(seen.probes > 200 && seen.error == 0);
}

/* Masks all features: the sequence gets shorter until nothing is left. */
static void selections_mask_every_token(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 32);
    for (size_t k = 0; k < rounds(8); k++) {
        walk_case c;
        sis_walk *w;
        double margin;
        encoder e = {
            .layers = 2, .width = 12, .heads = 2, .length = 16, .masked = 1, .rigid = k % 4 == 3};
        start_case(&c, &e, &r, 1);
        assert_int_equal(open_walk(&c, &w), SIS_OK);
        assert_int_equal(tokens_leave(&c, w), !e.rigid);
        unsigned char *masked = calloc(c.n_features, 1);
        assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
        for (size_t left = c.n_features; left > 0; left--) {
            int features[32];
            double got[32], want[32];
            size_t n = 0;
            for (size_t j = 0; j < c.n_features; j++)
                if (!masked[j])
                    features[n++] = (int)j;
            assert_int_equal(w->ops->probe(w, features, n, got), SIS_OK);
            full_margins(&c, masked, features, n, want);
            assert_memory_equal(got, want, n * sizeof *got);
            int chosen = features[sis__rng_below(&r, n)];
            assert_int_equal(w->ops->mask(w, chosen, &margin), SIS_OK);
            masked[chosen] = 1;
        }
        free(masked);
        w->ops->free(w);
        walk_case_release(&c);
    }
}

/* No token may leave if attention sees all tokens, or if the head reads all of them. */
static void tokens_that_matter_are_not_removed(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 35);
    for (int k = 0; k < 2; k++) {
        walk_case c;
        sis_walk *w;
        encoder e = {.layers = 2, .width = 12, .heads = 2, .length = 16, .masked = k, .mean = k};
        start_case(&c, &e, &r, 1);
        assert_int_equal(open_walk(&c, &w), SIS_OK);
        assert_false(tokens_leave(&c, w));
        w->ops->free(w);
        walk_case_release(&c);
    }
}

/* A walk computes a part of a full pass, so no trial may find full passes cheaper. */
static void walks_never_cost_more_than_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 36);
    walk_case c;
    sis_walk *w;
    double margin, margins[48];
    encoder e = {.layers = 2, .width = 12, .heads = 2, .length = 48, .masked = 1};
    start_case(&c, &e, &r, 0);
    sis_net_walk_opt opt = {.embedded = 1, .by_cost = 1};
    assert_int_equal(sis__walk_by(&sis__rule_attention, c.net, &c.input, &opt, &w), SIS_OK);
    unsigned char *masked = calloc(c.n_features, 1);
    assert_int_equal(w->ops->reset(w, masked, &margin), SIS_OK);
    for (size_t first = 0; first + 1 < c.n_features; first++) {
        int features[48];
        for (size_t j = first; j < c.n_features; j++)
            features[j - first] = (int)j;
        assert_int_equal(w->ops->probe(w, features, c.n_features - first, margins), SIS_OK);
        assert_int_equal(w->ops->mask(w, features[0], &margin), SIS_OK);
        assert_string_equal(sis__walk_rule(w), "attention");
    }
    free(masked);
    w->ops->free(w);
    walk_case_release(&c);
}

static void collections_are_those_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 33);
    size_t subsets = 0;
    for (size_t k = 0; k < rounds(12); k++) {
        walk_case c;
        encoder e = draw_encoder(&r);
        start_case(&c, &e, &r, k % 2 == 0);
        if (c.n_features > 0)
            subsets += check_same_collection(&c, &r);
        walk_case_release(&c);
    }
    assert_true(subsets > 0);
}

static int walk_or_run_out(void *ctx) {
    const walk_case *c = (const walk_case *)ctx;
    sis_walk *w = NULL;
    double margin, margins[32];
    unsigned char masked[32] = {0};
    int feature = 0, error = open_walk(c, &w);
    if (error == SIS_OK)
        error = w->ops->reset(w, masked, &margin);
    if (error == SIS_OK)
        error = w->ops->probe(w, &feature, 1, margins);
    if (error == SIS_OK)
        error = w->ops->mask(w, 0, &margin);
    if (w)
        w->ops->free(w);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 34);
    walk_case c;
    encoder e = {.layers = 1, .width = 4, .heads = 1, .length = 4, .masked = 1, .fixed = 1};
    start_case(&c, &e, &r, 1);
    with_failing_allocations(walk_or_run_out, &c);
    walk_case_release(&c);
}

/* ---- One attention over numbers ---------------------------------------------------------------- */

/* Special cases of tokens: the last two are not read; two equal their mask; an empty past
 * precedes them; they are normalised together; hidden tokens are not far below the rest once
 * most are masked. */
typedef enum {
    UNREAD,
    MASKED_ALREADY,
    EMPTY_PAST,
    NORMAL_TOGETHER,
    NEAR_IF_MASKED,
    N_ODDITIES
} oddity;
enum { TOKENS = 10, WIDTH = 4 };

static void add_numbers(sis_net_builder *b, const char *name, int64_t v) {
    sis_net_add_ints(b, name, SHAPE(1), &v);
}

static const char *add_odd_tokens(sis_net_builder *b, oddity o, sis__rng *r) {
    add_numbers(b, "none", 0);
    add_numbers(b, "read", o == UNREAD ? TOKENS - 2 : TOKENS);
    add_numbers(b, "axis", 1);
    sis_net_add_node(b, "Slice", "x none read axis", "tokens");
    if (o == EMPTY_PAST) {
        sis_net_add_node(b, "Slice", "x none none axis", "nothing");
        sis_net_add_node(b, "Relu", "nothing", "past");
        sis_net_add_node(b, "Concat", "past tokens", "joined");
        sis_net_attr_int(b, "axis", 1);
        return "joined";
    }
    if (o == NORMAL_TOGETHER) {
        add_random(b, "scale", SHAPE(TOKENS * WIDTH), r, 1);
        sis_net_add_node(b, "LayerNormalization", "tokens scale", "normal");
        sis_net_attr_int(b, "axis", 1);
        return "normal";
    }
    return "tokens";
}

/* Attention ignores tokens that are 0; the output is that of the first token. */
static sis_net *build_odd(oddity o, sis__rng *r) {
    static const char *const parts[] = {"q", "k", "v"};
    const float nil = 0, far = o == NEAR_IF_MASKED ? -5000 : -20000;
    sis_net *net;
    sis_net_builder *b = sis_net_builder_new("odd");
    sis_net_add_input(b, "x", 0, SHAPE(0, TOKENS, WIDTH));
    const char *tokens = add_odd_tokens(b, o, r);
    sis_net_add_param(b, "nil", &(sis_net_shape){0, {0}}, &nil);
    sis_net_add_param(b, "far", &(sis_net_shape){0, {0}}, &far);
    sis_net_add_node(b, "ReduceSumSquare", tokens, "sizes");
    sis_net_attr_ints(b, "axes", (int64_t[]){2}, 1);
    sis_net_attr_int(b, "keepdims", 0);
    sis_net_add_node(b, "Equal", "sizes nil", "hidden");
    sis_net_add_node(b, "Where", "hidden far nil", "below");
    sis_net_add_node(b, "Unsqueeze", "below axis", "mask");
    for (int i = 0; i < 3; i++) {
        char weights[16], inputs[32];
        snprintf(weights, sizeof weights, "w%d", i);
        snprintf(inputs, sizeof inputs, "%s %s", i ? tokens : "tokens", weights);
        add_random(b, weights, SHAPE(WIDTH, WIDTH), r, 1);
        sis_net_add_node(b, "MatMul", inputs, parts[i]);
    }
    sis_net_add_node(b, "Transpose", "k", "kt");
    sis_net_attr_ints(b, "perm", (int64_t[]){0, 2, 1}, 3);
    sis_net_add_node(b, "MatMul", "q kt", "raw");
    sis_net_add_node(b, "Add", "raw mask", "scores");
    sis_net_add_node(b, "Softmax", "scores", "weights");
    sis_net_attr_int(b, "axis", -1);
    sis_net_add_node(b, "MatMul", "weights v", "seen");
    sis_net_add_node(b, "Gather", "seen none", "first");
    sis_net_attr_int(b, "axis", 1);
    sis_net_add_node(b, "Flatten", "first", "flat");
    add_random(b, "out", SHAPE(WIDTH, 2), r, 1);
    sis_net_add_node(b, "MatMul", "flat out", "y");
    sis_net_add_output(b, "y");
    if (sis_net_build(b, &net) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return net;
}

static void start_odd(walk_case *c, oddity o, sis__rng *r) {
    const size_t n = (size_t)TOKENS * WIDTH;
    *c = (walk_case){.net = build_odd(o, r), .n_values = n, .n_features = TOKENS};
    c->x = malloc(n * sizeof *c->x);
    c->z = calloc(n, sizeof *c->z);
    c->feature_of = malloc(n * sizeof *c->feature_of);
    for (size_t i = 0; i < n; i++) {
        size_t token = i / WIDTH;
        c->feature_of[i] = (int)token;
        c->x[i] = o == MASKED_ALREADY && (token == 3 || token == 7) ? 0 : sis__rng_normal(r);
    }
    c->input =
        (sis_input){.values = c->x, .mask = c->z, .n_values = n, .feature_of = c->feature_of};
}

static void unusual_tokens_are_handled(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 37);
    walk_seen seen = {0};
    size_t walked[N_ODDITIES] = {0}, leave = 0;
    for (int k = 0; k < 6 * N_ODDITIES; k++) {
        oddity o = (oddity)(k % N_ODDITIES);
        walk_case c;
        sis_walk *w;
        start_odd(&c, o, &r);
        int error = sis__walk_by(&sis__rule_attention, c.net, &c.input, &(sis_net_walk_opt){0}, &w);
        if (error == SIS_OK) {
            check_windows(&c, w, &r, TOKENS, &seen);
            leave += (size_t)tokens_leave(&c, w);
            assert_false(o == NEAR_IF_MASKED && tokens_leave(&c, w));
            w->ops->free(w);
        } else
            assert_int_equal(error, SIS_E_UNSUPPORTED);
        walked[o] += error == SIS_OK;
        walk_case_release(&c);
    }
    assert_true(walked[UNREAD] && walked[MASKED_ALREADY] && walked[NEAR_IF_MASKED] && leave);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(margins_are_those_of_full_passes),
        cmocka_unit_test(selections_mask_every_token),
        cmocka_unit_test(tokens_that_matter_are_not_removed),
        cmocka_unit_test(unusual_tokens_are_handled),
        cmocka_unit_test(walks_never_cost_more_than_full_passes),
        cmocka_unit_test(collections_are_those_of_full_passes),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
