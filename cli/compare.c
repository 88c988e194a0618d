/* SPDX-License-Identifier: MIT
 *
 * sis compare: do two models decide the same, and for the same reasons? Reads a results file of
 * each.
 */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

#include "output.h"

static const cli_option options[] = {
    CLI_HEADING("Input"),
    CLI_TARGET(cli_compare_options, target),
    CLI_WHERE(cli_compare_options, where),
    {"model-a", 0, "MODEL", CLI_STRING(cli_compare_options, how.models[0]),
     "the model of the first results", .required = 1,
     .more = "FILE.onnx, cmd:COMMAND or an address, as for sis explain."},
    {"model-b", 0, "MODEL", CLI_STRING(cli_compare_options, how.models[1]),
     "the model of the second results", .required = 1},
    CLI_HEADING("Method"),
    CLI_DISTANCE(cli_compare_options, clustering.opt.distance, .more = "See sis cluster."),
    CLI_GROUP(cli_compare_options, clustering, cli_clustering, cli_clustering_options),
    CLI_HEADING("Output"),
    {"output", 'o', "FILE", CLI_STRING(cli_compare_options, output),
     "file for the comparison, as JSON", .writes = CLI_WRITES_FILE, .unset = "a report only",
     .more = "A dash is standard output."},
    {"differ", 0, "N", CLI_COUNT(cli_compare_options, how.differ),
     "number of examples shown that differ most"},
    {"top", 0, "N", CLI_COUNT(cli_compare_options, clustering.opt.top),
     "number of patterns printed for each cluster", .min = 1, .max = 1000},
    {"most", 0, "N", CLI_COUNT(cli_compare_options, max), "number of clusters printed, 0 for all"},
    CLI_GROUP(cli_compare_options, open, cli_opening, cli_opening_options),
    CLI_FORCE(cli_compare_options, force),
    CLI_GROUP(cli_compare_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    cli_compare_options *o = (cli_compare_options *)p;
    cli_clustering_init(&o->clustering);
    cli_opening_init(&o->open);
    sis_compare_opt_init(&o->how);
    o->max = 20;
}

/* ---- The command ----------------------------------------------------------------------------- */

/* Scores are meaningless if the models are swapped or another model made the results. */
static void note_other_models(const cli_compare_options *o, const sis_records *sides) {
    const char *const *models = o->how.models;
    for (size_t k = 0; k < 2; k++)
        if (!cli_same_model(sides[k].items[0].model, models[k]))
            cli_note(o->common.quiet, "%s was made with model %s, but --model-%c is %s",
                     sides[k].name, sides[k].items[0].model, "ab"[k], models[k]);
}

static int write_json(const sis_comparison *c, const char *path) {
    char *text = NULL;
    size_t n;
    int error = sis_comparison_format(c, &text, &n);
    return cli_output_made(path, error, text, n);
}

static int show(const cli_compare_options *o, const sis_comparison *c) {
    int status = CLI_DONE;
    if (c->joint.no_eps)
        cli_note(o->common.quiet,
                 "--eps auto: %s; only identical subsets are clustered "
                 "together; give a number or a smaller --min-size",
                 c->joint.no_eps);
    if (o->clustering.curve)
        status = cli_curve_write(&c->joint, o->clustering.curve);
    if (status == CLI_DONE && o->output)
        status = write_json(c, o->output);
    if (status == CLI_DONE && !(o->output && strcmp(o->output, "-") == 0))
        status = cli_comparison_print(o, c);
    return status;
}

static int compare(const cli_compare_options *o, const sis_records sides[2]) {
    sis_compare_opt opt = o->how;
    sis_comparison found;
    opt.open = cli_opening_opt(&o->open);
    int status = cli_clustering_set(&o->clustering, &o->target, &opt.clustering);
    if (status == CLI_DONE)
        status = cli_fail(sis_compare(sides, &opt, &found));
    if (status != CLI_DONE)
        return status;
    status = show(o, &found);
    sis_comparison_release(&found);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const cli_compare_options *o = (const cli_compare_options *)p;
    sis_records sides[2] = {0};
    cli_where where = {0};
    if (strcmp(args->items[0], args->items[1]) == 0)
        return cli_usage("%s is given twice", args->items[0]);
    int status = cli_where_open(&where, o->where);
    for (size_t k = 0; k < 2 && status == CLI_DONE; k++)
        status = cli_records_read(args->items[k], &where, &sides[k]);
    if (status == CLI_DONE) {
        note_other_models(o, sides);
        status = compare(o, sides);
    }
    for (size_t k = 0; k < 2; k++)
        sis_records_release(&sides[k]);
    cli_where_release(&where);
    return status;
}

const cli_command cli_compare = {
    .name = "compare",
    .summary = "compare two models: decisions, subsets, clusters",
    .options = options,
    .options_size = sizeof(cli_compare_options),
    .args = "A.jsonl B.jsonl",
    .min_args = 2,
    .max_args = 2,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis compare a.jsonl b.jsonl --model-a a.onnx --model-b b.onnx",
             "Do two networks decide for the same reasons?"},
            {"sis compare before.jsonl after.jsonl --model-a m.onnx --model-b m.onnx -o diff.json",
             "Compare the explanations of one model before and after an attack."},
            {0}},
    .description =
        "Reads the results of sis explain for two models, or for two versions of one, and "
        "reports\n\nhow often the models make the same decision, for the examples (by id) in both "
        "files;\n\nhow each model scores the subsets of the other with everything else "
        "masked, and how often these are sufficient for its own threshold. Texts become "
        "token ids with the vocabulary of the scoring model. The mask is that of the results "
        "of the scoring model, or the one that it carries;\n\nthe clusters of all subsets "
        "together, as sis cluster makes them, with the share of each file;\n\nthe examples "
        "whose subsets differ most, by the mean distance of a subset to the nearest subset "
        "of the other model.",
};
