/* SPDX-License-Identifier: MIT
 *
 * cluster.h - shared by cluster and compare: clustering options, printing of clusters.
 */
#ifndef SIS_CLI_CLUSTER_H
#define SIS_CLI_CLUSTER_H

#include <sis/analysis.h>

#include "cli.h"

/* The library's options, plus those that need conversion by cli_clustering_set(). */
typedef struct cli_clustering {
    sis_clustering_opt opt;
    const char *eps, *curve, *strands;
    size_t jobs;
} cli_clustering;
extern const cli_option cli_clustering_options[];
void cli_clustering_init(cli_clustering *c);

/* Fill the library's options. */
int cli_clustering_set(const cli_clustering *c, const cli_target *target, sis_clustering_opt *opt);

/* Write the file of --curve. */
int cli_curve_write(const sis_clustering *c, const char *path);

/* Print clusters on standard output, the largest first: at most `max`, 0 for all. */
void cli_cluster_print(const sis_clustering *c, size_t max);

#endif
