/* SPDX-License-Identifier: MIT
 *
 * The driver of all walks: the prepared input, the table of rules, and everything that rules share
 * (see walk.h). Rows are collected in blocks and go through the head together.
 *
 * For rules whose rounding differs from full passes, the error of margins is measured when a walk
 * is made, in states like those that it will meet. A margin is a difference of numbers, and its
 * error is proportional to their size. So the error is stored relative to that size, and the
 * tolerance of each probe is computed from the current size.
 *
 * For exact rules that may need more work than a full pass, operations are counted. The first probe
 * after a reset does not count, because it computes everything. When a candidate costs more than a
 * full pass, full passes answer from then on. Both give the same bits, so only the time depends on
 * the choice, and the choice depends only on the input.
 */
#include "net/walk/walk.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/walk.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/order.h"
#include "base/rng.h"
#include "net/plan/row_layout.h"
#include "net/walk/entry.h"

/* ---- One input ----------------------------------------------------------------------------- */

static void net_input_release(sis__net_input *s) {
    sis__entry_free(s->entry);
    sis__prepared_input_release(&s->in);
    free(s->notes);
}

static int net_input_init(sis__net_input *s, const sis_net *net, const sis_input *input,
                          const sis_net_walk_opt *opt) {
    int embedded = opt && opt->embedded;
    if (embedded && net->embedding < 0)
        return sis__fail(SIS_E_ARGUMENT, "the model has no embeddings to start from");
    if (input->n_samples > 1)
        return sis__fail(SIS_E_UNSUPPORTED, "walks take one mask sample, not %zu",
                         input->n_samples);
    *s = (sis__net_input){.net = net,
                          .embedded = embedded,
                          .fed = embedded ? net->embedded : net->input,
                          .output = input->output,
                          .memory = opt && opt->memory ? opt->memory : (size_t)1 << 30};
    if (opt && opt->shape)
        s->shape = *opt->shape;
    int error = sis__prepared_input_init(&s->in, input, 1);
    if (error)
        return error;
    s->notes = SIS_NEW(sis__note, net->graph.n_nodes);
    return s->notes ? SIS_OK : SIS_E_NOMEM;
}

/* n rows with these features masked, and one more in each. */
static void rows_with(const sis__net_input *s, const unsigned char *masked, const int *tops,
                      size_t n, float *rows) {
    size_t width = s->in.n_values;
    if (n > 0)
        sis__prepared_input_row(&s->in, masked, rows);
    for (size_t i = 1; i < n; i++)
        memcpy(rows + i * width, rows, width * sizeof *rows);
    for (size_t i = 0; i < n; i++)
        if (tops[i] >= 0)
            sis__prepared_input_mask(&s->in, tops[i], rows + i * width);
}

int sis__net_input_margins(const sis__net_input *s, const unsigned char *masked, const int *tops,
                           size_t n, double *margins) {
    size_t outputs = 0;
    float *rows = (float *)sis__alloc_raw(n, s->in.n_values * sizeof *rows);
    sis_net_batch b = {.rows = rows,
                       .n_rows = n,
                       .n_values = s->in.n_values,
                       .embedded = s->embedded,
                       .jobs = 1,
                       .shape = &s->shape};
    int error = rows ? sis_net_batch_outputs(s->net, &b, &outputs) : SIS_E_NOMEM;
    double *all = !error ? (double *)sis__alloc_raw(n, outputs * sizeof *all) : NULL;
    if (!error && !all)
        error = SIS_E_NOMEM;
    if (!error) {
        rows_with(s, masked, tops, n, rows);
        error = sis_net_margins(s->net, &b, all);
    }
    for (size_t i = 0; !error && i < n; i++)
        margins[i] = all[i * outputs + s->output];
    free(rows);
    free(all);
    return error;
}

int sis__net_input_layout(const sis__net_input *s, sis__row_layout **g) {
    return sis__row_layout_get(s->net, &(sis__row_form){s->embedded, s->in.n_values, &s->shape}, g);
}

int sis__net_input_plan(const sis__net_input *s, int output, sis__plan **plan) {
    sis__row_layout *g;
    int error = sis__net_input_layout(s, &g);
    if (error)
        return error;
    sis__feed feed = sis__row_layout_rows(g, 1);
    int last = output < 0 ? s->net->pre_output : output;
    sis__plan_spec spec = {
        .feeds = &feed, .n_feeds = 1, .outputs = &last, .n_outputs = 1, .batch = 1, .keep_all = 1};
    sis__row_layout_done(s->net, g);
    return sis__plan_new(s->net, &spec, plan);
}

