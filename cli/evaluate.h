/* SPDX-License-Identifier: MIT
 *
 * evaluate.h - several explanations of the same decisions, side by side.
 *
 *     evaluate.c          the command: options, the order of things
 *     evaluate_read.c     results files, held against each other
 *     evaluate_each.c     numbers of each example, by threads and processes
 *     evaluate_model.c    what only the model can tell: scores, importance, quality of human words
 *     evaluate_robust.c   subsets under other masks; the study of masks
 *     evaluate_yardsticks.c  the numbers by which the field compares explanations
 *     evaluate_motif.c    DNA subsets on a motif
 *     evaluate_compare.c  samples, and the tests between methods
 *     evaluate_table.c    the tables on standard output
 *     evaluate_export.c   every value as CSV and JSON
 *
 * A rationale is one subset of one example by one method. What has not been measured is NaN.
 */
#ifndef SIS_CLI_EVALUATE_H
#define SIS_CLI_EVALUATE_H

#include <sis/analysis.h>

#include "records.h"

typedef struct eval_options {
    cli_source source;
    cli_question question;
    const char *csv, *json, *motif, *second_mask;
    size_t draws, around;
    int first, human, imputation, robust, yardsticks;
    int force;
    cli_common common;
} eval_options;

/* One subset. The numbers are doubles all, so that tables can be made of any of them. */
typedef struct eval_rationale {
    size_t example, subset;
    const int *features; /* (length) */
    double length, percent;
    double score, sufficient;    /* of the subset alone: its score; 1 or 0 */
    double inside, outside;      /* medians of the importance of its and of the other features */
    double marked;               /* share of it that a person marked */
    double divergence;           /* from the motif */
    size_t start;                /* where the motif lies, if there is a divergence */
    int reverse;                 /* and on which strand */
    double second, second_holds; /* score under the second mask, and is that enough: 1 or 0 */
    double deck, deck_holds; /* mean over hot-deck samples, and share of those that are enough */
    double around, around_holds; /* with its neighbours */
    double half, half_holds;     /* with random halves of all other features */
    double stable;               /* share of draws of others put back that stay enough */
    /* Of the example as a whole; NaN but for its first rationale. */
    double sufficiency, comprehensiveness, pgi, pgu; /* means over the cuts of the ranking */
    double token_f1, iou_f1;                         /* all rationales against what was marked */
    double same, jaccard; /* against the first method: 1 or 0; all rationales as one set */
} eval_rationale;

/* One results file. */
typedef struct eval_method {
    sis_records results;
    char *name;                     /* in tables */
    const sis_record **of;          /* (examples) */
    eval_rationale *items;          /* (n_items), in the order of the examples */
    size_t n_items, *first;         /* (examples + 1) where those of an example begin */
    sis_faithfulness *faithfulness; /* (examples), with yardsticks */
    size_t held[SIS_N_CUTS];        /* draws, of all rationales, that stayed enough */
} eval_method;

/* One example that every method explains. */
typedef struct eval_example {
    const sis_record *record; /* the first method's */
    sis_input input;          /* with a model */
    size_t at;                /* which of the task's inputs it is */
    double *importance;       /* (n_features), with a model */
    double human_score, qhs;  /* the words that a person marked */
} eval_example;

/* What masking one feature does. */
typedef struct eval_study {
    size_t n;
    double *by_mask, *by_deck; /* (n) */
} eval_study;

typedef struct evaluation {
    const eval_options *o;
    eval_method *methods;
    size_t n_methods;
    eval_example *examples;
    size_t n_examples, n_shared; /* explained by all; in the files */
    cli_task task;
    sis_input *donors; /* of the hot deck, once there is one */
    sis_deck *deck;    /* while rationales are tried under its masks */
    sis_input *second; /* (examples) while they are tried under a second mask */
    int with_model;
    size_t n_human; /* examples that a person has marked */
    sis_motifs motifs;
    const sis_motif *motif;
    eval_study study;
} evaluation;

/* Read the files and find what they share. */
int eval_read(evaluation *ev, const cli_list *paths);

/* Open model and data, hold the records against them, measure scores and importance. */
int eval_model(evaluation *ev);

/* Numbers that the model gives for each example. */
typedef struct eval_measure {
    const cli_task
        *task; /* whose model is asked, about the examples at the same places as ev->task's */
    size_t (*count)(const evaluation *ev, size_t example); /* how many there are */

    /* To `numbers`, on a thread and with a model of its own, in whatever process: 0 or an error
     * code. */
    int (*find)(const evaluation *ev, size_t example, const sis_model *model, const sis_opt *opt,
                double *numbers);

    /* In the process that leads, one example after the other: CLI_DONE, or CLI_FAILED after an error
     * line. */
    int (*keep)(evaluation *ev, size_t example, const double *numbers);
} eval_measure;
int eval_each(evaluation *ev, const eval_measure *measure);

/* How many rationales an example has, of all methods; each of them alone, as parts. inputs (examples):
 * in the place of the examples' own, unless NULL. */
size_t eval_n_alone(const evaluation *ev, size_t example);
void eval_alone(const evaluation *ev, size_t example, const sis_input *inputs, sis_part *parts);

int eval_human(evaluation *ev);
int eval_motif(evaluation *ev);
int eval_robust(evaluation *ev);
int eval_imputation(evaluation *ev);
int eval_yardsticks(evaluation *ev);

/* Token F1 and IOU F1 of what people marked. */
int eval_tokens(evaluation *ev);

/* The hot deck of all inputs that have features, for an option; freed by the caller. */
int eval_open_deck(evaluation *ev, const char *option, sis_deck **deck);

/* What the yardsticks say cut by cut. */
void eval_curves(const evaluation *ev, const eval_method *m,
                 double curves[SIS_N_CURVES][SIS_N_CUTS]);

/* The second mask of --robust, as it is called. */
const char *eval_second_mask(const evaluation *ev);

/* The options of a library call about the decisions of this example. */
void eval_options_of(const evaluation *ev, const sis_record *r, sis_opt *opt);

/* Is that score enough for the record's decision? 1 or 0. */
double eval_enough(const sis_record *r, double score);

int eval_tables(const evaluation *ev);
int eval_csv(const evaluation *ev, const char *path);
int eval_json(const evaluation *ev, const char *path);

/* The numbers at `offset` of a method's rationales that are not NaN: *n, free()d by the caller.
 * NULL after an error line. */
double *eval_column(const eval_method *m, size_t offset, size_t *n);

/* Importance of features inside (or outside) a method's rationales, those of one example after
 * those of the other; *n of them. `medians` (examples), if not NULL, gets the median of each. */
double *eval_importance(const evaluation *ev, const eval_method *m, int inside, size_t *n,
                        double *medians);

double eval_median(const double *x, size_t n);

/* Two tests of a method against the first: of all numbers, and of pairs of examples. */
typedef struct eval_against {
    sis_test sum, pairs;
} eval_against;

/* Of the numbers at `offset` of rationales; of the importance of the features inside them. */
int eval_compare(const evaluation *ev, const eval_method *m, size_t offset, eval_against *out);
int eval_compare_importance(const evaluation *ev, const eval_method *m, eval_against *out);

/* QHS against the share of a rationale that a person marked. */
int eval_correlate(const evaluation *ev, const eval_method *m, sis_test *out);

/* Subsets that were found, whether or not they count: all of them, and the most of an example. */
void eval_count(const evaluation *ev, const eval_method *m, size_t *all, size_t *most);

/* The share of examples whose rationales are all enough. */
double eval_sufficient(const evaluation *ev, const eval_method *m);

#endif
