/* SPDX-License-Identifier: MIT
 *
 * Data sets whose examples each have their own size: texts, sequences, lists of numbers. A reader
 * begins one, adds example after example, and finishes it:
 *
 *     sis__examples *e = sis__examples_new(path, SIS_KIND_TEXT);
 *     sis__example *x = sis__examples_add(e, offset, line);    // NULL: out of memory
 *     x->text = sis__examples_text(e, line, n);
 *     return sis__examples_finish(e, code, out);                // frees it if code is an error
 *
 * Everything lies in three pools, so that a million short lines are three allocations. Examples that
 * take more than e->marks.memory are dropped on the way: then the data set is one of blocks.h.
 */
#ifndef SIS_DATA_EXAMPLES_H
#define SIS_DATA_EXAMPLES_H

#include <stdint.h>

#include "base/buf.h"
#include "data/blocks.h"
#include "data/data.h"
#include "data/lines.h"

/* Nothing there. */
#define SIS__NONE SIZE_MAX

/* Where in the pools things begin; sis__examples_add() sets them to SIS__NONE, and counts to 0. */
typedef struct sis__example {
    size_t text, id, label; /* in `text`, each ended by a NUL */
    size_t words, n_words;  /* in `ints`: the lengths of the words, if the file gives them; the text
                               is these with blanks between */
    size_t human, n_human;  /* in `ints` */
    size_t values;          /* in `numbers` */
    size_t shape[2], rank;
} sis__example;

typedef struct sis__examples {
    sis_data base;       /* its count is that of all examples */
    sis__example *items; /* (n) those that are held */
    size_t n, items_room;
    sis__buf text;
    int *ints;
    size_t n_ints, ints_room;
    double *numbers;
    size_t n_numbers, numbers_room;
    sis__marks marks;
    int has_id, has_label, has_human; /* any of those that were dropped */
} sis__examples;

/* NULL: out of memory. `kind` is TEXT, DNA or ARRAY. */
sis__examples *sis__examples_new(const char *path, sis_kind kind);

/* Another example, which begins there in the file; valid until the next is added. */
sis__example *sis__examples_add(sis__examples *e, size_t offset, size_t line);

/* Forget the last n examples. */
void sis__examples_drop_last(sis__examples *e, size_t n);

/* Add n bytes and a NUL to the pool of text: where they begin. Memory that runs out shows in
 * sis__buf_error(&e->text). */
size_t sis__examples_text(sis__examples *e, const char *text, size_t n);

/* Add an int or a number to its pool. 0 or SIS_E_NOMEM. */
int sis__examples_int(sis__examples *e, int v);
int sis__examples_number(sis__examples *e, double v);

/* With `code` SIS_OK the data set, otherwise it is freed and the code returned. */
int sis__examples_finish(sis__examples *e, int code, sis_data **out);

/* The same of a source that was kept, if that was asked for; `how` is what the reader of blocks needs
 * to know, taken whatever comes of it. */
int sis__examples_finish_blocks(sis__examples *e, int code, sis__source *s,
                                const sis__blocks_reader *reader, void *how, sis_data **out);

/* A format whose examples are lines: its kind, and what adds all of them, or all of a section, to a
 * data set. `how` is `size` bytes, zeros at first, in which that may leave what it has learned from the first
 * lines; a section finds there what it left. */
typedef struct sis__line_format {
    sis_kind kind;
    size_t size;
    int (*read)(sis__lines *l, void *how, sis__examples *e);
} sis__line_format;

/* ctx: copied to the beginning of `how`, if it is not NULL. */
int sis__examples_of_lines(const char *path, const sis__line_format *format, const void *how,
                           size_t memory, sis_data **out);

#endif
