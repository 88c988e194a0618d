/* SPDX-License-Identifier: MIT
 *
 * Requests that use a model: from instances to a task, and from its records or scores to an answer.
 */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/report.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/number.h"
#include "serve/serve.h"

static const char TOO_LATE[] = "not done within the time that this server gives a request";

/* State of a request. */
typedef struct {
    sis__serving *serving;
    sis__served *model;
    sis__request *request;
    json_t *body;
    sis__ask ask;
    sis_data *data;
    sis__served_task *other; /* `task` is derived from it; NULL: from the model's default task */
    sis_task *task;
    sis_report *report;
    size_t n, done;
} work;

/* ---- Options of a request -------------------------------------------------------------------- */

static int wrong(const char *name, const char *expected) {
    return sis__fail(SIS_E_OPTION, "parameters: %s: expected %s", name, expected);
}

/* The parameters of a request, and where sis__ask has them. The first three may be numbers. */
static const struct {
    const char *name;
    enum { TEXT_OR_NUMBER, TEXT, FLAG, COUNT } kind;
    size_t offset;
} PARAMETERS[] = {{"threshold", TEXT_OR_NUMBER, offsetof(sis__ask, threshold)},
                  {"target", TEXT_OR_NUMBER, offsetof(sis__ask, target)},
                  {"target_index", TEXT_OR_NUMBER, offsetof(sis__ask, target_index)},
                  {"below", FLAG, offsetof(sis__ask, below)},
                  {"mask", TEXT, offsetof(sis__ask, mask)},
                  {"method", TEXT, offsetof(sis__ask, method)},
                  {"units", TEXT, offsetof(sis__ask, units)},
                  {"fixed", TEXT, offsetof(sis__ask, fixed)},
                  {"cheapest", FLAG, offsetof(sis__ask, cheapest)},
                  {"max_subsets", COUNT, offsetof(sis__ask, max_subsets)},
                  {"trace", FLAG, offsetof(sis__ask, trace)}};
enum { N_PARAMETERS = sizeof PARAMETERS / sizeof *PARAMETERS };

static int read_parameter(size_t k, const json_t *v, sis__ask *ask) {
    const char *name = PARAMETERS[k].name;
    void *to = (char *)ask + PARAMETERS[k].offset;
    if (PARAMETERS[k].kind == FLAG) {
        *(int *)to = json_is_true(v);
        return json_is_boolean(v) ? SIS_OK : wrong(name, "true or false");
    }
    if (PARAMETERS[k].kind == COUNT) {
        *(long *)to = (long)json_integer_value(v);
        return json_integer_value(v) >= 1 ? SIS_OK : wrong(name, "a whole number from 1");
    }
    *(const char **)to = json_string_value(v);
    if (PARAMETERS[k].kind == TEXT_OR_NUMBER && json_is_number(v)) {
        sis__format(ask->numbers[k], sizeof *ask->numbers, "%.17g", json_number_value(v));
        *(const char **)to = ask->numbers[k];
    }
    return *(const char **)to ? SIS_OK : wrong(name, "a text");
}

/* Refuse percentiles: they need all examples, and a request has only its own. */
static int check_threshold(const char *text) {
    char *end;
    if (text)
        sis__number(text, &end);
    return text && (end == text || *end) ? wrong("threshold", "a number") : SIS_OK;
}

static int read_ask(const json_t *from, sis__ask *ask) {
    int error = SIS_OK;
    *ask = (sis__ask){.below = -1};
    for (size_t k = 0; !error && k < N_PARAMETERS; k++) {
        const json_t *v = json_object_get(from, PARAMETERS[k].name);
        error = v ? read_parameter(k, v, ask) : SIS_OK;
    }
    return error ? error : check_threshold(ask->threshold);
}

static int is_known(const char *name) {
    size_t k = 0;
    while (k < N_PARAMETERS && strcmp(PARAMETERS[k].name, name) != 0)
        k++;
    return k < N_PARAMETERS;
}

/* Refuse unknown fields: a misspelled or misplaced option would otherwise be ignored. Clients of
 * the Open Inference Protocol may add their own. */
