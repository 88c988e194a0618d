/* SPDX-License-Identifier: MIT
 *
 * Options for opening models. See opening.h.
 */
#include "opening.h"

#include <math.h>

const cli_option cli_opening_options[] = {
    {"timeout", 0, "SECONDS", CLI_NUMBER(cli_opening, opt.timeout),
     "maximum wait for an answer, 0: no limit", .max = 1e9, .not_in_provenance = 1,
     .more = "For cmd: and http: models. The first answer of a cmd: model may include its start."},
    {"retries", 0, "N", CLI_NUMBER(cli_opening, retries), "how often a failed request is repeated",
     .unset = "http: 3, cmd: 0", .max = 1000, .rare = 1, .not_in_provenance = 1,
     .more = "Requests are repeated if there is no connection or it breaks, if no answer comes "
             "in "
             "time, and if the server is busy (429, 502, 503, 504). The pause doubles each time. "
             "A cmd: program that died or does not answer is restarted."},
    {"header", 0, "LINE", CLI_LIST(cli_opening, headers), "Name: value for http:; may be repeated",
     .not_in_provenance = 1},
    {"token", 0, "FILE", CLI_STRING(cli_opening, opt.token),
     "file with the token or login for http:", .not_in_provenance = 1,
     .more = "Sent as Authorization: Bearer. A file with user:password is a login (Basic). It is "
             "a file because everybody on a machine can see command lines. For sis serve: the "
             "token that requests must send, except health checks."},
    {"certificates", 0, "FILE", CLI_STRING(cli_opening, opt.certificates),
     "certificates (PEM) that https: trusts", .unset = "the system's", .rare = 1,
     .not_in_provenance = 1},
    {"redirects", 0, NULL, CLI_FLAG(cli_opening, opt.redirects),
     "follow http: redirections on the same host", .not_in_provenance = 1,
     .more = "Without this option they are refused."},
    {0},
};

void cli_opening_init(cli_opening *o) {
    sis_model_opt_init(&o->opt);
    o->retries = NAN;
}

sis_model_opt cli_opening_opt(const cli_opening *o) {
    sis_model_opt opt = o->opt;
    if (!isnan(o->retries))
        opt.retries = opt.restarts = (size_t)o->retries;
    opt.headers = o->headers.items;
    opt.n_headers = o->headers.n;
    return opt;
}
