/* SPDX-License-Identifier: MIT
 *
 * base/platform.c: the native and the portable version do the same. The portable one is compiled
 * here, under other names.
 */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

#include "base/children.h"
#include "base/platform.h"

static const struct side {
    int (*cores)(void);
    int (*pipe)(int ends[2]);
    int (*socket)(int family);
    void (*signal_discard)(int number);
    void (*sort)(void *, size_t, size_t, int (*)(const void *, const void *, void *), void *);
} native = {sis__cores, sis__pipe, sis__socket, sis__signal_discard, sis__sort};

#define SIS_PORTABLE
#define sis__cores portable_cores
#define sis__pipe portable_pipe
#define sis__socket portable_socket
#define sis__signal_discard portable_signal_discard
#define sis__sort portable_sort
#define sis__heap_bytes portable_heap_bytes
#define sis__program_path portable_program_path
#define sis__environment portable_environment
#define sis__changed_at portable_changed_at
#include "base/platform.c"
#undef sis__program_path
#undef sis__environment
#undef sis__changed_at
#undef sis__heap_bytes

static const struct side portable = {portable_cores, portable_pipe, portable_socket,
                                     portable_signal_discard, portable_sort};
static const struct side *const sides[] = {&native, &portable};
#define EACH_SIDE(s) for (const struct side *const *s = sides; s < sides + 2; s++)

static void cores_are_counted(void **state) {
    (void)state;
    EACH_SIDE(s) assert_in_range((*s)->cores(), 1, 1 << 20);
    assert_true(native.cores() <= portable.cores()); /* this process may be bound to fewer */
}

static void pipes_and_sockets_are_closed_by_exec(void **state) {
    (void)state;
    EACH_SIDE(s) {
        int ends[2], fd = (*s)->socket(AF_INET);
        char byte = 0;
        assert_int_equal((*s)->pipe(ends), 0);
        assert_true(fd >= 0);
        assert_true(fcntl(ends[0], F_GETFD) & fcntl(ends[1], F_GETFD) & fcntl(fd, F_GETFD) &
                    FD_CLOEXEC);
        assert_false(fcntl(ends[0], F_GETFL) & O_NONBLOCK);
        assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
        assert_int_equal(write(ends[1], "x", 1), 1);
        assert_int_equal(read(ends[0], &byte, 1), 1);
        assert_int_equal(byte, 'x');
        close(ends[0]);
        close(ends[1]);
        close(fd);
        assert_int_equal((*s)->socket(-1), -1);
    }
}

static int is_pending(int number) {
    sigset_t set;
    sigpending(&set);
    return sigismember(&set, number);
}

static void pending_signals_are_discarded(void **state) {
    (void)state;
    sigset_t set, before;
    sigemptyset(&set);
    sigaddset(&set, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &set, &before);
    EACH_SIDE(s) {
        pthread_kill(pthread_self(), SIGPIPE);
        assert_true(is_pending(SIGPIPE));
        (*s)->signal_discard(SIGPIPE);
        assert_false(is_pending(SIGPIPE));
        (*s)->signal_discard(SIGPIPE); /* nothing to wait for */
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

typedef struct {
    int key;
    char padding[9];
} item;

static int by_key(const void *a, const void *b, void *ctx) {
    int x = ((const item *)a)->key, y = ((const item *)b)->key;
    return *(const int *)ctx * ((x > y) - (x < y));
}

static void items_are_sorted(void **state) {
    (void)state;
    enum { MAX = 300 };
    EACH_SIDE(s)
    for (int n = 0; n <= MAX; n = n < 20 ? n + 1 : n + 40)
        for (int sign = -1, kind = 0; kind < 4; kind++, sign = -sign) {
            item list[MAX + 1];
            long sum = 0, found = 0;
            for (int i = 0; i < n; i++) {
                list[i].key = kind == 0   ? i
                              : kind == 1 ? n - i
                                          : (i * 7919 + 13) % (kind == 2 ? 10 : 1009);
                memset(list[i].padding, list[i].key % 100, sizeof list[i].padding);
                sum += list[i].key;
            }
            (*s)->sort(list, (size_t)n, sizeof *list, by_key, &sign);
            for (int i = 0; i < n; i++) {
                found += list[i].key;
                assert_int_equal(list[i].padding[8], list[i].key % 100);
                assert_true(i == 0 || sign * list[i - 1].key <= sign * list[i].key);
            }
            assert_int_equal(sum, found);
        }
}

static void files_have_times(void **state) {
    (void)state;
    struct stat about;
    assert_int_equal(stat("/", &about), 0);
    struct timespec a = sis__changed_at(&about), b = portable_changed_at(&about);
    assert_true(a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec && a.tv_sec > 0);
}

static void the_system_is_asked_about_the_program(void **state) {
    (void)state;
    char path[4096], small[4];
    assert_ptr_equal(sis__environment(), portable_environment());
#ifdef __linux__
    assert_int_equal(sis__program_path(path, sizeof path), 0);
    assert_true(access(path, X_OK) == 0 && path[0] == '/');
    assert_int_equal(sis__program_path(small, sizeof small), -1);
    assert_int_equal(portable_program_path(path, sizeof path), -1);
#endif
    assert_int_equal(portable_heap_bytes(), 0);
    (void)sis__heap_bytes();
    (void)small;
}

static void children_are_ended(void **state) {
    (void)state;
    int status;
    pid_t child[3];
    for (int i = 0; i < 3; i++) {
        if ((child[i] = fork()) == 0) {
            if (i == 1)
                setpgid(0, 0);
            for (;;)
                pause();
        }
        assert_true(child[i] > 0);
        if (i == 1)
            setpgid(child[i], child[i]);
        assert_int_equal(sis__children_add(child[i]), 0);
    }
    sis__children_remove(child[2]);
    sis__children_end();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(waitpid(child[i], &status, 0), child[i]);
        assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
        sis__children_remove(child[i]);
    }
    assert_int_equal(waitpid(child[2], &status, WNOHANG), 0); /* not ended: it was removed */
    kill(child[2], SIGKILL);
    assert_int_equal(waitpid(child[2], &status, 0), child[2]);
    sis__children_end(); /* no child is left */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cores_are_counted),
        cmocka_unit_test(pipes_and_sockets_are_closed_by_exec),
        cmocka_unit_test(pending_signals_are_discarded),
        cmocka_unit_test(items_are_sorted),
        cmocka_unit_test(files_have_times),
        cmocka_unit_test(the_system_is_asked_about_the_program),
        cmocka_unit_test(children_are_ended),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
