/* SPDX-License-Identifier: MIT
 *
 * spread.h - many things to do, an answer to each: by the threads of this process, or by many
 * processes (mpi/).
 *
 * A command says once what its work is and what becomes of an answer; where the work is done is not
 * its business. Work asks for things (numbers of examples, of records) until there are no more, on as
 * many threads as it likes, and gives answers, which are bytes:
 *
 *     static int work(void *ctx, sis__queue *t) {
 *         size_t i;
 *         while (sis__queue_next(t, &i, 1))
 *             ... sis__queue_answer(t, i, bytes, n) ...
 *     }
 *
 *     int error = sis__spread(&(sis__work){.n = n, .work = work, .take = write_it, .ctx = ...});
 *
 * sis-mpi runs the same command in every process. The first leads: it hands things out, does some
 * itself and takes the answers; the others serve: there sis__spread works on what they are given and
 * ends when the first has all answers. Whatever a command does but for what is spread it does in
 * every process, unless it asks who leads: opening models and data everywhere, writing only there.
 */
#ifndef SIS_BASE_SPREAD_H
#define SIS_BASE_SPREAD_H

#include <stddef.h>

/* What there is to do, and where answers go; both from any thread. */
typedef struct sis__queue {
    size_t (*next)(struct sis__queue *t, size_t *things, size_t most);
    int (*answer)(struct sis__queue *t, size_t thing, const void *bytes, size_t n);
} sis__queue;

/* Up to `most` things, ascending. At least one, for which it may wait, or 0: there are no more. */
size_t sis__queue_next(sis__queue *t, size_t *things, size_t most);

/* The answer to a thing that was handed out: 0, or an error code if no more are wanted. */
int sis__queue_answer(sis__queue *t, size_t thing, const void *bytes, size_t n);

typedef struct sis__work {
    const size_t *which; /* (n) the things, ascending; NULL: 0 to n - 1 */
    size_t n;    /* SIZE_MAX: not known, and work notices the end itself; only of one process */
    int jobs;    /* things that this process can do at the same time; 0: not known */
    int ordered; /* answers are taken in the order of the things; else as they come */
    int (*work)(void *ctx, sis__queue *t);

    /* Where this process leads: one answer, one at a time. An error code ends all. */
    int (*take)(void *ctx, size_t thing, const void *bytes, size_t n);
    int (*tick)(void *ctx);    /* NULL, or called now and then while others work; nonzero: end it */
    void (*cancel)(void *ctx); /* NULL, or what makes work that is under way here return soon */
    void *ctx;
} sis__work;

/* Do all of it: 0, or the error code of the first failure. */
int sis__spread(const sis__work *w);

/* Does this process lead, so that it has the answers? In the plain program it does. */
int sis__leads(void);

/* ---- Processes ------------------------------------------------------------------------------- */

typedef struct sis__processes {
    int leads;
    int jobs; /* threads that are this process's share of the machine */
    int (*spread)(const sis__work *w);
} sis__processes;

/* NULL: there are no others. */
extern const sis__processes *sis__processes_now;

/* ---- Answers --------------------------------------------------------------------------------- */

/* Answers on their way to take(): those that are early wait for their turn. Zeroed but for the work. */
typedef struct sis__reorder {
    const sis__work *work;
    struct sis__early *early; /* (n_early) a heap, the first thing on top */
    size_t n_early, room;
    size_t taken;
} sis__reorder;

int sis__reorder_put(sis__reorder *d, size_t thing, const void *bytes, size_t n);
void sis__reorder_release(sis__reorder *d);

#endif
