/* SPDX-License-Identifier: MIT
 *
 * Models behind `cmd:`: requests and answers, valid and invalid. Most children are a line of shell.
 * If volume matters, the child is this program itself, started with the name of a behaviour.
 */
#include "support_command.h"

#include "driver.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/handle.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/rng.h"

/* cmd:THIS_PROGRAM behaviour; static storage */
static const char *self(const char *behaviour) {
    static char spec[8500];
    snprintf(spec, sizeof spec, "cmd:%s", test_command("model_command", behaviour));
    return spec;
}

/* ---- Valid answers --------------------------------------------------------------------------- */

static void rows_become_scores(void **state) {
    (void)state;
    sis_model model = open_model("cmd:" ANSWER("{\"outputs\":[1,2.5e-1,-3],\"more\":{}}"), 10);
    double rows[9] = {0}, scores[3];
    assert_int_equal(model.n_outputs, 0);
    model.n_outputs = 1;
    assert_int_equal(model.predict(model.ctx, rows, 3, 3, scores), SIS_E_ARGUMENT);
    sis_model_close(&model);

    model = open_model(
        "cmd:read -r l; echo '{\"outputs\":[7]}';" ANSWER("{\"outputs\":[1,2.5e-1,-3]}"), 10);
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
    assert_int_equal(model.n_outputs, 1);
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK); /* no request */
    assert_int_equal(model.predict(model.ctx, rows, 3, 3, scores), SIS_OK);
    assert_true(scores[0] == 1 && scores[1] == 0.25 && scores[2] == -3);
    assert_int_equal(model.predict(model.ctx, rows, 0, 3, scores), SIS_OK);
    sis_model_close(&model);
}

static void several_outputs_are_a_list_per_row(void **state) {
    (void)state;
    sis_model model = open_model("cmd:" ECHO, 10);
    double rows[6] = {1, 2, 3, 4, 5, 6}, scores[6];
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
    assert_int_equal(model.n_outputs, 3);
    assert_int_equal(model.predict(model.ctx, rows, 2, 3, scores), SIS_OK);
    assert_memory_equal(rows, scores, sizeof rows);
    sis_model_close(&model);
}

static void numbers_are_sent_without_loss(void **state) {
    (void)state;
    enum { N = 500, WIDTH = 20 };
    double rows[N * WIDTH], scores[N * WIDTH];
    sis__rng r;
    sis__rng_init(&r, 3);
    for (size_t i = 0; i < N * WIDTH; i++) {
        do {
            uint64_t bits = sis__rng_next(&r);
            memcpy(&rows[i], &bits, sizeof bits);
        } while (!isfinite(rows[i]));
        if (i % 3 == 0) /* some values repeat */
            rows[i] = (double)(sis__rng_below(&r, 256)) / 255;
    }
    sis_model model = open_model(self("echo"), 30);
    assert_int_equal(sis_model_measure(&model, rows, WIDTH), SIS_OK);
    for (int again = 0; again < 2; again++) {
        memset(scores, 0, sizeof scores);
        assert_int_equal(model.predict(model.ctx, rows, N, WIDTH, scores), SIS_OK);
        assert_memory_equal(rows, scores, sizeof rows);
    }
    sis_model_close(&model);
}

static void a_missing_value_is_null(void **state) {
    (void)state;
    double row[2] = {NAN, 1};
    sis_model model =
        open_model("cmd:IFS= read -r line; [ \"$line\" = '{\"inputs\":[[null,1]]}' ] &&"
                   "echo '{\"outputs\":[1]}'",
                   10);
    assert_int_equal(sis_model_measure(&model, row, 2), SIS_OK);
    sis_model_close(&model);
}

