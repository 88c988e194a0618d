/* SPDX-License-Identifier: MIT
 *
 * sis explain: explains the decisions of a model and writes a results file.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/example.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "explain.h"
#include "shard.h"

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_SOURCES(cli_explain_options, CLI_GROUP, cli_source_options),
    CLI_HEADING("Question"),
    {"threshold", 't', "T", CLI_STRING(cli_explain_options, task.opt.question.threshold),
     "decision: score >= T, or percentile pNN",
     .more = "A percentile refers to the scores of all examples of the input. Required, except "
             "with --keep class."},
    {"below", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.answer.search.below),
     "explain score <= T instead"},
    CLI_GROUP(cli_explain_options, task, cli_task_opt, cli_output_options),
    {"keep", 0, "K", CLI_CHOICE(cli_explain_options, task.opt.question.keep), "decision to keep",
     .choices = "score class",
     .more = "score: the score meets the threshold. class: no other output becomes higher than "
             "the explained one; there is no threshold, and scores are the lead of its margin "
             "over the next. If the model has one output and it is a probability, class means "
             "that the score stays on its side of 0.5."},
    CLI_GROUP(cli_explain_options, task, cli_task_opt, cli_question_options),
    CLI_HEADING("Method"),
    CLI_GROUP(cli_explain_options, task, cli_task_opt, cli_method_options),
    {"exact", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.answer.search.exact),
     "use full passes only, no walks", .rare = 1},
    {"early-stop", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.answer.search.early_stop),
     "stop at the first drop below T (larger subsets)", .rare = 1},
    CLI_HEADING("Guarantee"),
    {"guarantee", 0, "G", CLI_STRING(cli_explain_options, task.opt.question.guarantee),
     "sufficient for: mask, chance:P, all",
     .more = "mask: a subset is sufficient with everything else masked. chance:P: it is "
             "sufficient for at least a share P of the values of everything else, drawn from data "
             "(--mask hotdeck:FILE). Fresh draws and an exact interval at --confidence confirm "
             "it; --samples is the number of draws for each example (2000). all: it is sufficient "
             "for all values of everything else within --domain. This is proved, and an adversary "
             "tries to refute it before it is reported; it needs no mask. all is for XGBoost and "
             "LightGBM models, tree ensembles in ONNX files (with several classes: --keep class), "
             "linear models, and networks of dense layers, convolutions, pools, sums and ReLU."},
    {"domain", 0, "D", CLI_STRING(cli_explain_options, task.opt.question.domain),
     "for --guarantee all: any, data:FILE, ball:E[,LOW:HIGH]", .unset = "any",
     .more = "The values that the other features may have. any: any number. data:FILE: from the "
             "minimum to the maximum of each column of a data set; missing if values are missing "
             "there. ball:E: at most E from the value in the input. ball:E,LOW:HIGH: the same, "
             "between LOW and HIGH; 0:1 for most images."},
    {"units", 0, "NAME=U,...", CLI_STRING(cli_explain_options, task.opt.question.units),
     "for --method contrast: columns that change by whole units; distances count units",
     .unset = "standard deviations in the data",
     .more = "For trees, a contrast is the nearest change of its features. Its distance is the "
             "sum of the changes. Each change is divided by its unit, or by the standard "
             "deviation of the column in the data of --domain, else in the input; another "
             "category counts 1. Columns of whole numbers stay whole numbers where possible.",
     .rare = 1},
    {"fixed", 0, "NAME,...", CLI_STRING(cli_explain_options, task.opt.question.fixed),
     "for --method contrast: columns that never change", .rare = 1},
    {"cheapest", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.question.cheapest),
     "for --method contrast: find the smallest distance, not the fewest features", .rare = 1},
    {"smallest", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.question.smallest),
     "for --guarantee all: find the fewest features",
     .more = "A minimal subset need not be a smallest one. With --max-subsets, the next smallest "
             "ones follow; they may overlap."},
    {"confidence", 0, "C", CLI_NUMBER(cli_explain_options, task.opt.question.confidence),
     "for --guarantee chance: confidence level", .min = 0.5, .max = 0.999999, .rare = 1},
    CLI_HEADING("Limits"),
    {"max-subsets", 0, "N", CLI_COUNT(cli_explain_options, task.opt.answer.search.max_subsets),
     "stop after N subsets", .unset = "find all",
     .more = "Without this option, --method contrast and --smallest find one."},
    {"time-limit", 0, "S", CLI_NUMBER(cli_explain_options, task.opt.answer.search.time_limit),
     "seconds for one example, 0 for no limit", .max = 1e9, .not_in_provenance = 1,
     .more = "An example that takes longer becomes a record of status cut, with "
             "the subsets found so far. --resume continues it."},
    {"max-evaluations", 0, "N",
     CLI_COUNT(cli_explain_options, task.opt.answer.search.max_evaluations),
     "evaluations for one example", .unset = "no limit", .not_in_provenance = 1,
     .more = "Like --time-limit, but independent of the speed of the machine."},
    {"time-limit-total", 0, "S", CLI_NUMBER(cli_explain_options, time_limit_total),
     "seconds for the whole run, 0 for no limit", .max = 1e9, .not_in_provenance = 1,
     .more = "If the time is not enough, the run ends with exit status 1 and "
             "--resume continues it. Use less time than the batch system allows."},
    {"keep-going", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.answer.keep_going),
     "continue with the next example if the model fails", .not_in_provenance = 1,
     .more = "The example becomes a record of status error. --resume tries it again."},
    CLI_SHARD(cli_explain_options, shard),
    CLI_HEADING("Output"),
    {"output", 'o', "FILE", CLI_STRING(cli_explain_options, output), "file for the records",
     .writes = CLI_WRITES_FILE, .unset = "standard output", .not_in_provenance = 1},
    CLI_FORCE(cli_explain_options, force),
    {"resume", 0, NULL, CLI_FLAG(cli_explain_options, resume),
     "continue the run in the file of --output", .not_in_provenance = 1,
     .more = "Complete records in the file are kept, and an incomplete last line is removed. "
             "Examples that are missing, were cut or failed are explained. Give the same options "
             "as before."},
    {"dry-run", 0, NULL, CLI_FLAG(cli_explain_options, dry_run),
     "language models: only estimate the cost", .rare = 1, .not_in_provenance = 1,
     .more = "The model gets one short question, to find out what its server supports."},
    {"trace", 0, NULL, CLI_FLAG(cli_explain_options, task.opt.answer.trace),
     "also write the order of removal and its scores"},
    CLI_GROUP(cli_explain_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_explain_options *o = (cli_explain_options *)p;
    cli_task_opt_init(&o->task);
    o->task.opt.question.keep = "score";
    o->task.opt.question.guarantee = "mask";
}

static int keeps_class(const cli_explain_options *o) {
    return strcmp(o->task.opt.question.keep, "class") == 0;
}

static void count_record(cli_explaining *w, const char *id, const sis_collection *c) {
    int below = w->o->task.opt.answer.search.below, undecided = c->status == SIS_STATUS_NOT_DECIDED;
    double score = undecided ? c->score : c->masked_score;
    cli_first *first = &w->found.first[c->status];
    int nearer = undecided && (below ? score < first->score : score > first->score);
    if (w->found.counts[c->status]++ > 0 && !nearer)
        return;
    snprintf(first->id, sizeof first->id, "%s", id);
    first->score = score;
    if (c->status == SIS_STATUS_ERROR)
        snprintf(w->found.why, sizeof w->found.why, "%s",
                 c->message ? c->message : "the model failed");
}

/* Report failed examples, which are in the file. Not silenced by --quiet: they make the status
 * 1. */
