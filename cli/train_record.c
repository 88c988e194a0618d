/* SPDX-License-Identifier: MIT
 *
 * What a trained model carries, so that it can be used without asking where it came from: the kind
 * of its input, labels, vocabulary, the mask, and how it was trained.
 */
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"
#include "train.h"

void cli_fit_text(const cli_lesson *l, const sis_fit *f, char *text, size_t size) {
    if (l->opt.loss == SIS_LOSS_MSE)
        snprintf(text, size, "MSE %.4f, correlation %.4f", f->mse, f->correlation);
    else if (l->arch.outputs == 1)
        snprintf(text, size, "accuracy %.4f, AUC %.4f", f->accuracy, f->auc);
    else
        snprintf(text, size, "accuracy %.4f", f->accuracy);
}

/* ---- How it was trained ---------------------------------------------------------------------- */

static void add_number(json_t *o, const char *name, double v) {
    if (isfinite(v))
        json_object_set_new(o, name, json_real(v));
}

static void add_count(json_t *o, const char *name, size_t n) {
    json_object_set_new(o, name, json_integer((json_int_t)n));
}

static json_t *fit_json(const sis_fit *f) {
    json_t *o = json_object();
    add_count(o, "examples", f->n);
    add_number(o, "loss", f->loss);
    add_number(o, "accuracy", f->accuracy);
    add_number(o, "auc", f->auc);
    add_number(o, "mse", f->mse);
    add_number(o, "correlation", f->correlation);
    return o;
}

static json_t *data_json(const cli_examples *e) {
    char digest[SIS_DIGEST_SIZE];
    json_t *o = json_object();
    json_object_set_new(o, "file", json_string(cli_last_part(e->path)));
    if (sis_file_digest(e->path, digest) == SIS_OK)
        json_object_set_new(o, "sha256", json_string(digest));
    add_count(o, "examples", e->n);
    return o;
}

static json_t *arch_json(const sis_arch *a) {
    const struct {
        const char *name;
        size_t size;
    } sizes[] = {{"inputs", a->inputs}, {"outputs", a->outputs}, {"words", a->words},
                 {"dim", a->dim},       {"hidden", a->hidden},   {"filters", a->filters},
                 {"width", a->width},   {"dense", a->dense}};
    json_t *o = json_object();
    json_object_set_new(o, "name", json_string(a->name));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].size)
            add_count(o, sizes[i].name, sizes[i].size);
    json_object_set_new(o, "dropout", json_pack("[ff]", a->dropout[0], a->dropout[1]));
    return o;
}

static json_t *options_json(const cli_lesson *l) {
    static const char *const losses[] = {"cross-entropy", "binary", "mse"};
    static const char *const optimizers[] = {"sgd", "adam", "adadelta"};
    const sis_train_opt *p = &l->opt;
    json_t *o = json_object();
    json_object_set_new(o, "loss", json_string(losses[p->loss]));
    json_object_set_new(o, "optimizer", json_string(optimizers[p->optimizer]));
    add_number(o, "rate", p->rate);
    add_number(o, "momentum", p->momentum);
    add_count(o, "epochs", p->epochs);
    add_count(o, "batch", p->batch);
    add_count(o, "patience", p->patience);
    json_object_set_new(o, "keep", json_string(p->keep_last ? "last" : "best"));
    add_count(o, "seed", (size_t)p->seed);
    add_number(o, "validation", l->o->validation);
    if (l->o->range)
        json_object_set_new(o, "range", json_pack("[ff]", l->low, l->high));
    return o;
}

static json_t *curve_json(sis_trainer *t) {
    size_t n;
    const sis_epoch *curve = sis_trainer_curve(t, &n);
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_object();
        add_number(o, "loss", curve[i].loss);
        if (curve[i].valid.n) {
            add_number(o, "validation_loss", curve[i].valid.loss);
            add_number(o, "validation_accuracy", curve[i].valid.accuracy);
        }
        json_array_append_new(list, o);
    }
    return list;
}

static int put_record(const cli_lesson *l, sis_trainer *t, const sis_fit *test, sis_net *net) {
    size_t best = sis_trainer_best(t);
    sis_fit learn;
    json_t *o = json_object(), *scores = json_object();
    int error = sis_trainer_evaluate(t, &l->learn, &learn);
    json_object_set_new(o, "architecture", arch_json(&l->arch));
    json_object_set_new(o, "data", data_json(&l->train));
    if (test)
        json_object_set_new(o, "test_data", data_json(&l->test));
    json_object_set_new(o, "options", options_json(l));
    json_object_set_new(scores, "training", fit_json(&learn));
    if (l->valid.n)
        json_object_set_new(scores, "validation",
                            fit_json(&sis_trainer_curve(t, NULL)[best].valid));
    if (test)
        json_object_set_new(scores, "test", fit_json(test));
    json_object_set_new(o, "scores", scores);
    add_count(o, "best_epoch", best + 1);
    json_object_set_new(o, "curve", curve_json(t));
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
    json_decref(o);
    if (!error)
        error = text ? sis_net_meta_set(net, SIS_NET_META_TRAINING, text) : SIS_E_NOMEM;
    free(text);
    return cli_fail(error);
}

