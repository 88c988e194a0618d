/* SPDX-License-Identifier: MIT
 *
 * Data sets that are larger than the memory they may take (sis_data_opt.memory). A file is read once
 * from end to end, as any other; every so many bytes it is marked where the next example begins, and
 * if all of it turns out to be too much, what was read is dropped and only the marks stay. From mark
 * to mark is a block: a data set of its own, which the reader of the format makes of that section of
 * the file when one of its examples is asked for. Each thread holds the block it was last asked
 * about, those in the same block share it.
 */
#ifndef SIS_DATA_BLOCKS_H
#define SIS_DATA_BLOCKS_H

#include "data/data.h"
#include "data/source.h"

/* Where a block begins: which example that is, and where it is in the file. */
typedef struct sis__mark {
    size_t example, offset, line; /* line: counted from 1 */
} sis__mark;

typedef struct sis__marks {
    size_t memory; /* bytes of examples that may be held; 0: any number, and nothing is marked */
    sis__mark *items;
    size_t n, room;
    size_t held; /* bytes when the last was set */
    int over;    /* it was too much */
} sis__marks;

/* An example begins at `at`, with `held` bytes in memory before it. 1: these are to be dropped; 0:
 * they stay; or SIS_E_NOMEM. */
int sis__marks_add(sis__marks *m, sis__mark at, size_t held);

/* How a section of a file becomes a data set of its examples. */
typedef struct sis__section {
    const sis__reread *from;
    const sis__mark *at;
    size_t end; /* offset */
} sis__section;

typedef struct sis__blocks_reader {
    int (*read)(const void *how, const sis__section *section, sis_data **out);
    void (*free)(void *how);
} sis__blocks_reader;

/* The data set of `count` examples that `s` was read for. Takes marks and `how` (NULL: free(how) is
 * all it takes), also when it fails. */
int sis__blocks_new(sis__source *s, sis__marks *marks, size_t count,
                    const sis__blocks_reader *reader, void *how, sis_data **out);

/* Of such a data set: no example has an id, a label, marks of people, so nobody needs to look. */
void sis__blocks_lack(sis_data *data, int ids, int labels, int human);

/* Read every block once: all that can be wrong shows. */
int sis__blocks_check(const sis_data *data);

#endif
