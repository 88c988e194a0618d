/* SPDX-License-Identifier: MIT
 *
 * Walks: the batch walk with any memory budget, features of several values, hot-deck samples, a
 * model's own walk that rounds differently, links, failing models and failing allocations.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/mem.h"
#include "base/rng.h"
#include "support_oracle.h"

static void same_collections(const sis_collection *a, const sis_collection *b) {
    assert_same_subsets(a, b);
    for (size_t k = 0; k < a->n_subsets; k++)
        assert_true(a->subsets[k].score == b->subsets[k].score);
}

static void the_memory_budget_and_batch_size_change_nothing(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 11);
    for (int round = 0; round < 500; round++) {
        problem p;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        sis_collection whole, small;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &whole), SIS_OK);
        p.model.max_rows = 1 + sis__rng_below(&r, 5);
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &small), SIS_OK);
        same_collections(&whole, &small);
        assert_int_equal(whole.evaluations, small.evaluations);
        sis_collection_release(&whole);
        sis_collection_release(&small);
    }
}

/* A model that provides the rows itself. Sometimes it keeps them and provides others. */
typedef struct {
    problem *p;
    int (*predict)(void *ctx, const double *rows, size_t n, size_t width, double *scores);
    void *ctx;
    double *rows; /* the rows in use */
    double *kept[64];
    size_t n_kept, asked;
} own_rows;

static double *rows_of_mine(void *ctx, double *rows, size_t n) {
    own_rows *o = (own_rows *)ctx;
    assert_ptr_equal(rows, o->rows);
    if (rows && ++o->asked % 3 > 0)
        return rows;
    if (rows && o->n_kept == 64)
        return rows;
    double *fresh = (double *)sis__alloc_raw(n, sizeof *fresh);
    for (size_t i = 0; fresh && i < n; i++)
        fresh[i] = NAN;
    if (fresh && rows)
        o->kept[o->n_kept++] = rows;
    o->rows = fresh ? fresh : rows;
    return fresh;
}

static void rows_of_mine_end(void *ctx, double *rows) {
    own_rows *o = (own_rows *)ctx;
    assert_ptr_equal(rows, o->rows);
    o->rows = NULL;
    free(rows);
}

static int predict_mine(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    own_rows *o = (own_rows *)ctx;
    return o->predict(o->ctx, rows, n, width, scores);
}

static int collect_mine(void *ctx) {
    own_rows *o = (own_rows *)ctx;
    sis_collection c;
    sis_opt opt = decision(o->p->threshold);
    int error = sis_collect(&o->p->model, &o->p->input, &opt, &c);
    if (error == SIS_OK)
        sis_collection_release(&c);
    return error;
}

static void rows_may_be_the_models_own(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 12);
    size_t kept = 0;
    for (int round = 0; round < 200; round++) {
        problem p;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        sis_collection plain, mine;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &plain), SIS_OK);
        own_rows o = {.p = &p, .predict = p.model.predict, .ctx = p.model.ctx};
        p.model.predict = predict_mine;
        p.model.ctx = &o;
        p.model.rows_new = rows_of_mine;
        p.model.rows_free = rows_of_mine_end;
        p.model.max_rows = 1 + sis__rng_below(&r, 5);
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &mine), SIS_OK);
        same_collections(&plain, &mine);
        assert_null(o.rows);
        if (round < 5)
            with_failing_allocations(collect_mine, &o);
        kept += o.n_kept;
        while (o.n_kept)
            free(o.kept[--o.n_kept]);
        sis_collection_release(&plain);
        sis_collection_release(&mine);
    }
    assert_true(kept > 200);
}

/* Rows must have x at present features and z at masked ones, also after resets. */
typedef struct {
    const double *x, *z;
    const int *map;
} checked;

