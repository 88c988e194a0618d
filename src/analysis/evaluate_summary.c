/* SPDX-License-Identifier: MIT
 *
 * Summarises an evaluation: samples of the measures, tests of each method against the first, and
 * the sis_evaluation. Medians are over rationales or features. Signed-rank tests pair the examples,
 * each with the median of its rationales.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/evaluate.h"
#include "base/error.h"
#include "base/mem.h"

/* ---- Samples ------------------------------------------------------------------------------- */

static double percentile(const double *x, size_t n, double percent) {
    double v = NAN;
    return sis_sample_percentile(x, n, percent, &v) == SIS_OK ? v : NAN;
}

/* The values other than NaN of rationales from..to; *n of them. */
static void list_measure(const sis__method *m, int measure, size_t from, size_t to, double *out,
                         size_t *n) {
    *n = 0;
    for (size_t i = from; i < to; i++)
        if (!isnan(m->items[i].measures[measure]))
            out[(*n)++] = m->items[i].measures[measure];
}

/* A quantity of a method: all its values, and one per example. */
typedef struct {
    double *all; /* (n) */
    size_t n;
    double *medians; /* (subjects) NaN: the example has none */
} sample;

static void sample_release(sample *s) {
    free(s->all);
    free(s->medians);
}

static int sample_measure(const sis__evaluation *ev, const sis__method *m, int measure,
                          sample *out) {
    double *some = SIS_NEW(double, m->n_items);
    size_t n;
    *out = (sample){.all = SIS_NEW(double, m->n_items), .medians = SIS_NEW(double, ev->n_subjects)};
    int error = out->all && out->medians && some ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        list_measure(m, measure, 0, m->n_items, out->all, &out->n);
    for (size_t e = 0; error == SIS_OK && e < ev->n_subjects; e++) {
        list_measure(m, measure, m->first[e], m->first[e + 1], some, &n);
        out->medians[e] = percentile(some, n, 50);
    }
    free(some);
    return error;
}

static size_t features_of(const sis__evaluation *ev, size_t e) {
    return ev->subjects[e].record->collection.n_features;
}

/* Flags of the features in rationales from..to of a method. */
static void mark_features(const sis__method *m, size_t from, size_t to, size_t n,
                          unsigned char *is_inside) {
    memset(is_inside, 0, n);
    for (size_t i = from; i < to; i++)
        for (size_t k = 0; k < m->items[i].n_features; k++)
            is_inside[m->items[i].features[k]] = 1;
}

/* Importance of the features inside or outside a method's rationales. */
static int sample_importance(const sis__evaluation *ev, const sis__method *m, int inside,
                             sample *out) {
    size_t all = 0, max = 0;
    for (size_t e = 0; e < ev->n_subjects; e++) {
        all += features_of(ev, e);
        max = features_of(ev, e) > max ? features_of(ev, e) : max;
    }
    unsigned char *is_inside = SIS_NEW(unsigned char, max);
    *out = (sample){.all = SIS_NEW(double, all), .medians = SIS_NEW(double, ev->n_subjects)};
    int error = out->all && out->medians && is_inside ? SIS_OK : SIS_E_NOMEM;
    for (size_t e = 0; error == SIS_OK && e < ev->n_subjects; e++) {
        size_t n = features_of(ev, e), from = out->n;
        mark_features(m, m->first[e], m->first[e + 1], n, is_inside);
        for (size_t f = 0; f < n; f++)
            if (is_inside[f] == inside)
                out->all[out->n++] = ev->subjects[e].importance[f];
        out->medians[e] = percentile(out->all + from, out->n - from, 50);
    }
    free(is_inside);
    return error;
}

/* Medians of the importance inside and outside each rationale. */
static int split_importance(const sis__evaluation *ev, const sis__method *m) {
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < m->n_items; i++) {
        sis_rated *x = &m->items[i];
        const double *importance = ev->subjects[x->example].importance;
        size_t n = features_of(ev, x->example), in = 0, out = 0;
        unsigned char *is_inside = SIS_NEW(unsigned char, n);
        double *values = SIS_NEW(double, n);
        if (is_inside && values) {
            mark_features(m, i, i + 1, n, is_inside);
            for (size_t f = 0; f < n; f++)
                if (is_inside[f])
                    values[in++] = importance[f];
                else
                    values[n - ++out] = importance[f];
            x->measures[SIS_MEASURE_INSIDE] = percentile(values, in, 50);
            x->measures[SIS_MEASURE_OUTSIDE] = percentile(values + in, out, 50);
        } else {
            error = SIS_E_NOMEM;
        }
        free(is_inside);
        free(values);
    }
    return error;
}

