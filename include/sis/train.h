/* SPDX-License-Identifier: MIT
 *
 * sis/train.h - training: the paper's architectures by name, losses, optimisers, and the loop.
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
 * What it promises: the same seed, options and data give the same weights to the bit, whatever the
 * number of threads, and also when a training is saved, killed and loaded in between.
 *
 * A batch is cut into shards of 32 rows; each shard has its own sum of gradients, and the sums are
 * added in the order of shards. In text models rows are padded on the left with token 0. The state
 * of an LSTM behind padding alone is the same in every row, so it is computed once an update, and a
 * convolution sees no more padding than one window; both give the results of full rows.
 *
 * Threads: a trainer belongs to one thread at a time.
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

/* Sizes of a network. sis_arch_init fills in the paper's; change what your data needs. */
typedef struct sis_arch {
    const char *name; /* static */
    size_t inputs;    /* values of a row (mlp, linear), bases (dna-cnn) or words (text-*) of one */
    size_t outputs;   /* scores of a row: classes, or 1 for one probability or one number */
    size_t words;     /* text: vocabulary, token 0 is padding */
    size_t dim;       /* text: embedding */
    size_t hidden;    /* units of a layer: mlp, mnist-mlp, text-lstm */
    size_t filters, width; /* convolution: dna-cnn, text-cnn */
    size_t dense;          /* units behind a convolution: mnist-cnn, dna-cnn */
    double dropout[2];     /* share of units dropped in training, first place and second */
    int plain_output;      /* no Softmax or Sigmoid at the end: scores are any numbers */
    int standardize; /* mlp, linear: train on (x - mean) / deviation; the written network takes
                              plain x, the factors lie in its first layer */
} sis_arch;

/* The paper's sizes of "mnist-cnn", "mnist-mlp", "dna-cnn", "text-lstm" or "text-cnn", and the
 * least of "mlp" and "linear". SIS_E_ARGUMENT with the names there are if it is none of them. */
int sis_arch_init(sis_arch *arch, const char *name);

/* NULL, or what is wrong with these sizes. */
const char *sis_arch_check(const sis_arch *arch);

/* A network of these sizes with random weights, as Keras draws them: Glorot uniform, embeddings
 * uniform in +-0.05, recurrent weights orthogonal, biases 0 but the forget gates' 1. */
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
    size_t batch;    /* rows of an update */
    size_t patience; /* with validation rows: stop after so many epochs without a lower loss */
    int keep_last;   /* the best epoch is the last one, whatever the validation rows say */
    uint64_t seed;   /* of weights, order of rows and dropout */
    int jobs;        /* threads; 0: one a core */
    int full_rows;   /* text: compute padding like any other word (slow, the same result) */

    /* Called after every update; anything but 0 stops sis_trainer_epoch with SIS_E_CANCELLED, from
     * where a later call continues. */
    int (*progress)(void *ctx, size_t rows_done, size_t rows, double loss);
    void *progress_ctx;
} sis_train_opt;

/* The paper's recipe for an architecture; mean squares if it has a plain output. */
void sis_train_opt_init(sis_train_opt *opt, const sis_arch *arch);

/* Keras' defaults of an optimiser: rate, momentum, beta2, epsilon. */
void sis_train_opt_use(sis_train_opt *opt, sis_optimizer optimizer);

/* NULL, or what is wrong with these options. */
const char *sis_train_opt_check(const sis_train_opt *opt);

/* ---- Data ------------------------------------------------------------------------------------ */

/* Examples to learn from or to be judged by; borrowed. */
typedef struct sis_examples {
    const float *rows;    /* (n, n_values); token ids in text models, padded on the left with 0 */
    const float *targets; /* cross-entropy: (n) class numbers; else (n, outputs) */
    size_t n, n_values;
} sis_examples;

/* How well scores fit targets. What does not apply is NaN. */
typedef struct sis_fit {
    size_t n;
    double loss;
    double accuracy;    /* share of right classes; of right sides of 0.5 with one output */
    double auc;         /* one output: area under the ROC curve */
    double mse;         /* mean square of score - target, where targets are numbers */
    double correlation; /* one output: Pearson's, of scores and targets */
} sis_fit;

