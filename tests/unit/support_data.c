/* SPDX-License-Identifier: MIT
 *
 * See support_data.h.
 */
#include "support_data.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/data.h>

#include "base/rng.h"

static char folder[1024];

int folder_make(void **state) {
    (void)state;
    const char *base = getenv("TMPDIR");
    snprintf(folder, sizeof folder, "%s/sis-test-XXXXXX", base && *base ? base : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

int folder_remove(void **state) {
    (void)state;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));)
        unlink(folder_path(entry->d_name));
    if (dir)
        closedir(dir);
    return rmdir(folder);
}

const char *folder_path(const char *name) {
    static char paths[4][2048];
    static int next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof *paths, "%s/%s", folder, name);
    return path;
}

const char *folder_write(const char *name, const void *bytes, size_t n) {
    const char *path = folder_path(name);
    unlink(path); /* truncating and rewriting a file waits for the disk, a new file does not */
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_true(n == 0 || fwrite(bytes, n, 1, f) == 1);
    assert_int_equal(fclose(f), 0);
    return path;
}

const char *folder_text(const char *name, const char *text) {
    return folder_write(name, text, strlen(text));
}

char *file_bytes(const char *path, size_t *n) {
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    char *bytes = (char *)calloc(1, 1 << 20);
    assert_non_null(bytes);
    *n = fread(bytes, 1, (1 << 20) - 1, f);
    fclose(f);
    return bytes;
}

void npy_image_make(npy_image *m, int major, const char *header, const void *numbers, size_t n) {
    size_t length = strlen(header), at = 8;
    memcpy(m->bytes, "\x93NUMPY", 6);
    m->bytes[6] = (unsigned char)major;
    m->bytes[7] = 0;
    for (int i = 0; i < (major == 1 ? 2 : 4); i++)
        m->bytes[at++] = (unsigned char)(length >> (8 * i));
    memcpy(m->bytes + at, header, length);
    if (n)
        memcpy(m->bytes + at + length, numbers, n);
    m->n = at + length + n;
}

const char *npy_image_file(const npy_image *m) {
    return folder_write("a.npy", m->bytes, m->n);
}

const char *npy_file(const char *header, const void *numbers, size_t n) {
    npy_image m;
    npy_image_make(&m, 1, header, numbers, n);
    return npy_image_file(&m);
}

sis_data *data_open(const char *path) {
    sis_data *data;
    if (sis_data_read(path, NULL, &data) != SIS_OK)
        fail_msg("%s", sis_error_detail());
    return data;
}

void data_refused(const char *path, int code, const char *part) {
    sis_data *data = (sis_data *)(void *)&data;
    assert_int_equal(sis_data_read(path, NULL, &data), code);
    assert_null(data);
    assert_message_has(part);
}

static void spoil_at_random(sis__rng *r, unsigned char *bytes, size_t *n) {
    for (size_t k = 1 + sis__rng_below(r, 4); k > 0; k--) {
        size_t at = sis__rng_below(r, *n), what = sis__rng_below(r, 3);
        unsigned char byte = (unsigned char)sis__rng_next(r);
        if (what == 0)
            bytes[at] = byte;
        if (what == 1) {
            memmove(bytes + at + 1, bytes + at, *n - at);
            bytes[at] = byte;
            ++*n;
        }
        if (what == 2 && *n > 1) {
            memmove(bytes + at, bytes + at + 1, *n - at - 1);
            --*n;
        }
    }
}

void with_spoiled_files(const char *name, const void *bytes, size_t n, int random,
                        void (*use)(const char *path)) {
    unsigned char *copy = (unsigned char *)malloc(n + 8);
    sis__rng r;
    sis__rng_init(&r, 5);
    assert_non_null(copy);
    memcpy(copy, bytes, n);
    for (size_t cut = 0; cut < n; cut++)
        use(folder_write(name, bytes, cut));
    for (size_t bit = 0; bit < 8 * n; bit++) {
        copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
        use(folder_write(name, copy, n));
        copy[bit / 8] ^= (unsigned char)(1u << bit % 8);
    }
    for (int i = 0; i < random; i++) {
        size_t m = n;
        memcpy(copy, bytes, n);
        spoil_at_random(&r, copy, &m);
        use(folder_write(name, copy, m));
    }
    free(copy);
}

void data_read_spoiled(const char *path) {
    sis_data *data = NULL;
    int code = sis_data_read(path, NULL, &data);
    assert_true(code == SIS_E_FORMAT || code == SIS_OK);
    assert_true((data != NULL) == (code == SIS_OK));
    sis_data_free(data);
}

int data_read_once(void *ctx) {
    sis_data *data;
    int code = sis_data_read((const char *)ctx, NULL, &data);
    sis_data_free(data);
    return code;
}
