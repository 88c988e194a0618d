/* SPDX-License-Identifier: MIT
 *
 * sis/train.h - training of networks: the paper's architectures by name, losses, optimisers,
 * trainer.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_arch arch;
 *     sis_train_opt opt;
 *     if (sis_arch_init(&arch, "mnist-mlp") != 0)
 *         die(sis_error_detail());
 *     sis_train_opt_init(&opt, &arch);                        // the paper's recipe
 *     sis_trainer *t;
 *     sis_trainer_new(&arch, &opt, &train, &valid, &t);
 *     while (!sis_trainer_done(t) && sis_trainer_epoch(t) == 0)
 *         printf("%g\n", sis_trainer_curve(t, NULL)[0].loss);
 *     sis_net *net;
 *     sis_trainer_finish(t, &net);                            // the best weights, ready to write
 *     sis_trainer_free(t);
 *
 * The same seed, options and data give the same weights to the bit, for any number of threads, also
 * if training is saved, killed and resumed.
 *
 * A batch is split into shards of 32 rows; each shard sums its gradients, and the sums are added in
 * shard order. Rows of text models are padded on the left with token 0. The state of an LSTM after
 * padding alone is the same in every row, so it is computed once per update. A convolution sees at
 * most one window of padding. Both give the results of full rows.
 *
 * Threads: one thread at a time uses a trainer.
 */
#ifndef SIS_TRAIN_H
#define SIS_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#include <sis/data.h>
#include <sis/net.h>
#include <sis/text.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Architectures ------------------------------------------------------------------------- */

/* Sizes of a network. sis_arch_init sets the paper's; change them for your data. */
typedef struct sis_arch {
    const char *name; /* static */
    size_t inputs;    /* per row: values (mlp, linear), bases (dna-cnn) or words (text-*) */
    size_t outputs;   /* scores per row: classes, or 1 for one probability or number */
    size_t words;     /* text: vocabulary, token 0 is padding */
    size_t dim;       /* text: embedding */
    size_t hidden;    /* units of a layer: mlp, mnist-mlp, text-lstm */
    size_t filters, width; /* convolution: dna-cnn, text-cnn */
    size_t dense;          /* units after a convolution: mnist-cnn, dna-cnn */
    double dropout[2];     /* share of units dropped in training, first place and second */
    int plain_output;      /* no Softmax or Sigmoid at the end: scores are any numbers */
    int standardize; /* mlp, linear: train on (x - mean) / deviation; the written network takes raw
                        x, its first layer contains the factors */
} sis_arch;

/* The paper's sizes of "mnist-cnn", "mnist-mlp", "dna-cnn", "text-lstm" or "text-cnn", and minimal
 * sizes of "mlp" and "linear". SIS_E_ARGUMENT lists the names if it is none of them. */
int sis_arch_init(sis_arch *arch, const char *name);

/* NULL, or why these sizes are invalid. */
const char *sis_arch_check(const sis_arch *arch);

/* A network of these sizes with random weights, initialised as in Keras: Glorot uniform, embeddings
 * uniform in +-0.05, recurrent weights orthogonal, biases 0, forget gates' biases 1. */
int sis_arch_build(const sis_arch *arch, uint64_t seed, sis_net **out);

/* ---- Options --------------------------------------------------------------------------------- */

typedef enum sis_loss {
    SIS_LOSS_CROSS_ENTROPY, /* softmax over the outputs; targets are class numbers */
    SIS_LOSS_BINARY,        /* sigmoid of each output; targets 0 to 1 */
    SIS_LOSS_MSE            /* squares of score - target */
} sis_loss;

typedef enum sis_optimizer { SIS_SGD, SIS_ADAM, SIS_ADADELTA } sis_optimizer;

typedef struct sis_train_opt {
    sis_loss loss;
    sis_optimizer optimizer;
    double rate;     /* learning rate */
    double momentum; /* SGD: momentum; Adam: beta 1; Adadelta: rho */
    double beta2;    /* Adam */
    double epsilon;  /* Adam, Adadelta */
    size_t epochs;   /* at most */
    size_t batch;    /* rows per update */
    size_t patience; /* with validation rows: stop after this number of epochs without a lower
                        loss */
    int keep_last;   /* the result is the last epoch, whatever the validation loss */
    uint64_t seed;   /* of weights, order of rows and dropout */
    int jobs;        /* threads; 0: one per core */
    int full_rows;   /* text: compute padding like any other word (slow, the same result) */

    /* Called after every update; nonzero stops sis_trainer_epoch with SIS_E_CANCELLED. A later call
     * continues from there. */
    int (*progress)(void *ctx, size_t rows_done, size_t rows, double loss);
    void *progress_ctx;
} sis_train_opt;

/* The paper's recipe for an architecture; mean squared error with a plain output. */
void sis_train_opt_init(sis_train_opt *opt, const sis_arch *arch);

/* Keras' defaults of an optimiser: rate, momentum, beta2, epsilon. */
void sis_train_opt_use(sis_train_opt *opt, sis_optimizer optimizer);

