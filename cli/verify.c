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

enum { BLOCK = 64 }; /* records audited together */

/* What has been found so far. */
typedef struct {
    const verify_options *o;
    cli_task *task;
    cli_output out;
    size_t *by_id; /* (task->n) inputs in the order of their ids */
    size_t records, hold, errors, smaller;
    size_t others; /* records that name another model */
} audit;

static int by_id(const void *a, const void *b, void *task) {
    char **ids = ((cli_task *)task)->ids;
    return strcmp(ids[*(const size_t *)a], ids[*(const size_t *)b]);
}

static int index_inputs(audit *a) {
    a->by_id = cli_grab(a->task->n, sizeof *a->by_id);
    if (!a->by_id)
        return CLI_FAILED;
    for (size_t i = 0; i < a->task->n; i++)
        a->by_id[i] = i;
    qsort_r(a->by_id, a->task->n, sizeof *a->by_id, by_id, a->task);
    return CLI_DONE;
}

/* The input of that id, or NULL. */
static const sis_input *input_of(const audit *a, const char *id) {
    size_t low = 0, high = a->task->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(a->task->ids[a->by_id[middle]], id);
        if (order == 0)
            return &a->task->inputs[a->by_id[middle]];
        if (order < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

static int same_numbers(const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

/* The input a record is about, as the model is to be asked about it. */
static int find_input(const audit *a, const sis_record *r, sis_input *out) {
    const sis_input *in = input_of(a, r->id);
    if (!in)
        return cli_error("record \"%s\" is of no example that was asked for; give the --input and "
                         "--rows it was made with",
                         r->id);
    if (r->output >= a->task->model.n_outputs)
        return cli_error("record \"%s\" is about output %zu, the model has %zu", r->id, r->output,
                         a->task->model.n_outputs);
    if (r->values &&
        (r->n_values != in->n_values || !same_numbers(r->values, in->values, r->n_values)))
        return cli_error("record \"%s\" was made of another input than the one given", r->id);
    if (r->mask && (in->n_samples != 1 || !same_numbers(r->mask, in->mask, r->n_values)))
        return cli_error("record \"%s\" was made with another mask than the one given", r->id);
    *out = *in;
    out->output = r->output;
    return CLI_DONE;
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

/* Audit n records that share threshold and direction. */
static int audit_block(audit *a, const sis_record *records, size_t n) {
    sis_input inputs[BLOCK];
    sis_collection claims[BLOCK];
    sis_audit found[BLOCK];
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = n ? records[0].threshold : 0;
    opt.below = n ? records[0].below : 0;
    opt.memory = a->o->question.memory << 20;
    opt.exhaustive = a->o->exhaustive;
    opt.jobs = (int)a->o->source.jobs;
    for (size_t i = 0; i < n; i++) {
        int status = find_input(a, &records[i], &inputs[i]);
        if (status != CLI_DONE)
            return status;
        claims[i] = records[i].collection;
    }
    int status = cli_fail(sis_verify_many(&a->task->model, inputs, n, &opt, claims, found));
    for (size_t i = 0; status == CLI_DONE && i < n; i++) {
        a->hold += (size_t)found[i].holds;
        for (size_t k = 0; k < found[i].n_subsets; k++)
            a->smaller += found[i].subsets[k].n_smaller > 0;
        status = write_findings(a, records[i].id, &found[i]);
    }
    for (size_t i = 0; i < n; i++)
        sis_audit_release(&found[i]);
    return status;
}

/* Records into blocks of the same threshold, blocks to the audit. */
static int audit_file(audit *a, const char *path) {
    sis_results *file;
    sis_record block[BLOCK], r;
    size_t n = 0;
    int found = sis_results_open(path, &file), status = CLI_DONE;
    if (found != SIS_OK)
        return cli_fail(found);
    while (status == CLI_DONE && (found = sis_results_next(file, &r)) > 0) {
        a->records++;
        if (r.collection.status == SIS_STATUS_ERROR) {
            a->errors++;
            sis_record_release(&r);
            continue;
        }
        a->others += !cli_same_model(r.model, a->o->source.model);
        int differs = n && (r.threshold != block[0].threshold || r.below != block[0].below);
        if (n == BLOCK || differs) {
            status = audit_block(a, block, n);
            while (n > 0)
                sis_record_release(&block[--n]);
        }
        block[n++] = r;
    }
    if (status == CLI_DONE && found >= 0 && n)
        status = audit_block(a, block, n);
    while (n > 0)
        sis_record_release(&block[--n]);
    sis_results_close(file);
    return status == CLI_DONE && found < 0 ? cli_fail(found) : status;
}

static int conclude(const audit *a) {
    size_t audited = a->records - a->errors;
    if (audited == 0)
        return cli_error("there is nothing to verify: %zu records, %zu of status error", a->records,
                         a->errors);
    cli_note(a->o->common.quiet, "%zu of %zu records hold", a->hold, audited);
    if (a->others && a->hold < audited)
        cli_note(a->o->common.quiet, "%zu of them were made with another model than %s", a->others,
                 a->o->source.model);
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
    int status = cli_task_spares(&o->source, &o->question, o->output);
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = cli_output_spares(o->output, args->items[i]);
    if (status == CLI_DONE)
        status = cli_task_open(&task, &o->source);
    if (status == CLI_DONE)
        status = cli_task_ask(&task, &o->source, &o->question);
    if (status == CLI_DONE)
        status = index_inputs(&a);
    if (status == CLI_DONE)
        status = cli_output_open(&a.out, o->output, -1);
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = audit_file(&a, args->items[i]);
    int closed = cli_output_close(&a.out);
    if (status == CLI_DONE)
        status = closed;
    cli_task_close(&task);
    free(a.by_id);
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
             "Also look for sufficient parts of subsets of up to twelve features."},
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
