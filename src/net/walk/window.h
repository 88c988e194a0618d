/* SPDX-License-Identifier: MIT
 *
 * Internals of the window walk. The network up to its cuts (the *prefix*) consists of
 *
 *     maps         tensors of the prefix, positions first and channels last (z, y, x, c), with the
 *                  values of the base
 *     layers       each computes a map from earlier ones, over any box of positions; layer i
 *                  computes map i + 1, map 0 is the input
 *     keep points  places in the prefix where values are kept for every candidate: sums of
 *                  convolutions, and the values of the cuts, which form a row for the head
 *
 * Masking a feature changes each map only inside a *box* of positions. For a candidate j
 *
 *     values of a map inside its box  =  computed by the layers, from the input or from the
 *                                        kept sums of a convolution
 *
 * What is kept stays valid until a feature is masked for good whose box meets j's box; then only
 * the intersection (the *dirty* box) is recomputed. Sums have the terms of a full pass in its
 * order; sums at the cuts are in double and rounded the same way. So base and candidates have the
 * bits of a full pass.
 *
 * A caller that only wants the best candidate can skip those that cannot be it: window_estimate.c
 * bounds a margin from above by an estimate with a known error.
 *
 *     window.c               the functions of the rule
 *     window_read.c          network -> maps, layers, cuts (window_read.h)
 *     window_axes.c          which axis of a tensor is which axis of its map
 *     window_layers.c        layers over boxes, and candidates' values
 *     window_keep.c          which convolutions are kept, and all memory
 *     window_estimate.c      estimated margins, for maxima of a convolution of the input
 *
 * Keep points by kind:
 *
 *     window_conv.c          convolutions, as sums of the rows of their kernels
 *     window_sums.c          dense layers and means
 *     window_max.c           maxima over all positions
 *     window_whole.c         whole maps
 */
#ifndef SIS_NET_WALK_WINDOW_H
#define SIS_NET_WALK_WINDOW_H

#include <stddef.h>

#include "net/kernels/kernels.h"
#include "net/walk/walk.h"

/* ---- Boxes --------------------------------------------------------------------------------- */

typedef struct sis__box {
    int lo[3], hi[3]; /* lo <= position < hi; empty if an axis has none */
} sis__box;

static inline int sis__box_empty(const sis__box *b) {
    return b->lo[0] >= b->hi[0] || b->lo[1] >= b->hi[1] || b->lo[2] >= b->hi[2];
}

static inline size_t sis__box_volume(const sis__box *b) {
    return sis__box_empty(b) ? 0
                             : (size_t)(b->hi[0] - b->lo[0]) * (size_t)(b->hi[1] - b->lo[1]) *
                                   (size_t)(b->hi[2] - b->lo[2]);
}

static inline sis__box sis__box_meet(const sis__box *a, const sis__box *b) {
    sis__box m;
    for (size_t d = 0; d < 3; d++) {
        m.lo[d] = a->lo[d] > b->lo[d] ? a->lo[d] : b->lo[d];
        m.hi[d] = a->hi[d] < b->hi[d] ? a->hi[d] : b->hi[d];
    }
    return m;
}

static inline int sis__box_meets(const sis__box *a, const sis__box *b) {
    for (size_t d = 3; d-- > 0;)
        if (a->hi[d] <= b->lo[d] || b->hi[d] <= a->lo[d])
            return 0;
    return 1;
}

/* The smallest box around both. */
static inline sis__box sis__box_join(const sis__box *a, const sis__box *b) {
    sis__box m;
    if (sis__box_empty(a))
        return *b;
    if (sis__box_empty(b))
        return *a;
    for (size_t d = 0; d < 3; d++) {
        m.lo[d] = a->lo[d] < b->lo[d] ? a->lo[d] : b->lo[d];
        m.hi[d] = a->hi[d] > b->hi[d] ? a->hi[d] : b->hi[d];
    }
    return m;
}

/* Values of a map over a box: (the box's positions, channels). */
typedef struct sis__part {
    float *at;
    sis__box box;
} sis__part;

