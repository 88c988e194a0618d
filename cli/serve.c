/* SPDX-License-Identifier: MIT
 *
 * sis serve: serves models over HTTP, with a web page and inference protocols.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/serve.h>

#include "task.h"

typedef struct {
    cli_task_opt task; /* everything except the model */
    cli_list models, names;
    sis_server_opt server;
    const char *model_name, *predictor_host;
    int log;
    size_t port, http_port, body; /* body in MiB */
    cli_common common;
} serve_options;

static const cli_option options[] = {
    CLI_HEADING("Input"),
    {"model", 'm', "MODEL", CLI_LIST(serve_options, models), "a file, cmd:COMMAND or http://...",
     .more = "May be given several times. The other options hold for all models."},
    {"name", 0, "NAME", CLI_LIST(serve_options, names), "name of the model in addresses",
     .unset = "the file's name", .more = "Give it as often as --model, in the same order."},
    CLI_SOURCES(serve_options, CLI_OPTIONAL_GROUP, CLI_SOURCE_WITHOUT_MODEL),
    CLI_HEADING("Question"),
    {"threshold", 't', "T", CLI_STRING(serve_options, task.opt.question.threshold),
     "decision: score >= T", .unset = "0.5; language models: as in sis explain",
     .more =
         "Requests may choose another one. A percentile, pNN, refers to the scores of --input."},
    {"below", 0, NULL, CLI_FLAG(serve_options, task.opt.answer.search.below),
     "explain score <= T instead"},
    CLI_GROUP(serve_options, task, cli_task_opt, cli_output_options),
    CLI_GROUP(serve_options, task, cli_task_opt, cli_question_options),
    CLI_HEADING("Limits"),
    {"max-subsets", 0, "N", CLI_COUNT(serve_options, task.opt.answer.search.max_subsets),
     "stop after N subsets", .unset = "find all"},
    {"seconds", 0, "S", CLI_NUMBER(serve_options, server.seconds),
     "time limit of a request, 0 for none", .max = 1e9,
     .more = "When it is reached, the answer has the explanations that are finished, and \"cut\"."},
    {"workers", 0, "N", CLI_COUNT(serve_options, server.workers),
     "number of requests of a model computed at once", .unset = "one per core", .max = 1024,
     .rare = 1,
     .more = "Each further model adds a worker, so that a slow model does not delay the others."},
    {"queue", 0, "N", CLI_COUNT(serve_options, server.queue),
     "number of requests of a model that may wait", .max = 100000, .rare = 1,
     .more = "Further requests get status 503."},
    {"max-body", 0, "MIB", CLI_COUNT(serve_options, body), "maximum size of a request", .min = 1,
     .max = 1024, .rare = 1},
    {"max-instances", 0, "N", CLI_COUNT(serve_options, server.instances),
     "maximum number of inputs in a request", .min = 1, .max = 1000000, .rare = 1},
    CLI_HEADING("Server"),
    {"port", 'p', "N", CLI_COUNT(serve_options, port), "port, 0 for any free one", .max = 65535},
    {"host", 0, "ADDRESS", CLI_STRING(serve_options, server.host), "address to listen on",
     .more = "By default only programs on this machine can connect. 0.0.0.0 listens on all "
             "addresses: use --token then, or a firewall."},
    {"motifs", 0, "FILE", CLI_STRING(serve_options, server.motifs),
     "DNA: known motifs to compare subsets with",
     .more = "A JASPAR or MEME file, as for sis cluster."},
    {"cors", 0, "ORIGIN", CLI_STRING(serve_options, server.origin),
     "also answer web pages of this origin",
     .more = "An origin such as https://example.org, or * for all. Requests of pages from other "
             "origins are refused (403)."},
    {"log", 0, NULL, CLI_FLAG(serve_options, log), "write a line to stderr for each request",
     .more = "If a model fails, the line says why; the answer does not."},
    {"model_name", 0, "NAME", CLI_STRING(serve_options, model_name),
     "name of the model, as KServe passes it", .rare = 1},
    {"predictor_host", 0, "HOST", CLI_STRING(serve_options, predictor_host),
     "host of the model of --model_name", .rare = 1,
     .more = "The model is http://HOST/v1/models/NAME."},
    {"http_port", 0, "N", CLI_COUNT(serve_options, http_port), "the same as --port", .max = 65535,
     .rare = 1},
    CLI_GROUP(serve_options, common, cli_common, cli_common_options),
    {0},
};

