/* SPDX-License-Identifier: MIT
 *
 * Tokenizers of text models, from their files:
 *
 *     vocab.txt        WordPiece (BERT): one token per line, its id is the line number
 *     tokenizer.json   WordPiece or byte-level BPE, with its steps and special tokens
 *
 * A text is first searched for literal tokens ("[MASK]"). The text between them is normalized and
 * split into pieces (tokenizer_cut.c), and each piece becomes tokens: repeatedly the longest match
 * (WordPiece), or bytes merged pair by pair (tokenizer_bpe.c). Every token has its position in the
 * text and its word, because words are masked. A word is a piece, joined with pieces after an
 * apostrophe ("don't"); a token of white space belongs to the word after it.
 */
#include "data/tokenizer.h"

#include <stdlib.h>
#include <string.h>

#include <sis/text.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cell.h"
#include "data/lines.h"

enum { ID_MAX = 1 << 24, PIECE_MAX = 100, SPECIALS_MAX = 8 };

/* A token found literally in the text. */
typedef struct {
    char *text;
    int32_t id;
    int takes_before, takes_behind; /* includes adjacent white space */
} written;

/* Tokens at the start and end of every text. */
typedef struct {
    int32_t before[SPECIALS_MAX], behind[SPECIALS_MAX];
    size_t n_before, n_behind;
} text_ends;

struct sis_tokenizer {
    json_t *json;       /* owner of the words, or */
    const char **lines; /* the owner from vocab.txt, one allocation */
    const char **words; /* (n) texts by index */
    int32_t *ids;       /* (n) their ids */
    size_t n;
    sis__ids by_word;
    const char **by_id; /* (n_ids) NULL: none */
    size_t n_ids;
    sis__cuts cuts;
    int is_bpe, whole_first; /* whole_first: a piece that is a token is not split */
    sis__bpe bpe;
    char *prefix; /* of tokens inside a word: "##" */
    size_t piece_max;
    written *written;
    size_t n_written;
    text_ends ends;
    int32_t specials[SIS_N_SPECIALS]; /* -1: none */
};

/* ---- Words ----------------------------------------------------------------------------------- */

/* The last of duplicate lines wins, as in the tokenizers that models are trained with. */
static int32_t find(const sis_tokenizer *t, const char *word) {
    const sis__ids *x = &t->by_word;
    int32_t id = -1;
    for (size_t k = sis__ids_first(x, word); k < x->n && strcmp(x->items[k].id, word) == 0; k++)
        id = t->ids[x->items[k].at];
    return id;
}

long sis_tokenizer_find(const sis_tokenizer *t, const char *word) {
    for (size_t k = 0; k < t->n_written; k++)
        if (strcmp(t->written[k].text, word) == 0)
            return t->written[k].id;
    return find(t, word);
}

const char *sis_tokenizer_word(const sis_tokenizer *t, size_t id) {
    return id < t->n_ids ? t->by_id[id] : NULL;
}

long sis_tokenizer_special(const sis_tokenizer *t, sis_special special) {
    return t->specials[special];
}

/* Build the list by id, once all words are known. */
static int index_words(sis_tokenizer *t) {
    for (size_t i = 0; i < t->n; i++)
        t->n_ids = (size_t)t->ids[i] + 1 > t->n_ids ? (size_t)t->ids[i] + 1 : t->n_ids;
    for (size_t k = 0; k < t->n_written; k++)
        t->n_ids =
            (size_t)t->written[k].id + 1 > t->n_ids ? (size_t)t->written[k].id + 1 : t->n_ids;
    t->by_id = SIS_NEW(const char *, t->n_ids);
    if (!t->by_id)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < t->n; i++)
        t->by_id[t->ids[i]] = t->words[i];
    for (size_t k = 0; k < t->n_written; k++)
        t->by_id[t->written[k].id] = t->written[k].text;
    return sis__ids_init(&t->by_word, t->words, t->n);
}

