/* SPDX-License-Identifier: MIT
 *
 * See support_report.h.
 */
#include "support_report.h"

#include <stdlib.h>
#include <string.h>

int report_take(sis_report *report, const sis_record *r) {
    char *line = record_line(r, 1);
    sis_record parsed;
    int code = sis_record_parse(line, strlen(line), &parsed);
    if (code == SIS_OK)
        code = sis_report_add(report, "some/file.jsonl", &parsed);
    free(line);
    return code;
}

void kinds_make(sample *s, sis_record out[5]) {
    sample_make(s);
    for (int k = 0; k < 5; k++)
        out[k] = s->record;
    for (int k = 1; k < 5; k++)
        out[k].drawing.words = NULL, out[k].drawing.n_words = 0;
    for (int k = 2; k < 5; k++)
        out[k].drawing.sequence = NULL;
    out[3].drawing.kind = "image";
    out[4].drawing.values = out[4].drawing.mask = NULL;
    out[4].drawing.names = out[4].drawing.value_names = NULL;
    out[4].drawing.feature_map = NULL;
    out[4].drawing.shape = NULL;
}

size_t occurrences(const char *text, const char *part) {
    size_t n = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        n++;
    return n;
}
