/* SPDX-License-Identifier: MIT
 *
 * The loops where the time goes. One source (body.h) is compiled for each instruction set;
 * sis__kernels_best() answers the best one this machine can run. tests/unit/support_kernels.c computes
 * the same with plain scalar loops.
 *
 * What every kernel promises: an element of the result depends, to the bit, only on the values that
 * go into it, never on the size of the matrix, on where in it the element lies or on the other
 * elements. Sums over k run from the first to the last term in single precision (long ones of dense
 * layers in double). Sums of convolutions are made of one sum for each row of the kernel, so that
 * walks can keep these apart.
 */
#ifndef SIS_NET_KERNELS_KERNELS_H
#define SIS_NET_KERNELS_KERNELS_H

#include <stddef.h>

#include "net/kernels/product.h"

/* k is cut into pieces of at most this length; a packed left side is laid out by them. */
enum { SIS__PIECE = 256 };

/* c (m, n) = row_start + a (m, k) . b (k, n), both sides packed, rows of c ldc apart. k consists of
 * `parts` equal parts, which are summed apart: the first from row_start, the others from 0, and
 * then added up in order. */
typedef struct sis__packed_product {
    size_t m, n, k, parts;
    const float *a, *b;
    const float *row_start; /* (m) or NULL */
    float *c;
    size_t ldc;
    /* (k) or NULL: b is not packed, element (p, j) is b[place[p] + j]. What lies up to a panel behind
     * the last column is read, too. */
    const int *place;
    /* 0, or columns come in lines of so many, which begin `pitch` apart: sis__takes_lines, and n fills whole
     * panels. */
    size_t line, pitch;
} sis__packed_product;

/* May columns come in lines of n? They fill vectors, or halves of them. */
static inline int sis__takes_lines(size_t nr, size_t n) {
    return n > 0 && nr >= 4 && (n % (nr / 2) == 0 || n == nr / 4);
}

/* c (m, n) = a (m, k) . b (k, n), b packed; then the bias is added. */
typedef struct sis__linear_product {
    size_t m, n, k;
    const float *a, *b;
    const float *bias; /* (n) or NULL */
    float *c;
} sis__linear_product;

/* Sums of at least so many terms run in double in dense layers; and where a layer reads a map of
 * positions, so that walks over the map can keep its sums. */
enum { SIS__LONG = 1024, SIS__LONG_OF_MAP = 96 };

/* A product whose rows are read and written where they lie: c[i][j] = start[j] + sum over p of
 * a[i][offset[p]] * b (p, j). */
typedef struct sis__placed_product {
    size_t m, n, k;
    const float *const *a; /* (m) */
    const int *offset;     /* (k); NULL: 0, 1, 2 ... */
    const float *b;        /* packed */
    const float *start;    /* (n); NULL: what c holds */
    float *const *c;       /* (m) */
} sis__placed_product;

/* The same where every column has rows of its own, `step` apart: c[i][j] = start[j] + sum over p of
 * a[i][p * step + j] * b[p * n + j]. */
typedef struct sis__column_product {
    size_t m, n, k, step;
    const float *const *a; /* (m) */
    const float *b;        /* (k, n) */
    const float *start;    /* (n) */
    float *const *c;       /* (m) */
} sis__column_product;

/* Weights of a convolution, (m, channels, rows, run): what each of m filters has for a channel, a
 * row of the kernel and a place in the row. */
typedef struct sis__filters {
    const float *at;
    size_t m, channels, rows, run;
} sis__filters;

/* Convolutions of single planes: each of `planes` planes (in), of which `channels` follow each other,
 * with `times` filters of its channel. Rows of the kernel are summed apart, the first from `start`, and
 * added in order. */
typedef struct sis__depthwise {
    size_t planes, channels, times;
    size_t in[2], out[2], kernel[2], stride[2], dilation[2];
    ptrdiff_t pad[2];   /* in front */
    const float *x;     /* (planes, in) */
    const float *w;     /* (channels, times, kernel) */
    const float *start; /* (channels, times) or NULL */
    int relu;
    float *y; /* (planes, times, out) */
    /* See sis__depthwise_room: lines that the kernel sees in all, how long each is, planes copied at
     * once. */
    size_t lines, line, ahead;
    float *room;
} sis__depthwise;

/* Some rows of a matrix, and a factor for each. */
typedef struct sis__rows {
    const float *w;
    size_t ldw;
    const int *index; /* (count) */
    const double *d;  /* (count) */
    size_t count;
} sis__rows;

/* sum + change, known to +- slack, over a divisor. */
typedef struct sis__sums {
    const double *sum, *change, *slack; /* (n); change may be NULL */
    double divisor;
    size_t n;
    int relu;
} sis__sums;

