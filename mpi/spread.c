/* SPDX-License-Identifier: MIT
 *
 * Handing out examples to whoever is free. Costs differ by orders of magnitude from one example to the
 * next, so a chunk is as many as have taken CHUNK_SECONDS so far, and fewer towards the end. Each
 * process has the next chunk waiting while it works on one, so that nobody waits for a message. Rank 0
 * works too, in a thread beside the one that talks. Waiting is polling with short sleeps: MPI's own
 * waiting would burn the core that a neighbour computes on.
 *
 * Records come back as lines and are handed on as they come, so that a run that is killed has lost
 * nothing but what was under way; whoever writes them brings them into order at the end.
 */
#include "spread.h"

#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <sis/results.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"

static const double CHUNK_SECONDS = 0.25;
enum { MOST = 4096 }; /* examples of a chunk */

static int ranks = 1;
static int *ready; /* (ranks) of rank 0: has it said that it serves? */

static void nap(void) {
    struct timespec t = {0, 300000};
    nanosleep(&t, NULL);
}

/* ---- Chunks and answers ---------------------------------------------------------------------- */

typedef struct {
    int predict; /* scores are wanted, not records */
    size_t n;
    size_t examples[MOST];
} chunk;

/* What came of a chunk: a head, then for each answer its example, its length and its bytes. */
typedef struct {
    double seconds;
    int error;         /* what ended it early */
    char message[512]; /* and said */
} head;

static void put_bytes(sis__buf *b, size_t example, const void *bytes, size_t n) {
    sis__buf_add(b, &example, sizeof example);
    sis__buf_add(b, &n, sizeof n);
    sis__buf_add(b, bytes, n);
}

static int put_record(void *ctx, size_t i, const sis_record *r) {
    char *line;
    size_t n;
    int error = sis_record_format(r, 1, &line, &n);
    if (error == SIS_OK)
        put_bytes((sis__buf *)ctx, i, line, n);
    free(line);
    return error;
}

typedef struct {
    sis__buf *answers;
    const chunk *c;
    size_t bytes;
} scoring;

static int put_scores(void *ctx, size_t k, const double *scores) {
    const scoring *s = (const scoring *)ctx;
    put_bytes(s->answers, s->c->examples[k], scores, s->bytes);
    return SIS_OK;
}

/* Work on a chunk; *answers begins with a head. */
static int work(sis_task *task, const chunk *c, sis__buf *answers) {
    head h = {0};
    double began = sis__seconds();
    sis__buf_clear(answers);
    sis__buf_add(answers, &h, sizeof h);
    scoring s = {answers, c, sis_task_model(task)->n_outputs * sizeof(double)};
    h.error = c->predict ? sis_task_predict(task, c->examples, c->n, put_scores, &s)
                         : sis_task_run(task, c->examples, c->n, put_record, answers);
    if (h.error)
        snprintf(h.message, sizeof h.message, "%s", sis_error_detail());
    h.seconds = sis__seconds() - began;
    if (sis__buf_error(answers) != SIS_OK)
        return SIS_E_NOMEM;
    memcpy(answers->data, &h, sizeof h);
    return SIS_OK;
}

/* ---- Serving --------------------------------------------------------------------------------- */

static void await_message(int from, MPI_Status *status) {
    int there = 0;
    while (MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &there, status) == MPI_SUCCESS && !there)
        nap();
}

static int serve(sis_task *task) {
    MPI_Status status;
    sis__buf answers;
    chunk *c = SIS_NEW(chunk, 1);
    int error = c ? SIS_OK : SIS_E_NOMEM;
    sis__buf_init(&answers);
    if (error == SIS_OK)
        MPI_Send(NULL, 0, MPI_BYTE, 0, SIS_MPI_READY, MPI_COMM_WORLD);
    while (error == SIS_OK) {
        await_message(0, &status);
        MPI_Recv(c, (int)sizeof *c, MPI_BYTE, 0, status.MPI_TAG, MPI_COMM_WORLD, &status);
        if (status.MPI_TAG == SIS_MPI_END)
            break;
        error = work(task, c, &answers);
        if (error == SIS_OK)
            MPI_Send(answers.data, (int)answers.len, MPI_BYTE, 0, SIS_MPI_ANSWERS, MPI_COMM_WORLD);
    }
    sis__buf_release(&answers);
    free(c);
    return error;
}

void mpi_spread_fail(const char *reason) {
    MPI_Send(reason, (int)strlen(reason), MPI_BYTE, 0, SIS_MPI_FAILED, MPI_COMM_WORLD);
}

/* ---- Leading --------------------------------------------------------------------------------- */

typedef struct {
    sis_task *task;
    const size_t *which; /* NULL: all */
    size_t n, given, answered;
    int predict;
    double cost;  /* seconds of an example, as the last chunks had it; 0: not known */
    int *waiting; /* (ranks) chunks that each has */
    sis_task_done *done;
    sis_task_scored *scored;
    void *ctx;
    double **scores; /* (n) of predictions that wait for their turn */
    size_t next;

    /* Of the thread that works here. */
    pthread_mutex_t lock;
    pthread_cond_t changed;
    chunk *own;      /* what it is to do; n = 0: nothing */
    sis__buf result; /* what it has done; empty: nothing new */
    int stop;
    int own_error;
} lead;

