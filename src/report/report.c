/* SPDX-License-Identifier: MIT
 *
 * Adds records to a report. Each becomes an example: the record, and a summary of its trace. The
 * records of one results file are a run, counted as they are added.
 *
 * An example is drawn by what it contains: words, a sequence, values in the shape of an image,
 * other values, or only the numbers of its features.
 */
#include "report/report.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "base/error.h"
#include "base/mem.h"

static const size_t PIXELS_MAX = (size_t)1 << 20;

int sis_report_new(sis_report **out) {
    *out = SIS_NEW(sis_report, 1);
    return *out ? SIS_OK : SIS_E_NOMEM;
}

void sis_report_free(sis_report *report) {
    if (!report)
        return;
    for (size_t i = 0; i < report->n; i++) {
        sis_record_release(&report->examples[i].record);
        sis__trace_summary_release(&report->examples[i].traced);
    }
    for (size_t i = 0; i < report->n_runs; i++) {
        free(report->runs[i].source);
        free(report->runs[i].stem);
    }
    free(report->examples);
    free(report->runs);
    for (size_t i = 0; i < report->n_sets; i++)
        sis__clusters_release(&report->sets[i]);
    for (size_t i = 0; i < report->n_comparisons; i++)
        sis__compared_release(&report->comparisons[i]);
    for (size_t i = 0; i < report->n_evaluations; i++)
        sis_evaluation_release(&report->evaluations[i]);
    free(report->sets);
    free(report->comparisons);
    free(report->evaluations);
    sis_groups_free(report->groups);
    free(report);
}

/* ---- Choosing the view ----------------------------------------------------------------------- */

static sis__look find_look(sis__report_example *e) {
    const sis_record *r = &e->record;
    int image = sis_kind_of(r->drawing.kind) == SIS_KIND_IMAGE;
    if (r->collection.n_features == 0)
        return SIS__LIST;
    if (r->drawing.words)
        return SIS__TEXT;
    if (r->drawing.sequence)
        return SIS__DNA;
    if (image && r->drawing.values && sis_record_raster(r, &e->at) && sis__pixels(e) <= PIXELS_MAX)
        return SIS__IMAGE;
    return r->drawing.values || r->drawing.names ? SIS__TABLE : SIS__LIST;
}

size_t sis__pixels(const sis__report_example *e) {
    return e->at.rows * e->at.columns;
}

size_t sis__pixel_value(const sis__report_example *e, size_t pixel) {
    const sis_raster *at = &e->at;
    return pixel / at->columns * at->row_step + pixel % at->columns * at->column_step;
}

int sis__pixel_feature(const sis__report_example *e, size_t pixel) {
    size_t v = sis__pixel_value(e, pixel);
    return e->record.drawing.feature_map ? e->record.drawing.feature_map[v] : (int)v;
}

/* ---- Outputs --------------------------------------------------------------------------------- */

void sis__output_name(const sis_record *r, char *text, size_t size) {
    if (r->question.target_label)
        snprintf(text, size, "%s", r->question.target_label);
    else
        snprintf(text, size, "output %zu", r->question.target);
}

int sis__output_is_plain(const sis_record *r) {
    return !r->question.target_label && r->question.n_outputs == 1;
}

const char *sis__run_name(const sis_report *report, size_t run) {
    for (size_t i = 0; i < report->n_runs; i++)
        if (i != run && strcmp(report->runs[i].stem, report->runs[run].stem) == 0)
            return report->runs[run].source;
    return report->runs[run].stem;
}

/* ---- Kinds of subsets ------------------------------------------------------------------------ */

int sis__kind_of(const sis_record *r) {
    const sis_guarantee *g = r->guarantee;
    int more = g && !g->minimal ? SIS__NOT_MINIMAL : 0;
    int masked = !g || g->kind == SIS_GUARANTEE_MASK;
    return sis_record_is_contrast(r)         ? masked ? SIS__MASKED_CONTRAST : SIS__CONTRAST | more
           : r->question.constraint          ? SIS__RATIONALE
           : masked                          ? SIS__ENOUGH
           : g->kind == SIS_GUARANTEE_CHANCE ? SIS__DRAWN | more
                                             : SIS__PROVED | more;
}

