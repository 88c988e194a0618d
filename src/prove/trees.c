/* SPDX-License-Identifier: MIT
 *
 * See trees.h. A search is about one rival: it looks for an input with
 *
 *     goal = (rival's sum) - (decided output's sum) >= 0      or  threshold - sum > 0  and the like
 *
 * A *frame* is a node of the search: the trees without the tests that the current sets of cells
 * decide, each node with the largest value below it. The sum of the roots' values bounds the goal.
 */
#include "prove/trees.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "prove/cells.h"

enum { DEEPEST = 10000 };
static const uint32_t LEAF = UINT32_MAX;

struct sis__prover {
    const sis__booster *b;
    const sis__ensemble *e; /* owner of the sums of `b` and of the decision; NULL: none */
    sis__cells cells;
    double *room; /* (n_sums) bound on the difference of the library's sums from the exact ones */
};

/* Adding n terms has an error of at most n units in the last place of the sum of their magnitudes.
 * The function from sums to scores of an ensemble adds its own error. */
static int bound_rounding(sis__prover *p) {
    const sis__forest *f = &p->b->forest;
    double unit = f->single ? 0x1p-24 : 0x1p-53, *max = SIS_NEW(double, f->by.n_terms);
    p->room = SIS_NEW(double, f->n_sums);
    int error = max && p->room ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; !error && i < f->n_weights; i++) {
        uint32_t term = f->by.term_of[i];
        max[term] = fmax(max[term], fabs(f->weights[i]));
        if (!isfinite(f->weights[i]))
            error = sis__fail(SIS_E_UNSUPPORTED, "--guarantee all: a leaf is not finite");
    }
    for (size_t k = 0; !error && k < f->n_sums; k++) {
        double all = f->base ? fabs(f->base[k]) : 0;
        for (size_t t = f->by.sum_terms[k]; t < f->by.sum_terms[k + 1]; t++)
            all += max[t];
        p->room[k] = 4 * unit * (double)(f->by.sum_terms[k + 1] - f->by.sum_terms[k] + 8) * all;
        if (p->e)
            p->room[k] += 1e-6 * p->b->divisor;
    }
    free(max);
    return error;
}

static int prover_new(const sis__booster *b, const sis__ensemble *e, sis__prover **out) {
    *out = NULL;
    if (b->forest.depth > DEEPEST || b->forest.linear || b->forest.how > SIS__TREES_AVERAGE)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "--guarantee all supports sums of trees up to %d levels deep", DEEPEST);
    sis__prover *p = SIS_NEW(sis__prover, 1);
    if (!p)
        return SIS_E_NOMEM;
    p->b = b;
    p->e = e;
    int error = sis__cells_init(&p->cells, &b->forest);
    if (!error)
        error = bound_rounding(p);
    if (error) {
        sis__prover_free(p);
        return error;
    }
    *out = p;
    return SIS_OK;
}

int sis__prover_new(const sis__booster *b, sis__prover **out) {
    return prover_new(b, NULL, out);
}

int sis__prover_of_ensemble(const sis__ensemble *e, sis__prover **out) {
    return prover_new(sis__ensemble_booster(e), e, out);
}

int sis__prover_rounds(const sis__prover *p) {
    return p->b->forest.single;
}

void sis__prover_free(sis__prover *p) {
    if (!p)
        return;
    sis__cells_release(&p->cells);
    free(p->room);
    free(p);
}

/* ---- Searches -------------------------------------------------------------------------------- */

typedef struct {
    uint32_t test, yes, no; /* test LEAF: a leaf */
    double max;             /* largest value of a leaf below */
} node;

typedef struct {
    size_t nodes, roots, n_roots; /* offsets of its nodes and roots */
    double constant;              /* sum of the decided trees */
    uint32_t test;                /* the test it branches on */
    int tries, first;
    size_t saved; /* offset of the saved set of the test's column */
} frame;

/* Stacks for the frames from the root of the search to the current one. */
typedef struct {
    node *nodes;
    uint32_t *roots;
    frame *frames;
    uint64_t *saved; /* sets of cells */
    size_t n_nodes, n_roots, n_frames, n_saved, nodes_room, roots_room, frames_room, saved_room;
} stacks;

/* Scratch for one row and its scores. */
typedef struct {
    double *row, *sums, *rest; /* (width), (n_sums), (n_sums) */
    unsigned char *seen;
    double *seen_row; /* (width) */
    float *scores;    /* (outputs) */
} row_room;

/* Columns by feature. */
typedef struct {
    size_t *first;         /* (features + 1) offset of each feature's columns */
    uint32_t *columns;     /* (width) */
    unsigned char *one_of; /* (features) its columns are categories, exactly one of which is 1 */
} groups;

/* State of a search for the nearest row. */
typedef struct {
    const sis__steps *steps; /* NULL: any row */
    double *cost;            /* of each cell, 64 per word of the state */
    double best;             /* cost of the nearest so far, */
    double *best_row;        /* (width) and the row */
} nearest;

typedef struct {
    const sis__prover *p;
    const sis__prove_question *q;
    const sis__oracle *oracle;        /* its deadline is used */
    const unsigned char *free_column; /* (width) */
    uint64_t *state;                  /* sets of cells, column by column */
    uint32_t for_it, against;         /* sums that raise and lower the goal; UINT32_MAX: none */
    double constant, slack;
    sis__ensemble_decision decision; /* for an ensemble */
    stacks on;
    row_room tmp;
    groups by;
    nearest near;
    size_t branches;
    int error;
} search;

