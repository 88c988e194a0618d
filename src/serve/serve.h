/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the server. In the order of a request:
 *
 *     server.c     connections (libmicrohttpd): complete requests in, answers out
 *     clients.c    closes connections of slow clients
 *     pool.c       queues, workers, and the watcher of deadlines and clients
 *     route.c      the table of addresses
 *     instances.c  from JSON to a data set
 *     explain.c    from a data set to a task and its answer
 *     served.c     the models: opening, description, reloading
 *     schema.c     the form of a model's inputs, for the page and to read objects by columns
 *     metrics.c    counters
 *
 * Only server.c knows of libmicrohttpd.
 */
#ifndef SIS_SERVE_SERVE_H
#define SIS_SERVE_SERVE_H

#include <pthread.h>
#include <stdatomic.h>

#include <jansson.h>

#include <sis/dna.h>
#include <sis/serve.h>

#include "base/arena.h"
#include "base/buf.h"

/* ---- schema.c ------------------------------------------------------------------------------ */

/* A column of a table: one value, or one for each of its categories. */
typedef struct sis__schema_column {
    const char *name;
    size_t first, n_categories; /* first value; number of categories, 0: a number */
    const char **categories;    /* (n_categories) */
    int position;               /* the value is the position of a category */
    double min, max, middle;    /* of a number, in the examples; NaN: unknown */
} sis__schema_column;

/* The form of an input. Texts belong to the task, or to `memory`. */
typedef struct sis__schema {
    sis__arena memory;
    json_t *names_json, *columns_json; /* of a network's metadata, or NULL */
    const char *kind;                  /* from sis_data_kind() */
    size_t rank, dims[8];              /* of numbers; rank 0: unknown */
    size_t n_columns;
    sis__schema_column *columns; /* of a table with names, else NULL */
    const char **column_names;   /* (n_columns) the same names */
    size_t n_values;
    const char *const *names; /* (n_values) names of values, with the columns */
    int *map;                 /* (n_values) the column of each */
    size_t n_labels;
    const char **labels; /* of outputs */
    size_t n_fields;
    char **fields;              /* (n_fields) of the prompt of a language model, else NULL */
    const char *explain, *unit; /* the field that is split, and its unit */
} sis__schema;

int sis__schema_init(sis__schema *s, const sis_task *task);
void sis__schema_release(sis__schema *s);

/* Write the schema as members of a JSON object. */
void sis__schema_write(const sis__schema *s, sis__buf *b);

/* ---- served.c ------------------------------------------------------------------------------ */

/* A prepared task for a question other than the model's own. Reference-counted. */
typedef struct sis__served_task {
    char *key;
    sis_task *task;
    size_t holders;
} sis__served_task;

enum { SIS__SERVED_TASKS = 16 };

/* An open model. Reference-counted. */
typedef struct sis__served {
    const sis_served *from;
    atomic_size_t holders;
    sis_task *task;
    sis__schema schema;
    int one_by_one;       /* its tasks may not run in parallel; the pool ensures it */
    pthread_mutex_t lock; /* protects the rest */
    sis__served_task *others[SIS__SERVED_TASKS]; /* most recently used first */
    size_t n_others;
} sis__served;

int sis__served_open(const sis_served *from, sis__served **out);
void sis__served_drop(sis__served *s);

/* Options that a request may set. Each may be absent. */
typedef struct sis__ask {
    const char *threshold, *target, *target_index, *mask, *method, *units, *fixed;
    char numbers[3][32]; /* of the first three, if they are numbers */
    int below;           /* -1: absent */
    long max_subsets;    /* 0: absent */
    int trace, cheapest;
} sis__ask;

/* Copy the requested contrast options to the options of a task. */
void sis__ask_contrast(const sis__ask *ask, sis_task_opt *opt);

/* The prepared task to use: the model's default (*out is NULL), or one with another mask, method or
 * kind of contrast, with a reference for the caller. */
int sis__served_task_for(sis__served *s, const sis__ask *ask, sis__served_task **out);
void sis__served_task_drop(sis__served *s, sis__served_task *task); /* NULL is allowed */

/* Hide files and commands from clients. _option: the part of an option such as "mean:FILE" before
 * the file, in room (32). _hide: a message with the model's name instead of its file, and FILE
 * instead of paths. */
const char *sis__served_option(const char *option, char *room);
void sis__served_hide(const sis_served *from, const char *text, sis__buf *out);

/* Remove the output of a child or server from a message, except the error it answered: stderr,
 * invalid answers and host names are for the log only. */
void sis__served_cut(sis__buf *text);

/* Write names, types and shapes, for GET of both protocols. */
void sis__served_describe(const sis__served *s, int v2, sis__buf *b);

/* Write examples to choose from: {"count":...,"examples":[...]}. */
int sis__served_examples(const sis__served *s, size_t from, size_t count, sis__buf *b);

/* ---- instances.c --------------------------------------------------------------------------- */

typedef struct sis__limits {
    size_t instances, values;
} sis__limits;

/* The list of instances as a data set. */
int sis__instances_read(const json_t *list, const sis__schema *schema, const sis__limits *limits,
                        sis_data **out);

/* A tensor of the Open Inference Protocol: shape and flat data; the first axis counts examples. */
int sis__tensor_read(const json_t *tensor, const sis__schema *schema, const sis__limits *limits,
                     sis_data **out);

