/* SPDX-License-Identifier: MIT
 *
 * The inputs of a model, in the engine, in ONNX Runtime or on a server: which of them rows go into, and
 * where the others come from. An input is given by the caller; or it follows from the tokens of the
 * one that takes the row, as its name says (attention masks, token types, positions, lengths); or it
 * takes a part of the row, in the model's order.
 */
#ifndef SIS_BASE_SIGNATURE_H
#define SIS_BASE_SIGNATURE_H

#include <stddef.h>

enum { SIS__SIGNATURE_RANK = 16 };

typedef enum sis__input_kind {
    SIS__INPUT_NUMBERS, /* of floating point, or truth values */
    SIS__INPUT_WHOLE,   /* whole numbers */
    SIS__INPUT_TEXTS,
    SIS__INPUT_OTHER /* nothing that rows can be fed to */
} sis__input_kind;

typedef enum sis__follow {
    SIS__FOLLOWS_NOT,   /* something else */
    SIS__FOLLOWS_MASK,  /* 1 where a token is, 0 where the padding token is */
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
    int given;                           /* by the caller */
} sis__declared;

/* What becomes of it. */
typedef struct sis__input_role {
    sis__follow follow;
    size_t part, count; /* its part of a row: where it begins, how many values; 0: not a part */
} sis__input_role;

typedef struct sis__signature {
    size_t main; /* the input that takes the row; n: each takes a part */
    int counted; /* parts: the first axis of each counts rows; else all of each is one row */
} sis__signature;

/* The role of each of n inputs. explain: the one that takes the row, by name; NULL: the only one that is
 * not given, or the only one of token ids beside those that follow by their names. SIS_E_ARGUMENT,
 * SIS_E_UNSUPPORTED: with what to do in the message. */
int sis__signature_assign(const sis__declared *inputs, size_t n, const char *explain,
                          sis__input_role *roles, sis__signature *out);

/* The shape of a value that is given for an input: an array has its own (dims, rank), along the axes that
 * are declared; one number (rank 0) fills what is declared, free sizes being 1. To `out`, of which at
 * least SIS__SIGNATURE_RANK are there; how many axes, how many values. */
int sis__signature_given(const sis__declared *in, const size_t *dims, size_t rank, size_t *out,
                         size_t *out_rank, size_t *count);

/* What an input of that name is where there are tokens. */
sis__follow sis__follow_named(const char *name);

#endif
