/* SPDX-License-Identifier: MIT
 *
 * Files larger than their memory limit. Every format returns the same examples whether all or a few
 * are in memory, in any order and for any number of threads. Memory does not grow with the number
 * of examples.
 */
#include "support_data.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <sis/task.h>
#include <sis/text.h>

/* ---- Comparison of two data sets ------------------------------------------------------------- */

static void same_text(const char *a, const char *b) {
    assert_int_equal(a == NULL, b == NULL);
    if (a)
        assert_string_equal(a, b);
}

static void same_words(const sis_data *a, const sis_data *b, size_t i) {
    sis_words x = {0}, y = {0};
    int code = sis_data_words(a, i, &x);
    assert_int_equal(code, sis_data_words(b, i, &y));
    assert_int_equal(x.n, y.n);
    for (size_t k = 0; code == 0 && k < x.n; k++)
        assert_string_equal(x.items[k].text, y.items[k].text);
    sis_words_release(&x);
    sis_words_release(&y);
}

static void same_values(const sis_data *a, const sis_data *b, size_t i) {
    size_t n = sis_data_width(a, i), ranks[2];
    double x[64] = {0}, y[64] = {0};
    assert_int_equal(sis_data_width(b, i), n);
    assert_true(n <= 64);
    assert_int_equal(sis_data_shape(a, i, &ranks[0])[0], sis_data_shape(b, i, &ranks[1])[0]);
    assert_int_equal(ranks[0], ranks[1]);
    int code = sis_data_values(a, i, x);
    assert_int_equal(code, sis_data_values(b, i, y));
    if (code == 0)
        assert_memory_equal(x, y, sizeof x);
}

static void same_example(const sis_data *a, const sis_data *b, size_t i) {
    char numbers[2][SIS_ID_SIZE];
    size_t n[2];
    assert_string_equal(sis_data_id(a, i, numbers[0]), sis_data_id(b, i, numbers[1]));
    same_text(sis_data_label(a, i), sis_data_label(b, i));
    same_text(sis_data_kept(a, i), sis_data_kept(b, i));
    same_text(sis_data_text(a, i), sis_data_text(b, i));
    same_text(sis_data_sequence(a, i), sis_data_sequence(b, i));
    assert_int_equal(sis_data_full_length(a, i), sis_data_full_length(b, i));
    const int *human[2] = {sis_data_human(a, i, &n[0]), sis_data_human(b, i, &n[1])};
    assert_int_equal(human[0] == NULL, human[1] == NULL);
    assert_int_equal(n[0], n[1]);
    if (n[0])
        assert_memory_equal(human[0], human[1], n[0] * sizeof *human[0]);
    same_words(a, b, i);
    same_values(a, b, i);
}

/* Compares the properties that all examples share. */
static void same_names(const sis_data *a, const sis_data *b) {
    int maps[2][64] = {{0}};
    size_t n = sis_data_names(a) ? sis_data_width(a, 0) : 0, f = sis_data_features(a, 0, NULL);
    assert_string_equal(sis_data_kind(a), sis_data_kind(b));
    assert_int_equal(sis_data_names(b) != NULL, n > 0);
    for (size_t k = 0; k < n; k++)
        assert_string_equal(sis_data_names(a)[k], sis_data_names(b)[k]);
    assert_int_equal(sis_data_features(a, 0, maps[0]), f);
    assert_int_equal(sis_data_features(b, 0, maps[1]), f);
    assert_memory_equal(maps[0], maps[1], sizeof maps[0]);
    for (size_t k = 0; n && k < f; k++)
        assert_string_equal(sis_data_feature_names(a)[k], sis_data_feature_names(b)[k]);
}

/* In order, backwards, and with jumps. */
static void same_data(const sis_data *a, const sis_data *b) {
    size_t n = sis_data_count(a);
    assert_int_equal(sis_data_count(b), n);
    same_names(a, b);
    for (size_t i = 0; i < n; i++)
        same_example(a, b, i);
    for (size_t i = n; i-- > 0;)
        same_example(a, b, i);
    for (size_t i = 0; i < n; i++)
        same_example(a, b, i * 7919 % n);
    assert_int_equal(sis_data_error(b), 0);
}

/* ---- Files ----------------------------------------------------------------------------------- */

typedef struct {
    const char *name, *header;
    const char *lines[4]; /* in turn; %d is the number of the example */
    sis_data_opt opt;
} file_kind;

static const char *const more[] = {"k=x", "k=z"}, *const known[] = {"v", "k=x", "k=y"};

