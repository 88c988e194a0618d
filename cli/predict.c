/* SPDX-License-Identifier: MIT
 *
 * sis predict: scores the inputs without explaining them.
 */
#include <stdlib.h>

#include <sis/record.h>
#include <sis/results.h>

#include "base/spread.h"
#include "output.h"
#include "task.h"

typedef struct {
    cli_task_opt task;
    const char *output;
    int force;
    cli_common common;
} predict_options;

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_SOURCES(predict_options, CLI_GROUP, cli_source_options),
    CLI_HEADING("Output"),
    {"output", 'o', "FILE", CLI_STRING(predict_options, output), "output file",
     .writes = CLI_WRITES_FILE, .unset = "standard output"},
    CLI_FORCE(predict_options, force),
    CLI_GROUP(predict_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_task_opt_init(&((predict_options *)p)->task);
}

enum { BLOCK = 1 << 16 }; /* maximum number of examples scored together */

typedef struct {
    sis_task *task;
    sis__queue *queue;
    size_t block[BLOCK]; /* examples to score */
    cli_output out;
    int broken; /* writing failed, and the error was printed */
} predicting;

static int answer_scores(void *ctx, size_t k, const double *scores) {
    predicting *w = ctx;
    size_t bytes = sis_task_model(w->task)->n_outputs * sizeof *scores;
    return sis__queue_answer(w->queue, w->block[k], scores, bytes);
}

static int work(void *ctx, sis__queue *queue) {
    predicting *w = ctx;
    int error = SIS_OK;
    w->queue = queue;
    for (size_t n; error == SIS_OK && (n = sis__queue_next(queue, w->block, BLOCK)) > 0;)
        error = sis_task_predict(w->task, w->block, n, answer_scores, w);
    return error;
}

static int write_scores(void *ctx, size_t i, const void *scores, size_t bytes) {
    predicting *w = ctx;
    char *line, number[SIS_ID_SIZE];
    size_t n, outputs = bytes / sizeof(double);
    int error = sis_scores_format(sis_task_id(w->task, i, number), scores, outputs, &line, &n);
    if (error)
        return error;
    w->broken |= cli_output_write(&w->out, line, n) != CLI_DONE;
    free(line);
    return w->broken ? SIS_E_IO : SIS_OK;
}

static int predict(predicting *w, const char *output, int jobs) {
    int status = sis__leads() ? cli_output_open(&w->out, output) : CLI_DONE;
    if (status != CLI_DONE)
        return cli_output_close(&w->out, status);
    int error = sis__spread(&(sis__work){.n = sis_task_count(w->task),
                                         .jobs = jobs,
                                         .ordered = 1,
                                         .work = work,
                                         .take = write_scores,
                                         .ctx = w});
    status = w->broken ? CLI_FAILED : cli_fail(error);
    return cli_output_close(&w->out, status);
}

static int run(const void *p, const cli_list *args) {
    const predict_options *o = (const predict_options *)p;
    predicting *w = cli_grab(1, sizeof *w);
    sis_task_opt opt;
    (void)args;
    if (!w)
        return CLI_FAILED;
    cli_plain_options(&o->task, &opt);
    int status = cli_fail(sis_task_open(&opt, &w->task));
    if (status == CLI_DONE)
        cli_task_note(o->common.quiet, w->task);
    if (status == CLI_DONE)
        status = predict(w, o->output, opt.answer.search.jobs);
    sis_task_free(w->task);
    free(w);
    return status;
}

const cli_command cli_predict = {
    .name = "predict",
    .summary = "write the scores of a model",
    .options = options,
    .options_size = sizeof(predict_options),
    .init = init,
    .run = run,
    .examples = (const cli_example[]){{"sis predict -m 'cmd:./score.py' -i cases.csv",
                                       "Print the scores of every case."},
                                      {0}},
    .description =
        "Writes one line of JSON for each example, {\"id\":\"0\",\"scores\":[0.1,0.9]}, with "
        "a score for each output of the model. Use it to choose a threshold for sis explain, "
        "and to check that sis reads the model and the data correctly.",
};
