/* SPDX-License-Identifier: MIT
 *
 * Batched gradient SIS gives subsets that pass the audit, on random networks and for an image too
 * large for backward selection.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/explain.h>
#include <sis/model.h>
#include <sis/net.h>

#include "base/clock.h"
#include "base/rng.h"
#include "support_net.h"

#ifdef __SANITIZE_ADDRESS__
enum { SIDE = 80 }; /* ten times slower */
#else
enum { SIDE = 128 };
#endif

static sis_method_opt by_gradient(size_t step) {
    sis_method_opt how = method_opt(SIS_METHOD_GRADIENT);
    how.step = step;
    return how;
}

/* Explain the output that the input raises most above the mask, at `share` of the difference. */
static void ask(const sis_model *model, sis_input *input, double share, sis_opt *opt) {
    double scores[64], masked[64];
    sis_input all = {.values = input->mask, .n_values = input->n_values};
    assert_true(model->n_outputs <= 64);
    assert_int_equal(sis_predict(model, input, 1, opt, scores), SIS_OK);
    assert_int_equal(sis_predict(model, &all, 1, opt, masked), SIS_OK);
    for (size_t o = 0; o < model->n_outputs; o++)
        if (scores[o] - masked[o] > scores[input->output] - masked[input->output])
            input->output = o;
    opt->threshold = share * scores[input->output] + (1 - share) * masked[input->output];
}

static void assert_holds(const sis_model *model, const sis_input *input, const sis_opt *opt,
                         const sis_rationale *found) {
    sis_audit audit;
    assert_int_equal(found->collection.claim, SIS_CLAIM_MINIMAL);
    assert_int_equal(sis_verify(model, input, opt, &found->collection, &audit), SIS_OK);
    if (!audit.holds)
        fail_msg("%s", audit.reason);
    sis_audit_release(&audit);
}

/* The trace of the first subset ends with its features in reverse order; scores equal
 * predictions. */
static void assert_trace(const sis_model *model, const sis_input *input, const sis_opt *opt,
                         const sis_collection *c) {
    const sis_subset *s = &c->subsets[0];
    const sis_trace *t = &s->trace;
    double *x = malloc(input->n_values * sizeof *x), scores[64];
    char *seen = calloc(input->n_values, 1);
    sis_input masked = {.values = x, .n_values = input->n_values};
    memcpy(x, input->values, input->n_values * sizeof *x);
    assert_int_equal(t->n, input->n_values);
    assert_float_equal(t->start, c->score, 1e-9);
    for (size_t k = 0; k < t->n; k++) {
        assert_false(seen[t->order[k]]++);
        x[t->order[k]] = input->mask[t->order[k]];
        assert_int_equal(sis_predict(model, &masked, 1, opt, scores), SIS_OK);
        assert_float_equal(scores[input->output], t->scores[k], 1e-9);
        if (k >= t->n - s->n)
            assert_int_equal(t->order[k], s->features[t->n - 1 - k]);
    }
    free(seen);
    free(x);
}

/* Checks the traces of the two methods whose first subset is not the top of their order. */
static void trace_network(const sis_model *model, const sis_input *input, const sis_opt *opt) {
    static const sis_method methods[] = {SIS_METHOD_GRADIENT, SIS_METHOD_QUICK};
    for (size_t k = 0; k < 2; k++) {
        sis_method_opt how = method_opt(methods[k]);
        sis_rationale found;
        how.trace = 1;
        assert_int_equal(sis_explain(model, input, opt, &how, &found), SIS_OK);
        if (found.collection.n_subsets)
            assert_trace(model, input, opt, &found.collection);
        sis_rationale_release(&found);
    }
}

/* Counts over all networks. */
typedef struct {
    size_t explained, several;
    size_t features, exact; /* in first subsets */
} tally;

static void explain_network(sis_net *net, unsigned seed, tally *t) {
    sis_model model;
    sis__rng r;
    sis__rng_init(&r, seed);
    open_network(net, &model);
    size_t n = model.n_values;
    double *x = calloc(2 * n, sizeof *x);
    for (size_t v = 0; v < n; v++)
        x[v] = sis__rng_normal(&r);
    sis_input input = {.values = x, .mask = x + n, .n_values = n};
    sis_opt opt = decision(0);
    ask(&model, &input, 0.7, &opt);
    opt.max_subsets = 3;
    for (size_t step = 1; step <= 5; step += 4) {
        sis_method_opt how = by_gradient(step);
        sis_rationale found;
        assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
        assert_holds(&model, &input, &opt, &found);
        t->explained += found.collection.n_subsets > 0;
        t->several += found.collection.n_subsets > 1;
        if (step == 1 && found.collection.n_subsets > 0) {
            sis_collection c;
            assert_int_equal(sis_collect(&model, &input, &opt, &c), SIS_OK);
            t->exact += c.subsets[0].n;
            t->features += found.collection.subsets[0].n;
            sis_collection_release(&c);
        }
        sis_rationale_release(&found);
    }
    if (seed < 2)
        trace_network(&model, &input, &opt);
    free(x);
    sis_model_close(&model);
}

