/* SPDX-License-Identifier: MIT
 *
 * Files of XGBoost and LightGBM: predictions follow the documented rules, walks equal full passes
 * to the bit, and no file does harm.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/model.h>

#include "base/buf.h"
#include "base/rng.h"
#include "support_data.h"
#include "support_trees.h"
#include "trees/booster.h"

typedef enum { JSON, UBJSON, TEXT, N_FORMS } form;

static made_forest forest;

static char *made_file(form how, size_t *n) {
    return how == TEXT ? made_lightgbm(&forest, n) : made_xgboost(&forest, how == UBJSON, n);
}

static sis_model open_made(form how) {
    static const char *const names[] = {"m.json", "m.ubj", "m.txt"};
    size_t n;
    char *bytes = made_file(how, &n);
    sis_model m;
    assert_int_equal(sis_model_open(folder_write(names[how], bytes, n), NULL, &m), SIS_OK);
    free(bytes);
    return m;
}

/* ---- Predictions ----------------------------------------------------------------------------- */

static void rules(form how, const double *row, double *scores) {
    double sum = 0;
    (how == TEXT ? made_lightgbm_sums : made_xgboost_sums)(&forest, row, scores);
    for (size_t k = 0; forest.classes && k < forest.outputs; k++)
        sum += exp(scores[k]);
    for (size_t k = 0; forest.classes && k < forest.outputs; k++)
        scores[k] = exp(scores[k]) / sum;
}

static void check_rows(form how, sis__rng *r) {
    sis_model m = open_made(how);
    assert_int_equal(m.n_outputs, forest.outputs);
    assert_int_equal(m.n_values, forest.columns);
    assert_true(m.missing);
    for (int i = 0; i < 60; i++) {
        double row[MADE_COLUMNS], found[8], expected[8];
        for (size_t j = 0; j < forest.columns; j++)
            row[j] = made_value(&forest, r);
        assert_int_equal(m.predict(m.ctx, row, 1, forest.columns, found), SIS_OK);
        rules(how, row, expected);
        for (size_t k = 0; k < forest.outputs; k++)
            if (m.link)
                assert_true(fabs(m.link(found[k]) - expected[k]) < 1e-12);
            else
                assert_true(found[k] == expected[k]);
    }
    sis_model_close(&m);
}

static void predictions_follow_the_documented_rules(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 200; seed++) {
        sis__rng r;
        sis__rng_init(&r, seed);
        form how = (form)(seed % N_FORMS);
        made_forest_init(&forest, how != TEXT, &r);
        check_rows(how, &r);
    }
}

static void json_and_ubjson_give_the_same_model(void **state) {
    (void)state;
    for (uint64_t seed = 0; seed < 40; seed++) {
        sis__rng r;
        sis__rng_init(&r, seed);
        made_forest_init(&forest, 1, &r);
        sis_model a = open_made(JSON), b = open_made(UBJSON);
        for (int i = 0; i < 20; i++) {
            double row[MADE_COLUMNS], x[8], y[8];
            for (size_t j = 0; j < forest.columns; j++)
                row[j] = made_value(&forest, &r);
            a.predict(a.ctx, row, 1, forest.columns, x);
            b.predict(b.ctx, row, 1, forest.columns, y);
            assert_memory_equal(x, y, forest.outputs * sizeof *x);
        }
        sis_model_close(&a);
        sis_model_close(&b);
    }
}

/* ---- Objectives ------------------------------------------------------------------------------ */

/* One tree on one column: left 1, right -2 (times 0.5). base: a text, or raw JSON after #. */
static sis_model stump(const char *objective, const char *base) {
    char text[1024];
    sis_model m;
    char quoted[64];
    snprintf(quoted, sizeof quoted, *base == '#' ? "%s" : "\"%s\"", base + (*base == '#'));
    snprintf(text, sizeof text,
             "{\"learner\":{\"feature_names\":[\"a\"],\"feature_types\":[\"float\"],"
             "\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"tree_info\":[0],\"trees\":[{"
             "\"left_children\":[1,-1,-1],\"right_children\":[2,-1,-1],\"split_indices\":[0,0,0],"
             "\"split_conditions\":[0.5,1E0,-2],\"default_left\":[true,false,false],"
             "\"loss_changes\":[NaN,Infinity,-Infinity]}]}},"
             "\"learner_model_param\":{\"base_score\":%s,\"num_class\":\"0\",\"num_feature\":"
             "\"1\"},\"objective\":{\"name\":\"%s\"}},\"version\":[3,1,0]}",
             quoted, objective);
    assert_int_equal(sis_model_open(folder_text("stump.json", text), NULL, &m), SIS_OK);
    return m;
}