static int check_rows(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    const checked *c = (const checked *)ctx;
    for (size_t i = 0; i < n; i++) {
        const double *row = rows + i * width;
        int present[MAX] = {0}, known[MAX] = {0};
        scores[i] = 0;
        for (size_t v = 0; v < width; v++) {
            int f = c->map[v], is_x = row[v] == c->x[v], is_z = row[v] == c->z[v];
            if (f < 0) {
                assert_true(is_x);
                continue;
            }
            assert_true(is_x || is_z);
            if (known[f])
                assert_int_equal(present[f], is_x); /* all values of a feature are masked */
            known[f] = 1;
            present[f] = is_x;
            scores[i] += row[v] * (1 + f % 3);
        }
    }
    return 0;
}

static void rows_hold_what_the_masks_say(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 12);
    for (int round = 0; round < 300; round++) {
        double x[MAX], z[MAX];
        int map[MAX];
        size_t n = 2 + sis__rng_below(&r, MAX - 2), features = 1 + sis__rng_below(&r, n);
        for (size_t v = 0; v < n; v++) {
            x[v] = sis__rng_uniform(&r) + 1;
            z[v] = -sis__rng_uniform(&r);
            map[v] = v < features ? (int)v : (int)sis__rng_below(&r, features + 1) - 1;
        }
        checked c = {x, z, map};
        sis_model m = {.size = sizeof m,
                       .predict = check_rows,
                       .ctx = &c,
                       .n_outputs = 1,
                       .max_rows = 1 + sis__rng_below(&r, 30)};
        sis_input in = {.values = x, .mask = z, .n_values = n, .feature_of = map};
        sis_opt opt = decision(0.5 + sis__rng_uniform(&r) * (double)n);
        sis_collection out;
        assert_int_equal(sis_collect(&m, &in, &opt, &out), SIS_OK);
        sis_collection_release(&out);
    }
}

static void features_equal_to_their_mask_are_never_evaluated(void **state) {
    (void)state;
    problem p;
    sis__rng r;
    sis__rng_init(&r, 13);
    do
        problem_init(&p, &r);
    while (p.f.n < 10 || p.f.temper != NETWORK);
    memcpy(p.z, p.x, sizeof p.z);
    p.z[3] += 1;
    sis_opt opt = decision(-1e300);
    sis_walk *w;
    assert_int_equal(sis_walk_new(&p.model, &p.input, &opt, &w), SIS_OK);
    sis_trace t;
    assert_int_equal(sis_backselect(w, &opt, &t), SIS_OK);
    assert_int_equal(t.n, p.f.n);
    assert_int_equal(p.f.rows, 2); /* the input, and feature 3 masked */
    sis_trace_release(&t);
    sis_walk_free(w);
}

static void nan_values_may_mean_missing(void **state) {
    (void)state;
    const double x[] = {1, NAN, 2}, z[] = {0, NAN, 0};
    problem p = {.f = {.temper = LINEAR, .n = 1, .w = {1}}};
    p.model = (sis_model){
        .size = sizeof(sis_model), .predict = function_predict, .ctx = &p.f, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = 3};
    sis_opt opt = decision(1);
    sis_collection c;
    assert_int_equal(sis_collect(&p.model, &in, &opt, &c), SIS_OK);
    assert_int_equal(c.subsets[0].n, 1);
    assert_int_equal(c.subsets[0].features[0], 0);
    sis_collection_release(&c);
}

/* ---- A model's own walk that rounds differently ---------------------------------------------- */

typedef struct {
    sis_walk walk;
    function *f;
    const sis_input *in;
    double row[MAX];
    double noise;
    uint64_t salt;
} rough;

/* A full pass plus noise that depends on the state, within the tolerance. */
static double rough_margin(rough *w, int top) {
    double row[MAX];
    memcpy(row, w->row, sizeof row);
    if (top >= 0)
        row[top] = w->in->mask[top];
    function hash = {.temper = TABLE, .n = w->f->n, .salt = w->salt};
    double y = function_value(w->f, row), u = 2 * function_value(&hash, row) - 1;
    w->walk.evaluations++;
    return y + w->noise * u * (1 + fabs(y));
}

static int rough_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    rough *w = (rough *)walk;
    for (size_t i = 0; i < w->f->n; i++)
        w->row[i] = masked[i] ? w->in->mask[i] : w->in->values[i];
    *margin = rough_margin(w, -1);
    return 0;
}

