/* SPDX-License-Identifier: MIT
 *
 * See request.h.
 */
#include "model/request.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/mem.h"

enum { SET_BITS = 12, WAYS = 4, NUMBERS = WAYS << SET_BITS, NUMBER_TEXT = 25 };

typedef struct number {
    uint64_t bits;
    unsigned char length; /* 0: empty */
    char text[NUMBER_TEXT];
} number;

int sis__request_init(sis__request *r) {
    *r = (sis__request){.numbers = SIS_NEW(number, NUMBERS)};
    return r->numbers ? SIS_OK : SIS_E_NOMEM;
}

void sis__request_like(sis__request *r, const sis__request *like) {
    r->pieces = like->pieces;
    r->n_pieces = like->n_pieces;
    r->form = like->form;
}

void sis__request_release(sis__request *r) {
    sis__buf_release(&r->text);
    free(r->numbers);
    *r = (sis__request){0};
}

static void add_number(sis__request *r, double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    number *set = r->numbers + ((bits * 0x9E3779B97F4A7C15u) >> (64 - SET_BITS)) * WAYS;
    number *slot = NULL;
    for (int i = 0; i < WAYS; i++) {
        if (set[i].length && set[i].bits == bits) {
            sis__buf_add(&r->text, set[i].text, set[i].length);
            return;
        }
        if (!set[i].length && !slot)
            slot = &set[i];
    }
    size_t before = r->text.len;
    sis__buf_double(&r->text, value);
    size_t length = r->text.len - before;
    if (sis__buf_error(&r->text) != SIS_OK || length > NUMBER_TEXT)
        return;
    if (!slot)
        slot = &set[r->evict++ % WAYS];
    slot->bits = bits;
    slot->length = (unsigned char)length;
    memcpy(slot->text, r->text.data + before, length);
}

/* The brackets of all lists that begin (or end) at value i. */
static void add_brackets(sis__request *r, char bracket, size_t i) {
    size_t part = 1;
    for (size_t d = r->rank; d-- > 1;) {
        part *= r->dims[d];
        if (part == 0 || i % part != 0)
            break;
        sis__buf_char(&r->text, bracket);
    }
}

static void add_value(sis__request *r, double value) {
    if (r->logical)
        sis__buf_str(&r->text, value != 0 ? "true" : "false");
    else if (r->bare_nan && isnan(value))
        sis__buf_str(&r->text, "NaN");
    else
        add_number(r, value);
}

static void add_numbers(sis__request *r, const double *row, size_t n) {
    if (!r->flat)
        sis__buf_char(&r->text, '[');
    for (size_t i = 0; i < n; i++) {
        if (i)
            sis__buf_char(&r->text, ',');
        add_brackets(r, '[', i);
        add_value(r, row[i]);
        add_brackets(r, ']', i + 1);
    }
    if (!r->flat)
        sis__buf_char(&r->text, ']');
}

/* Call `add` for each piece of a row. */
static int for_pieces(sis__request *r, const double *row, size_t n,
                      void (*add)(sis__buf *b, const char *text, size_t length)) {
    for (size_t i = 0; i < n; i++) {
        if (isnan(row[i]))
            continue;
        if (!(row[i] >= 0 && row[i] < (double)r->n_pieces))
            return sis__fail(SIS_E_ARGUMENT, "piece %g of a text: there are %zu", row[i],
                             r->n_pieces);
        const sis_piece *p = &r->pieces[(size_t)row[i]];
        add(&r->text, p->text, p->length);
    }
    return SIS_OK;
}

static void add_bytes(sis__buf *b, const char *text, size_t length) {
    sis__buf_add(b, text, length);
}

/* ---- Cells --------------------------------------------------------------------------------- */

/* A category in the type that pandas would read: a number, a boolean or a text. */
static void add_category(sis__request *r, const sis_row_column *c, size_t category) {
    if (!c->numbers)
        sis__buf_json(&r->text, c->categories[category]);
    else if (c->logical)
        sis__buf_str(&r->text, c->numbers[category] != 0 ? "true" : "false");
    else
        add_number(r, c->numbers[category]);
}

int sis__request_category(const sis_row_column *c, const double *values, size_t *found) {
    size_t ones = 0, absent = 0;
    *found = SIZE_MAX;
    for (size_t k = 0; k < c->n; k++) {
        absent += isnan(values[k]) != 0;
        ones += values[k] == 1;
        if (values[k] == 1)
            *found = k;
        else if (values[k] != 0 && !isnan(values[k]))
            ones = 2;
    }
    if (absent == c->n || (ones == 1 && absent == 0))
        return SIS_OK;
    return sis__fail(SIS_E_ARGUMENT,
                     "column \"%.80s\" is %s of its categories; a row with words needs exactly one",
                     c->name, ones ? "a mixture" : "none");
}

