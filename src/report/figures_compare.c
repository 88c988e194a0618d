/* SPDX-License-Identifier: MIT
 *
 * Figures of a comparison of two models: their decisions, how each scores the subsets of the other,
 * images of joint clusters, and images whose subsets differ.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>

#include "base/mem.h"
#include "base/number.h"
#include "report/figures.h"
#include "report/html.h"

enum { DIFFERENCES_MAX = 8, SUBSETS_MAX = 4 };

/* A and B are green and pink; blue and orange are used for pixels. */
static int side_colour(size_t side) {
    return sis__series_colour(2 + side);
}

/* ---- Decisions ------------------------------------------------------------------------------- */

int sis__make_decisions(const sis_report *report, size_t k, sis__drawing *d) {
    const sis__compared *c = &report->comparisons[k];
    char a[SIS__NAME_SIZE - 8], b[SIS__NAME_SIZE - 8];
    sis__side_name(c, 0, a, sizeof a);
    sis__side_name(c, 1, b, sizeof b);
    d->chart = sis__plot_bars;
    d->plot.whole = 1;
    sis__drawing_series(d, 1, SIS_N_DECISIONS);
    if (d->error || c->found.common == 0)
        return 0;
    snprintf(d->names[1 + SIS_DECISION_SAME], SIS__NAME_SIZE, "the same");
    snprintf(d->names[1 + SIS_DECISION_OTHER_OUTPUT], SIS__NAME_SIZE, "differently");
    snprintf(d->names[1 + SIS_DECISION_ONLY_A], SIS__NAME_SIZE, "only %s", a);
    snprintf(d->names[1 + SIS_DECISION_ONLY_B], SIS__NAME_SIZE, "only %s", b);
    snprintf(d->names[1 + SIS_DECISION_NEITHER], SIS__NAME_SIZE, "neither");
    for (int i = 0; i < SIS_N_DECISIONS; i++)
        sis__drawing_add(d, &d->plot.series[0].x, (double)c->found.decisions[i]);
    sis__buf_printf(
        &d->caption,
        "%zu example%s in both results files: both models decide, for the same output or for "
        "different ones; only one model decides; neither decides.",
        c->found.common, c->found.common == 1 ? " that is" : "s that are");
    return 1;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* Add the scores of the side's own subsets, if the report has all of them. */
static void add_own(const sis_report *report, const sis_side *side, sis__numbers *out,
                    sis__drawing *d) {
    size_t run = sis__side_run(report, side);
    if (run == SIZE_MAX || report->runs[run].subsets != side->subsets)
        return;
    for (size_t i = 0; i < report->n; i++) {
        const sis_collection *s = &report->examples[i].record.collection;
        for (size_t j = 0; report->examples[i].run == run && j < s->n_subsets; j++)
            sis__drawing_add(d, out, s->subsets[j].score);
    }
}

/* Column 2 * scorer holds its own subsets, the next column the other's. */
static void add_columns(const sis_report *report, const sis__compared *c, size_t scorer,
                        sis__drawing *d) {
    sis__series *own = &d->plot.series[2 * scorer], *other = own + 1;
    const sis_cross *mine = &c->found.cross[scorer], *others = &c->found.cross[!scorer];
    char name[SIS__NAME_SIZE - 4];
    sis__side_name(c, !scorer, name, sizeof name);
    snprintf(d->names[2 * scorer], SIS__NAME_SIZE, "its own");
    snprintf(d->names[2 * scorer + 1], SIS__NAME_SIZE, "of %s", name);
    own->colour = side_colour(scorer);
    other->colour = side_colour(!scorer);
    add_own(report, &c->found.sides[scorer], &own->x, d);
    d->plot.violin &= own->x.n > 0; /* quantiles give the same box, but no density */
    for (size_t i = 0; own->x.n == 0 && i < mine->n_quantiles; i++)
        sis__drawing_add(d, &own->x, mine->own_quantiles[i]);
    for (size_t i = 0; i < others->n; i++)
        sis__drawing_add(d, &other->x, others->scores[i]);
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
    d->chart = sis__plot_boxes;
    d->plot.violin = 1;
    sis__drawing_series(d, 4, 0);
    for (size_t scorer = 0; !d->error && scorer < 2; scorer++) {
        add_columns(report, c, scorer, d);
        mark_scorer(c, scorer, d);
    }
    d->plot.marks = d->marks;
    describe_scores(c, d);
    return c->found.cross[0].n + c->found.cross[1].n > 0;
}

/* ---- Joint clusters -------------------------------------------------------------------------- */

int sis__make_joint_rows(const sis_report *report, size_t k, sis__drawing *d) {
    return sis__make_set_rows(report, &report->comparisons[k].joint, d);
}

/* ---- Differences ----------------------------------------------------------------------------- */

/* The example of a side if it is an image. */
static const sis__report_example *picture_of(const sis_report *report, size_t i) {
    const sis__report_example *e = i == SIZE_MAX ? NULL : &report->examples[i];
    return e && e->look == SIS__IMAGE ? e : NULL;
}

static void add_difference(sis__drawing *d, const sis_difference *f,
                           const sis__report_example *e[2]) {
    sis__rows_add(d, e[0], SIZE_MAX, 0);
    snprintf(d->names[d->pictures.rows], SIS__NAME_SIZE, "%.20s", f->id);
    for (size_t side = 0; side < 2; side++)
        for (size_t i = 0; i < e[side]->record.collection.n_subsets && i < SUBSETS_MAX; i++)
            sis__rows_add(d, e[side], i, 1 + side * SUBSETS_MAX + i);
    d->pictures.rows++;
}

int sis__make_differences(const sis_report *report, size_t k, sis__drawing *d) {
    const sis__compared *c = &report->comparisons[k];
    sis__rows_make(d, DIFFERENCES_MAX, 1 + 2 * SUBSETS_MAX);
    for (size_t i = 0;
         !d->error && i < c->found.n_differences && d->pictures.rows < DIFFERENCES_MAX; i++) {
        const sis__report_example *e[2] = {picture_of(report, c->examples[i][0]),
                                           picture_of(report, c->examples[i][1])};
        if (e[0] && e[1])
            add_difference(d, &c->found.differences[i], e);
    }
    for (size_t side = 0; side < 2; side++)
        sis__side_name(c, side, d->mark_texts[side], sizeof d->mark_texts[side]);
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
    return rows > 0;
}
