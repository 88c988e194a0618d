/* SPDX-License-Identifier: MIT
 *
 * Parses selections of examples: "0:100", "7", "0,5,7", "20:30,99". Ranges are half-open like
 * Python slices, but a number out of range is an error, and so is an empty selection.
 */
#include <stdint.h>
#include <stdlib.h>

#include <sis/files.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"

typedef struct {
    const char *text, *at;
    size_t count;        /* number of examples */
    unsigned char *seen; /* (count), or as far as the text goes */
    size_t *rows, n;
} selection;

static int malformed(const selection *s) {
    char text[SIS__EXCERPT_SIZE];
    return sis__fail(
        SIS_E_FORMAT,
        "rows \"%s\": expected A:B, A:, :B or example numbers separated by commas, counted from 0",
        sis__cell_excerpt(s->text, text));
}

/* A number, or `otherwise` if there is none; SIZE_MAX if it overflows. */
static size_t take_number(selection *s, size_t otherwise) {
    size_t value = 0;
    const char *start = s->at;
    for (; *s->at >= '0' && *s->at <= '9'; s->at++) {
        size_t digit = (size_t)(*s->at - '0');
        value = value > (SIZE_MAX - digit) / 10 ? SIZE_MAX : value * 10 + digit;
    }
    return s->at == start ? otherwise : value;
}

static int add(selection *s, size_t row) {
    if (s->seen[row])
        return sis__fail(SIS_E_ARGUMENT, "rows: example %zu is chosen twice", row);
    s->seen[row] = 1;
    s->rows[s->n++] = row;
    return SIS_OK;
}

/* "N" or "A:B". */
static int take_range(selection *s) {
    const char *start = s->at;
    size_t first = take_number(s, 0), end = first + (first < SIZE_MAX);
    if (*s->at == ':') {
        s->at++;
        end = take_number(s, s->count);
    } else if (s->at == start) {
        return malformed(s);
    }
    int length = s->at - start < 40 ? (int)(s->at - start) : 40;
    if (first >= s->count || end > s->count)
        return sis__fail(SIS_E_ARGUMENT,
                         "rows %.*s: out of range; there are %zu examples, numbered from 0", length,
                         start, s->count);
    if (first >= end)
        return sis__fail(SIS_E_ARGUMENT, "rows %.*s: selects nothing", length, start);
    int code = SIS_OK;
    for (; code == SIS_OK && first < end; first++)
        code = add(s, first);
    return code;
}

size_t sis_rows_end(const char *text) {
    selection s = {.text = text, .at = text};
    size_t max = 0;
    for (;;) {
        const char *start = s.at;
        size_t first = take_number(&s, 0), end = first + (first < SIZE_MAX);
        if (*s.at == ':') {
            s.at++;
            end = take_number(&s, 0);
        } else if (s.at == start) {
            return 0;
        }
        if (end == 0)
            return 0;
        max = end > max ? end : max;
        if (*s.at == '\0')
            return max;
        if (*s.at++ != ',')
            return 0;
    }
}

int sis_rows_parse(const char *text, size_t count, size_t **rows, size_t *n) {
    selection s = {.text = text, .at = text, .count = count};
    int code = SIS_OK;
    *rows = NULL;
    *n = 0;
    if (count == 0)
        return sis__fail(SIS_E_ARGUMENT, "rows: the input has no examples");
    size_t end = sis_rows_end(text), room = end && end < count ? end : count;
    s.seen = SIS_NEW(unsigned char, room);
    s.rows = SIS_NEW_RAW(size_t, room);
    if (!s.seen || !s.rows)
        code = SIS_E_NOMEM;
    while (code == SIS_OK) {
        code = take_range(&s);
        if (code != SIS_OK || *s.at == '\0')
            break;
        if (*s.at++ != ',')
            code = malformed(&s);
    }
    free(s.seen);
    if (code != SIS_OK) {
        free(s.rows);
        return code;
    }
    *rows = s.rows;
    *n = s.n;
    return SIS_OK;
}
