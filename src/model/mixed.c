/* SPDX-License-Identifier: MIT
 *
 * Rows of a table for a network that takes words: one input per column (as scikit-learn pipelines
 * are exported), or inputs with several columns each. The search masks one value per category; this
 * file turns these values back into a word.
 */
#include <stdlib.h>
#include <string.h>

#include <sis/handle.h>

#include "base/error.h"
#include "base/mem.h"
#include "model/network.h"
#include "model/request.h"

/* One value of the network's row. */
struct sis__mixed_value {
    const char *input;
    int is_word;
    const sis_row_column *column;
    float *words; /* (column->n) value of each category; NULL: a number */
    float absent; /* value of a missing word */
};

void sis__mixed_free(sis__mixed *c) {
    for (size_t i = 0; c->items && i < c->n; i++)
        free(c->items[i].words);
    free(c->items);
    *c = (sis__mixed){0};
}

static size_t values_of(const sis_net_tensor *t) {
    size_t n = 1;
    for (size_t d = 1; d < t->shape.rank; d++)
        n *= t->shape.dims[d];
    return n;
}

/* List the values of the network's row, input by input; *single: each input has one value. */
static int list_inputs(sis__mixed *c, const sis_net *net, int *single) {
    sis_net_tensor t;
    size_t used = 0;
    *single = 1;
    c->n = sis_net_values(net);
    c->items = SIS_NEW(struct sis__mixed_value, c->n + 1);
    if (!c->items)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < sis_net_inputs(net); i++) {
        if (!sis_net_input_is_fed(net, i) || sis_net_input_get(net, i, &t) != SIS_OK)
            continue;
        size_t n = values_of(&t);
        *single &= n == 1;
        for (size_t k = 0; k < n && used < c->n; k++)
            c->items[used++] =
                (struct sis__mixed_value){.input = t.name, .is_word = t.type == SIS_NET_TEXTS};
    }
    return used == c->n
               ? SIS_OK
               : sis__fail(SIS_E_UNSUPPORTED,
                           "%zu values of the network's row belong to an input of unknown size",
                           c->n - used);
}

static const sis_row_column *find_column(const sis_row_form *form, const char *name) {
    for (size_t k = 0; k < form->n; k++)
        if (strcmp(form->columns[k].name, name) == 0)
            return &form->columns[k];
    return NULL;
}

static int take_words(struct sis__mixed_value *cell, const sis_net *net) {
    const sis_row_column *c = cell->column;
    if (!c->categories != !cell->is_word)
        return sis__fail(SIS_E_ARGUMENT, "input %.80s takes %s, but column \"%.80s\" has %s%s",
                         cell->input, cell->is_word ? "words" : "numbers", c->name,
                         c->categories ? "words" : "numbers",
                         cell->is_word ? "; declare it a category with --types FILE" : "");
    if (!cell->is_word)
        return SIS_OK;
    cell->words = SIS_NEW(float, c->n);
    int error = cell->words ? sis_net_word(net, "", &cell->absent) : SIS_E_NOMEM;
    for (size_t j = 0; error == SIS_OK && j < c->n; j++)
        error = sis_net_word(net, c->categories[j], &cell->words[j]);
    return error;
}

/* By name if each input is one column; else in order. */
static int find_columns(sis__mixed *c, const sis_net *net, const sis_row_form *form, int by_name) {
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < c->n; i++) {
        struct sis__mixed_value *cell = &c->items[i];
        cell->column = by_name       ? find_column(form, cell->input)
                       : i < form->n ? &form->columns[i]
                                     : NULL;
        error = cell->column ? take_words(cell, net)
                             : sis__fail(SIS_E_ARGUMENT, "no column for input %.80s", cell->input);
    }
    if (error == SIS_OK && form->n != c->n)
        error = sis__fail(SIS_E_ARGUMENT,
                          "%zu columns, but the model takes %zu; name columns that are not "
                          "features with --label and --id",
                          form->n, c->n);
    return error;
}

int sis__mixed_init(sis__mixed *c, const sis_net *net, const sis_row_form *form) {
    int by_name;
    *c = (sis__mixed){0};
    int error = list_inputs(c, net, &by_name);
    if (error == SIS_OK)
        error = find_columns(c, net, form, by_name);
    if (error != SIS_OK)
        sis__mixed_free(c);
    return error;
}

int sis__mixed_row(const sis__mixed *c, const double *from, float *row) {
    int error = SIS_OK;
    for (size_t i = 0; error == SIS_OK && i < c->n; i++) {
        const struct sis__mixed_value *cell = &c->items[i];
        const double *values = from + cell->column->first;
        size_t category = SIZE_MAX;
        row[i] = (float)values[0];
        if (!cell->is_word)
            continue;
        error = sis__request_category(cell->column, values, &category);
        row[i] = category == SIZE_MAX ? cell->absent : cell->words[category];
    }
    return error;
}
