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

typedef struct sis__source {
    const char *name; /* for messages; the path, borrowed */
    int fd, owned;    /* owned: ours to close */
    size_t size;      /* bytes in the file; SIZE_MAX if only the end will tell (a pipe, gzip) */
    struct sis__unpack *unpack; /* gzip; NULL: the bytes are as they are in the file */
    size_t offset;              /* bytes handed out */
    unsigned char *chunk;
    size_t next, filled; /* what of the chunk is still to be handed out */
    int error;           /* sticks: why there are no more bytes, if not because it is the end */
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

/* Exactly n bytes in new memory, which is the caller's to free(). *got says how many there were if
 * that is fewer (SIS_E_FORMAT, without a message). */
int sis__source_take(sis__source *s, size_t n, unsigned char **out, size_t *got);

/* Put the next line, with its newline if it has one, into `line`. 1: there was one, 0: the end;
 * negative: a failure, or more than `most` bytes without a newline. */
int sis__source_line(sis__source *s, size_t most, sis__buf *line);

#endif
