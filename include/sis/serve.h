/* SPDX-License-Identifier: MIT
 *
 * sis/serve.h - an HTTP server for explanations: a web page and inference protocols.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_served model = {.name = "reviews"};
 *     sis_task_opt_init(&model.task);
 *     model.task.model.spec = "imdb.onnx";
 *     sis_server_opt opt;  sis_server_opt_init(&opt);
 *     opt.models = &model;  opt.n_models = 1;
 *     sis_server *server;
 *     if (sis_server_start(&opt, &server) == 0)
 *         printf("http://127.0.0.1:%u\n", sis_server_port(server));
 *     ...
 *     sis_server_stop(server);
 *
 * docs/serve.md describes the interface: the page at /, KServe's v1 protocol at /v1/models, the
 * Open Inference Protocol at /v2, Prometheus metrics at /metrics. Explanations are the records of
 * sis/results.h.
 *
 * Each model is opened once and shared; a request is a derived task (sis_task_derive) on a worker
 * thread. If the queue is full, a request gets status 503. A request that takes too long returns
 * partial results. If its client disconnects, it is cancelled.
 *
 * Requires libmicrohttpd at build time and at run time; without it sis_server_start is
 * SIS_E_UNSUPPORTED. Errors: 0 or a negative code of sis/error.h.
 */
#ifndef SIS_SERVE_H
#define SIS_SERVE_H

#include <stddef.h>

#include <sis/error.h>
#include <sis/task.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A model and the default options of its requests. */
typedef struct sis_served {
    const char *name;  /* in addresses */
    sis_task_opt task; /* the page offers its examples, if any */
} sis_served;

/* Borrowed until the server is stopped. */
typedef struct sis_server_opt {
    const sis_served *models; /* (n_models), at least one, with distinct names */
    size_t n_models;
    const char *motifs; /* a file of known motifs, for subsets of DNA; NULL: none */
    const char *host;   /* the address to listen at; default "127.0.0.1" */
    unsigned port;      /* 0: any free port; default 8080 */
    size_t workers; /* requests of a model computed at once; default 0: one per core. There is one
                       more thread for each further model, so that none delays others */
    size_t queue;   /* requests that may wait; default 64 */
    size_t body;    /* maximum bytes of a request; default 8 MiB */
    size_t instances;   /* maximum per request; default 1000 */
    size_t values;      /* maximum per instance; default 200000 */
    double seconds;     /* limit per request; 0: none; default 30 */
    double idle;        /* seconds that a connection may be idle, and within which the head and the
                           body of a request must arrive; default 30, at least 1 */
    const char *token;  /* required from requests (Authorization: Bearer); NULL: none */
    const char *origin; /* allowed cross-origin ("*": all); NULL: none */

    /* Receives one line per answered request, without newline. NULL: no log. Called from several
     * threads. */
    void (*log)(void *ctx, const char *line);
    void *log_ctx;
} sis_server_opt;

/* Sets the defaults. */
void sis_server_opt_init(sis_server_opt *opt);

typedef struct sis_server sis_server;

/* Open the models and listen. *out is NULL on failure. */
int sis_server_start(const sis_server_opt *opt, sis_server **out);

/* The port. */
unsigned sis_server_port(const sis_server *server);

/* Reopen every model, for changed files. A model that cannot be opened stays unchanged, and the
 * first failure is the result. Requests continue meanwhile. */
int sis_server_reload(sis_server *server);

/* Refuse new requests, finish current ones, free everything. NULL is allowed. */
void sis_server_stop(sis_server *server);

#ifdef __cplusplus
}
#endif
#endif
