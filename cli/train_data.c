/* SPDX-License-Identifier: MIT
 *
 * From files to rows and targets: values as they are, texts as token ids of a vocabulary built from
 * the training rows, labels as class numbers or numbers.
 *
 * Labels come with the examples, from a column of the table, or from a file of their own with one
 * label an example. Classes are the labels that occur, sorted: by number if all are numbers, else
 * by letters. Of two classes of a network with one output the second is what it scores.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/number.h"
#include "base/rng.h"
#include "task.h"
#include "train.h"

/* ---- Labels ---------------------------------------------------------------------------------- */

static int is_file(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* Read a file and, from another (NULL: from itself), its labels. A test table has the values of the
 * training table. */
static int open_examples(const cli_training_set *l, cli_examples *e, const char *path,
                         const char *labels) {
    sis_data_opt opt;
    sis_data_opt_init(&opt);
    e->path = path;
    if (labels && !is_file(labels))
        return cli_error("there is no file of labels %s; a column or field is named with --label",
                         labels);
    opt.label = labels ? NULL : l->o->label;
    opt.id = l->o->id;
    cli_read_options(l->o->categorical, l->o->types, l->o->no_header, &opt);
    if (l->o->missing)
        opt.missing = strcmp(l->o->missing, "mean") == 0     ? SIS_MISSING_MEAN
                      : strcmp(l->o->missing, "median") == 0 ? SIS_MISSING_MEDIAN
                                                             : SIS_MISSING_ERROR;
    if ((opt.categorical || opt.categories || opt.types) && l->train.data) {
        opt.names = sis_data_names(l->train.data);
        opt.n_names = opt.names ? sis_data_width(l->train.data, 0) : 0;
    }
    int status = cli_fail(sis_data_read(path, &opt, &e->data));
    if (status == CLI_DONE && labels)
        status = cli_fail(sis_data_read(labels, NULL, &e->labels));
    if (status != CLI_DONE)
        return status;
    if (labels && sis_data_count(e->labels) != sis_data_count(e->data))
        return cli_error("%s has %zu labels for the %zu examples of %s", labels,
                         sis_data_count(e->labels), sis_data_count(e->data), path);
    if (!labels && !sis_data_label(e->data, 0))
        return cli_error("%s has no labels; name a column with --label, or a file of labels with "
                         "--labels",
                         path);
    return CLI_DONE;
}

/* The label of example i as text, written to `number` if it is none already; NULL: none. */
static const char *label_text(const cli_examples *e, size_t i, char number[32]) {
    const sis_data *from = e->labels ? e->labels : e->data;
    const char *label = sis_data_label(from, i);
    double *values, v = NAN;
    if (label)
        return label;
    if (e->labels && sis_data_text(from, i))
        return sis_data_text(from, i);
    size_t width = sis_data_width(from, i);
    if (!e->labels || width != 1 || !(values = cli_grab(width, sizeof *values)))
        return NULL;
    if (sis_data_values(from, i, values) == SIS_OK)
        v = values[0];
    free(values);
    snprintf(number, 32, "%.10g", v);
    return isnan(v) ? NULL : number;
}

static int by_number(const void *a, const void *b) {
    double x = sis__number(*(char *const *)a, NULL), y = sis__number(*(char *const *)b, NULL);
    return (x > y) - (x < y);
}

static int by_letters(const void *a, const void *b) {
    return strcmp(*(char *const *)a, *(char *const *)b);
}

enum { MAX_CLASSES = 1000 };

static size_t find_class(const cli_training_set *l, const char *label) {
    size_t i = 0;
    while (i < l->n_classes && strcmp(l->classes[i], label) != 0)
        i++;
    return i;
}

/* All labels of the training rows, sorted. */
static int find_classes(cli_training_set *l) {
    int numbers = 1;
    l->classes = cli_grab(MAX_CLASSES, sizeof *l->classes);
    for (size_t i = 0; l->classes && i < l->train.n; i++) {
        char number[32];
        double v;
        const char *label = label_text(&l->train, l->train.picked[i], number);
        if (!label)
            return cli_error("%s: example %zu has no label", l->train.path, l->train.picked[i]);
        if (find_class(l, label) < l->n_classes)
            continue;
        if (l->n_classes == MAX_CLASSES)
            return cli_error("%s: over %d different labels; give --loss mse if they are numbers",
                             l->train.path, MAX_CLASSES);
        numbers &= cli_number(label, &v);
        if (!(l->classes[l->n_classes] = strdup(label)))
            return cli_error("out of memory");
        l->n_classes++;
    }
    if (!l->classes)
        return CLI_FAILED;
    qsort(l->classes, l->n_classes, sizeof *l->classes, numbers ? by_number : by_letters);
    if (l->n_classes < 2)
        return cli_error("%s: every example has the label \"%s\"; there is nothing to learn%s",
                         l->train.path, l->classes[0],
                         sis_data_sequence(l->train.data, 0)
                             ? ": sis data dna --peaks makes sequences without it, by shuffling"
                             : ": add examples with another");
    return CLI_DONE;
}

/* The target of example i of a file. */
static int target_of(const cli_training_set *l, const cli_examples *e, size_t i, float *target) {
    char number[32];
    const char *label = label_text(e, i, number);
    double v;
    if (!label)
        return cli_error("%s: example %zu has no label", e->path, i);
    if (l->classes) {
        size_t c = find_class(l, label);
        if (c == l->n_classes)
            return cli_error("%s: example %zu has the label \"%s\", which no training example has",
                             e->path, i, label);
        *target = (float)c;
        return CLI_DONE;
    }
    if (!cli_number(label, &v))
        return cli_error("%s: example %zu has the label \"%s\", expected a number", e->path, i,
                         label);
    *target = (float)((v - l->low) / (l->high - l->low));
    return CLI_DONE;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* Bases first: (length, 4) becomes (4, length). */
static void bases_first(const sis_data *data, size_t i, const double *values, size_t n,
                        float *row) {
    size_t rank;
    const size_t *shape = sis_data_shape(data, i, &rank);
    int turn = rank == 2 && shape[1] == 4 && shape[0] != 4;
    for (size_t v = 0; v < n; v++)
        row[turn ? v % 4 * shape[0] + v / 4 : v] = (float)values[v];
}

static int fill_values(const cli_training_set *l, cli_examples *e, size_t i, double *values) {
    size_t width = sis_data_width(e->data, e->picked[i]);
    float *row = e->rows + i * e->width;
    if (width != e->width)
        return cli_error("%s: example %zu has %zu values, %s takes %zu", e->path, e->picked[i],
                         width, l->arch.name, e->width);
    int status = cli_fail(sis_data_values(e->data, e->picked[i], values));
    if (status != CLI_DONE)
        return status;
    if (strcmp(l->arch.name, "dna-cnn") == 0)
        bases_first(e->data, e->picked[i], values, width, row);
    for (size_t v = 0; strcmp(l->arch.name, "dna-cnn") != 0 && v < width; v++)
        row[v] = (float)values[v];
    return CLI_DONE;
}

static int fill_words(const cli_training_set *l, cli_examples *e, size_t i, double *ids,
                      sis_words *words) {
    int status = cli_fail(sis_data_words(e->data, e->picked[i], words));
    if (status != CLI_DONE)
        return status;
    sis_vocabulary_encode(l->vocabulary, words, e->width, ids, NULL);
    for (size_t v = 0; v < e->width; v++)
        e->rows[i * e->width + v] = (float)ids[v];
    return CLI_DONE;
}

/* Rows and targets of the picked examples. */
static int fill(const cli_training_set *l, cli_examples *e) {
    sis_words words = {0};
    double *values = cli_grab(e->width, sizeof *values);
    e->rows = cli_grab(e->n * e->width, sizeof *e->rows);
    e->targets = cli_grab(e->n, sizeof *e->targets);
    int status = values && e->rows && e->targets ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; i < e->n && status == CLI_DONE; i++) {
        status = l->vocabulary ? fill_words(l, e, i, values, &words) : fill_values(l, e, i, values);
        if (status == CLI_DONE)
            status = target_of(l, e, e->picked[i], &e->targets[i]);
    }
    sis_words_release(&words);
    free(values);
    return status;
}

/* ---- Sizes ----------------------------------------------------------------------------------- */

static int is_text(const cli_examples *e) {
    return sis_kind_of(sis_data_kind(e->data)) == SIS_KIND_TEXT;
}

/* Does the file hold what the architecture takes? */
static int check_kind(const cli_training_set *l, const cli_examples *e) {
    if (l->arch.words && !is_text(e))
        return cli_error("%s learns from texts, but %s holds none (it holds: %s)", l->arch.name,
                         e->path, sis_data_kind(e->data));
    if (!l->arch.words && is_text(e))
        return cli_error("%s holds texts; only text-cnn and text-lstm learn from texts", e->path);
    return CLI_DONE;
}

/* A column with another word in every row names the rows; nothing can be learned from it. */
static int remark_names(const cli_training_set *l) {
    const sis_data *data = l->train.data;
    const char *const *names = sis_data_feature_names(data);
    size_t rows = sis_data_count(data), width = sis_data_width(data, 0);
    size_t n = names ? sis_data_features(data, 0, NULL) : 0;
    int *map = cli_grab(width, sizeof *map);
    size_t *counts = cli_grab(n, sizeof *counts);
    int status = map && counts ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE && n > 0)
        sis_data_features(data, 0, map);
    for (size_t v = 0; status == CLI_DONE && n > 0 && v < width; v++)
        counts[map[v]]++;
    for (size_t f = 0; status == CLI_DONE && f < n; f++)
        if (rows > 1 && counts[f] == rows)
            cli_note(l->o->common.quiet,
                     "column \"%s\" is different in every row; if it only names them: --id %s",
                     names[f], names[f]);
    free(map);
    free(counts);
    return status;
}