/* Maxima of each channel inside a box and on two sides of it, and those of everything before the
 * box changed, all of them before a Relu if one follows, but for `base`. */
typedef struct sis__maxima {
    const float *inside, *outside[2], *base; /* (n) */
    size_t n;
    int relu;
} sis__maxima;

/* Windows side by side, each of which sees `count` places with all their channels: those of the first,
 * and by how much the next one's lie behind. */
typedef struct sis__window_maxima {
    const float *const *x; /* (count) */
    size_t count, n, step, channels;
} sis__window_maxima;

/* Windows of one plane that all lie inside it, y (out) in order; along each axis. */
typedef struct sis__pooled {
    const float *x;     /* where the first window begins */
    size_t slice, line; /* floats from one slice of the plane to the next, and of lines */
    size_t kernel[3], dilation[3], stride[3], out[3];
    float *y;
    size_t y_slice, y_line;
    double divisor; /* of averages */
} sis__pooled;

/* Values that may be off, what they are compared with, and what each counts for. */
typedef struct sis__near {
    const float *x, *error, *y, *weight; /* (n) */
    size_t n;
} sis__near;

/* Values before and after, and the differences that were known. */
typedef struct sis__compared {
    const float *now, *base; /* (n) */
    double *kept;            /* (n) now - base as it was, brought up to date */
    size_t n;
    int first;         /* number of the first value */
    int *index;        /* (n + 16) numbers of the values whose difference changed */
    double *change;    /* (n + 16) by how much */
    long more_nonzero; /* differences that are not 0, less those that were not */
} sis__compared;

/* a + b + sum over k < n_rows of sizes[k] * rows[units[k]]; a, b (n), rows (any, n). */
typedef struct sis__patch {
    const float *a, *b;
    const float *rows;
    size_t n_rows;
    const int *units;
    const float *sizes;
} sis__patch;

typedef void sis__arithmetic(const float *a, size_t sa, const float *b, size_t sb, float *y,
                             size_t n);

/* GELU as exporters spell it: e = erf(x / by) + one, or erf(x * by); then the product of x, e and
 * `half` in some order. */
typedef struct sis__gelu {
    float by, one, half;
    int times; /* x * by */
    enum {
        SIS__HALF_LAST,
        SIS__HALF_OF_X,
        SIS__HALF_OF_E
    } order; /* what half is multiplied with */
} sis__gelu;

/* Rows of n, to which another one may be added first: d = x - mean(x); y = d / sqrt(mean(d * d) + epsilon) *
 * scale + shift. */
typedef struct sis__layer_norm {
    size_t n;
    float epsilon;
    const float *scale, *shift; /* (n) */
} sis__layer_norm;

/* What happens to a score of query i and key j before the softmax: times, over or plus a number, plus
 * map[i * row + j * col], or the number where hidden[i * row + j * col] is not 0. */
typedef struct sis__score_step {
    enum { SIS__SCORES_TIMES, SIS__SCORES_OVER, SIS__SCORES_PLUS, SIS__SCORES_HIDE } how;
    float number;
    const float *map;            /* NULL: the number */
    const unsigned char *hidden; /* NULL but for SIS__SCORES_HIDE */
    size_t row, col;
} sis__score_step;

enum { SIS__ATTENTION_KEYS = 4096 }; /* at most: their sums are exact */

/* y (m, v) = softmax(steps(q (m, k) . keys (n, k)^T)) . values (n, v). */
typedef struct sis__attention {
    size_t m, n, k, v;
    sis__operand q, keys, values;
    const sis__score_step *steps;
    size_t n_steps;
    float *y; /* (i, d) at y[i * y_row + d * y_col] */
    size_t y_row, y_col;
    float *room; /* sis__attention_room() */
} sis__attention;

/* How values are brought to mean 0 and deviation 1, and what follows. */
typedef struct sis__standard {
    double mean, rstd;
    float scale, shift;
} sis__standard;

/* One time of n rows of a recurrent layer: sums x + h . r^T of all gates (LSTM i o f c, GRU z r h), each
 * product summed from zero on, then the cell. Rows do not influence each other. */
typedef struct sis__cell_step {
    size_t n, hidden;
    const float *r;          /* packed (hidden, 4 * hidden); GRU: (hidden, 2 * hidden) of z and r */
    const float *r_reset;    /* GRU: packed (hidden, hidden) of the candidate */
    const float *reset_bias; /* GRU: (hidden) added to the product that is reset, or NULL */
    const float *h;          /* (n, hidden) */
    const float *const *x;   /* (n) projections of each row: (gates * hidden) */
    const float *const *more; /* (n) that are added to these; NULL: none */
    float *c;                 /* LSTM: (n, hidden), replaced */
    float *to;                /* (n, hidden) the new h, elsewhere than h */
    float *gates; /* LSTM: (n, 4 * hidden) activated, may be where x is; NULL: nowhere */
    float *room;  /* sis__cell_room() */
} sis__cell_step;

