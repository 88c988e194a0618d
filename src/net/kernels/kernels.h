/* SPDX-License-Identifier: MIT
 *
 * The inner loops. One source (body.h) is compiled for each instruction set; sis__kernels_best()
 * returns the best one for this machine. tests/unit/support_kernels.c computes the same with plain
 * scalar loops.
 *
 * Guarantee of every kernel: an element of the result depends, to the bit, only on the values that
 * enter it. It does not depend on the size of the matrix, on the element's position or on other
 * elements. Sums over k run from the first to the last term in single precision; long sums of dense
 * layers in double. Convolutions have one sum for each row of the kernel, so that walks can keep
 * these separately, except those in tiles.
 */
#ifndef SIS_NET_KERNELS_KERNELS_H
#define SIS_NET_KERNELS_KERNELS_H

#include <stddef.h>

#include "net/kernels/product.h"

/* Maximal length of a piece of k. A packed left side is laid out in such pieces. */
enum { SIS__PIECE = 256 };

/* c (m, n) = row_start + a (m, k) . b (k, n), both sides packed, rows of c ldc apart. k consists of
 * `parts` equal parts with separate sums: the first starts from row_start, the others from 0; they
 * are added in order. */
typedef struct sis__packed_product {
    size_t m, n, k, parts;
    const float *a, *b;
    const float *row_start; /* (m) or NULL */
    float *c;
    size_t ldc;
    /* (k) or NULL. If set, b is not packed and element (p, j) is b[place[p] + j]; up to a panel is
     * read beyond the last column. */
    const int *place;
    /* 0, or columns come in lines of this length that begin `pitch` apart. Needs
     * sis__takes_lines(), and n must fill whole panels. */
    size_t line, pitch;
} sis__packed_product;

/* May columns come in lines of n? Yes if a line fills vectors or halves of vectors. */
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

/* Dense layers add sums of at least this many terms in double, and all sums if the layer reads a
 * map of positions, so that walks over the map can keep them. */
enum { SIS__LONG = 1024, SIS__LONG_OF_MAP = 96 };

/* A product whose rows are read and written in place: c[i][j] = start[j] + sum over p of
 * a[i][offset[p]] * b (p, j). */
typedef struct sis__placed_product {
    size_t m, n, k;
    const float *const *a; /* (m) */
    const int *offset;     /* (k); NULL: 0, 1, 2 ... */
    const float *b;        /* packed */
    const float *start;    /* (n); NULL: start from c */
    float *const *c;       /* (m) */
} sis__placed_product;

/* The same with separate rows for each column, `step` apart: c[i][j] = start[j] + sum over p of
 * a[i][p * step + j] * b[p * n + j]. */
typedef struct sis__column_product {
    size_t m, n, k, step;
    const float *const *a; /* (m) */
    const float *b;        /* (k, n) */
    const float *start;    /* (n) */
    float *const *c;       /* (m) */
} sis__column_product;

/* Weights of a convolution, (m, channels, rows, run): filter, channel, row of the kernel, position
 * in the row. */
typedef struct sis__filters {
    const float *at;
    size_t m, channels, rows, run;
} sis__filters;

/* Depthwise convolution: each of `planes` planes (in), `channels` per example, with `times` filters
 * of its channel. Each row of the kernel has its own sum, the first starts from `start`; they are
 * added in order. */
typedef struct sis__depthwise {
    size_t planes, channels, times;
    size_t in[2], out[2], kernel[2], stride[2], dilation[2];
    ptrdiff_t pad[2];   /* at the beginning */
    const float *x;     /* (planes, in) */
    const float *w;     /* (channels, times, kernel) */
    const float *start; /* (channels, times) or NULL */
    int relu;
    float *y; /* (planes, times, out) */
    /* Set by sis__depthwise_room(): number of lines that the kernel sees, length of a line, number
     * of planes copied at once. */
    size_t lines, line, ahead;
    float *room;
} sis__depthwise;

/* One row of tiles of n channels, for at most nr / 2 examples (net/ops/conv_tiles.c). A map is
 * (channel, line, column, example), the 16 sums of each tile (sum, channel, tile, example). */
typedef struct sis__tiles {
    size_t n, count, lanes; /* channels; tiles; examples */
    float *map, *sums;      /* at the first line of the tiles; at the first tile */
    size_t plane, line;     /* of the map: floats from channel to channel, from line to line */
    size_t step, row;       /* of the sums: from sum to sum, from channel to channel */
    size_t lines, cols;     /* tiles_out: lines of this row of tiles, 1 or 2; columns of the map */
    const float *bias;      /* tiles_out: (n) or NULL */
    int relu;               /* tiles_out */
} sis__tiles;

