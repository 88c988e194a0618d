/* SPDX-License-Identifier: MIT
 *
 * What the files of tokenizers share. The way of a text through them:
 *
 *     tokenizer.c       from its file; special tokens; the text to tokens and words
 *     tokenizer_cut.c   characters changed (normalizers), then cut into pieces (pre-tokenizers)
 *     tokenizer_bpe.c   a piece to tokens: pairs of byte-level tokens joined in the order of merges
 *     unicode.c         what characters are
 */
#ifndef SIS_DATA_TOKENIZER_H
#define SIS_DATA_TOKENIZER_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#include <sis/data.h>

#include "base/ids.h"
#include "data/unicode.h"

/* ---- tokenizer_cut.c ------------------------------------------------------------------------- */

/* What is done to characters, and how they are cut. */
typedef enum sis__cut_kind {
    SIS__CUT_CLEAN,   /* control characters away, any white space a blank */
    SIS__CUT_CHINESE, /* blanks around Chinese characters */
    SIS__CUT_ACCENTS, /* marks away */
    SIS__CUT_LOWER,
    SIS__CUT_NFC,
    SIS__CUT_NFD,
    SIS__CUT_NFKC,
    SIS__CUT_NFKD,
    SIS__CUT_STRIP,       /* white space at both ends away */
    SIS__CUT_BLANK_FIRST, /* a blank in front, unless there is one */
    SIS__CUT_BERT,        /* from here on cuts: at white space, each punctuation by itself */
    SIS__CUT_SPLIT,       /* at white space */
    SIS__CUT_WHITESPACE,  /* \w+ or [^\w\s]+ */
    SIS__CUT_PUNCTUATION, /* each by itself */
    SIS__CUT_DIGITS,      /* runs of digits by themselves */
    SIS__CUT_DIGIT,       /* each digit */
    SIS__CUT_GPT2,        /* the pattern of GPT-2: words with the blank before them */
} sis__cut_kind;

enum { SIS__CUTS_MOST = 32 };

typedef struct sis__cuts {
    sis__cut_kind items[SIS__CUTS_MOST];
    size_t n;
    int bytes; /* pieces are taken byte by byte (ByteLevel) */
} sis__cuts;

/* Add what "normalizer" and "pre_tokenizer" of a tokenizer.json say; NULL and null: nothing. A kind
 * that is not known is SIS_E_UNSUPPORTED. */
int sis__cuts_add(sis__cuts *cuts, const json_t *step);

/* The pieces of a text: where each ends in `chars`; the first begins at 0. */
typedef struct sis__pieces {
    sis__char *items;
    size_t n, room; /* characters of all pieces */
    size_t *ends;
    size_t n_ends, ends_room;
} sis__pieces;

/* Do it to n bytes of a text, of which the first is byte `at` of the original. */
int sis__cuts_apply(const sis__cuts *cuts, const char *text, size_t at, size_t n, sis__pieces *out);

/* ---- tokenizer_bpe.c --------------------------------------------------------------------------- */

/* Two tokens that become one. */
typedef struct sis__merge {
    uint64_t pair; /* left << 32 | right */
    uint32_t rank, result;
} sis__merge;

typedef struct sis__bpe {
    sis__merge *merges; /* (n) by pair */
    size_t n;
    int32_t bytes[256]; /* token of each byte; -1: none */
} sis__bpe;

/* Joins the tokens in ids (n), each standing for bytes[i] of something, in place; how many are left.
 * bytes is changed likewise. -1: out of memory. */
long sis__bpe_join(const sis__bpe *b, int32_t *ids, size_t *bytes, size_t n);

int sis__bpe_by_pair(const void *a, const void *b);

#endif
