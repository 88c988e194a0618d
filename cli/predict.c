/* SPDX-License-Identifier: MIT
 *
 * sis predict: scores only, to see what a model makes of its inputs before asking why.
 */
#include <stdlib.h>

#include <sis/results.h>

#include "output.h"
#include "spread.h"
#include "task.h"

typedef struct {
    cli_source source;
    const char *output;
    int force;
    cli_common common;
} predict_options;

static const cli_option options[] = {
    CLI_GROUP(predict_options, source, cli_source, cli_source_options),
    {"output", 'o', "FILE", CLI_STRING(predict_options, output), "where the scores go",
     .unset = "standard output"},
    CLI_FORCE(predict_options, force),
    CLI_GROUP(predict_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_source_init(&((predict_options *)p)->source);
}

/* Scores on their way to the file. */
typedef struct {
    const sis_task *task;
    cli_output out;
    int broken; /* the file cannot be written, and that was said */
} writing;

static int write_scores(void *ctx, size_t i, const double *scores) {
    writing *w = ctx;
    char *line;
    size_t n, outputs = sis_task_model(w->task)->n_outputs;
    int error = sis_scores_format(sis_task_id(w->task, i), scores, outputs, &line, &n);
    if (error)
        return error;
    w->broken |= cli_output_write(&w->out, line, n) != CLI_DONE;
    free(line);
    return w->broken ? SIS_E_IO : SIS_OK;
}

static int run(const void *p, const cli_list *args) {
    const predict_options *o = (const predict_options *)p;
    (void)args;
    sis_task *task = NULL;
    writing w = {0};
    sis_task_opt opt;
    cli_task_options(&o->source, NULL, &opt);
    int serves = cli_spread_now && !cli_spread_now->leads;
    int status = cli_task_spares(&o->source, NULL, o->output);
    if (status == CLI_DONE)
        status = cli_output_fresh(o->output, o->force || serves, 0);
    if (status == CLI_DONE)
        status = cli_fail(sis_task_open(&opt, &task));
    if (status == CLI_DONE)
        cli_task_note(o->common.quiet, task);
    if (status == CLI_DONE && serves)
        status = cli_fail(cli_spread_now->serve(task));
    else if (status == CLI_DONE)
        status = cli_output_open(&w.out, o->output, -1);
    if (status == CLI_DONE && !serves) {
        w.task = task;
        int error = cli_spread_now
                        ? cli_spread_now->predict(task, write_scores, &w)
                        : sis_task_predict(task, NULL, sis_task_count(task), write_scores, &w);
        status = w.broken ? CLI_FAILED : cli_fail(error);
        int closed = cli_output_close(&w.out);
        status = status == CLI_DONE ? closed : status;
    }
    sis_task_free(task);
    return status;
}

const cli_command cli_predict = {
    .name = "predict",
    .summary = "write the scores a model gives",
    .options = options,
    .options_size = sizeof(predict_options),
    .init = init,
    .run = run,
    .examples = (const cli_example[]){{"sis predict -m 'cmd:./score.py' -i cases.csv",
                                       "Print the scores of every case."},
                                      {0}},
    .description =
        "Writes one line of JSON an example, {\"id\":\"0\",\"scores\":[0.1,0.9]}, with a "
        "score for each output of the model. Useful to choose a threshold for sis "
        "explain, and to see that a model is understood as it should be.",
};
