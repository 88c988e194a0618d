/* SPDX-License-Identifier: MIT
 *
 * Tasks give the same records from a file or from memory, on one thread or several, in shards or as
 * a whole, one by one or by a callback, opened directly or derived from another task.
 */
#include "support_data.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/example.h>
#include <sis/files.h>
#include <sis/handle.h>
#include <sis/task.h>

#include "task/task.h"

#define MODEL(name) SIS_SOURCE_DIR "/models/" name

/* ---- A model and its examples ---------------------------------------------------------------- */

enum { WIDTH = 4, ROWS = 9 };

static const double rows[ROWS][WIDTH] = {
    {3, 1, 0, 0.5}, {0, 0, 0, 0}, {1, 1, 1, 1}, {9, -9, 4, 4}, {2, 2, 0, 0},
    {0, 5, 0, 5},   {4, 0, 0, 0}, {1, 2, 3, 4}, {-1, 0, 8, 0},
};
static const char table[] = "a,b,c,d\n3,1,0,0.5\n0,0,0,0\n1,1,1,1\n9,-9,4,4\n2,2,0,0\n0,5,0,5\n"
                            "4,0,0,0\n1,2,3,4\n-1,0,8,0\n";

/* Two outputs: the sum s of a row, and 2 s - 1, which is higher if s is above 1. */
static int add_up(void *ctx, const double *x, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        double sum = 0;
        for (size_t k = 0; k < width; k++)
            sum += x[i * width + k];
        scores[2 * i] = sum;
        scores[2 * i + 1] = 2 * sum - 1;
    }
    return 0;
}

static const sis_model summing = {
    .size = sizeof summing, .predict = add_up, .n_outputs = 2, .worker_new = sis_worker_share};

static sis_task_opt options(const sis_model *model) {
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.opened = model;
    o.question.mask = "zero";
    o.question.threshold = "4";
    return o;
}

static sis_data *in_memory(void) {
    static const char *const names[] = {"a", "b", "c", "d"};
    sis_data *data;
    sis_data_with with = {.kind = "table", .names = names};
    size_t dims[] = {ROWS, WIDTH};
    if (sis_data_from_values(&rows[0][0], 2, dims, &with, &data) != 0)
        fail_msg("%s", sis_error_detail());
    return data;
}

/* A function of texts: the number of letters o. */
typedef struct {
    const sis_piece *pieces;
    size_t n;
} reader;

static int take_pieces(void *ctx, const sis_piece *pieces, size_t n) {
    *(reader *)ctx = (reader){pieces, n};
    return 0;
}

static int count_o(void *ctx, const double *x, size_t n, size_t width, double *scores) {
    const reader *r = (const reader *)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t k = i * width; k < (i + 1) * width; k++) {
            const sis_piece *p = isnan(x[k]) ? NULL : &r->pieces[(size_t)x[k]];
            for (size_t c = 0; p && c < p->length; c++)
                scores[i] += p->text[c] == 'o';
        }
    }
    return 0;
}

