/* SPDX-License-Identifier: MIT
 *
 * sis explain: inputs and a model in, a results file out.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "explain.h"

static const cli_option options[] = {
    CLI_GROUP(cli_explain_options, source, cli_source, cli_source_options),
    {"threshold", 't', "T", CLI_STRING(cli_explain_options, threshold),
     "decision: score >= T, or percentile pNN", .required = 1,
     .more = "A percentile is taken over all examples of the input file."},
    {"below", 0, NULL, CLI_FLAG(cli_explain_options, below), "explain score <= T instead"},
    CLI_GROUP(cli_explain_options, question, cli_question, cli_output_options),
    CLI_GROUP(cli_explain_options, question, cli_question, cli_question_options),
    CLI_GROUP(cli_explain_options, method, cli_method, cli_method_options),
    {"max-subsets", 0, "N", CLI_COUNT(cli_explain_options, max_subsets), "stop after N subsets",
     .unset = "find all"},
    {"exact", 0, NULL, CLI_FLAG(cli_explain_options, exact), "full passes only, no faster walk"},
    {"early-stop", 0, NULL, CLI_FLAG(cli_explain_options, early_stop),
     "stop at the first drop below T (larger subsets)"},
    {"trace", 0, NULL, CLI_FLAG(cli_explain_options, trace), "also write the order and its scores"},
    {"output", 'o', "FILE", CLI_STRING(cli_explain_options, output), "where the records go",
     .unset = "standard output"},
    {"resume", 0, NULL, CLI_FLAG(cli_explain_options, resume), "go on with the file in --output",
     .more = "Whole records in the file are kept, a torn last line is cut off, and examples that "
             "are not in it yet are explained. Give the same options as before."},
    CLI_GROUP(cli_explain_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_explain_options *o = (cli_explain_options *)p;
    cli_source_init(&o->source);
    cli_question_init(&o->question);
    cli_method_init(&o->method);
}

const char *cli_explain_constraint(const cli_explain_options *o) {
    return cli_method_is_sis(&o->method) ? NULL : o->method.constraint;
}

/* What an example is: its kind, and what it takes to draw it. */
static void describe(const cli_task *t, size_t at, size_t shape[3], sis_record *r) {
    const sis_input *in = &t->inputs[at];
    const char *kind = t->net ? sis_net_meta_get(t->net, SIS_NET_META_KIND) : NULL;
    r->kind = kind ? kind : t->words ? "text" : sis_data_kind(t->data);
    r->label = sis_data_label(t->data, t->rows[at]);
    if (!t->pieces)
        r->shape = cli_shape(t, at, &r->rank, shape);
    if (!t->pieces) { /* numbers of pieces say nothing */
        r->values = in->values;
        r->n_values = in->n_values;
        r->feature_map = in->feature_of;
    }
    if (t->words) {
        r->words = (const char *const *)t->words[at];
        r->n_words = r->collection.n_features;
        r->human = t->human ? t->human[at] : NULL;
        r->n_human = r->human ? t->n_human[at] : 0;
        return;
    }
    if (t->by_default)
        r->human = sis_data_human(t->data, t->rows[at], &r->n_human);
    if (t->by_default)
        r->sequence = sis_data_sequence(t->data, t->rows[at]);
    r->mask = in->n_samples == 1 ? in->mask : NULL;
    r->names = (const char *const *)t->names;
    r->n_names = t->names ? t->n_features : 0;
    r->value_names = t->value_names;
}

void cli_explain_count(cli_explaining *w, const char *id, const sis_collection *c) {
    int below = w->o->below, undecided = c->status == SIS_STATUS_BELOW_THRESHOLD;
    double score = undecided ? c->score : c->masked_score;
    cli_first *first = &w->first[c->status];
    int nearer = undecided && (below ? score < first->score : score > first->score);
    if (w->counts[c->status]++ > 0 && !nearer)
        return;
    snprintf(first->id, sizeof first->id, "%s", id);
    first->score = score;
    if (c->status == SIS_STATUS_ERROR)
        snprintf(w->why, sizeof w->why, "%s", c->message ? c->message : "the model failed");
}

