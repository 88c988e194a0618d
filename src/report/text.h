/* SPDX-License-Identifier: MIT
 *
 * text.h - one record as text for a terminal.
 *
 *     text_record.c   what was decided, its subsets; features as lines
 *     text_words.c    texts and DNA, with what was chosen marked in place
 *     text_image.c    pictures in half blocks
 *     excerpt.c       which words of a long text are shown; the pages use it too
 */
#ifndef SIS_REPORT_TEXT_H
#define SIS_REPORT_TEXT_H

#include <sis/report.h>

#include "base/buf.h"

typedef struct sis__text {
    sis__buf *out;
    const sis_record *r;
    const sis_text_opt *opt;
    size_t width;
} sis__text;

/* The input with its subsets. 0: this record cannot be drawn so, nothing was printed. */
int sis__text_words(const sis__text *p);
int sis__text_dna(const sis__text *p);
int sis__text_image(const sis__text *p);

/* How many of the subsets are shown. */
size_t sis__text_subsets(const sis__text *p);

/* "      1   score 0.83", in the subset's colour. */
void sis__text_subset_title(const sis__text *p, size_t k);

/* "", or what it lacks: rationales of some methods are not sufficient. */
const char *sis__text_short_of(const sis__text *p, size_t k);

/* Print in a style: "1" is bold, "2" dim, "31" red... */
__attribute__((format(printf, 3, 4))) void sis__text_paint(const sis__text *p, const char *style,
                                                           const char *format, ...);

/* Background (one of 256 colours) of the feature with this rank (0: most important) among n in
 * subset k: another hue for each subset, darker the more important. */
int sis__text_colour(size_t k, size_t rank, size_t n);

/* For each feature the subset it is in, -1: none; its rank there; and whether a person marked it.
 * Three arrays of n_features behind each other, free()d by you; NULL if there is no memory. */
int *sis__text_places(const sis__text *p);

/* Which words of a long text to show: those of the subsets and a few on either side; without subsets,
 * the first ones. (n_words) flags, free()d by you; NULL: all (also if there is no memory). */
unsigned char *sis__excerpt(const sis_record *r);

#endif
