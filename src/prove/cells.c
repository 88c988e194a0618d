/* SPDX-License-Identifier: MIT
 *
 * Divides the values of each column into cells (cells.h). A test changes its result only at a few
 * numbers (its threshold, the ends of the interval that counts as zero, categories where membership
 * changes). All tests of the column are evaluated at these numbers and their neighbours, sorted; if
 * no result changes from one to the next, both are in one cell.
 */
#include "prove/cells.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/order.h"

/* ---- Numbers to ask about ------------------------------------------------------------------- */

typedef struct {
    const sis__forest *f;
    double *at;
    size_t n, room;
    uint32_t *nodes; /* (n_nodes) splits of the column */
    size_t n_nodes;
} survey;

static double next_to(const sis__forest *f, double x, double to) {
    return f->single ? (double)nextafterf((float)x, (float)to) : nextafter(x, to);
}

/* Add a number and its neighbours. */
static int add_around(survey *s, double x) {
    int error = sis__reserve(&s->at, &s->room, s->n + 3, sizeof *s->at);
    if (error || isnan(x))
        return error;
    const double three[] = {next_to(s->f, x, -INFINITY), x, next_to(s->f, x, INFINITY)};
    for (int i = 0; i < 3; i++)
        if (isfinite(three[i]))
            s->at[s->n++] = three[i] + 0.0; /* -0 is 0 */
    return SIS_OK;
}

/* Add the numbers where membership changes. */
static int add_members(survey *s, const sis__tree_node *n) {
    int before = 0, error = add_around(s, n->value);
    uint32_t end = 32 * (n->to - n->from);
    for (uint32_t k = 0; !error && k <= end; k++) {
        int member = k < end && (s->f->members[n->from + k / 32] >> (k % 32) & 1);
        if (member != before)
            error = add_around(s, k);
        before = member;
    }
    return error;
}

static int add_node(survey *s, const sis__tree_node *n) {
    int error = n->mode == SIS__NODE_IN ? add_members(s, n) : add_around(s, n->value);
    if (!error && n->zero_missing)
        error = add_around(s, -(double)1e-35f);
    return !error && n->zero_missing ? add_around(s, (double)1e-35f) : error;
}

/* ---- Cells ----------------------------------------------------------------------------------- */

/* Do all tests give the same result for both numbers? */
static int same_answers(const survey *s, double a, double b) {
    for (size_t i = 0; i < s->n_nodes; i++) {
        const sis__tree_node *n = &s->f->nodes[s->nodes[i]];
        if (sis__forest_yes(s->f, n, a) != sis__forest_yes(s->f, n, b))
            return 0;
    }
    return 1;
}

/* Sort the numbers and merge those with the same results. */
static int make_cells(survey *s, sis__column_cells *c) {
    qsort(s->at, s->n, sizeof *s->at, sis__by_double);
    c->low = SIS_NEW(double, s->n + 1);
    c->high = SIS_NEW(double, s->n + 1);
    if (!c->low || !c->high)
        return SIS_E_NOMEM;
    c->low[0] = -INFINITY;
    size_t n = 0;
    for (size_t i = 1; i < s->n; i++)
        if (s->at[i] != s->at[i - 1] && !same_answers(s, s->at[i - 1], s->at[i])) {
            c->high[n++] = s->at[i - 1];
            c->low[n] = s->at[i];
        }
    c->high[n] = INFINITY;
    c->n = n + 2;
    c->words = (c->n + 63) / 64;
    return SIS_OK;
}

