/* SPDX-License-Identifier: MIT
 *
 * From files to rows and targets: values as they are, texts as token ids of a vocabulary built from
 * the training rows, labels as class numbers or numbers. Classes are the labels that occur, sorted
 * numerically if all are numbers, else as text. A network with one output for two classes scores
 * the second class.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/files.h>
#include <sis/text.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/rng.h"
#include "train/train.h"

static int is_number(const char *text, double *value) {
    char *end;
    *value = sis__number(text, &end);
    return end != text && !*end && text[0] != ' ' && isfinite(*value);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Read a file with its labels. A test table gets the same columns as the training table. */
static int read_file(const sis_training_set *s, sis_training_file *f, const char *path,
                     const char *labels) {
    sis_data_opt opt = s->from->read;
    f->path = path;
    if (labels && access(labels, F_OK) != 0)
        return sis__fail(SIS_E_IO,
                         "cannot find the file of labels %s; to name a column or "
                         "field use --label",
                         labels);
    opt.labels = labels;
    opt.label = labels ? NULL : opt.label;
    if ((opt.categorical || opt.categories || opt.types) && s->train.data) {
        opt.names = sis_data_names(s->train.data);
        opt.n_names = opt.names ? sis_data_width(s->train.data, 0) : 0;
    }
    int error = sis_data_read(path, &opt, &f->data);
    if (error)
        return error;
    if (!sis_data_label(f->data, 0))
        return sis__fail(SIS_E_FORMAT,
                         "%s has no labels; name a column with --label, or a file of labels with "
                         "--labels",
                         path);
    int text = sis_kind_of(sis_data_kind(f->data)) == SIS_KIND_TEXT;
    if (s->arch.words && !text)
        return sis__fail(SIS_E_FORMAT,
                         "%s learns from texts, but %s contains none (it contains: %s)",
                         s->arch.name, path, sis_data_kind(f->data));
    if (!s->arch.words && text)
        return sis__fail(SIS_E_FORMAT,
                         "%s contains texts; only text-cnn and text-lstm learn from "
                         "texts",
                         path);
    return SIS_OK;
}

static int no_label(const sis_training_file *f, size_t i) {
    return sis__fail(SIS_E_FORMAT, "%s: example %zu has no label", f->path, i);
}

static int by_number(const void *a, const void *b) {
    double x = sis__number(*(char *const *)a, NULL), y = sis__number(*(char *const *)b, NULL);
    return (x > y) - (x < y);
}

