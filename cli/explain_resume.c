/* SPDX-License-Identifier: MIT
 *
 * Going on with a results file: whole records stay, and each must answer what is asked now. The first
 * says which files it was made of, and by which command. Most of the rest a record says itself: model,
 * method, decision, input and mask. What it does not say (the seed and number of samples of a hot deck
 * or of LIME, the steps and baseline of integrated gradients) shows in the numbers, so where these
 * count one record is made again and must come out the same.
 */
#include "explain.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <sis/record.h>
#include <sis/example.h>

/* ---- What records say ------------------------------------------------------------------------ */

/* Does a record show whether it has all that was asked for? Searches for what a proof or draws can
 * show may end before, without traces. */
static int has_extent(const cli_explain_options *o) {
    return cli_method_is_sis(&o->method) && (!o->guarantee || strcmp(o->guarantee, "mask") == 0);
}

/* Does it hold as many subsets as are asked for now, with their traces or without? */
static int same_extent(const cli_explaining *w, const sis_record *r) {
    const cli_explain_options *o = w->o;
    const sis_collection *c = &r->collection;
    if (c->status != SIS_STATUS_EXPLAINED || !has_extent(o))
        return CLI_DONE;
    if (c->complete ? o->max_subsets && c->n_subsets > o->max_subsets
                    : c->n_subsets != o->max_subsets)
        return cli_error("--resume: record \"%s\" of %s has %zu subset%s; give the same "
                         "--max-subsets as before, or name another --output",
                         r->id, o->output, c->n_subsets, c->n_subsets == 1 ? "" : "s");
    if (o->trace != (c->subsets[0].trace.n > 0))
        return cli_error("--resume: record \"%s\" of %s has %s trace; %s --trace, or name another "
                         "--output",
                         r->id, o->output, o->trace ? "no" : "a", o->trace ? "leave out" : "give");
    return CLI_DONE;
}

/* Does this record of an earlier run answer what is asked now of that example? */
static int same_question(const cli_explaining *w, const sis_record *r, sis_example *e) {
    const cli_explain_options *o = w->o;
    if (sis_task_is_answer(w->task, e, r))
        return same_extent(w, r);
    return cli_error(
        "--resume: record \"%s\" of %s answers another question (model %s, --method "
        "%s --threshold %g%s, output %zu, %zu features, or other ones, another constraint, input, "
        "mask or "
        "number of outputs); give the same options, or name another --output",
        r->id, o->output, r->model, r->question.method, r->question.threshold,
        r->question.below ? " --below" : "", r->question.target, r->collection.n_features);
}

/* ---- One record again ------------------------------------------------------------------------ */

/* Does the answer hang on numbers that records do not hold: seeds, samples, steps, the baseline? */
static int needs_sample(const cli_explaining *w, const sis_record *r, const sis_example *e) {
    return r->collection.status == SIS_STATUS_EXPLAINED &&
           (!cli_method_is_sis(&w->o->method) || e->input.n_samples > 1);
}

static int close_numbers(const double *a, const double *b, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        most = fmax(most, fabs(a[i]));
    for (size_t i = 0; i < n; i++)
        if (!(fabs(a[i] - b[i]) <= 1e-6 * most))
            return 0;
    return 1;
}

/* A record and what is found for the same input now: the same, but for rounding? */
static int same_answer(const sis_record *before, const sis_record *found) {
    const sis_collection *was = &before->collection, *is = &found->collection;
    size_t n = found->n_attributions;
    if (was->status != is->status || n != before->n_attributions ||
        !close_numbers(&was->masked_score, &is->masked_score, 1))
        return 0;
    if (n > 0)
        return close_numbers(before->attributions, found->attributions, n);
    const sis_subset *a = &was->subsets[0], *b = &is->subsets[0]; /* an order is all there is */
    return a->n == b->n && memcmp(a->features, b->features, b->n * sizeof(int)) == 0;
}

static int make_again(cli_explaining *w, const sis_record *r, size_t at) {
    sis_record found;
    int status = cli_fail(sis_task_explain(w->task, at, &found));
    if (status != CLI_DONE || same_answer(r, &found))
        return status;
    return cli_error(
        "--resume: record \"%s\" of %s comes out differently now; give the same --seed, --samples, "
        "--steps, --step, --baseline, --remove, --lengths and --orders as before, or name another "
        "--output",
        r->id, w->o->output);
}

/* ---- What the file says ---------------------------------------------------------------------- */

/* Is it still the same file, as far as both are known? */
static int same_digest(const char *was, const char *is) {
    return !was || !is || strcmp(was, is) == 0;
}

/* How a command gives an option ("--max-subsets=3"); "" if it does not. */
static const char *word_of(const sis_provenance *provenance, const char *option) {
    size_t n = strlen(option);
    for (size_t i = 0; i < provenance->n_command; i++)
        if (strncmp(provenance->command[i], option, n) == 0 &&
            strchr("=", provenance->command[i][n]))
            return provenance->command[i];
    return "";
}

/* Options that records do not tell of, or not all: as they were? How many subsets are asked for may
 * show in the records themselves. */
