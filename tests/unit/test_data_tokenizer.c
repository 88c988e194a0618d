/* SPDX-License-Identifier: MIT
 *
 * Tokenizers: tokens, their positions and words by hand; byte pairs against a plain merge; damaged
 * and unsupported files. Without libutf8proc, only the message is tested.
 */
#include "support_data.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/data.h>
#include <sis/text.h>

#include "base/rng.h"

static const char vocabulary[] =
    "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nun\n##aff\n##able\nfilm\n!\n'\ndon\nt\n"
    "naive\n##s\n\xE4\xB8\xAD\n,\n";

static int is_built(void) {
    sis_tokenizer *t;
    int code = sis_tokenizer_read(folder_text("v.txt", vocabulary), &t);
    sis_tokenizer_free(t);
    if (code == SIS_E_UNSUPPORTED)
        assert_message_has("libutf8proc");
    return code != SIS_E_UNSUPPORTED;
}

static sis_tokenizer *open_text(const char *name, const char *text) {
    sis_tokenizer *t;
    if (sis_tokenizer_read(folder_text(name, text), &t) != 0)
        fail_msg("%s", sis_error_detail());
    return t;
}

/* "2 5 6 3" */
static void assert_ids(const sis_tokenizer *t, const char *text, size_t max, const char *want) {
    sis_tokens tokens = {0};
    char got[1024] = "";
    if (sis_tokenizer_encode(t, text, max, &tokens) != 0)
        fail_msg("%s", sis_error_detail());
    for (size_t i = 0, used = 0; i < tokens.n; i++)
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%d", i ? " " : "",
                                 tokens.items[i].id);
    assert_string_equal(got, want);
    sis_tokens_release(&tokens);
}

/* The words of a text as written, separated by bars. */
static void assert_words(const sis_tokenizer *t, const char *text, const char *want) {
    sis_tokens tokens = {0};
    char got[1024] = "";
    assert_int_equal(sis_tokenizer_encode(t, text, 0, &tokens), 0);
    for (size_t i = 0, used = 0; i < tokens.n; i++) {
        const sis_token *k = &tokens.items[i];
        if (k->word == SIZE_MAX)
            continue;
        used += (size_t)snprintf(got + used, sizeof got - used, "%s%.*s",
                                 used == 0                             ? ""
                                 : k->word != tokens.items[i - 1].word ? "|"
                                                                       : "+",
                                 (int)k->length, text + k->start);
    }
    assert_string_equal(got, want);
    sis_tokens_release(&tokens);
}

static void wordpieces_are_the_longest_that_fit(void **state) {
    (void)state;
    if (!is_built())
        return;
    sis_tokenizer *t = open_text("v.txt", vocabulary);
    assert_ids(t, "Unaffable film!", 0, "2 5 6 7 8 9 3");
    assert_ids(t, "unaffables xyz", 0, "2 5 6 7 14 1 3");
    assert_ids(t, "na\xC3\xAFve \xE4\xB8\xAD\xE4\xB8\xAD [MASK],", 0, "2 13 15 15 4 16 3");
    assert_ids(t, "", 0, "2 3");
    assert_ids(t, "film film film", 4, "2 8 8 3");
    assert_ids(t, "film film film", 1, "2 3");
    assert_words(t, "Don't, na\xC3\xAFves!", "Don+'+t|,|na\xC3\xAFve+s|!");
    assert_words(t, "'film' don", "'|film|'|don");
    assert_int_equal(sis_tokenizer_special(t, SIS_SPECIAL_MASK), 4);
    assert_int_equal(sis_tokenizer_special(t, SIS_SPECIAL_PAD), 0);
    assert_int_equal(sis_tokenizer_find(t, "film"), 8);
    assert_int_equal(sis_tokenizer_find(t, "films"), -1);
    assert_string_equal(sis_tokenizer_word(t, 6), "##aff");
    assert_null(sis_tokenizer_word(t, 17));
    sis_tokenizer_free(t);
    t = open_text("twice.txt", "[UNK]\n[CLS]\n[SEP]\nfilm\na\nfilm\nfilm\n");
    assert_ids(t, "a film", 0, "1 4 6 2"); /* the last of duplicate lines wins */
    sis_tokenizer_free(t);
    t = open_text("cased.txt", "[UNK]\n[CLS]\n[SEP]\nFilm\nfilm\n");
    assert_ids(t, "Film film FILM", 0, "1 3 4 0 2");
    sis_tokenizer_free(t);
}

