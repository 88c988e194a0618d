/* SPDX-License-Identifier: MIT
 *
 * Connections. One thread of libmicrohttpd reads requests and writes answers, so that slow clients
 * block nobody. A complete request that needs a model is suspended and queued; its connection
 * resumes when a worker has the answer.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "serve/serve.h"

void sis_server_opt_init(sis_server_opt *opt) {
    *opt = (sis_server_opt){.host = "127.0.0.1",
                            .port = 8080,
                            .queue = 64,
                            .body = (size_t)8 << 20,
                            .instances = 1000,
                            .values = 200000,
                            .seconds = 30,
                            .idle = 30};
}

#ifndef SIS_MICROHTTPD

int sis_server_start(const sis_server_opt *opt, sis_server **out) {
    (void)opt;
    *out = NULL;
    return sis__fail(SIS_E_UNSUPPORTED, "this build has no server; install libmicrohttpd (Debian: "
                                        "libmicrohttpd-dev) and build again");
}

unsigned sis_server_port(const sis_server *server) {
    (void)server;
    return 0;
}

int sis_server_reload(sis_server *server) {
    (void)server;
    return SIS_E_UNSUPPORTED;
}

void sis_server_stop(sis_server *server) {
    (void)server;
}

#else

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <microhttpd.h>
#include <pthread.h>

#include <sis/dna.h>

#include "base/library.h"

/* ---- The library ----------------------------------------------------------------------------- */

#define CALLS(X)                                                                                   \
    X(start_daemon)                                                                                \
    X(quiesce_daemon)                                                                              \
    X(stop_daemon)                                                                                 \
    X(get_connection_info)                                                                         \
    X(get_connection_values)                                                                       \
    X(lookup_connection_value)                                                                     \
    X(suspend_connection)                                                                          \
    X(resume_connection)                                                                           \
    X(create_response_from_buffer) X(add_response_header) X(queue_response) X(destroy_response)

/* libmicrohttpd, loaded once. */
static struct {
#define POINTER(name) __typeof__(MHD_##name) *name;
    CALLS(POINTER)
#undef POINTER
    int is_there;
} mhd;

static void load(void) {
    static const char *const files[] = {"libmicrohttpd.so.12", "libmicrohttpd.12.dylib", NULL};
    void *library = sis__library_open(files);
#define TAKE(name) &&sis__library_take(library, "MHD_" #name, &mhd.name)
    mhd.is_there = library CALLS(TAKE);
#undef TAKE
}

static int ensure_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return mhd.is_there ? SIS_OK
                        : sis__fail(SIS_E_UNSUPPORTED,
                                    "sis serve needs libmicrohttpd (libmicrohttpd.so.12); "
                                    "install it (Debian: libmicrohttpd12)");
}

/* ---- Server and requests --------------------------------------------------------------------- */

struct sis_server {
    sis_server_opt opt;
    sis__serving serving;
    sis__pool *pool;
    sis__clients *clients;
    struct MHD_Daemon *daemon;
    unsigned port;
    int local;          /* listens on loopback only */
    atomic_size_t open; /* requests whose answer is not completely sent */
};

/* A request, from its first line to the end of the answer. */
typedef struct {
    sis__job job; /* must be first: used by the pool */
    sis_server *server;
    struct MHD_Connection *connection;
    sis__buf body;
    char *path, *method;
    double began; /* time of arrival */
    int answered; /* the answer is ready */
    size_t swallowed;
} exchange;

/* ---- Answers --------------------------------------------------------------------------------- */

static void add_headers(const exchange *x, struct MHD_Response *response) {
    const sis__request *r = &x->job.request;
    mhd.add_response_header(response, "Content-Type", r->type);
    mhd.add_response_header(response, "Cache-Control", "no-store");
    mhd.add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (strncmp(r->type, "text/html", 9) == 0 && r->fixed)
        mhd.add_response_header(response, "Content-Security-Policy",
                                "default-src 'none'; script-src 'self'; style-src 'self' "
                                "'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self'; "
                                "frame-ancestors 'none'; base-uri 'none'; form-action 'none'");
    if (r->allow)
        mhd.add_response_header(response, "Allow", r->allow);
    if (r->retry)
        mhd.add_response_header(response, "Retry-After", "1");
    if (r->status == 401)
        mhd.add_response_header(response, "WWW-Authenticate", "Bearer");
    if (x->server->opt.origin) {
        mhd.add_response_header(response, "Access-Control-Allow-Origin", x->server->opt.origin);
        mhd.add_response_header(response, "Access-Control-Allow-Headers",
                                "Authorization, Content-Type");
        mhd.add_response_header(response, "Vary", "Origin");
    }
}

