/* SPDX-License-Identifier: MIT
 *
 * The oracle of networks and linear models: bounds, counterexamples, branch and bound. See nets.h.
 */
#include "prove/nets.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "prove/bounds.h"

static const double MAX_WORK = 4e7; /* limit of weights processed for one question */
enum { MAX_BRANCHES = 1000 };       /* limit for one question */
enum { TUNE_FIRST = 12, TUNE_BRANCH = 6, TUNE_LAST = 120, DOWN = 4, BRANCHES_PAY = 20 };

typedef struct {
    sis__oracle oracle; /* first */
    const sis__circuit *c;
    sis__net_question q;
    double *row;     /* (width) the example, as the network sees it */
    double *kept_by; /* (outputs) in the last question: lower bound of the lead over each rival */
    double *margins; /* (outputs) */
    sis__bounds b;
    double slack;
    size_t branches;   /* in this question */
    double tight_work; /* upper bound of the work to bound the inputs of all ReLUs */
    int assumed;       /* the current bounds depend on an assumption */
} session;

/* x * y, but 0 times infinity is 0. */
static double times(double x, double y) {
    return x == 0 || y == 0 ? 0 : x * y;
}

/* ---- Questions ------------------------------------------------------------------------------- */

/* Is tuning a function expensive? Then only bounds are used. */
static int is_large(const session *e) {
    return 2.0 * TUNE_FIRST * (double)e->c->weights > MAX_WORK;
}

/* Does the decision compare outputs? */
static int has_rivals(const session *e) {
    return e->q.keep_class ||
           ((e->c->end == SIS__END_SOFTMAX || e->c->end == SIS__END_SHARES) && e->c->outputs > 1);
}

static double sign_of(const session *e) {
    return e->q.below ? -1 : 1;
}

/* Set the goal, which must stay positive: sign times (output minus rival j), or, without rivals,
 * sign times output, which must stay above the margin. */
static void aim(session *e, size_t j) {
    memset(e->b.goal, 0, e->c->outputs * sizeof *e->b.goal);
    e->b.goal[e->q.input->output] = sign_of(e);
    if (has_rivals(e))
        e->b.goal[j] = -sign_of(e);
}

/* The value that a bound of the goal must reach, softmaxes aside. */
static double needed(const session *e) {
    return e->slack + (e->q.keep_class || has_rivals(e) ? 0 : sign_of(e) * e->q.margin);
}

static int is_rival(const session *e, size_t j) {
    return has_rivals(e) ? j != e->q.input->output : j == e->q.input->output;
}

/* A lower bound of the decision's margin, from the bounds of all rivals. */
static double min_kept(const session *e) {
    double min = INFINITY, sum = 0, sign = sign_of(e);
    for (size_t j = 0; j < e->c->outputs; j++)
        if (is_rival(e, j)) {
            min = fmin(min, e->kept_by[j] - needed(e));
            sum += exp(-sign * e->kept_by[j]); /* softmax: all rivals together */
        }
    if (has_rivals(e) && !e->q.keep_class)
        min = sign * (-log(sum) - e->q.margin) - e->slack;
    return isnan(min) ? -INFINITY : min;
}

/* Bound all rivals at once. */
static void bound_all(session *e) {
    size_t last = e->c->n - 1, rivals[SIS__BOUNDS_LANES], n = 0;
    double bound[SIS__BOUNDS_LANES];
    for (size_t j = 0; j < e->c->outputs; j++) {
        if (is_rival(e, j))
            rivals[n++] = j;
        if (n < SIS__BOUNDS_LANES && j + 1 < e->c->outputs)
            continue;
        memset(e->b.coef[last], 0, e->c->outputs * n * sizeof **e->b.coef);
        for (size_t m = 0; m < n; m++) {
            aim(e, rivals[m]);
            for (size_t i = 0; i < e->c->outputs; i++)
                e->b.coef[last][i * n + m] = e->b.goal[i];
        }
        if (n)
            sis__bounds_back(&e->b, last, n, bound);
        for (size_t m = 0; m < n; m++)
            e->kept_by[rivals[m]] = bound[m];
        n = 0;
    }
}

