/* SPDX-License-Identifier: MIT
 *
 * From records to points, strings to matrices, matrices to motifs; and the vector lanes of the edit
 * distance against the plain table.
 */
#include "support_analysis.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/lanes.h"
#include "base/rng.h"
#include "support.h"

/* ---- Records --------------------------------------------------------------------------------- */

static int chosen[] = {4, 0, 2};
static sis_subset subset = {.n = 3, .features = chosen};

static sis_record record(void) {
    sis_record r = {.id = "7", .model = "m", .question.method = "sis"};
    r.collection.n_features = 6;
    r.collection.n_subsets = 1;
    r.collection.subsets = &subset;
    return r;
}

/* The distance between a subset of one record and one of another. */
static double between(sis_distance d, const sis_record *a, const sis_record *b) {
    sis_points *p;
    double found;
    assert_int_equal(sis_points_new(d, &p), 0);
    assert_int_equal(sis_points_add_subset(p, a, 0), 0);
    assert_int_equal(sis_points_add_subset(p, b, 0), 0);
    assert_int_equal(sis_points_distance(p, 0, 1, &found), 0);
    sis_points_free(p);
    return found;
}

static void words_are_compared_in_lower_case(void **state) {
    const char *one[] = {"Great", "x", "GREAT", "x", "\xC3\x89T\xC3\x89", "x"};
    const char *two[] = {"great", "x", "poor", "x", "\xC3\xA9t\xC3\xA9", "x"};
    sis_record a = record(), b = record();
    (void)state;
    a.drawing.words = one;
    b.drawing.words = two;
    a.drawing.n_words = b.drawing.n_words = 6;
    assert_true(between(SIS_DISTANCE_JACCARD, &a, &b) == 1.0 / 3);
    assert_true(between(SIS_DISTANCE_JACCARD_BAG, &a, &b) == 0.5);
}

static void letters_run_from_first_to_last(void **state) {
    sis_record r = record();
    char *letters;
    size_t n;
    (void)state;
    r.drawing.sequence = "aCxGTA";
    assert_int_equal(sis_subset_letters(&r, 0, &letters, &n), 0);
    assert_string_equal(letters, "ANNNT"); /* x is not a base */
    assert_int_equal(n, 5);
    free(letters);
    assert_int_equal(sis_subset_letters(&r, 1, &letters, &n), SIS_E_FORMAT);
    r.drawing.sequence = NULL;
    assert_int_equal(sis_subset_letters(&r, 0, &letters, &n), SIS_E_FORMAT);
}

/* row,column=value of every pixel. */
static void pixels_are(const sis_record *r, const char *expected) {
    int *places;
    double *values;
    size_t n;
    char text[256] = "";
    assert_int_equal(sis_subset_pixels(r, 0, &places, &values, &n), 0);
    for (size_t k = 0; k < n; k++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%d,%d=%g ", places[2 * k],
                 places[2 * k + 1], values[k]);
    assert_string_equal(text, expected);
    free(places);
    free(values);
}

static void pixels_are_found_in_every_layout(void **state) {
    static const size_t flat[] = {2, 3}, last[] = {2, 3, 2}, first[] = {2, 2, 3}, wrong[] = {6};
    static const double values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    static const int map_last[] = {0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5};
    static const int map_first[] = {0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5};
    sis_record r = record();
    (void)state;
    r.drawing.shape = flat;
    r.drawing.rank = 2;
    pixels_are(&r, "0,0=0 0,2=0 1,1=0 "); /* no values */
    r.drawing.values = values;
    r.drawing.n_values = 6;
    pixels_are(&r, "0,0=0 0,2=2 1,1=4 ");
    r.drawing.n_values = 12;
    r.drawing.rank = 3;
    r.drawing.shape = last;
    r.drawing.feature_map = map_last;
    pixels_are(&r, "0,0=0.5 0,2=4.5 1,1=8.5 ");
    r.drawing.shape = first;
    r.drawing.feature_map = map_first;
    pixels_are(&r, "0,0=3 0,2=5 1,1=7 ");
    int *places;
    double *none;
    size_t n;
    r.drawing.shape = wrong;
    r.drawing.rank = 1;
    assert_int_equal(sis_subset_pixels(&r, 0, &places, &none, &n), SIS_E_FORMAT);
    r.drawing.shape = flat;
    r.drawing.rank = 2;
    r.drawing.feature_map = NULL;
    r.collection.n_features = 7; /* more pixels than the image has */
    assert_int_equal(sis_subset_pixels(&r, 0, &places, &none, &n), SIS_E_FORMAT);
}

