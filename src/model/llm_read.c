/* SPDX-License-Identifier: MIT
 *
 * See llm_read.h. The type of everything that a server sends is checked.
 */
#include "model/llm_read.h"

#include <math.h>
#include <string.h>

#include <sis/error.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/utf8.h"

enum { TOKEN = 256 }; /* compared bytes of a token */

/* The margin is negative if the model takes another token, however close the two are. */
static const double NOT_TAKEN = -1e-9;

size_t sis__llm_characters(const char *text) {
    size_t n = 0;
    uint32_t c;
    for (; *text; n++)
        text += sis__utf8_step(text, &c);
    return n;
}

static void tokens_init(sis__llm_tokens *out) {
    *out = (sis__llm_tokens){.margin = INFINITY};
}

/* Rounding aside, no log-probability is above 0. */
static double checked(double logprob) {
    return logprob > 1e-3 ? NAN : logprob;
}

static void add_token(sis__llm_tokens *out, double logprob, double other) {
    out->sum += isnan(checked(other)) ? NAN : checked(logprob);
    out->n++;
    out->margin = fmin(out->margin, logprob - other);
}

static int check_tokens(const sis__llm_tokens *out) {
    if (out->n == 0)
        return sis__fail(SIS_E_MODEL, "the server reports no token of the answer");
    return isfinite(out->margin) && isfinite(out->sum)
               ? SIS_OK
               : sis__fail(SIS_E_MODEL,
                           "the server reports a token of the answer without an alternative, or "
                           "with a log-probability that is above 0 or no number");
}

/* ---- Echoed prompt and answer ---------------------------------------------------------------- */

/* The best token other than this one: top is {"token":logprob,...}. */
static double best_other(json_t *top, const char *token, double logprob) {
    double best = -INFINITY;
    const char *name;
    json_t *value;
    json_object_foreach(top, name, value) {
        double v = json_number_value(value);
        int itself = strcmp(name, token) == 0 && fabs(v - logprob) <= 1e-6 * fabs(logprob) + 1e-9;
        if (json_is_number(value) && !itself)
            best = fmax(best, v);
    }
    return best;
}

/* The end of token i: the start of the next token at another position (bytes of one character share
 * a position). */
static size_t end_of(const json_t *offsets, size_t i, size_t to) {
    json_int_t from = json_integer_value(json_array_get(offsets, i));
    for (size_t k = i + 1; k < json_array_size(offsets); k++) {
        json_int_t next = json_integer_value(json_array_get(offsets, k));
        if (next > from)
            return (size_t)next;
    }
    return to;
}

/* The token without the blank that begins it in some vocabularies; "": its text is not known, as it
 * is not made of whole characters. */
static const char *plain(const char *token) {
    static const char *const blanks[] = {"\xC4\xA0", "\xE2\x96\x81"};
    for (size_t k = 0; k < sizeof blanks / sizeof *blanks; k++)
        if (strncmp(token, blanks[k], strlen(blanks[k])) == 0)
            return token + strlen(blanks[k]);
    return strstr(token, "\xEF\xBF\xBD") || strncmp(token, "bytes:", 6) == 0 ? "" : token;
}

/* Does the text have the token at this character? One blank or more may be missing before it. */
static int has_token(const char *text, json_int_t at, const char *token) {
    uint32_t c;
    for (; at > 0 && *text; at--)
        text += sis__utf8_step(text, &c);
    token = plain(token);
    size_t n = strlen(token);
    while (sis__is_space(*text) && *text != *token)
        text++;
    return at == 0 && strncmp(text, token, n) == 0;
}

/* Do the tokens at characters from..to agree with the text, if their offsets are too large by
 * `shift`? */
static int agree(const json_t *l, const char *text, json_int_t shift, const size_t range[2]) {
    const json_t *tokens = json_object_get(l, "tokens"),
                 *offsets = json_object_get(l, "text_offset");
    size_t from = range[0] + (size_t)shift, to = range[1] + (size_t)shift, found = 0;
    for (size_t i = 0; i < json_array_size(tokens); i++) {
        json_int_t at = json_integer_value(json_array_get(offsets, i));
        const char *token = json_string_value(json_array_get(tokens, i));
        if (!token || at < shift || (size_t)at >= to || end_of(offsets, i, to) <= from)
            continue;
        found++;
        if (!has_token(text, at - shift, token))
            return 0;
    }
    return found > 0;
}

/* By how much the offsets are too large: tokens that are not in the text may come first ("<s>"), and
 * vLLM counts them. -1: the offsets do not fit the text. */
static json_int_t shift_of(const json_t *l, const char *text, const size_t range[2]) {
    enum { FIRST = 4 };
    const json_t *offsets = json_object_get(l, "text_offset");
    json_int_t first = json_integer_value(json_array_get(offsets, 0)), shift = 0;
    for (size_t k = 0; k < FIRST && k < json_array_size(offsets); k++) {
        shift = json_integer_value(json_array_get(offsets, k)) - first;
        if (shift >= 0 && shift <= INT32_MAX && agree(l, text, shift, range))
            return shift;
    }
    return -1;
}

