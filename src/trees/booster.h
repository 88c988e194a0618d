/* SPDX-License-Identifier: MIT
 *
 * A model of XGBoost or LightGBM: a forest, what is made of its sums, and names.
 *
 * Sums are those of the library to the bit: XGBoost adds floats tree after tree, starting from
 * base_score behind the inverse of its link; LightGBM adds doubles from 0. Links are computed in
 * double here and in float by XGBoost, so scores agree to about seven digits.
 */
#ifndef SIS_TREES_BOOSTER_H
#define SIS_TREES_BOOSTER_H

#include "trees/forest.h"

typedef enum sis__booster_link {
    SIS__LINK_NONE,
    SIS__LINK_LOGISTIC,
    SIS__LINK_SOFTMAX, /* over all outputs */
    SIS__LINK_EXP,
    SIS__LINK_STEP,    /* 1 above 0, else 0 */
    SIS__LINK_SQUARE,  /* with the sign of what is squared */
    SIS__LINK_SOFTPLUS /* log(1 + exp(x)) */
} sis__booster_link;

typedef struct sis__booster {
    sis__forest forest; /* a sum is an output */
    sis__booster_link link;
    double divisor, scale;      /* sums are divided by the one and multiplied by the other before
                                   the link */
    char *objective;            /* as the file calls it; "" if it does not say */
    char **names;               /* (width) of columns; NULL: the file has none */
    unsigned char *categorical; /* (width) some tree asks for its category */
    const char *library;        /* "XGBoost" or "LightGBM" */
    const char *kind;           /* what it is, such as "gbtree" */
} sis__booster;

/* Can these first bytes of a file be one of theirs? 0, or 1 even if it turns out to be no model. */
int sis__xgboost_is(const char *head, size_t n);
int sis__lightgbm_is(const char *head, size_t n);

/* `bytes` end in a NUL that does not count. On failure *out is empty. */
int sis__xgboost_parse(const char *bytes, size_t n, sis__booster *out);
int sis__lightgbm_parse(const char *bytes, size_t n, sis__booster *out);

void sis__booster_release(sis__booster *b);

/* Room for so many trees, nodes, weights (one a leaf, at least) and words of sets; sums begin at
 * base, which is 0. What readers fill. */
int sis__booster_allocate(sis__booster *b);

/* Which columns are categorical, and sis__forest_finish(). */
int sis__booster_finish(sis__booster *b);

/* What is left of a sum after the average and the scale. */
static inline double sis__booster_scaled(const sis__booster *b, double sum) {
    return b->divisor != 1 || b->scale != 1 ? sum / b->divisor * b->scale : sum;
}

/* From sums (n_sums), which are changed, to the margins of outputs from..to. rest (n_sums) is
 * scratch. */
void sis__booster_margins(const sis__booster *b, double *sums, double *rest, size_t from, size_t to,
                          double *margins);

/* What makes a score of a margin; NULL: it is one. */
double (*sis__booster_score(const sis__booster *b))(double margin);

/* Lines for people: objective, trees, features; free(*text). */
int sis__booster_describe(const sis__booster *b, char **text);

#endif