/* Loss and outputs: what was asked for, or what the labels are. */
static int choose_loss(cli_training_set *l) {
    const char *loss = l->o->loss;
    int status = CLI_DONE, mse = loss ? strcmp(loss, "mse") == 0 : l->o->range != NULL;
    if (!mse)
        status = find_classes(l);
    if (status != CLI_DONE)
        return status;
    l->arch.outputs = l->n_classes > 2 ? l->n_classes : strncmp(l->arch.name, "mnist", 5) ? 1 : 2;
    l->arch.plain_output = mse && !l->arch.words && !l->o->range;
    if (mse)
        l->arch.outputs = 1;
    sis_train_opt_init(&l->opt, &l->arch);
    l->opt.loss = mse                    ? SIS_LOSS_MSE
                  : l->arch.outputs > 1  ? SIS_LOSS_CROSS_ENTROPY
                  : loss && *loss == 'c' ? SIS_LOSS_CROSS_ENTROPY
                                         : SIS_LOSS_BINARY;
    if (loss && strcmp(loss, "binary") == 0 && l->n_classes > 2)
        return cli_error("--loss binary: %s has %zu different labels", l->train.path, l->n_classes);
    if (l->opt.loss == SIS_LOSS_CROSS_ENTROPY && l->arch.outputs == 1)
        l->arch.outputs = 2;
    return CLI_DONE;
}

