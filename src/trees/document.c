/* SPDX-License-Identifier: MIT
 *
 * See document.h. Both parsers push values on one stack. At the end of a list or object, its part
 * of the stack becomes an array in blocks of memory that are freed together.
 */
#include "trees/document.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/number.h"

enum { DEEPEST = 64, BLOCK = 1 << 16 };

/* ---- Memory ---------------------------------------------------------------------------------- */

struct sis__doc_block {
    struct sis__doc_block *next;
    size_t used, size;
    max_align_t bytes[];
};

typedef struct {
    const char *start, *at, *end;
    struct sis__doc_block *blocks;
    sis__doc *stack;
    size_t n, room;
    int depth;
} parser;

static void *allocate(parser *p, size_t n, size_t size) {
    struct sis__doc_block *b = p->blocks;
    if (n > (size_t)PTRDIFF_MAX / 2 / size) {
        sis__fail(SIS_E_NOMEM, "out of memory: %zu items of %zu bytes", n, size);
        return NULL;
    }
    size_t bytes = (n * size + sizeof(max_align_t) - 1) / sizeof(max_align_t) * sizeof(max_align_t);
    if (!b || b->size - b->used < bytes) {
        size_t room = bytes > BLOCK / 4 ? bytes : BLOCK;
        b = (struct sis__doc_block *)sis__alloc_raw(1, sizeof *b + room);
        if (!b)
            return NULL;
        *b = (struct sis__doc_block){.next = p->blocks, .size = room};
        p->blocks = b;
    }
    void *at = (char *)b->bytes + b->used;
    b->used += bytes;
    return at;
}

static int push(parser *p, sis__doc value) {
    int error = sis__reserve(&p->stack, &p->room, p->n + 1, sizeof *p->stack);
    if (!error)
        p->stack[p->n++] = value;
    return error;
}

/* Turn the values from `first` on into one value: an object or a list. */
static int gather(parser *p, size_t first, int object, sis__doc *out) {
    size_t n = p->n - first, numbers = 0;
    const sis__doc *from = n ? p->stack + first : NULL;
    for (size_t i = 0; !object && i < n; i++)
        numbers += from[i].kind == SIS__DOC_NUMBER;
    p->n = first;
    out->n = n;
    if (!object && numbers == n) {
        double *to = (double *)allocate(p, n, sizeof *to);
        for (size_t i = 0; to && i < n; i++)
            to[i] = from[i].number;
        out->kind = SIS__DOC_NUMBERS;
        out->numbers = to;
        return to ? SIS_OK : SIS_E_NOMEM;
    }
    sis__doc *to = (sis__doc *)allocate(p, n, sizeof *to);
    if (to && n)
        memcpy(to, from, n * sizeof *to);
    out->kind = object ? SIS__DOC_OBJECT : SIS__DOC_LIST;
    out->items = to;
    return to ? SIS_OK : SIS_E_NOMEM;
}

static int fail(const parser *p, const char *expected) {
    return sis__fail(SIS_E_FORMAT, "byte %zu: expected %s", (size_t)(p->at - p->start), expected);
}

static int end_parse(parser *p, int error, sis__document *out) {
    free(p->stack);
    out->blocks = p->blocks;
    if (error)
        sis__document_release(out);
    return error;
}

void sis__document_release(sis__document *d) {
    while (d->blocks) {
        struct sis__doc_block *next = d->blocks->next;
        free(d->blocks);
        d->blocks = next;
    }
    *d = (sis__document){0};
}

