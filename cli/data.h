/* SPDX-License-Identifier: MIT
 *
 * data.h - between the files of sis data: one for the command and the data sets that are fetched,
 * one for each that takes more than copying.
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

/* Where the system has the motifs if its package is installed. */
#define CLI_JASPAR_INSTALLED "/usr/share/pscan-chip"
#define CLI_JASPAR_FILE "jaspar_2016.wil"

/* Where data of programs belong, *below being the place in it; NULL if there is no home folder. */
const char *cli_data_home(const char **below);

/* DIR/NAME, DIR being --dir or where data of programs belong. */
int cli_data_folder(const cli_data_options *o, const char *name, char out[CLI_PATH_MAX]);

/* sis data dna. */
int cli_data_dna(const cli_data_options *o);

/* sis data describe FILE. */
int cli_data_describe(const cli_data_options *o, const char *path);

/* Make the parts (fetch.h) of FOLDER/train.jsonl.gz and test.jsonl.gz of FROM/reviews.json. */
int cli_data_imdb(const char *from, const char *folder);

#endif
