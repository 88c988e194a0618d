/* SPDX-License-Identifier: MIT
 *
 * Reads and writes NumPy's .npy files: data sets, and the masks and feature maps of options.
 *
 *     "\x93NUMPY"  major  minor  header length (2 bytes if major is 1, else 4; little endian)
 *     {'descr': '<f4', 'fortran_order': False, 'shape': (60000, 28, 28), }   spaces   \n
 *     the numbers
 *
 * The header is a Python dictionary. The parser accepts exactly these three keys, once each, in any
 * order, with valid values. The size computed from the shape must equal the size of the file, which
 * is checked before memory is allocated. Structured, complex, text and object arrays are
 * refused with the name of their type.
 */
#include "data/packed.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sis/files.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"
#include "data/cell.h"
#include "data/source.h"

enum {
    MAGIC = 8, /* bytes up to the header's length */
    HEADER_MAX = 1 << 16,
    ALIGN = 64
};

/* ---- The header ---------------------------------------------------------------------------- */

typedef struct {
    const char *name;       /* of the file */
    const char *start, *at; /* the header, with a NUL appended */
    sis__packed *array;     /* type, fortran, rank and dims go here */
    int swap;               /* the numbers are in the other byte order */
} header;

static int malformed(const header *h, const char *expected) {
    char found[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT,
                     "%s: malformed .npy header: expected %s at byte %zu, found \"%s\"", h->name,
                     expected, (size_t)(h->at - h->start), sis__cell_excerpt(h->at, found));
}

static void skip_blanks(header *h) {
    while (*h->at == ' ' || *h->at == '\t' || *h->at == '\n' || *h->at == '\r')
        h->at++;
}

/* Skip white space and `text`, if it is next. */
static int eat(header *h, const char *text) {
    skip_blanks(h);
    size_t n = strlen(text);
    if (strncmp(h->at, text, n) != 0)
        return 0;
    h->at += n;
    return 1;
}

/* A string in either kind of quotes, without escapes, cut to fit `out`. */
static int take_string(header *h, char out[SIS__EXCERPT_SIZE]) {
    skip_blanks(h);
    char quote = *h->at;
    const char *end = quote == '\'' || quote == '"' ? strchr(h->at + 1, quote) : NULL;
    if (!end || memchr(h->at, '\\', (size_t)(end - h->at)))
        return malformed(h, "a string");
    snprintf(out, SIS__EXCERPT_SIZE, "%.*s", (int)(end - h->at - 1), h->at + 1);
    h->at = end + 1;
    return SIS_OK;
}

static int unsupported(const header *h, const char *type) {
    char found[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_UNSUPPORTED,
                     "%s: has values of type %s; save it as numbers with array.astype('float32')",
                     h->name, sis__cell_excerpt(type, found));
}

/* '<f4': byte order, kind, bytes. */
static int take_descr(header *h) {
    char text[SIS__EXCERPT_SIZE];
    skip_blanks(h);
    if (*h->at == '[')
        return unsupported(h, "'structured'");
    int code = take_string(h, text);
    if (code != SIS_OK)
        return code;
    size_t size = text[0] && text[1] && text[2] >= '1' && text[2] <= '9' && !text[3]
                      ? (size_t)(text[2] - '0')
                      : 0;
    h->array->type = size ? sis__packed_type_find(text[1], size) : NULL;
    if (!h->array->type || !strchr("<>=|", text[0]) || (text[0] == '|' && size != 1))
        return unsupported(h, text);
    h->swap = size > 1 && text[0] == '>';
    return SIS_OK;
}

static int take_order(header *h) {
    if (eat(h, "True"))
        h->array->fortran = 1;
    else if (!eat(h, "False"))
        return malformed(h, "True or False");
    return SIS_OK;
}

/* One length of the shape; Python 2 wrote some as 12L. */
static int take_length(header *h, size_t *out) {
    skip_blanks(h);
    if (*h->at < '0' || *h->at > '9')
        return malformed(h, "a number");
    for (*out = 0; *h->at >= '0' && *h->at <= '9'; h->at++) {
        size_t digit = (size_t)(*h->at - '0');
        if (*out > (PTRDIFF_MAX - digit) / 10)
            return sis__fail(SIS_E_FORMAT, "%s: the shape in the .npy header is impossibly large",
                             h->name);
        *out = *out * 10 + digit;
    }
    if (*h->at == 'L')
        h->at++;
    return SIS_OK;
}