/* The watched connection; NULL: not watched. */
static sis__client *client_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
    return info ? (sis__client *)info->socket_context : NULL;
}

static enum MHD_Result queue(exchange *x) {
    sis__request *r = &x->job.request;
    sis__client_enter(client_of(x->connection), SIS__PHASE_WRITING);
    const void *bytes = r->fixed ? r->fixed : r->answer.data ? r->answer.data : "";
    struct MHD_Response *response = mhd.create_response_from_buffer(
        r->fixed ? r->n_fixed : r->answer.len, (void *)(size_t)bytes,
        r->fixed ? MHD_RESPMEM_PERSISTENT : MHD_RESPMEM_MUST_COPY);
    if (!response)
        return MHD_NO;
    add_headers(x, response);
    enum MHD_Result result = mhd.queue_response(x->connection, r->status, response);
    mhd.destroy_response(response);
    return result;
}

static enum MHD_Result refuse(exchange *x, unsigned status, const char *text) {
    sis__request_fail(&x->job.request, status, text);
    x->job.request.retry = status == 503;
    x->answered = 1;
    return queue(x);
}

/* Runs on a thread of the pool. */
static void resume(sis__job *job) {
    exchange *x = (exchange *)job;
    x->answered = 1;
    mhd.resume_connection(x->connection);
}

static const char TOO_LONG[] = "the body is larger than this server takes";

/* ---- Requests -------------------------------------------------------------------------------- */

/* Comparison in constant time. */
static int same_token(const char *a, const char *b) {
    size_t n = strlen(a), m = strlen(b);
    unsigned different = n != m;
    for (size_t k = 0; k < m; k++)
        different |= (unsigned)(a[n ? k % n : 0] ^ b[k]);
    return !different;
}

/* "localhost", "127.0.0.1" or "[::1]", with a port or without. */
static int is_this_machine(const char *host) {
    size_t n = sis__same_start(host, "localhost", 9) ? 9
               : strncmp(host, "127.", 4) == 0       ? strspn(host, "0123456789.")
               : strncmp(host, "[::1]", 5) == 0      ? 5
                                                     : 0;
    return n && (host[n] == '\0' || host[n] == ':');
}

/* Protection against DNS rebinding: a foreign page can make its own name resolve to this machine,
 * and browsers then send requests here with that name. They are refused on loopback, where only the
 * address protects. */
static int host_allowed(const exchange *x) {
    const char *host = mhd.lookup_connection_value(x->connection, MHD_HEADER_KIND, "Host");
    return !x->server->local || x->server->opt.token || !host || is_this_machine(host);
}

/* Browsers send the origin of a page: it must be ours or allowed by --cors. Other programs send
 * none. */
static int origin_allowed(const exchange *x) {
    const char *allowed = x->server->opt.origin;
    const char *host = mhd.lookup_connection_value(x->connection, MHD_HEADER_KIND, "Host");
    const char *from = mhd.lookup_connection_value(x->connection, MHD_HEADER_KIND, "Origin");
    if (!from || (allowed && (strcmp(allowed, "*") == 0 || sis__same_word(from, allowed))))
        return 1;
    size_t scheme = sis__same_start(from, "http://", 7)    ? 7
                    : sis__same_start(from, "https://", 8) ? 8
                                                           : 0;
    return scheme && host && sis__same_word(from + scheme, host);
}

/* A CORS preflight request, which carries no token. */
static int is_preflight(const exchange *x) {
    return x->server->opt.origin && strcmp(x->method, "OPTIONS") == 0;
}

/* Only health checks and the page itself need no token. */
static int authorized(const exchange *x) {
    const char *token = x->server->opt.token, *path = x->job.request.path;
    const char *given =
        mhd.lookup_connection_value(x->connection, MHD_HEADER_KIND, "Authorization");
    int open = strcmp(path, "/") == 0 || strncmp(path, "/live.", 6) == 0 ||
               strncmp(path, "/v2/health/", 11) == 0;
    return !token || open || is_preflight(x) ||
           (given && strncmp(given, "Bearer ", 7) == 0 && same_token(given + 7, token));
}

