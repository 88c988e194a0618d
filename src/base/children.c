/* SPDX-License-Identifier: MIT
 *
 * See children.h. A list is enough: there is at most one child per thread.
 */
#include "base/children.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/platform.h"

static struct {
    pthread_mutex_t lock;
    pid_t *list;
    size_t n, room;
} children = {.lock = PTHREAD_MUTEX_INITIALIZER};

int sis__children_add(pid_t pid) {
    pthread_mutex_lock(&children.lock);
    int error = sis__reserve(&children.list, &children.room, children.n + 1, sizeof(pid_t));
    if (!error)
        children.list[children.n++] = pid;
    pthread_mutex_unlock(&children.lock);
    return error;
}

void sis__children_remove(pid_t pid) {
    pthread_mutex_lock(&children.lock);
    for (size_t i = 0; i < children.n; i++)
        if (children.list[i] == pid) {
            children.list[i] = children.list[--children.n];
            break;
        }
    if (children.n == 0) {
        free(children.list);
        children.list = NULL;
        children.room = 0;
    }
    pthread_mutex_unlock(&children.lock);
}

void sis__children_end(void) {
    pthread_mutex_lock(&children.lock);
    for (size_t i = 0; i < children.n; i++)
        if (kill(-children.list[i], SIGTERM) != 0)
            kill(children.list[i], SIGTERM);
    pthread_mutex_unlock(&children.lock);
}

/* ---- SIGPIPE ------------------------------------------------------------------------------- */

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
