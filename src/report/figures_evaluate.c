/* SPDX-License-Identifier: MIT
 *
 * Figures of an evaluation: the paper's plots of rationales, by method.
 */
#include <math.h>
#include <stdio.h>

#include "report/figures.h"
#include "report/html.h"

static size_t methods_shown(const sis_evaluation *e) {
    return e->n_methods < SIS__GROUPS_MAX ? e->n_methods : SIS__GROUPS_MAX;
}

static size_t count_measured(const sis_evaluation *e, int measure) {
    size_t n = 0;
    for (size_t i = 0; i < methods_shown(e); i++)
        for (size_t j = 0; j < e->methods[i].n; j++)
            n += (size_t)isfinite(e->methods[i].rationales[j].measures[measure]);
    return n;
}

static int is_below(const sis_evaluation *e) {
    return e->n_examples && e->examples[0].below;
}

static void describe(const sis_evaluation *e, sis__drawing *d, const char *what) {
    size_t n = 0;
    for (size_t i = 0; i < methods_shown(e); i++)
        n += e->methods[i].n;
    size_t examples = e->n_examples, methods = methods_shown(e);
    sis__buf_printf(&d->caption, "%zu rationale%s of %zu example%s by %zu method%s. %s", n,
                    sis__plural(n), examples, sis__plural(examples), methods, sis__plural(methods),
                    what);
}

/* Series k of the boxes: a measure of a method. */
static void add_box(sis__drawing *d, size_t k, const sis_evaluated_method *m, int measure) {
    for (size_t j = 0; k < d->plot.n && j < m->n; j++)
        sis__drawing_add(d, &d->plot.series[k].x, m->rationales[j].measures[measure]);
}

/* One measure as boxes, one for each method. what_below: for decisions "<=", if different. */
static int make_boxes(const sis_evaluation *e, sis__drawing *d, int measure, const char *what,
                      const char *what_below) {
    int below = what_below && is_below(e);
    if (below)
        d->plot.y_label = "rise of the score";
    d->plot.whole = measure == SIS_MEASURE_LENGTH;
    describe(e, d, below ? what_below : what);
    sis__drawing_series(d, methods_shown(e), 0);
    d->chart = sis__plot_boxes;
    d->plot.violin = 1;
    for (size_t i = 0; i < d->plot.n; i++) {
        snprintf(d->names[i], SIS__NAME_SIZE, "%.24s", e->methods[i].name);
        d->plot.series[i].colour = sis__series_colour(i);
        add_box(d, i, &e->methods[i], measure);
    }
    return count_measured(e, measure) > 0;
}

#define MAKE_BOXES(maker, measure, what, what_below)                                               \
    int sis__make_##maker(const sis_report *report, size_t k, sis__drawing *d) {                   \
        return make_boxes(&report->evaluations[k], d, SIS_MEASURE_##measure, what, what_below);    \
    }
MAKE_BOXES(lengths, LENGTH, "Boxes reach from quartile to quartile, the line is the median.", NULL)
MAKE_BOXES(marked, MARKED, "The share of the features of a rationale that a person marked.", NULL)
MAKE_BOXES(divergence, DIVERGENCE,
           "The smaller the divergence, the more similar are rationale and motif.", NULL)
MAKE_BOXES(aopc_sufficiency, SUFFICIENCY,
           "Fall of the score if only the first 1, 5, 10, 20 or 50 per cent of the ranking are "
           "left, mean of the five. Low is good.",
           "Rise of the score if only the first 1, 5, 10, 20 or 50 per cent of the ranking are "
           "left, mean of the five. Low is good.")
MAKE_BOXES(aopc_comprehensiveness, COMPREHENSIVENESS,
           "Fall of the score if these features are masked. High is good.",
           "Rise of the score if these features are masked. High is good.")
MAKE_BOXES(stability, STABLE, "1 to 50 per cent of all other features are unmasked at random.",
           NULL)
MAKE_BOXES(token_f1, TOKEN_F1,
           "All features in the rationales of an example, compared with those that a person "
           "marked.",
           NULL)
#undef MAKE_BOXES

/* Values for dots: the score of a rationale, and of its example's human annotation. */
static double score_of(const sis_evaluation *e, const sis_rated *r) {
    (void)e;
    return r->measures[SIS_MEASURE_SCORE];
}

static double qhs_of(const sis_evaluation *e, const sis_rated *r) {
    return r->example < e->n_examples ? e->examples[r->example].qhs : NAN;
}

/* One dot per rationale that has both numbers, one series per method; 0: none has the second. */
static int make_dots(const sis_evaluation *e, sis__drawing *d, int x_measure,
                     double (*second)(const sis_evaluation *e, const sis_rated *r)) {
    size_t measured = 0;
    d->chart = sis__plot_scatter;
    sis__drawing_series(d, methods_shown(e), 0);
    for (size_t i = 0; i < d->plot.n; i++) {
        const sis_evaluated_method *m = &e->methods[i];
        snprintf(d->names[i], SIS__NAME_SIZE, "%.24s", m->name);
        for (size_t j = 0; j < m->n; j++) {
            double y = second(e, &m->rationales[j]);
            sis__drawing_point(d, &d->plot.series[i], m->rationales[j].measures[x_measure], y);
            measured += (size_t)isfinite(y);
        }
    }
    return measured > 0;
}

