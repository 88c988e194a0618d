/* SPDX-License-Identifier: MIT
 *
 * sis data dna: generates sequences with planted motifs as ground truth. Each half of the data has
 * three files: FASTA, labels, and the planted positions. All are written as parts and renamed
 * together.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/data.h>
#include <sis/dna.h>

#include "base/rng.h"
#include "data.h"
#include "output.h"
#include "task.h"

enum { FASTA, TARGET, PLANTED, FILES };
static const char *const endings[] = {".fa", ".target", ".planted.tsv"};

/* The training half or the test half. */
typedef struct {
    const char *name;
    char paths[FILES][CLI_PATH_MAX];
    cli_output files[FILES]; /* NULL: not written */
    size_t begin, end;       /* examples */
} half;

typedef struct {
    const cli_data_options *o;
    char folder[CLI_PATH_MAX];
    sis_motifs *own; /* (o->motif.n) motifs that have their own file */
    sis_motifs all;
    sis_motif *chosen; /* (o->motif.n) */
    sis_data *peaks;   /* NULL: none */
    size_t *order;     /* (n_peaks) indices of the peaks used, shuffled */
    size_t n_peaks;
    sis_dna_opt opt;
    half halves[2];
} maker;

/* ---- Reading the options --------------------------------------------------------------------- */

static int parse_composition(const char *text, double out[4]) {
    char copy[256], *at = copy, *cell;
    size_t n = 0;
    snprintf(copy, sizeof copy, "%s", text);
    while ((cell = strsep(&at, ",")) && n < 5)
        if (n >= 4 || !cli_number(cell, &out[n]) || out[n++] < 0)
            n = 5;
    if (n == 4 && out[0] + out[1] + out[2] + out[3] > 0)
        return CLI_DONE;
    return cli_usage("--composition: expected four shares like 0.3,0.2,0.2,0.3, found \"%s\"",
                     text);
}

/* Find the motif file: the one given, the one fetched, or the one installed. */
static int find_motifs(const cli_data_options *o, char path[CLI_PATH_MAX]) {
    char folder[CLI_PATH_MAX];
    if (o->motifs)
        return snprintf(path, CLI_PATH_MAX, "%s", o->motifs) < CLI_PATH_MAX
                   ? CLI_DONE
                   : cli_usage("--motifs: the path is too long");
    if (cli_data_folder(o, "jaspar", folder) != CLI_DONE ||
        cli_path(path, folder, CLI_JASPAR_FILE) != CLI_DONE)
        return CLI_FAILED;
    if (access(path, R_OK) == 0)
        return CLI_DONE;
    if (cli_path(path, CLI_JASPAR_INSTALLED, CLI_JASPAR_FILE) == CLI_DONE &&
        access(path, R_OK) == 0)
        return CLI_DONE;
    return cli_error("no motifs found: run sis data jaspar, or name a file with "
                     "--motifs");
}

/* Is it FILE:ID, where FILE exists? */
static int names_file(const char *text) {
    const char *colon = strrchr(text, ':');
    char *file = colon && colon > text ? strndup(text, (size_t)(colon - text)) : NULL;
    int there = file && access(file, R_OK) == 0;
    free(file);
    return there;
}

/* Read one motif, from its own file or from the shared one, which is read on first use. */
static int read_motif(maker *m, const char *name, size_t k) {
    char path[CLI_PATH_MAX] = "";
    if (names_file(name)) {
        int error = sis_motifs_read(name, &m->own[k]);
        if (!error)
            m->chosen[k] = m->own[k].items[0];
        return error ? cli_error("--motif: %s", sis_error_detail()) : CLI_DONE;
    }
    int status = find_motifs(m->o, path);
    if (status == CLI_DONE && m->all.n == 0)
        status = cli_fail(sis_motifs_read(path, &m->all));
    if (status != CLI_DONE)
        return status;
    const sis_motif *found;
    if (sis_motifs_pick(&m->all, path, name, &found) != SIS_OK)
        return cli_error("--motif: %s", sis_error_detail());
    m->chosen[k] = *found;
    return CLI_DONE;
}

static int read_motifs(maker *m) {
    const cli_list *names = &m->o->motif;
    int status = CLI_DONE;
    if (names->n == 0)
        return CLI_DONE;
    m->chosen = cli_grab(names->n, sizeof *m->chosen);
    m->own = cli_grab(names->n, sizeof *m->own);
    if (!m->chosen || !m->own)
        return CLI_FAILED;
    for (size_t k = 0; status == CLI_DONE && k < names->n; k++)
        status = read_motif(m, names->items[k], k);
    if (status != CLI_DONE)
        return status;
    m->opt.motifs = m->chosen;
    m->opt.n_motifs = names->n;
    return CLI_DONE;
}

/* A pseudorandom number below n from the seed and a counter. */
static size_t mixed(size_t seed, size_t counter, size_t n) {
    return (size_t)(sis__mix(seed * 0xD1342543DE82EF95u + (counter + 1) * SIS__GOLDEN) % n);
}

static int read_peaks(maker *m) {
    if (!m->o->peaks)
        return CLI_DONE;
    sis_data_opt read;
    sis_data_opt_init(&read);
    read.length = m->o->length;
    int error = sis_data_read(m->o->peaks, &read, &m->peaks);
    if (error)
        return cli_error("--peaks: %s", sis_error_detail());
    if (!sis_data_sequence(m->peaks, 0))
        return cli_error("--peaks: %s does not contain DNA", m->o->peaks);
    size_t n = sis_data_count(m->peaks);
    if (!(m->order = cli_grab(n, sizeof *m->order)))
        return CLI_FAILED;
    for (size_t i = 0; i < n; i++) {
        double label;
        if (!sis_data_label_number(m->peaks, i, &label) || label == 1)
            m->order[m->n_peaks++] = i;
    }
    for (size_t k = m->n_peaks; k > 1; k--) {
        size_t other = mixed(m->o->seed, k, k), kept = m->order[k - 1];
        m->order[k - 1] = m->order[other];
        m->order[other] = kept;
    }
    return m->n_peaks ? CLI_DONE
                      : cli_error("--peaks: no sequence of %s is labelled 1", m->o->peaks);
}

