/* SPDX-License-Identifier: MIT
 *
 * What stands behind the first attention of a transformer if a token leaves or is exchanged, from sums
 * that are kept. Tokens up to there are known one by one (attention.c). Attention adds up values v of
 * all tokens k with weights e over their sum Z, so a candidate that lacks token j has
 *
 *     (sum over k of e(i,k) v(k)  -  e(i,j) v(j)) / (Z(i) - e(i,j))
 *
 * for token i, in each head; one whose token is exchanged adds what the new one brings. What follows is
 * linear but for one number a token: heads are joined by a product, the token itself is added, the sum is
 * normalised, and the first dense layer multiplies. So products are made once: of the sums, when the state
 * changes, and of the values, when a walk is made. A candidate adds up rows of these, 2 a head and token,
 * where a product has as many as the layer is wide.
 *
 * It rounds otherwise than full passes. Where a token that goes has most of the weight, what is left
 * is summed anew.
 */
#ifndef SIS_NET_WALK_ATTENDED_H
#define SIS_NET_WALK_ATTENDED_H

#include "net/walk/walk.h"

typedef struct sis__attended sis__attended;

/* Where the head starts in front of the first attention. */
typedef struct sis__attended_from {
    const sis__plan *head;   /* one row with all tokens, from the cuts on */
    const sis__plan *shapes; /* one row that keeps everything */
    const sis__cut *cuts;
    const int *axes; /* (n_cuts) of tokens */
    size_t n_cuts, n_tokens;
    const float *x, *z; /* a row of the cuts: tokens as they are, and masked */
    size_t memory;      /* bytes to stay below */
} sis__attended_from;

/* SIS_E_UNSUPPORTED: the network goes on otherwise, or nothing would be gained. */
int sis__attended_new(const sis__attended_from *from, sis__attended **out);
void sis__attended_free(sis__attended *t);

/* Where the head starts behind it. */
size_t sis__attended_cuts(const sis__attended *t, const sis__cut **cuts, const int **axes);

/* The steps of from->head that it stands for, as long as that is there; NULL at the end. */
const sis__step *sis__attended_step(const sis__attended *t, size_t i);

/* Tokens that a candidate may exchange at most for this to pay. */
size_t sis__attended_most(const sis__attended *t);

/* The present state: n tokens by number, ascending, and which of all are masked. */
void sis__attended_enter(sis__attended *t, const size_t *tokens, size_t n,
                         const unsigned char *masked);

/* A candidate whose tokens at n places of the present state are masked, or, if it leaves, one that is
 * not there. Rows of several go to to[candidate * cuts + cut]. */
typedef struct sis__exchange {
    const size_t *places;
    size_t n;
    int leaves;
} sis__exchange;
void sis__attended_rows(sis__attended *t, const sis__exchange *c, size_t n, float *const *to);

#endif
