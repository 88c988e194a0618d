/* SPDX-License-Identifier: MIT
 *
 * Requests without sockets: valid and invalid bodies, and failing allocations.
 */
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/rng.h"
#include "serve/serve.h"

typedef struct {
    sis_served from[2];
    sis_server_opt opt;
    sis__serving serving;
    sis__served *models[2];
    pthread_mutex_t lock;
} house;

static void open_house(house *h) {
    static const char *const names[] = {"credit", "text"};
    static const char *const files[] = {SIS_SOURCE_DIR "/models/credit.onnx",
                                        SIS_SOURCE_DIR "/models/imdb-cnn.onnx"};
    *h = (house){0};
    sis_server_opt_init(&h->opt);
    pthread_mutex_init(&h->lock, NULL);
    pthread_mutex_init(&h->serving.lock, NULL);
    for (size_t k = 0; k < 2; k++) {
        h->from[k].name = names[k];
        sis_task_opt_init(&h->from[k].task);
        h->from[k].task.model.spec = files[k];
        h->from[k].task.question.threshold = "0.5";
        assert_int_equal(sis__served_open(&h->from[k], &h->models[k]), SIS_OK);
    }
    h->opt.models = h->from;
    h->opt.n_models = 2;
    h->serving.opt = &h->opt;
    h->serving.models = h->models;
}

static void close_house(house *h) {
    for (size_t k = 0; k < 2; k++)
        sis__served_drop(h->models[k]);
}

/* The status; *answer is free()d by the caller. */
static unsigned ask(house *h, const char *path, const char *body, size_t n, char **answer) {
    sis__request r = {.method = "POST", .path = path, .body = body, .n_body = n, .lock = &h->lock};
    sis__buf_init(&r.answer);
    sis__route(&h->serving, &r);
    *answer = r.answer.data;
    sis__buf_release(&r.why);
    return r.status;
}

static void assert_answer(house *h, const char *path, const char *body, unsigned status,
                          const char *part) {
    char *answer;
    assert_int_equal(ask(h, path, body, strlen(body), &answer), status);
    assert_non_null(answer);
    assert_non_null(strstr(answer, part));
    free(answer);
}

static void columns_become_values(void **state) {
    house h;
    (void)state;
    open_house(&h);
    const char *path = "/v1/models/credit:predict";
    assert_answer(
        &h, path,
        "{\"instances\":[{\"age\":40,\"income\":52000,\"debt\":4000,\"savings\":12000,"
        "\"late_payments\":0,\"open_accounts\":3,\"years_employed\":8,\"credit_used\":0.15,"
        "\"else\":\"is passed over\"}]}",
        200, "{\"predictions\":[0.99");
    assert_answer(&h, path, "{\"instances\":[{\"values\":[40,52000,4000,12000,0,3,8,0.15]}]}", 200,
                  "{\"predictions\":[0.99");
    assert_answer(&h, path, "{\"instances\":[{\"age\":\"old\"}]}", 400, "column \\\"age\\\"");
    assert_answer(&h, "/v1/models/text:predict",
                  "{\"instances\":[{\"words\":[\"good\",\"film\"]}]}", 200, "predictions");
    assert_answer(&h, "/v1/models/text:predict", "{\"instances\":[{\"text\":\"good film\"}]}", 200,
                  "predictions");
    close_house(&h);
}

static void ids_and_labels_stay(void **state) {
    house h;
    (void)state;
    open_house(&h);
    assert_answer(&h, "/v1/models/text:explain",
                  "{\"instances\":[{\"text\":\"good\",\"id\":\"a\",\"label\":\"1\"}]}", 200,
                  "\"id\":\"a\"");
    assert_answer(&h, "/v1/models/text:explain",
                  "{\"instances\":[{\"text\":\"good\",\"id\":\"a\",\"label\":\"yes\"}]}", 200,
                  "\"label\":\"yes\"");
    close_house(&h);
}

/* Ask with mask value:k; returns the task that is cached for it. */
static const sis_task *ask_with_mask(house *h, int k, int subsets) {
    char body[200];
    snprintf(body, sizeof body,
             "{\"instances\":[[40,52000,4000,12000,0,3,8,0.15]],\"parameters\":{\"mask\":"
             "\"value:%d\",\"max_subsets\":%d}}",
             k, subsets);
    assert_answer(h, "/v1/models/credit:explain", body, 200, "explanations");
    return h->models[0]->others[0]->task;
}

