/* SPDX-License-Identifier: MIT
 *
 * Everything that differs between Linux with glibc and other systems. Each function has a Linux
 * version where that is better, and a POSIX version for all other systems. -DSIS_PORTABLE forces
 * the latter; tests/unit/test_base_platform.c runs both.
 */
#ifndef SIS_BASE_PLATFORM_H
#define SIS_BASE_PLATFORM_H

#include <stddef.h>
#include <sys/types.h>

#if __SIZEOF_POINTER__ < 8
#error "sis needs a 64-bit system: sizes of networks and data sets exceed 32 bits"
#endif
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "sis needs a little-endian system: it reads the values of ONNX and .npy files in place"
#endif

struct stat;
struct timespec;

/* Cores this process may use, at least 1. */
int sis__cores(void);

/* ends[0] to read, ends[1] to write, both close-on-exec. 0, or -1 and errno. */
int sis__pipe(int ends[2]);

/* A non-blocking stream socket, close-on-exec; -1 and errno. */
int sis__socket(int family);

/* Discard a signal that is blocked and pending for this thread. */
void sis__signal_discard(int number);

/* qsort with a context for the comparison. Not stable. */
void sis__sort(void *items, size_t n, size_t size,
               int (*compare)(const void *a, const void *b, void *ctx), void *ctx);

/* Bytes allocated by malloc; 0 if the system does not report them. */
size_t sis__heap_bytes(void);

/* The path of this program; 0, or -1 if it is unknown or does not fit `room`. */
int sis__program_path(char *path, size_t room);

/* The environment, ended by NULL. */
char **sis__environment(void);

/* When a file was last changed. */
struct timespec sis__changed_at(const struct stat *about);

#endif
