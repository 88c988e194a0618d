/* SPDX-License-Identifier: MIT
 *
 * sis/dna.h - motifs, and DNA sequences that are made up.
 *
 * Experimental: what is declared here may change from one version to the next.
 */
#ifndef SIS_DNA_H
#define SIS_DNA_H

#include <stddef.h>
#include <stdint.h>

#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A motif: how often each base is seen at each of its positions. */
typedef struct sis_motif {
    const char *id, *name; /* "MA0139.1", "CTCF"; the id again if there is no name */
    size_t length;
    const double *counts;        /* (length, 4) A C G T, as in the file */
    const double *probabilities; /* (length, 4) each position adds up to 1 */
} sis_motif;

typedef struct sis_motifs {
    size_t n;
    sis_motif *items; /* (n) */
    double *numbers;  /* what they point to */
    const char **strings;
} sis_motifs;

/* Read a file of motifs, or of FILE:ID the one that sis_motifs_find finds in it. Its content says
 * which format it is:
 *
 *     >MA0139.1 CTCF     then rows A, C, G and T with a number for each position (JASPAR .pfm,
 *                        pscan .wil), perhaps as "A [ 87 167 ]" (.jaspar); or a row of four numbers
 *                        for each position, if that is how every motif of the file is written
 *     MEME version 4     MOTIF lines and letter-probability matrices
 */
int sis_motifs_read(const char *path, sis_motifs *out);
void sis_motifs_release(sis_motifs *motifs);

/* The motif with this id ("MA0139.1"); else with this name, or with an id that continues after a full stop
 * or underscore ("MA0139" finds its newest version). Case does not matter; if several match, the last
 * one is returned. NULL: no match. */
const sis_motif *sis_motifs_find(const sis_motifs *motifs, const char *name);

/* The same, and an error that says what `file`, where they are from, has instead. */
int sis_motifs_pick(const sis_motifs *motifs, const char *file, const char *name,
                    const sis_motif **out);

/* Shuffle a sequence of A C G T N so that it has as many of each pair of neighbours as before,
 * every such sequence with the same probability. It begins and ends with the same letter. n letters
 * and a NUL to `out`. */
int sis_dna_shuffle(const char *sequence, uint64_t seed, char *out);

/* Sequences made up: a background, and in positive ones a motif planted on either strand. */
typedef struct sis_dna_opt {
    size_t length;           /* of a sequence; default 101 */
    double composition[4];   /* of the background: shares of A C G T; default 0.25 each */
    const char *peak;        /* or the background is this sequence of A C G T N, its dinucleotides
                                shuffled; default NULL */
    const sis_motif *motifs; /* (n_motifs), at least one: each equally often; borrowed */
    size_t n_motifs;
    uint64_t seed;
} sis_dna_opt;

void sis_dna_opt_init(sis_dna_opt *opt);

/* Where the motif was planted, and what of it. */
typedef struct sis_dna_site {
    size_t motif, start, length;
    int reverse; /* on the other strand */
} sis_dna_site;

/* Sequence number i: the same for the same options, seed and i. *sequence is free()d by you. `site`
 * is only written if it is positive. */
int sis_dna_make(const sis_dna_opt *opt, size_t i, int positive, char **sequence,
                 sis_dna_site *site);

#ifdef __cplusplus
}
#endif
#endif