/* ---- metrics.c ----------------------------------------------------------------------------- */

/* name, label, help */
#define SIS__COUNTERS(X)                                                                           \
    X(EXPLAINED, "sis_explanations_total", "Inputs explained")                                     \
    X(PREDICTED, "sis_predictions_total", "Inputs scored")                                         \
    X(EVALUATIONS, "sis_evaluations_total", "Masked copies that models were asked about")          \
    X(CUT, "sis_cut_total", "Requests that ran out of time")                                       \
    X(GONE, "sis_gone_total", "Requests given up because the client had gone")                     \
    X(REFUSED, "sis_refused_total", "Requests refused because the queue was full")
#define SIS__COUNTER(code, name, help) SIS__COUNT_##code,
enum { SIS__COUNTERS(SIS__COUNTER) SIS__N_COUNTERS };
#undef SIS__COUNTER

enum { SIS__METRIC_BUCKETS = 12 };

typedef struct sis__metrics {
    atomic_size_t counts[SIS__N_COUNTERS];
    atomic_size_t status[6];                        /* answers by the first digit of their status */
    atomic_size_t buckets[SIS__METRIC_BUCKETS + 1]; /* requests by duration */
    atomic_size_t microseconds;
    atomic_size_t waiting, running;
} sis__metrics;

void sis__metrics_answer(sis__metrics *m, unsigned status, double seconds);
void sis__metrics_write(const sis__metrics *m, sis__buf *b);

/* ---- route.c ------------------------------------------------------------------------------- */

/* The protocol of an answer. */
enum sis__form { SIS__FORM_V1, SIS__FORM_V2, SIS__FORM_REPORT };

/* A complete request and its answer. */
typedef struct sis__request {
    /* Request. */
    const char *method, *path, *query_from, *query_count;
    const char *body;
    size_t n_body;

    /* Answer. */
    enum sis__form form;
    unsigned status;
    const char *type;
    const char *allow; /* of status 405 */
    int retry;         /* Retry-After */
    const void *fixed; /* static bytes, or NULL */
    size_t n_fixed;
    sis__buf answer;
    sis__buf why; /* reason of a failure, for the log only */

    /* In progress. */
    pthread_mutex_t *lock; /* the pool's; protects the rest */
    sis_task *task;        /* cancelled if it takes too long; or NULL */
    int cut, gone;
} sis__request;

/* State of the server that request handlers use. */
typedef struct sis__serving {
    const sis_server_opt *opt;
    sis__metrics metrics;
    pthread_mutex_t lock; /* of models */
    sis__served **models; /* (opt->n_models) */
    sis_motifs motifs;    /* of opt->motifs; none: n is 0 */
} sis__serving;

/* Can it be answered at once, without a model? */
int sis__route_is_quick(const sis__request *r);

/* Index of the model in the request; the number of models if there is none. */
size_t sis__route_model(const sis__serving *s, const sis__request *r);

/* Fill in the answer, which may report an error. Always succeeds. */
void sis__route(sis__serving *s, sis__request *r);

/* Answer {"error": text}; if NULL, the text is the thread's last message. */
void sis__request_fail(sis__request *r, unsigned status, const char *text);

/* ---- explain.c ----------------------------------------------------------------------------- */

void sis__serve_explain(sis__serving *s, sis__served *model, sis__request *r);
void sis__serve_predict(sis__serving *s, sis__served *model, sis__request *r);

/* ---- motifs.c ------------------------------------------------------------------------------ */

void sis__serve_motifs(sis__serving *s, sis__served *none, sis__request *r);

/* ---- pool.c -------------------------------------------------------------------------------- */

typedef struct sis__pool sis__pool;

/* A request in the pool. */
typedef struct sis__job {
    sis__request request;
    double deadline; /* 0: none */
    int socket;      /* of the client, to detect a disconnect; -1: do not check */
    void (*done)(struct sis__job *job);
    size_t lane, ticket;   /* set by the pool: queue and order of arrival */
    struct sis__job *next; /* in the queue, or among the running ones */
} sis__job;

int sis__pool_start(sis__serving *s, sis__pool **out);

/* 1: a thread of the pool will run it. 0: the queue of its model is full. */
int sis__pool_put(sis__pool *p, sis__job *job);

/* Finish waiting requests, then end the threads; new requests are refused. NULL is allowed. */
void sis__pool_end(sis__pool *p);
void sis__pool_free(sis__pool *p); /* after sis__pool_end() */

/* ---- clients.c ----------------------------------------------------------------------------- */

typedef struct sis__clients sis__clients;
typedef struct sis__client sis__client;

/* Phases of a connection: the client sends a request, waits for the answer, reads it. */
enum sis__phase { SIS__PHASE_READING, SIS__PHASE_ASKING, SIS__PHASE_WRITING };

/* Limits: number of connections, seconds for the header of a request and for its body. */
int sis__clients_start(size_t max, double seconds, sis__clients **out);
void sis__clients_stop(sis__clients *all); /* NULL is allowed; all clients have been removed */

/* Add a connection, in phase READING. NULL: out of memory, and it is not watched; the other
 * functions accept NULL. */
struct sockaddr;
sis__client *sis__clients_add(sis__clients *all, int socket, const struct sockaddr *from);
void sis__client_enter(sis__client *c, enum sis__phase phase);
void sis__client_remove(sis__client *c); /* call before its socket is closed */

#endif
