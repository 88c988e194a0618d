/* SPDX-License-Identifier: MIT
 *
 * What a trained model carries, so that it can be used without asking where it came from: the kind
 * of its input, labels, vocabulary, the mask, and how it was trained.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/sum.h"
#include "task.h"
#include "train.h"

void cli_fit_text(const cli_training_set *l, const sis_fit *f, char *text, size_t size) {
    if (l->opt.loss == SIS_LOSS_MSE)
        snprintf(text, size, "MSE %.4f, correlation %.4f", f->mse, f->correlation);
    else if (l->arch.outputs == 1)
        snprintf(text, size, "accuracy %.4f, AUC %.4f", f->accuracy, f->auc);
    else
        snprintf(text, size, "accuracy %.4f", f->accuracy);
}

/* ---- How it was trained ---------------------------------------------------------------------- */

/* Nothing for what was not measured. */
static void put_number(sis__buf *b, const char *name, double v) {
    if (isfinite(v))
        sis__json_number(b, name, v);
}

static void put_fit(sis__buf *b, const char *name, const sis_fit *f) {
    sis__json_object(b, name);
    sis__json_count(b, "examples", f->n);
    put_number(b, "loss", f->loss);
    put_number(b, "accuracy", f->accuracy);
    put_number(b, "auc", f->auc);
    put_number(b, "mse", f->mse);
    put_number(b, "correlation", f->correlation);
    sis__buf_char(b, '}');
}

static void put_data(sis__buf *b, const char *name, const cli_examples *e) {
    char digest[SIS_DIGEST_SIZE];
    sis__json_object(b, name);
    sis__json_text(b, "file", cli_last_part(e->path));
    if (sis_file_digest(e->path, digest) == SIS_OK)
        sis__json_text(b, "sha256", digest);
    sis__json_count(b, "examples", e->n);
    sis__buf_char(b, '}');
}

static void put_arch(sis__buf *b, const sis_arch *a) {
    const struct {
        const char *name;
        size_t size;
    } sizes[] = {{"inputs", a->inputs}, {"outputs", a->outputs}, {"words", a->words},
                 {"dim", a->dim},       {"hidden", a->hidden},   {"filters", a->filters},
                 {"width", a->width},   {"dense", a->dense}};
    const double dropout[] = {a->dropout[0], a->dropout[1]};
    sis__json_object(b, "architecture");
    sis__json_text(b, "name", a->name);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].size)
            sis__json_count(b, sizes[i].name, sizes[i].size);
    sis__json_numbers(b, "dropout", dropout, 2);
    sis__buf_char(b, '}');
}

static void put_options(sis__buf *b, const cli_training_set *l) {
    static const char *const losses[] = {"cross-entropy", "binary", "mse"};
    static const char *const optimizers[] = {"sgd", "adam", "adadelta"};
    const sis_train_opt *p = &l->opt;
    const double range[] = {l->low, l->high};
    sis__json_object(b, "options");
    sis__json_text(b, "loss", losses[p->loss]);
    sis__json_text(b, "optimizer", optimizers[p->optimizer]);
    put_number(b, "rate", p->rate);
    put_number(b, "momentum", p->momentum);
    sis__json_count(b, "epochs", p->epochs);
    sis__json_count(b, "batch", p->batch);
    sis__json_count(b, "patience", p->patience);
    sis__json_text(b, "keep", p->keep_last ? "last" : "best");
    sis__json_count(b, "seed", (size_t)p->seed);
    put_number(b, "validation", l->o->validation);
    sis__json_numbers(b, "range", l->o->range ? range : NULL, 2);
    sis__buf_char(b, '}');
}

static void put_curve(sis__buf *b, const sis_trainer *t) {
    size_t n;
    const sis_epoch *curve = sis_trainer_curve(t, &n);
    sis__json_list(b, "curve");
    for (size_t i = 0; i < n; i++) {
        sis__json_comma(b, i);
        sis__buf_char(b, '{');
        put_number(b, "loss", curve[i].loss);
        if (curve[i].valid.n) {
            put_number(b, "validation_loss", curve[i].valid.loss);
            put_number(b, "validation_accuracy", curve[i].valid.accuracy);
        }
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, ']');
}

/* The text is what the network carries under that name. */
static int set_meta(sis_net *net, const char *name, sis__buf *b) {
    int error = sis__buf_error(b);
    if (!error)
        error = sis_net_meta_set(net, name, b->data);
    sis__buf_release(b);
    return cli_fail(error);
}

