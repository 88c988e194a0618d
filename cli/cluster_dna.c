/* SPDX-License-Identifier: MIT
 *
 * Matrices of DNA clusters: members laid over the medoid, written as JASPAR, and the known motifs
 * that they are most like.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cluster.h"
#include "output.h"
#include "task.h"

enum { MATCHES_MOST = 3 };

/* Lay the strings of a cluster over one another, that of its medoid first. Patterns are then those
 * of the strand on which they lie, so that alike ones look alike. */
static int lay(cli_matrices *x, size_t cluster, const char **strings, size_t n) {
    unsigned char *turned = x->both ? cli_grab(n, 1) : NULL;
    if (x->both && !turned)
        return CLI_FAILED;
    int error = sis_motif_learn(strings, n, x->names[cluster], turned, &x->items[cluster],
                                &x->numbers[cluster]);
    for (size_t i = 0; !error && turned && i < n; i++)
        if (turned[i])
            sis_dna_turn((char *)(uintptr_t)strings[i], strlen(strings[i]));
    x->items[cluster].name = strings[0];
    free(turned);
    return cli_fail(error);
}

/* The strings of a cluster. */
static int align(cli_subsets *s, const sis_clusters *c, const cli_members *m, size_t cluster,
                 cli_matrices *x) {
    size_t n = m->start[cluster + 1] - m->start[cluster], at = 1;
    const char **strings = cli_grab(n, sizeof *strings);
    char name[32];
    snprintf(name, sizeof name, "cluster%zu", cluster + 1);
    x->names[cluster] = strdup(name);
    if (!strings || !x->names[cluster]) {
        free(strings);
        return cli_error("out of memory");
    }
    strings[0] = s->items[c->medoids[cluster]].pattern;
    for (size_t k = m->start[cluster]; k < m->start[cluster + 1]; k++)
        if (m->items[k] != c->medoids[cluster] && at < n)
            strings[at++] = s->items[m->items[k]].pattern;
    int status = lay(x, cluster, strings, n);
    free(strings);
    return status;
}

static int match(cli_matrices *x, size_t cluster) {
    x->n_matches[cluster] =
        sis_motif_test(&x->items[cluster], &x->motifs, MATCHES_MOST, &x->matches[cluster]);
    if (x->n_matches[cluster] >= 0)
        return CLI_DONE;
    int code = (int)x->n_matches[cluster];
    x->n_matches[cluster] = 0;
    return cli_fail(code);
}

int cli_matrices_find(cli_subsets *s, const sis_clusters *c, const cli_members *m,
                      const char *motifs, cli_matrices *out) {
    size_t n = c->n_clusters;
    *out = (cli_matrices){.both = !s->forward};
    out->items = cli_grab(n, sizeof *out->items);
    out->numbers = cli_grab(n, sizeof *out->numbers);
    out->names = cli_grab(n, sizeof *out->names);
    out->matches = cli_grab(n, sizeof *out->matches);
    out->n_matches = cli_grab(n, sizeof *out->n_matches);
    if (!out->items || !out->numbers || !out->names || !out->matches || !out->n_matches)
        return CLI_FAILED;
    out->n = n;
    int status = motifs ? cli_fail(sis_motifs_read(motifs, &out->motifs)) : CLI_DONE;
    for (size_t k = 0; status == CLI_DONE && k < n; k++) {
        status = align(s, c, m, k, out);
        if (status == CLI_DONE && out->motifs.n)
            status = match(out, k);
    }
    return status;
}

int cli_matrices_write(const cli_matrices *x, const char *path) {
    cli_output out = {0};
    int status = cli_output_open(&out, path);
    for (size_t k = 0; status == CLI_DONE && k < x->n; k++) {
        const sis_motif *m = &x->items[k];
        fprintf(out.file, ">%s %s\n", m->id, m->name);
        for (size_t b = 0; b < 4; b++) {
            fprintf(out.file, "%c [", "ACGT"[b]);
            for (size_t at = 0; at < m->length; at++)
                fprintf(out.file, " %.6g", m->counts[4 * at + b]);
            fputs(" ]\n", out.file);
        }
    }
    return cli_output_close(&out, status);
}

void cli_matrices_release(cli_matrices *x) {
    for (size_t k = 0; k < x->n; k++) {
        free(x->numbers[k]);
        free(x->names[k]);
        free(x->matches[k]);
    }
    free(x->items);
    free(x->numbers);
    free(x->names);
    free(x->matches);
    free(x->n_matches);
    sis_motifs_release(&x->motifs);
    *x = (cli_matrices){0};
}
