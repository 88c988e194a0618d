/* SPDX-License-Identifier: MIT
 *
 * DNA: FASTA, tables of sequences, motifs, shuffles and generated sequences.
 */
#include "support_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/dna.h>

#include "base/rng.h"

static sis_data *open_as(const char *name, const char *text) {
    sis_data *data = data_open(folder_text(name, text));
    assert_string_equal(sis_data_kind(data), "dna");
    return data;
}

static void refused(const char *name, const char *text, const char *part) {
    data_refused(folder_text(name, text), SIS_E_FORMAT, part);
}

static void fasta_is_read_however_it_is_written(void **state) {
    (void)state;
    static const char *const files[] = {">one first\nACGT\nNA\n>two\nGG\n",
                                        ">one first\r\nacg\r\ntnA\r\n\r\n>two\r\nGg",
                                        "; a remark\n\n>one\nA C G\nTNA\n\n>\ttwo more\nG\nG\n\n"};
    for (size_t i = 0; i < 3; i++) {
        sis_data *data = open_as("a.fa", files[i]);
        const double expected[] = {1, 0, 0, 0, .25, 1, 0, 1, 0, 0, .25, 0,
                                   0, 0, 1, 0, .25, 0, 0, 0, 0, 1, .25, 0};
        char number[SIS_ID_SIZE];
        double v[24];
        int map[24];
        size_t rank;
        const size_t *shape = sis_data_shape(data, 0, &rank);
        assert_int_equal(sis_data_count(data), 2);
        assert_int_equal(rank, 2);
        assert_int_equal(shape[0], 4);
        assert_int_equal(shape[1], 6);
        assert_string_equal(sis_data_id(data, 0, number), "one");
        assert_string_equal(sis_data_id(data, 1, number), "two");
        assert_string_equal(sis_data_sequence(data, 0), "ACGTNA");
        assert_string_equal(sis_data_sequence(data, 1), "GG");
        assert_null(sis_data_text(data, 0));
        assert_null(sis_data_label(data, 0));
        assert_int_equal(sis_data_width(data, 1), 8);
        assert_int_equal(sis_data_values(data, 0, v), 0);
        for (size_t k = 0; k < 24; k++)
            assert_true(v[k] == expected[k]);
        assert_int_equal(sis_data_features(data, 0, map), 6);
        for (int k = 0; k < 24; k++)
            assert_int_equal(map[k], k % 6);
        sis_data_free(data);
    }
}

static void places_behind_names_are_part_of_ids(void **state) {
    static const struct {
        const char *title, *id;
    } cases[] = {
        {"peak7 chr1:100-201(-)", "peak7::chr1:100-201(-)"},
        {"peak7\tchr1:100-201 summit=50", "peak7::chr1:100-201"},
        {"p hg38:chrX:1-3(.)", "p::hg38:chrX:1-3(.)"},
        {"chr1:100-201 chr2:5-9", "chr1:100-201"},
        {"p::chr1:100-201(+) chr2:5-9", "p::chr1:100-201(+)"},
        {"p :100-201", "p"},
        {"p chr1:100-", "p"},
        {"p chr1:-201", "p"},
        {"p chr1:100-201(x)", "p"},
        {"p chr1:100-201(+", "p"},
        {"p chr1:100-201-300", "p"},
        {"p 100-201", "p"},
        {"p chr1:1a-2", "p"},
    };
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[100], number[SIS_ID_SIZE];
        snprintf(text, sizeof text, ">%s\nACG\n", cases[k].title);
        sis_data *data = open_as("a.fa", text);
        assert_string_equal(sis_data_id(data, 0, number), cases[k].id);
        assert_string_equal(sis_data_sequence(data, 0), "ACG");
        sis_data_free(data);
    }
}

static void labels_of_fasta_are_beside(void **state) {
    (void)state;
    folder_text("l.target", "1\t0\n0\t1\n");
    sis_data *data = open_as("l.fasta", ">a\nA\n>b\nC\n");
    assert_string_equal(sis_data_label(data, 0), "1");
    assert_string_equal(sis_data_label(data, 1), "0");
    sis_data_free(data);
    folder_text("l.target", "0.5\n");
    refused("l.fasta", ">a\nA\n>b\nC\n", "l.target: 1 labels for 2 sequences of");
    folder_text("l.target", "1\n2\n\n3\n");
    refused("l.fasta", ">a\nA\n>b\nC\n", "l.target, line 4: more labels than there are sequences");
    folder_text("l.target", "1\nx 1\n");
    refused("l.fasta", ">a\nA\n>b\nC\n", "l.target, line 2: expected a number as the label");
}

