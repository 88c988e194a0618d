/* SPDX-License-Identifier: MIT
 *
 * See support_oracle.h.
 */
#include "support_oracle.h"

#include <math.h>
#include <string.h>

#include "support.h"

static double table_value(const function *f, const double *x, double steps) {
    uint64_t h = f->salt;
    for (size_t i = 0; i < f->n; i++) {
        uint64_t bits;
        memcpy(&bits, &x[i], sizeof bits);
        h = (h ^ bits) * 0x9E3779B97F4A7C15u;
        h ^= h >> 29;
    }
    return floor((double)(h >> 11) * 0x1p-53 * steps) / steps;
}

static double network_value(const function *f, const double *x) {
    double y = 0;
    for (size_t j = 0; j < f->n; j++) {
        double a = 0;
        for (size_t i = 0; i < f->n; i++)
            a += f->v[j][i] * x[i];
        y += f->w[j] * (a > 0 ? a : 0);
    }
    return y;
}

double function_value(const function *f, const double *x) {
    double y = 0;
    switch (f->temper) {
    case LINEAR:
        for (size_t i = 0; i < f->n; i++)
            y += f->w[i] * x[i];
        return y;
    case PRODUCTS:
        for (size_t i = 0; i + 1 < f->n; i++)
            y += f->w[i] * x[i] * x[i + 1];
        return y + f->w[0] * x[0];
    case NETWORK:
        return network_value(f, x);
    case TABLE: /* an arbitrary set function */
        return table_value(f, x, 1e9);
    default: /* one with many ties */
        return table_value(f, x, 4);
    }
}

int function_predict(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    function *f = (function *)ctx;
    f->rows += n;
    for (size_t i = 0; i < n; i++)
        scores[i] = function_value(f, rows + i * width);
    return 0;
}

void problem_init(problem *p, sis__rng *r) {
    *p = (problem){0};
    function *f = &p->f;
    f->temper = (temper)sis__rng_below(r, N_TEMPERS);
    f->n = 1 + sis__rng_below(r, f->temper == TABLE || f->temper == COARSE ? 9 : MAX);
    f->salt = sis__rng_next(r);
    for (size_t i = 0; i < f->n; i++) {
        f->w[i] = sis__rng_normal(r);
        p->x[i] = sis__rng_normal(r);
        p->z[i] = sis__rng_below(r, 6) == 0 ? p->x[i] : 0.3 * sis__rng_normal(r);
        for (size_t j = 0; j < f->n; j++)
            f->v[i][j] = sis__rng_normal(r);
    }
    p->threshold = function_value(f, p->x) - 0.3 * fabs(sis__rng_normal(r));
    if (sis__rng_below(r, 4) == 0)
        p->threshold = function_value(f, p->x);
    p->model = (sis_model){
        .size = sizeof(sis_model), .predict = function_predict, .ctx = f, .n_outputs = 1};
    p->input = (sis_input){.values = p->x, .mask = p->z, .n_values = f->n};
}

double present_value(const problem *p, const unsigned char *present) {
    double row[MAX];
    for (size_t i = 0; i < p->f.n; i++)
        row[i] = present[i] ? p->x[i] : p->z[i];
    return function_value(&p->f, row);
}

/* f(x_S); S is the set of features that are not masked. */
static double masked_value(const problem *p, const unsigned char *masked) {
    double row[MAX];
    for (size_t i = 0; i < p->f.n; i++)
        row[i] = masked[i] ? p->z[i] : p->x[i];
    return function_value(&p->f, row);
}

/* BackSelect: the stack R, bottom first, with the value after each push. */
static size_t back_select(const problem *p, unsigned char *masked, int below, int *order,
                          double *trace) {
    size_t n = 0;
    for (;;) {
        int best = -1;
        double value = 0;
        for (size_t i = 0; i < p->f.n; i++) {
            if (masked[i])
                continue;
            masked[i] = 1;
            double y = masked_value(p, masked);
            masked[i] = 0;
            if (best < 0 || (below ? y < value : y > value)) {
                best = (int)i;
                value = y;
            }
        }
        if (best < 0)
            return n;
        masked[best] = 1;
        order[n] = best;
        trace[n++] = value;
    }
}

static int reached(double y, double threshold, int below) {
    return sis_decided(y, threshold, below);
}

void oracle_collect(const problem *p, double threshold, int below, answer *out) {
    unsigned char gone[MAX] = {0}, masked[MAX];
    *out = (answer){.status = SIS_STATUS_EXPLAINED};
    memset(masked, 1, sizeof masked);
    if (!reached(masked_value(p, gone), threshold, below))
        out->status = SIS_STATUS_NOT_DECIDED;
    else if (reached(masked_value(p, masked), threshold, below))
        out->status = SIS_STATUS_DEFAULT_DECISION;
    if (out->status != SIS_STATUS_EXPLAINED)
        return;
    do {
        int order[MAX], *subset = out->subsets[out->n_subsets];
        double trace[MAX];
        memcpy(masked, gone, sizeof gone);
        size_t n = back_select(p, masked, below, order, trace), size = 0;
        if (out->n_subsets == 0) {
            memcpy(out->order, order, sizeof order);
            memcpy(out->trace, trace, sizeof trace);
        }
        memset(masked, 1, sizeof masked);
        while (!reached(masked_value(p, masked), threshold, below)) {
            subset[size] = order[n - 1 - size];
            masked[subset[size]] = 0;
            gone[subset[size++]] = 1;
        }
        out->scores[out->n_subsets] = masked_value(p, masked);
        out->sizes[out->n_subsets++] = size;
        out->rest = masked_value(p, gone);
    } while (reached(out->rest, threshold, below));
}

void assert_answer(const sis_collection *c, const answer *a) {
    assert_int_equal(c->status, a->status);
    assert_int_equal(c->n_subsets, a->n_subsets);
    for (size_t k = 0; k < a->n_subsets; k++) {
        assert_int_equal(c->subsets[k].n, a->sizes[k]);
        for (size_t i = 0; i < a->sizes[k]; i++)
            assert_int_equal(c->subsets[k].features[i], a->subsets[k][i]);
        assert_true(c->subsets[k].score == a->scores[k]);
    }
    if (a->n_subsets == 0)
        return;
    assert_true(c->rest_score == a->rest);
    assert_int_equal(c->complete, 1);
    assert_int_equal(c->verified, 1);
    const sis_trace *t = &c->subsets[0].trace;
    for (size_t i = 0; i < t->n; i++) {
        assert_int_equal(t->order[i], a->order[i]);
        assert_true(t->scores[i] == a->trace[i]);
    }
}

void assert_holds(const sis_model *model, const sis_input *input, const sis_opt *opt,
                  const sis_collection *c) {
    sis_audit audit;
    assert_int_equal(sis_verify(model, input, opt, c, &audit), SIS_OK);
    if (!audit.holds)
        fail_msg("%s", audit.reason);
    sis_audit_release(&audit);
}
