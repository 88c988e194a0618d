/* SPDX-License-Identifier: MIT
 *
 * The tables of sis evaluate: a method a row, against the first one. Medians are over rationales,
 * or over features; signed-rank tests pair the examples, each with the median of its rationales.
 */
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

/* ---- Cells ----------------------------------------------------------------------------------- */

enum { CELL = 44, COLUMNS = 8 };

/* Rows of cells, the first row being the header. Errors stick. */
typedef struct {
    size_t columns, texts; /* of these, columns of text to the left */
    size_t n, room;        /* cells */
    char (*cells)[CELL];
    int on_top; /* nothing is printed above it */
    int status;
} table;

static void put(table *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(table *t, const char *format, ...) {
    if (t->status != CLI_DONE)
        return;
    t->status = cli_grow(&t->cells, &t->room, t->n, sizeof *t->cells);
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

/* Columns of put_against(), if there is anything to test against. */
static void put_tests(table *t, const evaluation *ev) {
    if (ev->n_methods > 1) {
        put(t, "rank-sum p");
        put(t, "signed-rank p");
        t->columns += 2;
    }
}

/* Letters, not bytes. */
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

/* Text to the left, numbers to the right. */
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

/* ---- Comparisons ----------------------------------------------------------------------------- */

/* The two p-values; none for the first method itself. */
static void put_against(table *t, const evaluation *ev, const eval_method *m,
                        const eval_against *p) {
    int itself = m == &ev->methods[0];
    if (ev->n_methods == 1)
        return;
    put_number(t, "%.2g", itself ? NAN : p->sum.p);
    put_number(t, "%.2g", itself ? NAN : p->pairs.p);
}

/* Changes of the score are turned round for decisions "<=". */
static int is_below(const evaluation *ev) {
    return ev->examples[0].record->question.below;
}

/* Does every file mask what is outside a rationale? Proofs and draws do not. */
static int is_masked(const evaluation *ev) {
    int all = 1;
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t e = 0; all && e < ev->n_examples; e++)
            all = !ev->methods[k].of[e]->guarantee ||
                  ev->methods[k].of[e]->guarantee->kind == SIS_GUARANTEE_MASK;
    return all;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static double extreme(const double *x, size_t n, double percent) {
    double v = NAN;
    return sis_sample_percentile(x, n, percent, &v) == SIS_OK ? v : NAN;
}

static int print_counts(const evaluation *ev) {
    table t = {.texts = 2};
    put_header(&t, (const char *const[]){"method", "file", "rationales", "found per example",
                                         "most", "sufficient examples", NULL});
    for (size_t k = 0; k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        size_t all, most;
        eval_count(ev, m, &all, &most);
        put(&t, "%s", m->name);
        put(&t, "%s", cli_last_part(m->results.name));
        put(&t, "%zu", m->n_items);
        put(&t, "%.2f", (double)all / (double)ev->n_examples);
        put(&t, "%zu", most);
        put(&t, "%.1f %%", 100 * eval_sufficient(ev, m));
    }
    return print_table(&t, "Rationales");
}

/* A quantity of rationales: median, lowest, highest, tests. */
static int print_quantity(const evaluation *ev, const char *title, size_t offset,
                          const char *format) {
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "median", "mean", "lowest", "highest", NULL});
    put_tests(&t, ev);
    for (size_t k = 0; t.status == CLI_DONE && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        size_t n = 0;
        eval_against p = {0};
        double *values = eval_column(m, offset, &n);
        t.status = values ? eval_compare(ev, m, offset, &p) : CLI_FAILED;
        put(&t, "%s", m->name);
        put_number(&t, format, values ? extreme(values, n, 50) : NAN);
        put_number(&t, format, values ? sis_sample_mean(values, n) : NAN);
        put_number(&t, format, values ? extreme(values, n, 0) : NAN);
        put_number(&t, format, values ? extreme(values, n, 100) : NAN);
        put_against(&t, ev, m, &p);
        free(values);
    }
    return print_table(&t, title);
}