int sis__llm_read_echo(const json_t *choice, const char *text, size_t from, size_t to,
                       sis__llm_tokens *out) {
    const json_t *l = json_object_get(choice, "logprobs");
    const json_t *tokens = json_object_get(l, "tokens"),
                 *offsets = json_object_get(l, "text_offset");
    const json_t *own = json_object_get(l, "token_logprobs"),
                 *top = json_object_get(l, "top_logprobs");
    size_t n = json_array_size(tokens);
    tokens_init(out);
    if (n == 0 || json_array_size(offsets) != n || json_array_size(own) != n ||
        json_array_size(top) != n)
        return sis__fail(SIS_E_MODEL, "expected logprobs with lists tokens, token_logprobs, "
                                      "top_logprobs and text_offset of one length");
    for (size_t i = 0; i < n; i++) {
        const json_t *at = json_array_get(offsets, i);
        const char *token = json_string_value(json_array_get(tokens, i));
        if (!json_is_integer(at) || json_integer_value(at) < 0 || !token)
            return sis__fail(SIS_E_MODEL, "token %zu: expected a text and a text_offset", i);
    }
    json_int_t shift = shift_of(l, text, (const size_t[]){from, to});
    if (shift < 0)
        return sis__fail(SIS_E_MODEL, "the text_offset of the answer's tokens does not fit the "
                                      "text; use an address of the chat protocol");
    from += (size_t)shift;
    to += (size_t)shift;
    for (size_t i = 0; i < n; i++) {
        const json_t *at = json_array_get(offsets, i), *logprob = json_array_get(own, i);
        const char *token = json_string_value(json_array_get(tokens, i));
        if ((size_t)json_integer_value(at) >= to || end_of(offsets, i, to) <= from)
            continue;
        if (!json_is_number(logprob) && i == 0)
            continue; /* the first token of a text has none */
        if (!json_is_number(logprob))
            return sis__fail(SIS_E_MODEL, "token %zu of the answer has no log-probability", i);
        double v = json_number_value(logprob);
        add_token(out, v, best_other(json_array_get(top, i), token, v));
    }
    return check_tokens(out);
}

/* ---- Generated tokens ------------------------------------------------------------------------ */

