/* SPDX-License-Identifier: MIT
 *
 * Files for tests of readers: each test program has a folder of its own that is gone afterwards,
 * and ways to spoil a good file.
 */
#ifndef SIS_TEST_SUPPORT_DATA_H
#define SIS_TEST_SUPPORT_DATA_H

#include <sis/data.h>

#include "support.h"

/* Group setup and teardown: make the folder, remove it with everything in it. */
int folder_make(void **state);
int folder_remove(void **state);

/* The path of `name` in it; static storage, good until four more are asked for. */
const char *folder_path(const char *name);

/* Write n bytes to `name` there and return its path. */
const char *folder_write(const char *name, const void *bytes, size_t n);

/* The same for text. */
const char *folder_text(const char *name, const char *text);

/* The whole file, ended by a NUL; free() it. */
char *file_bytes(const char *path, size_t *n);

/* A .npy file in memory: version, header, numbers. */
typedef struct npy_image {
    unsigned char bytes[1 << 16];
    size_t n;
} npy_image;

void npy_image_make(npy_image *m, int major, const char *header, const void *numbers, size_t n);

/* Write it as a.npy and return its path; the same for version 1 in one step. */
const char *npy_image_file(const npy_image *m);
const char *npy_file(const char *header, const void *numbers, size_t n);

/* The data set of a file, which must be one. */
sis_data *data_open(const char *path);

/* Fail unless reading the file ends with that code, nothing, and a message with `part` in it. */
void data_refused(const char *path, int code, const char *part);

/* Hand `use` every spoiled version of the bytes: cut after each byte, each bit turned, and `random`
 * times a few random bytes set, inserted or removed. `name` is the file it is in. */
void with_spoiled_files(const char *name, const void *bytes, size_t n, int random,
                        void (*use)(const char *path));

/* Read such a file as a data set: it is one, or an error of its format, and no harm is done. */
void data_read_spoiled(const char *path);

/* The same with allocations that fail: ctx is the path. */
int data_read_once(void *ctx);

#endif
