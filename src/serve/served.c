/* SPDX-License-Identifier: MIT
 *
 * The models of a server: each is opened once, with its default question. Another mask or method
 * needs another task, which is kept for later requests with the same options. Few are kept; the
 * least recently used one is replaced.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/net.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "serve/serve.h"

/* ---- Opening and closing --------------------------------------------------------------------- */

/* Commands and servers process one task at a time. */
static int is_one_by_one(const char *model) {
    return strncmp(model, "cmd:", 4) == 0 || strncmp(model, "http:", 5) == 0 ||
           strncmp(model, "https:", 6) == 0;
}

int sis__served_open(const sis_served *from, sis__served **out) {
    sis__served *s = SIS_NEW(sis__served, 1);
    sis_task_opt opt = from->task;
    *out = NULL;
    if (!s)
        return SIS_E_NOMEM;
    s->from = from;
    atomic_init(&s->holders, 1);
    pthread_mutex_init(&s->lock, NULL);
    opt.answer.search.jobs = 1;
    int error = sis_task_open(&opt, &s->task);
    if (!error)
        error = sis__schema_init(&s->schema, s->task);
    s->schema.explain = opt.model.open.explain;
    s->schema.unit =
        strcmp(opt.question.features, "each") == 0 ? "sentence" : opt.question.features;
    if (error) {
        sis__fail_in(error, "model %s", from->name);
        sis__served_drop(s);
        return error;
    }
    s->one_by_one = is_one_by_one(from->task.model.spec ? from->task.model.spec : "");
    *out = s;
    return SIS_OK;
}

