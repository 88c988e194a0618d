/* SPDX-License-Identifier: MIT
 *
 * sis verify: audits a results file against the model, using full passes only.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/spread.h"
#include "output.h"
#include "records.h"

typedef struct {
    cli_task_opt task;
    const char *output, *where;
    int force;
    cli_common common;
} verify_options;

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_SOURCES(verify_options, CLI_OPTIONAL_GROUP, cli_source_options),
    {"trust", 0, NULL, CLI_FLAG(verify_options, task.opt.audit.trust),
     "run the command of the results, and print it", .not_in_provenance = 1,
     .more = "Model, input and mask files then come from the results, unless you give them here. "
             "The command can run any program (cmd:) and send data to any address, so use this "
             "only for your own results."},
    CLI_WHERE(verify_options, where),
    CLI_HEADING("Question"),
    CLI_GROUP(verify_options, task, cli_task_opt, cli_question_options),
    CLI_HEADING("Guarantee"),
    {"exhaustive", 0, "N", CLI_COUNT(verify_options, task.opt.answer.search.exhaustive),
     "also try all parts of subsets of up to N features", .max = 16, .unset = "none",
     .not_in_provenance = 1},
    {"counterexamples", 0, NULL, CLI_FLAG(verify_options, task.opt.audit.counterexamples),
     "for --guarantee all: print an input that loses the decision, for each feature of a "
     "subset"},
    {"domain", 0, "D", CLI_STRING(verify_options, task.opt.question.domain),
     "for --guarantee all: data:FILE, if the file has moved", .not_in_provenance = 1,
     .more = "Other domains are taken from the records."},
    CLI_HEADING("Output"),
    {"output", 'o', "FILE", CLI_STRING(verify_options, output), "file for the audit",
     .writes = CLI_WRITES_FILE, .unset = "standard output", .not_in_provenance = 1},
    CLI_FORCE(verify_options, force),
    CLI_GROUP(verify_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    verify_options *o = (verify_options *)p;
    cli_task_opt_init(&o->task);
    o->task.opt.question.target = NULL;
}

enum { BLOCK = 64 }; /* records audited together */

/* The header of an answer; the line of results follows. */
typedef struct {
    size_t smaller;
    size_t drawn, kept; /* subsets scored with fresh draws; those still decided */
    double errors;      /* sum of the standard errors */
    int left_out;       /* the record has status error; no line follows */
    int not_meant;      /* excluded by --where; no line follows */
    size_t within_noise;
    int holds, other_model;
} record_header;

/* Totals so far. */
typedef struct {
    size_t records, hold, errors, smaller;
    size_t drawn, kept;  /* subsets scored with fresh draws; those still decided */
    double deviation;    /* sum of the standard errors */
    size_t others;       /* records that name another model */
    size_t within_noise; /* claims that hold only within noise */
} tally;

typedef struct {
    const verify_options *o;
    sis_task *task;
    int jobs;

    /* Reading: records are numbered across all files. */
    const cli_list *paths;
    sis_results *file; /* the open file, number `at`; NULL: none */
    size_t at, next;   /* next: number of its next record */
    cli_where where;

    /* Work */
    sis__queue *queue;
    sis_record block[BLOCK]; /* (n_block) records to audit, all of one file */
    size_t number[BLOCK], n_block;
    const char *path; /* of the file of the block */

    cli_output out;
    int broken; /* writing failed, and the error was printed */
    cli_progress bar;
    size_t n; /* records; SIZE_MAX: unknown */
    tally found;
} audit;

/* ---- Reading --------------------------------------------------------------------------------- */

/* Count the records of all files; a named file must have some. */
static int count_records(audit *a) {
    a->n = 0;
    for (size_t i = 0; i < a->paths->n; i++) {
        sis_results *file;
        size_t before = a->n;
        if (sis_results_once(a->paths->items[i])) {
            a->n = SIZE_MAX;
            return sis__processes_now
                       ? cli_error("%s: several processes cannot read one pipe; name a file",
                                   a->paths->items[i])
                       : CLI_DONE;
        }
        int found = sis_results_open(a->paths->items[i], &file);
        while (found >= 0 && (found = sis_results_skip(file)) > 0)
            a->n++;
        sis_results_close(file);
        if (found < 0)
            return cli_fail(found);
        if (a->n == before)
            return cli_error("%s: contains no records", a->paths->items[i]);
    }
    return CLI_DONE;
}

