/* SPDX-License-Identifier: MIT
 *
 * A child process with three pipes.
 *
 *      request --> in  [pipe] stdin  \
 *       answer <-- out [pipe] stdout  > sh -c COMMAND, leader of its own process group
 *         said <-- err [pipe] stderr /
 *
 * Pipes hold 64 KiB. A parent that writes a whole request before it reads would deadlock with a
 * child that answers row by row or logs much. So the parent's ends never block, and one poll()
 * serves all three until the answer is complete or time is up.
 *
 * All ends of the parent are close-on-exec: a child that inherited another child's stdin would keep
 * that child from seeing the end of its input.
 *
 * A child that crashes, is late or does not write exactly one line per request is killed at once,
 * because its later lines could not be matched to requests.
 */
#include "model/child.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/children.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "model/answer.h"

enum { SLICE = 1 /* s */, CHUNK = 1 << 16, QUOTED = 300, LAST_LINES = 3 };

static const size_t LONGEST_ANSWER = (size_t)256 << 20;
static const double GRACE = 1.0; /* seconds that a child may take to end after its stdin is
                                  * closed */

/* ---- Start ----------------------------------------------------------------------------------- */

static void close_end(int *fd) {
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Duplicate the file to a number above the standard streams, or -1. If the host has closed its own
 * stderr, a pipe would get that number and the host's messages would go to the child. */
static int above_standard(int fd) {
    if (fd > STDERR_FILENO)
        return fd;
    int other = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    close(fd);
    return other;
}

/* ends[0] to read, ends[1] to write, both close-on-exec. */
static int open_pipe(int ends[2]) {
    ends[0] = ends[1] = -1;
    if (sis__pipe(ends) != 0)
        return -1;
    ends[0] = above_standard(ends[0]);
    ends[1] = above_standard(ends[1]);
    return ends[0] < 0 || ends[1] < 0 ? -1 : 0;
}

/* Libraries that start a thread per core would do so in every child. */
static const char *const thread_counts[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
                                            "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS",
                                            "VECLIB_MAXIMUM_THREADS"};
enum { N_COUNTS = sizeof thread_counts / sizeof *thread_counts, COUNT_TEXT = 48 };

/* Our environment, plus `threads` for each variable that is not set. texts holds the new ones.
 * NULL: no memory; the caller frees it. */
static char **environment(int threads, char texts[N_COUNTS][COUNT_TEXT]) {
    char **own = sis__environment();
    size_t n = 0, added = 0;
    while (own[n])
        n++;
    char **list = SIS_NEW(char *, n + N_COUNTS + 1);
    if (!list)
        return NULL;
    memcpy(list, own, n * sizeof *list);
    for (size_t i = 0; i < N_COUNTS && threads > 0; i++)
        if (!getenv(thread_counts[i])) {
            snprintf(texts[i], COUNT_TEXT, "%s=%d", thread_counts[i], threads);
            list[n + added++] = texts[i];
        }
    return list;
}

/* Start the process with its streams, default signals and its own process group. Returns an
 * errno. */
static int spawn(pid_t *pid, const char *command, char *const *env, const int streams[3]) {
    char *const argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, pipe_signal;
    int error = posix_spawn_file_actions_init(&files);
    if (error)
        return error;
    error = posix_spawnattr_init(&attr);
    if (error) {
        posix_spawn_file_actions_destroy(&files);
        return error;
    }
    sigemptyset(&none);
    sigemptyset(&pipe_signal);
    sigaddset(&pipe_signal, SIGPIPE);
    for (int i = 0; i < 3 && !error; i++)
        error = posix_spawn_file_actions_adddup2(&files, streams[i], i);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &pipe_signal);
    posix_spawnattr_setpgroup(&attr, 0);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF |
                                        POSIX_SPAWN_SETPGROUP);
    if (!error)
        error = posix_spawn(pid, "/bin/sh", &files, &attr, argv, env);
    posix_spawnattr_destroy(&attr);
    posix_spawn_file_actions_destroy(&files);
    return error;
}

