/* SPDX-License-Identifier: MIT
 *
 * Evaluates results files of several methods; the first is the reference. All must have the same
 * examples, decisions and model. The examples that every file explains are the subjects.
 */
#include "analysis/evaluate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <sis/dna.h>
#include <sis/net.h>
#include <sis/record.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/spread.h"

void sis_evaluate_opt_init(sis_evaluate_opt *opt) {
    *opt = (sis_evaluate_opt){.draws = 10000, .samples = SIS_TASK_DRAWS, .around = 1, .seed = 1};
    sis_opt_init(&opt->search);
}

double sis__is_enough(const sis_record *r, double score) {
    return sis_decided(score, r->question.threshold, r->question.below);
}

int sis__is_marked(const sis_record *r) {
    return r->drawing.human && r->drawing.n_human > 0;
}

/* ---- Files --------------------------------------------------------------------------------- */

static int same_model(const char *a, const char *b) {
    char one[256], other[256];
    sis_model_name(a, one, sizeof one);
    sis_model_name(b, other, sizeof other);
    return strcmp(one, other) == 0;
}

/* A file must have one method and one model. */
static int check_uniform(const sis_records *f) {
    const sis_record *first = f->items;
    if (f->n == 0)
        return sis__fail(SIS_E_FORMAT, "%s: is empty; expected records written by sis explain",
                         f->name);
    if (sis_record_is_contrast(first))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: was made with --method contrast, whose subsets change "
                         "the decision; sis evaluate needs subsets that keep it",
                         f->name);
    for (size_t i = 1; i < f->n; i++) {
        const sis_record *r = &f->items[i];
        if (strcmp(r->question.method, first->question.method) != 0)
            return sis__fail(SIS_E_ARGUMENT,
                             "%s: record \"%s\" has method %s, the first has %s; give one "
                             "file for each method",
                             f->name, r->id, r->question.method, first->question.method);
        if (strcmp(r->question.constraint ? r->question.constraint : "",
                   first->question.constraint ? first->question.constraint : ""))
            return sis__fail(SIS_E_ARGUMENT,
                             "%s: record \"%s\" has another --constraint than the first; "
                             "give one file for each",
                             f->name, r->id);
        if (!same_model(r->model, first->model))
            return sis__fail(SIS_E_ARGUMENT,
                             "%s: record \"%s\" has model %s, the first has %s; give one "
                             "file for each model",
                             f->name, r->id, r->model, first->model);
    }
    return SIS_OK;
}

static int same_numbers(const double *a, const double *b, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (a[i] != b[i] && !(isnan(a[i]) && isnan(b[i])))
            return 0;
    return 1;
}

/* The first difference in what two records of an example must agree on; NULL: none. */
static const char *difference(const sis_record *a, const sis_record *b) {
    const sis_collection *ca = &a->collection, *cb = &b->collection;
    if (a->question.target != b->question.target)
        return "target";
    if (a->question.below != b->question.below)
        return "direction";
    if (a->question.threshold != b->question.threshold)
        return "threshold";
    if (ca->status == SIS_STATUS_ERROR || cb->status == SIS_STATUS_ERROR)
        return NULL;
    if (ca->n_features != cb->n_features)
        return "n_features";
    if (a->drawing.values && b->drawing.values &&
        (a->drawing.n_values != b->drawing.n_values ||
         !same_numbers(a->drawing.values, b->drawing.values, a->drawing.n_values)))
        return "values";
    if (fabs(ca->score - cb->score) > 1e-4 * (1 + fabs(ca->score)))
        return "score";
    return NULL;
}

static int lacks(const sis_records *which, const sis_records *has, const char *id) {
    return sis__fail(SIS_E_ARGUMENT,
                     "%s has no record \"%s\", but %s has; compare methods on the "
                     "same examples",
                     which->name, id, has->name);
}

