/* SPDX-License-Identifier: MIT
 *
 * opening.h - how models are reached: options of every command that opens one.
 */
#ifndef SIS_CLI_OPENING_H
#define SIS_CLI_OPENING_H

#include <sis/model.h>

#include "cli.h"

typedef struct cli_opening {
    sis_model_opt opt;
    double retries; /* NaN: as usual */
    cli_list headers;
} cli_opening;
extern const cli_option cli_opening_options[];
void cli_opening_init(cli_opening *o);

/* The options for the library. Borrows from these. */
sis_model_opt cli_opening_opt(const cli_opening *o);

#endif
