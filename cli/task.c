/* SPDX-License-Identifier: MIT
 *
 * The model, the examples asked for, their plain scores, and thresholds that are percentiles of
 * these.
 */
#include <sis/evaluate.h>

#include "task.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "output.h"

/* ---- Options --------------------------------------------------------------------------------- */

const cli_option cli_source_options[] = {
    {"model", 'm', "MODEL", CLI_STRING(cli_source, model), "the model: FILE.onnx or cmd:COMMAND",
     .required = 1,
     .more = "A network in an ONNX file is explained by its own engine. A command is run by sh, "
             "once for each job, and stays: for every line {\"inputs\":[[...],[...]]} on its "
             "standard input it writes one line {\"outputs\":[...]} with a score, or a list of "
             "scores, for each input."},
    {"input", 'i', "FILE", CLI_STRING(cli_source, input),
     "the examples: .csv, .npy, .txt, .jsonl ...", .required = 1,
     .more = "The end of the name says what a file holds: arrays (.npy, the first axis counts the "
             "examples), tables with a header (.csv, .tsv), images (.png; IDX: .idx, -ubyte), DNA "
             "(.fa, .fasta, .seq), texts (.txt, one a line; .tsv, behind their labels; .jsonl, "
             "with \"text\" or \"words\") or lists of numbers (.jsonl, \"values\"); .gz behind it "
             "is fine. Texts become token ids by the model's own vocabulary. A dash reads a .csv "
             "from standard input."},
    CLI_LABEL(
        cli_source, label,
        .more =
            "By name, or by number from 0 in a .tsv of texts without a header. Results carry the "
            "label along. A table of numbers has none unless it is named here: every column is a "
            "feature, so take columns that are none out of the file. A data set given by --mask "
            "may have the column or not."),
    CLI_ID(
        cli_source, id,
        .more =
            "Results are called by it in the place of the number of the example, and of a table it "
            "is no feature. No two examples may have the same, and none an empty one. A data set "
            "given by --mask may have the column or not. By default the field id of a .jsonl and "
            "the column EventID of a .seq."),
    CLI_CATEGORICAL(
        cli_source, categorical,
        .more =
            "A column with any cell that is no number becomes one value, 0 or 1, for each of "
            "its different cells (at most 1000), in the order of their bytes, and these are one "
            "feature, shown by the name of its category. A cmd: model gets these values in the "
            "place of the cell. Which there are "
            "depends on the file given by --input: give one that holds every category the "
            "model knows, and choose examples with --rows. A network that has the names of its "
            "values (sis.names) says itself which categories there are; this option is then "
            "not needed."),
    CLI_ROWS(cli_source, rows),
    CLI_JOBS(cli_source, jobs, "threads, and cmd: children"),
    CLI_TIMEOUT(cli_source, timeout),
    {0},
};

void cli_source_init(cli_source *s) {
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    s->timeout = opt.timeout;
}

/* ---- Small things ---------------------------------------------------------------------------- */

void *cli_grab(size_t n, size_t size) {
    void *p = calloc(n ? n : 1, size ? size : 1);
    if (!p)
        cli_error("out of memory");
    return p;
}

int cli_grow(void **items, size_t *room, size_t n, size_t size) {
    if (n < *room)
        return CLI_DONE;
    size_t wanted = *room ? *room + *room / 2 + 1 : 64;
    void *p = wanted > SIZE_MAX / size ? NULL : realloc(*items, wanted * size);
    if (!p)
        return cli_error("out of memory");
    *items = p;
    *room = wanted;
    return CLI_DONE;
}

int cli_whole(const char *text, long *value) {
    char *end;
    errno = 0;
    *value = strtol(text, &end, 10);
    return end != text && !*end && errno == 0;
}

int cli_number(const char *text, double *value) {
    char *end;
    *value = strtod(text, &end);
    return end != text && !*end && text[0] != ' ' && isfinite(*value);
}

