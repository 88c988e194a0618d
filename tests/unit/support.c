/* SPDX-License-Identifier: MIT
 *
 * See support.h. The linker's --wrap sends the malloc family of everything linked statically into a
 * test through here; shared libraries keep their own.
 */
#include "support.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/error.h>

static atomic_long countdown; /* allocations until the failure; 0 = off */
static atomic_int forever_after, failed;

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static int refuse(void) {
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

void fail_allocation(long n, int forever) {
    atomic_store(&failed, 0);
    atomic_store(&forever_after, forever);
    atomic_store(&countdown, n);
}

int allocation_failed(void) {
    return atomic_load(&failed);
}

long with_failing_allocations(int (*fn)(void *ctx), void *ctx) {
    for (long n = 1;; n++) {
        assert_true(n < 100000);
        fail_allocation(n, n % 2 == 0);
        int result = fn(ctx);
        int hit = allocation_failed();
        fail_allocation(0, 0);
        if (!hit) {
            assert_int_equal(result, SIS_OK);
            return n;
        }
        if (result != SIS_OK)
            assert_int_equal(result, SIS_E_NOMEM);
    }
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

/* ---- Random cases ---------------------------------------------------------------------------- */

size_t rounds(size_t n) {
#ifdef __SANITIZE_ADDRESS__
    return (n + 5) / 6;
#else
    return n;
#endif
}