/* Find the special tokens by their usual names. */
static void find_specials(sis_tokenizer *t) {
    static const char *const names[SIS_N_SPECIALS][4] = {
        [SIS_SPECIAL_PAD] = {"[PAD]", "<pad>", "<|endoftext|>", NULL},
        [SIS_SPECIAL_MASK] = {"[MASK]", "<mask>", NULL},
        [SIS_SPECIAL_UNKNOWN] = {"[UNK]", "<unk>", NULL},
    };
    for (size_t s = 0; s < SIS_N_SPECIALS; s++)
        for (size_t k = 0; t->specials[s] < 0 && k < 4 && names[s][k]; k++)
            t->specials[s] = (int32_t)sis_tokenizer_find(t, names[s][k]);
}

/* ---- vocab.txt ------------------------------------------------------------------------------- */

/* Does any word have a capital letter? Then case matters. */
static int has_capitals(const sis_tokenizer *t) {
    for (size_t i = 0; i < t->n; i++)
        for (const char *c = t->words[i]; *c && t->words[i][0] != '['; c++)
            if (*c >= 'A' && *c <= 'Z')
                return 1;
    return 0;
}

static int read_lines(const char *path, sis_tokenizer *t) {
    sis__lines l = {0};
    sis__strings list = {0};
    int got = 0, code = sis__lines_open(&l, path);
    while (code == SIS_OK && (got = sis__lines_next(&l)) == 1 && list.n < ID_MAX)
        sis__strings_add(&list, l.line.data);
    sis__lines_close(&l);
    t->n = list.n;
    code = code == SIS_OK && got < 0 ? got : code;
    if (code != SIS_OK) {
        sis__strings_release(&list);
        return code;
    }
    t->lines = t->words = sis__strings_finish(&list);
    t->ids = t->words ? SIS_NEW_RAW(int32_t, t->n) : NULL;
    for (size_t i = 0; t->ids && i < t->n; i++)
        t->ids[i] = (int32_t)i;
    return t->ids ? SIS_OK : SIS_E_NOMEM;
}

/* One special token found in the text; the word itself is in the list. */
static int add_written(sis_tokenizer *t, const char *text, int32_t id) {
    written *all = (written *)sis__realloc(t->written, t->n_written + 1, sizeof *t->written);
    if (!all)
        return SIS_E_NOMEM;
    t->written = all;
    all[t->n_written] = (written){.text = sis__strdup(text), .id = id};
    return all[t->n_written++].text ? SIS_OK : SIS_E_NOMEM;
}

static int open_vocabulary(const char *path, sis_tokenizer *t) {
    static const char *const special[] = {"[CLS]", "[SEP]", "[PAD]", "[MASK]", "[UNK]"};
    json_t *bert = NULL;
    int code = read_lines(path, t);
    if (code == SIS_OK)
        code = sis__ids_init(&t->by_word, t->words, t->n);
    for (size_t k = 0; code == SIS_OK && k < 5; k++)
        if (find(t, special[k]) >= 0)
            code = add_written(t, special[k], find(t, special[k]));
    if (code != SIS_OK)
        return code;
    t->ends.before[0] = find(t, "[CLS]");
    t->ends.behind[0] = find(t, "[SEP]");
    if (t->ends.before[0] < 0 || t->ends.behind[0] < 0 || find(t, "[UNK]") < 0)
        return sis__fail(SIS_E_FORMAT, "has no [CLS], [SEP] and [UNK]; expected the vocab.txt of a "
                                       "BERT model or a tokenizer.json");
    t->ends.n_before = t->ends.n_behind = 1;
    sis__ids_release(&t->by_word);
    bert = json_pack("{s:s,s:b}", "type", "BertNormalizer", "lowercase", !has_capitals(t));
    code = bert ? sis__cuts_add(&t->cuts, bert) : sis__fail(SIS_E_NOMEM, "out of memory");
    json_decref(bert);
    t->cuts.items[t->cuts.n++] = SIS__CUT_BERT;
    return code;
}

/* ---- tokenizer.json: words ------------------------------------------------------------------- */

static int wrong(const char *what) {
    return sis__fail(SIS_E_FORMAT, "%s", what);
}