/* Both files must have the same examples, model and decisions. */
static int check_pair(const sis_records *a, const sis_records *b) {
    if (!same_model(a->items[0].model, b->items[0].model))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s was made with model %s, %s with %s; compare methods on "
                         "one model",
                         a->name, a->items[0].model, b->name, b->items[0].model);
    for (size_t i = 0; i < a->n; i++) {
        const sis_record *r = &a->items[i], *other = sis_records_find(b, r->id);
        const char *field = other ? difference(r, other) : NULL;
        if (!other)
            return lacks(b, a, r->id);
        if (field)
            return sis__fail(SIS_E_ARGUMENT,
                             "record \"%s\": field \"%s\" differs between %s and %s; "
                             "compare methods on the same decisions",
                             r->id, field, a->name, b->name);
    }
    for (size_t i = 0; i < b->n; i++)
        if (!sis_records_find(a, b->items[i].id))
            return lacks(a, b, b->items[i].id);
    return SIS_OK;
}

/* ---- Names --------------------------------------------------------------------------------- */

/* The file's name without its folder and .jsonl. */
static char *stem(sis__held *held, const char *path) {
    const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
    char *name = sis__held_text(held, from), *end = name ? strstr(name, ".jsonl") : NULL;
    if (end && end > name)
        *end = '\0';
    return name;
}

/* "ig", or "ig length": the ranking method, and the constraint unless it is "sufficient". */
static char *method_name(sis__held *held, const sis_record *r) {
    int plain = !r->question.constraint || strcmp(r->question.constraint, "sufficient") == 0;
    size_t n = strlen(r->question.method) + (plain ? 0 : strlen(r->question.constraint) + 1) + 1;
    char *name = sis__held_room(held, n, 1);
    if (name) {
        strcpy(name, r->question.method);
        strcat(name, plain ? "" : " ");
        strcat(name, plain ? "" : r->question.constraint);
    }
    return name;
}

/* Files whose methods have the same name are named after the file. */
static int name_methods(sis__evaluation *ev) {
    for (size_t k = 0; k < ev->n_methods; k++)
        if (!(ev->methods[k].name = method_name(ev->held, &ev->methods[k].file->items[0])))
            return SIS_E_NOMEM;
    for (size_t k = 0; k < ev->n_methods; k++) {
        const char *name = ev->methods[k].name;
        size_t equal = 0;
        for (size_t j = k + 1; j < ev->n_methods; j++)
            if (strcmp(ev->methods[j].name, name) == 0) {
                equal++;
                if (!(ev->methods[j].name = stem(ev->held, ev->methods[j].file->name)))
                    return SIS_E_NOMEM;
            }
        if (equal && !(ev->methods[k].name = stem(ev->held, ev->methods[k].file->name)))
            return SIS_E_NOMEM;
    }
    return SIS_OK;
}

/* ---- Subjects ------------------------------------------------------------------------------ */

static int explained_by_all(const sis__evaluation *ev, const char *id) {
    for (size_t k = 0; k < ev->n_methods; k++)
        if (sis_records_find(ev->methods[k].file, id)->collection.status != SIS_STATUS_EXPLAINED)
            return 0;
    return 1;
}

/* Subjects are in the order of the first file. */
static int choose_subjects(sis__evaluation *ev) {
    const sis_records *first = ev->methods[0].file;
    ev->out->n_shared = first->n;
    ev->subjects = sis__held_room(ev->held, first->n, sizeof *ev->subjects);
    if (!ev->subjects)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < first->n; i++)
        if (explained_by_all(ev, first->items[i].id))
            ev->subjects[ev->n_subjects++] =
                (sis__subject){.record = &first->items[i], .human_score = NAN, .qhs = NAN};
    if (ev->n_subjects == 0)
        return sis__fail(SIS_E_ARGUMENT, "cannot compare: no example is explained in %s",
                         ev->n_methods > 1 ? "every file" : first->name);
    return SIS_OK;
}

static void fill_rationale(const sis_record *r, size_t subject, size_t subset, sis_rated *out) {
    const sis_subset *s = &r->collection.subsets[subset];
    *out = (sis_rated){.example = subject,
                       .subset = subset,
                       .n_features = s->n,
                       .features = s->features,
                       .motif_start = -1};
    for (int k = 0; k < SIS_N_MEASURES; k++)
        out->measures[k] = NAN;
    out->measures[SIS_MEASURE_LENGTH] = (double)s->n;
    out->measures[SIS_MEASURE_PERCENT] = 100.0 * (double)s->n / (double)r->collection.n_features;
    out->measures[SIS_MEASURE_SCORE] = s->score;
    out->measures[SIS_MEASURE_SUFFICIENT] = sis__is_enough(r, s->score);
}

