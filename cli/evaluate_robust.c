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

#include "base/mem.h"
#include "evaluate.h"

enum { BLOCK = 64 }; /* rationales tried together */

/* Can values of two examples change places? */
static int same_shape(const cli_task *t, size_t a, size_t b) {
    return t->inputs[a].n_values == t->inputs[b].n_values &&
           sis_task_model_of(t->task, &t->examples[a]) ==
               sis_task_model_of(t->task, &t->examples[b]);
}

/* Its inputs are kept by ev, which outlives the deck. */
int eval_open_deck(evaluation *ev, const char *option, sis_deck **deck) {
    const cli_task *t = &ev->task;
    int anywhere =
        cli_is_token(t) || (sis_kind_of(sis_data_kind(t->data)) == SIS_KIND_DNA && t->by_default);
    size_t n = 0, first = 0;
    if (!ev->donors && !(ev->donors = cli_grab(t->n, sizeof *ev->donors)))
        return CLI_FAILED;
    for (size_t i = 0; i < t->n; i++) {
        if (t->examples[i].excuse)
            continue;
        first = n == 0 ? i : first;
        if (!anywhere && !same_shape(t, first, i))
            return cli_error(
                "%s puts in what other examples have in the same place, but \"%s\" has "
                "another shape than \"%s\"; take examples of one shape (--rows)",
                option, t->ids[i], t->ids[first]);
        ev->donors[n++] = t->inputs[i];
    }
    return cli_fail(
        sis_deck_new(ev->donors, n, anywhere ? SIS_DECK_ANYWHERE : SIS_DECK_FEATURES, deck));
}