static int print_importance(const evaluation *ev) {
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "median inside", "median outside", NULL});
    put_tests(&t, ev);
    for (size_t k = 0; t.status == CLI_DONE && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        size_t n_in, n_out;
        eval_against p = {0};
        double *in = eval_importance(ev, m, 1, &n_in, NULL);
        double *out = eval_importance(ev, m, 0, &n_out, NULL);
        t.status = in && out ? eval_compare_importance(ev, m, &p) : CLI_FAILED;
        put(&t, "%s", m->name);
        put_number(&t, "%.3g", in ? eval_median(in, n_in) : NAN);
        put_number(&t, "%.3g", out ? eval_median(out, n_out) : NAN);
        put_against(&t, ev, m, &p);
        free(in);
        free(out);
    }
    return print_table(&t, is_below(ev)
                               ? "Importance of single features: what masking one alone adds to "
                                 "the score"
                               : "Importance of single features: what masking one alone takes off "
                                 "the score");
}

/* ---- People ---------------------------------------------------------------------------------- */

static void print_quality(const evaluation *ev) {
    size_t n = 0, enough = 0;
    double *qhs = cli_grab(ev->n_examples, sizeof *qhs), marked = 0;
    for (size_t e = 0; qhs && e < ev->n_examples; e++) {
        const eval_example *x = &ev->examples[e];
        if (isnan(x->qhs))
            continue;
        qhs[n++] = x->qhs;
        marked += (double)x->record->drawing.n_human / (double)x->record->collection.n_features;
        enough += eval_enough(x->record, x->human_score) > 0;
    }
    if (n > 0)
        printf(
            "  people marked %.1f %% of the features, and these alone are sufficient in %zu of %zu "
            "examples;\n  QHS, %s: median %.4g, from %.4g "
            "to %.4g\n",
            100 * marked / (double)n, enough, n,
            is_below(ev) ? "the score of the whole input less theirs"
                         : "their score less that of the whole input",
            eval_median(qhs, n), extreme(qhs, n, 0), extreme(qhs, n, 100));
    free(qhs);
}

static int print_human(const evaluation *ev) {
    char title[128];
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "median share", "mean share",
                                         "Pearson r with QHS", "its p", NULL});
    put_tests(&t, ev);
    for (size_t k = 0; t.status == CLI_DONE && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        size_t n = 0;
        eval_against p = {0};
        sis_test r = {.statistic = NAN, .p = NAN};
        double *marked = eval_column(m, offsetof(eval_rationale, marked), &n);
        t.status = marked ? eval_compare(ev, m, offsetof(eval_rationale, marked), &p) : CLI_FAILED;
        if (t.status == CLI_DONE && ev->with_model)
            t.status = eval_correlate(ev, m, &r);
        put(&t, "%s", m->name);
        put_number(&t, "%.3f", marked ? extreme(marked, n, 50) : NAN);
        put_number(&t, "%.3f", marked ? sis_sample_mean(marked, n) : NAN);
        put_number(&t, "%.3f", r.statistic);
        put_number(&t, "%.2g", r.p);
        put_against(&t, ev, m, &p);
        free(marked);
    }
    snprintf(title, sizeof title,
             "Agreement with people: share of a rationale inside what a person marked (%zu "
             "examples)",
             ev->n_human);
    int status = print_table(&t, title);
    if (status == CLI_DONE && ev->with_model)
        print_quality(ev);
    return status;
}

/* ---- Masks ----------------------------------------------------------------------------------- */

/* The mean of a quantity, as a share in per cent. */
static void put_share(table *t, const eval_method *m, size_t offset) {
    size_t n = 0;
    double *values = eval_column(m, offset, &n);
    if (!values)
        t->status = CLI_FAILED;
    put_number(t, "%.1f %%", values ? 100 * sis_sample_mean(values, n) : NAN);
    free(values);
}

static int print_robust(const evaluation *ev) {
    char title[192], second[CELL];
    table t = {.texts = 1};
    snprintf(second, sizeof second, "mask %s", eval_second_mask(ev));
    put_header(&t, (const char *const[]){"method", "own mask", second, "hot-deck",
                                         "neighbours back", "random half back", NULL});
    for (size_t k = 0; t.status == CLI_DONE && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        put(&t, "%s", m->name);
        put_share(&t, m, offsetof(eval_rationale, sufficient));
        put_share(&t, m, offsetof(eval_rationale, second_holds));
        put_share(&t, m, offsetof(eval_rationale, deck_holds));
        put_share(&t, m, offsetof(eval_rationale, around_holds));
        put_share(&t, m, offsetof(eval_rationale, half_holds));
    }
    snprintf(title, sizeof title,
             "Robustness: how often rationales stay sufficient (%zu samples each of hot-deck and "
             "half)",
             cli_draws(&ev->o->question));
    return print_table(&t, title);
}

