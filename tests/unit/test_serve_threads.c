/* SPDX-License-Identifier: MIT
 *
 * A server with many concurrent clients while its models are reloaded: every client gets the answer
 * that a single client gets. Also built with ThreadSanitizer, so it uses only the public API.
 */
#include "support.h"

#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <sis/serve.h>

enum { CLIENTS = 8, REQUESTS = 12, ROOM = 1 << 16 };

static const char *const bodies[] = {
    "{\"instances\":[[40,52000,4000,12000,0,3,8,0.15]]}",
    "{\"instances\":[[40,52000,4000,12000,0,3,8,0.15]],\"parameters\":{\"mask\":\"zero\"}}",
    "{\"instances\":[[22,9000,14000,100,4,9,1,1]],\"parameters\":{\"below\":true}}",
    "{\"instances\":[[1,2,3]]}",
};
enum { BODIES = sizeof bodies / sizeof *bodies };

static int connect_to(unsigned port) {
    struct sockaddr_in at = {.sin_family = AF_INET,
                             .sin_port = htons((uint16_t)port),
                             .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (fd >= 0 && connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* 1 if the first n bytes hold a whole answer. */
static int is_whole(const char *text, size_t n) {
    const char *head = strstr(text, "\r\n\r\n"), *length = strstr(text, "Content-Length: ");
    return head && length &&
           n >= (size_t)(head + 4 - text) + (size_t)strtoul(length + 16, NULL, 10);
}

/* Ask on an open connection; 1 and the body, without times, if there is an answer. */
static int ask(int fd, const char *body, char *text) {
    char request[1024];
    size_t n = 0;
    int length = snprintf(request, sizeof request,
                          "POST /v1/models/credit:explain HTTP/1.1\r\nHost: localhost\r\n"
                          "Content-Length: %zu\r\n\r\n%s",
                          strlen(body), body);
    if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length)
        return 0;
    text[0] = '\0';
    while (!is_whole(text, n) && n + 1 < ROOM) {
        ssize_t got = recv(fd, text + n, ROOM - n - 1, 0);
        if (got <= 0)
            return 0;
        text[n += (size_t)got] = '\0';
    }
    memmove(text, strstr(text, "\r\n\r\n"), strlen(strstr(text, "\r\n\r\n")) + 1);
    char *seconds = strstr(text, "\"seconds\":");
    if (seconds)
        memmove(seconds, strchr(seconds, ','), strlen(strchr(seconds, ',')) + 1);
    return 1;
}

typedef struct {
    unsigned port;
    size_t first;
    char **want; /* (BODIES) */
    int right;
} client;

static void *be_client(void *ctx) {
    client *c = (client *)ctx;
    char *text = malloc(ROOM);
    int fd = connect_to(c->port);
    for (size_t k = 0; text && fd >= 0 && k < REQUESTS; k++) {
        size_t which = (c->first + k) % BODIES;
        c->right += ask(fd, bodies[which], text) && strcmp(text, c->want[which]) == 0;
    }
    if (fd >= 0)
        close(fd);
    free(text);
    return NULL;
}

static void start(sis_server **server, double idle) {
    static sis_served model;
    sis_server_opt opt;
    model = (sis_served){.name = "credit"};
    sis_task_opt_init(&model.task);
    model.task.model.spec = SIS_SOURCE_DIR "/models/credit.onnx";
    model.task.question.threshold = "0.5";
    sis_server_opt_init(&opt);
    opt.models = &model;
    opt.n_models = 1;
    opt.port = 0;
    opt.workers = 3;
    opt.idle = idle;
    assert_int_equal(sis_server_start(&opt, server), SIS_OK);
}

static void everybody_gets_the_same_answers(void **state) {
    sis_server *server;
    client clients[CLIENTS];
    pthread_t threads[CLIENTS];
    char *want[BODIES];
    (void)state;
    start(&server, 30);
    unsigned port = sis_server_port(server);
    int fd = connect_to(port);
    assert_true(fd >= 0);
    for (size_t k = 0; k < BODIES; k++) {
        want[k] = malloc(ROOM);
        assert_non_null(want[k]);
        assert_true(ask(fd, bodies[k], want[k]));
        assert_non_null(strstr(want[k], k + 1 < BODIES ? "\"explanations\"" : "\"error\""));
    }
    for (size_t k = 0; k < CLIENTS; k++) {
        clients[k] = (client){port, k, want, 0};
        assert_int_equal(pthread_create(&threads[k], NULL, be_client, &clients[k]), 0);
    }
    for (int k = 0; k < 5; k++)
        assert_int_equal(sis_server_reload(server), SIS_OK);
    for (size_t k = 0; k < CLIENTS; k++)
        pthread_join(threads[k], NULL);
    for (size_t k = 0; k < CLIENTS; k++)
        assert_int_equal(clients[k].right, REQUESTS);
    close(fd);
    sis_server_stop(server);
    for (size_t k = 0; k < BODIES; k++)
        free(want[k]);
}

static void it_stops_under_its_clients(void **state) {
    (void)state;
    for (int round = 0; round < 5; round++) {
        sis_server *server;
        char *nothing[BODIES] = {(char *)"", (char *)"", (char *)"", (char *)""};
        client clients[CLIENTS];
        pthread_t threads[CLIENTS];
        start(&server, 30);
        for (size_t k = 0; k < CLIENTS; k++) {
            clients[k] = (client){sis_server_port(server), k, nothing, 0};
            assert_int_equal(pthread_create(&threads[k], NULL, be_client, &clients[k]), 0);
        }
        sis_server_stop(server);
        for (size_t k = 0; k < CLIENTS; k++)
            pthread_join(threads[k], NULL);
    }
}

/* Send a byte of `text` every tenth of a second, repeatedly; returns the seconds until the
 * server closes the connection. */
static double drip(unsigned port, const char *text) {
    int fd = connect_to(port), tenths = 0;
    char byte;
    assert_true(fd >= 0);
    for (size_t n = strlen(text); tenths < 80; tenths++) {
        size_t at = (size_t)tenths < n ? (size_t)tenths : n - 1;
        ssize_t got = recv(fd, &byte, 1, MSG_DONTWAIT);
        if (got == 0 || (got < 0 && errno != EAGAIN) || send(fd, text + at, 1, MSG_NOSIGNAL) != 1)
            break;
        nanosleep(&(struct timespec){0, 100000000}, NULL);
    }
    close(fd);
    return tenths / 10.0;
}

static void a_request_has_to_arrive_in_time(void **state) {
    sis_server *server;
    (void)state;
    start(&server, 1);
    unsigned port = sis_server_port(server);
    assert_true(drip(port, "GET /v1/modelsssssssssss") < 6);
    assert_true(drip(port, "POST / HTTP/1.0\r\nContent-Length:99\r\n\r\n{") < 6);
    int fd = connect_to(port); /* a fast client may stay longer */
    char *text = malloc(ROOM);
    assert_non_null(text);
    for (int k = 0; k < 4; k++) {
        assert_true(ask(fd, bodies[0], text));
        nanosleep(&(struct timespec){0, 500000000}, NULL);
    }
    free(text);
    close(fd);
    sis_server_stop(server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everybody_gets_the_same_answers),
        cmocka_unit_test(it_stops_under_its_clients),
        cmocka_unit_test(a_request_has_to_arrive_in_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
