/* SPDX-License-Identifier: MIT
 *
 * See platform.h.
 */
#include "base/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#if defined(__linux__) && !defined(SIS_PORTABLE)
#define ON_LINUX 1
#include <sched.h>
#else
#define ON_LINUX 0
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif
#ifdef __APPLE__
#include <crt_externs.h>
#include <mach-o/dyld.h>
#include <xlocale.h>
#else
extern char **environ;
#endif

int sis__cores(void) {
#if ON_LINUX
    cpu_set_t set;
    CPU_ZERO(&set);
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
#else
    long n = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    return n > 0 ? (int)n : 1;
}

#if !ON_LINUX
static int set_flags(int fd, int blocking) {
    if (fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return -1;
    return blocking ? 0 : fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

static void close_quietly(int fd) {
    int error = errno;
    close(fd);
    errno = error;
}
#endif

int sis__pipe(int ends[2]) {
#if ON_LINUX
    return pipe2(ends, O_CLOEXEC);
#else
    if (pipe(ends) != 0)
        return -1;
    if (set_flags(ends[0], 1) == 0 && set_flags(ends[1], 1) == 0)
        return 0;
    close_quietly(ends[0]);
    close_quietly(ends[1]);
    ends[0] = ends[1] = -1;
    return -1;
#endif
}

int sis__socket(int family) {
#if ON_LINUX
    return socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
#else
    int fd = socket(family, SOCK_STREAM, 0);
    if (fd < 0 || set_flags(fd, 0) == 0)
        return fd;
    close_quietly(fd);
    return -1;
#endif
}

void sis__signal_discard(int number) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
#if ON_LINUX
    while (sigtimedwait(&set, NULL, &(struct timespec){0}) < 0 && errno == EINTR)
        continue;
#else
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    if (sigismember(&pending, number) == 1)
        sigwait(&set, &number);
#endif
}

#if ON_LINUX
void sis__sort(void *items, size_t n, size_t size,
               int (*compare)(const void *a, const void *b, void *ctx), void *ctx) {
    qsort_r(items, n, size, compare, ctx);
}
#else
static void swap(char *a, char *b, size_t size) {
    for (size_t i = 0; i < size; i++) {
        char t = a[i];
        a[i] = b[i];
        b[i] = t;
    }
}

/* Heapsort: in place, because a failed allocation could not be reported. */
void sis__sort(void *items, size_t n, size_t size,
               int (*compare)(const void *a, const void *b, void *ctx), void *ctx) {
    char *at = (char *)items;
    for (size_t start = n / 2, end = n; end > 1;) {
        if (start > 0)
            start--;
        else
            swap(at, at + --end * size, size);
        for (size_t i = start, child; (child = 2 * i + 1) < end; i = child) {
            if (child + 1 < end && compare(at + child * size, at + (child + 1) * size, ctx) < 0)
                child++;
            if (compare(at + i * size, at + child * size, ctx) >= 0)
                break;
            swap(at + i * size, at + child * size, size);
        }
    }
}
#endif

size_t sis__heap_bytes(void) {
#if ON_LINUX && defined(__GLIBC__)
#if __GLIBC_PREREQ(2, 33)
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
#endif
#endif
    return 0;
}

int sis__program_path(char *path, size_t room) {
#if ON_LINUX
    ssize_t n = readlink("/proc/self/exe", path, room);
    if (n < 0 || (size_t)n >= room)
        return -1;
    path[n] = '\0';
    return 0;
#elif defined(__APPLE__)
    uint32_t size = (uint32_t)room;
    return _NSGetExecutablePath(path, &size) == 0 ? 0 : -1;
#else
    (void)path, (void)room;
    return -1;
#endif
}

char **sis__environment(void) {
#ifdef __APPLE__
    return *_NSGetEnviron(); /* libraries have no environ there */
#else
    return environ;
#endif
}

struct timespec sis__changed_at(const struct stat *about) {
#ifdef __APPLE__
    return about->st_mtimespec;
#else
    return about->st_mtim;
#endif
}