void sis__net_input_note(const sis__net_input *s, const sis__step *step, const char *format, ...) {
    va_list args;
    if (!s->notes)
        return;
    sis__note *note = &s->notes[step->node];
    va_start(args, format);
    sis__vformat(note->text, sizeof note->text, format, args);
    va_end(args);
}

/* ---- The driver ---------------------------------------------------------------------------- */

#define RULE(name) &sis__rule_##name,
static const sis__rule *const rules[] = {SIS__RULES(RULE)};
#undef RULE
enum { N_RULES = sizeof rules / sizeof *rules };

/* Number of masked copies below which no walk is worthwhile, and below which measuring a rule is
 * not. */
enum { MIN_COPIES = 40, TRIALS_PAY = 4 };

static const size_t row_bytes = (size_t)4 << 20; /* rows waiting for the head */
enum { MIN_ROWS = 16, MAX_ROWS = 256 };

/* Cost of answers, in operations. */
typedef struct {
    size_t probes;    /* since the walk was made, including steps of full passes */
    double pass;      /* of a full pass; 0: not known */
    double head;      /* of the head */
    double candidate; /* of a recent candidate by the rule; 0: no probe counted yet */
    double seen;      /* work of rule and head that is already accounted for */
    double rows;      /* rows given to the head */
    int first;        /* the next probe is the first after a reset */
    int full;         /* full passes answer */
    size_t fixed;     /* probe from which they do; SIZE_MAX - 1: as counted */
} cost_model;

static const size_t free_to_choose = SIZE_MAX - 1;

typedef struct {
    sis_walk walk;
    sis__net_input input;
    sis__rule_instance *rule;
    cost_model cost;
    unsigned char *masked; /* (n_features) */
    double margin, size;   /* of the current state; the size of the numbers it consists of */
    double *kept;          /* (n_features) last computed margins */
    size_t *kept_at;       /* (n_features) full passes: probe in which it was computed */
    float *rows;           /* (block, stride) waiting for the head */
    int *waiting;          /* (block) their features */
    size_t *place;         /* (block) index of their margins in the request */
    double *fresh;         /* (block) */
    unsigned char *chosen; /* (n_features) which of the requested ones to compute */
    int *asked;            /* (n_features) their indices */
    size_t block, stride;

    double budget; /* masked copies of a selection, in units of cheap passes: limits the cost of
                 * opening a rule */

    /* Rules whose rounding differs from full passes: the expected error for numbers of size 1, an
     * addend of sizes, and the largest tolerance so far. See measure_errors(). */
    double unit, min_size, max;
} net_walk;

/* ---- Margins of rows ----------------------------------------------------------------------- */

static const sis__rule *rule_of(const net_walk *w) {
    return w->rule->rule;
}

/* Bound on the difference between margins of the current candidates and full passes. */
static double error_now(const net_walk *w) {
    return w->unit * (w->min_size + w->size);
}

/* Margins of the first n waiting candidates. */
static int margins_of(net_walk *w, size_t n, double *margins) {
    w->cost.rows += (double)n;
    return rule_of(w)->margins ? rule_of(w)->margins(w->rule, w->waiting, w->rows, n, margins)
                               : sis__head_margins_rows(w->rule->head, w->rows, n, margins);
}

/* A rule that works with differences may get NaN from large but finite numbers; then a full pass
 * decides. top: also masked, or -1. */
static int replace_nan(const net_walk *w, int top, double *margin) {
    if (!isnan(*margin))
        return SIS_OK;
    int error = sis__net_input_margins(&w->input, w->masked, &top, 1, margin);
    if (!error && isnan(*margin))
        error = sis__fail(SIS_E_NAN, "the network returned NaN for output %zu", w->input.output);
    return error;
}

/* A margin that happens to equal the current one must not look like "changes nothing". */
static double make_different(const net_walk *w, int feature, double margin) {
    if (w->rule->exact || fabs(margin - w->margin) > error_now(w))
        return margin;
    if (rule_of(w)->idle && rule_of(w)->idle(w->rule, feature))
        return w->margin;
    return margin == w->margin ? nextafter(margin, INFINITY) : margin;
}