/* Examples that failed are in the file; why the status is 1 is said even with --quiet. */
static int tell_errors(const cli_explaining *w) {
    size_t n = w->counts[SIS_STATUS_ERROR];
    const char *id = w->first[SIS_STATUS_ERROR].id;
    return n == 0   ? CLI_DONE
           : n == 1 ? cli_error("example \"%s\": %s", id, w->why)
                    : cli_error("%zu examples failed; the first is \"%s\": %s", n, id, w->why);
}

/* What was found for input `at` of the task -> a line in the file. */
static int write_record(cli_explaining *w, size_t at, const sis_rationale *found) {
    const cli_task *t = w->task;
    const sis_collection *c = &found->collection;
    const double pair[] = {found->sum, found->difference};
    size_t n, shape[3];
    char label[256], *line;
    sis_record r = {.id = t->ids[at],
                    .model = w->o->source.model,
                    .method = w->o->method.name,
                    .constraint = cli_explain_constraint(w->o),
                    .output = t->inputs[at].output,
                    .n_outputs = t->model.n_outputs,
                    .below = w->o->below,
                    .threshold = w->threshold,
                    .collection = *c,
                    .attributions = found->attributions,
                    .n_attributions = found->attributions ? c->n_features : 0,
                    .completeness = isnan(found->difference) ? NULL : pair};
    if (t->net && sis_net_label(t->net, r.output, label, sizeof label) == SIS_OK)
        r.output_label = label;
    describe(t, at, shape, &r);
    cli_explain_count(w, r.id, c);
    int error = sis_record_format(&r, w->o->trace, &line, &n);
    if (error)
        return error;
    cli_progress_erase(&w->bar);
    w->broken |= cli_output_write(&w->out, line, n) != CLI_DONE;
    free(line);
    return w->broken ? SIS_E_IO : SIS_OK;
}

/* Records of the examples up to `last` that could not be asked about. */
static int write_excused(cli_explaining *w, size_t last) {
    int error = SIS_OK;
    for (; error == SIS_OK && w->next < w->n_todo && w->todo[w->next] <= last; w->next++) {
        const char *excuse = cli_task_excuse(w->task, w->todo[w->next]);
        sis_rationale none = {.collection = {.status = SIS_STATUS_ERROR,
                                             .score = NAN,
                                             .masked_score = NAN,
                                             .message = (char *)excuse},
                              .sum = NAN,
                              .difference = NAN};
        if (excuse)
            error = write_record(w, w->todo[w->next], &none);
    }
    return error;
}

static int write_rationale(void *ctx, size_t i, const sis_rationale *found) {
    cli_explaining *w = ctx;
    int error = write_excused(w, w->asked[i]);
    return error ? error : write_record(w, w->asked[i], found);
}

/* Which inputs are to be done, and the file they go to. */
static int begin_output(cli_explaining *w) {
    long long keep = -1;
    int status = CLI_DONE;
    for (size_t i = 0; i < w->task->n; i++)
        w->todo[i] = i;
    w->n_todo = w->task->n;
    if (w->o->resume)
        status = cli_explain_resume(w, &keep);
    return status == CLI_DONE ? cli_output_open(&w->out, w->o->output, keep) : status;
}

static void fill_options(cli_explaining *w, sis_opt *opt) {
    const cli_explain_options *o = w->o;
    sis_opt_init(opt);
    opt->threshold = w->threshold;
    opt->below = o->below;
    opt->max_subsets = o->max_subsets;
    opt->exact = o->exact;
    opt->early_stop = o->early_stop;
    opt->jobs = (int)o->source.jobs;
    opt->memory = o->question.memory << 20;
    opt->progress = cli_progress_show;
    opt->progress_ctx = &w->bar;
}

