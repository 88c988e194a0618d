/* SPDX-License-Identifier: MIT
 *
 * Incremental walks: the margin when one more feature is masked, without running the whole network
 * again. Every walk keeps the activations of the current masked input (the *base*) up to some layer
 * (the *cut*), computes for each candidate the values at the cut with that feature masked too, and
 * runs the rest of the network (the *head*) for all candidates as one batch.
 *
 *     walk.c       the driver: everything that rules share
 *     head.c       from the cut to margins, in batches
 *     entry.c      the input of the first layer that mixes values
 *     dense.c      a dense layer on the input: the change is one column
 *     attention.c  transformers: each token separately up to the first attention
 *     recurrent.c  LSTM, GRU: states before the masked position stay (recurrent.h)
 *     trees.c      tree ensembles and linear models: only the terms of the feature change
 *     window.c     convolution, pooling, element-wise: only a window changes (window.h)
 *     slice.c      a score per pixel or token: only what one of them depends on
 *
 * A *rule* knows one kind of network up to its cut and answers one question: what are the values at
 * the cut if feature j is masked too? The driver does the rest. It collects rows and runs the head
 * on blocks of them, keeps margins of candidates that have not changed, skips candidates that
 * cannot be the best, distinguishes candidates that change nothing from those that give the same
 * margin by chance, measures the difference to full passes, and replaces NaN by the result of a
 * full pass. If asked to choose by cost, it switches to full passes when an exact rule needs more
 * work than they do.
 *
 * To add a rule, write a file that defines a sis__rule and add a row to SIS__RULES below. A rule
 * that does not fit a network returns SIS_E_UNSUPPORTED and the next one is tried. If none fits,
 * there is no walk and the core predicts every masked copy.
 *
 * Margins of a walk may differ from a full pass by rounding, by at most the walk's `tolerance`
 * (sis.h). It is 0 for a walk that repeats the arithmetic of a full pass.
 */
#ifndef SIS_NET_WALK_WALK_H
#define SIS_NET_WALK_WALK_H

#include <sis/sis.h>

#include "base/arena.h"
#include "core/input.h"
#include "net/plan/net.h"

/* A short description for users. */
typedef struct sis__note {
    char text[40];
} sis__note;

typedef struct sis__entry sis__entry;

/* A prepared input, and the network that it is fed to. Rules read it; walk.c owns it. */
typedef struct sis__net_input {
    const sis_net *net;
    int embedded;           /* rows are embeddings */
    int fed;                /* value of the graph that takes rows: net->input or net->embedded */
    sis__prepared_input in; /* also in single precision */
    sis_net_shape shape;    /* of the row; rank 0: it follows from the number of values */
    size_t output;          /* index of the explained output */
    size_t memory;          /* limit for the memory of a walk, in bytes */
    double copies;          /* number of masked copies of a selection; INFINITY: unlimited */
    sis__entry *entry;      /* input of its first layer (entry.h); NULL: not available */
    sis__note *notes;       /* (nodes of the graph) a rule's notes about its nodes */
} sis__net_input;