static int is_id(const json_t *v) {
    return json_is_integer(v) && json_integer_value(v) >= 0 && json_integer_value(v) < ID_MAX;
}

static int take_words(sis_tokenizer *t, json_t *vocab) {
    const char *word;
    json_t *id;
    size_t n = json_object_size(vocab);
    if (!json_is_object(vocab) || n == 0)
        return wrong("field model.vocab: expected an object of tokens and their numbers");
    t->words = SIS_NEW(const char *, n);
    t->ids = SIS_NEW_RAW(int32_t, n);
    if (!t->words || !t->ids)
        return SIS_E_NOMEM;
    json_object_foreach(vocab, word, id) {
        if (!is_id(id))
            return wrong("field model.vocab: expected whole numbers >= 0");
        t->words[t->n] = word;
        t->ids[t->n++] = (int32_t)json_integer_value(id);
    }
    return SIS_OK;
}

static int take_added(sis_tokenizer *t, const json_t *list) {
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < json_array_size(list); i++) {
        const json_t *a = json_array_get(list, i);
        const char *text = json_string_value(json_object_get(a, "content"));
        if (!text || !*text || !is_id(json_object_get(a, "id")))
            return wrong("field added_tokens: expected content and id of each");
        code = add_written(t, text, (int32_t)json_integer_value(json_object_get(a, "id")));
        if (code == SIS_OK) {
            t->written[t->n_written - 1].takes_before = json_is_true(json_object_get(a, "lstrip"));
            t->written[t->n_written - 1].takes_behind = json_is_true(json_object_get(a, "rstrip"));
        }
    }
    return code;
}

/* ---- tokenizer.json: merges ------------------------------------------------------------------ */

/* "a b", or ["a", "b"]: the two tokens; 0: neither. */
static int split_merge(const json_t *entry, const char **left, size_t *n, const char **right) {
    const char *text = json_string_value(entry), *blank = text ? strchr(text, ' ') : NULL;
    if (json_array_size(entry) == 2) {
        *left = json_string_value(json_array_get(entry, 0));
        *right = json_string_value(json_array_get(entry, 1));
        *n = *left ? strlen(*left) : 0;
        return *left && *right;
    }
    *left = text;
    *n = blank ? (size_t)(blank - text) : 0;
    *right = blank ? blank + 1 : NULL;
    return blank != NULL;
}

static int take_merge(sis_tokenizer *t, const json_t *entry, uint32_t rank, sis__buf *word) {
    const char *left, *right;
    size_t n;
    if (!split_merge(entry, &left, &n, &right))
        return wrong("field model.merges: expected pairs of tokens");
    sis__buf_clear(word);
    sis__buf_add(word, left, n);
    int32_t a = sis__buf_error(word) ? -1 : find(t, word->data), b = find(t, right);
    sis__buf_str(word, right);
    int32_t both = sis__buf_error(word) ? -1 : find(t, word->data);
    if (sis__buf_error(word))
        return SIS_E_NOMEM;
    if (a < 0 || b < 0 || both < 0)
        return wrong("field model.merges: names a token that is not in model.vocab");
    t->bpe.merges[t->bpe.n++] =
        (sis__merge){(uint64_t)(uint32_t)a << 32 | (uint32_t)b, rank, (uint32_t)both};
    return SIS_OK;
}

/* The later of duplicate pairs wins. */
static void drop_twice(sis__bpe *b) {
    size_t kept = 0;
    for (size_t i = 0; i < b->n; i++) {
        if (kept > 0 && b->merges[kept - 1].pair == b->merges[i].pair) {
            if (b->merges[i].rank > b->merges[kept - 1].rank)
                b->merges[kept - 1] = b->merges[i];
        } else
            b->merges[kept++] = b->merges[i];
    }
    b->n = kept;
}

/* Bytes as GPT-2 writes them: printable bytes unchanged, others from U+0100 on. */
static uint32_t byte_letter(int byte) {
    static const struct { int from, to; } plain[] = {{33, 126}, {161, 172}, {174, 255}};
    uint32_t other = 256;
    for (int b = 0; b <= byte; b++) {
        int is_plain = 0;
        for (size_t k = 0; k < 3; k++)
            is_plain |= b >= plain[k].from && b <= plain[k].to;
        if (b == byte)
            return is_plain ? (uint32_t)b : other;
        other += !is_plain;
    }
    return other;
}

