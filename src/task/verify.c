/* SPDX-License-Identifier: MIT
 *
 * Verifies records: checks that a record belongs to the example with its id, and that its claims
 * are true. Examples are loaded in blocks.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

/* 1 if they are equal; NaN equals NaN. */
static int same_numbers(const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return 0;
    return 1;
}

int sis_task_match(const sis_task *t, const sis_example *e, const sis_record *r) {
    const sis_input *in = &e->input;
    size_t n = t->model.n_outputs;
    if (r->question.target >= n)
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" is about output %zu, but the model has %zu; give the "
                         "--model it was made with (%s)",
                         r->id, r->question.target, n, r->model);
    if (r->question.n_outputs && r->question.n_outputs != n)
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" is about a model with %zu output%s, this one has %zu; give "
                         "the --model it was made with (%s)",
                         r->id, r->question.n_outputs, r->question.n_outputs > 1 ? "s" : "", n,
                         r->model);
    if (r->drawing.values && (r->drawing.n_values != in->n_values ||
                              !same_numbers(r->drawing.values, in->values, r->drawing.n_values)))
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" was made with another input; give the same --input", r->id);
    if (r->drawing.mask &&
        (in->n_samples != 1 || !same_numbers(r->drawing.mask, in->mask, r->drawing.n_values)))
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" was made with a mask other than %s; give the same --mask",
                         r->id,
                         t->opt.question.mask ? "the one given" : "the model's own, or none");
    return SIS_OK;
}

/* ---- Answers ------------------------------------------------------------------------------- */

static int same_text(const char *a, const char *b) {
    return strcmp(a ? a : "", b ? b : "") == 0;
}

static sis_guarantee_kind kind_of(const sis_record *r) {
    return r->guarantee ? r->guarantee->kind : SIS_GUARANTEE_MASK;
}

/* 1 if both keep the same decision under the same condition. */
static int same_guarantee(const sis_record *r, const sis_record *now) {
    return kind_of(r) == kind_of(now) && same_text(r->question.domain, now->question.domain) &&
           same_text(r->question.keep, now->question.keep) &&
           (kind_of(r) != SIS_GUARANTEE_CHANCE ||
            (r->guarantee->share == now->guarantee->share &&
             r->guarantee->confidence == now->guarantee->confidence));
}

/* A record that says so was made with this option; in others the proof may have been given up. */
static int says_smallest(const sis_record *r) {
    return r->guarantee && r->guarantee->smallest;
}

/* 1 if both have the same analysis, apart from the example. Older records do not name their mask or
 * the number of outputs. */
static int same_question(const sis_record *r, const sis_record *now) {
    return same_text(r->model, now->model) && same_text(r->question.method, now->question.method) &&
           same_text(r->question.constraint, now->question.constraint) && same_guarantee(r, now) &&
           r->question.threshold == now->question.threshold &&
           r->question.below == now->question.below && r->question.target == now->question.target &&
           (!r->question.n_outputs || r->question.n_outputs == now->question.n_outputs) &&
           !r->drawing.mask == !now->drawing.mask &&
           (!r->drawing.masking || same_text(r->drawing.masking, now->drawing.masking));
}

static int same_words(const sis_record *r, const sis_record *now) {
    if (r->drawing.n_words != now->drawing.n_words)
        return 0;
    for (size_t i = 0; i < r->drawing.n_words; i++)
        if (strcmp(r->drawing.words[i], now->drawing.words[i]) != 0)
            return 0;
    return 1;
}

/* 1 if both map the same values to features. */
static int same_map(const sis_record *r, const sis_record *now) {
    if (!r->drawing.feature_map || !now->drawing.feature_map)
        return !r->drawing.feature_map && !now->drawing.feature_map;
    return memcmp(r->drawing.feature_map, now->drawing.feature_map,
                  now->drawing.n_values * sizeof *now->drawing.feature_map) == 0;
}

int sis_task_is_answer(const sis_task *t, sis_example *e, const sis_record *r) {
    sis_record now;
    long n = sis_input_features(&e->input);
    sis_task_record(t, e, NULL, &now);
    if (t->guarantee.keep_side)
        now.question.below = sis__task_is_below(t, r->collection.score);
    if (n <= 0 || r->collection.n_features != (size_t)n || !same_question(r, &now))
        return 0;
    if (says_smallest(r) && !t->method.contrast && !t->opt.question.smallest)
        return 0;
    if (!now.drawing.values)
        return same_words(r, &now);
    return r->drawing.n_values == now.drawing.n_values &&
           same_numbers(r->drawing.values, now.drawing.values, now.drawing.n_values) &&
           same_map(r, &now) &&
           (!now.drawing.mask ||
            same_numbers(r->drawing.mask, now.drawing.mask, now.drawing.n_values));
}

/* ---- Audits -------------------------------------------------------------------------------- */

enum { BLOCK = 64 }; /* records audited together */

typedef struct {
    sis_example examples[BLOCK];
    sis_input inputs[BLOCK];
    sis_collection claims[BLOCK];
    size_t n;
} block;

static int add_record(const sis_task *t, const sis_record *r, block *b) {
    sis_example *e = &b->examples[b->n];
    size_t at = sis_task_find(t, r->id);
    if (at == SIZE_MAX)
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" is not among the selected examples; give the --input, --id "
                         "and --rows it was made with",
                         r->id);
    int error = sis__task_load(t, at, NULL, r->question.target, e);
    if (error != SIS_OK)
        return error;
    b->inputs[b->n] = e->input;
    b->claims[b->n] = r->collection;
    b->claims[b->n++].noise = r->prompted ? r->prompted->noise : 0;
    if (r->prompted)
        error = sis__task_prompt_take_answer(t, e->row, r);
    return error == SIS_OK ? sis_task_match(t, e, r) : error;
}