static void close_file(audit *a) {
    sis_results_close(a->file);
    a->file = NULL;
    a->at++;
}

/* Read record `number`; numbers must not decrease. 1, 0 if there is none, or an error. */
static int read_record(audit *a, size_t number, sis_record *r) {
    int found = 0;
    while (found == 0 && a->at < a->paths->n) {
        found = a->file ? SIS_OK : sis_results_open(a->paths->items[a->at], &a->file);
        while (found >= 0 && a->next < number && (found = sis_results_skip(a->file)) > 0)
            a->next++;
        if (found >= 0 && a->next == number)
            found = sis_results_next(a->file, r);
        if (found == 0)
            close_file(a);
    }
    a->next += found > 0;
    return found;
}

/* ---- Work ------------------------------------------------------------------------------------ */

static int give(audit *a, size_t number, const record_header *b, const char *line, size_t n) {
    sis__buf answer;
    sis__buf_init(&answer);
    sis__buf_add(&answer, b, sizeof *b);
    sis__buf_add(&answer, line, n);
    int error = sis__buf_error(&answer);
    if (error == SIS_OK)
        error = sis__queue_answer(a->queue, number, answer.data, answer.len);
    sis__buf_release(&answer);
    return error;
}

static void add_subset(const sis_record *r, const sis_subset_audit *s, record_header *b) {
    b->smaller += s->n_smaller > 0;
    b->drawn += s->draws > 0;
    b->kept +=
        s->draws > 0 && sis_decided(s->drawn_score, r->question.threshold, r->question.below);
    b->errors += s->draws > 0 ? s->drawn_error : 0;
}

static int give_findings(audit *a, size_t i, const sis_audit *found) {
    const sis_record *r = &a->block[i];
    record_header b = {.holds = found->holds,
                       .within_noise = found->within_noise,
                       .other_model = !cli_same_model(r->model, a->o->task.opt.model.spec)};
    char *line = NULL;
    size_t n;
    for (size_t k = 0; k < found->n_subsets; k++)
        add_subset(r, &found->subsets[k], &b);
    int error = sis_audit_format(r->id, found, &line, &n);
    if (error == SIS_OK)
        error = give(a, a->number[i], &b, line, n);
    free(line);
    return error;
}

/* Audit the block. A record that does not match its example is an error of its file. */
static int audit_block(audit *a) {
    sis_audit found[BLOCK];
    size_t n = a->n_block;
    int error = n > 0 ? sis_task_verify(a->task, a->block, n, found) : SIS_OK;
    if (error == SIS_E_ARGUMENT)
        sis__fail_in(error, "%s", a->path);
    size_t provenance = error == SIS_OK ? n : 0;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        error = give_findings(a, i, &found[i]);
    for (size_t i = 0; i < provenance; i++)
        sis_audit_release(&found[i]);
    while (a->n_block > 0)
        sis_record_release(&a->block[--a->n_block]);
    return error;
}

/* Add one record to the block: 1, 0 if there is none, or an error. */
static int take_in(audit *a, size_t number) {
    sis_record r = {0};
    size_t file = a->at;
    int found = read_record(a, number, &r);
    if (found <= 0)
        return found;
    int error = file != a->at ? audit_block(a) : SIS_OK;
    int meant = error == SIS_OK ? cli_where_holds(&a->where, &r) : 1;
    error = meant < 0 ? meant : error;
    if (!meant)
        error = give(a, number, &(record_header){.not_meant = 1}, "", 0);
    else if (error == SIS_OK && r.collection.status == SIS_STATUS_ERROR)
        error = give(a, number, &(record_header){.left_out = 1}, "", 0);
    else if (error == SIS_OK) {
        a->path = a->paths->items[a->at];
        a->number[a->n_block] = number;
        a->block[a->n_block++] = r;
        r = (sis_record){0};
    }
    sis_record_release(&r);
    return error == SIS_OK ? 1 : error;
}

static int work(void *ctx, sis__queue *queue) {
    audit *a = ctx;
    size_t numbers[BLOCK], n;
    int found = 1;
    a->queue = queue;
    while (found > 0 && (n = sis__queue_next(queue, numbers, BLOCK)) > 0) {
        for (size_t i = 0; found > 0 && i < n; i++)
            found = take_in(a, numbers[i]);
        int error = found >= 0 ? audit_block(a) : found;
        found = error == SIS_OK ? found : error;
    }
    return found < 0 ? found : SIS_OK;
}

