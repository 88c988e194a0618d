/* SPDX-License-Identifier: MIT
 *
 * sis train: trains a network on labelled examples and writes a self-contained ONNX file.
 *
 * A checkpoint, OUTPUT.train, is written after every epoch and every minute, and removed at the
 * end. --resume continues from it.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <sis/train.h>

#include "output.h"
#include "task.h"

typedef struct {
    sis_training_opt from;
    const char *categorical, *missing; /* converted to from.read */
    const char *output, *curve;
    const char *optimizer, *keep;
    double rate, dropout;
    size_t epochs, batch, patience, seed, jobs, hidden;
    int resume, force;
    cli_common common;
} train_options;

static const cli_option options[] = {
    CLI_HEADING("Input"),
    {"input", 'i', "FILE", CLI_STRING(train_options, from.input),
     "the examples: .csv, .npy, .txt, .jsonl ...", .required = 1,
     .more = "Any format that sis explain reads."},
    CLI_LABEL(
        train_options, from.read.label,
        .more =
            "Give the name of the column, or its number from 0 in a .tsv of texts without a "
            "header. The examples of --test must have it too. Not needed if the labels are in a "
            ".jsonl, or in a file beside images or DNA."),
    {"labels", 'l', "FILE", CLI_STRING(train_options, from.labels),
     "file of labels, instead of a column",
     .more = "One label for each example: a table with one column, .npy, IDX; or a table of names "
             "and labels, as for sis explain."},
    CLI_ID(train_options, from.read.id, .more = "The column is not used for training."),
    CLI_CATEGORICAL(train_options, categorical),
    CLI_TYPES(train_options, from.read.types),
    CLI_NO_HEADER(train_options, from.read.no_header),
    {"missing", 0, "HOW", CLI_CHOICE(train_options, missing), "missing values",
     .choices = "mean median error",
     .more = "How to fill an empty cell, NA or NaN: with the mean or median of the other rows of "
             "the file; for words, with the most frequent one."},
    CLI_ROWS(train_options, from.rows),
    {"test", 0, "FILE", CLI_STRING(train_options, from.test), "test examples"},
    {"test-labels", 0, "FILE", CLI_STRING(train_options, from.test_labels),
     "file with the labels of --test"},
    {"validation", 0, "SHARE", CLI_NUMBER(train_options, from.validation),
     "share of the examples held out for validation", .max = 0.9},
    CLI_HEADING("Method"),
    {"epochs", 0, "N", CLI_COUNT(train_options, epochs), "number of passes over the data",
     .unset = "by architecture", .max = 1e6},
    {"patience", 0, "N", CLI_COUNT(train_options, patience),
     "number of epochs without progress before training stops", .unset = "by architecture",
     .max = 1e6, .more = "Training stops after this many epochs without a lower validation loss."},
    {"keep", 0, "EPOCH", CLI_CHOICE(train_options, keep), "epoch whose weights are written",
     .choices = "best last", .unset = "best",
     .more = "best: the epoch with the lowest validation loss. last: the last epoch."},
    {"batch", 'b', "N", CLI_COUNT(train_options, batch), "number of examples in an update",
     .unset = "by architecture", .max = 65536},
    {"loss", 0, "LOSS", CLI_CHOICE(train_options, from.loss), "loss",
     .choices = "cross-entropy binary mse", .unset = "by labels"},
    {"range", 0, "LOW:HIGH", CLI_STRING(train_options, from.range),
     "labels are numbers in this range, learned as 0 to 1"},
    {"optimizer", 0, "NAME", CLI_CHOICE(train_options, optimizer), "optimizer",
     .choices = "sgd adam adadelta", .unset = "by architecture"},
    {"rate", 0, "R", CLI_NUMBER(train_options, rate), "learning rate", .unset = "the optimizer's"},
    {"dropout", 0, "SHARE", CLI_NUMBER(train_options, dropout), "share of units dropped",
     .unset = "by architecture", .more = "Before the last layer."},
    {"words", 0, "N", CLI_COUNT(train_options, from.words), "size of the vocabulary of texts",
     .unset = "10000", .max = 1e6},
    {"length", 0, "N", CLI_COUNT(train_options, from.length),
     "length of texts (last words) or DNA (middle)", .unset = "500; DNA as it is", .max = 1e5,
     .more = "Only the last N words of a text are used. Longer DNA is cropped equally at both "
             "ends, shorter DNA is padded with N."},
    {"hidden", 0, "N", CLI_COUNT(train_options, hidden), "number of units of mlp or text-lstm",
     .unset = "by architecture", .max = 1e5},
    CLI_SEED(train_options, seed,
             .more = "For initial weights, order, dropout and the held-out part."),
    CLI_JOBS(train_options, jobs, "threads"),
    CLI_HEADING("Output"),
    {"output", 'o', "FILE.onnx", CLI_STRING(train_options, output), "file for the network",
     .writes = CLI_WRITES_FILE, .required = 1},
    {"curve", 0, "FILE.csv", CLI_STRING(train_options, curve), "write the learning curve",
     .writes = CLI_WRITES_FILE},
    {"resume", 0, NULL, CLI_FLAG(train_options, resume),
     "continue from the checkpoint OUTPUT.train"},
    CLI_FORCE(train_options, force),
    CLI_GROUP(train_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    train_options *o = p;
    o->seed = 1;
    o->rate = o->dropout = NAN;
    sis_data_opt_init(&o->from.read);
}

/* ---- Converting options ---------------------------------------------------------------------- */

typedef struct {
    const train_options *o;
    sis_training_opt from;
    sis_training_set set;
} training;

static void fill_options(const train_options *o, sis_training_opt *from) {
    *from = o->from;
    from->seed = o->seed;
    from->read.length = from->length;
    cli_categorical(o->categorical, &from->read);
    if (o->missing && strcmp(o->missing, "error") != 0)
        from->read.missing =
            strcmp(o->missing, "mean") == 0 ? SIS_MISSING_MEAN : SIS_MISSING_MEDIAN;
}

static int settle(const train_options *o, sis_training_set *s) {
    sis_train_opt *p = &s->opt;
    if (o->optimizer)
        sis_train_opt_use(p, strcmp(o->optimizer, "sgd") == 0    ? SIS_SGD
                             : strcmp(o->optimizer, "adam") == 0 ? SIS_ADAM
                                                                 : SIS_ADADELTA);
    p->rate = isnan(o->rate) ? p->rate : o->rate;
    p->epochs = o->epochs ? o->epochs : p->epochs;
    p->batch = o->batch ? o->batch : p->batch;
    p->patience = o->patience ? o->patience : p->patience;
    p->keep_last = o->keep && strcmp(o->keep, "last") == 0;
    p->seed = o->seed;
    p->jobs = (int)o->jobs;
    if (!isnan(o->dropout))
        s->arch.dropout[1] = o->dropout;
    if (o->hidden && !s->arch.hidden)
        return cli_usage("--hidden: %s has no such layer", s->arch.name);
    if (o->hidden)
        s->arch.hidden = o->hidden;
    int dna = strcmp(s->arch.name, "dna-cnn") == 0;
    if ((o->from.words || (o->from.length && !dna)) && !s->vocabulary)
        return cli_usage("--words needs texts, --length needs texts or DNA; %s takes "
                         "neither",
                         s->arch.name);
    const char *wrong = sis_arch_check(&s->arch);
    wrong = wrong ? wrong : sis_train_opt_check(p);
    return wrong ? cli_usage("%s: %s", s->arch.name, wrong) : CLI_DONE;
}

/* A column with a different word in every row identifies rows; nothing can be learned from it. */
static int remark_names(int quiet, const sis_data *data) {
    const char *const *names = sis_data_feature_names(data);
    size_t rows = sis_data_count(data), width = names ? sis_data_width(data, 0) : 0, count = 0;
    int *map = cli_grab(width, sizeof *map);
    if (!map)
        return CLI_FAILED;
    if (names)
        sis_data_features(data, 0, map);
    for (size_t v = 0; v < width; v++) { /* the values of a column are adjacent */
        count = v > 0 && map[v] == map[v - 1] ? count + 1 : 1;
        if (rows > 1 && count == rows)
            cli_note(quiet,
                     "column \"%s\" is different in every row; if it is an id, "
                     "give --id %s",
                     names[map[v]], names[map[v]]);
    }
    free(map);
    return CLI_DONE;
}

/* ---- Progress -------------------------------------------------------------------------------- */

typedef struct {
    cli_progress bar;
    sis_trainer *t;
    char *checkpoint;
    time_t saved;
    int failed; /* writing a checkpoint failed */
} watcher;

static int save(watcher *w) {
    w->saved = time(NULL);
    return sis_trainer_save(w->t, w->checkpoint);
}

static int watch(void *ctx, size_t done, size_t rows, double loss) {
    watcher *w = ctx;
    (void)loss;
    sis_progress p = {.inputs_done = done, .inputs = rows};
    cli_progress_show(&w->bar, &p);
    if (time(NULL) - w->saved >= 60 && done < rows)
        w->failed = save(w) != SIS_OK;
    return w->failed;
}

/* The most important metrics for this kind of training: "accuracy 0.991". */
static void fit_text(const sis_training_set *s, const sis_fit *f, char *text, size_t size) {
    if (s->opt.loss == SIS_LOSS_MSE)
        snprintf(text, size, "MSE %.4f, correlation %.4f", f->mse, f->correlation);
    else if (s->arch.outputs == 1)
        snprintf(text, size, "accuracy %.4f, AUC %.4f", f->accuracy, f->auc);
    else
        snprintf(text, size, "accuracy %.4f", f->accuracy);
}

static void report(const training *l, const sis_epoch *e, size_t i) {
    char fit[80], valid[128] = "";
    if (e->valid.n) {
        fit_text(&l->set, &e->valid, fit, sizeof fit);
        snprintf(valid, sizeof valid, ", validation loss %.4f, %s", e->valid.loss, fit);
    }
    cli_note(l->o->common.quiet, "epoch %zu/%zu: loss %.4f%s, %.1f s", i + 1, l->set.opt.epochs,
             e->loss, valid, e->seconds);
}

static int write_curve(const char *path, sis_trainer *t) {
    size_t n;
    const sis_epoch *c = sis_trainer_curve(t, &n);
    cli_output out;
    int status = n > 1 ? cli_output_rewrite(&out, path) : cli_output_open(&out, path);
    if (status != CLI_DONE)
        return cli_output_close(&out, status);
    FILE *f = out.file;
    fprintf(f, "epoch,loss,validation_loss,accuracy,auc,mse,correlation,seconds\n");
    for (size_t i = 0; i < n; i++) {
        const double v[] = {c[i].loss,      c[i].valid.loss, c[i].valid.accuracy,
                            c[i].valid.auc, c[i].valid.mse,  c[i].valid.correlation,
                            c[i].seconds};
        fprintf(f, "%zu", i + 1);
        for (size_t k = 0; k < sizeof v / sizeof *v; k++)
            if (isnan(v[k]) || (k > 0 && k < 6 && c[i].valid.n == 0))
                fprintf(f, ",");
            else
                fprintf(f, ",%.6g", v[k]);
        fprintf(f, "\n");
    }
    return cli_output_close(&out, status);
}

/* ---- Training -------------------------------------------------------------------------------- */

static int one_epoch(const training *l, watcher *w) {
    size_t n;
    cli_progress_init(&w->bar, l->o->common.quiet);
    int error = sis_trainer_epoch(w->t);
    cli_progress_end(&w->bar);
    if (error)
        return cli_fail(error);
    const sis_epoch *curve = sis_trainer_curve(w->t, &n);
    report(l, &curve[n - 1], n - 1);
    int status = l->o->curve ? write_curve(l->o->curve, w->t) : CLI_DONE;
    return status == CLI_DONE && !sis_trainer_done(w->t) ? cli_fail(save(w)) : status;
}

static int finish(const training *l, sis_trainer *t) {
    char text[80];
    sis_fit test;
    sis_net *net;
    int status = cli_fail(sis_training_set_finish(&l->set, t, &test, &net));
    if (status == CLI_DONE)
        status = cli_fail(sis_net_write(net, l->o->output));
    sis_net_free(net);
    if (status == CLI_DONE && test.n) {
        fit_text(&l->set, &test, text, sizeof text);
        cli_note(l->o->common.quiet, "test: %s on %zu examples", text, test.n);
    }
    if (status == CLI_DONE)
        cli_note(l->o->common.quiet, "wrote %s with the weights of epoch %zu", l->o->output,
                 sis_trainer_best(t) + 1);
    return status;
}

static int train(training *l) {
    sis_training_set *s = &l->set;
    watcher w = {.saved = time(NULL)};
    size_t size = strlen(l->o->output) + 8;
    w.checkpoint = cli_grab(size, 1);
    if (!w.checkpoint)
        return CLI_FAILED;
    snprintf(w.checkpoint, size, "%s.train", l->o->output);
    s->opt.progress = watch;
    s->opt.progress_ctx = &w;
    int status = cli_refuse_output(w.checkpoint);
    if (status == CLI_DONE)
        status = cli_fail(
            sis_trainer_new(&s->arch, &s->opt, &s->learn, s->valid.n ? &s->valid : NULL, &w.t));
    if (status == CLI_DONE && l->o->resume && access(w.checkpoint, F_OK) == 0)
        status = cli_fail(sis_trainer_load(w.t, w.checkpoint));
    if (status == CLI_DONE) /* also checks early that the folder is writable */
        status = cli_fail(save(&w));
    while (status == CLI_DONE && !sis_trainer_done(w.t))
        status = one_epoch(l, &w);
    if (status == CLI_DONE)
        status = finish(l, w.t);
    if (status == CLI_DONE)
        remove(w.checkpoint);
    sis_trainer_free(w.t);
    free(w.checkpoint);
    return status;
}

static int run(const void *p, const cli_list *args) {
    const train_options *o = p;
    training l = {.o = o};
    sis_training_set *s = &l.set;
    if (!cli_ends_in(o->output, ".onnx"))
        return cli_usage("--output: expected a name ending in .onnx, found \"%s\"", o->output);
    fill_options(o, &l.from);
    int status = cli_fail(sis_training_set_open(&l.from, args->items[0], s));
    if (status == CLI_DONE)
        status = remark_names(o->common.quiet, s->train.data);
    if (status == CLI_DONE)
        status = settle(o, s);
    if (status == CLI_DONE) {
        cli_note(o->common.quiet, "%s: %zu examples, %zu held out, %zu to test", s->arch.name,
                 s->learn.n, s->valid.n, s->test.n);
        status = train(&l);
    }
    sis_training_set_release(s);
    return status;
}

const cli_command cli_train = {
    .name = "train",
    .summary = "train one of the paper's networks on your data",
    .options = options,
    .options_size = sizeof(train_options),
    .args = "mnist-cnn|mnist-mlp|dna-cnn|text-lstm|text-cnn|mlp|linear",
    .min_args = 1,
    .max_args = 1,
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis train mnist-mlp -i train-images-idx3-ubyte.gz -o mnist-mlp.onnx",
             "Train the paper's perceptron on MNIST; labels are read from the file beside the "
             "images."},
            {"sis train text-cnn -i train.jsonl.gz --validation 0.1 -o reviews.onnx",
             "Learn the labels of reviews; stop when the validation loss does not fall any more."},
            {"sis train mlp -i cases.csv --label risk --validation 0.2 -o cases.onnx",
             "Learn a column of a table from the others."},
            {0}},
    .description =
        "The architectures, with the paper's settings as defaults, are mnist-cnn and "
        "mnist-mlp for images of 28 x 28, dna-cnn for DNA, text-lstm and text-cnn for texts, "
        "and mlp (two layers) and linear for tables.\n\nLabels are classes; with --loss mse "
        "or --range they are numbers. Two classes give one output, the probability of the "
        "second class in the order of numbers or letters, except in the MNIST networks.\n\n"
        "The file carries the kind of input, labels, vocabulary and mask (the means of the "
        "training examples, for columns of words the most frequent word; equal shares of all "
        "bases; the mean embedding of the vocabulary), and a record of data, options and "
        "scores, which sis model prints. With --validation, the weights are those of the "
        "epoch with the lowest validation loss.\n\nThe same seed, data and options give the "
        "same file, whatever the number of threads, even if training was killed and resumed "
        "with --resume. The checkpoint is OUTPUT.train until training is done.",
};
