/* SPDX-License-Identifier: MIT
 *
 * Dynamic distribution of work items. Costs differ by orders of magnitude between items, so nothing
 * is assigned in advance. Each process has one item per thread, plus as many as it recently
 * finished during a message round trip, so that it rarely waits. Towards the end it gets fewer, so
 * that none holds items that others could do.
 *
 * Answers are passed on as they arrive, so a killed run loses only unfinished items. Rank 0 works
 * too. Its communicating thread sleeps until its own threads have an answer, at most NAP_SECONDS,
 * because MPI's waiting would occupy a core. Answers of cheap items are bundled. The more processes
 * there are, the fewer messages each sends, so that rank 0 gets a few thousand a second in all.
 */
#include "spread.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sis/error.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

static const double AHEAD_SECONDS = 0.03; /* plus twice the time between messages */
static const double NAP_SECONDS = 0.002;
static const double WINDOW_SECONDS = 4; /* averaging window of rates */
static const double BUNDLE_SECONDS =
    0.0005; /* between messages of a process, times the processes */
static const double BUNDLE_MAX = 0.1;
enum { MAX = 480 }; /* items per message, which then needs no handshake */

static int ranks = 1;
static int current; /* round */
static int over;    /* rank 0: a round failed while others worked; others: QUIT was received */

typedef struct {
    int round, jobs; /* as READY says */
} ready_message;

/* A process, as seen by rank 0. */
typedef struct {
    ready_message ready;
    size_t has;   /* items without an answer */
    size_t done;  /* answers */
    double since; /* start of counting */
} worker;
static worker *workers; /* (ranks) of rank 0 */

/* For --timing: the time rank 0 was busy, and how long a process without items waited between its
 * answer and the next items. */
static struct {
    size_t answers, bundles, chunks;
    double seconds, busy; /* busy: processor time of the leading thread */
} timing;

typedef struct {
    double seconds, times;
} wait_message; /* as LEFT says */
static wait_message waits;
static double idle_since; /* 0: is not */

static double busy_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Time between messages of a process. */
static double bundle_gap(void) {
    double gap = BUNDLE_SECONDS * ranks;
    return gap < BUNDLE_MAX ? gap : BUNDLE_MAX;
}

static int send(const void *bytes, size_t n, int to, int tag) {
    return MPI_Send(bytes, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD) == MPI_SUCCESS
               ? SIS_OK
               : sis__fail(SIS_E_IO, "rank %d cannot be reached", to);
}

/* Receive a message into room, followed by a zero. Returns its tag, 0 if there is none, or an
 * error. */
static int receive(int from, sis__buf *room, MPI_Status *status) {
    int there = 0, length = 0;
    MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &there, status);
    if (!there)
        return 0;
    MPI_Get_count(status, MPI_BYTE, &length);
    int error = sis__reserve(&room->data, &room->cap, (size_t)length + 1, 1);
    if (error != SIS_OK)
        return error;
    room->len = (size_t)length;
    room->data[length] = '\0';
    MPI_Recv(room->data, length, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    return status->MPI_TAG;
}

static void nap(double seconds) {
    nanosleep(&(struct timespec){0, (long)(seconds * 1e9)}, NULL);
}

/* The same, blocking. */
static int await(int from, sis__buf *room) {
    MPI_Status status;
    int tag;
    while ((tag = receive(from, room, &status)) == 0)
        nap(NAP_SECONDS);
    return tag;
}

/* Report why this process cannot continue: a code, then text. */
static void send_failure(int code, const char *reason) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_add(&b, &code, sizeof code);
    sis__buf_str(&b, reason);
    if (sis__buf_error(&b) == SIS_OK)
        send(b.data, b.len, 0, SIS_MPI_FAILED);
    sis__buf_release(&b);
}

/* ---- Serving --------------------------------------------------------------------------------- */

/* Handle messages of the leader. 1: continue, 0: finished. */
static int obey(pool *c, sis__buf *room) {
    MPI_Status status;
    int tag;
    while ((tag = receive(0, room, &status)) > 0 && tag == SIS_MPI_CHUNK) {
        if (pool_put(c, (const size_t *)(const void *)room->data, room->len / sizeof(size_t)) != 0)
            tag = SIS_E_NOMEM;
        waits.times += idle_since > 0;
        waits.seconds += idle_since > 0 ? sis__seconds() - idle_since : 0;
        idle_since = 0;
    }
    if (tag < 0)
        send_failure(tag, "out of memory");
    over |= tag == SIS_MPI_QUIT;
    return tag != SIS_MPI_END && tag != SIS_MPI_QUIT;
}