static const file_kind kinds[] = {
    {.name = "a.txt",
     .header = "",
     .lines = {"a fine film %d\n", "no\n", "Bl\xC3\xA4tter, %d!\r\n"}},
    {.name = "m.txt", .header = "\xEF\xBB\xBF", .lines = {"marked %d\n", "and not\n"}},
    {.name = "a.tsv",
     .header = "id\tmood\ttext\n",
     .lines = {"n%d\tgood\ta b\n", "m%d\tbad\t\"c\"\n"},
     .opt = {.id = "id"}},
    {.name = "b.tsv", .header = "", .lines = {"pos\tvery good %d\n", "neg\tvery bad\n"}},
    {.name = "a.jsonl",
     .header = "\n",
     .lines = {"{\"text\":\"a fine film\",\"human\":[1,2],\"id\":\"e%d\",\"label\":1}\n",
               "{\"text\":\"\\u00e9 %d\"}\n\n"}},
    {.name = "b.jsonl",
     .header = "",
     .lines = {"{\"words\":[\"a b\",\"c\"],\"y\":%d}\n"},
     .opt = {.label = "y"}},
    {.name = "c.jsonl",
     .header = "",
     .lines = {"{\"values\":[1,%d,0.5]}\n", "{\"values\":[1,null]}\n"},
     .opt = {.missing = SIS_MISSING_NAN}},
    {.name = "a.fa",
     .header = "; what they are\n",
     .lines = {">one%d more\nACGT\nNN\n", ">two%d\nac gt\n\n", ">\nGG\n"}},
    {.name = "a.seq",
     .header = "EventID\tBound\tseq\n",
     .lines = {"p%d\t1\tACGT\n", "\t0\tGG\n"},
     .opt = {.length = 3}},
    {.name = "a.csv", .header = "u,v\n", .lines = {"1,%d\n", "-2.5,\"3\"\r\n", "\n7,8\n"}},
    {.name = "b.csv", .header = "", .lines = {" 0.5 ,%d,3\n", "4,5,6\n"}},
    {.name = "c.csv",
     .header = "v,k,who\n",
     .lines = {"1,x,\"a\n%d\"\n", "2,y,b%d\n", "3,,c%d\n"},
     .opt = {.categorical = 1, .id = "who", .missing = SIS_MISSING_ALL}},
    {.name = "d.csv",
     .header = "v,k,l\n",
     .lines = {"%d,x,1\n", "2,y,0\n", ",y,1\n"},
     .opt = {.categorical = 1, .label = "l", .missing = SIS_MISSING_MEAN}},
    {.name = "e.csv",
     .header = "v,k\n",
     .lines = {"%d,x\n", "2,y\n"},
     .opt = {.categorical = 1, .names = more, .n_names = 2, .more_names = 1}},
    {.name = "f.csv",
     .header = "v,k\n",
     .lines = {"%d,x\n", "2,y\n"},
     .opt = {.categorical = 1, .names = known, .n_names = 3}},
    {.name = "m.jsonl", .header = "\xEF\xBB\xBF", .lines = {"{\"values\":[%d,2]}\n"}},
    {.name = "e.txt", .header = "\n", .lines = {"\n", " \n", "a %d\n"}},
    {.name = "e.tsv", .header = "pos\tvery good\n", .lines = {"neg\t\n", "pos\tvery good %d\n"}},
    {.name = "e.jsonl", .header = "", .lines = {"{\"text\":\"\"}\n", "{\"text\":\"a %d\"}\n"}},
    {.name = "kept.csv",
     .header = "v,sex,where\n",
     .lines = {"1,f,\"a \"\"%d\"\"\"\n", "2,m,\n", "3,,b\\%d\n"},
     .opt = {.kept = "where,sex"}},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

/* The text of a file of n examples; free() it. */
static char *make_text(const file_kind *k, size_t n) {
    size_t room = 96 * (n + 1), lines = 0;
    char *text = malloc(room);
    assert_non_null(text);
    size_t used = (size_t)snprintf(text, room, "%s", k->header);
    while (lines < 4 && k->lines[lines])
        lines++;
    for (size_t i = 0; i < n; i++) {
        const char *line = k->lines[i % lines], *at = strstr(line, "%d");
        used += (size_t)snprintf(text + used, room - used, "%.*s",
                                 at ? (int)(at - line) : (int)strlen(line), line);
        if (at)
            used += (size_t)snprintf(text + used, room - used, "%zu%s", i, at + 2);
    }
    return text;
}

static sis_data *open_with(const char *path, sis_data_opt opt, size_t memory) {
    sis_data *data;
    opt.size = sizeof opt;
    opt.memory = memory;
    if (sis_data_read(path, &opt, &data) != 0)
        fail_msg("%s: %s", path, sis_error_detail());
    return data;
}

static const char *write_kind(const file_kind *k, size_t n) {
    char *text = make_text(k, n);
    const char *path = folder_text(k->name, text);
    free(text);
    return path;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void blocks_hold_what_the_file_does(void **state) {
    static const size_t memories[] = {1, 2000, 20000};
    (void)state;
    for (size_t k = 0; k < KINDS; k++)
        for (size_t m = 0; m < 3; m++) {
            const char *path = write_kind(&kinds[k], 151);
            sis_data *all = open_with(path, kinds[k].opt, 0);
            sis_data *some = open_with(path, kinds[k].opt, memories[m]);
            same_data(all, some);
            sis_data_free(all);
            sis_data_free(some);
        }
}

static void labels_beside_the_file_stay(void **state) {
    char labels[4 * 50 + 1] = "";
    (void)state;
    for (size_t i = 0; i < 50; i++)
        sprintf(labels + 4 * i, "%zu 0\n", i % 2);
    folder_text("a.target", labels);
    const char *path = write_kind(&kinds[7], 50);
    sis_data *all = open_with(path, kinds[7].opt, 0), *some = open_with(path, kinds[7].opt, 1);
    assert_string_equal(sis_data_label(some, 49), "1");
    same_data(all, some);
    sis_data_free(all);
    sis_data_free(some);
    remove(folder_path("a.target"));
}

/* Pipes and compressed files. */
static void pipes_and_packed_files_are_copied(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        char name[32], *text = make_text(&kinds[k], 120);
        sis_data *all = open_with(write_kind(&kinds[k], 120), kinds[k].opt, 0);
        snprintf(name, sizeof name, "p%s", kinds[k].name);
        const char *pipe = folder_path(name);
        remove(pipe);
        assert_int_equal(mkfifo(pipe, 0600), 0);
        pid_t child = strcmp(strrchr(name, '.'), ".tsv") == 0 ? -1 : fork();
        if (child == 0) { /* a .tsv is inspected before it is read */
            FILE *f = fopen(pipe, "w");
            fputs(text, f);
            fclose(f);
            _exit(0);
        }
        if (child > 0) {
            sis_data *piped = open_with(pipe, kinds[k].opt, 600);
            same_data(all, piped);
            sis_data_free(piped);
            waitpid(child, NULL, 0);
        }
        snprintf(name, sizeof name, "z%s.gz", kinds[k].name);
        gzFile packed = gzopen(folder_path(name), "wb");
        gzputs(packed, text);
        gzclose(packed);
        sis_data *unpacked = open_with(folder_path(name), kinds[k].opt, 1 + 4000 * (k % 2));
        same_data(all, unpacked);
        sis_data_free(unpacked);
        sis_data_free(all);
        free(text);
    }
}

/* A file with an error is refused with the same message. */
static void compare_reading(const char *path) {
    sis_data *all, *some;
    char said[512] = "";
    int code =
        sis_data_read(path, &(sis_data_opt){.size = sizeof(sis_data_opt), .categorical = 1}, &all);
    snprintf(said, sizeof said, "%s", code ? sis_error_detail() : "");
    assert_int_equal(
        sis_data_read(path,
                      &(sis_data_opt){.size = sizeof(sis_data_opt), .categorical = 1, .memory = 1},
                      &some),
        code);
    if (code)
        assert_string_equal(sis_error_detail(), said);
    else if (sis_data_width(all, 0) < 64)
        same_example(all, some, sis_data_count(all) - 1);
    sis_data_free(all);
    sis_data_free(some);
}

static void mistakes_are_the_same(void **state) {
    static const size_t chosen[] = {0, 2, 4, 6, 7, 8, 9, 11};
    (void)state;
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++) {
        char *text = make_text(&kinds[chosen[k]], 3);
        with_spoiled_files(kinds[chosen[k]].name, text, strlen(text), (int)rounds(300),
                           compare_reading);
        free(text);
    }
    sis_data *data;
    sis_data_opt opt = kinds[14].opt;
    opt.size = sizeof opt;
    opt.memory = 1;
    assert_int_equal(sis_data_read(folder_text("u.csv", "v,k\n1,x\n2,y\n3,z\n4,x\n"), &opt, &data),
                     SIS_E_FORMAT);
    assert_message_has("row 2, column \"k\": unknown category \"z\"; expected x, y");
}

