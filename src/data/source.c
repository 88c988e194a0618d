/* SPDX-License-Identifier: MIT
 *
 * Bytes from a file or standard input. See source.h. Files are read, not mapped: a mapped file that
 * another process truncates kills the reader, and a pipe cannot be mapped. The size of a regular
 * file is known, so a block larger than the file is refused before memory is allocated; from a
 * pipe, memory doubles as data arrive.
 *
 * gzip is unpacked by zlib, with several members one after another as gunzip does. A megabyte may
 * unpack to a gigabyte, so the unpacked size is limited, and a header that promises more is refused
 * first. A truncated file or a wrong checksum is an error.
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

#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/platform.h"
#include "base/sha256.h"

enum { CHUNK = 1 << 16 };

/* Maximum unpacked size of one file. */
static const size_t UNPACK_MAX = (size_t)2 << 30;

struct sis__unpack {
    z_stream z;
    unsigned char packed[CHUNK]; /* what zlib reads from */
    size_t out;                  /* bytes unpacked so far */
    int between;                 /* at the boundary of two members */
    int begun;                   /* inflateInit was called */
};

static int open_raw(sis__source *s, const char *path) {
    int standard = strcmp(path, "-") == 0;
    *s = (sis__source){
        .name = standard ? "standard input" : path, .fd = -1, .size = SIZE_MAX, .packed = SIZE_MAX};
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
    sis__reread_free(s->reread);
    *s = (sis__source){.fd = -1};
}

/* Up to n bytes directly from the file; 0 at its end and after a failure. */
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

/* Read more input for zlib; 0 at the end of the file. */
static int feed(sis__source *s) {
    struct sis__unpack *u = s->unpack;
    u->z.next_in = u->packed;
    u->z.avail_in = (uInt)pull_raw(s, u->packed, CHUNK);
    return u->z.avail_in > 0;
}

/* Start the next member, or skip the zeros that tape archives append. */
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
                      result == Z_OK ? "the compressed file is cut off; download it again"
                                     : "the compressed file is damaged (gzip); download it again");
}

/* Up to n bytes unpacked; 0 at the end and after a failure. */
static size_t pull_unpacked(sis__source *s, void *to, size_t n) {
    struct sis__unpack *u = s->unpack;
    size_t max = n < CHUNK * 64 ? n : CHUNK * 64;
    int result = Z_OK;
    u->z.next_out = (Bytef *)to;
    u->z.avail_out = (uInt)max;
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
    size_t got = max - u->z.avail_out;
    u->out += got;
    if (u->out > UNPACK_MAX && s->error == SIS_OK)
        s->error = sis__fail(SIS_E_FORMAT, "%s: unpacks to more than %zu MiB; split it", s->name,
                             UNPACK_MAX >> 20);
    return s->error == SIS_OK ? got : 0;
}

/* ---- Reading again ------------------------------------------------------------------------- */

struct sis__reread {
    char *name;
    int fd;            /* the file or a temporary file; -1: the copy is in memory */
    int copies;        /* the data are a copy */
    sis__buf copy;     /* used while it is small */
    size_t n, memory;  /* bytes copied; limit for the copy in memory */
    struct stat about; /* the file when it was first read */
};

void sis__reread_free(sis__reread *r) {
    if (!r)
        return;
    if (r->fd >= 0)
        close(r->fd);
    sis__buf_release(&r->copy);
    free(r->name);
    free(r);
}

static int write_all(const sis__reread *r, const void *bytes, size_t n) {
    for (size_t done = 0; done < n;) {
        ssize_t put = write(r->fd, (const char *)bytes + done, n - done);
        if (put < 0 && errno != EINTR)
            return sis__fail(SIS_E_IO,
                             "cannot store %s in a temporary file: %s (TMPDIR names the folder)",
                             r->name, strerror(errno));
        done += put > 0 ? (size_t)put : 0;
    }
    return SIS_OK;
}

/* Move the copy to an unnamed temporary file. If that fails it stays in memory. */
static int leave_memory(sis__reread *r) {
    const char *folder = getenv("TMPDIR");
    char *path = sis__buf_text("%s/sis-XXXXXX", folder && *folder ? folder : "/tmp");
    int code = path ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK && (r->fd = mkstemp(path)) >= 0) {
        unlink(path);
        fcntl(r->fd, F_SETFD, FD_CLOEXEC);
        code = write_all(r, r->copy.data, r->copy.len);
        sis__buf_release(&r->copy);
    }
    r->memory = SIZE_MAX;
    free(path);
    return code;
}

