/* SPDX-License-Identifier: MIT
 *
 * Every value of an evaluation, for plotting: a row a rationale as CSV, and all of it as one JSON
 * object in which examples and draws have their place too. What was not measured is an empty cell,
 * or null.
 */
#include <jansson.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"
#include "output.h"

/* Name and place of each number of a rationale. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
#define NUMBER(name)                                                                               \
    { #name, offsetof(eval_rationale, name) }
    NUMBER(length),     NUMBER(percent), NUMBER(score),      NUMBER(sufficient), NUMBER(inside),
    NUMBER(outside),    NUMBER(marked),  NUMBER(divergence), NUMBER(second),     NUMBER(deck),
    NUMBER(deck_holds), NUMBER(around),  NUMBER(half),       NUMBER(half_holds)
#undef NUMBER
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

static double number_of(const eval_rationale *x, size_t k) {
    double v;
    memcpy(&v, (const char *)x + numbers[k].offset, sizeof v);
    return v;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

/* Text as a cell: quoted where it must be. */
static void put_text(FILE *f, const char *text) {
    if (!strpbrk(text, ",\"\n\r")) {
        fputs(text, f);
        return;
    }
    fputc('"', f);
    for (; *text; text++)
        fprintf(f, *text == '"' ? "\"\"" : "%c", *text);
    fputc('"', f);
}

static void put_value(FILE *f, double v) {
    if (isnan(v))
        fputc(',', f);
    else
        fprintf(f, ",%.10g", v);
}

static void write_row(FILE *f, const evaluation *ev, const eval_method *m,
                      const eval_rationale *x) {
    const sis_record *r = m->of[x->example];
    put_text(f, m->name);
    fputc(',', f);
    put_text(f, r->id);
    fprintf(f, ",%zu,%zu", x->subset, r->collection.n_features);
    put_value(f, r->threshold);
    put_value(f, r->collection.score);
    put_value(f, ev->examples[x->example].qhs);
    for (size_t k = 0; k < NUMBERS; k++)
        put_value(f, number_of(x, k));
    if (isnan(x->divergence))
        fputs(",,", f);
    else
        fprintf(f, ",%zu,%c", x->start, x->reverse ? '-' : '+');
    fputc('\n', f);
}

int eval_csv(const evaluation *ev, const char *path) {
    cli_output out;
    int status = cli_output_open(&out, path, -1);
    if (status != CLI_DONE)
        return status;
    fputs("method,id,subset,n_features,threshold,input_score,qhs", out.file);
    for (size_t k = 0; k < NUMBERS; k++)
        fprintf(out.file, ",%s", numbers[k].name);
    fputs(",motif_start,motif_strand\n", out.file);
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t i = 0; i < ev->methods[k].n_items; i++)
            write_row(out.file, ev, &ev->methods[k], &ev->methods[k].items[i]);
    status = ferror(out.file) ? cli_cannot_write(path) : CLI_DONE;
    int closed = cli_output_close(&out);
    return status == CLI_DONE ? closed : status;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* Members that are NULL, for want of memory, are noticed at the end: json_object_set_new returns
 * -1. */
typedef struct {
    int failed;
} writer;

static void set(writer *w, json_t *object, const char *name, json_t *value) {
    w->failed |= json_object_set_new(object, name, value) != 0;
}

static void append(writer *w, json_t *list, json_t *value) {
    w->failed |= json_array_append_new(list, value) != 0;
}

static json_t *number(double v) {
    if (isinf(v))
        v = copysign(1.7976931348623157e308, v);
    return isnan(v) ? json_null() : json_real(v);
}

/* Text as UTF-8, or without what is not. */
static json_t *text(const char *s) {
    json_t *t = json_string(s);
    return t ? t : json_string("?");
}

static json_t *number_list(writer *w, const double *v, size_t n) {
    json_t *list = json_array();
    for (size_t i = 0; i < n; i++)
        append(w, list, number(v[i]));
    return list;
}

static json_t *rationale_object(writer *w, const evaluation *ev, const eval_rationale *x) {
    json_t *o = json_object(), *features = json_array();
    set(w, o, "id", text(ev->examples[x->example].record->id));
    set(w, o, "subset", json_integer((json_int_t)x->subset));
    for (size_t i = 0; i < (size_t)x->length; i++)
        append(w, features, json_integer(x->features[i]));
    set(w, o, "features", features);
    for (size_t k = 0; k < NUMBERS; k++)
        if (!isnan(number_of(x, k)))
            set(w, o, numbers[k].name, number(number_of(x, k)));
    set(w, o, "length", json_integer((json_int_t)x->length));
    set(w, o, "sufficient", json_boolean(x->sufficient > 0));
    if (!isnan(x->divergence)) {
        set(w, o, "motif_start", json_integer((json_int_t)x->start));
        set(w, o, "motif_strand", text(x->reverse ? "-" : "+"));
    }
    return o;
}

/* ---- What the tables say --------------------------------------------------------------------- */

/* Of all methods but the first. */
static void set_tests(writer *w, json_t *o, const evaluation *ev, const eval_method *m,
                      const eval_against *p) {
    if (m == &ev->methods[0])
        return;
    set(w, o, "rank_sum_p", number(p->sum.p));
    set(w, o, "signed_rank_p", number(p->pairs.p));
}

