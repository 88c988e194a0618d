/* SPDX-License-Identifier: MIT
 *
 * See web.h. libcurl does the transfer: keep-alive, TLS with checked certificates, proxies of the
 * environment, chunked and compressed answers. This file adds limits of time, size and repetition,
 * and controls where secrets are sent. Secrets never appear in messages.
 */
#include "model/web.h"

#include <sis/error.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/error.h"

#ifdef SIS_CURL

#define CURL_DISABLE_TYPECHECK /* it would need curl_easy_setopt itself */
#include <curl/curl.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/children.h"
#include "base/library.h"
#include "base/mem.h"

enum { MAX_REDIRECTS = 5, TOKEN = 8192 };

static const double FIRST_PAUSE = 0.2, LONGEST_PAUSE = 30; /* seconds */
static const double HOPELESS = 600; /* a server that asks for more is not asked again */

struct sis__web {
    CURL *curl;
    struct curl_slist *headers; /* the user's, and the token's */
    char *login;                /* user:password, or NULL */
    char *secret;               /* the token, or the password of the login; or NULL */
    char *certificates;
    double timeout;
    size_t retries;
    int redirects;
    unsigned jitter; /* random pauses, so that many clients do not return at once */
    char said[CURL_ERROR_SIZE];
};

/* ---- The library ----------------------------------------------------------------------------- */

#define CALLS(X)                                                                                   \
    X(global_init)                                                                                 \
    X(easy_init)                                                                                   \
    X(easy_setopt)                                                                                 \
    X(easy_perform)                                                                                \
    X(easy_getinfo) X(easy_strerror) X(easy_cleanup) X(slist_append) X(slist_free_all)

/* libcurl, loaded once. */
static struct {
#define POINTER(name) __typeof__(curl_##name) *name;
    CALLS(POINTER)
#undef POINTER
    int is_there;
} curl;

static void load(void) {
    static const char *const files[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.4.dylib",
                                        NULL};
    void *library = sis__library_open(files);
#define TAKE(name) &&sis__library_take(library, "curl_" #name, &curl.name)
    curl.is_there = library CALLS(TAKE) && curl.global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
#undef TAKE
}

static int ensure_loaded(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return curl.is_there
               ? SIS_OK
               : sis__fail(SIS_E_UNSUPPORTED, "models behind an address need libcurl "
                                              "(libcurl.so.4); install it (Debian: libcurl4)");
}

/* ---- Settings -------------------------------------------------------------------------------- */

static int add_header(sis__web *w, const char *line) {
    struct curl_slist *longer = curl.slist_append(w->headers, line);
    if (!longer)
        return sis__fail(SIS_E_NOMEM, "out of memory: a header");
    w->headers = longer;
    return SIS_OK;
}

/* "Name: value" on one line. A malformed line is not quoted: it may be a secret. */
static int add_user_header(sis__web *w, const char *line, size_t number) {
    size_t name = strcspn(line, ":");
    int good = name > 0 && line[name] == ':';
    for (size_t i = 0; line[i]; i++)
        if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F || (i < name && line[i] == ' '))
            good = 0;
    return good ? add_header(w, line)
                : sis__fail(SIS_E_ARGUMENT, "header %zu: expected \"Name: value\" on one line",
                            number + 1);
}

/* A token has no colon, a login has one. */
static int use_token(sis__web *w, const char *path, const char *token) {
    char line[TOKEN + 32];
    size_t n = 0;
    while (token[n] > 0x20 && token[n] < 0x7F)
        n++;
    if (n == 0 || token[n] || n > TOKEN)
        return sis__fail(SIS_E_FORMAT,
                         "%s: expected one line with a token or user:password, at most %d letters",
                         path, TOKEN);
    const char *colon = strchr(token, ':');
    free(w->secret);
    w->secret = sis__strdup(colon ? colon + 1 : token);
    if (!w->secret)
        return SIS_E_NOMEM;
    if (colon) {
        w->login = sis__strdup(token);
        return w->login ? SIS_OK : SIS_E_NOMEM;
    }
    snprintf(line, sizeof line, "Authorization: Bearer %s", token);
    return add_header(w, line);
}

