/* SPDX-License-Identifier: MIT
 *
 * Subsets under other masks than the one they were found with (--robust), and the study that
 * compares a mask with hot-deck values one feature at a time (--imputation). The hot deck is the
 * input file: all its examples that --rows leaves. Words and bases may come from anywhere in it,
 * other features from the same place.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "evaluate.h"

enum { BLOCK = 64 }; /* rationales tried together */

/* Its inputs are kept by ev, which outlives the deck. */
int eval_open_deck(evaluation *ev, sis_deck **deck) {
    const cli_task *t = &ev->task;
    int anywhere =
        cli_is_token(t) || (sis_kind_of(sis_data_kind(t->data)) == SIS_KIND_DNA && t->by_default);
    size_t n = 0;
    if (!ev->donors && !(ev->donors = cli_grab(t->n, sizeof *ev->donors)))
        return CLI_FAILED;
    for (size_t i = 0; i < t->n; i++)
        if (!t->examples[i].excuse)
            ev->donors[n++] = t->inputs[i];
    return cli_fail(sis_deck_new(ev->donors, n, anywhere, deck));
}

/* How the features of an example lie: in a row, in a grid, or nowhere (height 0). */
static void find_grid(const evaluation *ev, const sis_record *r, size_t *height, size_t *width) {
    size_t n = r->collection.n_features;
    *height = *width = 0;
    if (cli_is_token(&ev->task) || r->sequence) {
        *height = 1;
        *width = n;
        return;
    }
    if (sis_kind_of(r->kind) != SIS_KIND_IMAGE)
        return;
    for (size_t a = 0; r->shape && a + 1 < r->rank && *height == 0; a++)
        if (r->shape[a] <= n / r->shape[a + 1] && r->shape[a] * r->shape[a + 1] == n) {
            *height = r->shape[a];
            *width = r->shape[a + 1];
        }
}

/* ---- A second mask --------------------------------------------------------------------------- */

/* What to mask by if the user does not say. */
const char *eval_second_mask(const evaluation *ev) {
    return ev->o->second_mask ? ev->o->second_mask : cli_is_token(&ev->task) ? "pad" : "zero";
}

/* Is it any different from the first? Masks of token models differ by what they are called only. */
static int differs(const evaluation *ev, const cli_task *second) {
    const sis_input *a = &ev->task.inputs[0], *b = &second->inputs[0];
    size_t n = a->n_values * a->n_samples;
    if (cli_is_token(&ev->task))
        return !ev->o->question.mask || strcmp(ev->o->question.mask, eval_second_mask(ev)) != 0;
    return a->n_samples != b->n_samples || memcmp(a->mask, b->mask, n * sizeof *a->mask) != 0;
}

/* A task of its own: some masks change what a model understands by one. */
static int open_second(const evaluation *ev, cli_task *second) {
    cli_question q = ev->o->question;
    q.mask = eval_second_mask(ev);
    int status = cli_task_open(second, &ev->o->source, &q);
    if (status == CLI_DONE && !differs(ev, second))
        status = cli_error("--robust: the second mask (%s) is the same as the first; name another "
                           "with --second-mask",
                           q.mask);
    return status;
}

static int try_second(const evaluation *ev, const cli_task *second, const sis_input *inputs,
                      eval_method *m) {
    double *scores = eval_score_alone(ev, m, &second->model, inputs);
    for (size_t i = 0; scores && i < m->n_items; i++) {
        m->items[i].second = scores[i];
        m->items[i].second_holds = eval_enough(m->of[m->items[i].example], scores[i]);
    }
    int status = scores ? CLI_DONE : CLI_FAILED;
    free(scores);
    return status;
}

