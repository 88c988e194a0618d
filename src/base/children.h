/* SPDX-License-Identifier: MIT
 *
 * The child processes of this program, so that it can end them when it is interrupted.
 */
#ifndef SIS_BASE_CHILDREN_H
#define SIS_BASE_CHILDREN_H

#include <signal.h>
#include <sys/types.h>

/* Register a child, usually the leader of a process group. 0 or SIS_E_NOMEM. */
int sis__children_add(pid_t pid);

/* Call before waiting for it. */
void sis__children_remove(pid_t pid);

/* Send SIGTERM to all of them and to their process groups. */
void sis__children_end(void);

/* Writing to a child or connection that is gone raises SIGPIPE, which would end the host program.
 * Signal handlers belong to the host, so the signal is blocked in this thread while we write, and
 * removed if it was raised. */
typedef struct sis__no_pipe_signal {
    sigset_t before;
    int was_pending; /* raised before, and left to the host */
} sis__no_pipe_signal;
void sis__pipe_signal_hold(sis__no_pipe_signal *guard);
void sis__pipe_signal_release(const sis__no_pipe_signal *guard);

#endif
