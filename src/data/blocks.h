/* SPDX-License-Identifier: MIT
 *
 * Data sets larger than their memory limit (sis_data_opt.memory). The first pass reads the whole
 * file and marks the start of an example at regular intervals. If the file is too large, the
 * examples are dropped and only the marks are kept. The part between two marks is a block: a data
 * set that the format's reader reads again when one of its examples is needed. Each thread holds
 * the block it used last; threads in the same block share it.
 */
#ifndef SIS_DATA_BLOCKS_H
#define SIS_DATA_BLOCKS_H

#include "data/data.h"
#include "data/source.h"

/* The start of a block: number of its first example, and position in the file. */
typedef struct sis__mark {
    size_t example, offset, line; /* line: counted from 1 */
} sis__mark;

typedef struct sis__marks {
    size_t memory; /* maximum size of examples in memory; 0: no limit, and no marks */
    sis__mark *items;
    size_t n, room;
    size_t held; /* bytes at the last mark */
    int over;    /* the limit was exceeded */
} sis__marks;

/* An example begins at `at`, with `held` bytes in memory before it. 1: drop them; 0: keep them; or
 * SIS_E_NOMEM. */
int sis__marks_add(sis__marks *m, sis__mark at, size_t held);

/* How to read a section of a file as a data set. */
typedef struct sis__section {
    const sis__reread *from;
    const sis__mark *at;
    size_t end; /* offset */
} sis__section;

typedef struct sis__blocks_reader {
    int (*read)(const void *how, const sis__section *section, sis_data **out);
    void (*free)(void *how);
} sis__blocks_reader;

/* The data set of `count` examples read from `s`. Takes ownership of marks and `how` (freed by
 * free() if its release function is NULL), even if it fails. */
int sis__blocks_new(sis__source *s, sis__marks *marks, size_t count,
                    const sis__blocks_reader *reader, void *how, sis_data **out);

/* Declare that no example has an id, a label or human marks, so that no block is read to find
 * out. */
void sis__blocks_lack(sis_data *data, int ids, int labels, int human);

/* Read every block once to find all errors. */
int sis__blocks_check(const sis_data *data);

#endif