static const uint64_t *set_of(const search *s, uint32_t test, size_t *words) {
    const sis__test *t = &s->p->cells.tests[test];
    *words = s->p->cells.columns[t->column].words;
    return t->passed;
}

static uint64_t *column_of(search *s, uint32_t test) {
    return s->state + s->p->cells.first_word[s->p->cells.tests[test].column];
}

static uint32_t push_node(search *s, node n) {
    void *p = s->on.nodes;
    if (!s->error)
        s->error = sis__reserve(&p, &s->on.nodes_room, s->on.n_nodes + 1, sizeof *s->on.nodes);
    s->on.nodes = (node *)p;
    if (s->error)
        return 0;
    s->on.nodes[s->on.n_nodes] = n;
    return (uint32_t)s->on.n_nodes++;
}

static void push_root(search *s, uint32_t root) {
    void *p = s->on.roots;
    if (!s->error)
        s->error = sis__reserve(&p, &s->on.roots_room, s->on.n_roots + 1, sizeof *s->on.roots);
    s->on.roots = (uint32_t *)p;
    if (!s->error)
        s->on.roots[s->on.n_roots++] = root;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Can a test pass (1), fail (2), or both (3)? */
static int outcomes(search *s, uint32_t test) {
    size_t words;
    const uint64_t *passed = set_of(s, test, &words), *set = column_of(s, test);
    uint64_t yes = 0, no = 0;
    for (size_t i = 0; i < words; i++) {
        yes |= set[i] & passed[i];
        no |= set[i] & ~passed[i];
    }
    return (yes != 0) | (no != 0) << 1;
}

/* Copy the tree at `at` without decided tests. */
static uint32_t reduce(search *s, uint32_t at) {
    node n = s->on.nodes[at];
    while (n.test != LEAF && !s->error) {
        int can = outcomes(s, n.test);
        if (can == 3)
            break;
        at = can == 1 ? n.yes : n.no;
        n = s->on.nodes[at];
    }
    if (n.test == LEAF || s->error)
        return push_node(s, n);
    uint32_t yes = reduce(s, n.yes), no = reduce(s, n.no);
    if (s->error)
        return 0;
    const node *a = &s->on.nodes[yes], *b = &s->on.nodes[no];
    if (a->test == LEAF && b->test == LEAF && a->max == b->max) {
        s->on.n_nodes = yes + 1; /* drop the nodes after it */
        return yes;
    }
    return push_node(s, (node){n.test, yes, no, fmax(a->max, b->max)});
}

/* A new frame from the trees of another one, reduced by the current state. */
static void push_frame(search *s, size_t roots, size_t n_roots, double constant) {
    frame f = {.nodes = s->on.n_nodes, .roots = s->on.n_roots, .constant = constant};
    void *p = s->on.frames;
    if (!s->error)
        s->error = sis__reserve(&p, &s->on.frames_room, s->on.n_frames + 1, sizeof *s->on.frames);
    s->on.frames = (frame *)p;
    for (size_t i = 0; !s->error && i < n_roots; i++) {
        uint32_t root = reduce(s, s->on.roots[roots + i]);
        if (s->error)
            return;
        if (s->on.nodes[root].test == LEAF) {
            f.constant += s->on.nodes[root].max;
            s->on.n_nodes = root;
        } else
            push_root(s, root);
    }
    f.n_roots = s->on.n_roots - f.roots;
    if (!s->error)
        s->on.frames[s->on.n_frames++] = f;
}

static double bound_of(const search *s, const frame *f) {
    double bound = f->constant;
    for (size_t i = 0; i < f->n_roots; i++)
        bound += s->on.nodes[s->on.roots[f->roots + i]].max;
    return bound;
}

/* ---- Branching ------------------------------------------------------------------------------- */

/* Upper bound of a tree's loss if one side of a branch is taken, from its root's test. */
static double loss(search *s, const node *root, uint32_t branch, int side) {
    size_t words;
    const uint64_t *passed = set_of(s, root->test, &words), *by = set_of(s, branch, &words);
    const uint64_t *set = column_of(s, branch);
    uint64_t yes = 0, no = 0;
    for (size_t i = 0; i < words; i++) {
        uint64_t left = set[i] & (side ? by[i] : ~by[i]);
        yes |= left & passed[i];
        no |= left & ~passed[i];
    }
    if (yes && no)
        return 0;
    return root->max - s->on.nodes[yes ? root->yes : root->no].max;
}

/* The test that lowers the bound most on both sides. */
static uint32_t choose_test(search *s, const frame *f, int *first) {
    const sis__test *tests = s->p->cells.tests;
    double best = -1;
    uint32_t chosen = s->on.nodes[s->on.roots[f->roots]].test;
    for (size_t i = 0; i < f->n_roots; i++) {
        uint32_t test = s->on.nodes[s->on.roots[f->roots + i]].test;
        double lost[2] = {0, 0};
        for (size_t k = 0; k < f->n_roots; k++) {
            const node *root = &s->on.nodes[s->on.roots[f->roots + k]];
            if (tests[root->test].column != tests[test].column)
                continue;
            if (k < i && root->test == test) { /* already considered */
                lost[0] = lost[1] = -1;
                break;
            }
            lost[0] += loss(s, root, test, 0);
            lost[1] += loss(s, root, test, 1);
        }
        double score = lost[0] < 0 ? -1 : fmin(lost[0], lost[1]) + 0.1 * fmax(lost[0], lost[1]);
        if (score > best) {
            best = score;
            chosen = test;
            *first = lost[1] <= lost[0];
        }
    }
    return chosen;
}

static int is_category(const search *s, size_t j) {
    int f = sis__oracle_feature(s->oracle, j);
    return s->by.one_of && f >= 0 && s->by.one_of[f];
}

/* The columns whose sets change with a test of a column: its own, or all categories of its
 * feature. */
static const uint32_t *columns_with(const search *s, const uint32_t *column, size_t *n) {
    *n = 1;
    if (!is_category(s, *column))
        return column;
    const size_t *first = s->by.first + s->oracle->feature_of[*column];
    *n = first[1] - first[0];
    return s->by.columns + first[0];
}

/* Save their sets. */
static void save_column(search *s, frame *f) {
    const sis__cells *c = &s->p->cells;
    size_t n, words = 0;
    const uint32_t *columns = columns_with(s, &c->tests[f->test].column, &n);
    for (size_t i = 0; i < n; i++)
        words += c->columns[columns[i]].words;
    void *p = s->on.saved;
    s->error = sis__reserve(&p, &s->on.saved_room, s->on.n_saved + words, sizeof *s->on.saved);
    s->on.saved = (uint64_t *)p;
    if (s->error)
        return;
    f->saved = s->on.n_saved;
    for (size_t i = 0; i < n; i++) {
        words = c->columns[columns[i]].words;
        memcpy(s->on.saved + s->on.n_saved, s->state + c->first_word[columns[i]],
               words * sizeof *s->on.saved);
        s->on.n_saved += words;
    }
}

static int has_cell(const uint64_t *set, size_t cell) {
    return set[cell / 64] >> (cell % 64) & 1;
}

static int can_be(const search *s, size_t j, double x) {
    const sis__cells *c = &s->p->cells;
    return has_cell(s->state + c->first_word[j], sis__cells_find(c, j, x));
}

/* Restrict a column to the cell of a number, if the cell is in its set. */
static void set_cell(search *s, size_t j, double x) {
    const sis__cells *c = &s->p->cells;
    uint64_t *set = s->state + c->first_word[j];
    size_t cell = sis__cells_find(c, j, x);
    uint64_t bit = set[cell / 64] & (uint64_t)1 << (cell % 64);
    memset(set, 0, c->columns[j].words * sizeof *set);
    set[cell / 64] = bit;
}

/* Propagate the constraint that exactly one category of a feature is 1: if one must be 1 the others
 * are 0, and the only one that can be 1 is. */
static void propagate_categories(search *s, const uint32_t *columns, size_t n) {
    size_t must = n, can = 0, last = n;
    for (size_t i = 0; i < n; i++) {
        int one = can_be(s, columns[i], 1);
        if (one && !can_be(s, columns[i], 0))
            must = i;
        can += one != 0;
        last = one ? i : last;
    }
    must = must == n && can == 1 ? last : must;
    for (size_t i = 0; must < n && i < n; i++)
        set_cell(s, columns[i], i == must);
}

/* Restore the saved sets, with the column's set restricted to one side (0, 1), or whole (2). */
static void cut_column(search *s, const frame *f, int side) {
    const sis__cells *c = &s->p->cells;
    size_t words, n;
    const uint64_t *passed = set_of(s, f->test, &words), *was = s->on.saved + f->saved;
    const uint32_t *columns = columns_with(s, &c->tests[f->test].column, &n);
    uint64_t *set = column_of(s, f->test);
    for (size_t i = 0; i < n; i++) {
        size_t more = c->columns[columns[i]].words;
        memcpy(s->state + c->first_word[columns[i]], was, more * sizeof *was);
        was += more;
    }
    for (size_t i = 0; side != 2 && i < words; i++)
        set[i] &= side ? passed[i] : ~passed[i];
    if (side != 2 && n > 1)
        propagate_categories(s, columns, n);
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* A value of a cell within the domain, the example's own if possible. */
static double value_in(const search *s, size_t j, size_t cell) {
    const sis__column_cells *c = &s->p->cells.columns[j];
    const sis__prove_question *q = s->q;
    if (cell + 1 == c->n)
        return NAN;
    double low = q->low ? fmax(q->low[j], c->low[cell]) : c->low[cell];
    double high = q->high ? fmin(q->high[j], c->high[cell]) : c->high[cell];
    double x = s->tmp.row[j];
    return x >= low && x <= high ? x : isfinite(low) ? low : isfinite(high) ? high : 0;
}

/* May a category have value x (0 or 1) in the current state and domain? */
static int may_be(const search *s, size_t j, double x) {
    const sis__prove_question *q = s->q;
    return can_be(s, j, x) &&
           (s->tmp.row[j] == x ||
            (s->free_column[j] && (!q->low || x >= q->low[j]) && (!q->high || x <= q->high[j])));
}

/* The column of a categorical feature that is 1 in a row of the current state: the example's if
 * possible, else the first possible one, else UINT32_MAX. */
static uint32_t choose_category(const search *s, size_t f) {
    uint32_t chosen = UINT32_MAX;
    size_t zeros = 0, n = s->by.first[f + 1] - s->by.first[f];
    const uint32_t *columns = s->by.columns + s->by.first[f];
    for (size_t k = 0; k < n; k++)
        zeros += may_be(s, columns[k], 0) != 0;
    for (size_t k = 0; k < n; k++)
        if (may_be(s, columns[k], 1) && zeros - (may_be(s, columns[k], 0) != 0) == n - 1 &&
            (chosen == UINT32_MAX || s->tmp.row[columns[k]] == 1))
            chosen = columns[k];
    return chosen;
}

/* Choose a category for each categorical feature. Returns the number that differ from the example,
 * -1 if a feature has none. */
static int choose_categories(const search *s, double *row) {
    int changed = 0;
    for (size_t f = 0; s->by.one_of && f < s->q->n_features; f++) {
        uint32_t chosen = s->by.one_of[f] ? choose_category(s, f) : 0;
        if (chosen == UINT32_MAX)
            return -1;
        changed += s->by.one_of[f] && s->tmp.row[chosen] != 1;
        for (size_t i = s->by.first[f]; s->by.one_of[f] && i < s->by.first[f + 1]; i++)
            row[s->by.columns[i]] = s->by.columns[i] == chosen;
    }
    return changed;
}

/* A row of the current state, with the example's values where possible. 0: there is none. */
static int make_row(search *s, double *row) {
    const sis__cells *c = &s->p->cells;
    for (size_t j = 0; j < c->width; j++) {
        const uint64_t *set = s->state + c->first_word[j];
        size_t cell = sis__cells_find(c, j, s->tmp.row[j]);
        row[j] = s->tmp.row[j];
        if (!s->free_column[j] || has_cell(set, cell))
            continue;
        for (cell = 0; cell + 1 < c->columns[j].n && !has_cell(set, cell);)
            cell++;
        row[j] = value_in(s, j, cell);
    }
    return choose_categories(s, row) >= 0;
}

/* ---- Near rows ------------------------------------------------------------------------------- */

/* The number in a cell that is nearest to the example's and reachable by its steps; NaN: none. */
static double nearest_in(const search *s, size_t j, size_t cell) {
    const sis__column_cells *c = &s->p->cells.columns[j];
    const sis__prove_question *q = s->q;
    double x = s->tmp.row[j], step = s->near.steps->step ? s->near.steps->step[j] : 0;
    if (cell + 1 == c->n)
        return NAN;
    double low = q->low ? fmax(q->low[j], c->low[cell]) : c->low[cell];
    double high = q->high ? fmin(q->high[j], c->high[cell]) : c->high[cell];
    if (x >= low && x <= high)
        return x;
    low = c->category ? fmax(low, 0) : low;
    if (low > high)
        return NAN;
    double from = isnan(x) || c->category ? 0 : q->row[j], to = isnan(x)  ? fmax(low, fmin(high, 0))
                                                                : x < low ? low
                                                                          : high;
    step = c->category ? 1 : step;
    double n = step > 0 ? trunc((to - from) / step) : 0, y = to;
    for (int k = -1; step > 0 && k <= 2; k++) { /* away from the example */
        y = from + (n + (to < from ? -k : k)) * step;
        y = s->p->b->forest.single ? (double)(float)y : y;
        if (y >= low && y <= high)
            return y;
    }
    return y >= low && y <= high ? y : NAN;
}

/* The cost of each cell that a column may be in. */
static void find_costs(search *s) {
    const sis__cells *c = &s->p->cells;
    for (size_t j = 0; j < c->width; j++)
        for (size_t k = 0; s->free_column[j] && k < c->columns[j].n; k++) {
            double x = s->tmp.row[j], y = nearest_in(s, j, k);
            double scale = s->near.steps->scale ? s->near.steps->scale[j] : 1;
            s->near.cost[64 * c->first_word[j] + k] =
                y == x || (isnan(x) && k + 1 == c->columns[j].n) ? 0
                : isnan(y)                                       ? INFINITY
                : c->columns[j].category || isnan(x)             ? 1
                                                                 : fabs(y - x) / scale;
        }
}

/* The cheapest cell of a column in the current state, among those that pass or fail a test;
 * `passed` NULL: among all. */
static double cheapest_cell(const search *s, size_t j, const uint64_t *passed, int side,
                            size_t *cell) {
    const sis__cells *c = &s->p->cells;
    const uint64_t *set = s->state + c->first_word[j];
    double best = INFINITY;
    for (size_t k = 0; k < c->columns[j].n; k++) {
        double cost = s->near.cost[64 * c->first_word[j] + k];
        if (has_cell(set, k) && (!passed || has_cell(passed, k) == side) && cost < best) {
            best = cost;
            *cell = k;
        }
    }
    return best;
}

/* The nearest row of the current state; returns its distance. */
static double nearest_row(const search *s, double *row) {
    double distance = 0;
    for (size_t j = 0; j < s->p->cells.width; j++) {
        size_t cell = 0;
        row[j] = s->tmp.row[j];
        if (!s->free_column[j] || is_category(s, j))
            continue;
        distance += cheapest_cell(s, j, NULL, 0, &cell);
        if (isinf(distance))
            return distance;
        row[j] = nearest_in(s, j, cell);
    }
    int categories = choose_categories(s, row);
    return categories < 0 ? INFINITY : distance + categories;
}

/* Does the row keep the decision, by the library's own sums? */
static int stays(search *s, const double *row) {
    const sis__booster *b = s->p->b;
    const sis__prove_question *q = s->q;
    double margin;
    if (s->p->e) {
        const sis__ensemble_scratch scratch = {s->tmp.seen_row, s->tmp.sums, s->tmp.seen};
        sis__ensemble_scores(s->p->e, row, &scratch, s->tmp.scores);
        return sis__ensemble_decided(&s->decision, s->tmp.scores, sis__ensemble_outputs(s->p->e));
    }
    sis__forest_sums(&b->forest, row, s->tmp.sums, s->tmp.seen);
    if (q->what == SIS__PROVE_CLASS) {
        for (size_t k = 0; k < b->forest.n_sums; k++)
            if (s->tmp.sums[k] > s->tmp.sums[q->output])
                return 0;
        return 1;
    }
    sis__booster_margins(b, s->tmp.sums, s->tmp.rest, q->output, q->output + 1, &margin);
    return q->what == SIS__PROVE_AT_LEAST ? margin >= q->threshold : margin <= q->threshold;
}

/* ---- One search ------------------------------------------------------------------------------ */

/* The contribution of a leaf to the goal. */
static double contribution(const search *s, const sis__tree_node *leaf) {
    const sis__forest *f = &s->p->b->forest;
    double v = 0;
    for (size_t i = leaf->from; i < leaf->to; i++)
        v += (f->targets[i] == s->for_it ? f->weights[i] : 0) -
             (f->targets[i] == s->against ? f->weights[i] : 0);
    return v;
}

/* Copy the nodes of a tree, with the contributions of its leaves. */
static uint32_t take_tree(search *s, uint32_t at) {
    const sis__tree_node *n = &s->p->b->forest.nodes[at];
    if (n->mode == SIS__NODE_LEAF)
        return push_node(s, (node){LEAF, 0, 0, contribution(s, n)});
    uint32_t test = s->p->cells.test_of[at];
    int can = outcomes(s, test);
    if (can != 3)
        return take_tree(s, can == 1 ? n->yes : n->no);
    uint32_t yes = take_tree(s, n->yes), no = take_tree(s, n->no);
    if (s->error)
        return 0;
    return push_node(s, (node){test, yes, no, fmax(s->on.nodes[yes].max, s->on.nodes[no].max)});
}

/* Does a tree contribute to a sum of the goal? */
static int matters(const search *s, size_t tree) {
    const sis__forest *f = &s->p->b->forest;
    const uint32_t sums[] = {s->for_it, s->against};
    for (size_t i = f->by.tree_start[tree]; i < f->by.tree_start[tree + 1]; i++)
        for (int k = 0; k < 2; k++)
            if (sums[k] != UINT32_MAX && f->by.tree_terms[i] >= f->by.sum_terms[sums[k]] &&
                f->by.tree_terms[i] < f->by.sum_terms[sums[k] + 1])
                return 1;
    return 0;
}

static void start_search(search *s) {
    const sis__forest *f = &s->p->b->forest;
    s->on.n_nodes = s->on.n_roots = s->on.n_frames = s->on.n_saved = 0;
    for (size_t t = 0; !s->error && t < f->n_trees; t++)
        if (matters(s, t))
            push_root(s, take_tree(s, f->roots[t]));
    push_frame(s, 0, s->on.n_roots, s->constant);
}

/* Examine a new frame: 1 if it is finished, -1 if a row was found. */
static int examine(search *s, frame *f, double *example) {
    if (bound_of(s, f) + s->slack < 0)
        return 1;
    if (s->by.one_of && choose_categories(s, example) < 0)
        return 1;
    if (f->n_roots) {
        f->test = choose_test(s, f, &f->first);
        save_column(s, f);
        return 0;
    }
    return !make_row(s, example) || stays(s, example) ? 1 : -1;
}

/* The same when the nearest row is searched: every frame is finished in the end. */
static int examine_nearest(search *s, frame *f, double *example) {
    size_t words, cell;
    if (bound_of(s, f) + s->slack < 0)
        return 1;
    double distance = nearest_row(s, example);
    if (!(distance < s->near.best))
        return 1;
    if (!stays(s, example)) {
        s->near.best = distance;
        memcpy(s->near.best_row, example, s->p->cells.width * sizeof *example);
        return 1;
    }
    if (!f->n_roots)
        return 1;
    f->test = choose_test(s, f, &f->first);
    size_t column = s->p->cells.tests[f->test].column;
    const uint64_t *passed = set_of(s, f->test, &words);
    double yes = cheapest_cell(s, column, passed, 1, &cell);
    double no = cheapest_cell(s, column, passed, 0, &cell);
    if (!is_category(s, column) && yes != no)
        f->first = yes < no;
    save_column(s, f);
    return 0;
}

static void pop(search *s) {
    const frame *f = &s->on.frames[--s->on.n_frames];
    s->on.n_nodes = f->nodes;
    s->on.n_roots = f->roots;
    if (f->tries) {
        cut_column(s, f, 2);
        s->on.n_saved = f->saved;
    }
}

static sis__proof run(search *s, double *example) {
    start_search(s);
    while (!s->error && s->on.n_frames) {
        frame *f = &s->on.frames[s->on.n_frames - 1];
        if (f->tries == 0) {
            int done = (s->near.steps ? examine_nearest : examine)(s, f, example);
            if (done < 0)
                return SIS__PROOF_FAILS;
            if (s->error)
                break;
            if (done) {
                pop(s);
                continue;
            }
        }
        if (f->tries == 2) {
            pop(s);
            continue;
        }
        if ((++s->branches > s->q->max && s->q->max) ||
            (s->branches % 256 == 0 && sis__oracle_late(s->oracle)))
            return SIS__PROOF_NONE;
        cut_column(s, f, f->tries++ == 0 ? f->first : !f->first);
        push_frame(s, f->roots, f->n_roots, f->constant);
    }
    return s->error ? SIS__PROOF_NONE : SIS__PROOF_HOLDS;
}

/* ---- Questions ------------------------------------------------------------------------------- */

static int check_question(const sis__prover *p, const sis__prove_question *q) {
    const sis__booster *b = p->b;
    if (q->output >= b->forest.n_sums)
        return sis__fail(SIS_E_ARGUMENT, "no output %zu: the model has %zu, numbered from 0",
                         q->output, b->forest.n_sums);
    if (q->what != SIS__PROVE_CLASS && b->link == SIS__LINK_SOFTMAX)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "for several classes give --keep class: no proof exists for "
                         "a threshold on a probability");
    if (q->what == SIS__PROVE_CLASS && b->forest.n_sums < 2)
        return sis__fail(SIS_E_ARGUMENT, "a model of one output has no classes; give a threshold");
    return SIS_OK;
}

/* The cells that a free column may be in. */
static void open_column(search *s, size_t j) {
    const sis__column_cells *c = &s->p->cells.columns[j];
    uint64_t *set = s->state + s->p->cells.first_word[j];
    for (size_t k = 0; k + 1 < c->n; k++)
        if ((!s->q->low || c->high[k] >= s->q->low[j]) &&
            (!s->q->high || c->low[k] <= s->q->high[j]))
            set[k / 64] |= (uint64_t)1 << (k % 64);
    if (s->q->missing && s->q->missing[j])
        set[(c->n - 1) / 64] |= (uint64_t)1 << ((c->n - 1) % 64);
}

/* Restrict a category to 0 and 1. */
static void keep_two(search *s, size_t j) {
    const sis__cells *c = &s->p->cells;
    uint64_t *set = s->state + c->first_word[j];
    int zero = can_be(s, j, 0), one = can_be(s, j, 1);
    size_t cells[2] = {sis__cells_find(c, j, 0), sis__cells_find(c, j, 1)};
    memset(set, 0, c->columns[j].words * sizeof *set);
    set[cells[0] / 64] |= (uint64_t)(zero != 0) << (cells[0] % 64);
    set[cells[1] / 64] |= (uint64_t)(one != 0) << (cells[1] % 64);
}

/* The sets of all columns: one cell, or more if the column is free. */
static void open_state(search *s) {
    const sis__cells *c = &s->p->cells;
    memset(s->state, 0, c->first_word[c->width] * sizeof *s->state);
    for (size_t j = 0; j < c->width; j++) {
        size_t cell = sis__cells_find(c, j, s->tmp.row[j]);
        s->state[c->first_word[j] + cell / 64] |= (uint64_t)1 << (cell % 64);
        if (s->free_column[j])
            open_column(s, j);
    }
    for (size_t j = 0; s->by.one_of && j < c->width; j++)
        if (s->free_column[j] && is_category(s, j))
            keep_two(s, j);
}

/* Choose the sums: rival k of a class, or the threshold. */
static void aim(search *s, size_t k) {
    const sis__booster *b = s->p->b;
    const double *base = b->forest.base;
    const sis__prove_question *q = s->q;
    double at = q->threshold * b->divisor / b->scale;
    s->for_it = (uint32_t)k;
    s->against = (uint32_t)q->output;
    s->constant = base ? base[k] - base[q->output] : 0;
    s->slack = s->p->room[k] + s->p->room[q->output];
    if (q->what == SIS__PROVE_CLASS)
        return;
    int at_least = q->what == SIS__PROVE_AT_LEAST;
    s->for_it = at_least ? UINT32_MAX : (uint32_t)q->output;
    s->against = at_least ? (uint32_t)q->output : UINT32_MAX;
    s->constant = (at_least ? at : -at) + (at_least ? -1 : 1) * (base ? base[q->output] : 0);
    s->slack = s->p->room[q->output] + 0x1p-48 * fabs(at);
}

static sis__proof ask(search *s, double *example) {
    size_t n = s->q->what == SIS__PROVE_CLASS ? s->p->b->forest.n_sums : 1;
    sis__proof worst = SIS__PROOF_HOLDS;
    open_state(s);
    for (size_t k = 0; k < n && !s->error && worst != SIS__PROOF_FAILS; k++) {
        if (s->q->what == SIS__PROVE_CLASS && k == s->q->output)
            continue;
        aim(s, k);
        sis__proof proof = run(s, example);
        while (s->on.n_frames) /* restore the state */
            pop(s);
        worst = proof == SIS__PROOF_HOLDS ? worst : proof;
    }
    return worst;
}

static void search_release(search *s) {
    free(s->state);
    free(s->on.nodes);
    free(s->on.roots);
    free(s->on.frames);
    free(s->on.saved);
    free(s->tmp.row);
    free(s->tmp.sums);
    free(s->tmp.rest);
    free(s->tmp.seen);
    free(s->tmp.seen_row);
    free(s->tmp.scores);
    free(s->by.first);
    free(s->by.columns);
    free(s->by.one_of);
    free(s->near.cost);
    free(s->near.best_row);
}

/* Find the categorical features: those with several columns, exactly one of which is 1 and the
 * others 0. */
static int find_categories(search *s) {
    const sis__prove_question *q = s->q;
    size_t width = s->p->cells.width, n = q->n_features;
    s->by.first = SIS_NEW(size_t, n + 1);
    s->by.columns = SIS_NEW(uint32_t, width);
    s->by.one_of = SIS_NEW(unsigned char, n);
    if (!s->by.first || !s->by.columns || !s->by.one_of)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < width; j++)
        if (q->feature_of[j] >= 0)
            s->by.first[q->feature_of[j] + 1]++;
    for (size_t f = 0; f < n; f++)
        s->by.first[f + 1] += s->by.first[f];
    for (size_t j = width; j-- > 0;)
        if (q->feature_of[j] >= 0)
            s->by.columns[--s->by.first[q->feature_of[j] + 1]] = (uint32_t)j;
    for (size_t f = 0; f < n; f++) /* shift: each entry is now the start of the next feature */
        s->by.first[f] = s->by.first[f + 1];
    s->by.first[n] = 0;
    for (size_t j = 0; j < width; j++)
        s->by.first[n] += q->feature_of[j] >= 0;
    for (size_t f = 0; f < n; f++) {
        size_t ones = 0, zeros = 0;
        for (size_t i = s->by.first[f]; i < s->by.first[f + 1]; i++) {
            ones += s->tmp.row[s->by.columns[i]] == 1;
            zeros += s->tmp.row[s->by.columns[i]] == 0;
        }
        s->by.one_of[f] =
            ones == 1 && zeros > 0 && ones + zeros == s->by.first[f + 1] - s->by.first[f];
    }
    return SIS_OK;
}

