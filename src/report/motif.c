/* SPDX-License-Identifier: MIT
 *
 * The motif of a cluster of sequence subsets. Each member is shifted over the reference, the
 * cluster's medoid, to where most bases agree, and counted there. The columns are those of the
 * reference plus four on either side.
 *
 * Time: the length of both patterns for each shift, times the number of overlapping shifts.
 */
#include <stdint.h>
#include <string.h>

#include "base/mem.h"
#include "report/figures.h"

enum { COLUMNS_MAX = 48, MARGIN = 4 };

/* The bases of a subset by position, '\0' if not chosen. */
typedef struct {
    char bases[COLUMNS_MAX];
    int length;
} pattern;

static pattern read_pattern(const sis_report *report, const sis__member *m) {
    const sis__report_example *e = &report->examples[m->example];
    const sis_subset *s = &e->record.collection.subsets[m->subset];
    pattern p = {{0}, 0};
    int first = s->features[0];
    for (size_t i = 1; i < s->n; i++)
        first = s->features[i] < first ? s->features[i] : first;
    for (size_t i = 0; i < s->n; i++) {
        int at = s->features[i] - first;
        if (at >= COLUMNS_MAX - 2 * MARGIN)
            continue;
        p.bases[at] = e->record.drawing.sequence[s->features[i]];
        p.length = at + 1 > p.length ? at + 1 : p.length;
    }
    return p;
}

/* The agreement if p begins `shift` columns after the reference. */
static int agreement(const pattern *reference, const pattern *p, int shift) {
    int sum = 0;
    for (int i = 0; i < p->length; i++) {
        int at = i + shift;
        if (at >= 0 && at < reference->length && p->bases[i] && reference->bases[at])
            sum += p->bases[i] == reference->bases[at] ? 2 : -1;
    }
    return sum;
}

static int best_shift(const pattern *reference, const pattern *p) {
    int best = 0, max = agreement(reference, p, 0);
    for (int shift = -p->length; shift <= reference->length; shift++) {
        int found = agreement(reference, p, shift);
        if (found > max) {
            max = found;
            best = shift;
        }
    }
    return best;
}

static void count_pattern(const pattern *p, int shift, double *counts, int columns) {
    static const char letters[] = "ACGTacgt";
    for (int c = 0; c < columns; c++) {
        int i = c - MARGIN - shift;
        char base = i >= 0 && i < p->length ? p->bases[i] : '\0';
        const char *at = base ? strchr(letters, base) : NULL;
        for (int b = 0; b < 4; b++)
            counts[4 * c + b] += !at ? 0.25 : (at - letters) % 4 == b;
    }
}

int sis__motif_count(const sis_report *report, const sis__cluster *c, double **counts, size_t *n) {
    const sis__member *reference = c->medoid.example != SIZE_MAX ? &c->medoid : c->members;
    *counts = NULL;
    *n = 0;
    if (c->n_members == 0 || report->examples[reference->example].look != SIS__DNA)
        return SIS_OK;
    if (c->found.matrix && c->found.n_matrix) { /* the clustering is already aligned */
        *counts = (double *)sis__copy(c->found.matrix, c->found.n_matrix, sizeof **counts);
        *n = *counts ? c->found.n_matrix / 4 : 0;
        return *counts ? SIS_OK : SIS_E_NOMEM;
    }
    pattern first = read_pattern(report, reference);
    int columns = first.length + 2 * MARGIN;
    if (!(*counts = SIS_NEW(double, 4 * (size_t)columns)))
        return SIS_E_NOMEM;
    for (size_t i = 0; i < c->n_members; i++) {
        if (report->examples[c->members[i].example].look != SIS__DNA)
            continue;
        pattern p = read_pattern(report, &c->members[i]);
        count_pattern(&p, best_shift(&first, &p), *counts, columns);
    }
    *n = (size_t)columns;
    return SIS_OK;
}