/* Index of a position among those of a box that contains it. */
static inline size_t sis__box_at(const sis__box *b, int z, int y, int x) {
    size_t ny = (size_t)(b->hi[1] - b->lo[1]), nx = (size_t)(b->hi[2] - b->lo[2]);
    return ((size_t)(z - b->lo[0]) * ny + (size_t)(y - b->lo[1])) * nx + (size_t)(x - b->lo[2]);
}

static inline float *sis__part_at(const sis__part *p, size_t channels, int z, int y, int x) {
    return p->at + sis__box_at(&p->box, z, y, x) * channels;
}

/* Every row (z, y) of a box. */
#define SIS__EACH_ROW(box, z, y)                                                                   \
    for (int z = (box)->lo[0]; z < (box)->hi[0]; z++)                                              \
        for (int y = (box)->lo[1]; y < (box)->hi[1]; y++)

/* ---- Axes ---------------------------------------------------------------------------------- */

enum { SIS__CHANNELS = 1, SIS__SPATIAL = 2 }; /* roles; the axes of a map are 2, 4, 8 */

/* How a tensor of the plan represents a map. */
typedef struct sis__axis_map {
    int map;                           /* -1: none */
    unsigned char role[SIS__MAX_RANK]; /* of each axis: a set of bits; 0 if its size is 1 */
    size_t stride[4]; /* in the tensor: of channels, then of the map's three axes; 0 if size 1 */
} sis__axis_map;

/* The representation after a step that only views or moves values: 1, else 0. */
int sis__axis_map_through(const sis__plan *p, const sis__step *s, const sis__axis_map *in,
                          sis__axis_map *out);

/* Roles of the axes of tensor `first`, derived from the first later layer that determines them: 1,
 * else 0. */
int sis__axis_map_first(const sis__plan *p, int first, sis__axis_map *out);

/* The axes that a Reduce removes, as flags over those of its input with a size above 1. */
void sis__reduced_axes(const sis__tensor *x, const sis__reduce *r, unsigned char *reduced);

/* The offset of position (z, y, x) of the map in the tensor. */
static inline size_t sis__axes_at(const sis__axis_map *v, int z, int y, int x) {
    return (size_t)z * v->stride[1] + (size_t)y * v->stride[2] + (size_t)x * v->stride[3];
}

/* ---- Maps and layers ------------------------------------------------------------------------ */

typedef struct sis__map {
    size_t channels;
    sis__box whole;
    float *base;   /* (positions, channels) of the current state */
    sis__box *box; /* (n_features) positions that masking each can change */
    float *window; /* a candidate's values */
    int needed;    /* for some keep point */
    int first;     /* a candidate's values need no map before this one */
} sis__map;

typedef enum sis__layer_kind {
    SIS__LAYER_CONV,
    SIS__LAYER_MAX,     /* pooling */
    SIS__LAYER_AVERAGE, /* pooling */
    SIS__LAYER_PAD,     /* a border of one number */
    SIS__LAYER_RELU,
    SIS__LAYER_ELEMENTS, /* any other element-wise operator, run by its own code */
    SIS__LAYER_AFFINE,   /* BatchNormalization */
    SIS__LAYER_CONCAT    /* of channels */
} sis__layer_kind;

enum { SIS__LAYER_INPUTS = 8 };

/* Packed weights of a convolution, and what is kept of its output. */
typedef struct sis__conv {
    const float *bias; /* (filters) or NULL */
    float *zeros;      /* (filters) start of sums that do not start with the bias */
    float *packed;     /* of each group and row of the kernel (depth, filters) */
    size_t row_size;   /* floats of one row in packed */
    int *offset;       /* (depth) offsets in a line of the inputs of an output, from the first */
    int block[3];      /* outputs computed at a time */
    int point;         /* keep point of candidates' sums; -1: not kept */
    float *sums;       /* the base as sums of each row of the kernel, if kept */
} sis__conv;

/* An operand of an element-wise operator: one of the maps, or a constant. */
typedef struct sis__map_operand {
    int map;                  /* index of the layer's input; -1: a constant */
    const void *at;           /* its values */
    size_t position, channel; /* their strides; 0: one for all */
} sis__map_operand;