static void find_bytes(sis_tokenizer *t) {
    for (int b = 0; b < 256; b++) {
        char text[5] = "";
        sis__utf8_put(byte_letter(b), text);
        t->bpe.bytes[b] = find(t, text);
    }
}

static int take_merges(sis_tokenizer *t, const json_t *model) {
    const json_t *list = json_object_get(model, "merges");
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const char *suffix = json_string_value(json_object_get(model, "end_of_word_suffix"));
    sis__buf word;
    if (!t->cuts.bytes || (prefix && *prefix) || (suffix && *suffix))
        return sis__fail(SIS_E_UNSUPPORTED, "its BPE is not byte-level; give token ids (.npy)");
    if (!json_is_array(list) || json_array_size(list) > ID_MAX)
        return wrong("field model.merges: expected a list");
    t->bpe.merges = SIS_NEW(sis__merge, json_array_size(list));
    if (!t->bpe.merges)
        return SIS_E_NOMEM;
    sis__buf_init(&word);
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < json_array_size(list); i++)
        code = take_merge(t, json_array_get(list, i), (uint32_t)i, &word);
    sis__buf_release(&word);
    if (t->bpe.n)
        qsort(t->bpe.merges, t->bpe.n, sizeof *t->bpe.merges, sis__bpe_by_pair);
    drop_twice(&t->bpe);
    find_bytes(t);
    t->is_bpe = 1;
    t->whole_first = json_is_true(json_object_get(model, "ignore_merges"));
    return code;
}

static int take_model(sis_tokenizer *t, const json_t *model) {
    char excerpt[SIS__EXCERPT_SIZE];
    const char *type = json_string_value(json_object_get(model, "type"));
    const char *prefix = json_string_value(json_object_get(model, "continuing_subword_prefix"));
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    const json_t *max = json_object_get(model, "max_input_chars_per_word");
    if (unknown)
        t->specials[SIS_SPECIAL_UNKNOWN] = (int32_t)sis_tokenizer_find(t, unknown);
    if (!type) /* missing in older files */
        type = json_object_get(model, "merges") ? "BPE" : "WordPiece";
    if (strcmp(type, "BPE") == 0)
        return take_merges(t, model);
    if (strcmp(type, "WordPiece") != 0)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "its model \"%s\" is neither WordPiece nor BPE; give token ids (.npy)",
                         sis__cell_excerpt(type, excerpt));
    if (prefix) {
        free(t->prefix);
        t->prefix = sis__strdup(prefix);
    }
    if (is_id(max))
        t->piece_max = (size_t)json_integer_value(max);
    if (t->specials[SIS_SPECIAL_UNKNOWN] < 0)
        return wrong("field model.unk_token: is not in model.vocab");
    return t->prefix ? SIS_OK : SIS_E_NOMEM;
}

/* ---- tokenizer.json: tokens around a text ---------------------------------------------------- */

static int put_around(sis_tokenizer *t, int32_t id, int behind) {
    size_t *n = behind ? &t->ends.n_behind : &t->ends.n_before;
    if (id < 0 || *n == SPECIALS_MAX)
        return wrong("field post_processor: unknown token, or too many tokens");
    (behind ? t->ends.behind : t->ends.before)[(*n)++] = id;
    return SIS_OK;
}

static int take_template(sis_tokenizer *t, const json_t *p) {
    const json_t *list = json_object_get(p, "single"),
                 *known = json_object_get(p, "special_tokens");
    int behind = 0, code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < json_array_size(list); i++) {
        const json_t *item = json_array_get(list, i),
                     *special = json_object_get(item, "SpecialToken");
        const char *name = json_string_value(json_object_get(special, "id"));
        if (!special) {
            behind = 1;
            continue;
        }
        const json_t *ids = json_object_get(json_object_get(known, name ? name : ""), "ids");
        if (json_array_size(ids) == 0)
            code = wrong("field post_processor: a special token without ids");
        for (size_t k = 0; code == SIS_OK && k < json_array_size(ids); k++) {
            const json_t *id = json_array_get(ids, k);
            code = put_around(t, is_id(id) ? (int32_t)json_integer_value(id) : -1, behind);
        }
    }
    return code;
}

