/* SPDX-License-Identifier: MIT
 *
 * The inside of the window walk. The network up to its cuts (the *front*) is read once into
 *
 *     maps     tensors of the front, positions first and channels last (z, y, x, c); the base
 *     layers   what computes each map from earlier ones, over any box of positions; layer i makes
 *              map i + 1, map 0 is the input
 *     sites    where something is kept for every candidate: in front of a convolution, and at the
 *              cuts, whose values together make a row for the head
 *
 * Masking a feature changes each map only inside a *box* of positions. For a candidate j
 *
 *     values of a map inside its box  =  what the layers make of them (layer.c), or what a site
 *                                        at a convolution keeps (site.c)
 *
 * and what a site keeps stays valid until the box of a feature that is masked for good meets j's;
 * then only the part where they meet (the site's *dirty* box) is computed again. The base itself is
 * always to the bit what a full pass would compute.
 *
 * There are two ways with convolutions. An *exact* walk keeps for each candidate the sums their
 * values are made of, computed as a full pass does, and sums at the cuts in double: its margins are
 * those of a full pass, to the bit. The other keeps how they change and adds that up: a fraction of
 * the work where boxes are large, but rounded differently, so that close calls need full passes.
 *
 *     window.c        the verbs of the walk
 *     front.c  network -> maps, layers, sites (see read.h)
 *     view.c   which axis of a tensor is which axis of its map
 *     layer.c  layers over boxes, and candidates' values
 *     conv.c   convolutions: values, and changes
 *     site.c   what is kept for each candidate
 *     sum.c    the same for dense layers and means
 *     fixed.c  what is kept of the input's changes
 *     top.c    maxima over everything outside a box
 *     bound.c  candidates that cannot be the best
 */
#ifndef SIS_NET_WINDOW_WINDOW_H
#define SIS_NET_WINDOW_WINDOW_H

#include <stddef.h>

#include "net/kernels/kernels.h"
#include "net/walk/walk.h"

/* ---- Boxes --------------------------------------------------------------------------------- */

