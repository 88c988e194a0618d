/* SPDX-License-Identifier: MIT
 *
 * Ctrl-C and its kin. Children of cmd: models live in process groups of their own, so the terminal
 * does not reach them, and one that computes does not notice that nobody waits any more. A thread
 * of our own waits for the signals, ends the groups of all our children, and then lets the signal
 * do what it always does. Whoever notices in between that a child is gone has nothing to say.
 */
#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/replace.h"
#include "cli.h"

static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
static atomic_int ending; /* a signal has come */
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

/* Children that one of our threads started, as Linux lists them. */
static void end_children_of(const char *thread) {
    char path[64];
    long pid;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    FILE *list = fopen(path, "r");
    while (list && fscanf(list, "%ld", &pid) == 1)
        if (pid > 1 && kill((pid_t)-pid, SIGTERM) != 0)
            kill((pid_t)pid, SIGTERM);
    if (list)
        fclose(list);
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
    DIR *threads = opendir("/proc/self/task");
    for (struct dirent *d; threads && (d = readdir(threads));)
        if (d->d_name[0] != '.')
            end_children_of(d->d_name);
    if (threads)
        closedir(threads);
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
            sigaddset(&set, signals[i]); /* nohup stays in force */
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    if (pthread_create(&thread, NULL, wait_for_signal, &set) == 0)
        pthread_detach(thread);
    else
        pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}