/* A collection as a rationale, to whom it is for. */
typedef struct {
    int (*done)(void *ctx, size_t i, const sis_rationale *found);
    void *ctx;
} receiver;

static int hand_over(void *ctx, size_t i, const sis_collection *c) {
    const receiver *to = ctx;
    return to->done(to->ctx, i, &(sis_rationale){.collection = *c, .sum = NAN, .difference = NAN});
}

int cli_explain_inputs(cli_explaining *w, const size_t *which, size_t n,
                       int (*done)(void *ctx, size_t i, const sis_rationale *found), void *ctx) {
    const cli_explain_options *o = w->o;
    const sis_model *model = &w->task->model;
    cli_plan plan = {0};
    sis_opt opt;
    sis_input *inputs = cli_grab(n, sizeof *inputs);
    int error = 0, is_sis = cli_method_is_sis(&o->method);
    int status = inputs ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; inputs && i < n; i++)
        inputs[i] = w->task->inputs[which[i]];
    if (status == CLI_DONE && !is_sis)
        status = cli_method_plan(&o->method, w->task, &o->question, which, n, &plan);
    for (size_t i = 0; plan.how && i < n; i++)
        plan.how[i].trace = o->trace;
    if (status == CLI_DONE) {
        fill_options(w, &opt);
        cli_progress_init(&w->bar, o->common.quiet);
        error = is_sis ? sis_collect_many(model, inputs, n, &opt, hand_over, &(receiver){done, ctx})
                       : sis_explain_many(model, inputs, n, &opt, plan.how, done, ctx);
        cli_progress_end(&w->bar);
        status = w->broken ? CLI_FAILED : cli_fail(error);
    }
    cli_method_release(&plan);
    free(inputs);
    return status;
}

static int explain(cli_explaining *w) {
    for (size_t i = 0; i < w->n_todo; i++)
        if (!cli_task_excuse(w->task, w->todo[i]))
            w->asked[w->n_asked++] = w->todo[i];
    int status = cli_explain_inputs(w, w->asked, w->n_asked, write_rationale, w);
    if (status != CLI_DONE)
        return status;
    int error = write_excused(w, SIZE_MAX);
    return w->broken ? CLI_FAILED : cli_fail(error);
}

/* Why nothing was explained, and what would be. */
static void remark(const cli_explaining *w) {
    const cli_explain_options *o = w->o;
    const char *sign = o->below ? "<=" : ">=";
    double nearest = w->first[SIS_STATUS_BELOW_THRESHOLD].score, t = w->threshold;
    if (w->counts[SIS_STATUS_BELOW_THRESHOLD] > 0 && w->counts[SIS_STATUS_DEFAULT_DECISION] == 0) {
        char share[96] = "";
        if (t > 1 && t <= 100 && nearest >= 0 && nearest <= 1 && !o->below)
            snprintf(share, sizeof share, "; for %g per cent write %g, for a percentile p%g", t,
                     t / 100, t);
        cli_note(o->common.quiet, "no score is %s %g: the %s is %.6g, of example %s%s", sign, t,
                 o->below ? "lowest" : "highest", nearest, w->first[SIS_STATUS_BELOW_THRESHOLD].id,
                 share);
    }
    if (w->counts[SIS_STATUS_DEFAULT_DECISION] > 0)
        cli_note(o->common.quiet,
                 "with everything masked the score is %.4g, already %s %g (example %s): take "
                 "another --threshold or --mask",
                 w->first[SIS_STATUS_DEFAULT_DECISION].score, sign, t,
                 w->first[SIS_STATUS_DEFAULT_DECISION].id);
}