/* The child knows the two correct requests and rejects any other. */
static void texts_are_sent_in_pieces(void **state) {
    (void)state;
    const sis_piece pieces[] = {{"A ", 2}, {"\"big\" ", 6}, {"caf\303\251\n and more", 6}};
    const double rows[] = {0, 1, 2, NAN, NAN, 1};
    double scores[2];
    sis_model model =
        open_model("cmd:while IFS= read -r line; do case $line in"
                   " '{\"inputs\":[\"A \\\"big\\\" caf\303\251\\n\",\"\\\"big\\\" \"]}') echo "
                   "'{\"outputs\":[1,2]}';;"
                   " '{\"inputs\":[\"A \\\"big\\\" caf\303\251\\n\"]}') echo '{\"outputs\":[0]}';;"
                   " *) echo \"{\\\"error\\\":\\\"$line\\\"}\";; esac; done",
                   10);
    assert_int_equal(sis_model_take_texts(&model, pieces, 3), SIS_OK);
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 2, 3, scores), SIS_OK);
    assert_true(scores[0] == 1 && scores[1] == 2);
    const double none[] = {3}, negative[] = {-1};
    assert_int_equal(model.predict(model.ctx, none, 1, 1, scores), SIS_E_ARGUMENT);
    assert_int_equal(model.predict(model.ctx, negative, 1, 1, scores), SIS_E_ARGUMENT);
    sis_model_close(&model);
    sis_model nothing = {0};
    assert_int_equal(sis_model_take_texts(&nothing, pieces, 3), SIS_E_UNSUPPORTED);
}

static void many_rows_are_split_over_requests(void **state) {
    (void)state;
    enum { N = 1600, WIDTH = 300 };
    double *rows = malloc(sizeof(double) * N * WIDTH), *scores = malloc(sizeof(double) * N * 2);
    assert_non_null(rows);
    assert_non_null(scores);
    for (size_t i = 0; i < N * WIDTH; i++)
        rows[i] = (double)(i / WIDTH) + 1.0 / 3;
    sis_model model = open_model(self("count"), 60);
    assert_int_equal(sis_model_measure(&model, rows, WIDTH), SIS_OK);
    assert_int_equal(model.n_outputs, 2);
    assert_int_equal(model.predict(model.ctx, rows, N, WIDTH, scores), SIS_OK);
    for (size_t i = 0; i < N; i++) { /* each row: its first value, the length of its request */
        assert_true(scores[2 * i] == rows[i * WIDTH]);
        assert_true(scores[2 * i + 1] <= (4 << 20) + WIDTH * 25);
        if (i < N / 2)
            assert_true(scores[2 * i + 1] > 3e6);
    }
    sis_model_close(&model);

    double *wide = malloc(sizeof(double) * 600000); /* one row is never split */
    assert_non_null(wide);
    for (size_t i = 0; i < 600000; i++)
        wide[i] = 1.0 / (double)(i + 3);
    model = open_model(self("count"), 60);
    assert_int_equal(sis_model_measure(&model, wide, 600000), SIS_OK);
    assert_int_equal(model.predict(model.ctx, wide, 1, 600000, scores), SIS_OK);
    assert_true(scores[1] > 1e7);
    sis_model_close(&model);
    free(wide);
    free(scores);
    free(rows);
}

/* The child writes 300 kB to stdout and stderr before it has read the whole request. */
static void full_pipes_do_not_deadlock(void **state) {
    (void)state;
    const char *spec =
        "cmd:read -r line; echo '{\"outputs\":[1]}'; head -c 70000 >/dev/null;"
        "awk 'BEGIN { printf \"{\\\"pad\\\":\\\"\"; for (; i < 300000; i++) printf \"x\";"
        "             printf \"\\\",\"; fflush(); for (; j < 300000; j++) printf \"y\" "
        ">\"/dev/stderr\" }';"
        "head -n 1 >/dev/null; echo '\"outputs\":[2,2]}'; cat >/dev/null";
    double *row = malloc(sizeof(double) * 100000), score;
    assert_non_null(row);
    for (size_t i = 0; i < 100000; i++)
        row[i] = 0.5 + (double)i;
    sis_model model = open_model(spec, 30);
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_OK);
    assert_int_equal(model.predict(model.ctx, row, 1, 100000, &score), SIS_OK);
    assert_true(score == 2);
    sis_model_close(&model);
    free(row);
}

/* ---- Failures -------------------------------------------------------------------------------- */

