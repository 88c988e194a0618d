/* SPDX-License-Identifier: MIT
 *
 * spread.h - the processes of sis-mpi and what they say to each other.
 *
 *     main.c        the program: who leads, who serves, how it ends
 *     spread.c      handing things out, and what comes back
 *     crew.c        a process at work: things in, answers out, on threads of its own
 *     broadcast.c   files for processes that cannot see them
 *     cores.c       which cores are whose
 *
 * Commands may spread several pieces of work, one after the other; each is a round, counted from 1 in
 * every process. Messages, all of bytes:
 *
 *     READY   to whoever leads: I serve this round, with so many threads
 *     CHUNK   from it: numbers of things
 *     ANSWERS to it: some answers
 *     FAILED  to it: why this process cannot go on
 *     END     from it: the round is over
 *     QUIT    from it: all is over
 *     LEFT    to it: the last message of a process
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

/* ---- crew.c ---------------------------------------------------------------------------------- */

/* A thread that runs the command's work, on things that are put in and answers that are taken out by
 * the thread that talks. */
typedef struct crew {
    sis__queue base;
    const sis__work *work;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t more, done; /* things; answers, or the end */
    size_t *things;            /* (n_things) from first on */
    size_t n_things, first, room;
    sis__buf answers; /* each: thing, length, bytes, filled up to eight */
    size_t n_answers;
    int closed;   /* no more things will come */
    int finished; /* work has returned */
    int error;    /* what with */
    char message[512];
} crew;

int crew_start(crew *c, const sis__work *w);
int crew_put(crew *c, const size_t *things, size_t n);

/* Answers so far, for at most `seconds` if there are none: their number; *out is swapped for them. */
size_t crew_take(crew *c, sis__buf *out, double seconds);

/* Things that nobody has begun with. */
size_t crew_waiting(crew *c);

/* Has work failed? Then *message says why. */
int crew_failed(crew *c, char message[512]);

/* No more things: wait until work has returned. */
void crew_end(crew *c);

/* Answers one by one, in the order in which they were given. */
int crew_each(const char *bytes, size_t n,
              int (*take)(void *ctx, size_t thing, const void *bytes, size_t n), void *ctx);

/* ---- spread.c -------------------------------------------------------------------------------- */

/* Fill in what the processes do; rank and ranks as MPI says. */
void mpi_spread_init(sis__processes *p, int rank, int ranks);

/* Of rank 0, after the end: what leading has cost, on stderr. */
void mpi_spread_tell(void);

/* Of rank 0, at the end: let the others go. Nonzero: work was under way, and they do not listen. */
int mpi_spread_end(void);

/* Of the others, at the end; reason: why they could not do what was asked, or NULL. */
void mpi_spread_leave(const char *reason);

/* ---- cores.c --------------------------------------------------------------------------------- */

/* How many threads this process is to have. If it shares its cores with other processes of the run,
 * and `pin`, it keeps to some of them from now on. */
int mpi_cores_share(int pin);

/* ---- broadcast.c ----------------------------------------------------------------------------- */

/* Files that the words of the command name, below the present folder, are sent to every process that
 * does not have them, into a folder of its own that becomes its present one. 0, or 1 after an error
 * line. */
int mpi_broadcast(int argc, char **argv, int rank);

/* Remove what was received. */
void mpi_broadcast_end(void);

#endif
