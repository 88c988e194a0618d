/* SPDX-License-Identifier: MIT
 *
 * opening.h - options for opening a model, shared by every command that opens one.
 */
#ifndef SIS_CLI_OPENING_H
#define SIS_CLI_OPENING_H

#include <sis/model.h>

#include "cli.h"

typedef struct cli_opening {
    sis_model_opt opt;
    double retries; /* NaN: the default */
    cli_list headers;
} cli_opening;
extern const cli_option cli_opening_options[];
void cli_opening_init(cli_opening *o);

/* Fill the library's options. Borrows from `o`. */
sis_model_opt cli_opening_opt(const cli_opening *o);

#endif