const char *sis__record_title(const sis_record *r) {
    int kind = sis__kind_of(r);
    return r->collection.status == SIS_STATUS_ERROR ? "Failed"
           : r->collection.status == SIS_STATUS_CUT ? "Cut short"
           : !r->collection.n_subsets               ? "Nothing to explain"
           : kind & SIS__CONTRASTS                  ? "What would change it"
           : kind & SIS__PROVED                     ? "Proof"
           : kind & SIS__RATIONALE                  ? "Rationale"
                                                    : "Reason";
}

int sis__kinds_of(const sis_report *report) {
    int all = 0;
    for (size_t i = 0; i < report->n; i++)
        all |= sis__kind_of(&report->examples[i].record);
    return all;
}

const char *sis__subset_word(const sis_report *report) {
    int kinds = sis__kinds_of(report) & ~SIS__NOT_MINIMAL;
    return kinds && !(kinds & ~SIS__CONTRASTS)         ? "contrast"
           : kinds == SIS__RATIONALE                   ? "rationale"
           : kinds & (SIS__CONTRASTS | SIS__RATIONALE) ? "subset"
                                                       : "sufficient subset";
}

/* ---- Runs ------------------------------------------------------------------------------------ */

/* Find or add the run of that source. NULL: out of memory. */
static sis__report_run *find_run(sis_report *report, const char *source) {
    for (size_t i = report->n_runs; i-- > 0;)
        if (strcmp(report->runs[i].source, source) == 0)
            return &report->runs[i];
    if (sis__reserve(&report->runs, &report->cap_runs, report->n_runs + 1, sizeof *report->runs) !=
        SIS_OK)
        return NULL;
    sis__report_run *run = &report->runs[report->n_runs];
    int stem;
    const char *name = sis__file_name(source, &stem);
    *run = (sis__report_run){.source = sis__strdup(source),
                             .stem = strndup(name, (size_t)stem),
                             .first = report->n,
                             .threshold_low = INFINITY,
                             .threshold_high = -INFINITY,
                             .masked_low = INFINITY,
                             .masked_high = -INFINITY};
    if (run->source && run->stem) {
        report->n_runs++;
        return run;
    }
    free(run->source);
    free(run->stem);
    return NULL;
}

static int differs(const sis_record *a, const sis_record *b) {
    return strcmp(a->model, b->model) != 0 || strcmp(a->question.method, b->question.method) != 0 ||
           a->question.below != b->question.below;
}

static void count_record(const sis_report *report, sis__report_run *run,
                         const sis__report_example *e) {
    const sis_record *r = &e->record;
    const sis_collection *c = &r->collection;
    run->n++;
    run->status[c->status]++;
    run->verified += c->verified && c->status == SIS_STATUS_EXPLAINED;
    run->complete += c->complete && c->n_subsets;
    run->subsets += c->n_subsets;
    run->traced += e->traced.n_steps > 0;
    run->evaluations += c->evaluations;
    run->seconds += c->seconds;
    run->threshold_low = fmin(run->threshold_low, r->question.threshold);
    run->threshold_high = fmax(run->threshold_high, r->question.threshold);
    if (sis_record_masked_name(r)) {
        run->masked_low = fmin(run->masked_low, c->masked_score); /* fmin ignores NaN */
        run->masked_high = fmax(run->masked_high, c->masked_score);
    }
    if (run->first < report->n)
        run->mixed |= differs(r, &report->examples[run->first].record);
}

int sis_report_add(sis_report *report, const char *source, sis_record *record) {
    sis__report_example e = {.record = *record};
    *record = (sis_record){0};
    int code = sis__trace_summarise(&e.record, &e.traced);
    for (size_t k = 0; k < e.record.collection.n_subsets; k++)
        sis_trace_release(&e.record.collection.subsets[k].trace);
    e.look = find_look(&e);
    if (code == SIS_OK)
        code =
            sis__reserve(&report->examples, &report->cap, report->n + 1, sizeof *report->examples);
    sis__report_run *run = code == SIS_OK ? find_run(report, source) : NULL;
    if (!run) {
        sis_record_release(&e.record);
        sis__trace_summary_release(&e.traced);
        return SIS_E_NOMEM;
    }
    e.run = (size_t)(run - report->runs);
    count_record(report, run, &e);
    report->examples[report->n++] = e;
    return SIS_OK;
}