static int add_copy(sis__reread *r, const void *bytes, size_t n) {
    r->n += n;
    if (r->fd >= 0)
        return write_all(r, bytes, n);
    sis__buf_add(&r->copy, bytes, n);
    int code = sis__buf_error(&r->copy);
    return code == SIS_OK && r->n > r->memory ? leave_memory(r) : code;
}

int sis__source_keep(sis__source *s, size_t memory) {
    sis__reread *r = s->reread = SIS_NEW(sis__reread, 1);
    if (!r)
        return s->error = SIS_E_NOMEM;
    *r = (sis__reread){.name = sis__strdup(s->name), .fd = -1, .memory = memory};
    sis__buf_init(&r->copy);
    if (!r->name)
        return s->error = SIS_E_NOMEM;
    r->copies = s->unpack || s->size == SIZE_MAX;
    if (r->copies)
        return s->error = add_copy(r, s->chunk, s->filled);
    r->fd = fcntl(s->fd, F_DUPFD_CLOEXEC, 0);
    if (r->fd < 0 || fstat(r->fd, &r->about) != 0)
        return s->error = sis__fail(SIS_E_IO, "cannot open %s: %s", s->name, strerror(errno));
    return SIS_OK;
}

sis__reread *sis__source_kept(sis__source *s) {
    sis__reread *r = s->reread;
    s->reread = NULL;
    return r;
}

static int has_changed(const sis__reread *r) {
    return sis__fail(SIS_E_IO, "%s: has changed since it was first read", r->name);
}

static int differ_in_time(const struct stat *a, const struct stat *b) {
    struct timespec x = sis__changed_at(a), y = sis__changed_at(b);
    return x.tv_sec != y.tv_sec || x.tv_nsec != y.tv_nsec;
}

int sis__source_section(sis__source *s, const sis__reread *r, size_t at, size_t end) {
    struct stat now;
    size_t size = r->copies ? r->n : (size_t)r->about.st_size;
    *s = (sis__source){.name = r->name,
                       .fd = -1,
                       .size = SIZE_MAX,
                       .packed = SIZE_MAX,
                       .section = r,
                       .at = at,
                       .end = end < size ? end : size};
    s->chunk = (unsigned char *)sis__alloc_raw(CHUNK, 1);
    if (!s->chunk)
        return s->error = SIS_E_NOMEM;
    if (!r->copies && (fstat(r->fd, &now) != 0 || now.st_size != r->about.st_size ||
                       differ_in_time(&now, &r->about)))
        return s->error = has_changed(r);
    return SIS_OK;
}

/* Up to n bytes of a section. */
static size_t pull_section(sis__source *s, void *to, size_t n) {
    const sis__reread *r = s->section;
    ssize_t got;
    n = n < s->end - s->at ? n : s->end - s->at;
    if (n == 0 || s->error != SIS_OK)
        return 0;
    if (r->fd < 0)
        memcpy(to, r->copy.data + s->at, n);
    do
        got = r->fd < 0 ? (ssize_t)n : pread(r->fd, to, n, (off_t)s->at);
    while (got < 0 && errno == EINTR);
    if (got <= 0)
        s->error = has_changed(r);
    s->at += got > 0 ? (size_t)got : 0;
    return got > 0 ? (size_t)got : 0;
}

static size_t pull(sis__source *s, void *to, size_t n) {
    if (s->section)
        return pull_section(s, to, n);
    size_t got = s->unpack ? pull_unpacked(s, to, n) : pull_raw(s, to, n);
    if (s->reread && s->reread->copies && s->error == SIS_OK)
        s->error = add_copy(s->reread, to, got);
    return s->error == SIS_OK ? got : 0;
}

/* Detect gzip, which zlib unpacks. */
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
    s->packed = s->size;
    s->size = SIZE_MAX;
    return SIS_OK;
}