static size_t example_of(const lead *l, size_t k) {
    return l->which ? l->which[k] : k;
}

/* How many examples a rank gets now. */
static size_t chunk_size(const lead *l) {
    size_t left = l->n - l->given, fair = left / (size_t)(2 * ranks);
    size_t wish = l->cost > 0 ? (size_t)(CHUNK_SECONDS / l->cost) : 1;
    size_t most = l->predict ? MOST : wish < MOST ? wish : MOST;
    most = most < fair ? most : fair;
    return most ? most : 1;
}

static void fill_chunk(lead *l, chunk *c) {
    size_t n = chunk_size(l), left = l->n - l->given;
    c->predict = l->predict;
    c->n = n < left ? n : left;
    for (size_t i = 0; i < c->n; i++)
        c->examples[i] = example_of(l, l->given++);
}

static int send_chunk(lead *l, int rank, chunk *c) {
    fill_chunk(l, c);
    l->waiting[rank]++;
    size_t bytes = offsetof(chunk, examples) + c->n * sizeof *c->examples;
    return MPI_Send(c, (int)bytes, MPI_BYTE, rank, SIS_MPI_CHUNK, MPI_COMM_WORLD) == MPI_SUCCESS
               ? SIS_OK
               : sis__fail(SIS_E_IO, "rank %d cannot be reached", rank);
}