static int search_init(search *s, const sis__prover *p, const sis__prove_question *q,
                       const unsigned char *free_column) {
    const sis__forest *f = &p->b->forest;
    *s = (search){.p = p, .q = q, .free_column = free_column};
    s->state = SIS_NEW(uint64_t, p->cells.first_word[f->width]);
    s->tmp.row = SIS_NEW(double, f->width);
    s->tmp.sums = SIS_NEW(double, f->n_sums);
    s->tmp.rest = SIS_NEW(double, f->n_sums);
    s->tmp.seen = SIS_NEW(unsigned char, f->n_sums);
    if (p->e) {
        s->tmp.seen_row = SIS_NEW(double, f->width);
        s->tmp.scores = SIS_NEW(float, sis__ensemble_outputs(p->e));
    }
    if (!s->state || !s->tmp.row || !s->tmp.sums || !s->tmp.rest || !s->tmp.seen ||
        (p->e && (!s->tmp.seen_row || !s->tmp.scores)))
        return SIS_E_NOMEM;
    for (size_t j = 0; j < f->width; j++)
        s->tmp.row[j] = f->single ? (double)(float)q->row[j] : q->row[j];
    return q->one_of && q->feature_of ? find_categories(s) : SIS_OK;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* All data for questions about one example. */
typedef struct {
    sis__oracle oracle; /* first */
    sis__prove_question q;
    search s;
    unsigned char *free_column; /* (width) */
    double *ends;               /* (2, width) bounds of the domain, as the trees see them */
} session;

static void free_columns(session *e, const unsigned char *kept) {
    for (size_t j = 0; j < e->oracle.width; j++) {
        int f = sis__oracle_feature(&e->oracle, j);
        e->free_column[j] = f >= 0 && !kept[f];
    }
}

static int session_ask(sis__oracle *o, const unsigned char *kept, sis__proof *proof,
                       double *example) {
    session *e = (session *)o;
    free_columns(e, kept);
    e->s.branches = 0;
    *proof = ask(&e->s, example);
    return e->s.error;
}

static int session_nearest(sis__oracle *o, const unsigned char *kept, const sis__steps *steps,
                           double *example, double *distance, int *proved) {
    session *e = (session *)o;
    search *s = &e->s;
    size_t cells = 64 * s->p->cells.first_word[o->width];
    s->near.cost = s->near.cost ? s->near.cost : SIS_NEW(double, cells);
    s->near.best_row = s->near.best_row ? s->near.best_row : SIS_NEW(double, o->width);
    if (!s->near.cost || !s->near.best_row)
        return SIS_E_NOMEM;
    free_columns(e, kept);
    s->branches = 0;
    s->near.best = INFINITY;
    s->near.steps = steps;
    find_costs(s);
    *proved = ask(s, example) == SIS__PROOF_HOLDS;
    s->near.steps = NULL;
    *distance = s->near.best;
    if (isfinite(s->near.best))
        memcpy(example, s->near.best_row, o->width * sizeof *example);
    return s->error;
}

/* If a categorical feature has no valid category, choose one at random. */
static void session_repair(const sis__oracle *o, sis__rng *r, double *row) {
    const search *s = &((const session *)o)->s;
    for (size_t f = 0; f < o->n_features; f++) {
        size_t n = s->by.first[f + 1] - s->by.first[f], changed = 0;
        const uint32_t *columns = s->by.columns + s->by.first[f];
        for (size_t k = 0; s->by.one_of[f] && k < n; k++)
            changed += row[columns[k]] != s->tmp.row[columns[k]];
        if (!changed)
            continue;
        const sis__prove_question *q = s->q;
        size_t chosen = sis__rng_below(r, n), was = 0;
        while (s->tmp.row[columns[was]] != 1)
            was++;
        if ((q->high && q->high[columns[chosen]] < 1) || (q->low && q->low[columns[was]] > 0))
            chosen = was;
        for (size_t k = 0; k < n; k++)
            row[columns[k]] = k == chosen;
    }
}

/* The bound with these features kept, over all rivals: a measure of the danger to the decision. */
static double bound_kept(session *e, const unsigned char *kept) {
    search *s = &e->s;
    size_t n = s->q->what == SIS__PROVE_CLASS ? s->p->b->forest.n_sums : 1;
    double worst = -INFINITY;
    free_columns(e, kept);
    open_state(s);
    for (size_t k = 0; k < n && !s->error; k++) {
        if (s->q->what == SIS__PROVE_CLASS && k == s->q->output)
            continue;
        aim(s, k);
        start_search(s);
        if (!s->error)
            worst = fmax(worst, bound_of(s, &s->on.frames[0]));
        s->on.n_frames = 0;
    }
    return worst;
}

static int session_harms(sis__oracle *o, const unsigned char *kept, double *harm) {
    session *e = (session *)o;
    unsigned char *now = (unsigned char *)sis__copy(kept, o->n_features, 1);
    for (size_t i = 0; now && !e->s.error && i < o->n_features; i++) {
        now[i] = 0;
        harm[i] = bound_kept(e, now);
        now[i] = kept[i];
    }
    free(now);
    return now ? e->s.error : SIS_E_NOMEM;
}

/* A random end of a cell that the column may be in. */
static double session_draw(const sis__oracle *o, size_t j, sis__rng *r) {
    const session *e = (const session *)o;
    const sis__prove_question *q = &e->q;
    const sis__column_cells *c = &e->s.p->cells.columns[j];
    size_t first = 0, last = c->n - 2;
    if (q->missing && q->missing[j] && sis__rng_below(r, 8) == 0)
        return NAN;
    if (q->low)
        first = sis__cells_find(&e->s.p->cells, j, q->low[j]);
    if (q->high)
        last = sis__cells_find(&e->s.p->cells, j, q->high[j]);
    if (first > last || last + 1 >= c->n)
        return o->row[j];
    size_t cell = first + sis__rng_below(r, last - first + 1);
    double low = q->low ? fmax(q->low[j], c->low[cell]) : c->low[cell];
    double high = q->high ? fmin(q->high[j], c->high[cell]) : c->high[cell];
    double x = sis__rng_below(r, 2) ? low : high;
    return isfinite(x) ? x : isfinite(low) ? low : isfinite(high) ? high : o->row[j];
}

static void session_free(sis__oracle *o) {
    session *e = (session *)o;
    if (!e)
        return;
    search_release(&e->s);
    free(e->free_column);
    free(e->ends);
    free(e);
}

/* Turn a question about an ensemble's scores into one about sums. */
static int question_of_scores(const sis__prover *p, sis__prove_question *q,
                              sis__ensemble_decision *d) {
    sis__ensemble_cut cut;
    *d = (sis__ensemble_decision){.keep_class = q->what == SIS__PROVE_CLASS,
                                  .below = q->what == SIS__PROVE_AT_MOST,
                                  .output = q->output,
                                  .threshold = q->threshold};
    if (q->output >= sis__ensemble_outputs(p->e))
        return sis__fail(SIS_E_ARGUMENT, "no output %zu: the model has %zu, numbered from 0",
                         q->output, sis__ensemble_outputs(p->e));
    int error = sis__ensemble_cut_of(p->e, d, &cut);
    if (!error && cut.of_one) {
        q->what = cut.min ? SIS__PROVE_AT_LEAST : SIS__PROVE_AT_MOST;
        q->output = cut.sum;
        q->threshold = cut.value;
    }
    return error;
}

/* Trees that read floats see the rounded bounds of the domain, and everything between them:
 * rounding is monotone. Cells have float ends, so an unrounded bound could lie outside its own
 * cell. */
static int round_ends(session *e) {
    sis__prove_question *q = &e->q;
    size_t width = e->oracle.width;
    e->ends = SIS_NEW(double, 2 * width);
    if (!e->ends)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < width; j++) {
        e->ends[j] = q->low ? (double)(float)q->low[j] : 0;
        e->ends[width + j] = q->high ? (double)(float)q->high[j] : 0;
    }
    q->low = q->low ? e->ends : NULL;
    q->high = q->high ? e->ends + width : NULL;
    return SIS_OK;
}