int sis__web_set_token(sis__web *w, const char *name, const char *token) {
    return use_token(w, name, token);
}

void sis__web_hide(const sis__web *w, char *text) {
    size_t n = w->secret ? strlen(w->secret) : 0;
    for (char *at = text; n > 0 && (at = strstr(at, w->secret)); at += n)
        memset(at, '*', n);
}

int sis__web_tells(const sis__web *w, const char *text) {
    const char *secret = w->secret && *w->secret ? w->secret : NULL;
    for (; secret && *text; text++) {
        const char *s = secret;
        for (const char *at = text; *at && *s && (*at == *s || *at == '\\'); at++)
            s += *at == *s;
        if (!*s)
            return 1;
    }
    return 0;
}

static int read_token(sis__web *w, const char *path) {
    char token[TOKEN + 2];
    FILE *file = fopen(path, "r");
    if (!file)
        return sis__fail(SIS_E_IO, "%s: %s", path, strerror(errno));
    size_t n = fread(token, 1, sizeof token - 1, file);
    int failed = ferror(file);
    fclose(file);
    while (n > 0 && sis__is_space(token[n - 1]))
        n--;
    token[n] = '\0';
    return failed ? sis__fail(SIS_E_IO, "%s: cannot be read", path) : use_token(w, path, token);
}

/* ---- Answers --------------------------------------------------------------------------------- */

/* Filled by libcurl during a request. */
typedef struct {
    sis__web_answer *answer;
    size_t max;
    int too_long;
} receiver;

static size_t receive(char *bytes, size_t size, size_t n, void *ctx) {
    receiver *r = (receiver *)ctx;
    n *= size;
    r->too_long = n > r->max - r->answer->body.len;
    if (r->too_long)
        return 0;
    sis__buf_add(&r->answer->body, bytes, n);
    return sis__buf_error(&r->answer->body) == SIS_OK ? n : 0;
}

static size_t read_header(char *line, size_t size, size_t n, void *ctx) {
    static const char name[] = "Inference-Header-Content-Length:";
    receiver *r = (receiver *)ctx;
    char text[32] = "";
    n *= size;
    if (n > 5 && memcmp(line, "HTTP/", 5) == 0)
        r->answer->json_length = 0; /* another answer, after "100 Continue" */
    if (n < sizeof name || n - sizeof name + 1 >= sizeof text ||
        !sis__same_start(line, name, sizeof name - 1))
        return n;
    memcpy(text, line + sizeof name - 1, n - sizeof name + 1);
    r->answer->json_length = strtoul(text, NULL, 10);
    return n;
}

/* ---- One request ----------------------------------------------------------------------------- */

/* Options shared by all requests of a connection. */
static int prepare(sis__web *w) {
    CURL *c = w->curl;
    int bad = curl.easy_setopt(c, CURLOPT_NOSIGNAL, 1L) != CURLE_OK;
#if LIBCURL_VERSION_NUM >= 0x075500
    bad |= curl.easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https") != CURLE_OK;
#else
    bad |= curl.easy_setopt(c, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS) != CURLE_OK;
#endif
    bad |= curl.easy_setopt(c, CURLOPT_ACCEPT_ENCODING, "") != CURLE_OK;
    bad |= curl.easy_setopt(c, CURLOPT_USERAGENT, "sis/" SIS_VERSION) != CURLE_OK;
    bad |= curl.easy_setopt(c, CURLOPT_TIMEOUT_MS, (long)ceil(fmin(w->timeout, 1e6) * 1e3)) !=
           CURLE_OK;
    bad |= curl.easy_setopt(c, CURLOPT_WRITEFUNCTION, receive) != CURLE_OK;
    bad |= curl.easy_setopt(c, CURLOPT_HEADERFUNCTION, read_header) != CURLE_OK;
    bad |= curl.easy_setopt(c, CURLOPT_ERRORBUFFER, w->said) != CURLE_OK;
    if (w->login) {
        bad |= curl.easy_setopt(c, CURLOPT_HTTPAUTH, CURLAUTH_BASIC) != CURLE_OK;
        bad |= curl.easy_setopt(c, CURLOPT_USERPWD, w->login) != CURLE_OK;
    }
    if (w->certificates)
        bad |= curl.easy_setopt(c, CURLOPT_CAINFO, w->certificates) != CURLE_OK;
    return bad ? sis__fail(SIS_E_MODEL, "libcurl refuses an option") : SIS_OK;
}