static void bad_fasta_is_said(void **state) {
    (void)state;
    refused("a.fa", ">one\nACGT\nACXT\n", "a.fa, line 3: 'X' is not a base; expected A, C, G, T or N");
    refused("a.fa", ">one\nAC\x01T\n", "a.fa, line 2: byte 0x01 is not a base");
    refused("a.fa", ">one\nACRT\n", "line 2: 'R' is not a base");
    refused("a.fa", "ACGT\n", "a.fa, line 1: not FASTA: expected a line that begins with '>'");
    refused("a.fa", ">one\n>two\nA\n", "a.fa, line 1: a name without a sequence");
    refused("a.fa", ">one\nA\n>two\n", "a.fa, line 3: a name without a sequence");
    refused("a.fa", "", "is empty; expected sequences");
    refused("a.fa", ">on\xFF\nA\n", "a.fa, line 1: byte 4 is not UTF-8");
}

static void tables_of_sequences_are_read(void **state) {
    (void)state;
    char number[SIS_ID_SIZE];
    sis_data *data =
        open_as("a.seq", "FoldID\tEventID\tseq\tBound\nA\tp1\tACgt\t1\nB\tp2\tGGN\t0\n\n");
    assert_int_equal(sis_data_count(data), 2);
    assert_string_equal(sis_data_id(data, 1, number), "p2");
    assert_string_equal(sis_data_sequence(data, 0), "ACGT");
    assert_string_equal(sis_data_label(data, 1), "0");
    sis_data_free(data);
    data = open_as("a.seq", "seq\nA\n");
    assert_string_equal(sis_data_id(data, 0, number), "0");
    assert_null(sis_data_label(data, 0));
    sis_data_free(data);
    refused("a.seq", "", "expected a header with a column \"seq\"");
    refused("a.seq", "a\tb\n", "expected a header with a column \"seq\"");
    refused("a.seq", "seq\tBound\n", "has a header but no sequences");
    refused("a.seq", "seq\tBound\nA\n", "line 2: expected 2 columns as in the header, found 1");
    refused("a.seq", "seq\tBound\nA\t\n", "line 2: the label is missing");
    refused("a.seq", "seq\tBound\nAZ\t1\n", "line 2: 'Z' is not a base");
    refused("a.seq", "seq\tBound\n\t1\n", "line 2: a name without a sequence");
}

/* ---- Motifs ---------------------------------------------------------------------------------- */

static const char *const motif_files[] = {
    ">MA1.1\tFoo\n0 10 \n5 0\n5 0\n0 0 \n>MA1.2 Bar baz\n1 1 2\n1 1 2\n1 1 2\n1 1 2\n",
    ">MA1.1 Foo\nA [ 0 10 ]\nC [ 5 0 ]\nG [ 5 0 ]\nT [ 0 0 ]\n"
    ">MA1.2 Bar baz\nA [1 1 2 ]\nC [1 1 2 ]\nG [1 1 2 ]\nT [1 1 2 ]\n",
    "# remark\n>MA1.1 Foo\n0.0\t5.0\t5.0\t0.0\n10.0\t0.0\t0.0\t0.0\n"
    ">MA1.2 Bar baz\n1 1 1 1\n1 1 1 1\n2 2 2 2\n",
    "MEME version 4\n\nALPHABET= ACGT\n\nstrands: + -\n\nBackground letter frequencies\nA 0.3 C "
    "0.2 G "
    "0.2 T 0.3\n\nMOTIF MA1.1 Foo\n\nletter-probability matrix: alength= 4 w= 2 nsites= 10 E= 0\n"
    " 0.0 0.5 0.5 0.0\n 1.0 0.0 0.0 0.0\n\nURL none\n\nMOTIF MA1.2 Bar baz\n"
    "letter-probability matrix: alength= 4 w= 3\n .25 .25 .25 .25\n .25 .25 .25 .25\n .25 .25 .25 "
    ".25\n",
};