static sis_model reading(reader *r) {
    return (sis_model){.size = sizeof(sis_model), .predict = count_o, .ctx = r, .n_outputs = 1};
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The lines of a task. */
typedef struct {
    char *text;
    size_t n, lines;
} lines;

/* The line of a record without the seconds. */
static int add_line(lines *all, const sis_record *record) {
    sis_record r = *record;
    char *line;
    size_t n;
    r.collection.seconds = 0;
    r.provenance = NULL; /* of files */
    int error = sis_record_format(&r, 1, &line, &n);
    if (error)
        return error;
    char *text = (char *)realloc(all->text, all->n + n + 1);
    if (!text) {
        free(line);
        return SIS_E_NOMEM;
    }
    memcpy(text + all->n, line, n + 1);
    free(line);
    all->text = text;
    all->n += n;
    all->lines++;
    return SIS_OK;
}

/* Record by record; 0 or the failure. */
static int take_all(sis_task *t, lines *out) {
    sis_record r;
    int got;
    while ((got = sis_task_next(t, &r)) == 1)
        if ((got = add_line(out, &r)) != 0)
            return got;
    return got;
}

static char *lines_of(const sis_task_opt *o) {
    sis_task *t;
    lines all = {0};
    if (sis_task_open(o, &t) != 0 || take_all(t, &all) != 0)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(all.lines, sis_task_count(t));
    sis_task_free(t);
    return all.text;
}

/* Each example explained separately, on one thread. */
static char *lines_of_each(const sis_task_opt *o) {
    sis_task *t;
    sis_record r;
    lines all = {0};
    assert_int_equal(sis_task_open(o, &t), 0);
    for (size_t i = 0; i < sis_task_count(t); i++)
        if (sis_task_explain(t, i, &r) != 0 || add_line(&all, &r) != 0)
            fail_msg("%s", sis_error_detail());
    sis_task_free(t);
    return all.text;
}

static void assert_same_lines(char *a, char *b) {
    assert_string_equal(a, b);
    free(a);
    free(b);
}

/* Remove the names of masks: memory has no file names. */
static char *without_masking(char *text) {
    for (char *at = text; (at = strstr(at, "\"masking\":"));) {
        char *end = strchr(at, ',');
        memmove(at, end, strlen(end) + 1);
    }
    return text;
}

/* ---- Where examples come from ---------------------------------------------------------------- */

static void a_table_in_memory_is_one_in_a_file(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt from_file = options(&summing), from_memory = from_file;
    from_file.examples.input = folder_text("t.csv", table);
    from_memory.examples.data = data;
    assert_same_lines(lines_of(&from_file), lines_of(&from_memory));
    char deck[4200], mean[4200];
    snprintf(deck, sizeof deck, "hotdeck:%s", from_file.examples.input);
    snprintf(mean, sizeof mean, "mean:%s", from_file.examples.input);
    from_memory.question.background = data;
    from_file.question.mask = deck;
    from_memory.question.mask = "hotdeck";
    assert_same_lines(without_masking(lines_of(&from_file)),
                      without_masking(lines_of(&from_memory)));
    from_file.question.mask = mean;
    from_memory.question.mask = "mean";
    assert_same_lines(lines_of(&from_file), lines_of(&from_memory));
    sis_data_free(data);
}

/* Cut the texts at the ends of lines, in place. */
static void leave_texts_out(char *said) {
    char *to = said;
    for (char *at = said; *at;) {
        char *text = strstr(at, ",\"text\":"), *end = strchr(at, '\n');
        size_t n = (size_t)((text && text < end ? text : end) - at);
        memmove(to, at, n);
        to[n] = '\n';
        to += n + 1;
        at = end + 1;
    }
    *to = '\0';
}

static void texts_in_memory_are_those_in_a_file(void **state) {
    (void)state;
    static const char *const texts[] = {"A wonderful, moving film: superb acting!", "Dull. Boring.",
                                        "..."};
    static const char *const words[] = {"A",      "wonderful", "moving", "film",
                                        "superb", "acting",    "Dull",   "Boring"};
    static const size_t n_words[] = {6, 2, 0};
    sis_data *data, *given;
    assert_int_equal(sis_data_from_texts(texts, 3, NULL, &data), 0);
    assert_int_equal(sis_data_from_words(words, n_words, 3, NULL, &given), 0);
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.spec = MODEL("imdb-cnn.onnx");
    o.question.threshold = "0.6";
    sis_task_opt memory = o, split = o;
    o.examples.input =
        folder_text("t.txt", "A wonderful, moving film: superb acting!\nDull. Boring.\n...\n");
    memory.examples.data = data;
    split.examples.data = given;
    char *all = lines_of(&o);
    assert_non_null(strstr(all, "\"words\":[\"A\",\"wonderful\",\"moving\""));
    assert_non_null(strstr(all, "the text has no words"));
    char *again = lines_of(&memory), *third = lines_of(&split);
    assert_non_null(
        strstr(all, "\"text\":\"A wonderful, moving film: superb acting!\",\"spans\":[0,1,2,11"));
    assert_non_null(strstr(third, "\"text\":\"A wonderful moving film superb acting\""));
    char *whole = strdup(all);
    assert_non_null(whole);
    leave_texts_out(whole);
    leave_texts_out(third);
    assert_string_equal(whole, third);
    assert_same_lines(all, again);
    free(whole);
    free(third);
    sis_data_free(data);
    sis_data_free(given);
}

static void a_function_may_read_texts(void **state) {
    (void)state;
    static const char *const texts[] = {"To be, or not to be: good!"};
    sis_data *data;
    reader r = {0};
    sis_model model = reading(&r);
    assert_int_equal(sis_data_from_texts(texts, 1, NULL, &data), 0);
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.opened = &model;
    o.model.spec = "letters";
    o.examples.data = data;
    o.question.threshold = "3";
    sis_task *t;
    assert_int_equal(sis_task_open(&o, &t), SIS_E_UNSUPPORTED);
    o.model.take_texts = take_pieces;
    char *all = lines_of(&o);
    assert_non_null(strstr(all, "\"score\":6"));
    assert_non_null(strstr(all, "\"words\":[\"To\",\"be\",\"or\",\"not\",\"to\",\"be\",\"good\"]"));
    assert_null(strstr(all, "\"values\""));
    free(all);
    sis_data_free(data);
}

static void sequences_in_memory_are_those_in_a_file(void **state) {
    (void)state;
    char letters[102], fasta[256];
    for (size_t i = 0; i < 101; i++)
        letters[i] = "ACGTNACCAGGGGGCGC"[i % 17];
    letters[101] = '\0';
    const char *const one[] = {letters}, *const ids[] = {"s"};
    sis_data_with with = {.ids = ids};
    snprintf(fasta, sizeof fasta, ">s\n%s\n", letters);
    sis_data *data;
    assert_int_equal(sis_data_from_sequences(one, 1, &with, &data), 0);
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.spec = MODEL("dna-ctcf.onnx");
    o.question.threshold = "0.3";
    sis_task_opt memory = o;
    o.examples.input = folder_text("t.fa", fasta);
    memory.examples.data = data;
    char *all = lines_of(&o);
    assert_non_null(strstr(all, "\"sequence\":\"ACGTNACC"));
    assert_same_lines(all, lines_of(&memory));
    sis_data_free(data);
}

/* Sequences of different lengths, for networks of any length. */
static void constant_masks_are_for_any_length(void **state) {
    static const char *const sequences[] = {"ACGT", "GATTACA", "C"};
    static const char *const masks[] = {"zero", "value:0.5", "uniform", NULL};
    sis_data *data;
    (void)state;
    assert_int_equal(sis_data_from_sequences(sequences, 3, NULL, &data), 0);
    for (size_t k = 0; k < 4; k++) {
        sis_task_opt o = options(&summing);
        sis_task *task;
        sis_example e;
        o.examples.data = data;
        o.question.mask = masks[k];
        assert_int_equal(sis_task_open(&o, &task), 0);
        for (size_t i = 0; i < 3; i++) {
            assert_int_equal(sis_task_load(task, i, &e), 0);
            assert_int_equal(e.input.n_values, 4 * strlen(sequences[i]));
            for (size_t v = 0; v < e.input.n_values; v++)
                assert_true(e.input.mask[v] == (k == 0 ? 0 : k == 1 ? 0.5 : 0.25));
            sis_example_release(&e);
        }
        sis_task_free(task);
    }
    sis_data_free(data);
}

static void data_in_memory_are_checked(void **state) {
    (void)state;
    sis_data *data;
    size_t none[] = {0, 4}, dims[] = {1, 2}, huge[] = {SIZE_MAX / 4, 8};
    double x[] = {1, NAN}, out[2];
    static const char *const bad[] = {"caf\xC3"}, *const blank[] = {""},
                             *const letters[] = {"ACGU"};
    size_t one = 1;
    sis_data_with with = {.kind = "text", .name = "the request"};
    assert_int_equal(sis_data_from_values(x, 2, none, NULL, &data), SIS_E_ARGUMENT);
    assert_int_equal(sis_data_from_values(x, 2, huge, NULL, &data), SIS_E_ARGUMENT);
    assert_int_equal(sis_data_from_values(x, 0, dims, NULL, &data), SIS_E_ARGUMENT);
    assert_int_equal(sis_data_from_values(x, 2, dims, &with, &data), SIS_E_ARGUMENT);
    assert_message_has("expected array, table or image");
    assert_int_equal(sis_data_from_values(x, 2, dims, NULL, &data), SIS_OK);
    assert_int_equal(sis_data_values(data, 0, out), SIS_E_FORMAT);
    sis_data_free(data);
    with = (sis_data_with){.missing = 1, .name = "the request"};
    assert_int_equal(sis_data_from_values(x, 2, dims, &with, &data), SIS_OK);
    assert_int_equal(sis_data_values(data, 0, out), SIS_OK);
    assert_true(isnan(out[1]));
    sis_data_free(data);
    assert_int_equal(sis_data_from_texts(bad, 1, &with, &data), SIS_E_FORMAT);
    assert_message_has("the request, text 0: byte 3 is not UTF-8");
    assert_int_equal(sis_data_from_texts(bad, 0, NULL, &data), SIS_E_ARGUMENT);
    assert_int_equal(sis_data_from_words(blank, &one, 1, NULL, &data), SIS_E_ARGUMENT);
    assert_int_equal(sis_data_from_sequences(letters, 1, NULL, &data), SIS_E_FORMAT);
    assert_message_has("0x55 is not a base");
    assert_int_equal(sis_data_from_sequences(blank, 1, NULL, &data), SIS_E_FORMAT);
    assert_null(data);
}

/* ---- Records --------------------------------------------------------------------------------- */

/* Compares each record with the result of the core. */
static void hold_against_core(size_t i, const sis_record *r) {
    static const double zero[WIDTH];
    sis_opt opt = decision(4);
    sis_input in = {.values = rows[i],
                    .mask = zero,
                    .n_values = WIDTH,
                    .output = r->question.target,
                    .n_samples = 1};
    sis_collection c;
    double sum = 0;
    for (size_t k = 0; k < WIDTH; k++)
        sum += rows[i][k];
    assert_int_equal(r->question.target, sum > 1);
    assert_int_equal(sis_collect(&summing, &in, &opt, &c), 0);
    assert_same_subsets(&c, &r->collection);
    assert_int_equal(c.evaluations, r->collection.evaluations);
    assert_memory_equal(r->drawing.values, rows[i], sizeof rows[i]);
    assert_string_equal(r->drawing.names[2], "c");
    sis_collection_release(&c);
}

static void records_hold_what_the_core_finds(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o = options(&summing);
    sis_task *t;
    sis_record r;
    size_t n = 0, some[] = {2, 3, 7};
    o.examples.data = data;
    assert_int_equal(sis_task_open(&o, &t), 0);
    for (; sis_task_next(t, &r) == 1; n++)
        hold_against_core(n, &r);
    assert_int_equal(n, ROWS);
    assert_int_equal(sis_task_choose(t, some, 3), 0);
    for (n = 0; sis_task_next(t, &r) == 1; n++)
        hold_against_core(some[n], &r);
    assert_int_equal(n, 3);
    some[2] = ROWS;
    assert_int_equal(sis_task_choose(t, some, 3), SIS_E_ARGUMENT);
    assert_message_has("no example");
    assert_int_equal(sis_task_explain(t, ROWS, &r), SIS_E_ARGUMENT);
    assert_int_equal(sis_task_choose(t, some, 0), 0);
    assert_int_equal(sis_task_next(t, &r), 0);
    sis_task_free(t);
    sis_data_free(data);
}

/* Threads that explain the same examples at the same time, backwards: more than the jobs. */
static void *explain_backwards(void *ctx) {
    sis_record r;
    for (size_t i = ROWS; i-- > 0;) {
        assert_int_equal(sis_task_explain((sis_task *)ctx, i, &r), 0);
        hold_against_core(i, &r);
    }
    return NULL;
}

static void threads_explain_what_they_like(void **state) {
    (void)state;
    enum { THREADS = 4 };
    pthread_t threads[THREADS];
    sis_data *data = in_memory();
    sis_model alone = summing;
    alone.worker_new = NULL; /* one thread at a time */
    for (int jobs = 1; jobs <= 3; jobs++) {
        sis_task_opt o = options(jobs < 3 ? &summing : &alone);
        sis_task *t;
        o.examples.data = data;
        o.answer.search.jobs = jobs;
        assert_int_equal(sis_task_open(&o, &t), 0);
        for (size_t k = 0; k < THREADS; k++)
            assert_int_equal(pthread_create(&threads[k], NULL, explain_backwards, t), 0);
        for (size_t k = 0; k < THREADS; k++)
            pthread_join(threads[k], NULL);
        sis_task_free(t);
    }
    sis_data_free(data);
}

static void threads_change_nothing(void **state) {
    (void)state;
    static const char *const methods[] = {"sis", "perturb", "lime"};
    sis_data *data = in_memory();
    for (size_t k = 0; k < 3; k++) {
        sis_task_opt o = options(&summing), many;
        o.examples.data = data;
        o.answer.method = methods[k];
        o.answer.trace = 1;
        o.question.samples = 50;
        many = o;
        many.answer.search.jobs = 4;
        assert_same_lines(lines_of(&o), lines_of(&many));
        assert_same_lines(lines_of_each(&o), lines_of_each(&many));
        assert_same_lines(lines_of(&many), lines_of_each(&many));
    }
    sis_data_free(data);
}

/* The same output as the program's, if it has been built. */
static void the_program_writes_the_same(void **state) {
    (void)state;
    char command[4200], line[1 << 14];
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.spec = MODEL("credit.onnx");
    o.examples.input = SIS_SOURCE_DIR "/examples/credit.csv";
    o.question.threshold = "p60";
    o.examples.rows = "0:6";
    if (access(SIS_BINARY_DIR "/sis", X_OK) != 0) {
        print_message("skipped: there is no program\n");
        return;
    }
    snprintf(command, sizeof command,
             "'" SIS_BINARY_DIR "/sis' explain -q -m '%s' -i '%s' -t p60 --rows 0:6 --trace",
             o.model.spec, o.examples.input);
    FILE *from = popen(command, "r");
    assert_non_null(from);
    lines said = {0};
    while (fgets(line, sizeof line, from)) {
        sis_record r;
        if (sis_record_parse(line, strlen(line), &r) != 0)
            fail_msg("%s", sis_error_detail());
        assert_int_equal(add_line(&said, &r), 0);
        sis_record_release(&r);
    }
    assert_int_equal(pclose(from), 0);
    assert_int_equal(said.lines, 6);
    assert_same_lines(said.text, lines_of(&o));
}

static void what_cannot_be_asked_is_a_record(void **state) {
    (void)state;
    static const double values[] = {1, 0, 2}; /* the child answers NaN to 2 */
    sis_data *data;
    size_t dims[] = {3, 1};
    assert_int_equal(sis_data_from_values(values, 2, dims, NULL, &data), 0);
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.spec = "cmd:while read -r l; do case $l in *2*) s=NaN;; *) s=0;; esac; "
                   "echo \"$l\" | sed \"s/\\\\[[^][]*\\\\]/[$s,1]/g; s/inputs/outputs/\"; done";
    o.examples.data = data;
    o.question.mask = "zero";
    o.question.threshold = "0.5";
    char *all = lines_of(&o);
    const char *last = strstr(all, "\"id\":\"2\"");
    assert_non_null(last);
    assert_non_null(strstr(last, "\"status\":\"error\""));
    assert_non_null(strstr(last, "NaN"));
    free(all);
    sis_data_free(data);
}

/* ---- Which examples -------------------------------------------------------------------------- */

static void shards_are_all_examples(void **state) {
    (void)state;
    sis_data *data = in_memory();
    unsigned char seen[ROWS] = {0};
    for (size_t shard = 0; shard < 4; shard++) {
        sis_task_opt o = options(&summing);
        sis_task *t;
        o.examples.data = data;
        o.examples.shard = shard;
        o.examples.shards = 4;
        o.question.threshold = "p50"; /* over all examples, whatever the shard */
        assert_int_equal(sis_task_open(&o, &t), 0);
        for (size_t i = 0; i < sis_task_count(t); i++) {
            char number[SIS_ID_SIZE];
            size_t row = sis_task_row(t, i);
            assert_int_equal(row % 4, shard);
            assert_int_equal(sis_task_find(t, sis_task_id(t, i, number)), i);
            assert_int_equal(atoi(sis_task_id(t, i, number)), row);
            seen[row]++;
        }
        assert_int_equal(sis_task_find(t, "none"), SIZE_MAX);
        assert_true(sis_task_threshold(t) == 8);
        lines all = {0};
        assert_int_equal(take_all(t, &all), 0);
        assert_int_equal(all.lines, sis_task_count(t));
        free(all.text);
        sis_task_free(t);
    }
    for (size_t i = 0; i < ROWS; i++)
        assert_int_equal(seen[i], 1);
    sis_data_free(data);
}

static void a_shard_may_be_empty(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o = options(&summing);
    sis_task *t;
    sis_record r;
    o.examples.data = data;
    o.examples.shard = 10;
    o.examples.shards = 11;
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_int_equal(sis_task_count(t), 0);
    assert_int_equal(sis_task_next(t, &r), 0);
    sis_task_free(t);
    sis_data_free(data);
}

typedef struct {
    size_t next;
    double scores[ROWS];
} scored;

static int keep_second(void *ctx, size_t i, const double *scores) {
    scored *s = (scored *)ctx;
    assert_int_equal(i, s->next++);
    s->scores[i] = scores[1];
    return i == 6 ? 77 : 0;
}

static void scores_come_in_order(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o;
    sis_task_opt_init(&o);
    sis_task *t;
    sis_record r;
    scored s = {0};
    size_t some[] = {4, 2};
    o.model.opened = &summing;
    o.examples.data = data;
    o.question.plain = 1;
    o.answer.search.memory = 100; /* three rows at a time */
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_int_equal(sis_task_predict(t, NULL, ROWS, keep_second, &s), 77);
    assert_int_equal(s.next, 7);
    for (size_t i = 0; i < 7; i++)
        assert_true(s.scores[i] == 2 * (rows[i][0] + rows[i][1] + rows[i][2] + rows[i][3]) - 1);
    s.next = 0;
    assert_int_equal(sis_task_predict(t, some, 2, keep_second, &s), 0);
    assert_true(s.scores[0] == 7);
    assert_int_equal(sis_task_next(t, &r), SIS_E_OPTION);
    sis_task_free(t);
    sis_data_free(data);
}

/* ---- Derived tasks --------------------------------------------------------------------------- */

/* Each row as a separate request. */
static char *one_by_one(const sis_task *like) {
    lines all = {0};
    for (size_t i = 0; i < ROWS; i++) {
        static const char *const names[] = {"a", "b", "c", "d"};
        char id[8];
        const char *const ids[] = {id};
        sis_data_with with = {.kind = "table", .names = names, .ids = ids};
        size_t dims[] = {1, WIDTH};
        sis_data *data;
        sis_task *t;
        snprintf(id, sizeof id, "%zu", i);
        assert_int_equal(sis_data_from_values(rows[i], 2, dims, &with, &data), 0);
        if (sis_task_derive(like, data, &t) != 0 || take_all(t, &all) != 0)
            fail_msg("%s", sis_error_detail());
        sis_task_free(t);
        sis_data_free(data);
    }
    return all.text;
}

static void a_task_like_another_asks_the_same(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o = options(&summing);
    sis_task *t, *other;
    o.examples.data = o.question.background = data;
    o.question.mask = "mean";
    o.question.threshold = "p50";
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_same_lines(lines_of(&o), one_by_one(t));
    size_t dims[] = {1, 2};
    sis_data *narrow;
    assert_int_equal(sis_data_from_values(rows[0], 2, dims, NULL, &narrow), 0);
    assert_int_equal(sis_task_derive(t, narrow, &other), SIS_E_ARGUMENT);
    assert_message_has("--mask: it has 4 values, but an example has 2");
    assert_null(other);
    sis_task_free(t);
    sis_data_free(narrow);
    sis_data_free(data);
}

static void a_task_needs_no_examples_of_its_own(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o = options(&summing), with = o;
    sis_task *t;
    sis_record r;
    with.examples.data = data;
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_int_equal(sis_task_count(t), 0);
    assert_int_equal(sis_task_next(t, &r), SIS_E_OPTION);
    assert_same_lines(lines_of(&with), one_by_one(t));
    sis_task_free(t);
    sis_data_free(data);
}

/* For proofs, the domain is part of the question: it must not depend on whether there were
 * examples when the task was opened. */
static void proofs_of_a_task_like_another_are_the_same(void **state) {
    (void)state;
    static const double row[] = {40, 52000, 4000, 12000, 0, 3, 8, 0.15};
    static const char *const domains[] = {NULL, "any", "ball:2",
                                          "data:" SIS_SOURCE_DIR "/examples/credit.csv"};
    static const char *const methods[] = {"contrast", "sis"};
    const size_t dims[] = {1, 8};
    sis_data *data;
    assert_int_equal(sis_data_from_values(row, 2, dims, NULL, &data), 0);
    for (size_t k = 0; k < 8; k++)
        for (int examples = 0; examples < 2; examples++) {
            sis_task_opt o;
            sis_task *like, *t;
            lines apart = {0};
            sis_task_opt_init(&o);
            o.model.spec = SIS_SOURCE_DIR "/examples/credit-trees.json";
            o.question.guarantee = "all";
            o.answer.method = methods[k % 2];
            o.question.domain = domains[k / 2];
            o.answer.search.threshold = 0.5;
            o.examples.data = examples ? data : NULL;
            assert_int_equal(sis_task_open(&o, &like), 0);
            assert_int_equal(sis_task_derive(like, data, &t), 0);
            assert_int_equal(take_all(t, &apart), 0);
            assert_non_null(strstr(apart.text, "\"proved\":true"));
            if (k < 4) /* any number: the tree has splits that lose the decision */
                assert_non_null(strstr(apart.text, "\"status\":\"explained\""));
            o.examples.data = data;
            assert_same_lines(apart.text, lines_of(&o));
            sis_task_free(t);
            sis_task_free(like);
        }
    sis_data_free(data);
}

static void texts_are_asked_about_one_at_a_time(void **state) {
    (void)state;
    static const char *const texts[] = {"A superb film.", "Boring!"};
    sis_task_opt o;
    sis_task_opt_init(&o);
    o.model.spec = MODEL("imdb-cnn.onnx");
    o.question.mask = "zero";
    o.answer.search.threshold = 0.5;
    sis_task *like, *t;
    lines apart = {0};
    assert_int_equal(sis_task_open(&o, &like), 0);
    for (size_t i = 0; i < 2; i++) {
        sis_data *data;
        const char *const ids[] = {i ? "1" : "0"};
        assert_int_equal(sis_data_from_texts(&texts[i], 1, &(sis_data_with){.ids = ids}, &data), 0);
        assert_int_equal(sis_task_derive(like, data, &t), 0);
        assert_int_equal(take_all(t, &apart), 0);
        sis_task_free(t);
        sis_data_free(data);
    }
    sis_task_free(like);
    sis_data *both;
    assert_int_equal(sis_data_from_texts(texts, 2, NULL, &both), 0);
    o.examples.data = both;
    assert_same_lines(apart.text, lines_of(&o));
    sis_data_free(both);
}

static void a_task_takes_another_decision(void **state) {
    (void)state;
    sis_data *data = in_memory();
    for (int jobs = 1; jobs <= 2; jobs++) {
        sis_task_opt o = options(&summing), other;
        sis_task *t;
        sis_record r;
        lines all = {0};
        o.examples.data = data;
        o.answer.search.jobs = jobs;
        other = o;
        other.question.threshold = "p70";
        other.question.target = "0";
        other.answer.search.below = 1;
        assert_int_equal(sis_task_open(&o, &t), 0);
        assert_int_equal(sis_task_next(t, &r), 1);
        assert_int_equal(sis_task_decide(t, "p70", 1, "0", NULL), 0);
        assert_int_equal(take_all(t, &all), 0);
        assert_same_lines(all.text, lines_of(&other));
        assert_int_equal(sis_task_decide(t, NULL, 1, "9", NULL), SIS_E_ARGUMENT);
        assert_int_equal(sis_task_decide(t, "high", 1, "1", NULL), SIS_E_OPTION);
        all = (lines){0};
        assert_int_equal(take_all(t, &all), 0);
        assert_same_lines(all.text, lines_of(&other)); /* as before */
        assert_int_equal(sis_task_decide(t, NULL, 1, "0", "0"), SIS_E_OPTION);
        assert_int_equal(sis_task_decide(t, NULL, 1, NULL, "1"), 0);
        assert_int_equal(sis_task_decide(t, NULL, 1, NULL, NULL), 0); /* still position 1 */
        assert_int_equal(sis_task_next(t, &r), 1);
        assert_int_equal(r.question.target, 1);
        assert_int_equal(sis_task_decide(t, "4", 0, "top", NULL), 0);
        all = (lines){0};
        assert_int_equal(take_all(t, &all), 0);
        assert_same_lines(all.text, lines_of(&o));
        sis_task_free(t);
    }
    sis_data_free(data);
}

/* ---- Verification ---------------------------------------------------------------------------- */

/* Read the results again, as from a results file. */
static size_t parse_lines(char *text, sis_record *out, size_t max) {
    size_t n = 0;
    for (char *line = text; *line && n < max; n++) {
        char *end = strchr(line, '\n');
        if (sis_record_parse(line, (size_t)(end - line), &out[n]) != 0)
            fail_msg("%s", sis_error_detail());
        line = end + 1;
    }
    return n;
}

static int verify_all(void *ctx) {
    sis_record *records = ((void **)ctx)[1];
    sis_audit found[ROWS];
    int error = sis_task_verify((sis_task *)((void **)ctx)[0], records, ROWS, found);
    for (size_t i = 0; error == SIS_OK && i < ROWS; i++) {
        assert_int_equal(found[i].holds, i != 3);
        sis_audit_release(&found[i]);
    }
    return error;
}

static void records_are_verified_by_the_task(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o = options(&summing);
    sis_record records[ROWS];
    sis_audit found[ROWS];
    sis_task *t;
    o.examples.data = data;
    o.question.target = "0";
    char *all = lines_of(&o);
    assert_int_equal(parse_lines(all, records, ROWS), ROWS);
    assert_int_equal(sis_task_open(&o, &t), 0);
    for (size_t i = 0; i < ROWS; i++) {
        sis_example x, y;
        assert_int_equal(sis_task_load(t, i, &x), 0);
        assert_int_equal(sis_task_load(t, (i + 1) % ROWS, &y), 0);
        assert_true(sis_task_is_answer(t, &x, &records[i]));
        assert_false(sis_task_is_answer(t, &y, &records[i]));
        sis_example_release(&y);
        sis_example_release(&x);
    }
    sis_task_free(t);
    o.question.threshold = NULL; /* taken from the records */
    o.question.target = NULL;
    assert_int_equal(sis_task_open(&o, &t), 0);
    records[5].question.threshold = 3; /* of its own, and as true */
    records[3].collection.score = 100;
    void *both[] = {t, records};
    assert_int_equal(verify_all(both), 0);
    assert_true(with_failing_allocations(verify_all, both) > 5);
    const char *id = records[7].id;
    records[7].id = "who";
    assert_int_equal(sis_task_verify(t, records, ROWS, found), SIS_E_ARGUMENT);
    assert_message_has("record \"who\" is not among the selected");
    records[7].id = records[6].id;
    assert_int_equal(sis_task_verify(t, records, ROWS, found), SIS_E_ARGUMENT);
    assert_message_has("made with another input");
    records[7].id = id;
    records[7].question.target = 2;
    assert_int_equal(sis_task_verify(t, records, ROWS, found), SIS_E_ARGUMENT);
    assert_message_has("is about output 2, but the model has 2");
    sis_task_free(t);
    for (size_t i = 0; i < ROWS; i++)
        sis_record_release(&records[i]);
    free(all);
    sis_data_free(data);
}

/* ---- Stopping -------------------------------------------------------------------------------- */

/* Slow enough to be cancelled: 150 features, none of which is enough. */
static sis_data *long_rows(size_t n) {
    enum { LONG = 150 };
    double *values = (double *)calloc(n * LONG, sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < n * LONG; i++)
        values[i] = 0.1 + (double)(i % 7) * 0.01;
    sis_data *data;
    size_t dims[] = {n, LONG};
    assert_int_equal(sis_data_from_values(values, 2, dims, NULL, &data), 0);
    free(values);
    return data;
}

static int cancel_soon(void *ctx, const sis_progress *p) {
    sis_task **t = (sis_task **)ctx;
    if (p->evaluations > 2000)
        sis_task_cancel(*t);
    return 0;
}

static int stop_soon(void *ctx, const sis_progress *p) {
    (void)ctx;
    assert_true(p->inputs == 40 && p->inputs_done < 40);
    return p->evaluations > 2000;
}

static void a_task_can_be_cancelled(void **state) {
    (void)state;
    sis_data *data = long_rows(40);
    for (int jobs = 1; jobs <= 3; jobs += 2)
        for (int by_progress = 0; by_progress < 2; by_progress++) {
            sis_task_opt o = options(&summing);
            sis_task *t;
            lines all = {0};
            o.examples.data = data;
            o.answer.search.jobs = jobs;
            o.answer.search.progress = by_progress ? stop_soon : cancel_soon;
            o.answer.search.progress_ctx = &t;
            o.answer.search.progress_every = 0;
            assert_int_equal(sis_task_open(&o, &t), 0);
            assert_int_equal(take_all(t, &all), SIS_E_CANCELLED);
            assert_true(all.lines < 40);
            assert_int_equal(take_all(t, &all), 0); /* reported once */
            sis_task_free(t);
            free(all.text);
        }
    sis_data_free(data);
}

static void a_task_may_be_freed_while_it_runs(void **state) {
    (void)state;
    sis_data *data = long_rows(200);
    sis_task_opt o = options(&summing);
    sis_task *t;
    sis_record r;
    o.examples.data = data;
    o.answer.search.jobs = 3;
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_int_equal(sis_task_next(t, &r), 1);
    assert_string_equal(r.id, "0");
    sis_task_free(t);
    sis_data_free(data);
}

/* ---- Refused options ------------------------------------------------------------------------- */

static void refused(const sis_task_opt *o, int code, const char *part) {
    sis_task *t;
    assert_int_equal(sis_task_open(o, &t), code);
    assert_null(t);
    assert_message_has(part);
}

static void what_makes_no_sense_is_refused(void **state) {
    (void)state;
    sis_data *data = in_memory();
    const sis_task_opt good = options(&summing);
    sis_task_opt o = good;
    o.model.opened = NULL;
    refused(&o, SIS_E_OPTION, "--model");
    o = good;
    o.examples.data = data;
    o.examples.input = "x.csv";
    refused(&o, SIS_E_OPTION, "--input: a data set was given too");
    o.examples.input = NULL;
    o.examples.shards = 0;
    refused(&o, SIS_E_OPTION, "--shard");
    o.examples.shards = o.examples.shard = 2;
    refused(&o, SIS_E_OPTION, "--shard: expected one from 0 to 1, found 2");
    o.examples.shard = 0;
    o.question.seed = UINT64_MAX;
    refused(&o, SIS_E_OPTION, "--seed: expected at most 9223372036854775807, found 18446744");
    o.question.seed = 1;
    o.examples.rows = "x";
    refused(&o, SIS_E_OPTION, "--rows: ");
    o.examples.rows = "99";
    refused(&o, SIS_E_ARGUMENT, "--rows: ");
    o.examples.rows = NULL;
    o.question.threshold = "high";
    refused(&o, SIS_E_OPTION, "--threshold: expected a number or pNN");
    o.question.threshold = "p101";
    refused(&o, SIS_E_OPTION, "from p0 to p100");
    o.question.threshold = "1";
    o.question.mask = "mean";
    refused(&o, SIS_E_OPTION, "--mask: expected mean:FILE");
    o.question.mask = NULL;
    refused(&o, SIS_E_OPTION, "the model has none of its own; give one");
    o.question.mask = "zero";
    o.question.target = "2";
    refused(&o, SIS_E_ARGUMENT, "--target: the model has 2 outputs; expected 0 to 1 or top");
    o.question.target = "1";
    o.question.target_index = "1";
    refused(&o, SIS_E_OPTION, "--target and --target-index: expected one of them");
    o.question.target = "top";
    o.question.target_index = "2";
    refused(&o, SIS_E_ARGUMENT, "--target-index: the model has 2 outputs; expected 0 to 1, found");
    o.question.target_index = NULL;
    o.answer.method = "magic";
    refused(&o, SIS_E_OPTION, "--method: expected sis");
    o.answer.method = "sis";
    o.answer.constraint = "length";
    refused(&o, SIS_E_OPTION, "does not work with --method sis");
    o.answer.constraint = "sufficient";
    o.question.features = "all";
    refused(&o, SIS_E_OPTION, "--features: expected each");
    o.question.features = "each";
    o.question.threshold = NULL;
    sis_task *t;
    sis_record r;
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_true(isnan(sis_task_threshold(t)));
    assert_int_equal(sis_task_next(t, &r), SIS_E_ARGUMENT);
    assert_message_has("threshold");
    sis_task_free(t);
    sis_data_free(data);
}

static void columns_must_be_those_of_the_model(void **state) {
    (void)state;
    static const char *const names[] = {"age", "debt", "income", "s", "l", "o", "y", "c"};
    sis_data_with with = {.kind = "table", .names = names};
    size_t dims[] = {1, 8};
    sis_data *data;
    sis_task_opt o;
    assert_int_equal(sis_data_from_values(&rows[0][0], 2, dims, &with, &data), 0);
    sis_task_opt_init(&o);
    o.model.spec = MODEL("credit.onnx");
    o.examples.data = data;
    o.question.threshold = "0.5";
    refused(&o, SIS_E_ARGUMENT, "value 1 is named \"debt\"; the model expects \"income\"");
    sis_data_free(data);
}

static void options_are_copied(void **state) {
    (void)state;
    sis_data *data = in_memory();
    char mask[] = "zero", threshold[] = "4", name[] = "sums", kept[] = "city";
    sis_task_opt o = options(&summing);
    sis_task *t;
    sis_record r;
    o.examples.data = data;
    o.question.mask = mask;
    o.question.threshold = threshold;
    o.model.spec = name;
    o.examples.read.kept = kept; /* read again for masks and domains of records */
    assert_int_equal(sis_task_open(&o, &t), 0);
    memset(kept, 'x', 4);
    assert_string_equal(t->opt.examples.read.kept, "city");
    memset(mask, 'x', 4);
    memset(name, 'x', 4);
    threshold[0] = '9';
    assert_int_equal(sis_task_next(t, &r), 1);
    assert_string_equal(r.model, "sums");
    assert_true(r.question.threshold == 4);
    sis_task_free(t);
    sis_data_free(data);
}

/* ---- Memory ---------------------------------------------------------------------------------- */

static int open_and_take(void *ctx) {
    sis_task *t = NULL;
    lines all = {0};
    int error = sis_task_open((const sis_task_opt *)ctx, &t);
    if (error == SIS_OK)
        error = take_all(t, &all);
    sis_task_free(t);
    free(all.text);
    return error;
}

static int ask_about(void *ctx) {
    sis_data *data = NULL;
    sis_task *t = NULL;
    lines all = {0};
    size_t dims[] = {2, WIDTH};
    static const char *const labels[] = {"yes", "no"}, *const names[] = {"a", "b", "c", "d"};
    sis_data_with with = {.kind = "table", .names = names, .ids = labels, .labels = labels};
    int error = sis_data_from_values(&rows[0][0], 2, dims, &with, &data);
    if (error == SIS_OK)
        error = sis_task_derive((const sis_task *)ctx, data, &t);
    if (error == SIS_OK)
        error = take_all(t, &all);
    sis_task_free(t);
    sis_data_free(data);
    free(all.text);
    return error;
}

static int make_data(void *ctx) {
    static const char *const texts[] = {"one two", "three"}, *const ids[] = {"a", "b"},
                             *const words[] = {"one", "two", "three"}, *const bases[] = {"AC", "G"};
    static const size_t n_words[] = {2, 1};
    sis_data_with with = {.ids = ids, .labels = texts};
    sis_data *data = NULL;
    (void)ctx;
    int error = sis_data_from_texts(texts, 2, &with, &data);
    sis_data_free(data);
    if (error == SIS_OK) {
        error = sis_data_from_words(words, n_words, 2, &with, &data);
        sis_data_free(data);
    }
    if (error == SIS_OK) {
        error = sis_data_from_sequences(bases, 2, &with, &data);
        sis_data_free(data);
    }
    return error;
}

static int share_once(void *ctx) {
    sis_model other;
    int error = sis_model_share((const sis_model *)ctx, &other);
    if (error == SIS_OK)
        sis_model_close(&other);
    return error;
}

static void a_handle_changes_no_other(void **state) {
    (void)state;
    static const double embedding[] = {1}, ids[] = {SIS_TOKEN_MASK};
    sis_model net, other, nothing = {.predict = add_up};
    double *before, *after;
    assert_int_equal(sis_model_open(MODEL("imdb-cnn.onnx"), NULL, &net), 0);
    assert_int_equal(sis_model_share(&net, &other), 0);
    size_t n = net.dim;
    assert_int_equal(sis_model_mask_token(&other, embedding, 1), SIS_E_ARGUMENT);
    double *mask = (double *)calloc(n, sizeof *mask);
    before = (double *)calloc(n, sizeof *before);
    after = (double *)calloc(n, sizeof *after);
    assert_true(mask && before && after);
    mask[0] = 7;
    assert_int_equal(net.embed(net.ctx, ids, 1, before), 0);
    assert_int_equal(sis_model_mask_token(&other, mask, n), 0);
    assert_int_equal(net.embed(net.ctx, ids, 1, after), 0);
    assert_memory_equal(before, after, n * sizeof *after);
    assert_int_equal(other.embed(other.ctx, ids, 1, after), 0);
    assert_memory_equal(mask, after, n * sizeof *after);
    sis_model_close(&other);
    assert_true(with_failing_allocations(share_once, &net) > 2);
    sis_model_close(&net);
    assert_int_equal(sis_model_share(&summing, &other), SIS_E_UNSUPPORTED);
    assert_int_equal(sis_model_measure(&nothing, mask, 1), SIS_E_ARGUMENT);
    free(mask);
    free(before);
    free(after);
}

static void memory_that_runs_out_is_reported(void **state) {
    (void)state;
    sis_data *data = in_memory();
    sis_task_opt o = options(&summing);
    sis_task *t;
    o.examples.data = o.question.background = data;
    o.question.mask = "hotdeck";
    o.question.samples = 3;
    o.examples.rows = "0:4";
    o.examples.shards = 2;
    o.question.threshold = "p40";
    assert_true(with_failing_allocations(open_and_take, &o) > 50);
    o.answer.method = "perturb";
    o.question.mask = "mean";
    o.question.features = "axis:0";
    o.examples.read.label = "a";
    assert_true(with_failing_allocations(open_and_take, &o) > 50);
    const double numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};
    char path[2048];
    snprintf(path, sizeof path, "%s", folder_path("values.npy"));
    assert_int_equal(sis_npy_write(path, numbers, 1, (size_t[]){sis_data_width(data, 0)}), 0);
    o.question.features = o.question.mask = path;
    assert_true(with_failing_allocations(open_and_take, &o) > 50);
    o.question.mask = "mean";
    o.question.features = "each";
    assert_int_equal(sis_task_open(&o, &t), 0);
    assert_true(with_failing_allocations(ask_about, t) > 30);
    assert_true(with_failing_allocations(make_data, NULL) > 5);
    sis_task_free(t);
    sis_data_free(data);
}

