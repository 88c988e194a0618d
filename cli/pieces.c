/* SPDX-License-Identifier: MIT
 *
 * Texts for models that are given them as they are: a child process with a tokenizer of its own.
 * Each text is cut into pieces, one a word with the blanks and punctuation behind it, so that all
 * of them together are the text to the byte:
 *
 *     "A wonderful, moving film." -> "A " "wonderful, " "moving " "film."
 *
 * A value of an input is the number of a piece. A masked word is left out, or another stands in its
 * place. Piece 0 is none of them: 0 means padding to models that take words.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "task.h"

/* Where the pieces of each example begin, and behind the last how many there are. */
static int count_pieces(cli_task *t, size_t n) {
    sis_words words = {0};
    int error = SIS_OK;
    t->first_piece[0] = 1;
    for (size_t i = 0; i < n && error == SIS_OK; i++) {
        error = sis_data_words(t->data, i, &words);
        t->first_piece[i + 1] = t->first_piece[i] + words.n;
    }
    sis_words_release(&words);
    return cli_fail(error);
}

static int cut_texts(cli_task *t, size_t n) {
    sis_words words = {0};
    int error = SIS_OK;
    for (size_t i = 0; i < n && error == SIS_OK; i++) {
        const char *text = sis_data_text(t->data, i);
        error = sis_data_words(t->data, i, &words);
        for (size_t k = 0; error == SIS_OK && k < words.n; k++) {
            size_t from = k ? words.items[k].start : 0;
            size_t to = k + 1 < words.n ? words.items[k + 1].start : strlen(text);
            t->pieces[t->first_piece[i] + k] = (sis_piece){text + from, to - from};
        }
    }
    sis_words_release(&words);
    return cli_fail(error);
}

int cli_pieces_begin(cli_task *t) {
    size_t n = sis_data_count(t->data);
    t->first_piece = cli_grab(n + 1, sizeof *t->first_piece);
    int status = t->first_piece ? count_pieces(t, n) : CLI_FAILED;
    if (status != CLI_DONE)
        return status;
    size_t all = t->first_piece[n] + 1; /* and the one that stands for masked words */
    t->pieces = cli_grab(all, sizeof *t->pieces);
    if (!t->pieces)
        return CLI_FAILED;
    t->pieces[0] = t->pieces[all - 1] = (sis_piece){"", 0};
    status = cut_texts(t, n);
    return status == CLI_DONE ? cli_fail(sis_model_take_texts(&t->model, t->pieces, all)) : status;
}

size_t cli_pieces_count(const cli_task *t, size_t example) {
    size_t n = t->first_piece[example + 1] - t->first_piece[example];
    return n ? n : 1; /* one of padding */
}

void cli_pieces_encode(const cli_task *t, size_t example, cli_row *row) {
    size_t first = t->first_piece[example], n = t->first_piece[example + 1] - first;
    for (size_t k = 0; k < row->width; k++) {
        row->values[k] = k < n ? (double)(first + k) : 0;
        if (row->word_at)
            row->word_at[k] = k < n ? k : SIZE_MAX;
    }
}

/* 1 if t->mask is filled, negative after an error line. */
int cli_pieces_mask(cli_task *t, const char *text) {
    size_t width = 0, last = t->first_piece[sis_data_count(t->data)];
    double id = NAN;
    if (strncmp(text, "token:", 6) == 0) {
        id = (double)last;
        size_t length = strlen(text + 6);
        if (!(t->stand_in = cli_grab(length + 2, 1)))
            return -1;
        memcpy(t->stand_in, text + 6, length);
        t->stand_in[length] = ' ';
        t->pieces[last] = (sis_piece){t->stand_in, length + 1};
    } else if (*text && strcmp(text, "remove") != 0) {
        cli_error("--mask: a cmd: model that is given texts; expected remove or token:WORD, found "
                  "\"%s\"",
                  text);
        return -1;
    }
    for (size_t i = 0; i < t->n; i++)
        width = t->inputs[i].n_values > width ? t->inputs[i].n_values : width;
    for (size_t v = 0; v < width; v++)
        t->mask[v] = id;
    return 1;
}
