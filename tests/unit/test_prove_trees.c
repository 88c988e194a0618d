/* SPDX-License-Identifier: MIT
 *
 * Proofs about boosted trees, compared with an exhaustive search over all inputs that matter.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "prove/sets.h"
#include "prove/trees.h"
#include "support_trees.h"

enum { MAX_VALUES = 512, MAX_ROWS = 30000 };

static made_forest forest;

typedef struct {
    sis__booster b;
    double row[MADE_COLUMNS], low[MADE_COLUMNS], high[MADE_COLUMNS];
    double values[MADE_COLUMNS][MAX_VALUES]; /* number of values tried for a free column */
    size_t n_values[MADE_COLUMNS];
    unsigned char missing[MADE_COLUMNS];
    sis__prove_question q;
} question;

/* ---- Exhaustive search ----------------------------------------------------------------------- */

static double as_seen(const question *t, double x) {
    return t->b.forest.single ? (double)(float)x : x;
}

static int stays(const question *t, const double *row) {
    double sums[8], rest[8], margin, seen_row[MADE_COLUMNS];
    unsigned char seen[8];
    size_t best = 0;
    for (size_t j = 0; j < forest.columns; j++)
        seen_row[j] = as_seen(t, row[j]);
    sis__forest_sums(&t->b.forest, seen_row, sums, seen);
    for (size_t k = 1; k < forest.outputs; k++)
        if (sums[k] > sums[best])
            best = k;
    if (t->q.what == SIS__PROVE_CLASS)
        return sums[best] <= sums[t->q.output];
    sis__booster_margins(&t->b, sums, rest, t->q.output, t->q.output + 1, &margin);
    return t->q.what == SIS__PROVE_AT_LEAST ? margin >= t->q.threshold : margin <= t->q.threshold;
}

/* Every combination of the values of free columns. */
static int stays_for_all(const question *t, const unsigned char *kept) {
    double row[MADE_COLUMNS];
    size_t at[MADE_COLUMNS] = {0}, j = 0;
    while (j < forest.columns) {
        for (size_t i = 0; i < forest.columns; i++)
            row[i] = kept[i] ? t->row[i] : t->values[i][at[i]];
        if (!stays(t, row))
            return 0;
        for (j = 0; j < forest.columns; j++) {
            if (!kept[j] && ++at[j] < t->n_values[j])
                break;
            at[j] = 0;
        }
    }
    return 1;
}

/* ---- Questions ------------------------------------------------------------------------------- */

static void try_value(question *t, size_t j, double x) {
    x = as_seen(t, x);
    if (!isnan(x) && (x < as_seen(t, t->low[j]) || x > as_seen(t, t->high[j])))
        return;
    for (size_t i = 0; i < t->n_values[j]; i++)
        if (t->values[j][i] == x)
            return;
    if (t->n_values[j] < MAX_VALUES)
        t->values[j][t->n_values[j]++] = x;
}

static void try_around(question *t, size_t j, double x) {
    int single = t->b.forest.single;
    try_value(t, j, x);
    try_value(t, j, single ? (double)nextafterf((float)x, INFINITY) : nextafter(x, INFINITY));
    try_value(t, j, single ? (double)nextafterf((float)x, -INFINITY) : nextafter(x, -INFINITY));
}

static void list_values(question *t, size_t j) {
    int categories = 0;
    for (size_t i = 0; i < forest.n; i++)
        for (int k = 0; k < forest.trees[i].n; k++) {
            const made_node *n = &forest.trees[i].nodes[k];
            if (n->left < 0 || (size_t)n->feature != j)
                continue;
            categories |= n->categorical;
            if (!n->categorical)
                try_around(t, j, n->value);
        }
    for (int c = -2; categories && c <= MADE_CATEGORIES; c++)
        try_value(t, j, c);
    try_value(t, j, -0.5);
    try_value(t, j, 0);
    for (int side = -1; !t->b.forest.single && side <= 1; side += 2)
        try_around(t, j, side * (double)1e-35f); /* LightGBM treats values between as 0 */
    try_value(t, j, t->row[j]);
    if (isfinite(t->low[j])) {
        try_value(t, j, t->low[j]);
        try_value(t, j, t->high[j]);
    }
    if (t->q.missing && t->q.missing[j])
        t->values[j][t->n_values[j]++] = NAN;
}