static void open_box(session *e, const unsigned char *kept) {
    for (size_t j = 0; j < e->c->width; j++) {
        int f = sis__oracle_feature(&e->oracle, j), is_free = f >= 0 && !kept[f];
        double x = isnan(e->row[j]) && e->c->zero_if_missing ? 0 : e->row[j];
        double low = e->q.low ? fmin(x, (double)(float)e->q.low[j]) : -INFINITY;
        double high = e->q.high ? fmax(x, (double)(float)e->q.high[j]) : INFINITY;
        int missing = e->c->zero_if_missing && e->q.missing && e->q.missing[j];
        e->b.low[0][j] = !is_free ? x : missing ? fmin(low, 0) : low;
        e->b.high[0][j] = !is_free ? x : missing ? fmax(high, 0) : high;
    }
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* The corner of the box that the coefficients point to; infinite ends at distance `far`. */
static void take_corner(const session *e, double far, double *row) {
    for (size_t j = 0; j < e->c->width; j++) {
        double a = e->b.coef[0][j], low = e->b.low[0][j], high = e->b.high[0][j];
        double x = a > 0 ? low : high;
        row[j] = e->row[j];
        if (a == 0 || low == high)
            continue;
        row[j] = isfinite(x) ? x : e->row[j] + (x > 0 ? far : -far);
        if (x == 0 && e->c->zero_if_missing &&
            ((e->q.low && e->q.low[j] > 0) || (e->q.high && e->q.high[j] < 0)))
            row[j] = NAN;
    }
}

/* Is the decision lost? NaN, where a network overflows, counts as neither: it refutes nothing, and
 * does not support a proof. */
static int is_lost(session *e, const double *row, int *lost) {
    const sis_model *m = e->q.model;
    int error = m->predict(m->ctx, row, 1, e->c->width, e->margins);
    double margin = error ? 0 : e->margins[e->q.input->output];
    double score = m->link ? m->link(margin) : margin;
    *lost = !error && !isnan(score) && !sis_decided(score, e->q.threshold, e->q.below);
    return error;
}

/* Is the corner a counterexample? */
static int try_corner(session *e, double *example, int *lost) {
    int error = SIS_OK, open = 0;
    for (size_t j = 0; j < e->c->width; j++)
        open |= (e->b.coef[0][j] > 0 && isinf(e->b.low[0][j])) ||
                (e->b.coef[0][j] < 0 && isinf(e->b.high[0][j]));
    *lost = 0;
    for (double far = 1; !error && !*lost && far < 1e13; far *= open ? 10 : 1e13) {
        take_corner(e, far, example);
        error = is_lost(e, example, lost);
    }
    return error;
}

/* Descend along gradients from the corner of the last bound, corner by corner. */
static int descend(session *e, double *example, int *lost) {
    int error = try_corner(e, example, lost);
    for (int i = 0; !error && !*lost && i < DOWN; i++) {
        for (size_t j = 0; j < e->c->width; j++)
            e->b.point[0][j] = isnan(example[j]) ? 0 : example[j];
        sis__bounds_slope(&e->b);
        error = try_corner(e, example, lost);
    }
    return error;
}

/* The nearest allowed value: the box spans the domain and the example's own value, and values
 * between the two may be in neither. */
static double allowed(const session *e, size_t j, double x) {
    double low = e->q.low ? (double)(float)e->q.low[j] : -INFINITY;
    double high = e->q.high ? (double)(float)e->q.high[j] : INFINITY;
    double near = fmin(high, fmax(low, x));
    return !(low <= high) || fabs(x - e->row[j]) <= fabs(x - near) ? e->row[j] : near;
}

/* Is the mean of the inputs during tuning a counterexample? */
static int try_mean(session *e, double *example, sis__proof *proof) {
    int lost = 0;
    for (size_t j = 0; j < e->c->width; j++) {
        double low = e->b.low[0][j], high = e->b.high[0][j];
        example[j] = low == high ? e->row[j] : allowed(e, j, (double)(float)e->b.mean[j]);
    }
    int error = is_lost(e, example, &lost);
    *proof = lost ? SIS__PROOF_FAILS : SIS__PROOF_NONE;
    return error;
}

/* ---- Branches -------------------------------------------------------------------------------- */

static int branch(session *e, int steps, double *example, sis__proof *proof);

/* Assume one sign of a ReLU, then the other. */
static int split(session *e, size_t node, size_t number, double *example, sis__proof *proof) {
    int error = SIS_OK;
    int first = e->b.point[e->c->nodes[node].from[0]][number] > 0 ? 1 : -1;
    sis__proof worst = SIS__PROOF_HOLDS;
    for (int side = 0; !error && side < 2 && worst == SIS__PROOF_HOLDS; side++) {
        e->b.split[node][number] = (signed char)(side ? -first : first);
        e->b.beta[node][number] = 0;
        e->assumed = 1;
        error = sis__bounds_forward(&e->b, 1) ? branch(e, TUNE_BRANCH, example, proof)
                                              : (*proof = SIS__PROOF_HOLDS, SIS_OK);
        worst = *proof;
    }
    e->b.split[node][number] = 0;
    e->b.beta[node][number] = 0;
    *proof = worst;
    return error;
}

/* Decide one goal under the current assumptions. */
static int branch(session *e, int steps, double *example, sis__proof *proof) {
    size_t node, number;
    int lost = 0;
    *proof = SIS__PROOF_NONE;
    if (sis__bounds_tune(&e->b, steps, needed(e)) > needed(e)) {
        *proof = SIS__PROOF_HOLDS;
        return SIS_OK;
    }
    int open = sis__bounds_widest(&e->b, &node, &number);
    int error = try_corner(e, example, &lost);
    if (lost)
        *proof = SIS__PROOF_FAILS;
    if (error || lost || e->b.work + BRANCHES_PAY * e->tight_work > MAX_WORK ||
        ++e->branches > MAX_BRANCHES || sis__oracle_late(&e->oracle))
        return error;
    if (!open) { /* a linear program: only its weights are left to tune */
        if (sis__bounds_tune(&e->b, TUNE_LAST, needed(e)) > needed(e))
            *proof = SIS__PROOF_HOLDS;
        return *proof == SIS__PROOF_HOLDS ? SIS_OK : try_mean(e, example, proof);
    }
    return split(e, node, number, example, proof);
}

/* The rival with the smallest lead; SIZE_MAX: all are proved to be behind. */
static size_t closest(const session *e) {
    size_t found = SIZE_MAX;
    for (size_t j = 0; j < e->c->outputs; j++)
        if (is_rival(e, j) && e->kept_by[j] <= needed(e) &&
            (found == SIZE_MAX || e->kept_by[j] < e->kept_by[found]))
            found = j;
    return found;
}

/* Decide all rivals that are not yet proved to be behind. */
static int decide(session *e, double *example, sis__proof *proof) {
    int error = SIS_OK, shares = has_rivals(e) && !e->q.keep_class;
    *proof = SIS__PROOF_HOLDS;
    while (!error && *proof == SIS__PROOF_HOLDS) {
        size_t j = closest(e);
        if (j == SIZE_MAX)
            break;
        aim(e, j);
        sis__bounds_reset(&e->b);
        if (e->assumed)
            sis__bounds_forward(&e->b, 1);
        e->assumed = 0;
        error = branch(e, TUNE_FIRST, example, proof);
        e->kept_by[j] = INFINITY;
    }
    if (shares && *proof == SIS__PROOF_HOLDS)
        *proof = SIS__PROOF_NONE; /* each is behind, but all together? */
    return error;
}

/* Search counterexamples for the open rivals. */
static int refute(session *e, double *example, int *lost) {
    int error = SIS_OK;
    *lost = 0;
    for (size_t j = 0; !error && !*lost && j < e->c->outputs; j++) {
        if (!is_rival(e, j) || (e->q.keep_class && e->kept_by[j] > needed(e)) ||
            (e->q.keep_class && is_large(e) && j != closest(e)))
            continue;
        aim(e, j);
        memcpy(e->b.coef[e->c->n - 1], e->b.goal, e->c->outputs * sizeof *e->b.goal);
        sis__bounds_back(&e->b, e->c->n - 1, 1, (double[1]){0});
        error = descend(e, example, lost);
    }
    return error;
}

/* Bound all rivals, first by intervals, then tightened: 1 if the decision stays. */
static int prove(session *e, const unsigned char *kept) {
    open_box(e, kept);
    e->assumed = 0;
    for (int tight = 0; tight < 2; tight++) {
        double before = e->b.work;
        sis__bounds_reset(&e->b);
        sis__bounds_forward(&e->b, 2 * tight);
        e->tight_work = fmax(e->tight_work, e->b.work - before);
        bound_all(e);
        if (min_kept(e) > 0)
            return 1;
    }
    return 0;
}

static int session_ask(sis__oracle *o, const unsigned char *kept, sis__proof *proof,
                       double *example) {
    session *e = (session *)o;
    int lost, any_free = 0;
    e->b.work = 0;
    e->branches = 0;
    *proof = prove(e, kept) ? SIS__PROOF_HOLDS : SIS__PROOF_NONE;
    for (size_t j = 0; j < e->c->width; j++)
        any_free |= e->b.low[0][j] < e->b.high[0][j];
    if (!any_free) /* the example itself */
        *proof = SIS__PROOF_HOLDS;
    if (*proof == SIS__PROOF_HOLDS)
        return SIS_OK;
    int error = refute(e, example, &lost);
    if (lost)
        *proof = SIS__PROOF_FAILS;
    return error || lost || is_large(e) ? error : decide(e, example, proof);
}

/* ---- Order ----------------------------------------------------------------------------------- */

/* How much of the lead over the closest rival each feature would cost if it were free, from linear
 * bounds with the current box. */
static int session_harms(sis__oracle *o, const unsigned char *kept, double *harm) {
    session *e = (session *)o;
    size_t n = 0, rivals = has_rivals(e) ? e->c->outputs - 1 : 1;
    memset(harm, 0, o->n_features * sizeof *harm);
    prove(e, kept);
    if (rivals > SIS__BOUNDS_LANES) /* only the coefficients of the last rivals are available */
        rivals = (rivals - 1) % SIS__BOUNDS_LANES + 1;
    for (size_t j = 0; j < e->c->width; j++) {
        int f = sis__oracle_feature(o, j);
        double x = e->row[j], low = e->q.low ? fmin(0, e->q.low[j] - x) : -1, worst = 0;
        double high = e->q.high ? fmax(0, e->q.high[j] - x) : 1;
        n = 0;
        for (size_t r = 0; r < e->c->outputs; r++) {
            if (!is_rival(e, r) || n >= rivals)
                continue;
            double a = e->b.coef[0][j * rivals + n++], left = e->kept_by[r] - needed(e);
            worst = fmax(worst, -times(a, a > 0 ? low : high) / fmax(left, 1e-6));
        }
        if (f >= 0)
            harm[f] += worst;
    }
    return SIS_OK;
}

static double session_draw(const sis__oracle *o, size_t j, sis__rng *r) {
    const session *e = (const session *)o;
    double x = e->row[j], low = e->q.low ? (double)(float)e->q.low[j] : x - 10;
    double high = e->q.high ? (double)(float)e->q.high[j] : x + 10;
    switch (sis__rng_below(r, 4)) {
    case 0:
        return fmin(x, low);
    case 1:
        return fmax(x, high);
    case 2:
        return e->q.low ? low + (high - low) * sis__rng_uniform(r) : x + 1000 * sis__rng_normal(r);
    default:
        return low + (high - low) * sis__rng_uniform(r);
    }
}

static void session_worsen(sis__oracle *o, const unsigned char *kept, const double *from,
                           size_t turn, double *row) {
    session *e = (session *)o;
    size_t rivals = has_rivals(e) ? e->c->outputs - 1 : 1, rival = turn % rivals;
    open_box(e, kept);
    aim(e, has_rivals(e) && rival >= e->q.input->output ? rival + 1 : rival);
    for (size_t j = 0; j < e->c->width; j++)
        e->b.point[0][j] = isnan(from[j]) ? 0 : from[j];
    sis__bounds_slope(&e->b);
    take_corner(e, 1000, row);
    for (size_t j = 0; turn / rivals % 2 && j < e->c->width; j++) /* half of the distance */
        if (e->b.low[0][j] < e->b.high[0][j] && !isnan(row[j]))
            row[j] =
                allowed(e, j, (double)(float)(e->b.point[0][j] + (row[j] - e->b.point[0][j]) / 2));
}

static void session_free(sis__oracle *o) {
    session *e = (session *)o;
    sis__bounds_release(&e->b);
    free(e->row);
    free(e->kept_by);
    free(e->margins);
    free(e);
}

static int session_init(session *e) {
    const sis__circuit *c = e->c;
    int rounded = c->end == SIS__END_LOGISTIC || c->end == SIS__END_SHARES;
    e->row = SIS_NEW(double, c->width);
    e->kept_by = SIS_NEW(double, c->outputs);
    e->margins = SIS_NEW(double, e->q.model->n_outputs);
    if (c->end == SIS__END_RATIOS && !e->q.keep_class)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "for several classes with normalised scores give --keep "
                         "class: no proof exists for a threshold");
    e->slack = e->q.keep_class ? 0 : (rounded ? 1e-5 : 1e-9) * (1 + fabs(e->q.margin));
    if (!e->row || !e->kept_by || !e->margins)
        return SIS_E_NOMEM;
    for (size_t j = 0; j < c->width; j++)
        e->row[j] = (double)(float)e->q.input->values[j];
    return sis__bounds_init(&e->b, c);
}

int sis__net_oracle(const sis__circuit *c, const sis__net_question *q, size_t n_features,
                    sis__oracle **out) {
    session *e = SIS_NEW(session, 1);
    *out = NULL;
    if (!e)
        return SIS_E_NOMEM;
    e->c = c;
    e->q = *q;
    int error = session_init(e);
    e->oracle = (sis__oracle){.n_features = n_features,
                              .width = c->width,
                              .row = e->row,
                              .feature_of = q->input->feature_of,
                              .adapts = 1,
                              .ask = session_ask,
                              .harms = session_harms,
                              .draw = session_draw,
                              .worsen = session_worsen,
                              .free = session_free};
    if (error)
        session_free(&e->oracle);
    else
        *out = &e->oracle;
    return error;
}