/* ---- Results --------------------------------------------------------------------------------- */

static int take_findings(void *ctx, size_t number, const void *answer, size_t n) {
    audit *a = ctx;
    record_header b;
    (void)number;
    memcpy(&b, answer, sizeof b);
    a->found.records += !b.not_meant;
    a->found.errors += (size_t)b.left_out;
    a->found.hold += (size_t)b.holds;
    a->found.others += (size_t)b.other_model;
    a->found.smaller += b.smaller;
    a->found.within_noise += b.within_noise;
    a->found.drawn += b.drawn;
    a->found.kept += b.kept;
    a->found.deviation += b.errors;
    if (!b.left_out && !b.not_meant) {
        cli_progress_erase(&a->bar);
        a->broken |= cli_output_write(&a->out, (const char *)answer + sizeof b, n - sizeof b);
    }
    if (a->n != SIZE_MAX)
        cli_progress_show(&a->bar,
                          &(sis_progress){.inputs = a->n, .inputs_done = a->found.records});
    return a->broken ? SIS_E_IO : SIS_OK;
}

static int audit_all(audit *a) {
    cli_progress_init(&a->bar, a->o->common.quiet);
    int error = sis__spread(&(sis__work){
        .n = a->n, .jobs = a->jobs, .ordered = 1, .work = work, .take = take_findings, .ctx = a});
    cli_progress_end(&a->bar);
    sis_results_close(a->file);
    while (a->n_block > 0)
        sis_record_release(&a->block[--a->n_block]);
    return a->broken ? CLI_FAILED : cli_fail(error);
}

static int conclude(const audit *a) {
    size_t audited = a->found.records - a->found.errors;
    if (a->found.records == 0 && a->o->where)
        return cli_error("--where holds of no record");
    if (audited == 0)
        return cli_error("no record can be verified: %zu records, %zu of status error",
                         a->found.records, a->found.errors);
    cli_note(a->o->common.quiet, "%zu of %zu records hold", a->found.hold, audited);
    if (a->found.within_noise)
        cli_note(a->o->common.quiet,
                 "%zu claims are contradicted by less than the noise of the scores",
                 a->found.within_noise);
    if (a->found.others && a->found.hold < audited)
        cli_note(a->o->common.quiet, "%zu of them were made with a model other than %s",
                 a->found.others, a->o->task.opt.model.spec);
    if (a->found.errors)
        cli_note(a->o->common.quiet, "%zu records of status error were left out", a->found.errors);
    if (a->found.drawn)
        cli_note(a->o->common.quiet,
                 "fresh draws: %zu of %zu subsets reach the threshold; the standard error of their "
                 "scores is %.2g on average (more --samples make it smaller)",
                 a->found.kept, a->found.drawn, a->found.deviation / (double)a->found.drawn);
    if (a->o->task.opt.answer.search.exhaustive)
        cli_note(a->o->common.quiet, "%zu subsets have a smaller sufficient subset",
                 a->found.smaller);
    return a->found.hold == audited ? CLI_DONE : CLI_FAILED;
}

static int verify_all(const verify_options *o, const cli_list *args) {
    audit a = {.o = o, .paths = args};
    sis_task_opt opt;
    cli_task_options(&o->task, &opt);
    a.jobs = opt.answer.search.jobs;
    int status = cli_outputs_check(&cli_verify, o, args); /* also outputs named in the results */
    if (status == CLI_DONE)
        status = cli_where_open(&a.where, o->where);
    if (status == CLI_DONE)
        status = cli_fail(sis_task_open(&opt, &a.task));
    if (status == CLI_DONE)
        cli_task_note(o->common.quiet, a.task);
    if (status == CLI_DONE && sis__leads())
        status = count_records(&a);
    if (status == CLI_DONE && sis__leads())
        status = cli_output_open(&a.out, o->output);
    if (status == CLI_DONE)
        status = audit_all(&a);
    status = cli_output_close(&a.out, status);
    sis_task_free(a.task);
    cli_where_release(&a.where);
    return status == CLI_DONE && sis__leads() ? conclude(&a) : status;
}

/* ---- Options from the results ---------------------------------------------------------------- */