typedef struct sis__layer {
    sis__layer_kind kind;
    int op; /* enum sis__op_id */
    int in[SIS__LAYER_INPUTS];
    size_t n_in;
    int out;
    const sis__step *step;
    sis__window w; /* CONV, MAX, AVERAGE, PAD: along the axes of the maps */
    sis__conv conv;
    const float *scale, *shift;                   /* AFFINE; PAD: scale is the fill value */
    sis__map_operand operands[SIS__LAYER_INPUTS]; /* ELEMENTS: of each input of the step */
    int fused; /* RELU: reads the kept sums of a convolution directly */
} sis__layer;

/* Does a keep point hold a candidate's output of this layer? */
static inline int sis__layer_kept(const sis__layer *l) {
    return l->fused || (l->kind == SIS__LAYER_CONV && l->conv.point >= 0);
}

/* ---- Keep points ---------------------------------------------------------------------------- */

typedef enum sis__keep_kind {
    SIS__KEEP_CONV,  /* a convolution: the addends of its outputs */
    SIS__KEEP_DENSE, /* cut: a dense layer */
    SIS__KEEP_MEAN,  /* cut: sum or mean over all positions */
    SIS__KEEP_MAX,   /* cut: maximum over all positions */
    SIS__KEEP_WHOLE  /* cut: the map itself */
} sis__keep_kind;

/* What a keep point holds for one candidate. */
typedef struct sis__kept {
    sis__box dirty; /* part of the point's box that must be recomputed */
    size_t in, out; /* offsets in the store, or for DENSE and MEAN in the wide store. CONV: in holds
                     * the sums, WHOLE: the values inside the box; MAX: out is the maximum inside
                     * the box; DENSE, MEAN: the change of the map inside the box, and of what is
                     * computed from it */
    long changed;   /* DENSE, MEAN: number of nonzero values of `in` */
    double squares; /* also: the sum of their squares, */
    double path;    /* the total length of all changes of `in`, */
    double error;   /* and roundings of `out` (window_sums.c) */
    int inexact;    /* base + `in` is not exactly the map */
} sis__kept;

/* The position of a cut in a row of the head. */
typedef struct sis__cut_place {
    int value;          /* number of the tensor */
    size_t width, at;   /* number of values, and offset in the row */
    sis__axis_map axes; /* how the tensor before the cut represents the map */
    int relu;           /* a Relu follows: DENSE; MAX: one comes before, which is equivalent */
} sis__cut_place;

/* DENSE and MEAN: linear functions of the map. */
typedef struct sis__cut_linear {
    const sis__step *step; /* DENSE */
    const float *plus;     /* DENSE: addend of its output, or NULL */
    size_t padded;         /* number of sums, rounded up */
    float *weights;        /* DENSE: (positions * channels, padded) */
    double *length;        /* (padded) of each column of weights */
    double divisor;        /* MEAN */
    double *sums, *slack;  /* (padded) current sums; bound on their difference from a full pass */
    double terms;          /* number of additions that a term of a full pass goes through */
    double squares;        /* of the values of the base */
    double error;          /* roundings of sums (window_sums.c), */
    double worst_length;   /* and upper bounds for a candidate's change: its length, */
    double worst_error;    /* its roundings; */
    double allowed;        /* the total that slack allows for */
    unsigned char *live;   /* MEAN: (padded) channels that were ever nonzero */
    int more_live;         /* new ones were added */
    float *flat;           /* the base in the tensor's order */
} sis__cut_linear;

/* Maxima over rows (positions with the same z and y) and parts of rows; see window_max.c. */
typedef struct sis__max_outside {
    size_t rows, channels;
    int from, to; /* range of positions x that may change */
    float *left;  /* (rows, to - from + 1, channels) maxima of x < from + i */
    float *right; /* (rows, to - from + 1, channels) maxima of x >= from + i */
    float *above; /* (rows + 1, channels) maxima of rows < i */
    float *below; /* (rows + 1, channels) maxima of rows >= i */
} sis__max_outside;

struct sis__prefix;
struct sis__keep_point;

/* Functions of a kind of keep point. Only `update` is always set. Rows and bases are those of the
 * cut. */
