/* SPDX-License-Identifier: MIT
 *
 * The output of sis evaluate: tables with one row per method, each tested against the first method,
 * and CSV with one row per rationale. A cell is empty if nothing was measured.
 */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "evaluate.h"
#include "output.h"

/* ---- Cells ----------------------------------------------------------------------------------- */

enum { CELL = 44, COLUMNS = 8 };

/* Rows of cells; the first row is the header. The first error is kept. */
typedef struct {
    size_t columns, texts; /* number of columns; text columns, on the left */
    size_t n, room;        /* cells */
    char (*cells)[CELL];
    int on_top; /* first table: no empty line above it */
    int status;
} table;

static void put(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(table *t, const char *format, ...) {
    if (t->status != CLI_DONE)
        return;
    t->status = cli_fail(sis__reserve(&t->cells, &t->room, t->n + 1, sizeof *t->cells));
    if (t->status != CLI_DONE)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(t->cells[t->n++], CELL, format, args);
    va_end(args);
}

static void put_number(table *t, const char *format, double v) {
    char text[CELL];
    snprintf(text, sizeof text, format, v);
    put(t, "%s", isnan(v) ? "-" : text);
}

static void put_header(table *t, const char *const *names) {
    for (t->columns = 0; names[t->columns]; t->columns++)
        put(t, "%s", names[t->columns]);
}

/* Add the p-values of each method against the first, if there are any. */
static void put_tests(table *t, const sis_evaluation *e) {
    if (e->n_methods > 1) {
        put(t, "rank-sum p");
        put(t, "signed-rank p");
        t->columns += 2;
    }
}

static void put_against(table *t, const sis_evaluation *e, size_t method, int quantity) {
    const sis_quantity *q = &e->methods[method].summary.quantities[quantity];
    if (e->n_methods == 1)
        return;
    put_number(t, "%.2g", method == 0 ? NAN : q->rank_sum_p);
    put_number(t, "%.2g", method == 0 ? NAN : q->signed_rank_p);
}

/* Counts characters, not bytes. */
static int width_of(const char *text) {
    int n = 0;
    for (; *text; text++)
        n += (*text & 0xc0) != 0x80;
    return n;
}

static void print_cell(const char *text, int width, int left) {
    int blanks = width - width_of(text);
    printf("%*s", left ? 0 : blanks, "");
    cli_print_safe(stdout, text);
    printf("%*s", left ? blanks : 0, "");
}

/* Text is left-aligned, numbers right-aligned. */
static int print_table(table *t, const char *title) {
    int widths[COLUMNS] = {0};
    if (t->status == CLI_DONE) {
        printf("%s%s\n", t->on_top ? "" : "\n", title);
        for (size_t i = 0; i < t->n; i++) {
            int w = width_of(t->cells[i]);
            widths[i % t->columns] = w > widths[i % t->columns] ? w : widths[i % t->columns];
        }
        for (size_t i = 0; i < t->n; i++) {
            printf("  ");
            print_cell(t->cells[i], widths[i % t->columns], i % t->columns < t->texts);
            if ((i + 1) % t->columns == 0)
                putchar('\n');
        }
    }
    free(t->cells);
    return t->status;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* For decisions "<=", changes of the score are negated. */
static int is_below(const sis_evaluation *e) {
    return e->examples[0].below;
}

static int print_counts(const sis_evaluation *e) {
    table t = {.texts = 2};
    put_header(&t,
               (const char *const[]){"method", "file", "rationales", "found per example", "most",
                                     "sufficient examples", "evaluations per example", NULL});
    for (size_t k = 0; k < e->n_methods; k++) {
        const sis_evaluated_method *m = &e->methods[k];
        put(&t, "%s", m->name);
        put(&t, "%s", cli_last_part(m->file));
        put(&t, "%zu", m->n);
        put(&t, "%.2f", m->summary.subsets_per_example);
        put(&t, "%.0f", m->summary.subsets_max);
        put(&t, "%.1f %%", 100 * m->summary.sufficient_examples);
        put_number(&t, "%.0f", m->summary.evaluations_per_example);
    }
    return print_table(&t, "Rationales");
}

/* Print a quantity of rationales: median, minimum, maximum, tests. */
static int print_quantity(const sis_evaluation *e, const char *title, int quantity,
                          const char *format) {
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "median", "mean", "lowest", "highest", NULL});
    put_tests(&t, e);
    for (size_t k = 0; k < e->n_methods; k++) {
        const sis_quantity *q = &e->methods[k].summary.quantities[quantity];
        put(&t, "%s", e->methods[k].name);
        put_number(&t, format, q->median);
        put_number(&t, format, q->mean);
        put_number(&t, format, q->lowest);
        put_number(&t, format, q->highest);
        put_against(&t, e, k, quantity);
    }
    return print_table(&t, title);
}

