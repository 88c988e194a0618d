/* SPDX-License-Identifier: MIT
 *
 * Reads motif files. Every format consists of names and rows of numbers. Rows are either bases or
 * positions, which is decided after reading the whole file: they are bases if every motif has four
 * rows.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sis/dna.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "data/cell.h"
#include "data/lines.h"

enum { LENGTH_MAX = 1000 };

/* A motif as its rows. */
typedef struct {
    size_t line;            /* where it begins */
    size_t numbers;         /* where its first row begins */
    size_t n_rows, n_cells; /* cells of each row */
    double sites;           /* MEME: number of sites; else 0 */
    double width;           /* MEME: announced number of rows; 0: none */
    size_t misplaced;       /* line of the first row with the letter of another base; 0: none */
} matrix;

typedef struct {
    sis__lines l;
    int meme, in_matrix;
    matrix *items;
    size_t n, room;
    double *numbers;
    size_t n_numbers, numbers_room;
    sis__strings strings; /* id and name of each */
} reader;

/* ---- Names --------------------------------------------------------------------------------- */

/* The name in an id like "MA0139.1_MA0139.1.CTCF": the text after the last full stop, if it is a
 * word. A single letter, as in "CTCF_HUMAN.H11MO.0.A", is not a name. */
static const char *name_in(const char *id) {
    const char *dot = strrchr(id, '.');
    return dot && dot[1] && dot[2] && (dot[1] < '0' || dot[1] > '9') ? dot + 1 : id;
}

/* Start a motif from the words in `text`: its id, and optionally its name. */
static int begin_motif(reader *r, char *text) {
    int code = sis__reserve(&r->items, &r->room, r->n + 1, sizeof *r->items);
    if (code != SIS_OK)
        return code;
    text += strspn(text, " \t");
    char *id_end = text + strcspn(text, " \t"), *name = id_end + strspn(id_end, " \t");
    size_t n = strlen(name);
    while (n > 0 && (name[n - 1] == ' ' || name[n - 1] == '\t'))
        name[--n] = '\0';
    *id_end = '\0';
    if (*text == '\0')
        return sis__lines_fail(&r->l, "a motif without a name");
    sis__strings_add(&r->strings, text);
    sis__strings_add(&r->strings, n ? name : name_in(text));
    r->items[r->n++] = (matrix){.line = r->l.number, .numbers = r->n_numbers};
    return sis__buf_error(&r->strings.text);
}

/* ---- Rows ---------------------------------------------------------------------------------- */

static int add_number(reader *r, double v) {
    int code = sis__reserve(&r->numbers, &r->numbers_room, r->n_numbers + 1, sizeof *r->numbers);
    if (code == SIS_OK)
        r->numbers[r->n_numbers++] = v;
    return code;
}

static int bad_number(const reader *r, const char *word) {
    char found[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: expected numbers from 0 up, found \"%s\"",
                     r->l.source.name, r->l.number, sis__cell_excerpt(word, found));
}

/* "4 19 0", "A [ 4 19 0 ]", "A| 4 19 0" */
static int add_row(reader *r, char *text) {
    static const char blanks[] = " \t[]|";
    matrix *m = &r->items[r->n - 1];
    size_t n = 0;
    char *at = text + strspn(text, blanks);
    if (*at && strchr("ACGTacgt", *at) && at[1] && strchr(" \t[|:", at[1])) {
        if (m->misplaced == 0 && m->n_rows < 4 && (*at & ~32) != "ACGT"[m->n_rows])
            m->misplaced = r->l.number;
        at += 2;
    }
    for (at += strspn(at, blanks); *at; at += strspn(at, blanks), n++) {
        double v;
        char *word = at;
        at += strcspn(at, blanks);
        if (*at)
            *at++ = '\0';
        if (!sis__cell_number(word, &v) || !isfinite(v) || v < 0)
            return bad_number(r, word);
        int code = add_number(r, v);
        if (code != SIS_OK)
            return code;
    }
    if (n == 0 || (m->n_rows > 0 && n != m->n_cells))
        return sis__fail(SIS_E_FORMAT,
                         "%s, line %zu: %zu numbers; expected as many as on the line before",
                         r->l.source.name, r->l.number, n);
    m->n_cells = n;
    if (++m->n_rows > LENGTH_MAX || n > LENGTH_MAX)
        return sis__lines_fail(&r->l, "a motif of more than 1000 positions");
    return SIS_OK;
}

/* ---- MEME ---------------------------------------------------------------------------------- */

/* The number after `key` in the line, or `otherwise`. */
static double number_after(const char *line, const char *key, double otherwise) {
    const char *at = strstr(line, key);
    char *end;
    if (!at)
        return otherwise;
    double v = sis__number(at + strlen(key), &end);
    return end == at + strlen(key) || !isfinite(v) ? otherwise : v;
}

