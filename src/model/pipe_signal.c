/* SPDX-License-Identifier: MIT
 *
 * See pipe_signal.h.
 */
#include "model/pipe_signal.h"

#include <errno.h>
#include <pthread.h>
#include <time.h>

static int is_pending(void) {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    return sigismember(&pending, SIGPIPE) == 1;
}

static sigset_t only_pipe(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    return set;
}

void sis__pipe_signal_hold(sis__no_pipe_signal *guard) {
    sigset_t set = only_pipe();
    guard->was_pending = is_pending();
    pthread_sigmask(SIG_BLOCK, &set, &guard->before);
}

void sis__pipe_signal_release(const sis__no_pipe_signal *guard) {
    sigset_t set = only_pipe();
    if (!guard->was_pending && is_pending())
        while (sigtimedwait(&set, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
            continue;
    pthread_sigmask(SIG_SETMASK, &guard->before, NULL);
}