void sis__served_drop(sis__served *s) {
    if (!s || atomic_fetch_sub(&s->holders, 1) > 1)
        return;
    while (s->n_others > 0)
        sis__served_task_drop(s, s->others[--s->n_others]);
    sis__schema_release(&s->schema);
    sis_task_free(s->task);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* ---- Other questions ------------------------------------------------------------------------- */

/* Masks without a file, which clients may request. */
static int is_harmless(const char *mask) {
    static const char *const names[] = {"zero",   "uniform",        "missing", "pad",
                                        "remove", "embedding-mean", "mean",    NULL};
    for (size_t k = 0; names[k]; k++)
        if (strcmp(mask, names[k]) == 0)
            return 1;
    return strncmp(mask, "value:", 6) == 0 || strncmp(mask, "token:", 6) == 0 ||
           strncmp(mask, "blur:", 5) == 0;
}

static int check_ask(const sis__served *s, const sis__ask *ask) {
    if (ask->mask && !is_harmless(ask->mask))
        return sis__fail(SIS_E_OPTION,
                         "mask: expected zero, mean, value:V, uniform, missing, pad, "
                         "remove, embedding-mean, token:WORD or blur:S, found "
                         "\"%.60s\"",
                         ask->mask);
    if (ask->mask && strcmp(ask->mask, "mean") == 0 && !sis_task_data(s->task))
        return sis__fail(SIS_E_OPTION, "mask: mean needs a server that was started with --input");
    return SIS_OK;
}

/* A task with another mask or method, over the same model. */
static int open_other(const sis__served *s, const sis__ask *ask, sis_task **out) {
    sis_task_opt opt = s->from->task;
    opt.model.opened = sis_task_model(s->task);
    opt.examples.input = NULL;
    opt.examples.data = sis_task_data(s->task);
    opt.question.background = opt.examples.data;
    opt.answer.search.jobs = 1;
    if (ask->mask)
        opt.question.mask = ask->mask;
    if (ask->method)
        opt.answer.method = ask->method;
    if (ask->method && strcmp(ask->method, "contrast") == 0 && !ask->mask)
        opt.question.mask = NULL; /* mask not used */
    sis__ask_contrast(ask, &opt);
    return sis_task_open(&opt, out);
}

void sis__ask_contrast(const sis__ask *ask, sis_task_opt *opt) {
    if (ask->units)
        opt->question.units = ask->units;
    if (ask->fixed)
        opt->question.fixed = ask->fixed;
    if (ask->cheapest)
        opt->question.cheapest = 1;
}

static void let_go(sis__served_task *t) {
    if (--t->holders > 0)
        return;
    sis_task_free(t->task);
    free(t->key);
    free(t);
}

void sis__served_task_drop(sis__served *s, sis__served_task *task) {
    pthread_mutex_lock(&s->lock);
    if (task)
        let_go(task);
    pthread_mutex_unlock(&s->lock);
}

static int make_other(const sis__served *s, const char *key, const sis__ask *ask,
                      sis__served_task **out) {
    sis__served_task *t = *out = SIS_NEW(sis__served_task, 1);
    if (!t)
        return SIS_E_NOMEM;
    t->holders = 1; /* by the list */
    t->key = sis__strdup(key);
    int error = t->key ? open_other(s, ask, &t->task) : SIS_E_NOMEM;
    if (error)
        let_go(t);
    return error;
}

/* Find or create the task and move it to the front of the list. */
static int find_other(sis__served *s, const char *key, const sis__ask *ask,
                      sis__served_task **out) {
    size_t k = 0;
    while (k < s->n_others && strcmp(s->others[k]->key, key) != 0)
        k++;
    int error = SIS_OK;
    if (k < s->n_others)
        *out = s->others[k];
    else
        error = make_other(s, key, ask, out);
    if (error)
        return error;
    if (k == SIS__SERVED_TASKS)
        let_go(s->others[--k]);
    else if (k == s->n_others)
        s->n_others++;
    memmove(s->others + 1, s->others, k * sizeof *s->others);
    s->others[0] = *out;
    (*out)->holders++;
    return SIS_OK;
}

int sis__served_task_for(sis__served *s, const sis__ask *ask, sis__served_task **out) {
    char key[1024];
    *out = NULL;
    if (!ask->mask && !ask->method && !ask->units && !ask->fixed && !ask->cheapest)
        return SIS_OK;
    int n = snprintf(key, sizeof key, "%s\n%s\n%s\n%s\n%d", ask->mask ? ask->mask : "",
                     ask->method ? ask->method : "", ask->units ? ask->units : "",
                     ask->fixed ? ask->fixed : "", ask->cheapest);
    if (n < 0 || (size_t)n >= sizeof key)
        return sis__fail(SIS_E_OPTION, "mask, method, units, fixed: too long");
    int error = check_ask(s, ask);
    if (error)
        return error;
    pthread_mutex_lock(&s->lock);
    error = find_other(s, key, ask, out);
    pthread_mutex_unlock(&s->lock);
    if (error)
        *out = NULL;
    return error;
}

/* ---- Hiding files from clients --------------------------------------------------------------- */

/* The file in an option, or NULL. */
static const char *file_in(const char *option) {
    const char *colon = option ? strchr(option, ':') : NULL;
    if (!option || is_harmless(option) || strncmp(option, "ball:", 5) == 0)
        return NULL;
    return colon ? colon + 1 : strpbrk(option, "./") ? option : NULL;
}

const char *sis__served_option(const char *option, char *room) {
    const char *file = file_in(option);
    if (!file)
        return option;
    snprintf(room, 32, "%.*s", file > option ? (int)(file - option - 1) : 4,
             file > option ? option : "file");
    return room;
}

/* Length of the match of `hidden` at `at`; 0: no match. Messages may cut it after 100 bytes, or an
 * address after its host. */
static size_t match(const char *text, const char *at, const char *hidden) {
    size_t n = 0, whole = strcspn(hidden, "#"), min = whole < 100 ? whole : 100;
    if (strncmp(hidden, "http", 4) == 0 && strstr(hidden, "://"))
        min = (size_t)(strstr(hidden, "://") + 3 - hidden);
    if (at > text && !strchr(" \"'(=", at[-1]))
        return 0;
    while (at[n] && at[n] == hidden[n])
        n++;
    return n >= min ? n : 0;
}

/* Length of the absolute path at `at`; 0: none. */
static size_t match_path(const char *text, const char *at) {
    int begins = at == text || strchr(" \"'(=:", at[-1]);
    return begins && at[0] == '/' && at[1] > ' ' ? strcspn(at, " \"'(),:;") : 0;
}

void sis__served_hide(const sis_served *from, const char *text, sis__buf *out) {
    const char *model = from->task.model.spec ? from->task.model.spec : "",
               *mask = file_in(from->task.question.mask);
    int scheme = strncmp(model, "cmd:", 4) == 0 || strncmp(model, "ort:", 4) == 0;
    for (const char *at = text; *at;) {
        size_t n = match(text, at, model);
        if (!n && scheme)
            n = match(text, at, model + 4);
        size_t file = !n && mask ? match(text, at, mask) : 0;
        if (!n && !file)
            file = match_path(text, at);
        if (n || file)
            sis__buf_str(out, n ? from->name : "FILE");
        else
            sis__buf_char(out, *at);
        at += n ? n : file ? file : 1;
    }
}

void sis__served_cut(sis__buf *text) {
    const char *request = text->data ? strstr(text->data, ", request ") : NULL;
    const char *rest = request ? strstr(request, ": ") : NULL;
    if (!rest || strncmp(rest + 2, "row ", 4) == 0 || strstr(rest, ": the model says: ") ||
        strstr(rest, ": the server says: "))
        return;
    text->len = (size_t)(rest + 2 - text->data);
    sis__buf_str(text, "it failed; sis serve --log shows why");
}

/* ---- Descriptions ---------------------------------------------------------------------------- */

static void write_shape(const sis__schema *s, sis__buf *b) {
    sis__json_list(b, "shape");
    sis__buf_str(b, "-1");
    for (size_t k = 0; k < s->rank; k++)
        sis__buf_printf(b, ",%zu", s->dims[k]);
    sis__buf_char(b, ']');
}

/* Inputs and outputs in the format of the Open Inference Protocol. */
static void describe_v2(const sis__served *s, sis__buf *b) {
    const char *kind = s->schema.kind;
    int texts = strcmp(kind, "text") == 0 || strcmp(kind, "dna") == 0;
    size_t outputs = sis_task_model(s->task)->n_outputs;
    sis__buf_str(b, ",\"versions\":[\"1\"],\"platform\":\"sis\",\"inputs\":[{\"name\":\"input\"");
    sis__json_text(b, "datatype", texts ? "BYTES" : "FP64");
    if (texts)
        sis__buf_str(b, ",\"shape\":[-1]");
    else
        write_shape(&s->schema, b);
    sis__buf_str(b, "}],\"outputs\":[{\"name\":\"scores\",\"datatype\":\"FP64\",\"shape\":[-1,");
    sis__buf_printf(b, outputs ? "%zu]" : "-1]", outputs);
    if (s->schema.labels) {
        sis__json_object(b, "parameters");
        sis__json_texts(b, "labels", s->schema.labels, s->schema.n_labels);
        sis__buf_char(b, '}');
    }
    sis__buf_str(b, "}]");
}

static void describe_question(const sis__served *s, sis__buf *b) {
    const sis_task_opt *o = &s->from->task;
    const sis_data *data = sis_task_data(s->task);
    char room[32];
    sis__json_object(b, "sis");
    sis__schema_write(&s->schema, b);
    sis__json_count(b, "n_outputs", sis_task_model(s->task)->n_outputs);
    sis__json_number(b, "threshold", sis_task_threshold(s->task));
    sis__json_flag(b, "below", o->answer.search.below);
    if (o->question.target_index)
        sis__json_text(b, "target_index", o->question.target_index);
    else
        sis__json_text(b, "target", o->question.target ? o->question.target : "top");
    sis__json_text(b, "mask",
                   sis__served_option(o->question.mask ? o->question.mask : "own", room));
    sis__json_count(b, "examples", data ? sis_task_count(s->task) : 0);
    sis__buf_char(b, '}');
}

void sis__served_describe(const sis__served *s, int v2, sis__buf *b) {
    sis__buf_char(b, '{');
    sis__json_text(b, "name", s->from->name);
    if (v2) {
        describe_v2(s, b);
    } else {
        sis__json_flag(b, "ready", 1);
        describe_question(s, b);
    }
    sis__buf_char(b, '}');
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* Numbers as lists nested by shape. */
static const double *write_nested(const double *v, size_t rank, const size_t *dims, sis__buf *b) {
    if (rank == 0) {
        sis__buf_double(b, *v);
        return v + 1;
    }
    sis__buf_char(b, '[');
    for (size_t k = 0; k < dims[0]; k++) {
        sis__json_comma(b, k);
        v = write_nested(v, rank - 1, dims + 1, b);
    }
    sis__buf_char(b, ']');
    return v;
}

/* The category of a row in a column; NULL: it is missing. */
static const char *category_in(const sis__schema_column *c, const double *values) {
    double x = values[c->first];
    size_t which = 0;
    if (c->position)
        return x >= 0 && x < (double)c->n_categories ? c->categories[(size_t)x] : NULL;
    while (which + 1 < c->n_categories && values[c->first + which] != 1)
        which++;
    return c->categories[which];
}

static void write_row(const sis__schema *s, const double *values, sis__buf *b) {
    sis__buf_char(b, '{');
    for (size_t k = 0; k < s->n_columns; k++) {
        const sis__schema_column *c = &s->columns[k];
        const char *category = c->n_categories ? category_in(c, values) : NULL;
        if (category)
            sis__json_text(b, c->name, category);
        else
            sis__json_number(b, c->name, c->n_categories ? (double)NAN : values[c->first]);
    }
    sis__buf_char(b, '}');
}

/* An example in the form of a request. */
static int write_instance(const sis__served *s, const sis_data *data, size_t i, sis__buf *b) {
    size_t row = sis_task_row(s->task, i);
    size_t rank;
    if (s->schema.fields) {
        sis__buf_str(b, sis_task_object(s->task, i));
        return SIS_OK;
    }
    const char *text = sis_data_text(data, row);
    if (!text)
        text = sis_data_sequence(data, row);
    if (text) {
        sis__buf_json(b, text);
        return SIS_OK;
    }
    double *values = SIS_NEW(double, sis_data_width(data, row));
    const size_t *dims = sis_data_shape(data, row, &rank);
    int error = values ? sis_data_values(data, row, values) : SIS_E_NOMEM;
    if (!error && s->schema.columns)
        write_row(&s->schema, values, b);
    else if (!error)
        write_nested(values, rank, dims, b);
    free(values);
    return error;
}

int sis__served_examples(const sis__served *s, size_t from, size_t count, sis__buf *b) {
    const sis_data *data = sis_task_data(s->task);
    size_t n = data ? sis_task_count(s->task) : 0;
    int error = SIS_OK;
    from = from < n ? from : n;
    count = count < n - from ? count : n - from;
    sis__buf_char(b, '{');
    sis__json_count(b, "count", n);
    sis__json_list(b, "examples");
    for (size_t i = from; !error && i < from + count; i++) {
        char number[SIS_ID_SIZE];
        size_t row = sis_task_row(s->task, i);
        sis__json_comma(b, i - from);
        sis__buf_char(b, '{');
        sis__json_text(b, "id", sis_task_id(s->task, i, number));
        sis__json_text(b, "label", sis_data_label(data, row));
        sis__json_name(b, "instance");
        error = write_instance(s, data, i, b);
        sis__buf_char(b, '}');
    }
    sis__buf_str(b, "]}");
    return error;
}