static void motifs_are_read_in_every_format(void **state) {
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        sis_motifs m;
        if (sis_motifs_read(folder_text("a.pfm", motif_files[i]), &m) != 0)
            fail_msg("%s", sis_error_detail());
        const double counts[] = {0, 5, 5, 0, 10, 0, 0, 0};
        assert_int_equal(m.n, 2);
        assert_string_equal(m.items[0].id, "MA1.1");
        assert_string_equal(m.items[0].name, "Foo");
        assert_string_equal(m.items[1].name, "Bar baz");
        assert_int_equal(m.items[0].length, 2);
        assert_int_equal(m.items[1].length, 3);
        for (size_t k = 0; k < 8; k++) {
            assert_true(m.items[0].counts[k] == counts[k]);
            assert_true(m.items[0].probabilities[k] == counts[k] / 10);
        }
        for (size_t k = 0; k < 12; k++)
            assert_true(m.items[1].probabilities[k] == 0.25);
        assert_ptr_equal(sis_motifs_find(&m, "foo"), &m.items[0]);
        assert_ptr_equal(sis_motifs_find(&m, "MA1.1"), &m.items[0]);
        assert_ptr_equal(sis_motifs_find(&m, "MA1"), &m.items[1]);
        assert_null(sis_motifs_find(&m, "MA"));
        assert_null(sis_motifs_find(&m, ""));
        sis_motifs_release(&m);
    }
}

static void one_motif_of_a_file_is_named_behind_it(void **state) {
    char path[2048];
    sis_motifs m;
    (void)state;
    snprintf(path, sizeof path, "%s:bar BAZ", folder_text("n.pfm", motif_files[0]));
    assert_int_equal(sis_motifs_read(path, &m), 0);
    assert_int_equal(m.n, 1);
    assert_string_equal(m.items[0].name, "Bar baz");
    assert_int_equal(m.items[0].length, 3);
    sis_motifs_release(&m);
    snprintf(path, sizeof path, "%s:MA9", folder_path("n.pfm"));
    assert_int_equal(sis_motifs_read(path, &m), SIS_E_ARGUMENT);
    assert_message_has("n.pfm has no motif \"MA9\"");
    assert_null(m.items);
    snprintf(path, sizeof path, "%s:MA1", folder_path("absent.pfm"));
    assert_int_equal(sis_motifs_read(path, &m), SIS_E_IO);
    assert_int_equal(sis_motifs_read(folder_text("with:colon", motif_files[0]), &m), 0);
    assert_int_equal(m.n, 2);
    sis_motifs_release(&m);
}

static void motifs_are_found_by_what_they_are_called(void **state) {
    static const char rows[] = "1\n1\n1\n1\n";
    char text[256];
    sis_motifs m;
    (void)state;
    snprintf(text, sizeof text, ">AP2\n%s>AP2_long\n%s>CTCF_HUMAN.H11MO.0.A\n%s>M1.1_M1.1.FOO\n%s",
             rows, rows, rows, rows);
    assert_int_equal(sis_motifs_read(folder_text("f.pfm", text), &m), 0);
    assert_ptr_equal(sis_motifs_find(&m, "ap2"), &m.items[0]);
    assert_ptr_equal(sis_motifs_find(&m, "AP2_long"), &m.items[1]);
    assert_ptr_equal(sis_motifs_find(&m, "ctcf"), &m.items[2]);
    assert_string_equal(m.items[2].name, "CTCF_HUMAN.H11MO.0.A"); /* not its quality, A */
    assert_string_equal(m.items[3].name, "FOO");
    assert_null(sis_motifs_find(&m, "A"));
    sis_motifs_release(&m);
}

