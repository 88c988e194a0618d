/* SPDX-License-Identifier: MIT
 *
 * sis/text.h - words, vocabularies and tokenizers: how texts become numbers.
 *
 * Experimental: may change from one version to the next.
 */
#ifndef SIS_TEXT_H
#define SIS_TEXT_H

#include <stddef.h>

#include <sis/data.h>
#include <sis/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Words ----------------------------------------------------------------------------------- */

/* A word of a text and its position. */
typedef struct sis_word {
    const char *text;     /* in lower case, as in vocabularies */
    size_t start, length; /* bytes of the original text */
} sis_word;

/* The words of a text, in order. Zero it before the first use; its memory is reused. */
typedef struct sis_words {
    size_t n;
    sis_word *items; /* (n) */
    char *lower;     /* memory of the words */
    size_t items_room, lower_room;
} sis_words;

/* The tokenizer: words are separated by blanks, control characters and
 * !"#$%&()*+,-./:;<=>?@[\]^_`{|}~ (the default of Keras, as in the paper). ASCII, Latin, Greek and
 * Cyrillic letters are lowercased. */
#define SIS_TOKENIZER "words"
int sis_words_split(const char *text, sis_words *words);
void sis_words_release(sis_words *words);

/* The end of the sentence that begins at text[from]. */
size_t sis_sentence_end(const char *text, size_t from);

/* The words of example i: given in the file, or split from its text. */
int sis_data_words(const sis_data *data, size_t i, sis_words *words);

/* ---- Vocabularies -------------------------------------------------------------------------- */

/* Words numbered from 0 without gaps. Number 0 is padding. Unknown words share the number of the
 * word "<unknown>" (or <unk>, <oov>, [UNK]), if there is one. */
typedef struct sis_vocabulary sis_vocabulary;

#define SIS_WORD_PADDING "<padding>"
#define SIS_WORD_UNKNOWN "<unknown>"

/* Padding, unknown, then the `max` most frequent words of the texts rows[0..n_rows) (NULL: all),
 * most frequent first, equally frequent ones in the order of their first appearance. */
int sis_vocabulary_build(const sis_data *texts, const size_t *rows, size_t n_rows, size_t max,
                         sis_vocabulary **out);

/* From and to a JSON list of words, as models carry it (SIS_NET_META_VOCABULARY); free(*json). */
int sis_vocabulary_parse(const char *json, sis_vocabulary **out);
int sis_vocabulary_format(const sis_vocabulary *v, char **json);
void sis_vocabulary_free(sis_vocabulary *v);

size_t sis_vocabulary_size(const sis_vocabulary *v);
const char *sis_vocabulary_word(const sis_vocabulary *v, size_t id); /* NULL if there is none */

/* The number of a word in lower case; else that of unknown words, or 0 without one. */
size_t sis_vocabulary_find(const sis_vocabulary *v, const char *word);

/* The last `length` words as numbers, padded in front. word_at (may be NULL) gets the index in
 * `words` of each number, SIZE_MAX for padding. Returns the number of words. */
size_t sis_vocabulary_encode(const sis_vocabulary *v, const sis_words *words, size_t length,
                             double *ids, size_t *word_at);

/* ---- Tokenizers ---------------------------------------------------------------------------- */

/* A tokenizer for networks such as BERT and GPT, from the file that comes with them: vocab.txt
 * (WordPiece, one token per line; texts are lowercased if no token has a capital letter) or
 * tokenizer.json (Hugging Face): WordPiece or byte-level BPE, normalizers BertNormalizer,
 * Lowercase, StripAccents, NFC, NFD, NFKC, NFKD, Strip; pre-tokenizers BertPreTokenizer,
 * Whitespace, WhitespaceSplit, Punctuation, Digits, ByteLevel; special tokens by
 * TemplateProcessing, BertProcessing or RobertaProcessing. Other components are SIS_E_UNSUPPORTED;
 * so is every file if the library was built without libutf8proc. */
typedef struct sis_tokenizer sis_tokenizer;

int sis_tokenizer_read(const char *path, sis_tokenizer **out); /* *out is NULL on failure */
void sis_tokenizer_free(sis_tokenizer *tokenizer);

const char *sis_tokenizer_word(const sis_tokenizer *tokenizer, size_t id); /* NULL: none */
long sis_tokenizer_find(const sis_tokenizer *tokenizer, const char *word); /* -1: none */

/* Special tokens, by number; -1: none. */
typedef enum sis_special {
    SIS_SPECIAL_PAD,
    SIS_SPECIAL_MASK,
    SIS_SPECIAL_UNKNOWN,
    SIS_N_SPECIALS
} sis_special;
long sis_tokenizer_special(const sis_tokenizer *tokenizer, sis_special special);

/* A token and its position. */
typedef struct sis_token {
    int id;
    size_t start, length; /* bytes of the text, without the blank in front of a word */
    size_t word;          /* index of its word in the text; SIZE_MAX: a special token */
} sis_token;

/* Zeroed before it is first filled; filling it again reuses its memory. */
typedef struct sis_tokens {
    size_t n;
    sis_token *items; /* (n) */
    size_t room;
} sis_tokens;

/* The tokens of a text with its special tokens, at most `max` in all (0: any number); the rest is
 * cut off at the end. Words are the pieces before the vocabulary lookup; an apostrophe joins
 * pieces. */
int sis_tokenizer_encode(const sis_tokenizer *tokenizer, const char *text, size_t max,
                         sis_tokens *out);
void sis_tokens_release(sis_tokens *tokens);

#ifdef __cplusplus
}
#endif
#endif
