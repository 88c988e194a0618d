/* SPDX-License-Identifier: MIT
 *
 * The oracle of boosted trees (trees.h): answers a question about an example by a search (search.h)
 * for each rival, another output that could win instead.
 */
#include "prove/trees.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "prove/search.h"

enum { DEEPEST = 10000 };

/* Adding n terms has an error of at most n units in the last place of the sum of their magnitudes
 * (f->size, for an ensemble without the base). The function from sums to scores of an ensemble adds
 * its own error. */
static int bound_rounding(sis__prover *p) {
    const sis__forest *f = &p->b->forest;
    double unit = f->single ? 0x1p-24 : 0x1p-53;
    if (!(p->room = SIS_NEW(double, f->n_sums)))
        return SIS_E_NOMEM;
    for (size_t k = 0; k < f->n_sums; k++) {
        double size = f->size[k] + (p->e && f->base ? fabs(f->base[k]) : 0);
        if (!isfinite(size))
            return sis__fail(SIS_E_UNSUPPORTED, "--guarantee all: a leaf is not finite");
        p->room[k] = 4 * unit * (double)(f->by.sum_terms[k + 1] - f->by.sum_terms[k] + 8) * size;
        if (p->e)
            p->room[k] += 1e-6 * p->b->divisor;
    }
    return SIS_OK;
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
static void open_column(sis__search *s, size_t j) {
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
static void keep_two(sis__search *s, size_t j) {
    const sis__cells *c = &s->p->cells;
    uint64_t *set = s->state + c->first_word[j];
    int zero = sis__search_can_be(s, j, 0), one = sis__search_can_be(s, j, 1);
    size_t cells[2] = {sis__cells_find(c, j, 0), sis__cells_find(c, j, 1)};
    memset(set, 0, c->columns[j].words * sizeof *set);
    set[cells[0] / 64] |= (uint64_t)(zero != 0) << (cells[0] % 64);
    set[cells[1] / 64] |= (uint64_t)(one != 0) << (cells[1] % 64);
}

/* The sets of all columns: one cell, or more if the column is free. */
static void open_state(sis__search *s) {
    const sis__cells *c = &s->p->cells;
    memset(s->state, 0, c->first_word[c->width] * sizeof *s->state);
    for (size_t j = 0; j < c->width; j++) {
        size_t cell = sis__cells_find(c, j, s->tmp.row[j]);
        s->state[c->first_word[j] + cell / 64] |= (uint64_t)1 << (cell % 64);
        if (s->free_column[j])
            open_column(s, j);
    }
    for (size_t j = 0; s->by.one_of && j < c->width; j++)
        if (s->free_column[j] && sis__search_is_category(s, j))
            keep_two(s, j);
}

/* Choose the sums: rival k of a class, or the threshold. */
static void aim(sis__search *s, size_t k) {
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

static sis__proof ask(sis__search *s, double *example) {
    size_t n = s->q->what == SIS__PROVE_CLASS ? s->p->b->forest.n_sums : 1;
    sis__proof worst = SIS__PROOF_HOLDS;
    open_state(s);
    for (size_t k = 0; k < n && !s->error && worst != SIS__PROOF_FAILS; k++) {
        if (s->q->what == SIS__PROVE_CLASS && k == s->q->output)
            continue;
        aim(s, k);
        sis__proof proof = sis__search_run(s, example);
        while (s->on.n_frames) /* restore the state */
            sis__search_pop(s);
        worst = proof == SIS__PROOF_HOLDS ? worst : proof;
    }
    return worst;
}

static void search_release(sis__search *s) {
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
static int find_categories(sis__search *s) {
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

static int search_init(sis__search *s, const sis__prover *p, const sis__prove_question *q,
                       const unsigned char *free_column) {
    const sis__forest *f = &p->b->forest;
    *s = (sis__search){.p = p, .q = q, .free_column = free_column};
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
    sis__search s;
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
    sis__search *s = &e->s;
    size_t cells = 64 * s->p->cells.first_word[o->width];
    s->near.cost = s->near.cost ? s->near.cost : SIS_NEW(double, cells);
    s->near.best_row = s->near.best_row ? s->near.best_row : SIS_NEW(double, o->width);
    if (!s->near.cost || !s->near.best_row)
        return SIS_E_NOMEM;
    free_columns(e, kept);
    s->branches = 0;
    s->near.best = INFINITY;
    s->near.steps = steps;
    sis__row_costs(s);
    *proved = ask(s, example) == SIS__PROOF_HOLDS;
    s->near.steps = NULL;
    *distance = s->near.best;
    if (isfinite(s->near.best))
        memcpy(example, s->near.best_row, o->width * sizeof *example);
    return s->error;
}

/* If a categorical feature has no valid category, choose one at random. */
static void session_repair(const sis__oracle *o, sis__rng *r, double *row) {
    const sis__search *s = &((const session *)o)->s;
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
    sis__search *s = &e->s;
    size_t n = s->q->what == SIS__PROVE_CLASS ? s->p->b->forest.n_sums : 1;
    double worst = -INFINITY;
    free_columns(e, kept);
    open_state(s);
    for (size_t k = 0; k < n && !s->error; k++) {
        if (s->q->what == SIS__PROVE_CLASS && k == s->q->output)
            continue;
        aim(s, k);
        sis__search_start(s);
        if (!s->error)
            worst = fmax(worst, sis__search_bound(s, &s->on.frames[0]));
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
    if (!error && !sis__row_stays(&e->s, e->s.tmp.row))
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
