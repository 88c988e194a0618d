/* SPDX-License-Identifier: MIT
 *
 * sis verify: audit a results file against the model, by full passes only.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"
#include "records.h"

typedef struct {
    cli_source source;
    cli_question question;
    size_t exhaustive;
    int counterexamples;
    const char *output;
    cli_common common;
} verify_options;

static const cli_option options[] = {
    CLI_OPTIONAL_GROUP(verify_options, source, cli_source, cli_source_options),
    CLI_GROUP(verify_options, question, cli_question, cli_question_options),
    {"exhaustive", 0, "N", CLI_COUNT(verify_options, exhaustive),
     "also try all parts of subsets up to N", .max = 16, .unset = "none"},
    {"counterexamples", 0, NULL, CLI_FLAG(verify_options, counterexamples),
     "of --guarantee all: print an input that loses the decision for each feature given up"},
    {"output", 'o', "FILE", CLI_STRING(verify_options, output), "where the findings go",
     .unset = "standard output"},
    CLI_GROUP(verify_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    verify_options *o = (verify_options *)p;
    cli_source_init(&o->source);
    cli_question_init(&o->question);
    o->question.output = NULL;
}

enum { BLOCK = 64 }; /* records audited together */

/* What has been found so far. */
typedef struct {
    const verify_options *o;
    sis_task *task;
    cli_output out;
    const char *path;        /* of the records */
    sis_record block[BLOCK]; /* (n_block) records that wait for their audit */
    size_t n_block;
    size_t records, hold, errors, smaller;
    size_t others; /* records that name another model */
} audit;

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

/* A record that is not of the task's example is one of its file. */
static int fail_in_file(const audit *a, int error) {
    return error == SIS_E_ARGUMENT ? cli_error("%s: %s", a->path, sis_error_detail())
                                   : cli_fail(error);
}

/* Audit the records that wait. */
static int audit_block(audit *a) {
    sis_audit found[BLOCK];
    int status = fail_in_file(a, sis_task_verify(a->task, a->block, a->n_block, found));
    if (status != CLI_DONE)
        return status;
    for (size_t i = 0; status == CLI_DONE && i < a->n_block; i++) {
        a->hold += (size_t)found[i].holds;
        for (size_t k = 0; k < found[i].n_subsets; k++)
            a->smaller += found[i].subsets[k].n_smaller > 0;
        status = write_findings(a, a->block[i].id, &found[i]);
    }
    for (size_t i = 0; i < a->n_block; i++)
        sis_audit_release(&found[i]);
    return status;
}

static void drop_block(audit *a) {
    while (a->n_block > 0)
        sis_record_release(&a->block[--a->n_block]);
}

/* Records into blocks, full blocks to the audit. */
static int take_record(void *ctx, sis_record *r) {
    audit *a = ctx;
    int status = CLI_DONE;
    a->records++;
    if (r->collection.status == SIS_STATUS_ERROR) {
        a->errors++;
        return CLI_DONE;
    }
    a->others += !cli_same_model(r->model, a->o->source.model);
    if (a->n_block == BLOCK) {
        status = audit_block(a);
        drop_block(a);
    }
    a->block[a->n_block++] = *r;
    *r = (sis_record){0};
    return status;
}

