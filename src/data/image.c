/* SPDX-License-Identifier: MIT
 *
 * Reads one image file. The content decides between PNG and JPEG (jpeg.c), because wrong extensions
 * are common. The size is checked before any pixel is decoded, so that a small file cannot claim
 * much memory. PNG is read and written by libpng's simplified interface, which checks images,
 * resolves palettes and blends transparency with a background. The header decides between grey and
 * colour.
 */
#include "data/image.h"

#include <stdlib.h>
#include <string.h>

#include <png.h>

#include <sis/files.h>

#include "base/ascii.h"
#include "base/error.h"
#include "base/mem.h"
#include "base/replace.h"
#include "data/cell.h"
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

/* ---- PNG ------------------------------------------------------------------------------------- */

static int not_png(const char *path, const png_image *image) {
    char text[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT, "%s: not a PNG image, or a damaged one: %s", path,
                     sis__cell_excerpt(image->message, text));
}

static int decode_png(const char *path, const sis__buf *file, int pixels, sis__image *out) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    png_color black = {0, 0, 0};
    if (!png_image_begin_read_from_memory(&image, file->data, file->len))
        return not_png(path, &image);
    size_t channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    *out = (sis__image){.height = image.height, .width = image.width, .channels = channels};
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* the default, as for 8 bits */
    int code = sis__image_room(path, pixels, out);
    if (code == SIS_OK && pixels && !png_image_finish_read(&image, &black, out->bytes, 0, NULL))
        code = not_png(path, &image);
    png_image_free(&image);
    if (code != SIS_OK) {
        free(out->bytes);
        *out = (sis__image){0};
    }
    return code;
}

/* ---- Reading --------------------------------------------------------------------------------- */

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
            code = (jpeg ? sis__jpeg_decode : decode_png)(path, &file, pixels, out);
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

/* ---- Writing --------------------------------------------------------------------------------- */

int sis_png_write(const char *path, const double *values, const size_t dims[3]) {
    size_t n = dims[0] * dims[1] * dims[2];
    if (dims[0] == 0 || dims[0] > SIS__SIDE_MAX || dims[1] == 0 || dims[1] > SIS__SIDE_MAX ||
        (dims[2] != 1 && dims[2] != 3))
        return sis__fail(
            SIS_E_ARGUMENT,
            "%s: an image has 1 to %d pixels a side and 1 or 3 channels, not (%zu, %zu, %zu)", path,
            SIS__SIDE_MAX, dims[0], dims[1], dims[2]);
    unsigned char *bytes = SIS_NEW_RAW(unsigned char, n);
    if (!bytes)
        return SIS_E_NOMEM;
    for (size_t i = 0; i < n; i++)
        bytes[i] = (unsigned char)(values[i] >= 1  ? 255
                                   : values[i] > 0 ? values[i] * 255 + 0.5
                                                   : 0);
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)dims[1],
                       .height = (png_uint_32)dims[0],
                       .format = dims[2] == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY};
    int code = SIS_OK;
    sis__replacement r;
    code = sis__replace_begin(&r, path);
    if (code == SIS_OK && !png_image_write_to_stdio(&image, r.file, 0, bytes, 0, NULL))
        code = sis__fail(SIS_E_IO, "%s: cannot be written: %s", path, image.message);
    code = sis__replace_end(&r, code);
    png_image_free(&image);
    free(bytes);
    return code;
}