/* Margins of the waiting rows. */
static int run_rows(net_walk *w, size_t n, double *margins) {
    int error = n ? margins_of(w, n, w->fresh) : SIS_OK;
    for (size_t i = 0; !error && i < n; i++) {
        int j = w->waiting[i];
        error = replace_nan(w, j, &w->fresh[i]);
        margins[w->place[i]] = w->kept[j] = make_different(w, j, w->fresh[i]);
    }
    return error;
}

/* Tell the rule which rows will be requested. */
static void announce(net_walk *w, const int *features, size_t n, const unsigned char *chosen) {
    size_t asked = 0;
    if (!rule_of(w)->update)
        return;
    for (size_t k = 0; k < n; k++)
        if (!chosen || chosen[k])
            w->asked[asked++] = features[k];
    rule_of(w)->update(w->rule, w->asked, asked);
}

/* Margins of the chosen ones of n features (NULL: all). */
static int compute(net_walk *w, const int *features, size_t n, const unsigned char *chosen,
                   double *margins) {
    size_t waiting = 0;
    announce(w, features, n, chosen);
    for (size_t k = 0; k < n; k++) {
        if (chosen && !chosen[k])
            continue;
        switch (rule_of(w)->row(w->rule, features[k], w->rows + waiting * w->stride)) {
        case SIS__NOTHING:
            margins[k] = w->margin;
            continue;
        case SIS__AS_BEFORE:
            margins[k] = w->kept[features[k]];
            continue;
        case SIS__CHANGED:
            w->waiting[waiting] = features[k];
            w->place[waiting++] = k;
        }
        if (waiting < w->block)
            continue;
        int error = run_rows(w, waiting, margins);
        if (error)
            return error;
        waiting = 0;
    }
    return run_rows(w, waiting, margins);
}

/* ---- Only the best --------------------------------------------------------------------------- */

/* The best wants * margin of the chosen features. */
static double best_chosen(const net_walk *w, size_t n, const double *margins) {
    double best = -INFINITY;
    for (size_t k = 0; k < n; k++)
        if (w->chosen[k])
            best = fmax(best, w->walk.wants * margins[k]);
    return best;
}

/* Choose the features without a bound, and the most promising of the others. margins holds
 * bounds. */
static void choose_first(net_walk *w, size_t n, const double *margins) {
    size_t top = n;
    for (size_t k = 0; k < n; k++) {
        w->chosen[k] = isinf(margins[k]) != 0;
        if (!w->chosen[k] && (top == n || margins[k] > margins[top]))
            top = k;
    }
    if (top < n)
        w->chosen[top] = 1;
}

/* Compute some first, then those that may reach the best of them; the others cannot be better. */
static int compute_best(net_walk *w, const int *features, size_t n, double *margins) {
    rule_of(w)->bounds(w->rule, w->walk.wants, features, n, margins);
    choose_first(w, n, margins);
    int error = compute(w, features, n, w->chosen, margins);
    if (error)
        return error;
    double best = best_chosen(w, n, margins);
    for (size_t k = 0; k < n; k++) {
        int maybe = !w->chosen[k] && !(margins[k] < best);
        if (!w->chosen[k] && !maybe)
            margins[k] = w->walk.wants > 0 ? -INFINITY : INFINITY;
        w->chosen[k] = (unsigned char)maybe;
    }
    return compute(w, features, n, w->chosen, margins);
}

/* ---- Full passes instead ------------------------------------------------------------------- */

/* Margins of n features by full passes, in parts. */
static int compute_full(net_walk *w, const int *features, size_t n, double *margins) {
    int error = SIS_OK;
    for (size_t k = 0; !error && k < n; k += MAX_ROWS) {
        size_t part = n - k < MAX_ROWS ? n - k : MAX_ROWS;
        error = sis__net_input_margins(&w->input, w->masked, features + k, part, margins + k);
    }
    for (size_t k = 0; !error && k < n; k++) {
        error = replace_nan(w, features[k], &margins[k]);
        w->kept[features[k]] = margins[k];
        w->kept_at[features[k]] = w->cost.probes;
    }
    return error;
}

/* The work of the rule and its head so far. */
static double work_done(const net_walk *w) {
    return w->rule->work + w->cost.rows * w->cost.head;
}