static void cells_are_names_and_values(void **state) {
    static const char *const names[] = {"a", "b", "c", "d", "e", "f"};
    static const double one[] = {1, 1, 1, 1, 1, 1}, two[] = {1, 1, 2, 1, 2, 1};
    static const double hot[] = {1, 0, 0, 1, 0, 0, 0, 0, 0}, hot2[] = {1, 0, 1, 0, 0, 0, 0, 0, 0};
    static const int map[] = {0, 1, 2, 2, 3, 4, 4, 5, -1};
    sis_record a = record(), b = record();
    (void)state;
    a.drawing.values = one;
    b.drawing.values = two;
    a.drawing.n_values = b.drawing.n_values = 6;
    assert_true(between(SIS_DISTANCE_OVERLAP, &a, &b) == 2.0 / 6); /* two values differ */
    a.drawing.names = b.drawing.names = names;
    a.drawing.n_names = b.drawing.n_names = 6;
    assert_true(between(SIS_DISTANCE_OVERLAP, &a, &b) == 2.0 / 6);
    a.drawing.names = b.drawing.names = NULL;
    a.drawing.values = hot;
    b.drawing.values = hot2;
    a.drawing.n_values = b.drawing.n_values = 9;
    a.drawing.feature_map = b.drawing.feature_map = map;
    assert_true(between(SIS_DISTANCE_OVERLAP, &a, &b) == 1.0 / 6); /* one category differs */
}

static void what_is_missing_is_named(void **state) {
    static const struct {
        sis_distance distance;
        const char *part;
    } cases[] = {{SIS_DISTANCE_JACCARD, "needs words"},
                 {SIS_DISTANCE_LEVENSHTEIN, "needs a sequence"},
                 {SIS_DISTANCE_ENERGY, "needs the shape"},
                 {SIS_DISTANCE_OVERLAP, "needs values"}};
    sis_record r = record();
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        sis_points *p;
        assert_int_equal(sis_points_new(cases[k].distance, &p), 0);
        assert_int_equal(sis_points_add_subset(p, &r, 0), SIS_E_FORMAT);
        assert_non_null(strstr(sis_error_detail(), cases[k].part));
        assert_message_has("record \"7\"");
        assert_int_equal(sis_points_add_subset(p, &r, 1), SIS_E_ARGUMENT);
        assert_int_equal(sis_points_count(p), 0);
        sis_points_free(p);
    }
}

/* ---- Lanes ----------------------------------------------------------------------------------- */

static uint64_t table(const uint8_t *a, size_t n, const uint8_t *b, size_t m) {
    uint64_t cost[200];
    for (size_t j = 0; j <= m; j++)
        cost[j] = j;
    for (size_t i = 1; i <= n; i++) {
        uint64_t diagonal = cost[0];
        cost[0] = i;
        for (size_t j = 1; j <= m; j++) {
            uint64_t change = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = cost[j];
            uint64_t step = (cost[j] < cost[j - 1] ? cost[j] : cost[j - 1]) + 1;
            cost[j] = step < change ? step : change;
        }
    }
    return cost[m];
}

