/* SPDX-License-Identifier: MIT
 *
 * PNG images in and out, by libpng's simple interface: it checks, looks palettes up and lays
 * transparency on a background. Whether an image is grey or colour is what its header says. The
 * size is known before any pixel is unpacked, so a small file cannot ask for much memory.
 */
#include <stdlib.h>
#include <string.h>

#include <png.h>

#include "base/error.h"
#include "base/mem.h"
#include "data/cell.h"
#include "data/data.h"
#include "data/source.h"

enum { SIDE_MOST = 4096 };
static const size_t FILE_MOST = (size_t)128 << 20;

/* The whole file; its size is known, or it is not worth reading. */
static int read_bytes(sis__source *s, sis__buf *bytes) {
    while (sis__source_peek(s) != SIS__SOURCE_END) {
        size_t n = s->filled - s->next;
        if (n > FILE_MOST - bytes->len)
            return sis__fail(SIS_E_FORMAT, "%s: a PNG file of more than %zu MiB", s->name,
                             FILE_MOST >> 20);
        sis__buf_add(bytes, s->chunk + s->next, n);
        s->next = s->filled;
        if (sis__buf_error(bytes) != SIS_OK)
            return SIS_E_NOMEM;
    }
    return s->error;
}

static int not_png(const char *path, const png_image *image) {
    char text[SIS__EXCERPT_SIZE];
    return sis__fail(SIS_E_FORMAT, "%s: not a PNG image, or a damaged one: %s", path,
                     sis__cell_excerpt(image->message, text));
}

static int check_size(const char *path, const png_image *image) {
    if (image->width > 0 && image->height > 0 && image->width <= SIDE_MOST &&
        image->height <= SIDE_MOST)
        return SIS_OK;
    return sis__fail(SIS_E_FORMAT, "%s: an image of %u x %u pixels; at most %d x %d are read", path,
                     image->width, image->height, SIDE_MOST, SIDE_MOST);
}

static int decode(const char *path, const sis__buf *bytes, sis__packed *a) {
    png_image image = {.version = PNG_IMAGE_VERSION};
    png_color black = {0, 0, 0};
    if (!png_image_begin_read_from_memory(&image, bytes->data, bytes->len))
        return not_png(path, &image);
    int code = check_size(path, &image);
    size_t channels = image.format & PNG_FORMAT_FLAG_COLOR ? 3 : 1;
    image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
    *a = (sis__packed){.type = sis__packed_type_find('u', 1),
                       .rank = channels == 3 ? 4 : 3,
                       .dims = {1, image.height, image.width, channels},
                       .n = (size_t)image.height * image.width * channels};
    if (code == SIS_OK && !(a->bytes = SIS_NEW_RAW(unsigned char, a->n)))
        code = SIS_E_NOMEM;
    if (code == SIS_OK && !png_image_finish_read(&image, &black, a->bytes, 0, NULL))
        code = not_png(path, &image);
    png_image_free(&image);
    if (code != SIS_OK)
        sis__packed_release(a);
    return code;
}

/* ---- Writing ------------------------------------------------------------------------------- */

int sis_png_write(const char *path, const double *values, const size_t dims[3]) {
    size_t n = dims[0] * dims[1] * dims[2];
    if (dims[0] == 0 || dims[0] > SIDE_MOST || dims[1] == 0 || dims[1] > SIDE_MOST ||
        (dims[2] != 1 && dims[2] != 3))
        return sis__fail(SIS_E_ARGUMENT,
                         "%s: an image has 1 to %d pixels a side and 1 or 3 channels, not (%zu, "
                         "%zu, %zu)",
                         path, SIDE_MOST, dims[0], dims[1], dims[2]);
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
    if (!png_image_write_to_file(&image, path, 0, bytes, 0, NULL))
        code = sis__fail(SIS_E_IO, "%s: cannot be written: %s", path, image.message);
    png_image_free(&image);
    free(bytes);
    return code;
}

/* ---- Reading ------------------------------------------------------------------------------- */

int sis__data_read_png(const char *path, const sis_data_opt *opt, sis_data **out) {
    sis__source s;
    sis__buf bytes;
    sis__packed pixels = {0};
    (void)opt;
    sis__buf_init(&bytes);
    int code = sis__source_open(&s, path);
    if (code == SIS_OK)
        code = read_bytes(&s, &bytes);
    if (code == SIS_OK && bytes.len == 0)
        code = sis__fail(SIS_E_FORMAT, "%s: is empty; expected a PNG image", path);
    if (code == SIS_OK)
        code = decode(path, &bytes, &pixels);
    if (code == SIS_OK)
        code = sis__data_from_rows(path, SIS_KIND_IMAGE, &pixels, NULL, out);
    if (code == SIS_OK)
        sis__data_divide(*out, 255);
    sis__buf_release(&bytes);
    sis__source_close(&s);
    return code;
}
