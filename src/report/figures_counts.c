/* SPDX-License-Identifier: MIT
 *
 * How many examples are decided to be what: a bar for each output, beside each other those of
 * several results files.
 */
#include <stdint.h>
#include <stdio.h>

#include "report/figures.h"

/* Explained examples of that output, of one run or (SIZE_MAX) of all. */
static size_t count_decided(const sis_report *report, size_t output, size_t run) {
    size_t n = 0;
    for (size_t i = 0; i < report->n; i++) {
        const sis__report_example *e = &report->examples[i];
        n += e->record.collection.status == SIS_STATUS_EXPLAINED && e->record.output == output &&
             (run == SIZE_MAX || e->run == run);
    }
    return n;
}

int sis__make_decided(const sis_report *report, size_t k, sis__drawing *d) {
    size_t outputs[SIS__GROUPS_MOST], n = sis__outputs_find(report, outputs), all = 0;
    size_t runs = report->n_runs <= SIS__COLOURS ? report->n_runs : 1;
    (void)k;
    if (n < 2)
        return 0;
    sis__drawing_begin(d, "decided", "Decisions for each output.", "decided to be", "examples");
    d->plot.whole = 1;
    d->chart = sis__plot_bars;
    int code = sis__drawing_series(d, runs, n);
    for (size_t r = 0; code == SIS_OK && r < runs; r++) {
        snprintf(d->names[r], SIS__NAME_SIZE, "%.60s",
                 sis__file_name(report->runs[r].source, NULL));
        for (size_t i = 0; code == SIS_OK && i < n; i++) {
            size_t count = count_decided(report, outputs[i], runs > 1 ? r : SIZE_MAX);
            all += count;
            code = sis__numbers_add(&d->plot.series[r].x, (double)count);
        }
    }
    for (size_t i = 0; code == SIS_OK && i < n; i++)
        sis__outputs_name(report, outputs[i], d->names[runs + i]);
    sis__buf_printf(&d->caption, "How many of %zu explained examples are decided to be what.", all);
    return code == SIS_OK ? 1 : code;
}
