/* SPDX-License-Identifier: MIT
 *
 * Results files of several methods: each is read whole, then all are held against the first. They
 * must be of the same examples, decisions and model, because anything else would be compared in
 * vain. Examples that every file explains become the rows of the evaluation.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

double eval_enough(const sis_record *r, double score) {
    return sis_decided(score, r->question.threshold, r->question.below);
}

/* ---- Files ----------------------------------------------------------------------------------- */

/* One file, one method, one model. */
static int check_uniform(const eval_method *m) {
    const sis_record *first = &m->results.items[0];
    if (m->results.n == 0)
        return cli_error("%s: is empty; expected records as sis explain writes them",
                         m->results.name);
    if (sis_record_is_contrast(first))
        return cli_error("%s: it is of --method contrast, whose subsets lose the decision; sis "
                         "evaluate compares what keeps it",
                         m->results.name);
    for (size_t i = 1; i < m->results.n; i++) {
        const sis_record *r = &m->results.items[i];
        if (strcmp(r->question.method, first->question.method) != 0)
            return cli_error("%s: record \"%s\" is of method %s, the first is of %s; expected one "
                             "file for each method",
                             m->results.name, r->id, r->question.method, first->question.method);
        if (strcmp(r->question.constraint ? r->question.constraint : "",
                   first->question.constraint ? first->question.constraint : ""))
            return cli_error(
                "%s: record \"%s\" was made under another --constraint than the first; "
                "expected one file for each",
                m->results.name, r->id);
        if (!cli_same_model(r->model, first->model))
            return cli_error("%s: record \"%s\" is of model %s, the first is of %s",
                             m->results.name, r->id, r->model, first->model);
    }
    return CLI_DONE;
}

/* ---- Between files --------------------------------------------------------------------------- */

/* What two records of an example must agree on, or what they do not. */
static const char *difference(const sis_record *a, const sis_record *b) {
    const sis_collection *ca = &a->collection, *cb = &b->collection;
    if (a->question.target != b->question.target)
        return "output";
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
         !cli_same_numbers(a->drawing.values, b->drawing.values, a->drawing.n_values)))
        return "values";
    if (fabs(ca->score - cb->score) > 1e-4 * (1 + fabs(ca->score)))
        return "score";
    return NULL;
}

static int lacks(const eval_method *which, const eval_method *has, const char *id) {
    return cli_error("%s has no record \"%s\", which %s has; methods are compared on the same "
                     "examples",
                     which->results.name, id, has->results.name);
}

