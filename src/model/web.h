/* SPDX-License-Identifier: MIT
 *
 * Requests over HTTP: one question, one answer, on a connection that is kept. What the questions
 * mean is the business of http.c. Built without libcurl, sis__web_new() says so.
 *
 * A request is repeated, after a pause that doubles, when the connection could not be made or broke,
 * when no answer came in time, and on the statuses 429, 502, 503 and 504; whatever a model is asked
 * may be asked again. A redirection is an answer like any other, unless they are to be followed;
 * then only within the same host, so that headers and tokens go nowhere else.
 */
#ifndef SIS_MODEL_WEB_H
#define SIS_MODEL_WEB_H

#include <sis/model.h>

#include "base/buf.h"

typedef struct sis__web sis__web;

typedef struct sis__web_request {
    const char *url;
    const char *body; /* NULL: GET, else POST */
    size_t length;
    size_t json_length; /* bytes of JSON in front of a binary body; 0: all of it is JSON */
    size_t most;        /* bytes of an answer that are accepted */
    int repeat_500;     /* the status 500 is worth repeating, too */
} sis__web_request;

typedef struct sis__web_answer {
    long status; /* 200 ... */
    sis__buf body;
    size_t json_length; /* as above; 0: the server said nothing of it */
    int attempts;       /* how often it took to get it */
    double seconds;     /* of the last */
} sis__web_answer;

/* A connection, not made before it is needed. opt: all but what is of other kinds of models. */
int sis__web_new(const sis_model_opt *opt, sis__web **out);

/* Send this token with every request. `name` is what a message calls it. */
int sis__web_bear(sis__web *web, const char *name, const char *token);

/* Replace the token and the password by stars in a text that came from the server. */
void sis__web_hide(const sis__web *web, char *text);

/* One more connection with the same settings, for another thread. */
int sis__web_twin(const sis__web *web, sis__web **out);
void sis__web_free(sis__web *web);

/* Any status is an answer; failing is not to have got one. answer->body is cleared first and kept
 * between calls. */
int sis__web_send(sis__web *web, const sis__web_request *request, sis__web_answer *answer);

#endif