/* The model handle for the record's example. */
static const sis_model *model_of(const sis_task *t, const sis_record *r) {
    size_t at = t->n_others ? sis_task_find(t, r->id) : SIZE_MAX;
    return at == SIZE_MAX ? &t->model
                          : sis__task_model_for(t, &t->model, sis__task_row(&t->source, at));
}

/* The number of records from the first on with the same decision and model handle. */
static size_t count_alike(const sis_task *t, const sis_record *r, size_t n) {
    size_t count = 1;
    while (count < n && count < BLOCK && r[count].question.threshold == r[0].question.threshold &&
           r[count].question.below == r[0].question.below && same_guarantee(&r[count], &r[0]) &&
           same_text(r[count].question.method, r[0].question.method) &&
           model_of(t, &r[count]) == model_of(t, r))
        count++;
    return count;
}

/* Score the subsets of an example with new draws, as many as they were found with. The old draws
 * selected the subsets, so scores with them are biased. */
static int redraw(const sis_task *t, const sis_model *model, const sis_input *input,
                  const sis_collection *claims, const sis_opt *opt, sis_audit *out) {
    size_t n = out->n_subsets, draws = t->mask.n_samples;
    double *scores = SIS_NEW(double, 2 * n);
    int error = scores || !n ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK && n)
        error = sis_deck_scores(t->mask.deck->deck, model, input, claims->subsets, n, draws,
                                t->opt.question.seed + 1, opt, scores, scores + n);
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        out->subsets[k].draws = draws;
        out->subsets[k].drawn_score = scores[k];
        out->subsets[k].drawn_error = scores[n + k];
    }
    free(scores);
    return error;
}

static int redraw_block(const sis_task *t, const sis_model *model, const block *b,
                        const sis_opt *opt, sis_audit *out) {
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && t->mask.deck && t->mask.n_samples > 1 && i < b->n; i++)
        error = redraw(t, model, &b->inputs[i], &b->claims[i], opt, &out[i]);
    for (size_t i = 0; error != SIS_OK && i < b->n; i++)
        sis_audit_release(&out[i]);
    return error;
}

static int is_contrast(const sis_record *r) {
    return strcmp(r->question.method, "contrast") == 0;
}

static int audit_contrasts(const sis_model *model, const block *b, const sis_opt *opt,
                           sis_audit *out) {
    int error = SIS_OK;
    size_t done = 0;
    for (; error == SIS_OK && done < b->n; done++)
        error = sis_contrast_verify(model, &b->inputs[done], opt, &b->claims[done], &out[done]);
    for (size_t i = 0; error != SIS_OK && i + 1 < done; i++)
        sis_audit_release(&out[i]);
    return error;
}

/* By full passes or proofs, according to the records' claims. */
static int audit_block(sis_task *t, const sis_record *records, const block *b, const sis_opt *opt,
                       sis_audit *out) {
    sis_model lead;
    if (kind_of(records) == SIS_GUARANTEE_ALL)
        return sis__task_prove_audit(t, b->inputs, records, b->n, out);
    if (t->opt.audit.counterexamples)
        return sis__fail(SIS_E_OPTION,
                         "--counterexamples: record \"%s\" was not made with --guarantee all",
                         records->id);
    int error = t->mask.ready ? SIS_OK : sis__task_mask_begin(t);
    if (error)
        return error;
    const sis_model *model = model_of(t, records);
    if (records->question.keep) {
        sis_model_argmax(model, &lead);
        model = &lead;
    }
    if (is_contrast(records))
        return audit_contrasts(model, b, opt, out);
    if (kind_of(records) != SIS_GUARANTEE_CHANCE) {
        error = sis_verify_many(model, b->inputs, b->n, opt, b->claims, out);
        return error == SIS_OK ? redraw_block(t, model, b, opt, out) : error;
    }
    size_t done = 0;
    for (; error == SIS_OK && done < b->n; done++)
        error = sis__task_chance_audit(t, model, &b->inputs[done], &records[done], &out[done]);
    for (size_t i = 0; error != SIS_OK && i + 1 < done; i++)
        sis_audit_release(&out[i]);
    return error;
}

static int verify_block(sis_task *t, const sis_record *records, size_t n, block *b,
                        sis_audit *out) {
    sis_opt opt = t->opt.answer.search;
    int error = SIS_OK;
    opt.threshold = records[0].question.threshold;
    opt.below = records[0].question.below;
    b->n = 0;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        error = add_record(t, &records[i], b);
    if (error == SIS_OK)
        error = audit_block(t, records, b, &opt, out);
    while (b->n > 0)
        sis_example_release(&b->examples[--b->n]);
    return error;
}

int sis_task_verify(sis_task *t, const sis_record *records, size_t n, sis_audit *out) {
    block *b = SIS_NEW(block, 1);
    int error = b ? SIS_OK : SIS_E_NOMEM;
    if (b && (!t->source.data || t->opt.question.plain))
        error =
            sis__fail(SIS_E_OPTION, "this task has no examples and masks to verify records with");
    size_t done = 0;
    for (size_t more; error == SIS_OK && done < n; done += more) {
        more = count_alike(t, records + done, n - done);
        error = verify_block(t, records + done, more, b, out + done);
        if (error != SIS_OK)
            break;
    }
    free(b);
    for (size_t i = 0; error != SIS_OK && i < done; i++)
        sis_audit_release(&out[i]);
    return error;
}