/* Send finished answers, or sleep a little. */
static void report(pool *c, sis__buf *answers, double *sent) {
    double gap = bundle_gap(), now = sis__seconds();
    int waiting = pool_waiting(c) > 0;
    if (waiting && now - *sent < gap) {
        nap(gap / 2 < 2 * NAP_SECONDS ? gap / 2 : 2 * NAP_SECONDS);
    } else if (pool_take(c, answers, waiting ? 2 * NAP_SECONDS : NAP_SECONDS / 2) > 0) {
        send(answers->data, answers->len, 0, SIS_MPI_ANSWERS);
        *sent = sis__seconds();
        idle_since = waiting ? 0 : *sent;
    }
}

static int serve(const sis__work *w) {
    pool c;
    sis__buf room, answers;
    char message[512];
    double sent = 0;
    int error = pool_start(&c, w), told = 0;
    idle_since = 0;
    if (error != SIS_OK)
        return error;
    sis__buf_init(&room);
    sis__buf_init(&answers);
    send(&(ready_message){current, w->jobs}, sizeof(ready_message), 0, SIS_MPI_READY);
    while (obey(&c, &room)) {
        if (told)
            nap(NAP_SECONDS);
        else
            report(&c, &answers, &sent);
        error = told ? error : pool_failed(&c, message);
        if (error != SIS_OK && !told)
            send_failure(error, message);
        told = error != SIS_OK;
    }
    pool_end(&c);
    sis__buf_release(&room);
    sis__buf_release(&answers);
    return over ? sis__fail(SIS_E_CANCELLED, "cancelled") : SIS_OK;
}

void mpi_spread_leave(const char *reason) {
    sis__buf room;
    sis__buf_init(&room);
    if (reason && !over)
        send_failure(SIS_E_MODEL, reason);
    send(&waits, sizeof waits, 0, SIS_MPI_LEFT);
    while (!over)
        over = await(0, &room) == SIS_MPI_QUIT;
    sis__buf_release(&room);
}

/* ---- Leading --------------------------------------------------------------------------------- */

typedef struct {
    const sis__work *work;
    sis__reorder reorder;
    pool own;
    size_t given, answered;
    size_t jobs;  /* of all that serve */
    worker *from; /* whose answers are read */
    sis__buf room, answers;
} lead;

/* The number of items that a worker should have: one per thread, and some that wait. */
static size_t wish(const lead *l, const worker *k, size_t *ahead) {
    double seconds = sis__seconds() - k->since, far = AHEAD_SECONDS + 2 * bundle_gap();
    size_t jobs = (size_t)k->ready.jobs, left = l->work->n - l->given;
    size_t fair = jobs * left / (2 * l->jobs);
    *ahead = k->done && seconds > 0 ? (size_t)((double)k->done * far / seconds) : 0;
    *ahead = *ahead < fair ? *ahead : fair;
    return jobs + *ahead;
}

static int give(lead *l, int rank, size_t n) {
    size_t items[MAX], left = l->work->n - l->given, count = 0;
    worker *k = &workers[rank];
    n = n < MAX ? n : MAX;
    for (n = n < left ? n : left; count < n; count++, l->given++)
        items[count] = l->work->which ? l->work->which[l->given] : l->given;
    if (k->has == 0 && k->done == 0)
        k->since = sis__seconds();
    k->has += n;
    timing.chunks++;
    return rank == 0 ? pool_put(&l->own, items, n)
                     : send(items, n * sizeof *items, rank, SIS_MPI_CHUNK);
}

/* Send more items to a process with an idle thread or less than half of its waiting items. Called
 * whenever a message of the process arrives. */
static int feed(lead *l, int rank) {
    worker *k = &workers[rank];
    int error = SIS_OK;
    size_t ahead, full = wish(l, k, &ahead), jobs = (size_t)k->ready.jobs;
    while (error == SIS_OK && l->given < l->work->n &&
           (k->has < jobs || k->has + ahead / 2 < full)) {
        error = give(l, rank, full - k->has);
        full = wish(l, k, &ahead);
    }
    return error;
}

static int take_answer(void *ctx, size_t thing, const void *bytes, size_t n) {
    lead *l = ctx;
    l->answered++;
    timing.answers++;
    l->from->has--;
    l->from->done++;
    return sis__reorder_put(&l->reorder, thing, bytes, n);
}

static int take_answers(lead *l, int rank, const sis__buf *b) {
    worker *from = &workers[rank];
    double now = sis__seconds(), seconds = now - from->since;
    l->from = from;
    timing.bundles++;
    if (seconds > WINDOW_SECONDS) { /* old counts decay */
        from->done /= 2;
        from->since = now - seconds / 2;
    }
    int error = pool_each(b->data, b->len, take_answer, l);
    return error == SIS_OK ? feed(l, rank) : error;
}

static int welcome(lead *l, int rank, const ready_message *r) {
    if (r->round != current) /* too late for this round */
        return send(NULL, 0, rank, SIS_MPI_END);
    workers[rank] = (worker){.ready = {r->round, r->jobs > 0 ? r->jobs : 1}};
    l->jobs += (size_t)workers[rank].ready.jobs;
    return feed(l, rank);
}

