/* SPDX-License-Identifier: MIT
 *
 * Resumes a results file: complete records stay if they belong to the present analysis. The first
 * record names its files and command. Each record holds model, method, decision, input and mask.
 * Other parameters (seed and samples of a hot deck or of LIME, steps and baseline of integrated
 * gradients) only affect the numbers; if they matter, one record is recomputed and must be equal.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/example.h>
#include <sis/record.h>

#include "base/error.h"
#include "base/mem.h"
#include "task/task.h"

/* An earlier run: the finished examples of the task. */
typedef struct {
    sis_task *task;
    const char *path, *provenance;
    void (*kept)(void *ctx, const sis_record *record);
    void *ctx;
    unsigned char *done; /* (examples) */
    size_t last;         /* the example of the previous record */
    int has_provenance;  /* the file has a provenance, so that its order is known */
    sis_record sample;   /* the record to recompute, if needed */
    size_t sample_at;
    sis_task_earlier *out;
} earlier;

/* ---- Checks of records ----------------------------------------------------------------------- */

/* 1 if records show whether they are complete. Proofs and draws may end early, without traces. */
static int has_extent(const sis_task *t) {
    return t->method.is_sis && t->guarantee.asked.kind == SIS_GUARANTEE_MASK;
}

/* 1 if it has the requested number of subsets and traces. */
static int same_extent(const earlier *e, const sis_record *r) {
    const sis_task *t = e->task;
    size_t max = t->opt.answer.search.max_subsets;
    int trace = t->opt.answer.trace;
    const sis_collection *c = &r->collection;
    if (c->status != SIS_STATUS_EXPLAINED || !has_extent(t))
        return SIS_OK;
    if (c->complete ? max && c->n_subsets > max : c->n_subsets != max)
        return sis__fail(SIS_E_ARGUMENT,
                         "--resume: record \"%.100s\" of %s has %zu subset%s; give the same "
                         "--max-subsets as before, or name another --output",
                         r->id, e->path, c->n_subsets, c->n_subsets == 1 ? "" : "s");
    if (trace != (c->subsets[0].trace.n > 0))
        return sis__fail(
            SIS_E_ARGUMENT,
            "--resume: record \"%.100s\" of %s has %s trace; %s --trace, or name another --output",
            r->id, e->path, trace ? "no" : "a", trace ? "leave out" : "give");
    return SIS_OK;
}

/* 1 if this record of an earlier run belongs to the present analysis of that example. */
static int same_question(const earlier *e, const sis_record *r, sis_example *x) {
    if (sis_task_is_answer(e->task, x, r))
        return same_extent(e, r);
    return sis__fail(SIS_E_ARGUMENT,
                     "--resume: record \"%.100s\" of %s was made with other options or another "
                     "input (model %s, --method %s --threshold %g%s, output %zu, %zu features); "
                     "give the same ones, or name another --output",
                     r->id, e->path, r->model, r->question.method, r->question.threshold,
                     r->question.below ? " --below" : "", r->question.target,
                     r->collection.n_features);
}

/* ---- Recomputing a record -------------------------------------------------------------------- */

/* 1 if results depend on numbers that records do not hold: seeds, samples, steps, the baseline. */
static int needs_sample(const sis_task *t, const sis_record *r, const sis_example *x) {
    return r->collection.status == SIS_STATUS_EXPLAINED &&
           (!t->method.is_sis || x->input.n_samples > 1);
}