static void check_lanes(const sis__lanes *lanes, sis__rng *r, unsigned length, size_t n) {
    uint8_t text[150], patterns[SIS__LANES][64];
    uint64_t masks64[5 * SIS__LANES] = {0}, d64[SIS__LANES];
    uint32_t masks32[5 * SIS__LANES], d32[SIS__LANES];
    uint16_t masks16[5 * SIS__LANES], d16[SIS__LANES];
    for (size_t i = 0; i < n; i++)
        text[i] = (uint8_t)sis__rng_below(r, 5);
    for (size_t k = 0; k < SIS__LANES; k++)
        for (size_t i = 0; i < length; i++) { /* half of the lanes resemble the text */
            patterns[k][i] =
                k % 2 && i < n && sis__rng_below(r, 6) ? text[i] : (uint8_t)sis__rng_below(r, 5);
            masks64[patterns[k][i] * SIS__LANES + k] |= (uint64_t)1 << i;
        }
    for (size_t i = 0; i < 5 * SIS__LANES; i++) {
        masks32[i] = (uint32_t)masks64[i];
        masks16[i] = (uint16_t)masks64[i];
    }
    lanes->run64(masks64, length, text, n, d64);
    if (length <= 32)
        lanes->run32(masks32, length, text, n, d32);
    if (length <= 16)
        lanes->run16(masks16, length, text, n, d16);
    for (size_t k = 0; k < SIS__LANES; k++) {
        uint64_t expected = table(patterns[k], length, text, n);
        assert_int_equal(d64[k], expected);
        assert_true(length > 32 || d32[k] == expected);
        assert_true(length > 16 || d16[k] == expected);
    }
}

static void lanes_are_the_table(void **state) {
    sis__rng r;
    (void)state;
    sis__rng_init(&r, 3);
    for (const sis__lanes *const *lanes = sis__lanes_all(); *lanes; lanes++)
        for (unsigned length = 1; length <= 64; length++)
            check_lanes(*lanes, &r, length, 1 + sis__rng_below(&r, 149));
}

/* More letters than the eight that lanes support. */
static void many_letters_are_compared_too(void **state) {
    static const char *const strings[] = {"the quick brown fox", "the quick brown ox",
                                          "a quick brown fox", "jumps over", "jumps ever"};
    static const int expected[] = {0, 0, -1, 1, 1};
    sis_points *p;
    sis_cluster_opt opt;
    sis_clusters c;
    (void)state;
    assert_int_equal(sis_points_new(SIS_DISTANCE_LEVENSHTEIN, &p), 0);
    for (size_t k = 0; k < 5; k++)
        assert_int_equal(sis_points_add_letters(p, strings[k], strlen(strings[k])), 0);
    sis_cluster_opt_init(&opt);
    opt.eps = 1;
    opt.min_size = 2;
    assert_int_equal(sis_cluster(p, &opt, &c), 0);
    assert_memory_equal(c.labels, expected, sizeof expected);
    sis_clusters_release(&c);
    sis_points_free(p);
}

/* ---- Motifs ---------------------------------------------------------------------------------- */

static void strings_are_laid_over_one_another(void **state) {
    static const char *const strings[] = {"GATTACA", "ATTACAG", "CGATTA", "GANTACA"};
    sis_motif m;
    double *numbers;
    (void)state;
    assert_int_equal(sis_motif_learn(strings, 4, "x", NULL, &m, &numbers), 0);
    assert_int_equal(m.length, 7); /* G and C at the ends are in only one string each */
    for (size_t k = 0; k < 7; k++) {
        double sum = 0, best = 0;
        size_t at = 0;
        for (size_t b = 0; b < 4; b++) {
            sum += m.counts[4 * k + b];
            if (m.counts[4 * k + b] > best) {
                best = m.counts[4 * k + b];
                at = b;
            }
        }
        assert_true(fabs(sum - 4) < 1e-12);
        assert_int_equal("ACGT"[at], "GATTACA"[k]);
    }
    assert_true(m.counts[4 * 2 + 3] == 3.25); /* N is a quarter of each */
    free(numbers);
    assert_int_equal(sis_motif_learn(strings, 0, "x", NULL, &m, &numbers), SIS_E_ARGUMENT);
    const char *empty = "";
    assert_int_equal(sis_motif_learn(&empty, 1, "x", NULL, &m, &numbers), SIS_E_ARGUMENT);
}

