/* SPDX-License-Identifier: MIT
 *
 * Reads IDX arrays, the format of MNIST:
 *
 *     00 00 TT RR   TT: the type of the numbers, RR: the number of axes
 *     n0 n1 ...     the length of each axis, 4 bytes, big-endian
 *     numbers       in C order, big-endian
 *
 * Images and labels are two files. The reader of images looks for the label file beside them by
 * name, and checks that the numbers of examples match.
 */
#include "data/data.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"
#include "data/cell.h"
#include "data/source.h"

/* ---- One array ----------------------------------------------------------------------------- */

static const sis__packed_type *type_of(int code) {
    switch (code) {
    case 0x08:
        return sis__packed_type_find('u', 1);
    case 0x09:
        return sis__packed_type_find('i', 1);
    case 0x0B:
        return sis__packed_type_find('i', 2);
    case 0x0C:
        return sis__packed_type_find('i', 4);
    case 0x0D:
        return sis__packed_type_find('f', 4);
    case 0x0E:
        return sis__packed_type_find('f', 8);
    default:
        return NULL;
    }
}

static int cut_off(const sis__source *s) {
    return s->error != SIS_OK
               ? s->error
               : sis__fail(SIS_E_FORMAT, "%s: cut off in the IDX header, after %zu bytes", s->name,
                           s->offset);
}

static int read_magic(sis__source *s, sis__packed *a) {
    int magic[4];
    for (int i = 0; i < 4; i++)
        if ((magic[i] = sis__source_byte(s)) == SIS__SOURCE_END)
            return cut_off(s);
    a->type = type_of(magic[2]);
    a->rank = (size_t)magic[3];
    if (magic[0] != 0 || magic[1] != 0 || !a->type)
        return sis__fail(SIS_E_FORMAT,
                         "%s: not an IDX file: it begins with the bytes %02x %02x %02x %02x; "
                         "expected 00 00, a type (08 for bytes) and the number of axes",
                         s->name, (unsigned)magic[0], (unsigned)magic[1], (unsigned)magic[2],
                         (unsigned)magic[3]);
    if (a->rank < 1 || a->rank > 8)
        return sis__fail(SIS_E_FORMAT, "%s: has %zu axes; expected 1 to 8", s->name, a->rank);
    return SIS_OK;
}

static int read_dims(sis__source *s, sis__packed *a) {
    for (size_t d = 0; d < a->rank; d++)
        for (int i = 0; i < 4; i++) {
            int c = sis__source_byte(s);
            if (c == SIS__SOURCE_END)
                return cut_off(s);
            a->dims[d] = a->dims[d] << 8 | (size_t)c;
        }
    for (size_t d = 0; d < a->rank; d++)
        if (a->dims[d] == 0)
            return sis__fail(SIS_E_FORMAT, "%s: axis %zu has length 0; expected examples", s->name,
                             d);
    return SIS_OK;
}

/* There must be one label per example, according to the header. */
static int check_labels(const sis__source *s, const sis__packed *a, const sis_data *images) {
    size_t n = sis__packed_bytes(a->rank, a->dims, 1);
    if (!images || (a->rank == 1 && n == images->count))
        return SIS_OK;
    return sis__fail(
        SIS_E_FORMAT,
        "%s: %zu numbers along %zu ax%s; expected a label for each of the %zu examples of %s",
        s->name, n, a->rank, a->rank == 1 ? "is" : "es", images->count, images->name);
}

/* Read the first `needed` elements of the file (0: all). `images`, unless NULL, is the data set
 * that they label. */
static int read_array(const char *path, size_t needed, const sis_data *images, sis__packed *out) {
    sis__source s;
    *out = (sis__packed){0};
    int code = sis__source_open(&s, path);
    if (code == SIS_OK)
        code = read_magic(&s, out);
    if (code == SIS_OK)
        code = read_dims(&s, out);
    if (code == SIS_OK)
        code = check_labels(&s, out, images);
    if (code == SIS_OK)
        code = sis__packed_read(&s, needed, out);
    if (code == SIS_OK)
        sis__packed_swap(out);
    if (code != SIS_OK)
        sis__packed_release(out);
    sis__source_close(&s);
    return code;
}

/* ---- Labels -------------------------------------------------------------------------------- */

