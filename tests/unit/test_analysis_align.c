/* SPDX-License-Identifier: MIT
 *
 * Alignment of rationales with motifs, against hand-computed values and against section S2.3 of the
 * paper computed with full matrices.
 */
#include "support_data.h"

#include <math.h>

#include <sis/analysis.h>

#include "base/rng.h"

/* A, then G. Unlike GATC, it differs from its reverse complement. */
static const double AG[8] = {1, 0, 0, 0, 0, 0, 1, 0};
static const sis_motif SMALL = {"X1", "AG", 2, AG, AG};
static const double HIT = 0.9925, MISS = 0.0025; /* with one per cent of uniform bases mixed in */

static sis_alignment align(const sis_motif *m, const char *sequence, const int *features,
                           size_t n) {
    sis_alignment at;
    assert_int_equal(sis_motif_align(m, sequence, features, n, &at), SIS_OK);
    return at;
}

static void assert_close(double found, double expected) {
    if (!(fabs(found - expected) < 1e-12 * (1 + fabs(expected))))
        fail_msg("expected %.17g, found %.17g", expected, found);
}

static void a_site_diverges_little(void **state) {
    (void)state;
    const int site[] = {3, 2}, more[] = {3, 2, 5}, one[] = {2};
    sis_alignment at = align(&SMALL, "TTAGTT", site, 2);
    assert_int_equal(at.start, 2);
    assert_int_equal(at.reverse, 0);
    assert_close(at.likelihood, 2 * log(HIT) + 4 * log(0.25));
    assert_close(at.divergence, -2 * log(HIT));
    at = align(&SMALL, "TTAGTT", more, 3); /* a base outside the motif costs log 4 */
    assert_close(at.divergence, -2 * log(HIT) + log(4));
    at = align(&SMALL, "TTAGTT", one, 1); /* so does an unknown base inside it */
    assert_int_equal(at.start, 2);
    assert_close(at.divergence, -log(HIT) + log(0.25) - (log(HIT) + 3 * log(MISS)) / 4);
}

static void the_other_strand_counts(void **state) {
    (void)state;
    const int site[] = {0, 1}, miss[] = {0, 1, 2};
    sis_alignment at = align(&SMALL, "CTTTTT", site, 2);
    assert_int_equal(at.start, 0);
    assert_int_equal(at.reverse, 1);
    assert_close(at.divergence, -2 * log(HIT));
    at = align(&SMALL, "TTT", miss, 3); /* T matches the reverse complement, C T */
    assert_int_equal(at.start, 0);
    assert_int_equal(at.reverse, 1);
    assert_close(at.likelihood, log(MISS) + log(HIT) + log(0.25));
    assert_close(at.divergence, -log(MISS) - log(HIT) + log(4));
}

static void ties_go_to_the_first_place_forward(void **state) {
    (void)state;
    const int nothing[] = {0};
    sis_alignment at = align(&SMALL, "NNNN", nothing, 1);
    assert_int_equal(at.start, 0);
    assert_int_equal(at.reverse, 0);
}

static void what_cannot_be_aligned_is_refused(void **state) {
    (void)state;
    const int first[] = {0}, outside[] = {4}, below[] = {-1};
    sis_alignment at;
    assert_int_equal(sis_motif_align(&SMALL, "A", first, 1, &at), SIS_E_ARGUMENT);
    assert_message_has("motif AG has 2 positions, but the sequence has 1");
    assert_int_equal(sis_motif_align(&SMALL, "ACGT", outside, 1, &at), SIS_E_ARGUMENT);
    assert_int_equal(sis_motif_align(&SMALL, "ACGT", below, 1, &at), SIS_E_ARGUMENT);
    assert_int_equal(sis_motif_align(&SMALL, "XCGT", first, 1, &at), SIS_E_ARGUMENT);
    assert_message_has("'X'");
    const sis_motif empty = {"X0", "none", 0, AG, AG};
    assert_int_equal(sis_motif_align(&empty, "ACGT", first, 1, &at), SIS_E_ARGUMENT);
}

/* ---- The oracle ---------------------------------------------------------------------------- */

enum { LENGTH = 12, SITE = 5 };

/* The motif at `start`, as rows of the whole sequence. */
static void lay(const double *motif, size_t start, int reverse, double out[LENGTH][4]) {
    for (size_t i = 0; i < LENGTH; i++)
        for (size_t j = 0; j < 4; j++) {
            size_t k = i - start;
            double p = 0.25;
            if (i >= start && k < SITE)
                p = reverse ? motif[4 * (SITE - 1 - k) + 3 - j] : motif[4 * k + j];
            out[i][j] = i >= start && k < SITE ? 0.99 * p + 0.0025 : 0.25;
        }
}

static double oracle(const double *motif, double rationale[LENGTH][4]) {
    double best = -INFINITY, divergence = NAN, m[LENGTH][4];
    for (int reverse = 0; reverse < 2; reverse++)
        for (size_t start = 0; start + SITE <= LENGTH; start++) {
            double likelihood = 0, sum = 0;
            lay(motif, start, reverse, m);
            for (size_t i = 0; i < LENGTH; i++) {
                double seen = 0;
                for (size_t j = 0; j < 4; j++) {
                    double r = rationale[i][j];
                    seen += r * m[i][j];
                    sum += r > 0 ? r * log(r / m[i][j]) : 0;
                }
                likelihood += log(seen);
            }
            if (likelihood > best + 1e-9) {
                best = likelihood;
                divergence = sum;
            }
        }
    return divergence;
}

static void alignments_are_those_of_the_paper(void **state) {
    (void)state;
    sis__rng rng;
    sis__rng_init(&rng, 11);
    for (int round = 0; round < 200; round++) {
        double motif[4 * SITE], rationale[LENGTH][4];
        char sequence[LENGTH + 1] = {0};
        int features[LENGTH];
        size_t n = 0;
        for (size_t i = 0; i < SITE; i++) {
            double sum = 0;
            for (size_t j = 0; j < 4; j++)
                sum += motif[4 * i + j] = sis__rng_uniform(&rng);
            for (size_t j = 0; j < 4; j++)
                motif[4 * i + j] /= sum;
        }
        for (size_t i = 0; i < LENGTH; i++) {
            size_t base = sis__rng_below(&rng, 4), kept = sis__rng_below(&rng, 3) == 0;
            sequence[i] = "ACGT"[base];
            for (size_t j = 0; j < 4; j++)
                rationale[i][j] = kept ? j == base : 0.25;
            if (kept)
                features[n++] = (int)i;
        }
        const sis_motif m = {"R", "R", SITE, motif, motif};
        if (n > 0)
            assert_close(align(&m, sequence, features, n).divergence, oracle(motif, rationale));
    }
}

/* ---- Memory -------------------------------------------------------------------------------- */

static int align_once(void *ctx) {
    const int site[] = {3, 2};
    sis_alignment at;
    (void)ctx;
    return sis_motif_align(&SMALL, "TTAGTT", site, 2, &at);
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    assert_int_equal(with_failing_allocations(align_once, NULL), 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_site_diverges_little),
        cmocka_unit_test(the_other_strand_counts),
        cmocka_unit_test(ties_go_to_the_first_place_forward),
        cmocka_unit_test(what_cannot_be_aligned_is_refused),
        cmocka_unit_test(alignments_are_those_of_the_paper),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
