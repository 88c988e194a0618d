/* SPDX-License-Identifier: MIT
 *
 * Figures of a comparison of two models: their decisions, how each scores the subsets of the other,
 * the share of each in joint clusters, and images whose subsets differ.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/number.h"
#include "report/figures.h"
#include "report/page.h"

enum { DIFFERENCES_MAX = 8, SUBSETS_MAX = 4 };

/* A and B are green and pink; blue and orange are used for pixels. */
static int side_colour(size_t side) {
    return sis__series_colour(2 + side);
}

/* ---- Decisions ------------------------------------------------------------------------------- */

int sis__make_decisions(const sis_report *report, size_t k, sis__drawing *d) {
    const sis__compared *c = &report->comparisons[k];
    char a[SIS__NAME_SIZE - 8], b[SIS__NAME_SIZE - 8];
    if (c->found.common == 0)
        return 0;
    sis__side_name(c, 0, a, sizeof a);
    sis__side_name(c, 1, b, sizeof b);
    sis__drawing_begin(d, "decisions", "Do they decide alike?", "the models decide", "examples");
    sis__drawing_number(d, k);
    d->chart = sis__plot_bars;
    d->plot.whole = 1;
    if (sis__drawing_series(d, 1, SIS_N_DECISIONS) != SIS_OK)
        return SIS_E_NOMEM;
    snprintf(d->names[1 + SIS_DECISION_SAME], SIS__NAME_SIZE, "the same");
    snprintf(d->names[1 + SIS_DECISION_OTHER_OUTPUT], SIS__NAME_SIZE, "differently");
    snprintf(d->names[1 + SIS_DECISION_ONLY_A], SIS__NAME_SIZE, "only %s", a);
    snprintf(d->names[1 + SIS_DECISION_ONLY_B], SIS__NAME_SIZE, "only %s", b);
    snprintf(d->names[1 + SIS_DECISION_NEITHER], SIS__NAME_SIZE, "neither");
    int code = SIS_OK;
    for (int i = 0; code == SIS_OK && i < SIS_N_DECISIONS; i++)
        code = sis__numbers_add(&d->plot.series[0].x, (double)c->found.decisions[i]);
    sis__buf_printf(
        &d->caption,
        "%zu example%s in both results files: both models decide, for the same output or for "
        "different ones; only one model decides; neither decides.",
        c->found.common, c->found.common == 1 ? " that is" : "s that are");
    return code == SIS_OK ? 1 : code;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* Add the scores of the side's own subsets, if the report has all of them. */
static int add_own(const sis_report *report, const sis_side *side, sis__numbers *out) {
    size_t run = sis__side_run(report, side);
    int code = SIS_OK;
    if (run == SIZE_MAX || report->runs[run].subsets != side->subsets)
        return SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis_collection *s = &report->examples[i].record.collection;
        for (size_t j = 0; code == SIS_OK && report->examples[i].run == run && j < s->n_subsets;
             j++)
            code = sis__numbers_add(out, s->subsets[j].score);
    }
    return code;
}

/* Column 2 * scorer holds its own subsets, the next column the other's. */
static int add_columns(const sis_report *report, const sis__compared *c, size_t scorer,
                       sis__drawing *d) {
    sis__series *own = &d->plot.series[2 * scorer], *other = own + 1;
    char name[SIS__NAME_SIZE - 4];
    sis__side_name(c, !scorer, name, sizeof name);
    snprintf(d->names[2 * scorer], SIS__NAME_SIZE, "its own");
    snprintf(d->names[2 * scorer + 1], SIS__NAME_SIZE, "of %s", name);
    own->colour = side_colour(scorer);
    other->colour = side_colour(!scorer);
    int code = add_own(report, &c->found.sides[scorer], &own->x);
    if (code == SIS_OK && own->x.n == 0) { /* quantiles give the same box, but no density */
        d->plot.violin = 0;
        code = sis__numbers_add_finite(&own->x, c->found.cross[scorer].own_quantiles,
                                       c->found.cross[scorer].n_quantiles);
    }
    const sis_cross *others = &c->found.cross[!scorer];
    return code == SIS_OK ? sis__numbers_add_finite(&other->x, others->scores, others->n) : code;
}

static void mark_scorer(const sis__compared *c, size_t scorer, sis__drawing *d) {
    char name[SIS__NAME_SIZE];
    double at = c->found.sides[scorer].threshold;
    sis__side_name(c, scorer, name, sizeof name);
    sis__text_fit(name, sizeof name, 11, 110);
    if (!isfinite(at))
        return;
    size_t k = d->plot.n_marks++;
    sis__format(d->mark_texts[k], sizeof d->mark_texts[k], "%s, threshold %.4g", name, at);
    d->marks[k] = (sis__mark){at, d->mark_texts[k], 2 * scorer, 2};
}

static void describe_scores(const sis__compared *c, sis__drawing *d) {
    sis__buf_printf(
        &d->caption,
        "Each model scores its own subsets and those of the other, with everything else "
        "masked: %zu subset%s and %zu. Dashed: the threshold of the scoring model.",
        c->found.cross[0].n, sis__plural(c->found.cross[0].n), c->found.cross[1].n);
    for (size_t k = 0; k < 2; k++) {
        char whose[40], by[40];
        sis__side_name(c, k, whose, sizeof whose);
        sis__side_name(c, !k, by, sizeof by);
        if (c->found.cross[k].n && !isnan(c->found.cross[k].sufficient))
            sis__buf_printf(&d->caption, " Of %s, %.1f %% are still sufficient for %s.", whose,
                            100 * c->found.cross[k].sufficient, by);
    }
}