/* (), (3,), (3, 4) or (3, 4,). */
static int take_shape(header *h) {
    sis__packed *a = h->array;
    if (!eat(h, "("))
        return malformed(h, "'('");
    while (!eat(h, ")")) {
        if (a->rank == SIS_RANK_MAX)
            return sis__fail(SIS_E_UNSUPPORTED, "%s: has more than %d dimensions", h->name,
                             SIS_RANK_MAX);
        int code = take_length(h, &a->dims[a->rank++]);
        if (code != SIS_OK)
            return code;
        if (eat(h, ","))
            continue;
        if (a->rank == 1 || !eat(h, ")"))
            return malformed(h, "','");
        break;
    }
    return SIS_OK;
}

static const struct {
    const char *name;
    int (*take)(header *);
} keys[] = {{"descr", take_descr}, {"fortran_order", take_order}, {"shape", take_shape}};
enum { KEYS = sizeof keys / sizeof *keys };

/* 'key': value, with a comma after it unless it is the last. */
static int take_entry(header *h, int seen[KEYS]) {
    char name[SIS__EXCERPT_SIZE];
    size_t k = 0;
    skip_blanks(h);
    const char *before = h->at;
    int code = take_string(h, name);
    if (code != SIS_OK)
        return code;
    while (k < KEYS && strcmp(keys[k].name, name) != 0)
        k++;
    if (k == KEYS || seen[k]++) {
        h->at = before;
        return malformed(h, "'descr', 'fortran_order' and 'shape', once each,");
    }
    if (!eat(h, ":"))
        return malformed(h, "':'");
    code = keys[k].take(h);
    if (code != SIS_OK || eat(h, ",") || *h->at == '}')
        return code;
    return malformed(h, "',' or '}'");
}

/* The whole dictionary, and nothing after it. */
static int take_header(header *h) {
    int seen[KEYS] = {0};
    if (!eat(h, "{"))
        return malformed(h, "'{'");
    while (!eat(h, "}")) {
        int code = take_entry(h, seen);
        if (code != SIS_OK)
            return code;
    }
    for (size_t k = 0; k < KEYS; k++)
        if (!seen[k])
            return sis__fail(SIS_E_FORMAT, "%s: malformed .npy header: '%s' is missing", h->name,
                             keys[k].name);
    skip_blanks(h);
    return *h->at ? malformed(h, "nothing more") : SIS_OK;
}

/* ---- Reading ------------------------------------------------------------------------------- */

/* Read n bytes and append a NUL. */
static int take_text(sis__source *s, size_t n, char **out) {
    unsigned char *bytes = NULL;
    size_t got = 0;
    int code = sis__source_take(s, n, &bytes, &got);
    if (code == SIS_E_FORMAT)
        return sis__fail(code, "%s: cut off in its .npy header: %zu more bytes expected, found %zu",
                         s->name, n, got);
    if (code != SIS_OK)
        return code;
    *out = (char *)sis__realloc(bytes, n + 1, 1);
    if (!*out) {
        free(bytes);
        return SIS_E_NOMEM;
    }
    (*out)[n] = '\0';
    return SIS_OK;
}

/* Read up to n bytes; returns their number. */
static size_t read_bytes(sis__source *s, unsigned char *to, size_t n) {
    size_t got = 0;
    for (int byte; got < n && (byte = sis__source_byte(s)) != SIS__SOURCE_END; got++)
        to[got] = (unsigned char)byte;
    return got;
}

