/* SPDX-License-Identifier: MIT
 *
 * How to explain: the options of the methods beside SIS, whether they fit each other, and what they
 * mean for each input.
 */
#include "method.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "records.h"

const cli_option cli_method_options[] = {
    {"method", 0, "METHOD", CLI_CHOICE(cli_method, name), "how",
     .choices = "sis ig lime perturb gradient",
     .more = "sis: sufficient input subsets. gradient: the same by batched gradients, for inputs "
             "too large for that. The others give features an order, and the first so many of it "
             "are one rationale. perturb: by how much the score falls when only that feature is "
             "masked. ig: integrated gradients from the mask to the input. lime: weights of a "
             "linear model fitted to the scores of random masks. ig and gradient need a network."},
    {"constraint", 0, "C", CLI_CHOICE(cli_method, constraint), "size",
     .choices = "sufficient length top",
     .more = "How many features of the order are the rationale. sufficient: the fewest whose score "
             "alone reaches the threshold. length: as many as "
             "the median subset of the example's SIS collection has. top (of ig): the fewest whose "
             "attributions add up to the threshold minus the score of the baseline. With the last "
             "two the rationale need not be sufficient; each says whether it is."},
    {"steps", 0, "N", CLI_COUNT(cli_method, steps), "ig: points on the path", .min = 1,
     .max = 10000000},
    {"baseline", 0, "B", CLI_CHOICE(cli_method, baseline), "ig: where the path begins",
     .choices = "mask zero"},
    {"step", 0, "K", CLI_COUNT(cli_method, step), "gradient: features masked at once", .min = 1,
     .max = 1e9},
    {"remove", 0, NULL, CLI_FLAG(cli_method, remove),
     "lime: take words out instead of masking them",
     .more =
         "Only for the random texts that lime learns from; the rationale is scored with --mask, "
         "as for every method."},
    {"lengths", 0, "FILE", CLI_STRING(cli_method, lengths),
     "sis results to take --constraint length from",
     .more = "Without them, each example is explained by sis first."},
    {"orders", 0, "FILE", CLI_STRING(cli_method, orders),
     "results with --trace to take the order from",
     .more = "For another constraint at little cost: of the same method, perturb, ig or lime. "
             "Examples that are not in FILE are explained anew."},
    {0},
};

void cli_method_init(cli_method *m) {
    sis_method_opt how;
    sis_method_opt_init(&how);
    m->name = "sis";
    m->constraint = "sufficient";
    m->baseline = "mask";
    m->steps = how.steps;
    m->step = how.step;
}

int cli_method_is_sis(const cli_method *m) {
    return strcmp(m->name, "sis") == 0;
}

/* The options as the library takes them, the same for every input. */
static void translate(const cli_method *m, const cli_question *q, sis_method_opt *how) {
    sis_method_opt_init(how);
    for (sis_method k = SIS_METHOD_PERTURB; k <= SIS_METHOD_GRADIENT; k++)
        if (strcmp(sis_method_name(k), m->name) == 0)
            how->method = k;
    for (sis_constraint k = SIS_CONSTRAINT_SUFFICIENT; k <= SIS_CONSTRAINT_TOP; k++)
        if (strcmp(sis_constraint_name(k), m->constraint) == 0)
            how->constraint = k;
    how->seed = q->seed;
    how->steps = m->steps;
    how->step = m->step;
    how->zero_baseline = strcmp(m->baseline, "zero") == 0;
    if (q->samples && !(q->mask && strncmp(q->mask, "hotdeck:", 8) == 0))
        how->samples = q->samples;
}

/* Options of one method that are given with another. */
static int check_strays(const cli_method *m) {
    sis_method_opt def;
    sis_method_opt_init(&def);
    const struct {
        const char *option, *method;
        int given;
    } uses[] = {{"--steps", "ig", m->steps != def.steps},
                {"--baseline", "ig", strcmp(m->baseline, "mask") != 0},
                {"--step", "gradient", m->step != def.step},
                {"--remove", "lime", m->remove}};
    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (uses[i].given && strcmp(m->name, uses[i].method) != 0)
            return cli_usage("%s is for --method %s", uses[i].option, uses[i].method);
    return CLI_DONE;
}

