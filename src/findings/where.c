/* SPDX-License-Identifier: MIT
 *
 * Which records are meant, in words. See sis/export.h.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/export.h>

#include "base/error.h"
#include "base/mem.h"

typedef enum { EQUAL, DIFFERENT, LESS, AT_MOST, MORE, AT_LEAST, OPERATORS } relation;
static const char *const relations[] = {"=", "!=", "<", "<=", ">", ">="};

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
    FIELDS
} field;
static const char *const fields[] = {"example", "label", "class",     "status",  "kind", "model",
                                     "method",  "score", "threshold", "feature", "size"};

typedef struct {
    field field;
    relation relation;
    char *text;
    double number;
} condition;

enum { MOST = 16 };

struct sis_where {
    condition items[MOST];
    size_t n;
};

/* ---- Reading ------------------------------------------------------------------------------- */

static int is_number_field(field f) {
    return f == SCORE || f == THRESHOLD || f == SIZE;
}

static int bad(const char *text, size_t n) {
    return sis__fail(
        SIS_E_OPTION,
        "--where: expected FIELD=VALUE (example, label, class, status, kind, model, "
        "method, score, threshold, feature, size; also !=, and < <= > >= for numbers), "
        "found \"%.*s\"",
        n < 60 ? (int)n : 60, text);
}

/* The relation at `at`, the longer one if two begin there. */
static relation relation_at(const char *at, size_t *length) {
    relation found = OPERATORS;
    *length = 0;
    for (relation r = EQUAL; r < OPERATORS; r++) {
        size_t n = strlen(relations[r]);
        if (strncmp(at, relations[r], n) == 0 && n > *length) {
            found = r;
            *length = n;
        }
    }
    return found;
}

static void trim(const char **from, size_t *n) {
    while (*n > 0 && **from == ' ')
        (*from)++, (*n)--;
    while (*n > 0 && (*from)[*n - 1] == ' ')
        (*n)--;
}

static int parse_one(const char *text, size_t n, condition *c) {
    size_t length, at = strcspn(text, "=!<>");
    const char *name = text, *value;
    char *end;
    if (at >= n || (c->relation = relation_at(text + at, &length)) == OPERATORS)
        return bad(text, n);
    size_t name_length = at, value_length = n - at - length;
    value = text + at + length;
    trim(&name, &name_length);
    trim(&value, &value_length);
    for (c->field = EXAMPLE; c->field < FIELDS; c->field++)
        if (strlen(fields[c->field]) == name_length &&
            strncmp(fields[c->field], name, name_length) == 0)
            break;
    if (c->field == FIELDS || value_length == 0)
        return bad(text, n);
    c->text = SIS_NEW(char, value_length + 1);
    if (!c->text)
        return SIS_E_NOMEM;
    memcpy(c->text, value, value_length);
    c->number = strtod(c->text, &end);
    int number = end != c->text && !*end;
    if (is_number_field(c->field) ? !number : c->relation > DIFFERENT)
        return bad(text, n);
    return SIS_OK;
}

/* Where the next " and " begins, or the end. */
static size_t next_end(const char *text) {
    const char *and = strstr(text, " and ");
    return and? (size_t)(and-text) : strlen(text);
}

int sis_where_parse(const char *text, sis_where **out) {
    sis_where *w = SIS_NEW(sis_where, 1);
    int error = w ? SIS_OK : SIS_E_NOMEM;
    *out = NULL;
    for (size_t n; error == SIS_OK; text += n + 5) {
        n = next_end(text);
        if (w->n == MOST)
            error = sis__fail(SIS_E_OPTION, "--where: more than %d conditions", MOST);
        else
            error = parse_one(text, n, &w->items[w->n++]);
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
    for (size_t k = 0; w && k < w->n; k++)
        free(w->items[k].text);
    free(w);
}

/* ---- Asking -------------------------------------------------------------------------------- */

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

static int is_class(const condition *c, const sis_record *r) {
    char number[32];
    snprintf(number, sizeof number, "%zu", r->output);
    int same =
        strcmp(number, c->text) == 0 || (r->output_label && strcmp(r->output_label, c->text) == 0);
    return same == (c->relation == EQUAL);
}

static int holds_of_record(const condition *c, const sis_record *r) {
    switch (c->field) {
    case EXAMPLE:
        return is_text(c, r->id);
    case LABEL:
        return is_text(c, r->label);
    case CLASS:
        return is_class(c, r);
    case STATUS:
        return is_text(c, sis_status_name(r->collection.status));
    case KIND:
        return is_text(c, r->kind);
    case MODEL:
        return is_text(c, r->model);
    case METHOD:
        return is_text(c, r->method);
    case SCORE:
        return compare(c, r->collection.score);
    case THRESHOLD:
        return compare(c, r->threshold);
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
        subsets |= w->items[k].field >= FEATURE;
        if (!holds_of_record(&w->items[k], r))
            return 0;
    }
    for (size_t i = 0; subsets && i < r->collection.n_subsets; i++)
        if (holds_of_subset(w, r, &r->collection.subsets[i]))
            return 1;
    return !subsets;
}
