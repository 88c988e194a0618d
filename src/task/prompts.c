/* SPDX-License-Identifier: MIT
 *
 * Prompts of language models: a template with {field} for the fields of an example. One field is
 * divided into features.
 *
 *     --prompt FILE      "Context: {context}\nQuestion: {question}\nAnswer:"
 *     --explain FIELD    context
 *     --input FILE       {"context":"Mara lives in Oslo. Tom has a dog.","question":"Where ...?"}
 *
 * The field is a text, divided into sentences, paragraphs, lines or words, or a list whose entries
 * are the features: texts, or objects with "text" and "title". The rest of the prompt is never left
 * out. The answer is the field "answer", else --answer, else the model's own answer. The field
 * "human" may list the numbers of the parts that a person marked.
 */
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "task/task.h"

/* ---- The template ---------------------------------------------------------------------------- */

/* The length of "{name}" at the start of text; 0: another text. */
static size_t field_length(const char *text) {
    size_t n = 1;
    while (*text == '{' &&
           (sis__is_alpha(text[n]) || (text[n] >= '0' && text[n] <= '9') || text[n] == '_'))
        n++;
    return *text == '{' && n > 1 && text[n] == '}' ? n + 1 : 0;
}

static int is_field(const char *text, size_t n, const char *name) {
    return n == strlen(name) + 2 && strncmp(text + 1, name, n - 2) == 0;
}

/* A value as it is written into a prompt. */
static void add_value(sis__buf *b, const json_t *value, const char *between) {
    const json_t *entry, *title = json_object_get(value, "title");
    size_t i;
    if (json_is_string(value)) {
        sis__buf_str(b, json_string_value(value));
    } else if (json_is_array(value)) {
        json_array_foreach(value, i, entry) {
            sis__buf_str(b, i ? between : "");
            add_value(b, entry, between);
        }
    } else if (json_is_object(value) && json_is_string(json_object_get(value, "text"))) {
        if (json_is_string(title))
            sis__buf_printf(b, "%s\n", json_string_value(title));
        sis__buf_str(b, json_string_value(json_object_get(value, "text")));
    } else if (!json_is_null(value)) {
        char *text = sis__json_dump(value, JSON_COMPACT | JSON_ENCODE_ANY);
        sis__buf_str(b, text ? text : "");
        free(text);
    }
}

/* A part of the template with the fields of an example. */
static int fill_in(const char *from, const char *to, const json_t *example, char **out) {
    sis__buf b;
    size_t n;
    sis__buf_init(&b);
    while (from < to) {
        size_t field = field_length(from);
        if (!field) {
            sis__buf_char(&b, *from++);
            continue;
        }
        char *name = sis__strndup(from + 1, field - 2);
        const json_t *value = name ? json_object_get(example, name) : NULL;
        int error = !name ? SIS_E_NOMEM
                    : value
                        ? SIS_OK
                        : sis__fail(SIS_E_FORMAT, "--prompt: the example has no field {%s}", name);
        free(name);
        if (error != SIS_OK) {
            sis__buf_release(&b);
            return error;
        }
        add_value(&b, value, "\n");
        from += field;
    }
    sis__buf_char(&b, '\0');
    return sis__buf_give(&b, out, &n);
}

/* Find the explained field in the template. */
static int find_field(const char *template, const char *field, const char **from, const char **to) {
    *from = NULL;
    for (const char *at = template; *at;) {
        size_t n = field_length(at);
        if (n && is_field(at, n, field)) {
            if (*from)
                return sis__fail(SIS_E_OPTION, "--prompt: {%s} occurs twice; expected it once",
                                 field);
            *from = at;
            *to = at + n;
        }
        at += n ? n : 1;
    }
    return *from
               ? SIS_OK
               : sis__fail(SIS_E_OPTION, "--prompt: expected {%s}, the field of --explain", field);
}

/* ---- Parts ----------------------------------------------------------------------------------- */

typedef enum { SENTENCE, PARAGRAPH, LINE, WORD } unit;

static const char *const units[] = {"sentence", "paragraph", "line", "word"};