/* After a probe of n features by the rule, and the mask before it: is the rule still cheaper? */
static void compare(net_walk *w, size_t n) {
    cost_model *p = &w->cost;
    double now = (work_done(w) - p->seen) / (double)n;
    p->seen = work_done(w);
    if (p->first || w->rule->work == 0) {
        p->first = 0;
        return;
    }
    p->candidate = p->candidate == 0 ? now : (3 * p->candidate + now) / 4;
    p->full = p->fixed == free_to_choose && n > 1 && p->pass > 0 && p->candidate > p->pass;
}

/* ---- The walk ------------------------------------------------------------------------------ */

static int probe(net_walk *w, const int *features, size_t n, double *margins) {
    return rule_of(w)->bounds && w->walk.wants ? compute_best(w, features, n, margins)
                                               : compute(w, features, n, NULL, margins);
}

/* Probe with the rule or with full passes, whichever is cheaper. */
static int probe_cheaply(net_walk *w, const int *features, size_t n, double *margins) {
    cost_model *p = &w->cost;
    if (!w->rule->exact || n == 0)
        return probe(w, features, n, margins);
    if (p->fixed == p->probes++)
        p->full = 1;
    if (p->full)
        return compute_full(w, features, n, margins);
    int error = probe(w, features, n, margins);
    if (!error)
        compare(w, n);
    return error;
}

/* Mask one more; the last probe may have computed its margin. */
static int mask_full(net_walk *w, int feature) {
    double margin = w->kept[feature];
    int error =
        w->kept_at[feature] == w->cost.probes ? SIS_OK : compute_full(w, &feature, 1, &margin);
    if (!error)
        w->margin = margin;
    w->cost.probes++; /* the kept margins belong to another state */
    w->masked[feature] = 1;
    return error;
}

static int reset_full(net_walk *w, const unsigned char *masked) {
    int nothing = -1;
    memcpy(w->masked, masked, w->input.in.n);
    w->cost.probes++;
    int error = sis__net_input_margins(&w->input, w->masked, &nothing, 1, &w->margin);
    return !error ? replace_nan(w, nothing, &w->margin) : error;
}

/* Set the margin of the current state, which was computed last. */
static void set_margin(net_walk *w, double margin) {
    w->margin = margin;
    if (w->rule->exact)
        return;
    w->size = rule_of(w)->size ? rule_of(w)->size(w->rule, margin) : sis__head_size(w->rule->head);
    w->max = fmax(w->max, error_now(w) / (1 + fabs(margin)));
    w->walk.tolerance = w->max;
}

/* The base's margin by a full pass, and the size that the error of candidates follows. */
static int base_margin(net_walk *w, double *margin) {
    double rough;
    rule_of(w)->row(w->rule, -1, w->rows);
    w->waiting[0] = -1;
    if (w->rule->exact)
        return margins_of(w, 1, margin);
    int error = sis__head_margins_rows(w->rule->head, w->rows, 1, margin);
    return !error && rule_of(w)->margins ? margins_of(w, 1, &rough) : error;
}

static int reset(net_walk *w, const unsigned char *masked) {
    double margin;
    memcpy(w->masked, masked, w->input.in.n);
    w->cost.first = 1;
    int error = rule_of(w)->reset(w->rule, masked);
    if (!error)
        error = base_margin(w, &margin);
    if (!error)
        error = replace_nan(w, -1, &margin);
    if (!error)
        set_margin(w, margin);
    return error;
}

static int mask(net_walk *w, int feature) {
    double margin;
    int error = compute(w, &feature, 1, NULL, &margin);
    if (error)
        return error;
    if (margin != w->margin)
        set_margin(w, margin);
    w->walk.tolerance = w->max;
    w->masked[feature] = 1;
    return rule_of(w)->mask(w->rule, feature);
}

static int walk_reset(sis_walk *walk, const unsigned char *masked, double *margin) {
    net_walk *w = (net_walk *)walk;
    walk->evaluations++;
    int error = w->cost.full ? reset_full(w, masked) : reset(w, masked);
    *margin = w->margin;
    return error;
}

static int walk_probe(sis_walk *walk, const int *features, size_t n, double *margins) {
    net_walk *w = (net_walk *)walk;
    double min = fabs(w->margin);
    walk->evaluations += n;
    int error = probe_cheaply(w, features, n, margins);
    if (error || w->rule->exact)
        return error;
    for (size_t k = 0; k < n; k++)
        min = fmin(min, fabs(margins[k]));
    walk->tolerance = error_now(w) / (1 + min);
    return SIS_OK;
}

