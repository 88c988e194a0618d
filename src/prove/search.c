/* SPDX-License-Identifier: MIT
 *
 * Branch and bound over the frames of search.h. A frame is reduced by the current state: decided
 * tests are left out. If its bound does not decide, the test that lowers the bound most is assumed
 * to pass and then to fail.
 */
#include "prove/search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

static const uint32_t LEAF = UINT32_MAX;

static const uint64_t *set_of(const sis__search *s, uint32_t test, size_t *words) {
    const sis__test *t = &s->p->cells.tests[test];
    *words = s->p->cells.columns[t->column].words;
    return t->passed;
}

static uint64_t *column_of(sis__search *s, uint32_t test) {
    return s->state + s->p->cells.first_word[s->p->cells.tests[test].column];
}

static uint32_t push_node(sis__search *s, sis__search_node n) {
    if (!s->error)
        s->error =
            sis__reserve(&s->on.nodes, &s->on.nodes_room, s->on.n_nodes + 1, sizeof *s->on.nodes);
    if (s->error)
        return 0;
    s->on.nodes[s->on.n_nodes] = n;
    return (uint32_t)s->on.n_nodes++;
}

static void push_root(sis__search *s, uint32_t root) {
    if (!s->error)
        s->error =
            sis__reserve(&s->on.roots, &s->on.roots_room, s->on.n_roots + 1, sizeof *s->on.roots);
    if (!s->error)
        s->on.roots[s->on.n_roots++] = root;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

/* Can a test pass (1), fail (2), or both (3)? */
static int outcomes(sis__search *s, uint32_t test) {
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
static uint32_t reduce(sis__search *s, uint32_t at) {
    sis__search_node n = s->on.nodes[at];
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
    const sis__search_node *a = &s->on.nodes[yes], *b = &s->on.nodes[no];
    if (a->test == LEAF && b->test == LEAF && a->max == b->max) {
        s->on.n_nodes = yes + 1; /* drop the nodes after it */
        return yes;
    }
    return push_node(s, (sis__search_node){n.test, yes, no, fmax(a->max, b->max)});
}

/* A new frame from the trees of another one, reduced by the current state. */
static void push_frame(sis__search *s, size_t roots, size_t n_roots, double constant) {
    sis__search_frame f = {.nodes = s->on.n_nodes, .roots = s->on.n_roots, .constant = constant};
    if (!s->error)
        s->error = sis__reserve(&s->on.frames, &s->on.frames_room, s->on.n_frames + 1,
                                sizeof *s->on.frames);
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

double sis__search_bound(const sis__search *s, const sis__search_frame *f) {
    double bound = f->constant;
    for (size_t i = 0; i < f->n_roots; i++)
        bound += s->on.nodes[s->on.roots[f->roots + i]].max;
    return bound;
}

/* ---- Branching ------------------------------------------------------------------------------- */

/* Upper bound of a tree's loss if one side of a branch is taken, from its root's test. */
static double loss(sis__search *s, const sis__search_node *root, uint32_t branch, int side) {
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
static uint32_t choose_test(sis__search *s, const sis__search_frame *f, int *first) {
    const sis__test *tests = s->p->cells.tests;
    double best = -1;
    uint32_t chosen = s->on.nodes[s->on.roots[f->roots]].test;
    for (size_t i = 0; i < f->n_roots; i++) {
        uint32_t test = s->on.nodes[s->on.roots[f->roots + i]].test;
        double lost[2] = {0, 0};
        for (size_t k = 0; k < f->n_roots; k++) {
            const sis__search_node *root = &s->on.nodes[s->on.roots[f->roots + k]];
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

/* The columns whose sets change with a test of a column: its own, or all categories of its
 * feature. */
static const uint32_t *columns_with(const sis__search *s, const uint32_t *column, size_t *n) {
    *n = 1;
    if (!sis__search_is_category(s, *column))
        return column;
    const size_t *first = s->by.first + s->oracle->feature_of[*column];
    *n = first[1] - first[0];
    return s->by.columns + first[0];
}

/* Save their sets. */
static void save_column(sis__search *s, sis__search_frame *f) {
    const sis__cells *c = &s->p->cells;
    size_t n, words = 0;
    const uint32_t *columns = columns_with(s, &c->tests[f->test].column, &n);
    for (size_t i = 0; i < n; i++)
        words += c->columns[columns[i]].words;
    s->error =
        sis__reserve(&s->on.saved, &s->on.saved_room, s->on.n_saved + words, sizeof *s->on.saved);
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

/* Restrict a column to the cell of a number, if the cell is in its set. */
static void set_cell(sis__search *s, size_t j, double x) {
    const sis__cells *c = &s->p->cells;
    uint64_t *set = s->state + c->first_word[j];
    size_t cell = sis__cells_find(c, j, x);
    uint64_t bit = set[cell / 64] & (uint64_t)1 << (cell % 64);
    memset(set, 0, c->columns[j].words * sizeof *set);
    set[cell / 64] = bit;
}

/* Propagate the constraint that exactly one category of a feature is 1: if one must be 1 the others
 * are 0, and the only one that can be 1 is. */
static void propagate_categories(sis__search *s, const uint32_t *columns, size_t n) {
    size_t must = n, can = 0, last = n;
    for (size_t i = 0; i < n; i++) {
        int one = sis__search_can_be(s, columns[i], 1);
        if (one && !sis__search_can_be(s, columns[i], 0))
            must = i;
        can += one != 0;
        last = one ? i : last;
    }
    must = must == n && can == 1 ? last : must;
    for (size_t i = 0; must < n && i < n; i++)
        set_cell(s, columns[i], i == must);
}

/* Restore the saved sets, with the column's set restricted to one side (0, 1), or whole (2). */
static void cut_column(sis__search *s, const sis__search_frame *f, int side) {
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

/* ---- One search ------------------------------------------------------------------------------ */

/* The contribution of a leaf to the goal. */
static double contribution(const sis__search *s, const sis__tree_node *leaf) {
    const sis__forest *f = &s->p->b->forest;
    double v = 0;
    for (size_t i = leaf->from; i < leaf->to; i++)
        v += (f->targets[i] == s->for_it ? f->weights[i] : 0) -
             (f->targets[i] == s->against ? f->weights[i] : 0);
    return v;
}

/* Copy the nodes of a tree, with the contributions of its leaves. */
static uint32_t take_tree(sis__search *s, uint32_t at) {
    const sis__tree_node *n = &s->p->b->forest.nodes[at];
    if (n->mode == SIS__NODE_LEAF)
        return push_node(s, (sis__search_node){LEAF, 0, 0, contribution(s, n)});
    uint32_t test = s->p->cells.test_of[at];
    int can = outcomes(s, test);
    if (can != 3)
        return take_tree(s, can == 1 ? n->yes : n->no);
    uint32_t yes = take_tree(s, n->yes), no = take_tree(s, n->no);
    if (s->error)
        return 0;
    return push_node(
        s, (sis__search_node){test, yes, no, fmax(s->on.nodes[yes].max, s->on.nodes[no].max)});
}

/* Does a tree contribute to a sum of the goal? */
static int matters(const sis__search *s, size_t tree) {
    const sis__forest *f = &s->p->b->forest;
    const uint32_t sums[] = {s->for_it, s->against};
    for (size_t i = f->by.tree_start[tree]; i < f->by.tree_start[tree + 1]; i++)
        for (int k = 0; k < 2; k++)
            if (sums[k] != UINT32_MAX && f->by.tree_terms[i] >= f->by.sum_terms[sums[k]] &&
                f->by.tree_terms[i] < f->by.sum_terms[sums[k] + 1])
                return 1;
    return 0;
}

void sis__search_start(sis__search *s) {
    const sis__forest *f = &s->p->b->forest;
    s->on.n_nodes = s->on.n_roots = s->on.n_frames = s->on.n_saved = 0;
    for (size_t t = 0; !s->error && t < f->n_trees; t++)
        if (matters(s, t))
            push_root(s, take_tree(s, f->roots[t]));
    push_frame(s, 0, s->on.n_roots, s->constant);
}

/* Examine a new frame: 1 if it is finished, -1 if a row was found. */
static int examine(sis__search *s, sis__search_frame *f, double *example) {
    if (sis__search_bound(s, f) + s->slack < 0)
        return 1;
    if (s->by.one_of && sis__row_categories(s, example) < 0)
        return 1;
    if (f->n_roots) {
        f->test = choose_test(s, f, &f->first);
        save_column(s, f);
        return 0;
    }
    return !sis__row_make(s, example) || sis__row_stays(s, example) ? 1 : -1;
}

/* The same when the nearest row is searched: every frame is finished in the end. */
static int examine_nearest(sis__search *s, sis__search_frame *f, double *example) {
    size_t words, cell;
    if (sis__search_bound(s, f) + s->slack < 0)
        return 1;
    double distance = sis__row_nearest(s, example);
    if (!(distance < s->near.best))
        return 1;
    if (!sis__row_stays(s, example)) {
        s->near.best = distance;
        memcpy(s->near.best_row, example, s->p->cells.width * sizeof *example);
        return 1;
    }
    if (!f->n_roots)
        return 1;
    f->test = choose_test(s, f, &f->first);
    size_t column = s->p->cells.tests[f->test].column;
    const uint64_t *passed = set_of(s, f->test, &words);
    double yes = sis__row_cheapest(s, column, passed, 1, &cell);
    double no = sis__row_cheapest(s, column, passed, 0, &cell);
    if (!sis__search_is_category(s, column) && yes != no)
        f->first = yes < no;
    save_column(s, f);
    return 0;
}

void sis__search_pop(sis__search *s) {
    const sis__search_frame *f = &s->on.frames[--s->on.n_frames];
    s->on.n_nodes = f->nodes;
    s->on.n_roots = f->roots;
    if (f->tries) {
        cut_column(s, f, 2);
        s->on.n_saved = f->saved;
    }
}

sis__proof sis__search_run(sis__search *s, double *example) {
    sis__search_start(s);
    while (!s->error && s->on.n_frames) {
        sis__search_frame *f = &s->on.frames[s->on.n_frames - 1];
        if (f->tries == 0) {
            int done = (s->near.steps ? examine_nearest : examine)(s, f, example);
            if (done < 0)
                return SIS__PROOF_FAILS;
            if (s->error)
                break;
            if (done) {
                sis__search_pop(s);
                continue;
            }
        }
        if (f->tries == 2) {
            sis__search_pop(s);
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
