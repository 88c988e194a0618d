/* SPDX-License-Identifier: MIT
 *
 * Incremental walks: what a network answers when one more feature is masked, without running the
 * whole of it again. Every walk keeps the activations of the present masked input (the *base*) up
 * to some layer (the *cut*), works out for each candidate what the cut would hold if that feature
 * were masked too, and runs the rest of the network (the *head*) for all candidates as one batch.
 *
 *     walk.c       the driver: all that rules share
 *     head.c       from the cut to margins, in batches
 *     entry.c      what the first layer that mixes values sees of an input
 *     dense.c      a dense layer on the input: the change is one column
 *     attention.c  transformers: up to the first attention each token by itself
 *     recurrent.c  LSTM, GRU: states before the masked position stay (recurrent.h)
 *     trees.c      tree ensembles and linear models: only what reads the feature
 *     window.c     convolution, pooling, element-wise: only a window changes (window.h)
 *     slice.c      scores for each pixel or token: only what one of them is made of
 *
 * A *rule* knows one kind of network up to its cut and answers one question: what stands at the cut
 * if feature j is masked too. The driver does the rest: it gathers rows and runs the head on blocks
 * of them, keeps margins of candidates that have not changed, leaves out those that cannot be the
 * best, tells apart what changes nothing from what happens to give the same margin, measures how far
 * margins may be from full passes, and has full passes settle what came out as NaN. Asked to choose by
 * cost, it also lets full passes answer from the moment that an exact rule counts more work than they take.
 *
 * A new rule is a file that defines a sis__rule, and a row of SIS__RULES below. A rule that does not
 * fit a network answers SIS_E_UNSUPPORTED and the next one is asked; the last answer is that
 * there is no walk, and the core predicts every masked copy.
 *
 * Margins of a walk may differ from a full pass by rounding. How much it may be is the walk's
 * `tolerance` (sis.h); a walk whose arithmetic is that of a full pass, operation for operation,
 * says 0.
 */
#ifndef SIS_NET_WALK_WALK_H
#define SIS_NET_WALK_WALK_H

#include <sis/sis.h>

#include "base/arena.h"
#include "core/input.h"
#include "net/plan/net.h"

/* A few words for people. */
typedef struct sis__note {
    char text[40];
} sis__note;

typedef struct sis__entry sis__entry;

/* A prepared input, and the network that it is fed to. Rules read it; walk.c owns it. */
typedef struct sis__net_input {
    const sis_net *net;
    int embedded;           /* values are embeddings */
    int fed;                /* value of the graph that rows go into: net->input, or net->embedded */
    sis__prepared_input in; /* in single precision, too */
    sis_net_shape shape;    /* of the row; rank 0: its number of values tells it */
    size_t output;          /* whose margins are asked for */
    size_t memory;          /* bytes a walk should stay below */
    double
        copies; /* masked copies that a selection asks about; INFINITY: more than can be counted */
    sis__entry *entry; /* what its first layer sees (entry.h); NULL: nothing that simple */
    sis__note *notes;  /* (nodes of the graph) what a rule says of each it takes in */
} sis__net_input;