/* ---- Tests --------------------------------------------------------------------------------- */

/* Only pairs with both values count. */
static int test_pairs(const double *x, const double *y, size_t n, sis_test *out) {
    double *a = SIS_NEW(double, n), *b = SIS_NEW(double, n);
    size_t kept = 0;
    for (size_t i = 0; a && b && i < n; i++)
        if (!isnan(x[i]) && !isnan(y[i])) {
            a[kept] = x[i];
            b[kept++] = y[i];
        }
    int error = a && b ? sis_test_signed_rank(a, b, kept, out) : SIS_E_NOMEM;
    free(a);
    free(b);
    return error;
}

/* Test a sample against the first method's: all values, and pairs of examples. */
static int test_against(const sis__evaluation *ev, const sample *x, const sample *first,
                        sis_quantity *q) {
    sis_test sum = {0}, pairs = {0};
    int error = sis_test_rank_sum(x->all, x->n, first->all, first->n, &sum);
    if (error == SIS_OK)
        error = test_pairs(x->medians, first->medians, ev->n_subjects, &pairs);
    q->rank_sum_p = sum.p;
    q->signed_rank_p = pairs.p;
    return error;
}

static int find_quantity(const sis__evaluation *ev, const sis__method *m, int measure,
                         sis_quantity *q) {
    sample x, first = {0};
    int error = sample_measure(ev, m, measure, &x);
    if (error == SIS_OK)
        error = sample_measure(ev, &ev->methods[0], measure, &first);
    if (error == SIS_OK && x.n > 0) {
        q->median = percentile(x.all, x.n, 50);
        q->mean = sis_sample_mean(x.all, x.n);
        q->lowest = percentile(x.all, x.n, 0);
        q->highest = percentile(x.all, x.n, 100);
        error = test_against(ev, &x, &first, q);
    }
    sample_release(&x);
    sample_release(&first);
    return error;
}

static int find_importance(const sis__evaluation *ev, const sis__method *m, sis_quantity *q) {
    sample in, out = {0}, first = {0};
    int error = sample_importance(ev, m, 1, &in);
    if (error == SIS_OK)
        error = sample_importance(ev, m, 0, &out);
    if (error == SIS_OK)
        error = sample_importance(ev, &ev->methods[0], 1, &first);
    if (error == SIS_OK) {
        q->median = percentile(in.all, in.n, 50);
        q->outside = percentile(out.all, out.n, 50);
        error = test_against(ev, &in, &first, q);
    }
    sample_release(&in);
    sample_release(&out);
    sample_release(&first);
    return error;
}

/* QHS against the share of a rationale that a person marked. */
static int correlate(const sis__evaluation *ev, const sis__method *m, sis_method_summary *s) {
    double *qhs = SIS_NEW(double, m->n_items), *marked = SIS_NEW(double, m->n_items);
    sis_test test = {.statistic = NAN, .p = NAN};
    size_t n = 0;
    for (size_t i = 0; qhs && marked && i < m->n_items; i++) {
        const sis_rated *x = &m->items[i];
        qhs[n] = ev->subjects[x->example].qhs;
        marked[n] = x->measures[SIS_MEASURE_MARKED];
        n += !isnan(qhs[n]) && !isnan(marked[n]);
    }
    int error = qhs && marked ? sis_test_pearson(qhs, marked, n, &test) : SIS_E_NOMEM;
    s->pearson_r = test.statistic;
    s->pearson_p = test.p;
    free(qhs);
    free(marked);
    return error;
}

/* ---- Methods ------------------------------------------------------------------------------- */

static void count_subsets(const sis__evaluation *ev, const sis__method *m, sis_method_summary *s) {
    size_t all = 0, max = 0, sufficient = 0;
    double asked = 0;
    for (size_t e = 0; e < ev->n_subjects; e++) {
        size_t n = m->of[e]->collection.n_subsets, enough = 0;
        all += n;
        asked += (double)m->of[e]->collection.evaluations;
        max = n > max ? n : max;
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++)
            enough += m->items[i].measures[SIS_MEASURE_SUFFICIENT] > 0;
        sufficient += enough == m->first[e + 1] - m->first[e];
    }
    s->subsets_per_example = (double)all / (double)ev->n_subjects;
    s->subsets_max = (double)max;
    s->evaluations_per_example = asked / (double)ev->n_subjects;
    s->sufficient_examples = (double)sufficient / (double)ev->n_subjects;
}