/* The headers of one request; NULL: out of memory. */
static struct curl_slist *headers_of(const sis__web *w, const sis__web_request *q) {
    char length[64];
    snprintf(length, sizeof length, "Inference-Header-Content-Length: %zu", q->json_length);
    const char *const lines[] = {
        q->json_length ? "Content-Type: application/octet-stream"
                       : "Content-Type: application/json",
        "Accept: application/json, application/octet-stream",
        "Expect:", /* do not wait for permission to send a long body */
        q->json_length ? length : NULL,
    };
    struct curl_slist *list = NULL;
    for (size_t i = q->body ? 0 : 1; i < sizeof lines / sizeof *lines && lines[i]; i++) {
        struct curl_slist *longer = curl.slist_append(list, lines[i]);
        if (!longer) {
            curl.slist_free_all(list);
            return NULL;
        }
        list = longer;
    }
    struct curl_slist *last = list;
    while (last->next)
        last = last->next;
    last->next = w->headers; /* borrowed for the request */
    return list;
}

static void headers_free(struct curl_slist *list, const sis__web *w) {
    for (struct curl_slist *h = list; h; h = h->next)
        if (h->next == w->headers)
            h->next = NULL;
    curl.slist_free_all(list);
}

static CURLcode perform(sis__web *w, const sis__web_request *q, const char *url,
                        struct curl_slist *headers, receiver *r) {
    sis__no_pipe_signal guard;
    sis__web_answer *a = r->answer;
    sis__buf_clear(&a->body);
    a->json_length = 0;
    r->too_long = 0;
    w->said[0] = '\0';
    curl.easy_setopt(w->curl, CURLOPT_URL, url);
    curl.easy_setopt(w->curl, CURLOPT_HTTPHEADER, headers);
    curl.easy_setopt(w->curl, CURLOPT_WRITEDATA, r);
    curl.easy_setopt(w->curl, CURLOPT_HEADERDATA, r);
    if (q->body) {
        curl.easy_setopt(w->curl, CURLOPT_POSTFIELDS, q->body);
        curl.easy_setopt(w->curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->length);
    } else {
        curl.easy_setopt(w->curl, CURLOPT_HTTPGET, 1L);
    }
    double begin = sis__seconds();
    sis__pipe_signal_hold(&guard);
    CURLcode result = curl.easy_perform(w->curl);
    sis__pipe_signal_release(&guard);
    a->seconds = sis__seconds() - begin;
    curl.easy_getinfo(w->curl, CURLINFO_RESPONSE_CODE, &a->status);
    return result;
}

/* ---- Redirections ---------------------------------------------------------------------------- */

static int is_redirection(long status) {
    return status == 301 || status == 302 || status == 307 || status == 308;
}

/* Do both addresses have the same host and port, the second with the same protection or better? */
static int same_host(const char *a, const char *b) {
    size_t n = strcspn(a, ":"), m = strcspn(b, ":");
    int same = sis__same_start(a, b, 5) || sis__same_start(b, "https", 5);
    a += n + 3;
    b += m + 3;
    n = strcspn(a, "/?#");
    m = strcspn(b, "/?#");
    size_t host_a = strcspn(a, "/?#:"), host_b = strcspn(b, "/?#:");
    if (!same || host_a != host_b || !sis__same_start(a, b, host_a))
        return 0;
    return (n == m && sis__same_start(a, b, n)) || (n == host_a && m == host_b);
}

