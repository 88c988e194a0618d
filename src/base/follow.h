/* SPDX-License-Identifier: MIT
 *
 * Inputs of token models that follow from the ids, known by their names: attention masks, token
 * types, positions, lengths.
 */
#ifndef SIS_BASE_FOLLOW_H
#define SIS_BASE_FOLLOW_H

typedef enum sis__follow {
    SIS__FOLLOWS_NOT,   /* something else */
    SIS__FOLLOWS_MASK,  /* 1 where a token is, 0 where the padding token is */
    SIS__FOLLOWS_ZERO,  /* 0 for each token: types, segments */
    SIS__FOLLOWS_PLACE, /* 0, 1, 2 ... */
    SIS__FOLLOWS_COUNT  /* how many tokens a row has */
} sis__follow;

sis__follow sis__follow_named(const char *name);

#endif
