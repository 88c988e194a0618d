/* SPDX-License-Identifier: MIT
 *
 * A model of XGBoost or LightGBM: a forest, the steps from its sums to scores, and names. Sums
 * equal those of the library bit for bit: XGBoost adds floats tree by tree, starting from
 * base_score mapped through the inverse link; LightGBM adds doubles starting from 0. Links are
 * computed in double here and in float by XGBoost, so scores agree to about seven digits.
 */
#ifndef SIS_TREES_BOOSTER_H
#define SIS_TREES_BOOSTER_H

#include "trees/document.h"
#include "trees/forest.h"

typedef enum sis__booster_link {
    SIS__LINK_NONE,
    SIS__LINK_LOGISTIC,
    SIS__LINK_SOFTMAX, /* over all outputs */
    SIS__LINK_EXP,
    SIS__LINK_STEP,    /* 1 above 0, else 0 */
    SIS__LINK_SQUARE,  /* keeps the sign */
    SIS__LINK_SOFTPLUS /* log(1 + exp(x)) */
} sis__booster_link;

typedef struct sis__booster {
    sis__forest forest; /* one sum per output */
    sis__booster_link link;
    double divisor, scale;      /* applied to sums before the link */
    char *objective;            /* name in the file; "" if it has none */
    char **names;               /* (width) column names; NULL: none */
    unsigned char *categorical; /* (width) some tree tests its category */
    char ***words;              /* (width) NULL, or the words of its categories, by number, and a
                                   NULL behind them; NULL: none are known */
    const char *library;        /* "XGBoost" or "LightGBM" */
    const char *kind;           /* model type, such as "gbtree" */
} sis__booster;

/* Do these first bytes look like one of their files? 1 does not mean that the file is a valid
 * model. */
int sis__xgboost_is(const char *head, size_t n);
int sis__lightgbm_is(const char *head, size_t n);

/* A NUL that is not counted follows `bytes`. On failure *out is empty. */
int sis__xgboost_parse(const char *bytes, size_t n, sis__booster *out);
int sis__lightgbm_parse(const char *bytes, size_t n, sis__booster *out);

void sis__booster_release(sis__booster *b);

/* Add a word to those of a column. A text of n bytes. */
int sis__booster_add_word(sis__booster *b, size_t column, const char *word, size_t n);

/* Set those of a column from a list of texts or numbers. */
int sis__booster_set_words(sis__booster *b, size_t column, const sis__doc *list);

/* Take the words of columns from JSON, {"column":["word",...],...}; a NUL that is not counted
 * follows `bytes`. They replace those of the model. */
int sis__booster_take_words(sis__booster *b, const char *bytes, size_t n);

/* Allocate the trees, nodes, weights (at least one per leaf) and set words counted so far, for the
 * reader to fill. Sums start at `base`, which is 0. */
int sis__booster_allocate(sis__booster *b);

/* Find the categorical columns and call sis__forest_finish(). */
int sis__booster_finish(sis__booster *b);

/* A sum after averaging and scaling. */
static inline double sis__booster_scaled(const sis__booster *b, double sum) {
    return b->divisor != 1 || b->scale != 1 ? sum / b->divisor * b->scale : sum;
}

/* Turn sums (n_sums, overwritten) into the margins of outputs from..to. rest (n_sums) is
 * scratch. */
void sis__booster_margins(const sis__booster *b, double *sums, double *rest, size_t from, size_t to,
                          double *margins);

/* The function from margins to scores; NULL: they are equal. */
double (*sis__booster_score(const sis__booster *b))(double margin);

/* A description in lines of text: objective, trees, features; free(*text). */
int sis__booster_describe(const sis__booster *b, char **text);

#endif