static void messages_describe_every_failure(void **state) {
    (void)state;
    const struct {
        const char *command;
        int code;
        const char *says;
    } cases[] = {
        {"surely-no-such-command", SIS_E_MODEL, "command not found (exit status 127); it said: "},
        {"/dev/null", SIS_E_MODEL, "cannot be executed (exit status 126)"},
        {"exit 3", SIS_E_MODEL, "model cmd:exit 3, request 1: ended with exit status 3"},
        {"exit 0", SIS_E_MODEL, "ended with exit status 0 (it is to answer line after line, until"},
        {"kill -9 $$", SIS_E_MODEL, "was killed by signal 9 (Killed)"},
        {"echo one >&2; printf '\\n two\\n\\nthree \\033[1m\\n\\nfour\\n\\n' >&2; exit 1",
         SIS_E_MODEL, "ended with exit status 1; it said: two | three  [1m | four"},
        {"read -r l; printf '{\"outputs\":[1]}'", SIS_E_MODEL,
         "exit status 0 in the middle of an answer (no newline)"},
        {"exec >&-; sleep 30", SIS_E_MODEL, "closed its output but kept running"},
        {ANSWER("Loading model..."), SIS_E_MODEL,
         "expected JSON and nothing else on stdout, found \"Loading model...\""},
        {ANSWER(""), SIS_E_MODEL, "found \"\""},
        {"read -r l; head -c 500 /dev/zero | tr '\\0' x; echo; cat >/dev/null", SIS_E_MODEL,
         "xxxxxxxx\"..."},
        {"read -r l; printf 'a\\000b\\n'; cat >/dev/null", SIS_E_MODEL, "found \"a b\""},
        {ANSWER("[1]"), SIS_E_MODEL, "expected an object with a list \"outputs\", found \"[1]\""},
        {ANSWER("{\"output\":[1]}"), SIS_E_MODEL, "found \"{\"output\":[1]}\""},
        {ANSWER("{\"outputs\":1}"), SIS_E_MODEL, "expected an object with a list \"outputs\""},
        {ANSWER("{\"error\":\"weights are missing\"}"), SIS_E_MODEL,
         "request 1: the model reports: weights are missing"},
        {ANSWER("{\"outputs\":[]}"), SIS_E_MODEL, "expected 1 output, one for each row, found 0"},
        {ANSWER("{\"outputs\":[1,2]}"), SIS_E_MODEL, "found 2 (several scores a row are a list of"},
        {ANSWER("{\"outputs\":[[]]}"), SIS_E_MODEL, "row 1 of 1: expected scores, found an empty"},
        {ANSWER("{\"outputs\":[\"1\"]}"), SIS_E_MODEL, "expected a number, found a string"},
        {ANSWER("{\"outputs\":[[[1]]]}"), SIS_E_MODEL, "expected a number, found a list"},
        {ANSWER("{\"outputs\":[true]}"), SIS_E_MODEL, "expected a number, found true or false"},
        {ANSWER("{\"outputs\":[{}]}"), SIS_E_MODEL, "expected a number, found an object"},
        {ANSWER("{\"outputs\":[1e999]}"), SIS_E_MODEL, "expected JSON"},
        {ANSWER("{\"outputs\":[null]}"), SIS_E_NAN, "row 1 of 1: expected a score, found null"},
        {ANSWER("{\"outputs\":[NaN]}"), SIS_E_NAN, "row 1 of 1: expected a score, found NaN"},
        {ANSWER("{\"outputs\":[[0.5, -Infinity]]}"), SIS_E_NAN,
         "expected a score, found -Infinity"},
        {ANSWER("{\"NaN\":\"\\\\\"NaN\",\"outputs\":[NaN]}"), SIS_E_NAN, "found NaN"},
        {ANSWER("{\"outputs\":[\"NaN\"]}"), SIS_E_MODEL, "expected a number, found a string"},
        {ANSWER("{\"outputs\":[1],\"outputs\":[2]}"), SIS_E_MODEL,
         "expected JSON and nothing else"},
        {"read -r l; printf '{\"outputs\":[1\\000]}\\n'; cat >/dev/null", SIS_E_MODEL,
         "found \"{\"outputs\":[1 ]}\""},
        {"read -r l; printf '{\"outputs\":[1]}\\000\\n'; cat >/dev/null", SIS_E_MODEL,
         "found \"{\"outputs\":[1]} \""},
        {ANSWER("NaN is what it is"), SIS_E_MODEL, "found \"NaN is what it is\""},
        {"echo hello; " ANSWER("{\"outputs\":[1]}"), SIS_E_MODEL, "\"hello\""},
        {"read -r l; printf '{\"outputs\":[1]}\\nand more\\n'; cat >/dev/null", SIS_E_MODEL,
         "wrote an unexpected line (write one line for each request to stdout): \"and more"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[1024];
        snprintf(spec, sizeof spec, "cmd:%s", cases[i].command);
        sis_model model = open_model(spec, 20);
        int code = sis_model_measure(&model, ROW, 3);
        if (code != cases[i].code)
            fail_msg("%s: %d, %s", spec, code, sis_error_detail());
        assert_message_has(cases[i].says);
        assert_int_equal(model.n_outputs, 0);
        sis_model_close(&model);
    }
}

static void later_rows_are_checked_like_the_first(void **state) {
    (void)state;
    const struct {
        const char *answer;
        int code;
        const char *says;
    } cases[] = {
        {"[[1,2],[3,4],[5]]", SIS_E_MODEL, "request 2: row 3 of 3: expected 2 scores, found 1"},
        {"[[1,2],[3,4,5],[6,7]]", SIS_E_MODEL, "row 2 of 3: expected 2 scores, found 3"},
        {"[[1,2],3,[4,5]]", SIS_E_MODEL, "row 2 of 3: expected a list of 2 scores, found a number"},
        {"[1,2,3]", SIS_E_MODEL, "row 1 of 3: expected a list of 2 scores, found a number"},
        {"[[1,2],[3,4],[5,Infinity]]", SIS_E_NAN, "row 3 of 3: expected a score, found Infinity"},
        {"[[1,2],[3,4],[5,\"6\"]]", SIS_E_MODEL, "row 3 of 3: expected a number, found a string"},
    };
    double rows[9] = {0}, scores[6];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char spec[512];
        snprintf(spec, sizeof spec,
                 "cmd:read -r l; echo '{\"outputs\":[[1,2]]}'; read -r l; echo "
                 "'{\"outputs\":%s}'; read -r l; echo '{\"outputs\":[[8,9]]}'",
                 cases[i].answer);
        sis_model model = open_model(spec, 20);
        assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
        assert_int_equal(model.predict(model.ctx, rows, 3, 3, scores), cases[i].code);
        assert_message_has(cases[i].says);
        /* A bad answer in a valid format does not end the child. */
        assert_int_equal(model.predict(model.ctx, rows, 1, 3, scores), SIS_OK);
        assert_true(scores[0] == 8 && scores[1] == 9);
        sis_model_close(&model);
    }
}

