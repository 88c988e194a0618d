/* SPDX-License-Identifier: MIT
 *
 * data.h - between the files of sis data: one for the command and the data sets that are fetched,
 * one for each that takes more than copying.
 */
#ifndef SIS_CLI_DATA_H
#define SIS_CLI_DATA_H

#include <stddef.h>

#include "cli.h"

typedef struct cli_data_options {
    const char *dir, *from;
    int force;
    cli_common common;
} cli_data_options;

/* Make the parts (fetch.h) of FOLDER/train.jsonl.gz and test.jsonl.gz of FROM/reviews.json. */
int cli_data_imdb(const char *from, const char *folder);

#endif