/* ["[SEP]", 102] */
static int take_pair(sis_tokenizer *t, const json_t *p, const char *field, int behind) {
    const json_t *id = json_array_get(json_object_get(p, field), 1);
    return put_around(t, is_id(id) ? (int32_t)json_integer_value(id) : -1, behind);
}

static int take_processor(sis_tokenizer *t, const json_t *p, int depth) {
    char excerpt[SIS__EXCERPT_SIZE];
    const char *type = json_string_value(json_object_get(p, "type"));
    const json_t *list = json_object_get(p, "processors");
    int code = SIS_OK;
    if (!p || json_is_null(p) || (type && strcmp(type, "ByteLevel") == 0))
        return SIS_OK;
    if (type && strcmp(type, "TemplateProcessing") == 0)
        return take_template(t, p);
    if (type && (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0)) {
        code = take_pair(t, p, "cls", 0);
        return code == SIS_OK ? take_pair(t, p, "sep", 1) : code;
    }
    if (!type || strcmp(type, "Sequence") != 0 || !list || depth > 4)
        return sis__fail(SIS_E_UNSUPPORTED,
                         "its post_processor \"%s\" is not supported; give token ids (.npy)",
                         sis__cell_excerpt(type ? type : "", excerpt));
    for (size_t i = 0; code == SIS_OK && i < json_array_size(list); i++)
        code = take_processor(t, json_array_get(list, i), depth + 1);
    return code;
}

/* ---- Opening --------------------------------------------------------------------------------- */

/* Characters must not change after the first split. */
static int check_cuts(const sis__cuts *cuts) {
    int cut = 0;
    for (size_t k = 0; k < cuts->n; k++) {
        if (cut && cuts->items[k] < SIS__CUT_BERT)
            return sis__fail(SIS_E_UNSUPPORTED,
                             "its pre_tokenizer rewrites pieces after splitting, which is not "
                             "supported; give token ids (.npy)");
        cut |= cuts->items[k] >= SIS__CUT_BERT;
    }
    return SIS_OK;
}

static int open_json(const char *path, sis_tokenizer *t) {
    json_error_t why;
    char *text;
    size_t n;
    int code = sis__file_read(path, &text, &n);
    if (code != SIS_OK)
        return code;
    t->json = sis__json_load(text, n, 0, &why);
    free(text);
    if (!t->json && json_error_code(&why) == json_error_out_of_memory)
        return sis__fail(SIS_E_NOMEM, "out of memory");
    if (!t->json)
        return sis__fail(SIS_E_FORMAT, "line %d: not JSON: %.100s", why.line, why.text);
    json_t *model = json_object_get(t->json, "model");
    code = take_words(t, json_object_get(model, "vocab"));
    if (code == SIS_OK)
        code = sis__ids_init(&t->by_word, t->words, t->n);
    if (code == SIS_OK)
        code = take_added(t, json_object_get(t->json, "added_tokens"));
    if (code == SIS_OK)
        code = sis__cuts_add(&t->cuts, json_object_get(t->json, "normalizer"));
    if (code == SIS_OK)
        code = sis__cuts_add(&t->cuts, json_object_get(t->json, "pre_tokenizer"));
    if (code == SIS_OK)
        code = check_cuts(&t->cuts);
    if (code == SIS_OK)
        code = take_model(t, model);
    if (code == SIS_OK)
        code = take_processor(t, json_object_get(t->json, "post_processor"), 0);
    const json_t *pad = json_object_get(json_object_get(t->json, "padding"), "pad_id");
    if (is_id(pad))
        t->specials[SIS_SPECIAL_PAD] = (int32_t)json_integer_value(pad);
    sis__ids_release(&t->by_word);
    return code;
}

