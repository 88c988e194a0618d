/* SPDX-License-Identifier: MIT
 *
 * Options of the methods beside SIS. See method.h.
 */
#include "method.h"

#include <string.h>

#include <sis/explain.h>

const cli_option cli_method_options[] = {
    {"method", 0, "METHOD", CLI_CHOICE(cli_method, name), "how",
     .choices = "sis quick ig lime perturb gradient contrast",
     .more =
         "sis: sufficient input subsets. quick: the same by divide and conquer, with a hundredth "
         "of the questions and subsets that are a little larger, for models that are slow or far "
         "away; for a network that sis walks quickly (convolutions over words or bases) it can be "
         "slower than sis. gradient: the same by batched gradients, for inputs "
         "too large for that. The others give features an order, and the first so many of it "
         "are one rationale. perturb: by how much the score falls when only that feature is "
         "masked. ig: integrated gradients from the mask to the input. lime: weights of a "
         "linear model fitted to the scores of random masks. ig and gradient need a network. "
         "contrast: the "
         "fewest features whose change alone can lose the decision, with values that do, within "
         "--domain; for trees. With --mask or --prompt: minimal sets of features that lose the "
         "decision if they are masked, for every model."},
    {"constraint", 0, "C", CLI_CHOICE(cli_method, constraint), "size",
     .choices = "sufficient length top",
     .more = "How many features of the order are the rationale. sufficient: the fewest whose score "
             "alone meets the threshold. length: as many as "
             "the median subset of the example's SIS collection has. top (of ig): the fewest whose "
             "attributions add up to the threshold minus the score of the baseline. With the last "
             "two the rationale need not be sufficient; each says whether it is."},
    {"steps", 0, "N", CLI_COUNT(cli_method, steps), "ig: points on the path", .min = 1,
     .max = 10000000, .rare = 1},
    {"baseline", 0, "B", CLI_CHOICE(cli_method, baseline), "ig: where the path begins",
     .choices = "mask zero", .rare = 1},
    {"prefer", 0, "P", CLI_CHOICE(cli_method, prefer), "quick: which features first",
     .choices = "perturb gradient none", .rare = 1,
     .more = "Quick keeps what comes early in an order. perturb: by how much the score falls when "
             "only that feature is masked, one question a feature. gradient: by the slope at the "
             "input, of networks. none: as they come."},
    {"step", 0, "K", CLI_COUNT(cli_method, step), "gradient: features masked at once", .min = 1,
     .max = 1e9, .rare = 1},
    {"remove", 0, NULL, CLI_FLAG(cli_method, remove),
     "lime: take words out instead of masking them", .rare = 1,
     .more =
         "Only for the random texts that lime learns from; the rationale is scored with --mask, "
         "as for every method."},
    {"lengths", 0, "FILE", CLI_STRING(cli_method, lengths),
     "sis results to take --constraint length from", .rare = 1,
     .more = "Without them, each example is explained by sis first."},
    {"orders", 0, "FILE", CLI_STRING(cli_method, orders),
     "results with --trace to take the order from", .rare = 1,
     .more = "For another constraint at little cost: of the same method, perturb, ig or lime. "
             "For quick, instead of --prefer: of any method; trace.order lists all features, most "
             "important last. "
             "Examples that are not in FILE are explained anew."},
    {0},
};

void cli_method_init(cli_method *m) {
    sis_task_opt task;
    sis_task_opt_init(&task);
    m->name = "sis";
    m->constraint = "sufficient";
    m->baseline = "mask";
    m->prefer = sis_preference_name((sis_preference)task.answer.how.prefer);
    m->steps = task.answer.how.steps;
    m->step = task.answer.how.step;
}

int cli_method_is_sis(const cli_method *m) {
    return strcmp(m->name, "sis") == 0;
}

void cli_method_fill(const cli_method *m, sis_task_opt *out) {
    out->answer.method = m->name;
    out->answer.constraint = m->constraint;
    out->answer.how.steps = m->steps;
    out->answer.how.step = m->step;
    for (int k = 0; k <= SIS_PREFER_NONE; k++)
        if (strcmp(m->prefer, sis_preference_name((sis_preference)k)) == 0)
            out->answer.how.prefer = k;
    out->answer.how.zero_baseline = strcmp(m->baseline, "zero") == 0;
    out->answer.remove = m->remove;
    out->answer.lengths = m->lengths;
    out->answer.orders = m->orders;
}