/* A thread that reads examples with a step. */
typedef struct {
    const sis_data *data;
    size_t step;
    int wrong;
} walker;

static void *walk(void *ctx) {
    walker *w = (walker *)ctx;
    char number[SIS_ID_SIZE], wanted[SIS_ID_SIZE];
    for (size_t k = 0, i = 0; k < 600; k++, i = (i + w->step) % sis_data_count(w->data)) {
        const char *text = sis_data_text(w->data, i);
        snprintf(wanted, sizeof wanted, i % 2 ? "m%zu" : "n%zu", i);
        w->wrong += strcmp(sis_data_id(w->data, i, number), wanted) != 0;
        w->wrong += strcmp(text, i % 2 ? "c" : "a b") != 0;
    }
    return NULL;
}

static void threads_have_blocks_of_their_own(void **state) {
    pthread_t threads[6];
    walker walkers[6];
    (void)state;
    sis_data *data = open_with(write_kind(&kinds[2], 300), kinds[2].opt, 3000);
    for (size_t k = 0; k < 6; k++) {
        walkers[k] = (walker){data, k / 2 * 37 + 1, 0};
        assert_int_equal(pthread_create(&threads[k], NULL, walk, &walkers[k]), 0);
    }
    for (size_t k = 0; k < 6; k++) {
        pthread_join(threads[k], NULL);
        assert_int_equal(walkers[k].wrong, 0);
    }
    sis_data_free(data);
}