/* ---- Yardsticks ------------------------------------------------------------------------------ */

static const char *cut_name(size_t k, char *name, size_t size) {
    snprintf(name, size, "%g %%", sis_cut_percent(k));
    return name;
}

/* A method, and something at each cut. */
static void put_cut_header(table *t) {
    char names[SIS_N_CUTS][16];
    const char *header[SIS_N_CUTS + 2] = {"method"};
    for (size_t k = 0; k < SIS_N_CUTS; k++)
        header[k + 1] = cut_name(k, names[k], sizeof names[k]);
    put_header(t, header);
}

/* A curve, its mean over the cuts, and whether that differs from the first method's example by
 * example. */
static int print_curve(const evaluation *ev, int curve, size_t offset, const char *title) {
    table t = {.texts = 1};
    put_cut_header(&t);
    put(&t, "mean");
    t.columns++;
    if (ev->n_methods > 1) {
        put(&t, "signed-rank p");
        t.columns++;
    }
    for (size_t i = 0; t.status == CLI_DONE && i < ev->n_methods; i++) {
        const eval_method *m = &ev->methods[i];
        double curves[SIS_N_CURVES][SIS_N_CUTS];
        eval_against p = {0};
        eval_curves(ev, m, curves);
        t.status = eval_compare(ev, m, offset, &p);
        put(&t, "%s", m->name);
        for (size_t k = 0; k < SIS_N_CUTS; k++)
            put_number(&t, "%.3f", curves[curve][k]);
        put_number(&t, "%.3f", sis_sample_mean(curves[curve], SIS_N_CUTS));
        if (ev->n_methods > 1)
            put_number(&t, "%.2g", i == 0 ? NAN : p.pairs.p);
    }
    return print_table(&t, title);
}

static int print_stability(const evaluation *ev) {
    char title[160];
    table t = {.texts = 1};
    put_cut_header(&t);
    for (size_t i = 0; t.status == CLI_DONE && i < ev->n_methods; i++) {
        double c[SIS_N_CURVES][SIS_N_CUTS];
        eval_curves(ev, &ev->methods[i], c);
        put(&t, "%s", ev->methods[i].name);
        for (size_t k = 0; k < SIS_N_CUTS; k++)
            put(&t, "%.1f (%.1f-%.1f)", 100 * c[SIS_CURVE_STABLE][k],
                100 * c[SIS_CURVE_STABLE_LOW][k], 100 * c[SIS_CURVE_STABLE_HIGH][k]);
    }
    snprintf(title, sizeof title,
             "Stability: per cent that stay sufficient when that share of all others comes back "
             "(%zu draws each, 95 %% interval)",
             cli_draws(&ev->o->question));
    return print_table(&t, title);
}

static int print_same(const evaluation *ev) {
    table t = {.texts = 1};
    put_header(&t, (const char *const[]){"method", "same subsets", "mean Jaccard", NULL});
    for (size_t k = 1; t.status == CLI_DONE && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        size_t n = 0;
        double *jaccard = eval_column(m, offsetof(eval_rationale, jaccard), &n);
        if (!jaccard)
            t.status = CLI_FAILED;
        put(&t, "%s", m->name);
        put_share(&t, m, offsetof(eval_rationale, same));
        put_number(&t, "%.3f", jaccard ? sis_sample_mean(jaccard, n) : NAN);
        free(jaccard);
    }
    return print_table(&t,
                       "The same as the first: examples with equal subsets; all features of both");
}

static int print_yardsticks(const evaluation *ev) {
    int status = print_curve(ev, SIS_CURVE_SUFFICIENCY, offsetof(eval_rationale, sufficiency),
                             is_below(ev) ? "Sufficiency: the rise if only the first features are "
                                            "left (low is good; mean: AOPC)"
                                          : "Sufficiency: the fall if only the first features are "
                                            "left (low is good; mean: AOPC)");
    if (status == CLI_DONE)
        status = print_curve(ev, SIS_CURVE_COMPREHENSIVENESS,
                             offsetof(eval_rationale, comprehensiveness),
                             is_below(ev) ? "Comprehensiveness: the rise if they are masked (high "
                                            "is good; mean: AOPC)"
                                          : "Comprehensiveness: the fall if they are masked (high "
                                            "is good; mean: AOPC)");
    if (status == CLI_DONE)
        status = print_curve(ev, SIS_CURVE_PGI, offsetof(eval_rationale, pgi),
                             "PGI: the change if they are drawn anew (high is good)");
    if (status == CLI_DONE)
        status = print_curve(ev, SIS_CURVE_PGU, offsetof(eval_rationale, pgu),
                             "PGU: the change if all others are (low is good)");
    if (status == CLI_DONE)
        status = print_stability(ev);
    return status == CLI_DONE && ev->n_methods > 1 ? print_same(ev) : status;
}