/* NULL, or why these options are invalid. */
const char *sis_train_opt_check(const sis_train_opt *opt);

/* ---- Data ------------------------------------------------------------------------------------ */

/* Training or evaluation examples; borrowed. */
typedef struct sis_examples {
    const float *rows;    /* (n, n_values); token ids in text models, padded on the left with 0 */
    const float *targets; /* cross-entropy: (n) class numbers; else (n, outputs) */
    size_t n, n_values;
} sis_examples;

/* Quality of predictions. Measures that do not apply are NaN. */
typedef struct sis_fit {
    size_t n;
    double loss;
    double accuracy;    /* share of correct classes; with one output, of correct sides of 0.5 */
    double auc;         /* one output: area under the ROC curve */
    double mse;         /* mean squared error, if targets are numbers */
    double correlation; /* one output: Pearson's, of scores and targets */
} sis_fit;

/* ---- Training -------------------------------------------------------------------------------- */

typedef struct sis_trainer sis_trainer;

/* One epoch of the learning curve. */
typedef struct sis_epoch {
    double loss;   /* mean over the training rows, each at the time of its batch */
    sis_fit valid; /* n = 0 without validation rows */
    double seconds;
} sis_epoch;

/* valid may be NULL. Arch and options are copied; examples must live as long as the trainer. */
int sis_trainer_new(const sis_arch *arch, const sis_train_opt *opt, const sis_examples *train,
                    const sis_examples *valid, sis_trainer **out);
void sis_trainer_free(sis_trainer *t);

/* Train on all rows once, then evaluate the validation rows. A loss that is not finite is an error
 * with advice. */
int sis_trainer_epoch(sis_trainer *t);

/* 1 after the last epoch, or after `patience` epochs without a lower validation loss. */
int sis_trainer_done(const sis_trainer *t);

/* The epochs so far; *n is their number. */
const sis_epoch *sis_trainer_curve(const sis_trainer *t, size_t *n);

/* The epoch (from 0) whose weights are the result so far: of the lowest validation loss, or the
 * last. SIZE_MAX before the first epoch is complete. */
size_t sis_trainer_best(const sis_trainer *t);

/* Evaluate the weights of the best epoch, or the current ones before there is one. */
int sis_trainer_evaluate(sis_trainer *t, const sis_examples *examples, sis_fit *fit);

/* The network with the best weights: no dropout, raw inputs. */
int sis_trainer_finish(sis_trainer *t, sis_net **net);

/* Save the whole state atomically. Loading requires the same arch, options (except epochs,
 * patience, keep_last and jobs) and data: SIS_E_FORMAT. A trainer whose load failed can only be
 * freed. */
int sis_trainer_save(const sis_trainer *t, const char *path);
int sis_trainer_load(sis_trainer *t, const char *path);

/* ---- From files ------------------------------------------------------------------------------ */

/* Options of sis train; zero it, then set fields. Strings are borrowed. */
typedef struct sis_training_opt {
    const char *input, *labels; /* the examples; a file with their labels, NULL: they have labels */
    const char *rows;           /* as in sis_rows_parse; NULL: all */
    const char *test, *test_labels; /* the same for the test examples; NULL: none */
    sis_data_opt read;              /* label, id and columns of these files */
    const char *loss;               /* "cross-entropy", "binary", "mse"; NULL: by the labels */
    const char *range;    /* "LOW:HIGH": labels are numbers, scaled to 0 to 1; NULL: unscaled */
    double validation;    /* share of the examples held out */
    size_t words, length; /* text: size of the vocabulary, words per row; 0: the architecture's */
    uint64_t seed;        /* of the choice of held-out examples */
} sis_training_opt;

typedef struct sis_training_file {
    const char *path;
    sis_data *data;
    size_t *picked; /* (n) example numbers in the file */
    size_t n, width;
    float *rows;    /* (n, width) */
    float *targets; /* (n) */
} sis_training_file;

/* The examples of the files, with sizes and options that fit them. These may be changed before a
 * trainer is created. */
typedef struct sis_training_set {
    const sis_training_opt *from; /* borrowed */
    sis_arch arch;
    sis_train_opt opt;
    sis_examples learn, valid, test; /* n = 0: none */
    double low, high;                /* range: the labels of targets 0 and 1 */
    char **classes;                  /* (n_classes) sorted labels; NULL: targets are numbers */
    size_t n_classes;
    sis_vocabulary *vocabulary;         /* text */
    sis_training_file train, test_file; /* learn and valid are parts of train */
} sis_training_set;

/* Read the files, determine sizes, encode, split. Release the set even after a failure. */
int sis_training_set_open(const sis_training_opt *from, const char *arch, sis_training_set *set);
void sis_training_set_release(sis_training_set *set);

/* Evaluate the test examples (test->n = 0: none) and create the network with its metadata: kind,
 * labels, vocabulary or names, mask, training. */
int sis_training_set_finish(const sis_training_set *set, sis_trainer *t, sis_fit *test,
                            sis_net **net);

#ifdef __cplusplus
}
#endif
#endif
