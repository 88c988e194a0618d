/* SPDX-License-Identifier: MIT
 *
 * The steps before token lookup: normalizers of a tokenizer.json change characters, then pre-
 * tokenizers split text into pieces. Both are lists of steps from one table.
 */
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/utf8.h"
#include "data/cell.h"
#include "data/tokenizer.h"

/* ---- Reading the steps ----------------------------------------------------------------------- */

static int add(sis__cuts *cuts, sis__cut_kind kind) {
    if (cuts->n == SIS__CUTS_MAX)
        return sis__fail(SIS_E_FORMAT, "more than %d steps", SIS__CUTS_MAX);
    cuts->items[cuts->n++] = kind;
    return SIS_OK;
}

/* A field that is true, or absent and true by default. */
static int is_set(const json_t *step, const char *field, int by_default) {
    const json_t *v = json_object_get(step, field);
    return v && !json_is_null(v) ? json_is_true(v) : by_default;
}

static int add_bert(sis__cuts *cuts, const json_t *step) {
    int lower = is_set(step, "lowercase", 1), code = SIS_OK;
    if (is_set(step, "clean_text", 1))
        code = add(cuts, SIS__CUT_CLEAN);
    if (code == SIS_OK && is_set(step, "handle_chinese_chars", 1))
        code = add(cuts, SIS__CUT_CHINESE);
    if (code == SIS_OK && is_set(step, "strip_accents", lower)) {
        code = add(cuts, SIS__CUT_NFD);
        if (code == SIS_OK)
            code = add(cuts, SIS__CUT_ACCENTS);
    }
    return code == SIS_OK && lower ? add(cuts, SIS__CUT_LOWER) : code;
}

static int add_bytes(sis__cuts *cuts, const json_t *step) {
    int code = SIS_OK;
    cuts->bytes = 1;
    if (is_set(step, "add_prefix_space", 1))
        code = add(cuts, SIS__CUT_BLANK_FIRST);
    return code == SIS_OK && is_set(step, "use_regex", 1) ? add(cuts, SIS__CUT_GPT2) : code;
}

static int add_all(sis__cuts *cuts, const json_t *list, int depth);

static int add_step(sis__cuts *cuts, const json_t *step, int depth) {
    static const struct {
        const char *name;
        sis__cut_kind kind;
    } plain[] = {{"Lowercase", SIS__CUT_LOWER},
                 {"StripAccents", SIS__CUT_ACCENTS},
                 {"NFC", SIS__CUT_NFC},
                 {"NFD", SIS__CUT_NFD},
                 {"NFKC", SIS__CUT_NFKC},
                 {"NFKD", SIS__CUT_NFKD},
                 {"Strip", SIS__CUT_STRIP},
                 {"BertPreTokenizer", SIS__CUT_BERT},
                 {"WhitespaceSplit", SIS__CUT_SPLIT},
                 {"Whitespace", SIS__CUT_WHITESPACE},
                 {"Punctuation", SIS__CUT_PUNCTUATION}};
    char text[SIS__EXCERPT_SIZE];
    const char *type = json_string_value(json_object_get(step, "type"));
    if (!step || json_is_null(step))
        return SIS_OK;
    if (!type)
        return sis__fail(SIS_E_FORMAT, "a normalizer or pre_tokenizer without a type");
    if (strcmp(type, "Sequence") == 0) {
        const json_t *list = json_object_get(step, "normalizers");
        return add_all(cuts, list ? list : json_object_get(step, "pretokenizers"), depth + 1);
    }
    if (strcmp(type, "BertNormalizer") == 0)
        return add_bert(cuts, step);
    if (strcmp(type, "ByteLevel") == 0)
        return add_bytes(cuts, step);
    if (strcmp(type, "Digits") == 0)
        return add(cuts, is_set(step, "individual_digits", 0) ? SIS__CUT_DIGIT : SIS__CUT_DIGITS);
    for (size_t k = 0; k < sizeof plain / sizeof *plain; k++)
        if (strcmp(type, plain[k].name) == 0)
            return add(cuts, plain[k].kind);
    return sis__fail(SIS_E_UNSUPPORTED, "its step \"%s\" is not supported; give token ids (.npy)",
                     sis__cell_excerpt(type, text));
}

static int add_all(sis__cuts *cuts, const json_t *list, int depth) {
    int code = json_is_array(list) && depth < 8
                   ? SIS_OK
                   : sis__fail(SIS_E_FORMAT, "a Sequence without a list of steps");
    for (size_t i = 0; code == SIS_OK && i < json_array_size(list); i++)
        code = add_step(cuts, json_array_get(list, i), depth);
    return code;
}

int sis__cuts_add(sis__cuts *cuts, const json_t *step) {
    return add_step(cuts, step, 0);
}