static int meme_line(reader *r, char *line) {
    if (strncmp(line, "MOTIF", 5) == 0 && strchr(" \t", line[5])) {
        r->in_matrix = 0;
        return begin_motif(r, line + 5);
    }
    if (strncmp(line, "letter-probability matrix", 25) == 0) {
        if (r->n == 0)
            return sis__lines_fail(&r->l, "a matrix before the first MOTIF line");
        if (number_after(line, "alength=", 4) != 4)
            return sis__lines_fail(&r->l, "not DNA: expected alength= 4");
        r->items[r->n - 1].sites = number_after(line, "nsites=", 1);
        r->items[r->n - 1].width = number_after(line, " w=", 0);
        r->in_matrix = 1;
        return SIS_OK;
    }
    if (r->in_matrix && strchr("0123456789.+-", line[strspn(line, " \t")]))
        return add_row(r, line);
    r->in_matrix = 0;
    return SIS_OK;
}

/* ---- The file ------------------------------------------------------------------------------ */

static int take_line(reader *r) {
    char *line = r->l.line.data;
    if (sis__lines_blank(&r->l)) {
        r->in_matrix = r->meme && r->in_matrix && r->items[r->n - 1].n_rows == 0;
        return SIS_OK;
    }
    if (*line == '#')
        return SIS_OK;
    if (r->n == 0 && strncmp(line, "MEME version", 12) == 0)
        r->meme = 1;
    if (r->meme)
        return meme_line(r, line);
    if (*line == '>')
        return begin_motif(r, line + 1);
    if (r->n == 0)
        return sis__lines_fail(
            &r->l, "not a file of motifs: expected '>' and a name, or \"MEME version\"");
    return add_row(r, line);
}

/* Are rows positions rather than bases? */
static int by_position(const reader *r, int *yes) {
    int bases = 1, positions = 1;
    for (size_t k = 0; k < r->n; k++) {
        const matrix *m = &r->items[k];
        bases &= m->n_rows == 4;
        positions &= m->n_cells == 4 && m->n_rows > 0;
        if ((m->n_rows != 4 && m->n_cells != 4) || m->n_rows == 0)
            return sis__fail(SIS_E_FORMAT,
                             "%s, line %zu: a motif of %zu rows of %zu numbers; expected four rows "
                             "(A C G T) or four numbers a row",
                             r->l.source.name, m->line, m->n_rows, m->n_cells);
    }
    *yes = r->meme || !bases;
    return *yes && !positions ? sis__fail(SIS_E_FORMAT,
                                          "%s: some motifs have a row for each base, some for each "
                                          "position; write all in one form",
                                          r->l.source.name)
                              : SIS_OK;
}

/* Counts (length, 4) and probabilities of one motif. */
static int fill(const reader *r, const matrix *m, int positions, double *counts, double *shares) {
    size_t length = positions ? m->n_rows : m->n_cells;
    const double *from = r->numbers + m->numbers;
    if (!positions && m->misplaced)
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: expected rows in the order A, C, G, T",
                         r->l.source.name, m->misplaced);
    if (m->width > 0 && m->width != (double)m->n_rows)
        return sis__fail(SIS_E_FORMAT, "%s, line %zu: found %zu rows of the motif, its w= says %g",
                         r->l.source.name, m->line, m->n_rows, m->width);
    for (size_t p = 0; p < length; p++) {
        double sum = 0;
        for (size_t b = 0; b < 4; b++) {
            counts[4 * p + b] = positions ? from[4 * p + b] : from[b * length + p];
            sum += counts[4 * p + b];
        }
        if (!(sum > 0) || !isfinite(sum))
            return sis__fail(SIS_E_FORMAT, "%s, line %zu: position %zu of the motif adds up to %g",
                             r->l.source.name, m->line, p, sum);
        for (size_t b = 0; b < 4; b++) {
            shares[4 * p + b] = counts[4 * p + b] / sum;
            counts[4 * p + b] *= m->sites > 0 ? m->sites : 1;
        }
    }
    return SIS_OK;
}

static int finish(reader *r, sis_motifs *out) {
    int positions = 0,
        code = r->n ? by_position(r, &positions)
                    : sis__fail(SIS_E_FORMAT, "%s: contains no motifs", r->l.source.name);
    if (code != SIS_OK)
        return code;
    out->items = SIS_NEW(sis_motif, r->n);
    out->numbers = SIS_NEW(double, 2 * r->n_numbers);
    out->strings = sis__strings_finish(&r->strings);
    if (!out->items || !out->numbers || !out->strings)
        return SIS_E_NOMEM;
    double *to = out->numbers;
    for (size_t k = 0; k < r->n && code == SIS_OK; k++) {
        const matrix *m = &r->items[k];
        size_t cells = m->n_rows * m->n_cells;
        code = fill(r, m, positions, to, to + cells);
        out->items[k] = (sis_motif){.id = out->strings[2 * k],
                                    .name = out->strings[2 * k + 1],
                                    .length = cells / 4,
                                    .counts = to,
                                    .probabilities = to + cells};
        to += 2 * cells;
    }
    out->n = r->n;
    return code;
}