static void bad_motifs_are_said(void **state) {
    (void)state;
    static const char *const cases[][2] = {
        {"", "contains no motifs"},
        {"1 2\n", "line 1: not a file of motifs"},
        {">\n1 2\n", "line 1: a motif without a name"},
        {">a\n1 2\n1\n", "line 3: 1 numbers; expected as many as on the line before"},
        {">a\n1 x\n", "line 2: expected numbers from 0 up, found \"x\""},
        {">a\n1 -2\n", "found \"-2\""},
        {">a\n1 2\n1 2\n1 2\n", "line 1: a motif of 3 rows of 2 numbers"},
        {">a\n>b\n1\n1\n1\n1\n", "line 1: a motif of 0 rows"},
        {">a\n1 2\n1 2\n1 2\n1 2\n>b\n1 2 3 4\n", "some motifs have a row for each base"},
        {">a\n0\n0\n0\n0\n", "line 1: position 0 of the motif adds up to 0"},
        {">a\nA 1 2\nT 1 2\nC 1 2\nG 1 2\n", "line 3: expected rows in the order A, C, G, T"},
        {"MEME version 4\nletter-probability matrix: w= 2\n", "line 2: a matrix before the first"},
        {"MEME version 4\nMOTIF a\nletter-probability matrix: alength= 20 w= 2\n", "not DNA"},
        {"MEME version 4\nMOTIF a\n", "line 2: a motif of 0 rows"},
        {"MEME version 4\nMOTIF a\nletter-probability matrix: alength= 4 w= 2\n1 0 0 0\n\n1 0 0 "
         "0\n",
         "line 2: found 1 rows of the motif, its w= says 2"},
        {"MEME version 4\n", "contains no motifs"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        sis_motifs m;
        assert_int_equal(sis_motifs_read(folder_text("b.pfm", cases[i][0]), &m), SIS_E_FORMAT);
        assert_message_has(cases[i][1]);
        assert_null(m.items);
    }
}

/* ---- Shuffles -------------------------------------------------------------------------------- */

static void count_pairs(const char *s, size_t counts[128][128]) {
    memset(counts, 0, 128 * 128 * sizeof(size_t));
    for (; s[0] && s[1]; s++)
        counts[(int)s[0]][(int)s[1]]++;
}

static void shuffles_keep_every_pair(void **state) {
    (void)state;
    static size_t before[128][128], after[128][128];
    sis__rng r;
    sis__rng_init(&r, 11);
    size_t moved = 0;
    for (uint64_t round = 0; round < 500; round++) {
        char s[128], out[128];
        size_t n = 1 + sis__rng_below(&r, 120), kinds = 1 + sis__rng_below(&r, 5);
        for (size_t i = 0; i < n; i++)
            s[i] = "ACGTN"[sis__rng_below(&r, kinds)];
        s[n] = '\0';
        assert_int_equal(sis_dna_shuffle(s, round, out), 0);
        count_pairs(s, before);
        count_pairs(out, after);
        assert_memory_equal(before, after, sizeof before);
        assert_int_equal(strlen(out), n);
        assert_int_equal(out[0], s[0]);
        moved += strcmp(s, out) != 0;
    }
    assert_true(moved > 300);
    char out[8];
    assert_int_equal(sis_dna_shuffle("ACX", 1, out), SIS_E_ARGUMENT);
    assert_int_equal(sis_dna_shuffle("", 1, out), SIS_E_ARGUMENT);
}

/* ACAGATACA has the pairs AC CA AG GA AT TA AC CA: A is first and last, with the four loops
 * CACGAT in any order. The two C are equal: 12 sequences, all equally likely. */
static void shuffles_are_even(void **state) {
    (void)state;
    enum { ROUNDS = 12000 };
    char seen[16][16];
    size_t counts[16] = {0}, n = 0;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        char out[16];
        size_t k = 0;
        assert_int_equal(sis_dna_shuffle("ACAGATACA", round, out), 0);
        while (k < n && strcmp(seen[k], out) != 0)
            k++;
        assert_true(k < 12);
        if (k == n)
            strcpy(seen[n++], out);
        counts[k]++;
    }
    assert_int_equal(n, 12);
    for (size_t k = 0; k < 12; k++)
        assert_in_range(counts[k], 850, 1150); /* 1000, within five standard deviations of 30 */
}

/* ---- Generated sequences --------------------------------------------------------------------- */