/* The same examples, model and decisions in both files. */
static int check_pair(const eval_method *a, const eval_method *b) {
    if (!cli_same_model(a->results.items[0].model, b->results.items[0].model))
        return cli_error("%s is of model %s, %s of %s; methods are compared on one model",
                         a->results.name, a->results.items[0].model, b->results.name,
                         b->results.items[0].model);
    for (size_t i = 0; i < a->results.n; i++) {
        const sis_record *r = &a->results.items[i], *other = sis_records_find(&b->results, r->id);
        const char *field = other ? difference(r, other) : NULL;
        if (!other)
            return lacks(b, a, r->id);
        if (field)
            return cli_error("record \"%s\": field \"%s\" differs between %s and %s; methods are "
                             "compared on the same decisions",
                             r->id, field, a->results.name, b->results.name);
    }
    for (size_t i = 0; i < b->results.n; i++)
        if (!sis_records_find(&a->results, b->results.items[i].id))
            return lacks(a, b, b->results.items[i].id);
    return CLI_DONE;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The file's name without its folder and .jsonl. */
static char *stem(const char *path) {
    const char *from = cli_last_part(path), *end = strstr(from, ".jsonl");
    return strndup(from, end && end > from ? (size_t)(end - from) : strlen(from));
}

/* "ig", or "ig length": how features were ranked, and how many were taken if not as many as
 * needed. */
static char *method_name(const sis_record *r) {
    int plain = !r->question.constraint || strcmp(r->question.constraint, "sufficient") == 0;
    size_t n = strlen(r->question.method) + (plain ? 0 : strlen(r->question.constraint) + 1) + 1;
    char *name = malloc(n);
    if (name)
        snprintf(name, n, "%s%s%s", r->question.method, plain ? "" : " ",
                 plain ? "" : r->question.constraint);
    return name;
}

/* Files that would have the same name are called by that of the file. */
static int name_methods(evaluation *ev) {
    for (size_t k = 0; k < ev->n_methods; k++)
        if (!(ev->methods[k].name = method_name(&ev->methods[k].results.items[0])))
            return cli_error("out of memory");
    for (size_t k = 0; k < ev->n_methods; k++) {
        size_t alike = 0;
        for (size_t j = k + 1; j < ev->n_methods; j++) {
            if (strcmp(ev->methods[j].name, ev->methods[k].name) != 0)
                continue;
            free(ev->methods[j].name);
            if (!(ev->methods[j].name = stem(ev->methods[j].results.name)))
                return cli_error("out of memory");
            alike++;
        }
        if (!alike)
            continue;
        free(ev->methods[k].name);
        if (!(ev->methods[k].name = stem(ev->methods[k].results.name)))
            return cli_error("out of memory");
    }
    return CLI_DONE;
}

/* ---- Examples -------------------------------------------------------------------------------- */

static int explained_by_all(const evaluation *ev, const char *id) {
    for (size_t k = 0; k < ev->n_methods; k++)
        if (sis_records_find(&ev->methods[k].results, id)->collection.status !=
            SIS_STATUS_EXPLAINED)
            return 0;
    return 1;
}

/* The examples, in the order of the first file, and where each method speaks of them. */
static int choose_examples(evaluation *ev) {
    const eval_method *first = &ev->methods[0];
    ev->n_shared = first->results.n;
    ev->examples = cli_grab(ev->n_shared, sizeof *ev->examples);
    if (!ev->examples)
        return CLI_FAILED;
    for (size_t i = 0; i < ev->n_shared; i++)
        if (explained_by_all(ev, first->results.items[i].id))
            ev->examples[ev->n_examples++] =
                (eval_example){.record = &first->results.items[i], .human_score = NAN, .qhs = NAN};
    if (ev->n_examples == 0)
        return cli_error("there is nothing to compare: no example is explained in %s",
                         ev->n_methods > 1 ? "every file" : first->results.name);
    return CLI_DONE;
}

static void fill_rationale(const sis_record *r, size_t example, size_t subset,
                           eval_rationale *out) {
    const sis_subset *s = &r->collection.subsets[subset];
    *out = (eval_rationale){.example = example,
                            .subset = subset,
                            .features = s->features,
                            .length = (double)s->n,
                            .percent = 100.0 * (double)s->n / (double)r->collection.n_features,
                            .score = s->score,
                            .sufficient = eval_enough(r, s->score),
                            .inside = NAN,
                            .outside = NAN,
                            .marked = NAN,
                            .divergence = NAN,
                            .second = NAN,
                            .second_holds = NAN,
                            .deck = NAN,
                            .deck_holds = NAN,
                            .around = NAN,
                            .around_holds = NAN,
                            .half = NAN,
                            .half_holds = NAN,
                            .stable = NAN,
                            .sufficiency = NAN,
                            .comprehensiveness = NAN,
                            .pgi = NAN,
                            .pgu = NAN,
                            .token_f1 = NAN,
                            .iou_f1 = NAN,
                            .same = NAN,
                            .jaccard = NAN};
}

/* How many rationales of an example count. */
static size_t count_of(const evaluation *ev, const sis_record *r) {
    return ev->o->first && r->collection.n_subsets > 1 ? 1 : r->collection.n_subsets;
}

static int list_rationales(const evaluation *ev, eval_method *m) {
    m->of = cli_grab(ev->n_examples, sizeof *m->of);
    m->first = cli_grab(ev->n_examples + 1, sizeof *m->first);
    if (!m->of || !m->first)
        return CLI_FAILED;
    for (size_t e = 0; e < ev->n_examples; e++) {
        m->of[e] = sis_records_find(&m->results, ev->examples[e].record->id);
        m->first[e + 1] = m->first[e] + count_of(ev, m->of[e]);
    }
    m->n_items = m->first[ev->n_examples];
    m->items = cli_grab(m->n_items, sizeof *m->items);
    for (size_t e = 0; m->items && e < ev->n_examples; e++)
        for (size_t k = 0; k < count_of(ev, m->of[e]); k++)
            fill_rationale(m->of[e], e, k, &m->items[m->first[e] + k]);
    return m->items ? CLI_DONE : CLI_FAILED;
}

int eval_read(evaluation *ev, const cli_list *paths) {
    int status = CLI_DONE;
    ev->methods = cli_grab(paths->n, sizeof *ev->methods);
    if (!ev->methods)
        return CLI_FAILED;
    ev->n_methods = paths->n;
    for (size_t k = 0; status == CLI_DONE && k < paths->n; k++) {
        eval_method *m = &ev->methods[k];
        status = cli_records_read(paths->items[k], &m->results);
        if (status == CLI_DONE)
            status = cli_fail(sis_records_index(&m->results, 1));
        if (status == CLI_DONE)
            status = check_uniform(m);
        if (status == CLI_DONE && k > 0)
            status = check_pair(&ev->methods[0], m);
    }
    if (status == CLI_DONE)
        status = name_methods(ev);
    if (status == CLI_DONE)
        status = choose_examples(ev);
    for (size_t k = 0; status == CLI_DONE && k < paths->n; k++)
        status = list_rationales(ev, &ev->methods[k]);
    return status;
}