static int walk_mask(sis_walk *walk, int feature, double *margin) {
    net_walk *w = (net_walk *)walk;
    int error = w->cost.full ? mask_full(w, feature) : mask(w, feature);
    *margin = w->margin;
    return error;
}

static void drop_rule(net_walk *w) {
    if (!w->rule)
        return;
    if (rule_of(w)->close)
        rule_of(w)->close(w->rule);
    sis__head_free(w->rule->head);
    sis__arena_release(&w->rule->memory);
    free(w->rule);
    w->rule = NULL;
}

static void walk_free(sis_walk *walk) {
    net_walk *w = (net_walk *)walk;
    drop_rule(w);
    net_input_release(&w->input);
    free(w->masked);
    free(w);
}

static const sis_walk_ops ops = {walk_reset, walk_probe, walk_mask, walk_free};

/* Operations of a full pass; 0: not known. */
static double flops_of_pass(const sis__net_input *s) {
    sis__row_layout *g;
    if (sis__net_input_layout(s, &g) != SIS_OK)
        return 0;
    double flops = g->flops;
    sis__row_layout_done(s->net, g);
    return flops;
}

/* ---- Errors of margins ----------------------------------------------------------------------- */

/* Errors of single candidates, with the size of each one's state. */
typedef struct {
    double *error, *size;
    size_t n, states, trials; /* trials per state */
    int *live;                /* (features) present and different from their mask */
    size_t n_live;
    int *tried;            /* (trials) */
    double *full, *probed; /* (trials) */
    sis__arena memory;
} errors;

/* As many as are cheap; at least 4 times 16. */
static size_t errors_wanted(const net_walk *w) {
    double flops =
        w->input.entry ? w->input.entry->plan->flops : flops_of_pass(&w->input); /* of a trial */
    size_t n = (size_t)(4e6 / (flops + 2e3));
    return n < 64 ? 64 : n > 1024 ? 1024 : n;
}

static int errors_init(const net_walk *w, errors *e) {
    size_t n = errors_wanted(w);
    *e = (errors){.states = n < 256 ? 4 : 16};
    e->trials = n / e->states;
    e->error = SIS_ARENA(&e->memory, double, n);
    e->size = SIS_ARENA(&e->memory, double, n);
    e->live = SIS_ARENA(&e->memory, int, w->input.in.n);
    e->tried = SIS_ARENA(&e->memory, int, e->trials);
    e->full = SIS_ARENA(&e->memory, double, e->trials);
    e->probed = SIS_ARENA(&e->memory, double, e->trials);
    return sis__arena_error(&e->memory);
}

/* Numbers of masks after a reset, where states are computed from earlier ones: just before the
 * dense rule recomputes its base, early and after its effects have drifted. Later drift counts as
 * size (dense_size). */
enum { SHORT_WALK = 3, LONG_WALK = 63 };

/* Go to a random state, with more masked the later it is, and walk from there. */
static int go_to_state(net_walk *w, sis__rng *r, size_t state, errors *e) {
    double share = (double)state / (double)e->states;
    unsigned char *masked = SIS_NEW(unsigned char, w->input.in.n);
    if (!masked)
        return SIS_E_NOMEM;
    e->n_live = 0;
    for (size_t i = 0; i < w->input.in.n; i++) {
        masked[i] = sis__rng_uniform(r) < share;
        if (!masked[i] && !w->input.in.same[i])
            e->live[e->n_live++] = (int)i;
    }
    int error = reset(w, masked), masks = state % 2 ? LONG_WALK : SHORT_WALK;
    free(masked);
    for (int k = 0; k < masks && e->n_live > 1 && !error; k++) {
        size_t at = sis__rng_below(r, e->n_live);
        error = mask(w, e->live[at]);
        e->live[at] = e->live[--e->n_live];
    }
    return error;
}

/* Draw some candidates of the current state, in order. Returns their number. */
static size_t draw_candidates(sis__rng *r, errors *e) {
    size_t n = e->trials < e->n_live ? e->trials : e->n_live;
    for (size_t k = 0; k < n; k++) {
        size_t at = k + sis__rng_below(r, e->n_live - k);
        e->tried[k] = e->live[at];
        e->live[at] = e->live[k];
    }
    qsort(e->tried, n, sizeof *e->tried, sis__by_int);
    return n;
}

