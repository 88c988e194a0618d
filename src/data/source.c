/* SPDX-License-Identifier: MIT
 *
 * Bytes from a file or standard input. See source.h.
 *
 * Files are read, not mapped: a mapped file that another process cuts short kills the reader, and a
 * pipe cannot be mapped at all. The size of a regular file is known beforehand, so a block that the
 * file cannot hold is refused before any memory is asked for; from a pipe, memory doubles with what
 * has come.
 */
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

enum { CHUNK = 1 << 16 };

int sis__source_open(sis__source *s, const char *path) {
    int standard = strcmp(path, "-") == 0;
    *s = (sis__source){.name = standard ? "standard input" : path, .fd = -1, .size = SIZE_MAX};
    s->chunk = (unsigned char *)sis__alloc_raw(CHUNK, 1);
    if (!s->chunk)
        return s->error = SIS_E_NOMEM;
    s->fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    s->owned = !standard;
    struct stat about;
    if (s->fd < 0 || fstat(s->fd, &about) != 0)
        return s->error = sis__fail(SIS_E_IO, "cannot open %s: %s", s->name, strerror(errno));
    if (S_ISREG(about.st_mode) && about.st_size > 0 && !standard)
        s->size = (size_t)about.st_size;
    return SIS_OK;
}

void sis__source_close(sis__source *s) {
    if (s->owned && s->fd >= 0)
        close(s->fd);
    free(s->chunk);
    *s = (sis__source){.fd = -1};
}

/* Up to n bytes straight from the file; 0 at its end and after a failure. */
static size_t pull(sis__source *s, void *to, size_t n) {
    ssize_t got;
    if (s->error != SIS_OK)
        return 0;
    do
        got = read(s->fd, to, n);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        s->error = sis__fail(SIS_E_IO, "cannot read %s: %s", s->name, strerror(errno));
    return got > 0 ? (size_t)got : 0;
}

int sis__source_fill(sis__source *s) {
    s->next = 0;
    s->filled = pull(s, s->chunk, CHUNK);
    return s->filled > 0;
}

/* Up to n bytes, first what the chunk still has. */
static size_t read_block(sis__source *s, unsigned char *to, size_t n) {
    size_t have = s->filled - s->next, got = have < n ? have : n, more = 1;
    memcpy(to, s->chunk + s->next, got);
    s->next += got;
    for (; got < n && more; got += more)
        more = pull(s, to + got, n - got);
    s->offset += got;
    return got;
}

int sis__source_take(sis__source *s, size_t n, unsigned char **out, size_t *got) {
    unsigned char *bytes = NULL;
    *out = NULL;
    *got = 0;
    int sized = s->size != SIZE_MAX;
    if (sized && (s->size < s->offset || s->size - s->offset < n)) {
        *got = s->size < s->offset ? 0 : s->size - s->offset;
        return SIS_E_FORMAT;
    }
    do {
        size_t room = sized || n <= CHUNK ? n : *got < CHUNK ? CHUNK : *got * 2 < n ? *got * 2 : n;
        unsigned char *grown = (unsigned char *)sis__realloc(bytes, room, 1);
        if (!grown) {
            free(bytes);
            return SIS_E_NOMEM;
        }
        bytes = grown;
        *got += read_block(s, bytes + *got, room - *got);
        if (*got < room) {
            free(bytes);
            return s->error != SIS_OK ? s->error : SIS_E_FORMAT;
        }
    } while (*got < n);
    *out = bytes;
    return SIS_OK;
}

int sis__source_line(sis__source *s, size_t most, sis__buf *line) {
    sis__buf_clear(line);
    while (sis__source_peek(s) != SIS__SOURCE_END) {
        const unsigned char *from = s->chunk + s->next;
        const unsigned char *newline = memchr(from, '\n', s->filled - s->next);
        size_t n = newline ? (size_t)(newline - from) + 1 : s->filled - s->next;
        if (n > most - line->len)
            return sis__fail(SIS_E_FORMAT, "longer than %zu bytes", most);
        sis__buf_add(line, from, n);
        s->next += n;
        s->offset += n;
        if (sis__buf_error(line) != SIS_OK)
            return SIS_E_NOMEM;
        if (newline)
            return 1;
    }
    return s->error != SIS_OK ? s->error : line->len > 0;
}
