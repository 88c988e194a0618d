/* SPDX-License-Identifier: MIT
 *
 * evaluate.h - internal state of an evaluation of several methods.
 *
 *     evaluate.c          checks of files; order of the steps
 *     evaluate_model.c    measurements by the model, per example
 *     evaluate_trials.c   rationales under other masks; metrics; comparison of masks
 *     evaluate_summary.c  samples, tests between methods, summaries
 *     evaluation_json.c   sis_evaluation as JSON
 *
 * A rationale is one subset of one example by one method. Missing measurements are NaN.
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
    size_t n_items, *first;         /* (examples + 1) index of the first rationale of an example */
    sis_faithfulness *faithfulness; /* (examples), with metrics */
    size_t kept[SIS_N_CUTS];        /* number of draws, over all rationales, that stayed
                                       sufficient */
} sis__method;

/* One example that every method explains. */
typedef struct sis__subject {
    const sis_record *record; /* the first method's */
    sis_input input;          /* with a model: its input, with the record's output */
    size_t at;                /* its index in the task */
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
    sis__held *held; /* memory of *out and more */
    sis__method *methods;
    size_t n_methods;
    sis__subject *subjects;
    size_t n_subjects;
    sis__loaded all, second; /* with a model; with a second mask */
    int token;               /* the model takes token ids */
    sis_input *donors;       /* of the hot deck */
    sis_deck *deck;          /* open while needed */
    sis_motifs motifs;
    sis_evaluation *out;
} sis__evaluation;

/* 1 if the score suffices for the record's decision, else 0. */
double sis__is_enough(const sis_record *r, double score);
int sis__is_marked(const sis_record *r);

int sis__loaded_open(sis__loaded *l, sis_task *task);
void sis__loaded_close(sis__loaded *l);

/* Scores of the rationales, importance of features, scores of marked features. */
int sis__evaluate_model(sis__evaluation *ev);
int sis__evaluate_robust(sis__evaluation *ev);
int sis__evaluate_metrics(sis__evaluation *ev);
int sis__evaluate_imputation(sis__evaluation *ev);

/* A measurement by the model for each example. */
typedef struct sis__measuring {
    const sis__loaded *asked;                                   /* whose model is used */
    size_t (*count)(const sis__evaluation *ev, size_t subject); /* number of values */

    /* Compute `numbers` on a thread with its own model, in any process. */
    int (*find)(const sis__evaluation *ev, size_t subject, const sis_model *model,
                const sis_opt *opt, double *numbers);

    /* Store them in the leading process, one example after the other. */
    int (*keep)(sis__evaluation *ev, size_t subject, const double *numbers);
} sis__measuring;
int sis__evaluate_each(sis__evaluation *ev, const sis__measuring *m);

/* The number of rationales of an example over all methods; these rationales as parts of the
 * input. */
size_t sis__n_alone(const sis__evaluation *ev, size_t subject);
void sis__alone(const sis__evaluation *ev, size_t subject, const sis_input *input, sis_part *parts);

/* Fill *ev->out. */
int sis__evaluate_summary(sis__evaluation *ev);

#endif
