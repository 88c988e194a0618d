/* SPDX-License-Identifier: MIT
 *
 * cluster.h - what cluster and compare share: options of clustering, clusters as a table.
 */
#ifndef SIS_CLI_CLUSTER_H
#define SIS_CLI_CLUSTER_H

#include <sis/analysis.h>

#include "cli.h"

/* What the library is told, but for what options say in other words. */
typedef struct cli_clustering {
    sis_clustering_opt opt;
    const char *eps, *curve, *strands;
    size_t jobs;
} cli_clustering;
extern const cli_option cli_clustering_options[];
void cli_clustering_init(cli_clustering *c);

/* The options for the library. */
int cli_clustering_set(const cli_clustering *c, const cli_target *target, sis_clustering_opt *opt);

/* The file of --curve. */
int cli_curve_write(const sis_clustering *c, const char *path);

/* Clusters on standard output, the largest first: `max` of them, 0 for all. */
void cli_cluster_print(const sis_clustering *c, size_t max);

#endif
