/* SPDX-License-Identifier: MIT
 *
 * sis/serve.h - explanations behind an address: a page for people, protocols for programs.
 *
 * Experimental: may change from one version to the next.
 *
 *     sis_served model = {.name = "reviews"};
 *     sis_task_opt_init(&model.task);
 *     model.task.model = "imdb.onnx";
 *     sis_server_opt opt;  sis_server_opt_init(&opt);
 *     opt.models = &model;  opt.n_models = 1;
 *     sis_server *server;
 *     if (sis_server_start(&opt, &server) == 0)
 *         printf("http://127.0.0.1:%u\n", sis_server_port(server));
 *     ...
 *     sis_server_stop(server);
 *
 * What it answers is in docs/serve.md: the page at /, KServe's first protocol at /v1/models, the Open
 * Inference Protocol at /v2, numbers for Prometheus at /metrics. Explanations are the records of
 * sis/results.h.
 *
 * Each model is opened once and shared; a request is a task like the model's own (sis_task_derive) on
 * one of a number of worker threads. A request that finds the queue full is told to come back
 * (503), one that takes too long is answered with what has been found, and one whose client has
 * gone is given up.
 *
 * Needs libmicrohttpd when the library is built and when it is started; without it sis_server_start is
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

/* A model and what is asked about its inputs unless a request says otherwise. */
typedef struct sis_served {
    const char *name;  /* in addresses */
    sis_task_opt task; /* its examples, if any, are for the page to choose from */
} sis_served;

/* Borrowed until the server is stopped. */
typedef struct sis_server_opt {
    const sis_served *models; /* (n_models), at least one, names all different */
    size_t n_models;
    const char *motifs; /* a file of known motifs, for subsets of DNA; NULL: none */
    const char *host;   /* the address to listen at; default "127.0.0.1" */
    unsigned port;      /* 0: any that is free; default 8080 */
    size_t workers; /* requests of a model that are computed at once; default 0: one for each core.
                           There is a thread more for each further model, so that none keeps others waiting */
    size_t queue;   /* and that may wait for it; default 64 */
    size_t body;    /* bytes of a request; default 8 MiB */
    size_t instances;   /* in a request; default 1000 */
    size_t values;      /* of an instance; default 200000 */
    double seconds;     /* for a request; 0: as long as it takes; default 30 */
    double idle;        /* seconds that a connection may keep silent, and in which the head of a
                           request and its body have to arrive; default 30, at least 1 */
    const char *token;  /* what requests must bring (Authorization: Bearer); NULL: nothing */
    const char *origin; /* pages of this origin may ask, too ("*": all); NULL: none */

    /* A line for each answered request, without its newline. NULL: nobody wants it. Called from
     * several threads. */
    void (*log)(void *ctx, const char *line);
    void *log_ctx;
} sis_server_opt;

/* Every default. */
void sis_server_opt_init(sis_server_opt *opt);

typedef struct sis_server sis_server;

/* Open the models and listen. *out is NULL on failure. */
int sis_server_start(const sis_server_opt *opt, sis_server **out);

/* Where it listens. */
unsigned sis_server_port(const sis_server *server);

/* Open every model again, for files that have changed. A model that cannot be opened stays as it
 * was, and the first failure is the result. Requests go on meanwhile. */
int sis_server_reload(sis_server *server);

/* Take no more requests, finish those under way, free everything. NULL is fine. */
void sis_server_stop(sis_server *server);

#ifdef __cplusplus
}
#endif
#endif