/* The start of ID in FILE:ID, unless a file has the whole name; NULL: no ID. */
static const char *id_in(const char *path) {
    const char *colon = strrchr(path, ':');
    return colon && colon > path && colon[1] && access(path, F_OK) != 0 ? colon + 1 : NULL;
}

/* Keep only one motif. */
static int keep_one(const char *file, const char *id, sis_motifs *out) {
    const sis_motif *found;
    int code = sis_motifs_pick(out, file, id, &found);
    if (code != SIS_OK) {
        sis_motifs_release(out);
        return code;
    }
    out->items[0] = *found;
    out->n = 1;
    return SIS_OK;
}

static int read_all(const char *path, sis_motifs *out);

int sis_motifs_read(const char *path, sis_motifs *out) {
    const char *id = id_in(path);
    *out = (sis_motifs){0};
    char *file = sis__strdup(path);
    if (!file)
        return SIS_E_NOMEM;
    if (id)
        file[id - path - 1] = '\0';
    int code = read_all(file, out);
    if (code == SIS_OK && id)
        code = keep_one(file, id, out);
    free(file);
    return code;
}

static int read_all(const char *path, sis_motifs *out) {
    reader r = {0};
    int found = 0, code = sis__lines_open(&r.l, path);
    *out = (sis_motifs){0};
    while (code == SIS_OK && (found = sis__lines_next(&r.l)) > 0)
        code = take_line(&r);
    code = code == SIS_OK ? found : code;
    if (code == SIS_OK)
        code = finish(&r, out);
    if (code != SIS_OK)
        sis_motifs_release(out);
    sis__lines_close(&r.l);
    sis__strings_release(&r.strings);
    free(r.items);
    free(r.numbers);
    return code;
}

void sis_motifs_release(sis_motifs *motifs) {
    free(motifs->items);
    free(motifs->numbers);
    free(motifs->strings);
    *motifs = (sis_motifs){0};
}

/* Is it the id, or the id up to a full stop or underscore? */
static int is_id(const char *id, const char *name) {
    size_t n = strlen(name);
    return n > 0 && sis__same_start(id, name, n) && (id[n] == '\0' || strchr("._", id[n]));
}

const sis_motif *sis_motifs_find(const sis_motifs *motifs, const char *name) {
    const sis_motif *found = NULL, *exact = NULL;
    for (const sis_motif *m = motifs->items; m < motifs->items + motifs->n; m++) {
        if (sis__same_word(m->id, name))
            exact = m;
        if (is_id(m->id, name) || sis__same_word(m->name, name))
            found = m;
    }
    return exact ? exact : found;
}

/* ---- Finding a motif by name ----------------------------------------------------------------- */

static int is_near(const sis_motif *m, const char *name) {
    size_t n = strlen(name);
    for (const char *s = m->name; *s; s++)
        if (sis__same_start(s, name, n))
            return 1;
    return sis__same_start(m->id, name, n);
}

/* The first names of all motifs, or of those that contain `name`: "ELK1, ELK3". Returns their
 * number. */
static size_t list_names(const sis_motifs *motifs, const char *name, char *text, size_t size) {
    enum { SHOWN = 5 };
    size_t n = 0, used = 0;
    *text = '\0';
    for (const sis_motif *m = motifs->items; m < motifs->items + motifs->n; m++) {
        if (name && !is_near(m, name))
            continue;
        if (n++ < SHOWN && used < size)
            used += (size_t)snprintf(text + used, size - used, "%s%.40s", n > 1 ? ", " : "",
                                     *m->name ? m->name : m->id);
    }
    if (n > SHOWN && used < size)
        snprintf(text + used, size - used, ", ...");
    return n;
}

int sis_motifs_pick(const sis_motifs *motifs, const char *file, const char *name,
                    const sis_motif **out) {
    char near_names[256], names[256];
    if ((*out = sis_motifs_find(motifs, name)))
        return SIS_OK;
    list_names(motifs, NULL, names, sizeof names);
    size_t n = list_names(motifs, name, near_names, sizeof near_names);
    if (n > 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "%s has no motif \"%.100s\"; of its %zu, the most similar are %s", file,
                         name, motifs->n, near_names);
    return sis__fail(SIS_E_ARGUMENT, "%s has no motif \"%.100s\"; it has %zu: %s", file, name,
                     motifs->n, names);
}
