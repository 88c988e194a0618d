/* SPDX-License-Identifier: MIT
 *
 * Finds the known motifs most similar to a subset of a DNA sequence, for the page.
 *
 *     POST /v1/motifs {"patterns":["CNCCNNCTNNTGG"]}
 *     {"matches":[[{"id","name","divergence","p","q","offset","reverse",
 *                   "matrix":[[a,c,g,t],...]},...]]}
 *
 * A pattern is the letters of a subset from its first to its last base, N for bases outside it.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/analysis.h>

#include "base/error.h"
#include "base/json.h"
#include "serve/serve.h"

enum { PATTERNS_MAX = 32, LETTERS_MAX = 400, MATCHES = 3 };

static int check(const json_t *patterns) {
    size_t n = json_array_size(patterns);
    if (!json_is_array(patterns) || n == 0 || n > PATTERNS_MAX)
        return sis__fail(SIS_E_ARGUMENT, "expected {\"patterns\":[...]} with 1 to %d texts",
                         PATTERNS_MAX);
    for (size_t k = 0; k < n; k++) {
        const char *text = json_string_value(json_array_get(patterns, k));
        size_t length = text ? strlen(text) : 0;
        if (length == 0 || length > LETTERS_MAX || strspn(text, "ACGTN") != length ||
            strspn(text, "N") == length)
            return sis__fail(SIS_E_ARGUMENT, "patterns: %zu: expected 1 to %d letters A C G T N", k,
                             LETTERS_MAX);
    }
    return SIS_OK;
}

/* The columns of the chosen strand, four probabilities each. */
static void write_matrix(const sis_motif *m, int reverse, sis__buf *b) {
    sis__json_list(b, "matrix");
    for (size_t i = 0; i < m->length; i++) {
        const double *column = m->probabilities + 4 * (reverse ? m->length - 1 - i : i);
        sis__json_comma(b, i);
        for (int k = 0; k < 4; k++)
            sis__buf_printf(b, "%c%.4g", k ? ',' : '[', column[reverse ? 3 - k : k]);
        sis__buf_char(b, ']');
    }
    sis__buf_char(b, ']');
}

static void write_match(const sis_motifs *motifs, const sis_motif_match *match, sis__buf *b) {
    const sis_motif *m = &motifs->items[match->motif];
    sis__buf_char(b, '{');
    sis__json_text(b, "id", m->id);
    sis__json_text(b, "name", m->name);
    sis__json_number(b, "divergence", match->divergence);
    sis__json_number(b, "p", match->p);
    sis__json_number(b, "q", match->q);
    sis__json_number(b, "offset", (double)match->offset);
    sis__json_flag(b, "reverse", match->reverse);
    write_matrix(m, match->reverse, b);
    sis__buf_char(b, '}');
}

static int add_matches(const sis_motifs *motifs, const char *pattern, sis__buf *b) {
    sis_motif matrix;
    double *numbers = NULL;
    sis_motif_match *matches = NULL;
    int error = sis_motif_learn(&pattern, 1, "subset", NULL, &matrix, &numbers);
    long n = error ? error : sis_motif_test(&matrix, motifs, MATCHES, &matches);
    sis__buf_char(b, '[');
    for (long i = 0; i < n; i++) {
        sis__json_comma(b, (size_t)i);
        write_match(motifs, &matches[i], b);
    }
    sis__buf_char(b, ']');
    free(matches);
    free(numbers);
    return n < 0 ? (int)n : SIS_OK;
}

void sis__serve_motifs(sis__serving *s, sis__served *none, sis__request *r) {
    json_error_t why;
    json_t *body = sis__json_load(r->body, r->n_body, JSON_REJECT_DUPLICATES, &why);
    const json_t *patterns = json_object_get(body, "patterns");
    (void)none;
    int error = body ? check(patterns) : sis__fail(SIS_E_ARGUMENT, "the body is not JSON");
    if (!s->motifs.n) {
        sis__request_fail(r, 404, "this server has no motifs; start it with --motifs");
    } else if (error) {
        sis__request_fail(r, 400, NULL);
    } else {
        sis__buf_str(&r->answer, "{\"matches\":[");
        for (size_t k = 0; !error && k < json_array_size(patterns); k++) {
            sis__json_comma(&r->answer, k);
            error =
                add_matches(&s->motifs, json_string_value(json_array_get(patterns, k)), &r->answer);
        }
        sis__buf_str(&r->answer, "]}");
        if (error)
            sis__request_fail(r, 500, NULL);
    }
    json_decref(body);
}
