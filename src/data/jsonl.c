/* SPDX-License-Identifier: MIT
 *
 * Read JSON Lines: one example per line. jansson parses each line and checks nesting depth, UTF-8
 * and number ranges. Only one line is in memory at a time.
 */
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include <sis/text.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "base/order.h"
#include "data/cell.h"
#include "data/examples.h"
#include "data/source.h"

enum { LINE_BYTES_MAX = 32 << 20 };

typedef enum { TEXT, WORDS, VALUES, N_CONTENTS, UNKNOWN = N_CONTENTS } content_kind;
static const char *const content_names[] = {"text", "words", "values"};

/* What every line must contain. */
typedef struct {
    const char *label; /* name of the label field; NULL: "label", optional */
    const char *id;    /* name of the id field; NULL: "id", optional */
    sis_missing missing;
    content_kind content; /* of the first line; the others must have the same */
} line_schema;

typedef struct {
    const char *name;
    size_t line, offset; /* number of the current line; byte position of the next one */
    line_schema schema;
    size_t memory; /* limit of the examples in memory */
    sis__examples *e;
    const json_t *object; /* the current line */
    sis_words words;      /* scratch */
} reader;

__attribute__((format(printf, 2, 3))) static int fail_at(const reader *r, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    sis__vformat(text, sizeof text, format, args);
    va_end(args);
    return sis__fail(SIS_E_FORMAT, "%s, line %zu: %s", r->name, r->line, text);
}

/* ---- Content ------------------------------------------------------------------------------- */

static int find_content(reader *r) {
    content_kind found = UNKNOWN;
    for (content_kind c = TEXT; c < N_CONTENTS; c++)
        if (json_object_get(r->object, content_names[c])) {
            if (found != UNKNOWN)
                return fail_at(r, "has both \"%s\" and \"%s\"; expected one of them",
                               content_names[found], content_names[c]);
            found = c;
        }
    if (found == UNKNOWN)
        return fail_at(r, "has neither \"text\" nor \"words\" nor \"values\"");
    if (r->schema.content != UNKNOWN && found != r->schema.content)
        return fail_at(r, "has \"%s\" where the lines before have \"%s\"", content_names[found],
                       content_names[r->schema.content]);
    r->schema.content = found;
    return SIS_OK;
}

static int add_text(reader *r, sis__example *x) {
    const json_t *v = json_object_get(r->object, "text");
    const char *text = json_string_value(v);
    if (!text)
        return fail_at(r, "field \"text\": expected text");
    x->text = sis__examples_text(r->e, text, json_string_length(v));
    return SIS_OK;
}

static int add_words(reader *r, sis__example *x) {
    const json_t *list = json_object_get(r->object, "words");
    sis__buf *pool = &r->e->text;
    if (!json_is_array(list))
        return fail_at(r, "field \"words\": expected a list of words");
    x->text = pool->len;
    x->words = r->e->n_ints;
    x->n_words = json_array_size(list);
    for (size_t i = 0; i < x->n_words; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_string(v) || json_string_length(v) == 0 || json_string_length(v) > INT_MAX)
            return fail_at(r, "field \"words\": word %zu is %s; expected text", i,
                           json_is_string(v) ? "empty" : "no text");
        sis__buf_str(pool, i ? " " : "");
        sis__buf_add(pool, json_string_value(v), json_string_length(v));
        int code = sis__examples_int(r->e, (int)json_string_length(v));
        if (code != SIS_OK)
            return code;
    }
    sis__buf_add(pool, "", 1);
    return SIS_OK;
}

static int add_values(reader *r, sis__example *x) {
    const json_t *list = json_object_get(r->object, "values");
    if (!json_is_array(list) || json_array_size(list) == 0)
        return fail_at(r, "field \"values\": expected a list of numbers, at least one");
    x->values = r->e->n_numbers;
    x->shape[0] = json_array_size(list);
    for (size_t i = 0; i < x->shape[0]; i++) {
        const json_t *v = json_array_get(list, i);
        const char *text = json_string_value(v);
        int absent = json_is_null(v) || (text && sis__cell_missing(text));
        if (absent ? r->schema.missing == SIS_MISSING_ERROR : !json_is_number(v))
            return fail_at(r, "field \"values\": value %zu is %s", i,
                           absent ? "missing" SIS__SAY_MISSING : "no number");
        int code = sis__examples_number(r->e, absent ? NAN : json_number_value(v));
        if (code != SIS_OK)
            return code;
    }
    return SIS_OK;
}

/* ---- Other fields -------------------------------------------------------------------------- */