static int add_cell(sis__request *r, const sis_row_column *c, const double *row) {
    size_t category = SIZE_MAX;
    if (!c->categories) {
        if (isnan(row[c->first]))
            sis__buf_str(&r->text, "null");
        else
            add_number(r, row[c->first]);
        return SIS_OK;
    }
    int error = sis__request_category(c, row + c->first, &category);
    if (error == SIS_OK && category == SIZE_MAX)
        sis__buf_str(&r->text, "null");
    else if (error == SIS_OK)
        add_category(r, c, category);
    return error;
}

static int add_cells(sis__request *r, const double *row, size_t n) {
    const sis_row_form *f = r->form;
    int error = SIS_OK;
    sis__buf_char(&r->text, f->objects ? '{' : '[');
    for (size_t k = 0; error == SIS_OK && k < f->n; k++) {
        const sis_row_column *c = &f->columns[k];
        if (c->first + c->n > n)
            return sis__fail(SIS_E_ARGUMENT, "a row of %zu values has no column \"%.80s\"", n,
                             c->name);
        sis__buf_str(&r->text, k ? "," : "");
        if (f->objects) {
            sis__buf_json(&r->text, c->name);
            sis__buf_char(&r->text, ':');
        }
        error = add_cell(r, c, row);
    }
    sis__buf_char(&r->text, f->objects ? '}' : ']');
    return error;
}

int sis__request_row(sis__request *r, const double *row, size_t n) {
    if (r->form)
        return add_cells(r, row, n);
    if (!r->pieces) {
        add_numbers(r, row, n);
        return SIS_OK;
    }
    sis__buf_char(&r->text, '"');
    int error = for_pieces(r, row, n, sis__buf_escape);
    sis__buf_char(&r->text, '"');
    return error;
}

int sis__request_rows(sis__request *r, const double *rows, size_t n_rows, size_t n,
                      size_t *written) {
    size_t count = 0, longest = 0;
    int error = SIS_OK;
    sis__buf_char(&r->text, '[');
    while (count < n_rows && error == SIS_OK &&
           (count == 0 || r->text.len + longest < SIS__REQUEST_BYTES)) {
        size_t before = r->text.len;
        if (count)
            sis__buf_char(&r->text, ',');
        error = sis__request_row(r, rows + count++ * n, n);
        if (r->text.len - before > longest)
            longest = r->text.len - before;
    }
    sis__buf_char(&r->text, ']');
    *written = count;
    return error == SIS_OK ? sis__buf_error(&r->text) : error;
}

int sis__request_raw(sis__request *r, const double *row, size_t n) {
    return for_pieces(r, row, n, add_bytes);
}

int sis__request_join(const sis_piece *pieces, size_t n_pieces, const double *row, size_t n,
                      char **text) {
    sis__request r = {.pieces = pieces, .n_pieces = n_pieces};
    size_t length;
    *text = NULL;
    int error = sis__request_raw(&r, row, n);
    sis__buf_char(&r.text, '\0');
    if (error == SIS_OK)
        return sis__buf_give(&r.text, text, &length);
    sis__buf_release(&r.text);
    return error;
}

/* ---- Models that answer requests --------------------------------------------------------------- */

int sis__asked_predict(void *ctx, const double *rows, size_t n_rows, size_t n_values,
                       double *scores) {
    sis__asked_model *m = ctx;
    int error = SIS_OK;
    pthread_mutex_lock(&m->lock);
    if (m->n_outputs == 0)
        error = sis__fail(SIS_E_ARGUMENT, "the number of outputs is unknown");
    for (size_t asked = 0; n_rows > 0 && error == SIS_OK; n_rows -= asked) {
        error = m->ask(m, rows, n_rows, n_values, scores, &asked);
        rows += asked * n_values;
        scores += asked * m->n_outputs;
    }
    pthread_mutex_unlock(&m->lock);
    return error;
}

int sis__asked_measure(sis_model *model, const double *row, size_t n_values) {
    sis__asked_model *m = model->ctx;
    size_t asked;
    pthread_mutex_lock(&m->lock);
    int error = m->ask(m, row, 1, n_values, NULL, &asked);
    m->n_outputs = error == SIS_OK ? m->n_outputs : 0;
    pthread_mutex_unlock(&m->lock);
    model->n_outputs = m->n_outputs;
    return error;
}

int sis__asked_take_texts(void *ctx, const sis_piece *pieces, size_t n) {
    sis__asked_model *m = ctx;
    m->request.pieces = pieces;
    m->request.n_pieces = n;
    return SIS_OK;
}

int sis__asked_take_rows(void *ctx, const sis_row_form *form) {
    ((sis__asked_model *)ctx)->request.form = form;
    return SIS_OK;
}