static void motifs_are_planted_on_either_strand(void **state) {
    (void)state;
    sis_motifs m;
    assert_int_equal(sis_motifs_read(folder_text("p.pfm", ">x\n1 0 0\n0 1 0\n0 0 0\n0 0 1\n"), &m),
                     0);
    sis_dna_opt opt;
    sis_dna_opt_init(&opt);
    opt.length = 20;
    opt.composition[0] = opt.composition[2] = opt.composition[3] = 0; /* all C */
    opt.motifs = m.items;
    opt.n_motifs = m.n;
    size_t reverse = 0, starts[18] = {0};
    for (size_t i = 0; i < 2000; i++) {
        char *s, *again, expected[21];
        sis_dna_site site, same;
        assert_int_equal(sis_dna_make(&opt, i, 1, &s, &site), 0);
        assert_int_equal(sis_dna_make(&opt, i, 1, &again, &same), 0);
        memset(expected, 'C', 20);
        expected[20] = '\0';
        memcpy(expected + site.start, site.reverse ? "AGT" : "ACT", 3);
        assert_string_equal(s, expected);
        assert_string_equal(s, again);
        reverse += (size_t)site.reverse;
        starts[site.start]++;
        free(s);
        free(again);
        assert_int_equal(sis_dna_make(&opt, i, 0, &s, NULL), 0);
        assert_string_equal(s, "CCCCCCCCCCCCCCCCCCCC");
        free(s);
    }
    assert_in_range(reverse, 850, 1150);
    for (size_t k = 0; k < 18; k++)
        assert_in_range(starts[k], 60, 170);
    sis_motifs_release(&m);
}

static void backgrounds_have_their_composition(void **state) {
    (void)state;
    sis_dna_opt opt;
    sis_dna_opt_init(&opt);
    const double share[4] = {0.1, 0.2, 0.3, 0.4};
    size_t counts[4] = {0};
    char *s;
    memcpy(opt.composition, share, sizeof share);
    opt.length = 100000;
    assert_int_equal(sis_dna_make(&opt, 0, 0, &s, NULL), 0);
    for (size_t i = 0; i < opt.length; i++)
        counts[strchr("ACGT", s[i]) - "ACGT"]++;
    free(s);
    for (size_t b = 0; b < 4; b++)
        assert_true(fabs((double)counts[b] / 1e5 - share[b]) < 0.01);
    opt.peak = "ACGTACGATN";
    static size_t before[128][128], after[128][128];
    assert_int_equal(sis_dna_make(&opt, 5, 0, &s, NULL), 0);
    count_pairs("ACGTACGATN", before);
    count_pairs(s, after);
    assert_memory_equal(before, after, sizeof before);
    free(s);
    opt.peak = "ACGU";
    assert_int_equal(sis_dna_make(&opt, 5, 0, &s, NULL), SIS_E_ARGUMENT);
}

static void impossible_wishes_are_refused(void **state) {
    (void)state;
    sis_dna_opt opt;
    char *s;
    sis_dna_site site;
    sis_motifs m;
    sis_dna_opt_init(&opt);
    assert_int_equal(sis_dna_make(&opt, 0, 1, &s, &site), SIS_E_ARGUMENT);
    assert_message_has("no motif to plant");
    assert_int_equal(sis_motifs_read(folder_text("p.pfm", ">x\n1 1\n1 1\n1 1\n1 1\n"), &m), 0);
    opt.motifs = m.items;
    opt.n_motifs = 1;
    opt.length = 1;
    assert_int_equal(sis_dna_make(&opt, 0, 1, &s, &site), SIS_E_ARGUMENT);
    assert_message_has("motif x is 2 bases long, but a sequence only 1");
    opt.length = 0;
    assert_int_equal(sis_dna_make(&opt, 0, 0, &s, NULL), SIS_E_ARGUMENT);
    opt.length = 5;
    opt.composition[1] = -1;
    assert_int_equal(sis_dna_make(&opt, 0, 0, &s, NULL), SIS_E_ARGUMENT);
    memset(opt.composition, 0, sizeof opt.composition);
    assert_int_equal(sis_dna_make(&opt, 0, 0, &s, NULL), SIS_E_ARGUMENT);
    opt.composition[1] = NAN;
    assert_int_equal(sis_dna_make(&opt, 0, 0, &s, NULL), SIS_E_ARGUMENT);
    assert_null(s);
    sis_motifs_release(&m);
}

/* ---- Real files, damage, memory -------------------------------------------------------------- */