static void the_least_recently_used_mask_makes_room(void **state) {
    house h;
    (void)state;
    open_house(&h);
    const sis_task *often = ask_with_mask(&h, 0, 1);
    for (int k = 1; k < 3 * SIS__SERVED_TASKS; k++) {
        ask_with_mask(&h, k, 1);
        assert_ptr_equal(ask_with_mask(&h, 0, k + 1), often); /* used again, so it stays */
    }
    assert_int_equal(h.models[0]->n_others, SIS__SERVED_TASKS);
    sis__served_task *held; /* a task in use stays valid after eviction */
    const sis__ask ask = {.mask = "value:0", .below = -1};
    assert_int_equal(sis__served_task_for(h.models[0], &ask, &held), SIS_OK);
    assert_ptr_equal(held->task, often);
    for (int k = 1; k <= SIS__SERVED_TASKS; k++)
        ask_with_mask(&h, k, 1);
    assert_int_equal(held->holders, 1);
    assert_non_null(sis_task_model(held->task)->predict);
    sis__served_task_drop(h.models[0], held);
    close_house(&h);
}

static void the_number_of_subsets_is_that_of_the_request(void **state) {
    house h;
    (void)state;
    open_house(&h);
    static const char *const parts[] = {"\"complete\":false", "\"complete\":true"};
    for (int k = 0; k < 4; k++) {
        char body[200];
        snprintf(body, sizeof body,
                 "{\"instances\":[[40,52000,4000,12000,0,3,8,0.15]],\"parameters\":{\"mask\":"
                 "\"value:0\",\"max_subsets\":%d}}",
                 k % 2 ? 100 : 1);
        assert_answer(&h, "/v1/models/credit:explain", body, 200, parts[k % 2]);
    }
    assert_int_equal(h.models[0]->n_others, 1);
    assert_answer(&h, "/v1/models/credit:explain",
                  "{\"instances\":[[40,52000,4000,12000,0,3,8,0.15]],\"parameters\":{\"method\":"
                  "\"perturb\",\"max_subsets\":2}}",
                  400, "finds one rationale");
    close_house(&h);
}

/* Valid bodies, to be damaged. */
static void damaged_bodies_get_an_answer(void **state) {
    static const char *const good[] = {
        "{\"instances\":[[40,52000,4000,12000,0,3,8,0.15]],\"parameters\":{\"threshold\":0.9,"
        "\"class\":0,\"mask\":\"zero\",\"max_subsets\":1,\"trace\":true}}",
        "{\"instances\":[{\"age\":40,\"income\":52000,\"debt\":4000,\"savings\":12000,"
        "\"late_payments\":0,\"open_accounts\":3,\"years_employed\":8,\"credit_used\":0.15}]}",
        "{\"id\":\"7\",\"inputs\":[{\"name\":\"x\",\"shape\":[1,8],\"datatype\":\"FP32\",\"data\":"
        "[1,2,3,4,5,6,7,8]}]}",
    };
    static const char *const paths[] = {"/v1/models/credit:explain", "/v1/models/credit:predict",
                                        "/v2/models/credit/explain", "/v2/models/credit/infer"};
    static const char pieces[] = "[]{},:\"0123456789.-e \xff\\nulltrue";
    house h;
    sis__rng rng;
    (void)state;
    open_house(&h);
    sis__rng_init(&rng, 5);
    for (size_t k = 0; k < rounds(3000); k++) {
        char body[512], *answer;
        size_t n = strlen(good[k % 3]), many = 1 + sis__rng_below(&rng, 6);
        memcpy(body, good[k % 3], n);
        for (size_t i = 0; i < many; i++)
            body[sis__rng_below(&rng, n)] = pieces[sis__rng_below(&rng, sizeof pieces - 1)];
        unsigned status = ask(&h, paths[sis__rng_below(&rng, 4)], body,
                              sis__rng_below(&rng, 8) ? n : sis__rng_below(&rng, n), &answer);
        assert_true(status == 200 || status == 400);
        json_t *json = json_loads(answer, 0, NULL);
        assert_non_null(json);
        assert_true((json_object_get(json, "error") != NULL) == (status == 400));
        json_decref(json);
        free(answer);
    }
    close_house(&h);
}

static int one_request(void *ctx) {
    house *h = (house *)ctx;
    char *answer;
    static const char body[] = "{\"instances\":[{\"age\":40,\"income\":52000,\"debt\":4000,"
                               "\"savings\":12000,\"late_payments\":0,\"open_accounts\":3,"
                               "\"years_employed\":8,\"credit_used\":0.15}]}";
    unsigned status = ask(h, "/v1/models/credit:explain", body, sizeof body - 1, &answer);
    int right = status == 200 && answer && strstr(answer, "\"explanations\":[{");
    free(answer);
    return right ? SIS_OK : SIS_E_NOMEM;
}

static void a_request_without_memory_is_an_answer(void **state) {
    house h;
    (void)state;
    open_house(&h);
    assert_int_equal(one_request(&h), SIS_OK);
    assert_true(with_failing_allocations(one_request, &h) > 20);
    close_house(&h);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_become_values),
        cmocka_unit_test(ids_and_labels_stay),
        cmocka_unit_test(the_least_recently_used_mask_makes_room),
        cmocka_unit_test(the_number_of_subsets_is_that_of_the_request),
        cmocka_unit_test(damaged_bodies_get_an_answer),
        cmocka_unit_test(a_request_without_memory_is_an_answer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
