/* SPDX-License-Identifier: MIT
 *
 * HTTP requests on a persistent connection: one request, one answer. http.c and llm.c define their
 * content. Without libcurl, sis__web_new() returns an error.
 *
 * A request is repeated, after a pause that doubles, if the connection fails, if no answer comes in
 * time, and for status 429, 502, 503 and 504; requests to models have no side effects. A
 * redirection is returned like any other answer, unless redirections are followed; then only within
 * the same host, so that headers and tokens go nowhere else.
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
    size_t json_length; /* bytes of JSON before a binary body; 0: all of it is JSON */
    size_t max;         /* maximal size of an answer in bytes */
    int repeat_500;     /* also repeat after status 500 */
} sis__web_request;

typedef struct sis__web_answer {
    long status; /* 200 ... */
    sis__buf body;
    size_t json_length; /* as above; 0: the server did not say */
    int attempts;       /* number of attempts */
    double seconds;     /* duration of the last */
    double wait;        /* seconds to wait, as the server asks; 0: it does not */
} sis__web_answer;

/* A connection, opened on first use. opt: options of other kinds of models are ignored. */
int sis__web_new(const sis_model_opt *opt, sis__web **out);

/* Send this token with every request. Messages call it `name`. */
int sis__web_set_token(sis__web *web, const char *name, const char *token);

/* Replace the token and the password in a server's text by stars. */
void sis__web_hide(const sis__web *web, char *text);

/* Does a server's text contain the token or the password? Backslashes between characters do not
 * count: JSON may have them. */
int sis__web_tells(const sis__web *web, const char *text);

/* One more connection with the same settings, for another thread. */
int sis__web_clone(const sis__web *web, sis__web **out);
void sis__web_free(sis__web *web);

/* Every status is an answer; an error means that there was none. answer->body is cleared first and
 * reused between calls. */
int sis__web_send(sis__web *web, const sis__web_request *request, sis__web_answer *answer);

#endif