/* The numbers of an array with one axis, as text. NULL: out of memory. */
static const char **label_texts(const sis__packed *a) {
    sis__strings texts = {0};
    sis__buf number;
    sis__buf_init(&number);
    for (size_t i = 0; i < a->n; i++) {
        double v;
        a->type->decode(a->bytes + i * a->type->size, a->type->size, 1, &v);
        sis__buf_clear(&number);
        sis__buf_double(&number, v);
        sis__strings_add(&texts, number.data ? number.data : "");
    }
    const char **labels = sis__buf_error(&number) == SIS_OK ? sis__strings_finish(&texts) : NULL;
    sis__strings_release(&texts);
    sis__buf_release(&number);
    return labels;
}

/* Replace the last `from` in the file name by `to`. */
static int rename_part(sis__buf *path, const char *from, const char *to) {
    const char *name = strrchr(path->data, '/'), *at = NULL;
    for (const char *p = name ? name : path->data; (p = strstr(p, from)); p++)
        at = p;
    if (!at)
        return 0;
    size_t before = (size_t)(at - path->data);
    char *rest = sis__strdup(at + strlen(from));
    path->len = before;
    sis__buf_str(path, to);
    sis__buf_str(path, rest ? rest : "");
    path->error = rest ? path->error : SIS_E_NOMEM;
    free(rest);
    return 1;
}

/* The label file of these images, gzipped or not; 0 if there is none. */
static int find_labels(const char *images, sis__buf *path) {
    sis__buf_clear(path);
    sis__buf_str(path, images);
    if (sis__buf_error(path) != SIS_OK || !rename_part(path, "images", "labels"))
        return sis__buf_error(path);
    rename_part(path, "idx3", "idx1");
    if (sis__buf_error(path) != SIS_OK)
        return SIS_E_NOMEM;
    if (access(path->data, F_OK) == 0)
        return 1;
    if (path->len > 3 && strcmp(path->data + path->len - 3, ".gz") == 0)
        path->data[path->len -= 3] = '\0';
    else
        sis__buf_str(path, ".gz");
    return sis__buf_error(path) != SIS_OK ? SIS_E_NOMEM : access(path->data, F_OK) == 0;
}

static int add_labels(const char *path, size_t needed, sis_data *images) {
    sis__packed a;
    int code = sis__replace_never(path);
    if (code == SIS_OK)
        code = read_array(path, needed, images, &a);
    if (code != SIS_OK)
        return code;
    const char **labels = label_texts(&a);
    if (labels)
        sis__data_set_labels(images, labels);
    sis__packed_release(&a);
    return labels ? SIS_OK : SIS_E_NOMEM;
}

/* ---- The data set -------------------------------------------------------------------------- */

/* Bytes with two or three axes are pixels. */
static int is_image(const sis__packed *a) {
    return a->type == sis__packed_type_find('u', 1) && (a->rank == 3 || a->rank == 4);
}

/* Set labels of the examples: their own values, or those in the file beside them. */
static int label_examples(const char *path, size_t needed, const sis__packed *a, sis_data *data) {
    sis__buf beside;
    if (a->rank == 1) {
        const char **labels = label_texts(a);
        if (labels)
            sis__data_set_labels(data, labels);
        return labels ? SIS_OK : SIS_E_NOMEM;
    }
    sis__buf_init(&beside);
    int found = find_labels(path, &beside);
    if (found > 0)
        found = add_labels(beside.data, needed, data);
    sis__buf_release(&beside);
    return found;
}

int sis__data_read_idx(const char *path, const sis_data_opt *opt, sis_data **out) {
    sis__packed a;
    int code = read_array(path, opt->needed, NULL, &a);
    if (code != SIS_OK)
        return code;
    int image = is_image(&a);
    int as_read = image && !opt->layout; /* otherwise converted like other arrays */
    sis__packed looked_at = a;           /* its bytes stay valid */
    code = sis__data_from_rows(path, as_read ? SIS_KIND_IMAGE : SIS_KIND_ARRAY, &a, NULL, out);
    if (code != SIS_OK)
        return code;
    if (image)
        sis__data_divide(*out, 255);
    code = label_examples(path, opt->needed, &looked_at, *out);
    if (code != SIS_OK) {
        sis_data_free(*out);
        *out = NULL;
    }
    return code;
}
