/* SPDX-License-Identifier: MIT
 *
 * Operators on texts: StringNormalizer (case, stop words), ONNX Runtime's Tokenizer (words between
 * separators, or matches of an expression), TfIdfVectorizer (counts of n-grams of texts or
 * integers).
 */
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/axes.h"
#include "net/ops/encode.h"
#include "net/ops/ops.h"

/* Input 0 must be constant texts: the number of remaining words depends on them. */
static int need_known_texts(sis__shape_ctx *c) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    if (x->dtype != SIS__TEXT)
        sis__ctx_fail(c, SIS_E_FORMAT, "an input that is not text");
    else if (!x->data)
        sis__ctx_fail(c, SIS_E_UNSUPPORTED,
                      "input 0 must be constant, but it depends on the network's input");
    return c->error;
}

/* ---- StringNormalizer ------------------------------------------------------------------------ */

enum { AS_IS, LOWER, UPPER };

/* The text in lower or upper case (ASCII letters only). */
static int64_t change_case(sis__shape_ctx *c, int64_t id, int how) {
    size_t n;
    int64_t changed = id;
    const char *text = sis__words_get(c->plan->graph->words, id, &n);
    char *copy = how == AS_IS ? NULL : SIS_NEW_RAW(char, n + 1);
    if (how == AS_IS || c->error)
        return id;
    if (!copy) {
        c->error = SIS_E_NOMEM;
        return id;
    }
    for (size_t i = 0; i < n; i++) {
        copy[i] = how == LOWER ? sis__lower(text[i]) : sis__upper(text[i]);
    }
    c->error = sis__words_put(c->plan->graph->words, copy, n, &changed);
    free(copy);
    return changed;
}

static int is_stop(sis__shape_ctx *c, const int64_t *stops, size_t n, int64_t id, int sensitive) {
    int64_t seen = sensitive ? id : change_case(c, id, LOWER);
    for (size_t i = 0; i < n; i++)
        if (seen == (sensitive ? stops[i] : change_case(c, stops[i], LOWER)))
            return 1;
    return 0;
}

/* (columns) or (1, columns): the remaining words; if none remain, one empty text. */
static int normalizer_shape(sis__shape_ctx *c) {
    static const char *const names[] = {"NONE", "LOWER", "UPPER"};
    const sis__tensor *x = sis__ctx_input(c, 0);
    int how = sis__attr_choice(c, "case_change_action", names, 3);
    int sensitive = sis__attr_int(c, "is_case_sensitive", 0) != 0;
    size_t n, kept = 0, dims[2] = {1, 0};
    const int64_t *stops = sis__attr_words(c, "stopwords", &n);
    sis__attr_find(c, "locale");
    if (need_known_texts(c) != SIS_OK)
        return c->error;
    if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "more than one row of texts");
    int64_t *y = (int64_t *)sis__ctx_alloc(c, x->count + 1, sizeof *y);
    for (size_t i = 0; !c->error && i < x->count; i++) {
        int64_t id = ((const int64_t *)x->data)[i];
        if (!is_stop(c, stops, n, id, sensitive))
            y[kept++] = change_case(c, id, how);
    }
    if (!c->error && kept == 0)
        c->error = sis__words_put(c->plan->graph->words, "", 0, &y[kept++]);
    dims[x->rank - 1] = kept;
    sis__ctx_output(c, 0, SIS__TEXT, x->rank, dims);
    sis__ctx_known(c, 0, y);
    return c->error;
}

const sis__op sis__op_string_normalizer = {
    1, 1, normalizer_shape, sis__never_run, NULL, .trait = SIS__MIXES_TEXTS};

/* ---- TfIdfVectorizer ------------------------------------------------------------------------- */

enum { TF, IDF, TFIDF };

typedef struct {
    size_t min, max, skips; /* lengths of n-grams; maximal number of skipped positions */
    int mode;
    const int64_t *pool; /* integers, or numbers of texts */
    size_t n_pool;
    const int64_t *starts; /* offset in the pool of the n-grams of each length */
    size_t n_starts;
    const int64_t *columns; /* of each n-gram, in the order of the pool */
    size_t n_columns, width;
    const float *weights;
    size_t rows, length;
} grams;