/* ---- Normalizers ----------------------------------------------------------------------------- */

static int is_chinese(uint32_t c) {
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2CEAF) ||
           (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

static int is_control(uint32_t c) {
    return c == 0 || c == SIS__UTF8_BAD ||
           (sis__unicode_class(c) == 'C' && c != '\t' && c != '\n' && c != '\r');
}

/* Add the replacement of one character to `out`. */
static int change_one(sis__cut_kind kind, sis__char x, sis__chars *out) {
    int space = sis__unicode_is_space(x.c), code = SIS_OK;
    switch (kind) {
    case SIS__CUT_CLEAN:
        return is_control(x.c) ? SIS_OK : sis__chars_add(out, space ? ' ' : x.c, x.start, x.end);
    case SIS__CUT_CHINESE:
        if (!is_chinese(x.c))
            break;
        code = sis__chars_add(out, ' ', x.start, x.start);
        if (code == SIS_OK)
            code = sis__chars_add(out, x.c, x.start, x.end);
        return code == SIS_OK ? sis__chars_add(out, ' ', x.end, x.end) : code;
    case SIS__CUT_ACCENTS:
        if (sis__unicode_class(x.c) == 'M')
            return SIS_OK;
        break;
    case SIS__CUT_LOWER:
        if (x.c == 0x130) { /* the only character that becomes two */
            code = sis__chars_add(out, 'i', x.start, x.end);
            return code == SIS_OK ? sis__chars_add(out, 0x307, x.start, x.end) : code;
        }
        return sis__chars_add(out, sis__unicode_lower(x.c), x.start, x.end);
    default:
        break;
    }
    return sis__chars_add(out, x.c, x.start, x.end);
}

static int change_each(sis__cut_kind kind, sis__chars *list) {
    sis__chars out = {0};
    int code = SIS_OK;
    for (size_t i = 0; code == SIS_OK && i < list->n; i++)
        code = change_one(kind, list->items[i], &out);
    free(code == SIS_OK ? list->items : out.items);
    if (code == SIS_OK)
        *list = out;
    return code;
}

static void strip(sis__chars *list) {
    size_t first = 0;
    while (list->n > 0 && sis__unicode_is_space(list->items[list->n - 1].c))
        list->n--;
    while (first < list->n && sis__unicode_is_space(list->items[first].c))
        first++;
    if (first > 0)
        memmove(list->items, list->items + first, (list->n - first) * sizeof *list->items);
    list->n -= first;
}

static int blank_first(sis__chars *list) {
    if (list->n == 0 || sis__unicode_is_space(list->items[0].c))
        return SIS_OK;
    size_t at = list->items[0].start;
    int code = sis__chars_add(list, ' ', at, at);
    if (code != SIS_OK)
        return code;
    memmove(list->items + 1, list->items, (list->n - 1) * sizeof *list->items);
    list->items[0] = (sis__char){' ', at, at};
    return SIS_OK;
}

static int change(sis__cut_kind kind, sis__chars *list) {
    switch (kind) {
    case SIS__CUT_NFC:
    case SIS__CUT_NFD:
    case SIS__CUT_NFKC:
    case SIS__CUT_NFKD:
        return sis__unicode_normalize(list, kind == SIS__CUT_NFC || kind == SIS__CUT_NFKC,
                                      kind == SIS__CUT_NFKC || kind == SIS__CUT_NFKD);
    case SIS__CUT_STRIP:
        strip(list);
        return SIS_OK;
    case SIS__CUT_BLANK_FIRST:
        return blank_first(list);
    default:
        return change_each(kind, list);
    }
}

/* ---- Pre-tokenizers -------------------------------------------------------------------------- */

static int is_punctuation(uint32_t c) {
    int ascii = (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
                (c >= 123 && c <= 126);
    return ascii || sis__unicode_class(c) == 'P';
}

/* Characters with the same number belong to one piece; 0: white space, in no piece; negative: a
 * piece of its own. */
static int class_of(sis__cut_kind kind, uint32_t c) {
    int space = sis__unicode_is_space(c), digit = sis__unicode_is_number(c);
    switch (kind) {
    case SIS__CUT_BERT:
        return space ? 0 : is_punctuation(c) ? -1 : 1;
    case SIS__CUT_SPLIT:
        return !space;
    case SIS__CUT_WHITESPACE:
        return space ? 0 : sis__unicode_is_word(c) ? 1 : 2;
    case SIS__CUT_PUNCTUATION:
        return is_punctuation(c) ? -1 : 1;
    case SIS__CUT_DIGITS:
        return digit ? 2 : 1;
    default: /* SIS__CUT_DIGIT */
        return digit ? -1 : 1;
    }
}

/* 's 't 're 've 'm 'll 'd: number of characters, or 0. */
static size_t match_ending(const sis__char *s, size_t n) {
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t k = 0; k < sizeof endings / sizeof *endings; k++) {
        size_t m = strlen(endings[k]), i = 0;
        while (i < m && i < n && s[i].c == (unsigned char)endings[k][i])
            i++;
        if (i == m)
            return m;
    }
    return 0;
}

/* Letters 1, numbers 2, white space 0, the rest 3. */
static int kind_of(uint32_t c) {
    return sis__unicode_is_letter(c)   ? 1
           : sis__unicode_is_number(c) ? 2
           : sis__unicode_is_space(c)  ? 0
                                       : 3;
}

/* The length of the first piece of n > 0 characters by GPT-2's pattern: an ending after an
 * apostrophe; letters, numbers or others with a preceding blank; or white space without its last
 * character, which belongs to the next piece. */
static size_t match_gpt2(const sis__char *s, size_t n) {
    size_t ending = match_ending(s, n), at = 0;
    if (ending)
        return ending;
    size_t first = s[0].c == ' ' && n > 1 && kind_of(s[1].c) != 0;
    int kind = kind_of(s[first].c);
    for (at = first; at < n && kind_of(s[at].c) == kind;)
        at++;
    return kind == 0 && at < n && at > 1 ? at - 1 : at;
}

/* Length of the next piece of s (n); *skipped: characters before it that are in no piece. */
static size_t next_piece(sis__cut_kind kind, const sis__char *s, size_t n, size_t *skipped) {
    size_t at = 0;
    *skipped = 0;
    if (kind == SIS__CUT_GPT2)
        return match_gpt2(s, n);
    while (at < n && class_of(kind, s[at].c) == 0)
        at++;
    *skipped = at;
    if (at == n)
        return 0;
    int class = class_of(kind, s[at].c);
    do
        at++;
    while (class > 0 && at < n && class_of(kind, s[at].c) == class);
    return at - *skipped;
}

static int add_piece(sis__pieces *p, const sis__char *s, size_t n) {
    int code = sis__reserve(&p->items, &p->room, p->n + n, sizeof *p->items);
    if (code == SIS_OK)
        code = sis__reserve(&p->ends, &p->ends_room, p->n_ends + 1, sizeof *p->ends);
    if (code != SIS_OK)
        return code;
    memcpy(p->items + p->n, s, n * sizeof *s);
    p->n += n;
    p->ends[p->n_ends++] = p->n;
    return SIS_OK;
}

static int cut(sis__cut_kind kind, sis__pieces *p) {
    sis__pieces out = {0};
    int code = SIS_OK;
    for (size_t k = 0, at = 0; code == SIS_OK && k < p->n_ends; k++)
        while (code == SIS_OK && at < p->ends[k]) {
            size_t skipped, n = next_piece(kind, p->items + at, p->ends[k] - at, &skipped);
            if (n > 0)
                code = add_piece(&out, p->items + at + skipped, n);
            at += skipped + n;
        }
    sis__pieces *gone = code == SIS_OK ? p : &out;
    free(gone->items);
    free(gone->ends);
    if (code == SIS_OK)
        *p = out;
    return code;
}

/* ---- Applying the steps ---------------------------------------------------------------------- */

static int take_text(const char *text, size_t at, size_t n, sis__chars *out) {
    int code = SIS_OK;
    for (size_t i = 0, step; code == SIS_OK && i < n; i += step) {
        uint32_t c;
        step = sis__utf8_next(text + at + i, n - i, &c);
        code = sis__chars_add(out, c, at + i, at + i + step);
    }
    return code;
}

int sis__cuts_apply(const sis__cuts *cuts, const char *text, size_t at, size_t n,
                    sis__pieces *out) {
    sis__chars list = {0};
    size_t k = 0;
    *out = (sis__pieces){0};
    int code = take_text(text, at, n, &list);
    for (; code == SIS_OK && k < cuts->n && cuts->items[k] < SIS__CUT_BERT; k++)
        code = change(cuts->items[k], &list);
    if (code == SIS_OK && list.n > 0)
        code = add_piece(out, list.items, list.n);
    free(list.items);
    for (; code == SIS_OK && k < cuts->n; k++)
        code = cuts->items[k] < SIS__CUT_BERT
                   ? sis__fail(SIS_E_UNSUPPORTED, "its pre_tokenizer adds a blank after splitting, "
                                                  "which is not supported; give token ids (.npy)")
                   : cut(cuts->items[k], out);
    if (code != SIS_OK) {
        free(out->items);
        free(out->ends);
        *out = (sis__pieces){0};
    }
    return code;
}