static size_t unit_end(const char *text, size_t from, unit u) {
    const char *blank;
    if (u == SENTENCE)
        return sis_sentence_end(text, from);
    if (u == LINE)
        return from + strcspn(text + from, "\n") + (strchr(text + from, '\n') != NULL);
    if (u == WORD) {
        while (sis__is_space(text[from]))
            from++;
        while (text[from] && !sis__is_space(text[from]))
            from++;
        return from;
    }
    blank = strstr(text + from, "\n\n");
    return blank ? (size_t)(blank - text) + 2 : from + strlen(text + from);
}

/* A part without white space at its ends, if anything is left of it. */
static int add_part(sis__task_prompt *p, size_t from, size_t to) {
    while (from < to && sis__is_space(p->text[from]))
        from++;
    while (to > from && sis__is_space(p->text[to - 1]))
        to--;
    if (from == to)
        return SIS_OK;
    int error = sis__reserve(&p->parts, &p->room, p->n + 1, sizeof *p->parts);
    if (error == SIS_OK)
        p->parts[p->n++] = (sis_piece){p->text + from, to - from};
    return error;
}

static int cut_text(sis__task_prompt *p, const json_t *value, unit u) {
    int error = (p->text = sis__strdup(json_string_value(value))) ? SIS_OK : SIS_E_NOMEM;
    for (size_t from = 0, to; error == SIS_OK && p->text[from]; from = to) {
        to = unit_end(p->text, from, u);
        error = add_part(p, from, to);
    }
    return error;
}

/* The entries of a list, separated by empty lines. */
static int cut_list(sis__task_prompt *p, const json_t *list) {
    sis__buf b;
    const json_t *entry;
    size_t i, n, *ends = SIS_NEW(size_t, json_array_size(list) + 1);
    if (!ends)
        return SIS_E_NOMEM;
    sis__buf_init(&b);
    json_array_foreach(list, i, entry) {
        sis__buf_str(&b, i ? "\n\n" : "");
        add_value(&b, entry, "\n");
        ends[i] = b.len;
    }
    sis__buf_char(&b, '\0');
    int error = sis__buf_give(&b, &p->text, &n);
    for (i = 0; error == SIS_OK && i < json_array_size(list); i++)
        error = add_part(p, i ? ends[i - 1] : 0, ends[i]);
    free(ends);
    return error;
}

