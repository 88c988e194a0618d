/* SPDX-License-Identifier: MIT
 *
 * Handles SIGINT and similar signals. Children of cmd: models run in their own process groups,
 * which the terminal does not signal, and a busy child does not notice that its parent is gone. So
 * one thread waits for signals, kills the groups of all children, and then lets the default action
 * follow. Errors about a killed child are suppressed meanwhile.
 */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/children.h"
#include "base/replace.h"
#include "cli.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static atomic_int ending; /* a signal has arrived */
static _Atomic(const char *) resumable;

void cli_interrupt_names(const char *path) {
    atomic_store(&resumable, path);
}
static _Atomic(cli_interrupt_fn) taker;

void cli_interrupt_take(cli_interrupt_fn fn) {
    atomic_store(&taker, fn);
}

void cli_interrupt_hold(void) {
    while (atomic_load(&ending))
        pause();
}

static void *wait_for_signal(void *set) {
    int number = 0;
    cli_interrupt_fn taken;
    do {
        if (sigwait((const sigset_t *)set, &number) != 0)
            return NULL;
        taken = atomic_load(&taker);
    } while (taken && taken(number));
    atomic_store(&ending, 1);
    sis__children_end();
    sis__temporary_remove_all();
    const char *path = atomic_load(&resumable);
    if (path)
        fprintf(stderr,
                "%s: interrupted; what was found before is in %s, --resume goes on from "
                "there\n",
                cli_current() ? cli_current()->name : "sis", path);
    signal(number, SIG_DFL);
    pthread_sigmask(SIG_UNBLOCK, (const sigset_t *)set, NULL);
    kill(getpid(), number);
    return NULL;
}

void cli_interrupt_init(void) {
    static sigset_t set;
    pthread_t thread;
    struct sigaction now;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (sigaction(signals[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
            sigaddset(&set, signals[i]); /* a signal ignored by nohup stays ignored */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, wait_for_signal, &set) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
