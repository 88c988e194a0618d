/* SPDX-License-Identifier: MIT
 *
 * opening.h - how models are reached: options of every command that opens one. A table takes them
 * by CLI_OPENING, a command makes a sis_model_opt of them.
 */
#ifndef SIS_CLI_OPENING_H
#define SIS_CLI_OPENING_H

#include <sis/model.h>

#include "cli.h"

typedef struct cli_opening {
    double timeout;
    double retries; /* NaN: as usual */
    cli_list headers;
    const char *token, *certificates;
    int redirects;
} cli_opening;

#define CLI_OPENING(type, member)                                                                  \
    {"timeout",                                                                                    \
     0,                                                                                            \
     "SECONDS",                                                                                    \
     CLI_NUMBER(type, member.timeout),                                                             \
     "maximum wait for an answer, 0: no limit",                                                    \
     .max = 1e9,                                                                                   \
     .aside = 1,                                                                                   \
     .more =                                                                                       \
         "For cmd: and http: models. The first answer of a cmd: model may include its start."},    \
        {"retries",                                                                                \
         0,                                                                                        \
         "N",                                                                                      \
         CLI_NUMBER(type, member.retries),                                                         \
         "how often a failed request is repeated",                                                 \
         .unset = "http: 3, cmd: 0",                                                               \
         .max = 1000,                                                                              \
         .rare = 1,                                                                                \
         .aside = 1,                                                                               \
         .more =                                                                                   \
             "Requests are repeated if there is no connection or it breaks, if no answer comes "   \
             "in "                                                                                 \
             "time, and if the server is busy (429, 502, 503, 504). The pause doubles each time. " \
             "A cmd: program that died or does not answer is restarted."},                         \
        {"header",                                                                                 \
         0,                                                                                        \
         "LINE",                                                                                   \
         CLI_LIST(type, member.headers),                                                           \
         "Name: value for http:; may be repeated",                                                 \
         .aside = 1},                                                                              \
        {"token",                                                                                  \
         0,                                                                                        \
         "FILE",                                                                                   \
         CLI_STRING(type, member.token),                                                           \
         "file with the token or login for http:",                                                 \
         .aside = 1,                                                                               \
         .more =                                                                                   \
             "Sent as Authorization: Bearer. A file with user:password is a login (Basic). It is " \
             "a file because everybody on a machine can see command lines. For sis serve: the "    \
             "token that requests must send, except health checks."},                              \
        {"certificates",                                                                           \
         0,                                                                                        \
         "FILE",                                                                                   \
         CLI_STRING(type, member.certificates),                                                    \
         "certificates (PEM) that https: trusts",                                                  \
         .unset = "the system's",                                                                  \
         .rare = 1,                                                                                \
         .aside = 1},                                                                              \
    {                                                                                              \
        "redirects", 0, NULL, CLI_FLAG(type, member.redirects),                                    \
            "follow http: redirections on the same host",                                          \
            .aside = 1, .more = "Without this option they are refused."                            \
    }

/* Every default. */
void cli_opening_init(cli_opening *o);

/* What the library is told. Borrows from the options. */
sis_model_opt cli_opening_opt(const cli_opening *o);

#endif