/* Say how a step takes part in the walk. Steps that nothing is said of are the head's. */
void sis__net_input_note(const sis__net_input *s, const sis__step *step, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ---- Rules --------------------------------------------------------------------------------- */

/* What a rule says of a candidate's row. */
typedef enum sis__change {
    SIS__NOTHING, /* masking it provably changes nothing: its margin is that of the present state */
    SIS__AS_BEFORE, /* the same row as when it was last asked for since the last reset */
    SIS__CHANGED    /* the row was written */
} sis__change;

typedef struct sis__rule sis__rule;
typedef struct sis__head sis__head;

/* A rule at work on one input. The rule's own struct begins with this. */
typedef struct sis__rule_instance {
    /* The driver sets these. It frees the head, the memory and the struct in the end. */
    const sis__rule *rule;
    const sis__net_input *s;
    sis__arena memory; /* for all that the rule keeps: SIS_ARENA */

    /* `open` fills the rest. */
    sis__head *head; /* from the cut on */
    size_t width;    /* of a row, in floats; 0: `margins` needs none */
    size_t stride;   /* from one row to the next, at least the width; 0: the width */
    size_t block;    /* rows at a time; 0: the driver's choice */
    int exact;       /* margins are full passes', to the bit; else they are measured */
    double
        work; /* operations since it was opened, as those of plans are counted, without the head's. 0:
                    never more than a full pass takes */
} sis__rule_instance;

/* Verbs. Features are present ones unless said otherwise. */
struct sis__rule {
    const char *name;
    size_t bytes;    /* of its struct, which is zeroed before `open` */
    int keeps_entry; /* s->entry is needed while it is at work, not only to open it */
    int min_copies;  /* masked copies that have to be asked about for it to be worth opening */

    /* Begin work on r->s. What it keeps should stay below s->memory. */
    int (*open)(sis__rule_instance *r);

    /* Start over with these features (flags) masked; mask one more, whose row was asked for last. */
    int (*reset)(sis__rule_instance *r, const unsigned char *masked);
    int (*mask)(sis__rule_instance *r, int feature);

    /* What stands at the cut with this feature masked too; -1: with nothing more (SIS__CHANGED). */
    sis__change (*row)(sis__rule_instance *r, int feature, float *row);

    /* The rest may be NULL. */

    /* Free what is not in r->memory, also if `open` gave up half way. */
    void (*close)(sis__rule_instance *r);

    /* Before rows of these features, ascending, are asked for. For what is better done together. */
    void (*update)(sis__rule_instance *r, const int *features, size_t n);

    /* Margins of n candidates (features; -1: the present state) whose rows were written last, where the
     * rule has something faster than giving these rows to the head. Row by row the same whatever n. May
     * write to the rows. And how large the numbers are whose rounding shows in the first of these margins
     * (NULL: the head knows). */
    int (*margins)(sis__rule_instance *r, const int *features, float *rows, size_t n,
                   double *margins);
    double (*size)(const sis__rule_instance *r, double margin);

    /* Does this feature, whose margin is close to the present one, provably change nothing? */
    int (*idle)(const sis__rule_instance *r, int feature);

    /* most[k]: what wants * margin of features[k] can at most be; INFINITY: nothing is known. And
     * what it was, so that more is known next time. */
    void (*bounds)(sis__rule_instance *r, int wants, const int *features, size_t n, double *most);
    void (*learn)(sis__rule_instance *r, int feature, double margin);
};

/* All of them, in the order they are asked. NAME is sis__rule_NAME. */
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

/* A walk by one rule and no other; sis_net_walk asks them in turn. */
int sis__walk_by(const sis__rule *rule, const sis_net *net, const sis_input *input,
                 const sis_net_walk_opt *opt, sis_walk **out);

/* ---- One input ----------------------------------------------------------------------------- */

/* Margins by full passes with these features masked and each of tops[0..n) on top (-1: nothing). */
int sis__net_input_margins(const sis__net_input *s, const unsigned char *masked, const int *tops,
                           size_t n, double *margins);

/* How its rows come in (net/plan/row_layout.h). */
struct sis__row_layout;
int sis__net_input_layout(const sis__net_input *s, struct sis__row_layout **g);

/* A plan of one row of the input from where it is fed to `output` (a value; -1: what the last
 * activation reads) that keeps every activation. */
int sis__net_input_plan(const sis__net_input *s, int output, sis__plan **plan);

/* What the rule behind a walk says of the nodes of this network; NULL if it is no walk over it. */
const sis__note *sis__walk_notes(const sis_walk *w, const sis_net *net);

/* The name of the rule behind a walk; "batch" if there is none or full passes have taken over. */
const char *sis__walk_rule(const sis_walk *w);

/* Count nothing: full passes answer from that probe on (0: the next; SIZE_MAX: never). For tests; the
 * walk must have an exact rule. */
void sis__walk_full_from(sis_walk *w, size_t probe);

/* ---- Head ---------------------------------------------------------------------------------- */

/* A value that the head starts from, and its shape for one row. */
typedef struct sis__cut {
    int value;
    const sis__tensor *like;
} sis__cut;

typedef struct sis__head_spec {
    const sis__cut *cuts; /* (n_cuts) a row holds their values one behind the other, as floats */
    size_t n_cuts;
    const int
        *axes; /* (n_cuts) axis of each cut that is `size` long, whatever `like` says: sequences of
                        another length; NULL: all are as it says */
    size_t size;
    int fused; /* one row is computed as several are, by fused operators. sis__head_size knows nothing */
} sis__head_spec;

/* The network from the cuts to the input's output. SIS_E_UNSUPPORTED if more than the cuts is needed to
 * go on. A cut may be the pre-activation of the output itself. */
int sis__head_new(const sis__net_input *s, const sis__head_spec *spec, sis__head **out);
void sis__head_free(sis__head *h);

/* Rows go to the head through a writer, which is asked for some of them at a time, in order. It calls one
 * of the sis__slots functions below. */
typedef struct sis__row_slots sis__row_slots;
typedef struct sis__row_writer {
    void (*write)(void *ctx, size_t first, size_t n, sis__row_slots *to);
    void *ctx;
    int pads; /* a batch may have more rows than there are left: cheaper than several small ones */
} sis__row_writer;

/* Margins (n) of the rows of a writer. Row by row the same to the bit as a full pass from there on,
 * whatever n. */
int sis__head_margins(sis__head *h, const sis__row_writer *w, size_t n, double *margins);

/* The same of whole rows (n, width). */
int sis__head_margins_rows(sis__head *h, const float *rows, size_t n, double *margins);

/* Write whole rows that lie one behind the other, and stay until the margins are computed. */
void sis__slots_rows(sis__row_slots *to, const float *rows);

/* Values of a row that differ from a base. */
typedef struct sis__row_change {
    size_t n;
    const size_t *place; /* (n) in the row, ascending */
    const float *value;  /* (n) */
} sis__row_change;

/* Write rows that are `base` but for these changes, which stay until the margins are computed. Only the
 * changes are copied as long as `version`, any number but 0, is that of the call before. */
void sis__slots_near(sis__row_slots *to, const float *base, size_t version,
                     const sis__row_change *changes);

/* Write rows that are `base` without one token each. The cuts of the head have `size` tokens along `axes`,
 * the base has one more. Only what lies between a row's token and the one that was left out there before
 * is copied. sis__head_leaves_out: 0 if rows of this head cannot be written so. */
int sis__head_leaves_out(const sis__head *h);
void sis__slots_without(sis__row_slots *to, const float *base, size_t version,
                        const size_t *tokens);

/* The dense layer that is all of a head, and what is added to it (or NULL); NULL if that is more or
 * something else. */
const sis__gemm *sis__head_gemm(const sis__head *h, const float **bias);

/* The plan of one row. */
const sis__plan *sis__head_plan(const sis__head *h);

/* The largest number between the cut and the margin after a call for one row: what margins are made
 * of, and rounding is relative to. Also what a saturated activation has hidden, since it may come to
 * light with the next feature. */
double sis__head_size(const sis__head *h);

#endif
