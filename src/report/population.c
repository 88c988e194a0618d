/* SPDX-License-Identifier: MIT
 *
 * The values of table features over all records of a results file, decided or not. Cards compare an
 * example with these.
 */
#include <math.h>
#include <stdlib.h>

#include <sis/record.h>

#include "base/mem.h"
#include "report/page.h"

enum { FEATURES_MAX = 2000 };

static int is_alike(const sis__population *p, const sis__report_example *e) {
    return e->look == SIS__TABLE && e->record.drawing.values &&
           e->record.drawing.n_values == p->n_values &&
           e->record.collection.n_features == p->n_features;
}

static int add_record(sis__population *p, const sis_record *r) {
    int code = SIS_OK;
    p->n++;
    for (size_t f = 0; code == SIS_OK && f < p->n_features; f++) {
        size_t count, v = sis_record_values(r, (int)f, &count);
        if (count == 1 && isfinite(r->drawing.values[v]))
            code = sis__numbers_add(&p->numbers[f], r->drawing.values[v]);
        for (size_t k = 0; count > 1 && k < count; k++) {
            v = sis_record_value(r, (int)f, k);
            p->ones[v] += r->drawing.values[v] == 1;
        }
    }
    return code;
}

/* Uses the tables of the run that have the same columns as its first. */
static int make_one(const sis_report *report, size_t run, sis__population *p) {
    int code = SIS_OK;
    for (size_t i = report->runs[run].first; code == SIS_OK && i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        if (e->run != run || e->look != SIS__TABLE || !e->record.drawing.values)
            continue;
        if (!p->numbers && e->record.collection.n_features <= FEATURES_MAX) {
            p->n_features = e->record.collection.n_features;
            p->n_values = e->record.drawing.n_values;
            p->numbers = SIS_NEW(sis__numbers, p->n_features);
            p->ones = SIS_NEW(size_t, p->n_values);
            code = p->numbers && p->ones ? SIS_OK : SIS_E_NOMEM;
        }
        if (code == SIS_OK && p->numbers && is_alike(p, e))
            code = add_record(p, &e->record);
    }
    for (size_t f = 0; p->numbers && f < p->n_features; f++)
        sis__numbers_sort(&p->numbers[f]);
    return code;
}

int sis__populations_make(const sis_report *report, sis__population **out) {
    int code = (*out = SIS_NEW(sis__population, report->n_runs)) ? SIS_OK : SIS_E_NOMEM;
    for (size_t run = 0; code == SIS_OK && run < report->n_runs; run++)
        code = make_one(report, run, &(*out)[run]);
    return code;
}

void sis__populations_free(sis__population *populations, size_t n) {
    for (size_t k = 0; populations && k < n; k++) {
        for (size_t f = 0; populations[k].numbers && f < populations[k].n_features; f++)
            sis__numbers_release(&populations[k].numbers[f]);
        free(populations[k].numbers);
        free(populations[k].ones);
    }
    free(populations);
}

int sis__population_has(const sis__population *p, const sis__report_example *e) {
    return p && p->n >= 5 && is_alike(p, e);
}

double sis__population_below(const sis__population *p, size_t feature, double value) {
    const sis__numbers *v = &p->numbers[feature];
    size_t low = 0, high = v->n;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (v->items[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return v->n ? (double)low / (double)v->n : NAN;
}