int sis__source_check(const sis__source *s, size_t whole, size_t held) {
    enum { RATIO = 1032 }; /* the best ratio of deflate */
    if (!s->unpack)
        return SIS_OK;
    if (s->packed != SIZE_MAX && whole / RATIO > s->packed)
        return sis__fail(
            SIS_E_FORMAT,
            "%s: the header says %zu bytes, more than a compressed file of %zu bytes can contain",
            s->name, whole, s->packed);
    if (held > UNPACK_MAX)
        return sis__fail(SIS_E_FORMAT,
                         "%s: unpacks to %zu MiB, the limit is %zu MiB; split it, or choose fewer "
                         "examples with --rows",
                         s->name, held >> 20, UNPACK_MAX >> 20);
    return SIS_OK;
}

int sis__source_open(sis__source *s, const char *path) {
    int code = open_raw(s, path);
    return code == SIS_OK ? look_for_gzip(s) : code;
}

/* ---- Reading ------------------------------------------------------------------------------- */

int sis__source_fill(sis__source *s) {
    s->next = 0;
    s->filled = pull(s, s->chunk, CHUNK);
    return s->filled > 0;
}

void sis__source_skip_mark(sis__source *s) {
    static const unsigned char mark[] = {0xEF, 0xBB, 0xBF};
    for (size_t got = 1; got > 0 && s->filled - s->next < sizeof mark; s->filled += got)
        got = pull(s, s->chunk + s->filled, CHUNK - s->filled);
    if (s->filled - s->next >= sizeof mark && memcmp(s->chunk + s->next, mark, sizeof mark) == 0) {
        s->next += sizeof mark;
        s->offset += sizeof mark;
    }
}

/* Read up to n bytes, beginning with the rest of the chunk. */
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
    int sized = s->size != SIZE_MAX, known = sized || s->packed != SIZE_MAX;
    if (sized && (s->size < s->offset || s->size - s->offset < n)) {
        *got = s->size < s->offset ? 0 : s->size - s->offset;
        return SIS_E_FORMAT;
    }
    do {
        size_t room = known || n <= CHUNK ? n : *got < CHUNK ? CHUNK : *got * 2 < n ? *got * 2 : n;
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

/* Bytes of the chunk up to the end of the line, or all of them. */
static size_t line_part(const sis__source *s) {
    const unsigned char *from = s->chunk + s->next, *end;
    size_t n = s->filled - s->next;
    if ((end = memchr(from, '\n', n)) != NULL)
        n = (size_t)(end - from);
    if ((end = memchr(from, '\r', n)) != NULL)
        n = (size_t)(end - from);
    return n;
}

/* Skip LF, CR or CRLF, if it is next. */
static int take_end(sis__source *s) {
    int c = sis__source_peek(s);
    if (c == '\r' || c == '\n')
        sis__source_byte(s);
    if (c == '\r' && sis__source_peek(s) == '\n')
        sis__source_byte(s);
    return c == '\r' || c == '\n';
}

int sis__source_line(sis__source *s, size_t max, sis__buf *line) {
    sis__buf_clear(line);
    while (sis__source_peek(s) != SIS__SOURCE_END) {
        size_t n = line_part(s);
        if (n > max - line->len)
            return sis__fail(SIS_E_FORMAT, "longer than %zu bytes", max);
        sis__buf_add(line, s->chunk + s->next, n);
        s->next += n;
        s->offset += n;
        int ended = take_end(s);
        if (ended)
            sis__buf_char(line, '\n');
        if (sis__buf_error(line) != SIS_OK)
            return SIS_E_NOMEM;
        if (ended)
            return s->error == SIS_OK ? 1 : s->error;
    }
    return s->error != SIS_OK ? s->error : line->len > 0;
}

/* ---- Digest ---------------------------------------------------------------------------------- */

/* It is computed after unpacking, so recompressing a file does not change it. */
int sis_file_digest(const char *path, char hex[SIS_DIGEST_SIZE]) {
    sis__sha256 s;
    sis__source from;
    hex[0] = '\0';
    sis__sha256_init(&s);
    int code = sis__source_open(&from, path);
    while (code == SIS_OK && sis__source_peek(&from) != SIS__SOURCE_END) {
        sis__sha256_add(&s, from.chunk + from.next, from.filled - from.next);
        from.next = from.filled;
    }
    code = code == SIS_OK ? from.error : code;
    sis__source_close(&from);
    if (code == SIS_OK)
        sis__sha256_text(&s, hex);
    return code;
}