/* The child writes an extra line after its second request has arrived, too late for a check
 * before the request. */
static void a_late_extra_line_is_detected(void **state) {
    (void)state;
    const struct {
        const char *child;
        int believed;                    /* accepted answers before detection */
    } cases[] = {{"late '[[5,16]]'", 0}, /* the first answer again */
                 {"late '[[1,2],[1,2],[1,2]]'", 0},
                 {"late '[[7,7],[7,7]]'", 1}}; /* has the right length by chance */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double scores[2], row[3] = {5, 0, 0};
        sis_model model = open_model(self(cases[i].child), 20);
        assert_int_equal(sis_model_measure(&model, row, 3), SIS_OK);
        for (int k = 0; k < cases[i].believed; k++)
            assert_int_equal(model.predict(model.ctx, row, 1, 3, scores), SIS_OK);
        assert_int_equal(model.predict(model.ctx, row, 1, 3, scores), SIS_E_MODEL);
        assert_message_has("one line for each");
        assert_message_has("to stdout"); /* detected before or after the next answer */
        assert_int_equal(model.predict(model.ctx, row, 1, 3, scores), SIS_OK); /* new child */
        assert_true(scores[0] == 5);
        sis_model_close(&model);
    }
}

/* An extra line at the last request is detected before scores or results are returned. */
static void an_extra_line_at_the_end_is_detected(void **state) {
    (void)state;
    double scores[2], row[3] = {5, 0, 0}, mask[3] = {0};
    sis_input input = {.values = row, .n_values = 3, .mask = mask, .n_samples = 1};
    sis_opt opt = decision(4);
    sis_collection c;
    sis_audit audit;
    sis_model model = open_model(self("late '[[7,7],[7,7]]'"), 20);
    assert_int_equal(sis_model_measure(&model, row, 3), SIS_OK);
    assert_int_equal(sis_predict(&model, &input, 1, &opt, scores), SIS_E_MODEL);
    assert_message_has("one line for each");
    sis_model_close(&model);
    for (int k = 1; k < 16; k++) { /* the extra line comes with request k */
        char child[80];
        model = open_model(self("count"), 20);
        assert_int_equal(sis_model_measure(&model, row, 3), SIS_OK);
        assert_int_equal(sis_collect(&model, &input, &opt, &c), SIS_OK);
        sis_model_close(&model);
        snprintf(child, sizeof child, "late '[[1,7]%s]' %d", k % 2 ? ",[1,7]" : "", k);
        model = open_model(self(child), 20);
        assert_int_equal(sis_model_measure(&model, row, 3), SIS_OK);
        int code = sis_verify(&model, &input, &opt, &c, &audit);
        if (code == SIS_OK) {
            assert_true(audit.holds);
            sis_audit_release(&audit);
        }
        sis_collection_release(&c);
        sis_model_close(&model);
    }
}

