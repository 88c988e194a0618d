/* SPDX-License-Identifier: MIT
 *
 * The inputs of a model, whether it runs in the engine, in ONNX Runtime or on a server: which input
 * takes the rows, and where the others come from. The caller may set an input; or it follows from
 * the tokens of the main input, as its name says (attention masks, token types, positions,
 * lengths); or it takes a part of the row, in the model's order.
 */
#ifndef SIS_BASE_SIGNATURE_H
#define SIS_BASE_SIGNATURE_H

#include <stddef.h>

enum { SIS__SIGNATURE_RANK = 16 };

typedef enum sis__input_kind {
    SIS__INPUT_NUMBERS, /* floating point or boolean */
    SIS__INPUT_WHOLE,   /* integers */
    SIS__INPUT_TEXTS,
    SIS__INPUT_OTHER /* cannot be fed from rows */
} sis__input_kind;

typedef enum sis__follow {
    SIS__FOLLOWS_NOT,   /* does not follow from tokens */
    SIS__FOLLOWS_MASK,  /* 1 for a token, 0 for padding */
    SIS__FOLLOWS_ZERO,  /* 0 for each token: types, segments */
    SIS__FOLLOWS_PLACE, /* 0, 1, 2 ... */
    SIS__FOLLOWS_COUNT  /* how many tokens a row has */
} sis__follow;

/* An input as a model declares it. */
typedef struct sis__declared {
    const char *name;
    sis__input_kind kind;
    size_t rank;
    long long dims[SIS__SIGNATURE_RANK]; /* negative: free */
    int given;                           /* set by the caller */
} sis__declared;

/* How an input is filled. */
typedef struct sis__input_role {
    sis__follow follow;
    size_t part, count; /* its part of a row: offset and number of values; 0: not a part */
} sis__input_role;

typedef struct sis__signature {
    size_t main; /* the input that takes the row; n: each input takes a part */
    int counted; /* parts: the first axis of each counts rows; otherwise each input is one row */
} sis__signature;

/* Find the role of each of n inputs. explain: name of the input that takes the row; NULL: the only
 * one that the caller does not set, or the only one of token ids apart from those that follow by
 * name. Fails with SIS_E_ARGUMENT or SIS_E_UNSUPPORTED and a message that says what to do. */
int sis__signature_assign(const sis__declared *inputs, size_t n, const char *explain,
                          sis__input_role *roles, sis__signature *out);

/* The shape of a value that the caller sets for an input. An array keeps its shape (dims, rank),
 * matched to the declared axes; a number (rank 0) fills the declared shape, where free sizes become
 * 1. `out` has room for SIS__SIGNATURE_RANK axes. Also returns the number of axes and of values. */
int sis__signature_given(const sis__declared *in, const size_t *dims, size_t rank, size_t *out,
                         size_t *out_rank, size_t *count);

/* How an input of this name follows from tokens. */
sis__follow sis__follow_named(const char *name);

#endif