/* Read magic, version and the length of the header, *n. */
static int read_length(sis__source *s, size_t *n) {
    unsigned char magic[MAGIC], length[4] = {0};
    size_t got = read_bytes(s, magic, MAGIC);
    if (s->error != SIS_OK)
        return s->error;
    if (got == 0)
        return sis__fail(SIS_E_FORMAT, "%s: is empty; expected a NumPy array", s->name);
    if (memcmp(magic, "\x93NUMPY", got < 6 ? got : 6) != 0)
        return sis__fail(SIS_E_FORMAT, "%s: not a .npy file: it does not begin with \\x93NUMPY",
                         s->name);
    if (got == MAGIC && (magic[6] < 1 || magic[6] > 3 || magic[7] != 0))
        return sis__fail(SIS_E_UNSUPPORTED, "%s: .npy version %d.%d; expected 1.0, 2.0 or 3.0",
                         s->name, magic[6], magic[7]);
    size_t size = got == MAGIC && magic[6] == 1 ? 2 : 4;
    if (read_bytes(s, length, size) < size)
        return s->error != SIS_OK
                   ? s->error
                   : sis__fail(SIS_E_FORMAT, "%s: cut off in its .npy header", s->name);
    *n = length[0] | (size_t)length[1] << 8 | (size_t)length[2] << 16 | (size_t)length[3] << 24;
    if (*n > HEADER_MAX)
        return sis__fail(SIS_E_FORMAT, "%s: .npy header of %zu bytes; expected %d at most", s->name,
                         *n, HEADER_MAX);
    return SIS_OK;
}

static int read_header(sis__source *s, sis__packed *a, int *swap) {
    size_t n = 0;
    char *text = NULL;
    int code = read_length(s, &n);
    if (code == SIS_OK)
        code = take_text(s, n, &text);
    header h = {.name = s->name, .start = text, .at = text, .array = a};
    if (code == SIS_OK)
        code = take_header(&h);
    if (code == SIS_OK && strlen(text) != n)
        code =
            sis__fail(SIS_E_FORMAT, "%s: malformed .npy header: it contains a NUL byte", s->name);
    *swap = h.swap;
    free(text);
    return code;
}

