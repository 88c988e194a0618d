/* SPDX-License-Identifier: MIT
 *
 * text.h - one record as text for a terminal.
 *
 *     text_record.c   the decision and its subsets; features as lines
 *     text_words.c    texts and DNA with chosen features marked in place
 *     text_image.c    images in half blocks
 *     excerpt.c       selects the words of a long text; the pages use it too
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

/* Print the input with its subsets. 0: this record has another kind, nothing was printed. */
int sis__text_words(const sis__text *p);
int sis__text_dna(const sis__text *p);
int sis__text_image(const sis__text *p);

/* The number of subsets shown. */
size_t sis__text_subsets(const sis__text *p);

/* "      1   score 0.83", in the subset's colour. */
void sis__text_subset_title(const sis__text *p, size_t k);

/* "", or what the subset lacks: rationales of some methods are not sufficient. */
const char *sis__text_short_of(const sis__text *p, size_t k);

/* Print in a style: "1" is bold, "2" dim, "31" red... */
__attribute__((format(printf, 3, 4))) void sis__text_paint(const sis__text *p, const char *style,
                                                           const char *format, ...);

/* The background (one of 256 colours) of the feature with this rank (0: most important) among n in
 * subset k: one hue per subset, darker if more important. */
int sis__text_colour(size_t k, size_t rank, size_t n);

/* For each feature: its subset (-1: none), its rank there, and whether a person marked it. Three
 * consecutive arrays of n_features; the caller frees them. NULL: out of memory. */
int *sis__text_places(const sis__text *p);

/* The words of a long text to show: those of the subsets and a few on either side; without subsets,
 * the first ones. (n_words) flags, freed by the caller; NULL: all (also if out of memory). */
unsigned char *sis__excerpt(const sis_record *r);

#endif