/* The example may be missing even if the other values may not. */
static void draw_row(question *t, sis__rng *r) {
    int ball = sis__rng_below(r, 3) == 0;
    for (size_t j = 0; j < forest.columns; j++) {
        t->row[j] = as_seen(t, made_value(&forest, r));
        if (ball && isnan(t->row[j]))
            t->row[j] = 0;
        t->low[j] = ball ? t->row[j] - 1 : -INFINITY;
        t->high[j] = ball ? t->row[j] + 1 : INFINITY;
        t->missing[j] = sis__rng_below(r, 4) > 0;
    }
    t->q = (sis__prove_question){.row = t->row,
                                 .n_features = forest.columns,
                                 .low = ball ? t->low : NULL,
                                 .high = ball ? t->high : NULL,
                                 .missing = sis__rng_below(r, 2) == 0 ? t->missing : NULL};
}

/* A decision of the row. */
static void draw_decision(question *t, sis__rng *r) {
    double margins[8], rest[8], sums[8];
    unsigned char seen[8];
    sis__forest_sums(&t->b.forest, t->row, sums, seen);
    for (size_t k = 1; k < forest.outputs; k++)
        if (sums[k] > sums[t->q.output])
            t->q.output = k;
    if (forest.outputs > 1)
        return;
    sis__booster_margins(&t->b, sums, rest, 0, 1, margins);
    double off = sis__rng_below(r, 3) ? fabs(sis__rng_normal(r)) : 0; /* ties */
    t->q.what = sis__rng_below(r, 2) ? SIS__PROVE_AT_LEAST : SIS__PROVE_AT_MOST;
    t->q.threshold = margins[0] + (t->q.what == SIS__PROVE_AT_LEAST ? -off : off);
}

static void draw_question(question *t, sis__rng *r) {
    draw_row(t, r);
    draw_decision(t, r);
}

/* A forest of few columns; 0 if it has more. */
static int make_small(question *t, uint64_t seed, sis__rng *r) {
    size_t n;
    sis__rng_init(r, seed);
    made_forest_init(&forest, seed % 2, r);
    if (forest.linear || forest.columns > 3)
        return 0;
    char *bytes = seed % 2 ? made_xgboost(&forest, 0, &n) : made_lightgbm(&forest, &n);
    *t = (question){0};
    assert_int_equal(seed % 2 ? sis__xgboost_parse(bytes, n, &t->b)
                              : sis__lightgbm_parse(bytes, n, &t->b),
                     SIS_OK);
    free(bytes);
    return 1;
}

/* A question that can be searched exhaustively; 0 if the forest is too large. */
static int make_question(question *t, uint64_t seed) {
    sis__rng r;
    size_t rows = 1;
    if (!make_small(t, seed, &r))
        return 0;
    draw_question(t, &r);
    for (size_t j = 0; j < forest.columns; j++) {
        list_values(t, j);
        rows *= t->n_values[j];
    }
    if (rows <= MAX_ROWS)
        return 1;
    sis__booster_release(&t->b);
    return 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/* One question to a separate oracle. */
static int prove(const sis__prover *p, const question *t, const unsigned char *kept,
                 sis__proof *proof, double *example) {
    double row[MADE_COLUMNS];
    sis__oracle *o;
    int error = sis__trees_oracle(p, &t->q, &o);
    if (error == SIS_OK)
        error = o->ask(o, kept, proof, example ? example : row);
    sis__oracle_free(o);
    return error;
}

static void check_example(const question *t, const unsigned char *kept, const double *example) {
    assert_false(stays(t, example));
    for (size_t j = 0; j < forest.columns; j++) {
        int same = example[j] == t->row[j] || (isnan(example[j]) && isnan(t->row[j]));
        if (kept[j])
            assert_true(same);
        else if (isnan(example[j]))
            assert_true((t->q.missing && t->q.missing[j]) || same);
        else
            assert_true(example[j] >= as_seen(t, t->low[j]) &&
                        example[j] <= as_seen(t, t->high[j]));
    }
}

static void proofs_agree_with_exhaustive_search(void **state) {
    (void)state;
    int asked = 0, held = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        question t;
        sis__prover *p;
        if (!make_question(&t, seed))
            continue;
        assert_int_equal(sis__prover_new(&t.b, &p), SIS_OK);
        for (unsigned subset = 0; subset < 1u << forest.columns; subset++) {
            unsigned char kept[MADE_COLUMNS];
            double example[MADE_COLUMNS];
            sis__proof proof;
            for (size_t j = 0; j < forest.columns; j++)
                kept[j] = subset >> j & 1;
            assert_int_equal(prove(p, &t, kept, &proof, example), SIS_OK);
            assert_int_equal(proof, stays_for_all(&t, kept) ? SIS__PROOF_HOLDS : SIS__PROOF_FAILS);
            if (proof == SIS__PROOF_FAILS)
                check_example(&t, kept, example);
            asked++;
            held += proof == SIS__PROOF_HOLDS;
        }
        sis__prover_free(p);
        sis__booster_release(&t.b);
    }
    assert_true(asked > 1000 && held > asked / 8 && held < asked * 7 / 8);
}

