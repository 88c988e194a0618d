/* SPDX-License-Identifier: MIT
 *
 * Incremental walks: what a network answers when one more feature is masked, without running the
 * whole of it again. Every walk keeps the activations of the present masked input (the *base*) up
 * to some layer (the *cut*), works out for each candidate what the cut would hold if that feature
 * were masked too, and runs the rest of the network (the *head*) for all candidates as one batch.
 *
 *     walk.c            one input as every rule sees it; the table of rules
 *     head.c            from the cut to margins, in batches
 *     net/window/window.c     convolution, pooling, element-wise: only a window changes
 *     dense.c      a dense layer on the input: the change is one column
 *     recurrent.c  LSTM, GRU: states before the masked position stay
 *     trees.c      tree ensembles and linear models: only what reads the feature
 *
 * A rule that does not fit a network answers SIS_E_UNSUPPORTED and the next one is asked; the last
 * answer is that there is no walk, and the core predicts every masked copy.
 *
 * Margins of a walk may differ from a full pass by rounding. How much it may be is the walk's
 * `tolerance` (sis.h); a walk whose arithmetic is that of a full pass, operation for operation,
 * says 0.
 */
#ifndef SIS_NET_WALK_WALK_H
#define SIS_NET_WALK_WALK_H

#include <sis/sis.h>

#include "net/plan/net.h"

/* A few words for people. */
typedef struct sis__note {
    char text[40];
} sis__note;

/* One input. Rules read it; walk.c owns it. */
typedef struct sis__subject {
    const sis_net *net;
    const sis_input *input;
    int embedded; /* values are embeddings */
    int fed;      /* value of the graph that rows go into: net->input, or net->embedded */
    size_t n_values, n_features;
    size_t *start; /* (n_features + 1) feature i owns value[start[i] .. start[i + 1]) */
    size_t *value;
    float *x, *z; /* (n_values) input and mask in single precision */
    size_t output;
    size_t memory; /* bytes a walk should stay below */
    sis__note
        *notes; /* (nodes of the graph) what a rule says of each it takes in; NULL: not asked */
} sis__subject;

/* Say how a step takes part in the walk. Steps that nothing is said of are the head's. */
void sis__subject_note(const sis__subject *s, const sis__step *step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A rule: makes a walk over the subject, which it borrows. The walk's `ops->free` frees all it
 * made. */
typedef int (*sis__rule_new)(const sis__subject *s, sis_walk **out);

int sis__walk_window_new(const sis__subject *s, sis_walk **out);
int sis__walk_dense_new(const sis__subject *s, sis_walk **out);
int sis__walk_recurrent_new(const sis__subject *s, sis_walk **out);
int sis__walk_trees_new(const sis__subject *s, sis_walk **out);

/* The input with these features (flags) masked, and `top` too unless it is negative: (n_values). */
void sis__subject_row(const sis__subject *s, const unsigned char *masked, int top, float *row);

/* Margins by full passes with these features masked and each of tops[0..n) on top (-1: nothing). */
int sis__subject_margins(const sis__subject *s, const unsigned char *masked, const int *tops,
                         size_t n, double *margins);

/* A plan of one row of the subject from its input to `output` (a value; -1: what the last
 * activation reads) that keeps every activation. */
int sis__subject_plan(const sis__subject *s, int output, sis__plan **plan);

/* What the rule behind a walk says of the nodes of this network; NULL if it is no walk over it. */
const sis__note *sis__walk_notes(const sis_walk *w, const sis_net *net);

/* ---- Head ---------------------------------------------------------------------------------- */

typedef struct sis__head sis__head;

/* The network from value `cut`, whose shape for one row is that of `like`, to the subject's output.
 * SIS_E_UNSUPPORTED if more than the cut is needed to go on. The cut may be the pre-activation of
 * the output itself. */
int sis__head_new(const sis__subject *s, int cut, const sis__tensor *like, sis__head **out);
void sis__head_free(sis__head *h);

/* The same from several values at once: a row holds them one behind the other. */
typedef struct sis__cut {
    int value;
    const sis__tensor *like;
} sis__cut;
int sis__head_new_cuts(const sis__subject *s, const sis__cut *cuts, size_t n, sis__head **out);

/* rows (n, width of the cut) -> margins (n). Row by row the same to the bit as a full pass from
 * there on, whatever n. */
int sis__head_margins(sis__head *h, const float *rows, size_t n, double *margins);

/* The dense layer that is all of a head, and what is added to it (or NULL); NULL if that is more or
 * something else. */
const sis__gemm *sis__head_gemm(const sis__head *h, const float **bias);

/* The plan of one row. */
const sis__plan *sis__head_plan(const sis__head *h);

/* The largest number in front of the last activation after a call for one row: what margins are
 * differences of, and rounding is relative to. */
double sis__head_size(const sis__head *h);

#endif
