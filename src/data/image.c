/* SPDX-License-Identifier: MIT
 *
 * Reads one image file. The content decides between PNG and JPEG, because wrong extensions are
 * common. The size is checked before any pixel is decoded, so that a small file cannot claim much
 * memory.
 */
#include "data/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "data/data.h"
#include "data/source.h"

static const size_t FILE_MAX = (size_t)128 << 20;

/* Read the whole file, whose size must be known. */
static int read_bytes(sis__source *s, sis__buf *bytes) {
    while (sis__source_peek(s) != SIS__SOURCE_END) {
        size_t n = s->filled - s->next;
        if (n > FILE_MAX - bytes->len)
            return sis__fail(SIS_E_FORMAT, "%s: an image file of more than %zu MiB", s->name,
                             FILE_MAX >> 20);
        sis__buf_add(bytes, s->chunk + s->next, n);
        s->next = s->filled;
        if (sis__buf_error(bytes) != SIS_OK)
            return SIS_E_NOMEM;
    }
    return s->error;
}

/* By the first bytes, or else by the name. */
static int is_jpeg(const char *path, const sis__buf *file) {
    size_t n = strlen(path);
    if (file->len >= 3 && memcmp(file->data, "\xFF\xD8\xFF", 3) == 0)
        return 1;
    if (file->len >= 4 && memcmp(file->data, "\x89PNG", 4) == 0)
        return 0;
    return (n > 4 && sis__same_word(path + n - 4, ".jpg")) ||
           (n > 5 && sis__same_word(path + n - 5, ".jpeg"));
}

int sis__image_room(const char *path, int pixels, sis__image *out) {
    if (out->width == 0 || out->height == 0 || out->width > SIS__SIDE_MAX ||
        out->height > SIS__SIDE_MAX)
        return sis__fail(SIS_E_FORMAT, "%s: an image of %zu x %zu pixels; at most %d x %d are read",
                         path, out->width, out->height, SIS__SIDE_MAX, SIS__SIDE_MAX);
    if (pixels)
        out->bytes = SIS_NEW_RAW(unsigned char, out->height * out->width * out->channels);
    return !pixels || out->bytes ? SIS_OK : SIS_E_NOMEM;
}

int sis__image_read(const char *path, int pixels, sis__image *out) {
    sis__source s;
    sis__buf file;
    *out = (sis__image){0};
    sis__buf_init(&file);
    int code = sis__source_open(&s, path);
    if (code == SIS_OK)
        code = read_bytes(&s, &file);
    if (code == SIS_OK) {
        int jpeg = is_jpeg(path, &file);
        if (file.len == 0)
            code = sis__fail(SIS_E_FORMAT, "%s: is empty; expected a %s image", path,
                             jpeg ? "JPEG" : "PNG");
        else
            code = (jpeg ? sis__jpeg_decode : sis__png_decode)(path, &file, pixels, out);
    }
    sis__buf_release(&file);
    sis__source_close(&s);
    return code;
}

int sis__data_read_image(const char *path, const sis_data_opt *opt, sis_data **out) {
    sis__image image;
    (void)opt;
    int code = sis__image_read(path, 1, &image);
    if (code != SIS_OK)
        return code;
    sis__packed rows = {.type = sis__packed_type_find('u', 1),
                        .rank = image.channels == 1 ? 3 : 4,
                        .dims = {1, image.height, image.width, image.channels},
                        .n = image.height * image.width * image.channels,
                        .bytes = image.bytes};
    code = sis__data_from_rows(path, SIS_KIND_IMAGE, &rows, NULL, out);
    if (code == SIS_OK)
        sis__data_divide(*out, 255);
    return code;
}
