/* SPDX-License-Identifier: MIT
 *
 * Numbers that the model gives for each example: measured by threads, here or in other processes, and
 * kept in the order of the examples. A measure says once how its numbers are found and where they go.
 */
#include <stdlib.h>

#include "base/mem.h"
#include "evaluate.h"
#include "spread.h"

typedef struct {
    evaluation *ev;
    const eval_measure *measure;
    cli_things *things;
    cli_progress bar;
    size_t kept;
    int status; /* of keep() */
} measuring;

/* The thread's own, or that of another shape of as many values, which threads share. */
static const sis_model *model_for(const measuring *m, size_t e, const sis_model *own) {
    const cli_task *t = m->measure->task;
    const sis_model *asked = sis_task_model_of(t->task, &t->examples[m->ev->examples[e].at]);
    return asked == sis_task_model(t->task) ? own : asked;
}

static int find_numbers(measuring *m, size_t e, const sis_model *model, const sis_opt *opt) {
    const evaluation *ev = m->ev;
    size_t n = m->measure->count(ev, e);
    double *numbers = SIS_NEW_RAW(double, n);
    sis_opt own;
    if (!numbers)
        return SIS_E_NOMEM;
    eval_options_of(ev, ev->examples[e].record, &own);
    own.jobs = 1;
    own.memory = opt->memory;
    int error = m->measure->find(ev, e, model_for(m, e, model), &own, numbers);
    if (error == SIS_OK)
        error = cli_things_answer(m->things, e, numbers, n * sizeof *numbers);
    free(numbers);
    return error;
}

/* The core counts the examples; which of them come here the others decide, too. */
static int find(void *ctx, size_t k, const sis_model *model, const sis_opt *opt,
                sis_collection *out) {
    measuring *m = ctx;
    size_t e;
    (void)k;
    *out = (sis_collection){0};
    return cli_things_next(m->things, &e, 1) ? find_numbers(m, e, model, opt) : SIS_OK;
}

static int found(void *ctx, size_t k, const sis_collection *c) {
    (void)ctx, (void)k, (void)c;
    return 0;
}

static int work(void *ctx, cli_things *things) {
    measuring *m = ctx;
    const evaluation *ev = m->ev;
    sis_opt opt;
    m->things = things;
    eval_options_of(ev, ev->examples[0].record, &opt);
    return sis_find_many(&m->measure->task->model, NULL, ev->n_examples, &opt,
                         &(sis_finder){find, found, m});
}

static int keep(void *ctx, size_t e, const void *numbers, size_t bytes) {
    measuring *m = ctx;
    (void)bytes;
    cli_progress_erase(&m->bar);
    m->status = m->measure->keep(m->ev, e, numbers);
    sis_progress p = {.inputs = m->ev->n_examples, .inputs_done = ++m->kept};
    cli_progress_show(&m->bar, &p);
    return m->status == CLI_DONE ? SIS_OK : SIS_E_ARGUMENT;
}

int eval_each(evaluation *ev, const eval_measure *measure) {
    measuring m = {.ev = ev, .measure = measure};
    sis_opt opt;
    eval_options_of(ev, ev->examples[0].record, &opt);
    cli_progress_init(&m.bar, ev->o->common.quiet);
    int error = cli_spread(&(cli_work){.n = ev->n_examples,
                                       .jobs = opt.jobs,
                                       .ordered = 1,
                                       .work = work,
                                       .take = keep,
                                       .ctx = &m});
    cli_progress_end(&m.bar);
    return m.status != CLI_DONE ? m.status : cli_fail(error);
}
