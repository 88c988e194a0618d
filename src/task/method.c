/* SPDX-License-Identifier: MIT
 *
 * Options of the explanation methods: checks of their combinations, parameters for each example,
 * and lengths and orders from earlier results.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

/* ---- Options ------------------------------------------------------------------------------- */

static int find_method(const char *name, sis__task_method *m) {
    m->is_sis = strcmp(name, "sis") == 0;
    m->contrast = strcmp(name, "contrast") == 0;
    for (sis_method k = SIS_METHOD_PERTURB; k <= SIS_METHOD_QUICK; k++)
        if (strcmp(sis_method_name(k), name) == 0) {
            m->how.method = k;
            return SIS_OK;
        }
    return m->is_sis || m->contrast ? SIS_OK
                                    : sis__fail(SIS_E_OPTION,
                                                "--method: expected sis, quick, perturb, ig, lime, "
                                                "gradient or contrast, found \"%s\"",
                                                name);
}

int sis__task_minimal(const sis__task_method *m) {
    return m->is_sis || m->contrast || m->how.method == SIS_METHOD_QUICK;
}

static int find_constraint(const char *name, sis__task_method *m) {
    for (sis_constraint k = SIS_CONSTRAINT_SUFFICIENT; k <= SIS_CONSTRAINT_TOP; k++)
        if (strcmp(sis_constraint_name(k), name) == 0) {
            m->how.constraint = k;
            return SIS_OK;
        }
    return sis__fail(SIS_E_OPTION, "--constraint: expected sufficient, length or top, found \"%s\"",
                     name);
}

/* Options of one method given with another. */
static int check_strays(const sis_task_opt *o) {
    sis_method_opt def;
    sis_method_opt_init(&def);
    const struct {
        const char *option, *method;
        int given;
    } uses[] = {{"--steps", "ig", o->answer.how.steps != def.steps},
                {"--baseline", "ig", o->answer.how.zero_baseline},
                {"--step", "gradient", o->answer.how.step != def.step},
                {"--remove", "lime", o->answer.remove},
                {"--prefer", "quick", o->answer.how.prefer != (int)def.prefer},
                {"--early-stop", "sis", o->answer.search.early_stop}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].given && strcmp(o->answer.method, uses[i].method) != 0)
            return sis__fail(SIS_E_OPTION, "%s needs --method %s", uses[i].option, uses[i].method);
    return SIS_OK;
}

/* Options that only some methods and constraints have. */
static int check_fit(const sis_task_opt *o, const sis__task_method *m) {
    sis_constraint constraint = m->how.constraint;
    int several = m->contrast || (!m->is_sis && m->how.method >= SIS_METHOD_GRADIENT);
    if (o->answer.lengths && constraint != SIS_CONSTRAINT_LENGTH)
        return sis__fail(SIS_E_OPTION, "--lengths needs --constraint length");
    if (o->answer.orders && (m->is_sis || (several && m->how.method != SIS_METHOD_QUICK) ||
                             m->contrast || o->question.refine || constraint == SIS_CONSTRAINT_TOP))
        return sis__fail(SIS_E_OPTION, "--orders needs --method quick, or perturb, ig or lime with "
                                       "--constraint sufficient or length");
    if (sis__task_minimal(m) && constraint != SIS_CONSTRAINT_SUFFICIENT)
        return sis__fail(SIS_E_OPTION, "--constraint %s does not work with --method %s",
                         o->answer.constraint, o->answer.method);
    if (o->question.refine && (m->contrast || !sis__task_minimal(m) || o->answer.search.early_stop))
        return sis__fail(SIS_E_OPTION, "--refine needs --method sis or quick");
    if (m->is_sis || m->contrast)
        return SIS_OK;
    if (o->answer.search.max_subsets > 1 && !several)
        return sis__fail(
            SIS_E_OPTION,
            "--max-subsets: leave it out; --method %s finds one rationale for each example",
            o->answer.method);
    const char *wrong = sis_method_opt_check(&m->how);
    return wrong ? sis__fail(SIS_E_OPTION, "--method %s: %s", o->answer.method, wrong) : SIS_OK;
}

int sis__task_method_check(const sis_task_opt *o, sis__task_method *m) {
    const char *file;
    sis_method_opt_init(&m->how);
    m->how.steps = o->answer.how.steps;
    m->how.zero_baseline = o->answer.how.zero_baseline;
    m->how.step = o->answer.how.step;
    m->how.prefer = (sis_preference)o->answer.how.prefer;
    m->how.width = o->answer.how.width;
    m->how.ridge = o->answer.how.ridge;
    m->how.seed = o->question.seed;
    m->how.trace = o->answer.trace;
    if (o->question.samples && !sis__mask_is_drawn(o->question.mask, &file))
        m->how.samples = o->question.samples;
    int error = find_method(o->answer.method, m);
    if (error == SIS_OK)
        error = find_constraint(o->answer.constraint, m);
    if (error == SIS_OK)
        error = check_strays(o);
    return error == SIS_OK ? check_fit(o, m) : error;
}