/* Measure the errors of these. */
static int try_candidates(net_walk *w, sis__rng *r, errors *e) {
    size_t n = draw_candidates(r, e);
    int error = sis__net_input_margins(&w->input, w->masked, e->tried, n, e->full);
    if (!error)
        error = probe(w, e->tried, n, e->probed);
    for (size_t k = 0; k < n && !error; k++) {
        if (isnan(e->full[k]))
            return SIS_E_UNSUPPORTED;
        e->error[e->n] = fabs(e->probed[k] - e->full[k]);
        e->size[e->n++] = w->size;
    }
    return error;
}

/* Measure errors in states with more and more masked. */
static int measure_errors(net_walk *w, errors *e) {
    sis__rng r;
    int error = errors_init(w, e);
    sis__rng_init(&r, 0xD5);
    for (size_t state = 0; state < e->states && !error; state++) {
        error = go_to_state(w, &r, state, e);
        if (!error && e->n_live)
            error = try_candidates(w, &r, e);
    }
    return error == SIS_E_NAN ? SIS_E_UNSUPPORTED : error;
}

/* Twelve times the typical error, at least 2.5 times the largest one seen, and at least a few units
 * in the last place; more with few features, where errors are rare and coarse. Numbers of
 * `min_size` enter sums even if these are 0. */
static void choose_unit(net_walk *w, const errors *e) {
    double squares = 0, worst = 0, min = 5e-7 * (1 + 256.0 / (double)w->input.in.n);
    w->min_size = 1;
    for (size_t k = 0; k < e->n; k++)
        w->min_size = fmax(w->min_size, e->size[k] / 2);
    for (size_t k = 0; k < e->n; k++) {
        double off = e->error[k] / (w->min_size + e->size[k]);
        worst = fmax(worst, off);
        squares += off * off;
    }
    double measured = fmax(12 * sqrt(squares / (double)(e->n ? e->n : 1)), 2.5 * worst);
    w->unit = fmax(measured, min);
    w->max = w->walk.tolerance = w->unit * w->min_size;
}

static int set_tolerance(net_walk *w) {
    errors e = {.states = 0};
    if (w->rule->exact)
        return SIS_OK;
    if (w->input.copies < TRIALS_PAY * (double)errors_wanted(w))
        return SIS_E_UNSUPPORTED;
    int error = measure_errors(w, &e);
    if (!error)
        choose_unit(w, &e);
    sis__arena_release(&e.memory);
    return !error && !(w->unit < 1e-3) ? SIS_E_UNSUPPORTED : error;
}

/* ---- Making ---------------------------------------------------------------------------------- */

static int allocate(net_walk *w) {
    sis__rule_instance *r = w->rule;
    sis__arena *memory = &r->memory;
    w->stride = r->stride ? r->stride : r->width;
    size_t fit = row_bytes / sizeof(float) / (w->stride + 1);
    fit = fit < MIN_ROWS ? MIN_ROWS : fit > MAX_ROWS ? MAX_ROWS : fit;
    w->block = r->block ? r->block : fit;
    w->kept = SIS_ARENA(memory, double, w->input.in.n);
    w->kept_at = SIS_ARENA(memory, size_t, w->input.in.n);
    w->chosen = SIS_ARENA(memory, unsigned char, w->input.in.n);
    w->asked = SIS_ARENA(memory, int, w->input.in.n);
    w->rows = (float *)sis__arena_own(memory, sis__alloc(w->block, w->stride * sizeof *w->rows));
    w->waiting = SIS_ARENA(memory, int, w->block);
    w->place = SIS_ARENA(memory, size_t, w->block);
    w->fresh = SIS_ARENA(memory, double, w->block);
    return sis__arena_error(memory);
}

