/* SPDX-License-Identifier: MIT
 *
 * See support_results.h.
 */
#include "support_results.h"

#include <stdlib.h>
#include <string.h>

void sample_make(sample *s) {
    *s = (sample){.features = {{4, 1}, {5, 0, 2}},
                  .order = {3, 0, 2, 5, 1, 4},
                  .map = {0, 1, 2, 3, 4, 5, -1, 0},
                  .human = {1, 5},
                  .scores = {0.9, 0.85, 0.8, 0.75, 0.5, 0.1},
                  .values = {1, 2.5, -3, 0, 1e-7, 1e22, 0.1, 7},
                  .shape = {2, 4},
                  .names = {"a", "b \"q\"", "c", "d", "e", "f", "g", "h"},
                  .value_names = {"a=1", "b", "c", "d", "e", "f", "g", "a=2"},
                  .words = {"the", "caf\xC3\xA9", "", "\n", "\\", "end"}};
    s->subsets[0] = (sis_subset){
        .n = 2,
        .features = s->features[0],
        .score = 0.75,
        .trace = {.n = FEATURES, .order = s->order, .scores = s->scores, .start = 0.95}};
    s->subsets[1] = (sis_subset){.n = 3, .features = s->features[1], .score = 0.7};
    s->record = (sis_record){.id = "7",
                             .model = "m.onnx",
                             .question.method = "sis",
                             .question.target = 3,
                             .question.n_outputs = 4,
                             .question.target_label = "three",
                             .question.threshold = 0.7,
                             .collection = {.status = SIS_STATUS_EXPLAINED,
                                            .n_features = FEATURES,
                                            .score = 0.95,
                                            .masked_score = 0.1,
                                            .rest_score = 0.25,
                                            .n_subsets = 2,
                                            .subsets = s->subsets,
                                            .verified = 1,
                                            .complete = 1,
                                            .evaluations = 123,
                                            .seconds = 0.0123456789},
                             .drawing.kind = "table",
                             .drawing.rank = 2,
                             .drawing.shape = s->shape,
                             .drawing.n_values = VALUES,
                             .drawing.values = s->values,
                             .drawing.mask = s->mask,
                             .drawing.n_names = VALUES,
                             .drawing.names = s->names,
                             .drawing.value_names = s->value_names,
                             .drawing.feature_map = s->map,
                             .drawing.label = "cat",
                             .drawing.n_words = FEATURES,
                             .drawing.words = s->words,
                             .drawing.sequence = "ACGTNA",
                             .drawing.n_human = 2,
                             .drawing.human = s->human,
                             .drawing.masking = "pad"};
}

char *record_line(const sis_record *r, int with_trace) {
    char *line;
    size_t n;
    if (sis_record_format(r, with_trace, &line, &n) != 0)
        fail_msg("%s", sis_error_detail());
    assert_int_equal(strlen(line), n);
    assert_ptr_equal(strchr(line, '\n'), line + n - 1);
    return line;
}

void assert_stable(const char *line) {
    sis_record parsed;
    if (sis_record_parse(line, strlen(line), &parsed) != 0)
        fail_msg("%s: %s", sis_error_detail(), line);
    char *again = record_line(&parsed, 1);
    assert_string_equal(again, line);
    free(again);
    sis_record_release(&parsed);
}
