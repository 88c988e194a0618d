/* SPDX-License-Identifier: MIT
 *
 * sis evaluate: compares explanations of the same decisions by several methods.
 */
#include "evaluate.h"

#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/spread.h"

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_SOURCES(eval_options, CLI_OPTIONAL_GROUP, cli_source_options),
    CLI_WHERE(eval_options, where),
    CLI_HEADING("Question"),
    CLI_GROUP(eval_options, task, cli_task_opt, cli_output_options),
    CLI_GROUP(eval_options, task, cli_task_opt, cli_question_options),
    CLI_HEADING("Measures"),
    {"first", 0, NULL, CLI_FLAG(eval_options, how.first), "only the first subset of each example",
     .more = "Methods other than sis give one rationale for each example. With --first, sis has "
             "as many."},
    {"human", 0, NULL, CLI_FLAG(eval_options, how.human), "agreement with what people marked",
     .more = "For records with the field human: the share of each rationale that people marked. "
             "With a model also the quality of the human selection (QHS), that is, the score of "
             "the marked features alone minus the score of the whole input, and Pearson's "
             "correlation of the two."},
    {"motif", 0, "FILE[:ID]", CLI_STRING(eval_options, how.motif),
     "divergence of DNA rationales from a motif",
     .more =
         "A file of motifs (JASPAR, MEME) and, if it holds several, the id or name of one. "
         "Each rationale, with N for all other bases, is aligned with the motif at the most "
         "likely position on either strand. The divergence is the sum of KL(rationale || motif) "
         "over all positions, in nats, with one per cent of uniform bases mixed into the motif."},
    {"robust", 0, NULL, CLI_FLAG(eval_options, how.robust),
     "measure how often rationales hold with other masks",
     .more = "Each rationale is scored with a second mask, with --samples hot-deck masks drawn "
             "from the input, with its neighbours unmasked (texts, DNA and images), and with "
             "--samples random halves of all other features unmasked."},
    {"metrics", 0, NULL, CLI_FLAG(eval_options, how.metrics),
     "measure AOPC, PGI, PGU and stability",
     .more =
         "Rankings are cut at 1, 5, 10, 20 and 50 per cent of the features. For each cut: "
         "ERASER's sufficiency and comprehensiveness; the change of the score if these features "
         "(PGI) or all others (PGU) take values drawn from the input, --samples times; and how "
         "often rationales stay sufficient if this share of all other features is unmasked, with "
         "a confidence interval. With several files, also how often a file has the same subsets "
         "as the first. The ranking is the order stored by --trace; without it, the subsets one "
         "after the other."},
    {"by-count", 0, NULL, CLI_FLAG(eval_options, how.by_count),
     "cut rankings of --metrics after 1, 2, 3, 5 and 10 features",
     .more = "Instead of shares of the features. The fall without the first k features is the "
             "top-k drop. Stability keeps its shares."},
    {"second-mask", 0, "MASK", CLI_STRING(eval_options, how.second_mask),
     "another mask for --robust", .unset = "zero, texts pad"},
    {"around", 0, "N", CLI_COUNT(eval_options, how.around),
     "how far away --robust unmasks neighbours", .min = 1, .max = 1000},
    {"imputation", 0, NULL, CLI_FLAG(eval_options, how.imputation),
     "compare the mask with hot-deck values",
     .more =
         "Draws an example of the input and one of its features at random, --draws times, and "
         "measures how much the score changes if the feature is masked, and if it takes a value "
         "from elsewhere in the input. Needs no results."},
    {"draws", 0, "N", CLI_COUNT(eval_options, how.draws), "features drawn by --imputation",
     .min = 2, .max = 10000000},
    CLI_HEADING("Output"),
    {"csv", 0, "FILE", CLI_STRING(eval_options, csv), "also write a row for each rationale",
     .writes = CLI_WRITES_FILE},
    {"json", 0, "FILE", CLI_STRING(eval_options, json), "also write every value, as JSON",
     .writes = CLI_WRITES_FILE},
    CLI_FORCE(eval_options, force),
    CLI_GROUP(eval_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    eval_options *o = (eval_options *)p;
    cli_task_opt_init(&o->task);
    sis_evaluate_opt_init(&o->how);
}

/* ---- Usage ----------------------------------------------------------------------------------- */

static int check_usage(const eval_options *o, const cli_list *args) {
    if (!o->task.opt.model.spec != !o->task.opt.examples.input)
        return cli_usage("--%s: give --model and --input together",
                         o->task.opt.model.spec ? "model" : "input");
    if (args->n == 0 && !o->how.imputation)
        return cli_usage("expected at least one results file");
    if (args->n == 0 && (o->how.human || o->how.motif || o->how.robust || o->how.metrics || o->csv))
        return cli_usage("--%s needs a results file", o->how.human     ? "human"
                                                      : o->how.motif   ? "motif"
                                                      : o->how.robust  ? "robust"
                                                      : o->how.metrics ? "metrics"
                                                                       : "csv");
    if (!o->task.opt.model.spec && (o->how.imputation || o->how.robust || o->how.metrics))
        return cli_usage("--%s needs --model and --input", o->how.robust    ? "robust"
                                                           : o->how.metrics ? "metrics"
                                                                            : "imputation");
    if (!o->task.opt.model.spec &&
        (o->task.opt.question.mask || strcmp(o->task.opt.question.features, "each") != 0))
        return cli_usage("--%s needs --model and --input",
                         o->task.opt.question.mask ? "mask" : "features");
    if (o->how.by_count && !o->how.metrics)
        return cli_usage("--by-count needs --metrics");
    if (o->how.second_mask && !o->how.robust)
        return cli_usage("--second-mask needs --robust");
    if ((strcmp(o->task.opt.question.target, "top") != 0 || o->task.opt.question.target_index) &&
        !o->how.imputation)
        return cli_usage("--target needs --imputation; otherwise the results name "
                         "their output");
    return CLI_DONE;
}

