/* SPDX-License-Identifier: MIT
 *
 * sis demo: a credit decision explained from end to end, with nothing but the program itself. The
 * model is a callback and everything else is the public API, so this is also the shortest tour of
 * it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "show.h"

enum { COLUMNS = 8, APPLICANTS = 12 };

static const char *const names[COLUMNS] = {
    "age",           "income",        "debt",           "savings",
    "late_payments", "open_accounts", "years_employed", "credit_used"};

static const double applicants[APPLICANTS][COLUMNS] = {
    {34, 52000, 4000, 12000, 0, 3, 8, 0.15},   {23, 21000, 11000, 300, 4, 6, 1, 0.92},
    {58, 61000, 2500, 30000, 0, 2, 27, 0.05},  {45, 33000, 18000, 2500, 2, 5, 10, 0.71},
    {29, 39500, 7000, 5200, 1, 4, 3, 0.38},    {39, 27500, 6400, 900, 0, 3, 12, 0.55},
    {51, 88000, 45000, 15000, 0, 9, 20, 0.64}, {62, 24000, 1200, 8000, 0, 1, 35, 0.1},
    {27, 31000, 14500, 0, 6, 7, 2, 0.98},      {48, 42000, 9800, 4100, 3, 5, 14, 0.47},
    {36, 45500, 3000, 9500, 5, 2, 9, 0.2},     {31, 36000, 21000, 1800, 0, 4, 5, 0.83},
};

/* How likely a loan is repaid: a logistic regression, the same as in examples/credit.py. */
static int repays(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    static const double mean[COLUMNS] = {42, 38000, 9000, 6000, 1.2, 4, 7, 0.4};
    static const double scale[COLUMNS] = {12, 15000, 8000, 7000, 1.8, 2.5, 6, 0.3};
    static const double weight[COLUMNS] = {.25, .90, -.80, .60, -1.40, -.20, .55, -1.10};
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double z = 0.4;
        for (size_t k = 0; k < width; k++)
            z += weight[k] * (rows[i * width + k] - mean[k]) / scale[k];
        scores[i] = 1 / (1 + exp(-z));
    }
    return 0;
}

/* Explain one applicant, print it, and audit what was printed. */
static int explain(const double *mask, size_t who, double threshold, int below) {
    sis_model model = {.predict = repays, .n_outputs = 1, .n_values = COLUMNS};
    sis_input input = {.values = applicants[who], .mask = mask, .n_values = COLUMNS};
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = threshold;
    opt.below = below;
    opt.exhaustive = COLUMNS;
    char id[24];
    snprintf(id, sizeof id, "applicant %zu", who);
    sis_record r = {.id = id,
                    .below = below,
                    .threshold = threshold,
                    .values = input.values,
                    .mask = mask,
                    .n_values = COLUMNS,
                    .names = names,
                    .n_names = COLUMNS};
    sis_audit audit;
    int error = sis_collect(&model, &input, &opt, &r.collection);
    if (error)
        return error;
    cli_page page;
    cli_page_init(&page, stdout);
    page.r = &r;
    cli_show_record(&page);
    error = sis_verify(&model, &input, &opt, &r.collection, &audit);
    if (error == SIS_OK) {
        size_t smaller = 0;
        for (size_t k = 0; k < audit.n_subsets; k++)
            smaller += audit.subsets[k].n_smaller > 0;
        if (audit.n_subsets)
            printf("      Audit: %s; of every part of every subset tried, %zu suffice.\n\n",
                   audit.holds ? "every claim holds" : audit.reason, smaller);
        sis_audit_release(&audit);
    }
    sis_collection_release(&r.collection);
    return error;
}

static int run(const void *options, const cli_list *args) {
    (void)options, (void)args;
    double mean[COLUMNS] = {0};
    for (size_t i = 0; i < APPLICANTS; i++)
        sis_mean_add(mean, applicants[i], COLUMNS, i + 1);
    printf(
        "A bank's model scores how likely a loan is repaid. It grants a loan at 0.8 or more and\n"
        "refuses at 0.2 or less. Which of an applicant's facts were enough for its decision?\n"
        "A missing fact is replaced by the average of all applicants.\n\n");
    int error = explain(mean, 2, 0.8, 0);
    if (error == SIS_OK)
        error = explain(mean, 8, 0.2, 1);
    if (error == SIS_OK)
        error = explain(mean, 4, 0.8, 0);
    if (error == SIS_OK)
        printf(
            "Each subset alone, with everything else masked, leads to the same decision, and none\n"
            "of its features can be left out. Now explain your own model: sis explain --help\n");
    return cli_fail(error);
}

static const cli_option options[] = {{0}};

const cli_command cli_demo = {
    .name = "demo",
    .summary = "a credit decision explained from end to end",
    .options = options,
    .options_size = 1,
    .run = run,
    .examples = (const cli_example[]){{"sis demo", "Run it."}, {0}},
    .description =
        "Explains why a small credit model, which is part of the program, grants one loan, "
        "refuses another and leaves a third undecided, and audits each explanation. Needs no "
        "files and no network.",
};