static void strings_are_laid_on_either_strand(void **state) {
    /* GTAAACA is the other strand of TGTTTAC */
    static const char *const strings[] = {"TGTTTAC", "GTAAACA", "TGTTTA", "TAAACAA", "NGTAAACA"};
    static const unsigned char expected[] = {0, 1, 0, 1, 1};
    unsigned char turned[5];
    char letters[] = "GATTNCA", single[] = "C";
    sis_motif m;
    double *numbers;
    (void)state;
    assert_int_equal(sis_motif_learn(strings, 5, "x", turned, &m, &numbers), 0);
    assert_memory_equal(turned, expected, sizeof expected);
    assert_int_equal(m.length, 7);
    for (size_t k = 0; k < 7; k++)
        for (size_t b = 0; b < 4; b++)
            assert_true((m.counts[4 * k + b] > 3) == ("TGTTTAC"[k] == "ACGT"[b]));
    free(numbers);
    sis_dna_turn(letters, 7);
    assert_string_equal(letters, "TGNAATC");
    sis_dna_turn(single, 1);
    assert_string_equal(single, "G");
}

static void windows_of_subsets_are_the_sequence_around_them(void **state) {
    sis_record r = record(); /* bases 0, 2 and 4 */
    char *letters;
    size_t n;
    (void)state;
    r.drawing.sequence = "ACgTNC";
    assert_int_equal(sis_subset_window(&r, 0, 0, &letters, &n), 0);
    assert_string_equal(letters, "ACGTN");
    assert_int_equal(n, 5);
    free(letters);
    assert_int_equal(sis_subset_window(&r, 0, 3, &letters, &n), 0);
    assert_string_equal(letters, "NNNACGTNCNN");
    free(letters);
    assert_int_equal(sis_subset_window(&r, 1, 3, &letters, &n), SIS_E_FORMAT);
    r.drawing.sequence = NULL;
    assert_int_equal(sis_subset_window(&r, 0, 3, &letters, &n), SIS_E_FORMAT);
}

enum { SITES = 60, FLANK = 20, LENGTH = 80 };
static const char whole_site[] = "GGCGCTGTCCATGGTGCTGA";

/* Random sequences with a site on either strand; subsets have six of its bases in one of two
 * places. Without `planted`, only these six are there. */
typedef struct {
    char sequences[SITES][LENGTH + 1], *strings[SITES], *windows[SITES];
    int reverse[SITES];
} planted_sites;

static void plant(planted_sites *p, int planted) {
    sis__rng rng;
    sis__rng_init(&rng, 7);
    for (size_t i = 0; i < SITES; i++) {
        char *s = p->sequences[i];
        size_t at = 5 + sis__rng_below(&rng, LENGTH - sizeof whole_site - 10);
        size_t part = sis__rng_below(&rng, 2) ? 4 : 12, n;
        int features[6];
        for (size_t k = 0; k < LENGTH; k++)
            s[k] = "ACGT"[sis__rng_below(&rng, 4)];
        s[LENGTH] = '\0';
        memcpy(s + at + (planted ? 0 : part), whole_site + (planted ? 0 : part),
               planted ? sizeof whole_site - 1 : 6);
        p->reverse[i] = (int)sis__rng_below(&rng, 2);
        if (p->reverse[i])
            sis_dna_turn(s, LENGTH);
        for (size_t k = 0; k < 6; k++)
            features[k] = (int)(p->reverse[i] ? LENGTH - 1 - at - part - k : at + part + k);
        sis_subset chosen_bases = {.n = 6, .features = features};
        sis_record r = record();
        r.collection.subsets = &chosen_bases;
        r.drawing.sequence = s;
        assert_int_equal(sis_subset_letters(&r, 0, &p->strings[i], &n), 0);
        assert_int_equal(sis_subset_window(&r, 0, FLANK, &p->windows[i], &n), 0);
    }
}