static int print_importance(const sis_evaluation *e) {
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "median inside", "median outside", NULL});
    put_tests(&t, e);
    for (size_t k = 0; k < e->n_methods; k++) {
        const sis_quantity *q = &e->methods[k].summary.quantities[SIS_QUANTITY_IMPORTANCE];
        put(&t, "%s", e->methods[k].name);
        put_number(&t, "%.3g", q->median);
        put_number(&t, "%.3g", q->outside);
        put_against(&t, e, k, SIS_QUANTITY_IMPORTANCE);
    }
    return print_table(&t, is_below(e)
                               ? "Importance of single features: what masking one alone adds to "
                                 "the score"
                               : "Importance of single features: what masking one alone takes off "
                                 "the score");
}

/* ---- Agreement with people ------------------------------------------------------------------- */

/* Everything that a method shows of an example counts as one set. */
static int print_tokens(const sis_evaluation *e) {
    static const struct {
        int quantity;
        const char *title;
    } tables[] = {
        {SIS_QUANTITY_TOKEN_PRECISION,
         "Token precision: of all that a method shows of an example, the share that a person "
         "marked"},
        {SIS_QUANTITY_TOKEN_RECALL,
         "Token recall: of what a person marked, the share that the method shows"},
        {SIS_QUANTITY_TOKEN_F1, "Token F1: the harmonic mean of the two"},
        {SIS_QUANTITY_IOU_F1, "IOU F1: the same, span by span"},
    };
    int status = CLI_DONE;
    for (size_t k = 0; status == CLI_DONE && k < sizeof tables / sizeof *tables; k++)
        status = print_quantity(e, tables[k].title, tables[k].quantity, "%.3f");
    return status;
}

static int print_human(const sis_evaluation *e) {
    const sis_people *p = &e->people;
    char title[128];
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "median share", "mean share",
                                         "Pearson r with QHS", "its p", NULL});
    put_tests(&t, e);
    for (size_t k = 0; k < e->n_methods; k++) {
        const sis_method_summary *s = &e->methods[k].summary;
        put(&t, "%s", e->methods[k].name);
        put_number(&t, "%.3f", s->quantities[SIS_QUANTITY_MARKED].median);
        put_number(&t, "%.3f", s->quantities[SIS_QUANTITY_MARKED].mean);
        put_number(&t, "%.3f", s->pearson_r);
        put_number(&t, "%.2g", s->pearson_p);
        put_against(&t, e, k, SIS_QUANTITY_MARKED);
    }
    snprintf(title, sizeof title,
             "Agreement with people: share of a rationale inside what a person marked (%zu "
             "examples)",
             p->n);
    int status = print_table(&t, title);
    if (status == CLI_DONE && p->n_scored > 0)
        printf(
            "  people marked %.1f %% of the features, and these alone are sufficient in %zu of %zu "
            "examples;\n  QHS, %s: median %.4g, from %.4g "
            "to %.4g\n",
            100 * p->share, p->sufficient, p->n_scored,
            is_below(e) ? "the score of the whole input less theirs"
                        : "their score less that of the whole input",
            p->median, p->lowest, p->highest);
    return status == CLI_DONE ? print_tokens(e) : status;
}