static int rough_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    for (size_t i = 0; i < n; i++)
        margins[i] = rough_margin((rough *)walk, features[i]);
    return 0;
}

static int rough_mask(sis_walk *walk, int feature, double *margin) {
    rough *w = (rough *)walk;
    w->row[feature] = w->in->mask[feature];
    *margin = rough_margin(w, -1);
    return 0;
}

static void rough_free(sis_walk *walk) {
    free(walk);
}

static int rough_new(void *ctx, const sis_input *in, size_t memory, sis_walk **out) {
    (void)memory;
    static const sis_walk_ops ops = {rough_reset, rough_probe, rough_mask, rough_free};
    rough *w = SIS_NEW(rough, 1);
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    w->walk.tolerance = 1e-3;
    w->noise = 0.9e-3;
    w->f = (function *)ctx;
    w->in = in;
    w->salt = 99;
    *out = &w->walk;
    return 0;
}

static void a_rough_walk_gives_the_collections_of_full_passes(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 14);
    size_t explained = 0;
    for (int round = 0; round < 2000; round++) {
        problem p;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        opt.below = round % 3 == 0;
        sis_collection exact, rough_c;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &exact), SIS_OK);
        p.model.walk_new = rough_new;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &rough_c), SIS_OK);
        same_collections(&exact, &rough_c);
        assert_holds(&p.model, &p.input, &opt, &rough_c);
        explained += exact.n_subsets > 0;
        opt.exact = 1; /* turns the model's walk off */
        sis_collection again;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &again), SIS_OK);
        same_collections(&exact, &again);
        assert_int_equal(again.evaluations, exact.evaluations);
        sis_collection_release(&again);
        sis_collection_release(&exact);
        sis_collection_release(&rough_c);
    }
    assert_true(explained > 300);
}

/* A wrong walk that claims to be exact. */
static int lying_new(void *ctx, const sis_input *in, size_t memory, sis_walk **out) {
    int error = rough_new(ctx, in, memory, out);
    if (error == SIS_OK) {
        (*out)->tolerance = 0;
        ((rough *)*out)->noise = 0.5;
    }
    return error;
}

static void what_is_claimed_holds_whatever_a_walk_says(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 15);
    size_t explained = 0;
    for (int round = 0; round < 1000; round++) {
        problem p;
        problem_init(&p, &r);
        sis_opt opt = decision(p.threshold);
        sis_collection c;
        p.model.walk_new = lying_new;
        assert_int_equal(sis_collect(&p.model, &p.input, &opt, &c), SIS_OK);
        assert_holds(&p.model, &p.input, &opt, &c);
        explained += c.n_subsets > 0;
        sis_collection_release(&c);
    }
    assert_true(explained > 150);
}

static double broken_link(double m) {
    return exp(m) / (1 + exp(m)); /* inf / inf */
}

static void nan_from_a_link_is_an_error(void **state) {
    (void)state;
    const double x[] = {1000, 0}, z[] = {0, 1};
    problem p = {.f = {.temper = LINEAR, .n = 2, .w = {1, 1}}};
    p.model = (sis_model){.size = sizeof(sis_model),
                          .predict = function_predict,
                          .ctx = &p.f,
                          .n_outputs = 1,
                          .link = broken_link};
    sis_input in = {.values = x, .mask = z, .n_values = 2};
    sis_opt opt = decision(0.5);
    sis_collection c;
    double score;
    assert_int_equal(sis_collect(&p.model, &in, &opt, &c), SIS_E_NAN);
    assert_int_equal(sis_predict(&p.model, &in, 1, &opt, &score), SIS_E_NAN);
}

static double logistic(double m) {
    return 1 / (1 + exp(-m));
}