static int socket_of(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info =
        mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static exchange *begin(sis_server *server, struct MHD_Connection *connection, const char *path,
                       const char *method) {
    exchange *x = SIS_NEW(exchange, 1);
    if (!x)
        return NULL;
    x->server = server;
    x->connection = connection;
    x->path = sis__strdup(path);
    x->method = sis__strdup(method);
    if (!x->path || !x->method) {
        free(x->path);
        free(x->method);
        free(x);
        return NULL;
    }
    sis__buf_init(&x->body);
    sis__buf_init(&x->job.request.answer);
    sis__buf_init(&x->job.request.why);
    x->job.request.path = x->path;
    x->job.request.method = x->method;
    x->job.socket = socket_of(connection);
    x->job.done = resume;
    atomic_fetch_add(&server->open, 1);
    sis__client_enter(client_of(connection), SIS__PHASE_READING);
    return x;
}

/* The part of an oversized body that is read and discarded, so that the client gets the error. */
static size_t max_discarded(const exchange *x) {
    return 4 * x->server->opt.body + (1 << 20);
}

static int is_far_too_long(const exchange *x) {
    const char *length =
        mhd.lookup_connection_value(x->connection, MHD_HEADER_KIND, "Content-Length");
    return length && strtoull(length, NULL, 10) > max_discarded(x);
}

static enum MHD_Result count_framing(void *ctx, enum MHD_ValueKind kind, const char *name,
                                     const char *value) {
    size_t *n = (size_t *)ctx;
    (void)kind, (void)value;
    if (sis__same_word(name, "Content-Length") || sis__same_word(name, "Transfer-Encoding"))
        n[0]++;
    if (sis__same_word(name, "Host"))
        n[1]++;
    return MHD_YES;
}

/* Two lengths or two hosts: a proxy may use the other one. */
static int is_ambiguous(const exchange *x) {
    size_t n[2] = {0, 0};
    mhd.get_connection_values(x->connection, MHD_HEADER_KIND, count_framing, n);
    return n[0] > 1 || n[1] > 1;
}

/* Check the headers, before the body arrives. */
static enum MHD_Result on_headers(exchange *x) {
    if (is_ambiguous(x))
        return refuse(x, 400, "expected one Host and one of Content-Length and Transfer-Encoding");
    if (!host_allowed(x))
        return refuse(x, 403,
                      "this server answers to localhost only; start it with "
                      "--token to allow other names");
    if (!origin_allowed(x))
        return refuse(x, 403,
                      "pages of other origins are not allowed; start the server "
                      "with --cors ORIGIN");
    if (!authorized(x))
        return refuse(x, 401, "expected the header Authorization: Bearer TOKEN");
    if (is_far_too_long(x))
        return refuse(x, 413, TOO_LONG);
    return MHD_YES;
}

/* Receive a part of the body. */
static enum MHD_Result receive(exchange *x, const char *bytes, size_t *n) {
    if (x->body.len + *n <= x->server->opt.body && x->swallowed == 0)
        sis__buf_add(&x->body, bytes, *n);
    else
        x->swallowed += *n;
    *n = 0;
    return x->swallowed > max_discarded(x) ? MHD_NO : MHD_YES;
}

static enum MHD_Result dispatch(exchange *x) {
    sis_server *server = x->server;
    sis__request *r = &x->job.request;
    if (x->swallowed)
        return refuse(x, 413, TOO_LONG);
    if (sis__buf_error(&x->body))
        return refuse(x, 500, "out of memory");
    x->began = sis__seconds();
    r->body = x->body.data ? x->body.data : "";
    r->n_body = x->body.len;
    if (is_preflight(x)) {
        r->status = 204;
        r->type = "text/plain";
        return queue(x);
    }
    if (sis__route_is_quick(r)) {
        r->query_from = mhd.lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "from");
        r->query_count = mhd.lookup_connection_value(x->connection, MHD_GET_ARGUMENT_KIND, "count");
        sis__route(&server->serving, r);
        x->answered = 1;
        return queue(x);
    }
    sis__client_enter(client_of(x->connection), SIS__PHASE_ASKING);
    x->job.deadline = server->opt.seconds > 0 ? x->began + server->opt.seconds : 0;
    mhd.suspend_connection(x->connection);
    if (sis__pool_put(server->pool, &x->job))
        return MHD_YES;
    mhd.resume_connection(x->connection);
    sis__request_fail(r, 503,
                      "too many requests are waiting for this model; try again "
                      "later");
    r->retry = 1;
    x->answered = 1;
    return MHD_YES;
}

static enum MHD_Result handle(void *ctx, struct MHD_Connection *connection, const char *path,
                              const char *method, const char *version, const char *bytes, size_t *n,
                              void **state) {
    exchange *x = (exchange *)*state;
    (void)version;
    if (!x) {
        x = begin((sis_server *)ctx, connection, path, method);
        *state = x;
        return x ? on_headers(x) : MHD_NO;
    }
    if (*n > 0)
        return receive(x, bytes, n);
    return x->answered ? queue(x) : dispatch(x);
}