/* The target of a redirection, if it may be followed: *url is set, the caller frees it. */
static int redirection(sis__web *w, const sis__web_answer *a, const char *from, char **url) {
    char *to = NULL;
    *url = NULL;
    if (!is_redirection(a->status))
        return SIS_OK;
    curl.easy_getinfo(w->curl, CURLINFO_REDIRECT_URL, &to);
    if (!to)
        return sis__fail(SIS_E_MODEL, "HTTP %ld, a redirection without an address", a->status);
    const char *host = strstr(to, "://");
    const char *login = host ? memchr(host + 3, '@', strcspn(host + 3, "/?#")) : NULL;
    host = login ? login + 1 : to; /* no secrets in a message */
    if (!w->redirects)
        return sis__fail(SIS_E_MODEL,
                         "HTTP %ld, a redirection to %.200s; give that address, or --redirects",
                         a->status, host);
    if (!same_host(from, to))
        return sis__fail(SIS_E_MODEL,
                         "HTTP %ld, a redirection to another host, %.200s, which must not get "
                         "headers and tokens; give that address",
                         a->status, host);
    *url = sis__strdup(to);
    return *url ? SIS_OK : SIS_E_NOMEM;
}

/* ---- Repetition ------------------------------------------------------------------------------ */

static int worth_repeating(CURLcode result, const sis__web_answer *a) {
    long status = a->status;
    switch (result) {
    case CURLE_OK:
        return a->wait <= HOPELESS &&
               (status == 429 || status == 502 || status == 503 || status == 504);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_PARTIAL_FILE:
        return 1;
    default:
        return 0;
    }
}

/* The seconds that the server asks to wait (Retry-After); 0: it does not say. */
static double asked_to_wait(const sis__web *w) {
#if LIBCURL_VERSION_NUM >= 0x074200
    curl_off_t asked = 0;
    if (curl.easy_getinfo(w->curl, CURLINFO_RETRY_AFTER, &asked) == CURLE_OK && asked > 0)
        return (double)asked;
#endif
    (void)w;
    return 0;
}

static void wait_a_moment(sis__web *w, int attempt, double asked) {
    double pause = fmin(FIRST_PAUSE * pow(2, attempt - 1), LONGEST_PAUSE);
    w->jitter = w->jitter * 1103515245u + 12345u;
    pause *= 0.75 + 0.5 * (double)(w->jitter >> 16) / 65536;
    pause = fmin(fmax(pause, asked), LONGEST_PAUSE);
    struct timespec left = {(time_t)pause, (long)(1e9 * (pause - floor(pause)))};
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        continue;
}

static int report_failure(const sis__web *w, CURLcode result, const receiver *r) {
    char again[64] = "";
    if (sis__buf_error(&r->answer->body) != SIS_OK || result == CURLE_OUT_OF_MEMORY)
        return sis__fail(SIS_E_NOMEM, "out of memory: an answer over the network");
    if (r->too_long)
        return sis__fail(SIS_E_MODEL, "an answer of more than %zu MiB", r->max >> 20);
    if (r->answer->attempts > 1)
        snprintf(again, sizeof again, " (tried %d times)", r->answer->attempts);
    if (result == CURLE_OPERATION_TIMEDOUT)
        return sis__fail(SIS_E_MODEL, "no answer within %g s (--timeout)%s", w->timeout, again);
    return sis__fail(SIS_E_MODEL, "%s%s", w->said[0] ? w->said : curl.easy_strerror(result), again);
}

int sis__web_send(sis__web *w, const sis__web_request *q, sis__web_answer *a) {
    receiver r = {.answer = a, .max = q->max};
    struct curl_slist *headers = headers_of(w, q);
    char *moved = NULL, *next;
    int code = headers ? SIS_OK : sis__fail(SIS_E_NOMEM, "out of memory: headers");
    a->attempts = 0;
    for (int redirects = 0; code == SIS_OK;) {
        CURLcode result = perform(w, q, moved ? moved : q->url, headers, &r);
        a->attempts++;
        a->wait = result == CURLE_OK ? asked_to_wait(w) : 0;
        if ((worth_repeating(result, a) ||
             (q->repeat_500 && result == CURLE_OK && a->status == 500)) &&
            (size_t)a->attempts <= w->retries) {
            wait_a_moment(w, a->attempts, a->wait);
            continue;
        }
        if (result != CURLE_OK) {
            code = report_failure(w, result, &r);
            break;
        }
        code = redirection(w, a, moved ? moved : q->url, &next);
        if (code != SIS_OK || !next)
            break;
        free(moved);
        moved = next;
        a->attempts = 0;
        if (++redirects > MAX_REDIRECTS)
            code = sis__fail(SIS_E_MODEL, "more than %d redirections", MAX_REDIRECTS);
    }
    curl.easy_setopt(w->curl, CURLOPT_HTTPHEADER, NULL);
    headers_free(headers, w);
    free(moved);
    return code;
}

