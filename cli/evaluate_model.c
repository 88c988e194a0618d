/* SPDX-License-Identifier: MIT
 *
 * What only the model can tell of rationales: their score alone, how much each feature counts, what
 * it makes of the words a person marked. Before that, records are held against model and data: a
 * score that comes out differently means another model, mask or feature map than the file was made
 * with.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

void eval_options_of(const evaluation *ev, const sis_record *r, sis_opt *opt) {
    sis_opt_init(opt);
    opt->threshold = r->threshold;
    opt->below = r->below;
    opt->jobs = (int)ev->o->source.jobs;
    opt->memory = ev->o->question.memory << 20;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* The input that a record is about, or NULL after an error line. */
static const sis_input *find_input(const evaluation *ev, const eval_method *m, size_t example) {
    const sis_record *r = m->of[example];
    const sis_input *in = cli_record_input(&ev->task, m->shelf.path, r);
    if (!in)
        return NULL;
    long n = sis_input_features(in);
    if (n >= 0 && (size_t)n == r->collection.n_features)
        return in;
    if (n < 0)
        cli_fail((int)n);
    else
        cli_error("%s: record \"%s\" has %zu features, the input has %ld; give the same --features",
                  m->shelf.path, r->id, r->collection.n_features, n);
    return NULL;
}

