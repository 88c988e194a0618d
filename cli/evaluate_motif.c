/* SPDX-License-Identifier: MIT
 *
 * DNA subsets on a motif: --motif FILE[:ID].
 */
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

/* FILE alone must hold one motif; FILE:ID picks one. */
static int open_motif(evaluation *ev) {
    const char *text = ev->o->motif;
    if (sis_motifs_read(text, &ev->motifs) != SIS_OK)
        return cli_error("--motif: %s", sis_error_detail());
    ev->motif = &ev->motifs.items[0];
    return ev->motifs.n == 1 ? CLI_DONE
                             : cli_error("--motif: %s holds %zu motifs; say which with %s:ID", text,
                                         ev->motifs.n, text);
}

static int align(const evaluation *ev, eval_rationale *x) {
    const sis_record *r = ev->examples[x->example].record;
    sis_alignment at;
    if (!r->drawing.sequence)
        return cli_error("--motif: record \"%s\" has no sequence; motifs are compared with DNA",
                         r->id);
    int error =
        sis_motif_align(ev->motif, r->drawing.sequence, x->features, (size_t)x->length, &at);
    if (error)
        return cli_error("--motif: record \"%s\": %s", r->id, sis_error_detail());
    x->divergence = at.divergence;
    x->start = at.start;
    x->reverse = at.reverse;
    return CLI_DONE;
}

int eval_motif(evaluation *ev) {
    int status = open_motif(ev);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
        for (size_t i = 0; status == CLI_DONE && i < ev->methods[k].n_items; i++)
            status = align(ev, &ev->methods[k].items[i]);
    return status;
}
