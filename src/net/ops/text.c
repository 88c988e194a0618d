/* SPDX-License-Identifier: MIT
 *
 * Operators on texts: StringNormalizer (case, words left out), Tokenizer of ONNX Runtime (words
 * between separators), TfIdfVectorizer (counts of n-grams, of texts or integers).
 */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "net/onnx/proto.h"
#include "net/onnx/words.h"
#include "net/ops/axes.h"
#include "net/ops/encode.h"
#include "net/ops/ops.h"

static int never_run(const sis__step *s, sis__run *r) {
    (void)s, (void)r;
    return SIS_OK;
}

/* Input 0 must be texts that are known: how many words stay depends on them. */
static int need_known_texts(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    if (x->dtype != SIS__TEXT)
        sis__cx_fail(c, SIS_E_FORMAT, "an input that is no text");
    else if (!x->data)
        sis__cx_fail(c, SIS_E_UNSUPPORTED,
                     "input 0 must be constant, but it depends on the network's input");
    return c->error;
}

/* ---- StringNormalizer ------------------------------------------------------------------------ */

enum { AS_IS, LOWER, UPPER };

/* The same text in lower or upper case (of ASCII letters; others stay). */
static int64_t change_case(sis__cx *c, int64_t id, int how) {
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
        unsigned char ch = (unsigned char)text[i];
        copy[i] = (char)(ch >= 128 ? ch : how == LOWER ? tolower(ch) : toupper(ch));
    }
    c->error = sis__words_put(c->plan->graph->words, copy, n, &changed);
    free(copy);
    return changed;
}

static int is_stop(sis__cx *c, const int64_t *stops, size_t n, int64_t id, int sensitive) {
    int64_t seen = sensitive ? id : change_case(c, id, LOWER);
    for (size_t i = 0; i < n; i++)
        if (seen == (sensitive ? stops[i] : change_case(c, stops[i], LOWER)))
            return 1;
    return 0;
}

/* (columns) or (1, columns): the words that stay; none: one empty text. */
static int normalizer_shape(sis__cx *c) {
    static const char *const names[] = {"NONE", "LOWER", "UPPER"};
    const sis__tensor *x = sis__cx_input(c, 0);
    int how = sis__attr_choice(c, "case_change_action", names, 3);
    int sensitive = sis__attr_int(c, "is_case_sensitive", 0) != 0;
    size_t n, kept = 0, dims[2] = {1, 0};
    const int64_t *stops = sis__attr_words(c, "stopwords", &n);
    sis__attr_find(c, "locale");
    if (need_known_texts(c) != SIS_OK)
        return c->error;
    if (x->rank < 1 || x->rank > 2 || (x->rank == 2 && x->dims[0] != 1))
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "more than one row of texts");
    int64_t *y = (int64_t *)sis__cx_alloc(c, x->count + 1, sizeof *y);
    for (size_t i = 0; !c->error && i < x->count; i++) {
        int64_t id = ((const int64_t *)x->data)[i];
        if (!is_stop(c, stops, n, id, sensitive))
            y[kept++] = change_case(c, id, how);
    }
    if (!c->error && kept == 0)
        c->error = sis__words_put(c->plan->graph->words, "", 0, &y[kept++]);
    dims[x->rank - 1] = kept;
    sis__cx_output(c, 0, SIS__TEXT, x->rank, dims);
    sis__cx_known(c, 0, y);
    return c->error;
}

const sis__op sis__op_string_normalizer = {1,    1, normalizer_shape, never_run,
                                           NULL, 0, SIS__MIXES_TEXTS};

/* ---- TfIdfVectorizer ------------------------------------------------------------------------- */

enum { TF, IDF, TFIDF };

typedef struct {
    size_t least, most, skips; /* lengths of n-grams; how many places may lie between */
    int mode;
    const int64_t *pool; /* integers, or numbers of texts */
    size_t n_pool;
    const int64_t *starts; /* where the n-grams of each length begin in the pool */
    size_t n_starts;
    const int64_t *columns; /* of each n-gram, in the order of the pool */
    size_t n_columns, width;
    const float *weights;
    size_t rows, length;
} grams;

