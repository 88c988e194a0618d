/* SPDX-License-Identifier: MIT
 *
 * sis/dna.h - DNA motifs, and synthetic DNA sequences.
 *
 * Experimental: may change from one version to the next.
 */
#ifndef SIS_DNA_H
#define SIS_DNA_H

#include <stddef.h>
#include <stdint.h>

#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A motif: the frequency of each base at each position. */
typedef struct sis_motif {
    const char *id, *name; /* "MA0139.1", "CTCF"; the id again if there is no name */
    size_t length;
    const double *counts;        /* (length, 4) A C G T, as in the file */
    const double *probabilities; /* (length, 4) each position adds up to 1 */
} sis_motif;

typedef struct sis_motifs {
    size_t n;
    sis_motif *items; /* (n) */
    double *numbers;  /* memory of the motifs */
    const char **strings;
} sis_motifs;

/* Read a file of motifs; FILE:ID reads the one that sis_motifs_find returns. The format is detected
 * from the content:
 *
 *     >MA0139.1 CTCF     then rows A, C, G and T with a number for each position (JASPAR .pfm,
 *                        pscan .wil), perhaps as "A [ 87 167 ]" (.jaspar); or a row of four numbers
 *                        for each position, if that is how every motif of the file is written
 *     MEME version 4     MOTIF lines and letter-probability matrices
 */
int sis_motifs_read(const char *path, sis_motifs *out);
void sis_motifs_release(sis_motifs *motifs);

/* The motif with this id ("MA0139.1"); else with this name, or with an id that continues after a
 * full stop or underscore ("MA0139" finds its newest version). Case is ignored; of several matches
 * the last is returned. NULL: no match. */
const sis_motif *sis_motifs_find(const sis_motifs *motifs, const char *name);

/* The same; the error lists what `file`, the source of the motifs, contains. */
int sis_motifs_pick(const sis_motifs *motifs, const char *file, const char *name,
                    const sis_motif **out);

/* Shuffle a sequence of A C G T N uniformly among the sequences with the same dinucleotide counts.
 * The first and last letter stay the same. n letters and a NUL to `out`. */
int sis_dna_shuffle(const char *sequence, uint64_t seed, char *out);

/* Synthetic sequences: a background; positive ones contain a motif on either strand. */
typedef struct sis_dna_opt {
    size_t length;           /* of a sequence; default 101 */
    double composition[4];   /* of the background: shares of A C G T; default 0.25 each */
    const char *peak;        /* instead: shuffle the dinucleotides of this sequence of A C G T N;
                                default NULL */
    const sis_motif *motifs; /* (n_motifs), at least one, all equally likely; borrowed */
    size_t n_motifs;
    uint64_t seed;
} sis_dna_opt;

void sis_dna_opt_init(sis_dna_opt *opt);

/* The place of the motif in the sequence. */
typedef struct sis_dna_site {
    size_t motif, start, length;
    int reverse; /* on the other strand */
} sis_dna_site;

/* Sequence number i, determined by options, seed and i. free() *sequence. `site` is only written
 * for positive sequences. */
int sis_dna_make(const sis_dna_opt *opt, size_t i, int positive, char **sequence,
                 sis_dna_site *site);

#ifdef __cplusplus
}
#endif
#endif