static int check_names(const json_t *body, enum sis__form form) {
    const json_t *asked = json_object_get(body, "parameters");
    for (size_t k = 0; k < N_PARAMETERS; k++)
        if (json_object_get(body, PARAMETERS[k].name))
            return sis__fail(SIS_E_OPTION,
                             "put \"%s\" into \"parameters\": "
                             "{\"parameters\":{\"%s\":...}}",
                             PARAMETERS[k].name, PARAMETERS[k].name);
    if (asked && !json_is_object(asked))
        return sis__fail(SIS_E_FORMAT, "\"parameters\": expected an object");
    if (json_object_get(asked, "class"))
        return sis__fail(SIS_E_OPTION, "parameters: \"class\" was renamed to \"target\"");
    for (void *at = json_object_iter((json_t *)asked); at && form != SIS__FORM_V2;
         at = json_object_iter_next((json_t *)asked, at))
        if (!is_known(json_object_iter_key(at)))
            return sis__fail(
                SIS_E_OPTION,
                "parameters: unknown \"%.40s\"; expected threshold, below, "
                "target, target_index, mask, method, units, fixed, cheapest, max_subsets or trace",
                json_object_iter_key(at));
    return SIS_OK;
}

/* ---- Starting and ending a task -------------------------------------------------------------- */

static int read_instances(work *w) {
    const sis_server_opt *o = w->serving->opt;
    sis__limits limits = {o->instances, o->values};
    const json_t *list = json_object_get(w->body, "instances");
    const json_t *inputs = json_object_get(w->body, "inputs");
    if (w->request->form != SIS__FORM_V2)
        return list ? sis__instances_read(list, &w->model->schema, &limits, &w->data)
                    : sis__fail(SIS_E_FORMAT, "expected {\"instances\":[...]}");
    if (json_array_size(inputs) != 1)
        return sis__fail(SIS_E_FORMAT, "\"inputs\": expected a list of one tensor");
    return sis__tensor_read(json_array_get(inputs, 0), &w->model->schema, &limits, &w->data);
}

static int parse_body(work *w) {
    json_error_t why;
    w->body = sis__json_load(w->request->body, w->request->n_body, JSON_REJECT_DUPLICATES, &why);
    if (!w->body)
        return sis__fail(SIS_E_FORMAT, "the body is not JSON: line %d, column %d: %s", why.line,
                         why.column, why.text);
    if (!json_is_object(w->body))
        return sis__fail(SIS_E_FORMAT, "the body is not a JSON object");
    int error = check_names(w->body, w->request->form);
    return error ? error : read_ask(json_object_get(w->body, "parameters"), &w->ask);
}

/* Write the instances of a language model, which are objects, as lines of JSON. */
static int write_objects(const work *w, sis__buf *b) {
    const json_t *list = json_object_get(w->body, "instances"), *object;
    size_t i, max = w->serving->opt->instances;
    if (w->request->form == SIS__FORM_V2 || json_array_size(list) == 0)
        return sis__fail(SIS_E_FORMAT, "expected {\"instances\":[{\"%s\":...},...]}",
                         w->model->schema.explain);
    if (json_array_size(list) > max)
        return sis__fail(SIS_E_ARGUMENT, "%zu instances; this server takes at most %zu",
                         json_array_size(list), max);
    json_array_foreach(list, i, object) {
        char *line = json_is_object(object) ? sis__json_dump(object, JSON_COMPACT) : NULL;
        if (!line)
            return sis__fail(SIS_E_FORMAT,
                             "instance %zu: expected an object with the fields of "
                             "the prompt",
                             i);
        sis__buf_str(b, line);
        sis__buf_char(b, '\n');
        free(line);
    }
    sis__buf_char(b, '\0');
    return sis__buf_error(b);
}

/* Open a separate task for a language model, because the request holds its prompts. */
static int open_prompts(work *w) {
    sis_task_opt opt = w->model->from->task;
    sis__buf objects;
    sis__buf_init(&objects);
    int error = w->ask.mask ? sis__fail(SIS_E_OPTION, "mask: parts of a prompt are left out")
                            : write_objects(w, &objects);
    opt.examples.input = opt.examples.rows = NULL;
    opt.examples.objects = objects.data;
    opt.answer.search.jobs = 1;
    if (w->ask.method)
        opt.answer.method = w->ask.method;
    sis__ask_contrast(&w->ask, &opt);
    if (!error)
        error = sis_task_open(&opt, &w->task);
    sis__buf_release(&objects);
    return error;
}

static int open_instances(work *w) {
    int error = read_instances(w);
    if (!error)
        error = sis__served_task_for(w->model, &w->ask, &w->other);
    return error ? error
                 : sis_task_derive(w->other ? w->other->task : w->model->task, w->data, &w->task);
}