/* By content: JSON begins with a brace. */
static int is_json(const char *path) {
    char head[64];
    size_t n = sis__file_head(path, head, sizeof head), at = 0;
    while (at < n && strchr(" \t\r\n\xEF\xBB\xBF", head[at]))
        at++;
    return at < n && head[at] == '{';
}

int sis_tokenizer_read(const char *path, sis_tokenizer **out) {
    *out = NULL;
    if (!sis__unicode_known())
        return sis__fail(SIS_E_UNSUPPORTED,
                         "%s: this build has no tokenizers; install libutf8proc (Debian: "
                         "libutf8proc-dev) and build again, or give token ids (.npy)",
                         path);
    sis_tokenizer *t = SIS_NEW(sis_tokenizer, 1);
    if (!t)
        return SIS_E_NOMEM;
    for (size_t s = 0; s < SIS_N_SPECIALS; s++)
        t->specials[s] = -1;
    t->piece_max = PIECE_MAX;
    t->prefix = sis__strdup("##");
    int code = !t->prefix      ? SIS_E_NOMEM
               : is_json(path) ? open_json(path, t)
                               : open_vocabulary(path, t);
    if (code == SIS_OK)
        code = index_words(t);
    if (code != SIS_OK) {
        sis_tokenizer_free(t);
        return code == SIS_E_NOMEM || code == SIS_E_IO ? code : sis__fail_in(code, "%s", path);
    }
    find_specials(t);
    *out = t;
    return SIS_OK;
}

void sis_tokenizer_free(sis_tokenizer *t) {
    if (!t)
        return;
    for (size_t k = 0; k < t->n_written; k++)
        free(t->written[k].text);
    free(t->written);
    if (t->words != t->lines)
        free(t->words);
    free(t->lines);
    free(t->ids);
    free(t->by_id);
    free(t->prefix);
    free(t->bpe.merges);
    sis__ids_release(&t->by_word);
    json_decref(t->json);
    free(t);
}

/* ---- Encoding -------------------------------------------------------------------------------- */

/* A text being encoded. */
typedef struct {
    const sis_tokenizer *t;
    const char *text;
    sis_tokens *out;
    size_t word;     /* number of the next word */
    size_t word_end; /* end of the last word */
    int tied;        /* the last word ended in a joining apostrophe */
    sis__buf scratch;
} encoding;

static int put(encoding *e, int32_t id, size_t start, size_t end, size_t word) {
    sis_tokens *o = e->out;
    int code = sis__reserve(&o->items, &o->room, o->n + 1, sizeof *o->items);
    if (code == SIS_OK)
        o->items[o->n++] =
            (sis_token){.id = id, .start = start, .length = end - start, .word = word};
    return code;
}

/* Letters of a piece as UTF-8. */
static void write_chars(sis__buf *b, const sis__char *s, size_t n) {
    char text[4];
    for (size_t i = 0; i < n; i++)
        sis__buf_add(b, text, sis__utf8_put(s[i].c, text));
}

/* The longest token at the start of s (n), and its length; 0: none. */
static size_t longest(encoding *e, const sis__char *s, size_t n, int inside, int32_t *id) {
    for (; n > 0; n--) {
        sis__buf_clear(&e->scratch);
        if (inside)
            sis__buf_str(&e->scratch, e->t->prefix);
        write_chars(&e->scratch, s, n);
        if (sis__buf_error(&e->scratch) != SIS_OK)
            return 0;
        if ((*id = find(e->t, e->scratch.data)) >= 0)
            return n;
    }
    return 0;
}

/* WordPiece: a piece is unknown if any part of it is. */
static int encode_wordpiece(encoding *e, const sis__char *s, size_t n, size_t word) {
    size_t first = e->out->n, at = 0, got = 1;
    int code = SIS_OK;
    while (code == SIS_OK && at < n && got > 0 && n <= e->t->piece_max) {
        int32_t id;
        got = longest(e, s + at, n - at, at > 0, &id);
        if (got > 0)
            code = put(e, id, s[at].start, s[at + got - 1].end, word);
        at += got;
    }
    if (code != SIS_OK || sis__buf_error(&e->scratch) != SIS_OK || at == n)
        return code != SIS_OK ? code : sis__buf_error(&e->scratch);
    e->out->n = first;
    return put(e, e->t->specials[SIS_SPECIAL_UNKNOWN], s[0].start, s[n - 1].end, word);
}

