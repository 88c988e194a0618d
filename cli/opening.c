/* SPDX-License-Identifier: MIT
 *
 * See opening.h.
 */
#include "opening.h"

#include <math.h>

void cli_opening_init(cli_opening *o) {
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    o->timeout = opt.timeout;
    o->retries = NAN;
}

sis_model_opt cli_opening_opt(const cli_opening *o) {
    sis_model_opt opt;
    sis_model_opt_init(&opt);
    opt.timeout = o->timeout;
    if (!isnan(o->retries))
        opt.retries = opt.restarts = (size_t)o->retries;
    opt.headers = o->headers.items;
    opt.n_headers = o->headers.n;
    opt.token = o->token;
    opt.certificates = o->certificates;
    opt.redirects = o->redirects;
    return opt;
}
