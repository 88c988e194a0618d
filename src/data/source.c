/* SPDX-License-Identifier: MIT
 *
 * Bytes from a file or standard input. See source.h.
 *
 * Files are read, not mapped: a mapped file that another process cuts short kills the reader, and a
 * pipe cannot be mapped at all. The size of a regular file is known beforehand, so a block that the
 * file cannot hold is refused before any memory is asked for; from a pipe, memory doubles with what
 * has come.
 *
 * gzip is unpacked by zlib on the way, several members one after the other as gunzip does. A
 * megabyte of it may stand for a gigabyte, so there is a limit to what is unpacked; and a file that
 * ends in the middle, or whose checksum is wrong, is an error and not a shorter file.
 */
#include "data/source.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"

enum { CHUNK = 1 << 16 };

/* The most that is unpacked of one file. */
static const size_t UNPACK_MOST = (size_t)2 << 30;

struct sis__unpack {
    z_stream z;
    unsigned char packed[CHUNK]; /* what zlib reads from */
    size_t out;                  /* bytes unpacked so far */
    int between;                 /* a member has ended and the next has not begun */
    int begun;                   /* inflateInit was called */
};

static int open_raw(sis__source *s, const char *path) {
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
    if (s->unpack && s->unpack->begun)
        inflateEnd(&s->unpack->z);
    free(s->unpack);
    free(s->chunk);
    *s = (sis__source){.fd = -1};
}

/* Up to n bytes straight from the file; 0 at its end and after a failure. */
static size_t pull_raw(sis__source *s, void *to, size_t n) {
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

/* ---- gzip ---------------------------------------------------------------------------------- */

/* More for zlib to read; 0 if the file has no more. */
static int feed(sis__source *s) {
    struct sis__unpack *u = s->unpack;
    u->z.next_in = u->packed;
    u->z.avail_in = (uInt)pull_raw(s, u->packed, CHUNK);
    return u->z.avail_in > 0;
}

/* Another member, or the zeros that tape archives leave behind the last one. */
static int begin_member(sis__source *s) {
    struct sis__unpack *u = s->unpack;
    while (u->z.avail_in > 0 || feed(s)) {
        if (*u->z.next_in != 0) {
            u->between = 0;
            return inflateReset(&u->z) == Z_OK;
        }
        u->z.next_in++;
        u->z.avail_in--;
    }
    return 0;
}

static void damaged(sis__source *s, int result) {
    if (result == Z_MEM_ERROR)
        s->error = sis__fail(SIS_E_NOMEM, "out of memory");
    else
        s->error =
            sis__fail(SIS_E_FORMAT, "%s: %s", s->name,
                      result == Z_OK ? "the compressed file is cut off; get it again"
                                     : "the compressed file is damaged (gzip); get it again");
}

/* Up to n bytes unpacked; 0 at the end and after a failure. */
static size_t pull_unpacked(sis__source *s, void *to, size_t n) {
    struct sis__unpack *u = s->unpack;
    size_t most = n < CHUNK * 64 ? n : CHUNK * 64;
    int result = Z_OK;
    u->z.next_out = (Bytef *)to;
    u->z.avail_out = (uInt)most;
    while (u->z.avail_out > 0 && s->error == SIS_OK) {
        if (u->between && !begin_member(s))
            break;
        if (u->z.avail_in == 0 && !feed(s) && s->error == SIS_OK)
            damaged(s, Z_OK);
        if (s->error != SIS_OK)
            break;
        result = inflate(&u->z, Z_NO_FLUSH);
        u->between = result == Z_STREAM_END;
        if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR)
            damaged(s, result);
    }
    size_t got = most - u->z.avail_out;
    u->out += got;
    if (u->out > UNPACK_MOST && s->error == SIS_OK)
        s->error = sis__fail(SIS_E_FORMAT, "%s: unpacks to more than %zu MiB; split it", s->name,
                             UNPACK_MOST >> 20);
    return s->error == SIS_OK ? got : 0;
}

static size_t pull(sis__source *s, void *to, size_t n) {
    return s->unpack ? pull_unpacked(s, to, n) : pull_raw(s, to, n);
}

/* Does the first chunk begin a gzip file? Then it is zlib's to read. */
static int look_for_gzip(sis__source *s) {
    while (s->filled < 2) {
        size_t got = pull_raw(s, s->chunk + s->filled, CHUNK - s->filled);
        if (got == 0)
            return s->error;
        s->filled += got;
    }
    if (s->chunk[0] != 0x1F || s->chunk[1] != 0x8B)
        return SIS_OK;
    struct sis__unpack *u = s->unpack = SIS_NEW(struct sis__unpack, 1);
    if (!u)
        return s->error = SIS_E_NOMEM;
    if (inflateInit2(&u->z, 15 + 16) != Z_OK)
        return s->error = sis__fail(SIS_E_NOMEM, "out of memory");
    u->begun = 1;
    memcpy(u->packed, s->chunk, s->filled);
    u->z.next_in = u->packed;
    u->z.avail_in = (uInt)s->filled;
    s->filled = 0;
    s->size = SIZE_MAX;
    return SIS_OK;
}

int sis__source_open(sis__source *s, const char *path) {
    int code = open_raw(s, path);
    return code == SIS_OK ? look_for_gzip(s) : code;
}

/* ---- Handing out --------------------------------------------------------------------------- */

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
