/* SPDX-License-Identifier: MIT
 *
 * spread.h - the processes of sis-mpi and their messages.
 *
 *     main.c        the program: start and end of leader and workers
 *     spread.c      distribution of work items and collection of answers
 *     pool.c        a worker process: items in, answers out, on its own threads
 *     broadcast.c   files for processes without access to them
 *     cores.c       division of cores among processes
 *
 * Commands may distribute several pieces of work, one after the other; each is a round, counted
 * from 1 in every process. Messages, all of bytes:
 *
 *     READY   to the leader: ready for this round, with the number of threads
 *     CHUNK   from the leader: numbers of items
 *     ANSWERS to the leader: answers
 *     FAILED  to the leader: why this process cannot continue
 *     END     from the leader: the round is over
 *     QUIT    from the leader: exit
 *     LEFT    to the leader: the last message of a process
 */
#ifndef SIS_MPI_SPREAD_H
#define SIS_MPI_SPREAD_H

#include <pthread.h>

#include "base/buf.h"
#include "base/spread.h"

enum {
    SIS_MPI_READY = 1,
    SIS_MPI_CHUNK,
    SIS_MPI_ANSWERS,
    SIS_MPI_FAILED,
    SIS_MPI_END,
    SIS_MPI_QUIT,
    SIS_MPI_LEFT
};

/* ---- pool.c ---------------------------------------------------------------------------------- */

/* A thread that runs the command's work. The communicating thread puts items in and takes answers
 * out. */
typedef struct pool {
    sis__queue base;
    const sis__work *work;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, done; /* items; answers, or the end */
    size_t *items;             /* (n_items) from first on */
    size_t n_items, first, room;
    sis__buf answers; /* each: item, length, bytes, padded to eight */
    size_t n_answers;
    int closed;   /* no more items will come */
    int finished; /* work has returned */
    int error;    /* what with */
    char message[512];
} pool;

int pool_start(pool *c, const sis__work *w);
int pool_put(pool *c, const size_t *items, size_t n);

/* Swap *out for the answers so far and return their number; waits at most `seconds` for the
 * first. */
size_t pool_take(pool *c, sis__buf *out, double seconds);

/* The number of items not started yet. */
size_t pool_waiting(pool *c);

/* Has work failed? Then *message is the reason. */
int pool_failed(pool *c, char message[512]);

/* No more items: wait until work has returned. */
void pool_end(pool *c);

/* Call a function for each answer, in order. */
int pool_each(const char *bytes, size_t n,
              int (*take)(void *ctx, size_t thing, const void *bytes, size_t n), void *ctx);

/* ---- spread.c -------------------------------------------------------------------------------- */

/* Set the functions of the processes; rank and ranks are MPI's. */
void mpi_spread_init(sis__processes *p, int rank, int ranks);

/* Rank 0, after the end: print the cost of leading on stderr. */
void mpi_spread_tell(void);

/* Rank 0, at the end: release the others. Nonzero: work was unfinished, and they do not listen. */
int mpi_spread_end(void);

/* Other ranks, at the end; reason: why they failed, or NULL. */
void mpi_spread_leave(const char *reason);

/* ---- cores.c --------------------------------------------------------------------------------- */

/* The number of threads for this process. With `pin`, if it shares its cores with other processes
 * of the run, it is bound to some of them. */
int mpi_cores_share(int pin);

/* ---- broadcast.c ----------------------------------------------------------------------------- */

/* Send the files below the working directory that the command names to every process that lacks
 * them, into a new directory that becomes its working directory. 0, or 1 after an error line. */
int mpi_broadcast(int argc, char **argv, int rank);

/* Remove received files. */
void mpi_broadcast_end(void);

#endif