/* ---- Masks ----------------------------------------------------------------------------------- */

static int print_robust(const sis_evaluation *e, const sis_evaluate_opt *o) {
    char title[192], second[CELL];
    table t = {.texts = 1};
    snprintf(second, sizeof second, "mask %s", o->second_mask);
    put_header(&t, (const char *const[]){"method", "own mask", second, "hot-deck",
                                         "neighbours back", "random half back", NULL});
    for (size_t k = 0; k < e->n_methods; k++) {
        put(&t, "%s", e->methods[k].name);
        for (size_t i = 0; i < SIS_N_TRIALS; i++)
            put_number(&t, "%.1f %%", 100 * e->methods[k].summary.holds[i]);
    }
    snprintf(title, sizeof title,
             "Robustness: how often rationales stay sufficient (%zu samples each of hot-deck and "
             "half)",
             o->samples);
    return print_table(&t, title);
}

/* ---- Metrics --------------------------------------------------------------------------------- */

/* The header: the method, then one column per cut. */
static void put_cut_header(table *t, const sis_evaluation *e, int curve) {
    const double *counts = e->methods[0].summary.curves[SIS_CURVE_FEATURES];
    put(t, "method");
    for (size_t k = 0; k < SIS_N_CUTS; k++)
        if (counts && curve != SIS_CURVE_STABLE)
            put(t, "top %g", counts[k]);
        else
            put(t, "%g %%", sis_cut_percent(k));
    t->columns = 1 + SIS_N_CUTS;
}

/* Print a curve, its mean over the cuts, and a paired test of that mean against the first
 * method. */
static int print_curve(const sis_evaluation *e, int curve, int quantity, const char *title) {
    table t = {.texts = 1};
    put_cut_header(&t, e, curve);
    put(&t, "mean");
    t.columns++;
    if (e->n_methods > 1) {
        put(&t, "signed-rank p");
        t.columns++;
    }
    for (size_t i = 0; i < e->n_methods; i++) {
        const sis_method_summary *s = &e->methods[i].summary;
        put(&t, "%s", e->methods[i].name);
        for (size_t k = 0; k < SIS_N_CUTS; k++)
            put_number(&t, "%.3f", s->curves[curve][k]);
        put_number(&t, "%.3f", sis_sample_mean(s->curves[curve], SIS_N_CUTS));
        if (e->n_methods > 1)
            put_number(&t, "%.2g", i == 0 ? NAN : s->quantities[quantity].signed_rank_p);
    }
    return print_table(&t, title);
}

static int print_stability(const sis_evaluation *e, size_t samples) {
    char title[160];
    table t = {.texts = 1};
    put_cut_header(&t, e, SIS_CURVE_STABLE);
    for (size_t i = 0; i < e->n_methods; i++) {
        const double *const *c = e->methods[i].summary.curves;
        put(&t, "%s", e->methods[i].name);
        for (size_t k = 0; k < SIS_N_CUTS; k++)
            put(&t, "%.1f (%.1f-%.1f)", 100 * c[SIS_CURVE_STABLE][k],
                100 * c[SIS_CURVE_STABLE_LOW][k], 100 * c[SIS_CURVE_STABLE_HIGH][k]);
    }
    snprintf(title, sizeof title,
             "Stability: per cent that stay sufficient when that share of all others comes back "
             "(%zu draws each, 95 %% interval)",
             samples);
    return print_table(&t, title);
}

