/* SPDX-License-Identifier: MIT
 *
 * Selects and orders the examples on the page: those of the first results file in order, each next
 * to the same input in other files.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ids.h"
#include "base/mem.h"
#include "report/page.h"

/* Is example i among the `max` of n that are shown? They are evenly spaced. */
static int is_drawn(size_t i, size_t n, size_t max) {
    return max == 0 || max >= n || (i + 1) * max / n > i * max / n;
}

/* Do both have the same input? */
static int is_same(const sis__report_example *a, const sis__report_example *b) {
    const sis_record *x = &a->record, *y = &b->record;
    if (a->look != b->look || x->collection.n_features != y->collection.n_features ||
        x->drawing.n_words != y->drawing.n_words || x->drawing.n_values != y->drawing.n_values)
        return 0;
    if (x->drawing.sequence && strcmp(x->drawing.sequence, y->drawing.sequence) != 0)
        return 0;
    for (size_t i = 0; i < x->drawing.n_words; i++)
        if (strcmp(x->drawing.words[i], y->drawing.words[i]) != 0)
            return 0;
    return !x->drawing.values || !y->drawing.values ||
           memcmp(x->drawing.values, y->drawing.values,
                  x->drawing.n_values * sizeof *x->drawing.values) == 0;
}

/* leader[i]: the first example of the same input. With one file, each example leads itself. */
static int find_leaders(const sis_report *report, size_t *leader) {
    const char **names = SIS_NEW(const char *, report->n);
    sis__ids ids = {0};
    for (size_t i = 0; names && i < report->n; i++)
        names[i] = report->examples[i].record.id;
    int code = names ? sis__ids_init(&ids, names, report->n) : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        size_t k = sis__ids_first(&ids, e->record.id);
        leader[i] = i;
        for (; k < ids.n && ids.items[k].at < i && strcmp(ids.items[k].id, e->record.id) == 0;
             k++) {
            size_t at = ids.items[k].at;
            if (report->examples[at].run != e->run && leader[at] == at &&
                is_same(&report->examples[at], e)) {
                leader[i] = at;
                break;
            }
        }
    }
    sis__ids_release(&ids);
    free(names);
    return code;
}

/* Order the shown leaders, each followed by its group. */
static void lay_out(const sis_report *report, const size_t *leader, size_t max, size_t *next,
                    sis__layout *out) {
    size_t groups = 0, group = 0;
    for (size_t i = 0; i < report->n; i++) {
        groups += leader[i] == i;
        next[i] = SIZE_MAX;
    }
    for (size_t i = report->n; i-- > 0;) /* builds a linked list for each leader, in order */
        if (leader[i] != i) {
            next[i] = next[leader[i]];
            next[leader[i]] = i;
        }
    size_t wanted = max && max < report->n ? max * groups / report->n : 0;
    wanted = max && max < report->n && !wanted ? 1 : wanted;
    for (size_t i = 0; i < report->n; i++) {
        if (leader[i] != i || !is_drawn(group++, groups, wanted))
            continue;
        for (size_t k = i; k != SIZE_MAX; k = next[k]) {
            out->first[out->n] = k == i;
            out->order[out->n++] = k;
        }
    }
}

int sis__layout_make(const sis_report *report, size_t max, sis__layout *out) {
    size_t *leader = SIS_NEW(size_t, report->n), *next = SIS_NEW(size_t, report->n);
    *out = (sis__layout){.order = SIS_NEW(size_t, report->n), .first = SIS_NEW(int, report->n)};
    int code = leader && next && out->order && out->first ? SIS_OK : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = find_leaders(report, leader);
    if (code == SIS_OK)
        lay_out(report, leader, max, next, out);
    free(leader);
    free(next);
    return code;
}

void sis__layout_release(sis__layout *layout) {
    free(layout->order);
    free(layout->first);
}
