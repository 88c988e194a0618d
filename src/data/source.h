/* SPDX-License-Identifier: MIT
 *
 * Input of all readers: a file or standard input, read forward once, by bytes, lines or blocks.
 * Memory grows with the data that arrive, not with what a header claims. gzipped data, whatever the
 * file name, are unpacked.
 */
#ifndef SIS_DATA_SOURCE_H
#define SIS_DATA_SOURCE_H

#include <stddef.h>

#include "base/buf.h"

struct sis__reread;

typedef struct sis__source {
    const char *name;           /* for messages; the path, borrowed */
    int fd, owned;              /* owned: must be closed */
    size_t size;                /* bytes in the file; SIZE_MAX if unknown (a pipe, gzip) */
    struct sis__unpack *unpack; /* gzip; NULL: not compressed */
    size_t packed;              /* bytes of the gzipped file; SIZE_MAX: unknown */
    size_t offset;              /* bytes returned so far */
    unsigned char *chunk;
    size_t next, filled;               /* unread part of the chunk */
    struct sis__reread *reread;        /* keeps the data for reading again; NULL: not kept */
    const struct sis__reread *section; /* a part of data read before: from `at` to `end` */
    size_t at, end;
    int error; /* sticky; SIS_OK at the end of the data */
} sis__source;

enum { SIS__SOURCE_END = -1 };

/* Open `path`, or standard input if it is "-". Close it even if this fails. */
int sis__source_open(sis__source *s, const char *path);

void sis__source_close(sis__source *s);

/* Refill the empty chunk; 0 at the end. */
int sis__source_fill(sis__source *s);

/* The next byte, or SIS__SOURCE_END at the end and after a failure (s->error tells which). */
static inline int sis__source_byte(sis__source *s) {
    if (s->next == s->filled && !sis__source_fill(s))
        return SIS__SOURCE_END;
    s->offset++;
    return s->chunk[s->next++];
}

/* The same without consuming it. */
static inline int sis__source_peek(sis__source *s) {
    if (s->next == s->filled && !sis__source_fill(s))
        return SIS__SOURCE_END;
    return s->chunk[s->next];
}

/* At the start: skip a UTF-8 byte order mark. Afterwards three bytes, or as many as there are, can
 * be peeked at. */
void sis__source_skip_mark(sis__source *s);

/* Can the gzipped file contain `whole` more bytes, and may `held` of them be in memory? An error
 * with a message if not. Call it before sis__source_take() with a size from a header. */
int sis__source_check(const sis__source *s, size_t whole, size_t held);

/* Exactly n bytes in new memory, which the caller must free(). If there are fewer, *got is their
 * number (SIS_E_FORMAT, without a message). */
int sis__source_take(sis__source *s, size_t n, unsigned char **out, size_t *got);

/* Read the next line into `line`, with its end (LF, CR or CRLF) replaced by a newline. 1: found, 0:
 * end of file; negative: an error, or a line of more than `max` bytes. */
int sis__source_line(sis__source *s, size_t max, sis__buf *line);

/* ---- Reading again --------------------------------------------------------------------------- */

/* The data of a source, to be read again in sections by any number of threads: the file itself or,
 * for pipes and gzipped files, a copy. A small copy is in memory, a large one in an unnamed
 * temporary file. */
typedef struct sis__reread sis__reread;

/* Keep data from the first byte on; call it before reading. `memory`: limit for a copy in
 * memory. */
int sis__source_keep(sis__source *s, size_t memory);

/* Hand over the kept data: call sis__reread_free(). NULL: not kept. */
sis__reread *sis__source_kept(sis__source *s);
void sis__reread_free(sis__reread *r);

/* The bytes from `at` to `end` (SIZE_MAX: all) as a new source. SIS_E_IO if the file has
 * changed. */
int sis__source_section(sis__source *s, const sis__reread *r, size_t at, size_t end);

#endif