/* ---- Creation and release -------------------------------------------------------------------- */

static sis__web *web_alloc(double timeout, size_t retries, int redirects) {
    sis__web *w = SIS_NEW(sis__web, 1);
    if (!w)
        return NULL;
    *w = (sis__web){.timeout = timeout, .retries = retries, .redirects = redirects};
    w->jitter = (unsigned)(uintptr_t)w;
    w->curl = curl.easy_init();
    if (!w->curl) {
        sis__fail(SIS_E_NOMEM, "out of memory: libcurl");
        sis__web_free(w);
        return NULL;
    }
    return w;
}

void sis__web_free(sis__web *w) {
    if (!w)
        return;
    curl.easy_cleanup(w->curl);
    curl.slist_free_all(w->headers);
    free(w->login);
    free(w->secret);
    free(w->certificates);
    free(w);
}

/* Return a complete connection, or none. */
static int finish_new(sis__web *w, int error, sis__web **out) {
    if (error == SIS_OK)
        error = prepare(w);
    if (error != SIS_OK) {
        sis__web_free(w);
        w = NULL;
    }
    *out = w;
    return error;
}

int sis__web_new(const sis_model_opt *opt, sis__web **out) {
    int error = ensure_loaded();
    sis__web *w = error ? NULL : web_alloc(opt->timeout, opt->retries, opt->redirects);
    error = error || w ? error : SIS_E_NOMEM;
    for (size_t i = 0; error == SIS_OK && i < opt->n_headers; i++)
        error = add_user_header(w, opt->headers[i], i);
    if (error == SIS_OK && opt->token)
        error = read_token(w, opt->token);
    if (error == SIS_OK && opt->certificates && !(w->certificates = sis__strdup(opt->certificates)))
        error = SIS_E_NOMEM;
    return finish_new(w, error, out);
}

int sis__web_clone(const sis__web *web, sis__web **out) {
    sis__web *w = web_alloc(web->timeout, web->retries, web->redirects);
    int error = w ? SIS_OK : SIS_E_NOMEM;
    for (const struct curl_slist *h = web->headers; error == SIS_OK && h; h = h->next)
        error = add_header(w, h->data);
    if (error == SIS_OK && web->login && !(w->login = sis__strdup(web->login)))
        error = SIS_E_NOMEM;
    if (error == SIS_OK && web->secret && !(w->secret = sis__strdup(web->secret)))
        error = SIS_E_NOMEM;
    if (error == SIS_OK && web->certificates && !(w->certificates = sis__strdup(web->certificates)))
        error = SIS_E_NOMEM;
    return finish_new(w, error, out);
}

#else

static int missing(void) {
    return sis__fail(SIS_E_UNSUPPORTED, "this build has no http: models; install libcurl (Debian: "
                                        "libcurl4-openssl-dev) and build again");
}

int sis__web_new(const sis_model_opt *opt, sis__web **out) {
    (void)opt;
    *out = NULL;
    return missing();
}

int sis__web_set_token(sis__web *web, const char *name, const char *token) {
    (void)web, (void)name, (void)token;
    return missing();
}

void sis__web_hide(const sis__web *web, char *text) {
    (void)web, (void)text;
}

int sis__web_tells(const sis__web *web, const char *text) {
    (void)web, (void)text;
    return 0;
}

int sis__web_clone(const sis__web *web, sis__web **out) {
    (void)web, (void)out;
    return missing();
}

void sis__web_free(sis__web *web) {
    (void)web;
}

int sis__web_send(sis__web *web, const sis__web_request *request, sis__web_answer *answer) {
    (void)web, (void)request, (void)answer;
    return missing();
}

#endif
