/* SPDX-License-Identifier: MIT
 *
 * Read log-probabilities of an answer's tokens from a server's reply, without a network. No
 * tokenizer is needed: tokens are found by their positions in the text, or by their text.
 */
#ifndef SIS_MODEL_LLM_READ_H
#define SIS_MODEL_LLM_READ_H

#include <jansson.h>
#include <stddef.h>

/* The tokens of an answer. Their log-probabilities are natural logarithms. */
typedef struct sis__llm_tokens {
    double margin;  /* minimum over the tokens of its log-probability minus that of the best other
                 * token */
    double sum;     /* of log-probabilities */
    size_t n;       /* tokens */
    int bounded;    /* a token was not reported: margin and sum are upper bounds */
    int unfinished; /* the model stopped before the end of the answer */
} sis__llm_tokens;

/* A choice of /v1/completions with echo: the tokens that overlap characters `from` to `to` of the
 * text, which was sent. Tokens that are not in the text may come first. */
int sis__llm_read_echo(const json_t *choice, const char *text, size_t from, size_t to,
                       sis__llm_tokens *out);

/* Generated tokens, [{"token","logprob","top_logprobs":[...]}], compared with an answer up to the
 * first difference, where the margin is negative. A grammar may have forced the tokens. */
int sis__llm_read_generated(const json_t *content, const char *answer, sis__llm_tokens *out);

/* The lists tokens, token_logprobs and top_logprobs of /v1/completions as generated tokens, yours to
 * free; NULL: out of memory. Entries of other types are absent. */
json_t *sis__llm_list_tokens(const json_t *logprobs);

/* The log-probability that the first generated token begins this text. If no such token was
 * reported, *bounded is set and the result is the lowest one reported. */
int sis__llm_read_first(const json_t *content, const char *text, double *logprob, int *bounded);

/* The number of characters of a text. */
size_t sis__llm_characters(const char *text);

#endif