int cli_by_number(const void *a, const void *b) {
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

int cli_same_widths(const cli_task *t, const char *option) {
    for (size_t i = 1; i < t->n; i++)
        if (t->inputs[i].n_values != t->inputs[0].n_values)
            return cli_error("%s: examples %zu and %zu have %zu and %zu values; it needs equally "
                             "many",
                             option, t->rows[0], t->rows[i], t->inputs[0].n_values,
                             t->inputs[i].n_values);
    return CLI_DONE;
}

/* ---- Model and examples ---------------------------------------------------------------------- */

int cli_rows(const char *text, size_t count, size_t **rows, size_t *n) {
    int error = sis_rows_parse(text, count, rows, n);
    return error == SIS_E_FORMAT ? cli_usage("--rows: %s", sis_error_detail())
           : error               ? cli_error("--rows: %s", sis_error_detail())
                                 : CLI_DONE;
}

static int choose_rows(cli_task *t, const char *text) {
    size_t count = sis_data_count(t->data);
    if (text)
        return cli_rows(text, count, &t->rows, &t->n);
    t->rows = cli_grab(count, sizeof *t->rows);
    if (!t->rows)
        return CLI_FAILED;
    t->n = count;
    for (size_t i = 0; i < count; i++)
        t->rows[i] = i;
    return CLI_DONE;
}

static int load_row(cli_task *t, size_t i) {
    cli_row row = {0};
    char number[SIS_ID_SIZE];
    t->ids[i] = strdup(sis_data_id(t->data, t->rows[i], number));
    if (!t->ids[i])
        return cli_error("out of memory");
    if (cli_encode_width(t, t->data, t->rows[i], &row.width) != CLI_DONE)
        return CLI_FAILED;
    row.values = t->values[i] = cli_grab(row.width, sizeof *row.values);
    if (cli_has_words(t))
        row.word_at = t->word_at[i] = cli_grab(row.width, sizeof *row.word_at);
    if (!row.values || (cli_has_words(t) && !row.word_at))
        return CLI_FAILED;
    t->inputs[i] = (sis_input){.values = row.values, .n_values = row.width, .name = t->ids[i]};
    return cli_encode(t, t->data, t->rows[i], &row);
}

static int load_rows(cli_task *t) {
    t->values = cli_grab(t->n, sizeof *t->values);
    t->inputs = cli_grab(t->n, sizeof *t->inputs);
    t->ids = cli_grab(t->n, sizeof *t->ids);
    if (!t->values || !t->inputs || !t->ids)
        return CLI_FAILED;
    if (cli_has_words(t) && !(t->word_at = cli_grab(t->n, sizeof *t->word_at)))
        return CLI_FAILED;
    int status = CLI_DONE;
    for (size_t i = 0; status == CLI_DONE && i < t->n; i++)
        status = load_row(t, i);
    return status;
}

/* Ask a child about the first example. If it fails, it may have expected cells, where it gets a
 * value for each category. */
static int measure(cli_task *t) {
    enum { MOST = 8, NAME = 40 };
    size_t n = t->inputs[0].n_values, used = 0;
    char list[MOST * (NAME + 2) + 8] = "";
    int error = sis_model_measure(&t->model, t->values[0], n);
    const char *const *names = sis_data_names(t->data);
    if (error != SIS_E_MODEL || !names || sis_data_features(t->data, t->rows[0], NULL) == n)
        return cli_fail(error);
    for (size_t v = 0; v < n && v < MOST && used < sizeof list; v++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%.*s", v ? ", " : "", NAME,
                                 names[v]);
    return cli_error("%s; it was given a list of %zu values: %s%s", sis_error_detail(), n, list,
                     n > MOST ? ", ..." : "");
}

int cli_task_open(cli_task *t, const cli_source *s) {
    *t = (cli_task){0};
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.timeout = s->timeout;
    sis_data_opt_init(&t->opt);
    t->opt.label = s->label;
    t->opt.id = s->id;
    t->opt.categorical = s->categorical;
    int status = cli_fail(sis_model_open(s->model, &opt, &t->model));
    if (status == CLI_DONE) {
        t->net = sis_model_net(&t->model);
        status = cli_encode_names(t);
    }
    if (status == CLI_DONE)
        status = cli_fail(sis_data_read(s->input, &t->opt, &t->data));
    if (status == CLI_DONE)
        status = choose_rows(t, s->rows);
    if (status == CLI_DONE)
        status = cli_encode_begin(t);
    if (status == CLI_DONE)
        status = load_rows(t);
    if (status == CLI_DONE)
        status = measure(t);
    return status;
}

/* n texts and the list of them. */
static void free_texts(char **texts, size_t n) {
    for (size_t i = 0; texts && i < n; i++)
        free(texts[i]);
    free(texts);
}

void cli_task_close(cli_task *t) {
    for (size_t i = 0; t->words && i < t->n; i++) {
        long n = t->words[i] ? sis_input_features(&t->inputs[i]) : 0;
        free_texts(t->words[i], n > 0 ? (size_t)n : 0);
    }
    for (size_t i = 0; i < t->n; i++) {
        if (t->values)
            free(t->values[i]);
        if (t->maps)
            free(t->maps[i]);
        if (t->word_at)
            free(t->word_at[i]);
        if (t->human)
            free(t->human[i]);
    }
    free_texts(t->names, t->n_features);
    free_texts(t->ids, t->n);
    free(t->words);
    free(t->word_at);
    free(t->human);
    free(t->n_human);
    sis_vocabulary_free(t->vocabulary);
    free(t->first_piece);
    free((void *)t->opt.names);
    json_decref(t->names_list);
    free(t->maps);
    free(t->values);
    free(t->inputs);
    free(t->mask);
    free(t->feature_of);
    free(t->rows);
    sis_data_free(t->data);
    sis_model_close(&t->model);
    free(t->pieces);
    free(t->stand_in);
    *t = (cli_task){0};
}

int cli_task_spares(const cli_source *s, const cli_question *q, const char *output) {
    int status = cli_output_spares(output, s->input);
    if (status == CLI_DONE)
        status = cli_output_spares(output, s->model);
    if (status == CLI_DONE && q)
        status = cli_output_spares(output, q->mask);
    if (status == CLI_DONE && q)
        status = cli_output_spares(output, q->features);
    return status;
}

const char *cli_last_part(const char *path) {
    const char *slash = strncmp(path, "cmd:", 4) ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

int cli_same_model(const char *a, const char *b) {
    return strcmp(cli_last_part(a), cli_last_part(b)) == 0;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

int cli_task_predict(const cli_task *t, const sis_input *inputs, size_t n, size_t jobs,
                     double **scores) {
    sis_opt opt;
    sis_opt_init(&opt);
    opt.jobs = (int)jobs;
    *scores = cli_grab(n, t->model.n_outputs * sizeof **scores);
    return *scores ? cli_fail(sis_predict(&t->model, inputs, n, &opt, *scores)) : CLI_FAILED;
}

/* The percentile of the scores that would be explained, over every example of the file. */
static int score_percentile(const cli_task *t, double percent, const cli_source *s,
                            const cli_question *q, double *threshold) {
    cli_task all = {.data = t->data,
                    .net = t->net,
                    .vocabulary = t->vocabulary,
                    .pieces = t->pieces,
                    .first_piece = t->first_piece};
    double *scores = NULL;
    int status = choose_rows(&all, NULL);
    if (status == CLI_DONE)
        status = load_rows(&all);
    if (status == CLI_DONE)
        status = cli_task_predict(t, all.inputs, all.n, s->jobs, &scores);
    for (size_t i = 0; status == CLI_DONE && i < all.n; i++) {
        const double *row = scores + i * t->model.n_outputs;
        size_t output = cli_output_of(t, q->output, row);
        if (output == SIZE_MAX)
            status = CLI_FAILED;
        else
            scores[i] = row[output]; /* never behind what is still to be read */
    }
    if (status == CLI_DONE)
        status = cli_fail(sis_sample_percentile(scores, all.n, percent, threshold));
    free(scores);
    all.data = NULL; /* borrowed, as are vocabulary and pieces */
    all.vocabulary = NULL;
    all.pieces = NULL;
    all.first_piece = NULL;
    cli_task_close(&all);
    return status;
}

int cli_task_threshold(const cli_task *t, const char *text, const cli_source *s,
                       const cli_question *q, double *threshold) {
    int is_percentile = text[0] == 'p';
    double v;
    if (!cli_number(text + is_percentile, &v))
        return cli_usage("--threshold: expected a number or pNN (a percentile), found \"%s\"",
                         text);
    if (!is_percentile) {
        *threshold = v;
        return CLI_DONE;
    }
    if (v < 0 || v > 100)
        return cli_usage("--threshold: a percentile lies between p0 and p100, found \"%s\"", text);
    return score_percentile(t, v, s, q, threshold);
}
