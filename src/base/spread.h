/* SPDX-License-Identifier: MIT
 *
 * spread.h - distribute items of work to the threads of this process or to many processes (mpi/).
 *
 * A command defines its work and what to do with an answer, not where the work is done. The work
 * function asks for items (numbers of examples or records) until there are none left, on any number
 * of threads, and answers each with bytes:
 *
 *     static int work(void *ctx, sis__queue *t) {
 *         size_t i;
 *         while (sis__queue_next(t, &i, 1))
 *             ... sis__queue_answer(t, i, bytes, n) ...
 *     }
 *
 *     int error = sis__spread(&(sis__work){.n = n, .work = work, .take = write_it, .ctx = ...});
 *
 * sis-mpi runs the same command in every process. The first process leads: it hands out items,
 * works on some itself and takes the answers. In the other processes sis__spread works on the items
 * they get and returns when the leader has all answers. Everything else in a command runs in every
 * process (opening models and data) unless it checks sis__leads() (writing).
 */
#ifndef SIS_BASE_SPREAD_H
#define SIS_BASE_SPREAD_H

#include <stddef.h>

/* Source of items and sink of answers; both may be used from any thread. */
typedef struct sis__queue {
    size_t (*next)(struct sis__queue *t, size_t *items, size_t max);
    int (*answer)(struct sis__queue *t, size_t item, const void *bytes, size_t n);
    void (*close)(struct sis__queue *t);
} sis__queue;

/* Take up to `max` items, ascending. Waits for at least one; 0: there are no more. */
size_t sis__queue_next(sis__queue *t, size_t *items, size_t max);

/* Answer an item that was handed out. 0, or an error code if no more answers are wanted. */
int sis__queue_answer(sis__queue *t, size_t item, const void *bytes, size_t n);

/* A thread has failed: no thread of this process gets items any more, and those that wait for one do
 * so no longer. */
void sis__queue_close(sis__queue *t);

typedef struct sis__work {
    const size_t *which; /* (n) the items, ascending; NULL: 0 to n - 1 */
    size_t n;            /* SIZE_MAX: unknown, and `work` detects the end; one process only */
    int jobs;            /* items that this process works on at once; 0: unknown */
    int ordered;         /* answers are taken in the order of the items, otherwise as they arrive */
    int (*work)(void *ctx, sis__queue *t);

    /* In the leading process: takes one answer at a time. An error code ends the run. */
    int (*take)(void *ctx, size_t item, const void *bytes, size_t n);
    int (*tick)(void *ctx);    /* NULL, or called now and then; nonzero: end the run */
    void (*cancel)(void *ctx); /* NULL, or called to make running work return soon */
    void *ctx;
} sis__work;

/* Run all of it. 0, or the error code of the first failure. */
int sis__spread(const sis__work *w);

/* Does this process take the answers? Always true without sis-mpi. */
int sis__leads(void);

/* ---- Processes ------------------------------------------------------------------------------- */

typedef struct sis__processes {
    int leads;
    int jobs; /* this process's share of the machine's threads */
    int (*spread)(const sis__work *w);
} sis__processes;

/* NULL: this is the only process. */
extern const sis__processes *sis__processes_now;

/* ---- Answers --------------------------------------------------------------------------------- */

/* Answers on their way to take(): early ones wait for their turn. Zero it and set the work. */
typedef struct sis__reorder {
    const sis__work *work;
    struct sis__early *early; /* (n_early) a heap, lowest item on top */
    size_t n_early, room;
    size_t taken;
} sis__reorder;

int sis__reorder_put(sis__reorder *d, size_t item, const void *bytes, size_t n);
void sis__reorder_release(sis__reorder *d);

#endif
