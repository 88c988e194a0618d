/* SPDX-License-Identifier: MIT
 *
 * The child processes of `cmd:` models: signals, descriptors, surviving processes, unusual host
 * programs, threads, and failing allocations.
 */
#include "support_command.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/parallel.h"

static volatile sig_atomic_t pipe_signals;

static void count_signal(int number) {
    (void)number;
    pipe_signals++;
}

static void sigpipe_never_reaches_the_host(void **state) {
    (void)state;
    struct sigaction mine = {.sa_handler = count_signal}, before, after;
    double *row = calloc(100000, sizeof *row);
    assert_non_null(row);
    sigaction(SIGPIPE, &mine, &before);
    sis_model model = open_model("cmd:exec <&-; sleep 0.2; exit 4", 20);
    assert_int_equal(sis_model_measure(&model, row, 100000), SIS_E_MODEL);
    assert_message_has("ended with exit status 4");
    sis_model_close(&model);
    sigset_t pending, mask;
    sigpending(&pending);
    assert_false(sigismember(&pending, SIGPIPE));
    pthread_sigmask(SIG_BLOCK, NULL, &mask);
    assert_false(sigismember(&mask, SIGPIPE));
    sigaction(SIGPIPE, &before, &after);
    assert_true(after.sa_handler == count_signal);
    assert_int_equal(pipe_signals, 0);
    free(row);
}

static size_t open_files(void) {
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

/* A child has the same open files with and without siblings, and none is left open. */
static void descriptors_are_not_inherited_and_not_lost(void **state) {
    (void)state;
    const char *spec = "cmd:n=$(ls /proc/self/fd | wc -l); " ANSWER_ROWS("'$n'");
    size_t before = open_files();
    double alone, among;
    sis_model models[4];
    for (int i = 0; i < 4; i++) {
        models[i] = open_model(spec, 20);
        assert_int_equal(sis_model_measure(&models[i], ROW, 3), SIS_OK);
    }
    assert_int_equal(models[0].predict(models[0].ctx, ROW, 1, 3, &alone), SIS_OK);
    assert_int_equal(models[3].predict(models[3].ctx, ROW, 1, 3, &among), SIS_OK);
    assert_true(alone >= 3 && alone == among);
    assert_int_equal(open_files(), before + 12);
    for (int i = 0; i < 4; i++)
        sis_model_close(&models[i]);
    assert_int_equal(open_files(), before);
}

/* 1 if the process is gone or a zombie. */
static int is_running(pid_t pid) {
    char path[64], text[256];
    snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    FILE *f = fopen(path, "r");
    if (!f)
        return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *state = strrchr(text, ')');
    return state && state[1] && state[2] != 'Z' && state[2] != 'X';
}

static void child_processes_end_with_the_model(void **state) {
    (void)state;
    const char *const commands[] = {/* ends by itself, with a child left in the background */
                                    "cmd:sleep 1000 >/dev/null 2>&1 & " ANSWER_ROWS("['$$','$!']"),
                                    /* ignores the end of its input and SIGTERM */
                                    "cmd:trap '' TERM INT HUP; sleep 1000 & " ANSWER_ROWS(
                                        "['$$','$!']") "; while :; do sleep 1; done"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        double before = sis__seconds(), pids[2] = {0, 0};
        sis_model model = open_model(commands[i], 20);
        assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_OK);
        assert_int_equal(model.predict(model.ctx, ROW, 1, 3, pids), SIS_OK);
        assert_true(is_running((pid_t)pids[0]) && is_running((pid_t)pids[1]));
        sis_model_close(&model);
        assert_true(sis__seconds() - before < 10);
        for (int k = 0; k < 2; k++) {
            for (int wait = 0; wait < 100 && is_running((pid_t)pids[k]); wait++)
                usleep(20000);
            assert_false(is_running((pid_t)pids[k]));
        }
    }
}

/* A host without standard streams that ignores SIGCHLD. */
static void hosts_without_streams_that_ignore_children_work(void **state) {
    (void)state;
    int streams[3], taken = 0;
    void (*before)(int) = signal(SIGCHLD, SIG_IGN);
    fflush(stdout);
    for (int i = 0; i < 3; i++) {
        streams[i] = fcntl(i, F_DUPFD, 3);
        close(i);
    }
    sis_model good, bad = {0};
    int code = sis_model_open("cmd:" ANSWER_ROWS("1"), NULL, &good);
    if (code == SIS_OK)
        code = sis_model_open("cmd:echo out of ideas >&2; exit 3", NULL, &bad);
    for (int i = 0; i < 3; i++)
        taken += fcntl(i, F_GETFD) != -1;
    int first = code ? code : sis_model_measure(&good, ROW, 3);
    int second = code ? code : sis_model_measure(&bad, ROW, 3);
    sis_model_close(&bad);
    sis_model_close(&good);
    for (int i = 0; i < 3; i++) {
        dup2(streams[i], i);
        close(streams[i]);
    }
    signal(SIGCHLD, before);
    assert_int_equal(taken, 0);
    assert_int_equal(first, SIS_OK);
    assert_int_equal(second, SIS_E_MODEL);
    assert_message_has("request 1: ended; it said: out of ideas");
}

typedef struct {
    sis_model *model;
    void *workers[3];
    double pids[3];
} crew;

static int work(void *ctx, size_t item, int worker) {
    crew *c = ctx;
    (void)item;
    return c->model->predict(c->workers[worker], ROW, 1, 3, &c->pids[worker]);
}

static void each_worker_has_a_child_of_its_own(void **state) {
    (void)state;
    sis_model model = open_model("cmd:" ANSWER_ROWS("'$$'"), 20);
    crew c = {.model = &model, .workers = {model.ctx}};
    assert_int_equal(sis_model_measure(&model, ROW, 3), SIS_OK);
    for (int i = 1; i < 3; i++)
        assert_int_equal(model.worker_new(model.ctx, &c.workers[i]), SIS_OK);
    assert_int_equal(sis__parallel(3, 300, work, &c), SIS_OK);
    for (int i = 0; i < 3; i++) /* a thread may have had no item */
        assert_int_equal(work(&c, 0, i), SIS_OK);
    assert_true(c.pids[0] != c.pids[1] && c.pids[1] != c.pids[2] && c.pids[0] != c.pids[2]);
    for (int i = 1; i < 3; i++)
        model.worker_free(c.workers[i]);
    sis_model_close(&model);
}

static int whole_life(void *ctx) {
    sis_model model;
    void *worker = NULL;
    double scores[3];
    (void)ctx;
    int code = sis_model_open("cmd:" ECHO, NULL, &model);
    if (code == SIS_OK)
        code = sis_model_measure(&model, ROW, 3);
    if (code == SIS_OK)
        code = model.predict(model.ctx, ROW, 1, 3, scores);
    if (code == SIS_OK)
        code = model.worker_new(model.ctx, &worker);
    if (worker)
        model.worker_free(worker);
    sis_model_close(&model);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_true(with_failing_allocations(whole_life, NULL) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigpipe_never_reaches_the_host),
        cmocka_unit_test(descriptors_are_not_inherited_and_not_lost),
        cmocka_unit_test(child_processes_end_with_the_model),
        cmocka_unit_test(hosts_without_streams_that_ignore_children_work),
        cmocka_unit_test(each_worker_has_a_child_of_its_own),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
