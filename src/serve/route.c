/* SPDX-License-Identifier: MIT
 *
 * The table of the server's addresses. A star stands for the name of a model.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <sis/error.h>

#include "base/json.h"
#include "serve/serve.h"

#include "serve/page_files.h"

/* ---- Answers --------------------------------------------------------------------------------- */

void sis__request_fail(sis__request *r, unsigned status, const char *text) {
    r->status = status;
    r->type = "application/json";
    r->fixed = NULL;
    sis__buf line;
    sis__buf_init(&line);
    sis__buf_clear(&r->answer);
    sis__buf_str(&line, text ? text : sis_error_detail());
    for (size_t k = 0; k < line.len; k++)
        if (strchr("\n\r\t", line.data[k]))
            line.data[k] = ' '; /* keep the error on one line */
    sis__buf_char(&r->answer, '{');
    sis__json_text(&r->answer, "error", line.data ? line.data : "out of memory");
    sis__buf_char(&r->answer, '}');
    sis__buf_release(&line);
}

typedef void handler(sis__serving *s, sis__served *model, sis__request *r);

static void give(sis__request *r, const char *type, const void *bytes, size_t n) {
    r->type = type;
    r->fixed = bytes;
    r->n_fixed = n;
}

static void page(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s, (void)model;
    give(r, "text/html; charset=utf-8", LIVE_HTML, sizeof LIVE_HTML);
}

static void style(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s, (void)model;
    r->type = "text/css; charset=utf-8";
    sis__buf_add(&r->answer, PAGE_CSS, sizeof PAGE_CSS);
    sis__buf_add(&r->answer, LIVE_CSS, sizeof LIVE_CSS);
}

static void script(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s, (void)model;
    give(r, "text/javascript; charset=utf-8", LIVE_JS, sizeof LIVE_JS);
}

static void metrics(sis__serving *s, sis__served *model, sis__request *r) {
    (void)model;
    r->type = "text/plain; version=0.0.4";
    sis__metrics_write(&s->metrics, &r->answer);
}

static void live(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s, (void)model;
    sis__buf_str(&r->answer, "{\"live\":true}");
}

static void ready(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s;
    sis__buf_char(&r->answer, '{');
    if (model)
        sis__json_text(&r->answer, "name", model->from->name);
    sis__json_flag(&r->answer, "ready", 1);
    sis__buf_char(&r->answer, '}');
}

static void about(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s, (void)model;
    sis__buf_str(&r->answer,
                 "{\"name\":\"sis\",\"version\":\"" SIS_VERSION "\",\"extensions\":[]}");
}

static void list(sis__serving *s, sis__served *model, sis__request *r) {
    (void)model;
    sis__buf_char(&r->answer, '{');
    sis__json_list(&r->answer, "models");
    for (size_t k = 0; k < s->opt->n_models; k++) {
        sis__json_comma(&r->answer, k);
        sis__buf_json(&r->answer, s->opt->models[k].name);
    }
    sis__buf_char(&r->answer, ']');
    if (s->motifs.n)
        sis__json_count(&r->answer, "motifs", s->motifs.n);
    sis__buf_char(&r->answer, '}');
}

static void describe(sis__serving *s, sis__served *model, sis__request *r) {
    (void)s;
    sis__served_describe(model, r->form == SIS__FORM_V2, &r->answer);
}

static size_t number(const char *text, size_t otherwise) {
    char *end;
    errno = 0;
    unsigned long n = text ? strtoul(text, &end, 10) : 0;
    return text && *text && !*end && errno == 0 ? n : otherwise;
}

static void examples(sis__serving *s, sis__served *model, sis__request *r) {
    enum { MAX = 200 };
    size_t count = number(r->query_count, 50);
    (void)s;
    if (sis__served_examples(model, number(r->query_from, 0), count < MAX ? count : MAX,
                             &r->answer) != SIS_OK)
        sis__request_fail(r, 500, NULL);
}

/* ---- The table ------------------------------------------------------------------------------- */