int sis__make_cross_scores(const sis_report *report, size_t k, sis__drawing *d) {
    const sis__compared *c = &report->comparisons[k];
    if (c->found.cross[0].n + c->found.cross[1].n == 0)
        return 0;
    sis__drawing_begin(d, "cross-scores", "Are subsets of one model enough for the other?",
                       "subsets", "score of a subset alone");
    sis__drawing_number(d, k);
    d->chart = sis__plot_boxes;
    d->plot.violin = 1;
    int code = sis__drawing_series(d, 4, 0);
    for (size_t scorer = 0; code == SIS_OK && scorer < 2; scorer++) {
        code = add_columns(report, c, scorer, d);
        mark_scorer(c, scorer, d);
    }
    d->plot.marks = d->marks;
    describe_scores(c, d);
    return code == SIS_OK ? 1 : code;
}

/* ---- Joint clusters -------------------------------------------------------------------------- */

int sis__make_joint_shares(const sis_report *report, size_t k, sis__drawing *d) {
    const sis__compared *c = &report->comparisons[k];
    size_t n = c->joint.n_clusters - (c->joint.found.n_noise > 0);
    size_t shown = n < SIS__GROUPS_MAX ? n : SIS__GROUPS_MAX;
    if (n == 0)
        return 0;
    sis__drawing_begin(d, "joint-shares", "Share of each model in the joint clusters.",
                       "joint cluster (number of subsets)", "share of the subsets (%)");
    sis__drawing_number(d, k);
    d->chart = sis__plot_bars;
    d->plot.stacked = d->plot.percent = 1;
    int code = sis__drawing_series(d, 2, shown);
    for (size_t side = 0; code == SIS_OK && side < 2; side++) {
        sis__side_name(c, side, d->names[side], SIS__NAME_SIZE);
        sis__text_fit(d->names[side], SIS__NAME_SIZE, 11, 180);
        d->plot.series[side].colour = side_colour(side);
        for (size_t i = 0; code == SIS_OK && i < shown; i++)
            code = sis__numbers_add(&d->plot.series[side].x,
                                    100 * sis__side_share(c, &c->joint.clusters[i], side));
    }
    for (size_t i = 0; code == SIS_OK && i < shown; i++)
        snprintf(d->names[2 + i], SIS__NAME_SIZE, "%zu (%zu)", c->joint.clusters[i].found.number,
                 c->joint.clusters[i].found.size);
    sis__buf_printf(&d->caption,
                    "%s%zu cluster%s of %zu subset%s of both models, %zu in no cluster.",
                    shown < n ? "The first 20 of " : "", n, sis__plural(n), c->joint.found.n,
                    sis__plural(c->joint.found.n), c->joint.found.n_noise);
    return code == SIS_OK ? 1 : code;
}

int sis__make_joint_rows(const sis_report *report, size_t k, sis__drawing *d) {
    int made = sis__make_set_rows(report, &report->comparisons[k].joint, d);
    snprintf(d->name, sizeof d->name, "joint-clusters");
    snprintf(d->title, sizeof d->title, "Clusters of the subsets of both models.");
    sis__drawing_number(d, k);
    return made;
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* The example of a side if it is an image. */
static const sis__report_example *picture_of(const sis_report *report, size_t i) {
    const sis__report_example *e = i == SIZE_MAX ? NULL : &report->examples[i];
    return e && e->look == SIS__IMAGE ? e : NULL;
}

static int add_difference(sis__drawing *d, const sis_difference *f,
                          const sis__report_example *e[2]) {
    int code = sis__rows_add(d, e[0], SIZE_MAX, 0);
    snprintf(d->names[d->pictures.rows], SIS__NAME_SIZE, "%.20s", f->id);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0;
             code == SIS_OK && i < e[side]->record.collection.n_subsets && i < SUBSETS_MAX; i++)
            code = sis__rows_add(d, e[side], i, 1 + side * SUBSETS_MAX + i);
    d->pictures.rows++;
    return code;
}

int sis__make_differences(const sis_report *report, size_t k, sis__drawing *d) {
    const sis__compared *c = &report->comparisons[k];
    int code = sis__rows_make(d, DIFFERENCES_MAX, 1 + 2 * SUBSETS_MAX);
    for (size_t i = 0;
         code == SIS_OK && i < c->found.n_differences && d->pictures.rows < DIFFERENCES_MAX; i++) {
        const sis__report_example *e[2] = {picture_of(report, c->examples[i][0]),
                                           picture_of(report, c->examples[i][1])};
        if (e[0] && e[1])
            code = add_difference(d, &c->found.differences[i], e);
    }
    if (code != SIS_OK || d->pictures.rows == 0)
        return code;
    for (size_t side = 0; side < 2; side++)
        sis__side_name(c, side, d->mark_texts[side], sizeof d->mark_texts[side]);
    snprintf(d->name, sizeof d->name, "differences");
    snprintf(d->title, sizeof d->title, "Where subsets differ most.");
    sis__drawing_number(d, k);
    d->pictures.first_name = "original";
    d->pictures.other_name = d->mark_texts[0];
    d->pictures.last_name = d->mark_texts[1];
    d->pictures.last = 1 + SUBSETS_MAX;
    sis__pictures_size(&d->pictures, &d->width, &d->height);
    size_t rows = d->pictures.rows;
    if (rows == 1)
        sis__buf_str(&d->caption, "The example");
    else
        sis__buf_printf(&d->caption, "The %zu examples", rows);
    sis__buf_printf(&d->caption,
                    " on which the subsets of both models are farthest apart, up to %d subsets of "
                    "each.",
                    SUBSETS_MAX);
    return 1;
}