static int find_inputs(evaluation *ev) {
    const cli_task *t = &ev->task;
    int status = CLI_DONE;
    for (size_t e = 0; status == CLI_DONE && e < ev->n_examples; e++) {
        eval_example *x = &ev->examples[e];
        const sis_input *in = NULL;
        for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
            if (!(in = find_input(ev, &ev->methods[k], e)))
                status = CLI_FAILED;
        if (status == CLI_DONE) {
            x->input = *in;
            x->at = (size_t)(in - t->inputs);
            x->input.output = x->record->output;
        }
    }
    return status;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* Scores are float32 inside networks and may come from other machines. */
static int agree(double a, double b) {
    return a == b || fabs(a - b) <= 1e-4 * (1 + fabs(a));
}

static int check_whole(evaluation *ev, const double *scores) {
    for (size_t e = 0; e < ev->n_examples; e++) {
        const sis_record *r = ev->examples[e].record;
        if (!agree(r->collection.score, scores[e]))
            return cli_error(
                "%s: record \"%s\" has a score of %g, this model gives %g; give the --model "
                "it was made with (%s)",
                ev->methods[0].shelf.path, r->id, r->collection.score, scores[e], r->model);
    }
    return CLI_DONE;
}

/* Scores of n parts, free()d by the caller; NULL after an error line. */
static double *score_parts(const evaluation *ev, const sis_model *model, const sis_part *parts,
                           size_t n) {
    double *scores = cli_grab(n, sizeof *scores);
    sis_opt opt;
    eval_options_of(ev, ev->examples[0].record, &opt);
    if (!scores || cli_fail(sis_part_scores(model, parts, n, &opt, scores)) == CLI_DONE)
        return scores;
    free(scores);
    return NULL;
}

double *eval_score_alone(const evaluation *ev, const eval_method *m, const sis_model *model,
                         const sis_input *inputs) {
    sis_part *parts = cli_grab(m->n_items, sizeof *parts);
    for (size_t i = 0; parts && i < m->n_items; i++) {
        const eval_rationale *x = &m->items[i];
        parts[i] = (sis_part){inputs ? &inputs[x->example] : &ev->examples[x->example].input,
                              x->features, (size_t)x->length, 0};
    }
    double *scores = parts ? score_parts(ev, model, parts, m->n_items) : NULL;
    free(parts);
    return scores;
}

/* Whole inputs must have the scores that their records have. */
static int score_examples(evaluation *ev) {
    sis_part *parts = cli_grab(ev->n_examples, sizeof *parts);
    for (size_t e = 0; parts && e < ev->n_examples; e++)
        parts[e] = (sis_part){.input = &ev->examples[e].input, .without = 1};
    double *scores = parts ? score_parts(ev, &ev->task.model, parts, ev->n_examples) : NULL;
    int status = scores ? check_whole(ev, scores) : CLI_FAILED;
    free(parts);
    free(scores);
    return status;
}

static int check_part(const eval_method *m, eval_rationale *x, double score) {
    const sis_record *r = m->of[x->example];
    if (!agree(x->score, score))
        return cli_error("%s: record \"%s\": subset %zu alone has a score of %g, the model gives "
                         "%g now; give the --mask, --features, --samples and --seed it was made "
                         "with",
                         m->shelf.path, r->id, x->subset, x->score, score);
    x->score = score;
    x->sufficient = eval_enough(r, score);
    return CLI_DONE;
}

/* Rationales alone. */
static int score_rationales(evaluation *ev, eval_method *m) {
    double *scores = eval_score_alone(ev, m, &ev->task.model, NULL);
    int status = scores ? CLI_DONE : CLI_FAILED;
    for (size_t i = 0; status == CLI_DONE && i < m->n_items; i++)
        status = check_part(m, &m->items[i], scores[i]);
    free(scores);
    return status;
}

/* ---- Importance ------------------------------------------------------------------------------ */

static int measure_importance(evaluation *ev) {
    cli_progress bar;
    int status = CLI_DONE;
    cli_progress_init(&bar, ev->o->common.quiet);
    for (size_t e = 0; status == CLI_DONE && e < ev->n_examples; e++) {
        eval_example *x = &ev->examples[e];
        sis_opt opt;
        eval_options_of(ev, x->record, &opt);
        x->importance = cli_grab(x->record->collection.n_features, sizeof *x->importance);
        int error = SIS_OK;
        if (x->importance)
            error = sis_importance(&ev->task.model, &x->input, &opt, x->importance);
        sis_progress p = {.inputs = ev->n_examples, .inputs_done = e + 1};
        cli_progress_show(&bar, &p);
        if (error || !x->importance)
            cli_progress_end(&bar);
        status = x->importance ? cli_fail(error) : CLI_FAILED;
    }
    cli_progress_end(&bar);
    return status;
}

/* Medians inside and outside one rationale. */
static int split_importance(const evaluation *ev, eval_rationale *x) {
    const eval_example *of = &ev->examples[x->example];
    size_t n = of->record->collection.n_features, length = (size_t)x->length, outside = 0;
    unsigned char *is_inside = cli_grab(n, 1);
    double *values = cli_grab(n, sizeof *values);
    if (is_inside && values) {
        for (size_t i = 0; i < length; i++) {
            is_inside[x->features[i]] = 1;
            values[i] = of->importance[x->features[i]];
        }
        x->inside = eval_median(values, length);
        for (size_t f = 0; f < n; f++)
            if (!is_inside[f])
                values[outside++] = of->importance[f];
        x->outside = eval_median(values, outside);
    }
    int status = is_inside && values ? CLI_DONE : CLI_FAILED;
    free(is_inside);
    free(values);
    return status;
}

int eval_model(evaluation *ev) {
    int status = find_inputs(ev);
    if (status == CLI_DONE)
        status = score_examples(ev);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
        status = score_rationales(ev, &ev->methods[k]);
    if (status == CLI_DONE)
        status = measure_importance(ev);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
        for (size_t i = 0; status == CLI_DONE && i < ev->methods[k].n_items; i++)
            status = split_importance(ev, &ev->methods[k].items[i]);
    return status;
}

/* ---- People ---------------------------------------------------------------------------------- */

/* Has a person marked anything that the model gets to see? */
static int is_marked(const eval_example *x) {
    return x->record->human && x->record->n_human > 0;
}

/* The marked features of an example in order, so that looking one up costs no more than the
 * list. */
static int *sort_marks(const sis_record *r) {
    int *sorted = cli_grab(r->n_human, sizeof *sorted);
    if (sorted) {
        memcpy(sorted, r->human, r->n_human * sizeof *sorted);
        qsort(sorted, r->n_human, sizeof *sorted, cli_by_number);
    }
    return sorted;
}

/* The share of each rationale that a person marked as well. */
static int share_marked(const evaluation *ev, eval_method *m) {
    for (size_t i = 0; i < m->n_items; i++) {
        eval_rationale *x = &m->items[i];
        const sis_record *r = ev->examples[x->example].record;
        size_t both = 0;
        if (!is_marked(&ev->examples[x->example]))
            continue;
        int *marks = sort_marks(r);
        if (!marks)
            return CLI_FAILED;
        for (size_t k = 0; k < (size_t)x->length; k++)
            both +=
                bsearch(&x->features[k], marks, r->n_human, sizeof *marks, cli_by_number) != NULL;
        x->marked = (double)both / x->length;
        free(marks);
    }
    return CLI_DONE;
}

/* QHS of every example with marks: the score of the marked words less that of all, turned round for
 * decisions "<=". */
static int measure_quality(evaluation *ev) {
    sis_part *parts = cli_grab(ev->n_examples, sizeof *parts);
    size_t n = 0;
    for (size_t e = 0; parts && e < ev->n_examples; e++) {
        const eval_example *x = &ev->examples[e];
        if (is_marked(x))
            parts[n++] = (sis_part){&x->input, x->record->human, x->record->n_human, 0};
    }
    double *scores = parts ? score_parts(ev, &ev->task.model, parts, n) : NULL;
    for (size_t e = 0, k = 0; scores && e < ev->n_examples; e++) {
        eval_example *x = &ev->examples[e];
        if (!is_marked(x))
            continue;
        x->human_score = scores[k++];
        x->qhs = x->human_score - x->record->collection.score;
        x->qhs = x->record->below ? -x->qhs : x->qhs;
    }
    int status = scores ? CLI_DONE : CLI_FAILED;
    free(parts);
    free(scores);
    return status;
}

int eval_human(evaluation *ev) {
    int status = CLI_DONE;
    for (size_t e = 0; e < ev->n_examples; e++)
        ev->n_human += (size_t)is_marked(&ev->examples[e]);
    if (ev->n_human == 0)
        return cli_error("--human: no explained record of %s has features that a person marked "
                         "(field \"human\"); explain an input that has them",
                         ev->methods[0].shelf.path);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
        status = share_marked(ev, &ev->methods[k]);
    if (status == CLI_DONE)
        status = eval_tokens(ev);
    return status == CLI_DONE && ev->with_model ? measure_quality(ev) : status;
}