static void subsets_hold_and_are_minimal(void **state) {
    (void)state;
    int asked = 0;
    for (uint64_t seed = 0; seed < 2000; seed++) {
        question t;
        sis__prover *p;
        unsigned char kept[MADE_COLUMNS];
        int order[MADE_COLUMNS], proved;
        sis__oracle *o;
        sis__sets sets;
        if (!make_question(&t, seed))
            continue;
        assert_int_equal(sis__prover_new(&t.b, &p), SIS_OK);
        assert_int_equal(sis__trees_oracle(p, &t.q, &o), SIS_OK);
        assert_int_equal(sis__sets_init(&sets, o), SIS_OK);
        assert_int_equal(sis__sets_order(&sets, order), SIS_OK);
        memset(kept, 1, sizeof kept);
        assert_int_equal(sis__sets_minimal(&sets, order, kept, &proved), SIS_OK);
        sis__sets_release(&sets);
        sis__oracle_free(o);
        assert_true(proved && stays_for_all(&t, kept));
        for (size_t j = 0; j < forest.columns; j++)
            if (kept[j]) {
                kept[j] = 0;
                assert_false(stays_for_all(&t, kept));
                kept[j] = 1;
            }
        asked++;
        sis__prover_free(p);
        sis__booster_release(&t.b);
    }
    assert_true(asked > 150);
}

/* ---- Nearest rows ---------------------------------------------------------------------------- */

static int is_category(size_t j) {
    for (size_t i = 0; i < forest.n; i++)
        for (int k = 0; k < forest.trees[i].n; k++) {
            const made_node *n = &forest.trees[i].nodes[k];
            if (n->left >= 0 && (size_t)n->feature == j && n->categorical)
                return 1;
        }
    return 0;
}

/* Distance of a value of a column from the example's, infinite if it is not proposed. */
static double cost_of(const question *t, size_t j, double x, double scale, double step) {
    double was = t->row[j];
    if (x == was || (isnan(x) && isnan(was)))
        return 0;
    if (isnan(x) || (is_category(j) && (x < 0 || x != floor(x))))
        return INFINITY;
    if (!is_category(j) && step > 0 && as_seen(t, was + step * round((x - was) / step)) != x)
        return INFINITY;
    return isnan(was) || is_category(j) ? 1 : fabs(x - was) / scale;
}

/* The smallest distance of a row without the decision, by exhaustive search. */
static double min_distance(const question *t, const unsigned char *kept, const double *scale,
                             const double *step) {
    double row[MADE_COLUMNS], best = INFINITY;
    size_t at[MADE_COLUMNS] = {0}, j = 0;
    while (j < forest.columns) {
        double distance = 0;
        for (size_t i = 0; i < forest.columns; i++) {
            row[i] = kept[i] ? t->row[i] : t->values[i][at[i]];
            distance += cost_of(t, i, row[i], scale[i], step[i]);
        }
        if (distance < best && !stays(t, row))
            best = distance;
        for (j = 0; j < forest.columns; j++) {
            if (!kept[j] && ++at[j] < t->n_values[j])
                break;
            at[j] = 0;
        }
    }
    return best;
}