/* ---- Earlier results ----------------------------------------------------------------------- */

/* Take the data for example i from a record. */
typedef int taker(const sis_record *r, size_t i, sis__task_method *m);

static int take_length(const sis_record *r, size_t i, sis__task_method *m) {
    m->lengths[i] = sis_collection_median(&r->collection);
    return SIS_OK;
}

static int take_order(const sis_record *r, size_t i, sis__task_method *m) {
    const sis_collection *c = &r->collection;
    if (c->status != SIS_STATUS_EXPLAINED)
        return SIS_OK;
    if (c->n_subsets != 1 || c->subsets[0].trace.n == 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "--orders: record \"%s\" has no trace; make the file with --trace", r->id);
    const sis_trace *trace = &c->subsets[0].trace;
    int *order = m->orders[i] = SIS_NEW_RAW(int, trace->n);
    if (!order)
        return SIS_E_NOMEM;
    m->n_orders[i] = trace->n;
    for (size_t k = 0; k < trace->n; k++)
        order[k] = trace->order[trace->n - 1 - k];
    return SIS_OK;
}

/* A results file, the requirements on its records, and the examples found in it. */
typedef struct {
    const char *option, *path, *method;
    taker *take;
    unsigned char *seen; /* (examples) */
    size_t n;
} earlier;

static int take_record(sis_task *t, earlier *e, const sis_record *r) {
    size_t at = sis_task_find(t, r->id);
    e->n++;
    if (e->method && strcmp(r->question.method, e->method) != 0)
        return sis__fail(SIS_E_ARGUMENT, "%s: %s: record \"%s\" has method %s; expected %s",
                         e->option, e->path, r->id, r->question.method, e->method);
    if (at == SIZE_MAX || e->seen[at])
        return SIS_OK;
    e->seen[at] = 1;
    return e->take(r, at, &t->method);
}

static int read_earlier(sis_task *t, earlier *e) {
    sis_results *file;
    sis_record r;
    int found, error = sis_results_open(e->path, &file);
    if (error != SIS_OK)
        return error;
    e->seen = SIS_NEW(unsigned char, t->source.n);
    error = e->seen ? SIS_OK : SIS_E_NOMEM;
    while (error == SIS_OK && (found = sis_results_next(file, &r)) != 0) {
        error = found > 0 ? take_record(t, e, &r) : found;
        if (found > 0)
            sis_record_release(&r);
    }
    sis_results_close(file);
    free(e->seen);
    if (error == SIS_OK && e->n == 0 && strcmp(e->path, "-") != 0)
        error = sis__fail(SIS_E_FORMAT, "%s: contains no records", e->path);
    return error;
}

int sis__task_method_begin(sis_task *t) {
    sis__task_method *m = &t->method;
    const sis_task_opt *o = &t->opt;
    size_t n = t->source.n;
    int error = SIS_OK;
    if (o->answer.remove && !t->encoding.token)
        return sis__fail(SIS_E_ARGUMENT, "--remove needs a model that takes token ids");
    if (o->answer.lengths) {
        m->lengths = SIS_NEW(size_t, n);
        earlier e = {
            .option = "--lengths", .path = o->answer.lengths, .method = "sis", .take = take_length};
        error = m->lengths ? read_earlier(t, &e) : SIS_E_NOMEM;
    }
    if (error == SIS_OK && o->answer.orders) {
        m->orders = SIS_NEW(int *, n);
        m->n_orders = SIS_NEW(size_t, n);
        earlier e = {.option = "--orders",
                     .path = o->answer.orders,
                     .method = o->answer.method,
                     .take = take_order};
        if (m->how.method == SIS_METHOD_QUICK) /* anybody's */
            e.method = NULL;
        error = m->orders && m->n_orders ? read_earlier(t, &e) : SIS_E_NOMEM;
    }
    return error;
}

void sis__task_method_release(sis__task_method *m, size_t n) {
    for (size_t i = 0; m->orders && i < n; i++)
        free(m->orders[i]);
    free(m->orders);
    free(m->n_orders);
    free(m->lengths);
}

/* ---- One example --------------------------------------------------------------------------- */

