/* SPDX-License-Identifier: MIT
 *
 * The known motif that a subset of DNA is most like: its letters as a matrix of one sequence,
 * searched for as sis cluster searches for the matrices of clusters.
 */
#include <stdlib.h>

#include <sis/analysis.h>

#include "show.h"

enum { INDENT = 10 };

static void print_match(const cli_page *p, const sis_motif_match *m) {
    const sis_motif *motif = &p->motifs->items[m->motif];
    fprintf(p->out, "%*smost like ", INDENT, "");
    cli_print_motif(p->out, motif->name, motif->id);
    fprintf(p->out, "   divergence %.2f   p %.2g%s\n", m->divergence, m->p,
            m->reverse ? ", other strand" : "");
}

void cli_show_motif(const cli_page *p, size_t k) {
    sis_motif matrix;
    double *numbers = NULL;
    char *letters = NULL;
    sis_motif_match *matches = NULL;
    size_t n;
    if (sis_subset_letters(p->r, k, &letters, &n) != SIS_OK)
        return;
    const char *strings[] = {letters};
    if (sis_motif_learn(strings, 1, "subset", NULL, &matrix, &numbers) == SIS_OK &&
        sis_motif_test(&matrix, p->motifs, 1, &matches) > 0)
        print_match(p, &matches[0]);
    free(matches);
    free(numbers);
    free(letters);
}
