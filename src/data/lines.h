/* SPDX-License-Identifier: MIT
 *
 * Reads a text file line by line, and splits lines into cells at tabs.
 */
#ifndef SIS_DATA_LINES_H
#define SIS_DATA_LINES_H

#include "base/buf.h"
#include "data/source.h"

typedef struct sis__lines {
    sis__source source;
    sis__buf line;
    size_t number; /* of the line, counted from 1 */
    size_t start;  /* its offset in the file */
    int inside;    /* only a section of the file is read, and more follows */
    char **cells;  /* (n) of the line, after sis__lines_cut() */
    size_t n, room;
} sis__lines;

/* Zero it first; close it even if this fails. */
int sis__lines_open(sis__lines *l, const char *path);
void sis__lines_close(sis__lines *l);

/* SIS_E_FORMAT with "FILE, line N: what". */
int sis__lines_fail(const sis__lines *l, const char *what);

/* The next line without its end, with any content. 1: found, 0: end of file. */
int sis__lines_any(sis__lines *l);

/* The same, and it must be UTF-8. */
int sis__lines_next(sis__lines *l);

/* Nothing but blanks? */
int sis__lines_blank(const sis__lines *l);

/* Split the line at its tabs. A cell that is entirely quoted loses its quotes; other quotes are
 * part of the text. */
int sis__lines_cut(sis__lines *l);

/* The index of this cell, ignoring case; SIZE_MAX if there is none. */
size_t sis__lines_find(const sis__lines *l, const char *cell);

#endif
