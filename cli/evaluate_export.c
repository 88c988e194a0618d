/* SPDX-License-Identifier: MIT
 *
 * Every value of an evaluation, for plotting: a row a rationale as CSV, an empty cell where nothing
 * was measured, and all of it as a finding, which the library writes.
 */
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "output.h"

/* The place of each measure in a rationale. */
static const size_t places[SIS_N_MEASURES] = {
#define PLACE(code, name) [SIS_MEASURE_##code] = offsetof(eval_rationale, name),
    PLACE(LENGTH, length) PLACE(PERCENT, percent) PLACE(SCORE, score) PLACE(SUFFICIENT, sufficient)
        PLACE(INSIDE, inside) PLACE(OUTSIDE, outside) PLACE(MARKED, marked)
            PLACE(DIVERGENCE, divergence) PLACE(SECOND, second) PLACE(DECK, deck)
                PLACE(DECK_HOLDS, deck_holds) PLACE(AROUND, around) PLACE(HALF, half)
                    PLACE(HALF_HOLDS, half_holds) PLACE(STABLE, stable)
                        PLACE(SUFFICIENCY, sufficiency) PLACE(COMPREHENSIVENESS, comprehensiveness)
                            PLACE(PGI, pgi) PLACE(PGU, pgu) PLACE(TOKEN_F1, token_f1)
                                PLACE(IOU_F1, iou_f1) PLACE(SAME, same) PLACE(JACCARD, jaccard)
#undef PLACE
};

