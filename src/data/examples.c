/* SPDX-License-Identifier: MIT
 *
 * Data sets whose examples differ in size. See examples.h.
 */
#include "data/examples.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <sis/text.h>

#include "base/error.h"
#include "base/mem.h"

static const sis__examples *of(const sis_data *data) {
    return (const sis__examples *)data;
}

static const char *text_at(const sis__examples *e, size_t at) {
    return at == SIS__NONE ? NULL : e->text.data + at;
}

/* ---- Operations ---------------------------------------------------------------------------- */

static const char *get_id(const sis_data *data, size_t i) {
    return text_at(of(data), of(data)->items[i].id);
}

static const char *get_label(const sis_data *data, size_t i) {
    return text_at(of(data), of(data)->items[i].label);
}

static const char *get_text(const sis_data *data, size_t i) {
    return text_at(of(data), of(data)->items[i].text);
}

static const int *get_human(const sis_data *data, size_t i, size_t *n) {
    const sis__example *x = &of(data)->items[i];
    *n = x->n_human;
    return x->human == SIS__NONE ? NULL : of(data)->ints + x->human;
}

static const size_t *get_shape(const sis_data *data, size_t i, size_t *rank) {
    *rank = of(data)->items[i].rank;
    return of(data)->items[i].shape;
}

static size_t get_full_length(const sis_data *data, size_t i) {
    return of(data)->items[i].full_length;
}

static int get_words(const sis_data *data, size_t i, sis_words *words) {
    const sis__examples *e = of(data);
    const sis__example *x = &e->items[i];
    if (x->words == SIS__NONE)
        return sis_words_split(e->text.data + x->text, words);
    const int *lengths =
        x->n_words ? e->ints + x->words : NULL; /* ints is NULL if no example has any */
    return sis__words_given(e->text.data + x->text, lengths, x->n_words, words);
}

static int get_list(const sis_data *data, size_t i, double *out) {
    const sis__example *x = &of(data)->items[i];
    memcpy(out, of(data)->numbers + x->values, x->shape[0] * sizeof *out);
    return SIS_OK;
}

/* Four values per base; N is a quarter of each. */
static int get_bases(const sis_data *data, size_t i, double *out) {
    static const char letters[] = "ACGT";
    const sis__example *x = &of(data)->items[i];
    const char *sequence = get_text(data, i);
    for (size_t row = 0; row < 4; row++)
        for (size_t p = 0; p < x->shape[1]; p++)
            *out++ = sequence[p] == 'N' ? 0.25 : sequence[p] == letters[row];
    return SIS_OK;
}

static int no_values(const sis_data *data, size_t i, double *out) {
    (void)i;
    (void)out;
    return sis__fail(SIS_E_ARGUMENT, "%s: contains texts; use a model with a vocabulary",
                     data->name);
}

static void drop_pools(sis__examples *e);

static void free_examples(sis_data *data) {
    sis__examples *e = (sis__examples *)data;
    drop_pools(e);
    free(e->marks.items);
    free(e);
}

/* ---- Construction -------------------------------------------------------------------------- */

static const struct {
    sis_kind kind;
    sis__data_ops ops;
} kinds[] = {
    {SIS_KIND_TEXT,
     {.values = no_values,
      .text = get_text,
      .words = get_words,
      .human = get_human,
      .shape = get_shape,
      .id = get_id,
      .label = get_label,
      .free = free_examples}},
    {SIS_KIND_DNA,
     {.values = get_bases,
      .text = get_text,
      .full_length = get_full_length,
      .shape = get_shape,
      .id = get_id,
      .label = get_label,
      .free = free_examples}},
    {SIS_KIND_ARRAY,
     {.values = get_list,
      .human = get_human,
      .shape = get_shape,
      .id = get_id,
      .label = get_label,
      .free = free_examples}},
};

sis__examples *sis__examples_new(const char *path, sis_kind kind) {
    sis__examples *e = SIS_NEW(sis__examples, 1);
    char *name = sis__strdup(strcmp(path, "-") == 0 ? "standard input" : path);
    if (!e || !name) {
        free(e);
        free(name);
        return NULL;
    }
    e->base = (sis_data){.name = name};
    sis__buf_init(&e->text);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].kind == kind) {
            e->base.kind = kinds[k].kind;
            e->base.ops = &kinds[k].ops;
        }
    return e;
}

static size_t bytes_held(const sis__examples *e) {
    return e->n * sizeof *e->items + e->text.len + e->n_ints * sizeof *e->ints +
           e->n_numbers * sizeof *e->numbers;
}

/* Note which fields the examples in memory have. */
static void note_fields(sis__examples *e) {
    for (size_t k = 0; k < e->n; k++) {
        e->has_id |= e->items[k].id != SIS__NONE;
        e->has_label |= e->items[k].label != SIS__NONE;
        e->has_human |= e->items[k].human != SIS__NONE;
    }
}

