/* SPDX-License-Identifier: MIT
 *
 * Metadata that a trained model carries, so that it can be used without knowing where it came from:
 * the kind of its input, labels, vocabulary, the mask, and how it was trained.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/text.h>
#include <sis/files.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/sum.h"
#include "train/train.h"

/* ---- How it was trained ---------------------------------------------------------------------- */

/* Writes nothing for what was not measured. */
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

static void put_data(sis__buf *b, const char *name, const sis_training_file *f) {
    char digest[SIS_DIGEST_SIZE];
    const char *slash = strrchr(f->path, '/');
    sis__json_object(b, name);
    sis__json_text(b, "file", slash ? slash + 1 : f->path);
    if (sis_file_digest(f->path, digest) == SIS_OK)
        sis__json_text(b, "sha256", digest);
    sis__json_count(b, "examples", f->n);
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

static void put_options(sis__buf *b, const sis_training_set *s) {
    static const char *const losses[] = {"cross-entropy", "binary", "mse"};
    static const char *const optimizers[] = {"sgd", "adam", "adadelta"};
    const sis_train_opt *p = &s->opt;
    const double range[] = {s->low, s->high};
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
    put_number(b, "validation", s->from->validation);
    sis__json_numbers(b, "range", s->from->range ? range : NULL, 2);
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

/* Store the text in the network under this name. */
static int set_meta(sis_net *net, const char *name, sis__buf *b) {
    int error = sis__buf_error(b);
    if (!error)
        error = sis_net_meta_set(net, name, b->data);
    sis__buf_release(b);
    return error;
}

static int put_record(const sis_training_set *s, sis_trainer *t, const sis_fit *test,
                      sis_net *net) {
    size_t best = sis_trainer_best(t);
    sis_fit learn;
    sis__buf b = {0};
    int error = sis_trainer_evaluate(t, &s->learn, &learn);
    if (error)
        return error;
    sis__buf_char(&b, '{');
    put_arch(&b, &s->arch);
    put_data(&b, "data", &s->train);
    if (s->test.n)
        put_data(&b, "test_data", &s->test_file);
    put_options(&b, s);
    sis__json_object(&b, "scores");
    put_fit(&b, "training", &learn);
    if (s->valid.n)
        put_fit(&b, "validation", &sis_trainer_curve(t, NULL)[best].valid);
    if (s->test.n)
        put_fit(&b, "test", test);
    sis__buf_char(&b, '}');
    sis__json_count(&b, "best_epoch", best + 1);
    put_curve(&b, t);
    sis__buf_char(&b, '}');
    return set_meta(net, SIS_NET_META_TRAINING, &b);
}

/* ---- Labels, vocabulary, mask ---------------------------------------------------------------- */

/* Store a list of texts. */
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

/* One name per output. If two classes share an output, the class that it scores. */
static int put_labels(const sis_training_set *s, sis_net *net) {
    size_t first = s->arch.outputs == 1 && s->n_classes ? s->n_classes - 1 : 0;
    return s->classes ? set_texts(net, SIS_NET_META_LABELS, (const char *const *)s->classes + first,
                                  s->n_classes - first)
                      : SIS_OK;
}

static int put_words(const sis_training_set *s, sis_net *net) {
    char *json = NULL, length[32];
    snprintf(length, sizeof length, "%zu", s->arch.inputs);
    int error = sis_vocabulary_format(s->vocabulary, &json);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_VOCABULARY, json);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_TOKENIZER, SIS_TOKENIZER);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_LENGTH, length);
    free(json);
    return error;
}

/* For a table: the names of its values and, if it has categories, the columns of its values. */
static int put_names(const sis_training_set *s, sis_net *net, const int *map) {
    const char *const *names = sis_data_names(s->train.data);
    const char *const *features = sis_data_feature_names(s->train.data);
    size_t width = s->train.width;
    int error = names ? set_texts(net, SIS_NET_META_NAMES, names, width) : SIS_OK;
    if (error || !names || !map)
        return error;
    const char **columns = SIS_NEW(const char *, width);
    for (size_t v = 0; columns && v < width; v++)
        columns[v] = features[map[v]];
    error = columns ? set_texts(net, SIS_NET_META_COLUMNS, columns, width) : SIS_E_NOMEM;
    free(columns);
    return error;
}