/* Values at whole steps, on both sides of each tried number. */
static void list_steps(question *t, size_t j, double step) {
    size_t n = t->n_values[j];
    for (size_t i = 0; i < n && step > 0 && !isnan(t->row[j]); i++) {
        double k = floor((t->values[j][i] - t->row[j]) / step);
        for (int more = -1; fabs(k) < 1e6 && more <= 2; more++)
            try_value(t, j, t->row[j] + (k + more) * step);
    }
    for (int c = 0; is_category(j) && c <= MADE_CATEGORIES + 4; c++)
        try_value(t, j, c);
}

static void nearest_rows_agree_with_exhaustive_search(void **state) {
    (void)state;
    size_t found = 0, stepped = 0, asked = 0;
    for (uint64_t seed = 0; seed < 3000; seed++) {
        question t;
        sis__prover *p;
        sis__oracle *o;
        double scale[MADE_COLUMNS], step[MADE_COLUMNS], example[MADE_COLUMNS], distance;
        size_t rows = 1;
        if (!make_question(&t, seed))
            continue;
        for (size_t j = 0; j < forest.columns; j++) {
            scale[j] = 0.5 + (double)(seed % 5) + (double)j;
            step[j] = seed % 3 == 0 && !isnan(t.row[j]) ? 0.25 : 0;
            list_steps(&t, j, step[j]);
            rows *= t.n_values[j];
        }
        const sis__steps steps = {scale, step};
        assert_int_equal(sis__prover_new(&t.b, &p), SIS_OK);
        assert_int_equal(sis__trees_oracle(p, &t.q, &o), SIS_OK);
        for (unsigned subset = 0; rows < 4 * MAX_ROWS && subset < 1u << forest.columns; subset++) {
            unsigned char kept[MADE_COLUMNS];
            int proved;
            for (size_t j = 0; j < forest.columns; j++)
                kept[j] = subset >> j & 1;
            double min = min_distance(&t, kept, scale, step);
            assert_int_equal(o->nearest(o, kept, &steps, example, &distance, &proved), SIS_OK);
            assert_true(proved);
            assert_true(distance == min || fabs(distance - min) <= 1e-9 * min);
            asked++;
            if (isinf(distance))
                continue;
            check_example(&t, kept, example);
            double sum = 0;
            for (size_t j = 0; j < forest.columns; j++)
                sum += cost_of(&t, j, example[j], scale[j], step[j]);
            assert_true(fabs(sum - distance) <= 1e-9 * distance);
            found++;
            stepped += step[0] > 0;
        }
        sis__oracle_free(o);
        sis__prover_free(p);
        sis__booster_release(&t.b);
    }
    assert_true(asked > 1000 && found > asked / 8 && stepped > 100);
}

/* ---- One-hot columns ------------------------------------------------------------------------- */

typedef struct {
    question t;
    int map[MADE_COLUMNS]; /* the first `group` columns are the categories of feature 0 */
    size_t group;
} one_hot;

/* 0 if the forest is too large for an exhaustive search. */
static int make_one_hot(one_hot *h, uint64_t seed) {
    sis__rng r;
    question *t = &h->t;
    if (!make_small(t, seed, &r))
        return 0;
    if (forest.columns < 2) {
        sis__booster_release(&t->b);
        return 0;
    }
    h->group = forest.columns < 3 || sis__rng_below(&r, 2) ? forest.columns : 2;
    size_t one = sis__rng_below(&r, h->group);
    draw_row(t, &r);
    t->q.low = t->q.high = NULL;
    t->q.missing = NULL;
    for (size_t j = 0; j < forest.columns; j++) {
        h->map[j] = j < h->group ? 0 : 1;
        t->row[j] = j < h->group ? j == one : t->row[j];
        t->low[j] = -INFINITY;
        t->high[j] = INFINITY;
    }
    t->q.feature_of = h->map;
    t->q.n_features = h->group < forest.columns ? 2 : 1;
    t->q.one_of = 1;
    draw_decision(t, &r);
    if (h->group < forest.columns)
        list_values(t, h->group);
    return 1;
}