/* Numbers of parts that a person marked, each once, ascending. */
static int take_human(const json_t *list, sis__task_prompt *p) {
    const json_t *entry;
    size_t i;
    if (!list)
        return SIS_OK;
    if (!json_is_array(list) || !(p->human = SIS_NEW(int, json_array_size(list) + 1)))
        return json_is_array(list) ? SIS_E_NOMEM
                                   : sis__fail(SIS_E_FORMAT, "field \"human\": expected a list");
    json_array_foreach(list, i, entry) {
        json_int_t part = json_is_integer(entry) ? json_integer_value(entry) : -1;
        if (part < 0 || (size_t)part >= p->n || (i > 0 && part <= p->human[i - 1]))
            return sis__fail(SIS_E_FORMAT,
                             "field \"human\": expected ascending numbers, each at least 0 and "
                             "below %zu, the number of parts",
                             p->n);
        p->human[p->n_human++] = (int)part;
    }
    return SIS_OK;
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* Settings for all examples. */
typedef struct {
    const char *field, *answer, *id;
    char *template;
    const char *from, *to; /* start and end of the field in the template */
    unit unit;
} reader;

static int take_text(const json_t *value, char **out) {
    sis__buf b;
    size_t n;
    sis__buf_init(&b);
    add_value(&b, value, ", ");
    sis__buf_char(&b, '\0');
    return sis__buf_give(&b, out, &n);
}

/* The answer of an example, or --answer; NULL: the model's own. */
static int take_answer(const reader *r, const json_t *value, char **out) {
    int error = SIS_OK;
    if (json_is_string(value) || json_is_number(value))
        error = take_text(value, out);
    else if (value && !json_is_null(value))
        return sis__fail(SIS_E_FORMAT, "field \"answer\": expected a text");
    else if (r->answer && !(*out = sis__strdup(r->answer)))
        error = SIS_E_NOMEM;
    if (error == SIS_OK && *out && !(*out)[strspn(*out, " \t\r\n")])
        return sis__fail(SIS_E_FORMAT, "the answer is empty; for the model's own answer give none");
    return error;
}

static int take_example(const reader *r, const json_t *example, sis__task_prompt *p) {
    const json_t *value = json_object_get(example, r->field),
                 *answer = json_object_get(example, "answer");
    const json_t *id = json_object_get(example, r->id ? r->id : "id");
    if (!json_is_string(value) && !json_is_array(value))
        return sis__fail(SIS_E_FORMAT, "expected the field \"%s\" of --explain, a text or a list",
                         r->field);
    p->list = json_is_array(value);
    int error = p->list ? cut_list(p, value) : cut_text(p, value, r->unit);
    if (error == SIS_OK)
        error = take_human(json_object_get(example, "human"), p);
    if (error == SIS_OK)
        error = fill_in(r->template, r->from, example, &p->before);
    if (error == SIS_OK)
        error = fill_in(r->to, r->to + strlen(r->to), example, &p->after);
    if (error == SIS_OK)
        error = take_answer(r, answer, &p->answer);
    if (error == SIS_OK && id)
        error = take_text(id, &p->id);
    return error;
}

static int read_lines(const reader *r, const char *path, const char *bytes,
                      sis__task_prompts *out) {
    int error = SIS_OK;
    size_t line = 0;
    for (const char *at = bytes, *next; error == SIS_OK && *at; at = next) {
        size_t n = strcspn(at, "\n");
        next = at + n + (at[n] == '\n');
        line++;
        while (n > 0 && sis__is_space(at[n - 1]))
            n--;
        if (n == 0)
            continue;
        json_error_t why;
        json_t *example = sis__json_load(at, n, 0, &why);
        error =
            json_is_object(example) ? SIS_OK : sis__fail(SIS_E_FORMAT, "expected a JSON object");
        if (error == SIS_OK)
            error = sis__reserve(&out->items, &out->room, out->n + 1, sizeof *out->items);
        if (error == SIS_OK) {
            sis__task_prompt *p = &out->items[out->n++];
            *p = (sis__task_prompt){.line = sis__strndup(at, n)};
            error = p->line ? take_example(r, example, p) : SIS_E_NOMEM;
        }
        json_decref(example);
        if (error != SIS_OK)
            sis__fail_in(error, "%s: line %zu", path, line);
    }
    return error == SIS_OK && out->n == 0
               ? sis__fail(SIS_E_FORMAT, "%s: contains no examples", path)
               : error;
}

/* The explained fields as a data set of texts. */
static int make_data(const sis__task_prompts *p, const char *path, sis_data **out) {
    const char **texts = SIS_NEW(const char *, 2 * p->n);
    int named = texts != NULL;
    for (size_t i = 0; texts && i < p->n; i++) {
        texts[i] = p->items[i].text;
        texts[p->n + i] = p->items[i].id;
        named = named && p->items[i].id;
    }
    sis_data_with with = {.name = path, .ids = named ? texts + p->n : NULL};
    int error = texts ? sis_data_from_texts(texts, p->n, &with, out) : SIS_E_NOMEM;
    free(texts);
    return error;
}

/* The value of --features: a unit, or the name of the field if it is a list. */
static int find_unit(const sis_task *t, reader *r) {
    const char *features = t->opt.question.features;
    if (strcmp(features, "each") == 0 || strcmp(features, r->field) == 0)
        return SIS_OK;
    for (r->unit = SENTENCE; r->unit <= WORD; r->unit++)
        if (strcmp(features, units[r->unit]) == 0)
            return SIS_OK;
    return sis__fail(
        SIS_E_OPTION,
        "--features: expected sentence, paragraph, line or word for a prompt, found \"%s\"",
        features);
}

/* Refuse several samples and other masks: parts of a prompt are left out. */
static int check_options(const sis_task *t) {
    const char *mask = t->opt.question.mask;
    if (!t->opt.model.open.explain)
        return sis__fail(SIS_E_OPTION,
                         "--explain FIELD is missing: the field that is split into features");
    if (mask && strcmp(mask, "remove") != 0)
        return sis__fail(SIS_E_OPTION, "--mask: expected remove for a prompt, found \"%s\"", mask);
    return SIS_OK;
}

int sis__task_has_prompts(const sis_task_opt *o) {
    return o->examples.prompt != NULL || o->examples.prompt_text != NULL;
}

/* Read the template; the caller frees it. */
static int read_template(const sis_task_opt *o, char **out) {
    size_t n;
    if (o->examples.prompt_text)
        return (*out = sis__strdup(o->examples.prompt_text)) ? SIS_OK : SIS_E_NOMEM;
    int error = sis__file_read(o->examples.prompt, out, &n);
    if (error == SIS_OK && n > 0 && (*out)[n - 1] == '\n')
        (*out)[n - 1] = '\0'; /* the end of the file's last line */
    return error;
}

int sis__task_prompts_read(sis_task *t, sis_data **out) {
    sis__task_prompts *p = &t->encoding.prompts;
    reader r = {.field = t->opt.model.open.explain,
                .answer = t->opt.examples.answer,
                .id = t->opt.examples.read.id};
    const char *objects = t->opt.examples.objects, *path = objects ? "X" : t->opt.examples.input;
    char *bytes = NULL;
    size_t n;
    int error = check_options(t);
    if (error == SIS_OK)
        error = find_unit(t, &r);
    if (error == SIS_OK)
        error = read_template(&t->opt, &r.template);
    if (error == SIS_OK)
        error = find_field(r.template, r.field, &r.from, &r.to);
    if (error == SIS_OK && !objects)
        error = sis__file_read(path, &bytes, &n);
    if (error == SIS_OK)
        error = read_lines(&r, path, objects ? objects : bytes, p);
    if (error == SIS_OK)
        error = make_data(p, path, out);
    if (error == SIS_OK)
        p->unit = units[r.unit];
    free(bytes);
    free(r.template);
    return error;
}

int sis__task_prompts_begin(sis_task *t) {
    sis__task_prompts *p = &t->encoding.prompts;
    p->told = SIS_NEW(sis_prompt, p->n);
    if (!p->told)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < p->n; i++) {
        const sis__task_prompt *q = &p->items[i];
        p->told[i] = (sis_prompt){q->before, q->after, q->parts, q->n, q->answer, 0};
    }
    int error = sis__task_own_model(t);
    return error == SIS_OK ? sis_model_take_prompts(&t->model, p->told, p->n) : error;
}