typedef struct sis__box {
    int lo[3], hi[3]; /* lo <= position < hi; empty if that leaves nothing on some axis */
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

/* Number of a position among those of a box that holds it. */
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

/* ---- Views --------------------------------------------------------------------------------- */

enum { SIS__CHANNELS = 1, SIS__SPATIAL = 2 }; /* roles; the axes of a map are 2, 4, 8 */

/* How a tensor of the plan shows a map. */
typedef struct sis__sight {
    int map;                           /* -1: it does not */
    unsigned char role[SIS__MAX_RANK]; /* of each axis: a set of bits; 0 if its size is 1 */
    size_t stride[4]; /* in the tensor: of channels, then of the map's three axes; 0 if size 1 */
} sis__sight;

/* What the output of a step shows, if the step only looks at or moves values: 1, else 0. */
int sis__sight_through(const sis__plan *p, const sis__step *s, const sis__sight *in,
                       sis__sight *out);

/* Roles of the axes of tensor `first`, read from the first layer behind it that tells: 1, else 0.
 */
int sis__sight_first(const sis__plan *p, int first, sis__sight *out);

/* Which axes a Reduce removes, as flags of those of its input with a size above 1. */
void sis__reduced_axes(const sis__tensor *x, const sis__reduce *r, unsigned char *reduced);

/* ---- Front --------------------------------------------------------------------------------- */

typedef struct sis__map {
    size_t channels;
    sis__box whole;
    float *base;   /* (positions, channels) of the present state */
    sis__box *box; /* (n_features) where masking each can change it */
    float *window; /* a candidate's values */
    int needed;    /* for some site */
} sis__map;

typedef enum sis__layer_kind {
    SIS__LAYER_CONV,
    SIS__LAYER_MAX,     /* pooling */
    SIS__LAYER_AVERAGE, /* pooling */
    SIS__LAYER_RELU,
    SIS__LAYER_UNARY,  /* any other function of one value: the operator's own code */
    SIS__LAYER_AFFINE, /* BatchNormalization */
    SIS__LAYER_WITH,   /* x op constant */
    SIS__LAYER_JOIN,   /* x op y */
    SIS__LAYER_CONCAT  /* of channels */
} sis__layer_kind;

enum { SIS__LAYER_INPUTS = 8 };

typedef struct sis__layer {
    sis__layer_kind kind;
    int op; /* enum sis__op_id */
    int in[SIS__LAYER_INPUTS];
    size_t n_in;
    int out;
    const sis__step *step;
    sis__window w;     /* CONV, MAX, AVERAGE: along the axes of the maps */
    const float *bias; /* CONV: (filters) or NULL */
    float *packed;   /* CONV: of each group and row of the kernel (depth, filters), for products */
    size_t row_size; /* CONV: floats of one row in packed */
    int *offset;     /* CONV: (depth) of what an output sees of a line, from the first of it */
    int block[3];    /* CONV: outputs computed at a time */
    float *zeros;    /* CONV: (filters) where sums begin that do not begin with the bias */
    float *sums;     /* CONV, exact walks: the base as sums of each row of the kernel */
    float *taps;     /* CONV, others: rows for changes, see order_taps */
    int site;        /* CONV: where candidates are kept */
    int fused;       /* RELU: of what is kept for a convolution, without a copy in between */
    const float *a, *b;           /* AFFINE: scale and shift; WITH: a is the constant */
    size_t a_position, a_channel; /* WITH: its strides */
    int left;                     /* WITH: the constant is the first operand */
} sis__layer;

typedef enum sis__site_kind {
    SIS__SITE_CONV,  /* in front of a convolution: how it changes */
    SIS__SITE_KEEP,  /* behind a convolution: the sums its values are made of */
    SIS__SITE_DENSE, /* cut: a dense layer */
    SIS__SITE_MEAN,  /* cut: sum or mean over all positions */
    SIS__SITE_MAX,   /* cut: maximum over all positions */
    SIS__SITE_WHOLE  /* cut: the map itself */
} sis__site_kind;

/* What a site keeps for one candidate. */
typedef struct sis__spot {
    sis__box dirty; /* part of the site's box: what must be computed again */
    size_t in, out; /* in the store, or for DENSE and MEAN in the wide store.
                       CONV, DENSE, MEAN: the change of the map inside the box, and of what is
                       computed from it, which several share where it is fixed: then `in` is
                       the feature it was computed for; MAX: out is the maximum inside the box;
                       KEEP: in is the sums, WHOLE: the values inside the box */
    long changed;   /* CONV, DENSE, MEAN: values of `in` that are not 0 */
    int updates;    /* CONV: since `out` was last summed anew */
} sis__spot;

/* Maxima over rows (positions with the same z and y) and parts of them; see top.c. */
typedef struct sis__top {
    size_t rows, channels;
    int from, to; /* positions x of a row that may change */
    float *left;  /* (rows, to - from + 1, channels) maxima of x < from + i */
    float *right; /* (rows, to - from + 1, channels) maxima of x >= from + i */
    float *above; /* (rows + 1, channels) maxima of rows < i */
    float *below; /* (rows + 1, channels) maxima of rows >= i */
} sis__top;

typedef struct sis__site {
    sis__site_kind kind;
    int map;
    int layer;           /* CONV, KEEP */
    int value;           /* cuts: number of the tensor */
    size_t width, at;    /* cuts: values in a row of the head, and where they stand in it */
    sis__sight sight;    /* DENSE, WHOLE: how the tensor shows the map */
    const sis__box *box; /* (n_features) of the map; KEEP: see sis__conv_lines */
    sis__spot *spots;    /* (n_features) */
    /* CONV: (n_features) the outputs that are kept; and whether that is the input itself, whose
     * changes stay what they are (fixed.c). */
    const sis__box *over;
    int fixed;
    /* DENSE: the layer; its weights (positions * channels, padded) and their lengths (width); what
     * is added to its output, and whether a Relu follows. */
    const sis__step *step;
    size_t padded;
    float *weights;
    double *length;
    const float *plus;
    int relu; /* MAX: a Relu stands in front of it, which gives the same behind it */
    /* DENSE (padded), MEAN (channels): present sums, and how far they may be from those of a full
     * pass. */
    double *sums, *slack;
    double divisor;  /* MEAN */
    float *flat;     /* exact walks: the base in the order of the tensor */
    sis__top top;    /* MAX */
    float slack_top; /* MAX: how far kept maxima may be off; negative: they are exact */
} sis__site;

/* A value of the input that belongs to a feature. */
typedef struct sis__element {
    int z, y, x, c;
    float masked; /* what it becomes */
} sis__element;

enum { SIS__QUEUE = 512 };

/* Products of a convolution that wait: what outputs see of a line, and where their sums go. */
typedef struct sis__queue {
    float *seen; /* (room) copies of lines */
    size_t used, room;
    size_t outputs;     /* at most SIS__QUEUE */
    const float **from; /* (rows of a kernel at most, SIS__QUEUE) */
    float **to;
    size_t *count; /* (rows of a kernel at most) */
} sis__queue;

typedef struct sis__front {
    const sis__subject *s;
    sis__plan *plan; /* one row, from the input to what the last activation reads */
    sis__map *maps;  /* (n_layers + 1) */
    sis__layer *layers;
    sis__site *sites; /* convolutions first, in order; then cuts */
    size_t n_layers, n_sites;
    size_t row;    /* values in a row of the head */
    float *input;  /* (map 0) nothing masked */
    size_t *start; /* (n_features + 1) feature i owns elements start[i] .. start[i + 1] - 1 */
    sis__element *elements;
    float *store; /* what all spots keep */
    double *wide;
    size_t n_store, n_wide;
    int exact; /* candidates are computed as in a full pass */
    int anew;  /* for the moment they are, without what is kept */
    /* Scratch of layers and sites. */
    sis__box *need, *work; /* (n_layers + 1) */
    sis__queue queue;
    const float **lines; /* sums that make up a line of outputs, or what a window sees */
    float *products;     /* the same for a block, where they are not kept */
    double *totals;      /* of averages */
    float *outside;      /* maxima outside a box */
    int *index;          /* changes found in a map */
    float *change;
    double *wide_change;
    void **owned; /* memory that only free needs to know */
    size_t n_owned, cap_owned;
} sis__front;

int sis__front_new(const sis__subject *s, sis__front **out);
void sis__front_free(sis__front *f);

/* Memory that lives as long as the front. zeroed: floats set to 0. */
void *sis__front_alloc(sis__front *f, size_t n, size_t size);

/* How a convolution changes when feature j is masked too, as it is kept: over its box, at least. */
static inline sis__part sis__site_kept(const sis__front *f, const sis__layer *conv, size_t j) {
    const sis__site *s = &f->sites[conv->site];
    return (sis__part){f->store + s->spots[j].out, s->over[j]};
}

/* ---- Layers -------------------------------------------------------------------------------- */

/* The box of the output that box b of an input reaches; of an input that box b of the output
 * sees. */
sis__box sis__layer_reach(const sis__layer *l, const sis__map *out, const sis__box *b);
sis__box sis__layer_field(const sis__layer *l, const sis__map *in, const sis__box *b);

/* Compute box r of the base of a layer's output. */
void sis__layer_base(sis__front *f, size_t layer, const sis__box *r);

/* Values of box r of a map with feature j masked too: maps[map].window, over the box. With
 * front->anew as a full pass computes them. */
sis__part sis__front_evaluate(sis__front *f, size_t j, int map, const sis__box *r);

/* ---- Convolutions -------------------------------------------------------------------------- */

enum { SIS__BLOCK = 64 }; /* outputs in a block at most */

/* Choose the block; 0 if it would see too much. */
int sis__conv_block(sis__layer *l);

/* Floats of a line that a block sees. */
size_t sis__conv_sees(const sis__layer *l);

/* Rows of the kernel: their sums are made apart. */
static inline size_t sis__conv_rows(const sis__layer *l) {
    return l->w.kernel[0] * l->w.kernel[1];
}

/* Weights as values and (unless the walk is exact) changes need them: w (filters, depth), or
 * transposed (depth, filters). */
int sis__conv_init(sis__front *f, sis__layer *l, const float *w, int transposed);

/* Box r of the base, from a part that holds what it sees. */
void sis__conv_run(sis__front *f, const sis__layer *l, const sis__part *in, const sis__part *out,
                   const sis__box *r);

/* What feature j changes of a convolution: lines (z, y) of its input, and outputs x along them. */
sis__box sis__conv_lines(const sis__front *f, const sis__layer *l, size_t j);

/* Compute what `lines` of the input add to the outputs of box r, from a part that holds what these
 * see, into a part that holds the sums of r: not before the queue is flushed. */
void sis__conv_queue(sis__front *f, const sis__layer *l, const sis__part *in, const sis__box *lines,
                     const sis__box *r, const sis__part *to);
void sis__conv_flush(sis__front *f, const sis__layer *l);

/* n outputs from position `at` on with feature j masked too, from what is kept. */
void sis__conv_kept(const sis__front *f, const sis__layer *l, size_t j, const int *at, size_t n,
                    int relu, float *y);

/* Masking j for good: what is kept for it becomes the base. */
void sis__conv_adopt(sis__front *f, const sis__layer *l, size_t j);

/* Add to `out`, the kept change of the output inside `box`, what f->change of channels f->index at
 * position `at` of the input does. */
void sis__conv_add(const sis__front *f, const sis__layer *l, const sis__box *box, const int *at,
                   size_t count, float *out);

/* ---- Sites --------------------------------------------------------------------------------- */

/* The base has been computed anew; the site's own view of it. */
void sis__site_reset(sis__front *f, sis__site *s);

/* Bring what the site keeps for feature j up to date; KEEP: once its convolution is flushed. */
void sis__site_update(sis__front *f, sis__site *s, size_t j);

/* Masking feature j for good: before and after the base has changed. */
void sis__site_before(sis__front *f, sis__site *s, size_t j);
void sis__site_after(sis__front *f, sis__site *s, size_t j);

/* Sum the base of a cut anew. */
void sis__site_refresh(sis__front *f, sis__site *s);

/* The cut's values for the present state, and for feature j masked too, in a row of the head. The
 * latter needs the former, and answers 0 only if they are provably the same in a full pass. */
void sis__site_row(sis__front *f, sis__site *s, float *row);
int sis__site_row_without(sis__front *f, sis__site *s, size_t j, const float *base, float *row);

/* The latter as a full pass computes it, without anything that is kept. 0: this kind cannot. */
int sis__site_row_anew(sis__front *f, sis__site *s, size_t j, const float *base, float *row);

/* Where position (z, y, x) of the map lies in the tensor of a cut. */
static inline size_t sis__site_place(const sis__site *s, int z, int y, int x) {
    return (size_t)z * s->sight.stride[1] + (size_t)y * s->sight.stride[2] +
           (size_t)x * s->sight.stride[3];
}

/* The parts of the above for DENSE and MEAN. sis__sum_row: with feature j masked too, unless j is
 * SIZE_MAX. */
void sis__sum_reset(sis__front *f, sis__site *s);
void sis__sum_refresh(sis__front *f, sis__site *s);
void sis__sum_update(sis__front *f, sis__site *s, size_t j);
void sis__sum_before(sis__front *f, sis__site *s, size_t j);
void sis__sum_after(sis__front *f, sis__site *s, size_t j);
void sis__sum_row(sis__front *f, sis__site *s, size_t j, float *row);

/* ---- Bounds ------------------------------------------------------------------------------- */

/* What the margins of candidates can have become since they were computed. */
typedef struct sis__bound sis__bound;

/* *out is NULL if nothing can be said for this network. */
int sis__bound_new(const sis__front *f, const sis__head *head, sis__bound **out);
void sis__bound_free(sis__bound *b);

/* Forget everything; forget feature j, whose own change is not what it was. */
void sis__bound_reset(sis__bound *b);
void sis__bound_forget(sis__bound *b, size_t j);

/* The sums of the cut at the next probe, which wants the highest (1) or lowest (-1) margin. */
void sis__bound_follow(sis__bound *b, const double *sums, int wants);

/* The largest value of rows that are about to be computed. */
void sis__bound_see(sis__bound *b, float largest);

/* A margin that was computed in this probe. */
void sis__bound_learn(sis__bound *b, size_t j, double margin);

/* The most that wants * margin of feature j can be. */
double sis__bound_of(const sis__bound *b, size_t j);

/* ---- Maxima -------------------------------------------------------------------------------- */

int sis__top_init(sis__front *f, sis__top *t, const sis__map *m, size_t n_features);
void sis__top_reset(sis__top *t, const sis__map *m);
void sis__top_update(sis__top *t, const sis__map *m, const sis__box *r);
/* Maxima of everything outside a box that is not empty: the larger of two vectors. y (channels) is
 * room for one. */
void sis__top_outside(const sis__top *t, const sis__map *m, const sis__box *b, float *y,
                      const float *sides[2]);

#endif