/* The share that holds, over rationales with this score. */
static double share_held(const sis__method *m, int score, int holds) {
    size_t n = 0;
    double sum = 0;
    for (size_t i = 0; i < m->n_items; i++) {
        const sis_rated *x = &m->items[i];
        if (isnan(x->measures[score]))
            continue;
        sum +=
            holds >= 0 ? x->measures[holds] : sis__is_enough(m->of[x->example], x->measures[score]);
        n++;
    }
    return n ? sum / (double)n : NAN;
}

static void find_holds(const sis__method *m, double holds[SIS_N_TRIALS]) {
    holds[SIS_TRIAL_OWN] = share_held(m, SIS_MEASURE_SCORE, SIS_MEASURE_SUFFICIENT);
    holds[SIS_TRIAL_SECOND] = share_held(m, SIS_MEASURE_SECOND, -1);
    holds[SIS_TRIAL_DECK] = share_held(m, SIS_MEASURE_DECK, SIS_MEASURE_DECK_HOLDS);
    holds[SIS_TRIAL_AROUND] = share_held(m, SIS_MEASURE_AROUND, -1);
    holds[SIS_TRIAL_HALF] = share_held(m, SIS_MEASURE_HALF, SIS_MEASURE_HALF_HOLDS);
}

static double mean_at(const sis__evaluation *ev, const sis__method *m, int curve, size_t cut) {
    double sum = 0;
    for (size_t e = 0; e < ev->n_subjects; e++) {
        const sis_faithfulness *f = &m->faithfulness[e];
        sum += curve == SIS_CURVE_SUFFICIENCY         ? f->sufficiency[cut]
               : curve == SIS_CURVE_COMPREHENSIVENESS ? f->comprehensiveness[cut]
               : curve == SIS_CURVE_PGI               ? f->pgi[cut]
                                                      : f->pgu[cut];
    }
    return sum / (double)ev->n_subjects;
}

static int find_curves(const sis__evaluation *ev, const sis__method *m, sis_method_summary *s) {
    double(*curves)[SIS_N_CUTS] = sis__held_room(ev->held, SIS_N_CURVES, sizeof *curves);
    size_t draws = m->n_items * ev->o->samples;
    if (!curves)
        return SIS_E_NOMEM;
    for (size_t k = 0; k < SIS_N_CUTS; k++) {
        for (int c = SIS_CURVE_SUFFICIENCY; c <= SIS_CURVE_PGU; c++)
            curves[c][k] = mean_at(ev, m, c, k);
        curves[SIS_CURVE_PERCENT][k] = sis_cut_percent(k);
        curves[SIS_CURVE_FEATURES][k] = (double)sis_cut_count(k);
        curves[SIS_CURVE_STABLE][k] = (double)m->kept[k] / (double)draws;
        sis_share_interval(m->kept[k], draws, 0.95, &curves[SIS_CURVE_STABLE_LOW][k],
                           &curves[SIS_CURVE_STABLE_HIGH][k]);
    }
    s->n_cuts = SIS_N_CUTS;
    for (int c = 0; c < SIS_N_CURVES; c++)
        s->curves[c] = c == SIS_CURVE_FEATURES && !ev->o->by_count ? NULL : curves[c];
    return SIS_OK;
}

/* A quantity is the measure of the same name, except for the importance. */
static int find_quantities(const sis__evaluation *ev, const sis__method *m, sis_method_summary *s) {
    static const sis_measure measures[SIS_N_QUANTITIES] = {
        [SIS_QUANTITY_LENGTH] = SIS_MEASURE_LENGTH,
        [SIS_QUANTITY_PERCENT] = SIS_MEASURE_PERCENT,
        [SIS_QUANTITY_SCORE] = SIS_MEASURE_SCORE,
        [SIS_QUANTITY_MARKED] = SIS_MEASURE_MARKED,
        [SIS_QUANTITY_DIVERGENCE] = SIS_MEASURE_DIVERGENCE,
#define METRIC(code, name) [SIS_QUANTITY_##code] = SIS_MEASURE_##code,
        SIS_METRICS(METRIC)
#undef METRIC
    };
    int error = SIS_OK;
    for (int k = 0; k < SIS_N_QUANTITIES && error == SIS_OK; k++) {
        s->quantities[k] = (sis_quantity){NAN, NAN, NAN, NAN, NAN, NAN, NAN};
        if (k != SIS_QUANTITY_IMPORTANCE)
            error = find_quantity(ev, m, (int)measures[k], &s->quantities[k]);
        else if (ev->o->task)
            error = find_importance(ev, m, &s->quantities[k]);
    }
    return error;
}