/* Some rows of a matrix, with a factor for each. */
typedef struct sis__rows {
    const float *w;
    size_t ldw;
    const int *index; /* (count) */
    const double *d;  /* (count) */
    size_t count;
} sis__rows;

/* (sum + change) / divisor, with an error of at most slack. */
typedef struct sis__sums {
    const double *sum, *change, *slack; /* (n); change may be NULL */
    double divisor;
    size_t n;
    int relu;
} sis__sums;

/* Maxima of each channel inside a box, on two sides of it, and (base) over everything before the
 * box changed. If a Relu follows, all except `base` are taken before it. */
typedef struct sis__maxima {
    const float *inside, *outside[2], *base; /* (n) */
    size_t n;
    int relu;
} sis__maxima;

/* Windows side by side. Each covers `count` positions with all channels: x has those of the first
 * window; the others follow at a fixed distance. */
typedef struct sis__window_maxima {
    const float *const *x; /* (count) */
    size_t count, n, step, channels;
} sis__window_maxima;

/* Windows that lie inside one plane; y (out) in order. Sizes per axis. */
typedef struct sis__pooled {
    const float *x;     /* start of the first window */
    size_t slice, line; /* distance between slices of the plane, and between lines, in floats */
    size_t kernel[3], dilation[3], stride[3], out[3];
    float *y;
    size_t y_slice, y_line;
    double divisor; /* for averages */
} sis__pooled;

/* Values with errors, the values they are compared with, and the weight of each. */
typedef struct sis__near {
    const float *x, *error, *y, *weight; /* (n) */
    size_t n;
} sis__near;

