/* SPDX-License-Identifier: MIT
 *
 * The lines that predict and verify write. Their form is in results.h.
 */
#include <sis/results.h>

#include "base/json.h"

int sis_scores_format(const char *id, const double *scores, size_t n_scores, char **line,
                      size_t *n) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    sis__json_text(&b, "id", id);
    sis__json_numbers(&b, "scores", scores, n_scores);
    sis__buf_str(&b, "}\n");
    return sis__buf_give(&b, line, n);
}

static void put_subset(sis__buf *b, const sis_subset_audit *s) {
    sis__buf_char(b, '{');
    sis__json_flag(b, "sufficient", s->sufficient);
    sis__json_number(b, "score", s->score);
    sis__json_flag(b, "minimal", s->minimal);
    sis__json_number(b, "best_without_one", s->best_without_one);
    if (s->exhaustive)
        sis__json_flag(b, "exhaustive", 1);
    if (s->n_smaller)
        sis__json_ints(b, "smaller", s->smaller, s->n_smaller);
    sis__buf_char(b, '}');
}

int sis_audit_format(const char *id, const sis_audit *a, char **line, size_t *n) {
    sis__buf b;
    sis__buf_init(&b);
    sis__buf_char(&b, '{');
    sis__json_text(&b, "id", id);
    sis__json_flag(&b, "holds", a->holds);
    if (!a->holds)
        sis__json_text(&b, "reason", a->reason);
    sis__json_number(&b, "score", a->score);
    sis__json_number(&b, "masked_score", a->masked_score);
    sis__json_flag(&b, "complete", a->complete);
    sis__json_number(&b, "rest_score", a->rest_score);
    sis__json_list(&b, "subsets");
    for (size_t k = 0; k < a->n_subsets; k++) {
        sis__json_comma(&b, k);
        put_subset(&b, &a->subsets[k]);
    }
    sis__buf_str(&b, "]}\n");
    return sis__buf_give(&b, line, n);
}
