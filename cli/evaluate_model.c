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

#include "base/mem.h"
#include "evaluate.h"
#include "spread.h"

void eval_options_of(const evaluation *ev, const sis_record *r, sis_opt *opt) {
    sis_opt_init(opt);
    opt->threshold = r->question.threshold;
    opt->below = r->question.below;
    opt->jobs = cli_jobs(&ev->o->source);
    opt->memory = ev->o->question.memory << 20;
}

/* ---- Inputs ---------------------------------------------------------------------------------- */

/* The input that a record is about, or NULL after an error line. */
static const sis_input *find_input(const evaluation *ev, const eval_method *m, size_t example) {
    const sis_record *r = m->of[example];
    const sis_input *in = cli_record_input(&ev->task, m->results.name, r);
    if (!in)
        return NULL;
    long n = sis_input_features(in);
    if (n >= 0 && (size_t)n == r->collection.n_features)
        return in;
    if (n < 0)
        cli_fail((int)n);
    else
        cli_error("%s: record \"%s\" has %zu features, the input has %ld; give the same --features",
                  m->results.name, r->id, r->collection.n_features, n);
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
            x->input.output = x->record->question.target;
        }
    }
    return status;
}

/* ---- Scores ---------------------------------------------------------------------------------- */

/* Scores are float32 inside networks and may come from other machines. */
static int agree(double a, double b) {
    return a == b || fabs(a - b) <= 1e-4 * (1 + fabs(a));
}

static int check_whole(const evaluation *ev, size_t e, double score) {
    const sis_record *r = ev->examples[e].record;
    if (agree(r->collection.score, score))
        return CLI_DONE;
    return cli_error(
        "%s: record \"%s\" has a score of %g, this model gives %g; give the --model it "
        "was made with (%s)",
        ev->methods[0].results.name, r->id, r->collection.score, score, r->model);
}

size_t eval_n_alone(const evaluation *ev, size_t e) {
    size_t n = 0;
    for (size_t k = 0; k < ev->n_methods; k++)
        n += ev->methods[k].first[e + 1] - ev->methods[k].first[e];
    return n;
}

void eval_alone(const evaluation *ev, size_t e, const sis_input *inputs, sis_part *parts) {
    const sis_input *in = inputs ? &inputs[e] : &ev->examples[e].input;
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t i = ev->methods[k].first[e]; i < ev->methods[k].first[e + 1]; i++) {
            const eval_rationale *x = &ev->methods[k].items[i];
            *parts++ = (sis_part){in, x->features, (size_t)x->length, 0};
        }
}

static int check_part(const eval_method *m, eval_rationale *x, double score) {
    const sis_record *r = m->of[x->example];
    if (!agree(x->score, score))
        return cli_error("%s: record \"%s\": subset %zu alone has a score of %g, the model gives "
                         "%g now; give the --mask, --features, --samples and --seed it was made "
                         "with",
                         m->results.name, r->id, x->subset, x->score, score);
    x->score = score;
    x->sufficient = eval_enough(r, score);
    return CLI_DONE;
}

/* ---- What an example is asked ---------------------------------------------------------------- */

/* Has a person marked anything that the model gets to see? */
static int is_marked(const eval_example *x) {
    return x->record->drawing.human && x->record->drawing.n_human > 0;
}

/* The whole, each rationale, what a person marked; then the importance of every feature. */
static size_t count_scores(const evaluation *ev, size_t e) {
    return 1 + eval_n_alone(ev, e) + (size_t)(ev->o->human && is_marked(&ev->examples[e]));
}

static size_t count_numbers(const evaluation *ev, size_t e) {
    return count_scores(ev, e) + ev->examples[e].record->collection.n_features;
}

static int find_numbers(const evaluation *ev, size_t e, const sis_model *model, const sis_opt *opt,
                        double *numbers) {
    const eval_example *x = &ev->examples[e];
    size_t n = count_scores(ev, e), alone = eval_n_alone(ev, e);
    sis_part *parts = SIS_NEW(sis_part, n);
    if (!parts)
        return SIS_E_NOMEM;
    parts[0] = (sis_part){.input = &x->input, .without = 1};
    eval_alone(ev, e, NULL, parts + 1);
    if (n > 1 + alone)
        parts[1 + alone] =
            (sis_part){&x->input, x->record->drawing.human, x->record->drawing.n_human, 0};
    int error = sis_part_scores(model, parts, n, opt, numbers);
    free(parts);
    return error == SIS_OK ? sis_importance(model, &x->input, opt, numbers + n) : error;
}

/* QHS of an example with marks: the score of the marked words less that of all, turned round for
 * decisions "<=". */
static void keep_quality(eval_example *x, double score) {
    x->human_score = score;
    x->qhs = score - x->record->collection.score;
    x->qhs = x->record->question.below ? -x->qhs : x->qhs;
}

static int keep_numbers(evaluation *ev, size_t e, const double *numbers) {
    eval_example *x = &ev->examples[e];
    size_t n = x->record->collection.n_features;
    const double *at = numbers, *importance = numbers + count_scores(ev, e);
    int status = check_whole(ev, e, *at++);
    for (size_t k = 0; k < ev->n_methods; k++)
        for (size_t i = ev->methods[k].first[e]; i < ev->methods[k].first[e + 1]; i++, at++)
            if (status == CLI_DONE)
                status = check_part(&ev->methods[k], &ev->methods[k].items[i], *at);
    if (at < importance)
        keep_quality(x, *at);
    x->importance = cli_grab(n, sizeof *x->importance);
    if (!x->importance)
        return CLI_FAILED;
    memcpy(x->importance, importance, n * sizeof *importance);
    return status;
}

/* ---- Importance ------------------------------------------------------------------------------ */

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
        status =
            eval_each(ev, &(eval_measure){&ev->task, count_numbers, find_numbers, keep_numbers});
    for (size_t k = 0; status == CLI_DONE && cli_leads() && k < ev->n_methods; k++)
        for (size_t i = 0; status == CLI_DONE && i < ev->methods[k].n_items; i++)
            status = split_importance(ev, &ev->methods[k].items[i]);
    return status;
}

/* ---- People ---------------------------------------------------------------------------------- */

/* The marked features of an example in order, so that looking one up costs no more than the
 * list. */
static int *sort_marks(const sis_record *r) {
    int *sorted = cli_grab(r->drawing.n_human, sizeof *sorted);
    if (sorted) {
        memcpy(sorted, r->drawing.human, r->drawing.n_human * sizeof *sorted);
        qsort(sorted, r->drawing.n_human, sizeof *sorted, cli_by_number);
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
            both += bsearch(&x->features[k], marks, r->drawing.n_human, sizeof *marks,
                            cli_by_number) != NULL;
        x->marked = (double)both / x->length;
        free(marks);
    }
    return CLI_DONE;
}

int eval_human(evaluation *ev) {
    int status = CLI_DONE;
    for (size_t e = 0; e < ev->n_examples; e++)
        ev->n_human += (size_t)is_marked(&ev->examples[e]);
    if (ev->n_human == 0)
        return cli_error("--human: no explained record of %s has features that a person marked "
                         "(field \"human\"); explain an input that has them",
                         ev->methods[0].results.name);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
        status = share_marked(ev, &ev->methods[k]);
    return status == CLI_DONE ? eval_tokens(ev) : status;
}
