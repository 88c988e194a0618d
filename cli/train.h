/* SPDX-License-Identifier: MIT
 *
 * train.h - what the files of `sis train` share.
 *
 *     train.c         options, the loop, progress, the learning curve
 *     train_data.c    from files to rows and targets
 *     train_record.c  what the model carries: kind, labels, vocabulary, mask, how it was trained
 */
#ifndef SIS_CLI_TRAIN_H
#define SIS_CLI_TRAIN_H

#include <sis/data.h>
#include <sis/train.h>

#include "cli.h"

typedef struct cli_train_options {
    const char *input, *label, *labels, *id, *rows, *test, *test_labels;
    const char *output, *curve;
    const char *loss, *optimizer, *range, *keep;
    double rate, momentum, validation, dropout;
    size_t epochs, batch, patience, seed, jobs;
    size_t words, length, hidden;
    const char *categorical, *types, *missing;
    int no_header, resume;
    int force;
    cli_common common;
} cli_train_options;

/* Examples out of a file, as rows of what the network takes. */
typedef struct cli_examples {
    const char *path;
    sis_data *data;
    sis_data *labels; /* of a file of labels, else NULL */
    size_t *picked;   /* (n) example numbers in the file */
    size_t n, width;
    float *rows;    /* (n, width) */
    float *targets; /* (n) */
} cli_examples;

/* What is known after the training file has been read. */
typedef struct cli_training_set {
    const cli_train_options *o;
    sis_arch arch;
    sis_train_opt opt;
    double low, high; /* --range: what targets 0 and 1 stand for */
    char **classes;   /* (n_classes) sorted labels; NULL where targets are numbers */
    size_t n_classes;
    sis_vocabulary *vocabulary; /* text */
    cli_examples train, test;   /* test.n = 0: none */
    sis_examples learn, valid;  /* parts of train; valid.n = 0: none */
} cli_training_set;

/* Read the files, find sizes, encode, split. CLI_DONE or an exit status after one line. */
int cli_training_set_open(cli_training_set *l, const char *arch, const cli_train_options *o);
void cli_training_set_close(cli_training_set *l);

/* Put into the network what it takes to use it. */
int cli_train_attach_metadata(const cli_training_set *l, sis_trainer *t, const sis_fit *test,
                              sis_net *net);

/* The scores that say most about this kind of training, as text: "accuracy 0.991". */
void cli_fit_text(const cli_training_set *l, const sis_fit *fit, char *text, size_t size);

#endif