static double number_of(const eval_rationale *x, int k) {
    double v;
    memcpy(&v, (const char *)x + places[k], sizeof v);
    return v;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Text as a cell: quoted where it must be. */
static void put_text(FILE *f, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

static void put_value(FILE *f, double v) {
    if (isnan(v))
        fputc(',', f);
    else
        fprintf(f, ",%.10g", v);
}

static void write_row(FILE *f, const evaluation *ev, const eval_method *m,
                      const eval_rationale *x) {
    const sis_record *r = m->of[x->example];
    put_text(f, m->name);
    fputc(',', f);
    put_text(f, r->id);
    fprintf(f, ",%zu,%zu", x->subset, r->collection.n_features);
    put_value(f, r->question.threshold);
    put_value(f, r->collection.score);
    put_value(f, ev->examples[x->example].qhs);
    for (int k = 0; k < SIS_N_MEASURES; k++)
        put_value(f, number_of(x, k));
    if (isnan(x->divergence))
        fputs(",,", f);
    else
        fprintf(f, ",%zu,%c", x->start, x->reverse ? '-' : '+');
    fputc('\n', f);
}

int eval_csv(const evaluation *ev, const char *path) {
    cli_output out;
    int status = cli_output_open(&out, path);
    if (status != CLI_DONE)
        return cli_output_close(&out, status);
    fputs("method,id,subset,n_features,threshold,input_score,qhs", out.file);
    for (int k = 0; k < SIS_N_MEASURES; k++)
        fprintf(out.file, ",%s", sis_measure_name((sis_measure)k));
    fputs(",motif_start,motif_strand\n", out.file);
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t i = 0; i < ev->methods[k].n_items; i++)
            write_row(out.file, ev, &ev->methods[k], &ev->methods[k].items[i]);
    status = ferror(out.file) ? cli_cannot_write(path) : CLI_DONE;
    return cli_output_close(&out, status);
}

/* ---- As a finding ---------------------------------------------------------------------------- */

static sis_rated rated_of(const eval_rationale *x) {
    sis_rated r = {.example = x->example,
                   .subset = x->subset,
                   .n_features = (size_t)x->length,
                   .features = x->features,
                   .motif_start = isnan(x->divergence) ? -1 : (long)x->start,
                   .reverse = x->reverse};
    for (int k = 0; k < SIS_N_MEASURES; k++)
        r.measures[k] = number_of(x, k);
    return r;
}

/* Median, extremes and tests of one number of rationales. */
static int find_quantity(const evaluation *ev, const eval_method *m, size_t place,
                         sis_quantity *q) {
    size_t n = 0;
    eval_against p = {0};
    double *values = eval_column(m, place, &n);
    int status = values ? eval_compare(ev, m, place, &p) : CLI_FAILED;
    if (status == CLI_DONE && n > 0) {
        int error = sis_sample_percentile(values, n, 0, &q->lowest);
        if (!error)
            error = sis_sample_percentile(values, n, 100, &q->highest);
        q->median = eval_median(values, n);
        q->mean = sis_sample_mean(values, n);
        q->rank_sum_p = p.sum.p;
        q->signed_rank_p = p.pairs.p;
        status = cli_fail(error);
    }
    free(values);
    return status;
}

static int find_importance(const evaluation *ev, const eval_method *m, sis_quantity *q) {
    size_t n_in = 0, n_out = 0;
    eval_against p = {0};
    double *in = eval_importance(ev, m, 1, &n_in, NULL);
    double *out = eval_importance(ev, m, 0, &n_out, NULL);
    int status = in && out ? eval_compare_importance(ev, m, &p) : CLI_FAILED;
    if (status == CLI_DONE)
        *q = (sis_quantity){.median = eval_median(in, n_in),
                            .outside = eval_median(out, n_out),
                            .rank_sum_p = p.sum.p,
                            .signed_rank_p = p.pairs.p};
    free(in);
    free(out);
    return status;
}

static int find_summary(const evaluation *ev, const eval_method *m, sis_method_summary *s) {
    static const sis_measure measures[] = {[SIS_QUANTITY_LENGTH] = SIS_MEASURE_LENGTH,
                                           [SIS_QUANTITY_PERCENT] = SIS_MEASURE_PERCENT,
                                           [SIS_QUANTITY_SCORE] = SIS_MEASURE_SCORE,
                                           [SIS_QUANTITY_MARKED] = SIS_MEASURE_MARKED,
                                           [SIS_QUANTITY_DIVERGENCE] = SIS_MEASURE_DIVERGENCE,
                                           [SIS_QUANTITY_STABLE] = SIS_MEASURE_STABLE,
                                           [SIS_QUANTITY_SUFFICIENCY] = SIS_MEASURE_SUFFICIENCY,
                                           [SIS_QUANTITY_COMPREHENSIVENESS] =
                                               SIS_MEASURE_COMPREHENSIVENESS,
                                           [SIS_QUANTITY_PGI] = SIS_MEASURE_PGI,
                                           [SIS_QUANTITY_PGU] = SIS_MEASURE_PGU,
                                           [SIS_QUANTITY_TOKEN_F1] = SIS_MEASURE_TOKEN_F1,
                                           [SIS_QUANTITY_IOU_F1] = SIS_MEASURE_IOU_F1,
                                           [SIS_QUANTITY_SAME] = SIS_MEASURE_SAME,
                                           [SIS_QUANTITY_JACCARD] = SIS_MEASURE_JACCARD};
    size_t all, most;
    sis_test r = {.statistic = NAN, .p = NAN};
    int status = CLI_DONE;
    eval_count(ev, m, &all, &most);
    for (int k = 0; k < SIS_N_QUANTITIES && status == CLI_DONE; k++) {
        s->quantities[k].median = NAN;
        if (k != SIS_QUANTITY_IMPORTANCE)
            status = find_quantity(ev, m, places[measures[k]], &s->quantities[k]);
        else if (ev->with_model)
            status = find_importance(ev, m, &s->quantities[k]);
    }
    if (status == CLI_DONE && ev->o->human && ev->with_model)
        status = eval_correlate(ev, m, &r);
    s->subsets_per_example = (double)all / (double)ev->n_examples;
    s->subsets_most = (double)most;
    s->sufficient_examples = eval_sufficient(ev, m);
    s->pearson_r = r.statistic;
    s->pearson_p = r.p;
    return status;
}

typedef double curves_of[SIS_N_CURVES][SIS_N_CUTS];

/* The rationales of the method go to `rated`, what it says cut by cut to `curves`. */
static int find_method(const evaluation *ev, const eval_method *m, sis_rated *rated,
                       curves_of *curves, sis_evaluated_method *out) {
    *out = (sis_evaluated_method){.name = m->name,
                                  .method = m->results.items[0].question.method,
                                  .file = m->results.name,
                                  .n = m->n_items,
                                  .rationales = rated};
    for (size_t i = 0; i < m->n_items; i++)
        rated[i] = rated_of(&m->items[i]);
    if (m->faithfulness) {
        eval_curves(ev, m, *curves);
        out->summary.n_cuts = SIS_N_CUTS;
        for (int k = 0; k < SIS_N_CURVES; k++)
            out->summary.curves[k] = (*curves)[k];
    }
    return find_summary(ev, m, &out->summary);
}

static sis_evaluated_example example_of(const eval_example *x) {
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

static int write_finding(const sis_evaluation *f, const char *path) {
    char *text;
    size_t n;
    int error = sis_evaluation_format(f, &text, &n);
    if (error)
        return cli_fail(error);
    int status = cli_output_all(path, text, n);
    free(text);
    return status;
}

int eval_json(const evaluation *ev, const char *path) {
    size_t n = 0, at = 0;
    for (size_t k = 0; k < ev->n_methods; k++)
        n += ev->methods[k].n_items;
    sis_rated *rated = cli_grab(n, sizeof *rated);
    sis_evaluated_method *methods = cli_grab(ev->n_methods, sizeof *methods);
    sis_evaluated_example *examples = cli_grab(ev->n_examples, sizeof *examples);
    curves_of *curves = cli_grab(ev->n_methods, sizeof *curves);
    int status = rated && methods && examples && curves ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; i < ev->n_examples && status == CLI_DONE; i++)
        examples[i] = example_of(&ev->examples[i]);
    for (size_t k = 0; k < ev->n_methods && status == CLI_DONE; k++) {
        status = find_method(ev, &ev->methods[k], rated + at, &curves[k], &methods[k]);
        at += ev->methods[k].n_items;
    }
    if (status == CLI_DONE) {
        sis_evaluation f = {.model = ev->n_methods ? ev->methods[0].results.items[0].model : NULL,
                            .motif = ev->motif ? ev->motif->id : NULL,
                            .n_examples = ev->n_examples,
                            .examples = examples,
                            .n_methods = ev->n_methods,
                            .methods = methods,
                            .n_draws = ev->study.n,
                            .by_mask = ev->study.by_mask,
                            .by_hotdeck = ev->study.by_deck};
        status = write_finding(&f, path);
    }
    free(rated);
    free(methods);
    free(examples);
    free(curves);
    return status;
}