/* Tokens of `sizes` bytes each; their positions exclude white space before a word. */
static int put_bytes(encoding *e, const sis__char *s, size_t n, const int32_t *ids,
                     const size_t *sizes, size_t n_ids, size_t word) {
    size_t at = 0, used = 0; /* character; number of its bytes in earlier tokens */
    char text[4];
    int code = SIS_OK;
    for (size_t k = 0; code == SIS_OK && k < n_ids; k++) {
        size_t first = at, bytes = used + sizes[k];
        for (size_t next; at < n && bytes >= (next = sis__utf8_put(s[at].c, text)); at++)
            bytes -= next;
        used = bytes;
        size_t end = used ? at : at - 1; /* the last character with a byte in it */
        while (first < end && sis__unicode_is_space(s[first].c))
            first++;
        code = put(e, ids[k], s[first].start, s[end].end, word);
    }
    return code;
}

static int encode_bytes(encoding *e, const sis__char *s, size_t n, size_t word) {
    sis__buf_clear(&e->scratch);
    write_chars(&e->scratch, s, n);
    if (sis__buf_error(&e->scratch) != SIS_OK)
        return SIS_E_NOMEM;
    size_t bytes = e->scratch.len;
    int32_t *ids = SIS_NEW_RAW(int32_t, bytes);
    size_t *sizes = SIS_NEW_RAW(size_t, bytes);
    int code = ids && sizes ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; code == SIS_OK && i < bytes; i++) {
        ids[i] = e->t->bpe.bytes[(unsigned char)e->scratch.data[i]];
        sizes[i] = 1;
        if (ids[i] < 0 && (ids[i] = e->t->specials[SIS_SPECIAL_UNKNOWN]) < 0)
            code = sis__fail(SIS_E_FORMAT, "the tokenizer has no token for byte 0x%02x",
                             (unsigned char)e->scratch.data[i]);
    }
    long left = code == SIS_OK ? sis__bpe_join(&e->t->bpe, ids, sizes, bytes) : 0;
    if (left < 0)
        code = SIS_E_NOMEM;
    if (code == SIS_OK)
        code = put_bytes(e, s, n, ids, sizes, (size_t)left, word);
    free(ids);
    free(sizes);
    return code;
}

/* The id of a piece that is itself a token in a byte-level vocabulary. */
static int32_t find_whole(encoding *e, const sis__char *s, size_t n) {
    sis__buf text;
    int32_t id = -1;
    sis__buf_init(&text);
    sis__buf_clear(&e->scratch);
    write_chars(&e->scratch, s, n);
    for (size_t i = 0; i < e->scratch.len; i++) {
        sis__char letter = {.c = byte_letter((unsigned char)e->scratch.data[i])};
        write_chars(&text, &letter, 1);
    }
    if (sis__buf_error(&text) == SIS_OK && sis__buf_error(&e->scratch) == SIS_OK && text.len)
        id = find(e->t, text.data);
    sis__buf_release(&text);
    return id;
}

static int is_apostrophe(uint32_t c) {
    return c == '\'' || c == 0x2019;
}

/* The word number of a piece with characters s (n), without white space: the previous one if an
 * apostrophe joins them. */
static size_t word_of(encoding *e, const sis__char *s, size_t n) {
    const char *text = e->text;
    int adjoins = e->word > 0 && s[0].start == e->word_end;
    uint32_t behind = 0;
    if (text[s[n - 1].end])
        sis__utf8_step(text + s[n - 1].end, &behind);
    int ties = is_apostrophe(s[0].c) &&
               (n > 1 ? sis__unicode_is_letter(s[1].c) : sis__unicode_is_letter(behind));
    size_t word = adjoins && (ties || e->tied) ? e->word - 1 : e->word++;
    e->tied = adjoins && ties && n == 1;
    e->word_end = s[n - 1].end;
    return word;
}

