/* SPDX-License-Identifier: MIT
 *
 * See booster.h.
 */
#include "trees/booster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"

/* ---- Making ---------------------------------------------------------------------------------- */

int sis__booster_allocate(sis__booster *b) {
    sis__forest *f = &b->forest;
    f->nodes = SIS_NEW(sis__tree_node, f->n_nodes);
    f->roots = SIS_NEW(uint32_t, f->n_trees);
    f->targets = SIS_NEW(uint32_t, f->n_weights);
    f->weights = SIS_NEW(double, f->n_weights);
    f->members = SIS_NEW(uint32_t, f->n_members);
    f->base = SIS_NEW(double, f->n_sums);
    return f->nodes && f->roots && f->targets && f->weights && f->members && f->base ? SIS_OK
                                                                                     : SIS_E_NOMEM;
}

int sis__booster_finish(sis__booster *b) {
    int error = sis__forest_finish(&b->forest, NULL, NULL);
    if (error)
        return error;
    b->categorical = SIS_NEW(unsigned char, b->forest.width);
    if (!b->categorical)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < b->forest.n_nodes; i++)
        if (b->forest.nodes[i].mode == SIS__NODE_IN)
            b->categorical[b->forest.nodes[i].feature] = 1;
    return SIS_OK;
}

void sis__booster_release(sis__booster *b) {
    for (size_t j = 0; b->names && j < b->forest.width; j++)
        free(b->names[j]);
    free(b->names);
    free(b->objective);
    free(b->categorical);
    sis__forest_release(&b->forest);
    *b = (sis__booster){0};
}

/* ---- Margins --------------------------------------------------------------------------------- */

/* Logarithm of the sum of exp(z[j]) over all j != k, with the largest z factored out. */
static double log_rest(const double *z, size_t n, size_t k, const double *exps, double max) {
    double sum = 0;
    for (size_t j = 0; j < n; j++)
        if (j != k)
            sum += exps ? exps[j] : exp(z[j] - max);
    return max + log(sum);
}

static size_t index_of_max(const double *z, size_t n, size_t but) {
    size_t best = but == 0 ? 1 : 0;
    for (size_t j = best + 1; j < n; j++)
        if (j != but && z[j] > z[best])
            best = j;
    return best;
}

/* The margin of a class is its log odds against all other classes. */
static void log_odds(const double *z, size_t n, double *exps, size_t from, size_t to,
                     double *margins) {
    for (size_t k = from; n == 2 && k < to; k++)
        margins[k - from] = z[k] - z[1 - k];
    if (n == 2)
        return;
    size_t best = index_of_max(z, n, SIZE_MAX);
    for (size_t j = 0; j < n; j++)
        exps[j] = exp(z[j] - z[best]);
    for (size_t k = from; k < to; k++)
        margins[k - from] = z[k] - (k == best ? log_rest(z, n, k, NULL, z[index_of_max(z, n, k)])
                                              : log_rest(z, n, k, exps, z[best]));
}

void sis__booster_margins(const sis__booster *b, double *sums, double *rest, size_t from, size_t to,
                          double *margins) {
    size_t n = b->forest.n_sums;
    for (size_t k = 0; k < n; k++)
        sums[k] = sis__booster_scaled(b, sums[k]);
    if (b->link == SIS__LINK_SOFTMAX)
        log_odds(sums, n, rest, from, to, margins);
    else
        memcpy(margins, sums + from, (to - from) * sizeof *margins);
}

static double logistic(double m) {
    return m >= 0 ? 1 / (1 + exp(-m)) : exp(m) / (1 + exp(m));
}

static double step(double m) {
    return m > 0;
}

static double square(double m) {
    return copysign(m * m, m);
}

static double softplus(double m) {
    return m > 30 ? m + log1p(exp(-m)) : log1p(exp(m));
}

double (*sis__booster_score(const sis__booster *b))(double margin) {
    switch (b->link) {
    case SIS__LINK_LOGISTIC:
    case SIS__LINK_SOFTMAX:
        return logistic;
    case SIS__LINK_EXP:
        return exp;
    case SIS__LINK_STEP:
        return step;
    case SIS__LINK_SQUARE:
        return square;
    case SIS__LINK_SOFTPLUS:
        return softplus;
    default:
        return NULL;
    }
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void describe_outputs(const sis__booster *b, sis__buf *t) {
    size_t n = b->forest.n_sums;
    static const char *const meaning[] = {"",
                                          ", a probability",
                                          "",
                                          ", exp of the sum",
                                          ", 1 if the sum is above 0",
                                          ", the square of the sum",
                                          ", log(1 + exp(sum))"};
    if (b->link == SIS__LINK_SOFTMAX)
        sis__buf_printf(t, "outputs: the probabilities of %zu classes\n", n);
    else
        sis__buf_printf(t, "outputs: %zu score%s%s\n", n, n == 1 ? "" : "s", meaning[b->link]);
}

/* "age, income (categories), ...": the columns that some tree uses. */
static void describe_columns(const sis__booster *b, const unsigned char *used, sis__buf *t) {
    enum { MAX = 12 };
    size_t n = 0, width = b->forest.width;
    for (size_t j = 0; j < width; j++)
        n += used[j];
    sis__buf_printf(t, "features: %zu, of which %zu are used", width, n);
    for (size_t j = 0, told = 0; j < width && told <= MAX; j++) {
        if (!used[j])
            continue;
        const char *separator = told ? ", " : ": ";
        if (++told > MAX)
            sis__buf_str(t, ", ...");
        else if (b->names)
            sis__buf_printf(t, "%s%.60s", separator, b->names[j]);
        else
            sis__buf_printf(t, "%s%zu", separator, j);
        if (told <= MAX && b->categorical[j])
            sis__buf_str(t, " (categories)");
    }
    sis__buf_char(t, '\n');
}

static size_t count_leaves(const sis__forest *f, unsigned char *used) {
    size_t leaves = 0;
    for (size_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].mode == SIS__NODE_LEAF)
            leaves++;
        else
            used[f->nodes[i].feature] = 1;
    for (size_t j = 0; f->linear && j < f->width; j++)
        for (size_t k = 0; k < f->n_sums; k++)
            used[j] |= f->linear[j * f->n_sums + k] != 0;
    return leaves;
}

int sis__booster_describe(const sis__booster *b, char **text) {
    const sis__forest *f = &b->forest;
    unsigned char *used = SIS_NEW(unsigned char, f->width);
    sis__buf t;
    size_t unused;
    if (!used)
        return SIS_E_NOMEM;
    size_t leaves = count_leaves(f, used);
    sis__buf_init(&t);
    sis__buf_printf(&t, "%s %s, objective %s\n", b->library, b->kind,
                    *b->objective ? b->objective : "not given");
    describe_outputs(b, &t);
    if (f->linear)
        sis__buf_printf(&t, "weights: %zu\n", f->width * f->n_sums);
    else
        sis__buf_printf(&t, "trees: %zu, depth up to %zu, %zu leaves\n", f->n_trees, f->depth,
                        leaves);
    describe_columns(b, used, &t);
    free(used);
    return sis__buf_give(&t, text, &unused);
}