static void margins_rank_where_scores_saturate(void **state) {
    (void)state;
    const double x[] = {100, 300, 200}, z[] = {50, 50, 50};
    problem p = {.f = {.temper = LINEAR, .n = 3, .w = {1, 1, 1}}};
    p.model = (sis_model){.size = sizeof(sis_model),
                          .predict = function_predict,
                          .ctx = &p.f,
                          .n_outputs = 1,
                          .link = logistic};
    sis_input in = {.values = x, .mask = z, .n_values = 3};
    sis_opt opt = decision(0.5);
    sis_walk *w;
    sis_trace t;
    assert_int_equal(sis_walk_new(&p.model, &in, &opt, &w), SIS_OK);
    assert_int_equal(sis_backselect(w, &opt, &t), SIS_OK);
    const int order[] = {0, 2, 1}; /* every score is exactly 1 */
    for (int i = 0; i < 3; i++) {
        assert_int_equal(t.order[i], order[i]);
        assert_true(t.scores[i] == 1.0);
    }
    sis_trace_release(&t);
    sis_walk_free(w);
}

/* ---- Masks ----------------------------------------------------------------------------------- */

static void scores_are_means_over_the_samples_of_a_mask(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 15);
    for (int round = 0; round < 200; round++) {
        problem p;
        problem_init(&p, &r);
        size_t n = p.f.n, samples = 1 + sis__rng_below(&r, 7);
        double mask[7 * MAX];
        for (size_t i = 0; i < samples * n; i++)
            mask[i] = sis__rng_normal(&r);
        p.input.mask = mask;
        p.input.n_samples = samples;
        p.model.max_rows = 1 + sis__rng_below(&r, 40);
        sis_opt opt = decision(0);
        sis_walk *w;
        assert_int_equal(sis_walk_new(&p.model, &p.input, &opt, &w), SIS_OK);
        double score;
        for (size_t f = 0; f < n; f++) {
            sis_mean mean = {0};
            double row[MAX], value;
            assert_int_equal(sis_walk_mask(w, (int)f, &score), SIS_OK);
            for (size_t s = 0; s < samples; s++) {
                for (size_t v = 0; v < n; v++)
                    row[v] = v <= f ? mask[s * n + v] : p.x[v];
                value = function_value(&p.f, row);
                sis_mean_add(&mean, &value, 1);
            }
            assert_true(score == sis_mean_get(&mean));
        }
        sis_walk_free(w);
    }
}

static void means_of_a_constant_column_are_that_constant(void **state) {
    (void)state;
    sis_mean mean[3] = {{0}};
    double row[3] = {0.1, 0, NAN};
    assert_true(isnan(sis_mean_get(&mean[0])));
    for (size_t i = 1; i <= 1000; i++) {
        row[1] = (double)i;
        sis_mean_add(mean, row, 3);
    }
    assert_true(sis_mean_get(&mean[0]) == 0.1);
    assert_true(sis_mean_get(&mean[1]) == 500.5);
    assert_true(isnan(sis_mean_get(&mean[2]))); /* missing values are left out */
}

/* The sum of integers k below 2^53 is exact in 128 bits. No double is nearer to sum / n than the
 * mean: in units of 2^-40, the mean and half a unit in its last place are integers. */
static void means_are_the_nearest_doubles(void **state) {
    (void)state;
    enum { COLUMNS = 40, ROWS = 5000 };
    sis__rng rng;
    sis__rng_init(&rng, 5);
    for (int c = 0; c < COLUMNS; c++) {
        sis_mean mean = {0};
        __int128 sum = 0;
        for (int i = 0; i < ROWS; i++) {
            /* very different sizes, both signs, around zero or not */
            int64_t k = (int64_t)(sis__rng_next(&rng) >> (11 + sis__rng_below(&rng, 40)));
            k = c % 2 && sis__rng_below(&rng, 2) ? -k : k;
            double x = (double)k;
            sum += k;
            sis_mean_add(&mean, &x, 1);
        }
        double m = sis_mean_get(&mean), place = nextafter(fabs(m), INFINITY) - fabs(m);
        __int128 off = sum * ((__int128)1 << 40) - (__int128)(m * 0x1p40) * ROWS;
        assert_true(fabs(m) > 0x1p14 &&
                    (off < 0 ? -off : off) <= (__int128)(place * 0x1p39 * ROWS));
    }
}

