/* SPDX-License-Identifier: MIT
 *
 * See support.h. The linker's --wrap redirects the malloc family of all statically linked code to
 * the functions here. Shared libraries keep their own.
 */
#include "support.h"

#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/error.h>

static atomic_long countdown; /* allocations until the failure; 0 = off */
static atomic_int forever_after, failed;

/* Hashes of the call stacks of all allocations so far, in order, over all watched runs. */
static struct {
    atomic_int on;
    pthread_mutex_t lock;
    uint64_t *calls;
    size_t n, max;
} seen = {.lock = PTHREAD_MUTEX_INITIALIZER};

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__real_aligned_alloc(size_t alignment, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);
void *__wrap_aligned_alloc(size_t alignment, size_t n);

static void note_calls(void) {
    void *frames[32];
    uint64_t hash = 0;
    int n = backtrace(frames, 32);
    for (int k = 2; k < n; k++) /* skips this function and its caller */
        hash = hash * 0x9e3779b97f4a7c15U + (uintptr_t)frames[k];
    pthread_mutex_lock(&seen.lock);
    if (seen.n == seen.max) {
        seen.max = 2 * seen.max + 256;
        seen.calls = (uint64_t *)__real_realloc(seen.calls, seen.max * sizeof *seen.calls);
        assert_non_null(seen.calls);
    }
    seen.calls[seen.n++] = hash;
    pthread_mutex_unlock(&seen.lock);
}

static int refuse(void) {
    if (atomic_load(&seen.on))
        note_calls();
    long left = atomic_load(&countdown);
    if (left <= 0)
        return 0;
    if (left == 1 && atomic_load(&forever_after)) {
        atomic_store(&failed, 1);
        return 1;
    }
    if (atomic_fetch_sub(&countdown, 1) != 1)
        return 0;
    atomic_store(&failed, 1);
    return 1;
}

void *__wrap_malloc(size_t n) {
    return refuse() ? NULL : __real_malloc(n);
}

void *__wrap_calloc(size_t n, size_t size) {
    return refuse() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t n) {
    return refuse() ? NULL : __real_realloc(p, n);
}

void *__wrap_aligned_alloc(size_t alignment, size_t n) {
    return refuse() ? NULL : __real_aligned_alloc(alignment, n);
}

void fail_allocation(long n, int forever) {
    atomic_store(&failed, 0);
    atomic_store(&forever_after, forever);
    atomic_store(&countdown, n);
}

int allocation_failed(void) {
    return atomic_load(&failed);
}

/* Runs fn with the n-th allocation (from 1) failing, if the run gets that far. */
static void run_without(long n, int (*fn)(void *ctx), void *ctx) {
    fail_allocation(n, n % 2 == 0);
    int result = fn(ctx);
    int hit = allocation_failed();
    fail_allocation(0, 0);
    if (result != SIS_OK || !hit)
        assert_int_equal(result, hit ? SIS_E_NOMEM : SIS_OK);
}

/* Is the i-th allocation the 1st, 2nd, 3rd, 4th, 8th, 16th ... that these calls made so far? */
static int is_worth_failing(size_t i) {
    size_t before = 0;
    for (size_t k = 0; k < i; k++)
        before += seen.calls[k] == seen.calls[i];
    return before == 2 || ((before + 1) & before) == 0;
}

long with_failing_allocations(int (*fn)(void *ctx), void *ctx) {
    assert_int_equal(fn(ctx), SIS_OK); /* allocates what is made once and kept */
    size_t first = seen.n;
    atomic_store(&seen.on, 1);
    int result = fn(ctx);
    atomic_store(&seen.on, 0);
    assert_int_equal(result, SIS_OK);
    size_t n = seen.n - first;
    assert_true(n < 100000);
    for (size_t i = 0; i < n; i++)
        if (is_worth_failing(first + i))
            run_without((long)i + 1, fn, ctx);
    return (long)n + 1;
}

/* Frees memory at the end of the program, for the sanitized builds. */
__attribute__((destructor)) static void forget_calls(void) {
    free(seen.calls);
}

const char *shared_data(const char *name) {
    static char path[4096];
    snprintf(path, sizeof path, "%s/../shared/data/%s", SIS_SOURCE_DIR, name);
    if (access(path, R_OK) == 0)
        return path;
    printf("skipped: %s is not here\n", name);
    return NULL;
}

sis_opt decision(double threshold) {
    sis_opt opt;
    sis_opt_init(&opt);
    opt.threshold = threshold;
    return opt;
}

sis_method_opt method_opt(sis_method method) {
    sis_method_opt how;
    sis_method_opt_init(&how);
    how.method = method;
    return how;
}

void assert_message_has(const char *part) {
    const char *message = sis_error_detail();
    if (!strstr(message, part))
        fail_msg("the message is \"%s\", without \"%s\"", message, part);
    if (strpbrk(message, "\n\r\x1b"))
        fail_msg("the message is not one plain line: \"%s\"", message);
}

void assert_same_subsets(const sis_collection *a, const sis_collection *b) {
    assert_int_equal(a->status, b->status);
    assert_int_equal(a->n_subsets, b->n_subsets);
    for (size_t k = 0; k < a->n_subsets; k++) {
        assert_int_equal(a->subsets[k].n, b->subsets[k].n);
        assert_memory_equal(a->subsets[k].features, b->subsets[k].features,
                            a->subsets[k].n * sizeof(int));
    }
}

int sum_values(void *ctx, const double *rows, size_t n, size_t width, double *scores) {
    (void)ctx;
    for (size_t i = 0; i < n; i++) {
        scores[i] = 0;
        for (size_t k = 0; k < width; k++)
            scores[i] += rows[i * width + k];
    }
    return 0;
}

/* ---- Random cases ---------------------------------------------------------------------------- */

size_t rounds(size_t n) {
#ifdef __SANITIZE_ADDRESS__
    size_t every = 6;
#else
    size_t every = sizeof SIS_EMULATOR > 1 ? 24 : 1;
#endif
    return (n + every - 1) / every;
}