static double score(const sis_model *m, double x) {
    double margin;
    assert_int_equal(m->predict(m->ctx, &x, 1, 1, &margin), SIS_OK);
    return m->link ? m->link(margin) : margin;
}

static void objectives_have_their_links_and_base_scores_their_inverses(void **state) {
    (void)state;
    static const struct {
        const char *objective, *base;
        double left, right;
    } cases[] = {
        {"reg:squarederror", "5E-1", 1.5, -1.5},
        {"reg:squarederror", "[5E-1]", 1.5, -1.5},
        {"binary:logistic", "5E-1", 0.7310585786300049, 0.11920292202211755},
        {"binary:logistic", "[2.5E-1]", 0.4753668864186717, 0.04316453297999625},
        {"binary:logistic", "#0.25", 0.4753668864186717, 0.04316453297999625},
        {"binary:logistic", "#[0.25]", 0.4753668864186717, 0.04316453297999625},
        {"binary:logistic", "[0E0]", 2.7182744e-6, 1.3533513e-7},
        {"binary:logistic", "1E-10", 2.7182817e-10, 1.3533528e-11},
        {"binary:logitraw", "5E-1", 1.5, -1.5},
        {"binary:hinge", "5E-1", 1, 0},
        {"count:poisson", "2E0", 5.436563656918091, 0.2706705664732254},
        {"survival:cox", "1", 2.718281828459045, 0.1353352832366127},
        {"rank:ndcg", "0", 1, -2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_model m = stump(cases[i].objective, cases[i].base);
        double left = cases[i].left, right = cases[i].right;
        assert_true(fabs(score(&m, 0.25) - left) <= 2e-6 * fabs(left));
        assert_true(fabs(score(&m, NAN) - left) <= 2e-6 * fabs(left));
        assert_true(fabs(score(&m, 0.5) - right) <= 2e-6 * fabs(right));
        assert_string_equal(sis_model_names(&m)[0], "a");
        sis_model_close(&m);
    }
}

/* A LightGBM model of one leaf, which adds 2, for each output. */
static sis_model constant(const char *head, int trees) {
    char text[1024];
    sis_model m;
    size_t n = (size_t)snprintf(text, sizeof text,
                                "tree\r\nversion=v3\r\n%s\nmax_feature_idx=0\n\n", head);
    for (int i = 0; i < trees; i++)
        n += (size_t)snprintf(text + n, sizeof text - n, "Tree=%d\nnum_leaves=1\nleaf_value=2\n\n",
                              i);
    assert_int_equal(sis_model_open(folder_text("constant.model", text), NULL, &m), SIS_OK);
    return m;
}

static void lightgbm_objectives_have_their_links(void **state) {
    (void)state;
    static const struct {
        const char *head;
        int trees;
        double score;
    } cases[] = {
        {"objective=regression", 1, 2},
        {"objective=regression sqrt", 1, 4},
        {"objective=binary sigmoid:1", 1, 0.8807970779778823},
        {"objective=binary sigmoid:0.5", 1, 0.7310585786300049},
        {"objective=cross_entropy", 1, 0.8807970779778823},
        {"objective=cross_entropy_lambda", 1, 2.1269280110429727},
        {"objective=poisson", 2, 54.598150033144236},
        {"objective=lambdarank", 3, 6},
        {"objective=regression\naverage_output", 3, 2},
        {"num_class=2\nnum_tree_per_iteration=2\nobjective=multiclass num_class:2", 4, 0.5},
        {"num_class=2\nnum_tree_per_iteration=2\nobjective=multiclassova num_class:2 sigmoid:1", 2,
         0.8807970779778823},
        {"num_class=1", 1, 2},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_model m = constant(cases[i].head, cases[i].trees);
        double margins[2], x = 0;
        assert_int_equal(m.predict(m.ctx, &x, 1, 1, margins), SIS_OK);
        assert_true(fabs((m.link ? m.link(margins[0]) : margins[0]) - cases[i].score) < 1e-14);
        sis_model_close(&m);
    }
}

static void margins_of_certain_classes_stay_finite(void **state) {
    (void)state;
    sis_model m = constant("num_class=2\nnum_tree_per_iteration=2\nobjective=multiclass", 2);
    sis__booster b = {.link = SIS__LINK_SOFTMAX, .divisor = 1, .scale = 1};
    double sums[3] = {2000, -1000, 5}, rest[3], margins[3];
    b.forest.n_sums = 3;
    sis__booster_margins(&b, sums, rest, 0, 3, margins);
    assert_true(margins[0] == 1995 && margins[1] == -3000 && margins[2] == -1995);
    sis_model_close(&m);
}

/* ---- Walks ----------------------------------------------------------------------------------- */

typedef struct {
    double x[MADE_COLUMNS], z[MADE_COLUMNS];
    int map[MADE_COLUMNS];
    sis_input input;
    size_t n;
} walk_input;

static void draw_input(walk_input *w, sis__rng *r) {
    *w = (walk_input){.input = {.n_values = forest.columns}};
    for (size_t j = 0; j < forest.columns; j++) {
        w->x[j] = made_value(&forest, r);
        w->z[j] = sis__rng_below(r, 4) ? made_value(&forest, r) : NAN;
        w->map[j] = j == 0 || sis__rng_below(r, 3) ? (int)w->n++ : (int)sis__rng_below(r, w->n);
    }
    if (forest.columns > 2 && sis__rng_below(r, 2)) {
        for (size_t j = 0; j < forest.columns; j++)
            w->map[j] = (int)j - 1; /* the first is never masked */
        w->n = forest.columns - 1;
    }
    w->input.values = w->x;
    w->input.mask = w->z;
    w->input.feature_of = w->map;
    w->input.output = sis__rng_below(r, forest.outputs);
}

/* A walk that is asked only for the best finds it, and skips only worse candidates. */
static size_t check_best(sis_walk *walk, const int *probed, size_t n, const double *margins) {
    size_t left_out = 0;
    for (int wants = -1; wants <= 1; wants += 2) {
        double some[MADE_COLUMNS], best = -INFINITY;
        walk->wants = wants;
        assert_int_equal(walk->ops->probe(walk, probed, n, some), SIS_OK);
        walk->wants = 0;
        for (size_t i = 0; i < n; i++)
            best = fmax(best, wants * margins[i]);
        for (size_t i = 0; i < n; i++) {
            assert_true(some[i] == margins[i] || some[i] == -(double)wants * INFINITY);
            assert_true(some[i] == margins[i] || wants * margins[i] < best);
            left_out += some[i] != margins[i];
        }
    }
    return left_out;
}

/* Margins of a walk at every state of a random sequence, against full passes. */
static size_t check_walk(const sis_model *m, const walk_input *in, sis__rng *r) {
    sis_walk *walk = NULL;
    size_t left_out = 0;
    unsigned char masked[MADE_COLUMNS] = {0};
    double margins[MADE_COLUMNS], margin, full[8];
    int order[MADE_COLUMNS], probed[MADE_COLUMNS];
    assert_int_equal(m->walk_new(m->ctx, &in->input, (size_t)1 << 30, &walk), SIS_OK);
    for (size_t i = 0; i < in->n; i++)
        order[i] = (int)i;
    for (size_t i = in->n; i-- > 1;) {
        size_t k = sis__rng_below(r, i + 1);
        int swap = order[i];
        order[i] = order[k];
        order[k] = swap;
    }
    assert_int_equal(walk->ops->reset(walk, masked, &margin), SIS_OK);
    for (size_t step = 0; step <= in->n; step++) {
        size_t left = 0;
        for (size_t i = 0; i < in->n; i++)
            if (!masked[i])
                probed[left++] = (int)i;
        assert_int_equal(walk->ops->probe(walk, probed, left, margins), SIS_OK);
        for (size_t i = 0; i <= left; i++) { /* the last is the present state */
            double row[MADE_COLUMNS];
            for (size_t j = 0; j < forest.columns; j++) {
                int f = in->map[j];
                int gone = f >= 0 && (masked[f] || (i < left && f == probed[i]));
                row[j] = (gone ? in->z : in->x)[j];
            }
            m->predict(m->ctx, row, 1, forest.columns, full);
            assert_true((i < left ? margins[i] : margin) == full[in->input.output]);
        }
        left_out += check_best(walk, probed, left, margins);
        if (step < in->n) {
            assert_int_equal(walk->ops->mask(walk, order[step], &margin), SIS_OK);
            masked[order[step]] = 1;
        }
    }
    walk->ops->free(walk);
    return left_out;
}

static void walks_are_full_passes_to_the_bit(void **state) {
    (void)state;
    size_t left_out = 0;
    for (uint64_t seed = 0; seed < 300; seed++) {
        sis__rng r;
        sis__rng_init(&r, 1000 + seed);
        form how = (form)(seed % N_FORMS);
        walk_input in;
        made_forest_init(&forest, how != TEXT, &r);
        sis_model m = open_made(how);
        draw_input(&in, &r);
        left_out += check_walk(&m, &in, &r);
        sis_model_close(&m);
    }
    assert_true(left_out > 3000);
}

static void explanations_are_those_of_full_passes(void **state) {
    (void)state;
    int explained = 0;
    for (uint64_t seed = 0; seed < 100; seed++) {
        sis__rng r;
        sis__rng_init(&r, 5000 + seed);
        walk_input in;
        double full[8], empty[8];
        made_forest_init(&forest, 1, &r);
        sis_model m = open_made(JSON);
        draw_input(&in, &r);
        m.predict(m.ctx, in.x, 1, forest.columns, full);
        m.predict(m.ctx, in.z, 1, forest.columns, empty);
        double a = full[in.input.output], b = empty[in.input.output];
        sis_opt opt = decision(m.link ? m.link((a + b) / 2) : (a + b) / 2);
        sis_collection walked, exact;
        opt.below = a < b;
        assert_int_equal(sis_collect(&m, &in.input, &opt, &walked), SIS_OK);
        opt.exact = 1;
        assert_int_equal(sis_collect(&m, &in.input, &opt, &exact), SIS_OK);
        assert_same_subsets(&walked, &exact);
        assert_true(walked.verified);
        explained += walked.n_subsets > 0;
        sis_collection_release(&walked);
        sis_collection_release(&exact);
        sis_model_close(&m);
    }
    assert_true(explained > 30);
}

static void walks_that_need_too_much_memory_are_refused(void **state) {
    (void)state;
    sis__rng r;
    walk_input in;
    sis_walk *walk;
    sis__rng_init(&r, 7);
    made_forest_init(&forest, 1, &r);
    sis_model m = open_made(JSON);
    draw_input(&in, &r);
    assert_int_equal(m.walk_new(m.ctx, &in.input, 16, &walk), SIS_E_UNSUPPORTED);
    sis_model_close(&m);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void refused(const char *name, const char *text, const char *part) {
    sis_model m;
    assert_true(sis_model_open(folder_text(name, text), NULL, &m) < 0);
    assert_message_has(part);
    assert_null(m.ctx);
}

/* A model of XGBoost with these trees. */
static void refused_tree(const char *trees, const char *info, const char *part) {
    char text[2048];
    snprintf(text, sizeof text,
             "{\"learner\":{\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"tree_info\":%s,"
             "\"trees\":[%s]}},\"learner_model_param\":{\"num_feature\":\"2\"},\"objective\":{"
             "\"name\":\"reg:squarederror\"}}}",
             info, trees);
    refused("m.json", text, part);
}

#define TREE(left, right, indices)                                                                 \
    "{\"left_children\":" left ",\"right_children\":" right ",\"split_indices\":" indices ","      \
    "\"split_conditions\":[0,0,0],\"default_left\":[0,0,0]}"

static void malformed_trees_are_refused(void **state) {
    (void)state;
    refused_tree(TREE("[1,-1,-1]", "[1,-1,-1]", "[0,0,0]"), "[0]", "has two parents");
    refused_tree(TREE("[1,0,-1]", "[2,2,-1]", "[0,0,0]"), "[0]", "has two parents");
    refused_tree(TREE("[0,-1,-1]", "[2,-1,-1]", "[0,0,0]"), "[0]", "has two parents");
    refused_tree(TREE("[1,-1,-1]", "[3,-1,-1]", "[0,0,0]"), "[0]", "child or a feature");
    refused_tree(TREE("[1,-1,-1]", "[-5,-1,-1]", "[0,0,0]"), "[0]", "child or a feature");
    refused_tree(TREE("[1,-1,-1]", "[1.5,-1,-1]", "[0,0,0]"), "[0]", "child or a feature");
    refused_tree(TREE("[1,-1,-1]", "[NaN,-1,-1]", "[0,0,0]"), "[0]", "child or a feature");
    refused_tree(TREE("[1,-1,-1]", "[2,-1,-1]", "[2,0,0]"), "[0]", "split_indices");
    refused_tree(TREE("[1,-1]", "[2,-1,-1]", "[2,0,0]"), "[0]", "wrong number of entries");
    refused_tree(TREE("[]", "[]", "[]"), "[0]", "a tree without nodes");
    refused_tree(TREE("[1,-1,-1]", "\"no\"", "[2,0,0]"), "[0]", "right_children");
    refused_tree(TREE("[1,-1,-1]", "[2,-1,-1]", "[0,0,0]"), "[1]", "tree_info");
    refused_tree(TREE("[1,-1,-1]", "[2,-1,-1]", "[0,0,0]"), "[]", "tree_info");
    refused_tree("7", "[0]", "list of trees");
    refused_tree("{\"left_children\":[-1],\"tree_param\":{\"size_leaf_vector\":\"3\"}}", "[0]",
                 "leaves with a vector of values");
}

static void unsupported_models_are_refused_by_name(void **state) {
    (void)state;
    refused("m.json", "[{\"nodeid\":0,\"leaf\":1}]", "dump of XGBoost");
    refused("m.json", "{\"name\":\"tree\",\"tree_info\":[{\"tree_index\":0}]}", "dump of LightGBM");
    refused("m.json", "{\"a\":1}", "\"learner\" is missing");
    refused("m.json", "{\"learner\":{}}", "gradient_booster");
    refused("m.json", "{\"learner\":", "byte 11: expected a value");
    refused("m.json", "hello", "not a model of XGBoost");
    refused("m.ubj", "{L", "more bytes");
    refused("old.model", "binf\1\2\3", "the old binary format of XGBoost; load it in XGBoost");
    refused("m.txt", "tree\nmax_feature_idx=0\nobjective=odd\n\n", "unknown objective: odd");
    refused("m.txt", "tree\nmax_feature_idx=0\nobjective=binary sigmoid:1,5\n\n",
            "expected a number above 0: sigmoid");
    refused("m.txt", "tree\nnum_class=1\n\n", "max_feature_idx");
    refused("m.txt", "tree\nmax_feature_idx=0\n\nTree=0\nnum_leaves=1\nleaf_value=1\nis_linear=1\n",
            "linear trees");
    refused("m.txt", "tree\nmax_feature_idx=0\n\nTree=0\nnum_leaves=2\nleaf_value=1\n",
            "too few numbers in leaf_value");
    refused("m.txt", "tree\nmax_feature_idx=0\n\nTree=0\nnum_leaves=1\nleaf_value=1 2\n",
            "too many numbers in leaf_value");
    refused("m.txt",
            "tree\nmax_feature_idx=0\nnum_tree_per_iteration=2\n\nTree=0\nnum_leaves=1\n"
            "leaf_value=1\n",
            "is the file cut off?");
    refused("m.txt",
            "tree\nmax_feature_idx=0\n\nTree=0\nnum_leaves=2\nleaf_value=1 2\nsplit_feature=0\n"
            "threshold=0\ndecision_type=2\nleft_child=0\nright_child=-1\n",
            "has two parents");
    refused("m.txt",
            "tree\nmax_feature_idx=0\ntree_sizes=9 9\r\n\nTree=0\nnum_leaves=1\nleaf_value=1\n",
            "1 trees, but tree_sizes lists 2; is the file cut off?");
    refused("m.txt", "tree\nmax_feature_idx=0\nfeature_names=a b\n\nend of trees\n",
            "too many names in feature_names");
    refused("m.txt",
            "tree\nmax_feature_idx=1\n\nTree=0\nnum_leaves=2\nleaf_value=1 2\nsplit_feature=0.5\n"
            "threshold=0\ndecision_type=2\nleft_child=-1\nright_child=-2\n",
            "a feature that does not exist: split_feature");
    sis_model m;
    assert_int_equal(sis_model_open(folder_path("none.ubj"), NULL, &m), SIS_E_IO);
}

static void deep_and_huge_claims_are_bounded(void **state) {
    (void)state;
    char *deep = (char *)malloc(200001);
    memset(deep, '[', 200000);
    deep[200000] = '\0';
    refused("m.json", deep, "lists within lists");
    free(deep);
    refused("m.json",
            "{\"learner\":{\"gradient_booster\":{\"name\":\"gbtree\",\"model\":{\"tree_info\":[],"
            "\"trees\":[]}},\"learner_model_param\":{\"num_feature\":\"2147483647\",\"num_class\":"
            "\"2147483647\"},\"objective\":{\"name\":\"multi:softprob\"}}}",
            "too many outputs or features");
    sis_model m;
    static const char counted[] = "{L\0\0\0\0\0\0\0\1a[$d#L\x7f\0\0\0\0\0\0\0";
    const char *path = folder_write("m.ubj", counted, sizeof counted - 1);
    assert_int_equal(sis_model_open(path, NULL, &m), SIS_E_FORMAT);
    assert_message_has("room for");
}

/* A chain of 100,000 splits, each the child of the one before. */
static void degenerate_deep_trees_are_walked(void **state) {
    (void)state;
    enum { N = 100000 };
    sis__buf b;
    sis_model m;
    char *bytes;
    size_t n;
    sis__buf_init(&b);
    sis__buf_printf(&b, "tree\nmax_feature_idx=1\n\nTree=0\nnum_leaves=%d\nleaf_value=", N + 1);
    for (int i = 0; i <= N; i++)
        sis__buf_printf(&b, "%d ", i);
    static const char *const lists[] = {"split_feature", "threshold", "decision_type", "left_child",
                                        "right_child"};
    for (int l = 0; l < 5; l++) {
        sis__buf_printf(&b, "\n%s=", lists[l]);
        for (int i = 0; i < N; i++)
            sis__buf_printf(&b, "%d ",
                            l < 2    ? i % 2 * (l == 0)
                            : l == 2 ? 2
                            : l == 3 ? (i + 1 < N ? i + 1 : -1 - N)
                                     : -1 - i);
    }
    assert_int_equal(sis__buf_give(&b, &bytes, &n), SIS_OK);
    assert_int_equal(sis_model_open(folder_write("deep.txt", bytes, n), NULL, &m), SIS_OK);
    double x[2] = {-1, -1}, z[2] = {1, 1};
    sis_input input = {.values = x, .mask = z, .n_values = 2};
    sis_opt opt = decision(10);
    sis_collection c;
    assert_int_equal(sis_collect(&m, &input, &opt, &c), SIS_OK);
    assert_int_equal(c.n_subsets, 1);
    assert_int_equal(c.subsets[0].n, 2);
    sis_collection_release(&c);
    sis_model_close(&m);
    free(bytes);
}

static void descriptions_contain_names_and_sizes(void **state) {
    (void)state;
    char *text;
    sis_model m = stump("binary:logistic", "5E-1");
    assert_int_equal(sis_model_describe(&m, &text), SIS_OK);
    assert_string_equal(text, "XGBoost gbtree, objective binary:logistic\n"
                              "outputs: 1 score, a probability\n"
                              "trees: 1, depth up to 1, 2 leaves\n"
                              "features: 1, of which 1 are used: a\n");
    free(text);
    sis_model_close(&m);
    m = (sis_model){0};
    assert_int_equal(sis_model_describe(&m, &text), SIS_E_UNSUPPORTED);
    assert_null(sis_model_names(&m));
}

/* ---- Hostile files --------------------------------------------------------------------------- */

static void use_spoiled(const char *path) {
    sis_model m;
    if (sis_model_open(path, NULL, &m) != SIS_OK)
        return;
    if (m.n_values <= 64 && m.n_outputs <= 64) {
        double row[64] = {0}, margins[64];
        m.predict(m.ctx, row, 1, m.n_values, margins);
    }
    sis_model_close(&m);
}

static void damaged_files_do_no_harm(void **state) {
    (void)state;
    static const char *const names[] = {"s.json", "s.ubj", "s.txt"};
    sis__rng r;
    sis__rng_init(&r, 3);
    do
        made_forest_init(&forest, 1, &r);
    while (forest.linear || forest.n > 2 || forest.trees[0].n < 7 || forest.trees[0].n > 13);
    for (int how = 0; how < N_FORMS; how++) {
        size_t n;
        char *bytes = made_file((form)how, &n);
        with_spoiled_files(names[how], bytes, n, 2000, use_spoiled);
        free(bytes);
    }
}

static int explain_once(void *ctx) {
    sis_model m;
    sis_collection c;
    const walk_input *in = (const walk_input *)ctx;
    static const char *const names[] = {"m.json", "m.ubj", "m.txt"};
    int error = SIS_OK;
    for (int how = 0; how < N_FORMS && error == SIS_OK; how++) {
        error = sis_model_open(folder_path(names[how]), NULL, &m);
        sis_opt opt = decision(0.5);
        if (error == SIS_OK)
            error = sis_collect(&m, &in->input, &opt, &c);
        if (error == SIS_OK)
            sis_collection_release(&c);
        sis_model_close(&m);
    }
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    sis__rng r;
    walk_input in;
    sis__rng_init(&r, 11);
    do
        made_forest_init(&forest, 1, &r);
    while (forest.linear || !forest.classes || !forest.named || forest.n > 4);
    for (int how = 0; how < N_FORMS; how++) {
        sis_model m = open_made((form)how);
        sis_model_close(&m);
    }
    draw_input(&in, &r);
    assert_true(with_failing_allocations(explain_once, &in) > 50);
}

/* ---- Models of other people ------------------------------------------------------------------ */

static void published_models_load_and_predict(void **state) {
    (void)state;
    static const char *const names[] = {
        "ann-thyroid", "appendicitis", "divorce",  "glass2",  "promoters",
        "shuttle",     "sonar",        "spambase", "texture", "threeOf9",
        "twonorm",     "vowel",        "wdbc",     "zoo",     "wine-recognition"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[64];
        snprintf(name, sizeof name, "trees/xreason/%s.json", names[i]);
        const char *path = shared_data(name);
        sis_model m;
        double row[256] = {0}, margins[32];
        if (!path)
            skip();
        assert_int_equal(sis_model_open(path, NULL, &m), SIS_OK);
        assert_true(m.n_values <= 256 && m.n_outputs <= 32);
        assert_int_equal(m.predict(m.ctx, row, 1, m.n_values, margins), SIS_OK);
        sis_model_close(&m);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(predictions_follow_the_documented_rules),
        cmocka_unit_test(json_and_ubjson_give_the_same_model),
        cmocka_unit_test(objectives_have_their_links_and_base_scores_their_inverses),
        cmocka_unit_test(lightgbm_objectives_have_their_links),
        cmocka_unit_test(margins_of_certain_classes_stay_finite),
        cmocka_unit_test(walks_are_full_passes_to_the_bit),
        cmocka_unit_test(explanations_are_those_of_full_passes),
        cmocka_unit_test(walks_that_need_too_much_memory_are_refused),
        cmocka_unit_test(malformed_trees_are_refused),
        cmocka_unit_test(unsupported_models_are_refused_by_name),
        cmocka_unit_test(deep_and_huge_claims_are_bounded),
        cmocka_unit_test(degenerate_deep_trees_are_walked),
        cmocka_unit_test(descriptions_contain_names_and_sizes),
        cmocka_unit_test(damaged_files_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
        cmocka_unit_test(published_models_load_and_predict),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