double sis__task_prompt_threshold(const sis_task *t) {
    const char *labels;
    return sis__text_is(t->opt.model.open.score, "label", &labels) ? 0.5 : 0;
}

void sis__task_prompts_release(sis__task_prompts *p) {
    for (size_t i = 0; i < p->n; i++) {
        sis__task_prompt *q = &p->items[i];
        free(q->line);
        free(q->before);
        free(q->text);
        free(q->after);
        free(q->answer);
        free(q->id);
        free(q->parts);
        free(q->human);
    }
    free(p->items);
    free(p->told);
}

int sis__task_prompt_take_answer(const sis_task *t, size_t row, const sis_record *r) {
    const sis__task_prompts *all = &t->encoding.prompts;
    const char *said = r->prompted->answer ? r->prompted->answer : "";
    if (!all->items || row >= all->n)
        return sis__fail(SIS_E_ARGUMENT,
                         "record \"%s\" is of a prompt; give the --prompt it was made with", r->id);
    sis__task_prompt *p = &all->items[row];
    if (!p->answer && !(p->answer = sis__strdup(said)))
        return SIS_E_NOMEM;
    all->told[row].answer = p->answer;
    all->told[row].own = r->prompted->own;
    return strcmp(p->answer, said) == 0
               ? SIS_OK
               : sis__fail(
                     SIS_E_ARGUMENT,
                     "record \"%s\" is about the answer \"%.60s\", the one given is \"%.60s\"",
                     r->id, said, p->answer);
}

