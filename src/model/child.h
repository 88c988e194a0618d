/* SPDX-License-Identifier: MIT
 *
 * A child process that answers lines: for each line written to it, it writes one line.
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
    size_t looked;        /* number of its bytes known to contain no newline */
    size_t said_length;   /* total bytes written to stderr, */
    char said[SIS__SAID]; /* and the last of them */
} sis__child;

/* A child that was never started; sis__child_stop() accepts it. */
#define SIS__CHILD_NONE ((sis__child){.in = -1, .out = -1, .err = -1})

/* Start `sh -c command`, with OMP_NUM_THREADS and similar variables set to `threads` unless they
 * are set; 0: do not set them. SIS_E_MODEL if the process cannot be started. */
int sis__child_start(sis__child *c, const char *command, int threads);

/* Send a request (with its newline) and wait for one line. *line is the answer without its newline,
 * writable and NUL-terminated, until the next call. timeout in seconds, 0: none. After a failure
 * the child is gone; the message says why, with the end of stderr. */
int sis__child_ask(sis__child *c, const sis__buf *request, double timeout, char **line,
                   size_t *length);

/* Close its stdin, wait a moment, then kill its process group. */
void sis__child_stop(sis__child *c);

#endif