static int same_options(const cli_explaining *w, const sis_provenance *was,
                        const sis_provenance *is) {
    const cli_explain_options *o = w->o;
    static const char *const options[] = {"--smallest", "--early-stop", "--units",
                                          "--fixed",    "--cheapest",   "--max-subsets"};
    size_t n = has_extent(o) ? 5 : 6;
    for (size_t i = 0; was->n_command && i < n; i++) {
        const char *before = word_of(was, options[i]);
        if (strcmp(before, word_of(is, options[i])) != 0)
            return cli_error("--resume: %s was begun with%s %s; %s, or name another --output",
                             o->output, before[0] ? "" : "out", before[0] ? before : options[i],
                             before[0] ? "give the same" : "leave it out");
    }
    return CLI_DONE;
}

/* Files may have been changed since, and the part may be another. */
static int same_origin(const cli_explaining *w, const sis_provenance *was,
                       const sis_provenance *is) {
    const cli_explain_options *o = w->o;
    const char *changed = !same_digest(was->model_sha256, is->model_sha256)         ? "--model"
                          : !same_digest(was->input_sha256, is->input_sha256)       ? "--input"
                          : !same_digest(was->mask_sha256, is->mask_sha256)         ? "--mask"
                          : !same_digest(was->features_sha256, is->features_sha256) ? "--features"
                          : !same_digest(was->domain_sha256, is->domain_sha256)     ? "--domain"
                                                                                    : NULL;
    if (changed)
        return cli_error("--resume: the file of %s is not the one that %s was begun with; put that "
                         "back, or name another --output",
                         changed, o->output);
    if (was->shard != is->shard || was->shards != is->shards)
        return cli_error("--resume: %s was begun with --shard %zu/%zu; give the same, or name "
                         "another --output",
                         o->output, was->shard, was->shards);
    return same_options(w, was, is);
}

static int check_origin(cli_explaining *w, const char *provenance) {
    char *now = NULL;
    sis_provenance was = {0}, is = {0};
    int status = cli_fail(sis_provenance_parse(provenance, &was));
    if (status == CLI_DONE)
        status = cli_explain_provenance(w, &now);
    if (status == CLI_DONE)
        status = cli_fail(sis_provenance_parse(now, &is));
    if (status == CLI_DONE)
        status = same_origin(w, &was, &is);
    w->other_rows = strcmp(was.rows ? was.rows : "", is.rows ? is.rows : "") != 0;
    sis_provenance_release(&was);
    sis_provenance_release(&is);
    free(now);
    return status;
}

/* ---- All of them ----------------------------------------------------------------------------- */

/* An earlier run: which examples of the task are done. */
typedef struct {
    cli_explaining *w;
    unsigned char *done; /* (examples) */
    size_t n_done, last; /* last: the example of the record before */
    int has_provenance;  /* the file says how it was made, so that its order is known */
    sis_record sample;   /* one of the records, if that must be made again */
    size_t sample_at;
} earlier;

/* Mark what is done, count its errors. */
static int take_record(void *ctx, sis_record *r) {
    earlier *e = ctx;
    cli_explaining *w = e->w;
    size_t at = sis_task_find(w->task, r->id);
    if (r->provenance && check_origin(w, r->provenance) != CLI_DONE)
        return CLI_FAILED;
    if (at == SIZE_MAX)
        return cli_error("--resume: %s holds record \"%s\", which is not asked for; give the "
                         "same --input, --id and --rows, or name another --output",
                         w->o->output, r->id);
    if (e->done[at])
        return cli_error("--resume: %s holds record \"%s\" twice; take one of them out, or name "
                         "another --output",
                         w->o->output, r->id);
    e->has_provenance |= r->provenance != NULL;
    w->unsettled |= e->has_provenance && at < e->last;
    e->last = at;
    if (r->collection.status == SIS_STATUS_ERROR || r->collection.status == SIS_STATUS_CUT) {
        if (e->has_provenance) { /* once more: the new record takes its place */
            w->unsettled = 1;
            return CLI_DONE;
        }
        e->done[at] = 1;
        e->n_done++;
        cli_explain_count(w, r->id, &r->collection);
        return CLI_DONE;
    }
    e->done[at] = 1;
    e->n_done++;
    sis_example x;
    int status = cli_fail(sis_task_load(w->task, at, &x));
    if (status != CLI_DONE)
        return status;
    status = same_question(w, r, &x);
    if (status == CLI_DONE && !e->sample.id && needs_sample(w, r, &x)) {
        e->sample = *r;
        e->sample_at = at;
        *r = (sis_record){0};
    }
    sis_example_release(&x);
    return status;
}

int cli_explain_resume(cli_explaining *w, long long *keep) {
    sis_resume old;
    int error = sis_resume_scan(w->o->output, &old);
    if (error)
        return cli_fail(error);
    *keep = (long long)old.bytes;
    size_t n = sis_task_count(w->task);
    earlier e = {.w = w, .done = cli_grab(n, sizeof *e.done)};
    int status = e.done ? CLI_DONE : CLI_FAILED;
    if (status == CLI_DONE && old.n)
        status = cli_records_each(w->o->output, old.n, NULL, take_record, &e);
    if (status == CLI_DONE && e.sample.id)
        status = make_again(w, &e.sample, e.sample_at);
    w->n_todo = 0;
    for (size_t i = 0; status == CLI_DONE && i < n; i++)
        if (!e.done[i])
            w->todo[w->n_todo++] = i;
    if (status == CLI_DONE && old.n)
        cli_note(w->o->common.quiet, "%zu of %zu examples are in %s already", e.n_done, n,
                 w->o->output);
    sis_record_release(&e.sample);
    free(e.done);
    sis_resume_release(&old);
    return status;
}