static int ask_about_texts(void *ctx) {
    static const char *const texts[] = {"good, no", "..."};
    sis_data *data = NULL;
    sis_task *t = NULL;
    lines all = {0};
    int error = sis_data_from_texts(texts, 2, NULL, &data);
    if (error == SIS_OK)
        error = sis_task_derive((const sis_task *)ctx, data, &t);
    if (error == SIS_OK)
        error = take_all(t, &all);
    sis_task_free(t);
    sis_data_free(data);
    free(all.text);
    return error;
}

static void memory_that_runs_out_over_texts_is_reported(void **state) {
    (void)state;
    sis_task_opt o;
    sis_task_opt_init(&o);
    sis_task *like;
    o.model.spec = MODEL("imdb-cnn.onnx");
    o.question.threshold = "2"; /* never reached */
    assert_int_equal(sis_task_open(&o, &like), 0);
    assert_true(with_failing_allocations(ask_about_texts, like) > 30);
    sis_task_free(like);
    reader r = {0};
    sis_model model = reading(&r);
    o.model.opened = &model;
    o.model.take_texts = take_pieces;
    o.question.mask = "token:so";
    o.question.threshold = "0.5";
    assert_int_equal(sis_task_open(&o, &like), 0);
    assert_true(with_failing_allocations(ask_about_texts, like) > 30);
    sis_task_free(like);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_in_memory_is_one_in_a_file),
        cmocka_unit_test(texts_in_memory_are_those_in_a_file),
        cmocka_unit_test(a_function_may_read_texts),
        cmocka_unit_test(sequences_in_memory_are_those_in_a_file),
        cmocka_unit_test(constant_masks_are_for_any_length),
        cmocka_unit_test(data_in_memory_are_checked),
        cmocka_unit_test(records_hold_what_the_core_finds),
        cmocka_unit_test(threads_explain_what_they_like),
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(the_program_writes_the_same),
        cmocka_unit_test(what_cannot_be_asked_is_a_record),
        cmocka_unit_test(shards_are_all_examples),
        cmocka_unit_test(a_shard_may_be_empty),
        cmocka_unit_test(scores_come_in_order),
        cmocka_unit_test(a_task_like_another_asks_the_same),
        cmocka_unit_test(a_task_needs_no_examples_of_its_own),
        cmocka_unit_test(proofs_of_a_task_like_another_are_the_same),
        cmocka_unit_test(texts_are_asked_about_one_at_a_time),
        cmocka_unit_test(a_task_takes_another_decision),
        cmocka_unit_test(records_are_verified_by_the_task),
        cmocka_unit_test(a_task_can_be_cancelled),
        cmocka_unit_test(a_task_may_be_freed_while_it_runs),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(columns_must_be_those_of_the_model),
        cmocka_unit_test(options_are_copied),
        cmocka_unit_test(a_handle_changes_no_other),
        cmocka_unit_test(memory_that_runs_out_is_reported),
        cmocka_unit_test(memory_that_runs_out_over_texts_is_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