static int hex_of(char c) {
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "bytes:\xe6\x9d", as /v1/completions writes tokens that are not whole characters; 0: another
 * token. */
static size_t escaped_bytes(const char *token, char text[TOKEN]) {
    size_t n = 0;
    if (strncmp(token, "bytes:\\x", 8) != 0)
        return 0;
    for (token += 6; *token && n < TOKEN; token += 4) {
        int high = strncmp(token, "\\x", 2) == 0 ? hex_of(token[2]) : -1;
        int low = high >= 0 ? hex_of(token[3]) : -1;
        if (low < 0)
            return 0;
        text[n++] = (char)(16 * high + low);
    }
    return n;
}

/* The bytes of a token that are compared. */
static size_t token_bytes(const json_t *entry, char text[TOKEN]) {
    const json_t *bytes = json_object_get(entry, "bytes"), *byte;
    const char *token = json_string_value(json_object_get(entry, "token"));
    size_t i, n = 0;
    if (json_array_size(bytes) > 0) {
        json_array_foreach(bytes, i, byte) {
            if (n < TOKEN)
                text[n++] = (char)json_integer_value(byte);
        }
        return n;
    }
    if (token && (n = escaped_bytes(token, text)) > 0)
        return n;
    n = token ? strlen(token) : 0;
    n = n < TOKEN ? n : TOKEN;
    memcpy(text, token ? token : "", n);
    return n;
}

/* How many bytes of the text a token covers: all its bytes, or the rest of the text; 0: it
 * differs. */
static size_t said(const char *text, const char *token, size_t n) {
    size_t left = strlen(text), both = n < left ? n : left;
    return both > 0 && memcmp(text, token, both) == 0 ? both : 0;
}

/* The same; at the start of an answer without blanks, blanks of the token do not count. */
static size_t said_first(const char *text, int first, const char *token, size_t n) {
    size_t skip = 0;
    while (first && !sis__is_space(*text) && skip < n && sis__is_space(token[skip]))
        skip++;
    return said(text, token + skip, n - skip);
}

static int same_token(const json_t *a, const json_t *b) {
    const json_t *one = json_object_get(a, "id"), *other = json_object_get(b, "id");
    char x[TOKEN], y[TOKEN];
    if (json_is_integer(one) && json_is_integer(other))
        return json_integer_value(one) == json_integer_value(other);
    size_t n = token_bytes(a, x);
    return n == token_bytes(b, y) && memcmp(x, y, n) == 0;
}

/* Log-probabilities of the alternatives: the best other token, the best token that continues the
 * text, and the lowest. */
static void look_around(const json_t *entry, const char *text, int first, double *other,
                        double *fitting, double *min) {
    const json_t *candidate;
    char token[TOKEN];
    size_t i;
    *other = *fitting = -INFINITY;
    *min = json_number_value(json_object_get(entry, "logprob"));
    json_array_foreach(json_object_get(entry, "top_logprobs"), i, candidate) {
        const json_t *value = json_object_get(candidate, "logprob");
        double v = json_number_value(value);
        if (!json_is_number(value))
            continue;
        *min = fmin(*min, v);
        if (!same_token(candidate, entry))
            *other = fmax(*other, v);
        if (said_first(text, first, token, token_bytes(candidate, token)))
            *fitting = fmax(*fitting, v);
    }
}

/* A part of a character, of which the server does not say the bytes? */
static int is_broken(const json_t *entry) {
    const char *token = json_string_value(json_object_get(entry, "token"));
    return json_array_size(json_object_get(entry, "bytes")) == 0 && token &&
           strstr(token, "\xEF\xBF\xBD");
}

static int is_blank(const char *text, size_t n) {
    while (n > 0 && sis__is_space(text[n - 1]))
        n--;
    return n == 0;
}

static int expect_entry(const json_t *entry, size_t i) {
    return json_is_number(json_object_get(entry, "logprob")) &&
                   json_array_size(json_object_get(entry, "top_logprobs")) > 0
               ? SIS_OK
               : sis__fail(SIS_E_MODEL, "generated token %zu: expected logprob and top_logprobs",
                           i);
}

int sis__llm_read_generated(const json_t *content, const char *answer, sis__llm_tokens *out) {
    const json_t *entry;
    const char *rest = answer;
    char token[TOKEN];
    size_t i;
    tokens_init(out);
    json_array_foreach(content, i, entry) {
        double other, fitting, min;
        int error = *rest ? expect_entry(entry, i) : SIS_OK;
        if (error != SIS_OK || !*rest)
            return error != SIS_OK ? error : check_tokens(out);
        double logprob = json_number_value(json_object_get(entry, "logprob"));
        int first = rest == answer;
        size_t n = token_bytes(entry, token), same = said_first(rest, first, token, n);
        if (same == 0 && first && is_blank(token, n) && !sis__is_space(*answer))
            continue; /* a blank before the answer */
        if (same == 0 && is_broken(entry))
            return sis__fail(SIS_E_MODEL,
                             "generated token %zu is part of a character, and the server does not "
                             "report its bytes; use an address with echo",
                             i);
        look_around(entry, rest, first, &other, &fitting, &min);
        if (same == 0) {
            out->bounded |= fitting == -INFINITY;
            add_token(out, fitting == -INFINITY ? min : fitting, logprob);
            out->margin = fmin(out->margin, NOT_TAKEN);
            return check_tokens(out);
        }
        add_token(out, logprob, other);
        rest += same;
    }
    if (!*rest)
        return check_tokens(out);
    if (!json_is_array(content))
        return sis__fail(SIS_E_MODEL, "expected generated tokens with logprobs");
    /* The model stopped instead, so the next token has at most half of the probability. */
    out->bounded = out->unfinished = 1;
    add_token(out, -log(2), 0);
    return check_tokens(out);
}

json_t *sis__llm_list_tokens(const json_t *logprobs) {
    static const char form[] = "{s:s,s:O*,s:o*}"; /* absent: what is NULL */
    const json_t *tokens = json_object_get(logprobs, "tokens"), *token;
    json_t *content = json_array();
    size_t i;
    int failed = !content;
    json_array_foreach(tokens, i, token) {
        json_t *own = json_array_get(json_object_get(logprobs, "token_logprobs"), i), *value;
        json_t *tops = json_array_get(json_object_get(logprobs, "top_logprobs"), i);
        json_t *list = json_array();
        const char *name, *text = json_string_value(token);
        json_object_foreach(tops, name, value) {
            json_t *other = json_pack(form, "token", name, "logprob", value, "none", NULL);
            failed |= json_array_append_new(list, other) != 0;
        }
        json_t *entry =
            json_pack(form, "token", text ? text : "", "logprob", own, "top_logprobs", list);
        failed |= json_array_append_new(content, entry) != 0;
    }
    if (failed)
        json_decref(content);
    return failed ? NULL : content;
}

int sis__llm_read_first(const json_t *content, const char *text, double *logprob, int *bounded) {
    const json_t *candidate, *first = json_array_get(content, 0);
    char token[TOKEN];
    double sum = 0, min = 0;
    size_t i;
    int error = expect_entry(first, 0);
    while (sis__is_space(*text))
        text++;
    json_array_foreach(json_object_get(first, "top_logprobs"), i, candidate) {
        double v = json_number_value(json_object_get(candidate, "logprob"));
        size_t n = token_bytes(candidate, token), skip = 0;
        while (skip < n && sis__is_space(token[skip]))
            skip++;
        if (isnan(checked(v)))
            return sis__fail(SIS_E_MODEL, "the server reports a log-probability above 0");
        min = fmin(min, v);
        if (n - skip <= strlen(text) && said(text, token + skip, n - skip))
            sum += exp(v);
    }
    *bounded |= sum <= 0;
    *logprob = sum > 0 ? log(sum) : min;
    return error;
}
