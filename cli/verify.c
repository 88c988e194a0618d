/* SPDX-License-Identifier: MIT
 *
 * sis verify: audit a results file against the model, by full passes only.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/results.h>

#include "output.h"
#include "task.h"

typedef struct {
    cli_source source;
    cli_question question;
    size_t exhaustive;
    const char *output;
    cli_common common;
} verify_options;

static const cli_option options[] = {
    CLI_GROUP(verify_options, source, cli_source, cli_source_options),
    CLI_GROUP(verify_options, question, cli_question, cli_question_options),
    {"exhaustive", 0, "N", CLI_COUNT(verify_options, exhaustive),
     "also try every part of subsets of up to N features", .max = 16, .unset = "none"},
    {"output", 'o', "FILE", CLI_STRING(verify_options, output), "where the findings go",
     .unset = "standard output"},
    CLI_GROUP(verify_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    verify_options *o = (verify_options *)p;
    cli_source_init(&o->source);
    cli_question_init(&o->question);
}

/* What has been found so far. */
typedef struct {
    const verify_options *o;
    cli_task *task;
    cli_output out;
    size_t records, hold, errors, smaller;
} audit;

/* The input of that id, or NULL. */
static const sis_input *input_of(const cli_task *t, const char *id) {
    for (size_t i = 0; i < t->n; i++) {
        char number[SIS_ID_SIZE];
        if (strcmp(sis_data_id(t->data, t->rows[i], number), id) == 0)
            return &t->inputs[i];
    }
    return NULL;
}

static int write_findings(audit *a, const char *id, const sis_audit *found) {
    char *line;
    size_t n;
    int error = sis_audit_format(id, found, &line, &n);
    if (error)
        return cli_fail(error);
    int status = cli_output_write(&a->out, line, n);
    free(line);
    return status;
}

static int audit_record(audit *a, const sis_record *r) {
    const sis_input *known = input_of(a->task, r->id);
    if (!known)
        return cli_error("record \"%s\" is of no example that was asked for; give the --input and "
                         "--rows it was made with",
                         r->id);
    if (r->output >= a->task->model.n_outputs)
        return cli_error("record \"%s\" is about output %zu, the model has %zu", r->id, r->output,
                         a->task->model.n_outputs);
    sis_input in = *known;
    in.output = r->output;
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = r->threshold;
    opt.below = r->below;
    opt.memory = a->o->question.memory << 20;
    opt.exhaustive = a->o->exhaustive;
    sis_audit found;
    int error = sis_verify(&a->task->model, &in, &opt, &r->collection, &found);
    if (error)
        return cli_error("record \"%s\": %s", r->id, sis_error_detail());
    a->hold += (size_t)found.holds;
    for (size_t k = 0; k < found.n_subsets; k++)
        a->smaller += found.subsets[k].n_smaller > 0;
    int status = write_findings(a, r->id, &found);
    sis_audit_release(&found);
    return status;
}

static int audit_file(audit *a, const char *path) {
    sis_results *file;
    sis_record r;
    int found = sis_results_open(path, &file), status = CLI_DONE;
    if (found != SIS_OK)
        return cli_fail(found);
    while (status == CLI_DONE && (found = sis_results_next(file, &r)) > 0) {
        a->records++;
        if (r.collection.status == SIS_STATUS_ERROR)
            a->errors++;
        else
            status = audit_record(a, &r);
        sis_record_release(&r);
    }
    sis_results_close(file);
    return status == CLI_DONE && found < 0 ? cli_fail(found) : status;
}

static int conclude(const audit *a) {
    size_t audited = a->records - a->errors;
    cli_note(a->o->common.quiet, "%zu of %zu records hold", a->hold, audited);
    if (a->errors)
        cli_note(a->o->common.quiet, "%zu records of status error were left out", a->errors);
    if (a->o->exhaustive)
        cli_note(a->o->common.quiet, "%zu subsets have a smaller sufficient part", a->smaller);
    return a->hold == audited ? CLI_DONE : CLI_FAILED;
}

static int run(const void *p, const cli_list *args) {
    const verify_options *o = (const verify_options *)p;
    cli_task task = {0};
    audit a = {.o = o, .task = &task};
    int status = cli_task_open(&task, &o->source);
    if (status == CLI_DONE)
        status = cli_task_ask(&task, &o->source, &o->question);
    if (status == CLI_DONE)
        status = cli_output_open(&a.out, o->output, -1);
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = audit_file(&a, args->items[i]);
    int closed = cli_output_close(&a.out);
    if (status == CLI_DONE)
        status = closed;
    cli_task_close(&task);
    return status == CLI_DONE ? conclude(&a) : status;
}

const cli_command cli_verify = {
    .name = "verify",
    .summary = "audit a results file against the model",
    .options = options,
    .options_size = sizeof(verify_options),
    .args = "RESULTS...",
    .min_args = 1,
    .max_args = SIZE_MAX,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis verify out.jsonl -m 'cmd:./score.py' -i cases.csv --mask mean:old.csv",
             "Check every claim of out.jsonl again."},
            {"sis verify results.jsonl -m 'cmd:./score.py' -i cases.csv --mask zero --exhaustive "
             "12",
             "Also look for sufficient parts of subsets of up to nine features."},
            {0}},
    .description =
        "Repeats, with full passes of the model, what sis explain checked before it wrote a "
        "record: "
        "that each subset alone reaches the threshold, that without any one of its features it "
        "does "
        "not, that subsets are disjoint, and that everything outside them does not reach the "
        "threshold. Threshold, direction and output come from the records; model, input, mask and "
        "features are given as they were to sis explain.\n\n"
        "Writes one line of JSON a record: what was found, and the reason if a claim is false. "
        "With "
        "--exhaustive, `smaller` is a smallest sufficient part of a subset if there is one: "
        "backward "
        "selection guarantees only that no single feature can be left out.\n\n"
        "The exit status is 1 if any claim is false.",
};
