/* SPDX-License-Identifier: MIT
 *
 * Division of cores among the processes of a machine. A process may be bound to its own cores
 * (mpirun --bind-to core), to a part of the machine that it shares with others (--bind-to socket,
 * Open MPI's default for more than two processes), or to nothing. Processes with the same cores
 * divide them, so that threads do not compete. Each process keeps to its part for locality of
 * caches and memory.
 */
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>

#include "spread.h"

/* The number of processes with the same cores as this one, and how many of them come before it. */
static int count_on_machine(const cpu_set_t *all, int n, int me, int *before) {
    int neighbours = 0;
    for (int i = 0; i < n; i++)
        if (CPU_EQUAL(&all[i], &all[me])) {
            *before += i < me;
            neighbours++;
        }
    return neighbours;
}

/* The k-th of n parts of the cores. */
static void take_part(const cpu_set_t *all, int k, int n, cpu_set_t *part) {
    int count = CPU_COUNT(all), from = k * count / n, to = (k + 1) * count / n, at = 0;
    CPU_ZERO(part);
    for (size_t core = 0; core < CPU_SETSIZE; core++)
        if (CPU_ISSET(core, all)) {
            if (at >= from && at < to)
                CPU_SET(core, part);
            at++;
        }
}

static int share(const cpu_set_t *all, int n, int me, int pin) {
    int before = 0, neighbours = count_on_machine(all, n, me, &before);
    int cores = CPU_COUNT(&all[me]);
    cpu_set_t part;
    if (neighbours == 1)
        return cores;
    if (cores < neighbours)
        return 1; /* more processes than cores: the system schedules them better */
    take_part(&all[me], before, neighbours, &part);
    if (pin)
        sched_setaffinity(0, sizeof part, &part);
    return CPU_COUNT(&part);
}

int mpi_cores_share(int pin) {
    MPI_Comm node;
    int n = 1, me = 0, jobs = 1;
    cpu_set_t own;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    MPI_Comm_size(node, &n);
    MPI_Comm_rank(node, &me);
    cpu_set_t *all = calloc((size_t)n, sizeof *all);
    if (sched_getaffinity(0, sizeof own, &own) != 0)
        CPU_ZERO(&own);
    if (!all)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Allgather(&own, sizeof own, MPI_BYTE, all, sizeof own, MPI_BYTE, node);
    jobs = share(all, n, me, pin);
    free(all);
    MPI_Comm_free(&node);
    return jobs > 0 ? jobs : 1;
}
