/* SPDX-License-Identifier: MIT
 *
 * See file.h.
 */
#include "base/file.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

static int read_all(FILE *f, const char *path, char **bytes, size_t *n) {
    struct stat st;
    if (fstat(fileno(f), &st) != 0 || !S_ISREG(st.st_mode))
        return sis__fail(SIS_E_IO, "%s is not a file", path);
    if (st.st_size > INT32_MAX)
        return sis__fail(SIS_E_UNSUPPORTED, "%s is larger than 2 GB", path);
    *n = (size_t)st.st_size;
    *bytes = SIS_NEW_RAW(char, *n + 1);
    if (!*bytes)
        return SIS_E_NOMEM;
    (*bytes)[*n] = '\0';
    if (fread(*bytes, 1, *n, f) != *n)
        return sis__fail(SIS_E_IO, "cannot read %s", path);
    return SIS_OK;
}

int sis__file_read(const char *path, char **bytes, size_t *n) {
    *bytes = NULL;
    *n = 0;
    FILE *f = fopen(path, "rb");
    if (!f)
        return sis__fail(SIS_E_IO, "cannot open %s: %s", path, strerror(errno));
    int error = read_all(f, path, bytes, n);
    fclose(f);
    if (error) {
        free(*bytes);
        *bytes = NULL;
    }
    return error;
}

size_t sis__file_head(const char *path, char *head, size_t size) {
    FILE *f = fopen(path, "rb");
    struct stat st;
    if (!f)
        return 0;
    int regular = fstat(fileno(f), &st) == 0 && S_ISREG(st.st_mode);
    size_t n = regular ? fread(head, 1, size, f) : 0;
    fclose(f);
    return n;
}

int sis__file_part(const char *spec, char **file, const char **name) {
    const char *mark = strrchr(spec, '#');
    *name = mark && access(spec, F_OK) != 0 ? mark + 1 : NULL;
    *file = sis__strdup(spec);
    if (!*file)
        return SIS_E_NOMEM;
    if (*name)
        (*file)[mark - spec] = '\0';
    return SIS_OK;
}

int sis__file_same(const char *a, const char *b) {
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