static int prepare(maker *m) {
    sis_dna_opt_init(&m->opt);
    if (m->o->length)
        m->opt.length = m->o->length;
    m->opt.seed = m->o->seed;
    if (m->o->motif.n == 0 && !m->o->peaks)
        return cli_usage("dna: expected a --motif to plant, or --peaks to shuffle");
    if (!*m->o->name || strchr(m->o->name, '/'))
        return cli_usage("--name: expected the name of a folder, found \"%s\"", m->o->name);
    int status = parse_composition(m->o->composition, m->opt.composition);
    if (status == CLI_DONE)
        status = cli_data_folder(m->o, m->o->name, m->folder);
    if (status == CLI_DONE)
        status = read_motifs(m);
    if (status == CLI_DONE)
        status = read_peaks(m);
    if (status == CLI_DONE)
        status = cli_make_folder(m->folder);
    return status;
}

/* Choose the held-out examples. A peak and its shuffled copy stay together. */
static void cut_halves(maker *m) {
    size_t n = m->o->count ? m->o->count : 10000;
    if (m->o->motif.n == 0 && (!m->o->count || n > 2 * m->n_peaks))
        n = 2 * m->n_peaks;
    n -= n % 2;
    size_t held = 2 * (size_t)((double)(n / 2) * m->o->held_out + 0.5);
    m->halves[0] = (half){.name = "train", .end = n - held};
    m->halves[1] = (half){.name = "test", .begin = n - held, .end = n};
}

/* ---- Writing --------------------------------------------------------------------------------- */

static int open_half(maker *m, half *h) {
    for (size_t k = 0; k < FILES; k++) {
        char name[64];
        if (k == PLANTED && m->o->motif.n == 0)
            continue;
        snprintf(name, sizeof name, "%s%s", h->name, endings[k]);
        int status = cli_path(h->paths[k], m->folder, name);
        if (status == CLI_DONE)
            status = cli_refuse_output(h->paths[k]);
        if (status == CLI_DONE)
            status = cli_output_open(&h->files[k], h->paths[k]);
        if (status != CLI_DONE)
            return status;
    }
    if (h->files[PLANTED].file)
        fprintf(h->files[PLANTED].file, "id\tmotif\tstart\tend\tstrand\tsite\n");
    return CLI_DONE;
}

/* Make example i. Even ones are positive; each is followed by its negative. */
static int make_sequence(maker *m, size_t i, char **sequence, sis_dna_site *site) {
    int positive = i % 2 == 0;
    const char *peak = m->peaks ? sis_data_sequence(m->peaks, m->order[i / 2 % m->n_peaks]) : NULL;
    sis_dna_opt opt = m->opt;
    opt.peak = peak;
    if (m->o->motif.n > 0 || !positive)
        return sis_dna_make(&opt, i, positive, sequence, site);
    *sequence = strdup(peak);
    return *sequence ? SIS_OK : SIS_E_NOMEM;
}

static int write_example(maker *m, half *h, size_t i) {
    char *sequence = NULL;
    sis_dna_site site = {0};
    int positive = i % 2 == 0, error = make_sequence(m, i, &sequence, &site);
    if (error == SIS_OK) {
        fprintf(h->files[FASTA].file, ">%s%zu\n%s\n", positive ? "pos" : "neg", i / 2, sequence);
        fprintf(h->files[TARGET].file, "%d\t%d\n", positive, !positive);
    }
    if (error == SIS_OK && positive && h->files[PLANTED].file)
        fprintf(h->files[PLANTED].file, "pos%zu\t%s\t%zu\t%zu\t%c\t%.*s\n", i / 2,
                m->chosen[site.motif].id, site.start, site.start + site.length,
                site.reverse ? '-' : '+', (int)site.length, sequence + site.start);
    free(sequence);
    return cli_fail(error);
}

/* Rename all files, or remove them all. */
static int end_files(maker *m, int status) {
    for (half *h = m->halves; h < m->halves + 2; h++)
        for (size_t k = 0; k < FILES; k++)
            status = cli_output_close(&h->files[k], status);
    return status;
}

static int write_halves(maker *m) {
    int status = CLI_DONE;
    for (half *h = m->halves; status == CLI_DONE && h < m->halves + 2; h++) {
        if (h->begin == h->end)
            continue;
        status = open_half(m, h);
        for (size_t i = h->begin; status == CLI_DONE && i < h->end; i++)
            status = write_example(m, h, i);
    }
    return end_files(m, status);
}

int cli_data_dna(const cli_data_options *o) {
    maker m = {.o = o};
    int status = prepare(&m);
    if (status == CLI_DONE) {
        cut_halves(&m);
        status = write_halves(&m);
    }
    for (half *h = m.halves; status == CLI_DONE && h < m.halves + 2; h++)
        for (size_t k = 0; k < FILES; k++)
            if (h->paths[k][0])
                puts(h->paths[k]);
    if (status == CLI_DONE)
        cli_note(o->common.quiet, "%zu sequences to train, %zu held out", m.halves[0].end,
                 m.halves[1].end - m.halves[1].begin);
    for (size_t k = 0; m.own && k < o->motif.n; k++)
        sis_motifs_release(&m.own[k]);
    free(m.own);
    sis_motifs_release(&m.all);
    sis_data_free(m.peaks);
    free(m.chosen);
    free(m.order);
    return status;
}