/* Add a field that holds text, a number or a boolean to the text pool, as text, and set *at to its
 * offset; *at is unchanged if the field is absent. */
static int add_name(reader *r, const char *field, size_t *at) {
    const json_t *v = json_object_get(r->object, field);
    sis__buf number;
    if (!v || json_is_null(v))
        return SIS_OK;
    if (json_is_string(v)) {
        *at = sis__examples_text(r->e, json_string_value(v), json_string_length(v));
        return SIS_OK;
    }
    sis__buf_init(&number);
    if (json_is_integer(v))
        sis__buf_printf(&number, "%lld", (long long)json_integer_value(v));
    else if (json_is_real(v))
        sis__buf_double(&number, json_real_value(v));
    else if (json_is_boolean(v))
        sis__buf_str(&number, json_is_true(v) ? "1" : "0");
    else
        return fail_at(r, "field \"%.40s\": expected text or a number", field);
    if (number.data)
        *at = sis__examples_text(r->e, number.data, number.len);
    int code = sis__buf_error(&number);
    sis__buf_release(&number);
    return code;
}

static int add_id(reader *r, sis__example *x) {
    const char *field = r->schema.id ? r->schema.id : "id";
    int code = add_name(r, field, &x->id);
    if (code == SIS_OK && r->schema.id && x->id == SIS__NONE)
        return fail_at(r, "has no field \"%.40s\" (--id)", field);
    if (code == SIS_OK && x->id != SIS__NONE && sis__buf_error(&r->e->text) == SIS_OK &&
        sis__cell_blank(r->e->text.data + x->id))
        return fail_at(r, "field \"%.40s\": is empty; expected an id", field);
    return code;
}

/* The number of features of the current example. */
static int count_features(reader *r, const sis__example *x, size_t *n) {
    int code =
        r->schema.content == TEXT ? sis_words_split(r->e->text.data + x->text, &r->words) : SIS_OK;
    *n = r->schema.content == TEXT    ? r->words.n
         : r->schema.content == WORDS ? x->n_words
                                      : x->shape[0];
    return code;
}

/* The features that a person marked, by number. */
static int add_human(reader *r, sis__example *x) {
    const json_t *list = json_object_get(r->object, "human");
    size_t n;
    if (!list || json_is_null(list))
        return SIS_OK;
    if (!json_is_array(list))
        return fail_at(r, "field \"human\": expected a list of numbers");
    if (sis__buf_error(&r->e->text) != SIS_OK || count_features(r, x, &n) != SIS_OK)
        return SIS_E_NOMEM;
    if (n == 0 && json_array_size(list) > 0)
        return fail_at(r, "field \"human\": the text has no words");
    x->human = r->e->n_ints;
    x->n_human = json_array_size(list);
    for (size_t i = 0; i < x->n_human; i++) {
        const json_t *v = json_array_get(list, i);
        if (!json_is_integer(v) || json_integer_value(v) < 0 ||
            json_integer_value(v) >= (json_int_t)n)
            return fail_at(r, "field \"human\": entry %zu is not a number from 0 to %zu", i, n - 1);
        int code = sis__examples_int(r->e, (int)json_integer_value(v));
        if (code != SIS_OK)
            return code;
    }
    int *human = r->e->ints + x->human;
    if (x->n_human == 0)
        return SIS_OK;
    qsort(human, x->n_human, sizeof *human, sis__by_int);
    for (size_t i = 1; i < x->n_human; i++)
        if (human[i] == human[i - 1])
            return fail_at(r, "field \"human\": %d occurs twice", human[i]);
    return SIS_OK;
}

/* ---- Lines --------------------------------------------------------------------------------- */

static int add_example(reader *r) {
    int code = find_content(r);
    if (code == SIS_OK && !r->e) {
        r->e = sis__examples_new(r->name,
                                 r->schema.content == VALUES ? SIS_KIND_ARRAY : SIS_KIND_TEXT);
        code = r->e ? SIS_OK : SIS_E_NOMEM;
        if (r->e)
            r->e->marks.memory = r->memory;
    }
    sis__example *x = code == SIS_OK ? sis__examples_add(r->e, r->offset, r->line) : NULL;
    if (code == SIS_OK && !x)
        code = SIS_E_NOMEM;
    if (code == SIS_OK)
        code = r->schema.content == TEXT    ? add_text(r, x)
               : r->schema.content == WORDS ? add_words(r, x)
                                            : add_values(r, x);
    if (code == SIS_OK)
        code = add_id(r, x);
    if (code == SIS_OK)
        code = add_name(r, r->schema.label ? r->schema.label : "label", &x->label);
    if (code == SIS_OK && r->schema.label && x->label == SIS__NONE)
        code = fail_at(r, "has no field \"%.40s\" (--label)", r->schema.label);
    if (code == SIS_OK)
        code = add_human(r, x);
    return code == SIS_OK ? sis__buf_error(&r->e->text) : code;
}

