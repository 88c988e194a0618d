/* SPDX-License-Identifier: MIT
 *
 * Parses and applies record filters (--where). See sis/export.h.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/export.h>
#include <sis/record.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"
#include "results/fields.h"

typedef enum { EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST } relation;
static const struct {
    const char *text;
    relation relation;
} operators[] = {{"=", EQUAL},    {"==", EQUAL}, {"!=", DIFFERENT}, {"<", LESS},
                 {"<=", AT_MOST}, {">", MORE},   {">=", AT_LEAST}};
enum { OPERATORS = sizeof operators / sizeof *operators };

typedef enum {
    EXAMPLE,
    LABEL,
    CLASS,
    STATUS,
    KIND,
    MODEL,
    METHOD,
    SCORE,
    THRESHOLD,
    FEATURE,
    SIZE,
    FIELDS,
    COLUMN = FIELDS /* a column of the example, by name */
} field;
static const char *const fields[] = {"example", "label", "class",     "status",  "kind", "model",
                                     "method",  "score", "threshold", "feature", "size"};

typedef struct {
    field field;
    relation relation;
    char *column; /* COLUMN: the name of the column */
    char *text;
    double number;
} condition;

enum { MAX = 16 };

struct sis_where {
    condition items[MAX];
    size_t n;
};

/* ---- Parsing ------------------------------------------------------------------------------- */

static int is_number_field(field f) {
    return f == SCORE || f == THRESHOLD || f == SIZE;
}

/* A part of the text. */
typedef struct {
    const char *at;
    size_t n;
} piece;

static piece trim(piece p) {
    while (p.n > 0 && *p.at == ' ')
        p.at++, p.n--;
    while (p.n > 0 && p.at[p.n - 1] == ' ')
        p.n--;
    return p;
}

static int bad(const char *expected, piece found) {
    return sis__fail(SIS_E_OPTION, "--where: expected %s, found \"%.*s\"", expected,
                     found.n < 60 ? (int)found.n : 60, found.at);
}

static int is(piece p, const char *text) {
    return strlen(text) == p.n && strncmp(p.at, text, p.n) == 0;
}

static int copy(piece p, char **out) {
    *out = SIS_NEW(char, p.n + 1);
    if (!*out)
        return SIS_E_NOMEM;
    memcpy(*out, p.at, p.n);
    return SIS_OK;
}

/* The length of a quoted text at the start, with both quotes. 0: none. */
static size_t quoted_length(const char *text) {
    const char *close = *text == '"' || *text == '\'' ? strchr(text + 1, *text) : NULL;
    return close ? (size_t)(close - text) + 1 : 0;
}

/* The position of the operator of a condition. */
static size_t name_length(const char *text) {
    size_t blanks = strspn(text, " "), n = blanks + quoted_length(text + blanks);
    return n + strcspn(text + n, "=!<>");
}

/* Does the value contain another condition, as in "debt or size<3"? */
static int holds_condition(piece value) {
    for (size_t i = 1; i < value.n; i++) {
        const char *at = value.at + i;
        size_t n = strchr(" ,;&|(", at[-1]) ? strcspn(at, " ,;&|(=!<>") : 0;
        char next = n ? at[n + strspn(at + n, " ")] : '\0';
        if (next && strchr("=!<>", next))
            return 1;
    }
    return 0;
}

/* A known field; quoted or unknown names are columns. */
static int read_field(piece name, condition *c) {
    if (name.n == 0)
        return bad("a field or a column in front", name);
    for (c->field = EXAMPLE; c->field < FIELDS; c->field++)
        if (is(name, fields[c->field]))
            return SIS_OK;
    if (is(name, "id")) {
        c->field = EXAMPLE;
        return SIS_OK;
    }
    if (name.n > 1 && quoted_length(name.at) == name.n)
        name = (piece){name.at + 1, name.n - 2};
    return copy(name, &c->column);
}

static const char *name_of(const condition *c) {
    return c->column ? c->column : fields[c->field];
}

static int read_relation(piece sign, condition *c) {
    size_t k = 0;
    while (k < OPERATORS && !is(sign, operators[k].text))
        k++;
    if (k == OPERATORS)
        return bad("=, !=, <, <=, > or >= (quote a value that begins with one)", sign);
    c->relation = operators[k].relation;
    if (c->relation > DIFFERENT && !is_number_field(c->field) && !c->column)
        return sis__fail(SIS_E_OPTION,
                         "--where: expected = or !=, because %s is not a number, "
                         "found \"%s\"",
                         name_of(c), operators[k].text);
    return SIS_OK;
}

