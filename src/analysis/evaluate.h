/* SPDX-License-Identifier: MIT
 *
 * evaluate.h - several explanations of the same decisions, side by side.
 *
 *     evaluate.c          files held against each other; the order of things
 *     evaluate_model.c    what only the model can tell, example by example
 *     evaluate_trials.c   rationales under other masks; metrics; the study of masks
 *     evaluate_summary.c  samples, tests between methods, summaries
 *     evaluation_json.c   sis_evaluation as JSON
 *
 * A rationale is one subset of one example by one method. What has not been measured is NaN.
 */
#ifndef SIS_ANALYSIS_EVALUATE_H
#define SIS_ANALYSIS_EVALUATE_H

#include <sis/analysis.h>

#include "results/fields.h"

/* One results file. */
typedef struct sis__method {
    const sis_records *file;
    const char *name;               /* in tables */
    const sis_record **of;          /* (examples) */
    sis_rated *items;               /* (n_items), in the order of the examples */
    size_t n_items, *first;         /* (examples + 1) where those of an example begin */
    sis_faithfulness *faithfulness; /* (examples), with metrics */
    size_t kept[SIS_N_CUTS];        /* draws, of all rationales, that stayed sufficient */
} sis__method;

/* One example that every method explains. */
typedef struct sis__subject {
    const sis_record *record; /* the first method's */
    sis_input input;          /* with a model: its input, for the output of the record */
    size_t at;                /* its number in the task */
    double *importance;       /* (n_features) */
    double human_score, qhs;  /* of the features that a person marked */
} sis__subject;

/* All examples of a task. */
typedef struct sis__loaded {
    sis_task *task;
    size_t n;
    sis_example *examples; /* (n) */
    sis_input *inputs;     /* (n) of these */
} sis__loaded;

typedef struct sis__evaluation {
    const sis_evaluate_opt *o;
    sis__held *held; /* everything that *out points to, and more */
    sis__method *methods;
    size_t n_methods;
    sis__subject *subjects;
    size_t n_subjects;
    sis__loaded all, second; /* with a model; under a second mask */
    int token;               /* the model takes token ids */
    sis_input *donors;       /* of the hot deck, */
    sis_deck *deck;          /* which is open while it is needed */
    sis_motifs motifs;
    sis_evaluation *out;
} sis__evaluation;

/* Is that score enough for the record's decision? 1 or 0. */
double sis__is_enough(const sis_record *r, double score);
int sis__is_marked(const sis_record *r);

int sis__loaded_open(sis__loaded *l, sis_task *task);
void sis__loaded_close(sis__loaded *l);

/* Scores of the rationales, importance of features, scores of what people marked. */
int sis__evaluate_model(sis__evaluation *ev);
int sis__evaluate_robust(sis__evaluation *ev);
int sis__evaluate_metrics(sis__evaluation *ev);
int sis__evaluate_imputation(sis__evaluation *ev);

/* Numbers that the model gives for each example. */
typedef struct sis__measuring {
    const sis__loaded *asked;                                   /* whose model is asked */
    size_t (*count)(const sis__evaluation *ev, size_t subject); /* how many there are */

    /* To `numbers`, on a thread and with a model of its own, in whatever process. */
    int (*find)(const sis__evaluation *ev, size_t subject, const sis_model *model,
                const sis_opt *opt, double *numbers);

    /* In the process that leads, one example after the other. */
    int (*keep)(sis__evaluation *ev, size_t subject, const double *numbers);
} sis__measuring;
int sis__evaluate_each(sis__evaluation *ev, const sis__measuring *m);

/* How many rationales an example has, of all methods; each of them alone, as parts of the input. */
size_t sis__n_alone(const sis__evaluation *ev, size_t subject);
void sis__alone(const sis__evaluation *ev, size_t subject, const sis_input *input, sis_part *parts);

/* Everything as *ev->out has it. */
int sis__evaluate_summary(sis__evaluation *ev);

#endif
