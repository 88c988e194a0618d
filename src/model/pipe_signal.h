/* SPDX-License-Identifier: MIT
 *
 * Writing to a child or connection that is gone raises SIGPIPE, which would end the host program.
 * Signal handlers belong to the host, so the signal is blocked in this thread while we write, and
 * removed if it was raised.
 */
#ifndef SIS_MODEL_PIPE_SIGNAL_H
#define SIS_MODEL_PIPE_SIGNAL_H

#include <signal.h>

typedef struct sis__no_pipe_signal {
    sigset_t before;
    int was_pending; /* raised before, and left to the host */
} sis__no_pipe_signal;

void sis__pipe_signal_hold(sis__no_pipe_signal *guard);
void sis__pipe_signal_release(const sis__no_pipe_signal *guard);

#endif