static int choose_width(cli_training_set *l) {
    cli_examples *e = &l->train;
    if (l->arch.words) {
        l->arch.inputs = l->o->length ? l->o->length : l->arch.inputs;
        e->width = l->arch.inputs;
        size_t most = l->o->words ? l->o->words : l->arch.words;
        if (most < 1 || l->arch.inputs < l->arch.width)
            return cli_usage("--words and --length must leave at least one window of words");
        int status = cli_fail(sis_vocabulary_build(e->data, e->picked, e->n, most, &l->vocabulary));
        l->arch.words = l->vocabulary ? sis_vocabulary_size(l->vocabulary) : 0;
        return status;
    }
    e->width = sis_data_width(e->data, e->picked[0]);
    if (strcmp(l->arch.name, "dna-cnn") == 0) {
        if (e->width % 4)
            return cli_error("%s: %zu values an example, dna-cnn takes four a base", e->path,
                             e->width);
        l->arch.inputs = e->width / 4;
    } else {
        l->arch.inputs = e->width;
    }
    return CLI_DONE;
}

static int pick_all(cli_examples *e, const char *rows) {
    size_t count = sis_data_count(e->data);
    if (rows)
        return cli_rows(rows, count, &e->picked, &e->n);
    e->picked = cli_grab(count, sizeof *e->picked);
    e->n = e->picked ? count : 0;
    for (size_t i = 0; i < e->n; i++)
        e->picked[i] = i;
    return e->picked ? CLI_DONE : CLI_FAILED;
}

