/* SPDX-License-Identifier: MIT
 *
 * See booster.h.
 */
#include "trees/booster.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "trees/document.h"

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

static void free_words(char **words) {
    for (size_t k = 0; words && words[k]; k++)
        free(words[k]);
    free(words);
}

void sis__booster_release(sis__booster *b) {
    for (size_t j = 0; b->words && j < b->forest.width; j++)
        free_words(b->words[j]);
    free(b->words);
    for (size_t j = 0; b->names && j < b->forest.width; j++)
        free(b->names[j]);
    free(b->names);
    free(b->objective);
    free(b->categorical);
    sis__forest_release(&b->forest);
    *b = (sis__booster){0};
}

/* ---- Words of categories --------------------------------------------------------------------- */

int sis__booster_add_word(sis__booster *b, size_t column, const char *word, size_t n) {
    enum { MAX = 10000 };
    size_t k = 0;
    if (!b->words && !(b->words = SIS_NEW(char **, b->forest.width)))
        return SIS_E_NOMEM;
    for (; b->words[column] && b->words[column][k]; k++)
        if (strlen(b->words[column][k]) == n && memcmp(b->words[column][k], word, n) == 0)
            return sis__fail(SIS_E_FORMAT, "the category \"%.80s\" is listed twice",
                             b->words[column][k]);
    if (k == MAX)
        return sis__fail(SIS_E_UNSUPPORTED, "a column of more than %d categories", MAX);
    char **more = sis__realloc(b->words[column], k + 2, sizeof *more);
    if (!more)
        return SIS_E_NOMEM;
    b->words[column] = more;
    more[k] = more[k + 1] = NULL;
    if (!(more[k] = sis__alloc(n + 1, 1)))
        return SIS_E_NOMEM;
    memcpy(more[k], word, n);
    return SIS_OK;
}

/* The column of a name, or of a number from 0 if the model has no names. */
static int find_column(const sis__booster *b, const char *name, size_t *column) {
    char number[32];
    for (*column = 0; *column < b->forest.width; ++*column) {
        snprintf(number, sizeof number, "%zu", *column);
        if (strcmp(b->names ? b->names[*column] : number, name) == 0)
            return b->categorical[*column]
                       ? SIS_OK
                       : sis__fail(SIS_E_FORMAT, "no tree takes this column as categories");
    }
    return sis__fail(SIS_E_FORMAT, "the model has no such column");
}

/* A list of texts, or of numbers, whose text is the shortest. */
int sis__booster_set_words(sis__booster *b, size_t column, const sis__doc *list) {
    char number[32];
    int error = SIS_OK;
    if ((list->kind != SIS__DOC_LIST && list->kind != SIS__DOC_NUMBERS) || list->n == 0)
        return sis__fail(SIS_E_FORMAT, "expected a list of words");
    if (b->words) {
        free_words(b->words[column]);
        b->words[column] = NULL;
    }
    for (size_t k = 0; k < list->n && !error; k++) {
        const char *word = number;
        if (list->kind == SIS__DOC_NUMBERS)
            sis__format(number, sizeof number, "%.17g", list->numbers[k]);
        else if (list->items[k].kind == SIS__DOC_TEXT)
            word = list->items[k].text;
        else
            return sis__fail(SIS_E_FORMAT, "expected a list of words");
        error = sis__booster_add_word(b, column, word, strlen(word));
    }
    return error;
}

int sis__booster_take_words(sis__booster *b, const char *bytes, size_t n) {
    sis__document d;
    size_t column;
    int error = sis__json_parse(bytes, n, &d);
    if (error)
        return error;
    if (d.root.kind != SIS__DOC_OBJECT || d.root.n == 0)
        error = sis__fail(SIS_E_FORMAT, "expected {\"column\":[\"word\",...],...}");
    for (size_t i = 0; !error && i < d.root.n; i++) {
        const sis__doc *list = &d.root.items[i];
        error = find_column(b, list->name, &column);
        for (size_t k = 0; !error && k < i; k++)
            if (strcmp(d.root.items[k].name, list->name) == 0)
                error = sis__fail(SIS_E_FORMAT, "the column is listed twice");
        if (!error)
            error = sis__booster_set_words(b, column, list);
        if (error && error != SIS_E_NOMEM)
            error = sis__fail_in(error, "\"%.80s\"", list->name);
    }
    sis__document_release(&d);
    return error;
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