/* ---- Training -------------------------------------------------------------------------------- */

typedef struct sis_trainer sis_trainer;

/* One epoch of the learning curve. */
typedef struct sis_epoch {
    double loss;   /* mean over the training rows, each as it was when its batch came */
    sis_fit valid; /* n = 0 without validation rows */
    double seconds;
} sis_epoch;

/* valid may be NULL. Arch and options are copied; examples must live as long as the trainer. */
int sis_trainer_new(const sis_arch *arch, const sis_train_opt *opt, const sis_examples *train,
                    const sis_examples *valid, sis_trainer **out);
void sis_trainer_free(sis_trainer *t);

/* Go through the training rows once, then look at the validation rows. A loss that is not finite
 * is an error that says what to try. */
int sis_trainer_epoch(sis_trainer *t);

/* Are there enough epochs, or too many without a lower validation loss? */
int sis_trainer_done(const sis_trainer *t);

/* The epochs so far; *n how many. */
const sis_epoch *sis_trainer_curve(const sis_trainer *t, size_t *n);

/* The epoch (from 0) whose weights are the result so far: of the lowest validation loss, or the
 * last. SIZE_MAX before the first is complete. */
size_t sis_trainer_best(const sis_trainer *t);

/* Judge the weights of the best epoch, or those of the moment before there is one. */
int sis_trainer_evaluate(sis_trainer *t, const sis_examples *examples, sis_fit *fit);

/* The network with the best weights: no dropout, raw inputs. */
int sis_trainer_finish(sis_trainer *t, sis_net **net);

/* Everything that is needed to go on, written whole or not at all. Loading checks that arch,
 * options (but for epochs, patience, keep_last and jobs) and the data are those of the file:
 * SIS_E_FORMAT. A trainer whose load failed can only be freed. */
int sis_trainer_save(const sis_trainer *t, const char *path);
int sis_trainer_load(sis_trainer *t, const char *path);

/* ---- From files ------------------------------------------------------------------------------ */

/* What sis train is asked for; zeroed, then filled by the caller. Strings are borrowed. */
typedef struct sis_training_opt {
    const char *input, *labels; /* the examples; a file with their labels, NULL: they have labels */
    const char *rows;           /* as sis_rows_parse takes it; NULL: all */
    const char *test, *test_labels; /* the same to judge the result by; NULL: none */
    sis_data_opt read;              /* label, id and columns of these files */
    const char *loss;               /* "cross-entropy", "binary", "mse"; NULL: by the labels */
    const char *range;    /* "LOW:HIGH": labels are numbers, learnt as 0 to 1; NULL: as they are */
    double validation;    /* share of the examples that is held out */
    size_t words, length; /* text: vocabulary, words of a row; 0: the architecture's */
    uint64_t seed;        /* of what is held out */
} sis_training_opt;

typedef struct sis_training_file {
    const char *path;
    sis_data *data;
    size_t *picked; /* (n) example numbers in the file */
    size_t n, width;
    float *rows;    /* (n, width) */
    float *targets; /* (n) */
} sis_training_file;

/* The files as examples, with the sizes and options that fit them, which may be changed before a
 * trainer is made. */
typedef struct sis_training_set {
    const sis_training_opt *from; /* borrowed */
    sis_arch arch;
    sis_train_opt opt;
    sis_examples learn, valid, test; /* n = 0: none */
    double low, high;                /* range: what targets 0 and 1 stand for */
    char **classes;                  /* (n_classes) sorted labels; NULL: targets are numbers */
    size_t n_classes;
    sis_vocabulary *vocabulary;         /* text */
    sis_training_file train, test_file; /* learn and valid are parts of train */
} sis_training_set;

/* Read the files, find sizes, encode, split. Release the set in any case. */
int sis_training_set_open(const sis_training_opt *from, const char *arch, sis_training_set *set);
void sis_training_set_release(sis_training_set *set);

/* Judge the test examples (test->n = 0 without) and make the network with everything that it takes
 * to use it: kind, labels, vocabulary or names, mask, and how it was trained. */
int sis_training_set_finish(const sis_training_set *set, sis_trainer *t, sis_fit *test,
                            sis_net **net);

#ifdef __cplusplus
}
#endif
#endif