/* The child answers with the length of its request. */
static void consecutive_requests_have_different_numbers_of_rows(void **state) {
    (void)state;
    double rows[6] = {0}, scores[4] = {0}, before = (double)strlen("{\"inputs\":[[0,0,0]]}\n");
    sis_model model = open_model(self("count"), 20);
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
    for (size_t k = 0; k < 12; k++) {
        size_t n = k % 5 < 3 ? 1 : 2;
        assert_int_equal(model.predict(model.ctx, rows, n, 3, scores), SIS_OK);
        assert_true(scores[1] != before && scores[2 * n - 1] == scores[1]);
        before = scores[1];
    }
    sis_model_close(&model);
}

/* After an answer of the wrong length, later lines cannot be assigned to requests. */
static void a_child_with_a_wrong_number_of_answers_is_restarted(void **state) {
    (void)state;
    double rows[9] = {0}, scores[6];
    sis_model model = open_model("cmd:read -r l; echo '{\"outputs\":[[1,2]]}'; read -r l; echo "
                                 "'{\"outputs\":[[1,2],[3,4]]}'; " ANSWER("{\"outputs\":[[8,9]]}"),
                                 20);
    assert_int_equal(sis_model_measure(&model, rows, 3), SIS_OK);
    assert_int_equal(model.predict(model.ctx, rows, 3, 3, scores), SIS_E_MODEL);
    assert_message_has("request 2: expected 3 outputs, one for each row, found 2; write one line");
    assert_int_equal(model.predict(model.ctx, rows, 1, 3, scores), SIS_OK);
    assert_true(scores[0] == 1 && scores[1] == 2);
    sis_model_close(&model);
}

static void one_of_several_scores_may_be_nan(void **state) {
    (void)state;
    double rows[2] = {0}, scores[2] = {0}, z = 0;
    sis_opt opt = decision(4);
    sis_collection c;
    sis_model model = open_model("cmd:" ANSWER_ROWS("[5,NaN]"), 20);
    assert_int_equal(sis_model_measure(&model, rows, 1), SIS_OK);
    assert_int_equal(model.n_outputs, 2);
    assert_int_equal(model.predict(model.ctx, rows, 1, 1, scores), SIS_OK);
    assert_true(scores[0] == 5 && isnan(scores[1]));
    sis_input input = {.values = rows, .n_values = 1, .mask = &z, .n_samples = 1};
    assert_int_equal(sis_collect(&model, &input, &opt, &c), SIS_OK);
    sis_collection_release(&c);
    input.output = 1;
    assert_int_equal(sis_collect(&model, &input, &opt, &c), SIS_E_NAN);
    assert_message_has("the model returned NaN for output 1");
    assert_int_equal(sis_predict(&model, &input, 1, &opt, scores), SIS_E_NAN);
    assert_message_has("the model returned NaN for output 1");
    sis_model_close(&model);
}

static void a_child_that_hangs_is_killed(void **state) {
    (void)state;
    const char *const commands[] = {"cmd:echo thinking >&2; sleep 100",
                                    "cmd:trap '' TERM; cat >/dev/null; sleep 100",
                                    "cmd:read -r l; printf '{\"outputs\":'; sleep 100"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        double before = sis__seconds();
        sis_model model = open_model(commands[i], 0.3);
        assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_E_MODEL);
        assert_message_has("no answer within 0.3 s");
        if (i == 0)
            assert_message_has("; it said: thinking");
        sis_model_close(&model);
        assert_true(sis__seconds() - before < 10);
    }
}