/* The smallest distance with both features free, or one of them, by exhaustive search. */
static double min_of_one_hot(const one_hot *h, const unsigned char *kept, double scale) {
    const question *t = &h->t;
    double row[MADE_COLUMNS], best = INFINITY;
    size_t other = h->group, tried = other < forest.columns && !kept[1] ? t->n_values[other] : 1;
    for (size_t one = 0; one < h->group; one++)
        for (size_t i = 0; i < tried; i++) {
            if (kept[0] && t->row[one] != 1)
                continue;
            double distance = t->row[one] != 1;
            for (size_t j = 0; j < h->group; j++)
                row[j] = j == one;
            if (other < forest.columns) {
                row[other] = kept[1] ? t->row[other] : t->values[other][i];
                distance += cost_of(t, other, row[other], scale, 0);
            }
            if (distance < best && !stays(t, row))
                best = distance;
        }
    return best;
}

static void check_one_hot(one_hot *h, sis__oracle *o, size_t found[2]) {
    const double scales[] = {1, 1, 3};
    const sis__steps steps = {scales, NULL};
    for (unsigned set = 0; set < 1u << h->t.q.n_features; set++) {
        unsigned char kept[2] = {set & 1, set >> 1 & 1};
        double example[MADE_COLUMNS], distance, ones = 0;
        int proved;
        double min = min_of_one_hot(h, kept, scales[h->group < 3 ? h->group : 0]);
        assert_int_equal(o->nearest(o, kept, &steps, example, &distance, &proved), SIS_OK);
        assert_true(proved);
        assert_true(distance == min || fabs(distance - min) <= 1e-9 * min);
        found[0]++;
        if (isinf(distance))
            continue;
        assert_false(stays(&h->t, example));
        int changed = 0;
        for (size_t j = 0; j < h->group; j++) {
            assert_true(example[j] == 0 || example[j] == 1);
            ones += example[j];
            changed |= example[j] != h->t.row[j];
        }
        assert_true(ones == 1);
        found[1] += (size_t)changed;
    }
}

static void nearest_categories_agree_with_exhaustive_search(void **state) {
    (void)state;
    size_t found[2] = {0}; /* questions; other categories proposed */
    for (uint64_t seed = 0; seed < 3000; seed++) {
        one_hot h;
        sis__prover *p;
        sis__oracle *o;
        if (!make_one_hot(&h, seed))
            continue;
        assert_int_equal(sis__prover_new(&h.t.b, &p), SIS_OK);
        assert_int_equal(sis__trees_oracle(p, &h.t.q, &o), SIS_OK);
        check_one_hot(&h, o, found);
        sis__oracle_free(o);
        sis__prover_free(p);
        sis__booster_release(&h.t.b);
    }
    assert_true(found[0] > 500 && found[1] > 100);
}

static int draw_large(question *t, uint64_t seed) {
    sis__rng r;
    size_t n;
    sis__rng_init(&r, seed);
    made_forest_init(&forest, 1, &r);
    if (forest.linear || forest.columns < 6 || !forest.classes)
        return 0;
    char *bytes = made_xgboost(&forest, 0, &n);
    *t = (question){0};
    assert_int_equal(sis__xgboost_parse(bytes, n, &t->b), SIS_OK);
    free(bytes);
    draw_question(t, &r);
    return 1;
}

static void columns_of_one_feature_are_free_together(void **state) {
    (void)state;
    for (uint64_t seed = 0, asked = 0; asked < 20; seed++) {
        question t;
        sis__prover *p;
        sis__proof together, apart;
        int map[MADE_COLUMNS];
        unsigned char some[MADE_COLUMNS], all[MADE_COLUMNS];
        if (!draw_large(&t, seed))
            continue;
        asked++;
        assert_int_equal(sis__prover_new(&t.b, &p), SIS_OK);
        for (size_t j = 0; j < forest.columns; j++) {
            map[j] = j == 0 ? -1 : (int)((j - 1) / 2); /* the first is never free */
            all[j] = j == 0 || (j - 1) / 2 % 2;
            if (j > 0)
                some[map[j]] = (unsigned char)(map[j] % 2);
        }
        assert_int_equal(prove(p, &t, all, &apart, NULL), SIS_OK);
        t.q.feature_of = map;
        t.q.n_features = (size_t)map[forest.columns - 1] + 1;
        assert_int_equal(prove(p, &t, some, &together, NULL), SIS_OK);
        assert_int_equal(together, apart);
        sis__prover_free(p);
        sis__booster_release(&t.b);
    }
}