typedef struct sis__keep_ops {
    int (*init)(struct sis__prefix *f, struct sis__keep_point *s);

    /* The base has been recomputed; or it has changed so often that sums must be recomputed. */
    void (*reset)(struct sis__prefix *f, struct sis__keep_point *s);
    void (*refresh)(struct sis__prefix *f, struct sis__keep_point *s);

    /* Update the dirty part of what is kept for feature j. It may be queued until `flush`, which
     * follows the updates of several features. */
    void (*update)(struct sis__prefix *f, struct sis__keep_point *s, size_t j);
    void (*flush)(struct sis__prefix *f);

    /* Feature j is masked for good: called before and after the base changes. */
    void (*before)(struct sis__prefix *f, struct sis__keep_point *s, size_t j);
    void (*after)(struct sis__prefix *f, struct sis__keep_point *s, size_t j);

    /* Write the values of the current state, or with feature j masked too. The latter returns 0 if
     * they equal the base. */
    void (*row)(struct sis__prefix *f, struct sis__keep_point *s, float *row);
    int (*row_without)(struct sis__prefix *f, struct sis__keep_point *s, size_t j,
                       const float *base, float *row);

    /* The values that feature j changes: positions in a row of all cuts, and values; returns their
     * number. place NULL: 1 if there is any. Function NULL: compare rows. */
    size_t (*changes)(const struct sis__prefix *f, const struct sis__keep_point *s, size_t j,
                      const float *base, size_t *place, float *value);
} sis__keep_ops;

extern const sis__keep_ops sis__keep_conv, sis__keep_sums, sis__keep_maxima, sis__keep_whole;

typedef struct sis__keep_point {
    sis__keep_kind kind;
    const sis__keep_ops *ops;
    int map;
    int layer;           /* CONV */
    const sis__box *box; /* (n_features) of the map; CONV: see sis__conv_lines */
    sis__kept *kept;     /* (n_features) */
    sis__cut_place cut;
    sis__cut_linear linear;   /* DENSE, MEAN */
    sis__max_outside outside; /* MAX */
} sis__keep_point;

/* ---- The prefix ----------------------------------------------------------------------------- */

/* A value of the input that belongs to a feature. */
typedef struct sis__element {
    int z, y, x, c;
    float masked; /* its masked value */
} sis__element;

/* Map 0 with nothing masked; feature i owns elements start[i] .. start[i + 1] - 1. */
typedef struct sis__prefix_input {
    float *values;
    size_t *start; /* (n_features + 1) */
    sis__element *elements;
} sis__prefix_input;

/* Everything that is kept for candidates. */
typedef struct sis__store {
    float *single;
    double *wide;
    size_t n_single, n_wide;
} sis__store;

enum { SIS__QUEUE = 512 };

/* Queued products of a convolution: the inputs of outputs, and where their sums go. */
typedef struct sis__queue {
    const sis__layer *layer; /* the convolution; NULL: the queue is empty */
    float *seen;             /* (room) copies of lines */
    size_t used, room;
    size_t outputs;     /* at most SIS__QUEUE */
    const float **from; /* (rows of a kernel at most, SIS__QUEUE) */
    float **to;
    size_t *count; /* (rows of a kernel at most) */
} sis__queue;

/* Scratch memory. */
typedef struct sis__scratch {
    sis__box *need, *work; /* (n_layers + 1) */
    sis__queue queue;
    const float **lines; /* addends of a line of outputs, or the inputs of a window */
    float *products;     /* addends for a block, if they are not kept */
    double *totals;      /* of averages */
    float *outside;      /* maxima outside a box */
    int *index;          /* indices of changes in a map */
    double *change;
} sis__scratch;

typedef struct sis__prefix {
    const sis__net_input *s;
    const sis__kernels *kernels;
    sis__plan *plan; /* one row, from the input to the input of the last activation */
    sis__map *maps;  /* (n_layers + 1) */
    sis__layer *layers;
    sis__keep_point *points; /* convolutions first, in order; then cuts */
    size_t n_layers, n_points;
    size_t row;  /* number of values in a row of the head */
    double work; /* operations so far, for the driver (walk.h) */
    sis__prefix_input input;
    sis__store store;
    sis__scratch scratch;
    sis__arena memory; /* of all of this */
} sis__prefix;

int sis__prefix_new(const sis__net_input *s, sis__prefix **out);
void sis__prefix_free(sis__prefix *f);

