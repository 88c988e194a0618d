/* SPDX-License-Identifier: MIT
 *
 * spread.h - the processes of sis-mpi and what they say to each other.
 *
 *     main.c        the program: who leads, who serves, how it ends
 *     spread.c      handing out examples, and what comes back
 *     broadcast.c   files for processes that cannot see them
 *
 * Messages, all of bytes. To whoever leads: READY, once, or FAILED with a reason; ANSWERS, the lines of
 * a chunk. From it: CHUNK, numbers of examples; END.
 */
#ifndef SIS_MPI_SPREAD_H
#define SIS_MPI_SPREAD_H

#include "../cli/spread.h"

enum { SIS_MPI_READY = 1, SIS_MPI_FAILED, SIS_MPI_ANSWERS, SIS_MPI_CHUNK, SIS_MPI_END };

/* Fill in what the processes do; rank and ranks as MPI says. */
void mpi_spread_init(cli_spread *s, int rank, int ranks);

/* Of rank 0, at the end: let the others go. Nonzero: work was under way, and they do not listen. */
int mpi_spread_end(void);

/* Of the others: say why they cannot serve. */
void mpi_spread_fail(const char *reason);

/* Files that the words of the command name, below the present folder, are sent to every process that
 * does not have them, into a folder of its own that becomes its present one. 0, or 1 after an error
 * line. */
int mpi_broadcast(int argc, char **argv, int rank);

/* Remove what was received. */
void mpi_broadcast_end(void);

#endif