static const struct {
    const char *path;
    int post; /* otherwise GET */
    handler *answer;
    enum sis__form form;
} routes[] = {
    {"/", 0, page, SIS__FORM_V1},
    {"/live.css", 0, style, SIS__FORM_V1},
    {"/live.js", 0, script, SIS__FORM_V1},
    {"/metrics", 0, metrics, SIS__FORM_V1},
    {"/v1/models", 0, list, SIS__FORM_V1},
    {"/v1/motifs", 1, sis__serve_motifs, SIS__FORM_V1},
    {"/v1/models/*", 0, describe, SIS__FORM_V1},
    {"/v1/models/*/examples", 0, examples, SIS__FORM_V1},
    {"/v1/models/*:predict", 1, sis__serve_predict, SIS__FORM_V1},
    {"/v1/models/*:explain", 1, sis__serve_explain, SIS__FORM_V1},
    {"/v1/models/*:report", 1, sis__serve_explain, SIS__FORM_REPORT},
    {"/v2", 0, about, SIS__FORM_V2},
    {"/v2/health/live", 0, live, SIS__FORM_V2},
    {"/v2/health/ready", 0, ready, SIS__FORM_V2},
    {"/v2/models/*", 0, describe, SIS__FORM_V2},
    {"/v2/models/*/ready", 0, ready, SIS__FORM_V2},
    {"/v2/models/*/infer", 1, sis__serve_predict, SIS__FORM_V2},
    {"/v2/models/*/explain", 1, sis__serve_explain, SIS__FORM_V2},
};
enum { ROUTES = sizeof routes / sizeof *routes };

/* Does the path match the pattern? The model's name is n bytes at *name; n is 0 if the pattern has
 * none. Names contain neither slash nor colon. */
static int fits(const char *pattern, const char *path, const char **name, size_t *n) {
    const char *star = strchr(pattern, '*');
    *n = 0;
    if (!star)
        return strcmp(pattern, path) == 0;
    size_t before = (size_t)(star - pattern);
    if (strncmp(pattern, path, before) != 0)
        return 0;
    *name = path + before;
    *n = strcspn(*name, "/:");
    return *n > 0 && strcmp(*name + *n, star + 1) == 0;
}

/* Index of the model with this name; the number of models if there is none. */
static size_t find_model(const sis__serving *s, const char *name, size_t n) {
    size_t k = 0;
    while (k < s->opt->n_models &&
           (strlen(s->opt->models[k].name) != n || memcmp(s->opt->models[k].name, name, n) != 0))
        k++;
    return k;
}

/* The model with this name, with a reference for the caller. NULL: none. */
static sis__served *hold(sis__serving *s, const char *name, size_t n) {
    size_t k = find_model(s, name, n);
    if (k == s->opt->n_models)
        return NULL;
    pthread_mutex_lock(&s->lock);
    sis__served *found = s->models[k];
    atomic_fetch_add(&found->holders, 1);
    pthread_mutex_unlock(&s->lock);
    return found;
}

static int is_get(const sis__request *r) {
    return strcmp(r->method, "GET") == 0 || strcmp(r->method, "HEAD") == 0;
}

static void answer(sis__serving *s, sis__request *r, size_t route, const char *name, size_t n) {
    sis__served *model = n ? hold(s, name, n) : NULL;
    if (n && !model) {
        sis__request_fail(r, 404, "unknown model; /v1/models lists the models");
        return;
    }
    if (routes[route].post ? strcmp(r->method, "POST") != 0 : !is_get(r)) {
        sis__request_fail(r, 405, routes[route].post ? "expected POST" : "expected GET");
        r->allow = routes[route].post ? "POST" : "GET, HEAD";
    } else {
        r->status = 200;
        r->type = "application/json";
        r->form = routes[route].form;
        routes[route].answer(s, model, r);
        if (sis__buf_error(&r->answer)) {
            sis__buf_release(&r->answer);
            sis__buf_init(&r->answer);
            sis__request_fail(r, 500, "out of memory");
        }
    }
    sis__served_drop(model);
}

void sis__route(sis__serving *s, sis__request *r) {
    const char *name = NULL;
    size_t n;
    for (size_t k = 0; k < ROUTES; k++)
        if (fits(routes[k].path, r->path, &name, &n)) {
            answer(s, r, k, name, n);
            return;
        }
    sis__request_fail(r, 404, "unknown address; docs/serve.md lists the addresses");
}

size_t sis__route_model(const sis__serving *s, const sis__request *r) {
    const char *name = NULL;
    size_t n;
    for (size_t k = 0; k < ROUTES; k++)
        if (fits(routes[k].path, r->path, &name, &n))
            return n ? find_model(s, name, n) : s->opt->n_models;
    return s->opt->n_models;
}

int sis__route_is_quick(const sis__request *r) {
    return strcmp(r->method, "POST") != 0;
}