static int by_letters(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum { MAX_CLASSES = 1000 };

static size_t find_class(const sis_training_set *s, const char *label) {
    size_t i = 0;
    while (i < s->n_classes && strcmp(s->classes[i], label) != 0)
        i++;
    return i;
}

/* Find all labels of the training rows, sorted. */
static int find_classes(sis_training_set *s) {
    const sis_training_file *f = &s->train;
    int numbers = 1;
    double v;
    if (!(s->classes = SIS_NEW(char *, MAX_CLASSES)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < f->n; i++) {
        const char *label = sis_data_label(f->data, f->picked[i]);
        if (!label)
            return no_label(f, f->picked[i]);
        if (find_class(s, label) < s->n_classes)
            continue;
        if (s->n_classes == MAX_CLASSES)
            return sis__fail(SIS_E_FORMAT,
                             "%s: more than %d different labels; give --loss mse if they "
                             "are numbers",
                             f->path, MAX_CLASSES);
        numbers &= is_number(label, &v);
        if (!(s->classes[s->n_classes] = sis__strdup(label)))
            return SIS_E_NOMEM;
        s->n_classes++;
    }
    qsort(s->classes, s->n_classes, sizeof *s->classes, numbers ? by_number : by_letters);
    if (s->n_classes < 2)
        return sis__fail(SIS_E_FORMAT,
                         "%s: every example has the label \"%s\"; training needs at "
                         "least two labels%s",
                         f->path, s->classes[0],
                         sis_data_sequence(f->data, 0)
                             ? ": sis data dna --peaks makes sequences without it, by shuffling"
                             : ": add examples with another label");
    return SIS_OK;
}

/* The target of example i of a file. */
static int find_target(const sis_training_set *s, const sis_training_file *f, size_t i,
                       float *target) {
    const char *label = sis_data_label(f->data, i);
    double v;
    if (!label)
        return no_label(f, i);
    if (s->classes) {
        size_t c = find_class(s, label);
        if (c == s->n_classes)
            return sis__fail(SIS_E_FORMAT,
                             "%s: example %zu has the label \"%s\", which no training example has",
                             f->path, i, label);
        *target = (float)c;
        return SIS_OK;
    }
    if (!is_number(label, &v))
        return sis__fail(SIS_E_FORMAT, "%s: example %zu has the label \"%s\", expected a number",
                         f->path, i, label);
    *target = (float)((v - s->low) / (s->high - s->low));
    return SIS_OK;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

/* Write example i to row (width): token ids or values. A dna-cnn takes bases first: (length, 4)
 * becomes (4, length). */
static int fill_row(const sis_training_set *s, const sis_training_file *f, size_t i, double *values,
                    sis_words *words, float *row) {
    size_t rank, width = f->width;
    const size_t *shape = sis_data_shape(f->data, i, &rank);
    int turn = strcmp(s->arch.name, "dna-cnn") == 0 && rank == 2 && shape[1] == 4 && shape[0] != 4;
    if (!s->vocabulary && sis_data_width(f->data, i) != width)
        return sis__fail(SIS_E_FORMAT, "%s: example %zu has %zu values, but %s takes %zu", f->path,
                         i, sis_data_width(f->data, i), s->arch.name, width);
    int error =
        s->vocabulary ? sis_data_words(f->data, i, words) : sis_data_values(f->data, i, values);
    if (!error && s->vocabulary)
        sis_vocabulary_encode(s->vocabulary, words, width, values, NULL);
    for (size_t v = 0; !error && v < width; v++)
        row[turn ? v % 4 * shape[0] + v / 4 : v] = (float)values[v];
    return error;
}

/* Rows and targets of the picked examples. */
static int fill(const sis_training_set *s, sis_training_file *f) {
    sis_words words = {0};
    double *values = SIS_NEW(double, f->width);
    f->rows = SIS_NEW(float, f->n * f->width);
    f->targets = SIS_NEW(float, f->n);
    int error = values && f->rows && f->targets ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < f->n && !error; i++) {
        error = fill_row(s, f, f->picked[i], values, &words, f->rows + i * f->width);
        if (!error)
            error = find_target(s, f, f->picked[i], &f->targets[i]);
    }
    sis_words_release(&words);
    free(values);
    return error;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

/* Choose loss and outputs: as requested, or from the labels. */
static int choose_loss(sis_training_set *s) {
    const char *loss = s->from->loss;
    int mse = loss ? strcmp(loss, "mse") == 0 : s->from->range != NULL;
    int error = mse ? SIS_OK : find_classes(s);
    if (error)
        return error;
    s->arch.outputs = mse                                 ? 1
                      : s->n_classes > 2                  ? s->n_classes
                      : strncmp(s->arch.name, "mnist", 5) ? 1
                                                          : 2;
    s->arch.plain_output = mse && !s->arch.words && !s->from->range;
    sis_train_opt_init(&s->opt, &s->arch);
    s->opt.loss = mse                    ? SIS_LOSS_MSE
                  : s->arch.outputs > 1  ? SIS_LOSS_CROSS_ENTROPY
                  : loss && *loss == 'c' ? SIS_LOSS_CROSS_ENTROPY
                                         : SIS_LOSS_BINARY;
    if (loss && strcmp(loss, "binary") == 0 && s->n_classes > 2)
        return sis__fail(SIS_E_FORMAT, "--loss binary: %s has %zu different labels", s->train.path,
                         s->n_classes);
    if (s->opt.loss == SIS_LOSS_CROSS_ENTROPY && s->arch.outputs == 1)
        s->arch.outputs = 2;
    return SIS_OK;
}

static int choose_width(sis_training_set *s) {
    const sis_training_opt *o = s->from;
    sis_training_file *f = &s->train;
    int dna = strcmp(s->arch.name, "dna-cnn") == 0;
    if (s->arch.words) {
        s->arch.inputs = f->width = o->length ? o->length : s->arch.inputs;
        if (s->arch.inputs < s->arch.width)
            return sis__fail(SIS_E_OPTION,
                             "--words and --length must leave at least one window of words");
        int error = sis_vocabulary_build(f->data, f->picked, f->n,
                                         o->words ? o->words : s->arch.words, &s->vocabulary);
        s->arch.words = s->vocabulary ? sis_vocabulary_size(s->vocabulary) : 0;
        return error;
    }
    f->width = sis_data_width(f->data, f->picked[0]);
    if (dna && f->width % 4)
        return sis__fail(SIS_E_FORMAT,
                         "%s: an example has %zu values; dna-cnn takes four for each "
                         "base",
                         f->path, f->width);
    s->arch.inputs = dna ? f->width / 4 : f->width;
    return SIS_OK;
}

static int pick(sis_training_file *f, const char *rows) {
    size_t count = sis_data_count(f->data);
    int error = rows ? sis_rows_parse(rows, count, &f->picked, &f->n) : SIS_OK;
    if (rows)
        return error ? sis__fail_in(error == SIS_E_FORMAT ? SIS_E_OPTION : error, "--rows")
                     : SIS_OK;
    if (!(f->picked = SIS_NEW(size_t, count)))
        return SIS_E_NOMEM;
    for (f->n = 0; f->n < count; f->n++)
        f->picked[f->n] = f->n;
    return SIS_OK;
}

/* ---- The whole ------------------------------------------------------------------------------- */

/* Move the held-out examples, chosen at random by the seed, to the end. */
static int hold_out(sis_training_set *s, size_t *held) {
    size_t *picked = s->train.picked, n = s->train.n;
    double share = s->from->validation;
    *held = share > 0 ? (size_t)((double)n * share + 0.5) : 0;
    if (*held >= n)
        return sis__fail(SIS_E_ARGUMENT,
                         "--validation %g leaves nothing to learn from %zu examples", share, n);
    for (size_t i = 0; i < *held; i++) {
        size_t last = n - i - 1;
        size_t other = (size_t)(sis__mix(s->from->seed + (i + 1) * SIS__GOLDEN) % (last + 1));
        size_t kept = picked[last];
        picked[last] = picked[other];
        picked[other] = kept;
    }
    return SIS_OK;
}

static int read_range(sis_training_set *s) {
    const char *text = s->from->range;
    char *end;
    s->high = 1;
    if (!text)
        return SIS_OK;
    s->low = sis__number(text, &end);
    if (end == text || *end != ':' || !is_number(end + 1, &s->high) || !(s->low < s->high))
        return sis__fail(SIS_E_OPTION, "--range: expected LOW:HIGH, found \"%s\"", text);
    return SIS_OK;
}

static int read_training(sis_training_set *s) {
    sis_training_file *f = &s->train;
    size_t held;
    int error = read_file(s, f, s->from->input, s->from->labels);
    if (!error)
        error = pick(f, s->from->rows);
    if (!error)
        error = choose_width(s);
    if (!error)
        error = choose_loss(s);
    if (!error)
        error = hold_out(s, &held);
    if (!error)
        error = fill(s, f);
    if (error)
        return error;
    size_t n = f->n - held;
    s->learn = (sis_examples){f->rows, f->targets, n, f->width};
    s->valid = (sis_examples){f->rows + n * f->width, f->targets + n, held, f->width};
    return SIS_OK;
}

static int read_test(sis_training_set *s) {
    sis_training_file *f = &s->test_file;
    int error = read_file(s, f, s->from->test, s->from->test_labels);
    if (!error)
        error = pick(f, NULL);
    f->width = s->train.width;
    if (!error)
        error = fill(s, f);
    s->test = (sis_examples){f->rows, f->targets, f->n, f->width};
    return error;
}

int sis_training_set_open(const sis_training_opt *from, const char *arch, sis_training_set *s) {
    *s = (sis_training_set){.from = from};
    if (sis_arch_init(&s->arch, arch) != SIS_OK)
        return SIS_E_OPTION;
    if (from->read.label && from->labels)
        return sis__fail(SIS_E_OPTION, "--label and --labels: give one of them");
    int error = read_range(s);
    if (!error)
        error = read_training(s);
    return !error && from->test ? read_test(s) : error;
}

static void release_file(sis_training_file *f) {
    sis_data_free(f->data);
    free(f->picked);
    free(f->rows);
    free(f->targets);
}

void sis_training_set_release(sis_training_set *s) {
    release_file(&s->train);
    release_file(&s->test_file);
    for (size_t i = 0; i < s->n_classes; i++)
        free(s->classes[i]);
    free(s->classes);
    sis_vocabulary_free(s->vocabulary);
    *s = (sis_training_set){0};
}