static void a_child_that_ended_is_restarted(void **state) {
    (void)state;
    double score;
    sis_model model =
        open_model("cmd:read -r l; echo '{\"outputs\":[1]}'; read -r l; echo bye >&2", 10);
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_OK);
    assert_int_equal(model.predict(model.ctx, ROW, 1, 3, &score), SIS_E_MODEL);
    assert_message_has(
        "request 2: ended with exit status 0 (it is to answer line after line, until there are no "
        "more); it said: bye");
    assert_int_equal(model.predict(model.ctx, ROW, 1, 3, &score), SIS_OK);
    assert_true(score == 1);
    sis_model_close(&model);
}

static void retries_ask_again_after_a_child_dies(void **state) {
    (void)state;
    double score;
    sis_model model;
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.restarts = 1;
    assert_int_equal(
        sis_model_open("cmd:read -r line; case $line in *],[*) echo '{\"outputs\":[1,1]}';; *) "
                       "echo '{\"outputs\":[1]}';; esac; read -r line",
                       &opt, &model),
        SIS_OK);
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_OK);
    for (int i = 0; i < 3; i++)
        assert_int_equal(model.predict(model.ctx, ROW, 1, 3, &score), SIS_OK);
    sis_model_close(&model);
    assert_int_equal(sis_model_open("cmd:exit 3", &opt, &model), SIS_OK);
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_E_MODEL);
    assert_message_has("ended with exit status 3");
    sis_model_close(&model);
}

static void messages_quote_only_the_end_of_a_long_stderr(void **state) {
    (void)state;
    sis_model model =
        open_model("cmd:awk 'BEGIN { for (; i < 100000; i++) print \"line\", i }' >&2;"
                   "head -c 1000 /dev/zero | tr '\\0' z >&2; exit 1",
                   20);
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_E_MODEL);
    assert_message_has("exit status 1; it said: zzzz");
    assert_true(strlen(sis_error_detail()) < 700);
    sis_model_close(&model);
}

static void an_endless_answer_is_refused(void **state) {
    (void)state;
    sis_model model = open_model(self("flood"), 60);
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_E_MODEL);
    assert_message_has("an answer of more than 256 MiB");
    sis_model_close(&model);
}

/* The child answers with its thread settings. */
static void children_share_the_cores(void **state) {
    (void)state;
    const char *spec = "cmd:" ANSWER_ROWS("['$OMP_NUM_THREADS','$MKL_NUM_THREADS']");
    int cores = sis__cores();
    setenv("MKL_NUM_THREADS", "7", 1);
    unsetenv("OMP_NUM_THREADS");
    for (int jobs = 0; jobs < 3; jobs++) {
        sis_model_opt opt;
        sis_model model;
        double scores[2];
        sis_model_opt_init(&opt);
        opt.jobs = jobs;
        assert_int_equal(sis_model_open(spec, &opt, &model), SIS_OK);
        assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_OK);
        assert_int_equal(model.predict(model.ctx, ROW, 1, 3, scores), SIS_OK);
        int share = jobs == 0 ? 1 : cores / jobs > 0 ? cores / jobs : 1;
        assert_true(scores[0] == share && scores[1] == 7);
        sis_model_close(&model);
    }
    unsetenv("MKL_NUM_THREADS");
}

static void unknown_specs_list_the_known_kinds(void **state) {
    (void)state;
    sis_model model;
    sis_model_opt opt;
    const char *const specs[] = {"", "nonsense", "CMD:true", "cmd", "file.bin"};
    for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        assert_int_equal(sis_model_open(specs[i], NULL, &model), SIS_E_ARGUMENT);
        assert_message_has("cmd:COMMAND (a program that reads rows and writes scores)");
        sis_model_close(&model);
    }
    assert_int_equal(sis_model_open("cmd:  ", NULL, &model), SIS_E_ARGUMENT);
    assert_message_has("expected a command after cmd:");
    sis_model_opt_init(&opt);
    assert_true(opt.timeout == 60);
    const double timeouts[] = {-1, NAN, INFINITY};
    for (size_t i = 0; i < 3; i++) {
        opt.timeout = timeouts[i];
        assert_int_equal(sis_model_open("cmd:true", &opt, &model), SIS_E_ARGUMENT);
        assert_message_has("timeout: expected seconds");
    }
}

