/* SPDX-License-Identifier: MIT
 *
 * sis predict: scores only, to see what a model makes of its inputs before asking why.
 */
#include <stdlib.h>

#include <sis/results.h>

#include "output.h"
#include "task.h"

typedef struct {
    cli_source source;
    const char *output;
    cli_common common;
} predict_options;

static const cli_option options[] = {
    CLI_GROUP(predict_options, source, cli_source, cli_source_options),
    {"output", 'o', "FILE", CLI_STRING(predict_options, output), "where the scores go",
     .unset = "standard output"},
    CLI_GROUP(predict_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_source_init(&((predict_options *)p)->source);
}

static int write_scores(const cli_task *t, cli_output *out, const double *scores) {
    size_t outputs = t->model.n_outputs;
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++) {
        char *line;
        size_t n;
        int error = sis_scores_format(t->ids[i], scores + i * outputs, outputs, &line, &n);
        if (error)
            return cli_fail(error);
        status = cli_output_write(out, line, n);
        free(line);
    }
    return status;
}

static int run(const void *p, const cli_list *args) {
    const predict_options *o = (const predict_options *)p;
    (void)args;
    cli_task task = {0};
    cli_output out = {0};
    double *scores = NULL;
    int status = cli_task_spares(&o->source, NULL, o->output);
    if (status == CLI_DONE)
        status = cli_task_open(&task, &o->source);
    if (status == CLI_DONE)
        status = cli_task_predict(&task, task.inputs, task.n, o->source.jobs, &scores);
    if (status == CLI_DONE)
        status = cli_output_open(&out, o->output, -1);
    if (status == CLI_DONE) {
        status = write_scores(&task, &out, scores);
        int closed = cli_output_close(&out);
        status = status == CLI_DONE ? closed : status;
    }
    free(scores);
    cli_task_close(&task);
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
