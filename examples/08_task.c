/* SPDX-License-Identifier: MIT
 *
 * A task: from a model and a file to records in five lines. Then the same question about people who
 * come one at a time, as a server is asked it: model, mask and threshold are prepared once.
 *
 *     ./08_task ../models/credit.onnx credit.csv
 */
#include <stdio.h>

#include <sis/task.h>

static void print(const sis_record *r) {
    const sis_collection *c = &r->collection;
    char name[64], number[SIS_NUMBER_SIZE];
    printf("%s: %s, score %.3f\n", r->id, sis_status_name(c->status), c->score);
    for (size_t k = 0; k < c->n_subsets; k++) {
        printf("   enough:");
        for (size_t i = 0; i < c->subsets[k].n; i++) {
            int feature = c->subsets[k].features[i];
            const char *was = sis_record_was(r, feature, number);
            sis_record_name(r, feature, name, sizeof name);
            printf("%s %s = %s", i ? "," : "", name, was ? was : "...");
        }
        printf("\n");
    }
}

/* All records of a task. */
static int print_all(sis_task *task) {
    sis_record r;
    int got;
    while ((got = sis_task_next(task, &r)) == 1)
        print(&r);
    return got;
}

/* Somebody new: the columns of credit.csv. */
static int ask(const sis_task *like, const char *who, const double values[8]) {
    static const char *const names[] = {
        "age",           "income",        "debt",           "savings",
        "late_payments", "open_accounts", "years_employed", "credit_used"};
    const char *const ids[] = {who};
    const sis_data_with with = {.kind = "table", .names = names, .ids = ids};
    const size_t dims[] = {1, 8};
    sis_data *data = NULL;
    sis_task *task = NULL;
    int error = sis_data_from_values(values, 2, dims, &with, &data);
    if (error == 0)
        error = sis_task_derive(like, data, &task);
    if (error == 0)
        error = print_all(task);
    sis_task_free(task);
    sis_data_free(data);
    return error;
}

int main(int argc, char **argv) {
    sis_task *task = NULL;
    sis_task_opt o;
    if (argc != 3) {
        fprintf(stderr, "usage: 08_task MODEL INPUT\n");
        return 2;
    }
    sis_task_opt_init(&o);
    o.model.spec = argv[1];
    o.examples.input = argv[2];
    o.examples.rows = "0:4";
    o.question.threshold = "0.8";
    int error = sis_task_open(&o, &task);
    if (error == 0)
        error = print_all(task);
    if (error == 0)
        error = ask(task, "Ada", (const double[]){36, 44000, 6000, 5000, 1, 2, 12, 0.2});
    if (error == 0)
        error = ask(task, "Bob", (const double[]){22, 18000, 9000, 200, 3, 1, 1, 0.9});
    if (error)
        fprintf(stderr, "%s\n", sis_error_detail());
    sis_task_free(task);
    return error != 0;
}
