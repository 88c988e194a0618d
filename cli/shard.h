/* SPDX-License-Identifier: MIT
 *
 * shard.h - a part of the examples, for runs on many machines that share nothing but files.
 */
#ifndef SIS_CLI_SHARD_H
#define SIS_CLI_SHARD_H

#include <stddef.h>

#include "cli.h"

#define CLI_SHARD(type, member)                                                                    \
    {                                                                                              \
        "shard", 0, "I/N", CLI_STRING(type, member), "only every N-th example, from the I-th on",  \
            .rare = 1, .aside = 1,                                                                 \
            .more =                                                                                \
                "I counts from 0: 0/8 to 7/8 are together all examples. auto takes both numbers "  \
                "from what started the program: mpirun (OMPI_COMM_WORLD_RANK, PMI_RANK, "          \
                "MV2_COMM_WORLD_RANK, PALS_RANKID), srun (SLURM_PROCID, SLURM_NTASKS), or an "     \
                "array of jobs (SLURM_ARRAY_TASK_ID and its kin, SGE_TASK_ID); tasks inside "      \
                "an array job count on. Give each part a file of its own and put them together "   \
                "with sis merge."                                                                  \
    }

/* The numbers that the option means; NULL: all, 0 of 1. CLI_DONE, or CLI_USAGE after one line. */
int cli_shard_find(const char *text, size_t *shard, size_t *shards);

#endif