static int close_numbers(const double *a, const double *b, size_t n) {
    double max = 0;
    for (size_t i = 0; i < n; i++)
        max = fmax(max, fabs(a[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-6 * max))
            return 0;
    return 1;
}

/* 1 if a record and a new result for the same input are equal within rounding. */
static int same_answer(const sis_record *before, const sis_record *found) {
    const sis_collection *was = &before->collection, *is = &found->collection;
    size_t n = found->n_attributions;
    if (was->status != is->status || n != before->n_attributions ||
        !close_numbers(&was->masked_score, &is->masked_score, 1))
        return 0;
    if (n > 0)
        return close_numbers(before->attributions, found->attributions, n);
    const sis_subset *a = &was->subsets[0], *b = &is->subsets[0]; /* only the order can be
                                                                     compared */
    return a->n == b->n && memcmp(a->features, b->features, b->n * sizeof(int)) == 0;
}

static int make_again(const earlier *e) {
    sis_record found;
    int error = sis_task_explain(e->task, e->sample_at, &found);
    if (error != SIS_OK || same_answer(&e->sample, &found))
        return error;
    return sis__fail(SIS_E_ARGUMENT,
                     "--resume: record \"%.100s\" of %s comes out differently now; give the same "
                     "--seed, --samples, --steps, --step, --baseline, --remove, --lengths and "
                     "--orders as before, or name another --output",
                     e->sample.id, e->path);
}

/* ---- Checks of the provenance ---------------------------------------------------------------- */

/* 1 if the file is unchanged, as far as both digests are known. */
static int same_digest(const char *was, const char *is) {
    return !was || !is || strcmp(was, is) == 0;
}

/* An option as the command has it ("--max-subsets=3"); "" if absent. */
static const char *word_of(const sis_provenance *provenance, const char *option) {
    size_t n = strlen(option);
    for (size_t i = 0; i < provenance->n_command; i++)
        if (strncmp(provenance->command[i], option, n) == 0 &&
            strchr("=", provenance->command[i][n]))
            return provenance->command[i];
    return "";
}

/* 1 if options that records do not fully show are unchanged. The number of subsets may show in the
 * records themselves. */
static int same_options(const earlier *e, const sis_provenance *was, const sis_provenance *is) {
    static const char *const options[] = {"--smallest", "--early-stop", "--units",
                                          "--fixed",    "--cheapest",   "--max-subsets"};
    size_t n = has_extent(e->task) ? 5 : 6;
    for (size_t i = 0; was->n_command && i < n; i++) {
        const char *before = word_of(was, options[i]);
        if (strcmp(before, word_of(is, options[i])) != 0)
            return sis__fail(SIS_E_ARGUMENT,
                             "--resume: %s was started with%s %s; %s, or name another --output",
                             e->path, before[0] ? "" : "out", before[0] ? before : options[i],
                             before[0] ? "give the same" : "leave it out");
    }
    return SIS_OK;
}

/* Check for changed files and another shard. */
static int same_origin(const earlier *e, const sis_provenance *was, const sis_provenance *is) {
    const char *changed = !same_digest(was->model_sha256, is->model_sha256)         ? "--model"
                          : !same_digest(was->input_sha256, is->input_sha256)       ? "--input"
                          : !same_digest(was->mask_sha256, is->mask_sha256)         ? "--mask"
                          : !same_digest(was->features_sha256, is->features_sha256) ? "--features"
                          : !same_digest(was->domain_sha256, is->domain_sha256)     ? "--domain"
                                                                                    : NULL;
    if (changed)
        return sis__fail(SIS_E_ARGUMENT,
                         "--resume: the file of %s has changed since %s was started; restore it, "
                         "or name another --output",
                         changed, e->path);
    if (was->shard != is->shard || was->shards != is->shards)
        return sis__fail(SIS_E_ARGUMENT,
                         "--resume: %s was started with --shard %zu/%zu; give the same, or name "
                         "another --output",
                         e->path, was->shard, was->shards);
    return same_options(e, was, is);
}

static int check_origin(earlier *e, const char *provenance) {
    sis_provenance was = {0}, is = {0};
    int error = sis_provenance_parse(provenance, &was);
    if (error == SIS_OK)
        error = sis_provenance_parse(e->provenance, &is);
    if (error == SIS_OK)
        error = same_origin(e, &was, &is);
    e->out->other_rows = strcmp(was.rows ? was.rows : "", is.rows ? is.rows : "") != 0;
    sis_provenance_release(&was);
    sis_provenance_release(&is);
    return error;
}

/* ---- Reading the file ------------------------------------------------------------------------ */

/* Find the example of a record; duplicates are an error. */
static int find_example(earlier *e, const sis_record *r, size_t *at) {
    int error = r->provenance ? check_origin(e, r->provenance) : SIS_OK;
    *at = sis_task_find(e->task, r->id);
    if (error != SIS_OK)
        return error;
    if (*at == SIZE_MAX)
        return sis__fail(SIS_E_ARGUMENT,
                         "--resume: %s contains record \"%.100s\", which is not asked for; give "
                         "the same --input, --id and --rows, or name another --output",
                         e->path, r->id);
    if (e->done[*at])
        return sis__fail(SIS_E_ARGUMENT,
                         "--resume: %s contains record \"%.100s\" twice; remove one of them, or "
                         "name another --output",
                         e->path, r->id);
    return SIS_OK;
}

/* Check that a record belongs to the present analysis. */
static int check_answer(earlier *e, sis_record *r, size_t at) {
    sis_example x;
    int error = sis_task_load(e->task, at, &x);
    if (error != SIS_OK)
        return error;
    error = same_question(e, r, &x);
    if (error == SIS_OK && !e->sample.id && needs_sample(e->task, r, &x)) {
        e->sample = *r;
        e->sample_at = at;
        *r = (sis_record){0};
    }
    sis_example_release(&x);
    return error;
}

/* Mark finished examples. */
static int take_record(void *ctx, sis_record *r) {
    earlier *e = ctx;
    size_t at;
    int error = find_example(e, r, &at);
    if (error != SIS_OK)
        return error;
    int failed = r->collection.status == SIS_STATUS_ERROR || r->collection.status == SIS_STATUS_CUT;
    e->has_provenance |= r->provenance != NULL;
    e->out->out_of_order |= e->has_provenance && (at < e->last || failed);
    e->last = at;
    if (failed && e->has_provenance) /* redo it: the new record replaces this one */
        return SIS_OK;
    e->done[at] = 1;
    e->out->n_done++;
    if (!failed)
        return check_answer(e, r, at);
    e->kept(e->ctx, r);
    return SIS_OK;
}

int sis_task_resume(sis_task *task, const char *path, const char *provenance,
                    void (*kept)(void *ctx, const sis_record *record), void *ctx,
                    sis_task_earlier *out) {
    size_t n = sis_task_count(task);
    sis_resume old = {0};
    earlier e = {
        .task = task, .path = path, .provenance = provenance, .kept = kept, .ctx = ctx, .out = out};
    *out = (sis_task_earlier){.todo = SIS_NEW_RAW(size_t, n)};
    e.done = SIS_NEW(unsigned char, n);
    int error = e.done && out->todo ? SIS_OK : SIS_E_NOMEM;
    if (error == SIS_OK)
        error = sis_resume_scan(path, take_record, &e, &old);
    if (error == SIS_OK && e.sample.id)
        error = make_again(&e);
    out->n = old.n;
    out->bytes = old.bytes;
    for (size_t i = 0; error == SIS_OK && i < n; i++)
        if (!e.done[i])
            out->todo[out->n_todo++] = i;
    if (error != SIS_OK) {
        free(out->todo);
        *out = (sis_task_earlier){0};
    }
    sis_record_release(&e.sample);
    free(e.done);
    return error;
}