/* What there is now, and how to read it. */
static void conclude(const cli_explaining *w) {
    const cli_explain_options *o = w->o;
    cli_note(o->common.quiet,
             "%zu explained, %zu %s the threshold, %zu default decisions, %zu errors",
             w->counts[SIS_STATUS_EXPLAINED], w->counts[SIS_STATUS_BELOW_THRESHOLD],
             o->below ? "above" : "below", w->counts[SIS_STATUS_DEFAULT_DECISION],
             w->counts[SIS_STATUS_ERROR]);
    if (w->counts[SIS_STATUS_EXPLAINED] == 0 && !o->resume)
        remark(w);
    if (!o->output && isatty(STDOUT_FILENO))
        cli_note(o->common.quiet, "to read records, put | sis show - behind the command, or write "
                                  "them to a file with --output");
}

static int run(const void *p, const cli_list *args) {
    const cli_explain_options *o = (const cli_explain_options *)p;
    (void)args;
    if (o->resume && !o->output)
        return cli_usage("--resume goes on with a file: name it with --output");
    if (o->early_stop && !cli_method_is_sis(&o->method))
        return cli_usage("--early-stop is for --method sis");
    cli_task task = {0};
    cli_explaining w = {.o = o, .task = &task};
    int status = cli_method_check(&o->method, &o->question, o->max_subsets);
    if (status == CLI_DONE)
        status = cli_task_spares(&o->source, &o->question, o->output);
    if (status == CLI_DONE)
        status = cli_output_spares(o->output, o->method.lengths);
    if (status == CLI_DONE)
        status = cli_output_spares(o->output, o->method.orders);
    if (status == CLI_DONE)
        status = cli_task_open(&task, &o->source);
    if (status == CLI_DONE)
        status = cli_task_ask(&task, &o->source, &o->question);
    if (status == CLI_DONE)
        status = cli_task_threshold(&task, o->threshold, &o->source, &o->question, &w.threshold);
    if (status == CLI_DONE) {
        w.todo = cli_grab(task.n, sizeof *w.todo);
        w.asked = cli_grab(task.n, sizeof *w.asked);
        status = w.todo && w.asked ? begin_output(&w) : CLI_FAILED;
    }
    if (status == CLI_DONE) {
        status = explain(&w);
        int closed = cli_output_close(&w.out);
        status = status == CLI_DONE ? closed : status;
        if (status == CLI_DONE)
            conclude(&w);
    }
    if (status == CLI_DONE)
        status = tell_errors(&w);
    free(w.todo);
    free(w.asked);
    cli_task_close(&task);
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
             "Explain what digits.py makes of the first hundred digits, each for the output it "
             "chooses itself."},
            {"sis explain -m 'cmd:./dna.py' -i dna.npy --features axis:1 --mask uniform -t p90 "
             "-o dna.jsonl --resume",
             "One-hot bases as features, the highest tenth of the scores as the decision; go on "
             "where a run was interrupted."},
            {"sis explain -m imdb.onnx -i reviews.txt -t 0.85 --method ig -o ig.jsonl",
             "The same decisions by integrated gradients, for comparison."},
            {0}},
    .description =
        "For each example whose score reaches the threshold, sis explain finds disjoint minimal "
        "sets of features that are enough for the same decision when everything else is masked: "
        "masking any further feature of a set loses the decision, and masking all sets together "
        "does too. Every set is checked by full passes of the model before it is reported.\n\n"
        "Results are JSON Lines, one record an example, each written whole. Status explained comes "
        "with subsets, most important feature first; below_threshold means that the example itself "
        "does not reach the threshold; default_decision, that even the fully masked input reaches "
        "it, so no part of the example is responsible; error, that the model answered NaN, or that "
        "a text has no word.\n\n"
        "Other methods (--method) write one rationale an example into the same kind of file, with "
        "their attributions and whether the rationale is sufficient; docs/methods.md says how each "
        "works.\n\n"
        "The exit status is 1 if any record is an error. A model that fails otherwise ends the "
        "run; what was written before is kept, and --resume goes on from there.",
};