static int robust_second(evaluation *ev) {
    cli_task second = {0};
    sis_input *inputs = cli_grab(ev->n_examples, sizeof *inputs);
    int status = inputs ? open_second(ev, &second) : CLI_FAILED;
    if (status == CLI_DONE && second.n != ev->task.n)
        status = cli_error("%s changed while it was read", ev->o->source.input);
    for (size_t e = 0; status == CLI_DONE && e < ev->n_examples; e++) {
        inputs[e] = second.inputs[ev->examples[e].at];
        inputs[e].output = ev->examples[e].record->output;
    }
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++)
        status = try_second(ev, &second, inputs, &ev->methods[k]);
    free(inputs);
    cli_task_close(&second);
    return status;
}

/* ---- Hot-deck and neighbours ----------------------------------------------------------------- */

/* Rationales from `first` on that can be tried together: of the same example, so that the decision
 * and the grid are the same. */
static size_t block_of(const eval_method *m, size_t first) {
    size_t n = 1;
    while (first + n < m->n_items && n < BLOCK &&
           m->items[first + n].example == m->items[first].example)
        n++;
    return n;
}

static int try_block(const evaluation *ev, eval_method *m, size_t first, size_t n,
                     sis_robust_opt *robust) {
    eval_rationale *items = &m->items[first];
    const sis_record *r = m->of[items[0].example];
    sis_part parts[BLOCK];
    sis_robustness found[BLOCK];
    sis_opt opt;
    eval_options_of(ev, r, &opt);
    find_grid(ev, r, &robust->height, &robust->width);
    robust->seed = ev->o->question.seed + items[0].example * BLOCK;
    for (size_t i = 0; i < n; i++)
        parts[i] = (sis_part){&ev->examples[items[i].example].input, items[i].features,
                              (size_t)items[i].length, 0};
    int error = sis_robustness_measure(&ev->task.model, parts, n, &opt, robust, found);
    for (size_t i = 0; !error && i < n; i++) {
        items[i].deck = found[i].deck;
        items[i].deck_holds = found[i].deck_holds;
        items[i].around = found[i].around;
        items[i].around_holds = found[i].around_holds;
        items[i].half = found[i].half;
        items[i].half_holds = found[i].half_holds;
    }
    return error;
}

static int robust_deck(evaluation *ev, eval_method *m, const sis_deck *deck, cli_progress *bar) {
    sis_robust_opt robust = {
        .deck = deck, .samples = cli_draws(&ev->o->question), .distance = ev->o->around};
    for (size_t i = 0, n; i < m->n_items; i += n) {
        n = block_of(m, i);
        int error = try_block(ev, m, i, n, &robust);
        if (error) {
            cli_progress_end(bar);
            return cli_fail(error);
        }
        sis_progress p = {.inputs = m->n_items, .inputs_done = i + n};
        cli_progress_show(bar, &p);
    }
    return CLI_DONE;
}

int eval_robust(evaluation *ev) {
    sis_deck *deck = NULL;
    int status = robust_second(ev);
    if (status == CLI_DONE)
        status = eval_open_deck(ev, &deck);
    for (size_t k = 0; status == CLI_DONE && k < ev->n_methods; k++) {
        cli_progress bar;
        cli_progress_init(&bar, ev->o->common.quiet);
        status = robust_deck(ev, &ev->methods[k], deck, &bar);
        cli_progress_end(&bar);
    }
    sis_deck_free(deck);
    return status;
}

/* ---- The study of masks ---------------------------------------------------------------------- */

int eval_imputation(evaluation *ev) {
    eval_study *s = &ev->study;
    sis_deck *deck = NULL;
    sis_opt opt;
    sis_opt_init(&opt);
    opt.jobs = (int)ev->o->source.jobs;
    opt.memory = ev->o->question.memory << 20;
    s->n = ev->o->draws;
    s->by_mask = cli_grab(s->n, sizeof *s->by_mask);
    s->by_deck = cli_grab(s->n, sizeof *s->by_deck);
    int status = s->by_mask && s->by_deck ? eval_open_deck(ev, &deck) : CLI_FAILED;
    if (status == CLI_DONE)
        status = cli_fail(sis_deck_study(deck, &ev->task.model, &opt, s->n, ev->o->question.seed,
                                         s->by_mask, s->by_deck));
    sis_deck_free(deck);
    return status;
}