static void init(void *p) {
    serve_options *o = (serve_options *)p;
    sis_server_opt_init(&o->server);
    cli_task_opt_init(&o->task);
    o->port = o->server.port;
    o->body = o->server.body >> 20;
}

/* ---- Models ---------------------------------------------------------------------------------- */

/* The last part of an address, or its host. */
static const char *end_of(const char *address) {
    const char *host = strstr(address, "://") + 3, *slash = strrchr(host, '/');
    return slash && slash[1] ? slash + 1 : host;
}

/* The name of a model: its file name without folder and ending, the part after /models/, or the end
 * of its address. */
static char *name_of(const char *model) {
    const char *file = strncmp(model, "ort:", 4) == 0 ? model + 4 : model;
    const char *at = strncmp(model, "http", 4) == 0 ? strstr(model, "/models/") : NULL;
    const char *llm = strstr(model, "/completions#");
    const char *from = at    ? at + 8
                       : llm ? strchr(llm, '#') + 1
                       : strncmp(model, "http", 4) == 0 && strstr(model, "://")
                           ? end_of(model)
                           : cli_last_part(file);
    char *name = strdup(strncmp(model, "cmd:", 4) == 0 ? "model" : from);
    if (name)
        name[strcspn(name, "./:#?% ")] = '\0';
    return name;
}

typedef struct {
    sis_served *models;
    char **names, *address;
    size_t n;
} served;

static int add_model(const serve_options *o, served *s, const char *model, const char *name) {
    sis_served *m = &s->models[s->n];
    char *copy = name ? strdup(name) : name_of(model);
    if (!copy)
        return cli_error("out of memory");
    s->names[s->n++] = copy;
    m->name = copy;
    cli_task_options(&o->task, &m->task);
    m->task.model.spec = model;
    m->task.model.open.token = NULL; /* the token protects our server, not the model */
    if (!m->task.question.threshold && !m->task.examples.prompt)
        m->task.question.threshold = "0.5";
    return CLI_DONE;
}

/* Add the predictor of a KServe explainer. */
static int add_predictor(const serve_options *o, served *s) {
    if (!o->model_name || !o->predictor_host)
        return cli_usage("--model_name and --predictor_host: give both or neither");
    size_t n = strlen(o->model_name) + strlen(o->predictor_host) + 32;
    s->address = malloc(n);
    if (!s->address)
        return cli_error("out of memory");
    snprintf(s->address, n, "http://%s/v1/models/%s", o->predictor_host, o->model_name);
    return add_model(o, s, s->address, o->model_name);
}

static int add_models(const serve_options *o, served *s) {
    int status = CLI_DONE;
    s->models = cli_grab(o->models.n + 1, sizeof *s->models);
    s->names = cli_grab(o->models.n + 1, sizeof *s->names);
    if (!s->models || !s->names)
        return CLI_FAILED;
    if (o->names.n && o->names.n != o->models.n)
        return cli_usage("--name: %zu names for %zu models; expected one for each "
                         "--model",
                         o->names.n, o->models.n);
    for (size_t k = 0; status == CLI_DONE && k < o->models.n; k++)
        status = add_model(o, s, o->models.items[k], o->names.n ? o->names.items[k] : NULL);
    if (status == CLI_DONE && (o->model_name || o->predictor_host))
        status = add_predictor(o, s);
    return status == CLI_DONE && s->n == 0 ? cli_usage("--model is required") : status;
}

static void release(served *s) {
    for (size_t k = 0; k < s->n; k++)
        free(s->names[k]);
    free(s->names);
    free(s->models);
    free(s->address);
}

/* ---- Running --------------------------------------------------------------------------------- */

static sis_server *server; /* for the signal handler */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t ended = PTHREAD_COND_INITIALIZER;
static int over;

static int take_signal(int number) {
    if (number == SIGHUP) {
        cli_note(0, "reloading the models");
        cli_fail(sis_server_reload(server));
        return 1;
    }
    pthread_mutex_lock(&lock);
    over = 1;
    pthread_cond_signal(&ended);
    pthread_mutex_unlock(&lock);
    return 1;
}

