/* SPDX-License-Identifier: MIT
 *
 * What the files of the core share. The way through them:
 *
 *     input.c      input -> which values make up each feature, which features change nothing
 *     batch.c      the batch walk: any model, full passes only
 *     walk.c       one walk over one input: the model's own or the batch walk, with what is masked
 *     select.c     backward selection over a walk -> order and trace
 *     collect.c    selections -> subsets, judged by full passes -> collection
 *     again.c      is the model a function: what a collection claims, asked again
 *     verify.c     the same judgement of somebody else's collection
 *     many.c       many inputs on several threads, results in order
 *     predict.c    plain scores; model_per_thread.c: one copy of the model a thread
 *     mask.c, options.c
 *
 * A *margin* is what a model answers; a *score* is link(margin). Ranking uses margins, everything
 * that leaves the core are scores.
 */
#ifndef SIS_CORE_H
#define SIS_CORE_H

#include <sis/sis.h>

#include "core/input.h"

/* ---- options.c ------------------------------------------------------------------------------ */

/* The caller's options, which may be shorter than this library's: fields that it does not know have their defaults.
 * SIS_E_ARGUMENT: they cannot be used. sis__opt_copy does not look at what they say. */
int sis__opt_take(const sis_opt *given, sis_opt *out);
int sis__opt_copy(const sis_opt *given, sis_opt *out);

/* ---- model_per_thread.c, predict.c --------------------------------------------------------- */

typedef struct sis__model_per_thread {
    int n, made;       /* threads, models so far */
    sis_model *models; /* (n) */
} sis__model_per_thread;

/* jobs as in sis_opt, at most one thread an item. */
int sis__model_per_thread_init(const sis_model *model, int jobs, size_t items,
                               sis__model_per_thread *out);
void sis__model_per_thread_release(sis__model_per_thread *c);

/* One more question if the model wants it (m->confirm): fails if an answer before was not its own.
 * row (width) */
int sis__model_confirm(const sis_model *m, const double *row, size_t width);

/* Failure of one of several inputs: "example NAME: ...", its number if it has no name. */
int sis__example_fail(int code, const sis_input *inputs, size_t i, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- walk.c -------------------------------------------------------------------------------- */

/* What the library keeps about a walk. */
typedef struct sis_walk_state {
    const sis_model *model;
    const sis_input *input;
    sis_opt opt;
    sis__prepared_input features;
    unsigned char *masked;  /* (n) now */
    double (*link)(double); /* NULL: a margin is a score */
    double margin;          /* of the present state, by a full pass where one was made */
    double walked;          /* the same as the walk itself answered it */
    sis_walk *walk;         /* what answers probes */
    sis_walk *judge;        /* full passes: the batch walk; the same as `walk` if that is one */
    double fraction;        /* progress of the backward selection under way */
    int selections;         /* how many came before it */
    int collecting;         /* more may follow, up to opt.max_subsets */
    double told;            /* when progress was last reported */
    int limited, cut;       /* do the limits count? has one been reached? */
    double began;           /* seconds */
} sis_walk_state;

double sis__score(const sis_walk_state *s, double margin);

/* Margin with exactly these features masked, by a full pass. Leaves the judge there, so that
 * sis__judge_probe can ask what one more would do; the walk itself is to be reset afterwards. */
int sis__judge_reset(sis_walk_state *s, const unsigned char *masked, double *margin);
int sis__judge_probe(sis_walk_state *s, const int *features, size_t n, double *margins);

size_t sis__evaluations(const sis_walk_state *s);

/* Tell the caller how far we are; SIS_E_CANCELLED if it wants no more, or a limit has been reached (s->cut). */
int sis__tick(sis_walk_state *s);

/* ---- batch.c ------------------------------------------------------------------------------- */

/* The batch walk over state->input; borrows the state. */
int sis__batch_new(sis_walk_state *state, sis_walk **out);

/* Follow another walk's mask without evaluating anything. */
void sis__batch_follow(sis_walk *batch, int feature);
void sis__batch_follow_reset(sis_walk *batch, const unsigned char *masked);

/* Margin of the present state. */
int sis__batch_margin(sis_walk *batch, double *margin);

/* ---- select.c ------------------------------------------------------------------------------ */

/* sis_backselect that also tells the margins after each step, unless NULL. If a limit ends it (s->cut),
 * the trace holds the steps until then. */
int sis__backselect(sis_walk_state *s, const sis_opt *opt, sis_trace *out, double *margins);

/* Is a margin of the walk so close to the threshold that rounding could decide? */
int sis__unsure(const sis_walk_state *s, const sis_opt *opt, double margin);

#endif