/* How the features of an example lie: in a row, in a grid, or nowhere (height 0). */
static void find_grid(const evaluation *ev, const sis_record *r, size_t *height, size_t *width) {
    size_t n = r->collection.n_features;
    *height = *width = 0;
    if (cli_is_token(&ev->task) || r->drawing.sequence) {
        *height = 1;
        *width = n;
        return;
    }
    if (sis_kind_of(r->drawing.kind) != SIS_KIND_IMAGE)
        return;
    for (size_t a = 0; r->drawing.shape && a + 1 < r->drawing.rank && *height == 0; a++)
        if (r->drawing.shape[a] <= n / r->drawing.shape[a + 1] &&
            r->drawing.shape[a] * r->drawing.shape[a + 1] == n) {
            *height = r->drawing.shape[a];
            *width = r->drawing.shape[a + 1];
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

static int find_second(const evaluation *ev, size_t e, const sis_model *model, const sis_opt *opt,
                       double *scores) {
    size_t n = eval_n_alone(ev, e);
    sis_part *parts = SIS_NEW(sis_part, n);
    if (!parts)
        return SIS_E_NOMEM;
    eval_alone(ev, e, ev->second, parts);
    int error = sis_part_scores(model, parts, n, opt, scores);
    free(parts);
    return error;
}

static int keep_second(evaluation *ev, size_t e, const double *scores) {
    for (size_t k = 0; k < ev->n_methods; k++) {
        eval_method *m = &ev->methods[k];
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++) {
            m->items[i].second = *scores++;
            m->items[i].second_holds = eval_enough(m->of[e], m->items[i].second);
        }
    }
    return CLI_DONE;
}

static int robust_second(evaluation *ev) {
    cli_task second = {0};
    ev->second = cli_grab(ev->n_examples, sizeof *ev->second);
    int status = ev->second ? open_second(ev, &second) : CLI_FAILED;
    if (status == CLI_DONE && second.n != ev->task.n)
        status = cli_error("%s changed while it was read", ev->o->source.input);
    for (size_t e = 0; status == CLI_DONE && e < ev->n_examples; e++) {
        ev->second[e] = second.inputs[ev->examples[e].at];
        ev->second[e].output = ev->examples[e].record->question.target;
    }
    if (status == CLI_DONE)
        status = eval_each(ev, &(eval_measure){&second, eval_n_alone, find_second, keep_second});
    free(ev->second);
    ev->second = NULL;
    cli_task_close(&second);
    return status;
}

/* ---- Hot-deck and neighbours ----------------------------------------------------------------- */

enum { EACH = sizeof(sis_robustness) / sizeof(double) }; /* numbers of a rationale */

static size_t count_robust(const evaluation *ev, size_t e) {
    return EACH * eval_n_alone(ev, e);
}

/* Rationales of one method and example: so that the decision and the grid are the same. */
static int try_method(const evaluation *ev, const eval_method *m, size_t e, const sis_model *model,
                      const sis_opt *opt, sis_robustness *found) {
    sis_robust_opt robust = {.deck = ev->deck,
                             .samples = cli_draws(&ev->o->question),
                             .seed = ev->o->question.seed + e * BLOCK,
                             .distance = ev->o->around};
    int error = SIS_OK;
    find_grid(ev, m->of[e], &robust.height, &robust.width);
    for (size_t i = m->first[e], n; error == SIS_OK && i < m->first[e + 1]; i += n, found += n) {
        sis_part parts[BLOCK];
        n = m->first[e + 1] - i < BLOCK ? m->first[e + 1] - i : BLOCK;
        for (size_t k = 0; k < n; k++)
            parts[k] = (sis_part){&ev->examples[e].input, m->items[i + k].features,
                                  (size_t)m->items[i + k].length, 0};
        error = sis_robustness_measure(model, parts, n, opt, &robust, found);
    }
    return error;
}

static int find_robust(const evaluation *ev, size_t e, const sis_model *model, const sis_opt *opt,
                       double *numbers) {
    sis_robustness *found = (sis_robustness *)(void *)numbers;
    int error = SIS_OK;
    for (size_t k = 0; error == SIS_OK && k < ev->n_methods; k++) {
        const eval_method *m = &ev->methods[k];
        error = try_method(ev, m, e, model, opt, found);
        found += m->first[e + 1] - m->first[e];
    }
    return error;
}

static int keep_robust(evaluation *ev, size_t e, const double *numbers) {
    const sis_robustness *found = (const sis_robustness *)(const void *)numbers;
    for (size_t k = 0; k < ev->n_methods; k++) {
        eval_method *m = &ev->methods[k];
        for (size_t i = m->first[e]; i < m->first[e + 1]; i++, found++) {
            m->items[i].deck = found->deck;
            m->items[i].deck_holds = found->deck_holds;
            m->items[i].around = found->around;
            m->items[i].around_holds = found->around_holds;
            m->items[i].half = found->half;
            m->items[i].half_holds = found->half_holds;
        }
    }
    return CLI_DONE;
}

int eval_robust(evaluation *ev) {
    int status = eval_open_deck(ev, "--robust", &ev->deck);
    if (status == CLI_DONE)
        status = robust_second(ev);
    if (status == CLI_DONE)
        status = eval_each(ev, &(eval_measure){&ev->task, count_robust, find_robust, keep_robust});
    sis_deck_free(ev->deck);
    ev->deck = NULL;
    return status;
}

/* ---- The study of masks ---------------------------------------------------------------------- */

int eval_imputation(evaluation *ev) {
    eval_study *s = &ev->study;
    sis_deck *deck = NULL;
    sis_opt opt;
    sis_opt_init(&opt);
    opt.jobs = cli_jobs(&ev->o->source);
    opt.memory = ev->o->question.memory << 20;
    s->n = ev->o->draws;
    s->by_mask = cli_grab(s->n, sizeof *s->by_mask);
    s->by_deck = cli_grab(s->n, sizeof *s->by_deck);
    int status = s->by_mask && s->by_deck ? eval_open_deck(ev, "--imputation", &deck) : CLI_FAILED;
    if (status == CLI_DONE)
        status = cli_fail(sis_deck_study(deck, &ev->task.model, &opt, s->n, ev->o->question.seed,
                                         s->by_mask, s->by_deck));
    sis_deck_free(deck);
    return status;
}