static int tfidf_shape(sis__shape_ctx *c) {
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    const sis__tensor *x = sis__ctx_input(c, 0);
    grams *p = (grams *)sis__ctx_own(c, sizeof *p);
    size_t texts, weights;
    int64_t min = sis__attr_int(c, "min_gram_length", 1);
    int64_t max = sis__attr_int(c, "max_gram_length", 1);
    int64_t skips = sis__attr_int(c, "max_skip_count", 0);
    if (c->error)
        return c->error;
    p->mode = sis__attr_choice(c, "mode", modes, 3);
    p->starts = sis__attr_ints(c, "ngram_counts", &p->n_starts);
    p->columns = sis__attr_ints(c, "ngram_indexes", &p->n_columns);
    const int64_t *words = sis__attr_words(c, "pool_strings", &texts);
    p->pool = sis__attr_ints(c, "pool_int64s", &p->n_pool);
    p->weights = sis__attr_floats(c, "weights", &weights);
    if (texts) {
        p->pool = words;
        p->n_pool = texts;
    }
    if (min < 1 || max < min || max > 64 || skips < 0 || skips > 1 << 20 ||
        p->n_starts < (size_t)max || (p->weights && weights != p->n_columns) || x->rank < 1 ||
        x->rank > 2 || x->dtype != (texts ? SIS__TEXT : SIS__I64))
        sis__ctx_fail(c, SIS_E_FORMAT, "n-grams that do not fit");
    for (size_t i = 0; !c->error && i < p->n_columns; i++) {
        if (p->columns[i] < 0 || p->columns[i] > INT32_MAX)
            sis__ctx_fail(c, SIS_E_FORMAT, "a column of %lld", (long long)p->columns[i]);
        else if (p->width <= (size_t)p->columns[i])
            p->width = (size_t)p->columns[i] + 1;
    }
    for (size_t i = 0; !c->error && i < p->n_starts; i++)
        if (p->starts[i] < (i ? p->starts[i - 1] : 0) || (size_t)p->starts[i] > p->n_pool)
            sis__ctx_fail(c, SIS_E_FORMAT, "n-grams outside of the pool");
    p->min = (size_t)min;
    p->max = (size_t)max;
    p->skips = (size_t)skips;
    p->rows = x->rank == 2 ? x->dims[0] : 1;
    p->length = x->rank ? x->dims[x->rank - 1] : 0;
    c->step->flops = (double)p->rows * (double)p->length * (double)p->n_pool *
                     (double)(p->skips < p->length ? p->skips + 1 : p->length);
    size_t dims[2] = {p->rows, p->width};
    sis__ctx_output(c, 0, SIS__F32, x->rank, x->rank == 2 ? dims : dims + 1);
    sis__ctx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

/* Count the n-grams of length n in one row; `gram` is the index of the first of that length. */
static void count_grams(const grams *p, size_t n, size_t gram, const int64_t *x, float *y) {
    size_t from = (size_t)p->starts[n - 1];
    size_t to = n < p->n_starts ? (size_t)p->starts[n] : p->n_pool;
    size_t steps = n > 1 ? p->skips : 0;
    for (size_t skip = 0; skip <= steps; skip++)
        for (size_t i = 0; i + (n - 1) * (skip + 1) < p->length; i++)
            for (size_t g = from; g + n <= to; g += n) {
                size_t k = 0;
                while (k < n && x[i + k * (skip + 1)] == p->pool[g + k])
                    k++;
                size_t at = gram + (g - from) / n;
                if (k == n && at < p->n_columns)
                    y[p->columns[at]] += 1;
            }
}

static int tfidf_forward(const sis__step *s, sis__run *r) {
    const grams *p = (const grams *)s->p.own;
    const int64_t *x = (const int64_t *)(const void *)sis__in(s, r, 0);
    memset(sis__out(s, r, 0), 0, p->rows * p->width * sizeof(float));
    for (size_t row = 0; row < p->rows; row++) {
        float *y = sis__out(s, r, 0) + row * p->width;
        size_t gram = 0;
        for (size_t n = 1; n <= p->max; n++) {
            size_t to = n < p->n_starts ? (size_t)p->starts[n] : p->n_pool;
            if (n >= p->min)
                count_grams(p, n, gram, x + row * p->length, y);
            gram += (to - (size_t)p->starts[n - 1]) / n;
        }
        for (size_t i = 0; p->mode != TF && i < p->n_columns; i++) {
            float *v = y + p->columns[i], w = p->weights ? p->weights[i] : 1;
            *v = p->mode == IDF ? (*v > 0 ? w : 0) : *v * w;
        }
    }
    return SIS_OK;
}

const sis__op sis__op_tf_idf_vectorizer = {
    1, 1, tfidf_shape, tfidf_forward, NULL, .trait = SIS__MIXES_TEXTS};

/* ---- Expressions ----------------------------------------------------------------------------- */

enum { MAX_PATTERN = 1024 };

/* POSIX equivalents of Perl's character classes, outside and inside of brackets. */
static const char *class_of(char ch, int bracket) {
    switch (ch) {
    case 'w':
        return bracket ? "[:alnum:]_" : "[[:alnum:]_]";
    case 'd':
        return bracket ? "0-9" : "[0-9]";
    case 's':
        return bracket ? "[:space:]" : "[[:space:]]";
    case 'W':
        return bracket ? NULL : "[^[:alnum:]_]";
    case 'D':
        return bracket ? NULL : "[^0-9]";
    case 'S':
        return bracket ? NULL : "[^[:space:]]";
    case 'b':
        return bracket ? NULL : "\\b";
    case 't':
        return "\t";
    case 'n':
        return "\n";
    default:
        return NULL;
    }
}

/* Translate a Perl expression to POSIX; -1: no equivalent. */
static int translate(const char *from, char *to, size_t room) {
    size_t n = 0;
    int bracket = 0;
    to[0] = '\0';
    for (; *from; from++) {
        char one[3] = {*from, 0, 0};
        const char *add = one;
        if (*from == '\\') {
            const char *known = class_of(*++from, bracket);
            if (!*from || (!known && sis__is_alnum(*from)))
                return -1;
            one[0] = bracket ? *from : '\\';
            one[1] = bracket ? '\0' : *from;
            add = known ? known : one;
        } else if (*from == '(' && from[1] == '?') {
            if (from[2] != ':' && strncmp(from, "(?u)", 4) != 0)
                return -1;
            add = from[2] == ':' ? "(" : "";
            from += from[2] == ':' ? 2 : 3;
        } else if (!bracket && strchr("*+?}", *from) && from[1] == '?') {
            return -1;
        } else if (bracket ? *from == ']' : *from == '[') {
            bracket = !bracket;
        }
        if (n + strlen(add) + 1 > room)
            return -1;
        memcpy(to + n, add, strlen(add) + 1);
        n += strlen(add);
    }
    return bracket ? -1 : 0;
}

/* Compile the expression of an attribute; 0: failed, and the error is set. */
static int compile_pattern(sis__shape_ctx *c, const char *attribute, regex_t *re) {
    char text[MAX_PATTERN], posix[4 * MAX_PATTERN];
    sis__attr_text(c, attribute, "", text, sizeof text);
    if (c->error)
        return 0;
    if (translate(text, posix, sizeof posix) != 0 || regcomp(re, posix, REG_EXTENDED) != 0) {
        sis__ctx_fail(c, SIS_E_UNSUPPORTED, "the expression %s", text);
        return 0;
    }
    return 1;
}

/* ---- Tokenizer: the words between separators ------------------------------------------------- */

typedef struct {
    const int64_t *separators;
    size_t n_separators, min;
    sis__words *words;
    const regex_t *expression; /* matches words; NULL: separators are used */
    int single;                /* each character is a word */
    int mark;                  /* add marks before the first and after the last word */
} cutting;

/* The length of the separator at `text`, 0: none. */
static size_t separator_at(const cutting *k, const char *text, size_t left) {
    for (size_t i = 0; i < k->n_separators; i++) {
        size_t n;
        const char *s = sis__words_get(k->words, k->separators[i], &n);
        if (n && n <= left && memcmp(text, s, n) == 0)
            return n;
    }
    return 0;
}

/* The next word at or after `at`; 0: none. */
static int next_found(const cutting *k, const char *text, size_t at, size_t n, size_t *from,
                      size_t *to) {
    regmatch_t found;
    if (k->single) {
        for (*from = at, *to = at + 1; *to < n && ((unsigned char)text[*to] & 0xC0) == 0x80;)
            ++*to;
        return at < n;
    }
    while (at < n && regexec(k->expression, text + at, 1, &found, at ? REG_NOTBOL : 0) == 0) {
        *from = at + (size_t)found.rm_so;
        *to = at + (size_t)found.rm_eo;
        if (*to > *from)
            return 1;
        at = *to + 1;
    }
    return 0;
}

/* Put the matches of an expression, or characters, into ids (NULL: only count). */
static size_t find(const cutting *k, const char *text, size_t n, int64_t *ids, int *error) {
    size_t words = 0, from, to;
    for (size_t at = 0; !*error && next_found(k, text, at, n, &from, &to); at = to) {
        if (to - from < k->min && !k->single)
            continue;
        if (ids)
            *error = sis__words_put(k->words, text + from, to - from, &ids[words]);
        words++;
    }
    return words;
}

/* Put the words of one text into ids (NULL: only count). */
static size_t cut(const cutting *k, const char *text, size_t n, int64_t *ids, int *error) {
    size_t words = 0, from = 0;
    if (k->expression || k->single)
        return find(k, text, n, ids, error);
    for (size_t i = 0; i <= n && !*error;) {
        size_t sep = i < n ? separator_at(k, text + i, n - i) : 0;
        if (sep || i == n) {
            if (i - from >= k->min && i > from) {
                if (ids)
                    *error = sis__words_put(k->words, text + from, i - from, &ids[words]);
                words++;
            }
            from = i + sep;
        }
        i += sep ? sep : 1;
    }
    return words;
}

/* The words of all texts, padded to lists of the same length. */
static int cut_all(sis__shape_ctx *c, const cutting *k, const char *pad) {
    const sis__tensor *x = sis__ctx_input(c, 0);
    size_t max = 0, n, dims[SIS__MAX_RANK + 1];
    size_t marks = k->mark ? 1 : 0;
    int64_t none = 0, ends[2] = {0};
    for (size_t i = 0; i < x->count; i++) {
        const char *text = sis__words_get(k->words, ((const int64_t *)x->data)[i], &n);
        size_t words = cut(k, text, n, NULL, &c->error) + 2 * marks;
        max = words > max ? words : max;
    }
    if (max && x->count > SIS__MAX_COUNT / max)
        return sis__ctx_fail(c, SIS_E_UNSUPPORTED, "too many words");
    int64_t *y = (int64_t *)sis__ctx_alloc(c, x->count * max + 1, sizeof *y);
    if (!c->error)
        c->error = sis__words_put(k->words, pad, strlen(pad), &none);
    for (size_t i = 0; i < 2 && marks && !c->error; i++)
        c->error = sis__words_put(k->words, i ? "\3" : "\2", 1, &ends[i]);
    for (size_t i = 0; !c->error && i < x->count * max; i++)
        y[i] = none;
    for (size_t i = 0; !c->error && i < x->count; i++) {
        const char *text = sis__words_get(k->words, ((const int64_t *)x->data)[i], &n);
        size_t words = cut(k, text, n, y + i * max + marks, &c->error);
        if (marks) {
            y[i * max] = ends[0];
            y[i * max + 1 + words] = ends[1];
        }
    }
    memcpy(dims, x->dims, sizeof x->dims);
    dims[x->rank] = max;
    sis__ctx_output(c, 0, SIS__TEXT, x->rank + 1, dims);
    sis__ctx_known(c, 0, y);
    return c->error;
}

static int tokenizer_shape(sis__shape_ctx *c) {
    cutting k = {.words = c->plan->graph->words};
    char pad[64], expression[8];
    regex_t re;
    size_t n = 1;
    k.separators = sis__attr_words(c, "separators", &k.n_separators);
    int64_t min = sis__attr_int(c, "mincharnum", 1);
    sis__attr_text(c, "pad_value", "", pad, sizeof pad);
    k.mark = sis__attr_int(c, "mark", 0) != 0;
    int finds = sis__attr_find(c, "tokenexp") != NULL;
    if (!finds && k.n_separators == 0)
        sis__ctx_fail(c, SIS_E_FORMAT, "neither separators nor an expression");
    if (need_known_texts(c) != SIS_OK)
        return c->error;
    k.min = min > 1 ? (size_t)min : 1;
    if (k.n_separators == 1)
        sis__words_get(k.words, k.separators[0], &n);
    if (finds && sis__attr_find(c, "tokenexp")->s.len == 1)
        sis__attr_text(c, "tokenexp", "", expression, sizeof expression);
    else
        expression[0] = '\0';
    k.single = n == 0 || expression[0] == '.';
    if (k.single || !finds)
        return cut_all(c, &k, pad);
    if (!compile_pattern(c, "tokenexp", &re))
        return c->error;
    k.expression = &re;
    cut_all(c, &k, pad);
    regfree(&re);
    return c->error;
}

const sis__op sis__op_tokenizer = {
    1, 1, tokenizer_shape, sis__never_run, NULL, .trait = SIS__MIXES_TEXTS};