int sis__npy_read(const char *path, size_t needed, sis__packed *out) {
    sis__source s;
    int swap = 0;
    *out = (sis__packed){0};
    int code = sis__source_open(&s, path);
    if (code == SIS_OK)
        code = read_header(&s, out, &swap);
    if (code == SIS_OK)
        code = sis__packed_read(&s, needed, out);
    if (code == SIS_OK && swap)
        sis__packed_swap(out);
    if (code != SIS_OK)
        sis__packed_release(out);
    sis__source_close(&s);
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------- */

static void format_header(sis__buf *b, char size, size_t rank, const size_t *dims) {
    sis__buf_printf(b, "{'descr': '<f%c', 'fortran_order': False, 'shape': (", size);
    for (size_t k = 0; k < rank; k++)
        sis__buf_printf(b, k ? ", %zu" : "%zu", dims[k]);
    sis__buf_str(b, rank == 1 ? ",), }" : "), }");
    while ((MAGIC + 2 + b->len + 1) % ALIGN != 0 && sis__buf_error(b) == SIS_OK)
        sis__buf_char(b, ' ');
    sis__buf_char(b, '\n');
}

static int write_file(const char *path, const sis__buf *head, const void *numbers, size_t bytes) {
    const unsigned char magic[MAGIC + 2] = {0x93,
                                            'N',
                                            'U',
                                            'M',
                                            'P',
                                            'Y',
                                            1,
                                            0,
                                            (unsigned char)head->len,
                                            (unsigned char)(head->len >> 8)};
    sis__replacement r;
    int error = sis__replace_begin(&r, path);
    if (error == SIS_OK && (fwrite(magic, sizeof magic, 1, r.file) != 1 ||
                            fwrite(head->data, head->len, 1, r.file) != 1 ||
                            (bytes > 0 && fwrite(numbers, bytes, 1, r.file) != 1)))
        error = sis__fail(SIS_E_IO, "cannot write %s: %s", path, strerror(errno));
    return sis__replace_end(&r, error);
}

static int write_npy(const char *path, const void *numbers, size_t size, size_t rank,
                     const size_t *dims) {
    size_t bytes = sis__packed_bytes(rank, dims, size);
    if (rank > SIS_RANK_MAX || bytes == SIZE_MAX)
        return sis__fail(SIS_E_ARGUMENT, "cannot write %s: the array's shape is too large", path);
    sis__buf head;
    sis__buf_init(&head);
    format_header(&head, (char)('0' + size), rank, dims);
    int code = sis__buf_error(&head);
    if (code == SIS_OK)
        code = write_file(path, &head, numbers, bytes);
    sis__buf_release(&head);
    return code;
}

int sis_npy_write(const char *path, const double *values, size_t rank, const size_t *dims) {
    return write_npy(path, values, sizeof *values, rank, dims);
}

int sis_npy_write_float(const char *path, const float *values, size_t rank, const size_t *dims) {
    return write_npy(path, values, sizeof *values, rank, dims);
}

/* ---- Masks and feature maps ---------------------------------------------------------------- */

int sis_array_read(const char *path, sis_array *out) {
    sis__packed stored;
    *out = (sis_array){0};
    int code = sis__npy_read(path, 0, &stored);
    if (code != SIS_OK)
        return code;
    if (stored.n > (size_t)1 << 28) {
        code = sis__fail(SIS_E_FORMAT, "%s: has %zu values; expected one example", path, stored.n);
        sis__packed_release(&stored);
        return code;
    }
    out->rank = stored.rank;
    out->n = stored.n;
    memcpy(out->dims, stored.dims, sizeof out->dims);
    out->values = SIS_NEW_RAW(double, stored.n);
    if (!out->values)
        code = SIS_E_NOMEM;
    else
        sis__packed_all(&stored, out->values);
    sis__packed_release(&stored);
    for (size_t i = 0; i < out->n && code == SIS_OK; i++)
        if (!isfinite(out->values[i]))
            code =
                sis__fail(SIS_E_FORMAT, "%s: value %zu is %s; every value must be a finite number",
                          path, i, isnan(out->values[i]) ? "NaN" : "infinite");
    if (code != SIS_OK)
        sis_array_release(out);
    return code;
}

void sis_array_release(sis_array *array) {
    if (!array)
        return;
    free(array->values);
    *array = (sis_array){0};
}

/* Are the features used[0..n) numbered without gaps, and is there one? */
static int check_gaps(const char *path, const unsigned char *used, size_t n) {
    size_t features = 0, largest = 0;
    for (size_t f = 0; f < n; f++)
        if (used[f]) {
            features++;
            largest = f;
        }
    if (features == 0)
        return sis__fail(SIS_E_FORMAT, "%s: every value is -1 (never masked); expected a feature",
                         path);
    for (size_t f = 0; f < largest; f++)
        if (!used[f])
            return sis__fail(SIS_E_FORMAT,
                             "%s: no value belongs to feature %zu; features must be numbered from "
                             "0 to %zu without gaps",
                             path, f, largest);
    return SIS_OK;
}

/* Without gaps, the largest feature is below the number of values. */
static int copy_map(const char *path, const sis_array *from, int *map) {
    unsigned char *used = SIS_NEW(unsigned char, from->n);
    int code = used ? SIS_OK : SIS_E_NOMEM;
    for (size_t i = 0; i < from->n && code == SIS_OK; i++) {
        double v = from->values[i];
        if (v != floor(v) || v < -1 || v >= (double)from->n || v > INT_MAX)
            code = sis__fail(SIS_E_FORMAT,
                             "%s: value %zu is %.17g; expected the number of a feature, 0 to %zu, "
                             "or -1 (never masked)",
                             path, i, v, from->n - 1);
        else if ((map[i] = (int)v) >= 0)
            used[map[i]] = 1;
    }
    if (code == SIS_OK)
        code = check_gaps(path, used, from->n);
    free(used);
    return code;
}

int sis_feature_map_read(const char *path, size_t n_values, int **map) {
    sis_array array;
    *map = NULL;
    int code = sis_array_read(path, &array);
    if (code != SIS_OK)
        return code;
    if (array.n != n_values)
        code =
            sis__fail(SIS_E_FORMAT,
                      "%s: a feature map of %zu numbers; expected one for each of the %zu values",
                      path, array.n, n_values);
    else if (!(*map = SIS_NEW(int, n_values)))
        code = SIS_E_NOMEM;
    else
        code = copy_map(path, &array, *map);
    if (code != SIS_OK) {
        free(*map);
        *map = NULL;
    }
    sis_array_release(&array);
    return code;
}