/* ---- The run --------------------------------------------------------------------------------- */

/* The model and the examples, and the same under a second mask if requested. */
typedef struct {
    sis_task *task, *second;
    const char *second_mask;
} tasks;

static int open_tasks(const eval_options *o, tasks *t) {
    sis_task_opt opt;
    if (!o->task.opt.model.spec)
        return CLI_DONE;
    cli_task_options(&o->task, &opt);
    if (!o->how.imputation)
        opt.question.target = opt.question.target_index = NULL;
    int status = cli_fail(sis_task_open(&opt, &t->task));
    if (status != CLI_DONE)
        return status;
    cli_task_note(o->common.quiet, t->task);
    const sis_net *net = sis_model_net(sis_task_model(t->task));
    t->second_mask = o->how.second_mask             ? o->how.second_mask
                     : net && sis_net_is_token(net) ? "pad"
                                                    : "zero";
    opt.question.mask = t->second_mask;
    return o->how.robust ? cli_fail(sis_task_open(&opt, &t->second)) : CLI_DONE;
}

static int evaluate(const eval_options *o, const sis_records *files, size_t n, const tasks *t) {
    sis_evaluate_opt opt = o->how;
    sis_evaluation found;
    cli_progress bar;
    opt.task = t->task;
    opt.second = t->second;
    opt.mask = o->task.opt.question.mask;
    opt.second_mask = t->second_mask;
    opt.samples = o->task.opt.question.samples ? o->task.opt.question.samples : SIS_TASK_DRAWS;
    opt.seed = o->task.seed;
    opt.search.jobs = cli_jobs(&o->task);
    opt.search.memory = o->task.memory << 20;
    opt.search.progress = cli_progress_show;
    opt.search.progress_ctx = &bar;
    cli_progress_init(&bar, o->common.quiet);
    int error = sis_evaluate(files, n, &opt, &found);
    cli_progress_end(&bar);
    int status = cli_fail(error);
    if (status == CLI_DONE && sis__leads())
        status = eval_tell(o, &opt, &found);
    if (error == SIS_OK)
        sis_evaluation_release(&found);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const eval_options *o = p;
    tasks t = {0};
    cli_where where = {0};
    int status = check_usage(o, args);
    sis_records *files = status == CLI_DONE ? cli_grab(args->n, sizeof *files) : NULL;
    if (!files)
        return status == CLI_DONE ? CLI_FAILED : status;
    status = cli_where_open(&where, o->where);
    for (size_t k = 0; status == CLI_DONE && k < args->n; k++) {
        status = cli_records_read(args->items[k], &where, &files[k]);
        if (status == CLI_DONE)
            status = cli_fail(sis_records_index(&files[k], 1));
    }
    if (status == CLI_DONE)
        status = open_tasks(o, &t);
    if (status == CLI_DONE)
        status = evaluate(o, files, args->n, &t);
    sis_task_free(t.task);
    sis_task_free(t.second);
    for (size_t k = 0; k < args->n; k++)
        sis_records_release(&files[k]);
    free(files);
    cli_where_release(&where);
    return status;
}

const cli_command cli_evaluate = {
    .name = "evaluate",
    .summary = "compare methods: length, importance, agreement of rationales",
    .options = options,
    .options_size = sizeof(eval_options),
    .args = "[RESULTS...]",
    .min_args = 0,
    .max_args = SIZE_MAX,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis evaluate sis.jsonl ig.jsonl lime.jsonl -m imdb.onnx -i reviews.jsonl",
             "Compare lengths, scores and importance of three methods on the same reviews."},
            {"sis evaluate sis.jsonl --human -m imdb.onnx -i reviews.jsonl --csv sis.csv",
             "Measure the agreement with words that people marked; write a row for each rationale "
             "to sis.csv."},
            {"sis evaluate sis.jsonl ig.jsonl --motif jaspar.wil:CTCF",
             "Measure how far DNA rationales are from a known motif."},
            {"sis evaluate --imputation -m imdb.onnx -i reviews.jsonl",
             "Check whether the mask is as uninformative as a random word."},
            {0}},
    .description =
        "Compares several methods that explained the same decisions. It reads one results "
        "file of sis explain for each method and uses the examples that every file explains. "
        "Files with other examples, decisions or models are refused. A rationale is one "
        "subset; an example may have several.\n\nThe tables on standard output show the "
        "number of rationales, the share of examples whose rationales are all sufficient, "
        "their length, and their score alone. With --model and --input (and --mask and "
        "--features) as for sis explain, they also show how much the score falls when a "
        "single feature inside or outside of the rationales is masked. p-values are "
        "two-sided and compare each method with the first: Wilcoxon's rank-sum test over "
        "rationales (for importance, over features), and his signed-rank test over examples, "
        "with the median over the rationales of an example.\n\nChanges of scores are counted "
        "in the direction of the decision: for score <= threshold a feature is important if "
        "masking it raises the score.",
};