static int never_block(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int sis__child_start(sis__child *c, const char *command, int threads) {
    char texts[N_COUNTS][COUNT_TEXT], **env = environment(threads, texts);
    int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, error = 0;
    *c = SIS__CHILD_NONE;
    if (!env)
        return SIS_E_NOMEM;
    if (open_pipe(in) != 0 || open_pipe(out) != 0 || open_pipe(err) != 0 ||
        never_block(in[1]) != 0 || never_block(out[0]) != 0 || never_block(err[0]) != 0)
        error = errno;
    if (!error)
        error = spawn(&c->pid, command, env, (const int[]){in[0], out[1], err[1]});
    free(env);
    close_end(&in[0]);
    close_end(&out[1]);
    close_end(&err[1]);
    c->in = in[1];
    c->out = out[0];
    c->err = err[0];
    if (!error && sis__children_add(c->pid) == SIS_OK)
        return SIS_OK;
    c->pid = error ? 0 : c->pid;
    sis__child_stop(c);
    if (!error)
        return SIS_E_NOMEM;
    return sis__fail(SIS_E_MODEL, "cannot start a process: %s", strerror(error));
}

/* ---- stderr of the child --------------------------------------------------------------------- */

static void remember(sis__child *c, const char *text, size_t n) {
    if (n > sizeof c->said) {
        text += n - sizeof c->said;
        n = sizeof c->said;
    }
    size_t kept = sizeof c->said - n;
    if (kept > c->said_length)
        kept = c->said_length;
    memmove(c->said, c->said + c->said_length - kept, kept);
    memcpy(c->said + kept, text, n);
    c->said_length = kept + n;
}

static int is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

/* The start of the last `lines` lines that are not blank. */
static size_t last_lines(const char *text, size_t n, int lines) {
    size_t start = n;
    int blank = 1;
    for (size_t i = n; i-- > 0;) {
        if (text[i] == '\n') {
            if (!blank && --lines == 0)
                break;
            blank = 1;
        } else if (!is_blank(text[i])) {
            blank = 0;
            start = i;
        }
    }
    return start;
}

/* Join lines by " | "; control characters become spaces. */
static void last_words(const sis__child *c, char *text, size_t size) {
    char line[QUOTED + 8];
    size_t used = 0, end = c->said_length, at = last_lines(c->said, end, LAST_LINES);
    while (end > at && is_blank(c->said[end - 1]))
        end--;
    if (end - at > QUOTED)
        at = end - QUOTED;
    while (at < end && ((unsigned char)c->said[at] & 0xC0) == 0x80)
        at++; /* not in the middle of a UTF-8 character */
    for (; at < end && used + 4 < sizeof line; at++) {
        unsigned char letter = (unsigned char)c->said[at];
        if (letter != '\n') {
            line[used++] = letter < 0x20 || letter == 0x7F ? ' ' : (char)letter;
            continue;
        }
        while (used && line[used - 1] == ' ')
            used--;
        while (at + 1 < end && is_blank(c->said[at + 1]))
            at++;
        memcpy(line + used, " | ", 3);
        used += 3;
    }
    snprintf(text, size, "%s%.*s", used ? "; it said: " : "", (int)used, line);
}

static int fail_and_quote(const sis__child *c, const char *what) {
    char said[QUOTED + 32];
    last_words(c, said, sizeof said);
    return sis__fail(SIS_E_MODEL, "%s%s", what, said);
}

/* ---- Non-blocking input and output ----------------------------------------------------------- */

/* write() that neither blocks nor raises SIGPIPE. */
static ssize_t write_quietly(int fd, const char *bytes, size_t n) {
    sis__no_pipe_signal guard;
    sis__pipe_signal_hold(&guard);
    ssize_t written = write(fd, bytes, n);
    int error = errno;
    sis__pipe_signal_release(&guard);
    errno = error;
    return written;
}

static int try_again(int error) {
    return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

/* Send what the pipe accepts; stop if the child no longer reads. */
static void send_some(sis__child *c, const sis__buf *request, size_t *sent) {
    ssize_t n = write_quietly(c->in, request->data + *sent, request->len - *sent);
    if (n >= 0)
        *sent += (size_t)n;
    else if (!try_again(errno))
        close_end(&c->in);
}

/* Append the available bytes to the answer; close at the end. */
static void receive(sis__child *c) {
    char bytes[CHUNK];
    ssize_t n = read(c->out, bytes, sizeof bytes);
    if (n > 0)
        sis__buf_add(&c->answer, bytes, (size_t)n);
    else if (n == 0 || !try_again(errno))
        close_end(&c->out);
}

static void hear(sis__child *c) {
    char bytes[CHUNK];
    ssize_t n = 0;
    for (int i = 0; i < 16 && (n = read(c->err, bytes, sizeof bytes)) > 0; i++)
        remember(c, bytes, (size_t)n);
    if (n == 0 || (n < 0 && !try_again(errno)))
        close_end(&c->err);
}

/* Has it ended? It stays a zombie, so that its process group id stays reserved; -1 if unknown,
 * because the host program waits for all children itself. */
static int has_ended(pid_t pid) {
    siginfo_t info = {0};
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0)
        return errno == ECHILD ? -1 : 0;
    return info.si_pid == pid;
}

/* Wait for an event and handle it, at most `seconds` (negative: no limit) and never longer than a
 * slice. */
static void serve(sis__child *c, const sis__buf *request, size_t *sent, double seconds) {
    struct pollfd fds[3] = {{.fd = c->out, .events = POLLIN},
                            {.fd = c->err, .events = POLLIN},
                            {.fd = *sent < request->len ? c->in : -1, .events = POLLOUT}};
    int milliseconds = seconds < 0 || seconds > SLICE ? 1000 * SLICE : (int)ceil(seconds * 1e3);
    int ready = poll(fds, 3, milliseconds);
    if (ready == 0 && has_ended(c->pid) == 1)
        close_end(&c->out); /* a descendant may hold the pipe open: no answer will come */
    if (ready <= 0)
        return;
    if (fds[0].revents)
        receive(c);
    if (fds[1].revents)
        hear(c);
    if (fds[2].revents)
        send_some(c, request, sent);
}

/* ---- End of a child -------------------------------------------------------------------------- */

/* Wait for its end and keep reading its stderr. */
static int await_end(sis__child *c, double seconds) {
    double deadline = sis__seconds() + seconds;
    for (long pause = 200000; !has_ended(c->pid); pause += pause / 2) {
        if (sis__seconds() >= deadline)
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = pause < 20000000 ? pause : 20000000}, NULL);
        if (c->err >= 0)
            hear(c);
    }
    if (c->err >= 0)
        hear(c);
    return 1;
}

