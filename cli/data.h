/* SPDX-License-Identifier: MIT
 *
 * data.h - shared by the files of sis data: the command, and one file for each data set that needs
 * more than copying.
 */
#ifndef SIS_CLI_DATA_H
#define SIS_CLI_DATA_H

#include <stddef.h>

#include "cli.h"
#include "fetch.h"

typedef struct cli_data_options {
    const char *dir, *from;
    int force;
    /* dna */
    const char *motifs, *peaks, *composition, *name;
    cli_list motif;
    size_t count, length, seed;
    double held_out;
    /* describe */
    const char *label, *id, *categorical, *types, *json;
    int no_header;
    cli_common common;
} cli_data_options;

/* The motifs' folder if their package is installed. */
#define CLI_JASPAR_INSTALLED "/usr/share/pscan-chip"
#define CLI_JASPAR_FILE "jaspar_2016.wil"

/* DIR/NAME, where DIR is --dir or the user's data folder. */
int cli_data_folder(const cli_data_options *o, const char *name, char out[CLI_PATH_MAX]);

/* sis data dna. */
int cli_data_dna(const cli_data_options *o);

/* sis data describe FILE. */
int cli_data_describe(const cli_data_options *o, const char *path);

/* Write FOLDER/train.jsonl.gz and test.jsonl.gz as parts (fetch.h) from FROM/reviews.json. */
int cli_data_imdb(const char *from, const char *folder);

#endif