static int audit_file(audit *a, const char *path) {
    a->path = path;
    int status = cli_records_each(path, SIZE_MAX, take_record, a);
    if (status == CLI_DONE && a->n_block)
        status = audit_block(a);
    drop_block(a);
    return status;
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

static int verify_all(const verify_options *o, const cli_list *args) {
    audit a = {.o = o};
    sis_task_opt opt;
    cli_task_options(&o->source, &o->question, &opt);
    opt.search.exhaustive = o->exhaustive;
    opt.counterexamples = o->counterexamples;
    int status = cli_task_spares(&o->source, &o->question, o->output);
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = cli_output_spares(o->output, args->items[i]);
    if (status == CLI_DONE)
        status = cli_fail(sis_task_open(&opt, &a.task));
    if (status == CLI_DONE)
        cli_task_note(o->common.quiet, a.task);
    if (status == CLI_DONE)
        status = cli_output_open(&a.out, o->output, -1);
    for (size_t i = 0; status == CLI_DONE && i < args->n; i++)
        status = audit_file(&a, args->items[i]);
    int closed = cli_output_close(&a.out);
    if (status == CLI_DONE)
        status = closed;
    sis_task_free(a.task);
    return status == CLI_DONE ? conclude(&a) : status;
}

/* ---- Options that the results tell -------------------------------------------------------------- */

/* How the first of the files was made; released by the caller. */
static int find_made(const char *path, sis_made *made) {
    sis_results *file;
    sis_record r = {0};
    int status = cli_fail(sis_results_open(path, &file));
    if (status != CLI_DONE)
        return status;
    int found = sis_results_next(file, &r);
    if (found < 0)
        status = cli_fail(found);
    else if (found == 0 || !r.made)
        status =
            cli_usage("--model MODEL and --input FILE are missing, and %s does not say how it was "
                      "made",
                      path);
    else
        status = cli_fail(sis_made_parse(r.made, made));
    sis_record_release(&r);
    sis_results_close(file);
    return status;
}

/* Those of the words that this command knows, as options. */
static int parse_words(const sis_made *made, verify_options *base) {
    char **argv = cli_grab(made->n_command + 1, sizeof *argv);
    cli_list args = {0};
    int n = 0, help = 0;
    if (!argv)
        return CLI_FAILED;
    argv[n++] = "RESULTS";
    for (size_t i = 2; i < made->n_command; i++) {
        const char *word = made->command[i];
        if (strncmp(word, "--", 2) == 0 &&
            cli_option_find(options, word + 2, strcspn(word + 2, "=")))
            argv[n++] = (char *)word;
    }
    int status = cli_parse(&cli_verify, n, argv, base, &args, &help);
    free((void *)args.items);
    free(argv);
    return status;
}

/* Model, input, mask and the rest as the results have it, but for what was given here. */
static int verify_as_made(const verify_options *o, const cli_list *args) {
    sis_made made = {0};
    cli_list none = {0};
    verify_options *base = cli_options_new(&cli_verify);
    int status = base ? find_made(args->items[0], &made) : CLI_FAILED;
    if (status == CLI_DONE)
        status = parse_words(&made, base);
    if (status == CLI_DONE)
        status = cli_options_lay_over(&cli_verify, o, base);
    if (status == CLI_DONE && (!base->source.model || !base->source.input))
        status = cli_usage("--model MODEL and --input FILE are missing, and %s does not name them",
                           args->items[0]);
    if (status == CLI_DONE)
        status = verify_all(base, args);
    if (base) {
        cli_options_part(&cli_verify, o, base);
        cli_release(&cli_verify, base, &none);
    }
    free(base);
    sis_made_release(&made);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const verify_options *o = (const verify_options *)p;
    return o->source.model && o->source.input ? verify_all(o, args) : verify_as_made(o, args);
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
            {"sis verify out.jsonl", "Check every claim of out.jsonl again."},
            {"sis verify out.jsonl -m 'cmd:./score.py' -i cases.csv --mask mean:old.csv",
             "The same with files that lie elsewhere now."},
            {"sis verify results.jsonl -m 'cmd:./score.py' -i cases.csv --mask zero --exhaustive "
             "12",
             "Also look for sufficient parts of subsets of up to twelve features."},
            {0}},
    .description =
        "Repeats, with full passes of the model, what sis explain checked before it wrote a "
        "record: that each subset alone reaches the threshold, that without any one of its "
        "features it does not, that subsets are disjoint, and that everything outside them does "
        "not reach the threshold. Threshold, direction and output come from the records; model, "
        "input, mask, features, samples and seed from the first of them, which says how the file "
        "was "
        "made, unless they are given here. Older results do not say it: give them as they were "
        "given "
        "to sis explain.\n\n"
        "Writes one line of JSON a record: what was found, and the reason if a claim is false. "
        "With --exhaustive, `smaller` is a smallest sufficient part of a subset if there is one: "
        "backward selection guarantees only that no single feature can be left out. With "
        "--counterexamples each subset of --guarantee all has for each of its features in turn an "
        "input with the same values of the others that loses the decision, and its score.\n\n"
        "The exit status is 1 if any claim is false.",
};
