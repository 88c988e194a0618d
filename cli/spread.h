/* SPDX-License-Identifier: MIT
 *
 * spread.h - many things to do, an answer to each: by the threads of this process, or by many
 * processes (mpi/).
 *
 * A command says once what its work is and what becomes of an answer; where the work is done is not
 * its business. Work asks for things (numbers of examples, of records) until there are no more, on as
 * many threads as it likes, and gives answers, which are bytes:
 *
 *     static int work(void *ctx, cli_things *t) {
 *         size_t i;
 *         while (cli_things_next(t, &i, 1))
 *             ... cli_things_answer(t, i, bytes, n) ...
 *     }
 *
 *     int error = cli_spread(&(cli_work){.n = n, .work = work, .take = write_it, .ctx = ...});
 *
 * sis-mpi runs the same command in every process. The first leads: it hands things out, does some
 * itself and takes the answers; the others serve: there cli_spread works on what they are given and
 * ends when the first has all answers. Whatever a command does but for what is spread it does in
 * every process, unless it asks who leads: opening models and data everywhere, writing only there.
 */
#ifndef SIS_CLI_SPREAD_H
#define SIS_CLI_SPREAD_H

#include <stddef.h>

/* What there is to do, and where answers go; both from any thread. */
typedef struct cli_things {
    size_t (*next)(struct cli_things *t, size_t *things, size_t most);
    int (*answer)(struct cli_things *t, size_t thing, const void *bytes, size_t n);
} cli_things;

/* Up to `most` things, ascending. At least one, for which it may wait, or 0: there are no more. */
size_t cli_things_next(cli_things *t, size_t *things, size_t most);

/* The answer to a thing that was handed out: 0, or an error code if no more are wanted. */
int cli_things_answer(cli_things *t, size_t thing, const void *bytes, size_t n);

typedef struct cli_work {
    const size_t *which; /* (n) the things, ascending; NULL: 0 to n - 1 */
    size_t n;    /* SIZE_MAX: not known, and work notices the end itself; only of one process */
    int jobs;    /* things that this process can do at the same time; 0: not known */
    int ordered; /* answers are taken in the order of the things; else as they come */
    int (*work)(void *ctx, cli_things *t);

    /* Where this process leads: one answer, one at a time. An error code ends all. */
    int (*take)(void *ctx, size_t thing, const void *bytes, size_t n);
    int (*tick)(void *ctx);    /* NULL, or called now and then while others work; nonzero: end it */
    void (*cancel)(void *ctx); /* NULL, or what makes work that is under way here return soon */
    void *ctx;
} cli_work;

/* Do all of it: 0, or the error code of the first failure. */
int cli_spread(const cli_work *w);

/* Does this process lead, so that it has the answers? In the plain program it does. */
int cli_leads(void);

/* ---- Processes ------------------------------------------------------------------------------- */

typedef struct cli_processes {
    int leads;
    int jobs; /* threads that are this process's share of the machine */
    int (*spread)(const cli_work *w);
} cli_processes;

/* NULL: there are no others. */
extern const cli_processes *cli_processes_now;

/* ---- Answers --------------------------------------------------------------------------------- */

/* Answers on their way to take(): those that are early wait for their turn. Zeroed but for the work. */
typedef struct cli_desk {
    const cli_work *work;
    struct cli_early *early; /* (n_early) a heap, the first thing on top */
    size_t n_early, room;
    size_t taken;
} cli_desk;

int cli_desk_put(cli_desk *d, size_t thing, const void *bytes, size_t n);
void cli_desk_release(cli_desk *d);

#endif
