/* SPDX-License-Identifier: MIT
 *
 * Parameters of a plan's steps. Shape functions compute them from attributes and shapes; forward,
 * backward and walks read them.
 */
#ifndef SIS_NET_PLAN_PARAMS_H
#define SIS_NET_PLAN_PARAMS_H

#include "net/onnx/graph.h"

/* Convolution and pooling. Always three spatial axes, the last is the fastest; missing leading ones
 * have size 1 (a 1-D convolution is (1, 1, L)). x (n, channels, in...) -> y (n, filters, out...).
 * Output o reads inputs o*stride - pad + k*dilation for k in 0..kernel-1 of each axis. */
typedef struct sis__window {
    size_t n, channels, filters, groups;
    size_t in[3], out[3], kernel[3], stride[3], dilation[3];
    ptrdiff_t pad[3];  /* before; the padding after follows from `out` */
    size_t pad_end[3]; /* declared padding after (average pooling counts it) */
    int include_pad;   /* AveragePool: divide by the whole window */
    const float
        *packed; /* Conv: weights packed for the kernel, group by group; NULL: not constant */
    int tiles;   /* Conv: computed in tiles (ops/conv_tiles.c), for which weights are packed */
} sis__window;

/* Element-wise with broadcasting: collapsed output axes and the stride of each input along them. */
typedef struct sis__broadcast {
    size_t rank;
    size_t dims[SIS__MAX_RANK];
    size_t stride[3][SIS__MAX_RANK]; /* 0: broadcast */
    int choice;                      /* Mod: fmod; BitShift: left */
} sis__broadcast;

/* Layout of a stack of matrices: strides of rows and columns, and the offset of each matrix. */
typedef struct sis__stack {
    size_t row, col;
    const size_t *at;
} sis__stack;

/* y (m, n) = alpha * op(a) . op(b) + beta * c, for each matrix of `over` (the leading axes of a
 * MatMul, rank 0 for Gemm; strides count matrices). A MatMul whose right side has two axes is one
 * product with all rows of the left in m. */
typedef struct sis__gemm {
    size_t m, n, k;
    int trans_a, trans_b;
    float alpha, beta;
    sis__broadcast over;
    size_t c_row, c_col; /* Gemm: strides of c, 0 where it is broadcast */
    const float *packed; /* alpha * op(b) packed for the kernel; NULL if b is not constant */
    int finite;          /* all packed values are finite: see sis__kernels.dense */
    int wide;            /* products with the packed matrix are summed in double */
    int tokens;          /* MatMul: left side (rows, tokens, k), b packed. Summed in single
                          * precision whatever the length; an optional third input is a bias */
    const float *back;   /* in gradient plans also alpha * op(b)^T; NULL if b is not constant */
} sis__gemm;

/* A tensor seen as (outer, size, inner) around one axis or several adjacent ones. */
typedef struct sis__axis {
    size_t axis, outer, size, inner;
    int last; /* ArgMax: the last of equal values */
} sis__axis;

/* Element-wise functions of one input and their constants. */
typedef struct sis__unary {
    float alpha, beta;
    int to; /* Cast: target dtype */
    float gamma;
} sis__unary;

/* The axes of a reduction: r kept axes, then s reduced ones, each with size and stride. */
typedef struct sis__reduce {
    size_t n_kept, n_reduced;
    size_t kept[SIS__MAX_RANK], kept_stride[SIS__MAX_RANK];
    size_t reduced[SIS__MAX_RANK], reduced_stride[SIS__MAX_RANK];
    size_t count; /* number of values of one result */
} sis__reduce;

/* Transpose, Slice, Expand and the like: y[i0..] = x[offset + sum i_d * stride_d]. */
typedef struct sis__strided {
    size_t rank;
    size_t dims[2 * SIS__MAX_RANK];      /* of y, whose axes may be split (Tile) */
    ptrdiff_t stride[2 * SIS__MAX_RANK]; /* in x, may be negative or 0 */
    ptrdiff_t offset;
} sis__strided;

typedef enum sis__pad_mode {
    SIS__PAD_CONSTANT,
    SIS__PAD_REFLECT,
    SIS__PAD_EDGE,
    SIS__PAD_WRAP
} sis__pad_mode;