static void invalid_questions_are_refused(void **state) {
    (void)state;
    sis__prover *p;
    sis__proof proof;
    question t;
    unsigned char kept[MADE_COLUMNS] = {0};
    uint64_t seed = 0;
    while (!draw_large(&t, seed))
        seed++;
    assert_int_equal(sis__prover_new(&t.b, &p), SIS_OK);
    t.q.what = SIS__PROVE_AT_LEAST;
    assert_int_equal(prove(p, &t, kept, &proof, NULL), SIS_E_UNSUPPORTED);
    t.q.what = SIS__PROVE_CLASS;
    t.q.output = (t.q.output + 1) % forest.outputs;
    assert_int_equal(prove(p, &t, kept, &proof, NULL), SIS_E_ARGUMENT);
    assert_message_has("does not have the decision");
    t.q.output = forest.outputs;
    assert_int_equal(prove(p, &t, kept, &proof, NULL), SIS_E_ARGUMENT);
    sis__prover_free(p);
    t.b.forest.weights[0] = INFINITY;
    t.b.forest.size[t.b.forest.targets[0]] = INFINITY; /* as sis__forest_finish() sets it */
    assert_int_equal(sis__prover_new(&t.b, &p), SIS_E_UNSUPPORTED);
    sis__booster_release(&t.b);
}

static void the_branch_limit_leaves_questions_open(void **state) {
    (void)state;
    int open = 0;
    for (uint64_t seed = 0; seed < 200; seed++) {
        question t;
        sis__prover *p;
        sis__proof limited, full;
        unsigned char kept[MADE_COLUMNS] = {0};
        if (!draw_large(&t, seed))
            continue;
        assert_int_equal(sis__prover_new(&t.b, &p), SIS_OK);
        assert_int_equal(prove(p, &t, kept, &full, NULL), SIS_OK);
        t.q.max = 1;
        assert_int_equal(prove(p, &t, kept, &limited, NULL), SIS_OK);
        assert_true(limited == full || limited == SIS__PROOF_NONE);
        open += limited == SIS__PROOF_NONE;
        sis__prover_free(p);
        sis__booster_release(&t.b);
    }
    assert_true(open > 0);
}

/* ---- Smallest sets and contrasts, compared with all sets ------------------------------------- */

enum { SETS = 1 << 8 };

typedef struct {
    question t;
    sis__prover *p;
    sis__oracle *o;
    sis__sets sets;
    int order[MADE_COLUMNS];
    unsigned char enough[SETS]; /* 1 if the set with these bits is sufficient */
} duel;

/* 0 if every input has the decision, or there are too many sets. */
static int duel_open(duel *d, uint64_t seed) {
    if (!draw_large(&d->t, seed))
        return 0;
    unsigned n = (unsigned)forest.columns;
    assert_int_equal(sis__prover_new(&d->t.b, &d->p), SIS_OK);
    assert_int_equal(sis__trees_oracle(d->p, &d->t.q, &d->o), SIS_OK);
    assert_int_equal(sis__sets_init(&d->sets, d->o), SIS_OK);
    assert_int_equal(sis__sets_order(&d->sets, d->order), SIS_OK);
    for (unsigned set = 0; n <= 8 && set < 1u << n; set++) {
        unsigned char kept[MADE_COLUMNS];
        double example[MADE_COLUMNS];
        sis__proof proof;
        for (unsigned j = 0; j < n; j++)
            kept[j] = set >> j & 1;
        assert_int_equal(d->o->ask(d->o, kept, &proof, example), SIS_OK);
        d->enough[set] = proof == SIS__PROOF_HOLDS;
    }
    return n <= 8 && !d->enough[0];
}

static void duel_close(duel *d) {
    sis__sets_release(&d->sets);
    sis__oracle_free(d->o);
    sis__prover_free(d->p);
    sis__booster_release(&d->t.b);
}