static void drop_pools(sis__examples *e) {
    sis__buf_release(&e->text);
    free(e->items);
    free(e->ints);
    free(e->numbers);
    e->items = NULL;
    e->ints = NULL;
    e->numbers = NULL;
    e->n = e->items_room = e->n_ints = e->ints_room = e->n_numbers = e->numbers_room = 0;
}

sis__example *sis__examples_add(sis__examples *e, size_t offset, size_t line) {
    int code = sis__buf_error(&e->text);
    if (code == SIS_OK)
        code = sis__marks_add(&e->marks, (sis__mark){e->base.count, offset, line}, bytes_held(e));
    if (code > 0) {
        note_fields(e);
        drop_pools(e);
    }
    if (code >= 0)
        code = sis__reserve(&e->items, &e->items_room, e->n + 1, sizeof *e->items);
    if (code != SIS_OK)
        return NULL;
    e->base.count++;
    sis__example *x = &e->items[e->n++];
    *x = (sis__example){.text = SIS__NONE,
                        .id = SIS__NONE,
                        .label = SIS__NONE,
                        .words = SIS__NONE,
                        .human = SIS__NONE,
                        .values = SIS__NONE,
                        .rank = 1};
    return x;
}

void sis__examples_drop_last(sis__examples *e, size_t n) {
    e->base.count -= n;
    e->n -= n < e->n ? n : e->n; /* some may have been dropped with their block */
    while (e->marks.n > 0 && e->marks.items[e->marks.n - 1].example >= e->base.count)
        e->marks.n--;
}

size_t sis__examples_text(sis__examples *e, const char *text, size_t n) {
    size_t at = e->text.len;
    sis__buf_add(&e->text, text, n);
    sis__buf_add(&e->text, "", 1);
    return at;
}

int sis__examples_int(sis__examples *e, int v) {
    int code = sis__reserve(&e->ints, &e->ints_room, e->n_ints + 1, sizeof *e->ints);
    if (code == SIS_OK)
        e->ints[e->n_ints++] = v;
    return code;
}

int sis__examples_number(sis__examples *e, double v) {
    int code = sis__reserve(&e->numbers, &e->numbers_room, e->n_numbers + 1, sizeof *e->numbers);
    if (code == SIS_OK)
        e->numbers[e->n_numbers++] = v;
    return code;
}

int sis__examples_finish(sis__examples *e, int code, sis_data **out) {
    if (code == SIS_OK)
        code = sis__buf_error(&e->text);
    if (code == SIS_OK)
        *out = &e->base;
    else
        sis_data_free(&e->base);
    return code;
}

int sis__examples_finish_blocks(sis__examples *e, int code, sis__source *s,
                                const sis__blocks_reader *reader, void *how, sis_data **out) {
    if (code != SIS_OK || !e->marks.over) {
        (reader->free ? reader->free : free)(how);
        return sis__examples_finish(e, code, out);
    }
    note_fields(e);
    drop_pools(e);
    sis__marks marks = e->marks;
    e->marks = (sis__marks){0};
    code = sis__blocks_new(s, &marks, e->base.count, reader, how, out);
    if (code == SIS_OK)
        sis__blocks_lack(*out, !e->has_id, !e->has_label, !e->has_human);
    sis_data_free(&e->base);
    return code;
}

/* ---- Lines --------------------------------------------------------------------------------- */

/* Context of a section: the format, followed by what the reader learned from the first lines. */
typedef struct {
    const sis__line_format *format;
    max_align_t learned[];
} line_how;

static int read_section(const void *how, const sis__section *section, sis_data **out) {
    const line_how *h = (const line_how *)how;
    sis__lines l = {.number = section->at->line - 1, .inside = section->end != SIZE_MAX};
    int code = sis__source_section(&l.source, section->from, section->at->offset, section->end);
    sis__examples *e = code == SIS_OK ? sis__examples_new(l.source.name, h->format->kind) : NULL;
    code = code != SIS_OK ? code : e ? h->format->read(&l, (void *)h->learned, e) : SIS_E_NOMEM;
    if (e)
        code = sis__examples_finish(e, code, out);
    sis__lines_close(&l);
    return code;
}

int sis__examples_of_lines(const char *path, const sis__line_format *format, const void *how,
                           size_t memory, sis_data **out) {
    static const sis__blocks_reader reader = {read_section, NULL};
    sis__lines l = {0};
    line_how *h = (line_how *)sis__alloc(1, sizeof *h + format->size);
    sis__examples *e = h ? sis__examples_new(path, format->kind) : NULL;
    int code = e ? sis__lines_open(&l, path) : SIS_E_NOMEM;
    if (code == SIS_OK && memory)
        code = sis__source_keep(&l.source, memory);
    if (code == SIS_OK) {
        e->marks.memory = memory;
        h->format = format;
        if (how)
            memcpy(h->learned, how, format->size);
        code = format->read(&l, h->learned, e);
    }
    if (e)
        code = sis__examples_finish_blocks(e, code, &l.source, &reader, h, out);
    else
        free(h);
    sis__lines_close(&l);
    return code;
}
