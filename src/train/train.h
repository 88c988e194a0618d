/* SPDX-License-Identifier: MIT
 *
 * Internals of the trainer.
 *
 *     arch.c   networks by name
 *     opt.c    options, losses, optimizers
 *     fit.c    how well scores fit targets
 *     shard.c  one shard of a batch: rows in, loss and gradients out
 *     pad.c    LSTM states over padding, once per update
 *     step.c   one update: shards in parallel, ordered sums, the optimizer
 *     train.c        the trainer: epochs, the best weights, the network at the end
 *     save.c   checkpoints
 *     files.c  from files to rows and targets
 *     record.c what the network carries: kind, labels, vocabulary, mask, how it was trained
 *
 * All trained parameters are numbered consecutively, as if concatenated into one array; a parameter
 * has the same offset in gradients, optimizer slots and copies. The embedding matrix comes last:
 * its gradient has few nonzero rows and is stored separately.
 */
#ifndef SIS_TRAIN_TRAIN_H
#define SIS_TRAIN_TRAIN_H

#include <sis/train.h>

#include "net/plan/net.h"

/* Initializers of training networks that are not trained. */
#define SIS__DROP_PREFIX "drop."
#define SIS__STATE_PREFIX "state."

enum {
    SIS__SHARD_ROWS = 32,
    SIS__STATES = 4,       /* h and c of two LSTM layers */
    SIS__SEGMENT = 25,     /* words of padding computed at a time */
    SIS__PART_SIZE = 32768 /* parameters one thread updates at a time */
};

int sis__arch_build(const sis_arch *arch, uint64_t seed, int training, sis_net **out);

/* ---- Losses and optimisers ------------------------------------------------------------------ */

/* Input of a loss: z (n) before the last activation, and the target. */
typedef struct sis__row_loss {
    sis_loss loss;
    int plain; /* scores are z itself */
    size_t n;
    const float *z, *target; /* target (1): class number for cross-entropy, else (n) */
} sis__row_loss;

/* The loss of one row; its gradient times `scale` goes to dz unless that is NULL. */
double sis__loss(const sis__row_loss *r, double scale, float *dz);

/* The scores for z: softmax, sigmoid or z itself. */
void sis__scores(const sis__row_loss *r, double *scores);

/* Update number `step` (from 1) of one parameter array. sis__optimizer_slots gives the number of
 * slots. */
typedef struct sis__update {
    const sis_train_opt *opt;
    size_t step;
    size_t n;
    float *w;
    const float *d;
    float *slots[2];
} sis__update;

size_t sis__optimizer_slots(const sis_train_opt *opt);
void sis__optimizer_update(const sis__update *u);

/* ---- How well it fits ------------------------------------------------------------------------ */

/* scores (n, outputs), losses (n) -> fit */
typedef struct sis__judged {
    const sis_examples *examples;
    const double *scores, *losses;
    size_t outputs;
    sis_loss loss;
} sis__judged;

int sis__fit_measure(const sis__judged *j, sis_fit *fit);

/* ---- Trainer --------------------------------------------------------------------------------- */

typedef struct sis__trained { /* a parameter */
    int value;                /* in the training network */
    size_t at, count;         /* offset among all parameters */
    float *w;                 /* its values, in the training network's document */
} sis__trained;

/* A part of a parameter, updated by one thread. */
typedef struct sis__param_part {
    size_t param, from, count;
} sis__param_part;

/* Plans by rows and length. */
typedef struct sis__shape_plan {
    size_t rows, length;
    sis__plan *plan;
    struct sis__shape_plan *next;
} sis__shape_plan;

typedef struct sis__shard {
    const sis__plan *plan;
    const size_t *rows; /* (n) of the examples */
    size_t n, start;    /* text: first computed position of a row */
    size_t first_row;   /* for dropout */
    float *d;           /* (dense + states) gradients */
    float **grads;      /* (n_tensors) where each initializer's gradient is in d */
    float *d_embedded;  /* (n, length, dim) */
    size_t cap_embedded;
    double *losses; /* (SHARD_ROWS) */
    double *scores; /* (SHARD_ROWS, outputs) */
} sis__shard;