static unsigned bits_of(const unsigned char *flags) {
    unsigned bits = 0;
    for (size_t j = 0; j < forest.columns; j++)
        bits |= (unsigned)flags[j] << j;
    return bits;
}

/* Minimal sufficient sets (contrast: sets whose complement is not sufficient), by exhaustive
 * search. */
static size_t list_minimal(const duel *d, int contrast, unsigned char *is) {
    unsigned all = (1u << forest.columns) - 1;
    size_t n = 0;
    for (unsigned set = 0; set <= all; set++) {
        is[set] = contrast ? !d->enough[all & ~set] : d->enough[set];
        for (unsigned j = 0; j < forest.columns; j++) {
            unsigned less = set & ~(1u << j);
            if (less != set && (contrast ? !d->enough[all & ~less] : d->enough[less]))
                is[set] = 0;
        }
        n += is[set];
    }
    return n;
}

/* All sets are found, each once, smaller ones first. */
static void check_enumeration(duel *d, int contrast) {
    sis__family own = {.n_features = forest.columns}, other = {.n_features = forest.columns};
    unsigned char is[SETS], kept[MADE_COLUMNS];
    size_t expected = list_minimal(d, contrast, is), found_n = 0;
    int found = 1, proved, before = 0;
    while (found == 1) {
        if (contrast)
            assert_int_equal(
                sis__sets_next_contrast(&d->sets, d->order, &other, &own, kept, &found, &proved),
                SIS_OK);
        else
            assert_int_equal(
                sis__sets_smallest(&d->sets, d->order, &own, &other, kept, &found, &proved),
                SIS_OK);
        if (found != 1)
            break;
        for (size_t j = 0; contrast && j < forest.columns; j++)
            kept[j] = !kept[j];
        unsigned set = bits_of(kept);
        assert_true(is[set] && __builtin_popcount(set) >= before);
        before = __builtin_popcount(set);
        is[set] = 0;
        found_n++;
        assert_int_equal(sis__family_add(&own, kept), SIS_OK);
        if (contrast)
            assert_false(stays(&d->t, d->sets.example));
    }
    assert_int_equal(found, 0);
    assert_int_equal(found_n, expected);
    sis__family_release(&own);
    sis__family_release(&other);
}

static void smallest_sets_and_contrasts_are_all_found_in_order(void **state) {
    (void)state;
    size_t asked = 0;
    for (uint64_t seed = 0; asked < rounds(20); seed++) {
        duel d;
        if (!draw_large(&d.t, seed))
            continue;
        sis__booster_release(&d.t.b);
        if (duel_open(&d, seed)) {
            check_enumeration(&d, 0);
            check_enumeration(&d, 1);
            asked++;
        }
        duel_close(&d);
    }
}

static int prove_once(void *ctx) {
    const question *t = (const question *)ctx;
    sis__prover *p;
    sis__oracle *o = NULL;
    sis__sets sets = {0};
    unsigned char kept[MADE_COLUMNS];
    int order[MADE_COLUMNS], proved;
    int error = sis__prover_new(&t->b, &p);
    memset(kept, 1, sizeof kept);
    if (!error)
        error = sis__trees_oracle(p, &t->q, &o);
    if (!error)
        error = sis__sets_init(&sets, o);
    if (!error)
        error = sis__sets_order(&sets, order);
    if (!error)
        error = sis__sets_minimal(&sets, order, kept, &proved);
    sis__sets_release(&sets);
    sis__oracle_free(o);
    sis__prover_free(p);
    return error;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    question t;
    uint64_t seed = 0;
    while (!draw_large(&t, seed))
        seed++;
    assert_true(with_failing_allocations(prove_once, &t) > 30);
    sis__booster_release(&t.b);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(proofs_agree_with_exhaustive_search),
        cmocka_unit_test(nearest_rows_agree_with_exhaustive_search),
        cmocka_unit_test(nearest_categories_agree_with_exhaustive_search),
        cmocka_unit_test(subsets_hold_and_are_minimal),
        cmocka_unit_test(columns_of_one_feature_are_free_together),
        cmocka_unit_test(invalid_questions_are_refused),
        cmocka_unit_test(the_branch_limit_leaves_questions_open),
        cmocka_unit_test(smallest_sets_and_contrasts_are_all_found_in_order),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
