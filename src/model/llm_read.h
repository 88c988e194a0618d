/* SPDX-License-Identifier: MIT
 *
 * Answers of language models, apart from the network: what the tokens of an answer are worth. No tokenizer is
 * needed; tokens are found by their places in the text, or by what they say.
 */
#ifndef SIS_MODEL_LLM_READ_H
#define SIS_MODEL_LLM_READ_H

#include <jansson.h>
#include <stddef.h>

/* The tokens of an answer. Their log-probabilities are natural logarithms. */
typedef struct sis__llm_tokens {
    double
        margin; /* the least, over the tokens, of its log-probability less that of the best other token */
    double sum;     /* of log-probabilities */
    size_t n;       /* tokens */
    int bounded;    /* a token was not reported: margin and sum are upper bounds */
    int unfinished; /* the model stopped before the answer's end */
} sis__llm_tokens;

/* A choice of /v1/completions with echo: the tokens that reach into the characters from `from` to `to` of the text.
 * A token that begins before `from` and ends behind it counts. */
int sis__llm_read_echo(const json_t *choice, size_t from, size_t to, sis__llm_tokens *out);

/* Generated tokens, [{"token","logprob","top_logprobs":[...]}], compared with an answer up to the first
 * difference, where the margin is negative. A grammar may have forced the tokens. */
int sis__llm_read_generated(const json_t *content, const char *answer, sis__llm_tokens *out);

/* The log-probability that the first generated token begins this text; *bounded is set if no such token was
 * reported, and the result is the least one that was. */
int sis__llm_read_first(const json_t *content, const char *text, double *logprob, int *bounded);

/* Characters of a text. */
size_t sis__llm_characters(const char *text);

#endif