/* ---- tokenizer.json -------------------------------------------------------------------------- */

#define BPE(normalizer, pre, more)                                                                 \
    "{\"added_tokens\":[{\"id\":0,\"content\":\"<s>\"},{\"id\":1,\"content\":\"<mask>\","          \
    "\"lstrip\":true}],\"normalizer\":" normalizer ",\"pre_tokenizer\":" pre                       \
    ",\"post_processor\":{\"type\":\"TemplateProcessing\",\"single\":[{\"SpecialToken\":{\"id\":"  \
    "\"<s>\",\"type_id\":0}},{\"Sequence\":{\"id\":\"A\",\"type_id\":0}}],\"special_tokens\":"     \
    "{\"<s>\":{\"ids\":[0]}}},\"model\":{\"type\":\"BPE\",\"vocab\":{\"<s>\":0,\"<mask>\":1,"      \
    "\"a\":2,\"b\":3,\"c\":4,\"\\u0120\":5,\"ab\":6,\"\\u0120ab\":7,\"abc\":8,\"'\":9,"            \
    "\"\\u00c3\":10,\"\\u00a9\":11},\"merges\":[\"a b\",[\"\\u0120\",\"ab\"],\"ab c\"]" more "}}"
#define BYTES "{\"type\":\"ByteLevel\",\"add_prefix_space\":false}"

static void byte_pairs_are_joined_in_order(void **state) {
    (void)state;
    if (!is_built())
        return;
    sis_tokenizer *t = open_text("b.json", BPE("null", BYTES, ""));
    assert_ids(t, "abc", 0, "0 8");
    assert_ids(t, "abc abc ab", 0, "0 8 7 4 7");
    assert_ids(t, "ab <mask> ab", 0, "0 6 1 7");
    assert_ids(t, "a  b", 0, "0 2 5 5 3");
    assert_ids(t, "\xC3\xA9", 0, "0 10 11");
    assert_words(t, "abc ab", "abc|ab");
    sis_tokenizer_free(t);
    t = open_text("b.json", BPE("{\"type\":\"Lowercase\"}", "{\"type\":\"ByteLevel\"}", ""));
    assert_ids(t, "AB C", 0, "0 7 5 4");
    sis_tokenizer_free(t);
    t = open_text("b.json",
                  BPE("{\"type\":\"Sequence\",\"normalizers\":[{\"type\":\"NFD\"},{\"type\":"
                      "\"StripAccents\"},{\"type\":\"Strip\"}]}",
                      "{\"type\":\"Sequence\",\"pretokenizers\":[{\"type\":"
                      "\"WhitespaceSplit\"}," BYTES "]}",
                      ",\"ignore_merges\":true"));
    assert_ids(t,
               " \xC3\xA1"
               "b  abc ",
               0, "0 6 8");
    sis_tokenizer_free(t);
}

static void refused(const char *text, int code, const char *part) {
    sis_tokenizer *t;
    assert_int_equal(sis_tokenizer_read(folder_text("r.json", text), &t), code);
    assert_null(t);
    assert_message_has(part);
}