static int put_record(const cli_training_set *l, sis_trainer *t, const sis_fit *test,
                      sis_net *net) {
    size_t best = sis_trainer_best(t);
    sis_fit learn;
    sis__buf b = {0};
    int error = sis_trainer_evaluate(t, &l->learn, &learn);
    if (error)
        return cli_fail(error);
    sis__buf_char(&b, '{');
    put_arch(&b, &l->arch);
    put_data(&b, "data", &l->train);
    if (test)
        put_data(&b, "test_data", &l->test);
    put_options(&b, l);
    sis__json_object(&b, "scores");
    put_fit(&b, "training", &learn);
    if (l->valid.n)
        put_fit(&b, "validation", &sis_trainer_curve(t, NULL)[best].valid);
    if (test)
        put_fit(&b, "test", test);
    sis__buf_char(&b, '}');
    sis__json_count(&b, "best_epoch", best + 1);
    put_curve(&b, t);
    sis__buf_char(&b, '}');
    return set_meta(net, SIS_NET_META_TRAINING, &b);
}

/* ---- Labels, vocabulary, mask ---------------------------------------------------------------- */

/* A list of texts. */
static int set_texts(sis_net *net, const char *name, const char *const *texts, size_t n) {
    sis__buf b = {0};
    sis__buf_char(&b, '[');
    for (size_t i = 0; i < n; i++) {
        sis__json_comma(&b, i);
        sis__buf_json(&b, texts[i]);
    }
    sis__buf_char(&b, ']');
    return set_meta(net, name, &b);
}

/* One name an output: of two classes that share one, what it scores. */
static int put_labels(const cli_training_set *l, sis_net *net) {
    size_t first = l->arch.outputs == 1 && l->n_classes ? l->n_classes - 1 : 0;
    return l->classes ? set_texts(net, SIS_NET_META_LABELS, (const char *const *)l->classes + first,
                                  l->n_classes - first)
                      : CLI_DONE;
}

static int put_words(const cli_training_set *l, sis_net *net) {
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

/* Of a table with categories: the columns of its values. */
static int put_columns(const cli_training_set *l, sis_net *net) {
    const char *const *features = sis_data_feature_names(l->train.data);
    size_t width = sis_data_width(l->train.data, 0);
    if (width != l->train.width || sis_data_features(l->train.data, 0, NULL) == width)
        return CLI_DONE;
    int *map = cli_grab(width, sizeof *map), status = CLI_FAILED;
    const char **columns = cli_grab(width, sizeof *columns);
    if (map && columns) {
        sis_data_features(l->train.data, 0, map);
        for (size_t v = 0; v < width; v++)
            columns[v] = features[map[v]];
        status = set_texts(net, SIS_NET_META_COLUMNS, columns, width);
    }
    free(map);
    free(columns);
    return status;
}

/* Of a table: what its values are called. */
static int put_names(const cli_training_set *l, sis_net *net) {
    const char *const *names = sis_data_names(l->train.data);
    int status = names ? set_texts(net, SIS_NET_META_NAMES, names, l->train.width) : CLI_DONE;
    return names && status == CLI_DONE ? put_columns(l, net) : status;
}

/* Mean of n rows of `width` numbers. */
static void mean_of(const float *rows, size_t n, size_t width, float *mean) {
    for (size_t v = 0; v < width; v++) {
        double high = 0, low = 0;
        for (size_t i = 0; i < n; i++)
            sis__sum_add(&high, &low, rows[i * width + v]);
        mean[v] = (float)sis__sum_mean(high, low, n);
    }
}

/* A masked category is one that exists: of those of a column the most frequent. */
static int choose_categories(const cli_training_set *l, size_t n, float *mean) {
    size_t features = sis_data_features(l->train.data, 0, NULL);
    int is_table = strcmp(sis_data_kind(l->train.data), sis_kind_name(SIS_KIND_TABLE)) == 0;
    if (!is_table || features == n || sis_data_width(l->train.data, 0) != n)
        return CLI_DONE;
    int *map = cli_grab(n, sizeof *map);
    double *wide = cli_grab(n, sizeof *wide);
    int status = map && wide ? CLI_DONE : CLI_FAILED;
    for (size_t v = 0; status == CLI_DONE && v < n; v++)
        wide[v] = sis_data_is_missing_category(l->train.data, v) ? -1 : mean[v];
    if (status == CLI_DONE) {
        sis_data_features(l->train.data, 0, map);
        status = cli_fail(sis_mean_choose(map, n, wide));
    }
    for (size_t v = 0; status == CLI_DONE && v < n; v++)
        mean[v] = (float)wide[v];
    free(map);
    free(wide);
    return status;
}

/* Means of the training rows, of columns of words the most frequent one; every base alike; of texts
 * the mean embedding. */
static int put_mask(const cli_training_set *l, sis_net *net) {
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
    int status = choose_categories(l, n, mask);
    if (status == CLI_DONE)
        status = cli_fail(sis_net_mask_set(net, mask, &shape));
    free(mask);
    return status;
}

int cli_train_attach_metadata(const cli_training_set *l, sis_trainer *t, const sis_fit *test,
                              sis_net *net) {
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