const sis__doc *sis__doc_get(const sis__doc *object, const char *name) {
    if (!object || object->kind != SIS__DOC_OBJECT)
        return NULL;
    for (size_t i = object->n; i-- > 0;)
        if (strcmp(object->items[i].name, name) == 0)
            return &object->items[i];
    return NULL;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void skip_blanks(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\n' || *p->at == '\t' || *p->at == '\r'))
        p->at++;
}

/* Take this character if it is next, after white space. */
static int accept(parser *p, char c) {
    skip_blanks(p);
    if (p->at == p->end || *p->at != c)
        return 0;
    p->at++;
    return 1;
}

static int accept_word(parser *p, const char *word) {
    size_t n = strlen(word);
    if ((size_t)(p->end - p->at) < n || memcmp(p->at, word, n) != 0)
        return 0;
    p->at += n;
    return 1;
}

/* The value of four hexadecimal digits; -1: other characters. */
static long hex(const parser *p, const char *at) {
    long v = 0;
    for (int i = 0; i < 4; i++) {
        char c = at + i < p->end ? at[i] : '?';
        int d = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
        if (d < 0)
            return -1;
        v = v * 16 + d;
    }
    return v;
}

static char *put_utf8(char *to, unsigned long c) {
    if (c < 0x80) {
        *to++ = (char)c;
        return to;
    }
    int more = c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
    *to++ = (char)(c >> 6 * more | (0xff00u >> (more + 1) & 0xff));
    while (more--)
        *to++ = (char)(0x80 | (c >> 6 * more & 0x3f));
    return to;
}

/* After "\u": p->at is at the digits. */
static int put_escaped(parser *p, char **to) {
    long c = hex(p, p->at), low;
    if (c <= 0)
        return fail(p, "four hexadecimal digits, not all 0");
    p->at += 4;
    if (c >= 0xd800 && c < 0xdc00 && p->end - p->at >= 6 && p->at[0] == '\\' && p->at[1] == 'u' &&
        (low = hex(p, p->at + 2)) >= 0xdc00 && low < 0xe000) {
        c = 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
        p->at += 6;
    }
    *to = put_utf8(*to, (unsigned long)(c >= 0xd800 && c < 0xe000 ? 0xfffd : c));
    return SIS_OK;
}

static int put_escape(parser *p, char **to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = p->at < p->end ? *p->at++ : '\0';
    if (c == 'u')
        return put_escaped(p, to);
    const char *known = c ? strchr(from, c) : NULL;
    if (!known)
        return fail(p, "one of \"\\/bfnrtu after \\");
    *(*to)++ = into[known - from];
    return SIS_OK;
}

/* After the opening quote. The result is never longer than the source. */
static int parse_string(parser *p, const char **text, size_t *n) {
    const char *end = p->at;
    while (end < p->end && *end != '"')
        end += *end == '\\' && end + 1 < p->end ? 2 : 1;
    if (end >= p->end)
        return fail(p, "the end of the text");
    char *to = (char *)allocate(p, (size_t)(end - p->at) + 1, 1);
    int error = to ? SIS_OK : SIS_E_NOMEM;
    *text = to;
    while (!error && p->at < end) {
        if (*p->at == '\0')
            error = fail(p, "a text without NUL bytes");
        else if (*p->at != '\\')
            *to++ = *p->at++;
        else {
            p->at++;
            error = put_escape(p, &to);
        }
    }
    if (error)
        return error;
    *to = '\0';
    *n = (size_t)(to - *text);
    p->at = end + 1;
    return SIS_OK;
}

/* v, the double nearest to these digits; if v is the midpoint of two floats, the float nearest to
 * the digits, because rounding v to float could give the other one. */
static double nearest(const char *digits, double v) {
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return (bits & 0x1fffffff) == 0x10000000 ? (double)sis__number_float(digits, NULL) : v;
}

static int parse_number(parser *p, double *v) {
    static const struct {
        const char *word;
        double v;
    } words[] = {{"NaN", NAN}, {"Infinity", INFINITY}, {"-Infinity", -INFINITY}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (accept_word(p, words[i].word)) {
            *v = words[i].v;
            return SIS_OK;
        }
    char *end;
    if (p->at == p->end || !strchr("-0123456789", *p->at))
        return fail(p, "a value");
    double found = sis__number(p->at, &end); /* a NUL follows the bytes */
    if (end == p->at || end > p->end)
        return fail(p, "a number");
    *v = nearest(p->at, found);
    p->at = end;
    return SIS_OK;
}

static int parse_value(parser *p, sis__doc *out);

/* After the bracket. */
static int parse_items(parser *p, int object, sis__doc *out) {
    size_t first = p->n, unused;
    char close = object ? '}' : ']';
    if (++p->depth > DEEPEST)
        return fail(p, "at most 64 lists within lists");
    int error = SIS_OK, more = !accept(p, close);
    while (more && !error) {
        sis__doc item = {0};
        const char *name = NULL;
        if (object && !accept(p, '"'))
            return fail(p, "the name of a member");
        if (object)
            error = parse_string(p, &name, &unused);
        if (!error && object && !accept(p, ':'))
            error = fail(p, "a colon");
        if (!error)
            error = parse_value(p, &item);
        item.name = name;
        if (!error)
            error = push(p, item);
        more = accept(p, ',');
        if (!error && !more && !accept(p, close))
            error = fail(p, object ? "a comma or }" : "a comma or ]");
    }
    p->depth--;
    return error ? error : gather(p, first, object, out);
}

static int parse_value(parser *p, sis__doc *out) {
    if (accept(p, '{'))
        return parse_items(p, 1, out);
    if (accept(p, '['))
        return parse_items(p, 0, out);
    if (accept(p, '"')) {
        out->kind = SIS__DOC_TEXT;
        return parse_string(p, &out->text, &out->n);
    }
    if (accept_word(p, "null"))
        return SIS_OK;
    out->kind = SIS__DOC_NUMBER;
    out->number = 1;
    if (accept_word(p, "true"))
        return SIS_OK;
    out->number = 0;
    return accept_word(p, "false") ? SIS_OK : parse_number(p, &out->number);
}

int sis__json_parse(const char *bytes, size_t n, sis__document *out) {
    parser p = {.start = bytes, .at = bytes, .end = bytes + n};
    *out = (sis__document){0};
    int error = parse_value(&p, &out->root);
    skip_blanks(&p);
    if (!error && p.at != p.end)
        error = fail(&p, "the end");
    return end_parse(&p, error, out);
}

/* ---- UBJSON ---------------------------------------------------------------------------------- */

static int need(const parser *p, size_t n) {
    return (size_t)(p->end - p->at) >= n ? SIS_OK : fail(p, "more bytes");
}

/* Size in bytes of a number of this type; 0: not a number. */
static size_t size_of(char type) {
    switch (type) {
    case 'i':
    case 'U':
    case 'C':
        return 1;
    case 'I':
        return 2;
    case 'l':
    case 'd':
        return 4;
    case 'L':
    case 'D':
        return 8;
    default:
        return 0;
    }
}

/* Read a number; the caller has checked that its bytes exist. */
static double take_number(parser *p, char type) {
    size_t n = size_of(type);
    uint64_t bits = 0;
    float single;
    double wide;
    for (size_t i = 0; i < n; i++)
        bits = bits << 8 | (unsigned char)*p->at++;
    uint32_t half = (uint32_t)bits;
    switch (type) {
    case 'i':
        return (int8_t)bits;
    case 'I':
        return (int16_t)bits;
    case 'l':
        return (int32_t)bits;
    case 'L':
        return (double)(int64_t)bits;
    case 'd':
        memcpy(&single, &half, sizeof single);
        return single;
    case 'D':
        memcpy(&wide, &bits, sizeof wide);
        return wide;
    default:
        return (double)bits;
    }
}

static int take_length(parser *p, size_t *n) {
    int error = need(p, 1);
    char type = error ? '\0' : *p->at++;
    if (!error && (!size_of(type) || type == 'd' || type == 'D' || type == 'C'))
        error = fail(p, "a length");
    if (!error)
        error = need(p, size_of(type));
    double v = error ? 0 : take_number(p, type);
    if (!error && !(v >= 0 && v <= (double)(p->end - p->at)))
        error = fail(p, "a length that the file has room for");
    *n = error ? 0 : (size_t)v;
    return error;
}

static int take_text(parser *p, const char **text, size_t *n) {
    int error = take_length(p, n);
    char *to = error ? NULL : (char *)allocate(p, *n + 1, 1);
    *text = to;
    if (error || !to)
        return error ? error : SIS_E_NOMEM;
    if (memchr(p->at, '\0', *n))
        return fail(p, "a text without NUL bytes");
    memcpy(to, p->at, *n);
    to[*n] = '\0';
    p->at += *n;
    return SIS_OK;
}

/* After "[$type#length". */
static int take_numbers(parser *p, char type, size_t n, sis__doc *out) {
    if (!size_of(type) || n > (size_t)(p->end - p->at) / size_of(type))
        return fail(p, "numbers that the file has room for");
    double *to = (double *)allocate(p, n, sizeof *to);
    for (size_t i = 0; to && i < n; i++)
        to[i] = take_number(p, type);
    out->kind = SIS__DOC_NUMBERS;
    out->n = n;
    out->numbers = to;
    return to ? SIS_OK : SIS_E_NOMEM;
}

static int take_value(parser *p, sis__doc *out);

static int next_is(parser *p, char c) {
    if (p->at == p->end || *p->at != c)
        return 0;
    p->at++;
    return 1;
}

static int take_items(parser *p, int object, sis__doc *out) {
    size_t first = p->n, count = SIZE_MAX, unused;
    char type = '\0';
    int error = SIS_OK;
    if (next_is(p, '$') && !(error = need(p, 1)))
        type = *p->at++;
    if (!error && next_is(p, '#'))
        error = take_length(p, &count);
    if (!error && type && (object || count == SIZE_MAX))
        error = fail(p, "a count after the type of a list");
    if (error || type)
        return error ? error : take_numbers(p, type, count, out);
    if (++p->depth > DEEPEST)
        return fail(p, "at most 64 lists within lists");
    int counted = count != SIZE_MAX;
    while (!error && (counted ? count-- > 0 : !next_is(p, object ? '}' : ']'))) {
        sis__doc item = {0};
        const char *name = NULL;
        if (object)
            error = take_text(p, &name, &unused);
        if (!error)
            error = take_value(p, &item);
        item.name = name;
        if (!error)
            error = push(p, item);
    }
    p->depth--;
    return error ? error : gather(p, first, object, out);
}

static int take_value(parser *p, sis__doc *out) {
    int error = need(p, 1);
    if (error)
        return error;
    char type = *p->at++;
    if (type == '{' || type == '[')
        return take_items(p, type == '{', out);
    if (type == 'S') {
        out->kind = SIS__DOC_TEXT;
        return take_text(p, &out->text, &out->n);
    }
    if (type == 'Z')
        return SIS_OK;
    out->kind = SIS__DOC_NUMBER;
    out->number = type == 'T';
    if (type == 'T' || type == 'F')
        return SIS_OK;
    if (!size_of(type)) {
        p->at--;
        return fail(p, "the letter of a value");
    }
    error = need(p, size_of(type));
    if (!error)
        out->number = take_number(p, type);
    return error;
}

int sis__ubjson_parse(const char *bytes, size_t n, sis__document *out) {
    parser p = {.start = bytes, .at = bytes, .end = bytes + n};
    *out = (sis__document){0};
    int error = take_value(&p, &out->root);
    if (!error && p.at != p.end)
        error = fail(&p, "the end");
    return end_parse(&p, error, out);
}