static int session_init(session *e, const sis__prover *p) {
    sis__ensemble_decision d = {0};
    int error = p->e ? question_of_scores(p, &e->q, &d) : SIS_OK;
    if (!error)
        error = check_question(p, &e->q);
    if (!error && p->b->forest.single)
        error = round_ends(e);
    if (error)
        return error;
    e->free_column = SIS_NEW(unsigned char, e->oracle.width);
    error = e->free_column ? search_init(&e->s, p, &e->q, e->free_column) : SIS_E_NOMEM;
    e->oracle.row = e->s.tmp.row;
    e->oracle.repair = e->s.by.one_of ? session_repair : NULL;
    e->s.oracle = &e->oracle;
    e->s.decision = d;
    if (!error && !stays(&e->s, e->s.tmp.row))
        error = sis__fail(SIS_E_ARGUMENT, "the example does not have the decision to keep");
    return error;
}

int sis__trees_oracle(const sis__prover *p, const sis__prove_question *q, sis__oracle **out) {
    session *e = SIS_NEW(session, 1);
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    e->q = *q;
    e->oracle = (sis__oracle){.n_features = q->n_features,
                              .width = p->b->forest.width,
                              .feature_of = q->feature_of,
                              .ask = session_ask,
                              .harms = session_harms,
                              .draw = session_draw,
                              .nearest = session_nearest,
                              .free = session_free};
    int error = session_init(e, p);
    if (error)
        session_free(&e->oracle);
    else
        *out = &e->oracle;
    return error;
}