/* The number of rationales of an example that count. */
static size_t count_of(const sis__evaluation *ev, const sis_record *r) {
    return ev->o->first && r->collection.n_subsets > 1 ? 1 : r->collection.n_subsets;
}

static int list_rationales(const sis__evaluation *ev, sis__method *m) {
    m->of = sis__held_room(ev->held, ev->n_subjects, sizeof *m->of);
    m->first = sis__held_room(ev->held, ev->n_subjects + 1, sizeof *m->first);
    if (!m->of || !m->first)
        return SIS_E_NOMEM;
    for (size_t e = 0; e < ev->n_subjects; e++) {
        m->of[e] = sis_records_find(m->file, ev->subjects[e].record->id);
        m->first[e + 1] = m->first[e] + count_of(ev, m->of[e]);
    }
    m->n_items = m->first[ev->n_subjects];
    m->items = sis__held_room(ev->held, m->n_items, sizeof *m->items);
    for (size_t e = 0; m->items && e < ev->n_subjects; e++)
        for (size_t k = 0; k < count_of(ev, m->of[e]); k++)
            fill_rationale(m->of[e], e, k, &m->items[m->first[e] + k]);
    return m->items ? SIS_OK : SIS_E_NOMEM;
}

static int take_files(sis__evaluation *ev, const sis_records *files, size_t n) {
    int error = SIS_OK;
    ev->methods = sis__held_room(ev->held, n, sizeof *ev->methods);
    if (!ev->methods)
        return SIS_E_NOMEM;
    ev->n_methods = n;
    for (size_t k = 0; error == SIS_OK && k < n; k++) {
        ev->methods[k].file = &files[k];
        error = check_uniform(&files[k]);
        if (error == SIS_OK && k > 0)
            error = check_pair(&files[0], &files[k]);
    }
    if (error == SIS_OK)
        error = name_methods(ev);
    if (error == SIS_OK)
        error = choose_subjects(ev);
    for (size_t k = 0; error == SIS_OK && k < n; k++)
        error = list_rationales(ev, &ev->methods[k]);
    return error;
}

/* ---- Motifs -------------------------------------------------------------------------------- */

static int align(const sis__evaluation *ev, sis_rated *x) {
    const sis_record *r = ev->subjects[x->example].record;
    sis_alignment at;
    if (!r->drawing.sequence)
        return sis__fail(SIS_E_ARGUMENT, "--motif: record \"%s\" has no sequence; motifs need DNA",
                         r->id);
    int error =
        sis_motif_align(&ev->motifs.items[0], r->drawing.sequence, x->features, x->n_features, &at);
    if (error)
        return sis__fail_in(error, "--motif: record \"%s\"", r->id);
    x->measures[SIS_MEASURE_DIVERGENCE] = at.divergence;
    x->motif_start = (long)at.start;
    x->reverse = at.reverse;
    return SIS_OK;
}

/* Alignment of DNA rationales with a motif. FILE must hold one motif; FILE:ID selects one. */
static int measure_motif(sis__evaluation *ev) {
    const char *text = ev->o->motif;
    int error = sis_motifs_read(text, &ev->motifs);
    if (error != SIS_OK)
        return sis__fail_in(error, "--motif");
    if (ev->motifs.n != 1)
        return sis__fail(SIS_E_ARGUMENT, "--motif: %s contains %zu motifs; choose one with %s:ID",
                         text, ev->motifs.n, text);
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++)
        for (size_t i = 0; error == SIS_OK && i < ev->methods[k].n_items; i++)
            error = align(ev, &ev->methods[k].items[i]);
    return error;
}

/* ---- Marks of people ------------------------------------------------------------------------- */

/* The share of each rationale that a person marked too. */
static int share_marked(const sis__evaluation *ev, sis_rated *x) {
    const sis_record *r = ev->subjects[x->example].record;
    sis_overlap o;
    if (!sis__is_marked(r))
        return SIS_OK;
    int error =
        sis_overlap_measure(x->features, x->n_features, r->drawing.human, r->drawing.n_human, &o);
    x->measures[SIS_MEASURE_MARKED] = o.precision;
    return error;
}