static void other_files_are_refused(void **state) {
    sis_tokenizer *t;
    (void)state;
    if (!is_built())
        return;
    refused("{", SIS_E_FORMAT, "not JSON");
    refused("{}", SIS_E_FORMAT, "model.vocab");
    refused("{\"model\":{\"vocab\":{\"a\":-1}}}", SIS_E_FORMAT, "whole numbers");
    refused("{\"model\":{\"vocab\":{\"a\":99999999}}}", SIS_E_FORMAT, "whole numbers");
    refused("{\"model\":{\"type\":\"Unigram\",\"vocab\":{\"a\":0}}}", SIS_E_UNSUPPORTED, "Unigram");
    refused("{\"model\":{\"type\":\"WordPiece\",\"vocab\":{\"a\":0}}}", SIS_E_FORMAT, "unk_token");
    refused("{\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0},\"merges\":[]}}", SIS_E_UNSUPPORTED,
            "not byte-level");
    refused(BPE("{\"type\":\"Precompiled\"}", BYTES, ""), SIS_E_UNSUPPORTED, "\"Precompiled\"");
    refused(BPE("null", "{\"type\":\"Metaspace\"}", ""), SIS_E_UNSUPPORTED, "\"Metaspace\"");
    refused("[CLS]\n[SEP]\n", SIS_E_FORMAT, "[UNK]");
    assert_int_equal(sis_tokenizer_read(folder_path("absent"), &t), SIS_E_IO);
}

/* ---- Merging --------------------------------------------------------------------------------- */

enum { LETTERS = 3, PAIRS = 24, LONGEST = 40 };

/* Tokens of the letters a b c, and random pairs of existing tokens. */
typedef struct {
    char words[LETTERS + PAIRS][64];
    int left[PAIRS], right[PAIRS];
    size_t n;
} pairs;

static void draw_pairs(pairs *p, sis__rng *r) {
    p->n = 0;
    for (int k = 0; k < LETTERS; k++)
        snprintf(p->words[k], 64, "%c", 'a' + k);
    while (p->n < PAIRS) {
        int a = (int)sis__rng_below(r, LETTERS + p->n), b = (int)sis__rng_below(r, LETTERS + p->n);
        char both[128];
        int known = 0;
        snprintf(both, sizeof both, "%s%s", p->words[a], p->words[b]);
        for (size_t k = 0; k < LETTERS + p->n; k++)
            known |= strcmp(p->words[k], both) == 0;
        if (known || strlen(both) > 12) {
            if (sis__rng_below(r, 50) == 0)
                return;
            continue;
        }
        p->left[p->n] = a;
        p->right[p->n] = b;
        snprintf(p->words[LETTERS + p->n++], 64, "%.63s", both);
    }
}

static sis_tokenizer *write_pairs(const pairs *p) {
    static char text[1 << 14];
    size_t n = (size_t)snprintf(
        text, sizeof text, "{\"pre_tokenizer\":" BYTES ",\"model\":{\"type\":\"BPE\",\"vocab\":{");
    for (size_t k = 0; k < LETTERS + p->n; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%s\":%zu", k ? "," : "", p->words[k],
                              k);
    n += (size_t)snprintf(text + n, sizeof text - n, "},\"merges\":[");
    for (size_t k = 0; k < p->n; k++)
        n += (size_t)snprintf(text + n, sizeof text - n, "%s\"%s %s\"", k ? "," : "",
                              p->words[p->left[k]], p->words[p->right[k]]);
    snprintf(text + n, sizeof text - n, "]}}");
    return open_text("p.json", text);
}

/* Merges the leftmost pair of the lowest rank until none is left. */
static size_t join_slowly(const pairs *p, int *ids, size_t n) {
    for (;;) {
        size_t best = p->n, at = 0;
        for (size_t i = 0; i + 1 < n; i++)
            for (size_t k = 0; k < best; k++)
                if (p->left[k] == ids[i] && p->right[k] == ids[i + 1]) {
                    best = k;
                    at = i;
                }
        if (best == p->n)
            return n;
        ids[at] = LETTERS + (int)best;
        n--;
        memmove(ids + at + 1, ids + at + 2, (n - at - 1) * sizeof *ids);
    }
}