/* Find subsets of parts, then of their pixels. */
static int find_refined(const sis_task *t, const sis_example *e, const sis_model *model,
                        const sis_opt *opt, sis_rationale *out) {
    sis_example by_pixels = *e;
    sis_input parts = e->input;
    sis_opt later = *opt;
    double began = sis__seconds();
    int *whole = SIS_NEW_RAW(int, e->input.n_values);
    int error = whole ? sis__task_parts_load(t, &by_pixels, 0, whole) : SIS_E_NOMEM;
    parts.feature_of = whole;
    if (error == SIS_OK)
        error = t->method.is_sis ? sis_collect(model, &parts, opt, &out->collection)
                                 : sis_explain(model, &parts, opt, &t->method.how, out);
    if (opt->time_limit > 0) /* the remaining time; 0 would mean no limit */
        later.time_limit = fmax(1e-6, opt->time_limit - (sis__seconds() - began));
    if (error == SIS_OK)
        error = sis__task_refine(t, &by_pixels, model, &later, whole, out);
    if (error == SIS_OK)
        out->collection.seconds = sis__seconds() - began;
    free(whole);
    return error;
}

/* Set the direction of the decision to the example's side of the threshold. */
static int choose_side(const sis_task *t, const sis_example *e, const sis_model *model,
                       sis_opt *opt) {
    double score;
    sis_opt plain = *opt;
    if (!t->guarantee.keep_side)
        return SIS_OK;
    plain.progress = NULL;
    int error = sis_predict(model, &e->input, 1, &plain, &score);
    opt->below = error == SIS_OK && sis__task_is_below(t, score);
    return error;
}

/* Prompts: also the score without each subset, everything else kept. On failure nothing is left to
 * release. */
static int score_without(const sis_task *t, const sis_example *e, const sis_model *model,
                         const sis_opt *opt, sis_rationale *out) {
    sis_collection *c = &out->collection;
    const sis_input *in = &e->input;
    sis_opt plain = *opt;
    size_t n = c->n_subsets, width = in->n_values;
    if (!sis__task_has_prompts(&t->opt) || t->method.contrast || n == 0)
        return SIS_OK;
    plain.progress = NULL;
    double *rows = SIS_NEW(double, n *width), *scores = SIS_NEW(double, n);
    sis_input *inputs = SIS_NEW(sis_input, n);
    int error = rows && scores && inputs ? SIS_OK : SIS_E_NOMEM;
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        double *row = rows + k * width;
        memcpy(row, in->values, width * sizeof *row);
        for (size_t i = 0; i < c->subsets[k].n; i++) /* the first value is the number of the
                                                        prompt */
            row[1 + c->subsets[k].features[i]] = in->mask[1 + c->subsets[k].features[i]];
        inputs[k] = *in;
        inputs[k].values = row;
    }
    if (error == SIS_OK)
        error = sis_predict(model, inputs, n, &plain, scores);
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        c->subsets[k].without = scores[k];
    c->evaluations += error == SIS_OK ? n : 0;
    free(rows);
    free(scores);
    free(inputs);
    if (error != SIS_OK)
        sis_rationale_release(out);
    return error;
}

int sis__task_method_find(const sis_task *t, size_t i, const sis_example *e, const sis_model *model,
                          const sis_opt *given, sis_rationale *out) {
    sis_opt asked = *given;
    const sis_opt *opt = &asked;
    const sis__task_method *m = &t->method;
    sis_method_opt how = m->how;
    double *removing = NULL;
    sis_model lead;
    *out = (sis_rationale){.sum = NAN, .difference = NAN};
    int error = choose_side(t, e, model, &asked);
    if (error != SIS_OK)
        return error;
    if (t->guarantee.asked.kind == SIS_GUARANTEE_ALL)
        return sis__task_prove(t, &e->input, opt, out);
    if (t->guarantee.keep_class) {
        sis_model_argmax(model, &lead);
        model = &lead;
    }
    if (t->guarantee.asked.kind == SIS_GUARANTEE_CHANCE)
        return sis__task_chance(t, model, &e->input, opt, out);
    if (t->opt.question.refine)
        return find_refined(t, e, model, opt, out);
    if (m->is_sis || m->contrast) {
        error = (m->contrast ? sis_contrast : sis_collect)(model, &e->input, opt, &out->collection);
        return error == SIS_OK ? score_without(t, e, model, opt, out) : error;
    }
    if (m->lengths)
        how.length = m->lengths[i];
    if (m->orders) {
        how.order = m->orders[i];
        how.n_order = m->n_orders[i];
    }
    if (t->opt.answer.remove) {
        how.lime_mask = removing = SIS_NEW_RAW(double, e->input.n_values);
        for (size_t v = 0; removing && v < e->input.n_values; v++)
            removing[v] = NAN;
        if (!removing)
            return SIS_E_NOMEM;
    }
    error = sis_explain(model, &e->input, opt, &how, out);
    free(removing);
    return error == SIS_OK ? score_without(t, e, model, opt, out) : error;
}
