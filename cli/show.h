/* SPDX-License-Identifier: MIT
 *
 * show.h - one record on a terminal or in a file.
 *
 *     show.c          the command: files, several of them side by side
 *     show_record.c   a record: what was decided, its subsets; features as lines
 *     show_words.c    texts and DNA, with what was chosen marked in place
 *     show_motif.c    the known motif that a subset of DNA is most like
 *     show_image.c    pictures in half blocks
 *     show_paint.c    colours, and how wide text is
 */
#ifndef SIS_CLI_SHOW_H
#define SIS_CLI_SHOW_H

#include <stdio.h>

#include <sis/data.h>
#include <sis/results.h>

#include "records.h"

/* Where a record goes, and how. */
typedef struct cli_page {
    FILE *out;
    const sis_record *r;
    int colour;
    int lines;                /* features as lines, whatever the kind */
    size_t subsets;           /* at most, 0: all */
    size_t width;             /* columns */
    const sis_motifs *motifs; /* to name those of DNA by; NULL: none */
    cli_where *where;         /* which records */
} cli_page;

/* In colour and as wide as it is if `out` is a terminal (and NO_COLOR not set), else 80 columns;
 * the variable COLUMNS has the last word. */
void cli_page_init(cli_page *p, FILE *out);

void cli_show_record(const cli_page *p);

/* ---- Kinds --------------------------------------------------------------------------------- */

/* The input with its subsets. 0: this record cannot be drawn so, nothing was printed. */
int cli_show_text(const cli_page *p);
int cli_show_dna(const cli_page *p);
int cli_show_image(const cli_page *p);

/* A line with the known motif that subset k of DNA is most like. */
void cli_show_motif(const cli_page *p, size_t k);

/* How many of the subsets are shown. */
size_t cli_shown_subsets(const cli_page *p);

/* "      1   score 0.83", in the subset's colour. */
void cli_show_subset_title(const cli_page *p, size_t k);

/* "", or what it lacks: rationales of some methods are not sufficient. */
const char *cli_short_of(const cli_page *p, size_t k);

/* ---- Paint --------------------------------------------------------------------------------- */

/* Print in a style: "1" is bold, "2" dim, "31" red... */
__attribute__((format(printf, 3, 4))) void cli_paint(const cli_page *p, const char *style,
                                                     const char *format, ...);

/* A word of ours and a text from elsewhere, made safe, in one style. */
void cli_paint_text(const cli_page *p, const char *style, const char *word, const char *text);

/* Background (one of 256 colours) of the feature with this rank (0: most important) among n in
 * subset k: another hue for each subset, darker the more important. */
int cli_subset_colour(size_t k, size_t rank, size_t n);

/* Columns a text takes on a terminal: wide characters two, combining ones none, escapes none. */
size_t cli_columns(const char *text);

/* How many bytes of it, from the first, take at most so many. */
size_t cli_fitting(const char *text, size_t most);

/* For each feature the subset it is in, -1: none; its rank there; and whether a person marked it.
 * Three arrays of n_features behind each other, free()d by you; NULL if there is no memory. */
int *cli_places(const cli_page *p);

#endif