static void a_file_that_changes_is_an_error(void **state) {
    double values[2];
    (void)state;
    const char *path = write_kind(&kinds[9], 60);
    sis_data *data = open_with(path, kinds[9].opt, 1);
    assert_int_equal(sis_data_values(data, 5, values), 0);
    FILE *f = fopen(path, "a");
    fputs("1,2\n", f);
    fclose(f);
    assert_int_equal(sis_data_values(data, 59, values), SIS_E_IO);
    assert_message_has("has changed since it was first read");
    assert_int_equal(sis_data_error(data), SIS_E_IO);
    sis_data_free(data);
}

static int read_all(void *ctx) {
    const file_kind *k = (const file_kind *)ctx;
    sis_data_opt opt = k->opt;
    opt.size = sizeof opt;
    sis_data *data;
    double values[64];
    sis_words words = {0};
    opt.memory = 1;
    int code = sis_data_read(folder_path(k->name), &opt, &data);
    for (size_t i = 0; code == 0 && i < sis_data_count(data); i++)
        code = sis_data_text(data, i) ? sis_data_words(data, i, &words)
                                      : sis_data_values(data, i, values);
    if (code == 0)
        code = sis_data_error(data);
    sis_words_release(&words);
    sis_data_free(data);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    for (size_t k = 0; k < KINDS; k++) {
        write_kind(&kinds[k], 3);
        assert_true(with_failing_allocations(read_all, (void *)&kinds[k]) > 10);
    }
}

/* ---- Memory ---------------------------------------------------------------------------------- */

#ifndef __SANITIZE_ADDRESS__
/* Peak memory, in kilobytes, of a process that opens a task with n examples. Ids from the file
 * take 16 bytes each. */
static long peak_of(const file_kind *k, size_t n) {
    struct rusage used;
    int status;
    char *text = make_text(k, n);
    const char *path = folder_text(k->name, text);
    free(text);
    pid_t child = fork();
    if (child == 0) {
        sis_model model = {.size = sizeof model, .predict = sum_values, .n_outputs = 1};
        sis_task_opt o;
        sis_task *task;
        sis_task_opt_init(&o);
        o.model.opened = &model;
        o.examples.read = k->opt;
        o.examples.read.size = sizeof o.examples.read;
        o.examples.input = path;
        o.question.mask = "zero";
        o.question.threshold = "1";
        _exit(sis_task_open(&o, &task) != 0);
    }
    assert_int_equal(wait4(child, &status, 0, &used), child);
    assert_int_equal(status, 0);
    return used.ru_maxrss;
}

static void memory_does_not_grow_with_examples(void **state) {
    static const file_kind chosen[] = {
        {.name = "g.jsonl", .header = "", .lines = {"{\"values\":[1,2,%d]}\n"}},
        {.name = "g.fa", .header = "", .lines = {">one%d\nACGTACGT\n"}},
        {.name = "g.csv", .header = "a,b\n", .lines = {"1,%d\n"}},
        {.name = "h.csv",
         .header = "a,k,who\n",
         .lines = {"%d,x,1\n", "%d,y,2\n"},
         .opt = {.categorical = 1, .label = "who"}}};
    (void)state;
    for (size_t k = 0; k < sizeof chosen / sizeof *chosen; k++) {
        long few = peak_of(&chosen[k], 100000), many = peak_of(&chosen[k], 300000);
        if (many > few + 7000)
            fail_msg("%s: %ld KB for 100,000 examples, %ld KB for 300,000", chosen[k].name, few,
                     many);
    }
}
#endif

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_hold_what_the_file_does),
        cmocka_unit_test(labels_beside_the_file_stay),
        cmocka_unit_test(pipes_and_packed_files_are_copied),
        cmocka_unit_test(mistakes_are_the_same),
        cmocka_unit_test(threads_have_blocks_of_their_own),
        cmocka_unit_test(a_file_that_changes_is_an_error),
        cmocka_unit_test(failing_allocations_are_reported),
#ifndef __SANITIZE_ADDRESS__ /* the sanitizer keeps freed memory */
        cmocka_unit_test(memory_does_not_grow_with_examples),
#endif
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
