/* SPDX-License-Identifier: MIT
 *
 * Explanations of published models: three inputs of each model with features. If full passes are
 * fast enough, order, subsets and scores must equal theirs, and every claim must hold. For larger
 * models, the first steps of the walk are compared with full passes.
 */
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "model/network.h"
#include "support_zoo.h"

enum { INPUTS = 3, STEPS = 3, SAMPLE = 12 };
static const double max_products = 2e7; /* of a selection by full passes */

typedef struct {
    size_t models, whole, first_steps, subsets, left_out;
} tally;

/* ---- Small models ------------------------------------------------------------------------------- */

static sis_trace select_by(const zoo_model *m, int exact) {
    sis_opt opt = decision(0);
    sis_trace t;
    sis_walk *w;
    opt.exact = exact;
    assert_int_equal(sis_walk_new(&m->model, &m->input, &opt, &w), SIS_OK);
    assert_int_equal(sis_backselect(w, &opt, &t), SIS_OK);
    sis_walk_free(w);
    return t;
}

static void compare_orders(const zoo_model *m) {
    sis_trace walked = select_by(m, 0), full = select_by(m, 1);
    assert_int_equal(walked.n, full.n);
    assert_memory_equal(walked.order, full.order, full.n * sizeof *full.order);
    for (size_t i = 0; i < full.n; i++)
        if (!(fabs(walked.scores[i] - full.scores[i]) <= 1e-5 * (1 + fabs(full.scores[i]))))
            fail_msg("%s, step %zu: %.9g instead of %.9g", m->name, i, walked.scores[i],
                     full.scores[i]);
    sis_trace_release(&walked);
    sis_trace_release(&full);
}

/* Halfway between the score of the input and that of the mask. */
static sis_opt halfway(const zoo_model *m) {
    sis_opt opt = decision(-1e300); /* reached by every input: only the two scores are needed */
    sis_collection c;
    assert_int_equal(sis_collect(&m->model, &m->input, &opt, &c), SIS_OK);
    opt.threshold = (c.score + c.masked_score) / 2;
    opt.below = c.score < c.masked_score;
    opt.max_subsets = 3;
    sis_collection_release(&c);
    return opt;
}

static void compare_subsets(const zoo_model *m, tally *t) {
    sis_opt opt = halfway(m);
    sis_collection walked, full;
    sis_audit audit;
    assert_int_equal(sis_collect(&m->model, &m->input, &opt, &walked), SIS_OK);
    assert_int_equal(sis_verify(&m->model, &m->input, &opt, &walked, &audit), SIS_OK);
    if (!audit.holds)
        fail_msg("%s: %s", m->name, audit.reason);
    opt.exact = 1;
    assert_int_equal(sis_collect(&m->model, &m->input, &opt, &full), SIS_OK);
    assert_same_subsets(&walked, &full);
    assert_true(walked.n_subsets == 0 || walked.verified);
    t->subsets += walked.n_subsets;
    sis_audit_release(&audit);
    sis_collection_release(&walked);
    sis_collection_release(&full);
}

/* ---- The first steps ---------------------------------------------------------------------------- */

/* Some features in each step, spread over the remaining ones; the best of them is masked. */
static void compare_steps(const zoo_model *m, sis_walk *walked, sis_walk *full) {
    size_t n = m->n_features < SAMPLE ? m->n_features : SAMPLE;
    for (size_t step = 0; step < STEPS; step++) {
        int features[SAMPLE], best = 0;
        double a[SAMPLE], b[SAMPLE];
        for (size_t i = 0; i < n; i++)
            features[i] = (int)((i * m->n_features + step * 7) / n % m->n_features);
        assert_int_equal(sis_walk_probe(walked, features, n, a), SIS_OK);
        assert_int_equal(sis_walk_probe(full, features, n, b), SIS_OK);
        for (size_t i = 0; i < n; i++) {
            if (!(fabs(a[i] - b[i]) <= (1e-6 + walked->tolerance) * (1 + fabs(b[i]))))
                fail_msg("%s, step %zu, feature %d: %.9g instead of %.9g", m->name, step,
                         features[i], a[i], b[i]);
            if (walked->tolerance == 0 && a[i] != b[i])
                fail_msg("%s: an exact walk says %.17g, a full pass %.17g", m->name, a[i], b[i]);
            best = b[i] > b[best] ? (int)i : best;
        }
        assert_int_equal(sis_walk_mask(walked, features[best], NULL), SIS_OK);
        assert_int_equal(sis_walk_mask(full, features[best], NULL), SIS_OK);
    }
}

/* 0 if the model has no walk of its own for this input, so that there is nothing to compare. */
static int compare_beginnings(const zoo_model *m) {
    sis_opt opt = decision(0);
    sis_walk *walked, *full;
    assert_int_equal(sis_walk_new(&m->model, &m->input, &opt, &walked), SIS_OK);
    int own = sis_walk_is_own(walked);
    opt.exact = 1;
    assert_int_equal(sis_walk_new(&m->model, &m->input, &opt, &full), SIS_OK);
    if (own)
        compare_steps(m, walked, full);
    sis_walk_free(walked);
    sis_walk_free(full);
    return own;
}

/* ---- All of them -------------------------------------------------------------------------------- */

static int explain(void *ctx, zoo_model *m) {
    tally *t = (tally *)ctx;
    double p = (double)m->n_features,
           products = m->why ? 0 : sis_net_flops(sis_model_net(&m->model));
    int small = p * (p + 1) / 2 * (products > 0 ? products : 1e7) <= max_products;
    t->models++;
    t->left_out += m->why != NULL;
    for (unsigned i = 0; !m->why && i < rounds(INPUTS); i++) {
        if (i > 0)
            zoo_shuffle(m, i);
        ((network_model *)m->model.ctx)->always_walk = i != 1; /* or the cheaper one */
        if (small) {
            compare_orders(m);
            compare_subsets(m, t);
        } else if (!compare_beginnings(m)) {
            t->left_out += i == 0;
            return 0;
        }
        t->whole += i == 0 && small;
        t->first_steps += i == 0 && !small;
    }
    return 0;
}

static void explanations_are_those_of_full_passes(void **state) {
    (void)state;
    tally t = {0};
    const char *index = shared_data("zoo/index.tsv");
    char folder[4096];
    if (!index)
        skip();
    snprintf(folder, sizeof folder, "%.*s", (int)(strlen(index) - strlen("/index.tsv")), index);
    assert_int_equal(zoo_each(folder, explain, &t), 0);
    printf(
        "%zu models: %zu explained and compared whole (%zu subsets), the first steps of %zu; %zu "
        "have several inputs, texts or no walk\n",
        t.models, t.whole, t.subsets, t.first_steps, t.left_out);
    assert_true(t.whole >= 40 && t.first_steps >= 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(explanations_are_those_of_full_passes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
