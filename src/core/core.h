/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of the core. In the order in which they are used:
 *
 *     input.c      input -> which values make up each feature, which features change nothing
 *     batch.c      the batch walk: any model, full passes only
 *     walk.c       one walk over one input: model walk or batch walk, and what is masked
 *     select.c     backward selection over a walk -> order and trace
 *     collect.c    selections -> subsets, judged by full passes -> collection
 *     again.c      is the model deterministic? repeats what a collection claims
 *     verify.c     the same checks for a collection from elsewhere
 *     many.c       many inputs on several threads, results in order
 *     predict.c    plain scores; model_per_thread.c: one copy of the model per thread
 *     mask.c, options.c
 *
 * A *margin* is what a model returns; a *score* is link(margin). Ranking uses margins; the core's
 * results are scores.
 */
#ifndef SIS_CORE_H
#define SIS_CORE_H

#include <sis/sis.h>
#include <sis/walk.h>

#include "core/input.h"

/* ---- options.c ------------------------------------------------------------------------------ */

/* Copy the caller's options, whose struct may be shorter than this library's: missing fields get
 * their defaults. SIS_E_ARGUMENT: invalid options. sis__opt_copy does not check them. */
int sis__opt_take(const sis_opt *given, sis_opt *out);
int sis__opt_copy(const sis_opt *given, sis_opt *out);

/* ---- model_per_thread.c, predict.c --------------------------------------------------------- */

typedef struct sis__model_per_thread {
    int n, n_models;   /* threads, models created so far */
    sis_model *models; /* (n) */
} sis__model_per_thread;

/* jobs as in sis_opt, at most one thread per item. */
int sis__model_per_thread_init(const sis_model *model, int jobs, size_t items,
                               sis__model_per_thread *out);
void sis__model_per_thread_release(sis__model_per_thread *c);

/* One extra question if the model wants it (m->confirm): fails if an earlier answer was not the
 * model's. row (width) */
int sis__model_confirm(const sis_model *m, const double *row, size_t width);

/* Report the failure of one of several inputs: "example NAME: ...", or its number if it has no
 * name. */
int sis__example_fail(int code, const sis_input *inputs, size_t i, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* ---- walk.c -------------------------------------------------------------------------------- */

/* The library's part of a walk. */
typedef struct sis_walk_state {
    const sis_model *model;
    const sis_input *input;
    sis_opt opt;
    sis__prepared_input features;
    unsigned char *masked;  /* (n) currently masked */
    double (*link)(double); /* NULL: a margin is a score */
    double margin;          /* of the current state, by a full pass where one was made */
    double walked;          /* the same, as returned by the walk */
    sis_walk *walk;         /* answers probes */
    sis_walk *judge;        /* full passes: the batch walk; the same as `walk` if that is one */
    double fraction;        /* progress of the current backward selection */
    int selections;         /* number of selections before it */
    int collecting;         /* more selections may follow, up to opt.max_subsets */
    double last_report;     /* time of the last progress report */
    int limited, cut;       /* do limits apply? has one been reached? */
    double began;           /* start, in seconds */
} sis_walk_state;

double sis__score(const sis_walk_state *s, double margin);

/* Margin with exactly these features masked, by a full pass. The judge stays in this state, so that
 * sis__judge_probe can ask about one more feature; reset the walk itself afterwards. */
int sis__judge_reset(sis_walk_state *s, const unsigned char *masked, double *margin);
int sis__judge_probe(sis_walk_state *s, const int *features, size_t n, double *margins);

size_t sis__evaluations(const sis_walk_state *s);

/* Report progress. SIS_E_CANCELLED if the caller stops the search, or a limit has been reached
 * (s->cut). */
int sis__tick(sis_walk_state *s);

/* ---- batch.c ------------------------------------------------------------------------------- */

/* The batch walk over state->input; borrows the state. */
int sis__batch_new(sis_walk_state *state, sis_walk **out);

/* Mask a feature like another walk did, without evaluating anything. */
void sis__batch_follow(sis_walk *batch, int feature);
void sis__batch_follow_reset(sis_walk *batch, const unsigned char *masked);

/* Margin of the current state. */
int sis__batch_margin(sis_walk *batch, double *margin);

/* ---- select.c ------------------------------------------------------------------------------ */

/* sis_backselect that also returns the margins after each step, unless NULL. If a limit ends it
 * (s->cut), the trace has the steps up to then. */
int sis__backselect(sis_walk_state *s, const sis_opt *opt, sis_trace *out, double *margins);

/* Is this margin of the walk so close to the threshold that rounding could change the decision? */
int sis__unsure(const sis_walk_state *s, const sis_opt *opt, double margin);

#endif