/* The provenance of the first file, empty if it has none; the caller releases it. */
static int find_provenance(const char *path, sis_provenance *provenance) {
    sis_results *file;
    sis_record r = {0};
    int status = cli_fail(sis_results_open(path, &file));
    if (status != CLI_DONE)
        return status;
    int found = sis_results_next(file, &r);
    if (found < 0)
        status = cli_fail(found);
    else if (found > 0 && r.provenance)
        status = cli_fail(sis_provenance_parse(r.provenance, provenance));
    sis_record_release(&r);
    sis_results_close(file);
    return status;
}

/* The file that a value of --mask, --features or --with names, or NULL. An unknown form counts as a
 * file name. */
static const char *file_of(const char *value) {
    static const char *const forms[] = {
        "value:", "blur:", "token:", "axis:", "grid:", "superpixel:"};
    const char *mark = strpbrk(value, ":=");
    double number;
    int plain = !mark || (*mark == '=' && cli_number(mark + 1, &number));
    for (size_t i = 0; !plain && i < sizeof forms / sizeof *forms; i++)
        plain = strncmp(value, forms[i], strlen(forms[i])) == 0;
    if (plain && !cli_ends_in(value, ".npy"))
        return NULL;
    return mark ? mark + 1 : value;
}

/* Does the caller name that file too? */
static int is_named(const verify_options *o, const char *file) {
    const char *const own[] = {o->task.opt.examples.input, o->task.opt.model.spec,
                               o->task.opt.question.mask, o->task.opt.question.features};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        const char *name = own[i] && i >= 2 ? file_of(own[i]) : own[i];
        if (name && sis__file_same(name, file))
            return 1;
    }
    return 0;
}

/* Is this word of the recorded command accepted? CLI_DONE, or CLI_USAGE after one line. */
static int judge_word(const verify_options *o, const char *path, const char *word, int *taken) {
    size_t length = strcspn(word + 2, "=");
    const cli_option *option = cli_option_find(options, word + 2, length);
    const char *value = word[2 + length] ? word + 3 + length : "", *file = NULL;
    int given = option ? cli_option_given(&cli_verify, o, option) : 0;
    if (given < 0)
        return CLI_FAILED;
    *taken = option && !option->not_in_provenance && !given;
    if (!*taken || o->task.opt.audit.trust)
        return CLI_DONE;
    if (option->from_results == CLI_CHECKED_FROM_RESULTS)
        file = file_of(value);
    *taken = option->from_results != CLI_NOT_FROM_RESULTS && (!file || is_named(o, file));
    if (*taken || option->required)
        return CLI_DONE;
    return cli_usage("%s was made with %s, a file that only the results name; "
                     "give the option yourself, or --trust",
                     path, word);
}

/* Parse the recorded words that this command accepts, then the caller's own, which take
 * precedence. */
static int parse_words(const verify_options *o, const char *path, const sis_provenance *provenance,
                       const cli_list *own, verify_options *base) {
    char **argv = cli_grab(provenance->n_command + own->n + 1, sizeof *argv);
    cli_list args = {0};
    int n = 0, help = 0, status = argv ? CLI_DONE : CLI_FAILED;
    if (argv)
        argv[n++] = "RESULTS";
    for (size_t i = 2; status == CLI_DONE && i < provenance->n_command; i++) {
        int taken = 0;
        if (strncmp(provenance->command[i], "--", 2) == 0)
            status = judge_word(o, path, provenance->command[i], &taken);
        if (taken)
            argv[n++] = (char *)provenance->command[i];
    }
    for (size_t i = 2; argv && i < own->n; i++)
        argv[n++] = (char *)own->items[i];
    if (status == CLI_DONE)
        status = cli_parse(&cli_verify, n, argv, base, &args, &help);
    free((void *)args.items);
    free(argv);
    return status;
}

/* Print the whole recorded command. */
static void print_command(const sis_provenance *provenance) {
    for (size_t i = 0; i < provenance->n_command; i++) {
        fputc(' ', stderr);
        cli_print_word(stderr, provenance->command[i]);
    }
    fputc('\n', stderr);
}

static int lacks_source(const char *path, const sis_provenance *provenance) {
    if (!provenance->n_command)
        return cli_usage("--model MODEL and --input FILE are missing, and %s does not say how it "
                         "was made",
                         path);
    cli_usage("--model MODEL and --input FILE are missing; give them, or --trust to run what %s "
              "names:",
              path);
    print_command(provenance);
    return CLI_USAGE;
}