static sis_sites sites_of(const planted_sites *p) {
    return (sis_sites){.n = SITES,
                       .flank = FLANK,
                       .strings = (const char *const *)p->strings,
                       .windows = (const char *const *)p->windows,
                       .background = {0.25, 0.25, 0.25, 0.25}};
}

static void free_sites(planted_sites *p) {
    for (size_t i = 0; i < SITES; i++) {
        free(p->strings[i]);
        free(p->windows[i]);
    }
}

/* The most likely bases of a motif. */
static void likeliest(const sis_motif *m, char *out) {
    for (size_t k = 0; k < m->length; k++) {
        size_t best = 0;
        for (size_t b = 1; b < 4; b++)
            best = m->counts[4 * k + b] > m->counts[4 * k + best] ? b : best;
        out[k] = "ACGT"[best];
    }
    out[m->length] = '\0';
}

static void the_whole_site_is_found_under_parts_of_it(void **state) {
    planted_sites p;
    unsigned char turned[SITES];
    char found[200];
    sis_motif m;
    double *numbers;
    (void)state;
    plant(&p, 1);
    sis_sites sites = sites_of(&p);
    assert_int_equal(sis_motif_learn_sites(&sites, "x", turned, &m, &numbers), 0);
    assert_true(m.length < sizeof whole_site + 6);
    likeliest(&m, found);
    int reverse = strstr(found, whole_site) == NULL;
    if (reverse)
        sis_dna_turn(found, m.length);
    assert_non_null(strstr(found, whole_site));
    for (size_t i = 0; i < SITES; i++)
        assert_int_equal(turned[i] ^ reverse, p.reverse[i]);
    for (size_t k = 0; k < m.length; k++) {
        double sum =
            m.counts[4 * k] + m.counts[4 * k + 1] + m.counts[4 * k + 2] + m.counts[4 * k + 3];
        assert_true(fabs(sum - SITES) < 1e-9);
    }
    free(numbers);
    free_sites(&p);
}

static void nothing_is_found_where_there_is_no_more_than_the_subsets(void **state) {
    planted_sites p;
    char found[200];
    sis_motif m;
    double *numbers;
    (void)state;
    plant(&p, 0);
    sis_sites sites = sites_of(&p);
    /* Only the first kind of subset: one string, many sequences. */
    size_t n = 0;
    for (size_t i = 0; i < SITES; i++)
        if (strcmp(p.strings[i], "CTGTCC") == 0 || strcmp(p.strings[i], "GGACAG") == 0) {
            char *string = p.strings[n], *window = p.windows[n];
            p.strings[n] = p.strings[i];
            p.windows[n++] = p.windows[i];
            p.strings[i] = string;
            p.windows[i] = window;
        }
    assert_true(n > SITES / 4);
    unsigned char turned[SITES];
    sites.n = n;
    assert_int_equal(sis_motif_learn_sites(&sites, "x", turned, &m, &numbers), 0);
    likeliest(&m, found);
    assert_true(m.length <= 8); /* one column in a hundred is significant by chance */
    assert_true(strstr(found, "CTGTCC") || strstr(found, "GGACAG"));
    free(numbers);
    sites.background[2] = 0;
    assert_int_equal(sis_motif_learn_sites(&sites, "x", NULL, &m, &numbers), SIS_E_ARGUMENT);
    sites.background[2] = 0.25;
    sites.flank = 3;
    assert_int_equal(sis_motif_learn_sites(&sites, "x", NULL, &m, &numbers), SIS_E_ARGUMENT);
    assert_message_has("expected 12");
    free_sites(&p);
}