static int parse_line(reader *r, const sis__buf *line) {
    json_error_t error;
    char text[SIS__EXCERPT_SIZE];
    if (memchr(line->data, '\0', line->len))
        return fail_at(r, "a NUL byte; expected JSON");
    json_t *root = sis__json_load(line->data, line->len, JSON_REJECT_DUPLICATES, &error);
    if (!root && json_error_code(&error) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    if (!root && json_error_code(&error) == json_error_null_character)
        return fail_at(r, "not a line of JSON: a text contains \\u0000 (byte %d)", error.position);
    if (!root)
        return fail_at(r, "not a line of JSON: %s (byte %d)", sis__cell_excerpt(error.text, text),
                       error.position);
    r->object = root;
    int code = json_is_object(root) ? add_example(r)
                                    : fail_at(r, "expected a JSON object, found %s",
                                              json_is_array(root) ? "a list" : "none");
    json_decref(root);
    return code;
}

static int read_lines(reader *r, sis__source *s) {
    sis__buf line;
    int code = SIS_OK, found;
    sis__buf_init(&line);
    for (; code == SIS_OK && (found = sis__source_line(s, LINE_BYTES_MAX, &line)) != 0;
         r->offset = s->offset) {
        r->line++;
        if (found < 0)
            code =
                found == s->error ? found : sis__fail_in(found, "%s, line %zu", r->name, r->line);
        else if (strspn(line.data, " \t\r\n") != line.len)
            code = parse_line(r, &line);
    }
    sis__buf_release(&line);
    if (code == SIS_OK && !r->e)
        code =
            sis__fail(SIS_E_FORMAT, "%s: is empty; expected a JSON object on every line", r->name);
    return code;
}

static int read_section(const void *schema, const sis__section *section, sis_data **out);

/* Finish the data set. If `schema` is not NULL, the data set takes it over and may keep only the
 * positions of blocks, which are read again by read_section(). */
static int finish_data(reader *r, int code, sis__source *s, line_schema *schema, sis_data **out) {
    static const sis__blocks_reader blocks = {read_section, NULL};
    if (r->e && schema)
        code = sis__examples_finish_blocks(r->e, code, s, &blocks, schema, out);
    else if (r->e)
        code = sis__examples_finish(r->e, code, out);
    else
        free(schema);
    sis_words_release(&r->words);
    return code;
}

static int read_section(const void *schema, const sis__section *section, sis_data **out) {
    sis__source s;
    int code = sis__source_section(&s, section->from, section->at->offset, section->end);
    reader r = {
        .name = s.name, .schema = *(const line_schema *)schema, .line = section->at->line - 1};
    if (code == SIS_OK)
        code = read_lines(&r, &s);
    code = finish_data(&r, code, &s, NULL, out);
    sis__source_close(&s);
    return code;
}

/* A schema from the options, in one allocation with the names of its fields. */
static line_schema *schema_new(const sis_data_opt *opt) {
    size_t label = opt->label ? strlen(opt->label) + 1 : 0, id = opt->id ? strlen(opt->id) + 1 : 0;
    line_schema *f = (line_schema *)sis__alloc(1, sizeof *f + label + id);
    if (!f)
        return NULL;
    char *names = (char *)(f + 1);
    *f = (line_schema){label ? names : NULL, id ? names + label : NULL, opt->missing, UNKNOWN};
    memcpy(names, label ? opt->label : "", label);
    memcpy(names + label, id ? opt->id : "", id);
    return f;
}

int sis__data_take_jsonl(sis__source *s, const sis_data_opt *opt, sis_data **out) {
    line_schema *schema = schema_new(opt);
    if (!schema)
        return SIS_E_NOMEM;
    sis__source_skip_mark(s);
    reader r = {.name = s->name, .offset = s->offset, .schema = *schema, .memory = opt->memory};
    int code = read_lines(&r, s);
    schema->content = r.schema.content;
    return finish_data(&r, code, s, schema, out);
}

int sis__data_read_jsonl(const char *path, const sis_data_opt *opt, sis_data **out) {
    sis__source s;
    int code = sis__source_open(&s, path);
    if (code == SIS_OK && opt->memory)
        code = sis__source_keep(&s, opt->memory);
    if (code == SIS_OK)
        code = sis__data_take_jsonl(&s, opt, out);
    sis__source_close(&s);
    return code;
}