static void joining_is_as_the_obvious_way(void **state) {
    static pairs p;
    sis__rng r;
    (void)state;
    if (!is_built())
        return;
    sis__rng_init(&r, 3);
    for (size_t round = 0; round < rounds(60); round++) {
        draw_pairs(&p, &r);
        sis_tokenizer *t = write_pairs(&p);
        sis_tokens tokens = {0};
        for (size_t text = 0; text < 30; text++) {
            char letters[LONGEST + 1] = "";
            int ids[LONGEST];
            size_t n = 1 + sis__rng_below(&r, LONGEST);
            for (size_t i = 0; i < n; i++) {
                ids[i] = (int)sis__rng_below(&r, LETTERS);
                letters[i] = (char)('a' + ids[i]);
            }
            assert_int_equal(sis_tokenizer_encode(t, letters, 0, &tokens), 0);
            size_t left = join_slowly(&p, ids, n), at = 0;
            assert_int_equal(tokens.n, left);
            for (size_t i = 0; i < left; i++) {
                assert_int_equal(tokens.items[i].id, ids[i]);
                assert_int_equal(tokens.items[i].start, at);
                at += strlen(p.words[ids[i]]);
            }
            assert_int_equal(at, n);
        }
        sis_tokens_release(&tokens);
        sis_tokenizer_free(t);
    }
}

/* A million letters without a blank take bounded time. */
static void long_words_take_no_time(void **state) {
    (void)state;
    if (!is_built())
        return;
    size_t n = rounds(600000);
    char *text = malloc(n + 1);
    sis_tokens tokens = {0};
    assert_non_null(text);
    memset(text, 'a', n);
    text[n] = '\0';
    for (size_t i = 1; i < n; i += 2)
        text[i] = 'b';
    sis_tokenizer *t = open_text("b.json", BPE("null", BYTES, ""));
    assert_int_equal(sis_tokenizer_encode(t, text, 0, &tokens), 0);
    assert_int_equal(tokens.n, 1 + (n + 1) / 2);
    sis_tokens_release(&tokens);
    sis_tokenizer_free(t);
    free(text);
}

/* ---- Files and memory ------------------------------------------------------------------------ */

static void read_spoiled(const char *path) {
    sis_tokenizer *t;
    sis_tokens tokens = {0};
    if (sis_tokenizer_read(path, &t) == 0)
        sis_tokenizer_encode(t, "abc [MASK] \xC3\xA9 ab<mask>", 0, &tokens);
    sis_tokens_release(&tokens);
    sis_tokenizer_free(t);
}

static void spoiled_files_do_no_harm(void **state) {
    static const char bpe[] = BPE("{\"type\":\"NFC\"}", BYTES, "");
    (void)state;
    if (!is_built())
        return;
    with_spoiled_files("s.json", bpe, sizeof bpe - 1, 300, read_spoiled);
    with_spoiled_files("s.txt", vocabulary, sizeof vocabulary - 1, 300, read_spoiled);
}

static int encode_once(void *ctx) {
    sis_tokenizer *t;
    sis_tokens tokens = {0};
    int code = sis_tokenizer_read((const char *)ctx, &t);
    if (code == 0)
        code = sis_tokenizer_encode(t, "abc <mask> \xC3\xA9 a'b", 0, &tokens);
    sis_tokens_release(&tokens);
    sis_tokenizer_free(t);
    return code;
}

static void failing_allocations_are_reported(void **state) {
    char path[2048];
    (void)state;
    if (!is_built())
        return;
    snprintf(path, sizeof path, "%s", folder_text("m.txt", vocabulary));
    assert_true(with_failing_allocations(encode_once, path) > 20);
    snprintf(path, sizeof path, "%s",
             folder_text("m.json", BPE("{\"type\":\"NFC\"}", BYTES, ",\"ignore_merges\":true")));
    assert_true(with_failing_allocations(encode_once, path) > 20);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wordpieces_are_the_longest_that_fit),
        cmocka_unit_test(byte_pairs_are_joined_in_order),
        cmocka_unit_test(other_files_are_refused),
        cmocka_unit_test(joining_is_as_the_obvious_way),
        cmocka_unit_test(long_words_take_no_time),
        cmocka_unit_test(spoiled_files_do_no_harm),
        cmocka_unit_test(failing_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