/* ---- Labels, vocabulary, mask ---------------------------------------------------------------- */

/* One name an output: of two classes that share one, what it scores. */
static int put_labels(const cli_lesson *l, sis_net *net) {
    json_t *list = json_array();
    size_t first = l->arch.outputs == 1 && l->n_classes ? l->n_classes - 1 : 0;
    if (!l->classes) {
        json_decref(list);
        return CLI_DONE;
    }
    for (size_t i = first; i < l->n_classes; i++)
        json_array_append_new(list, json_string(l->classes[i]));
    char *text = json_dumps(list, JSON_COMPACT);
    json_decref(list);
    int error = text ? sis_net_meta_set(net, SIS_NET_META_LABELS, text) : SIS_E_NOMEM;
    free(text);
    return cli_fail(error);
}

static int put_words(const cli_lesson *l, sis_net *net) {
    char *json = NULL, length[32];
    snprintf(length, sizeof length, "%zu", l->arch.inputs);
    int error = sis_vocabulary_format(l->vocabulary, &json);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_VOCABULARY, json);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_TOKENIZER, SIS_TOKENIZER);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_LENGTH, length);
    free(json);
    return cli_fail(error);
}

/* Of a table: what its values are called. */
static int put_names(const cli_lesson *l, sis_net *net) {
    const char *const *names = sis_data_names(l->train.data);
    json_t *list = json_array();
    for (size_t i = 0; names && i < l->train.width; i++)
        json_array_append_new(list, json_string(names[i]));
    char *text = names ? json_dumps(list, JSON_COMPACT) : NULL;
    json_decref(list);
    int error = text    ? sis_net_meta_set(net, SIS_NET_META_NAMES, text)
                : names ? SIS_E_NOMEM
                        : SIS_OK;
    free(text);
    return cli_fail(error);
}

/* Mean of n rows of `width` numbers. */
static void mean_of(const float *rows, size_t n, size_t width, float *mean) {
    for (size_t v = 0; v < width; v++) {
        double sum = 0;
        for (size_t i = 0; i < n; i++)
            sum += rows[i * width + v];
        mean[v] = (float)(sum / (double)n);
    }
}

/* Means of the training rows; every base alike; of texts the mean embedding. */
static int put_mask(const cli_lesson *l, sis_net *net) {
    size_t words, n = l->train.width;
    const float *matrix = NULL;
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    if (l->vocabulary) {
        int error = sis_net_embedding(net, &matrix, &words, &n);
        if (error)
            return cli_fail(error);
        shape = (sis_net_shape){1, {n}};
    }
    float *mask = cli_grab(n, sizeof *mask);
    if (!mask)
        return CLI_FAILED;
    if (matrix)
        mean_of(matrix, words, n, mask);
    else
        mean_of(l->learn.rows, l->learn.n, n, mask);
    for (size_t v = 0; strcmp(l->arch.name, "dna-cnn") == 0 && v < n; v++)
        mask[v] = 0.25f;
    int error = sis_net_mask_set(net, mask, &shape);
    free(mask);
    return cli_fail(error);
}

int cli_train_furnish(const cli_lesson *l, sis_trainer *t, const sis_fit *test, sis_net *net) {
    sis_kind kind = l->vocabulary                            ? SIS_KIND_TEXT
                    : strcmp(l->arch.name, "dna-cnn") == 0   ? SIS_KIND_DNA
                    : strncmp(l->arch.name, "mnist", 5) == 0 ? SIS_KIND_IMAGE
                                                             : SIS_KIND_TABLE;
    int status = cli_fail(sis_net_meta_set(net, SIS_NET_META_KIND, sis_kind_name(kind)));
    if (status == CLI_DONE)
        status = put_labels(l, net);
    if (status == CLI_DONE && l->vocabulary)
        status = put_words(l, net);
    if (status == CLI_DONE && kind == SIS_KIND_TABLE)
        status = put_names(l, net);
    if (status == CLI_DONE)
        status = put_mask(l, net);
    return status == CLI_DONE ? put_record(l, t, test, net) : status;
}