static void gradient_subsets_pass_the_audit(void **state) {
    (void)state;
    static const char *const names[] = {"mlp", "cnn", "deep", "dna"};
    tally t = {0};
    for (size_t k = 0; k < n_families; k++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            for (unsigned seed = 0; strcmp(families[k].name, names[i]) == 0 && seed < rounds(12);
                 seed++) {
                sis_net *net;
                assert_int_equal(families[k].build(seed, &net), SIS_OK);
                explain_network(net, seed, &t);
            }
    print_message("%zu explained, %zu features in first subsets, exact %zu\n", t.explained,
                  t.features, t.exact);
    assert_true(t.explained > rounds(40) && t.several > rounds(10));
    assert_true(2 * t.features <= 3 * t.exact);
}

/* ---- Progress --------------------------------------------------------------------------------- */

typedef struct {
    double last;
    size_t evaluations, at_half, back;
} history;

static int keep_history(void *ctx, const sis_progress *p) {
    history *h = (history *)ctx;
    h->back += p->walk < h->last || p->evaluations < h->evaluations;
    h->last = p->walk;
    h->evaluations = p->evaluations;
    if (p->walk <= 0.5)
        h->at_half = p->evaluations;
    return 0;
}

/* Progress never decreases, passes one half before the end, and ends at 1. */
static void assert_honest(const history *h, size_t evaluations) {
    assert_int_equal(h->back, 0);
    assert_true(h->last == 1);
    assert_true(h->at_half > 0 && h->at_half < h->evaluations);
    assert_true(h->evaluations <= evaluations);
}

/* (3, side, side) -> two strided convolutions, maxima, ten classes. */
static int build_photo(size_t side, double scale, sis_net **out) {
    sis__rng r;
    sis__rng_init(&r, 8);
    sis_net_builder *b = sis_net_builder_new("photo");
    sis_net_add_input(b, "x", 0, SHAPE(0, 3, side, side));
    add_random(b, "w1", SHAPE(8, 3, 5, 5), &r, 0.2 * scale);
    add_random(b, "w2", SHAPE(16, 8, 3, 3), &r, 0.2 * scale);
    add_random(b, "w3", SHAPE(16, 10), &r, scale);
    sis_net_add_node(b, "Conv", "x w1", "c1");
    sis_net_attr_ints(b, "strides", (int64_t[]){2, 2}, 2);
    sis_net_add_node(b, "Relu", "c1", "r1");
    sis_net_add_node(b, "MaxPool", "r1", "p1");
    sis_net_attr_ints(b, "kernel_shape", (int64_t[]){2, 2}, 2);
    sis_net_attr_ints(b, "strides", (int64_t[]){2, 2}, 2);
    sis_net_add_node(b, "Conv", "p1 w2", "c2");
    sis_net_add_node(b, "Relu", "c2", "r2");
    sis_net_add_node(b, "GlobalAveragePool", "r2", "g");
    sis_net_add_node(b, "Flatten", "g", "f");
    sis_net_add_node(b, "MatMul", "f w3", "z");
    sis_net_add_node(b, "Softmax", "z", "y");
    sis_net_add_output(b, "y");
    return sis_net_build(b, out);
}

enum { PIXELS = SIDE * SIDE };

/* Waves of three colours with some noise; a feature is a pixel. */
static void draw_photo(size_t side, double *x, int *map) {
    sis__rng r;
    sis__rng_init(&r, 4);
    for (size_t v = 0; v < 3 * side * side; v++) {
        size_t row = v % (side * side) / side, col = v % side, colour = v / (side * side);
        map[v] = (int)(v % (side * side));
        x[v] = sin((double)(row * (colour + 1)) / 20) * cos((double)col / 15) +
               0.2 * sis__rng_normal(&r);
    }
}

static void a_photo_takes_seconds(void **state) {
    (void)state;
    sis_net *net;
    sis_model model;
    sis_rationale found;
    assert_int_equal(build_photo(SIDE, 1, &net), SIS_OK);
    open_network(net, &model);
    double *x = calloc(6 * PIXELS, sizeof *x);
    int *map = calloc(3 * PIXELS, sizeof *map);
    draw_photo(SIDE, x, map);
    sis_input input = {
        .values = x, .mask = x + 3 * PIXELS, .n_values = 3 * PIXELS, .feature_of = map};
    sis_opt opt = decision(0);
    ask(&model, &input, 0.9, &opt);
    sis_method_opt how = by_gradient(100);
    double began = sis__seconds();
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
    double took = sis__seconds() - began;
    assert_int_equal(found.collection.status, SIS_STATUS_EXPLAINED);
    print_message(
        "score %.4f, masked %.4f: %zu of %d pixels, score %.4f, %zu evaluations, %.1f s\n",
        found.collection.score, found.collection.masked_score, found.collection.subsets[0].n,
        PIXELS, found.collection.subsets[0].score, found.collection.evaluations, took);
    assert_holds(&model, &input, &opt, &found);
    sis_rationale_release(&found);
    sis_model_close(&model);
    free(x);
    free(map);
}

/* ---- An untrained network --------------------------------------------------------------------- */

enum { DULL = 48 };

/* An image without distinct features needs hundreds of pixels. Selection among them reports
 * progress and obeys the limits of the whole run. */
static void a_network_that_has_learnt_nothing_is_no_stall(void **state) {
    (void)state;
    static double x[6 * DULL * DULL];
    static int map[3 * DULL * DULL];
    sis_net *net;
    sis_model model;
    assert_int_equal(build_photo(DULL, 0.1, &net), SIS_OK);
    open_network(net, &model);
    draw_photo(DULL, x, map);
    sis_input input = {
        .values = x, .mask = x + 3 * DULL * DULL, .n_values = 3 * DULL * DULL, .feature_of = map};
    sis_method_opt how = by_gradient(100);
    for (size_t limit = 0; limit <= 500; limit += 500) {
        history h = {0};
        sis_rationale found;
        sis_opt opt = decision(0);
        ask(&model, &input, 0.99, &opt);
        opt.progress = keep_history;
        opt.progress_ctx = &h;
        opt.progress_every = 0;
        opt.max_evaluations = limit;
        assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
        assert_int_equal(found.collection.status, limit ? SIS_STATUS_CUT : SIS_STATUS_EXPLAINED);
        print_message("%zu subsets by %zu evaluations, half of it said to be at %zu\n",
                      found.collection.n_subsets, found.collection.evaluations, h.at_half);
        if (limit) {
            assert_true(found.collection.evaluations < limit + DULL * DULL);
        } else {
            assert_true(found.collection.evaluations > 5000);
            assert_honest(&h, found.collection.evaluations);
            assert_holds(&model, &input, &opt, &found);
        }
        sis_rationale_release(&found);
    }
    sis_model_close(&model);
}

/* ---- A model without a walk ------------------------------------------------------------------ */

enum { MANY = 600 };

/* The share of values that are 1; saturates at `ctx` of them, where the gradient is zero. */
static int share(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    double max = *(const double *)ctx;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t v = 0; v < width; v++)
            sum += rows[i * width + v];
        scores[i] = (sum < max ? sum : max) / max;
    }
    return SIS_OK;
}