/* Median, extremes and tests of one number of rationales; nothing if it was not measured. */
static void set_quantity(writer *w, json_t *o, const evaluation *ev, const eval_method *m,
                         size_t k) {
    size_t n = 0;
    eval_against p = {0};
    double *values = eval_column(m, numbers[k].offset, &n), low = NAN, high = NAN;
    if (!values || eval_compare(ev, m, numbers[k].offset, &p) != CLI_DONE ||
        sis_sample_percentile(values, n, 0, &low) != SIS_OK ||
        sis_sample_percentile(values, n, 100, &high) != SIS_OK)
        w->failed = 1;
    if (n > 0) {
        json_t *q = json_object();
        set(w, q, "median", number(eval_median(values, n)));
        set(w, q, "mean", number(sis_sample_mean(values, n)));
        set(w, q, "lowest", number(low));
        set(w, q, "highest", number(high));
        set_tests(w, q, ev, m, &p);
        set(w, o, numbers[k].name, q);
    }
    free(values);
}

static void set_importance(writer *w, json_t *o, const evaluation *ev, const eval_method *m) {
    size_t n_in = 0, n_out = 0;
    eval_against p = {0};
    double *in = eval_importance(ev, m, 1, &n_in, NULL);
    double *out = eval_importance(ev, m, 0, &n_out, NULL);
    json_t *q = json_object();
    w->failed |= !in || !out || eval_compare_importance(ev, m, &p) != CLI_DONE;
    set(w, q, "median_inside", number(in ? eval_median(in, n_in) : NAN));
    set(w, q, "median_outside", number(out ? eval_median(out, n_out) : NAN));
    set_tests(w, q, ev, m, &p);
    set(w, o, "importance", q);
    free(in);
    free(out);
}

static json_t *summary_object(writer *w, const evaluation *ev, const eval_method *m) {
    static const char *const tested[] = {"length", "percent", "score", "marked", "divergence"};
    json_t *o = json_object();
    size_t all, most;
    sis_test r;
    eval_count(ev, m, &all, &most);
    set(w, o, "subsets_per_example", number((double)all / (double)ev->n_examples));
    set(w, o, "subsets_most", json_integer((json_int_t)most));
    set(w, o, "sufficient_examples", number(eval_sufficient(ev, m)));
    for (size_t k = 0; k < NUMBERS; k++)
        for (size_t i = 0; i < sizeof tested / sizeof *tested; i++)
            if (strcmp(tested[i], numbers[k].name) == 0)
                set_quantity(w, o, ev, m, k);
    if (ev->with_model)
        set_importance(w, o, ev, m);
    if (ev->o->human && ev->with_model) {
        w->failed |= eval_correlate(ev, m, &r) != CLI_DONE;
        set(w, o, "pearson_r", number(r.statistic));
        set(w, o, "pearson_p", number(r.p));
    }
    return o;
}

static json_t *method_object(writer *w, const evaluation *ev, const eval_method *m) {
    json_t *o = json_object(), *list = json_array();
    set(w, o, "name", text(m->name));
    set(w, o, "method", text(m->shelf.records[0].method));
    set(w, o, "file", text(m->shelf.path));
    set(w, o, "summary", summary_object(w, ev, m));
    for (size_t i = 0; i < m->n_items; i++)
        append(w, list, rationale_object(w, ev, &m->items[i]));
    set(w, o, "rationales", list);
    return o;
}

static json_t *example_object(writer *w, const eval_example *x) {
    const sis_record *r = x->record;
    json_t *o = json_object();
    set(w, o, "id", text(r->id));
    set(w, o, "output", json_integer((json_int_t)r->output));
    set(w, o, "direction", text(r->below ? "<=" : ">="));
    set(w, o, "threshold", number(r->threshold));
    set(w, o, "score", number(r->collection.score));
    set(w, o, "n_features", json_integer((json_int_t)r->collection.n_features));
    if (!isnan(x->qhs)) {
        set(w, o, "human_score", number(x->human_score));
        set(w, o, "qhs", number(x->qhs));
    }
    if (x->importance)
        set(w, o, "importance", number_list(w, x->importance, r->collection.n_features));
    return o;
}

static json_t *evaluation_object(writer *w, const evaluation *ev) {
    json_t *o = json_object(), *examples = json_array(), *methods = json_array();
    for (size_t e = 0; e < ev->n_examples; e++)
        append(w, examples, example_object(w, &ev->examples[e]));
    for (size_t k = 0; k < ev->n_methods; k++)
        append(w, methods, method_object(w, ev, &ev->methods[k]));
    if (ev->n_methods > 0)
        set(w, o, "model", text(ev->methods[0].shelf.records[0].model));
    if (ev->motif)
        set(w, o, "motif", text(ev->motif->id));
    set(w, o, "examples", examples);
    set(w, o, "methods", methods);
    if (ev->study.n > 0) {
        json_t *study = json_object();
        set(w, study, "by_mask", number_list(w, ev->study.by_mask, ev->study.n));
        set(w, study, "by_hotdeck", number_list(w, ev->study.by_deck, ev->study.n));
        set(w, o, "imputation", study);
    }
    return o;
}

int eval_json(const evaluation *ev, const char *path) {
    writer w = {0};
    cli_output out;
    json_t *object = evaluation_object(&w, ev);
    char *line = w.failed ? NULL : json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(10));
    json_decref(object);
    if (!line)
        return cli_error("out of memory");
    int status = cli_output_open(&out, path, -1);
    if (status == CLI_DONE) {
        status = cli_output_write(&out, line, strlen(line));
        if (status == CLI_DONE)
            status = cli_output_write(&out, "\n", 1);
        int closed = cli_output_close(&out);
        status = status == CLI_DONE ? closed : status;
    }
    free(line);
    return status;
}