typedef struct sis__pad {
    sis__pad_mode mode;
    float value;                  /* fill value */
    int64_t whole;                /* fill value of integers */
    int64_t begin[SIS__MAX_RANK]; /* may be negative: crops */
} sis__pad;

typedef enum sis__norm_kind { SIS__NORM_MAX, SIS__NORM_L1, SIS__NORM_L2 } sis__norm_kind;

/* BatchNormalization: y = x * scale[c] + shift[c] over x (outer, channels, inner).
 * Scaler: y = (x - shift[c]) * scale[c] over (outer, channels). Normalizer: rows of `channels`. */
typedef struct sis__norm {
    size_t outer, channels, inner;
    float epsilon;
    const float *scale, *shift;    /* BatchNormalization: NULL if the statistics are not constant */
    size_t scale_step, shift_step; /* Scaler: 0 if one number serves all columns */
    sis__norm_kind kind;           /* Normalizer */
} sis__norm;

/* LSTM and GRU. x (seq, batch, input), or (batch, seq, input) with batch_first. Gates in ONNX order
 * (LSTM i o f c, GRU z r h); w (directions, gates*hidden, input), r (directions, gates*hidden,
 * hidden), b (directions, 2*gates*hidden). */
typedef struct sis__recurrent {
    size_t seq, batch, input, hidden, directions, gates;
    size_t times[2];         /* of each direction, from its start: all, or as many as are needed */
    int reverse;             /* the only direction runs backwards */
    int batch_first;         /* layout = 1 */
    int linear_before_reset; /* GRU */
    size_t h_batch, c_batch; /* rows of the initial states: batch, or 1 (repeated) */
    /* Per direction, packed for the kernel as (k, n): w^T (input, gates*hidden), r^T (hidden,
     * gates*hidden) for an LSTM; for a GRU r of z and r (hidden, 2*hidden) and r of h (hidden,
     * hidden). NULL if not constant. */
    const float *w_packed[2], *r_packed[2], *rh_packed[2];
    /* Not NULL: w_packed covers the first half of the inputs and this the second half, which is
     * summed separately. See sis__pass_project(). */
    const float *w_late[2];
} sis__recurrent;

/* Trees as arrays; see net/ops/trees.c. */
typedef struct sis__trees sis__trees;

/* post_transform of ai.onnx.ml. */
typedef enum sis__post {
    SIS__POST_NONE,
    SIS__POST_SOFTMAX,
    SIS__POST_LOGISTIC,
    SIS__POST_SOFTMAX_ZERO,
    SIS__POST_PROBIT
} sis__post;

/* LinearClassifier, LinearRegressor: x (n, width) -> scores (n, outputs). */
typedef struct sis__linear {
    size_t n, width, outputs;
    size_t rows;                 /* of coefficients: outputs, or 1 for two classes */
    const float *weights, *bias; /* point into the document: (rows, width), (rows) or NULL */
    sis__post post;
    int scores_at;         /* index of the output with scores: 1 after labels, else 0 */
    const int64_t *labels; /* (outputs) for the label output */
} sis__linear;

typedef union sis__params {
    sis__window window;       /* Conv, MaxPool, AveragePool, Global*Pool */
    sis__gemm gemm;           /* Gemm, MatMul */
    sis__axis axis;           /* Softmax, LogSoftmax, Concat, Gather, Split, ArgMax */
    sis__broadcast broadcast; /* Add, Sub, Mul, Div, Pow, Max, Min, comparisons, Where */
    sis__unary unary;         /* Relu, LeakyRelu, Clip, Cast ... */
    sis__reduce reduce;       /* ReduceMax, ReduceMean, ReduceSum ... */
    sis__strided strided;     /* Transpose, Slice, Expand, Tile */
    sis__pad pad;
    sis__norm norm;
    sis__recurrent recurrent; /* LSTM, GRU */
    sis__linear linear;       /* LinearClassifier, LinearRegressor */
    sis__trees *trees;
    void *own; /* private to the operator's file: sis__ctx_own */
} sis__params;

#endif