/* Values before and after a change, and their previous differences. */
typedef struct sis__compared {
    const float *now, *base; /* (n) */
    double *kept;            /* (n) previous now - base; is updated */
    size_t n;
    int first;         /* index of the first value */
    int *index;        /* (n + 16) indices of the values whose difference changed */
    double *change;    /* (n + 16) the change */
    long more_nonzero; /* by how much the number of nonzero differences grew */
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

/* GELU as exporters write it: e = erf(x / by) + one, or erf(x * by); then the product of x, e and
 * `half` in some order. */
typedef struct sis__gelu {
    float by, one, half;
    int times; /* x * by */
    enum {
        SIS__HALF_LAST,
        SIS__HALF_OF_X,
        SIS__HALF_OF_E
    } order; /* which factor half is multiplied with */
} sis__gelu;

/* Layer normalisation of rows of n, after another row may have been added: d = x - mean(x); y = d /
 * sqrt(mean(d * d) + epsilon) * scale + shift. */
typedef struct sis__layer_norm {
    size_t n;
    float epsilon;
    const float *scale, *shift; /* (n) */
} sis__layer_norm;

/* A step from product to softmax for the score of query i and key j: multiply by, divide by or add
 * a number, add map[i * row + j * col], or set the number where hidden[i * row + j * col] is not
 * 0. */
typedef struct sis__score_step {
    enum { SIS__SCORES_TIMES, SIS__SCORES_OVER, SIS__SCORES_PLUS, SIS__SCORES_HIDE } how;
    float number;
    const float *map;            /* NULL: the number */
    const unsigned char *hidden; /* NULL except for SIS__SCORES_HIDE */
    size_t row, col;
} sis__score_step;

enum { SIS__ATTENTION_KEYS = 4096 }; /* maximum; sums are exact up to here */

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

/* How values are standardised to mean 0 and deviation 1, then scaled and shifted. */
typedef struct sis__standard {
    double mean, rstd;
    float scale, shift;
} sis__standard;

/* One time step of n rows of a recurrent layer: sums x + h . r^T of all gates (LSTM i o f c, GRU z
 * r h), each product summed from zero, then the cell. Rows are independent. */
typedef struct sis__cell_step {
    size_t n, hidden;
    const float *r;          /* packed (hidden, 4 * hidden); GRU: (hidden, 2 * hidden) of z and r */
    const float *r_reset;    /* GRU: packed (hidden, hidden) of the candidate */
    const float *reset_bias; /* GRU: (hidden) added to the product before the reset, or NULL */
    const float *h;          /* (n, hidden) */
    const float *const *x;   /* (n) projected inputs of each row: (gates * hidden) */
    const float *const *more; /* (n) added to these; NULL: none */
    float *c;                 /* LSTM: (n, hidden), updated */
    float *to;                /* (n, hidden) the new h; must not be h */
    float *gates; /* LSTM: (n, 4 * hidden) activated gates, may be x; NULL: not stored */
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

    /* The same for contiguous rows and at most SIS__PIECE terms, which are summed from zero and
     * then added to c. */
    void (*gemm_apart)(size_t m, size_t n, size_t k, const float *a, size_t a_row, const float *b,
                       float *c, size_t ldc);

    /* gemm for a left side packed by sis__pack_left(), starting from row_start[i] (NULL: zero)
     * instead of c. */
    void (*gemm_packed)(const sis__packed_product *p);

    void (*linear)(const sis__linear_product *p);

    /* y (n, m) = transpose of x (m, n); element (j, i) of y is y[j * y_row + i * y_col]. */
    void (*turn)(size_t m, size_t n, const sis__operand *x, float *y, size_t y_row, size_t y_col);

    void (*depthwise)(const sis__depthwise *p);

    /* Transform inputs (map to sums), and products (sums to map). */
    void (*tiles_in)(const sis__tiles *t);
    void (*tiles_out)(const sis__tiles *t);

    void (*exp)(const float *x, float *y, size_t n); /* y may be x in all of these */
    void (*sigmoid)(const float *x, float *y, size_t n);
    void (*tanh)(const float *x, float *y, size_t n);
    void (*silu)(const float *x, float *y, size_t n); /* x * sigmoid(x), rounded after each
                                                       * operation */
    void (*erf)(const float *x, float *y, size_t n);

    /* Rows: y[i] = a[i * sa] + b[i * sb] and so on, with sa and sb 0 or 1. IEEE operations, so the
     * same on all instruction sets. */
    sis__arithmetic *add, *sub, *mul, *div;
    sis__arithmetic *max, *min; /* b unless a is larger (smaller) or NaN */
    /* Sum in double: 16 partial sums (of values i, i + 16, ...), which are added pairwise: i and i
     * + 8, then i and i + 4, and so on. */
    double (*sum)(const float *x, size_t n);
    /* The same of (x - mean)^2. */
    double (*squares)(const float *x, double mean, size_t n);
    /* y = (x - mean) * rstd in double, then * scale + shift. */
    void (*standardize)(const sis__standard *t, const float *x, float *y, size_t n);
    /* Softmax of each of m rows: e^(x - maximum), 0 below e^-87, divided by their sum. Addends are
     * truncated to multiples of 2^-30, so the sum is exact in any order and zeros do not change it.
     * Rows of -infinity become 0. */
    void (*softmax)(const float *x, float *y, size_t m, size_t n);
    /* Several successive operators in one pass, rounded after each of them. y may be x. */
    void (*attention)(const sis__attention *a);
    void (*gelu)(const sis__gelu *g, const float *x, float *y, size_t n);
    void (*layer_norm)(const sis__layer_norm *l, const float *x, const float *more, float *y,
                       size_t m); /* more (m, n) or NULL; y may be more */

    void (*relu)(const float *x, float *y, size_t n);

    /* y[i * step] = log of the sum of exp(z (i, j)) over all j < n except c, for each of m rows;
     * summed from the first to the last j in double. */
    void (*log_rest)(const float *z, size_t m, size_t n, size_t c, double *y, size_t step);

    /* y[i] = larger of y[i] and x[i]; NaN is larger than anything. */
    void (*max_row)(float *y, const float *x, size_t n);
    /* The maximum of each window, from first to last as in max_row; and the average: a sum in
     * double from 0, in this order, over the divisor. */
    void (*pool_max)(const sis__pooled *p);
    void (*pool_average)(const sis__pooled *p);
    /* The largest of n > 0 values. */
    float (*max_of)(const float *x, size_t n);

    /* One time step of n rows of an LSTM, and of a GRU that resets its candidate after the
     * product. */
    void (*lstm)(const sis__cell_step *s);
    void (*gru_reset)(const sis__cell_step *s);
    /* sigmoid of n values in place as the cells compute it: absolute error below 2e-7. `sigmoid`
     * bounds the relative error. */
    void (*gates)(float *gates, size_t n);
    /* One GRU step: zr (2, hidden) activated z and r, candidate (hidden) before tanh, h updated. */
    void (*gru)(const float *z, const float *candidate, const float *h_before, float *h,
                size_t hidden);

    /* gemm of dense layers, for a finite b: terms that are 0 may be left out. */
    void (*dense)(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                  const float *b, float *c, size_t ldc);
    /* The same for any b, summed in double: c plus the sum of each SIS__PIECE terms, rounded once.
     * Products of floats are exact in double, so the result is the same on every machine and almost
     * the same in any order. */
    void (*dense_wide)(size_t m, size_t n, size_t k, const float *a, size_t a_row, size_t a_col,
                       const float *b, float *c, size_t ldc);

    /* The following are for walks. */
    void (*gemm_placed)(const sis__placed_product *p);
    void (*columns_placed)(const sis__column_product *p);
    /* y (n) = the largest of x[0], ..., x[count - 1], as max_row finds it. */
    void (*max_up)(const float *const *x, size_t count, size_t n, float *y);
    /* y (n, channels) = the same of each window. */
    void (*window_maxima)(const sis__window_maxima *m, float *y);
    /* y (n) = x[0] + x[1] + ... + x[count - 1]; negative sums become 0 if a Relu follows. */
    void (*add_up)(const float *const *x, size_t count, size_t n, int relu, float *y);
    /* y (n) += sum over t of d[t] * row index[t] of w, rows ldw apart. */
    void (*add_rows)(const sis__rows *r, double *y, size_t n);
    /* y (n) = maximum of y and all a + b; a, b (count, n). */
    void (*add_max)(const float *a, const float *b, size_t count, float *y, size_t n);
    /* y = maximum of inside and outside, after the Relu if one follows. Returns 0 if y equals
     * base. */
    int (*join_maxima)(const sis__maxima *t, float *y);
    /* The total weight of all x that may be at or above y. */
    float (*near)(const sis__near *t);
    /* Find the differences that changed: fills index and change, returns their number. */
    size_t (*changes)(sis__compared *c);
    /* Round the quotients to float; negative ones become 0 if a Relu follows. Not 0 if some
     * quotient is so close to the midpoint of two floats that an error of slack[i] decides the
     * rounding; y is then the lower one. */
    int (*round_sums)(const sis__sums *s, float *y);

    /* Walks over dense layers (net/walk/dense.c); n is a multiple of 16 in all three. Find the
     * units of v = a + b where v > 0 differs from `on` (0 or -1): indices into units, |v| into
     * sizes (n each). Returns their number. */
    size_t (*switched)(const float *a, const float *b, const int *on, size_t n, int *units,
                       float *sizes);
    /* y (n) = the patch, but at least `low`. */
    void (*patch)(const sis__patch *p, float low, float *y, size_t n);
    /* y (m, 16) += x (m, n) . w (n, 16), summed as in gemm; x >= 0. */
    void (*narrow)(size_t m, size_t n, const float *x, const float *w, float *y);
} sis__kernels;

/* The best for this machine; always the same one. */
const sis__kernels *sis__kernels_best(void);

/* All kernels that this machine can run, fastest last, NULL-terminated: for tests and
 * benchmarks. */
const sis__kernels *const *sis__kernels_all(void);

/* Number of floats of a packed (k, n) matrix; columns are rounded up to whole panels. SIZE_MAX:
 * overflow. */
size_t sis__packed_size(const sis__kernels *kn, size_t k, size_t n);

/* b[p * b_row + j * b_col] (k, n) -> panels of nr columns, each (k, nr), padded with zeros. */
void sis__pack(const sis__kernels *kn, size_t k, size_t n, const float *b, size_t b_row,
               size_t b_col, float *packed);

/* Scratch for the sums of a strip of rows, in floats. */
size_t sis__cell_room(const sis__kernels *kn, size_t gates, size_t hidden);

/* Scratch for the scores of a panel of queries and for queries or results, in floats. */
size_t sis__attention_room(const sis__kernels *kn, size_t n, size_t k, size_t v);

/* Scratch for padded planes and a line of results, in floats. Sets lines, line and ahead. */
size_t sis__depthwise_room(sis__depthwise *p);

/* Pack weights as the left side (m, k) of a product, k in the order (row, channel, run): for each
 * piece of k its strips of at most mr rows, each (piece, mr). A piece is a row of the kernel; if
 * there is only one row, k is cut every SIS__PIECE terms. */
void sis__pack_left(const sis__kernels *kn, const sis__filters *w, float *packed);
size_t sis__packed_left_size(const sis__kernels *kn, size_t m, size_t k);

/* Weights of n kernels of 3 x 3 for tiles: (SIS__TILE_SUMS, n), G g G^T of each (ops/conv_tiles.c).
 * The caller frees them; NULL: out of memory. */
enum { SIS__TILE_SUMS = 16, SIS__TILE_KERNEL = 9 };
float *sis__tile_weights(const float *g, size_t n);

/* First row of strip i of a left side of m rows. Heights of strips differ by at most one row, since
 * low strips wait for their own sums. */
static inline size_t sis__strip_start(size_t m, size_t mr, size_t i) {
    size_t strips = (m + mr - 1) / mr;
    return m / strips * i + m % strips * i / strips;
}

/* Length of the pieces of k. */
static inline size_t sis__piece_of(size_t k, size_t parts) {
    return parts > 1 ? k / parts : SIS__PIECE;
}

#endif