/* ERASER's two numbers. */
static int print_tokens(const evaluation *ev) {
    int status = print_quantity(ev,
                                "Token F1: all that a method shows of an example, against what "
                                "a person marked",
                                offsetof(eval_rationale, token_f1), "%.3f");
    return status == CLI_DONE ? print_quantity(ev, "IOU F1: the same, span by span",
                                               offsetof(eval_rationale, iou_f1), "%.3f")
                              : status;
}

static int print_study(const evaluation *ev) {
    const eval_study *s = &ev->study;
    const double *changes[] = {s->by_mask, s->by_deck};
    char title[128];
    table t = {.texts = 1, .on_top = ev->n_methods == 0};
    put_header(&t,
               (const char *const[]){"masked by", "mean", "deviation", "lowest", "highest", NULL});
    for (size_t k = 0; k < 2; k++) {
        put(&t, "%s", k == 0 ? "the mask" : "hot-deck");
        put_number(&t, "%.4g", sis_sample_mean(changes[k], s->n));
        put_number(&t, "%.4g", sis_sample_deviation(changes[k], s->n));
        put_number(&t, "%.4g", extreme(changes[k], s->n, 0));
        put_number(&t, "%.4g", extreme(changes[k], s->n, 100));
    }
    snprintf(title, sizeof title,
             "Change of the score when one random feature is masked (%zu draws)", s->n);
    return print_table(&t, title);
}

/* ---- All of it ------------------------------------------------------------------------------- */

/* The decision, if all examples share it. */
static void print_decision(const evaluation *ev) {
    const sis_record *first = ev->examples[0].record;
    int same = 1;
    for (size_t e = 1; e < ev->n_examples; e++)
        same = same && ev->examples[e].record->question.threshold == first->question.threshold &&
               ev->examples[e].record->question.below == first->question.below;
    printf("%zu of %zu example%s explained by %s", ev->n_examples, ev->n_shared,
           ev->n_shared == 1 ? " is" : "s are", ev->n_methods > 1 ? "every method" : "the method");
    if (first->question.keep)
        printf("; decision: no other output is higher");
    else if (same)
        printf("; decision: score %s %g",
               first->question.below ? "<=" : ">=", first->question.threshold);
    printf("\nmodel ");
    cli_print_safe(stdout, first->model);
    putchar('\n');
}

int eval_tables(const evaluation *ev) {
    char title[128];
    int status = CLI_DONE;
    if (ev->n_methods > 0) {
        print_decision(ev);
        status = print_counts(ev);
        if (status == CLI_DONE)
            status = print_quantity(ev, "Length of rationales, in features",
                                    offsetof(eval_rationale, length), "%.6g");
        if (status == CLI_DONE)
            status = print_quantity(ev, "Length of rationales, in per cent of the input",
                                    offsetof(eval_rationale, percent), "%.1f %%");
        if (status == CLI_DONE)
            status = print_quantity(ev,
                                    is_masked(ev)
                                        ? "Score of the rationale alone, everything else masked"
                                        : "Score of the rationale: everything else masked; of "
                                          "proofs the worst met, of draws the mean",
                                    offsetof(eval_rationale, score), "%.6g");
        if (status == CLI_DONE && ev->with_model)
            status = print_importance(ev);
    }
    if (status == CLI_DONE && ev->o->human)
        status = print_human(ev);
    if (status == CLI_DONE && ev->o->human)
        status = print_tokens(ev);
    if (ev->motif)
        snprintf(title, sizeof title, "Divergence from motif %.40s (%.40s), in nats",
                 ev->motif->name, ev->motif->id);
    if (status == CLI_DONE && ev->motif)
        status = print_quantity(ev, title, offsetof(eval_rationale, divergence), "%.2f");
    if (status == CLI_DONE && ev->o->robust)
        status = print_robust(ev);
    if (status == CLI_DONE && ev->o->yardsticks)
        status = print_yardsticks(ev);
    if (status == CLI_DONE && ev->study.n > 0)
        status = print_study(ev);
    return status;
}