int sis__make_score_length(const sis_report *report, size_t k, sis__drawing *d) {
    const sis_evaluation *e = &report->evaluations[k];
    d->plot.whole = 1;
    describe(e, d, "Everything else is masked.");
    return make_dots(e, d, SIS_MEASURE_LENGTH, score_of);
}

int sis__make_quality(const sis_report *report, size_t k, sis__drawing *d) {
    const sis_evaluation *e = &report->evaluations[k];
    describe(e, d, "Near 0 (top), the marked features are enough for the model.");
    return make_dots(e, d, SIS_MEASURE_MARKED, qhs_of) && count_measured(e, SIS_MEASURE_MARKED);
}

int sis__make_imputation(const sis_report *report, size_t k, sis__drawing *d) {
    static const char *const names[] = {"mask", "hot-deck value"};
    const sis_evaluation *e = &report->evaluations[k];
    const double *const changes[] = {e->by_mask, e->by_hotdeck};
    d->chart = sis__plot_histogram;
    sis__buf_printf(
        &d->caption,
        "%zu feature%s drawn at random, replaced by the mask and by a value from another "
        "example.",
        e->n_draws, sis__plural(e->n_draws));
    sis__drawing_series(d, 2, 0);
    for (size_t i = 0; i < d->plot.n; i++) {
        snprintf(d->names[i], SIS__NAME_SIZE, "%s", names[i]);
        for (size_t j = 0; j < e->n_draws; j++)
            sis__drawing_add(d, &d->plot.series[i].x, changes[i][j]);
    }
    return e->n_draws > 0;
}

int sis__make_importance(const sis_report *report, size_t k, sis__drawing *d) {
    const sis_evaluation *e = &report->evaluations[k];
    d->chart = sis__plot_boxes;
    describe(e, d,
             is_below(e) ? "The importance of a feature is the rise of the score if only this "
                           "feature is masked. The figure shows medians over the features inside a "
                           "rationale and over all others."
                         : "The importance of a feature is the fall of the score if only this "
                           "feature is masked. The figure shows medians over the features inside a "
                           "rationale and over all others.");
    sis__drawing_series(d, 2 * methods_shown(e), 0);
    for (size_t i = 0; i < d->plot.n; i++) {
        snprintf(d->names[i], SIS__NAME_SIZE, "%.12s %s", e->methods[i / 2].name,
                 i % 2 ? "out" : "in");
        d->plot.series[i].colour = sis__series_colour(i % 2);
        add_box(d, i, &e->methods[i / 2], i % 2 ? SIS_MEASURE_OUTSIDE : SIS_MEASURE_INSIDE);
    }
    return count_measured(e, SIS_MEASURE_INSIDE) > 0;
}

/* The mean of a measure over a method's rationales, in per cent; 0: not measured. */
static double mean_percent(const sis_evaluated_method *m, sis_measure measure) {
    double sum = 0, n = 0;
    for (size_t j = 0; j < m->n; j++)
        if (isfinite(m->rationales[j].measures[measure]))
            sum += m->rationales[j].measures[measure], n++;
    return n > 0 ? 100 * sum / n : 0;
}

int sis__make_sufficient(const sis_report *report, size_t k, sis__drawing *d) {
    static const char *const names[] = {"everything else masked", "hot-deck values",
                                        "a random half back"};
    static const sis_measure measures[] = {SIS_MEASURE_SUFFICIENT, SIS_MEASURE_DECK_HOLDS,
                                           SIS_MEASURE_HALF_HOLDS};
    const sis_evaluation *e = &report->evaluations[k];
    size_t series = count_measured(e, SIS_MEASURE_DECK_HOLDS) ? 3 : 1;
    d->plot.percent = 1;
    d->chart = sis__plot_bars;
    describe(e, d,
             "Share of rationales that meet the threshold, by the values of the other features.");
    sis__drawing_series(d, series, methods_shown(e));
    for (size_t s = 0; s < d->plot.n; s++) {
        snprintf(d->names[s], SIS__NAME_SIZE, "%s", names[s]);
        for (size_t i = 0; i < d->plot.n_bars; i++)
            sis__drawing_add(d, &d->plot.series[s].x, mean_percent(&e->methods[i], measures[s]));
    }
    for (size_t i = 0; i < d->plot.n_bars; i++)
        snprintf(d->names[series + i], SIS__NAME_SIZE, "%.24s", e->methods[i].name);
    return count_measured(e, SIS_MEASURE_SUFFICIENT) > 0;
}