/* ---- Children with large answers ------------------------------------------------------------- */

static int child_echo(void) {
    char *line = NULL;
    size_t size = 0;
    while (getline(&line, &size, stdin) > 0) {
        printf("{\"outputs\"%s", line + strlen("{\"inputs\""));
        fflush(stdout);
    }
    free(line);
    return 0;
}

/* For each row its first value and the length of the line. */
/* stray: the outputs of an extra line before answer `at` (from 0), or NULL */
static int child_count(const char *stray, int at) {
    char *line = NULL;
    size_t size = 0;
    ssize_t n;
    for (int k = 0; (n = getline(&line, &size, stdin)) > 0; k++) {
        if (k == at && stray) {
            printf("{\"outputs\":%s}\n", stray);
            fflush(stdout);
            usleep(20000);
        }
        const char *separator = "{\"outputs\":[";
        for (char *row = strstr(line, "[["); row; row = strstr(row + 1, ",[")) {
            row = strchr(row, '[') + (row == line + 10);
            printf("%s[%.17g,%zd]", separator, strtod(row + 1, NULL), n);
            separator = ",";
        }
        printf("]}\n");
        fflush(stdout);
    }
    free(line);
    return 0;
}

static int child_flood(void) {
    static char block[1 << 16];
    while (getchar() != '\n')
        continue;
    memset(block, ' ', sizeof block);
    while (fwrite(block, 1, sizeof block, stdout) == sizeof block)
        continue;
    return 0;
}

static void model_names_contain_no_folders(void **state) {
    (void)state;
    static const char *const names[][2] = {
        {"/srv/models/m.onnx", "m.onnx"},
        {"ort:nets/m.onnx#y", "m.onnx#y"},
        {"cmd:/opt/env/bin/python3 -u '/home/me/a b/score.py' --in=/tmp/x 0.5",
         "python3 -u 'a score.py' --in=x 0.5"},
        {"http://127.0.0.1:8080/v2/models/credit", "credit"},
        {"https://host/invocations", "host/invocations"},
        {"credit", "credit"},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char name[256];
        sis_model_name(names[i][0], name, sizeof name);
        assert_string_equal(name, names[i][1]);
    }
    char cut[4];
    sis_model_name("cmd:abcdef", cut, sizeof cut);
    assert_string_equal(cut, "abc");
}

int main(void) {
    const char *behaviour = test_args[0];
    if (behaviour)
        return strcmp(behaviour, "echo") == 0    ? child_echo()
               : strcmp(behaviour, "count") == 0 ? child_count(NULL, 0)
               : strcmp(behaviour, "late") == 0
                   ? child_count(test_args[1], test_args[2] ? atoi(test_args[2]) : 1)
                   : child_flood();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_become_scores),
        cmocka_unit_test(several_outputs_are_a_list_per_row),
        cmocka_unit_test(numbers_are_sent_without_loss),
        cmocka_unit_test(a_missing_value_is_null),
        cmocka_unit_test(texts_are_sent_in_pieces),
        cmocka_unit_test(many_rows_are_split_over_requests),
        cmocka_unit_test(full_pipes_do_not_deadlock),
        cmocka_unit_test(messages_describe_every_failure),
        cmocka_unit_test(later_rows_are_checked_like_the_first),
        cmocka_unit_test(a_late_extra_line_is_detected),
        cmocka_unit_test(an_extra_line_at_the_end_is_detected),
        cmocka_unit_test(consecutive_requests_have_different_numbers_of_rows),
        cmocka_unit_test(a_child_with_a_wrong_number_of_answers_is_restarted),
        cmocka_unit_test(one_of_several_scores_may_be_nan),
        cmocka_unit_test(a_child_that_hangs_is_killed),
        cmocka_unit_test(a_child_that_ended_is_restarted),
        cmocka_unit_test(retries_ask_again_after_a_child_dies),
        cmocka_unit_test(messages_quote_only_the_end_of_a_long_stderr),
        cmocka_unit_test(an_endless_answer_is_refused),
        cmocka_unit_test(children_share_the_cores),
        cmocka_unit_test(model_names_contain_no_folders),
        cmocka_unit_test(unknown_specs_list_the_known_kinds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