static inline size_t sis__positions(const sis__map *m) {
    return sis__box_volume(&m->whole);
}

/* Total number of positions in the boxes of all features. */
double sis__box_total(const sis__prefix *f, const sis__map *m);

/* ---- Layers -------------------------------------------------------------------------------- */

/* The box of the output that box b of an input affects; the box of an input that box b of the
 * output depends on. */
sis__box sis__layer_reach(const sis__layer *l, const sis__map *out, const sis__box *b);
sis__box sis__layer_field(const sis__layer *l, const sis__map *in, const sis__box *b);

/* The same of a sliding window and a box that is not empty, with the padding around the input. */
sis__box sis__layer_sees(const sis__layer *l, const sis__box *b);

/* Compute box r of the base of a layer's output. */
void sis__layer_base(sis__prefix *f, size_t layer, const sis__box *r);

/* Values of box r of a map with feature j masked too: maps[map].window, over the box. */
sis__part sis__prefix_evaluate(sis__prefix *f, size_t j, int map, const sis__box *r);

/* ---- Convolutions -------------------------------------------------------------------------- */

enum { SIS__BLOCK = 64 }; /* maximal outputs of a block */

/* Choose the block; 0 if it would need too much input. */
int sis__conv_block(sis__layer *l);

/* Number of floats of a line that a block reads. */
size_t sis__conv_sees(const sis__layer *l);

/* Number of rows of the kernel, which have separate sums. */
static inline size_t sis__conv_rows(const sis__layer *l) {
    return l->w.kernel[0] * l->w.kernel[1];
}

/* Pack the weights w (filters, depth), or transposed (depth, filters). */
int sis__conv_init(sis__prefix *f, sis__layer *l, const float *w, int transposed);

/* Compute box r of the output from a part that contains its inputs. */
void sis__conv_run(sis__prefix *f, const sis__layer *l, const sis__part *in, const sis__part *out,
                   const sis__box *r);

/* Sums of rows of the kernel for the outputs of a box, (z, y, row, x, filter): only rows that read
 * certain lines (z, y) of the input, at most rows[0] times rows[1] per output. */
typedef struct sis__row_sums {
    float *at;
    sis__box box, lines;
    size_t rows[2];
} sis__row_sums;

/* The kept sums of feature j, if the convolution is kept: for the lines that it changes. Before
 * there is a store, only their number. */
sis__row_sums sis__conv_own(const sis__prefix *f, const sis__layer *l, size_t j);

/* What feature j changes of a convolution: lines (z, y) of its input, and outputs x along them. */
sis__box sis__conv_lines(const sis__prefix *f, const sis__layer *l, size_t j);

/* n outputs from position `at` on with feature j masked too, from the kept sums. */
void sis__conv_kept(const sis__prefix *f, const sis__layer *l, size_t j, const int *at, size_t n,
                    int relu, float *y);

/* Feature j is masked for good: its kept sums become the base's. */
void sis__conv_adopt(sis__prefix *f, const sis__layer *l, size_t j);

/* ---- Kept data ------------------------------------------------------------------------------- */

/* Choose which convolutions are kept, and allocate everything. */
int sis__keep_init(sis__prefix *f);

/* Write the values of a MAX cut with feature j masked too, from the maxima inside its box. 0: equal
 * to the base. */
int sis__keep_join(sis__prefix *f, const sis__keep_point *s, size_t j, const float *inside,
                   const float *base, float *row);

/* ---- Upper bounds of margins ----------------------------------------------------------------- */

/* Margins estimated from the change of the input. */
typedef struct sis__estimate sis__estimate;

/* *out is NULL if there are none for this network, or they are not worthwhile. */
int sis__estimate_new(sis__prefix *f, sis__head *head, sis__estimate **out);
void sis__estimate_free(sis__estimate *e);

/* All estimates are out of date; the estimate of feature j is. */
void sis__estimate_reset(sis__estimate *e);
void sis__estimate_mark_stale(sis__estimate *e, size_t j);

/* max[k]: upper bound of wants * margin of features[k]. base: the current row. */
int sis__estimate_max(sis__estimate *e, const int *features, size_t n, int wants, const float *base,
                      double *max);

#endif