/* Verify with the recorded options; options given here take precedence. --trust also accepts the
 * recorded model and input. */
static int verify_as_provenance(const verify_options *o, const cli_list *args) {
    sis_provenance provenance = {0};
    cli_list none = {0}, own = {0};
    verify_options *base = cli_options_new(&cli_verify);
    int status = base ? find_provenance(args->items[0], &provenance) : CLI_FAILED;
    int has_source = o->task.opt.model.spec && o->task.opt.examples.input;
    if (status == CLI_DONE && !has_source && (!o->task.opt.audit.trust || !provenance.n_command))
        status = lacks_source(args->items[0], &provenance);
    if (status == CLI_DONE && o->task.opt.audit.trust && provenance.n_command) {
        cli_note(0, "--trust: running the command of %s:", args->items[0]);
        print_command(&provenance);
    }
    if (status == CLI_DONE)
        status = cli_words_of(&cli_verify, o, 1, &own);
    if (status == CLI_DONE)
        status = parse_words(o, args->items[0], &provenance, &own, base);
    if (status == CLI_DONE && (!base->task.opt.model.spec || !base->task.opt.examples.input))
        status = cli_usage("--model MODEL and --input FILE are missing, and %s does not name them",
                           args->items[0]);
    if (status == CLI_DONE)
        status = verify_all(base, args);
    if (base)
        cli_release(&cli_verify, base, &none);
    free(base);
    cli_words_release(&own);
    sis_provenance_release(&provenance);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const verify_options *o = (const verify_options *)p;
    if (!sis_results_once(args->items[0]))
        return verify_as_provenance(o, args);
    if (o->task.opt.model.spec && o->task.opt.examples.input)
        return verify_all(o, args);
    return cli_usage("--model MODEL and --input FILE are missing; they cannot be "
                     "taken from %s, which is a pipe",
                     args->items[0]);
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
            {"sis verify out.jsonl -m credit.onnx -i credit.csv",
             "Check every claim of out.jsonl."},
            {"sis verify out.jsonl --trust",
             "Check your own results: their first record names model and input."},
            {"sis verify out.jsonl -m 'cmd:./score.py' -i cases.csv --mask mean:old.csv",
             "Check results whose mask file is elsewhere now."},
            {"sis verify results.jsonl -m 'cmd:./score.py' -i cases.csv --mask zero --exhaustive "
             "12",
             "Also look for smaller sufficient parts of subsets of up to twelve features."},
            {0}},
    .description =
        "Checks, with full passes of the model, what sis explain checked before it wrote a "
        "record: each subset alone meets the threshold; without any one of its features it "
        "does not; subsets are disjoint; and with all subsets masked, the rest does not meet "
        "the threshold. Threshold, direction and output come from the records. Mask, "
        "features, rows, samples, seed and the options for columns and images come from the "
        "provenance in the first record, unless you give them here. Older results have no "
        "provenance: give the options that you gave to sis explain.\n\nA results file is "
        "data. Reading one, with this or any other command, runs no program, opens no "
        "address and no other file, and writes only the files that you name. So you have to "
        "give --model and --input, and also a mask, feature map or tokenizer that is a file, "
        "unless it is the file of --input. A results file can make false claims, which this "
        "command refutes. It can also choose rows, masks and columns that suit it: look at "
        "them, or give your own. --trust takes everything from the file, prints the command "
        "and runs it.\n\nWrites one line of JSON for each record: the checks, and the reason "
        "if a claim is false. Records of language models state the noise of their scores; "
        "scores may differ by twice the noise, and within_noise counts the claims that are "
        "contradicted by less. With --exhaustive, `smaller` is a smallest sufficient part of "
        "a subset, if there is a smaller one: backward selection only guarantees that no "
        "single feature can be left out. With --counterexamples, each subset of --guarantee "
        "all has for each of its features an input that has the values of the other features "
        "of the subset and loses the decision, and its score.\n\nIf the mask was drawn from "
        "data (hotdeck:FILE, rows:FILE), the claims hold for these draws. Each subset is "
        "therefore also scored with as many fresh draws: `drawn_score` is the mean, "
        "`drawn_error` its standard error. If it does not reach the threshold with fresh "
        "draws, the claim is not false, but more --samples would change the subset.\n\nThe "
        "exit status is 1 if a claim is false.",
};