typedef struct sis__kernels {
    const char *name; /* "avx512", "avx2", "neon", "base" */
    size_t nr;        /* columns of a panel of the packed right side */
    size_t mr;        /* rows of a strip of the packed left side */

    /* c (m, n) += a (m, k) . b (k, n). a[i * a_row + p * a_col]; b packed by sis__pack; rows of c
     * are ldc apart. Fill c with zeros or the bias first. */
    void (*gemm)(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                 const float *b, float *c, size_t ldc);

    /* The same of rows that lie side by side and at most SIS__PIECE terms, which are summed from zero
     * on and then added to c. */
    void (*gemm_apart)(size_t m, size_t n, size_t k, const float *a, size_t a_row, const float *b,
                       float *c, size_t ldc);

    /* The same as gemm for a left side packed by sis__pack_left, starting from row_start[i] (zero if NULL)
     * instead of what c holds. */
    void (*gemm_packed)(const sis__packed_product *p);

    void (*linear)(const sis__linear_product *p);

    /* y (n, m) = x (m, n) turned; element (j, i) of y is y[j * y_row + i * y_col]. */
    void (*turn)(size_t m, size_t n, const sis__operand *x, float *y, size_t y_row, size_t y_col);

    void (*depthwise)(const sis__depthwise *p);

    void (*exp)(const float *x, float *y, size_t n); /* y may be x in all of these */
    void (*sigmoid)(const float *x, float *y, size_t n);
    void (*tanh)(const float *x, float *y, size_t n);
    void (*silu)(const float *x, float *y, size_t n); /* x * sigmoid(x), as these two in turn */
    void (*erf)(const float *x, float *y, size_t n);

    /* Rows: y[i] = a[i * sa] + b[i * sb] and so on, for sa and sb of 0 or 1. Rounded as the
     * machine's own operations, so the same for all instruction sets. */
    sis__arithmetic *add, *sub, *mul, *div;
    sis__arithmetic *max, *min; /* b unless a is larger (smaller) or NaN */
    /* In double, 16 sums side by side (of values i, i + 16, ...), of which then sum i and i + 8 are
     * added, i and i + 4, and so on. */
    double (*sum)(const float *x, size_t n);
    /* The same of (x - mean)^2. */
    double (*squares)(const float *x, double mean, size_t n);
    /* y = (x - mean) * rstd in double, then * scale + shift. */
    void (*standardize)(const sis__standard *t, const float *x, float *y, size_t n);
    /* Each of m rows: e^(x - largest), below e^-87 0, times one over the sum of these, each cut to a
     * multiple of 2^-30: exact in any order, and values that are 0 might as well not be there. Rows of
     * -infinity become 0. */
    void (*softmax)(const float *x, float *y, size_t m, size_t n);
    /* What several operators in a row compute, rounded after each of them. y may be x. */
    void (*attention)(const sis__attention *a);
    void (*gelu)(const sis__gelu *g, const float *x, float *y, size_t n);
    void (*layer_norm)(const sis__layer_norm *l, const float *x, const float *more, float *y,
                       size_t m); /* more (m, n) or NULL; y may be it, too */

    void (*relu)(const float *x, float *y, size_t n);

    /* y[i * step] = log of the sum of exp(z (i, j)) over all j < n but c, of each of m rows; summed
     * from the first to the last j in double. */
    void (*log_rest)(const float *z, size_t m, size_t n, size_t c, double *y, size_t step);

    /* y[i] = larger of y[i] and x[i]; NaN is larger than anything. */
    void (*max_row)(float *y, const float *x, size_t n);
    /* The largest value of each window, from the first to the last as max_row finds it; and sums in
     * double from 0 on, in this order, over the divisor. */
    void (*pool_max)(const sis__pooled *p);
    void (*pool_average)(const sis__pooled *p);
    /* The largest of n > 0 values. */
    float (*max_of)(const float *x, size_t n);

    /* One time of n rows of an LSTM, and of a GRU whose candidate is reset behind the product. */
    void (*lstm)(const sis__cell_step *s);
    void (*gru_reset)(const sis__cell_step *s);
    /* sigmoid of n values in place as the cells have it: within 2e-7 of it, where `sigmoid` is
     * relatively precise. */
    void (*gates)(float *gates, size_t n);
    /* One GRU step: zr (2, hidden) activated z and r, candidate (hidden) before tanh, h updated. */
    void (*gru)(const float *z, const float *candidate, const float *h_before, float *h,
                size_t hidden);

    /* gemm as dense layers use it, for a finite b: terms that are 0 may be left out. */
    void (*dense)(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                  const float *b, float *c, size_t ldc);
    /* The same for any b, summed in double and rounded once: what c holds plus the sum of each
     * SIS__PIECE terms. Products of floats are exact in double, so this is the same on every
     * machine, and almost the same in any order. */
    void (*dense_wide)(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                       const float *b, float *c, size_t ldc);

    /* What walks are made of. */
    void (*gemm_placed)(const sis__placed_product *p);
    void (*columns_placed)(const sis__column_product *p);
    /* y (n) = the largest of x[0], ..., x[count - 1], as max_row finds it. */
    void (*max_up)(const float *const *x, size_t count, size_t n, float *y);
    /* y (n, channels) = the same of each window. */
    void (*window_maxima)(const sis__window_maxima *m, float *y);
    /* y (n) = x[0] + x[1] + ... + x[count - 1], a negative sum to 0 if a Relu follows. */
    void (*add_up)(const float *const *x, size_t count, size_t n, int relu, float *y);
    /* y (n) += sum over t of d[t] * row index[t] of w, rows ldw apart. */
    void (*add_rows)(const sis__rows *r, double *y, size_t n);
    /* y (n) = the largest of y and all a + b; a, b (count, n). */
    void (*add_max)(const float *a, const float *b, size_t count, float *y, size_t n);
    /* y = the larger of inside and outside, through a Relu if one follows. 0 if that is the base. */
    int (*join_maxima)(const sis__maxima *t, float *y);
    /* Weights of all x that are not surely below y, added up. */
    float (*near)(const sis__near *t);
    /* Differences that changed: fills index and change, returns how many. */
    size_t (*changes)(sis__compared *c);
    /* Round quotients, a negative one to 0 if a Relu follows. Not 0 if some sum is so close to the
     * middle between two floats that an error of slack[i] decides which one it is; that is then the
     * lower one. */
    int (*round_sums)(const sis__sums *s, float *y);

    /* Walks over dense layers (net/walk/dense.c); n is a multiple of 16 in all three.
     * Units of v = a + b where v > 0 differs from `on` (0 or -1): their numbers and |v| into units
     * and sizes (n each). Returns how many. */
    size_t (*switched)(const float *a, const float *b, const int *on, size_t n, int *units,
                       float *sizes);
    /* y (n) = what the patch describes, but at least `low`. */
    void (*patch)(const sis__patch *p, float low, float *y, size_t n);
    /* y (m, 16) += x (m, n) . w (n, 16), summed as in gemm; no x is below 0. */
    void (*narrow)(size_t m, size_t n, const float *x, const float *w, float *y);
} sis__kernels;