/* Describe the role of a step in the walk. Steps without a note belong to the head. */
void sis__net_input_note(const sis__net_input *s, const sis__step *step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Rules --------------------------------------------------------------------------------- */

/* A rule's answer about a candidate's row. */
typedef enum sis__change {
    SIS__NOTHING, /* masking it provably changes nothing: its margin is that of the current state */
    SIS__AS_BEFORE, /* the same row as in the last request since the last reset */
    SIS__CHANGED    /* the row was written */
} sis__change;

typedef struct sis__rule sis__rule;
typedef struct sis__head sis__head;

/* A rule in use for one input. The rule's own struct begins with this. */
typedef struct sis__rule_instance {
    /* Set by the driver, which frees the head, the memory and the struct at the end. */
    const sis__rule *rule;
    const sis__net_input *s;
    sis__arena memory; /* for everything that the rule allocates: SIS_ARENA */

    /* Set by `open`. */
    sis__head *head; /* from the cut on */
    size_t width;    /* of a row, in floats; 0: `margins` needs no rows */
    size_t stride;   /* distance of rows, at least the width; 0: the width */
    size_t block;    /* rows per block; 0: the driver chooses */
    int exact;       /* margins have the bits of full passes; else the error is measured */
    double work; /* operations since it was opened, counted as in plans, without the head. 0: never
               * more than a full pass */
} sis__rule_instance;

/* Functions of a rule. Features are present ones unless said otherwise. */
struct sis__rule {
    const char *name;
    size_t bytes;    /* of its struct, which is zeroed before `open` */
    int keeps_entry; /* s->entry is needed while it is in use, not only in `open` */
    int min_copies;  /* number of masked copies from which on it is worthwhile */

    /* Start work on r->s. Memory should stay below s->memory. */
    int (*open)(sis__rule_instance *r);

    /* Restart with these features (flags) masked; mask one more, whose row was requested last. */
    int (*reset)(sis__rule_instance *r, const unsigned char *masked);
    int (*mask)(sis__rule_instance *r, int feature);

    /* The values at the cut with this feature masked too; -1: none (SIS__CHANGED). */
    sis__change (*row)(sis__rule_instance *r, int feature, float *row);

    /* The rest may be NULL. */

    /* Free what is not in r->memory; also called if `open` failed. */
    void (*close)(sis__rule_instance *r);

    /* Called before rows of these features (ascending) are requested, for work that is better done
     * together. */
    void (*update)(sis__rule_instance *r, const int *features, size_t n);

    /* Margins of n candidates (features; -1: the current state) whose rows were written last, if
     * the rule has something faster than the head. A row's result does not depend on n. May
     * overwrite the rows. And the size of the numbers whose rounding affects the first of these
     * margins (NULL: ask the head). */
    int (*margins)(sis__rule_instance *r, const int *features, float *rows, size_t n,
                   double *margins);
    double (*size)(const sis__rule_instance *r, double margin);

    /* Does this feature, whose margin is close to the current one, provably change nothing? */
    int (*idle)(const sis__rule_instance *r, int feature);

    /* max[k]: upper bound of wants * margin of features[k]; INFINITY: none. */
    void (*bounds)(sis__rule_instance *r, int wants, const int *features, size_t n, double *max);
};

/* All rules, in the order they are tried. NAME is sis__rule_NAME. */
#define SIS__RULES(X)                                                                              \
    X(trees)                                                                                       \
    X(attention)                                                                                   \
    X(recurrent)                                                                                   \
    X(dense)                                                                                       \
    X(window)                                                                                      \
    X(slice)

#define SIS__DECLARE_RULE(name) extern const sis__rule sis__rule_##name;
SIS__RULES(SIS__DECLARE_RULE)
#undef SIS__DECLARE_RULE

/* A walk with this rule only; sis_net_walk() tries all. */
int sis__walk_by(const sis__rule *rule, const sis_net *net, const sis_input *input,
                 const sis_net_walk_opt *opt, sis_walk **out);

/* ---- One input ----------------------------------------------------------------------------- */

/* Margins by full passes with these features masked and each of tops[0..n) too (-1: none). */
int sis__net_input_margins(const sis__net_input *s, const unsigned char *masked, const int *tops,
                           size_t n, double *margins);

/* The row layout of the input (net/plan/row_layout.h). */
struct sis__row_layout;
int sis__net_input_layout(const sis__net_input *s, struct sis__row_layout **g);

/* A plan for one row, from the fed value to `output` (-1: the input of the last activation), that
 * keeps every activation. */
int sis__net_input_plan(const sis__net_input *s, int output, sis__plan **plan);

/* The notes of a walk's rule about the nodes of this network; NULL: not a walk over it. */
const sis__note *sis__walk_notes(const sis_walk *w, const sis_net *net);

/* The name of a walk's rule; "batch" if there is none or full passes have taken over. */
const char *sis__walk_rule(const sis_walk *w);

/* For tests: full passes answer from that probe on (0: the next; SIZE_MAX: never), whatever the
 * cost. The walk must have an exact rule. */
void sis__walk_full_from(sis_walk *w, size_t probe);

/* ---- Head ---------------------------------------------------------------------------------- */

/* A value where the head starts, and its shape for one row. */
typedef struct sis__cut {
    int value;
    const sis__tensor *like;
} sis__cut;

typedef struct sis__head_spec {
    const sis__cut *cuts; /* (n_cuts) a row holds their values one after the other, as floats */
    size_t n_cuts;
    const int
        *axes; /* (n_cuts) axis of each cut that has `size` elements instead of its declared number:
                * sequences of another length; NULL: sizes as declared */
    size_t size;
    int fused; /* compute one row as several are, with fused operators; sis__head_size() is then
                * unknown */
} sis__head_spec;

/* The network from the cuts to the explained output. SIS_E_UNSUPPORTED if the cuts are not
 * sufficient. A cut may be the pre-activation of the output itself. */
int sis__head_new(const sis__net_input *s, const sis__head_spec *spec, sis__head **out);
void sis__head_free(sis__head *h);

/* Rows go to the head through a writer, which is called for some rows at a time, in order. It calls
 * one of the sis__slots functions below. */
typedef struct sis__row_slots sis__row_slots;
typedef struct sis__row_writer {
    void (*write)(void *ctx, size_t first, size_t n, sis__row_slots *to);
    void *ctx;
    int pads; /* batches may be padded: cheaper than several small ones */
} sis__row_writer;

/* Margins (n) of the rows of a writer. Each row has the bits of a full pass from there on, whatever
 * n. */
int sis__head_margins(sis__head *h, const sis__row_writer *w, size_t n, double *margins);

/* The same for whole rows (n, width). */
int sis__head_margins_rows(sis__head *h, const float *rows, size_t n, double *margins);

/* Write whole contiguous rows, which must stay valid until the margins are computed. */
void sis__slots_rows(sis__row_slots *to, const float *rows);

/* Differences of a row from a base. */
typedef struct sis__row_change {
    size_t n;
    const size_t *place; /* (n) positions in the row, ascending */
    const float *value;  /* (n) */
} sis__row_change;

/* Write rows that equal `base` except for these changes, which must stay valid until the margins
 * are computed. While `version` (not 0) is that of the last call, only the changes are copied. */
void sis__slots_near(sis__row_slots *to, const float *base, size_t version,
                     const sis__row_change *changes);

/* Write rows that equal `base` without one token each. The cuts of the head have `size` tokens
 * along `axes`, the base has one more. Only the tokens between a row's missing token and its last
 * one are copied. sis__head_leaves_out: 0 if this head does not support it. */
int sis__head_leaves_out(const sis__head *h);
void sis__slots_without(sis__row_slots *to, const float *base, size_t version,
                        const size_t *tokens);

/* The plan of one row. */
const sis__plan *sis__head_plan(const sis__head *h);

/* After a call for one row: the largest number between the cut and the margin, which rounding is
 * relative to. Includes numbers hidden by a saturated activation, because the next feature may
 * reveal them. */
double sis__head_size(const sis__head *h);

#endif