/* Create the task and register it, so that the watcher can cancel it. */
static int begin(work *w) {
    int error = parse_body(w);
    if (!error)
        error = w->model->schema.fields ? open_prompts(w) : open_instances(w);
    if (!error && w->ask.max_subsets > 0)
        error = sis_task_limit(w->task, (size_t)w->ask.max_subsets);
    int below = w->ask.below >= 0 ? w->ask.below : w->model->from->task.answer.search.below;
    if (!error && (w->ask.threshold || w->ask.target || w->ask.target_index || w->ask.below >= 0))
        error =
            sis_task_decide(w->task, w->ask.threshold, below, w->ask.target, w->ask.target_index);
    if (error)
        return error;
    w->n = sis_task_count(w->task);
    pthread_mutex_lock(w->request->lock);
    w->request->task = w->task;
    int over = w->request->cut || w->request->gone;
    pthread_mutex_unlock(w->request->lock);
    return over ? SIS_E_CANCELLED : SIS_OK;
}

static void end(work *w) {
    pthread_mutex_lock(w->request->lock);
    w->request->task = NULL;
    pthread_mutex_unlock(w->request->lock);
    sis_report_free(w->report);
    sis_task_free(w->task);
    sis__served_task_drop(w->model, w->other);
    sis_data_free(w->data);
    json_decref(w->body);
}

static unsigned status_of(int error) {
    switch (error) {
    case SIS_E_NOMEM:
        return 500;
    case SIS_E_MODEL:
        return 502;
    case SIS_E_IO:
        return 500;
    default:
        return 400;
    }
}

/* Fail with the thread's last message, which may contain the model's file name. */
static void fail_by_name(const work *w, unsigned status) {
    sis__buf text;
    sis__buf_init(&text);
    sis__served_hide(w->model->from, sis_error_detail(), &text);
    if (text.data)
        sis__buf_str(&w->request->why, text.data);
    sis__served_cut(&text);
    sis__request_fail(w->request, status,
                      sis__buf_error(&text) || !text.data ? "out of memory" : text.data);
    sis__buf_release(&text);
}

/* If the time limit was reached, answer with the results so far. */
static void conclude(work *w, int error) {
    sis__request *r = w->request;
    int cut = error == SIS_E_CANCELLED && r->cut;
    if (!error || cut)
        return;
    if (error == SIS_E_CANCELLED)
        sis__request_fail(r, 503,
                          r->gone ? "the client has disconnected" : "the server is stopping");
    else
        fail_by_name(w, status_of(error));
}

static void write_cut(const work *w) {
    if (w->request->cut)
        sis__json_flag(&w->request->answer, "cut", 1);
}

static void write_id(const work *w) {
    const char *id = json_string_value(json_object_get(w->body, "id"));
    sis__json_text(&w->request->answer, "model_name", w->model->from->name);
    sis__json_text(&w->request->answer, "id", id);
}

/* ---- Explanations ---------------------------------------------------------------------------- */

/* A record as a line that names the model but no files. */
static int format(const work *w, const sis_record *record, int trace, char **line, size_t *n) {
    char masking[32], domain[32];
    sis__buf why;
    sis_record r = *record;
    sis__buf_init(&why);
    if (r.collection.message)
        sis__served_hide(w->model->from, r.collection.message, &why);
    sis__served_cut(&why);
    r.collection.message = r.collection.message && why.data ? why.data : r.collection.message;
    r.model = w->model->from->name;
    r.drawing.masking = sis__served_option(r.drawing.masking, masking);
    r.question.domain = sis__served_option(r.question.domain, domain);
    int error = sis__buf_error(&why);
    if (!error)
        error = sis_record_format(&r, trace, line, n);
    sis__buf_release(&why);
    return error;
}

/* Explain all examples of the request; `add` takes each record. */
static int explain_all(work *w, int (*add)(work *w, const sis_record *record)) {
    sis_record record;
    int got;
    while ((got = sis_task_next(w->task, &record)) == 1)
        if ((got = add(w, &record)) != SIS_OK)
            return got;
    return got;
}

static int add_record(work *w, const sis_record *record) {
    sis__buf *b = &w->request->answer;
    char *line;
    size_t n;
    int error = format(w, record, w->ask.trace, &line, &n);
    if (error)
        return error;
    sis__json_comma(b, w->done++);
    n -= n > 0 && line[n - 1] == '\n';
    if (w->request->form == SIS__FORM_V2) {
        sis__buf_char(b, '"');
        sis__buf_escape(b, line, n);
        sis__buf_char(b, '"');
    } else {
        sis__buf_add(b, line, n);
    }
    free(line);
    atomic_fetch_add(&w->serving->metrics.counts[SIS__COUNT_EXPLAINED], 1);
    atomic_fetch_add(&w->serving->metrics.counts[SIS__COUNT_EVALUATIONS],
                     record->collection.evaluations);
    return sis__buf_error(b);
}