static int encode_piece(encoding *e, const sis__char *s, size_t n) {
    size_t first = 0;
    while (first < n && sis__unicode_is_space(s[first].c))
        first++;
    size_t word = first < n ? word_of(e, s + first, n - first) : e->word;
    if (!e->t->is_bpe)
        return encode_wordpiece(e, s, n, word);
    int32_t whole = e->t->whole_first ? find_whole(e, s, n) : -1;
    size_t from = first < n ? first : 0;
    return whole >= 0 ? put(e, whole, s[from].start, s[n - 1].end, word)
                      : encode_bytes(e, s, n, word);
}

/* Encode the text between literal tokens. */
static int encode_part(encoding *e, size_t at, size_t n) {
    sis__pieces p;
    int code = n ? sis__cuts_apply(&e->t->cuts, e->text, at, n, &p) : SIS_OK;
    if (n == 0 || code != SIS_OK)
        return code;
    for (size_t k = 0, from = 0; code == SIS_OK && k < p.n_ends; from = p.ends[k++])
        code = encode_piece(e, p.items + from, p.ends[k] - from);
    free(p.items);
    free(p.ends);
    return code;
}

/* The longest literal token at the start of the text; NULL: none. */
static const written *find_written(const sis_tokenizer *t, const char *text) {
    const written *found = NULL;
    for (size_t k = 0; k < t->n_written; k++) {
        size_t n = strlen(t->written[k].text);
        if (strncmp(text, t->written[k].text, n) == 0 && (!found || n > strlen(found->text)))
            found = &t->written[k];
    }
    return found;
}

static int encode_text(encoding *e) {
    const char *text = e->text;
    size_t from = 0, at = 0;
    int code = SIS_OK;
    while (code == SIS_OK && text[at]) {
        const written *w = find_written(e->t, text + at);
        if (!w) {
            at++;
            continue;
        }
        size_t end = at + strlen(w->text), cut = at;
        while (w->takes_before && cut > from && text[cut - 1] == ' ')
            cut--;
        code = encode_part(e, from, cut - from);
        if (code == SIS_OK)
            code = put(e, w->id, at, end, e->word++);
        while (w->takes_behind && text[end] == ' ')
            end++;
        from = at = end;
    }
    return code == SIS_OK ? encode_part(e, from, at - from) : code;
}

/* White space after the last word belongs to it. */
static void close_words(encoding *e) {
    for (size_t i = 0; i < e->out->n; i++)
        if (e->out->items[i].word >= e->word)
            e->out->items[i].word = e->word ? e->word - 1 : 0;
}

/* Add special tokens at both ends; at most `max` tokens in total. */
static int surround(encoding *e, size_t max) {
    const sis_tokenizer *t = e->t;
    sis_tokens *o = e->out;
    size_t around = t->ends.n_before + t->ends.n_behind, n = o->n;
    if (max > 0 && n + around > max)
        o->n = n = max > around ? max - around : 0;
    int code = sis__reserve(&o->items, &o->room, n + around + 1, sizeof *o->items);
    if (code != SIS_OK)
        return code;
    memmove(o->items + t->ends.n_before, o->items, n * sizeof *o->items);
    for (size_t k = 0; k < around; k++) {
        int behind = k >= t->ends.n_before;
        o->items[behind ? n + k : k] =
            (sis_token){.id = behind ? t->ends.behind[k - t->ends.n_before] : t->ends.before[k],
                        .word = SIZE_MAX};
    }
    o->n = n + around;
    return SIS_OK;
}

int sis_tokenizer_encode(const sis_tokenizer *t, const char *text, size_t max, sis_tokens *out) {
    encoding e = {.t = t, .text = text, .out = out};
    out->n = 0;
    sis__buf_init(&e.scratch);
    int code = encode_text(&e);
    close_words(&e);
    if (code == SIS_OK)
        code = surround(&e, max);
    sis__buf_release(&e.scratch);
    return code;
}

void sis_tokens_release(sis_tokens *tokens) {
    free(tokens->items);
    *tokens = (sis_tokens){0};
}