/* A motif of one string. */
static sis_motif motif_of(const char *text, double *p) {
    size_t n = strlen(text);
    for (size_t k = 0; k < n; k++)
        for (size_t b = 0; b < 4; b++)
            p[4 * k + b] = text[k] == 'N' ? 0.25 : text[k] == "ACGT"[b];
    return (sis_motif){.id = text, .name = text, .length = n, .counts = p, .probabilities = p};
}

static void motifs_are_found_on_either_strand(void **state) {
    double a[80], b[80], c[80];
    sis_motif matrix = motif_of("GATTNCA", a);
    sis_motif items[] = {motif_of("CCCC", b), motif_of("TGNAATC", c)};
    sis_motifs set = {.n = 2, .items = items};
    sis_motif_match *found, same = {0};
    (void)state;
    assert_int_equal(sis_motif_search(&matrix, &set, 5, &found), 2);
    assert_int_equal(found[0].motif, 1);
    assert_true(found[0].reverse);
    assert_int_equal(found[0].offset, 0);
    assert_true(found[0].divergence < 0.1 && found[1].divergence > 5);
    free(found);
    sis_motif_compare(&matrix, &matrix, &same);
    assert_true(!same.reverse && same.offset == 0);
    /* six columns of 1 against 0.99 + 0.0025; N against itself adds 0 */
    assert_true(fabs(same.divergence - 6 * log(1 / 0.9925)) < 1e-12);
}

/* ---- p-values -------------------------------------------------------------------------------- */

enum { MOTIFS = 24, LONGEST = 9, SHUFFLES = 4000 };

/* Motifs of random columns, some sharp and some flat. */
typedef struct {
    sis_motif items[MOTIFS];
    double numbers[MOTIFS][4 * LONGEST];
    sis_motifs set;
} some_motifs;

static void draw_motifs(some_motifs *s, sis__rng *r) {
    for (size_t k = 0; k < MOTIFS; k++) {
        size_t n = 4 + sis__rng_below(r, LONGEST - 3);
        for (size_t c = 0; c < n; c++) {
            double sum = 0, *p = s->numbers[k] + 4 * c, sharp = 1 + 4 * sis__rng_uniform(r);
            for (size_t b = 0; b < 4; b++)
                sum += p[b] = pow(sis__rng_uniform(r), sharp) + 1e-3;
            for (size_t b = 0; b < 4; b++)
                p[b] /= sum;
        }
        s->items[k] = (sis_motif){"x", "x", n, s->numbers[k], s->numbers[k]};
    }
    s->set = (sis_motifs){.n = MOTIFS, .items = s->items};
}

/* A motif of n columns, each drawn from all columns of the set on both strands. */
static sis_motif shuffle(const some_motifs *s, size_t n, sis__rng *r, double *p) {
    size_t total = 0;
    for (size_t k = 0; k < MOTIFS; k++)
        total += s->items[k].length;
    for (size_t c = 0; c < n; c++) {
        size_t at = sis__rng_below(r, total), k = 0, turned = sis__rng_below(r, 2);
        for (; at >= s->items[k].length; k++)
            at -= s->items[k].length;
        for (size_t b = 0; b < 4; b++)
            p[4 * c + b] = s->numbers[k][4 * at + (turned ? 3 - b : b)];
    }
    return (sis_motif){"y", "y", n, p, p};
}