/* Padding before the first word, in segments. */
typedef struct sis__segment {
    sis__memory memory;
    sis__run *run;
} sis__segment;

typedef struct sis__padding {
    int states[SIS__STATES];  /* initializers that LSTM layers start from */
    int outputs[SIS__STATES]; /* and their final states */
    sis__plan *plan;          /* one row, one segment */
    size_t n;                 /* maximum number of segments of a row */
    size_t used;              /* in this update */
    sis__segment *segments;   /* (n) */
    float *at;                /* (n + 1, states, hidden) states before each segment */
    float *d_at;              /* their gradients */
    float *d;                 /* (dense + states) gradients of all segments together */
    float **grads;            /* (n_tensors) */
    float *d_pad;             /* (dim) gradient of the padding's embedding */
} sis__padding;

/* The network in training form and its trained parameters. */
typedef struct sis__weights {
    sis_net *net;
    sis__trained *params;
    size_t n_params, n_dense, n_all; /* parameters; their values without and with the embedding */
    size_t n_state;                  /* values of LSTM states, 0 without */
    int embedding;                   /* index of the embedding parameter; -1: none */
    sis__param_part *parts;
    size_t n_parts;
    float *slots[2];     /* (n_all) optimizer state */
    float *best;         /* (n_all) weights of the best epoch */
    float *d_embedding;  /* (words, dim) */
    float *mean, *scale; /* (inputs) for a standardized table */
} sis__weights;

/* One update or evaluation. */
typedef struct sis__pass {
    size_t lengths; /* 1: leading padding of text rows is skipped */
    sis__shape_plan *plans;
    sis__memory *memory; /* (jobs) */
    sis__shard *shards;
    size_t n_shards;    /* allocated */
    size_t used_shards; /* in this update */
    size_t *order;      /* (train n) order of rows in this epoch */
    size_t *batch;      /* rows of this update, sorted by length */
    sis__padding padding;
    const sis_examples *now; /* its examples */
    int learning;            /* compute gradients, apply dropout */
    double loss_scale;
} sis__pass;

/* Position in the training. */
typedef struct sis__position {
    size_t epoch, done; /* completed epochs; rows done of the next epoch */
    size_t step;        /* updates */
    double loss_sum;    /* of the current epoch */
    double seconds;     /* of the current epoch */
    sis_epoch *curve;   /* (epoch) */
    size_t cap_curve, best_epoch;
} sis__position;

struct sis_trainer {
    sis_arch arch;
    sis_train_opt opt;
    int jobs;
    const sis_examples *train, *valid;
    sis_examples train_copy, valid_copy;
    sis__weights weights;
    sis__pass pass;
    sis__position at;
};

void sis__shards_free(sis_trainer *t);

/* Divide rows (borrowed, sorted here by length) of t->pass.now into shards. */
int sis__shards_cut(sis_trainer *t, size_t *rows, size_t n, size_t first_row);

/* For sis__parallel: forward and, when learning, backward pass of shard `item`. */
int sis__shard_run(void *trainer, size_t item, int worker);

/* States and gradients over padding, before and after the shards of an update. */
int sis__padding_new(sis_trainer *t);
void sis__padding_free(sis__padding *p);
int sis__padding_forward(sis_trainer *t);
int sis__padding_backward(sis_trainer *t);

/* Set grads[value] to the gradient of each dense parameter and state in d. */
void sis__point_grads(const sis_trainer *t, float *d, float **grads);

/* Scores and losses of rows, or one update with them. May reorder rows. */
int sis__train_forward(sis_trainer *t, size_t *rows, size_t n, size_t first_row);
int sis__train_update(sis_trainer *t, size_t *rows, size_t n, size_t first_row);

/* Record the current weights as the best, of this epoch. */
void sis__keep_weights(sis_trainer *t, size_t epoch);

#endif
