/* SPDX-License-Identifier: MIT
 *
 * One open model and many concurrent tasks: each has its own mask and gives the same results as
 * alone. So do many tasks derived from one. Also built with ThreadSanitizer, so it uses only the
 * public API.
 */
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/task.h>

enum { TASKS = 8, TEXTS = 2, LINE = 1 << 16 };

static const char *const texts[TEXTS] = {"A superb, moving film.", "dull but wonderful"};
static const char *const masks[] = {"zero", "value:0.05", "embedding-mean", "pad"};

/* A task of its own or a derived one, and its records. */
typedef struct {
    sis_task_opt opt;
    const sis_task *like;
    const sis_data *data;
    char said[LINE];
} job;

static void say(job *j, const sis_record *record) {
    sis_record r = *record;
    char *line;
    size_t n;
    r.collection.seconds = 0;
    if (sis_record_format(&r, 1, &line, &n) != 0)
        return;
    if (strlen(j->said) + n < sizeof j->said)
        strcat(j->said, line);
    free(line);
}

static void *work(void *ctx) {
    job *j = (job *)ctx;
    sis_task *t = NULL;
    sis_record r;
    int got = j->like ? sis_task_derive(j->like, j->data, &t) : sis_task_open(&j->opt, &t);
    while (got >= 0 && (got = sis_task_next(t, &r)) == 1)
        say(j, &r);
    if (got < 0)
        snprintf(j->said, sizeof j->said, "%s", sis_error_detail());
    sis_task_free(t);
    return NULL;
}

/* Runs all at once, then each of the first `kinds` alone: results must be equal, and tasks of
 * the same kind must agree. */
static void assert_same_alone(job *together, size_t kinds) {
    pthread_t threads[TASKS];
    job *alone = (job *)calloc(1, sizeof *alone);
    assert_non_null(alone);
    for (size_t i = 0; i < TASKS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &together[i]), 0);
    for (size_t i = 0; i < TASKS; i++)
        pthread_join(threads[i], NULL);
    for (size_t k = 0; k < kinds; k++) {
        *alone = together[k];
        alone->said[0] = '\0';
        work(alone);
        assert_non_null(strstr(alone->said, "\"id\":\"1\""));
        for (size_t i = k; i < TASKS; i += kinds)
            assert_string_equal(together[i].said, alone->said);
    }
    free(alone);
}

static sis_data *read_texts(void) {
    sis_data *data;
    if (sis_data_from_texts(texts, TEXTS, NULL, &data) != 0)
        fail_msg("%s", sis_error_detail());
    return data;
}

static void tasks_of_one_model_have_their_own_masks(void **state) {
    (void)state;
    sis_data *data = read_texts();
    sis_model model;
    job *jobs = (job *)calloc(TASKS, sizeof *jobs);
    assert_non_null(jobs);
    if (sis_model_open(SIS_SOURCE_DIR "/models/imdb-cnn.onnx", NULL, &model) != 0)
        fail_msg("%s", sis_error_detail());
    for (size_t i = 0; i < TASKS; i++) {
        sis_task_opt_init(&jobs[i].opt);
        jobs[i].opt.model.opened = &model;
        jobs[i].opt.examples.data = data;
        jobs[i].opt.question.mask = masks[i % 4];
        jobs[i].opt.question.threshold = "0.6";
        jobs[i].opt.answer.search.jobs = i < 4 ? 1 : 2;
    }
    assert_same_alone(jobs, 4);
    assert_string_not_equal(jobs[0].said, jobs[1].said);
    assert_string_not_equal(jobs[0].said, jobs[2].said);
    sis_model_close(&model);
    free(jobs);
    sis_data_free(data);
}

static void questions_like_one_task_run_side_by_side(void **state) {
    (void)state;
    sis_data *data = read_texts();
    sis_task *like;
    sis_task_opt o;
    job *jobs = (job *)calloc(TASKS, sizeof *jobs);
    assert_non_null(jobs);
    sis_task_opt_init(&o);
    o.model.spec = SIS_SOURCE_DIR "/models/imdb-cnn.onnx";
    o.question.mask = "zero";
    o.question.threshold = "0.6";
    if (sis_task_open(&o, &like) != 0)
        fail_msg("%s", sis_error_detail());
    for (size_t i = 0; i < TASKS; i++) {
        jobs[i].like = like;
        jobs[i].data = data;
    }
    assert_same_alone(jobs, 1);
    sis_task_free(like);
    free(jobs);
    sis_data_free(data);
}

/* More threads than jobs ask one task, backwards. */
typedef struct {
    sis_task *task;
    char said[TEXTS][LINE];
} asker;

static void *ask(void *ctx) {
    asker *a = (asker *)ctx;
    sis_record r;
    job one = {0};
    for (size_t i = TEXTS; i-- > 0;) {
        one.said[0] = '\0';
        if (sis_task_explain(a->task, i, &r) == 0)
            say(&one, &r);
        memcpy(a->said[i], one.said, sizeof one.said);
    }
    return NULL;
}

static void threads_share_one_task(void **state) {
    (void)state;
    pthread_t threads[TASKS];
    sis_data *data = read_texts();
    sis_task_opt o;
    sis_task *t;
    sis_record r;
    asker *all = (asker *)calloc(TASKS, sizeof *all);
    job *wanted = (job *)calloc(1, sizeof *wanted);
    assert_true(all && wanted);
    sis_task_opt_init(&o);
    o.model.spec = SIS_SOURCE_DIR "/models/imdb-cnn.onnx";
    o.examples.data = data;
    o.question.mask = "zero";
    o.question.threshold = "0.6";
    o.answer.search.jobs = 2;
    if (sis_task_open(&o, &t) != 0)
        fail_msg("%s", sis_error_detail());
    for (size_t k = 0; k < TASKS; k++) {
        all[k].task = t;
        assert_int_equal(pthread_create(&threads[k], NULL, ask, &all[k]), 0);
    }
    for (size_t k = 0; k < TASKS; k++)
        pthread_join(threads[k], NULL);
    for (size_t i = 0; i < TEXTS; i++) {
        assert_int_equal(sis_task_next(t, &r), 1);
        wanted->said[0] = '\0';
        say(wanted, &r);
        for (size_t k = 0; k < TASKS; k++)
            assert_string_equal(all[k].said[i], wanted->said);
    }
    sis_task_free(t);
    sis_data_free(data);
    free(all);
    free(wanted);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tasks_of_one_model_have_their_own_masks),
        cmocka_unit_test(questions_like_one_task_run_side_by_side),
        cmocka_unit_test(threads_share_one_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