/* p-values equal the share of random motifs that are as close. */
static void chances_are_those_of_shuffled_motifs(void **state) {
    static some_motifs s;
    sis__rng r;
    double numbers[4 * LONGEST], other[4 * LONGEST];
    (void)state;
    sis__rng_init(&r, 8);
    draw_motifs(&s, &r);
    for (size_t round = 0; round < rounds(6); round++) {
        size_t n = 3 + sis__rng_below(&r, 6);
        sis_motif matrix = shuffle(&s, n, &r, numbers);
        sis_motif_match *found;
        assert_int_equal(sis_motif_test(&matrix, &s.set, MOTIFS, &found), MOTIFS);
        for (size_t k = 0; k < MOTIFS; k += 5) {
            size_t near = 0;
            for (size_t i = 0; i < SHUFFLES; i++) {
                sis_motif drawn = shuffle(&s, s.items[found[k].motif].length, &r, other);
                sis_motif_match m = {0};
                sis_motif_compare(&matrix, &drawn, &m);
                near += m.divergence <= found[k].divergence + 0.01;
            }
            double share = (double)near / SHUFFLES;
            /* positions are treated as independent, so p is an upper bound of the right
             * magnitude */
            if (share > 1.1 * found[k].p + 0.015 || found[k].p > 3 * share + 0.02)
                fail_msg("p %g, but %g of shuffled motifs are as near", found[k].p, share);
        }
        double largest = 0;
        for (size_t k = 0; k < MOTIFS; k++) { /* the order, and q by its definition */
            double q = 1;
            if (k > 0)
                assert_true(found[k - 1].p <= found[k].p);
            for (size_t i = 0; i < MOTIFS; i++) {
                size_t as_good = 0;
                for (size_t j = 0; j < MOTIFS; j++)
                    as_good += found[j].p <= found[i].p;
                if (found[i].p >= found[k].p)
                    q = fmin(q, found[i].p * MOTIFS / (double)as_good);
            }
            assert_true(fabs(found[k].q - q) < 1e-12);
            largest = fmax(largest, found[k].q);
        }
        assert_true(largest <= 1);
        free(found);
    }
}

/* The plain definition, and both strands of random strings with the index. */
static void both_strands_are_near(void **state) {
    sis__rng r;
    sis_cluster_opt opt;
    (void)state;
    sis__rng_init(&r, 4);
    sis_cluster_opt_init(&opt);
    opt.min_size = 2;
    for (size_t round = 0; round < rounds(40); round++) {
        enum { N = 60 };
        sis_points *both, *one;
        sis_clusters c;
        char text[N][80];
        size_t longest = round % 5 == 4 ? 75 : 9;
        assert_int_equal(sis_points_new(SIS_DISTANCE_LEVENSHTEIN, &both), 0);
        assert_int_equal(sis_points_new(SIS_DISTANCE_LEVENSHTEIN, &one), 0);
        assert_int_equal(sis_points_both_strands(both, 1), 0);
        for (size_t i = 0; i < N; i++) {
            size_t n = 1 + sis__rng_below(&r, longest);
            for (size_t k = 0; k < n; k++)
                text[i][k] =
                    round % 2 ? "ACGTN"[sis__rng_below(&r, 5)] : "AC"[sis__rng_below(&r, 2)];
            if (i % 3 == 2) { /* often the other strand of an earlier one */
                n = strlen(text[i - 1]);
                memcpy(text[i], text[i - 1], n);
                sis_dna_turn(text[i], n);
            }
            text[i][n] = '\0';
            assert_int_equal(sis_points_add_letters(both, text[i], n), 0);
            assert_int_equal(sis_points_add_letters(one, text[i], n), 0);
        }
        for (size_t i = 0; i < N; i++) { /* the strings again, reverse-complemented */
            size_t n = strlen(text[i]);
            sis_dna_turn(text[i], n);
            assert_int_equal(sis_points_add_letters(one, text[i], n), 0);
        }
        opt.eps = (double)(round % 4);
        assert_int_equal(sis_cluster(both, &opt, &c), 0);
        for (size_t a = 0; a < N; a++) {
            size_t near = 0;
            for (size_t b = 0; b < N; b++) {
                double d, straight, turned;
                assert_int_equal(sis_points_distance(both, a, b, &d), 0);
                assert_int_equal(sis_points_distance(one, a, b, &straight), 0);
                assert_int_equal(sis_points_distance(one, a, N + b, &turned), 0);
                assert_true(d == fmin(straight, turned));
                near += d <= opt.eps;
                if (d <= opt.eps && c.core[a] && c.core[b])
                    assert_int_equal(c.labels[a], c.labels[b]);
            }
            assert_int_equal(c.core[a], near >= 2);
        }
        sis_clusters_release(&c);
        sis_points_free(both);
        sis_points_free(one);
    }
    sis_points *words;
    assert_int_equal(sis_points_new(SIS_DISTANCE_JACCARD, &words), 0);
    assert_int_equal(sis_points_both_strands(words, 1), SIS_E_ARGUMENT);
    assert_message_has("have no strands");
    sis_points_free(words);
}

