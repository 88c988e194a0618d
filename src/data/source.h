/* SPDX-License-Identifier: MIT
 *
 * Where readers get their bytes: a file or standard input, read forward once, a byte, a line or a
 * block at a time. Memory grows with what has arrived, never with what a header promises. What is
 * gzipped, whatever its name, is handed out unpacked.
 */
#ifndef SIS_DATA_SOURCE_H
#define SIS_DATA_SOURCE_H

#include <stddef.h>

#include "base/buf.h"

struct sis__reread;

typedef struct sis__source {
    const char *name; /* for messages; the path, borrowed */
    int fd, owned;    /* owned: ours to close */
    size_t size;      /* bytes in the file; SIZE_MAX if only the end will tell (a pipe, gzip) */
    struct sis__unpack *unpack; /* gzip; NULL: the bytes are as they are in the file */
    size_t packed;              /* bytes of the gzipped file; SIZE_MAX: not known */
    size_t offset;              /* bytes handed out */
    unsigned char *chunk;
    size_t next, filled;               /* what of the chunk is still to be handed out */
    struct sis__reread *reread;        /* what is handed out can be read again; NULL: it is not */
    const struct sis__reread *section; /* a part of what was read before: from `at` to `end` */
    size_t at, end;
    int error; /* sticks: why there are no more bytes, if not because it is the end */
} sis__source;

enum { SIS__SOURCE_END = -1 };

/* `path`, or standard input if it is "-". Close it whatever this returns. */
int sis__source_open(sis__source *s, const char *path);

void sis__source_close(sis__source *s);

/* Get more into the empty chunk; 0 if there is no more. */
int sis__source_fill(sis__source *s);

/* The next byte, or SIS__SOURCE_END at the end and after a failure (s->error tells which). */
static inline int sis__source_byte(sis__source *s) {
    if (s->next == s->filled && !sis__source_fill(s))
        return SIS__SOURCE_END;
    s->offset++;
    return s->chunk[s->next++];
}

/* The same without taking it. */
static inline int sis__source_peek(sis__source *s) {
    if (s->next == s->filled && !sis__source_fill(s))
        return SIS__SOURCE_END;
    return s->chunk[s->next];
}

/* At the beginning: pass over the mark some programs put before UTF-8, if it is there. What can be
 * peeked at then is three bytes, or all there are. */
void sis__source_skip_mark(sis__source *s);

/* Can `whole` more bytes be in a gzipped file, and may `held` of them be in memory? An error with a
 * message if not. To be asked before sis__source_take() of what a header promises. */
int sis__source_check(const sis__source *s, size_t whole, size_t held);

/* Exactly n bytes in new memory, which is the caller's to free(). *got says how many there were if
 * that is fewer (SIS_E_FORMAT, without a message). */
int sis__source_take(sis__source *s, size_t n, unsigned char **out, size_t *got);

/* Put the next line into `line`, with a newline for its end if it has one: LF, CR or CRLF. 1: there was one,
 * 0: the end; negative: a failure, or more than `most` bytes without an end. */
int sis__source_line(sis__source *s, size_t most, sis__buf *line);

/* ---- Again ----------------------------------------------------------------------------------- */

/* What a source has handed out, to be read again in sections by any number of threads: the file
 * itself; or, of a pipe and of what is gzipped, a copy, in memory as long as it is small and then in
 * a temporary file that has no name. */
typedef struct sis__reread sis__reread;

/* From the first byte on; to be asked for before that is taken. `memory`: bytes that are small. */
int sis__source_keep(sis__source *s, size_t memory);

/* Hand it over: sis__reread_free() it. NULL: it was not asked for. */
sis__reread *sis__source_kept(sis__source *s);
void sis__reread_free(sis__reread *r);

/* The bytes from `at` to `end` (SIZE_MAX: all there are) as a source of its own. SIS_E_IO if the
 * file is no longer what it was. */
int sis__source_section(sis__source *s, const sis__reread *r, size_t at, size_t end);

#endif