/* All features of a method for an example, as one set, against the marks of a person. */
static int measure_tokens(const sis__evaluation *ev, const sis__method *m, size_t e) {
    const sis_record *r = ev->subjects[e].record;
    size_t n = 0;
    sis_overlap o = {0};
    if (!sis__is_marked(r))
        return SIS_OK;
    int *shown = SIS_NEW(int, r->collection.n_features);
    if (!shown)
        return SIS_E_NOMEM;
    for (size_t i = m->first[e]; i < m->first[e + 1]; i++)
        for (size_t k = 0; k < m->items[i].n_features; k++)
            shown[n++] = m->items[i].features[k];
    int error = sis_overlap_measure(shown, n, r->drawing.human, r->drawing.n_human, &o);
    double *of = m->items[m->first[e]].measures;
    of[SIS_MEASURE_TOKEN_PRECISION] = o.precision;
    of[SIS_MEASURE_TOKEN_RECALL] = o.recall;
    of[SIS_MEASURE_TOKEN_F1] = o.f1;
    of[SIS_MEASURE_IOU_F1] = o.iou_f1;
    free(shown);
    return error;
}

static int measure_human(sis__evaluation *ev) {
    int error = SIS_OK;
    size_t n = 0;
    for (size_t e = 0; e < ev->n_subjects; e++)
        n += (size_t)sis__is_marked(ev->subjects[e].record);
    if (n == 0)
        return sis__fail(SIS_E_ARGUMENT,
                         "--human: no explained record of %s has the field \"human\"; "
                         "explain an input that has it",
                         ev->methods[0].file->name);
    for (size_t k = 0; k < ev->n_methods; k++) {
        const sis__method *m = &ev->methods[k];
        for (size_t i = 0; error == SIS_OK && i < m->n_items; i++)
            error = share_marked(ev, &m->items[i]);
        for (size_t e = 0; error == SIS_OK && e < ev->n_subjects; e++)
            error = measure_tokens(ev, m, e);
    }
    return error;
}

/* ---- Evaluation ------------------------------------------------------------------------------ */

static int open_task(sis__evaluation *ev) {
    const sis_net *net = sis_model_net(sis_task_model(ev->o->task));
    ev->token = net && sis_net_is_token(net);
    return sis__loaded_open(&ev->all, ev->o->task);
}

/* The order finds errors before expensive steps. */
static int measure_all(sis__evaluation *ev, const sis_records *files, size_t n) {
    const sis_evaluate_opt *o = ev->o;
    int error = n > 0 ? take_files(ev, files, n) : SIS_OK;
    if (error == SIS_OK && o->motif)
        error = measure_motif(ev);
    if (error == SIS_OK && o->task)
        error = open_task(ev);
    if (error == SIS_OK && o->task && n > 0)
        error = sis__evaluate_model(ev);
    if (error == SIS_OK && o->human)
        error = measure_human(ev);
    if (error == SIS_OK && o->robust)
        error = sis__evaluate_robust(ev);
    if (error == SIS_OK && o->metrics)
        error = sis__evaluate_metrics(ev);
    if (error == SIS_OK && o->imputation && sis__leads())
        error = sis__evaluate_imputation(ev);
    return error == SIS_OK && sis__leads() ? sis__evaluate_summary(ev) : error;
}

int sis_evaluate(const sis_records *files, size_t n, const sis_evaluate_opt *opt,
                 sis_evaluation *out) {
    sis__evaluation ev = {.o = opt, .held = SIS_NEW(sis__held, 1), .out = out};
    *out = (sis_evaluation){0};
    int error = ev.held ? measure_all(&ev, files, n) : SIS_E_NOMEM;
    sis_deck_free(ev.deck);
    sis__loaded_close(&ev.all);
    sis__loaded_close(&ev.second);
    sis_motifs_release(&ev.motifs);
    if (error == SIS_OK) {
        out->held = ev.held;
        return SIS_OK;
    }
    sis__held_free(ev.held);
    *out = (sis_evaluation){0};
    return error;
}