int cli_method_check(const cli_method *m, const cli_question *q, size_t max_subsets) {
    sis_method_opt how;
    translate(m, q, &how);
    if (check_strays(m) != CLI_DONE)
        return CLI_USAGE;
    if (m->lengths && how.constraint != SIS_CONSTRAINT_LENGTH)
        return cli_usage("--lengths is for --constraint length");
    if (m->orders && (cli_method_is_sis(m) || how.method == SIS_METHOD_GRADIENT ||
                      how.constraint == SIS_CONSTRAINT_TOP))
        return cli_usage("--orders is for perturb, ig and lime with --constraint sufficient or "
                         "length");
    if (cli_method_is_sis(m))
        return how.constraint == SIS_CONSTRAINT_SUFFICIENT
                   ? CLI_DONE
                   : cli_usage("--constraint %s is for other methods than sis", m->constraint);
    if (max_subsets > 1 && how.method != SIS_METHOD_GRADIENT)
        return cli_usage("--max-subsets: %s finds one rationale an example", m->name);
    const char *wrong = sis_method_opt_check(&how);
    return wrong ? cli_usage("--method %s: %s", m->name, wrong) : CLI_DONE;
}

/* ---- Earlier results ------------------------------------------------------------------------- */

/* Take from a record what is needed for input i. */
typedef int (*taker)(const sis_record *r, size_t i, cli_plan *plan);

/* What is taken from one file, and what its records must be of. */
typedef struct {
    const char *option, *method;
    taker take;
} earlier;

static int take_length(const sis_record *r, size_t i, cli_plan *plan) {
    plan->how[i].length = sis_collection_median(&r->collection);
    return CLI_DONE;
}

static int take_order(const sis_record *r, size_t i, cli_plan *plan) {
    const sis_collection *c = &r->collection;
    if (c->status != SIS_STATUS_EXPLAINED)
        return CLI_DONE;
    if (c->n_subsets != 1 || c->subsets[0].trace.n == 0)
        return cli_error("--orders: record \"%s\" has no trace; make the file with --trace", r->id);
    const sis_trace *t = &c->subsets[0].trace;
    plan->orders[i] = cli_grab(t->n, sizeof *plan->orders[i]);
    if (!plan->orders[i])
        return CLI_FAILED;
    for (size_t k = 0; k < t->n; k++)
        plan->orders[i][k] = t->order[t->n - 1 - k];
    plan->how[i].order = plan->orders[i];
    plan->how[i].n_order = t->n;
    return CLI_DONE;
}

static int read_earlier(const char *path, const earlier *e, const cli_task *t, const size_t *which,
                        cli_plan *plan) {
    cli_shelf s = {.path = path};
    int status = cli_shelf_read(&s, 0);
    for (size_t i = 0; status == CLI_DONE && i < s.n; i++)
        if (strcmp(s.records[i].method, e->method) != 0)
            status = cli_error("%s: %s: record \"%s\" is of method %s; expected %s", e->option,
                               path, s.records[i].id, s.records[i].method, e->method);
    for (size_t i = 0; status == CLI_DONE && i < plan->n; i++) {
        const sis_record *r = cli_shelf_find(&s, t->ids[which[i]]);
        if (r)
            status = e->take(r, i, plan);
    }
    cli_shelf_release(&s);
    return status;
}

/* ---- Plan ------------------------------------------------------------------------------------ */

/* A mask that removes tokens, as long as the longest input; NULL after an error line. */
static double *removing_mask(const cli_task *t) {
    size_t width = 0;
    if (!cli_is_token(t)) {
        cli_error("--remove: this model takes no token ids, so there are no words to take out");
        return NULL;
    }
    for (size_t i = 0; i < t->n; i++)
        width = t->inputs[i].n_values > width ? t->inputs[i].n_values : width;
    double *mask = cli_grab(width, sizeof *mask);
    for (size_t v = 0; mask && v < width; v++)
        mask[v] = NAN;
    return mask;
}

int cli_method_plan(const cli_method *m, const cli_task *t, const cli_question *q,
                    const size_t *which, size_t n, cli_plan *plan) {
    sis_method_opt one;
    translate(m, q, &one);
    plan->how = cli_grab(n, sizeof *plan->how);
    if (m->remove)
        one.lime_mask = plan->remove = removing_mask(t);
    if (!plan->how || (m->remove && !plan->remove))
        return CLI_FAILED;
    for (size_t i = 0; i < n; i++)
        plan->how[i] = one;
    plan->n = n;
    int status = CLI_DONE;
    if (m->lengths)
        status =
            read_earlier(m->lengths, &(earlier){"--lengths", "sis", take_length}, t, which, plan);
    if (status == CLI_DONE && m->orders) {
        plan->orders = cli_grab(n, sizeof *plan->orders);
        status = plan->orders ? read_earlier(m->orders, &(earlier){"--orders", m->name, take_order},
                                             t, which, plan)
                              : CLI_FAILED;
    }
    return status;
}

void cli_method_release(cli_plan *plan) {
    for (size_t i = 0; plan->orders && i < plan->n; i++)
        free(plan->orders[i]);
    free(plan->orders);
    free(plan->how);
    free(plan->remove);
}
