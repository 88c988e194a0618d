/* SPDX-License-Identifier: MIT
 *
 * See pipe_signal.h.
 */
#include "model/pipe_signal.h"

#include <pthread.h>

#include "base/platform.h"

static int is_pending(void) {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

void sis__pipe_signal_hold(sis__no_pipe_signal *guard) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    guard->was_pending = is_pending();
    pthread_sigmask(SIG_BLOCK, &set, &guard->before);
}

void sis__pipe_signal_release(const sis__no_pipe_signal *guard) {
    if (!guard->was_pending && is_pending())
        sis__signal_discard(SIGPIPE);
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}