static int fail_as(int rank, const sis__buf *b) {
    int code;
    memcpy(&code, b->data, sizeof code);
    const char *reason = b->data + sizeof code;
    return workers[rank].ready.round == current ? sis__fail(code, "%s", reason)
                                                : sis__fail(code, "rank %d: %s", rank, reason);
}

/* Handle one message, if there is one: 1, 0 or an error. */
static int hear(lead *l) {
    MPI_Status status;
    ready_message ready;
    int error = SIS_OK, tag = receive(MPI_ANY_SOURCE, &l->room, &status);
    if (tag <= 0)
        return tag;
    int from = status.MPI_SOURCE;
    if (tag == SIS_MPI_READY) {
        memcpy(&ready, l->room.data, sizeof ready);
        error = welcome(l, from, &ready);
    } else if (tag == SIS_MPI_ANSWERS) {
        error = take_answers(l, from, &l->room);
    } else if (tag == SIS_MPI_FAILED) {
        error = fail_as(from, &l->room);
    }
    return error == SIS_OK ? 1 : error;
}

static int hear_own(lead *l, double seconds) {
    char message[512];
    int failed = pool_failed(&l->own, message);
    size_t n = pool_take(&l->own, &l->answers, seconds);
    int error = n > 0 ? take_answers(l, 0, &l->answers) : SIS_OK;
    if (error == SIS_OK && failed) {
        sis_error_set(message);
        error = failed;
    }
    return error == SIS_OK ? n > 0 : error;
}

static int lead_on(lead *l) {
    const sis__work *w = l->work;
    int error = feed(l, 0);
    while (error >= 0 && l->answered < w->n) {
        int heard = hear(l);
        int own = heard >= 0 ? hear_own(l, heard ? 0 : NAP_SECONDS) : heard;
        error = own < 0 ? own : SIS_OK;
        if (error == SIS_OK && w->tick && w->tick(w->ctx))
            error = sis__fail(SIS_E_CANCELLED, "cancelled");
    }
    return error;
}

/* Tell the others that the round is over. This process's own threads are done. */
static void dismiss(lead *l, int error) {
    char said[1024];
    snprintf(said, sizeof said, "%s", sis_error_detail());
    for (int r = 1; r < ranks && error == SIS_OK; r++)
        if (workers[r].ready.round == current)
            send(NULL, 0, r, SIS_MPI_END);
    if (error != SIS_OK && l->work->cancel)
        l->work->cancel(l->work->ctx);
    pool_end(&l->own);
    sis_error_set(said);
}

static int lead_all(const sis__work *w) {
    lead l = {.work = w, .reorder.work = w};
    if (!workers)
        return SIS_E_NOMEM;
    workers[0] = (worker){.ready = {current, w->jobs > 0 ? w->jobs : 1}};
    l.jobs = (size_t)workers[0].ready.jobs;
    sis__buf_init(&l.room);
    sis__buf_init(&l.answers);
    double began = sis__seconds(), busy = busy_seconds();
    int error = pool_start(&l.own, w);
    if (error == SIS_OK) {
        error = lead_on(&l);
        dismiss(&l, error);
    }
    timing.seconds += sis__seconds() - began;
    timing.busy += busy_seconds() - busy;
    over |= error != SIS_OK;
    sis__reorder_release(&l.reorder);
    sis__buf_release(&l.room);
    sis__buf_release(&l.answers);
    return error;
}

static int spread(const sis__work *w) {
    current++;
    return sis__leads() ? lead_all(w) : serve(w);
}

/* ---- Start and end --------------------------------------------------------------------------- */

void mpi_spread_tell(void) {
    fprintf(
        stderr,
        "sis-mpi: %d processes, %.3f s; rank 0 was busy handing out and writing for %.4f s: %zu "
        "answers in %zu bundles, %zu chunks; others waited %.0f times for more, %.2f ms each\n",
        ranks, timing.seconds, timing.busy, timing.answers, timing.bundles, timing.chunks,
        waits.times, waits.times > 0 ? 1000 * waits.seconds / waits.times : 0);
}

int mpi_spread_end(void) {
    sis__buf room;
    if (over)
        return 1;
    sis__buf_init(&room);
    for (int r = 1; r < ranks; r++)
        send(NULL, 0, r, SIS_MPI_QUIT);
    for (int r = 1; r < ranks; r++) {
        wait_message w = {0, 0};
        while (await(r, &room) != SIS_MPI_LEFT)
            continue;
        if (room.len == sizeof w)
            memcpy(&w, room.data, sizeof w);
        waits.seconds += w.seconds;
        waits.times += w.times;
    }
    sis__buf_release(&room);
    free(workers);
    workers = NULL;
    return 0;
}

void mpi_spread_init(sis__processes *p, int rank, int n) {
    ranks = n;
    workers = rank == 0 ? SIS_NEW(worker, (size_t)n) : NULL;
    *p = (sis__processes){.leads = rank == 0, .jobs = 1, .spread = spread};
}