/* Refuse an unknown status or kind, which would never match. */
static int check_value(const condition *c) {
    piece value = {c->text, strlen(c->text)};
    if ((is_number_field(c->field) || c->relation > DIFFERENT) && isnan(c->number))
        return bad("a number to compare with", value);
    int known = c->field != STATUS && c->field != KIND;
    for (int k = 0; c->field == STATUS && k < SIS_N_STATUSES; k++)
        known |= strcmp(c->text, sis_status_name((sis_status)k)) == 0;
    if (c->field == KIND)
        known = sis_kind_of(c->text) != SIS_KIND_NONE;
    return known ? SIS_OK
                 : bad(c->field == KIND ? "a kind (array, table, text, dna or image)"
                                        : "a status (explained, not_decided, default_decision, "
                                          "error or cut)",
                       value);
}

static int take_value(piece value, condition *c) {
    char *end;
    int error = copy(value, &c->text);
    if (error)
        return error;
    c->number = sis__number(c->text, &end);
    if (end == c->text || *end)
        c->number = NAN;
    return check_value(c);
}

/* A quoted value loses its quotes. */
static int read_value(piece text, condition *c) {
    if (text.n == 0)
        return sis__fail(SIS_E_OPTION, "--where: \"%.60s\" is compared with nothing; add a value",
                         name_of(c));
    int quoted = *text.at == '"' || *text.at == '\'';
    if (quoted && quoted_length(text.at) == text.n)
        return take_value((piece){text.at + 1, text.n - 2}, c);
    if (quoted)
        return bad("the end of the quotes, then \" and \" or nothing", text);
    if (text.n > 4 && memcmp(text.at + text.n - 4, " and", 4) == 0)
        return bad("a condition after \" and\" (quote a value that ends so)", text);
    if (holds_condition(text))
        return bad("\" and \" between conditions (quote a value that contains "
                   "one)",
                   text);
    return take_value(text, c);
}

static int parse_one(piece text, condition *c) {
    size_t name = name_length(text.at), length = strspn(text.at + name, "=!<>");
    if (name >= text.n)
        return bad("FIELD=VALUE, as in \"class=1 and size<5\"", text);
    int error = read_field(trim((piece){text.at, name}), c);
    if (error == SIS_OK)
        error = read_relation((piece){text.at + name, length}, c);
    name += length;
    return error == SIS_OK ? read_value(trim((piece){text.at + name, text.n - name}), c) : error;
}

/* The next " and " outside quotes, or the end. */
static size_t next_end(const char *text) {
    size_t at = name_length(text);
    at += strspn(text + at, "=!<> ");
    at += quoted_length(text + at);
    while (text[at] && !sis__same_start(text + at, " and ", 5))
        at++;
    return at;
}

int sis_where_parse(const char *text, sis_where **out) {
    sis_where *w = SIS_NEW(sis_where, 1);
    int error = w ? SIS_OK : SIS_E_NOMEM;
    *out = NULL;
    for (size_t n; error == SIS_OK; text += n + 5) {
        n = next_end(text);
        if (w->n == MAX)
            error = sis__fail(SIS_E_OPTION, "--where: more than %d conditions", MAX);
        else
            error = parse_one(trim((piece){text, n}), &w->items[w->n++]);
        if (!text[n])
            break;
    }
    if (error == SIS_OK)
        *out = w;
    else
        sis_where_free(w);
    return error;
}

void sis_where_free(sis_where *w) {
    for (size_t k = 0; w && k < w->n; k++) {
        free(w->items[k].column);
        free(w->items[k].text);
    }
    free(w);
}

/* ---- Evaluation ---------------------------------------------------------------------------- */

static int compare(const condition *c, double v) {
    switch (c->relation) {
    case EQUAL:
        return v == c->number;
    case DIFFERENT:
        return v != c->number;
    case LESS:
        return v < c->number;
    case AT_MOST:
        return v <= c->number;
    case MORE:
        return v > c->number;
    default:
        return v >= c->number;
    }
}

static int is_text(const condition *c, const char *text) {
    return (text && strcmp(text, c->text) == 0) == (c->relation == EQUAL);
}

/* Matches by label; also by number, unless labels are numbers. */
static int is_class(const condition *c, const sis_record *r) {
    char number[32];
    snprintf(number, sizeof number, "%zu", r->question.target);
    int by_number = !r->question.target_label ||
                    r->question.target_label[strspn(r->question.target_label, "-0123456789")];
    int same = (by_number && strcmp(number, c->text) == 0) ||
               (r->question.target_label && strcmp(r->question.target_label, c->text) == 0);
    return same == (c->relation == EQUAL);
}

