/* SPDX-License-Identifier: MIT
 *
 * Results files: reading records one by one, resuming an interrupted run, and the output lines of
 * predict and verify. Reading holds one line at a time. Resuming removes an incomplete last line,
 * so scanning is strict: everything before it must be complete records, and it must begin like a
 * record. A wrong file is refused, not truncated.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/files.h>
#include <sis/record.h>
#include <sis/results.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/replace.h"
#include "data/cell.h"
#include "data/source.h"

static const size_t LINE_BYTES_MAX = (size_t)256 << 20; /* memory grows only with the data */

struct sis_results {
    sis__source source;
    char *path;
    sis__buf line;
    size_t number; /* of the line in `line`, counted from 1 */
};

static int in_line(const sis_results *r, int code) {
    return sis__fail_in(code, "%s, line %zu", r->source.name, r->number);
}

static int is_whole(const sis__buf *line) {
    return line->len > 0 && line->data[line->len - 1] == '\n';
}

static int is_blank(const sis__buf *line) {
    return strspn(line->data, " \t\r\n") == line->len;
}

/* The next line that is not blank. 1: found, 0: end of file. */
static int next_line(sis_results *r) {
    int found;
    do {
        found = sis__source_line(&r->source, LINE_BYTES_MAX, &r->line);
        r->number++;
    } while (found > 0 && is_blank(&r->line));
    return found < 0 && found != r->source.error ? in_line(r, found) : found;
}

int sis_results_open(const char *path, sis_results **out) {
    sis_results *r = SIS_NEW(sis_results, 1);
    *out = NULL;
    if (!r)
        return SIS_E_NOMEM;
    r->source.fd = -1;
    r->path = sis__strdup(path);
    int code = r->path ? sis__source_open(&r->source, r->path) : SIS_E_NOMEM;
    if (code == SIS_OK)
        *out = r;
    else
        sis_results_close(r);
    return code;
}

void sis_results_close(sis_results *results) {
    if (!results)
        return;
    sis__source_close(&results->source);
    sis__buf_release(&results->line);
    free(results->path);
    free(results);
}

/* Is the line the beginning of a record? */
static int begins_record(const sis__buf *line) {
    static const char start[] = "{\"sis\":";
    size_t n = line->len < sizeof start - 1 ? line->len : sizeof start - 1;
    return memcmp(line->data, start, n) == 0;
}

/* Has the line a field "sis"? */
static int has_version(const sis__buf *line) {
    for (const char *at = line->data; (at = strstr(at, "\"sis\""));) {
        at += 5;
        if (at[strspn(at, " \t")] == ':')
            return 1;
    }
    return 0;
}

/* Report why the line is not a record: the parser's message, unless there is a simpler reason.
 * Other programs may order fields differently, so the version field is searched for anywhere. */
static int refuse_line(const sis_results *r, int code) {
    if (code != SIS_E_FORMAT)
        return in_line(r, code);
    if (r->number == 1 && !begins_record(&r->line) && !has_version(&r->line))
        return sis__fail(code, "%s: not a results file; expected the output of sis explain",
                         r->source.name);
    if (!is_whole(&r->line) && begins_record(&r->line))
        sis__fail_in(code, "cut off (if the run was interrupted, continue it with "
                           "--resume)");
    return in_line(r, code);
}

int sis_results_next(sis_results *results, sis_record *out) {
    *out = (sis_record){0};
    int found = next_line(results);
    if (found <= 0)
        return found;
    int code = sis_record_parse(results->line.data, results->line.len, out);
    return code == SIS_OK ? 1 : refuse_line(results, code);
}

int sis_results_skip(sis_results *results) {
    return next_line(results);
}

/* ---- Resuming ------------------------------------------------------------------------------ */

static int not_ours(const sis_results *r) {
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: not a record; name another --output",
                     r->source.name, r->number);
}

/* Scan all complete lines; returns their number and end. */
static int scan_lines(sis_results *r, int (*take)(void *ctx, sis_record *record), void *ctx,
                      sis_resume *out) {
    int code, found;
    while ((found = next_line(r)) > 0) {
        sis_record record;
        if (!is_whole(&r->line)) {
            out->torn = r->line.len;
            return begins_record(&r->line) ? SIS_OK : not_ours(r);
        }
        if ((code = sis_record_parse(r->line.data, r->line.len, &record)) != SIS_OK)
            return code == SIS_E_FORMAT && !begins_record(&r->line) ? not_ours(r)
                                                                    : in_line(r, code);
        code = take ? take(ctx, &record) : SIS_OK;
        sis_record_release(&record);
        if (code != SIS_OK)
            return code;
        out->n++;
        out->bytes = r->source.offset;
    }
    return found;
}

int sis_resume_scan(const char *path, int (*take)(void *ctx, sis_record *record), void *ctx,
                    sis_resume *out) {
    sis_results *r = NULL;
    *out = (sis_resume){0};
    if (access(path, F_OK) != 0 && errno == ENOENT)
        return SIS_OK;
    int code = sis_results_open(path, &r);
    if (code == SIS_OK && r->source.unpack)
        code =
            sis__fail(SIS_E_FORMAT, "%s: is compressed and cannot be continued; unpack it", path);
    if (code == SIS_OK)
        code = scan_lines(r, take, ctx, out);
    if (code != SIS_OK)
        *out = (sis_resume){0};
    sis_results_close(r);
    return code;
}

/* ---- Lines of predict and verify ----------------------------------------------------------- */

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

/* Write, for each feature, an input that loses the decision without it. */
static void put_examples(sis__buf *b, const sis_subset_audit *s, size_t n_values) {
    sis__json_list(b, "counterexamples");
    for (size_t i = 0; i < s->n_examples; i++) {
        sis__json_comma(b, i);
        sis__buf_char(b, '{');
        sis__json_number(b, "score", s->example_scores[i]);
        sis__json_numbers(b, "values", s->examples + i * n_values, n_values);
        sis__buf_char(b, '}');
    }
    sis__buf_char(b, ']');
}

static void put_subset(sis__buf *b, const sis_subset_audit *s, size_t n_values) {
    sis__buf_char(b, '{');
    sis__json_flag(b, "sufficient", s->sufficient);
    sis__json_number(b, "score", s->score);
    sis__json_flag(b, "minimal", s->minimal);
    sis__json_number(b, "best_without_one", s->best_without_one);
    if (s->exhaustive)
        sis__json_flag(b, "exhaustive", 1);
    if (s->n_smaller)
        sis__json_ints(b, "smaller", s->smaller, s->n_smaller);
    if (s->draws) {
        sis__json_number(b, "drawn_score", s->drawn_score);
        sis__json_number(b, "drawn_error", s->drawn_error);
    }
    if (s->n_examples)
        put_examples(b, s, n_values);
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
    if (a->within_noise)
        sis__json_count(&b, "within_noise", a->within_noise);
    sis__json_number(&b, "score", a->score);
    sis__json_number(&b, "masked_score", a->masked_score);
    sis__json_flag(&b, "complete", a->complete);
    sis__json_number(&b, "rest_score", a->rest_score);
    sis__json_list(&b, "subsets");
    for (size_t k = 0; k < a->n_subsets; k++) {
        sis__json_comma(&b, k);
        put_subset(&b, &a->subsets[k], a->n_values);
    }
    sis__buf_str(&b, "]}\n");
    return sis__buf_give(&b, line, n);
}

int sis_file_write(const char *path, const void *bytes, size_t n) {
    return sis__replace_all(path, bytes, n);
}
