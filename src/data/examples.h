/* SPDX-License-Identifier: MIT
 *
 * Data sets whose examples differ in size: texts, sequences, lists of numbers. A reader begins one,
 * adds examples, and finishes it:
 *
 *     sis__examples *e = sis__examples_new(path, SIS_KIND_TEXT);
 *     sis__example *x = sis__examples_add(e, offset, line);    // NULL: out of memory
 *     x->text = sis__examples_text(e, line, n);
 *     return sis__examples_finish(e, code, out);                // frees it if code is an error
 *
 * All data are in three pools, so that a million short lines need only three allocations. Examples
 * that exceed e->marks.memory are dropped while reading; the data set is then in blocks (blocks.h).
 */
#ifndef SIS_DATA_EXAMPLES_H
#define SIS_DATA_EXAMPLES_H

#include <stdint.h>

#include "base/buf.h"
#include "data/blocks.h"
#include "data/data.h"
#include "data/lines.h"

/* The offset of an absent item. */
#define SIS__NONE SIZE_MAX

/* Offsets in the pools; sis__examples_add() sets them to SIS__NONE, and counts to 0. */
typedef struct sis__example {
    size_t text, id, label; /* in `text`, each ended by a NUL */
    /* in `ints`: lengths of the words, if the file gives them; the text has blanks between them */
    size_t words, n_words;
    size_t human, n_human; /* in `ints` */
    size_t values;         /* in `numbers` */
    size_t shape[2], rank;
    size_t full_length; /* of a cropped or padded sequence; 0: unchanged */
} sis__example;

typedef struct sis__examples {
    sis_data base;       /* its count includes dropped examples */
    sis__example *items; /* (n) those in memory */
    size_t n, items_room;
    sis__buf text;
    int *ints;
    size_t n_ints, ints_room;
    double *numbers;
    size_t n_numbers, numbers_room;
    sis__marks marks;
    int has_id, has_label, has_human; /* in dropped examples */
} sis__examples;

/* NULL: out of memory. `kind` is TEXT, DNA or ARRAY. */
sis__examples *sis__examples_new(const char *path, sis_kind kind);

/* Add an example that begins at this position of the file; valid until the next one is added. */
sis__example *sis__examples_add(sis__examples *e, size_t offset, size_t line);

/* Remove the last n examples. */
void sis__examples_drop_last(sis__examples *e, size_t n);

/* Add n bytes and a NUL to the text pool. Returns their offset. Check sis__buf_error(&e->text) for
 * failures. */
size_t sis__examples_text(sis__examples *e, const char *text, size_t n);

/* Add an int or a number to its pool. 0 or SIS_E_NOMEM. */
int sis__examples_int(sis__examples *e, int v);
int sis__examples_number(sis__examples *e, double v);

/* Returns the data set if `code` is SIS_OK; otherwise frees it and returns the code. */
int sis__examples_finish(sis__examples *e, int code, sis_data **out);

/* The same with a source kept for reading again. Takes ownership of `how`, the context of the block
 * reader, even on failure. */
int sis__examples_finish_blocks(sis__examples *e, int code, sis__source *s,
                                const sis__blocks_reader *reader, void *how, sis_data **out);

/* A format with one example per line: its kind, and a function that adds the examples of a file or
 * section to a data set. `how` has `size` bytes, initially zero, where that function may store what
 * it learned from the first lines, for use in later sections. */
typedef struct sis__line_format {
    sis_kind kind;
    size_t size;
    int (*read)(sis__lines *l, void *how, sis__examples *e);
} sis__line_format;

/* ctx: copied to the start of `how`, unless NULL. */
int sis__examples_of_lines(const char *path, const sis__line_format *format, const void *how,
                           size_t memory, sis_data **out);

#endif
