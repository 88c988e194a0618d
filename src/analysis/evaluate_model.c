/* SPDX-License-Identifier: MIT
 *
 * Measurements by the model: the score of each rationale alone, the importance of each feature, the
 * score of the words that a person marked. First, the records are checked against model and data: a
 * different score means that the file was made with another model, mask or feature map.
 *
 * Threads, here or in other processes, measure; results are stored in the order of the examples.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>

#include "analysis/evaluate.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/spread.h"

/* ---- Examples ------------------------------------------------------------------------------ */

int sis__loaded_open(sis__loaded *l, sis_task *task) {
    int error = SIS_OK;
    l->task = task;
    l->n = sis_task_count(task);
    l->examples = SIS_NEW(sis_example, l->n);
    l->inputs = SIS_NEW(sis_input, l->n);
    if (!l->examples || !l->inputs)
        return SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < l->n; i++) {
        error = sis_task_load(task, i, &l->examples[i]);
        l->inputs[i] = l->examples[i].input;
    }
    return error;
}

void sis__loaded_close(sis__loaded *l) {
    for (size_t i = 0; l->examples && i < l->n; i++)
        sis_example_release(&l->examples[i]);
    free(l->examples);
    free(l->inputs);
    *l = (sis__loaded){0};
}

/* ---- Each example -------------------------------------------------------------------------- */

/* The options of a library call about the decision of a record. */
static sis_opt options_of(const sis__evaluation *ev, const sis_record *r) {
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = r->question.threshold;
    opt.below = r->question.below;
    opt.jobs = ev->o->search.jobs;
    opt.memory = ev->o->search.memory;
    return opt;
}

typedef struct {
    sis__evaluation *ev;
    const sis__measuring *measure;
    sis__queue *queue;
    size_t kept;
} run;

/* The thread's model, or the shared handle for another shape of as many values. */
static const sis_model *model_for(const run *r, size_t e, const sis_model *own) {
    const sis__loaded *l = r->measure->asked;
    const sis_model *asked = sis_task_model_of(l->task, &l->examples[r->ev->subjects[e].at]);
    return asked == sis_task_model(l->task) ? own : asked;
}

static int find_numbers(run *r, size_t e, const sis_model *model, const sis_opt *opt) {
    const sis__evaluation *ev = r->ev;
    size_t n = r->measure->count(ev, e);
    double *numbers = SIS_NEW_RAW(double, n);
    sis_opt own = options_of(ev, ev->subjects[e].record);
    if (!numbers)
        return SIS_E_NOMEM;
    own.jobs = 1;
    own.memory = opt->memory;
    int error = r->measure->find(ev, e, model_for(r, e, model), &own, numbers);
    if (error == SIS_OK)
        error = sis__queue_answer(r->queue, e, numbers, n * sizeof *numbers);
    free(numbers);
    return error;
}

/* The core counts the examples; the queue decides which of them come here. */
static int find_next(void *ctx, size_t k, const sis_model *model, const sis_opt *opt,
                     sis_collection *out) {
    run *r = ctx;
    size_t e;
    (void)k;
    *out = (sis_collection){0};
    int error = sis__queue_next(r->queue, &e, 1) ? find_numbers(r, e, model, opt) : SIS_OK;
    if (error != SIS_OK)
        sis__queue_close(r->queue);
    return error;
}

static int ignore(void *ctx, size_t k, const sis_collection *c) {
    (void)ctx, (void)k, (void)c;
    return 0;
}

static int work(void *ctx, sis__queue *queue) {
    run *r = ctx;
    sis_opt opt = options_of(r->ev, r->ev->subjects[0].record);
    r->queue = queue;
    return sis_find_many(sis_task_model(r->measure->asked->task), NULL, r->ev->n_subjects, &opt,
                         &(sis_finder){find_next, ignore, r});
}

static int keep(void *ctx, size_t e, const void *numbers, size_t bytes) {
    run *r = ctx;
    const sis_opt *o = &r->ev->o->search;
    sis_progress p = {.inputs = r->ev->n_subjects, .inputs_done = ++r->kept};
    (void)bytes;
    int error = r->measure->keep(r->ev, e, numbers);
    if (error == SIS_OK && o->progress && o->progress(o->progress_ctx, &p) != 0)
        return sis__fail(SIS_E_CANCELLED, "cancelled");
    return error;
}

int sis__evaluate_each(sis__evaluation *ev, const sis__measuring *m) {
    run r = {.ev = ev, .measure = m};
    return sis__spread(&(sis__work){.n = ev->n_subjects,
                                    .jobs = ev->o->search.jobs,
                                    .ordered = 1,
                                    .work = work,
                                    .take = keep,
                                    .ctx = &r});
}

/* ---- Inputs -------------------------------------------------------------------------------- */

/* The index of the example of a record. */
static int find_input(const sis__evaluation *ev, const sis__method *m, const sis_record *r,
                      size_t *at) {
    const char *path = m->file->name;
    *at = sis_task_find(ev->all.task, r->id);
    if (*at == SIZE_MAX)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: record \"%s\" is not among the selected examples; give "
                         "the --input, --id and --rows it was made with",
                         path, r->id);
    int error = sis_task_match(ev->all.task, &ev->all.examples[*at], r);
    if (error != SIS_OK)
        return sis__fail_in(error, "%s", path);
    long n = sis_input_features(&ev->all.inputs[*at]);
    if (n < 0)
        return (int)n;
    return (size_t)n == r->collection.n_features
               ? SIS_OK
               : sis__fail(SIS_E_ARGUMENT,
                           "%s: record \"%s\" has %zu features, but the input has %ld; "
                           "give the same --features",
                           path, r->id, r->collection.n_features, n);
}