/* ---- Single steps, bad arguments, failure ---------------------------------------------------- */

static void walks_can_be_taken_by_hand(void **state) {
    (void)state;
    const double x[] = {1, 2, 4, 8}, z[] = {0, 0, 0, 0};
    problem p = {.f = {.temper = LINEAR, .n = 4, .w = {1, 1, 1, 1}}};
    p.model = (sis_model){
        .size = sizeof(sis_model), .predict = function_predict, .ctx = &p.f, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = 4};
    sis_opt opt;
    sis_opt_init(&opt);
    sis_walk *w;
    double scores[5], score;
    assert_int_equal(sis_walk_new(&p.model, &in, &opt, &w), SIS_OK);
    assert_true(sis_walk_score(w) == 15);
    assert_int_equal(sis_walk_mask(w, 2, &score), SIS_OK);
    assert_true(score == 11);
    assert_int_equal(sis_walk_probe(w, (int[]){3, 0, 2, 0, 1}, 5, scores), SIS_OK);
    const double expected[] = {3, 10, 11, 10, 9};
    assert_memory_equal(scores, expected, sizeof expected);
    assert_int_equal(sis_walk_probe(w, (int[]){4}, 1, scores), SIS_E_ARGUMENT);
    assert_int_equal(sis_walk_mask(w, -1, NULL), SIS_E_ARGUMENT);
    assert_true(sis_walk_masked(w, 2) && !sis_walk_masked(w, 1));
    assert_int_equal(sis_walk_reset(w, (unsigned char[]){1, 0, 0, 1}), SIS_OK);
    assert_true(sis_walk_score(w) == 6);
    assert_int_equal(sis_walk_features(w), 4);
    sis_walk_free(w);
}

static void wrong_arguments_are_refused_in_words(void **state) {
    (void)state;
    const double x[] = {1, 2, 3};
    problem p = {.f = {.temper = LINEAR, .n = 3}};
    sis_model m = {.size = sizeof m, .predict = function_predict, .ctx = &p.f, .n_outputs = 1};
    sis_opt opt = decision(1);
    const struct {
        sis_input in;
        const char *message;
    } cases[] = {
        {{.values = x, .mask = x, .n_values = 0}, "1 to 2147483647 values, not 0"},
        {{.mask = x, .n_values = 3}, "needs values and a mask"},
        {{.values = x, .mask = x, .n_values = 3, .output = 1}, "no output 1"},
        {{.values = x, .mask = x, .n_values = 3, .feature_of = (int[]){0, 2, 2}}, "feature 1"},
        {{.values = x, .mask = x, .n_values = 3, .feature_of = (int[]){-1, -1, -1}}, "at least one feature"},
        {{.values = x, .mask = x, .n_values = 3, .feature_of = (int[]){0, -2, 1}}, "feature -2"},
        {{.values = x, .mask = x, .n_values = 3, .feature_of = (int[]){0, 3, 1}}, "feature 3"},
    };
    sis_collection c;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(sis_collect(&m, &cases[i].in, &opt, &c), SIS_E_ARGUMENT);
        assert_non_null(strstr(sis_error_detail(), cases[i].message));
    }
    sis_input good = {.values = x, .mask = x, .n_values = 3};
    m.n_values = 5;
    assert_int_equal(sis_collect(&m, &good, &opt, &c), SIS_E_ARGUMENT);
    assert_string_equal(sis_error_detail(), "the model takes 5 values, but the input has 3");
    sis_opt_init(&opt);
    assert_string_equal(sis_opt_check(&opt), "the threshold is not set");
    assert_int_equal(sis_collect(&m, &good, &opt, &c), SIS_E_ARGUMENT);
}

static void the_library_is_of_its_headers_version(void **state) {
    (void)state;
    assert_string_equal(sis_version(), SIS_VERSION);
}

static int fails(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)rows, (void)width;
    for (size_t i = 0; i < n; i++)
        scores[i] = 1;
    if (ctx)
        sis_error_set("the licence has expired");
    return SIS_E_MODEL;
}