/* The best for this machine; always the same one. */
const sis__kernels *sis__kernels_best(void);

/* Those this machine can run, fastest last, NULL-terminated: for tests and benchmarks. */
const sis__kernels *const *sis__kernels_all(void);

/* Floats that packing (k, n) takes: columns are rounded up to whole panels. SIZE_MAX: overflow. */
size_t sis__packed_size(const sis__kernels *kn, size_t k, size_t n);

/* b[p * b_row + j * b_col] (k, n) -> panels of nr columns, each (k, nr), padded with zeros. */
void sis__pack(const sis__kernels *kn, size_t k, size_t n, const float *b, size_t b_row,
               size_t b_col, float *packed);

/* Floats for the sums of a strip of rows. */
size_t sis__cell_room(const sis__kernels *kn, size_t gates, size_t hidden);

/* Floats for the scores of a panel of queries, and for these or their results. */
size_t sis__attention_room(const sis__kernels *kn, size_t n, size_t k, size_t v);

/* Fills lines, line and ahead. Floats for planes with their padding, and for a line of results. */
size_t sis__depthwise_room(sis__depthwise *p);

/* The weights as the left side (m, k) of a product, k in the order (row, channel, run): for each
 * piece of k its strips of at most mr rows, each (piece, mr). A piece is a row of the kernel; if there is
 * only one, k is cut every SIS__PIECE terms. */
void sis__pack_left(const sis__kernels *kn, const sis__filters *w, float *packed);
size_t sis__packed_left_size(const sis__kernels *kn, size_t m, size_t k);

/* The first row of strip i of a left side of m rows: strips are equally high but for one row, since low
 * ones wait for their own sums. */
static inline size_t sis__strip_start(size_t m, size_t mr, size_t i) {
    size_t strips = (m + mr - 1) / mr;
    return m / strips * i + m % strips * i / strips;
}

/* Length of the pieces of k. */
static inline size_t sis__piece_of(size_t k, size_t parts) {
    return parts > 1 ? k / parts : SIS__PIECE;
}

#endif
