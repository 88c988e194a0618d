/* SPDX-License-Identifier: MIT
 *
 * Shared by the files of tokenizers. In the order of processing a text:
 *
 *     tokenizer.c       reads the file; special tokens; from text to tokens and words
 *     tokenizer_cut.c   normalizers, then pre-tokenizers, which split text into pieces
 *     tokenizer_bpe.c   from a piece to tokens: byte-level BPE merges
 *     unicode.c         properties of characters
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

/* Steps that change characters or split text. */
typedef enum sis__cut_kind {
    SIS__CUT_CLEAN,   /* remove control characters, any white space becomes a blank */
    SIS__CUT_CHINESE, /* blanks around Chinese characters */
    SIS__CUT_ACCENTS, /* remove combining marks */
    SIS__CUT_LOWER,
    SIS__CUT_NFC,
    SIS__CUT_NFD,
    SIS__CUT_NFKC,
    SIS__CUT_NFKD,
    SIS__CUT_STRIP,       /* strip white space at both ends */
    SIS__CUT_BLANK_FIRST, /* add a leading blank unless there is one */
    SIS__CUT_BERT,        /* splits from here on: at white space, each punctuation separately */
    SIS__CUT_SPLIT,       /* at white space */
    SIS__CUT_WHITESPACE,  /* \w+ or [^\w\s]+ */
    SIS__CUT_PUNCTUATION, /* each punctuation separately */
    SIS__CUT_DIGITS,      /* runs of digits separately */
    SIS__CUT_DIGIT,       /* each digit separately */
    SIS__CUT_GPT2,        /* GPT-2's pattern: words with the blank before them */
} sis__cut_kind;

enum { SIS__CUTS_MAX = 32 };

typedef struct sis__cuts {
    sis__cut_kind items[SIS__CUTS_MAX];
    size_t n;
    int bytes; /* pieces are sequences of bytes (ByteLevel) */
} sis__cuts;

/* Add the steps of "normalizer" and "pre_tokenizer" of a tokenizer.json; NULL and null: none.
 * SIS_E_UNSUPPORTED: unknown step. */
int sis__cuts_add(sis__cuts *cuts, const json_t *step);

/* The pieces of a text: the end of each in `chars`; the first begins at 0. */
typedef struct sis__pieces {
    sis__char *items;
    size_t n, room; /* characters of all pieces */
    size_t *ends;
    size_t n_ends, ends_room;
} sis__pieces;

/* Apply the steps to n bytes of a text that begin at byte `at` of the original. */
int sis__cuts_apply(const sis__cuts *cuts, const char *text, size_t at, size_t n, sis__pieces *out);

/* ---- tokenizer_bpe.c ------------------------------------------------------------------------- */

/* A merge of two tokens into one. */
typedef struct sis__merge {
    uint64_t pair; /* left << 32 | right */
    uint32_t rank, result;
} sis__merge;

typedef struct sis__bpe {
    sis__merge *merges; /* (n) by pair */
    size_t n;
    int32_t bytes[256]; /* token of each byte; -1: none */
} sis__bpe;

/* Merge the tokens in ids (n), each standing for bytes[i] bytes, in place; bytes is updated too.
 * Returns the number of tokens left; -1: out of memory. */
long sis__bpe_join(const sis__bpe *b, int32_t *ids, size_t *bytes, size_t n);

int sis__bpe_by_pair(const void *a, const void *b);

#endif
