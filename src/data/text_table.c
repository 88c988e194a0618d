/* SPDX-License-Identifier: MIT
 *
 * Reads texts from a column of a table (.csv, .tsv): one example per row. The caller names the
 * column of the text; labels and ids are in others. Further columns are ignored. A quoted text may
 * contain newlines.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"
#include "data/cells.h"
#include "data/examples.h"

/* Indices of columns; SIS__NONE: none. */
typedef struct {
    char separator;
    size_t columns, text, label, id;
} layout;

/* ---- The header ---------------------------------------------------------------------------- */

/* Set k as the column of the text, label or id if the name matches. */
static void take_name(const char *cell, const sis_data_opt *opt, size_t k, layout *a) {
    const char *const wanted[] = {opt->text, opt->label, opt->id};
    size_t *const found[] = {&a->text, &a->label, &a->id};
    for (size_t i = 0; i < 3; i++)
        if (wanted[i] && *found[i] == SIS__NONE && strcmp(cell, wanted[i]) == 0)
            *found[i] = k;
}

static int check_header(const sis__cells *in, const sis_data_opt *opt, const layout *a) {
    char excerpt[SIS__EXCERPT_SIZE];
    const char *missing = a->text == SIS__NONE                  ? opt->text
                          : opt->label && a->label == SIS__NONE ? opt->label
                          : opt->id && a->id == SIS__NONE       ? opt->id
                                                                : NULL;
    if (missing)
        return sis__fail(SIS_E_ARGUMENT, "%s: there is no column \"%s\" in the header",
                         in->source.name, sis__cell_excerpt(missing, excerpt));
    return SIS_OK;
}

static int read_header(sis__cells *in, const sis_data_opt *opt, layout *a) {
    *a = (layout){
        .separator = in->separator, .text = SIS__NONE, .label = SIS__NONE, .id = SIS__NONE};
    int code = sis__cells_begin(in), found = code == SIS_OK ? sis__cells_row(in) : code;
    if (found == 0)
        return sis__fail(SIS_E_FORMAT, "%s: is empty; expected a header and a text in every row",
                         in->source.name);
    for (code = found < 0 ? found : SIS_OK; code == SIS_OK;) {
        take_name(sis__cells_text(in), opt, a->columns++, a);
        if (in->last)
            break;
        code = sis__cells_next(in);
    }
    return code == SIS_OK ? check_header(in, opt, a) : code;
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static int bad_row(const sis__cells *in, const char *what) {
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: %s", in->source.name, in->row_line, what);
}

/* Store one cell of a row. */
static int take_cell(sis__cells *in, const layout *a, size_t k, sis__examples *e, sis__example *x) {
    const char *cell = sis__cells_text(in);
    size_t *to = k == a->text ? &x->text : k == a->label ? &x->label : k == a->id ? &x->id : NULL;
    if (!to)
        return SIS_OK;
    if (k != a->text && sis__cell_blank(cell))
        return bad_row(in, k == a->label ? "the label is missing" : "the id is empty");
    *to = sis__examples_text(e, cell, strlen(cell));
    return sis__buf_error(&e->text);
}

/* Read the row whose first cell was read. */
static int read_row(sis__cells *in, const layout *a, sis__examples *e) {
    sis__example *x = sis__examples_add(e, in->row_offset, in->row_line);
    size_t n = 0;
    int code = x ? SIS_OK : SIS_E_NOMEM;
    while (code == SIS_OK) {
        code = take_cell(in, a, n++, e, x);
        if (in->last || code != SIS_OK)
            break;
        code = sis__cells_next(in);
    }
    if (code == SIS_OK && n != a->columns)
        return sis__fail(SIS_E_FORMAT,
                         "%s, line %zu: expected %zu cell%s as in the header, found %zu",
                         in->source.name, in->row_line, a->columns, a->columns == 1 ? "" : "s", n);
    return code;
}

static int read_rows(sis__cells *in, const layout *a, sis__examples *e) {
    int found, code = SIS_OK;
    while (code == SIS_OK && (found = sis__cells_row(in)) != 0)
        code = found < 0 ? found : read_row(in, a, e);
    return code;
}

static int read_section(const void *how, const sis__section *section, sis_data **out) {
    const layout *a = (const layout *)how;
    sis__cells in = {.separator = a->separator, .line = section->at->line};
    int code = sis__source_section(&in.source, section->from, section->at->offset, section->end);
    sis__examples *e = code == SIS_OK ? sis__examples_new(in.source.name, SIS_KIND_TEXT) : NULL;
    code = code != SIS_OK ? code : e ? read_rows(&in, a, e) : SIS_E_NOMEM;
    if (e)
        code = sis__examples_finish(e, code, out);
    sis__cells_close(&in);
    return code;
}

/* ---- Entry point --------------------------------------------------------------------------- */

/* Refuse options for columns that are features. */
static int check_options(const sis_data_opt *opt) {
    int words = opt->categorical == 1 || (opt->categories && !opt->categorical);
    if (!opt->no_header && !opt->types && !words)
        return SIS_OK;
    return sis__fail(SIS_E_OPTION, "--text: the features are the words of one column; leave out %s",
                     opt->no_header ? "--no-header"
                     : opt->types   ? "--types"
                                    : "--categorical");
}

int sis__data_read_text_column(const char *path, char separator, const sis_data_opt *opt,
                               sis_data **out) {
    static const sis__blocks_reader reader = {read_section, NULL};
    sis__cells in = {0};
    layout *a = SIS_NEW(layout, 1);
    sis__examples *e = a ? sis__examples_new(path, SIS_KIND_TEXT) : NULL;
    int code = e ? check_options(opt) : SIS_E_NOMEM;
    if (code == SIS_OK)
        code = sis__cells_open(&in, path, separator);
    if (code == SIS_OK && opt->memory)
        code = sis__source_keep(&in.source, opt->memory);
    if (code == SIS_OK)
        code = read_header(&in, opt, a);
    if (code == SIS_OK) {
        e->marks.memory = opt->memory;
        code = read_rows(&in, a, e);
    }
    if (code == SIS_OK && e->base.count == 0)
        code = sis__fail(SIS_E_FORMAT, "%s: has a header and no rows", in.source.name);
    if (e)
        code = sis__examples_finish_blocks(e, code, &in.source, &reader, a, out);
    else
        free(a);
    sis__cells_close(&in);
    return code;
}