static int describe_method(const sis__evaluation *ev, const sis__method *m,
                           sis_evaluated_method *out) {
    *out = (sis_evaluated_method){.name = m->name,
                                  .method = m->file->items[0].question.method,
                                  .file = m->file->name,
                                  .n = m->n_items,
                                  .rationales = m->items,
                                  .summary = {.pearson_r = NAN, .pearson_p = NAN}};
    int error = ev->o->task ? split_importance(ev, m) : SIS_OK;
    count_subsets(ev, m, &out->summary);
    find_holds(m, out->summary.holds);
    if (error == SIS_OK && m->faithfulness)
        error = find_curves(ev, m, &out->summary);
    if (error == SIS_OK)
        error = find_quantities(ev, m, &out->summary);
    if (error == SIS_OK && ev->o->human && ev->o->task)
        error = correlate(ev, m, &out->summary);
    return error;
}

/* ---- Examples ------------------------------------------------------------------------------ */

static sis_evaluated_example describe_example(const sis__subject *x) {
    const sis_record *r = x->record;
    return (sis_evaluated_example){.id = r->id,
                                   .target = r->question.target,
                                   .n_features = r->collection.n_features,
                                   .below = r->question.below,
                                   .threshold = r->question.threshold,
                                   .score = r->collection.score,
                                   .human_score = isnan(x->qhs) ? NAN : x->human_score,
                                   .qhs = x->qhs,
                                   .importance = x->importance};
}

static int describe_people(const sis__evaluation *ev, sis_people *out) {
    double *qhs = SIS_NEW(double, ev->n_subjects), share = 0;
    if (!qhs)
        return SIS_E_NOMEM;
    for (size_t e = 0; e < ev->n_subjects; e++) {
        const sis__subject *x = &ev->subjects[e];
        out->n += (size_t)sis__is_marked(x->record);
        if (isnan(x->qhs))
            continue;
        qhs[out->n_scored++] = x->qhs;
        share += (double)x->record->drawing.n_human / (double)x->record->collection.n_features;
        out->sufficient += sis__is_enough(x->record, x->human_score) > 0;
    }
    out->share = share / (double)out->n_scored;
    out->median = percentile(qhs, out->n_scored, 50);
    out->lowest = percentile(qhs, out->n_scored, 0);
    out->highest = percentile(qhs, out->n_scored, 100);
    free(qhs);
    return SIS_OK;
}

/* 1 if every file masks features outside a rationale. Proofs and draws do not. */
static int is_masked(const sis__evaluation *ev) {
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t e = 0; e < ev->n_subjects; e++) {
            const sis_guarantee *g = ev->methods[k].of[e]->guarantee;
            if (g && g->kind != SIS_GUARANTEE_MASK)
                return 0;
        }
    return 1;
}

int sis__evaluate_summary(sis__evaluation *ev) {
    sis_evaluation *out = ev->out;
    sis_evaluated_method *methods = sis__held_room(ev->held, ev->n_methods, sizeof *methods);
    sis_evaluated_example *examples = sis__held_room(ev->held, ev->n_subjects, sizeof *examples);
    int error = methods && examples ? SIS_OK : SIS_E_NOMEM;
    for (size_t e = 0; error == SIS_OK && e < ev->n_subjects; e++)
        examples[e] = describe_example(&ev->subjects[e]);
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++)
        error = describe_method(ev, &ev->methods[k], &methods[k]);
    if (error == SIS_OK && ev->o->human)
        error = describe_people(ev, &out->people);
    if (error == SIS_OK && ev->motifs.n) {
        out->motif = sis__held_text(ev->held, ev->motifs.items[0].id);
        out->motif_name = sis__held_text(ev->held, ev->motifs.items[0].name);
        error = out->motif && out->motif_name ? SIS_OK : SIS_E_NOMEM;
    }
    out->model = ev->n_methods ? ev->methods[0].file->items[0].model : NULL;
    out->keep = ev->n_subjects ? ev->subjects[0].record->question.keep : NULL;
    out->masked = is_masked(ev);
    out->n_examples = ev->n_subjects;
    out->examples = examples;
    out->n_methods = ev->n_methods;
    out->methods = methods;
    return error;
}