/* Two chunks each, so that nobody waits; one towards the end, so that nobody sits on a second. */
static int feed(lead *l, chunk *scratch) {
    int deep = l->n - l->given > (size_t)(4 * ranks) ? 2 : 1, error = SIS_OK;
    for (int depth = 1; depth <= deep; depth++)
        for (int r = 1; r < ranks && error == SIS_OK && l->given < l->n; r++)
            if (ready[r] && l->waiting[r] < depth)
                error = send_chunk(l, r, scratch);
    pthread_mutex_lock(&l->lock);
    if (error == SIS_OK && l->own->n == 0 && l->result.len == 0 && l->given < l->n) {
        fill_chunk(l, l->own);
        pthread_cond_signal(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
    return error;
}

static int hand_record(lead *l, size_t example, const char *line, size_t n) {
    sis_record r;
    int error = sis_record_parse(line, n, &r);
    if (error == SIS_OK)
        error = l->done(l->ctx, example, &r);
    sis_record_release(&r);
    return error;
}

/* Scores are written in order: they are small enough to wait. */
static int hand_scores(lead *l, size_t example, const char *bytes, size_t n) {
    int error = SIS_OK;
    l->scores[example] = (double *)sis__copy(bytes, n, 1);
    if (!l->scores[example])
        return SIS_E_NOMEM;
    while (error == SIS_OK && l->next < l->n && l->scores[l->next]) {
        error = l->scored(l->ctx, l->next, l->scores[l->next]);
        free(l->scores[l->next]);
        l->scores[l->next++] = NULL;
    }
    return error;
}

/* Answers of a chunk, one by one. */
static int take_answers(lead *l, const char *bytes, size_t length) {
    head h;
    size_t at = sizeof h, count = 0;
    int error = SIS_OK;
    memcpy(&h, bytes, sizeof h);
    while (error == SIS_OK && at < length) {
        size_t example, n;
        memcpy(&example, bytes + at, sizeof example);
        memcpy(&n, bytes + at + sizeof example, sizeof n);
        at += sizeof example + sizeof n;
        error = l->predict ? hand_scores(l, example, bytes + at, n)
                           : hand_record(l, example, bytes + at, n);
        at += n;
        count++;
    }
    l->answered += count;
    if (count) {
        double now = h.seconds / (double)count;
        l->cost = l->cost > 0 ? 0.7 * l->cost + 0.3 * now : now;
    }
    if (error == SIS_OK && h.error) {
        sis_error_set(h.message);
        error = h.error;
    }
    return error;
}

/* One message, if there is any: 1, 0 or an error. */
static int hear(lead *l, char **room, size_t *size) {
    MPI_Status status;
    int there = 0, length = 0;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
    if (!there)
        return 0;
    MPI_Get_count(&status, MPI_BYTE, &length);
    int error = sis__reserve(room, size, (size_t)length + 1, 1);
    if (error != SIS_OK)
        return error;
    int from = status.MPI_SOURCE, tag = status.MPI_TAG;
    MPI_Recv(*room, length, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    (*room)[length] = '\0';
    if (tag == SIS_MPI_FAILED)
        return sis__fail(SIS_E_MODEL, "rank %d: %s", from, *room);
    if (tag == SIS_MPI_READY) {
        ready[from] = 1;
        return 1;
    }
    l->waiting[from]--;
    error = take_answers(l, *room, (size_t)length);
    return error == SIS_OK ? 1 : error;
}

/* What the thread here has done. */
static int hear_own(lead *l) {
    sis__buf got = {0};
    pthread_mutex_lock(&l->lock);
    int error = l->own_error;
    if (l->result.len) {
        got = l->result;
        sis__buf_init(&l->result);
    }
    pthread_mutex_unlock(&l->lock);
    if (error != SIS_OK || got.len == 0)
        return error;
    error = take_answers(l, got.data, got.len);
    sis__buf_release(&got);
    return error == SIS_OK ? 1 : error;
}

static void *work_here(void *ctx) {
    lead *l = (lead *)ctx;
    sis__buf answers;
    sis__buf_init(&answers);
    pthread_mutex_lock(&l->lock);
    while (!l->stop) {
        if (l->own->n == 0 || l->result.len) {
            pthread_cond_wait(&l->changed, &l->lock);
            continue;
        }
        pthread_mutex_unlock(&l->lock);
        int error = work(l->task, l->own, &answers);
        pthread_mutex_lock(&l->lock);
        l->own_error = error;
        l->own->n = 0;
        l->result = answers;
        sis__buf_init(&answers);
    }
    pthread_mutex_unlock(&l->lock);
    return NULL;
}

static int lead_on(lead *l, cli_spread_tick *tick) {
    chunk *scratch = SIS_NEW(chunk, 1);
    char *room = NULL;
    size_t size = 0;
    int got = scratch ? SIS_OK : SIS_E_NOMEM;
    while (got >= 0 && l->answered < l->n) {
        got = feed(l, scratch);
        int heard = got >= 0 ? hear(l, &room, &size) : got;
        int own = heard >= 0 ? hear_own(l) : heard;
        got = own < 0 ? own : heard < 0 ? heard : SIS_OK;
        if (got == SIS_OK && tick && tick(l->ctx))
            got = sis__fail(SIS_E_CANCELLED, "cancelled");
        if (got == SIS_OK && !heard && !own)
            nap();
    }
    free(scratch);
    free(room);
    return got;
}

static int lead_all(lead *l, cli_spread_tick *tick) {
    pthread_t thread;
    l->waiting = SIS_NEW(int, (size_t)ranks);
    l->own = SIS_NEW(chunk, 1);
    l->scores = l->predict ? SIS_NEW(double *, l->n) : NULL;
    pthread_mutex_init(&l->lock, NULL);
    pthread_cond_init(&l->changed, NULL);
    sis__buf_init(&l->result);
    int error = l->waiting && l->own && (l->scores || !l->predict) ? SIS_OK : SIS_E_NOMEM;
    int started = error == SIS_OK && pthread_create(&thread, NULL, work_here, l) == 0;
    if (error == SIS_OK)
        error = started ? lead_on(l, tick) : sis__fail(SIS_E_NOMEM, "no thread can be started");
    if (started) {
        char said[1024];
        snprintf(said, sizeof said, "%s", sis_error_detail());
        pthread_mutex_lock(&l->lock);
        l->stop = 1;
        pthread_cond_signal(&l->changed);
        pthread_mutex_unlock(&l->lock);
        if (error != SIS_OK)
            sis_task_cancel(l->task);
        pthread_join(thread, NULL);
        sis_error_set(said);
    }
    for (size_t i = 0; l->scores && i < l->n; i++)
        free(l->scores[i]);
    free(l->scores);
    free(l->waiting);
    free(l->own);
    sis__buf_release(&l->result);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
    return error;
}

static int under_way; /* a run has ended before its end */

static int explain(sis_task *task, const size_t *which, size_t n, sis_task_done *done, void *ctx,
                   cli_spread_tick *tick) {
    lead l = {.task = task, .which = which, .n = n, .done = done, .ctx = ctx};
    int error = lead_all(&l, tick);
    under_way |= error != SIS_OK;
    return error;
}

static int predict(sis_task *task, sis_task_scored *done, void *ctx) {
    lead l = {.task = task, .n = sis_task_count(task), .predict = 1, .scored = done, .ctx = ctx};
    int error = lead_all(&l, NULL);
    under_way |= error != SIS_OK;
    return error;
}

/* Everybody has said READY or FAILED, or will: hear them out, then let go who serves. */
int mpi_spread_end(void) {
    char text[4096];
    MPI_Status status;
    int *heard = ready;
    if (under_way)
        return 1;
    for (int r = 1; r < ranks; r++) {
        if (!heard[r]) {
            await_message(r, &status);
            MPI_Recv(text, sizeof text, MPI_BYTE, r, status.MPI_TAG, MPI_COMM_WORLD, &status);
            heard[r] = status.MPI_TAG == SIS_MPI_READY;
        }
        if (heard[r])
            MPI_Send(NULL, 0, MPI_BYTE, r, SIS_MPI_END, MPI_COMM_WORLD);
    }
    free(ready);
    ready = NULL;
    return 0;
}

void mpi_spread_init(cli_spread *s, int rank, int n) {
    ranks = n;
    ready = rank == 0 ? SIS_NEW(int, (size_t)n) : NULL;
    *s = (cli_spread){
        .leads = rank == 0, .jobs = 1, .explain = explain, .predict = predict, .serve = serve};
}