/* ---- The split ------------------------------------------------------------------------------- */

/* Random bits number i of a seed. */
static unsigned long long bits(unsigned long long seed, unsigned long long i) {
    return sis__mix(seed + (i + 1) * SIS__GOLDEN);
}

static void swap_rows(cli_examples *e, size_t i, size_t j) {
    float *a = e->rows + i * e->width, *b = e->rows + j * e->width, kept;
    size_t row = e->picked[i];
    for (size_t v = 0; v < e->width; v++) {
        kept = a[v];
        a[v] = b[v];
        b[v] = kept;
    }
    kept = e->targets[i];
    e->targets[i] = e->targets[j];
    e->targets[j] = kept;
    e->picked[i] = e->picked[j];
    e->picked[j] = row;
}

/* Held-out rows, chosen at random by the seed, to the end. */
static int split(cli_training_set *l) {
    cli_examples *e = &l->train;
    double share = l->o->validation;
    size_t held = share > 0 ? (size_t)((double)e->n * share + 0.5) : 0;
    if (held >= e->n)
        return cli_error("--validation %g leaves nothing to learn from %zu examples", share, e->n);
    for (size_t i = 0; i < held; i++) {
        size_t left = e->n - i;
        swap_rows(e, left - 1, (size_t)(bits(l->o->seed, i) % left));
    }
    size_t n = e->n - held;
    l->learn = (sis_examples){e->rows, e->targets, n, e->width};
    l->valid = (sis_examples){e->rows + n * e->width, e->targets + n, held, e->width};
    return CLI_DONE;
}

/* ---- The whole ------------------------------------------------------------------------------- */

static int read_range(cli_training_set *l) {
    const char *text = l->o->range;
    char *end;
    l->low = 0;
    l->high = 1;
    if (!text)
        return CLI_DONE;
    l->low = sis__number(text, &end);
    if (end == text || *end != ':' || !cli_number(end + 1, &l->high) || !(l->low < l->high))
        return cli_usage("--range: expected LOW:HIGH, found \"%s\"", text);
    return CLI_DONE;
}

static int open_test(cli_training_set *l) {
    const cli_train_options *o = l->o;
    if (!o->test)
        return CLI_DONE;
    int status = open_examples(l, &l->test, o->test, o->test_labels);
    if (status == CLI_DONE)
        status = check_kind(l, &l->test);
    if (status == CLI_DONE)
        status = pick_all(&l->test, NULL);
    l->test.width = l->train.width;
    return status == CLI_DONE ? fill(l, &l->test) : status;
}

int cli_training_set_open(cli_training_set *l, const char *arch, const cli_train_options *o) {
    *l = (cli_training_set){.o = o};
    int status = sis_arch_init(&l->arch, arch) ? cli_usage("%s", sis_error_detail()) : CLI_DONE;
    if (status == CLI_DONE && o->label && o->labels)
        status = cli_usage("--label and --labels: labels come from one of them");
    if (status == CLI_DONE)
        status = read_range(l);
    if (status == CLI_DONE)
        status = open_examples(l, &l->train, o->input, o->labels);
    if (status == CLI_DONE)
        status = check_kind(l, &l->train);
    if (status == CLI_DONE)
        status = remark_names(l);
    if (status == CLI_DONE)
        status = pick_all(&l->train, o->rows);
    if (status == CLI_DONE)
        status = choose_width(l);
    if (status == CLI_DONE)
        status = choose_loss(l);
    if (status == CLI_DONE)
        status = fill(l, &l->train);
    if (status == CLI_DONE)
        status = split(l);
    return status == CLI_DONE ? open_test(l) : status;
}

static void release(cli_examples *e) {
    sis_data_free(e->data);
    sis_data_free(e->labels);
    free(e->picked);
    free(e->rows);
    free(e->targets);
}

void cli_training_set_close(cli_training_set *l) {
    release(&l->train);
    release(&l->test);
    for (size_t i = 0; i < l->n_classes; i++)
        free(l->classes[i]);
    free(l->classes);
    sis_vocabulary_free(l->vocabulary);
}