static void write_explanations(work *w, int *error) {
    sis__buf *b = &w->request->answer;
    sis__buf_char(b, '{');
    if (w->request->form == SIS__FORM_V2) {
        write_id(w);
        sis__buf_str(b, ",\"outputs\":[{\"name\":\"explanations\",\"datatype\":\"BYTES\","
                        "\"parameters\":{\"content_type\":\"application/json\"},\"data\":[");
    } else {
        sis__json_list(b, "explanations");
    }
    if (!*error)
        *error = explain_all(w, add_record);
    sis__buf_char(b, ']');
    if (w->request->form == SIS__FORM_V2)
        sis__buf_printf(b, ",\"shape\":[%zu]}]", w->done);
    write_cut(w);
    sis__buf_char(b, '}');
}

/* ---- Reports --------------------------------------------------------------------------------- */

static int add_to_report(work *w, const sis_record *record) {
    sis_record own;
    char *line;
    size_t n;
    int error = format(w, record, 1, &line, &n);
    if (error)
        return error;
    error = sis_record_parse(line, n, &own);
    free(line);
    return error ? error : sis_report_add(w->report, w->model->from->name, &own);
}

static void write_report(work *w, int *error) {
    char *html;
    size_t n;
    *error = sis_report_new(&w->report);
    if (!*error)
        *error = explain_all(w, add_to_report);
    if (!*error)
        *error = sis_report_page(w->report, NULL, &html, &n);
    if (*error)
        return;
    sis__buf_add(&w->request->answer, html, n);
    w->request->type = "text/html; charset=utf-8";
    free(html);
}

void sis__serve_explain(sis__serving *s, sis__served *model, sis__request *r) {
    work w = {.serving = s, .model = model, .request = r};
    enum sis__form form = r->form;
    int error = begin(&w);
    if (!error && form == SIS__FORM_REPORT)
        write_report(&w, &error);
    else if (!error || (error == SIS_E_CANCELLED && r->cut)) /* too late to begin */
        write_explanations(&w, &error);
    if (r->cut && form == SIS__FORM_REPORT)
        sis__request_fail(r, 503, TOO_LATE);
    else
        conclude(&w, error);
    end(&w);
}

/* ---- Scores ---------------------------------------------------------------------------------- */

static int add_scores(void *ctx, size_t i, const double *scores) {
    work *w = (work *)ctx;
    sis__buf *b = &w->request->answer;
    size_t n = sis_task_model(w->task)->n_outputs;
    (void)i;
    sis__json_comma(b, w->done++);
    if (n > 1 && w->request->form == SIS__FORM_V1)
        sis__buf_char(b, '[');
    for (size_t k = 0; k < n; k++) {
        sis__json_comma(b, k);
        sis__buf_double(b, scores[k]);
    }
    if (n > 1 && w->request->form == SIS__FORM_V1)
        sis__buf_char(b, ']');
    atomic_fetch_add(&w->serving->metrics.counts[SIS__COUNT_PREDICTED], 1);
    return sis__buf_error(b);
}

static void write_predictions(work *w, int *error) {
    sis__buf *b = &w->request->answer;
    sis__buf_char(b, '{');
    if (w->request->form == SIS__FORM_V2) {
        write_id(w);
        sis__buf_printf(
            b,
            ",\"outputs\":[{\"name\":\"scores\",\"datatype\":\"FP64\",\"shape\":[%zu,%zu],"
            "\"data\":[",
            w->n, sis_task_model(w->task)->n_outputs);
    } else {
        sis__json_list(b, "predictions");
    }
    *error = sis_task_predict(w->task, NULL, w->n, add_scores, w);
    sis__buf_str(b, w->request->form == SIS__FORM_V2 ? "]}]}" : "]}");
}

void sis__serve_predict(sis__serving *s, sis__served *model, sis__request *r) {
    work w = {.serving = s, .model = model, .request = r};
    int error = begin(&w);
    if (!error)
        write_predictions(&w, &error);
    if (error == SIS_E_CANCELLED && r->cut)
        sis__request_fail(r, 503, TOO_LATE);
    else
        conclude(&w, error);
    end(&w);
}