/* ---- End of a request ------------------------------------------------------------------------ */

static void note(const exchange *x, double seconds) {
    const sis__request *r = &x->job.request;
    char line[1024], path[160];
    size_t n = 0;
    for (const char *c = x->path; *c && n + 1 < sizeof path; c++)
        path[n++] = *c > ' ' && *c < 127 && *c != '"' ? *c : '?';
    path[n] = '\0';
    sis__format(line, sizeof line, "%.16s %s %u %zu bytes %.1f ms%s%s%s", x->method, path,
                r->status, r->fixed ? r->n_fixed : r->answer.len, 1e3 * seconds,
                r->cut    ? " cut"
                : r->gone ? " gone"
                          : "",
                r->why.data ? ": " : "", r->why.data ? r->why.data : "");
    x->server->opt.log(x->server->opt.log_ctx, line);
}

static void finish(void *ctx, struct MHD_Connection *connection, void **state,
                   enum MHD_RequestTerminationCode why) {
    sis_server *server = (sis_server *)ctx;
    exchange *x = (exchange *)*state;
    (void)why;
    /* next request, if the connection stays open */
    sis__client_enter(client_of(connection), SIS__PHASE_READING);
    if (!x)
        return;
    double seconds = x->began > 0 ? sis__seconds() - x->began : 0;
    if (x->job.request.status)
        sis__metrics_answer(&server->serving.metrics, x->job.request.status, seconds);
    if (server->opt.log && x->job.request.status)
        note(x, seconds);
    sis__buf_release(&x->body);
    sis__buf_release(&x->job.request.answer);
    sis__buf_release(&x->job.request.why);
    free(x->path);
    free(x->method);
    free(x);
    *state = NULL;
    atomic_fetch_sub(&server->open, 1);
}

/* Called when a connection begins or ends. */
static void notice(void *ctx, struct MHD_Connection *connection, void **client,
                   enum MHD_ConnectionNotificationCode what) {
    sis_server *server = (sis_server *)ctx;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        const union MHD_ConnectionInfo *info =
            mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
        *client = sis__clients_add(server->clients, socket_of(connection),
                                   info ? info->client_addr : NULL);
    } else {
        sis__client_remove((sis__client *)*client);
        *client = NULL;
    }
}

/* ---- Start ----------------------------------------------------------------------------------- */

static void be_quiet(void *ctx, const char *format, va_list args) {
    (void)ctx, (void)format, (void)args;
}

/* Open a listening socket; -1 after reporting a failure. */
static int listen_at(const sis_server_opt *o) {
    struct addrinfo want = {.ai_family = AF_UNSPEC,
                            .ai_socktype = SOCK_STREAM,
                            .ai_flags = AI_PASSIVE | AI_NUMERICSERV},
                    *found = NULL;
    char port[16];
    int on = 1, fd = -1;
    snprintf(port, sizeof port, "%u", o->port);
    int error = getaddrinfo(o->host, port, &want, &found);
    if (error) {
        sis__fail(SIS_E_ARGUMENT, "--host %s: %s", o->host, gai_strerror(error));
        return -1;
    }
    fd = sis__socket(found->ai_family);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) != 0 || listen(fd, 512) != 0) {
        sis__fail(SIS_E_IO, "cannot listen at %s, port %u: %s", o->host, o->port, strerror(errno));
        if (fd >= 0)
            close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    return fd;
}

/* Find the port of a socket, and whether other machines can reach it. */
static void note_address(sis_server *s, int fd) {
    struct sockaddr_storage at = {0};
    socklen_t n = sizeof at;
    const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)&at;
    const struct sockaddr_in *four = (const struct sockaddr_in *)&at;
    if (getsockname(fd, (struct sockaddr *)&at, &n) != 0)
        return;
    int is_six = at.ss_family == AF_INET6;
    s->port = ntohs(is_six ? six->sin6_port : four->sin_port);
    s->local = is_six ? IN6_IS_ADDR_LOOPBACK(&six->sin6_addr)
                      : ntohl(four->sin_addr.s_addr) >> 24 == IN_LOOPBACKNET;
}

static int open_models(sis_server *s) {
    int error = SIS_OK;
    s->serving.models = SIS_NEW(sis__served *, s->opt.n_models);
    if (!s->serving.models)
        return SIS_E_NOMEM;
    for (size_t k = 0; !error && k < s->opt.n_models; k++)
        error = sis__served_open(&s->opt.models[k], &s->serving.models[k]);
    return error;
}