static int align_few(void *ctx) {
    static const char *const strings[] = {"GATTACA", "ATTACAG"};
    static const char *const windows[] = {"TGATTACAC", "GATTACAGA"};
    const sis_sites sites = {.n = 2,
                             .flank = 1,
                             .strings = strings,
                             .windows = windows,
                             .background = {0.25, 0.25, 0.25, 0.25}};
    sis_motif m;
    double *numbers;
    sis_motif_match *found = NULL;
    sis_motifs set = {.n = 1, .items = (sis_motif *)ctx};
    unsigned char turned[2];
    int code = sis_motif_learn(strings, 2, "x", turned, &m, &numbers);
    free(numbers);
    if (code == SIS_OK)
        code = sis_motif_learn_sites(&sites, "x", turned, &m, &numbers);
    else
        numbers = NULL;
    if (code == SIS_OK) {
        long n = sis_motif_test(&m, &set, 1, &found);
        code = n < 0 ? (int)n : SIS_OK;
    }
    free(found);
    free(numbers);
    return code;
}

static int add_few(void *ctx) {
    static const size_t shape[] = {2, 3};
    static const char *const words[] = {"A", "b", "c", "d", "e", "f"};
    static const double values[] = {0, 1, 2, 3, 4, 5};
    sis_record r = record();
    sis_points *p;
    r.drawing.shape = shape;
    r.drawing.rank = 2;
    r.drawing.words = words;
    r.drawing.n_words = 6;
    r.drawing.values = values;
    r.drawing.n_values = 6;
    r.drawing.sequence = "ACGTAC";
    int code = sis_points_new(*(sis_distance *)ctx, &p);
    if (code == SIS_OK)
        code = sis_points_add_subset(p, &r, 0);
    sis_points_free(p);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    double p[80];
    sis_motif motif = motif_of("ACGT", p);
    (void)state;
    assert_true(with_failing_allocations(align_few, &motif) > 20);
    for (int d = 0; d < SIS_DISTANCE_CUSTOM; d++) {
        sis_distance distance = (sis_distance)d;
        assert_true(with_failing_allocations(add_few, &distance) > 3);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_compared_in_lower_case),
        cmocka_unit_test(letters_run_from_first_to_last),
        cmocka_unit_test(pixels_are_found_in_every_layout),
        cmocka_unit_test(cells_are_names_and_values),
        cmocka_unit_test(what_is_missing_is_named),
        cmocka_unit_test(lanes_are_the_table),
        cmocka_unit_test(many_letters_are_compared_too),
        cmocka_unit_test(strings_are_laid_over_one_another),
        cmocka_unit_test(strings_are_laid_on_either_strand),
        cmocka_unit_test(windows_of_subsets_are_the_sequence_around_them),
        cmocka_unit_test(the_whole_site_is_found_under_parts_of_it),
        cmocka_unit_test(nothing_is_found_where_there_is_no_more_than_the_subsets),
        cmocka_unit_test(motifs_are_found_on_either_strand),
        cmocka_unit_test(chances_are_those_of_shuffled_motifs),
        cmocka_unit_test(both_strands_are_near),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
