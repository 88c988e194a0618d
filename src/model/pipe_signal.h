/* SPDX-License-Identifier: MIT
 *
 * Writing to a child or a connection that is gone raises SIGPIPE, which would end the program we
 * live in. Signal handlers are its business, so the signal is blocked while we write, in this
 * thread only, and taken away if it came.
 */
#ifndef SIS_MODEL_PIPE_SIGNAL_H
#define SIS_MODEL_PIPE_SIGNAL_H

#include <signal.h>

typedef struct sis__no_pipe_signal {
    sigset_t before;
    int was_pending; /* one that somebody else is waiting for */
} sis__no_pipe_signal;

void sis__pipe_signal_hold(sis__no_pipe_signal *guard);
void sis__pipe_signal_release(const sis__no_pipe_signal *guard);

#endif