/* Kill the rest of the group and collect the exit status; -1 if it is unknown. */
static int reap(sis__child *c) {
    int status = -1;
    pid_t pid = c->pid;
    sis__children_remove(pid);
    if (pid > 0 && has_ended(pid) >= 0) {
        kill(-pid, SIGKILL);
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
            continue;
    }
    c->pid = 0;
    close_end(&c->in);
    close_end(&c->out);
    close_end(&c->err);
    return status;
}

void sis__child_stop(sis__child *c) {
    if (c->pid > 0) {
        close_end(&c->in);
        close_end(&c->out);
        if (!await_end(c, GRACE) && kill(-c->pid, SIGTERM) == 0)
            await_end(c, GRACE / 4);
    }
    reap(c);
    sis__buf_release(&c->answer);
}

/* It closed its stdout: why? */
static int fail_ended(sis__child *c) {
    char what[160];
    int ended = await_end(c, GRACE), status = reap(c), n = 0;
    if (!ended)
        return fail_and_quote(c, "closed its output but kept running");
    if (status == -1)
        n = snprintf(what, sizeof what, "ended");
    else if (WIFSIGNALED(status))
        n = snprintf(what, sizeof what, "was killed by signal %d (%s)", WTERMSIG(status),
                     strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status) == 127)
        n = snprintf(what, sizeof what, "command not found (exit status 127)");
    else if (WEXITSTATUS(status) == 126)
        n = snprintf(what, sizeof what, "the command cannot be executed (exit status 126)");
    else
        n = snprintf(what, sizeof what, "ended with exit status %d", WEXITSTATUS(status));
    if (c->answer.len > 0)
        snprintf(what + n, sizeof what - (size_t)n, " in the middle of an answer (no newline)");
    else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        snprintf(what + n, sizeof what - (size_t)n,
                 " (it is to answer line after line, until there are no more)");
    return fail_and_quote(c, what);
}