static void a_failing_model_is_quoted(void **state) {
    (void)state;
    const double x[] = {1, 2, 3}, z[] = {0, 0, 0};
    sis_input in = {.values = x, .mask = z, .n_values = 3};
    sis_opt opt = decision(1);
    sis_collection c;
    sis_model m = {.size = sizeof m, .predict = fails, .ctx = &in, .n_outputs = 1};
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_E_MODEL);
    assert_string_equal(sis_error_detail(), "the licence has expired");
    m.ctx = NULL;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_E_MODEL);
    assert_message_has("returned -5");
}

static int collect_once(void *ctx) {
    problem *p = (problem *)ctx;
    sis_opt opt = decision(p->threshold);
    opt.exhaustive = 4;
    sis_collection c;
    sis_audit audit;
    int error = sis_collect(&p->model, &p->input, &opt, &c);
    if (error == SIS_OK) {
        error = sis_verify(&p->model, &p->input, &opt, &c, &audit);
        if (error == SIS_OK)
            sis_audit_release(&audit);
        sis_collection_release(&c);
    }
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    sis__rng_init(&r, 16);
    for (int round = 0; round < 10; round++) {
        problem p;
        problem_init(&p, &r);
        assert_true(with_failing_allocations(collect_once, &p) > 10);
        p.model.walk_new = rough_new;
        assert_true(with_failing_allocations(collect_once, &p) > 10);
    }
}

static int wide_sum(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    size_t *max = (size_t *)ctx;
    *max = n > *max ? n : *max;
    for (size_t i = 0; i < n; i++)
        scores[i] = rows[i * width] + rows[i * width + width - 1];
    return 0;
}

/* The published version builds a batch of p x p values here: 50,176 x 150,528, 30 GB of float32. */
static void a_large_image_needs_no_gigabytes(void **state) {
    (void)state;
    enum { PIXELS = 224 * 224, WIDTH = 3 * PIXELS };
    double *x = SIS_NEW(double, WIDTH), *z = SIS_NEW(double, WIDTH);
    int *map = SIS_NEW(int, WIDTH);
    size_t max = 0;
    for (int i = 0; i < WIDTH; i++) {
        map[i] = i / 3;
        x[i] = i / 3 % 500 == 0; /* the other values equal their mask */
    }
    sis_model m = {.size = sizeof m, .predict = wide_sum, .ctx = &max, .n_outputs = 1};
    sis_input in = {.values = x, .mask = z, .n_values = WIDTH, .feature_of = map};
    sis_opt opt = decision(0.5);
    opt.memory = (size_t)16 << 20;
    sis_collection c;
    assert_int_equal(sis_collect(&m, &in, &opt, &c), SIS_OK);
    assert_int_equal(c.n_features, PIXELS);
    assert_int_equal(c.n_subsets, 1);
    assert_true(max <= opt.memory / (WIDTH * sizeof(double)));
    sis_collection_release(&c);
    free(x);
    free(z);
    free(map);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_memory_budget_and_batch_size_change_nothing),
        cmocka_unit_test(rows_may_be_the_models_own),
        cmocka_unit_test(rows_hold_what_the_masks_say),
        cmocka_unit_test(features_equal_to_their_mask_are_never_evaluated),
        cmocka_unit_test(nan_values_may_mean_missing),
        cmocka_unit_test(a_rough_walk_gives_the_collections_of_full_passes),
        cmocka_unit_test(what_is_claimed_holds_whatever_a_walk_says),
        cmocka_unit_test(nan_from_a_link_is_an_error),
        cmocka_unit_test(margins_rank_where_scores_saturate),
        cmocka_unit_test(scores_are_means_over_the_samples_of_a_mask),
        cmocka_unit_test(means_of_a_constant_column_are_that_constant),
        cmocka_unit_test(means_are_the_nearest_doubles),
        cmocka_unit_test(walks_can_be_taken_by_hand),
        cmocka_unit_test(wrong_arguments_are_refused_in_words),
        cmocka_unit_test(the_library_is_of_its_headers_version),
        cmocka_unit_test(a_failing_model_is_quoted),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(a_large_image_needs_no_gigabytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
