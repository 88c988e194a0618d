/* SPDX-License-Identifier: MIT
 *
 * Alignment of a rationale with a motif (section S2.3 of the paper). The rationale is a
 * distribution over A C G T at every position of the sequence: certain for its bases, uniform
 * elsewhere. The motif is placed inside the sequence and extended by uniform bases on both sides.
 *
 *     likelihood   sum over i of log sum_j R_i(j) M_i(j): a base counts with its probability, an N
 *                  always with 1/4. The alignment maximises it
 *     divergence   sum over i of sum_j R_i(j) log (R_i(j) / M_i(j)) at that place. Outside the
 *                  motif a base of the rationale costs log 4 and an N nothing, so bases beside the
 *                  motif count too
 *
 * Time: (length of the sequence) x (length of the motif), twice.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/mem.h"

static const char BASES[] = "ACGT";
enum { UNKNOWN = 4 };

/* The logarithms of a motif's probabilities, on one strand. */
typedef struct {
    size_t length;
    double *base;    /* (length, 4) log M(j) */
    double *unknown; /* (length) KL(uniform || M) */
} strand;

static void fill_strand(const sis_motif *m, int reverse, strand *s) {
    for (size_t i = 0; i < s->length; i++) {
        const double *from = m->probabilities + 4 * (reverse ? s->length - 1 - i : i);
        s->unknown[i] = 0;
        for (size_t j = 0; j < 4; j++) {
            double p = from[reverse ? 3 - j : j]; /* reversing A C G T complements */
            p = (1 - SIS_MOTIF_UNIFORM) * p + SIS_MOTIF_UNIFORM / 4;
            s->base[4 * i + j] = log(p);
            s->unknown[i] += (log(0.25) - log(p)) / 4;
        }
    }
}

/* The rationale as numbers of bases, UNKNOWN elsewhere. */
static int write_rationale(const char *sequence, size_t length, const int *features, size_t n,
                           unsigned char *bases) {
    memset(bases, UNKNOWN, length);
    for (size_t i = 0; i < n; i++) {
        if (features[i] < 0 || (size_t)features[i] >= length)
            return sis__fail(SIS_E_ARGUMENT,
                             "feature %d is not one of the %zu bases of the sequence", features[i],
                             length);
        char letter = sequence[features[i]];
        const char *at = letter ? strchr(BASES, letter) : NULL;
        if (!at && letter != 'N')
            return sis__fail(SIS_E_ARGUMENT,
                             "position %d of the sequence is '%c', not A C G T or N", features[i],
                             letter);
        bases[features[i]] = (unsigned char)(at ? at - BASES : UNKNOWN);
    }
    return SIS_OK;
}

/* The log-likelihood ratio of the rationale with the motif at `start` and without. */
static double gain(const strand *s, const unsigned char *bases, size_t start) {
    double sum = 0;
    for (size_t i = 0; i < s->length; i++)
        if (bases[start + i] != UNKNOWN)
            sum += s->base[4 * i + bases[start + i]] - log(0.25);
    return sum;
}

static double divergence(const strand *s, const unsigned char *bases, size_t length, size_t start) {
    double sum = 0;
    for (size_t i = 0; i < length; i++) {
        int inside = i >= start && i - start < s->length;
        if (bases[i] != UNKNOWN)
            sum -= inside ? s->base[4 * (i - start) + bases[i]] : log(0.25);
        else if (inside)
            sum += s->unknown[i - start];
    }
    return sum;
}

/* The best place on one strand, if better than *out. */
static void align(const strand *s, int reverse, const unsigned char *bases, size_t length,
                  sis_alignment *out) {
    for (size_t start = 0; start <= length - s->length; start++) {
        double found = gain(s, bases, start) + (double)length * log(0.25);
        if (found > out->likelihood)
            *out = (sis_alignment){.start = start, .reverse = reverse, .likelihood = found};
    }
}

int sis_motif_align(const sis_motif *motif, const char *sequence, const int *features, size_t n,
                    sis_alignment *out) {
    size_t length = strlen(sequence);
    *out = (sis_alignment){.likelihood = -INFINITY};
    if (motif->length == 0 || motif->length > length)
        return sis__fail(SIS_E_ARGUMENT, "motif %s has %zu positions, but the sequence has %zu",
                         motif->name, motif->length, length);
    unsigned char *bases = SIS_NEW(unsigned char, length);
    strand s = {.length = motif->length,
                .base = SIS_NEW_RAW(double, 4 * motif->length),
                .unknown = SIS_NEW_RAW(double, motif->length)};
    int code = bases && s.base && s.unknown ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = write_rationale(sequence, length, features, n, bases);
    for (int reverse = 0; code == SIS_OK && reverse < 2; reverse++) {
        fill_strand(motif, reverse, &s);
        align(&s, reverse, bases, length, out);
    }
    if (code == SIS_OK) {
        fill_strand(motif, out->reverse, &s);
        out->divergence = divergence(&s, bases, length, out->start);
    }
    free(bases);
    free(s.base);
    free(s.unknown);
    return code;
}
