/* SPDX-License-Identifier: MIT
 *
 * Texts for models with their own tokenizer: a child process or a server. Each text is split into
 * pieces, one word with the blanks and punctuation after it, so that the pieces concatenate to the
 * text:
 *
 *     "A wonderful, moving film." -> "A " "wonderful, " "moving " "film."
 *
 * A value of an input is the number of a piece. A masked word is left out or replaced by another.
 * Piece 0 is unused, because 0 is padding in models that take words.
 */
#include <math.h>
#include <string.h>

#include <sis/handle.h>
#include <sis/text.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

/* Offsets of the pieces of each example, with the total at the end; copies the texts, which the
 * model may need at any time, to `texts`. */
static int count_pieces(const sis_data *data, size_t n, size_t *first, sis__buf *texts) {
    sis_words words = {0};
    int error = SIS_OK;
    first[0] = 1;
    for (size_t i = 0; i < n && error == SIS_OK; i++) {
        const char *text = sis_data_text(data, i);
        sis__buf_add(texts, text, strlen(text) + 1);
        error = sis_data_words(data, i, &words);
        first[i + 1] = first[i] + words.n;
    }
    sis_words_release(&words);
    return error == SIS_OK ? sis__buf_error(texts) : error;
}

static int cut_texts(const sis_data *data, size_t n, const char *text, sis_piece *pieces) {
    sis_words words = {0};
    int error = SIS_OK;
    for (size_t i = 0; i < n && error == SIS_OK; i++, text += strlen(text) + 1) {
        error = sis_data_words(data, i, &words);
        for (size_t k = 0; error == SIS_OK && k < words.n; k++) {
            size_t from = k ? words.items[k].start : 0;
            size_t to = k + 1 < words.n ? words.items[k + 1].start : strlen(text);
            *pieces++ = (sis_piece){text + from, to - from};
        }
    }
    sis_words_release(&words);
    return error;
}

/* Pass the pieces to the model. */
static int tell(sis_task *t, size_t n) {
    const sis_piece *pieces = t->encoding.pieces.items;
    if (t->opt.model.take_texts)
        return t->opt.model.take_texts(t->model.ctx, pieces, n);
    int error = sis__task_own_model(t);
    return error == SIS_OK ? sis_model_take_texts(&t->model, pieces, n) : error;
}

int sis__task_pieces_begin(sis_task *t) {
    sis__task_pieces *p = &t->encoding.pieces;
    size_t n = sis_data_count(t->source.data);
    p->first = SIS_NEW(size_t, n + 1);
    sis__buf_init(&p->texts);
    int error = p->first ? count_pieces(t->source.data, n, p->first, &p->texts) : SIS_E_NOMEM;
    if (error != SIS_OK)
        return error;
    size_t all = p->first[n] + 1; /* and the replacement of masked words */
    p->items = SIS_NEW(sis_piece, all);
    if (!p->items)
        return SIS_E_NOMEM;
    p->items[0] = p->items[all - 1] = (sis_piece){"", 0};
    error = cut_texts(t->source.data, n, p->texts.data, p->items + 1);
    return error == SIS_OK ? tell(t, all) : error;
}

/* Replace masked words by this one. */
static int stand_in(sis_task *t, const char *word, double *id) {
    sis__task_pieces *p = &t->encoding.pieces;
    size_t last = p->first[sis_data_count(t->source.data)];
    p->stand_in = sis__buf_text("%s ", word);
    if (!p->stand_in)
        return SIS_E_NOMEM;
    p->items[last] = (sis_piece){p->stand_in, strlen(p->stand_in)};
    *id = (double)last;
    return SIS_OK;
}

int sis__task_mask_pieces(sis_task *t, const char *text) {
    const char *word;
    double id = NAN;
    int error = SIS_OK;
    if (sis__text_is(text, "token", &word) && text[5])
        error = stand_in(t, word, &id);
    else if (*text && strcmp(text, "remove") != 0)
        error = sis__fail(
            SIS_E_ARGUMENT,
            "--mask: for a model that takes texts, expected remove or token:WORD, found \"%s\"",
            text);
    return error == SIS_OK ? sis__task_mask_fill(t, id) : error;
}