static void wait_for_end(void) {
    pthread_mutex_lock(&lock);
    while (!over)
        pthread_cond_wait(&ended, &lock);
    pthread_mutex_unlock(&lock);
}

static void write_log(void *ctx, const char *line) {
    (void)ctx;
    flockfile(stderr);
    cli_print_safe(stderr, line);
    fputc('\n', stderr);
    funlockfile(stderr);
}

/* Read the first line of a file, without the newline. */
static int read_token(const char *path, char *token, size_t size) {
    FILE *f = fopen(path, "r");
    if (!f || !fgets(token, (int)size, f)) {
        if (f)
            fclose(f);
        return cli_error("cannot read a token from %s", path);
    }
    int cut = strlen(token) == size - 1 && !strchr(token, '\n') && getc(f) != EOF;
    fclose(f);
    token[strcspn(token, "\r\n")] = '\0';
    if (cut)
        return cli_error("%s: the token is longer than %zu letters", path, size - 1);
    return *token ? CLI_DONE : cli_error("%s: the token is empty", path);
}

static void tell(const serve_options *o) {
    cli_note(o->common.quiet, "listening at http://%s:%u/ - press Ctrl-C to stop",
             strchr(o->server.host, ':') ? "[::1]" : o->server.host, sis_server_port(server));
}

static int run(const void *p, const cli_list *args) {
    const serve_options *o = (const serve_options *)p;
    served s = {0};
    char token[1024];
    sis_server_opt opt = o->server;
    (void)args;
    int status = add_models(o, &s);
    const char *file = o->task.open.opt.token;
    if (status == CLI_DONE && file)
        status = read_token(file, token, sizeof token);
    opt.models = s.models;
    opt.n_models = s.n;
    opt.port = (unsigned)(o->http_port ? o->http_port : o->port);
    opt.body = o->body << 20;
    opt.token = file ? token : NULL;
    opt.log = o->log ? write_log : NULL;
    if (status == CLI_DONE)
        status = cli_fail(sis_server_start(&opt, &server));
    if (status == CLI_DONE) {
        cli_interrupt_take(take_signal);
        tell(o);
        wait_for_end();
        cli_interrupt_take(NULL);
        sis_server_stop(server);
    }
    release(&s);
    return status;
}

const cli_command cli_serve = {
    .name = "serve",
    .summary = "serve explanations to browsers and programs",
    .options = options,
    .options_size = sizeof(serve_options),
    .init = init,
    .run = run,
    .examples =
        (const cli_example[]){
            {"sis serve -m models/imdb-cnn.onnx -m models/mnist-cnn.onnx",
             "Serve two models on a page at http://127.0.0.1:8080/."},
            {"sis serve -m credit.json -i cases.csv --mask mean:train.csv -t 0.8 --port 9000",
             "Serve a model of a table, with cases to choose from and a form for others."},
            {"sis serve -m http://localhost:8080/completion --prompt prompt.txt --explain context",
             "Serve a language model: which sentences of the context were enough for its answer?"},
            {"sis serve --model_name credit --predictor_host credit-predictor.default "
             "--http_port 8080 --host 0.0.0.0 --mask zero",
             "Run as the explainer of a KServe inference service."},
            {0}},
    .description =
        "sis serve opens models once and answers requests until you stop it. The page at / "
        "takes a text, a drawn digit, a sequence or a row, and shows which features are "
        "enough for the decision. Programs POST {\"instances\":[...]} to "
        "/v1/models/NAME:explain and get {\"explanations\":[...]}, the records that sis "
        "explain writes. There are also /v1/models/NAME:predict, the Open Inference Protocol "
        "under /v2, and /metrics. docs/serve.md describes them.\n\nAn instance is a text, a "
        "sequence, a list of numbers, or an object with a value for each column. Beside the "
        "instances, \"parameters\" may have threshold, below, target, target_index, mask, "
        "method, max_subsets and trace.\n\nSIGHUP opens the models again. SIGTERM and Ctrl-C "
        "finish the current requests and stop the server. It listens on this machine only, "
        "unless you give --host. With --token FILE every request needs a token.",
};
