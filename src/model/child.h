/* SPDX-License-Identifier: MIT
 *
 * A child process that answers lines: one line goes in, one line comes out, as often as wanted.
 */
#ifndef SIS_MODEL_CHILD_H
#define SIS_MODEL_CHILD_H

#include <stddef.h>
#include <sys/types.h>

#include "base/buf.h"

enum { SIS__SAID = 4096 };

typedef struct sis__child {
    pid_t pid;            /* and its process group; 0: not running */
    int in, out, err;     /* our ends of its stdin, stdout and stderr; -1: closed */
    sis__buf answer;      /* what it wrote to stdout since the last request */
    size_t looked;        /* so many bytes of it hold no newline */
    size_t said_length;   /* what it wrote to stderr, */
    char said[SIS__SAID]; /* the end of it */
} sis__child;

/* A child that was never started: what sis__child_stop() may be given, and leaves. */
#define SIS__CHILD_NONE ((sis__child){.in = -1, .out = -1, .err = -1})

/* Start `sh -c command`, with OMP_NUM_THREADS and its kin set to `threads` unless they are set; 0:
 * let them be. SIS_E_MODEL if there is no process to be had. */
int sis__child_start(sis__child *c, const char *command, int threads);

/* Send a request (its newline included), wait for one line. *line is the answer without its
 * newline, writable and NUL-terminated, until the next call. timeout in seconds, 0: none. After a
 * failure the child is gone; it says why, with the end of stderr. */
int sis__child_ask(sis__child *c, const sis__buf *request, double timeout, char **line,
                   size_t *length);

/* Close its stdin, give it a moment, then kill its process group. */
void sis__child_stop(sis__child *c);

#endif