static int share_slopes(void *ctx, const sis_slopes *s) {
    share(ctx, s->points, s->n, s->width, s->scores);
    for (size_t i = 0; i < s->n * s->width; i++)
        s->d_points[i] = s->scores[i / s->width] < 1 ? 1 / *(const double *)ctx : 0;
    return SIS_OK;
}

static int no_slopes(void *ctx, const sis_slopes *s) {
    share(ctx, s->points, s->n, s->width, s->scores);
    for (size_t i = 0; i < s->n * s->width; i++)
        s->d_points[i] = i == 3 ? NAN : 1;
    return SIS_OK;
}

static void subsets_too_large_for_exact_selection_are_minimal(void **state) {
    (void)state;
    /* The score needs this many of 600 features. The first numbers allow exact selection at the
     * end, the last ones are too large for it. */
    static const size_t needed[] = {40, 256, 257, 500};
    double x[2 * MANY] = {0};
    for (size_t v = 0; v < MANY; v++)
        x[v] = 1;
    for (size_t k = 0; k < sizeof needed / sizeof *needed; k++) {
        double max = (double)needed[k];
        sis_model model = {.size = sizeof model,
                           .predict = share,
                           .ctx = &max,
                           .n_outputs = 1,
                           .gradient = share_slopes};
        sis_input input = {.values = x, .mask = x + MANY, .n_values = MANY};
        sis_opt opt = decision(1);
        opt.max_subsets = 1;
        history h = {0};
        opt.progress = keep_history;
        opt.progress_ctx = &h;
        opt.progress_every = 0;
        sis_method_opt how = by_gradient(MANY);
        sis_rationale found;
        assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_OK);
        assert_honest(&h, found.collection.evaluations);
        assert_int_equal(found.collection.n_subsets, 1);
        assert_int_equal(found.collection.subsets[0].n, needed[k]);
        assert_true(found.collection.subsets[0].score == 1);
        assert_holds(&model, &input, &opt, &found);
        sis_rationale_release(&found);
    }
}

static void slopes_that_are_no_numbers_are_an_error(void **state) {
    (void)state;
    const double x[] = {1, 1, 1, 1, 1, 1}, z[6] = {0};
    double max = 4;
    sis_model model = {.size = sizeof model,
                       .predict = share,
                       .ctx = &max,
                       .n_outputs = 1,
                       .gradient = no_slopes};
    sis_input input = {.values = x, .mask = z, .n_values = 6};
    sis_opt opt = decision(0.5);
    sis_method_opt how = by_gradient(1);
    sis_rationale found;
    assert_int_equal(sis_explain(&model, &input, &opt, &how, &found), SIS_E_NAN);
    assert_string_equal(sis_error_detail(), "the gradient of output 0 is not a number");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradient_subsets_pass_the_audit),
        cmocka_unit_test(a_photo_takes_seconds),
        cmocka_unit_test(a_network_that_has_learnt_nothing_is_no_stall),
        cmocka_unit_test(subsets_too_large_for_exact_selection_are_minimal),
        cmocka_unit_test(slopes_that_are_no_numbers_are_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