static void real_files_are_read(void **state) {
    (void)state;
    sis_data *data;
    sis_motifs m;
    const char *path = shared_data("dna/ctcf_test.fa.gz");
    if (path) {
        assert_int_equal(sis_data_read(path, NULL, &data), 0);
        assert_int_equal(sis_data_count(data), 19544);
        assert_int_equal(sis_data_width(data, 19543), 404);
        assert_string_equal(sis_data_label(data, 0), "1");
        sis_data_free(data);
    }
    if ((path = shared_data("dna/encode/MYC_B.seq.gz"))) {
        size_t bound = 0;
        assert_int_equal(sis_data_read(path, NULL, &data), 0);
        for (size_t i = 0; i < sis_data_count(data); i++)
            bound += sis_data_label(data, i)[0] == '1';
        assert_int_equal(sis_data_count(data), 1000);
        assert_int_equal(bound, 500);
        sis_data_free(data);
    }
    if ((path = shared_data("motifs/JASPAR2022_vertebrates.pfm"))) {
        assert_int_equal(sis_motifs_read(path, &m), 0);
        assert_int_equal(m.n, 838);
        const sis_motif *ctcf = sis_motifs_find(&m, "CTCF");
        assert_non_null(ctcf);
        assert_true(ctcf->length >= 15 && ctcf->length <= 35);
        assert_non_null(sis_motifs_find(&m, "MA0004.1"));
        sis_motifs_release(&m);
    }
}

static void read_motifs(const char *path) {
    sis_motifs m;
    int code = sis_motifs_read(path, &m);
    assert_true(code == SIS_E_FORMAT || code == SIS_OK);
    sis_motifs_release(&m);
}

static void spoiled_files_do_no_harm(void **state) {
    (void)state;
    static const char fasta[] = ">one x\nACgtN\nAA\n>two c:1-2\nG\n";
    static const char seq[] = "EventID\tseq\tBound\np\tACG\t1\nq\tG\t0\n";
    with_spoiled_files("s.fa", fasta, sizeof fasta - 1, 2000, data_read_spoiled);
    with_spoiled_files("s.seq", seq, sizeof seq - 1, 2000, data_read_spoiled);
    for (size_t i = 0; i < 4; i++)
        with_spoiled_files("s.pfm", motif_files[i], strlen(motif_files[i]), 500, read_motifs);
}

static int make_once(void *ctx) {
    sis_motifs m;
    char *s = NULL;
    sis_dna_site site;
    sis_dna_opt opt;
    sis_dna_opt_init(&opt);
    int code = sis_motifs_read((const char *)ctx, &m);
    opt.motifs = m.items;
    opt.n_motifs = m.n;
    if (code == SIS_OK)
        code = sis_dna_make(&opt, 0, 1, &s, &site);
    if (code == SIS_OK)
        code = sis_dna_shuffle("ACGTAC", 1, s);
    free(s);
    sis_motifs_release(&m);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    (void)state;
    char path[2048];
    folder_text("m.target", "1\n0\n");
    snprintf(path, sizeof path, "%s", folder_text("m.fa", ">a\nAC\n>b\nGG\n"));
    assert_true(with_failing_allocations(data_read_once, path) > 5);
    snprintf(path, sizeof path, "%s", folder_text("m.seq", "EventID\tseq\tBound\np\tACG\t1\n"));
    assert_true(with_failing_allocations(data_read_once, path) > 5);
    snprintf(path, sizeof path, "%s", folder_text("m.pfm", motif_files[0]));
    assert_true(with_failing_allocations(make_once, path) > 5);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fasta_is_read_however_it_is_written),
        cmocka_unit_test(places_behind_names_are_part_of_ids),
        cmocka_unit_test(labels_of_fasta_are_beside),
        cmocka_unit_test(bad_fasta_is_said),
        cmocka_unit_test(tables_of_sequences_are_read),
        cmocka_unit_test(motifs_are_read_in_every_format),
        cmocka_unit_test(one_motif_of_a_file_is_named_behind_it),
        cmocka_unit_test(motifs_are_found_by_what_they_are_called),
        cmocka_unit_test(bad_motifs_are_said),
        cmocka_unit_test(shuffles_keep_every_pair),
        cmocka_unit_test(shuffles_are_even),
        cmocka_unit_test(motifs_are_planted_on_either_strand),
        cmocka_unit_test(backgrounds_have_their_composition),
        cmocka_unit_test(impossible_wishes_are_refused),
        cmocka_unit_test(real_files_are_read),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