/* Open a rule, if it fits. */
static int try_rule(net_walk *w, const sis__rule *rule) {
    if (w->budget < rule->min_copies)
        return SIS_E_UNSUPPORTED;
    memset(w->input.notes, 0, w->input.net->graph.n_nodes * sizeof *w->input.notes);
    if (rule->bytes < sizeof *w->rule)
        return sis__fail(SIS_E_ARGUMENT, "rule %s does not say how large it is", rule->name);
    w->rule = (sis__rule_instance *)sis__alloc(1, rule->bytes);
    if (!w->rule)
        return SIS_E_NOMEM;
    w->rule->rule = rule;
    w->rule->s = &w->input;
    int error = rule->open(w->rule);
    if (!error)
        error = allocate(w);
    if (!error && w->rule->head)
        w->cost.head = sis__head_plan(w->rule->head)->flops;
    if (!error)
        error = set_tolerance(w);
    if (error)
        drop_rule(w);
    else if (!rule->keeps_entry) {
        sis__entry_free(w->input.entry);
        w->input.entry = NULL;
    }
    return error;
}

/* ---- A walk ---------------------------------------------------------------------------------- */

/* The walk as one of this file, or NULL. */
static const net_walk *walk_behind(const sis_walk *w) {
    return w && w->ops == &ops ? (const net_walk *)w : NULL;
}

const sis__note *sis__walk_notes(const sis_walk *w, const sis_net *net) {
    const net_walk *n = walk_behind(w);
    return n && n->input.net == net ? n->input.notes : NULL;
}

const char *sis__walk_rule(const sis_walk *w) {
    const net_walk *n = walk_behind(w);
    return n && !n->cost.full ? rule_of(n)->name : "batch";
}

void sis__walk_full_from(sis_walk *w, size_t probe_number) {
    net_walk *n = (net_walk *)(uintptr_t)walk_behind(w);
    if (n && n->rule->exact)
        n->cost.fixed = probe_number == SIZE_MAX ? SIZE_MAX : n->cost.probes + probe_number;
}

/* Operations of a cheap full pass, the unit of the rules' min_copies. */
static const double cheap_pass = 2e5;

/* Number of masked copies of a selection among the features that can change something. */
static double count_copies(const sis__net_input *s) {
    double n = 0;
    for (size_t j = 0; j < s->in.n; j++)
        n += !s->in.same[j] && !s->in.absent[j];
    return n * (n + 1) / 2;
}

static int walk_new(const sis_net *net, const sis_input *input, const sis_net_walk_opt *opt,
                    net_walk **out) {
    net_walk *w = SIS_NEW(net_walk, 1);
    *out = w;
    if (!w)
        return SIS_E_NOMEM;
    w->walk.ops = &ops;
    w->cost.fixed = opt && opt->by_cost ? free_to_choose : SIZE_MAX;
    int error = net_input_init(&w->input, net, input, opt);
    if (!error && net->whole)
        error =
            sis__fail(SIS_E_UNSUPPORTED, "only whole batches of %zu rows can be run", net->rows);
    if (error)
        return error;
    w->masked = SIS_NEW(unsigned char, w->input.in.n);
    w->input.copies = opt && opt->by_cost ? count_copies(&w->input) : INFINITY;
    w->cost.pass = flops_of_pass(&w->input);
    w->budget = w->input.copies * fmax(1, w->cost.pass / cheap_pass);
    if (w->budget < MIN_COPIES)
        return SIS_E_UNSUPPORTED; /* for any rule */
    error = w->masked ? sis__entry_new(&w->input, &w->input.entry) : SIS_E_NOMEM;
    return error == SIS_E_UNSUPPORTED ? SIS_OK : error; /* no walk */
}

static int walk_finish(net_walk *w, int error, sis_walk **out) {
    *out = !error ? &w->walk : NULL;
    if (error && w)
        walk_free(&w->walk);
    return error;
}

int sis__walk_by(const sis__rule *rule, const sis_net *net, const sis_input *input,
                 const sis_net_walk_opt *opt, sis_walk **out) {
    net_walk *w;
    int error = walk_new(net, input, opt, &w);
    if (!error)
        error = try_rule(w, rule);
    return walk_finish(w, error, out);
}

int sis_net_walk(const sis_net *net, const sis_input *input, const sis_net_walk_opt *opt,
                 sis_walk **out) {
    net_walk *w;
    int error = walk_new(net, input, opt, &w);
    if (error)
        return walk_finish(w, error, out);
    error = try_rule(w, rules[0]);
    for (size_t i = 1; error == SIS_E_UNSUPPORTED && i < N_RULES; i++)
        error = try_rule(w, rules[i]);
    return walk_finish(w, error, out);
}