/* The column of each value, for a table where some columns have several values; else NULL. */
static int find_map(const sis_training_set *s, int **map) {
    const sis_data *data = s->train.data;
    size_t n = s->train.width;
    *map = NULL;
    if (strcmp(sis_data_kind(data), sis_kind_name(SIS_KIND_TABLE)) != 0 ||
        sis_data_width(data, 0) != n || sis_data_features(data, 0, NULL) == n)
        return SIS_OK;
    if (!(*map = SIS_NEW(int, n)))
        return SIS_E_NOMEM;
    sis_data_features(data, 0, *map);
    return SIS_OK;
}

/* Mean of n rows of `width` numbers. */
static void mean_of(const float *rows, size_t n, size_t width, double *mean) {
    for (size_t v = 0; v < width; v++) {
        double high = 0, low = 0;
        for (size_t i = 0; i < n; i++)
            sis__sum_add(&high, &low, rows[i * width + v]);
        mean[v] = sis__sum_mean(high, low, n);
    }
}

/* The default mask: means of the training rows; for columns of words the most frequent category,
 * because a masked category must exist; for bases 0.25 each; for texts the mean embedding. */
static int find_mask(const sis_training_set *s, const int *map, const sis_examples *rows,
                     double *mean) {
    size_t n = rows->n_values;
    mean_of(rows->rows, rows->n, n, mean);
    for (size_t v = 0; v < n; v++)
        if (strcmp(s->arch.name, "dna-cnn") == 0)
            mean[v] = 0.25;
        else if (map && sis_data_is_missing_category(s->train.data, v))
            mean[v] = -1;
    return map ? sis_mean_choose(map, n, mean) : SIS_OK;
}

static int put_mask(const sis_training_set *s, sis_net *net, const int *map) {
    sis_examples rows = s->learn;
    sis_net_shape shape;
    sis_net_input_shape(net, &shape);
    int error = SIS_OK;
    if (s->vocabulary) {
        error = sis_net_embedding(net, &rows.rows, &rows.n, &rows.n_values);
        shape = (sis_net_shape){1, {rows.n_values}};
    }
    double *mean = SIS_NEW(double, rows.n_values);
    float *mask = SIS_NEW(float, rows.n_values);
    if (!error)
        error = mean && mask ? find_mask(s, map, &rows, mean) : SIS_E_NOMEM;
    for (size_t v = 0; !error && v < rows.n_values; v++)
        mask[v] = (float)mean[v];
    if (!error)
        error = sis_net_mask_set(net, mask, &shape);
    free(mean);
    free(mask);
    return error;
}

static int put_all(const sis_training_set *s, sis_trainer *t, const sis_fit *test, sis_net *net) {
    sis_kind kind = s->vocabulary                            ? SIS_KIND_TEXT
                    : strcmp(s->arch.name, "dna-cnn") == 0   ? SIS_KIND_DNA
                    : strncmp(s->arch.name, "mnist", 5) == 0 ? SIS_KIND_IMAGE
                                                             : SIS_KIND_TABLE;
    int *map, error = find_map(s, &map);
    if (!error)
        error = sis_net_meta_set(net, SIS_NET_META_KIND, sis_kind_name(kind));
    if (!error)
        error = put_labels(s, net);
    if (!error && s->vocabulary)
        error = put_words(s, net);
    if (!error && kind == SIS_KIND_TABLE)
        error = put_names(s, net, map);
    if (!error)
        error = put_mask(s, net, map);
    free(map);
    return error ? error : put_record(s, t, test, net);
}

int sis_training_set_finish(const sis_training_set *s, sis_trainer *t, sis_fit *test,
                            sis_net **net) {
    *net = NULL;
    *test = (sis_fit){0};
    int error = s->test.n ? sis_trainer_evaluate(t, &s->test, test) : SIS_OK;
    if (!error)
        error = sis_trainer_finish(t, net);
    if (!error)
        error = put_all(s, t, test, *net);
    if (error) {
        sis_net_free(*net);
        *net = NULL;
    }
    return error;
}
