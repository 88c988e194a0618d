/* SPDX-License-Identifier: MIT
 *
 * Options of the methods beside SIS. See method.h.
 */
#include "method.h"

#include <string.h>

#include <sis/explain.h>

const cli_option cli_method_options[] = {
    {"method", 0, "METHOD", CLI_CHOICE(cli_method, name), "method",
     .choices = "sis quick ig lime perturb gradient contrast",
     .more = "sis: sufficient input subsets by backward selection. quick: the same kind of "
             "subsets by divide and conquer; it asks about a hundredth of the questions and its "
             "subsets are a little larger. Use it for slow or distant models; for networks that "
             "sis walks quickly (convolutions over words or bases) it can be slower than sis. "
             "gradient: backward selection with batched gradients, for inputs too large for "
             "quick. The other methods order the features, and the first ones are the rationale. "
             "perturb: by how much the score falls when only this feature is masked. ig: "
             "integrated gradients from the mask to the input. lime: weights of a linear model "
             "fitted to the scores of random masks. ig and gradient need a network. contrast: the "
             "fewest features whose change alone loses the decision, with such values, within "
             "--domain; for trees. With --mask or --prompt: minimal sets of features whose "
             "masking loses the decision, for every model."},
    {"constraint", 0, "C", CLI_CHOICE(cli_method, constraint), "size of the rationale",
     .choices = "sufficient length top",
     .more = "sufficient: the fewest first features whose score alone meets the threshold. "
             "length: as many as the median subset of the example's SIS collection has. top (ig "
             "only): the fewest whose attributions add up to the threshold minus the score of the "
             "baseline. With length and top the rationale need not be sufficient; each record "
             "says whether it is."},
    {"steps", 0, "N", CLI_COUNT(cli_method, steps), "ig: points on the path", .min = 1,
     .max = 10000000, .rare = 1},
    {"baseline", 0, "B", CLI_CHOICE(cli_method, baseline), "ig: start of the path",
     .choices = "mask zero", .rare = 1},
    {"prefer", 0, "P", CLI_CHOICE(cli_method, prefer), "quick: order of preference",
     .choices = "perturb gradient none", .rare = 1,
     .more = "quick prefers features that come early in this order. perturb: by how much the "
             "score falls when only this feature is masked, one question for each feature. "
             "gradient: by the gradient at the input, for networks. none: the order of the input."},
    {"step", 0, "K", CLI_COUNT(cli_method, step), "gradient: features masked at once", .min = 1,
     .max = 1e9, .rare = 1},
    {"remove", 0, NULL, CLI_FLAG(cli_method, remove), "lime: remove words instead of masking them",
     .rare = 1,
     .more = "Only in the random texts that lime learns from. The rationale is scored with "
             "--mask, as for every method."},
    {"lengths", 0, "FILE", CLI_STRING(cli_method, lengths),
     "results of sis for --constraint length", .rare = 1,
     .more = "Without this option, sis explains each example first."},
    {"orders", 0, "FILE", CLI_STRING(cli_method, orders),
     "results with --trace that give the order", .rare = 1,
     .more =
         "For perturb, ig and lime: results of the same method, to apply another constraint "
         "at little cost. For quick, instead of --prefer: results of any method; trace.order "
         "lists all features, most important last. Examples that are not in FILE are computed."},
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