/* ---- Fields --------------------------------------------------------------------------------- */

static int add_field(const char *name, size_t length, char ***fields, size_t *n) {
    for (size_t i = 0; i < *n; i++)
        if (strlen((*fields)[i]) == length && strncmp((*fields)[i], name, length) == 0)
            return SIS_OK;
    char **more = sis__realloc(*fields, *n + 1, sizeof *more);
    if (!more)
        return SIS_E_NOMEM;
    *fields = more;
    if (!(more[*n] = sis__strndup(name, length)))
        return SIS_E_NOMEM;
    ++*n;
    return SIS_OK;
}

int sis_task_fields(const sis_task *t, char ***fields, size_t *n) {
    char *template = NULL;
    *fields = NULL;
    *n = 0;
    int error = sis__task_has_prompts(&t->opt) ? read_template(&t->opt, &template) : SIS_OK;
    for (const char *at = template; error == SIS_OK && at && *at;) {
        size_t length = field_length(at);
        if (length)
            error = add_field(at + 1, length - 2, fields, n);
        at += length ? length : 1;
    }
    free(template);
    return error;
}

const char *sis_task_object(const sis_task *t, size_t i) {
    return t->encoding.prompts.items && i < t->source.n
               ? t->encoding.prompts.items[sis__task_row(&t->source, i)].line
               : NULL;
}

/* ---- Cost ------------------------------------------------------------------------------------ */

/* A selection asks about every remaining part, then leaves one out: n + (n-1) + ... + 1 prompts.
 * Quick asks about n parts for its order and then bisects. The additional prompts, and the fraction
 * of the text in a prompt, are means over the questions of tests/llm/facts.py with one subset and 10
 * to 40 sentences: 25 to 28, 40 to 43, and 0.61 to 0.66. A token of English text has about 4 bytes. */
int sis_task_estimate(const sis_task *t, sis_task_cost *out) {
    enum { CHECKS = 27, QUICK_CHECKS = 41, TOKEN_BYTES = 4 };
    static const double SHARE = 0.63;
    const sis__task_prompts *p = &t->encoding.prompts;
    *out = (sis_task_cost){.examples = t->source.n};
    if (!p->items)
        return sis__fail(SIS_E_UNSUPPORTED, "--dry-run needs a language model (--prompt)");
    for (size_t i = 0; i < t->source.n; i++) {
        const sis__task_prompt *q = &p->items[sis__task_row(&t->source, i)];
        double n = (double)q->n;
        double bytes =
            (double)(strlen(q->before) + strlen(q->after)) + SHARE * (double)strlen(q->text);
        double all = n * (n + 1) / 2 + CHECKS, quick = n + QUICK_CHECKS;
        out->features += q->n;
        out->prompts += all;
        out->tokens += all * bytes / TOKEN_BYTES;
        out->quick_prompts += quick;
        out->quick_tokens += quick * bytes / TOKEN_BYTES;
    }
    return SIS_OK;
}

/* ---- One example ----------------------------------------------------------------------------- */

void sis__task_prompt_encode(const sis_task *t, size_t row, size_t width, double *values,
                             size_t *word_at) {
    for (size_t v = 0; v < width; v++) {
        values[v] = v ? 1 : (double)row;
        if (word_at)
            word_at[v] = v ? v - 1 : SIZE_MAX;
    }
    (void)t;
}

void sis__task_prompt_record(const sis_task *t, sis_example *e, sis_record *r) {
    const sis__task_prompt *p = &t->encoding.prompts.items[e->row];
    sis_prompt_account a;
    sis_model_account(&t->model, e->row, &a);
    e->own->prompted = (sis_prompted){.before = p->before,
                                      .after = p->after,
                                      .answer = a.answer,
                                      .own = a.own,
                                      .bounded = a.bounded,
                                      .noise = a.noise,
                                      .requests = a.requests,
                                      .prompt_tokens = a.prompt_tokens,
                                      .completion_tokens = a.completion_tokens};
    r->prompted = &e->own->prompted;
    r->drawing.human = p->human;
    r->drawing.n_human = p->n_human;
}