int sis_record_column(const sis_record *r, const char *name) {
    char found[512];
    int columns = r->drawing.values && r->drawing.names && !r->drawing.words &&
                  !r->drawing.sequence && r->collection.n_features <= r->drawing.n_values;
    for (size_t f = 0; columns && f < r->collection.n_features; f++)
        if (sis_record_name(r, (int)f, found, sizeof found) && strcmp(found, name) == 0)
            return (int)f;
    return -1;
}

int sis_record_kept(const sis_record *r, const char *name, char *text, size_t size) {
    json_t *root = NULL;
    if (!r->drawing.columns ||
        sis__json_read(r->drawing.columns, strlen(r->drawing.columns), "columns", &root) != SIS_OK)
        return 0;
    const char *value = json_string_value(json_object_get(root, name));
    if (value)
        snprintf(text, size, "%s", *value ? value : "missing");
    json_decref(root);
    return value != NULL;
}

/* Compare a column as a number if it has one, else as a word. Records with errors have no values
 * and never match. */
static int holds_of_column(const condition *c, const sis_record *r) {
    char number[SIS_NUMBER_SIZE], kept[512], *end;
    size_t count;
    if (r->collection.status == SIS_STATUS_ERROR)
        return 0;
    int f = sis_record_column(r, c->column);
    const char *was = f >= 0 ? sis_record_was(r, f, number) : NULL;
    if (!was && sis_record_kept(r, c->column, kept, sizeof kept))
        was = kept;
    if (!was)
        return sis__fail(SIS_E_OPTION,
                         "--where: \"%s\" is neither a field (example or id, label, "
                         "class, status, kind, model, method, score, threshold, "
                         "feature, size) nor a column of record \"%s\"",
                         c->column, r->id);
    double x = sis__number(was, &end);
    if (was == number)
        x = r->drawing.values[sis_record_values(r, f, &count)];
    else if (end == was || *end)
        x = NAN;
    if (c->relation <= DIFFERENT && (isnan(x) || isnan(c->number)))
        return is_text(c, was);
    if (isnan(x) && strcmp(was, "missing") != 0)
        return sis__fail(SIS_E_OPTION,
                         "--where: expected = or !=, because %s is not a number: "
                         "record \"%s\" has \"%s\"",
                         c->column, r->id, was);
    return compare(c, x);
}

static int holds_of_record(const condition *c, const sis_record *r) {
    if (c->column)
        return holds_of_column(c, r);
    switch (c->field) {
    case EXAMPLE:
        return is_text(c, r->id);
    case LABEL:
        return is_text(c, r->drawing.label);
    case CLASS:
        return is_class(c, r);
    case STATUS:
        return is_text(c, sis_status_name(r->collection.status));
    case KIND:
        return is_text(c, r->drawing.kind);
    case MODEL:
        return is_text(c, r->model);
    case METHOD:
        return is_text(c, r->question.method);
    case SCORE:
        return compare(c, r->collection.score);
    case THRESHOLD:
        return compare(c, r->question.threshold);
    default:
        return 1;
    }
}

static int has_feature(const sis_record *r, const sis_subset *s, const char *wanted) {
    char name[512];
    for (size_t i = 0; i < s->n; i++) {
        sis_record_name(r, s->features[i], name, sizeof name);
        if (strcmp(name, wanted) == 0)
            return 1;
    }
    return 0;
}

static int holds_of_subset(const sis_where *w, const sis_record *r, const sis_subset *s) {
    for (size_t k = 0; k < w->n; k++) {
        const condition *c = &w->items[k];
        if (c->field == SIZE && !compare(c, (double)s->n))
            return 0;
        if (c->field == FEATURE && has_feature(r, s, c->text) != (c->relation == EQUAL))
            return 0;
    }
    return 1;
}

int sis_where_holds(const sis_where *w, const sis_record *r) {
    int subsets = 0;
    for (size_t k = 0; k < w->n; k++) {
        subsets |= w->items[k].field == FEATURE || w->items[k].field == SIZE;
        int holds = holds_of_record(&w->items[k], r);
        if (holds <= 0)
            return holds;
    }
    for (size_t i = 0; subsets && i < r->collection.n_subsets; i++)
        if (holds_of_subset(w, r, &r->collection.subsets[i]))
            return 1;
    return !subsets;
}