static int find_inputs(sis__evaluation *ev) {
    int error = SIS_OK;
    for (size_t e = 0; error == SIS_OK && e < ev->n_subjects; e++) {
        sis__subject *x = &ev->subjects[e];
        for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++)
            error = find_input(ev, &ev->methods[k], ev->methods[k].of[e], &x->at);
        if (error == SIS_OK) {
            x->input = ev->all.inputs[x->at];
            x->input.output = x->record->question.target;
        }
    }
    return error;
}

/* ---- Scores -------------------------------------------------------------------------------- */

/* Networks compute scores in float32, and records may come from other machines. */
static int agree(double a, double b) {
    return a == b || fabs(a - b) <= 1e-4 * (1 + fabs(a));
}

static int check_whole(const sis__evaluation *ev, size_t e, double score) {
    const sis_record *r = ev->subjects[e].record;
    if (agree(r->collection.score, score))
        return SIS_OK;
    return sis__fail(SIS_E_ARGUMENT,
                     "%s: record \"%s\" has the score %g, but this model returns "
                     "%g; give the --model it was made with (%s)",
                     ev->methods[0].file->name, r->id, r->collection.score, score, r->model);
}

size_t sis__n_alone(const sis__evaluation *ev, size_t e) {
    size_t n = 0;
    for (size_t k = 0; k < ev->n_methods; k++)
        n += ev->methods[k].first[e + 1] - ev->methods[k].first[e];
    return n;
}

void sis__alone(const sis__evaluation *ev, size_t e, const sis_input *input, sis_part *parts) {
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t i = ev->methods[k].first[e]; i < ev->methods[k].first[e + 1]; i++) {
            const sis_rated *x = &ev->methods[k].items[i];
            *parts++ = (sis_part){input, x->features, x->n_features, 0};
        }
}

static int check_part(const sis__method *m, sis_rated *x, double score) {
    const sis_record *r = m->of[x->example];
    double *of = x->measures;
    if (!agree(of[SIS_MEASURE_SCORE], score))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: record \"%s\": subset %zu has the score %g, but the "
                         "model returns %g; give the --mask, --features, --samples "
                         "and --seed it was made with",
                         m->file->name, r->id, x->subset, of[SIS_MEASURE_SCORE], score);
    of[SIS_MEASURE_SCORE] = score;
    of[SIS_MEASURE_SUFFICIENT] = sis__is_enough(r, score);
    return SIS_OK;
}

/* ---- Measurements of an example ------------------------------------------------------------ */

/* The whole input, each rationale, the marked features; then the importance of every feature. */
static size_t count_scores(const sis__evaluation *ev, size_t e) {
    return 1 + sis__n_alone(ev, e) +
           (size_t)(ev->o->human && sis__is_marked(ev->subjects[e].record));
}

static size_t count_all(const sis__evaluation *ev, size_t e) {
    return count_scores(ev, e) + ev->subjects[e].record->collection.n_features;
}

static int find_scores(const sis__evaluation *ev, size_t e, const sis_model *model,
                       const sis_opt *opt, double *numbers) {
    const sis__subject *x = &ev->subjects[e];
    size_t n = count_scores(ev, e), alone = sis__n_alone(ev, e);
    sis_part *parts = SIS_NEW(sis_part, n);
    if (!parts)
        return SIS_E_NOMEM;
    parts[0] = (sis_part){.input = &x->input, .without = 1};
    sis__alone(ev, e, &x->input, parts + 1);
    if (n > 1 + alone)
        parts[1 + alone] =
            (sis_part){&x->input, x->record->drawing.human, x->record->drawing.n_human, 0};
    int error = sis_part_scores(model, parts, n, opt, numbers);
    free(parts);
    return error == SIS_OK ? sis_importance(model, &x->input, opt, numbers + n) : error;
}

/* QHS of an example with marks: the score of the marked words minus that of all, negated for
 * decisions "<=". */
static void keep_quality(sis__subject *x, double score) {
    x->human_score = score;
    x->qhs = score - x->record->collection.score;
    x->qhs = x->record->question.below ? -x->qhs : x->qhs;
}

static int keep_scores(sis__evaluation *ev, size_t e, const double *numbers) {
    sis__subject *x = &ev->subjects[e];
    size_t n = x->record->collection.n_features;
    const double *at = numbers, *importance = numbers + count_scores(ev, e);
    int error = check_whole(ev, e, *at++);
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t i = ev->methods[k].first[e]; i < ev->methods[k].first[e + 1]; i++, at++)
            if (error == SIS_OK)
                error = check_part(&ev->methods[k], &ev->methods[k].items[i], *at);
    if (error != SIS_OK)
        return error;
    if (at < importance)
        keep_quality(x, *at);
    x->importance = sis__held_room(ev->held, n, sizeof *x->importance);
    if (!x->importance)
        return SIS_E_NOMEM;
    memcpy(x->importance, importance, n * sizeof *importance);
    return SIS_OK;
}

int sis__evaluate_model(sis__evaluation *ev) {
    int error = find_inputs(ev);
    if (error == SIS_OK)
        error = sis__evaluate_each(
            ev, &(sis__measuring){&ev->all, count_all, find_scores, keep_scores});
    return error;
}