static int tfidf_shape(sis__cx *c) {
    static const char *const modes[] = {"TF", "IDF", "TFIDF"};
    const sis__tensor *x = sis__cx_input(c, 0);
    grams *p = (grams *)sis__cx_own(c, sizeof *p);
    size_t texts, weights;
    int64_t least = sis__attr_int(c, "min_gram_length", 1);
    int64_t most = sis__attr_int(c, "max_gram_length", 1);
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
    if (least < 1 || most < least || most > 64 || skips < 0 || skips > 1 << 20 ||
        p->n_starts < (size_t)most || (p->weights && weights != p->n_columns) || x->rank < 1 ||
        x->rank > 2 || x->dtype != (texts ? SIS__TEXT : SIS__I64))
        sis__cx_fail(c, SIS_E_FORMAT, "n-grams that do not fit");
    for (size_t i = 0; !c->error && i < p->n_columns; i++) {
        if (p->columns[i] < 0 || p->columns[i] > INT32_MAX)
            sis__cx_fail(c, SIS_E_FORMAT, "a column of %lld", (long long)p->columns[i]);
        else if (p->width <= (size_t)p->columns[i])
            p->width = (size_t)p->columns[i] + 1;
    }
    for (size_t i = 0; !c->error && i < p->n_starts; i++)
        if (p->starts[i] < (i ? p->starts[i - 1] : 0) || (size_t)p->starts[i] > p->n_pool)
            sis__cx_fail(c, SIS_E_FORMAT, "n-grams outside of the pool");
    p->least = (size_t)least;
    p->most = (size_t)most;
    p->skips = (size_t)skips;
    p->rows = x->rank == 2 ? x->dims[0] : 1;
    p->length = x->rank ? x->dims[x->rank - 1] : 0;
    c->step->flops = (double)p->rows * (double)p->length * (double)p->n_pool *
                     (double)(p->skips < p->length ? p->skips + 1 : p->length);
    size_t dims[2] = {p->rows, p->width};
    sis__cx_output(c, 0, SIS__F32, x->rank, x->rank == 2 ? dims : dims + 1);
    sis__cx_elem(c, 0, SIS__FLOAT);
    return c->error;
}

/* Count the n-grams of one length in one row; `gram` is the first of that length in all. */
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
        for (size_t n = 1; n <= p->most; n++) {
            size_t to = n < p->n_starts ? (size_t)p->starts[n] : p->n_pool;
            if (n >= p->least)
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

const sis__op sis__op_tf_idf_vectorizer = {1,    1, tfidf_shape,     tfidf_forward,
                                           NULL, 0, SIS__MIXES_TEXTS};

/* ---- Tokenizer: the words between separators ------------------------------------------------- */

typedef struct {
    const int64_t *separators;
    size_t n_separators, least;
    sis__words *words;
} cutting;

/* The length of the separator that begins at text, 0: none. */
static size_t separator_at(const cutting *k, const char *text, size_t left) {
    for (size_t i = 0; i < k->n_separators; i++) {
        size_t n;
        const char *s = sis__words_get(k->words, k->separators[i], &n);
        if (n && n <= left && memcmp(text, s, n) == 0)
            return n;
    }
    return 0;
}

/* Words of one text into ids (NULL: only counted). */
static size_t cut(const cutting *k, const char *text, size_t n, int64_t *ids, int *error) {
    size_t words = 0, from = 0;
    for (size_t i = 0; i <= n && !*error;) {
        size_t sep = i < n ? separator_at(k, text + i, n - i) : 0;
        if (sep || i == n) {
            if (i - from >= k->least && i > from) {
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

static int tokenizer_shape(sis__cx *c) {
    const sis__tensor *x = sis__cx_input(c, 0);
    cutting k = {.words = c->plan->graph->words};
    char pad[64];
    size_t most = 0, dims[SIS__MAX_RANK + 1];
    k.separators = sis__attr_words(c, "separators", &k.n_separators);
    int64_t least = sis__attr_int(c, "mincharnum", 1);
    sis__attr_text(c, "pad_value", "", pad, sizeof pad);
    if (sis__attr_int(c, "mark", 0) || sis__attr_find(c, "tokenexp") || k.n_separators == 0)
        sis__cx_fail(c, SIS_E_UNSUPPORTED, "marks, expressions or single characters");
    if (need_known_texts(c) != SIS_OK)
        return c->error;
    k.least = least > 1 ? (size_t)least : 1;
    for (size_t i = 0; i < x->count; i++) {
        size_t n;
        const char *text = sis__words_get(k.words, ((const int64_t *)x->data)[i], &n);
        size_t words = cut(&k, text, n, NULL, &c->error);
        most = words > most ? words : most;
    }
    memcpy(dims, x->dims, sizeof x->dims);
    dims[x->rank] = most;
    if (most && x->count > SIS__MAX_COUNT / most)
        return sis__cx_fail(c, SIS_E_UNSUPPORTED, "too many words");
    int64_t *y = (int64_t *)sis__cx_alloc(c, x->count * most + 1, sizeof *y), none = 0;
    if (!c->error)
        c->error = sis__words_put(k.words, pad, strlen(pad), &none);
    for (size_t i = 0; !c->error && i < x->count * most; i++)
        y[i] = none;
    for (size_t i = 0; !c->error && i < x->count; i++) {
        size_t n;
        const char *text = sis__words_get(k.words, ((const int64_t *)x->data)[i], &n);
        cut(&k, text, n, y + i * most, &c->error);
    }
    sis__cx_output(c, 0, SIS__TEXT, x->rank + 1, dims);
    sis__cx_known(c, 0, y);
    return c->error;
}

const sis__op sis__op_tokenizer = {1, 1, tokenizer_shape, never_run, NULL, 0, SIS__MIXES_TEXTS};