static int tell_errors(const cli_explaining *w) {
    size_t n = w->found.counts[SIS_STATUS_ERROR];
    const char *id = w->found.first[SIS_STATUS_ERROR].id;
    return n == 0 ? CLI_DONE
           : n == 1
               ? cli_error("example \"%s\": %s", id, w->found.why)
               : cli_error("%zu examples failed; the first is \"%s\": %s", n, id, w->found.why);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Format a record; the first one carries the provenance. `line`: the record already formatted
 * without provenance, which is appended as the last field; or NULL. */
static int format_record(const cli_explaining *w, sis_record *r, int first, const char *line,
                         char **out, size_t *n) {
    const char *none = r->provenance;
    sis__buf b;
    if (line) {
        sis__buf_init(&b);
        sis__buf_add(&b, line, *n - 2); /* without "}\n" */
        sis__buf_printf(&b, ",\"provenance\":%s}\n", w->provenance);
        return sis__buf_give(&b, out, n);
    }
    r->provenance = first ? w->provenance : none;
    int error = sis_record_format(r, w->o->task.opt.answer.trace, out, n);
    r->provenance = none;
    return error;
}

/* Count a record and write it to the file; the first one carries the provenance. `line`: the record
 * already formatted, n bytes; or NULL. */
static int take_record(cli_explaining *w, size_t i, sis_record *r, const char *line, size_t n) {
    char number[SIS_ID_SIZE], *own = NULL;
    sis_line place = {.row = sis_task_row(w->task, i),
                      .at = w->bytes,
                      .first = w->provenance && w->n_written == 0};
    int status = CLI_DONE;
    w->out_of_order |= w->n_written > 0 && i < w->last;
    w->last = i;
    count_record(w, sis_task_id(w->task, i, number), &r->collection);
    if (place.first || !line)
        status = cli_fail(format_record(w, r, place.first, line, &own, &n));
    cli_progress_erase(&w->bar);
    if (status == CLI_DONE)
        status = cli_output_write(&w->out, own ? own : line, n);
    free(own);
    place.length = n;
    w->bytes += (long long)n;
    w->n_written++;
    if (status == CLI_DONE && w->provenance &&
        sis__processes_now) /* this run writes the whole file */
        status = cli_fail(sis_lines_note(&w->lines, &place));
    w->broken |= status != CLI_DONE;
    return w->broken ? SIS_E_IO : SIS_OK;
}

/* Explain all examples in this process. */
static int explain_here(cli_explaining *w) {
    sis_record r;
    int got = sis_task_choose(w->task, w->todo, w->n_todo);
    for (size_t k = 0; got == SIS_OK && (got = sis_task_next(w->task, &r)) == 1; k++)
        got = take_record(w, w->todo[k], &r, NULL, 0);
    return got;
}

/* ---- Many processes -------------------------------------------------------------------------- */

/* Worker thread: sends each record as a formatted line. */
static int answer_lines(void *ctx, size_t k, int worker) {
    cli_explaining *w = ctx;
    sis_record r;
    size_t i, n;
    (void)k, (void)worker;
    while (sis__queue_next(w->queue, &i, 1) > 0) {
        char *line = NULL;
        int error = sis_task_explain(w->task, i, &r);
        if (error == SIS_OK)
            error = sis_record_format(&r, w->o->task.opt.answer.trace, &line, &n);
        if (error == SIS_OK)
            error = sis__queue_answer(w->queue, i, line, n);
        free(line);
        if (error != SIS_OK) {
            sis__queue_close(w->queue);
            return error;
        }
    }
    return SIS_OK;
}

static int work(void *ctx, sis__queue *queue) {
    cli_explaining *w = ctx;
    w->queue = queue;
    int jobs = w->jobs > 0 ? w->jobs : sis__cores();
    return sis__parallel(jobs, (size_t)jobs, answer_lines, w);
}

static int take_line(void *ctx, size_t i, const void *line, size_t n) {
    sis_record r;
    int error = sis_record_parse(line, n, &r);
    if (error == SIS_OK)
        error = take_record(ctx, i, &r, line, n);
    sis_record_release(&r);
    return error;
}

static void cancel(void *ctx) {
    sis_task_cancel(((cli_explaining *)ctx)->task);
}

/* The provenance for the first record; free(*provenance). */
static int find_provenance(const cli_explaining *w, char **provenance) {
    cli_list words = {0};
    int status = cli_words_of(&cli_explain, w->o, 0, &words);
    if (status == CLI_DONE)
        status = cli_fail(sis_task_provenance(w->task, words.items, words.n, provenance));
    cli_words_release(&words);
    return status;
}

static void count_kept(void *ctx, const sis_record *r) {
    count_record(ctx, r->id, &r->collection);
}

/* Skip the examples that an earlier run has explained. */
static int resume(cli_explaining *w, char **provenance, size_t *keep) {
    sis_task_earlier old;
    int status = cli_fail(sis_task_resume(w->task, w->o->output, *provenance, count_kept, w, &old));
    if (status != CLI_DONE)
        return status;
    if (old.n)
        cli_note(w->o->common.quiet, "%zu of %zu examples are in %s already", old.n_done, w->n_todo,
                 w->o->output);
    free(w->todo);
    w->todo = old.todo;
    w->n_todo = old.n_todo;
    w->out_of_order |= old.out_of_order;
    *keep = old.bytes;
    if (old.bytes > 0 && old.other_rows)
        w->new_provenance = *provenance;
    else if (old.bytes > 0)
        free(*provenance);
    *provenance = old.bytes > 0 ? NULL : *provenance;
    return CLI_DONE;
}

/* Choose the examples and open the output. The file is locked before it is read. */
static int begin_output(cli_explaining *w) {
    size_t keep = 0;
    int status = cli_output_append(&w->out, w->o->output);
    w->n_todo = sis_task_count(w->task);
    w->todo = cli_grab(w->n_todo, sizeof *w->todo);
    if (!w->todo)
        return CLI_FAILED;
    for (size_t i = 0; i < w->n_todo; i++)
        w->todo[i] = i;
    if (status == CLI_DONE)
        status = find_provenance(w, &w->provenance);
    if (status == CLI_DONE && w->o->resume)
        status = resume(w, &w->provenance, &keep);
    return status == CLI_DONE ? cli_output_cut(&w->out, keep) : status;
}

static int is_late(cli_explaining *w) {
    w->late = w->deadline > 0 && sis__seconds() >= w->deadline;
    return w->late;
}

/* Show progress and check the time limit. With several processes only the first does both. */
static int watch(void *ctx, const sis_progress *progress) {
    cli_explaining *w = ctx;
    if (sis__processes_now)
        return 0;
    cli_progress_show(&w->bar, progress);
    return is_late(w);
}

static int watch_all(void *ctx) {
    cli_explaining *w = ctx;
    cli_progress_show(&w->bar, &(sis_progress){.inputs = w->n_todo, .inputs_done = w->n_written});
    return is_late(w);
}

static void fill_options(cli_explaining *w, sis_task_opt *opt) {
    const cli_explain_options *o = w->o;
    cli_task_options(&o->task, opt);
    opt->answer.search.progress = watch;
    opt->answer.search.progress_ctx = w;
    w->deadline = o->time_limit_total > 0 ? sis__seconds() + o->time_limit_total : 0;
}

/* Explain all examples with many processes. */
static int explain_there(cli_explaining *w) {
    return sis__spread(&(sis__work){.which = w->todo,
                                    .n = w->n_todo,
                                    .jobs = w->jobs,
                                    .ordered = !w->out.path,
                                    .work = work,
                                    .take = take_line,
                                    .tick = watch_all,
                                    .cancel = cancel,
                                    .ctx = w});
}

static int explain_all(cli_explaining *w) {
    cli_progress_init(&w->bar, w->o->common.quiet);
    int error = sis__processes_now ? explain_there(w) : explain_here(w);
    cli_progress_end(&w->bar);
    if (w->late && error == SIS_E_CANCELLED)
        return cli_error("--time-limit-total: the run has reached its time limit");
    return w->broken ? CLI_FAILED : cli_fail(error);
}

/* A mask, and the option that sets it. */
typedef struct {
    const char *words, *option;
} outsider;

static const outsider *outside(const cli_explain_options *o) {
    static const outsider masked = {"masked", "--mask"}, drawn = {"drawn anew", "--mask"},
                          changed = {"changed", "--domain"};
    return strncmp(o->task.opt.question.guarantee, "chance", 6) == 0 ? &drawn
           : strcmp(o->task.opt.question.guarantee, "all") == 0 ||
                   strcmp(o->task.opt.answer.method, "contrast") == 0
               ? &changed
               : &masked;
}

/* The same for kept classes, which have no threshold. */
static void remark_class(const cli_explaining *w) {
    const cli_first *behind = &w->found.first[SIS_STATUS_NOT_DECIDED];
    const cli_first *ahead = &w->found.first[SIS_STATUS_DEFAULT_DECISION];
    int quiet = w->o->common.quiet;
    if (w->found.counts[SIS_STATUS_DEFAULT_DECISION] > 0 && sis_task_model(w->task)->n_outputs == 1)
        cli_note(quiet,
                 "with everything %s, example %s is already on the same side "
                 "of %g: use another %s",
                 outside(w->o)->words, ahead->id, sis_task_threshold(w->task),
                 outside(w->o)->option);
    else if (w->found.counts[SIS_STATUS_DEFAULT_DECISION] > 0)
        cli_note(quiet,
                 "with everything %s, the output is already the highest, by "
                 "%.4g (example %s): use another %s or another --target",
                 outside(w->o)->words, ahead->score, ahead->id, outside(w->o)->option);
    else if (w->found.counts[SIS_STATUS_NOT_DECIDED] > 0)
        cli_note(quiet,
                 "the output is the highest in no example; at best it is %.4g "
                 "below the highest, in example %s: use another --target",
                 -behind->score, behind->id);
}

/* Tell why nothing was explained, and which options would help. */
static void remark(const cli_explaining *w) {
    const cli_explain_options *o = w->o;
    if (keeps_class(o)) {
        remark_class(w);
        return;
    }
    const char *sign = o->task.opt.answer.search.below ? "<=" : ">=";
    double nearest = w->found.first[SIS_STATUS_NOT_DECIDED].score;
    double t = sis_task_threshold(w->task);
    if (w->found.counts[SIS_STATUS_NOT_DECIDED] > 0 &&
        w->found.counts[SIS_STATUS_DEFAULT_DECISION] == 0) {
        char share[96] = "";
        if (t > 1 && t <= 100 && nearest >= 0 && nearest <= 1 && !o->task.opt.answer.search.below)
            snprintf(share, sizeof share, "; for %g per cent write %g, for a percentile p%g", t,
                     t / 100, t);
        cli_note(o->common.quiet, "no score is %s %g: the %s is %.6g, of example %s%s", sign, t,
                 o->task.opt.answer.search.below ? "lowest" : "highest", nearest,
                 w->found.first[SIS_STATUS_NOT_DECIDED].id, share);
    }
    if (w->found.counts[SIS_STATUS_DEFAULT_DECISION] > 0)
        cli_note(o->common.quiet,
                 "with everything %s, the score is %.4g, already %s %g "
                 "(example %s): use another --threshold or %s",
                 outside(o)->words, w->found.first[SIS_STATUS_DEFAULT_DECISION].score, sign, t,
                 w->found.first[SIS_STATUS_DEFAULT_DECISION].id, outside(o)->option);
}

/* Print the number of records and how to read them. */
static void conclude(const cli_explaining *w) {
    const cli_explain_options *o = w->o;
    char cut[64] = "";
    if (w->found.counts[SIS_STATUS_CUT])
        snprintf(cut, sizeof cut, ", %zu cut short (--resume takes them up again)",
                 w->found.counts[SIS_STATUS_CUT]);
    cli_note(o->common.quiet, "%zu explained, %zu not decided, %zu default decisions, %zu errors%s",
             w->found.counts[SIS_STATUS_EXPLAINED], w->found.counts[SIS_STATUS_NOT_DECIDED],
             w->found.counts[SIS_STATUS_DEFAULT_DECISION], w->found.counts[SIS_STATUS_ERROR], cut);
    if (w->found.counts[SIS_STATUS_EXPLAINED] + w->found.counts[SIS_STATUS_CUT] == 0 && !o->resume)
        remark(w);
    if (!o->output && isatty(STDOUT_FILENO))
        cli_note(o->common.quiet, "to read records, append \"| sis show -\" to the command, or "
                                  "write them to a file with --output");
}

/* Explain all examples and write their records. */
static int explain(cli_explaining *w) {
    int status = begin_output(w);
    if (status != CLI_DONE)
        return cli_output_close(&w->out, status);
    cli_interrupt_names(w->o->output);
    status = explain_all(w);
    if (status == CLI_FAILED && w->o->output && !w->broken)
        cli_note(0, "the records found so far are in %s; use --resume to continue", w->o->output);
    if (status == CLI_DONE && (w->out_of_order || w->new_provenance))
        status =
            cli_fail(w->lines.n ? sis_lines_sort_in_place(&w->lines, w->o->output, w->provenance)
                                : sis_lines_sort_file(w->o->output, w->new_provenance));
    status = cli_output_close(&w->out, status); /* after sorting: closing releases the lock */
    cli_interrupt_names(NULL);
    if (status == CLI_DONE)
        conclude(w);
    return status == CLI_DONE ? tell_errors(w) : status;
}

/* Explain what another process hands out. */
static int serve(cli_explaining *w) {
    w->n_todo = sis_task_count(w->task);
    return explain_all(w);
}

/* Estimate the cost of a language model. */
static int estimate(const cli_explaining *w) {
    sis_task_cost c;
    int status = cli_fail(sis_task_estimate(w->task, &c));
    if (status == CLI_DONE)
        printf(
            "%zu example%s, %zu features: about %.0f prompts, %.3g M tokens; --method quick: about "
            "%.0f prompts, %.3g M tokens\n",
            c.examples, c.examples == 1 ? "" : "s", c.features, c.prompts, c.tokens / 1e6,
            c.quick_prompts, c.quick_tokens / 1e6);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const cli_explain_options *o = (const cli_explain_options *)p;
    cli_explaining w = {.o = o};
    sis_task_opt opt;
    (void)args;
    int own_threshold = o->task.opt.examples.prompt &&
                        !(o->task.open.opt.score && strcmp(o->task.open.opt.score, "logprob") == 0);
    if (!o->task.opt.question.threshold && !keeps_class(o) && !own_threshold)
        return cli_usage("--threshold T is missing: the decision is score >= T; T is "
                         "a number or a percentile pNN (a language model needs --prompt FILE)");
    if (o->resume && !o->output)
        return cli_usage("--resume needs --output: the file to continue");
    fill_options(&w, &opt);
    w.jobs = opt.answer.search.jobs;
    int status = cli_shard_find(o->shard, &opt.examples.shard, &opt.examples.shards);
    if (status == CLI_DONE)
        status = cli_fail(sis_task_open(&opt, &w.task));
    if (status == CLI_DONE)
        cli_task_note(o->common.quiet, w.task);
    if (status == CLI_DONE && strcmp(o->task.opt.answer.method, "quick") == 0 &&
        sis_task_model(w.task)->walk_new)
        cli_note(o->common.quiet, "--method quick saves questions, not always time: sis walks this "
                                  "model itself, so --method sis may be faster");
    if (status == CLI_DONE)
        status = o->dry_run ? estimate(&w) : sis__leads() ? explain(&w) : serve(&w);
    free(w.todo);
    free(w.provenance);
    free(w.new_provenance);
    sis_lines_release(&w.lines);
    sis_task_free(w.task);
    return status;
}

const cli_command cli_explain = {
    .name = "explain",
    .summary = "find the sufficient input subsets of decisions",
    .options = options,
    .options_size = sizeof(cli_explain_options),
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis explain -m 'cmd:./score.py' -i cases.csv --mask mean:train.csv -t 0.8",
             "Explain every case that the program score.py gives a score of 0.8 or more."},
            {"sis explain -m 'cmd:./digits.py' -i digits.npy --mask zero -t 0.7 --rows 0:100 "
             "-o digits.jsonl",
             "Explain the first hundred digits, each for the output with the highest score."},
            {"sis explain -m 'cmd:./dna.py' -i dna.npy --features axis:1 --mask uniform -t p90 "
             "-o dna.jsonl --resume",
             "Bases are features, the decision is the highest tenth of the scores; continue an "
             "interrupted run."},
            {"sis explain -m imdb.onnx -i reviews.txt -t 0.85 --method ig -o ig.jsonl",
             "The same decisions by integrated gradients, for comparison."},
            {0}},
    .description =
        "For each example whose score meets the threshold, sis explain finds disjoint "
        "minimal sets of features that are enough for the same decision with everything else "
        "masked. Without any one of its features a set loses the decision, and with all sets "
        "masked the rest does not have it. Full passes of the model check every set before "
        "it is reported.\n\nResults are JSON Lines, one record for each example. The status "
        "of a record is\n\nexplained: with subsets, most important feature first.\n\n"
        "not_decided: the score does not meet the threshold (>=, or <= with --below), or "
        "with --keep class another output is higher.\n\ndefault_decision: even the fully "
        "masked input meets the threshold, so no part of the example is responsible.\n\n"
        "error: the model answered NaN, or differently when it was asked again, or a text "
        "has no words.\n\ncut: --time-limit or --max-evaluations was reached. The record has "
        "the subsets found so far and, as `bound`, a set that is sufficient but not "
        "minimal.\n\nOther methods (--method) write one rationale for each example into the "
        "same kind of file, with attributions and whether the rationale is sufficient. "
        "docs/methods.md describes them.\n\nThe exit status is 1 if a record is an error. "
        "Any other failure of the model ends the run; the records written so far are kept, "
        "and --resume continues the run.",
};
