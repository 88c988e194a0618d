/* SPDX-License-Identifier: MIT
 *
 * Figures of an evaluation: the paper's plots of rationales, by method.
 */
#include <math.h>
#include <stdio.h>

#include "report/figures.h"

static size_t methods_shown(const sis_evaluation *e) {
    return e->n_methods < SIS__GROUPS_MAX ? e->n_methods : SIS__GROUPS_MAX;
}

/* Add the finite values of one measure of a method's rationales. */
static int add_measured(sis__numbers *out, const sis_evaluated_method *m, int measure) {
    int code = SIS_OK;
    for (size_t j = 0; j < m->n && code == SIS_OK; j++)
        code = sis__numbers_add_finite(out, &m->rationales[j].measures[measure], 1);
    return code;
}

static size_t count_measured(const sis_evaluation *e, int measure) {
    size_t n = 0;
    for (size_t i = 0; i < methods_shown(e); i++)
        for (size_t j = 0; j < e->methods[i].n; j++)
            n += (size_t)isfinite(e->methods[i].rationales[j].measures[measure]);
    return n;
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

/* Add one measure as boxes, one per method. */
static int add_boxes(const sis_evaluation *e, size_t k, sis__drawing *d, int measure) {
    int code = sis__drawing_series(d, methods_shown(e), 0);
    sis__drawing_number(d, k);
    d->chart = sis__plot_boxes;
    d->plot.violin = 1;
    for (size_t i = 0; code == SIS_OK && i < d->plot.n; i++) {
        snprintf(d->names[i], SIS__NAME_SIZE, "%.24s", e->methods[i].name);
        d->plot.series[i].colour = sis__series_colour(i);
        code = add_measured(&d->plot.series[i].x, &e->methods[i], measure);
    }
    return code == SIS_OK ? 1 : code;
}

/* A figure that shows one measure. */
typedef struct {
    const char *name, *title, *y, *what;
    const char *below; /* for decisions "<=", if different */
} boxes;

static int make_boxes(const sis_report *report, size_t k, sis__drawing *d, int measure,
                      const boxes *b) {
    const sis_evaluation *e = &report->evaluations[k];
    if (count_measured(e, measure) == 0)
        return 0;
    int below = b->below && e->n_examples && e->examples[0].below;
    sis__drawing_begin(d, b->name, b->title, "method", below ? "rise of the score" : b->y);
    d->plot.whole = measure == SIS_MEASURE_LENGTH;
    describe(e, d, below ? b->below : b->what);
    return add_boxes(e, k, d, measure);
}

#define MAKE_BOXES(maker, measure, ...)                                                            \
    int sis__make_##maker(const sis_report *report, size_t k, sis__drawing *d) {                   \
        static const boxes b = {__VA_ARGS__};                                                      \
        return make_boxes(report, k, d, SIS_MEASURE_##measure, &b);                                \
    }
MAKE_BOXES(lengths, LENGTH, "lengths", "Length of rationales.", "features in a rationale",
           "Boxes reach from quartile to quartile, the line is the median.", NULL)
MAKE_BOXES(marked, MARKED, "marked", "Agreement with people.", "share that a person marked",
           "The share of the features of a rationale that a person marked.", NULL)
MAKE_BOXES(divergence, DIVERGENCE, "divergence", "Divergence from the motif.", "divergence (nats)",
           "The smaller the divergence, the more similar are rationale and motif.", NULL)
MAKE_BOXES(aopc_sufficiency, SUFFICIENCY, "aopc-sufficiency", "Sufficiency (AOPC).",
           "fall of the score",
           "Fall of the score if only the first 1, 5, 10, 20 or 50 per cent of the ranking are "
           "left, mean of the five. Low is good.",
           "Rise of the score if only the first 1, 5, 10, 20 or 50 per cent of the ranking are "
           "left, mean of the five. Low is good.")
MAKE_BOXES(aopc_comprehensiveness, COMPREHENSIVENESS, "aopc-comprehensiveness",
           "Comprehensiveness (AOPC).", "fall of the score",
           "Fall of the score if these features are masked. High is good.",
           "Rise of the score if these features are masked. High is good.")
MAKE_BOXES(stability, STABLE, "stability", "Stability when other features are unmasked.",
           "share that stays sufficient",
           "1 to 50 per cent of all other features are unmasked at random.", NULL)
MAKE_BOXES(token_f1, TOKEN_F1, "token-f1", "Token F1 against marks of people.", "token F1",
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

/* One dot per rationale that has both numbers, one series per method. */
static int make_dots(const sis_evaluation *e, sis__drawing *d, int x_measure,
                     double (*second)(const sis_evaluation *e, const sis_rated *r)) {
    d->chart = sis__plot_scatter;
    int code = sis__drawing_series(d, methods_shown(e), 0);
    for (size_t i = 0; code == SIS_OK && i < d->plot.n; i++) {
        const sis_evaluated_method *m = &e->methods[i];
        snprintf(d->names[i], SIS__NAME_SIZE, "%.24s", m->name);
        for (size_t j = 0; code == SIS_OK && j < m->n; j++) {
            double x = m->rationales[j].measures[x_measure], y = second(e, &m->rationales[j]);
            if (!isfinite(x) || !isfinite(y))
                continue;
            code = sis__numbers_add(&d->plot.series[i].x, x);
            if (code == SIS_OK)
                code = sis__numbers_add(&d->plot.series[i].y, y);
        }
    }
    return code == SIS_OK ? 1 : code;
}

int sis__make_score_length(const sis_report *report, size_t k, sis__drawing *d) {
    const sis_evaluation *e = &report->evaluations[k];
    if (count_measured(e, SIS_MEASURE_SCORE) == 0)
        return 0;
    sis__drawing_begin(d, "score-length", "Score of a rationale alone against its length.",
                       "features in a rationale", "score of the rationale alone");
    sis__drawing_number(d, k);
    d->plot.whole = 1;
    describe(e, d, "Everything else is masked.");
    return make_dots(e, d, SIS_MEASURE_LENGTH, score_of);
}

int sis__make_quality(const sis_report *report, size_t k, sis__drawing *d) {
    const sis_evaluation *e = &report->evaluations[k];
    size_t measured = 0;
    for (size_t i = 0; i < methods_shown(e); i++)
        for (size_t j = 0; j < e->methods[i].n; j++)
            measured += (size_t)isfinite(qhs_of(e, &e->methods[i].rationales[j]));
    if (measured == 0 || count_measured(e, SIS_MEASURE_MARKED) == 0)
        return 0;
    sis__drawing_begin(d, "quality", "Agreement against the quality of the marks.",
                       "share of a rationale that a person marked",
                       "score of the marked features minus score of all");
    sis__drawing_number(d, k);
    describe(e, d, "Near 0 (top), the marked features are enough for the model.");
    return make_dots(e, d, SIS_MEASURE_MARKED, qhs_of);
}

int sis__make_imputation(const sis_report *report, size_t k, sis__drawing *d) {
    static const char *const names[] = {"mask", "hot-deck value"};
    const sis_evaluation *e = &report->evaluations[k];
    if (e->n_draws == 0)
        return 0;
    sis__drawing_begin(d, "imputation", "Effect of masking one feature on the score.",
                       "change of the score", "draws");
    sis__drawing_number(d, k);
    d->chart = sis__plot_histogram;
    sis__buf_printf(
        &d->caption,
        "%zu feature%s drawn at random, replaced by the mask and by a value from another "
        "example.",
        e->n_draws, sis__plural(e->n_draws));
    int code = sis__drawing_series(d, 2, 0);
    for (size_t i = 0; code == SIS_OK && i < 2; i++) {
        snprintf(d->names[i], SIS__NAME_SIZE, "%s", names[i]);
        code = sis__numbers_add_finite(&d->plot.series[i].x, i ? e->by_hotdeck : e->by_mask,
                                       e->n_draws);
    }
    return code == SIS_OK ? 1 : code;
}

int sis__make_importance(const sis_report *report, size_t k, sis__drawing *d) {
    const sis_evaluation *e = &report->evaluations[k];
    if (count_measured(e, SIS_MEASURE_INSIDE) == 0)
        return 0;
    sis__drawing_begin(d, "importance", "Importance inside and outside of rationales.", "method",
                       "median importance of a feature");
    sis__drawing_number(d, k);
    d->chart = sis__plot_boxes;
    describe(
        e, d,
        e->n_examples && e->examples[0].below
            ? "The importance of a feature is the rise of the score if only this feature is "
              "masked. The figure shows medians over the features inside a rationale and over all "
              "others."
            : "The importance of a feature is the fall of the score if only this feature is "
              "masked. The figure shows medians over the features inside a rationale and over all "
              "others.");
    int code = sis__drawing_series(d, 2 * methods_shown(e), 0);
    for (size_t i = 0; code == SIS_OK && i < d->plot.n; i++) {
        snprintf(d->names[i], SIS__NAME_SIZE, "%.12s %s", e->methods[i / 2].name,
                 i % 2 ? "out" : "in");
        d->plot.series[i].colour = sis__series_colour(i % 2);
        code = add_measured(&d->plot.series[i].x, &e->methods[i / 2],
                            i % 2 ? SIS_MEASURE_OUTSIDE : SIS_MEASURE_INSIDE);
    }
    return code == SIS_OK ? 1 : code;
}

int sis__make_sufficient(const sis_report *report, size_t k, sis__drawing *d) {
    static const char *const names[] = {"everything else masked", "hot-deck values",
                                        "a random half back"};
    static const sis_measure measures[] = {SIS_MEASURE_SUFFICIENT, SIS_MEASURE_DECK_HOLDS,
                                           SIS_MEASURE_HALF_HOLDS};
    const sis_evaluation *e = &report->evaluations[k];
    size_t series = count_measured(e, SIS_MEASURE_DECK_HOLDS) ? 3 : 1, bars = methods_shown(e);
    if (count_measured(e, SIS_MEASURE_SUFFICIENT) == 0)
        return 0;
    sis__drawing_begin(d, "sufficient", "How often rationales are sufficient.", "method",
                       "sufficient (%)");
    sis__drawing_number(d, k);
    d->plot.percent = 1;
    d->chart = sis__plot_bars;
    describe(e, d,
             "Share of rationales that meet the threshold, by the values of the other features.");
    int code = sis__drawing_series(d, series, bars);
    for (size_t s = 0; code == SIS_OK && s < series; s++) {
        snprintf(d->names[s], SIS__NAME_SIZE, "%s", names[s]);
        for (size_t i = 0; code == SIS_OK && i < bars; i++) {
            const sis_evaluated_method *m = &e->methods[i];
            double sum = 0, n = 0;
            for (size_t j = 0; j < m->n; j++)
                if (isfinite(m->rationales[j].measures[measures[s]]))
                    sum += m->rationales[j].measures[measures[s]], n++;
            code = sis__numbers_add(&d->plot.series[s].x, n > 0 ? 100 * sum / n : 0);
        }
    }
    for (size_t i = 0; code == SIS_OK && i < bars; i++)
        snprintf(d->names[series + i], SIS__NAME_SIZE, "%.24s", e->methods[i].name);
    return code == SIS_OK ? 1 : code;
}