static int print_same(const sis_evaluation *e) {
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "same subsets", "mean Jaccard", NULL});
    for (size_t k = 1; k < e->n_methods; k++) {
        const sis_quantity *q = e->methods[k].summary.quantities;
        put(&t, "%s", e->methods[k].name);
        put_number(&t, "%.1f %%", 100 * q[SIS_QUANTITY_SAME].mean);
        put_number(&t, "%.3f", q[SIS_QUANTITY_JACCARD].mean);
    }
    return print_table(&t,
                       "The same as the first: examples with equal subsets; all features of both");
}

static int print_metrics(const sis_evaluation *e, size_t samples) {
    static const struct {
        int curve, quantity;
        const char *titles[2]; /* for >=, for <= */
    } curves[] = {
        {SIS_CURVE_SUFFICIENCY,
         SIS_QUANTITY_SUFFICIENCY,
         {"Sufficiency: the fall if only the first features are left (low is good; mean: AOPC)",
          "Sufficiency: the rise if only the first features are left (low is good; mean: AOPC)"}},
        {SIS_CURVE_COMPREHENSIVENESS,
         SIS_QUANTITY_COMPREHENSIVENESS,
         {"Comprehensiveness: the fall if they are masked (high is good; mean: AOPC)",
          "Comprehensiveness: the rise if they are masked (high is good; mean: AOPC)"}},
        {SIS_CURVE_PGI,
         SIS_QUANTITY_PGI,
         {"PGI: the change if they are drawn anew (high is good)",
          "PGI: the change if they are drawn anew (high is good)"}},
        {SIS_CURVE_PGU,
         SIS_QUANTITY_PGU,
         {"PGU: the change if all others are (low is good)",
          "PGU: the change if all others are (low is good)"}},
    };
    int status = CLI_DONE;
    for (size_t k = 0; status == CLI_DONE && k < sizeof curves / sizeof *curves; k++)
        if (!isnan(e->methods[0].summary.curves[curves[k].curve][0])) /* prompts have no draws */
            status =
                print_curve(e, curves[k].curve, curves[k].quantity, curves[k].titles[is_below(e)]);
    if (status == CLI_DONE)
        status = print_stability(e, samples);
    return status == CLI_DONE && e->n_methods > 1 ? print_same(e) : status;
}

static int print_study(const sis_evaluation *e) {
    const double *changes[] = {e->by_mask, e->by_hotdeck};
    char title[128];
    table t = {.texts = 1, .on_top = e->n_methods == 0};
    put_header(&t,
               (const char *const[]){"masked by", "mean", "deviation", "lowest", "highest", NULL});
    for (size_t k = 0; k < 2; k++) {
        double lowest = NAN, highest = NAN;
        sis_sample_percentile(changes[k], e->n_draws, 0, &lowest);
        sis_sample_percentile(changes[k], e->n_draws, 100, &highest);
        put(&t, "%s", k == 0 ? "the mask" : "hot-deck");
        put_number(&t, "%.4g", sis_sample_mean(changes[k], e->n_draws));
        put_number(&t, "%.4g", sis_sample_deviation(changes[k], e->n_draws));
        put_number(&t, "%.4g", lowest);
        put_number(&t, "%.4g", highest);
    }
    snprintf(title, sizeof title,
             "Change of the score when one random feature is masked (%zu draws)", e->n_draws);
    return print_table(&t, title);
}

/* ---- All tables ------------------------------------------------------------------------------ */

/* Print the decision if all examples share it. */
static void print_decision(const sis_evaluation *e) {
    const sis_evaluated_example *first = &e->examples[0];
    int same = 1;
    for (size_t i = 1; i < e->n_examples; i++)
        same = same && e->examples[i].threshold == first->threshold &&
               e->examples[i].below == first->below;
    printf("%zu of %zu example%s explained by %s", e->n_examples, e->n_shared,
           e->n_shared == 1 ? " is" : "s are", e->n_methods > 1 ? "every method" : "the method");
    if (e->keep)
        printf("; decision: no other output is higher");
    else if (same)
        printf("; decision: score %s %g", first->below ? "<=" : ">=", first->threshold);
    printf("\nmodel ");
    cli_print_safe(stdout, e->model);
    putchar('\n');
}