static int check_names(const sis_server_opt *o) {
    for (size_t k = 0; k < o->n_models; k++) {
        const char *name = o->models[k].name;
        if (!*name || name[strcspn(name, "/:?#% ")])
            return sis__fail(SIS_E_OPTION, "--name: \"%s\" cannot be part of an address", name);
        for (size_t i = 0; i < k; i++)
            if (strcmp(name, o->models[i].name) == 0)
                return sis__fail(SIS_E_OPTION, "--name: two models are named %s", name);
    }
    return o->n_models ? SIS_OK : sis__fail(SIS_E_OPTION, "--model: expected at least one");
}

/* The limit of open files, minus those that models need. */
static unsigned max_connections(void) {
    struct rlimit files;
    rlim_t max = getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur / 4 * 3 : 256;
    return max > 4096 ? 4096 : max < 8 ? 8 : (unsigned)max;
}

static int start_daemon(sis_server *s) {
    unsigned max = max_connections();
    int error = sis__clients_start(max, s->opt.idle, &s->clients);
    int fd = error ? -1 : listen_at(&s->opt);
    if (fd < 0)
        return error ? error : SIS_E_IO;
    note_address(s, fd);
    s->daemon = mhd.start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_ERROR_LOG, 0, NULL, NULL,
        handle, s, MHD_OPTION_EXTERNAL_LOGGER, be_quiet, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_COMPLETED, finish, s, MHD_OPTION_NOTIFY_CONNECTION, notice, s,
        /* some are closed only when new ones arrive */
        MHD_OPTION_CONNECTION_LIMIT, max + max / 8, MHD_OPTION_CONNECTION_TIMEOUT,
        (unsigned)(s->opt.idle > 1 ? s->opt.idle : 1), MHD_OPTION_END);
    if (s->daemon)
        return SIS_OK;
    close(fd);
    return sis__fail(SIS_E_IO, "the server could not be started");
}

int sis_server_start(const sis_server_opt *opt, sis_server **out) {
    sis_server *s = SIS_NEW(sis_server, 1);
    *out = NULL;
    if (!s)
        return SIS_E_NOMEM;
    s->opt = *opt;
    s->serving.opt = &s->opt;
    pthread_mutex_init(&s->serving.lock, NULL);
    int error = ensure_loaded();
    if (!error)
        error = check_names(opt);
    if (!error)
        error = open_models(s);
    if (!error && opt->motifs)
        error = sis_motifs_read(opt->motifs, &s->serving.motifs);
    if (!error)
        error = sis__pool_start(&s->serving, &s->pool);
    if (!error)
        error = start_daemon(s);
    if (error)
        sis_server_stop(s);
    else
        *out = s;
    return error;
}

unsigned sis_server_port(const sis_server *server) {
    return server->port;
}

int sis_server_reload(sis_server *s) {
    int first = SIS_OK;
    for (size_t k = 0; k < s->opt.n_models; k++) {
        sis__served *fresh;
        int error = sis__served_open(&s->opt.models[k], &fresh);
        first = first ? first : error;
        if (error)
            continue;
        pthread_mutex_lock(&s->serving.lock);
        sis__served *old = s->serving.models[k];
        s->serving.models[k] = fresh;
        pthread_mutex_unlock(&s->serving.lock);
        sis__served_drop(old);
    }
    return first;
}

/* ---- Stop ------------------------------------------------------------------------------------ */

/* Wait until the answers are sent, but not for clients that do not read. */
static void wait_for_answers(const sis_server *s) {
    struct timespec moment = {0, 10000000};
    for (int k = 0; k < 300 && atomic_load(&s->open) > 0; k++)
        nanosleep(&moment, NULL);
}

void sis_server_stop(sis_server *s) {
    if (!s)
        return;
    int fd = s->daemon ? mhd.quiesce_daemon(s->daemon) : -1;
    if (fd >= 0)
        /* no new connections; the daemon's thread may still hold the socket */
        shutdown(fd, SHUT_RDWR);
    sis__pool_end(s->pool); /* resumes the connections of its requests */
    if (s->daemon) {
        wait_for_answers(s);
        mhd.stop_daemon(s->daemon);
    }
    if (fd >= 0)
        close(fd);
    sis__clients_stop(s->clients);
    sis__pool_free(s->pool);
    for (size_t k = 0; s->serving.models && k < s->opt.n_models; k++)
        sis__served_drop(s->serving.models[k]);
    free(s->serving.models);
    sis_motifs_release(&s->serving.motifs);
    pthread_mutex_destroy(&s->serving.lock);
    free(s);
}

#endif