/* A number in the cell; NaN for the missing value. */
static double inside(const sis__column_cells *c, size_t i) {
    if (i + 1 == c->n)
        return NAN;
    return isfinite(c->low[i]) ? c->low[i] : isfinite(c->high[i]) ? c->high[i] : 0;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

typedef struct {
    uint32_t node;
    const uint64_t *set;
    size_t words;
} found;

static int by_set(const void *a, const void *b) {
    const found *x = (const found *)a, *y = (const found *)b;
    int order = memcmp(x->set, y->set, x->words * sizeof *x->set);
    return order ? order : (x->node > y->node) - (x->node < y->node);
}

/* The sets of all tests of a column; equal sets get the same number. */
static int make_tests(sis__cells *c, const survey *s, size_t column) {
    const sis__column_cells *cells = &c->columns[column];
    size_t words = cells->words;
    uint64_t *sets = (uint64_t *)sis__alloc(s->n_nodes, words * sizeof *sets);
    found *all = SIS_NEW(found, s->n_nodes);
    c->blocks[column] = sets;
    if (!sets || !all) {
        free(all);
        return SIS_E_NOMEM;
    }
    for (size_t i = 0; i < s->n_nodes; i++) {
        uint64_t *set = sets + i * words;
        for (size_t k = 0; k < cells->n; k++)
            if (sis__forest_yes(s->f, &s->f->nodes[s->nodes[i]], inside(cells, k)))
                set[k / 64] |= (uint64_t)1 << (k % 64);
        all[i] = (found){s->nodes[i], set, words};
    }
    qsort(all, s->n_nodes, sizeof *all, by_set);
    for (size_t i = 0; i < s->n_nodes; i++) {
        if (i == 0 || memcmp(all[i].set, all[i - 1].set, words * sizeof *sets) != 0)
            c->tests[c->n_tests++] = (sis__test){(uint32_t)column, all[i].set};
        c->test_of[all[i].node] = (uint32_t)c->n_tests - 1;
    }
    free(all);
    return SIS_OK;
}

static int init_column(sis__cells *c, const sis__forest *f, size_t column, uint32_t *nodes,
                       size_t n) {
    survey s = {.f = f, .nodes = nodes, .n_nodes = n};
    int error = add_around(&s, 0);
    for (size_t i = 0; !error && i < n; i++) {
        error = add_node(&s, &f->nodes[nodes[i]]);
        c->columns[column].category |= f->nodes[nodes[i]].mode == SIS__NODE_IN;
    }
    if (!error)
        error = make_cells(&s, &c->columns[column]);
    if (!error)
        error = make_tests(c, &s, column);
    free(s.at);
    return error;
}

/* List splits by column (counting sort). */
static int list_splits(const sis__forest *f, uint32_t **nodes, size_t **start) {
    *start = SIS_NEW(size_t, f->width + 1);
    *nodes = SIS_NEW(uint32_t, f->n_nodes);
    if (!*start || !*nodes)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < f->n_nodes; i++)
        if (f->nodes[i].mode != SIS__NODE_LEAF)
            (*start)[f->nodes[i].feature]++;
    for (size_t j = 0; j < f->width; j++)
        (*start)[j + 1] += (*start)[j];
    for (size_t i = f->n_nodes; i-- > 0;)
        if (f->nodes[i].mode != SIS__NODE_LEAF)
            (*nodes)[--(*start)[f->nodes[i].feature]] = (uint32_t)i;
    return SIS_OK;
}

int sis__cells_init(sis__cells *c, const sis__forest *f) {
    uint32_t *nodes = NULL;
    size_t *start = NULL;
    *c = (sis__cells){.width = f->width};
    c->columns = SIS_NEW(sis__column_cells, f->width);
    c->tests = SIS_NEW(sis__test, f->n_nodes);
    c->test_of = SIS_NEW(uint32_t, f->n_nodes);
    c->blocks = SIS_NEW(uint64_t *, f->width);
    c->first_word = SIS_NEW(size_t, f->width + 1);
    int error = c->columns && c->tests && c->test_of && c->blocks && c->first_word
                    ? list_splits(f, &nodes, &start)
                    : SIS_E_NOMEM;
    for (size_t j = 0; !error && j < f->width; j++) {
        error = init_column(c, f, j, nodes + start[j], start[j + 1] - start[j]);
        c->first_word[j + 1] = c->first_word[j] + c->columns[j].words;
    }
    free(nodes);
    free(start);
    if (error)
        sis__cells_release(c);
    return error;
}

void sis__cells_release(sis__cells *c) {
    for (size_t j = 0; j < c->width; j++) {
        if (c->columns) {
            free(c->columns[j].low);
            free(c->columns[j].high);
        }
        if (c->blocks)
            free(c->blocks[j]);
    }
    free(c->columns);
    free(c->tests);
    free(c->test_of);
    free(c->blocks);
    free(c->first_word);
    *c = (sis__cells){0};
}

size_t sis__cells_find(const sis__cells *c, size_t column, double x) {
    const sis__column_cells *cells = &c->columns[column];
    size_t low = 0, high = cells->n - 2;
    if (isnan(x))
        return cells->n - 1;
    while (low < high) { /* the first that does not end below x */
        size_t middle = low + (high - low) / 2;
        if (cells->high[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