static int print_rationales(const sis_evaluation *e, int with_model) {
    print_decision(e);
    int status = print_counts(e);
    if (status == CLI_DONE)
        status =
            print_quantity(e, "Length of rationales, in features", SIS_QUANTITY_LENGTH, "%.6g");
    if (status == CLI_DONE)
        status = print_quantity(e, "Length of rationales, in per cent of the input",
                                SIS_QUANTITY_PERCENT, "%.1f %%");
    if (status == CLI_DONE)
        status = print_quantity(e,
                                e->masked ? "Score of the rationale alone, everything else masked"
                                          : "Score of the rationale: everything else masked; of "
                                            "proofs the worst met, of draws the mean",
                                SIS_QUANTITY_SCORE, "%.6g");
    return status == CLI_DONE && with_model ? print_importance(e) : status;
}

static int print_all(const sis_evaluation *e, const sis_evaluate_opt *o) {
    char title[128];
    int status = e->n_methods > 0 ? print_rationales(e, o->task != NULL) : CLI_DONE;
    if (status == CLI_DONE && o->human)
        status = print_human(e);
    if (status == CLI_DONE && e->motif) {
        snprintf(title, sizeof title, "Divergence from motif %.40s (%.40s), in nats", e->motif_name,
                 e->motif);
        status = print_quantity(e, title, SIS_QUANTITY_DIVERGENCE, "%.2f");
    }
    if (status == CLI_DONE && o->robust)
        status = print_robust(e, o);
    if (status == CLI_DONE && o->metrics)
        status = print_metrics(e, o->samples);
    return status == CLI_DONE && e->n_draws > 0 ? print_study(e) : status;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Write text as a CSV cell, quoted if needed. */
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

static void write_row(FILE *f, const sis_evaluation *e, const char *method, const sis_rated *x) {
    const sis_evaluated_example *of = &e->examples[x->example];
    put_text(f, method);
    fputc(',', f);
    put_text(f, of->id);
    fprintf(f, ",%zu,%zu", x->subset, of->n_features);
    put_value(f, of->threshold);
    put_value(f, of->score);
    put_value(f, of->qhs);
    for (int k = 0; k < SIS_N_MEASURES; k++)
        put_value(f, x->measures[k]);
    if (x->motif_start < 0)
        fputs(",,", f);
    else
        fprintf(f, ",%ld,%c", x->motif_start, x->reverse ? '-' : '+');
    fputc('\n', f);
}

static int write_csv(const sis_evaluation *e, const char *path) {
    cli_output out;
    int status = cli_output_open(&out, path);
    if (status != CLI_DONE)
        return cli_output_close(&out, status);
    fputs("method,id,subset,n_features,threshold,input_score,qhs", out.file);
    for (int k = 0; k < SIS_N_MEASURES; k++)
        fprintf(out.file, ",%s", sis_measure_name((sis_measure)k));
    fputs(",motif_start,motif_strand\n", out.file);
    for (size_t k = 0; k < e->n_methods; k++)
        for (size_t i = 0; i < e->methods[k].n; i++)
            write_row(out.file, e, e->methods[k].name, &e->methods[k].rationales[i]);
    status = ferror(out.file) ? cli_cannot_write(path) : CLI_DONE;
    return cli_output_close(&out, status);
}

static int write_json(const sis_evaluation *e, const char *path) {
    char *text = NULL;
    size_t n;
    int error = sis_evaluation_format(e, &text, &n);
    return cli_output_made(path, error, text, n);
}

int eval_tell(const eval_options *o, const sis_evaluate_opt *opt, const sis_evaluation *e) {
    int status = print_all(e, opt);
    if (status == CLI_DONE && o->csv)
        status = write_csv(e, o->csv);
    if (status == CLI_DONE && o->json)
        status = write_json(e, o->json);
    return status;
}