static int fail_and_kill(sis__child *c, const char *what) {
    if (c->err >= 0)
        hear(c);
    reap(c);
    return fail_and_quote(c, what);
}

/* ---- Ask ------------------------------------------------------------------------------------- */

/* The length of the first line, once it is complete. */
static int find_line(sis__child *c, size_t *length) {
    const char *from = c->answer.data + c->looked;
    const char *newline =
        c->answer.len > c->looked ? memchr(from, '\n', c->answer.len - c->looked) : NULL;
    c->looked = c->answer.len;
    if (newline)
        *length = (size_t)(newline - c->answer.data);
    return newline != NULL;
}

static int fail_late(sis__child *c, double timeout) {
    char what[128];
    sis__format(what, sizeof what, "no answer within %g s (does it answer each line, and flush?)",
                timeout);
    return fail_and_kill(c, what);
}

static int fail_talkative(sis__child *c, const char *line, size_t length) {
    char what[256], excerpt[128];
    sis__answer_excerpt(line, length, excerpt, sizeof excerpt);
    snprintf(what, sizeof what,
             "wrote an unexpected line (write one line for each request to stdout): %s", excerpt);
    return fail_and_kill(c, what);
}

/* Output on stdout before the request is an error. */
static int start_afresh(sis__child *c) {
    size_t none = 0;
    sis__buf_clear(&c->answer);
    c->looked = 0;
    if (c->pid == 0)
        return sis__fail(SIS_E_MODEL, "failed before and is not running");
    serve(c, &(sis__buf){0}, &none, 0);
    return c->answer.len ? fail_talkative(c, c->answer.data, c->answer.len) : SIS_OK;
}

int sis__child_ask(sis__child *c, const sis__buf *request, double timeout, char **line,
                   size_t *length) {
    double deadline = sis__seconds() + timeout, left = -1;
    size_t sent = 0;
    int complete = 0, code = start_afresh(c);
    if (code != SIS_OK)
        return code;
    while (!complete || (sent < request->len && c->in >= 0)) {
        if (timeout > 0 && (left = deadline - sis__seconds()) <= 0)
            return fail_late(c, timeout);
        if (c->out < 0)
            return fail_ended(c);
        serve(c, request, &sent, left);
        if (sis__buf_error(&c->answer)) {
            reap(c);
            return SIS_E_NOMEM;
        }
        if (c->answer.len > LONGEST_ANSWER)
            return fail_and_kill(c, "an answer of more than 256 MiB");
        complete = complete || find_line(c, length);
    }
    if (*length + 1 < c->answer.len) { /* quote the extra line */
        size_t from = c->answer.data[0] == '{' ? *length + 1 : 0;
        return fail_talkative(c, c->answer.data + from, c->answer.len - from);
    }
    c->answer.data[*length] = '\0';
    *line = c->answer.data;
    return SIS_OK;
}
