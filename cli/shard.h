/* SPDX-License-Identifier: MIT
 *
 * shard.h - selects a shard of the examples, for runs on many machines that share only files.
 */
#ifndef SIS_CLI_SHARD_H
#define SIS_CLI_SHARD_H

#include <stddef.h>

#include "cli.h"

#define CLI_SHARD(type, member)                                                                    \
    {                                                                                              \
        "shard", 0, "I/N", CLI_STRING(type, member), "every N-th example, starting with the I-th", \
            .not_in_provenance = 1,                                                                \
            .more =                                                                                \
                "I counts from 0: 0/8 to 7/8 together are all examples. auto reads I and N from "  \
                "the "                                                                             \
                "environment: of mpirun (OMPI_COMM_WORLD_RANK, PMI_RANK, MV2_COMM_WORLD_RANK, "    \
                "PALS_RANKID), srun (SLURM_PROCID, SLURM_NTASKS) or a job array "                  \
                "(SLURM_ARRAY_TASK_ID "                                                            \
                "etc., SGE_TASK_ID); inside an array job, of both together. Write each part to "   \
                "its "                                                                             \
                "own file and merge the files with sis merge."                                     \
    }

/* Parse the option; NULL: shard 0 of 1. CLI_DONE, or CLI_USAGE after one line. */
int cli_shard_find(const char *text, size_t *shard, size_t *shards);

#endif
